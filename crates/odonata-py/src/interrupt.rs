//! What stops long work here: a flag for runs, and exceptions that the code of a user was left with.
//!
//! The core calls code of users (rank programs) from within its own work and knows no exceptions. One that is not about that
//! code, as `KeyboardInterrupt`, is kept here until the work, which ends early for it, is over.

use std::cell::RefCell;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use odonata_system::Interrupt;
use odonata_trace_format::Cancellation;
use pyo3::prelude::*;

/// Asks runs to come to their end at once, also in the midst of an event.
#[pyclass(name = "Interrupt", module = "odonata._core", frozen)]
pub(crate) struct PyInterrupt(pub(crate) Interrupt);

#[pymethods]
impl PyInterrupt {
    #[new]
    fn new() -> Self {
        PyInterrupt(Interrupt::default())
    }

    /// No rank of these runs begins another operation from now on; they can only be finished. From any thread.
    fn ask(&self) {
        self.0.ask();
    }

    /// Whether a run has left something undone because of it.
    fn was_heard(&self) -> bool {
        self.0.was_heard()
    }
}

thread_local! {
    static KEPT: RefCell<Option<PyErr>> = const { RefCell::new(None) };
}

/// Keeps `error` for the end of the work that this thread is at; the first one stays.
pub(crate) fn keep(error: PyErr) {
    KEPT.with_borrow_mut(|kept| {
        kept.get_or_insert(error);
    });
}

/// Wall time between two looks at whether there is a signal.
const SIGNALS_EVERY: Duration = Duration::from_millis(50);

/// Does `work` with the interpreter released, on a thread of its own: this one hears signals meanwhile. What a signal raises
/// cancels the work, and is raised when that has ended.
pub(crate) fn cancellable<T: Send>(py: Python<'_>, work: impl Send + FnOnce(&Cancellation) -> T) -> PyResult<T> {
    let cancellation = Cancellation::default();
    let (sender, mut receiver) = mpsc::channel();
    std::thread::scope(|scope| {
        let worker = scope.spawn(|| {
            // Whoever waits for it is there until it has come.
            let _ = sender.send(work(&cancellation));
        });
        loop {
            let done = &mut receiver;
            match py.detach(move || done.recv_timeout(SIGNALS_EVERY)) {
                Ok(done) => return Ok(done),
                Err(RecvTimeoutError::Timeout) => {
                    if let Err(error) = py.check_signals() {
                        cancellation.request();
                        let _ = py.detach(|| worker.join());
                        return Err(error);
                    }
                }
                Err(RecvTimeoutError::Disconnected) => {
                    let panic = py.detach(|| worker.join()).err();
                    std::panic::resume_unwind(panic.unwrap_or_else(|| Box::new("work without an end")));
                }
            }
        }
    })
}

/// Does `work` with the interpreter released; what was kept meanwhile is raised.
pub(crate) fn detached<T: Send>(py: Python<'_>, work: impl Send + FnOnce() -> T) -> PyResult<T> {
    let done = py.detach(work);
    match KEPT.take() {
        Some(error) => Err(error),
        None => Ok(done),
    }
}

//! Interruption of long work: a flag for runs, and exceptions raised in user code.
//!
//! The core calls user code (rank programs) and knows no exceptions. An exception that does not concern the program,
//! such as `KeyboardInterrupt`, ends the work early, is kept here, and is raised when the work is over.

use std::cell::RefCell;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use odonata_system::Interrupt;
use odonata_trace_format::Cancellation;
use pyo3::prelude::*;

/// Asks runs to end at once, even within an event.
#[pyclass(name = "Interrupt", module = "odonata._core", frozen)]
pub(crate) struct PyInterrupt(pub(crate) Interrupt);

#[pymethods]
impl PyInterrupt {
    #[new]
    fn new() -> Self {
        PyInterrupt(Interrupt::default())
    }

    /// From now on, no rank of these runs begins another operation; the runs can only be finished. Callable from any
    /// thread.
    fn ask(&self) {
        self.0.ask();
    }

    /// Whether a run skipped work because of it.
    fn was_raised(&self) -> bool {
        self.0.was_raised()
    }
}

thread_local! {
    static KEPT: RefCell<Option<PyErr>> = const { RefCell::new(None) };
}

/// Keeps `error` until the work of this thread is over; the first one stays.
pub(crate) fn keep(error: PyErr) {
    KEPT.with_borrow_mut(|kept| {
        kept.get_or_insert(error);
    });
}

/// Wall time between two checks for signals.
const SIGNALS_EVERY: Duration = Duration::from_millis(50);

/// Does `work` on a separate thread with the interpreter released; this thread handles signals meanwhile. An exception
/// from a signal handler cancels the work, and is raised when the work has ended.
pub(crate) fn cancellable<T: Send>(py: Python<'_>, work: impl Send + FnOnce(&Cancellation) -> T) -> PyResult<T> {
    let cancellation = Cancellation::default();
    let (sender, mut receiver) = mpsc::channel();
    std::thread::scope(|scope| {
        let worker = scope.spawn(|| {
            // The receiver waits until this arrives.
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

/// Does `work` with the interpreter released, then raises any kept exception.
pub(crate) fn detached<T: Send>(py: Python<'_>, work: impl Send + FnOnce() -> T) -> PyResult<T> {
    let done = py.detach(work);
    match KEPT.take() {
        Some(error) => Err(error),
        None => Ok(done),
    }
}

//! The start and the end of the processes of a run.
//!
//! MPI is started once per process and ended once, with thread level *funneled*: only the thread that started it may
//! call it. A run that does not end by [`finish`] on all processes must [`abort`], because the others wait for
//! messages that never come. A panic aborts by itself.

use mpi::Threading;
use mpi::environment::{self, Universe};
use mpi::traits::Communicator;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread::{self, ThreadId};
use std::time::Duration;

/// The MPI that was started here; dropping it ends MPI.
static UNIVERSE: Mutex<Option<Universe>> = Mutex::new(None);

/// The thread that may call MPI.
static CALLER: OnceLock<ThreadId> = OnceLock::new();

/// Starts MPI unless it runs already; collective. If another library of this process (mpi4py) has started MPI, that library
/// also ends it.
///
/// From then on a panic in one process ends all processes.
///
/// # Errors
/// MPI has been ended in this process, or was started without support for threads beside it.
pub fn start() -> Result<(), String> {
    if environment::is_finalized() {
        return Err("MPI has been ended in this process, and cannot be started again".into());
    }
    if CALLER.get().is_some() {
        return Ok(());
    }
    if let Some((universe, _)) = environment::initialize_with_threading(Threading::Funneled) {
        *UNIVERSE.lock().unwrap_or_else(PoisonError::into_inner) = Some(universe);
    }
    let threading = environment::threading_support();
    if threading < Threading::Funneled {
        return Err(format!(
            "MPI has been started with thread level {threading:?} (wanted: Funneled or higher) by {}",
            library()
        ));
    }
    if CALLER.set(thread::current().id()).is_ok() && size() > 1 {
        abort_on_panic();
    }
    Ok(())
}

/// Ends MPI if it was started here; collective, and nothing can be sent after it.
pub fn finish() {
    // Bound to a name, so that the lock is free while this process waits for others.
    let universe = UNIVERSE.lock().unwrap_or_else(PoisonError::into_inner).take();
    drop(universe);
}

/// How long a process stays alive after its last output. A launcher that sees the end first may lose the output: MPICH's does
/// on a busy computer.
const LAST_WORDS: Duration = Duration::from_millis(300);

/// Ends all processes of the run, this one with `code`; `mpirun` exits with it or prints it.
pub fn abort(code: i32) -> ! {
    if environment::is_initialized() && !environment::is_finalized() {
        thread::sleep(LAST_WORDS);
        world().abort(code);
    }
    std::process::exit(code)
}

/// Name and version of the MPI library, as the library prints them, on one line. MPI need not run.
pub fn library() -> String {
    let text = environment::library_version().unwrap_or_default();
    let line = text.trim_matches(['\0', '\n', ' ']).lines().next().unwrap_or_default();
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Whether MPI may be called: it runs, and this is the thread that started it.
///
/// # Errors
/// Says why it may not.
pub(crate) fn check_caller() -> Result<(), String> {
    match CALLER.get() {
        None => Err("MPI has not been started".into()),
        Some(_) if environment::is_finalized() => Err("MPI has been ended".into()),
        Some(&caller) if caller != thread::current().id() => {
            Err("MPI was started by another thread, and is called by that one only".into())
        }
        Some(_) => Ok(()),
    }
}

/// All processes that were started together.
pub(crate) fn world() -> mpi::topology::SimpleCommunicator {
    mpi::topology::SimpleCommunicator::world()
}

/// Number of processes.
pub(crate) fn size() -> usize {
    usize::try_from(world().size()).expect("MPI has a positive number of processes")
}

/// The number of this process.
pub(crate) fn rank() -> usize {
    usize::try_from(world().rank()).expect("MPI numbers processes from 0")
}

/// Makes a panic of any thread end all processes, after the usual report, unless it is caught.
fn abort_on_panic() {
    let (rank, size) = (rank(), size());
    let report = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if odonata_units::is_panic_caught() {
            return;
        }
        report(panic);
        eprintln!("odonata: process {rank} of {size} has panicked (its report is above); all processes are ended");
        abort(1);
    }));
}

//! The thread pool of a parallel scheduler.

use super::barrier::RoundBarrier;
use super::shared::{Shared, Worker};
use super::sync::lock;
use crate::Model;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::thread::{Builder, JoinHandle, available_parallelism};
use std::time::Duration;

/// The leader alone handles rounds with fewer expected events than this.
const LEAST_EVENTS: u64 = 12;
/// Spinning time before sleeping: about the cost of sleeping and waking up.
pub(super) const SPIN_TIME: Duration = Duration::from_micros(200);

/// The threads besides the leader, which calls [`Scheduler::run`](crate::Scheduler::run). They live as long as the
/// pool.
pub(super) struct ThreadPool {
    barrier: Arc<RoundBarrier>,
    threads: Vec<JoinHandle<()>>,
    /// Maximum number of awake threads: no more than there are processors.
    most_awake: usize,
    /// Rounds with fewer events are not shared.
    pub(super) least_events: u64,
    /// For tests: whether rounds are asynchronous.
    pub(super) asynchronous: Option<bool>,
}

impl ThreadPool {
    /// Starts `others` threads.
    ///
    /// # Errors
    /// The system's error.
    pub(super) fn new<M: Model + 'static>(shared: &Arc<Shared<M>>, others: usize) -> Result<ThreadPool, String> {
        let mut pool = ThreadPool {
            barrier: Arc::new(RoundBarrier::new(SPIN_TIME)),
            threads: Vec::new(),
            most_awake: others.min(available_parallelism().map_or(1, usize::from) - 1),
            least_events: LEAST_EVENTS,
            asynchronous: None,
        };
        for thread in 1..=others {
            let (shared, barrier) = (shared.clone(), pool.barrier.clone());
            let name = format!("odonata-{thread}");
            let handle = Builder::new()
                .name(name)
                .spawn(move || worker_loop(&shared, &barrier, thread));
            let handle = handle.map_err(|error| format!("thread {thread} cannot be started: {error}"))?;
            pool.threads.push(handle);
        }
        Ok(pool)
    }

    /// For tests: uses all threads in all rounds, even without processors for them. Either all rounds are asynchronous,
    /// or none.
    pub(super) fn oversubscribe(&mut self, asynchronous: bool) {
        self.most_awake = self.threads.len();
        self.least_events = 0;
        self.asynchronous = Some(asynchronous);
    }

    /// Leader: runs a round to which `wanted` other threads could contribute.
    pub(super) fn work<M: Model>(&self, shared: &Shared<M>, worker: &mut Worker<M>, wanted: usize) {
        shared.queues.refill();
        if wanted > 0 {
            self.barrier.open(self.most_awake.min(wanted), self.threads.len());
            shared.work_caught(0, worker);
            self.barrier.close();
        } else {
            shared.work_caught(0, worker);
        }
        let failed = lock(&shared.failed).take();
        if let Some(panic) = failed {
            resume_unwind(panic);
        }
    }
}

impl Drop for ThreadPool {
    fn drop(&mut self) {
        self.barrier.end();
        for thread in self.threads.drain(..) {
            // Panics of handlers are caught earlier.
            let _ = thread.join();
        }
    }
}

fn worker_loop<M: Model>(shared: &Shared<M>, barrier: &RoundBarrier, thread: usize) {
    let mut participant = RoundBarrier::participant();
    let mut worker = Worker::new(shared.partition.len());
    while barrier.enter(&mut participant) {
        let useful = shared.work_caught(thread, &mut worker);
        barrier.leave(&mut participant, useful);
    }
}

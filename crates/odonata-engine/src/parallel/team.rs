//! The threads that help.

use super::door::Door;
use super::shared::{Hand, Shared};
use super::sync::lock;
use crate::Model;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::thread::{Builder, JoinHandle, available_parallelism};
use std::time::Duration;

/// Rounds of fewer events than this, as a mean over the last ones, the leader does alone.
const WORTHWHILE: u64 = 12;
/// How long a thread spins for the next round before it sleeps: about what it costs to sleep and to wake up.
pub(super) const PATIENCE: Duration = Duration::from_micros(200);

/// The threads besides the one that calls [`Scheduler::run`](crate::Scheduler::run). They live as long as this does.
pub(super) struct Team {
    door: Arc<Door>,
    threads: Vec<JoinHandle<()>>,
    /// How many of them may be woken: no more than there are processors for.
    runners: usize,
    /// Rounds of fewer events are not worth the others' while.
    pub(super) worthwhile: u64,
    /// Whether windows slide, if that is not left to be decided.
    pub(super) sliding: Option<bool>,
}

impl Team {
    /// Starts `others` threads.
    ///
    /// # Errors
    /// What the system says.
    pub(super) fn new<M: Model + 'static>(shared: &Arc<Shared<M>>, others: usize) -> Result<Team, String> {
        let mut team = Team {
            door: Arc::new(Door::new(PATIENCE)),
            threads: Vec::new(),
            runners: others.min(available_parallelism().map_or(1, usize::from) - 1),
            worthwhile: WORTHWHILE,
            sliding: None,
        };
        for thread in 1..=others {
            let (shared, door) = (shared.clone(), team.door.clone());
            let name = format!("odonata-{thread}");
            let handle = Builder::new().name(name).spawn(move || help(&shared, &door, thread));
            let handle = handle.map_err(|error| format!("thread {thread} cannot be started: {error}"))?;
            team.threads.push(handle);
        }
        Ok(team)
    }

    /// Lets all threads run in all rounds, processors for them or not, with sliding windows or without.
    pub(super) fn crowd(&mut self, sliding: bool) {
        self.runners = self.threads.len();
        self.worthwhile = 0;
        self.sliding = Some(sliding);
    }

    /// Leader: does a round, of which `wanted` others could do a share.
    pub(super) fn work<M: Model>(&self, shared: &Shared<M>, hand: &mut Hand<M>, wanted: usize) {
        shared.roster.refill();
        if wanted > 0 {
            self.door.open(self.runners.min(wanted), self.threads.len());
            shared.work_caught(0, hand);
            self.door.close();
        } else {
            shared.work_caught(0, hand);
        }
        let failed = lock(&shared.failed).take();
        if let Some(panic) = failed {
            resume_unwind(panic);
        }
    }
}

impl Drop for Team {
    fn drop(&mut self) {
        self.door.end();
        for thread in self.threads.drain(..) {
            // Panics of handlers were caught before.
            let _ = thread.join();
        }
    }
}

fn help<M: Model>(shared: &Shared<M>, door: &Door, thread: usize) {
    let mut visitor = Door::visitor();
    let mut hand = Hand::new(shared.partition.len());
    while door.enter(&mut visitor) {
        let useful = shared.work_caught(thread, &mut hand);
        door.leave(&mut visitor, useful);
    }
}

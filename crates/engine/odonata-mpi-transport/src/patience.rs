//! How a process waits for other processes.
//!
//! Both MPI libraries poll at full speed. That is right while every process has a core of its own. With fewer cores it ruins a run: the
//! process that the others wait for gets its core back only when the operating system preempts a polling process, milliseconds later.
//! So a process here polls for a microsecond, then yields its core between two polls, and in a long wait sleeps between them for a
//! small fraction of the time it has waited already.
//!
//! A yield does not always help: Linux yields to processes of the same scheduling group only, and a process may be alone in its group
//! (MPICH's `mpirun` starts each in one of its own, by *autogroup*; a batch system may do so with each task). A process that is preempted
//! while it waits concludes that its core is contended, and from then on sleeps early.
//!
//! `examples/latency.rs` measures this, also with more processes than cores.

use std::time::{Duration, Instant};

/// Polls in a row before the process yields; about 1 us.
const SPINS: u32 = 50;

/// After this time a process sleeps: the shortest sleep (50 us on Linux) is short beside it.
const LONG: Duration = Duration::from_millis(1);

/// The same while the core is contended.
const CROWDED_LONG: Duration = Duration::from_micros(20);

/// The share of the wait so far that a sleep may take, and so may add to the wait.
const SHARE: u32 = 32;

/// The longest sleep.
const LONGEST: Duration = Duration::from_micros(200);

/// A time between two polls that shows that another process had the core.
const TAKEN: Duration = Duration::from_micros(100);

/// Waits after which a process tries whether its core is still contended. The price, milliseconds, is small per wait.
const MEMORY: u32 = 1_000;

/// What a process knows about its core.
#[derive(Debug, Default)]
pub struct Patience {
    /// Waits for which the core is assumed to be contended.
    crowded: u32,
}

impl Patience {
    /// The beginning of a wait.
    pub fn wait(&mut self) -> Wait<'_> {
        self.crowded = self.crowded.saturating_sub(1);
        Wait {
            patience: self,
            spins: 0,
            since: None,
            waited: Duration::ZERO,
        }
    }
}

/// One wait: polled until it is over.
#[derive(Debug)]
pub struct Wait<'a> {
    patience: &'a mut Patience,
    spins: u32,
    since: Option<Instant>,
    /// How long it has lasted, at the last poll without a sleep behind it.
    waited: Duration,
}

impl Wait<'_> {
    /// A part has arrived: the rest may follow at once.
    pub fn go_on(&mut self) {
        self.spins = 0;
        self.since = None;
        self.waited = Duration::ZERO;
    }

    /// Lets some time pass before the next poll.
    pub fn pause(&mut self) {
        if self.spins < SPINS {
            self.spins += 1;
            std::hint::spin_loop();
            return;
        }
        let since = *self.since.get_or_insert_with(Instant::now);
        let waited = since.elapsed();
        if waited - self.waited > TAKEN {
            self.patience.crowded = MEMORY;
        }
        self.waited = waited;
        let long = if self.patience.crowded > 0 { CROWDED_LONG } else { LONG };
        if waited < long {
            std::thread::yield_now();
        } else {
            std::thread::sleep((waited / SHARE).min(LONGEST));
            self.waited = since.elapsed();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_wait_asks_seldom() {
        let (begin, mut patience) = (Instant::now(), Patience::default());
        let (mut wait, mut questions) = (patience.wait(), 0);
        while begin.elapsed() < 50 * LONG {
            wait.pause();
            questions += 1;
        }
        // A yield takes 0.1 us at least: at most 10,000 in the first millisecond. Then at least LONG / SHARE lies between
        // two polls: 49 * 32 more.
        assert!(questions < 12_000, "{questions}");
    }

    #[test]
    fn a_thread_that_loses_its_core_in_a_wait_sleeps_early_in_later_waits() {
        let mut patience = Patience::default();
        let mut wait = patience.wait();
        for _ in 0..=SPINS {
            wait.pause();
        }
        std::thread::sleep(2 * TAKEN);
        wait.pause();
        assert_eq!(patience.crowded, MEMORY);
        for _ in 0..MEMORY {
            patience.wait();
        }
        assert_eq!(patience.crowded, 0);
    }
}

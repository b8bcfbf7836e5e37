//! How a process waits for others.
//!
//! Both MPI libraries wait at full speed, which is right as long as every process has a core, and ruins a run when it
//! has not: the one that the others wait for gets its core back only when the system takes it from somebody who is
//! waiting, milliseconds later. So a process asks again for a microsecond, then offers its core to others between two
//! questions, and when the wait gets long sleeps between them, for a small fraction of the time already waited.
//!
//! Offering the core does not always help: Linux offers it to processes of the same scheduling group only, and a
//! process may be alone in its group (each one that MPICH's mpirun starts is, by *autogroup*; each task of a batch
//! system may be). Who has its core taken away while it waits knows that others want it, and from then on sleeps early.
//!
//! `examples/latency.rs` measures it, with more processes than cores too.

use std::time::{Duration, Instant};

/// Questions in a row before the core is offered to others; about 1 us.
const SPINS: u32 = 50;

/// After this time, sleep: what a sleep takes at least (50 us on Linux) is little beside it.
const LONG: Duration = Duration::from_millis(1);

/// The same while others want the core.
const CROWDED_LONG: Duration = Duration::from_micros(20);

/// What share of the wait so far a sleep may take, which is what it may add to the wait.
const SHARE: u32 = 32;

/// The longest sleep.
const LONGEST: Duration = Duration::from_micros(200);

/// Time between two questions that shows that somebody else had the core.
const TAKEN: Duration = Duration::from_micros(100);

/// Waits after which to try whether others still want it. Their price, milliseconds, is then small for each of these.
const MEMORY: u32 = 1_000;

/// What a process has learned about its core.
#[derive(Debug, Default)]
pub struct Patience {
    /// Waits for which others are believed to want the core.
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

/// One wait: asked again and again until what is awaited has come.
#[derive(Debug)]
pub struct Wait<'a> {
    patience: &'a mut Patience,
    spins: u32,
    since: Option<Instant>,
    /// How long, at the last question that no sleep came after.
    waited: Duration,
}

impl Wait<'_> {
    /// Something of what is awaited has come: the rest may follow at once.
    pub fn go_on(&mut self) {
        self.spins = 0;
        self.since = None;
        self.waited = Duration::ZERO;
    }

    /// Lets some time pass before the next question.
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
        // A yield takes 0.1 us at least, so that there are at most 10,000 in the first millisecond. After it at least
        // LONG / SHARE lies between two questions: 49 * 32 more.
        assert!(questions < 12_000, "{questions}");
    }

    #[test]
    fn who_loses_its_core_in_a_wait_sleeps_early_for_the_next_ones() {
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

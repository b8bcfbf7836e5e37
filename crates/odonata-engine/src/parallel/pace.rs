//! Whether the other threads of a process are worth having, measured as the run goes on.
//!
//! Threads are worth less than was reckoned where another program has their cores: the operating system stops one of them in the
//! midst of a part, for milliseconds, and all others wait for it. Or where windows hold less than was expected. So from time to time
//! a *period* is run by one thread alone, and its events per second are held against those of all threads in the period
//! before. Who was faster goes on, and is tried again later: each time the same wins, the next try is twice as far away.
//!
//! Results do not depend on who runs what.

use std::time::Duration;

/// Events of a period, and of one that is only a try of one thread alone. Some tens of milliseconds, and some.
const PERIOD: u64 = 1 << 17;
const TRY_ALONE: u64 = 1 << 14;
/// Periods between two tries: at first, and at most, per thread, so that what a try of one thread may cost is less than 2 %.
const FIRST_TRY: u64 = 4;
const MOST_PERIODS: u64 = 32;
/// One thread alone has to be so many times as fast as all: two ways of the same speed take turns for no reason otherwise.
const FASTER: f64 = 1.1;

/// See the [module](self).
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    threads: u64,
    /// Whether one thread runs the rounds alone.
    alone: bool,
    /// This period is only a try.
    trying: bool,
    /// Seconds per event in the last period before it.
    before: f64,
    /// Periods until the next try, and the distance from the one before.
    left: u64,
    distance: u64,
    /// Events and time of the period so far.
    events: u64,
    time: Duration,
}

impl Pace {
    pub(super) fn new(threads: usize) -> Pace {
        Pace {
            threads: threads as u64,
            alone: false,
            trying: false,
            before: 0.0,
            left: FIRST_TRY,
            distance: FIRST_TRY,
            events: 0,
            time: Duration::ZERO,
        }
    }

    /// Whether the next round is for one thread alone.
    pub(super) fn is_alone(&self) -> bool {
        self.alone
    }

    /// So many events were handled in so much time; decides who runs the next round.
    pub(super) fn passed(&mut self, events: u64, time: Duration) {
        self.events += events;
        self.time += time;
        let period = if self.trying && self.alone { TRY_ALONE } else { PERIOD };
        if self.events < period {
            return;
        }
        let now = self.time.as_secs_f64() / self.events as f64;
        (self.events, self.time) = (0, Duration::ZERO);
        if self.trying {
            self.trying = false;
            let (alone, all) = if self.alone {
                (now, self.before)
            } else {
                (self.before, now)
            };
            let alone_wins = alone * FASTER < all;
            // The same as before the try, or the other.
            self.distance = if alone_wins == self.alone {
                FIRST_TRY
            } else {
                (2 * self.distance).min(MOST_PERIODS * self.threads)
            };
            self.alone = alone_wins;
            self.left = self.distance;
            return;
        }
        self.left -= 1;
        if self.left == 0 {
            self.before = now;
            self.trying = true;
            self.alone = !self.alone;
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// Events that are handled by all threads, and by one alone, of `events`, where these take so many nanoseconds per event.
    fn run(pace: &mut Pace, events: u64, all: u64, alone: u64) -> (u64, u64) {
        const ROUND: u64 = 1 << 12;
        let mut counts = (0, 0);
        for _ in 0..events / ROUND {
            let (count, cost) = match pace.is_alone() {
                true => (&mut counts.1, alone),
                false => (&mut counts.0, all),
            };
            *count += ROUND;
            pace.passed(ROUND, Duration::from_nanos(ROUND * cost));
        }
        counts
    }

    #[test]
    fn threads_that_gain_run_all_but_a_few_short_tries() {
        for (threads, all, alone) in [(2, 60, 100), (16, 10, 100), (2, 100, 95)] {
            let mut pace = Pace::new(threads);
            let (by_all, by_one) = run(&mut pace, 1 << 28, all, alone);
            assert!(by_one > 0);
            let lost = by_one as f64 * (alone as f64 / all as f64 - 1.0) / by_all as f64;
            assert!(lost < 0.02, "{threads} threads lose {lost}");
        }
    }

    #[test]
    fn one_thread_goes_on_alone_where_it_is_faster_until_the_others_are_again() {
        let mut pace = Pace::new(2);
        run(&mut pace, 1 << 28, 60, 100);
        // A core is taken: what was two threads' is worth less than one.
        let (by_all, by_one) = run(&mut pace, 1 << 28, 300, 100);
        assert!(by_one > 10 * by_all, "{by_one} of {}", by_all + by_one);
        assert!(pace.is_alone());
        let (by_all, by_one) = run(&mut pace, 1 << 28, 60, 100);
        assert!(by_all > 10 * by_one, "{by_all} of {}", by_all + by_one);
        assert!(!pace.is_alone());
    }
}

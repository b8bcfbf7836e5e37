//! The door that keeps the threads of a scheduler together.
//!
//! One thread, the *leader*, opens the door for a round, takes part in the work itself, closes the door, and waits
//! until all who have come in are out again. Whoever comes late finds it closed and waits for the next round; nobody
//! waits for a thread that sleeps, or that the system does not let run. So a round is done by as many threads as
//! happen to be there, which is why the work is claimed, not assigned.
//!
//! Who waits spins for a while, for the next round is usually near, and then sleeps. The leader wakes as many as it
//! has work for. All of it is one word that is changed by read-modify-write operations only: they have one order,
//! and each happens after all that was done before those that precede it.

use super::sync::{AtomicU64, Condvar, Mutex, Ordering, lock};
use std::time::{Duration, Instant};

/// Fields of the word: threads inside, and threads asleep.
const INSIDE: u64 = 1;
const ASLEEP: u64 = 1 << 12;
const COUNT: u64 = ASLEEP - 1;
/// The leader sleeps until all are out.
const LEADER_SLEEPS: u64 = 1 << 24;
const OPEN: u64 = 1 << 25;
/// There will be no further round.
const OVER: u64 = 1 << 26;
/// The number of the round takes all bits from here on. It wraps; nobody sleeps through so many.
const ROUND: u64 = 1 << 32;

/// The most threads that can share a door, besides the leader.
pub(super) const MOST: usize = COUNT as usize;

fn inside(state: u64) -> u64 {
    state & COUNT
}

fn asleep(state: u64) -> usize {
    ((state / ASLEEP) & COUNT) as usize
}

/// See the [module](self).
#[derive(Debug)]
pub(super) struct Door {
    state: AtomicU64,
    /// How long to spin.
    patience: Duration,
    /// Sleepers that were told to wake up and did not yet do so. They no longer count as asleep.
    called: Mutex<usize>,
    opened: Condvar,
    left: Condvar,
}

/// What a thread remembers of the door.
#[derive(Debug)]
pub(super) struct Visitor {
    /// The round that it has last been in.
    round: u64,
    /// Its patience counts from here.
    since: Instant,
}

impl Door {
    pub(super) fn new(patience: Duration) -> Door {
        Door {
            state: AtomicU64::new(0),
            patience,
            called: Mutex::new(0),
            opened: Condvar::new(),
            left: Condvar::new(),
        }
    }

    /// A thread that has not yet been in.
    pub(super) fn visitor() -> Visitor {
        Visitor {
            round: 0,
            since: Instant::now(),
        }
    }

    /// Leader: opens the door for a round that `wanted` of the `all` others could help with.
    pub(super) fn open(&self, wanted: usize, all: usize) {
        let asleep = asleep(self.state.fetch_add(ROUND | OPEN, Ordering::AcqRel));
        let awake = all - asleep;
        if wanted > awake {
            self.wake(wanted - awake);
        }
    }

    /// Wakes `wanted` sleepers, or all if they are fewer.
    fn wake(&self, wanted: usize) {
        let mut called = lock(&self.called);
        // Only with the lock does the word say how many sleep: without it, somebody may be changing his mind.
        let count = wanted.min(asleep(self.state.load(Ordering::Acquire)));
        *called += count;
        self.state.fetch_sub(ASLEEP * count as u64, Ordering::AcqRel);
        drop(called);
        for _ in 0..count {
            self.opened.notify_one();
        }
    }

    /// Leader: closes the door, and returns when nobody is inside.
    pub(super) fn close(&self) {
        let mut state = self.state.fetch_sub(OPEN, Ordering::AcqRel);
        if inside(state) == 0 {
            return;
        }
        let begin = Instant::now();
        while begin.elapsed() < self.patience {
            for _ in 0..SPINS {
                if inside(self.state.load(Ordering::Acquire)) == 0 {
                    return;
                }
                std::hint::spin_loop();
            }
        }
        let mut called = lock(&self.called);
        state = self.state.fetch_or(LEADER_SLEEPS, Ordering::AcqRel);
        while inside(state) > 0 {
            called = self
                .left
                .wait(called)
                .unwrap_or_else(std::sync::PoisonError::into_inner);
            state = self.state.load(Ordering::Acquire);
        }
        self.state.fetch_and(!LEADER_SLEEPS, Ordering::AcqRel);
    }

    /// Leader: there will be no further round. Called between two.
    pub(super) fn end(&self) {
        self.state.fetch_or(OVER, Ordering::AcqRel);
        self.wake(MOST);
    }

    /// Others: comes in for a round that this thread has not been in; `false` if there will be none.
    pub(super) fn enter(&self, visitor: &mut Visitor) -> bool {
        loop {
            let state = self.state.load(Ordering::Acquire);
            if state & OVER != 0 {
                return false;
            }
            if visitor.may_enter(state) {
                let entered = self
                    .state
                    .compare_exchange(state, state + INSIDE, Ordering::AcqRel, Ordering::Relaxed);
                if entered.is_ok() {
                    visitor.round = state / ROUND;
                    return true;
                }
            } else if visitor.since.elapsed() < self.patience {
                for _ in 0..SPINS {
                    std::hint::spin_loop();
                }
            } else {
                self.sleep(visitor);
                visitor.since = Instant::now();
            }
        }
    }

    fn sleep(&self, visitor: &Visitor) {
        let mut called = lock(&self.called);
        // The leader that opens the door after this sees that somebody sleeps, and cannot call before the lock is
        // released by the wait.
        let state = self.state.fetch_add(ASLEEP, Ordering::AcqRel);
        if visitor.may_enter(state) || state & OVER != 0 {
            self.state.fetch_sub(ASLEEP, Ordering::AcqRel);
            return;
        }
        loop {
            called = self
                .opened
                .wait(called)
                .unwrap_or_else(std::sync::PoisonError::into_inner);
            if *called > 0 {
                *called -= 1;
                return;
            }
        }
    }

    /// Others: goes out again. `useful`: when it last did something, if it did.
    pub(super) fn leave(&self, visitor: &mut Visitor, useful: Option<Instant>) {
        visitor.since = useful.unwrap_or(visitor.since);
        let state = self.state.fetch_sub(INSIDE, Ordering::AcqRel);
        if inside(state) == 1 && state & LEADER_SLEEPS != 0 {
            // With the lock, so that the leader is not between its look at the word and its sleep.
            drop(lock(&self.called));
            self.left.notify_one();
        }
    }
}

/// Looks at the word between two looks at the clock.
const SPINS: u32 = 32;

impl Visitor {
    fn may_enter(&self, state: u64) -> bool {
        state & OPEN != 0 && state / ROUND != self.round
    }
}

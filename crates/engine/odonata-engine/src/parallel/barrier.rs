//! The barrier between rounds. Unlike a usual barrier, it waits only for the threads that have entered the round.
//!
//! One thread, the *leader*, opens the barrier for a round, works itself, closes the barrier, and waits until all
//! threads inside have left. A late thread finds the barrier closed and waits for the next round. So the leader never
//! waits for a thread that sleeps or is not scheduled. For the same reason, present threads claim work instead of
//! having it assigned.
//!
//! A waiting thread spins for a while, because the next round is usually near, and then sleeps. The leader wakes as
//! many threads as it has work for. The whole state is one word changed only by read-modify-write operations: they have
//! a total order, and each happens after everything before its predecessors.

use super::sync::{AtomicU64, Condvar, Mutex, Ordering, lock};
use std::time::{Duration, Instant};

/// Fields of the word: threads inside, and threads asleep.
const INSIDE: u64 = 1;
const ASLEEP: u64 = 1 << 12;
const COUNT: u64 = ASLEEP - 1;
/// The leader sleeps until all are out.
const LEADER_SLEEPS: u64 = 1 << 24;
const OPEN: u64 = 1 << 25;
/// No further round follows.
const OVER: u64 = 1 << 26;
/// The round number occupies all bits from here on. It wraps; no thread sleeps through that many rounds.
const ROUND: u64 = 1 << 32;

/// Maximum number of threads besides the leader.
pub(super) const MOST: usize = COUNT as usize;

fn inside(state: u64) -> u64 {
    state & COUNT
}

fn asleep(state: u64) -> usize {
    ((state / ASLEEP) & COUNT) as usize
}

/// See the [module](self).
#[derive(Debug)]
pub(super) struct RoundBarrier {
    state: AtomicU64,
    /// Spinning time before sleeping.
    spin_time: Duration,
    /// Threads woken but not yet running. They no longer count as asleep.
    called: Mutex<usize>,
    opened: Condvar,
    left: Condvar,
}

/// The state of a thread at the barrier.
#[derive(Debug)]
pub(super) struct Participant {
    /// The last round it entered.
    round: u64,
    /// Start of spinning.
    since: Instant,
}

impl RoundBarrier {
    pub(super) fn new(spin_time: Duration) -> RoundBarrier {
        RoundBarrier {
            state: AtomicU64::new(0),
            spin_time,
            called: Mutex::new(0),
            opened: Condvar::new(),
            left: Condvar::new(),
        }
    }

    /// A thread that has not entered any round.
    pub(super) fn participant() -> Participant {
        Participant {
            round: 0,
            since: Instant::now(),
        }
    }

    /// Leader: opens the barrier for a round to which `wanted` of the `all` other threads could contribute.
    pub(super) fn open(&self, wanted: usize, all: usize) {
        let asleep = asleep(self.state.fetch_add(ROUND | OPEN, Ordering::AcqRel));
        let awake = all - asleep;
        if wanted > awake {
            self.wake(wanted - awake);
        }
    }

    /// Wakes `wanted` sleepers, or all if there are fewer.
    fn wake(&self, wanted: usize) {
        let mut called = lock(&self.called);
        // The count of sleepers is reliable only under the lock: a thread may be about to return without sleeping.
        let count = wanted.min(asleep(self.state.load(Ordering::Acquire)));
        *called += count;
        self.state.fetch_sub(ASLEEP * count as u64, Ordering::AcqRel);
        drop(called);
        for _ in 0..count {
            self.opened.notify_one();
        }
    }

    /// Leader: closes the barrier, and returns when no thread is inside.
    pub(super) fn close(&self) {
        let mut state = self.state.fetch_sub(OPEN, Ordering::AcqRel);
        if inside(state) == 0 {
            return;
        }
        let begin = Instant::now();
        while begin.elapsed() < self.spin_time {
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

    /// Leader, between rounds: no further round follows.
    pub(super) fn end(&self) {
        self.state.fetch_or(OVER, Ordering::AcqRel);
        self.wake(MOST);
    }

    /// Other threads: enters a round that this thread has not entered yet; `false` if no round follows.
    pub(super) fn enter(&self, participant: &mut Participant) -> bool {
        loop {
            let state = self.state.load(Ordering::Acquire);
            if state & OVER != 0 {
                return false;
            }
            if participant.may_enter(state) {
                let entered = self
                    .state
                    .compare_exchange(state, state + INSIDE, Ordering::AcqRel, Ordering::Relaxed);
                if entered.is_ok() {
                    participant.round = state / ROUND;
                    return true;
                }
            } else if participant.since.elapsed() < self.spin_time {
                for _ in 0..SPINS {
                    std::hint::spin_loop();
                }
            } else {
                self.sleep(participant);
                participant.since = Instant::now();
            }
        }
    }

    fn sleep(&self, participant: &Participant) {
        let mut called = lock(&self.called);
        // A leader that opens the barrier after this sees the sleeper, and cannot wake it before the wait releases the
        // lock.
        let state = self.state.fetch_add(ASLEEP, Ordering::AcqRel);
        if participant.may_enter(state) || state & OVER != 0 {
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

    /// Other threads: leaves the round. `useful`: when the thread last made progress.
    pub(super) fn leave(&self, participant: &mut Participant, useful: Option<Instant>) {
        participant.since = useful.unwrap_or(participant.since);
        let state = self.state.fetch_sub(INSIDE, Ordering::AcqRel);
        if inside(state) == 1 && state & LEADER_SLEEPS != 0 {
            // Under the lock: the leader must not be between reading the word and sleeping.
            drop(lock(&self.called));
            self.left.notify_one();
        }
    }
}

/// Readings of the word between two readings of the time.
const SPINS: u32 = 32;

impl Participant {
    fn may_enter(&self, state: u64) -> bool {
        state & OPEN != 0 && state / ROUND != self.round
    }
}

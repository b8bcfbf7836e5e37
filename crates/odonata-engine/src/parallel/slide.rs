//! Sliding windows: a round in which the threads of a process do not wait for each other.
//!
//! Each part has a *clock*: nothing that it will still do in this round, or take back, is before it. A part may do all that is before the
//! clocks of those that can send to it, plus their delays (Chandy and Misra 1979; their null messages are the clocks here, which are
//! read instead of sent), and its own clock follows. So a part is held up only by those that are more than the delay behind
//! it, and not by whoever is the last of all, once in every window. A round ends when all parts have reached their *goals*.
//!
//! A thread that reads a clock finds in the inbox all that was sent before the clock was set: letters are posted before.

use super::reach::{Horizon, Reach};
use super::sync::{AtomicBool, AtomicU64, Ordering, Padded};
use crate::core::{HALT_GRID, after, halt_end};
use crate::{Partition, Time};
use std::ops::Range;

/// How long a round is at most, in lookaheads and in milestones: enough to make up for what agreeing on it costs. Clocks
/// are moved on even where there is nothing to do.
const LOOKAHEADS: u64 = 256;
const MILESTONES: u64 = 16;

/// See the [module](self). Parts are those of this process, counted from 0.
#[derive(Debug)]
pub(super) struct Slide {
    clocks: Vec<Padded<AtomicU64>>,
    lookahead: Time,
    /// Where parts are held up in this round by those of other processes. Written between rounds.
    caps: Vec<AtomicU64>,
    /// Per part, those here that can send to it, with their delays.
    senders: Vec<Vec<(u32, Time)>>,
    /// Where all parts wait for each other: nobody goes beyond a multiple of [`HALT_GRID`](crate::HALT_GRID) before it is known that
    /// no part has halted the run before it.
    milestone: Padded<AtomicU64>,
    /// The last milestone of the round. Written between rounds.
    limit: AtomicU64,
    /// Parts that are not yet at the milestone.
    behind: Padded<AtomicU64>,
    /// A part has halted the run.
    halted: AtomicBool,
    over: AtomicBool,
    /// Which threads are at work.
    present: Vec<Padded<AtomicBool>>,
}

impl Slide {
    /// For the parts `here` of the partition.
    pub(super) fn new(partition: &Partition, here: Range<usize>, threads: usize) -> Slide {
        let senders = here.clone().map(|part| {
            let all = partition.senders(part).iter();
            let own = all.filter(|&&(sender, _)| here.contains(&(sender as usize)));
            own.map(|&(sender, delay)| (sender - here.start as u32, delay)).collect()
        });
        Slide {
            clocks: here.clone().map(|_| Padded::default()).collect(),
            lookahead: partition.lookahead(),
            caps: here.clone().map(|_| AtomicU64::new(0)).collect(),
            senders: senders.collect(),
            milestone: Padded::default(),
            limit: AtomicU64::new(0),
            behind: Padded::default(),
            halted: AtomicBool::new(false),
            over: AtomicBool::new(false),
            present: (0..threads).map(|_| Padded::default()).collect(),
        }
    }

    /// Leader, between rounds: sets the clocks of the parts from `first` on. `horizon` says how far all are, those of other
    /// processes too, which stay where they are for this round. Nothing from `limit` on is handled.
    pub(super) fn begin(&self, first: usize, reach: &Reach, horizon: &mut Horizon, limit: Time) {
        reach.set_clocks(horizon);
        let lookaheads = self.lookahead.0.saturating_mul(LOOKAHEADS);
        let limit = limit.min(horizon.first() + Time(lookaheads.min(HALT_GRID.0 * MILESTONES)));
        let parts = horizon.parts();
        let here = first..first + self.clocks.len();
        let all_are_here = here.len() == parts;
        let milestone = limit.min(after(halt_end(horizon.first())));
        let mut behind = 0;
        for (seat, part) in here.clone().enumerate() {
            let (clock, cap) = (horizon.clock(part), reach.safe_from_others(part, &here, horizon));
            self.clocks[seat].store(clock.0, Ordering::Relaxed);
            self.caps[seat].store(cap.0, Ordering::Relaxed);
            behind += u64::from(clock < cap.min(milestone));
        }
        let limit = if all_are_here { limit } else { milestone };
        self.limit.store(limit.0, Ordering::Relaxed);
        self.milestone.store(milestone.0, Ordering::Relaxed);
        self.behind.store(behind, Ordering::Relaxed);
        self.halted.store(false, Ordering::Relaxed);
        self.over.store(behind == 0, Ordering::Relaxed);
    }

    /// How far the part is.
    #[inline]
    pub(super) fn clock(&self, seat: usize) -> Time {
        Time(self.clocks[seat].load(Ordering::Acquire))
    }

    /// Nobody goes beyond this for the time being.
    pub(super) fn milestone(&self) -> Time {
        Time(self.milestone.load(Ordering::Acquire))
    }

    /// Where the part waits for the others, this time.
    #[inline]
    fn stop(&self, seat: usize) -> Time {
        let cap = self.caps[seat].load(Ordering::Relaxed);
        Time(cap.min(self.milestone.load(Ordering::Acquire)))
    }

    /// Before when nothing can come to the part any more; `None` if it has done all there is to do before.
    #[inline]
    pub(super) fn bound(&self, seat: usize) -> Option<Time> {
        let (clock, mut bound) = (self.clock(seat), self.stop(seat));
        for &(sender, delay) in &self.senders[seat] {
            if clock >= bound {
                return None;
            }
            // With the clock comes what the sender had posted before.
            bound = bound.min(self.clock(sender as usize) + delay);
        }
        (clock < bound).then_some(bound)
    }

    /// Who has the part says how far it is, after having posted what it has for others; `halted`: it has halted the run before that.
    pub(super) fn pass(&self, seat: usize, clock: Time, halted: bool) {
        let stop = self.stop(seat);
        if halted {
            self.halted.store(true, Ordering::Relaxed);
        }
        // Who has the part is the only one to write its clock.
        let before = Time(self.clocks[seat].load(Ordering::Relaxed));
        self.clocks[seat].store(clock.0, Ordering::Release);
        debug_assert!(before <= clock, "a clock does not go back");
        if before < stop && clock >= stop && self.behind.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.go_on();
        }
    }

    /// By the last that has come to the milestone: sets the next one, or ends the round.
    fn go_on(&self) {
        let milestone = Time(self.milestone.load(Ordering::Relaxed));
        let next = after(halt_end(milestone)).min(Time(self.limit.load(Ordering::Relaxed)));
        if next > milestone && !self.halted.load(Ordering::Relaxed) {
            self.behind.store(self.clocks.len() as u64, Ordering::Relaxed);
            self.milestone.store(next.0, Ordering::Release);
        } else {
            self.over.store(true, Ordering::Release);
        }
    }

    /// Whether the round has ended.
    pub(super) fn is_over(&self) -> bool {
        self.over.load(Ordering::Acquire)
    }

    /// The round ends here for everybody.
    pub(super) fn break_off(&self) {
        self.over.store(true, Ordering::Release);
    }

    /// A thread begins to look after its parts, or does not any more.
    pub(super) fn set_present(&self, thread: usize, present: bool) {
        self.present[thread].store(present, Ordering::Relaxed);
    }

    /// Whether a thread looks after its parts.
    pub(super) fn is_present(&self, thread: usize) -> bool {
        self.present[thread].load(Ordering::Relaxed)
    }
}

//! Clocks of parts, for rounds in which windows [slide](super::slide).
//!
//! Nothing that a part will still do in the round, or take back, is before its clock. So a part may do all that is before the
//! clocks of those that can send to it, plus their delays, and its own clock follows (Chandy and Misra, "Distributed simulation", IEEE
//! TSE 5, 1979; what they send as null messages is read here). Somebody's clock is always the least, and can go on.
//!
//! Who reads a clock finds in the inbox all that was sent before the clock was set: letters are posted before.

use super::reach::{Horizon, Reach};
use super::sync::{AtomicBool, AtomicU64, Ordering, Padded};
use crate::core::{HALT_GRID, after, halt_end};
use crate::{Partition, Time};
use std::ops::Range;

/// How long a round is at most, in lookaheads and in milestones: enough to make up for what agreeing on it costs. Clocks
/// are moved on even where there is nothing to do.
const LOOKAHEADS: u64 = 256;
const MILESTONES: u64 = 16;
/// And, about, in events: between rounds a run can be interrupted.
const EVENTS: u64 = 1 << 16;

/// See the [module](self). Parts are those of this process, counted from 0.
#[derive(Debug)]
pub(super) struct Clocks {
    clocks: Vec<Padded<AtomicU64>>,
    /// The least of all delays.
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
    /// Which threads look after their parts.
    present: Vec<Padded<AtomicBool>>,
}

impl Clocks {
    /// For the parts `here` of the partition.
    pub(super) fn new(partition: &Partition, here: Range<usize>, threads: usize) -> Clocks {
        let senders = here.clone().map(|part| {
            let all = partition.senders(part).iter();
            let own = all.filter(|&&(sender, _)| here.contains(&(sender as usize)));
            own.map(|&(sender, delay)| (sender - here.start as u32, delay))
                .collect()
        });
        Clocks {
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
    /// processes too, which stay where they are for this round. Nothing from `limit` on is handled. A lookahead is expected to have
    /// so many `events`.
    pub(super) fn begin(&self, first: usize, reach: &Reach, horizon: &mut Horizon, limit: Time, events: u64) {
        reach.set_clocks(horizon);
        let lookaheads = (EVENTS / events.max(1)).clamp(1, LOOKAHEADS);
        let lookaheads = self.lookahead.0.saturating_mul(lookaheads);
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

    /// The end of the round.
    pub(super) fn limit(&self) -> Time {
        Time(self.limit.load(Ordering::Relaxed))
    }

    /// Where the part waits for the others, this time.
    #[inline]
    fn stop(&self, seat: usize) -> Time {
        Time(self.caps[seat].load(Ordering::Relaxed)).min(self.milestone())
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
        let before = self.clock(seat);
        debug_assert!(before <= clock, "a clock does not go back");
        if before == clock {
            return;
        }
        self.clocks[seat].store(clock.0, Ordering::Release);
        if before < stop && clock >= stop && self.behind.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.go_on();
        }
    }

    /// By the last that has come to the milestone: sets the next one, or ends the round.
    fn go_on(&self) {
        let milestone = self.milestone();
        let next = after(halt_end(milestone)).min(self.limit());
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

    /// A thread begins to look after its parts, or does not any more: it says so, or others find that it does nothing.
    pub(super) fn set_present(&self, thread: usize, present: bool) {
        if self.is_present(thread) != present {
            self.present[thread].store(present, Ordering::Relaxed);
        }
    }

    /// Whether a thread looks after its parts.
    pub(super) fn is_present(&self, thread: usize) -> bool {
        self.present[thread].load(Ordering::Relaxed)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// 0 -> 1 in 10, 1 -> 0 in 30, 1 -> 2 in 20, 2 -> 0 in 500.
    fn partition() -> Partition {
        let senders = vec![
            vec![(1, Time(30)), (2, Time(500))],
            vec![(0, Time(10))],
            vec![(1, Time(20))],
        ];
        Partition::new(vec![0, 1, 2, 3], senders).unwrap()
    }

    fn begun(here: Range<usize>, next: [Time; 3], limit: Time) -> Clocks {
        let partition = partition();
        let mut horizon = Horizon::new();
        horizon.set(next.into_iter(), after(halt_end(next.into_iter().min().unwrap())));
        let clocks = Clocks::new(&partition, here.clone(), 1);
        clocks.begin(here.start, &Reach::new(&partition), &mut horizon, limit, 1);
        clocks
    }

    #[test]
    fn a_part_goes_as_far_as_those_let_it_that_can_send_to_it() {
        let clocks = begun(0..3, [100, 105, 900].map(Time), Time(10_000));
        // 100 + 10, 105 + 20; of part 0, by part 1, 105 + 30.
        let bounds = [0, 1, 2].map(|seat| clocks.bound(seat));
        assert_eq!(bounds, [Some(Time(135)), Some(Time(110)), None]);
        clocks.pass(0, Time(120), false);
        assert_eq!((clocks.bound(0), clocks.bound(1)), (Some(Time(135)), Some(Time(130))));
        clocks.pass(1, Time(130), false);
        // The clock of part 2 was what part 1 let it have: 105 + 20.
        assert_eq!((clocks.bound(1), clocks.bound(2)), (None, Some(Time(150))));
    }

    #[test]
    fn all_wait_for_each_other_at_milestones_and_the_round_ends_at_the_limit() {
        let grid = HALT_GRID;
        let clocks = begun(0..3, [Time(grid.0 - 100); 3], grid + Time(7));
        for milestone in [grid, grid + Time(7)] {
            assert_eq!(clocks.milestone(), milestone);
            for seat in 0..3 {
                assert!(!clocks.is_over());
                clocks.pass(seat, milestone, false);
            }
        }
        assert!(clocks.is_over());
    }

    #[test]
    fn who_halts_the_run_lets_nobody_go_beyond_the_next_milestone() {
        let clocks = begun(0..3, [Time(HALT_GRID.0 - 100); 3], Time::NEVER);
        (0..3).for_each(|seat| clocks.pass(seat, HALT_GRID, seat == 1));
        assert!(clocks.is_over() && clocks.milestone() == HALT_GRID);
    }

    /// Part 2 is elsewhere. What it may send comes at 105 + 20, which it may hear of at the earliest, plus 500.
    #[test]
    fn parts_of_other_processes_stay_where_they_are() {
        let clocks = begun(0..2, [100, 105, 900].map(Time), Time(10_000));
        for _ in 0..100 {
            for seat in 0..2 {
                if let Some(bound) = clocks.bound(seat) {
                    clocks.pass(seat, bound, false);
                }
            }
        }
        assert!(clocks.is_over());
        assert_eq!([0, 1].map(|seat| clocks.clock(seat)), [625, 635].map(Time));
    }

    #[test]
    fn what_is_far_ahead_at_the_beginning_is_not_waited_for() {
        let limit = Time(150);
        let clocks = begun(0..3, [100, 105, 900].map(Time), limit);
        for seat in [0, 1] {
            clocks.pass(seat, limit, false);
            assert!(!clocks.is_over());
        }
        clocks.pass(2, limit, false);
        assert!(clocks.is_over());
    }
}

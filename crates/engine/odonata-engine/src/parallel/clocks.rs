//! Clocks of parts: lower bounds on their future actions, for [asynchronous](super::asynchronous) rounds.
//!
//! In the round, a part neither does nor rolls back anything before its clock. So a part may handle all events before
//! the minimum of clock plus delay over its senders; then it advances its own clock (Chandy and Misra, "Distributed
//! simulation", IEEE TSE 5, 1979; a clock is a null message that is read instead of sent). The part with the smallest
//! clock can always advance, so there is no deadlock.
//!
//! Messages are routed before the clock is set: a thread that reads a clock finds all earlier messages in the inbox.

use super::distances::{Distances, Horizon};
use super::sync::{AtomicBool, AtomicU64, CachePadded, Ordering};
use crate::core::{HALT_GRID, after, halt_end};
use crate::{Partition, Time};
use std::ops::Range;

/// The longest round, in lookaheads and in synchronization points: long enough to amortize the global reduction, and
/// short because clocks advance even in idle parts.
const LOOKAHEADS: u64 = 256;
const SYNC_POINTS: u64 = 16;
/// The longest round in events, approximately: a run can be interrupted only between rounds.
const EVENTS: u64 = 1 << 16;

/// See the [module](self). Parts are those of this process, counted from 0.
#[derive(Debug)]
pub(super) struct Clocks {
    clocks: Vec<CachePadded<AtomicU64>>,
    /// The least of all delays.
    lookahead: Time,
    /// The bounds imposed by the parts of other processes in this round. Written between rounds.
    caps: Vec<AtomicU64>,
    /// Per part, the parts of this process that can send to it, with their delays.
    senders: Vec<Vec<(u32, Time)>>,
    /// The next global synchronization point. No part passes a multiple of [`HALT_GRID`](crate::HALT_GRID) before all
    /// parts are known not to have halted the run before it.
    sync_point: CachePadded<AtomicU64>,
    /// The last synchronization point of the round. Written between rounds.
    limit: AtomicU64,
    /// Parts that have not reached the synchronization point.
    behind: CachePadded<AtomicU64>,
    /// Whether a part has halted the run.
    halted: AtomicBool,
    over: AtomicBool,
    /// Which threads are running their parts.
    active: Vec<CachePadded<AtomicBool>>,
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
            clocks: here.clone().map(|_| CachePadded::default()).collect(),
            lookahead: partition.lookahead(),
            caps: here.clone().map(|_| AtomicU64::new(0)).collect(),
            senders: senders.collect(),
            sync_point: CachePadded::default(),
            limit: AtomicU64::new(0),
            behind: CachePadded::default(),
            halted: AtomicBool::new(false),
            over: AtomicBool::new(false),
            active: (0..threads).map(|_| CachePadded::default()).collect(),
        }
    }

    /// Leader, between rounds: sets the clocks of the parts from `first` on. `horizon` has the next events of all
    /// parts; parts of other processes do not advance in this round. Events from `limit` on are not handled. `events`
    /// is the expected number per lookahead.
    pub(super) fn begin(&self, first: usize, distances: &Distances, horizon: &mut Horizon, limit: Time, events: u64) {
        distances.set_clocks(horizon);
        let lookaheads = (EVENTS / events.max(1)).clamp(1, LOOKAHEADS);
        let lookaheads = self.lookahead.0.saturating_mul(lookaheads);
        let limit = limit.min(horizon.first() + Time(lookaheads.min(HALT_GRID.0 * SYNC_POINTS)));
        let parts = horizon.parts();
        let here = first..first + self.clocks.len();
        let all_are_here = here.len() == parts;
        let sync_point = limit.min(after(halt_end(horizon.first())));
        let mut behind = 0;
        for (slot, part) in here.clone().enumerate() {
            let (clock, cap) = (horizon.clock(part), distances.safe_from_others(part, &here, horizon));
            self.clocks[slot].store(clock.0, Ordering::Relaxed);
            self.caps[slot].store(cap.0, Ordering::Relaxed);
            behind += u64::from(clock < cap.min(sync_point));
        }
        let limit = if all_are_here { limit } else { sync_point };
        self.limit.store(limit.0, Ordering::Relaxed);
        self.sync_point.store(sync_point.0, Ordering::Relaxed);
        self.behind.store(behind, Ordering::Relaxed);
        self.halted.store(false, Ordering::Relaxed);
        self.over.store(behind == 0, Ordering::Relaxed);
    }

    /// The clock of the part.
    #[inline]
    pub(super) fn clock(&self, slot: usize) -> Time {
        Time(self.clocks[slot].load(Ordering::Acquire))
    }

    /// The next synchronization point.
    pub(super) fn sync_point(&self) -> Time {
        Time(self.sync_point.load(Ordering::Acquire))
    }

    /// The end of the round.
    pub(super) fn limit(&self) -> Time {
        Time(self.limit.load(Ordering::Relaxed))
    }

    /// Where the part has to wait for other parts in this step.
    #[inline]
    fn stop(&self, slot: usize) -> Time {
        Time(self.caps[slot].load(Ordering::Relaxed)).min(self.sync_point())
    }

    /// The time before which no further message can arrive at the part; `None` if its clock is there already.
    #[inline]
    pub(super) fn bound(&self, slot: usize) -> Option<Time> {
        let (clock, mut bound) = (self.clock(slot), self.stop(slot));
        for &(sender, delay) in &self.senders[slot] {
            if clock >= bound {
                return None;
            }
            // Acquire: messages routed before the clock was set are visible.
            bound = bound.min(self.clock(sender as usize) + delay);
        }
        (clock < bound).then_some(bound)
    }

    /// Sets the clock of a part after routing its messages; called by the thread that runs the part. `halted`: the part
    /// has halted the run before that time.
    pub(super) fn advance(&self, slot: usize, clock: Time, halted: bool) {
        let stop = self.stop(slot);
        if halted {
            self.halted.store(true, Ordering::Relaxed);
        }
        // Only the thread that runs the part writes its clock.
        let before = self.clock(slot);
        debug_assert!(before <= clock, "a clock does not go back");
        if before == clock {
            return;
        }
        self.clocks[slot].store(clock.0, Ordering::Release);
        if before < stop && clock >= stop && self.behind.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.next_sync_point();
        }
    }

    /// Called by the last part that reaches a synchronization point: sets the next one, or ends the round.
    fn next_sync_point(&self) {
        let sync_point = self.sync_point();
        let next = after(halt_end(sync_point)).min(self.limit());
        if next > sync_point && !self.halted.load(Ordering::Relaxed) {
            self.behind.store(self.clocks.len() as u64, Ordering::Relaxed);
            self.sync_point.store(next.0, Ordering::Release);
        } else {
            self.over.store(true, Ordering::Release);
        }
    }

    /// Whether the round has ended.
    pub(super) fn is_over(&self) -> bool {
        self.over.load(Ordering::Acquire)
    }

    /// Ends the round for all parts.
    pub(super) fn abort(&self) {
        self.over.store(true, Ordering::Release);
    }

    /// Sets whether a thread runs its parts. Other threads may clear this flag, too.
    pub(super) fn set_active(&self, thread: usize, active: bool) {
        if self.is_active(thread) != active {
            self.active[thread].store(active, Ordering::Relaxed);
        }
    }

    /// Whether a thread runs its parts.
    pub(super) fn is_active(&self, thread: usize) -> bool {
        self.active[thread].load(Ordering::Relaxed)
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
        clocks.begin(here.start, &Distances::new(&partition), &mut horizon, limit, 1);
        clocks
    }

    #[test]
    fn a_part_advances_as_far_as_its_possible_senders_allow() {
        let clocks = begun(0..3, [100, 105, 900].map(Time), Time(10_000));
        // 100 + 10, 105 + 20; for part 0, limited by part 1, 105 + 30.
        let bounds = [0, 1, 2].map(|slot| clocks.bound(slot));
        assert_eq!(bounds, [Some(Time(135)), Some(Time(110)), None]);
        clocks.advance(0, Time(120), false);
        assert_eq!((clocks.bound(0), clocks.bound(1)), (Some(Time(135)), Some(Time(130))));
        clocks.advance(1, Time(130), false);
        // Part 1 limited the clock of part 2: 105 + 20.
        assert_eq!((clocks.bound(1), clocks.bound(2)), (None, Some(Time(150))));
    }

    #[test]
    fn all_wait_for_each_other_at_synchronisation_points_and_the_round_ends_at_the_limit() {
        let grid = HALT_GRID;
        let clocks = begun(0..3, [Time(grid.0 - 100); 3], grid + Time(7));
        for sync_point in [grid, grid + Time(7)] {
            assert_eq!(clocks.sync_point(), sync_point);
            for slot in 0..3 {
                assert!(!clocks.is_over());
                clocks.advance(slot, sync_point, false);
            }
        }
        assert!(clocks.is_over());
    }

    #[test]
    fn after_a_halt_no_part_passes_the_next_synchronisation_point() {
        let clocks = begun(0..3, [Time(HALT_GRID.0 - 100); 3], Time::NEVER);
        (0..3).for_each(|slot| clocks.advance(slot, HALT_GRID, slot == 1));
        assert!(clocks.is_over() && clocks.sync_point() == HALT_GRID);
    }

    /// Part 2 is in another process. Its earliest possible message is at 105 + 20; its answer arrives 500 later.
    #[test]
    fn parts_of_other_processes_stay_where_they_are() {
        let clocks = begun(0..2, [100, 105, 900].map(Time), Time(10_000));
        for _ in 0..100 {
            for slot in 0..2 {
                if let Some(bound) = clocks.bound(slot) {
                    clocks.advance(slot, bound, false);
                }
            }
        }
        assert!(clocks.is_over());
        assert_eq!([0, 1].map(|slot| clocks.clock(slot)), [625, 635].map(Time));
    }

    #[test]
    fn what_is_far_ahead_at_the_beginning_is_not_waited_for() {
        let limit = Time(150);
        let clocks = begun(0..3, [100, 105, 900].map(Time), limit);
        for slot in [0, 1] {
            clocks.advance(slot, limit, false);
            assert!(!clocks.is_over());
        }
        clocks.advance(2, limit, false);
        assert!(clocks.is_over());
    }
}

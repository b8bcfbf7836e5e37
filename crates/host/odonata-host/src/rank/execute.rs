//! The executor: pulls the operations of a rank, begins them in order, and removes those that have ended.
//!
//! A rank with one stream pulls an operation when its predecessor is complete. A rank with several streams looks [as
//! far ahead](odonata_workload::Program::look_ahead) as the program says. It begins an operation as soon as its stream
//! is free and the operations that it comes [after](odonata_workload::After) are complete.
//!
//! ```text
//!  pull ──> Parked ──> Ready ──> (Delayed: jitter of the call) ──> perform ──┬──> Blocked: requests ──┐
//!                                                                            └────────────────────────┴──> Busy: costs ──> end
//! ```
//!
//! `perform` defines the effect of an operation. The first complete request wakes a wait for one of several; the wait
//! takes the complete requests at the end of that event.

use super::activity::{Activity, Phase};
use super::zero_time_guard::ZeroTimeGuard;
use super::{RankExecutor, SCAN, look_ahead};
use crate::failure::Failure;
use odonata_engine::{Mode, Time};
use odonata_workload::Op;

/// What a rank does next.
#[derive(Debug)]
pub(crate) enum Next {
    /// Begin operation `slot`.
    Begin { slot: u32 },
    /// Let `call`, for one of several requests, take those that are complete.
    Wake { call: u32 },
    /// Report an error of the program.
    Fail(Box<Failure>),
    /// Report an error of the program, which cannot go on.
    Abort(Box<Failure>),
    /// The rank has ended.
    End,
    /// Nothing, until an operation ends.
    Wait,
}

impl RankExecutor {
    /// Whether `rank` has one stream and waits for the operation in it, so that it does nothing now.
    #[inline(always)]
    pub(crate) fn is_occupied(&self, rank: u32) -> bool {
        let state = self.ranks.get(rank);
        state.ready == 0 && state.live_count > 0 && !state.parallel
    }

    /// What `rank` does next at `now`; `guard` counts what it has begun in this event.
    pub(crate) fn next<M: Mode>(&mut self, now: Time, rank: u32, guard: &mut ZeroTimeGuard) -> Next {
        loop {
            if self.interrupt.hear() {
                return Next::Wait;
            }
            let state = self.ranks.get(rank);
            if state.ready > 0 {
                let slot = self.next_ready::<M>(rank);
                let Activity { phase, call, .. } = *self.activities.get(slot);
                if phase != Phase::Woken {
                    return Next::Begin { slot };
                }
                self.activities.edit::<M>(slot).phase = Phase::Blocked;
                return Next::Wake { call };
            }
            let most = match state.parallel {
                true => look_ahead(&self.layout, rank),
                false => 1,
            };
            if state.live_count >= most || state.exhausted {
                break;
            }
            let (op, failed) = self.pull::<M>(now, rank);
            match op {
                Some(op) if !guard.allows(&op.kind) => {
                    self.ranks.edit::<M>(rank).exhausted = true;
                    return Next::Abort(Box::new(match failed {
                        true => Failure::Program { rank, at: now },
                        false => Failure::Endless { rank, op },
                    }));
                }
                Some(op) => self.admit::<M>(rank, op),
                // The interruption may have cut the program short.
                None if self.interrupt.hear() => return Next::Wait,
                None => self.ranks.edit::<M>(rank).exhausted = true,
            }
            if failed {
                return Next::Fail(Box::new(Failure::Program { rank, at: now }));
            }
        }
        let state = self.ranks.get(rank);
        if state.exhausted && state.live_count == 0 && !state.ended {
            self.ranks.edit::<M>(rank).ended = true;
            return Next::End;
        }
        Next::Wait
    }

    /// The next operation of `rank`, and whether its program has failed.
    fn pull<M: Mode>(&mut self, now: Time, rank: u32) -> (Option<Op>, bool) {
        let Some(program) = self.layout.program(rank) else {
            return (None, false);
        };
        let local = self.layout.local(rank);
        if program.memory() > 0 {
            return self.pull_with_memory::<M>(now, rank);
        }
        let state = self.ranks.edit::<M>(rank);
        if !state.parallel && state.cursor.op >= state.next_scan {
            // One search per window, over the next two windows, finds a second stream early enough and costs two pulls
            // per operation.
            let mut cursor = state.cursor;
            let mut coming = std::iter::from_fn(|| program.next(local, &mut cursor)).take(2 * SCAN as usize);
            let has_one_stream = program.has_one_stream();
            state.parallel = !has_one_stream && coming.any(|op| op.stream != 0);
            state.next_scan = match has_one_stream {
                true => u32::MAX,
                false => state.cursor.op.saturating_add(SCAN),
            };
        }
        let op = program.next(local, &mut state.cursor);
        let failed = op.is_none() && !self.interrupt.hear() && program.broken(local, &state.cursor).is_some();
        (op, failed)
    }

    /// Operation `slot` begins at `now`.
    #[inline]
    pub(crate) fn begin<M: Mode>(&mut self, slot: u32, now: Time) {
        let activity = self.activities.edit::<M>(slot);
        activity.since = now;
        activity.phase = Phase::Blocked;
    }

    /// Operation `slot` waits for the random delay of its call, or occupies its stream.
    #[inline]
    pub(crate) fn pauses<M: Mode>(&mut self, slot: u32, phase: Phase) {
        self.activities.edit::<M>(slot).phase = phase;
    }

    /// Call `call` of the MPI library performs operation `slot`.
    #[inline]
    pub(crate) fn is_performed_by<M: Mode>(&mut self, slot: u32, call: u32) {
        self.activities.edit::<M>(slot).call = call;
    }

    /// The pause of operation `slot` is over; returns what it was.
    #[inline]
    pub(crate) fn resume<M: Mode>(&mut self, slot: u32) -> Phase {
        std::mem::replace(&mut self.activities.edit::<M>(slot).phase, Phase::Blocked)
    }

    /// Removes operation `slot`, which has ended.
    #[inline]
    pub(crate) fn end<M: Mode>(&mut self, slot: u32) {
        self.remove::<M>(slot);
    }
}

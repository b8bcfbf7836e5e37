//! The executor: pulls the operations of a rank, begins them in order, and retires them.
//!
//! A rank with one stream pulls an operation when its predecessor is complete. A rank with several streams looks [as
//! far ahead](odonata_workload::Program::look_ahead) as the program says. It begins an operation as soon as its stream
//! is free and the operations that it comes [after](odonata_workload::After) are complete.
//!
//! ```text
//!  pull ──> Parked ──> Ready ──> (Delayed: jitter of the call) ──> perform ──┬──> Blocked: requests ──┐
//!                                                                            └────────────────────────┴──> Busy: costs ──> retire
//! ```
//!
//! `call` defines the effect of an operation. The first complete request wakes a wait for one of several; the wait
//! takes the complete requests at the end of that event.
//!
//! `advance` runs once at the end of every event of a rank and never from within, so that nothing recurses however many
//! operations take no time.

use crate::Hosts;
use crate::context::HostContext;
use crate::diagnosis::outcome::Failure;
use crate::event::HostEvent;
use crate::rank::activity::{Activity, Phase};
use crate::rank::zero_time_guard::ZeroTimeGuard;
use crate::rank::{SCAN, look_ahead};
use crate::timeline::Charge;
use crate::timeline::call::charge;
use odonata_engine::{Mode, NIL, Time};
use odonata_workload::{Op, OpKind};

impl Hosts {
    /// Metrics of rank `rank` of `job` if the run ends at `now`, including the cost of its unfinished operations until
    /// then. A wait that I/O would complete counts as MPI, since the kind of its request is not yet known.
    pub fn metrics_until(&self, job: u16, rank: u32, now: Time) -> crate::RankMetrics {
        let mut metrics = *self.metrics(job, rank);
        for activity in self.ranks.activities_of(self.layout.job(job).first_rank + rank) {
            if matches!(activity.phase, Phase::Parked | Phase::Ready) {
                continue;
            }
            let time = now.saturating_sub(activity.since);
            match charge(&activity.op, self.waits_for_io(activity)) {
                Charge::Mpi => metrics.mpi += time,
                Charge::Io => metrics.io += time,
                // Both are charged when they begin.
                Charge::Nothing => {
                    metrics.compute = metrics.compute.saturating_sub(left_of(&activity.op, time));
                }
                Charge::Compute => {}
            }
        }
        metrics.computes_until(now);
        metrics
    }

    /// Whether the request of `activity` that completed last was for I/O.
    pub(crate) fn waits_for_io(&self, activity: &Activity) -> bool {
        activity.call != NIL && self.mpi.calls.get(activity.call).for_io
    }

    /// Begins every operation of `rank` that can begin now.
    pub(crate) fn advance<C: HostContext>(&mut self, ctx: &mut C, rank: u32) {
        let mut guard = ZeroTimeGuard::default();
        loop {
            if self.interrupt.hear() {
                return;
            }
            let state = *self.ranks.ranks.get(rank);
            if state.ready > 0 {
                let slot = self.ranks.next_ready::<C>(rank);
                let activity = self.ranks.activity(slot);
                if activity.phase == Phase::Woken {
                    let call = activity.call;
                    self.ranks.edit_activity::<C>(slot).phase = Phase::Blocked;
                    self.ask_mpi(ctx, |mpi, turn| mpi.wake::<C>(turn, call));
                } else {
                    self.begin(ctx, slot);
                }
                continue;
            }
            let most = if state.parallel {
                look_ahead(&self.layout, rank)
            } else {
                1
            };
            if state.live_count >= most || state.exhausted {
                break;
            }
            match self.pull(ctx, rank) {
                Some(op) if !guard.allows(&op.kind) => {
                    self.ranks.ranks.edit::<C>(rank).exhausted = true;
                    self.fail(ctx, Failure::Endless { rank, op });
                    return;
                }
                Some(op) => self.ranks.admit::<C>(rank, op),
                // The interruption may have cut the program short.
                None if self.interrupt.hear() => return,
                None => self.ranks.ranks.edit::<C>(rank).exhausted = true,
            }
        }
        let state = self.ranks.ranks.get(rank);
        if state.exhausted && state.live_count == 0 && !self.records.metrics(rank).finished {
            self.end_rank(ctx, rank, ctx.now());
            self.ask_mpi(ctx, |mpi, turn| mpi.finalize::<C>(turn, rank));
        }
    }

    /// The next operation of `rank`.
    fn pull<C: HostContext>(&mut self, ctx: &mut C, rank: u32) -> Option<Op> {
        let program = self.layout.program(rank)?;
        let local = self.layout.local(rank);
        if program.memory() > 0 {
            return self.pull_with_memory(ctx, rank);
        }
        let state = self.ranks.ranks.edit::<C>(rank);
        if !state.parallel && state.cursor.op >= state.next_scan {
            // Programs do not declare their number of streams. One search per window, over the next two windows, finds
            // a second stream early enough and costs two pulls per operation.
            let mut cursor = state.cursor;
            let mut coming = std::iter::from_fn(|| program.next(local, &mut cursor)).take(2 * SCAN as usize);
            state.parallel = coming.any(|op| op.stream != 0);
            state.next_scan = state.cursor.op.saturating_add(SCAN);
        }
        let op = program.next(local, &mut state.cursor);
        if op.is_none() && !self.interrupt.hear() && program.broken(local, &state.cursor).is_some() {
            let at = ctx.now();
            self.fail(ctx, Failure::Program { rank, at });
        }
        op
    }

    /// Begins an operation; MPI and I/O calls take effect after a random delay.
    fn begin<C: HostContext>(&mut self, ctx: &mut C, slot: u32) {
        let now = ctx.now();
        let activity = self.ranks.edit_activity::<C>(slot);
        activity.since = now;
        let rank = activity.rank;
        let kind = activity.op.kind;
        self.ranks.lost.call::<C>(slot, rank, now);
        if !matches!(
            kind,
            OpKind::Compute { .. } | OpKind::Elapsed(_) | OpKind::Mark { .. } | OpKind::Report { .. }
        ) {
            let delay = self.transport.draw::<C>(rank, self.params.mpi.call_jitter);
            if delay > Time::ZERO {
                self.ranks.edit_activity::<C>(slot).phase = Phase::Delayed;
                self.resume_at(ctx, slot, now + delay);
                return;
            }
        }
        self.perform(ctx, slot);
    }

    pub(crate) fn resume_at<C: HostContext>(&self, ctx: &mut C, slot: u32, at: Time) {
        let rank = self.ranks.activity(slot).rank;
        ctx.schedule(self.layout.place(rank).lp, at, HostEvent::Resume { activity: slot });
    }

    /// The time during which operation `slot` occupies its stream has passed.
    pub(crate) fn resume<C: HostContext>(&mut self, ctx: &mut C, slot: u32) {
        let Activity { rank, phase, call, .. } = *self.ranks.activity(slot);
        match (phase, call) {
            (Phase::Delayed, _) => self.perform(ctx, slot),
            (_, NIL) => self.end_operation(ctx, slot),
            (_, call) => {
                self.ranks.edit_activity::<C>(slot).phase = Phase::Blocked;
                self.ask_mpi(ctx, |mpi, turn| mpi.resume::<C>(turn, call));
            }
        }
        self.advance(ctx, rank);
    }

    /// The step of non-blocking collective `call` has ended.
    pub(crate) fn step_ends<C: HostContext>(&mut self, ctx: &mut C, call: u32) {
        let rank = self.mpi.calls.get(call).rank;
        self.ask_mpi(ctx, |mpi, turn| mpi.resume::<C>(turn, call));
        self.advance(ctx, rank);
    }

    /// Removes complete operation `slot`; the request that completed last may have been for I/O.
    pub(crate) fn retire<M: Mode>(&mut self, slot: u32, for_io: bool, now: Time) {
        let Activity { op, rank, since, .. } = *self.ranks.activity(slot);
        let time = now - since;
        match charge(&op, for_io) {
            Charge::Mpi if time > Time::ZERO => self.records.edit_metrics::<M>(rank).mpi += time,
            Charge::Io if time > Time::ZERO => self.records.edit_metrics::<M>(rank).io += time,
            _ => {}
        }
        self.record_call::<M>(slot, for_io, now);
        self.ranks.remove::<M>(slot);
    }
}

/// The time that operation `op`, which began `time` ago, will still take, if its duration is known.
fn left_of(op: &Op, time: Time) -> Time {
    match op.kind {
        OpKind::Elapsed(times) => times.end.saturating_sub(time),
        _ => Time::ZERO,
    }
}

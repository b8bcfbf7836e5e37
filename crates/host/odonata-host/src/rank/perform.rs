//! Operations, performed: the hosts route each to what performs it. The MPI library performs calls, storage clients file
//! accesses, the passing of time a computation.
//!
//! `advance` runs once at the end of every event of a rank and never from within, so that nothing recurses however many
//! operations take no time.

use super::activity::{Activity, Phase};
use super::execute::Next;
use super::zero_time_guard::ZeroTimeGuard;
use crate::Hosts;
use crate::context::HostContext;
use crate::diagnosis::outcome::{Failure, InvalidOperation};
use crate::event::HostEvent;
use crate::io::metadata::metadata_call;
use crate::metrics::{IterationRecord, ReportRecord};
use crate::mpi::request::RequestKind;
use crate::observe::{Observer, OperationEnd, StepEnd};
use crate::timeline::call::charge;
use crate::timeline::{CallKind, Charge};
use odonata_engine::{Mode, NIL, Time};
use odonata_storage::MetadataCall;
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
            match self.ranks.next::<C>(ctx.now(), rank, &mut guard) {
                Next::Begin { slot } => self.begin(ctx, slot),
                Next::Wake { call } => self.ask_mpi(ctx, |mpi, turn| mpi.wake::<C>(turn, call)),
                Next::Fail(failure) => self.fail(ctx, *failure),
                Next::Abort(failure) => return self.fail(ctx, *failure),
                Next::End => {
                    self.end_rank(ctx, rank, ctx.now());
                    return self.ask_mpi(ctx, |mpi, turn| mpi.finalize::<C>(turn, rank));
                }
                Next::Wait => return,
            }
        }
    }

    /// Begins an operation; MPI and I/O calls take effect after a random delay.
    fn begin<C: HostContext>(&mut self, ctx: &mut C, slot: u32) {
        let now = ctx.now();
        self.ranks.begin::<C>(slot, now);
        let activity = self.ranks.activity(slot);
        let (op, rank) = (activity.op, activity.rank);
        self.observers.operation_begins::<C>(slot, rank, now);
        if !matches!(
            op.kind,
            OpKind::Compute { .. } | OpKind::Elapsed(_) | OpKind::Mark { .. } | OpKind::Report { .. }
        ) {
            let delay = self.transport.draw::<C>(rank, self.params.mpi.call_jitter);
            if delay > Time::ZERO {
                self.pause(ctx, slot, Phase::Delayed, now + delay);
                return;
            }
        }
        self.perform(ctx, slot, &op, rank);
    }

    /// Lets operation `slot` pause until `until`.
    pub(crate) fn pause<C: HostContext>(&mut self, ctx: &mut C, slot: u32, phase: Phase, until: Time) {
        self.ranks.pauses::<C>(slot, phase);
        let lp = self.layout.place(self.ranks.activity(slot).rank).lp;
        ctx.schedule(lp, until, HostEvent::Resume { activity: slot });
    }

    /// The pause of operation `slot` is over.
    pub(crate) fn resume<C: HostContext>(&mut self, ctx: &mut C, slot: u32) {
        let phase = self.ranks.resume::<C>(slot);
        let activity = self.ranks.activity(slot);
        let (rank, call) = (activity.rank, activity.call);
        match (phase, call) {
            (Phase::Delayed, _) => {
                let op = activity.op;
                self.perform(ctx, slot, &op, rank);
            }
            (_, NIL) => self.end_operation(ctx, slot),
            (_, call) => self.ask_mpi(ctx, |mpi, turn| mpi.resume::<C>(turn, call)),
        }
        self.advance(ctx, rank);
    }

    /// The step of non-blocking collective `call` has ended.
    pub(crate) fn step_ends<C: HostContext>(&mut self, ctx: &mut C, call: u32) {
        let rank = self.mpi.calls.get(call).rank;
        self.ask_mpi(ctx, |mpi, turn| mpi.resume::<C>(turn, call));
        self.advance(ctx, rank);
    }

    /// Performs operation `slot`, which has begun.
    fn perform<C: HostContext>(&mut self, ctx: &mut C, slot: u32, op: &Op, rank: u32) {
        match op.kind {
            OpKind::Compute { duration } => {
                self.records.edit_metrics::<C>(rank).computes(ctx.now(), duration);
                self.occupy(ctx, slot, duration);
            }
            OpKind::Elapsed(times) => {
                self.records.edit_metrics::<C>(rank).elapses(&times);
                self.occupy(ctx, slot, times.end);
            }
            OpKind::Mark { iteration } => {
                let (now, job) = (ctx.now(), self.layout.place(rank).job);
                self.records.add_iteration::<C>(IterationRecord {
                    job,
                    rank: self.layout.local(rank),
                    iteration,
                    time: now,
                });
                self.observers.step_begins::<C>(slot, now);
                self.observers.iteration_ends::<C>(slot, rank, (job, iteration), now);
                self.end_step(ctx, slot, now);
            }
            OpKind::Report { report, index, value } => {
                match self.keep_report::<C>(rank, (report, index), value, ctx.now()) {
                    Ok(()) => self.occupy(ctx, slot, Time::ZERO),
                    Err(why) => self.fail(ctx, Failure::Invalid { rank, op: *op, why }),
                }
            }
            _ => self.perform_call(ctx, slot, op, rank),
        }
    }

    /// Performs operation `slot`, a call that may wait for requests.
    fn perform_call<C: HostContext>(&mut self, ctx: &mut C, slot: u32, op: &Op, rank: u32) {
        let since = self.ranks.activity(slot).since;
        let call = self.ask_mpi(ctx, |mpi, turn| mpi.enter::<C>(turn, (slot, rank), op, since));
        self.ranks.is_performed_by::<C>(slot, call);
        match op.kind {
            OpKind::Open { file } => self.call_metadata(ctx, (call, rank), MetadataCall::Open, (0, file)),
            OpKind::Close { file } => self.call_metadata(ctx, (call, rank), MetadataCall::Close, (0, file)),
            OpKind::Metadata {
                call: kind,
                directory,
                file,
            } => self.call_metadata(ctx, (call, rank), metadata_call(kind), (directory, file)),
            OpKind::Read { file, offset, bytes } | OpKind::Write { file, offset, bytes } => {
                let request = self.mpi.open_request::<C>(call, RequestKind::Io);
                let write = matches!(op.kind, OpKind::Write { .. });
                self.start_io(ctx, slot, write, (file, offset, bytes), request);
            }
            OpKind::Iread {
                file,
                offset,
                bytes,
                request,
            }
            | OpKind::Iwrite {
                file,
                offset,
                bytes,
                request,
            } => {
                let requests = &mut self.mpi.requests;
                let request = requests.open_numbered::<C>(rank, op.id, request, RequestKind::Io);
                let write = matches!(op.kind, OpKind::Iwrite { .. });
                self.start_io(ctx, slot, write, (file, offset, bytes), request);
            }
            _ => return self.ask_mpi(ctx, |mpi, turn| mpi.perform::<C>(turn, call, op)),
        }
        self.ask_mpi(ctx, |mpi, turn| mpi.leave::<C>(turn, call, Time::ZERO));
    }

    /// Records a value that `rank` reports.
    ///
    /// # Errors
    /// The rank has already reported the maximum number of values.
    fn keep_report<M: Mode>(
        &mut self,
        rank: u32,
        (report, index): (u32, u32),
        value: f64,
        time: Time,
    ) -> Result<(), InvalidOperation> {
        let order = self.ranks.count_report::<M>(rank)?;
        self.records.add_report::<M>(ReportRecord {
            job: self.layout.place(rank).job,
            rank: self.layout.local(rank),
            order: order as u32,
            report,
            index,
            value: value.to_bits(),
            time,
        });
        Ok(())
    }

    /// Lets operation `slot`, which waits for nothing, occupy its stream for `duration`.
    fn occupy<C: HostContext>(&mut self, ctx: &mut C, slot: u32, duration: Time) {
        let (now, end) = (ctx.now(), ctx.now() + duration);
        self.observers.step_begins::<C>(slot, now);
        self.end_step(ctx, slot, end);
    }

    /// Operation `slot`, which waits for nothing, ends at `end`.
    fn end_step<C: HostContext>(&mut self, ctx: &mut C, slot: u32, end: Time) {
        let Activity { op, rank, since, .. } = self.ranks.activity(slot);
        let step = StepEnd {
            operation: slot,
            until: end,
            rank: *rank,
            kind: CallKind::of(&op.kind),
            number: op.id.0,
            since: *since,
        };
        self.observers.stream_is_occupied::<C>(slot, end);
        self.observers.step_ends::<C>(&step);
        match end > ctx.now() {
            true => self.pause(ctx, slot, Phase::Busy, end),
            false => self.end_operation(ctx, slot),
        }
    }

    /// Ends operation `slot`, which has no call.
    fn end_operation<C: HostContext>(&mut self, ctx: &mut C, slot: u32) {
        let (rank, now) = (self.ranks.activity(slot).rank, ctx.now());
        self.observers.operation_ends::<C>(&OperationEnd {
            operation: slot,
            rank,
            job: self.layout.place(rank).job,
            background: false,
            now,
        });
        self.retire::<C>(slot, false, now);
    }

    /// Completes request `slot` of a rank. The caller lets the rank [advance](Hosts::advance).
    pub(crate) fn complete<C: HostContext>(&mut self, ctx: &mut C, slot: u32) {
        self.ask_mpi(ctx, |mpi, turn| mpi.complete::<C>(turn, slot));
    }

    /// Records and removes operation `slot`, which has ended; the request that completed last may have been for I/O.
    pub(crate) fn retire<M: Mode>(&mut self, slot: u32, for_io: bool, now: Time) {
        let Activity { op, rank, since, .. } = self.ranks.activity(slot);
        let time = now - *since;
        match charge(op, for_io) {
            Charge::Mpi if time > Time::ZERO => self.records.edit_metrics::<M>(*rank).mpi += time,
            Charge::Io if time > Time::ZERO => self.records.edit_metrics::<M>(*rank).io += time,
            _ => {}
        }
        self.record_call::<M>(slot, for_io, now);
        self.ranks.end::<M>(slot);
    }
}

/// The time that operation `op`, which began `time` ago, will still take, if its duration is known.
fn left_of(op: &Op, time: Time) -> Time {
    match op.kind {
        OpKind::Elapsed(times) => times.end.saturating_sub(time),
        _ => Time::ZERO,
    }
}

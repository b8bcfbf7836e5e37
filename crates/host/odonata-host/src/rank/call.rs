//! Operations: what each does to its rank. The MPI library performs calls, storage clients file accesses.

use crate::Hosts;
use crate::context::HostContext;
use crate::diagnosis::outcome::Failure;
use crate::io::metadata::metadata_call;
use crate::lost::path::PathCall;
use crate::metrics::IterationRecord;
use crate::mpi::request::RequestKind;
use crate::rank::activity::{Activity, Phase};
use odonata_engine::Time;
use odonata_storage::MetadataCall;
use odonata_workload::{Op, OpKind};

impl Hosts {
    /// Performs operation `slot`, which has begun.
    pub(crate) fn perform<C: HostContext>(&mut self, ctx: &mut C, slot: u32) {
        let activity = self.ranks.edit_activity::<C>(slot);
        activity.phase = Phase::Blocked;
        let (op, rank) = (activity.op, activity.rank);
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
                self.ranks.lost.begin_step::<C>(slot, now);
                (self.ranks.lost).end_iteration::<C>(slot, rank, (job, iteration), now);
                self.end_step(ctx, slot, now);
            }
            OpKind::Report { report, index, value } => {
                match self.keep_report::<C>(rank, report, index, value, ctx.now()) {
                    Ok(()) => self.occupy(ctx, slot, Time::ZERO),
                    Err(why) => self.fail(ctx, Failure::Invalid { rank, op, why }),
                }
            }
            _ => self.perform_call(ctx, slot, &op, rank),
        }
    }

    /// Performs operation `slot`, a call that may wait for requests.
    fn perform_call<C: HostContext>(&mut self, ctx: &mut C, slot: u32, op: &Op, rank: u32) {
        let call = self.ask_mpi(ctx, |mpi, turn| mpi.enter::<C>(turn, slot, rank, op));
        self.ranks.edit_activity::<C>(slot).call = call;
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
            _ => {
                self.ask_mpi(ctx, |mpi, turn| mpi.perform::<C>(turn, call, op));
                return;
            }
        }
        self.ask_mpi(ctx, |mpi, turn| mpi.leave::<C>(turn, call, Time::ZERO));
    }

    /// Lets operation `slot`, which waits for nothing, occupy its stream for `duration`.
    fn occupy<C: HostContext>(&mut self, ctx: &mut C, slot: u32, duration: Time) {
        let (now, end) = (ctx.now(), ctx.now() + duration);
        self.ranks.lost.begin_step::<C>(slot, now);
        self.end_step(ctx, slot, end);
    }

    /// Operation `slot`, which waits for nothing, ends at `end`.
    fn end_step<C: HostContext>(&mut self, ctx: &mut C, slot: u32, end: Time) {
        let Activity { op, rank, since, .. } = *self.ranks.activity(slot);
        self.ranks.lost.occupy::<C>(slot, end);
        let call = || (rank, PathCall::of(&op.kind, op.id.0), since);
        self.ranks.lost.end_step::<C>(slot, end, call);
        if end > ctx.now() {
            self.ranks.edit_activity::<C>(slot).phase = Phase::Busy;
            self.resume_at(ctx, slot, end);
        } else {
            self.end_operation(ctx, slot);
        }
    }

    /// Ends operation `slot`, which has no call.
    pub(crate) fn end_operation<C: HostContext>(&mut self, ctx: &mut C, slot: u32) {
        let (rank, now) = (self.ranks.activity(slot).rank, ctx.now());
        let layout = &self.layout;
        self.ranks
            .lost
            .retire::<C>(slot, Some(rank), now, |rank| layout.place(rank).job);
        self.retire::<C>(slot, false, now);
    }

    /// Completes request `slot` of a rank. The caller lets the rank [advance](Hosts::advance).
    pub(crate) fn complete<C: HostContext>(&mut self, ctx: &mut C, slot: u32) {
        self.ask_mpi(ctx, |mpi, turn| mpi.complete::<C>(turn, slot));
    }
}

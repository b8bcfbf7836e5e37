//! Calls: the effect of each operation.

use crate::Hosts;
use crate::context::HostContext;
use crate::diagnosis::outcome::{Failure, InvalidOperation};
use crate::io::metadata::metadata_call;
use crate::lost::Dependent;
use crate::metrics::IterationRecord;
use crate::mpi::point_to_point::{SendMode, request_kind};
use crate::mpi::progress::is_mpi_call;
use crate::mpi::request::RequestKind;
use crate::mpi::request::wait::Take;
use crate::rank::activity::{Activity, Phase};
use crate::settings::Progress;
use odonata_engine::{Mode, Time};
use odonata_storage::MetadataCall;
use odonata_workload::{Collective, Op, OpKind, PROC_NULL, Request, Source};

impl Hosts {
    pub(crate) fn perform<C: HostContext>(&mut self, ctx: &mut C, slot: u32) {
        let now = ctx.now();
        let activity = self.ranks.edit_activity::<C>(slot);
        activity.phase = Phase::Blocked;
        // Counts the call itself as pending, so that a request that completes immediately does not end the operation
        // halfway.
        activity.pending = 1;
        activity.busy_until = now;
        let (op, rank) = (activity.op, activity.rank);
        self.mpi.log.steps.set_now(now);
        self.ranks.lost.begin_step::<C>(slot, now);
        if self.params.mpi.progress == Progress::InCalls && is_mpi_call(&op.kind) {
            self.catch_up(ctx, rank);
        }
        let busy = match self.call(ctx, slot, &op, rank) {
            Ok(busy) => busy,
            Err(why) => {
                self.fail(ctx, Failure::Invalid { rank, op, why });
                return;
            }
        };
        self.occupy::<C>(slot, busy);
        self.handle_receives::<C>(slot, now);
        let activity = self.ranks.edit_activity::<C>(slot);
        activity.pending -= 1;
        if activity.pending == 0 {
            self.settle(ctx, slot);
        }
    }

    /// Extends the occupation of the stream of operation `slot` by `busy`.
    pub(crate) fn occupy<M: Mode>(&mut self, slot: u32, busy: Time) {
        let activity = self.ranks.edit_activity::<M>(slot);
        activity.busy_until += busy;
        let busy_until = activity.busy_until;
        self.ranks.lost.occupy::<M>(slot, busy_until);
    }

    /// Performs `op` and returns the time that it occupies the rank.
    #[inline]
    fn call<C: HostContext>(&mut self, ctx: &mut C, slot: u32, op: &Op, rank: u32) -> Result<Time, InvalidOperation> {
        let nothing = Ok(Time::ZERO);
        match op.kind {
            OpKind::Compute { duration } => {
                self.records.edit_metrics::<C>(rank).computes(ctx.now(), duration);
                Ok(duration)
            }
            OpKind::Elapsed(times) => {
                let metrics = self.records.edit_metrics::<C>(rank);
                let compute = times.compute.min(times.end);
                metrics.compute += compute;
                metrics.mpi += times.end - compute;
                metrics.sends += u64::from(times.sends);
                metrics.recvs += u64::from(times.recvs);
                metrics.bytes_sent += times.bytes_sent;
                metrics.bytes_received += times.bytes_received;
                Ok(times.end)
            }
            OpKind::Send { to, tag, bytes, comm } | OpKind::Ssend { to, tag, bytes, comm } => {
                let request = self
                    .mpi
                    .requests
                    .open_blocking::<C>(&mut self.ranks, slot, request_kind(&op.kind));
                let mode = match op.kind {
                    OpKind::Ssend { .. } => SendMode::Synchronous,
                    _ => SendMode::STANDARD,
                };
                self.send_to_member(ctx, (rank, op.id), to, tag, bytes, comm, request, mode)
            }
            OpKind::Isend {
                to,
                tag,
                bytes,
                comm,
                request,
            }
            | OpKind::Issend {
                to,
                tag,
                bytes,
                comm,
                request,
            } => {
                let request = self
                    .mpi
                    .requests
                    .open_numbered::<C>(rank, op.id, request, request_kind(&op.kind));
                let mode = match op.kind {
                    OpKind::Issend { .. } => SendMode::Synchronous,
                    _ => SendMode::STANDARD,
                };
                self.send_to_member(ctx, (rank, op.id), to, tag, bytes, comm, request, mode)
            }
            OpKind::Recv { from, tag, bytes, comm } => {
                let request = self
                    .mpi
                    .requests
                    .open_blocking::<C>(&mut self.ranks, slot, request_kind(&op.kind));
                self.receive_from_member(ctx, (rank, op.id), from, tag, bytes, comm, request)?;
                nothing
            }
            OpKind::Irecv {
                from,
                tag,
                bytes,
                comm,
                request,
            } => {
                let request = self
                    .mpi
                    .requests
                    .open_numbered::<C>(rank, op.id, request, request_kind(&op.kind));
                self.receive_from_member(ctx, (rank, op.id), from, tag, bytes, comm, request)?;
                nothing
            }
            OpKind::Sendrecv {
                to,
                send_tag,
                send_bytes,
                from,
                recv_tag,
                recv_bytes,
                comm,
            } => {
                let null = from == Source::Rank(PROC_NULL);
                let received = if null {
                    RequestKind::Nothing
                } else {
                    RequestKind::Receive
                };
                let request = self.mpi.requests.open_blocking::<C>(&mut self.ranks, slot, received);
                self.receive_from_member(ctx, (rank, op.id), from, recv_tag, recv_bytes, comm, request)?;
                let request = self
                    .mpi
                    .requests
                    .open_blocking::<C>(&mut self.ranks, slot, RequestKind::Send);
                self.send_to_member(
                    ctx,
                    (rank, op.id),
                    to,
                    send_tag,
                    send_bytes,
                    comm,
                    request,
                    SendMode::STANDARD,
                )
            }
            OpKind::Probe { from, tag, comm } => {
                self.probe(ctx, (rank, op.id, slot), from, tag, comm)?;
                nothing
            }
            OpKind::Iprobe { from, comm, .. } => {
                if from != Source::Rank(PROC_NULL) {
                    self.layout.source_of(rank, comm, from)?;
                }
                nothing
            }
            OpKind::SendInit { .. } | OpKind::RecvInit { .. } => {
                self.make_persistent::<C>(slot)?;
                nothing
            }
            OpKind::Start { request } => self.start_persistent(ctx, slot, request),
            OpKind::StartAll { first, count } => {
                let mut busy = Time::ZERO;
                for number in 0..count {
                    busy += self.start_persistent(ctx, slot, Request(first.0.saturating_add(number)))?;
                }
                Ok(busy)
            }
            OpKind::RequestFree { request } => {
                self.mpi.requests.free::<C>(rank, request)?;
                nothing
            }
            OpKind::Wait { request } => {
                self.await_all::<C>(slot, request, 1);
                nothing
            }
            OpKind::WaitAll { first, count } => {
                self.await_all::<C>(slot, first, count);
                nothing
            }
            OpKind::WaitAny { first, count } => {
                self.await_one::<C>(slot, first, count, Take::One);
                nothing
            }
            OpKind::WaitSome { first, count } => {
                self.await_one::<C>(slot, first, count, Take::Some);
                nothing
            }
            OpKind::Test { request } => {
                self.take_complete::<C>(slot, request, 1, Take::One);
                nothing
            }
            OpKind::TestAny { first, count } => {
                self.take_complete::<C>(slot, first, count, Take::One);
                nothing
            }
            OpKind::TestAll { first, count } => {
                self.take_complete::<C>(slot, first, count, Take::All);
                nothing
            }
            OpKind::TestSome { first, count } => {
                self.take_complete::<C>(slot, first, count, Take::Some);
                nothing
            }
            OpKind::Collective(collective) => {
                self.start_collective::<C>(slot, &collective)?;
                nothing
            }
            OpKind::Icollective { collective, request } => self.start_background(ctx, *op, rank, &collective, request),
            OpKind::CommDup { .. } | OpKind::CommCreate { .. } | OpKind::CommSplit { .. } => {
                self.start_creation::<C>(slot)?;
                nothing
            }
            OpKind::CommFree { comm } => {
                self.layout.free_communicator(rank, comm)?;
                nothing
            }
            OpKind::Open { file } => {
                self.call_metadata(ctx, (slot, rank), MetadataCall::Open, (0, file));
                nothing
            }
            OpKind::Close { file } => {
                self.call_metadata(ctx, (slot, rank), MetadataCall::Close, (0, file));
                nothing
            }
            OpKind::Metadata { call, directory, file } => {
                self.call_metadata(ctx, (slot, rank), metadata_call(call), (directory, file));
                nothing
            }
            OpKind::Read { file, offset, bytes } | OpKind::Write { file, offset, bytes } => {
                let request = self
                    .mpi
                    .requests
                    .open_blocking::<C>(&mut self.ranks, slot, RequestKind::Io);
                let write = matches!(op.kind, OpKind::Write { .. });
                self.start_io(ctx, slot, write, (file, offset, bytes), request);
                nothing
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
                let request = self
                    .mpi
                    .requests
                    .open_numbered::<C>(rank, op.id, request, RequestKind::Io);
                let write = matches!(op.kind, OpKind::Iwrite { .. });
                self.start_io(ctx, slot, write, (file, offset, bytes), request);
                nothing
            }
            OpKind::Mark { iteration } => {
                self.records.add_iteration::<C>(IterationRecord {
                    job: self.layout.place(rank).job,
                    rank: self.layout.local(rank),
                    iteration,
                    time: ctx.now(),
                });
                let job = self.layout.place(rank).job;
                (self.ranks.lost).end_iteration::<C>(slot, rank, (job, iteration), ctx.now());
                nothing
            }
            OpKind::Report { report, index, value } => {
                self.keep_report::<C>(rank, report, index, value, ctx.now())?;
                nothing
            }
        }
    }

    /// Begins non-blocking collective `collective` of `rank`. The call takes the first step, whose overhead occupies
    /// the rank; later steps run in the background.
    fn start_background<C: HostContext>(
        &mut self,
        ctx: &mut C,
        op: Op,
        rank: u32,
        collective: &Collective,
        request: Request,
    ) -> Result<Time, InvalidOperation> {
        let now = ctx.now();
        let request = self
            .mpi
            .requests
            .open_numbered::<C>(rank, op.id, request, RequestKind::Collective);
        let slot = self.ranks.begin_background::<C>(Activity {
            request,
            phase: Phase::Blocked,
            since: now,
            busy_until: now,
            ..Activity::new(rank, op)
        });
        self.ranks.lost.note::<C>(Dependent::Operation(slot));
        self.start_collective::<C>(slot, collective)?;
        self.count_background::<C>(rank, collective.comm(), true)?;
        if !self.next_step(ctx, slot) {
            self.retire(ctx, slot);
            return Ok(Time::ZERO);
        }
        let busy = self.ranks.activity(slot).busy_until - now;
        self.settle(ctx, slot);
        Ok(busy)
    }

    /// Makes operation `slot` wait for all requests numbered `first .. first + count`.
    fn await_all<M: Mode>(&mut self, slot: u32, first: Request, count: u32) {
        let requests = &mut self.mpi.requests;
        requests.await_all::<M>(&mut self.ranks, &mut self.mpi.log, slot, (first, count));
    }

    /// Makes operation `slot` wait for one of the requests numbered `first .. first + count`, and take requests
    /// according to `take`.
    fn await_one<M: Mode>(&mut self, slot: u32, first: Request, count: u32, take: Take) {
        let requests = &mut self.mpi.requests;
        requests.await_one::<M>(&mut self.ranks, &mut self.mpi.log, slot, (first, count), take);
    }

    /// Makes operation `slot` take complete requests among `first .. first + count`, according to `take`.
    fn take_complete<M: Mode>(&mut self, slot: u32, first: Request, count: u32, take: Take) {
        let requests = &mut self.mpi.requests;
        requests.take_complete::<M>(&mut self.ranks, &mut self.mpi.log, slot, (first, count), take);
    }
}

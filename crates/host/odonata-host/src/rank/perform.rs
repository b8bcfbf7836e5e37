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
use crate::context::Uses;
use crate::event::HostEvent;
use crate::failure::{Failure, InvalidOperation};
use crate::io::calls::{Call, metadata_call};
use crate::metrics::ReportRecord;
use crate::mpi::request::kind::RequestKind;
use crate::observe::{IterationEnd, Observer, OperationEnd, StepEnd};
use crate::timeline::CallKind;
use odonata_engine::{NIL, Time};
use odonata_storage::MetadataCall;
use odonata_workload::{Op, OpKind};

impl Hosts {
    /// Begins every operation of `rank` that can begin now.
    #[inline(always)]
    pub(crate) fn advance<C: HostContext>(&mut self, ctx: &mut C, rank: u32) {
        if !self.ranks.is_occupied(rank) {
            self.begin_all(ctx, rank);
        }
    }

    #[inline(never)]
    fn begin_all<C: HostContext>(&mut self, ctx: &mut C, rank: u32) {
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

    /// Begins an operation; MPI and I/O calls take effect after a random delay, and after the rank's detour.
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
            let delay = self.transport.draw::<C>(rank, self.params.mpi.call_jitter) + self.mpi.noise.rest(rank, now);
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
                let duration = self.mpi.noise.end_of_work(rank, ctx.now(), duration) - ctx.now();
                self.observers.rank_computes::<C>(rank, ctx.now(), duration);
                self.occupy(ctx, slot, duration);
            }
            OpKind::Elapsed(times) => {
                self.observers.part_elapses::<C>(rank, &times);
                self.occupy(ctx, slot, times.end);
            }
            OpKind::Mark { iteration } => {
                let (now, job) = (ctx.now(), self.layout.place(rank).job);
                self.observers.step_begins::<C>(slot, now);
                self.observers.iteration_ends::<C>(&IterationEnd {
                    operation: slot,
                    rank,
                    job,
                    local: self.layout.local(rank),
                    iteration,
                    now,
                });
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
            OpKind::Open { file } => self.start_metadata(ctx, (call, rank), MetadataCall::Open, (0, file)),
            OpKind::Close { file } => self.start_metadata(ctx, (call, rank), MetadataCall::Close, (0, file)),
            OpKind::Metadata {
                call: kind,
                directory,
                file,
            } => self.start_metadata(ctx, (call, rank), metadata_call(kind), (directory, file)),
            OpKind::Read { file, offset, bytes } | OpKind::Write { file, offset, bytes } => {
                let request = self.mpi.open_request::<C>(call, RequestKind::Io);
                self.start_transfer(ctx, (rank, op), (file, offset, bytes), request);
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
                self.start_transfer(ctx, (rank, op), (file, offset, bytes), request);
            }
            _ => return self.ask_mpi(ctx, |mpi, turn| mpi.perform::<C>(turn, call, op)),
        }
        self.ask_mpi(ctx, |mpi, turn| mpi.leave::<C>(turn, call, Time::ZERO));
    }

    /// `rank` begins a call for metadata of (directory, file) in call `slot` of the MPI library, if it takes any time.
    fn start_metadata<C: HostContext>(
        &mut self,
        ctx: &mut C,
        (slot, rank): (u32, u32),
        call: MetadataCall,
        name: (u32, u64),
    ) {
        if self.io.calls.takes_time(rank, call) {
            let request = self.mpi.open_request::<C>(slot, RequestKind::Io);
            self.ask_io(ctx, |io, turn| io.start_metadata(turn, (rank, request), call, name));
        }
    }

    /// `rank` begins the read or write of (file, offset, bytes) that `op` asks for; `request` completes with it.
    fn start_transfer<C: HostContext>(
        &mut self,
        ctx: &mut C,
        (rank, op): (u32, &Op),
        range: (u64, u64, u64),
        request: u32,
    ) {
        if self.layout.place(rank).server == NIL {
            self.fail(ctx, Failure::NoServer { rank, op: *op });
            return;
        }
        let call = match op.kind {
            OpKind::Write { .. } | OpKind::Iwrite { .. } => (Call::Write, false),
            _ => (Call::Read, self.ranks.reads_survivors(rank)),
        };
        self.ask_io(ctx, |io, turn| io.start_transfer(turn, (rank, request), call, range));
    }

    /// Records a value that `rank` reports.
    ///
    /// # Errors
    /// The rank has already reported the maximum number of values.
    fn keep_report<M: Uses>(
        &mut self,
        rank: u32,
        (report, index): (u32, u32),
        value: f64,
        time: Time,
    ) -> Result<(), InvalidOperation> {
        let order = self.ranks.count_report::<M>(rank)?;
        self.observers.value_is_reported::<M>(&ReportRecord {
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

    /// Records and removes operation `slot`, which has ended; the request that completed last may have been for I/O.
    pub(crate) fn retire<M: Uses>(&mut self, slot: u32, for_io: bool, now: Time) {
        self.observers
            .activity_ends::<M>(&self.layout, self.ranks.activity(slot), for_io, now);
        self.ranks.end::<M>(slot);
    }
}

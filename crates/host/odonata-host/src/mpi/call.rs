//! Calls of ranks: what each begins, how long it occupies its stream, and for how many requests it waits.
//!
//! A call counts itself among the requests that it waits for until it has begun everything, so that a request that
//! completes immediately does not end it halfway.
//!
//! Calls for file access wait for requests as well; the hosts begin their transfers.

use super::Mpi;
use super::calls::Call;
use super::effect::{MpiEffect, OutgoingMessage};
use super::message::Transmission;
use super::one_sided::notify_group;
use super::persistent::PersistentOperation;
use super::request::kind::RequestKind;
use super::request::wait::Selection;
use crate::context::Uses;
use crate::failure::{Failure, InvalidOperation};
use crate::observe::Observer;
use crate::payload::Payload;
use crate::turn::Turn;
use odonata_engine::{NIL, Time};
use odonata_workload::{Access, Collective, Comm, OneSided, Op, OpId, OpKind, PROC_NULL, Request, Source};

impl Mpi {
    /// Begins the call of operation `op`, which the executor calls `caller`, of `rank`. In the library, the call first
    /// does the work deferred to it. The random delay of the call has passed since `since`.
    pub(crate) fn enter<M: Uses>(
        &mut self,
        turn: &mut Turn<'_, MpiEffect>,
        (caller, rank): (u32, u32),
        op: &Op,
        since: Time,
    ) -> u32 {
        turn.observers.step_begins::<M>(caller, turn.now);
        let mut call = Call::new(turn.now, caller, rank, op);
        (call.since, call.pending) = (since, 1);
        let slot = self.calls.begin::<M>(call);
        if call.in_library {
            self.deferred.enter::<M>(rank);
            self.catch_up::<M>(turn, rank);
        }
        slot
    }

    /// Performs `op` in call `slot`, unless it is a file access.
    #[inline]
    pub(crate) fn perform<M: Uses>(&mut self, turn: &mut Turn<'_, MpiEffect>, slot: u32, op: &Op) {
        let rank = self.calls.get(slot).rank;
        match self.call::<M>(turn, slot, op, rank) {
            Ok(busy) => self.leave::<M>(turn, slot, busy),
            Err(why) => turn.fails(Failure::Invalid { rank, op: *op, why }),
        }
    }

    /// Everything that call `slot` does is begun, and it occupies its stream for `busy`.
    pub(crate) fn leave<M: Uses>(&mut self, turn: &mut Turn<'_, MpiEffect>, slot: u32, busy: Time) {
        self.occupy::<M>(turn, slot, busy);
        self.handle_receives::<M>(turn, slot);
        let call = self.calls.edit::<M>(slot);
        call.pending -= 1;
        if call.pending == 0 {
            self.settle::<M>(turn, slot);
        }
    }

    /// Extends the occupation of the stream of call `slot` by `busy`.
    pub(crate) fn occupy<M: Uses>(&mut self, turn: &mut Turn<'_, MpiEffect>, slot: u32, busy: Time) {
        let operation = self.calls.operation(slot);
        let call = self.calls.edit::<M>(slot);
        call.busy_until = self.noise.end_of_work(call.rank, call.busy_until, busy);
        turn.observers.stream_is_occupied::<M>(operation, call.busy_until);
    }

    /// Performs `op` and returns the time that it occupies the rank.
    #[inline]
    fn call<M: Uses>(
        &mut self,
        turn: &mut Turn<'_, MpiEffect>,
        slot: u32,
        op: &Op,
        rank: u32,
    ) -> Result<Time, InvalidOperation> {
        let nothing = Ok(Time::ZERO);
        match op.kind {
            OpKind::Send { to, tag, bytes, comm } | OpKind::Ssend { to, tag, bytes, comm } => {
                let request = self.open_request::<M>(slot, request_kind(&op.kind));
                let send = Transmission {
                    synchronous: matches!(op.kind, OpKind::Ssend { .. }),
                    ..Transmission::new(rank, op.id, tag, bytes, request)
                };
                self.send_to_member::<M>(turn, send, to, comm)
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
                let kind = request_kind(&op.kind);
                let request = self.requests.open_numbered::<M>(rank, op.id, request, kind);
                let send = Transmission {
                    synchronous: matches!(op.kind, OpKind::Issend { .. }),
                    ..Transmission::new(rank, op.id, tag, bytes, request)
                };
                self.send_to_member::<M>(turn, send, to, comm)
            }
            OpKind::Recv { from, tag, bytes, comm } => {
                let request = self.open_request::<M>(slot, request_kind(&op.kind));
                self.receive_from_member::<M>(turn, (rank, op.id), from, tag, bytes, comm, request)?;
                nothing
            }
            OpKind::Irecv {
                from,
                tag,
                bytes,
                comm,
                request,
            } => {
                let kind = request_kind(&op.kind);
                let request = self.requests.open_numbered::<M>(rank, op.id, request, kind);
                self.receive_from_member::<M>(turn, (rank, op.id), from, tag, bytes, comm, request)?;
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
                let received = match from {
                    Source::Rank(PROC_NULL) => RequestKind::Nothing,
                    _ => RequestKind::Receive,
                };
                let request = self.open_request::<M>(slot, received);
                self.receive_from_member::<M>(turn, (rank, op.id), from, recv_tag, recv_bytes, comm, request)?;
                let request = self.open_request::<M>(slot, RequestKind::Send);
                let send = Transmission::new(rank, op.id, send_tag, send_bytes, request);
                self.send_to_member::<M>(turn, send, to, comm)
            }
            OpKind::Probe { from, tag, comm } => {
                self.probe::<M>(turn, (rank, op.id, slot), from, tag, comm)?;
                nothing
            }
            OpKind::Iprobe { from, comm, .. } => {
                if from != Source::Rank(PROC_NULL) {
                    self.layout.source_of(rank, comm, from)?;
                }
                nothing
            }
            OpKind::SendInit { .. } | OpKind::RecvInit { .. } => {
                let plan = PersistentOperation::of(&self.layout, rank, &op.kind)?;
                self.requests.open_persistent::<M>(rank, op.id, plan)?;
                nothing
            }
            OpKind::Start { request } => self.start_persistent::<M>(turn, (rank, op.id), request),
            OpKind::StartAll { first, count } => {
                let mut busy = Time::ZERO;
                for number in 0..count {
                    let request = Request(first.0.saturating_add(number));
                    busy += self.start_persistent::<M>(turn, (rank, op.id), request)?;
                }
                Ok(busy)
            }
            OpKind::RequestFree { request } => {
                self.requests.free::<M>(rank, request)?;
                nothing
            }
            OpKind::Wait { .. }
            | OpKind::WaitAll { .. }
            | OpKind::WaitAny { .. }
            | OpKind::WaitSome { .. }
            | OpKind::Test { .. }
            | OpKind::TestAny { .. }
            | OpKind::TestAll { .. }
            | OpKind::TestSome { .. } => {
                self.take_requests::<M>(turn, slot, &op.kind);
                nothing
            }
            OpKind::Collective(collective) => {
                self.calls.add_schedule::<M>(slot, op, NIL);
                self.start_collective::<M>(slot, &collective)?;
                nothing
            }
            OpKind::Icollective { collective, request } => {
                self.start_background::<M>(turn, op, rank, &collective, request)
            }
            OpKind::CommDup { .. } | OpKind::CommCreate { .. } | OpKind::CommSplit { .. } => {
                self.calls.add_schedule::<M>(slot, op, NIL);
                let schedule = (self.calls.get(slot).schedule, rank);
                let sequences = &mut self.sequences;
                (self.calls.schedules).start_creation::<M>(schedule, &self.layout, sequences)?;
                nothing
            }
            OpKind::OneSided(call) => self.one_sided::<M>(turn, slot, op, call),
            OpKind::CommFree { comm } => {
                self.layout.free_communicator(rank, comm)?;
                nothing
            }
            // The executor and the clients of storage perform the others.
            _ => nothing,
        }
    }

    /// Opens a request that call `slot` waits for.
    #[inline]
    pub(crate) fn open_request<M: Uses>(&mut self, slot: u32, kind: RequestKind) -> u32 {
        let call = self.calls.edit::<M>(slot);
        call.pending += 1;
        self.requests.open_blocking::<M>((call.rank, call.op), slot, kind)
    }

    /// Call `slot` does not wait for `request`, which it has opened, after all.
    pub(super) fn withdraw_request<M: Uses>(&mut self, slot: u32, request: u32) {
        self.calls.edit::<M>(slot).pending -= 1;
        self.requests.withdraw::<M>(request);
    }

    /// Begins non-blocking collective `collective` of `rank`. The call takes the first step, whose overhead occupies
    /// the rank; later steps run in the background.
    fn start_background<M: Uses>(
        &mut self,
        turn: &mut Turn<'_, MpiEffect>,
        op: &Op,
        rank: u32,
        collective: &Collective,
        request: Request,
    ) -> Result<Time, InvalidOperation> {
        let kind = RequestKind::Collective;
        let request = self.requests.open_numbered::<M>(rank, op.id, request, kind);
        let slot = self.calls.begin::<M>(Call::new(turn.now, NIL, rank, op));
        self.calls.add_schedule::<M>(slot, op, request);
        turn.observers.background_begins::<M>(self.calls.operation(slot));
        self.start_collective::<M>(slot, collective)?;
        self.sequences
            .begin_background::<M>(&self.layout, rank, collective.comm())?;
        if !self.next_step::<M>(turn, slot) {
            self.end_call::<M>(turn, slot);
            return Ok(Time::ZERO);
        }
        let busy = self.calls.get(slot).busy_until - turn.now;
        self.settle::<M>(turn, slot);
        Ok(busy)
    }

    /// Makes call `slot` wait for requests or take complete ones, as `kind` asks.
    fn take_requests<M: Uses>(&mut self, turn: &mut Turn<'_, MpiEffect>, slot: u32, kind: &OpKind) {
        let (calls, requests) = (&mut self.calls, &mut self.requests);
        let selection = match *kind {
            OpKind::Wait { request } => {
                return requests.await_all::<M>(turn, calls, slot, Selection::all(request, 1));
            }
            OpKind::WaitAll { first, count } => {
                return requests.await_all::<M>(turn, calls, slot, Selection::all(first, count));
            }
            OpKind::Test { request } => Selection::one(request, 1),
            OpKind::TestAll { first, count } => Selection::all(first, count),
            OpKind::WaitAny { first, count } | OpKind::TestAny { first, count } => Selection::one(first, count),
            OpKind::WaitSome { first, count } | OpKind::TestSome { first, count } => Selection::some(first, count),
            _ => return,
        };
        if matches!(kind, OpKind::WaitAny { .. } | OpKind::WaitSome { .. }) {
            calls.edit::<M>(slot).selection = selection;
            requests.await_one::<M>(turn, calls, slot, selection);
        } else {
            requests.take_complete::<M>(turn, calls, slot, selection);
        }
    }

    /// Starts persistent request `number` for operation `op` of `rank`; returns the time that it occupies the rank.
    ///
    /// # Errors
    /// There is no such persistent request, or it is active.
    fn start_persistent<M: Uses>(
        &mut self,
        turn: &mut Turn<'_, MpiEffect>,
        (rank, op): (u32, OpId),
        number: Request,
    ) -> Result<Time, InvalidOperation> {
        let Some((request, kind)) = self.requests.persistent(rank, number) else {
            return Err(InvalidOperation::NotPersistent(number.0));
        };
        self.requests.reopen::<M>(request, op, request_kind(&kind))?;
        match kind {
            OpKind::SendInit {
                to, tag, bytes, comm, ..
            } => {
                let send = Transmission::new(rank, op, tag, bytes, request);
                self.send_to_member::<M>(turn, send, to, comm)
            }
            OpKind::RecvInit {
                from, tag, bytes, comm, ..
            } => {
                self.receive_from_member::<M>(turn, (rank, op), from, tag, bytes, comm, request)?;
                Ok(Time::ZERO)
            }
            _ => unreachable!("a persistent request is one of these"),
        }
    }
    /// Prepares call `slot`, which has a schedule, for `collective`.
    ///
    /// # Errors
    /// The rank is not in the communicator, or the collective cannot run there.
    fn start_collective<M: Uses>(&mut self, slot: u32, collective: &Collective) -> Result<(), InvalidOperation> {
        let Call { schedule, rank, .. } = *self.calls.get(slot);
        (self.calls.schedules).start::<M>((schedule, rank), collective, &self.layout, &mut self.sequences)
    }

    /// Performs `call`, operation `op` of `rank`, in call `slot`; returns the time that it occupies the rank.
    fn one_sided<M: Uses>(
        &mut self,
        turn: &mut Turn<'_, MpiEffect>,
        slot: u32,
        op: &Op,
        call: OneSided,
    ) -> Result<Time, InvalidOperation> {
        let rank = self.calls.get(slot).rank;
        let first = self.layout.job_of(rank).first_rank;
        if let Some(Source::Rank(target)) = call.target() {
            if target == PROC_NULL {
                return Ok(Time::ZERO);
            }
            self.layout.rank_of(rank, call.comm(), target)?;
        }
        self.layout.member_of(rank, call.comm())?;
        match call {
            OneSided::Access {
                access,
                target,
                bytes,
                comm,
                request,
            } => {
                let to = first + self.layout.rank_of(rank, comm, target)?;
                let request = self.requests.open_access::<M>(rank, op, request);
                let (size, fetch) = match access {
                    Access::Get => (self.settings.rendezvous_control.0, Time::ZERO),
                    _ => (bytes, self.settings.fetch(&self.layout, (rank, to), bytes)),
                };
                let payload = Payload::Access {
                    from: rank,
                    to,
                    access,
                    bytes,
                    request,
                };
                turn.sends::<M>(OutgoingMessage {
                    payload,
                    bytes: size,
                    created: turn.now,
                    software: self.settings.send_delay + fetch,
                    cause: NIL,
                });
                Ok(self.settings.send_overhead)
            }
            OneSided::Flush { target, comm } => {
                self.requests
                    .await_accesses::<M>(turn, &mut self.calls, slot, (target, comm));
                Ok(Time::ZERO)
            }
            OneSided::Fence { comm } => {
                self.calls.add_schedule::<M>(slot, op, NIL);
                self.start_collective::<M>(slot, &Collective::Barrier { comm })?;
                self.requests
                    .await_accesses::<M>(turn, &mut self.calls, slot, (Source::Any, comm));
                Ok(Time::ZERO)
            }
            OneSided::Lock {
                target,
                exclusive,
                comm,
            } => {
                let payload = Payload::Lock {
                    from: rank,
                    to: first + self.layout.rank_of(rank, comm, target)?,
                    comm: comm.0,
                    exclusive,
                    request: self.open_request::<M>(slot, RequestKind::Nothing),
                };
                turn.sends_control::<M>(&self.settings, payload, self.settings.send_delay);
                Ok(self.settings.send_overhead)
            }
            OneSided::Unlock { target, comm } => {
                self.calls.add_schedule::<M>(slot, op, NIL);
                let of = (Source::Rank(target), comm);
                self.requests.await_accesses::<M>(turn, &mut self.calls, slot, of);
                Ok(Time::ZERO)
            }
            OneSided::Post { group, comm } => {
                notify_group::<M>(turn, (&self.settings, &self.layout), rank, (group, comm), false)
            }
            OneSided::Complete { group, comm } => {
                self.layout.member_of(rank, group)?;
                self.calls.add_schedule::<M>(slot, op, NIL);
                self.requests
                    .await_accesses::<M>(turn, &mut self.calls, slot, (Source::Any, comm));
                Ok(Time::ZERO)
            }
            OneSided::Start { group, comm } => self.await_group::<M>(slot, (group, comm), false),
            OneSided::Wait { group, comm } => self.await_group::<M>(slot, (group, comm), true),
        }
    }

    /// Makes call `slot` wait for a notice from each other member of `group`.
    fn await_group<M: Uses>(
        &mut self,
        slot: u32,
        (group, comm): (Comm, Comm),
        ends: bool,
    ) -> Result<Time, InvalidOperation> {
        let rank = self.calls.get(slot).rank;
        for from in self.layout.others(rank, group)? {
            let request = self.open_request::<M>(slot, RequestKind::Nothing);
            if self.windows.await_notice::<M>((rank, from), comm.0, ends, request) {
                self.withdraw_request::<M>(slot, request);
            }
        }
        Ok(Time::ZERO)
    }
}

/// The kind of request of point-to-point operation `kind`.
fn request_kind(kind: &OpKind) -> RequestKind {
    match *kind {
        OpKind::Send { to, .. }
        | OpKind::Ssend { to, .. }
        | OpKind::Isend { to, .. }
        | OpKind::Issend { to, .. }
        | OpKind::SendInit { to, .. }
            if to != PROC_NULL =>
        {
            RequestKind::Send
        }
        OpKind::Recv { from, .. } | OpKind::Irecv { from, .. } | OpKind::RecvInit { from, .. }
            if from != Source::Rank(PROC_NULL) =>
        {
            RequestKind::Receive
        }
        _ => RequestKind::Nothing,
    }
}

//! Calls of ranks: what each begins, how long it occupies its stream, and for how many requests it waits.
//!
//! A call counts itself among the requests that it waits for until it has begun everything, so that a request that
//! completes immediately does not end it halfway. A non-blocking collective is a call of its own without a caller: it
//! goes on in the background and completes a request.
//!
//! Calls for file access wait for requests as well; the hosts begin their transfers.

use super::Mpi;
use super::message::Transmission;
use super::persistent::PersistentOperation;
use super::progress::is_mpi_call;
use super::request::kind::RequestKind;
use super::request::wait::{Selection, Take};
use crate::context::Uses;
use crate::failure::{Failure, InvalidOperation};
use crate::mpi::effect::MpiEffect;
use crate::observe::Observer;
use crate::timeline::CallKind;
use crate::turn::Turn;
use odonata_engine::{NIL, Pool, Time};
use odonata_workload::{Algorithm, Collective, Op, OpId, OpKind, PROC_NULL, Request, Source};

/// The highest bit of an operation's name tells a non-blocking collective from a call.
const BACKGROUND: u32 = 1 << 31;

/// A call in progress.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct Call {
    /// Time of the call.
    pub(crate) since: Time,
    /// End of the time during which its stream is occupied, regardless of requests.
    pub(crate) busy_until: Time,
    pub(crate) rank: u32,
    /// The operation of the program.
    pub(crate) op: OpId,
    /// The executor's name of the operation; [`NIL`]: a non-blocking collective.
    pub(crate) caller: u32,
    /// Number of requests that it waits for.
    pub(crate) pending: u32,
    /// Completed receives that the processor has not begun to handle.
    pub(crate) receives: u32,
    /// Time for the copies of their eager messages.
    pub(crate) copies: Time,
    /// The [`Schedule`] of a collective, or [`NIL`].
    pub(crate) schedule: u32,
    next: u32,
    /// The requests of which a wait needs only one.
    pub(crate) selection: Selection,
    pub(crate) kind: CallKind,
    /// Whether the request that completed last was for I/O.
    pub(crate) for_io: bool,
    /// Whether the library makes progress during the call.
    pub(crate) in_library: bool,
}

/// The schedule of a collective, or of a call that consists of collectives.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct Schedule {
    pub(crate) op: Op,
    /// Next step.
    pub(crate) step: u32,
    /// The number of the rank in the communicator, and the number of members.
    pub(crate) member: u32,
    pub(crate) members: u32,
    /// The stamp of its messages (see [`collective`](super::collective)).
    pub(crate) stamp: u32,
    /// The request that a non-blocking collective completes, or [`NIL`].
    pub(crate) request: u32,
    next: u32,
    pub(crate) algorithm: Algorithm,
    /// Sums and copies after the messages of the step.
    pub(crate) local_work: Time,
    /// Index of the current collective among those that the operation consists of.
    pub(crate) part: u8,
}

odonata_engine::slots!(Call Schedule);

impl Schedule {
    /// Whether the network interfaces carry it out.
    #[inline]
    pub(crate) fn is_offloaded(&self) -> bool {
        matches!(self.algorithm, Algorithm::Offload { .. })
    }
}

impl Call {
    /// A call of `rank` for `op` at `now`.
    #[inline]
    fn new(now: Time, caller: u32, rank: u32, op: &Op) -> Call {
        Call {
            since: now,
            busy_until: now,
            rank,
            op: op.id,
            caller,
            pending: 0,
            receives: 0,
            copies: Time::ZERO,
            schedule: NIL,
            next: NIL,
            selection: Selection::default(),
            kind: CallKind::of(&op.kind),
            for_io: false,
            in_library: is_mpi_call(&op.kind),
        }
    }

    /// Whether it is a non-blocking collective.
    #[inline]
    pub(crate) fn is_background(&self) -> bool {
        self.caller == NIL
    }

    /// Whether it has a [`Schedule`].
    #[inline]
    pub(crate) fn is_collective(&self) -> bool {
        self.schedule != NIL
    }

    /// Counts a completed request; `copy`: the time for the copy of its message.
    pub(crate) fn count(&mut self, kind: RequestKind, copy: Time) {
        self.receives += u32::from(kind == RequestKind::Receive);
        self.copies += copy;
        self.for_io = kind == RequestKind::Io;
    }
}

/// The calls of the ranks of a part.
#[derive(Debug)]
pub(crate) struct Calls {
    calls: Pool<Call>,
    schedules: Pool<Schedule>,
}
odonata_engine::journalled!(Calls { calls, schedules });

impl Calls {
    pub(crate) fn new() -> Self {
        Calls {
            calls: Pool::new(),
            schedules: Pool::new(),
        }
    }

    #[inline]
    pub(crate) fn get(&self, slot: u32) -> &Call {
        self.calls.get(slot)
    }

    #[inline]
    pub(crate) fn edit<M: Uses>(&mut self, slot: u32) -> &mut Call {
        self.calls.edit::<M>(slot)
    }

    /// The schedule of call `slot`, if it is a collective.
    #[inline]
    pub(crate) fn schedule(&self, slot: u32) -> Option<&Schedule> {
        match self.calls.get(slot).schedule {
            NIL => None,
            schedule => Some(self.schedules.get(schedule)),
        }
    }

    /// The schedule of call `slot`, which is a collective.
    #[inline]
    pub(crate) fn edit_schedule<M: Uses>(&mut self, slot: u32) -> &mut Schedule {
        self.schedules.edit::<M>(self.calls.get(slot).schedule)
    }

    /// Gives call `slot` a schedule that completes `request` at its end.
    pub(crate) fn add_schedule<M: Uses>(&mut self, slot: u32, op: &Op, request: u32) {
        let schedule = self.schedules.allocate::<M>(Schedule {
            op: *op,
            step: 0,
            member: 0,
            members: 0,
            stamp: 0,
            request,
            next: NIL,
            algorithm: Algorithm::Dissemination,
            local_work: Time::ZERO,
            part: 0,
        });
        self.calls.edit::<M>(slot).schedule = schedule;
    }

    /// Ends call `slot`.
    pub(crate) fn end<M: Uses>(&mut self, slot: u32) {
        let schedule = self.calls.get(slot).schedule;
        if schedule != NIL {
            self.schedules.free::<M>(schedule);
        }
        self.calls.free::<M>(slot);
    }

    /// The name of call `slot` among the operations of ranks and the non-blocking collectives.
    #[inline]
    pub(crate) fn operation(&self, slot: u32) -> u32 {
        match self.calls.get(slot).caller {
            NIL => slot | BACKGROUND,
            caller => caller,
        }
    }

    /// The call that takes numbered request `number` if it completes now because `waiter` waits for exactly this
    /// request; [`NIL`]: none.
    pub(crate) fn taker(&self, waiter: u32, number: u32) -> u32 {
        if waiter == NIL || number == NIL {
            return NIL;
        }
        let call = self.calls.get(waiter);
        match call.selection.take {
            Take::All => call.op.0,
            Take::One | Take::Some => NIL,
        }
    }

    /// Non-blocking collectives in progress, in the order of their slots: the rank and the operation that began each.
    pub(crate) fn background(&self) -> impl Iterator<Item = (u32, Op)> {
        let calls = self.calls.iter().filter(|call| call.is_background());
        calls.map(|call| (call.rank, self.schedules.get(call.schedule).op))
    }

    /// Number of calls in progress.
    pub(crate) fn live(&self) -> u32 {
        self.calls.live()
    }
}

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
        let call = Call::new(turn.now, caller, rank, op);
        let slot = self.calls.calls.allocate::<M>(Call {
            since,
            pending: 1,
            ..call
        });
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
        call.busy_until += busy;
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
            OpKind::Wait { request } => self.await_all::<M>(turn, slot, Selection::all(request, 1)),
            OpKind::WaitAll { first, count } => self.await_all::<M>(turn, slot, Selection::all(first, count)),
            OpKind::WaitAny { first, count } => self.await_one::<M>(turn, slot, Selection::one(first, count)),
            OpKind::WaitSome { first, count } => self.await_one::<M>(turn, slot, Selection::some(first, count)),
            OpKind::Test { request } => self.take_complete::<M>(turn, slot, Selection::one(request, 1)),
            OpKind::TestAny { first, count } => self.take_complete::<M>(turn, slot, Selection::one(first, count)),
            OpKind::TestAll { first, count } => self.take_complete::<M>(turn, slot, Selection::all(first, count)),
            OpKind::TestSome { first, count } => self.take_complete::<M>(turn, slot, Selection::some(first, count)),
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
                self.start_creation::<M>(slot)?;
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
        let slot = self.calls.calls.allocate::<M>(Call::new(turn.now, NIL, rank, op));
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

    /// Makes call `slot` wait for all selected requests.
    fn await_all<M: Uses>(
        &mut self,
        turn: &mut Turn<'_, MpiEffect>,
        slot: u32,
        selection: Selection,
    ) -> Result<Time, InvalidOperation> {
        self.requests.await_all::<M>(turn, &mut self.calls, slot, selection);
        Ok(Time::ZERO)
    }

    /// Makes call `slot` wait for one of the selected requests.
    fn await_one<M: Uses>(
        &mut self,
        turn: &mut Turn<'_, MpiEffect>,
        slot: u32,
        selection: Selection,
    ) -> Result<Time, InvalidOperation> {
        self.calls.edit::<M>(slot).selection = selection;
        self.requests.await_one::<M>(turn, &mut self.calls, slot, selection);
        Ok(Time::ZERO)
    }

    /// Makes call `slot` take complete requests among the selected ones.
    fn take_complete<M: Uses>(
        &mut self,
        turn: &mut Turn<'_, MpiEffect>,
        slot: u32,
        selection: Selection,
    ) -> Result<Time, InvalidOperation> {
        self.requests.take_complete::<M>(turn, &mut self.calls, slot, selection);
        Ok(Time::ZERO)
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

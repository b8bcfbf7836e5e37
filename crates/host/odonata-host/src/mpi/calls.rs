//! The calls of ranks in progress, each with what it waits for.
//!
//! A non-blocking collective is a call of its own without a caller: it goes on in the background and completes a request.

use super::collective::{Schedule, Schedules};
use super::progress::is_mpi_call;
use super::request::kind::RequestKind;
use super::request::wait::{Selection, Take};
use crate::context::Uses;
use crate::timeline::CallKind;
use odonata_engine::{NIL, Pool, Time};
use odonata_workload::collective::Rules;
use odonata_workload::{Op, OpId};

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

odonata_engine::slots!(Call);

impl Call {
    /// A call of `rank` for `op` at `now`.
    #[inline]
    pub(super) fn new(now: Time, caller: u32, rank: u32, op: &Op) -> Call {
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
    pub(super) schedules: Schedules,
}
odonata_engine::journalled!(Calls { calls, schedules });

impl Calls {
    /// No calls; `rules` choose the algorithms of collectives.
    pub(crate) fn new(rules: Rules) -> Self {
        Calls {
            calls: Pool::new(),
            schedules: Schedules::new(rules),
        }
    }

    /// Adds a call.
    pub(super) fn begin<M: Uses>(&mut self, call: Call) -> u32 {
        self.calls.allocate::<M>(call)
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
    pub(super) fn add_schedule<M: Uses>(&mut self, slot: u32, op: &Op, request: u32) {
        self.calls.edit::<M>(slot).schedule = self.schedules.open::<M>(op, request);
    }

    /// Ends call `slot`.
    pub(crate) fn end<M: Uses>(&mut self, slot: u32) {
        let schedule = self.calls.get(slot).schedule;
        if schedule != NIL {
            self.schedules.close::<M>(schedule);
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

//! Requests: the completions that operations wait for, now or later.
//!
//! Every message, non-blocking collective or file transfer that an operation waits for has a request. Requests of
//! non-blocking calls have a number and stay in the list of their rank until a wait or test takes them. Requests of
//! blocking calls and collectives have no number, and their waiting operation is known from the start. A persistent
//! request (`persistent`) stays in the list, idle, after it is taken. One-sided accesses are in the list, most without
//! a number, until a flush or a wait takes them.
//!
//! Numbers that are not open, or that are idle, count as `MPI_REQUEST_NULL`: a wait on them returns immediately.

pub(crate) mod kind;
pub(crate) mod wait;

use crate::failure::InvalidOperation;
use crate::mpi::persistent::PersistentOperation;
use kind::RequestKind;
use odonata_engine::{List, Mode, NIL, Pool, SparseStore, Time};
use odonata_workload::{Comm, Op, OpId, OpKind, Request, Source};
use wait::Selection;

#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
enum State {
    /// Persistent and not started.
    Idle,
    /// In progress.
    Open,
    Done,
}

#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct RequestCell {
    /// The program's number, or [`NIL`] (the number of [`Request::DETACHED`], which has no request).
    pub(crate) number: u32,
    /// The waiting call, or [`NIL`].
    pub(crate) waiter: u32,
    rank: u32,
    previous: u32,
    next: u32,
    /// The operation that began the transfer.
    pub(crate) op: u32,
    /// The operation of a persistent request, or [`NIL`].
    pub(crate) plan: u32,
    /// Time for the copy of a received eager message that its call has not begun.
    pub(crate) copy: Time,
    pub(crate) kind: RequestKind,
    state: State,
    /// Whether `MPI_Request_free` freed it; it is then in no list.
    freed: bool,
}

odonata_engine::slots!(RequestCell);

impl RequestCell {
    #[inline]
    fn new(rank: u32, op: OpId, kind: RequestKind) -> Self {
        RequestCell {
            number: NIL,
            waiter: NIL,
            rank,
            previous: NIL,
            next: NIL,
            op: op.0,
            plan: NIL,
            copy: Time::ZERO,
            kind,
            state: State::Open,
            freed: false,
        }
    }

    /// Whether it is one of the requests that call `waiter` selects.
    #[inline]
    fn concerns(&self, waiter: u32, selection: Selection) -> bool {
        self.number >= selection.first
            && self.number - selection.first < selection.count
            && self.state != State::Idle
            && (self.kind != RequestKind::Access || self.number != NIL)
            && (self.waiter == NIL || self.waiter == waiter)
    }

    /// Whether it is complete and not yet taken.
    pub(crate) fn is_done(&self) -> bool {
        self.state == State::Done
    }

    /// Whether it is idle; an unfinished program may leave idle requests behind.
    pub(crate) fn is_idle(&self) -> bool {
        self.state == State::Idle
    }
}

/// The requests of the ranks of a part.
#[derive(Debug)]
pub(crate) struct Requests {
    cells: Pool<RequestCell>,
    /// Numbered requests of each rank, in the order of the calls.
    lists: SparseStore<List>,
    /// The operations of persistent requests.
    plans: Pool<PersistentOperation>,
}
odonata_engine::journalled!(Requests { cells, lists, plans });

impl Requests {
    pub(crate) fn new(lists: SparseStore<List>) -> Self {
        Requests {
            cells: Pool::new(),
            lists,
            plans: Pool::new(),
        }
    }

    pub(crate) fn get(&self, slot: u32) -> &RequestCell {
        self.cells.get(slot)
    }

    /// The numbered requests of `rank`, in the order of the calls.
    pub(crate) fn of_rank(&self, rank: u32) -> impl Iterator<Item = &RequestCell> {
        let list = self.lists.get(rank);
        list.iter(&self.cells).map(|slot| self.cells.get(slot))
    }

    /// Number of all requests, numbered or not.
    pub(crate) fn live(&self) -> u32 {
        self.cells.live()
    }

    /// The call that takes receive `slot` copies its message in `time`.
    pub(super) fn add_copy<M: Mode>(&mut self, slot: u32, time: Time) {
        self.cells.edit::<M>(slot).copy = time;
    }

    /// Opens a request of operation `op` of `rank`, for which call `waiter` waits from the start.
    #[inline]
    pub(super) fn open_blocking<M: Mode>(&mut self, (rank, op): (u32, OpId), waiter: u32, kind: RequestKind) -> u32 {
        let cell = RequestCell::new(rank, op, kind);
        self.cells.allocate::<M>(RequestCell { waiter, ..cell })
    }

    /// Opens the request of non-blocking call `op` of `rank`; [`NIL`] if the call is detached.
    pub(crate) fn open_numbered<M: Mode>(&mut self, rank: u32, op: OpId, number: Request, kind: RequestKind) -> u32 {
        if number == Request::DETACHED {
            return NIL;
        }
        let mut list = *self.lists.get(rank);
        let slot = self.cells.allocate::<M>(RequestCell {
            number: number.0,
            previous: list.tail,
            ..RequestCell::new(rank, op, kind)
        });
        list.push::<M, _>(&mut self.cells, slot);
        *self.lists.edit::<M>(rank) = list;
        slot
    }

    /// Opens the request of one-sided access `op` of `rank`, which a flush takes, or a wait for its number.
    pub(super) fn open_access<M: Mode>(&mut self, rank: u32, op: &Op, number: Request) -> u32 {
        let mut list = *self.lists.get(rank);
        let slot = self.cells.allocate::<M>(RequestCell {
            number: number.0,
            previous: list.tail,
            plan: self.plans.allocate::<M>(PersistentOperation::access(op.kind)),
            ..RequestCell::new(rank, op.id, RequestKind::Access)
        });
        list.push::<M, _>(&mut self.cells, slot);
        *self.lists.edit::<M>(rank) = list;
        slot
    }

    /// Whether access `slot` is to `target` on `comm`.
    pub(super) fn is_access_to(&self, slot: u32, target: Source, comm: Comm) -> bool {
        let RequestCell { kind, plan, .. } = *self.cells.get(slot);
        if kind != RequestKind::Access {
            return false;
        }
        match self.plans.get(plan).kind() {
            OpKind::OneSided(call) => call.comm() == comm && (target == Source::Any || call.target() == Some(target)),
            _ => false,
        }
    }

    /// Frees request `slot` of a blocking call, which does not wait for it after all.
    pub(super) fn withdraw<M: Mode>(&mut self, slot: u32) {
        self.cells.free::<M>(slot);
    }

    /// Opens an idle persistent request of `rank` for `operation`.
    ///
    /// # Errors
    /// The number is in use or reserved for detached operations.
    pub(crate) fn open_persistent<M: Mode>(
        &mut self,
        rank: u32,
        op: OpId,
        operation: PersistentOperation,
    ) -> Result<(), InvalidOperation> {
        let number = operation.number();
        if number == Request::DETACHED || self.numbered(rank, number).is_some() {
            return Err(InvalidOperation::Active(number.0));
        }
        let plan = self.plans.allocate::<M>(operation);
        let slot = self.open_numbered::<M>(rank, op, number, RequestKind::Nothing);
        let cell = self.cells.edit::<M>(slot);
        (cell.plan, cell.state) = (plan, State::Idle);
        Ok(())
    }

    /// Persistent request `number` of `rank`, with its operation.
    pub(crate) fn persistent(&self, rank: u32, number: Request) -> Option<(u32, OpKind)> {
        let slot = self.numbered(rank, number)?;
        let plan = self.cells.get(slot).plan;
        (plan != NIL).then(|| (slot, self.plans.get(plan).kind()))
    }

    /// Starts a transfer of idle request `slot` for operation `op`.
    ///
    /// # Errors
    /// The request is active.
    pub(crate) fn reopen<M: Mode>(&mut self, slot: u32, op: OpId, kind: RequestKind) -> Result<(), InvalidOperation> {
        let cell = self.cells.edit::<M>(slot);
        if cell.state != State::Idle {
            return Err(InvalidOperation::Active(cell.number));
        }
        (cell.state, cell.op, cell.kind) = (State::Open, op.0, kind);
        Ok(())
    }

    /// The request of `rank` with number `number`, if there is one.
    pub(crate) fn numbered(&self, rank: u32, number: Request) -> Option<u32> {
        let list = self.lists.get(rank);
        list.iter(&self.cells)
            .find(|&slot| self.cells.get(slot).number == number.0 && number != Request::DETACHED)
    }

    /// Removes a numbered request from its rank's list.
    fn unlink<M: Mode>(&mut self, slot: u32) {
        let RequestCell {
            rank, previous, next, ..
        } = *self.cells.get(slot);
        let list = self.lists.edit::<M>(rank);
        match previous {
            NIL => list.head = next,
            _ => self.cells.edit::<M>(previous).next = next,
        }
        match next {
            NIL => list.tail = previous,
            _ => self.cells.edit::<M>(next).previous = previous,
        }
    }

    /// Frees a request that is in no list.
    fn discard<M: Mode>(&mut self, slot: u32) {
        let plan = self.cells.get(slot).plan;
        if plan != NIL {
            self.plans.free::<M>(plan);
        }
        self.cells.free::<M>(slot);
    }

    /// `MPI_Request_free`. Does nothing for a number that is not open.
    ///
    /// # Errors
    /// The request belongs to a collective.
    pub(crate) fn free<M: Mode>(&mut self, rank: u32, number: Request) -> Result<(), InvalidOperation> {
        let Some(slot) = self.numbered(rank, number) else {
            return Ok(());
        };
        let RequestCell { kind, state, .. } = *self.cells.get(slot);
        if kind == RequestKind::Collective {
            return Err(InvalidOperation::FreedCollective);
        }
        self.unlink::<M>(slot);
        if state == State::Open {
            let cell = self.cells.edit::<M>(slot);
            (cell.freed, cell.number, cell.waiter) = (true, NIL, NIL);
        } else {
            self.discard::<M>(slot);
        }
        Ok(())
    }
}

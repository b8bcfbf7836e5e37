//! Requests: what an operation waits for, now or later.
//!
//! Every message, non-blocking collective or file transfer that somebody waits for has a request. Those of
//! non-blocking calls have a number and stand in the list of their rank until a wait or test takes them;
//! those of blocking calls and collectives have none and know from the start who waits. A persistent
//! request (`persistent`) stays in the list, idle, when it is taken.
//!
//! Numbers that are not open, or are idle, count as `MPI_REQUEST_NULL`: nobody waits for them.

use super::Hosts;
use super::event::Outside;
use super::fact::Fact;
use super::outcome::Wrong;
use super::rank::Phase;
use odonata_engine::{Mode, NIL, Slot};
use odonata_workload::{OpId, OpKind, Request};

/// What completes a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) enum Transfer {
    Send,
    Receive,
    Io,
    Collective,
    /// A probe, or an end of a message at `PROC_NULL`: nothing that costs a rank something.
    Nothing,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
enum State {
    /// Persistent, and not started.
    Idle,
    /// Under way.
    Open,
    Done,
}

/// A request.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct RequestCell {
    /// The program's number, or [`NIL`] (that of [`Request::DETACHED`], which has no request).
    pub(crate) number: u32,
    /// The operation that waits, or [`NIL`].
    pub(crate) waiter: u32,
    rank: u32,
    previous: u32,
    next: u32,
    /// The operation that began the transfer.
    pub(crate) op: u32,
    /// What a persistent one stands for, or [`NIL`].
    pub(crate) plan: u32,
    transfer: Transfer,
    state: State,
    /// Nobody will ask for it (`MPI_Request_free`); it is in no list.
    freed: bool,
}

impl Slot for RequestCell {
    fn next(&self) -> u32 {
        self.next
    }
    fn set_next(&mut self, next: u32) {
        self.next = next;
    }
}

impl RequestCell {
    fn new(rank: u32, op: OpId, transfer: Transfer) -> Self {
        RequestCell {
            number: NIL,
            waiter: NIL,
            rank,
            previous: NIL,
            next: NIL,
            op: op.0,
            plan: NIL,
            transfer,
            state: State::Open,
            freed: false,
        }
    }

    /// Whether a call of `waiter` on the numbers `first .. first + count` asks for it.
    fn concerns(&self, waiter: u32, first: Request, count: u32) -> bool {
        self.number >= first.0
            && self.number - first.0 < count
            && self.state != State::Idle
            && (self.waiter == NIL || self.waiter == waiter)
    }

    /// Whether nobody will ask for it.
    pub(crate) fn is_freed(&self) -> bool {
        self.freed
    }

    /// Whether it stands for nothing: an unfinished program may leave such a one behind.
    pub(crate) fn is_idle(&self) -> bool {
        self.state == State::Idle
    }
}

/// How many of the complete requests a call takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Take {
    /// The one with the lowest number.
    One,
    /// All that are complete.
    Some,
    /// All, if all are complete.
    All,
}

impl Hosts {
    /// A request that operation `waiter` waits for from the start.
    pub(crate) fn open_blocking<M: Mode>(&mut self, waiter: u32, transfer: Transfer) -> u32 {
        let activity = self.activities.edit::<M>(waiter);
        activity.pending += 1;
        let cell = RequestCell::new(activity.rank, activity.op.id, transfer);
        self.requests.take::<M>(RequestCell { waiter, ..cell })
    }

    /// The request of non-blocking call `op` of `rank`; [`NIL`] if nobody will wait for it.
    pub(crate) fn open_numbered<M: Mode>(&mut self, rank: u32, op: OpId, number: Request, transfer: Transfer) -> u32 {
        if number == Request::DETACHED {
            return NIL;
        }
        let mut list = self.inboxes.get(rank).requests;
        let slot = self.requests.take::<M>(RequestCell {
            number: number.0,
            previous: list.tail,
            ..RequestCell::new(rank, op, transfer)
        });
        list.push::<M, _>(&mut self.requests, slot);
        self.inboxes.edit::<M>(rank).requests = list;
        slot
    }

    /// An idle request of `rank` for what `plan` says.
    pub(crate) fn open_persistent<M: Mode>(&mut self, rank: u32, op: OpId, number: Request, plan: u32) {
        let slot = self.open_numbered::<M>(rank, op, number, Transfer::Nothing);
        let cell = self.requests.edit::<M>(slot);
        (cell.plan, cell.state) = (plan, State::Idle);
    }

    /// Begins a transfer of idle request `slot`, for operation `op`.
    ///
    /// # Errors
    /// It is under way.
    pub(crate) fn reopen<M: Mode>(&mut self, slot: u32, op: OpId, transfer: Transfer) -> Result<(), Wrong> {
        let cell = self.requests.edit::<M>(slot);
        if cell.state != State::Idle {
            return Err(Wrong::Active(cell.number));
        }
        (cell.state, cell.op, cell.transfer) = (State::Open, op.0, transfer);
        Ok(())
    }

    /// The request of `rank` with number `number`, if there is one.
    pub(crate) fn numbered(&self, rank: u32, number: Request) -> Option<u32> {
        let list = self.inboxes.get(rank).requests;
        list.iter(&self.requests)
            .find(|&slot| self.requests.get(slot).number == number.0)
    }

    /// Takes a numbered request out of its rank's list.
    fn unlink<M: Mode>(&mut self, slot: u32) {
        let RequestCell {
            rank, previous, next, ..
        } = *self.requests.get(slot);
        let inbox = self.inboxes.edit::<M>(rank);
        match previous {
            NIL => inbox.requests.head = next,
            _ => self.requests.edit::<M>(previous).next = next,
        }
        match next {
            NIL => self.inboxes.edit::<M>(rank).requests.tail = previous,
            _ => self.requests.edit::<M>(next).previous = previous,
        }
    }

    /// Frees a request that is in no list.
    fn discard<M: Mode>(&mut self, slot: u32) {
        let plan = self.requests.get(slot).plan;
        if plan != NIL {
            self.plans.give::<M>(plan);
        }
        self.requests.give::<M>(slot);
    }

    /// `MPI_Request_free`. A number that is not open is none to be freed.
    ///
    /// # Errors
    /// It stands for a collective.
    pub(crate) fn free_request<M: Mode>(&mut self, rank: u32, number: Request) -> Result<(), Wrong> {
        let Some(slot) = self.numbered(rank, number) else {
            return Ok(());
        };
        let RequestCell { transfer, state, .. } = *self.requests.get(slot);
        if transfer == Transfer::Collective {
            return Err(Wrong::FreedCollective);
        }
        self.unlink::<M>(slot);
        if state == State::Open {
            let cell = self.requests.edit::<M>(slot);
            (cell.freed, cell.number, cell.waiter) = (true, NIL, NIL);
        } else {
            self.discard::<M>(slot);
        }
        Ok(())
    }

    /// Operation `waiter` takes complete request `slot`, which has a number.
    fn take_request<M: Mode>(&mut self, waiter: u32, slot: u32) {
        let RequestCell {
            rank,
            number,
            transfer,
            plan,
            ..
        } = *self.requests.get(slot);
        if plan == NIL {
            self.unlink::<M>(slot);
            self.requests.give::<M>(slot);
        } else {
            let cell = self.requests.edit::<M>(slot);
            (cell.state, cell.waiter) = (State::Idle, NIL);
        }
        let activity = self.activities.edit::<M>(waiter);
        activity.book(transfer);
        let op = activity.op.id;
        self.note::<M>(Fact::Chosen { rank, op, number });
    }

    /// Lets operation `waiter` wait for all requests numbered `first .. first + count`.
    pub(crate) fn await_requests<M: Mode>(&mut self, waiter: u32, first: Request, count: u32) {
        let rank = self.activities.get(waiter).rank;
        let mut found = 0;
        let mut at = self.inboxes.get(rank).requests.head;
        while at != NIL && found < count {
            let cell = *self.requests.get(at);
            if cell.concerns(waiter, first, count) {
                found += 1;
                if cell.state == State::Done {
                    self.take_request::<M>(waiter, at);
                } else {
                    self.requests.edit::<M>(at).waiter = waiter;
                    self.activities.edit::<M>(waiter).pending += 1;
                }
            }
            at = cell.next;
        }
    }

    /// Lets operation `waiter` wait until one of the requests numbered `first .. first + count` is complete,
    /// and take as many as `take` says then.
    pub(crate) fn await_one<M: Mode>(&mut self, waiter: u32, first: Request, count: u32, take: Take) {
        if self.take_complete::<M>(waiter, first, count, take) {
            return;
        }
        let rank = self.activities.get(waiter).rank;
        let mut waits = false;
        let mut at = self.inboxes.get(rank).requests.head;
        while at != NIL {
            let cell = *self.requests.get(at);
            if cell.concerns(waiter, first, count) {
                self.requests.edit::<M>(at).waiter = waiter;
                waits = true;
            }
            at = cell.next;
        }
        self.activities.edit::<M>(waiter).pending += u32::from(waits);
    }

    /// Takes complete requests among those numbered `first .. first + count` for operation `waiter`, which
    /// then waits for none of them; whether there were any.
    pub(crate) fn take_complete<M: Mode>(&mut self, waiter: u32, first: Request, count: u32, take: Take) -> bool {
        let rank = self.activities.get(waiter).rank;
        let list = self.inboxes.get(rank).requests;
        let cells = list.iter(&self.requests).map(|slot| (slot, self.requests.get(slot)));
        let ours = cells.filter(|(_, cell)| cell.concerns(waiter, first, count));
        let (mut lowest, mut open) = (None, false);
        for (_, cell) in ours {
            if cell.state == State::Open {
                open = true;
            } else if lowest.is_none_or(|number| cell.number < number) {
                lowest = Some(cell.number);
            }
        }
        let Some(lowest) = lowest.filter(|_| !(open && take == Take::All)) else {
            return false;
        };
        let mut at = list.head;
        while at != NIL {
            let cell = *self.requests.get(at);
            if cell.concerns(waiter, first, count) {
                if cell.waiter == waiter {
                    self.requests.edit::<M>(at).waiter = NIL;
                }
                if cell.state == State::Done && (take != Take::One || cell.number == lowest) {
                    self.take_request::<M>(waiter, at);
                }
            }
            at = cell.next;
        }
        true
    }

    /// What operation `waiter`, which waits for one of several requests, has been woken for.
    pub(crate) fn wake<X: Outside>(&mut self, x: &mut X, waiter: u32) {
        let activity = self.activities.edit::<X>(waiter);
        activity.phase = Phase::Blocked;
        activity.pending -= 1;
        match activity.op.kind {
            OpKind::WaitAny { first, count } => self.take_complete::<X>(waiter, first, count, Take::One),
            OpKind::WaitSome { first, count } => self.take_complete::<X>(waiter, first, count, Take::Some),
            _ => unreachable!("only waits for one of several are woken"),
        };
        self.settle(x, waiter);
    }

    /// What request `slot` stands for has happened. The caller lets the rank [advance](Hosts::advance).
    pub(crate) fn complete<X: Outside>(&mut self, x: &mut X, slot: u32) {
        if slot == NIL {
            return;
        }
        let RequestCell {
            number,
            waiter,
            rank,
            transfer,
            freed,
            ..
        } = *self.requests.get(slot);
        if waiter == NIL {
            if freed {
                self.discard::<X>(slot);
            } else {
                self.requests.edit::<X>(slot).state = State::Done;
            }
            return;
        }
        let activity = self.activities.edit::<X>(waiter);
        if number == NIL {
            activity.book(transfer);
            self.requests.give::<X>(slot);
        } else if matches!(activity.op.kind, OpKind::WaitAny { .. } | OpKind::WaitSome { .. }) {
            // It takes what is complete at the end of this event, which may complete more.
            if activity.phase == Phase::Blocked {
                activity.phase = Phase::Woken;
                self.ranks.edit::<X>(rank).ready += 1;
            }
            self.requests.edit::<X>(slot).state = State::Done;
            return;
        } else {
            self.take_request::<X>(waiter, slot);
        }
        let activity = self.activities.edit::<X>(waiter);
        activity.pending -= 1;
        if activity.pending == 0 {
            self.settle(x, waiter);
        }
    }
}

impl super::rank::Activity {
    /// Counts a completed request.
    fn book(&mut self, transfer: Transfer) {
        self.receives += u32::from(transfer == Transfer::Receive);
        self.for_io = transfer == Transfer::Io;
    }
}

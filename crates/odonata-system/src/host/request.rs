//! Requests: what an operation waits for, now or later.
//!
//! Every message or file transfer that somebody waits for has a request. Those of non-blocking calls
//! have a number and stand in the list of their rank until a wait takes them; those of blocking calls
//! and collectives have none and know from the start who waits.

use super::Hosts;
use super::event::Outside;
use odonata_engine::{Mode, NIL, Slot};
use odonata_workload::Request;

/// What completes a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Transfer {
    Send,
    Receive,
    Io,
}

/// A request that is open.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RequestCell {
    /// The program's number, or [`NIL`] (that of [`Request::DETACHED`], which has no request).
    pub(crate) number: u32,
    /// The operation that waits, or [`NIL`].
    waiter: u32,
    rank: u32,
    previous: u32,
    next: u32,
    transfer: Transfer,
    done: bool,
}

impl Slot for RequestCell {
    fn next(&self) -> u32 {
        self.next
    }
    fn set_next(&mut self, next: u32) {
        self.next = next;
    }
}

impl Hosts {
    /// A request that operation `waiter` waits for from the start.
    pub(crate) fn open_blocking<M: Mode>(&mut self, waiter: u32, transfer: Transfer) -> u32 {
        let activity = self.activities.edit::<M>(waiter);
        activity.pending += 1;
        let rank = activity.rank;
        self.requests.take::<M>(RequestCell {
            number: NIL,
            waiter,
            rank,
            previous: NIL,
            next: NIL,
            transfer,
            done: false,
        })
    }

    /// The request of a non-blocking call of `rank`; [`NIL`] if nobody will wait for it.
    pub(crate) fn open_numbered<M: Mode>(&mut self, rank: u32, number: Request, transfer: Transfer) -> u32 {
        if number == Request::DETACHED {
            return NIL;
        }
        let mut list = self.inboxes.get(rank).requests;
        let slot = self.requests.take::<M>(RequestCell {
            number: number.0,
            waiter: NIL,
            rank,
            previous: list.tail,
            next: NIL,
            transfer,
            done: false,
        });
        list.push::<M, _>(&mut self.requests, slot);
        self.inboxes.edit::<M>(rank).requests = list;
        slot
    }

    /// Removes a numbered request from its rank's list, and frees it.
    fn close<M: Mode>(&mut self, slot: u32) {
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
        self.requests.give::<M>(slot);
    }

    /// Lets operation `waiter` wait for the requests numbered `first .. first + count`. Numbers that
    /// are not open count as complete, as `MPI_REQUEST_NULL` does.
    pub(crate) fn await_requests<M: Mode>(&mut self, waiter: u32, first: Request, count: u32) {
        let rank = self.activities.get(waiter).rank;
        let mut found = 0;
        let mut at = self.inboxes.get(rank).requests.head;
        while at != NIL && found < count {
            let RequestCell {
                number,
                next,
                transfer,
                done,
                waiter: other,
                ..
            } = *self.requests.get(at);
            if number >= first.0 && number - first.0 < count && other == NIL {
                found += 1;
                if done {
                    self.close::<M>(at);
                    self.activities.edit::<M>(waiter).book(transfer);
                } else {
                    self.requests.edit::<M>(at).waiter = waiter;
                    self.activities.edit::<M>(waiter).pending += 1;
                }
            }
            at = next;
        }
    }

    /// What request `slot` stands for has happened. The caller lets the rank [advance](Hosts::advance).
    pub(crate) fn complete<X: Outside>(&mut self, x: &mut X, slot: u32) {
        if slot == NIL {
            return;
        }
        let RequestCell {
            number,
            waiter,
            transfer,
            ..
        } = *self.requests.get(slot);
        if waiter == NIL {
            self.requests.edit::<X>(slot).done = true;
            return;
        }
        if number == NIL {
            self.requests.give::<X>(slot);
        } else {
            self.close::<X>(slot);
        }
        let activity = self.activities.edit::<X>(waiter);
        activity.book(transfer);
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

//! Waits and tests: calls take complete requests and wait for incomplete ones.

use super::kind::RequestKind;
use super::{RequestCell, Requests, State};
use crate::context::Uses;
use crate::mpi::calls::Calls;
use crate::mpi::effect::MpiEffect;
use crate::observe::{Observer, RequestCompletion, RequestTaken};
use crate::turn::Turn;
use odonata_engine::{NIL, Time};
use odonata_workload::{Comm, Request, Source};

/// How many complete requests a call takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) enum Take {
    /// The lowest complete number.
    One,
    /// All complete ones.
    Some,
    /// All, provided that all are complete.
    #[default]
    All,
}

/// The requests that a call names: `count` numbers from `first`, and how many of them it takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Selection {
    pub(super) first: u32,
    pub(super) count: u32,
    pub(crate) take: Take,
}

impl Selection {
    fn new(first: Request, count: u32, take: Take) -> Selection {
        let first = first.0;
        Selection { first, count, take }
    }

    pub(crate) fn one(first: Request, count: u32) -> Selection {
        Selection::new(first, count, Take::One)
    }

    pub(crate) fn some(first: Request, count: u32) -> Selection {
        Selection::new(first, count, Take::Some)
    }

    pub(crate) fn all(first: Request, count: u32) -> Selection {
        Selection::new(first, count, Take::All)
    }
}

/// What the completion of a request means to the call that waits for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Completion {
    /// Nothing: no call waits, or the call already knows.
    Noted,
    /// The call takes requests at the end of this event.
    Wakes(u32),
    /// The call has taken the request.
    Taken(u32),
}

impl Requests {
    /// Call `waiter` takes complete, numbered request `slot`.
    fn take<M: Uses>(&mut self, turn: &mut Turn<'_, MpiEffect>, calls: &mut Calls, waiter: u32, slot: u32) {
        let operation = calls.operation(waiter);
        let call = calls.edit::<M>(waiter);
        let RequestCell {
            rank,
            number,
            kind,
            plan,
            op,
            state,
            copy,
            ..
        } = *self.cells.get(slot);
        turn.observers.request_is_taken::<M>(&RequestTaken {
            request: slot,
            operation,
            rank,
            number,
            kind,
            begun_by: op,
            taken_by: call.op,
            was_done: state == State::Done,
            now: turn.now,
        });
        call.count(kind, copy);
        if plan == NIL || kind == RequestKind::Access {
            self.unlink::<M>(slot);
            self.discard::<M>(slot);
        } else {
            let cell = self.cells.edit::<M>(slot);
            (cell.state, cell.waiter, cell.copy) = (State::Idle, NIL, Time::ZERO);
        }
    }

    /// Makes call `waiter` wait for all selected requests.
    pub(crate) fn await_all<M: Uses>(
        &mut self,
        turn: &mut Turn<'_, MpiEffect>,
        calls: &mut Calls,
        waiter: u32,
        selection: Selection,
    ) {
        let rank = calls.get(waiter).rank;
        let mut found = 0;
        let mut at = self.lists.get(rank).head;
        while at != NIL && found < selection.count {
            let cell = self.cells.get(at);
            let next = cell.next;
            if cell.concerns(waiter, selection) {
                found += 1;
                if cell.state == State::Done {
                    self.take::<M>(turn, calls, waiter, at);
                } else {
                    self.cells.edit::<M>(at).waiter = waiter;
                    calls.edit::<M>(waiter).pending += 1;
                }
            }
            at = next;
        }
    }

    /// Makes call `waiter` wait for the accesses of its rank to `target` on `comm`, other than those that another call waits
    /// for.
    pub(crate) fn await_accesses<M: Uses>(
        &mut self,
        turn: &mut Turn<'_, MpiEffect>,
        calls: &mut Calls,
        waiter: u32,
        (target, comm): (Source, Comm),
    ) {
        let mut at = self.lists.get(calls.get(waiter).rank).head;
        while at != NIL {
            let RequestCell {
                next,
                state,
                waiter: other,
                ..
            } = *self.cells.get(at);
            if other == NIL && self.is_access_to(at, target, comm) {
                if state == State::Done {
                    self.take::<M>(turn, calls, waiter, at);
                } else {
                    self.cells.edit::<M>(at).waiter = waiter;
                    calls.edit::<M>(waiter).pending += 1;
                }
            }
            at = next;
        }
    }

    /// Makes call `waiter` wait until one of the selected requests is complete, and then take as many as it selects.
    pub(crate) fn await_one<M: Uses>(
        &mut self,
        turn: &mut Turn<'_, MpiEffect>,
        calls: &mut Calls,
        waiter: u32,
        selection: Selection,
    ) {
        if self.take_complete::<M>(turn, calls, waiter, selection) {
            return;
        }
        let rank = calls.get(waiter).rank;
        let mut waits = false;
        let mut at = self.lists.get(rank).head;
        while at != NIL {
            let cell = self.cells.get(at);
            let next = cell.next;
            if cell.concerns(waiter, selection) {
                self.cells.edit::<M>(at).waiter = waiter;
                waits = true;
            }
            at = next;
        }
        calls.edit::<M>(waiter).pending += u32::from(waits);
    }

    /// Takes complete requests among the selected ones for call `waiter`, which then waits for none of them. Returns
    /// whether there were any.
    pub(crate) fn take_complete<M: Uses>(
        &mut self,
        turn: &mut Turn<'_, MpiEffect>,
        calls: &mut Calls,
        waiter: u32,
        selection: Selection,
    ) -> bool {
        let rank = calls.get(waiter).rank;
        let ours = self.of_rank(rank).filter(|cell| cell.concerns(waiter, selection));
        let (mut lowest, mut open) = (None, false);
        for cell in ours {
            if cell.state == State::Open {
                open = true;
            } else if lowest.is_none_or(|number| cell.number < number) {
                lowest = Some(cell.number);
            }
        }
        let take = selection.take;
        let Some(lowest) = lowest.filter(|_| !(open && take == Take::All)) else {
            return false;
        };
        let mut at = self.lists.get(rank).head;
        while at != NIL {
            let RequestCell {
                next, state, number, ..
            } = *self.cells.get(at);
            if self.cells.get(at).concerns(waiter, selection) {
                if self.cells.get(at).waiter == waiter {
                    self.cells.edit::<M>(at).waiter = NIL;
                }
                if state == State::Done && (take != Take::One || number == lowest) {
                    self.take::<M>(turn, calls, waiter, at);
                }
            }
            at = next;
        }
        true
    }

    /// Completes request `slot`.
    pub(crate) fn complete<M: Uses>(
        &mut self,
        turn: &mut Turn<'_, MpiEffect>,
        calls: &mut Calls,
        slot: u32,
    ) -> Completion {
        let RequestCell {
            number,
            waiter,
            kind,
            freed,
            rank,
            op,
            copy,
            ..
        } = *self.cells.get(slot);
        turn.observers.request_completes::<M>(&RequestCompletion {
            request: slot,
            rank,
            number,
            kind,
            begun_by: op,
            taker: calls.taker(waiter, number),
            now: turn.now,
        });
        if waiter == NIL {
            if freed {
                self.discard::<M>(slot);
            } else {
                self.cells.edit::<M>(slot).state = State::Done;
            }
            return Completion::Noted;
        }
        if number == NIL && kind != RequestKind::Access {
            let operation = calls.operation(waiter);
            let call = calls.edit::<M>(waiter);
            call.count(kind, copy);
            turn.observers.request_is_taken::<M>(&RequestTaken {
                request: slot,
                operation,
                rank,
                number,
                kind,
                begun_by: op,
                taken_by: call.op,
                was_done: false,
                now: turn.now,
            });
            self.cells.free::<M>(slot);
        } else if calls.get(waiter).selection.take != Take::All {
            // The wait takes all complete requests at the end of this event, which may complete more.
            self.cells.edit::<M>(slot).state = State::Done;
            return Completion::Wakes(waiter);
        } else {
            self.take::<M>(turn, calls, waiter, slot);
        }
        calls.edit::<M>(waiter).pending -= 1;
        Completion::Taken(waiter)
    }
}

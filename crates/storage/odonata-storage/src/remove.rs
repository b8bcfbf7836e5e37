//! Removal of a file (`unlink`): frees what a server holds of an object, then what lower tiers hold.
//!
//! | part of the object at the arrival of the removal | effect |
//! |---|---|
//! | on a device, leaving, clean, filling, in the lower tier | removed; its space is free at once |
//! | writes that have their space | answered as usual; their bytes are removed when they come to a device |
//! | writes that wait for space, and all later requests | follow the removal: they write a new file |
//! | reads under way | answered; bytes not fetched yet count as never written |
//! | blocks that the drain reads | stay |
//! | blocks on their way to the lower tier | arrive, and are removed there |
//!
//! A server asks the lower tier at once, so that full servers there regain space. If blocks of the object are on their way down, it
//! asks again after the last of them has arrived. It answers after that. A server without an index (`storage.manager.extents`) does
//! not know the object of its bytes: it frees nothing and passes the removal on.
//!
//! **Conservation.** Committed bytes are removed in one place ([`ContentIndex`](crate::index::ContentIndex)), which counts them with the
//! stored, overwritten and lost bytes.

use odonata_engine::{List, Mode, NIL, Pool, Store, journalled};

use crate::{Action, Actions, Origin, RequestHeader, StorageRequest};

/// A removal that waits for the lower tier.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
struct Removal {
    what: StorageRequest,
    server: u32,
    /// Answers of the lower tier that it waits for.
    asked: u32,
    /// Whether it asks again when no block is on its way down.
    again: bool,
    /// Whether its server has failed.
    dead: bool,
    next: u32,
}
odonata_engine::slots!(Removal);

/// The removals of a set of servers that wait for the lower tier.
#[derive(Debug)]
pub(crate) struct Removals {
    cells: Pool<Removal>,
    /// One cell: the removals that will ask again.
    waiting: Store<List>,
}
journalled!(Removals { cells, waiting });

impl Removals {
    pub(crate) fn new() -> Self {
        Removals {
            cells: Pool::new(),
            waiting: Store::filled(1, List::EMPTY),
        }
    }

    /// Removals under way.
    pub(crate) fn live(&self) -> u32 {
        self.cells.live()
    }

    /// Passes removal `what` of `server` on to the lower tier; with `again`, once more when no block is on its way down.
    pub(crate) fn pass_on<M: Mode>(&mut self, server: u32, what: StorageRequest, again: bool, actions: &mut Actions) {
        let slot = self.cells.allocate::<M>(Removal {
            what,
            server,
            asked: 1,
            again,
            dead: false,
            next: NIL,
        });
        if again {
            let mut waiting = *self.waiting.get(0);
            waiting.push::<M, _>(&mut self.cells, slot);
            *self.waiting.edit::<M>(0) = waiting;
        }
        actions.push(Action::pass_on(server, Origin::Removal(slot), &what));
    }

    /// The server of removal `slot`.
    pub(crate) fn server_of(&self, slot: u32) -> u32 {
        self.cells.get(slot).server
    }

    /// The request of removal `slot`; `None` if its server has failed.
    pub(crate) fn request(&self, slot: u32) -> Option<RequestHeader> {
        let Removal { what, dead, .. } = *self.cells.get(slot);
        (!dead).then_some(what.header)
    }

    /// The lower tier has answered removal `slot`.
    pub(crate) fn answered<M: Mode>(&mut self, slot: u32, actions: &mut Actions) {
        let cell = self.cells.edit::<M>(slot);
        cell.asked -= 1;
        let Removal {
            what,
            server,
            asked,
            again,
            dead,
            ..
        } = *cell;
        if asked > 0 || again {
            return;
        }
        self.cells.free::<M>(slot);
        if !dead {
            actions.push(Action::answer(server, what.header));
        }
    }

    /// Whether a removal will ask the lower tier again.
    #[inline]
    pub(crate) fn is_any_waiting(&self) -> bool {
        !self.waiting.get(0).is_empty()
    }

    /// The removals of `server` that will ask the lower tier again, with their objects.
    pub(crate) fn waiting_at(&self, server: u32) -> Vec<(u32, u64)> {
        let all = self
            .waiting
            .get(0)
            .iter(&self.cells)
            .map(|slot| (slot, self.cells.get(slot)));
        let own = all.filter(|(_, removal)| removal.server == server);
        own.map(|(slot, removal)| (slot, removal.what.object)).collect()
    }

    /// No block of removal `slot` is on its way down any more: asks the lower tier again.
    pub(crate) fn ask_again<M: Mode>(&mut self, slot: u32, actions: &mut Actions) {
        let Removal { what, server, .. } = *self.cells.get(slot);
        let mut waiting = *self.waiting.get(0);
        let it = |other: &Removal| (other.server, other.what) == (server, what);
        waiting.remove_first::<M, _>(&mut self.cells, it);
        *self.waiting.edit::<M>(0) = waiting;
        let cell = self.cells.edit::<M>(slot);
        (cell.again, cell.asked) = (false, cell.asked + 1);
        actions.push(Action::pass_on(server, Origin::Removal(slot), &what));
    }

    /// `server` has failed: its removals get no answer.
    pub(crate) fn fail<M: Mode>(&mut self, server: u32) {
        if self.live() == 0 {
            return;
        }
        let mut waiting = *self.waiting.get(0);
        for slot in self.cells.slots() {
            let Removal {
                server: own,
                asked,
                again,
                dead,
                ..
            } = *self.cells.get(slot);
            if own != server || dead {
                continue;
            }
            let cell = self.cells.edit::<M>(slot);
            (cell.again, cell.dead) = (false, true);
            if again {
                waiting.remove_first::<M, _>(&mut self.cells, |other| other.dead);
            }
            if asked == 0 {
                self.cells.free::<M>(slot);
            }
        }
        *self.waiting.edit::<M>(0) = waiting;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ClientId, Requester, StorageOperation};
    use odonata_engine::Plain;

    fn request(token: u32, operation: StorageOperation, object: u64) -> StorageRequest {
        let header = RequestHeader {
            client: ClientId::from(Requester::Rank(0)),
            token,
            owner: 0,
        };
        StorageRequest {
            header,
            operation,
            object,
            offset: 0,
            bytes: 10,
        }
    }

    #[test]
    fn a_removal_with_blocks_on_their_way_asks_twice_and_answers_once() {
        let (mut removals, mut actions) = (Removals::new(), Actions::new());
        let what = request(3, StorageOperation::Remove, 7);
        removals.pass_on::<Plain>(0, what, true, &mut actions);
        let [
            Action::AskLowerTier {
                origin: Origin::Removal(slot),
                ..
            },
        ] = actions[..]
        else {
            panic!("it asks at once: {actions:?}");
        };
        removals.answered::<Plain>(slot, &mut actions);
        assert_eq!(
            (removals.waiting_at(0), removals.waiting_at(1)),
            (vec![(slot, 7)], vec![])
        );
        removals.ask_again::<Plain>(slot, &mut actions);
        assert!(!removals.is_any_waiting() && actions.len() == 2);
        removals.answered::<Plain>(slot, &mut actions);
        assert_eq!((actions.len(), removals.live()), (3, 0));
        assert_eq!(actions[2], Action::answer(0, what.header));
    }

    #[test]
    fn a_removal_of_a_failed_server_gets_no_answer() {
        let (mut removals, mut actions) = (Removals::new(), Actions::new());
        removals.pass_on::<Plain>(0, request(3, StorageOperation::Remove, 7), false, &mut actions);
        removals.pass_on::<Plain>(1, request(4, StorageOperation::Remove, 7), false, &mut actions);
        removals.fail::<Plain>(0);
        let headers = [0, 1].map(|slot| removals.request(slot).map(|header| header.token));
        assert_eq!(headers, [None, Some(4)]);
        actions.clear();
        for slot in [0, 1] {
            removals.answered::<Plain>(slot, &mut actions);
        }
        assert_eq!((actions.len(), removals.live()), (1, 0));
    }
}

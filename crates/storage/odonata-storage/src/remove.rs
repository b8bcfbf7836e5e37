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
//! **Conservation.** Committed bytes are removed in one place: [`Servers::audit`] counts them with the stored, overwritten and lost
//! bytes.

use odonata_engine::{GrowableStore, List, Mode, NIL, Pool, Store, journalled};
use odonata_units::Time;

use crate::contents::count;
use crate::open_request::{Piece, PieceKind};
use crate::settings::WritePolicy;
use crate::{Action, Actions, Origin, RequestHeader, Servers, StorageRequest};

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

/// The removals of a set of servers.
#[derive(Debug)]
pub(crate) struct Removals {
    cells: Pool<Removal>,
    /// One cell: the removals that will ask again.
    waiting: Store<List>,
    /// Bytes removed, per server and job.
    bytes: GrowableStore<u64>,
}
journalled!(Removals { cells, waiting, bytes });

impl Removals {
    pub(crate) fn new() -> Self {
        Removals {
            cells: Pool::new(),
            waiting: Store::filled(1, List::EMPTY),
            bytes: GrowableStore::new(),
        }
    }

    /// Removals under way.
    pub(crate) fn live(&self) -> u32 {
        self.cells.live()
    }
}

impl Servers {
    /// A removal arrives at `server`.
    pub(crate) fn remove<M: Mode>(&mut self, now: Time, server: u32, what: StorageRequest, actions: &mut Actions) {
        let (indexed, leads_down) = (self.is_indexed(server), self.params[server as usize].next.is_some());
        if indexed || leads_down {
            self.mark_removed::<M>(server, what.object);
        }
        let freed = if indexed {
            self.free_object::<M>(server, what.object)
        } else {
            Vec::new()
        };
        if leads_down {
            let again = self.goes_down(server, what.object);
            let slot = self.removals.cells.allocate::<M>(Removal {
                what,
                server,
                asked: 1,
                again,
                dead: false,
                next: NIL,
            });
            if again {
                let mut waiting = *self.removals.waiting.get(0);
                waiting.push::<M, _>(&mut self.removals.cells, slot);
                *self.removals.waiting.edit::<M>(0) = waiting;
            }
            actions.push(Action::pass_on(server, Origin::Removal(slot), &what));
        } else {
            actions.push(Action::answer(server, what.header));
        }
        for (device, owner) in freed {
            self.settle_space::<M>(now, device, owner);
            self.reserve::<M>(now, device, actions);
        }
        if indexed {
            self.feed_drain::<M>(now, server, actions);
        }
        self.note_occupancy::<M>(now, server);
    }

    /// The request of removal `slot`; `None` if its server has failed.
    pub(crate) fn request_of_removal(&self, slot: u32) -> Option<RequestHeader> {
        let Removal { what, dead, .. } = *self.removals.cells.get(slot);
        (!dead).then_some(what.header)
    }

    /// The lower tier has answered removal `slot`.
    pub(crate) fn removal_answered<M: Mode>(&mut self, now: Time, slot: u32, actions: &mut Actions) {
        self.is_up::<M>(now, self.removals.cells.get(slot).server);
        let cell = self.removals.cells.edit::<M>(slot);
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
        self.removals.cells.free::<M>(slot);
        if !dead {
            actions.push(Action::answer(server, what.header));
        }
    }

    /// A block of `server` has arrived in the lower tier: asks again for the removals without blocks on their way.
    pub(crate) fn removals_go_on<M: Mode>(&mut self, server: u32, actions: &mut Actions) {
        let mut waiting = *self.removals.waiting.get(0);
        if waiting.is_empty() {
            return;
        }
        let all: Vec<u32> = waiting.iter(&self.removals.cells).collect();
        for slot in all {
            let Removal { what, server: own, .. } = *self.removals.cells.get(slot);
            if own != server || self.goes_down(server, what.object) {
                continue;
            }
            let it = |other: &Removal| (other.server, other.what) == (server, what);
            waiting.remove_first::<M, _>(&mut self.removals.cells, it);
            let cell = self.removals.cells.edit::<M>(slot);
            (cell.again, cell.asked) = (false, cell.asked + 1);
            actions.push(Action::pass_on(server, Origin::Removal(slot), &what));
        }
        *self.removals.waiting.edit::<M>(0) = waiting;
    }

    /// `server` has failed: its removals get no answer.
    pub(crate) fn end_removals<M: Mode>(&mut self, server: u32) {
        if self.removals.live() == 0 {
            return;
        }
        let mut waiting = *self.removals.waiting.get(0);
        for slot in self.removals.cells.slots() {
            let Removal {
                server: own,
                asked,
                again,
                dead,
                ..
            } = *self.removals.cells.get(slot);
            if own != server || dead {
                continue;
            }
            let cell = self.removals.cells.edit::<M>(slot);
            (cell.again, cell.dead) = (false, true);
            if again {
                waiting.remove_first::<M, _>(&mut self.removals.cells, |other| other.dead);
            }
            if asked == 0 {
                self.removals.cells.free::<M>(slot);
            }
        }
        *self.removals.waiting.edit::<M>(0) = waiting;
    }

    /// Marks the requests and pieces of `file` at `server` as removed, except writes that wait for space.
    fn mark_removed<M: Mode>(&mut self, server: u32, file: u64) {
        if self.requests.live() > 0 {
            for slot in self.requests.slots() {
                let request = self.requests.get(slot);
                let waits_for_space = request.what.operation.is_write() && request.issued == 0;
                if request.server == server && request.what.object == file && !request.dead && !waits_for_space {
                    self.requests.edit::<M>(slot).removed = true;
                }
            }
        }
        if self.pieces.live() > 0 {
            for slot in self.pieces.slots() {
                let piece = self.pieces.get(slot);
                if piece.server == server && piece.object == file && !piece.dead {
                    self.pieces.edit::<M>(slot).removed = true;
                }
            }
        }
    }

    /// Whether a removed part of `file` is, or will be, on its way down from `server`.
    fn goes_down(&self, server: u32, file: u64) -> bool {
        let block = |slot: u32| {
            let piece = self.pieces.get(slot);
            let drains = piece.request == NIL && piece.kind == PieceKind::Drain && piece.down;
            drains && piece.server == server && piece.object == file && piece.removed
        };
        let policy = self.params[server as usize].next;
        let passes_on = policy.is_some_and(|policy| policy.write != WritePolicy::Back);
        let write = |slot: u32| {
            let request = self.requests.get(slot);
            let of_file = request.server == server && request.what.object == file;
            of_file && request.what.operation.is_write() && request.removed && !request.dead
        };
        (self.pieces.live() > 0 && self.pieces.slots().into_iter().any(block))
            || (passes_on && self.requests.live() > 0 && self.requests.slots().into_iter().any(write))
    }

    /// Frees all that `server` has of `file`. Returns the devices that had space of it, each with an owner.
    fn free_object<M: Mode>(&mut self, server: u32, file: u64) -> Vec<(u32, u16)> {
        let first = self.devices.of(server).start;
        let all: Vec<_> = self.contents.extents.find(server, file, 0..u64::MAX).collect();
        let mut freed: Vec<(u32, u16)> = Vec::new();
        for extent in &all {
            if extent.place.is_committed() {
                self.count_removed::<M>(server, extent.owner, extent.bytes());
            }
            if let Some(device) = extent.place.device().map(|device| first + u32::from(device))
                && freed.iter().all(|&(other, _)| other != device)
            {
                freed.push((device, extent.owner));
            }
        }
        if !all.is_empty() {
            self.forget::<M>(server, file, 0..u64::MAX);
        }
        freed
    }

    /// A piece of a write to a removed file is committed: counts it as removed.
    pub(crate) fn removed_on_arrival<M: Mode>(&mut self, piece: &Piece) {
        self.count_received::<M>(piece);
        count::<M>(&mut self.contents.committed, piece.owner, piece.bytes);
        self.count_removed::<M>(piece.server, piece.owner, piece.bytes);
    }

    fn count_removed<M: Mode>(&mut self, server: u32, owner: u16, bytes: u64) {
        let jobs = self.contents.committed.len();
        if usize::from(owner) < jobs && bytes > 0 {
            *(self.removals.bytes).edit::<M>(server as usize * jobs + usize::from(owner)) += bytes;
        }
    }

    /// Bytes removed, by server and job, where there are some.
    pub fn removed(&self) -> impl Iterator<Item = (u32, u16, u64)> + '_ {
        let jobs = self.contents.committed.len().max(1);
        let cells = self.removals.bytes.iter();
        cells.map(move |(cell, &bytes)| ((cell / jobs) as u32, (cell % jobs) as u16, bytes))
    }
}

//! Blame of the waits of synchronizations, in the ledger of their server.
//!
//! | a synchronization waits for | while | charged to the owner of |
//! |---|---|---|
//! | [`DEVICE`] | the oldest acknowledged write of its file is in the device's queue, none of its pieces in service | as of requests |
//! | [`DEVICE`] | a device writes its volatile cache out | the access that entered service there last |
//! | [`DEVICE`] | a block of its file that leaves is in the device's queue, and none in service | as of requests |
//! | [`RESERVE`] | no block of its file is leaving, and one should be | the block that leaves the reserve next |
//!
//! At all other times its own data are served, or it waits for the lower tier, which has a ledger of its own. If blocks of the file
//! wait for several devices, the device of the latest block counts. Blocks that were leaving before the synchronization arrived do
//! not count.

use odonata_blame::{Owner, Place as Joined};
use odonata_engine::{Mode, NIL, Plain};
use odonata_units::Time;

use super::Phase;
use crate::Servers;
use crate::blame::{DEVICE, LOST, RESERVE, Waiter, line};
use crate::extents::Place;
use crate::open_request::{OpenRequest, Piece};

/// The resource that a synchronization waits for; kept only with books.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(super) enum SyncWait {
    /// No shared resource of its server.
    Nothing,
    /// A device that serves another request.
    Device(u32),
    /// A device that writes its cache out: the device, the start, and the owner of its last access.
    Cache(u32, Time, Owner),
    /// A block of the reserve.
    Reserve,
}

/// The place of a block that leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Block {
    /// In the queue of its device, or handed to the device.
    Queued,
    /// In service at its device.
    Served,
    /// On its way to the lower tier.
    LowerTier,
}

/// The number of blocks of the file in each place, from the first block that counts.
#[derive(Clone, Copy, Debug, Default, serde::Serialize, serde::Deserialize)]
pub(super) struct Blocks {
    queued: u32,
    served: u32,
    lower_tier: u32,
    /// The device of the block that moved last.
    device: u32,
}

impl Blocks {
    fn of(&mut self, block: Block) -> &mut u32 {
        match block {
            Block::Queued => &mut self.queued,
            Block::Served => &mut self.served,
            Block::LowerTier => &mut self.lower_tier,
        }
    }
}

impl Servers {
    /// The resource that synchronization `slot` waits for now.
    fn sync_waits_for(&self, slot: u32) -> SyncWait {
        let sync = self.syncs.cells.get(slot);
        match sync.phase {
            Phase::Writes(_) if sync.oldest != NIL => {
                let OpenRequest {
                    device,
                    at_device,
                    in_service,
                    dead,
                    ..
                } = *self.requests.get(sync.oldest);
                match !dead && at_device > 0 && in_service == 0 {
                    true => SyncWait::Device(device),
                    false => SyncWait::Nothing,
                }
            }
            Phase::Writes(_) => SyncWait::Nothing,
            Phase::Passed => sync.wait,
            Phase::Drain { from, end } => {
                let Blocks {
                    queued,
                    served,
                    lower_tier,
                    device,
                } = sync.blocks;
                let stays = || {
                    let first = self.contents.extents.first(sync.server, sync.what.object, from..end);
                    first.is_some_and(|extent| matches!(extent.place, Place::Device(_)))
                };
                match (served, queued, lower_tier) {
                    (0, 0, 0) if stays() => SyncWait::Reserve,
                    (0, 1.., _) => SyncWait::Device(device),
                    _ => SyncWait::Nothing,
                }
            }
        }
    }

    /// Updates the resource that synchronization `slot` waits for.
    pub(super) fn reconsider_sync<M: Mode>(&mut self, now: Time, slot: u32) {
        if self.books.is_on() {
            let wait = self.sync_waits_for(slot);
            self.set_sync_wait::<M>(now, slot, wait);
        }
    }

    /// Updates the resources that the synchronizations of `server` wait for.
    pub(crate) fn reconsider_syncs<M: Mode>(&mut self, now: Time, server: u32) {
        self.for_syncs(server, |servers, slot| servers.reconsider_sync::<M>(now, slot));
    }

    /// Calls `what` for each synchronization under way at `server`, if books are kept.
    fn for_syncs(&mut self, server: u32, mut what: impl FnMut(&mut Servers, u32)) {
        if !self.books.is_on() {
            return;
        }
        let mut slot = self.syncs.servers.get(server).open.head;
        while slot != NIL {
            let next = self.syncs.cells.get(slot).next;
            what(self, slot);
            slot = next;
        }
    }

    /// Synchronization `slot` waits for `wait` from now on.
    pub(super) fn set_sync_wait<M: Mode>(&mut self, now: Time, slot: u32, wait: SyncWait) {
        let sync = *self.syncs.cells.get(slot);
        if !self.books.is_on() || sync.wait == wait {
            return;
        }
        let owner = sync.what.header.owner;
        let waiter = Waiter {
            place: sync.place,
            owner,
            name: Some(sync.what.header),
        };
        match sync.wait {
            SyncWait::Nothing => {}
            SyncWait::Cache(device, since, by) => {
                self.charge_cache::<M>(now, sync.wait, owner);
                self.books.ledger_mut().wait_ends::<M>(now, owner);
                self.books
                    .lose(line(device, DEVICE), waiter, (by, DEVICE), (since, now));
            }
            SyncWait::Device(_) | SyncWait::Reserve => {
                let line = self.line_of_sync(sync.server, sync.wait);
                self.book::<M>(now, line);
                let cause = if sync.wait == SyncWait::Reserve {
                    RESERVE
                } else {
                    DEVICE
                };
                self.books.leave::<M>(now, (line, cause), waiter);
            }
        }
        let mut place = Joined::NONE;
        match wait {
            SyncWait::Nothing => {}
            SyncWait::Cache(..) => self.books.ledger_mut().wait_begins::<M>(now, owner),
            SyncWait::Device(_) | SyncWait::Reserve => {
                let line = self.line_of_sync(sync.server, wait);
                self.book::<M>(now, line);
                place = self.books.join::<M>(now, line, owner);
            }
        }
        let cell = self.syncs.cells.edit::<M>(slot);
        (cell.wait, cell.place) = (wait, place);
    }

    fn line_of_sync(&self, server: u32, wait: SyncWait) -> u32 {
        match wait {
            SyncWait::Device(device) | SyncWait::Cache(device, ..) => line(device, DEVICE),
            SyncWait::Reserve | SyncWait::Nothing => self.line_of((server, NIL), RESERVE),
        }
    }

    /// Charges the wait of `owner` for a cache to be written out.
    fn charge_cache<M: Mode>(&mut self, now: Time, wait: SyncWait, owner: Owner) {
        let SyncWait::Cache(device, since, by) = wait else {
            return;
        };
        let clock = self.devices.clock(device).filter(|_| self.charges_faults);
        let lost = clock.map_or(Time::ZERO, |clock| clock.lost(since, now));
        let (line, ledger) = (line(device, DEVICE), self.books.ledger_mut());
        ledger.charge_time::<M>(line, now, owner, lost, (0, LOST));
        ledger.charge_time::<M>(line, now, owner, now - since - lost, (by, DEVICE));
    }

    /// Synchronization `slot` waits until `device` has written its cache out.
    pub(super) fn waits_for_cache<M: Mode>(&mut self, now: Time, slot: u32, device: u32) {
        let by = self.queues.last_owner(device);
        self.set_sync_wait::<M>(now, slot, SyncWait::Cache(device, now, by));
    }

    /// Write `request`, which was acknowledged early, has advanced at its device: updates the synchronizations that wait for it.
    pub(crate) fn syncs_follow<M: Mode>(&mut self, now: Time, request: u32) {
        let server = self.requests.get(request).server;
        self.for_syncs(server, |servers, slot| {
            let sync = servers.syncs.cells.get(slot);
            if matches!(sync.phase, Phase::Writes(_)) && sync.oldest == request {
                servers.reconsider_sync::<M>(now, slot);
            }
        });
    }

    /// Block `piece`, which leaves, moves from `from` to `to`.
    pub(crate) fn block_moves<M: Mode>(&mut self, now: Time, piece: &Piece, from: Option<Block>, to: Option<Block>) {
        self.for_syncs(piece.server, |servers, slot| {
            let sync = servers.syncs.cells.get(slot);
            let Phase::Drain { end, .. } = sync.phase else { return };
            if sync.what.object != piece.object || piece.offset >= end || piece.number < sync.first {
                return;
            }
            let blocks = &mut servers.syncs.cells.edit::<M>(slot).blocks;
            if let Some(from) = from {
                *blocks.of(from) -= 1;
            }
            if let Some(to) = to {
                *blocks.of(to) += 1;
                blocks.device = piece.device;
            }
            servers.reconsider_sync::<M>(now, slot);
        });
    }

    /// Charges the open waits for caches at `now`, the end of the run.
    pub(crate) fn close_books_of_syncs(&mut self, now: Time) {
        for slot in self.syncs.cells.slots() {
            let sync = *self.syncs.cells.get(slot);
            self.charge_cache::<Plain>(now, sync.wait, sync.what.header.owner);
        }
    }
}

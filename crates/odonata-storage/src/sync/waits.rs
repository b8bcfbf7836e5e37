//! Whom synchronizations wait for, in the books of their server.
//!
//! | a synchronization waits for | while | charged to the owner of |
//! |---|---|---|
//! | [`DEVICE`] | the oldest acknowledged write of its file is in the device's queue, none of its pieces in service | as of requests |
//! | [`DEVICE`] | a device writes its volatile cache out | the access whose turn there came last |
//! | [`DEVICE`] | a block of its file that goes down is in the device's queue, and none in service | as of requests |
//! | [`RESERVE`] | no block of its file is on its way down, and one should be | the block that leaves the reserve next |
//!
//! In all other time its own data are served, or it waits for the lower tier, whose books have that. Of several devices a block of the
//! file waits for, it is the one that came last. Blocks that were on their way down when it came count for nothing.

use odonata_blame::{Owner, Place as Joined};
use odonata_engine::{Mode, NIL, Plain};
use odonata_units::Time;

use super::Phase;
use crate::Servers;
use crate::blame::{DEVICE, LOST, RESERVE, Waiter, line};
use crate::extents::Place;
use crate::open_request::{OpenRequest, Piece};

/// What a synchronization waits for; only where waits are booked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(super) enum SyncWait {
    /// Nothing that its server has and others use.
    Nothing,
    /// A device that serves somebody else.
    Device(u32),
    /// A device that writes its cache out, since then, and who had it last.
    Cache(u32, Time, Owner),
    /// A block of the reserve.
    Reserve,
}

/// Where a block is that goes down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Block {
    /// In the device's queue, or handed to it.
    Queued,
    /// Served by it.
    Served,
    /// On its way.
    LowerTier,
}

/// How many blocks of its file that leave behind it are where.
#[derive(Clone, Copy, Debug, Default, serde::Serialize, serde::Deserialize)]
pub(super) struct Blocks {
    queued: u32,
    served: u32,
    lower_tier: u32,
    /// The device that the last of them waits for.
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
    /// What synchronization `slot` waits for now.
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

    /// Finds out anew what synchronization `slot` waits for.
    pub(super) fn reconsider_sync<M: Mode>(&mut self, now: Time, slot: u32) {
        if self.books.is_on() {
            let wait = self.sync_waits_for(slot);
            self.set_sync_wait::<M>(now, slot, wait);
        }
    }

    /// The same of all at `server`.
    pub(crate) fn reconsider_syncs<M: Mode>(&mut self, now: Time, server: u32) {
        self.for_syncs(server, |servers, slot| servers.reconsider_sync::<M>(now, slot));
    }

    /// Does something for each synchronization under way at `server`, where waits are booked.
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

    /// Charges what `owner` has waited for a cache to be written out.
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

    /// Write `request`, which was acknowledged early, has gone on at its device: who follows it?
    pub(crate) fn syncs_follow<M: Mode>(&mut self, now: Time, request: u32) {
        let server = self.requests.get(request).server;
        self.for_syncs(server, |servers, slot| {
            let sync = servers.syncs.cells.get(slot);
            if matches!(sync.phase, Phase::Writes(_)) && sync.oldest == request {
                servers.reconsider_sync::<M>(now, slot);
            }
        });
    }

    /// `piece`, a block that goes down, is no longer at `from`, but at `to`.
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

    /// Ends the books of waits for caches at `now`, when a run ends in their middle.
    pub(crate) fn close_books_of_syncs(&mut self, now: Time) {
        for slot in self.syncs.cells.slots() {
            let sync = *self.syncs.cells.get(slot);
            self.charge_cache::<Plain>(now, sync.wait, sync.what.header.owner);
        }
    }
}

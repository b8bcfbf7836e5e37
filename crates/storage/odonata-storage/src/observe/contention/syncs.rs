//! Waits of synchronizations, in the ledger of their server.
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
use odonata_engine::{Mode, NIL, Time};

use super::{Contention, DEVICE, LOST, RESERVE, Waiter, line, line_of};
use crate::index::Place;
use crate::observe::BlockStep;
use crate::open_request::{OpenRequest, Piece};
use crate::servers::ServerParts;
use crate::sync::Phase;

/// The resource that a synchronization waits for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
enum SyncWait {
    /// No shared resource of its server.
    #[default]
    Nothing,
    /// A device that serves another request.
    Device(u32),
    /// A device that writes its cache out: the device, the start, and the owner of its last access.
    Cache(u32, Time, Owner),
    /// A block of the reserve.
    Reserve,
}

/// The number of blocks of the file in each place, from the first block that counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
struct Blocks {
    queued: u32,
    served: u32,
    lower_tier: u32,
    /// The device of the block that moved last.
    device: u32,
}

impl Blocks {
    fn of(&mut self, step: BlockStep) -> &mut u32 {
        match step {
            BlockStep::Queued => &mut self.queued,
            BlockStep::Served => &mut self.served,
            BlockStep::LowerTier => &mut self.lower_tier,
        }
    }
}

/// What is known of a synchronization.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(super) struct SyncState {
    /// The number of the first block that left after the synchronization began to wait for blocks, and the counts of blocks from
    /// that number on.
    first: u64,
    blocks: Blocks,
    wait: SyncWait,
    /// Its position in the history of the line.
    place: Option<Joined>,
}

impl SyncState {
    /// It begins to wait for blocks; that with number `first` is the next to leave.
    pub(super) fn begins_to_drain(&mut self, first: u64) {
        self.first = first;
    }
}

impl Contention {
    /// The resource that synchronization `slot` waits for now.
    fn sync_waits_for(&self, parts: &ServerParts, slot: u32) -> SyncWait {
        let (sync, state) = (parts.syncs.get(slot), self.syncs.get(slot as usize));
        match sync.phase {
            Phase::Writes(_) => {
                let Some(oldest) = parts.syncs.oldest_write(slot, &parts.requests) else {
                    return SyncWait::Nothing;
                };
                let OpenRequest {
                    device,
                    at_device,
                    in_service,
                    dead,
                    ..
                } = *parts.requests.get(oldest);
                match !dead && at_device > 0 && in_service == 0 {
                    true => SyncWait::Device(device),
                    false => SyncWait::Nothing,
                }
            }
            Phase::Passed => state.wait,
            Phase::Drain { from, end } => {
                let Blocks {
                    queued,
                    served,
                    lower_tier,
                    device,
                } = state.blocks;
                let stays = || {
                    let first = parts.index.first(sync.server, sync.what.object, from..end);
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
    pub(super) fn reconsider_sync<M: Mode>(&mut self, parts: &ServerParts, now: Time, slot: u32) {
        let wait = self.sync_waits_for(parts, slot);
        self.set_sync_wait::<M>(parts, now, slot, wait);
    }

    /// Updates the resources that the synchronizations of `server` wait for.
    pub(super) fn reconsider_syncs<M: Mode>(&mut self, parts: &ServerParts, now: Time, server: u32) {
        for slot in parts.syncs.open(server) {
            self.reconsider_sync::<M>(parts, now, slot);
        }
    }

    /// Synchronization `slot` waits for no shared resource.
    pub(super) fn sync_waits_for_nothing<M: Mode>(&mut self, parts: &ServerParts, now: Time, slot: u32) {
        self.set_sync_wait::<M>(parts, now, slot, SyncWait::Nothing);
    }

    /// Synchronization `slot` waits until `device` has written its cache out.
    pub(super) fn sync_awaits_cache<M: Mode>(&mut self, parts: &ServerParts, now: Time, slot: u32, device: u32) {
        let by = parts.queues.last_owner(device);
        self.set_sync_wait::<M>(parts, now, slot, SyncWait::Cache(device, now, by));
    }

    /// Synchronization `slot` waits for `wait` from now on.
    fn set_sync_wait<M: Mode>(&mut self, parts: &ServerParts, now: Time, slot: u32, wait: SyncWait) {
        let (sync, state) = (parts.syncs.get(slot), self.syncs.get(slot as usize));
        if state.wait == wait {
            return;
        }
        let (server, owner) = (sync.server, sync.what.header.owner);
        let waiter = Waiter {
            place: state.place.unwrap_or(Joined::NONE),
            owner,
            name: Some(sync.what.header),
        };
        match state.wait {
            SyncWait::Nothing => {}
            SyncWait::Cache(device, since, by) => {
                self.charge_cache::<M>(parts, now, state.wait, owner);
                self.ledger.wait_ends::<M>(now, owner);
                self.lose(line(device, DEVICE), waiter, (by, DEVICE), (since, now));
            }
            SyncWait::Device(_) | SyncWait::Reserve => {
                let line = line_of_wait(parts, server, state.wait);
                self.charge_until::<M>(parts, now, line);
                let cause = match state.wait {
                    SyncWait::Reserve => RESERVE,
                    _ => DEVICE,
                };
                self.leave::<M>(now, (line, cause), waiter);
            }
        }
        let mut place = None;
        match wait {
            SyncWait::Nothing => {}
            SyncWait::Cache(..) => self.ledger.wait_begins::<M>(now, owner),
            SyncWait::Device(_) | SyncWait::Reserve => {
                let line = line_of_wait(parts, server, wait);
                self.charge_until::<M>(parts, now, line);
                place = Some(self.join::<M>(now, line, owner)).filter(|place| place.is_taken());
            }
        }
        let state = self.syncs.edit::<M>(slot as usize);
        (state.wait, state.place) = (wait, place);
    }

    /// Charges the wait of `owner` for a cache to be written out.
    fn charge_cache<M: Mode>(&mut self, parts: &ServerParts, now: Time, wait: SyncWait, owner: Owner) {
        let SyncWait::Cache(device, since, by) = wait else {
            return;
        };
        let clock = parts.devices.clock(device).filter(|_| self.charges_faults);
        let lost = clock.map_or(Time::ZERO, |clock| clock.lost(since, now));
        let line = line(device, DEVICE);
        self.ledger.charge_time::<M>(line, now, owner, lost, (0, LOST));
        self.ledger
            .charge_time::<M>(line, now, owner, now - since - lost, (by, DEVICE));
    }

    /// Write `request`, which was acknowledged early, has advanced at its device: updates the synchronizations that wait for it.
    pub(super) fn syncs_follow<M: Mode>(&mut self, parts: &ServerParts, now: Time, request: u32) {
        let server = parts.requests.get(request).server;
        for slot in parts.syncs.open(server) {
            let waits = matches!(parts.syncs.get(slot).phase, Phase::Writes(_));
            if waits && parts.syncs.oldest_write(slot, &parts.requests) == Some(request) {
                self.reconsider_sync::<M>(parts, now, slot);
            }
        }
    }

    /// Block `piece`, which leaves, has moved.
    pub(super) fn block_of_syncs_moves<M: Mode>(
        &mut self,
        parts: &ServerParts,
        now: Time,
        piece: &Piece,
        (from, to): (Option<BlockStep>, Option<BlockStep>),
    ) {
        for slot in parts.syncs.open(piece.server) {
            let sync = parts.syncs.get(slot);
            let Phase::Drain { end, .. } = sync.phase else { continue };
            let first = self.syncs.get(slot as usize).first;
            if sync.what.object != piece.object || piece.offset >= end || piece.number < first {
                continue;
            }
            let blocks = &mut self.syncs.edit::<M>(slot as usize).blocks;
            if let Some(from) = from {
                *blocks.of(from) -= 1;
            }
            if let Some(to) = to {
                *blocks.of(to) += 1;
                blocks.device = piece.device;
            }
            self.reconsider_sync::<M>(parts, now, slot);
        }
    }

    /// Charges the open waits for caches at `now`, the end of the run.
    pub(super) fn close_caches<M: Mode>(&mut self, parts: &ServerParts, now: Time) {
        for slot in parts.syncs.slots() {
            let owner = parts.syncs.get(slot).what.header.owner;
            let wait = self.syncs.get(slot as usize).wait;
            self.charge_cache::<M>(parts, now, wait, owner);
        }
    }
}

/// The line of a wait for a device or for the reserve of `server`.
fn line_of_wait(parts: &ServerParts, server: u32, wait: SyncWait) -> u32 {
    match wait {
        SyncWait::Device(device) | SyncWait::Cache(device, ..) => line(device, DEVICE),
        SyncWait::Reserve | SyncWait::Nothing => line_of(parts, (server, NIL), RESERVE),
    }
}

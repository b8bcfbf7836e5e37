//! Servers that fail: from the time of its failure, a server answers nothing, for good or until it returns empty.
//!
//! | state of a server at its failure | effect |
//! |---|---|
//! | requests, and what arrives for them later | no answer; the clients retry (`storage.client`) |
//! | bytes on a device alone, of acknowledged writes | lost |
//! | bytes in memory, of acknowledged writes | lost |
//! | bytes of writes that were not acknowledged | dropped: their clients write them again |
//! | blocks on their way to the lower tier | arrive: they have left |
//! | copies of bytes that the lower tier has | the bytes stay in the lower tier |
//! | accesses handed to a device | end without effect |
//!
//! **When.** Faults are known in advance, so that a failure needs no event: every input of a server first calls
//! [`is_up`](Servers::is_up), which applies the failures that are due, as of their own times. No input has reached the server
//! between such a time and the call.
//!
//! **In flight.** Pieces, requests and synchronizations that a later input will still name (a message, an access of a device)
//! become *dead*: their slots are freed after that input. A pull that was sent is answered in any case.
//!
//! **Conservation.** All committed bytes of a job are stored, overwritten, lost or dropped ([`Servers::audit`]).

use std::collections::BTreeSet;

use odonata_engine::{List, Mode, NIL, Store, journalled};
use odonata_units::Time;

use crate::contents::{count, range_of};
use crate::extents::Place;
use crate::open_request::{OpenRequest, Piece, PieceKind, Wait};
use crate::settings::LostReads;
use crate::{Actions, Outage, Servers, StorageRequest};

/// The cost of a server's failures to a job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Losses {
    /// Bytes of acknowledged writes that were on its devices alone.
    pub on_devices: u64,
    /// Bytes of acknowledged writes that were in its memory alone.
    pub in_memory: u64,
    /// Bytes that had come to a device for writes that were not acknowledged.
    pub dropped: u64,
    /// Requests that arrived while the server was away.
    pub unheard: u64,
    /// Bytes of reads that were lost or belonged to a server that was away, and were read as never written or reported to the
    /// reader.
    pub reads: u64,
}

/// What a read asks for of lost bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    /// No lost bytes, or lost bytes that are read as never written.
    Nothing,
    /// Lost bytes, which the answer reports.
    Told,
    /// Lost bytes, which are an error.
    Refused,
}

impl Losses {
    /// Bytes of acknowledged writes that had no other copy.
    pub fn lost(&self) -> u64 {
        self.on_devices + self.in_memory
    }

    /// Adds the losses of other servers.
    pub fn absorb(&mut self, other: &Losses) {
        self.on_devices += other.on_devices;
        self.in_memory += other.in_memory;
        self.dropped += other.dropped;
        self.unheard += other.unheard;
        self.reads += other.reads;
    }
}

/// The failures of servers and their cost; empty without failures.
#[derive(Debug)]
pub(crate) struct Failures {
    /// Per server, in order.
    outages: Vec<Vec<Outage>>,
    /// How many of them have begun, per server.
    begun: Store<u32>,
    jobs: usize,
    /// Per server and job.
    losses: Store<Losses>,
    lost_reads: LostReads,
}
journalled!(Failures { begun, losses });

impl Failures {
    pub(crate) fn none() -> Failures {
        Failures {
            outages: Vec::new(),
            begun: Store::new(),
            jobs: 0,
            losses: Store::new(),
            lost_reads: LostReads::default(),
        }
    }

    /// The next failure of `server` that has not begun.
    fn next(&self, server: u32) -> Option<Outage> {
        let outages = &self.outages[server as usize];
        outages.get(*self.begun.get(server) as usize).copied()
    }

    fn edit<M: Mode>(&mut self, server: u32, owner: u16) -> &mut Losses {
        // Speculation can reach impossible states: a job beyond the last counts as the last.
        let owner = usize::from(owner).min(self.jobs - 1);
        self.losses.edit::<M>((server as usize * self.jobs + owner) as u32)
    }
}

impl Servers {
    /// Adds failures for `jobs` jobs, at least one: `of` returns the times when a server is away, and `lost_reads` says what a read
    /// of lost bytes is.
    pub fn with_failures(mut self, of: impl Fn(u32) -> Vec<Outage>, jobs: usize, lost_reads: LostReads) -> Self {
        let outages: Vec<_> = (0..self.len()).map(of).collect();
        self.failures = Failures {
            begun: Store::filled(outages.len(), 0),
            losses: Store::filled(outages.len() * jobs.max(1), Losses::default()),
            outages,
            jobs: jobs.max(1),
            lost_reads,
        };
        self
    }

    /// The cost of failures: server, job, losses, where there are some.
    pub fn losses(&self) -> impl Iterator<Item = (u32, u16, Losses)> + '_ {
        let jobs = self.failures.jobs.max(1);
        let cells = self.failures.losses.iter().enumerate();
        let named = cells.map(move |(cell, &losses)| ((cell / jobs) as u32, (cell % jobs) as u16, losses));
        named.filter(|(_, _, losses)| *losses != Losses::default())
    }

    /// Applies the failures of servers until `now`, the end of the run.
    pub fn fail_until(&mut self, now: Time) {
        for server in 0..self.len() {
            self.is_up::<odonata_engine::Plain>(now, server);
        }
        self.fail_devices_until(now);
    }

    /// Whether `server` is up. Applies its failures until `now`.
    pub(crate) fn is_up<M: Mode>(&mut self, now: Time, server: u32) -> bool {
        if self.failures.begun.is_empty() {
            return true;
        }
        while let Some(outage) = self.failures.next(server).filter(|outage| outage.from <= now) {
            *self.failures.begun.edit::<M>(server) += 1;
            self.fail::<M>(outage.from, server);
        }
        let last = self.failures.begun.get(server).checked_sub(1);
        last.is_none_or(|last| self.failures.outages[server as usize][last as usize].until <= now)
    }

    /// Whether `server` receives a request of `owner`. Counts the requests that it does not receive.
    pub fn hears<M: Mode>(&mut self, now: Time, server: u32, owner: u16) -> bool {
        let up = self.is_up::<M>(now, server);
        self.notice_devices::<M>(now, server);
        let up = up && !self.has_no_device(now, server);
        if !up {
            self.failures.edit::<M>(server, owner).unheard += 1;
        }
        up
    }

    /// Whether the server or the device of piece `slot` has failed since the piece was made.
    pub(crate) fn is_dead<M: Mode>(&mut self, now: Time, slot: u32) -> bool {
        self.is_up::<M>(now, self.pieces.get(slot).server);
        self.pieces.get(slot).dead
    }

    /// An input has named dead piece `slot`: frees the piece if no other input will, and its request with its last piece.
    pub(crate) fn bury<M: Mode>(&mut self, now: Time, slot: u32, actions: &mut Actions) {
        let Piece {
            request,
            bytes,
            missing,
            server,
            owner,
            has_block,
            ..
        } = *self.pieces.get(slot);
        if missing > 1 {
            self.pieces.edit::<M>(slot).missing = missing - 1;
            return;
        }
        self.pieces.free::<M>(slot);
        if request != NIL {
            let cell = self.requests.edit::<M>(request);
            cell.done += bytes;
            if cell.done == cell.issued {
                self.requests.free::<M>(request);
            }
        }
        if has_block {
            self.release_memory::<M>(now, server, owner, actions);
        }
        if request == NIL {
            self.removals_go_on::<M>(server, actions);
        }
    }

    /// `server` fails at `at`.
    fn fail<M: Mode>(&mut self, at: Time, server: u32) {
        self.settle_failure::<M>(at, server);
        let queued = self.empty_queues::<M>(server);
        // Unacknowledged writes with space: their clients write them again.
        let mut unanswered = Vec::new();
        for slot in self.requests.slots() {
            let OpenRequest {
                what,
                server: own,
                device,
                issued,
                answered,
                dead,
                removed,
                ..
            } = *self.requests.get(slot);
            if own != server || dead {
                continue;
            }
            self.set_wait::<M>(at, slot, Wait::Nothing);
            if issued == 0 {
                self.requests.free::<M>(slot);
                continue;
            }
            self.requests.edit::<M>(slot).dead = true;
            if what.operation.is_write() && !answered && !removed && !self.passes_by(server) {
                unanswered.push((what, device));
            }
        }
        self.end_removals::<M>(server);
        for slot in self.pieces.slots() {
            let piece = *self.pieces.get(slot);
            if piece.server != server {
                continue;
            }
            // A server returns with new memory.
            self.pieces.edit::<M>(slot).has_block = false;
            if !piece.dead {
                self.pieces.edit::<M>(slot).dead = true;
                self.piece_dies::<M>(slot);
                if queued.contains(&slot) {
                    self.bury::<M>(at, slot, &mut Actions::new());
                }
            }
        }
        for (what, device) in unanswered {
            self.drop_unanswered::<M>(server, &what, device);
        }
        self.lose_contents::<M>(server, None);
        self.end_syncs::<M>(at, server);
        self.note_occupancy::<M>(at, server);
    }

    /// Empties all lists of `server`. Returns the pieces that only those lists named.
    fn empty_queues<M: Mode>(&mut self, server: u32) -> BTreeSet<u32> {
        let mut queued: BTreeSet<u32> = self.memories.waiting(server).iter(&self.pieces).collect();
        self.memories.clear::<M>(server);
        for device in self.devices.of(server) {
            queued.extend(self.queues.waiting(device).iter(&self.pieces));
            self.queues.clear::<M>(device);
            self.spaces.edit::<M>(device).reservations = List::EMPTY;
            self.forget_clean_ranges::<M>(device);
        }
        queued.extend(self.forget_coming::<M>(server));
        let drain = self.drains.edit::<M>(server);
        queued.extend(Some(drain.fetching).filter(|_| drain.fetched));
        (drain.fetching, drain.fetched) = (NIL, false);
        if self.lower_tiers.reserves.len() > server as usize {
            let reserve = self.lower_tiers.reserves.edit::<M>(server);
            (reserve.fetching, reserve.filling) = (0, 0);
        }
        queued
    }

    /// Piece `slot` is dead: its data are lost, or already where they were going.
    pub(crate) fn piece_dies<M: Mode>(&mut self, slot: u32) {
        let piece = *self.pieces.get(slot);
        if piece.request == NIL {
            if piece.kind == PieceKind::Drain && !piece.down {
                // The block has not left: it is lost with the other data of the device.
                self.stays::<M>(&piece);
            }
        } else {
            let OpenRequest { what, answered, .. } = *self.requests.get(piece.request);
            let is_in_lower_tier = piece.missing == 1 && !piece.down;
            if is_in_lower_tier {
                self.store_around::<M>(&piece);
            } else if what.operation.is_write() && answered && !piece.down && piece.removed {
                self.removed_on_arrival::<M>(&piece);
            } else if what.operation.is_write() && answered && !piece.down {
                // It was never on a device, but its write was acknowledged.
                count::<M>(&mut self.contents.committed, piece.owner, piece.bytes);
                self.failures.edit::<M>(piece.server, piece.owner).in_memory += piece.bytes;
            }
        }
    }

    /// Removes the bytes of `what`, an unacknowledged write, that have come to `device`.
    pub(crate) fn drop_unanswered<M: Mode>(&mut self, server: u32, what: &StorageRequest, device: u32) {
        let own = (device - self.devices.of(server).start) as u8;
        let found = self.contents.extents.find(server, what.object, range_of(what));
        let dropped: Vec<_> = found.filter(|extent| extent.place == Place::Device(own)).collect();
        for extent in dropped {
            self.forget::<M>(server, what.object, extent.start..extent.end);
            self.failures.edit::<M>(server, extent.owner).dropped += extent.bytes();
        }
    }

    /// The contents of all devices of `server` are lost, or those of device `only`.
    pub(crate) fn lose_contents<M: Mode>(&mut self, server: u32, only: Option<u32>) {
        let gone = |place: Place| only.is_none_or(|only| place.device().map(u32::from) == Some(only));
        let all: Vec<_> = self.contents(server).filter(|(_, extent)| gone(extent.place)).collect();
        for (object, extent) in all {
            let range = extent.start..extent.end;
            match extent.place {
                Place::Reserved(_) | Place::Memory(_) => self.forget::<M>(server, object, range),
                Place::Device(_) => {
                    self.shift::<M>(server, object, range, extent.owner, Place::Lost);
                    self.failures.edit::<M>(server, extent.owner).on_devices += extent.bytes();
                }
                Place::Clean(_) | Place::Used(_) | Place::Filling(_) => {
                    self.shift::<M>(server, object, range, extent.owner, Place::LowerTier);
                }
                Place::Leaving(_) | Place::LowerTier | Place::Lost => {}
            }
        }
    }

    /// What `what` asks `server` for of lost bytes; nothing if it is a write. Counts the lost bytes that are read.
    pub(crate) fn asks_for_lost<M: Mode>(&mut self, server: u32, what: &StorageRequest) -> Asked {
        if what.operation.is_write() || self.failures.jobs == 0 || !self.is_indexed(server) {
            return Asked::Nothing;
        }
        let (mut known, mut lost) = (0, 0);
        for extent in self.contents.extents.find(server, what.object, range_of(what)) {
            let sum = if extent.place == Place::Lost {
                &mut lost
            } else {
                &mut known
            };
            *sum += extent.bytes();
        }
        if what.operation.is_rerouted() {
            // The contents of the other server are unknown here. The lower tier knows what it has of them, and tells a reader that
            // tolerates loss.
            lost = match what.operation.tolerates_loss() && self.params[server as usize].next.is_some() {
                true => lost,
                false => what.bytes - known,
            };
        }
        if lost == 0 {
            return Asked::Nothing;
        }
        if !what.operation.tolerates_loss() && self.failures.lost_reads == LostReads::Error {
            return Asked::Refused;
        }
        self.failures.edit::<M>(server, what.header.owner).reads += lost;
        if what.operation.tolerates_loss() {
            Asked::Told
        } else {
            Asked::Nothing
        }
    }
}

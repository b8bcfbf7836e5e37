//! The contents of servers that keep an index (`storage.manager.extents`).
//!
//! | a range is | from | space on its device |
//! |---|---|---|
//! | reserved | the reservation of a write | taken |
//! | in memory | the arrival of its piece | taken |
//! | on the device | the end of its access, the *commit* | taken |
//! | leaving | the drain has chosen it | taken |
//! | clean | the lower tier has it, and its copy stays (`lower_tier.rs`) | taken until evicted |
//! | filling | it was read from the lower tier, and its copy is being written | taken |
//! | in the lower tier | the drain has moved it | free |
//! | lost | its server has failed (`failure.rs`) | free |
//!
//! Removed ranges (`remove.rs`) leave the index.
//!
//! A write to a range that has space on the same device takes no new space; on another device, it frees the old space. Of two
//! concurrent writes to one range, the last to reserve decides the device, and the last to commit decides the owner.
//!
//! **Conservation.** All bytes that a job has committed are in its extents, overwritten, removed, or lost with a failed server.
//! [`Servers::audit`] compares the sums to the byte. It also compares the space in use with the extents that take it.

use std::ops::Range;

use odonata_engine::{Mode, Store, journalled};

use crate::extents::{Extent, Extents, Place};
use crate::server::Space;
use crate::settings::Unwritten;
use crate::{Servers, StorageRequest};

/// The index, and the sums that it must match.
#[derive(Debug)]
pub(crate) struct Contents {
    pub(crate) extents: Extents,
    /// Bytes of each job that came to a device, and the overwritten bytes among them.
    pub(crate) committed: Store<u64>,
    pub(crate) overwritten: Store<u64>,
}
journalled!(Contents {
    extents,
    committed,
    overwritten
});

impl Contents {
    pub(crate) fn new(servers: usize, jobs: usize) -> Self {
        Contents {
            extents: Extents::new(servers),
            committed: Store::filled(jobs, 0),
            overwritten: Store::filled(jobs, 0),
        }
    }
}

/// Adds bytes to the count of a job, where jobs are counted.
pub(crate) fn count<M: Mode>(counts: &mut Store<u64>, owner: u16, bytes: u64) {
    if usize::from(owner) < counts.len() {
        *counts.edit::<M>(u32::from(owner)) += bytes;
    }
}

/// Takes the space of an extent. `first`: the first device of its server.
fn take<M: Mode>(spaces: &mut Store<Space>, first: u32, place: Place, bytes: u64) {
    let Some(device) = place.device() else { return };
    let space = spaces.edit::<M>(first + u32::from(device));
    space.used += bytes;
    match place {
        Place::Device(_) => space.dirty += bytes,
        Place::Leaving(_) => space.leaving += bytes,
        Place::Clean(_) | Place::Used(_) => space.clean += bytes,
        Place::Reserved(_) | Place::Memory(_) | Place::Filling(_) | Place::LowerTier | Place::Lost => {}
    }
}

/// Gives the space of an extent back.
fn release<M: Mode>(spaces: &mut Store<Space>, first: u32, old: Extent) {
    let Some(device) = old.place.device() else { return };
    let (space, bytes) = (spaces.edit::<M>(first + u32::from(device)), old.bytes());
    space.used -= bytes;
    match old.place {
        Place::Device(_) => space.dirty -= bytes,
        Place::Leaving(_) => space.leaving -= bytes,
        Place::Clean(_) | Place::Used(_) => space.clean -= bytes,
        Place::Reserved(_) | Place::Memory(_) | Place::Filling(_) | Place::LowerTier | Place::Lost => {}
    }
}

/// The range of the object that a request covers.
pub(crate) fn range_of(what: &StorageRequest) -> Range<u64> {
    what.offset..what.offset.saturating_add(what.bytes)
}

impl Servers {
    /// Whether `server` keeps an index.
    pub(crate) fn is_indexed(&self, server: u32) -> bool {
        self.params[server as usize].manager.extents
    }

    /// Space that a write to `device` needs beyond the space that its range has there.
    pub(crate) fn needs(&self, device: u32, what: &StorageRequest) -> u64 {
        let server = self.devices.server_of(device);
        if !self.is_indexed(server) {
            return what.bytes;
        }
        let own = (device - self.devices.of(server).start) as u8;
        let found = self.contents.extents.find(server, what.object, range_of(what));
        let there = found.filter(|extent| extent.place.device() == Some(own));
        what.bytes - there.map(|extent| extent.bytes()).sum::<u64>()
    }

    /// A write gets its space on `device`.
    pub(crate) fn claim<M: Mode>(&mut self, device: u32, what: &StorageRequest) {
        let server = self.devices.server_of(device);
        if !self.is_indexed(server) {
            self.spaces.edit::<M>(device).used += what.bytes;
            return;
        }
        let own = (device - self.devices.of(server).start) as u8;
        self.put::<M>(
            server,
            what.object,
            (range_of(what), what.header.owner, Place::Reserved(own)),
        );
    }

    /// Puts a range into a place and replaces what was there.
    pub(crate) fn put<M: Mode>(&mut self, server: u32, object: u64, (range, owner, place): (Range<u64>, u16, Place)) {
        let first = self.devices.of(server).start;
        let Contents {
            extents, overwritten, ..
        } = &mut self.contents;
        let spaces = &mut self.spaces;
        take::<M>(spaces, first, place, range.end - range.start);
        extents.put::<M>(server, object, (range, owner, place), |old| {
            release::<M>(spaces, first, old);
            if old.place.is_committed() {
                count::<M>(overwritten, old.owner, old.bytes());
            }
        });
    }

    /// Removes a range from the index.
    pub(crate) fn forget<M: Mode>(&mut self, server: u32, object: u64, range: Range<u64>) {
        let first = self.devices.of(server).start;
        let spaces = &mut self.spaces;
        let extents = &mut self.contents.extents;
        extents.remove::<M>(server, object, range, |old| release::<M>(spaces, first, old));
    }

    /// Moves the parts of a range that `which` selects to their next place. Returns their bytes.
    pub(crate) fn move_on<M: Mode>(
        &mut self,
        server: u32,
        object: u64,
        range: Range<u64>,
        which: impl Fn(Place) -> bool,
        to: impl Fn(&Extent) -> (u16, Place),
    ) -> u64 {
        let (mut at, mut moved) = (range.start, 0);
        while let Some(extent) = self.contents.extents.first(server, object, at..range.end) {
            at = extent.end;
            if which(extent.place) {
                let (owner, place) = to(&extent);
                moved += extent.bytes();
                self.put::<M>(server, object, (extent.start..extent.end, owner, place));
            }
        }
        moved
    }

    /// A piece of a write is in memory.
    pub(crate) fn store_in_memory<M: Mode>(&mut self, slot: u32) {
        let piece = *self.pieces.get(slot);
        if !self.is_indexed(piece.server) || piece.removed {
            return;
        }
        let own = (piece.device - self.devices.of(piece.server).start) as u8;
        let here = |place: Place| place.device() == Some(own);
        let to = |_: &Extent| (piece.owner, Place::Memory(own));
        self.move_on::<M>(piece.server, piece.object, piece.range(), here, to);
    }

    /// A piece of a write is on its device.
    pub(crate) fn store_on_device<M: Mode>(&mut self, slot: u32) {
        let piece = *self.pieces.get(slot);
        if !self.is_indexed(piece.server) {
            self.spaces.edit::<M>(piece.device).dirty += piece.bytes;
            self.books.wrote::<M>(piece.device, piece.owner, piece.bytes);
            return;
        }
        if piece.removed {
            self.removed_on_arrival::<M>(&piece);
            return;
        }
        let own = (piece.device - self.devices.of(piece.server).start) as u8;
        let here = |place: Place| place.device() == Some(own);
        let to = |_: &Extent| (piece.owner, Place::Device(own));
        let moved = self.move_on::<M>(piece.server, piece.object, piece.range(), here, to);
        self.count_received::<M>(&piece);
        self.note_ended::<M>(piece.server, piece.owner);
        count::<M>(&mut self.contents.committed, piece.owner, piece.bytes);
        // Another write has put the rest in another place meanwhile.
        count::<M>(&mut self.contents.overwritten, piece.owner, piece.bytes - moved);
    }

    /// Takes a block of at most `most` bytes for the drain, from data that are on `device` alone, of the jobs that `which` selects:
    /// owner, object, offset, length. `None`: there are none.
    pub(crate) fn choose_to_leave<M: Mode>(
        &mut self,
        device: u32,
        most: u64,
        which: impl Fn(u16) -> bool,
    ) -> Option<(u16, u64, u64, u64)> {
        let server = self.devices.server_of(device);
        let own = (device - self.devices.of(server).start) as u8;
        // The elevator algorithm: continues from the last position, then from the beginning.
        let Space { object, offset, .. } = *self.spaces.get(device);
        let (mut key, mut rounds) = ((object, offset), 0);
        let (object, extent) = loop {
            match self.contents.extents.following(server, key) {
                Some((object, extent)) if extent.place == Place::Device(own) && which(extent.owner) => {
                    break (object, extent);
                }
                Some((object, extent)) => key = (object, extent.end),
                None => {
                    rounds += 1;
                    if rounds == 2 {
                        return None;
                    }
                    key = (0, 0);
                }
            }
        };
        let end = extent.start + most.min(extent.bytes());
        let range = extent.start..end;
        let cell = self.spaces.edit::<M>(device);
        (cell.object, cell.offset) = (object, end);
        self.shift::<M>(server, object, range.clone(), extent.owner, Place::Leaving(own));
        Some((extent.owner, object, extent.start, end - extent.start))
    }

    /// Moves a committed range to another place; its owner stays.
    pub(crate) fn shift<M: Mode>(&mut self, server: u32, object: u64, range: Range<u64>, owner: u16, place: Place) {
        let first = self.devices.of(server).start;
        let spaces = &mut self.spaces;
        take::<M>(spaces, first, place, range.end - range.start);
        let extents = &mut self.contents.extents;
        extents.put::<M>(server, object, (range, owner, place), |old| {
            release::<M>(spaces, first, old)
        });
    }

    /// A block of the drain is safe in the lower tier.
    pub(crate) fn store_in_lower_tier<M: Mode>(&mut self, slot: u32) {
        let piece = *self.pieces.get(slot);
        if !self.is_indexed(piece.server) {
            let space = self.spaces.edit::<M>(piece.device);
            space.used -= piece.bytes;
            space.leaving -= piece.bytes;
            return;
        }
        let keep = self.params[piece.server as usize]
            .next
            .is_some_and(|policy| policy.keep);
        self.left::<M>(&piece, keep && !piece.dead);
    }

    /// The device that serves a read: the one with most of the range, else the one that the rules name. `None`: the range must be
    /// written, and part of it is not.
    pub(crate) fn device_of_read(&self, server: u32, what: &StorageRequest, by_rules: u32) -> Option<u32> {
        if !self.is_indexed(server) {
            return Some(by_rules);
        }
        let devices = self.devices.of(server);
        let (mut known, mut most) = (0, (0, by_rules));
        let mut there = [0_u64; crate::settings::MOST_DEVICES];
        for extent in self.contents.extents.find(server, what.object, range_of(what)) {
            known += extent.bytes();
            if let Some(device) = extent.place.device() {
                let sum = &mut there[usize::from(device)];
                *sum += extent.bytes();
                if *sum > most.0 {
                    most = (*sum, devices.start + u32::from(device));
                }
            }
        }
        let unwritten = self.params[server as usize].manager.unwritten;
        // Bytes that are lost, or on another server, may be read: `asks_for_lost` has checked them.
        (unwritten == Unwritten::ExistsBelow || known == what.bytes || what.operation.is_rerouted()).then_some(most.1)
    }

    /// Whether the memory of the server has all of a read piece.
    pub(crate) fn is_in_memory(&self, slot: u32) -> bool {
        let piece = self.pieces.get(slot);
        if !self.is_indexed(piece.server) {
            return false;
        }
        let found = self.contents.extents.find(piece.server, piece.object, piece.range());
        let in_memory = found.filter(|extent| matches!(extent.place, Place::Memory(_)));
        in_memory.map(|extent| extent.bytes()).sum::<u64>() == piece.bytes
    }

    /// The index of `server`: object, extent; empty without an index.
    pub fn contents(&self, server: u32) -> impl Iterator<Item = (u64, Extent)> + '_ {
        self.contents.extents.iter(server)
    }

    /// Checks that every byte is in one place and that all sums match.
    ///
    /// # Errors
    /// Names the sum that does not match.
    pub(crate) fn audit_contents(&self) -> Result<(), String> {
        let jobs = self.contents.committed.len();
        let mut stored = vec![0_u64; jobs];
        for server in (0..self.len()).filter(|&server| self.is_indexed(server)) {
            let devices = self.devices.of(server);
            let mut used = vec![0; devices.len()];
            for (object, extent) in self.contents(server).filter(|(_, extent)| extent.place != Place::Lost) {
                if !extent.place.is_committed() {
                    return Err(format!(
                        "storage server {server}: bytes {} to {} of object {object} were never written to a device",
                        extent.start, extent.end
                    ));
                }
                if let Some(device) = extent.place.device() {
                    used[usize::from(device)] += extent.bytes();
                }
                if let Some(sum) = stored.get_mut(usize::from(extent.owner)) {
                    *sum += extent.bytes();
                }
            }
            for (device, extents) in devices.zip(used) {
                let Space {
                    used,
                    dirty,
                    leaving,
                    clean,
                    ..
                } = *self.spaces.get(device);
                if used != extents || used != dirty + leaving + clean {
                    return Err(format!(
                        "storage server {server}: {used} B are in use, {extents} B are in extents, {dirty} B are on a \
                         device alone, {leaving} B leave it, {clean} B are below as well"
                    ));
                }
            }
        }
        let mut gone = vec![0_u64; jobs];
        for (_, job, losses) in self.losses() {
            if let Some(sum) = gone.get_mut(usize::from(job)) {
                *sum += losses.lost() + losses.dropped;
            }
        }
        let mut removed = vec![0_u64; jobs];
        for (_, job, bytes) in self.removed() {
            removed[usize::from(job)] += bytes;
        }
        for (job, (stored, gone)) in stored.into_iter().zip(gone).enumerate() {
            let committed = *self.contents.committed.get(job as u32);
            let overwritten = *self.contents.overwritten.get(job as u32);
            let removed = removed[job];
            if committed != stored + overwritten + gone + removed {
                return Err(format!(
                    "storage: job {job} has committed {committed} B, of which {stored} B are stored, {overwritten} B overwritten, \
                     {removed} B removed and {gone} B gone with servers that failed"
                ));
            }
        }
        Ok(())
    }
}

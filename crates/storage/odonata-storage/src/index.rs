//! The index of contents: the place and owner of every byte at servers that keep one (`storage.manager.extents`).
//!
//! | a range is | from | space on its device |
//! |---|---|---|
//! | reserved | the reservation of a write | taken |
//! | in memory | the arrival of its piece | taken |
//! | on the device | the end of its access, the *commit* | taken |
//! | leaving | the drain has chosen it | taken |
//! | clean | the lower tier has it, and its copy stays (`space/clean.rs`) | taken until evicted |
//! | filling | it was read from the lower tier, and its copy is being written | taken |
//! | in the lower tier | the drain has moved it | free |
//! | lost | its server has failed (`servers/failure.rs`) | free |
//!
//! Removed ranges (`remove.rs`) leave the index. Each change of a place is a change of a [`SpaceAccount`].
//!
//! A write to a range that has space on the same device takes no new space; on another device, it frees the old space. Of two
//! concurrent writes to one range, the last to reserve decides the device, and the last to commit decides the owner.
//!
//! **Conservation.** All bytes that a job has committed are in its extents, overwritten, removed, or lost with a failed server.
//! [`ContentIndex::audit`] compares the sums to the byte.

mod extents;

use std::ops::Range;

use odonata_engine::{GrowableStore, Mode, Store, journalled};

use crate::devices::Devices;
use crate::open_request::Piece;
use crate::{ServerParams, StorageRequest};
pub use extents::{Extent, Extents, Place};

/// The use of space on a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SpaceUse {
    /// By bytes that are not on the device yet.
    Reserved,
    /// By bytes that are on the device alone and not leaving.
    Dirty,
    /// By bytes that are leaving for the lower tier.
    Leaving,
    /// By copies of bytes that the lower tier has.
    Clean,
}

/// The account of space that the index keeps up to date.
pub(crate) trait SpaceAccount {
    /// `bytes` bytes take space of `device`.
    fn occupy<M: Mode>(&mut self, device: u32, by: SpaceUse, bytes: u64);
    /// `bytes` bytes give space of `device` back.
    fn vacate<M: Mode>(&mut self, device: u32, by: SpaceUse, bytes: u64);
}

/// A block of an object that leaves a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LeavingBlock {
    pub(crate) owner: u16,
    pub(crate) object: u64,
    pub(crate) offset: u64,
    pub(crate) bytes: u64,
}

/// A server, as the index knows it.
#[derive(Clone, Copy, Debug)]
struct IndexedServer {
    /// Whether it keeps an index.
    is_indexed: bool,
    first_device: u32,
    /// The device after its last.
    end: u32,
}

/// The index of a set of servers, and the sums that it must match.
#[derive(Debug)]
pub(crate) struct ContentIndex {
    servers: Vec<IndexedServer>,
    extents: Extents,
    /// Bytes of each job that came to a device, and the overwritten bytes among them.
    committed: Store<u64>,
    overwritten: Store<u64>,
    /// Bytes removed, per server and job.
    removed: GrowableStore<u64>,
}
journalled!(ContentIndex {
    extents,
    committed,
    overwritten,
    removed
});

/// Adds bytes to the count of a job, where jobs are counted.
fn count<M: Mode>(counts: &mut Store<u64>, owner: u16, bytes: u64) {
    if usize::from(owner) < counts.len() {
        *counts.edit::<M>(u32::from(owner)) += bytes;
    }
}

/// The use of space by bytes in `place`.
fn use_of(place: Place) -> SpaceUse {
    match place {
        Place::Device(_) => SpaceUse::Dirty,
        Place::Leaving(_) => SpaceUse::Leaving,
        Place::Clean(_) | Place::Used(_) => SpaceUse::Clean,
        Place::Reserved(_) | Place::Memory(_) | Place::Filling(_) | Place::LowerTier | Place::Lost => {
            SpaceUse::Reserved
        }
    }
}

/// Takes the space of bytes in `place`. `first`: the first device of their server.
fn occupy<M: Mode>(space: &mut impl SpaceAccount, first: u32, place: Place, bytes: u64) {
    if let Some(device) = place.device() {
        space.occupy::<M>(first + u32::from(device), use_of(place), bytes);
    }
}

/// Gives the space of an extent back.
fn vacate<M: Mode>(space: &mut impl SpaceAccount, first: u32, old: Extent) {
    if let Some(device) = old.place.device() {
        space.vacate::<M>(first + u32::from(device), use_of(old.place), old.bytes());
    }
}

/// The range of the object that a request covers.
pub(crate) fn range_of(what: &StorageRequest) -> Range<u64> {
    what.offset..what.offset.saturating_add(what.bytes)
}

impl ContentIndex {
    /// The empty index of `servers`, without counts of jobs.
    pub(crate) fn new(servers: &[ServerParams], devices: &Devices) -> Self {
        let indexed = (0..).zip(servers).map(|(server, params)| IndexedServer {
            is_indexed: params.manager.extents,
            first_device: devices.of(server).start,
            end: devices.of(server).end,
        });
        ContentIndex {
            servers: indexed.collect(),
            extents: Extents::new(servers.len()),
            committed: Store::new(),
            overwritten: Store::new(),
            removed: GrowableStore::new(),
        }
    }

    /// Counts the bytes of `jobs` jobs.
    pub(crate) fn count_jobs(&mut self, jobs: usize) {
        self.committed = Store::filled(jobs, 0);
        self.overwritten = Store::filled(jobs, 0);
    }

    /// Whether `server` keeps an index.
    #[inline]
    pub(crate) fn is_kept(&self, server: u32) -> bool {
        self.servers[server as usize].is_indexed
    }

    fn first_device(&self, server: u32) -> u32 {
        self.servers[server as usize].first_device
    }

    /// The device of `server` with this number there.
    pub(crate) fn device(&self, server: u32, own: u8) -> u32 {
        self.first_device(server) + u32::from(own)
    }

    /// The number of the piece's device within its server.
    fn own_number(&self, piece: &Piece) -> u8 {
        (piece.device - self.first_device(piece.server)) as u8
    }

    /// Bytes of `range` that have space on `device` of `server`.
    pub(crate) fn bytes_on(&self, (server, device): (u32, u32), object: u64, range: Range<u64>) -> u64 {
        let own = (device - self.first_device(server)) as u8;
        let found = self.extents.find(server, object, range);
        let there = found.filter(|extent| extent.place.device() == Some(own));
        there.map(|extent| extent.bytes()).sum()
    }

    /// A write gets its space on `device` of `server`.
    pub(crate) fn reserve<M: Mode>(
        &mut self,
        (server, device): (u32, u32),
        what: &StorageRequest,
        space: &mut impl SpaceAccount,
    ) {
        let own = (device - self.first_device(server)) as u8;
        let content = (range_of(what), what.header.owner, Place::Reserved(own));
        self.put::<M>(server, what.object, content, space);
    }

    /// Puts a range into a place and replaces what was there.
    fn put<M: Mode>(
        &mut self,
        server: u32,
        object: u64,
        (range, owner, place): (Range<u64>, u16, Place),
        space: &mut impl SpaceAccount,
    ) {
        let first = self.first_device(server);
        occupy::<M>(space, first, place, range.end - range.start);
        let overwritten = &mut self.overwritten;
        self.extents.put::<M>(server, object, (range, owner, place), |old| {
            vacate::<M>(space, first, old);
            if old.place.is_committed() {
                count::<M>(overwritten, old.owner, old.bytes());
            }
        });
    }

    /// Moves a committed range to another place; its owner stays.
    pub(crate) fn shift<M: Mode>(
        &mut self,
        server: u32,
        object: u64,
        (range, owner, place): (Range<u64>, u16, Place),
        space: &mut impl SpaceAccount,
    ) {
        let first = self.first_device(server);
        occupy::<M>(space, first, place, range.end - range.start);
        self.extents.put::<M>(server, object, (range, owner, place), |old| {
            vacate::<M>(space, first, old);
        });
    }

    /// Removes a range.
    fn forget<M: Mode>(&mut self, server: u32, object: u64, range: Range<u64>, space: &mut impl SpaceAccount) {
        let first = self.first_device(server);
        self.extents
            .remove::<M>(server, object, range, |old| vacate::<M>(space, first, old));
    }

    /// Puts the parts of a piece's range that have space on its device into place `to`, as bytes of its owner. Returns their bytes.
    fn advance<M: Mode>(&mut self, piece: &Piece, to: Place, space: &mut impl SpaceAccount) -> u64 {
        let (own, range) = (self.own_number(piece), piece.range());
        let (mut at, mut moved) = (range.start, 0);
        while let Some(extent) = self.extents.first(piece.server, piece.object, at..range.end) {
            at = extent.end;
            if extent.place.device() == Some(own) {
                moved += extent.bytes();
                let content = (extent.start..extent.end, piece.owner, to);
                self.put::<M>(piece.server, piece.object, content, space);
            }
        }
        moved
    }

    /// Moves each part of a piece's range for which `to` returns a place to that place; owners stay.
    fn change<M: Mode>(&mut self, piece: &Piece, to: impl Fn(Place) -> Option<Place>, space: &mut impl SpaceAccount) {
        let range = piece.range();
        let mut at = range.start;
        while let Some(extent) = self.extents.first(piece.server, piece.object, at..range.end) {
            at = extent.end;
            if let Some(place) = to(extent.place) {
                let content = (extent.start..extent.end, extent.owner, place);
                self.shift::<M>(piece.server, piece.object, content, space);
            }
        }
    }

    /// A piece of a write is in memory.
    pub(crate) fn is_in_memory_now<M: Mode>(&mut self, piece: &Piece, space: &mut impl SpaceAccount) {
        let to = Place::Memory(self.own_number(piece));
        self.advance::<M>(piece, to, space);
    }

    /// A piece of a write is on its device.
    pub(crate) fn commit<M: Mode>(&mut self, piece: &Piece, space: &mut impl SpaceAccount) {
        if piece.removed {
            self.commit_removed::<M>(piece);
            return;
        }
        let to = Place::Device(self.own_number(piece));
        let moved = self.advance::<M>(piece, to, space);
        self.count_committed::<M>(piece, moved);
    }

    /// A piece of a write is on its device and in the lower tier. Without `keeps`, its copy does not stay.
    pub(crate) fn commit_through<M: Mode>(&mut self, piece: &Piece, keeps: bool, space: &mut impl SpaceAccount) {
        if piece.removed {
            self.commit_removed::<M>(piece);
            return;
        }
        let own = self.own_number(piece);
        let moved = self.advance::<M>(piece, Place::Clean(own), space);
        self.count_committed::<M>(piece, moved);
        if !keeps {
            let to = |place: Place| (place == Place::Clean(own)).then_some(Place::LowerTier);
            self.change::<M>(piece, to, space);
        }
    }

    /// A piece of a write is in the lower tier alone.
    pub(crate) fn commit_below<M: Mode>(&mut self, piece: &Piece, space: &mut impl SpaceAccount) {
        if piece.removed {
            self.commit_removed::<M>(piece);
            return;
        }
        let content = (piece.range(), piece.owner, Place::LowerTier);
        self.put::<M>(piece.server, piece.object, content, space);
        self.count_committed::<M>(piece, piece.bytes);
    }

    /// A piece of a write to a removed file is committed: counts it as removed.
    pub(crate) fn commit_removed<M: Mode>(&mut self, piece: &Piece) {
        count::<M>(&mut self.committed, piece.owner, piece.bytes);
        self.count_removed::<M>(piece.server, piece.owner, piece.bytes);
    }

    /// A piece of an acknowledged write is lost in memory: counts it as committed.
    pub(crate) fn commit_lost<M: Mode>(&mut self, piece: &Piece) {
        count::<M>(&mut self.committed, piece.owner, piece.bytes);
    }

    /// Counts `piece` as committed; `moved` of its bytes were not overwritten meanwhile.
    fn count_committed<M: Mode>(&mut self, piece: &Piece, moved: u64) {
        count::<M>(&mut self.committed, piece.owner, piece.bytes);
        count::<M>(&mut self.overwritten, piece.owner, piece.bytes - moved);
    }

    fn count_removed<M: Mode>(&mut self, server: u32, owner: u16, bytes: u64) {
        let jobs = self.committed.len();
        if usize::from(owner) < jobs && bytes > 0 {
            *self.removed.edit::<M>(server as usize * jobs + usize::from(owner)) += bytes;
        }
    }

    /// Lets a block of at most `most` bytes leave, of data that are on `device` of `server` alone and of a job that `which` selects. The
    /// elevator algorithm: continues at `from` (an object and a byte of it), then from the beginning.
    pub(crate) fn leave<M: Mode>(
        &mut self,
        (server, device): (u32, u32),
        (from, most): ((u64, u64), u64),
        which: impl Fn(u16) -> bool,
        space: &mut impl SpaceAccount,
    ) -> Option<LeavingBlock> {
        let own = (device - self.first_device(server)) as u8;
        let (mut key, mut rounds) = (from, 0);
        let (object, extent) = loop {
            match self.extents.following(server, key) {
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
        Some(self.leave_from::<M>(server, (object, extent), (own, most), space))
    }

    /// The same for data of `range` of `object`, on any device of `server`. Returns the device with the block.
    pub(crate) fn leave_within<M: Mode>(
        &mut self,
        server: u32,
        object: u64,
        (range, most): (Range<u64>, u64),
        space: &mut impl SpaceAccount,
    ) -> Option<(u32, LeavingBlock)> {
        let alone = self
            .extents
            .find(server, object, range)
            .find_map(|extent| match extent.place {
                Place::Device(device) => Some((extent, device)),
                _ => None,
            });
        let (extent, own) = alone?;
        let block = self.leave_from::<M>(server, (object, extent), (own, most), space);
        Some((self.first_device(server) + u32::from(own), block))
    }

    fn leave_from<M: Mode>(
        &mut self,
        server: u32,
        (object, extent): (u64, Extent),
        (own, most): (u8, u64),
        space: &mut impl SpaceAccount,
    ) -> LeavingBlock {
        let bytes = most.min(extent.bytes());
        let range = extent.start..extent.start + bytes;
        let content = (range, extent.owner, Place::Leaving(own));
        self.shift::<M>(server, object, content, space);
        LeavingBlock {
            owner: extent.owner,
            object,
            offset: extent.start,
            bytes,
        }
    }

    /// A block that leaves is safe in the lower tier; its copy stays if `keeps`. Bytes that were overwritten meanwhile are not there.
    pub(crate) fn has_left<M: Mode>(&mut self, piece: &Piece, keeps: bool, space: &mut impl SpaceAccount) {
        let own = self.own_number(piece);
        let to = if keeps { Place::Clean(own) } else { Place::LowerTier };
        self.change::<M>(piece, |place| (place == Place::Leaving(own)).then_some(to), space);
    }

    /// A block that was chosen to leave stays.
    pub(crate) fn stays<M: Mode>(&mut self, piece: &Piece, space: &mut impl SpaceAccount) {
        let own = self.own_number(piece);
        let to = |place: Place| (place == Place::Leaving(own)).then_some(Place::Device(own));
        self.change::<M>(piece, to, space);
    }

    /// Takes space for the parts of a piece that are in the lower tier alone. Returns their bytes, and the bytes of inputs among them,
    /// which the run has not written: their first reader counts as their owner.
    pub(crate) fn fill<M: Mode>(&mut self, piece: &Piece, space: &mut impl SpaceAccount) -> (u64, u64) {
        let (own, range) = (self.own_number(piece), piece.range());
        let (mut at, mut filled, mut inputs) = (range.start, 0, 0);
        while at < range.end {
            let known = self.extents.first(piece.server, piece.object, at..range.end);
            let gap = known.map_or(range.end, |extent| extent.start);
            if gap > at {
                let content = (at..gap, piece.owner, Place::Filling(own));
                self.put::<M>(piece.server, piece.object, content, space);
                count::<M>(&mut self.committed, piece.owner, gap - at);
                inputs += gap - at;
            }
            let Some(extent) = known else { break };
            if extent.place == Place::LowerTier {
                let content = (extent.start..extent.end, extent.owner, Place::Filling(own));
                self.shift::<M>(piece.server, piece.object, content, space);
                filled += extent.bytes();
            }
            at = extent.end;
        }
        (filled + inputs, inputs)
    }

    /// A copy of `piece` is on its device.
    pub(crate) fn is_filled<M: Mode>(&mut self, piece: &Piece, space: &mut impl SpaceAccount) {
        let own = self.own_number(piece);
        let to = |place: Place| (place == Place::Filling(own)).then_some(Place::Clean(own));
        self.change::<M>(piece, to, space);
    }

    /// Marks the clean copies that a piece reads as used.
    pub(crate) fn touch<M: Mode>(&mut self, piece: &Piece, space: &mut impl SpaceAccount) {
        let to = |place: Place| match place {
            Place::Clean(device) => Some(Place::Used(device)),
            _ => None,
        };
        self.change::<M>(piece, to, space);
    }

    /// The length of the longest prefix of `range` that is entirely on devices, or entirely not, and whether it is.
    pub(crate) fn run_of(&self, server: u32, object: u64, range: Range<u64>) -> (u64, bool) {
        let (mut end, mut here) = (range.start, None);
        for extent in self.extents.find(server, object, range.clone()) {
            if extent.start > end {
                // A gap: bytes that were never written to this server are in the lower tier.
                if here == Some(true) {
                    break;
                }
                here = Some(false);
                end = extent.start;
            }
            let is_here = extent.place.device().is_some();
            if *here.get_or_insert(is_here) != is_here {
                return (end - range.start, !is_here);
            }
            end = extent.end;
        }
        match here {
            Some(true) => (end - range.start, true),
            _ => (range.end - range.start, false),
        }
    }

    /// Whether the memory of the server has all of a read piece.
    pub(crate) fn is_in_memory(&self, piece: &Piece) -> bool {
        let found = self.extents.find(piece.server, piece.object, piece.range());
        let in_memory = found.filter(|extent| matches!(extent.place, Place::Memory(_)));
        in_memory.map(|extent| extent.bytes()).sum::<u64>() == piece.bytes
    }

    /// Known bytes of the range of `what`, and the device of `server` with most of it, or else `otherwise`.
    pub(crate) fn device_with_most(&self, server: u32, what: &StorageRequest, otherwise: u32) -> (u64, u32) {
        let (mut known, mut most) = (0, (0, otherwise));
        let mut there = [0_u64; crate::settings::MOST_DEVICES];
        for extent in self.extents.find(server, what.object, range_of(what)) {
            known += extent.bytes();
            if let Some(device) = extent.place.device() {
                let sum = &mut there[usize::from(device)];
                *sum += extent.bytes();
                if *sum > most.0 {
                    most = (*sum, self.first_device(server) + u32::from(device));
                }
            }
        }
        (known, most.1)
    }

    /// Known and lost bytes of the range of `what`.
    pub(crate) fn known_and_lost(&self, server: u32, what: &StorageRequest) -> (u64, u64) {
        let (mut known, mut lost) = (0, 0);
        for extent in self.extents.find(server, what.object, range_of(what)) {
            let sum = if extent.place == Place::Lost {
                &mut lost
            } else {
                &mut known
            };
            *sum += extent.bytes();
        }
        (known, lost)
    }

    /// The byte after the last known byte of `object`; 0 without contents.
    pub(crate) fn end_of(&self, server: u32, object: u64) -> u64 {
        self.extents.end_of(server, object)
    }

    /// The first extent of `object` within `range`.
    pub(crate) fn first(&self, server: u32, object: u64, range: Range<u64>) -> Option<Extent> {
        self.extents.first(server, object, range)
    }

    /// The extents of `server` with their objects; none without an index.
    pub(crate) fn of(&self, server: u32) -> impl Iterator<Item = (u64, Extent)> + use<'_> {
        self.extents.iter(server)
    }

    /// Frees all that `server` has of `object`. Returns the devices that had space of it, each with an owner.
    pub(crate) fn remove<M: Mode>(
        &mut self,
        server: u32,
        object: u64,
        space: &mut impl SpaceAccount,
    ) -> Vec<(u32, u16)> {
        let first = self.first_device(server);
        let all: Vec<_> = self.extents.find(server, object, 0..u64::MAX).collect();
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
            self.forget::<M>(server, object, 0..u64::MAX, space);
        }
        freed
    }

    /// Bytes removed, by server and job, where there are some.
    pub(crate) fn removed(&self) -> impl Iterator<Item = (u32, u16, u64)> + use<'_> {
        let jobs = self.committed.len().max(1);
        let cells = self.removed.iter();
        cells.map(move |(cell, &bytes)| ((cell / jobs) as u32, (cell % jobs) as u16, bytes))
    }

    /// Removes the bytes of `what`, an unacknowledged write, that have come to `device`. Reports owners and bytes to `dropped`.
    pub(crate) fn drop_unanswered<M: Mode>(
        &mut self,
        (server, device): (u32, u32),
        what: &StorageRequest,
        space: &mut impl SpaceAccount,
        mut dropped: impl FnMut(u16, u64),
    ) {
        let own = (device - self.first_device(server)) as u8;
        let found = self.extents.find(server, what.object, range_of(what));
        let all: Vec<_> = found.filter(|extent| extent.place == Place::Device(own)).collect();
        for extent in all {
            self.forget::<M>(server, what.object, extent.start..extent.end, space);
            dropped(extent.owner, extent.bytes());
        }
    }

    /// The contents of all devices of `server` are lost, or those of device `only`. Reports the owners and bytes that had no other copy
    /// to `lost`.
    pub(crate) fn lose<M: Mode>(
        &mut self,
        server: u32,
        only: Option<u32>,
        space: &mut impl SpaceAccount,
        mut lost: impl FnMut(u16, u64),
    ) {
        let first = self.first_device(server);
        let gone =
            |place: Place| only.is_none_or(|only| place.device().map(|own| first + u32::from(own)) == Some(only));
        let all: Vec<_> = self.of(server).filter(|(_, extent)| gone(extent.place)).collect();
        for (object, extent) in all {
            let range = extent.start..extent.end;
            match extent.place {
                Place::Reserved(_) | Place::Memory(_) => self.forget::<M>(server, object, range, space),
                Place::Device(_) => {
                    self.shift::<M>(server, object, (range, extent.owner, Place::Lost), space);
                    lost(extent.owner, extent.bytes());
                }
                Place::Clean(_) | Place::Used(_) | Place::Filling(_) => {
                    self.shift::<M>(server, object, (range, extent.owner, Place::LowerTier), space);
                }
                Place::Leaving(_) | Place::LowerTier | Place::Lost => {}
            }
        }
    }

    /// Checks that every byte is in one place and that all sums match. `used`: the space in use on a device. `gone`: bytes of each job
    /// that were lost or dropped with a server or device.
    ///
    /// # Errors
    /// Names the sum that does not match.
    pub(crate) fn audit(&self, used: impl Fn(u32) -> u64, gone: &[u64]) -> Result<(), String> {
        let jobs = self.committed.len();
        let mut stored = vec![0_u64; jobs];
        for server in (0..self.servers.len() as u32).filter(|&server| self.is_kept(server)) {
            let mut of_devices = [0; crate::settings::MOST_DEVICES];
            for (object, extent) in self.of(server).filter(|(_, extent)| extent.place != Place::Lost) {
                if !extent.place.is_committed() {
                    return Err(format!(
                        "storage server {server}: bytes {} to {} of object {object} were never written to a device",
                        extent.start, extent.end
                    ));
                }
                if let Some(device) = extent.place.device() {
                    of_devices[usize::from(device)] += extent.bytes();
                }
                if let Some(sum) = stored.get_mut(usize::from(extent.owner)) {
                    *sum += extent.bytes();
                }
            }
            let IndexedServer { first_device, end, .. } = self.servers[server as usize];
            for device in first_device..end {
                let (extents, used) = (of_devices[(device - first_device) as usize], used(device));
                if used != extents {
                    return Err(format!(
                        "storage server {server}: {used} B are in use, {extents} B are in extents"
                    ));
                }
            }
        }
        let mut removed = vec![0_u64; jobs];
        for (_, job, bytes) in self.removed() {
            removed[usize::from(job)] += bytes;
        }
        for (job, (stored, removed)) in stored.into_iter().zip(removed).enumerate() {
            let committed = *self.committed.get(job as u32);
            let overwritten = *self.overwritten.get(job as u32);
            let gone = gone.get(job).copied().unwrap_or(0);
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

#[cfg(test)]
mod tests;

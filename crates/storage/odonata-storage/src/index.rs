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

mod conservation;
mod extents;
mod leaving;
mod lookup;
mod pieces;

use std::ops::Range;

use odonata_engine::{Mode, journalled};

use crate::devices::Devices;
use crate::open_request::Piece;
use crate::{ServerParams, StorageRequest};
use conservation::JobBytes;
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
    jobs: JobBytes,
}
journalled!(ContentIndex { extents, jobs });

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
            jobs: JobBytes::new(0),
        }
    }

    /// Counts the bytes of `jobs` jobs.
    pub(crate) fn count_jobs(&mut self, jobs: usize) {
        self.jobs = JobBytes::new(jobs);
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
        let jobs = &mut self.jobs;
        self.extents.put::<M>(server, object, (range, owner, place), |old| {
            vacate::<M>(space, first, old);
            if old.place.is_committed() {
                jobs.overwrite::<M>(old.owner, old.bytes());
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

    /// Counts `piece` as committed; `moved` of its bytes were not overwritten meanwhile.
    fn count_committed<M: Mode>(&mut self, piece: &Piece, moved: u64) {
        self.jobs.commit::<M>(piece.owner, piece.bytes);
        self.jobs.overwrite::<M>(piece.owner, piece.bytes - moved);
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
                self.jobs.remove::<M>(server, extent.owner, extent.bytes());
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
        self.jobs.removed()
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
}

#[cfg(test)]
mod tests;

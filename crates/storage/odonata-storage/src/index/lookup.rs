//! Where bytes are, and the audit that each is in one place.

use std::ops::Range;

use super::extents::{Extent, Place};
use super::{ContentIndex, IndexedServer, range_of};
use crate::StorageRequest;
use crate::open_request::Piece;

impl ContentIndex {
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

    /// Checks that every byte is in one place and that all sums match. `used`: the space in use on a device. `gone`: bytes of each job
    /// that were lost or dropped with a server or device.
    ///
    /// # Errors
    /// Names the sum that does not match.
    pub(crate) fn audit(&self, used: impl Fn(u32) -> u64, gone: &[u64]) -> Result<(), String> {
        let mut stored = vec![0_u64; self.jobs.jobs()];
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
        self.jobs.audit(&stored, gone)
    }
}

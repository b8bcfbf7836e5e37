//! Blocks that a drain moves to the lower tier.

use std::ops::Range;

use odonata_engine::Mode;

use super::extents::{Extent, Place};
use super::{ContentIndex, LeavingBlock, SpaceAccount};
use crate::open_request::Piece;

impl ContentIndex {
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
}

//! Copies of bytes that were read from the lower tier.

use odonata_engine::Mode;

use super::extents::Place;
use super::{ContentIndex, SpaceAccount, count};
use crate::open_request::Piece;

impl ContentIndex {
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
}

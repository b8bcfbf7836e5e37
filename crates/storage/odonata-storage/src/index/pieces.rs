//! Pieces of requests: bytes of writes come to memory, to a device or to the lower tier; copies of bytes that were read from
//! the lower tier come to a device.

use odonata_engine::Mode;

use super::extents::Place;
use super::{ContentIndex, SpaceAccount};
use crate::open_request::Piece;

impl ContentIndex {
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
        self.jobs.commit::<M>(piece.owner, piece.bytes);
        self.jobs.remove::<M>(piece.server, piece.owner, piece.bytes);
    }

    /// A piece of an acknowledged write is lost in memory: counts it as committed.
    pub(crate) fn commit_lost<M: Mode>(&mut self, piece: &Piece) {
        self.jobs.commit::<M>(piece.owner, piece.bytes);
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
                self.jobs.commit::<M>(piece.owner, gap - at);
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

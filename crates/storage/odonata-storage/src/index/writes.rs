//! Writes: their bytes come to memory, to a device, or to the lower tier.

use odonata_engine::Mode;

use super::extents::Place;
use super::{ContentIndex, SpaceAccount, count};
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
        count::<M>(&mut self.committed, piece.owner, piece.bytes);
        self.count_removed::<M>(piece.server, piece.owner, piece.bytes);
    }

    /// A piece of an acknowledged write is lost in memory: counts it as committed.
    pub(crate) fn commit_lost<M: Mode>(&mut self, piece: &Piece) {
        count::<M>(&mut self.committed, piece.owner, piece.bytes);
    }
}

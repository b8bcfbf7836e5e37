//! Clean copies: data of a server that the lower tier has as well.
//!
//! With `keep`, drained data stay as clean copies and use space until a reservation needs it. The ranges that became clean first
//! are evicted first. Under `lru`, a range that was read since is passed over once (the second-chance or CLOCK algorithm, F.
//! Corbató, "A paging experiment with the Multics system", 1968).

use odonata_engine::{List, Mode, NIL};
use odonata_units::Time;

use crate::contents::count;
use crate::extents::Place;
use crate::open_request::{Piece, PieceKind};
use crate::settings::{Eviction, ReadPolicy};
use crate::{Actions, Servers};

/// A range that has become clean.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
pub(super) struct CleanRange {
    object: u64,
    start: u64,
    end: u64,
    next: u32,
}

odonata_engine::slots!(CleanRange);

impl Servers {
    /// The length of the longest prefix of `range` that is entirely on devices, or entirely not, and whether it is.
    pub(crate) fn run_of(&self, server: u32, object: u64, range: std::ops::Range<u64>) -> (u64, bool) {
        let (mut end, mut here) = (range.start, None);
        for extent in self.contents.extents.find(server, object, range.clone()) {
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

    /// Whether a read piece has to be fetched from the lower tier.
    pub(crate) fn is_in_lower_tier(&self, slot: u32) -> bool {
        let piece = self.pieces.get(slot);
        if self.params[piece.server as usize].next.is_none() {
            return false;
        }
        if !self.is_indexed(piece.server) {
            return true;
        }
        let (bytes, here) = self.run_of(piece.server, piece.object, piece.range());
        !here || bytes < piece.bytes
    }

    /// Marks the clean copies that a piece reads as used, which postpones their eviction.
    pub(crate) fn touch<M: Mode>(&mut self, slot: u32) {
        let piece = *self.pieces.get(slot);
        let policy = self.params[piece.server as usize].next;
        if policy.is_none_or(|policy| policy.eviction != Eviction::Lru) {
            return;
        }
        self.change::<M>(&piece, |place| match place {
            Place::Clean(device) => Some(Place::Used(device)),
            _ => None,
        });
    }

    /// Moves each part of a piece's range for which `to` returns a place to that place; owners stay. Returns the bytes moved.
    fn change<M: Mode>(&mut self, piece: &Piece, to: impl Fn(Place) -> Option<Place>) -> u64 {
        let range = piece.range();
        let (mut at, mut moved) = (range.start, 0);
        while let Some(extent) = self.contents.extents.first(piece.server, piece.object, at..range.end) {
            at = extent.end;
            if let Some(place) = to(extent.place) {
                moved += extent.bytes();
                let part = extent.start..extent.end;
                self.shift::<M>(piece.server, piece.object, part, extent.owner, place);
            }
        }
        moved
    }

    /// A block that leaves is safe in the lower tier: it is clean, or its space is free.
    pub(crate) fn left<M: Mode>(&mut self, piece: &Piece, keep: bool) {
        if piece.removed {
            return;
        }
        let own = self.own_number(piece);
        let to = if keep { Place::Clean(own) } else { Place::LowerTier };
        // Bytes that were overwritten meanwhile are not in the lower tier yet.
        self.change::<M>(piece, |place| (place == Place::Leaving(own)).then_some(to));
        if keep {
            self.became_clean::<M>(piece);
        }
    }

    /// A piece that was written through is on its device and in the lower tier: a clean copy, if any are kept.
    pub(super) fn written_through<M: Mode>(&mut self, piece: &Piece) {
        let policy = self.params[piece.server as usize].next;
        if policy.is_some_and(|policy| !policy.keep && policy.read == ReadPolicy::Pass) {
            let own = self.own_number(piece);
            self.change::<M>(piece, |place| (place == Place::Clean(own)).then_some(Place::LowerTier));
        } else {
            self.became_clean::<M>(piece);
        }
    }

    /// Appends the range of `piece` to the list of clean ranges.
    fn became_clean<M: Mode>(&mut self, piece: &Piece) {
        let range = piece.range();
        let mut list = self.spaces.get(piece.device).ranges;
        if list.tail != NIL {
            let last = self.lower_tiers.ranges.get(list.tail);
            if last.object == piece.object && last.end == range.start {
                self.lower_tiers.ranges.edit::<M>(list.tail).end = range.end;
                return;
            }
        }
        let slot = self.lower_tiers.ranges.allocate::<M>(CleanRange {
            object: piece.object,
            start: range.start,
            end: range.end,
            next: NIL,
        });
        list.push::<M, _>(&mut self.lower_tiers.ranges, slot);
        self.spaces.edit::<M>(piece.device).ranges = list;
    }

    /// Evicts up to `needed` bytes of clean copies from `device`. Returns the bytes freed.
    pub(crate) fn evict<M: Mode>(&mut self, device: u32, needed: u64) -> u64 {
        let server = self.devices.server_of(device);
        let own = (device - self.devices.of(server).start) as u8;
        let tier = self.params[server as usize].tier;
        let mut list: List = self.spaces.get(device).ranges;
        let mut freed = 0;
        while freed < needed && self.spaces.get(device).clean > 0 && list.head != NIL {
            let CleanRange { object, start, end, .. } = *self.lower_tiers.ranges.get(list.head);
            let Some(extent) = self.contents.extents.first(server, object, start..end) else {
                self.pop_range::<M>(&mut list);
                continue;
            };
            let mut done = extent.end;
            match extent.place {
                Place::Clean(device) if device == own => {
                    done = extent.start + extent.bytes().min(needed - freed);
                    self.shift::<M>(server, object, extent.start..done, extent.owner, Place::LowerTier);
                    freed += done - extent.start;
                    if let Some(metrics) = self.lower_tiers.edit::<M>(tier, extent.owner) {
                        metrics.evicted += done - extent.start;
                    }
                }
                Place::Used(device) if device == own => {
                    // Second chance: moves to the end of the list.
                    self.shift::<M>(server, object, extent.start..done, extent.owner, Place::Clean(own));
                    let slot = self.lower_tiers.ranges.allocate::<M>(CleanRange {
                        object,
                        start: extent.start,
                        end: done,
                        next: NIL,
                    });
                    list.push::<M, _>(&mut self.lower_tiers.ranges, slot);
                }
                _ => {}
            }
            if done >= end {
                self.pop_range::<M>(&mut list);
            } else {
                self.lower_tiers.ranges.edit::<M>(list.head).start = done;
            }
        }
        self.spaces.edit::<M>(device).ranges = list;
        freed
    }

    /// Forgets the list of clean ranges of `device`.
    pub(crate) fn forget_clean_ranges<M: Mode>(&mut self, device: u32) {
        let mut list: List = self.spaces.get(device).ranges;
        if list.is_empty() {
            return;
        }
        while !list.is_empty() {
            self.pop_range::<M>(&mut list);
        }
        self.spaces.edit::<M>(device).ranges = list;
    }

    /// A block that was chosen to leave stays.
    pub(crate) fn stays<M: Mode>(&mut self, piece: &Piece) {
        if piece.removed {
            return;
        }
        let own = self.own_number(piece);
        self.change::<M>(piece, |place| {
            (place == Place::Leaving(own)).then_some(Place::Device(own))
        });
    }

    fn pop_range<M: Mode>(&mut self, list: &mut List) {
        if let Some(slot) = list.pop(&self.lower_tiers.ranges) {
            self.lower_tiers.ranges.free::<M>(slot);
        }
    }

    /// Copies `piece`, which came from the lower tier and was delivered, to its device, if the policy says so and space allows.
    pub(crate) fn keep_copy<M: Mode>(&mut self, now: Time, piece: &Piece, actions: &mut Actions) {
        let Some(policy) = self.params[piece.server as usize].next else {
            return;
        };
        let full = self.lower_tiers.reserves.get(piece.server).taken() >= policy.blocks_in_flight;
        let wanted =
            policy.read == ReadPolicy::Cache && piece.kind == PieceKind::Fetched && !piece.removed && !piece.lost;
        if !wanted || full || !self.is_indexed(piece.server) {
            return;
        }
        let filled = match self.make_room::<M>(piece, true) {
            true => self.claim_copy::<M>(piece),
            false => 0,
        };
        if filled == 0 {
            return;
        }
        self.count_filled::<M>(piece, filled);
        let place = (piece.server, piece.device);
        let mut copy = Piece::new(now, place, (NIL, piece.owner), piece.object, piece.offset, piece.bytes);
        copy.kind = PieceKind::Fill;
        let slot = self.pieces.allocate::<M>(copy);
        self.lower_tiers.reserves.edit::<M>(piece.server).filling += 1;
        self.join_device::<M>(now, slot, actions);
    }

    /// Evicts clean copies from the device of `piece` to make room for a copy of it; without `own`, only if the oldest copy is of
    /// another object. Never evicts while a request waits for space. Returns whether there is room.
    pub(crate) fn make_room<M: Mode>(&mut self, piece: &Piece, own: bool) -> bool {
        let (device, capacity) = (piece.device, self.devices.capacity(piece.device));
        if self.first_reservation(device).is_some() || piece.bytes > capacity {
            return false;
        }
        let free = capacity - self.spaces.get(device).used;
        let oldest = self.spaces.get(device).ranges.head;
        let is_own = oldest != NIL && self.lower_tiers.ranges.get(oldest).object == piece.object;
        if piece.bytes > free && (own || !is_own) {
            self.evict::<M>(device, piece.bytes - free);
        }
        piece.bytes <= capacity - self.spaces.get(device).used
    }

    /// Takes space for the parts of a piece that are in the lower tier alone. Returns their bytes.
    pub(crate) fn claim_copy<M: Mode>(&mut self, piece: &Piece) -> u64 {
        let (own, range) = (self.own_number(piece), piece.range());
        let (mut at, mut filled) = (range.start, 0);
        while at < range.end {
            let known = self.contents.extents.first(piece.server, piece.object, at..range.end);
            let gap = known.map_or(range.end, |extent| extent.start);
            if gap > at {
                // An input: its first reader counts as its owner.
                let what = (at..gap, piece.owner, Place::Filling(own));
                self.put::<M>(piece.server, piece.object, what);
                count::<M>(&mut self.contents.committed, piece.owner, gap - at);
                let tier = self.params[piece.server as usize].tier;
                if let Some(metrics) = self.lower_tiers.edit::<M>(tier, piece.owner) {
                    metrics.inputs += gap - at;
                }
                filled += gap - at;
            }
            let Some(extent) = known else { break };
            if extent.place == Place::LowerTier {
                let part = extent.start..extent.end;
                self.shift::<M>(piece.server, piece.object, part, extent.owner, Place::Filling(own));
                filled += extent.bytes();
            }
            at = extent.end;
        }
        filled
    }

    /// A copy of `piece` is on its device.
    pub(crate) fn copy_is_clean<M: Mode>(&mut self, piece: &Piece) {
        if piece.removed {
            return;
        }
        let own = self.own_number(piece);
        self.change::<M>(piece, |place| {
            (place == Place::Filling(own)).then_some(Place::Clean(own))
        });
        self.became_clean::<M>(piece);
    }

    /// The device has written a copy of what came from the lower tier.
    pub(crate) fn filled<M: Mode>(&mut self, now: Time, slot: u32, actions: &mut Actions) {
        let piece = *self.pieces.get(slot);
        self.copy_is_clean::<M>(&piece);
        self.pieces.free::<M>(slot);
        self.lower_tiers.reserves.edit::<M>(piece.server).filling -= 1;
        self.settle_reserve::<M>(now, piece.server, piece.owner);
        // A request may wait for space that is clean now.
        self.settle_space::<M>(now, piece.device, piece.owner);
        self.reserve::<M>(now, piece.device, actions);
        self.feed_lower_tier::<M>(now, piece.server, actions);
    }
}

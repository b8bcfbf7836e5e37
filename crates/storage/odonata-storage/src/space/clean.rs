//! Clean copies: data of a device that the lower tier has as well.
//!
//! They use space until a reservation needs it. The ranges that became clean first are evicted first. Under `lru`, a range that was
//! read since is passed over once (the second-chance or CLOCK algorithm, F. Corbató, "A paging experiment with the Multics system",
//! 1968).

use odonata_engine::{List, Mode, NIL};

use super::DeviceSpaces;
use crate::index::{ContentIndex, Place};
use crate::open_request::Piece;

/// A range that has become clean.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
pub(super) struct CleanRange {
    object: u64,
    start: u64,
    end: u64,
    next: u32,
}

odonata_engine::slots!(CleanRange);

impl DeviceSpaces {
    /// Appends the range of `piece` to the clean ranges of its device.
    pub(crate) fn keep_clean<M: Mode>(&mut self, piece: &Piece) {
        let range = piece.range();
        let mut list = self.spaces.get(piece.device).ranges;
        if list.tail != NIL {
            let last = self.ranges.get(list.tail);
            if last.object == piece.object && last.end == range.start {
                self.ranges.edit::<M>(list.tail).end = range.end;
                return;
            }
        }
        let slot = self.ranges.allocate::<M>(CleanRange {
            object: piece.object,
            start: range.start,
            end: range.end,
            next: NIL,
        });
        list.push::<M, _>(&mut self.ranges, slot);
        self.spaces.edit::<M>(piece.device).ranges = list;
    }

    /// The object of the oldest clean range of `device`.
    pub(crate) fn oldest_clean(&self, device: u32) -> Option<u64> {
        let oldest = self.spaces.get(device).ranges.head;
        (oldest != NIL).then(|| self.ranges.get(oldest).object)
    }

    /// Evicts up to `needed` bytes of clean copies from `device` of `server`. Returns the bytes freed, and reports their owners to
    /// `evicted`.
    pub(crate) fn evict<M: Mode>(
        &mut self,
        (server, device): (u32, u32),
        needed: u64,
        index: &mut ContentIndex,
        mut evicted: impl FnMut(u16, u64),
    ) -> u64 {
        let mut list: List = self.spaces.get(device).ranges;
        let mut freed = 0;
        while freed < needed && self.spaces.get(device).clean > 0 && list.head != NIL {
            let CleanRange { object, start, end, .. } = *self.ranges.get(list.head);
            let Some(extent) = index.first(server, object, start..end) else {
                self.pop_range::<M>(&mut list);
                continue;
            };
            let mut done = extent.end;
            let is_here = extent.place.device().map(|own| index.device(server, own)) == Some(device);
            match extent.place {
                Place::Clean(_) if is_here => {
                    done = extent.start + extent.bytes().min(needed - freed);
                    let content = (extent.start..done, extent.owner, Place::LowerTier);
                    index.shift::<M>(server, object, content, self);
                    freed += done - extent.start;
                    evicted(extent.owner, done - extent.start);
                }
                Place::Used(own) if is_here => {
                    // Second chance: moves to the end of the list.
                    let content = (extent.start..done, extent.owner, Place::Clean(own));
                    index.shift::<M>(server, object, content, self);
                    let slot = self.ranges.allocate::<M>(CleanRange {
                        object,
                        start: extent.start,
                        end: done,
                        next: NIL,
                    });
                    list.push::<M, _>(&mut self.ranges, slot);
                }
                _ => {}
            }
            if done >= end {
                self.pop_range::<M>(&mut list);
            } else {
                self.ranges.edit::<M>(list.head).start = done;
            }
        }
        self.spaces.edit::<M>(device).ranges = list;
        freed
    }

    /// `device` fails: forgets the requests that wait for it, and its clean ranges.
    pub(crate) fn fail<M: Mode>(&mut self, device: u32) {
        let mut list: List = self.spaces.get(device).ranges;
        while !list.is_empty() {
            self.pop_range::<M>(&mut list);
        }
        let space = self.spaces.edit::<M>(device);
        (space.waiting, space.ranges) = (List::EMPTY, list);
    }

    fn pop_range<M: Mode>(&mut self, list: &mut List) {
        if let Some(slot) = list.pop(&self.ranges) {
            self.ranges.free::<M>(slot);
        }
    }
}

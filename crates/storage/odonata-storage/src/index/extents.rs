//! The extent index: the place and the owner of every range of every object.
//!
//! An *extent* is a range of bytes of an object in one place and of one owner. Extents of an object do not overlap; adjacent
//! extents with the same place and owner are merged. A new extent replaces what its range held, and old extents are cut at its
//! ends.
//!
//! The extents of a server are a treap (C. Aragon, R. Seidel, "Randomized search trees", FOCS 1989) over (object, first byte): a
//! search tree by that key and a heap by a hash of the key, so that its contents alone determine its shape. Lookups and updates
//! take logarithmic time in the number of extents. A cell is 40 B and is journalled.

use std::ops::Range;

use odonata_engine::{Mode, NIL, Pool, Slot, Store, journalled};
use odonata_units::{GOLDEN_GAMMA, mix64};

/// The place of bytes. A device is a number within its server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub enum Place {
    /// Not stored yet; they have space on a device.
    Reserved(u8),
    /// In the memory of the server, on their way to a device.
    Memory(u8),
    /// On a device alone.
    Device(u8),
    /// On a device, and on their way to the lower tier.
    Leaving(u8),
    /// On a device and in the lower tier: a clean copy.
    Clean(u8),
    /// A clean copy that was read since it became clean or was passed over.
    Used(u8),
    /// In the lower tier; a clean copy is on its way to a device.
    Filling(u8),
    /// In the lower tier alone.
    LowerTier,
    /// Lost: their server has failed.
    Lost,
}

impl Place {
    /// The device on which they take space.
    pub fn device(self) -> Option<u8> {
        match self {
            Place::Reserved(device)
            | Place::Memory(device)
            | Place::Device(device)
            | Place::Leaving(device)
            | Place::Clean(device)
            | Place::Used(device)
            | Place::Filling(device) => Some(device),
            Place::LowerTier | Place::Lost => None,
        }
    }

    /// Whether the bytes have a copy in the lower tier and space for another copy on a device.
    pub fn is_clean(self) -> bool {
        matches!(self, Place::Clean(_) | Place::Used(_))
    }

    /// Whether the bytes have come to a device and are not lost.
    pub fn is_committed(self) -> bool {
        !matches!(self, Place::Reserved(_) | Place::Memory(_) | Place::Lost)
    }
}

/// A range of an object in one place and of one owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// First byte.
    pub start: u64,
    /// The byte after the last.
    pub end: u64,
    /// The job that wrote it.
    pub owner: u16,
    /// Its place.
    pub place: Place,
}

impl Extent {
    /// Length in bytes.
    pub fn bytes(&self) -> u64 {
        self.end - self.start
    }
}

/// A node of a treap.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
struct Node {
    object: u64,
    start: u64,
    end: u64,
    left: u32,
    right: u32,
    owner: u16,
    place: Place,
}

const _: () = assert!(size_of::<Node>() <= 64);

impl Node {
    fn key(&self) -> (u64, u64) {
        (self.object, self.start)
    }

    fn priority(&self) -> u64 {
        mix64(mix64(self.object).wrapping_add(self.start.wrapping_mul(GOLDEN_GAMMA)))
    }

    fn extent(&self) -> Extent {
        Extent {
            start: self.start,
            end: self.end,
            owner: self.owner,
            place: self.place,
        }
    }
}

/// Links free nodes through `left`.
impl Slot for Node {
    fn next(&self) -> u32 {
        self.left
    }
    fn set_next(&mut self, next: u32) {
        self.left = next;
    }
}

/// The extents of a set of servers.
#[derive(Debug)]
pub struct Extents {
    /// The root of each server's treap.
    roots: Store<u32>,
    nodes: Pool<Node>,
}
journalled!(Extents { roots, nodes });

impl Extents {
    /// For `servers` servers without contents.
    pub fn new(servers: usize) -> Self {
        Extents {
            roots: Store::filled(servers, NIL),
            nodes: Pool::new(),
        }
    }

    /// Extents of all servers.
    pub fn live(&self) -> u32 {
        self.nodes.live()
    }

    /// Bytes of memory per extent.
    pub const fn bytes_per_extent() -> usize {
        size_of::<Node>()
    }

    /// Puts `range` of `object` into a place. Appends the extents that it replaces, cut to the range and in order, to `replaced`.
    /// Ignores an empty range.
    pub fn put<M: Mode>(
        &mut self,
        server: u32,
        object: u64,
        (range, owner, place): (Range<u64>, u16, Place),
        replaced: impl FnMut(Extent),
    ) {
        if range.is_empty() {
            return;
        }
        let [before, after] = self.take::<M>(server, object, range.clone(), replaced);
        let joins = |node: &Node| node.object == object && node.owner == owner && node.place == place;
        // An adjacent extent that merges with the new one leaves the right treap.
        let mut end = range.end;
        let (mut after, first) = (after, self.edge(after, |node| node.left));
        if first != NIL && self.nodes.get(first).start == end && joins(self.nodes.get(first)) {
            end = self.nodes.get(first).end;
            after = self.remove_first::<M>(after).1;
        }
        let last = self.edge(before, |node| node.right);
        let root = if last != NIL && self.nodes.get(last).end == range.start && joins(self.nodes.get(last)) {
            self.nodes.edit::<M>(last).end = end;
            self.join::<M>(before, after)
        } else {
            let node = self.nodes.allocate::<M>(Node {
                object,
                start: range.start,
                end,
                left: NIL,
                right: NIL,
                owner,
                place,
            });
            let front = self.join::<M>(before, node);
            self.join::<M>(front, after)
        };
        *self.roots.edit::<M>(server) = root;
    }

    /// Removes `range` of `object`. Appends the removed extents, cut to the range and in order, to `removed`.
    pub fn remove<M: Mode>(&mut self, server: u32, object: u64, range: Range<u64>, removed: impl FnMut(Extent)) {
        if range.is_empty() {
            return;
        }
        let [before, after] = self.take::<M>(server, object, range, removed);
        *self.roots.edit::<M>(server) = self.join::<M>(before, after);
    }

    /// The extents within `range` of `object`, cut to the range and in order. Gaps are bytes without an extent.
    pub fn find(&self, server: u32, object: u64, range: Range<u64>) -> impl Iterator<Item = Extent> + '_ {
        let mut at = range.start;
        let floor = self.floor(server, (object, at));
        let mut next = match floor {
            NIL => NIL,
            slot if self.covers(slot, object, at) => slot,
            _ => NIL,
        };
        std::iter::from_fn(move || {
            if at >= range.end {
                return None;
            }
            if next == NIL {
                next = self.ceiling(server, (object, at));
            }
            if next == NIL {
                return None;
            }
            let node = self.nodes.get(next);
            if node.object != object || node.start >= range.end {
                return None;
            }
            let extent = Extent {
                start: node.start.max(at),
                end: node.end.min(range.end),
                ..node.extent()
            };
            at = extent.end;
            next = NIL;
            Some(extent)
        })
    }

    /// The first extent within `range`, cut to it.
    pub fn first(&self, server: u32, object: u64, range: Range<u64>) -> Option<Extent> {
        self.find(server, object, range).next()
    }

    /// The first extent that begins at `key` (an object and a byte of it) or after it.
    pub fn following(&self, server: u32, key: (u64, u64)) -> Option<(u64, Extent)> {
        let slot = self.ceiling(server, key);
        (slot != NIL).then(|| (self.nodes.get(slot).object, self.nodes.get(slot).extent()))
    }

    /// The byte after the last extent of `object`; 0 without extents.
    pub fn end_of(&self, server: u32, object: u64) -> u64 {
        let slot = self.floor(server, (object, u64::MAX));
        let known = slot != NIL && self.nodes.get(slot).object == object;
        if known { self.nodes.get(slot).end } else { 0 }
    }

    /// All extents of a server with their objects, in order.
    pub fn iter(&self, server: u32) -> impl Iterator<Item = (u64, Extent)> + '_ {
        let mut stack = Vec::new();
        let mut at = *self.roots.get(server);
        std::iter::from_fn(move || {
            while at != NIL {
                stack.push(at);
                at = self.nodes.get(at).left;
            }
            let node = self.nodes.get(stack.pop()?);
            at = node.right;
            Some((node.object, node.extent()))
        })
    }

    fn covers(&self, slot: u32, object: u64, byte: u64) -> bool {
        let node = self.nodes.get(slot);
        node.object == object && node.start <= byte && byte < node.end
    }

    /// The last node whose key is at most `key`.
    fn floor(&self, server: u32, key: (u64, u64)) -> u32 {
        let (mut at, mut found) = (*self.roots.get(server), NIL);
        while at != NIL {
            let node = self.nodes.get(at);
            if node.key() <= key {
                found = at;
                at = node.right;
            } else {
                at = node.left;
            }
        }
        found
    }

    /// The first node whose key is at least `key`.
    fn ceiling(&self, server: u32, key: (u64, u64)) -> u32 {
        let (mut at, mut found) = (*self.roots.get(server), NIL);
        while at != NIL {
            let node = self.nodes.get(at);
            if node.key() >= key {
                found = at;
                at = node.left;
            } else {
                at = node.right;
            }
        }
        found
    }

    /// The outermost node of a treap in one direction.
    fn edge(&self, root: u32, towards: impl Fn(&Node) -> u32) -> u32 {
        let (mut at, mut last) = (root, NIL);
        while at != NIL {
            last = at;
            at = towards(self.nodes.get(at));
        }
        last
    }

    /// Cuts `range` out of a server's treap. Returns the parts before and after it; the caller sets the root.
    fn take<M: Mode>(
        &mut self,
        server: u32,
        object: u64,
        range: Range<u64>,
        mut taken: impl FnMut(Extent),
    ) -> [u32; 2] {
        self.cut::<M>(server, object, range.start);
        self.cut::<M>(server, object, range.end);
        let root = *self.roots.get(server);
        let [before, rest] = self.split::<M>(root, (object, range.start));
        let [mut inside, after] = self.split::<M>(rest, (object, range.end));
        while inside != NIL {
            let (extent, rest) = self.remove_first::<M>(inside);
            taken(extent);
            inside = rest;
        }
        [before, after]
    }

    /// Splits the extent that contains `at`, if there is one.
    fn cut<M: Mode>(&mut self, server: u32, object: u64, at: u64) {
        let slot = self.floor(server, (object, at));
        if slot == NIL || !self.covers(slot, object, at) || self.nodes.get(slot).start == at {
            return;
        }
        let node = *self.nodes.get(slot);
        self.nodes.edit::<M>(slot).end = at;
        let behind = self.nodes.allocate::<M>(Node {
            start: at,
            left: NIL,
            right: NIL,
            ..node
        });
        let [before, after] = self.split::<M>(*self.roots.get(server), (object, at));
        let front = self.join::<M>(before, behind);
        *self.roots.edit::<M>(server) = self.join::<M>(front, after);
    }

    /// Splits a treap into the keys less than `key` and the others.
    fn split<M: Mode>(&mut self, root: u32, key: (u64, u64)) -> [u32; 2] {
        let (mut roots, mut ends) = ([NIL; 2], [NIL; 2]);
        let mut at = root;
        while at != NIL {
            let node = self.nodes.get(at);
            let below = node.key() < key;
            let (side, next) = if below { (0, node.right) } else { (1, node.left) };
            match ends[side] {
                NIL => roots[side] = at,
                end if below => self.nodes.edit::<M>(end).right = at,
                end => self.nodes.edit::<M>(end).left = at,
            }
            ends[side] = at;
            at = next;
        }
        if ends[0] != NIL {
            self.nodes.edit::<M>(ends[0]).right = NIL;
        }
        if ends[1] != NIL {
            self.nodes.edit::<M>(ends[1]).left = NIL;
        }
        roots
    }

    /// Merges two treaps; all keys of the first are less than those of the second.
    fn join<M: Mode>(&mut self, mut first: u32, mut second: u32) -> u32 {
        let (mut root, mut end, mut to_the_right) = (NIL, NIL, false);
        loop {
            let first_on_top = match (first, second) {
                (_, NIL) => true,
                (NIL, _) => false,
                _ => self.nodes.get(first).priority() > self.nodes.get(second).priority(),
            };
            let top = if first_on_top { first } else { second };
            match end {
                NIL => root = top,
                _ if to_the_right => self.nodes.edit::<M>(end).right = top,
                _ => self.nodes.edit::<M>(end).left = top,
            }
            if first == NIL || second == NIL {
                return root;
            }
            end = top;
            to_the_right = first_on_top;
            if first_on_top {
                first = self.nodes.get(top).right;
            } else {
                second = self.nodes.get(top).left;
            }
        }
    }

    /// Removes and frees the first node of a treap that is not empty. Returns the node and the new root.
    fn remove_first<M: Mode>(&mut self, root: u32) -> (Extent, u32) {
        let (mut above, mut at) = (NIL, root);
        while self.nodes.get(at).left != NIL {
            above = at;
            at = self.nodes.get(at).left;
        }
        let node = *self.nodes.get(at);
        let root = if above == NIL {
            node.right
        } else {
            self.nodes.edit::<M>(above).left = node.right;
            root
        };
        self.nodes.free::<M>(at);
        (node.extent(), root)
    }
}

#[cfg(test)]
mod tests;

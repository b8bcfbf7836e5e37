//! A pool allocator of cells, and linked lists of them.

use super::{CacheLine, Journalled, Mode, NIL, Savepoint, Store};

/// A cell that can be linked into a [`Pool`]'s free list or a [`List`].
pub trait Slot: Copy {
    /// The next slot of the chain, or [`NIL`].
    fn next(&self) -> u32;
    /// Sets the next slot of the chain.
    fn set_next(&mut self, next: u32);
}

/// Makes types [`Slot`]s by their field `next`: `slots!(Request Piece);`.
#[macro_export]
macro_rules! slots {
    ($($cell:ty)*) => {$(
        impl $crate::Slot for $cell {
            fn next(&self) -> u32 {
                self.next
            }
            fn set_next(&mut self, next: u32) {
                self.next = next;
            }
        }
    )*};
}

#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct FreeList {
    head: u32,
    /// Slots at and above this index were never allocated.
    pub(crate) untouched: u32,
    pub(crate) live: u32,
}

/// A store of slots with a free list.
///
/// Slot numbers depend on history and must never influence a result.
#[derive(Debug)]
pub struct Pool<T> {
    pub(crate) slots: Store<T>,
    pub(crate) free: Store<FreeList>,
}

impl<T: Slot> Pool<T> {
    /// An empty pool.
    pub fn new() -> Self {
        Pool {
            slots: Store::new(),
            free: Store::filled(
                1,
                FreeList {
                    head: NIL,
                    untouched: 0,
                    live: 0,
                },
            ),
        }
    }

    /// Allocates and fills a slot; the last freed slot is used first.
    #[inline]
    pub fn allocate<M: Mode>(&mut self, value: T) -> u32 {
        let free = self.free.edit_trusted::<M>(0);
        free.live += 1;
        if free.head != NIL {
            let i = free.head;
            free.head = self.slots.trusted::<M>(i).next();
            *self.slots.edit_trusted::<M>(i) = value;
            return i;
        }
        let i = free.untouched;
        free.untouched += 1;
        if (i as usize) < self.slots.len() {
            *self.slots.edit::<M>(i) = value;
        } else {
            self.slots.grow(value);
        }
        i
    }

    /// Frees slot `i`.
    #[inline]
    pub fn free<M: Mode>(&mut self, i: u32) {
        let free = self.free.edit_trusted::<M>(0);
        let head = free.head;
        // Speculation can reach an impossible state: a panic is better than a cyclic list.
        assert!(
            !M::JOURNAL || (head != i && free.live > 0),
            "a slot is given back twice"
        );
        free.head = i;
        free.live -= 1;
        self.slots.edit::<M>(i).set_next(head);
    }

    /// Slot `i`.
    #[inline(always)]
    pub fn get(&self, i: u32) -> &T {
        self.slots.get(i)
    }

    /// The cache line of slot `i`.
    #[inline(always)]
    pub fn line(&self, i: u32) -> CacheLine {
        self.slots.line(i)
    }

    /// Prefetches slot `i`, if it exists.
    #[inline(always)]
    pub fn prefetch(&self, i: u32) {
        self.slots.prefetch(i);
    }

    /// The value in slot `i`, a number that [`trusted`](super::trusted) allows.
    #[inline(always)]
    pub fn trusted<M: Mode>(&self, i: u32) -> &T {
        self.slots.trusted::<M>(i)
    }

    /// Mutable access to slot `i`, a number that [`trusted`](super::trusted) allows.
    #[inline(always)]
    pub fn edit_trusted<M: Mode>(&mut self, i: u32) -> &mut T {
        self.slots.edit_trusted::<M>(i)
    }

    /// Mutable access to slot `i`.
    #[inline(always)]
    pub fn edit<M: Mode>(&mut self, i: u32) -> &mut T {
        self.slots.edit::<M>(i)
    }

    /// Number of slots ever allocated: slots from this number on are untouched.
    pub fn touched(&self) -> u32 {
        self.free.get(0).untouched
    }

    /// Number of slots in use.
    pub fn live(&self) -> u32 {
        self.free.get(0).live
    }

    /// The values in use, by slot number. Takes time and memory in proportion to all slots.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.slots().into_iter().map(|slot| self.slots.get(slot))
    }

    /// The slots in use, by number. Takes time and memory in proportion to all slots.
    pub fn slots(&self) -> Vec<u32> {
        let free = self.free.get(0);
        let mut taken = vec![true; free.untouched as usize];
        let mut at = free.head;
        while at != NIL {
            taken[at as usize] = false;
            at = self.slots.get(at).next();
        }
        (0..)
            .zip(taken)
            .filter_map(|(slot, taken)| taken.then_some(slot))
            .collect()
    }

    /// Bytes copied by the next growth of the pool, if it happens within `soon` slots.
    pub fn growth(&self, soon: usize) -> usize {
        self.slots.growth(soon)
    }
}

impl<T: Slot> Default for Pool<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: Slot + serde::Serialize> Journalled for Pool<T> {
    fn undo(&mut self, from: Savepoint) {
        self.slots.undo(from);
        self.free.undo(from);
    }

    fn fossil_collect(&mut self, until: Savepoint) {
        self.slots.fossil_collect(until);
        self.free.fossil_collect(until);
    }

    fn commit(&mut self) {
        self.slots.commit();
        self.free.commit();
    }

    fn logged(&self) -> usize {
        self.slots.logged() + self.free.logged()
    }

    fn memory(&self) -> usize {
        self.slots.memory() + self.free.memory()
    }

    fn fingerprint(&self, digest: &mut crate::Digest) {
        // Slots beyond the high-water mark were never allocated and may hold leftovers of a rollback.
        let used = self.free.get(0).untouched;
        digest.data(self.free.get(0));
        for i in 0..used {
            digest.data(self.slots.get(i));
        }
    }
}

/// A first-in-first-out chain through the slots of a pool. A small `Copy` value: it lives inside the cell of its owner
/// and is journaled with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct List {
    /// The first slot, or [`NIL`].
    pub head: u32,
    /// The last slot, or [`NIL`].
    pub tail: u32,
}

impl Default for List {
    fn default() -> Self {
        List::EMPTY
    }
}

impl List {
    /// The empty list.
    pub const EMPTY: List = List { head: NIL, tail: NIL };

    /// Whether the list has no slot.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.head == NIL
    }

    /// Appends slot `i` of `pool`.
    #[inline]
    pub fn push<M: Mode, T: Slot>(&mut self, pool: &mut Pool<T>, i: u32) {
        pool.edit::<M>(i).set_next(NIL);
        if self.tail == NIL {
            self.head = i;
        } else {
            pool.edit::<M>(self.tail).set_next(i);
        }
        self.tail = i;
    }

    /// Removes and returns the first slot.
    #[inline]
    pub fn pop<T: Slot>(&mut self, pool: &Pool<T>) -> Option<u32> {
        if self.head == NIL {
            return None;
        }
        let i = self.head;
        self.head = pool.get(i).next();
        if self.head == NIL {
            self.tail = NIL;
        }
        Some(i)
    }

    /// Removes and returns the first slot that satisfies `wanted`, keeping the order of the others.
    pub fn remove_first<M: Mode, T: Slot>(&mut self, pool: &mut Pool<T>, wanted: impl Fn(&T) -> bool) -> Option<u32> {
        let (mut before, mut i) = (NIL, self.head);
        while i != NIL {
            let next = pool.get(i).next();
            if wanted(pool.get(i)) {
                if before == NIL {
                    self.head = next;
                } else {
                    pool.edit::<M>(before).set_next(next);
                }
                if next == NIL {
                    self.tail = before;
                }
                return Some(i);
            }
            before = i;
            i = next;
        }
        None
    }

    /// The slots in order.
    pub fn iter<'a, T: Slot>(&self, pool: &'a Pool<T>) -> impl Iterator<Item = u32> + 'a {
        let mut i = self.head;
        std::iter::from_fn(move || {
            if i == NIL {
                return None;
            }
            let this = i;
            i = pool.get(i).next();
            Some(this)
        })
    }
}

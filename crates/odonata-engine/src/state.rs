//! State that can be taken back: cells with an undo log.
//!
//! A [`Store`] is a vector of small `Copy` cells. Changing a cell under a journalling [`Mode`]
//! saves its old value first, with the [`Moment`] at which that was; [`Journalled::undo`] restores
//! everything as it was before a moment. Under [`Plain`] the log does not exist in the compiled code.
//!
//! A [`Pool`] is a store with a free list (no allocation per event in steady state), a [`List`] a
//! first-in-first-out chain through a pool's slots.
//!
//! Cost of the log: one copy of the cell per edit (cells are at most a cache line or two), bounded
//! by [`Journalled::forget`] and [`Journalled::commit`], which drop what can no longer be taken back.
//! A store that an event does not touch costs that event nothing.

mod pool;
mod prefetch;
mod rows;
#[cfg(test)]
mod tests;

use std::cell::Cell as Local;
use std::collections::VecDeque;

pub(crate) use pool::FreeList;
pub use pool::{List, Pool, Slot};
pub use rows::Rows;

/// Whether changes must be undoable. Chosen at compile time, once per scheduler.
pub trait Mode {
    /// `true` where a rollback can happen.
    const JOURNAL: bool;
}

/// No rollback can happen: edits are plain writes.
#[derive(Debug)]
pub struct Plain;
impl Mode for Plain {
    const JOURNAL: bool = false;
}

/// A rollback may happen: edits are logged.
#[derive(Debug)]
pub struct Speculative;
impl Mode for Speculative {
    const JOURNAL: bool = true;
}

/// No slot: the end of a list, an empty reference.
pub const NIL: u32 = u32::MAX;

/// The number of an event among those that can be taken back. It wraps: moments that are compared lie less than 2^31
/// apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment(pub u32);

impl Moment {
    /// Whether it is no earlier than `other`.
    #[inline]
    pub fn is_from(self, other: Moment) -> bool {
        self.0.wrapping_sub(other.0) as i32 >= 0
    }

    /// So many events later.
    #[inline]
    pub fn later(self, events: u32) -> Moment {
        Moment(self.0.wrapping_add(events))
    }

    /// From here on it is this moment, for all that this thread edits in a journalling mode.
    #[inline]
    pub fn begin(self) {
        NOW.set(self);
    }

    #[inline(always)]
    fn now() -> Moment {
        NOW.get()
    }
}

thread_local! {
    // Here, and not in the context of an event, so that no edit needs a context.
    static NOW: Local<Moment> = const { Local::new(Moment(0)) };
}

/// Something whose changes under a journalling mode can be taken back.
///
/// Composite state implements it with [`journalled!`](crate::journalled).
pub trait Journalled {
    /// Takes back what was done from the moment `from` on.
    fn undo(&mut self, from: Moment);
    /// Forgets how to take back what was done before `until`.
    fn forget(&mut self, until: Moment);
    /// Forgets how to take anything back.
    fn commit(&mut self);
    /// Bytes that the undo log holds.
    fn logged(&self) -> usize;
    /// Adds the state's content, as it would be saved, to a digest: for proving that undo restored it.
    fn fingerprint(&self, digest: &mut crate::Digest);
}

/// Implements [`Journalled`] and [`Saved`](crate::Saved) for a struct by naming its journalled fields.
///
/// ```
/// use odonata_engine::{journalled, Journalled, Moment, Speculative, Store};
/// struct Counter { count: Store<u64> }
/// journalled!(Counter { count });
///
/// let mut counter = Counter { count: Store::filled(1, 5) };
/// Moment(1).begin();
/// *counter.count.edit::<Speculative>(0) = 6;
/// counter.undo(Moment(1));
/// assert_eq!(*counter.count.get(0), 5);
/// ```
#[macro_export]
macro_rules! journalled {
    ($type:ident { $($field:ident),* $(,)? }) => {
        impl $crate::Journalled for $type {
            fn undo(&mut self, from: $crate::Moment) {
                $( $crate::Journalled::undo(&mut self.$field, from); )*
            }
            fn forget(&mut self, until: $crate::Moment) {
                $( $crate::Journalled::forget(&mut self.$field, until); )*
            }
            fn commit(&mut self) {
                $( $crate::Journalled::commit(&mut self.$field); )*
            }
            fn logged(&self) -> usize {
                0 $( + $crate::Journalled::logged(&self.$field) )*
            }
            fn fingerprint(&self, digest: &mut $crate::Digest) {
                $( $crate::Journalled::fingerprint(&self.$field, digest); )*
            }
        }
        impl $crate::Saved for $type {
            fn save(&self, to: &mut $crate::saved::Saver<'_>) {
                $( $crate::Saved::save(&self.$field, to); )*
            }
            fn load(&mut self, from: &mut $crate::saved::Loader<'_>) -> Result<(), $crate::saved::Damaged> {
                $( $crate::Saved::load(&mut self.$field, from)?; )*
                Ok(())
            }
        }
    };
}

/// A vector of cells with an undo log.
#[derive(Debug)]
pub struct Store<T> {
    pub(crate) cells: Vec<T>,
    /// What cells were before they were edited, and at which moment that was, oldest first.
    pub(crate) log: VecDeque<(Moment, u32, T)>,
}

impl<T: Copy> Store<T> {
    /// An empty store.
    pub fn new() -> Self {
        Store {
            cells: Vec::new(),
            log: VecDeque::new(),
        }
    }

    /// `n` cells, each `value`.
    pub fn filled(n: usize, value: T) -> Self {
        Store {
            cells: vec![value; n],
            log: VecDeque::new(),
        }
    }

    /// A store over given cells.
    pub fn from_vec(cells: Vec<T>) -> Self {
        Store {
            cells,
            log: VecDeque::new(),
        }
    }

    /// Cell `i`.
    #[inline(always)]
    pub fn get(&self, i: u32) -> &T {
        &self.cells[i as usize]
    }

    /// Fetches cell `i` into the cache, if there is one.
    #[inline(always)]
    pub fn prefetch(&self, i: u32) {
        if let Some(cell) = self.cells.get(i as usize) {
            prefetch::prefetch(cell);
        }
    }

    /// Cell `i`, to be changed; the old value is logged if `M` journals.
    #[inline(always)]
    pub fn edit<M: Mode>(&mut self, i: u32) -> &mut T {
        let cell = &mut self.cells[i as usize];
        if M::JOURNAL {
            let now = Moment::now();
            // Handlers often edit a cell twice in a row: what it was before the event is in the log then.
            let known = |&(moment, cell, _): &(Moment, u32, T)| (moment, cell) == (now, i);
            if !self.log.back().is_some_and(known) {
                self.log.push_back((now, i, *cell));
            }
        }
        cell
    }

    /// Number of cells.
    pub fn len(&self) -> usize {
        self.cells.len()
    }

    /// Whether there is no cell.
    pub fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    /// All cells, in order.
    pub fn iter(&self) -> std::slice::Iter<'_, T> {
        self.cells.iter()
    }

    /// Adds a cell that no event can yet have seen (growth itself is never undone).
    pub fn grow(&mut self, value: T) {
        self.cells.push(value);
    }

    /// Bytes of memory held, the log included.
    pub fn memory(&self) -> usize {
        self.cells.capacity() * size_of::<T>() + self.log.capacity() * size_of::<(Moment, u32, T)>()
    }
}

impl<T: Copy> Default for Store<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: Copy + serde::Serialize> Journalled for Store<T> {
    fn undo(&mut self, from: Moment) {
        while let Some(&(moment, i, old)) = self.log.back()
            && moment.is_from(from)
        {
            self.cells[i as usize] = old;
            self.log.pop_back();
        }
    }

    fn forget(&mut self, until: Moment) {
        while self.log.front().is_some_and(|(moment, ..)| !moment.is_from(until)) {
            self.log.pop_front();
        }
    }

    fn commit(&mut self) {
        self.log.clear();
    }

    fn logged(&self) -> usize {
        self.log.len() * size_of::<(Moment, u32, T)>()
    }

    fn fingerprint(&self, digest: &mut crate::Digest) {
        digest.data(&self.cells);
    }
}

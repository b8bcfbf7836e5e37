//! State with rollback: cells with an undo log.
//!
//! A [`Store`] is a vector of small `Copy` cells. Changing a cell under a journaling [`Mode`] first logs its old value
//! with the current [`Savepoint`]. [`Journalled::undo`] restores the state before a savepoint. Under [`Plain`], the log
//! does not exist in the compiled code.
//!
//! A [`Pool`] is a store with a free list (no allocation per event in steady state), a [`List`] a first-in-first-out
//! chain through a pool's slots.
//!
//! Cost of the log: one copy of the cell per edit (cells are at most a cache line or two).
//! [`Journalled::fossil_collect`] and [`Journalled::commit`] bound it by dropping entries that are final. A store that
//! an event does not touch costs that event nothing.

mod pool;
mod prefetch;
mod rows;
#[cfg(test)]
mod tests;
pub mod trusted;

use std::cell::Cell as Local;
use std::collections::VecDeque;

pub(crate) use pool::FreeList;
pub use pool::{List, Pool, Slot};
pub use prefetch::CacheLine;
pub(crate) use prefetch::{prefetch, prefetch_span};
pub use rows::Rows;
pub use trusted::{cell, cell_mut};

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

/// A savepoint: the number of an event in the undo log. It wraps; compared savepoints are less than 2^31 apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Savepoint(pub u32);

impl Savepoint {
    /// Whether it is not before `other`.
    #[inline]
    pub fn is_from(self, other: Savepoint) -> bool {
        self.0.wrapping_sub(other.0) as i32 >= 0
    }

    /// The savepoint `events` events later.
    #[inline]
    pub fn later(self, events: u32) -> Savepoint {
        Savepoint(self.0.wrapping_add(events))
    }

    /// Makes this the current savepoint of all edits of this thread in a journaling mode.
    #[inline]
    pub fn begin(self) {
        NOW.set(self);
    }

    #[inline(always)]
    fn now() -> Savepoint {
        NOW.get()
    }
}

thread_local! {
    // A thread-local variable, so edits need no context.
    static NOW: Local<Savepoint> = const { Local::new(Savepoint(0)) };
}

/// State whose changes under a journaling mode can be undone.
///
/// Composite state implements it with [`journalled!`](crate::journalled).
pub trait Journalled {
    /// Undoes all changes since the savepoint `from`.
    fn undo(&mut self, from: Savepoint);
    /// Fossil collection: drops the undo log before `until`.
    fn fossil_collect(&mut self, until: Savepoint);
    /// Drops the whole undo log.
    fn commit(&mut self);
    /// Size of the undo log in bytes.
    fn logged(&self) -> usize;
    /// Bytes of memory held by the cells and the undo log, at their present capacity.
    fn memory(&self) -> usize;
    /// Adds the saved form of the state to a digest: proves that undo restored it.
    fn fingerprint(&self, digest: &mut crate::Digest);
}

/// Implements [`Journalled`] and [`Saved`](crate::Saved) for a struct by its journaled fields.
///
/// ```
/// use odonata_engine::{journalled, Journalled, Savepoint, Speculative, Store};
/// struct Counter { count: Store<u64> }
/// journalled!(Counter { count });
///
/// let mut counter = Counter { count: Store::filled(1, 5) };
/// Savepoint(1).begin();
/// *counter.count.edit::<Speculative>(0) = 6;
/// counter.undo(Savepoint(1));
/// assert_eq!(*counter.count.get(0), 5);
/// ```
#[macro_export]
macro_rules! journalled {
    ($type:ident $(<$generic:ident: $bound:path>)? { $($field:ident),* $(,)? }) => {
        impl $(<$generic: $bound>)? $crate::Journalled for $type $(<$generic>)? {
            fn undo(&mut self, from: $crate::Savepoint) {
                $( $crate::Journalled::undo(&mut self.$field, from); )*
            }
            fn fossil_collect(&mut self, until: $crate::Savepoint) {
                $( $crate::Journalled::fossil_collect(&mut self.$field, until); )*
            }
            fn commit(&mut self) {
                $( $crate::Journalled::commit(&mut self.$field); )*
            }
            fn logged(&self) -> usize {
                0 $( + $crate::Journalled::logged(&self.$field) )*
            }
            fn memory(&self) -> usize {
                0 $( + $crate::Journalled::memory(&self.$field) )*
            }
            fn fingerprint(&self, digest: &mut $crate::Digest) {
                $( $crate::Journalled::fingerprint(&self.$field, digest); )*
            }
        }
        impl $(<$generic: $bound>)? $crate::Saved for $type $(<$generic>)? {
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

/// Size in bytes from which a vector grows by an eighth instead of doubling: a vector of half of the memory can still
/// grow.
const LARGE: usize = 64 << 20;

/// Whether a vector of these cells grows without copying: allocators remap pages only for memory of the usual
/// alignment.
const fn grows_in_place<T>() -> bool {
    align_of::<T>() <= 2 * align_of::<usize>()
}

/// Makes room in a large, full vector. A vector that must be copied to grow does so rarely.
#[inline]
pub(crate) fn make_room<T>(cells: &mut Vec<T>) {
    if grows_in_place::<T>() && cells.len() == cells.capacity() && size_of_val(&cells[..]) >= LARGE {
        cells.reserve_exact(cells.len() / 8);
    }
}

/// A vector of cells with an undo log.
#[derive(Debug)]
pub struct Store<T> {
    pub(crate) cells: Vec<T>,
    /// The old values of edited cells with the savepoints of the edits, oldest first.
    pub(crate) log: VecDeque<(Savepoint, u32, T)>,
}

/// Logs the value of cell `i` before the present event.
#[inline(always)]
fn log_cell<T>(log: &mut VecDeque<(Savepoint, u32, T)>, i: u32, value: T) {
    let now = Savepoint::now();
    // Handlers often edit a cell twice in a row: the log already has the value before the event.
    let known = |&(savepoint, cell, _): &(Savepoint, u32, T)| (savepoint, cell) == (now, i);
    if !log.back().is_some_and(known) {
        log.push_back((now, i, value));
    }
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

    /// The cache line of cell `i`.
    #[inline(always)]
    pub fn line(&self, i: u32) -> CacheLine {
        CacheLine::of(&self.cells, i)
    }

    /// Fetches cell `i` into the cache, if there is one.
    #[inline(always)]
    pub fn prefetch(&self, i: u32) {
        prefetch(&self.cells, i);
    }

    /// Fetches `count` cells from cell `first` on into the cache, if they exist.
    #[inline(always)]
    pub fn prefetch_span(&self, first: u32, count: u32) {
        prefetch_span(&self.cells, first, count);
    }

    /// Mutable access to cell `i`; logs the old value if `M` journals.
    #[inline(always)]
    pub fn edit<M: Mode>(&mut self, i: u32) -> &mut T {
        let cell = &mut self.cells[i as usize];
        if M::JOURNAL {
            log_cell(&mut self.log, i, *cell);
        }
        cell
    }

    /// Cell `i`, a number that [`trusted`] allows: checked only if `M` journals.
    #[inline(always)]
    pub fn trusted<M: Mode>(&self, i: u32) -> &T {
        cell::<M, T>(&self.cells, i)
    }

    /// Mutable access to cell `i`, a number that [`trusted`] allows; logs the old value if `M` journals.
    #[inline(always)]
    pub fn edit_trusted<M: Mode>(&mut self, i: u32) -> &mut T {
        let cell = cell_mut::<M, T>(&mut self.cells, i);
        if M::JOURNAL {
            log_cell(&mut self.log, i, *cell);
        }
        cell
    }

    /// Number of cells.
    pub fn len(&self) -> usize {
        self.cells.len()
    }

    /// Whether the store is empty.
    pub fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    /// All cells, in order.
    pub fn iter(&self) -> std::slice::Iter<'_, T> {
        self.cells.iter()
    }

    /// Adds a cell that no event has seen yet (growth itself is never undone).
    pub fn grow(&mut self, value: T) {
        make_room(&mut self.cells);
        self.cells.push(value);
    }

    /// Bytes copied by the next growth of the store, if it happens within `soon` cells; 0 otherwise, or if growth
    /// copies nothing.
    pub fn growth(&self, soon: usize) -> usize {
        match self.cells.capacity() - self.cells.len() <= soon && !grows_in_place::<T>() {
            true => size_of_val(&self.cells[..]),
            false => 0,
        }
    }
}

impl<T: Copy> Default for Store<T> {
    fn default() -> Self {
        Self::new()
    }
}

/// State that most runs do without: apart from that of all, so that it takes no room beside it.
impl<T: Journalled> Journalled for Option<Box<T>> {
    fn undo(&mut self, from: Savepoint) {
        if let Some(state) = self {
            state.undo(from);
        }
    }

    fn fossil_collect(&mut self, until: Savepoint) {
        if let Some(state) = self {
            state.fossil_collect(until);
        }
    }

    fn commit(&mut self) {
        if let Some(state) = self {
            state.commit();
        }
    }

    fn logged(&self) -> usize {
        self.as_ref().map_or(0, |state| state.logged())
    }

    fn memory(&self) -> usize {
        self.as_ref().map_or(0, |state| size_of::<T>() + state.memory())
    }

    fn fingerprint(&self, digest: &mut crate::Digest) {
        if let Some(state) = self {
            state.fingerprint(digest);
        }
    }
}

impl<T: Copy + serde::Serialize> Journalled for Store<T> {
    fn undo(&mut self, from: Savepoint) {
        while let Some(&(savepoint, i, old)) = self.log.back()
            && savepoint.is_from(from)
        {
            self.cells[i as usize] = old;
            self.log.pop_back();
        }
    }

    fn fossil_collect(&mut self, until: Savepoint) {
        while self
            .log
            .front()
            .is_some_and(|(savepoint, ..)| !savepoint.is_from(until))
        {
            self.log.pop_front();
        }
    }

    fn commit(&mut self) {
        self.log.clear();
    }

    fn logged(&self) -> usize {
        self.log.len() * size_of::<(Savepoint, u32, T)>()
    }

    fn memory(&self) -> usize {
        self.cells.capacity() * size_of::<T>() + self.log.capacity() * size_of::<(Savepoint, u32, T)>()
    }

    fn fingerprint(&self, digest: &mut crate::Digest) {
        digest.data(&self.cells);
    }
}

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

use std::cell::Cell as Local;
use std::collections::VecDeque;

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
    /// Adds the state's content to a digest, for proving that undo restored it.
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

impl<T: Copy + std::fmt::Debug> Journalled for Store<T> {
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
        digest.text(&format!("{:?}", self.cells));
    }
}

/// A cell that can be linked into a [`Pool`]'s free list or a [`List`].
pub trait Slot: Copy {
    /// The next slot of the chain, or [`NIL`].
    fn next(&self) -> u32;
    /// Sets the next slot of the chain.
    fn set_next(&mut self, next: u32);
}

#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct FreeList {
    head: u32,
    /// Slots at and above this index were never handed out.
    pub(crate) untouched: u32,
    pub(crate) live: u32,
}

/// A store of slots that are taken and given back.
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

    /// Takes a slot, the last one freed first, and fills it.
    #[inline]
    pub fn take<M: Mode>(&mut self, value: T) -> u32 {
        let free = self.free.edit::<M>(0);
        free.live += 1;
        if free.head != NIL {
            let i = free.head;
            free.head = self.slots.get(i).next();
            *self.slots.edit::<M>(i) = value;
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

    /// Gives slot `i` back.
    #[inline]
    pub fn give<M: Mode>(&mut self, i: u32) {
        let free = self.free.edit::<M>(0);
        let head = free.head;
        // A state that can never be, which a speculation may come to: better a panic than a list in a circle.
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

    /// Slot `i`, to be changed.
    #[inline(always)]
    pub fn edit<M: Mode>(&mut self, i: u32) -> &mut T {
        self.slots.edit::<M>(i)
    }

    /// Slots that were ever taken: all others have higher numbers.
    pub fn touched(&self) -> u32 {
        self.free.get(0).untouched
    }

    /// Slots taken and not given back.
    pub fn live(&self) -> u32 {
        self.free.get(0).live
    }

    /// The slots taken and not given back, by number. Takes time and memory in proportion to all slots.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        let free = self.free.get(0);
        let mut taken = vec![true; free.untouched as usize];
        let mut at = free.head;
        while at != NIL {
            taken[at as usize] = false;
            at = self.slots.get(at).next();
        }
        self.slots
            .iter()
            .zip(taken)
            .filter_map(|(slot, taken)| taken.then_some(slot))
    }

    /// Bytes of memory held.
    pub fn memory(&self) -> usize {
        self.slots.memory()
    }
}

impl<T: Slot> Default for Pool<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: Slot + std::fmt::Debug> Journalled for Pool<T> {
    fn undo(&mut self, from: Moment) {
        self.slots.undo(from);
        self.free.undo(from);
    }

    fn forget(&mut self, until: Moment) {
        self.slots.forget(until);
        self.free.forget(until);
    }

    fn commit(&mut self) {
        self.slots.commit();
        self.free.commit();
    }

    fn logged(&self) -> usize {
        self.slots.logged() + self.free.logged()
    }

    fn fingerprint(&self, digest: &mut crate::Digest) {
        // Slots beyond the high-water mark were never handed out and may hold leftovers of a rollback.
        let used = self.free.get(0).untouched;
        digest.text(&format!("{:?}", self.free.get(0)));
        for i in 0..used {
            digest.text(&format!("{:?}", self.slots.get(i)));
        }
    }
}

/// A first-in-first-out chain through the slots of a pool. A small `Copy` value: it lives inside
/// the cell that owns the chain, and is journalled with it.
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

/// An append-only sequence of records. Undo cuts it back.
#[derive(Debug)]
pub struct Rows<T> {
    pub(crate) rows: Vec<T>,
    /// When those of the last rows were made that can be taken back.
    pub(crate) log: VecDeque<Moment>,
}

impl<T> Rows<T> {
    /// No record yet.
    pub const fn new() -> Self {
        Rows {
            rows: Vec::new(),
            log: VecDeque::new(),
        }
    }

    /// Appends a record.
    pub fn push<M: Mode>(&mut self, row: T) {
        if M::JOURNAL {
            self.log.push_back(Moment::now());
        }
        self.rows.push(row);
    }

    /// The records, in the order in which they were made.
    pub fn as_slice(&self) -> &[T] {
        &self.rows
    }
}

impl<T> Default for Rows<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: std::fmt::Debug> Journalled for Rows<T> {
    fn undo(&mut self, from: Moment) {
        while self.log.back().is_some_and(|moment| moment.is_from(from)) {
            self.log.pop_back();
            self.rows.pop();
        }
    }

    fn forget(&mut self, until: Moment) {
        while self.log.front().is_some_and(|moment| !moment.is_from(until)) {
            self.log.pop_front();
        }
    }

    fn commit(&mut self) {
        self.log.clear();
    }

    fn logged(&self) -> usize {
        self.log.len() * size_of::<Moment>()
    }

    fn fingerprint(&self, digest: &mut crate::Digest) {
        digest.text(&format!("{:?}", self.rows));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
    struct Node {
        value: u32,
        next: u32,
    }
    impl Slot for Node {
        fn next(&self) -> u32 {
            self.next
        }
        fn set_next(&mut self, next: u32) {
            self.next = next;
        }
    }

    struct Chains {
        pool: Pool<Node>,
        list: Store<List>,
    }
    crate::journalled!(Chains { pool, list });

    fn fingerprint(chains: &Chains) -> u128 {
        let mut digest = crate::Digest::new();
        chains.fingerprint(&mut digest);
        digest.value()
    }

    fn values(chains: &Chains) -> Vec<u32> {
        chains
            .list
            .get(0)
            .iter(&chains.pool)
            .map(|i| chains.pool.get(i).value)
            .collect()
    }

    fn push(chains: &mut Chains, value: u32) {
        let i = chains.pool.take::<Speculative>(Node { value, next: NIL });
        let mut list = *chains.list.get(0);
        list.push::<Speculative, _>(&mut chains.pool, i);
        *chains.list.edit::<Speculative>(0) = list;
    }

    #[test]
    fn undo_restores_lists_pools_and_the_free_list() {
        let mut chains = Chains {
            pool: Pool::new(),
            list: Store::filled(1, List::EMPTY),
        };
        for v in 0..5 {
            push(&mut chains, v);
        }
        let before = fingerprint(&chains);
        Moment(1).begin();
        let mut list = *chains.list.get(0);
        let gone = list
            .remove_first::<Speculative, _>(&mut chains.pool, |n| n.value == 2)
            .unwrap();
        chains.pool.give::<Speculative>(gone);
        *chains.list.edit::<Speculative>(0) = list;
        push(&mut chains, 7);
        push(&mut chains, 8);
        assert_eq!(values(&chains), [0, 1, 3, 4, 7, 8]);
        chains.undo(Moment(1));
        assert_eq!(values(&chains), [0, 1, 2, 3, 4]);
        assert_eq!(fingerprint(&chains), before);
        assert_eq!(chains.pool.live(), 5);
    }

    /// Moments wrap; what was forgotten stays as it is, whatever is taken back.
    #[test]
    fn undo_goes_back_to_any_moment_that_was_not_forgotten() {
        for first in [0, u32::MAX - 4] {
            let (mut cells, mut rows) = (Store::filled(2, 0), Rows::new());
            for event in 1..=9 {
                Moment(first).later(event).begin();
                *cells.edit::<Speculative>(event % 2) = event;
                *cells.edit::<Speculative>(0) += 100;
                rows.push::<Speculative>(event);
            }
            let at = |event| Moment(first).later(event);
            cells.undo(at(8));
            rows.undo(at(8));
            assert_eq!((cells.cells.as_slice(), rows.as_slice().len()), (&[206, 7][..], 7));
            cells.forget(at(5));
            rows.forget(at(5));
            // Events 5 and 7 have changed two cells, event 6 one of them twice.
            let logged = 5 * size_of::<(Moment, u32, u32)>();
            assert_eq!((cells.logged(), rows.logged()), (logged, 12));
            cells.undo(at(1));
            rows.undo(at(1));
            assert_eq!(
                (cells.cells.as_slice(), rows.as_slice()),
                (&[104, 3][..], &[1, 2, 3, 4][..])
            );
            assert_eq!((cells.logged(), rows.logged()), (0, 0));
        }
    }

    #[test]
    fn removing_the_last_slot_moves_the_tail() {
        let mut chains = Chains {
            pool: Pool::new(),
            list: Store::filled(1, List::EMPTY),
        };
        for v in 0..3 {
            push(&mut chains, v);
        }
        let mut list = *chains.list.get(0);
        list.remove_first::<Plain, _>(&mut chains.pool, |n| n.value == 2)
            .unwrap();
        *chains.list.edit::<Plain>(0) = list;
        push(&mut chains, 9);
        assert_eq!(values(&chains), [0, 1, 9]);
    }
}

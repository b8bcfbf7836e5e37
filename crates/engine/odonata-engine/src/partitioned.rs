//! Stores of a part, addressed by cell numbers of the whole model.
//!
//! A part holds only the cells of its own LPs. Contiguous cells need only the first number ([`RangeStore`]). Scattered
//! cells, such as ranks over nodes, need a table from numbers to cells ([`SparseStore`]).

use crate::{Digest, Journalled, Mode, NIL, Savepoint, Store};
use std::ops::Range;
use std::sync::Arc;

/// Journalled cells of a range of the model's numbers.
#[derive(Debug)]
pub struct RangeStore<T> {
    first: u32,
    pub(crate) cells: Store<T>,
}

impl<T: Copy> RangeStore<T> {
    /// A cell `value` for each of `numbers`.
    pub fn filled(numbers: Range<u32>, value: T) -> Self {
        RangeStore {
            first: numbers.start,
            cells: Store::filled(numbers.len(), value),
        }
    }

    /// A cell for each of `numbers`, created by `make`.
    pub fn with(numbers: Range<u32>, make: impl FnMut(u32) -> T) -> Self {
        RangeStore {
            first: numbers.start,
            cells: Store::from_vec(numbers.map(make).collect()),
        }
    }

    /// The cell of number `i`.
    #[inline(always)]
    pub fn get(&self, i: u32) -> &T {
        self.cells.get(i.wrapping_sub(self.first))
    }

    /// Mutable access to the cell of number `i`.
    #[inline(always)]
    pub fn edit<M: Mode>(&mut self, i: u32) -> &mut T {
        self.cells.edit::<M>(i.wrapping_sub(self.first))
    }

    /// Mutable access to the cell of number `i`, which [`trusted`](crate::state::trusted) allows.
    #[inline(always)]
    pub fn edit_trusted<M: Mode>(&mut self, i: u32) -> &mut T {
        self.cells.edit_trusted::<M>(i.wrapping_sub(self.first))
    }

    /// Number of cells.
    pub fn len(&self) -> usize {
        self.cells.len()
    }

    /// Whether the store is empty.
    pub fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    /// All cells, in the order of their numbers.
    pub fn iter(&self) -> std::slice::Iter<'_, T> {
        self.cells.iter()
    }
}

/// Journalled cells of numbers that are scattered over the model.
#[derive(Debug)]
pub struct SparseStore<T> {
    /// The index of each number's cell in its part; the same table for all parts. Empty if this part has all cells, in
    /// order.
    places: Arc<[u32]>,
    /// The numbers with a cell here, in order; empty if this part has all cells.
    numbers: Arc<[u32]>,
    pub(crate) cells: Store<T>,
}

impl<T: Copy> SparseStore<T> {
    /// A cell for each number from 0.
    pub fn all(cells: Vec<T>) -> Self {
        SparseStore {
            places: Arc::new([]),
            numbers: Arc::new([]),
            cells: Store::from_vec(cells),
        }
    }

    /// Cells for `numbers` only; `places[i]` is the index of the cell of number `i` in its part.
    pub fn some(places: Arc<[u32]>, numbers: Arc<[u32]>, make: impl FnMut(u32) -> T) -> Self {
        let cells = numbers.iter().copied().map(make).collect();
        SparseStore {
            places,
            numbers,
            cells: Store::from_vec(cells),
        }
    }

    #[inline(always)]
    fn place(&self, i: u32) -> u32 {
        match self.places.get(i as usize) {
            Some(&place) => place,
            None => i,
        }
    }

    /// The cell of number `i`, which must have one here.
    #[inline(always)]
    pub fn get(&self, i: u32) -> &T {
        self.cells.get(self.place(i))
    }

    /// Mutable access to the cell of number `i`.
    #[inline(always)]
    pub fn edit<M: Mode>(&mut self, i: u32) -> &mut T {
        let place = self.place(i);
        self.cells.edit::<M>(place)
    }

    /// The numbers with a cell here, and the cells, in order.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &T)> + '_ {
        let number = |place: usize| self.numbers.get(place).map_or(place as u32, |&number| number);
        self.cells
            .iter()
            .enumerate()
            .map(move |(place, cell)| (number(place), cell))
    }

    /// Number of cells.
    pub fn len(&self) -> usize {
        self.cells.len()
    }

    /// Whether the store is empty.
    pub fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }
}

impl<T: Copy> Default for SparseStore<T> {
    /// An empty store.
    fn default() -> Self {
        SparseStore::all(Vec::new())
    }
}

/// Assigns each of `numbers` items to a part with `part_of`. Returns the index of each item within its part, and the
/// items of each of the `parts` parts in order.
pub fn local_indices(
    numbers: u32,
    parts: usize,
    part_of: impl Fn(u32) -> Option<usize>,
) -> (Arc<[u32]>, Vec<Arc<[u32]>>) {
    let mut lists: Vec<Vec<u32>> = vec![Vec::new(); parts];
    let place = |i| {
        let Some(part) = part_of(i) else { return NIL };
        lists[part].push(i);
        lists[part].len() as u32 - 1
    };
    let places = (0..numbers).map(place).collect();
    (places, lists.into_iter().map(Arc::from).collect())
}

macro_rules! journalled_cells {
    ($($type:ident)*) => { $(
        impl<T: Copy + serde::Serialize> Journalled for $type<T> {
            fn undo(&mut self, from: Savepoint) {
                self.cells.undo(from);
            }
            fn fossil_collect(&mut self, until: Savepoint) {
                self.cells.fossil_collect(until);
            }
            fn commit(&mut self) {
                self.cells.commit();
            }
            fn logged(&self) -> usize {
                self.cells.logged()
            }
            fn memory(&self) -> usize {
                self.cells.memory()
            }
            fn fingerprint(&self, digest: &mut Digest) {
                self.cells.fingerprint(digest);
            }
        }
    )* };
}
journalled_cells!(RangeStore SparseStore);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Plain;

    #[test]
    fn cells_of_a_range_keep_their_numbers() {
        let mut cells = RangeStore::with(7..10, |i| i * 10);
        *cells.edit::<Plain>(9) += 1;
        assert_eq!((7..10).map(|i| *cells.get(i)).collect::<Vec<_>>(), [70, 80, 91]);
        assert_eq!(cells.iter().copied().collect::<Vec<_>>(), [70, 80, 91]);
        for outside in [0, 6, 10, u32::MAX] {
            assert!(std::panic::catch_unwind(|| *cells.get(outside)).is_err(), "{outside}");
        }
    }

    #[test]
    fn scattered_cells_keep_their_numbers() {
        let (table, lists) = local_indices(7, 2, |i| (i != 3).then_some(usize::from(i % 3 == 0)));
        let mut odd = SparseStore::some(table.clone(), lists[1].clone(), |i| i * 10);
        let even = SparseStore::some(table, lists[0].clone(), |i| i * 10);
        *odd.edit::<Plain>(6) += 1;
        assert_eq!(odd.iter().collect::<Vec<_>>(), [(0, &0), (6, &61)]);
        assert_eq!(even.iter().map(|(i, _)| i).collect::<Vec<_>>(), [1, 2, 4, 5]);
        assert_eq!(*even.get(5), 50);
        let all = SparseStore::all(vec![5, 6]);
        assert_eq!(all.iter().collect::<Vec<_>>(), [(0, &5), (1, &6)]);
        assert_eq!(*all.get(1), 6);
    }
}

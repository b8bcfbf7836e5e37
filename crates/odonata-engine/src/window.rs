//! Stores of a part: cells that keep the numbers which they have in the whole model.
//!
//! A part holds the cells of its own LPs only. Where LPs' cells lie side by side a [`Window`] onto the model's numbers
//! is enough ([`Windowed`]); where they are scattered, as ranks over nodes, a table says where each one is ([`Sparse`]).

use crate::{Digest, Journalled, Mode, Moment, NIL, Store};
use std::ops::Range;
use std::sync::Arc;

/// One or two ranges of the model's numbers, side by side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Numbers below this are of the first range.
    split: u32,
    /// What to subtract from numbers of the first range, and of the second.
    low: u32,
    high: u32,
    /// Cells of the first range, and of both.
    first: u32,
    len: u32,
}

impl Window {
    /// The numbers `range`.
    pub fn new(range: Range<u32>) -> Window {
        Window {
            split: 0,
            low: 0,
            high: range.start,
            first: 0,
            len: range.end - range.start,
        }
    }

    /// The numbers `first`, and behind them `second`, which are higher.
    pub fn two(first: Range<u32>, second: Range<u32>) -> Window {
        let count = first.end - first.start;
        Window {
            split: first.end.max(1),
            low: first.start,
            high: second.start.wrapping_sub(count),
            first: count,
            len: count + (second.end - second.start),
        }
    }

    /// Where number `i` is; wrong for numbers outside of the window.
    #[inline(always)]
    pub fn place(&self, i: u32) -> u32 {
        i.wrapping_sub(if i < self.split { self.low } else { self.high })
    }

    /// The number at `place`.
    pub fn number(&self, place: u32) -> u32 {
        place.wrapping_add(if place < self.first { self.low } else { self.high })
    }

    /// Whether number `i` is in the window.
    pub fn holds(&self, i: u32) -> bool {
        let place = self.place(i);
        place < self.len && self.number(place) == i
    }

    /// Number of cells.
    pub fn len(&self) -> u32 {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The numbers, in order.
    pub fn numbers(&self) -> impl Iterator<Item = u32> + use<> {
        let window = *self;
        (0..self.len).map(move |place| window.number(place))
    }
}

/// Journalled cells seen through a [`Window`].
#[derive(Debug)]
pub struct Windowed<T> {
    window: Window,
    pub(crate) cells: Store<T>,
}

impl<T: Copy> Windowed<T> {
    /// Each cell `value`.
    pub fn filled(window: Window, value: T) -> Self {
        Windowed {
            window,
            cells: Store::filled(window.len as usize, value),
        }
    }

    /// The cell of each number is what `make` says.
    pub fn with(window: Window, make: impl FnMut(u32) -> T) -> Self {
        Windowed {
            window,
            cells: Store::from_vec(window.numbers().map(make).collect()),
        }
    }

    /// The cell of number `i`.
    #[inline(always)]
    pub fn get(&self, i: u32) -> &T {
        self.cells.get(self.window.place(i))
    }

    /// The cell of number `i`, to be changed.
    #[inline(always)]
    pub fn edit<M: Mode>(&mut self, i: u32) -> &mut T {
        self.cells.edit::<M>(self.window.place(i))
    }

    /// The numbers that have a cell.
    pub fn window(&self) -> Window {
        self.window
    }

    /// Number of cells.
    pub fn len(&self) -> usize {
        self.cells.len()
    }

    /// Whether there is no cell.
    pub fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    /// All cells, in the order of their numbers.
    pub fn iter(&self) -> std::slice::Iter<'_, T> {
        self.cells.iter()
    }

    /// Bytes of memory held, the log included.
    pub fn memory(&self) -> usize {
        self.cells.memory()
    }
}

/// Journalled cells of numbers that are scattered over the model.
#[derive(Debug)]
pub struct Sparse<T> {
    /// Where the cell of each number is, in the part that has it; the same table for all parts. Empty if this part
    /// has all, in order.
    places: Arc<[u32]>,
    /// The numbers that have a cell here, in order; empty if all have.
    numbers: Arc<[u32]>,
    pub(crate) cells: Store<T>,
}

impl<T: Copy> Sparse<T> {
    /// A cell for each number from 0.
    pub fn all(cells: Vec<T>) -> Self {
        Sparse {
            places: Arc::new([]),
            numbers: Arc::new([]),
            cells: Store::from_vec(cells),
        }
    }

    /// Cells for `numbers` only; `places[i]` says where that of number `i` is, in whatever part.
    pub fn some(places: Arc<[u32]>, numbers: Arc<[u32]>, make: impl FnMut(u32) -> T) -> Self {
        let cells = numbers.iter().copied().map(make).collect();
        Sparse {
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

    /// The cell of number `i`, to be changed.
    #[inline(always)]
    pub fn edit<M: Mode>(&mut self, i: u32) -> &mut T {
        let place = self.place(i);
        self.cells.edit::<M>(place)
    }

    /// The numbers that have a cell here, with it, in order.
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

    /// Whether there is no cell.
    pub fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    /// Bytes of memory held, the log included and the tables not.
    pub fn memory(&self) -> usize {
        self.cells.memory()
    }
}

impl<T: Copy> Default for Sparse<T> {
    /// No cells at all.
    fn default() -> Self {
        Sparse::all(Vec::new())
    }
}

/// For each of `numbers` things the part that has it, as `part_of` tells: where it is in its part, and the things of
/// each of `parts` parts in order.
pub fn places(numbers: u32, parts: usize, part_of: impl Fn(u32) -> Option<usize>) -> (Arc<[u32]>, Vec<Arc<[u32]>>) {
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
        impl<T: Copy + std::fmt::Debug> Journalled for $type<T> {
            fn undo(&mut self, from: Moment) {
                self.cells.undo(from);
            }
            fn forget(&mut self, until: Moment) {
                self.cells.forget(until);
            }
            fn commit(&mut self) {
                self.cells.commit();
            }
            fn logged(&self) -> usize {
                self.cells.logged()
            }
            fn fingerprint(&self, digest: &mut Digest) {
                self.cells.fingerprint(digest);
            }
        }
    )* };
}
journalled_cells!(Windowed Sparse);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Plain;

    #[test]
    fn numbers_and_places_of_a_window_belong_to_each_other() {
        let windows = [
            Window::new(0..5),
            Window::new(3..9),
            Window::two(0..4, 4..6),
            Window::two(10..14, 50..53),
            Window::two(7..7, 9..11),
            Window::two(0..0, 9..11),
            Window::two(2..6, 8..8),
        ];
        for window in windows {
            let numbers: Vec<u32> = window.numbers().collect();
            assert_eq!(numbers.len(), window.len() as usize);
            assert!(numbers.is_sorted());
            for (place, &number) in (0..).zip(&numbers) {
                assert_eq!(window.place(number), place, "{window:?}");
            }
            for i in 0..60 {
                assert_eq!(window.holds(i), numbers.contains(&i), "{window:?} {i}");
            }
        }
    }

    #[test]
    fn scattered_cells_keep_their_numbers() {
        let (table, lists) = places(7, 2, |i| (i != 3).then_some(usize::from(i % 3 == 0)));
        let mut odd = Sparse::some(table.clone(), lists[1].clone(), |i| i * 10);
        let even = Sparse::some(table, lists[0].clone(), |i| i * 10);
        *odd.edit::<Plain>(6) += 1;
        assert_eq!(odd.iter().collect::<Vec<_>>(), [(0, &0), (6, &61)]);
        assert_eq!(even.iter().map(|(i, _)| i).collect::<Vec<_>>(), [1, 2, 4, 5]);
        assert_eq!(*even.get(5), 50);
        let all = Sparse::all(vec![5, 6]);
        assert_eq!(all.iter().collect::<Vec<_>>(), [(0, &5), (1, &6)]);
        assert_eq!(*all.get(1), 6);
    }
}

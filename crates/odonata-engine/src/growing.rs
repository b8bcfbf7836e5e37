//! A store that grows as it is written: for tables whose extent only the run itself knows.

use crate::{Digest, Journalled, Mode, Moment, Store};

/// Cells numbered from 0, all at their default until they are changed.
///
/// Growing is not taken back with the event that needed it: a cell at its default is no part of the state, so that
/// nobody can tell.
#[derive(Debug)]
pub struct Growing<T>(pub(crate) Store<T>);

impl<T: Copy + Default + PartialEq> Growing<T> {
    /// No cells yet.
    pub fn new() -> Self {
        Growing(Store::new())
    }

    /// Cell `i`.
    #[inline]
    pub fn get(&self, i: usize) -> T {
        if i < self.0.len() {
            *self.0.get(i as u32)
        } else {
            T::default()
        }
    }

    /// Cell `i`, to be changed.
    #[inline]
    pub fn edit<M: Mode>(&mut self, i: usize) -> &mut T {
        while self.0.len() <= i {
            self.0.grow(T::default());
        }
        self.0.edit::<M>(i as u32)
    }

    /// The cells that differ from the default, with their numbers.
    pub fn iter(&self) -> impl Iterator<Item = (usize, &T)> + '_ {
        self.0.iter().enumerate().filter(|(_, cell)| **cell != T::default())
    }

    /// Bytes of memory held.
    pub fn memory(&self) -> usize {
        self.0.memory()
    }
}

impl<T: Copy + Default + PartialEq> Default for Growing<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: Copy + Default + PartialEq + serde::Serialize> Journalled for Growing<T> {
    fn undo(&mut self, from: Moment) {
        self.0.undo(from);
    }

    fn forget(&mut self, until: Moment) {
        self.0.forget(until);
    }

    fn commit(&mut self) {
        self.0.commit();
    }

    fn logged(&self) -> usize {
        self.0.logged()
    }

    fn fingerprint(&self, digest: &mut Digest) {
        for (i, cell) in self.iter() {
            digest.data(&(i, cell));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Plain, Speculative};

    #[test]
    fn growing_alone_changes_nothing_and_changes_are_taken_back() {
        let mut table: Growing<u32> = Growing::new();
        *table.edit::<Plain>(2) = 7;
        let print = |table: &Growing<u32>| {
            let mut digest = Digest::new();
            table.fingerprint(&mut digest);
            digest.value()
        };
        let before = print(&table);
        Moment(1).begin();
        *table.edit::<Speculative>(9) = 3;
        *table.edit::<Speculative>(2) = 8;
        assert_ne!(print(&table), before);
        table.undo(Moment(1));
        assert_eq!(print(&table), before);
        assert_eq!((table.get(2), table.get(9), table.get(100)), (7, 0, 0));
        assert_eq!(table.iter().collect::<Vec<_>>(), [(2, &7)]);
    }
}

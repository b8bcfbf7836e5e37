//! A store that grows on write, for tables of unknown size.

use crate::{Digest, Journalled, Mode, Savepoint, Store};

/// Cells numbered from 0 that have their default value until changed.
///
/// Growth is not rolled back. Cells with the default value are not part of the state, so this cannot be observed.
#[derive(Debug)]
pub struct GrowableStore<T>(pub(crate) Store<T>);

impl<T: Copy + Default + PartialEq> GrowableStore<T> {
    /// No cells yet.
    pub fn new() -> Self {
        GrowableStore(Store::new())
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

    /// Mutable access to cell `i`.
    #[inline]
    pub fn edit<M: Mode>(&mut self, i: usize) -> &mut T {
        while self.0.len() <= i {
            self.0.grow(T::default());
        }
        self.0.edit_trusted::<M>(i as u32)
    }

    /// The cells that differ from the default, with their numbers.
    pub fn iter(&self) -> impl Iterator<Item = (usize, &T)> + '_ {
        self.0.iter().enumerate().filter(|(_, cell)| **cell != T::default())
    }
}

impl<T: Copy + Default + PartialEq> Default for GrowableStore<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: Copy + Default + PartialEq + serde::Serialize> Journalled for GrowableStore<T> {
    fn undo(&mut self, from: Savepoint) {
        self.0.undo(from);
    }

    fn fossil_collect(&mut self, until: Savepoint) {
        self.0.fossil_collect(until);
    }

    fn commit(&mut self) {
        self.0.commit();
    }

    fn logged(&self) -> usize {
        self.0.logged()
    }

    fn memory(&self) -> usize {
        self.0.memory()
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
    fn growth_alone_changes_nothing_and_changes_are_undone() {
        let mut table: GrowableStore<u32> = GrowableStore::new();
        *table.edit::<Plain>(2) = 7;
        let print = |table: &GrowableStore<u32>| {
            let mut digest = Digest::new();
            table.fingerprint(&mut digest);
            digest.value()
        };
        let before = print(&table);
        Savepoint(1).begin();
        *table.edit::<Speculative>(9) = 3;
        *table.edit::<Speculative>(2) = 8;
        assert_ne!(print(&table), before);
        table.undo(Savepoint(1));
        assert_eq!(print(&table), before);
        assert_eq!((table.get(2), table.get(9), table.get(100)), (7, 0, 0));
        assert_eq!(table.iter().collect::<Vec<_>>(), [(2, &7)]);
    }
}

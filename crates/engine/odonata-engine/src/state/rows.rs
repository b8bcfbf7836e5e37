//! An append-only sequence of records with rollback.

use super::{Journalled, Mode, Savepoint, make_room};
use std::collections::VecDeque;

/// An append-only sequence of records. Undo truncates it.
#[derive(Debug)]
pub struct Rows<T> {
    pub(crate) rows: Vec<T>,
    /// The savepoints of the last rows that can be undone.
    pub(crate) log: VecDeque<Savepoint>,
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
            self.log.push_back(Savepoint::now());
        }
        make_room(&mut self.rows);
        self.rows.push(row);
    }

    /// The records, in order of creation.
    pub fn as_slice(&self) -> &[T] {
        &self.rows
    }
}

impl<T> Default for Rows<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: serde::Serialize> Journalled for Rows<T> {
    fn undo(&mut self, from: Savepoint) {
        while self.log.back().is_some_and(|savepoint| savepoint.is_from(from)) {
            self.log.pop_back();
            self.rows.pop();
        }
    }

    fn fossil_collect(&mut self, until: Savepoint) {
        while self.log.front().is_some_and(|savepoint| !savepoint.is_from(until)) {
            self.log.pop_front();
        }
    }

    fn commit(&mut self) {
        self.log.clear();
    }

    fn logged(&self) -> usize {
        self.log.len() * size_of::<Savepoint>()
    }

    fn memory(&self) -> usize {
        self.rows.capacity() * size_of::<T>() + self.log.capacity() * size_of::<Savepoint>()
    }

    fn fingerprint(&self, digest: &mut crate::Digest) {
        digest.data(&self.rows);
    }
}

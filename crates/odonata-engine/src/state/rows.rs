//! Records, one after the other.

use super::{Journalled, Mode, Moment};
use std::collections::VecDeque;

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

impl<T: serde::Serialize> Journalled for Rows<T> {
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
        digest.data(&self.rows);
    }
}

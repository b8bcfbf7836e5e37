//! The first rows of a table by end time, and the number of all rows.

use odonata_engine::{Mode, Rows, Store, Time};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// A row of a table, which can be saved.
pub(crate) trait Row: Serialize + DeserializeOwned {}
impl<T: Serialize + DeserializeOwned> Row for T {}

#[derive(Clone, Copy, Debug, Default, serde::Serialize, serde::Deserialize)]
struct Counts {
    /// End time of the last row kept within the limit.
    last: Time,
    /// Number of rows without the limit.
    seen: u64,
}

/// Rows up to a limit. They arrive nearly in the order of their ends, since logical processes may be at different
/// times. Rows that end together with the last one within the limit are kept as well. [`keep_first`] selects the first
/// rows when all parts are merged.
#[derive(Debug)]
pub(crate) struct FirstRows<T> {
    rows: Rows<T>,
    counts: Store<Counts>,
    limit: u64,
}
odonata_engine::journalled!(FirstRows<T: Row> { rows, counts });

impl<T: Row> FirstRows<T> {
    pub(crate) fn new(limit: u64) -> Self {
        FirstRows {
            rows: Rows::new(),
            counts: Store::filled(1, Counts::default()),
            limit,
        }
    }

    pub(crate) fn add<M: Mode>(&mut self, end: Time, row: T) {
        let full = self.rows.as_slice().len() as u64 >= self.limit;
        let counts = self.counts.edit::<M>(0);
        counts.seen += 1;
        if full && (self.limit == 0 || end > counts.last) {
            return;
        }
        if !full {
            counts.last = counts.last.max(end);
        }
        self.rows.push::<M>(row);
    }

    /// The rows in the order of arrival.
    pub(crate) fn as_slice(&self) -> &[T] {
        self.rows.as_slice()
    }

    /// Number of rows, kept or dropped.
    pub(crate) fn seen(&self) -> u64 {
        self.counts.get(0).seen
    }
}

/// Keeps the first `limit` of the `records` of all parts by end time, and sorts them.
pub(crate) fn keep_first<R: Ord + Copy>(records: &mut Vec<R>, limit: u64, end: impl Fn(&R) -> Time) {
    if records.len() as u64 > limit {
        records.sort_unstable_by_key(|record| (end(record), *record));
        records.truncate(limit as usize);
    }
    records.sort_unstable();
}

#[cfg(test)]
mod tests {
    use super::*;
    use odonata_engine::{Journalled, Plain, Savepoint, Speculative};

    #[test]
    fn first_rows_are_kept_all_rows_are_counted_and_both_are_undone() {
        let mut rows = FirstRows::new(2);
        rows.add::<Plain>(Time(5), 50u32);
        Savepoint(1).begin();
        // 7 fills the table; 6 arrives late but belongs to the first two; 8 does not.
        for (end, row) in [(7, 70), (6, 60), (8, 80)] {
            rows.add::<Speculative>(Time(end), row);
        }
        assert_eq!((rows.as_slice(), rows.seen()), (&[50, 70, 60][..], 4));
        let mut all: Vec<u32> = rows.as_slice().to_vec();
        keep_first(&mut all, 2, |&row| Time(u64::from(row) / 10));
        assert_eq!(all, [50, 60]);
        rows.undo(Savepoint(1));
        assert_eq!((rows.as_slice(), rows.seen()), (&[50][..], 1));
        rows.add::<Plain>(Time(8), 80);
        assert_eq!(rows.as_slice(), [50, 80]);
    }

    #[test]
    fn a_limit_of_zero_keeps_nothing() {
        let mut none = FirstRows::new(0);
        none.add::<Plain>(Time::ZERO, 1u8);
        assert_eq!((none.as_slice().len(), none.seen()), (0, 1));
    }
}

//! The rows of each rank: the table is in rank order.

use std::ops::Range;

/// The rows of each rank that has any. Its memory depends on the rows, not on the stated number of ranks.
#[derive(Debug)]
pub(crate) struct RankRows {
    /// Ranks with rows, ascending.
    ranks: Vec<u32>,
    /// The first row of each rank, and the number of all rows.
    starts: Vec<u64>,
    /// Whether the ranks are 0, 1, 2, ...: no search is needed.
    dense: bool,
}

impl RankRows {
    pub(crate) fn new() -> RankRows {
        RankRows {
            ranks: Vec::new(),
            starts: Vec::new(),
            dense: true,
        }
    }

    /// The last rank added.
    pub(crate) fn last(&self) -> Option<u32> {
        self.ranks.last().copied()
    }

    /// Its first row.
    pub(crate) fn last_start(&self) -> u64 {
        self.starts.last().copied().unwrap_or(0)
    }

    /// Starts the rows of `rank`, above [`last`](Self::last), at `row`.
    pub(crate) fn begin(&mut self, rank: u32, row: u64) {
        self.dense &= rank as usize == self.ranks.len();
        self.ranks.push(rank);
        self.starts.push(row);
    }

    /// Sets the total number of rows.
    pub(crate) fn end(&mut self, rows: u64) {
        self.starts.push(rows);
        self.ranks.shrink_to_fit();
        self.starts.shrink_to_fit();
    }

    /// Number of ranks with rows.
    pub(crate) fn len(&self) -> usize {
        self.ranks.len()
    }

    /// The index of `rank` among those with rows, and its rows.
    #[inline]
    pub(crate) fn of(&self, rank: u32) -> Option<(usize, Range<u64>)> {
        let place = if self.dense {
            rank as usize
        } else {
            self.ranks.binary_search(&rank).ok()?
        };
        (place < self.ranks.len()).then(|| (place, self.rows(place)))
    }

    /// The rows of the rank at index `place`.
    #[inline]
    pub(crate) fn rows(&self, place: usize) -> Range<u64> {
        self.starts[place]..self.starts[place + 1]
    }

    /// The index of the rank that has `row`.
    pub(crate) fn place_of(&self, row: u64) -> usize {
        self.starts.partition_point(|&start| start <= row) - 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_have_the_rows_that_were_theirs_and_others_none() {
        for ranks in [vec![0, 1, 2], vec![0, 2, 16_777_214], vec![7], vec![]] {
            let mut rows = RankRows::new();
            for (at, &rank) in (0..).zip(&ranks) {
                rows.begin(rank, 3 * at);
            }
            rows.end(3 * ranks.len() as u64);
            for (place, &rank) in ranks.iter().enumerate() {
                let own = 3 * place as u64..3 * place as u64 + 3;
                assert_eq!(rows.of(rank), Some((place, own.clone())));
                assert!(own.clone().all(|row| rows.place_of(row) == place));
            }
            assert_eq!((rows.of(5), rows.of(u32::MAX)), (None, None));
            assert_eq!((rows.len(), rows.last()), (ranks.len(), ranks.last().copied()));
        }
    }
}

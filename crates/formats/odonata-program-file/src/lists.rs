//! `counts.parquet`: sizes that differ between ranks.

use std::path::Path;
use std::sync::Arc;

use odonata_trace_format::Cancellation;
use odonata_workload::{Counts, Recent};

use crate::communicators::shown;
use crate::error::{FileError, Lost};
use crate::rank_rows::RankRows;
use crate::row::MOST_COUNTS;
use crate::table::{Column, Content, Table};

/// The lists of all ranks. Their contents stay in the file until needed.
#[derive(Debug)]
pub(crate) struct CountLists {
    table: Table,
    columns: [Column; 3],
    /// Per row, in order of rank and number.
    rows: Vec<Row>,
    of_ranks: RankRows,
    /// Per rank with rows.
    recent: Vec<Recent<Sizes>>,
    lost: Lost,
}

/// Metadata of a list.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row {
    number: u32,
    /// Lengths: sizes by giver, and by taker.
    pub(crate) by_giver: u32,
    pub(crate) by_taker: u32,
}

/// Sizes that differ between ranks, as seen by one rank.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sizes {
    /// The rank's own number; needed if both lists are present.
    pub member: Option<u32>,
    /// In bytes, by giver; a single size applies to all.
    pub by_giver: Box<[u64]>,
    /// In bytes, by taker; a single size applies to all.
    pub by_taker: Box<[u64]>,
}

impl Sizes {
    /// Bytes that member `from` gives to member `to`.
    pub fn bytes(&self, from: u32, to: u32) -> u64 {
        // A single size applies to all members.
        let at = |list: &[u64], member: u32| match list {
            [size] => *size,
            list => list.get(member as usize).copied().unwrap_or(0),
        };
        match (&*self.by_giver, &*self.by_taker) {
            (givers, []) => at(givers, from),
            ([], takers) => at(takers, to),
            (_, takers) if self.member == Some(from) => at(takers, to),
            (givers, _) => at(givers, from),
        }
    }
}

impl CountLists {
    /// Lower bound of the bytes to open the table at `path`, by the number of its rows; 0 if it cannot be read.
    pub(crate) fn least_memory(path: &Path) -> u64 {
        let rows = Table::open(path).map_or(0, |table| table.rows());
        rows.saturating_mul(size_of::<Row>() as u64)
    }

    /// Reads the metadata from `path`, for a program of `ranks` ranks.
    pub(crate) fn read(
        path: &Path,
        ranks: u32,
        lost: Lost,
        cancellation: &Cancellation,
    ) -> Result<CountLists, FileError> {
        let table = Table::open(path)?;
        let [rank, number] = [
            table.required("rank", Content::Number)?,
            table.required("counts", Content::Number)?,
        ];
        let columns = [
            table.required("member", Content::Number)?,
            table.required("by_giver", Content::Numbers)?,
            table.required("by_taker", Content::Numbers)?,
        ];
        if table.rows() > u64::from(u32::MAX) {
            let problem = format!("{} rows", table.rows());
            return Err(FileError::about(path, problem, "fewer than 2^32"));
        }
        let mut found = CountLists {
            columns,
            rows: Vec::new(),
            of_ranks: RankRows::new(),
            recent: Vec::new(),
            lost,
            table,
        };
        for part in 0..found.table.groups() {
            let mut ranks_of = found.table.read(part, rank)?;
            let mut numbers = found.table.read(part, number)?;
            let mut lists = found.begin(part)?;
            for row in found.table.rows_of(part) {
                if cancellation.is_requested() {
                    return Err(FileError::cancelled(path));
                }
                let wrong = |column: &str, problem: String, expected: String| {
                    Err(FileError::about(path, problem, expected).at(row).of(column))
                };
                let done = found.of_ranks.last().unwrap_or(0);
                let rank = match ranks_of.numbers(1)?[0] {
                    Some(rank) if (i128::from(done)..i128::from(ranks)).contains(&rank) => rank as u32,
                    rank => {
                        let expected = format!("{done} to {}, ascending", i128::from(ranks) - 1);
                        return wrong("rank", shown(rank), expected);
                    }
                };
                if found.of_ranks.last() != Some(rank) {
                    found.of_ranks.begin(rank, row);
                }
                let before = found.rows[found.of_ranks.last_start() as usize..].last();
                let least = before.map_or(0, |row| i128::from(row.number) + 1);
                let number = match numbers.numbers(1)?[0] {
                    Some(number) if (least..=i128::from(MOST_COUNTS)).contains(&number) => number as u32,
                    number => {
                        let expected = format!("{least} to {MOST_COUNTS}, ascending");
                        return wrong("counts", shown(number), expected);
                    }
                };
                let list = lists.list(path, row)?;
                if !list.by_giver.is_empty() && !list.by_taker.is_empty() && list.member.is_none() {
                    return wrong(
                        "member",
                        "null beside two lists".into(),
                        "the rank's number among them".into(),
                    );
                }
                let length = |list: &[u64]| list.len() as u32;
                found.rows.push(Row {
                    number,
                    by_giver: length(&list.by_giver),
                    by_taker: length(&list.by_taker),
                });
            }
        }
        found.of_ranks.end(found.rows.len() as u64);
        found.recent.resize_with(found.of_ranks.len(), Recent::default);
        found.rows.shrink_to_fit();
        Ok(found)
    }

    fn begin(&self, part: usize) -> Result<ListReader, FileError> {
        let [member, by_giver, by_taker] = self.columns;
        Ok(ListReader {
            member: self.table.read(part, member)?,
            by_giver: self.table.read(part, by_giver)?,
            by_taker: self.table.read(part, by_taker)?,
        })
    }

    /// The row of list `counts` of `rank`, with the index of the rank among those that have rows.
    fn find(&self, rank: u32, counts: Counts) -> Option<(usize, usize)> {
        let (place, rows) = self.of_ranks.of(rank)?;
        let (start, end) = (rows.start as usize, rows.end as usize);
        let at = self.rows[start..end].binary_search_by_key(&counts.0, |row| row.number);
        at.ok().map(|at| (place, start + at))
    }

    /// The metadata of list `counts` of `rank`.
    pub(crate) fn row(&self, rank: u32, counts: Counts) -> Option<Row> {
        self.find(rank, counts).map(|(_, at)| self.rows[at])
    }

    /// Number of lists.
    pub(crate) fn len(&self) -> u32 {
        self.rows.len() as u32
    }

    /// Bytes that member `from` gives to member `to` by list `counts` of `rank`; 0 if the list does not exist or cannot
    /// be read again.
    pub(crate) fn bytes(&self, rank: u32, counts: Counts, from: u32, to: u32) -> u64 {
        let Some((place, row)) = self.find(rank, counts) else {
            return 0;
        };
        match self.recent[place].get(row as u64, || self.load(row as u64).map(Arc::new)) {
            Ok(list) => list.bytes(from, to),
            // The program stops at its next operation.
            Err(error) => {
                self.lost.note(&error);
                0
            }
        }
    }

    fn load(&self, row: u64) -> Result<Sizes, FileError> {
        let part = self.table.group_of(row);
        let mut lists = self.begin(part)?;
        let before = (row - self.table.rows_of(part).start) as usize;
        for reading in [&mut lists.member, &mut lists.by_giver, &mut lists.by_taker] {
            reading.skip(before)?;
        }
        lists.list(self.table.path(), row)
    }
}

struct ListReader {
    member: crate::table::Reading,
    by_giver: crate::table::Reading,
    by_taker: crate::table::Reading,
}

impl ListReader {
    /// The next list, at row `row`.
    fn list(&mut self, path: &Path, row: u64) -> Result<Sizes, FileError> {
        let wrong = |column: &str, value: i128, expected: &str| {
            FileError::about(path, value.to_string(), expected).at(row).of(column)
        };
        let member = match self.member.numbers(1)?[0] {
            None => None,
            Some(member) => match u32::try_from(member) {
                Ok(member) => Some(member),
                Err(_) => return Err(wrong("member", member, "a member, or null")),
            },
        };
        let sizes = |column: &str, list: &[i128]| -> Result<Box<[u64]>, FileError> {
            let size = |&size: &i128| u64::try_from(size).map_err(|_| wrong(column, size, "a size in bytes"));
            list.iter().map(size).collect()
        };
        Ok(Sizes {
            member,
            by_giver: sizes("by_giver", self.by_giver.lists(1)?.get(0))?,
            by_taker: sizes("by_taker", self.by_taker.lists(1)?.get(0))?,
        })
    }
}

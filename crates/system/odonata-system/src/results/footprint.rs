//! Memory of the result tables while they are built: rows first, then Arrow columns.

use super::row::{Column, Row};
use super::{AccessRow, CallRow, FlowRow, IoRow, LinkRow, MessageRow, RankRow, RequestRow, RouterRow, SeriesRow};
use arrow_schema::DataType;

/// Heap bytes of a short text.
const TEXT: u64 = 32;

/// Expected row counts of the larger tables.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct RowCounts {
    pub(crate) links: u64,
    pub(crate) ranks: u64,
    pub(crate) messages: u64,
    pub(crate) routers: u64,
    pub(crate) io: u64,
    pub(crate) series: u64,
    pub(crate) calls: u64,
    pub(crate) flows: u64,
    pub(crate) accesses: u64,
}

/// Memory of tables, bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TableBytes {
    /// As rows.
    pub(crate) rows: u64,
    /// As columns, for all tables.
    pub(crate) columns: u64,
    /// A second copy of the largest table, for the writer.
    pub(crate) largest: u64,
}

impl TableBytes {
    /// Adds a table with this number of rows.
    fn add<R: Row>(&mut self, rows: u64) {
        // Arrow stores texts contiguously, with offsets; they are short names.
        let of_column = |column: &Column| if column.data_type == DataType::Utf8 { 12 } else { 8 };
        let columns = rows * R::COLUMNS.iter().map(of_column).sum::<u64>();
        // Each row usually has its own text: its name or its job's.
        self.rows += rows * (size_of::<R>() as u64 + TEXT);
        self.columns += columns;
        self.largest = self.largest.max(columns);
    }
}

impl RowCounts {
    /// The memory of the added tables.
    pub(crate) fn bytes(&self) -> TableBytes {
        let mut sum = TableBytes::default();
        sum.add::<LinkRow>(self.links);
        sum.add::<RankRow>(self.ranks);
        sum.add::<MessageRow>(self.messages);
        sum.add::<RouterRow>(self.routers);
        sum.add::<IoRow>(self.io);
        sum.add::<SeriesRow>(self.series);
        sum.add::<CallRow>(self.calls);
        // Up to a request per message.
        sum.add::<RequestRow>(self.flows);
        sum.add::<FlowRow>(self.flows);
        sum.add::<AccessRow>(self.accesses);
        sum
    }
}

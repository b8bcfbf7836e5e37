//! Columns in memory, as they go to Parquet.

/// A table: columns of equal length.
#[derive(Clone, Debug)]
pub struct Table {
    /// Its name; the file is `NAME.parquet`.
    pub name: &'static str,
    /// What a row is.
    pub doc: &'static str,
    /// The columns.
    pub columns: Vec<Column>,
}

/// A column.
#[derive(Clone, Debug)]
pub struct Column {
    /// Its name, with the unit as suffix where it has one.
    pub name: &'static str,
    /// The unit: `s`, `bytes`, `bytes/s`, or empty.
    pub unit: &'static str,
    /// What it says.
    pub doc: &'static str,
    /// The values.
    pub data: ColumnData,
}

/// The values of a column.
#[derive(Clone, Debug)]
pub enum ColumnData {
    /// 64-bit floating point.
    F64(Vec<f64>),
    /// Unsigned 64-bit integers.
    U64(Vec<u64>),
    /// Signed 64-bit integers (-1: does not apply).
    I64(Vec<i64>),
    /// Unsigned 32-bit integers.
    U32(Vec<u32>),
    /// Texts.
    Text(Vec<String>),
}

impl ColumnData {
    /// The Arrow name of the type.
    pub fn type_name(&self) -> &'static str {
        match self {
            ColumnData::F64(_) => "float64",
            ColumnData::U64(_) => "uint64",
            ColumnData::I64(_) => "int64",
            ColumnData::U32(_) => "uint32",
            ColumnData::Text(_) => "string",
        }
    }

    /// Number of values.
    pub fn len(&self) -> usize {
        match self {
            ColumnData::F64(v) => v.len(),
            ColumnData::U64(v) => v.len(),
            ColumnData::I64(v) => v.len(),
            ColumnData::U32(v) => v.len(),
            ColumnData::Text(v) => v.len(),
        }
    }

    /// Whether there is no value.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Builds a table's columns from its rows, one line per column.
pub(super) struct Builder<'a, R> {
    rows: &'a [R],
    table: Table,
}

impl<'a, R> Builder<'a, R> {
    pub(super) fn new(name: &'static str, doc: &'static str, rows: &'a [R]) -> Self {
        Builder {
            rows,
            table: Table {
                name,
                doc,
                columns: Vec::new(),
            },
        }
    }

    fn push(mut self, name: &'static str, unit: &'static str, doc: &'static str, data: ColumnData) -> Self {
        self.table.columns.push(Column { name, unit, doc, data });
        self
    }

    /// A text without unit.
    pub(super) fn text(self, name: &'static str, doc: &'static str, get: impl Fn(&R) -> String) -> Self {
        let data = ColumnData::Text(self.rows.iter().map(get).collect());
        self.push(name, "", doc, data)
    }

    /// A count or an identity.
    pub(super) fn count(self, name: &'static str, doc: &'static str, get: impl Fn(&R) -> u64) -> Self {
        let data = ColumnData::U64(self.rows.iter().map(get).collect());
        self.push(name, "", doc, data)
    }

    /// An identity that may not apply (-1).
    pub(super) fn id(self, name: &'static str, doc: &'static str, get: impl Fn(&R) -> i64) -> Self {
        let data = ColumnData::I64(self.rows.iter().map(get).collect());
        self.push(name, "", doc, data)
    }

    /// A number of bytes.
    pub(super) fn bytes(self, name: &'static str, doc: &'static str, get: impl Fn(&R) -> u64) -> Self {
        let data = ColumnData::U64(self.rows.iter().map(get).collect());
        self.push(name, "bytes", doc, data)
    }

    /// A time in seconds.
    pub(super) fn seconds(self, name: &'static str, doc: &'static str, get: impl Fn(&R) -> f64) -> Self {
        self.number(name, "s", doc, get)
    }

    /// Any number with a unit.
    pub(super) fn number(
        self,
        name: &'static str,
        unit: &'static str,
        doc: &'static str,
        get: impl Fn(&R) -> f64,
    ) -> Self {
        let data = ColumnData::F64(self.rows.iter().map(get).collect());
        self.push(name, unit, doc, data)
    }

    pub(super) fn done(self) -> Table {
        self.table
    }
}

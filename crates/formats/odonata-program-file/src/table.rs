//! Columns of a Parquet file, read in parts.
//!
//! The crate `parquet` decodes hostile input. `source` and `pages` check footers and pages before decoding.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parquet::basic::{ConvertedType, LogicalType, Type};
use parquet::column::reader::{ColumnReader, get_column_reader};
use parquet::data_type::ByteArray;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::serialized_reader::{ReadOptionsBuilder, SerializedPageReader};
use parquet::schema::types::ColumnDescPtr;

use odonata_workload::open_regular;

use crate::error::FileError;
use crate::pages::Checked;
use crate::source::{Headers, Source, check_footer, guarded};

/// Maximum rows of a row group, and values of a column decoded at once.
const MOST_AT_ONCE: u64 = if cfg!(fuzzing) { 1 << 12 } else { 1 << 25 };

/// Values present, then definition and repetition levels.
type Levels = (Vec<i128>, Vec<i16>, Vec<i16>);

/// An open Parquet file.
pub(crate) struct Table {
    path: PathBuf,
    source: Source,
    reader: SerializedFileReader<Source>,
    /// The first row of each row group, and the number of all rows.
    firsts: Vec<u64>,
}

impl fmt::Debug for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Table")
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}

/// The required type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    /// Whole numbers.
    Number,
    /// Text.
    Text,
    /// Lists of whole numbers.
    Numbers,
}

/// A column of a table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Column {
    index: usize,
    name: &'static str,
    unsigned: bool,
    /// Definition level of a present value.
    full: i16,
    /// Whether an element of a list can be null.
    optional_elements: bool,
}

impl Table {
    /// Opens the file at `path`.
    pub(crate) fn open(path: &Path) -> Result<Table, FileError> {
        let unreadable =
            |cause: io::Error| FileError::about(path, format!("cannot be read: {cause}"), "a file of a program folder");
        let file = open_regular(path).map_err(unreadable)?;
        let source = Source::new(file).map_err(unreadable)?;
        check_footer(path, &source)?;
        // The page index lets a read skip earlier pages. Not all writers provide it.
        let indexed = || {
            let options = ReadOptionsBuilder::new().with_page_index().build();
            SerializedFileReader::new_with_options(source.clone(), options)
        };
        let reader = match guarded(path, indexed) {
            Ok(reader) => reader,
            Err(_) => guarded(path, || SerializedFileReader::new(source.clone()))?,
        };
        let mut firsts = vec![0u64];
        let mut first = 0u64;
        for group in reader.metadata().row_groups() {
            let rows = u64::try_from(group.num_rows()).unwrap_or(u64::MAX);
            if rows > MOST_AT_ONCE {
                let problem = format!("a row group of {} rows", group.num_rows());
                return Err(FileError::about(path, problem, format!("0 to {MOST_AT_ONCE} rows")));
            }
            first += rows;
            firsts.push(first);
        }
        Ok(Table {
            path: path.into(),
            source,
            reader,
            firsts,
        })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Rows in all.
    pub(crate) fn rows(&self) -> u64 {
        self.firsts[self.firsts.len() - 1]
    }

    /// Number of row groups.
    pub(crate) fn groups(&self) -> usize {
        self.firsts.len() - 1
    }

    /// The rows of a row group.
    pub(crate) fn rows_of(&self, group: usize) -> std::ops::Range<u64> {
        self.firsts[group]..self.firsts[group + 1]
    }

    /// The row group that holds a row.
    pub(crate) fn group_of(&self, row: u64) -> usize {
        // Groups may be empty: takes the last one that starts there.
        self.firsts.partition_point(|&first| first <= row) - 1
    }

    /// The column of this name; `None` if absent.
    ///
    /// # Errors
    /// It has another type.
    pub(crate) fn column(&self, name: &'static str, content: Content) -> Result<Option<Column>, FileError> {
        let schema = self.reader.metadata().file_metadata().schema_descr();
        let mut found = (0..schema.num_columns())
            .map(|index| (index, schema.column(index)))
            .filter(|(_, column)| column.path().parts().first().is_some_and(|part| part == name));
        let Some((index, column)) = found.next() else {
            return Ok(None);
        };
        let fits = match content {
            Content::Number => is_number(&column) && column.max_rep_level() == 0 && column.max_def_level() <= 1,
            Content::Text => {
                column.physical_type() == Type::BYTE_ARRAY && column.max_rep_level() == 0 && column.max_def_level() <= 1
            }
            Content::Numbers => is_number(&column) && column.max_rep_level() == 1 && column.max_def_level() <= 3,
        };
        if !fits || found.next().is_some() {
            let expected = match content {
                Content::Number => "whole numbers",
                Content::Text => "text",
                Content::Numbers => "lists of whole numbers",
            };
            let problem = format!("is of type {:?}", column.physical_type());
            return Err(FileError::about(&self.path, problem, expected).of(name));
        }
        Ok(Some(Column {
            index,
            name,
            unsigned: is_unsigned(&column),
            full: column.max_def_level(),
            optional_elements: content == Content::Numbers && column.self_type().is_optional(),
        }))
    }

    /// Like [`column`](Self::column), for a required column.
    pub(crate) fn required(&self, name: &'static str, content: Content) -> Result<Column, FileError> {
        self.column(name, content)?
            .ok_or_else(|| FileError::about(&self.path, "there is no such column", "one").of(name))
    }

    /// Number of values of a column, as stated by the file.
    pub(crate) fn values(&self, column: Column) -> u64 {
        let groups = self.reader.metadata().row_groups().iter();
        let counts = groups.map(|group| u64::try_from(group.column(column.index).num_values()).unwrap_or(0));
        counts.fold(0, u64::saturating_add)
    }

    /// Whether a row group states that a column has no values. If that is wrong, the values are ignored.
    pub(crate) fn is_null(&self, group: usize, column: Column) -> bool {
        let chunk = self.reader.metadata().row_group(group).column(column.index);
        let nulls = chunk.statistics().and_then(|statistics| statistics.null_count_opt());
        nulls.is_some_and(|nulls| i64::try_from(nulls) == Ok(chunk.num_values()))
    }

    /// Starts to read a column of a row group.
    pub(crate) fn read(&self, group: usize, column: Column) -> Result<Reading, FileError> {
        let budget = Arc::new(AtomicU64::new(0));
        let values = guarded(&self.path, || {
            let metadata = self.reader.metadata();
            let index = metadata.page_index_for_row_group(group);
            let group = metadata.row_group(group);
            let chunk = group.column(column.index);
            let places = index.page_locations(column.index).cloned();
            let headers = match places {
                Some(_) => Headers::BeforePages,
                None => Headers::Apart,
            };
            let source = Arc::new(self.source.with(headers));
            let pages = SerializedPageReader::new(source, chunk, group.num_rows() as usize, places)?;
            let lists = chunk.column_descr().max_rep_level() > 0;
            let checked = Checked::new(pages, budget.clone(), lists);
            Ok(get_column_reader(chunk.column_descr_ptr(), Box::new(checked)))
        })?;
        Ok(Reading {
            path: self.path.clone(),
            column,
            values,
            budget,
        })
    }
}

fn is_number(column: &ColumnDescPtr) -> bool {
    let integer = match (column.logical_type_ref(), column.converted_type()) {
        (Some(LogicalType::Integer { .. }), _) => true,
        (Some(_), _) => false,
        (None, converted) => !matches!(
            converted,
            ConvertedType::DECIMAL
                | ConvertedType::DATE
                | ConvertedType::TIME_MILLIS
                | ConvertedType::TIME_MICROS
                | ConvertedType::TIMESTAMP_MILLIS
                | ConvertedType::TIMESTAMP_MICROS
        ),
    };
    matches!(column.physical_type(), Type::INT32 | Type::INT64) && integer
}

fn is_unsigned(column: &ColumnDescPtr) -> bool {
    let converted = matches!(
        column.converted_type(),
        ConvertedType::UINT_8 | ConvertedType::UINT_16 | ConvertedType::UINT_32 | ConvertedType::UINT_64
    );
    match column.logical_type_ref() {
        Some(LogicalType::Integer(integer)) => !integer.is_signed,
        _ => converted,
    }
}

/// A column of a row group during reading.
pub(crate) struct Reading {
    path: PathBuf,
    column: Column,
    values: ColumnReader,
    budget: Arc<AtomicU64>,
}

/// Consecutive lists of numbers.
#[derive(Debug, Default)]
pub(crate) struct Lists {
    values: Vec<i128>,
    /// End of each list.
    ends: Vec<usize>,
}

impl Lists {
    /// List number `at`; empty for null.
    pub(crate) fn get(&self, at: usize) -> &[i128] {
        let start = if at == 0 { 0 } else { self.ends[at - 1] };
        &self.values[start..self.ends[at]]
    }
}

impl Reading {
    /// Skips `rows` rows.
    pub(crate) fn skip(&mut self, rows: usize) -> Result<(), FileError> {
        self.budget.store(MOST_AT_ONCE, Ordering::Relaxed);
        let values = &mut self.values;
        let skipped = guarded(&self.path, || match values {
            ColumnReader::Int32ColumnReader(reader) => reader.skip_records(rows),
            ColumnReader::Int64ColumnReader(reader) => reader.skip_records(rows),
            ColumnReader::ByteArrayColumnReader(reader) => reader.skip_records(rows),
            _ => Ok(0),
        })?;
        self.complete(skipped, rows)
    }

    fn complete(&self, found: usize, rows: usize) -> Result<(), FileError> {
        if found == rows {
            return Ok(());
        }
        let problem = format!("{found} rows in a part of {rows}");
        Err(FileError::about(&self.path, problem, "as many as in the other columns").of(self.column.name))
    }

    /// The present values of `rows` rows, and their definition and repetition levels.
    fn levels(&mut self, rows: usize) -> Result<Levels, FileError> {
        self.budget.store(MOST_AT_ONCE, Ordering::Relaxed);
        let (mut defined, mut repeated) = (Vec::new(), Vec::new());
        let (values, unsigned) = (&mut self.values, self.column.unsigned);
        let (found, numbers) = guarded(&self.path, || {
            let (def, rep) = (Some(&mut defined), Some(&mut repeated));
            Ok(match values {
                ColumnReader::Int32ColumnReader(reader) => {
                    let mut list = Vec::new();
                    let found = reader.read_records(rows, def, rep, &mut list)?.0;
                    let wide = |value: i32| {
                        if unsigned {
                            i128::from(value as u32)
                        } else {
                            i128::from(value)
                        }
                    };
                    (found, list.into_iter().map(wide).collect())
                }
                ColumnReader::Int64ColumnReader(reader) => {
                    let mut list = Vec::new();
                    let found = reader.read_records(rows, def, rep, &mut list)?.0;
                    let wide = |value: i64| {
                        if unsigned {
                            i128::from(value as u64)
                        } else {
                            i128::from(value)
                        }
                    };
                    (found, list.into_iter().map(wide).collect())
                }
                _ => (0, Vec::new()),
            })
        })?;
        self.complete(found, rows)?;
        Ok((numbers, defined, repeated))
    }

    /// The values of the next `rows` rows; `None` for null.
    pub(crate) fn numbers(&mut self, rows: usize) -> Result<Vec<Option<i128>>, FileError> {
        let (values, defined, _) = self.levels(rows)?;
        if self.column.full == 0 {
            self.complete(values.len(), rows)?;
            return Ok(values.into_iter().map(Some).collect());
        }
        self.complete(defined.len(), rows)?;
        let mut values = values.into_iter();
        let full = self.column.full;
        // A value promised by the levels but missing is damage; it becomes null, which is refused.
        let of = |level: i16| if level == full { values.next() } else { None };
        Ok(defined.into_iter().map(of).collect())
    }

    /// The lists of the next `rows` rows.
    pub(crate) fn lists(&mut self, rows: usize) -> Result<Lists, FileError> {
        let (values, defined, repeated) = self.levels(rows)?;
        let mut lists = Lists {
            values,
            ends: Vec::with_capacity(rows),
        };
        let mut end = 0;
        for (at, (&level, &repetition)) in defined.iter().zip(&repeated).enumerate() {
            if repetition == 0 && at > 0 {
                lists.ends.push(end);
            }
            if level == self.column.full {
                end += 1;
            } else if self.column.optional_elements && level == self.column.full - 1 {
                return Err(FileError::about(&self.path, "null in a list", "a number").of(self.column.name));
            }
        }
        if rows > 0 {
            lists.ends.push(end);
        }
        self.complete(lists.ends.len(), rows)?;
        self.complete(lists.values.len(), end)?;
        Ok(lists)
    }

    /// The texts of the next `rows` rows; `None` for null.
    pub(crate) fn texts(&mut self, rows: usize) -> Result<Vec<Option<ByteArray>>, FileError> {
        self.budget.store(MOST_AT_ONCE, Ordering::Relaxed);
        let (mut defined, mut list) = (Vec::new(), Vec::new());
        let values = &mut self.values;
        let found = guarded(&self.path, || match values {
            ColumnReader::ByteArrayColumnReader(reader) => {
                Ok(reader.read_records(rows, Some(&mut defined), None, &mut list)?.0)
            }
            _ => Ok(0),
        })?;
        self.complete(found, rows)?;
        if self.column.full == 0 {
            self.complete(list.len(), rows)?;
            return Ok(list.into_iter().map(Some).collect());
        }
        self.complete(defined.len(), rows)?;
        let mut list = list.into_iter();
        Ok(defined
            .into_iter()
            .map(|level| if level == 1 { list.next() } else { None })
            .collect())
    }
}

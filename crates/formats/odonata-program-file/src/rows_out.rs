//! Writing rows to a Parquet file, a row group at a time.

use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parquet::basic::Compression;
use parquet::data_type::{ByteArray, ByteArrayType, Int32Type, Int64Type};
use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterVersion};
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::parser::parse_message_type;

use crate::error::FileError;

/// The values of a column.
#[derive(Debug)]
pub(crate) enum Cells {
    /// 32-bit numbers without nulls.
    Whole32(Vec<i32>),
    /// 32-bit numbers or null.
    Some32(Vec<i32>, Vec<i16>),
    /// 64-bit numbers or null.
    Some64(Vec<i64>, Vec<i16>),
    /// Texts, all there.
    Text(Vec<ByteArray>),
    /// Lists of 32-bit numbers: values, definition levels, repetition levels.
    List32(Vec<i32>, Vec<i16>, Vec<i16>),
    /// Lists of 64-bit numbers.
    List64(Vec<i64>, Vec<i16>, Vec<i16>),
}

impl Cells {
    /// Adds a number or null. Unsigned 64-bit numbers keep their bits.
    pub(crate) fn number(&mut self, value: Option<i128>) {
        let level = i16::from(value.is_some());
        match self {
            Cells::Whole32(values) => values.push(value.unwrap_or(0) as i32),
            Cells::Some32(values, levels) => {
                levels.push(level);
                values.extend(value.map(|value| value as i32));
            }
            Cells::Some64(values, levels) => {
                levels.push(level);
                values.extend(value.map(|value| value as i64));
            }
            _ => unreachable!("columns are filled as they are declared"),
        }
    }

    /// Adds a text.
    pub(crate) fn text(&mut self, text: &'static str) {
        if let Cells::Text(texts) = self {
            texts.push(ByteArray::from(text));
        }
    }

    /// Adds a list.
    pub(crate) fn list(&mut self, list: impl ExactSizeIterator<Item = u64>) {
        let count = list.len();
        let (defined, repeated) = match self {
            Cells::List32(values, defined, repeated) => {
                values.extend(list.map(|value| value as i32));
                (defined, repeated)
            }
            Cells::List64(values, defined, repeated) => {
                values.extend(list.map(|value| value as i64));
                (defined, repeated)
            }
            _ => unreachable!("columns are filled as they are declared"),
        };
        defined.extend(std::iter::repeat_n(i16::from(count > 0), count.max(1)));
        repeated.push(0);
        repeated.extend(std::iter::repeat_n(1, count.saturating_sub(1)));
    }

    fn write(&mut self, column: &mut SerializedColumnWriter<'_>) -> ParquetResult<usize> {
        match self {
            Cells::Whole32(values) => column.typed::<Int32Type>().write_batch(values, None, None),
            Cells::Some32(values, levels) => column.typed::<Int32Type>().write_batch(values, Some(levels), None),
            Cells::Some64(values, levels) => column.typed::<Int64Type>().write_batch(values, Some(levels), None),
            Cells::Text(texts) => column.typed::<ByteArrayType>().write_batch(texts, None, None),
            Cells::List32(values, defined, repeated) => {
                column
                    .typed::<Int32Type>()
                    .write_batch(values, Some(defined), Some(repeated))
            }
            Cells::List64(values, defined, repeated) => {
                column
                    .typed::<Int64Type>()
                    .write_batch(values, Some(defined), Some(repeated))
            }
        }
    }

    fn clear(&mut self) {
        match self {
            Cells::Whole32(values) => values.clear(),
            Cells::Text(values) => values.clear(),
            Cells::Some32(values, levels) => {
                values.clear();
                levels.clear();
            }
            Cells::Some64(values, levels) => {
                values.clear();
                levels.clear();
            }
            Cells::List32(values, defined, repeated) => {
                values.clear();
                defined.clear();
                repeated.clear();
            }
            Cells::List64(values, defined, repeated) => {
                values.clear();
                defined.clear();
                repeated.clear();
            }
        }
    }
}

/// A Parquet file during writing.
pub(crate) struct RowsOut {
    path: PathBuf,
    writer: SerializedFileWriter<BufWriter<File>>,
    /// The columns, in the order of the schema.
    pub(crate) cells: Vec<Cells>,
    /// Rows in `cells`.
    pub(crate) rows: usize,
}

impl RowsOut {
    /// Creates the file at `path`: columns as (declaration in the schema, cells), pages of at most `page_rows` rows.
    pub(crate) fn create(path: &Path, columns: Vec<(String, Cells)>, page_rows: usize) -> Result<RowsOut, FileError> {
        let file = File::create_new(path).map_err(|cause| FileError {
            expected: "a new file".into(),
            ..FileError::unwritable(path, &cause)
        })?;
        let (declarations, cells): (Vec<_>, Vec<_>) = columns.into_iter().unzip();
        let schema = format!("message program {{ {} }}", declarations.join(" "));
        let properties = WriterProperties::builder()
            // Page headers with row counts: a reader skips pages without decoding.
            .set_writer_version(WriterVersion::PARQUET_2_0)
            .set_compression(Compression::SNAPPY)
            .set_statistics_enabled(EnabledStatistics::Chunk)
            .set_write_batch_size(page_rows.min(1_024))
            .set_data_page_row_count_limit(page_rows)
            .set_created_by(concat!("odonata ", env!("CARGO_PKG_VERSION")).into())
            .build();
        let writer = parse_message_type(&schema)
            .and_then(|schema| SerializedFileWriter::new(BufWriter::new(file), Arc::new(schema), Arc::new(properties)))
            .map_err(|cause| failed(path, cause))?;
        Ok(RowsOut {
            path: path.into(),
            writer,
            cells,
            rows: 0,
        })
    }

    /// Writes the collected rows as a row group.
    pub(crate) fn flush(&mut self) -> Result<(), FileError> {
        if self.rows == 0 {
            return Ok(());
        }
        self.write_group().map_err(|cause| failed(&self.path, cause))?;
        self.rows = 0;
        self.cells.iter_mut().for_each(Cells::clear);
        Ok(())
    }

    fn write_group(&mut self) -> ParquetResult<()> {
        let mut group = self.writer.next_row_group()?;
        for cells in &mut self.cells {
            if let Some(mut column) = group.next_column()? {
                cells.write(&mut column)?;
                column.close()?;
            }
        }
        group.close()?;
        Ok(())
    }

    /// Writes the rest and syncs the file to disk.
    pub(crate) fn finish(mut self) -> Result<(), FileError> {
        self.flush()?;
        let path = self.path;
        let out = self.writer.into_inner().map_err(|cause| failed(&path, cause))?;
        let file = out
            .into_inner()
            .map_err(|cause| FileError::unwritable(&path, &cause.into_error()))?;
        file.sync_all().map_err(|cause| FileError::unwritable(&path, &cause))
    }
}

/// The Parquet writer passes on the system's error.
fn failed(path: &Path, cause: ParquetError) -> FileError {
    if let ParquetError::External(inner) = &cause
        && let Some(cause) = inner.downcast_ref()
    {
        return FileError::unwritable(path, cause);
    }
    FileError::about(path, format!("cannot be written: {cause}"), "")
}

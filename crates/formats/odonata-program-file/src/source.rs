//! The bytes of a file that the crate `parquet` gets to see.
//!
//! The crate trusts numbers in footers and pages: it recurses into a schema, and reserves the stated decompressed size
//! of a page. So this module checks the first fields of both before the crate reads them. They are structures of
//! Thrift's compact protocol, whose fields are in order of their numbers. Panics of the crate on malformed bytes are
//! caught, and its state is discarded.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use odonata_units::catch_panic;
use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::file::reader::{ChunkReader, Length};

use crate::error::FileError;

/// Longest footer in bytes: enough for over 20,000 row groups.
const LONGEST_FOOTER: u64 = 1 << 26;

/// Maximum number of columns, including groups.
const MOST_COLUMNS: u64 = 1_000;

/// Snappy's longest copy takes 3 bytes and yields 64.
const MOST_EXPANSION: u64 = 22;

/// First byte of a field: the type in the low bits, and the difference to the previous field number.
const NEXT_I32: u8 = 0x15;
const NEXT_LIST: u8 = 0x19;

/// The expectation in errors.
const EXPECTED: &str = "a Parquet file, whole and unchanged";

/// The position of page headers in the bytes read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Headers {
    /// None: the footer is read.
    None,
    /// The header alone is read.
    Apart,
    /// Pages are read with their headers.
    BeforePages,
}

/// A file with positioned reads: threads that share it do not move each other's position.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    file: Arc<File>,
    length: u64,
    headers: Headers,
}

/// A sequential read from an offset.
pub(crate) struct From {
    file: Arc<File>,
    at: u64,
    /// The next bytes are a page header.
    header: bool,
}

impl Source {
    pub(crate) fn new(file: File) -> io::Result<Source> {
        Ok(Source {
            length: file.metadata()?.len(),
            file: Arc::new(file),
            headers: Headers::None,
        })
    }

    /// The same file, for reading pages.
    pub(crate) fn with(&self, headers: Headers) -> Source {
        Source {
            headers,
            ..self.clone()
        }
    }
}

impl Read for From {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read_at(buffer, self.at)?;
        if std::mem::take(&mut self.header) {
            check_header(&buffer[..count], None).map_err(io::Error::other)?;
        }
        self.at += count as u64;
        Ok(count)
    }
}

impl Length for Source {
    fn len(&self) -> u64 {
        self.length
    }
}

impl ChunkReader for Source {
    type T = io::BufReader<From>;

    fn get_read(&self, start: u64) -> ParquetResult<Self::T> {
        // Page headers are short.
        Ok(io::BufReader::with_capacity(
            512,
            From {
                file: self.file.clone(),
                at: start,
                header: self.headers == Headers::Apart,
            },
        ))
    }

    fn get_bytes(&self, start: u64, length: usize) -> ParquetResult<Bytes> {
        let end = start.checked_add(length as u64);
        if end.is_none_or(|end| end > self.length) {
            let text = format!("{length} bytes at byte {start} of a file of {}", self.length);
            return Err(ParquetError::EOF(text));
        }
        let mut buffer = vec![0; length];
        self.file.read_exact_at(&mut buffer, start)?;
        if self.headers == Headers::BeforePages {
            check_header(&buffer, Some(length as u64)).map_err(ParquetError::General)?;
        }
        Ok(buffer.into())
    }
}

/// Reads numbers of Thrift's compact protocol.
struct Compact<'a>(&'a [u8]);

impl Compact<'_> {
    fn byte(&mut self) -> Option<u8> {
        let (&first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(first)
    }

    /// Seven bits per byte, lowest first.
    fn varint(&mut self) -> Option<u64> {
        let mut value = 0u64;
        for shift in (0..63).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7F) << shift;
            if byte < 0x80 {
                return Some(value);
            }
        }
        None
    }

    /// The next field, a nonnegative number.
    fn size(&mut self) -> Option<u64> {
        if self.byte()? != NEXT_I32 {
            return None;
        }
        // Zigzag encoding: 0, -1, 1, -2, ...
        self.varint().filter(|value| value & 1 == 0).map(|value| value / 2)
    }
}

/// Checks the header of a page: type, decompressed size, size. `length` is the page's length in the file, if known.
fn check_header(header: &[u8], length: Option<u64>) -> Result<(), String> {
    let mut fields = Compact(header);
    let sizes = (fields.size(), fields.size(), fields.size());
    let (Some(_), Some(decompressed), Some(size)) = sizes else {
        return Err("a page without its header".into());
    };
    let size = length.map_or(size, |length| size.min(length));
    if decompressed > MOST_EXPANSION * size + 64 {
        return Err(format!(
            "a page of {size} bytes that claims {decompressed} bytes decompressed"
        ));
    }
    Ok(())
}

/// Checks the footer of the file at `path`: its length, and the number of columns.
///
/// # Errors
/// The footer is missing or out of bounds.
pub(crate) fn check_footer(path: &Path, source: &Source) -> Result<(), FileError> {
    let wrong = |problem: String, expected: &str| FileError::about(path, problem, expected);
    let damaged = || wrong("damaged: it has no footer".into(), EXPECTED);
    let read = |buffer: &mut [u8], at: u64| {
        let done = source.file.read_exact_at(buffer, at);
        done.map_err(|cause| wrong(format!("cannot be read: {cause}"), EXPECTED))
    };
    let tail = source.length.checked_sub(8).ok_or_else(damaged)?;
    let mut length = [0; 4];
    read(&mut length, tail)?;
    let length = u64::from(u32::from_le_bytes(length));
    if length > LONGEST_FOOTER {
        let expected = format!("at most {LONGEST_FOOTER}");
        return Err(wrong(format!("a footer of {length} bytes"), &expected));
    }
    let mut first = [0; 32];
    let first = &mut first[..length.min(32) as usize];
    read(first, tail.checked_sub(length).ok_or_else(damaged)?)?;
    let mut fields = Compact(first);
    let columns = || -> Option<u64> {
        // The version, then the schema.
        fields.size()?;
        if fields.byte()? != NEXT_LIST {
            return None;
        }
        match fields.byte()? >> 4 {
            15 => fields.varint(),
            count => Some(count.into()),
        }
    };
    match { columns }() {
        None => Err(damaged()),
        Some(columns) if columns > MOST_COLUMNS => {
            let expected = format!("at most {MOST_COLUMNS}");
            Err(wrong(format!("{columns} columns"), &expected))
        }
        Some(_) => Ok(()),
    }
}

/// Runs code of the crate `parquet`, and turns its errors and panics into errors of `file`.
pub(crate) fn guarded<T>(file: &Path, what: impl FnOnce() -> ParquetResult<T>) -> Result<T, FileError> {
    // Its decoders trust well-formed pages in places, and panic on others.
    match catch_panic(what) {
        Ok(Ok(found)) => Ok(found),
        Ok(Err(error)) => Err(FileError::about(file, error.to_string(), EXPECTED)),
        Err(_) => Err(FileError::about(file, "damaged: it cannot be decoded", EXPECTED)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// type 0, decompressed 3,000, size 100: 22 * 100 + 64 = 2,264 < 3,000.
    #[test]
    fn pages_beyond_the_ratio_of_snappy_are_refused() {
        let header = |decompressed: u64, size: u64| {
            let mut bytes = vec![NEXT_I32, 0];
            for value in [decompressed, size] {
                bytes.push(NEXT_I32);
                let mut value = 2 * value;
                while value >= 0x80 {
                    bytes.push(value as u8 | 0x80);
                    value >>= 7;
                }
                bytes.push(value as u8);
            }
            bytes
        };
        assert_eq!(check_header(&header(2_264, 100), None), Ok(()));
        let text = "a page of 100 bytes that claims 3000 bytes decompressed";
        assert_eq!(check_header(&header(3_000, 100), None), Err(text.into()));
        assert_eq!(check_header(&header(3_000, 200), None), Ok(()));
        assert!(check_header(&header(3_000, 200), Some(100)).is_err());
        assert!(check_header(&header(i32::MAX as u64, 1 << 20), None).is_err());
        assert_eq!(
            check_header(&[NEXT_I32, 0, NEXT_I32], None),
            Err("a page without its header".into())
        );
    }
}

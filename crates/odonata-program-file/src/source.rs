//! What the crate `parquet` gets to see of a file.
//!
//! It takes numbers in footers and pages for granted: it goes down a schema by recursion, and reserves what a page says
//! it has decompressed. So the first fields of both are looked at before it reads them. They are structures of Thrift's
//! compact protocol, whose fields come in the order of their numbers. Where it panics on bytes that make no sense, the
//! panic is caught: nothing of its state is used afterwards.

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

/// Longest footer in bytes: that of 20,000 row groups and more.
const LONGEST_FOOTER: u64 = 1 << 26;

/// Most columns, with groups of columns.
const MOST_COLUMNS: u64 = 1_000;

/// Snappy's longest copy takes 3 bytes and gives 64.
const MOST_EXPANSION: u64 = 22;

/// First byte of a field: the type in the low bits, and the difference to the number of the field before.
const NEXT_I32: u8 = 0x15;
const NEXT_LIST: u8 = 0x19;

/// What an error says that was expected.
const EXPECTED: &str = "a Parquet file, whole and unchanged";

/// Where headers of pages are in what is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Headers {
    /// There are none: the footer is read.
    None,
    /// They are read by themselves.
    Apart,
    /// Pages are read with the header at their beginning.
    BeforePages,
}

/// A file that is read at given places: threads that share it do not move each other's position.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    file: Arc<File>,
    length: u64,
    headers: Headers,
}

/// Reads on from a place.
pub(crate) struct From {
    file: Arc<File>,
    at: u64,
    /// What is read next begins with the header of a page.
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

    /// The same file, for reading of pages.
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
        // Headers of pages: short.
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

    /// Seven bits a byte, the lowest first.
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

    /// The next field, a number that is not negative.
    fn size(&mut self) -> Option<u64> {
        if self.byte()? != NEXT_I32 {
            return None;
        }
        // Signed numbers: 0, -1, 1, -2, ...
        self.varint().filter(|value| value & 1 == 0).map(|value| value / 2)
    }
}

/// Looks at the header of a page: type, decompressed size, size. `length` is the page's in the file, if that is known.
fn check_header(header: &[u8], length: Option<u64>) -> Result<(), String> {
    let mut fields = Compact(header);
    let sizes = (fields.size(), fields.size(), fields.size());
    let (Some(_), Some(decompressed), Some(size)) = sizes else {
        return Err("a page without its header".into());
    };
    let size = length.map_or(size, |length| size.min(length));
    if decompressed > MOST_EXPANSION * size + 64 {
        return Err(format!(
            "a page of {size} bytes that says it has {decompressed} decompressed"
        ));
    }
    Ok(())
}

/// Looks at the footer of the file at `path`: its length, and the number of columns.
///
/// # Errors
/// They are out of bounds, or are not there.
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
    // Its decoders take well-formed pages for granted in places, and panic on others.
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
    fn pages_that_would_grow_beyond_what_snappy_can_do_are_refused() {
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
        let text = "a page of 100 bytes that says it has 3000 decompressed";
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

//! Big-endian input from a file, through a buffer of fixed size.
//!
//! A stated length is checked against the remaining bytes before it is used.

use std::io::{Read, Seek, SeekFrom};

use super::error::{Fault, Found};

/// Bytes per read.
const CHUNK: usize = 1 << 16;

/// A section of a file: from the last seek up to `limit`.
#[derive(Debug)]
pub(super) struct Input<R> {
    source: R,
    buffer: Box<[u8]>,
    start: usize,
    end: usize,
    /// File offset of `buffer[end]`.
    read: u64,
    limit: u64,
}

impl<R: Read + Seek> Input<R> {
    /// All of `source`.
    pub(super) fn new(mut source: R) -> Found<Self> {
        let length = source.seek(SeekFrom::End(0)).map_err(|cause| failed(0, &cause))?;
        Ok(Input {
            source,
            buffer: vec![0; CHUNK.min(usize::try_from(length).unwrap_or(CHUNK).max(64))].into(),
            start: 0,
            end: 0,
            // Unpositioned: the first operation must be a seek.
            read: length,
            limit: length,
        })
    }

    /// Offset of the next byte.
    pub(super) fn position(&self) -> u64 {
        self.read - (self.end - self.start) as u64
    }

    /// Bytes up to the limit.
    pub(super) fn left(&self) -> u64 {
        self.limit.saturating_sub(self.position())
    }

    /// Moves to `offset` and allows reads up to `limit`, both from the start of the file.
    pub(super) fn seek(&mut self, offset: u64, limit: u64) -> Found<()> {
        self.source
            .seek(SeekFrom::Start(offset))
            .map_err(|cause| failed(offset, &cause))?;
        (self.start, self.end) = (0, 0);
        (self.read, self.limit) = (offset, limit.max(offset));
        Ok(())
    }

    /// Buffers `count` bytes, at most [`CHUNK`].
    #[cold]
    fn fill(&mut self, count: usize) -> Found<()> {
        if self.left() < count as u64 || count > self.buffer.len() {
            return Err(Box::new(Fault {
                ended: true,
                ..*Fault::new(
                    self.position(),
                    format!("{} bytes are left", self.left()),
                    format!("{count} more"),
                )
            }));
        }
        self.buffer.copy_within(self.start..self.end, 0);
        (self.start, self.end) = (0, self.end - self.start);
        while self.end < count {
            let room = (self.buffer.len() - self.end) as u64;
            let most = room.min(self.limit - self.read) as usize;
            let target = &mut self.buffer[self.end..self.end + most];
            match self.source.read(target) {
                Ok(0) => return Err(Fault::new(self.read, "the file has become shorter", "")),
                Ok(count) => {
                    self.end += count;
                    self.read += count as u64;
                }
                Err(cause) if cause.kind() == std::io::ErrorKind::Interrupted => {}
                Err(cause) => return Err(failed(self.read, &cause)),
            }
        }
        Ok(())
    }

    #[inline]
    fn bytes<const N: usize>(&mut self) -> Found<[u8; N]> {
        if self.end - self.start < N {
            self.fill(N)?;
        }
        let mut bytes = [0; N];
        bytes.copy_from_slice(&self.buffer[self.start..self.start + N]);
        self.start += N;
        Ok(bytes)
    }

    #[inline]
    pub(super) fn u8(&mut self) -> Found<u8> {
        Ok(self.bytes::<1>()?[0])
    }

    #[inline]
    pub(super) fn u16(&mut self) -> Found<u16> {
        self.bytes().map(u16::from_be_bytes)
    }

    #[inline]
    pub(super) fn i16(&mut self) -> Found<i16> {
        self.bytes().map(i16::from_be_bytes)
    }

    #[inline]
    pub(super) fn u32(&mut self) -> Found<u32> {
        self.bytes().map(u32::from_be_bytes)
    }

    #[inline]
    pub(super) fn i32(&mut self) -> Found<i32> {
        self.bytes().map(i32::from_be_bytes)
    }

    #[inline]
    pub(super) fn u64(&mut self) -> Found<u64> {
        self.bytes().map(u64::from_be_bytes)
    }

    #[inline]
    pub(super) fn i64(&mut self) -> Found<i64> {
        self.bytes().map(i64::from_be_bytes)
    }

    /// Skips `count` bytes.
    pub(super) fn skip(&mut self, mut count: u64) -> Found<()> {
        if self.left() < count {
            return Err(self.too_long(count, 1));
        }
        while count > 0 {
            if self.start == self.end {
                self.fill(1)?;
            }
            let step = count.min((self.end - self.start) as u64);
            self.start += step as usize;
            count -= step;
        }
        Ok(())
    }

    /// The length of an array (32 bits, signed) whose elements take at least `each` bytes.
    #[inline]
    pub(super) fn length(&mut self, each: u64) -> Found<usize> {
        let length = self.i32()?;
        match u64::try_from(length) {
            Err(_) => Err(Fault::new(
                self.position() - 4,
                format!("a length of {length}"),
                "0 or more",
            )),
            Ok(length) if length * each > self.left() => Err(self.too_long(length, each)),
            Ok(length) => Ok(length as usize),
        }
    }

    #[cold]
    fn too_long(&self, length: u64, each: u64) -> Box<Fault> {
        Box::new(Fault {
            ended: true,
            ..*Fault::new(
                self.position(),
                format!("{length} elements of {each} bytes or more"),
                format!("no more than the {} bytes that are left", self.left()),
            )
        })
    }

    /// `length` bytes as text; invalid UTF-8 is replaced.
    pub(super) fn text(&mut self, length: usize) -> Found<String> {
        if self.left() < length as u64 {
            return Err(self.too_long(length as u64, 1));
        }
        let mut bytes = Vec::with_capacity(length);
        for _ in 0..length {
            bytes.push(self.u8()?);
        }
        Ok(match String::from_utf8(bytes) {
            Ok(text) => text,
            Err(cause) => String::from_utf8_lossy(cause.as_bytes()).into_owned(),
        })
    }

    /// A text with a length of 16 bits.
    pub(super) fn short_text(&mut self) -> Found<String> {
        let length = self.u16()?;
        self.text(usize::from(length))
    }
}

fn failed(offset: u64, cause: &std::io::Error) -> Box<Fault> {
    Fault::new(offset, format!("cannot be read: {cause}"), "")
}

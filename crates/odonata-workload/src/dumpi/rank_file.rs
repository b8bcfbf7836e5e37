//! The file of one rank: its records, one after the other.

use std::fs::File;
use std::io::{Read, Seek};
use std::path::{Path, PathBuf};

use super::error::{Fault, Found, TraceError};
use super::input::Input;
use super::record::{self, Frame, Record};
use super::trailer::{self, BODY, Trailer, Version};

/// How the records of a file ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// With the label that ends a stream, or where the header starts.
    Complete,
    /// In a record that starts here: the traced program died.
    Truncated {
        /// Offset in bytes.
        offset: u64,
    },
}

/// The records of a file, in the order in which the calls returned. Memory does not depend on its length.
#[derive(Debug)]
pub struct Records<R> {
    input: Input<R>,
    frame: Frame,
    trailer: Option<Trailer>,
    /// Where the first record is.
    first: u64,
    end: u64,
    ending: Option<Ending>,
}

/// The file of one rank.
pub type RankFile = Records<File>;

impl<R: Read + Seek> Records<R> {
    /// The records in `source`, a whole file.
    ///
    /// # Errors
    /// It does not start as a DUMPI file, or what is after its records makes no sense.
    pub(super) fn new(source: R) -> Found<Self> {
        let mut input = Input::new(source)?;
        let length = input.left() + input.position();
        let trailer = trailer::read(&mut input, length)?;
        let (body, end) = trailer.as_ref().map_or((BODY, length), |trailer| (trailer.body, trailer.body_end));
        input.seek(body, end)?;
        let cpu_base = i64::from(input.i32()?);
        let wall_base = i64::from(input.i32()?);
        Ok(Records {
            first: input.position(),
            input,
            frame: Frame {
                // A file without a header is one of a tracer that writes none until it ends: all known ones do.
                version: trailer.as_ref().map_or(Version(u8::MAX, 0, 0), |trailer| trailer.version),
                cpu_base,
                wall_base,
            },
            trailer,
            end,
            ending: None,
        })
    }

    /// What the file says besides its records; `None` if it was cut off.
    pub fn trailer(&self) -> Option<&Trailer> {
        self.trailer.as_ref()
    }

    /// How the records ended, once they have.
    pub fn ending(&self) -> Option<Ending> {
        self.ending
    }

    /// Offset of the first record.
    pub(super) fn first(&self) -> u64 {
        self.first
    }

    /// Offset of the next record.
    pub(super) fn position(&self) -> u64 {
        self.input.position()
    }

    /// Goes to the record at `offset`.
    pub(super) fn go_to(&mut self, offset: u64) -> Found<()> {
        self.ending = None;
        self.input.seek(offset, self.end)
    }

    /// Reads the next record; `false` after the last.
    #[inline]
    pub(super) fn advance(&mut self, record: &mut Record) -> Found<bool> {
        if self.ending.is_some() {
            return Ok(false);
        }
        if self.input.left() == 0 {
            // Very old tracers wrote no last label.
            self.ending = Some(match self.trailer {
                Some(_) => Ending::Complete,
                None => Ending::Truncated { offset: self.end },
            });
            return Ok(false);
        }
        let offset = self.input.position();
        match record::read(&mut self.input, &self.frame, record) {
            Ok(true) => Ok(true),
            Ok(false) => {
                self.ending = Some(Ending::Complete);
                Ok(false)
            }
            Err(fault) if fault.ended && self.trailer.is_none() => {
                self.ending = Some(Ending::Truncated { offset });
                Ok(false)
            }
            Err(fault) => Err(Box::new(Fault {
                problem: format!("record at byte {offset}: {}", fault.problem),
                ..*fault
            })),
        }
    }
}

impl RankFile {
    /// Opens the file at `path`.
    ///
    /// # Errors
    /// It cannot be read, does not start as a DUMPI file, or what is after its records makes no sense.
    pub fn open(path: &Path) -> Result<RankFile, TraceError> {
        let file = File::open(path)
            .map_err(|cause| TraceError::about(path, format!("cannot be opened: {cause}"), "a DUMPI file"))?;
        Records::new(file).map_err(|fault| fault.of(path))
    }

    /// Calls `visit` with every record.
    ///
    /// # Errors
    /// A record makes no sense.
    pub fn for_each(&mut self, path: &Path, mut visit: impl FnMut(&Record)) -> Result<Ending, TraceError> {
        let mut record = Record::default();
        while self.advance(&mut record).map_err(|fault| fault.of(path))? {
            visit(&record);
        }
        Ok(self.ending.unwrap_or(Ending::Complete))
    }
}

/// A file of rank, by name.
pub(super) fn rank_of(path: &Path) -> Option<(String, u32)> {
    let name = path.file_name()?.to_str()?;
    if name.starts_with("._") {
        return None;
    }
    let (prefix, digits) = name.strip_suffix(".bin")?.rsplit_once('-')?;
    let decimal = digits.len() >= 4 && digits.bytes().all(|byte| byte.is_ascii_digit());
    decimal.then(|| digits.parse().ok().map(|rank| (prefix.to_string(), rank)))?
}

/// A path with its rank.
pub(super) type Numbered = (u32, PathBuf);

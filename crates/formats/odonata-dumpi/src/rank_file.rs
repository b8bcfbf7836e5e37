//! The file of one rank: a sequence of records.
//!
//! The reader accounts for every byte of a file, or reports an error with its place. If the traced program died, the
//! file has no end; [`Incomplete::Read`] reads such files.

use std::fs::File;
use std::io::{Read, Seek};
use std::path::{Path, PathBuf};

use odonata_trace_format::{CANCELLED, Cancellation};
use odonata_workload::open_regular;

use super::error::{Fault, Found, TraceError};
use super::input::Input;
use super::record::{self, Frame, Record, Span};
use super::trailer::{self, BODY, Trailer, Version};

/// Handling of damaged files: truncated, or with bytes after their end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Incomplete {
    /// Damage is an error.
    #[default]
    Refused,
    /// Reads the complete records. Without the trailer, the format version is assumed to be the newest, and datatype
    /// sizes those of 64-bit machines.
    Read,
}

/// The end of a file's records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// With the end-of-stream label, or at the header.
    Complete,
    /// Within a record at this offset: the traced program died.
    Truncated {
        /// Offset in bytes.
        offset: u64,
    },
}

/// The records of a file, in the order in which the calls returned. Memory is independent of the file's length.
#[derive(Debug)]
pub struct Records<R> {
    input: Input<R>,
    frame: Frame,
    trailer: Option<Trailer>,
    /// The reason for a missing trailer.
    damage: Option<Box<Fault>>,
    end: u64,
    /// Of the file.
    length: u64,
    /// Whether the records extend to `end`.
    whole: bool,
    ending: Option<Ending>,
    clock: Clock,
    cancellation: Cancellation,
}

/// Properties common to all records of a file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout {
    frame: Frame,
    end: u64,
    length: u64,
    whole: bool,
}

/// The position of a record.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) offset: u64,
    clock: Clock,
}

/// Stored seconds have 16 bits: the number of wrap-arounds.
#[derive(Clone, Copy, Debug, Default)]
struct Clock {
    turns: i64,
    last: i64,
}

/// The period of the stored seconds, in ns.
const TURN: i64 = 65_536 * 1_000_000_000;
/// A step back by more than this is a wrap-around.
const HALF_TURN: i64 = TURN / 2;

impl Clock {
    /// The true times of a record; earlier records must have been seen.
    #[inline]
    fn unwrap(&mut self, span: &mut Span) {
        span.start += self.turns * TURN;
        span.stop += self.turns * TURN;
        if span.start < self.last - HALF_TURN {
            self.turns += 1;
            span.start += TURN;
            span.stop += TURN;
        }
        if span.stop < span.start - HALF_TURN {
            span.stop += TURN;
        }
        self.last = self.last.max(span.start);
    }
}

/// The file of one rank.
pub type RankFile = Records<File>;

impl<R: Read + Seek> Records<R> {
    /// The records in `source`, a whole file.
    ///
    /// # Errors
    /// It does not start like a DUMPI file; or it is damaged, and `incomplete` refuses that.
    pub(super) fn new(source: R, incomplete: Incomplete) -> Found<Self> {
        let mut input = Input::new(source)?;
        let length = input.left() + input.position();
        trailer::check_start(&mut input, length)?;
        let (trailer, damage) = match trailer::read(&mut input, length) {
            Ok(trailer) => (Some(trailer), None),
            Err(mut fault) => {
                fault.incomplete = true;
                if incomplete == Incomplete::Refused {
                    return Err(fault);
                }
                (None, Some(fault))
            }
        };
        let end = trailer.as_ref().map_or(length, |trailer| trailer.body_end);
        input.seek(BODY, end)?;
        let cpu_base = i64::from(input.i32()?);
        let wall_base = i64::from(input.i32()?);
        Ok(Records {
            input,
            frame: Frame {
                // A file without a header is from a tracer that writes one only at the end: all known tracers do.
                version: trailer
                    .as_ref()
                    .map_or(Version(u8::MAX, 0, 0), |trailer| trailer.version),
                cpu_base,
                wall_base,
            },
            whole: trailer.is_some(),
            trailer,
            damage,
            end,
            length,
            ending: None,
            clock: Clock {
                turns: 0,
                last: i64::MIN / 2,
            },
            cancellation: Cancellation::default(),
        })
    }

    /// The records of a file that was opened before, from `place` on.
    pub(super) fn resume(source: R, layout: Layout, place: Place) -> Found<Self> {
        let mut input = Input::new(source)?;
        let Layout {
            frame,
            end,
            length,
            whole,
        } = layout;
        if input.position() != length {
            let problem = format!("the file has {} bytes", input.position());
            return Err(Fault::new(input.position(), problem, format!("{length}, as before")));
        }
        input.seek(place.offset, end)?;
        Ok(Records {
            input,
            frame,
            trailer: None,
            damage: None,
            end,
            length,
            whole,
            ending: None,
            clock: place.clock,
            cancellation: Cancellation::default(),
        })
    }

    /// Adds a `cancellation`.
    pub(super) fn cancelled_by(self, cancellation: &Cancellation) -> Self {
        Records {
            cancellation: cancellation.clone(),
            ..self
        }
    }

    /// The trailer of the file; `None` for a damaged file.
    pub fn trailer(&self) -> Option<&Trailer> {
        self.trailer.as_ref()
    }

    /// The damage of the file at `path`, after reading its records.
    pub(super) fn damage(&self, path: &Path) -> Option<TraceError> {
        let mut error = self.damage.clone()?.of(path);
        if let Some(Ending::Truncated { offset }) = self.ending {
            error.problem = format!("truncated in the record at byte {offset}: {}", error.problem);
        }
        Some(error)
    }

    /// The end of the records, once reached.
    pub fn ending(&self) -> Option<Ending> {
        self.ending
    }

    /// The position of the next record.
    pub(super) fn place(&self) -> Place {
        Place {
            offset: self.input.position(),
            clock: self.clock,
        }
    }

    /// The data to resume at a [`Place`] of the same file without reading the trailer.
    pub(super) fn layout(&self) -> Layout {
        Layout {
            frame: self.frame,
            end: self.end,
            length: self.length,
            whole: self.whole,
        }
    }

    /// Reads the next record; `false` after the last.
    #[inline]
    pub(super) fn read(&mut self, record: &mut Record) -> Found<bool> {
        if self.ending.is_some() {
            return Ok(false);
        }
        if self.input.left() == 0 {
            // Very old tracers wrote no end-of-stream label.
            self.ending = Some(match self.whole {
                true => Ending::Complete,
                false => Ending::Truncated { offset: self.end },
            });
            return Ok(false);
        }
        let offset = self.input.position();
        if self.cancellation.is_requested() {
            return Err(Fault::new(offset, CANCELLED, ""));
        }
        match record::read(&mut self.input, &self.frame, record) {
            Ok(true) => {
                if let Some(span) = &mut record.wall {
                    self.clock.unwrap(span);
                }
                Ok(true)
            }
            Ok(false) if self.whole && self.input.left() > 0 => Err(Fault::new(
                offset,
                format!("the last label, and {} bytes before the header", self.input.left()),
                "the header after it",
            )),
            Ok(false) => {
                self.ending = Some(Ending::Complete);
                Ok(false)
            }
            Err(fault) if fault.ended && !self.whole => {
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
    /// It cannot be read, does not start like a DUMPI file, or is damaged and `incomplete` refuses that.
    pub fn open(path: &Path, incomplete: Incomplete) -> Result<RankFile, TraceError> {
        Records::new(opened(path)?, incomplete).map_err(|fault| fault.of(path))
    }

    /// Calls `visit` with every record.
    ///
    /// # Errors
    /// A record is invalid.
    pub fn for_each(&mut self, path: &Path, mut visit: impl FnMut(&Record)) -> Result<Ending, TraceError> {
        let mut record = Record::default();
        while self.read(&mut record).map_err(|fault| fault.of(path))? {
            visit(&record);
        }
        Ok(self.ending.unwrap_or(Ending::Complete))
    }
}

/// Opens the file at `path`.
pub(super) fn opened(path: &Path) -> Result<File, TraceError> {
    open_regular(path).map_err(|cause| TraceError::about(path, format!("cannot be opened: {cause}"), "a DUMPI file"))
}

/// The prefix and rank in a file name.
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

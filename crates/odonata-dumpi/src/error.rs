//! What is wrong with a trace, and where.

use std::fmt;
use std::path::{Path, PathBuf};

use odonata_trace_format::{CANCELLED, FormatError};

/// A file of a trace that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceError {
    /// The file, or the folder.
    pub file: PathBuf,
    /// Where in the file, in bytes from its start; `None` if it is about the file as a whole.
    pub offset: Option<u64>,
    /// What was seen.
    pub problem: String,
    /// What was expected there.
    pub expected: String,
    /// Whether the file is not whole, so that there may be more to be read of it by
    /// [`Incomplete::Read`](super::Incomplete::Read).
    pub incomplete: bool,
    /// The number of the system's error, if a file could not be written: the disk may be full.
    pub os: Option<i32>,
}

impl TraceError {
    /// An error about `file` as a whole.
    pub fn about(file: &Path, problem: impl Into<String>, expected: impl Into<String>) -> TraceError {
        TraceError {
            file: file.into(),
            offset: None,
            problem: problem.into(),
            expected: expected.into(),
            incomplete: false,
            os: None,
        }
    }

    /// Work on `file` that was cancelled.
    pub(super) fn cancelled(file: &Path) -> TraceError {
        TraceError::about(file, CANCELLED, "")
    }

    /// `file` cannot be written, as the system says.
    pub(super) fn unwritable(file: &Path, cause: &std::io::Error) -> TraceError {
        TraceError {
            os: cause.raw_os_error(),
            ..TraceError::about(file, format!("cannot be written: {cause}"), "")
        }
    }
}

impl fmt::Display for TraceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file.display())?;
        if let Some(offset) = self.offset {
            write!(f, ", byte {offset}")?;
        }
        write!(f, ": {}", self.problem)?;
        match self.expected.as_str() {
            "" => Ok(()),
            expected => write!(f, "; expected {expected}"),
        }
    }
}

impl std::error::Error for TraceError {}

impl From<TraceError> for FormatError {
    fn from(error: TraceError) -> FormatError {
        FormatError {
            file: error.file,
            place: error.offset.map_or(String::new(), |offset| format!("byte {offset}")),
            problem: error.problem,
            expected: error.expected,
            incomplete: error.incomplete,
            os: error.os,
        }
    }
}

/// What is wrong in a stream of bytes; becomes a [`TraceError`] with the name of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) offset: u64,
    pub(super) problem: String,
    pub(super) expected: String,
    /// Whether the bytes came to an end too early.
    pub(super) ended: bool,
    /// Whether it says that a file is not whole.
    pub(super) incomplete: bool,
}

pub(super) type Found<T> = Result<T, Box<Fault>>;

impl Fault {
    pub(super) fn new(offset: u64, problem: impl Into<String>, expected: impl Into<String>) -> Box<Fault> {
        Box::new(Fault {
            offset,
            problem: problem.into(),
            expected: expected.into(),
            ended: false,
            incomplete: false,
        })
    }

    pub(super) fn of(self, file: &Path) -> TraceError {
        TraceError {
            file: file.into(),
            offset: Some(self.offset),
            problem: self.problem,
            expected: self.expected,
            incomplete: self.incomplete,
            os: None,
        }
    }
}

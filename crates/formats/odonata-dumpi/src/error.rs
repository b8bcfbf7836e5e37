//! Errors in a trace, with their place.

use std::fmt;
use std::path::{Path, PathBuf};

use odonata_trace_format::{CANCELLED, FormatError};

/// A file of a trace that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceError {
    /// The file or folder.
    pub file: PathBuf,
    /// Byte offset in the file; `None` for the file as a whole.
    pub offset: Option<u64>,
    /// What was seen.
    pub problem: String,
    /// The expectation.
    pub expected: String,
    /// Whether the file is truncated: [`Incomplete::Read`](super::Incomplete::Read) may read a part of it.
    pub incomplete: bool,
    /// The system's error number, if a file could not be written: the disk may be full.
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

    /// `file` cannot be written, with the system's reason.
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
            ..FormatError::default()
        }
    }
}

/// An error in a byte stream; becomes a [`TraceError`] with the file name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) offset: u64,
    pub(super) problem: String,
    pub(super) expected: String,
    /// Whether the bytes ended too early.
    pub(super) ended: bool,
    /// Whether the error means a truncated file.
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

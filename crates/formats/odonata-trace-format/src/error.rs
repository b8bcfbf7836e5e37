//! Errors in a trace of any format.

use std::fmt;
use std::path::{Path, PathBuf};

/// A trace that cannot be read or written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FormatError {
    /// The file or folder.
    pub file: PathBuf,
    /// The place in the file, such as "byte 12" or "row 3, column rank"; empty for the file as a whole.
    pub place: String,
    /// What was seen.
    pub problem: String,
    /// The expectation; may be empty.
    pub expected: String,
    /// A remedy, if there is one.
    pub hint: Option<String>,
    /// Whether a file is truncated: [`ReadOptions::incomplete`](crate::ReadOptions::incomplete) may read a part of it.
    pub incomplete: bool,
    /// The system's error number, if a file could not be written: the disk may be full.
    pub os: Option<i32>,
}

impl FormatError {
    /// An error about `file` as a whole.
    pub fn about(file: &Path, problem: impl Into<String>, expected: impl Into<String>) -> FormatError {
        FormatError {
            file: file.into(),
            problem: problem.into(),
            expected: expected.into(),
            ..FormatError::default()
        }
    }

    /// The error of [cancelled](crate::Cancellation) work on `file`.
    pub fn cancelled(file: &Path) -> FormatError {
        FormatError::about(file, CANCELLED, "")
    }
}

/// The message for [cancelled](crate::Cancellation) work.
pub const CANCELLED: &str = "stopped before it was complete";

impl fmt::Display for FormatError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file.display())?;
        match self.place.as_str() {
            "" => {}
            place => write!(f, ", {place}")?,
        }
        write!(f, ": {}", self.problem)?;
        match self.expected.as_str() {
            "" => Ok(()),
            expected => write!(f, "; expected {expected}"),
        }
    }
}

impl std::error::Error for FormatError {}

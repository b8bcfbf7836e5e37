//! What is wrong with a trace, whatever its format.

use std::fmt;
use std::path::{Path, PathBuf};

/// A trace that cannot be read, or not written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FormatError {
    /// The file, or the folder.
    pub file: PathBuf,
    /// Where in the file, in words, as "byte 12" or "row 3, column rank"; empty if it is about the file as a whole.
    pub place: String,
    /// What was seen.
    pub problem: String,
    /// What was expected there; may be empty.
    pub expected: String,
    /// Whether a file is not whole, so that there may be more to be read of it by
    /// [`ReadOptions::incomplete`](crate::ReadOptions::incomplete).
    pub incomplete: bool,
    /// The number of the system's error, if a file could not be written: the disk may be full.
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

    /// Work on `file` that was [cancelled](crate::Cancellation).
    pub fn cancelled(file: &Path) -> FormatError {
        FormatError::about(file, CANCELLED, "")
    }
}

/// What errors of formats say of work that was [cancelled](crate::Cancellation).
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

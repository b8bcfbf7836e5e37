//! Errors in a program file, with their place.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use odonata_trace_format::{CANCELLED, FormatError};

/// A program that cannot be read or written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileError {
    /// The file or folder.
    pub file: PathBuf,
    /// Row of the file, from 0; `None` for the file as a whole.
    pub row: Option<u64>,
    /// Column of the file, if the error concerns one.
    pub column: Option<String>,
    /// What was seen.
    pub problem: String,
    /// The expectation; may be empty.
    pub expected: String,
    /// The system's error number, if a file could not be written: the disk may be full.
    pub os: Option<i32>,
}

impl FileError {
    /// An error about `file` as a whole.
    pub fn about(file: &Path, problem: impl Into<String>, expected: impl Into<String>) -> FileError {
        FileError {
            file: file.into(),
            row: None,
            column: None,
            problem: problem.into(),
            expected: expected.into(),
            os: None,
        }
    }

    /// Work on `file` that was cancelled.
    pub(crate) fn cancelled(file: &Path) -> FileError {
        FileError::about(file, CANCELLED, "")
    }

    /// `file` cannot be written, with the system's reason.
    pub(crate) fn unwritable(file: &Path, cause: &std::io::Error) -> FileError {
        FileError {
            os: cause.raw_os_error(),
            ..FileError::about(file, format!("cannot be written: {cause}"), "")
        }
    }

    /// Sets the row.
    pub(crate) fn at(mut self, row: u64) -> FileError {
        self.row = Some(row);
        self
    }

    /// Sets the column.
    pub(crate) fn of(mut self, column: &str) -> FileError {
        self.column = Some(column.into());
        self
    }

    /// The place in the file, in words; empty for the file as a whole.
    pub fn place(&self) -> String {
        let row = self.row.map(|row| format!("row {row}"));
        let column = self.column.as_ref().map(|column| format!("column {column}"));
        row.into_iter().chain(column).collect::<Vec<_>>().join(", ")
    }
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file.display())?;
        match self.place().as_str() {
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

impl std::error::Error for FileError {}

impl From<FileError> for FormatError {
    fn from(error: FileError) -> FormatError {
        FormatError {
            place: error.place(),
            file: error.file,
            problem: error.problem,
            expected: error.expected,
            os: error.os,
            ..FormatError::default()
        }
    }
}

/// The first reason why a part of a file could not be read again.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lost(Arc<OnceLock<String>>);

impl Lost {
    pub(crate) fn note(&self, error: &FileError) {
        self.0
            .get_or_init(|| format!("the file changed while the program ran: {error}"));
    }

    pub(crate) fn why(&self) -> Option<&str> {
        self.0.get().map(String::as_str)
    }
}

/// A problem with one value; becomes a [`FileError`] with file and row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The column.
    pub column: &'static str,
    /// What was seen.
    pub problem: String,
    /// What was expected.
    pub expected: String,
}

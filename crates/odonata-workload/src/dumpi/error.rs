//! What is wrong with a trace, and where.

use std::fmt;
use std::path::{Path, PathBuf};

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
}

impl TraceError {
    /// An error about `file` as a whole.
    pub fn about(file: &Path, problem: impl Into<String>, expected: impl Into<String>) -> TraceError {
        TraceError {
            file: file.into(),
            offset: None,
            problem: problem.into(),
            expected: expected.into(),
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

/// What is wrong in a stream of bytes; becomes a [`TraceError`] with the name of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) offset: u64,
    pub(super) problem: String,
    pub(super) expected: String,
    /// Whether the bytes came to an end too early.
    pub(super) ended: bool,
}

pub(super) type Found<T> = Result<T, Box<Fault>>;

impl Fault {
    pub(super) fn new(offset: u64, problem: impl Into<String>, expected: impl Into<String>) -> Box<Fault> {
        Box::new(Fault {
            offset,
            problem: problem.into(),
            expected: expected.into(),
            ended: false,
        })
    }

    pub(super) fn of(self, file: &Path) -> TraceError {
        TraceError {
            file: file.into(),
            offset: Some(self.offset),
            problem: self.problem,
            expected: self.expected,
        }
    }
}

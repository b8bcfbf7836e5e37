//! Errors in a GOAL file, with their place.

use std::fmt;

/// A place in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// A line of a text, from 1.
    Line(u32),
    /// A byte of a binary file, from 0.
    Byte(u64),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Line(line) => write!(f, "line {line}"),
            Place::Byte(byte) => write!(f, "byte {byte}"),
        }
    }
}

/// A file that is not a GOAL schedule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GoalError {
    /// Where.
    pub place: Place,
    /// What was seen.
    pub problem: String,
    /// The expectation.
    pub expected: String,
}

impl GoalError {
    pub(crate) fn line(line: u32, problem: impl Into<String>, expected: impl Into<String>) -> GoalError {
        GoalError {
            place: Place::Line(line),
            problem: problem.into(),
            expected: expected.into(),
        }
    }

    pub(crate) fn byte(byte: usize, problem: impl Into<String>, expected: impl Into<String>) -> GoalError {
        GoalError {
            place: Place::Byte(byte as u64),
            problem: problem.into(),
            expected: expected.into(),
        }
    }
}

impl fmt::Display for GoalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.problem)?;
        match self.expected.as_str() {
            "" => Ok(()),
            expected => write!(f, "; expected {expected}"),
        }
    }
}

impl std::error::Error for GoalError {}

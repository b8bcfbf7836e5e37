//! Errors in settings.

use std::fmt::Display;

use crate::Time;

/// A violated rule, at the key of the setting. The caller adds file and line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Path of the key, joined with dots.
    pub key: String,
    /// The violated rule, with the value.
    pub problem: String,
    /// The expectation; may be empty.
    pub expected: String,
    /// A remedy.
    pub hint: Option<String>,
    /// File and line (from 1), if the error is in a file that the key names.
    pub source: Option<(String, Option<u32>)>,
}

impl Problem {
    /// A problem at `key`.
    pub fn new(key: impl Into<String>, problem: impl Into<String>, expected: impl Into<String>) -> Self {
        Problem {
            key: key.into(),
            problem: problem.into(),
            expected: expected.into(),
            hint: None,
            source: None,
        }
    }

    /// With advice.
    #[must_use]
    pub fn hint(self, hint: impl Into<String>) -> Self {
        Problem {
            hint: Some(hint.into()),
            ..self
        }
    }

    /// Places the problem in another file, at `line`.
    #[must_use]
    pub fn within(self, file: impl Into<String>, line: Option<u32>) -> Self {
        Problem {
            source: Some((file.into(), line)),
            ..self
        }
    }
}

/// `value` of `key`, checked to be from `least` to `most`.
///
/// # Errors
/// `value` is outside the range.
pub fn within<T: PartialOrd + Display>(key: impl Into<String>, value: T, least: T, most: T) -> Result<T, Problem> {
    if value >= least && value <= most {
        return Ok(value);
    }
    let problem = format!("{value} is out of range");
    Err(Problem::new(key, problem, format!("{least} to {most}")))
}

/// `time` of `key`, checked to be at least 1 ps.
///
/// # Errors
/// `time` is zero.
pub fn positive(key: impl Into<String>, time: Time) -> Result<Time, Problem> {
    if time > Time::ZERO {
        return Ok(time);
    }
    let problem = format!("{time} is not positive");
    Err(Problem::new(key, problem, "a time of 1 ps at least"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ends_of_a_range_are_in_it() {
        assert_eq!((within("k", 1, 1, 3), within("k", 3, 1, 3)), (Ok(1), Ok(3)));
        let problem = within("k", f64::NAN, 0.0, 1.0).unwrap_err();
        assert_eq!(
            (problem.problem.as_str(), problem.expected.as_str()),
            ("NaN is out of range", "0 to 1")
        );
        assert!(positive("k", Time::ZERO).is_err() && positive("k", Time(1)).is_ok());
    }
}

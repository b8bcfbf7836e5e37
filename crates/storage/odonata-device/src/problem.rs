//! Errors in settings: key, value, expectation.

use std::fmt;

/// An invalid setting.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Problem {
    /// The key, from the outermost table on: `hdd.read_seek.average`.
    pub key: String,
    /// The problem, in words.
    pub message: String,
    /// The value found.
    pub value: Option<String>,
    /// The expectation.
    pub expected: String,
    /// A remedy.
    pub hint: Option<String>,
    /// Line of the file, from 1, if known.
    pub line: Option<u32>,
}

impl Problem {
    /// A problem at `key`: `value` instead of `expected`.
    pub(crate) fn new(key: &str, value: impl fmt::Display, expected: impl fmt::Display) -> Self {
        Problem {
            key: key.into(),
            message: "the value is out of range".into(),
            value: Some(value.to_string()),
            expected: expected.to_string(),
            ..Problem::default()
        }
    }

    /// With another sentence.
    pub(crate) fn saying(mut self, message: impl fmt::Display) -> Self {
        self.message = message.to_string();
        self
    }

    /// The same within table `outer`.
    pub(crate) fn within(mut self, outer: &str) -> Self {
        self.key = if self.key.is_empty() {
            outer.into()
        } else {
            format!("{outer}.{}", self.key)
        };
        self
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.key, self.message)?;
        if let Some(value) = &self.value {
            write!(f, ", found {value}")?;
        }
        match self.expected.as_str() {
            "" => Ok(()),
            expected => write!(f, ", expected {expected}"),
        }
    }
}

impl std::error::Error for Problem {}

/// Checks that `value` is from `least` to `most`.
pub(crate) fn within<T: PartialOrd + fmt::Display>(key: &str, value: T, least: T, most: T) -> Result<(), Problem> {
    if value >= least && value <= most {
        return Ok(());
    }
    Err(Problem::new(key, value, format_args!("{least} to {most}")))
}

/// Checks that a time is not zero.
pub(crate) fn positive(key: &str, value: odonata_units::Time) -> Result<(), Problem> {
    within(key, value, odonata_units::Time(1), odonata_units::Time::LONGEST)
}

/// Checks that a rate is valid: parameters built by a program bypass the parser of units.
pub(crate) fn rate(key: &str, value: odonata_units::Bandwidth) -> Result<(), Problem> {
    within(
        key,
        value,
        odonata_units::Bandwidth(1.0),
        odonata_units::Bandwidth(1e18),
    )
}

//! Errors in an input, with their place.

use std::fmt;

pub use odonata_units::Problem;
use serde::Serialize;

/// An error in a scenario, found before anything is created or run.
///
/// Displayed as one line, `FILE:LINE:COLUMN: KEY: MESSAGE; expected EXPECTED; HINT`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct InputError {
    /// The file as it was named; `preset NAME` inside a preset, `--set KEY=VALUE` in an override.
    pub file: String,
    /// Line, from 1; `None` for inputs without lines (overrides, unreadable files).
    pub line: Option<u32>,
    /// Column, from 1, in characters.
    pub column: Option<u32>,
    /// Path of the key, joined with dots; positions in arrays count from 0. Empty: the whole input.
    pub key: String,
    /// The problem, with the value.
    pub message: String,
    /// The value found, as TOML; `None` if there is none.
    pub value: Option<String>,
    /// The expectation; may be empty.
    pub expected: String,
    /// The likely intention, or a remedy.
    pub hint: Option<String>,
}

impl fmt::Display for InputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
            if let Some(column) = self.column {
                write!(f, ":{column}")?;
            }
        }
        if !self.key.is_empty() {
            write!(f, ": {}", self.key)?;
        }
        write!(f, ": {}", self.message)?;
        if !self.expected.is_empty() {
            write!(f, "; expected {}", self.expected)?;
        }
        match &self.hint {
            Some(hint) => write!(f, "; {hint}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for InputError {}

/// A suggestion of the candidate closest to `name`, if one is close.
pub(crate) fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<String> {
    // A long name is not a misspelling of a short one, and slow to compare.
    if name.len() > 64 {
        return None;
    }
    let fold = |text: &str| text.to_lowercase().replace('_', "-");
    let name = fold(name);
    candidates
        .into_iter()
        .map(|candidate| (strsim::damerau_levenshtein(&fold(candidate), &name), candidate))
        .filter(|(distance, candidate)| *distance <= 1 + candidate.len() / 4)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| format!("did you mean \"{candidate}\"?"))
}

/// `text` in quotes, shortened if very long.
pub(super) fn quoted(text: &str) -> String {
    format!("{:?}", excerpt(text))
}

/// `text`, shortened if very long.
pub(super) fn excerpt(text: &str) -> String {
    const MOST: usize = 60;
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_close_names_are_suggested() {
        let keys = ["packet", "flit", "switching", "router_delay"];
        assert_eq!(nearest("pakcet", keys), Some("did you mean \"packet\"?".into()));
        assert_eq!(
            nearest("router-delay", keys),
            Some("did you mean \"router_delay\"?".into())
        );
        assert_eq!(nearest("bandwidth", keys), None);
        assert_eq!(nearest(&"p".repeat(1_000_000), keys), None);
    }

    #[test]
    fn the_line_that_is_shown_leaves_out_what_is_not_known() {
        let error = InputError {
            file: "--set seed=x".into(),
            line: None,
            column: None,
            key: "seed".into(),
            message: "invalid value \"x\"".into(),
            value: Some("\"x\"".into()),
            expected: String::new(),
            hint: None,
        };
        assert_eq!(error.to_string(), "--set seed=x: seed: invalid value \"x\"");
    }
}

//! What checks of a trace report.

use serde::Serialize;

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// The trace contradicts itself or is not complete: what is replayed is not what was run, or gets stuck.
    Error,
    /// Something is replayed other than it was recorded, or could not be decided.
    Note,
}

/// Something that is worth to know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// How bad it is.
    pub severity: Severity,
    /// Which check it is of.
    pub check: &'static str,
    /// What was found.
    pub text: String,
}

/// Most findings of one check that are described one by one.
const MOST: usize = 20;

/// Collects the errors of one check; those beyond the first 20 are counted in a line of their own when it is dropped.
#[derive(Debug)]
pub struct Check<'a> {
    name: &'static str,
    found: usize,
    list: &'a mut Vec<Finding>,
}

impl<'a> Check<'a> {
    /// The check `name`, whose findings go to `list`.
    pub fn new(name: &'static str, list: &'a mut Vec<Finding>) -> Check<'a> {
        Check { name, found: 0, list }
    }
}

impl Check<'_> {
    /// Only those that are shown are put into words.
    pub fn error(&mut self, text: impl FnOnce() -> String) {
        self.found += 1;
        if self.found <= MOST {
            self.list.push(Finding {
                severity: Severity::Error,
                check: self.name,
                text: text(),
            });
        }
    }
}

impl Drop for Check<'_> {
    fn drop(&mut self) {
        if self.found > MOST {
            self.list.push(Finding {
                severity: Severity::Error,
                check: self.name,
                text: format!("and {} more", self.found - MOST),
            });
        }
    }
}

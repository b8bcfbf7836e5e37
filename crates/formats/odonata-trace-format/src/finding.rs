//! Findings of trace checks.

use serde::Serialize;

/// The severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// The trace is inconsistent or incomplete: its replay differs from the recorded run, or gets stuck.
    Error,
    /// The replay differs from the recording by design, or a check was undecided.
    Note,
}

/// One finding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Its severity.
    pub severity: Severity,
    /// The check that found it.
    pub check: &'static str,
    /// What was found.
    pub text: String,
}

/// Maximum number of findings per check that are described individually.
const MOST: usize = 20;

/// Collects the errors of one check; on drop, it adds a line with the count of those beyond the first 20.
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
    /// Renders the text only if the finding is shown.
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

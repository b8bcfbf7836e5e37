//! The errors and warnings of a program, each once.

use std::collections::HashSet;

use super::super::diagnostic::{Diagnostic, Span};

/// Maximum number of errors that are described.
pub(super) const MOST_ERRORS: usize = 50;

/// The errors and warnings so far.
#[derive(Default)]
pub(super) struct Diagnostics {
    pub(super) errors: Vec<Diagnostic>,
    pub(super) warnings: Vec<Diagnostic>,
    /// Warnings given so far.
    warned: HashSet<(Span, &'static str)>,
}

impl Diagnostics {
    /// Whether no more errors are described.
    pub(super) fn is_full(&self) -> bool {
        self.errors.len() >= MOST_ERRORS
    }

    pub(super) fn error(&mut self, reason: &'static str, message: String, span: Span) {
        self.error_with(reason, message, span, None);
    }

    pub(super) fn error_with(&mut self, reason: &'static str, message: String, span: Span, hint: Option<String>) {
        // A set with several uses is checked at each.
        let known = self
            .errors
            .iter()
            .any(|error| error.span == span && error.reason == reason);
        if !known && !self.is_full() {
            self.errors.push(Diagnostic {
                reason,
                message,
                span,
                hint,
            });
        }
    }

    pub(super) fn warn(&mut self, reason: &'static str, message: String, span: Span) {
        if self.warned.insert((span, reason)) {
            self.warnings.push(Diagnostic {
                reason,
                message,
                span,
                hint: None,
            });
        }
    }

    /// Errors and warnings in the order of the text.
    pub(super) fn sorted(mut self) -> (Vec<Diagnostic>, Vec<Diagnostic>) {
        self.errors.sort_by_key(|error| error.span);
        self.warnings.sort_by_key(|warning| warning.span);
        (self.errors, self.warnings)
    }
}

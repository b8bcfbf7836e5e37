//! Diagnostics: errors and warnings with their place.

use std::fmt;

/// A range of the source text, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span {
    /// The first byte.
    pub start: u32,
    /// The first byte after it.
    pub end: u32,
}

impl Span {
    /// From the start of `self` to the end of `other`.
    pub(super) fn to(self, other: Span) -> Span {
        Span {
            start: self.start,
            end: other.end.max(self.start),
        }
    }
}

/// One error or warning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// The violated rule, with the same text for every case.
    pub reason: &'static str,
    /// Found and expected.
    pub message: String,
    /// Where.
    pub span: Span,
    /// The likely intention.
    pub hint: Option<String>,
}

/// All errors of a program, in text order; displays itself with the source lines.
#[derive(Clone, Debug)]
pub struct Diagnostics {
    /// Name of the file.
    pub file: String,
    /// Its text.
    pub source: String,
    /// At least one.
    pub errors: Vec<Diagnostic>,
}

/// Line and column of byte `at` of `source`, both from 1; columns count characters.
pub fn line_and_column(source: &str, at: u32) -> (usize, usize) {
    let mut at = (at as usize).min(source.len());
    while !source.is_char_boundary(at) {
        at -= 1;
    }
    let before = &source[..at];
    let start = before.rfind('\n').map_or(0, |newline| newline + 1);
    (
        1 + before.bytes().filter(|&byte| byte == b'\n').count(),
        1 + before[start..].chars().count(),
    )
}

/// Maximum number of characters shown of a source line.
const WIDTH: usize = 160;

impl Diagnostic {
    /// `file:line:column: kind: message`, the line, and a caret under the place.
    pub fn render(&self, kind: &str, file: &str, source: &str) -> String {
        let (line, column) = line_and_column(source, self.span.start);
        let text = source.split('\n').nth(line - 1).unwrap_or("").trim_end_matches('\r');
        // A long line is shown around the place.
        let first = column.saturating_sub(1 + WIDTH / 2);
        let shown: String = text
            .chars()
            .skip(first)
            .take(WIDTH)
            .map(|c| if c == '\t' { ' ' } else { c })
            .collect();
        let indent = column - 1 - first;
        let left = shown.chars().count().saturating_sub(indent);
        let carets = (self.span.end.saturating_sub(self.span.start) as usize).clamp(1, left.max(1));
        let mut out = format!(
            "{file}:{line}:{column}: {kind}: {}\n  | {shown}\n  | {}{}",
            self.message,
            " ".repeat(indent),
            "^".repeat(carets)
        );
        if let Some(hint) = &self.hint {
            out.push_str("\n  = hint: ");
            out.push_str(hint);
        }
        out
    }
}

impl Diagnostics {
    /// The line of the first error, from 1.
    pub fn line(&self) -> usize {
        let start = self.errors.first().map_or(0, |error| error.span.start);
        line_and_column(&self.source, start).0
    }

    /// The rule that the first error violates.
    pub fn reason(&self) -> &'static str {
        self.errors.first().map_or("", |error| error.reason)
    }
}

impl fmt::Display for Diagnostics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, error) in self.errors.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            f.write_str(&error.render("error", &self.file, &self.source))?;
        }
        Ok(())
    }
}

impl std::error::Error for Diagnostics {}

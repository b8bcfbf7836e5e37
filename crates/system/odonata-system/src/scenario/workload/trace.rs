//! A recorded or written program that a job runs from files.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use odonata_trace_format::{FormatError, Opened, ReadOptions, TraceFormat};
use odonata_workload::Program;
use serde::Serialize;

use crate::formats;

/// A program in files, of any [format](crate::FORMATS). Equal paths and scales are equal: the files must not change.
#[derive(Clone, Serialize)]
pub struct Trace {
    /// Path of the trace, resolved from the scenario's folder.
    pub path: String,
    /// Factor for compute times.
    pub compute_scale: f64,
    /// Whether incomplete files are replayed as far as they go.
    pub incomplete: bool,
    #[serde(skip)]
    opened: Opened,
    /// The unknown and omitted parts of a trace that was converted, in sentences.
    #[serde(skip)]
    notes: Vec<String>,
}

impl Trace {
    /// Opens the trace or program at `path`: reads all its files once. With `incomplete`, incomplete files of a trace
    /// are not an error. `before` sees the format first, and the path that it opens.
    ///
    /// # Errors
    /// It cannot be read, which `wrong` puts into words, or `before` refuses it.
    pub(crate) fn open<E>(
        path: &Path,
        compute_scale: f64,
        incomplete: bool,
        before: impl Fn(&dyn TraceFormat, &Path) -> Result<(), E>,
        wrong: impl Fn(FormatError) -> E,
    ) -> Result<Trace, E> {
        let options = ReadOptions {
            compute_scale,
            incomplete,
            ..ReadOptions::default()
        };
        let (opened, notes) = formats::open(path, &options, before, wrong)?;
        Ok(Trace {
            path: path.display().to_string(),
            compute_scale,
            incomplete,
            opened,
            notes,
        })
    }

    /// Number of ranks.
    pub fn ranks(&self) -> u32 {
        self.opened.program.ranks()
    }

    /// Whether it accesses files.
    pub fn does_io(&self) -> bool {
        self.opened.does_io
    }

    /// What is wrong with incomplete files that are replayed nevertheless.
    pub fn damage(&self) -> Option<&str> {
        self.opened.damage.as_deref()
    }

    /// The unknown and omitted parts of a trace that was converted, in sentences.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// The program; all clones share it.
    pub fn replay(&self) -> &Arc<dyn Program> {
        &self.opened.program
    }
}

impl PartialEq for Trace {
    fn eq(&self, other: &Self) -> bool {
        self.path == other.path && self.compute_scale == other.compute_scale && self.incomplete == other.incomplete
    }
}

impl fmt::Debug for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Trace")
            .field("path", &self.path)
            .field("compute_scale", &self.compute_scale)
            .finish_non_exhaustive()
    }
}

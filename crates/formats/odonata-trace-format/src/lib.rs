//! Trace formats: the operations of every format for recorded or written programs, behind one trait.
//!
//! ```text
//!  path ── Formats::at ──> TraceFormat ─┬─ open ────> a Program, with what is to be known of its files
//!                                       ├─ inspect ─> statistics, as JSON
//!                                       ├─ lint ────> findings: of the files, and of the program (lint_program)
//!                                       └─ repeat ──> files of the same format that do it several times
//! ```
//!
//! A format is a type that implements [`TraceFormat`] in the crate of its reader, and a line in the list of formats of
//! `odonata-system`. Replay, conversion and the [traffic matrix](traffic_matrix) use the program that it opens. A
//! format may be a single file or a folder, and may hold file accesses only: such a program has no messages.
//!
//! The input is hostile: no input may cause a panic, a hang or unbounded memory. Work on large files checks a
//! [`Cancellation`].

mod cancellation;
mod error;
mod finding;
mod formats;
mod lint;
mod matching;
mod traffic;
mod unsupported;

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use odonata_workload::Program;

pub use cancellation::Cancellation;
pub use error::{CANCELLED, FormatError};
pub use finding::{Check, Finding, Severity};
pub use formats::Formats;
pub use lint::lint_program;
pub use traffic::{End, Flow, traffic_matrix, visit};

/// Options for reading a trace.
#[derive(Clone, Debug, smart_default::SmartDefault)]
pub struct ReadOptions {
    /// Factor for recorded computation times.
    #[default = 1.0]
    pub compute_scale: f64,
    /// Whether truncated files are read up to their last whole record instead of being refused.
    pub incomplete: bool,
    /// Whether recorded time in calls counts as computation, too: the computation before an operation then begins at
    /// the start of the previous operation, so that operations keep the clock of the recording.
    pub call_time: bool,
    /// Stops the reading with an error.
    pub cancellation: Cancellation,
}

/// A trace, opened.
#[derive(Clone)]
pub struct Opened {
    /// The program of the ranks.
    pub program: Arc<dyn Program>,
    /// Whether it accesses files.
    pub does_io: bool,
    /// The damage of truncated files that were read anyway, in the words of [`truncation`].
    pub damage: Option<String>,
}

/// A sentence on truncated files, of which `damages` names one each, among the `files` of a trace; `None` if there are
/// none.
pub fn truncation<D: fmt::Display>(damages: &[D], files: usize) -> Option<String> {
    let (count, first) = (damages.len(), damages.first()?);
    Some(format!(
        "{count} of {files} files are truncated and read up to their last whole record: {first}"
    ))
}

impl fmt::Debug for Opened {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Opened")
            .field("program", &self.program.describe())
            .finish_non_exhaustive()
    }
}

/// A format of traces or programs in files.
pub trait TraceFormat: Sync {
    /// Its name.
    fn name(&self) -> &'static str;

    /// A description of its paths for error messages: "the folder of ..., or its .meta file".
    fn files(&self) -> &'static str;

    /// Whether `path` is meant to be of this format, by names and first bytes, without reading all of it. A damaged
    /// trace still has its format, so its reader can report the damage.
    fn detect(&self, path: &Path) -> bool;

    /// Whether `folder`, which no format has detected, holds a trace of this format among other files: for formats
    /// whose traces are single files. The format then opens the path of the folder.
    fn is_among(&self, folder: &Path) -> bool {
        let _ = folder;
        false
    }

    /// Lower bound of the memory to open it, in bytes: from the sizes that the files state, without reading them. 0 if
    /// unknown, or if the files are damaged.
    fn least_memory(&self, path: &Path) -> u64 {
        let _ = path;
        0
    }

    /// Opens `path` as a program: reads and checks all of it once. The files must not change while the program runs.
    ///
    /// # Errors
    /// It cannot be read, or has impossible contents.
    fn open(&self, path: &Path, options: &ReadOptions) -> Result<Opened, FormatError>;

    /// The contents, as a JSON object. Every format has `name` and `nranks`, and sums over all ranks: `total_records`
    /// and `total_op_counts` (by name), `total_sends`, `total_send_bytes`, `total_recvs_posted`,
    /// `total_persistent_starts`, `total_collective_calls` (by name). Other keys depend on the format.
    ///
    /// # Errors
    /// Those of [`open`](Self::open).
    fn inspect(&self, path: &Path, options: &ReadOptions) -> Result<String, FormatError>;

    /// Its problems; by default, inconsistencies of the program.
    ///
    /// # Errors
    /// Those of [`open`](Self::open), for complete files.
    fn lint(&self, path: &Path, options: &ReadOptions) -> Result<Vec<Finding>, FormatError> {
        let opened = self.open(path, options)?;
        let findings = lint_program(&opened.program, &options.cancellation);
        match options.cancellation.is_requested() {
            true => Err(FormatError::cancelled(path)),
            false => Ok(findings),
        }
    }

    /// Writes `path` to `folder`, which has no such files, in the same format, with the ranks' operations repeated
    /// `times` times; not supported by default.
    ///
    /// # Errors
    /// It cannot be read or written, or the format cannot be repeated.
    fn repeat(&self, path: &Path, folder: &Path, times: u32, options: &ReadOptions) -> Result<(), FormatError> {
        let _ = (folder, times, options);
        Err(FormatError::about(
            path,
            format!(
                "it is {}, which cannot be written again in its own format",
                self.files()
            ),
            "a format that can be written; odonata trace convert --repeat writes a program folder from any trace",
        ))
    }
}

//! Trace formats: what every format of recorded or written programs in files can do, behind one trait.
//!
//! ```text
//!  path ── Formats::at ──> TraceFormat ─┬─ open ────> a Program, with what is to be known of its files
//!                                       ├─ inspect ─> statistics, as JSON
//!                                       ├─ lint ────> findings: of the files, and of the program (lint_program)
//!                                       └─ repeat ──> files of the same format that do it several times
//! ```
//!
//! A format is a type that implements [`TraceFormat`] in the crate of its reader, and a line in the list of formats of
//! `odonata-system`. All else is made of the program that it opens as: replay, conversion, the
//! [traffic matrix](traffic_matrix). A format may be a single file or a folder, and may know of file access alone: such a
//! program has no messages.
//!
//! What is opened is hostile: nothing that is read may panic, hang or take memory without bound. Work on large files looks
//! at a [`Cancellation`].

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

/// How a trace is read.
#[derive(Clone, Debug)]
pub struct ReadOptions {
    /// What recorded times of computation are multiplied by.
    pub compute_scale: f64,
    /// Whether files that are not whole are read as far as they go, instead of being an error.
    pub incomplete: bool,
    /// Whether time in calls counts as computation too, where it was recorded: computation before an operation is then the
    /// time from the start of the one before, so that operations stand on the clock of the recording.
    pub call_time: bool,
    /// Ends the reading, with an error.
    pub cancellation: Cancellation,
}

impl Default for ReadOptions {
    fn default() -> ReadOptions {
        ReadOptions {
            compute_scale: 1.0,
            incomplete: false,
            call_time: false,
            cancellation: Cancellation::default(),
        }
    }
}

/// A trace, opened.
#[derive(Clone)]
pub struct Opened {
    /// What the ranks do.
    pub program: Arc<dyn Program>,
    /// Whether files are accessed.
    pub does_io: bool,
    /// What is wrong with files that are not whole and were to be read all the same.
    pub damages: Vec<String>,
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

    /// What a path of this format is, for people who are to name one: "the folder of ..., or its .meta file".
    fn files(&self) -> &'static str;

    /// Whether what is at `path` is meant to be of this format: by names and first bytes, not by reading it all. What is
    /// damaged is still of its format, so that its reader can say what is wrong.
    fn detect(&self, path: &Path) -> bool;

    /// Whether `folder`, which no format has detected, holds a trace of this format among other files: one of a format whose
    /// traces are single files. It is then opened by the path of the folder.
    fn is_among(&self, folder: &Path) -> bool {
        let _ = folder;
        false
    }

    /// What it takes in memory to have it open, in bytes, at least: by what the files say of their own sizes, without reading
    /// them. 0 where that cannot be told, or the files are damaged.
    fn least_memory(&self, path: &Path) -> u64 {
        let _ = path;
        0
    }

    /// Opens what is at `path` as a program: reads and checks all of it once. The files have to stay as they are while the
    /// program runs.
    ///
    /// # Errors
    /// It cannot be read, or says what is impossible.
    fn open(&self, path: &Path, options: &ReadOptions) -> Result<Opened, FormatError>;

    /// What is in it, as a JSON object. Every format gives `name` and `nranks`, and sums over all ranks: `total_records` and
    /// `total_op_counts` (by name), `total_sends`, `total_send_bytes`, `total_recvs_posted`, `total_persistent_starts`,
    /// `total_collective_calls` (by name). What else there is to be said of this format is beside them.
    ///
    /// # Errors
    /// As of [`open`](Self::open).
    fn inspect(&self, path: &Path, options: &ReadOptions) -> Result<String, FormatError>;

    /// What is wrong with it; by default what does not fit together in the program.
    ///
    /// # Errors
    /// As of [`open`](Self::open), of files that are whole.
    fn lint(&self, path: &Path, options: &ReadOptions) -> Result<Vec<Finding>, FormatError> {
        let opened = self.open(path, options)?;
        let findings = lint_program(&opened.program, &options.cancellation);
        match options.cancellation.is_requested() {
            true => Err(FormatError::cancelled(path)),
            false => Ok(findings),
        }
    }

    /// Writes what is at `path` to `folder`, which has no such files, in the same format, with all that its ranks do `times`
    /// times; by default it cannot be done.
    ///
    /// # Errors
    /// It cannot be read, or not be written there; the format cannot be repeated.
    fn repeat(&self, path: &Path, folder: &Path, times: u32, options: &ReadOptions) -> Result<(), FormatError> {
        let _ = (folder, times, options);
        Err(FormatError::about(
            path,
            format!(
                "it is {}, which is not repeated in files of its own format",
                self.files()
            ),
            "a trace whose format can be; odonata trace convert --repeat writes any as a program folder",
        ))
    }
}

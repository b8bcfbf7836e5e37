//! A recorded or written program that a job runs from files.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use odonata_trace::ProgramFile;
use odonata_workload::{Program, dumpi};
use serde::Serialize;

/// A program in files: a trace in the DUMPI format, or a program folder. Equal paths and scales are equal: the files are
/// not to change.
#[derive(Clone, Serialize)]
pub struct Trace {
    /// Path of the trace, as found from the scenario's folder.
    pub path: String,
    /// What times of computation are multiplied by.
    pub compute_scale: f64,
    #[serde(skip)]
    program: Arc<dyn Program>,
    #[serde(skip)]
    does_io: bool,
}

impl Trace {
    /// Opens the trace or program at `path`: reads all its files once.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn open(path: &Path, compute_scale: f64) -> Result<Trace, String> {
        let (program, does_io): (Arc<dyn Program>, bool) = if ProgramFile::is_at(path) {
            let file = ProgramFile::open(path, compute_scale).map_err(|error| error.to_string())?;
            let does_io = file.does_io();
            (Arc::new(file), does_io)
        } else {
            let trace = dumpi::Trace::open(path, compute_scale).map_err(|error| error.to_string())?;
            let does_io = trace.does_io();
            (Arc::new(trace), does_io)
        };
        Ok(Trace {
            path: path.display().to_string(),
            compute_scale,
            program,
            does_io,
        })
    }

    /// Number of ranks.
    pub fn ranks(&self) -> u32 {
        self.program.ranks()
    }

    /// Whether it accesses files.
    pub fn does_io(&self) -> bool {
        self.does_io
    }

    /// The program; all clones share it.
    pub fn replay(&self) -> &Arc<dyn Program> {
        &self.program
    }
}

impl PartialEq for Trace {
    fn eq(&self, other: &Self) -> bool {
        self.path == other.path && self.compute_scale == other.compute_scale
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

//! A trace that a job replays.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use odonata_workload::Program;
use odonata_workload::dumpi;
use serde::Serialize;

/// A recorded program. Equal paths and scales are equal: the files are not to change.
#[derive(Clone, Serialize)]
pub struct Trace {
    /// Path of the trace, as found from the scenario's folder.
    pub path: String,
    /// What recorded times are multiplied by.
    pub compute_scale: f64,
    #[serde(skip)]
    replay: Arc<dumpi::Trace>,
}

impl Trace {
    /// Opens the trace at `path`: reads all its files once.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn open(path: &Path, compute_scale: f64) -> Result<Trace, dumpi::TraceError> {
        Ok(Trace {
            path: path.display().to_string(),
            compute_scale,
            replay: Arc::new(dumpi::Trace::open(path, compute_scale)?),
        })
    }

    /// Number of ranks.
    pub fn ranks(&self) -> u32 {
        self.replay.ranks()
    }

    /// Whether it accesses files.
    pub fn does_io(&self) -> bool {
        self.replay.does_io()
    }

    /// The program; all clones share it.
    pub fn replay(&self) -> &Arc<dumpi::Trace> {
        &self.replay
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

//! What a batch queue records: its jobs, the state of the machine over time, and the running jobs at chosen moments.

use crate::job::{Micros, Outcome};
use serde::Serialize;

/// A job at the end.
#[derive(Clone, Debug, Default, Serialize)]
pub struct JobRecord {
    /// Its last start.
    pub start: Option<Micros>,
    /// Its end.
    pub end: Option<Micros>,
    /// Its nodes.
    pub nodes: Vec<u32>,
    /// Seconds of work done since the last start.
    pub work_s: f64,
    /// Starts, more than 1 after failures of nodes.
    pub starts: u32,
    /// Whether its demands were lowered to what the machine gives it alone.
    pub clipped: bool,
    /// Its outcome.
    pub outcome: Outcome,
}

/// The state of the machine from a time on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct SeriesPoint {
    /// The time.
    pub time: Micros,
    /// Nodes that jobs hold.
    pub busy: u32,
    /// Nodes that failed.
    pub down: u32,
    /// Running jobs.
    pub running: u32,
    /// Jobs that could start by their submission and dependencies.
    pub waiting: u32,
}

/// The running jobs at a time.
#[derive(Clone, Debug, Serialize)]
pub struct Moment {
    /// The time.
    pub time: Micros,
    /// The running jobs.
    pub jobs: Vec<MomentJob>,
}

/// A running job at a time.
#[derive(Clone, Debug, Serialize)]
pub struct MomentJob {
    /// Its number.
    pub job: u32,
    /// Its phase.
    pub phase: u32,
    /// Its speed.
    pub speed: f64,
    /// The largest load of its links as a part of their capacity, if no job were slowed.
    pub overload: f64,
    /// Its nodes.
    pub nodes: Vec<u32>,
}

//! A job of a batch system: its request, its work, and the traffic of its phases.

use serde::{Deserialize, Serialize};

/// A time in microseconds from the start of the list.
pub type Micros = u64;

/// Microseconds of a second.
pub const SECOND: f64 = 1e6;

/// A job, with numbers of its user and partition.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Job {
    /// Submission.
    pub submit: Micros,
    /// Nodes.
    pub nodes: u32,
    /// Run time without contention.
    pub run: Micros,
    /// Recorded start, for replay.
    pub start: Option<Micros>,
    /// Time limit; without one the queue plans with the run time.
    pub limit: Option<Micros>,
    /// Recorded nodes; empty: the placement decides.
    pub node_list: Vec<u32>,
    /// User.
    pub user: u32,
    /// Partition.
    pub partition: u32,
    /// Jobs that must have ended before it starts.
    pub after: Vec<u32>,
    /// Priority; larger goes first.
    pub priority: f64,
    /// Phases, which repeat until the run time is over; empty: no traffic.
    pub phases: Vec<Phase>,
}

impl Job {
    /// The run time that the queue plans with.
    pub fn planned(&self) -> Micros {
        self.limit.unwrap_or(self.run).max(1)
    }
}

/// A phase of a job.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Phase {
    /// Duration without contention, seconds; without one until the job ends.
    pub lasts_s: Option<f64>,
    /// Its traffic.
    pub demands: Vec<Demand>,
}

/// Traffic of a phase: the same for every node of the job.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Demand {
    /// The pattern, a number that the machine knows.
    pub pattern: u8,
    /// Mean bytes per second of a node, without contention.
    pub rate: f64,
    /// Fraction of the time in which it is active; then the rate is `rate / share`.
    pub share: f64,
    /// Bytes of a call, of reads and writes; 0 for other patterns.
    #[serde(default)]
    pub access: u64,
    /// Its traffic class.
    #[serde(default)]
    pub class: u8,
}

/// How a job ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// It has not started.
    #[default]
    Waiting,
    /// It has not ended.
    Running,
    /// It did all of its work.
    Completed,
    /// It reached its limit.
    Timeout,
    /// A node failed, and the job is not started again.
    NodeFailure,
    /// Its partition is too small for it.
    NeverFits,
}

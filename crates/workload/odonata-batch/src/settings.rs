//! The settings of a batch queue.

use crate::job::Micros;
use serde::Deserialize;

/// The settings of a batch queue.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// Which waiting jobs may start.
    pub policy: Policy,
    /// The order of waiting jobs.
    pub order: Order,
    /// The nodes of a job.
    pub placement: Placement,
    /// What a job does at its time limit.
    pub limits: Limits,
    /// Whether a job starts again after a failure of one of its nodes.
    pub requeue: bool,
    /// Time after which a user's past use counts half, for the fair share.
    pub half_life: Micros,
    /// Whether jobs slow each other down.
    pub contention: bool,
    /// Most waiting jobs that a pass looks at; 0: all.
    pub depth: u32,
    /// Seed of random placements.
    pub seed: u64,
    /// Partitions: their nodes in ascending order.
    pub partitions: Vec<Vec<u32>>,
    /// The group of each node of the machine.
    pub group_of: Vec<u32>,
    /// The router of each node of the machine; empty: all nodes are on one.
    pub router_of: Vec<u32>,
    /// Nodes that no job may use for a time.
    pub reservations: Vec<Reservation>,
    /// Failures of nodes.
    pub failures: Vec<Failure>,
    /// Times at which to record the running jobs, ascending.
    pub moments: Vec<Micros>,
}

/// Which waiting jobs may start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Policy {
    /// Jobs start at their recorded times, on their recorded nodes if known.
    Replay,
    /// The first waiting job; the others wait behind it.
    Fcfs,
    /// Aggressive backfill: a job may overtake if it does not delay the first waiting job (D. Lifka, JSSPP 1995).
    #[default]
    Easy,
    /// Conservative backfill: a job may overtake if it delays no waiting job (A. Mu'alem, D. Feitelson, TPDS 2001).
    Conservative,
}

/// The order of waiting jobs; equal jobs go by submission.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// By submission.
    #[default]
    Fcfs,
    /// The largest recorded priority first.
    Priority,
    /// The user with the least use first; past use decays.
    FairShare,
    /// The shortest time limit first.
    Shortest,
}

/// The nodes of a job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Placement {
    /// The lowest free nodes.
    #[default]
    Contiguous,
    /// Random free nodes.
    Random,
    /// Free nodes in as few groups as possible.
    LeastGroups,
    /// Free nodes in as few groups as possible, and there at as few routers as possible.
    TopologyAware,
    /// Whole groups, which the job shares with no other.
    WholeGroups,
    /// The recorded nodes, and the lowest free ones for jobs without.
    List,
}

/// What a job does at its time limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Limits {
    /// It runs on.
    #[default]
    Extend,
    /// It ends.
    Enforce,
}

/// Nodes that no job may use for a time. Jobs that would reach into it do not start there.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reservation {
    /// Its nodes.
    pub nodes: Vec<u32>,
    /// Its start.
    pub from: Micros,
    /// Its end.
    pub to: Micros,
}

/// A node that fails and is repaired.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Failure {
    /// The node.
    pub node: u32,
    /// The failure.
    pub from: Micros,
    /// The repair.
    pub to: Micros,
}

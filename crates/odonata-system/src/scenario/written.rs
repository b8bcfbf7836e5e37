//! A scenario as it is written: every key that a file may have, its unit and its default.
//!
//! These comments are the option reference: the JSON Schema that editors show is generated from them.
//! Keys whose default depends on others, or that a preset may give, are optional here; the resolved
//! form ([`Resolved`](super::Resolved)) has them all.

mod host;
mod jobs;
mod list;
mod machine;
mod network;
mod storage;
mod traffic;

use odonata_units::{Time, WallTime};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::parallel::{Optimism, Parts, Scheduler, Threads};

pub use host::{Collectives, EagerThreshold, Jitter, Mpi, Nic};
pub use jobs::{Arguments, Job, JobClasses, Placement, PlacementTable, Workload};
pub(super) use list::NAME as ONE_OR_MANY;
pub use list::OneOrMany;
pub use machine::*;
pub use network::{CongestionControl, Link, Links, Network, Routing, TrafficClass};
pub use storage::{Device, Drain, Manager, Nodes, Rate, Storage};
pub use traffic::{
    AllToAll, Asymmetric, BitComplement, BitReverse, BitRotation, Grid, HotSpot, Incast, Neighbours, NextGroup,
    Permutation, Shift, Shuffle, Tornado, Traffic, Transpose, Uniform, WorstCase,
};

/// A scenario: a machine, its network and storage, and the jobs that share it.
///
/// Quantities are strings of a number and a unit, such as "30 ns", "8 KiB" or "5.25 GiB/s"; GiB (2^30) and GB
/// (10^9) are different things. What a file leaves out comes from its preset, then from the defaults.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "Odonata scenario", rename = "Scenario")]
pub struct Written {
    /// Name of the scenario, for titles and tables. Default: the file's name.
    pub name: Option<String>,
    /// Seed of every random choice; equal seeds give equal results. Default: 1.
    #[serde(default = "one")]
    #[schemars(range(max = 9_223_372_036_854_775_807u64))]
    pub seed: u64,
    /// A set of keys to start from: "codes-compatible" (the MFNetSim case study as it was run) or "mfnetsim" (as its
    /// paper describes it); a machine without jobs: "theta", "edison", "cori-like", "trinity" (Cray XC), "bluegene-p",
    /// "bluegene-q", "frontier-like" (Slingshot). Keys of this file replace those of the preset one by one. Default:
    /// none.
    pub preset: Option<String>,
    /// How long to run, what to record, and on how many cores.
    #[serde(default)]
    pub run: Run,
    /// The machine's graph. Required, here or in the preset.
    pub machine: Option<Machine>,
    /// Links, routers, routing.
    #[serde(default)]
    pub network: Network,
    /// The interface between a node and its router.
    #[serde(default)]
    pub nic: Nic,
    /// Costs and protocols of MPI calls, algorithms of collectives.
    #[serde(default)]
    pub mpi: Mpi,
    /// Storage servers on nodes of the machine. Default: none; jobs that do I/O need some.
    pub storage: Option<Storage>,
    /// The jobs; at least one.
    #[serde(default)]
    pub jobs: Vec<Job>,
}

fn one() -> u64 {
    1
}

/// How long to run, what to record, and on how many cores.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Run {
    /// Simulated time at which the run ends even if jobs have not. Default: none; the run ends when all jobs have.
    pub time_limit: Option<Time>,
    /// Most messages that are recorded one by one; if there are more, histograms take over. 0 also spares synthetic
    /// sources the look at each arrival: their messages are then counted as packets only, without message latency.
    pub message_rows: u64,
    /// Most I/O operations that are recorded one by one; if there are more, histograms take over.
    pub io_rows: u64,
    /// Interval of the time series of links and jobs, e.g. "1 ms". Default: no series.
    pub series_interval: Option<Time>,
    /// Whether every wait of a packet or I/O request is charged to the job it waited for (tables blame and
    /// blame_series). Default: true where there is more than one job.
    pub blame: Option<bool>,
    /// Whether each job also runs alone, on the nodes and servers that it has beside the others; the table slowdown
    /// holds the one against the other. With a single job there is nothing to compare, and nothing more is run. Alone,
    /// a job with `start_after` starts at its `start`, and traffic with `until` sends for as long as it did in the run.
    pub baselines: bool,
    /// Who handles the events: "auto", "sequential", "conservative" or "optimistic". Results depend neither on this nor
    /// on `threads`, `parts` and `optimism`.
    pub scheduler: Scheduler,
    /// Threads of each process, at most; "auto": as many as there are cores that the process may use, with baselines
    /// shared among the runs that go on at the same time.
    pub threads: Threads,
    /// How schedulers divide the machine: a number of parts, `{ first_routers = [0, 96, ...] }`, or "auto". A
    /// router is never cut from its nodes, and no group is divided as long as there are enough of them.
    pub parts: Parts,
    /// Bounds of the optimistic scheduler.
    pub optimism: Optimism,
    /// Wall time between two snapshots of the run, e.g. "10 min", from which it goes on after its computer has failed
    /// (`odonata run --resume`). They lie beside the result folder until it is complete. Default: none.
    pub checkpoint_interval: Option<WallTime>,
}

impl Default for Run {
    fn default() -> Self {
        Run {
            time_limit: None,
            message_rows: 1_000_000,
            io_rows: 1_000_000,
            series_interval: None,
            blame: None,
            baselines: false,
            scheduler: Scheduler::default(),
            threads: Threads::default(),
            parts: Parts::default(),
            optimism: Optimism::default(),
            checkpoint_interval: None,
        }
    }
}

//! The resolved scenario: every default filled in, every check passed. A simulation is built from it
//! and nothing else, and it is saved with the results.

mod host;
mod jobs;
mod machine;
mod network;
mod python;
mod storage;
mod trace;
mod traffic;

use odonata_units::{Time, WallTime};
use serde::Serialize;

pub use super::choices::{
    Algorithm, Allgather, Allreduce, Alltoall, Alltoallv, Arrangement, Arrival, Assignment, Barrier, Broadcast,
    CheckpointOffset, ClassVcs, Comparison, CosmoflowIo, DeadlockCheck, Divert, Gather, GridStep, InputQueues,
    Knowledge, Library, Position, Progress, Reach, Reduce, ReduceScatter, RouterModel, Scan, Scatter, Selection,
    Switching, Turn, Up, VcRule, Vcs, Via,
};
use super::layout::Layout;
pub use super::parallel::{ListedParts, Optimism, Parallel, Parts, Scheduler, Threads};
pub use super::pipeline::{Allocator, Arbitration, Pipeline};
pub use super::workload::{Checkpoint, Cosmoflow, Milc, Nekbone, Stencil};
pub use host::*;
pub use jobs::*;
pub use machine::*;
pub use network::*;
pub use python::{Python, PythonMaker, PythonSource, provide_python};
pub use storage::*;
pub use trace::Trace;
pub use traffic::*;

/// A scenario, ready to be simulated.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Resolved {
    /// Name of the scenario; the file's stem if it has none.
    pub name: String,
    /// Seed of every random choice.
    pub seed: u64,
    /// The preset below the user's keys.
    pub preset: Option<String>,
    /// How long to run and what to record.
    pub run: Run,
    /// The machine's graph.
    pub machine: Machine,
    /// Where its nodes are; follows from `machine`.
    #[serde(skip)]
    pub layout: Layout,
    /// Links, routers, routing.
    pub network: Network,
    /// The interface between a node and its router.
    pub nic: Nic,
    /// Costs of MPI calls, algorithms of collectives.
    pub mpi: Mpi,
    /// Storage servers; `None`: the machine has none, and no job does I/O.
    pub storage: Option<Storage>,
    /// The jobs, in the order of the file; at least one.
    pub jobs: Vec<Job>,
}

/// The part of a scenario that is there without jobs: a machine and its network.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Hardware {
    /// Name of the scenario; the file's stem if it has none.
    pub name: String,
    /// The preset below the user's keys.
    pub preset: Option<String>,
    /// The machine's graph.
    pub machine: Machine,
    /// Where its nodes are; follows from `machine`.
    #[serde(skip)]
    pub layout: Layout,
    /// Links, routers, routing.
    pub network: Network,
}

/// How long to run and what to record.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Run {
    /// The run ends here even if jobs have not; `None`: when all jobs have ended.
    pub time_limit: Option<Time>,
    /// Most messages that are recorded one by one; above, histograms.
    pub message_rows: u64,
    /// Most I/O operations that are recorded one by one; above, histograms.
    pub io_rows: u64,
    /// Interval of the time series; `None`: no series.
    pub series_interval: Option<Time>,
    /// Whether every wait of a packet or I/O request is charged to the job it waited for.
    pub blame: bool,
    /// Whether each job also runs alone; whoever starts the runs looks at it, a single run does not.
    pub baselines: bool,
    /// How the run is spread over cores; nothing that is measured depends on it.
    #[serde(flatten)]
    pub parallel: Parallel,
    /// Wall time between two snapshots; `None`: there are none. Whoever advances the run looks at it.
    pub checkpoint_interval: Option<WallTime>,
}

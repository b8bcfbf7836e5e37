//! The resolved scenario: every default filled in, every check passed. A simulation is built from it alone, and it is
//! saved with the results.

use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

pub use super::job::{Job, JobClasses, JobFiles};
use super::layout::Layout;
pub use super::run::{ListedParts, Optimism, Parts, Run, Scheduler, Threads};
pub use super::timeline::Timeline;
pub use super::workload::{ProgramFile, Python, PythonMaker, PythonSource, Trace, Workload, provide_python};
pub use crate::placement::{FreeNodes, PlacementRule};
use crate::placement::{JobPlacement, Placement};
pub use odonata_device::DeviceModel;
pub use odonata_host::settings::{Collectives, Mpi, Progress};
use odonata_network::Fidelities;
pub use odonata_network::routing::{Divert, InGroup, Intermediate, Selection, Ties, Up, VcRule};
pub use odonata_network::settings::*;
pub use odonata_storage::settings::{Assignment, Device, Position, Storage};
pub use odonata_storage::{FileLayout, Layout as StorageLayout};
pub use odonata_topology::Arrangement;
pub use odonata_topology::family::{Cables, DegradedLink, FailedLink, Kind, Machine};
pub use odonata_workload::collective::Library;
pub use odonata_workload::collective::choice::*;
pub use odonata_workload::skeletons::{CheckpointFile, CheckpointOffset, CosmoFlowIo};
pub use odonata_workload::synthetic::{ArrivalKind, PatternParams, Reach, Step, SyntheticParams, Turn};

/// A scenario, ready to be simulated.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Resolved {
    /// Name of the scenario; the file's stem if it has none.
    pub name: String,
    /// Seed of every random choice.
    pub seed: u64,
    /// The preset that the user's keys modify.
    pub preset: Option<String>,
    /// How long to run and what to record.
    pub run: Run,
    /// The machine's graph.
    pub machine: Machine,
    /// The location of its nodes; derived from `machine`.
    #[serde(skip)]
    pub layout: Layout,
    /// Numbers of the links whose queues are recorded, in rising order; derived from `machine` and `run`.
    #[serde(skip)]
    pub queue_links: Vec<u32>,
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

impl Resolved {
    /// How the messages of `job` are simulated.
    pub fn fidelity_of(&self, job: &Job) -> Fidelity {
        job.fidelity.unwrap_or(self.network.fidelity)
    }

    /// Whether the messages of any job are simulated with this fidelity; without jobs, whether those of the network would be.
    pub fn has_fidelity(&self, fidelity: Fidelity) -> bool {
        match self.jobs.is_empty() {
            true => self.network.fidelity == fidelity,
            false => self.jobs.iter().any(|job| self.fidelity_of(job) == fidelity),
        }
    }

    /// The fidelity by traffic: MPI and I/O of each job.
    pub fn fidelities(&self) -> Fidelities {
        let mut of_jobs = self.jobs.iter().map(|job| self.fidelity_of(job));
        let first = of_jobs.next().unwrap_or(self.network.fidelity);
        match of_jobs.all(|other| other == first) {
            true => Fidelities::Same(first),
            false => Fidelities::PerTraffic(self.jobs.iter().flat_map(|job| [self.fidelity_of(job); 2]).collect()),
        }
    }

    /// Which servers hold the files of `job`, on a machine with this many servers.
    pub fn layout_of_files(&self, job: &Job, servers: u32) -> FileLayout {
        let layout = self
            .storage
            .as_ref()
            .map(|storage| job.io.layout.unwrap_or(storage.layout));
        FileLayout::new(layout.unwrap_or_default(), servers, self.seed, job.directory())
    }

    /// Storage servers that can hold the files of `job`, which is at `place`.
    pub fn servers_of(&self, job: &Job, placement: &Placement, place: &JobPlacement) -> usize {
        let all = placement.servers.len();
        match self.layout_of_files(job, all.max(1) as u32) {
            FileLayout::Assigned => place.servers.iter().collect::<BTreeSet<_>>().len(),
            FileLayout::Striped(_) => all,
        }
    }

    /// The directory number of each job's files: the number of the first job with the same directory.
    pub fn directories(&self) -> Vec<u16> {
        let mut first = BTreeMap::new();
        let jobs = (0..).zip(&self.jobs);
        jobs.map(|(number, job)| *first.entry(job.directory()).or_insert(number))
            .collect()
    }
}

/// The part of a scenario that does not need jobs: a machine and its network.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Hardware {
    /// Name of the scenario; the file's stem if it has none.
    pub name: String,
    /// The preset that the user's keys modify.
    pub preset: Option<String>,
    /// The machine's graph.
    pub machine: Machine,
    /// The location of its nodes; derived from `machine`.
    #[serde(skip)]
    pub layout: Layout,
    /// Links, routers, routing.
    pub network: Network,
}

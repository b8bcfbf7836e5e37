//! Jobs: where they run and what they do.

use odonata_units::Time;
use serde::Serialize;

use super::{Python, Synthetic, Trace};
use crate::scenario::workload::{Checkpoint, Cosmoflow, Milc, Nekbone, Stencil};

/// A job.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Job {
    /// Name; unique in the scenario.
    pub name: String,
    /// The table `[[jobs]]` that it comes from, counted from 0: those of an array share one.
    pub entry: u32,
    /// Number of ranks, at least 1.
    pub ranks: u32,
    /// Ranks on one node, at least 1.
    pub ranks_per_node: u32,
    /// When the job starts, or how long after the news that the jobs of `start_after` have ended.
    pub start: Time,
    /// Jobs, by their position in the list of all, that must have ended before it starts.
    pub start_after: Vec<u16>,
    /// Jobs whose end stops its synthetic traffic.
    pub until: Vec<u16>,
    /// How often the workload runs.
    pub repeat: u32,
    /// Which nodes it gets; the nodes themselves are in [`Placement`](crate::placement::Placement).
    pub placement: PlacementRule,
    /// The classes of its traffic.
    #[serde(skip_serializing_if = "JobClasses::are_first")]
    pub traffic_class: JobClasses,
    /// What it does.
    pub workload: Workload,
}

/// The traffic classes of a job, by their position in the list of all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct JobClasses {
    /// Of its MPI messages and its synthetic traffic.
    pub mpi: u8,
    /// Of its file access.
    pub io: u8,
}

impl JobClasses {
    /// Whether all of it is of the first class.
    pub fn are_first(&self) -> bool {
        *self == JobClasses::default()
    }
}

impl Job {
    /// Nodes that the job occupies.
    pub fn nodes(&self) -> u32 {
        self.ranks.div_ceil(self.ranks_per_node)
    }

    /// Whether it is synthetic traffic whose time depends on other jobs: it sends until they have ended, or starts
    /// after them and stops at a time.
    pub fn ends_with_others(&self) -> bool {
        let Workload::Synthetic(traffic) = &self.workload else {
            return false;
        };
        !self.until.is_empty() || (!self.start_after.is_empty() && traffic.stop.is_some())
    }
}

/// Which nodes a job gets.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum PlacementRule {
    /// The lowest free compute nodes.
    Contiguous,
    /// Random free compute nodes.
    Random,
    /// Random routers; all free compute nodes of a router before those of the next.
    RandomRouter,
    /// Random groups; all free compute nodes of a group, in order, before those of the next.
    RandomGroup,
    /// These nodes, numbered over the machine.
    Nodes(Vec<u32>),
    /// These compute nodes, numbered with servers left out.
    Clients(Vec<u32>),
    /// Those that a CSV file names.
    File {
        /// Path of the file, as found from the scenario's folder.
        path: String,
        /// The rows that count: those with this number in column `slot`.
        slot: u32,
    },
}

/// What a job does.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Workload {
    /// The MILC skeleton.
    Milc(Milc),
    /// The Nekbone skeleton.
    Nekbone(Nekbone),
    /// Checkpoints of a parallel job.
    Checkpoint(Checkpoint),
    /// The CosmoFlow skeleton.
    Cosmoflow(Cosmoflow),
    /// Halo exchange on a grid.
    Stencil(Stencil),
    /// A recorded program.
    Trace(Trace),
    /// Open-loop synthetic traffic.
    Synthetic(Synthetic),
    /// These, one after the other; no synthetic traffic and no phases among them.
    Phases(Vec<Workload>),
    /// A program in coNCePTuaL.
    Program(ProgramFile),
    /// Python generators.
    Python(Python),
}

/// A program in coNCePTuaL, with all that it was read from.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ProgramFile {
    /// Path of the file, as found from the scenario's folder.
    pub path: String,
    /// Its command-line arguments.
    pub args: Vec<String>,
    /// What its random choices follow from: the scenario's seed.
    pub seed: u64,
    /// Its text.
    pub source: String,
    /// The texts of the files that it reads, by their names in the program.
    pub files: std::collections::BTreeMap<String, String>,
}

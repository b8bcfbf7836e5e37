//! What a job runs: its key `workload`, and the keys that can replace it.

mod ior;
mod program;
mod python;
mod trace;

use std::sync::Arc;

use odonata_units::OneOrMany;
use odonata_workload::skeletons::*;
use odonata_workload::synthetic::{SyntheticParams, table};
use odonata_workload::{Phases, Program};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::job::Job;
pub(crate) use ior::IorTests;
pub use program::ProgramFile;
pub use python::{Python, PythonMaker, PythonSource, provide_python};
pub use trace::Trace;

/// What a job runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", from = "OneOrMany<WorkloadTable>")]
pub enum Workload {
    /// A recorded program.
    Trace(Trace),
    /// Open-loop synthetic traffic.
    Synthetic(SyntheticParams),
    /// These, one after the other; in the resolved form without synthetic traffic and without nested phases.
    Phases(Vec<Workload>),
    /// A coNCePTuaL program.
    Program(ProgramFile),
    /// Python generators.
    Python(Python),
    /// A skeleton, by its name.
    #[serde(untagged)]
    Skeleton(Skeleton),
}

/// The possible keys of the table `workload`: the skeletons and synthetic traffic.
macro_rules! workload_table {
    ($($(#[$doc:meta])* $skeleton:ident $name:literal $params:ident;)*) => {
        /// What a job runs: exactly one of these, with its parameters, e.g. `{ milc = {} }`.
        #[derive(Deserialize, JsonSchema)]
        #[serde(rename_all = "kebab-case")]
        #[schemars(rename = "Workload")]
        pub(super) enum WorkloadTable {
            $($(#[$doc])* #[serde(rename = $name)] $skeleton($params),)*
            /// Synthetic traffic: to all other ranks with equal probability.
            Uniform(table::Uniform),
            /// Synthetic traffic: to all ranks of the next group, the worst case of minimal routing on a dragonfly.
            NextGroup(table::NextGroup),
            /// Synthetic traffic: each rank to one other.
            Permutation(table::Permutation),
            /// Synthetic traffic: to the neighbors on a grid of 1 to 4 dimensions.
            Neighbors(table::Neighbors),
            /// Synthetic traffic: a share of it to few ranks, the rest to all others with equal probability.
            HotSpot(table::HotSpot),
            /// Synthetic traffic: all to one rank, or to few.
            Incast(table::Incast),
            /// Synthetic traffic: each rank to all others in turn.
            AllToAll(table::AllToAll),
            /// Synthetic traffic: nearly half-way around every dimension of a grid.
            Tornado(table::Tornado),
            /// Synthetic traffic: rows and columns of a square swapped.
            Transpose(table::Transpose),
            /// Synthetic traffic: to the rank with all bits inverted.
            BitComplement(table::BitComplement),
            /// Synthetic traffic: to the rank with the bits in reverse order.
            BitReverse(table::BitReverse),
            /// Synthetic traffic: to the rank with the bits rotated left by one.
            Shuffle(table::Shuffle),
            /// Synthetic traffic: to the rank with the bits rotated right by one.
            BitRotation(table::BitRotation),
            /// Synthetic traffic: to the two ranks at the same position in the lower and the upper half.
            Asymmetric(table::Asymmetric),
            /// Synthetic traffic: to the rank at a fixed offset.
            Shift(table::Shift),
            /// Synthetic traffic: to the same position at another router of a grid: neighbor, diagonal, transpose, ...
            Grid(table::Grid),
            /// Synthetic traffic: from the rows of a square to its columns, bad for a flattened butterfly.
            BadpermYarc(table::BadpermYarc),
            /// Synthetic traffic: by a matrix of weights in a file.
            Matrix(table::Matrix),
            /// Synthetic traffic: the worst for minimal routing on this machine.
            WorstCase(table::WorstCase),
        }

        impl From<WorkloadTable> for Workload {
            fn from(table: WorkloadTable) -> Self {
                use WorkloadTable as W;
                Workload::Synthetic(match table {
                    $(W::$skeleton(params) => return Workload::Skeleton(Skeleton::$skeleton(params)),)*
                    W::Uniform(table) => table.into(),
                    W::NextGroup(table) => table.into(),
                    W::Permutation(table) => table.into(),
                    W::Neighbors(table) => table.into(),
                    W::HotSpot(table) => table.into(),
                    W::Incast(table) => table.into(),
                    W::AllToAll(table) => table.into(),
                    W::Tornado(table) => table.into(),
                    W::Transpose(table) => table.into(),
                    W::BitComplement(table) => table.into(),
                    W::BitReverse(table) => table.into(),
                    W::Shuffle(table) => table.into(),
                    W::BitRotation(table) => table.into(),
                    W::Asymmetric(table) => table.into(),
                    W::Shift(table) => table.into(),
                    W::Grid(table) => table.into(),
                    W::BadpermYarc(table) => table.into(),
                    W::Matrix(table) => table.into(),
                    W::WorstCase(table) => table.into(),
                })
            }
        }
    };
}
odonata_workload::for_each_skeleton!(workload_table);

impl From<OneOrMany<WorkloadTable>> for Workload {
    fn from(tables: OneOrMany<WorkloadTable>) -> Self {
        match tables {
            OneOrMany::One(table) => table.into(),
            OneOrMany::Many(list) => Workload::Phases(list.into_iter().map(Workload::from).collect()),
        }
    }
}

impl Workload {
    /// The name of its kind in a scenario.
    pub fn kind(&self) -> &'static str {
        match self {
            Workload::Skeleton(skeleton) => skeleton.name(),
            Workload::Trace(_) => "trace",
            Workload::Synthetic(traffic) => traffic.pattern.name(),
            Workload::Phases(_) => "phases",
            Workload::Program(_) => "program",
            Workload::Python(_) => "python",
        }
    }

    /// The program that `ranks` ranks run; `None` for synthetic traffic, which is not a program, and for phases, which
    /// are several ([`Job::program`]).
    ///
    /// # Errors
    /// The parameters do not fit the number of ranks; the text explains which and why.
    pub fn program(&self, ranks: u32) -> Result<Option<Box<dyn Program>>, String> {
        Ok(Some(match self {
            Workload::Skeleton(skeleton) => skeleton.parameters().program(ranks)?,
            Workload::Trace(w) => Box::new(w.replay().clone()),
            Workload::Python(w) => Box::new(w.program().clone()),
            Workload::Program(file) => Box::new(file.program(ranks)?),
            Workload::Phases(_) | Workload::Synthetic(_) => return Ok(None),
        }))
    }
}

impl Job {
    /// The program of its ranks, including repetitions; `None` for synthetic traffic, which is not a program.
    ///
    /// # Errors
    /// As [`Workload::program`], or the repetitions cannot be numbered.
    pub fn program(&self) -> Result<Option<Arc<dyn Program>>, String> {
        let programs = match &*self.workload {
            // Phases cannot be nested: the list and the repetitions form a single level.
            Workload::Phases(phases) => phases.as_slice(),
            single => std::slice::from_ref(single),
        };
        let tests = IorTests::of(programs);
        let mut phases: Vec<Arc<dyn Program>> = Vec::with_capacity(programs.len());
        for (number, workload) in programs.iter().enumerate() {
            let program = match workload {
                Workload::Skeleton(Skeleton::Ior(ior)) => Some(tests.program(number, ior, *self.ranks)?),
                _ => workload.program(*self.ranks)?,
            };
            match program {
                Some(program) => phases.push(Arc::from(program)),
                None => return Ok(None),
            }
        }
        match (phases.len(), self.repeat) {
            (1, 1) => Ok(phases.pop()),
            _ => Ok(Some(Arc::new(
                Phases::new(phases, self.repeat)?.with_files(tests.files(programs.len())),
            ))),
        }
    }
}

//! The whole machine: from a scenario file to a finished run.
//!
//! [`scenario`] reads, merges and checks what the user wrote; [`placement`] gives ranks their nodes
//! and nodes their storage servers; [`build`] makes a [`machine`] of it: the fabric below, the [`host`]s
//! above. [`schedule`] settles on how many threads and in which parts. [`Simulation`] runs it to one [`Outcome`], saves
//! it on the way if it takes long (`snapshot`), and [`results`] defines the tables that remain.
//! [`check`] tells all that can be known before a run, [`bench`] measures the simulator itself.

mod answer_schema;
pub mod bench;
pub mod build;
mod check;
mod cost;
pub mod describe;
mod estimate;
mod formats;
mod link_choice;
pub mod load_sweep;
mod memory;
mod outcome;
mod packet_diagnosis;
pub mod placement;
mod process_group;
pub mod results;
pub mod scenario;
pub mod schedule;
mod simulation;
mod snapshot;
mod warnings;

pub use answer_schema::answer_schemas;
pub use check::{
    CostReport, CutReport, DivisionReport, JobReport, MachineReport, ParallelReport, PartReport, Report, RoutingReport,
    TierReport, TrafficClassReport, check, prove,
};
pub use formats::FORMATS;
pub use memory::{MemoryItem, MemoryReport};
pub use odonata_host::Interrupt;
pub use odonata_units::Time;
pub use outcome::Outcome;
pub use process_group::ProcessGroup;
pub use scenario::InputError;
pub use scenario::resolved::{PythonSource, provide_python};
pub use simulation::{Others, Progress, Results, Simulation};
pub use snapshot::Snapshot;
pub use warnings::{Warning, warnings};

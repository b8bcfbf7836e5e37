//! The whole machine: from a scenario file to a finished run.
//!
//! [`scenario`] reads, merges and checks the user's input; [`placement`] assigns nodes to ranks and storage servers to
//! nodes; [`build`] makes a [`machine`]: the fabric below, the [`host`]s above. [`schedule`] decides on threads and
//! parts. [`Simulation`] runs the machine to an [`Outcome`], with snapshots of long runs (`snapshot`), and [`results`]
//! defines the result tables. [`check`] reports everything known before a run, [`bench`] measures the simulator itself.

mod answer_schema;
pub mod batch;
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
mod network_session;
mod outcome;
mod packet_diagnosis;
pub mod placement;
mod process_group;
mod reduction;
pub mod results;
pub mod scenario;
pub mod schedule;
mod simulation;
mod snapshot;
pub mod text_file;
mod warnings;

pub use answer_schema::answer_schemas;
pub use check::{
    CostReport, CutReport, DivisionReport, JobReport, MachineReport, ParallelReport, PartReport, Report, RoutingReport,
    TierReport, TimeReport, TrafficClassReport, TrialReport, check, prove,
};
pub use formats::{Converted, Converter, FORMATS, provide_converter};
pub use memory::{MemoryItem, MemoryReport};
pub use network_session::{LinkCounters, NetworkSession, Totals};
pub use odonata_backend::MessageEvent;
pub use odonata_host::Interrupt;
pub use odonata_units::Time;
pub use outcome::Outcome;
pub use process_group::ProcessGroup;
pub use scenario::InputError;
pub use scenario::resolved::{PythonSource, provide_python};
pub use simulation::{Others, Progress, Results, Simulation};
pub use snapshot::{SOURCES, Snapshot};
pub use warnings::{Warning, warnings};

//! The whole machine: from a scenario file to a finished run.
//!
//! [`scenario`] reads, merges and checks what the user wrote; [`placement`] gives ranks their nodes
//! and nodes their storage servers; [`build`] makes a [`machine`] of it: the fabric below, the [`host`]s
//! above. [`Simulation`] runs it to one [`Outcome`], and [`results`] defines the tables that remain.
//! [`check`] tells all that can be known before a run, [`bench`] measures the simulator itself.

pub mod bench;
pub mod build;
mod check;
pub mod host;
pub mod machine;
pub mod placement;
pub mod results;
pub mod scenario;
mod simulation;

pub use check::{CostReport, JobReport, MachineReport, Report, RoutingReport, check};
pub use odonata_units::Time;
pub use scenario::InputError;
pub use simulation::{Outcome, Progress, Results, Simulation};

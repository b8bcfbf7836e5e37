//! The simulated machine as one model, and its schedulers.
//!
//! Handlers of the fabric and of the hosts are generic over the scheduler's context and the features of a scenario. This crate
//! compiles them once for every scheduler. Crates above use a machine behind `dyn Scheduler<Machine>` and compile no handler.

mod machine;
mod schedulers;

pub use machine::{Event, Machine, MachineMeasured};
pub use schedulers::{run_with_restarts, schedule, undo_and_redo};

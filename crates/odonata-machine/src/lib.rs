//! The simulated machine as one model, and its schedulers.
//!
//! Handlers of the fabric and of the hosts are generic over the context of a scheduler and over what a scenario uses. Here
//! they are compiled, for every scheduler, once. Whoever uses a machine does so behind `dyn Scheduler<Machine>`, and compiles
//! none of them.

mod machine;
mod schedulers;

pub use machine::{Event, Machine, MachineMeasured};
pub use schedulers::{run_with_restarts, schedule, undo_and_redo};

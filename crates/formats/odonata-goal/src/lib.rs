//! GOAL schedules: the input of the simulators LogGOPSim and ATLAHS, as text and in binary form.
//!
//! A schedule gives each rank a graph of sends, receives and calculations. It is read ([`text`], [`binary`]) into
//! memory ([`schedule`]), and runs as a [`program`]: as operations on any network, or as a whole under the LogGOPS
//! model ([`loggops`]), like in LogGOPSim.

pub mod binary;
pub mod error;
mod format;
mod lines;
pub mod loggops;
mod matching;
pub mod program;
mod queue;
pub mod schedule;
pub mod text;

pub use error::GoalError;
pub use format::Goal;
pub use program::GoalProgram;

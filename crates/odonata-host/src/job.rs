//! Jobs: starts and stops that depend on other jobs, the status of jobs, and what is unfinished.

pub(crate) mod control;
mod endless;
pub(crate) mod status;
pub(crate) mod unfinished;

//! Jobs: starts and stops that depend on other jobs, job status, unfinished work.

pub(crate) mod control;
pub(crate) mod effect;
pub(crate) mod status;
pub(crate) mod unfinished;

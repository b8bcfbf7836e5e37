//! Diagnosis: how and why a run ended, with descriptions of deadlocks, unmatched leftovers and program errors.

pub(crate) mod deadlock;
pub(crate) mod describe;
pub(crate) mod leftovers;
pub(crate) mod outcome;
pub(crate) mod run_state;

//! Diagnosis: how a run ended, and why. Deadlocks, unmatched leftovers, errors of programs, in words.

pub(crate) mod deadlock;
pub(crate) mod describe;
pub(crate) mod leftovers;
pub(crate) mod outcome;
pub(crate) mod run_state;

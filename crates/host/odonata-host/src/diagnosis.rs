//! Diagnosis: how and why a run ended, with descriptions of deadlocks, unmatched leftovers and program errors.

pub(crate) mod deadlock;
pub(crate) mod describe;
pub(crate) mod leftovers;
pub(crate) mod outcome;
pub(crate) mod run_state;

use crate::Hosts;

/// A part of the hosts between two events.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PartState<'a>(pub(crate) &'a Hosts);

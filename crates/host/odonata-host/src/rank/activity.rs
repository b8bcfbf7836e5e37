//! Activities: the operations of ranks in progress.

use odonata_engine::{NIL, Time};
use odonata_workload::Op;

/// The state of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) enum Phase {
    /// Waiting for its stream or for operations that must precede it.
    Parked,
    /// About to begin.
    Ready,
    /// Waiting for the random delay of its call.
    Delayed,
    /// Waiting for requests.
    Blocked,
    /// One of several requests that it waits for is complete.
    Woken,
    /// Occupying its stream until its cost has passed.
    Busy,
}

/// An operation that has been pulled and is not complete.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct Activity {
    pub(crate) op: Op,
    /// Time at which it began.
    pub(crate) since: Time,
    pub(crate) rank: u32,
    /// Its call in the MPI library once it is performed; [`NIL`]: it needs none.
    pub(crate) call: u32,
    pub(crate) next: u32,
    /// Number of incomplete operations in `op.after`.
    pub(crate) missing: u8,
    /// Whether an earlier operation of its stream is incomplete.
    pub(crate) behind: bool,
    pub(crate) phase: Phase,
}

impl Activity {
    #[inline]
    pub(crate) fn new(rank: u32, op: Op) -> Self {
        Activity {
            op,
            since: Time::ZERO,
            rank,
            call: NIL,
            next: NIL,
            missing: 0,
            behind: false,
            phase: Phase::Ready,
        }
    }
}

odonata_engine::slots!(Activity);

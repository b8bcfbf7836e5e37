//! Activities: the operations of ranks in progress.

use odonata_engine::{NIL, Time};
use odonata_workload::{Algorithm, Op};

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
    /// Time of the call.
    pub(crate) since: Time,
    /// End of the time during which its stream is occupied, regardless of requests.
    pub(crate) busy_until: Time,
    pub(crate) rank: u32,
    /// Number of requests that it waits for.
    pub(crate) pending: u32,
    /// Completed receives that the processor has not begun to handle.
    pub(crate) receives: u32,
    /// Next step of the collective.
    pub(crate) step: u32,
    /// The number of the rank in the communicator of the collective, and the number of members.
    pub(crate) member: u32,
    pub(crate) members: u32,
    /// The request that a non-blocking collective completes, or [`NIL`].
    pub(crate) request: u32,
    /// The stamp of the collective's messages (see `mpi::collective`).
    pub(crate) stamp: u32,
    pub(crate) next: u32,
    /// Number of incomplete operations in `op.after`.
    pub(crate) missing: u8,
    /// Whether an earlier operation of its stream is incomplete.
    pub(crate) behind: bool,
    /// Whether the request that completed last was for I/O.
    pub(crate) for_io: bool,
    /// Whether it is a non-blocking collective, which is not in the list of operations in progress.
    pub(crate) background: bool,
    /// Index of the current collective among those that the operation consists of.
    pub(crate) part: u8,
    pub(crate) phase: Phase,
    pub(crate) algorithm: Algorithm,
}

impl Activity {
    #[inline]
    pub(crate) fn new(rank: u32, op: Op) -> Self {
        Activity {
            op,
            since: Time::ZERO,
            busy_until: Time::ZERO,
            rank,
            pending: 0,
            receives: 0,
            step: 0,
            stamp: 0,
            member: 0,
            members: 0,
            request: NIL,
            next: NIL,
            missing: 0,
            behind: false,
            for_io: false,
            background: false,
            part: 0,
            phase: Phase::Ready,
            algorithm: Algorithm::Dissemination,
        }
    }
}

odonata_engine::slots!(Activity);

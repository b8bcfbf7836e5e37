//! Activities: the operations of ranks that are under way.

use odonata_engine::{NIL, Time};
use odonata_workload::{Algorithm, Op};

/// What an operation is waiting for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) enum Phase {
    /// For its stream, or for operations that it comes after.
    Parked,
    /// For nothing; about to begin.
    Ready,
    /// For the random delay of its call.
    Delayed,
    /// For requests.
    Blocked,
    /// For nothing any more: one of several requests that it waits for is complete.
    Woken,
    /// For the end of what it costs.
    Busy,
}

/// An operation that has been pulled and is not complete.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct Activity {
    pub(crate) op: Op,
    /// When it was called.
    pub(crate) since: Time,
    /// Until when its stream is occupied, whatever the requests do.
    pub(crate) busy_until: Time,
    pub(crate) rank: u32,
    /// Requests that it waits for.
    pub(crate) pending: u32,
    /// Receives that have completed and that the processor has not begun to handle.
    pub(crate) receives: u32,
    /// Next step of a collective.
    pub(crate) step: u32,
    /// The number of the rank in the communicator of a collective, and how many that has.
    pub(crate) member: u32,
    pub(crate) members: u32,
    /// Of a non-blocking collective: what completes with it, or [`NIL`].
    pub(crate) request: u32,
    /// What the messages of a collective say (see `mpi::collective`).
    pub(crate) stamp: u32,
    pub(crate) next: u32,
    /// Operations in `op.after` that are not complete.
    pub(crate) missing: u8,
    /// Whether an earlier operation of its stream is not complete.
    pub(crate) behind: bool,
    /// Whether the request that completed last was one for I/O.
    pub(crate) for_io: bool,
    /// Whether it is a non-blocking collective, which is not among the rank's operations under way.
    pub(crate) background: bool,
    /// Which of the collectives that an operation is made of.
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

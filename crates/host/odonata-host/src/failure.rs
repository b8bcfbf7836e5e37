//! Failures: why a run cannot continue.

use odonata_engine::Time;
use odonata_storage::{ClientId, StorageOperation};
use odonata_workload::{Comm, Op};

/// The code with which the hosts [halt](odonata_engine::Context::halt) a run; [`RunState::outcome`](crate::RunState::outcome) gives the reason.
pub const HALT_FAILURE: u32 = 1;

/// The reason why an operation is not possible.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) enum InvalidOperation {
    /// The rank has no such communicator, or is not a member.
    Communicator(Comm),
    /// The communicator, of `ranks` ranks, has no rank with the given number.
    Peer { comm: Comm, ranks: u32 },
    /// The collective cannot run on `members` ranks.
    Collective { members: u32 },
    /// The communicator has the maximum number of active non-blocking collectives.
    TooManyCollectives,
    /// The request with this number is in use.
    Active(u32),
    /// The request with this number cannot be started.
    NotPersistent(u32),
    /// A non-blocking collective cannot be freed before it is complete.
    FreedCollective,
    /// The world cannot be freed.
    FreedWorld,
    /// The rank has reported the maximum number of values.
    TooManyReports,
}

/// The reason why a run cannot continue. Rank numbers run over all jobs; `source` is a rank of the job.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
pub(crate) enum Failure {
    Mismatch {
        rank: u32,
        op: Op,
        source: u32,
        stamp: u32,
    },
    Truncation {
        rank: u32,
        source: u32,
        tag: u32,
        bytes: u64,
        buffer: u64,
    },
    CollectiveLeftover {
        rank: u32,
        source: u32,
        stamp: u32,
    },
    Invalid {
        rank: u32,
        op: Op,
        why: InvalidOperation,
    },
    /// The program has failed at this time.
    Program {
        rank: u32,
        at: Time,
    },
    /// Operation `op` exceeds the limit of operations at one instant.
    Endless {
        rank: u32,
        op: Op,
    },
    NoServer {
        rank: u32,
        op: Op,
    },
    Impossible {
        client: ClientId,
        server: u32,
        bytes: u64,
        capacity: u64,
    },
    Unwritten {
        client: ClientId,
        server: u32,
        offset: u64,
        bytes: u64,
    },
    /// No attempt of the call made at this time was answered.
    NoAnswer {
        client: ClientId,
        server: u32,
        operation: StorageOperation,
        since: Time,
    },
    Lost {
        client: ClientId,
        server: u32,
        offset: u64,
        bytes: u64,
    },
}

impl Failure {
    /// The number of the rank, or of the client, that noticed it.
    pub(crate) fn place(&self) -> u32 {
        match *self {
            Failure::Mismatch { rank, .. }
            | Failure::Truncation { rank, .. }
            | Failure::CollectiveLeftover { rank, .. }
            | Failure::Invalid { rank, .. }
            | Failure::Program { rank, .. }
            | Failure::Endless { rank, .. }
            | Failure::NoServer { rank, .. } => rank,
            Failure::Impossible { client, .. }
            | Failure::Unwritten { client, .. }
            | Failure::NoAnswer { client, .. }
            | Failure::Lost { client, .. } => client.number(),
        }
    }
}

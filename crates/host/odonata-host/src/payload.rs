//! Payload: what a message tells the hosts at its two ends; the fabric carries it and does not look at it.
//!
//! Ranks count over all jobs. Requests, operations, pieces, outgoing and incoming messages are slots: names that the other
//! side hands back and does not look behind. All else travels in the payload itself, so that a message can go from part to
//! part, and between processes in postcard's format (`wire`).

mod wire;

use odonata_storage::{ClientId, RequestHeader, StorageRequest};
use odonata_workload::Access;
use serde::{Deserialize, Serialize};

/// What a message is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Payload {
    /// A message of MPI with its data, point-to-point or of a collective.
    Eager {
        /// Sending rank.
        from: u32,
        /// Receiving rank.
        to: u32,
        /// Tag; the stamp of a collective.
        tag: u32,
        /// Communicator, and whether it is for its collectives.
        context: u32,
        /// Number of the message among those of its sender, receiver and context.
        sequence: u32,
        /// The sender's request.
        request: u32,
    },
    /// Rendezvous: a rank asks another to take a message (request to send).
    Rts {
        /// Sending rank.
        from: u32,
        /// Receiving rank.
        to: u32,
        /// As of an eager message.
        tag: u32,
        /// As of an eager message.
        context: u32,
        /// As of an eager message.
        sequence: u32,
        /// The sender's name for the message.
        outgoing: u32,
        /// Length of the message.
        bytes: u64,
    },
    /// Rendezvous: the receiver has a receive for it (clear to send).
    Cts {
        /// The rank that receives the message, and sends this.
        from: u32,
        /// The rank that sends the message.
        to: u32,
        /// The sender's name for the message.
        outgoing: u32,
        /// The receiver's name for it.
        incoming: u32,
    },
    /// Rendezvous: the data of the message.
    RendezvousData {
        /// Sending rank.
        from: u32,
        /// Receiving rank.
        to: u32,
        /// The receiver's name for the message.
        incoming: u32,
        /// The sender's request.
        request: u32,
    },
    /// The receiver, or its interface, has all of a message: the send is complete.
    Ack {
        /// The rank that received the message, and sends this.
        from: u32,
        /// The rank that sent the message.
        to: u32,
        /// The sender's request.
        request: u32,
    },
    /// One-sided communication: an access, with its data unless it is a get.
    Access {
        /// Origin.
        from: u32,
        /// Target.
        to: u32,
        /// What it does.
        access: Access,
        /// Length of the access.
        bytes: u64,
        /// The origin's request.
        request: u32,
    },
    /// One-sided communication: the data that an access returns.
    Fetched {
        /// Target of the access, which sends this.
        from: u32,
        /// Origin.
        to: u32,
        /// The origin's request.
        request: u32,
    },
    /// One-sided communication: a rank wants the lock of a window.
    Lock {
        /// The rank that wants it.
        from: u32,
        /// The rank that has the window.
        to: u32,
        /// The communicator of the window.
        comm: u32,
        /// Whether no other rank may have it at the same time.
        exclusive: bool,
        /// The sender's request.
        request: u32,
    },
    /// One-sided communication: a rank gives the lock of a window back.
    Unlock {
        /// The rank that had it.
        from: u32,
        /// The rank that has the window.
        to: u32,
        /// The communicator of the window.
        comm: u32,
    },
    /// One-sided communication: a rank exposes its window, or has completed its accesses.
    Epoch {
        /// Sending rank.
        from: u32,
        /// Receiving rank.
        to: u32,
        /// The communicator of the window.
        comm: u32,
        /// Whether it has completed its accesses.
        ends: bool,
    },
    /// A message of an open-loop source.
    Synthetic {
        /// Sending rank.
        from: u32,
        /// Receiving rank.
        to: u32,
    },
    /// A client asks a storage server or a metadata server.
    Request {
        /// The server.
        server: u32,
        /// The request.
        request: StorageRequest,
    },
    /// A server asks a client for a piece of a write.
    Pull {
        /// The server.
        server: u32,
        /// The request.
        header: RequestHeader,
        /// The server's name for the piece.
        piece: u32,
        /// Length of the piece.
        bytes: u64,
    },
    /// A piece of a write.
    WriteData {
        /// The server.
        server: u32,
        /// The request.
        header: RequestHeader,
        /// The server's name for the piece.
        piece: u32,
    },
    /// A piece of a read.
    ReadData {
        /// The server.
        server: u32,
        /// The request.
        header: RequestHeader,
        /// The server's name for the piece.
        piece: u32,
    },
    /// A server has served a request.
    Response {
        /// The server.
        server: u32,
        /// The request.
        header: RequestHeader,
        /// Whether it was a read that tolerates loss, and bytes of its range are lost.
        lost: bool,
    },
    /// A server wants a lock back.
    LockRevoke {
        /// Storage server.
        server: u32,
        /// The client that has the lock.
        client: ClientId,
        /// The job that needs it.
        owner: u16,
        /// The server's name for the request that needs it.
        holder: u32,
    },
    /// A client gives a lock back.
    LockReturn {
        /// The client that had the lock.
        client: ClientId,
        /// Storage server.
        server: u32,
        /// The job that needs it.
        owner: u16,
        /// The server's name for the request that needs it.
        holder: u32,
    },
    /// A job has ended; to a storage server.
    JobEnded {
        /// Rank 0 of the job, counted over all jobs.
        from: u32,
        /// Storage server.
        server: u32,
        /// The job.
        owner: u16,
    },
    /// A job has ended, may start, or shall stop.
    JobControl {
        /// Sending rank.
        from: u32,
        /// Receiving rank.
        to: u32,
        /// Which of these.
        signal: JobSignal,
    },
}

const _: () = assert!(size_of::<Payload>() == 48);

/// What a control message between the ranks of jobs says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum JobSignal {
    /// The sender and all ranks below it have ended.
    RanksEnded,
    /// The sender's job has ended.
    JobEnded,
    /// The receiver's job may start.
    Start,
    /// The receiver's source shall stop.
    Stop,
    /// The sender and all ranks below it have their input files in their buffers.
    RanksStaged,
    /// All ranks of the job have: its programs start.
    Staged,
}

impl Payload {
    /// Whether it goes from rank to rank on behalf of MPI.
    #[inline]
    pub(crate) fn is_mpi(&self) -> bool {
        matches!(
            self,
            Payload::Eager { .. }
                | Payload::Rts { .. }
                | Payload::Cts { .. }
                | Payload::RendezvousData { .. }
                | Payload::Ack { .. }
                | Payload::Access { .. }
                | Payload::Fetched { .. }
                | Payload::Lock { .. }
                | Payload::Unlock { .. }
                | Payload::Epoch { .. }
        )
    }

    /// Whether it announces, requests or acknowledges, and carries no data.
    pub(crate) fn is_control(&self) -> bool {
        !matches!(
            self,
            Payload::Eager { .. }
                | Payload::RendezvousData { .. }
                | Payload::Access {
                    access: Access::Put | Access::Accumulate | Access::GetAccumulate,
                    ..
                }
                | Payload::Fetched { .. }
                | Payload::Synthetic { .. }
                | Payload::WriteData { .. }
                | Payload::ReadData { .. }
        )
    }

    /// Whether it is the message of an open-loop source; no rank waits for it.
    pub fn is_synthetic(&self) -> bool {
        matches!(self, Payload::Synthetic { .. })
    }
}

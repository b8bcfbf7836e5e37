//! Payload: what a message tells the hosts at its two ends; the fabric carries it and does not look at it.
//!
//! Ranks count over all jobs. Requests, operations, pieces, outgoing and incoming messages are slots: names that the other
//! side hands back and does not look behind. All else travels in the payload itself, so that a message can go from part to
//! part, and between processes as a byte for its kind and the bytes of its fields.

mod client;
mod wire;

pub use client::{ClientId, Requester};

use odonata_storage::MetadataCall;
use serde::{Deserialize, Serialize};

/// A number of 64 bits with the alignment of 32, so that a payload takes no more than 40 bytes.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SplitU64([u32; 2]);

impl SplitU64 {
    #[inline]
    pub(crate) fn get(self) -> u64 {
        let [low, high] = self.0;
        u64::from(low) | u64::from(high) << 32
    }
}

impl From<u64> for SplitU64 {
    #[inline]
    fn from(number: u64) -> Self {
        SplitU64([number as u32, (number >> 32) as u32])
    }
}

impl std::fmt::Debug for SplitU64 {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.get().fmt(f)
    }
}

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
        bytes: SplitU64,
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
    /// A message of an open-loop source.
    Synthetic {
        /// Sending rank.
        from: u32,
        /// Receiving rank.
        to: u32,
    },
    /// A client asks a server to read or write.
    IoRequest {
        /// Who asks.
        client: ClientId,
        /// Storage server.
        server: u32,
        /// What for.
        access: IoAccess,
        /// The job that it is for.
        owner: u16,
        /// The client's name for the operation.
        operation: u32,
        /// Object of the server.
        object: SplitU64,
        /// Where in the object.
        offset: SplitU64,
        /// How much.
        bytes: SplitU64,
    },
    /// A server asks a client for a piece of what it writes.
    Pull {
        /// Storage server.
        server: u32,
        /// The client.
        client: ClientId,
        /// The job that it is for.
        owner: u16,
        /// The client's name for the operation.
        operation: u32,
        /// The server's name for the piece.
        piece: u32,
        /// Length of the piece.
        bytes: SplitU64,
    },
    /// A piece of what a client writes.
    WriteData {
        /// The client.
        client: ClientId,
        /// Storage server.
        server: u32,
        /// The job that it is for.
        owner: u16,
        /// The server's name for the piece.
        piece: u32,
    },
    /// A piece of what a client reads.
    ReadData {
        /// Storage server.
        server: u32,
        /// The client.
        client: ClientId,
        /// The job that it is for.
        owner: u16,
        /// The client's name for the operation.
        operation: u32,
        /// The server's name for the piece.
        piece: u32,
    },
    /// A server has served a request.
    IoResponse {
        /// Storage server.
        server: u32,
        /// The client.
        client: ClientId,
        /// The job that it is for.
        owner: u16,
        /// The client's name for the operation.
        operation: u32,
        /// Whether some of what it was to read is lost.
        lost: bool,
    },
    /// A server wants a lock back.
    LockRevoke {
        /// Storage server.
        server: u32,
        /// Who has the lock.
        client: ClientId,
        /// The job that needs it.
        owner: u16,
        /// The server's name for the request that needs it.
        holder: u32,
    },
    /// A client gives a lock back.
    LockReturn {
        /// Who had the lock.
        client: ClientId,
        /// Storage server.
        server: u32,
        /// The job that needs it.
        owner: u16,
        /// The server's name for the request that needs it.
        holder: u32,
    },
    /// A client synchronises a file at a server; answered as a request is.
    IoSync {
        /// Who asks.
        client: ClientId,
        /// Storage server.
        server: u32,
        /// The job that it is for.
        owner: u16,
        /// The client's name for the operation.
        operation: u32,
        /// Object of the server.
        object: SplitU64,
        /// Whether to go down to the last tier.
        below: bool,
    },
    /// A client removes a file at a server; answered as a request is.
    IoRemove {
        /// Who asks.
        client: ClientId,
        /// Storage server.
        server: u32,
        /// The job that it is for.
        owner: u16,
        /// The client's name for the operation.
        operation: u32,
        /// Object of the server.
        object: SplitU64,
    },
    /// A rank asks a server to bring a range from below; answered as a request is.
    IoStage {
        /// Who asks.
        client: ClientId,
        /// Storage server.
        server: u32,
        /// The job that it is for.
        owner: u16,
        /// The client's name for the operation.
        operation: u32,
        /// Object of the server.
        object: SplitU64,
        /// Where in the object.
        offset: SplitU64,
        /// How much.
        bytes: SplitU64,
    },
    /// A storage server is told that a job has ended.
    JobEnded {
        /// Rank 0 of the job, counted over all jobs.
        from: u32,
        /// Storage server.
        server: u32,
        /// The job.
        owner: u16,
    },
    /// A rank makes a call that a metadata server answers.
    MetadataRequest {
        /// The rank.
        rank: u32,
        /// Metadata server.
        server: u32,
        /// What for.
        call: MetadataCall,
        /// The job that it is for.
        owner: u16,
        /// The rank's name for the call.
        operation: u32,
        /// The directory ([`key_of_directory`](odonata_storage::MetadataName::key_of_directory)).
        directory: SplitU64,
    },
    /// A metadata server has answered a call.
    MetadataResponse {
        /// Metadata server.
        server: u32,
        /// The rank.
        rank: u32,
        /// The job that it is for.
        owner: u16,
        /// The rank's name for the call.
        operation: u32,
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

const _: () = assert!(size_of::<Payload>() == 40 && align_of::<Payload>() == 4);

/// What a client asks a server to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum IoAccess {
    /// To read.
    Read,
    /// To write.
    Write,
    /// To read what another server should have, which the client takes for failed.
    ReadElsewhere,
    /// To read, and to be told if some of it is lost.
    ReadTold,
    /// Both.
    ReadElsewhereTold,
}

impl IoAccess {
    const ALL: [IoAccess; 5] = [
        IoAccess::Read,
        IoAccess::Write,
        IoAccess::ReadElsewhere,
        IoAccess::ReadTold,
        IoAccess::ReadElsewhereTold,
    ];

    /// A read of what another server should have, or not, that is told of what is lost, or not.
    pub(crate) fn read(elsewhere: bool, told: bool) -> IoAccess {
        match (elsewhere, told) {
            (false, false) => IoAccess::Read,
            (true, false) => IoAccess::ReadElsewhere,
            (false, true) => IoAccess::ReadTold,
            (true, true) => IoAccess::ReadElsewhereTold,
        }
    }

    /// Whether another server should have what is read.
    pub(crate) fn is_elsewhere(self) -> bool {
        matches!(self, IoAccess::ReadElsewhere | IoAccess::ReadElsewhereTold)
    }

    /// Whether the reader is told of what is lost.
    pub(crate) fn is_told(self) -> bool {
        matches!(self, IoAccess::ReadTold | IoAccess::ReadElsewhereTold)
    }
}

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

impl JobSignal {
    const ALL: [JobSignal; 6] = [
        JobSignal::RanksEnded,
        JobSignal::JobEnded,
        JobSignal::Start,
        JobSignal::Stop,
        JobSignal::RanksStaged,
        JobSignal::Staged,
    ];
}

impl Payload {
    /// Whether it goes from rank to rank on behalf of MPI.
    #[inline]
    pub(crate) fn is_mpi(&self) -> bool {
        matches!(
            self,
            Payload::Eager { .. } | Payload::Rts { .. } | Payload::Cts { .. } | Payload::RendezvousData { .. }
        )
    }

    /// Whether it is the message of an open-loop source, for which nobody waits.
    pub fn is_synthetic(&self) -> bool {
        matches!(self, Payload::Synthetic { .. })
    }
}

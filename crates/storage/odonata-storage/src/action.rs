//! Actions: the requests of a server to its caller.

use crate::{RequestHeader, StorageOperation, StorageRequest};
use odonata_units::Time;

/// The origin of a request to the lower tier, which waits for its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Origin {
    /// A piece that the lower tier reads or writes, by its slot.
    Piece(u32),
    /// A synchronization, by its slot.
    Sync(u32),
    /// A removal, by its slot.
    Removal(u32),
}

/// An action that the caller carries out for a server, at the time of the input that caused it.
///
/// `slot` names a piece in transit and returns unchanged in the answer. Slots are reused and depend on history: they must not
/// influence a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Request `bytes` bytes from the client; report their arrival with [`Servers::piece_arrived`](crate::Servers::piece_arrived).
    Pull {
        /// The requesting server.
        server: u32,
        /// The piece.
        slot: u32,
        /// The request, which names the client.
        header: RequestHeader,
        /// Length of the piece in bytes.
        bytes: u64,
    },
    /// Send `bytes` bytes to the client; report their delivery with [`Servers::piece_sent`](crate::Servers::piece_sent).
    Push {
        /// The sending server.
        server: u32,
        /// The piece.
        slot: u32,
        /// The request, which names the client.
        header: RequestHeader,
        /// Length of the piece in bytes.
        bytes: u64,
    },
    /// Call [`Servers::device_begins`](crate::Servers::device_begins) at `at`, which is later than now.
    DeviceBegins {
        /// The server.
        server: u32,
        /// The piece whose turn comes at its device.
        slot: u32,
        /// The time of the call.
        at: Time,
    },
    /// Call [`Servers::device_done`](crate::Servers::device_done) at `at`, which is later than now.
    DeviceDone {
        /// The server.
        server: u32,
        /// The piece whose access ends.
        slot: u32,
        /// The time of the call.
        at: Time,
    },
    /// Call [`Servers::drain_done`](crate::Servers::drain_done) at `at`, which is later than now.
    DrainUntil {
        /// The draining server.
        server: u32,
        /// When the block in transfer is safe in the external file system.
        at: Time,
    },
    /// Call [`Servers::caches_written`](crate::Servers::caches_written) at `at`, which is later than now.
    CachesWritten {
        /// The server.
        server: u32,
        /// The waiting synchronization.
        slot: u32,
        /// The time of the call.
        at: Time,
    },
    /// Send a request to the lower tier; report its end with [`Servers::lower_tier_answered`](crate::Servers::lower_tier_answered).
    AskLowerTier {
        /// The requesting server.
        server: u32,
        /// The origin, which waits for the answer.
        origin: Origin,
        /// The job that owns the data.
        owner: u16,
        /// The operation.
        operation: StorageOperation,
        /// The object, by its number at this server.
        object: u64,
        /// First byte within the object.
        offset: u64,
        /// Length in bytes.
        bytes: u64,
    },
    /// The device of the request has failed: the client gets no answer, and this is the last action for the request.
    GivenUp {
        /// The server.
        server: u32,
        /// The request.
        header: RequestHeader,
        /// The number of its lock, if it has one.
        lock: Option<u32>,
    },
    /// Answer the client: the request is complete. The last action for this request.
    Respond {
        /// The answering server.
        server: u32,
        /// The request.
        header: RequestHeader,
        /// The number of its lock, if it has one.
        lock: Option<u32>,
        /// Length of the request in bytes.
        bytes: u64,
        /// Whether the request was a read that tolerates loss, and bytes of its range are lost.
        lost: bool,
    },
    /// The request is larger than the whole device and can never be served; the server has dropped it. End the run in a named
    /// failure.
    Impossible {
        /// The refusing server.
        server: u32,
        /// The request.
        header: RequestHeader,
        /// Length of the request in bytes.
        bytes: u64,
        /// Space on the device in bytes.
        capacity: u64,
    },
    /// A read of bytes that a failed server has lost, where that is an error; the server has dropped the request. End the run in a
    /// named failure.
    Lost {
        /// The refusing server.
        server: u32,
        /// The request.
        header: RequestHeader,
        /// First byte of the request within the object.
        offset: u64,
        /// Length of the request in bytes.
        bytes: u64,
    },
    /// A read of bytes that were never written, where that is an error; the server has dropped the request. End the run in a named
    /// failure.
    Unwritten {
        /// The refusing server.
        server: u32,
        /// The request.
        header: RequestHeader,
        /// First byte of the request within the object.
        offset: u64,
        /// Length of the request in bytes.
        bytes: u64,
    },
}

impl Action {
    /// The request that the client is waiting for, if the action carries its header.
    pub fn request(&self) -> Option<RequestHeader> {
        match *self {
            Action::Pull { header, .. } | Action::Push { header, .. } | Action::Respond { header, .. } => Some(header),
            _ => None,
        }
    }

    /// The answer of `server` to a request without a range or with an empty one.
    pub(crate) fn answer(server: u32, header: RequestHeader) -> Action {
        Action::Respond {
            server,
            header,
            lock: None,
            bytes: 0,
            lost: false,
        }
    }

    /// `request` of `server`, passed on to the lower tier; `origin` waits for the answer.
    pub(crate) fn pass_on(server: u32, origin: Origin, request: &StorageRequest) -> Action {
        Action::AskLowerTier {
            server,
            origin,
            owner: request.header.owner,
            operation: request.operation,
            object: request.object,
            offset: request.offset,
            bytes: request.bytes,
        }
    }
}

/// Actions in the order in which they arose. The caller owns the list, clears it after every input and reuses it, so that no input
/// allocates.
pub type Actions = Vec<Action>;

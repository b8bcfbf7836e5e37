//! Actions: what a server asks its caller to do.

use crate::{RequestHeader, StorageOperation, StorageRequest};
use odonata_units::Time;

/// What at a server waits for an answer of the lower tier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Origin {
    /// A piece that the lower tier reads or writes, by its slot.
    Piece(u32),
    /// A synchronization, by its slot.
    Sync(u32),
    /// A removal, by its slot.
    Removal(u32),
}

/// What the caller has to do for a server, at the time of the input that caused it.
///
/// `slot` names a piece in transit; it goes back unchanged in the answer, is reused afterwards, and
/// depends on history: it must not influence a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Ask the client for `bytes` bytes; report them with [`Servers::piece_arrived`](crate::Servers::piece_arrived).
    Pull {
        /// The server that asks.
        server: u32,
        /// The piece.
        slot: u32,
        /// The request, whose client to ask.
        header: RequestHeader,
        /// Length of the piece in bytes.
        bytes: u64,
    },
    /// Send `bytes` bytes to the client; when they were delivered, report it with
    /// [`Servers::piece_sent`](crate::Servers::piece_sent).
    Push {
        /// The server that sends.
        server: u32,
        /// The piece.
        slot: u32,
        /// The request, whose client gets the piece.
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
        /// When.
        at: Time,
    },
    /// Call [`Servers::device_done`](crate::Servers::device_done) at `at`, which is later than now.
    DeviceDone {
        /// The server.
        server: u32,
        /// The piece whose access ends.
        slot: u32,
        /// When.
        at: Time,
    },
    /// Call [`Servers::drain_done`](crate::Servers::drain_done) at `at`, which is later than now.
    DrainUntil {
        /// The server that drains.
        server: u32,
        /// When the block in transfer is safe in the external file system.
        at: Time,
    },
    /// Call [`Servers::caches_written`](crate::Servers::caches_written) at `at`, which is later than now.
    CachesWritten {
        /// The server.
        server: u32,
        /// The synchronization that waits.
        slot: u32,
        /// When.
        at: Time,
    },
    /// Send a request to the lower tier; when it has ended, report it with
    /// [`Servers::lower_tier_answered`](crate::Servers::lower_tier_answered).
    AskLowerTier {
        /// The server that asks.
        server: u32,
        /// What waits for the answer.
        origin: Origin,
        /// The job whose data they are.
        owner: u16,
        /// What for.
        operation: StorageOperation,
        /// The object, as the server knows it.
        object: u64,
        /// First byte within the object.
        offset: u64,
        /// Length in bytes.
        bytes: u64,
    },
    /// The device that the request used has failed: no answer comes, and it is the last action for the request.
    GivenUp {
        /// The server.
        server: u32,
        /// The request.
        header: RequestHeader,
        /// The number of its lock, if it has one.
        lock: Option<u32>,
    },
    /// The request is complete: tell the client. The last action for this request.
    Respond {
        /// The server that answers.
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
    /// The request can never be served, because it is larger than the whole device; the server has
    /// forgotten it. The run cannot end well: end it in a named failure.
    Impossible {
        /// The server that refuses.
        server: u32,
        /// The request.
        header: RequestHeader,
        /// Length of the request in bytes.
        bytes: u64,
        /// Space on the device in bytes.
        capacity: u64,
    },
    /// A read of bytes that a failed server has lost, where that is an error; the server has forgotten the request. End the run in
    /// a named failure.
    Lost {
        /// The server that refuses.
        server: u32,
        /// The request.
        header: RequestHeader,
        /// First byte of the request within the object.
        offset: u64,
        /// Length of the request in bytes.
        bytes: u64,
    },
    /// A read of bytes that were never written, where that is an error; the server has forgotten the request. End the run in a
    /// named failure.
    Unwritten {
        /// The server that refuses.
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
    /// The request that the client waits for meanwhile, if the action carries its header.
    pub fn request(&self) -> Option<RequestHeader> {
        match *self {
            Action::Pull { header, .. } | Action::Push { header, .. } | Action::Respond { header, .. } => Some(header),
            _ => None,
        }
    }

    /// The answer of `server` to a request that has no range or an empty one.
    pub(crate) fn answer(server: u32, header: RequestHeader) -> Action {
        Action::Respond {
            server,
            header,
            lock: None,
            bytes: 0,
            lost: false,
        }
    }

    /// `request` of `server`, which waits as `origin`, passed on to the lower tier.
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

/// Actions in the order in which they arose. The caller owns it, empties it after every input and
/// uses it again, so that no input allocates.
pub type Actions = Vec<Action>;

//! What goes into a server and what comes out of it.

use crate::{RemoveRequest, SyncRequest};
use odonata_units::Time;

/// A read or write that arrives at a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct NewRequest {
    /// Whether the client wants to write.
    pub write: bool,
    /// Who asks; handed back in every action that concerns the request.
    pub client: u32,
    /// The client's name for the request; handed back likewise.
    pub token: u64,
    /// The file; any number below `u64::MAX`, which is the drain's own object.
    pub file: u64,
    /// First byte within the file.
    pub offset: u64,
    /// Length in bytes.
    pub bytes: u64,
    /// The job that asks.
    pub owner: u16,
    /// Whether another server should have it, which the client takes for failed.
    pub elsewhere: bool,
    /// Whether the reader is told if some of it is lost, which is no error then.
    pub told: bool,
}

impl NewRequest {
    /// What `server` answers when the request is complete; `lost`: whether some of what it was to read is lost.
    pub(crate) fn response(&self, server: u32, lost: bool) -> Action {
        Action::Respond {
            server,
            client: self.client,
            token: self.token,
            owner: self.owner,
            write: self.write,
            bytes: self.bytes,
            lost,
        }
    }
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
        /// Whom to ask.
        client: u32,
        /// The client's name for the request.
        token: u64,
        /// The job of the request.
        owner: u16,
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
        /// Where to send it.
        client: u32,
        /// The client's name for the request.
        token: u64,
        /// The job of the request.
        owner: u16,
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
    /// Write `bytes` bytes of an object to the tier below, or read them from there; when that has ended, report it with
    /// [`Servers::below_done`](crate::Servers::below_done).
    Below {
        /// The server that asks.
        server: u32,
        /// The piece.
        slot: u32,
        /// Whether it writes.
        write: bool,
        /// Of a read, whether its reader is told if some of it is lost.
        told: bool,
        /// Of such a read, whether a server should have it that the client takes for failed: only the tier below knows what it had.
        elsewhere: bool,
        /// The job whose data they are.
        owner: u16,
        /// The object, as the server knows it.
        object: u64,
        /// First byte within the object.
        offset: u64,
        /// Length in bytes.
        bytes: u64,
    },
    /// Call [`Servers::caches_written`](crate::Servers::caches_written) at `at`, which is later than now.
    CachesWritten {
        /// The server.
        server: u32,
        /// The synchronisation that waits.
        slot: u32,
        /// When.
        at: Time,
    },
    /// Synchronise an object in the tier below; when that has ended, report it with
    /// [`Servers::synced_below`](crate::Servers::synced_below).
    SyncBelow {
        /// The server that asks.
        server: u32,
        /// The synchronisation.
        slot: u32,
        /// What it is.
        what: SyncRequest,
    },
    /// Remove an object in the tier below; when that has ended, report it with
    /// [`Servers::removed_below`](crate::Servers::removed_below).
    RemoveBelow {
        /// The server that asks.
        server: u32,
        /// The removal.
        slot: u32,
        /// What it is.
        what: RemoveRequest,
    },
    /// The device that the request used has failed: nobody answers it, and it is the last action for it.
    GivenUp {
        /// The server.
        server: u32,
        /// Who asked.
        client: u32,
        /// The client's name for the request.
        token: u64,
    },
    /// The request is complete: tell the client. The last action for this request.
    Respond {
        /// The server that answers.
        server: u32,
        /// Whom to answer.
        client: u32,
        /// The client's name for the request.
        token: u64,
        /// The job of the request.
        owner: u16,
        /// Whether it was a write.
        write: bool,
        /// Length of the request in bytes.
        bytes: u64,
        /// Whether it was a read of bytes some of which are lost, of which the reader is told: those it got are others.
        lost: bool,
    },
    /// The request can never be served, because it is larger than the whole device; the server has
    /// forgotten it. The run cannot end well: end it in a named failure.
    Impossible {
        /// The server that refuses.
        server: u32,
        /// Who asked.
        client: u32,
        /// The client's name for the request.
        token: u64,
        /// The job of the request.
        owner: u16,
        /// Length of the request in bytes.
        bytes: u64,
        /// Space on the device in bytes.
        capacity: u64,
    },
    /// A read of bytes that a server has lost that has failed, which is an error here; the server has forgotten it. End the run in a
    /// named failure.
    Lost {
        /// The server that refuses.
        server: u32,
        /// Who asked.
        client: u32,
        /// First byte of the request within the file.
        offset: u64,
        /// Length of the request in bytes.
        bytes: u64,
    },
    /// A read of bytes that nobody has written, which is an error here; the server has forgotten it. End the run in a named
    /// failure.
    Unwritten {
        /// The server that refuses.
        server: u32,
        /// Who asked.
        client: u32,
        /// The client's name for the request.
        token: u64,
        /// The job of the request.
        owner: u16,
        /// The file.
        file: u64,
        /// First byte of the request within the file.
        offset: u64,
        /// Length of the request in bytes.
        bytes: u64,
    },
}

impl Action {
    /// The request that it is done for, if that is known: its client, and the client's name for it.
    pub fn request(&self) -> Option<(u32, u64)> {
        match *self {
            Action::Pull { client, token, .. }
            | Action::Push { client, token, .. }
            | Action::Respond { client, token, .. } => Some((client, token)),
            Action::SyncBelow { what, .. } => Some((what.client, what.token)),
            Action::RemoveBelow { what, .. } => Some((what.client, what.token)),
            _ => None,
        }
    }
}

/// Actions in the order in which they arose. The caller owns it, empties it after every input and
/// uses it again, so that no input allocates.
pub type Actions = Vec<Action>;

//! The rows of a timeline, as they are kept during a run. Ranks count over all jobs.

use super::call::{CallKind, Charge};
use odonata_engine::{NIL, Time};
use odonata_storage::{AccessKind, ServerAccess};
use serde::{Deserialize, Serialize};

/// A call of a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct CallRecord {
    /// Rank.
    pub rank: u32,
    /// When it was called.
    pub begin: Time,
    /// When it had ended; of one that the end of the run cut short, that end.
    pub end: Time,
    /// Its number in the rank's program.
    pub call: u32,
    /// What was called.
    pub kind: CallKind,
    /// The stream that it occupied.
    pub stream: u16,
    /// What its time counts as in the metrics of the rank.
    pub charge: Charge,
    /// Whether the run ended before it.
    pub unfinished: bool,
    /// The other side, or the root, as a rank of the job; [`NIL`]: none, or any.
    pub peer: u32,
    /// The first request that it begins, waits for or frees; [`NIL`]: none.
    pub request: u32,
    /// How many requests.
    pub count: u32,
    /// Bytes sent, received, reduced, read or written; of a send and receive those that are sent.
    pub bytes: u64,
    /// The file of an access, or the iteration of a mark.
    pub number: u64,
}

/// What has happened to a message or a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Step {
    /// `rank` has sent a message to `peer`, by call `call`.
    Sent,
    /// A message from `peer`, or its request to send, has come to `rank` before its receive.
    Unexpected,
    /// It has met, with its data, the receive that call `call` of `rank` has posted for a request, which a call that waits
    /// for it takes at once.
    Matched,
    /// Its request to send has met that receive.
    Asked,
    /// The data of a rendezvous have come; a call that waits for the request takes it at once.
    Data,
    /// A request of `rank`, begun by call `call`, is complete; that of a receive for which no call waited.
    Complete,
    /// A call of `rank` has taken the request of a receive, begun by call `call`, which was complete before.
    Taken,
}

/// A step on the way of a message or request. There are several of each message, so that it is small.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct StepRecord {
    /// When.
    pub time: Time,
    /// What.
    pub step: Step,
    /// Whose.
    pub rank: u32,
    /// The other side of a message.
    pub peer: u32,
    /// Twice the number of the communicator, plus one for messages of collectives.
    pub context: u32,
    /// Number of the message among those of its sender, receiver and context.
    pub sequence: u32,
    /// The call.
    pub call: u32,
    /// Length of a message that is sent, low and high; else the number of a request, and the call that takes it.
    pub(crate) rest: [u32; 2],
}

const _: () = assert!(size_of::<StepRecord>() == 40);

impl StepRecord {
    /// A step of `rank` without the rest.
    pub(crate) const fn of(step: Step, rank: u32, time: Time) -> StepRecord {
        StepRecord {
            time,
            step,
            rank,
            peer: NIL,
            context: NIL,
            sequence: 0,
            call: NIL,
            rest: [NIL, NIL],
        }
    }

    /// The same of a message of `bytes`.
    pub(crate) const fn with_bytes(self, bytes: u64) -> StepRecord {
        StepRecord {
            rest: [bytes as u32, (bytes >> 32) as u32],
            ..self
        }
    }

    /// The same for the request numbered `request`, which call `by` takes.
    pub(crate) const fn with_request(self, request: u32, by: u32) -> StepRecord {
        StepRecord {
            rest: [request, by],
            ..self
        }
    }

    /// Length of the message that is sent.
    pub(super) const fn bytes(&self) -> u64 {
        self.rest[0] as u64 | (self.rest[1] as u64) << 32
    }

    /// The number of the request, or [`NIL`].
    pub(super) const fn request(&self) -> u32 {
        self.rest[0]
    }

    /// The call that takes the request, or [`NIL`].
    pub(super) const fn by(&self) -> u32 {
        self.rest[1]
    }
}

/// An access of a server's device, or a transfer of its drain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct AccessRecord {
    /// Storage server.
    pub server: u32,
    /// When it began.
    pub begin: Time,
    /// When it ended.
    pub end: Time,
    /// The device, counted within the server; of a transfer, the one that has the data.
    pub device: u32,
    /// When it joined the device's queue; of a transfer, when it began.
    pub joined: Time,
    /// What it is.
    pub kind: AccessKind,
    /// The job whose data they are.
    pub job: u16,
    /// The client, a rank; [`NIL`]: none.
    pub client: u32,
    /// How much.
    pub bytes: u64,
    /// Space in use on the device at its end, before what it frees.
    pub used: u64,
    /// Memory in use at its end, before what it frees.
    pub memory: u64,
}

impl AccessRecord {
    pub(super) fn new(server: u32, access: &ServerAccess, end: Time) -> Self {
        AccessRecord {
            server,
            begin: access.begin,
            end,
            device: access.device,
            joined: access.joined,
            kind: access.kind,
            job: access.owner,
            client: access.client,
            bytes: access.bytes,
            used: access.used,
            memory: access.memory,
        }
    }
}

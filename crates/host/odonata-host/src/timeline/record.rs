//! The rows of a timeline, as kept during a run. Rank numbers run over all jobs.

use super::call::{CallKind, Charge};
use odonata_engine::{NIL, Time};
use odonata_storage::{AccessKind, ServerAccess};
use serde::{Deserialize, Serialize};

/// A call of a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct CallRecord {
    /// Rank.
    pub rank: u32,
    /// Begin of the call.
    pub begin: Time,
    /// End of the call, or of the run if that came first.
    pub end: Time,
    /// Its number in the rank's program.
    pub call: u32,
    /// The kind of call.
    pub kind: CallKind,
    /// The stream that it occupied.
    pub stream: u16,
    /// The category of its time in the metrics of the rank.
    pub charge: Charge,
    /// Whether the run ended before it.
    pub unfinished: bool,
    /// The peer or the root, as a rank of the job; [`NIL`]: none, or any.
    pub peer: u32,
    /// The first request that it begins, waits for or frees; [`NIL`]: none.
    pub request: u32,
    /// Number of requests.
    pub count: u32,
    /// Bytes sent, received, reduced, read or written; for a send-receive, the bytes sent.
    pub bytes: u64,
    /// The file of an access, the iteration of a mark.
    pub number: u64,
}

/// A step of a message or request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Step {
    /// Call `call` of `rank` has sent a message to `peer`.
    Sent,
    /// A message from `peer`, or its RTS, has arrived at `rank` before its receive.
    Unexpected,
    /// The message, with its data, has matched the receive that call `call` of `rank` posted for a request. A call that
    /// waits for the request takes it immediately.
    Matched,
    /// Its RTS has matched that receive.
    Asked,
    /// The data of a rendezvous have arrived. A call that waits for the request takes it immediately.
    Data,
    /// A request of `rank`, begun by call `call`, is complete; recorded for receives only if no call waited for them.
    Complete,
    /// A call of `rank` has taken the request of a receive, begun by call `call`, which was already complete.
    Taken,
}

/// A step of a message or request. Each message has several, so the record is small.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct StepRecord {
    /// Time of the step.
    pub time: Time,
    /// The step.
    pub step: Step,
    /// The rank at which it happened.
    pub rank: u32,
    /// The peer of the message.
    pub peer: u32,
    /// Twice the number of the communicator, plus one for messages of collectives.
    pub context: u32,
    /// Number of the message among those of its sender, receiver and context.
    pub sequence: u32,
    /// The call.
    pub call: u32,
    /// Length of a sent message, low and high word; otherwise the number of a request and the call that takes it.
    pub(crate) rest: [u32; 2],
}

const _: () = assert!(size_of::<StepRecord>() == 40);

impl StepRecord {
    /// A step of `rank` without `rest`.
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

    /// Adds the length of the message.
    pub(crate) const fn with_bytes(self, bytes: u64) -> StepRecord {
        StepRecord {
            rest: [bytes as u32, (bytes >> 32) as u32],
            ..self
        }
    }

    /// Adds the number of the request and the call `by` that takes it.
    pub(crate) const fn with_request(self, request: u32, by: u32) -> StepRecord {
        StepRecord {
            rest: [request, by],
            ..self
        }
    }

    /// Length of the sent message.
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

/// An access of a server's device, or a drain transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct AccessRecord {
    /// Storage server.
    pub server: u32,
    /// Begin.
    pub begin: Time,
    /// End.
    pub end: Time,
    /// The device, numbered within the server; for a transfer, the device that holds the data.
    pub device: u32,
    /// Time of joining the device's queue; for a transfer, its begin.
    pub joined: Time,
    /// The kind of access.
    pub kind: AccessKind,
    /// The job that owns the data.
    pub job: u16,
    /// The client, a rank; [`NIL`]: none.
    pub client: u32,
    /// Bytes accessed or transferred.
    pub bytes: u64,
    /// Space in use on the device at its end, before its own release.
    pub used: u64,
    /// Memory in use at its end, before its own release.
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

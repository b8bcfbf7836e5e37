//! The storage client: requests to storage in several parts, with timeouts, retries and re-routing.
//!
//! ```text
//!   begin -> a part per server -> attempt --Send--> server
//!              pulled <- Pull        SendData ->           (write)
//!              data_arrived <- data                        (read)
//!              answered <- response: the part ends; with the last part: Complete
//!   Wake -> wake: no answer in time -> the next attempt, another server, or Unanswered
//! ```
//!
//! A rank and a server that asks the lower tier use the same client; the requester is data. The client is a state machine: inputs
//! are its methods, outputs are [`Effect`]s, which the hosts carry out. A server names an attempt by its slot ([`RequestHeader::token`]).
//!
//! **Late answers.** The client gives an attempt up when its time is over. It still answers the pulls of the attempt, so that the
//! server comes to an end with it, and ignores everything else. The slot is free once the answer has come.

mod failed_servers;
mod retry;
#[cfg(test)]
mod tests;

pub(crate) use failed_servers::FailedServers;
pub use retry::RetryCounts;
pub(crate) use retry::RetryRules;

use odonata_engine::{Mode, NIL, Pool, Store, Time, journalled};
use odonata_storage::{ClientId, Origin, RequestHeader, StorageOperation, StorageRequest};
use retry::WatchedPart;

/// What waits for a request at its client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) enum Waiter {
    /// A call of a rank, by its slot.
    Call(u32),
    /// A piece, a synchronization or a removal of a server.
    Server(Origin),
}

/// A request to storage, before it is divided among servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct NewRequest {
    pub(crate) client: ClientId,
    pub(crate) owner: u16,
    pub(crate) operation: StorageOperation,
    pub(crate) waiter: Waiter,
    /// When the requester began to wait.
    pub(crate) since: Time,
}

/// The part of a request that one server has by the layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct RequestPart {
    pub(crate) server: u32,
    pub(crate) object: u64,
    pub(crate) offset: u64,
    pub(crate) bytes: u64,
}

impl RequestPart {
    /// All of `object` at `server`, for an operation without a range.
    pub(crate) fn whole(server: u32, object: u64) -> RequestPart {
        RequestPart {
            server,
            object,
            offset: 0,
            bytes: 0,
        }
    }
}

/// A request that is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Completed {
    /// The slot that the request had.
    pub(crate) request: u32,
    pub(crate) operation: StorageOperation,
    pub(crate) waiter: Waiter,
    /// Whether bytes of a read that tolerates loss are lost.
    pub(crate) lost: bool,
    /// Attempts that were not answered in time.
    pub(crate) timeouts: u32,
    /// When the first data went or came, or [`Time::NEVER`].
    pub(crate) first_data: Time,
}

/// What a timer is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Timer {
    /// The time for the answer to this attempt is over.
    Timeout { attempt: u32 },
    /// The wait before the next attempt of this part is over.
    Retry { part: u32 },
}

/// What the hosts have to do for a client, now, in the order of effects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    /// Send a request to a server.
    Send { server: u32, request: StorageRequest },
    /// Send a piece of a write to a server.
    SendData {
        server: u32,
        header: RequestHeader,
        piece: u32,
        bytes: u64,
    },
    /// Call [`Client::wake`] at `at`.
    Wake { client: ClientId, at: Time, timer: Timer },
    /// An attempt, sent at `sent`, was given up; the next one goes at `next`.
    TimedOut {
        server: u32,
        owner: u16,
        sent: Time,
        next: Time,
    },
    /// A part of `request` has ended with this attempt.
    PartEnded {
        client: ClientId,
        request: u32,
        attempt: u32,
    },
    /// The answer to an attempt that was given up has come.
    AnsweredLate { client: ClientId, attempt: u32 },
    /// A request is complete.
    Complete { client: ClientId, completed: Completed },
    /// No server answers the request; the last one asked was `server`.
    Unanswered {
        client: ClientId,
        server: u32,
        operation: StorageOperation,
        since: Time,
    },
}

/// Effects in the order in which they arose. The hosts empty the list after every input and use it again.
pub(crate) type Effects = Vec<Effect>;

/// A request under way.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
struct OpenRequest {
    what: NewRequest,
    /// Parts that have not ended.
    open: u32,
    lost: bool,
    timeouts: u32,
    first_data: Time,
    next: u32,
}

/// A part of a request as it was sent to one server.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
struct Attempt {
    /// The request; [`NIL`] once the attempt has ended or was given up.
    request: u32,
    client: ClientId,
    /// Bytes of a read that have not arrived.
    missing: u64,
    answered: bool,
    lost: bool,
    /// The watched part that it is an attempt of, or [`NIL`].
    watched: u32,
    /// Whether a timer will mention it.
    has_timer: bool,
    next: u32,
}

odonata_engine::slots!(OpenRequest Attempt);

/// The clients of a part of the machine.
#[derive(Debug)]
pub(crate) struct Client {
    rules: RetryRules,
    requests: Pool<OpenRequest>,
    attempts: Pool<Attempt>,
    watched: Pool<WatchedPart>,
    failed: FailedServers,
    /// Per job, then per server; empty where clients wait without limit.
    counts: Store<RetryCounts>,
}
journalled!(Client {
    requests,
    attempts,
    watched,
    failed,
    counts
});

impl Client {
    /// Clients that retry by `rules` and remember servers in `failed`.
    pub(crate) fn new(rules: RetryRules, failed: FailedServers) -> Self {
        Client {
            counts: Store::filled(rules.counters(), RetryCounts::default()),
            rules,
            requests: Pool::new(),
            attempts: Pool::new(),
            watched: Pool::new(),
            failed,
        }
    }

    /// Begins a request in these parts, at least one. Returns the server of the first part.
    pub(crate) fn begin<M: Mode>(
        &mut self,
        now: Time,
        what: NewRequest,
        parts: impl ExactSizeIterator<Item = RequestPart>,
        effects: &mut Effects,
    ) -> u32 {
        let request = self.requests.allocate::<M>(OpenRequest {
            what,
            open: parts.len() as u32,
            lost: false,
            timeouts: 0,
            first_data: Time::NEVER,
            next: NIL,
        });
        let mut first = NIL;
        for part in parts {
            if first == NIL {
                first = part.server;
            }
            match self.rules.watches(what.client, part.server) {
                true => self.watch::<M>(now, request, part, effects),
                false => {
                    self.send::<M>(request, NIL, part, false, effects);
                }
            }
        }
        first
    }

    /// Sends `part` of `request`, an attempt of `watched` if that is one; returns the attempt.
    fn send<M: Mode>(
        &mut self,
        request: u32,
        watched: u32,
        part: RequestPart,
        rerouted: bool,
        effects: &mut Effects,
    ) -> u32 {
        let NewRequest {
            client,
            owner,
            operation,
            ..
        } = self.requests.get(request).what;
        let reads = matches!(operation, StorageOperation::Read { .. });
        let attempt = self.attempts.allocate::<M>(Attempt {
            request,
            client,
            missing: if reads { part.bytes } else { 0 },
            answered: false,
            lost: false,
            watched,
            has_timer: watched != NIL,
            next: NIL,
        });
        let RequestPart {
            server,
            object,
            offset,
            bytes,
        } = part;
        let request = StorageRequest {
            header: RequestHeader {
                client,
                token: attempt,
                owner,
            },
            operation: match operation {
                StorageOperation::Read {
                    rerouted: before,
                    tolerates_loss,
                } => StorageOperation::Read {
                    rerouted: before || rerouted,
                    tolerates_loss,
                },
                other => other,
            },
            object,
            offset,
            bytes,
        };
        effects.push(Effect::Send { server, request });
        attempt
    }

    /// `server` wants `bytes` bytes of a write, as its piece `piece`.
    pub(crate) fn pulled<M: Mode>(
        &mut self,
        now: Time,
        (server, header): (u32, RequestHeader),
        (piece, bytes): (u32, u64),
        effects: &mut Effects,
    ) {
        self.note_data::<M>(now, header.token);
        effects.push(Effect::SendData {
            server,
            header,
            piece,
            bytes,
        });
    }

    /// `bytes` bytes of a read have arrived.
    pub(crate) fn data_arrived<M: Mode>(&mut self, now: Time, attempt: u32, bytes: u64, effects: &mut Effects) {
        self.note_data::<M>(now, attempt);
        self.attempts.edit::<M>(attempt).missing -= bytes;
        self.end_if_complete::<M>(attempt, effects);
    }

    /// The server has answered `attempt`; `lost`: whether it has lost bytes of a read that tolerates loss.
    pub(crate) fn answered<M: Mode>(&mut self, attempt: u32, lost: bool, effects: &mut Effects) {
        let cell = self.attempts.edit::<M>(attempt);
        (cell.answered, cell.lost) = (true, lost);
        self.end_if_complete::<M>(attempt, effects);
    }

    /// Data of `attempt` go or come now, which may be the first of its request.
    fn note_data<M: Mode>(&mut self, now: Time, attempt: u32) {
        let request = self.attempts.get(attempt).request;
        if request != NIL && self.requests.get(request).first_data == Time::NEVER {
            self.requests.edit::<M>(request).first_data = now;
        }
    }

    /// Ends `attempt` if its answer and all its data are there. Under adaptive routing the answer may come before data.
    fn end_if_complete<M: Mode>(&mut self, attempt: u32, effects: &mut Effects) {
        let Attempt {
            request,
            client,
            missing,
            answered,
            lost,
            watched,
            has_timer,
            ..
        } = *self.attempts.get(attempt);
        if !answered || missing > 0 {
            return;
        }
        match has_timer {
            true => self.attempts.edit::<M>(attempt).request = NIL,
            false => self.attempts.free::<M>(attempt),
        }
        if request == NIL {
            effects.push(Effect::AnsweredLate { client, attempt });
            return;
        }
        if watched != NIL {
            self.watched.free::<M>(watched);
        }
        effects.push(Effect::PartEnded {
            client,
            request,
            attempt,
        });
        let cell = self.requests.edit::<M>(request);
        cell.open -= 1;
        cell.lost |= lost;
        let OpenRequest {
            what,
            open,
            lost,
            timeouts,
            first_data,
            ..
        } = *cell;
        if open > 0 {
            return;
        }
        self.requests.free::<M>(request);
        let completed = Completed {
            request,
            operation: what.operation,
            waiter: what.waiter,
            lost,
            timeouts,
            first_data,
        };
        effects.push(Effect::Complete { client, completed });
    }

    /// Whether `attempt` has ended, so that its timer does nothing.
    pub(crate) fn has_ended(&self, attempt: u32) -> bool {
        self.attempts.get(attempt).request == NIL
    }

    /// The request of `attempt`, unless the attempt has ended.
    pub(crate) fn request_of(&self, attempt: u32) -> Option<u32> {
        Some(self.attempts.get(attempt).request).filter(|&request| request != NIL)
    }

    /// Bytes of `attempt`, a read, that have not arrived.
    pub(crate) fn missing(&self, attempt: u32) -> u64 {
        self.attempts.get(attempt).missing
    }

    /// Requests under way.
    pub(crate) fn live(&self) -> u32 {
        self.requests.live()
    }
}

//! How a run ended: who is blocked and in what, what a program did wrong, what is left.

use super::Hosts;
use super::event::Outside;
use super::explain::describe;
use super::peers::of_collective;
use super::rank::Phase;
use odonata_engine::{NIL, Time};
use odonata_workload::{Comm, Op, OpId};

/// The code with which the hosts [halt](odonata_engine::Context::halt) a run; [`Hosts::outcome`] says why.
pub const HALT_FAILURE: u32 = 1;

/// Why an operation is not possible.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) enum Wrong {
    /// The rank has no such communicator, or is not in it.
    Communicator(Comm),
    /// The communicator, of `ranks` ranks, does not have the rank that is named.
    Peer { comm: Comm, ranks: u32 },
    /// The collective cannot run on `members` ranks.
    Collective { members: u32 },
    /// More non-blocking collectives on a communicator than can be told apart.
    TooManyCollectives,
    /// The request with this number is in use.
    Active(u32),
    /// The request with this number is none that can be started.
    NotPersistent(u32),
    /// A non-blocking collective cannot be freed before it is complete.
    FreedCollective,
    /// The world cannot be freed.
    FreedWorld,
    /// The rank has reported as many values as are kept of one.
    TooManyReports,
}

/// Something that cannot go on. Ranks count over all jobs; `source` is a rank of the job.
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
    Leftover {
        rank: u32,
        source: u32,
        stamp: u32,
    },
    Invalid {
        rank: u32,
        op: Op,
        why: Wrong,
    },
    /// The program has said so, at this time.
    Program {
        rank: u32,
        at: Time,
    },
    NoServer {
        rank: u32,
        op: Op,
    },
    Impossible {
        rank: u32,
        server: u32,
        bytes: u64,
        capacity: u64,
    },
}

impl Failure {
    /// Where it was noticed.
    pub(crate) fn rank(&self) -> u32 {
        match *self {
            Failure::Mismatch { rank, .. }
            | Failure::Truncation { rank, .. }
            | Failure::Leftover { rank, .. }
            | Failure::Invalid { rank, .. }
            | Failure::Program { rank, .. }
            | Failure::NoServer { rank, .. }
            | Failure::Impossible { rank, .. } => rank,
        }
    }
}

/// The kind of error that ended a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureKind {
    /// Ranks of one communicator called different collectives, or the same with different arguments.
    CollectiveMismatch,
    /// A message is longer than the buffer of the receive that took it.
    Truncation,
    /// An operation names a rank, communicator or request that does not exist, or sizes that do not fit.
    InvalidOperation,
    /// A program cannot go on: an assertion does not hold, a value does not exist.
    Program,
    /// A read or write by a rank without a storage server.
    NoServer,
    /// A write is larger than the whole device of its server.
    WriteExceedsDevice,
}

/// A rank that waits for something that does not come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blocked {
    /// Job, by its number.
    pub job: u16,
    /// Rank of the job.
    pub rank: u32,
    /// The operation in words, for example `Recv from 3 tag 7 (world)`.
    pub op: String,
    /// Its number in the rank's program.
    pub id: OpId,
    /// When it was called.
    pub since: Time,
}

/// A write that waits for space on a full storage server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StuckWrite {
    /// Storage server.
    pub server: u32,
    /// Job, by its number.
    pub job: u16,
    /// Rank of the job.
    pub rank: u32,
    /// When its request arrived at the server.
    pub since: Time,
    /// Bytes that it needs.
    pub needed: u64,
    /// Bytes that are free. May suffice, when an earlier request that needs more is in front.
    pub free: u64,
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq)]
pub enum HostOutcome {
    /// All ranks have come to their end.
    Completed {
        /// Messages that no receive ever asked for.
        unmatched: u64,
    },
    /// Nothing more can happen, and ranks are not at their end.
    Stalled {
        /// Those that wait longest, ten at most.
        blocked: Vec<Blocked>,
        /// Number of ranks that are not at their end.
        unfinished: u64,
        /// Messages that no receive has asked for.
        unmatched: u64,
        /// A cycle of waits, if there is one: each rank waits for the next, the last for the first. Its ranks
        /// are those of one job.
        cycle: Vec<Blocked>,
    },
    /// Nothing more can happen, because writes wait for space on full storage servers.
    StorageFull {
        /// The writes.
        stuck: Vec<StuckWrite>,
        /// The ranks that wait longest, ten at most.
        blocked: Vec<Blocked>,
        /// Number of ranks that are not at their end.
        unfinished: u64,
    },
    /// A program asked for something wrong, and the run was halted.
    Failed {
        /// What was wrong.
        kind: FailureKind,
        /// With all names and numbers.
        text: String,
    },
}

impl Hosts {
    /// Remembers what went wrong, and halts the run.
    pub(crate) fn fail<X: Outside>(&mut self, x: &mut X, failure: Failure) {
        self.failures.push::<X>((x.now(), failure));
        x.halt(HALT_FAILURE);
    }

    /// The first thing that went wrong in this part.
    pub(crate) fn first_failure(&self) -> Option<(Time, Failure)> {
        let failures = self.failures.as_slice().iter();
        failures.min_by_key(|(at, failure)| (*at, failure.rank())).copied()
    }

    /// The writes that wait for space in this part.
    pub(crate) fn stuck_writes(&self) -> Vec<StuckWrite> {
        let stuck_write = |stuck: odonata_storage::Stuck| {
            let (job, rank) = self.job_of(stuck.client);
            StuckWrite {
                server: self.server_numbers[stuck.server as usize],
                job,
                rank,
                since: stuck.since,
                needed: stuck.needed,
                free: stuck.free,
            }
        };
        self.servers.stuck().map(stuck_write).collect()
    }

    /// A message of a collective at a rank that has come to its end: some rank called what it did not.
    pub(crate) fn leftover(&self) -> Option<Failure> {
        let mut finished = self.metrics.iter().filter(|(_, metrics)| metrics.finished);
        finished.find_map(|(rank, _)| {
            let unexpected = self.inboxes.get(rank).unexpected;
            let mut messages = unexpected.iter(&self.waiting).map(|slot| self.waiting.get(slot));
            // It may be for a non-blocking one that nobody waited for.
            let message = messages.find(|message| {
                of_collective(message.context) && self.collectives_under_way(rank, message.context) == 0
            })?;
            Some(Failure::Leftover {
                rank,
                source: message.source,
                stamp: message.tag,
            })
        })
    }

    /// What the ranks of this part are blocked in, and since when: a rank with several streams in its first operation.
    pub(crate) fn all_blocked(&self) -> impl Iterator<Item = (Time, u32, Op)> + '_ {
        self.ranks.iter().filter_map(|(number, rank)| {
            let waits = |&slot: &u32| !matches!(self.activities.get(slot).phase, Phase::Parked | Phase::Ready);
            let activity = self.activities.get(rank.live.iter(&self.activities).find(waits)?);
            Some((activity.since, number, activity.op))
        })
    }

    /// `rank` in `op`, called at `since`, in words.
    pub(crate) fn describe_blocked(&self, rank: u32, op: &Op, since: Time) -> Blocked {
        let (job, local) = self.job_of(rank);
        Blocked {
            job,
            rank: local,
            op: describe(&op.kind),
            id: op.id,
            since,
        }
    }

    /// Messages that have arrived in this part and that no receive has asked for.
    pub(crate) fn unmatched(&self) -> u64 {
        self.inboxes
            .iter()
            .map(|(_, inbox)| inbox.unexpected.iter(&self.waiting).count() as u64)
            .sum()
    }

    /// Checks that nothing is left in this part after a completed run but messages that nobody asked for: no receive, request, message in transit or file transfer.
    ///
    /// # Errors
    /// Says what is left, and where.
    pub fn audit(&self) -> Result<(), String> {
        let idle = |slot: u32| self.requests.get(slot).is_idle();
        // Persistent requests that were not freed stand for nothing.
        let mut kept = 0;
        // The data of messages that nobody asked for are still at their senders.
        let mut refused = 0;
        for (rank, inbox) in self.inboxes.iter() {
            kept += inbox.requests.iter(&self.requests).filter(|&slot| idle(slot)).count() as u32;
            let messages = inbox.unexpected.iter(&self.waiting).map(|slot| self.waiting.get(slot));
            refused += messages.filter(|message| message.rendezvous != NIL).count() as u32;
            let left = [
                (
                    inbox.posted.iter(&self.posted).count(),
                    "receives were posted that got no message",
                ),
                (
                    inbox.requests.iter(&self.requests).filter(|&slot| !idle(slot)).count(),
                    "requests were never waited for",
                ),
                (
                    inbox.held.iter(&self.waiting).count(),
                    "messages are held back for one that never came",
                ),
            ];
            if let Some((count, what)) = left.into_iter().find(|&(count, _)| count > 0) {
                return Err(format!("{}: {count} {what}", self.name(rank)));
            }
        }
        let freed = |request: u32| request != NIL && self.requests.get(request).is_freed();
        let forgotten = self.all_outgoing().filter(|outgoing| freed(outgoing.request)).count() as u32;
        let left = [
            (self.requests.live() - kept - forgotten, "requests"),
            (self.outgoing.live() - refused, "messages to be sent"),
            (self.incoming.live(), "messages to be received"),
            (self.deferred.live(), "things left to do in the next call"),
            (self.activities.live(), "operations"),
            (self.parcels.live(), "messages within nodes"),
            (self.io_ops.live(), "file transfers"),
        ];
        if let Some((count, what)) = left.into_iter().find(|&(count, _)| count > 0) {
            return Err(format!("{count} {what} are still open"));
        }
        self.audit_news()?;
        self.servers.audit()
    }
}

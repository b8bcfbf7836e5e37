//! How a run ended: who is blocked and in what, what a program did wrong, what is left.

use super::Hosts;
use super::event::Outside;
use super::explain::describe;
use super::peers::of_collective;
use super::rank::Phase;
use odonata_engine::Time;
use odonata_workload::{Op, OpId};

/// The code with which the hosts [halt](odonata_engine::Context::halt) a run; [`Hosts::outcome`] says why.
pub const HALT_FAILURE: u32 = 1;

/// The most blocked ranks that are described.
const MOST_DESCRIBED: usize = 10;

/// Something that cannot go on. Ranks count over all jobs; `source` is a rank of the job.
#[derive(Clone, Copy, Debug)]
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

/// The kind of error that ended a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureKind {
    /// Ranks of one communicator called different collectives, or the same with different arguments.
    CollectiveMismatch,
    /// A message is longer than the buffer of the receive that took it.
    Truncation,
    /// An operation names a rank that does not exist, or sizes that do not fit.
    InvalidOperation,
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
        self.failures.push(failure);
        x.halt(HALT_FAILURE);
    }

    /// How the run ended; to be asked when no event is left, or the hosts have halted it.
    pub fn outcome(&self) -> HostOutcome {
        if let Some(failure) = self.failures.as_slice().first() {
            let (kind, text) = self.explain(failure);
            return HostOutcome::Failed { kind, text };
        }
        if let Some(failure) = self.leftover() {
            let (kind, text) = self.explain(&failure);
            return HostOutcome::Failed { kind, text };
        }
        let unmatched = self.unmatched();
        let unfinished = self.metrics.iter().filter(|metrics| !metrics.finished).count() as u64;
        let stuck_write = |stuck: odonata_storage::Stuck| {
            let (job, rank) = self.job_of(stuck.client);
            let odonata_storage::Stuck {
                server,
                since,
                needed,
                free,
                ..
            } = stuck;
            StuckWrite {
                server,
                job,
                rank,
                since,
                needed,
                free,
            }
        };
        let stuck: Vec<StuckWrite> = self.servers.stuck().map(stuck_write).collect();
        match (stuck.is_empty(), unfinished) {
            (false, _) => HostOutcome::StorageFull {
                stuck,
                blocked: self.blocked(),
                unfinished,
            },
            (true, 0) => HostOutcome::Completed { unmatched },
            (true, _) => HostOutcome::Stalled {
                blocked: self.blocked(),
                unfinished,
                unmatched,
            },
        }
    }

    /// A message of a collective at a rank that has come to its end: some rank called what it did not.
    fn leftover(&self) -> Option<Failure> {
        let finished = (0..self.places.len() as u32).filter(|&rank| self.metrics.get(rank).finished);
        finished.into_iter().find_map(|rank| {
            let unexpected = self.inboxes.get(rank).unexpected;
            let mut messages = unexpected.iter(&self.waiting).map(|slot| self.waiting.get(slot));
            let message = messages.find(|message| of_collective(message.context))?;
            Some(Failure::Leftover {
                rank,
                source: message.source,
                stamp: message.tag,
            })
        })
    }

    /// The ranks that are blocked longest, ten at most; a rank with several streams by its first
    /// operation.
    pub fn blocked(&self) -> Vec<Blocked> {
        let first = |rank: u32| {
            let live = self.ranks.get(rank).live;
            let waits = |&slot: &u32| !matches!(self.activities.get(slot).phase, Phase::Parked | Phase::Ready);
            let activity = self.activities.get(live.iter(&self.activities).find(waits)?);
            Some((activity.since, rank, activity.op))
        };
        let mut blocked: Vec<(Time, u32, Op)> = (0..self.places.len() as u32).filter_map(first).collect();
        blocked.sort_unstable_by_key(|&(since, rank, _)| (since, rank));
        blocked.truncate(MOST_DESCRIBED);
        let describe = |(since, rank, op): (Time, u32, Op)| {
            let (job, local) = self.job_of(rank);
            Blocked {
                job,
                rank: local,
                op: describe(&op.kind),
                id: op.id,
                since,
            }
        };
        blocked.into_iter().map(describe).collect()
    }

    /// Messages that have arrived and that no receive has asked for.
    pub fn unmatched(&self) -> u64 {
        self.inboxes
            .iter()
            .map(|inbox| inbox.unexpected.iter(&self.waiting).count() as u64)
            .sum()
    }

    /// Checks that nothing is left after a completed run but messages that nobody asked for
    /// ([`unmatched`](Self::unmatched)): no receive, request, message in transit or file transfer.
    ///
    /// # Errors
    /// Says what is left, and where.
    pub fn audit(&self) -> Result<(), String> {
        for (rank, inbox) in self.inboxes.iter().enumerate() {
            let left = [
                (
                    inbox.posted.iter(&self.posted).count(),
                    "receives were posted that got no message",
                ),
                (
                    inbox.requests.iter(&self.requests).count(),
                    "requests were never waited for",
                ),
                (
                    inbox.held.iter(&self.waiting).count(),
                    "messages are held back for one that never came",
                ),
            ];
            if let Some((count, what)) = left.into_iter().find(|&(count, _)| count > 0) {
                return Err(format!("{}: {count} {what}", self.name(rank as u32)));
            }
        }
        let left = [
            (self.requests.live(), "requests"),
            (self.activities.live(), "operations"),
            (self.parcels.live(), "messages within nodes"),
            (self.io_ops.live(), "file transfers"),
            (self.io_headers.live(), "file requests in transit"),
        ];
        if let Some((count, what)) = left.into_iter().find(|&(count, _)| count > 0) {
            return Err(format!("{count} {what} are still open"));
        }
        self.audit_news()?;
        self.servers.audit()
    }
}

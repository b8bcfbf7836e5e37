//! The outcome of a run: blocked ranks and their operations, program errors, leftovers.

use crate::Hosts;
use crate::context::HostContext;
use crate::diagnosis::describe::describe_operation;
use crate::io::calls::Call;
use crate::mpi::sequence::of_collective;
use crate::rank::activity::Phase;
use odonata_engine::Time;
use odonata_storage::{ClientId, Requester};
use odonata_workload::{Comm, Op, OpId};

/// The code with which the hosts [halt](odonata_engine::Context::halt) a run; [`Hosts::outcome`] gives the reason.
pub const HALT_FAILURE: u32 = 1;

/// The reason why an operation is not possible.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) enum InvalidOperation {
    /// The rank has no such communicator, or is not a member.
    Communicator(Comm),
    /// The communicator, of `ranks` ranks, has no rank with the given number.
    Peer { comm: Comm, ranks: u32 },
    /// The collective cannot run on `members` ranks.
    Collective { members: u32 },
    /// The communicator has the maximum number of active non-blocking collectives.
    TooManyCollectives,
    /// The request with this number is in use.
    Active(u32),
    /// The request with this number cannot be started.
    NotPersistent(u32),
    /// A non-blocking collective cannot be freed before it is complete.
    FreedCollective,
    /// The world cannot be freed.
    FreedWorld,
    /// The rank has reported the maximum number of values.
    TooManyReports,
}

/// The reason why a run cannot continue. Rank numbers run over all jobs; `source` is a rank of the job.
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
    CollectiveLeftover {
        rank: u32,
        source: u32,
        stamp: u32,
    },
    Invalid {
        rank: u32,
        op: Op,
        why: InvalidOperation,
    },
    /// The program has failed at this time.
    Program {
        rank: u32,
        at: Time,
    },
    /// Operation `op` exceeds the limit of operations at one instant.
    Endless {
        rank: u32,
        op: Op,
    },
    NoServer {
        rank: u32,
        op: Op,
    },
    Impossible {
        client: ClientId,
        server: u32,
        bytes: u64,
        capacity: u64,
    },
    Unwritten {
        client: ClientId,
        server: u32,
        offset: u64,
        bytes: u64,
    },
    /// No attempt of the call made at this time was answered.
    NoAnswer {
        client: ClientId,
        server: u32,
        call: Call,
        since: Time,
    },
    Lost {
        client: ClientId,
        server: u32,
        offset: u64,
        bytes: u64,
    },
}

impl Failure {
    /// The number of the rank, or of the client, that noticed it.
    pub(crate) fn place(&self) -> u32 {
        match *self {
            Failure::Mismatch { rank, .. }
            | Failure::Truncation { rank, .. }
            | Failure::CollectiveLeftover { rank, .. }
            | Failure::Invalid { rank, .. }
            | Failure::Program { rank, .. }
            | Failure::Endless { rank, .. }
            | Failure::NoServer { rank, .. } => rank,
            Failure::Impossible { client, .. }
            | Failure::Unwritten { client, .. }
            | Failure::NoAnswer { client, .. }
            | Failure::Lost { client, .. } => client.number(),
        }
    }
}

/// The kind of error that ended a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureKind {
    /// Ranks of one communicator called different collectives, or the same one with different arguments.
    CollectiveMismatch,
    /// A message is longer than the buffer of the receive that took it.
    Truncation,
    /// An operation uses a rank, communicator or request that does not exist, or sizes that do not fit.
    InvalidOperation,
    /// A program cannot continue: an assertion fails, or a value does not exist.
    Program,
    /// All ranks have ended and left unfinished communication: a receive without a message, a message without a
    /// receive, a request that was never waited for.
    LeftBehind,
    /// A read or write by a rank without a storage server.
    NoServer,
    /// A write is larger than the whole device of its server.
    WriteExceedsDevice,
    /// A read of bytes that were never written, if that is an error.
    UnwrittenRead,
    /// A storage server has not answered, or has lost the data of a read.
    ServerFailed,
}

/// A rank whose wait never ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blocked {
    /// Job number.
    pub job: u16,
    /// Rank of the job.
    pub rank: u32,
    /// The operation, for example `Recv from 3 tag 7 (world)`.
    pub op: String,
    /// Its number in the rank's program.
    pub id: OpId,
    /// Time of the call.
    pub since: Time,
}

/// A write that waits for space on a full storage server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockedWrite {
    /// Storage server.
    pub server: u32,
    /// Job number.
    pub job: u16,
    /// The client.
    pub client: BlockedClient,
    /// Arrival time of its request at the server.
    pub since: Time,
    /// Bytes needed.
    pub needed: u64,
    /// Bytes free. May suffice if an earlier request that needs more is first in line.
    pub free: u64,
}

/// The client whose write waits for space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockedClient {
    /// A rank of the job.
    Rank(u32),
    /// A storage server of the tier above.
    Server(u32),
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq)]
pub enum HostOutcome {
    /// All ranks have ended and left nothing behind.
    Completed,
    /// No event is left, and some ranks have not ended.
    Stalled {
        /// The ranks that have waited longest, ten at most.
        blocked: Vec<Blocked>,
        /// Number of ranks that have not ended.
        unfinished: u64,
        /// Number of messages without a receive.
        unmatched: u64,
        /// A cycle of waits, if there is one: each rank waits for the next, the last for the first. All belong to one
        /// job.
        cycle: Vec<Blocked>,
    },
    /// No event is left, because writes wait for space on full storage servers.
    StorageFull {
        /// The writes.
        blocked_writes: Vec<BlockedWrite>,
        /// The ranks that have waited longest, ten at most.
        blocked: Vec<Blocked>,
        /// Number of ranks that have not ended.
        unfinished: u64,
    },
    /// A program error halted the run, or a program left unfinished communication at its end.
    Failed {
        /// The kind of error.
        kind: FailureKind,
        /// The description, with all names and numbers.
        text: String,
    },
}

impl Hosts {
    /// Records a failure and halts the run.
    pub(crate) fn fail<C: HostContext>(&mut self, ctx: &mut C, failure: Failure) {
        self.failures.push::<C>((ctx.now(), failure));
        ctx.halt(HALT_FAILURE);
    }

    /// The first failure in this part.
    pub(crate) fn first_failure(&self) -> Option<(Time, Failure)> {
        let failures = self.failures.as_slice().iter();
        failures.min_by_key(|(at, failure)| (*at, failure.place())).copied()
    }

    /// The writes that wait for space in this part.
    pub(crate) fn blocked_writes(&self) -> Vec<BlockedWrite> {
        let writes = self.io.servers.blocked_writes().map(|(server, write)| {
            let client = match write.header.client.requester() {
                Requester::Rank(rank) => BlockedClient::Rank(self.layout.local(rank)),
                Requester::Server(server) => BlockedClient::Server(server),
            };
            BlockedWrite {
                server,
                job: write.header.owner,
                client,
                since: write.since,
                needed: write.needed,
                free: write.free,
            }
        });
        writes.collect()
    }

    /// A collective mismatch: a message of a collective at a rank that has ended and did not call it.
    pub(crate) fn collective_leftover(&self) -> Option<Failure> {
        let mut finished = self.records.all_metrics().filter(|(_, metrics)| metrics.finished);
        finished.find_map(|(rank, _)| {
            // The message may belong to a non-blocking collective that was never waited for.
            let message = self.mpi.matching.unexpected(rank).find(|message| {
                let context = message.context;
                of_collective(context) && self.mpi.sequences.collectives_under_way(&self.layout, rank, context) == 0
            })?;
            Some(Failure::CollectiveLeftover {
                rank,
                source: message.source,
                stamp: message.tag,
            })
        })
    }

    /// The operations in which ranks of this part are blocked, and since when; the first one of a rank with several
    /// streams.
    pub(crate) fn all_blocked(&self) -> impl Iterator<Item = (Time, u32, Op)> + '_ {
        self.ranks.iter().filter_map(|(number, mut activities)| {
            let activity = activities.find(|activity| !matches!(activity.phase, Phase::Parked | Phase::Ready))?;
            Some((activity.since, number, activity.op))
        })
    }

    pub(crate) fn describe_blocked(&self, rank: u32, op: &Op, since: Time) -> Blocked {
        let (job, local) = self.job_of(rank);
        Blocked {
            job,
            rank: local,
            op: describe_operation(&op.kind),
            id: op.id,
            since,
        }
    }

    /// Number of messages that have arrived in this part and have no receive.
    pub(crate) fn unmatched(&self) -> u64 {
        let matching = &self.mpi.matching;
        matching
            .ranks()
            .map(|rank| matching.unexpected(rank).count() as u64)
            .sum()
    }

    /// Checks that nothing is left in this part after a completed run: no receive, request, message or file transfer. A
    /// run with leftovers of programs does not count as completed
    /// ([`RunState::outcome`](super::run_state::RunState::outcome)).
    ///
    /// # Errors
    /// Describes the first leftover and its place.
    pub fn audit(&self) -> Result<(), String> {
        self.audit_lost_time()?;
        let (matching, requests) = (&self.mpi.matching, &self.mpi.requests);
        // Persistent requests that were not freed are allowed.
        let mut kept = 0;
        for rank in matching.ranks() {
            let idle = requests.of_rank(rank).filter(|request| request.is_idle()).count();
            kept += idle as u32;
            let left = [
                (matching.posted(rank).count(), "receives have no message"),
                (matching.unexpected(rank).count(), "messages were never received"),
                (requests.of_rank(rank).count() - idle, "requests were never waited for"),
                (
                    matching.held(rank),
                    "messages wait for an earlier one that never arrived",
                ),
            ];
            if let Some((count, what)) = left.into_iter().find(|&(count, _)| count > 0) {
                return Err(format!("{}: {count} {what}", self.layout.name(rank)));
            }
        }
        let [outgoing, incoming] = self.mpi.rendezvous.live();
        let left = [
            (requests.live() - kept, "requests"),
            (outgoing, "messages to be sent"),
            (incoming, "messages to be received"),
            (self.mpi.deferred.live(), "deferred protocol actions"),
            (self.ranks.live(), "operations"),
            (self.mpi.calls.live(), "calls"),
            (self.transport.live(), "messages within nodes"),
            (self.io.calls.live(), "file transfers"),
            (self.io.client.live(), "requests to storage"),
            (self.io.servers.locks.live(), "requests that hold locks"),
        ];
        if let Some((count, what)) = left.into_iter().find(|&(count, _)| count > 0) {
            return Err(format!("{count} {what} are still open"));
        }
        self.jobs.audit()?;
        self.io.fault_waits.audit()?;
        self.io.metadata.audit()?;
        self.io.servers.audit()
    }
}

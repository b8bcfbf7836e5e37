//! The outcome of a run: blocked ranks and their operations, program errors, leftovers.

use crate::diagnosis::PartState;
use crate::diagnosis::describe::describe_operation;
use crate::failure::Failure;
use crate::mpi::sequence::of_collective;
use crate::rank::activity::Phase;
use odonata_engine::Time;
use odonata_storage::Requester;
use odonata_workload::{Op, OpId};

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

impl<'a> PartState<'a> {
    /// The writes that wait for space in this part.
    pub(crate) fn blocked_writes(self) -> Vec<BlockedWrite> {
        let writes = self.0.io.servers.blocked_writes().map(|(server, write)| {
            let client = match write.header.client.requester() {
                Requester::Rank(rank) => BlockedClient::Rank(self.0.layout.local(rank)),
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
    pub(crate) fn collective_leftover(self) -> Option<Failure> {
        let mut finished = self
            .0
            .observers
            .records
            .all_metrics()
            .filter(|(_, metrics)| metrics.finished);
        finished.find_map(|(rank, _)| {
            // The message may belong to a non-blocking collective that was never waited for.
            let message = self.0.mpi.matching.unexpected(rank).find(|message| {
                let context = message.context;
                of_collective(context)
                    && self
                        .0
                        .mpi
                        .sequences
                        .collectives_under_way(&self.0.layout, rank, context)
                        == 0
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
    pub(crate) fn all_blocked(self) -> impl Iterator<Item = (Time, u32, Op)> + 'a {
        self.0.ranks.iter().filter_map(|(number, mut activities)| {
            let activity = activities.find(|activity| !matches!(activity.phase, Phase::Parked | Phase::Ready))?;
            Some((activity.since, number, activity.op))
        })
    }

    pub(crate) fn describe_blocked(self, rank: u32, op: &Op, since: Time) -> Blocked {
        let (job, local) = self.0.job_of(rank);
        Blocked {
            job,
            rank: local,
            op: describe_operation(&op.kind),
            id: op.id,
            since,
        }
    }

    /// Number of messages that have arrived in this part and have no receive.
    pub(crate) fn unmatched(self) -> u64 {
        let matching = &self.0.mpi.matching;
        matching
            .ranks()
            .map(|rank| matching.unexpected(rank).count() as u64)
            .sum()
    }
}

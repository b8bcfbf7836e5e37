//! How a run ended, in words: who is blocked and in what, what a program did wrong, what is left.

use super::Hosts;
use super::collective::{read_stamp, stamp};
use super::event::Outside;
use super::rank::Phase;
use odonata_engine::Time;
use odonata_storage::Stuck;
use odonata_workload::{Collective, Comm, Op, OpId, OpKind, Source, Tag};

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
        stuck: Vec<Stuck>,
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
        let unmatched = self.unmatched();
        let unfinished = self.metrics.iter().filter(|metrics| !metrics.finished).count() as u64;
        let stuck: Vec<Stuck> = self.servers.stuck().collect();
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
        self.servers.audit()
    }

    /// `job "name" rank 3`.
    fn name(&self, rank: u32) -> String {
        let (job, local) = self.job_of(rank);
        format!("job \"{}\" rank {local}", self.jobs[usize::from(job)].name)
    }

    fn explain(&self, failure: &Failure) -> (FailureKind, String) {
        match *failure {
            Failure::Mismatch {
                rank,
                op,
                source,
                stamp: theirs,
            } => {
                let (name, call) = read_stamp(theirs);
                let ours = match op.kind {
                    OpKind::Collective(collective) => stamp(&collective, 0),
                    _ => theirs,
                };
                let detail = if read_stamp(ours).0 == name {
                    " with other arguments or of another call"
                } else {
                    ""
                };
                let text = format!(
                    "{} is in {} (operation {}), but rank {source} is in {name} number {call}{detail}",
                    self.name(rank),
                    describe(&op.kind),
                    op.id.0
                );
                (FailureKind::CollectiveMismatch, text)
            }
            Failure::Truncation {
                rank,
                source,
                tag,
                bytes,
                buffer,
            } => {
                let text = format!(
                    "{}: a message of {bytes} B from rank {source} with tag {tag} met a receive with a buffer of {buffer} B",
                    self.name(rank)
                );
                (FailureKind::Truncation, text)
            }
            Failure::Invalid { rank, op } => {
                let ranks = self.jobs[usize::from(self.places[rank as usize].job)].ranks;
                let why = match op.kind {
                    OpKind::Collective(collective) => collective.check(ranks).err().unwrap_or_default(),
                    _ => format!("the job has ranks 0 to {}", ranks - 1),
                };
                let text = format!(
                    "{}: {} (operation {}): {why}",
                    self.name(rank),
                    describe(&op.kind),
                    op.id.0
                );
                (FailureKind::InvalidOperation, text)
            }
            Failure::NoServer { rank, op } => {
                let text = format!(
                    "{}: {} (operation {}), but the rank has no storage server",
                    self.name(rank),
                    describe(&op.kind),
                    op.id.0
                );
                (FailureKind::NoServer, text)
            }
            Failure::Impossible {
                rank,
                server,
                bytes,
                capacity,
            } => {
                let text = format!(
                    "{}: a write of {bytes} B can never fit on storage server {server}, whose device has {capacity} B",
                    self.name(rank)
                );
                (FailureKind::WriteExceedsDevice, text)
            }
        }
    }
}

/// An operation in words.
pub(crate) fn describe(kind: &OpKind) -> String {
    let on = |comm: Comm| {
        if comm == Comm::WORLD {
            "(world)".to_owned()
        } else {
            format!("(communicator {})", comm.0)
        }
    };
    let source = |source: Source| match source {
        Source::Rank(rank) => rank.to_string(),
        Source::Any => "any".to_owned(),
    };
    let of_tag = |tag: Tag| match tag {
        Tag::Is(tag) => tag.to_string(),
        Tag::Any => "any".to_owned(),
    };
    match *kind {
        OpKind::Compute { duration } => format!("Compute {} s", duration.seconds()),
        OpKind::Send { to, tag, comm, .. } => format!("Send to {to} tag {tag} {}", on(comm)),
        OpKind::Isend { to, tag, comm, .. } => format!("Isend to {to} tag {tag} {}", on(comm)),
        OpKind::Recv { from, tag, comm, .. } => format!("Recv from {} tag {} {}", source(from), of_tag(tag), on(comm)),
        OpKind::Irecv { from, tag, comm, .. } => {
            format!("Irecv from {} tag {} {}", source(from), of_tag(tag), on(comm))
        }
        OpKind::Wait { request } => format!("Wait for request {}", request.0),
        OpKind::WaitAll { first, count } => format!("WaitAll for {count} requests from {}", first.0),
        OpKind::Collective(Collective::Barrier { comm }) => format!("Barrier {}", on(comm)),
        OpKind::Collective(Collective::Broadcast { comm, root, bytes }) => {
            format!("Broadcast of {bytes} B from {root} {}", on(comm))
        }
        OpKind::Collective(Collective::Allreduce { comm, bytes, .. }) => format!("Allreduce of {bytes} B {}", on(comm)),
        OpKind::Open { file } => format!("Open file {file}"),
        OpKind::Close { file } => format!("Close file {file}"),
        OpKind::Read { file, offset, bytes } => format!("Read {bytes} B at {offset} of file {file}"),
        OpKind::Write { file, offset, bytes } => format!("Write {bytes} B at {offset} of file {file}"),
        OpKind::Iread {
            file, offset, bytes, ..
        } => format!("Iread {bytes} B at {offset} of file {file}"),
        OpKind::Iwrite {
            file, offset, bytes, ..
        } => format!("Iwrite {bytes} B at {offset} of file {file}"),
        OpKind::Mark { iteration } => format!("Mark of iteration {iteration}"),
    }
}

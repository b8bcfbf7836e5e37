//! Unmatched leftovers: what programs have left behind when all ranks have come to their end.
//!
//! Before `MPI_Finalize` a process completes what it has begun and receives what was sent to it (MPI 4.1, section
//! 11.2.2), so that each of these is an error of the program:
//!
//! | left behind | is named by |
//! |---|---|
//! | a receive that got no message, waited for or not | rank, operation, source, tag |
//! | a message that was never received | receiver, sender, tag, size |
//! | a non-blocking collective that did not complete, as not all members called it | rank, operation |
//! | a request that is complete, and was neither waited for nor freed | rank, operation, number |
//!
//! Persistent requests that are idle, communicators that were not freed and files that were not closed hold up nobody,
//! and do not count.

use crate::Hosts;
use crate::diagnosis::describe::{describe_communicator, describe_operation};
use crate::diagnosis::run_state::RunState;
use crate::mpi::matching::Poster;
use crate::mpi::request::RequestKind;
use crate::mpi::sequence::{communicator, of_collective};
use odonata_workload::{Op, OpId, Source, Tag};

/// The most of them that are described.
const MOST_DESCRIBED: usize = 5;

/// Something that was left behind; the first of these kinds explain the others. Ranks count over all jobs, sources are
/// ranks of the job.
#[derive(Clone, Copy, Debug)]
enum Leftover {
    Receive {
        rank: u32,
        op: OpId,
        source: Source,
        tag: Tag,
        context: u32,
    },
    Message {
        rank: u32,
        source: u32,
        tag: u32,
        context: u32,
        bytes: u64,
    },
    Collective {
        rank: u32,
        op: Op,
    },
    Request {
        rank: u32,
        op: u32,
        number: u32,
        kind: RequestKind,
    },
}

impl Leftover {
    /// By kind, then by rank; those of one rank are in an order of their own.
    fn place(&self) -> (u8, u32) {
        match *self {
            Leftover::Receive { rank, .. } => (0, rank),
            Leftover::Message { rank, .. } => (1, rank),
            Leftover::Collective { rank, .. } => (2, rank),
            Leftover::Request { rank, .. } => (3, rank),
        }
    }
}

impl RunState<'_> {
    /// What the programs have left behind, in words; to be asked when all ranks have come to their end and no event is
    /// left. `None` if they have left nothing.
    pub(crate) fn describe_leftovers(&self) -> Option<String> {
        let mut leftovers: Vec<Leftover> = self.parts().iter().flat_map(|part| part.leftovers()).collect();
        leftovers.sort_by_key(Leftover::place);
        let any = self.any();
        let mut texts: Vec<String> = leftovers
            .iter()
            .take(MOST_DESCRIBED)
            .map(|leftover| any.describe_leftover(leftover))
            .collect();
        if leftovers.len() > MOST_DESCRIBED {
            texts.push(format!("and {} more", leftovers.len() - MOST_DESCRIBED));
        }
        (!texts.is_empty()).then(|| texts.join("; "))
    }
}

impl Hosts {
    /// What the ranks of this part have left behind.
    fn leftovers(&self) -> Vec<Leftover> {
        let mut list = Vec::new();
        let (matching, requests) = (&self.mpi.matching, &self.mpi.requests);
        for rank in matching.ranks() {
            // Those of collectives stand for their operation.
            let receives = matching
                .posted(rank)
                .filter(|receive| receive.poster == Poster::Receive);
            list.extend(receives.map(|receive| Leftover::Receive {
                rank,
                op: receive.op,
                source: receive.source,
                tag: receive.tag,
                context: receive.context,
            }));
            let messages = matching
                .unexpected(rank)
                .filter(|message| !of_collective(message.context));
            list.extend(messages.map(|message| Leftover::Message {
                rank,
                source: message.source,
                tag: message.tag,
                context: message.context,
                bytes: message.bytes,
            }));
            // One that is not complete waits for one of the others.
            let complete = requests.of_rank(rank).filter(|request| request.is_done());
            list.extend(complete.map(|request| Leftover::Request {
                rank,
                op: request.op,
                number: request.number,
                kind: request.kind,
            }));
        }
        let background = self.ranks.background();
        let mut collectives: Vec<(u32, Op)> = background.map(|activity| (activity.rank, activity.op)).collect();
        // Slots say nothing about the order of the calls.
        collectives.sort_unstable_by_key(|&(rank, op)| (rank, op.id));
        list.extend(
            collectives
                .into_iter()
                .map(|(rank, op)| Leftover::Collective { rank, op }),
        );
        list
    }

    fn describe_leftover(&self, leftover: &Leftover) -> String {
        match *leftover {
            Leftover::Receive {
                rank,
                op,
                source,
                tag,
                context,
            } => {
                let source = match source {
                    Source::Rank(source) => format!("rank {source}"),
                    Source::Any => "any rank".into(),
                };
                let tag = match tag {
                    Tag::Is(tag) => format!("tag {tag}"),
                    Tag::Any => "any tag".into(),
                };
                let (name, on) = (self.layout.name(rank), describe_communicator(communicator(context)));
                format!(
                    "{name}: a receive from {source} with {tag} {on} (operation {}) got no message",
                    op.0
                )
            }
            Leftover::Message {
                rank,
                source,
                tag,
                context,
                bytes,
            } => {
                let (name, on) = (self.layout.name(rank), describe_communicator(communicator(context)));
                format!("{name}: a message of {bytes} B from rank {source} with tag {tag} {on} was never received")
            }
            Leftover::Collective { rank, op } => {
                let (name, what) = (self.layout.name(rank), describe_operation(&op.kind));
                format!(
                    "{name}: {what} (operation {}) was not called by all of its ranks",
                    op.id.0
                )
            }
            Leftover::Request { rank, op, number, kind } => {
                let what = match kind {
                    RequestKind::Send => "a send",
                    RequestKind::Receive => "a receive",
                    RequestKind::Io => "a read or write",
                    RequestKind::Collective => "a non-blocking collective",
                    RequestKind::Nothing => "a message to or from no rank",
                };
                let name = self.layout.name(rank);
                format!("{name}: request {number}, {what} (operation {op}), was never waited for")
            }
        }
    }
}

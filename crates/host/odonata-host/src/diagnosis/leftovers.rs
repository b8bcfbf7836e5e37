//! Unmatched leftovers: unfinished communication after all ranks have ended.
//!
//! Before `MPI_Finalize`, a process completes its own communication and receives all messages sent to it (MPI 4.1,
//! section 11.2.2). Each leftover is therefore an error of the program:
//!
//! | leftover | described by |
//! |---|---|
//! | a receive without a message, waited for or not | rank, operation, source, tag |
//! | a message that was never received | receiver, sender, tag, size |
//! | an incomplete non-blocking collective, which not all members called | rank, operation |
//! | a complete request that was neither waited for nor freed | rank, operation, number |
//! | a complete one-sided access that no flush or other end of an epoch took | rank, operation |
//!
//! Idle persistent requests, communicators that were not freed, and open files block no rank and do not count.

use crate::diagnosis::PartState;
use crate::diagnosis::describe::{describe_communicator, describe_operation};
use crate::diagnosis::run_state::RunState;
use crate::mpi::matching::Poster;
use crate::mpi::request::kind::RequestKind;
use crate::mpi::sequence::{communicator, of_collective};
use odonata_engine::NIL;
use odonata_workload::{Op, OpId, Source, Tag};

const MOST_DESCRIBED: usize = 5;

/// A leftover. The first kinds explain the later ones. Rank numbers run over all jobs; sources are ranks of the job.
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
    /// Sort key: kind, then rank. The leftovers of one rank keep their order.
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
    /// Describes the leftovers of the programs; `None` if there are none. Valid when all ranks have ended and no event
    /// is left.
    pub(crate) fn describe_leftovers(&self) -> Option<String> {
        let mut leftovers: Vec<Leftover> = self.parts().flat_map(|part| part.leftovers()).collect();
        leftovers.sort_by_key(Leftover::place);
        let any = PartState(self.any());
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

impl PartState<'_> {
    /// The leftovers of the ranks of this part.
    fn leftovers(self) -> Vec<Leftover> {
        let mut list = Vec::new();
        let (matching, requests) = (&self.0.mpi.matching, &self.0.mpi.requests);
        for rank in matching.ranks() {
            // A receive of a collective is reported as its operation.
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
            // An incomplete request waits for one of the other leftovers.
            let complete = requests.of_rank(rank).filter(|request| request.is_done());
            list.extend(complete.map(|request| Leftover::Request {
                rank,
                op: request.op,
                number: request.number,
                kind: request.kind,
            }));
        }
        let mut collectives: Vec<(u32, Op)> = self.0.mpi.calls.background().collect();
        // The order of slots does not follow the order of calls.
        collectives.sort_unstable_by_key(|&(rank, op)| (rank, op.id));
        list.extend(
            collectives
                .into_iter()
                .map(|(rank, op)| Leftover::Collective { rank, op }),
        );
        list
    }

    fn describe_leftover(self, leftover: &Leftover) -> String {
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
                let (name, on) = (self.0.layout.name(rank), describe_communicator(communicator(context)));
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
                let (name, on) = (self.0.layout.name(rank), describe_communicator(communicator(context)));
                format!("{name}: a message of {bytes} B from rank {source} with tag {tag} {on} was never received")
            }
            Leftover::Collective { rank, op } => {
                let (name, what) = (self.0.layout.name(rank), describe_operation(&op.kind));
                format!(
                    "{name}: {what} (operation {}) was not called by all ranks of its communicator",
                    op.id.0
                )
            }
            Leftover::Request { rank, op, number, kind } => {
                let what = match kind {
                    RequestKind::Send => "a send",
                    RequestKind::Receive => "a receive",
                    RequestKind::Io => "a read or write",
                    RequestKind::Collective => "a non-blocking collective",
                    RequestKind::Access => "an access",
                    RequestKind::Nothing => "a message to or from no rank",
                };
                let name = self.0.layout.name(rank);
                if kind == RequestKind::Access && number == NIL {
                    return format!("{name}: {what} (operation {op}) was never flushed");
                }
                format!("{name}: request {number}, {what} (operation {op}), was never waited for")
            }
        }
    }
}

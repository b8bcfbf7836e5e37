//! Matching of receives and messages (MPI 4.1, section 3.5).
//!
//! A rank has posted receives and *unexpected* messages, which have no receive yet; no receive and message of the two
//! queues match. Receives are served in the order of posting, unexpected messages in the order of arrival.
//!
//! A message that has overtaken an earlier one of the same sender and context is *held* until the earlier one arrives.
//! In a rendezvous, the RTS is matched. A probe is queued like a receive, but leaves the message that it finds.

use crate::mpi::stamp::same_call;
use odonata_engine::{List, Mode, NIL, Pool, SparseStore};
use odonata_workload::{OpId, Source, Tag};

#[derive(Clone, Copy, Debug, Default, serde::Serialize, serde::Deserialize)]
pub(crate) struct Queues {
    /// Posted receives, in the order of posting.
    posted: List,
    /// Messages without a receive, in the order of arrival.
    unexpected: List,
    /// Messages that have overtaken an earlier one.
    held: List,
}

/// The origin of a posted receive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) enum Poster {
    /// The program.
    Receive,
    /// A probe of the program, which leaves the message for a receive.
    Probe,
    /// A collective: the receiving call, and the stamp that the message must carry.
    Collective { call: u32, stamp: u32 },
}

/// A receive or a probe.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct PostedReceive {
    /// A rank of the job.
    pub(crate) source: Source,
    /// The tag that a message must have to match.
    pub(crate) tag: Tag,
    pub(crate) context: u32,
    /// Size of the buffer.
    pub(crate) bytes: u64,
    /// The request that a matching message completes, or [`NIL`].
    pub(crate) request: u32,
    /// The operation of the program that posted it.
    pub(crate) op: OpId,
    pub(crate) poster: Poster,
    pub(crate) next: u32,
}

/// The envelope of an arrived message: the properties that matching compares.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct Envelope {
    /// Rank of the job.
    pub(crate) source: u32,
    pub(crate) tag: u32,
    pub(crate) context: u32,
    pub(crate) sequence: u32,
    pub(crate) bytes: u64,
    /// The sender's number of the rendezvous if the data have not been sent; [`NIL`]: the data have arrived.
    pub(crate) rendezvous: u32,
    pub(crate) next: u32,
}

impl Envelope {
    /// A message of `bytes` from rank `source` of the job with its tag, context and sequence number. `rendezvous`: the
    /// sender's number of it, or [`NIL`] with an eager message.
    #[inline]
    pub(crate) fn new(source: u32, (tag, context, sequence): (u32, u32, u32), bytes: u64, rendezvous: u32) -> Envelope {
        Envelope {
            source,
            tag,
            context,
            sequence,
            bytes,
            rendezvous,
            next: NIL,
        }
    }
}

odonata_engine::slots!(PostedReceive Envelope);

impl PostedReceive {
    /// Whether this receive matches `message`.
    #[inline]
    pub(super) fn takes(&self, message: &Envelope) -> bool {
        self.context == message.context
            && match self.source {
                Source::Any => true,
                Source::Rank(rank) => rank == message.source,
            }
            && match (self.poster, self.tag) {
                (Poster::Collective { stamp, .. }, _) => same_call(stamp, message.tag),
                (_, Tag::Any) => true,
                (_, Tag::Is(tag)) => tag == message.tag,
            }
    }
}

/// The matching of the ranks of a part.
#[derive(Debug)]
pub(crate) struct Matching {
    queues: SparseStore<Queues>,
    receives: Pool<PostedReceive>,
    /// Messages that wait for their receive or for a predecessor.
    messages: Pool<Envelope>,
}
odonata_engine::journalled!(Matching {
    queues,
    receives,
    messages
});

impl Matching {
    pub(crate) fn new(queues: SparseStore<Queues>) -> Self {
        Matching {
            queues,
            receives: Pool::new(),
            messages: Pool::new(),
        }
    }

    pub(crate) fn ranks(&self) -> impl Iterator<Item = u32> {
        self.queues.iter().map(|(rank, _)| rank)
    }

    /// Receives of `rank` without a message, in the order of posting.
    pub(crate) fn posted(&self, rank: u32) -> impl Iterator<Item = &PostedReceive> {
        let list = &self.queues.get(rank).posted;
        list.iter(&self.receives).map(|slot| self.receives.get(slot))
    }

    /// Messages of `rank` without a receive, in the order of arrival.
    pub(crate) fn unexpected(&self, rank: u32) -> impl Iterator<Item = &Envelope> {
        let list = &self.queues.get(rank).unexpected;
        list.iter(&self.messages).map(|slot| self.messages.get(slot))
    }

    /// Messages of `rank` that wait for a predecessor.
    pub(crate) fn held(&self, rank: u32) -> usize {
        self.queues.get(rank).held.iter(&self.messages).count()
    }

    /// Removes and returns the first unexpected message of `rank` that matches `receive`; without one, posts the
    /// receive.
    pub(super) fn post<M: Mode>(&mut self, rank: u32, receive: PostedReceive) -> Option<Envelope> {
        let mut unexpected = self.queues.get(rank).unexpected;
        if let Some(slot) = unexpected.remove_first::<M, _>(&mut self.messages, |message| receive.takes(message)) {
            self.queues.edit::<M>(rank).unexpected = unexpected;
            let message = *self.messages.get(slot);
            self.messages.free::<M>(slot);
            return Some(message);
        }
        let mut posted = self.queues.get(rank).posted;
        let slot = self.receives.allocate::<M>(receive);
        posted.push::<M, _>(&mut self.receives, slot);
        self.queues.edit::<M>(rank).posted = posted;
        None
    }

    /// Removes and returns the first posted receive or probe of `rank` that matches `message`; without one, queues the
    /// message as unexpected.
    pub(super) fn offer<M: Mode>(&mut self, rank: u32, message: Envelope) -> Option<PostedReceive> {
        let mut posted = self.queues.get(rank).posted;
        if let Some(slot) = posted.remove_first::<M, _>(&mut self.receives, |receive| receive.takes(&message)) {
            self.queues.edit::<M>(rank).posted = posted;
            let receive = *self.receives.get(slot);
            self.receives.free::<M>(slot);
            return Some(receive);
        }
        let mut unexpected = self.queues.get(rank).unexpected;
        let slot = self.messages.allocate::<M>(Envelope { next: NIL, ..message });
        unexpected.push::<M, _>(&mut self.messages, slot);
        self.queues.edit::<M>(rank).unexpected = unexpected;
        None
    }

    /// Holds a message that has overtaken an earlier one.
    pub(super) fn hold<M: Mode>(&mut self, rank: u32, message: Envelope) {
        let mut held = self.queues.get(rank).held;
        let slot = self.messages.allocate::<M>(message);
        held.push::<M, _>(&mut self.messages, slot);
        self.queues.edit::<M>(rank).held = held;
    }

    /// Releases the held message with number `sequence` from `source` in `context`, if it has arrived. Almost always,
    /// no message is held.
    #[inline]
    pub(super) fn release_held<M: Mode>(
        &mut self,
        rank: u32,
        source: u32,
        context: u32,
        sequence: u32,
    ) -> Option<Envelope> {
        let mut held = self.queues.get(rank).held;
        if held.is_empty() {
            return None;
        }
        let slot = held.remove_first::<M, _>(&mut self.messages, |message| {
            message.source == source && message.context == context && message.sequence == sequence
        })?;
        self.queues.edit::<M>(rank).held = held;
        let message = *self.messages.get(slot);
        self.messages.free::<M>(slot);
        Some(message)
    }
}

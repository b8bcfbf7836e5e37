//! Matching of receives and messages (MPI 4.1, section 3.5).
//!
//! A rank has posted receives and *unexpected* messages, which have no receive yet; no receive and message of the two
//! queues match. Receives are served in the order of posting, unexpected messages in the order of arrival.
//!
//! A message that has overtaken an earlier one of the same sender and context is *held* until the earlier one arrives.
//! In a rendezvous, the RTS is matched. A probe is queued like a receive, but leaves the message that it finds.

use crate::Hosts;
use crate::context::HostContext;
use crate::diagnosis::outcome::Failure;
use crate::lost::Dependent;
use crate::mpi::collective::same_call;
use crate::mpi::match_log::MatchRecord;
use crate::timeline::{Step, StepRecord};
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
    /// A collective: the receiving operation, and the stamp that the message must carry.
    Collective { activity: u32, stamp: u32 },
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

odonata_engine::slots!(PostedReceive Envelope);

impl PostedReceive {
    /// Whether this receive matches `message`.
    #[inline]
    fn takes(&self, message: &Envelope) -> bool {
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
    fn post<M: Mode>(&mut self, rank: u32, receive: PostedReceive) -> Option<Envelope> {
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
    fn offer<M: Mode>(&mut self, rank: u32, message: Envelope) -> Option<PostedReceive> {
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
    fn hold<M: Mode>(&mut self, rank: u32, message: Envelope) {
        let mut held = self.queues.get(rank).held;
        let slot = self.messages.allocate::<M>(message);
        held.push::<M, _>(&mut self.messages, slot);
        self.queues.edit::<M>(rank).held = held;
    }

    /// Releases the held message with number `sequence` from `source` in `context`, if it has arrived. Almost always,
    /// no message is held.
    #[inline]
    fn release_held<M: Mode>(&mut self, rank: u32, source: u32, context: u32, sequence: u32) -> Option<Envelope> {
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

impl Hosts {
    /// Posts a receive or probe of `rank`, which completes immediately if a message matches.
    pub(crate) fn post_receive<C: HostContext>(&mut self, ctx: &mut C, rank: u32, receive: PostedReceive) {
        if receive.request != NIL {
            self.ranks.lost.note::<C>(Dependent::Request(receive.request));
        }
        let matching = &mut self.mpi.matching;
        if receive.poster == Poster::Probe && matching.unexpected(rank).any(|message| receive.takes(message)) {
            self.complete(ctx, receive.request);
            return;
        }
        if let Some(message) = matching.post::<C>(rank, receive) {
            let before = self.ranks.lost.meets_earlier::<C>(rank, &message);
            self.matched(ctx, rank, &receive, &message);
            self.ranks.lost.is_now(before);
        }
    }

    /// Accepts a message that has arrived at `rank`, in or out of order. The caller lets the rank advance.
    pub(crate) fn accept<C: HostContext>(&mut self, ctx: &mut C, rank: u32, message: Envelope) {
        let Envelope { source, context, .. } = message;
        let sequences = &mut self.mpi.sequences;
        let pair = sequences.pair::<C>(&self.layout, rank, source, context);
        if message.sequence != sequences.get(pair).received {
            self.mpi.matching.hold::<C>(rank, message);
            self.ranks.lost.note::<C>(Dependent::envelope(rank, &message));
            return;
        }
        self.offer(ctx, rank, message);
        let mut sequence = message.sequence.wrapping_add(1);
        while let Some(next) = self.mpi.matching.release_held::<C>(rank, source, context, sequence) {
            let before = self.ranks.lost.current.clone();
            self.ranks.lost.takes::<C>(Dependent::envelope(rank, &next));
            self.offer(ctx, rank, next);
            self.ranks.lost.is_now(before);
            sequence = sequence.wrapping_add(1);
        }
        self.mpi.sequences.edit::<C>(pair).received = sequence;
    }

    /// Passes a message to the first matching receive, or queues it.
    fn offer<C: HostContext>(&mut self, ctx: &mut C, rank: u32, message: Envelope) {
        self.mpi.log.record::<C>(|| MatchRecord::Offered {
            rank,
            source: message.source,
            context: message.context,
            sequence: message.sequence,
        });
        while let Some(receive) = self.mpi.matching.offer::<C>(rank, message) {
            if receive.poster == Poster::Probe {
                self.complete(ctx, receive.request);
                continue;
            }
            let before = self.ranks.lost.meets_later::<C>(receive.request, &message);
            self.matched(ctx, rank, &receive, &message);
            self.ranks.lost.is_now(before);
            return;
        }
        self.ranks.lost.note::<C>(Dependent::envelope(rank, &message));
        if self.mpi.log.steps.is_on() {
            self.record_step(ctx, Step::Unexpected, rank, &message, (NIL, NIL, NIL));
        }
    }

    /// Records a step of `message` at `rank`, for the request numbered `request` of call `call`. Call `by` takes that
    /// request now.
    #[inline(never)]
    fn record_step<C: HostContext>(
        &mut self,
        ctx: &mut C,
        step: Step,
        rank: u32,
        message: &Envelope,
        (call, request, by): (u32, u32, u32),
    ) {
        let peer = self.layout.job_of(rank).first_rank + message.source;
        if self.mpi.log.steps.wants(rank, peer, ctx.now()) {
            self.mpi.log.steps.add::<C>(StepRecord {
                peer,
                context: message.context,
                sequence: message.sequence,
                call,
                ..StepRecord::of(step, rank, ctx.now()).with_request(request, by)
            });
        }
    }

    /// Handles the match of a receive and a message.
    fn matched<C: HostContext>(&mut self, ctx: &mut C, rank: u32, receive: &PostedReceive, message: &Envelope) {
        let Envelope {
            source,
            tag,
            context,
            sequence,
            bytes,
            ..
        } = *message;
        if receive.request != NIL {
            let requests = &self.mpi.requests;
            self.mpi.log.record::<C>(|| MatchRecord::Matched {
                rank,
                op: requests.get(receive.request).op,
                source,
                context,
                sequence,
            });
        }
        if self.mpi.log.steps.is_on() {
            let step = match message.rendezvous {
                NIL => Step::Matched,
                _ => Step::Asked,
            };
            let (number, by) = match receive.request {
                NIL => (NIL, NIL),
                request => (
                    self.mpi.requests.get(request).number,
                    self.mpi.requests.taker(&self.ranks, request),
                ),
            };
            let by = if step == Step::Matched { by } else { NIL };
            self.record_step(ctx, step, rank, message, (receive.op.0, number, by));
        }
        if receive.poster == Poster::Receive && receive.tag == Tag::Any {
            self.note_tag::<C>(rank, tag);
        }
        match receive.poster {
            Poster::Collective { activity, stamp } if tag != stamp || bytes != receive.bytes => {
                let op = self.ranks.activity(activity).op;
                self.fail(
                    ctx,
                    Failure::Mismatch {
                        rank,
                        op,
                        source,
                        stamp: tag,
                    },
                );
            }
            Poster::Receive if bytes > receive.bytes => {
                self.fail(
                    ctx,
                    Failure::Truncation {
                        rank,
                        source,
                        tag,
                        bytes,
                        buffer: receive.bytes,
                    },
                );
            }
            _ => {}
        }
        if message.rendezvous == NIL {
            self.complete(ctx, receive.request);
        } else {
            self.rendezvous_matched(ctx, rank, receive.request, message);
        }
    }
}

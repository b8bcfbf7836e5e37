//! Matching of receives and messages.
//!
//! A rank has receives that were posted and messages that nobody has asked for yet (*unexpected*), never
//! two that fit each other. Receives are served in the order in which they were posted, unexpected
//! messages in the order in which they came. A message that has overtaken an earlier one of the same
//! sender and context is *held* until that has come. Of a rendezvous, the RTS is what is matched. A probe stands
//! among the receives, and lets the message that it finds pass on.

use super::Hosts;
use super::collective::same_call;
use super::event::Outside;
use super::fact::Fact;
use super::outcome::Failure;
use odonata_engine::{List, NIL, Slot};
use odonata_workload::{Source, Tag};

/// The lists of one rank.
#[derive(Clone, Copy, Debug, Default, serde::Serialize, serde::Deserialize)]
pub(crate) struct Inbox {
    /// Receives, in the order of posting.
    pub(crate) posted: List,
    /// Messages without a receive, in the order of arrival.
    pub(crate) unexpected: List,
    /// Messages that have come too early.
    pub(crate) held: List,
    /// Numbered requests, in the order of the calls.
    pub(crate) requests: List,
}

/// For whom a receive is posted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) enum Reader {
    /// The program.
    Receive,
    /// The program, which wants to know of a message and leaves it for a receive.
    Probe,
    /// A collective: the operation that receives, and what the message must turn out to say.
    Collective { activity: u32, stamp: u32 },
}

/// A receive, or a probe.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct Posted {
    /// A rank of the job.
    pub(crate) source: Source,
    /// What the tag has to be for the message to match.
    pub(crate) tag: Tag,
    pub(crate) context: u32,
    /// Size of the buffer.
    pub(crate) bytes: u64,
    /// What is complete when a message is there, or [`NIL`].
    pub(crate) request: u32,
    pub(crate) reader: Reader,
    pub(crate) next: u32,
}

/// A message that waits for its receive or for a predecessor.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct Waiting {
    /// Rank of the job.
    pub(crate) source: u32,
    pub(crate) tag: u32,
    pub(crate) context: u32,
    pub(crate) sequence: u32,
    pub(crate) bytes: u64,
    /// Of a message whose data have not been sent: the sender's name for it. [`NIL`]: they are here.
    pub(crate) rendezvous: u32,
    pub(crate) next: u32,
}

impl Slot for Posted {
    fn next(&self) -> u32 {
        self.next
    }
    fn set_next(&mut self, next: u32) {
        self.next = next;
    }
}

impl Slot for Waiting {
    fn next(&self) -> u32 {
        self.next
    }
    fn set_next(&mut self, next: u32) {
        self.next = next;
    }
}

impl Posted {
    /// Whether it takes `message`.
    fn takes(&self, message: &Waiting) -> bool {
        self.context == message.context
            && match self.source {
                Source::Any => true,
                Source::Rank(rank) => rank == message.source,
            }
            && match (self.reader, self.tag) {
                (Reader::Collective { stamp, .. }, _) => same_call(stamp, message.tag),
                (_, Tag::Any) => true,
                (_, Tag::Is(tag)) => tag == message.tag,
            }
    }
}

impl Hosts {
    /// Posts a receive or probe of `rank`. It completes at once if a message is there.
    pub(crate) fn post<X: Outside>(&mut self, x: &mut X, rank: u32, receive: Posted) {
        if receive.reader == Reader::Probe {
            let mut slots = self.inboxes.get(rank).unexpected.iter(&self.waiting);
            let found = slots.any(|slot| receive.takes(self.waiting.get(slot)));
            drop(slots);
            if found {
                self.complete(x, receive.request);
                return;
            }
        }
        let mut unexpected = self.inboxes.get(rank).unexpected;
        if let Some(slot) = unexpected.remove_first::<X, _>(&mut self.waiting, |message| receive.takes(message)) {
            self.inboxes.edit::<X>(rank).unexpected = unexpected;
            let message = *self.waiting.get(slot);
            self.waiting.give::<X>(slot);
            self.take_message(x, rank, &receive, &message);
            return;
        }
        let mut posted = self.inboxes.get(rank).posted;
        let slot = self.posted.take::<X>(receive);
        posted.push::<X, _>(&mut self.posted, slot);
        self.inboxes.edit::<X>(rank).posted = posted;
    }

    /// A message for `rank` has arrived, early or in its turn. The caller lets the rank advance.
    pub(crate) fn accept<X: Outside>(&mut self, x: &mut X, rank: u32, message: Waiting) {
        let peer = self.peer::<X>(rank, message.source, message.context);
        if message.sequence != self.peers.get(peer).received {
            let mut held = self.inboxes.get(rank).held;
            let slot = self.waiting.take::<X>(message);
            held.push::<X, _>(&mut self.waiting, slot);
            self.inboxes.edit::<X>(rank).held = held;
            return;
        }
        self.offer(x, rank, message);
        let mut sequence = message.sequence.wrapping_add(1);
        // Almost always nothing is held.
        while !self.inboxes.get(rank).held.is_empty() {
            let mut held = self.inboxes.get(rank).held;
            let next = held.remove_first::<X, _>(&mut self.waiting, |m| {
                m.source == message.source && m.context == message.context && m.sequence == sequence
            });
            let Some(slot) = next else { break };
            self.inboxes.edit::<X>(rank).held = held;
            let successor = *self.waiting.get(slot);
            self.waiting.give::<X>(slot);
            self.offer(x, rank, successor);
            sequence = sequence.wrapping_add(1);
        }
        self.peers.edit::<X>(peer).received = sequence;
    }

    /// Gives a message to the first receive that takes it, or lets it wait for one.
    fn offer<X: Outside>(&mut self, x: &mut X, rank: u32, message: Waiting) {
        self.note::<X>(Fact::Offered {
            rank,
            source: message.source,
            context: message.context,
            sequence: message.sequence,
        });
        let mut posted = self.inboxes.get(rank).posted;
        while let Some(slot) = posted.remove_first::<X, _>(&mut self.posted, |receive| receive.takes(&message)) {
            self.inboxes.edit::<X>(rank).posted = posted;
            let receive = *self.posted.get(slot);
            self.posted.give::<X>(slot);
            if receive.reader == Reader::Probe {
                self.complete(x, receive.request);
                continue;
            }
            self.take_message(x, rank, &receive, &message);
            return;
        }
        let mut unexpected = self.inboxes.get(rank).unexpected;
        let slot = self.waiting.take::<X>(Waiting { next: NIL, ..message });
        unexpected.push::<X, _>(&mut self.waiting, slot);
        self.inboxes.edit::<X>(rank).unexpected = unexpected;
    }

    /// A receive and its message have met.
    fn take_message<X: Outside>(&mut self, x: &mut X, rank: u32, receive: &Posted, message: &Waiting) {
        let Waiting {
            source,
            tag,
            context,
            sequence,
            bytes,
            ..
        } = *message;
        if cfg!(test) && receive.request != NIL {
            let op = self.requests.get(receive.request).op;
            self.note::<X>(Fact::Matched {
                rank,
                op,
                source,
                context,
                sequence,
            });
        }
        if receive.reader == Reader::Receive && receive.tag == Tag::Any {
            self.note_tag::<X>(rank, tag);
        }
        match receive.reader {
            Reader::Collective { activity, stamp } if tag != stamp || bytes != receive.bytes => {
                let op = self.activities.get(activity).op;
                self.fail(
                    x,
                    Failure::Mismatch {
                        rank,
                        op,
                        source,
                        stamp: tag,
                    },
                );
            }
            Reader::Receive if bytes > receive.bytes => {
                self.fail(
                    x,
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
            self.complete(x, receive.request);
        } else {
            self.meet(x, rank, receive.request, message);
        }
    }
}

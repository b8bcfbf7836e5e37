//! Routing of messages between parts: an inbox for every part, and a send buffer for every other process.

use super::encoding;
use super::messages::{AntiMessage, Inbox, Messages, MessagesOf};
use super::sync::{CachePadded, Mutex, exclusive, lock};
use crate::{Key, Lp, Model, Time};

/// The destination of a part's messages.
pub(super) trait MessageSink<M: Model> {
    /// Sends a remote event for `lp` of `part`.
    fn event(&mut self, part: usize, lp: Lp, key: Key, event: M::RemoteEvent);
    /// Sends a remote update for `lp` of `part` that takes effect at `at`.
    fn update(&mut self, part: usize, lp: Lp, at: Time, update: M::RemoteUpdate);
    /// Cancels an earlier message to `part`.
    fn anti_message(&mut self, part: usize, anti_message: AntiMessage<M::RemoteUpdate>);
}

/// See the [module](self).
pub(super) struct MessageRouter<M: Model> {
    rank: u32,
    /// The process of each part.
    process_of: Vec<u32>,
    inboxes: Vec<CachePadded<Inbox<M::RemoteEvent, M::RemoteUpdate>>>,
    /// The send buffers of the processes, with [encoded](encoding) messages.
    process_buffers: Vec<Mutex<Vec<u8>>>,
}

impl<M: Model> MessageRouter<M> {
    pub(super) fn new(rank: usize, processes: usize, process_of: Vec<u32>) -> Self {
        MessageRouter {
            rank: rank as u32,
            inboxes: process_of.iter().map(|_| CachePadded::new(Inbox::new())).collect(),
            process_of,
            process_buffers: (0..processes).map(|_| Mutex::new(Vec::new())).collect(),
        }
    }

    /// Whether `part` is in this process.
    pub(super) fn is_local(&self, part: usize) -> bool {
        self.process_of[part] == self.rank
    }

    /// The time of the first message in transit to `part` that is known to this process.
    pub(super) fn earliest(&self, part: usize) -> Time {
        self.inboxes[part].earliest()
    }

    /// Receives the messages for `part`, a part of this process, into the empty `messages`.
    pub(super) fn receive(&self, part: usize, messages: &mut MessagesOf<M>) {
        self.inboxes[part].take(messages);
    }

    /// As [`receive`](Self::receive), for a single-threaded process.
    pub(super) fn receive_exclusive(&mut self, part: usize, messages: &mut MessagesOf<M>) {
        self.inboxes[part].take_exclusive(messages);
    }

    /// Routes at least one message for `part`, and leaves `messages` empty.
    fn route(&self, part: usize, messages: &mut MessagesOf<M>) {
        if self.is_local(part) {
            self.inboxes[part].put(messages);
            return;
        }
        self.inboxes[part].announce(messages.earliest());
        let mut buffer = lock(&self.process_buffers[self.process_of[part] as usize]);
        encoding::all(&mut buffer, messages);
    }

    /// Swaps the send buffers with empty ones; returns whether any held something.
    pub(super) fn swap_process_buffers(&self, process_buffers: &mut [Vec<u8>]) -> bool {
        for (buffer, here) in process_buffers.iter_mut().zip(&self.process_buffers) {
            std::mem::swap(buffer, &mut lock(here));
        }
        process_buffers.iter().any(|buffer| !buffer.is_empty())
    }

    /// Clears the times of messages in transit to other processes, after sending.
    pub(super) fn process_buffers_were_sent(&self) {
        for (part, inbox) in self.inboxes.iter().enumerate() {
            if !self.is_local(part) {
                inbox.forget();
            }
        }
    }
}

/// The message sink of a thread among others: collects messages per part and routes them in batches.
pub(super) struct BatchedSender<M: Model> {
    /// Per part.
    messages: Vec<MessagesOf<M>>,
    /// The parts with collected messages.
    parts: Vec<u32>,
    /// Number of messages routed.
    pub(super) sent: u64,
}

impl<M: Model> BatchedSender<M> {
    pub(super) fn new(parts: usize) -> Self {
        BatchedSender {
            messages: (0..parts).map(|_| Messages::new()).collect(),
            parts: Vec::new(),
            sent: 0,
        }
    }

    #[inline]
    fn messages(&mut self, part: usize) -> &mut MessagesOf<M> {
        let messages = &mut self.messages[part];
        if messages.is_empty() {
            self.parts.push(part as u32);
        }
        messages
    }

    /// Routes all collected messages.
    pub(super) fn flush(&mut self, router: &MessageRouter<M>) {
        for part in self.parts.drain(..) {
            let messages = &mut self.messages[part as usize];
            self.sent += (messages.events.len() + messages.updates.len() + messages.anti_messages.len()) as u64;
            router.route(part as usize, messages);
        }
    }
}

impl<M: Model> MessageSink<M> for BatchedSender<M> {
    #[inline]
    fn event(&mut self, part: usize, lp: Lp, key: Key, event: M::RemoteEvent) {
        self.messages(part).events.push((lp, key, event));
    }

    #[inline]
    fn update(&mut self, part: usize, lp: Lp, at: Time, update: M::RemoteUpdate) {
        self.messages(part).updates.push((lp, at, update));
    }

    fn anti_message(&mut self, part: usize, anti_message: AntiMessage<M::RemoteUpdate>) {
        self.messages(part).anti_message(anti_message);
    }
}

/// The message sink of a single-threaded process: puts messages directly into the inbox, without a lock.
pub(super) struct DirectSender<'a, M: Model> {
    pub(super) router: &'a mut MessageRouter<M>,
    /// Number of messages routed.
    pub(super) sent: &'a mut u64,
}

impl<M: Model> MessageSink<M> for DirectSender<'_, M> {
    #[inline]
    fn event(&mut self, part: usize, lp: Lp, key: Key, event: M::RemoteEvent) {
        *self.sent += 1;
        let here = self.router.is_local(part);
        let inbox = &mut *self.router.inboxes[part];
        let messages = inbox.open(key.time);
        if here {
            messages.events.push((lp, key, event));
        } else {
            let process = self.router.process_of[part] as usize;
            encoding::event(exclusive(&mut self.router.process_buffers[process]), lp, key, &event);
        }
    }

    #[inline]
    fn update(&mut self, part: usize, lp: Lp, at: Time, update: M::RemoteUpdate) {
        *self.sent += 1;
        let here = self.router.is_local(part);
        let inbox = &mut *self.router.inboxes[part];
        let messages = inbox.open(at);
        if here {
            messages.updates.push((lp, at, update));
        } else {
            let process = self.router.process_of[part] as usize;
            encoding::update(exclusive(&mut self.router.process_buffers[process]), lp, at, &update);
        }
    }

    fn anti_message(&mut self, part: usize, anti_message: AntiMessage<M::RemoteUpdate>) {
        *self.sent += 1;
        let here = self.router.is_local(part);
        let messages = self.router.inboxes[part].open(anti_message.time());
        if here {
            messages.anti_message(anti_message);
        } else {
            let process = self.router.process_of[part] as usize;
            encoding::anti_message(exclusive(&mut self.router.process_buffers[process]), &anti_message);
        }
    }
}

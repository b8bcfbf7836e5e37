//! Messages between parts, and the inboxes in which they wait.

use super::sync::{AtomicU64, Mutex, Ordering, exclusive, lock};
use crate::{Key, Lp, Model, Time};

/// A batch of messages: remote events with their keys, remote updates, and anti-messages for earlier messages.
#[derive(Debug)]
pub(super) struct Messages<E, U> {
    pub(super) events: Vec<(Lp, Key, E)>,
    pub(super) updates: Vec<(Lp, Time, U)>,
    /// Each with the number of remote events and remote updates sent before it.
    pub(super) anti_messages: Vec<(AntiMessage<U>, usize, usize)>,
}

/// An anti-message cancels an earlier message (Jefferson 1985).
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum AntiMessage<U> {
    /// The remote event with this receiver and key.
    Event(Lp, Key),
    /// One of the remote updates with this receiver, time and content.
    Update(Lp, Time, U),
}

/// One message of a batch.
#[derive(Clone, Copy, Debug)]
pub(super) enum Message<E, U> {
    Event(Lp, Key, E),
    Update(Lp, Time, U),
    AntiMessage(AntiMessage<U>),
}

impl<U> AntiMessage<U> {
    /// The time of the cancelled message.
    pub(super) fn time(&self) -> Time {
        match *self {
            AntiMessage::Event(_, key) => key.time,
            AntiMessage::Update(_, at, _) => at,
        }
    }
}

/// A batch of messages of a model.
pub(super) type MessagesOf<M> = Messages<<M as Model>::RemoteEvent, <M as Model>::RemoteUpdate>;

impl<E, U> Messages<E, U> {
    pub(super) const fn new() -> Self {
        Messages {
            events: Vec::new(),
            updates: Vec::new(),
            anti_messages: Vec::new(),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.events.is_empty() && self.updates.is_empty() && self.anti_messages.is_empty()
    }

    /// Adds an anti-message for an earlier message.
    pub(super) fn anti_message(&mut self, anti_message: AntiMessage<U>) {
        self.anti_messages
            .push((anti_message, self.events.len(), self.updates.len()));
    }

    /// Passes all messages to `each`, every anti-message after the message it cancels, and clears the batch.
    #[inline]
    pub(super) fn in_order(&mut self, mut each: impl FnMut(Message<E, U>)) {
        let (mut events, mut updates) = (self.events.drain(..), self.updates.drain(..));
        let (mut events_gone, mut updates_gone) = (0, 0);
        for (anti_message, events_before, updates_before) in self.anti_messages.drain(..) {
            for (lp, key, event) in events.by_ref().take(events_before - events_gone) {
                each(Message::Event(lp, key, event));
            }
            for (lp, at, update) in updates.by_ref().take(updates_before - updates_gone) {
                each(Message::Update(lp, at, update));
            }
            (events_gone, updates_gone) = (events_before, updates_before);
            each(Message::AntiMessage(anti_message));
        }
        events.for_each(|(lp, key, event)| each(Message::Event(lp, key, event)));
        updates.for_each(|(lp, at, update)| each(Message::Update(lp, at, update)));
    }

    /// Moves all messages of `other` here; copies nothing if this batch is empty.
    fn append(&mut self, other: &mut Self) {
        if self.is_empty() {
            std::mem::swap(self, other);
        } else {
            let (events, updates) = (self.events.len(), self.updates.len());
            let anti_messages = other.anti_messages.drain(..);
            self.anti_messages
                .extend(anti_messages.map(|(anti_message, p, t)| (anti_message, events + p, updates + t)));
            self.events.append(&mut other.events);
            self.updates.append(&mut other.updates);
        }
    }

    /// The time of the first message.
    pub(super) fn earliest(&self) -> Time {
        let events = self.events.iter().map(|(_, key, _)| key.time);
        let updates = self.updates.iter().map(|&(_, at, _)| at);
        let anti_messages = self.anti_messages.iter().map(|(anti_message, ..)| anti_message.time());
        events.chain(updates).chain(anti_messages).min().unwrap_or(Time::NEVER)
    }
}

/// Messages for one part. A part of this process receives them from here. For a part of another process only the
/// earliest time is stored.
#[derive(Debug)]
pub(super) struct Inbox<E, U> {
    messages: Mutex<Messages<E, U>>,
    /// The time of the first message here, or in transit to the other process. Written under the lock. Read between
    /// rounds, or by a thread that has seen the sender's clock set after it.
    earliest: AtomicU64,
}

impl<E, U> Inbox<E, U> {
    pub(super) fn new() -> Self {
        Inbox {
            messages: Mutex::new(Messages::new()),
            earliest: AtomicU64::new(Time::NEVER.0),
        }
    }

    pub(super) fn earliest(&self) -> Time {
        Time(self.earliest.load(Ordering::Relaxed))
    }

    /// Adds the nonempty `messages`, and clears them.
    pub(super) fn put(&self, messages: &mut Messages<E, U>) {
        let first = messages.earliest();
        let mut here = lock(&self.messages);
        here.append(messages);
        self.announce(first);
    }

    /// Records that a message for `first` is in transit.
    pub(super) fn announce(&self, first: Time) {
        self.earliest.fetch_min(first.0, Ordering::Relaxed);
    }

    /// Clears the earliest time.
    pub(super) fn forget(&self) {
        self.earliest.store(Time::NEVER.0, Ordering::Relaxed);
    }

    /// Swaps all messages into the empty `messages`; their memory is reused here.
    pub(super) fn take(&self, messages: &mut Messages<E, U>) {
        let mut here = lock(&self.messages);
        std::mem::swap(&mut *here, messages);
        self.forget();
    }

    /// As [`take`](Self::take), for a single-threaded process.
    pub(super) fn take_exclusive(&mut self, messages: &mut Messages<E, U>) {
        std::mem::swap(exclusive(&mut self.messages), messages);
        self.forget();
    }

    /// For a single-threaded process: notes the time of a message and returns the batch to put it into.
    #[inline]
    pub(super) fn open(&mut self, time: Time) -> &mut Messages<E, U> {
        if time < self.earliest() {
            self.earliest.store(time.0, Ordering::Relaxed);
        }
        exclusive(&mut self.messages)
    }
}

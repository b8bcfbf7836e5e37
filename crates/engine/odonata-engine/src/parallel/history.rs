//! The processed-event queue of a part: the data to roll back events, besides the undo logs of the model.

use super::input_queue::{InputMessage, Position};
use super::messages::AntiMessage;
use crate::core::{Core, due};
use crate::wheel::Scheduled;
use crate::{Context, Key, Lp, Mode, Model, Savepoint, Speculative, Time};
use std::collections::VecDeque;

/// One step that can be rolled back. Its effects are the last entries of the other queues of the [`History`].
#[derive(Clone, Copy, Debug)]
struct Entry<E> {
    cause: Cause<E>,
    position: Position,
    /// The part's time before the step.
    before: Time,
    /// Number of sequence numbers used.
    sequences: u32,
    /// Number of events queued in the part.
    queued: u32,
    /// Number of messages sent to other parts.
    sent: u32,
    halted: bool,
}

#[derive(Clone, Copy, Debug)]
enum Cause<E> {
    /// An event of the queue was handled.
    Event(Scheduled<E>),
    /// A message was received, and handled if it was a remote event.
    Message,
}

/// A message for a part of the model.
pub(super) type InputMessageOf<M> = InputMessage<<M as Model>::RemoteEvent, <M as Model>::RemoteUpdate>;

/// See the [module](self). Its entries are numbered by [`Savepoint`]s.
#[derive(Debug)]
pub(super) struct History<M: Model> {
    entries: VecDeque<Entry<M::Event>>,
    /// The savepoint of the next entry.
    next: Savepoint,
    messages: VecDeque<InputMessageOf<M>>,
    queued: VecDeque<(Lp, Key)>,
    /// The receiving part, and the anti-message.
    sent: VecDeque<(u32, AntiMessage<M::RemoteUpdate>)>,
    /// The part's `halted` before an entry changed it.
    halted: VecDeque<Option<(Time, u32)>>,
}

/// The result of a rollback: events to requeue, remove and cancel.
pub(super) struct RolledBack<M: Model> {
    /// Events and messages that are pending again, in reverse order.
    pub(super) events: Vec<Scheduled<M::Event>>,
    pub(super) messages: Vec<InputMessageOf<M>>,
    /// Events queued by the rolled-back steps.
    pub(super) queued: Vec<(Lp, Key)>,
    /// Anti-messages for messages sent to other parts, in reverse order.
    pub(super) sent: Vec<(u32, AntiMessage<M::RemoteUpdate>)>,
}

impl<M: Model> History<M> {
    pub(super) const fn new() -> Self {
        History {
            entries: VecDeque::new(),
            next: Savepoint(0),
            messages: VecDeque::new(),
            queued: VecDeque::new(),
            sent: VecDeque::new(),
            halted: VecDeque::new(),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Size in bytes.
    pub(super) fn memory(&self) -> usize {
        self.entries.len() * size_of::<Entry<M::Event>>()
            + self.messages.len() * size_of::<InputMessageOf<M>>()
            + self.queued.len() * size_of::<(Lp, Key)>()
            + self.sent.len() * size_of::<(u32, AntiMessage<M::RemoteUpdate>)>()
    }

    /// The position of the last entry.
    pub(super) fn last(&self) -> Option<Position> {
        self.entries.back().map(|entry| entry.position)
    }

    /// The position of the first entry.
    pub(super) fn first(&self) -> Option<Position> {
        self.entries.front().map(|entry| entry.position)
    }

    /// The position of the message that `anti_message` cancels, if it was received.
    pub(super) fn find(&self, anti_message: &AntiMessage<M::RemoteUpdate>) -> Option<Position> {
        // The last one: of two messages at the same position, the first was cancelled before the second was sent.
        let mut messages = self.messages.iter().rev();
        messages
            .find(|message| message.is_cancelled_by(anti_message))
            .map(InputMessage::position)
    }

    /// Begins an entry: the event `item` will be handled.
    #[inline]
    pub(super) fn begin_event(&mut self, item: Scheduled<M::Event>, core: &Core<M::Event>) {
        self.begin(Cause::Event(item), Position::event(item.rank()), core);
    }

    /// Begins an entry: `message` will be received.
    pub(super) fn begin_message(&mut self, message: InputMessageOf<M>, core: &Core<M::Event>) {
        self.messages.push_back(message);
        self.begin(Cause::Message, message.position(), core);
    }

    #[inline]
    fn begin(&mut self, cause: Cause<M::Event>, position: Position, core: &Core<M::Event>) {
        self.next.begin();
        self.next = self.next.later(1);
        self.entries.push_back(Entry {
            cause,
            position,
            before: core.now,
            sequences: 0,
            queued: 0,
            sent: 0,
            halted: false,
        });
    }

    /// Records in the current entry that a message was sent to `part`, with its anti-message.
    pub(super) fn sent(&mut self, part: usize, anti_message: AntiMessage<M::RemoteUpdate>) {
        let entry = self.entries.back_mut().expect("an entry is under way");
        entry.sent += 1;
        entry.sequences += u32::from(matches!(anti_message, AntiMessage::Event(..)));
        self.sent.push_back((part as u32, anti_message));
    }

    /// Fossil collection: drops the entries before `bound`, which are final. Returns how many of them were events, and
    /// the first savepoint that can still be restored.
    pub(super) fn fossil_collect(&mut self, bound: Time) -> (u64, Savepoint) {
        let (mut events, mut messages, mut queued, mut sent, mut halted) = (0, 0, 0, 0, 0);
        let mut count = 0;
        for entry in self.entries.iter().take_while(|entry| entry.position.time < bound) {
            count += 1;
            queued += entry.queued as usize;
            sent += entry.sent as usize;
            halted += usize::from(entry.halted);
            messages += usize::from(matches!(entry.cause, Cause::Message));
            events += u64::from(entry.position.is_event());
        }
        self.entries.drain(..count);
        self.messages.drain(..messages);
        self.queued.drain(..queued);
        self.sent.drain(..sent);
        self.halted.drain(..halted);
        let first = Savepoint(self.next.0.wrapping_sub(self.entries.len() as u32));
        (events, first)
    }

    /// Rolls back the entries after `position`, and those at it if `including`. Restores everything except the state of
    /// the model, which the caller must undo from the returned savepoint on, and the contents of `undone`.
    pub(super) fn roll_back(
        &mut self,
        position: Position,
        including: bool,
        core: &mut Core<M::Event>,
        undone: &mut RolledBack<M>,
    ) -> Savepoint {
        while let Some(entry) = self.entries.back()
            && (entry.position > position || (including && entry.position == position))
        {
            let lp = match entry.cause {
                Cause::Event(item) => {
                    undone.events.push(item);
                    item.lp
                }
                Cause::Message => {
                    let message = self.messages.pop_back().expect("an entry of a message has one");
                    undone.messages.push(message);
                    message.lp()
                }
            };
            core.sequences.roll_back(lp, entry.sequences);
            core.now = entry.before;
            if entry.halted {
                core.halted = self
                    .halted
                    .pop_back()
                    .expect("an entry that halts says what was before");
            }
            let from = self.queued.len() - entry.queued as usize;
            undone.queued.extend(self.queued.drain(from..));
            let from = self.sent.len() - entry.sent as usize;
            undone.sent.extend(self.sent.drain(from..));
            self.next = Savepoint(self.next.0.wrapping_sub(1));
            self.entries.pop_back();
        }
        self.next
    }
}

impl<M: Model> RolledBack<M> {
    pub(super) const fn new() -> Self {
        RolledBack {
            events: Vec::new(),
            messages: Vec::new(),
            queued: Vec::new(),
            sent: Vec::new(),
        }
    }
}

/// The scheduling context of a handler whose event may be rolled back.
pub(super) struct SpeculativeContext<'a, M: Model> {
    pub(super) core: &'a mut Core<M::Event>,
    pub(super) history: &'a mut History<M>,
}

impl<M: Model> Mode for SpeculativeContext<'_, M> {
    const JOURNAL: bool = Speculative::JOURNAL;
}

impl<M: Model> Context for SpeculativeContext<'_, M> {
    type Event = M::Event;

    #[inline(always)]
    fn now(&self) -> Time {
        self.core.now
    }

    #[inline(always)]
    fn now_of(&self, _: Lp) -> Time {
        self.core.now
    }

    #[inline(always)]
    fn handled_before(&self) -> Time {
        self.core.now
    }

    #[inline]
    fn send(&mut self, to: Lp, at: Time, event: M::Event) {
        self.assert_possible(to, at);
        let key = self.core.sequences.key(self.core.lp, at);
        self.queue(to, key, event, 1);
    }

    #[inline]
    fn wake_up(&mut self, lp: Lp, at: Time, id: u32, event: M::Event) {
        self.assert_possible(lp, at);
        let key = Key {
            time: due(at),
            sender: Key::WAKE_UP,
            sequence: id,
        };
        self.queue(lp, key, event, 0);
    }

    #[cold]
    fn halt(&mut self, code: u32) {
        let entry = self.history.entries.back_mut().expect("an entry is under way");
        if !entry.halted {
            entry.halted = true;
            self.history.halted.push_back(self.core.halted);
        }
        self.core.halt(code);
    }
}

impl<M: Model> SpeculativeContext<'_, M> {
    /// In an impossible state, a handler may send to any LP. The panic is rolled back with the event.
    #[inline]
    fn assert_possible(&self, to: Lp, at: Time) {
        assert!(at > self.core.now, "an event must lie strictly in the future");
        assert!(self.core.is_own(to), "an event for an LP of another part");
    }

    #[inline]
    fn queue(&mut self, to: Lp, key: Key, event: M::Event, sequences: u32) {
        let entry = self.history.entries.back_mut().expect("an entry is under way");
        entry.sequences += sequences;
        entry.queued += 1;
        self.history.queued.push_back((to, key));
        self.core.queue.push(Scheduled::new(to, key, event));
    }
}

//! Optimistic synchronization: a part handles events beyond its window and rolls back those that were too early (Time
//! Warp; Jefferson, "Virtual time", TOPLAS 7, 1985).
//!
//! Events beyond the window are recorded in a [`History`], and their state changes in the undo logs of the model. A
//! *straggler* is a message for a position in the order that the part has passed. When a straggler arrives, or an
//! anti-message for a received message, the part rolls back to that position: it undoes the state, requeues events and
//! messages, and cancels sent messages by anti-messages. The end of the window takes the role of GVT: everything before
//! it is final. It can differ from part to part, and is never earlier than the global minimum.
//!
//! A handler that runs too early may see an impossible state, such as an answer without its question. A panic there is
//! rolled back like the event, which is handled again in its window. A panic inside the window is real.
//!
//! The speculation distance adapts: it grows while rollbacks are rare, and is halved otherwise.

use super::executor::Executor;
use super::history::{History, InputMessageOf, RolledBack, SpeculativeContext};
use super::input_queue::{InputMessage, InputQueue, Position};
use super::message_router::MessageSink;
use super::messages::{AntiMessage, Message, MessagesOf};
use crate::{Lp, Model, Partition, SendBuffer, Time};
use odonata_units::catch_panic;

/// Bounds of the optimistic scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Optimism {
    /// A part speculates while it has handled fewer events than this in the round, including earlier events that can
    /// still be rolled back.
    pub events_per_round: u32,
    /// Maximum size of histories and undo logs of a process in bytes, to within a few events of each part. A part that
    /// has used its share waits for its window.
    pub journal: u64,
}

/// Bounds of the speculation distance, in events: minimum and initial value.
const LEAST_DISTANCE: usize = 4;
const INITIAL_DISTANCE: usize = 64;
/// Events between two checks of the memory in use.
const CHECK_MEMORY_EVERY: usize = 64;

/// The optimistic state of a part: pending messages, history and adaptive distance.
pub(super) struct Speculation<M: Model> {
    input_queue: InputQueue<M::RemoteEvent, M::RemoteUpdate>,
    history: History<M>,
    undone: RolledBack<M>,
    /// The current speculation distance in events, and its upper bound.
    distance: usize,
    most_distance: usize,
    /// Maximum bytes of history and undo log.
    journal: usize,
    /// The position at which a handler has panicked. It is retried only after another message has arrived.
    panicked_at: Option<Position>,
    /// Entries done and rolled back since the last adaptation of the distance.
    done: usize,
    back: usize,
    pub(super) counts: Counts,
}

/// Counters of the optimistic scheduler.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    pub(super) speculated: u64,
    pub(super) rolled_back: u64,
    pub(super) rollbacks: u64,
    pub(super) anti_messages: u64,
    pub(super) peak_bytes: u64,
}

impl<M: Model> Speculation<M> {
    /// For one of the `parts` parts of a process.
    pub(super) fn new(optimism: Optimism, parts: usize) -> Self {
        let most_distance = (optimism.events_per_round as usize).max(1);
        Speculation {
            input_queue: InputQueue::new(),
            history: History::new(),
            undone: RolledBack::new(),
            distance: INITIAL_DISTANCE.min(most_distance),
            most_distance,
            journal: (optimism.journal / parts as u64) as usize,
            panicked_at: None,
            done: 0,
            back: 0,
            counts: Counts::default(),
        }
    }

    /// Whether nothing can be rolled back.
    pub(super) fn is_final(&self) -> bool {
        self.history.is_empty()
    }

    /// Whether nothing can be rolled back and the model has received all messages.
    pub(super) fn is_quiescent(&self) -> bool {
        self.history.is_empty() && self.input_queue.is_empty()
    }

    /// The time of the first message that the model has not received.
    pub(super) fn next_time(&self) -> Option<Time> {
        self.input_queue.next_time()
    }

    /// Clears everything after the state of the model was replaced.
    pub(super) fn clear(&mut self) {
        assert!(self.is_final(), "nothing is loaded into the middle of a speculation");
        self.input_queue.clear();
        self.panicked_at = None;
    }

    /// Receives `messages` in the order of sending, and clears them. A message before `safe` can only be cancelled by
    /// an anti-message in the same batch.
    pub(super) fn receive_all(
        &mut self,
        executor: &mut Executor<M>,
        messages: &mut MessagesOf<M>,
        safe: Time,
        sink: &mut impl MessageSink<M>,
    ) {
        if messages.is_empty() {
            return;
        }
        self.panicked_at = None;
        // Without speculation, the model receives final messages at once: the usual case.
        let known = match self.is_final() && messages.anti_messages.is_empty() {
            true => safe,
            false => Time::ZERO,
        };
        messages.in_order(|sent| match sent {
            Message::Event(lp, key, remote) => self.add(executor, InputMessage::Event(lp, key, remote), known, sink),
            Message::Update(lp, at, update) => self.add(executor, InputMessage::Update(lp, at, update), known, sink),
            Message::AntiMessage(anti_message) => self.anti_message(executor, &anti_message, sink),
        });
        self.input_queue.sort();
    }

    #[inline]
    fn add(
        &mut self,
        executor: &mut Executor<M>,
        input: InputMessageOf<M>,
        known: Time,
        sink: &mut impl MessageSink<M>,
    ) {
        let position = input.position();
        executor.assert_not_late(input.lp(), position.time);
        if position.time < known {
            deliver_one(executor, input);
            return;
        }
        if self.history.last().is_some_and(|last| last > position) {
            self.roll_back(executor, position, false, sink);
        }
        self.input_queue.add(input);
    }

    fn anti_message(
        &mut self,
        executor: &mut Executor<M>,
        anti_message: &AntiMessage<M::RemoteUpdate>,
        sink: &mut impl MessageSink<M>,
    ) {
        if self.input_queue.remove(anti_message) {
            return;
        }
        let position = self
            .history
            .find(anti_message)
            .expect("what is cancelled has come before");
        self.roll_back(executor, position, true, sink);
        assert!(
            self.input_queue.remove(anti_message),
            "a message that is rolled back is pending again"
        );
    }

    /// Rolls back to after `position`, or to before it if `including`.
    fn roll_back(
        &mut self,
        executor: &mut Executor<M>,
        position: Position,
        including: bool,
        sink: &mut impl MessageSink<M>,
    ) {
        let length = self.history.len();
        let Executor { model, core, .. } = executor;
        let undone = &mut self.undone;
        let savepoint = self.history.roll_back(position, including, core, undone);
        model.undo(savepoint);
        // First requeue pending items: some were queued by a rolled-back event and are removed below.
        for item in undone.events.drain(..) {
            core.queue.push(item);
            self.counts.rolled_back += 1;
        }
        core.queue.remove_all(undone.queued.drain(..));
        for message in undone.messages.drain(..) {
            self.counts.rolled_back += u64::from(message.position().is_event());
            self.input_queue.add(message);
        }
        self.counts.anti_messages += undone.sent.len() as u64;
        for (part, anti_message) in undone.sent.drain(..) {
            sink.anti_message(part as usize, anti_message);
        }
        self.counts.rollbacks += 1;
        self.back += length - self.history.len();
    }

    /// Commits the entries before `safe`. Returns whether everything is committed.
    pub(super) fn commit(&mut self, executor: &mut Executor<M>, safe: Time) -> bool {
        if self.history.first().is_none_or(|first| first.time >= safe) {
            return self.is_final();
        }
        let (events, savepoint) = self.history.fossil_collect(safe);
        executor.core.events += events;
        match self.is_final() {
            true => executor.model.commit(),
            false => executor.model.fossil_collect(savepoint),
        }
        self.is_final()
    }

    /// Passes all messages before `safe` to the model. Only while nothing can be rolled back.
    pub(super) fn deliver(&mut self, executor: &mut Executor<M>, safe: Time) {
        debug_assert!(self.is_final());
        while self.input_queue.next_time().is_some_and(|time| time < safe)
            && let Some(input) = self.input_queue.pop()
        {
            deliver_one(executor, input);
        }
    }

    /// Speculates: handles events before `limit`, after `events` events in the window of this round.
    pub(super) fn speculate(
        &mut self,
        executor: &mut Executor<M>,
        limit: Time,
        events: u64,
        most: u64,
        partition: &Partition,
        sink: &mut impl MessageSink<M>,
    ) {
        self.adapt();
        let distance = self.distance.saturating_sub(events as usize);
        let before = self.history.len();
        let distance = distance.min(before.saturating_add(most as usize));
        let caught = catch_panic(|| {
            while self.history.len() < distance
                && (!self.history.len().is_multiple_of(CHECK_MEMORY_EVERY) || self.has_memory(&executor.model))
                && self.step(executor, limit, partition, sink)
            {}
        });
        if caught.is_err() {
            let position = self.history.last().expect("an event was under way");
            *executor.model.send_buffer() = SendBuffer::new();
            self.roll_back(executor, position, true, sink);
            self.input_queue.sort();
            self.panicked_at = Some(position);
        }
        self.done += self.history.len().saturating_sub(before);
        self.has_memory(&executor.model);
    }

    /// Whether the memory bound allows another event.
    fn has_memory(&mut self, model: &M) -> bool {
        if self.history.is_empty() {
            return true;
        }
        let bytes = self.history.memory() + model.logged();
        self.counts.peak_bytes = self.counts.peak_bytes.max(bytes as u64);
        bytes < self.journal
    }

    /// Adapts the distance to the share of events that were rolled back.
    fn adapt(&mut self) {
        if self.done < self.distance / 2 && self.back < LEAST_DISTANCE {
            return;
        }
        if self.back * 8 > self.done {
            self.distance = (self.distance / 2).max(LEAST_DISTANCE.min(self.most_distance));
        } else if self.back * 32 <= self.done {
            self.distance = (self.distance + self.distance / 8 + 1).min(self.most_distance);
        }
        (self.done, self.back) = (0, 0);
    }

    /// Handles the first event or message; `false` if it is not before `limit`, or panicked before.
    fn step(
        &mut self,
        executor: &mut Executor<M>,
        limit: Time,
        partition: &Partition,
        sink: &mut impl MessageSink<M>,
    ) -> bool {
        let Executor { model, core, .. } = executor;
        let event = core.queue.peek_before(limit).map(|item| Position::event(item.rank()));
        let message = self
            .input_queue
            .first()
            .map(InputMessage::position)
            .filter(|position| position.time < limit);
        let is_message = match (event, message) {
            (_, None) => false,
            (None, Some(_)) => true,
            (Some(event), Some(message)) => message < event,
        };
        let first = if is_message { message } else { event };
        if first.is_none() || first == self.panicked_at {
            return false;
        }
        let (lp, time, event) = if is_message {
            let input = self.input_queue.pop().expect("there is a first");
            self.history.begin_message(input, core);
            core.lp = Lp::MAX;
            let history = &mut self.history;
            match input {
                InputMessage::Update(lp, at, update) => {
                    model.apply_update(&mut SpeculativeContext { core, history }, lp, at, update);
                    return true;
                }
                InputMessage::Event(lp, key, remote) => {
                    let event = model.receive_event(&mut SpeculativeContext { core, history }, lp, remote);
                    (lp, key.time, event)
                }
            }
        } else {
            let item = core.queue.pop().expect("there is a first");
            self.history.begin_event(item, core);
            (item.lp, item.time, item.event)
        };
        self.counts.speculated += 1;
        core.now = time;
        core.lp = lp;
        let history = &mut self.history;
        model.handle(&mut SpeculativeContext { core, history }, lp, event);
        if !model.send_buffer().is_empty() {
            executor.send_remote(partition, sink, true, |part, anti_message| {
                self.history.sent(part, anti_message)
            });
        }
        true
    }
}

/// Passes a message to the model.
#[inline]
fn deliver_one<M: Model>(executor: &mut Executor<M>, input: InputMessageOf<M>) {
    match input {
        InputMessage::Event(lp, key, remote) => executor.receive(lp, key, remote),
        InputMessage::Update(lp, at, update) => executor.accept(lp, at, update),
    }
}

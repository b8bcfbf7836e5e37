//! A part under a parallel scheduler: receives messages, handles events, sends messages.

use super::executor::Executor;
use super::message_router::MessageSink;
use super::messages::MessagesOf;
use super::speculation::{Counts, Optimism, Speculation};
use crate::saved::{Damaged, Loader, Saver};
use crate::scheduler::PartView;
use crate::{Model, Partition, Saved, Time};

/// See the [module](self).
pub(super) struct Part<M: Model> {
    executor: Executor<M>,
    /// Used by the optimistic scheduler.
    speculation: Option<Speculation<M>>,
}

/// The bounds of a part's work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Window {
    /// No message for an earlier time can arrive.
    pub(super) safe: Time,
    /// Speculation ends here.
    pub(super) limit: Time,
    /// Maximum number of events before the part publishes its clock.
    pub(super) most: u64,
}

impl<M: Model> Part<M> {
    /// Starts the LPs of `model`, part `number` of the partition. The parts of a process, `parts` in number, share the
    /// memory bound of `optimism`.
    pub(super) fn new(model: M, number: usize, buckets: usize, optimism: Option<Optimism>, parts: usize) -> Part<M> {
        Part {
            executor: Executor::new(model, number, buckets),
            speculation: optimism.map(|optimism| Speculation::new(optimism, parts)),
        }
    }

    /// Does the part's share of a round: receives `messages`, clears them, and handles events.
    pub(super) fn work(
        &mut self,
        window: Window,
        messages: &mut MessagesOf<M>,
        partition: &Partition,
        sink: &mut impl MessageSink<M>,
    ) {
        let Window { safe, limit, most } = window;
        let Some(speculation) = &mut self.speculation else {
            self.receive_all(messages);
            self.executor.run(safe, most, partition, sink);
            self.executor.done = self.executor.done.max(safe);
            return;
        };
        let executor = &mut self.executor;
        speculation.receive_all(executor, messages, safe, sink);
        let mut events = 0;
        // While something can be rolled back, all events of the window were handled speculatively.
        if speculation.commit(executor, safe) {
            speculation.deliver(executor, safe);
            events = executor.run(safe, most, partition, sink);
        }
        executor.done = executor.done.max(safe);
        if limit > safe && events < most {
            speculation.speculate(executor, limit, events, most, partition, sink);
        }
    }

    /// Passes all `messages` to the model, and clears them.
    fn receive_all(&mut self, messages: &mut MessagesOf<M>) {
        debug_assert!(messages.anti_messages.is_empty());
        for (lp, key, event) in messages.events.drain(..) {
            self.executor.assert_not_late(lp, key.time);
            self.executor.receive(lp, key, event);
        }
        for (lp, at, update) in messages.updates.drain(..) {
            self.executor.assert_not_late(lp, at);
            self.executor.accept(lp, at, update);
        }
    }

    /// Quiesces the part at the end of a run, when no event is due or nothing can be rolled back: commits everything,
    /// and passes all `messages` to the model.
    pub(super) fn quiesce(&mut self, messages: &mut MessagesOf<M>, sink: &mut impl MessageSink<M>) {
        let Some(speculation) = &mut self.speculation else {
            return self.receive_all(messages);
        };
        speculation.commit(&mut self.executor, Time::NEVER);
        // Messages cancelled now were not received yet, so nothing is sent.
        speculation.receive_all(&mut self.executor, messages, Time::ZERO, sink);
        speculation.deliver(&mut self.executor, Time::NEVER);
    }

    /// The time of the next event, or of a message that the model has not received.
    pub(super) fn next(&self) -> Time {
        let event = self.executor.core.queue.next_time().unwrap_or(Time::NEVER);
        let message = self.speculation.as_ref().and_then(Speculation::next_time);
        message.map_or(event, |message| message.min(event))
    }

    /// No message for an earlier time can arrive.
    pub(super) fn done(&self) -> Time {
        self.executor.done
    }

    /// The time of the last event handled.
    pub(super) fn now(&self) -> Time {
        self.executor.core.now
    }

    /// Number of committed events.
    pub(super) fn events(&self) -> u64 {
        self.executor.core.events
    }

    /// Whether nothing can be rolled back.
    pub(super) fn is_final(&self) -> bool {
        self.speculation.as_ref().is_none_or(Speculation::is_final)
    }

    /// Counters of its speculation.
    pub(super) fn counts(&self) -> Counts {
        self.speculation
            .as_ref()
            .map_or(Counts::default(), |speculation| speculation.counts)
    }

    /// When the part first halted the run, and with which code. Speculation may roll this back.
    pub(super) fn halted(&self) -> Option<(Time, u32)> {
        self.executor.core.halted
    }

    /// A view of the part, without messages that are still in inboxes.
    pub(super) fn view(&self) -> PartView<'_, M> {
        PartView {
            model: &self.executor.model,
            events: Box::new(self.executor.core.queue.iter().map(|item| &item.event)),
            remote_events: Box::new(std::iter::empty()),
        }
    }

    pub(super) fn into_model(self) -> M {
        self.executor.model
    }
}

/// Only between runs, when nothing can be rolled back and the model has received all messages.
impl<M: Model> Saved for Part<M> {
    fn save(&self, to: &mut Saver<'_>) {
        assert!(self.speculation.as_ref().is_none_or(Speculation::is_quiescent));
        self.executor.save(to);
    }

    fn load(&mut self, from: &mut Loader<'_>) -> Result<(), Damaged> {
        if let Some(speculation) = &mut self.speculation {
            speculation.clear();
        }
        self.executor.load(from)
    }
}

//! The event executor of a part: the model with its event queue. Its events are never rolled back.

use super::message_router::MessageSink;
use super::messages::AntiMessage;
use crate::core::{Core, Stop};
use crate::saved::{Damaged, Loader, Saver};
use crate::wheel::Scheduled;
use crate::{Key, Lp, Model, Partition, Saved, Time};

/// See the [module](self).
pub(super) struct Executor<M: Model> {
    pub(super) model: M,
    pub(super) core: Core<M::Event>,
    /// The number of the part.
    number: usize,
    /// No message for an earlier time can arrive.
    pub(super) done: Time,
}

impl<M: Model> Executor<M> {
    /// Starts the LPs of `model`, part `number` of the partition.
    pub(super) fn new(mut model: M, number: usize, buckets: usize) -> Executor<M> {
        let core = Core::start(&mut model, buckets);
        assert!(
            model.send_buffer().is_empty(),
            "a part sends nothing to others before its first event"
        );
        Executor {
            model,
            core,
            number,
            done: Time::ZERO,
        }
    }

    /// Panics if a message for `lp` at `at` is late.
    #[inline]
    pub(super) fn assert_not_late(&self, lp: Lp, at: Time) {
        let done = self.done;
        assert!(
            at >= done,
            "LP {lp} is sent something for {at:?} when it is at {done:?}: sooner than the lookahead of the partition"
        );
    }

    /// Receives a remote event.
    #[inline]
    pub(super) fn receive(&mut self, lp: Lp, key: Key, remote: M::RemoteEvent) {
        // No LP: receiving is not an event and sends nothing.
        self.core.lp = Lp::MAX;
        debug_assert!(key.time >= self.core.now);
        let event = self.model.receive_event(&mut self.core, lp, remote);
        self.core.queue.push(Scheduled::new(lp, key, event));
    }

    /// Receives a remote update.
    #[inline]
    pub(super) fn accept(&mut self, lp: Lp, at: Time, update: M::RemoteUpdate) {
        self.core.lp = Lp::MAX;
        debug_assert!(at > self.core.now);
        self.model.apply_update(&mut self.core, lp, at, update);
    }

    /// Handles all events before `bound`, at most `most`. Returns their number.
    pub(super) fn run(&mut self, bound: Time, most: u64, partition: &Partition, sink: &mut impl MessageSink<M>) -> u64 {
        let before = self.core.events;
        let last = before.saturating_add(most);
        self.core.bound = bound;
        while self.core.run(&mut self.model, last) == Stop::RemoteSend {
            self.send_remote(partition, sink, cfg!(debug_assertions), |_, _| ());
        }
        self.core.events - before
    }

    /// Sends the remote events and updates of the last event. `note` gets the anti-message of each. With `checked`, a
    /// violated lookahead panics: the model is wrong, or speculates in an impossible state.
    pub(super) fn send_remote(
        &mut self,
        partition: &Partition,
        sink: &mut impl MessageSink<M>,
        checked: bool,
        mut note: impl FnMut(usize, AntiMessage<M::RemoteUpdate>),
    ) {
        let (lp, now) = (self.core.lp, self.core.now);
        let send_buffer = self.model.send_buffer();
        for (to, at, remote) in send_buffer.events.drain(..) {
            let part = partition.part_of(to);
            if checked {
                assert_lookahead(partition, self.number, part, now, at);
            }
            let key = self.core.sequences.key(lp, at);
            note(part, AntiMessage::Event(to, key));
            sink.event(part, to, key, remote);
        }
        for (to, at, update) in send_buffer.updates.drain(..) {
            let part = partition.part_of(to);
            if checked {
                assert_lookahead(partition, self.number, part, now, at);
            }
            note(part, AntiMessage::Update(to, at, update));
            sink.update(part, to, at, update);
        }
    }
}

impl<M: Model> Saved for Executor<M> {
    fn save(&self, to: &mut Saver<'_>) {
        self.model.save(to);
        self.core.save(to);
        to.value(&self.done);
    }

    fn load(&mut self, from: &mut Loader<'_>) -> Result<(), Damaged> {
        self.model.load(from)?;
        self.core.load(from)?;
        self.done = from.value()?;
        Ok(())
    }
}

fn assert_lookahead(partition: &Partition, from: usize, to: usize, now: Time, at: Time) {
    let mut senders = partition.senders(to).iter();
    let Some(&(_, delay)) = senders.find(|&&(sender, _)| sender as usize == from) else {
        panic!("part {from} sends to part {to}, which does not hear from it");
    };
    assert!(
        at >= now + delay,
        "lookahead: part {from} sends to part {to} at {now:?} for {at:?}, sooner than {delay:?} ahead"
    );
}

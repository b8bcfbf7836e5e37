//! A part of the model with its queue: what it does for good, event by event.

use super::letters::Recall;
use super::office::Carrier;
use crate::core::{Core, Stop};
use crate::saved::{Damaged, Loader, Saver};
use crate::wheel::Scheduled;
use crate::{Key, Lp, Model, Partition, Saved, Time};

/// See the [module](self).
pub(super) struct Body<M: Model> {
    pub(super) model: M,
    pub(super) core: Core<M::Event>,
    /// Its number in the partition.
    number: usize,
    /// Nothing may come any more that is earlier.
    pub(super) done: Time,
}

impl<M: Model> Body<M> {
    /// Starts the LPs of `model`, part `number` of the partition.
    pub(super) fn new(mut model: M, number: usize, buckets: usize) -> Body<M> {
        let core = Core::start(&mut model, buckets);
        assert!(
            model.outbox().is_empty(),
            "a part sends nothing to others before its first event"
        );
        Body {
            model,
            core,
            number,
            done: Time::ZERO,
        }
    }

    /// Checks that what has come for `lp` and counts from `at` has not come too late.
    #[inline]
    pub(super) fn assert_ahead(&self, lp: Lp, at: Time) {
        let done = self.done;
        assert!(
            at >= done,
            "LP {lp} is sent something for {at:?} when it is at {done:?}: sooner than the lookahead of the partition"
        );
    }

    /// Takes in a parcel.
    #[inline]
    pub(super) fn receive(&mut self, lp: Lp, key: Key, parcel: M::Parcel) {
        // No LP: to receive is no event, and sends nothing.
        self.core.lp = Lp::MAX;
        debug_assert!(key.time >= self.core.now);
        let event = self.model.receive(&mut self.core, lp, parcel);
        self.core.queue.push(Scheduled::new(lp, key, event));
    }

    /// Takes in a token.
    #[inline]
    pub(super) fn accept(&mut self, lp: Lp, at: Time, token: M::Token) {
        self.core.lp = Lp::MAX;
        debug_assert!(at > self.core.now);
        self.model.accept(&mut self.core, lp, at, token);
    }

    /// Handles all events before `bound`, or the first `most` of them, and returns how many they were.
    pub(super) fn run(&mut self, bound: Time, most: u64, partition: &Partition, carrier: &mut impl Carrier<M>) -> u64 {
        let before = self.core.events;
        let last = before.saturating_add(most);
        self.core.bound = bound;
        while self.core.run(&mut self.model, last) == Stop::Export {
            self.export(partition, carrier, cfg!(debug_assertions), |_, _| ());
        }
        self.core.events - before
    }

    /// Sends what the event that was just handled has for other parts; `note` is told what would take it back. A model
    /// that sends something sooner than its partition says is wrong, or in a state that can never be; with `checked` it panics.
    pub(super) fn export(
        &mut self,
        partition: &Partition,
        carrier: &mut impl Carrier<M>,
        checked: bool,
        mut note: impl FnMut(usize, Recall<M::Token>),
    ) {
        let (lp, now) = (self.core.lp, self.core.now);
        let outbox = self.model.outbox();
        for (to, at, parcel) in outbox.parcels.drain(..) {
            let part = partition.part_of(to);
            if checked {
                assert_lookahead(partition, self.number, part, now, at);
            }
            let key = self.core.sequences.key(lp, at);
            note(part, Recall::Parcel(to, key));
            carrier.parcel(part, to, key, parcel);
        }
        for (to, at, token) in outbox.tokens.drain(..) {
            let part = partition.part_of(to);
            if checked {
                assert_lookahead(partition, self.number, part, now, at);
            }
            note(part, Recall::Token(to, at, token));
            carrier.token(part, to, at, token);
        }
    }
}

impl<M: Model> Saved for Body<M> {
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

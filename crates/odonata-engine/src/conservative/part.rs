//! A part with its queue: takes in what has come, handles what is due, hands out what is for others.

use super::letters::LettersOf;
use super::office::Carrier;
use crate::core::{Core, Stop};
use crate::saved::{Damaged, Loader, Saver};
use crate::scheduler::PartView;
use crate::wheel::Scheduled;
use crate::{Lp, Model, Partition, Saved, Time};

/// See the [module](self).
pub(super) struct Part<M: Model> {
    model: M,
    core: Core<M::Event>,
    /// Its number in the partition.
    number: usize,
    /// All events before this are handled; nothing may come that is earlier.
    done: Time,
}

impl<M: Model> Part<M> {
    /// Starts the LPs of `model`, part `number` of the partition.
    pub(super) fn new(mut model: M, number: usize, buckets: usize) -> Part<M> {
        let core = Core::start(&mut model, buckets);
        assert!(
            model.outbox().is_empty(),
            "a part sends nothing to others before its first event"
        );
        Part {
            model,
            core,
            number,
            done: Time::ZERO,
        }
    }

    /// Takes in `letters`, and leaves them empty.
    pub(super) fn take_in(&mut self, letters: &mut LettersOf<M>) {
        // No LP: to receive is no event, and sends nothing.
        self.core.lp = Lp::MAX;
        for (lp, key, parcel) in letters.parcels.drain(..) {
            self.core.assert_not_late(lp, key.time, self.done);
            let event = self.model.receive(&mut self.core, lp, parcel);
            self.core.queue.push(Scheduled::new(lp, key, event));
        }
        for (lp, at, token) in letters.tokens.drain(..) {
            self.core.assert_not_late(lp, at, self.done);
            self.model.accept(&mut self.core, lp, at, token);
        }
    }

    /// Handles all events before `bound`.
    pub(super) fn run(&mut self, bound: Time, partition: &Partition, carrier: &mut impl Carrier<M>) {
        self.core.bound = bound;
        while self.core.run(&mut self.model, u64::MAX) == Stop::Export {
            self.export(partition, carrier);
        }
        self.done = self.done.max(bound);
    }

    fn export(&mut self, partition: &Partition, carrier: &mut impl Carrier<M>) {
        let (lp, now) = (self.core.lp, self.core.now);
        let outbox = self.model.outbox();
        for (to, at, parcel) in outbox.parcels.drain(..) {
            let part = partition.part_of(to);
            debug_assert_ahead(partition, self.number, part, now, at);
            carrier.parcel(part, to, self.core.sequences.key(lp, at), parcel);
        }
        for (to, at, token) in outbox.tokens.drain(..) {
            let part = partition.part_of(to);
            debug_assert_ahead(partition, self.number, part, now, at);
            carrier.token(part, to, at, token);
        }
    }

    /// When the next event is due.
    pub(super) fn next(&self) -> Time {
        self.core.queue.next_time().unwrap_or(Time::NEVER)
    }

    /// Before when all events are handled.
    pub(super) fn done(&self) -> Time {
        self.done
    }

    /// The time of the last event handled.
    pub(super) fn now(&self) -> Time {
        self.core.now
    }

    /// Events handled.
    pub(super) fn events(&self) -> u64 {
        self.core.events
    }

    /// When the part first halted the run, and with which code.
    pub(super) fn halted(&self) -> Option<(Time, u32)> {
        self.core.halted
    }

    /// The part without what has not come to it.
    pub(super) fn view(&self) -> PartView<'_, M> {
        PartView {
            model: &self.model,
            events: Box::new(self.core.queue.iter().map(|item| &item.event)),
            parcels: Box::new(std::iter::empty()),
        }
    }

    pub(super) fn into_model(self) -> M {
        self.model
    }
}

impl<M: Model> Saved for Part<M> {
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

/// A model that sends something sooner than its partition says is wrong, and its results depend on the scheduler.
#[inline]
fn debug_assert_ahead(partition: &Partition, from: usize, to: usize, now: Time, at: Time) {
    if cfg!(debug_assertions) {
        let delay = partition
            .senders(to)
            .iter()
            .find(|&&(sender, _)| sender as usize == from);
        let Some(&(_, delay)) = delay else {
            panic!("part {from} sends to part {to}, which does not hear from it");
        };
        assert!(
            at >= now + delay,
            "lookahead: part {from} sends to part {to} at {now:?} for {at:?}, sooner than {delay:?} ahead"
        );
    }
}

//! A part under a scheduler: takes in what has come, handles what is due, hands out what is for others.

use super::ahead::{Ahead, Counts, Optimism};
use super::body::Body;
use super::letters::LettersOf;
use super::office::Carrier;
use crate::saved::{Damaged, Loader, Saver};
use crate::scheduler::PartView;
use crate::{Model, Partition, Saved, Time};

/// See the [module](self).
pub(super) struct Part<M: Model> {
    body: Body<M>,
    /// If it may go beyond its window.
    ahead: Option<Ahead<M>>,
}

/// How far a part may go in a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Window {
    /// Nothing can come to it any more before this.
    pub(super) safe: Time,
    /// It may try to go this far.
    pub(super) limit: Time,
    /// It handles this many events at most before it tells others how far it is.
    pub(super) most: u64,
}

impl<M: Model> Part<M> {
    /// Starts the LPs of `model`, part `number` of the partition; `optimism` is shared by so many parts.
    pub(super) fn new(model: M, number: usize, buckets: usize, optimism: Option<Optimism>, parts: usize) -> Part<M> {
        Part {
            body: Body::new(model, number, buckets),
            ahead: optimism.map(|optimism| Ahead::new(optimism, parts)),
        }
    }

    /// Does its share of a round: takes in `letters`, which are empty then, and handles events.
    pub(super) fn work(
        &mut self,
        window: Window,
        letters: &mut LettersOf<M>,
        partition: &Partition,
        carrier: &mut impl Carrier<M>,
    ) {
        let Window { safe, limit, most } = window;
        let Some(ahead) = &mut self.ahead else {
            self.take_in(letters);
            self.body.run(safe, most, partition, carrier);
            self.body.done = self.body.done.max(safe);
            return;
        };
        let body = &mut self.body;
        ahead.take_in(body, letters, safe, carrier);
        let mut events = 0;
        // Where something can still be taken back, all that is before the end of the window has been done.
        if ahead.commit(body, safe) {
            ahead.hand_over(body, safe);
            events = body.run(safe, most, partition, carrier);
        }
        body.done = body.done.max(safe);
        if limit > safe && events < most {
            ahead.go_on(body, limit, events, most, partition, carrier);
        }
    }

    /// The model gets to know all `letters`, which are empty then.
    fn take_in(&mut self, letters: &mut LettersOf<M>) {
        debug_assert!(letters.recalls.is_empty());
        for (lp, key, parcel) in letters.parcels.drain(..) {
            self.body.assert_ahead(lp, key.time);
            self.body.receive(lp, key, parcel);
        }
        for (lp, at, token) in letters.tokens.drain(..) {
            self.body.assert_ahead(lp, at);
            self.body.accept(lp, at, token);
        }
    }

    /// Nothing is due any more in any part, or nothing that was done can be taken back: the model gets to know all
    /// `letters`, which are empty then, and all that was done is final.
    pub(super) fn settle(&mut self, letters: &mut LettersOf<M>, carrier: &mut impl Carrier<M>) {
        let Some(ahead) = &mut self.ahead else {
            return self.take_in(letters);
        };
        ahead.commit(&mut self.body, Time::NEVER);
        // What is recalled now was not taken in: the carrier gets nothing.
        ahead.take_in(&mut self.body, letters, Time::ZERO, carrier);
        ahead.hand_over(&mut self.body, Time::NEVER);
    }

    /// When the next event is due, or a letter counts that the model does not know.
    pub(super) fn next(&self) -> Time {
        let event = self.body.core.queue.next_time().unwrap_or(Time::NEVER);
        let letter = self.ahead.as_ref().and_then(Ahead::next_time);
        letter.map_or(event, |letter| letter.min(event))
    }

    /// Nothing may come to it any more that is earlier.
    pub(super) fn done(&self) -> Time {
        self.body.done
    }

    /// The time of the last event handled.
    pub(super) fn now(&self) -> Time {
        self.body.core.now
    }

    /// Events handled for good.
    pub(super) fn events(&self) -> u64 {
        self.body.core.events
    }

    /// Whether nothing that was done can be taken back.
    pub(super) fn is_final(&self) -> bool {
        self.ahead.as_ref().is_none_or(Ahead::is_final)
    }

    /// How its speculations went.
    pub(super) fn counts(&self) -> Counts {
        self.ahead.as_ref().map_or(Counts::default(), |ahead| ahead.counts)
    }

    /// When the part first halted the run, and with which code; perhaps to be taken back.
    pub(super) fn halted(&self) -> Option<(Time, u32)> {
        self.body.core.halted
    }

    /// The part without what has not come to it.
    pub(super) fn view(&self) -> PartView<'_, M> {
        PartView {
            model: &self.body.model,
            events: Box::new(self.body.core.queue.iter().map(|item| &item.event)),
            parcels: Box::new(std::iter::empty()),
        }
    }

    pub(super) fn into_model(self) -> M {
        self.body.model
    }
}

/// Between runs, when nothing can be taken back and the model knows all letters.
impl<M: Model> Saved for Part<M> {
    fn save(&self, to: &mut Saver<'_>) {
        assert!(self.ahead.as_ref().is_none_or(Ahead::is_settled));
        self.body.save(to);
    }

    fn load(&mut self, from: &mut Loader<'_>) -> Result<(), Damaged> {
        if let Some(ahead) = &mut self.ahead {
            ahead.clear();
        }
        self.body.load(from)
    }
}

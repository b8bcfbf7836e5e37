//! Speculation: a part goes on beyond its window, and takes back what turns out to have been too early (Time Warp,
//! Jefferson, "Virtual time", TOPLAS 7, 1985).
//!
//! What a part does beyond its window is kept in a [`History`] and in the undo logs of its model. When a letter comes for a place
//! in the order that it has passed, a *straggler*, or a recall of a letter that it has taken in, it goes back to before that place: the
//! state is undone, events and letters wait again, and what was sent to other parts meanwhile is recalled in turn. The window of a
//! round takes the part of GVT, the time before which nothing can be taken back: what lies before its end is final. It is
//! no later than that of any other part that could still send something, but need not be the same for all.
//!
//! A handler that runs too early may see what can never be: the answer without the question. If it panics, that is taken
//! back too, and the part waits until the event is in its window; then a panic is a panic.
//!
//! How far a part may be ahead adapts: farther as long as all goes well, half as far when much was taken back.

use super::body::Body;
use super::history::{Daring, History, InputOf, Undone};
use super::inputs::{Input, Inputs, Place};
use super::letters::{LettersOf, Recall, Sent};
use super::office::Carrier;
use super::quiet::catch;
use crate::{Lp, Model, Outbox, Partition, Time};

/// How far parts may be ahead of their windows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Optimism {
    /// A part goes beyond its window as long as it has handled fewer events than this in the round, counting those of
    /// earlier rounds that it may still have to take back.
    pub events_per_round: u32,
    /// Bytes of histories and undo logs of a process at most, to within a few events of each part: a part that has used
    /// up its share waits for its window.
    pub journal: u64,
}

/// Least events that a part may be ahead, and as many as at the beginning.
const LEAST: usize = 4;
const AT_FIRST: usize = 64;
/// Events between two looks at the memory.
const LOOK_EVERY: usize = 64;

/// What the model of a part has done beyond its window, and what it does not know yet.
pub(super) struct Ahead<M: Model> {
    inputs: Inputs<M::Parcel, M::Token>,
    history: History<M>,
    undone: Undone<M>,
    /// How far the part may be ahead at the moment, and ever.
    distance: usize,
    farthest: usize,
    /// Bytes that may be kept.
    journal: usize,
    /// Where a handler has panicked; not tried again before something else has come.
    doubted: Option<Place>,
    /// Things done and taken back since the distance was last thought over.
    done: usize,
    back: usize,
    pub(super) counts: Counts,
}

/// What is of interest of it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    pub(super) speculated: u64,
    pub(super) rolled_back: u64,
    pub(super) rollbacks: u64,
    pub(super) recalls: u64,
    pub(super) peak_bytes: u64,
}

impl<M: Model> Ahead<M> {
    /// Of one of `parts` parts of a process.
    pub(super) fn new(optimism: Optimism, parts: usize) -> Self {
        let farthest = (optimism.events_per_round as usize).max(1);
        Ahead {
            inputs: Inputs::new(),
            history: History::new(),
            undone: Undone::new(),
            distance: AT_FIRST.min(farthest),
            farthest,
            journal: (optimism.journal / parts as u64) as usize,
            doubted: None,
            done: 0,
            back: 0,
            counts: Counts::default(),
        }
    }

    /// Whether nothing can be taken back.
    pub(super) fn is_final(&self) -> bool {
        self.history.is_empty()
    }

    /// Whether the model knows all letters, too.
    pub(super) fn is_settled(&self) -> bool {
        self.history.is_empty() && self.inputs.is_empty()
    }

    /// When the first letter counts that the model does not know.
    pub(super) fn next_time(&self) -> Option<Time> {
        self.inputs.next_time()
    }

    /// Forgets all, the model having got another state.
    pub(super) fn clear(&mut self) {
        assert!(self.is_final(), "nothing is loaded into the middle of a speculation");
        self.inputs.clear();
        self.doubted = None;
    }

    /// Takes in `letters` in the order in which they were sent, and leaves them empty. What counts before `safe` is not
    /// recalled any more, but in these letters.
    pub(super) fn take_in(
        &mut self,
        body: &mut Body<M>,
        letters: &mut LettersOf<M>,
        safe: Time,
        carrier: &mut impl Carrier<M>,
    ) {
        if letters.is_empty() {
            return;
        }
        self.doubted = None;
        // What is final and in nobody's way is taken in for good at once: with no speculation under way, nearly all.
        let known = match self.is_final() && letters.recalls.is_empty() {
            true => safe,
            false => Time::ZERO,
        };
        letters.in_order(|sent| match sent {
            Sent::Parcel(lp, key, parcel) => self.add(body, Input::Parcel(lp, key, parcel), known, carrier),
            Sent::Token(lp, at, token) => self.add(body, Input::Token(lp, at, token), known, carrier),
            Sent::Recall(recall) => self.recall(body, &recall, carrier),
        });
        self.inputs.sort();
    }

    #[inline]
    fn add(&mut self, body: &mut Body<M>, input: InputOf<M>, known: Time, carrier: &mut impl Carrier<M>) {
        let place = input.place();
        body.assert_ahead(input.lp(), place.time);
        if place.time < known {
            tell(body, input);
            return;
        }
        if self.history.last().is_some_and(|last| last > place) {
            self.go_back(body, place, false, carrier);
        }
        self.inputs.add(input);
    }

    fn recall(&mut self, body: &mut Body<M>, recall: &Recall<M::Token>, carrier: &mut impl Carrier<M>) {
        if self.inputs.remove(recall) {
            return;
        }
        let place = self.history.find(recall).expect("what is recalled has come before");
        self.go_back(body, place, true, carrier);
        assert!(self.inputs.remove(recall), "what was taken in waits again");
    }

    /// Goes back to behind `place`, or to before it if it is to be taken back as well.
    fn go_back(&mut self, body: &mut Body<M>, place: Place, including: bool, carrier: &mut impl Carrier<M>) {
        let length = self.history.len();
        let Body { model, core, .. } = body;
        let undone = &mut self.undone;
        let moment = self.history.take_back(place, including, core, undone);
        model.undo(moment);
        // First what waits again, for that may have been queued by what is taken back, too.
        for item in undone.events.drain(..) {
            core.queue.push(item);
            self.counts.rolled_back += 1;
        }
        core.queue.remove_all(undone.queued.drain(..));
        for letter in undone.letters.drain(..) {
            self.counts.rolled_back += u64::from(letter.place().is_event());
            self.inputs.add(letter);
        }
        self.counts.recalls += undone.sent.len() as u64;
        for (part, recall) in undone.sent.drain(..) {
            carrier.recall(part as usize, recall);
        }
        self.counts.rollbacks += 1;
        self.back += length - self.history.len();
    }

    /// What was done before `safe` is final. Returns whether all is.
    pub(super) fn commit(&mut self, body: &mut Body<M>, safe: Time) -> bool {
        if self.history.first().is_none_or(|first| first.time >= safe) {
            return self.is_final();
        }
        let (events, moment) = self.history.forget(safe);
        body.core.events += events;
        match self.is_final() {
            true => body.model.commit(),
            false => body.model.forget(moment),
        }
        self.is_final()
    }

    /// With nothing that can be taken back: the model gets to know all letters that count before `safe`.
    pub(super) fn hand_over(&mut self, body: &mut Body<M>, safe: Time) {
        debug_assert!(self.is_final());
        while self.inputs.next_time().is_some_and(|time| time < safe)
            && let Some(input) = self.inputs.pop()
        {
            tell(body, input);
        }
    }

    /// Handles events before `limit`, after `events` in the window of this round.
    pub(super) fn go_on(
        &mut self,
        body: &mut Body<M>,
        limit: Time,
        events: u64,
        most: u64,
        partition: &Partition,
        carrier: &mut impl Carrier<M>,
    ) {
        self.think_over();
        let distance = self.distance.saturating_sub(events as usize);
        let before = self.history.len();
        let distance = distance.min(before.saturating_add(most as usize));
        let caught = catch(|| {
            while self.history.len() < distance
                && (!self.history.len().is_multiple_of(LOOK_EVERY) || self.has_memory(&body.model))
                && self.step(body, limit, partition, carrier)
            {}
        });
        if caught.is_err() {
            let place = self.history.last().expect("an event was under way");
            *body.model.outbox() = Outbox::new();
            self.go_back(body, place, true, carrier);
            self.inputs.sort();
            self.doubted = Some(place);
        }
        self.done += self.history.len().saturating_sub(before);
        self.has_memory(&body.model);
    }

    /// Whether another event may be handled as far as memory is concerned.
    fn has_memory(&mut self, model: &M) -> bool {
        if self.history.is_empty() {
            return true;
        }
        let bytes = self.history.memory() + model.logged();
        self.counts.peak_bytes = self.counts.peak_bytes.max(bytes as u64);
        bytes < self.journal
    }

    /// Adapts the distance to how it went.
    fn think_over(&mut self) {
        if self.done < self.distance / 2 && self.back < LEAST {
            return;
        }
        if self.back * 8 > self.done {
            self.distance = (self.distance / 2).max(LEAST.min(self.farthest));
        } else if self.back * 32 <= self.done {
            self.distance = (self.distance + self.distance / 8 + 1).min(self.farthest);
        }
        (self.done, self.back) = (0, 0);
    }

    /// Does what comes first; `false` if that is not before `limit`, or known to fail.
    fn step(&mut self, body: &mut Body<M>, limit: Time, partition: &Partition, carrier: &mut impl Carrier<M>) -> bool {
        let Body { model, core, .. } = body;
        let event = core.queue.peek_before(limit).map(|item| Place::event(item.rank()));
        let letter = self.inputs.first().map(Input::place).filter(|place| place.time < limit);
        let is_letter = match (event, letter) {
            (_, None) => false,
            (None, Some(_)) => true,
            (Some(event), Some(letter)) => letter < event,
        };
        let first = if is_letter { letter } else { event };
        if first.is_none() || first == self.doubted {
            return false;
        }
        let (lp, time, event) = if is_letter {
            let input = self.inputs.pop().expect("there is a first");
            self.history.begin_letter(input, core);
            core.lp = Lp::MAX;
            let history = &mut self.history;
            match input {
                Input::Token(lp, at, token) => {
                    model.accept(&mut Daring { core, history }, lp, at, token);
                    return true;
                }
                Input::Parcel(lp, key, parcel) => {
                    let event = model.receive(&mut Daring { core, history }, lp, parcel);
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
        model.handle(&mut Daring { core, history }, lp, event);
        if !model.outbox().is_empty() {
            body.export(partition, carrier, true, |part, recall| self.history.sent(part, recall));
        }
        true
    }
}

/// The model gets to know a letter.
#[inline]
fn tell<M: Model>(body: &mut Body<M>, input: InputOf<M>) {
    match input {
        Input::Parcel(lp, key, parcel) => body.receive(lp, key, parcel),
        Input::Token(lp, at, token) => body.accept(lp, at, token),
    }
}

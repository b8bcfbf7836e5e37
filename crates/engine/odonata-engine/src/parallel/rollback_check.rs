//! A test harness for rollback: does, undoes and redoes every event.

use super::history::{History, RolledBack, SpeculativeContext};
use super::input_queue::Position;
use crate::core::Core;
use crate::wheel::{Scheduled, Wheel};
use crate::{Digest, Lp, Model, Time};
use std::collections::BTreeMap;

/// Runs a model sequentially, and every event three times: do, undo, redo.
///
/// After the undo the whole state must equal the state before the event. After the redo it must equal the state after
/// the first time, and the same events must have been sent. Slow, because the whole state is read for every event: for
/// tests on small models.
///
/// Handlers run in the context of the optimistic scheduler, so that a program that has both compiles them once.
pub struct RollbackCheck<M: Model> {
    model: M,
    core: Core<M::Event>,
    /// Pending events by time, receiver, and sender with sequence number. Wake-ups of one id are one.
    queue: BTreeMap<(Time, Lp, u64), M::Event>,
}

/// The digest of the whole state.
pub(crate) fn fingerprint<M: Model>(model: &M) -> u128 {
    let mut digest = Digest::new();
    model.fingerprint(&mut digest);
    digest.value()
}

/// Takes the events out of a queue, in order.
fn take_all<E: Copy>(queue: &mut Wheel<E>) -> Vec<Scheduled<E>> {
    std::iter::from_fn(|| queue.pop()).collect()
}

impl<M: Model> RollbackCheck<M> {
    /// Starts `model`.
    pub fn new(mut model: M) -> Self {
        let core = Core::start(&mut model, 1);
        model.commit();
        let mut this = RollbackCheck {
            model,
            core,
            queue: BTreeMap::new(),
        };
        let sent = take_all(&mut this.core.queue);
        this.add(sent);
        this
    }

    fn add(&mut self, sent: Vec<Scheduled<M::Event>>) {
        for item in sent {
            let (time, order) = item.rank();
            self.queue.insert((time, item.lp, order), item.event);
        }
    }

    /// Handles `item`; what it sends.
    fn handle(&mut self, history: &mut History<M>, item: Scheduled<M::Event>) -> Vec<Scheduled<M::Event>> {
        // The events before it are final: none of them is pending.
        self.core.queue = Wheel::with_buckets(1);
        history.begin_event(item, &self.core);
        (self.core.now, self.core.lp) = (item.time, item.lp);
        let core = &mut self.core;
        self.model
            .handle(&mut SpeculativeContext { core, history }, item.lp, item.event);
        take_all(&mut self.core.queue)
    }

    /// Runs to the end, or to `limit` events.
    ///
    /// # Errors
    /// Names the first event whose undo or redo did not restore the state, or that sent another LP an
    /// event sooner than the declared lookahead.
    pub fn run(&mut self, limit: u64) -> Result<u64, String> {
        let mut history = History::new();
        // The digest of the state before the next event.
        let mut before = fingerprint(&self.model);
        while self.core.halted.is_none() && self.core.events < limit {
            let Some(((now, lp, order), event)) = self.queue.pop_first() else {
                break;
            };
            self.core.events += 1;
            let item = Scheduled::ranked(lp, (now, order), event);

            let first = self.handle(&mut history, item);
            let after = fingerprint(&self.model);

            let position = Position::event(item.rank());
            let undone = &mut RolledBack::new();
            let savepoint = history.roll_back(position, true, &mut self.core, undone);
            self.model.undo(savepoint);
            if fingerprint(&self.model) != before {
                return Err(format!(
                    "undo of {event:?} at LP {lp}, {now:?} did not restore the state"
                ));
            }

            let second = self.handle(&mut history, item);
            let same_sends = first.len() == second.len()
                && first.iter().zip(&second).all(|(a, b)| {
                    (a.lp, a.rank()) == (b.lp, b.rank()) && format!("{:?}", a.event) == format!("{:?}", b.event)
                });
            if fingerprint(&self.model) != after || !same_sends {
                return Err(format!(
                    "redo of {event:?} at LP {lp}, {now:?} differs from the first time"
                ));
            }
            if let Some(sent) = second
                .iter()
                .find(|sent| sent.lp != lp && sent.time < now + self.model.lookahead(lp, sent.lp))
            {
                return Err(format!(
                    "{event:?} at LP {lp}, {now:?}, sends to LP {} for {:?}: sooner than the lookahead",
                    sent.lp, sent.time
                ));
            }
            self.model.commit();
            history.fossil_collect(Time::NEVER);
            self.add(second);
            before = after;
        }
        Ok(self.core.events)
    }

    /// The model, to read its results.
    pub fn model(&self) -> &M {
        &self.model
    }

    /// The same, without the harness.
    pub fn into_model(self) -> M {
        self.model
    }
}

//! The sequential scheduler: one queue, one thread. The reference for all others.

use crate::wheel::{Scheduled, Wheel};
use crate::{Context, Key, Lp, Mode, Model, Plain, Time};

/// Why [`Sequential::run`] returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pause {
    /// No event is left.
    Idle,
    /// The next event lies after the time limit.
    TimeLimit,
    /// As many events as asked for were handled.
    Budget,
    /// The model asked to stop, with its code.
    Halted(u32),
}

/// Runs a model's events one after the other.
pub struct Sequential<M: Model> {
    model: M,
    core: Core<M::Event>,
    events: u64,
}

struct Core<E> {
    queue: Wheel<E>,
    /// Next sequence number of each LP. It may wrap: order needs it to be unique only among the
    /// events of one sender that meet at one receiver in one picosecond.
    sequences: Vec<u32>,
    now: Time,
    lp: Lp,
    halted: Option<u32>,
}

impl<E> Mode for Core<E> {
    const JOURNAL: bool = Plain::JOURNAL;
}

impl<E: Copy> Context<E> for Core<E> {
    #[inline(always)]
    fn now(&self) -> Time {
        self.now
    }

    #[inline]
    fn send(&mut self, to: Lp, at: Time, event: E) {
        assert!(at > self.now, "an event must lie strictly in the future");
        let sequence = &mut self.sequences[self.lp as usize];
        let key = Key {
            time: at,
            sender: self.lp,
            sequence: *sequence,
        };
        *sequence = sequence.wrapping_add(1);
        self.queue.push(Scheduled::new(to, key, event));
    }

    #[inline]
    fn look_again(&mut self, lp: Lp, at: Time, what: u32, event: E) {
        assert!(at > self.now, "an event must lie strictly in the future");
        self.queue.push(Scheduled::new(
            lp,
            Key {
                time: at,
                sender: Key::CANONICAL,
                sequence: what,
            },
            event,
        ));
    }

    fn halt(&mut self, code: u32) {
        self.halted = Some(code);
    }
}

impl<M: Model> Sequential<M> {
    /// Starts every LP of `model`.
    pub fn new(model: M) -> Self {
        let n = model.processes();
        let core = Core {
            queue: Wheel::new(),
            sequences: vec![0; n as usize],
            now: Time::ZERO,
            lp: 0,
            halted: None,
        };
        let mut this = Sequential { model, core, events: 0 };
        for lp in 0..n {
            this.core.lp = lp;
            this.model.start(&mut this.core, lp);
        }
        this
    }

    /// Handles events until one of the reasons of [`Pause`] holds.
    pub fn run(&mut self, until: Time, budget: u64) -> Pause {
        let last = self.events.saturating_add(budget);
        loop {
            if let Some(code) = self.core.halted {
                return Pause::Halted(code);
            }
            if self.events >= last {
                return Pause::Budget;
            }
            let Some(item) = self.core.queue.pop() else {
                return Pause::Idle;
            };
            if item.time > until {
                self.core.queue.push(item);
                return Pause::TimeLimit;
            }
            self.events += 1;
            self.core.now = item.time;
            self.core.lp = item.lp;
            self.model.handle(&mut self.core, item.lp, item.event);
        }
    }

    /// The time of the last event handled.
    pub fn now(&self) -> Time {
        self.core.now
    }

    /// Events handled so far.
    pub fn events(&self) -> u64 {
        self.events
    }

    /// Events waiting.
    pub fn queued(&self) -> usize {
        self.core.queue.len()
    }

    /// The events waiting, in no order that means anything.
    pub fn pending(&self) -> impl Iterator<Item = &M::Event> {
        self.core.queue.iter().map(|item| &item.event)
    }

    /// The model, to read its results.
    pub fn model(&self) -> &M {
        &self.model
    }

    /// Ends the run and hands the model back.
    pub fn into_model(self) -> M {
        self.model
    }
}

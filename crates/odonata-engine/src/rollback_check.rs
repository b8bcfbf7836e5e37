//! A test harness for rollback: does, undoes and redoes every event.

use crate::{Context, Digest, Key, Lp, Mode, Model, Savepoint, Speculative, Time};
use std::collections::BTreeMap;

/// Runs a model sequentially, and every event three times: do, undo, redo.
///
/// After the undo the whole state must equal the state before the event. After the redo it must equal the state after
/// the first time, with the same events sent. Slow, because every event reads the whole state: for tests on small
/// models.
pub struct RollbackCheck<M: Model> {
    model: M,
    queue: BTreeMap<(Time, Lp, u32, u32), M::Event>,
    sequences: Vec<u32>,
    events: u64,
    halted: Option<u32>,
}

struct RecordingContext<E> {
    now: Time,
    lp: Lp,
    sequence: u32,
    sent: Vec<(Lp, Key, E)>,
    halted: Option<u32>,
}

impl<E> Mode for RecordingContext<E> {
    const JOURNAL: bool = Speculative::JOURNAL;
}

impl<E: Copy> Context for RecordingContext<E> {
    type Event = E;

    fn now(&self) -> Time {
        self.now
    }

    fn now_of(&self, _: Lp) -> Time {
        self.now
    }

    fn handled_before(&self) -> Time {
        self.now
    }

    fn send(&mut self, to: Lp, at: Time, event: E) {
        self.sent.push((
            to,
            Key {
                time: at,
                sender: self.lp,
                sequence: self.sequence,
            },
            event,
        ));
        self.sequence += 1;
    }

    fn wake_up(&mut self, lp: Lp, at: Time, id: u32, event: E) {
        self.sent.push((
            lp,
            Key {
                time: at,
                sender: Key::WAKE_UP,
                sequence: id,
            },
            event,
        ));
    }

    fn halt(&mut self, code: u32) {
        self.halted = Some(code);
    }
}

/// The digest of the whole state.
pub(crate) fn fingerprint<M: Model>(model: &M) -> u128 {
    let mut digest = Digest::new();
    model.fingerprint(&mut digest);
    digest.value()
}

impl<M: Model> RollbackCheck<M> {
    /// Starts `model`.
    pub fn new(model: M) -> Self {
        let processes = model.processes();
        let mut this = RollbackCheck {
            model,
            queue: BTreeMap::new(),
            sequences: vec![0; processes.len()],
            events: 0,
            halted: None,
        };
        for lp in processes {
            let mut out = this.context(Time::ZERO, lp);
            this.model.start(&mut out, lp);
            this.flush(out);
        }
        this.model.commit();
        this
    }

    fn context(&self, now: Time, lp: Lp) -> RecordingContext<M::Event> {
        RecordingContext {
            now,
            lp,
            sequence: self.sequences[lp as usize],
            sent: Vec::new(),
            halted: None,
        }
    }

    fn flush(&mut self, out: RecordingContext<M::Event>) {
        self.sequences[out.lp as usize] = out.sequence;
        self.halted = self.halted.or(out.halted);
        for (to, key, event) in out.sent {
            self.queue.insert((key.time, to, key.sender, key.sequence), event);
        }
    }

    /// Runs to the end, or to `limit` events.
    ///
    /// # Errors
    /// The first event whose undo or redo did not restore the state, or that violated the lookahead.
    pub fn run(&mut self, limit: u64) -> Result<u64, String> {
        // The digest of the state before the next event.
        let mut before = fingerprint(&self.model);
        while self.halted.is_none() && self.events < limit {
            let Some(((now, lp, ..), event)) = self.queue.pop_first() else {
                break;
            };
            self.events += 1;
            let savepoint = Savepoint(self.events as u32);
            savepoint.begin();

            let mut first = self.context(now, lp);
            self.model.handle(&mut first, lp, event);
            let after = fingerprint(&self.model);

            self.model.undo(savepoint);
            if fingerprint(&self.model) != before {
                return Err(format!(
                    "undo of {event:?} at LP {lp}, {now:?} did not restore the state"
                ));
            }

            let mut second = self.context(now, lp);
            self.model.handle(&mut second, lp, event);
            let same_sends = first.sent.len() == second.sent.len()
                && first
                    .sent
                    .iter()
                    .zip(&second.sent)
                    .all(|(a, b)| a.0 == b.0 && a.1 == b.1 && format!("{:?}", a.2) == format!("{:?}", b.2));
            if fingerprint(&self.model) != after || !same_sends {
                return Err(format!(
                    "redo of {event:?} at LP {lp}, {now:?} differs from the first time"
                ));
            }
            if let Some((to, key, _)) = second
                .sent
                .iter()
                .find(|(to, key, _)| *to != lp && key.time < now + self.model.lookahead(lp, *to))
            {
                return Err(format!(
                    "{event:?} at LP {lp}, {now:?}, sends to LP {to} for {:?}: sooner than the lookahead",
                    key.time
                ));
            }
            self.model.commit();
            self.flush(second);
            before = after;
        }
        Ok(self.events)
    }

    /// Read access to the model.
    pub fn model(&self) -> &M {
        &self.model
    }
}

//! What all schedulers have in common: how a run is advanced, looked at and ended.

use crate::{Model, Saved, Time};

/// Why [`Scheduler::run`] returned.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Pause {
    /// No event is left.
    Idle,
    /// The next event lies after the time limit.
    TimeLimit,
    /// As many events as asked for were handled.
    Budget,
    /// The model asked to stop: the code of the earliest event that did, the smallest one if several of that instant
    /// did. See [`HALT_GRID`](crate::HALT_GRID).
    Halted(u32),
    /// Another process, or the way to it, failed: what is known of it. The run cannot go on.
    Lost(String),
}

/// One part of a run that stands still.
pub struct PartView<'a, M: Model> {
    /// The part.
    pub model: &'a M,
    /// The events that wait in it, in no order that means anything.
    pub events: Box<dyn Iterator<Item = &'a M::Event> + 'a>,
    /// The parcels that have come to it and were not yet [received](Model::receive).
    pub parcels: Box<dyn Iterator<Item = &'a M::Parcel> + 'a>,
}

/// Runs the parts of a model that this process holds, together with other processes if there are any.
///
/// Where there are, each calls the same methods with the same arguments at the same point: [`run`](Self::run) is
/// collective. The results do not depend on which scheduler it is.
///
/// Between runs what this process holds can be [saved](Saved), and loaded into a scheduler of the same kind that was
/// built from the same model in the same division: it goes on as this one would have done.
pub trait Scheduler<M: Model>: Saved + Send {
    /// Handles all events up to and including `until`. Returns sooner, with [`Pause::Budget`], after about `budget`
    /// events of this process or of another, at a moment at which nothing is under way between parts: all tokens
    /// are accepted, all parcels received or seen by [`view`](Self::view), and nothing speculative is left.
    fn run(&mut self, until: Time, budget: u64) -> Pause;

    /// The time of the last event handled, of all parts of all processes. May depend on the scheduler where events look
    /// again for nothing, for there can be more or fewer of them; so may [`events`](Self::events).
    fn now(&self) -> Time;

    /// Events handled for good by this process.
    fn events(&self) -> u64;

    /// Shows the parts of this process in order. Between runs only.
    fn view(&mut self, see: &mut dyn FnMut(PartView<'_, M>));

    /// Ends the run and hands the parts of this process back, in order.
    fn into_parts(self: Box<Self>) -> Vec<M>;

    /// How the run went, so far.
    fn figures(&self) -> Figures;
}

/// How a scheduler fared, for people who choose one. Of this process, and dependent on chance: no results.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Figures {
    /// Threads of this process.
    pub threads: usize,
    /// Parts.
    pub parts: usize,
    /// Processes.
    pub processes: usize,
    /// Events handled for good.
    pub events: u64,
    /// Parcels and tokens sent from part to part.
    pub sent: u64,
    /// How often all parts agreed on how far they may go.
    pub rounds: u64,
    /// How often a part had something to do before it waited: in a round, or in a turn of one in which windows slide.
    pub windows: u64,
    /// Those of them that a thread took over from another.
    pub stolen: u64,
    /// Share of the threads' time in [`Scheduler::run`] spent in waiting for other threads and processes.
    pub waiting: f64,
    /// Optimistic: events handled before it was known that they may be.
    pub speculated: u64,
    /// Optimistic: events handled and taken back.
    pub rolled_back: u64,
    /// Optimistic: how often a part took events back.
    pub rollbacks: u64,
    /// Optimistic: messages sent to take parcels and tokens back.
    pub anti_messages: u64,
    /// Optimistic: how often the time was computed before which nothing can be taken back.
    pub gvt_rounds: u64,
    /// Optimistic: the most that the undo logs held, bytes.
    pub peak_journal_bytes: u64,
}

impl Figures {
    /// Those of two processes that share a run, together.
    pub fn join(self, other: Figures) -> Figures {
        let (parts, others) = (self.parts as f64, other.parts as f64);
        Figures {
            threads: self.threads,
            parts: self.parts + other.parts,
            processes: self.processes,
            events: self.events + other.events,
            sent: self.sent + other.sent,
            rounds: self.rounds,
            windows: self.windows + other.windows,
            stolen: self.stolen + other.stolen,
            waiting: (self.waiting * parts + other.waiting * others) / (parts + others).max(1.0),
            speculated: self.speculated + other.speculated,
            rolled_back: self.rolled_back + other.rolled_back,
            rollbacks: self.rollbacks + other.rollbacks,
            anti_messages: self.anti_messages + other.anti_messages,
            gvt_rounds: self.gvt_rounds,
            peak_journal_bytes: self.peak_journal_bytes + other.peak_journal_bytes,
        }
    }

    /// Events for good as a share of all that were handled.
    pub fn efficiency(&self) -> f64 {
        share(self.events, self.events + self.rolled_back).unwrap_or(1.0)
    }

    /// Mean number of events of a part in a round in which it had some.
    pub fn events_per_window(&self) -> f64 {
        share(self.events, self.windows).unwrap_or(0.0)
    }
}

fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

//! The interface of a scheduler: how a run is advanced, inspected and ended.

use crate::saved::{Damaged, Loader, Saver};
use crate::{Model, Time};

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

/// A read-only view of a part between two calls of [`Scheduler::run`].
pub struct PartView<'a, M: Model> {
    /// The part.
    pub model: &'a M,
    /// Its pending events, in arbitrary order.
    pub events: Box<dyn Iterator<Item = &'a M::Event> + 'a>,
    /// The remote events that have arrived and were not yet [received](Model::receive_event).
    pub remote_events: Box<dyn Iterator<Item = &'a M::RemoteEvent> + 'a>,
}

/// Runs the parts of a model that this process holds, together with other processes if there are any.
///
/// Where there are, each calls the same methods with the same arguments at the same point: [`run`](Self::run) is
/// collective. The results do not depend on which scheduler it is.
///
/// Between runs the states of the parts can be [saved](Self::save_state) one by one, and loaded into schedulers of the same
/// kind that were built from the same model in the same division, on any number of processes: these go on as the ones that
/// were saved would have done.
pub trait Scheduler<M: Model>: Send {
    /// Handles all events up to and including `until`. Returns sooner, with [`Pause::Budget`], after about `budget`
    /// events of this process or of another, when no message is in transit between parts: all remote updates are
    /// applied, all remote events are received or shown by [`view`](Self::view), and no speculation is left.
    fn run(&mut self, until: Time, budget: u64) -> Pause;

    /// The time of the last event handled, of all parts of all processes. It may depend on the scheduler, and so
    /// may [`events`](Self::events): schedulers differ in how many idle wake-ups they handle.
    fn now(&self) -> Time;

    /// Events committed by this process.
    fn events(&self) -> u64;

    /// Shows the parts of this process in order. Only between two calls of [`run`](Self::run).
    fn view(&mut self, see: &mut dyn FnMut(PartView<'_, M>));

    /// Ends the run and hands the parts of this process back, in order.
    fn into_parts(self: Box<Self>) -> Vec<M>;

    /// The performance of the run so far.
    fn figures(&self) -> Figures;

    /// Writes the state of part `part` of this process. Parts that only take turns have one state together, that of part 0.
    /// Only between two calls of [`run`](Self::run): no message is in transit then, so the parts are the whole state.
    fn save_state(&self, part: usize, to: &mut Saver<'_>);

    /// Replaces the state of part `part` of this process by one that was saved of the same part of the model. After an
    /// error the scheduler must not be used.
    ///
    /// # Errors
    /// What is read cannot be the state of this part.
    fn load_state(&mut self, part: usize, from: &mut Loader<'_>) -> Result<(), Damaged>;

    /// Goes on, all states having been loaded, from `now`: what [`now`](Self::now) was when they were saved.
    fn go_on_from(&mut self, now: Time);
}

/// Performance figures of a scheduler in this process. They vary from run to run and are no results of the simulation.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Figures {
    /// Threads of this process.
    pub threads: usize,
    /// Parts.
    pub parts: usize,
    /// Processes.
    pub processes: usize,
    /// Events committed.
    pub events: u64,
    /// Remote events, remote updates and anti-messages sent from part to part.
    pub sent: u64,
    /// Rounds: how often the bounds of all parts were computed.
    pub rounds: u64,
    /// Windows: how often a part handled events until it had to wait, in a round or in a step of an asynchronous round.
    pub windows: u64,
    /// Windows that a thread has stolen from the work queue of another one.
    pub stolen: u64,
    /// Share of the threads' time in [`Scheduler::run`] spent waiting for other threads and processes.
    pub waiting: f64,
    /// Optimistic: events handled speculatively.
    pub speculated: u64,
    /// Optimistic: events rolled back.
    pub rolled_back: u64,
    /// Optimistic: rollbacks of a part, each of one event or more.
    pub rollbacks: u64,
    /// Optimistic: anti-messages sent to cancel remote events and remote updates.
    pub anti_messages: u64,
    /// Optimistic: how often the global virtual time was computed.
    pub gvt_rounds: u64,
    /// Optimistic: the largest size of the undo logs, bytes.
    pub peak_journal_bytes: u64,
    /// Where the number of threads was measured.
    pub thread_choice: Option<ThreadFigures>,
}

/// How many threads a run has taken by measurement, and why.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct ThreadFigures {
    /// The number of threads that handled most events.
    pub threads: usize,
    /// The share of the events that they handled.
    pub share: f64,
    /// Trials of another number.
    pub trials: u64,
    /// The last one that chose this number; `None` if there was none.
    pub trial: Option<ThreadTrial>,
}

/// A comparison of two numbers of threads.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct ThreadTrial {
    /// The two numbers.
    pub fewer: usize,
    /// The two numbers.
    pub more: usize,
    /// Time on the clock per event with more threads, over that with fewer.
    pub clock: f64,
    /// CPU time per event likewise.
    pub cpu: f64,
}

impl ThreadTrial {
    /// Share of the time on the clock that more threads have to save.
    pub const LEAST_GAIN: f64 = 0.25;

    /// Whether more threads are worth their CPU time.
    pub fn pays(&self) -> bool {
        self.clock <= 1.0 - Self::LEAST_GAIN
    }
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
            thread_choice: self.thread_choice.or(other.thread_choice),
        }
    }

    /// Committed events as a share of all that were handled.
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

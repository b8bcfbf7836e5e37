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
    /// The requested number of events was handled.
    Budget,
    /// The model requested a stop: the code of the earliest such event, and the smallest code of that instant. See
    /// [`HALT_GRID`](crate::HALT_GRID).
    Halted(u32),
    /// Another process, or the connection to it, failed, with the known reason. The run cannot continue.
    Lost(String),
}

/// A read-only view of a part between two calls of [`Scheduler::run`].
pub struct PartView<'a, M: Model> {
    /// The part.
    pub model: &'a M,
    /// Its pending events, in arbitrary order.
    pub events: Box<dyn Iterator<Item = &'a M::Event> + 'a>,
    /// The remote events that have arrived but were not [received](Model::receive_event).
    pub remote_events: Box<dyn Iterator<Item = &'a M::RemoteEvent> + 'a>,
}

/// Runs the parts of a model in this process, together with other processes if there are any.
///
/// All processes call the same methods with the same arguments at the same point: [`run`](Self::run) is collective. The
/// results do not depend on the scheduler.
///
/// Between runs, the states of the parts can be [saved](Self::save_state) one by one, and loaded into schedulers of the
/// same kind, built from the same model in the same division, on any number of processes. A resumed run continues like
/// the saved one.
pub trait Scheduler<M: Model>: Send {
    /// Handles all events up to and including `until`. Returns earlier, with [`Pause::Budget`], after about `budget`
    /// events of any process. Then no message is in transit between parts: all remote updates are applied, all remote
    /// events are received or shown by [`view`](Self::view), and no speculation is left.
    fn run(&mut self, until: Time, budget: u64) -> Pause;

    /// The time of the last event handled, over all parts of all processes. It may depend on the scheduler, and so may
    /// [`events`](Self::events): schedulers handle different numbers of idle wake-ups.
    fn now(&self) -> Time;

    /// Events committed by this process.
    fn events(&self) -> u64;

    /// Shows the parts of this process in order. Only between two calls of [`run`](Self::run).
    fn view(&mut self, see: &mut dyn FnMut(PartView<'_, M>));

    /// Ends the run and returns the parts of this process, in order.
    fn into_parts(self: Box<Self>) -> Vec<M>;

    /// The performance of the run so far.
    fn figures(&self) -> Figures;

    /// Writes the state of part `part` of this process. Parts that take turns have one common state, that of part 0.
    /// Only between two calls of [`run`](Self::run): without messages in transit, the parts are the whole state.
    fn save_state(&self, part: usize, to: &mut Saver<'_>);

    /// Replaces the state of part `part` of this process by a saved state of the same part of the model. After an error
    /// the scheduler must not be used.
    ///
    /// # Errors
    /// The input is not a state of this part.
    fn load_state(&mut self, part: usize, from: &mut Loader<'_>) -> Result<(), Damaged>;

    /// Resumes after all states are loaded; `now` is the value of [`now`](Self::now) when they were saved.
    fn go_on_from(&mut self, now: Time);
}

/// Performance figures of a scheduler in this process. They vary between runs and are not results of the simulation.
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
    /// Rounds: each computes the bounds of all parts.
    pub rounds: u64,
    /// Windows: each time a part handles events until it has to wait, in a round or in a step of an asynchronous round.
    pub windows: u64,
    /// Windows stolen from the work queue of another thread.
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
    /// Optimistic: computations of the global virtual time.
    pub gvt_rounds: u64,
    /// Optimistic: the largest size of the undo logs, bytes.
    pub peak_journal_bytes: u64,
    /// The measured choice of the number of threads.
    pub thread_choice: Option<ThreadFigures>,
}

/// The number of threads chosen by measurement, and the reason.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct ThreadFigures {
    /// The number of threads that handled most events.
    pub threads: usize,
    /// The share of events that they handled.
    pub share: f64,
    /// Trials of another number.
    pub trials: u64,
    /// The last trial that chose this number, if any.
    pub trial: Option<ThreadTrial>,
}

/// A comparison of two numbers of threads.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct ThreadTrial {
    /// The two numbers.
    pub fewer: usize,
    /// The two numbers.
    pub more: usize,
    /// Wall time per event with more threads, relative to fewer.
    pub clock: f64,
    /// CPU time per event, relative to fewer threads.
    pub cpu: f64,
}

impl ThreadTrial {
    /// Share of the wall time that more threads must save.
    pub const LEAST_GAIN: f64 = 0.25;

    /// Whether more threads are worth their CPU time.
    pub fn pays(&self) -> bool {
        self.clock <= 1.0 - Self::LEAST_GAIN
    }
}

impl Figures {
    /// The combined figures of two processes of a run.
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

    /// Committed events as a share of all handled events.
    pub fn efficiency(&self) -> f64 {
        share(self.events, self.events + self.rolled_back).unwrap_or(1.0)
    }

    /// Mean number of events of a part per round in which it has events.
    pub fn events_per_window(&self) -> f64 {
        share(self.events, self.windows).unwrap_or(0.0)
    }
}

fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

//! The interface between a model and the schedulers.

use crate::{Digest, Mode, Time};

/// The number of a logical process, `0..model.processes()`.
pub type Lp = u32;

/// The place of an event in its receiver's order: time, then sender, then the sender's count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// When the event is handled.
    pub time: Time,
    /// Who sent it, or [`Key::CANONICAL`].
    pub sender: u32,
    /// The sender's sequence number, or the name of a canonical event.
    pub sequence: u32,
}

impl Key {
    /// The sender of *canonical* events: those that an LP schedules for itself to look again (port
    /// free, credit arrived). They come after all others of their instant, are told apart by what
    /// they look at, and are idempotent, so that it does not matter how often or by whom they
    /// were asked for.
    pub const CANONICAL: u32 = u32::MAX;
}

/// What an event handler may do besides changing its LP's state.
pub trait Context<E: Copy>: Mode {
    /// The current time.
    fn now(&self) -> Time;

    /// Schedules `event` at `at` for `to`. `at` must be later than now; for another LP at least
    /// the lookahead later.
    fn send(&mut self, to: Lp, at: Time, event: E);

    /// Schedules a canonical event (see [`Key::CANONICAL`]) named `what` for LP `lp` itself at
    /// `at`, later than now.
    fn look_again(&mut self, lp: Lp, at: Time, what: u32, event: E);

    /// Ends the run after this event, with a code that the model defines.
    fn halt(&mut self, code: u32);
}

/// A simulation model: logical processes with state, and what they do on an event.
pub trait Model: crate::Journalled {
    /// What travels between LPs; small plain data.
    type Event: Copy + std::fmt::Debug;

    /// Number of logical processes.
    fn processes(&self) -> u32;

    /// Schedules the first events of LP `lp` at time zero or later.
    fn start<C: Context<Self::Event>>(&mut self, ctx: &mut C, lp: Lp);

    /// Handles `event` at LP `lp`.
    fn handle<C: Context<Self::Event>>(&mut self, ctx: &mut C, lp: Lp, event: Self::Event);

    /// The smallest delay with which `from` may schedule an event for `to` (`from != to`).
    fn lookahead(&self, from: Lp, to: Lp) -> Time;

    /// Adds every result to a digest, in an order that does not depend on the scheduler.
    fn results(&self, digest: &mut Digest);
}

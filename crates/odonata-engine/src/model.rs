//! The interface between a model and the schedulers.

use crate::{Cell, Digest, Mode, Time};
use std::ops::Range;

/// The number of a logical process, counted over the whole model.
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

    /// The time that LP `lp` of the same part is at: its events before are handled, those after it are not. Not that of
    /// [`now`](Self::now) where LPs take turns. What one LP does to the state of another goes by the time of that one.
    fn now_of(&self, lp: Lp) -> Time;

    /// The time before which all events of all LPs of the part are handled.
    fn settled(&self) -> Time;

    /// Schedules `event` at `at` for `to`, an LP of the same part. `at` must be later than now; for
    /// another LP at least the lookahead later.
    fn send(&mut self, to: Lp, at: Time, event: E);

    /// Schedules a canonical event (see [`Key::CANONICAL`]) named `what` for LP `lp` itself at
    /// `at`, later than it [is](Self::now_of).
    fn look_again(&mut self, lp: Lp, at: Time, what: u32, event: E);

    /// Asks for the run to end: see [`HALT_GRID`](crate::HALT_GRID) for when it does. `code` is the model's.
    fn halt(&mut self, code: u32);
}

/// Something that travels from one part to another, perhaps between processes.
pub trait Wire: Copy + Send + std::fmt::Debug + PartialEq + 'static {
    /// Appends the value's bytes, the same number for every value of the type.
    fn write(&self, bytes: &mut Vec<u8>);
    /// Reads what [`write`](Self::write) has written from the front of `bytes`, and moves it on; `None` if too few
    /// are left, or they are no value.
    fn read(bytes: &mut &[u8]) -> Option<Self>;
}

/// Nothing ever travels: for models that are not divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Never {}

impl Wire for Never {
    fn write(&self, _: &mut Vec<u8>) {
        match *self {}
    }
    fn read(_: &mut &[u8]) -> Option<Never> {
        None
    }
}

/// What a part has for LPs of other parts. Empty between events: the scheduler takes it after each.
///
/// Both kinds must lie at least the lookahead after now.
#[derive(Debug)]
pub struct Outbox<P, T> {
    /// Causes an event: receiver, when, and all that the receiver needs to know of it, by value.
    pub parcels: Vec<(Lp, Time, P)>,
    /// Causes none, but counts from its time on, for every event of that instant: receiver, when, what. The order of
    /// tokens of an instant makes no difference.
    pub tokens: Vec<(Lp, Time, T)>,
}

impl<P, T> Outbox<P, T> {
    /// Nothing to send.
    pub const fn new() -> Self {
        Outbox {
            parcels: Vec::new(),
            tokens: Vec::new(),
        }
    }

    /// Whether nothing is to be sent.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.parcels.is_empty() && self.tokens.is_empty()
    }
}

impl<P, T> Default for Outbox<P, T> {
    fn default() -> Self {
        Self::new()
    }
}

/// A simulation model, or one *part* of it: logical processes with state, and what they do on an event.
///
/// A part is a range of the LPs with all their state, and nothing else of the model's; a model that is not divided
/// is one part. What happens inside a part is the same code whether there are others or not.
pub trait Model: crate::Journalled + crate::Saved + Send {
    /// What travels between LPs of a part; small plain data.
    type Event: Cell + std::fmt::Debug + Send;
    /// What travels to an LP of another part and causes an event there.
    type Parcel: Wire;
    /// What travels to an LP of another part and causes none.
    type Token: Wire;

    /// The logical processes of this part.
    fn processes(&self) -> Range<Lp>;

    /// Schedules the first events of LP `lp` at time zero or later. Exports nothing.
    fn start<C: Context<Self::Event>>(&mut self, ctx: &mut C, lp: Lp);

    /// `event` will be handled soon: what it needs may be fetched into the cache. Changes nothing.
    #[inline(always)]
    fn foresee(&self, event: &Self::Event) {
        let _ = event;
    }

    /// Handles `event` at LP `lp`.
    fn handle<C: Context<Self::Event>>(&mut self, ctx: &mut C, lp: Lp, event: Self::Event);

    /// What the events handled since it was last emptied have for other parts.
    fn outbox(&mut self) -> &mut Outbox<Self::Parcel, Self::Token>;

    /// Takes in a parcel for LP `lp`: puts what it carries into the state of this part, where nothing looks at it
    /// before the event returned. The scheduler calls this at any moment from the parcel's arrival until its time,
    /// and sees to it that the event is handled in its place of the order. Undone like an event.
    fn receive<C: Context<Self::Event>>(&mut self, ctx: &mut C, lp: Lp, parcel: Self::Parcel) -> Self::Event;

    /// Takes in a token for LP `lp` that counts from `at` on; called at any moment at which [`Context::now`] is before
    /// `at`. May ask to look again, at `at` or later. Undone like an event.
    fn accept<C: Context<Self::Event>>(&mut self, ctx: &mut C, lp: Lp, at: Time, token: Self::Token);

    /// The smallest delay with which `from` may schedule an event for `to` (`from != to`), or send it anything.
    fn lookahead(&self, from: Lp, to: Lp) -> Time;

    /// Adds every result of a model that is not divided to a digest, in an order that does not depend on the
    /// scheduler.
    fn results(&self, digest: &mut Digest);
}

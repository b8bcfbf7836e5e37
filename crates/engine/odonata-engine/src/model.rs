//! The interface between a model and the schedulers.

use crate::{Cell, Digest, Mode, Time};
use std::ops::Range;

/// The number of a logical process (LP), counted over the whole model.
pub type Lp = u32;

/// The timestamp of an event with its tie-breakers: time, then sender, then the sender's sequence number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// When the event is handled.
    pub time: Time,
    /// The LP that sent it, or [`Key::WAKE_UP`].
    pub sender: u32,
    /// The sender's sequence number, or the id of a wake-up.
    pub sequence: u32,
}

impl Key {
    /// The sender of *idempotent wake-ups*: events without data that make an LP examine its state once more (a port is
    /// free, a credit has arrived). They are handled after all other events of their instant and have an id. A second
    /// wake-up with the same id does nothing, so the number of requests and their senders do not matter.
    pub const WAKE_UP: u32 = u32::MAX;
}

/// The scheduling interface of an event handler: the clock, sending events, ending the run.
///
/// The events of a model are often an `enum` over those of its layers. A layer asks for `Context<Event:
/// From<LayerEvent>>` and never names the event type of the model.
pub trait Context: Mode {
    /// The model's [`Event`](Model::Event).
    type Event: Copy;

    /// The current time.
    fn now(&self) -> Time;

    /// The local time of LP `lp` of the same part: its earlier events are handled, its later ones are not. It differs
    /// from [`now`](Self::now) when clusters of LPs run one after the other. A handler that changes the state of
    /// another LP must use the time of that LP.
    fn now_of(&self, lp: Lp) -> Time;

    /// The time before which all events of all LPs of the part are handled.
    fn handled_before(&self) -> Time;

    /// Schedules `event` at `at` for `to`, an LP of the same part. `at` must be later than now; for
    /// another LP at least the lookahead later.
    fn send(&mut self, to: Lp, at: Time, event: Self::Event);

    /// Schedules the idempotent wake-up (see [`Key::WAKE_UP`]) `id` for LP `lp` itself at `at`, later than
    /// [its time](Self::now_of).
    fn wake_up(&mut self, lp: Lp, at: Time, id: u32, event: Self::Event);

    /// Requests the end of the run, see [`HALT_GRID`](crate::HALT_GRID). The model chooses `code`.
    fn halt(&mut self, code: u32);
}

/// The wire format of a value: how it is encoded as bytes when it is sent to another process.
pub trait WireFormat: Copy + Send + std::fmt::Debug + PartialEq + 'static {
    /// Appends the encoded value.
    fn write(&self, bytes: &mut Vec<u8>);
    /// Decodes a value from the front of `bytes` and removes it from them; `None` if too few bytes are left, or they
    /// encode no value.
    fn read(bytes: &mut &[u8]) -> Option<Self>;
}

/// Appends `value` in the format of [postcard](https://docs.rs/postcard): fields one after the other, integers with variable length.
///
/// # Panics
/// The type of `value` has a sequence whose length is not known.
pub fn write_compact<T: serde::Serialize>(value: &T, bytes: &mut Vec<u8>) {
    let buffer = std::mem::take(bytes);
    *bytes = postcard::to_extend(value, buffer).expect("plain data can be written");
}

/// Decodes what [`write_compact`] has written from the front of `bytes` and removes it from them; `None` as for
/// [`WireFormat::read`].
pub fn read_compact<'a, T: serde::Deserialize<'a>>(bytes: &mut &'a [u8]) -> Option<T> {
    let (value, rest) = postcard::take_from_bytes(bytes).ok()?;
    *bytes = rest;
    Some(value)
}

impl<const N: usize> WireFormat for [u32; N] {
    fn write(&self, bytes: &mut Vec<u8>) {
        bytes.extend(self.iter().flat_map(|word| word.to_le_bytes()));
    }
    fn read(bytes: &mut &[u8]) -> Option<Self> {
        let mut rest = *bytes;
        let mut words = [0; N];
        for word in &mut words {
            let (next, behind) = rest.split_first_chunk()?;
            (*word, rest) = (u32::from_le_bytes(*next), behind);
        }
        *bytes = rest;
        Some(words)
    }
}

/// An uninhabited message type, for models that are not divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Never {}

impl WireFormat for Never {
    fn write(&self, _: &mut Vec<u8>) {
        match *self {}
    }
    fn read(_: &mut &[u8]) -> Option<Never> {
        None
    }
}

/// The send buffer of a part: remote events and remote updates for LPs of other parts. Empty between events, because the
/// scheduler sends its content after each event.
///
/// The time of both kinds must be at least the lookahead after now.
#[derive(Debug)]
pub struct SendBuffer<E, U> {
    /// Remote events: receiver, time, and all data for the receiver, by value.
    pub events: Vec<(Lp, Time, E)>,
    /// Remote updates: receiver, time, content. An update causes no event. It takes effect for every event from its
    /// time on. Updates of the same instant must commute.
    pub updates: Vec<(Lp, Time, U)>,
}

impl<E, U> SendBuffer<E, U> {
    /// Nothing to send.
    pub const fn new() -> Self {
        SendBuffer {
            events: Vec::new(),
            updates: Vec::new(),
        }
    }

    /// Whether the buffer is empty.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.events.is_empty() && self.updates.is_empty()
    }
}

impl<E, U> Default for SendBuffer<E, U> {
    fn default() -> Self {
        Self::new()
    }
}

/// A simulation model, or one *part* of it: logical processes with their state and event handlers.
///
/// A part is a range of the LPs with all their state. An undivided model is one part. The handlers are the same code
/// for one part and for many.
pub trait Model: crate::Journalled + crate::Saved + Send {
    /// An event between LPs of the same part; small plain data.
    type Event: Cell + std::fmt::Debug + Send;
    /// An event for an LP of another part, with all its data.
    type RemoteEvent: WireFormat;
    /// A change of the state of an LP of another part that causes no event, such as a credit.
    type RemoteUpdate: WireFormat;

    /// The logical processes of this part.
    fn processes(&self) -> Range<Lp>;

    /// Schedules the first events of LP `lp` at time zero or later. Sends nothing to other parts.
    fn start<C: Context<Event = Self::Event>>(&mut self, ctx: &mut C, lp: Lp);

    /// Prefetches the data of `event`, which will be handled soon, into the cache. Changes nothing.
    #[inline(always)]
    fn prefetch(&self, event: &Self::Event) {
        let _ = event;
    }

    /// Handles `event` at LP `lp`.
    fn handle<C: Context<Event = Self::Event>>(&mut self, ctx: &mut C, lp: Lp, event: Self::Event);

    /// The messages to other parts that the last event sent.
    fn send_buffer(&mut self) -> &mut SendBuffer<Self::RemoteEvent, Self::RemoteUpdate>;

    /// Converts a remote event for LP `lp` into an event of this part, and stores its data in the state. No handler may
    /// read the data before that event: the scheduler calls this at any time between arrival and event time, and queues
    /// the returned event. Undone like the handling of an event.
    fn receive_event<C: Context<Event = Self::Event>>(
        &mut self,
        ctx: &mut C,
        lp: Lp,
        event: Self::RemoteEvent,
    ) -> Self::Event;

    /// Applies a remote update of LP `lp` that takes effect at `at`. The scheduler calls this at any time before `at`
    /// (by [`Context::now`]). May schedule a wake-up at `at` or later. Undone like the handling of an event.
    fn apply_update<C: Context<Event = Self::Event>>(
        &mut self,
        ctx: &mut C,
        lp: Lp,
        at: Time,
        update: Self::RemoteUpdate,
    );

    /// The smallest delay of an event or message from `from` to `to` (`from != to`).
    fn lookahead(&self, from: Lp, to: Lp) -> Time;

    /// Adds every result of an undivided model to a digest, in an order independent of the scheduler.
    fn results(&self, digest: &mut Digest);
}

//! The input queue of a part: messages that the model has not received yet and that may still be cancelled.

use super::messages::AntiMessage;
use crate::wheel::order;
use crate::{Key, Lp, Time, WireFormat};

/// A position in the order of a part: remote updates come before all events of their instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Position {
    pub(super) time: Time,
    is_event: bool,
    order: u64,
}

impl Position {
    /// The position of an event with this [rank](crate::wheel::Scheduled::rank).
    #[inline]
    pub(super) fn event((time, order): (Time, u64)) -> Position {
        Position {
            time,
            is_event: true,
            order,
        }
    }

    /// Whether it is the position of an event.
    pub(super) fn is_event(&self) -> bool {
        self.is_event
    }

    fn update(time: Time) -> Position {
        Position {
            time,
            is_event: false,
            order: 0,
        }
    }
}

/// A message that has arrived.
#[derive(Clone, Copy, Debug)]
pub(super) enum InputMessage<E, U> {
    Event(Lp, Key, E),
    Update(Lp, Time, U),
}

impl<E, U> InputMessage<E, U> {
    pub(super) fn position(&self) -> Position {
        match *self {
            InputMessage::Event(_, key, _) => Position::event((key.time, order(key))),
            InputMessage::Update(_, at, _) => Position::update(at),
        }
    }

    pub(super) fn lp(&self) -> Lp {
        match *self {
            InputMessage::Event(lp, ..) | InputMessage::Update(lp, ..) => lp,
        }
    }
}

impl<E: WireFormat, U: WireFormat> InputMessage<E, U> {
    /// Whether `anti_message` cancels this message, or an equal one.
    pub(super) fn is_cancelled_by(&self, anti_message: &AntiMessage<U>) -> bool {
        match (self, anti_message) {
            (InputMessage::Event(lp, key, _), AntiMessage::Event(cancelled, position)) => {
                (lp, key) == (cancelled, position)
            }
            (InputMessage::Update(lp, at, update), AntiMessage::Update(cancelled, time, content)) => {
                (lp, at, update) == (cancelled, time, content)
            }
            _ => false,
        }
    }
}

/// See the [module](self).
#[derive(Debug)]
pub(super) struct InputQueue<E, U> {
    /// In reverse order.
    messages: Vec<InputMessage<E, U>>,
    /// Whether they are in order.
    sorted: bool,
}

impl<E: WireFormat, U: WireFormat> InputQueue<E, U> {
    pub(super) const fn new() -> Self {
        InputQueue {
            messages: Vec::new(),
            sorted: true,
        }
    }

    pub(super) fn add(&mut self, input: InputMessage<E, U>) {
        self.messages.push(input);
        self.sorted = false;
    }

    /// Removes the message that `anti_message` cancels; `false` if it is not in the queue.
    pub(super) fn remove(&mut self, anti_message: &AntiMessage<U>) -> bool {
        let at = self
            .messages
            .iter()
            .position(|input| input.is_cancelled_by(anti_message));
        // Not `swap_remove`: it would break the order.
        at.map(|at| self.messages.remove(at)).is_some()
    }

    /// Restores the order after insertions.
    pub(super) fn sort(&mut self) {
        if !self.sorted {
            // A stable sort merges the sorted front with the new end.
            self.messages.sort_by_key(|input| std::cmp::Reverse(input.position()));
            self.sorted = true;
        }
    }

    /// The first message. The queue must be in order.
    #[inline]
    pub(super) fn first(&self) -> Option<&InputMessage<E, U>> {
        debug_assert!(self.sorted);
        self.messages.last()
    }

    /// Removes the first message.
    pub(super) fn pop(&mut self) -> Option<InputMessage<E, U>> {
        debug_assert!(self.sorted);
        self.messages.pop()
    }

    /// The time of the first message.
    pub(super) fn next_time(&self) -> Option<Time> {
        self.first().map(|input| input.position().time)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    pub(super) fn clear(&mut self) {
        self.messages.clear();
        self.sorted = true;
    }
}

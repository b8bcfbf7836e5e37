//! Letters that have come to a part for later, by value: as long as they may be recalled, the model does not know them.

use super::letters::Recall;
use crate::wheel::order;
use crate::{Key, Lp, Time, Wire};

/// A place in the order of what happens in a part: tokens count before all events of their instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    pub(super) time: Time,
    is_event: bool,
    order: u64,
}

impl Place {
    /// Of an event, as the queue [ranks](crate::wheel::Scheduled::rank) it.
    #[inline]
    pub(super) fn event((time, order): (Time, u64)) -> Place {
        Place {
            time,
            is_event: true,
            order,
        }
    }

    /// Whether it is that of an event.
    pub(super) fn is_event(&self) -> bool {
        self.is_event
    }

    fn token(time: Time) -> Place {
        Place {
            time,
            is_event: false,
            order: 0,
        }
    }
}

/// A letter.
#[derive(Clone, Copy, Debug)]
pub(super) enum Input<P, T> {
    Parcel(Lp, Key, P),
    Token(Lp, Time, T),
}

impl<P, T> Input<P, T> {
    pub(super) fn place(&self) -> Place {
        match *self {
            Input::Parcel(_, key, _) => Place::event((key.time, order(key))),
            Input::Token(_, at, _) => Place::token(at),
        }
    }

    pub(super) fn lp(&self) -> Lp {
        match *self {
            Input::Parcel(lp, ..) | Input::Token(lp, ..) => lp,
        }
    }
}

impl<P: Wire, T: Wire> Input<P, T> {
    /// Whether `recall` means this one, or one that is equal to it.
    pub(super) fn is_meant_by(&self, recall: &Recall<T>) -> bool {
        match (self, recall) {
            (Input::Parcel(lp, key, _), Recall::Parcel(recalled, place)) => (lp, key) == (recalled, place),
            (Input::Token(lp, at, token), Recall::Token(recalled, time, content)) => {
                (lp, at, token) == (recalled, time, content)
            }
            _ => false,
        }
    }
}

/// See the [module](self).
#[derive(Debug)]
pub(super) struct Inputs<P, T> {
    /// The first is last.
    letters: Vec<Input<P, T>>,
    /// Whether they are in order.
    sorted: bool,
}

impl<P: Wire, T: Wire> Inputs<P, T> {
    pub(super) const fn new() -> Self {
        Inputs {
            letters: Vec::new(),
            sorted: true,
        }
    }

    pub(super) fn add(&mut self, input: Input<P, T>) {
        self.letters.push(input);
        self.sorted = false;
    }

    /// Forgets the letter that `recall` means; `false` if it is not here.
    pub(super) fn remove(&mut self, recall: &Recall<T>) -> bool {
        let at = self.letters.iter().position(|input| input.is_meant_by(recall));
        // Not swapped with the last: what is in order stays so.
        at.map(|at| self.letters.remove(at)).is_some()
    }

    /// Puts all in order, after some were added.
    pub(super) fn sort(&mut self) {
        if !self.sorted {
            // A stable sort of what is in order but for its end merges the two.
            self.letters.sort_by_key(|input| std::cmp::Reverse(input.place()));
            self.sorted = true;
        }
    }

    /// The first, all being in order.
    #[inline]
    pub(super) fn first(&self) -> Option<&Input<P, T>> {
        debug_assert!(self.sorted);
        self.letters.last()
    }

    /// Takes the first.
    pub(super) fn pop(&mut self) -> Option<Input<P, T>> {
        debug_assert!(self.sorted);
        self.letters.pop()
    }

    /// When the first counts.
    pub(super) fn next_time(&self) -> Option<Time> {
        self.first().map(|input| input.place().time)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.letters.is_empty()
    }

    pub(super) fn clear(&mut self) {
        self.letters.clear();
        self.sorted = true;
    }
}

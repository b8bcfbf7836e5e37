//! Turn: the surroundings of an input to a component. A component owns its state, takes an input and the time, and adds
//! its effects to a list, which the hosts carry out in order.

use crate::failure::Failure;
use crate::observe::Observers;
use odonata_engine::Time;

/// The effects of an input, in order; kept between inputs for its memory.
#[derive(Debug)]
pub(crate) struct Effects<E> {
    list: Vec<E>,
    /// Errors of programs, carried out after the list.
    failures: Vec<Failure>,
}

impl<E: Copy> Effects<E> {
    pub(crate) fn new() -> Self {
        Effects {
            list: Vec::new(),
            failures: Vec::new(),
        }
    }

    #[inline]
    pub(crate) fn push(&mut self, effect: E) {
        self.list.push(effect);
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.list.is_empty() && self.failures.is_empty()
    }

    /// Takes the effects, to be [given back](Self::give_back) when they are carried out.
    #[inline]
    pub(crate) fn take_list(&mut self) -> Vec<E> {
        std::mem::take(&mut self.list)
    }

    /// Takes back the memory of effects that are carried out.
    #[inline]
    pub(crate) fn give_back(&mut self, mut list: Vec<E>) {
        list.clear();
        self.list = list;
    }

    /// Reports an error of the program.
    pub(crate) fn fails(&mut self, failure: Failure) {
        self.failures.push(failure);
    }

    /// Takes the next error of a program.
    #[inline]
    pub(crate) fn take_failure(&mut self) -> Option<Failure> {
        (!self.failures.is_empty()).then(|| self.failures.remove(0))
    }
}

/// The time of an input, the observers, and the list for its effects of type `E`.
pub(crate) struct Turn<'a, E> {
    pub(crate) now: Time,
    pub(crate) observers: &'a mut Observers,
    pub(crate) effects: &'a mut Effects<E>,
}

impl<E: Copy> Turn<'_, E> {
    /// Reports an error of the program.
    pub(crate) fn fails(&mut self, failure: Failure) {
        self.effects.fails(failure);
    }
}

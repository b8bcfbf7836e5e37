//! The slots of a timing wheel's events, linked into one list per bucket.
//!
//! Only the wheel has their numbers, and speculation takes back events, not the state of the wheel. So all are
//! [trusted](crate::state::trusted) under every mode of the model.

use crate::state::{cell, cell_mut, make_room, prefetch};
use crate::{NIL, Plain};

#[derive(Clone, Copy, Debug)]
struct Slot<T> {
    value: T,
    /// The next slot of the list, or [`NIL`].
    next: u32,
}

/// Values in linked lists; one list holds the free slots.
#[derive(Debug)]
pub(super) struct Slots<T> {
    slots: Vec<Slot<T>>,
    free: u32,
}

impl<T: Copy> Slots<T> {
    pub(super) fn new() -> Self {
        Slots {
            slots: Vec::new(),
            free: NIL,
        }
    }

    #[inline(always)]
    pub(super) fn get(&self, slot: u32) -> &T {
        &cell::<Plain, _>(&self.slots, slot).value
    }

    /// The value in `slot`, and the next slot of the list.
    #[inline(always)]
    pub(super) fn linked(&self, slot: u32) -> (&T, u32) {
        let Slot { value, next } = cell::<Plain, _>(&self.slots, slot);
        (value, *next)
    }

    /// Prefetches `slot`, if it exists.
    #[inline(always)]
    pub(super) fn prefetch(&self, slot: u32) {
        prefetch(&self.slots, slot);
    }

    /// Inserts `value` at the front of the list with head `head`; returns the new head.
    pub(super) fn insert(&mut self, value: T, head: u32) -> u32 {
        if let Some((slot, cell)) = self.reuse(head) {
            *cell = value;
            return slot;
        }
        make_room(&mut self.slots);
        self.slots.push(Slot { value, next: head });
        self.slots.len() as u32 - 1
    }

    /// Takes a free slot, now the front of the list with head `head`, and returns it with its storage; `None` if no
    /// slot is free.
    #[inline(always)]
    pub(super) fn reuse(&mut self, head: u32) -> Option<(u32, &mut T)> {
        let slot = self.free;
        let Slot { value, next } = self.slots.get_mut(slot as usize)?;
        self.free = std::mem::replace(next, head);
        Some((slot, value))
    }

    /// Frees `slot`, which is in no list, and returns its value.
    #[inline(always)]
    pub(super) fn free(&mut self, slot: u32) -> T {
        let Slot { value, next } = cell_mut::<Plain, _>(&mut self.slots, slot);
        *next = std::mem::replace(&mut self.free, slot);
        *value
    }

    /// Frees all slots.
    pub(super) fn free_all(&mut self) {
        self.slots.clear();
        self.free = NIL;
    }

    /// Removes the first `wanted` value of the list with head `head`.
    ///
    /// # Panics
    /// If there is none.
    pub(super) fn remove(&mut self, head: &mut u32, wanted: impl Fn(&T) -> bool) {
        let (mut before, mut at) = (NIL, *head);
        while !wanted(self.get(at)) {
            (before, at) = (at, self.slots[at as usize].next);
        }
        let following = self.slots[at as usize].next;
        self.free(at);
        match before {
            NIL => *head = following,
            _ => self.slots[before as usize].next = following,
        }
    }

    /// The values of the list with head `head`.
    pub(super) fn list(&self, head: u32) -> impl Iterator<Item = &T> {
        let mut at = head;
        std::iter::from_fn(move || {
            let Slot { value, next } = self.slots.get(at as usize)?;
            at = *next;
            Some(value)
        })
    }

    /// Number of slots with memory.
    #[cfg(test)]
    pub(super) fn capacity(&self) -> usize {
        self.slots.capacity()
    }
}

//! The open bucket of a timing wheel: its events in order, popped from the end.
//!
//! Most buckets have few events, in an order that no branch can predict. So the place of each is counted, which takes
//! more instructions than a sort by comparisons, and less time.

use super::Scheduled;
use super::slots::Slots;
use crate::{Lp, NIL, Time};
use std::cmp::Reverse;

/// Events that are sorted by counting.
const FEW: usize = 16;
/// The largest delay of an event after [`OpenBucket::base`].
const MAX_DELAY: u64 = u32::MAX as u64;
/// Bits of the largest bucket width in ps.
pub(super) const WIDTH_BITS: u32 = 14;
const _: () = assert!(
    WIDTH_BITS + FEW.trailing_zeros() < i32::BITS,
    "a key has a delay and a number"
);

/// An event: the complement of its delay after the base in the upper half, its slot in the lower half. So a bucket is
/// sorted as plain numbers, and events of one time are put in order thereafter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Opened(u64);

impl Opened {
    #[inline(always)]
    fn new(delay: u64, slot: u32) -> Self {
        Opened(u64::from(!(delay as u32)) << 32 | u64::from(slot))
    }

    #[inline(always)]
    fn delay(self) -> u64 {
        u64::from(!((self.0 >> 32) as u32))
    }

    #[inline(always)]
    fn slot(self) -> u32 {
        self.0 as u32
    }

    #[inline(always)]
    fn is_at_time_of(self, other: Opened) -> bool {
        (self.0 ^ other.0) >> 32 == 0
    }
}

/// The events of the open bucket, in the slots of the wheel.
#[derive(Debug)]
pub(super) struct OpenBucket {
    /// The latest first.
    events: Vec<Opened>,
    /// Not after any event, and less than 2^32 ps before each.
    base: Time,
}

impl OpenBucket {
    pub(super) fn new() -> Self {
        OpenBucket {
            events: Vec::new(),
            base: Time::ZERO,
        }
    }

    #[inline(always)]
    pub(super) fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    pub(super) fn len(&self) -> usize {
        self.events.len()
    }

    /// Number of events with memory.
    #[cfg(test)]
    pub(super) fn capacity(&self) -> usize {
        self.events.capacity()
    }

    pub(super) fn clear(&mut self) {
        self.events.clear();
    }

    /// The slots of all events.
    pub(super) fn slots(&self) -> impl Iterator<Item = u32> + '_ {
        self.events.iter().map(|opened| opened.slot())
    }

    /// Time and slot of the first event.
    #[inline(always)]
    pub(super) fn first(&self) -> Option<(Time, u32)> {
        let opened = self.events.last()?;
        Some((self.time_of(*opened), opened.slot()))
    }

    #[inline(always)]
    fn time_of(&self, opened: Opened) -> Time {
        Time(self.base.0 + opened.delay())
    }

    /// Removes the first event.
    #[inline(always)]
    pub(super) fn pop(&mut self) {
        self.events.pop();
    }

    /// Takes the events of a list, at most 2^[`WIDTH_BITS`] ps after `base`; the bucket is empty.
    #[inline(always)]
    pub(super) fn fill<E: Copy>(&mut self, base: Time, slots: &Slots<Scheduled<E>>, head: u32) {
        let events = &mut self.events;
        self.base = base;
        let (mut keys, mut few, mut count) = ([i32::MIN; FEW], [Opened(0); FEW], 0);
        let mut slot = head;
        while slot != NIL && count < FEW {
            let (item, next) = slots.linked(slot);
            let delay = item.time.0 - base.0;
            keys[count] = ((delay as usize) << FEW.trailing_zeros() | count) as i32;
            few[count] = Opened::new(delay, slot);
            count += 1;
            slot = next;
        }
        events.extend_from_slice(&few);
        let has_equal_times = if slot == NIL {
            match count <= FEW / 2 {
                true => arrange::<{ FEW / 2 }>(events, &few, &keys, count),
                false => arrange::<FEW>(events, &few, &keys, count),
            }
        } else {
            while slot != NIL {
                let (item, next) = slots.linked(slot);
                events.push(Opened::new(item.time.0 - base.0, slot));
                slot = next;
            }
            events.sort_unstable();
            has_equal_times(events)
        };
        if has_equal_times {
            self.order_equal_times(slots);
        }
    }

    /// Orders the events that have the same time.
    #[inline(never)]
    fn order_equal_times<E: Copy>(&mut self, slots: &Slots<Scheduled<E>>) {
        for same in self.events.chunk_by_mut(|a, b| a.is_at_time_of(*b)) {
            if same.len() > 1 {
                same.sort_unstable_by_key(|opened| Reverse(slots.get(opened.slot()).order));
            }
        }
    }

    /// Inserts an event. `false` if it is too far from the others.
    pub(super) fn insert<E: Copy>(&mut self, slots: &mut Slots<Scheduled<E>>, item: Scheduled<E>) -> bool {
        let (time, rank) = (item.time, item.rank());
        if self.events.is_empty() {
            self.base = time;
        }
        if time < self.base {
            let latest = self.events.first().map_or(self.base, |&opened| self.time_of(opened));
            if latest.0 - time.0 > MAX_DELAY {
                return false;
            }
            let earlier = self.base.0 - time.0;
            for opened in &mut self.events {
                *opened = Opened::new(opened.delay() + earlier, opened.slot());
            }
            self.base = time;
        }
        let delay = time.0 - self.base.0;
        if delay > MAX_DELAY {
            return false;
        }
        let at = (self.events).partition_point(|other| slots.get(other.slot()).rank() > rank);
        self.events.insert(at, Opened::new(delay, slots.insert(item, NIL)));
        true
    }

    /// Removes the event with this rank and receiver, which is here, and returns its slot.
    pub(super) fn remove<E: Copy>(&mut self, slots: &Slots<Scheduled<E>>, rank: (Time, u64), lp: Lp) -> u32 {
        let first = (self.events).partition_point(|opened| slots.get(opened.slot()).rank() > rank);
        let mut others = self.events[first..].iter();
        let at = first
            + others
                .position(|opened| slots.get(opened.slot()).lp == lp)
                .expect("what is removed is there");
        self.events.remove(at).slot()
    }
}

/// Orders the first `count` events of `few` in `events` by descending keys, which are distinct, and removes all after
/// them; their keys are the lowest. Returns whether two are at one time.
///
/// The places are counted by vector instructions.
#[inline(always)]
fn arrange<const N: usize>(events: &mut Vec<Opened>, few: &[Opened; FEW], keys: &[i32; FEW], count: usize) -> bool {
    let mut places = [0; N];
    for &key in &keys[..N] {
        for (place, &other) in places.iter_mut().zip(keys) {
            *place += i32::from(other < key);
        }
    }
    events.truncate(count);
    for (&opened, place) in few[..count].iter().zip(places) {
        events[place as usize] = opened;
    }
    has_equal_times(events)
}

#[inline(always)]
fn has_equal_times(events: &[Opened]) -> bool {
    events.windows(2).any(|pair| pair[0].is_at_time_of(pair[1]))
}

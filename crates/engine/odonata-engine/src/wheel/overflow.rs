//! The overflow of a timing wheel: events beyond its span, in coarse buckets, and in a heap beyond these.
//!
//! On a large machine most events are that far ahead. At a million nodes, a dozen events are due per picosecond, and a
//! wheel of fitting bucket width spans 131 ns, a third of a packet's latency between groups. With a heap of a million
//! events, each push or pop costs twenty cache misses. Here an event is appended to one of a few lists, and once more
//! when its list moves into the wheel.

use super::Scheduled;
use crate::{Lp, Time};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Number of lists: the number of bits of a word.
const LISTS: u64 = u64::BITS as u64;

/// Compared by the key alone.
#[derive(Debug)]
struct ByKey<E>(Scheduled<E>);
impl<E> PartialEq for ByKey<E> {
    fn eq(&self, other: &Self) -> bool {
        self.0.rank() == other.0.rank()
    }
}
impl<E> Eq for ByKey<E> {}
impl<E> PartialOrd for ByKey<E> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl<E> Ord for ByKey<E> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.rank().cmp(&other.0.rank())
    }
}

/// Events from a start time on, by stretches of `2^shift` ps.
#[derive(Debug)]
pub(super) struct Overflow<E> {
    shift: u32,
    /// Number of the first stretch (time >> shift).
    first: u64,
    /// The events of the first [`LISTS`] stretches, unordered, each in the list of its stretch number modulo the number
    /// of lists. An empty list has no memory: its last content may have been far larger than the next.
    lists: Vec<Vec<Scheduled<E>>>,
    occupied: u64,
    /// The events of all later stretches.
    beyond: BinaryHeap<Reverse<ByKey<E>>>,
}

impl<E: Copy> Overflow<E> {
    /// An empty overflow from stretch `first` on.
    pub(super) fn new(shift: u32, first: u64) -> Self {
        Overflow {
            shift,
            first,
            lists: (0..LISTS).map(|_| Vec::new()).collect(),
            occupied: 0,
            beyond: BinaryHeap::new(),
        }
    }

    /// Adds an event of the first stretch or later.
    #[inline]
    pub(super) fn push(&mut self, item: Scheduled<E>) {
        let stretch = item.time.0 >> self.shift;
        debug_assert!(stretch >= self.first, "it belongs into the wheel");
        if stretch - self.first < LISTS {
            self.lists[(stretch % LISTS) as usize].push(item);
            self.occupied |= 1 << (stretch % LISTS);
        } else {
            self.beyond.push(Reverse(ByKey(item)));
        }
    }

    /// The first stretch with events.
    pub(super) fn next(&self) -> Option<u64> {
        match self.occupied {
            0 => self.beyond.peek().map(|Reverse(item)| item.0.time.0 >> self.shift),
            lists => Some(self.first + u64::from(lists.rotate_right((self.first % LISTS) as u32).trailing_zeros())),
        }
    }

    /// The time of the first event.
    pub(super) fn next_time(&self) -> Option<Time> {
        match self.occupied {
            0 => self.beyond.peek().map(|Reverse(item)| item.0.time),
            _ => {
                let list = &self.lists[(self.next()? % LISTS) as usize];
                list.iter().map(|item| item.time).min()
            }
        }
    }

    /// Takes the events of the first stretch; the next stretch becomes the first.
    pub(super) fn take(&mut self) -> Vec<Scheduled<E>> {
        let list = self.first % LISTS;
        self.occupied &= !(1 << list);
        let taken = std::mem::take(&mut self.lists[list as usize]);
        self.skip_to(self.first + 1);
        taken
    }

    /// Makes `first` the first stretch; all earlier stretches are empty.
    pub(super) fn skip_to(&mut self, first: u64) {
        self.first = first;
        while let Some(Reverse(item)) = self.beyond.peek()
            && (item.0.time.0 >> self.shift) - first < LISTS
            && let Some(Reverse(item)) = self.beyond.pop()
        {
            self.push(item.0);
        }
    }

    /// All events, in arbitrary order.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Scheduled<E>> {
        let beyond = self.beyond.iter().map(|Reverse(item)| &item.0);
        self.lists.iter().flatten().chain(beyond)
    }

    /// Removes the events `gone`, which are all here.
    pub(super) fn remove_all(&mut self, gone: Vec<((Time, u64), Lp)>) {
        let mut beyond = Vec::new();
        for (rank, lp) in gone {
            let stretch = rank.0.0 >> self.shift;
            if stretch - self.first >= LISTS {
                beyond.push((rank, lp));
                continue;
            }
            let list = &mut self.lists[(stretch % LISTS) as usize];
            let at = list.iter().position(|item| (item.rank(), item.lp) == (rank, lp));
            list.swap_remove(at.expect("what is removed is there"));
            if list.is_empty() {
                *list = Vec::new();
                self.occupied &= !(1 << (stretch % LISTS));
            }
        }
        if !beyond.is_empty() {
            self.beyond.retain(|Reverse(ByKey(item))| {
                let at = beyond.iter().position(|&gone| gone == (item.rank(), item.lp));
                at.map(|at| beyond.swap_remove(at)).is_none()
            });
            assert!(beyond.is_empty(), "what is removed is there");
        }
    }
}

//! Matching of messages with receives at one rank, by source and tag, as in MPI: the oldest match wins.
//!
//! Receives with source and tag are found by these. Wildcard receives are searched in the order of posting, and
//! unexpected messages for them in the order of arrival.

use crate::schedule::ANY;
use std::collections::{HashMap, VecDeque};

/// No cell.
const NONE: u32 = u32::MAX;

/// A posted receive with source and tag, or an unexpected message.
#[derive(Clone, Copy, Debug)]
struct Cell {
    /// The order of posting.
    number: u64,
    source: u32,
    tag: u32,
    /// The receive, or the send of the message.
    task: u32,
    /// The next one with this source and tag.
    next: u32,
    /// Neighbors in the order of arrival; for messages only.
    earlier: u32,
    later: u32,
}

/// First and last cell with a source and a tag: all are receives, or all are messages, since they would have matched.
#[derive(Clone, Copy, Debug)]
struct Queue {
    first: u32,
    last: u32,
    messages: bool,
}

/// The posted receives of a rank, and its unexpected messages.
#[derive(Debug, smart_default::SmartDefault)]
pub(crate) struct Matching {
    posted: u64,
    queues: HashMap<(u32, u32), Queue, ahash::RandomState>,
    /// Wildcard receives, in order of posting: number, task, source, tag.
    #[default(VecDeque::new())]
    wild: VecDeque<(u64, u32, u32, u32)>,
    cells: Vec<Cell>,
    /// Cells that are not in use, linked by `next`.
    #[default(NONE)]
    unused: u32,
    /// The oldest and the newest message.
    #[default(NONE)]
    oldest: u32,
    #[default(NONE)]
    newest: u32,
    unexpected: u64,
}

fn takes(wanted: u32, is: u32) -> bool {
    wanted == ANY || wanted == is
}

impl Matching {
    /// Posts receive `task`; returns rank and task of the matching send, if its message has arrived.
    pub(crate) fn post(&mut self, task: u32, from: u32, tag: u32) -> Option<(u32, u32)> {
        self.posted += 1;
        if from != ANY && tag != ANY {
            if self.queues.get(&(from, tag)).is_some_and(|queue| queue.messages) {
                return self.receive(from, tag);
            }
            self.append(self.posted, from, tag, task, false);
            return None;
        }
        let mut message = self.oldest;
        while let Some(cell) = self.cells.get(message as usize) {
            if takes(from, cell.source) && takes(tag, cell.tag) {
                // It is the first of its queue: an older one with its source and tag would be older here too.
                return self.receive(cell.source, cell.tag);
            }
            message = cell.later;
        }
        self.wild.push_back((self.posted, task, from, tag));
        None
    }

    /// The message of send `task` of `source` arrives; returns the matching receive, if posted.
    pub(crate) fn arrive(&mut self, source: u32, tag: u32, task: u32) -> Option<u32> {
        let queue = self.queues.get(&(source, tag)).filter(|queue| !queue.messages);
        let exact = queue.map(|queue| self.cells[queue.first as usize].number);
        let fits = |&(_, _, from, wanted): &(u64, u32, u32, u32)| takes(from, source) && takes(wanted, tag);
        let wild = self.wild.iter().position(fits);
        match (exact, wild) {
            (Some(number), place) if place.is_none_or(|at| number < self.wild[at].0) => {
                self.take_first(source, tag).map(|receive| receive.task)
            }
            (_, Some(place)) => self.wild.remove(place).map(|(_, receive, ..)| receive),
            (_, None) => {
                self.append(0, source, tag, task, true);
                None
            }
        }
    }

    /// Takes the oldest message with this source and tag.
    fn receive(&mut self, source: u32, tag: u32) -> Option<(u32, u32)> {
        let message = self.take_first(source, tag)?;
        match self.cells.get_mut(message.earlier as usize) {
            Some(earlier) => earlier.later = message.later,
            None => self.oldest = message.later,
        }
        match self.cells.get_mut(message.later as usize) {
            Some(later) => later.earlier = message.earlier,
            None => self.newest = message.earlier,
        }
        self.unexpected -= 1;
        Some((message.source, message.task))
    }

    fn append(&mut self, number: u64, source: u32, tag: u32, task: u32, is_message: bool) {
        let cell = Cell {
            number,
            source,
            tag,
            task,
            next: NONE,
            earlier: self.newest,
            later: NONE,
        };
        let index = match self.cells.get_mut(self.unused as usize) {
            Some(unused) => {
                let index = std::mem::replace(&mut self.unused, unused.next);
                *unused = cell;
                index
            }
            None => {
                self.cells.push(cell);
                self.cells.len() as u32 - 1
            }
        };
        let queue = self.queues.entry((source, tag)).or_insert(Queue {
            first: index,
            last: index,
            messages: is_message,
        });
        if queue.last != index {
            self.cells[queue.last as usize].next = index;
            queue.last = index;
        }
        if is_message {
            match self.cells.get_mut(self.newest as usize) {
                Some(newest) => newest.later = index,
                None => self.oldest = index,
            }
            self.newest = index;
            self.unexpected += 1;
        }
    }

    fn take_first(&mut self, source: u32, tag: u32) -> Option<Cell> {
        let queue = self.queues.get_mut(&(source, tag))?;
        let index = queue.first;
        let cell = self.cells[index as usize];
        match cell.next {
            NONE => {
                self.queues.remove(&(source, tag));
            }
            next => queue.first = next,
        }
        self.cells[index as usize].next = self.unused;
        self.unused = index;
        Some(cell)
    }

    /// Messages not received.
    pub(crate) fn unexpected(&self) -> u64 {
        self.unexpected
    }

    /// The task of the oldest posted receive.
    pub(crate) fn oldest_posted(&self) -> Option<u32> {
        let receives = self.queues.values().filter(|queue| !queue.messages);
        let exact = receives
            .map(|queue| &self.cells[queue.first as usize])
            .map(|cell| (cell.number, cell.task));
        let wild = self.wild.front().map(|&(number, task, ..)| (number, task));
        exact.chain(wild).min().map(|(_, task)| task)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Receives and messages in plain lists, searched from the oldest.
    #[derive(Default)]
    struct Plain {
        receives: Vec<(u32, u32, u32)>,
        messages: Vec<(u32, u32, u32)>,
    }

    impl Plain {
        fn post(&mut self, task: u32, from: u32, tag: u32) -> Option<(u32, u32)> {
            let fits = |&(source, is, _): &(u32, u32, u32)| takes(from, source) && takes(tag, is);
            match self.messages.iter().position(fits) {
                Some(place) => Some(self.messages.remove(place)).map(|(source, _, send)| (source, send)),
                None => {
                    self.receives.push((from, tag, task));
                    None
                }
            }
        }

        fn arrive(&mut self, source: u32, tag: u32, task: u32) -> Option<u32> {
            let fits = |&(from, wanted, _): &(u32, u32, u32)| takes(from, source) && takes(wanted, tag);
            match self.receives.iter().position(fits) {
                Some(place) => Some(self.receives.remove(place).2),
                None => {
                    self.messages.push((source, tag, task));
                    None
                }
            }
        }
    }

    #[test]
    fn matches_are_those_of_plain_lists() {
        // A linear congruential generator (Knuth, MMIX); one receive in six has a wildcard.
        let mut state = 1_u64;
        let mut random = |below: u32| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as u32 % below
        };
        let (mut matching, mut plain) = (Matching::default(), Plain::default());
        let mut unexpected = 0;
        for task in 0..20_000 {
            let (mut source, mut tag) = (random(4), random(3));
            // The share of messages swings, so that queues of both kinds become long.
            if random(1_000) < 500 + 100 * (task / 500 % 2) {
                assert_eq!(matching.arrive(source, tag, task), plain.arrive(source, tag, task));
            } else {
                if random(6) == 0 {
                    source = ANY;
                }
                if random(6) == 0 {
                    tag = ANY;
                }
                assert_eq!(matching.post(task, source, tag), plain.post(task, source, tag));
            }
            assert_eq!(matching.unexpected(), plain.messages.len() as u64);
            assert_eq!(
                matching.oldest_posted(),
                plain.receives.first().map(|receive| receive.2)
            );
            unexpected = unexpected.max(plain.messages.len());
        }
        assert!(
            unexpected > 20,
            "the test saw {unexpected} unexpected messages at a time"
        );
    }
}

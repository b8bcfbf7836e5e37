//! Matching of messages with receives at one rank, by source and tag, as in MPI: the oldest match wins.
//!
//! Receives with source and tag are found by these; wildcard receives are searched in the order of posting.

use crate::schedule::ANY;
use std::collections::{BTreeMap, HashMap, VecDeque};

/// The posted receives of a rank, and its unexpected messages.
#[derive(Debug, Default)]
pub(crate) struct Matching {
    /// Counts receives, and messages.
    number: u64,
    /// By source and tag: number and task.
    posted: HashMap<(u32, u32), VecDeque<(u64, u32)>>,
    /// Wildcard receives, in order of posting.
    wild: VecDeque<(u64, u32, u32, u32)>,
    /// By source and tag: numbers of messages, some of which may have been received.
    arrived: HashMap<(u32, u32), VecDeque<u64>>,
    /// By number: source, tag and task of the send.
    kept: BTreeMap<u64, (u32, u32, u32)>,
}

fn takes(wanted: u32, is: u32) -> bool {
    wanted == ANY || wanted == is
}

impl Matching {
    /// Posts receive `task`; returns rank and task of the matching send, if its message has arrived.
    pub(crate) fn post(&mut self, task: u32, from: u32, tag: u32) -> Option<(u32, u32)> {
        self.number += 1;
        if from != ANY && tag != ANY {
            let queue = self.arrived.get_mut(&(from, tag));
            let taken = queue.and_then(|queue| {
                std::iter::from_fn(|| queue.pop_front()).find_map(|number| self.kept.remove(&number))
            });
            if taken.is_none() {
                let queue = self.posted.entry((from, tag)).or_default();
                queue.push_back((self.number, task));
            }
            return taken.map(|(source, _, send)| (source, send));
        }
        let mut kept = self.kept.iter();
        let fits = kept.find(|(_, (source, is, _))| takes(from, *source) && takes(tag, *is));
        match fits.map(|(&number, &(source, _, send))| (number, source, send)) {
            Some((number, source, send)) => {
                self.kept.remove(&number);
                Some((source, send))
            }
            None => {
                self.wild.push_back((self.number, task, from, tag));
                None
            }
        }
    }

    /// The message of send `task` of `source` arrives; returns the matching receive, if posted.
    pub(crate) fn arrive(&mut self, source: u32, tag: u32, task: u32) -> Option<u32> {
        let exact = self.posted.get(&(source, tag)).and_then(|queue| queue.front().copied());
        let fits = |&(_, _, from, wanted): &(u64, u32, u32, u32)| takes(from, source) && takes(wanted, tag);
        let wild = self.wild.iter().position(fits);
        match (exact, wild) {
            (Some((number, receive)), place) if place.is_none_or(|at| number < self.wild[at].0) => {
                if let Some(queue) = self.posted.get_mut(&(source, tag)) {
                    queue.pop_front();
                }
                Some(receive)
            }
            (_, Some(place)) => self.wild.remove(place).map(|(_, receive, ..)| receive),
            (_, None) => {
                self.number += 1;
                self.kept.insert(self.number, (source, tag, task));
                self.arrived.entry((source, tag)).or_default().push_back(self.number);
                None
            }
        }
    }

    /// Messages not received.
    pub(crate) fn unexpected(&self) -> u64 {
        self.kept.len() as u64
    }

    /// The task of the oldest posted receive.
    pub(crate) fn oldest_posted(&self) -> Option<u32> {
        let exact = self.posted.values().filter_map(|queue| queue.front().copied());
        let wild = self.wild.front().map(|&(number, task, ..)| (number, task));
        exact.chain(wild).min().map(|(_, task)| task)
    }
}

//! Fair queueing between jobs: start-time fair queueing (P. Goyal, H. Vin, H. Cheng, SIGCOMM 1996).
//!
//! Every queue for space, memory or a device is a *line* with a virtual time `v`. The next request or piece of job `j` has the
//! start tag `S = max(v, F_j)`. The line serves the least tag, and the earliest arrival among equal tags; then `v = S` and `F_j = S
//! + cost`. So waiting jobs are served in turn, in proportion to their weights, and an idle job saves up no credit.
//!
//! | sharing | cost |
//! |---|---|
//! | `fifo` | first come, first served, no tags |
//! | `round-robin` | 1 |
//! | `weighted` | bytes / weight |
//!
//! The search for the least tag is linear: the queue of a server is short compared with the packets of its requests.

use odonata_engine::{List, Mode, Pool, Slot, Store, journalled};

use crate::open_request::{OpenRequest, Piece};
use crate::settings::Sharing;

/// An element of a line.
pub(crate) trait Waiter: Slot {
    /// The job.
    fn owner(&self) -> u16;
    /// Its size in bytes.
    fn bytes(&self) -> u64;
}

impl Waiter for OpenRequest {
    fn owner(&self) -> u16 {
        self.what.header.owner
    }
    fn bytes(&self) -> u64 {
        self.what.bytes
    }
}

impl Waiter for Piece {
    fn owner(&self) -> u16 {
        self.owner
    }
    fn bytes(&self) -> u64 {
        self.bytes
    }
}

/// A queue for a resource: space on a device, memory of the server with that first device, or a device itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Line {
    Space(u32),
    Memory(u32),
    Device(u32),
}

impl Line {
    fn number(self) -> u32 {
        let (device, resource) = match self {
            Line::Space(device) => (device, 0),
            Line::Memory(first_device) => (first_device, 1),
            Line::Device(device) => (device, 2),
        };
        device * 3 + resource
    }
}

/// Fraction bits of a weight.
const FRACTION: u32 = 10;

/// The tags of all lines; empty if all lines are first come, first served.
#[derive(Debug)]
pub(crate) struct Turns {
    /// Per job, in fixed point.
    weights: Vec<u64>,
    /// F, per line and job.
    finish: Store<u128>,
    /// v, per line.
    virtual_time: Store<u128>,
}
journalled!(Turns { finish, virtual_time });

impl Turns {
    /// For the lines of `devices` devices and jobs with these weights.
    pub(crate) fn new(devices: usize, weights: &[f64]) -> Self {
        let lines = 3 * devices;
        let fixed = |weight: &f64| ((weight * f64::from(1 << FRACTION)).round() as u64).max(1);
        Turns {
            weights: weights.iter().map(fixed).collect(),
            finish: Store::filled(lines * weights.len(), 0),
            virtual_time: Store::filled(if weights.is_empty() { 0 } else { lines }, 0),
        }
    }

    /// Without tags.
    pub(crate) fn off() -> Self {
        Turns::new(0, &[])
    }

    /// Whether service is in the order of arrival.
    fn in_order(&self, sharing: Sharing) -> bool {
        sharing == Sharing::Fifo || self.weights.is_empty()
    }

    fn cell(&self, line: Line, owner: u16) -> u32 {
        // Speculation can reach impossible states: a job beyond the last counts as the last.
        let owner = usize::from(owner).min(self.weights.len() - 1);
        line.number() * self.weights.len() as u32 + owner as u32
    }

    fn start_tag(&self, line: Line, owner: u16) -> u128 {
        let finish = *self.finish.get(self.cell(line, owner));
        finish.max(*self.virtual_time.get(line.number()))
    }

    /// The element of `line` to serve next.
    pub(crate) fn first<T: Waiter>(&self, sharing: Sharing, line: Line, list: &List, pool: &Pool<T>) -> Option<u32> {
        let mut waiting = list.iter(pool);
        if self.in_order(sharing) {
            return waiting.next();
        }
        // `min_by_key` returns the first of equal keys.
        waiting.min_by_key(|&slot| self.start_tag(line, pool.get(slot).owner()))
    }

    /// `owner` gets `bytes` bytes in `line`.
    pub(crate) fn charge<M: Mode>(&mut self, sharing: Sharing, line: Line, owner: u16, bytes: u64) {
        if self.in_order(sharing) {
            return;
        }
        let cell = self.cell(line, owner);
        let start = self.start_tag(line, owner);
        let cost = match sharing {
            Sharing::Weighted => {
                let weight = self.weights[usize::from(owner).min(self.weights.len() - 1)];
                (u128::from(bytes) << (2 * FRACTION)) / u128::from(weight)
            }
            _ => 1,
        };
        *self.finish.edit::<M>(cell) = start + cost;
        *self.virtual_time.edit::<M>(line.number()) = start;
    }

    /// Removes and returns the element to serve next.
    pub(crate) fn pop<M: Mode, T: Waiter>(
        &mut self,
        sharing: Sharing,
        line: Line,
        list: &mut List,
        pool: &mut Pool<T>,
    ) -> Option<u32> {
        if self.in_order(sharing) {
            return list.pop(pool);
        }
        let slot = self.first(sharing, line, list, pool)?;
        let (owner, bytes) = (pool.get(slot).owner(), pool.get(slot).bytes());
        self.charge::<M>(sharing, line, owner, bytes);
        // It is the first element of its job.
        list.remove_first::<M, T>(pool, |waiter| waiter.owner() == owner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use odonata_engine::{NIL, Plain};
    use odonata_units::Time;

    const LINE: Line = Line::Device(0);

    /// The owners in the order of service.
    fn order(sharing: Sharing, weights: &[f64], waiting: &[(u16, u64)]) -> Vec<u16> {
        let (mut pool, mut list) = (Pool::new(), List::EMPTY);
        for &(owner, bytes) in waiting {
            let piece = Piece::new(Time::ZERO, (0, 0), (NIL, owner), 0, 0, bytes);
            let slot = pool.allocate::<Plain>(piece);
            list.push::<Plain, _>(&mut pool, slot);
        }
        let mut turns = Turns::new(1, weights);
        let next = || {
            turns
                .pop::<Plain, Piece>(sharing, LINE, &mut list, &mut pool)
                .map(|slot| pool.get(slot).owner)
        };
        std::iter::from_fn(next).collect()
    }

    #[test]
    fn jobs_are_served_in_order_in_turn_or_by_weight() {
        let waiting = [(0, 5), (0, 5), (0, 5), (0, 5), (1, 5), (1, 5), (2, 5)];
        assert_eq!(order(Sharing::Fifo, &[1.0; 3], &waiting), [0, 0, 0, 0, 1, 1, 2]);
        assert_eq!(order(Sharing::RoundRobin, &[1.0; 3], &waiting), [0, 1, 2, 0, 1, 0, 0]);
        // Three of job 0 for one of each other job.
        let weights = [3.0, 1.0, 1.0];
        assert_eq!(order(Sharing::Weighted, &weights, &waiting), [0, 1, 2, 0, 0, 0, 1]);
    }

    #[test]
    fn weights_count_bytes_and_turns_count_accesses() {
        let waiting = [(0, 1), (0, 1), (0, 1), (0, 1), (1, 4), (1, 4)];
        assert_eq!(order(Sharing::RoundRobin, &[1.0; 2], &waiting), [0, 1, 0, 1, 0, 0]);
        assert_eq!(order(Sharing::Weighted, &[1.0; 2], &waiting), [0, 1, 0, 0, 0, 1]);
    }

    #[test]
    fn an_idle_job_saves_up_no_turns() {
        let mut turns = Turns::new(1, &[1.0; 2]);
        for _ in 0..10 {
            turns.charge::<Plain>(Sharing::RoundRobin, LINE, 0, 1);
        }
        // Job 1 arrives: it is served at once, and then in turn.
        assert_eq!(turns.start_tag(LINE, 1) + 1, turns.start_tag(LINE, 0));
        turns.charge::<Plain>(Sharing::RoundRobin, LINE, 1, 1);
        assert_eq!(turns.start_tag(LINE, 1), turns.start_tag(LINE, 0));
    }
}

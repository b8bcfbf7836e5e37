//! Work queues of the threads, with work stealing: every thread has a queue of parts, and steals from others when its
//! own is empty.
//!
//! A thread takes parts from the front of its own queue, and steals from the back of others. Queues are ranges of
//! neighboring parts of about equal load, so parts stay in the caches of their threads. Each queue begins with its
//! heaviest part, so the parts stolen at the end are light.

use super::sync::{AtomicU64, CachePadded, Ordering};

/// See the [module](self).
#[derive(Debug)]
pub(super) struct WorkQueues {
    /// Parts, queue after queue.
    order: Vec<AtomicU64>,
    /// The rest of each thread's queue in `order`: its first index in the upper half, its end in the lower.
    left: Vec<CachePadded<AtomicU64>>,
    /// Where the queues begin, and the last one ends. Written by the leader between rounds.
    begins: Vec<AtomicU64>,
}

fn range(first: u64, end: u64) -> u64 {
    first << 32 | end
}

impl WorkQueues {
    pub(super) fn new(parts: usize, threads: usize) -> WorkQueues {
        let queues = WorkQueues {
            order: (0..parts).map(|_| AtomicU64::new(0)).collect(),
            left: (0..threads).map(|_| CachePadded::default()).collect(),
            begins: (0..=threads).map(|_| AtomicU64::new(0)).collect(),
        };
        queues.rebalance(&vec![1; parts]);
        queues
    }

    /// Leader, between rounds: distributes the parts over the threads by their loads.
    pub(super) fn rebalance(&self, loads: &[u64]) {
        let threads = self.left.len() as u64;
        // The constant distributes idle parts, too.
        let weight = |part: usize| u128::from(loads[part]) * 8 + 1;
        let all: u128 = (0..loads.len()).map(weight).sum();
        let (mut before, mut part) = (0, 0);
        for thread in 0..threads {
            self.begins[thread as usize].store(part as u64, Ordering::Relaxed);
            let first = part;
            // A part belongs to the share that contains its middle.
            let share = all * u128::from(thread + 1) / u128::from(threads);
            while part < loads.len() && (before + weight(part) / 2 < share || thread + 1 == threads) {
                before += weight(part);
                part += 1;
            }
            let mut list: Vec<usize> = (first..part).collect();
            list.sort_by_key(|&part| std::cmp::Reverse(loads[part]));
            for (place, part) in self.order[first..].iter().zip(list) {
                place.store(part as u64, Ordering::Relaxed);
            }
        }
        self.begins[threads as usize].store(loads.len() as u64, Ordering::Relaxed);
    }

    /// Leader, before a round: refills all queues.
    pub(super) fn refill(&self) {
        for (left, begin) in self.left.iter().zip(self.begins.windows(2)) {
            let [first, end] = [0, 1].map(|i: usize| begin[i].load(Ordering::Relaxed));
            left.store(range(first, end), Ordering::Relaxed);
        }
    }

    /// All threads, from `thread` on.
    pub(super) fn from(&self, thread: usize) -> impl Iterator<Item = usize> + use<> {
        let threads = self.left.len();
        (0..threads).map(move |i| (thread + i) % threads)
    }

    /// The parts of a thread, heaviest first.
    pub(super) fn list(&self, thread: usize) -> impl Iterator<Item = usize> + '_ {
        let [first, end] = [0, 1].map(|i| self.begins[thread + i].load(Ordering::Relaxed) as usize);
        self.order[first..end]
            .iter()
            .map(|part| part.load(Ordering::Relaxed) as usize)
    }

    /// Claims a part that is unclaimed in this round. Also returns whether it was stolen.
    pub(super) fn claim(&self, thread: usize) -> Option<(usize, bool)> {
        if let Some(place) = self.claim_from(thread, true) {
            return Some((place, false));
        }
        let mut stolen = self
            .from(thread)
            .skip(1)
            .filter_map(|other| self.claim_from(other, false));
        stolen.next().map(|part| (part, true))
    }

    /// Claims a part of one queue. Relaxed ordering is enough: the barrier and the part's lock order the access to the
    /// part.
    fn claim_from(&self, thread: usize, front: bool) -> Option<usize> {
        let left = &self.left[thread];
        let mut state = left.load(Ordering::Relaxed);
        loop {
            let (first, end) = (state >> 32, state & 0xffff_ffff);
            if first >= end {
                return None;
            }
            let (place, rest) = if front {
                (first, range(first + 1, end))
            } else {
                (end - 1, range(first, end - 1))
            };
            match left.compare_exchange(state, rest, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return Some(self.order[place as usize].load(Ordering::Relaxed) as usize),
                Err(now) => state = now,
            }
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn lists(queues: &WorkQueues) -> Vec<Vec<usize>> {
        queues.refill();
        let list = |thread| std::iter::from_fn(|| queues.claim_from(thread, true)).collect();
        (0..queues.left.len()).map(list).collect()
    }

    #[test]
    fn queues_are_neighbors_of_equal_load_with_the_heaviest_first() {
        let queues = WorkQueues::new(6, 2);
        assert_eq!(lists(&queues), [[0, 1, 2], [3, 4, 5]]);
        queues.rebalance(&[1, 2, 97, 30, 40, 30]);
        assert_eq!(lists(&queues), [[2, 1, 0], [4, 3, 5]]);
        queues.rebalance(&[0, 0, 0, 0, 0, 9]);
        assert_eq!(lists(&queues), [vec![0, 1, 2, 3, 4], vec![5]]);
        queues.rebalance(&[500, 1, 1, 1, 1, 1]);
        assert_eq!(lists(&queues), [vec![0], vec![1, 2, 3, 4, 5]]);
    }

    #[test]
    fn each_part_is_claimed_once_own_ones_first_then_the_last_of_others() {
        let queues = WorkQueues::new(5, 2);
        queues.refill();
        let claims: Vec<_> = std::iter::from_fn(|| queues.claim(0)).collect();
        let own = [0, 1].map(|part| (part, false));
        let stolen = [4, 3, 2].map(|part| (part, true));
        assert_eq!(claims, [&own[..], &stolen].concat());
        assert_eq!(queues.claim(1), None);
    }
}

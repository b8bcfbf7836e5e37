//! Who does what in a round: every thread has a list of parts, and helps others when it is through.
//!
//! A thread takes its own parts from the front of its list, others' from the back. Lists are ranges of neighbouring parts
//! of about equal load, so that parts stay in the caches of their threads, and each begins with its heaviest part, so
//! that what is left for others at the end is light.

use super::sync::{AtomicU64, Ordering, Padded};

/// See the [module](self).
#[derive(Debug)]
pub(super) struct Roster {
    /// Parts, list after list.
    order: Vec<AtomicU64>,
    /// What of `order` is left of each thread's list: the first in the upper half, the end in the lower.
    left: Vec<Padded<AtomicU64>>,
    /// Where the lists begin, and the last one ends. Written by the leader between rounds.
    begins: Vec<AtomicU64>,
}

fn range(first: u64, end: u64) -> u64 {
    first << 32 | end
}

impl Roster {
    pub(super) fn new(parts: usize, threads: usize) -> Roster {
        let roster = Roster {
            order: (0..parts).map(|_| AtomicU64::new(0)).collect(),
            left: (0..threads).map(|_| Padded::default()).collect(),
            begins: (0..=threads).map(|_| AtomicU64::new(0)).collect(),
        };
        roster.arrange(&vec![1; parts]);
        roster
    }

    /// Leader, between rounds: deals the parts out anew, by their loads.
    pub(super) fn arrange(&self, loads: &[u64]) {
        let threads = self.left.len() as u64;
        // Every part counts a little, so that idle ones are dealt out too.
        let weight = |part: usize| u128::from(loads[part]) * 8 + 1;
        let all: u128 = (0..loads.len()).map(weight).sum();
        let (mut before, mut part) = (0, 0);
        for thread in 0..threads {
            self.begins[thread as usize].store(part as u64, Ordering::Relaxed);
            let first = part;
            // A part goes where its middle lies.
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

    /// Leader, before a round: all lists are whole again.
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

    /// A part that nobody has claimed in this round, and whether it is from another's list.
    pub(super) fn claim(&self, thread: usize) -> Option<(usize, bool)> {
        if let Some(place) = self.shorten(thread, true) {
            return Some((place, false));
        }
        let mut stolen = self.from(thread).skip(1).filter_map(|other| self.shorten(other, false));
        stolen.next().map(|part| (part, true))
    }

    /// Takes a part from a list. What it guards is handed over by other means.
    fn shorten(&self, thread: usize, front: bool) -> Option<usize> {
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

    fn lists(roster: &Roster) -> Vec<Vec<usize>> {
        roster.refill();
        let list = |thread| std::iter::from_fn(|| roster.shorten(thread, true)).collect();
        (0..roster.left.len()).map(list).collect()
    }

    #[test]
    fn lists_are_neighbours_of_equal_load_with_the_heaviest_first() {
        let roster = Roster::new(6, 2);
        assert_eq!(lists(&roster), [[0, 1, 2], [3, 4, 5]]);
        roster.arrange(&[1, 2, 97, 30, 40, 30]);
        assert_eq!(lists(&roster), [[2, 1, 0], [4, 3, 5]]);
        roster.arrange(&[0, 0, 0, 0, 0, 9]);
        assert_eq!(lists(&roster), [vec![0, 1, 2, 3, 4], vec![5]]);
        roster.arrange(&[500, 1, 1, 1, 1, 1]);
        assert_eq!(lists(&roster), [vec![0], vec![1, 2, 3, 4, 5]]);
    }

    #[test]
    fn each_part_is_claimed_once_own_ones_first_then_the_last_of_others() {
        let roster = Roster::new(5, 2);
        roster.refill();
        let claims: Vec<_> = std::iter::from_fn(|| roster.claim(0)).collect();
        let own = [0, 1].map(|part| (part, false));
        let stolen = [4, 3, 2].map(|part| (part, true));
        assert_eq!(claims, [&own[..], &stolen].concat());
        assert_eq!(roster.claim(1), None);
    }
}

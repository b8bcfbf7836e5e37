//! The maximum number of messages to one rank on one communicator that can be received, in any order of arrival.
//!
//! A receive names a source or any, and a tag or any. Receives that name both take one kind of message only, so they
//! are matched first; receives that name neither take any message, so they are matched last. In between, a message can
//! go to a receive of its source with any tag, or to one of its tag with any source. The maximum is a maximum flow,
//! found by augmenting paths (L. R. Ford, D. R. Fulkerson, Canadian J. Math. 8, 1956).

use std::collections::{BTreeMap, VecDeque};

/// Maximum number of search steps before the result is undecided.
const MOST_WORK: u64 = 20_000_000;

/// The messages and receives of one rank on one communicator. Sources are ranks of the job.
#[derive(Debug, Default)]
pub(super) struct Inbox {
    /// Messages minus receives that name both, by source and tag.
    pub(super) balance: BTreeMap<(u32, u32), i64>,
    /// Wildcard receives, by source and tag.
    pub(super) wild: BTreeMap<(Option<u32>, Option<u32>), u64>,
}

/// The unmatched rest of an [`Inbox`].
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Left {
    /// Unmatched messages (positive), and unmatched receives that name both (negative).
    pub(super) balance: BTreeMap<(u32, u32), i64>,
    /// Unmatched wildcard receives.
    pub(super) wild: BTreeMap<(Option<u32>, Option<u32>), u64>,
    /// Whether a better assignment may exist that was not found in time.
    pub(super) undecided: bool,
}

/// Messages of one source and tag that two kinds of receives can take.
struct Kind {
    key: (u32, u32),
    /// The receives by source, and the receives by tag.
    ends: [usize; 2],
    free: u64,
    taken: [u64; 2],
}

impl Inbox {
    /// The rest after a maximum matching.
    pub(super) fn settle(self) -> Left {
        self.settle_within(MOST_WORK)
    }

    fn settle_within(self, mut work: u64) -> Left {
        let mut left = Left::default();
        let mut kinds = Vec::new();
        // Receives that name one of the two: how many still lack a message.
        let mut numbers = BTreeMap::new();
        let mut wanted = Vec::new();
        for (&key, &count) in self.wild.iter().filter(|(key, _)| **key != (None, None)) {
            numbers.insert(key, wanted.len());
            wanted.push(count);
        }
        for (&(source, tag), &balance) in &self.balance {
            let ends = [(Some(source), None), (None, Some(tag))].map(|key| numbers.get(&key).copied());
            let mut free = balance.max(0) as u64;
            match ends {
                [Some(one), Some(other)] if free > 0 => {
                    kinds.push(Kind {
                        key: (source, tag),
                        ends: [one, other],
                        free,
                        taken: [0; 2],
                    });
                    continue;
                }
                // Messages that only one kind of receive can take go there first: no other receive could use them.
                [Some(one), None] | [None, Some(one)] => {
                    let taken = free.min(wanted[one]);
                    (free, wanted[one]) = (free - taken, wanted[one] - taken);
                }
                _ => {}
            }
            let rest = if balance < 0 { balance } else { free as i64 };
            if rest != 0 {
                left.balance.insert((source, tag), rest);
            }
        }
        left.undecided = !assign(&mut kinds, &mut wanted, &mut work);
        for kind in kinds.iter().filter(|kind| kind.free > 0) {
            left.balance.insert(kind.key, kind.free as i64);
        }
        for (key, number) in numbers {
            if wanted[number] > 0 {
                left.wild.insert(key, wanted[number]);
            }
        }
        let mut any = self.wild.get(&(None, None)).copied().unwrap_or(0);
        for count in left.balance.values_mut().filter(|count| **count > 0) {
            let taken = any.min(*count as u64);
            (any, *count) = (any - taken, *count - taken as i64);
        }
        left.balance.retain(|_, count| *count != 0);
        if any > 0 {
            left.wild.insert((None, None), any);
        }
        // With one side fully served, nothing is undecided.
        left.undecided &= !left.wild.is_empty() && left.balance.values().any(|&count| count > 0);
        left
    }
}

/// Assigns messages to receives; whether the assignment is maximal, as far as `work` suffices.
fn assign(kinds: &mut [Kind], wanted: &mut [u64], work: &mut u64) -> bool {
    let mut of_receives: Vec<Vec<(usize, usize)>> = vec![Vec::new(); wanted.len()];
    for (number, kind) in kinds.iter_mut().enumerate() {
        for (side, &end) in kind.ends.iter().enumerate() {
            let taken = kind.free.min(wanted[end]);
            kind.free -= taken;
            kind.taken[side] += taken;
            wanted[end] -= taken;
            of_receives[end].push((number, side));
        }
    }
    // The predecessor and the messages by which each receive was reached. Nodes reached by a failed search stay marked:
    // later searches would fail there, too.
    let mut from: Vec<Option<(usize, usize)>> = vec![None; wanted.len()];
    #[allow(clippy::needless_range_loop, reason = "its number is what the search goes by")]
    for first in 0..wanted.len() {
        while wanted[first] > 0 {
            // Breadth-first search from receives to the receives that can give up a message, until one is free.
            let mut queue = VecDeque::from([first]);
            let mut reached = Vec::new();
            let mut found = None;
            'search: while let Some(at) = queue.pop_front() {
                for &(number, side) in &of_receives[at] {
                    *work = work.saturating_sub(1);
                    if *work == 0 {
                        return false;
                    }
                    let kind = &kinds[number];
                    if kind.free > 0 {
                        found = Some((number, side));
                        break 'search;
                    }
                    let other = kind.ends[1 - side];
                    if kind.taken[1 - side] > 0 && other != first && from[other].is_none() {
                        from[other] = Some((number, side));
                        reached.push(other);
                        queue.push_back(other);
                    }
                }
            }
            let Some((number, side)) = found else { break };
            // Back along the path: each receive takes the message that the next one gives up.
            let way = |start: usize| {
                std::iter::successors(Some(start), |&at| {
                    from[at].map(|(number, side)| kinds[number].ends[side])
                })
            };
            let mut amount = kinds[number].free.min(wanted[first]);
            for (number, side) in way(kinds[number].ends[side]).filter_map(|at| from[at]) {
                amount = amount.min(kinds[number].taken[1 - side]);
            }
            let path: Vec<(usize, usize)> = way(kinds[number].ends[side]).filter_map(|at| from[at]).collect();
            kinds[number].free -= amount;
            kinds[number].taken[side] += amount;
            for (number, side) in path {
                kinds[number].taken[1 - side] -= amount;
                kinds[number].taken[side] += amount;
            }
            wanted[first] -= amount;
            reached.into_iter().for_each(|end| from[end] = None);
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANY: Option<u32> = None;

    fn inbox(sends: &[(u32, u32)], receives: &[(Option<u32>, Option<u32>)]) -> Inbox {
        let mut inbox = Inbox::default();
        for &key in sends {
            *inbox.balance.entry(key).or_default() += 1;
        }
        for &(source, tag) in receives {
            match (source, tag) {
                (Some(source), Some(tag)) => *inbox.balance.entry((source, tag)).or_default() -= 1,
                key => *inbox.wild.entry(key).or_default() += 1,
            }
        }
        inbox
    }

    /// The maximum matching, by trying all assignments.
    fn most(sends: &[(u32, u32)], receives: &[(Option<u32>, Option<u32>)]) -> usize {
        let Some((&(source, tag), rest)) = receives.split_first() else {
            return 0;
        };
        let mut best = most(sends, rest);
        for (at, &send) in sends.iter().enumerate() {
            if source.is_none_or(|source| source == send.0) && tag.is_none_or(|tag| tag == send.1) {
                let mut others = sends.to_vec();
                others.remove(at);
                best = best.max(1 + most(&others, rest));
            }
        }
        best
    }

    #[test]
    fn a_message_that_fits_one_receive_only_goes_there() {
        let sends = [(1, 5), (2, 5)];
        let receives = [(Some(1), ANY), (ANY, Some(5))];
        assert_eq!(inbox(&sends, &receives).settle(), Left::default());
    }

    /// unmatched receives = receives - maximum matching, and the same of sends.
    #[test]
    fn as_many_are_left_as_the_best_assignment_leaves() {
        let mut state = 1u64;
        let mut below = |n: u64| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % n
        };
        for round in 0..3_000 {
            let sends: Vec<(u32, u32)> = (0..below(7)).map(|_| (below(3) as u32, below(3) as u32)).collect();
            let receives: Vec<_> = (0..below(7))
                .map(|_| {
                    let source = (below(3) > 0).then(|| below(3) as u32);
                    (source, (below(2) > 0).then(|| below(3) as u32))
                })
                .collect();
            let left = inbox(&sends, &receives).settle();
            let matched = most(&sends, &receives) as i64;
            let unsent = left.balance.values().filter(|&&count| count > 0).sum::<i64>();
            let starved =
                left.wild.values().sum::<u64>() as i64 - left.balance.values().filter(|&&count| count < 0).sum::<i64>();
            assert_eq!(
                sends.len() as i64 - unsent,
                matched,
                "{round}: {sends:?} {receives:?} {left:?}"
            );
            assert_eq!(
                receives.len() as i64 - starved,
                matched,
                "{round}: {sends:?} {receives:?} {left:?}"
            );
            assert!(!left.undecided);
        }
    }

    #[test]
    fn a_search_that_exceeds_its_time_is_undecided() {
        let sends = [(1, 1), (1, 2), (2, 1), (2, 2)];
        let receives = [
            (Some(1), ANY),
            (Some(1), ANY),
            (ANY, Some(1)),
            (ANY, Some(1)),
            (ANY, Some(7)),
        ];
        let left = inbox(&sends, &receives).settle_within(1);
        assert!(left.undecided, "{left:?}");
        let left = inbox(&sends, &receives).settle();
        assert!(!left.undecided);
        assert_eq!(left.wild.values().sum::<u64>(), 2);
    }
}

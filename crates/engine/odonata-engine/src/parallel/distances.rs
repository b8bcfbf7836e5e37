//! Distances between parts: how far a part may advance, given the time of each part's next event.
//!
//! An event of part q at time t affects part p no earlier than t plus the shortest path from q to p. Paths include
//! round trips, because a part can affect itself through others. So part p may handle all events before the minimum of
//! these times over all parts. This is Chandy and Misra's condition, computed anew in every round instead of by null
//! messages, and the "distance between objects" of Lubachevsky's bounded lag (CACM 32, 1989).

use crate::{Partition, Time};
use std::ops::Range;

/// Maximum number of parts for which all shortest paths are stored.
const PAIRS_UP_TO: usize = 64;

/// See the [module](self).
#[derive(Debug)]
pub(super) enum Distances {
    /// For each part, the shortest path from each part to it.
    Pairs(Vec<Vec<Time>>),
    /// For more parts: the smallest delay.
    Least(Time),
}

impl Distances {
    pub(super) fn new(partition: &Partition) -> Distances {
        let parts = partition.len();
        if parts > PAIRS_UP_TO {
            return Distances::Least(partition.lookahead());
        }
        // Floyd-Warshall, without empty paths.
        let mut delays = vec![vec![Time::NEVER; parts]; parts];
        for (to, row) in delays.iter_mut().enumerate() {
            for &(from, delay) in partition.senders(to) {
                row[from as usize] = row[from as usize].min(delay);
            }
        }
        for via in 0..parts {
            let before = delays[via].clone();
            for row in &mut delays {
                let last = row[via];
                for (delay, &first) in row.iter_mut().zip(&before) {
                    *delay = (*delay).min(first + last);
                }
            }
        }
        Distances::Pairs(delays)
    }

    /// The time before which no message can arrive at `part`; `None` if its own next event, due at `due`, is no
    /// earlier: the part is idle.
    #[inline]
    pub(super) fn bound(&self, part: usize, due: Time, horizon: &Horizon) -> Option<Time> {
        if let Distances::Pairs(delays) = self
            && due >= horizon.next[horizon.last] + delays[part][horizon.last]
        {
            // The part with the earliest event usually limits the others. This check saves the loop over all parts.
            return None;
        }
        let bound = self.safe(part, horizon);
        (due < bound).then_some(bound)
    }

    /// The time before which no message can arrive at `part`, idle or not.
    #[inline]
    pub(super) fn safe(&self, part: usize, horizon: &Horizon) -> Time {
        let next = &horizon.next;
        let bound = match self {
            Distances::Pairs(delays) => {
                let ways = next.iter().zip(&delays[part]);
                ways.map(|(&next, &delay)| next + delay).min().unwrap_or(Time::NEVER)
            }
            Distances::Least(delay) => next[0] + *delay,
        };
        bound.min(horizon.limit)
    }

    /// Computes the time before which each part can do nothing more: its next event, or its earliest possible message.
    pub(super) fn set_clocks(&self, horizon: &mut Horizon) {
        let mut clocks = std::mem::take(&mut horizon.clocks);
        clocks.clear();
        let parts = horizon.next.iter().enumerate();
        clocks.extend(parts.map(|(part, &next)| next.min(self.safe(part, horizon))));
        horizon.clocks = clocks;
    }

    /// The time before which no message can arrive at `part` from outside the parts `here`, whatever their progress;
    /// after [`set_clocks`](Self::set_clocks).
    pub(super) fn safe_from_others(&self, part: usize, here: &Range<usize>, horizon: &Horizon) -> Time {
        let Distances::Pairs(delays) = self else {
            return self.safe(part, horizon);
        };
        let ways = horizon.clocks.iter().zip(&delays[part]).enumerate();
        let others = ways.filter(|(other, _)| !here.contains(other));
        let bound = others.map(|(_, (&clock, &delay))| clock + delay).min();
        bound.unwrap_or(Time::NEVER)
    }

    /// Whether the next event of each part is needed; otherwise the minimum is enough.
    pub(super) fn is_by_part(&self) -> bool {
        matches!(self, Distances::Pairs(_))
    }
}

/// The times at the start of a round.
#[derive(Debug)]
pub(super) struct Horizon {
    /// The time of the next event of each part, or the minimum.
    next: Vec<Time>,
    /// The index of the minimum.
    last: usize,
    /// The time before which each part can do nothing more, if computed.
    clocks: Vec<Time>,
    /// No part advances beyond this time.
    limit: Time,
}

impl Horizon {
    pub(super) const fn new() -> Horizon {
        Horizon {
            next: Vec::new(),
            last: 0,
            clocks: Vec::new(),
            limit: Time::ZERO,
        }
    }

    /// No part advances beyond this time.
    pub(super) fn limit(&self) -> Time {
        self.limit
    }

    /// Number of parts with a time.
    pub(super) fn parts(&self) -> usize {
        self.next.len()
    }

    /// The time of the first event.
    pub(super) fn first(&self) -> Time {
        self.next[self.last]
    }

    /// The time before which `part` can do nothing more; after [`Distances::set_clocks`].
    pub(super) fn clock(&self, part: usize) -> Time {
        self.clocks[part]
    }

    /// Begins another round, with `next` as [`Distances`] needs it.
    pub(super) fn set(&mut self, next: impl Iterator<Item = Time>, limit: Time) {
        self.next.clear();
        self.next.extend(next);
        let parts = 0..self.next.len();
        self.last = parts.min_by_key(|&part| self.next[part]).unwrap_or(0);
        self.limit = limit;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Purpose, Stream};

    fn bounds(partition: &Partition, next: &[Time]) -> Vec<Time> {
        let distances = Distances::new(partition);
        let mut horizon = Horizon::new();
        horizon.set(next.iter().copied(), Time::NEVER);
        let bound = |part| {
            let bound = distances.bound(part, Time::ZERO, &horizon).unwrap();
            // An event at or after the bound is not for this round.
            assert_eq!(distances.bound(part, bound, &horizon), None);
            bound
        };
        (0..partition.len()).map(bound).collect()
    }

    #[test]
    fn a_part_affects_others_over_the_shortest_path_and_itself_over_a_round_trip() {
        // 0 -> 1 in 10, 1 -> 2 in 20, 0 -> 2 in 50, 2 -> 1 in 5.
        let senders = vec![
            Vec::new(),
            vec![(0, Time(10)), (2, Time(5))],
            vec![(0, Time(50)), (1, Time(20))],
        ];
        let partition = Partition::new(vec![0, 1, 2, 3], senders).unwrap();
        let never = Time::NEVER;
        assert_eq!(
            bounds(&partition, &[Time(100), never, never]),
            [never, Time(110), Time(130)]
        );
        assert_eq!(
            bounds(&partition, &[Time(100), Time(3), never]),
            [never, Time(28), Time(23)]
        );
        assert_eq!(
            bounds(&partition, &[Time(1_000), never, Time(7)]),
            [never, Time(12), Time(32)]
        );
    }

    /// No chain of messages causes an event before the bound, and some chain reaches it.
    #[test]
    fn bounds_equal_relaxation_along_single_hops() {
        let mut random = Stream::new(5, 0, Purpose::Host);
        for parts in [1, 2, 3, 9, 64] {
            let senders = (0..parts).map(|to| {
                let from = (0..parts)
                    .filter(|&from| from != to && random.below(3) == 0)
                    .collect::<Vec<_>>();
                from.iter()
                    .map(|&from| (from, Time(1 + u64::from(random.below(100)))))
                    .collect()
            });
            let senders = senders.collect();
            let partition = Partition::new((0..=parts).collect(), senders).unwrap();
            let next: Vec<Time> = (0..parts).map(|_| Time(u64::from(random.below(300)))).collect();
            let mut bound = vec![Time::NEVER; parts as usize];
            for _ in 0..parts {
                for to in 0..parts as usize {
                    for &(from, delay) in partition.senders(to) {
                        let at = next[from as usize].min(bound[from as usize]);
                        bound[to] = bound[to].min(at + delay);
                    }
                }
            }
            assert_eq!(bounds(&partition, &next), bound, "{parts}");
        }
    }

    #[test]
    fn many_parts_share_a_bound() {
        let parts = PAIRS_UP_TO as u32 + 1;
        let senders = (0..parts)
            .map(|to| vec![((to + 1) % parts, Time(40 + u64::from(to)))])
            .collect();
        let distances = Distances::new(&Partition::new((0..=parts).collect(), senders).unwrap());
        assert!(!distances.is_by_part());
        let mut horizon = Horizon::new();
        horizon.set([Time(7)].into_iter(), Time(50));
        assert_eq!(distances.bound(3, Time(46), &horizon), Some(Time(47)));
        assert_eq!(distances.bound(3, Time(47), &horizon), None);
        horizon.set([Time(20)].into_iter(), Time(50));
        assert_eq!(distances.bound(3, Time(46), &horizon), Some(Time(50)));
    }
}

//! The nodes of a partition, and the choice of a job's nodes.
//!
//! Jobs take whole *units*: nodes, or all nodes of a group with the placement `whole-groups`. A unit is available to a
//! job if it is free, up, and not reserved before the job's planned end.

use crate::job::Micros;
use crate::settings::Placement;
use odonata_units::SplitMix64;

/// A unit of placement.
#[derive(Clone, Debug)]
pub(crate) struct Unit {
    pub(crate) nodes: Vec<u32>,
    group: u32,
    router: u32,
    /// Its job.
    pub(crate) job: Option<u32>,
    /// Planned end of its job.
    pub(crate) until: Micros,
    /// Repairs of its failed nodes.
    pub(crate) repairs: Vec<Micros>,
    /// Times in which it is reserved, ascending.
    pub(crate) reserved: Vec<(Micros, Micros)>,
}

impl Unit {
    fn is_free(&self) -> bool {
        self.job.is_none() && self.repairs.is_empty()
    }

    /// The time from which it is free, if nothing new happens.
    pub(crate) fn free_from(&self, now: Micros) -> Micros {
        let busy = if self.job.is_some() {
            self.until.max(now + 1)
        } else {
            now
        };
        self.repairs.iter().copied().fold(busy, Micros::max)
    }

    /// The earliest time from which it is available for `lasts`.
    pub(crate) fn earliest(&self, now: Micros, lasts: Micros) -> Micros {
        let mut at = self.free_from(now);
        for &(from, to) in &self.reserved {
            if at < to && from < at.saturating_add(lasts) {
                at = to;
            }
        }
        at
    }

    fn is_available(&self, now: Micros, lasts: Micros) -> bool {
        self.is_free() && self.earliest(now, lasts) == now
    }
}

/// The nodes of a partition.
#[derive(Clone, Debug)]
pub(crate) struct Pool {
    pub(crate) units: Vec<Unit>,
    /// Nodes of the smallest unit, and of all.
    smallest: u32,
    total: u32,
}

impl Pool {
    /// The partition with these nodes. `group_of` and `router_of` give the group and the router of each node.
    pub(crate) fn new(nodes: &[u32], placement: Placement, group_of: &[u32], router_of: &[u32]) -> Pool {
        let group = |node: u32| group_of.get(node as usize).copied().unwrap_or(0);
        let mut nodes = nodes.to_vec();
        nodes.sort_by_key(|&node| (group(node), node));
        let parts: Vec<Vec<u32>> = match placement {
            Placement::WholeGroups => nodes
                .chunk_by(|&a, &b| group(a) == group(b))
                .map(<[u32]>::to_vec)
                .collect(),
            _ => nodes.iter().map(|&node| vec![node]).collect(),
        };
        let unit = |nodes: Vec<u32>| Unit {
            group: group(nodes[0]),
            router: router_of.get(nodes[0] as usize).copied().unwrap_or(0),
            nodes,
            job: None,
            until: 0,
            repairs: Vec::new(),
            reserved: Vec::new(),
        };
        let mut units: Vec<Unit> = parts.into_iter().map(unit).collect();
        units.sort_by_key(|unit| unit.nodes[0]);
        Pool {
            smallest: units.iter().map(|unit| unit.nodes.len() as u32).min().unwrap_or(1),
            total: nodes.len() as u32,
            units,
        }
    }

    /// Number of units for a job with this number of nodes; `None` if the partition is too small.
    pub(crate) fn needs(&self, nodes: u32) -> Option<usize> {
        let units = nodes.div_ceil(self.smallest) as usize;
        (nodes <= self.total).then_some(units.min(self.units.len()))
    }

    /// The units of these nodes; `None` if one is outside the partition.
    pub(crate) fn units_of(&self, nodes: &[u32]) -> Option<Vec<usize>> {
        let unit_of = |node: &u32| match self.units.binary_search_by_key(node, |unit| unit.nodes[0]) {
            Ok(at) => Some(at),
            Err(at) => (0..at)
                .rev()
                .chain(at..self.units.len())
                .find(|&at| self.units[at].nodes.contains(node)),
        };
        let mut units: Vec<usize> = nodes.iter().map(unit_of).collect::<Option<_>>()?;
        units.sort_unstable();
        units.dedup();
        Some(units)
    }

    /// The available units that a job takes; `None` if there are not enough.
    pub(crate) fn choose(
        &self,
        needs: usize,
        (now, lasts): (Micros, Micros),
        placement: Placement,
        lot: &mut SplitMix64,
    ) -> Option<Vec<usize>> {
        let available = |&at: &usize| self.units[at].is_available(now, lasts);
        let all = (0..self.units.len()).filter(available);
        let mut found: Vec<usize> = match placement {
            Placement::Contiguous | Placement::List | Placement::WholeGroups => all.take(needs).collect(),
            Placement::Random => {
                let mut all: Vec<usize> = all.collect();
                let count = needs.min(all.len());
                for at in 0..count {
                    let other = at + lot.below((all.len() - at) as u32) as usize;
                    all.swap(at, other);
                }
                all.truncate(count);
                all
            }
            Placement::LeastGroups => packed(needs, all.collect(), &[&|at| self.units[at].group]),
            Placement::TopologyAware => {
                let levels: [Level<'_>; 2] = [&|at| self.units[at].group, &|at| self.units[at].router];
                packed(needs, all.collect(), &levels)
            }
        };
        found.sort_unstable();
        (found.len() == needs).then_some(found)
    }
}

/// The part of a hierarchy in which a unit is.
type Level<'a> = &'a dyn Fn(usize) -> u32;

/// Units in as few parts of the first level as possible: those of the fullest part in which all fit, otherwise those of
/// the emptiest parts, and the last ones again in the fullest part in which they fit. In a part the same rule chooses
/// by the next level, as the tree plugin of Slurm does (`select/cons_tres`, best fit).
fn packed(needs: usize, mut available: Vec<usize>, levels: &[Level<'_>]) -> Vec<usize> {
    let Some((&level, further)) = levels.split_first() else {
        available.truncate(needs);
        return available;
    };
    available.sort_by_key(|&at| (level(at), at));
    let mut parts: Vec<Vec<usize>> = available
        .chunk_by(|&a, &b| level(a) == level(b))
        .map(<[usize]>::to_vec)
        .collect();
    let mut found = Vec::with_capacity(needs);
    while found.len() < needs {
        let left = needs - found.len();
        let fitting = (0..parts.len()).filter(|&at| parts[at].len() >= left);
        let best = fitting.min_by_key(|&at| (parts[at].len(), at));
        let next = best.or_else(|| (0..parts.len()).max_by_key(|&at| (parts[at].len(), usize::MAX - at)));
        let Some(next) = next else { break };
        let part = parts.swap_remove(next);
        found.extend(packed(left.min(part.len()), part, further));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two groups of 4 nodes, and one of 3.
    fn pool(placement: Placement) -> Pool {
        let nodes: Vec<u32> = (0..11).collect();
        Pool::new(&nodes, placement, &[0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2], &[])
    }

    fn nodes(pool: &Pool, needs: usize, placement: Placement) -> Option<Vec<u32>> {
        let units = pool.choose(needs, (0, 10), placement, &mut SplitMix64(1))?;
        Some(units.iter().flat_map(|&at| pool.units[at].nodes.clone()).collect())
    }

    #[test]
    fn contiguous_jobs_take_the_lowest_free_nodes() {
        let mut pool = pool(Placement::Contiguous);
        pool.units[1].job = Some(7);
        assert_eq!(nodes(&pool, 3, Placement::Contiguous), Some(vec![0, 2, 3]));
        assert_eq!(nodes(&pool, 11, Placement::Contiguous), None);
    }

    /// 3 nodes fit into the group of 3, 4 into the first group of 4, 6 need a group of 4 and two nodes of the fullest
    /// one that holds them.
    #[test]
    fn least_groups_are_few_and_full() {
        let pool = pool(Placement::LeastGroups);
        assert_eq!(nodes(&pool, 3, Placement::LeastGroups), Some(vec![8, 9, 10]));
        assert_eq!(nodes(&pool, 4, Placement::LeastGroups), Some(vec![0, 1, 2, 3]));
        assert_eq!(nodes(&pool, 6, Placement::LeastGroups), Some(vec![0, 1, 2, 3, 8, 9]));
    }

    /// Two groups of three routers with two nodes. In the second one two routers have a busy node.
    #[test]
    fn topology_aware_jobs_share_routers() {
        let all: Vec<u32> = (0..12).collect();
        let (groups, routers): (Vec<u32>, Vec<u32>) = (0..12).map(|node| (node / 6, node / 2)).unzip();
        let mut pool = Pool::new(&all, Placement::TopologyAware, &groups, &routers);
        for busy in [6, 9] {
            pool.units[busy].job = Some(7);
        }
        let nodes = |needs| nodes(&pool, needs, Placement::TopologyAware).unwrap();
        // The group with fewer free nodes: a node of a router that has no other, two of one router.
        assert_eq!(nodes(1), [7]);
        assert_eq!(nodes(2), [10, 11]);
        // Three nodes need two routers; the third one is where it fits best.
        assert_eq!(nodes(3), [7, 10, 11]);
        assert_eq!(nodes(5), [0, 1, 2, 4, 5]);
        // Six nodes fill the first group, a seventh is at a router that has no other.
        assert_eq!(nodes(7), [0, 1, 2, 3, 4, 5, 7]);
    }

    /// On random free nodes, no choice has fewer groups, and in each group none has fewer routers: the fewest parts
    /// for k nodes are the largest ones.
    #[test]
    fn topology_aware_jobs_have_the_least_spread() {
        let fewest = |mut sizes: Vec<usize>, needs: usize| {
            sizes.sort_unstable_by(|a, b| b.cmp(a));
            let sums = sizes.iter().scan(0, |sum, size| {
                *sum += size;
                Some(*sum)
            });
            sums.take_while(|&sum| sum < needs).count() + 1
        };
        let counted = |parts: &[u32]| -> Vec<usize> {
            let mut parts = parts.to_vec();
            parts.sort_unstable();
            parts.chunk_by(|a, b| a == b).map(<[u32]>::len).collect()
        };
        let all: Vec<u32> = (0..48).collect();
        let (groups, routers): (Vec<u32>, Vec<u32>) = (0..48).map(|node| (node / 12, node / 3)).unzip();
        for seed in 0..200 {
            let mut lot = SplitMix64(seed);
            let mut pool = Pool::new(&all, Placement::TopologyAware, &groups, &routers);
            pool.units
                .iter_mut()
                .for_each(|unit| unit.job = (lot.below(3) == 0).then_some(1));
            let free: Vec<u32> = all
                .iter()
                .copied()
                .filter(|&node| pool.units[node as usize].job.is_none())
                .collect();
            let needs = 1 + lot.below(free.len() as u32) as usize;
            let found = nodes(&pool, needs, Placement::TopologyAware).unwrap();
            let of =
                |list: &[u32], parts: &[u32]| -> Vec<u32> { list.iter().map(|&node| parts[node as usize]).collect() };
            let used = counted(&of(&found, &groups));
            assert_eq!(used.len(), fewest(counted(&of(&free, &groups)), needs), "seed {seed}");
            for group in 0..4 {
                let within =
                    |list: &[u32]| -> Vec<u32> { list.iter().copied().filter(|node| node / 12 == group).collect() };
                let own = within(&found);
                if !own.is_empty() {
                    let least = fewest(counted(&of(&within(&free), &routers)), own.len());
                    assert_eq!(counted(&of(&own, &routers)).len(), least, "seed {seed}, group {group}");
                }
            }
        }
    }

    /// Groups have at least 3 nodes: 4 nodes take two groups.
    #[test]
    fn whole_groups_are_units() {
        let pool = pool(Placement::WholeGroups);
        assert_eq!(
            (pool.needs(3), pool.needs(4), pool.needs(11), pool.needs(12)),
            (Some(1), Some(2), Some(3), None)
        );
        assert_eq!(nodes(&pool, 1, Placement::WholeGroups), Some(vec![0, 1, 2, 3]));
        assert_eq!(pool.units_of(&[9, 1, 2]), Some(vec![0, 2]));
    }

    /// Random nodes are different ones, and all nodes if all are wanted.
    #[test]
    fn random_nodes_are_distinct() {
        let pool = pool(Placement::Random);
        let found = nodes(&pool, 11, Placement::Random).unwrap();
        assert_eq!(found, (0..11).collect::<Vec<u32>>());
        assert_eq!(nodes(&pool, 5, Placement::Random).map(|nodes| nodes.len()), Some(5));
    }

    /// A node reserved from 5 on is available for 5, and from 8 on for longer.
    #[test]
    fn jobs_end_before_a_reservation() {
        let mut pool = pool(Placement::Contiguous);
        pool.units[0].reserved = vec![(5, 8)];
        assert_eq!((pool.units[0].earliest(0, 5), pool.units[0].earliest(0, 6)), (0, 8));
        assert_eq!(nodes(&pool, 1, Placement::Contiguous), Some(vec![1]));
    }
}

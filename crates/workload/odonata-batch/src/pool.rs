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
    /// The partition with these nodes. `group_of` gives the group of each node.
    pub(crate) fn new(nodes: &[u32], placement: Placement, group_of: &[u32]) -> Pool {
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
            Placement::LeastGroups => self.least_groups(needs, all),
        };
        found.sort_unstable();
        (found.len() == needs).then_some(found)
    }

    /// Units in as few groups as possible: those of the fullest group in which all fit, otherwise those of the emptiest
    /// groups, and the last ones again in the fullest group in which they fit.
    fn least_groups(&self, needs: usize, available: impl Iterator<Item = usize>) -> Vec<usize> {
        let mut groups: Vec<Vec<usize>> = Vec::new();
        let mut available: Vec<usize> = available.collect();
        available.sort_by_key(|&at| (self.units[at].group, at));
        for part in available.chunk_by(|&a, &b| self.units[a].group == self.units[b].group) {
            groups.push(part.to_vec());
        }
        let mut found = Vec::with_capacity(needs);
        while found.len() < needs {
            let left = needs - found.len();
            let fitting = (0..groups.len()).filter(|&at| groups[at].len() >= left);
            let best = fitting.min_by_key(|&at| (groups[at].len(), at));
            let next = best.or_else(|| (0..groups.len()).max_by_key(|&at| (groups[at].len(), usize::MAX - at)));
            let Some(next) = next else { break };
            let group = groups.swap_remove(next);
            found.extend(group.into_iter().take(left));
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two groups of 4 nodes, and one of 3.
    fn pool(placement: Placement) -> Pool {
        let nodes: Vec<u32> = (0..11).collect();
        Pool::new(&nodes, placement, &[0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2])
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

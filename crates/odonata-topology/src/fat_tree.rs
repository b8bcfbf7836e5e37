//! Fat trees: extended generalised fat trees and k-ary n-trees.
//!
//! S. Öhring, M. Ibel, S. Das, M. Kumar, "On generalized fat trees", IPPS 1995: XGFT(h; m_1 … m_h; w_1 … w_h) has nodes
//! at level 0 and routers at levels 1 to h; what is at level l has w_(l+1) parents, a router of level l has m_l children.
//! Parallel cables p_l between a child and a parent: E. Zahavi, "D-Mod-K routing providing non-blocking traffic for
//! shift permutations on real life fat trees", Technion CCIT report 776, 2010 (PGFT). Here a node has one port, so
//! w_1 = p_1 = 1. Tapering is fewer parents or parallel cables than children.
//!
//! The k-ary n-tree (F. Petrini, M. Vanneschi, "k-ary n-trees: high performance networks for massively parallel
//! architectures", IPPS 1997) is XGFT(n; k … k; 1, k … k): n levels of k^(n-1) routers; those of the top level have only
//! k down ports.
//!
//! With M_l = m_1 ⋯ m_l and W_l = w_1 ⋯ w_l, level l has Π_(j>l) m_j subtrees of M_l nodes each with W_l routers on top:
//! router (l, t, u) is top `u` of subtree `t`. Its parents are the routers (l+1, t / m_(l+1), u + W_l d), d < w_(l+1).
//! From there every node is reached downwards by exactly one sequence of routers, so a path is determined by the choices
//! on the way up.
//!
//! Routers are numbered pod by pod, a pod being one of the m_h subtrees below the top level; in a pod level by level from
//! the leaves, in a level by subtree, then `u`; the top level comes last. Ports of a router: first its children's (nodes
//! of a leaf) in ascending order, then its parents' by `d`, parallel cables together. Cables between levels 1 and 2 are
//! local, those above global.

use crate::sizes::{self, cable};
use crate::{Fault, LinkClass, Topology};
use std::ops::Range;

const MOST_LEVELS: usize = 16;

/// The sizes of a fat tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FatTreeShape {
    /// Children of a router of each level from the leaves up: m_1 (nodes per leaf router), …, m_h; 1 to 16 levels.
    pub down: Vec<u32>,
    /// Parents: w_1 of a node, which is 1, then w_l of a router of level l - 1.
    pub up: Vec<u32>,
    /// Parallel cables between a router of each level and a child: p_1 = 1, …, p_h.
    pub parallel: Vec<u32>,
}

impl FatTreeShape {
    /// The k-ary n-tree: `arity` children and parents, `levels` levels of routers.
    pub fn k_ary(arity: u32, levels: u32) -> Self {
        let levels = levels.min(MOST_LEVELS as u32 + 1) as usize;
        let mut up = vec![arity; levels];
        up.iter_mut().take(1).for_each(|parents| *parents = 1);
        FatTreeShape {
            down: vec![arity; levels],
            up,
            parallel: vec![1; levels],
        }
    }
}

/// Where a router is in the tree.
#[derive(Clone, Copy, Debug)]
struct Place {
    /// 1 for leaves.
    level: u32,
    /// The first of the routers on top of the same subtree.
    first: u32,
    /// First up port, and the number of parents.
    up: u32,
    parents: u32,
}

/// What is known about a leaf router at a level: the way down to it.
#[derive(Clone, Copy, Debug)]
struct Way {
    /// The first of the routers on top of the subtree that it is in.
    first: u32,
    /// Which child of the next higher level that subtree is.
    child: u32,
}

/// A fat tree.
#[derive(Clone, Debug)]
pub struct FatTree {
    shape: FatTreeShape,
    topology: Topology,
    places: Vec<Place>,
    /// `levels` ways to each leaf router.
    ways: Vec<Way>,
    /// The leaf router's place in `ways`; only of leaves.
    leaf_number: Vec<u32>,
    /// W_l by level, from W_0 = 1.
    tops: Vec<u32>,
}

impl FatTree {
    /// Builds a fat tree.
    ///
    /// # Errors
    /// A text saying which size is impossible and what the bound is.
    pub fn new(shape: FatTreeShape) -> Result<Self, String> {
        let levels = shape.down.len();
        if levels == 0 || levels > MOST_LEVELS {
            return Err(format!("{levels} levels of routers: 1 to {MOST_LEVELS} are possible"));
        }
        if shape.up.len() != levels || shape.parallel.len() != levels {
            return Err(format!(
                "{levels} levels of routers have children, {} parents, {} parallel cables",
                shape.up.len(),
                shape.parallel.len()
            ));
        }
        if [&shape.down, &shape.up, &shape.parallel]
            .iter()
            .any(|sizes| sizes.contains(&0))
        {
            return Err("every level of a fat tree has at least one child, parent and cable".into());
        }
        if shape.up[0] != 1 || shape.parallel[0] != 1 {
            return Err(format!(
                "a node has {} parents with {} cables each: it has one port",
                shape.up[0], shape.parallel[0]
            ));
        }
        // Numbers of routers and ports by level, before anything is built.
        let (m, w, p) = (&shape.down, &shape.up, &shape.parallel);
        let routers_of = |level: usize| sizes::product(m[level..].iter().chain(&w[..level]).copied());
        let above = |level: usize| {
            if level < levels {
                sizes::product([w[level], p[level]])
            } else {
                0
            }
        };
        let mut all_ports = 0u64;
        for level in 1..=levels {
            let of_one = sizes::product([m[level - 1], p[level - 1]]).saturating_add(above(level));
            sizes::check(routers_of(level), of_one)?;
            all_ports += routers_of(level) * of_one;
        }
        sizes::check_ports(all_ports)?;

        let tops: Vec<u32> = (0..=levels).map(|level| w[..level].iter().product()).collect();
        let pods = m[levels - 1];
        // First router of each level in its pod; the top level is behind all pods.
        let subtrees_in_pod = |level: usize| m[level..levels - 1].iter().product::<u32>();
        let mut offset = vec![0; levels];
        let mut pod = 0;
        for level in 1..levels {
            offset[level] = pod;
            pod += subtrees_in_pod(level) * tops[level];
        }
        let pod = if levels == 1 { 0 } else { pod };
        let first_of = |level: usize, subtree: u32| {
            if level == levels {
                return pods * pod;
            }
            let in_pod = subtrees_in_pod(level);
            subtree / in_pod * pod + offset[level] + subtree % in_pod * tops[level]
        };
        let routers = pods * pod + tops[levels];

        let nowhere = Place {
            level: 0,
            first: 0,
            up: 0,
            parents: 0,
        };
        let mut places = vec![nowhere; routers as usize];
        let mut ports = vec![0; routers as usize];
        let mut list = Vec::new();
        for (level, &tops_here) in tops.iter().enumerate().skip(1) {
            let subtrees: u32 = m[level..].iter().product();
            let down = m[level - 1] * p[level - 1];
            // Parents, cables to each, and siblings below them.
            let (parents, lanes, siblings) = if level < levels {
                (w[level], p[level], m[level])
            } else {
                (0, 0, 1)
            };
            let class = if level == 1 {
                LinkClass::Local
            } else {
                LinkClass::Global
            };
            for subtree in 0..subtrees {
                let first = first_of(level, subtree);
                for u in 0..tops_here {
                    let router = first + u;
                    ports[router as usize] = down + above(level) as u32;
                    let place = &mut places[router as usize];
                    (place.level, place.first, place.parents) = (level as u32, first, parents);
                    for d in 0..parents {
                        let parent = first_of(level + 1, subtree / siblings) + u + tops_here * d;
                        for lane in 0..lanes {
                            let here = (router, down + d * lanes + lane);
                            let there = (parent, subtree % siblings * lanes + lane);
                            list.push(cable(here, there, class));
                        }
                    }
                }
            }
        }
        let mut nodes = Vec::new();
        let mut ways = Vec::new();
        let mut leaf_number = vec![u32::MAX; routers as usize];
        for leaf in 0..m[1..].iter().product() {
            let router = first_of(1, leaf);
            leaf_number[router as usize] = leaf;
            nodes.extend((0..m[0]).map(|node| (router, node)));
            let mut subtree = leaf;
            for level in 1..=levels {
                // The top level has no siblings.
                let siblings = m.get(level).copied().unwrap_or(1);
                let (first, child) = (first_of(level, subtree), subtree % siblings);
                ways.push(Way { first, child });
                subtree /= siblings;
            }
        }
        let blocks: Vec<u32> = if levels == 1 {
            vec![0, routers]
        } else {
            (0..=pods).map(|index| index * pod).chain([routers]).collect()
        };
        let topology = Topology::new(&ports, &nodes, &list)?.with_blocks(blocks)?;
        for (router, place) in (0..).zip(&mut places) {
            let level = place.level as usize;
            place.up = topology.first_port(router) + m[level - 1] * p[level - 1];
        }
        Ok(FatTree {
            shape,
            topology,
            places,
            ways,
            leaf_number,
            tops,
        })
    }

    /// The graph. Its blocks are the pods, and the top level.
    pub fn topology(&self) -> &Topology {
        &self.topology
    }

    /// The sizes it was built from.
    pub fn shape(&self) -> &FatTreeShape {
        &self.shape
    }

    /// Applies faults of cables; see [`Topology::impair`].
    ///
    /// # Errors
    /// See there.
    pub fn impair(&mut self, faults: &[Fault]) -> Result<(), String> {
        self.topology.impair(faults)
    }

    /// Whether every packet finds a way up and down whatever it chose before: no two routers of a level have lost so
    /// many parents together that none might be left in common.
    ///
    /// # Errors
    /// A text naming what is missing.
    pub fn check_ways(&self) -> Result<(), String> {
        let mut worst = vec![(0, 0); self.shape.down.len() + 1];
        for router in 0..self.topology.routers() {
            let place = self.places[router as usize];
            let lost = (0..place.parents)
                .filter(|&d| self.topology.live(self.up_ports(router, d)) == 0)
                .count() as u32;
            let (most, second) = &mut worst[place.level as usize];
            if lost > *most {
                (*most, *second) = (lost, *most);
            } else {
                *second = lost.max(*second);
            }
        }
        for (level, &parents) in self.shape.up.iter().enumerate().skip(1) {
            let (most, second) = worst[level];
            if most > 0 && most + second >= parents {
                return Err(format!(
                    "routers of level {level} lost all cables to {most} and {second} of their {parents} parents: \
                     two of them may have none in common"
                ));
            }
        }
        Ok(())
    }

    /// Number of levels of routers.
    #[inline]
    pub fn levels(&self) -> u32 {
        self.shape.down.len() as u32
    }

    /// The level of `router`: 1 for those with nodes.
    #[inline]
    pub fn level(&self, router: u32) -> u32 {
        self.places[router as usize].level
    }

    /// Number of parents of `router`.
    #[inline]
    pub fn parents(&self, router: u32) -> u32 {
        self.places[router as usize].parents
    }

    /// Routers on top of one subtree of `level`: W_l.
    #[inline]
    pub fn tops(&self, level: u32) -> u32 {
        self.tops[level as usize]
    }

    /// The number of the leaf router `router`, from 0.
    #[inline]
    pub fn leaf_number(&self, router: u32) -> u32 {
        self.leaf_number[router as usize]
    }

    #[inline]
    fn way(&self, leaf: u32, level: u32) -> Way {
        self.ways[self.leaf_number[leaf as usize] as usize * self.shape.down.len() + level as usize - 1]
    }

    /// Whether the leaf router `leaf` is below `router`, or is it.
    #[inline]
    pub fn is_above(&self, router: u32, leaf: u32) -> bool {
        let place = self.places[router as usize];
        self.way(leaf, place.level).first == place.first
    }

    /// The ports of `router`, of level 2 or higher, towards its child on the way to the leaf router `leaf` below it:
    /// parallel cables, some of which may have [failed](Topology::live).
    #[inline]
    pub fn down_ports(&self, router: u32, leaf: u32) -> Range<u32> {
        let level = self.places[router as usize].level;
        let parallel = self.shape.parallel[level as usize - 1];
        let first = self.topology.first_port(router) + self.way(leaf, level - 1).child * parallel;
        first..first + parallel
    }

    /// The ports of `router` towards its parent `d`: parallel cables, some of which may have
    /// [failed](Topology::live).
    #[inline]
    pub fn up_ports(&self, router: u32, d: u32) -> Range<u32> {
        let place = self.places[router as usize];
        let parallel = self.shape.parallel.get(place.level as usize).copied().unwrap_or(0);
        let first = place.up + d * parallel;
        first..first + parallel
    }

    /// Whether a packet for a node of the leaf router `leaf` may go up from `router` to its parent `d`: it gets there,
    /// and on the way down it gets from the parent above `leaf` that this choice leads to, to the router of `router`'s
    /// level that is above `leaf`.
    #[inline]
    pub fn is_way_up(&self, router: u32, d: u32, leaf: u32) -> bool {
        if self.topology.failed().is_empty() {
            return true;
        }
        let place = self.places[router as usize];
        let mirror = self.way(leaf, place.level).first + (router - place.first);
        self.topology.live(self.up_ports(router, d)) > 0 && self.topology.live(self.up_ports(mirror, d)) > 0
    }

    /// Cables between one half of the pods, and the top level: the bisection if all nodes of a half send to the other.
    /// For a k-ary n-tree half the number of nodes.
    pub fn bisection(&self) -> u64 {
        let levels = self.shape.down.len();
        if levels == 1 {
            return 0;
        }
        let pods = u64::from(self.shape.down[levels - 1] / 2);
        let of_a_pod = sizes::product([
            self.tops[levels - 1],
            self.shape.up[levels - 1],
            self.shape.parallel[levels - 1],
        ]);
        pods * of_a_pod
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Effect;

    fn tree(down: &[u32], up: &[u32], parallel: &[u32]) -> FatTree {
        FatTree::new(FatTreeShape {
            down: down.to_vec(),
            up: up.to_vec(),
            parallel: parallel.to_vec(),
        })
        .unwrap()
    }

    fn all() -> Vec<FatTree> {
        vec![
            FatTree::new(FatTreeShape::k_ary(4, 3)).unwrap(),
            FatTree::new(FatTreeShape::k_ary(2, 4)).unwrap(),
            FatTree::new(FatTreeShape::k_ary(3, 1)).unwrap(),
            tree(&[4, 6], &[1, 2], &[1, 1]),
            tree(&[2, 3, 4], &[1, 2, 3], &[1, 2, 1]),
            tree(&[3, 2, 2, 3], &[1, 1, 4, 2], &[1, 3, 1, 2]),
        ]
    }

    #[test]
    fn cabling_is_a_perfect_matching() {
        all()
            .iter()
            .for_each(|tree| sizes::assert_perfect_matching(tree.topology()));
    }

    /// n k^(n-1) routers, k^n nodes; all ports used; leaves 2 (n - 1) apart.
    #[test]
    fn k_ary_n_trees_have_the_counts_of_petrini_and_vanneschi() {
        for (k, n) in [(4u32, 3u32), (2, 4), (3, 1), (8, 2)] {
            let tree = FatTree::new(FatTreeShape::k_ary(k, n)).unwrap();
            let t = tree.topology();
            assert_eq!(
                (t.routers(), t.nodes(), t.free_ports()),
                (n * k.pow(n - 1), k.pow(n), 0)
            );
            let of_level = |level| (0..t.routers()).filter(|&router| tree.level(router) == level).count();
            assert!((1..=n).all(|level| of_level(level) as u32 == k.pow(n - 1)));
            let top = (0..t.routers()).filter(|&router| tree.level(router) == n);
            top.for_each(|router| assert_eq!(t.ports_of(router).len() as u32, k));
            assert_eq!(t.diameter().nodes, 2 * (n - 1));
            assert_eq!(
                tree.bisection(),
                if n == 1 { 0 } else { u64::from(k / 2 * k.pow(n - 1)) }
            );
        }
    }

    /// Level l of an XGFT has Π_(j>l) m_j Π_(j<=l) w_j routers.
    #[test]
    fn levels_have_the_counts_of_the_definition() {
        for tree in all() {
            let (t, s) = (tree.topology(), tree.shape());
            assert_eq!(t.nodes(), s.down.iter().product::<u32>());
            for level in 1..=tree.levels() {
                let count = (0..t.routers()).filter(|&router| tree.level(router) == level).count();
                let (above, below) = (&s.down[level as usize..], &s.up[..level as usize]);
                assert_eq!(
                    count as u32,
                    above.iter().product::<u32>() * below.iter().product::<u32>()
                );
            }
            let local = t.cables_by_class()[LinkClass::Local as usize];
            let expected = if tree.levels() > 1 {
                s.down[1..].iter().product::<u32>() * s.up[1] * s.parallel[1]
            } else {
                0
            };
            assert_eq!(local, u64::from(expected));
        }
    }

    #[test]
    fn down_ports_lead_to_every_leaf_below_and_no_other_router_is_above_it() {
        for tree in all() {
            let t = tree.topology();
            let leaves: Vec<u32> = (0..t.routers()).filter(|&router| tree.level(router) == 1).collect();
            for router in 0..t.routers() {
                for &leaf in &leaves {
                    let mut reached = vec![router];
                    while tree.is_above(reached[0], leaf) && tree.level(reached[0]) > 1 {
                        let mut next: Vec<u32> = tree
                            .down_ports(reached[0], leaf)
                            .map(|port| t.neighbour(port).unwrap())
                            .collect();
                        next.dedup();
                        assert_eq!(next.len(), 1);
                        assert_eq!(tree.level(next[0]) + 1, tree.level(reached[0]));
                        reached = next;
                    }
                    assert_eq!(reached[0] == leaf, tree.is_above(router, leaf));
                }
            }
        }
    }

    #[test]
    fn pods_are_blocks() {
        for tree in all().iter().filter(|tree| tree.levels() > 1) {
            let t = tree.topology();
            for pod in t.blocks().windows(2) {
                let top = tree.level(pod[0]) == tree.levels();
                for router in pod[0]..pod[1] {
                    assert_eq!(tree.level(router) == tree.levels(), top);
                    let inside = |port| t.neighbour(port).is_none_or(|other| pod[0] <= other && other < pod[1]);
                    let crossing = tree.level(router) + 1 >= tree.levels();
                    assert!(crossing || t.ports_of(router).all(inside));
                }
            }
        }
    }

    /// Whatever is chosen on the way up among the ways offered, the way down exists.
    #[test]
    fn ways_up_avoid_failed_cables_on_both_sides() {
        let mut tree = FatTree::new(FatTreeShape::k_ary(3, 3)).unwrap();
        let parent = tree.topology().neighbour(tree.up_ports(0, 1).start).unwrap();
        let upper = tree.topology().neighbour(tree.up_ports(parent, 2).start).unwrap();
        let fail = |routers| Fault {
            routers,
            index: None,
            effect: Effect::Failed,
        };
        tree.impair(&[fail((0, parent)), fail((parent, upper))]).unwrap();
        assert_eq!(tree.check_ways(), Ok(()));
        let t = tree.topology();
        for from in (0..t.routers()).filter(|&router| tree.level(router) == 1) {
            for to in (0..t.routers()).filter(|&router| tree.level(router) == 1) {
                let mut open = vec![from];
                while let Some(router) = open.pop() {
                    if tree.is_above(router, to) {
                        let mut at = router;
                        while at != to {
                            assert!(t.live(tree.down_ports(at, to)) > 0);
                            at = t.neighbour(tree.down_ports(at, to).start).unwrap();
                        }
                        continue;
                    }
                    let ways: Vec<u32> = (0..tree.parents(router))
                        .filter(|&d| tree.is_way_up(router, d, to))
                        .collect();
                    assert!(!ways.is_empty());
                    open.extend(
                        ways.iter()
                            .map(|&d| t.neighbour(tree.up_ports(router, d).start).unwrap()),
                    );
                }
            }
        }
        let all_of = |d| fail((0, t.neighbour(tree.up_ports(0, d).start).unwrap()));
        let more = [all_of(0), all_of(2)];
        let mut worse = tree.clone();
        worse.impair(&more).unwrap();
        assert!(worse.check_ways().unwrap_err().contains("level 1"));
    }

    #[test]
    fn impossible_sizes_are_refused_with_the_bound() {
        let new = |down: &[u32], up: &[u32], parallel: &[u32]| {
            let shape = FatTreeShape {
                down: down.to_vec(),
                up: up.to_vec(),
                parallel: parallel.to_vec(),
            };
            FatTree::new(shape).unwrap_err()
        };
        assert!(new(&[], &[], &[]).contains("1 to 16"));
        assert!(
            FatTree::new(FatTreeShape::k_ary(2, u32::MAX))
                .unwrap_err()
                .contains("1 to 16")
        );
        assert!(new(&[2, 2], &[1], &[1, 1]).contains("1 parents"));
        assert!(new(&[2, 0], &[1, 1], &[1, 1]).contains("at least one"));
        assert!(new(&[2, 2], &[2, 1], &[1, 1]).contains("one port"));
        assert!(new(&[u32::MAX; 16], &[1; 16], &[1; 16]).contains("4096"));
        assert!(new(&[64; 16], &[1; 16], &[1; 16]).contains("2^28"));
    }
}

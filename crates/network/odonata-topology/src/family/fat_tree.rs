//! Fat trees: extended generalized fat trees and k-ary n-trees.
//!
//! S. Öhring, M. Ibel, S. Das, M. Kumar, "On generalized fat trees", IPPS 1995: XGFT(h; m_1 … m_h; w_1 … w_h) has nodes
//! at level 0 and routers at levels 1 to h. A member of level l has w_(l+1) parents, a router of level l has m_l
//! children. Parallel cables p_l between a child and a parent: E. Zahavi, "D-Mod-K routing providing non-blocking
//! traffic for shift permutations on real life fat trees", Technion CCIT report 776, 2010 (PGFT). Here a node has one
//! port, so w_1 = p_1 = 1. Tapering means fewer parents or parallel cables than children.
//!
//! The k-ary n-tree (F. Petrini, M. Vanneschi, "k-ary n-trees: high performance networks for massively parallel
//! architectures", IPPS 1997) is XGFT(n; k … k; 1, k … k): n levels of k^(n-1) routers; routers of the top level have
//! only k down ports.
//!
//! With M_l = m_1 ⋯ m_l and W_l = w_1 ⋯ w_l, level l has Π_(j>l) m_j subtrees of M_l nodes each with W_l routers on
//! top: router (l, t, u) is top `u` of subtree `t`. Its parents are the routers (l+1, t / m_(l+1), u + W_l d), d <
//! w_(l+1). From there exactly one sequence of routers leads down to each node, so the choices on the way up determine
//! a path.
//!
//! Routers are numbered pod by pod, a pod being one of the m_h subtrees below the top level; in a pod level by level
//! from the leaves, in a level by subtree, then `u`; the top level comes last. Ports of a router: its children (nodes
//! of a leaf) in ascending order, then its parents by `d`, parallel cables together. Cables between levels 1 and 2 are
//! local, those above global.

mod keys;

pub use keys::Settings;

use super::FamilyGraph;
use crate::sizes::{self, cable};
use crate::{LinkClass, Topology};
use std::ops::Range;

const MOST_LEVELS: usize = 16;

/// The sizes of a fat tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FatTreeShape {
    /// Children of a router per level from the leaves up: m_1 (nodes per leaf router), …, m_h; 1 to 16 levels.
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

    /// Routers of each level and ports of each, from the leaves up; saturating. The three lists must have equal
    /// lengths.
    fn levels(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let (m, w, p) = (&self.down, &self.up, &self.parallel);
        let above = |level: usize| match level < m.len() {
            true => sizes::product([w[level], p[level]]),
            false => 0,
        };
        (1..=m.len()).map(move |level| {
            let routers = sizes::product(m[level..].iter().chain(&w[..level]).copied());
            let ports = sizes::product([m[level - 1], p[level - 1]]).saturating_add(above(level));
            (routers, ports)
        })
    }

    /// Routers and ports of the whole tree; saturating. The three lists must have equal lengths.
    pub fn sizes(&self) -> (u64, u64) {
        self.levels().fold((0, 0), |(routers, ports), (more, each)| {
            let more_ports = more.saturating_mul(each);
            (
                u64::saturating_add(routers, more),
                u64::saturating_add(ports, more_ports),
            )
        })
    }
}

/// The position of a router in the tree.
#[derive(Clone, Copy, Debug)]
struct Place {
    /// 1 for leaves.
    level: u32,
    /// The first router on top of the same subtree.
    first: u32,
    /// First uplink port, and number of parents.
    up: u32,
    parents: u32,
}

/// The way down to a leaf router from a level.
#[derive(Clone, Copy, Debug)]
struct Descent {
    /// The first router on top of its subtree.
    first: u32,
    /// The index of that subtree among the children of the next level.
    child: u32,
}

/// A fat tree.
#[derive(Clone, Debug)]
pub struct FatTree {
    shape: FatTreeShape,
    topology: Topology,
    places: Vec<Place>,
    /// `levels` entries per leaf router.
    ways: Vec<Descent>,
    /// The index of a leaf router in `ways`.
    leaf_number: Vec<u32>,
    /// W_l by level, from W_0 = 1.
    tops: Vec<u32>,
}

impl FatTree {
    /// Builds a fat tree.
    ///
    /// # Errors
    /// The impossible size and its bound.
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
        let (m, w, p) = (&shape.down, &shape.up, &shape.parallel);
        for (routers, ports) in shape.levels() {
            sizes::check(routers, ports)?;
        }
        let (_, all_ports) = shape.sizes();
        sizes::check_ports(all_ports)?;

        let tops: Vec<u32> = (0..=levels).map(|level| w[..level].iter().product()).collect();
        let pods = m[levels - 1];
        // First router of each level in its pod; the top level follows all pods.
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
            // Parents, cables to each, and siblings that share them.
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
                    ports[router as usize] = down + parents * lanes;
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
                ways.push(Descent { first, child });
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

    /// The sizes of the tree.
    pub fn shape(&self) -> &FatTreeShape {
        &self.shape
    }

    /// Checks that every packet finds a way up and down for all earlier choices: no two routers of a level may have
    /// lost so many parents that they might have none in common.
    ///
    /// # Errors
    /// The missing cables.
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
                    "routers of level {level} lost all cables to {most} and {second} of their {parents} parents: two \
                     of them may have no common parent"
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

    /// The level of `router`: 1 for routers with nodes.
    #[inline]
    pub fn level(&self, router: u32) -> u32 {
        self.places[router as usize].level
    }

    /// The first router on top of the same subtree as `router`.
    pub fn subtree(&self, router: u32) -> u32 {
        self.places[router as usize].first
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
    fn way(&self, leaf: u32, level: u32) -> Descent {
        self.ways[self.leaf_number[leaf as usize] as usize * self.shape.down.len() + level as usize - 1]
    }

    /// Whether the leaf router `leaf` is below `router`, or is it.
    #[inline]
    pub fn is_above(&self, router: u32, leaf: u32) -> bool {
        let place = self.places[router as usize];
        self.way(leaf, place.level).first == place.first
    }

    /// The ports of `router`, of level 2 or higher, to its child on the way down to the leaf router `leaf`: parallel
    /// cables, some of which may have [failed](Topology::live).
    #[inline]
    pub fn down_ports(&self, router: u32, leaf: u32) -> Range<u32> {
        let level = self.places[router as usize].level;
        let parallel = self.shape.parallel[level as usize - 1];
        let first = self.topology.first_port(router) + self.way(leaf, level - 1).child * parallel;
        first..first + parallel
    }

    /// The ports of `router` to its parent `d`: parallel cables, some of which may have [failed](Topology::live).
    #[inline]
    pub fn up_ports(&self, router: u32, d: u32) -> Range<u32> {
        let place = self.places[router as usize];
        let parallel = self.shape.parallel.get(place.level as usize).copied().unwrap_or(0);
        let first = place.up + d * parallel;
        first..first + parallel
    }

    /// Whether a packet for a node of the leaf router `leaf` may go up from `router` to its parent `d`: cables exist up
    /// to the parent, and down from the corresponding parent above `leaf` to the router of this level above `leaf`.
    #[inline]
    pub fn is_way_up(&self, router: u32, d: u32, leaf: u32) -> bool {
        if self.topology.failed().is_empty() {
            return true;
        }
        let place = self.places[router as usize];
        let mirror = self.way(leaf, place.level).first + (router - place.first);
        self.topology.live(self.up_ports(router, d)) > 0 && self.topology.live(self.up_ports(mirror, d)) > 0
    }
}

impl FamilyGraph for FatTree {
    fn topology(&self) -> &Topology {
        &self.topology
    }

    fn topology_mut(&mut self) -> &mut Topology {
        &mut self.topology
    }

    /// Cables between half of the pods and the top level: the bisection if all nodes of a half send to the other. For a
    /// k-ary n-tree half the number of nodes.
    fn bisection(&self) -> Option<u64> {
        let levels = self.shape.down.len();
        if levels == 1 {
            return Some(0);
        }
        let pods = u64::from(self.shape.down[levels - 1] / 2);
        let of_a_pod = sizes::product([
            self.tops[levels - 1],
            self.shape.up[levels - 1],
            self.shape.parallel[levels - 1],
        ]);
        Some(pods * of_a_pod)
    }
}

#[cfg(test)]
mod tests;

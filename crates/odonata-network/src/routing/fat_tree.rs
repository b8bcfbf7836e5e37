//! Routing on a fat tree: up to a nearest common ancestor, then down.
//!
//! The way down is given; the port up is chosen
//!
//! - **at random** (L. Valiant 1982; as BookSim's `nca`);
//! - by **D-mod-k**: parent floor(D / W_l) mod w_(l+1) of a router of level l for destination node D (E. Zahavi, "D-Mod-K
//!   routing providing non-blocking traffic for shift permutations on real life fat trees", Technion CCIT report 776,
//!   2010), so that all packets for one node take one way down;
//! - **adaptively**: the lightest.
//!
//! Parallel cables are chosen likewise; by D-mod-k they are the next digit. First up, then down: one level is enough. Ways
//! that failed cables end are not taken, as long as others are left (see [`FatTree::check_ways`]); by D-mod-k the next
//! parent is taken then.

use super::{Choice, Decision, Header};
use odonata_topology::FatTree;
use std::ops::Range;

/// How ports up are chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FatTreeAlgorithm {
    /// At random.
    Random,
    /// By the destination.
    DModK,
    /// The lightest.
    Adaptive,
}

/// A routing algorithm on a fat tree.
#[derive(Debug)]
pub struct FatTreeRouting {
    tree: FatTree,
    algorithm: FatTreeAlgorithm,
    /// For D-mod-k: parent and parallel cable for each node at each level but the top.
    digits: Vec<(u16, u16)>,
}

impl FatTreeRouting {
    /// A routing on `tree`.
    ///
    /// # Errors
    /// So many cables failed that some packets might find no way.
    pub fn new(tree: FatTree, algorithm: FatTreeAlgorithm) -> Result<Self, String> {
        tree.check_ways()?;
        let t = tree.topology();
        let mut digits = Vec::new();
        if algorithm == FatTreeAlgorithm::DModK {
            for node in 0..t.nodes() {
                for level in 1..tree.levels() {
                    let (parents, cables) = (tree.shape().up[level as usize], tree.shape().parallel[level as usize]);
                    let quotient = node / tree.tops(level);
                    digits.push(((quotient % parents) as u16, (quotient / parents % cables) as u16));
                }
            }
        }
        Ok(FatTreeRouting {
            tree,
            algorithm,
            digits,
        })
    }

    /// The fat tree it routes on.
    pub fn tree(&self) -> &FatTree {
        &self.tree
    }

    pub(super) fn virtual_channels(&self) -> crate::VirtualChannels {
        match self.tree.levels() {
            1 => [1, 0, 0, 0],
            2 => [1, 1, 0, 0],
            _ => [1, 1, 1, 0],
        }
    }

    #[inline]
    pub(super) fn decide(&self, router: u32, header: &mut Header, choice: &mut impl Choice) -> Decision {
        let topology = self.tree.topology();
        let leaf = topology.node_router(header.target);
        if router == leaf {
            return Decision::new(topology.node_port(header.target), 0);
        }
        let level = self.tree.level(router);
        let port = if self.tree.is_above(router, leaf) {
            let ports = self.tree.down_ports(router, leaf);
            self.cable(ports, level - 1, header.target, choice)
        } else {
            self.up(router, level, leaf, header.target, choice)
        };
        Decision::new(port, 0)
    }

    /// For D-mod-k: parent and parallel cable on the way between `level` and the next higher one.
    #[inline]
    fn digits(&self, level: u32, target: u32) -> (u32, u32) {
        let (parent, cable) = self.digits[(target * (self.tree.levels() - 1) + level - 1) as usize];
        (u32::from(parent), u32::from(cable))
    }

    /// One of parallel cables between `level` and the next higher one.
    #[inline]
    fn cable(&self, ports: Range<u32>, level: u32, target: u32, choice: &mut impl Choice) -> u32 {
        let topology = self.tree.topology();
        let live = topology.live(ports.clone());
        if live < 2 {
            return topology.nth_live(ports, 0);
        }
        match self.algorithm {
            FatTreeAlgorithm::Random => topology.nth_live(ports, choice.pick(live)),
            FatTreeAlgorithm::DModK => {
                let wanted = ports.start + self.digits(level, target).1;
                if topology.is_live(wanted) {
                    wanted
                } else {
                    topology.nth_live(ports, 0)
                }
            }
            FatTreeAlgorithm::Adaptive => super::lightest(live, choice, |n, _| topology.nth_live(ports.clone(), n)),
        }
    }

    #[inline]
    fn up(&self, router: u32, level: u32, leaf: u32, target: u32, choice: &mut impl Choice) -> u32 {
        let tree = &self.tree;
        let parents = tree.parents(router);
        let may = |d: &u32| tree.is_way_up(router, *d, leaf);
        let whole = tree.topology().failed().is_empty();
        let ways = if whole {
            parents
        } else {
            (0..parents).filter(may).count() as u32
        };
        let nth = |n: u32| {
            if whole {
                n
            } else {
                (0..parents).filter(may).nth(n as usize).unwrap_or(0)
            }
        };
        match self.algorithm {
            FatTreeAlgorithm::Random => {
                let parent = nth(if ways > 1 { choice.pick(ways) } else { 0 });
                self.cable(tree.up_ports(router, parent), level, target, choice)
            }
            FatTreeAlgorithm::DModK => {
                let wanted = self.digits(level, target).0;
                let parent = (wanted..parents).chain(0..wanted).find(may).unwrap_or(wanted);
                self.cable(tree.up_ports(router, parent), level, target, choice)
            }
            FatTreeAlgorithm::Adaptive => {
                let way = |n, choice: &mut _| self.cable(tree.up_ports(router, nth(n)), level, target, choice);
                match ways {
                    0 | 1 => way(0, choice),
                    _ => super::lightest(ways, choice, way),
                }
            }
        }
    }
}

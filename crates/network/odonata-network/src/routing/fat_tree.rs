//! Routing on a fat tree: up to a nearest common ancestor, then down.
//!
//! The path down is determined; the port up is chosen
//!
//! - **at random** (L. Valiant 1982; as BookSim's `nca`);
//! - by **D-mod-k**: parent floor(D / W_l) mod w_(l+1) of a router of level l for destination node D (E. Zahavi,
//!   "D-Mod-K routing providing non-blocking traffic for shift permutations on real life fat trees", Technion CCIT
//!   report 776, 2010), so that all packets for one node share one path down;
//! - **adaptively**: the lightest of several random ports.
//!
//! Parallel cables are chosen likewise; D-mod-k uses the next digit. Packets go up, then down, so one level is enough.
//! Paths that end at failed cables are avoided while others exist (see [`FatTree::check_ways`]); D-mod-k then takes the
//! next parent.

use super::{Choice, Decision, FamilyRouting, Header, Key, Name, Settings, Table, VirtualChannels, entry};
use odonata_topology::{FatTree, Topology};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// How the path up is chosen among several to the destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Up {
    /// At random.
    Random,
    /// By the number of the destination (E. Zahavi, "D-Mod-K routing", 2010): all packets to a node share one path
    /// down. Only on fat trees and rail-optimized clusters.
    DModK,
    /// The least loaded of `candidates` random ports.
    Adaptive,
}

impl Up {
    /// The name in a scenario.
    pub fn name(self) -> &'static str {
        match self {
            Up::Random => "random",
            Up::DModK => "d-mod-k",
            Up::Adaptive => "adaptive",
        }
    }
}

/// The algorithm; its keys select the path up.
pub(super) const ALGORITHMS: Table<()> = &[entry(Name::NearestCommonAncestor, (), &[&[Key::Up, Key::Candidates]])];

/// A routing algorithm on a fat tree.
#[derive(Debug)]
pub struct FatTreeRouting {
    tree: FatTree,
    algorithm: Up,
    /// Number of ports to compare.
    candidates: u32,
    /// For D-mod-k: parent and parallel cable for each node at each level but the top.
    digits: Vec<(u16, u16)>,
}

impl FatTreeRouting {
    /// A routing on `tree`.
    ///
    /// # Errors
    /// Too many cables failed: some packets might find no path.
    pub fn new(tree: FatTree, algorithm: Up) -> Result<Self, String> {
        tree.check_ways()?;
        let t = tree.topology();
        let mut digits = Vec::new();
        if algorithm == Up::DModK {
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
            candidates: 2,
            digits,
        })
    }

    /// Whether paths up are chosen by load.
    pub fn is_adaptive(&self) -> bool {
        self.algorithm == Up::Adaptive
    }

    /// Sets the number of random ports that adaptive routing compares; initially two.
    pub fn with_candidates(self, candidates: u32) -> Self {
        FatTreeRouting { candidates, ..self }
    }

    /// The fat tree it routes on.
    pub fn tree(&self) -> &FatTree {
        &self.tree
    }

    /// For D-mod-k: parent and parallel cable between `level` and the next higher one.
    #[inline]
    fn digits(&self, level: u32, target: u32) -> (u32, u32) {
        let (parent, cable) = self.digits[(target * (self.tree.levels() - 1) + level - 1) as usize];
        (u32::from(parent), u32::from(cable))
    }

    /// One of parallel cables between `level` and the next higher one.
    #[inline]
    fn cable(&self, ports: Range<u32>, level: u32, target: u32, choice: &mut (impl Choice + ?Sized)) -> u32 {
        let topology = self.tree.topology();
        let live = topology.live(ports.clone());
        if live < 2 {
            return topology.nth_live(ports, 0);
        }
        match self.algorithm {
            Up::Random => topology.nth_live(ports, choice.pick(live)),
            Up::DModK => {
                let wanted = ports.start + self.digits(level, target).1;
                if topology.is_live(wanted) {
                    wanted
                } else {
                    topology.nth_live(ports, 0)
                }
            }
            Up::Adaptive => super::lightest(live, self.candidates, choice, |n, _| {
                topology.nth_live(ports.clone(), n)
            }),
        }
    }

    #[inline]
    fn up(&self, router: u32, level: u32, leaf: u32, target: u32, choice: &mut (impl Choice + ?Sized)) -> u32 {
        let tree = &self.tree;
        let parents = tree.parents(router);
        let may = |d: &u32| tree.is_way_up(router, *d, leaf);
        let whole = tree.topology().failed().is_empty();
        let open = if whole {
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
            Up::Random => {
                let parent = nth(if open > 1 { choice.pick(open) } else { 0 });
                self.cable(tree.up_ports(router, parent), level, target, choice)
            }
            Up::DModK => {
                let wanted = self.digits(level, target).0;
                let parent = (wanted..parents).chain(0..wanted).find(may).unwrap_or(wanted);
                self.cable(tree.up_ports(router, parent), level, target, choice)
            }
            Up::Adaptive => {
                let port = |n, choice: &mut _| self.cable(tree.up_ports(router, nth(n)), level, target, choice);
                match open {
                    0 | 1 => port(0, choice),
                    _ => super::lightest(open, self.candidates, choice, port),
                }
            }
        }
    }
}

impl FamilyRouting for FatTreeRouting {
    type Graph = FatTree;
    type Algorithm = ();

    fn on(graph: FatTree, algorithm: (), settings: &Settings) -> Result<Self, String> {
        let () = algorithm;
        let routing = FatTreeRouting::new(graph, settings.up.unwrap_or(Up::DModK))?;
        Ok(routing.with_candidates(super::candidates(settings)))
    }

    fn topology(&self) -> &Topology {
        self.tree.topology()
    }

    /// The uplinks of all routers on top of a subtree, and the links down to these routers.
    fn pipes(&self) -> Option<Vec<u32>> {
        let (tree, topology) = (&self.tree, self.tree.topology());
        if self.algorithm == Up::DModK {
            return None;
        }
        super::pipes_by_key(topology, |port| {
            let (from, to) = (topology.router_of_port(port), topology.neighbour(port)?);
            let is_down = tree.level(to) < tree.level(from);
            Some((tree.subtree(if is_down { to } else { from }), is_down))
        })
    }

    fn virtual_channels(&self) -> VirtualChannels {
        match self.tree.levels() {
            1 => [1, 0, 0, 0],
            2 => [1, 1, 0, 0],
            _ => [1, 1, 1, 0],
        }
    }

    #[inline(always)]
    fn fixed_step(&self, router: u32, header: &mut Header) -> Option<Decision> {
        let topology = self.tree.topology();
        let leaf = topology.node_router(header.target);
        if router == leaf {
            return Some(Decision::new(topology.node_port(header.target), 0));
        }
        if !self.tree.is_above(router, leaf) {
            return None;
        }
        let ports = self.tree.down_ports(router, leaf);
        (topology.live(ports.clone()) < 2).then(|| Decision::new(topology.nth_live(ports, 0), 0))
    }

    #[inline]
    fn decide(&self, router: u32, header: &mut Header, choice: &mut (impl Choice + ?Sized)) -> Decision {
        let leaf = self.tree.topology().node_router(header.target);
        let level = self.tree.level(router);
        let port = if self.tree.is_above(router, leaf) {
            let ports = self.tree.down_ports(router, leaf);
            self.cable(ports, level - 1, header.target, choice)
        } else {
            self.up(router, level, leaf, header.target, choice)
        };
        Decision::new(port, 0)
    }
}

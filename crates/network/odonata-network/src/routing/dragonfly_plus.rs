//! Routing on a dragonfly+ (megafly).
//!
//! - **minimal**: leaf, spine, spine, leaf; in one group leaf, spine, leaf. Among several gateways or spines, a random
//!   one;
//! - **Valiant**: minimal to a random other group, then minimal. From a spine of that group without a cable to the
//!   destination's group, the path continues through a random leaf of it and another spine;
//! - **UGAL**: at the source leaf minimal or non-minimal, by load (A. Singh 2005; M. Flajslik, E. Borch, M. Parker,
//!   "Megafly", ISC 2018);
//! - **PAR**: in addition, the spine of the source group that a minimal packet reaches may still send it over another
//!   of its own global ports (A. Shpiner et al., "Dragonfly+", HiPINEB 2017; N. Jiang, J. Kim, W. Dally, ISCA 2009).
//!
//! Adaptive algorithms may also know the loads of the global ports of the spines ([`Knowledge`](crate::Knowledge)).
//!
//! Up cables lead from leaf to spine, down cables back. The order of channels is: up on level 0, global 0, down 0, up
//! 1, global 1, down 1. Minimal packets end with down on level 0 and need one level; the others need two in both
//! classes.

use super::{
    Choice, Decision, FamilyRouting, Header, KNOWLEDGE, Key, NOWHERE, Name, Path, Settings, Table, VirtualChannels,
    WEIGHING, entry,
};
use odonata_topology::{DragonflyPlus, Gateway, LinkClass, Topology};

/// Routing algorithms on a dragonfly+.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DragonflyPlusAlgorithm {
    /// Shortest paths.
    Minimal,
    /// Through a random other group.
    Valiant,
    /// Minimal or through another group, decided by load at the source leaf.
    Ugal,
    /// The same, and the spine may decide again.
    ProgressiveAdaptive,
}

/// In [`Header::notes`]: the source leaf has decided.
const DECIDED: u16 = 1;
/// In [`Header::notes`]: the packet has moved down in the intermediate group.
const DOWN: u16 = 2;

/// Routers on the longest minimal path, and on the longest non-minimal one.
const HOPS: (u32, u32) = (4, 7);

pub(super) const ALGORITHMS: Table<DragonflyPlusAlgorithm> = &[
    entry(Name::Minimal, DragonflyPlusAlgorithm::Minimal, &[]),
    entry(Name::Valiant, DragonflyPlusAlgorithm::Valiant, &[]),
    entry(
        Name::Ugal,
        DragonflyPlusAlgorithm::Ugal,
        &[&[Key::Candidates], WEIGHING, KNOWLEDGE],
    ),
    entry(
        Name::ProgressiveAdaptive,
        DragonflyPlusAlgorithm::ProgressiveAdaptive,
        &[&[Key::Candidates], WEIGHING],
    ),
];

/// A routing algorithm on a dragonfly+. [`Header::via`] is a group, [`Header::level`] the number of global cables
/// taken.
#[derive(Debug)]
pub struct DragonflyPlusRouting {
    plus: DragonflyPlus,
    algorithm: DragonflyPlusAlgorithm,
    candidates: u32,
}

impl DragonflyPlusRouting {
    /// A routing on `plus`; `candidates` (at least 1) random paths are compared if load decides.
    ///
    /// # Errors
    /// All cables between a leaf and a spine of its group, or between two groups, failed.
    pub fn new(plus: DragonflyPlus, algorithm: DragonflyPlusAlgorithm, candidates: u32) -> Result<Self, String> {
        plus.check_ways()?;
        Ok(DragonflyPlusRouting {
            plus,
            algorithm,
            candidates: candidates.max(1),
        })
    }

    /// The dragonfly+ it routes on.
    pub fn dragonfly_plus(&self) -> &DragonflyPlus {
        &self.plus
    }

    fn is_adaptive(&self) -> bool {
        matches!(
            self.algorithm,
            DragonflyPlusAlgorithm::Ugal | DragonflyPlusAlgorithm::ProgressiveAdaptive
        )
    }

    /// The next port toward `group` and, in it, router `home`.
    #[inline]
    fn next(
        &self,
        router: u32,
        here: u32,
        group: u32,
        home: u32,
        header: &mut Header,
        choice: &mut (impl Choice + ?Sized),
    ) -> u32 {
        match (here == group, self.plus.is_leaf(router)) {
            (true, false) => self.local(router, home, choice),
            (true, true) => {
                let spines = self.plus.spines(group);
                self.local(router, spines.start + choice.pick(spines.end - spines.start), choice)
            }
            (false, true) => {
                let gateway = self.gateway(self.plus.gateways(here, group), choice);
                self.local(router, gateway.router, choice)
            }
            (false, false) => {
                let own = self.plus.own_gateways(router, group);
                if !own.is_empty() {
                    return self.gateway(own, choice).port;
                }
                header.notes |= DOWN;
                let leaves = self.plus.leaves(here);
                self.local(router, leaves.start + choice.pick(leaves.end - leaves.start), choice)
            }
        }
    }

    #[inline]
    fn gateway(&self, gateways: &[Gateway], choice: &mut (impl Choice + ?Sized)) -> Gateway {
        let n = gateways.len() as u32;
        let index = if n > 1 { choice.pick(n) } else { 0 };
        gateways[index as usize]
    }

    #[inline]
    fn local(&self, router: u32, other: u32, choice: &mut (impl Choice + ?Sized)) -> u32 {
        let ports = self.plus.local_ports(router, other);
        super::parallel(self.plus.topology(), ports, self.is_adaptive(), choice)
    }

    /// The level on `port`; updates the header for the port's far end.
    #[inline]
    fn take(&self, router: u32, port: u32, header: &mut Header) -> Decision {
        match self.plus.topology().class(port) {
            LinkClass::Global => {
                header.level += 1;
                Decision::new(port, header.level - 1)
            }
            // Up: 1 after moving down in the intermediate group. Down: 1 after two global cables.
            _ if self.plus.is_leaf(router) => Decision::new(port, u8::from(header.notes & DOWN != 0)),
            _ => Decision::new(port, u8::from(header.level == 2)),
        }
    }

    /// A random group other than two given ones.
    #[inline]
    fn other_group(&self, here: u32, goal: u32, choice: &mut (impl Choice + ?Sized)) -> u32 {
        super::other_group(self.plus.shape().groups, here, goal, choice)
    }

    /// A random gateway from the group of `leaf` to another one, and the port of `leaf` toward it, as a path.
    #[inline]
    fn path(&self, leaf: u32, here: u32, group: u32, hops: u32, choice: &mut (impl Choice + ?Sized)) -> Path {
        let gateway = self.gateway(self.plus.gateways(here, group), choice);
        Path {
            port: self.local(leaf, gateway.router, choice),
            hops,
            remote: gateway.port,
        }
    }

    /// Decides at the source leaf whether a packet goes through another group; returns its first port.
    fn choose_at_leaf(
        &self,
        leaf: u32,
        here: u32,
        goal: u32,
        header: &mut Header,
        choice: &mut (impl Choice + ?Sized),
    ) -> u32 {
        let minimal = self.path(leaf, here, goal, HOPS.0, choice);
        let best = super::lightest_path(self.candidates, choice, |choice| {
            let group = self.other_group(here, goal, choice);
            Some((group, self.path(leaf, here, group, HOPS.1, choice)))
        });
        match best {
            // The first port may be the same: the paths differ beyond it.
            Some((group, path)) if choice.divert(minimal, path) => {
                header.via = group;
                path.port
            }
            _ => minimal.port,
        }
    }

    /// Decides at a spine of the source group whether a packet goes through the group of another of its global ports.
    fn choose_at_spine(
        &self,
        spine: u32,
        here: u32,
        goal: u32,
        header: &mut Header,
        choice: &mut (impl Choice + ?Sized),
    ) -> u32 {
        let topology = self.plus.topology();
        let minimal = self.gateway(self.plus.own_gateways(spine, goal), choice).port;
        let shape = self.plus.shape();
        let ports = topology.ports_of(spine);
        let global = ports.end - shape.global_ports..ports.end;
        let group_behind = |port: u32| topology.neighbour(port).map(|far| self.plus.group_of(far));
        let leads_on = |&port: &u32| group_behind(port).is_some_and(|group| group != goal);
        let count = global.clone().filter(leads_on).count() as u32;
        let best = super::lightest_port(self.candidates, choice, |choice| {
            let n = if count > 1 { choice.pick(count) } else { 0 };
            let port = global.clone().filter(leads_on).nth(n as usize)?;
            Some((group_behind(port), port))
        });
        let path = |port, hops| Path {
            port,
            hops,
            remote: NOWHERE,
        };
        match best {
            Some((group, port)) if choice.divert(path(minimal, HOPS.0 - 1), path(port, HOPS.1 - 1)) => {
                header.via = group.unwrap_or(here);
                port
            }
            _ => minimal,
        }
    }
}

impl FamilyRouting for DragonflyPlusRouting {
    type Graph = DragonflyPlus;
    type Algorithm = DragonflyPlusAlgorithm;

    fn on(graph: DragonflyPlus, algorithm: DragonflyPlusAlgorithm, settings: &Settings) -> Result<Self, String> {
        DragonflyPlusRouting::new(graph, algorithm, super::candidates(settings))
    }

    fn topology(&self) -> &Topology {
        self.plus.topology()
    }

    fn virtual_channels(&self) -> VirtualChannels {
        // With two groups there is no intermediate.
        match (self.plus.shape().groups, self.algorithm) {
            (1, _) => [1, 1, 0, 0],
            (2, _) | (_, DragonflyPlusAlgorithm::Minimal) => [1, 1, 1, 0],
            _ => [1, 2, 2, 0],
        }
    }

    #[inline]
    fn decide(&self, router: u32, header: &mut Header, choice: &mut (impl Choice + ?Sized)) -> Decision {
        let topology = self.plus.topology();
        let home = topology.node_router(header.target);
        if router == home {
            return Decision::new(topology.node_port(header.target), 0);
        }
        let (here, goal) = (self.plus.group_of(router), self.plus.group_of(home));
        if here != goal && header.via == NOWHERE && header.level == 0 && self.plus.shape().groups > 2 {
            if header.notes & DECIDED == 0 {
                header.notes |= DECIDED;
                match self.algorithm {
                    DragonflyPlusAlgorithm::Minimal => {}
                    DragonflyPlusAlgorithm::Valiant => header.via = self.other_group(here, goal, choice),
                    _ => {
                        let port = self.choose_at_leaf(router, here, goal, header, choice);
                        return self.take(router, port, header);
                    }
                }
            } else if self.algorithm == DragonflyPlusAlgorithm::ProgressiveAdaptive && !self.plus.is_leaf(router) {
                let port = self.choose_at_spine(router, here, goal, header, choice);
                return self.take(router, port, header);
            }
        }
        if header.via == here {
            header.via_reached = true;
        }
        let group = if header.via == NOWHERE || header.via_reached {
            goal
        } else {
            header.via
        };
        let port = self.next(router, here, group, home, header, choice);
        self.take(router, port, header)
    }

    fn routers_of_a_group(&self) -> Option<u32> {
        let shape = self.plus.shape();
        (self.is_adaptive() && shape.groups > 2).then_some(shape.leaves + shape.spines)
    }
}

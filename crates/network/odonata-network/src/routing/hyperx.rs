//! Routing on HyperX and flattened butterfly.
//!
//! - **minimal**: one cable per dimension, the lower dimension first (BookSim's `ran_min` of its flattened butterfly);
//! - **Valiant**: minimal to a random router, then minimal to the destination (L. Valiant, G. Brebner, STOC 1981);
//! - **UGAL**: at the source router, by load, minimal or through a random router (A. Singh, "Load-balanced routing in
//!   interconnection networks", PhD thesis, Stanford 2005; J. Kim, W. Dally, D. Abts, ISCA 2007);
//! - **DAL**, dimensionally-adaptive load-balanced: at every router, by load, to the destination's place in a dimension
//!   or, once in each dimension, to a random other place of it (J. Ahn, N. Binkert, A. Davis, M. McLaren, R. Schreiber,
//!   "HyperX", SC 2009). A packet that finds no room switches to minimal routing on a level of its own and stays there.
//!
//! | algorithm | levels |
//! |---|---|
//! | minimal | 1 |
//! | Valiant, UGAL | 2: before and after the random router; minimal packets take the second |
//! | DAL | 2: escape, adaptive |
//!
//! Among parallel cables a random one is taken; adaptive algorithms take the lightest.

use super::{
    COMPARING, Choice, Decision, FamilyRouting, Header, NOWHERE, Name, Path, Settings, Table, VirtualChannels,
    WEIGHING, entry,
};
use odonata_topology::{HyperX, Topology};

/// Routing algorithms on a HyperX.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HyperXAlgorithm {
    /// Dimension order.
    Minimal,
    /// Through a random router.
    Valiant,
    /// Minimal or through a random router, decided by load at the source.
    Ugal,
    /// By load at every router, with one deroute per dimension.
    Dal,
}

/// Marks the escape level of DAL in [`Header::level`], which otherwise is the dimension of the last deroute.
const ESCAPED: u8 = u8::MAX;

pub(super) const ALGORITHMS: Table<HyperXAlgorithm> = &[
    entry(Name::Minimal, HyperXAlgorithm::Minimal, &[]),
    entry(Name::Valiant, HyperXAlgorithm::Valiant, &[]),
    entry(Name::Ugal, HyperXAlgorithm::Ugal, COMPARING),
    entry(Name::Dal, HyperXAlgorithm::Dal, &[WEIGHING]),
];

/// A routing algorithm on a HyperX. [`Header::notes`]: for UGAL, whether it is decided; for DAL, a bit for each
/// dimension in which the packet was derouted. [`Header::via`]: for DAL, the router of the last deroute, which counts
/// as reached. A packet never returns to that router, so a packet found there still waits, and its deroute is undone.
#[derive(Debug)]
pub struct HyperXRouting {
    hyperx: HyperX,
    algorithm: HyperXAlgorithm,
    candidates: u32,
}

impl HyperXRouting {
    /// A routing on `hyperx`; `candidates` (at least 1) random non-minimal paths are drawn, and the lightest is
    /// compared with the minimal one.
    ///
    /// # Errors
    /// All cables between two routers failed.
    pub fn new(hyperx: HyperX, algorithm: HyperXAlgorithm, candidates: u32) -> Result<Self, String> {
        hyperx.check_ways()?;
        Ok(HyperXRouting {
            hyperx,
            algorithm,
            candidates: candidates.max(1),
        })
    }

    /// The HyperX it routes on.
    pub fn hyperx(&self) -> &HyperX {
        &self.hyperx
    }

    /// The next port by dimension order toward another router.
    #[inline]
    fn minimal(&self, router: u32, to: u32, choice: &mut (impl Choice + ?Sized)) -> u32 {
        let (here, goal) = (
            self.hyperx.grid().coordinates(router),
            self.hyperx.grid().coordinates(to),
        );
        let dimension = (0..here.len()).find(|&d| here[d] != goal[d]).unwrap_or(0);
        self.cable(router, dimension as u32, goal[dimension], choice)
    }

    /// One of the cables to the router at another place of a dimension.
    #[inline]
    fn cable(&self, router: u32, dimension: u32, to: u32, choice: &mut (impl Choice + ?Sized)) -> u32 {
        let adaptive = matches!(self.algorithm, HyperXAlgorithm::Ugal | HyperXAlgorithm::Dal);
        let ports = self.hyperx.ports(router, dimension, to);
        super::parallel(self.hyperx.topology(), ports, adaptive, choice)
    }

    fn distance(&self, a: u32, b: u32) -> u32 {
        let pairs = self
            .hyperx
            .grid()
            .coordinates(a)
            .iter()
            .zip(self.hyperx.grid().coordinates(b));
        pairs.filter(|(x, y)| x != y).count() as u32
    }

    /// Decides whether a packet goes through a random router; returns its first port.
    fn choose_via(
        &self,
        router: u32,
        home: u32,
        header: &mut Header,
        choice: &mut (impl Choice + ?Sized),
    ) -> Option<u32> {
        let routers = self.hyperx.topology().routers();
        let (via, port) = super::lightest_port(self.candidates, choice, |choice| {
            let via = choice.pick(routers);
            let is_other = via != router && via != home;
            is_other.then(|| (via, self.minimal(router, via, choice)))
        })?;
        let minimal = self.minimal(router, home, choice);
        let path = |port, links| Path {
            port,
            hops: links,
            remote: NOWHERE,
        };
        let direct = path(minimal, self.distance(router, home));
        let detour = path(port, self.distance(router, via) + self.distance(via, home));
        if !choice.divert(direct, detour) {
            return Some(minimal);
        }
        header.via = via;
        Some(port)
    }

    fn dimensionally_adaptive(
        &self,
        router: u32,
        home: u32,
        header: &mut Header,
        choice: &mut (impl Choice + ?Sized),
    ) -> Decision {
        let adaptive = |port| Decision {
            retry: true,
            ..Decision::new(port, 1)
        };
        if header.via != NOWHERE {
            if header.via == router {
                header.notes &= !(1 << header.level);
            }
            (header.via, header.via_reached, header.level) = (NOWHERE, false, 0);
        }
        if header.level != ESCAPED {
            let (here, goal) = (
                self.hyperx.grid().coordinates(router),
                self.hyperx.grid().coordinates(home),
            );
            let mut direct = None;
            let mut may_deroute = 0;
            for dimension in (0..here.len()).filter(|&d| here[d] != goal[d]) {
                let derouted = header.notes & 1 << dimension != 0;
                may_deroute += u32::from(!derouted && self.hyperx.grid().extent(dimension as u32) > 2);
                let port = self.cable(router, dimension as u32, goal[dimension], choice);
                if choice.room(port, 1) {
                    direct = match direct {
                        Some(other) if !choice.lighter(port, other) => Some(other),
                        _ => Some(port),
                    };
                }
            }
            let deroute = self.deroute(router, (here, goal), header.notes, may_deroute, choice);
            let deroute = deroute.filter(|&(port, _)| choice.room(port, 1));
            let left = self.distance(router, home);
            let path = |port, hops| Path {
                port,
                hops,
                remote: NOWHERE,
            };
            let note = |header: &mut Header, dimension: usize| {
                header.notes |= 1 << dimension;
                (header.via, header.via_reached, header.level) = (router, true, dimension as u8);
            };
            match (direct, deroute) {
                (Some(port), Some((other, dimension))) => {
                    if choice.divert(path(port, left), path(other, left + 1)) {
                        note(header, dimension);
                        return adaptive(other);
                    }
                    return adaptive(port);
                }
                (Some(port), None) => return adaptive(port),
                (None, Some((other, dimension))) => {
                    note(header, dimension);
                    return adaptive(other);
                }
                (None, None) => header.level = ESCAPED,
            }
        }
        Decision::new(self.minimal(router, home, choice), 0)
    }

    /// A random port to a place that is neither the router's nor the destination's, in one of the `count` unfinished
    /// dimensions in which the packet was not derouted.
    fn deroute(
        &self,
        router: u32,
        (here, goal): (&[u32], &[u32]),
        notes: u16,
        count: u32,
        choice: &mut (impl Choice + ?Sized),
    ) -> Option<(u32, usize)> {
        if count == 0 {
            return None;
        }
        let n = if count > 1 { choice.pick(count) } else { 0 };
        let open = |&d: &usize| here[d] != goal[d] && notes & 1 << d == 0 && self.hyperx.grid().extent(d as u32) > 2;
        let dimension = (0..here.len()).filter(open).nth(n as usize)?;
        let (low, high) = (
            here[dimension].min(goal[dimension]),
            here[dimension].max(goal[dimension]),
        );
        let mut to = choice.pick(self.hyperx.grid().extent(dimension as u32) - 2);
        to += u32::from(to >= low);
        to += u32::from(to >= high);
        Some((self.cable(router, dimension as u32, to, choice), dimension))
    }
}

impl FamilyRouting for HyperXRouting {
    type Graph = HyperX;
    type Algorithm = HyperXAlgorithm;

    fn on(graph: HyperX, algorithm: HyperXAlgorithm, settings: &Settings) -> Result<Self, String> {
        HyperXRouting::new(graph, algorithm, super::candidates(settings))
    }

    fn topology(&self) -> &Topology {
        self.hyperx.topology()
    }

    fn virtual_channels(&self) -> VirtualChannels {
        let levels = if self.algorithm == HyperXAlgorithm::Minimal {
            1
        } else {
            2
        };
        let extents = &self.hyperx.shape().extents;
        let used = |there: bool| if there { levels } else { 0 };
        [
            1,
            used(extents[0] > 1),
            used(extents[1..].iter().any(|&extent| extent > 1)),
            0,
        ]
    }

    #[inline]
    fn decide(&self, router: u32, header: &mut Header, choice: &mut (impl Choice + ?Sized)) -> Decision {
        let topology = self.hyperx.topology();
        let home = topology.node_router(header.target);
        match self.algorithm {
            HyperXAlgorithm::Valiant if header.via == NOWHERE => header.via = choice.pick(topology.routers()),
            HyperXAlgorithm::Ugal if header.notes == 0 => {
                header.notes = 1;
                if router != home
                    && let Some(port) = self.choose_via(router, home, header, choice)
                {
                    return Decision::new(port, u8::from(header.via == NOWHERE));
                }
            }
            _ => {}
        }
        if header.via != NOWHERE && !header.via_reached {
            if router != header.via {
                return Decision::new(self.minimal(router, header.via, choice), 0);
            }
            header.via_reached = true;
        }
        if router == home {
            return Decision::new(topology.node_port(header.target), 0);
        }
        match self.algorithm {
            HyperXAlgorithm::Minimal => Decision::new(self.minimal(router, home, choice), 0),
            HyperXAlgorithm::Valiant | HyperXAlgorithm::Ugal => Decision::new(self.minimal(router, home, choice), 1),
            HyperXAlgorithm::Dal => self.dimensionally_adaptive(router, home, header, choice),
        }
    }

    fn is_detour(&self, source: u32, hops: u32, header: &Header) -> bool {
        let topology = self.hyperx.topology();
        let (from, to) = (topology.node_router(source), topology.node_router(header.target));
        self.algorithm != HyperXAlgorithm::Minimal && hops > 1 + self.distance(from, to)
    }

    fn decides_again(&self) -> bool {
        self.algorithm == HyperXAlgorithm::Dal
    }
}

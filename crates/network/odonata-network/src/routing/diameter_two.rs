//! Routing on networks of diameter two, in which any two routers are adjacent or have a common neighbor. The levels,
//! Valiant's detour and UGAL's choice apply to every family that provides the next cable.
//!
//! - **minimal**: at most two cables;
//! - **Valiant**: minimal to a random router, then minimal: at most four;
//! - **UGAL-L**: at the source router one or the other, by the load of the first port.
//!
//! A packet's level is the number of cables between routers that it has taken: 2 levels for minimal, otherwise 4, in
//! both classes (I. Gopal, "Prevention of store-and-forward deadlock in computer networks", IEEE Trans. Communications
//! 33(12), 1985). All cables are needed: these algorithms cannot route around a failed one.

use super::{
    COMPARING, Choice, Decision, FamilyRouting, Header, NOWHERE, Name, Path, Settings, Table, VirtualChannels, entry,
};
use odonata_topology::Topology;

/// A graph of diameter two.
pub trait DiameterTwo {
    /// Its name, with article.
    const NAMED: &'static str;

    /// The topology of the graph.
    fn topology(&self) -> &Topology;

    /// Whether a cable connects two routers.
    fn adjacent(&self, one: u32, other: u32) -> bool;

    /// The first port of a shortest path from `router` to another one; a random one of several.
    fn next_port(&self, router: u32, to: u32, choice: &mut (impl Choice + ?Sized)) -> u32;
}

/// Routing algorithms on a network of diameter two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiameterTwoAlgorithm {
    /// Shortest paths.
    Minimal,
    /// Through a random router.
    Valiant,
    /// Minimal or through a random router, decided by load at the source.
    Ugal,
}

pub(super) const ALGORITHMS: Table<DiameterTwoAlgorithm> = &[
    entry(Name::Minimal, DiameterTwoAlgorithm::Minimal, &[]),
    entry(Name::Valiant, DiameterTwoAlgorithm::Valiant, &[]),
    entry(Name::Ugal, DiameterTwoAlgorithm::Ugal, COMPARING),
];

/// A routing algorithm on a network of diameter two.
#[derive(Debug)]
pub struct DiameterTwoRouting<G> {
    graph: G,
    algorithm: DiameterTwoAlgorithm,
    candidates: u32,
}

impl<G: DiameterTwo> DiameterTwoRouting<G> {
    /// A routing on `graph`; `candidates` (at least 1) random non-minimal paths are drawn, and the lightest is compared
    /// with the minimal one.
    ///
    /// # Errors
    /// Cables failed.
    pub fn new(graph: G, algorithm: DiameterTwoAlgorithm, candidates: u32) -> Result<Self, String> {
        super::refuse_failed(graph.topology(), G::NAMED)?;
        Ok(DiameterTwoRouting {
            graph,
            algorithm,
            candidates: candidates.max(1),
        })
    }

    /// The graph with the data of its family.
    pub fn graph(&self) -> &G {
        &self.graph
    }

    #[inline]
    fn take(port: u32, header: &mut Header) -> Decision {
        header.level += 1;
        Decision::new(port, header.level - 1)
    }

    /// Cables between two routers.
    fn distance(&self, a: u32, b: u32) -> u32 {
        match a == b {
            true => 0,
            false => 2 - u32::from(self.graph.adjacent(a, b)),
        }
    }

    /// Decides whether a packet goes through a random router; returns its first port.
    fn choose_via(&self, router: u32, home: u32, header: &mut Header, choice: &mut (impl Choice + ?Sized)) -> u32 {
        let routers = self.graph.topology().routers();
        let minimal = self.graph.next_port(router, home, choice);
        let best = super::lightest_port(self.candidates, choice, |choice| {
            let via = choice.pick(routers);
            let is_other = via != router && via != home;
            is_other.then(|| (via, self.graph.next_port(router, via, choice)))
        });
        let Some((via, port)) = best else {
            return minimal;
        };
        let path = |port, hops| Path {
            port,
            hops,
            remote: NOWHERE,
        };
        let direct = self.distance(router, home);
        let detour = self.distance(router, via) + self.distance(via, home);
        if !choice.divert(path(minimal, direct), path(port, detour)) {
            return minimal;
        }
        header.via = via;
        port
    }
}

impl<G: DiameterTwo> FamilyRouting for DiameterTwoRouting<G> {
    type Graph = G;
    type Algorithm = DiameterTwoAlgorithm;

    fn on(graph: G, algorithm: DiameterTwoAlgorithm, settings: &Settings) -> Result<Self, String> {
        DiameterTwoRouting::new(graph, algorithm, super::candidates(settings))
    }

    fn topology(&self) -> &Topology {
        self.graph.topology()
    }

    fn virtual_channels(&self) -> VirtualChannels {
        match self.algorithm {
            DiameterTwoAlgorithm::Minimal => [1, 2, 2, 0],
            DiameterTwoAlgorithm::Valiant | DiameterTwoAlgorithm::Ugal => [1, 4, 4, 0],
        }
    }

    #[inline]
    fn decide(&self, router: u32, header: &mut Header, choice: &mut (impl Choice + ?Sized)) -> Decision {
        let topology = self.graph.topology();
        let home = topology.node_router(header.target);
        if header.via == NOWHERE && header.level == 0 {
            match self.algorithm {
                DiameterTwoAlgorithm::Minimal => {}
                DiameterTwoAlgorithm::Valiant => header.via = choice.pick(topology.routers()),
                DiameterTwoAlgorithm::Ugal if router == home => {}
                DiameterTwoAlgorithm::Ugal => {
                    let port = self.choose_via(router, home, header, choice);
                    return Self::take(port, header);
                }
            }
        }
        if header.via != NOWHERE && !header.via_reached {
            if router != header.via {
                return Self::take(self.graph.next_port(router, header.via, choice), header);
            }
            header.via_reached = true;
        }
        if router == home {
            return Decision::new(topology.node_port(header.target), 0);
        }
        Self::take(self.graph.next_port(router, home, choice), header)
    }

    fn is_detour(&self, source: u32, hops: u32, header: &Header) -> bool {
        let topology = self.graph.topology();
        let (from, to) = (topology.node_router(source), topology.node_router(header.target));
        self.algorithm != DiameterTwoAlgorithm::Minimal && hops > 1 + self.distance(from, to)
    }
}

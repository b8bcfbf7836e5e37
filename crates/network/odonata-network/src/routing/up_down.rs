//! Up*/down* routing on any graph.
//!
//! M. Schroeder, A. Birrell, M. Burrows, H. Murray, R. Needham, T. Rodeheffer, E. Satterthwaite, C. Thacker, "Autonet:
//! a high-speed, self-configuring local area network using point-to-point links", IEEE J. Selected Areas in
//! Communications 9(8), 1991. Routers are ordered by their distance from a root (then by number); the end of a cable at
//! the earlier router is its *up* end. A path goes up any number of cables, then down any number. So channels form no
//! cycle, and one level is enough for every graph and any failed cables.
//!
//! Packets take shortest paths among these; of several ports a random one, or the lightest of several random ones. The
//! distances from every router to every router with nodes are stored, 4 bytes each: up to 8,192 routers, which takes
//! 256 MiB and some seconds.

use super::{Choice, Decision, FamilyRouting, Header, Settings, Table, Up, VirtualChannels};
use odonata_topology::{GraphFile, LinkClass, Peer, Topology};

/// Most routers for which distances are stored.
const MOST_ROUTERS: u32 = 8192;

/// No legal path.
const FAR: u16 = u16::MAX;

/// In [`Header::notes`]: the packet has moved down and must not move up again.
const DOWN: u16 = 1;

/// Graphs from files have only up*/down*, which is not listed here.
pub(super) const ALGORITHMS: Table<()> = &[];

/// Up*/down* routing.
#[derive(Debug)]
pub struct UpDownRouting {
    topology: Topology,
    adaptive: bool,
    /// Number of ports to compare, if adaptive.
    candidates: u32,
    /// Whether the far end of each port is nearer to the root.
    up: Vec<bool>,
    /// The router at the far end of each port, or [`NONE`].
    far: Vec<u32>,
    /// Index of each router with nodes among the destinations.
    destination: Vec<u32>,
    /// For each destination and router the length of the shortest legal path, and of the shortest that only goes down.
    distances: Vec<[u16; 2]>,
}

const NONE: u32 = u32::MAX;

impl UpDownRouting {
    /// A routing on `topology`. The root is `root`, or the first of the routers with the most cables among those
    /// connected to the first node. If `adaptive`, the lightest of several random ports is taken.
    ///
    /// # Errors
    /// There are more than 8,192 routers, no such root, or routers with nodes that no path connects.
    pub fn new(topology: Topology, root: Option<u32>, adaptive: bool) -> Result<Self, String> {
        let routers = topology.routers();
        if routers > MOST_ROUTERS {
            return Err(format!(
                "{routers} routers: up*/down* routing keeps distances for at most {MOST_ROUTERS}"
            ));
        }
        if topology.nodes() == 0 {
            return Err("there is no node to route to".into());
        }
        let apart = topology.cut_off(1);
        if let Some((a, b)) = apart.examples.first() {
            return Err(format!(
                "no path connects routers {a} and {b}, and {} more pairs of routers with nodes",
                apart.pairs - 1
            ));
        }
        let from_first = topology.distances(topology.node_router(0));
        let degree = |router: &u32| {
            let ports = topology.ports_of(*router);
            ports.filter(|&port| topology.neighbour(port).is_some()).count()
        };
        let reached = |router: &u32| from_first[*router as usize] != u32::MAX;
        let root = match root {
            Some(root) if root >= routers => return Err(format!("no router {root}: there are {routers}")),
            Some(root) if !reached(&root) => return Err(format!("router {root} is not connected with the nodes")),
            Some(root) => root,
            // `max_by_key` returns the last of several maxima.
            None => (0..routers).rev().filter(reached).max_by_key(degree).unwrap_or(0),
        };
        let depth = topology.distances(root);
        let rank = |router: u32| (depth[router as usize], router);
        let far: Vec<u32> = (0..topology.ports())
            .map(|port| topology.neighbour(port).unwrap_or(NONE))
            .collect();
        let up: Vec<bool> = (0..topology.ports())
            .zip(&far)
            .map(|(port, &far)| far != NONE && rank(far) < rank(topology.router_of_port(port)))
            .collect();
        let mut destination = vec![NONE; routers as usize];
        let mut count = 0;
        for node in 0..topology.nodes() {
            let slot = &mut destination[topology.node_router(node) as usize];
            if *slot == NONE {
                *slot = count;
                count += 1;
            }
        }
        let mut this = UpDownRouting {
            topology,
            adaptive,
            candidates: 2,
            up,
            far,
            distances: vec![[FAR; 2]; count as usize * routers as usize],
            destination,
        };
        let mut open = Vec::new();
        for target in (0..routers)
            .filter(|&router| this.destination[router as usize] != NONE)
            .collect::<Vec<_>>()
        {
            this.search(target, &mut open);
        }
        Ok(this)
    }

    /// Distances to `target`, by breadth-first search backward from it over (router, may still go up).
    fn search(&mut self, target: u32, open: &mut Vec<(u32, bool)>) {
        let routers = self.topology.routers() as usize;
        let at = self.destination[target as usize] as usize * routers;
        let table = &mut self.distances[at..at + routers];
        table[target as usize] = [0, 0];
        open.clear();
        open.extend([(target, true), (target, false)]);
        let mut next = 0;
        while let Some(&(router, free)) = open.get(next) {
            next += 1;
            let [any, down] = table[router as usize];
            let distance = if free { any } else { down } + 1;
            for port in self.topology.ports_of(router) {
                let from = self.far[port as usize];
                if from == NONE {
                    continue;
                }
                // The cable is used from its far end: down if this end leads up.
                let goes_down = self.up[port as usize];
                let entry = &mut table[from as usize];
                if free && !goes_down && entry[0] == FAR {
                    entry[0] = distance;
                    open.push((from, true));
                }
                if !free && goes_down {
                    if entry[1] == FAR {
                        entry[1] = distance;
                        open.push((from, false));
                    }
                    if entry[0] == FAR {
                        entry[0] = distance;
                        open.push((from, true));
                    }
                }
            }
        }
    }

    /// Whether ports are chosen by load.
    pub fn is_adaptive(&self) -> bool {
        self.adaptive
    }

    /// Sets the number of random ports that adaptive routing compares; initially two.
    pub fn with_candidates(self, candidates: u32) -> Self {
        UpDownRouting { candidates, ..self }
    }

    /// The graph it routes on.
    pub fn topology(&self) -> &Topology {
        &self.topology
    }

    /// Cables on the path of a packet from `router` to `target`, a router with nodes.
    pub fn distance(&self, router: u32, target: u32) -> u32 {
        let at = self.destination[target as usize] as usize * self.topology.routers() as usize;
        u32::from(self.distances[at + router as usize][0])
    }
}

impl FamilyRouting for UpDownRouting {
    type Graph = GraphFile;
    type Algorithm = ();

    fn on(graph: GraphFile, algorithm: (), settings: &Settings) -> Result<Self, String> {
        let () = algorithm;
        let routing = UpDownRouting::new(graph.topology().clone(), None, settings.up == Some(Up::Adaptive))?;
        Ok(routing.with_candidates(super::candidates(settings)))
    }

    fn topology(&self) -> &Topology {
        &self.topology
    }

    fn virtual_channels(&self) -> VirtualChannels {
        let cables = self.topology.cables_by_class();
        let mut levels = [0; LinkClass::COUNT];
        for (level, count) in levels.iter_mut().zip(cables) {
            *level = u8::from(count > 0);
        }
        levels
    }

    #[inline]
    fn decide(&self, router: u32, header: &mut Header, choice: &mut (impl Choice + ?Sized)) -> Decision {
        let home = self.topology.node_router(header.target);
        if router == home {
            return Decision::new(self.topology.node_port(header.target), 0);
        }
        let routers = self.topology.routers() as usize;
        let at = self.destination[home as usize] as usize * routers;
        let table = &self.distances[at..at + routers];
        let gone_down = header.notes & DOWN != 0;
        let left = table[router as usize][usize::from(gone_down)];
        // Up and any path from there, or down and only down from there.
        let good = |&port: &u32| {
            let (far, up) = (self.far[port as usize], self.up[port as usize]);
            far != NONE && !(up && gone_down) && table[far as usize][usize::from(!up)].wrapping_add(1) == left
        };
        let ports = self.topology.ports_of(router);
        let count = ports.clone().filter(good).count() as u32;
        let nth = |n: u32| ports.clone().filter(good).nth(n as usize).unwrap_or(ports.start);
        let best = match count {
            0 | 1 => nth(0),
            _ if self.adaptive => super::lightest(count, self.candidates, choice, |n, _| nth(n)),
            _ => nth(choice.pick(count)),
        };
        debug_assert!(matches!(self.topology.peer(best), Peer::Router { .. }));
        if !self.up[best as usize] {
            header.notes |= DOWN;
        }
        Decision::new(best, 0)
    }
}

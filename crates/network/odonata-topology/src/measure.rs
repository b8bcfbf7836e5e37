//! Measures of any graph: diameter, cables, free ports, disconnected routers.
//!
//! The bisection of a general graph is hard to compute. Families know theirs (`bisection()` of each); for other graphs
//! [`Topology::halving`] counts the cables between two halves in router order, an upper bound.

use crate::{LinkClass, Peer, Topology};

/// Maximum number of routers for an exact diameter.
const EXACT: u32 = 2048;
/// Start routers for larger machines.
const SAMPLED: u32 = 64;

/// The longest of the shortest paths, in cables between routers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Diameter {
    /// Between any two routers that are connected.
    pub routers: u32,
    /// Between any two routers with nodes that are connected.
    pub nodes: u32,
    /// Whether paths from every router were measured. Otherwise from 64 routers spread over the machine: a lower bound.
    pub exact: bool,
}

/// Disconnected routers with nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CutOff {
    /// Number of unordered pairs of routers with nodes without a path.
    pub pairs: u64,
    /// The first of them, in ascending order.
    pub examples: Vec<(u32, u32)>,
}

impl Topology {
    /// Cables between routers by [class](LinkClass); the terminal entry is the number of nodes.
    pub fn cables_by_class(&self) -> [u64; LinkClass::ALL.len()] {
        let mut ends = [0; LinkClass::ALL.len()];
        for port in 0..self.ports() {
            match self.peer(port) {
                Peer::Router { .. } => ends[self.class(port) as usize] += 1,
                Peer::Node(_) => ends[self.class(port) as usize] += 2,
                Peer::Free => {}
            }
        }
        ends.map(|count: u64| count / 2)
    }

    /// Number of unconnected ports.
    pub fn free_ports(&self) -> u64 {
        (0..self.ports()).filter(|&port| !self.is_live(port)).count() as u64
    }

    /// Cables between routers with less than the bandwidth of their class.
    pub fn degraded(&self) -> u64 {
        let ends = (0..self.ports()).filter(|&port| self.neighbour(port).is_some() && self.factor(port) < 1.0);
        ends.count() as u64 / 2
    }

    /// Cables between the first half of the routers and the rest: an upper bound of the bisection.
    pub fn halving(&self) -> u64 {
        let half = self.routers() / 2;
        self.ports_of_routers(0..half)
            .filter(|&port| self.neighbour(port).is_some_and(|router| router >= half))
            .count() as u64
    }

    /// The diameter by breadth-first search: from every router up to 2,048 of them, otherwise from 64.
    pub fn diameter(&self) -> Diameter {
        let exact = self.routers() <= EXACT;
        let starts = if exact { self.routers() } else { SAMPLED };
        let with_nodes = self.with_nodes();
        let mut found = Diameter {
            routers: 0,
            nodes: 0,
            exact,
        };
        let mut search = Search::new(self);
        for start in 0..starts {
            let start = (u64::from(start) * u64::from(self.routers()) / u64::from(starts)) as u32;
            search.run(start);
            for &router in &search.reached {
                let distance = search.distance[router as usize];
                found.routers = found.routers.max(distance);
                if with_nodes[start as usize] && with_nodes[router as usize] {
                    found.nodes = found.nodes.max(distance);
                }
            }
        }
        found
    }

    /// Distance in cables from `start` to every router; `u32::MAX` without a path.
    pub fn distances(&self, start: u32) -> Vec<u32> {
        let mut search = Search::new(self);
        search.run(start);
        search.distance
    }

    /// The connected component of each router, numbered by their first routers.
    pub fn components(&self) -> Vec<u32> {
        let mut search = Search::new(self);
        let mut component = vec![u32::MAX; self.routers() as usize];
        let mut count = 0;
        for start in 0..self.routers() {
            if component[start as usize] == u32::MAX {
                search.run(start);
                for &router in &search.reached {
                    component[router as usize] = count;
                }
                count += 1;
            }
        }
        component
    }

    /// Whether every pair of routers has a path.
    pub fn is_connected(&self) -> bool {
        self.components().iter().all(|&component| component == 0)
    }

    /// The disconnected pairs of routers with nodes: their number, and the first `examples`.
    pub fn cut_off(&self, examples: usize) -> CutOff {
        let component = self.components();
        let with_nodes = self.with_nodes();
        let routers: Vec<u32> = (0..self.routers())
            .filter(|&router| with_nodes[router as usize])
            .collect();
        let mut sizes = vec![0u64; component.iter().max().map_or(0, |&last| last as usize + 1)];
        for &router in &routers {
            sizes[component[router as usize] as usize] += 1;
        }
        let pairs = |n: u64| n * n.saturating_sub(1) / 2;
        let apart = pairs(routers.len() as u64) - sizes.iter().map(|&size| pairs(size)).sum::<u64>();
        let mut found = CutOff {
            pairs: apart,
            examples: Vec::new(),
        };
        if apart == 0 {
            return found;
        }
        for (index, &a) in routers.iter().enumerate() {
            // A router that reaches all others needs no scan.
            if sizes[component[a as usize] as usize] == routers.len() as u64 {
                continue;
            }
            for &b in &routers[index + 1..] {
                if found.examples.len() == examples {
                    return found;
                }
                if component[a as usize] != component[b as usize] {
                    found.examples.push((a, b));
                }
            }
        }
        found
    }

    fn with_nodes(&self) -> Vec<bool> {
        let mut with_nodes = vec![false; self.routers() as usize];
        (0..self.nodes()).for_each(|node| with_nodes[self.node_router(node) as usize] = true);
        with_nodes
    }
}

/// Breadth-first searches over one graph, with reused memory.
struct Search<'a> {
    topology: &'a Topology,
    distance: Vec<u32>,
    /// Routers in the order of discovery.
    reached: Vec<u32>,
}

impl<'a> Search<'a> {
    fn new(topology: &'a Topology) -> Self {
        Search {
            topology,
            distance: vec![u32::MAX; topology.routers() as usize],
            reached: Vec::new(),
        }
    }

    /// Finds all routers reachable from `start`, nearest first, and their distances.
    fn run(&mut self, start: u32) {
        self.distance.fill(u32::MAX);
        self.reached.clear();
        self.reached.push(start);
        self.distance[start as usize] = 0;
        let mut at = 0;
        while let Some(&router) = self.reached.get(at) {
            at += 1;
            for port in self.topology.ports_of(router) {
                if let Some(next) = self.topology.neighbour(port)
                    && self.distance[next as usize] == u32::MAX
                {
                    self.distance[next as usize] = self.distance[router as usize] + 1;
                    self.reached.push(next);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Effect, Fault, Torus, TorusShape};

    fn ring(routers: u32) -> Topology {
        let shape = TorusShape {
            extents: vec![routers],
            wrap: true,
            nodes: 1,
        };
        Torus::new(shape).unwrap().topology().clone()
    }

    fn cut(routers: (u32, u32)) -> Fault {
        Fault {
            routers,
            index: None,
            effect: Effect::Failed,
        }
    }

    /// Two cuts of a ring of 10 leave chains of 4 and 6: 4 · 6 pairs apart.
    #[test]
    fn cut_rows_are_counted_and_named() {
        let mut t = ring(10);
        assert!(t.is_connected());
        assert_eq!(t.cut_off(5).pairs, 0);
        t.impair(&[cut((1, 2))]).unwrap();
        assert!(t.is_connected());
        assert_eq!(t.diameter().routers, 9);
        t.impair(&[cut((5, 6))]).unwrap();
        assert!(!t.is_connected());
        let found = t.cut_off(3);
        assert_eq!(found.pairs, 24);
        assert_eq!(found.examples, [(0, 2), (0, 3), (0, 4)]);
        assert_eq!(t.cut_off(100).examples.len(), 24);
        assert_eq!((t.free_ports(), t.diameter().routers), (4, 5));
        assert_eq!(t.distances(2)[0], u32::MAX);
    }

    /// A ring of 10,000: opposite routers are 5,000 apart, seen from any of the sampled ones.
    #[test]
    fn a_large_machine_is_sampled_and_reports_it() {
        let diameter = ring(10_000).diameter();
        assert_eq!((diameter.routers, diameter.exact), (5_000, false));
        assert!(ring(2_048).diameter().exact);
    }

    #[test]
    fn routers_without_nodes_count_apart() {
        // A star: three routers with a node each around one without.
        let cable = |leaf| crate::Cable {
            a: (leaf, 1),
            b: (3, leaf),
            class: LinkClass::Global,
        };
        let cables: Vec<_> = (0..3).map(cable).collect();
        let t = Topology::new(&[2, 2, 2, 3, 0], &[(0, 0), (1, 0), (2, 0)], &cables).unwrap();
        assert!(!t.is_connected());
        assert_eq!(t.cut_off(9).pairs, 0);
        assert_eq!((t.diameter().routers, t.diameter().nodes), (2, 2));
        assert_eq!(t.cables_by_class()[LinkClass::Global as usize], 3);
        assert_eq!(t.cables_by_class()[LinkClass::Terminal as usize], 3);
        assert_eq!(t.halving(), 2);
    }
}

//! How packets spread over equal paths, and the virtual channels of arbitrary path sets.
//!
//! Levels: a set of paths whose channel dependencies form no cycle needs one level. Otherwise routers get an order, and
//! a packet changes to the next level whenever it moves up in that order after a move down. On one level, packets then
//! go up any number of cables, then down any number, as in up*/down*, so no level has a cycle; and levels only rise.
//! Two orders are tried, by the distance from a root and by the distance from the nodes, and the number of cables
//! behind a packet as its level (W. Dally, B. Towles, "Principles and Practices of Interconnection Networks", 2004,
//! chapter 14). The rule with the fewest levels is taken.

use super::{Choice, Header, NOWHERE};
use odonata_topology::Topology;
use odonata_units::SplitMix64;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Most levels of a path.
pub(super) const MOST_LEVELS: u32 = 16;

/// Most routers for which distances are stored.
pub(super) const MOST_ROUTERS: u32 = 8192;

/// No path, or no router.
pub(super) const NONE: u32 = u32::MAX;

/// In [`Header::notes`]: the packet has moved down on its level.
const DOWN: u16 = 1;

/// How packets spread over the equal paths of two nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Spread {
    /// All packets from a node to another take one path, chosen by a hash of both (ECMP: D. Thaler, C. Hopps, RFC 2991,
    /// 2000). The hash differs between routers and between seeds.
    #[default]
    Flow,
    /// Every packet takes a random path (packet spraying).
    Packet,
    /// Every packet takes the least loaded of `candidates` random paths, by their first ports.
    Adaptive,
}

impl Spread {
    /// The name in a scenario.
    pub fn name(self) -> &'static str {
        match self {
            Spread::Flow => "flow",
            Spread::Packet => "packet",
            Spread::Adaptive => "adaptive",
        }
    }
}

/// The number of the flow from node `source` to node `target`, below 2^31.
pub(crate) fn flow(seed: u64, source: u32, target: u32) -> u32 {
    let mut lot = SplitMix64::named(seed, [u64::from(source), u64::from(target)]);
    (lot.next_u64() >> 33) as u32
}

/// The path, of `n`, of the packets of `flow` at `router`.
pub(crate) fn path_of_flow(flow: u32, router: u32, n: u32) -> u32 {
    SplitMix64::named(u64::from(flow), [u64::from(router)]).below(n)
}

/// The flow of a packet, stored in its header at its first router.
#[inline]
pub(super) fn flow_in(header: &mut Header, choice: &mut (impl Choice + ?Sized)) -> u32 {
    if header.via == NOWHERE {
        header.via = choice.flow(header.target);
        header.via_reached = true;
    }
    header.via
}

/// Distances in cables from every router to every router with nodes.
#[derive(Debug)]
pub(super) struct Distances {
    routers: usize,
    /// Index of each router with nodes, or [`NONE`].
    destination: Vec<u32>,
    distances: Vec<u16>,
}

impl Distances {
    /// # Errors
    /// There are more than 8,192 routers, no nodes, or routers with nodes that no path connects.
    pub(super) fn new(topology: &Topology, routing: &str) -> Result<Distances, String> {
        let routers = topology.routers();
        if routers > MOST_ROUTERS {
            return Err(format!(
                "{routers} routers: the routing {routing} keeps distances for at most {MOST_ROUTERS}"
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
        let mut this = Distances {
            routers: routers as usize,
            destination: vec![NONE; routers as usize],
            distances: Vec::new(),
        };
        for (count, target) in (0..).zip(with_nodes(topology)) {
            this.destination[target as usize] = count;
            let found = topology.distances(target).into_iter();
            this.distances
                .extend(found.map(|distance| u16::try_from(distance).unwrap_or(u16::MAX)));
        }
        Ok(this)
    }

    /// The distance of every router from `target`, a router with nodes.
    #[inline]
    pub(super) fn from(&self, target: u32) -> &[u16] {
        let at = self.destination[target as usize] as usize * self.routers;
        &self.distances[at..at + self.routers]
    }
}

/// The routers with nodes, ascending.
pub(super) fn with_nodes(topology: &Topology) -> Vec<u32> {
    let mut routers: Vec<u32> = (0..topology.nodes()).map(|node| topology.node_router(node)).collect();
    routers.sort_unstable();
    routers.dedup();
    routers
}

/// The router at the far end of each port, or [`NONE`].
pub(super) fn far_ends(topology: &Topology) -> Vec<u32> {
    let far = |port| topology.neighbour(port).unwrap_or(NONE);
    (0..topology.ports()).map(far).collect()
}

/// A rule that gives the cables of a path their levels.
#[derive(Debug)]
pub(super) enum LevelRule {
    /// One level.
    Single,
    /// The number of cables behind the packet.
    Hops,
    /// The number of moves up after a move down; for each port, whether it leads up.
    Turns(Vec<bool>),
}

impl LevelRule {
    /// The rules to choose from, those with simpler levels first.
    pub(super) fn all(topology: &Topology) -> Vec<LevelRule> {
        let far = far_ends(topology);
        let degree = |router: &u32| {
            let ports = topology.ports_of(*router);
            ports.filter(|&port| far[port as usize] != NONE).count()
        };
        // `max_by_key` returns the last of several maxima.
        let root = (0..topology.routers()).rev().max_by_key(degree).unwrap_or(0);
        let from_root = topology.distances(root);
        let from_nodes = distances_from_nodes(topology);
        let ranks: [Vec<u32>; 2] = [
            from_nodes.into_iter().map(|distance| u32::MAX - distance).collect(),
            from_root,
        ];
        let turns = ranks.map(|rank| {
            let rank = |router: u32| (rank[router as usize], router);
            let up = (0..topology.ports()).zip(&far);
            let up = up.map(|(port, &far)| far != NONE && rank(far) < rank(topology.router_of_port(port)));
            LevelRule::Turns(up.collect())
        });
        turns.into_iter().chain([LevelRule::Hops]).collect()
    }

    /// The level of a packet with `header` on the cable at `port`; updates the header for its far end.
    #[inline]
    pub(super) fn step(&self, header: &mut Header, port: u32) -> u8 {
        let (mut down, mut level) = (header.notes & DOWN != 0, header.level);
        let of_cable = self.next(&mut level, &mut down, port);
        header.level = level;
        header.notes = header.notes & !DOWN | u16::from(down);
        of_cable
    }

    /// The same for a level and whether the packet has moved down on it.
    #[inline]
    pub(super) fn next(&self, level: &mut u8, down: &mut bool, port: u32) -> u8 {
        match self {
            LevelRule::Single => 0,
            LevelRule::Hops => {
                *level = level.saturating_add(1);
                *level - 1
            }
            LevelRule::Turns(up) => {
                let is_up = up[port as usize];
                *level = level.saturating_add(u8::from(is_up && *down));
                *down = !is_up;
                *level
            }
        }
    }
}

/// Distance of every router from the closest router with nodes.
fn distances_from_nodes(topology: &Topology) -> Vec<u32> {
    let mut distance = vec![u32::MAX; topology.routers() as usize];
    let mut open = with_nodes(topology);
    open.iter().for_each(|&router| distance[router as usize] = 0);
    let mut next = 0;
    while let Some(&router) = open.get(next) {
        next += 1;
        for far in topology.ports_of(router).filter_map(|port| topology.neighbour(port)) {
            if distance[far as usize] == u32::MAX {
                distance[far as usize] = distance[router as usize] + 1;
                open.push(far);
            }
        }
    }
    // Unconnected routers carry no packets.
    distance
        .iter_mut()
        .for_each(|distance| *distance = (*distance).min(u32::MAX - 1));
    distance
}

/// The error for paths that need too many levels.
pub(super) fn too_many_levels(levels: u32) -> String {
    format!(
        "these paths need {levels} virtual channels to be free of deadlock: at most {MOST_LEVELS} are possible; \
         up-down needs one"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Flows over n paths collide as balls in n bins: m flows all have a path of their own with probability
    /// n! / ((n - m)! n^m), and two flows share one with probability 1 / n, at every router anew.
    #[test]
    fn flows_collide_as_balls_in_bins() {
        let (seeds, n, m) = (20_000, 8, 4);
        let (mut alone, mut shared, mut again) = (0, 0, 0);
        for seed in 0..seeds {
            let path = |node: u32, router| path_of_flow(flow(seed, node, 100 + node), router, n);
            let mut taken: Vec<u32> = (0..m).map(|node| path(node, 7)).collect();
            let is_shared = taken[0] == taken[1];
            shared += u32::from(is_shared);
            again += u32::from(is_shared && path(0, 9) == path(1, 9));
            taken.sort_unstable();
            taken.dedup();
            alone += u32::from(taken.len() == m as usize);
        }
        let near = |count: u32, probability: f64| {
            let deviation = (probability * (1.0 - probability) / seeds as f64).sqrt();
            let found = f64::from(count) / seeds as f64;
            assert!(
                (found - probability).abs() < 4.0 * deviation,
                "{found} for {probability}"
            );
        };
        near(alone, 8.0 * 7.0 * 6.0 * 5.0 / 4096.0);
        near(shared, 1.0 / 8.0);
        near(again, 1.0 / 64.0);
    }
}

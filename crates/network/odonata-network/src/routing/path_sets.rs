//! Given paths: a packet takes one of the paths listed for its pair of routers, from a table or the k shortest.
//!
//! The path is chosen at the source router ([`Spread`]); the header holds its number and the position on it. Of parallel
//! cables a path takes one by the same rule. Every cable of a path has its level, by the [`LevelRule`] with the fewest;
//! paths whose channel dependencies form no cycle have one level.

use super::shortest_paths::channels;
use super::spread::{Distances, LevelRule, MOST_LEVELS, NONE, far_ends, too_many_levels, with_nodes};
use super::{Choice, Decision, FamilyRouting, Header, NOWHERE, Settings, Spread, VirtualChannels};
use crate::deadlock::Graph;
use odonata_topology::{KShortest, LinkClass, Topology};

/// Most paths of all pairs.
const MOST_PATHS: u64 = 1 << 24;
/// Most cables of all paths.
const MOST_HOPS: usize = 1 << 27;

/// A cable of a path.
#[derive(Clone, Copy, Debug)]
struct Hop {
    /// The first of the ports that lead to its far end.
    port: u32,
    level: u8,
}

/// Routing over given paths.
#[derive(Debug)]
pub struct PathSetRouting {
    topology: Topology,
    spread: Spread,
    /// Number of paths to compare, if adaptive.
    candidates: u32,
    far: Vec<u32>,
    /// Whether some pair of routers has several cables.
    has_parallel: bool,
    /// Index of each router with nodes, or [`NONE`].
    index: Vec<u32>,
    /// Routers with nodes.
    ends: usize,
    /// First path of each pair of routers with nodes, by source, then destination; at the end the number of paths.
    pairs: Vec<u32>,
    /// First cable of each path; at the end the number of cables.
    first: Vec<u32>,
    hops: Vec<Hop>,
    /// Notifications of congestion may start at a router without nodes, and take shortest paths.
    distances: Distances,
    channels: VirtualChannels,
}

impl PathSetRouting {
    /// The `k` shortest paths without a loop of each pair of routers with nodes; fewer where there are fewer. Among
    /// equally long paths, those through routers with lower numbers come first.
    ///
    /// # Errors
    /// Those of [`Self::new`].
    pub fn k_shortest(topology: Topology, k: u32, spread: Spread, candidates: u32) -> Result<Self, String> {
        let ends = with_nodes(&topology).len() as u64;
        let paths = ends.saturating_mul(ends.saturating_sub(1)).saturating_mul(u64::from(k));
        if paths > MOST_PATHS {
            return Err(format!(
                "{k} paths of each pair of {ends} routers with nodes: at most 2^24 paths are stored"
            ));
        }
        let search = KShortest::new(&topology);
        let of_pair = |a: u32, b: u32| search.between(a, b, k as usize);
        PathSetRouting::new(topology, of_pair, spread, candidates)
    }

    /// The paths that `of_pair` gives for two routers with nodes, as the routers from the first to the second. A path
    /// given twice has twice the weight.
    ///
    /// # Errors
    /// A pair without a path, a path without its cable, paths that need more than 16 levels, or more than can be stored.
    pub fn new(
        topology: Topology,
        of_pair: impl Fn(u32, u32) -> Vec<Vec<u32>>,
        spread: Spread,
        candidates: u32,
    ) -> Result<Self, String> {
        let distances = Distances::new(&topology, "over given paths")?;
        let far = far_ends(&topology);
        let ends = with_nodes(&topology);
        let mut index = vec![NONE; topology.routers() as usize];
        (0..).zip(&ends).for_each(|(number, &end)| index[end as usize] = number);
        let (mut pairs, mut first, mut hops) = (vec![0], vec![0], Vec::new());
        let (mut missing, mut example) = (0_u64, None);
        for (a, b) in ends.iter().flat_map(|&a| ends.iter().map(move |&b| (a, b))) {
            let paths = if a == b { Vec::new() } else { of_pair(a, b) };
            if a != b && paths.is_empty() {
                missing += 1;
                example.get_or_insert((a, b));
            }
            for path in paths {
                for cable in path.windows(2) {
                    let mut ports = topology.ports_of(cable[0]);
                    let port = ports.find(|&port| far[port as usize] == cable[1]);
                    let port =
                        port.ok_or_else(|| format!("no working cable connects routers {} and {}", cable[0], cable[1]))?;
                    hops.push(Hop { port, level: 0 });
                }
                if hops.len() > MOST_HOPS {
                    return Err("the paths have more than 2^27 cables in all".into());
                }
                first.push(hops.len() as u32);
            }
            pairs.push(first.len() as u32 - 1);
        }
        if let Some((a, b)) = example {
            return Err(format!(
                "no route leads from router {a} to router {b}, and {} more pairs of routers with nodes have none",
                missing - 1
            ));
        }
        let levels = assign_levels(&topology, &first, &mut hops)?;
        let has_parallel = (0..topology.routers()).any(|router| {
            let mut ports: Vec<u32> = topology.ports_of(router).map(|port| far[port as usize]).collect();
            ports.retain(|&far| far != NONE);
            ports.sort_unstable();
            ports.windows(2).any(|two| two[0] == two[1])
        });
        Ok(PathSetRouting {
            channels: channels(&topology, levels),
            spread,
            candidates,
            far,
            has_parallel,
            index,
            ends: ends.len(),
            pairs,
            first,
            hops,
            distances,
            topology,
        })
    }

    /// Whether paths are chosen by load.
    pub fn is_adaptive(&self) -> bool {
        self.spread == Spread::Adaptive
    }

    /// The cable of `path` at `position`.
    #[inline]
    fn hop(&self, path: u32, position: u16) -> Hop {
        self.hops[self.first[path as usize] as usize + usize::from(position)]
    }

    /// The number of a path from `router` to `home`, both with nodes.
    #[inline]
    fn choose(&self, router: u32, home: u32, flow: u32, choice: &mut (impl Choice + ?Sized)) -> u32 {
        let pair = self.index[router as usize] as usize * self.ends + self.index[home as usize] as usize;
        let (start, count) = (self.pairs[pair], self.pairs[pair + 1] - self.pairs[pair]);
        match self.spread {
            _ if count <= 1 => start,
            Spread::Flow => start + choice.pick_of_flow(flow, router, count),
            Spread::Packet => start + choice.pick(count),
            Spread::Adaptive => {
                let best = super::lightest_port(self.candidates, choice, |choice| {
                    let path = start + choice.pick(count);
                    Some((path, self.hop(path, 0).port))
                });
                best.map_or(start, |(path, _)| path)
            }
        }
    }
}

/// Gives every cable of the paths its level, and returns the number of levels of each link class.
fn assign_levels(topology: &Topology, first: &[u32], hops: &mut [Hop]) -> Result<[u32; LinkClass::COUNT], String> {
    let mut graph = Graph::default();
    for path in first.windows(2) {
        for two in hops[path[0] as usize..path[1] as usize].windows(2) {
            graph.depend((two[0].port, 0), (two[1].port, 0));
        }
    }
    let rules = match graph.cycle() {
        None => vec![LevelRule::Single],
        Some(_) => LevelRule::all(topology),
    };
    let mut best: Option<(u32, &LevelRule, [u32; LinkClass::COUNT])> = None;
    for rule in &rules {
        let mut levels = [0; LinkClass::COUNT];
        for path in first.windows(2) {
            let (mut level, mut down) = (0, false);
            for hop in &hops[path[0] as usize..path[1] as usize] {
                let of_cable = rule.next(&mut level, &mut down, hop.port);
                let class = &mut levels[topology.class(hop.port) as usize];
                *class = u32::from(of_cable).saturating_add(1).max(*class);
            }
        }
        let most = levels.into_iter().max().unwrap_or(0);
        if best.as_ref().is_none_or(|&(least, ..)| most < least) {
            best = Some((most, rule, levels));
        }
    }
    let (most, rule, levels) = best.ok_or("there is no rule for levels")?;
    if most > MOST_LEVELS {
        return Err(too_many_levels(most));
    }
    for path in first.windows(2) {
        let (mut level, mut down) = (0, false);
        for hop in &mut hops[path[0] as usize..path[1] as usize] {
            hop.level = rule.next(&mut level, &mut down, hop.port);
        }
    }
    Ok(levels)
}

impl FamilyRouting for PathSetRouting {
    type Graph = Topology;
    type Algorithm = ();

    fn on(topology: Topology, algorithm: (), settings: &Settings) -> Result<Self, String> {
        let () = algorithm;
        let (spread, candidates) = (settings.spread.unwrap_or_default(), super::candidates(settings));
        PathSetRouting::k_shortest(topology, settings.paths.unwrap_or(1), spread, candidates)
    }

    fn topology(&self) -> &Topology {
        &self.topology
    }

    fn virtual_channels(&self) -> VirtualChannels {
        self.channels
    }

    /// Whether the path is longer than a shortest one.
    fn is_detour(&self, source: u32, hops: u32, header: &Header) -> bool {
        let distance = self.distances.from(self.topology.node_router(header.target));
        hops > u32::from(distance[self.topology.node_router(source) as usize]) + 1
    }

    #[inline]
    fn decide(&self, router: u32, header: &mut Header, choice: &mut (impl Choice + ?Sized)) -> Decision {
        let home = self.topology.node_router(header.target);
        if router == home {
            return Decision::new(self.topology.node_port(header.target), 0);
        }
        if self.index[router as usize] == NONE && header.notes == 0 {
            return self.toward(router, home);
        }
        // The path is `via`, the position on it `notes`; part of the flow is in `level`, for parallel cables.
        let mut flow = 0;
        if header.notes == 0 {
            if self.spread == Spread::Flow {
                flow = choice.flow(header.target);
                header.level = flow as u8;
            }
            header.via = self.choose(router, home, flow, choice);
            header.via_reached = true;
        }
        let hop = self.hop(header.via, header.notes);
        header.notes += 1;
        let port = self.parallel(router, hop.port, header, choice);
        Decision::new(port, hop.level)
    }
}

impl PathSetRouting {
    /// One of the cables parallel to the one at `port`.
    #[inline]
    fn parallel(&self, router: u32, port: u32, header: &Header, choice: &mut (impl Choice + ?Sized)) -> u32 {
        if !self.has_parallel {
            return port;
        }
        let far = self.far[port as usize];
        let ports = port..self.topology.ports_of(router).end;
        let good = |&port: &u32| self.far[port as usize] == far;
        let count = ports.clone().filter(good).count() as u32;
        let nth = |n: u32| ports.clone().filter(good).nth(n as usize).unwrap_or(port);
        match self.spread {
            _ if count <= 1 => port,
            Spread::Flow => nth(choice.pick_of_flow(u32::from(header.level), router, count)),
            Spread::Packet => nth(choice.pick(count)),
            Spread::Adaptive => super::lightest_of_all(count, choice, nth),
        }
    }

    /// A cable on a shortest path, for notifications.
    fn toward(&self, router: u32, home: u32) -> Decision {
        let distance = self.distances.from(home);
        let left = distance[router as usize];
        let mut ports = self.topology.ports_of(router);
        let port = ports.find(|&port| {
            let far = self.far[port as usize];
            far != NONE && distance[far as usize] + 1 == left
        });
        Decision::new(port.unwrap_or(self.topology.first_port(router)), 0)
    }
}

const _: () = assert!(MOST_PATHS < NOWHERE as u64);

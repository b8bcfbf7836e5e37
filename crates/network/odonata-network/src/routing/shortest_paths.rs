//! Shortest paths on any graph: at every router, all ports on a shortest path to the destination are equal.
//!
//! [`Spread`] selects one of them: by a hash of the flow (ECMP), at random for every packet, or by load. Distances from
//! every router to every router with nodes are stored, 2 bytes each: up to 8,192 routers. [`LevelRule`] has the levels;
//! their number follows from the graph, by the largest level that a shortest path reaches.

use super::spread::{Distances, LevelRule, MOST_LEVELS, NONE, far_ends, flow_in, too_many_levels, with_nodes};
use super::{Choice, Decision, FamilyRouting, Header, Settings, Spread, VirtualChannels};
use odonata_topology::{LinkClass, Topology};

/// Shortest paths on any graph.
#[derive(Debug)]
pub struct ShortestPathsRouting {
    topology: Topology,
    spread: Spread,
    /// Number of ports to compare, if adaptive.
    candidates: u32,
    /// The router at the far end of each port, or [`NONE`].
    far: Vec<u32>,
    distances: Distances,
    rule: LevelRule,
    channels: VirtualChannels,
}

impl ShortestPathsRouting {
    /// A routing on `topology`; if adaptive, it compares `candidates` random ports.
    ///
    /// # Errors
    /// There are more than 8,192 routers, routers with nodes that no path connects, or shortest paths that need more
    /// than 16 levels.
    pub fn new(topology: Topology, spread: Spread, candidates: u32) -> Result<Self, String> {
        let distances = Distances::new(&topology, "shortest-paths")?;
        let far = far_ends(&topology);
        let mut best: Option<(u32, LevelRule, [u32; LinkClass::COUNT])> = None;
        for rule in LevelRule::all(&topology) {
            let levels = levels(&topology, &far, &distances, &rule);
            let most = levels.into_iter().max().unwrap_or(0);
            if best.as_ref().is_none_or(|&(least, ..)| most < least) {
                best = Some((most, rule, levels));
            }
            if most <= 1 {
                break;
            }
        }
        let (most, rule, levels) = best.ok_or("there is no rule for levels")?;
        if most > MOST_LEVELS {
            return Err(too_many_levels(most));
        }
        Ok(ShortestPathsRouting {
            channels: channels(&topology, levels),
            topology,
            spread,
            candidates,
            far,
            distances,
            rule,
        })
    }

    /// Whether ports are chosen by load.
    pub fn is_adaptive(&self) -> bool {
        self.spread == Spread::Adaptive
    }
}

/// Virtual channels of these levels; classes without packets have one.
pub(super) fn channels(topology: &Topology, levels: [u32; LinkClass::COUNT]) -> VirtualChannels {
    let mut channels = [0; LinkClass::COUNT];
    for ((channels, cables), levels) in channels.iter_mut().zip(topology.cables_by_class()).zip(levels) {
        *channels = match cables {
            0 => 0,
            _ => levels.clamp(1, MOST_LEVELS) as u8,
        };
    }
    channels
}

/// Levels per link class by `rule` on all shortest paths between routers with nodes.
fn levels(topology: &Topology, far: &[u32], distances: &Distances, rule: &LevelRule) -> [u32; LinkClass::COUNT] {
    let ends = with_nodes(topology);
    let mut found = [0; LinkClass::COUNT];
    // The highest level with which a packet is at each router, by whether it has moved down; `None`: no packet.
    let mut state: Vec<[Option<u8>; 2]> = Vec::new();
    let mut order: Vec<u32> = (0..topology.routers()).collect();
    for &target in &ends {
        let distance = distances.from(target);
        state.clear();
        state.resize(topology.routers() as usize, [None; 2]);
        ends.iter().for_each(|&source| state[source as usize][0] = Some(0));
        order.sort_unstable_by_key(|&router| std::cmp::Reverse(distance[router as usize]));
        for &router in &order {
            let here = distance[router as usize];
            if here == u16::MAX || router == target {
                continue;
            }
            for port in topology.ports_of(router) {
                let next = far[port as usize];
                if next == NONE || distance[next as usize] + 1 != here {
                    continue;
                }
                for (was_down, level) in [false, true].into_iter().zip(state[router as usize]) {
                    let Some(mut level) = level else { continue };
                    let mut down = was_down;
                    let of_cable = rule.next(&mut level, &mut down, port);
                    let class = &mut found[topology.class(port) as usize];
                    *class = u32::from(of_cable).saturating_add(1).max(*class);
                    let there = &mut state[next as usize][usize::from(down)];
                    *there = (*there).max(Some(level));
                }
            }
        }
    }
    found
}

impl FamilyRouting for ShortestPathsRouting {
    type Graph = Topology;
    type Algorithm = ();

    fn on(topology: Topology, algorithm: (), settings: &Settings) -> Result<Self, String> {
        let () = algorithm;
        let spread = settings.spread.unwrap_or_default();
        ShortestPathsRouting::new(topology, spread, super::candidates(settings))
    }

    fn topology(&self) -> &Topology {
        &self.topology
    }

    fn virtual_channels(&self) -> VirtualChannels {
        self.channels
    }

    fn is_detour(&self, _: u32, _: u32, _: &Header) -> bool {
        false
    }

    #[inline]
    fn decide(&self, router: u32, header: &mut Header, choice: &mut (impl Choice + ?Sized)) -> Decision {
        let home = self.topology.node_router(header.target);
        if router == home {
            return Decision::new(self.topology.node_port(header.target), 0);
        }
        let distance = self.distances.from(home);
        let left = distance[router as usize];
        let good = |&port: &u32| {
            let far = self.far[port as usize];
            far != NONE && distance[far as usize] + 1 == left
        };
        let ports = self.topology.ports_of(router);
        let count = ports.clone().filter(good).count() as u32;
        let nth = |n: u32| ports.clone().filter(good).nth(n as usize).unwrap_or(ports.start);
        let port = match self.spread {
            Spread::Flow => {
                let flow = flow_in(header, choice);
                match count {
                    0 | 1 => nth(0),
                    _ => nth(choice.pick_of_flow(flow, router, count)),
                }
            }
            _ if count <= 1 => nth(0),
            Spread::Packet => nth(choice.pick(count)),
            Spread::Adaptive => super::lightest(count, self.candidates, choice, |n, _| nth(n)),
        };
        Decision::new(port, self.rule.step(header, port))
    }
}

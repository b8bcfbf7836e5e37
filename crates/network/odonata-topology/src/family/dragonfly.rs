//! The dragonfly with one-dimensional groups.
//!
//! J. Kim, W. Dally, S. Scott, D. Abts, "Technology-driven, highly-scalable dragonfly topology", ISCA 2008: `p` nodes
//! per router, `a` fully connected routers per group, `h` global ports per router, at most `g = a h + 1` groups.
//! Balanced: a = 2p = 2h.
//!
//! Ports of a router: its nodes, then `a - 1` local ports (to the other routers of the group in ascending order), then
//! `h` global ports.
//!
//! Global ports of a group are numbered `k = h i + j` (router `i`, its global port `j`). With `c` cables per pair of
//! groups, `k = q (g - 1) + d` carries cable `q` in direction `d`; the [`Arrangement`] gives the group at a direction.

use odonata_units::{Filled, Problem};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::settings::{self, Cables, ReadFile, Size};
use super::smaller;
use super::{FamilyGraph, FamilySettings, WorstCase};
use crate::gateways::Gateways;
use crate::{Arrangement, Cable, Fault, Gateway, LinkClass, Topology};

/// A dragonfly with one-dimensional groups (J. Kim, W. Dally, S. Scott, D. Abts, ISCA 2008). Balanced: routers_per_group = 2 nodes_per_router = 2
/// global_ports_per_router. The four sizes are required, here or in the preset.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "Dragonfly")]
pub struct Settings {
    /// Number of groups, g; at most routers_per_group x global_ports_per_router + 1. Required.
    #[schemars(range(min = 1))]
    pub groups: Filled<u32>,
    /// Routers per group, a. Required.
    #[schemars(range(min = 1))]
    pub routers_per_group: Filled<u32>,
    /// Nodes per router, p: compute nodes and storage servers together. Required.
    #[schemars(range(min = 1))]
    pub nodes_per_router: Filled<u32>,
    /// Global ports per router, h. Required.
    pub global_ports_per_router: Filled<u32>,
    /// Assignment of a group's global ports to the other groups.
    pub arrangement: Arrangement,
    /// Cables between each pair of groups: a number, or "all" for as many as the ports allow (equal for all pairs).
    #[schemars(extend("default" = "all"))]
    pub cables: Cables,
}

impl FamilySettings for Settings {
    type Graph = Dragonfly;

    const EXAMPLES: &'static [&'static str] = &["groups = 5\n\
         routers_per_group = 4\n\
         nodes_per_router = 2\n\
         global_ports_per_router = 2\n\
         arrangement = \"circulant\""];

    fn resolve(&mut self, _: ReadFile<'_>) -> Result<Size, Problem> {
        let g = settings::required("groups", &self.groups, 1)?;
        let a = settings::required("routers_per_group", &self.routers_per_group, 1)?;
        let p = settings::required("nodes_per_router", &self.nodes_per_router, 1)?;
        let h = settings::required("global_ports_per_router", &self.global_ports_per_router, 0)?;
        let ports = u64::from(a) * u64::from(h);
        let reach = format!("{a} routers_per_group x {h} global_ports_per_router reach {ports} other groups");
        settings::groups(g, ports, reach)?;
        let per_router = u64::from(p) + u64::from(a - 1) + u64::from(h);
        let size = settings::ports(u64::from(g) * u64::from(a), per_router)?;
        self.cables.resolve(g, ports)?;
        Ok(size)
    }

    fn build(&self) -> Result<Dragonfly, String> {
        let shape = DragonflyShape {
            groups: *self.groups,
            routers: *self.routers_per_group,
            nodes: *self.nodes_per_router,
            global_ports: *self.global_ports_per_router,
            cables: self.cables.count(),
        };
        Dragonfly::new(shape, self.arrangement)
    }

    fn smaller(&self, _: bool) -> Option<(Self, String)> {
        let a = (*self.routers_per_group).min(smaller::ROUTERS / 5);
        let h = smaller::global_ports(*self.global_ports_per_router, a);
        let fits = a * h + 1;
        let g = (smaller::ROUTERS / a).max(5).min(*self.groups).min(fits);
        let small = Settings {
            groups: g.into(),
            routers_per_group: a.into(),
            global_ports_per_router: h.into(),
            cables: smaller::cables(self.cables, g, fits - 1),
            ..self.clone()
        };
        Some((small, format!("dragonfly with {g} groups of {a} routers")))
    }

    fn way_in_a_group(&self) -> Option<&'static [LinkClass]> {
        Some(&[LinkClass::Local])
    }

    fn worst_case(&self) -> WorstCase {
        WorstCase::NextGroup
    }
}

/// The sizes of a dragonfly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DragonflyShape {
    /// Number of groups, g.
    pub groups: u32,
    /// Routers per group, a.
    pub routers: u32,
    /// Nodes per router, p.
    pub nodes: u32,
    /// Global ports per router, h.
    pub global_ports: u32,
    /// Cables per pair of groups; `None` for as many as the ports allow.
    pub cables: Option<u32>,
}

/// A dragonfly: its graph and the routing tables (of size groups², not nodes²).
#[derive(Clone, Debug)]
pub struct Dragonfly {
    shape: DragonflyShape,
    cables: u32,
    topology: Topology,
    /// Group of each router and its index in the group. Tables, because a division at every hop costs more than the
    /// rest of a routing decision.
    places: Vec<(u32, u32)>,
    gateways: Gateways,
}

impl Dragonfly {
    /// Builds a dragonfly.
    ///
    /// # Errors
    /// The impossible size and its bound.
    pub fn new(shape: DragonflyShape, arrangement: Arrangement) -> Result<Self, String> {
        let DragonflyShape {
            groups: g,
            routers: a,
            nodes: p,
            global_ports: h,
            ..
        } = shape;
        if g == 0 || a == 0 || p == 0 {
            return Err("a dragonfly needs at least one group, one router per group and one node per router".into());
        }
        let most = u64::from(a) * u64::from(h) + 1;
        if u64::from(g) > most {
            return Err(format!(
                "{g} groups need more global ports than {a} routers × {h}: at most a·h+1 = {most} groups"
            ));
        }
        let per_router = u64::from(p) + u64::from(a) + u64::from(h);
        if per_router > 4096 || u64::from(g) * u64::from(a) * per_router > 1 << 28 {
            return Err(format!(
                "{g} groups × {a} routers × {per_router} ports: more than 2^28 ports in all"
            ));
        }
        let fit = if g > 1 { a * h / (g - 1) } else { 0 };
        let cables = match shape.cables {
            None => fit,
            Some(c) if c <= fit && (c > 0 || g == 1) => c,
            Some(c) => {
                return Err(format!(
                    "{c} cables per pair of {g} groups: a group has {a}·{h} global ports, enough for {fit}"
                ));
            }
        };

        let mut nodes = Vec::with_capacity((g * a * p) as usize);
        let mut list = Vec::new();
        for router in 0..g * a {
            nodes.extend((0..p).map(|node| (router, node)));
            let (group, i) = (router / a, router % a);
            for j in i + 1..a {
                list.push(Cable {
                    a: (router, p + j - 1),
                    b: (group * a + j, p + i),
                    class: LinkClass::Local,
                });
            }
        }
        let place = |x: u32, k: u32| (x * a + k / h, p + a - 1 + k % h);
        for x in 0..g {
            for q in 0..cables {
                for d in 0..g - 1 {
                    let (y, back) = arrangement.far_side(x, d, g);
                    if x < y {
                        list.push(Cable {
                            a: place(x, q * (g - 1) + d),
                            b: place(y, q * (g - 1) + back),
                            class: LinkClass::Global,
                        });
                    }
                }
            }
        }
        let topology = Topology::new(&vec![p + a - 1 + h; (g * a) as usize], &nodes, &list)?
            .with_blocks((0..=g).map(|group| group * a).collect())?;

        let gateways = Gateways::new(&topology, g, a);
        let places = (0..g * a).map(|router| (router / a, router % a)).collect();
        Ok(Dragonfly {
            shape,
            cables,
            topology,
            places,
            gateways,
        })
    }

    /// The graph.
    pub fn topology(&self) -> &Topology {
        &self.topology
    }

    /// The sizes of the dragonfly.
    pub fn shape(&self) -> DragonflyShape {
        self.shape
    }

    /// Cables per pair of groups.
    pub fn cables(&self) -> u32 {
        self.cables
    }

    /// The group of `router`.
    #[inline]
    pub fn group_of(&self, router: u32) -> u32 {
        self.places[router as usize].0
    }

    /// The cables from group `from` to another group `to`, in port order, without failed ones.
    #[inline]
    pub fn gateways(&self, from: u32, to: u32) -> &[Gateway] {
        self.gateways.between(from, to)
    }

    /// Checks that every packet has a path over a local, a global and a local cable: each pair of groups needs one
    /// cable, and each pair of routers of a group its only cable.
    ///
    /// # Errors
    /// The missing cable.
    pub fn check_ways(&self) -> Result<(), String> {
        if let Some(&(a, b)) = self
            .topology
            .failed()
            .iter()
            .find(|cable| self.topology.class(cable.0) == LinkClass::Local)
        {
            let (a, b) = (self.topology.router_of_port(a), self.topology.router_of_port(b));
            return Err(format!(
                "the cable between routers {a} and {b} failed: this routing has no other path inside the group"
            ));
        }
        self.gateways.check()
    }

    /// The port of `router` to `other`, another router of the same group.
    #[inline]
    pub fn local_port(&self, router: u32, other: u32) -> u32 {
        let rank = self.places[other as usize].1;
        let skip = u32::from(rank > self.places[router as usize].1);
        self.topology.first_port(router) + self.shape.nodes + rank - skip
    }
}

impl FamilyGraph for Dragonfly {
    fn topology(&self) -> &Topology {
        &self.topology
    }

    fn impair(&mut self, faults: &[Fault]) -> Result<(), String> {
        self.topology.impair(faults)?;
        self.gateways = Gateways::new(&self.topology, self.shape.groups, self.shape.routers);
        Ok(())
    }

    /// Cables between the two halves of the groups, or of the only group.
    fn bisection(&self) -> Option<u64> {
        let halves = |n: u32| u64::from(n / 2) * u64::from(n - n / 2);
        Some(match self.shape.groups {
            1 => halves(self.shape.routers),
            g => halves(g) * u64::from(self.cables),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Peer;

    fn shapes() -> Vec<DragonflyShape> {
        let shape = |groups, routers, nodes, global_ports, cables| DragonflyShape {
            groups,
            routers,
            nodes,
            global_ports,
            cables,
        };
        vec![
            shape(33, 8, 4, 4, None),
            shape(9, 4, 2, 2, None),
            shape(5, 4, 2, 4, None),
            shape(4, 3, 2, 3, Some(2)),
            shape(2, 1, 1, 1, None),
            shape(1, 4, 3, 0, None),
            shape(7, 5, 1, 3, None),
        ]
    }

    fn dragonflies() -> impl Iterator<Item = Dragonfly> {
        shapes()
            .into_iter()
            .flat_map(|shape| Arrangement::ALL.map(|rule| Dragonfly::new(shape, rule).unwrap()))
    }

    #[test]
    fn blocks_are_the_groups() {
        for dragonfly in dragonflies() {
            let blocks = dragonfly.topology().blocks();
            assert_eq!(blocks.len() as u32, dragonfly.shape().groups + 1);
            for (group, range) in (0..).zip(blocks.windows(2)) {
                assert!((range[0]..range[1]).all(|router| dragonfly.group_of(router) == group));
            }
        }
    }

    #[test]
    fn cabling_is_a_perfect_matching() {
        for dragonfly in dragonflies() {
            let t = dragonfly.topology();
            for port in 0..t.ports() {
                if let Peer::Router { router, port: far } = t.peer(port) {
                    assert_eq!(t.router_of_port(far), router);
                    assert_eq!(
                        t.peer(far),
                        Peer::Router {
                            router: t.router_of_port(port),
                            port
                        }
                    );
                    assert_eq!(t.class(far), t.class(port));
                }
            }
        }
    }

    #[test]
    fn every_pair_of_groups_has_its_cables_and_every_pair_of_routers_in_a_group_one() {
        for dragonfly in dragonflies() {
            let (t, s) = (dragonfly.topology(), dragonfly.shape());
            for x in 0..s.groups {
                for y in (0..s.groups).filter(|&y| y != x) {
                    let gateways = dragonfly.gateways(x, y);
                    assert_eq!(gateways.len(), dragonfly.cables() as usize);
                    for gateway in gateways {
                        assert_eq!(dragonfly.group_of(gateway.router), x);
                        assert_eq!(t.router_of_port(gateway.port), gateway.router);
                        assert_eq!(t.class(gateway.port), LinkClass::Global);
                        let Peer::Router { router, .. } = t.peer(gateway.port) else {
                            panic!("gateway is free")
                        };
                        assert_eq!((router, dragonfly.group_of(router)), (gateway.far_router, y));
                    }
                }
            }
            for router in 0..t.routers() {
                let base = dragonfly.group_of(router) * s.routers;
                for other in (base..base + s.routers).filter(|&o| o != router) {
                    let port = dragonfly.local_port(router, other);
                    assert!(matches!(t.peer(port), Peer::Router { router, .. } if router == other));
                    assert_eq!(t.class(port), LinkClass::Local);
                }
            }
        }
    }

    /// Breadth-first search: all nodes are reachable over at most three router-router links.
    #[test]
    fn diameter_is_three_links() {
        for dragonfly in dragonflies() {
            let t = dragonfly.topology();
            for start in [0, t.routers() / 2, t.routers() - 1] {
                let mut distance = vec![u32::MAX; t.routers() as usize];
                distance[start as usize] = 0;
                let mut queue = std::collections::VecDeque::from([start]);
                while let Some(router) = queue.pop_front() {
                    for port in t.ports_of(router) {
                        if let Peer::Router { router: next, .. } = t.peer(port)
                            && distance[next as usize] == u32::MAX
                        {
                            distance[next as usize] = distance[router as usize] + 1;
                            queue.push_back(next);
                        }
                    }
                }
                assert!(distance.iter().all(|&d| d <= 3));
            }
        }
    }

    /// port p of router i of group g -> group (g + 4i + p + 1) mod 33, router 7 - i.
    #[test]
    fn relative_arrangement_is_the_rule_of_the_stored_runs() {
        let shape = DragonflyShape {
            groups: 33,
            routers: 8,
            nodes: 4,
            global_ports: 4,
            cables: None,
        };
        let dragonfly = Dragonfly::new(shape, Arrangement::Relative).unwrap();
        let t = dragonfly.topology();
        for g in 0..33 {
            for i in 0..8 {
                for p in 0..4 {
                    let port = t.first_port(g * 8 + i) + 4 + 7 + p;
                    let Peer::Router { router, .. } = t.peer(port) else {
                        panic!("free global port")
                    };
                    assert_eq!(router, (g + 4 * i + p + 1) % 33 * 8 + 7 - i);
                }
            }
        }
    }

    #[test]
    fn too_many_groups_are_refused_with_the_bound() {
        let shape = DragonflyShape {
            groups: 34,
            routers: 8,
            nodes: 4,
            global_ports: 4,
            cables: None,
        };
        let error = Dragonfly::new(shape, Arrangement::Absolute).unwrap_err();
        assert!(error.contains("a·h+1 = 33"), "{error}");
    }

    #[test]
    fn a_port_cannot_be_connected_twice() {
        let cable = Cable {
            a: (0, 0),
            b: (1, 0),
            class: LinkClass::Local,
        };
        assert!(
            Topology::new(&[1, 1], &[], &[cable, cable])
                .unwrap_err()
                .contains("twice")
        );
        let out = Cable { b: (1, 9), ..cable };
        assert!(Topology::new(&[1, 1], &[], &[out]).unwrap_err().contains("no port 9"));
    }

    #[test]
    fn blocks_have_to_cover_the_routers() {
        let topology = || Topology::new(&[1, 1, 1], &[], &[]).unwrap();
        assert_eq!(topology().blocks(), [0, 3]);
        assert_eq!(topology().with_blocks(vec![0, 2, 3]).unwrap().blocks(), [0, 2, 3]);
        for wrong in [vec![], vec![0], vec![0, 2], vec![1, 3], vec![0, 2, 2, 3], vec![0, 4]] {
            assert!(topology().with_blocks(wrong).is_err());
        }
    }
}

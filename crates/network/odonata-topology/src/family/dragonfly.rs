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
//! Groups of several kinds have other numbers of nodes and cables ([`group_kinds`]).

use std::sync::Arc;

use odonata_units::{Filled, Problem};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::graph::fnv;
use super::group_kinds::{self, GroupKinds, OtherGroups};
use super::settings::{self, Cables, ReadFile, Size};
use super::smaller;
use super::{FamilyGraph, FamilySettings, WorstCase};
use crate::cable_map::PairsOfRouters;
use crate::gateways::Gateways;
use crate::{Arrangement, Cable, Fault, Gateway, LinkClass, MapError, Topology};

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
    /// A CSV file of all global cables, with the columns a and b: the numbers of two routers; relative to the scenario's
    /// folder. `arrangement`, `cables` and `other_groups` have no effect then. Default: by `arrangement`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub global_cables: Option<String>,
    /// Resolved: the text of that file.
    #[serde(skip)]
    pub global_cables_text: Arc<str>,
    /// Resolved: a hash of that text (FNV-1a, 64 bits), which identifies the cables.
    #[serde(skip_deserializing, skip_serializing_if = "Option::is_none")]
    #[schemars(skip)]
    pub global_cables_hash: Option<String>,
    /// Kinds of groups with other numbers of nodes or cables; `cables` must be a number then. They are the last groups,
    /// in the order of the list. Default: none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub other_groups: Vec<OtherGroups>,
}

impl Settings {
    /// The kinds of groups.
    fn kinds(&self) -> Result<GroupKinds, Problem> {
        let ports = u64::from(*self.routers_per_group) * u64::from(*self.global_ports_per_router);
        let first = (self.cables.count(), *self.nodes_per_router);
        group_kinds::resolve(&self.other_groups, (*self.groups, ports), first)
    }
}

impl FamilySettings for Settings {
    type Graph = Dragonfly;

    const EXAMPLES: &'static [&'static str] = &["groups = 5\n\
         routers_per_group = 4\n\
         nodes_per_router = 2\n\
         global_ports_per_router = 2\n\
         arrangement = \"circulant\""];

    fn resolve(&mut self, read: ReadFile<'_>) -> Result<Size, Problem> {
        if let Some(file) = &self.global_cables {
            if !self.other_groups.is_empty() {
                let problem = "a file of global cables, and groups of several kinds";
                return Err(Problem::new(
                    "other_groups",
                    problem,
                    "no such key, or no global_cables",
                ));
            }
            let (found, text) = read(file);
            let refuse = |problem| Problem::new("global_cables", problem, CABLES_EXPECTED).within(&found, None);
            let text = text.map_err(refuse)?;
            self.global_cables_hash = Some(fnv(text.as_bytes()));
            self.global_cables_text = text.into();
            self.global_cables = Some(found);
        }
        let g = settings::required("groups", &self.groups, 1)?;
        let a = settings::required("routers_per_group", &self.routers_per_group, 1)?;
        let p = settings::required("nodes_per_router", &self.nodes_per_router, 1)?;
        let h = settings::required("global_ports_per_router", &self.global_ports_per_router, 0)?;
        let ports = u64::from(a) * u64::from(h);
        let reach = format!("{a} routers_per_group x {h} global_ports_per_router reach {ports} other groups");
        settings::groups(g, ports, reach)?;
        if self.other_groups.is_empty() {
            self.cables.resolve(g, ports)?;
        }
        let p = self.kinds()?.most_nodes(p);
        let per_router = u64::from(p) + u64::from(a - 1) + u64::from(h);
        settings::ports(u64::from(g) * u64::from(a), per_router)
    }

    fn build(&self) -> Result<Dragonfly, String> {
        let shape = DragonflyShape {
            groups: *self.groups,
            routers: *self.routers_per_group,
            nodes: *self.nodes_per_router,
            global_ports: *self.global_ports_per_router,
            cables: self.cables.count(),
        };
        if self.global_cables.is_some() {
            let cables = PairsOfRouters::read(&self.global_cables_text).map_err(|error| error.to_string())?;
            return Dragonfly::with_global_cables(shape, &cables.0).map_err(|error| error.to_string());
        }
        let kinds = self.kinds().map_err(|problem| problem.problem)?;
        Dragonfly::with_kinds(shape, kinds, self.arrangement)
    }

    fn refusal(&self, problem: String) -> Problem {
        match (&self.global_cables, MapError::parse(&problem)) {
            (
                Some(file),
                MapError {
                    line: Some(line),
                    problem,
                },
            ) => Problem::new("global_cables", problem, CABLES_EXPECTED).within(file.as_str(), Some(line)),
            _ => settings::whole(problem, ""),
        }
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
            other_groups: Vec::new(),
            global_cables: None,
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

const CABLES_EXPECTED: &str = "CSV with columns a, b (docs/networks.md)";

/// The sizes of a dragonfly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DragonflyShape {
    /// Number of groups, g.
    pub groups: u32,
    /// Routers per group, a.
    pub routers: u32,
    /// Nodes per router, p; of a built dragonfly with groups of several kinds: the most.
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
    kinds: GroupKinds,
    topology: Topology,
    /// Group of each router and its index in the group. Tables, because a division at every hop costs more than the
    /// rest of a routing decision.
    places: Vec<(u32, u32)>,
    gateways: Gateways,
    /// Whether the global cables come from a list.
    is_mapped: bool,
}

/// # Errors
/// The impossible size and its bound.
fn check(shape: DragonflyShape, kinds: &GroupKinds) -> Result<(), String> {
    let (g, a, h) = (shape.groups, shape.routers, shape.global_ports);
    let p = kinds.most_nodes(shape.nodes);
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
    Ok(())
}

impl Dragonfly {
    /// Builds a dragonfly.
    ///
    /// # Errors
    /// The impossible size and its bound.
    pub fn new(shape: DragonflyShape, arrangement: Arrangement) -> Result<Self, String> {
        Self::with_kinds(shape, GroupKinds::NONE, arrangement)
    }

    /// Builds a dragonfly whose first groups have the sizes of `shape`, and the others those of `kinds`.
    ///
    /// # Errors
    /// The impossible size and its bound.
    pub fn with_kinds(shape: DragonflyShape, kinds: GroupKinds, arrangement: Arrangement) -> Result<Self, String> {
        check(shape, &kinds)?;
        let (g, a, h) = (shape.groups, shape.routers, shape.global_ports);
        let fit = if g > 1 { a * h / (g - 1) } else { 0 };
        let cables = match shape.cables {
            None => fit,
            Some(c) if (c <= fit || !kinds.is_one()) && (c > 0 || g == 1) => c,
            Some(c) => {
                return Err(format!(
                    "{c} cables per pair of {g} groups: a group has {a}·{h} global ports, enough for {fit}"
                ));
            }
        };
        let list = group_kinds::cables(g, u64::from(a) * u64::from(h), (cables, &kinds), arrangement)?;
        Self::cabled(shape, kinds, cables, &list)
    }

    /// Builds a dragonfly with these global cables: the line of each, for errors, and the two routers. The global ports of
    /// a router are taken in the order of the list.
    ///
    /// # Errors
    /// The line of a cable that is not possible; or the impossible size and its bound; or two groups without a cable.
    pub fn with_global_cables(shape: DragonflyShape, cables: &[(u32, [u32; 2])]) -> Result<Self, MapError> {
        let whole = |problem| MapError { line: None, problem };
        check(shape, &GroupKinds::NONE).map_err(whole)?;
        let (a, h) = (shape.routers, shape.global_ports);
        let mut taken = vec![0; (shape.groups * a) as usize];
        let mut list = Vec::with_capacity(cables.len());
        for &(line, ends) in cables {
            let mut side = |router: u32| {
                let Some(used) = taken.get_mut(router as usize) else {
                    let most = shape.groups * a - 1;
                    return Err(MapError::at(
                        line,
                        format!("there is no router {router}: they are numbered to {most}"),
                    ));
                };
                *used += 1;
                if *used > h {
                    return Err(MapError::at(line, format!("router {router} has only {h} global ports")));
                }
                Ok((router / a, router % a * h + *used - 1))
            };
            let (x, y) = (side(ends[0])?, side(ends[1])?);
            if x.0 == y.0 {
                let problem = format!("routers {} and {} are both in group {}", ends[0], ends[1], x.0);
                return Err(MapError::at(line, problem));
            }
            list.push([x, y]);
        }
        let pairs = shape.groups * shape.groups.saturating_sub(1) / 2;
        let per_pair = list.len() as u32 / pairs.max(1);
        let dragonfly = Self::cabled(shape, GroupKinds::NONE, per_pair, &list).map_err(whole)?;
        dragonfly.gateways.check().map_err(whole)?;
        Ok(Dragonfly {
            is_mapped: true,
            ..dragonfly
        })
    }

    /// Builds a dragonfly of checked sizes from its global cables, each as two (group, global port of the group).
    fn cabled(
        shape: DragonflyShape,
        kinds: GroupKinds,
        cables: u32,
        global: &[[(u32, u32); 2]],
    ) -> Result<Self, String> {
        let DragonflyShape {
            groups: g,
            routers: a,
            nodes: first,
            global_ports: h,
            ..
        } = shape;
        let p = kinds.most_nodes(first);
        let mut nodes = Vec::with_capacity((g * a * p) as usize);
        let mut list = Vec::new();
        for router in 0..g * a {
            let (group, i) = (router / a, router % a);
            nodes.extend((0..kinds.nodes(group, g, first)).map(|node| (router, node)));
            for j in i + 1..a {
                list.push(Cable {
                    a: (router, p + j - 1),
                    b: (group * a + j, p + i),
                    class: LinkClass::Local,
                });
            }
        }
        let place = |x: u32, k: u32| (x * a + k / h, p + a - 1 + k % h);
        for &[(x, k), (y, l)] in global {
            list.push(Cable {
                a: place(x, k),
                b: place(y, l),
                class: LinkClass::Global,
            });
        }
        let topology = Topology::new(&vec![p + a - 1 + h; (g * a) as usize], &nodes, &list)?
            .with_blocks((0..=g).map(|group| group * a).collect())?;

        let gateways = Gateways::new(&topology, g, a);
        let places = (0..g * a).map(|router| (router / a, router % a)).collect();
        Ok(Dragonfly {
            shape: DragonflyShape { nodes: p, ..shape },
            cables,
            kinds,
            topology,
            places,
            gateways,
            is_mapped: false,
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

    /// Cables per pair of groups of the first kind.
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

    fn topology_mut(&mut self) -> &mut Topology {
        &mut self.topology
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
            g if self.is_mapped => {
                let half = g / 2;
                let across = (0..half).flat_map(|from| (half..g).map(move |to| (from, to)));
                across.map(|(from, to)| self.gateways(from, to).len() as u64).sum()
            }
            g => group_kinds::bisection(g, self.cables, &self.kinds),
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

    /// Three groups of 2 nodes per router, two of 3, one of 1; the numbers of cables go by kind. Local ports lead to the
    /// routers of the group in every kind.
    #[test]
    fn groups_of_several_kinds_have_their_nodes_and_cables() {
        let shape = DragonflyShape {
            groups: 6,
            routers: 4,
            nodes: 2,
            global_ports: 4,
            cables: Some(3),
        };
        let kind = |groups, nodes, cables, to: &[u32]| group_kinds::GroupKind {
            groups,
            nodes,
            cables,
            cables_to: to.to_vec(),
        };
        for arrangement in Arrangement::ALL {
            let kinds = GroupKinds::new(vec![kind(2, 3, 4, &[2]), kind(1, 1, 1, &[1, 3])]).unwrap();
            let d = Dragonfly::with_kinds(shape, kinds, arrangement).unwrap();
            let t = d.topology();
            crate::sizes::assert_perfect_matching(t);
            let nodes = |group| [2, 2, 2, 3, 3, 1][group as usize];
            for router in 0..t.routers() {
                let own = (0..t.nodes()).filter(|&node| t.node_router(node) == router).count();
                assert_eq!(own, nodes(d.group_of(router)), "router {router}");
                let first = d.group_of(router) * 4;
                for other in (first..first + 4).filter(|&other| other != router) {
                    assert_eq!(t.neighbour(d.local_port(router, other)), Some(other));
                }
            }
            for (x, y) in (0..6).flat_map(|x| (0..6).map(move |y| (x, y))).filter(|(x, y)| x != y) {
                let cables = match (x.min(y), x.max(y)) {
                    (..3, ..3) => 3,
                    (3 | 4, 3 | 4) => 4,
                    (..3, 3 | 4) => 2,
                    (..3, _) => 1,
                    _ => 3,
                };
                assert_eq!(d.gateways(x, y).len(), cables, "{arrangement:?}, {x} to {y}");
            }
            // Groups 0, 1, 2 against 3, 4, 5.
            assert_eq!(d.bisection(), Some(3 * (2 + 2 + 1)));
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

    /// A list of the cables of an arrangement makes the same gateways; errors name the line.
    #[test]
    fn global_cables_may_be_listed() {
        let shape = shapes()[1];
        for arrangement in Arrangement::ALL {
            let ruled = Dragonfly::new(shape, arrangement).unwrap();
            let topology = ruled.topology();
            let mut list = Vec::new();
            for port in 0..topology.ports() {
                if let Peer::Router { router, port: far } = topology.peer(port)
                    && topology.class(port) == LinkClass::Global
                    && port < far
                {
                    list.push((1, [topology.router_of_port(port), router]));
                }
            }
            let listed = Dragonfly::with_global_cables(shape, &list).unwrap();
            for (from, to) in (0..9).flat_map(|from| (0..9).map(move |to| (from, to))) {
                let ends = |dragonfly: &Dragonfly| -> Vec<(u32, u32)> {
                    let gateways = dragonfly.gateways(from, to).iter();
                    gateways.map(|gateway| (gateway.router, gateway.far_router)).collect()
                };
                assert_eq!(ends(&listed), ends(&ruled));
            }
            assert_eq!(listed.bisection(), ruled.bisection());
            let wrong = |cable| {
                let error = Dragonfly::with_global_cables(shape, &[list.as_slice(), &[cable]].concat()).unwrap_err();
                assert_eq!(error.line, Some(7));
                error.problem
            };
            assert!(wrong((7, [36, 0])).contains("no router 36"));
            assert!(wrong((7, [0, 8])).contains("only 2 global ports"));
            let error = Dragonfly::with_global_cables(shape, &list[1..]).unwrap_err();
            assert!(error.problem.contains("no cable is left between groups"), "{error}");
            let error = Dragonfly::with_global_cables(shape, &[(3, [0, 1])]).unwrap_err();
            assert_eq!(error.to_string(), "line 3: routers 0 and 1 are both in group 0");
        }
    }
}

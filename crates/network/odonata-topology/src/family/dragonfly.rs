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
mod tests;

//! Dragonfly+, also called megafly.
//!
//! A. Shpiner, Z. Haramaty, S. Eliad, V. Zdornov, B. Gafni, E. Zahavi, "Dragonfly+: low cost topology for scaling
//! datacenters", HiPINEB 2017; M. Flajslik, E. Borch, M. Parker, "Megafly: a topology for exascale systems", ISC 2018.
//! The routers of a group form a complete bipartite graph: *leaf* routers have the nodes, *spine* routers the global
//! cables. Two leaves of different groups are three cables apart.
//!
//! In a group, leaves come first, then spines. Ports of a leaf: its nodes, then the spines, parallel cables together.
//! Ports of a spine: the leaves, parallel cables together, then the global ports. Global ports of a group are numbered
//! as in the [one-dimensional dragonfly](crate::Dragonfly), by spine. Groups of several kinds have other numbers of nodes
//! and cables ([`group_kinds`]).

use odonata_units::{Filled, Problem};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::group_kinds::{self, GroupKinds, OtherGroups};
use super::settings::{self, Cables, ReadFile, Size};
use super::smaller;
use super::{FamilyGraph, FamilySettings, WorstCase};
use crate::gateways::{self, Gateways};
use crate::sizes::{self, cable};
use crate::{Arrangement, Fault, Gateway, LinkClass, Topology};
use std::ops::Range;

/// A dragonfly+ (A. Shpiner et al., HiPINEB 2017), or megafly (M. Flajslik et al., ISC 2018): leaf routers have the
/// nodes, spine routers the global cables, and every leaf of a group is linked with every spine. The sizes without a
/// default are required, here or in the preset.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, smart_default::SmartDefault)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "DragonflyPlus")]
pub struct Settings {
    /// Number of groups; at most spines_per_group x global_ports_per_spine + 1. Required.
    #[schemars(range(min = 1))]
    pub groups: Filled<u32>,
    /// Leaf routers of a group. Required.
    #[schemars(range(min = 1))]
    pub leaves_per_group: Filled<u32>,
    /// Spine routers of a group. Required.
    #[schemars(range(min = 1))]
    pub spines_per_group: Filled<u32>,
    /// Nodes per leaf router: compute nodes and storage servers together. Required.
    #[schemars(range(min = 1))]
    pub nodes_per_leaf: Filled<u32>,
    /// Parallel cables between a leaf and a spine.
    #[schemars(range(min = 1))]
    #[default = 1]
    pub local_cables: u32,
    /// Global ports per spine router. Required.
    pub global_ports_per_spine: Filled<u32>,
    /// Assignment of a group's global ports to the other groups.
    pub arrangement: Arrangement,
    /// Cables between each pair of groups: a number, or "all" for as many as the ports allow (equal for all pairs).
    #[schemars(extend("default" = "all"))]
    pub cables: Cables,
    /// Kinds of groups with other numbers of nodes or cables; `cables` must be a number then. They are the last groups,
    /// in the order of the list. Default: none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub other_groups: Vec<OtherGroups>,
}

impl Settings {
    /// The kinds of groups.
    fn kinds(&self) -> Result<GroupKinds, Problem> {
        let ports = u64::from(*self.spines_per_group) * u64::from(*self.global_ports_per_spine);
        let first = (self.cables.count(), *self.nodes_per_leaf);
        group_kinds::resolve(&self.other_groups, (*self.groups, ports), first)
    }
}

impl FamilySettings for Settings {
    type Graph = DragonflyPlus;

    const EXAMPLES: &'static [&'static str] =
        &["groups = 4\nleaves_per_group = 3\nspines_per_group = 2\nnodes_per_leaf = 3\nglobal_ports_per_spine = 3"];

    fn resolve(&mut self, _: ReadFile<'_>) -> Result<Size, Problem> {
        let g = settings::required("groups", &self.groups, 1)?;
        let leaves = settings::required("leaves_per_group", &self.leaves_per_group, 1)?;
        let spines = settings::required("spines_per_group", &self.spines_per_group, 1)?;
        let nodes = settings::required("nodes_per_leaf", &self.nodes_per_leaf, 1)?;
        let local = settings::size("local_cables", self.local_cables, 1)?;
        let h = settings::required("global_ports_per_spine", &self.global_ports_per_spine, 0)?;
        let ports = u64::from(spines) * u64::from(h);
        let reach = format!("{spines} spines_per_group x {h} global_ports_per_spine reach {ports} other groups");
        settings::groups(g, ports, reach)?;
        if self.other_groups.is_empty() {
            self.cables.resolve(g, ports)?;
        }
        let nodes = self.kinds()?.most_nodes(nodes);
        let leaf = u64::from(nodes) + u64::from(spines) * u64::from(local);
        let spine = u64::from(h) + u64::from(leaves) * u64::from(local);
        let routers = u64::from(g) * (u64::from(leaves) + u64::from(spines));
        settings::ports(routers, leaf.max(spine))
    }

    fn build(&self) -> Result<DragonflyPlus, String> {
        let shape = DragonflyPlusShape {
            groups: *self.groups,
            leaves: *self.leaves_per_group,
            spines: *self.spines_per_group,
            nodes: *self.nodes_per_leaf,
            local_cables: self.local_cables,
            global_ports: *self.global_ports_per_spine,
            cables: self.cables.count(),
        };
        let kinds = self.kinds().map_err(|problem| problem.problem)?;
        DragonflyPlus::with_kinds(shape, kinds, self.arrangement)
    }

    fn smaller(&self, _: bool) -> Option<(Self, String)> {
        let (leaves, spines) = ((*self.leaves_per_group).min(8), (*self.spines_per_group).min(8));
        let h = smaller::global_ports(*self.global_ports_per_spine, spines);
        let g = (*self.groups).min(5).min(spines * h + 1);
        let small = Settings {
            groups: g.into(),
            leaves_per_group: leaves.into(),
            spines_per_group: spines.into(),
            global_ports_per_spine: h.into(),
            cables: smaller::cables(self.cables, g, spines * h),
            other_groups: Vec::new(),
            ..self.clone()
        };
        let text = format!("dragonfly+ with {g} groups of {leaves} leaves and {spines} spines");
        Some((small, text))
    }

    fn way_in_a_group(&self) -> Option<&'static [LinkClass]> {
        Some(&[LinkClass::Local])
    }

    fn worst_case(&self) -> WorstCase {
        WorstCase::NextGroup
    }
}

/// The sizes of a dragonfly+.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DragonflyPlusShape {
    /// Number of groups.
    pub groups: u32,
    /// Leaf routers of a group.
    pub leaves: u32,
    /// Spine routers of a group.
    pub spines: u32,
    /// Nodes per leaf router; of a built dragonfly+ with groups of several kinds: the most.
    pub nodes: u32,
    /// Parallel cables between a leaf and a spine.
    pub local_cables: u32,
    /// Global ports per spine router.
    pub global_ports: u32,
    /// Cables per pair of groups; `None` for as many as the ports allow.
    pub cables: Option<u32>,
}

/// A dragonfly+.
#[derive(Clone, Debug)]
pub struct DragonflyPlus {
    shape: DragonflyPlusShape,
    cables: u32,
    kinds: GroupKinds,
    topology: Topology,
    /// Group of each router and its index in the group.
    places: Vec<(u32, u32)>,
    gateways: Gateways,
}

impl DragonflyPlus {
    /// Builds a dragonfly+.
    ///
    /// # Errors
    /// The impossible size and its bound.
    pub fn new(shape: DragonflyPlusShape, arrangement: Arrangement) -> Result<Self, String> {
        Self::with_kinds(shape, GroupKinds::NONE, arrangement)
    }

    /// Builds a dragonfly+ whose first groups have the sizes of `shape`, and the others those of `kinds`.
    ///
    /// # Errors
    /// The impossible size and its bound.
    pub fn with_kinds(shape: DragonflyPlusShape, kinds: GroupKinds, arrangement: Arrangement) -> Result<Self, String> {
        let DragonflyPlusShape {
            groups: g,
            leaves,
            spines,
            nodes: first_nodes,
            local_cables,
            global_ports: h,
            ..
        } = shape;
        let p = kinds.most_nodes(first_nodes);
        if [g, leaves, spines, p, local_cables].contains(&0) {
            return Err(
                "a dragonfly+ needs at least one group, leaf, spine, node per leaf and cable between leaf and spine"
                    .into(),
            );
        }
        let of_leaf = u64::from(p).saturating_add(sizes::product([spines, local_cables]));
        let of_spine = u64::from(h).saturating_add(sizes::product([leaves, local_cables]));
        let a = u64::from(leaves) + u64::from(spines);
        sizes::check(a.saturating_mul(u64::from(g)), of_leaf.max(of_spine))?;
        let ports = sizes::product([spines, h]);
        let fit = if g > 1 { (ports / u64::from(g - 1)) as u32 } else { 0 };
        let cables = shape.cables.unwrap_or(fit);
        if (cables > fit && kinds.is_one()) || (cables == 0 && g > 1) {
            return Err(format!(
                "{cables} cables per pair of {g} groups: a group has {spines}·{h} = {ports} global ports, enough for {fit}"
            ));
        }

        let a = a as u32;
        let mut nodes = Vec::with_capacity((g * leaves * p) as usize);
        let mut list = Vec::new();
        for router in (0..g * a).filter(|router| router % a < leaves) {
            nodes.extend((0..kinds.nodes(router / a, g, first_nodes)).map(|node| (router, node)));
            let (first, leaf) = (router / a * a, router % a);
            for spine in 0..spines {
                for lane in 0..local_cables {
                    let up = (router, p + spine * local_cables + lane);
                    let down = (first + leaves + spine, leaf * local_cables + lane);
                    list.push(cable(up, down, LinkClass::Local));
                }
            }
        }
        let place = |x: u32, k: u32| (x * a + leaves + k / h, leaves * local_cables + k % h);
        for [(x, k), (y, l)] in group_kinds::cables(g, ports, (cables, &kinds), arrangement)? {
            list.push(cable(place(x, k), place(y, l), LinkClass::Global));
        }
        let of = |router: u32| if router % a < leaves { of_leaf } else { of_spine };
        let ports: Vec<u32> = (0..g * a).map(|router| of(router) as u32).collect();
        let topology = Topology::new(&ports, &nodes, &list)?.with_blocks((0..=g).map(|group| group * a).collect())?;
        let gateways = Gateways::new(&topology, g, a);
        Ok(DragonflyPlus {
            shape: DragonflyPlusShape { nodes: p, ..shape },
            cables,
            kinds,
            topology,
            places: (0..g * a).map(|router| (router / a, router % a)).collect(),
            gateways,
        })
    }

    /// The graph. Its blocks are the groups.
    pub fn topology(&self) -> &Topology {
        &self.topology
    }

    /// The sizes of the dragonfly+.
    pub fn shape(&self) -> DragonflyPlusShape {
        self.shape
    }

    /// Cables per pair of groups of the first kind.
    pub fn cables(&self) -> u32 {
        self.cables
    }

    /// Checks that every leaf still has a cable to every spine of its group, and every group to every other.
    ///
    /// # Errors
    /// The missing cable.
    pub fn check_ways(&self) -> Result<(), String> {
        let t = &self.topology;
        for &(port, far) in t.failed().iter().filter(|cable| t.class(cable.0) == LinkClass::Local) {
            let (a, b) = (t.router_of_port(port), t.router_of_port(far));
            if t.live(self.local_ports(a, b)) == 0 {
                return Err(format!(
                    "no cable is left between routers {a} and {b}: this routing has no other path inside the group"
                ));
            }
        }
        self.gateways.check()
    }

    /// The group of `router`.
    #[inline]
    pub fn group_of(&self, router: u32) -> u32 {
        self.places[router as usize].0
    }

    /// Whether `router` is a leaf; otherwise it is a spine.
    #[inline]
    pub fn is_leaf(&self, router: u32) -> bool {
        self.places[router as usize].1 < self.shape.leaves
    }

    /// The spines of `group`.
    #[inline]
    pub fn spines(&self, group: u32) -> Range<u32> {
        let first = group * (self.shape.leaves + self.shape.spines) + self.shape.leaves;
        first..first + self.shape.spines
    }

    /// The leaves of `group`.
    #[inline]
    pub fn leaves(&self, group: u32) -> Range<u32> {
        let first = group * (self.shape.leaves + self.shape.spines);
        first..first + self.shape.leaves
    }

    /// The ports from a leaf to a spine of its group, or from a spine to a leaf: parallel cables, some of which may
    /// have [failed](Topology::live).
    #[inline]
    pub fn local_ports(&self, router: u32, other: u32) -> Range<u32> {
        let number = self.places[other as usize].1;
        let place = if number < self.shape.leaves {
            number * self.shape.local_cables
        } else {
            self.shape.nodes + (number - self.shape.leaves) * self.shape.local_cables
        };
        let first = self.topology.first_port(router) + place;
        first..first + self.shape.local_cables
    }

    /// The cables from group `from` to another group `to`, in port order, without failed ones.
    #[inline]
    pub fn gateways(&self, from: u32, to: u32) -> &[Gateway] {
        self.gateways.between(from, to)
    }

    /// The [`gateways`](Self::gateways) to group `to` at `spine`.
    #[inline]
    pub fn own_gateways(&self, spine: u32, to: u32) -> &[Gateway] {
        gateways::at(spine, self.gateways(self.group_of(spine), to))
    }
}

impl FamilyGraph for DragonflyPlus {
    fn topology(&self) -> &Topology {
        &self.topology
    }

    fn topology_mut(&mut self) -> &mut Topology {
        &mut self.topology
    }

    fn impair(&mut self, faults: &[Fault]) -> Result<(), String> {
        self.topology.impair(faults)?;
        let routers = self.shape.leaves + self.shape.spines;
        self.gateways = Gateways::new(&self.topology, self.shape.groups, routers);
        Ok(())
    }

    /// Cables between the two halves of the groups; in a single group, half of the cables between leaves and spines,
    /// with each half having half of both.
    fn bisection(&self) -> Option<u64> {
        let DragonflyPlusShape {
            groups: g,
            leaves,
            spines,
            local_cables,
            ..
        } = self.shape;
        if g > 1 {
            return Some(group_kinds::bisection(g, self.cables, &self.kinds));
        }
        let (left, up) = (u64::from(leaves / 2), u64::from(spines / 2));
        let cut = left * (u64::from(spines) - up) + (u64::from(leaves) - left) * up;
        Some(cut * u64::from(local_cables))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Effect;

    fn shape(groups: u32, leaves: u32, spines: u32, global_ports: u32) -> DragonflyPlusShape {
        DragonflyPlusShape {
            groups,
            leaves,
            spines,
            nodes: 3,
            local_cables: 1,
            global_ports,
            cables: None,
        }
    }

    fn all() -> Vec<DragonflyPlus> {
        let shapes = [
            shape(9, 4, 4, 2),
            shape(3, 2, 3, 2),
            shape(1, 3, 2, 0),
            DragonflyPlusShape {
                local_cables: 2,
                cables: Some(2),
                ..shape(4, 3, 4, 2)
            },
        ];
        let build = |shape| Arrangement::ALL.map(|rule| DragonflyPlus::new(shape, rule).unwrap());
        shapes.into_iter().flat_map(build).collect()
    }

    #[test]
    fn cabling_is_a_perfect_matching() {
        all().iter().for_each(|d| sizes::assert_perfect_matching(d.topology()));
    }

    /// Local cables: groups · leaves · spines · parallel; global: g (g - 1) / 2 · cables. Leaves are 3 apart, 2 in one
    /// group.
    #[test]
    fn counts_and_distances_of_leaves_are_those_of_the_papers() {
        for d in all() {
            let (t, s) = (d.topology(), d.shape());
            assert_eq!(t.routers(), s.groups * (s.leaves + s.spines));
            assert_eq!(t.nodes(), s.groups * s.leaves * s.nodes);
            let cables = t.cables_by_class();
            let local = s.groups * s.leaves * s.spines * s.local_cables;
            assert_eq!(cables[LinkClass::Local as usize], u64::from(local));
            let global = s.groups * (s.groups - 1) / 2 * d.cables();
            assert_eq!(cables[LinkClass::Global as usize], u64::from(global));
            assert_eq!(t.diameter().nodes, if s.groups == 1 { 2 } else { 3 });
        }
    }

    #[test]
    fn ports_lead_where_they_say() {
        for d in all() {
            let t = d.topology();
            for group in 0..d.shape().groups {
                for leaf in d.leaves(group) {
                    assert!(d.is_leaf(leaf) && d.group_of(leaf) == group);
                    for spine in d.spines(group) {
                        assert!(!d.is_leaf(spine) && d.group_of(spine) == group);
                        d.local_ports(leaf, spine)
                            .for_each(|port| assert_eq!(t.neighbour(port), Some(spine)));
                        d.local_ports(spine, leaf)
                            .for_each(|port| assert_eq!(t.neighbour(port), Some(leaf)));
                    }
                }
                for to in (0..d.shape().groups).filter(|&to| to != group) {
                    assert_eq!(d.gateways(group, to).len() as u32, d.cables());
                    let own: usize = d.spines(group).map(|spine| d.own_gateways(spine, to).len()).sum();
                    assert_eq!(own as u32, d.cables());
                }
            }
        }
    }

    /// Leonardo in small: cells with 3 nodes per leaf, one with 5, and two with 8; one pair of kinds has fewer cables.
    #[test]
    fn groups_of_several_kinds_have_their_nodes_and_cables() {
        let kind = |groups, nodes, cables_to: &[u32]| group_kinds::GroupKind {
            groups,
            nodes,
            cables: 2,
            cables_to: cables_to.to_vec(),
        };
        let shape = DragonflyPlusShape {
            cables: Some(2),
            ..shape(6, 4, 5, 2)
        };
        for arrangement in Arrangement::ALL {
            let kinds = GroupKinds::new(vec![kind(1, 5, &[2]), kind(2, 8, &[2, 1])]).unwrap();
            let d = DragonflyPlus::with_kinds(shape, kinds, arrangement).unwrap();
            let t = d.topology();
            sizes::assert_perfect_matching(t);
            assert_eq!(t.nodes(), 4 * (3 * 3 + 5 + 2 * 8));
            for group in 0..6 {
                let nodes = [3, 3, 3, 5, 8, 8][group as usize];
                for leaf in d.leaves(group) {
                    let own = (0..t.nodes()).filter(|&node| t.node_router(node) == leaf).count();
                    assert_eq!(own, nodes, "leaf {leaf}");
                    for spine in d.spines(group) {
                        d.local_ports(leaf, spine)
                            .for_each(|port| assert_eq!(t.neighbour(port), Some(spine)));
                    }
                }
                for to in (0..6).filter(|&to| to != group) {
                    let few = group.min(to) == 3 && group.max(to) > 3;
                    assert_eq!(d.gateways(group, to).len(), if few { 1 } else { 2 });
                }
            }
        }
    }

    #[test]
    fn failed_cables_are_left_out_until_none_remains() {
        let mut d = all().pop().unwrap();
        let (leaf, spine) = (d.leaves(1).start, d.spines(1).start);
        let fail = |a, b, index| Fault {
            routers: (a, b),
            index,
            effect: Effect::Failed,
        };
        let gateway = d.gateways(0, 1)[0];
        d.impair(&[
            fail(leaf, spine, Some(1)),
            fail(gateway.router, gateway.far_router, Some(0)),
        ])
        .unwrap();
        assert_eq!(d.check_ways(), Ok(()));
        assert_eq!(d.gateways(0, 1).len(), 1);
        d.impair(&[fail(leaf, spine, None)]).unwrap();
        assert!(d.check_ways().unwrap_err().contains("no cable is left"));
    }

    #[test]
    fn impossible_sizes_are_refused_with_the_bound() {
        let new = |shape| DragonflyPlus::new(shape, Arrangement::Relative).unwrap_err();
        assert!(new(shape(10, 4, 4, 2)).contains("enough for 0"));
        assert!(new(shape(0, 4, 4, 2)).contains("at least one"));
        assert!(new(shape(2, 1 << 20, 1, 1)).contains("4096"));
        assert!(new(shape(u32::MAX, 4, 4, 2)).contains("2^28"));
        let many = DragonflyPlusShape {
            cables: Some(3),
            ..shape(5, 4, 4, 2)
        };
        assert!(new(many).contains("enough for 2"));
    }
}

//! The dragonfly with two-dimensional groups: Cray XC (Cascade).
//!
//! G. Faanes, A. Bataineh, D. Roweth, T. Court, E. Froese, B. Alverson, T. Johnson, J. Kopnick, M. Higgins, J.
//! Reinhard, "Cray Cascade: a scalable HPC system based on a Dragonfly network", SC 2012: the routers of a group form a
//! grid. A row is a chassis: each pair of its routers has one cable (*green*, class local). Each pair of routers of a
//! column has several parallel cables (*black*, class column). Optical cables connect the groups (*blue*, class
//! global). A Cray XC group has 6 rows of 16 routers and 3 black cables per pair.
//!
//! Router `i` of a group is at row `i / columns` and column `i mod columns`. Routers may have different numbers of
//! nodes: routers with service nodes or burst buffers often have fewer.
//!
//! Ports of a router: its nodes; the row's other routers in ascending order; the column's other routers in ascending
//! order, all cables of a pair together; the global ports.
//!
//! The `n` cables per pair of groups come in bundles of `b`: cable `r` of bundle `q` in direction `d` (see
//! [`Arrangement`]) has the number `k = (q (g - 1) + d) b + r` in its group. The `K = (g - 1) n` numbers in use are
//! spread evenly over the group's `R` routers: `k` is at router `floor(k R / K)`. The remaining ports are free, about
//! equally many at every router.

use std::collections::BTreeSet;
use std::ops::Range;

use odonata_units::{Filled, Problem};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::settings::{self, Cables, ReadFile, Size};
use super::smaller;
use super::{FamilyGraph, FamilySettings, WorstCase};
use crate::gateways::{self, GatewaysByPart};
use crate::sizes::{self, cable};
use crate::{Arrangement, Fault, Gateway, LinkClass, Topology};

/// A dragonfly with two-dimensional groups: Cray XC (G. Faanes et al., "Cray Cascade", SC 2012). A row is a chassis
/// with cables of class local; cables of a column are of class column. A group of a Cray XC has 6 rows of 16 routers
/// and 3 cables between each pair of routers of a column. Router i of a group is at row i / columns, column i mod
/// columns. The three sizes without a default are required, here or in the preset.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, smart_default::SmartDefault)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "Dragonfly2d")]
pub struct Settings {
    /// Number of groups. Required.
    #[schemars(range(min = 1))]
    pub groups: Filled<u32>,
    /// Rows of a group.
    #[schemars(range(min = 1))]
    #[default = 6]
    pub rows: u32,
    /// Routers of a row.
    #[schemars(range(min = 1))]
    #[default = 16]
    pub columns: u32,
    /// Parallel cables between two routers of a column.
    #[schemars(range(min = 1))]
    #[default = 3]
    pub column_cables: u32,
    /// Nodes per router: compute nodes and storage servers together. Required.
    pub nodes_per_router: Filled<u32>,
    /// Routers of every group with another number of nodes. Default: none.
    pub exceptions: Vec<Exception>,
    /// Global ports per router. Required.
    pub global_ports_per_router: Filled<u32>,
    /// Assignment of a group's global ports to the other groups.
    pub arrangement: Arrangement,
    /// Cables between each pair of groups: a number, or "all" for as many whole bundles as the ports allow.
    #[schemars(extend("default" = "all"))]
    pub cables: Cables,
    /// Cables of a bundle, which use adjacent ports at both ends; divides `cables`.
    #[schemars(range(min = 1))]
    #[default = 1]
    pub bundle: u32,
}

/// A router of every group with an exceptional number of nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Exception {
    /// Its number in the group, from 0.
    pub router: u32,
    /// Its number of nodes; may be 0.
    pub nodes: u32,
}

impl FamilySettings for Settings {
    type Graph = Dragonfly2d;

    const EXAMPLES: &'static [&'static str] = &["groups = 4\n\
         rows = 2\n\
         columns = 3\n\
         column_cables = 2\n\
         nodes_per_router = 2\n\
         global_ports_per_router = 2\n\
         cables = 3\n\
         exceptions = [{ router = 1, nodes = 0 }, { router = 5, nodes = 3 }]"];

    fn resolve(&mut self, _: ReadFile<'_>) -> Result<Size, Problem> {
        let g = settings::required("groups", &self.groups, 1)?;
        let rows = settings::size("rows", self.rows, 1)?;
        let columns = settings::size("columns", self.columns, 1)?;
        let column_cables = settings::size("column_cables", self.column_cables, 1)?;
        let nodes = settings::required("nodes_per_router", &self.nodes_per_router, 0)?;
        let h = settings::required("global_ports_per_router", &self.global_ports_per_router, 0)?;
        let routers = u64::from(rows) * u64::from(columns);
        let mut most_nodes = nodes;
        let mut seen = BTreeSet::new();
        for (at, exception) in self.exceptions.iter().enumerate() {
            let key = |name: &str| format!("exceptions.{at}.{name}");
            if u64::from(exception.router) >= routers {
                let problem = format!("there is no router {} in a group", exception.router);
                return Err(Problem::new(key("router"), problem, format!("0 to {}", routers - 1)));
            }
            if !seen.insert(exception.router) {
                let problem = format!("router {} is listed twice", exception.router);
                return Err(Problem::new(key("router"), problem, "every router once"));
            }
            most_nodes = most_nodes.max(settings::size(&key("nodes"), exception.nodes, 0)?);
        }
        let ports = routers.saturating_mul(u64::from(h));
        let reach = format!("{rows} x {columns} routers with {h} global_ports_per_router reach {ports} other groups");
        settings::groups(g, ports, reach)?;
        let local = u64::from(columns - 1) + u64::from(rows - 1) * u64::from(column_cables);
        let per_router = u64::from(most_nodes) + local + u64::from(h);
        let size = settings::ports(u64::from(g).saturating_mul(routers), per_router)?;
        self.cables.resolve(g, ports)?;
        let bundle = settings::size("bundle", self.bundle, 1)?;
        if let Some(cables) = self.cables.count().filter(|cables| cables % bundle != 0) {
            let problem = format!("bundles of {bundle} do not divide {cables} cables");
            return Err(Problem::new(
                "bundle",
                problem,
                format!("a divisor of cables, {cables}"),
            ));
        }
        Ok(size)
    }

    fn build(&self) -> Result<Dragonfly2d, String> {
        let shape = Dragonfly2dShape {
            groups: *self.groups,
            rows: self.rows,
            columns: self.columns,
            column_cables: self.column_cables,
            global_ports: *self.global_ports_per_router,
            cables: self.cables.count(),
            bundle: self.bundle,
            nodes: *self.nodes_per_router,
            exceptions: self
                .exceptions
                .iter()
                .map(|other| (other.router, other.nodes))
                .collect(),
        };
        Dragonfly2d::new(shape, self.arrangement)
    }

    fn smaller(&self, _: bool) -> Option<(Self, String)> {
        let (rows, columns) = (self.rows.min(4), self.columns.min(5));
        let ports = rows * columns * *self.global_ports_per_router;
        let g = (*self.groups).min(5).min(ports + 1);
        let small = Settings {
            groups: g.into(),
            rows,
            columns,
            column_cables: self.column_cables.min(2),
            nodes_per_router: 1.into(),
            exceptions: Vec::new(),
            cables: smaller::cables(self.cables, g, ports),
            bundle: 1,
            ..self.clone()
        };
        Some((
            small,
            format!("dragonfly with {g} groups of {rows} x {columns} routers"),
        ))
    }

    fn link_classes() -> &'static [LinkClass] {
        &LinkClass::ALL
    }

    fn way_in_a_group(&self) -> Option<&'static [LinkClass]> {
        Some(match (self.rows, self.columns) {
            (1, _) => &[LinkClass::Local],
            (_, 1) => &[LinkClass::Column],
            _ => &[LinkClass::Local, LinkClass::Column],
        })
    }

    fn worst_case(&self) -> WorstCase {
        WorstCase::NextGroup
    }
}

/// The sizes of a dragonfly with two-dimensional groups.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dragonfly2dShape {
    /// Number of groups.
    pub groups: u32,
    /// Rows (chassis) of a group.
    pub rows: u32,
    /// Routers of a row.
    pub columns: u32,
    /// Parallel cables between two routers of a column; at least 1 with several rows.
    pub column_cables: u32,
    /// Global ports per router.
    pub global_ports: u32,
    /// Cables per pair of groups; `None` for as many whole bundles as the ports allow.
    pub cables: Option<u32>,
    /// Cables of a bundle: they have consecutive numbers at both ends. Divides `cables`.
    pub bundle: u32,
    /// Nodes per router.
    pub nodes: u32,
    /// Routers of every group with another number of nodes: (router of the group, nodes).
    pub exceptions: Vec<(u32, u32)>,
}

/// The position of a router.
#[derive(Clone, Copy, Debug)]
struct Place {
    group: u32,
    row: u32,
    column: u32,
    /// Its first port after the node ports.
    base: u32,
}

/// A dragonfly with two-dimensional groups.
#[derive(Clone, Debug)]
pub struct Dragonfly2d {
    shape: Dragonfly2dShape,
    cables: u32,
    topology: Topology,
    places: Vec<Place>,
    /// In the order of routers.
    by_row: GatewaysByPart,
    by_column: GatewaysByPart,
}

impl Dragonfly2d {
    /// Builds a dragonfly with two-dimensional groups.
    ///
    /// # Errors
    /// The impossible size and its bound.
    pub fn new(shape: Dragonfly2dShape, arrangement: Arrangement) -> Result<Self, String> {
        let (g, rows, columns) = (shape.groups, shape.rows, shape.columns);
        if g == 0 || rows == 0 || columns == 0 {
            return Err("a dragonfly needs at least one group of one row of one router".into());
        }
        let black = if rows > 1 { shape.column_cables } else { 0 };
        if rows > 1 && black == 0 {
            return Err(format!(
                "{rows} rows need at least one cable per pair of routers of a column"
            ));
        }
        let local = u64::from(columns - 1) + u64::from(rows - 1) * u64::from(black);
        let ports = local + u64::from(shape.global_ports);
        let routers = sizes::product([g, rows, columns]);
        sizes::check(routers, ports)?;
        let nodes = nodes_of_a_group(&shape)?;
        let most_nodes = nodes.iter().copied().max().unwrap_or(0);
        sizes::check(routers, ports + u64::from(most_nodes))?;
        let cables = cables_per_pair(&shape)?;

        let routers = rows * columns;
        let local = local as u32;
        let mut places = Vec::with_capacity((g * routers) as usize);
        let mut node_ports = Vec::new();
        let mut list = Vec::new();
        let mut next_port = 0;
        for router in 0..g * routers {
            let i = router % routers;
            let own = nodes[i as usize];
            places.push(Place {
                group: router / routers,
                row: i / columns,
                column: i % columns,
                base: next_port + own,
            });
            next_port += own + local + shape.global_ports;
            node_ports.extend((0..own).map(|node| (router, node)));
        }
        let port = |router: u32, offset: u32| (router, nodes[(router % routers) as usize] + offset);
        for router in 0..g * routers {
            let Place { row, column, .. } = places[router as usize];
            for to in column + 1..columns {
                let other = router + (to - column);
                list.push(cable(port(router, to - 1), port(other, column), LinkClass::Local));
            }
            for to in row + 1..rows {
                let other = router + (to - row) * columns;
                for lane in 0..black {
                    let a = port(router, columns - 1 + (to - 1) * black + lane);
                    let b = port(other, columns - 1 + row * black + lane);
                    list.push(cable(a, b, LinkClass::Column));
                }
            }
        }
        let used = u64::from(g - 1) * u64::from(cables);
        // The router and its global port for number k of group x.
        let place = |x: u32, k: u64| {
            let i = k * u64::from(routers) / used;
            let first = (i * used).div_ceil(u64::from(routers));
            port(x * routers + i as u32, local + (k - first) as u32)
        };
        for x in 0..g {
            for q in 0..cables / shape.bundle {
                for d in 0..g - 1 {
                    let (y, back) = arrangement.far_side(x, d, g);
                    for r in (0..shape.bundle).filter(|_| x < y) {
                        let number = |d| u64::from(q * (g - 1) + d) * u64::from(shape.bundle) + u64::from(r);
                        list.push(cable(place(x, number(d)), place(y, number(back)), LinkClass::Global));
                    }
                }
            }
        }
        let ports: Vec<u32> = (0..g * routers)
            .map(|router| nodes[(router % routers) as usize] + local + shape.global_ports)
            .collect();
        let topology =
            Topology::new(&ports, &node_ports, &list)?.with_blocks((0..=g).map(|group| group * routers).collect())?;
        let (by_row, by_column) = tables(&topology, &places, &shape);
        Ok(Dragonfly2d {
            shape,
            cables,
            topology,
            places,
            by_row,
            by_column,
        })
    }

    /// The graph. Its blocks are the groups.
    pub fn topology(&self) -> &Topology {
        &self.topology
    }

    /// The sizes of the machine.
    pub fn shape(&self) -> &Dragonfly2dShape {
        &self.shape
    }

    /// Cables per pair of groups.
    pub fn cables(&self) -> u32 {
        self.cables
    }

    /// Routers of a group.
    pub fn routers_of_a_group(&self) -> u32 {
        self.shape.rows * self.shape.columns
    }

    /// Checks that every packet has a path over row, column, global, row and column cables: one of the parallel cables
    /// must be left.
    ///
    /// # Errors
    /// The missing cable.
    pub fn check_ways(&self) -> Result<(), String> {
        let t = &self.topology;
        for &(port, far) in t.failed() {
            let (a, b) = (t.router_of_port(port), t.router_of_port(far));
            let (from, to) = (self.places[a as usize], self.places[b as usize]);
            let left = match t.class(port) {
                LinkClass::Global => continue,
                _ if from.row == to.row => 0,
                _ => t.live(self.column_ports(a, to.row)),
            };
            if left == 0 {
                return Err(format!(
                    "no cable is left between routers {a} and {b}: this routing has no other path inside the group"
                ));
            }
        }
        self.by_row.check()
    }

    /// The group of `router`.
    #[inline]
    pub fn group_of(&self, router: u32) -> u32 {
        self.places[router as usize].group
    }

    /// The row (chassis) of `router` in its group.
    #[inline]
    pub fn row_of(&self, router: u32) -> u32 {
        self.places[router as usize].row
    }

    /// The column of `router` in its group.
    #[inline]
    pub fn column_of(&self, router: u32) -> u32 {
        self.places[router as usize].column
    }

    /// The port of `router` to the router at another `column` of its row.
    #[inline]
    pub fn row_port(&self, router: u32, column: u32) -> u32 {
        let place = self.places[router as usize];
        place.base + column - u32::from(column > place.column)
    }

    /// The ports of `router` to the router at another `row` of its column: parallel cables, some of which may have
    /// [failed](Topology::live).
    #[inline]
    pub fn column_ports(&self, router: u32, row: u32) -> Range<u32> {
        let place = self.places[router as usize];
        let first = place.base + self.shape.columns - 1 + (row - u32::from(row > place.row)) * self.shape.column_cables;
        first..first + self.shape.column_cables
    }

    /// The cables from group `from` to another group `to`, in port order, without failed ones.
    #[inline]
    pub fn gateways(&self, from: u32, to: u32) -> &[Gateway] {
        self.by_row.between(from, to)
    }

    /// The [`gateways`](Self::gateways) to group `to` at `router`.
    #[inline]
    pub fn own_gateways(&self, router: u32, to: u32) -> &[Gateway] {
        gateways::at(router, self.row_gateways(router, to))
    }

    /// The gateways in the row of `router`, including its own.
    #[inline]
    pub fn row_gateways(&self, router: u32, to: u32) -> &[Gateway] {
        let place = self.places[router as usize];
        self.by_row
            .of_part(place.group, place.row, to, |router| self.row_of(router))
    }

    /// The gateways in the column of `router`, including its own.
    #[inline]
    pub fn column_gateways(&self, router: u32, to: u32) -> &[Gateway] {
        let place = self.places[router as usize];
        self.by_column
            .of_part(place.group, place.column, to, |router| self.column_of(router))
    }
}

impl FamilyGraph for Dragonfly2d {
    fn topology(&self) -> &Topology {
        &self.topology
    }

    fn topology_mut(&mut self) -> &mut Topology {
        &mut self.topology
    }

    fn impair(&mut self, faults: &[Fault]) -> Result<(), String> {
        self.topology.impair(faults)?;
        (self.by_row, self.by_column) = tables(&self.topology, &self.places, &self.shape);
        Ok(())
    }

    /// Cables between the two halves of the groups; with one group, between the halves of all rows.
    fn bisection(&self) -> Option<u64> {
        let halves = |n: u32| u64::from(n / 2) * u64::from(n - n / 2);
        Some(match self.shape.groups {
            1 => halves(self.shape.columns) * u64::from(self.shape.rows),
            g => halves(g) * u64::from(self.cables),
        })
    }
}

/// The number of nodes of each router of a group.
fn nodes_of_a_group(shape: &Dragonfly2dShape) -> Result<Vec<u32>, String> {
    let routers = sizes::product([shape.rows, shape.columns]);
    sizes::check_ports(routers)?;
    let mut nodes = vec![shape.nodes; routers as usize];
    let mut named = vec![false; routers as usize];
    for &(router, count) in &shape.exceptions {
        let Some(slot) = nodes.get_mut(router as usize) else {
            return Err(format!("no router {router} in a group of {routers}"));
        };
        *slot = count;
        if std::mem::replace(&mut named[router as usize], true) {
            return Err(format!("the nodes of router {router} of a group are given twice"));
        }
    }
    if nodes.iter().all(|&count| count == 0) {
        return Err("no router of a group has a node".into());
    }
    Ok(nodes)
}

/// Cables per pair of groups.
fn cables_per_pair(shape: &Dragonfly2dShape) -> Result<u32, String> {
    let (g, b) = (shape.groups, shape.bundle);
    if b == 0 {
        return Err("a bundle has at least one cable".into());
    }
    let ports = sizes::product([shape.rows, shape.columns, shape.global_ports]);
    let fit = if g > 1 {
        (ports / u64::from(g - 1)) as u32 / b * b
    } else {
        0
    };
    let wanted = shape.cables.unwrap_or(fit);
    if !wanted.is_multiple_of(b) {
        return Err(format!(
            "{wanted} cables per pair of groups are not a multiple of the bundle size {b}"
        ));
    }
    if wanted > fit || (wanted == 0 && g > 1) {
        return Err(format!(
            "{wanted} cables per pair of {g} groups: a group has {}·{}·{} = {ports} global ports, enough for {fit} in bundles of {b}",
            shape.rows, shape.columns, shape.global_ports
        ));
    }
    Ok(wanted)
}

/// The gateways by row and by column for a machine of this shape.
fn tables(topology: &Topology, places: &[Place], shape: &Dragonfly2dShape) -> (GatewaysByPart, GatewaysByPart) {
    let routers = shape.rows * shape.columns;
    let by = |parts, part: &dyn Fn(&Place) -> u32| {
        GatewaysByPart::new(topology, shape.groups, routers, parts, |router| {
            part(&places[router as usize])
        })
    };
    (
        by(shape.rows, &|place| place.row),
        by(shape.columns, &|place| place.column),
    )
}

#[cfg(test)]
mod tests;

//! The dragonfly with two-dimensional groups: Cray XC (Cascade).
//!
//! G. Faanes, A. Bataineh, D. Roweth, T. Court, E. Froese, B. Alverson, T. Johnson, J. Kopnick, M. Higgins, J. Reinhard,
//! "Cray Cascade: a scalable HPC system based on a Dragonfly network", SC 2012: the routers of a group form a grid. A
//! row is a chassis: its routers are all linked with each other by one cable (*green*, class local). The routers of a
//! column are all linked with each other by several parallel cables (*black*, class column). Groups are linked by
//! optical cables (*blue*, class global). A Cray XC group has 6 rows of 16 routers and 3 black cables per pair.
//!
//! Router `i` of a group is at row `i / columns` and column `i mod columns`. Routers may have different numbers of
//! nodes: a router whose nodes are service nodes or burst buffers often has fewer.
//!
//! Ports of a router: its nodes; the row's other routers in ascending order; the column's other routers in ascending
//! order, all cables of a pair together; the global ports.
//!
//! The `n` cables per pair of groups come in bundles of `b`: cable `r` of bundle `q` in
//! direction `d` (see [`Arrangement`]) has the number `k = (q (g - 1) + d) b + r` in its group. The `K = (g - 1) n`
//! numbers in use are spread evenly over the group's `R` routers: `k` is at router `floor(k R / K)`. Ports that are
//! left over stay free, about as many at every router.

use crate::gateways::Gateways;
use crate::sizes::{self, cable};
use crate::{Arrangement, Fault, Gateway, LinkClass, Topology};
use std::ops::Range;

/// The sizes of a dragonfly with two-dimensional groups.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dragonfly2dShape {
    /// Number of groups.
    pub groups: u32,
    /// Rows (chassis) of a group.
    pub rows: u32,
    /// Routers of a row.
    pub columns: u32,
    /// Parallel cables between two routers of a column; at least 1 where there are several rows.
    pub column_cables: u32,
    /// Global ports per router.
    pub global_ports: u32,
    /// Cables per pair of groups; `None`: as many whole bundles as the ports allow.
    pub cables: Option<u32>,
    /// Cables of a bundle: they have consecutive numbers at both ends. Divides `cables`.
    pub bundle: u32,
    /// Nodes per router.
    pub nodes: u32,
    /// Routers of every group with another number of nodes: (router of the group, its nodes).
    pub exceptions: Vec<(u32, u32)>,
}

/// Where a router is.
#[derive(Clone, Copy, Debug)]
struct Place {
    group: u32,
    row: u32,
    column: u32,
    /// Its first port behind those of its nodes.
    base: u32,
}

/// A dragonfly with two-dimensional groups.
#[derive(Clone, Debug)]
pub struct Dragonfly2d {
    shape: Dragonfly2dShape,
    cables: u32,
    topology: Topology,
    places: Vec<Place>,
    /// In the order of routers: those of a row are together.
    gateways: Gateways,
    /// In the order of columns.
    by_column: Gateways,
}

impl Dragonfly2d {
    /// Builds a dragonfly with two-dimensional groups.
    ///
    /// # Errors
    /// A text saying which size is impossible and what the bound is.
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
        // The router and the global port of it that number k of group x is at.
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
        let (gateways, by_column) = tables(&topology, &places, g, routers);
        Ok(Dragonfly2d {
            shape,
            cables,
            topology,
            places,
            gateways,
            by_column,
        })
    }

    /// The graph. Its blocks are the groups.
    pub fn topology(&self) -> &Topology {
        &self.topology
    }

    /// The sizes it was built from.
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

    /// Applies faults of cables; see [`Topology::impair`].
    ///
    /// # Errors
    /// See there.
    pub fn impair(&mut self, faults: &[Fault]) -> Result<(), String> {
        self.topology.impair(faults)?;
        let routers = self.routers_of_a_group();
        (self.gateways, self.by_column) = tables(&self.topology, &self.places, self.shape.groups, routers);
        Ok(())
    }

    /// Whether every packet can go by way of row, column, global, row, column: of parallel cables one has to be left.
    ///
    /// # Errors
    /// A text naming what is missing.
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
                    "no cable is left between routers {a} and {b}: inside a group there is no other way by this routing"
                ));
            }
        }
        self.gateways.check()
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

    /// The port of `router` towards the router at another `column` of its row.
    #[inline]
    pub fn row_port(&self, router: u32, column: u32) -> u32 {
        let place = self.places[router as usize];
        place.base + column - u32::from(column > place.column)
    }

    /// The ports of `router` towards the router at another `row` of its column: parallel cables, some of which may
    /// have [failed](Topology::live).
    #[inline]
    pub fn column_ports(&self, router: u32, row: u32) -> Range<u32> {
        let place = self.places[router as usize];
        let first = place.base + self.shape.columns - 1 + (row - u32::from(row > place.row)) * self.shape.column_cables;
        first..first + self.shape.column_cables
    }

    /// The cables from group `from` to another group `to`, in the order of their ports; failed ones are left out.
    #[inline]
    pub fn gateways(&self, from: u32, to: u32) -> &[Gateway] {
        self.gateways.between(from, to)
    }

    /// Those of the [`gateways`](Self::gateways) to group `to` that are at `router`.
    #[inline]
    pub fn own_gateways(&self, router: u32, to: u32) -> &[Gateway] {
        self.gateways.own(router, self.group_of(router), to)
    }

    /// Those that are in the row of `router`, itself included.
    #[inline]
    pub fn row_gateways(&self, router: u32, to: u32) -> &[Gateway] {
        let place = self.places[router as usize];
        let first = router - place.column;
        let all = self.gateways.between(place.group, to);
        let start = all.partition_point(|gateway| gateway.router < first);
        let rest = &all[start..];
        &rest[..rest.partition_point(|gateway| gateway.router < first + self.shape.columns)]
    }

    /// Those that are in the column of `router`, itself included.
    #[inline]
    pub fn column_gateways(&self, router: u32, to: u32) -> &[Gateway] {
        let place = self.places[router as usize];
        let all = self.by_column.between(place.group, to);
        let start = all.partition_point(|gateway| self.column_of(gateway.router) < place.column);
        let rest = &all[start..];
        &rest[..rest.partition_point(|gateway| self.column_of(gateway.router) == place.column)]
    }

    /// Cables between the first half of the groups and the rest; between the halves of all rows, if there is one group.
    pub fn bisection(&self) -> u64 {
        let halves = |n: u32| u64::from(n / 2) * u64::from(n - n / 2);
        match self.shape.groups {
            1 => halves(self.shape.columns) * u64::from(self.shape.rows),
            g => halves(g) * u64::from(self.cables),
        }
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
            "{wanted} cables per pair of groups are not whole bundles of {b}"
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

fn tables(topology: &Topology, places: &[Place], groups: u32, routers: u32) -> (Gateways, Gateways) {
    let gateways = Gateways::new(topology, groups, routers);
    let by_column = gateways
        .clone()
        .sorted_by_key(|gateway| places[gateway.router as usize].column);
    (gateways, by_column)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Effect, Peer};

    pub(super) fn shape(groups: u32, rows: u32, columns: u32, global_ports: u32) -> Dragonfly2dShape {
        Dragonfly2dShape {
            groups,
            rows,
            columns,
            column_cables: 3,
            global_ports,
            cables: None,
            bundle: 1,
            nodes: 2,
            exceptions: Vec::new(),
        }
    }

    /// 6 × 16 routers; 15 routers of a chassis with 4 nodes, one with 2.
    fn cori_like() -> Dragonfly2dShape {
        Dragonfly2dShape {
            cables: Some(12),
            bundle: 3,
            nodes: 4,
            exceptions: (0..6).map(|row| (16 * row + 15, 2)).collect(),
            ..shape(25, 6, 16, 4)
        }
    }

    fn all() -> Vec<Dragonfly2d> {
        let shapes = [
            shape(5, 2, 3, 2),
            shape(1, 3, 4, 0),
            shape(2, 1, 4, 1),
            Dragonfly2dShape {
                cables: Some(4),
                bundle: 2,
                column_cables: 1,
                exceptions: vec![(3, 0), (1, 5)],
                ..shape(4, 3, 3, 2)
            },
            Dragonfly2dShape {
                cables: Some(1),
                ..shape(13, 3, 4, 1)
            },
        ];
        let build =
            |shape: Dragonfly2dShape| Arrangement::ALL.map(|rule| Dragonfly2d::new(shape.clone(), rule).unwrap());
        shapes.into_iter().flat_map(build).collect()
    }

    #[test]
    fn cabling_is_a_perfect_matching() {
        all().iter().for_each(|d| sizes::assert_perfect_matching(d.topology()));
    }

    #[test]
    fn ports_lead_where_they_say() {
        for d in all() {
            let (t, s) = (d.topology(), d.shape());
            for router in 0..t.routers() {
                let at = |row, column| d.group_of(router) * s.rows * s.columns + row * s.columns + column;
                let (row, column) = (d.row_of(router), d.column_of(router));
                assert_eq!(router, at(row, column));
                for to in (0..s.columns).filter(|&to| to != column) {
                    let port = d.row_port(router, to);
                    assert_eq!(
                        (t.neighbour(port), t.class(port)),
                        (Some(at(row, to)), LinkClass::Local)
                    );
                }
                for to in (0..s.rows).filter(|&to| to != row) {
                    let ports = d.column_ports(router, to);
                    assert_eq!(ports.len() as u32, s.column_cables);
                    for port in ports {
                        assert_eq!(
                            (t.neighbour(port), t.class(port)),
                            (Some(at(to, column)), LinkClass::Column)
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn gateways_of_router_row_and_column_are_those_of_the_group_that_are_there() {
        for d in all() {
            let (t, s) = (d.topology(), d.shape());
            for router in 0..t.routers() {
                let from = d.group_of(router);
                for to in (0..s.groups).filter(|&to| to != from) {
                    let every = d.gateways(from, to);
                    assert_eq!(every.len() as u32, d.cables());
                    for gateway in every {
                        assert_eq!((d.group_of(gateway.router), d.group_of(gateway.far_router)), (from, to));
                        assert_eq!(t.neighbour(gateway.port), Some(gateway.far_router));
                        assert_eq!(t.router_of_port(gateway.port), gateway.router);
                    }
                    let those = |keep: &dyn Fn(u32) -> bool| -> Vec<Gateway> {
                        every.iter().copied().filter(|gateway| keep(gateway.router)).collect()
                    };
                    assert_eq!(d.own_gateways(router, to), those(&|other| other == router));
                    let same_row = |other| d.row_of(other) == d.row_of(router);
                    assert_eq!(d.row_gateways(router, to), those(&same_row));
                    let same_column = |other| d.column_of(other) == d.column_of(router);
                    assert_eq!(d.column_gateways(router, to), those(&same_column));
                }
            }
        }
    }

    /// Two cables in a group, one between groups, two in the other group: 5. With one group 2.
    #[test]
    fn the_diameter_is_five_with_one_cable_per_pair_of_groups() {
        for d in all() {
            let diameter = d.topology().diameter().routers;
            assert!(diameter <= 5);
            if d.cables() == 1 && d.shape().groups == 13 {
                assert_eq!(diameter, 5);
            }
            if d.shape().groups == 1 {
                assert_eq!(diameter, 2);
            }
        }
    }

    /// 25 groups × (90 · 4 + 6 · 2) nodes: 9,000 compute nodes and 300 burst buffers. 24 · 12 = 288 of 384 global
    /// ports of a group are used. Green: 6 · 16 · 15 / 2 per group, black: 16 · (6 · 5 / 2) · 3.
    #[test]
    fn a_machine_like_cori_has_its_nodes_and_96_free_ports_per_group() {
        for rule in Arrangement::ALL {
            let d = Dragonfly2d::new(cori_like(), rule).unwrap();
            let t = d.topology();
            let on = |last: bool| {
                (0..t.nodes())
                    .filter(|&n| (d.column_of(t.node_router(n)) == 15) == last)
                    .count()
            };
            assert_eq!((on(false), on(true)), (9_000, 300));
            assert_eq!(t.free_ports(), 25 * 96);
            let cables = t.cables_by_class();
            let [_, between_routers @ ..] = cables;
            let global = cables[LinkClass::Global as usize];
            assert_eq!(between_routers.iter().sum::<u64>() - global, 25 * (720 + 720));
            assert_eq!(cables[LinkClass::Global as usize], 12 * 25 * 24 / 2);
            let free = |router| t.ports_of(router).filter(|&port| t.peer(port) == Peer::Free).count();
            assert!((0..t.routers()).all(|router| free(router) == 1));
            assert_eq!(d.bisection(), 12 * 13 * 12);
        }
    }

    /// 57 groups: 90 routers with 4 compute nodes, 5 with 2 burst buffers, one with 4 LNET nodes. The last router of
    /// each chassis is one of the latter two kinds.
    #[test]
    fn a_machine_like_trinity_has_its_nodes() {
        let shape = Dragonfly2dShape {
            groups: 57,
            cables: Some(4),
            bundle: 1,
            exceptions: (0..5).map(|row| (16 * row + 15, 2)).collect(),
            ..cori_like()
        };
        let d = Dragonfly2d::new(shape, Arrangement::Circulant).unwrap();
        let t = d.topology();
        let count = |keep: &dyn Fn(u32) -> bool| (0..t.nodes()).filter(|&n| keep(t.node_router(n))).count();
        assert_eq!(count(&|router| d.column_of(router) != 15), 20_520);
        assert_eq!(count(&|router| d.column_of(router) == 15 && d.row_of(router) < 5), 570);
        assert_eq!(count(&|router| router % 96 == 95), 57 * 4);
    }

    #[test]
    fn failed_cables_are_left_out_until_none_remains() {
        let shape = shape(3, 2, 2, 2);
        let mut d = Dragonfly2d::new(shape, Arrangement::Absolute).unwrap();
        let first = d.gateways(0, 1)[0];
        let fail = |a, b, index| Fault {
            routers: (a, b),
            index,
            effect: Effect::Failed,
        };
        d.impair(&[fail(first.router, first.far_router, None), fail(0, 2, Some(0))])
            .unwrap();
        assert!(!d.gateways(0, 1).contains(&first));
        assert!(!d.column_gateways(first.router, 1).contains(&first));
        assert_eq!(d.topology().live(d.column_ports(0, 1)), 2);
        assert_eq!(d.check_ways(), Ok(()));
        d.impair(&[fail(0, 2, None)]).unwrap();
        assert!(d.check_ways().unwrap_err().contains("routers 0 and 2"));
        let mut row = Dragonfly2d::new(d.shape().clone(), Arrangement::Absolute).unwrap();
        row.impair(&[fail(0, 1, None)]).unwrap();
        assert!(row.check_ways().unwrap_err().contains("routers 0 and 1"));
    }

    #[test]
    fn impossible_sizes_are_refused_with_the_bound() {
        let new = |shape| Dragonfly2d::new(shape, Arrangement::Relative).unwrap_err();
        let base = || shape(3, 2, 2, 2);
        assert!(
            new(Dragonfly2dShape {
                cables: Some(5),
                ..base()
            })
            .contains("enough for 4")
        );
        assert!(
            new(Dragonfly2dShape {
                cables: Some(0),
                ..base()
            })
            .contains("0 cables")
        );
        assert!(
            new(Dragonfly2dShape {
                cables: Some(3),
                bundle: 2,
                ..base()
            })
            .contains("bundles of 2")
        );
        assert!(new(Dragonfly2dShape { bundle: 0, ..base() }).contains("bundle"));
        assert!(new(Dragonfly2dShape { groups: 10, ..base() }).contains("enough for 0"));
        assert!(
            new(Dragonfly2dShape {
                exceptions: vec![(4, 1)],
                ..base()
            })
            .contains("no router 4")
        );
        assert!(
            new(Dragonfly2dShape {
                exceptions: vec![(1, 1), (1, 2)],
                ..base()
            })
            .contains("twice")
        );
        assert!(new(Dragonfly2dShape { nodes: 0, ..base() }).contains("no router"));
        assert!(
            new(Dragonfly2dShape {
                column_cables: 0,
                ..base()
            })
            .contains("column")
        );
        assert!(
            new(Dragonfly2dShape {
                rows: u32::MAX,
                columns: u32::MAX,
                ..base()
            })
            .contains("4096")
        );
        assert!(
            new(Dragonfly2dShape {
                column_cables: u32::MAX,
                ..base()
            })
            .contains("4096")
        );
        assert!(
            new(Dragonfly2dShape {
                groups: u32::MAX,
                ..base()
            })
            .contains("2^28")
        );
    }
}

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
    let build = |shape: Dragonfly2dShape| Arrangement::ALL.map(|rule| Dragonfly2d::new(shape.clone(), rule).unwrap());
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
    // With a table, and with a search if there are fewer cables than table entries.
    let searched = all().iter().filter(|d| d.by_column.is_searched()).count();
    assert!(0 < searched && searched < all().len(), "{searched}");
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

/// Two cables in a group, one between groups, two in the other group: 5. A single group: 2.
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
        assert_eq!(d.bisection(), Some(12 * 13 * 12));
    }
}

/// 57 groups: 90 routers with 4 compute nodes, 5 with 2 burst buffers, one with 4 LNET nodes. The last router of each
/// chassis is of one of the latter kinds.
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
        .contains("not a multiple of the bundle size 2")
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

//! Torus and mesh.

use super::paths::{assert_cyclic_on_one_level, assert_safe, assert_shortest, dependencies, ends, longest, walk};
use odonata_network::deadlock::outcomes;
use odonata_network::routing::{Header, Routing, Ties, TorusAlgorithm, TorusRouting};
use odonata_topology::{Effect, FamilyGraph, Fault, LinkClass, Torus, TorusShape};
use std::collections::HashSet;

pub(crate) fn torus(extents: &[u32], wrap: bool) -> Torus {
    let extents = extents.to_vec();
    Torus::new(TorusShape {
        extents,
        wrap,
        nodes: 2,
    })
    .unwrap()
}

pub(crate) fn on_torus(extents: &[u32], wrap: bool, algorithm: TorusAlgorithm) -> Routing {
    Routing::Torus(TorusRouting::new(torus(extents, wrap), algorithm).unwrap())
}

const TORI: [&[u32]; 6] = [&[4, 4], &[5, 3], &[8], &[2, 3, 2], &[6, 2], &[4, 1, 3]];

#[test]
fn torus_packets_take_shortest_paths_or_two_of_them() {
    for extents in TORI {
        for wrap in [true, false] {
            assert_shortest(&on_torus(extents, wrap, TorusAlgorithm::DimensionOrder));
            assert_shortest(&on_torus(extents, wrap, TorusAlgorithm::MinimalAdaptive));
            assert_shortest(&on_torus(extents, wrap, TorusAlgorithm::Romm));
            let diameter = torus(extents, wrap).topology().diameter().routers;
            let valiant = longest(&on_torus(extents, wrap, TorusAlgorithm::Valiant));
            assert_eq!(valiant, 2 * diameter, "{extents:?} {wrap}");
        }
        assert_shortest(&on_torus(extents, true, TorusAlgorithm::Bubble));
    }
}

#[test]
fn torus_levels_are_those_of_the_table() {
    for (wrap, table) in [(true, [2, 4, 4, 3]), (false, [1, 2, 2, 2])] {
        let algorithms = [
            TorusAlgorithm::DimensionOrder,
            TorusAlgorithm::Valiant,
            TorusAlgorithm::Romm,
            TorusAlgorithm::MinimalAdaptive,
        ];
        for (algorithm, levels) in algorithms.into_iter().zip(table) {
            for extents in TORI {
                let routing = on_torus(extents, wrap, algorithm);
                assert_eq!(routing.virtual_channels(), [1, levels, 0, 0]);
                assert_safe(&routing, &format!("{extents:?} {wrap} {algorithm:?}"));
            }
        }
    }
}

/// In open dimensions of a torus packets take the only direction, on the levels that the torus has.
#[test]
fn open_dimensions_are_crossed_in_one_direction() {
    for (extents, open) in [
        (&[4u32, 2, 3][..], &[1u32][..]),
        (&[3, 2, 3, 2], &[1, 3]),
        (&[5, 4], &[0]),
    ] {
        for algorithm in [
            TorusAlgorithm::DimensionOrder,
            TorusAlgorithm::Bubble,
            TorusAlgorithm::Romm,
            TorusAlgorithm::MinimalAdaptive,
            TorusAlgorithm::Valiant,
        ] {
            let shape = TorusShape {
                extents: extents.to_vec(),
                wrap: true,
                nodes: 1,
            };
            let torus = Torus::with_open(shape, open).unwrap();
            let routing = Routing::Torus(TorusRouting::new(torus, algorithm).unwrap());
            let context = format!("{extents:?} {open:?} {algorithm:?}");
            if algorithm != TorusAlgorithm::Valiant {
                assert_shortest(&routing);
            }
            assert_safe(&routing, &context);
        }
    }
}

#[test]
fn torus_without_datelines_deadlocks() {
    assert_cyclic_on_one_level(
        &on_torus(&[4, 4], true, TorusAlgorithm::DimensionOrder),
        "dimension order",
    );
    assert_cyclic_on_one_level(&on_torus(&[5], true, TorusAlgorithm::DimensionOrder), "ring");
    assert_cyclic_on_one_level(&on_torus(&[4, 3], false, TorusAlgorithm::Valiant), "Valiant on a mesh");
    assert_cyclic_on_one_level(&on_torus(&[4, 3], false, TorusAlgorithm::Romm), "ROMM on a mesh");
    // Phases without datelines: level mod 2 keeps the dateline and drops the phase.
    for algorithm in [TorusAlgorithm::Valiant, TorusAlgorithm::Romm] {
        let phases = on_torus(&[4, 4], true, algorithm);
        assert!(dependencies(&phases, |decision| decision.level % 2).cycle().is_some());
    }
}

/// The box of a packet that goes d_i steps in dimension i has Π (d_i + 1) routers; between two equally near sides, one
/// is drawn.
#[test]
fn romm_goes_over_every_router_on_the_shortest_paths() {
    for (extents, wrap) in [
        (&[5u32, 4][..], false),
        (&[5, 7], true),
        (&[4, 6], true),
        (&[3, 1, 4], true),
    ] {
        let routing = on_torus(extents, wrap, TorusAlgorithm::Romm);
        let t = routing.topology();
        let distances: Vec<Vec<u32>> = (0..t.routers()).map(|router| t.distances(router)).collect();
        for source in 0..t.routers() {
            for home in 0..t.routers() {
                let mut over = HashSet::new();
                let target = home * 2;
                outcomes(&routing, source, Header::new(target), |_, header| {
                    over.insert(header.via);
                });
                let on_the_way = |via: &u32| {
                    let via = *via as usize;
                    distances[source as usize][via] + distances[via][home as usize]
                        == distances[source as usize][home as usize]
                };
                let expected: HashSet<u32> = (0..t.routers()).filter(on_the_way).collect();
                assert_eq!(over, expected, "{extents:?} {wrap}: {source} to {home}");
            }
        }
    }
}

#[test]
fn bubbles_are_required_only_on_entering_a_ring() {
    for extents in TORI {
        let routing = on_torus(extents, true, TorusAlgorithm::Bubble);
        assert_safe(&routing, &format!("{extents:?}"));
        let t = routing.topology();
        let ends = ends(t);
        let sources: Vec<u32> = ends.iter().map(|end| end.0).collect();
        for &(_, node) in &ends {
            walk(&routing, &sources, node, |held, decision| {
                let between = t.class(decision.port) != LinkClass::Terminal;
                let ring = |port| routing.ring(port);
                let entering = between && held.map(|(port, _)| ring(port)) != Some(ring(decision.port));
                assert_eq!(decision.spare, entering);
            });
        }
        // If packets leave no bubble, a ring of three or more may be full.
        if extents.iter().any(|&extent| extent > 3) {
            assert!(dependencies(&routing, |_| 0).cycle().is_some(), "{extents:?}");
        }
    }
    let mesh = TorusRouting::new(torus(&[4, 4], false), TorusAlgorithm::Bubble);
    assert!(mesh.unwrap_err().contains("mesh"));
}

/// From (0, 0) to the opposite corner of 4 × 4: both directions are equally long in both dimensions.
#[test]
fn ties_are_drawn_by_dimension_order_and_go_to_minus_on_the_adaptive_channel() {
    let port = |dimension, plus| torus(&[4, 4], true).port(0, dimension, plus);
    let drawn = HashSet::from([port(0, false), port(0, true)]);
    let minus = HashSet::from([port(0, false), port(1, false)]);
    for (algorithm, on_the_adaptive_channel) in [
        (TorusAlgorithm::DimensionOrder, HashSet::new()),
        (TorusAlgorithm::MinimalAdaptive, minus),
    ] {
        let routing = on_torus(&[4, 4], true, algorithm);
        let (mut adaptive, mut ordered) = (HashSet::new(), HashSet::new());
        outcomes(&routing, 0, Header::new(2 * 10), |decision, _| {
            let ports = if decision.retry { &mut adaptive } else { &mut ordered };
            ports.insert(decision.port);
        });
        assert_eq!((adaptive, ordered), (on_the_adaptive_channel, drawn.clone()));
    }
}

#[test]
fn packets_on_the_escape_level_stay_there() {
    let routing = on_torus(&[4, 4], true, TorusAlgorithm::MinimalAdaptive);
    let ends = ends(routing.topology());
    let sources: Vec<u32> = ends.iter().map(|end| end.0).collect();
    let mut adaptive = 0;
    for &(_, node) in &ends {
        walk(&routing, &sources, node, |held, decision| {
            let between = routing.topology().class(decision.port) != LinkClass::Terminal;
            assert_eq!(decision.retry, between && decision.level == 2);
            adaptive += u32::from(decision.retry);
            if let Some((_, level)) = held.filter(|_| between) {
                assert!(level == 2 || decision.level < 2);
            }
        });
    }
    assert!(adaptive > 0);
}

#[test]
fn algorithms_that_need_every_cable_refuse_failed_ones() {
    let fault = Fault {
        routers: (0, 1),
        index: None,
        effect: Effect::Failed,
    };
    let mut ring = torus(&[4], true);
    ring.impair(&[fault]).unwrap();
    let error = TorusRouting::new(ring, TorusAlgorithm::DimensionOrder).unwrap_err();
    assert!(
        error.contains("routers 0 and 1") && error.contains("up*/down*"),
        "{error}"
    );
}

/// Half way around a ring both directions are equally long. With ties = "first" or "source-parity" all packets of a
/// pair take one of them, and n or n / 2 of the n routers of a ring send their packets to the opposite one in the plus
/// direction. With random ties, a pair uses both.
#[test]
fn a_tie_is_one_way_unless_it_is_drawn() {
    for extents in [&[4u32][..], &[6], &[4, 4, 2], &[8, 2]] {
        for algorithm in [TorusAlgorithm::DimensionOrder, TorusAlgorithm::Bubble] {
            for (ties, plus_of) in [
                (Ties::Random, None),
                (Ties::First, Some(1)),
                (Ties::SourceParity, Some(2)),
            ] {
                let routing = TorusRouting::new(torus(extents, true), algorithm)
                    .unwrap()
                    .with_ties(ties);
                let routing = Routing::Torus(routing);
                assert_shortest(&routing);
                assert_safe(&routing, &format!("{extents:?} {algorithm:?} {ties:?}"));
                let t = routing.topology();
                let mut plus = 0;
                for source in 0..extents[0] {
                    let opposite = (source + extents[0] / 2) % extents[0];
                    let mut ports = HashSet::new();
                    outcomes(&routing, source, Header::new(opposite * 2), |decision, _| {
                        ports.insert(t.neighbour(decision.port).unwrap());
                    });
                    assert_eq!(ports.len(), if plus_of.is_some() { 1 } else { 2 });
                    plus += u32::from(ports.contains(&((source + 1) % extents[0])));
                }
                if let Some(of) = plus_of {
                    assert_eq!(plus, extents[0] / of, "{extents:?} {ties:?}");
                }
            }
        }
    }
}

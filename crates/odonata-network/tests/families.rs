//! Routing on every family of networks, on small instances and for all outcomes of its choices: every packet arrives
//! within the stated number of cables, minimal ones by a shortest path; the dependencies of the channels have no cycle,
//! and have one where levels are taken away.

mod common;

use common::{CYCLE, FLIT, Net, Play, finish, message, named, shape};
use odonata_engine::Time;
use odonata_network::Blueprint;
use odonata_network::deadlock::{Graph, check, outcomes};
use odonata_network::routing::{
    Algorithm, Decision, Divert, Dragonfly2dRouting, DragonflyPlusAlgorithm, DragonflyPlusRouting, DragonflyRouting,
    FatTreeAlgorithm, FatTreeRouting, Header, HyperXAlgorithm, HyperXRouting, Intermediate, Routing, SlimFlyAlgorithm,
    SlimFlyRouting, TorusAlgorithm, TorusRouting, UpDownRouting, VcRule,
};
use odonata_topology::{
    Arrangement, Dragonfly, Dragonfly2d, Dragonfly2dShape, DragonflyPlus, DragonflyPlusShape, DragonflyShape, Effect,
    FatTree, FatTreeShape, Fault, GraphFile, HyperX, HyperXShape, LinkClass, Peer, SlimFly, SlimFlyShape, Topology,
    Torus, TorusShape,
};
use std::collections::HashSet;

/// One (router, node) per router with nodes.
fn ends(topology: &Topology) -> Vec<(u32, u32)> {
    let mut ends: Vec<(u32, u32)> = (0..topology.nodes())
        .map(|node| (topology.node_router(node), node))
        .collect();
    ends.dedup_by_key(|end| end.0);
    ends
}

/// Follows all outcomes from `sources` to `target`; the fewest and the most cables between routers. `visit` sees the
/// channel that is held, if any, and the decision.
fn walk(
    routing: &Routing,
    sources: &[u32],
    target: u32,
    mut visit: impl FnMut(Option<(u32, u8)>, &Decision),
) -> (u32, u32) {
    let topology = routing.topology();
    type State = (u32, Option<(u32, u8)>, Header);
    let mut states: Vec<State> = sources
        .iter()
        .map(|&router| (router, None, Header::new(target)))
        .collect();
    let (mut fewest, mut links) = (None, 0);
    let mut checked = HashSet::new();
    loop {
        let mut next: Vec<State> = Vec::new();
        let mut seen: HashSet<State> = HashSet::new();
        for (router, held, before) in std::mem::take(&mut states) {
            let mut again = HashSet::new();
            outcomes(routing, router, before, |decision, header| {
                visit(held, &decision);
                if decision.retry {
                    again.insert(header);
                }
                assert_eq!(topology.router_of_port(decision.port), router);
                match topology.peer(decision.port) {
                    Peer::Node(node) => {
                        assert_eq!(node, target);
                        fewest.get_or_insert(links);
                    }
                    Peer::Router { router, .. } => {
                        let state = (router, Some((decision.port, decision.level)), header);
                        if seen.insert(state) {
                            next.push(state);
                        }
                    }
                    Peer::Free => panic!("a packet for node {target} goes to a free port of router {router}"),
                }
            });
            again.remove(&before);
            if !again.is_empty() && checked.insert((router, before)) {
                let expected = ways(routing, router, before);
                assert!(
                    again
                        .into_iter()
                        .all(|header| ways(routing, router, header) == expected)
                );
            }
        }
        if next.is_empty() {
            return (fewest.unwrap_or(0), links);
        }
        links += 1;
        assert!(links <= 64, "a packet for node {target} does not arrive");
        states = next;
    }
}

/// All outcomes of the decision upon a packet: one that finds no room may be decided upon again.
fn ways(routing: &Routing, router: u32, header: Header) -> HashSet<(Decision, Header)> {
    let mut ways = HashSet::new();
    outcomes(routing, router, header, |decision, header| {
        ways.insert((decision, header));
    });
    ways
}

/// The most cables of any packet.
fn longest(routing: &Routing) -> u32 {
    let ends = ends(routing.topology());
    let sources: Vec<u32> = ends.iter().map(|end| end.0).collect();
    ends.iter()
        .map(|&(_, node)| walk(routing, &sources, node, |_, _| {}).1)
        .max()
        .unwrap_or(0)
}

/// Every packet takes as many cables as `distance` says.
fn assert_lengths(routing: &Routing, distance: impl Fn(u32, u32) -> u32) {
    let ends = ends(routing.topology());
    for &(source, _) in &ends {
        for &(home, node) in &ends {
            let expected = distance(source, home);
            assert_eq!(
                walk(routing, &[source], node, |_, _| {}),
                (expected, expected),
                "{source} to {home}"
            );
        }
    }
}

/// Every packet takes a shortest path.
fn assert_shortest(routing: &Routing) {
    let topology = routing.topology();
    let distances: Vec<Vec<u32>> = (0..topology.routers())
        .map(|router| topology.distances(router))
        .collect();
    assert_lengths(routing, |source, home| distances[source as usize][home as usize]);
}

/// No cycle, and exactly the declared levels are used.
fn assert_safe(routing: &Routing, context: &str) {
    let proof = check(routing);
    assert_eq!(proof.cycle, None, "{context}");
    assert_eq!(proof.used, routing.virtual_channels(), "{context}");
}

/// The dependencies if `level` replaces the level of every decision.
fn dependencies(routing: &Routing, level: impl Fn(&Decision) -> u8) -> Graph {
    let ends = ends(routing.topology());
    let sources: Vec<u32> = ends.iter().map(|end| end.0).collect();
    let mut graph = Graph::default();
    // Held channels are those of the real levels: the levels are forced on both sides.
    for &(_, node) in &ends {
        walk(routing, &sources, node, |held, decision| {
            if let Some((port, real)) = held.filter(|_| !decision.retry) {
                let held = Decision::new(port, real);
                graph.depend((port, level(&held)), (decision.port, level(decision)));
            }
        });
    }
    graph
}

fn assert_cyclic_on_one_level(routing: &Routing, context: &str) {
    assert!(
        dependencies(routing, |decision| decision.level).cycle().is_none(),
        "{context}"
    );
    assert!(
        dependencies(routing, |_| 0)
            .cycle()
            .is_some_and(|cycle| cycle.len() > 1),
        "{context}"
    );
}

fn torus(extents: &[u32], wrap: bool) -> Torus {
    let extents = extents.to_vec();
    Torus::new(TorusShape {
        extents,
        wrap,
        nodes: 2,
    })
    .unwrap()
}

fn on_torus(extents: &[u32], wrap: bool, algorithm: TorusAlgorithm) -> Routing {
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

/// The box of a packet that goes d_i steps in dimension i has Π (d_i + 1) routers; of two sides as near, one is drawn.
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
fn bubbles_are_wanted_on_entering_a_ring_and_only_then() {
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
        // If nobody leaves room, a ring of three or more may be full.
        if extents.iter().any(|&extent| extent > 3) {
            assert!(dependencies(&routing, |_| 0).cycle().is_some(), "{extents:?}");
        }
    }
    let mesh = TorusRouting::new(torus(&[4, 4], false), TorusAlgorithm::Bubble);
    assert!(mesh.unwrap_err().contains("mesh"));
}

/// From (0, 0) to the opposite corner of 4 × 4: both ways are as long in both dimensions.
#[test]
fn ties_are_drawn_by_dimension_order_and_go_to_minus_by_minimal_adaptive() {
    for (algorithm, expected) in [
        (TorusAlgorithm::DimensionOrder, 2),
        (TorusAlgorithm::MinimalAdaptive, 2),
    ] {
        let routing = on_torus(&[4, 4], true, algorithm);
        let mut ports = HashSet::new();
        outcomes(&routing, 0, Header::new(2 * 10), |decision, _| {
            ports.insert(decision.port);
        });
        assert_eq!(ports.len(), expected);
        let minus = torus(&[4, 4], true).port(0, 1, false);
        assert_eq!(ports.contains(&minus), algorithm == TorusAlgorithm::MinimalAdaptive);
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

const TREES: [FatTreeAlgorithm; 3] = [
    FatTreeAlgorithm::Random,
    FatTreeAlgorithm::DModK,
    FatTreeAlgorithm::Adaptive,
];

fn trees() -> Vec<FatTree> {
    let general = FatTreeShape {
        down: vec![2, 3, 2],
        up: vec![1, 2, 3],
        parallel: vec![1, 2, 1],
    };
    vec![
        FatTree::new(FatTreeShape::k_ary(2, 3)).unwrap(),
        FatTree::new(FatTreeShape::k_ary(3, 2)).unwrap(),
        FatTree::new(FatTreeShape::k_ary(4, 1)).unwrap(),
        FatTree::new(general).unwrap(),
    ]
}

#[test]
fn fat_tree_packets_take_shortest_paths_on_one_level() {
    for tree in trees() {
        for algorithm in TREES {
            let routing = Routing::FatTree(FatTreeRouting::new(tree.clone(), algorithm).unwrap());
            assert_shortest(&routing);
            assert_safe(&routing, &format!("{:?} {algorithm:?}", tree.shape()));
        }
    }
}

/// Random and adaptive offer every cable up; D-mod-k one, and nodes of different last digits different ones.
#[test]
fn ways_up_are_shared_out() {
    let tree = FatTree::new(FatTreeShape::k_ary(3, 3)).unwrap();
    for algorithm in TREES {
        let routing = Routing::FatTree(FatTreeRouting::new(tree.clone(), algorithm).unwrap());
        let ports = |node: u32| {
            let mut ports = HashSet::new();
            outcomes(&routing, 0, Header::new(node), |decision, _| {
                ports.insert(decision.port);
            });
            ports
        };
        let single = algorithm == FatTreeAlgorithm::DModK;
        assert_eq!(ports(26).len(), if single { 1 } else { 3 });
        if single {
            let all: HashSet<u32> = (24..27).flat_map(ports).collect();
            assert_eq!(all.len(), 3);
            // floor(D / 1) mod 3 at level 1.
            assert_eq!(ports(25), HashSet::from([tree.up_ports(0, 1).start]));
        }
    }
}

#[test]
fn fat_tree_packets_avoid_failed_cables() {
    for algorithm in TREES {
        let mut tree = FatTree::new(FatTreeShape::k_ary(3, 3)).unwrap();
        let parent = tree.topology().neighbour(tree.up_ports(0, 1).start).unwrap();
        let fault = Fault {
            routers: (0, parent),
            index: None,
            effect: Effect::Failed,
        };
        tree.impair(&[fault]).unwrap();
        let routing = Routing::FatTree(FatTreeRouting::new(tree, algorithm).unwrap());
        assert_shortest(&routing);
        assert_safe(&routing, "with a failed cable");
    }
}

fn hyperx(extents: &[u32], cables: &[u32]) -> HyperX {
    let shape = HyperXShape {
        extents: extents.to_vec(),
        cables: cables.to_vec(),
        nodes: 2,
    };
    HyperX::new(shape).unwrap()
}

fn on_hyperx(hyperx: HyperX, algorithm: HyperXAlgorithm) -> Routing {
    Routing::HyperX(HyperXRouting::new(hyperx, algorithm, 2).unwrap())
}

#[test]
fn hyperx_packets_arrive_within_one_or_two_cables_per_dimension() {
    for (extents, cables) in [
        (vec![4, 4], vec![1, 1]),
        (vec![3, 3, 3], vec![1, 2, 1]),
        (vec![5], vec![2]),
    ] {
        let x = hyperx(&extents, &cables);
        let dimensions = x.dimensions();
        assert_shortest(&on_hyperx(x.clone(), HyperXAlgorithm::Minimal));
        for (algorithm, most, levels) in [
            (HyperXAlgorithm::Minimal, dimensions, 1),
            (HyperXAlgorithm::Valiant, 2 * dimensions, 2),
            (HyperXAlgorithm::Ugal, 2 * dimensions, 2),
            (HyperXAlgorithm::Dal, 2 * dimensions, 2),
        ] {
            let routing = on_hyperx(x.clone(), algorithm);
            let context = format!("{extents:?} {algorithm:?}");
            assert_eq!(longest(&routing), most, "{context}");
            let global = if dimensions > 1 { levels } else { 0 };
            assert_eq!(routing.virtual_channels(), [1, levels, global, 0]);
            assert_safe(&routing, &context);
        }
    }
    let valiant = on_hyperx(hyperx(&[3, 3], &[1, 1]), HyperXAlgorithm::Valiant);
    assert_cyclic_on_one_level(&valiant, "Valiant without phases");
}

/// A third of the cables of a pair is enough.
#[test]
fn hyperx_packets_avoid_failed_cables() {
    let mut x = hyperx(&[3, 3], &[3, 1]);
    let fault = |index| Fault {
        routers: (0, 1),
        index: Some(index),
        effect: Effect::Failed,
    };
    x.impair(&[fault(0), fault(2)]).unwrap();
    for algorithm in [HyperXAlgorithm::Minimal, HyperXAlgorithm::Ugal, HyperXAlgorithm::Dal] {
        longest(&on_hyperx(x.clone(), algorithm));
    }
    x.impair(&[Fault {
        index: None,
        ..fault(0)
    }])
    .unwrap();
    assert!(HyperXRouting::new(x, HyperXAlgorithm::Minimal, 1).is_err());
}

#[test]
fn slim_fly_packets_arrive_within_two_or_four_cables() {
    for q in [3, 4, 5] {
        for (algorithm, most) in [
            (SlimFlyAlgorithm::Minimal, 2),
            (SlimFlyAlgorithm::Valiant, 4),
            (SlimFlyAlgorithm::Ugal, 4),
        ] {
            let fly = SlimFly::new(SlimFlyShape { q, nodes: Some(1) }).unwrap();
            let routing = Routing::SlimFly(SlimFlyRouting::new(fly, algorithm, 2).unwrap());
            let context = format!("q = {q} {algorithm:?}");
            assert_eq!(routing.virtual_channels(), [1, most, most, 0]);
            if algorithm == SlimFlyAlgorithm::Minimal {
                assert_shortest(&routing);
            }
            assert_safe(&routing, &context);
            if q < 5 {
                assert_eq!(longest(&routing), u32::from(most), "{context}");
                assert_cyclic_on_one_level(&routing, &context);
            }
        }
    }
}

fn plus_shape(groups: u32) -> DragonflyPlusShape {
    DragonflyPlusShape {
        groups,
        leaves: 2,
        spines: 2,
        nodes: 1,
        local_cables: 1,
        global_ports: 2,
        cables: None,
    }
}

fn on_plus(shape: DragonflyPlusShape, algorithm: DragonflyPlusAlgorithm) -> Routing {
    let plus = DragonflyPlus::new(shape, Arrangement::Absolute).unwrap();
    Routing::DragonflyPlus(DragonflyPlusRouting::new(plus, algorithm, 2).unwrap())
}

const PLUS: [DragonflyPlusAlgorithm; 4] = [
    DragonflyPlusAlgorithm::Minimal,
    DragonflyPlusAlgorithm::Valiant,
    DragonflyPlusAlgorithm::Ugal,
    DragonflyPlusAlgorithm::ProgressiveAdaptive,
];

#[test]
fn dragonfly_plus_packets_arrive_within_three_or_six_cables() {
    for groups in [1, 2, 3, 5] {
        for algorithm in PLUS {
            let wide = DragonflyPlusShape {
                local_cables: 2,
                ..plus_shape(groups)
            };
            for shape in [plus_shape(groups), wide] {
                let routing = on_plus(shape, algorithm);
                let context = format!("{shape:?} {algorithm:?}");
                let minimal = algorithm == DragonflyPlusAlgorithm::Minimal || groups < 3;
                if minimal {
                    assert_shortest(&routing);
                }
                let most = match groups {
                    1 => 2,
                    2 => 3,
                    _ if minimal => 3,
                    // Two cables per pair of groups: every spine has one to every group.
                    3 => 4,
                    _ => 6,
                };
                assert_eq!(longest(&routing), most, "{context}");
                // With every spine linked to every group nobody goes down between.
                if groups == 3 && !minimal {
                    assert_eq!(check(&routing).cycle, None);
                } else {
                    assert_safe(&routing, &context);
                }
            }
        }
    }
    assert_cyclic_on_one_level(&on_plus(plus_shape(5), DragonflyPlusAlgorithm::Valiant), "Valiant");
}

fn two_shape(groups: u32, cables: u32, bundle: u32) -> Dragonfly2dShape {
    Dragonfly2dShape {
        groups,
        rows: 2,
        columns: 3,
        column_cables: 2,
        global_ports: 2,
        cables: Some(cables),
        bundle,
        nodes: 1,
        exceptions: vec![(4, 2)],
    }
}

fn on_two(shape: Dragonfly2dShape, algorithm: Algorithm, intermediate: Intermediate) -> Routing {
    let dragonfly = Dragonfly2d::new(shape, Arrangement::Circulant).unwrap();
    Routing::Dragonfly2d(Dragonfly2dRouting::new(dragonfly, algorithm, intermediate, 2).unwrap())
}

/// Levels of rows and columns, of global cables, and cables of the longest path.
const TWO: [(Algorithm, Intermediate, u8, u8, u32); 7] = [
    (Algorithm::Minimal, Intermediate::Group, 2, 1, 5),
    (Algorithm::Valiant, Intermediate::Group, 3, 2, 8),
    (Algorithm::Valiant, Intermediate::Router, 4, 2, 10),
    (Algorithm::Ugal, Intermediate::Group, 3, 2, 8),
    (Algorithm::Ugal, Intermediate::Router, 4, 2, 10),
    (Algorithm::ProgressiveAdaptive, Intermediate::Group, 4, 2, 10),
    (Algorithm::ProgressiveAdaptive, Intermediate::Router, 5, 2, 12),
];

#[test]
fn packets_of_two_dimensional_groups_arrive_within_the_stated_cables() {
    for (algorithm, intermediate, local, global, most) in TWO {
        for (groups, cables, bundle) in [(7, 2, 1), (4, 4, 2), (7, 2, 2)] {
            let routing = on_two(two_shape(groups, cables, bundle), algorithm, intermediate);
            let context = format!("{groups} {cables} {bundle} {algorithm:?} {intermediate:?}");
            assert_eq!(routing.virtual_channels(), [1, local, global, local], "{context}");
            let links = longest(&routing);
            assert!(links <= most, "{context}: {links}");
            let proof = check(&routing);
            assert_eq!(proof.cycle, None, "{context}");
            let within = proof
                .used
                .iter()
                .zip(routing.virtual_channels())
                .all(|(&used, have)| used <= have);
            assert!(within, "{context}: {:?}", proof.used);
        }
    }
}

/// With one cable per pair of groups there is one gateway, and the bounds are reached.
#[test]
fn one_cable_per_pair_of_groups_needs_all_levels() {
    for (algorithm, intermediate, local, global, most) in TWO {
        let shape = Dragonfly2dShape {
            global_ports: 1,
            ..two_shape(7, 1, 1)
        };
        let routing = on_two(shape, algorithm, intermediate);
        let context = format!("{algorithm:?} {intermediate:?}");
        assert_safe(&routing, &context);
        assert_eq!(routing.virtual_channels(), [1, local, global, local]);
        let links = longest(&routing);
        assert!(links <= most && links + 1 >= most, "{context}: {links} of {most}");
        if algorithm != Algorithm::Minimal {
            assert_cyclic_on_one_level(&routing, &context);
        }
    }
}

#[test]
fn a_single_two_dimensional_group_has_detours_over_its_routers() {
    let shape = Dragonfly2dShape {
        cables: None,
        ..two_shape(1, 0, 1)
    };
    assert_shortest(&on_two(shape.clone(), Algorithm::Minimal, Intermediate::Group));
    assert_safe(
        &on_two(shape.clone(), Algorithm::Minimal, Intermediate::Group),
        "minimal",
    );
    for algorithm in [Algorithm::Valiant, Algorithm::Ugal, Algorithm::ProgressiveAdaptive] {
        let routing = on_two(shape.clone(), algorithm, Intermediate::Group);
        assert_eq!(longest(&routing), 4, "{algorithm:?}");
        assert_safe(&routing, &format!("{algorithm:?}"));
    }
}

#[test]
fn two_dimensional_groups_avoid_failed_cables() {
    let mut dragonfly = Dragonfly2d::new(two_shape(4, 4, 2), Arrangement::Absolute).unwrap();
    let gateway = dragonfly.gateways(0, 1)[0];
    let fault = |a, b, index| Fault {
        routers: (a, b),
        index,
        effect: Effect::Failed,
    };
    dragonfly
        .impair(&[fault(gateway.router, gateway.far_router, None), fault(0, 3, Some(0))])
        .unwrap();
    for (algorithm, intermediate, ..) in TWO {
        let routing = Dragonfly2dRouting::new(dragonfly.clone(), algorithm, intermediate, 1).unwrap();
        let routing = Routing::Dragonfly2d(routing);
        longest(&routing);
        assert_eq!(check(&routing).cycle, None);
    }
}

/// As Valiant, but a packet may also stay minimal: local, global, local.
#[test]
fn ugal_on_one_dimensional_groups_decides_at_the_source_alone() {
    for (intermediate, local, most) in [(Intermediate::Group, 3, 5), (Intermediate::Router, 4, 6)] {
        for cables in [None, Some(1)] {
            let shape = DragonflyShape {
                groups: 5,
                routers: 3,
                nodes: 1,
                global_ports: 3,
                cables,
            };
            let dragonfly = Dragonfly::new(shape, Arrangement::Circulant).unwrap();
            let routing = Routing::Dragonfly(DragonflyRouting::new(
                dragonfly,
                Algorithm::Ugal,
                intermediate,
                Divert::Anywhere,
                VcRule::Stage,
                2,
            ));
            assert_eq!(routing.virtual_channels(), [1, local, 2, 0]);
            assert!(longest(&routing) <= most);
            assert_safe(&routing, &format!("{intermediate:?} {cables:?}"));
            // Behind the first cable nothing is decided by load any more: where the packet stays minimal, a second
            // router has one outcome per gateway, and none of them makes it non-minimal.
            let ends = ends(routing.topology());
            for &(source, _) in &ends {
                for &(_, node) in &ends {
                    outcomes(&routing, source, Header::new(node), |decision, header| {
                        if let Some(next) = routing.topology().neighbour(decision.port) {
                            outcomes(&routing, next, header, |_, after| assert_eq!(after.via, header.via));
                        }
                    });
                }
            }
        }
    }
}

fn up_down(topology: &Topology, adaptive: bool) -> UpDownRouting {
    UpDownRouting::new(topology.clone(), None, adaptive).unwrap()
}

fn graphs() -> Vec<Topology> {
    let petersen = "0 1\n1 2\n2 3\n3 4\n4 0\n0 5\n1 6\n2 7\n3 8\n4 9\n5 7\n7 9\n9 6\n6 8\n8 5\n";
    let mut broken = torus(&[4, 4], true);
    let fault = |a, b| Fault {
        routers: (a, b),
        index: None,
        effect: Effect::Failed,
    };
    broken
        .impair(&[fault(0, 1), fault(5, 6), fault(3, 15), fault(9, 13)])
        .unwrap();
    vec![
        GraphFile::from_edge_list(petersen, 1).unwrap().topology().clone(),
        broken.topology().clone(),
        torus(&[7], true).topology().clone(),
        DragonflyPlus::new(plus_shape(5), Arrangement::Relative)
            .unwrap()
            .topology()
            .clone(),
        SlimFly::new(SlimFlyShape { q: 3, nodes: None })
            .unwrap()
            .topology()
            .clone(),
    ]
}

/// On any graph, with failed cables too; on a tree-like one ways are shortest paths.
#[test]
fn up_down_packets_take_shortest_legal_ways_on_one_level() {
    for topology in graphs() {
        for adaptive in [false, true] {
            let legal = up_down(&topology, adaptive);
            let routing = Routing::UpDown(up_down(&topology, adaptive));
            assert_lengths(&routing, |source, home| legal.distance(source, home));
            assert_safe(&routing, "up*/down*");
            for source in 0..topology.routers() {
                let shortest = topology.distances(source);
                for (home, _) in ends(&topology) {
                    assert!(legal.distance(source, home) >= shortest[home as usize]);
                }
            }
        }
    }
    let tree = trees().remove(0);
    assert_shortest(&Routing::UpDown(
        UpDownRouting::new(tree.topology().clone(), Some(tree.topology().routers() - 1), false).unwrap(),
    ));
}

/// Brute force over all ways: up any number of times, then down any number of times.
#[test]
fn legal_distances_are_those_of_all_ways() {
    for topology in graphs() {
        let legal = UpDownRouting::new(topology.clone(), Some(2), false).unwrap();
        let depth = topology.distances(2);
        let rank = |router: u32| (depth[router as usize], router);
        for source in 0..topology.routers() {
            // Shortest lengths to (router, still going up).
            let mut best = vec![[u32::MAX; 2]; topology.routers() as usize];
            best[source as usize] = [0, 0];
            loop {
                let mut changed = false;
                for router in 0..topology.routers() {
                    for far in topology.ports_of(router).filter_map(|port| topology.neighbour(port)) {
                        let [up, any] = best[router as usize];
                        let to = &mut best[far as usize];
                        let before = *to;
                        if rank(far) < rank(router) {
                            to[0] = to[0].min(up.saturating_add(1));
                        } else {
                            to[1] = to[1].min(any.saturating_add(1)).min(up.saturating_add(1));
                        }
                        changed |= *to != before;
                    }
                }
                if !changed {
                    break;
                }
            }
            for (home, _) in ends(&topology) {
                let [up, any] = best[home as usize];
                assert_eq!(legal.distance(source, home), up.min(any), "{source} to {home}");
            }
        }
    }
}

#[test]
fn up_down_refuses_what_it_cannot_route() {
    let large = torus(&[8193], true);
    assert!(
        UpDownRouting::new(large.topology().clone(), None, false)
            .unwrap_err()
            .contains("8192")
    );
    let apart = GraphFile::from_edge_list("a b\nc d\n", 1).unwrap();
    let error = UpDownRouting::new(apart.topology().clone(), None, false).unwrap_err();
    assert!(error.contains("routers 0 and 2, and 3 more"), "{error}");
    let graph = GraphFile::from_edge_list("nodes 0\na b\nrouter c nodes=2\nc b\nrouter d\n", 1).unwrap();
    let new = |root| UpDownRouting::new(graph.topology().clone(), Some(root), false);
    assert!(new(3).unwrap_err().contains("not connected"));
    assert!(new(4).unwrap_err().contains("no router 4"));
    assert!(new(0).is_ok());
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

/// One routing of each kind.
fn every_routing() -> Vec<(String, Routing)> {
    let mut all = Vec::new();
    for wrap in [true, false] {
        for algorithm in [
            TorusAlgorithm::DimensionOrder,
            TorusAlgorithm::Valiant,
            TorusAlgorithm::Romm,
            TorusAlgorithm::MinimalAdaptive,
        ] {
            all.push((format!("{algorithm:?} {wrap}"), on_torus(&[4, 5], wrap, algorithm)));
        }
    }
    all.push(("Bubble".into(), on_torus(&[4, 5], true, TorusAlgorithm::Bubble)));
    for algorithm in TREES {
        let tree = trees().pop().unwrap();
        let routing = FatTreeRouting::new(tree, algorithm).unwrap();
        all.push((format!("{algorithm:?}"), Routing::FatTree(routing)));
    }
    for algorithm in [
        HyperXAlgorithm::Minimal,
        HyperXAlgorithm::Valiant,
        HyperXAlgorithm::Ugal,
        HyperXAlgorithm::Dal,
    ] {
        all.push((format!("{algorithm:?}"), on_hyperx(hyperx(&[4, 4], &[1, 2]), algorithm)));
    }
    for algorithm in [
        SlimFlyAlgorithm::Minimal,
        SlimFlyAlgorithm::Valiant,
        SlimFlyAlgorithm::Ugal,
    ] {
        let fly = SlimFly::new(SlimFlyShape { q: 3, nodes: Some(2) }).unwrap();
        let routing = SlimFlyRouting::new(fly, algorithm, 2).unwrap();
        all.push((format!("{algorithm:?}"), Routing::SlimFly(routing)));
    }
    for algorithm in PLUS {
        all.push((format!("{algorithm:?}"), on_plus(plus_shape(5), algorithm)));
    }
    for (algorithm, intermediate, ..) in TWO {
        let name = format!("{algorithm:?} {intermediate:?}");
        all.push((name, on_two(two_shape(7, 2, 1), algorithm, intermediate)));
    }
    for topology in graphs() {
        all.push(("up*/down*".into(), Routing::UpDown(up_down(&topology, true))));
    }
    all
}

/// Everybody sends to everybody as fast as possible, with room for one packet per channel (for two with bubbles).
#[test]
fn the_smallest_buffers_under_the_worst_load_run_to_completion() {
    for (context, routing) in every_routing() {
        let nodes = routing.topology().nodes();
        let net = Net::round(shape(1, 1, 1, 0)).smallest_buffers();
        let mut params = net.params;
        if routing.topology().ports_of(0).any(|port| routing.ring(port).is_some()) {
            params.links.iter_mut().for_each(|link| link.buffer *= 2);
        }
        let levels = routing.virtual_channels();
        let script = (0..nodes * 40).map(|i| {
            let (source, k) = (i % nodes, i / nodes);
            let step = if k % 2 == 0 {
                nodes / 2
            } else {
                1 + (k * 7) % (nodes - 1)
            };
            let bytes = 8 * FLIT * (1 + u64::from(k % 3));
            message(Time(CYCLE.0), source, (source + step) % nodes, bytes)
        });
        let fabric = Blueprint::new(params, routing, levels).whole();
        finish(Play::on(fabric, named(script.collect()))).assert_complete(&context);
    }
}

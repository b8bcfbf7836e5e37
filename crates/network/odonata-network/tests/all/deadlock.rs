//! Freedom from routing deadlock: by the dependency graph, and in practice at a load that would expose it.

use crate::common::{CYCLE, FLIT, Net, ROUTERS, SWITCHINGS, message, named, play, shape};
use odonata_engine::Time;
use odonata_network::deadlock::{Graph, check, outcomes};
use odonata_network::routing::{Algorithm, Divert, Header, Intermediate, VcRule};
use odonata_topology::{DragonflyShape, LinkClass, Peer};

use Algorithm::{Minimal, ProgressiveAdaptive, Valiant};

/// Local and global virtual channels that each routing needs.
const TABLE: [(Algorithm, Intermediate, u8, u8); 5] = [
    (Minimal, Intermediate::Group, 2, 1),
    (Valiant, Intermediate::Group, 3, 2),
    (Valiant, Intermediate::Router, 4, 2),
    (ProgressiveAdaptive, Intermediate::Group, 4, 2),
    (ProgressiveAdaptive, Intermediate::Router, 5, 2),
];

const DIVERTS: [Divert; 2] = [Divert::Any, Divert::OwnGlobalPorts];

fn small_shapes() -> [DragonflyShape; 3] {
    // The second has two cables per pair of groups, the third groups of a single router.
    [shape(9, 4, 2, 2), shape(5, 4, 2, 2), shape(4, 1, 2, 3)]
}

fn check_table(shape: DragonflyShape, candidates: u32) {
    for (algorithm, intermediate, local, global) in TABLE {
        for divert in DIVERTS {
            let net = Net {
                divert,
                candidates,
                ..Net::round(shape).routed(algorithm, intermediate)
            };
            let proof = check(&net.routing());
            let context = format!("{algorithm:?} {intermediate:?} {divert:?}");
            assert_eq!(proof.cycle, None, "{context}");
            assert_eq!(net.vcs(), [1, local, global, 0], "{context}");
            if shape.routers > 1 {
                assert_eq!(proof.used, net.vcs(), "{context}: declared, but never used");
            }
        }
    }
}

#[test]
fn every_routing_is_acyclic_and_uses_exactly_the_channels_it_declares() {
    for shape in small_shapes() {
        check_table(shape, 1);
    }
}

#[test]
fn more_candidates_do_not_change_the_dependencies() {
    for (algorithm, intermediate, ..) in TABLE {
        let proof = |candidates| {
            let net = Net {
                candidates,
                ..Net::round(shape(5, 4, 2, 1)).routed(algorithm, intermediate)
            };
            check(&net.routing())
        };
        let (one, three) = (proof(1), proof(3));
        assert_eq!(
            (one.channels, one.dependencies, one.used),
            (three.channels, three.dependencies, three.used)
        );
    }
}

/// The machine of the case study; prints the seconds (`--nocapture`).
fn check_a_thousand_nodes(table: &[(Algorithm, Intermediate, u8, u8)]) {
    for &(algorithm, intermediate, ..) in table {
        let net = Net {
            candidates: 2,
            ..Net::round(shape(33, 8, 4, 4)).routed(algorithm, intermediate)
        };
        let start = std::time::Instant::now();
        let proof = check(&net.routing());
        assert_eq!(proof.cycle, None);
        assert_eq!(proof.used, net.vcs());
        eprintln!(
            "{algorithm:?} {intermediate:?}: {} dependencies, {:?}",
            proof.dependencies,
            start.elapsed()
        );
    }
}

#[test]
fn a_machine_of_a_thousand_nodes_is_checked() {
    check_a_thousand_nodes(&TABLE[3..4]);
}

#[test]
#[ignore = "takes long"]
fn a_machine_of_a_thousand_nodes_is_checked_under_every_algorithm() {
    check_a_thousand_nodes(&TABLE);
}

/// Four channels suffice while a group has at most one local hop after the source. They do not suffice for a random
/// router of the intermediate group, where two local hops share channel 2.
#[test]
fn the_rule_of_codes_is_acyclic_over_groups_and_cyclic_over_routers() {
    for algorithm in [Minimal, Valiant, ProgressiveAdaptive] {
        for (intermediate, safe) in [
            (Intermediate::Group, true),
            (Intermediate::Router, algorithm == Minimal),
        ] {
            let net = Net {
                rule: VcRule::Codes,
                ..Net::round(shape(9, 4, 2, 2)).routed(algorithm, intermediate)
            };
            let proof = check(&net.routing());
            assert_eq!(proof.cycle.is_none(), safe, "{algorithm:?} {intermediate:?}");
            assert!(
                proof
                    .used
                    .iter()
                    .zip(net.vcs())
                    .all(|(&used, declared)| used <= declared)
            );
            if let Some(cycle) = proof.cycle {
                let dragonfly = net.dragonfly();
                let topology = dragonfly.topology();
                // It is a cycle: each channel ends at the router where the next starts.
                for (i, &(port, _)) in cycle.iter().enumerate() {
                    let (next, _) = cycle[(i + 1) % cycle.len()];
                    let Peer::Router { router, .. } = topology.peer(port) else {
                        panic!("a cycle through a node")
                    };
                    assert_eq!(router, topology.router_of_port(next));
                }
                assert!(
                    cycle
                        .iter()
                        .all(|&(port, vc)| topology.class(port) == LinkClass::Local && vc == 2)
                );
            }
        }
    }
}

/// The dependencies of minimal routing with every virtual channel forced to 0: local, global, local on one channel
/// closes cycles.
#[test]
fn minimal_routing_on_one_channel_is_caught() {
    let net = Net::round(shape(9, 4, 2, 2));
    let (dragonfly, routing) = (net.dragonfly(), net.routing());
    let topology = dragonfly.topology();
    let (mut forced, mut real) = (Graph::default(), Graph::default());
    for source in 0..topology.nodes() {
        for target in (0..topology.nodes()).filter(|&target| target != source) {
            let (mut router, mut header, mut held) = (topology.node_router(source), Header::new(target), None);
            loop {
                let mut next = None;
                outcomes(&routing, router, header, |decision, header| {
                    next = Some((decision, header))
                });
                let (decision, after) = next.expect("a decision has an outcome");
                if let Some((port, vc)) = held {
                    forced.depend((port, 0), (decision.port, 0));
                    real.depend((port, vc), (decision.port, decision.level));
                }
                let Peer::Router { router: far, .. } = topology.peer(decision.port) else {
                    break;
                };
                (router, header, held) = (far, after, Some((decision.port, decision.level)));
            }
        }
    }
    assert!(real.cycle().is_none());
    assert!(forced.cycle().is_some_and(|cycle| cycle.len() >= 3));
}

#[test]
fn a_cycle_is_found_wherever_it_is_and_only_where_one_is() {
    let graph = |edges: &[(u32, u32)]| {
        let mut graph = Graph::default();
        edges.iter().for_each(|&(a, b)| graph.depend((a, 0), (b, 0)));
        graph
    };
    assert_eq!(graph(&[]).cycle(), None);
    assert_eq!(graph(&[(0, 1), (0, 2), (1, 3), (2, 3)]).cycle(), None);
    assert_eq!(graph(&[(7, 7)]).cycle(), Some(vec![(7, 0)]));
    assert_eq!(
        graph(&[(0, 1), (1, 2), (2, 3), (3, 1)]).cycle(),
        Some(vec![(1, 0), (2, 0), (3, 0)])
    );
    // A long chain: the search must not depend on the depth of the call stack.
    let chain: Vec<_> = (0..200_000).map(|i| (i, i + 1)).collect();
    assert_eq!(graph(&chain).cycle(), None);
}

/// Every node sends to the next group and to all nodes, as fast as possible, with room for one packet per channel.
#[test]
fn the_smallest_buffers_under_the_worst_load_run_to_completion() {
    for router in ROUTERS {
        for switching in SWITCHINGS {
            for (algorithm, intermediate, ..) in TABLE {
                for divert in DIVERTS {
                    let net = Net {
                        divert,
                        ..Net::round(shape(9, 4, 2, 2)).routed(algorithm, intermediate)
                    };
                    let mut net = net.smallest_buffers().with(router);
                    net.params.switching = switching;
                    let nodes = net.nodes();
                    let script = (0..nodes * 30).map(|i| {
                        let (source, k) = (i % nodes, i / nodes);
                        // Alternately into the next group and to the node at a growing distance.
                        let step = if k % 2 == 0 {
                            8 + k % 8
                        } else {
                            1 + (k * 7) % (nodes - 1)
                        };
                        message(
                            Time(CYCLE.0),
                            source,
                            (source + step) % nodes,
                            8 * FLIT * (1 + u64::from(k % 3)),
                        )
                    });
                    let context = format!("{router:?} {switching:?} {algorithm:?} {intermediate:?} {divert:?}");
                    play(&net, named(script.collect())).assert_complete(&context);
                }
            }
        }
    }
}

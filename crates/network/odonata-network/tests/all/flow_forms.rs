//! Flows against closed forms: shares of links, loads of random routings, conservation.

use crate::common::{CYCLE, FLIT, Net, Play, Scripted, finish, message, named, shape};
use odonata_network::Blueprint;
use odonata_network::routing::{
    Algorithm, Divert, DragonflyRouting, FatTreeRouting, Intermediate, Routing, TorusAlgorithm, TorusRouting, Up,
    VcRule,
};
use odonata_network::settings::Fidelity;
use odonata_network::{Fidelities, Measured};
use odonata_topology::{Arrangement, Dragonfly, FatTree, FatTreeShape, LinkClass, Peer, Torus, TorusShape};
use odonata_units::Bytes;

/// Packets in a buffer, unless stated.
const BUFFERED: u64 = 32;

/// Runs a script as flows; all links have the bandwidth of a flit per cycle.
fn run(routing: Routing, script: Vec<Scripted>) -> Play {
    run_buffered(routing, script, BUFFERED)
}

/// The same with buffers of this number of packets.
fn run_buffered(routing: Routing, script: Vec<Scripted>, packets: u64) -> Play {
    let mut params = Net::round(shape(1, 1, 1, 0)).params;
    params.fidelities = Fidelities::Same(Fidelity::Flow);
    for link in &mut params.links {
        link.buffer = Bytes(packets * params.packet).into();
    }
    let vcs = routing.virtual_channels();
    let mut play = finish(Play::on(Blueprint::new(params, routing, vcs).whole(), named(script)));
    play.assert_complete("flows");
    play
}

fn tree(parallel: [u32; 3], up: Up) -> Routing {
    let shape = FatTreeShape {
        down: vec![4, 4, 4],
        up: vec![1, 4 / parallel[1], 4 / parallel[2]],
        parallel: parallel.to_vec(),
    };
    Routing::FatTree(FatTreeRouting::new(FatTree::new(shape).unwrap(), up).unwrap())
}

fn fly(algorithm: Algorithm) -> Routing {
    let dragonfly = Dragonfly::new(shape(9, 4, 2, 2), Arrangement::Relative).unwrap();
    let (via, divert, rule) = (Intermediate::Group, Divert::Any, VcRule::Stage);
    Routing::Dragonfly(DragonflyRouting::new(dragonfly, algorithm, via, divert, rule, 1))
}

fn measured(play: &Play) -> Measured {
    play.fabric.measured()
}

/// The bytes on each link of a class.
fn bytes(play: &Play, class: LinkClass) -> Vec<u64> {
    let topology = play.fabric.routing().topology();
    let ports = measured(play).ports;
    let of_class = (0..topology.ports())
        .filter(|&port| topology.class(port) == class && matches!(topology.peer(port), Peer::Router { .. }));
    of_class.map(|port| ports[port as usize].bytes).collect()
}

/// The longest wait of the last packet of a message on `pipes` pipes, in picoseconds: sqrt(2 N / pi) packet times on each
/// for N packets.
fn longest_wait(flits: u64, pipes: u64) -> u64 {
    let packet = 8;
    let packets = flits.div_ceil(packet) as f64;
    pipes * ((2.0 * packets / std::f64::consts::PI).sqrt() * (packet * CYCLE.0) as f64) as u64
}

/// The time that `flits` take longer if they use all of a pipe, in picoseconds: 0.6 R / w of their time with R random
/// choices and buffers of w packets.
fn blocked(flits: u64, choices: f64, packets: u64) -> u64 {
    (0.6 * choices / packets as f64 * (flits * CYCLE.0) as f64) as u64
}

/// Every node of a non-blocking fat tree sends s bytes to a node of its own, and the pipes are full. With R choices on the
/// way up and buffers of w packets, each message takes (1 + 0.6 R / w) s / b and the latency. R is 2, and 1 if choices are
/// adaptive. The last packet may wait on each of 4 pipes.
#[test]
fn in_a_permutation_small_buffers_block_random_choices() {
    let flits = 1_000;
    let to = |node: u32| (node + 21) % 64;
    for (up, choices) in [(Up::Random, 2.0), (Up::Adaptive, 1.0)] {
        for packets in [4, 32] {
            let each = |node| message(CYCLE, node, to(node), flits * FLIT);
            let run = |script| run_buffered(tree([1, 1, 1], up), script, packets);
            let all = run((0..64).map(each).collect());
            for node in [0, 17, 40, 63] {
                let expected = run(vec![each(node)]).arrival(0).0 + blocked(flits, choices, packets);
                let at = all.arrival(node as usize).0;
                let range = expected - 20..expected + 20 + longest_wait(flits, 4);
                assert!(
                    range.contains(&at),
                    "{up:?}, {packets} packets, {node}: {at} ps, not {expected}"
                );
            }
        }
    }
}

/// Parking lot: routers 0 to 3 of a line send to the nodes of router 4, so that all share its last link. Each gets a
/// quarter, wherever it joins: all end after 4 s / b and their latencies.
#[test]
fn in_a_parking_lot_every_source_has_the_same_share() {
    let flits = 1_000;
    let routing = || {
        let (extents, wrap, nodes) = (vec![5], false, 2);
        let line = Torus::new(TorusShape { extents, wrap, nodes }).unwrap();
        Routing::Torus(TorusRouting::new(line, TorusAlgorithm::DimensionOrder).unwrap())
    };
    let each = |router: u32| message(CYCLE, 2 * router, 8 + router % 2, flits * FLIT);
    let ran = run(routing(), (0..4).map(each).collect());
    for router in 0..4 {
        let alone = run(routing(), vec![each(router)]).arrival(0).0;
        let (at, expected) = (ran.arrival(router as usize).0, alone + 3 * flits * CYCLE.0);
        assert!(at.abs_diff(expected) <= 50, "router {router}: {at} ps, not {expected}");
    }
}

/// n parallel cables carry the same bytes; n messages over them take s / b and the latency, as alone, but for one
/// random choice, and the wait of the last packet on the way up and down.
#[test]
fn parallel_cables_have_equal_shares() {
    let flits = 1_000;
    let routing = || tree([1, 4, 4], Up::Random);
    // From the nodes of one router to another router of the pod: over one parent, with four cables.
    let script = (0..4)
        .map(|node| message(CYCLE, node, 4 + node, flits * FLIT))
        .collect();
    let ran = run(routing(), script);
    let alone = run(routing(), vec![message(CYCLE, 0, 4, flits * FLIT)]).arrival(0).0;
    let range = alone - 20..alone + 20 + longest_wait(flits, 2) + blocked(flits, 1.0, BUFFERED);
    for name in 0..4 {
        let at = ran.arrival(name).0;
        assert!(range.contains(&at), "message {name}: {at} ps, alone {alone}");
    }
    let used: Vec<u64> = bytes(&ran, LinkClass::Local)
        .into_iter()
        .filter(|&bytes| bytes > 0)
        .collect();
    assert_eq!(used.len(), 8, "four cables up, four down");
    assert!(used.iter().all(|&bytes| bytes == flits * FLIT), "{used:?}");
}

/// Valiant routing takes every message over two global links, minimal routing over one. If all nodes of a group send to
/// the next group, its global links have equal loads under Valiant routing, but for the intermediate groups of 4 packets of
/// each message.
#[test]
fn valiant_routing_takes_each_byte_over_two_global_links() {
    let (flits, nodes) = (800, 8);
    let script = || {
        let each = |node| message(CYCLE, node, (node + nodes) % 72, flits * FLIT);
        (0..72).map(each).collect::<Vec<_>>()
    };
    let sent = 72 * flits * FLIT;
    for (algorithm, links) in [(Algorithm::Minimal, 1), (Algorithm::Valiant, 2)] {
        let of_links = bytes(&run(fly(algorithm), script()), LinkClass::Global);
        let sum: u64 = of_links.iter().sum();
        assert!(
            sum.abs_diff(links * sent) <= of_links.len() as u64,
            "{algorithm:?}: {sum}"
        );
        if algorithm == Algorithm::Valiant {
            let mean = sum / of_links.len() as u64;
            assert!(
                of_links.iter().all(|bytes| bytes.abs_diff(mean) <= mean / 5),
                "{of_links:?}"
            );
        }
    }
}

/// A group's 8 nodes send to the next group. Its one minimal global cable limits them to b / 8 each; under Valiant
/// routing they share its 8 global cables, so each has its full rate, but for at most 6 random choices.
#[test]
fn valiant_routing_has_the_capacity_of_all_global_links() {
    let flits = 4_000;
    let times = |algorithm| {
        let each = |node: u32| message(CYCLE, node, node + 8, flits * FLIT);
        let ran = run(fly(algorithm), (0..8).map(each).collect());
        (0..8).map(|name| ran.arrival(name).0).max().unwrap() as f64 / (flits * CYCLE.0) as f64
    };
    let (minimal, valiant, adaptive) = (
        times(Algorithm::Minimal),
        times(Algorithm::Valiant),
        times(Algorithm::Ugal),
    );
    assert!((minimal - 8.0).abs() < 0.1, "{minimal}");
    let blocked = 0.6 * 6.0 / BUFFERED as f64;
    assert!((1.0..1.1 + blocked).contains(&valiant), "{valiant}");
    assert!(adaptive < 2.5, "{adaptive}");
}

/// All bytes enter by a NIC, leave by the port to a node, and in between cross as many links as their paths have: in a
/// fat tree 2 between routers of a pod, 4 between pods.
#[test]
fn bytes_are_conserved_on_every_level_of_a_tree() {
    for up in [Up::Random, Up::Adaptive, Up::DModK] {
        let pairs = |node: u32| [(node + 5) % 64, (node + 16) % 64, (node + 1) % 64];
        let script: Vec<Scripted> = (0..64)
            .flat_map(|node| pairs(node).map(|to| message(CYCLE, node, to, (100 + u64::from(node)) * FLIT + 7)))
            .collect();
        let (mut local, mut global, mut all) = (0, 0, 0);
        for m in &script {
            all += m.bytes;
            local += u64::from(m.source / 4 != m.target / 4) * 2 * m.bytes;
            global += u64::from(m.source / 16 != m.target / 16) * 2 * m.bytes;
        }
        let ran = run(tree([1, 1, 1], up), script);
        assert_eq!(measured(&ran).nics.iter().map(|link| link.bytes).sum::<u64>(), all);
        for (class, expected) in [(LinkClass::Local, local), (LinkClass::Global, global)] {
            let of_links = bytes(&ran, class);
            let sum: u64 = of_links.iter().sum();
            assert!(
                sum.abs_diff(expected) <= of_links.len() as u64,
                "{up:?} {class:?}: {sum}, not {expected}"
            );
        }
    }
}

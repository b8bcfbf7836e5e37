//! Adaptive routing in pipelined routers, as in BookSim 2: single-flit packets, one flit per cycle and link, four
//! virtual channels of eight flits.

use crate::common::{CYCLE, FLIT, Net, Play, Scripted, link, links, message, named, shape};
use odonata_engine::random::Purpose;
use odonata_engine::{Sequential, Stream, Time};
use odonata_network::routing::{FatTreeRouting, Routing, Up};
use odonata_network::{Blueprint, NetworkParams, RouterModel, Switching, VirtualChannels};
use odonata_topology::{FatTree, FatTreeShape};

const NODES: u32 = 64;

fn params() -> NetworkParams {
    let mut params = Net::round(shape(1, 1, 1, 0)).params;
    params.router = RouterModel::Pipelined;
    params.switching = Switching::Wormhole;
    (params.packet, params.blame) = (FLIT, false);
    params.links = links([link(1, 1, 8, 3); 3]);
    params
}

/// In every cycle every node sends a flit with probability `load`, to a node drawn by `target`.
fn bernoulli(load: f64, cycles: u64, target: impl Fn(u32, &mut Stream) -> u32) -> Vec<Scripted> {
    let mut random = Stream::new(3, 0, Purpose::Destination);
    let mut script = Vec::new();
    for cycle in 1..=cycles {
        for source in 0..NODES {
            if f64::from(random.below(1 << 20)) < load * f64::from(1 << 20) {
                let target = target(source, &mut random);
                script.push(message(Time(cycle * CYCLE.0), source, target, FLIT));
            }
        }
    }
    named(script)
}

/// Flits per node and cycle that arrive in the second half of `cycles`, and their mean latency in cycles.
fn played(routing: Routing, vcs: VirtualChannels, script: Vec<Scripted>, cycles: u64) -> (f64, f64) {
    let mut run = Sequential::new(Play::on(Blueprint::new(params(), routing, vcs).whole(), script));
    let stats = |run: &Sequential<Play>| {
        let all = run.model().fabric.traffic_stats();
        let packets: u64 = all.iter().map(|t| t.packets).sum();
        let latency: u128 = all.iter().map(|t| t.latency_created_ps).sum();
        (packets, latency)
    };
    run.run(Time(cycles / 2 * CYCLE.0), u64::MAX);
    let before = stats(&run);
    run.run(Time(cycles * CYCLE.0), u64::MAX);
    let after = stats(&run);
    let packets = (after.0 - before.0) as f64;
    let latency = (after.1 - before.1) as f64 / packets / CYCLE.0 as f64;
    (packets / f64::from(NODES) / (cycles - cycles / 2) as f64, latency)
}

#[test]
fn the_lighter_of_two_upward_ports_is_never_worse_than_a_random_one() {
    assert_the_lighter_port_is_never_worse(&[("uniform", 0.7), ("complement", 0.9)]);
}

#[test]
#[ignore = "takes long"]
fn the_lighter_of_two_upward_ports_is_never_worse_at_lower_loads() {
    assert_the_lighter_port_is_never_worse(&[("uniform", 0.5), ("complement", 0.7)]);
}

/// If every leaf compared all its upward ports, all packets of a cycle would take the same one. The lighter of two
/// random ports is never worse than a random one, and with uniform traffic at 0.7 it accepts all traffic, as BookSim's
/// `nca` does (0.75 is its last stable load).
fn assert_the_lighter_port_is_never_worse(patterns: &[(&str, f64)]) {
    let tree = |up: Up, candidates: u32| {
        let tree = FatTree::new(FatTreeShape::k_ary(4, 3)).unwrap();
        Routing::FatTree(FatTreeRouting::new(tree, up).unwrap().with_candidates(candidates))
    };
    let cycles = 4_000;
    for &(pattern, load) in patterns {
        let script = bernoulli(load, cycles, |source, random| match pattern {
            "uniform" => random.below(NODES),
            _ => NODES - 1 - source,
        });
        let of = |up, candidates| played(tree(up, candidates), [4, 4, 4, 0], script.clone(), cycles);
        let (random, two) = (of(Up::Random, 2), of(Up::Adaptive, 2));
        let context = format!("{pattern} at {load}: {two:?}, at random {random:?}");
        assert!(two.0 >= 0.995 * random.0, "{context}");
        if (pattern, load) == ("uniform", 0.7) {
            assert!(two.0 >= 0.99 * load, "{context}");
        }
    }
}

//! Detours inside a group of a dragonfly, over another router of the group.

use crate::common::{
    CYCLE, FLIT, Net, ROUTERS, Scripted, assert_can_be_undone, assert_equal_divided, link, links, message, named, play,
    random_messages, shape,
};
use odonata_engine::Time;
use odonata_network::deadlock::check;
use odonata_network::routing::Algorithm::{Minimal, ProgressiveAdaptive, Ugal, Valiant};
use odonata_network::routing::{Algorithm, InGroup, Intermediate, VcRule};
use odonata_network::settings::Comparison;
use odonata_network::{Detour, Queues, RouterModel};

/// Groups of `routers` routers with `nodes` nodes each; loads are weighed by hops.
fn net(groups: u32, routers: u32, nodes: u32, algorithm: Algorithm, in_group: InGroup) -> Net {
    let mut net = Net::round(shape(groups, routers, nodes, groups.min(2).saturating_sub(1)))
        .routed(algorithm, Intermediate::Group);
    (net.in_group, net.candidates) = (in_group, 4);
    net.params.links = links([link(1, 2, 64, 3), link(1, 5, 64, 7), link(1, 20, 64, 22)]);
    net.params.detour = Detour {
        rule: Comparison::Sum,
        threshold: 0,
        bias: 1.0,
        hops: true,
    };
    net
}

/// Levels are as without detours, and there is no cycle; paths have one cable more.
#[test]
fn the_levels_of_a_routing_suffice_for_its_detours() {
    for algorithm in [Ugal, ProgressiveAdaptive] {
        for intermediate in [Intermediate::Group, Intermediate::Router] {
            for rule in [VcRule::Stage, VcRule::Codes] {
                for groups in [1, 5] {
                    let of = |in_group| Net {
                        in_group,
                        rule,
                        candidates: 1,
                        ..Net::round(shape(groups, 4, 2, 1)).routed(algorithm, intermediate)
                    };
                    let (minimal, adaptive) = (of(InGroup::Minimal), of(InGroup::Adaptive));
                    let context = format!("{algorithm:?} {intermediate:?} {rule:?} {groups}");
                    let before = check(&minimal.routing());
                    let proof = check(&adaptive.routing());
                    assert_eq!(proof.cycle.is_none(), before.cycle.is_none(), "{context}");
                    assert!(rule == VcRule::Codes || proof.cycle.is_none(), "{context}");
                    assert!(proof.dependencies > before.dependencies, "{context}");
                    assert_eq!(adaptive.vcs(), minimal.vcs(), "{context}");
                }
            }
        }
    }
}

/// k pairs of nodes at two routers of a group of a routers share one cable under minimal routing: they take k times as
/// long as one. There are a - 1 paths (the cable, and two cables over each other router), so with detours they get up to
/// min(k, a - 1) times the rate of a cable.
#[test]
fn pairs_of_nodes_between_two_routers_get_as_many_paths_as_the_group_has() {
    const PACKETS: u64 = 400;
    let end = |k: u32, in_group, router: RouterModel, algorithm| {
        let mut net = net(1, 5, k, algorithm, in_group);
        net.params.router = router;
        let script = (0..k).map(|i| message(CYCLE, i, k + i, PACKETS * 8 * FLIT)).collect();
        let ran = play(&net, named(script));
        (0..k as usize).map(|name| ran.arrival(name).0).max().unwrap() / CYCLE.0
    };
    for router in [
        RouterModel::InputQueued,
        RouterModel::OutputQueued,
        RouterModel::Pipelined,
    ] {
        for algorithm in [Ugal, ProgressiveAdaptive] {
            for k in [1u64, 2, 4, 8] {
                let context = format!("{router:?} {algorithm:?}, {k} pairs");
                let cable = k * PACKETS * 8;
                // A pipelined router has idle cycles between the packets of a virtual channel.
                let idle = if router == RouterModel::Pipelined { 2 } else { 1 };
                let minimal = end(k as u32, InGroup::Minimal, router, algorithm);
                assert!(
                    (cable..cable + cable * idle / 10 + 100).contains(&minimal),
                    "{context}: {minimal} of {cable}"
                );
                let adaptive = end(k as u32, InGroup::Adaptive, router, algorithm);
                let least = cable / k.min(4);
                // Packets of pipelined routers, which have their output before they compete, spread less well.
                let most = match router {
                    RouterModel::Pipelined if k > 1 => minimal * 4 / 5,
                    _ => least * 5 / 4 + 100,
                };
                assert!((least..most).contains(&adaptive), "{context}: {adaptive} of {least}");
            }
        }
    }
}

/// With a bias of b, packets stay on the cable until its load is more than b times twice that of the other path: the
/// larger b, the fewer leave, and the longer eight pairs of nodes take.
#[test]
fn a_large_bias_keeps_packets_on_the_cable() {
    let end = |bias: f64, in_group| {
        let mut net = net(1, 5, 8, Ugal, in_group);
        net.params.detour.bias = bias;
        let script = (0..8).map(|i| message(CYCLE, i, 8 + i, 200 * 8 * FLIT)).collect();
        let ran = play(&net, named(script));
        let detours: u64 = ran.fabric.traffic_stats().iter().map(|t| t.nonminimal).sum();
        (detours, (0..8).map(|name| ran.arrival(name)).max().unwrap())
    };
    let (none, minimal) = end(1.0, InGroup::Minimal);
    assert_eq!(none, 0);
    let (most, fast) = end(1.0, InGroup::Adaptive);
    let (fewer, slower) = end(8.0, InGroup::Adaptive);
    assert!(most > fewer && fast < slower, "{most} {fewer}, {fast} {slower}");
    assert!(slower < minimal, "{slower} of {minimal}");
}

/// Algorithms that are not adaptive have no detours inside a group.
#[test]
fn only_adaptive_algorithms_leave_the_cable() {
    for algorithm in [Minimal, Valiant] {
        let of = |in_group| check(&net(3, 4, 1, algorithm, in_group).routing()).dependencies;
        assert_eq!(of(InGroup::Adaptive), of(InGroup::Minimal));
    }
}

#[test]
fn parts_schedulers_and_undoing_make_no_difference() {
    for router in ROUTERS {
        for algorithm in [Ugal, ProgressiveAdaptive] {
            let mut net = net(5, 4, 2, algorithm, InGroup::Adaptive).with(router);
            net.params.nic.queues = Queues::PerPeer;
            let mut script: Vec<Scripted> = random_messages(&net, 90, 40, &[FLIT, 40 * FLIT], 5);
            // Most stay in their group, which has 8 nodes.
            for m in script.iter_mut().step_by(3) {
                m.target = m.source / 8 * 8 + (m.source + 1 + m.name % 7) % 8;
            }
            let context = format!("{router:?} {algorithm:?}");
            let ran = play(&net, script.clone());
            let detours: u64 = ran.fabric.traffic_stats().iter().map(|t| t.nonminimal).sum();
            assert!(detours > 0 && ran.arrival(0) > Time::ZERO, "{context}");
            assert_equal_divided(&net, &script, &context);
            assert_can_be_undone(&net, script, &context);
        }
    }
}

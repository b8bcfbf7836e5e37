//! Packets beside flows: closed forms of shared links, conservation, and equal results on every scheduler.
//!
//! Traffic 0 uses packets and traffic 1 flows. A link carries a flit per cycle, C = 1.

mod queues;

use crate::common::{
    CYCLE, FLIT, Net, Play, ROUTERS, ROUTINGS, SIZES, SWITCHINGS, Scripted, assert_equal_divided, assert_restores,
    every_fabric,
};
use crate::common::{message, named, play, random_messages, sample, shape};
use odonata_engine::random::Purpose;
use odonata_engine::{RollbackCheck, Stream, Time};
use odonata_network::routing::{Algorithm, Intermediate};
use odonata_network::settings::Fidelity;
use odonata_network::{Fidelities, RouterModel};
use odonata_topology::Peer;
use odonata_units::Bandwidth;

const INTERVAL: Time = Time(500 * CYCLE.0);

/// When start-up effects have settled.
const LATER: Time = Time(5_000 * CYCLE.0);

fn mixed(net: &Net, flows: [bool; 2], interval: Time) -> Net {
    let mut net = net.clone();
    net.params.traffics = 2;
    let fidelities = flows.map(|flow| if flow { Fidelity::Flow } else { Fidelity::Packet });
    net.params.fidelities = Fidelities::PerTraffic(fidelities.into());
    net.params.coupling_interval = Some(interval);
    net
}

/// Ten nodes of one group, some of which send at most at this fraction of a link's rate.
fn group(limited: &[(usize, f64)]) -> Net {
    let mut net = mixed(&Net::round(shape(1, 5, 2, 0)), [false, true], INTERVAL);
    let mut rates = vec![None; 10];
    for &(node, part) in limited {
        rates[node] = Some(Bandwidth(part * FLIT as f64 * 1e9));
    }
    net.params.nic_rates = Some(rates.into());
    net
}

fn of(traffic: u16, message: Scripted) -> Scripted {
    Scripted { traffic, ..message }
}

/// Cycles from the submission of the first message to its arrival.
fn cycles(net: &Net, script: Vec<Scripted>) -> f64 {
    let at = script[0].at;
    (play(net, named(script)).arrival(0) - at).0 as f64 / CYCLE.0 as f64
}

/// Tolerance of the coupling: some intervals until a link is known and the senders have adapted; and a fraction of the
/// total time, since changes below a 256th of a link are not reported.
fn assert_takes(found: f64, expected: f64, context: &str) {
    let late = 3.0 * (INTERVAL.0 / CYCLE.0) as f64;
    assert!(
        (found - expected).abs() <= late + expected / 100.0,
        "{context}: {found} cycles, not {expected}"
    );
}

/// n flits in packets beside flows that take r of the link need n / (C - r), but packets get no less than their fair
/// share. Beside flows of three nodes that could take the whole link, 4 n.
#[test]
fn packets_get_what_flows_leave() {
    let flits = 40_000;
    for (rates, share) in [
        (&[0.25][..], 0.75),
        (&[0.5], 0.5),
        (&[0.9], 0.5),
        (&[0.125, 0.25], 0.625),
        (&[0.125, 1.0], 0.4375),
        (&[1.0, 1.0, 1.0], 0.25),
    ] {
        let sources = (2..).map(|node| 2 * node);
        let limits: Vec<_> = sources.zip(rates).map(|(node, &rate)| (node, rate)).collect();
        let net = group(&limits);
        let mut script = vec![of(0, message(LATER, 2, 0, flits * FLIT))];
        script.extend(
            limits
                .iter()
                .map(|&(node, _)| of(1, message(CYCLE, node as u32, 0, 1_000_000 * FLIT))),
        );
        assert_takes(cycles(&net, script), flits as f64 / share, &format!("beside {rates:?}"));
    }
}

/// Vice versa: a flow of n flits beside packets that take r of the link.
#[test]
fn flows_get_what_packets_leave() {
    let flits = 40_000;
    for (rates, share) in [
        (&[0.25][..], 0.75),
        (&[0.5], 0.5),
        (&[0.9], 0.5),
        (&[1.0, 1.0, 1.0], 0.25),
    ] {
        let sources = (2..).map(|node| 2 * node);
        let limits: Vec<_> = sources.zip(rates).map(|(node, &rate)| (node, rate)).collect();
        let net = group(&limits);
        let mut script = vec![of(1, message(LATER, 2, 0, flits * FLIT))];
        script.extend(
            limits
                .iter()
                .map(|&(node, _)| of(0, message(CYCLE, node as u32, 0, 200_000 * FLIT))),
        );
        assert_takes(cycles(&net, script), flits as f64 / share, &format!("beside {rates:?}"));
    }
}

/// One of each from the same time on, over the same link: both take twice as long as alone.
#[test]
fn a_flow_and_packets_share_alike() {
    let net = group(&[]);
    let flits = 50_000;
    let both = |first: u16| {
        let script =
            [(first, 2), (1 - first, 4)].map(|(traffic, node)| of(traffic, message(CYCLE, node, 0, flits * FLIT)));
        cycles(&net, script.to_vec())
    };
    let (packets, flow) = (both(0), both(1));
    assert_takes(packets, 2.0 * flits as f64, "packets");
    assert_takes(flow, 2.0 * flits as f64, "flow");
}

/// Three groups of two routers with a cable between each pair of groups. A flow from the gateway of group 2 to group 1
/// may go around by group 0. It does if the cable, its first link, is contended; then no flow waits. It does not know the
/// load of the link behind the cable, and takes twice as long beside another flow there.
#[test]
fn beside_packets_a_flow_avoids_only_links_whose_loads_its_routing_compares() {
    let net = Net::round(shape(3, 2, 2, 1)).routed(Algorithm::Ugal, Intermediate::Group);
    let net = mixed(&net, [false, true], INTERVAL);
    let dragonfly = net.routing();
    let topology = dragonfly.topology();
    // The routers at the ends of the cable from group 2 to group 1; each has two nodes.
    let cable = (4..6).flat_map(|router| {
        topology
            .ports_of_routers(router..router + 1)
            .map(move |port| (router, port))
    });
    let mut ends = cable.filter_map(|(from, port)| match topology.peer(port) {
        Peer::Router { router, .. } if router / 2 == 1 => Some((from, router)),
        _ => None,
    });
    let (from, entry) = ends.next().unwrap();
    let (beside_from, beside_entry) = (from ^ 1, entry ^ 1);
    let flits = 40_000;
    for (other, expected) in [
        ((2 * beside_from, 2 * entry), 1.0),
        ((2 * entry, 2 * beside_entry), 2.0),
    ] {
        let target = if expected == 1.0 {
            2 * entry + 1
        } else {
            2 * beside_entry + 1
        };
        let script = [(2 * from, target), other].map(|(node, to)| of(1, message(CYCLE, node, to, flits * FLIT)));
        assert_takes(
            cycles(&net, script.to_vec()),
            expected * flits as f64,
            &format!("beside {other:?}"),
        );
    }
}

/// A node whose packets and flows share only its NIC.
#[test]
fn a_nic_is_shared() {
    let net = group(&[]);
    let flits = 40_000;
    let script = vec![
        of(0, message(LATER, 2, 0, flits * FLIT)),
        of(1, message(CYCLE, 2, 6, 1_000_000 * FLIT)),
    ];
    assert_takes(cycles(&net, script), 2.0 * flits as f64, "half a NIC");
}

/// The shorter the interval, the closer a burst beside a flow comes to the closed form.
#[test]
fn a_shorter_interval_is_nearer() {
    let error = |interval: u64| {
        let mut net = group(&[(4, 0.5)]);
        net.params.coupling_interval = Some(Time(interval * CYCLE.0));
        let script = vec![
            of(0, message(LATER, 2, 0, 8_000 * FLIT)),
            of(1, message(CYCLE, 4, 0, 1_000_000 * FLIT)),
        ];
        (cycles(&net, script) - 16_000.0).abs()
    };
    let (coarse, fine) = (error(4_000), error(200));
    assert!(fine < 0.2 * coarse && coarse > 1_000.0, "{fine} and {coarse} cycles");
}

/// Without flows, or without packets, nothing is coupled.
#[test]
fn one_kind_alone_is_not_coupled() {
    every_network(|net, context| {
        let script: Vec<_> = random_messages(net, 150, 300, &SIZES, 5);
        let (packets, mut flows) = (net.clone(), net.clone());
        flows.params.fidelities = Fidelities::Same(Fidelity::Flow);
        for (one, all) in [([false, true], packets), ([true, false], flows)] {
            let found = play(&mixed(net, one, INTERVAL), script.clone()).digest();
            assert_eq!(found, play(&all, script.clone()).digest(), "{context}");
        }
    });
}

/// The networks of every routing, with routers that do not work in cycles.
fn every_network(mut run: impl FnMut(&Net, &str)) {
    every_fabric(|net, _, context| {
        if net.params.router != RouterModel::Pipelined {
            let mut net = mixed(net, [false, true], Time(40 * CYCLE.0));
            net.params.blame = context.len() % 2 == 0;
            run(&net, context);
        }
    });
}

/// Messages of both traffics, half of each.
fn both_kinds(net: &Net, n: usize, span: u64, seed: u64) -> Vec<Scripted> {
    let mut script = random_messages(net, n, span, &SIZES, seed);
    script.iter_mut().for_each(|m| m.traffic = (m.name % 2) as u16);
    script
}

#[test]
fn random_traffic_arrives_once_and_whole() {
    every_network(|net, context| {
        let script = both_kinds(net, 400, 1_000, 11);
        let mut ran = play(net, script.clone());
        ran.assert_complete(context);
        let measured = ran.fabric.measured();
        let sent: u64 = script.iter().map(|m| m.bytes).sum();
        assert_eq!(
            measured.nics.iter().map(|link| link.bytes).sum::<u64>(),
            sent,
            "{context}"
        );
        let topology = ran.fabric.routing().topology();
        for node in 0..topology.nodes() {
            let expected: u64 = script.iter().filter(|m| m.target == node).map(|m| m.bytes).sum();
            let port = &measured.ports[topology.node_port(node) as usize];
            assert_eq!(port.bytes, expected, "{context}: node {node}");
        }
    });
}

#[test]
fn parts_and_schedulers_make_no_difference() {
    assert_parts_make_no_difference(3);
}

#[test]
#[ignore = "takes long"]
fn parts_and_schedulers_make_no_difference_in_any_network() {
    assert_parts_make_no_difference(1);
}

fn assert_parts_make_no_difference(step: usize) {
    let mut in_sample = sample(step);
    every_network(|net, context| {
        if in_sample() {
            assert_equal_divided(net, &both_kinds(net, 150, 200, 3), context);
        }
    });
}

#[test]
fn published_loads_restore_from_a_saved_state() {
    assert_go_on(3);
}

#[test]
#[ignore = "takes long"]
fn published_loads_restore_in_any_network() {
    assert_go_on(1);
}

fn assert_go_on(step: usize) {
    let mut random = Stream::new(1, 0, Purpose::Host);
    let mut in_sample = sample(step);
    every_network(|net, context| {
        if in_sample() {
            let script = both_kinds(net, 120, 60, 6);
            assert_restores(net, &script, (&mut random, 400), context);
        }
    });
}

#[test]
fn every_event_can_be_undone() {
    assert_every_event_can_be_undone(3);
}

#[test]
#[ignore = "takes long"]
fn every_event_can_be_undone_in_any_network() {
    assert_every_event_can_be_undone(1);
}

/// Every event is done, undone and redone, at a load that fills minimal buffers.
fn assert_every_event_can_be_undone(step: usize) {
    let mut in_sample = sample(step);
    for router in ROUTERS {
        for switching in SWITCHINGS {
            for (algorithm, intermediate, _) in ROUTINGS {
                if !in_sample() {
                    continue;
                }
                let mut net = Net::round(shape(3, 2, 2, 1))
                    .routed(algorithm, intermediate)
                    .smallest_buffers()
                    .with(router);
                (net.params.switching, net.candidates) = (switching, 2);
                let net = mixed(&net, [false, true], Time(40 * CYCLE.0));
                let script = both_kinds(&net, 28, 14, 6);
                let mut harness = RollbackCheck::new(Play::new(&net, script.clone()));
                let context = format!("{router:?} {switching:?} {algorithm:?} {intermediate:?}");
                harness
                    .run(u64::MAX)
                    .unwrap_or_else(|error| panic!("{context}: {error}"));
                assert_eq!(harness.model().digest(), play(&net, script).digest(), "{context}");
            }
        }
    }
}

//! Messages as flows: closed forms, conservation, and equal results on every scheduler.

use crate::common::{
    CYCLE, FLIT, Net, SIZES, Scripted, assert_equal_divided, assert_restores, every_fabric, link, message, named, play,
};
use crate::common::{random_messages, shape};
use odonata_engine::random::Purpose;
use odonata_engine::{Stream, Time};
use odonata_network::settings::Fidelity;
use odonata_network::{Fidelities, RouterModel};
use odonata_topology::LinkClass;

fn flows(net: &Net) -> Net {
    let mut net = net.clone();
    net.params.fidelities = Fidelities::Same(Fidelity::Flow);
    net
}

/// The networks of every routing, with routers that do not work in cycles.
fn every_network(mut run: impl FnMut(&Net, &str)) {
    every_fabric(|net, _, context| {
        if net.params.router != RouterModel::Pipelined {
            run(&flows(net), context);
        }
    });
}

/// A message alone arrives when it does as packets, up to rounding: between nodes of one router, of a group, of two
/// groups.
#[test]
fn a_message_alone_takes_as_long_as_in_packets() {
    let net = Net::round(shape(5, 4, 2, 2));
    for target in [1, 5, 20, 39] {
        for bytes in [0, 1, FLIT, 5 * FLIT + 3, 8 * FLIT, 9 * FLIT, 100 * FLIT] {
            let script = vec![message(CYCLE, 0, target, bytes)];
            let packets = play(&net, script.clone()).arrival(0);
            let as_flow = play(&flows(&net), script).arrival(0);
            assert!(
                packets.0.abs_diff(as_flow.0) <= 3,
                "{bytes} bytes to {target}: {packets:?} and {as_flow:?}"
            );
        }
    }
}

/// n sources, each with s bytes for one node from the same time on, share its link: all end together, after n s / b and
/// the latency between nodes of one group.
#[test]
fn sources_of_one_node_share_its_link() {
    let net = flows(&Net::round(shape(1, 5, 2, 0)));
    let bytes = 1000 * FLIT;
    let script = named((2..8).map(|source| message(CYCLE, source, 0, bytes)).collect());
    let alone = play(&net, named(vec![message(CYCLE, 2, 0, bytes)])).arrival(0);
    let ran = play(&net, script);
    // Five more sources at a flit per cycle.
    let expected = alone.0 + 5 * 1000 * CYCLE.0;
    for name in 0..6 {
        let at = ran.arrival(name).0;
        assert!(at.abs_diff(expected) <= 20, "message {name} at {at} ps, not {expected}");
    }
}

/// The second of a node's two messages starts when the first has been sent.
#[test]
fn messages_of_a_node_go_one_after_the_other() {
    let net = flows(&Net::round(shape(1, 5, 2, 0)));
    let bytes = 1000 * FLIT;
    let ran = play(
        &net,
        named(vec![message(CYCLE, 0, 4, bytes), message(CYCLE, 0, 6, bytes)]),
    );
    let between = ran.arrival(1).0 - ran.arrival(0).0;
    assert!(between.abs_diff(1000 * CYCLE.0) <= 5, "{between} ps");
}

/// Two nodes send n flits each to a third one, where each gets half of the link. The first node's next message, m flits
/// to another node, starts when the buffer of B behind its NIC holds the rest of its n flits. These take 2 B more
/// cycles, in which the second message has the other half of the NIC. Both end 2 n + m - B cycles after the start, B
/// earlier than in sequence.
#[test]
fn a_nic_starts_the_next_message_when_the_rest_fits_its_buffer() {
    let (n, m) = (4_000, 3_000);
    for buffer in [32, 500, 1_500] {
        let mut net = flows(&Net::round(shape(1, 5, 2, 0)));
        net.params.links[LinkClass::Terminal as usize] = link(1, 2, buffer, 1);
        let start = |source, target, flits| message(CYCLE, source, target, flits * FLIT);
        let alone = play(&net, named(vec![start(0, 8, 1)])).arrival(0).0 - CYCLE.0;
        let script = named(vec![start(0, 4, n), start(0, 8, m), start(2, 4, n)]);
        let ran = play(&net, script);
        let first = ran.arrival(0).0 - alone;
        let expected = (1 + 2 * n - 1) * CYCLE.0;
        assert!(
            first.abs_diff(expected) <= 20,
            "buffer {buffer}: {first} ps, not {expected}"
        );
        let both = ran.arrival(1).0 - alone;
        let expected = (1 + 2 * n + m - buffer - 1) * CYCLE.0;
        assert!(
            both.abs_diff(expected) <= 20,
            "buffer {buffer}: {both} ps, not {expected}"
        );
    }
}

/// A node's message to a target of an earlier blocked message queues behind that: a node has one share of the link.
#[test]
fn a_node_has_one_share_of_a_link() {
    let net = flows(&Net::round(shape(1, 5, 2, 0)));
    let start = |source, flits| message(CYCLE, source, 4, flits * FLIT);
    // Alone with the other half of the link, two messages of 1,000 flits take as long as one of 2,000.
    let times = |script: Vec<Scripted>| {
        let ran = play(&net, named(script.clone()));
        (0..script.len()).map(|name| ran.arrival(name).0).max()
    };
    let two = times(vec![start(0, 1_000), start(0, 1_000), start(2, 2_000)]).unwrap();
    let one = times(vec![start(0, 2_000), start(2, 2_000)]).unwrap();
    assert!(two.abs_diff(one) <= 20, "{two} and {one} ps");
}

/// Two nodes of different routers have long been sending to a third node, so that the buffers upstream of its link are
/// full. A new flow from the router of one of them waits behind the B flits of that node in the buffer behind their
/// link, which drain at half a flit per cycle: 2 B cycles longer than a flow from a router without backlog there.
#[test]
fn a_late_flow_waits_behind_the_backlog_in_buffers() {
    let (long, flits) = (20_000, 2_000);
    for buffer in [64, 256] {
        let mut net = flows(&Net::round(shape(1, 5, 2, 0)));
        net.params.links[LinkClass::Local as usize] = link(1, 5, buffer, 2);
        let later = Time(10_000 * CYCLE.0);
        let run = |from: u32| {
            let script = named(vec![
                message(CYCLE, 0, 8, long * FLIT),
                message(CYCLE, 2, 8, long * FLIT),
                message(later, from, 8, flits * FLIT),
            ]);
            (play(&net, script).arrival(2) - later).0 as f64 / CYCLE.0 as f64
        };
        let (own_link, shared) = (run(4), run(1));
        let wait = 2.0 * buffer as f64;
        let between = shared - own_link;
        assert!(
            (between - wait).abs() <= 0.1 * wait + 2.0,
            "buffer {buffer}: {between} cycles, not {wait}"
        );
    }
}

#[test]
fn random_traffic_arrives_once_and_whole() {
    every_network(|net, context| {
        let script = random_messages(net, 400, 1_000, &SIZES, 11);
        let mut ran = play(net, script.clone());
        ran.assert_complete(context);
        let measured = ran.fabric.measured();
        let sum = |bytes: &mut dyn Iterator<Item = u64>| bytes.sum::<u64>();
        let sent: u64 = script.iter().map(|m| m.bytes).sum();
        assert_eq!(sum(&mut measured.nics.iter().map(|link| link.bytes)), sent, "{context}");
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
    every_network(|net, context| {
        let script = random_messages(net, 150, 200, &SIZES, 3);
        assert_equal_divided(net, &script, context);
    });
}

#[test]
fn flows_restore_from_a_saved_state() {
    let mut random = Stream::new(1, 0, Purpose::Host);
    every_network(|net, context| {
        let script = random_messages(net, 120, 60, &SIZES, 6);
        assert_restores(net, &script, (&mut random, 400), context);
    });
}

/// Ten groups send at full rate to the next: minimal paths share one global cable; UGAL uses other paths as well, and
/// finishes sooner.
#[test]
fn adaptive_flows_avoid_a_contended_cable() {
    use odonata_network::routing::{Algorithm, Intermediate};
    let minimal = Net::round(shape(5, 4, 2, 2));
    let adaptive = minimal.clone().routed(Algorithm::Ugal, Intermediate::Group);
    let per_group = 8;
    let script = named(
        (0..40)
            .map(|node| message(CYCLE, node, (node + per_group) % 40, 2000 * FLIT))
            .collect(),
    );
    let end = |net: &Net| {
        play(&flows(net), script.clone())
            .fates()
            .iter()
            .map(|fate| fate.at)
            .max()
    };
    let (minimal, adaptive) = (end(&minimal), end(&adaptive));
    assert!(adaptive < minimal, "{adaptive:?}, {minimal:?}");
    assert!(minimal > Some(Time(8 * 2000 * CYCLE.0 / 2)), "{minimal:?}");
}

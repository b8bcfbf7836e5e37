//! Queues of flows: closed forms of the waits of packets behind them, and of the effect of packets.
//!
//! Ten nodes of one group, two per router. n flows, each from another router, go to node 0 and get 1 / n of its link
//! each; all buffers upstream are full. Packets have P = 8 flits.

use super::{INTERVAL, LATER, assert_takes, cycles, group, of};
use crate::common::{CYCLE, FLIT, Net, Scripted, link, links, message, named, play};
use odonata_engine::Time;
use odonata_network::Fidelities;
use odonata_network::settings::Fidelity;

const PACKET: u64 = 8;

/// The group with buffers of `buffer` flits behind its local links.
fn net(buffer: u64) -> Net {
    let mut net = group(&[]);
    net.params.links = links([link(1, 2, 32, 1), link(1, 5, buffer, 2), link(1, 20, 64, 4)]);
    net
}

/// `n` flows to node 0, of `flits` flits each.
fn flows(n: u32, flits: u64) -> impl Iterator<Item = Scripted> {
    (1..=n).map(move |router| of(1, message(CYCLE, 2 * router, 0, flits * FLIT)))
}

/// Cycles that a packet takes from node 3, on the router of the first flow, to `target`, sent `at`; an earlier packet
/// has made the links known.
fn packet(net: &Net, target: u32, at: Time, flows: impl Iterator<Item = Scripted>) -> f64 {
    let one = |at| message(at, 3, target, PACKET * FLIT);
    let script: Vec<_> = [one(at), one(LATER)].into_iter().chain(flows).collect();
    cycles(net, script)
}

/// Its input buffer holds B flits of a flow for the same output, which drain at 1 / n: a packet waits n B. Between two
/// buffer sizes the difference is n (B - B'), up to a 16th that is not reported.
#[test]
fn a_packet_waits_for_the_backlog_in_its_buffer() {
    for n in 2..=4 {
        let with = |buffer| packet(&net(buffer), 0, Time(2 * LATER.0), flows(n, 1_000_000));
        for (small, large) in [(32, 64), (64, 160)] {
            let (found, expected) = (with(large) - with(small), f64::from(n) * (large - small) as f64);
            let untold = f64::from(n) * (large + small) as f64 / 16.0;
            assert!(
                (found - expected).abs() <= untold,
                "{n} flows, {small} and {large}: {found}, not {expected}"
            );
        }
    }
}

/// From a node beside that of a flow to another target: the queue for the buffer on the path takes turns, and a packet
/// of the flow arrives every n P cycles. Beside it the packet has 1 - 1 / n of the link.
#[test]
fn a_packet_without_backlog_ahead_waits_for_its_turn() {
    let net = net(32);
    for n in 2..=4 {
        let at = Time(2 * LATER.0);
        let found = packet(&net, 1, at, flows(n, 1_000_000)) - packet(&net, 1, at, flows(0, 0));
        let (p, n) = (PACKET as f64, f64::from(n));
        let expected = n * p + p / (1.0 - 1.0 / n) - p;
        assert!((found - expected).abs() <= 2.0, "{n} flows: {found}, not {expected}");
    }
}

/// Many packets there get the same rate as the flow, taking turns packet by packet: F flits take n F cycles. The same
/// holds if the others are packets.
#[test]
fn packets_that_take_turns_get_as_much_as_the_flow() {
    let (net, flits) = (net(32), 40_000);
    let mut packets = net.clone();
    packets.params.fidelities = Fidelities::Same(Fidelity::Packet);
    packets.params.coupling_interval = None;
    for n in 2..=4 {
        let others = flows(n, 200_000);
        let script: Vec<_> = std::iter::once(message(LATER, 3, 1, flits * FLIT))
            .chain(others)
            .collect();
        let expected = f64::from(n) * flits as f64;
        assert_takes(cycles(&net, script.clone()), expected, &format!("beside {n} flows"));
        assert_takes(
            cycles(&packets, script),
            expected,
            &format!("beside {n} others in packets"),
        );
    }
}

/// A flow has no more in buffers than its source has left: when it ends they are empty, and a packet takes as long as
/// without flows.
#[test]
fn queues_end_with_their_flows() {
    let net = net(160);
    for target in [0, 1] {
        let at = Time(3 * LATER.0);
        let found = packet(&net, target, at, flows(3, 2_000));
        assert!(
            (found - packet(&net, target, at, flows(0, 0))).abs() < 1e-9,
            "to {target}: {found}"
        );
    }
}

/// A link that only one flow uses has no queue.
#[test]
fn a_flow_alone_has_no_queue() {
    let one = |target| message(Time(2 * LATER.0), 3, target, PACKET * FLIT);
    for buffer in [32, 160] {
        let net = net(buffer);
        let script = named([one(1)].into_iter().chain(flows(1, 1_000_000)).collect());
        let alone = named(vec![one(1)]);
        let late = play(&net, script).arrival(0) - play(&net, alone).arrival(0);
        assert!(late < INTERVAL, "{late:?}");
    }
}

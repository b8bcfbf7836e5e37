//! Queues of flows: closed forms of how long packets wait behind them, and what packets beside packets do.
//!
//! Ten nodes of one group, two to a router. n flows, each from another router, go to node 0 and get 1 / n of its link; all buffers before that
//! are full. Packets are of P = 8 flits.

use super::{INTERVAL, LATER, assert_takes, cycles, group, of};
use crate::common::{CYCLE, FLIT, Net, Scripted, link, links, message, named, play};
use odonata_engine::Time;
use odonata_network::Fidelities;
use odonata_network::settings::Fidelity;

const PACKET: u64 = 8;

/// The group with buffers of so many flits behind its local links.
fn net(buffer: u64) -> Net {
    let mut net = group(&[]);
    net.params.links = links([link(1, 2, 32, 1), link(1, 5, buffer, 2), link(1, 20, 64, 4)]);
    net
}

/// `n` flows to node 0, of so many flits each.
fn flows(n: u32, flits: u64) -> impl Iterator<Item = Scripted> {
    (1..=n).map(move |router| of(1, message(CYCLE, 2 * router, 0, flits * FLIT)))
}

/// How long a packet takes from node 3, on the router of the first flow, to `target`, sent `at`, cycles; the links are known from
/// one before it.
fn packet(net: &Net, target: u32, at: Time, flows: impl Iterator<Item = Scripted>) -> f64 {
    let one = |at| message(at, 3, target, PACKET * FLIT);
    let script: Vec<_> = [one(at), one(LATER)].into_iter().chain(flows).collect();
    cycles(net, script)
}

/// Its input buffer holds B flits of a flow for the same output, which drain at 1 / n: a packet waits n B. Of two buffers it is the
/// difference, n (B - B'), but for a 16th that is not told.
#[test]
fn a_packet_waits_for_what_lies_before_it_in_its_buffer() {
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

/// From a node beside that of a flow to another one than the flow's: the queue for the buffer on the way takes turns, and one of the
/// flow comes every n P cycles. Beside it the packet has 1 - 1 / n of the link.
#[test]
fn a_packet_waits_for_its_turn_where_nothing_lies_before_it() {
    let net = net(32);
    for n in 2..=4 {
        let at = Time(2 * LATER.0);
        let found = packet(&net, 1, at, flows(n, 1_000_000)) - packet(&net, 1, at, flows(0, 0));
        let (p, n) = (PACKET as f64, f64::from(n));
        let expected = n * p + p / (1.0 - 1.0 / n) - p;
        assert!((found - expected).abs() <= 2.0, "{n} flows: {found}, not {expected}");
    }
}

/// Many packets there go as fast as the flow, packet by packet in turn: F flits take n F cycles. So they do if the others are packets.
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

/// A flow has no more in buffers than its source has left: with its end they are empty, and a packet takes as long as ever.
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

/// What only one flow wants, nobody queues for.
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

//! Blame among flows: closed forms of shared links, and sums that always hold.

use crate::common::*;
use odonata_engine::Time;
use odonata_network::routing::Algorithm;
use odonata_network::settings::Fidelity;
use odonata_network::{Fidelities, LinkCharge, RouterModel};

const A: u16 = 0;
const B: u16 = 1;
const C: u16 = 2;

fn of(traffic: u16, message: Scripted) -> Scripted {
    Scripted { traffic, ..message }
}

/// The network with all messages as flows, of three traffics.
fn flows(net: &Net) -> Net {
    let mut net = net.clone();
    net.params.fidelities = Fidelities::Same(Fidelity::Flow);
    net.params.traffics = 3;
    net
}

/// (link, victim, culprit, cycles) of all charges.
fn charges(model: &Play) -> Vec<(u32, u16, u16, u64)> {
    let cycles = |c: &LinkCharge| (c.time.0 + CYCLE.0 / 2) / CYCLE.0;
    let found = model.fabric.blame().into_iter();
    found
        .map(|c| (c.link, c.victim, c.culprit.unwrap(), cycles(&c)))
        .collect()
}

/// Six sources, one of A, two of B and three of C, send n flits each to one node: each gets a sixth of its link and
/// waits 5 n cycles, n for each other source.
#[test]
fn flows_wait_for_the_others_on_a_link_by_their_shares() {
    let net = flows(&Net::round(shape(1, 5, 2, 0)));
    let n = 1000;
    let owners = [A, B, B, C, C, C];
    let script = (2..)
        .zip(owners)
        .map(|(source, owner)| of(owner, message(CYCLE, source, 0, n * FLIT)));
    let model = play(&net, named(script.collect()));
    let port = model.fabric.routing().topology().node_port(0);
    let of_owner = |victim, culprit, sources: u64| (port, victim, culprit, sources * n);
    let expected = [
        of_owner(A, B, 2),
        of_owner(A, C, 3),
        of_owner(B, A, 2),
        of_owner(B, B, 2),
        of_owner(B, C, 6),
        of_owner(C, A, 3),
        of_owner(C, B, 6),
        of_owner(C, C, 6),
    ];
    assert_eq!(charges(&model), expected);
}

/// A's flow has n flits and shares a link with one of B, until B has sent its m < n flits: A waits m cycles, B as many.
/// A flow with a slow NIC has its full rate, and waits for no other; a flow that shares with it waits for its rate.
#[test]
fn a_flow_waits_at_its_bottleneck() {
    let mut net = flows(&Net::round(shape(1, 5, 2, 0)));
    let (n, m) = (3000, 1000);
    let script = named(vec![
        of(A, message(CYCLE, 2, 0, n * FLIT)),
        of(B, message(CYCLE, 4, 0, m * FLIT)),
    ]);
    let model = play(&net, script.clone());
    let port = model.fabric.routing().topology().node_port(0);
    assert_eq!(charges(&model), [(port, A, B, m), (port, B, A, m)]);
    let mut rates = vec![None; 10];
    rates[4] = Some(odonata_units::Bandwidth(0.25 * FLIT as f64 * 1e9));
    net.params.nic_rates = Some(rates.into());
    let model = play(&net, script);
    // All n flits of A go at 3/4, while B's take 4 m cycles.
    assert_eq!(charges(&model), [(port, A, B, n / 3)]);
}

/// The second message of a node waits at its NIC for the first.
#[test]
fn messages_of_a_node_wait_for_those_before_them() {
    let net = flows(&Net::round(shape(1, 5, 2, 0)));
    let (first, second) = (700, 200);
    let model = play(
        &net,
        named(vec![
            of(A, message(CYCLE, 0, 4, first * FLIT)),
            of(B, message(CYCLE, 0, 6, second * FLIT)),
            of(C, message(CYCLE, 0, 6, second * FLIT)),
        ]),
    );
    let nic = model.fabric.routing().topology().ports();
    let expected = [(nic, B, A, first), (nic, C, A, first), (nic, C, B, second)];
    assert_eq!(charges(&model), expected);
}

/// A late flow waits at a bottleneck for the backlog in the buffers upstream: its total wait is its time in excess of
/// its time alone.
#[test]
fn a_late_flow_is_charged_for_the_backlog_in_buffers() {
    let mut net = flows(&Net::round(shape(1, 5, 2, 0)));
    net.params.links[1] = link(1, 5, 256, 2);
    let later = Time(10_000 * CYCLE.0);
    let late = of(C, message(later, 1, 8, 2000 * FLIT));
    let script = named(vec![
        of(A, message(CYCLE, 0, 8, 20_000 * FLIT)),
        of(B, message(CYCLE, 2, 8, 20_000 * FLIT)),
        late,
    ]);
    let model = play(&net, script);
    let alone = play(&net, named(vec![late])).arrival(0) - late.at;
    let waited = model.arrival(2) - late.at - alone;
    let of_late = |culprit: Option<u16>| -> u64 {
        let found = model.fabric.blame().into_iter();
        let mine = found.filter(|c| c.victim == C && (culprit.is_none() || c.culprit == culprit));
        mine.map(|c| c.time.0).sum()
    };
    let all = of_late(None);
    assert!(all.abs_diff(waited.0) <= 20, "{all} ps charged, {waited:?} waited");
    // 256 of A's flits are in the buffer that the late flow passes, and drain at half a flit per cycle.
    let (a, b) = (of_late(Some(A)), of_late(Some(B)));
    assert!((a - b).abs_diff(2 * 256 * CYCLE.0) <= 20 * CYCLE.0, "{a} and {b} ps");
    let port = model.fabric.routing().topology().node_port(8);
    assert!(charges(&model).iter().all(|charge| charge.0 == port));
}

/// A message over one path is late by the sum of its waits, at its NIC and as a flow. So the sum of all waits equals
/// the sum of all delays.
#[test]
fn waits_equal_the_delays_of_messages() {
    every_fabric(|net, _, context| {
        if net.algorithm != Algorithm::Minimal || net.params.router == RouterModel::Pipelined {
            return;
        }
        let mut net = flows(net);
        // One path per pair of nodes.
        net.shape.cables = Some(1);
        let alone = |m: &Scripted| play(&net, named(vec![of(A, *m)])).arrival(0) - m.at;
        let mut script = random_messages(&net, 150, 2_000, &[FLIT, 50 * FLIT, 400 * FLIT], 5);
        script.iter_mut().for_each(|m| m.traffic = (m.name % 3) as u16);
        let model = play(&net, script.clone());
        let late = script.iter().enumerate();
        let late: u64 = late.map(|(i, m)| (model.arrival(i) - m.at - alone(m)).0).sum();
        let charged: u64 = model.fabric.blame().iter().map(|c| c.time.0).sum();
        assert!(
            late > 2_000 * CYCLE.0,
            "{context}: {late} ps are no traffic to speak of"
        );
        // Rates are recomputed a picosecond after flows start or end.
        let rounding = late / 1_000;
        assert!(
            late.abs_diff(charged) <= rounding,
            "{context}: {charged} ps charged, {late} ps late"
        );
    });
}

/// Blame changes no other result, for every routing.
#[test]
fn blame_changes_no_result() {
    every_fabric(|net, _, context| {
        if net.params.router == RouterModel::Pipelined {
            return;
        }
        let mut net = flows(net);
        net.params.series = Some(Time(50 * CYCLE.0));
        let mut script = random_messages(&net, 200, 300, &SIZES, 11);
        script.iter_mut().for_each(|m| m.traffic = (m.name % 3) as u16);
        assert_blame_changes_nothing(&net, script, context);
    });
}

/// A flow of B beside packets of A, which take half of the link: it waits for A for the time that it takes in excess of
/// its time alone. Packets have a separate ledger.
#[test]
fn flows_wait_for_packets_beside_them() {
    let mut net = flows(&Net::round(shape(1, 5, 2, 0)));
    net.params.fidelities = Fidelities::PerTraffic([Fidelity::Packet, Fidelity::Flow, Fidelity::Flow].into());
    net.params.coupling_interval = Some(Time(500 * CYCLE.0));
    let flow = of(B, message(Time(5_000 * CYCLE.0), 4, 0, 20_000 * FLIT));
    let script = named(vec![flow, of(A, message(CYCLE, 2, 0, 100_000 * FLIT))]);
    let model = play(&net, script);
    let alone = play(&net, named(vec![flow])).arrival(0) - flow.at;
    let waited = (model.arrival(0) - flow.at - alone).0;
    let found = model.fabric.blame().into_iter().filter(|c| c.victim == B);
    let (mut own, mut of_a) = (0, 0);
    found.for_each(|c| match c.culprit {
        Some(A) => of_a += c.time.0,
        _ => own += c.time.0,
    });
    assert_eq!(own, 0);
    assert!(
        waited.abs_diff(of_a) <= waited / 100,
        "{of_a} ps charged, {waited} ps waited"
    );
    assert!(waited.abs_diff(20_000 * CYCLE.0) <= waited / 10, "{waited} ps");
}

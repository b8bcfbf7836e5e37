//! Blame: constructed cases with known charges, and sums that always hold.

use crate::common::*;
use odonata_engine::Time;
use odonata_network::routing::Algorithm;
use odonata_network::{LinkCharge, RESOURCES};
use odonata_topology::Peer;

/// The traffic of jobs A and B.
const A: u16 = 0;
const B: u16 = 1;

fn of(traffic: u16, message: Scripted) -> Scripted {
    Scripted { traffic, ..message }
}

fn cycles(n: u64) -> Time {
    Time(n * CYCLE.0)
}

/// (resource, culprit, cycles) of the waits of `victim` at the link between two routers.
fn at_link(model: &Play, from: u32, to: u32, victim: u16) -> Vec<(&'static str, Option<u16>, u64)> {
    let topology = model.fabric.routing().topology();
    let here = |c: &LinkCharge| {
        c.link < topology.ports()
            && topology.router_of_port(c.link) == from
            && matches!(topology.peer(c.link), Peer::Router { router, .. } if router == to)
    };
    let charges = model.fabric.blame();
    let mine = charges.iter().filter(|c| here(c) && c.victim == victim);
    mine.map(|c| (RESOURCES[usize::from(c.resource)], c.culprit, c.time.0 / CYCLE.0))
        .collect()
}

/// Time from submission to arrival of `message` in an otherwise idle network.
fn alone(net: &Net, message: Scripted) -> Time {
    play(net, named(vec![message])).arrival(0) - message.at
}

/// Nodes 0 and 1 of router 0 send one packet of 8 flits each to router 1, in the same cycle. Their heads are routed at
/// the same instant; the second waits until the first has left: 8 flits at one per cycle.
#[test]
fn two_jobs_on_one_link() {
    let mut net = Net::round(shape(3, 2, 2, 1));
    net.params.traffics = 2;
    let packet = 8 * FLIT;
    let script = vec![
        of(A, message(cycles(1), 0, 2, packet)),
        of(B, message(cycles(1), 1, 3, packet)),
    ];
    let model = play(&net, named(script));
    assert_eq!(at_link(&model, 0, 1, A), []);
    assert_eq!(at_link(&model, 0, 1, B), [("link", Some(A), 8)]);
    assert_eq!(model.fabric.blame().len(), 1);
    assert_eq!(model.fabric.waited(B).time, cycles(8));
}

/// Job B sends from node 0 of router 0 and from node 4 of router 2 to the same node 6 of router 3, whose terminal link
/// carries only one of the two streams. The other backs up, buffer by buffer, to router 0. Job A's packet goes from
/// there to router 1, the first router on that path, with no traffic beyond. It waits for a buffer that is full because
/// of a link three hops away, and only B is to blame.
#[test]
fn one_job_behind_a_full_buffer_three_hops_away() {
    for router in ROUTERS {
        // Groups 0 (routers 0, 1) and 1 (2, 3); the cable between them is at routers 1 and 2 or 0 and 3.
        let mut net = Net::round(shape(3, 2, 2, 1)).smallest_buffers().with(router);
        net.params.traffics = 2;
        let model = play(&net, named(vec![message(cycles(1), 0, 6, 1)]));
        let topology = model.fabric.routing().topology();
        let gateway = (0..2)
            .find(|&r| {
                topology
                    .ports_of(r)
                    .any(|port| matches!(topology.peer(port), Peer::Router { router, .. } if router / 2 == 1))
            })
            .unwrap();
        // The router of group 0 without the cable, the first node of each router, and B's target.
        let start = 1 - gateway;
        let far = (2..4)
            .find(|&r| {
                !topology
                    .ports_of(r)
                    .any(|port| matches!(topology.peer(port), Peer::Router { router, .. } if router == gateway))
            })
            .unwrap();
        let (target, other) = (2 * far, 2 * far + 1);
        let packet = 8 * FLIT;
        let mut script = vec![
            of(B, message(cycles(1), 2 * start, target, 40 * packet)),
            of(B, message(cycles(1), other, target, 40 * packet)),
        ];
        let probe = of(A, message(cycles(150), 2 * start + 1, 2 * gateway, packet));
        script.push(probe);
        let model = play(&net, named(script));
        let waits = at_link(&model, start, gateway, A);
        let all: Vec<LinkCharge> = model.fabric.blame().into_iter().filter(|c| c.victim == A).collect();
        assert!(all.iter().all(|c| c.culprit == Some(B)), "{router:?}: {all:?}");
        let of_resource = |name: &str| waits.iter().filter(|w| w.0 == name).map(|w| w.2).sum::<u64>();
        assert!(of_resource("credit") > of_resource("link"), "{router:?}: {waits:?}");
        // All its delay is charged, and nothing else.
        let delay = model.arrival(2) - probe.at - alone(&net, probe);
        let booked = all.iter().fold(Time::ZERO, |sum, c| sum + c.time);
        assert_eq!(booked, delay, "{router:?}");
        assert!(delay > cycles(8), "{router:?}: it was in the way of something");
        // A has no packet at the link that causes the delay.
        let terminal = topology.node_port(target);
        assert!(all.iter().all(|c| c.link != terminal));
        assert!(model.fabric.blame().iter().any(|c| c.link == terminal && c.victim == B));
    }
}

/// A message of one packet is late by the sum of its waits, with every router model. So the sum of all waits equals the
/// sum of all delays.
#[test]
fn waits_equal_the_delays_of_messages() {
    every_fabric(|net, _, context| {
        if net.algorithm != Algorithm::Minimal {
            return;
        }
        let mut net = net.clone();
        // One path per pair of nodes.
        net.shape.cables = Some(1);
        net.params.traffics = 3;
        let sizes = [1, FLIT, 3 * FLIT, 8 * FLIT];
        let mut script = random_messages(&net, 400, 200, &sizes, 5);
        script.iter_mut().for_each(|m| m.traffic = (m.name % 3) as u16);
        let model = play(&net, script.clone());
        let late = script
            .iter()
            .enumerate()
            .map(|(i, m)| model.arrival(i) - m.at - alone(&net, Scripted { traffic: 0, ..*m }))
            .fold(Time::ZERO, |sum, time| sum + time);
        let waited = (0..3).fold(Time::ZERO, |sum, i| sum + model.fabric.waited(i).time);
        let charged = model.fabric.blame().iter().fold(Time::ZERO, |sum, c| sum + c.time);
        assert!(late > cycles(200), "{context}: {late:?} is no traffic to speak of");
        assert_eq!((waited, charged), (late, late), "{context}");
    });
}

/// Blame changes no other result.
#[test]
fn blame_changes_no_result() {
    every_fabric(|net, _, context| {
        let mut net = net.clone();
        net.params.traffics = 2;
        net.params.series = Some(cycles(50));
        let mut script = random_messages(&net, 300, 300, &SIZES, 11);
        script.iter_mut().for_each(|m| m.traffic = (m.name % 2) as u16);
        assert_blame_changes_nothing(&net, script, context);
    });
}

/// With one packet in four sampled, the charges at routers estimate all charges. Messages of one packet wait for `w` in
/// total and are sampled independently with p = 1/4, so the standard error of the sum of `4 w` over the sample is
/// `sqrt(3 sum of w^2)`. At NICs, where messages wait, everything is charged.
#[test]
fn sampled_charges_estimate_all_charges_within_their_standard_error() {
    every_fabric(|net, _, context| {
        if net.algorithm != Algorithm::Minimal {
            return;
        }
        let mut net = net.clone();
        net.shape.cables = Some(1);
        net.params.traffics = 2;
        let mut script = random_messages(&net, 800, 300, &[1, FLIT, 3 * FLIT, 8 * FLIT], 7);
        script.iter_mut().for_each(|m| m.traffic = (m.name % 2) as u16);
        let all = play(&net, script.clone());
        net.params.blame_sampling = 4;
        let sample = play(&net, script.clone());
        let ports = all.fabric.routing().topology().ports();
        let sums = |model: &Play| {
            let charges = model.fabric.blame();
            // In a buffer fed by a NIC, packets wait, not messages.
            let at_nic =
                |charge: &&LinkCharge| charge.link >= ports && RESOURCES[usize::from(charge.resource)] != "input";
            let sum = |nic: bool| {
                let those = charges.iter().filter(|charge| at_nic(charge) == nic);
                those.map(|charge| charge.time.0).sum::<u64>()
            };
            (sum(true), sum(false))
        };
        let ((at_nics, at_routers), (sampled_nics, sampled)) = (sums(&all), sums(&sample));
        assert_eq!(at_nics, sampled_nics, "{context}");
        // The delay of a message is at least the wait of its packet at routers.
        let squares: f64 = (script.iter().enumerate())
            .map(|(i, m)| {
                assert_eq!(all.arrival(i), sample.arrival(i), "{context}: blame changes nothing");
                let late = all.arrival(i) - m.at - alone(&net, Scripted { traffic: 0, ..*m });
                (late.0 as f64).powi(2)
            })
            .sum();
        let error = (sampled as f64 - at_routers as f64).abs();
        assert!(at_routers > 0 && sampled != at_routers, "{context}: it is an estimate");
        assert!(
            error < 3.0 * (3.0 * squares).sqrt(),
            "{context}: {sampled} of {at_routers}"
        );
    });
}

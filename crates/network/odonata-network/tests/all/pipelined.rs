//! The pipelined router: closed forms, conservation, independence of superfluous wake-ups and of the order of parts.

use crate::common::{
    CYCLE, FLIT, Net, Play, ROUTINGS, Scripted, assert_blame_changes_nothing, assert_can_be_undone,
    assert_equal_divided, assert_restores, finish, link, links, message, named, play, random_messages, sample, shape,
};
use odonata_engine::random::Purpose;
use odonata_engine::{Stream, Time};
use odonata_network::{Allocator, Arbitration, InputQueues, Pipeline, RESOURCES, RouterModel, Switching};

const SWITCHINGS: [Switching; 3] = [Switching::Wormhole, Switching::CutThrough, Switching::StoreAndForward];

/// A dragonfly of pipelined routers; flits take one cycle on every link.
pub(crate) fn pipelined(switching: Switching) -> Net {
    let mut net = Net::round(shape(5, 4, 2, 2)).with((RouterModel::Pipelined, InputQueues::VirtualOutput));
    net.params.traffics = 3;
    net.params.switching = switching;
    net.params.links = links([link(1, 2, 32, 3), link(1, 5, 32, 7), link(1, 20, 64, 22)]);
    net
}

/// Random messages of three traffics, see [`random_messages`].
pub(crate) fn of_three(net: &Net, n: usize, span: u64, sizes: &[u64], seed: u64) -> Vec<Scripted> {
    let mut script = random_messages(net, n, span, sizes, seed);
    script.iter_mut().for_each(|m| m.traffic = (m.name % 3) as u16);
    script
}

/// Cycles that `bytes` take from node 0 to `target`.
fn latency(net: &Net, target: u32, bytes: u64) -> u64 {
    let mut model = play(net, named(vec![message(CYCLE, 0, target, bytes)]));
    model.assert_complete("one message");
    let time = model.arrival(0) - CYCLE;
    assert_eq!(time.0 % CYCLE.0, 0);
    time.0 / CYCLE.0
}

/// Number of routers, and total latency of the links between them, from node 0 to `target` of the dragonfly above.
fn way(net: &Net, target: u32) -> (u64, u64) {
    let dragonfly = net.dragonfly();
    let topology = dragonfly.topology();
    let (mut at, home) = (topology.node_router(0), topology.node_router(target));
    let (mut routers, mut wires) = (1, 0);
    while at != home {
        let (here, goal) = (dragonfly.group_of(at), dragonfly.group_of(home));
        let gateway = dragonfly.gateways(here, goal).first();
        let (next, wire) = match gateway {
            _ if here == goal => (home, 5),
            Some(gateway) if gateway.router == at => (gateway.far_router, 20),
            Some(gateway) => (gateway.router, 5),
            None => panic!("groups without a cable"),
        };
        (at, routers, wires) = (next, routers + 1, wires + wire);
    }
    (routers, wires)
}

/// One flit: a flit time and a latency to the first router, and per router its stages and the link behind it: `1 + L +
/// R (r + v + s + x) + sum of latencies`; the crossbar's last cycle is the link's flit time.
#[test]
fn a_flit_alone_pays_the_stages_of_every_router_and_the_latency_of_every_link() {
    for (routing, vc, switch, crossbar) in [(0, 1, 1, 1), (1, 1, 1, 1), (0, 2, 1, 1), (0, 1, 3, 1), (2, 2, 2, 2)] {
        let mut net = pipelined(Switching::Wormhole);
        net.params.pipeline = Pipeline {
            routing,
            vc_allocation: vc,
            switch_allocation: switch,
            crossbar,
            ..Pipeline::default()
        };
        for target in 1..net.nodes() {
            let (routers, wires) = way(&net, target);
            let stages = u64::from(routing + vc + switch + crossbar);
            let expected = 1 + 2 + routers * stages + wires + 2;
            assert_eq!(
                latency(&net, target, FLIT),
                expected,
                "to node {target}, {stages} stages"
            );
        }
    }
}

/// With two steps per cycle, both allocations take one cycle: T0 = 2 R + sum of latencies + 1.
#[test]
fn internal_speedup_two_takes_two_cycles_per_router() {
    let mut net = pipelined(Switching::Wormhole);
    net.params.pipeline.internal_speedup = 2.0;
    for target in 1..net.nodes() {
        let (routers, wires) = way(&net, target);
        assert_eq!(latency(&net, target, FLIT), 2 * routers + wires + 2 + 2 + 1);
    }
}

/// Further flits follow one per cycle; a packet that must arrive whole waits for its tail at every router, and is
/// routed meanwhile.
#[test]
fn flits_of_a_packet_follow_each_other_cycle_by_cycle() {
    for (n, routing) in (1..=8).flat_map(|n| [0, 1, 5].map(|routing| (n, routing))) {
        for switching in SWITCHINGS {
            let mut net = pipelined(switching);
            net.params.pipeline.routing = routing;
            let before_asking = match switching {
                Switching::StoreAndForward => u64::from(routing).max(n - 1),
                _ => u64::from(routing),
            };
            for target in [1, 2, 9, 17, 33] {
                let (routers, wires) = way(&net, target);
                let expected = 1 + 2 + (before_asking + 3) * routers + wires + 2 + n - 1;
                assert_eq!(
                    latency(&net, target, n * FLIT),
                    expected,
                    "{n} flits, {switching:?}, {routing} cycles of routing"
                );
            }
        }
    }
}

/// A buffer of B flits whose credit returns after c cycles lets B flits pass in c cycles.
#[test]
fn a_stream_is_bound_by_the_credits_of_its_buffers() {
    // From switch allocation over crossbar, link (flit time and latency) and the next switch allocation to the credit.
    let loop_cycles = |credit: u64| 1 + 1 + 5 + 1 + credit;
    for (buffer, credit) in [(2, 7), (4, 7), (8, 7), (64, 7), (8, 20)] {
        let mut net = pipelined(Switching::Wormhole);
        net.params.links = links([link(1, 2, 64, 3), link(1, 5, buffer, credit), link(1, 20, 64, 22)]);
        let n = 400;
        net.params.packet = n * FLIT;
        let long = latency(&net, 2, n * FLIT) as f64;
        let pace = f64::max(1.0, loop_cycles(credit) as f64 / buffer as f64);
        assert!(
            (long / (n as f64 * pace) - 1.0).abs() < 0.06,
            "{buffer} flits, credits of {credit} cycles: {long} cycles for {n} flits, not {pace} each"
        );
    }
}

pub(crate) fn variants() -> Vec<(Net, String)> {
    let mut nets = Vec::new();
    for switching in SWITCHINGS {
        for (algorithm, intermediate, _) in ROUTINGS {
            for (allocator, iterations, arbitration, speedups) in [
                (Allocator::InputFirst, 1, Arbitration::RoundRobin, (1, 1.0)),
                (Allocator::InputFirst, 1, Arbitration::RoundRobin, (1, 2.0)),
                (Allocator::InputFirst, 2, Arbitration::Age, (2, 1.5)),
                (Allocator::OutputFirst, 1, Arbitration::RoundRobin, (1, 2.0)),
                (Allocator::OutputFirst, 3, Arbitration::LowestFirst, (2, 1.0)),
            ] {
                let mut net = pipelined(switching).routed(algorithm, intermediate);
                net.candidates = 2;
                net.params.pipeline = Pipeline {
                    allocator,
                    iterations,
                    input_speedup: speedups.0,
                    internal_speedup: speedups.1,
                    ..Pipeline::default()
                };
                net.params.arbitration = arbitration;
                let how = (arbitration, net.params.pipeline);
                let context = format!("{switching:?} {algorithm:?} {intermediate:?} {how:?}");
                nets.push((net.clone(), context.clone()));
                // Packets longer than a buffer.
                if switching == Switching::Wormhole {
                    net.params.links = links([link(1, 2, 8, 3), link(2, 5, 8, 7), link(3, 20, 8, 22)]);
                    net.params.packet = 24 * FLIT;
                    for l in &mut net.params.links {
                        l.buffer = odonata_units::Bytes(8 * FLIT).into();
                    }
                    nets.push((net, format!("{context}, long worms")));
                }
            }
        }
    }
    nets
}

#[test]
fn random_traffic_arrives_once_and_whole_and_every_credit_returns() {
    for (net, context) in variants() {
        let sizes = [0, 1, FLIT, 3 * FLIT + 1, 8 * FLIT, 40 * FLIT];
        let mut model = play(&net, of_three(&net, 300, 600, &sizes, 11));
        model.assert_complete(&context);
        assert_eq!(model.fabric.in_flight(), (0, 0), "{context}");
    }
}

/// A tick without progress changes nothing.
#[test]
fn needless_cycles_change_nothing() {
    for (net, context) in variants() {
        let script = of_three(&net, 200, 200, &[FLIT, 8 * FLIT], 3);
        let plain = play(&net, script.clone());
        let eager = finish(Play::new(&net, script).ticking(Time(900 * CYCLE.0)));
        assert_eq!(plain.digest(), eager.digest(), "{context}");
    }
}

/// Every event is done, undone and redone, while packets extend over several routers.
#[test]
fn every_event_can_be_undone() {
    // A number without a common factor with those of switchings, routings and pipelines.
    for (mut net, context) in variants().into_iter().step_by(11) {
        net.shape = shape(3, 2, 1, 1);
        net.params.series = Some(Time(50 * CYCLE.0));
        let script = of_three(&net, 8, 10, &[0, FLIT, 6 * FLIT, 12 * FLIT], 6);
        let harness = assert_can_be_undone(&net, script, &context);
        assert_eq!(harness.model().fabric.in_flight(), (0, 0), "{context}");
    }
}

/// Restored after 1 to 1000 events: flits in buffers and on wires, virtual channels held, routers asleep.
#[test]
fn a_run_restored_within_packets_gives_the_same_results() {
    let mut random = Stream::new(1, 0, Purpose::Host);
    for (net, context) in variants().into_iter().step_by(7) {
        let script = of_three(&net, 60, 30, &[0, FLIT, 8 * FLIT, 50 * FLIT], 6);
        let mut model = assert_restores(&net, &script, (&mut random, 1_000), &context);
        model.assert_complete(&context);
    }
}

/// Blame changes no other result, and its charges are the same on every scheduler.
#[test]
fn blame_changes_no_result_and_does_not_depend_on_the_scheduler() {
    for (mut net, context) in variants().into_iter().step_by(3) {
        net.params.series = Some(Time(50 * CYCLE.0));
        let script = of_three(&net, 200, 200, &[0, FLIT, 6 * FLIT, 12 * FLIT], 6);
        let charged = assert_blame_changes_nothing(&net, script, &context);
        assert!(charged > 0, "{context}: no packet waited");
    }
    for (net, context) in variants().into_iter().step_by(13) {
        let script = of_three(&net, 150, 150, &[0, FLIT, 6 * FLIT, 12 * FLIT], 8);
        assert_equal_divided(&net, &script, &context);
    }
}

#[test]
fn waits_equal_the_delays_of_flits() {
    assert_waits_equal_the_delays_of_flits(2);
}

#[test]
#[ignore = "takes long"]
fn waits_equal_the_delays_of_flits_in_every_variant() {
    assert_waits_equal_the_delays_of_flits(1);
}

/// A message of one flit is late by the sum of its waits: at its NIC, behind others in its buffer, for a virtual
/// channel, a credit, the crossbar, the link. So the sum of all waits equals the sum of all delays.
fn assert_waits_equal_the_delays_of_flits(step: usize) {
    let mut in_sample = sample(step);
    for (mut net, context) in variants() {
        // One path per pair of nodes; the same number of steps in every cycle.
        let minimal = context.contains("Minimal");
        if !minimal || net.params.pipeline.internal_speedup.fract() != 0.0 || !in_sample() {
            continue;
        }
        net.shape.cables = Some(1);
        let script = of_three(&net, 3_000, 500, &[FLIT], 5);
        let model = play(&net, script.clone());
        let late = script.iter().enumerate().fold(Time::ZERO, |sum, (i, m)| {
            let alone = play(&net, named(vec![Scripted { traffic: 0, ..*m }])).arrival(0) - m.at;
            sum + (model.arrival(i) - m.at - alone)
        });
        let charged = model.fabric.blame().iter().fold(Time::ZERO, |sum, c| sum + c.time);
        assert!(
            late > Time(1_000 * CYCLE.0),
            "{context}: {late:?} is no traffic to speak of"
        );
        assert_eq!(charged, late, "{context}");
    }
}

/// (resource, culprit, picoseconds) of all waits of `victim`.
fn waits_of(model: &Play, victim: u16) -> Vec<(&'static str, Option<u16>, u64)> {
    let charges = model.fabric.blame();
    let mine = charges.iter().filter(|c| c.victim == victim);
    mine.map(|c| (RESOURCES[usize::from(c.resource)], c.culprit, c.time.0))
        .collect()
}

/// Nodes 0 and 1 of a router send to another router in the same cycle, as traffics 0 and 1. One head gets the virtual
/// channel of the cable, and holds it until its tail is granted the crossbar, after `n` cycles. Then the other requests
/// it: it waits only for the first, for as long as it is late.
#[test]
fn a_packet_holds_its_channel_until_its_tail_leaves() {
    for (n, switching) in [1, 2, 8]
        .into_iter()
        .flat_map(|n| SWITCHINGS.map(|switching| (n, switching)))
    {
        let net = pipelined(switching);
        let script = [0, 1].map(|i: u16| Scripted {
            traffic: i,
            ..message(CYCLE, u32::from(i), 2 + u32::from(i), n * FLIT)
        });
        let model = play(&net, named(script.to_vec()));
        let alone = |one: Scripted| play(&net, named(vec![Scripted { traffic: 0, ..one }])).arrival(0);
        let late = [0, 1].map(|i: usize| (model.arrival(i) - alone(script[i])).0);
        assert_eq!(late.iter().min(), Some(&0), "one goes first");
        let second = usize::from(late[1] > 0);
        assert_eq!(waits_of(&model, 1 - second as u16), []);
        let first = Some(1 - second as u16);
        let mut waits = waits_of(&model, second as u16);
        // A packet that must arrive whole is still in its buffer at the other end when the next one arrives there,
        // whose flits would have to wait for each other anyway.
        waits.retain(|wait| switching != Switching::StoreAndForward || wait.0 != "input");
        assert_eq!(waits, [("link", first, late[second])], "{n} flits, {switching:?}");
        assert!(late[second] >= n * CYCLE.0, "{n} flits, {switching:?}");
    }
}

/// Two streams cross to a link at twice its rate (internal speedup two) and alternate in its queue. Half of the wait of
/// a stream's flits there is for the other stream and half for its own.
#[test]
fn flits_that_wait_for_a_link_are_charged_to_each_flit_ahead() {
    let mut net = pipelined(Switching::Wormhole);
    net.params.pipeline.internal_speedup = 2.0;
    // The cable sends a flit in two cycles.
    net.params.links = links([link(1, 2, 64, 3), link(2, 5, 4_096, 7), link(1, 20, 64, 22)]);
    let count = 200;
    let of = |i: u16| Scripted {
        traffic: i,
        ..message(CYCLE, u32::from(i), 2 + u32::from(i), FLIT)
    };
    let script: Vec<Scripted> = (0..count)
        .flat_map(|i| {
            [0, 1].map(|traffic| Scripted {
                at: Time((1 + i) * CYCLE.0),
                ..of(traffic)
            })
        })
        .collect();
    let model = play(&net, named(script));
    for victim in [0, 1] {
        let of_link = |culprit: u16| {
            let waits = waits_of(&model, victim);
            let found = waits.iter().find(|w| (w.0, w.1) == ("link", Some(culprit)));
            found.map_or(0.0, |w| w.2 as f64)
        };
        let (own, other) = (of_link(victim), of_link(1 - victim));
        assert!(own > 10_000.0 * CYCLE.0 as f64, "{victim}: no queue to speak of");
        assert!(
            (own / other - 1.0).abs() < 0.05,
            "{victim}: {own} for its own, {other} for the other's"
        );
    }
}

/// A stream to a node whose link carries half its rate waits for credits that its own flits return.
#[test]
fn waits_for_credits_are_charged_to_the_flits_that_return_them() {
    let mut net = pipelined(Switching::Wormhole);
    net.params.links = links([link(2, 2, 8, 3), link(1, 5, 8, 7), link(1, 20, 8, 22)]);
    // Nodes of two other routers of the group send to node 0 and to node 1, which is idle.
    let of = |traffic: u16, source: u32, target: u32, at: u64| Scripted {
        traffic,
        ..message(Time(at * CYCLE.0), source, target, 100 * FLIT)
    };
    let model = play(&net, named(vec![of(0, 2, 0, 1), of(0, 4, 0, 1), of(1, 3, 1, 200)]));
    let credit: Vec<_> = waits_of(&model, 1).into_iter().filter(|w| w.0 == "credit").collect();
    assert!(
        credit.iter().any(|w| w.1 == Some(0)),
        "the other's stream is backed up by the first one's: {:?}",
        waits_of(&model, 1)
    );
}

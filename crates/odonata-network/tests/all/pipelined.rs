//! The pipelined router: closed forms, conservation, independence of needless looks and of the order of parts.

use crate::common::{
    CYCLE, FLIT, Net, Play, ROUTINGS, fingerprint, finish, link, links, message, named, play, random_messages, shape,
};
use odonata_engine::random::Purpose;
use odonata_engine::{RollbackCheck, Stream, Time, run_with_restarts};
use odonata_network::{Allocator, Arbitration, InputQueues, Pipeline, RouterModel, Switching};

const SWITCHINGS: [Switching; 3] = [Switching::Wormhole, Switching::CutThrough, Switching::StoreAndForward];

/// A dragonfly of pipelined routers; flits take one cycle on every link.
fn pipelined(switching: Switching) -> Net {
    let mut net = Net::round(shape(5, 4, 2, 2)).with((RouterModel::Pipelined, InputQueues::VirtualOutput));
    net.params.blame = false;
    net.params.switching = switching;
    net.params.links = links([link(1, 2, 32, 3), link(1, 5, 32, 7), link(1, 20, 64, 22)]);
    net
}

/// Cycles that `bytes` take from node 0 to `target`.
fn latency(net: &Net, target: u32, bytes: u64) -> u64 {
    let mut model = play(net, named(vec![message(CYCLE, 0, target, bytes)]));
    model.assert_complete("one message");
    let time = model.arrival(0) - CYCLE;
    assert_eq!(time.0 % CYCLE.0, 0);
    time.0 / CYCLE.0
}

/// Routers and latencies of links between them from node 0 to `target` of the dragonfly above.
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

/// One flit: a flit time and a latency to the first router, and per router its stages and the link behind it:
/// `1 + L + R (r + v + s + x) + sum of latencies`, of which the crossbar's last cycle is the link's flit time.
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

/// With two steps in a cycle, allocation of both kinds takes one: T0 = 2 R + sum of latencies + 1.
#[test]
fn internal_speedup_two_takes_two_cycles_per_router() {
    let mut net = pipelined(Switching::Wormhole);
    net.params.pipeline.internal_speedup = 2.0;
    for target in 1..net.nodes() {
        let (routers, wires) = way(&net, target);
        assert_eq!(latency(&net, target, FLIT), 2 * routers + wires + 2 + 2 + 1);
    }
}

/// Further flits follow one per cycle; a packet that must come in whole waits for its tail at every router, and is routed
/// meanwhile.
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

/// A buffer of B flits whose credit is back after c cycles lets B flits pass in c cycles.
#[test]
fn a_stream_is_bound_by_the_credits_of_its_buffers() {
    // From one switch allocation over crossbar, link (flit time and latency) and the next one to the credit.
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

fn variants() -> Vec<(Net, String)> {
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
                // Worms longer than a buffer.
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
fn random_traffic_arrives_once_and_whole_and_every_credit_comes_home() {
    for (net, context) in variants() {
        let sizes = [0, 1, FLIT, 3 * FLIT + 1, 8 * FLIT, 40 * FLIT];
        let mut model = play(&net, random_messages(&net, 300, 600, &sizes, 11));
        model.assert_complete(&context);
        assert_eq!(model.fabric.in_flight(), (0, 0), "{context}");
    }
}

/// A tick in which nothing can go on changes nothing.
#[test]
fn needless_cycles_change_nothing() {
    for (net, context) in variants() {
        let script = random_messages(&net, 200, 200, &[FLIT, 8 * FLIT], 3);
        let plain = play(&net, script.clone());
        let eager = finish(Play::new(&net, script).ticking(Time(900 * CYCLE.0)));
        assert_eq!(plain.digest(), eager.digest(), "{context}");
    }
}

/// Every event done, undone and done again, while worms lie across several routers.
#[test]
fn every_event_can_be_taken_back() {
    // A number that shares no factor with those of switchings, routings and pipelines.
    for (mut net, context) in variants().into_iter().step_by(11) {
        net.shape = shape(3, 2, 1, 1);
        net.params.series = Some(Time(50 * CYCLE.0));
        let script = random_messages(&net, 8, 10, &[0, FLIT, 6 * FLIT, 12 * FLIT], 6);
        let plain = play(&net, script.clone());
        let mut harness = RollbackCheck::new(Play::new(&net, script));
        harness
            .run(u64::MAX)
            .unwrap_or_else(|error| panic!("{context}: {error}"));
        assert_eq!(harness.model().digest(), plain.digest(), "{context}");
        assert_eq!(harness.model().fabric.in_flight(), (0, 0), "{context}");
    }
}

/// Handed over after 1 to 1000 events: flits in buffers and on wires, virtual channels taken, routers asleep.
#[test]
fn a_run_goes_on_from_what_was_saved_in_the_middle_of_worms() {
    let mut random = Stream::new(1, 0, Purpose::Host);
    for (net, context) in variants().into_iter().step_by(7) {
        let script = random_messages(&net, 60, 30, &[0, FLIT, 8 * FLIT, 50 * FLIT], 6);
        let whole = play(&net, script.clone());
        let leg = || 1 + u64::from(random.below(1_000));
        let run = run_with_restarts(|| Play::new(&net, script.clone()), leg)
            .unwrap_or_else(|error| panic!("{context}: {error}"));
        let mut model = run.into_model();
        assert_eq!(model.digest(), whole.digest(), "{context}");
        assert_eq!(fingerprint(&model), fingerprint(&whole), "{context}");
        model.assert_complete(&context);
    }
}

//! Throughput: bounded by links, by credits, and by the cables between groups; and the bounds are reached.

use crate::common;
use crate::common::{
    CYCLE, FLIT, INPUT_QUEUES, Net, Play, ROUTERS, Scripted, link, links, message, named, play, shape,
};
use odonata_engine::random::Purpose;
use odonata_engine::{Sequential, Stream, Time};
use odonata_network::routing::{Algorithm, Intermediate};
use odonata_network::{InputQueues, LinkStats, RouterModel, Switching};
use std::ops::Range;

const PACKET: u64 = 8 * FLIT;

/// 2 - √2 = 58.6%: the throughput of uniform traffic in a large switch with input FIFOs (Karol, Hluchyj, Morgan, IEEE
/// Trans. Comm. 1987). Heads that wait for an output and leave it form an M/D/1 queue with one packet per input on
/// average: ρ + ρ² / 2(1 - ρ) = 1.
const KAROL: f64 = 2.0 - std::f64::consts::SQRT_2;

/// Picoseconds between the arrivals of the packets of a long message, in the steady state.
fn steady_gap(net: &Net, source: u32, target: u32) -> f64 {
    // One message per packet, all at once: each arrival is recorded.
    let n = 200;
    let script = (0..n).map(|_| message(Time(CYCLE.0), source, target, net.params.packet));
    let mut model = play(net, named(script.collect()));
    model.assert_complete("one flow");
    let (from, to) = (model.arrival(n / 2), model.arrival(n - 1));
    (to.0 - from.0) as f64 / (n - 1 - n / 2) as f64
}

/// packet / bandwidth of the slowest link, for all routers and both ways of switching.
#[test]
fn a_stream_is_bound_by_its_slowest_link_and_reaches_it() {
    for router in ROUTERS {
        for switching in common::SWITCHINGS {
            for rates in [[1, 2, 3], [3, 2, 1], [1, 3, 1], [2, 1, 1]] {
                let mut net = Net::round(shape(3, 2, 2, 1)).with(router);
                net.params.switching = switching;
                // More than a round trip's worth of buffer everywhere.
                net.params.links = links([
                    link(rates[0], 2, 200, 1),
                    link(rates[1], 5, 200, 2),
                    link(rates[2], 20, 200, 4),
                ]);
                // Node 0 to its neighbor, to the other router, and to the group that router 0 has no cable to.
                let within = steady_gap(&net, 0, 1);
                assert_eq!(
                    within,
                    (8 * rates[0] * CYCLE.0) as f64,
                    "{router:?} {switching:?} {rates:?}"
                );
                let local = steady_gap(&net, 0, 2);
                assert_eq!(
                    local,
                    (8 * rates[0].max(rates[1]) * CYCLE.0) as f64,
                    "{router:?} {switching:?} {rates:?}"
                );
                let far = (4..12).map(|target| steady_gap(&net, 0, target)).fold(0.0, f64::max);
                assert_eq!(
                    far,
                    (8 * rates.into_iter().max().unwrap() * CYCLE.0) as f64,
                    "{router:?} {switching:?}"
                );
            }
        }
    }
}

/// With room for one packet a link carries one packet per round trip. The round trip of a credit ends
/// - input-queued: when the packet's tail has left the downstream buffer: max(f/b + lat + pipe + L/b', L/b + lat + pipe
///   + f/b') + credit (cut-through; b' is the terminal link's rate);
/// - output-queued: when the packet has found room in its next queue: L/b + lat + pipe + credit.
#[test]
fn with_one_packet_of_buffer_a_link_carries_one_packet_per_round_trip() {
    for (b, b_terminal) in [(1, 1), (2, 1), (1, 2), (3, 1)] {
        let (lat, pipe, credit) = (25, 3, 4);
        let mut net = Net::round(shape(1, 2, 1, 0));
        net.params.links = links([link(b_terminal, 2, 64, 1), link(b, lat, 8, credit), link(1, 1, 64, 1)]);

        let head_first = b + lat + pipe + 8 * b_terminal;
        let tail_last = 8 * b + lat + pipe + b_terminal;
        let cut_through = (head_first.max(tail_last) + credit) * CYCLE.0;
        let stored = (8 * b + lat + pipe + 8 * b_terminal + credit) * CYCLE.0;
        for queues in INPUT_QUEUES {
            net.params.input_queues = queues;
            net.params.switching = Switching::CutThrough;
            assert_eq!(
                steady_gap(&net, 0, 1),
                cut_through as f64,
                "{queues:?}, {b} and {b_terminal} cycles per flit"
            );
            net.params.switching = Switching::StoreAndForward;
            assert_eq!(
                steady_gap(&net, 0, 1),
                stored as f64,
                "{queues:?}, stored and forwarded"
            );
        }

        net.params.router = RouterModel::OutputQueued;
        let output_queued = (8 * b + lat + pipe + credit) * CYCLE.0;
        assert_eq!(steady_gap(&net, 0, 1), output_queued as f64, "output-queued");
    }
}

/// n packets of buffer carry n times as much, until the link's own rate is reached: gap = max(L/b, round trip / n).
#[test]
fn more_buffer_carries_more_until_the_link_is_full() {
    let (lat, pipe, credit) = (60, 3, 4);
    let round_trip = 8 + lat + pipe + 1 + credit;
    for n in 1..=12 {
        let mut net = Net::round(shape(1, 2, 1, 0));
        net.params.links = links([link(1, 2, 64, 1), link(1, lat, 8 * n, credit), link(1, 1, 64, 1)]);
        // The packets of one round trip do not arrive evenly spaced: take the mean over whole rounds.
        let gap = steady_gap(&net, 0, 1) / CYCLE.0 as f64;
        let expected = f64::max(8.0, round_trip as f64 / n as f64);
        assert!(
            (gap - expected).abs() <= 0.05 * expected,
            "{n} packets: {gap} cycles, not {expected}"
        );
    }
}

/// Every node sends to random nodes of the next group, at the full rate of the terminal links.
fn next_group(net: &Net, messages_per_node: u32) -> Vec<Scripted> {
    let mut random = Stream::new(9, 0, Purpose::Destination);
    let per_group = net.nodes() / net.shape.groups;
    let script = (0..messages_per_node * net.nodes()).map(|i| {
        let (source, k) = (i % net.nodes(), i / net.nodes());
        let goal = (net.group_of(source) + 1) % net.shape.groups;
        let target = goal * per_group + random.below(per_group);
        message(Time((1 + 8 * u64::from(k)) * CYCLE.0), source, target, PACKET)
    });
    named(script.collect())
}

/// Single packets from each of `sources` to random `targets`, at `offered` of a terminal link's rate: in each packet
/// time a source sends one with that probability.
fn uniform(sources: Range<u32>, targets: Range<u32>, offered: f64, cycles: u64) -> Vec<Scripted> {
    let mut random = Stream::new(10, 0, Purpose::Destination);
    let mut script = Vec::new();
    for slot in 0..cycles / 8 {
        for source in sources.clone() {
            let target = targets.start + random.below(targets.len() as u32);
            if f64::from(random.below(1 << 20)) < offered * f64::from(1 << 20) && target != source {
                script.push(message(Time((1 + 8 * slot) * CYCLE.0), source, target, PACKET));
            }
        }
    }
    named(script)
}

/// Payload delivered per node in the steady second half of a run, as a share of a terminal link's rate.
fn accepted(net: &Net, script: Vec<Scripted>, cycles: u64) -> f64 {
    let mut run = Sequential::new(Play::new(net, script));
    let mut bytes = [0, 0];
    for (i, at) in [cycles / 2, cycles].into_iter().enumerate() {
        run.run(Time(at * CYCLE.0), u64::MAX);
        bytes[i] = run.model().fabric.traffic_stats().iter().map(|t| t.bytes).sum();
    }
    let seconds = (cycles - cycles / 2) as f64 * CYCLE.seconds();
    (bytes[1] - bytes[0]) as f64 / seconds / f64::from(net.nodes()) / net.params.links[0].bandwidth.0
}

/// With minimal routing the k cables to the next group carry the traffic of all a·p nodes: accepted <= min(1, k
/// b_global / (a p b_terminal)), and a good fabric reaches that.
#[test]
fn traffic_to_the_next_group_reaches_the_bound_of_the_cables_and_never_passes_it() {
    let shapes = [(shape(9, 4, 2, 2), 1), (shape(5, 4, 2, 2), 2), (shape(5, 4, 1, 4), 4)];
    for (shape, k) in shapes {
        for router in ROUTERS {
            for cycles_per_global_flit in [1, 2] {
                let mut net = Net::round(shape).with(router);
                net.params.links = links([
                    link(1, 2, 64, 1),
                    link(1, 5, 64, 2),
                    link(cycles_per_global_flit, 20, 128, 4),
                ]);
                assert_eq!(net.dragonfly().cables(), k);
                let offered = f64::from(shape.routers * shape.nodes) * cycles_per_global_flit as f64;
                let bound = f64::min(1.0, f64::from(k) / offered);
                let got = accepted(&net, next_group(&net, 2_500), 20_000);
                assert!(got <= bound * 1.001, "{router:?} {shape:?}: {got} passes {bound}");
                // Minimal routing draws one of several cables per packet. In a FIFO a packet for a busy cable blocks
                // one for an idle cable: never below the throughput of uniform traffic.
                let share = if k > 1 && router == (RouterModel::InputQueued, InputQueues::Fifo) {
                    KAROL
                } else {
                    0.95
                };
                assert!(got >= share * bound, "{router:?} {shape:?}: {got} stays below {bound}");
            }
        }
    }
}

/// One router between n sources and n targets, the switch of Karol and others. Their table I has 0.75, 0.6553 and
/// 0.6184 for FIFOs at 2, 4 and 8 ports; 2 - √2 is the limit for many. Virtual output queues accept all offered load up
/// to nine tenths, and nearly all that the outputs can take. The sampling error is up to a hundredth.
#[test]
fn fifos_saturate_at_the_known_limit_and_virtual_output_queues_near_the_output_rate() {
    let cycles = 40_000;
    for (n, fifo) in [(2, 0.75), (4, 0.6553), (8, 0.6184), (64, KAROL)] {
        let mut net = Net::round(shape(1, 1, 2 * n, 0));
        // 64 packets: room for the bursts of a load of nine tenths.
        net.params.links[0] = link(1, 2, 64 * 8, 1);
        for queues in INPUT_QUEUES {
            net.params.input_queues = queues;
            // Half of the nodes receive.
            let accepted = |offered| 2.0 * accepted(&net, uniform(0..n, n..2 * n, offered, cycles), cycles);
            let expected = match queues {
                InputQueues::VirtualOutput => [(0.5, 0.5), (0.9, 0.9), (1.0, 0.99)],
                InputQueues::Fifo => [(0.5, 0.5), (0.9, fifo), (1.0, fifo)],
            };
            for (offered, expected) in expected {
                let got = accepted(offered);
                assert!(
                    (got - expected).abs() <= 0.01,
                    "{queues:?}, {n} ports: {got} of {offered} accepted, not {expected}"
                );
            }
        }
    }
}

/// One group of 8 routers with 4 nodes, local links at half the terminal rate. A node sends 4/32 of its packets to each
/// router, and 4 nodes share the local link to it. The link carries 4 · 4/32 = 1/2 of a node's offered load, and the
/// bound is the terminal rate itself.
#[test]
fn uniform_traffic_in_a_group_gets_nine_tenths_of_the_bound_unless_in_fifos() {
    let cycles = 20_000;
    for router in ROUTERS {
        let mut net = Net::round(shape(1, 8, 4, 0)).with(router);
        net.params.links[..2].copy_from_slice(&[link(1, 2, 256, 1), link(2, 5, 256, 2)]);
        // One packet in 32 would be for its own source, and is not sent.
        let script = uniform(0..32, 0..32, 0.9, cycles);
        let got = accepted(&net, script, cycles) * 32.0 / 31.0;
        assert!(got <= 0.91, "{router:?}: {got} is more than was offered");
        assert_eq!(
            got >= 0.85,
            router != (RouterModel::InputQueued, InputQueues::Fifo),
            "{router:?}: {got}"
        );
    }
}

/// Valiant spreads the same traffic over all cables: at most h b_global / (2 p b_terminal) (each packet takes two
/// global links, a group has a·h), far above the minimal bound 1 / (a p).
#[test]
fn valiant_beats_the_minimal_bound_and_respects_its_own() {
    let minimal_bound = 1.0 / 8.0;
    for intermediate in [Intermediate::Group, Intermediate::Router] {
        let mut net = Net::round(shape(9, 4, 2, 2)).routed(Algorithm::Valiant, intermediate);
        net.params.links = links([link(1, 2, 64, 1), link(1, 5, 128, 2), link(1, 20, 256, 4)]);
        let got = accepted(&net, next_group(&net, 2_500), 20_000);
        assert!(got <= 0.5, "{got} passes h / 2p");
        assert!(got >= 1.5 * minimal_bound, "{got} is no better than minimal routing");
    }
}

/// No link exceeds its rate in any run: bytes / b <= busy <= elapsed.
#[test]
fn no_link_is_faster_than_its_bandwidth() {
    for router in ROUTERS {
        let net = Net::round(shape(9, 4, 2, 2)).with(router);
        let cycles = 5_000;
        let mut run = Sequential::new(Play::new(&net, next_group(&net, 600)));
        run.run(Time(cycles * CYCLE.0), u64::MAX);
        let ps_per_byte = 62.5;
        let elapsed = (cycles * CYCLE.0) as f64;
        let busy = |stats: &LinkStats| stats.busy.0 as f64;
        let stats = run.model().fabric.link_stats();
        for stats in stats.iter() {
            assert!(stats.bytes as f64 * ps_per_byte <= busy(stats), "{router:?}");
            // The packet in transmission at the end is counted in full.
            assert!(busy(stats) <= elapsed + PACKET as f64 * ps_per_byte, "{router:?}");
        }
        // The load is high enough to test it: one cable leads from each group to the next.
        let full = stats.iter().filter(|stats| busy(stats) > 0.9 * elapsed).count();
        assert!(full >= 9, "{router:?}: {full} links are full");
    }
}

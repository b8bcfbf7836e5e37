//! Packets without progress are found and identified; packets with progress are not.

use crate::common::{CYCLE, FLIT, Fabric, Net, Play, link, message, named, shape};
use odonata_engine::random::Purpose;
use odonata_engine::{Pause, Sequential, Stream, Time};
use odonata_network::routing::{Algorithm, Intermediate, VcRule};
use odonata_network::{Arbitration, Deadlock, InputQueues, RouterModel, Switching, find_deadlock};
use odonata_topology::Peer;

/// Buffers of one packet, and the channels of CODES, which are too few for Valiant routing by routers.
fn unsafe_net() -> Net {
    let mut net = Net {
        rule: VcRule::Codes,
        ..Net::round(shape(9, 4, 2, 2)).routed(Algorithm::Valiant, Intermediate::Router)
    };
    net.params.links = [link(1, 1, 8, 1); 4];
    net
}

/// Long messages from every node to others.
fn flood(net: &Net, messages: u32, seed: u64) -> Sequential<Play> {
    let mut random = Stream::new(seed, 0, Purpose::Destination);
    let nodes = net.nodes();
    let script = (0..nodes * messages).map(|i| {
        let source = i % nodes;
        message(CYCLE, source, (source + 1 + random.below(nodes - 1)) % nodes, 64 * FLIT)
    });
    Sequential::new(Play::new(net, named(script.collect())))
}

#[test]
fn a_deadlock_is_found_as_a_cycle_of_packets_and_full_buffers() {
    let mut found = 0;
    for (seed, queues) in (0..6).map(|seed| (seed, [InputQueues::VirtualOutput, InputQueues::Fifo][seed as usize % 2]))
    {
        let mut net = unsafe_net();
        net.params.input_queues = queues;
        net.params.seed = seed;
        let mut run = flood(&net, 20, seed);
        assert_eq!(run.run(Time::LONGEST, u64::MAX), Pause::Idle);
        let fabric = &run.model().fabric;
        let (packets, _) = fabric.in_flight();
        let Some(deadlock) = find_deadlock([fabric]) else {
            assert_eq!(packets, 0, "nothing moves, and no deadlock was found");
            continue;
        };
        found += 1;
        // Nothing is in flight any more: all remaining packets are stuck.
        assert_eq!(deadlock.packets as u32, packets, "{deadlock:?}");
        assert_cycle(&deadlock, fabric);
    }
    assert!(found >= 2, "the network is meant to deadlock");
}

/// Checks that each packet waits for the buffer that the next one occupies, at the router of the buffer that it
/// occupies itself.
fn assert_cycle(deadlock: &Deadlock, fabric: &Fabric) {
    assert!(deadlock.cycle.len() >= 2, "{deadlock:?}");
    let topology = fabric.routing().topology();
    for (i, waiting) in deadlock.cycle.iter().enumerate() {
        let next = &deadlock.cycle[(i + 1) % deadlock.cycle.len()];
        assert_eq!(waiting.wants, next.packet.holds, "it waits for what the next one holds");
        // It waits at the router where the link into its buffer ends, and where the next link begins.
        let Peer::Router { router, .. } = topology.peer(waiting.packet.holds.link) else {
            panic!("a buffer behind a node's link in a cycle")
        };
        assert_eq!(topology.router_of_port(waiting.wants.link), router);
        assert_ne!(waiting.packet.source, waiting.packet.target);
        assert!(waiting.packet.hops >= 2);
    }
}

const SWITCHINGS: [Switching; 3] = [Switching::Wormhole, Switching::CutThrough, Switching::StoreAndForward];

/// With pipelined routers, and packets longer than a buffer.
fn pipelined(mut net: Net, switching: Switching) -> Net {
    (net.params.router, net.params.switching, net.params.blame) = (RouterModel::Pipelined, switching, false);
    if switching == Switching::Wormhole {
        net.params.packet = 24 * FLIT;
    }
    net
}

#[test]
fn a_wormhole_deadlock_is_found_as_a_cycle_of_packets_and_full_buffers() {
    for switching in SWITCHINGS {
        let mut found = 0;
        for seed in 0..4 {
            let mut net = pipelined(unsafe_net(), switching);
            net.params.seed = seed;
            let mut run = flood(&net, 20, seed);
            let mut before = None;
            while run.run(Time::LONGEST, 20_000) == Pause::Budget {
                // A packet in a deadlock stays in it.
                let now = find_deadlock([&run.model().fabric]).map(|deadlock| deadlock.packets);
                assert!(now >= before, "{before:?} packets were stuck, now {now:?}");
                before = now;
            }
            let fabric = &run.model().fabric;
            let (packets, _) = fabric.in_flight();
            let Some(deadlock) = find_deadlock([fabric]) else {
                assert_eq!(packets, 0, "nothing moves, and no deadlock was found");
                continue;
            };
            found += 1;
            // Nothing is in flight any more: all remaining packets are stuck.
            assert_eq!(deadlock.packets as u32, packets, "{switching:?}");
            assert_cycle(&deadlock, fabric);
        }
        assert!(found >= 2, "the network is meant to deadlock: {switching:?}, {found}");
    }
}

/// Checks every `events` events: packets wait, none is reported as deadlocked, and all arrive.
fn assert_no_packet_is_stuck(net: &Net, events: u64) {
    let mut run = flood(net, 4, 3);
    let mut looked = 0;
    while run.run(Time::LONGEST, events) == Pause::Budget {
        let fabric = &run.model().fabric;
        assert!(find_deadlock([fabric]).is_none());
        assert!(fabric.livelocked(8).is_none(), "no path visits more routers");
        looked += usize::from(!fabric.waiting().is_empty());
    }
    assert!(looked > 10, "packets wait, though");
    assert_eq!(run.model().fabric.in_flight().0, 0);
}

#[test]
fn packets_that_wait_in_turn_are_never_taken_for_deadlocked() {
    for switching in SWITCHINGS {
        let mut net = pipelined(unsafe_net(), switching);
        net.rule = VcRule::Stage;
        assert_no_packet_is_stuck(&net, 5_000);
    }
}

#[test]
fn a_network_with_channels_enough_is_never_taken_for_deadlocked() {
    let mut net = unsafe_net();
    net.rule = VcRule::Stage;
    for queues in [InputQueues::VirtualOutput, InputQueues::Fifo] {
        net.params.input_queues = queues;
        assert_no_packet_is_stuck(&net, 2_000);
    }
}

/// 7 nodes of a group send to the eighth, whose router's inputs take turns, or the lowest one goes first as long as it
/// has packets.
fn seven_to_one(arbitration: Arbitration) -> Sequential<Play> {
    let mut net = Net::round(shape(9, 4, 2, 2));
    net.params.arbitration = arbitration;
    let script = (1..8).map(|source| message(CYCLE, source, 0, 4_000 * FLIT)).collect();
    let mut run = Sequential::new(Play::new(&net, named(script)));
    run.run(Time(3_000 * CYCLE.0), u64::MAX);
    run
}

#[test]
fn the_starved_packet_is_identified() {
    let run = seven_to_one(Arbitration::LowestFirst);
    let fabric = &run.model().fabric;
    let now = Time(3_000 * CYCLE.0);
    let starved = fabric.starved(now, Time(20 * CYCLE.0)).expect("packets wait");
    assert_eq!(starved.packet.target, 0);
    assert!(now - starved.since > Time(20 * CYCLE.0));
    let others = fabric
        .waiting()
        .into_iter()
        .filter(|other| other.wants == starved.wants);
    assert!(others.into_iter().all(|other| other.since >= starved.since));
    assert!(fabric.starved(now, Time(10_000 * CYCLE.0)).is_none());
}

#[test]
fn no_packet_starves_in_a_long_queue_served_in_turn() {
    for arbitration in [Arbitration::RoundRobin, Arbitration::Age, Arbitration::FirstCome] {
        let run = seven_to_one(arbitration);
        let fabric = &run.model().fabric;
        let now = Time(3_000 * CYCLE.0);
        assert!(!fabric.waiting().is_empty(), "packets wait, though");
        assert_eq!(fabric.starved(now, Time(20 * CYCLE.0)), None, "{arbitration:?}");
    }
}

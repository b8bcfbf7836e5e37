//! Queues of a NIC per peer: messages to different nodes share its link packet by packet, and control messages go first.

use crate::common::{
    CYCLE, FLIT, Net, Play, SIZES, Scripted, assert_blame_changes_nothing, assert_can_be_undone, assert_equal_divided,
    assert_restores, every_fabric, finish, message, named, play, random_messages, sample, shape,
};
use crate::pipelined::pipelined;
use odonata_engine::random::Purpose;
use odonata_engine::{Stream, Time};
use odonata_network::{CongestionControl, Queues, Switching, TrafficClass, TrafficClasses};
use odonata_units::Bytes;

/// Cycles of a packet of 8 flits on the link of a node.
const PACKET: u64 = 8;

fn per_peer(mut net: Net) -> Net {
    net.params.nic.queues = Queues::PerPeer;
    net
}

/// One router with nodes that send a flit per cycle.
fn star(nodes: u32) -> Net {
    per_peer(Net::round(shape(1, 1, nodes, 0)))
}

fn cycles(n: u64) -> Time {
    Time(n * CYCLE.0)
}

fn packets(n: u64) -> u64 {
    n * PACKET * FLIT
}

/// Arrival of each message in cycles.
fn arrivals(net: &Net, script: &[Scripted]) -> Vec<u64> {
    let ran = play(net, named(script.to_vec()));
    (0..script.len()).map(|name| ran.arrival(name).0 / CYCLE.0).collect()
}

/// Cycles from the submission of a packet to its arrival in an idle network.
fn alone(net: &Net) -> u64 {
    arrivals(net, &[message(CYCLE, 0, 1, packets(1))])[0] - 1
}

/// k messages of n packets to k nodes share the link in turn. The last packet of message i is number (n - 1) k + i on the
/// link, so message i ends `((n - 1) k + i) L/b` after the arrival of a single packet: all end at `k bytes / b`, within a
/// packet each. In one queue, message i ends at `(i + 1) bytes / b`.
#[test]
fn messages_to_several_nodes_end_together() {
    for (k, n) in [(2, 5), (3, 20), (6, 40)] {
        let net = star(k as u32 + 1);
        let script: Vec<Scripted> = (0..k).map(|i| message(CYCLE, 0, 1 + i as u32, packets(n))).collect();
        let first = 1 + alone(&net);
        let shared: Vec<u64> = (0..k).map(|i| first + ((n - 1) * k + i) * PACKET).collect();
        assert_eq!(arrivals(&net, &script), shared, "{k} messages of {n} packets");
        let mut one = net.clone();
        one.params.nic.queues = Queues::Fifo;
        let in_order: Vec<u64> = (0..k).map(|i| first + ((i + 1) * n - 1) * PACKET).collect();
        assert_eq!(
            arrivals(&one, &script),
            in_order,
            "{k} messages of {n} packets in one queue"
        );
    }
}

/// Peers have equal shares, however many messages they have: beside k - 1 others with enough packets, n messages of one
/// packet each take as long as one of n packets, `n k L/b`. Afterwards the others share the link.
#[test]
fn shares_go_by_peer_and_not_by_message() {
    let (net, n) = (star(4), 30);
    let small = (0..n).map(|_| message(CYCLE, 0, 1, packets(1)));
    let large = (2..4).map(|target| message(CYCLE, 0, target, packets(3 * n)));
    let script: Vec<Scripted> = large.chain(small).collect();
    let found = arrivals(&net, &script);
    let first = 1 + alone(&net);
    for i in 0..n {
        assert_eq!(found[2 + i as usize], first + (3 * i + 2) * PACKET, "packet {i}");
    }
    // n rounds of three, then 2 n rounds of two.
    assert_eq!(found[0], first + (3 * n + 4 * n - 2) * PACKET);
    assert_eq!(found[1], first + (3 * n + 4 * n - 1) * PACKET);
}

/// A control message of one flit that comes t cycles after the start of a packet waits `L/b - t`, whether the packet and
/// all that is behind it go to its own peer or to others; several go in their order. In one queue it waits for all.
#[test]
fn a_control_message_waits_for_the_packet_on_the_link_alone() {
    let net = star(4);
    let control = |at, target| Scripted {
        is_control: true,
        ..message(cycles(at), 0, target, FLIT)
    };
    let idle = arrivals(&net, &[control(1, 3)])[0] - 1;
    for bulk in [vec![1], vec![3], vec![1, 2], vec![1, 2, 3]] {
        for t in 1..=PACKET {
            let at = 1 + 10 * PACKET + t;
            let mut script: Vec<Scripted> = bulk.iter().map(|&to| message(CYCLE, 0, to, packets(100))).collect();
            script.extend([control(at, 3), control(at, 2)]);
            let found = arrivals(&net, &script);
            let expected = at + (PACKET - t) + idle;
            let behind = &found[bulk.len()..];
            assert_eq!(
                behind,
                [expected, expected + 1],
                "{t} cycles after a packet to {bulk:?}"
            );
            // The other messages lose the two flits of the control messages and keep their order of turns.
            let without = arrivals(&net, &script[..bulk.len()]);
            let delayed: Vec<u64> = without.iter().map(|end| end + 2).collect();
            assert_eq!(found[..bulk.len()], delayed, "{bulk:?}");
            let mut one = net.clone();
            one.params.nic.queues = Queues::Fifo;
            let last = arrivals(&one, &script)[bulk.len()];
            assert_eq!(
                last,
                1 + bulk.len() as u64 * 100 * PACKET + idle,
                "{bulk:?} in one queue"
            );
        }
    }
}

/// If a queue pair carries large messages one way at a time, the second of two nodes that exchange n packets each starts
/// when the first message has arrived: it ends `D + (n - 1) L/b` later, D the time of a packet. If both start at once, the
/// second pauses from the arrival of the first packet to that of the last, so that it ends up to D later. Messages up to
/// the limit, and messages to other nodes, use both ways.
#[test]
fn large_messages_go_one_way_at_a_time_between_two_nodes() {
    const N: u64 = 50;
    let mut net = star(3);
    net.params.nic.one_way_above = Some(Bytes(packets(N) - 1));
    let (latency, wire) = (alone(&net), (N - 1) * PACKET);
    let of = |at, source, target| message(cycles(at), source, target, packets(N));
    for late in [latency, latency + 3, wire / 2, wire + latency - 1] {
        let found = arrivals(&net, &[of(1, 0, 1), of(1 + late, 1, 0)]);
        let first = 1 + latency + wire;
        assert_eq!(found, [first, first + latency + wire], "{late} cycles later");
        // The higher node first.
        assert_eq!(
            arrivals(&net, &[of(1 + late, 0, 1), of(1, 1, 0)]),
            [first + latency + wire, first]
        );
    }
    for late in [0, 1, latency - 1] {
        let found = arrivals(&net, &[of(1, 0, 1), of(1 + late, 1, 0)]);
        let first = 1 + latency + wire;
        assert_eq!(found[0], first, "{late} cycles later");
        let both = 1 + latency + 2 * wire;
        assert!(
            (both - PACKET..=both + 2 * latency).contains(&found[1]),
            "{late} cycles later: {}",
            found[1]
        );
    }
    let mut free = net.clone();
    free.params.nic.one_way_above = Some(Bytes(packets(N)));
    let both = [of(1, 0, 1), of(1, 1, 0)];
    assert_eq!(arrivals(&free, &both), [1 + latency + wire; 2]);
    let around = [of(1, 0, 1), of(1, 1, 2), of(1, 2, 0)];
    assert_eq!(arrivals(&net, &around), [1 + latency + wire; 3]);
    // A held message lets others pass.
    let past = [of(1, 0, 1), of(1 + latency, 1, 0), of(1 + latency, 1, 2)];
    assert_eq!(arrivals(&net, &past)[2], 1 + 2 * latency + wire);
}

/// Messages to one node arrive in the order of submission.
#[test]
fn messages_to_one_node_stay_in_order() {
    let mut random = Stream::new(1, 0, Purpose::Destination);
    let mut drawn = |at| {
        let target = 1 + random.below(4);
        message(cycles(at), 0, target, SIZES[random.below(SIZES.len() as u32) as usize])
    };
    let script: Vec<Scripted> = (1..=300).map(&mut drawn).collect();
    let found = arrivals(&star(5), &script);
    for target in 1..5 {
        let to: Vec<u64> = (0..script.len())
            .filter(|&name| script[name].target == target)
            .map(|name| found[name])
            .collect();
        assert!(to.len() > 30 && to.is_sorted(), "to {target}");
    }
}

/// Every routing on all routers, pipelined ones included, with traffic classes and with congestion control.
fn every_network(mut test: impl FnMut(&Net, &str)) {
    let mut is_one_way = sample(2);
    let mut with_size = |net: Net| {
        let mut net = per_peer(net);
        net.params.nic.one_way_above = Some(Bytes(packets(1) - 1)).filter(|_| is_one_way());
        net
    };
    every_fabric(|net, _, context| test(&with_size(net.clone()), context));
    for switching in [Switching::CutThrough, Switching::Wormhole] {
        test(&with_size(pipelined(switching)), &format!("pipelined {switching:?}"));
    }
    let mut net = per_peer(Net::round(shape(5, 4, 2, 2)));
    let class = |name: &str, share| TrafficClass {
        name: name.into(),
        share,
        priority: 0,
    };
    net.params.classes = TrafficClasses::new(vec![class("a", 0.75), class("b", 0.25)], vec![0, 1]).unwrap();
    net.params.traffics = 2;
    test(&net, "classes");
    for congestion in [
        CongestionControl::per_flow(Bytes(packets(2)), cycles(200), cycles(20_000)),
        CongestionControl::ecn(Bytes(packets(2)), 0.5, cycles(200), cycles(40_000)),
    ] {
        for mut net in [
            per_peer(Net::round(shape(5, 4, 2, 2))),
            per_peer(pipelined(Switching::CutThrough)),
        ] {
            net.params.congestion = congestion;
            net.params.nic.one_way_above = Some(Bytes(packets(1)));
            let context = format!("{congestion:?}");
            test(&net, &context);
        }
    }
}

/// Random messages of which every third is a control message; half go to one node.
fn mixed(net: &Net, n: usize, span: u64, seed: u64) -> Vec<Scripted> {
    let mut script = random_messages(net, n, span, &SIZES, seed);
    for (i, m) in script.iter_mut().enumerate() {
        m.is_control = i % 3 == 0;
        m.traffic = (i % 2) as u16 % net.params.traffics;
        if i % 2 == 0 && m.source != 7 {
            m.target = 7;
        }
    }
    script
}

#[test]
fn parts_and_schedulers_make_no_difference() {
    every_network(|net, context| assert_equal_divided(net, &mixed(net, 80, 60, 3), context));
}

#[test]
fn messages_arrive_once_and_waits_are_charged() {
    every_network(|net, context| {
        let script = mixed(net, 400, 300, 11);
        play(net, script.clone()).assert_complete(context);
        let mut net = net.clone();
        net.params.series = Some(cycles(50));
        assert_blame_changes_nothing(&net, script, context);
    });
}

/// Idle wake-ups change nothing, every event can be undone, and a restored run continues with the same results.
#[test]
fn idle_wake_ups_undoing_and_saving_change_nothing() {
    let mut random = Stream::new(1, 0, Purpose::Host);
    let mut is_sampled = sample(6);
    every_network(|net, context| {
        let is_from_table = !context.contains("Control") && !context.contains("pipelined") && context != "classes";
        if is_from_table && !is_sampled() {
            return;
        }
        let script = mixed(net, 24, 30, 6);
        let whole = play(net, script.clone());
        let eager = finish(Play::new(net, script.clone()).eager(cycles(400)));
        assert_eq!(eager.digest(), whole.digest(), "{context}");
        assert_can_be_undone(net, script.clone(), context);
        assert_restores(net, &script, (&mut random, 400), context);
    });
}

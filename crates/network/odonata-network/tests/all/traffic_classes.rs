//! Traffic classes: shares of links, and isolation of classes.

use crate::common;
use crate::common::{
    CYCLE, FLIT, Net, Play, Router, SWITCHINGS, Scripted, assert_can_be_undone, assert_restores, finish, link, links,
    message, named, play, random_messages, shape,
};
use odonata_engine::random::Purpose;
use odonata_engine::{Sequential, Stream, Time};
use odonata_network::routing::Algorithm;
use odonata_network::{InputQueues, RouterModel, TrafficClass, TrafficClasses};

const PACKET: u64 = 8 * FLIT;

/// The routers that support classes.
const ROUTERS: [Router; 3] = [
    (RouterModel::InputQueued, InputQueues::VirtualOutput),
    (RouterModel::InputQueued, InputQueues::Fifo),
    (RouterModel::Pipelined, InputQueues::VirtualOutput),
];

fn class(share: f64, priority: i32) -> TrafficClass {
    TrafficClass {
        name: String::new(),
        share,
        priority,
    }
}

/// `net` with these classes; traffic `i` is of class `i`.
fn with_classes(mut net: Net, classes: &[TrafficClass]) -> Net {
    let of = (0..classes.len() as u8).collect();
    net.params.classes = TrafficClasses::new(classes.to_vec(), of).unwrap();
    net.params.traffics = classes.len() as u16;
    net
}

/// Two routers of one group with `nodes` nodes each; all links send a flit per cycle.
fn pair(nodes: u32) -> Net {
    let mut net = Net::round(shape(1, 2, nodes, 0));
    net.params.links = links([link(1, 2, 64, 1), link(1, 5, 64, 2), link(1, 20, 64, 4)]);
    net
}

fn of_traffic(mut m: Scripted, traffic: u16) -> Scripted {
    m.traffic = traffic;
    m
}

/// Bytes of each traffic delivered between cycles `from` and `to`.
fn delivered(net: &Net, script: Vec<Scripted>, from: u64, to: u64) -> Vec<u64> {
    let mut run = Sequential::new(Play::new(net, named(script)));
    run.run(Time(from * CYCLE.0), u64::MAX);
    let before: Vec<u64> = run.model().fabric.traffic_stats().iter().map(|t| t.bytes).collect();
    run.run(Time(to * CYCLE.0), u64::MAX);
    let after = run.model().fabric.traffic_stats().iter().map(|t| t.bytes);
    after.zip(before).map(|(after, before)| after - before).collect()
}

/// Places where two flows share a link: (sources, targets) of the two.
const MEETINGS: [(&str, [(u32, u32); 2]); 3] = [
    ("between routers", [(0, 2), (1, 3)]),
    ("at the NIC", [(0, 2), (0, 3)]),
    ("in front of a node", [(0, 2), (3, 2)]),
];

/// Share of bytes = share of the class, ± 2%, wherever classes compete, for all packet sizes.
#[test]
fn saturating_classes_get_their_shares_of_a_link() {
    for router in ROUTERS {
        for switching in SWITCHINGS {
            for (place, flows) in MEETINGS {
                for small in [8, 2] {
                    let mut net = with_classes(pair(2).with(router), &[class(0.7, 0), class(0.3, 0)]);
                    net.params.switching = switching;
                    let script = (0..2u16).flat_map(|traffic| {
                        let (source, target) = flows[usize::from(traffic)];
                        // One class in whole packets, the other in messages of `small` flits.
                        let bytes = if traffic == 0 { PACKET } else { small * FLIT };
                        (0..40_000 * FLIT / bytes)
                            .map(move |_| of_traffic(message(CYCLE, source, target, bytes), traffic))
                    });
                    let bytes = delivered(&net, script.collect(), 1_000, 21_000);
                    let total: u64 = bytes.iter().sum();
                    let got = bytes[0] as f64 / total as f64;
                    let context = format!("{place}, {router:?}, {switching:?}, {small} flits: {bytes:?}");
                    assert!((got - 0.7).abs() <= 0.02 * 0.7, "{context}");
                    assert!(total as f64 >= 0.98 * 20_000.0 * FLIT as f64, "{context}");
                }
            }
        }
    }
}

/// With three classes, one of them idle, the others divide its share in proportion: 0.2 / (0.2 + 0.3). A class alone
/// has the whole link.
#[test]
fn unused_shares_go_to_the_other_classes() {
    let net = with_classes(pair(2), &[class(0.5, 0), class(0.2, 0), class(0.3, 0)]);
    let flow = |traffic: u16, (source, target)| {
        (0..5_000).map(move |_| of_traffic(message(CYCLE, source, target, PACKET), traffic))
    };
    let two = flow(1, (0, 2)).chain(flow(2, (1, 3))).collect();
    let bytes = delivered(&net, two, 1_000, 21_000);
    let got = bytes[1] as f64 / (bytes[1] + bytes[2]) as f64;
    assert!((got - 0.4).abs() <= 0.008, "{bytes:?}");
    assert!(bytes[1] + bytes[2] >= 20_000 * FLIT * 98 / 100, "{bytes:?}");
    let bytes = delivered(&net, flow(1, (0, 2)).collect(), 1_000, 21_000);
    assert!(bytes[1] >= 20_000 * FLIT * 98 / 100, "{bytes:?}");
}

/// A class that offers less than its share gets all of it through; the other class gets the rest.
#[test]
fn a_class_that_offers_less_than_its_share_loses_nothing() {
    let net = with_classes(pair(2), &[class(0.5, 0), class(0.5, 0)]);
    // A packet of 8 flits every 32 cycles: a quarter of the link.
    let light = (0..1_000).map(|i| of_traffic(message(Time((1 + 32 * i) * CYCLE.0), 0, 2, PACKET), 0));
    let heavy = (0..5_000).map(|_| of_traffic(message(CYCLE, 1, 3, PACKET), 1));
    let bytes = delivered(&net, light.chain(heavy).collect(), 1_000, 21_000);
    let expected = [5_000 * FLIT, 15_000 * FLIT];
    for (got, expected) in bytes.iter().zip(expected) {
        assert!(got.abs_diff(expected) <= expected / 50, "{bytes:?}");
    }
}

/// Nodes 0 to 5 of router 0 send at full rate to node 6 of router 1, in the last class; node 0 also sends a packet to
/// node 7 now and then, in the first class. Returns the largest latency of these, in cycles.
fn victim(net: &Net, traffic: u16) -> u64 {
    let hot = (0..6).flat_map(|source| {
        let flood = net.params.traffics - 1;
        (0..400).map(move |_| of_traffic(message(CYCLE, source, 8, PACKET), flood))
    });
    let light = (0..60).map(|i| of_traffic(message(Time((200 + 97 * i) * CYCLE.0), 0, 9, PACKET), traffic));
    let model = play(net, named(hot.chain(light).collect()));
    model.fabric.traffic_stats().get(u32::from(traffic)).latency_max.0 / CYCLE.0
}

/// T0 = L/b + 2 f/b + latencies + 2 pipelines, for routers with a pipeline latency; pipelined ones are measured. At
/// each of three links it may meet one packet in transmission, and one with an earlier turn: no more than two packets
/// each.
#[test]
fn a_class_whose_target_is_full_does_not_delay_another() {
    for router in ROUTERS {
        let lonely = play(&pair(8).with(router), named(vec![message(CYCLE, 0, 9, PACKET)]));
        let alone = (lonely.arrival(0) - CYCLE).0 / CYCLE.0;
        if router.0 == RouterModel::InputQueued {
            assert_eq!(alone, 8 + 2 + 2 + 5 + 2 + 2 * 3);
        }
        for priority in [0, 1] {
            let net = with_classes(pair(8).with(router), &[class(0.5, priority), class(0.5, 0)]);
            let got = victim(&net, 0);
            // At most one packet ahead if it always goes first.
            let most = alone + 3 * 8 * if priority == 1 { 1 } else { 2 };
            assert!(got <= most, "{router:?}: {got} cycles, not up to {most}");
            // With all traffic in one class it waits behind full buffers.
            let mut one = pair(8).with(router);
            one.params.traffics = 2;
            let got = victim(&one, 0);
            assert!(got >= 3 * alone, "{router:?}: {got} cycles in one class");
        }
    }
}

/// A class of higher priority gets its offered load, even if its share is small.
#[test]
fn a_higher_priority_goes_first() {
    for (router, (place, flows)) in ROUTERS
        .into_iter()
        .flat_map(|router| MEETINGS.map(|place| (router, place)))
    {
        let net = with_classes(pair(2).with(router), &[class(0.9, 0), class(0.1, 5)]);
        let flow = |traffic: u16| {
            let (source, target) = flows[usize::from(traffic)];
            (0..5_000).map(move |_| of_traffic(message(CYCLE, source, target, PACKET), traffic))
        };
        let bytes = delivered(&net, flow(0).chain(flow(1)).collect(), 1_000, 21_000);
        // A pipelined router with one channel for the class carries as much as it does for the class alone.
        let alone = delivered(&net, flow(1).collect(), 1_000, 21_000)[1];
        assert!(
            bytes[1] >= alone * 98 / 100,
            "{place}, {router:?}: {bytes:?} of {alone}"
        );
        if router.0 == RouterModel::InputQueued {
            assert!(bytes[1] >= 20_000 * FLIT * 98 / 100, "{place}, {router:?}: {bytes:?}");
        }
    }
}

/// Networks with three classes, and four traffics.
fn mixed(mut test: impl FnMut(&Net, Vec<Scripted>, &str)) {
    for router in ROUTERS {
        for (algorithm, intermediate, _) in common::ROUTINGS {
            for small in [false, true] {
                let mut net = Net::round(shape(3, 2, 2, 1))
                    .routed(algorithm, intermediate)
                    .with(router);
                let classes = vec![class(0.5, 0), class(0.2, 0), class(0.1, 1)];
                net.params.classes = TrafficClasses::new(classes, vec![0, 1, 2, 1]).unwrap();
                net.params.traffics = 4;
                if small {
                    net = net.smallest_buffers();
                }
                let mut script = random_messages(&net, 60, 30, &[0, FLIT, 8 * FLIT, 50 * FLIT], 6);
                script.iter_mut().for_each(|m| m.traffic = (m.name % 4) as u16);
                test(
                    &net,
                    script,
                    &format!("{router:?} {algorithm:?} {intermediate:?} {small}"),
                );
            }
        }
    }
}

#[test]
fn messages_arrive_once_independent_of_wake_ups_and_every_event_can_be_undone() {
    assert_arrivals_and_rollback(3);
}

#[test]
#[ignore = "takes long"]
fn messages_arrive_once_and_every_event_can_be_undone_in_any_network() {
    assert_arrivals_and_rollback(1);
}

fn assert_arrivals_and_rollback(step: usize) {
    let mut in_sample = common::sample(step);
    mixed(|net, script, context| {
        if !in_sample() {
            return;
        }
        let mut plain = play(net, script.clone());
        plain.assert_complete(context);
        let end = (0..script.len()).map(|i| plain.arrival(i)).max().unwrap();
        let play_it = Play::new(net, script.clone());
        let eager = finish(match net.params.router {
            RouterModel::Pipelined => play_it.ticking(end),
            _ => play_it.eager(end),
        });
        assert_eq!(eager.digest(), plain.digest(), "{context}");
        let few = named(script.into_iter().take(25).collect());
        assert_can_be_undone(net, few, context);
    });
}

#[test]
fn a_restored_run_gives_the_same_results() {
    let mut random = Stream::new(1, 0, Purpose::Host);
    mixed(|net, script, context| {
        assert_restores(net, &script, (&mut random, 400), context);
    });
}

#[test]
fn results_are_the_same_on_all_schedulers_and_divisions() {
    mixed(|net, script, context| common::divided::assert_equal_divided(net, &script, context));
}

/// One configured class is the same as none.
#[test]
fn a_single_class_is_as_none() {
    let net = Net::round(shape(5, 4, 2, 2)).routed(
        Algorithm::ProgressiveAdaptive,
        odonata_network::routing::Intermediate::Router,
    );
    let script = random_messages(&net, 300, 200, &common::SIZES, 3);
    let one = with_classes(net.clone(), &[class(0.3, 7)]);
    assert_eq!(play(&one, script.clone()).digest(), play(&net, script).digest());
}

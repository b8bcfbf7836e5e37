//! Congestion control: incast, and flows that only cross the same routers.

use crate::common;
use crate::common::{
    CYCLE, FLIT, INPUT_QUEUES, Net, Play, Scripted, assert_can_be_undone, assert_restores, finish, link, links,
    message, named, play, random_messages, shape,
};
use odonata_engine::random::Purpose;
use odonata_engine::{Sequential, Stream, Time};
use odonata_network::{CongestionControl, InputQueues, RouterModel, TrafficClass, TrafficClasses};
use odonata_units::Bytes;

pub(crate) const PACKET: u64 = 8 * FLIT;

const PIPELINED: common::Router = (RouterModel::Pipelined, InputQueues::VirtualOutput);

pub(crate) fn cycles(n: u64) -> Time {
    Time(n * CYCLE.0)
}

fn per_flow() -> CongestionControl {
    CongestionControl::per_flow(Bytes(4 * PACKET), cycles(200), cycles(20_000))
}

fn per_pair() -> CongestionControl {
    CongestionControl::per_pair(Bytes(4 * PACKET), cycles(200), cycles(20_000))
}

fn ecn() -> CongestionControl {
    CongestionControl::ecn(Bytes(4 * PACKET), 0.5, cycles(200), cycles(40_000))
}

/// Five groups of four routers with four nodes; all links send a flit per cycle.
pub(crate) fn machine(congestion: CongestionControl) -> Net {
    let mut net = Net::round(shape(5, 4, 4, 2));
    net.params.links = links([link(1, 2, 64, 2), link(1, 5, 64, 5), link(1, 20, 128, 20)]);
    net.params.congestion = congestion;
    net.params.traffics = 2;
    net
}

/// The target of the incast: the first node of group 0.
pub(crate) const HOT: u32 = 0;
const END: u64 = 60_000;

/// 30 nodes of groups 1 and 2 send at full rate to the hot node, as traffic 0. From cycle 20,000 on, the other two
/// nodes of these groups send a packet every 150 cycles to another node of the hot node's router, as traffic 1.
fn incast(hot: bool) -> Vec<Scripted> {
    let sources = (16..48u32).filter(|node| node % 16 != 15);
    let flood = sources.flat_map(|source| (0..400).map(move |_| message(CYCLE, source, HOT, PACKET)));
    let victims = [31u32, 47].into_iter().flat_map(|source| {
        (0..250).map(move |i| {
            let mut m = message(cycles(20_000 + 150 * i + u64::from(source)), source, HOT + 1, PACKET);
            m.traffic = 1;
            m
        })
    });
    named(flood.filter(|_| hot).chain(victims).collect())
}

struct Measured {
    /// Mean latency of a victim's packet, cycles.
    victim: f64,
    /// Rate at the hot node from cycle 20,000 on, as a fraction of its link's.
    throughput: f64,
    /// Packets in the network at the end.
    backlog: u32,
}

fn measure(net: &Net, script: Vec<Scripted>) -> Measured {
    let mut run = Sequential::new(Play::new(net, script));
    run.run(cycles(20_000), u64::MAX);
    let before = run.model().fabric.traffic_stats().get(0).bytes;
    run.run(cycles(END), u64::MAX);
    let fabric = &run.model().fabric;
    let (hot, victim) = (fabric.traffic_stats().get(0), fabric.traffic_stats().get(1));
    Measured {
        victim: victim.latency_ps as f64 / CYCLE.0 as f64 / victim.packets.max(1) as f64,
        throughput: (hot.bytes - before) as f64 / (FLIT * (END - 20_000)) as f64,
        backlog: fabric.in_flight().0,
    }
}

/// Without control the buffers on the path are full, and delay the victim's packets. With control, these take less than
/// one and a half times as long as in a network without the incast (with input FIFOs, half as long as without control),
/// and the link to the hot node is 90% busy.
#[test]
fn congestion_control_protects_a_flow_that_crosses_an_incast() {
    for (router, queues) in [
        (RouterModel::InputQueued, InputQueues::VirtualOutput),
        (RouterModel::InputQueued, InputQueues::Fifo),
        (RouterModel::OutputQueued, InputQueues::VirtualOutput),
        PIPELINED,
    ] {
        let with = |control| machine(control).with((router, queues));
        let alone = measure(&with(CongestionControl::default()), incast(false));
        let without = measure(&with(CongestionControl::default()), incast(true));
        let controlled = measure(&with(per_flow()), incast(true));
        let marked = measure(&with(ecn()), incast(true));
        let context = format!(
            "{router:?} {queues:?}: victims take {:.0} cycles alone, {:.0} without control, {:.0} per flow, {:.0} with marks; \
             throughput {:.3}, {:.3}, {:.3}; backlog {}, {}, {}",
            alone.victim,
            without.victim,
            controlled.victim,
            marked.victim,
            without.throughput,
            controlled.throughput,
            marked.throughput,
            without.backlog,
            controlled.backlog,
            marked.backlog,
        );
        eprintln!("{context}");
        assert!(without.victim >= 3.0 * alone.victim, "{context}");
        // If a virtual channel needs a cycle between packets, the link is at most 8/9 busy.
        let most = if router == RouterModel::Pipelined {
            8.0 / 9.0
        } else {
            1.0
        };
        assert!(controlled.throughput >= 0.9 * most, "{context}");
        assert!(controlled.backlog < without.backlog, "{context}");
        assert!(marked.backlog * 2 <= without.backlog, "{context}");
        assert!(marked.victim <= 0.7 * without.victim, "{context}");
        if queues == InputQueues::Fifo || router == RouterModel::Pipelined {
            // Only the backlog in the last routers' FIFOs is detected, and each packet to the hot node blocks all
            // behind it.
            assert!(controlled.victim <= 0.5 * without.victim, "{context}");
            assert!(controlled.backlog * 3 <= without.backlog, "{context}");
        } else {
            assert!(controlled.victim <= 1.5 * alone.victim, "{context}");
            assert!(controlled.backlog * 3 <= without.backlog, "{context}");
        }
    }
}

/// A source of the incast also sends to a node without other traffic. Its messages to the hot node are ahead in its
/// queue, but do not block the others.
#[test]
fn other_messages_of_a_limited_source_are_not_delayed() {
    let script = |others: bool| {
        let flood = incast(true).into_iter().filter(|m| m.traffic == 0);
        let light = (0..200).map(|i| {
            let mut m = message(cycles(20_000 + 150 * i), 16, 64, PACKET);
            m.traffic = 1;
            m
        });
        let all: Vec<Scripted> = flood.filter(|_| others).chain(light).collect();
        named(all)
    };
    let latency = |net: &Net, script| {
        let mut run = Sequential::new(Play::new(net, script));
        run.run(cycles(END), u64::MAX);
        let light = *run.model().fabric.traffic_stats().get(1);
        assert!(light.packets >= 190, "{} packets", light.packets);
        light.latency_created_ps as f64 / CYCLE.0 as f64 / light.packets as f64
    };
    for router in [(RouterModel::InputQueued, InputQueues::VirtualOutput), PIPELINED] {
        let alone = latency(&machine(CongestionControl::default()).with(router), script(false));
        for control in [per_flow(), per_pair()] {
            let beside = latency(&machine(control).with(router), script(true));
            assert!(
                beside <= 1.5 * alone,
                "{router:?} {control:?}: {beside:.0} cycles from creation, alone {alone:.0}"
            );
        }
    }
}

/// If no packet waits for longer than a few packet times, none is marked and no flow is limited: every packet arrives
/// at exactly the same picosecond as without control.
#[test]
fn control_changes_nothing_without_congestion() {
    for router in common::ROUTERS.into_iter().chain([PIPELINED]) {
        let machine = |control| machine(control).with(router);
        let script = random_messages(&machine(CongestionControl::default()), 500, 40_000, &[FLIT, PACKET], 3);
        let reference = play(&machine(CongestionControl::default()), script.clone());
        for control in [per_flow(), per_pair(), ecn()] {
            let got = play(&machine(control), script.clone());
            assert_eq!(got.digest(), reference.digest(), "{router:?} {control:?}");
        }
    }
}

/// Small machines with control that acts soon, and a short incast among random messages, with one class or two.
fn controlled(mut test: impl FnMut(&Net, Vec<Scripted>, &str)) {
    for control in [
        CongestionControl::per_flow(Bytes(FLIT), cycles(60), cycles(900)),
        CongestionControl::per_pair(Bytes(FLIT), cycles(60), cycles(900)),
        CongestionControl::ecn(Bytes(FLIT), 0.6, cycles(50), cycles(900)),
    ] {
        for (router, queues) in common::ROUTERS.into_iter().chain([PIPELINED]) {
            for classes in [1, 2] {
                if classes == 2 && router == RouterModel::OutputQueued {
                    continue;
                }
                let mut net = Net::round(shape(3, 2, 2, 1)).with((router, queues));
                net.params.congestion = control;
                net.params.traffics = 2;
                let list = vec![
                    TrafficClass {
                        name: String::new(),
                        share: 0.5,
                        priority: 0
                    };
                    classes
                ];
                net.params.classes = TrafficClasses::new(list, vec![0, classes as u8 - 1]).unwrap();
                let mut script = random_messages(&net, 20, 400, &[0, FLIT, PACKET, 50 * FLIT], 6);
                script.extend((1..12).map(|source| message(CYCLE, source, 0, 8 * PACKET + 5)));
                script.extend((1..12).map(|source| message(cycles(300 + u64::from(source)), source, 0, PACKET)));
                let mut script = named(script);
                script.iter_mut().for_each(|m| m.traffic = (m.name % 2) as u16);
                test(
                    &net,
                    script,
                    &format!("{control:?} {router:?} {queues:?}, {classes} classes"),
                );
            }
        }
    }
}

#[test]
fn messages_arrive_once_independent_of_wake_ups() {
    controlled(|net, script, context| {
        let mut plain = play(net, script.clone());
        plain.assert_complete(context);
        let mut free = net.clone();
        free.params.congestion = CongestionControl::default();
        assert_ne!(
            play(&free, script.clone()).digest(),
            plain.digest(),
            "{context}: no flow was limited"
        );
        let end = (0..script.len()).map(|i| plain.arrival(i)).max().unwrap();
        let eager = match net.params.router {
            RouterModel::Pipelined => Play::new(net, script.clone()).ticking(end),
            RouterModel::InputQueued | RouterModel::OutputQueued => Play::new(net, script.clone()).eager(end),
        };
        let eager = finish(eager);
        assert_eq!(eager.digest(), plain.digest(), "{context}");
    });
}

#[test]
fn every_event_can_be_undone() {
    assert_every_event_can_be_undone(2);
}

#[test]
#[ignore = "takes long"]
fn every_event_can_be_undone_with_every_control() {
    assert_every_event_can_be_undone(1);
}

fn assert_every_event_can_be_undone(step: usize) {
    let mut in_sample = common::sample(step);
    controlled(|net, script, context| {
        if in_sample() {
            // Without the random messages: the first ones are limited as well, and the run is shorter.
            let script = named(script.into_iter().skip(20).collect());
            assert_can_be_undone(net, script, context);
        }
    });
}

#[test]
fn results_are_the_same_on_all_schedulers_and_divisions() {
    controlled(|net, script, context| common::divided::assert_equal_divided(net, &script, context));
}

#[test]
fn a_restored_run_gives_the_same_results() {
    let mut random = Stream::new(1, 0, Purpose::Host);
    controlled(|net, script, context| {
        assert_restores(net, &script, (&mut random, 400), context);
    });
}

/// Messages from one node to another arrive in the order of submission, whether their flow is limited or not.
#[test]
fn messages_of_a_pair_of_nodes_stay_in_order() {
    let cases = INPUT_QUEUES
        .into_iter()
        .flat_map(|queues| [(queues, per_flow()), (queues, per_pair())]);
    for (queues, control) in cases {
        // One cable between two groups: packets of a pair of nodes take the same path.
        let mut net = Net::round(shape(9, 4, 2, 2));
        net.params.congestion = control;
        net.params.input_queues = queues;
        let script: Vec<Scripted> = (16..40u32)
            .flat_map(|source| (0..60).map(move |i| message(cycles(1 + 20 * i), source, HOT, FLIT * (1 + i % 12))))
            .collect();
        let script = named(script);
        let model = play(&net, script.clone());
        let mut last = std::collections::HashMap::new();
        for (i, m) in script.iter().enumerate() {
            let before = last.insert(m.source, model.arrival(i)).unwrap_or(Time::ZERO);
            assert!(before < model.arrival(i), "{queues:?} {control:?}: {m:?} overtook");
        }
    }
}

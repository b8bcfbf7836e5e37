//! Queues of a NIC per output: messages for a slow cable do not delay those for a fast one.

use crate::common::{
    CYCLE, FLIT, Fabric, Net, Play, SIZES, Scripted, assert_blame_changes_nothing, assert_equal_divided,
    assert_restores, every_fabric, finish, link, message, named, play, random_messages, shape,
};
use odonata_engine::random::Purpose;
use odonata_engine::{Stream, Time};
use odonata_network::routing::{RailAlgorithm, RailRouting, Routing, Up};
use odonata_network::settings::Fidelity;
use odonata_network::{
    Blueprint, Fidelities, InputQueues, NetworkParams, RouterModel, SendQueues, TrafficClass, TrafficClasses,
};
use odonata_topology::family::rail_optimized::{HostLinks, StorageShape};
use odonata_topology::{LinkClass, RailOptimized, RailOptimizedShape};

/// Packets of a stream.
const PACKETS: u64 = 200;
/// Cycles of a packet of 8 flits on a link of the host and on the rail; the GPU itself sends one in 8.
const HOST: u64 = 16;
const RAIL: u64 = 160;

/// Hosts of three GPUs on rails: a GPU sends a flit per cycle, its links into the host carry half of that and the rails
/// a twentieth.
fn rails(links: HostLinks, queues: SendQueues, flows: bool) -> (NetworkParams, Routing) {
    let mut params = Net::round(shape(1, 1, 1, 0)).params;
    params.links[LinkClass::Local as usize] = link(2, 5, 32, 2);
    params.links[LinkClass::Column as usize] = link(20, 5, 32, 2);
    params.nic.send_queues = queues;
    let fidelity = if flows { Fidelity::Flow } else { Fidelity::Packet };
    (params.fidelities, params.blame) = (Fidelities::Same(fidelity), !flows);
    let cluster = RailOptimized::new(RailOptimizedShape {
        pods: 1,
        hosts: 2,
        gpus: 3,
        links,
        spines: 0,
        cables: 0,
        storage: StorageShape::default(),
    });
    let routing = RailRouting::new(cluster.unwrap(), RailAlgorithm::Pxn, Up::DModK, 1).unwrap();
    (params, Routing::RailOptimized(routing))
}

fn run((params, routing): (NetworkParams, Routing), script: Vec<Scripted>) -> Play {
    let levels = routing.virtual_channels();
    let fabric: Fabric = Blueprint::new(params, routing, levels).whole();
    let mut model = finish(Play::on(fabric, named(script)));
    model.assert_complete("rails");
    model
}

/// Messages of one packet each from node 0: `PACKETS` to a GPU of its host, and before each tenth of them one to each
/// of `others`.
fn streams(others: &[u32]) -> Vec<Scripted> {
    let packet = |target| message(CYCLE, 0, target, 8 * FLIT);
    let of_ten = |i| {
        let slow = others.iter().filter(move |_| i % 10 == 0);
        slow.map(|&target| packet(target)).chain([packet(1)])
    };
    (0..PACKETS).flat_map(of_ten).collect()
}

/// Arrival of the last message to `target`, cycles.
fn last(model: &Play, script: &[Scripted], target: u32) -> u64 {
    let arrivals = (0..script.len()).filter(|&name| script[name].target == target);
    arrivals.map(|name| model.arrival(name).0).max().unwrap() / CYCLE.0
}

/// As packets and as flows: beside a stream on the rail (to GPU 3), a stream into the host takes P times a packet's
/// time on its link plus the latency of a packet, as it does alone; and so does the stream on the rail, up to the turns
/// of a few packets. A stream to the other host through GPU 1 (to 4) takes only its packets' time on the host's link.
#[test]
fn a_stream_over_a_fast_cable_takes_as_long_as_alone() {
    for router in [RouterModel::InputQueued, RouterModel::OutputQueued] {
        for links in [HostLinks::Switch, HostLinks::AllToAll] {
            for flows in [false, true] {
                let network = || {
                    let (mut params, routing) = rails(links, SendQueues::PerOutput, flows);
                    params.router = router;
                    (params, routing)
                };
                let script = streams(&[3, 4]);
                let both = run(network(), script.clone());
                for (target, packets, cycles, others) in [
                    (1, PACKETS, HOST, PACKETS / 10 * HOST),
                    (3, PACKETS / 10, RAIL, 0),
                    (4, PACKETS / 10, RAIL, 0),
                ] {
                    let context = format!("{router:?} {links:?} flows {flows} to {target}");
                    let alone = |n: u64| {
                        let stream: Vec<Scripted> = script.iter().filter(|m| m.target == target).copied().collect();
                        let stream = stream[..n as usize].to_vec();
                        last(&run(network(), stream.clone()), &stream, target)
                    };
                    let found = last(&both, &script, target);
                    let expected = alone(1) + (packets - 1) * cycles;
                    assert!(
                        alone(packets).abs_diff(expected) <= 1,
                        "{context}: {} alone",
                        alone(packets)
                    );
                    let expected = expected + others;
                    // The content of a buffer, and a turn at each end, for every P.
                    let turns = (32 / 8 + 2) * HOST;
                    assert!(
                        (expected - turns..=expected + turns).contains(&found),
                        "{context}: {found} cycles, not {expected}"
                    );
                }
            }
        }
    }
}

/// In one queue messages leave in the order of submission, and a packet for the rail delays ten for the host: 160
/// cycles, while these take as many, in sequence up to the content of buffers.
#[test]
fn in_one_queue_the_slow_cable_sets_the_pace_where_buffers_are_full() {
    let slow: Vec<Scripted> = (0..PACKETS)
        .map(|i| message(CYCLE, 0, if i % 2 == 0 { 3 } else { 1 }, 8 * FLIT))
        .collect();
    let one = run(rails(HostLinks::Switch, SendQueues::One, false), slow.clone());
    let own = run(rails(HostLinks::Switch, SendQueues::PerOutput, false), slow.clone());
    let fast = PACKETS / 2;
    // All but four packets of a buffer of 32 flits.
    assert!(last(&one, &slow, 1) > (fast - 8) * RAIL, "{}", last(&one, &slow, 1));
    assert!(last(&own, &slow, 1) < fast * (HOST + 8), "{}", last(&own, &slow, 1));
    assert!(last(&own, &slow, 3).abs_diff(last(&one, &slow, 3)) <= 2 * HOST);
}

/// Messages from a GPU to one target do not overtake each other: they are in one queue.
#[test]
fn messages_to_one_node_stay_in_order() {
    let mut random = Stream::new(1, 0, Purpose::Destination);
    let script: Vec<Scripted> = (0..300)
        .map(|_| {
            message(
                CYCLE,
                0,
                1 + random.below(5),
                SIZES[random.below(SIZES.len() as u32) as usize],
            )
        })
        .collect();
    let ran = run(rails(HostLinks::AllToAll, SendQueues::PerOutput, false), script.clone());
    for target in 1..6 {
        let arrivals: Vec<Time> = (0..script.len())
            .filter(|&name| script[name].target == target)
            .map(|name| ran.arrival(name))
            .collect();
        assert!(arrivals.is_sorted(), "to {target}");
    }
}

/// Every routing on routers whose packets wait only for their outputs.
fn every_network(mut test: impl FnMut(&Net, &str)) {
    every_fabric(|net, _, context| {
        if net.params.router != RouterModel::Pipelined && net.params.input_queues != InputQueues::Fifo {
            let mut net = net.clone();
            net.params.nic.send_queues = SendQueues::PerOutput;
            test(&net, context);
        }
    });
}

#[test]
fn parts_and_schedulers_make_no_difference() {
    every_network(|net, context| {
        let script = random_messages(net, 200, 100, &SIZES, 3);
        assert_equal_divided(net, &script, context);
    });
}

#[test]
fn messages_arrive_once_and_waits_are_charged() {
    every_network(|net, context| {
        let script = random_messages(net, 400, 300, &SIZES, 11);
        play(net, script.clone()).assert_complete(context);
        let mut net = net.clone();
        net.params.series = Some(Time(50 * CYCLE.0));
        assert_blame_changes_nothing(&net, script, context);
    });
}

/// Idle wake-ups change nothing, and a restored run continues with the same results.
#[test]
fn idle_wake_ups_and_saving_change_nothing() {
    let mut random = Stream::new(1, 0, Purpose::Host);
    every_network(|net, context| {
        let script = random_messages(net, 120, 60, &SIZES, 6);
        let whole = play(net, script.clone());
        let eager = finish(Play::new(net, script.clone()).eager(Time(400 * CYCLE.0)));
        assert_eq!(eager.digest(), whole.digest(), "{context}");
        assert_restores(net, &script, (&mut random, 400), context);
    });
}

/// With two classes each has its share of the GPU's own link, whatever its queues.
#[test]
fn classes_share_the_link_of_the_node() {
    let (mut params, routing) = rails(HostLinks::AllToAll, SendQueues::PerOutput, false);
    params.links[LinkClass::Terminal as usize] = link(4, 2, 32, 1);
    let class = |name: &str, share| TrafficClass {
        name: name.into(),
        share,
        priority: 0,
    };
    params.classes = TrafficClasses::new(vec![class("a", 0.75), class("b", 0.25)], vec![0, 1]).unwrap();
    params.traffics = 2;
    let script: Vec<Scripted> = (0..400)
        .map(|i| Scripted {
            traffic: (i % 2) as u16,
            ..message(CYCLE, 0, 1 + (i / 2 % 2) as u32, 8 * FLIT)
        })
        .collect();
    let ran = run((params, routing), script.clone());
    let end = |traffic| {
        let of_class = (0..script.len()).filter(|&name| script[name].traffic == traffic);
        of_class.map(|name| ran.arrival(name).0 / CYCLE.0).max().unwrap()
    };
    // 200 packets of 32 cycles at three quarters of the link, then the rest of the others at its full rate.
    let (first, second) = (200 * 32 * 4 / 3, 400 * 32);
    assert!(end(0).abs_diff(first) < 200, "{} not {first}", end(0));
    assert!(end(1).abs_diff(second) < 200, "{} not {second}", end(1));
}

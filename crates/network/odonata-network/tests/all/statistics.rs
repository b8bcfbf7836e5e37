//! Sums of the fabric's counters.

use crate::common;
use crate::common::{Net, Play, SIZES, every_fabric, finish, play, random_messages, shape};
use odonata_engine::Time;
use odonata_network::{LinkStats, RouterModel, Switching};
use odonata_topology::{LinkClass, Peer, Topology};

fn sum(model: &Play, topology: &Topology, wanted: impl Fn(Option<LinkClass>, Peer) -> bool) -> LinkStats {
    let mut total = LinkStats::default();
    for (link, stats) in (0..).zip(model.fabric.link_stats().iter()) {
        let (class, peer) = match link < topology.ports() {
            true => (Some(topology.class(link)), topology.peer(link)),
            false => (None, Peer::Free),
        };
        if wanted(class, peer) {
            total.bytes += stats.bytes;
            total.packets += stats.packets;
            total.busy += stats.busy;
        }
    }
    total
}

/// Links count the same as nodes: NICs send and terminal ports deliver every byte once, and the packets on links
/// between routers are the visited routers minus one per packet.
#[test]
fn link_counters_add_up_to_what_was_delivered() {
    every_fabric(|net, _, context| {
        let script = random_messages(net, 500, 1_500, &SIZES, 23);
        let model = play(net, script.clone());
        let dragonfly = net.dragonfly();
        let topology = dragonfly.topology();
        let (delivered, hops) = model.fabric.delivered();
        let bytes: u64 = script.iter().map(|m| m.bytes).sum();
        let nics = sum(&model, topology, |class, _| class.is_none());
        let to_nodes = sum(&model, topology, |class, peer| {
            class.is_some() && matches!(peer, Peer::Node(_))
        });
        let between = sum(&model, topology, |_, peer| matches!(peer, Peer::Router { .. }));
        let free = sum(&model, topology, |class, peer| class.is_some() && peer == Peer::Free);
        assert_eq!((nics.bytes, to_nodes.bytes), (bytes, bytes), "{context}");
        assert_eq!((nics.packets, to_nodes.packets), (delivered, delivered), "{context}");
        assert_eq!(between.packets, hops - delivered, "{context}");
        assert_eq!((free.bytes, free.packets), (0, 0), "{context}");
        // All links of these networks take 62.5 ps per byte. A cut-through link is also busy while it waits for a tail
        // that is still arriving.
        let least = |stats: &LinkStats| (stats.bytes as f64 * 62.5 - stats.packets as f64) as u64;
        assert!(nics.busy.0.abs_diff(least(&nics)) <= 2 * nics.packets, "{context}");
        for stats in [to_nodes, between] {
            match net.params.switching {
                Switching::StoreAndForward => {
                    assert!(stats.busy.0.abs_diff(least(&stats)) <= 2 * stats.packets, "{context}")
                }
                Switching::CutThrough | Switching::Wormhole => assert!(stats.busy.0 >= least(&stats), "{context}"),
            }
        }
    });
}

/// No link is busy or saturated longer than the run.
#[test]
fn busy_and_saturated_times_fit_into_the_run() {
    every_fabric(|net, _, context| {
        let script = random_messages(net, 500, 100, &SIZES[3..], 29);
        let model = play(net, script.clone());
        let end = (0..script.len()).map(|i| model.arrival(i)).max().unwrap();
        let mut saturated = Time::ZERO;
        let measured = model.fabric.measured();
        for stats in measured.ports.iter().chain(&measured.nics) {
            assert!(stats.stall <= end, "{context}: {stats:?} of {end:?}");
            assert!(
                stats.busy <= end && stats.saturation <= end,
                "{context}: {stats:?} of {end:?}"
            );
            assert!(stats.stalled > 0 || stats.stall == Time::ZERO, "{context}: {stats:?}");
            saturated += stats.saturation;
        }
        assert!(
            saturated > Time::ZERO,
            "{context}: a load that fills no buffer tests nothing"
        );
    });
}

/// The time series is a view of the same counts: its cells sum to the totals of traffic and links.
#[test]
fn series_add_up_to_the_totals() {
    every_fabric(|net, _, context| {
        let mut net = net.clone();
        net.params.series = Some(Time(common::CYCLE.0 * 100));
        net.params.traffics = 2;
        let mut script = random_messages(&net, 300, 1_000, &SIZES, 31);
        script.iter_mut().for_each(|m| m.traffic = (m.name % 2) as u16);
        let model = play(&net, script);
        let columns = 2 + LinkClass::ALL.len();
        let total = |column: usize| {
            let cells = model.fabric.series().filter(|&(i, _)| i % columns == column);
            cells.fold((0, 0, 0), |t, (_, c)| (t.0 + c.packets, t.1 + c.bytes, t.2 + c.time.0))
        };
        for (i, traffic) in model.fabric.traffic_stats().iter().enumerate() {
            assert_eq!(
                total(i),
                (traffic.packets, traffic.bytes, traffic.latency_ps as u64),
                "{context}"
            );
        }
        let dragonfly = net.dragonfly();
        for class in LinkClass::ALL {
            // Router ports only: NICs have no column.
            let links = sum(&model, dragonfly.topology(), |of, _| of == Some(class));
            assert_eq!(
                total(2 + class as usize),
                (links.packets, links.bytes, links.busy.0),
                "{context} {class:?}"
            );
        }
    });
}

/// Saturation time of a port by hand: P packets of each of two nodes need the same one-packet buffer. From the second
/// packet on one waits while the buffer is full: until the credit of the previous packet returns, though the link
/// transmits for 8 cycles of that. The round trip of a credit is
/// - input-queued: L/b, latency, pipeline and the tail's flit on the terminal link, then the credit delay;
/// - output-queued: L/b, latency, pipeline, and the credit delay.
#[test]
fn saturation_is_the_time_in_which_a_packet_lacks_room() {
    let cycle = common::CYCLE.0;
    let (lat, pipe, credit) = (25, 3, 4);
    let measure = |router, switching, packets: u64| {
        let mut net = Net::round(shape(1, 2, 2, 0)).with(router);
        net.params.switching = switching;
        net.params.links[1] = common::link(1, lat, 8, credit);
        let message = |source| common::message(Time(cycle), source, 2, 8 * common::FLIT);
        let script: Vec<_> = (0..packets).flat_map(|_| [message(0), message(1)]).collect();
        let model = play(&net, common::named(script));
        let port = net.dragonfly().local_port(0, 1);
        let stats = *(model.fabric.measured()).link(port);
        assert_eq!((stats.packets, stats.busy), (2 * packets, Time(16 * packets * cycle)));
        stats
    };
    for packets in [1, 5] {
        let others = 2 * packets - 1;
        for queues in common::INPUT_QUEUES {
            let stats = measure((RouterModel::InputQueued, queues), Switching::CutThrough, packets);
            let back = lat + pipe + 1 + credit;
            assert_eq!(stats.saturation, Time(others * (8 + back) * cycle), "{queues:?}");
            assert_eq!(stats.stall, Time(others * back * cycle), "{queues:?}");
            assert!(stats.stalled >= others, "{queues:?}: {stats:?}");
        }
        let output_queued = (RouterModel::OutputQueued, common::INPUT_QUEUES[0]);
        let stats = measure(output_queued, Switching::StoreAndForward, packets);
        assert_eq!(stats.saturation, Time(others * (8 + lat + pipe + credit) * cycle));
    }
}

/// The same by hand for a pipelined router, which uses credits only. A credit returns a round trip after the grant of
/// its flit: the crossbar, the flit, its latency, two stages of the next router, the credit delay.
/// - Cut-through, a buffer of a packet of 8 flits: from the first flit of a packet until the credit of the last one,
///   and of the last packet until its last flit.
/// - Wormhole, a buffer of 4 flits: from the fourth flit until the last one, since each further flit takes the credit
///   that has just returned.
#[test]
fn a_pipelined_router_is_saturated_from_the_last_credit_taken_until_one_returns() {
    let cycle = common::CYCLE.0;
    let (lat, credit) = (25, 4);
    let round_trip = 1 + 1 + lat + 2 + credit;
    let measure = |switching, buffer, packets: u64, needless: bool| {
        let mut net = Net::round(shape(1, 2, 2, 0)).with((RouterModel::Pipelined, common::INPUT_QUEUES[0]));
        net.params.switching = switching;
        net.params.links[1] = common::link(1, lat, buffer, credit);
        let message = |source| common::message(Time(cycle), source, 2, 8 * common::FLIT);
        let script: Vec<_> = (0..packets).map(|packet| message((packet % 2) as u32)).collect();
        let play = Play::new(&net, common::named(script));
        let model = finish(match needless {
            true => play.ticking(Time(2_000 * cycle)),
            false => play,
        });
        let port = net.dragonfly().local_port(0, 1);
        let stats = *(model.fabric.measured()).link(port);
        assert_eq!((stats.packets, stats.busy), (packets, Time(8 * packets * cycle)));
        stats.saturation
    };
    for needless in [false, true] {
        for packets in [1, 2, 10] {
            let saturation = measure(Switching::CutThrough, 8, packets, needless);
            assert_eq!(
                saturation,
                Time((7 * packets + round_trip * (packets - 1)) * cycle),
                "{packets}"
            );
        }
        assert_eq!(measure(Switching::CutThrough, 64, 1, needless), Time::ZERO);
        assert_eq!(measure(Switching::Wormhole, 4, 1, needless), Time(round_trip * cycle));
        assert_eq!(measure(Switching::Wormhole, 8 + round_trip, 1, needless), Time::ZERO);
    }
}

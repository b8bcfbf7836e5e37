//! Latency of a single packet through an idle network, compared with closed forms.

use crate::common::{CYCLE, FLIT, INPUT_QUEUES, Net, ROUTERS, link, links, message, named, play, shape};
use odonata_engine::Time;
use odonata_network::{Link, RouterModel, Switching};
use odonata_topology::{LinkClass, Peer};

/// Classes of the links on the path from `source` to `target` with minimal routing, terminal links included.
fn path(net: &Net, source: u32, target: u32) -> Vec<LinkClass> {
    let dragonfly = net.dragonfly();
    let topology = dragonfly.topology();
    let (mut at, home) = (topology.node_router(source), topology.node_router(target));
    let mut classes = vec![LinkClass::Terminal];
    while at != home {
        let (here, goal) = (dragonfly.group_of(at), dragonfly.group_of(home));
        let port = match dragonfly.gateways(here, goal).first() {
            _ if here == goal => dragonfly.local_port(at, home),
            Some(gateway) if gateway.router == at => gateway.port,
            Some(gateway) => dragonfly.local_port(at, gateway.router),
            None => panic!("groups without a cable"),
        };
        classes.push(topology.class(port));
        let Peer::Router { router, .. } = topology.peer(port) else {
            panic!("a way out of the network")
        };
        at = router;
    }
    classes.push(LinkClass::Terminal);
    classes
}

/// Transmission time of `bytes` on `link`, picoseconds.
fn time_for(link: &Link, bytes: u64) -> f64 {
    bytes as f64 / link.bandwidth.0 * 1e12
}

/// 2 (b/bw_t + lat_t) + sum over links between routers (b/bw + lat) + pipeline × routers.
fn store_and_forward(net: &Net, path: &[LinkClass], bytes: u64) -> f64 {
    let hop = |&class: &LinkClass| time_for(net.params.link(class), bytes) + net.params.link(class).latency.0 as f64;
    let routers = (path.len() - 1) as f64;
    path.iter().map(hop).sum::<f64>() + net.params.router_delay.0 as f64 * routers
}

/// The head flit passes every link, the rest follows at the rate of the slowest: sum (f/bw + lat) + pipeline × routers
/// + (b - f) / min bw, with f = min(flit, b).
fn cut_through(net: &Net, path: &[LinkClass], bytes: u64) -> f64 {
    let head = net.params.flit.min(bytes);
    let slowest = path
        .iter()
        .map(|&class| time_for(net.params.link(class), bytes - head))
        .fold(0.0, f64::max);
    store_and_forward(net, path, head) + slowest
}

/// One target per kind of path from node 0: as many links as given, of the given classes.
fn target_over(net: &Net, classes: &[LinkClass]) -> u32 {
    let found = (1..net.nodes()).find(|&target| {
        path(net, 0, target)[1..]
            .split_last()
            .is_some_and(|(_, p)| p == classes)
    });
    found.unwrap_or_else(|| panic!("no path {classes:?}"))
}

use LinkClass::{Global, Local};
const PATHS: [&[LinkClass]; 6] = [
    &[],
    &[Local],
    &[Global],
    &[Local, Global],
    &[Global, Local],
    &[Local, Global, Local],
];

fn latency(net: &Net, target: u32, bytes: u64) -> f64 {
    let at = Time(CYCLE.0);
    let mut model = play(net, named(vec![message(at, 0, target, bytes)]));
    model.assert_complete("one message");
    let latency = model.arrival(0).0 - at.0;
    // One packet in a network without waits: packet latency is message latency.
    if bytes <= net.params.packet {
        let stats = *model.fabric.node_stats().get(target);
        assert_eq!(
            (stats.packets, stats.latency, stats.latency_max),
            (1, Time(latency), Time(latency))
        );
        assert_eq!(stats.latency_min, Time(latency));
        assert_eq!(stats.hops, path(net, 0, target).len() as u64 - 1);
    }
    latency as f64
}

/// Rates that are not a whole number of picoseconds, in every order of fast and slow.
fn uneven_nets() -> Vec<Net> {
    let mut nets = Vec::new();
    for rates in [
        [16.0, 5.25, 4.7],
        [4.7, 5.25, 16.0],
        [5.25, 16.0, 4.7],
        [16.0, 4.7, 5.25],
        [12.5, 12.5, 12.5],
    ] {
        let mut net = Net::round(shape(9, 4, 2, 2));
        for (link, rate) in net.params.links.iter_mut().zip(rates) {
            link.bandwidth = odonata_units::Bandwidth::gib_per_s(rate).into();
            link.latency = Time::from_seconds(1e-7 / rate).into();
            link.buffer = odonata_units::Bytes(1 << 16).into();
        }
        (net.params.packet, net.params.flit) = (4096, 32);
        nets.push(net);
    }
    nets
}

fn assert_formula(switching: Switching, formula: fn(&Net, &[LinkClass], u64) -> f64) {
    for mut net in uneven_nets() {
        for router in ROUTERS {
            net = net.with(router);
            net.params.switching = switching;
            for classes in PATHS {
                let target = target_over(&net, classes);
                let path = path(&net, 0, target);
                for bytes in [1, 8, 32, 128, 2048, 4096] {
                    let (got, expected) = (latency(&net, target, bytes), formula(&net, &path, bytes));
                    // Every duration is rounded to whole picoseconds.
                    let bound = path.len() as f64;
                    assert!(
                        (got - expected).abs() <= bound,
                        "{router:?} {path:?} {bytes} B: {got} ps, not {expected}"
                    );
                }
            }
        }
    }
}

#[test]
fn store_and_forward_pays_every_link_in_full() {
    assert_formula(Switching::StoreAndForward, store_and_forward);
}

#[test]
fn cut_through_pays_the_head_on_every_link_and_the_rest_on_the_slowest() {
    assert_formula(Switching::CutThrough, cut_through);
}

/// n packets in sequence arrive at the rate of the slowest link: T(n) = T(1) + (n - 1) packet / min bw.
#[test]
fn further_packets_of_a_message_follow_at_the_pace_of_the_slowest_link() {
    let nets = uneven_nets().into_iter();
    for (mut net, router) in nets.flat_map(|net| ROUTERS.map(|router| (net.clone().with(router), router))) {
        for (switching, formula) in [
            (Switching::CutThrough, cut_through as fn(&Net, &[LinkClass], u64) -> f64),
            (Switching::StoreAndForward, store_and_forward),
        ] {
            net.params.switching = switching;
            for classes in PATHS {
                let target = target_over(&net, classes);
                let path = path(&net, 0, target);
                let packet = net.params.packet;
                let slowest = path
                    .iter()
                    .map(|&class| time_for(net.params.link(class), packet))
                    .fold(0.0, f64::max);
                let n = 10;
                let (got, expected) = (
                    latency(&net, target, n * packet),
                    formula(&net, &path, packet) + (n - 1) as f64 * slowest,
                );
                let bound = (path.len() as u64 + n) as f64;
                assert!(
                    (got - expected).abs() <= bound,
                    "{router:?} {switching:?} {path:?}: {got} ps, not {expected}"
                );
            }
        }
    }
}

/// The smallest packet latencies of the stored MFNetSim runs, nanoseconds.
#[test]
fn stored_minima_of_the_case_study_are_met_to_five_picoseconds() {
    let net = Net::codes();
    let stored: [(u64, &[LinkClass], f64); 7] = [
        (0, &[], 576.837158),
        (8, &[], 577.768481),
        (128, &[], 591.738319),
        (128, &[Local], 1441.053854),
        (8, &[Global], 1490.991427),
        (8, &[Local, Global], 2319.019588),
        (0, &[Local, Global], 2315.083877),
    ];
    for (bytes, classes, expected) in stored {
        let target = target_over(&net, classes);
        let formula = store_and_forward(&net, &path(&net, 0, target), bytes) / 1e3;
        assert!(
            (formula - expected).abs() < 0.005,
            "the formula itself: {bytes} B {classes:?}: {formula} ns"
        );
        let got = latency(&net, target, bytes) / 1e3;
        assert!(
            (got - expected).abs() <= 0.005,
            "{bytes} B over {classes:?}: {got} ns, stored {expected}"
        );
    }
}

#[test]
fn a_full_packet_of_the_case_study_takes_the_computed_time() {
    let net = Net::codes();
    for (classes, expected) in [(&[][..], 1053.7), (&[Local][..], 2606.9)] {
        let got = latency(&net, target_over(&net, classes), 4096) / 1e3;
        assert!((got - expected).abs() < 0.05, "{classes:?}: {got} ns");
    }
}

/// A slow link between fast ones: the head runs ahead, the tail cannot.
#[test]
fn a_fast_link_behind_a_slow_one_waits_for_the_tail() {
    for queues in INPUT_QUEUES {
        for (terminal, local) in [(1, 4), (4, 1)] {
            let mut net = Net::round(shape(1, 2, 1, 0)).with((RouterModel::InputQueued, queues));
            net.params.links = links([link(terminal, 2, 64, 1), link(local, 5, 64, 1), link(1, 1, 64, 1)]);
            // Head: 1 flit per link; then 7 more flits at 4 cycles each; 2 + 5 + 2 of latency; 2 pipelines of 3.
            let expected = 2 * terminal + local + 7 * 4 + 9 + 6;
            assert_eq!(latency(&net, 1, 8 * FLIT), (expected * CYCLE.0) as f64);
        }
    }
}

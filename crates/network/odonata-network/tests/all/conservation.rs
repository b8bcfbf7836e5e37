//! Conservation: no packet is lost, duplicated or left behind, and no path is longer than its routing allows.

use crate::common::{
    CYCLE, FLIT, Net, Play, ROUTERS, ROUTINGS, SIZES, Scripted, every_fabric, play, random_messages, shape,
};
use odonata_engine::random::Purpose;
use odonata_engine::{Stream, Time};
use odonata_network::deadlock::outcomes;
use odonata_network::routing::{Algorithm, Choice, Header, Path};
use odonata_topology::Peer;

fn packets(m: &Scripted, packet: u64) -> u64 {
    m.bytes.div_ceil(packet).max(1)
}

#[test]
fn random_traffic_arrives_once_and_whole() {
    every_fabric(|net, _, context| {
        let mut script = random_messages(net, 600, 2_000, &SIZES, 11);
        let mut net = net.clone();
        net.params.traffics = 3;
        script.iter_mut().for_each(|m| m.traffic = (m.name % 3) as u16);
        let mut model = play(&net, script.clone());
        model.assert_complete(context);
        for (i, got) in model.fabric.traffic_stats().iter().enumerate() {
            let mine = || script.iter().filter(|m| usize::from(m.traffic) == i);
            assert_eq!(got.bytes, mine().map(|m| m.bytes).sum::<u64>(), "{context}");
            assert_eq!(
                got.packets,
                mine().map(|m| packets(m, net.params.packet)).sum::<u64>(),
                "{context}"
            );
            assert!(
                got.latency_ps <= got.latency_created_ps,
                "{context}: created before injected"
            );
        }
        for (node, got) in (0..).zip(model.fabric.node_stats().iter()) {
            let mine = script.iter().filter(|m| m.target == node);
            assert_eq!(
                got.packets,
                mine.map(|m| packets(m, net.params.packet)).sum::<u64>(),
                "{context}"
            );
        }
        assert_eq!(model.fabric.in_flight(), (0, 0), "{context}");
    });
}

/// A buffer of one packet holds one packet, even if neither is a whole number of flits.
#[test]
fn a_buffer_of_one_odd_packet_passes_it() {
    for router in ROUTERS {
        for packet in [1, FLIT - 1, FLIT + 1, 3 * FLIT + 5] {
            let mut net = Net::round(shape(3, 2, 2, 1)).with(router);
            net.params.packet = packet;
            let net = net.smallest_buffers();
            let script = random_messages(&net, 60, 20, &[packet, 3 * packet + 1], 2);
            play(&net, script).assert_complete(&format!("{router:?}, packets of {packet} B"));
        }
    }
}

#[test]
fn no_packet_visits_more_routers_than_its_routing_allows() {
    every_fabric(|net, routers, context| {
        // One traffic per message of one packet: its statistics are those of that packet.
        let mut net = net.clone();
        let mut script = random_messages(&net, 400, 400, &[8 * FLIT], 5);
        net.params.traffics = script.len() as u16;
        script.iter_mut().for_each(|m| m.traffic = m.name as u16);
        let model = play(&net, script.clone());
        let dragonfly = net.dragonfly();
        let router = |node| dragonfly.topology().node_router(node);
        let mut nonminimal = 0;
        for (m, got) in script.iter().zip(model.fabric.traffic_stats().iter()) {
            let least = if router(m.source) == router(m.target) { 1 } else { 2 };
            let most = if net.group_of(m.source) == net.group_of(m.target) {
                2
            } else {
                routers
            };
            assert!(
                (least..=most).contains(&got.hops),
                "{context}: {} routers from {m:?}",
                got.hops
            );
            nonminimal += got.nonminimal;
        }
        let possible = script
            .iter()
            .filter(|m| net.group_of(m.source) != net.group_of(m.target))
            .count() as u64;
        match net.algorithm {
            Algorithm::Minimal => assert_eq!(nonminimal, 0, "{context}"),
            Algorithm::Valiant => assert_eq!(nonminimal, possible, "{context}"),
            Algorithm::Ugal | Algorithm::ProgressiveAdaptive => {
                assert!(
                    0 < nonminimal && nonminimal < possible,
                    "{context}: {nonminimal} of {possible} diverted"
                );
            }
        }
    });
}

struct Dice(Stream);
impl Choice for Dice {
    fn pick(&mut self, n: u32) -> u32 {
        self.0.below(n)
    }
    fn lighter(&mut self, _: u32, _: u32) -> bool {
        self.0.below(2) == 1
    }
    fn divert(&mut self, _: Path, _: Path) -> bool {
        self.0.below(2) == 1
    }
    fn room(&mut self, _: u32, _: u8) -> bool {
        self.0.below(2) == 1
    }
}

/// Random walks by the decision function end at the target, within the bound, over ports of the present router; and
/// every decision is among the outcomes that the deadlock check enumerates.
#[test]
fn walks_end_at_their_target_and_the_check_knows_every_step() {
    for shape in [
        shape(5, 4, 2, 2),
        shape(9, 4, 2, 2),
        shape(2, 3, 2, 1),
        shape(4, 1, 2, 3),
    ] {
        for (algorithm, intermediate, most) in ROUTINGS {
            let net = Net {
                candidates: 3,
                ..Net::round(shape).routed(algorithm, intermediate)
            };
            let (routing, mut dice) = (net.routing(), Dice(Stream::new(3, 0, Purpose::Routing)));
            let topology = routing.topology();
            for i in 0..2_000 {
                let (source, target) = (i % net.nodes(), dice.pick(net.nodes()));
                let (mut at, mut header, mut routers) = (topology.node_router(source), Header::new(target), 1);
                loop {
                    let before = header;
                    let decision = routing.decide(at, &mut header, &mut dice);
                    assert_eq!(topology.router_of_port(decision.port), at);
                    assert!(decision.level < net.vcs()[topology.class(decision.port) as usize]);
                    if i < 300 {
                        let mut known = false;
                        outcomes(&routing, at, before, |d, h| known |= (d, h) == (decision, header));
                        assert!(
                            known,
                            "{algorithm:?} {intermediate:?}: {decision:?} {header:?} is not enumerated"
                        );
                    }
                    match topology.peer(decision.port) {
                        Peer::Router { router, .. } => at = router,
                        Peer::Node(node) => break assert_eq!(node, target),
                        Peer::Free => panic!("sent into nowhere"),
                    }
                    routers += 1;
                    assert!(routers <= most, "{algorithm:?} {intermediate:?}");
                }
            }
        }
    }
}

#[test]
fn an_audit_in_the_middle_of_a_run_says_what_is_missing() {
    let net = Net::round(shape(3, 2, 2, 1));
    let mut run = odonata_engine::Sequential::new(Play::new(&net, random_messages(&net, 50, 10, &[8 * FLIT], 1)));
    run.run(Time(40 * CYCLE.0), 1_000_000);
    let mut model = run.into_model();
    assert!(
        model
            .fabric
            .audit()
            .is_err_and(|error| error.contains("still in the network"))
    );
}

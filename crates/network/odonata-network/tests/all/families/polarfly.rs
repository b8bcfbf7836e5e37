//! PolarFly.

use super::paths::{assert_cyclic_on_one_level, assert_safe, assert_shortest, longest};
use crate::common::Play;
use crate::common::{CYCLE, FLIT, Net, finish, message, named, shape};
use odonata_engine::Time;
use odonata_network::Blueprint;
use odonata_network::routing::{DiameterTwoAlgorithm, PolarFlyRouting, Routing};
use odonata_topology::{Effect, FamilyGraph, Fault, LinkClass, PolarFly};

pub(crate) const ALGORITHMS: [DiameterTwoAlgorithm; 3] = [
    DiameterTwoAlgorithm::Minimal,
    DiameterTwoAlgorithm::Valiant,
    DiameterTwoAlgorithm::Ugal,
];

pub(crate) fn on_polarfly(q: u32, nodes: u32, algorithm: DiameterTwoAlgorithm) -> Routing {
    let fly = PolarFly::new(q, nodes).unwrap();
    Routing::PolarFly(PolarFlyRouting::new(fly, algorithm, 2).unwrap())
}

#[test]
fn polarfly_packets_arrive_within_two_or_four_cables() {
    for q in [3, 4, 5] {
        for algorithm in ALGORITHMS {
            let most = if algorithm == DiameterTwoAlgorithm::Minimal {
                2
            } else {
                4
            };
            let routing = on_polarfly(q, 1, algorithm);
            let context = format!("q = {q} {algorithm:?}");
            assert_eq!(routing.virtual_channels(), [1, most, most, 0]);
            if algorithm == DiameterTwoAlgorithm::Minimal {
                assert_shortest(&routing);
            }
            assert_safe(&routing, &context);
            assert_eq!(longest(&routing), u32::from(most), "{context}");
            if q < 5 {
                assert_cyclic_on_one_level(&routing, &context);
            }
        }
    }
}

/// The smallest machine, whose racks are too small for some of the levels: no cycle either.
#[test]
fn seven_routers_are_free_of_deadlock() {
    for algorithm in ALGORITHMS {
        let proof = odonata_network::deadlock::check(&on_polarfly(2, 1, algorithm));
        assert_eq!(proof.cycle, None, "{algorithm:?}");
    }
}

#[test]
fn a_failed_cable_is_refused_by_name() {
    let mut fly = PolarFly::new(3, 1).unwrap();
    let far = fly
        .topology()
        .ports_of(5)
        .find_map(|port| fly.topology().neighbour(port))
        .unwrap();
    let fault = Fault {
        routers: (5, far),
        index: None,
        effect: Effect::Failed,
    };
    fly.impair(&[fault]).unwrap();
    let error = PolarFlyRouting::new(fly, DiameterTwoAlgorithm::Minimal, 1).unwrap_err();
    assert!(error.contains("a PolarFly knows no way around it"), "{error}");
}

/// One packet through an idle network: its head takes a flit time and the latency of every link, and the delay of every
/// router; the rest follows flit by flit, as all links have the same rate.
#[test]
fn zero_load_latency_is_the_closed_form() {
    let (q, flits) = (5, 8);
    let params = Net::round(shape(1, 1, 1, 0)).params;
    let fly = PolarFly::new(q, 1).unwrap();
    let topology = fly.topology();
    // Latencies of the network with round numbers, in cycles.
    let (terminal, local, global, router) = (2, 5, 20, 3);
    let mut seen: Vec<Vec<LinkClass>> = Vec::new();
    // From a quadric, whose links all leave its rack, and from a router beside the center of the first rack after it.
    for (source, target) in [0, q + 2]
        .into_iter()
        .flat_map(|from| (0..topology.nodes()).map(move |to| (from, to)))
    {
        let (mut at, mut links) = (source, Vec::new());
        while at != target {
            let port = fly.next_port(at, target);
            at = topology.neighbour(port).unwrap();
            links.push(topology.class(port));
        }
        if links.is_empty() || seen.contains(&links) {
            continue;
        }
        let flight = |class: &LinkClass| 1 + if *class == LinkClass::Local { local } else { global };
        let cycles = 2 * (1 + terminal)
            + links.iter().map(flight).sum::<u64>()
            + router * (links.len() as u64 + 1)
            + (flits - 1);
        let routing = on_polarfly(q, 1, DiameterTwoAlgorithm::Minimal);
        let levels = routing.virtual_channels();
        let fabric = Blueprint::new(params.clone(), routing, levels).whole();
        let start = Time(CYCLE.0);
        let mut model = finish(Play::on(
            fabric,
            named(vec![message(start, source, target, flits * FLIT)]),
        ));
        model.assert_complete("one message");
        let latency = model.arrival(0).0 - start.0;
        assert_eq!(latency, cycles * CYCLE.0, "{source} to {target} over {links:?}");
        seen.push(links);
    }
    assert!(seen.len() >= 5, "{seen:?}");
}

//! Packets that leave their minimal paths are counted, in every family.

use super::worst_load::every_routing;
use crate::common::{CYCLE, FLIT, Net, Play, finish, message, named, shape};
use odonata_engine::random::Purpose;
use odonata_engine::{Stream, Time};
use odonata_network::Blueprint;
use odonata_network::routing::Routing;

/// A packet has left its minimal path if it has visited more routers than a shortest path has: distance + 1. Between
/// groups of a two-dimensional dragonfly a minimal path takes one global cable, and may not be a shortest one. On
/// clusters and with up*/down* routing every path is minimal.
#[test]
fn packets_on_non_minimal_paths_are_counted() {
    let mut longer = Vec::new();
    for (context, routing) in every_routing() {
        let routers_of_a_group = match &routing {
            Routing::UpDown(_) | Routing::RailOptimized(_) => continue,
            Routing::Dragonfly2d(two) => two.dragonfly().routers_of_a_group(),
            _ => u32::MAX,
        };
        let topology = routing.topology().clone();
        let (router, nodes) = (|node| topology.node_router(node), topology.nodes());
        let mut random = Stream::new(3, 0, Purpose::Destination);
        let mut pairs: Vec<_> = (0..1_000).map(|_| (random.below(nodes), random.below(nodes))).collect();
        pairs.retain(|&(a, b)| a != b && router(a) / routers_of_a_group == router(b) / routers_of_a_group);
        // One traffic per packet: its statistics are those of that packet. Many packets at once, so that adaptive ones
        // divert.
        let mut script: Vec<_> = (pairs.iter().enumerate())
            .map(|(i, &(a, b))| message(Time((1 + i as u64 / 20) * CYCLE.0), a, b, 8 * FLIT))
            .collect();
        script.iter_mut().zip(0..).for_each(|(m, i)| m.traffic = i);
        let mut params = Net::round(shape(1, 1, 1, 0)).params;
        params.traffics = script.len() as u16;
        let levels = routing.virtual_channels();
        let model = finish(Play::on(Blueprint::new(params, routing, levels).whole(), named(script)));
        let mut left = 0;
        for (&(a, b), got) in pairs.iter().zip(model.fabric.traffic_stats().iter()) {
            let least = 1 + u64::from(topology.distances(router(a))[router(b) as usize]);
            assert_eq!(
                got.nonminimal,
                u64::from(got.hops > least),
                "{context}: {a} to {b}, {} routers",
                got.hops
            );
            left += got.nonminimal;
        }
        if left > 0 {
            longer.push(context);
        }
    }
    for name in [
        "Valiant true",
        "Valiant false",
        "Valiant",
        "Dal",
        "Ugal",
        "Valiant Group",
        "Ugal Group",
    ] {
        assert!(longer.iter().any(|context| context == name), "{name}: {longer:?}");
    }
}

//! Every routing at a load that fills all buffers: the deadlock proof in practice.

use super::dragonfly::{TWO, on_two, two_shape};
use super::dragonfly_plus::{PLUS, on_plus, plus_shape};
use super::fat_tree::{TREES, trees};
use super::hyperx::{hyperx, on_hyperx};
use super::polarfly::{ALGORITHMS, on_polarfly};
use super::rail_optimized::every_cluster;
use super::torus::on_torus;
use super::up_down::{graphs, up_down};
use crate::common::{CYCLE, FLIT, Net, Play, finish, message, named, shape};
use odonata_engine::Time;
use odonata_network::Blueprint;
use odonata_network::routing::{
    DiameterTwoAlgorithm, FatTreeRouting, HyperXAlgorithm, Routing, SlimFlyRouting, TorusAlgorithm,
};
use odonata_topology::{SlimFly, SlimFlyShape};

/// One routing of each kind.
pub(super) fn every_routing() -> Vec<(String, Routing)> {
    let mut all = Vec::new();
    for wrap in [true, false] {
        for algorithm in [
            TorusAlgorithm::DimensionOrder,
            TorusAlgorithm::Valiant,
            TorusAlgorithm::Romm,
            TorusAlgorithm::MinimalAdaptive,
        ] {
            all.push((format!("{algorithm:?} {wrap}"), on_torus(&[4, 5], wrap, algorithm)));
        }
    }
    all.push(("Bubble".into(), on_torus(&[4, 5], true, TorusAlgorithm::Bubble)));
    for algorithm in TREES {
        let tree = trees().pop().unwrap();
        let routing = FatTreeRouting::new(tree, algorithm).unwrap();
        all.push((format!("{algorithm:?}"), Routing::FatTree(routing)));
    }
    for algorithm in [
        HyperXAlgorithm::Minimal,
        HyperXAlgorithm::Valiant,
        HyperXAlgorithm::Ugal,
        HyperXAlgorithm::Dal,
    ] {
        all.push((format!("{algorithm:?}"), on_hyperx(hyperx(&[4, 4], &[1, 2]), algorithm)));
    }
    for algorithm in [
        DiameterTwoAlgorithm::Minimal,
        DiameterTwoAlgorithm::Valiant,
        DiameterTwoAlgorithm::Ugal,
    ] {
        let fly = SlimFly::new(SlimFlyShape { q: 3, nodes: Some(2) }).unwrap();
        let routing = SlimFlyRouting::new(fly, algorithm, 2).unwrap();
        all.push((format!("{algorithm:?}"), Routing::SlimFly(routing)));
    }
    for algorithm in ALGORITHMS {
        all.push((format!("{algorithm:?}"), on_polarfly(3, 2, algorithm)));
    }
    for algorithm in PLUS {
        all.push((format!("{algorithm:?}"), on_plus(plus_shape(5), algorithm)));
    }
    for (algorithm, intermediate, ..) in TWO {
        let name = format!("{algorithm:?} {intermediate:?}");
        all.push((name, on_two(two_shape(7, 2, 1), algorithm, intermediate)));
    }
    all.extend(every_cluster());
    for topology in graphs() {
        all.push(("up*/down*".into(), Routing::UpDown(up_down(&topology, true))));
    }
    all.extend(super::shortest_paths::routings());
    all.extend(super::path_sets::routings());
    all
}

/// Every node sends to all nodes as fast as possible, with room for one packet per channel (for two with bubbles).
#[test]
fn the_smallest_buffers_under_the_worst_load_run_to_completion() {
    for (context, routing) in every_routing() {
        let nodes = routing.topology().nodes();
        let net = Net::round(shape(1, 1, 1, 0)).smallest_buffers();
        let mut params = net.params;
        if routing.topology().ports_of(0).any(|port| routing.ring(port).is_some()) {
            params
                .links
                .iter_mut()
                .for_each(|link| link.buffer = odonata_units::Bytes(2 * link.buffer.0).into());
        }
        let levels = routing.virtual_channels();
        let script = (0..nodes * 40).map(|i| {
            let (source, k) = (i % nodes, i / nodes);
            let step = if k % 2 == 0 {
                nodes / 2
            } else {
                1 + (k * 7) % (nodes - 1)
            };
            let bytes = 8 * FLIT * (1 + u64::from(k % 3));
            message(Time(CYCLE.0), source, (source + step) % nodes, bytes)
        });
        let fabric = Blueprint::new(params, routing, levels).whole();
        finish(Play::on(fabric, named(script.collect()))).assert_complete(&context);
    }
}

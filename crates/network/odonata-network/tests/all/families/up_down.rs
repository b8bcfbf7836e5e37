//! Up*/down* on any graph.

use super::dragonfly_plus::plus_shape;
use super::fat_tree::trees;
use super::paths::{assert_lengths, assert_safe, assert_shortest, ends};
use super::torus::torus;
use odonata_network::routing::{Routing, UpDownRouting};
use odonata_topology::{
    Arrangement, DragonflyPlus, Effect, FamilyGraph, Fault, GraphFile, SlimFly, SlimFlyShape, Topology,
};

pub(crate) fn up_down(topology: &Topology, adaptive: bool) -> UpDownRouting {
    UpDownRouting::new(topology.clone(), None, adaptive).unwrap()
}

pub(crate) fn graphs() -> Vec<Topology> {
    let petersen = "0 1\n1 2\n2 3\n3 4\n4 0\n0 5\n1 6\n2 7\n3 8\n4 9\n5 7\n7 9\n9 6\n6 8\n8 5\n";
    let mut broken = torus(&[4, 4], true);
    let fault = |a, b| Fault {
        routers: (a, b),
        index: None,
        effect: Effect::Failed,
    };
    broken
        .impair(&[fault(0, 1), fault(5, 6), fault(3, 15), fault(9, 13)])
        .unwrap();
    vec![
        GraphFile::from_edge_list(petersen, 1).unwrap().topology().clone(),
        broken.topology().clone(),
        torus(&[7], true).topology().clone(),
        DragonflyPlus::new(plus_shape(5), Arrangement::Relative)
            .unwrap()
            .topology()
            .clone(),
        SlimFly::new(SlimFlyShape { q: 3, nodes: None })
            .unwrap()
            .topology()
            .clone(),
    ]
}

/// On any graph, also with failed cables; on trees these paths are shortest paths.
#[test]
fn up_down_packets_take_shortest_legal_paths_on_one_level() {
    for topology in graphs() {
        for adaptive in [false, true] {
            let legal = up_down(&topology, adaptive);
            let routing = Routing::UpDown(up_down(&topology, adaptive));
            assert_lengths(&routing, |source, home| legal.distance(source, home));
            assert_safe(&routing, "up*/down*");
            for source in 0..topology.routers() {
                let shortest = topology.distances(source);
                for (home, _) in ends(&topology) {
                    assert!(legal.distance(source, home) >= shortest[home as usize]);
                }
            }
        }
    }
    let tree = trees().remove(0);
    assert_shortest(&Routing::UpDown(
        UpDownRouting::new(tree.topology().clone(), Some(tree.topology().routers() - 1), false).unwrap(),
    ));
}

/// Brute force over all paths: up any number of times, then down any number of times.
#[test]
fn legal_distances_equal_brute_force() {
    for topology in graphs() {
        let legal = UpDownRouting::new(topology.clone(), Some(2), false).unwrap();
        let depth = topology.distances(2);
        let rank = |router: u32| (depth[router as usize], router);
        for source in 0..topology.routers() {
            // Shortest lengths to (router, still going up).
            let mut best = vec![[u32::MAX; 2]; topology.routers() as usize];
            best[source as usize] = [0, 0];
            loop {
                let mut changed = false;
                for router in 0..topology.routers() {
                    for far in topology.ports_of(router).filter_map(|port| topology.neighbour(port)) {
                        let [up, any] = best[router as usize];
                        let to = &mut best[far as usize];
                        let before = *to;
                        if rank(far) < rank(router) {
                            to[0] = to[0].min(up.saturating_add(1));
                        } else {
                            to[1] = to[1].min(any.saturating_add(1)).min(up.saturating_add(1));
                        }
                        changed |= *to != before;
                    }
                }
                if !changed {
                    break;
                }
            }
            for (home, _) in ends(&topology) {
                let [up, any] = best[home as usize];
                assert_eq!(legal.distance(source, home), up.min(any), "{source} to {home}");
            }
        }
    }
}

#[test]
fn up_down_refuses_graphs_that_it_cannot_route() {
    let large = torus(&[8193], true);
    assert!(
        UpDownRouting::new(large.topology().clone(), None, false)
            .unwrap_err()
            .contains("8192")
    );
    let apart = GraphFile::from_edge_list("a b\nc d\n", 1).unwrap();
    let error = UpDownRouting::new(apart.topology().clone(), None, false).unwrap_err();
    assert!(error.contains("routers 0 and 2, and 3 more"), "{error}");
    let graph = GraphFile::from_edge_list("nodes 0\na b\nrouter c nodes=2\nc b\nrouter d\n", 1).unwrap();
    let new = |root| UpDownRouting::new(graph.topology().clone(), Some(root), false);
    assert!(new(3).unwrap_err().contains("not connected"));
    assert!(new(4).unwrap_err().contains("no router 4"));
    assert!(new(0).is_ok());
}

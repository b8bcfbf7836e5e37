//! All shortest paths of any graph.

use super::fat_tree::trees;
use super::paths::{assert_cyclic_on_one_level, assert_safe, assert_shortest};
use super::torus::torus;
use super::up_down::graphs;
use odonata_network::routing::{Routing, ShortestPathsRouting, Spread};
use odonata_topology::{GraphFile, Topology};

pub(crate) const SPREADS: [Spread; 3] = [Spread::Flow, Spread::Packet, Spread::Adaptive];

fn on(topology: &Topology, spread: Spread) -> Result<Routing, String> {
    ShortestPathsRouting::new(topology.clone(), spread, 2).map(Routing::ShortestPaths)
}

pub(crate) fn routings() -> Vec<(String, Routing)> {
    let all = graphs().into_iter().flat_map(|topology| {
        let named = move |spread: Spread| {
            (
                format!("shortest paths, {}", spread.name()),
                on(&topology, spread).unwrap(),
            )
        };
        SPREADS.map(named)
    });
    all.collect()
}

#[test]
fn packets_take_shortest_paths_on_the_claimed_levels() {
    for (context, routing) in routings() {
        assert_shortest(&routing);
        assert_safe(&routing, &context);
    }
}

/// A tree has one level: the order by the distance from the nodes makes all its shortest paths go up, then down.
#[test]
fn trees_need_one_level_and_rings_more() {
    for tree in trees() {
        let routing = on(tree.topology(), Spread::Packet).unwrap();
        assert_shortest(&routing);
        assert_safe(&routing, "tree");
        assert_eq!(routing.virtual_channels().into_iter().max(), Some(1));
    }
    let ring = on(&torus(&[7], true).topology().clone(), Spread::Flow).unwrap();
    assert_eq!(ring.virtual_channels().into_iter().max(), Some(2));
    assert_cyclic_on_one_level(&ring, "ring");
}

/// Every shortest path of an open grid is possible: a packet from corner to corner has (3 + 3)! / (3! 3!) = 20.
#[test]
fn all_shortest_paths_are_possible() {
    use odonata_network::deadlock::outcomes;
    use odonata_network::routing::Header;
    let grid = torus(&[4, 4], false).topology().clone();
    let routing = on(&grid, Spread::Packet).unwrap();
    let target = (0..grid.nodes()).find(|&node| grid.node_router(node) == 15).unwrap();
    let mut open = vec![(0, Header::new(target))];
    let mut paths = 0;
    while let Some((router, header)) = open.pop() {
        if router == 15 {
            paths += 1;
            continue;
        }
        outcomes(&routing, router, header, |decision, next| {
            open.push((grid.neighbour(decision.port).unwrap(), next));
        });
    }
    assert_eq!(paths, 20);
}

#[test]
fn graphs_with_too_many_routers_or_without_a_path_are_refused() {
    let refusal = |topology: &Topology| on(topology, Spread::Flow).map(|_| ()).unwrap_err();
    let error = refusal(torus(&[8193], true).topology());
    assert!(error.contains("8192"), "{error}");
    let apart = GraphFile::from_edge_list("a b\nc d\n", 1).unwrap();
    let error = refusal(apart.topology());
    assert!(error.contains("routers 0 and 2, and 3 more"), "{error}");
}

//! Given paths: k shortest, and tables.

use super::paths::{assert_cyclic_on_one_level, assert_safe, ends, longest, walk};
use super::shortest_paths::SPREADS;
use super::torus::torus;
use super::up_down::graphs;
use odonata_network::deadlock::outcomes;
use odonata_network::routing::{Header, PathSetRouting, Routing, Spread};
use odonata_topology::{GraphFile, KShortest, Topology};
use std::collections::BTreeSet;

fn k_shortest(topology: &Topology, k: u32, spread: Spread) -> Routing {
    Routing::PathSet(PathSetRouting::k_shortest(topology.clone(), k, spread, 2).unwrap())
}

pub(crate) fn routings() -> Vec<(String, Routing)> {
    let all = graphs().into_iter().flat_map(|topology| {
        SPREADS.map(|spread| {
            (
                format!("3 shortest paths, {}", spread.name()),
                k_shortest(&topology, 3, spread),
            )
        })
    });
    all.collect()
}

/// The paths, as routers, that packets from `source` to `node` can take.
fn possible(routing: &Routing, source: u32, node: u32) -> BTreeSet<Vec<u32>> {
    let topology = routing.topology();
    let home = topology.node_router(node);
    let mut open = vec![(vec![source], Header::new(node))];
    let mut found = BTreeSet::new();
    while let Some((path, header)) = open.pop() {
        let last = path[path.len() - 1];
        if last == home {
            found.insert(path);
            continue;
        }
        outcomes(routing, last, header, |decision, next| {
            let far = topology.neighbour(decision.port).unwrap();
            open.push(([path.as_slice(), &[far]].concat(), next));
        });
    }
    found
}

#[test]
fn packets_take_exactly_the_k_shortest_paths() {
    for topology in graphs() {
        let search = KShortest::new(&topology);
        for k in [1, 2, 5] {
            let routing = k_shortest(&topology, k, Spread::Packet);
            for (source, _) in ends(&topology) {
                for (home, node) in ends(&topology) {
                    let expected: BTreeSet<Vec<u32>> = match source == home {
                        true => [vec![source]].into(),
                        false => search.between(source, home, k as usize).into_iter().collect(),
                    };
                    assert_eq!(possible(&routing, source, node), expected);
                }
            }
        }
    }
}

#[test]
fn paths_are_safe_on_the_claimed_levels() {
    for (context, routing) in routings() {
        assert_safe(&routing, &context);
    }
    let ring = k_shortest(&torus(&[6], true).topology().clone(), 2, Spread::Flow);
    assert_eq!(longest(&ring), 5);
    assert_cyclic_on_one_level(&ring, "both ways around a ring");
}

/// Paths in dimension order on a grid have no cycle, so that they need one level.
#[test]
fn paths_without_a_cycle_of_dependencies_have_one_level() {
    let grid = torus(&[4, 4], false).topology().clone();
    let of_pair = |a: u32, b: u32| {
        let (mut at, mut path) = (a, vec![a]);
        while at != b {
            at = match (at % 4).cmp(&(b % 4)) {
                std::cmp::Ordering::Less => at + 1,
                std::cmp::Ordering::Greater => at - 1,
                std::cmp::Ordering::Equal if at < b => at + 4,
                std::cmp::Ordering::Equal => at - 4,
            };
            path.push(at);
        }
        vec![path]
    };
    let routing = Routing::PathSet(PathSetRouting::new(grid, of_pair, Spread::Flow, 2).unwrap());
    assert_safe(&routing, "dimension order");
    assert_eq!(routing.virtual_channels().into_iter().max(), Some(1));
}

/// Of parallel cables all are possible, and every path arrives.
#[test]
fn parallel_cables_are_used() {
    let graph = GraphFile::from_edge_list("a b cables=3\nb c cables=2\n", 1).unwrap();
    for spread in SPREADS {
        let routing = k_shortest(graph.topology(), 1, spread);
        let mut ports = BTreeSet::new();
        walk(&routing, &[0], 2, |_, decision| {
            ports.insert(decision.port);
        });
        // 3, 2 and the one of the node.
        assert_eq!(ports.len(), 6);
    }
}

#[test]
fn pairs_without_a_path_and_too_many_paths_are_refused() {
    let ring = torus(&[4], true).topology().clone();
    let refusal = |routing: Result<PathSetRouting, String>| routing.map(|_| ()).unwrap_err();
    let none = refusal(PathSetRouting::new(ring.clone(), |_, _| Vec::new(), Spread::Flow, 2));
    assert!(none.contains("from router 0 to router 1, and 11 more"), "{none}");
    let across = |a, b| vec![vec![a, b]];
    let error = refusal(PathSetRouting::new(ring, across, Spread::Flow, 2));
    assert!(error.contains("no working cable connects routers 0 and 2"), "{error}");
    let large = torus(&[2048], true).topology().clone();
    let error = refusal(PathSetRouting::k_shortest(large, 64, Spread::Flow, 2));
    assert!(error.contains("2^24"), "{error}");

    // One path through all routers, up and down in every order, beside paths whose dependencies form a cycle.
    let edges = (0..40).flat_map(|a| (a + 1..40).map(move |b| format!("{a} {b}\n")));
    let complete = GraphFile::from_edge_list(&edges.collect::<String>(), 1).unwrap();
    let of_pair = |a: u32, b: u32| match (a, b) {
        (0, 20) => vec![(0..20).flat_map(|step| [step, 39 - step]).collect()],
        (0, 2) => vec![vec![0, 1, 2]],
        (1, 0) => vec![vec![1, 2, 0]],
        (2, 1) => vec![vec![2, 0, 1]],
        _ => vec![vec![a, b]],
    };
    let error = refusal(PathSetRouting::new(
        complete.topology().clone(),
        of_pair,
        Spread::Flow,
        2,
    ));
    assert!(error.contains("need 20 virtual channels"), "{error}");
}

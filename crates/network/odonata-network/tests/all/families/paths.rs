//! All paths that a routing allows, and the properties that they must have.

use odonata_network::deadlock::{Graph, check, outcomes};
use odonata_network::routing::{Decision, Header, Routing};
use odonata_topology::{Peer, Topology};
use std::collections::HashSet;

/// One (router, node) per router with nodes.
pub(crate) fn ends(topology: &Topology) -> Vec<(u32, u32)> {
    let mut ends: Vec<(u32, u32)> = (0..topology.nodes())
        .map(|node| (topology.node_router(node), node))
        .collect();
    ends.dedup_by_key(|end| end.0);
    ends
}

/// Follows all outcomes from `sources` to `target`; returns the fewest and the most cables between routers. `visit`
/// gets the held channel, if any, and the decision.
pub(crate) fn walk(
    routing: &Routing,
    sources: &[u32],
    target: u32,
    mut visit: impl FnMut(Option<(u32, u8)>, &Decision),
) -> (u32, u32) {
    let topology = routing.topology();
    type State = (u32, Option<(u32, u8)>, Header);
    let mut states: Vec<State> = sources
        .iter()
        .map(|&router| (router, None, Header::new(target)))
        .collect();
    let (mut fewest, mut links) = (None, 0);
    let mut checked = HashSet::new();
    loop {
        let mut next: Vec<State> = Vec::new();
        let mut seen: HashSet<State> = HashSet::new();
        for (router, held, before) in std::mem::take(&mut states) {
            let mut again = HashSet::new();
            outcomes(routing, router, before, |decision, header| {
                visit(held, &decision);
                if decision.retry {
                    again.insert(header);
                }
                assert_eq!(topology.router_of_port(decision.port), router);
                match topology.peer(decision.port) {
                    Peer::Node(node) => {
                        assert_eq!(node, target);
                        fewest.get_or_insert(links);
                    }
                    Peer::Router { router, .. } => {
                        let state = (router, Some((decision.port, decision.level)), header);
                        if seen.insert(state) {
                            next.push(state);
                        }
                    }
                    Peer::Free => panic!("a packet for node {target} goes to a free port of router {router}"),
                }
            });
            again.remove(&before);
            if !again.is_empty() && checked.insert((router, before)) {
                let expected = ways(routing, router, before);
                assert!(
                    again
                        .into_iter()
                        .all(|header| ways(routing, router, header) == expected)
                );
            }
        }
        if next.is_empty() {
            return (fewest.unwrap_or(0), links);
        }
        links += 1;
        assert!(links <= 64, "a packet for node {target} does not arrive");
        states = next;
    }
}

/// All outcomes of the decision for a packet: one without room may be routed again.
fn ways(routing: &Routing, router: u32, header: Header) -> HashSet<(Decision, Header)> {
    let mut ways = HashSet::new();
    outcomes(routing, router, header, |decision, header| {
        ways.insert((decision, header));
    });
    ways
}

/// The most cables of any packet.
pub(crate) fn longest(routing: &Routing) -> u32 {
    let ends = ends(routing.topology());
    let sources: Vec<u32> = ends.iter().map(|end| end.0).collect();
    ends.iter()
        .map(|&(_, node)| walk(routing, &sources, node, |_, _| {}).1)
        .max()
        .unwrap_or(0)
}

/// Checks that every packet takes as many cables as `distance` gives.
pub(crate) fn assert_lengths(routing: &Routing, distance: impl Fn(u32, u32) -> u32) {
    let ends = ends(routing.topology());
    for &(source, _) in &ends {
        for &(home, node) in &ends {
            let expected = distance(source, home);
            assert_eq!(
                walk(routing, &[source], node, |_, _| {}),
                (expected, expected),
                "{source} to {home}"
            );
        }
    }
}

/// Checks that every packet takes a shortest path.
pub(crate) fn assert_shortest(routing: &Routing) {
    let topology = routing.topology();
    let distances: Vec<Vec<u32>> = (0..topology.routers())
        .map(|router| topology.distances(router))
        .collect();
    assert_lengths(routing, |source, home| distances[source as usize][home as usize]);
}

/// Checks that there is no cycle, and that exactly the declared levels are used.
pub(crate) fn assert_safe(routing: &Routing, context: &str) {
    let proof = check(routing);
    assert_eq!(proof.cycle, None, "{context}");
    assert_eq!(proof.used, routing.virtual_channels(), "{context}");
}

/// The dependencies if `level` replaces the level of every decision.
pub(crate) fn dependencies(routing: &Routing, level: impl Fn(&Decision) -> u8) -> Graph {
    let ends = ends(routing.topology());
    let sources: Vec<u32> = ends.iter().map(|end| end.0).collect();
    let mut graph = Graph::default();
    // Held channels have real levels: force the levels on both sides.
    for &(_, node) in &ends {
        walk(routing, &sources, node, |held, decision| {
            if let Some((port, real)) = held.filter(|_| !decision.retry) {
                let held = Decision::new(port, real);
                graph.depend((port, level(&held)), (decision.port, level(decision)));
            }
        });
    }
    graph
}

pub(crate) fn assert_cyclic_on_one_level(routing: &Routing, context: &str) {
    assert!(
        dependencies(routing, |decision| decision.level).cycle().is_none(),
        "{context}"
    );
    assert!(
        dependencies(routing, |_| 0)
            .cycle()
            .is_some_and(|cycle| cycle.len() > 1),
        "{context}"
    );
}

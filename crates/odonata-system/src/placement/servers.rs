//! Storage servers: which nodes they are and whom they serve.

use odonata_engine::Stream;
use odonata_engine::random::Purpose;

use crate::scenario::resolved::{Assignment, Resolved};

/// The node of each server.
pub(super) fn nodes(scenario: &Resolved) -> Vec<u32> {
    let storage = scenario.storage.as_ref();
    storage.map_or(Vec::new(), |storage| storage.nodes.nodes(&scenario.layout))
}

/// The server of each compute node in `clients` (ascending node numbers); empty without servers.
pub(super) fn assignment(scenario: &Resolved, clients: &[u32], servers: &[u32]) -> Vec<u32> {
    let count = servers.len() as u32;
    match scenario.storage.as_ref().map(|storage| &storage.assignment) {
        None => Vec::new(),
        Some(Assignment::Nearest) => nearest(scenario, clients, servers),
        Some(Assignment::Random) => {
            let mut stream = Stream::new(scenario.seed, 0, Purpose::Storage);
            clients.iter().map(|_| stream.below(count)).collect()
        }
        Some(Assignment::RoundRobin) => (0..clients.len() as u32).map(|client| client % count).collect(),
        Some(Assignment::List(list)) => list.clone(),
    }
}

/// Of `n` compute nodes of a group with `s` servers, the `j`-th uses the group's server `j s / n`; a group without
/// servers turns to those of the next group that has some.
fn nearest(scenario: &Resolved, clients: &[u32], servers: &[u32]) -> Vec<u32> {
    let groups = scenario.layout.groups();
    let group_of = |node: u32| scenario.layout.group_of(node) as usize;
    let mut of_group: Vec<Vec<u32>> = vec![Vec::new(); groups as usize];
    for (server, &node) in servers.iter().enumerate() {
        of_group[group_of(node)].push(server as u32);
    }
    // From behind and twice around, so that the last groups find the first ones.
    let mut source = vec![0; groups as usize];
    let mut next = 0;
    for group in (0..groups as usize).rev().chain((0..groups as usize).rev()) {
        if !of_group[group].is_empty() {
            next = group;
        }
        source[group] = next;
    }
    let mut assigned = Vec::with_capacity(clients.len());
    let mut first = 0;
    while first < clients.len() {
        let group = group_of(clients[first]);
        let end = first + clients[first..].partition_point(|&node| group_of(node) == group);
        let servers = &of_group[source[group]];
        let n = end - first;
        assigned.extend((0..n).map(|j| servers[j * servers.len() / n]));
        first = end;
    }
    assigned
}

//! Storage servers: their nodes and their clients.

use odonata_engine::Stream;
use odonata_engine::random::Purpose;

use odonata_topology::Topology;

use crate::scenario::resolved::{Assignment, Resolved};

/// The node of each server of each tier; empty without servers.
pub(super) fn tiers(scenario: &Resolved) -> Vec<Vec<u32>> {
    let storage = scenario.storage.as_ref();
    storage.map_or(Vec::new(), |storage| scenario.layout.tiers(storage))
}

/// The server of tier `tier` for each of `above`, the nodes of the tier above, if the tier's layout does not decide.
///
/// # Errors
/// The machine cannot be built.
pub(super) fn homes(
    scenario: &Resolved,
    (tier, rule): (u64, &Assignment),
    above: &[u32],
    servers: &[u32],
) -> Result<Vec<u32>, String> {
    // By group needs the nodes in order.
    let mut order: Vec<usize> = (0..above.len()).collect();
    order.sort_by_key(|&at| (above[at], at));
    let nodes: Vec<u32> = order.iter().map(|&at| above[at]).collect();
    let found = match rule {
        Assignment::Random => {
            let mut stream = Stream::new(scenario.seed, tier, Purpose::Storage);
            nodes.iter().map(|_| stream.below(servers.len() as u32)).collect()
        }
        rule => assignment(scenario, rule, &nodes, servers)?,
    };
    let mut homes = vec![0; above.len()];
    for (at, server) in order.into_iter().zip(found) {
        homes[at] = server;
    }
    Ok(homes)
}

/// The node of each metadata server.
pub(super) fn metadata_nodes(scenario: &Resolved) -> Vec<u32> {
    let metadata = scenario.storage.as_ref().and_then(|storage| storage.metadata.as_ref());
    metadata.map_or(Vec::new(), |metadata| scenario.layout.servers(&metadata.nodes))
}

/// The server of each compute node in `clients` (ascending node numbers) by `rule`; there is at least one server.
///
/// # Errors
/// The machine cannot be built.
pub(super) fn assignment(
    scenario: &Resolved,
    rule: &Assignment,
    clients: &[u32],
    servers: &[u32],
) -> Result<Vec<u32>, String> {
    let count = servers.len() as u32;
    Ok(match rule {
        Assignment::ByGroup => by_group(scenario, clients, servers),
        Assignment::Nearest => nearest(scenario.machine.build()?.topology(), clients, servers),
        Assignment::Random => {
            let mut stream = Stream::new(scenario.seed, 0, Purpose::Storage);
            clients.iter().map(|_| stream.below(count)).collect()
        }
        Assignment::RoundRobin => (0..clients.len() as u32).map(|client| client % count).collect(),
        Assignment::List(list) => list.clone(),
    })
}

/// The nearest server of each of `clients`, in cables. Clients with several nearest servers come last, in order, each
/// assigned to the one with the fewest clients so far, the first of equals.
fn nearest(topology: &Topology, clients: &[u32], servers: &[u32]) -> Vec<u32> {
    // Breadth-first search from all servers at once: a router's nearest servers are those of a neighbor that is one
    // cable closer.
    let mut at_router: Vec<Vec<u32>> = vec![Vec::new(); topology.routers() as usize];
    for (server, &node) in (0..).zip(servers) {
        at_router[topology.router_of_whole_node(node) as usize].push(server);
    }
    let mut distance: Vec<u32> = (at_router.iter())
        .map(|servers| if servers.is_empty() { u32::MAX } else { 0 })
        .collect();
    let mut ring: Vec<u32> = (0..topology.routers())
        .filter(|&router| distance[router as usize] == 0)
        .collect();
    for far in 1.. {
        let mut next = Vec::new();
        for &router in &ring {
            let found = at_router[router as usize].clone();
            for neighbour in topology.ports_of(router).filter_map(|port| topology.neighbour(port)) {
                let place = neighbour as usize;
                if distance[place] == u32::MAX {
                    distance[place] = far;
                    next.push(neighbour);
                }
                if distance[place] == far {
                    at_router[place].extend(&found);
                }
            }
        }
        if next.is_empty() {
            break;
        }
        for &router in &next {
            let found = &mut at_router[router as usize];
            found.sort_unstable();
            found.dedup();
        }
        ring = next;
    }
    let mut load = vec![0u32; servers.len()];
    let mut assigned = vec![0; clients.len()];
    for ties in [false, true] {
        for (place, &node) in assigned.iter_mut().zip(clients) {
            // Every router has a nearest server: a machine is connected.
            let near = &at_router[topology.router_of_whole_node(node) as usize];
            let least = near.iter().min_by_key(|&&server| (load[server as usize], server));
            if let Some(&server) = least
                && (near.len() > 1) == ties
            {
                *place = server;
                load[server as usize] += 1;
            }
        }
    }
    assigned
}

/// Of `n` compute nodes of a group with `s` servers, the `j`-th uses the group's server `j s / n`; a group without
/// servers uses those of the next group with servers.
fn by_group(scenario: &Resolved, clients: &[u32], servers: &[u32]) -> Vec<u32> {
    let groups = scenario.layout.groups();
    let group_of = |node: u32| scenario.layout.group_of(node) as usize;
    let mut of_group: Vec<Vec<u32>> = vec![Vec::new(); groups as usize];
    for (server, &node) in servers.iter().enumerate() {
        of_group[group_of(node)].push(server as u32);
    }
    // In reverse and twice around, so the last groups find the first ones.
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

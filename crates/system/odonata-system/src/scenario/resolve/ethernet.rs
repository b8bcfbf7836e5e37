//! The parameters of Ethernet that depend on the machine.

use odonata_network::settings::Network;
use odonata_topology::{LinkClass, Peer, Topology};
use odonata_units::{Bytes, Time};

use super::super::error::Problem;
use super::super::resolved as r;

/// Bytes of a header unless `network.header` is set.
const HEADER: Bytes = Bytes(64);

/// Checks `network.ethernet` and fills in what was left out.
pub(super) fn fill(n: &mut Network, machine: &r::Machine) -> Result<(), Problem> {
    if n.header == Bytes::ZERO {
        n.header = HEADER.min(n.packet);
    }
    n.ethernet.resolve()?;
    if n.ethernet.base_rtt.is_empty() {
        let graph = machine
            .build()
            .map_err(|problem| Problem::new("machine", problem, "one that is possible"))?;
        let longest = longest_path(graph.topology(), n);
        let bytes = n.packet.0 + n.header.0;
        n.ethernet.fill_base_rtt(longest, *n.links.terminal.bandwidth, bytes);
    }
    n.ethernet
        .fill_sizes(*n.links.terminal.bandwidth, (n.packet.0, n.header.0))
}

/// Links and latency of the longest of the shortest paths from the first node to others.
fn longest_path(topology: &Topology, n: &Network) -> (u32, Time) {
    let of = |class: LinkClass| *n.links.of(class).latency;
    let ends = of(LinkClass::Terminal) + of(LinkClass::Terminal) + n.router_delay;
    let mut found: Vec<Option<(u32, Time)>> = vec![None; topology.routers() as usize];
    let first = topology.node_router(0);
    found[first as usize] = Some((2, ends));
    let mut reached = vec![first];
    let mut longest = (2, ends);
    let mut at = 0;
    while let Some(&router) = reached.get(at) {
        let (links, latency) = found[router as usize].unwrap_or((2, ends));
        let has_nodes = (topology.ports_of(router)).any(|port| matches!(topology.peer(port), Peer::Node(_)));
        if has_nodes {
            longest = longest.max((links, latency));
        }
        for port in topology.ports_of(router) {
            if let Peer::Router { router: far, .. } = topology.peer(port)
                && found[far as usize].is_none()
            {
                let own = topology.latency(port).unwrap_or(of(topology.medium(port)));
                found[far as usize] = Some((links + 1, latency + own + n.router_delay));
                reached.push(far);
            }
        }
        at += 1;
    }
    longest
}

//! Bounds of sizes, which come from user input.

use crate::{Cable, LinkClass};
#[cfg(test)]
use crate::{Peer, Topology};

/// Maximum number of ports of a machine.
pub(crate) const MOST_PORTS: u64 = 1 << 28;

/// Maximum number of ports of a router.
pub(crate) const MOST_PORTS_PER_ROUTER: u64 = 4096;

/// # Errors
/// More ports than a machine may have.
pub(crate) fn check_ports(ports: u64) -> Result<(), String> {
    if ports > MOST_PORTS {
        return Err(format!(
            "{ports} ports in all: at most 2^28 = {MOST_PORTS} are possible"
        ));
    }
    Ok(())
}

/// # Errors
/// More ports than a machine or one router may have.
pub(crate) fn check(routers: u64, ports_per_router: u64) -> Result<(), String> {
    if ports_per_router > MOST_PORTS_PER_ROUTER {
        return Err(format!(
            "{ports_per_router} ports per router: at most {MOST_PORTS_PER_ROUTER} are possible"
        ));
    }
    check_ports(routers.saturating_mul(ports_per_router.max(1)))
}

/// The saturating product, which exceeds every bound on overflow.
pub(crate) fn product(factors: impl IntoIterator<Item = u32>) -> u64 {
    factors
        .into_iter()
        .fold(1, |product: u64, factor| product.saturating_mul(u64::from(factor)))
}

/// Asserts that every cable has two ends of the same class that name each other: for tests of families.
#[cfg(test)]
pub(crate) fn assert_perfect_matching(topology: &Topology) {
    for port in 0..topology.ports() {
        if let Peer::Router { router, port: far } = topology.peer(port) {
            assert_eq!(topology.router_of_port(far), router);
            let back = Peer::Router {
                router: topology.router_of_port(port),
                port,
            };
            assert_eq!(topology.peer(far), back);
            assert_eq!(topology.class(far), topology.class(port));
            assert_ne!(far, port);
        }
    }
    let homes: Vec<u32> = (0..topology.nodes()).map(|node| topology.node_router(node)).collect();
    assert!(homes.is_sorted(), "nodes are not numbered in the order of routers");
    for node in 0..topology.nodes() {
        assert_eq!(topology.peer(topology.node_port(node)), Peer::Node(node));
    }
}

/// A cable of `class` between two (router, port of that router) ends.
pub(crate) fn cable(a: (u32, u32), b: (u32, u32), class: LinkClass) -> Cable {
    Cable { a, b, class }
}

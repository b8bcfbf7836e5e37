//! Deadlock freedom: proved on the machine itself, or on a smaller one of the same shape. In an Ethernet, packets wait
//! for the end of pauses, or for nothing where switches drop packets.

use super::RoutingReport;
use crate::build;
use crate::scenario::resolved::{Algorithm, DeadlockCheck, Fidelity, Kind, Machine, Network, Resolved, Routing};
use odonata_network::VirtualChannels;
use odonata_network::deadlock::{self, Waits};
use odonata_topology::{LinkClass, Peer, Topology};

/// Maximum number of routers for a proof on the whole machine; its time grows with their cube for detours over routers.
const LARGEST_PROOF: u32 = 300;
/// Maximum number of decisions tried on a machine before a smaller one replaces it: a second or two. A packet that
/// chooses among dimensions by load has exponentially many decisions.
const MOST_DECISIONS: u64 = 10_000_000;

/// What packets wait for in a network, whose messages have `fidelity`; `None` if switches drop packets without room.
pub(super) fn waits(network: &Network, fidelity: Fidelity) -> Option<Waits> {
    match (fidelity, network.ethernet.has_pauses()) {
        (Fidelity::Ethernet, false) => None,
        (Fidelity::Ethernet, true) => Some(Waits::Pauses),
        _ => Some(Waits::Credits),
    }
}

/// The fidelity of a scenario as far as it determines what packets wait for.
pub(super) fn fidelity(scenario: &Resolved) -> Fidelity {
    match scenario.has_fidelity(Fidelity::Ethernet) {
        true => Fidelity::Ethernet,
        false => scenario.network.fidelity,
    }
}

/// The report on the routing `r` on `machine`, where packets wait for `waits`.
pub(super) fn report(machine: &Machine, r: &Routing, waits: Option<Waits>) -> Result<RoutingReport, String> {
    let needed = build::routing_on(machine, r)?;
    let cables = needed.topology().cables_by_class();
    // Channels of classes that the machine lacks do not count.
    let present = |vcs: VirtualChannels| {
        LinkClass::ALL.map(|class| match cables[class as usize] {
            0 => 0,
            _ => vcs[class as usize],
        })
    };
    let mut report = RoutingReport {
        virtual_channels_needed: present(needed.virtual_channels()),
        virtual_channels: present(build::virtual_channels_of(r, &needed)),
        deadlock_free: true,
        deadlock_check: r.deadlock_check,
        waits_for: match waits {
            Some(Waits::Credits) => "virtual-channels",
            Some(Waits::Pauses) => "pauses",
            None => "nothing",
        },
        channels: 0,
        dependencies: 0,
        proved_on: "any machine".into(),
        cycle: Vec::new(),
    };
    let Some(waits) = waits else {
        return Ok(report);
    };
    let broken = if machine.failed_links.is_empty() {
        ""
    } else {
        ", none of its cables broken"
    };
    let size = needed.topology().routers();
    // Machines to try, each larger than the next; `None` for the machine itself.
    let mut machines = Vec::new();
    // A table of routes is for this machine alone.
    let has_table = *r.algorithm == Algorithm::Table;
    if size <= LARGEST_PROOF || has_table {
        machines.push(None);
    }
    for few in [false, true] {
        let next = machine.kind.smaller(few).filter(|_| !has_table);
        let text = |other: &Option<(Kind, String)>| other.as_ref().map(|(_, text)| text.clone());
        if machines.last().map(text) != Some(text(&next)) {
            machines.push(next);
        }
    }
    let last = machines.len() - 1;
    let mut found = None;
    for (number, small) in machines.into_iter().enumerate() {
        let (routing, text) = match small {
            None => (build::routing_on(machine, r)?, "this machine".to_owned()),
            Some((kind, text)) => {
                let small = Machine::whole(kind);
                let text = format!("a smaller machine of its kind, a {text}{broken}");
                (build::routing_on(&small, r)?, text)
            }
        };
        if number > 0 && number < last && routing.topology().routers() == size {
            continue;
        }
        let most = if number == last { u64::MAX } else { MOST_DECISIONS };
        found = deadlock::check_within(&routing, waits, most).map(|proof| (routing, proof, text));
        if found.is_some() {
            break;
        }
    }
    let (routing, proof, proved_on) = found.ok_or("the proof did not finish")?;
    report.virtual_channels_needed = present(routing.virtual_channels());
    report.virtual_channels = present(build::virtual_channels_of(r, &routing));
    report.deadlock_free = proof.cycle.is_none();
    (report.channels, report.dependencies) = (proof.channels, proof.dependencies);
    report.proved_on = proved_on;
    report.cycle = hops(routing.topology(), waits, &proof.cycle.unwrap_or_default());
    Ok(report)
}

/// A cycle of channels that can fill, hop by hop, in a scenario that runs with or without one; empty if there is none,
/// `None` if the check is off.
pub(crate) fn tolerated_cycle(scenario: &Resolved) -> Option<Vec<String>> {
    let (machine, network) = (&scenario.machine, &scenario.network);
    match network.routing.deadlock_check {
        DeadlockCheck::Refuse => None,
        DeadlockCheck::Warn => {
            let waits = waits(network, fidelity(scenario));
            report(machine, &network.routing, waits).ok().map(|report| report.cycle)
        }
    }
}

/// The channels of a cycle, as text.
fn hops(topology: &Topology, waits: Waits, cycle: &[(u32, u8)]) -> Vec<String> {
    let hop = |&(port, vc): &(u32, u8)| {
        let to = match topology.peer(port) {
            Peer::Router { router, .. } => format!("router {router}"),
            Peer::Node(node) => format!("node {}", node / topology.interfaces()),
            Peer::Free => "nothing".into(),
        };
        let class = topology.class(port).name();
        let from = topology.router_of_port(port);
        match waits {
            Waits::Credits => format!("router {from} to {to} ({class}, virtual channel {vc})"),
            Waits::Pauses => format!("router {from} to {to} ({class})"),
        }
    };
    cycle.iter().map(hop).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario;

    /// A machine with cables from every router to every group has no hops to a gateway, and proves nothing about them.
    #[test]
    fn smaller_dragonflies_have_routers_without_a_cable_to_a_group() {
        let machines = [
            "dragonfly = { groups = 74, routers_per_group = 32, nodes_per_router = 16, global_ports_per_router = 16, \
             cables = 4 }",
            "dragonfly = { groups = 33, routers_per_group = 16, nodes_per_router = 4, global_ports_per_router = 8 }",
            "dragonfly-2d = { groups = 9, nodes_per_router = 4, global_ports_per_router = 4, cables = 12 }",
            "dragonfly-plus = { groups = 33, leaves_per_group = 8, spines_per_group = 8, nodes_per_leaf = 8, \
             global_ports_per_spine = 4 }",
        ];
        for machine in machines {
            for algorithm in ["minimal", "valiant", "ugal", "progressive-adaptive"] {
                let text = format!(
                    "[network.routing]\nalgorithm = \"{algorithm}\"\n[machine]\n{machine}\n[[jobs]]\nranks = 2\n\
                     workload = {{ uniform = {{ load = 0.1, messages = 1 }} }}\n"
                );
                let scenario = scenario::load(&text, "t", &[], None, ".").unwrap().resolved;
                let kind = scenario.machine.kind.smaller(false).unwrap().0;
                let small = Machine {
                    kind,
                    ..scenario.machine.clone()
                };
                let routing = build::routing_on(&small, &scenario.network.routing).unwrap();
                let topology = routing.topology();
                let block = |router: u32| topology.blocks().partition_point(|&first| first <= router);
                let groups_of = |router: u32| -> std::collections::BTreeSet<usize> {
                    let far = topology.ports_of(router).filter_map(|port| topology.neighbour(port));
                    far.map(block).filter(|&other| other != block(router)).collect()
                };
                let with_cables: Vec<usize> = (0..topology.routers())
                    .map(|router| groups_of(router).len())
                    .filter(|&groups| groups > 0)
                    .collect();
                let others = block(topology.routers() - 1) - 1;
                assert!(with_cables.iter().any(|&groups| groups < others), "{machine}");
                let proof = deadlock::check(&routing);
                assert_eq!(proof.cycle, None, "{machine} {algorithm}");
                assert_eq!(proof.used, routing.virtual_channels(), "{machine} {algorithm}");
            }
        }
    }
}

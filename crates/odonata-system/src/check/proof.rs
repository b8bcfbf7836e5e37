//! Freedom from deadlock: proved on the machine itself, or on a smaller one of the same shape.

use super::RoutingReport;
use crate::build;
use crate::scenario::resolved::{DeadlockCheck, Kind, Machine, Routing};
use odonata_network::{VirtualChannels, deadlock};
use odonata_topology::{LinkClass, Peer, Topology};

/// Routers up to which the dependency graph of the whole machine is enumerated; the time grows with their cube for
/// detours over routers.
const LARGEST_PROOF: u32 = 300;
/// Decisions that are tried on a machine before a smaller one stands for it: a second or two. Where a packet chooses among
/// dimensions by load and room, there are exponentially many in them.
const MOST_DECISIONS: u64 = 10_000_000;
/// Routers of the smaller machine that stands for a larger one.
const SMALLER_PROOF: u32 = 120;
/// Cables between two groups of a smaller dragonfly.
const FEW_CABLES: u32 = 2;

/// What is known of the routing `r` on `machine`.
pub(super) fn report(machine: &Machine, r: &Routing) -> Result<RoutingReport, String> {
    let needed = build::routing_on(machine, r)?;
    let cables = needed.topology().cables_by_class();
    // Whatever is said of all classes means nothing for those that the machine does not have.
    let present = |vcs: VirtualChannels| {
        LinkClass::ALL.map(|class| match cables[class as usize] {
            0 => 0,
            _ => vcs[class as usize],
        })
    };
    let broken = if machine.failed_links.is_empty() {
        ""
    } else {
        ", none of its cables broken"
    };
    let size = needed.topology().routers();
    // Machines to be tried, each larger than the next; `None`: this one.
    let mut machines = Vec::new();
    if size <= LARGEST_PROOF {
        machines.push(None);
    }
    for few in [false, true] {
        let next = smaller(&machine.kind, few);
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
                let small = Machine {
                    kind,
                    service_routers: Vec::new(),
                    failed_links: Vec::new(),
                    degraded_links: Vec::new(),
                };
                let text = format!("a smaller machine of its kind, a {text}{broken}");
                (build::routing_on(&small, r)?, text)
            }
        };
        if number > 0 && number < last && routing.topology().routers() == size {
            continue;
        }
        let most = if number == last { u64::MAX } else { MOST_DECISIONS };
        found = deadlock::check_within(&routing, most).map(|proof| (routing, proof, text));
        if found.is_some() {
            break;
        }
    }
    let (routing, proof, proved_on) = found.ok_or("the proof came to no end")?;
    Ok(RoutingReport {
        virtual_channels_needed: present(routing.virtual_channels()),
        virtual_channels: present(build::virtual_channels_of(r, &routing)),
        deadlock_free: proof.cycle.is_none(),
        deadlock_check: r.deadlock_check,
        channels: proof.channels,
        dependencies: proof.dependencies,
        proved_on,
        cycle: hops(routing.topology(), &proof.cycle.unwrap_or_default()),
    })
}

/// A cycle of channels that can fill, hop by hop, of a scenario that is run whether or not there is one; empty if there
/// is none, `None` where nobody asks.
pub(crate) fn tolerated_cycle(machine: &Machine, r: &Routing) -> Option<Vec<String>> {
    match r.deadlock_check {
        DeadlockCheck::Refuse => None,
        DeadlockCheck::Warn => report(machine, r).ok().map(|report| report.cycle),
    }
}

/// The channels of a cycle, in words.
fn hops(topology: &Topology, cycle: &[(u32, u8)]) -> Vec<String> {
    let hop = |&(port, vc): &(u32, u8)| {
        let to = match topology.peer(port) {
            Peer::Router { router, .. } => format!("router {router}"),
            Peer::Node(node) => format!("node {node}"),
            Peer::Free => "nothing".into(),
        };
        let class = topology.class(port).name();
        format!(
            "router {} to {to} ({class}, virtual channel {vc})",
            topology.router_of_port(port)
        )
    };
    cycle.iter().map(hop).collect()
}

/// A machine of the same kind that is small enough, and what it is; `None`: a kind that has no smaller ones. With `few`, of
/// a grid of many routers or dimensions no more than four routers in each of three dimensions.
///
/// Which channels depend on which follows from the kinds of hops that paths have, and not from how many there are of a
/// kind. Grids keep their dimensions, but no more than three if there are many; trees their levels; five groups hold every
/// kind of path of a dragonfly: source, two intermediates, destination, and one beside. Their groups have few cables between them, so that some routers
/// have one to a group and others have to go to a gateway first, as on machines with many groups.
fn smaller(kind: &Kind, few: bool) -> Option<(Kind, String)> {
    let routers = |extents: &[u32]| extents.iter().fold(1u64, |all, &k| all.saturating_mul(u64::from(k)));
    let shown = |extents: &[u32]| extents.iter().map(u32::to_string).collect::<Vec<_>>().join(" x ");
    // Which dimensions are kept, and how long: all, as long as lines of four routers leave few enough, else the longest
    // three. In shorter rings no packet takes two hops, and nothing could wait in a circle.
    let grid = |dims: &[u32]| -> (Vec<usize>, Vec<u32>) {
        let cut = |most: u32| -> Vec<u32> { dims.iter().map(|&k| k.min(most)).collect() };
        let fits = |extents: &Vec<u32>| routers(extents) <= u64::from(SMALLER_PROOF);
        if let Some(extents) = (4..=6).rev().map(cut).find(fits).filter(|_| !few) {
            return ((0..dims.len()).collect(), extents);
        }
        let mut kept: Vec<usize> = (0..dims.len()).collect();
        kept.sort_by_key(|&dimension| std::cmp::Reverse(dims[dimension]));
        kept.truncate(3);
        kept.sort_unstable();
        let extents = kept.iter().map(|&dimension| dims[dimension].min(4)).collect();
        (kept, extents)
    };
    // Cables between any two of `groups` groups with so many ports, where there are `cables` on the machine itself.
    let few = |cables: Option<u32>, groups: u32, ports: u32| {
        let fit = if groups > 1 { ports / (groups - 1) } else { 0 };
        Some(cables.unwrap_or(FEW_CABLES).min(FEW_CABLES).min(fit)).filter(|&cables| cables > 0)
    };
    // Global ports of each of so many routers: no more than cables to four other groups need, but two, which lead to
    // different ones.
    let spread = |ports: u32, routers: u32| ports.min((4 * FEW_CABLES).div_ceil(routers).max(2));
    match kind {
        Kind::Dragonfly(d) => {
            let mut small = d.clone();
            small.routers_per_group = d.routers_per_group.min(SMALLER_PROOF / 5);
            small.global_ports_per_router = spread(d.global_ports_per_router, small.routers_per_group);
            let fits = small.routers_per_group * small.global_ports_per_router + 1;
            small.groups = (SMALLER_PROOF / small.routers_per_group).max(5).min(d.groups).min(fits);
            small.cables = few(d.cables, small.groups, fits - 1);
            let text = format!(
                "dragonfly with {} groups of {} routers",
                small.groups, small.routers_per_group
            );
            Some((Kind::Dragonfly(small), text))
        }
        Kind::Dragonfly2d(d) => {
            let mut small = d.clone();
            (small.rows, small.columns) = (d.rows.min(4), d.columns.min(5));
            let of_a_group = small.rows * small.columns;
            small.column_cables = d.column_cables.min(2);
            small.groups = d.groups.min(5).min(of_a_group * d.global_ports_per_router + 1);
            (small.cables, small.bundle) = (few(d.cables, small.groups, of_a_group * d.global_ports_per_router), 1);
            small.nodes_per_router = 1;
            small.exceptions.clear();
            let text = format!(
                "dragonfly with {} groups of {} x {} routers",
                small.groups, small.rows, small.columns
            );
            Some((Kind::Dragonfly2d(small), text))
        }
        Kind::DragonflyPlus(d) => {
            let mut small = d.clone();
            small.leaves_per_group = d.leaves_per_group.min(8);
            small.spines_per_group = d.spines_per_group.min(8);
            small.global_ports_per_spine = spread(d.global_ports_per_spine, small.spines_per_group);
            let ports = small.spines_per_group * small.global_ports_per_spine;
            small.groups = d.groups.min(5).min(ports + 1);
            small.cables = few(d.cables, small.groups, ports);
            let text = format!(
                "dragonfly+ with {} groups of {} leaves and {} spines",
                small.groups, small.leaves_per_group, small.spines_per_group
            );
            Some((Kind::DragonflyPlus(small), text))
        }
        Kind::Torus(t) | Kind::Mesh(t) => {
            let mut small = t.clone();
            small.dims = grid(&t.dims).1;
            let text = format!("{} of {} routers", kind.name(), shown(&small.dims));
            let small = match kind {
                Kind::Torus(_) => Kind::Torus(small),
                _ => Kind::Mesh(small),
            };
            Some((small, text))
        }
        Kind::HyperX(x) => {
            let mut small = x.clone();
            let (kept, dims) = grid(&x.dims);
            small.dims = dims;
            small.cables = kept.iter().map(|&dimension| x.cables[dimension].min(2)).collect();
            let text = format!("HyperX of {} routers", shown(&small.dims));
            Some((Kind::HyperX(small), text))
        }
        Kind::FatTree(t) => {
            let mut small = t.clone();
            let most = if t.down.len() > 3 { 2 } else { 4 };
            for list in [&mut small.down, &mut small.up, &mut small.parallel] {
                list.iter_mut().for_each(|count| *count = (*count).min(most));
            }
            let text = format!("fat tree with at most {most} children and parents");
            Some((Kind::FatTree(small), text))
        }
        Kind::SlimFly(f) => {
            let mut small = f.clone();
            // The sets of generators differ by the residue.
            small.q = match f.q % 4 {
                0 => 4,
                1 => 5,
                _ => 7,
            };
            let text = format!("Slim Fly with q = {}", small.q);
            Some((Kind::SlimFly(small), text))
        }
        // Proved itself, however large.
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario;

    /// A machine whose groups all have cables at every router has no way to a gateway, and proves nothing of those ways.
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
                let kind = smaller(&scenario.machine.kind, false).unwrap().0;
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

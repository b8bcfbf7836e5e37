//! The worst traffic for minimal routing on a machine.

use std::collections::VecDeque;

use odonata_topology::{Topology, family};
use odonata_workload::{Pattern, WorstCase};

use super::workload::Size;
use crate::scenario::resolved as r;
use odonata_storage::settings::Nodes;
use odonata_units::Filled;
use odonata_workload::synthetic::{PatternParams, Step};

/// Number of ranks that fit into a group of the machine, excluding storage servers and service nodes.
pub(super) fn ranks_per_group(size: Size, machine: &r::Resolved) -> u32 {
    let layout = &machine.layout;
    let groups = (layout.groups_with_nodes().count() as u32).max(1);
    // Servers that are listed individually are not in every group.
    let servers = match machine.storage.as_ref().map(|storage| &storage.nodes) {
        None | Some(Nodes { list: Some(_), .. } | Nodes { class: Some(_), .. }) => 0,
        Some(nodes @ Nodes { routers: Some(_), .. }) => layout.servers(nodes).len() as u32 / groups,
        Some(nodes) => nodes.per_group.unwrap_or(0),
    };
    let taken = servers + layout.service_nodes() / groups;
    let nodes = layout.group_sizes().1.saturating_sub(taken).max(1);
    nodes.saturating_mul(size.ranks_per_node)
}

/// The properties of the machine's topology that determine the worst traffic.
///
/// # Errors
/// Routers of a machine without groups have different numbers of nodes, or cannot all be paired with different
/// neighbors.
pub(super) fn shape(size: Size, machine: &r::Resolved) -> Result<WorstCase, String> {
    // The sizes of a kind count interfaces.
    let of_router = |links: u32| (links / machine.machine.interfaces).saturating_mul(size.ranks_per_node);
    Ok(match machine.machine.kind.worst_case() {
        family::WorstCase::NextGroup => WorstCase::Groups {
            ranks_per_group: ranks_per_group(size, machine),
        },
        family::WorstCase::Tornado {
            extents,
            nodes_per_router,
        } => WorstCase::Torus {
            extents,
            ranks_per_router: of_router(nodes_per_router),
        },
        family::WorstCase::NextSubtree { nodes } => WorstCase::Tree {
            ranks_per_subtree: of_router(nodes),
        },
        family::WorstCase::NextInLine {
            extents,
            nodes_per_router,
        } => WorstCase::HyperX {
            extents,
            ranks_per_router: of_router(nodes_per_router),
        },
        family::WorstCase::Neighbours => {
            let family = machine.machine.build()?;
            let topology = family.topology();
            let nodes = topology.nodes() / topology.routers();
            if (0..topology.nodes()).any(|node| topology.node_router(node) != node / nodes.max(1)) {
                return Err("routers have different numbers of nodes".into());
            }
            WorstCase::Neighbours {
                partners: partners(topology)?.into(),
                ranks_per_router: of_router(nodes),
            }
        }
    })
}

/// Assigns a different neighbor to each router: a perfect matching of routers with neighbors, found by augmenting paths
/// (H. Kuhn, "The Hungarian method for the assignment problem", 1955), breadth first.
fn partners(topology: &Topology) -> Result<Vec<u32>, String> {
    const NO_ROUTER: u32 = u32::MAX;
    let routers = topology.routers() as usize;
    let neighbours = |router: u32| topology.ports_of(router).filter_map(|port| topology.neighbour(port));
    // The current assignment, in both directions.
    let mut partner = vec![NO_ROUTER; routers];
    let mut taken_by = vec![NO_ROUTER; routers];
    for start in 0..routers as u32 {
        if let Some(free) = neighbours(start).find(|&other| taken_by[other as usize] == NO_ROUTER) {
            (partner[start as usize], taken_by[free as usize]) = (free, start);
            continue;
        }
        // The router that requested each neighbor in this search, if any.
        let mut asked_by = vec![NO_ROUTER; routers];
        let mut open = VecDeque::from([start]);
        let mut end = NO_ROUTER;
        while let Some(router) = open.pop_front() {
            for other in neighbours(router) {
                if asked_by[other as usize] != NO_ROUTER {
                    continue;
                }
                asked_by[other as usize] = router;
                match taken_by[other as usize] {
                    NO_ROUTER => end = other,
                    owner => open.push_back(owner),
                }
                if end != NO_ROUTER {
                    break;
                }
            }
            if end != NO_ROUTER {
                break;
            }
        }
        if end == NO_ROUTER {
            return Err(format!(
                "router {start} has no neighbor left that is not taken by another router"
            ));
        }
        // Along the path, each router takes the requested neighbor and leaves its former one to the router that
        // requested it before.
        loop {
            let router = asked_by[end as usize];
            let former = partner[router as usize];
            (partner[router as usize], taken_by[end as usize]) = (end, router);
            if router == start {
                break;
            }
            end = former;
        }
    }
    Ok(partner)
}

/// The worst traffic on `shape` for `ranks` ranks.
///
/// # Errors
/// As [`WorstCase::pattern`].
pub(super) fn pattern(shape: &WorstCase, ranks: u32) -> Result<PatternParams, String> {
    let grid = |step, extents: &[u32], ranks_per_router| PatternParams::Grid {
        step: Filled::new(step),
        dims: Some(extents.to_vec()),
        ranks_per_router: Filled::new(ranks_per_router),
    };
    let checked = shape.pattern(ranks)?;
    Ok(match (shape, checked) {
        (_, Pattern::Permutation { targets }) => PatternParams::Permutation {
            targets: targets.to_vec().into(),
            seed: None,
        },
        (WorstCase::Groups { ranks_per_group }, _) => PatternParams::NextGroup {
            ranks_per_group: Filled::new(*ranks_per_group),
        },
        (WorstCase::Tree { ranks_per_subtree }, _) => PatternParams::Shift {
            by: Filled::new(*ranks_per_subtree),
        },
        (
            WorstCase::Torus {
                extents,
                ranks_per_router,
            },
            _,
        ) => grid(Step::Tornado, extents, *ranks_per_router),
        (
            WorstCase::HyperX {
                extents,
                ranks_per_router,
            },
            _,
        ) => grid(Step::Next, extents, *ranks_per_router),
        (WorstCase::Neighbours { .. }, other) => return Err(format!("partners made {other:?}")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use odonata_units::{Bytes, Time};
    use odonata_workload::synthetic::{SyntheticParams, table};

    /// The matching is found in graphs that have one: Slim Flies and a ring of three.
    #[test]
    fn partners_are_different_neighbours() {
        let fly = |q| odonata_topology::SlimFly::new(odonata_topology::SlimFlyShape { q, nodes: None }).unwrap();
        let cable = |a, b| odonata_topology::Cable {
            a,
            b,
            class: odonata_topology::LinkClass::Local,
        };
        let ring = [cable((0, 0), (1, 1)), cable((1, 0), (2, 1)), cable((2, 0), (0, 1))];
        let ring = Topology::new(&[2; 3], &[], &ring).unwrap();
        for topology in [fly(5).topology(), fly(4).topology(), &ring] {
            let mut found = partners(topology).unwrap();
            for (router, &partner) in (0..).zip(&found) {
                assert!(
                    topology
                        .ports_of(router)
                        .any(|port| topology.neighbour(port) == Some(partner))
                );
            }
            found.sort_unstable();
            assert!(found.iter().copied().eq(0..topology.routers()));
        }
        // The two ends of a line of three need the same neighbor.
        let line = Topology::new(&[2; 3], &[], &[cable((0, 0), (1, 1)), cable((1, 0), (2, 1))]).unwrap();
        assert!(partners(&line).unwrap_err().contains("router 2"));
    }

    #[test]
    fn the_resolved_pattern_is_the_worst_case_of_every_shape() {
        let extents = vec![4, 4];
        let shapes = [
            WorstCase::Groups { ranks_per_group: 8 },
            WorstCase::Tree { ranks_per_subtree: 8 },
            WorstCase::Torus {
                extents: extents.clone(),
                ranks_per_router: 2,
            },
            WorstCase::HyperX {
                extents,
                ranks_per_router: 2,
            },
            WorstCase::Neighbours {
                partners: [1, 0, 3, 2].into(),
                ranks_per_router: 8,
            },
        ];
        for shape in shapes {
            let mut resolved = SyntheticParams::from(table::WorstCase::default());
            resolved.pattern = pattern(&shape, 32).unwrap();
            resolved.mean_interval = Time::from_ns(1).into();
            resolved.messages = Some(1);
            resolved.bytes.fill(Bytes(64));
            resolved.itself.fill(false);
            assert_eq!(resolved.traffic(32, false).unwrap().pattern, shape.pattern(32).unwrap());
        }
        assert!(pattern(&WorstCase::Groups { ranks_per_group: 32 }, 32).is_err());
    }
}

//! Freedom from deadlock of priority flow control: one lossless class, outputs chosen on arrival.

use super::fat_tree::{TREES, trees};
use super::torus::on_torus;
use crate::common::{Net, shape};
use odonata_network::deadlock::{Waits, check, check_within};
use odonata_network::routing::{Algorithm, FatTreeRouting, Intermediate, Routing, TorusAlgorithm};
use odonata_topology::Peer;

/// The links of a cycle of pauses, if there is one: each ends at the router where the next begins.
fn cycle(routing: &Routing) -> Option<Vec<u32>> {
    let proof = check_within(routing, Waits::Pauses, u64::MAX).unwrap();
    assert!(proof.channels > 0 && proof.dependencies > 0);
    let ports: Vec<u32> = proof.cycle?.iter().map(|&(port, _)| port).collect();
    let topology = routing.topology();
    for (i, &port) in ports.iter().enumerate() {
        let next = topology.router_of_port(ports[(i + 1) % ports.len()]);
        assert!(matches!(topology.peer(port), Peer::Router { router, .. } if router == next));
    }
    Some(ports)
}

#[test]
fn trees_and_meshes_have_no_cycle_of_pauses() {
    for tree in trees() {
        for up in TREES {
            let routing = Routing::FatTree(FatTreeRouting::new(tree.clone(), up).unwrap());
            if tree.levels() > 1 {
                assert_eq!(cycle(&routing), None, "{:?} {up:?}", tree.shape());
            }
        }
    }
    assert_eq!(cycle(&on_torus(&[4, 4], false, TorusAlgorithm::DimensionOrder)), None);
}

/// Their virtual channels prevent a deadlock of credits, but pauses know no virtual channels.
#[test]
fn rings_and_groups_have_a_cycle_of_pauses() {
    for algorithm in [TorusAlgorithm::DimensionOrder, TorusAlgorithm::Bubble] {
        let ring = on_torus(&[8], true, algorithm);
        assert_eq!(check(&ring).cycle, None);
        // All links of one direction.
        assert_eq!(cycle(&ring).map(|links| links.len()), Some(8));
    }
    // A packet waits for the output that it has chosen.
    let mesh = on_torus(&[4, 4], false, TorusAlgorithm::MinimalAdaptive);
    assert_eq!(check(&mesh).cycle, None);
    assert!(cycle(&mesh).is_some_and(|links| links.len() >= 4));
    let dragonfly = Net::round(shape(5, 4, 2, 1)).routed(Algorithm::Minimal, Intermediate::Group);
    assert_eq!(check(&dragonfly.routing()).cycle, None);
    assert!(cycle(&dragonfly.routing()).is_some_and(|links| links.len() >= 2));
}

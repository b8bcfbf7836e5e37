//! Fat trees.

use super::paths::{assert_safe, assert_shortest};
use odonata_network::deadlock::outcomes;
use odonata_network::routing::{FatTreeRouting, Header, Routing, Up};
use odonata_topology::{Effect, FamilyGraph, FatTree, FatTreeShape, Fault};
use std::collections::HashSet;

pub(crate) const TREES: [Up; 3] = [Up::Random, Up::DModK, Up::Adaptive];

pub(crate) fn trees() -> Vec<FatTree> {
    let general = FatTreeShape {
        down: vec![2, 3, 2],
        up: vec![1, 2, 3],
        parallel: vec![1, 2, 1],
    };
    vec![
        FatTree::new(FatTreeShape::k_ary(2, 3)).unwrap(),
        FatTree::new(FatTreeShape::k_ary(3, 2)).unwrap(),
        FatTree::new(FatTreeShape::k_ary(4, 1)).unwrap(),
        FatTree::new(general).unwrap(),
    ]
}

#[test]
fn fat_tree_packets_take_shortest_paths_on_one_level() {
    for tree in trees() {
        for algorithm in TREES {
            let routing = Routing::FatTree(FatTreeRouting::new(tree.clone(), algorithm).unwrap());
            assert_shortest(&routing);
            assert_safe(&routing, &format!("{:?} {algorithm:?}", tree.shape()));
        }
    }
}

/// Random and adaptive routing use every upward cable; D-mod-k uses one, and different ones for nodes with different
/// last digits.
#[test]
fn upward_cables_share_the_traffic() {
    let tree = FatTree::new(FatTreeShape::k_ary(3, 3)).unwrap();
    for algorithm in TREES {
        let routing = Routing::FatTree(FatTreeRouting::new(tree.clone(), algorithm).unwrap());
        let ports = |node: u32| {
            let mut ports = HashSet::new();
            outcomes(&routing, 0, Header::new(node), |decision, _| {
                ports.insert(decision.port);
            });
            ports
        };
        let single = algorithm == Up::DModK;
        assert_eq!(ports(26).len(), if single { 1 } else { 3 });
        if single {
            let all: HashSet<u32> = (24..27).flat_map(ports).collect();
            assert_eq!(all.len(), 3);
            // floor(D / 1) mod 3 at level 1.
            assert_eq!(ports(25), HashSet::from([tree.up_ports(0, 1).start]));
        }
    }
}

#[test]
fn fat_tree_packets_avoid_failed_cables() {
    for algorithm in TREES {
        let mut tree = FatTree::new(FatTreeShape::k_ary(3, 3)).unwrap();
        let parent = tree.topology().neighbour(tree.up_ports(0, 1).start).unwrap();
        let fault = Fault {
            routers: (0, parent),
            index: None,
            effect: Effect::Failed,
        };
        tree.impair(&[fault]).unwrap();
        let routing = Routing::FatTree(FatTreeRouting::new(tree, algorithm).unwrap());
        assert_shortest(&routing);
        assert_safe(&routing, "with a failed cable");
    }
}

use super::*;
use crate::Peer;

fn shapes() -> Vec<DragonflyShape> {
    let shape = |groups, routers, nodes, global_ports, cables| DragonflyShape {
        groups,
        routers,
        nodes,
        global_ports,
        cables,
    };
    vec![
        shape(33, 8, 4, 4, None),
        shape(9, 4, 2, 2, None),
        shape(5, 4, 2, 4, None),
        shape(4, 3, 2, 3, Some(2)),
        shape(2, 1, 1, 1, None),
        shape(1, 4, 3, 0, None),
        shape(7, 5, 1, 3, None),
    ]
}

fn dragonflies() -> impl Iterator<Item = Dragonfly> {
    shapes()
        .into_iter()
        .flat_map(|shape| Arrangement::ALL.map(|rule| Dragonfly::new(shape, rule).unwrap()))
}

#[test]
fn blocks_are_the_groups() {
    for dragonfly in dragonflies() {
        let blocks = dragonfly.topology().blocks();
        assert_eq!(blocks.len() as u32, dragonfly.shape().groups + 1);
        for (group, range) in (0..).zip(blocks.windows(2)) {
            assert!((range[0]..range[1]).all(|router| dragonfly.group_of(router) == group));
        }
    }
}

/// Three groups of 2 nodes per router, two of 3, one of 1; the numbers of cables go by kind. Local ports lead to the
/// routers of the group in every kind.
#[test]
fn groups_of_several_kinds_have_their_nodes_and_cables() {
    let shape = DragonflyShape {
        groups: 6,
        routers: 4,
        nodes: 2,
        global_ports: 4,
        cables: Some(3),
    };
    let kind = |groups, nodes, cables, to: &[u32]| group_kinds::GroupKind {
        groups,
        nodes,
        cables,
        cables_to: to.to_vec(),
    };
    for arrangement in Arrangement::ALL {
        let kinds = GroupKinds::new(vec![kind(2, 3, 4, &[2]), kind(1, 1, 1, &[1, 3])]).unwrap();
        let d = Dragonfly::with_kinds(shape, kinds, arrangement).unwrap();
        let t = d.topology();
        crate::sizes::assert_perfect_matching(t);
        let nodes = |group| [2, 2, 2, 3, 3, 1][group as usize];
        for router in 0..t.routers() {
            let own = (0..t.nodes()).filter(|&node| t.node_router(node) == router).count();
            assert_eq!(own, nodes(d.group_of(router)), "router {router}");
            let first = d.group_of(router) * 4;
            for other in (first..first + 4).filter(|&other| other != router) {
                assert_eq!(t.neighbour(d.local_port(router, other)), Some(other));
            }
        }
        for (x, y) in (0..6).flat_map(|x| (0..6).map(move |y| (x, y))).filter(|(x, y)| x != y) {
            let cables = match (x.min(y), x.max(y)) {
                (..3, ..3) => 3,
                (3 | 4, 3 | 4) => 4,
                (..3, 3 | 4) => 2,
                (..3, _) => 1,
                _ => 3,
            };
            assert_eq!(d.gateways(x, y).len(), cables, "{arrangement:?}, {x} to {y}");
        }
        // Groups 0, 1, 2 against 3, 4, 5.
        assert_eq!(d.bisection(), Some(3 * (2 + 2 + 1)));
    }
}

#[test]
fn cabling_is_a_perfect_matching() {
    for dragonfly in dragonflies() {
        let t = dragonfly.topology();
        for port in 0..t.ports() {
            if let Peer::Router { router, port: far } = t.peer(port) {
                assert_eq!(t.router_of_port(far), router);
                assert_eq!(
                    t.peer(far),
                    Peer::Router {
                        router: t.router_of_port(port),
                        port
                    }
                );
                assert_eq!(t.class(far), t.class(port));
            }
        }
    }
}

#[test]
fn every_pair_of_groups_has_its_cables_and_every_pair_of_routers_in_a_group_one() {
    for dragonfly in dragonflies() {
        let (t, s) = (dragonfly.topology(), dragonfly.shape());
        for x in 0..s.groups {
            for y in (0..s.groups).filter(|&y| y != x) {
                let gateways = dragonfly.gateways(x, y);
                assert_eq!(gateways.len(), dragonfly.cables() as usize);
                for gateway in gateways {
                    assert_eq!(dragonfly.group_of(gateway.router), x);
                    assert_eq!(t.router_of_port(gateway.port), gateway.router);
                    assert_eq!(t.class(gateway.port), LinkClass::Global);
                    let Peer::Router { router, .. } = t.peer(gateway.port) else {
                        panic!("gateway is free")
                    };
                    assert_eq!((router, dragonfly.group_of(router)), (gateway.far_router, y));
                }
            }
        }
        for router in 0..t.routers() {
            let base = dragonfly.group_of(router) * s.routers;
            for other in (base..base + s.routers).filter(|&o| o != router) {
                let port = dragonfly.local_port(router, other);
                assert!(matches!(t.peer(port), Peer::Router { router, .. } if router == other));
                assert_eq!(t.class(port), LinkClass::Local);
            }
        }
    }
}

/// Breadth-first search: all nodes are reachable over at most three router-router links.
#[test]
fn diameter_is_three_links() {
    for dragonfly in dragonflies() {
        let t = dragonfly.topology();
        for start in [0, t.routers() / 2, t.routers() - 1] {
            let mut distance = vec![u32::MAX; t.routers() as usize];
            distance[start as usize] = 0;
            let mut queue = std::collections::VecDeque::from([start]);
            while let Some(router) = queue.pop_front() {
                for port in t.ports_of(router) {
                    if let Peer::Router { router: next, .. } = t.peer(port)
                        && distance[next as usize] == u32::MAX
                    {
                        distance[next as usize] = distance[router as usize] + 1;
                        queue.push_back(next);
                    }
                }
            }
            assert!(distance.iter().all(|&d| d <= 3));
        }
    }
}

/// port p of router i of group g -> group (g + 4i + p + 1) mod 33, router 7 - i.
#[test]
fn relative_arrangement_is_the_rule_of_the_stored_runs() {
    let shape = DragonflyShape {
        groups: 33,
        routers: 8,
        nodes: 4,
        global_ports: 4,
        cables: None,
    };
    let dragonfly = Dragonfly::new(shape, Arrangement::Relative).unwrap();
    let t = dragonfly.topology();
    for g in 0..33 {
        for i in 0..8 {
            for p in 0..4 {
                let port = t.first_port(g * 8 + i) + 4 + 7 + p;
                let Peer::Router { router, .. } = t.peer(port) else {
                    panic!("free global port")
                };
                assert_eq!(router, (g + 4 * i + p + 1) % 33 * 8 + 7 - i);
            }
        }
    }
}

#[test]
fn too_many_groups_are_refused_with_the_bound() {
    let shape = DragonflyShape {
        groups: 34,
        routers: 8,
        nodes: 4,
        global_ports: 4,
        cables: None,
    };
    let error = Dragonfly::new(shape, Arrangement::Absolute).unwrap_err();
    assert!(error.contains("a·h+1 = 33"), "{error}");
}

#[test]
fn a_port_cannot_be_connected_twice() {
    let cable = Cable {
        a: (0, 0),
        b: (1, 0),
        class: LinkClass::Local,
    };
    assert!(
        Topology::new(&[1, 1], &[], &[cable, cable])
            .unwrap_err()
            .contains("twice")
    );
    let out = Cable { b: (1, 9), ..cable };
    assert!(Topology::new(&[1, 1], &[], &[out]).unwrap_err().contains("no port 9"));
}

#[test]
fn blocks_have_to_cover_the_routers() {
    let topology = || Topology::new(&[1, 1, 1], &[], &[]).unwrap();
    assert_eq!(topology().blocks(), [0, 3]);
    assert_eq!(topology().with_blocks(vec![0, 2, 3]).unwrap().blocks(), [0, 2, 3]);
    for wrong in [vec![], vec![0], vec![0, 2], vec![1, 3], vec![0, 2, 2, 3], vec![0, 4]] {
        assert!(topology().with_blocks(wrong).is_err());
    }
}

/// A list of the cables of an arrangement makes the same gateways; errors name the line.
#[test]
fn global_cables_may_be_listed() {
    let shape = shapes()[1];
    for arrangement in Arrangement::ALL {
        let ruled = Dragonfly::new(shape, arrangement).unwrap();
        let topology = ruled.topology();
        let mut list = Vec::new();
        for port in 0..topology.ports() {
            if let Peer::Router { router, port: far } = topology.peer(port)
                && topology.class(port) == LinkClass::Global
                && port < far
            {
                list.push((1, [topology.router_of_port(port), router]));
            }
        }
        let listed = Dragonfly::with_global_cables(shape, &list).unwrap();
        for (from, to) in (0..9).flat_map(|from| (0..9).map(move |to| (from, to))) {
            let ends = |dragonfly: &Dragonfly| -> Vec<(u32, u32)> {
                let gateways = dragonfly.gateways(from, to).iter();
                gateways.map(|gateway| (gateway.router, gateway.far_router)).collect()
            };
            assert_eq!(ends(&listed), ends(&ruled));
        }
        assert_eq!(listed.bisection(), ruled.bisection());
        let wrong = |cable| {
            let error = Dragonfly::with_global_cables(shape, &[list.as_slice(), &[cable]].concat()).unwrap_err();
            assert_eq!(error.line, Some(7));
            error.problem
        };
        assert!(wrong((7, [36, 0])).contains("no router 36"));
        assert!(wrong((7, [0, 8])).contains("only 2 global ports"));
        let error = Dragonfly::with_global_cables(shape, &list[1..]).unwrap_err();
        assert!(error.problem.contains("no cable is left between groups"), "{error}");
        let error = Dragonfly::with_global_cables(shape, &[(3, [0, 1])]).unwrap_err();
        assert_eq!(error.to_string(), "line 3: routers 0 and 1 are both in group 0");
    }
}

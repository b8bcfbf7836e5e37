//! Rail-optimized clusters.

use super::paths::{assert_lengths, assert_safe, assert_shortest, longest};
use crate::common::{CYCLE, FLIT, Net, Play, finish, message, named, shape};
use odonata_engine::Time;
use odonata_network::Blueprint;
use odonata_network::deadlock::check;
use odonata_network::routing::{RailAlgorithm, RailRouting, Routing, Up};
use odonata_topology::family::rail_optimized::{Device, HostLinks, StorageShape};
use odonata_topology::{Effect, FamilyGraph, Fault, RailOptimized, RailOptimizedShape};

const WAYS_UP: [Up; 3] = [Up::DModK, Up::Random, Up::Adaptive];

fn cluster(pods: u32, spines: u32, links: HostLinks) -> RailOptimizedShape {
    RailOptimizedShape {
        pods,
        hosts: 4,
        gpus: 3,
        links,
        spines,
        cables: 2 * u32::from(spines > 0),
        storage: StorageShape::default(),
    }
}

fn on(shape: RailOptimizedShape, algorithm: RailAlgorithm, up: Up) -> Routing {
    let cluster = RailOptimized::new(shape).unwrap();
    Routing::RailOptimized(RailRouting::new(cluster, algorithm, up, 2).unwrap())
}

/// Every algorithm and every selection of the path up, with and without spines.
pub(crate) fn every_cluster() -> Vec<(String, Routing)> {
    let mut all = Vec::new();
    for links in [HostLinks::Switch, HostLinks::AllToAll] {
        for algorithm in [RailAlgorithm::Minimal, RailAlgorithm::Pxn] {
            for up in WAYS_UP {
                for (pods, spines) in [(2, 2), (1, 2), (1, 0)] {
                    let name = format!("{pods} pods {spines} spines {links:?} {algorithm:?} {up:?}");
                    all.push((name, on(cluster(pods, spines, links), algorithm, up)));
                }
            }
        }
    }
    all
}

/// Cables between two GPUs: 2 (all-to-all: 1) in a host, 2 on a rail of a pod, 4 between pods. To another rail of
/// another host: over a spine 4, through the host the links in it and then as on the rail.
#[test]
fn path_lengths_follow_the_rule() {
    for (name, routing) in every_cluster() {
        let Routing::RailOptimized(rails) = &routing else {
            panic!("{name}")
        };
        let cluster = rails.cluster();
        let shape = cluster.shape();
        let inside = if shape.links == HostLinks::Switch { 2 } else { 1 };
        let pxn = name.contains("Pxn");
        assert_lengths(&routing, |source, home| {
            let (from, to) = (cluster.gpu(source).unwrap(), cluster.gpu(home).unwrap());
            let same_pod = cluster.place_of_host(from.0).0 == cluster.place_of_host(to.0).0;
            let on_rail = if same_pod { 2 } else { 4 };
            match (from == to, from.0 == to.0, from.1 == to.1) {
                (true, ..) => 0,
                (_, true, _) => inside,
                (.., true) => on_rail,
                _ if pxn || shape.spines == 0 => inside + on_rail,
                _ => (inside + on_rail).min(4),
            }
        });
        if !pxn {
            assert_shortest(&routing);
        }
    }
}

#[test]
fn levels_are_free_of_deadlock() {
    for (name, routing) in every_cluster() {
        // With PXN one pod does not need its spines.
        if name.contains("Pxn") && name.contains("1 pods 2") || name.contains("1 pods 2 spines AllToAll") {
            assert_eq!(check(&routing).cycle, None, "{name}");
        } else {
            assert_safe(&routing, &name);
        }
    }
}

/// With PXN packets inside a pod never pass a spine.
#[test]
fn with_pxn_traffic_inside_a_pod_passes_no_spine() {
    let pxn = on(cluster(1, 2, HostLinks::Switch), RailAlgorithm::Pxn, Up::Random);
    assert_eq!(check(&pxn).used[2], 0);
    let minimal = on(cluster(1, 2, HostLinks::Switch), RailAlgorithm::Minimal, Up::Random);
    assert_eq!(check(&minimal).used[2], 1);
}

/// D-mod-k: the four hosts of a leaf are reached over all four cables down to it, from every sender.
#[test]
fn d_mod_k_gives_every_host_its_own_cable() {
    let routing = on(cluster(2, 2, HostLinks::Switch), RailAlgorithm::Minimal, Up::DModK);
    let Routing::RailOptimized(rails) = &routing else {
        panic!("another routing")
    };
    let (topology, sources) = (routing.topology(), [0, 1, 2]);
    let mut down = std::collections::BTreeSet::new();
    for host in 4..8 {
        let target = host * 3;
        let mut ports = std::collections::BTreeSet::new();
        super::paths::walk(&routing, &sources, target, |_, decision| {
            let router = topology.router_of_port(decision.port);
            if router >= rails.cluster().first_spine() {
                ports.insert(decision.port);
            }
        });
        assert_eq!(ports.len(), 1, "host {host}");
        down.extend(ports);
    }
    assert_eq!(down.len(), 4);
}

#[test]
fn packets_route_around_failed_cables_to_spines() {
    for up in WAYS_UP {
        let mut cluster = RailOptimized::new(cluster(2, 2, HostLinks::Switch)).unwrap();
        let routers = (cluster.leaf(0, 0), cluster.first_spine());
        let fault = |index| Fault {
            routers,
            index,
            effect: Effect::Failed,
        };
        cluster.impair(&[fault(None)]).unwrap();
        let routing = RailRouting::new(cluster, RailAlgorithm::Minimal, up, 2).unwrap();
        let routing = Routing::RailOptimized(routing);
        assert_safe(&routing, "spine 0 gone");
        assert_eq!(longest(&routing), 4);
    }
}

#[test]
fn a_failed_cable_of_a_gpu_is_refused_by_name() {
    let mut cluster = RailOptimized::new(cluster(2, 2, HostLinks::Switch)).unwrap();
    let fault = Fault {
        routers: (0, cluster.leaf(0, 0)),
        index: None,
        effect: Effect::Failed,
    };
    cluster.impair(&[fault]).unwrap();
    let error = RailRouting::new(cluster, RailAlgorithm::Pxn, Up::Random, 1).unwrap_err();
    assert!(
        error.contains("the only cable between routers 0 and") && error.contains("no path around it"),
        "{error}"
    );
}

/// One packet through an idle network: its head takes a flit time and the latency of every link, and the delay of every
/// router; the rest follows flit by flit, as all links have the same rate. Latencies of the network with round numbers,
/// in cycles: terminal 2, local and column 5, global 20, router 3.
#[test]
fn zero_load_latency_is_the_closed_form() {
    let flits = 8;
    // In the host; on the rail; another rail over the spine; another pod. With PXN: another rail, also in another pod.
    let cases = [
        (RailAlgorithm::Minimal, 1, [2, 0]),
        (RailAlgorithm::Minimal, 3, [2, 0]),
        (RailAlgorithm::Minimal, 4, [2, 2]),
        (RailAlgorithm::Minimal, 12, [2, 2]),
        (RailAlgorithm::Pxn, 4, [4, 0]),
        (RailAlgorithm::Pxn, 13, [4, 2]),
    ];
    for (algorithm, target, [short, global]) in cases {
        let params = Net::round(shape(1, 1, 1, 0)).params;
        let routing = on(cluster(2, 2, HostLinks::Switch), algorithm, Up::DModK);
        let cycles = 2 * (1 + 2) + short * (1 + 5) + global * (1 + 20) + 3 * (short + global + 1) + (flits - 1);
        let levels = routing.virtual_channels();
        let fabric = Blueprint::new(params, routing, levels).whole();
        let start = Time(CYCLE.0);
        let script = named(vec![message(start, 0, target, flits * FLIT)]);
        let mut model = finish(Play::on(fabric, script));
        model.assert_complete("one message");
        let latency = model.arrival(0).0 - start.0;
        assert_eq!(latency, cycles * CYCLE.0, "{algorithm:?} to {target}");
    }
}

/// Clusters with storage nodes: their network, pods, spines of GPUs.
fn with_storage() -> Vec<(String, RailOptimizedShape)> {
    let shape = |pods, spines, converged, (ports, leaves, of_storage)| {
        let storage = StorageShape {
            nodes: 5,
            converged,
            ports,
            leaves,
            spines: of_storage,
        };
        let name = format!("{pods} pods {spines} spines, {storage:?}");
        let shape = cluster(pods, spines, HostLinks::Switch);
        (name, RailOptimizedShape { storage, ..shape })
    };
    vec![
        shape(2, 2, false, (2, 4, 3)),
        shape(1, 2, false, (2, 2, 1)),
        shape(1, 0, false, (1, 1, 0)),
        shape(2, 2, true, (0, 2, 0)),
        shape(1, 2, true, (0, 2, 0)),
    ]
}

/// Cables between a GPU and a storage node: separate 3 on a leaf of the GPU's pod, else 5; converged 4. Between two storage
/// nodes: 2 on a leaf, else 4. All paths are free of deadlock on the levels of GPUs.
#[test]
fn storage_nodes_are_reached_over_their_leaves() {
    for (name, shape) in with_storage() {
        for up in WAYS_UP {
            let routing = on(shape, RailAlgorithm::Minimal, up);
            let Routing::RailOptimized(rails) = &routing else {
                panic!("{name}")
            };
            let (cluster, storage) = (rails.cluster(), shape.storage);
            let leaf_of = |router| match cluster.device(router) {
                Device::Storage { leaf, .. } => Some(leaf),
                _ => None,
            };
            assert_eq!(check(&routing).cycle, None, "{name} {up:?}");
            assert_lengths(&routing, |source, home| match (leaf_of(source), leaf_of(home)) {
                _ if source == home => 0,
                (Some(a), Some(b)) if a == b => 2,
                (Some(_), Some(_)) => 4,
                (Some(leaf), None) | (None, Some(leaf)) if !storage.converged => {
                    let gpu = if leaf_of(source).is_some() { home } else { source };
                    let (host, _) = cluster.gpu(gpu).unwrap();
                    if cluster.place_of_host(host).0 == leaf / storage.ports {
                        3
                    } else {
                        5
                    }
                }
                (Some(_), None) | (None, Some(_)) => 4,
                (None, None) => {
                    let (from, to) = (cluster.gpu(source).unwrap(), cluster.gpu(home).unwrap());
                    let same_pod = cluster.place_of_host(from.0).0 == cluster.place_of_host(to.0).0;
                    match (from.0 == to.0, from.1 == to.1) {
                        (true, _) => 2,
                        (_, true) if same_pod => 2,
                        _ => 4,
                    }
                }
            });
        }
    }
}

/// Without one of the spines, storage nodes below the others are reached all the same; a storage cable must not fail.
#[test]
fn storage_nodes_below_spines_survive_a_spine() {
    let (_, shape) = with_storage().remove(3);
    for up in WAYS_UP {
        let mut cluster = RailOptimized::new(shape).unwrap();
        let fault = |routers| Fault {
            routers,
            index: None,
            effect: Effect::Failed,
        };
        cluster
            .impair(&[fault((cluster.leaf(0, 0), cluster.first_spine()))])
            .unwrap();
        let routing = RailRouting::new(cluster, RailAlgorithm::Minimal, up, 2).unwrap();
        assert_eq!(check(&Routing::RailOptimized(routing)).cycle, None);
    }
    let mut cluster = RailOptimized::new(shape).unwrap();
    let leaf = (0..cluster.topology().routers())
        .find(|&router| matches!(cluster.device(router), Device::StorageLeaf { .. }))
        .unwrap();
    let fault = Fault {
        routers: (leaf, cluster.first_spine()),
        index: None,
        effect: Effect::Failed,
    };
    cluster.impair(&[fault]).unwrap();
    let error = RailRouting::new(cluster, RailAlgorithm::Minimal, Up::DModK, 2).unwrap_err();
    assert!(error.contains("up*/down* does"), "{error}");
}

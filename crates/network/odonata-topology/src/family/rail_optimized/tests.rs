use super::*;
use crate::{Effect, Fault, Peer};

fn shape(pods: u32, hosts: u32, gpus: u32, spines: u32, cables: u32) -> RailOptimizedShape {
    RailOptimizedShape {
        pods,
        hosts,
        gpus,
        links: HostLinks::Switch,
        spines,
        cables,
        storage: StorageShape::default(),
    }
}

fn all() -> Vec<RailOptimized> {
    let shapes = [
        shape(1, 1, 1, 0, 0),
        shape(1, 1, 8, 0, 0),
        shape(1, 4, 1, 2, 1),
        shape(1, 3, 4, 0, 0),
        shape(2, 2, 2, 2, 1),
        shape(3, 4, 3, 2, 2),
        shape(4, 32, 8, 16, 2),
    ];
    let both = |shape: RailOptimizedShape| {
        [HostLinks::Switch, HostLinks::AllToAll].map(|links| RailOptimizedShape { links, ..shape })
    };
    let build = |shape| RailOptimized::new(shape).unwrap();
    let storage = |nodes, converged, ports, leaves, spines| StorageShape {
        nodes,
        converged,
        ports,
        leaves,
        spines,
    };
    let with = |shape, storage| RailOptimizedShape { storage, ..shape };
    let more = [
        with(shape(1, 4, 1, 2, 1), storage(3, false, 1, 1, 0)),
        with(shape(3, 4, 3, 2, 2), storage(7, false, 2, 6, 4)),
        with(shape(2, 2, 2, 2, 1), storage(5, true, 0, 3, 0)),
    ];
    shapes.into_iter().chain(more).flat_map(both).map(build).collect()
}

#[test]
fn cabling_is_a_perfect_matching_without_free_ports() {
    for cluster in all() {
        sizes::assert_perfect_matching(cluster.topology());
        assert_eq!(cluster.topology().free_ports(), 0, "{:?}", cluster.shape());
    }
}

/// P H G GPUs and nodes, P H switches, P G leaves, S spines; P H G links inside hosts (all-to-all: P H G (G - 1) / 2),
/// P H G of NICs, P G S c of leaves. N storage nodes have N NICs; separate P H (G + ports) links of adapters and a cable from
/// each leaf to each spine of their own, converged S c from each leaf.
#[test]
fn counts_are_the_closed_forms() {
    for cluster in all() {
        let (t, s) = (cluster.topology(), cluster.shape());
        let gpus = s.pods * s.hosts * s.gpus;
        let switches = if s.switched() { s.pods * s.hosts } else { 0 };
        let (storage, hosts) = (s.storage, s.pods * s.hosts);
        let adapters = if storage.ports > 0 { hosts } else { 0 };
        assert_eq!(t.nodes(), gpus + storage.nodes);
        let of_storage = adapters + storage.leaves + storage.spines + storage.nodes;
        assert_eq!(t.routers(), gpus + switches + s.pods * s.gpus + s.spines + of_storage);
        let inside = match s.links {
            HostLinks::Switch => gpus * u32::from(s.gpus > 1),
            HostLinks::AllToAll => gpus * (s.gpus - 1) / 2,
        };
        let above = storage.leaves
            * if storage.converged {
                s.spines * s.cables
            } else {
                storage.spines
            };
        let expected = [
            gpus + storage.nodes,
            inside + adapters * s.gpus,
            s.pods * s.gpus * s.spines * s.cables + above,
            gpus + adapters * storage.ports + storage.nodes,
        ];
        assert_eq!(t.cables_by_class(), expected.map(u64::from), "{s:?}");
        let blocks = s.pods + u32::from(s.spines > 0) + u32::from(storage.nodes > 0);
        assert_eq!(t.blocks().len() as u32, blocks + 1);
        let sizes = s.size().unwrap();
        assert_eq!(sizes.routers, u64::from(t.routers()));
        assert!(sizes.ports >= u64::from(t.ports()));
    }
}

/// Node n is GPU n mod G of host n / G.
#[test]
fn ports_found_by_arithmetic_are_those_of_the_graph() {
    for cluster in all() {
        let (t, s) = (cluster.topology(), cluster.shape());
        let end = |port| match t.peer(port) {
            Peer::Router { router, .. } => cluster.device(router),
            other => panic!("{other:?}"),
        };
        for node in t.nodes() - s.storage.nodes..t.nodes() {
            let router = t.node_router(node);
            let place = s.storage.place_of(node + s.storage.nodes - t.nodes());
            assert_eq!(
                cluster.device(router),
                Device::Storage {
                    leaf: place.0,
                    place: place.1
                }
            );
            let leaf = t.neighbour(cluster.storage_nic(router)).unwrap();
            assert_eq!(cluster.device(leaf), Device::StorageLeaf { leaf: place.0 });
            assert_eq!(t.neighbour(cluster.storage_node_port(leaf, place.1)), Some(router));
            for spine in 0..cluster.storage_spines() {
                for port in cluster.storage_up_ports(leaf, place.0, spine) {
                    let far = t.neighbour(port).unwrap();
                    assert!(
                        cluster
                            .storage_leaf_ports(far, place.0)
                            .any(|port| t.neighbour(port) == Some(leaf))
                    );
                }
            }
        }
        for node in 0..t.nodes() - s.storage.nodes {
            let router = t.node_router(node);
            let (host, rail) = (node / s.gpus, node % s.gpus);
            assert_eq!(cluster.gpu(router), Some((host, rail)));
            let (pod, place) = cluster.place_of_host(host);
            assert_eq!(end(cluster.nic_port(router)), Device::Leaf { pod, rail });
            let leaf = cluster.leaf(pod, rail);
            assert_eq!(cluster.device(leaf), Device::Leaf { pod, rail });
            assert_eq!(t.neighbour(cluster.down_port(leaf, place)), Some(router));
            for other in (0..s.gpus).filter(|&other| other != rail) {
                let port = cluster.host_port(router, rail, other);
                let far = t.neighbour(port).unwrap();
                if s.switched() {
                    assert_eq!(cluster.device(far), Device::Switch { host });
                    let there = t.neighbour(cluster.switch_port(far, other)).unwrap();
                    assert_eq!(cluster.gpu(there), Some((host, other)));
                } else {
                    assert_eq!(cluster.gpu(far), Some((host, other)));
                }
            }
            if s.storage.ports > 0 {
                let adapter = t.neighbour(cluster.adapter_port(router)).unwrap();
                assert_eq!(cluster.device(adapter), Device::Adapter { host });
                assert_eq!(t.neighbour(cluster.adapter_down(adapter, rail)), Some(router));
                for port in 0..s.storage.ports {
                    let leaf = t.neighbour(cluster.storage_port(adapter, port)).unwrap();
                    let expected = Device::StorageLeaf {
                        leaf: pod * s.storage.ports + port,
                    };
                    assert_eq!(cluster.device(leaf), expected);
                    assert_eq!(t.neighbour(cluster.storage_host_port(leaf, place)), Some(adapter));
                }
            }
            for spine in 0..s.spines {
                let far = cluster.first_spine() + spine;
                assert_eq!(cluster.device(far), Device::Spine);
                for port in cluster.up_ports(leaf, spine) {
                    assert_eq!(t.neighbour(port), Some(far));
                }
                for port in cluster.leaf_ports(far, pod, rail) {
                    assert_eq!(t.neighbour(port), Some(leaf));
                }
            }
        }
    }
}

/// A DGX SuperPOD of four scalable units of 32 hosts: 32 leaves and 16 spines of 64 ports, full bisection.
#[test]
fn four_scalable_units_have_switches_of_64_ports() {
    let cluster = RailOptimized::new(shape(4, 32, 8, 16, 2)).unwrap();
    let t = cluster.topology();
    assert_eq!(t.nodes(), 1024);
    for router in [cluster.leaf(0, 0), cluster.leaf(3, 7), cluster.first_spine()] {
        assert_eq!(t.ports_of(router).len(), 64);
    }
    // Half of the 32 leaves have 32 cables up each, one for every GPU.
    assert_eq!(cluster.bisection(), Some(512));
}

#[test]
fn settings_give_cables_by_oversubscription() {
    let resolve = |text: &str| {
        let mut settings = settings_of(text);
        settings.resolve(&|_| unreachable!()).map(|_| settings.shape().unwrap())
    };
    let found = resolve("32 8 4 16 1").unwrap();
    assert_eq!((found.spines, found.cables), (16, 2));
    let found = resolve("32 8 4 - 2").unwrap();
    assert_eq!((found.spines, found.cables), (16, 1));
    for (text, key) in [
        ("32 8 4 0 1", "spines"),
        ("32 8 4 5 1", "spines"),
        ("32 8 4 - 5", "oversubscription"),
        ("32 8 4 - 0", "oversubscription"),
        ("0 8 4 - 1", "hosts_per_pod"),
        ("- 8 4 - 1", "hosts_per_pod"),
        ("5000 8 4 - 1", ""),
    ] {
        assert_eq!(resolve(text).unwrap_err().key, key, "{text}");
    }
}

#[test]
fn settings_of_storage_fit_its_network() {
    let resolve = |of_gpus: &str, storage: Storage| {
        let mut settings = Settings {
            storage: Some(storage),
            ..settings_of(of_gpus)
        };
        settings
            .resolve(&|_| unreachable!())
            .map(|_| settings.shape().unwrap().storage)
    };
    let nodes = |nodes: u32| Storage {
        nodes: nodes.into(),
        ..Storage::default()
    };
    let converged = |nodes: u32| Storage {
        nodes: nodes.into(),
        fabric: StorageFabric::Converged,
        ..Storage::default()
    };
    let found = resolve("32 8 4 - 1", nodes(16)).unwrap();
    assert_eq!(
        (found.ports, found.leaves, found.spines, found.nodes_of(0)),
        (2, 8, 32, 2)
    );
    let found = resolve("32 8 4 - 1", converged(40)).unwrap();
    assert_eq!((found.leaves, found.nodes_of(0), found.nodes_of(1)), (2, 20, 20));
    for (storage, of_gpus, key) in [
        (Storage::default(), "4 2 1 - 1", "storage.nodes"),
        (converged(2), "4 2 1 0 1", "storage.fabric"),
        (
            Storage {
                ports: 1.into(),
                ..converged(2)
            },
            "4 2 1 - 1",
            "storage.ports",
        ),
        (
            Storage {
                spines: 1.into(),
                ..converged(2)
            },
            "4 2 1 - 1",
            "storage.spines",
        ),
        (
            Storage {
                ports: 0.into(),
                ..nodes(2)
            },
            "4 2 1 - 1",
            "storage.ports",
        ),
        (
            Storage {
                spines: 0.into(),
                ..nodes(2)
            },
            "4 2 1 - 1",
            "storage.spines",
        ),
    ] {
        assert_eq!(resolve(of_gpus, storage).unwrap_err().key, key);
    }
}

/// Hosts, GPUs, pods, spines and oversubscription; `-` for a missing key.
fn settings_of(text: &str) -> Settings {
    let words: Vec<&str> = text.split(' ').collect();
    let number = |n: usize| words[n].parse::<u32>().map_or_else(|_| Filled::default(), Filled::from);
    Settings {
        hosts_per_pod: number(0),
        gpus_per_host: number(1),
        pods: number(2),
        spines: number(3),
        oversubscription: words[4].parse::<f64>().unwrap().into(),
        ..Settings::default()
    }
}

#[test]
fn cables_to_spines_may_fail_as_long_as_leaves_have_one_in_common() {
    let mut cluster = RailOptimized::new(shape(2, 2, 2, 2, 1)).unwrap();
    let (leaf, spine) = (cluster.leaf(0, 0), cluster.first_spine());
    let failed = |routers| Fault {
        routers,
        index: None,
        effect: Effect::Failed,
    };
    cluster.impair(&[failed((leaf, spine))]).unwrap();
    assert_eq!(cluster.check_ways(), Ok(()));
    assert!(!cluster.is_way(leaf, 0, 1, 0));
    let other = cluster.leaf(1, 0);
    cluster.impair(&[failed((other, spine + 1))]).unwrap();
    let error = cluster.check_ways().unwrap_err();
    assert_eq!(error, format!("no spine is left between leaves {leaf} and {other}"));
    let mut cluster = RailOptimized::new(shape(2, 2, 2, 2, 1)).unwrap();
    cluster.impair(&[failed((0, cluster.leaf(0, 0)))]).unwrap();
    assert!(cluster.check_ways().unwrap_err().contains("between routers 0 and"));
}

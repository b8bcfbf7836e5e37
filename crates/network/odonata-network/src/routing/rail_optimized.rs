//! Routing on a rail-optimized cluster.
//!
//! Inside a host packets take its links, on one rail the leaf, between pods leaf, spine, leaf. To a GPU on another rail
//! of another host:
//!
//! - **minimal**: the path with the fewest cables: over a spine; through the host first if there is no spine, or if
//!   links between all GPUs of a host make that shorter, which is so in one pod;
//! - **PXN**: through the host to its GPU on the destination's rail, whose NIC sends it (NVLink before the network:
//!   NVIDIA, "Doubling all2all performance with NVIDIA Collective Communication Library 2.12", 2022), so that only
//!   traffic between pods passes spines.
//!
//! To a storage node a GPU takes the adapter of its host and a storage leaf of its pod, or, converged, its NIC and leaf;
//! then a spine, unless the leaf is that of the storage node. Back it is the other way round.
//!
//! A spine or parallel cable is chosen at random, by the destination's host (D-mod-k, as on [fat
//! trees](super::fat_tree): all packets to a GPU share one path down) or by load. On every path, links follow each
//! other in this order: into the host, NIC to leaf, up, down, leaf to GPU; links of a host come before the first or are
//! the only ones. So one level prevents deadlock. Packets through a host to the NIC of another GPU have a second level
//! on links of the host. They wait in separate buffers of that GPU's memory until the NIC reads them, and do not delay
//! NVLink traffic to the GPU itself.

use super::{Choice, Decision, FamilyRouting, Header, Key, Name, Settings, Table, Up, VirtualChannels, entry};
use odonata_topology::family::rail_optimized::{Device, HostLinks};
use odonata_topology::{RailOptimized, Topology};
use std::ops::Range;

/// Routing algorithms between rails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RailAlgorithm {
    /// The fewest cables.
    Minimal,
    /// Through the source's host.
    Pxn,
}

const KEYS: &[&[Key]] = &[&[Key::Up, Key::Candidates]];

pub(super) const ALGORITHMS: Table<RailAlgorithm> = &[
    entry(Name::Minimal, RailAlgorithm::Minimal, KEYS),
    entry(Name::Pxn, RailAlgorithm::Pxn, KEYS),
];

/// A routing algorithm on a rail-optimized cluster.
#[derive(Debug)]
pub struct RailRouting {
    cluster: RailOptimized,
    up: Up,
    /// Number of ports to compare.
    candidates: u32,
    /// Whether a packet to another rail of another host goes through its host first: in its pod, and to other pods.
    host_first: (bool, bool),
    /// For D-mod-k: spine and parallel cable for each place of a host in its pod.
    digits: Vec<(u32, u32)>,
}

impl RailRouting {
    /// A routing on `cluster`; if load decides, the lightest of `candidates` (at least 1) paths up is taken.
    ///
    /// # Errors
    /// Too many cables failed: some packets might find no path.
    pub fn new(cluster: RailOptimized, algorithm: RailAlgorithm, up: Up, candidates: u32) -> Result<Self, String> {
        cluster.check_ways()?;
        let shape = cluster.shape();
        let always = algorithm == RailAlgorithm::Pxn || shape.spines == 0;
        let digits = match shape.spines {
            0 => Vec::new(),
            spines => (0..shape.hosts)
                .map(|place| (place % spines, place / spines % shape.cables))
                .collect(),
        };
        Ok(RailRouting {
            cluster,
            up,
            candidates: candidates.max(1),
            host_first: (always || shape.links == HostLinks::AllToAll, always),
            digits,
        })
    }

    /// Whether paths up are chosen by load.
    pub fn is_adaptive(&self) -> bool {
        self.up == Up::Adaptive
    }

    /// The cluster it routes on.
    pub fn cluster(&self) -> &RailOptimized {
        &self.cluster
    }

    /// One of parallel cables between a leaf and a spine, toward a host at `place` of its pod.
    #[inline]
    fn cable(&self, ports: Range<u32>, place: u32, choice: &mut (impl Choice + ?Sized)) -> u32 {
        let topology = self.cluster.topology();
        let live = topology.live(ports.clone());
        if live < 2 {
            return topology.nth_live(ports, 0);
        }
        match self.up {
            Up::Random => topology.nth_live(ports, choice.pick(live)),
            Up::DModK => match ports.start + self.digits[place as usize].1 {
                wanted if topology.is_live(wanted) => wanted,
                _ => topology.nth_live(ports, 0),
            },
            Up::Adaptive => super::lightest(live, self.candidates, choice, |n, _| {
                topology.nth_live(ports.clone(), n)
            }),
        }
    }

    /// A port of `leaf` to a spine, on the path to the leaf of `rail` in `pod` and a host at `place` there.
    #[inline]
    fn climb(&self, leaf: u32, (pod, place): (u32, u32), rail: u32, choice: &mut (impl Choice + ?Sized)) -> u32 {
        let cluster = &self.cluster;
        let spines = cluster.shape().spines;
        let whole = cluster.topology().failed().is_empty();
        let may = |spine: &u32| cluster.is_way(leaf, *spine, pod, rail);
        let open = match whole {
            true => spines,
            false => (0..spines).filter(may).count() as u32,
        };
        let nth = |n: u32| match whole {
            true => n,
            false => (0..spines).filter(may).nth(n as usize).unwrap_or(0),
        };
        let to = |spine: u32, choice: &mut _| self.cable(cluster.up_ports(leaf, spine), place, choice);
        match self.up {
            Up::Random => {
                let spine = nth(if open > 1 { choice.pick(open) } else { 0 });
                to(spine, choice)
            }
            Up::DModK => {
                let wanted = self.digits[place as usize].0;
                let spine = match whole {
                    true => wanted,
                    false => (wanted..spines).chain(0..wanted).find(may).unwrap_or(wanted),
                };
                to(spine, choice)
            }
            Up::Adaptive if open > 1 => super::lightest(open, self.candidates, choice, |n, choice| to(nth(n), choice)),
            Up::Adaptive => to(nth(0), choice),
        }
    }
}

impl RailRouting {
    /// One of `spines` that `may` be taken: a port to it, for a destination with number `place` among those that share
    /// it.
    fn over_a_spine<C: Choice + ?Sized>(
        &self,
        (spines, place): (u32, u32),
        may: impl Fn(&u32) -> bool,
        ports: impl Fn(u32) -> Range<u32>,
        choice: &mut C,
    ) -> u32 {
        let whole = self.cluster.topology().failed().is_empty();
        let open = match whole {
            true => spines,
            false => (0..spines).filter(&may).count() as u32,
        };
        let nth = |n: u32| match whole {
            true => n,
            false => (0..spines).filter(&may).nth(n as usize).unwrap_or(0),
        };
        let to = |n: u32, choice: &mut C| self.cable(ports(nth(n)), place, choice);
        match self.up {
            _ if open < 2 => to(0, choice),
            Up::Random => {
                let n = choice.pick(open);
                to(n, choice)
            }
            Up::DModK => to(place % open, choice),
            Up::Adaptive => super::lightest(open, self.candidates, choice, |n, choice| to(n, choice)),
        }
    }

    /// A port of storage leaf `leaf`, at `router`, to a spine, on the path to number `place` of its leaf. That leaf is the one
    /// of this pod and rail, or a storage leaf.
    fn climb_from_storage(
        &self,
        (router, leaf): (u32, u32),
        place: u32,
        goal: Option<(u32, u32)>,
        choice: &mut (impl Choice + ?Sized),
    ) -> u32 {
        let cluster = &self.cluster;
        let may = |&spine: &u32| match goal.filter(|_| cluster.shape().storage.converged) {
            None => true,
            Some((pod, rail)) => {
                let down = cluster.leaf_ports(cluster.first_spine() + spine, pod, rail);
                cluster.topology().live(down) > 0
            }
        };
        let ports = |spine| cluster.storage_up_ports(router, leaf, spine);
        self.over_a_spine((cluster.storage_spines(), place), may, ports, choice)
    }

    /// The port toward the storage node at `home`. Hosts use the storage port of its leaf's number.
    fn to_storage(&self, router: u32, home: u32, choice: &mut (impl Choice + ?Sized)) -> u32 {
        let cluster = &self.cluster;
        let storage = cluster.shape().storage;
        let Device::Storage { leaf, place } = cluster.device(home) else {
            return cluster.topology().first_port(router);
        };
        match cluster.device(router) {
            Device::Gpu { .. } if storage.converged => cluster.nic_port(router),
            Device::Gpu { .. } => cluster.adapter_port(router),
            Device::Adapter { .. } => cluster.storage_port(router, leaf % storage.ports),
            Device::StorageLeaf { leaf: own } if own == leaf => cluster.storage_node_port(router, place),
            Device::StorageLeaf { leaf: own } => self.climb_from_storage((router, own), place, None, choice),
            Device::Spine | Device::StorageSpine => self.cable(cluster.storage_leaf_ports(router, leaf), place, choice),
            Device::Leaf { .. } => {
                let may = |&spine: &u32| cluster.topology().live(cluster.up_ports(router, spine)) > 0;
                let ports = |spine| cluster.up_ports(router, spine);
                self.over_a_spine((cluster.shape().spines, place), may, ports, choice)
            }
            Device::Storage { .. } => cluster.storage_nic(router),
            // No path to a storage node passes the switch of a host.
            Device::Switch { .. } => cluster.topology().first_port(router),
        }
    }
}

impl FamilyRouting for RailRouting {
    type Graph = RailOptimized;
    type Algorithm = RailAlgorithm;

    fn on(graph: RailOptimized, algorithm: RailAlgorithm, settings: &Settings) -> Result<Self, String> {
        let up = settings.up.unwrap_or(Up::DModK);
        RailRouting::new(graph, algorithm, up, super::candidates(settings))
    }

    fn topology(&self) -> &Topology {
        self.cluster.topology()
    }

    /// The links of a leaf to spines, and the links of spines to a leaf.
    fn pipes(&self) -> Option<Vec<u32>> {
        let (cluster, topology) = (&self.cluster, self.cluster.topology());
        if self.up == Up::DModK || (cluster.shape().spines == 0 && cluster.shape().storage.spines == 0) {
            return None;
        }
        super::pipes_by_key(topology, |port| {
            let (from, to) = (topology.router_of_port(port), topology.neighbour(port)?);
            match (cluster.device(from), cluster.device(to)) {
                (Device::Leaf { .. } | Device::StorageLeaf { .. }, Device::Spine | Device::StorageSpine) => {
                    Some((from, false))
                }
                (Device::Spine | Device::StorageSpine, Device::Leaf { .. } | Device::StorageLeaf { .. }) => {
                    Some((to, true))
                }
                _ => None,
            }
        })
    }

    fn virtual_channels(&self) -> VirtualChannels {
        let shape = self.cluster.shape();
        let of_a_host = match shape.gpus {
            0 | 1 => u8::from(shape.storage.ports > 0),
            _ => 1 + u8::from(self.host_first.0 || self.host_first.1),
        };
        [1, of_a_host, u8::from(shape.spines + shape.storage.spines > 0), 1]
    }

    #[inline]
    fn decide(&self, router: u32, header: &mut Header, choice: &mut (impl Choice + ?Sized)) -> Decision {
        let cluster = &self.cluster;
        let topology = cluster.topology();
        let home = topology.node_router(header.target);
        if router == home {
            return Decision::new(topology.node_port(header.target), 0);
        }
        let Some((goal, rail)) = cluster.gpu(home) else {
            return Decision::new(self.to_storage(router, home, choice), 0);
        };
        let there = cluster.place_of_host(goal);
        // Packets that pass through a host to another one.
        let passes = u8::from(self.host_first.0 || self.host_first.1);
        let mut level = 0;
        let port = match cluster.device(router) {
            Device::Gpu { host, rail: own } => {
                let first = match cluster.place_of_host(host).0 == there.0 {
                    true => self.host_first.0,
                    false => self.host_first.1,
                };
                match host == goal || (own != rail && first) {
                    true => {
                        level = passes * u8::from(host != goal);
                        cluster.host_port(router, own, rail)
                    }
                    false => cluster.nic_port(router),
                }
            }
            Device::Switch { host } => {
                level = passes * u8::from(host != goal);
                cluster.switch_port(router, rail)
            }
            Device::Leaf { pod, rail: own } if (pod, own) == (there.0, rail) => cluster.down_port(router, there.1),
            Device::Leaf { .. } => self.climb(router, there, rail, choice),
            Device::Spine => self.cable(cluster.leaf_ports(router, there.0, rail), there.1, choice),
            Device::Storage { .. } => cluster.storage_nic(router),
            Device::StorageLeaf { leaf } => {
                let ports = cluster.shape().storage.ports;
                match ports > 0 && leaf / ports == there.0 {
                    true => cluster.storage_host_port(router, there.1),
                    false => self.climb_from_storage((router, leaf), there.1, Some((there.0, rail)), choice),
                }
            }
            // The GPUs of a host share its storage ports.
            Device::StorageSpine => {
                let ports = cluster.shape().storage.ports;
                self.cable(
                    cluster.storage_leaf_ports(router, there.0 * ports + rail % ports),
                    there.1,
                    choice,
                )
            }
            Device::Adapter { .. } => cluster.adapter_down(router, rail),
        };
        Decision::new(port, level)
    }
}

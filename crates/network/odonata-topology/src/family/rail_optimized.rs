//! Rail-optimized clusters of GPU hosts: every GPU is a router, with a link into its host and a NIC on its rail.
//!
//! GPU i of every host of a pod has its NIC on leaf switch i of that pod, its *rail*; every leaf is linked with every
//! spine (NVIDIA, "DGX SuperPOD: reference architecture featuring DGX H100", RA-11333-001, 2023). Without spines, GPUs
//! of different rails reach each other only through their hosts (W. Wang, M. Ghobadi, K. Shakeri, Y. Zhang, N. Hasani,
//! "Rail-only: a low-cost high-performance network for training LLMs with trillion parameters", 2023).
//!
//! With P pods of H hosts of G GPUs, S spines, c cables between a leaf and a spine, and a switch in each host:
//!
//! | what | how many | ports |
//! |---|---|---|
//! | GPU | P H G | its node, the link into the host (all-to-all: G - 1), its NIC |
//! | switch of a host | P H | its GPUs |
//! | leaf | P G | the hosts of its pod, then c to each spine |
//! | spine | S | c to each leaf |
//!
//! [Storage nodes](storage) and their network come last.
//!
//! Routers are numbered pod by pod: in a pod host by host, in a host its GPUs and then its switch; after the hosts the
//! leaves of the pod by rail. The spines come last. Node n is GPU n mod G of host n / G. Links in a host are local,
//! between NIC and leaf column, between leaf and spine global.

use odonata_units::{Filled, Number, Problem};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::settings::{self, ReadFile, Size};
use super::{FamilyGraph, FamilySettings, WorstCase};
use crate::sizes::{self, cable};
use crate::{Cable, LinkClass, Topology};
use std::ops::Range;

mod storage;
pub use storage::{Storage, StorageFabric, StorageShape};

/// The links between the GPUs of a host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum HostLinks {
    /// A switch with a link to each GPU, like NVSwitch. A `local` link has the whole bandwidth of a GPU into its host.
    #[default]
    Switch,
    /// A link between each pair of GPUs; each is a `local` link.
    AllToAll,
}

/// A rail-optimized cluster: hosts of several GPUs with a NIC each, connected to the leaf switch of the GPU's number;
/// every GPU is a node. Links in a host are `local`, from NIC to leaf `column`, from leaf to spine `global`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "RailOptimized")]
pub struct Settings {
    /// Pods: hosts that share leaf switches, also called scalable units. Default: 1.
    #[schemars(range(min = 1))]
    pub pods: Filled<u32>,
    /// Hosts of a pod. Required, here or in the preset.
    #[schemars(range(min = 1))]
    pub hosts_per_pod: Filled<u32>,
    /// GPUs of a host: the number of rails, and of leaf switches of a pod. Default: 8.
    #[schemars(range(min = 1))]
    pub gpus_per_host: Filled<u32>,
    /// The links between the GPUs of a host.
    pub host_links: HostLinks,
    /// Spine switches. With 0, for one pod only, rails meet only in the hosts. Default: the number of uplinks of a
    /// leaf, one cable to each.
    pub spines: Filled<u32>,
    /// Hosts per uplink of a leaf, e.g. 2 for 2:1; it must give a whole number of cables. Default: 1.
    pub oversubscription: Filled<f64>,
    /// Storage nodes. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub storage: Option<Storage>,
}

impl Settings {
    fn shape(&self) -> Result<RailOptimizedShape, Problem> {
        let (hosts, spines, ratio) = (*self.hosts_per_pod, *self.spines, *self.oversubscription);
        let cables = uplinks(hosts, ratio)?.checked_div(spines).unwrap_or(0);
        Ok(RailOptimizedShape {
            pods: *self.pods,
            hosts,
            gpus: *self.gpus_per_host,
            links: self.host_links,
            spines,
            cables,
            storage: (self.storage.as_ref())
                .map_or(StorageShape::default(), |storage| storage.shape(*self.pods, hosts)),
        })
    }
}

/// Uplinks of a leaf.
fn uplinks(hosts: u32, ratio: f64) -> Result<u32, Problem> {
    let shown = Number(ratio);
    if !(ratio > 0.0 && ratio.is_finite()) {
        let problem = format!("{shown} hosts per uplink");
        return Err(Problem::new("oversubscription", problem, "above 0"));
    }
    let up = f64::from(hosts) / ratio;
    if (up - up.round()).abs() > 1e-6 || up.round() < 1.0 || up > f64::from(settings::MOST) {
        let problem = format!("{shown} hosts per uplink do not divide {hosts} hosts evenly");
        return Err(Problem::new("oversubscription", problem, "a divisor of hosts_per_pod"));
    }
    Ok(up.round() as u32)
}

impl FamilySettings for Settings {
    type Graph = RailOptimized;

    const EXAMPLES: &'static [&'static str] = &[
        "pods = 2\nhosts_per_pod = 2\ngpus_per_host = 2",
        "hosts_per_pod = 3\ngpus_per_host = 4\nspines = 0",
        "pods = 2\nhosts_per_pod = 2\ngpus_per_host = 2\nstorage.nodes = 3",
        "hosts_per_pod = 3\ngpus_per_host = 2\nstorage = { nodes = 2, fabric = \"converged\" }",
        "pods = 2\nhosts_per_pod = 4\ngpus_per_host = 3\nhost_links = \"all-to-all\"\nspines = 1\noversubscription = 2",
    ];

    fn resolve(&mut self, _: ReadFile<'_>) -> Result<Size, Problem> {
        let hosts = settings::required("hosts_per_pod", &self.hosts_per_pod, 1)?;
        let pods = settings::size("pods", *self.pods.fill(1), 1)?;
        settings::size("gpus_per_host", *self.gpus_per_host.fill(8), 1)?;
        let ratio = *self.oversubscription.fill(1.0);
        let up = uplinks(hosts, ratio)?;
        let spines = settings::size("spines", *self.spines.fill(up), 0)?;
        if spines == 0 && pods > 1 {
            let problem = format!("{pods} pods without spines are disconnected");
            return Err(Problem::new("spines", problem, "1 at least, or pods = 1"));
        }
        if spines > 0 && !up.is_multiple_of(spines) {
            let problem = format!("{up} uplinks of a leaf do not divide evenly over {spines} spines");
            return Err(Problem::new("spines", problem, format!("a divisor of {up}")));
        }
        if let Some(storage) = &mut self.storage {
            storage.resolve((pods, hosts, spines))?;
        }
        self.shape()?.size()
    }

    fn build(&self) -> Result<RailOptimized, String> {
        let shape = self.shape().map_err(|problem| problem.problem)?;
        RailOptimized::new(shape)
    }

    fn smaller(&self, few: bool) -> Option<(Self, String)> {
        let most = if few { 2 } else { 3 };
        let (pods, gpus) = ((*self.pods).min(most), (*self.gpus_per_host).min(most));
        let spines = (*self.spines).min(2);
        let hosts = 4;
        let storage = self.storage.as_ref().map(|storage| Storage {
            nodes: (*storage.nodes).min(3).into(),
            spines: storage
                .spines
                .given()
                .map_or(Filled::EMPTY, |&spines| spines.min(2).into()),
            ..storage.clone()
        });
        let small = Settings {
            pods: pods.into(),
            hosts_per_pod: hosts.into(),
            gpus_per_host: gpus.into(),
            spines: spines.into(),
            oversubscription: 1.0.into(),
            storage,
            ..self.clone()
        };
        let text = format!("{pods} pods of {hosts} hosts with {gpus} GPUs, {spines} spines");
        Some((small, text))
    }

    fn link_classes() -> &'static [LinkClass] {
        &LinkClass::ALL
    }

    fn worst_case(&self) -> WorstCase {
        WorstCase::NextSubtree {
            nodes: match *self.pods {
                1 => *self.gpus_per_host,
                _ => self.hosts_per_pod.saturating_mul(*self.gpus_per_host),
            },
        }
    }
}

/// The sizes of a rail-optimized cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RailOptimizedShape {
    /// Pods.
    pub pods: u32,
    /// Hosts of a pod.
    pub hosts: u32,
    /// GPUs of a host, and rails.
    pub gpus: u32,
    /// The links between the GPUs of a host.
    pub links: HostLinks,
    /// Spines; 0 with one pod only.
    pub spines: u32,
    /// Cables between a leaf and a spine.
    pub cables: u32,
    /// The network of the storage nodes.
    pub storage: StorageShape,
}

impl RailOptimizedShape {
    /// Whether hosts have a switch: a single GPU has no links.
    fn switched(&self) -> bool {
        self.gpus > 1 && self.links == HostLinks::Switch
    }

    /// Links of a GPU into its host.
    fn inside(&self) -> u32 {
        match self.links {
            HostLinks::Switch => u32::from(self.gpus > 1),
            HostLinks::AllToAll => self.gpus - 1,
        }
    }

    /// Routers of a host.
    fn host_routers(&self) -> u32 {
        self.gpus + u32::from(self.switched())
    }

    /// Whether hosts have an adapter with storage ports.
    fn has_adapters(&self) -> bool {
        self.storage.ports > 0
    }

    /// Ports of storage leaf `leaf`, without those to spines.
    fn storage_ports_down(&self, leaf: u32) -> u32 {
        self.hosts * u32::from(self.has_adapters()) + self.storage.nodes_of(leaf)
    }

    /// Ports of a storage leaf to spines.
    fn storage_ports_up(&self) -> u32 {
        match self.storage.converged {
            true => self.spines * self.cables,
            false => self.storage.spines,
        }
    }

    fn size(&self) -> Result<Size, Problem> {
        let wide = |numbers: &[u32]| sizes::product(numbers.iter().copied());
        let up = wide(&[self.spines, self.cables]);
        let leaf = u64::from(self.hosts).saturating_add(up);
        let storage = self.storage;
        let below = match storage.leaves {
            0 => 0,
            leaves => u64::from(self.hosts) + u64::from(storage.nodes.div_ceil(leaves)),
        };
        let below_spines = if storage.converged { storage.leaves } else { 0 };
        let spine = wide(&[self.pods, self.gpus, self.cables]).saturating_add(wide(&[below_spines, self.cables]));
        let storage_leaf = below.saturating_add(up).saturating_add(u64::from(storage.spines));
        let adapter = u64::from(self.gpus) + u64::from(storage.ports);
        let largest = leaf
            .max(spine)
            .max(storage_leaf)
            .max(u64::from(storage.leaves))
            .max(adapter + 1);
        settings::ports(1, largest)?;
        let all_gpus = wide(&[self.pods, self.hosts, self.gpus]);
        let leaves = wide(&[self.pods, self.gpus]);
        let switches = wide(&[self.pods, self.hosts]);
        let ports = all_gpus
            .saturating_mul(u64::from(self.inside()) + 3)
            .saturating_add(leaves.saturating_mul(leaf))
            .saturating_add(u64::from(self.spines).saturating_mul(spine))
            .saturating_add(switches.saturating_mul(adapter) * u64::from(self.has_adapters()))
            .saturating_add(all_gpus * u64::from(self.has_adapters()))
            .saturating_add(u64::from(storage.leaves).saturating_mul(storage_leaf))
            .saturating_add(wide(&[storage.leaves, storage.spines]))
            .saturating_add(2 * u64::from(storage.nodes));
        let routers = all_gpus + switches * u64::from(self.switched()) + leaves + u64::from(self.spines);
        let of_storage = u64::from(storage.leaves) + u64::from(storage.spines) + u64::from(storage.nodes);
        let routers = routers + of_storage + switches * u64::from(self.has_adapters());
        settings::all_ports(routers, ports)
    }
}

/// The role of a router in a rail-optimized cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Device {
    /// GPU of a host, with its number in the host, which is its rail.
    Gpu {
        /// Host, numbered over the machine.
        host: u32,
        /// Its number in the host.
        rail: u32,
    },
    /// The switch of a host.
    Switch {
        /// Host, numbered over the machine.
        host: u32,
    },
    /// The leaf of a rail in a pod.
    Leaf {
        /// The pod.
        pod: u32,
        /// The rail.
        rail: u32,
    },
    /// A spine.
    Spine,
    /// The adapter of a host with its storage ports.
    Adapter {
        /// Host, numbered over the machine.
        host: u32,
    },
    /// A storage leaf, by its number. With a network of its own, leaf j of pod p is p times the storage ports + j.
    StorageLeaf {
        /// Its number.
        leaf: u32,
    },
    /// A storage spine.
    StorageSpine,
    /// A storage node.
    Storage {
        /// Its leaf.
        leaf: u32,
        /// Its place there.
        place: u32,
    },
}

/// A rail-optimized cluster.
#[derive(Clone, Debug)]
pub struct RailOptimized {
    shape: RailOptimizedShape,
    topology: Topology,
    devices: Vec<Device>,
    /// Pod of each host, and its index there.
    places: Vec<(u32, u32)>,
    /// The first router of the network of storage nodes.
    first_of_storage: u32,
}

impl RailOptimized {
    /// Builds a cluster.
    ///
    /// # Errors
    /// The impossible size and its bound.
    pub fn new(shape: RailOptimizedShape) -> Result<Self, String> {
        let RailOptimizedShape {
            pods,
            hosts,
            gpus,
            spines,
            cables,
            ..
        } = shape;
        if pods == 0 || hosts == 0 || gpus == 0 {
            return Err("a rail-optimized cluster needs at least one pod, host and GPU".into());
        }
        if (spines == 0) != (cables == 0) || (spines == 0 && pods > 1) {
            return Err(format!(
                "{pods} pods with {spines} spines and {cables} cables to each are disconnected"
            ));
        }
        shape.size().map_err(|problem| problem.problem)?;
        let up = spines * cables;
        let (mut ports, mut nodes, mut list, mut devices) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let (host_routers, switched, inside) = (shape.host_routers(), shape.switched(), shape.inside());
        let per_pod = hosts * host_routers + gpus;
        for pod in 0..pods {
            let first_leaf = pod * per_pod + hosts * host_routers;
            for place in 0..hosts {
                let first = ports.len() as u32;
                let host = pod * hosts + place;
                for rail in 0..gpus {
                    let gpu = first + rail;
                    nodes.push((gpu, 0));
                    ports.push(inside + 2 + u32::from(shape.has_adapters()));
                    devices.push(Device::Gpu { host, rail });
                    if switched {
                        list.push(cable((gpu, 1), (first + gpus, rail), LinkClass::Local));
                    } else {
                        // The other GPUs in ascending order.
                        list.extend((rail + 1..gpus).map(|other| {
                            let far = (first + other, 1 + rail);
                            cable((gpu, other), far, LinkClass::Local)
                        }));
                    }
                    list.push(cable((gpu, inside + 1), (first_leaf + rail, place), LinkClass::Column));
                }
                if switched {
                    ports.push(gpus);
                    devices.push(Device::Switch { host });
                }
            }
            for rail in 0..gpus {
                ports.push(hosts + up);
                devices.push(Device::Leaf { pod, rail });
                for spine in 0..spines {
                    for n in 0..cables {
                        let far = (pods * per_pod + spine, (pod * gpus + rail) * cables + n);
                        let port = hosts + spine * cables + n;
                        list.push(cable((first_leaf + rail, port), far, LinkClass::Global));
                    }
                }
            }
        }
        let below_spines = if shape.storage.converged {
            shape.storage.leaves
        } else {
            0
        };
        ports.extend((0..spines).map(|_| (pods * gpus + below_spines) * cables));
        devices.extend((0..spines).map(|_| Device::Spine));
        let mut blocks: Vec<u32> = (0..=pods).map(|pod| pod * per_pod).collect();
        blocks.extend((spines > 0).then_some(pods * per_pod + spines));
        let first_of_storage = ports.len() as u32;
        shape.add_storage(&mut ports, &mut nodes, &mut list, &mut devices);
        blocks.extend((shape.storage.nodes > 0).then_some(ports.len() as u32));
        let topology = Topology::new(&ports, &nodes, &list)?.with_blocks(blocks)?;
        Ok(RailOptimized {
            first_of_storage,
            shape,
            topology,
            devices,
            places: (0..pods * hosts).map(|host| (host / hosts, host % hosts)).collect(),
        })
    }

    /// The graph. Its blocks are the pods, and the spines.
    pub fn topology(&self) -> &Topology {
        &self.topology
    }

    /// The sizes of the cluster.
    pub fn shape(&self) -> RailOptimizedShape {
        self.shape
    }

    /// What `router` is.
    #[inline]
    pub fn device(&self, router: u32) -> Device {
        self.devices[router as usize]
    }

    /// The host and the number of the GPU at `router`; `None` for other routers.
    #[inline]
    pub fn gpu(&self, router: u32) -> Option<(u32, u32)> {
        match self.device(router) {
            Device::Gpu { host, rail } => Some((host, rail)),
            _ => None,
        }
    }

    /// The pod of `host`, and its number in it.
    #[inline]
    pub fn place_of_host(&self, host: u32) -> (u32, u32) {
        self.places[host as usize]
    }

    /// The port of the GPU at `router`, number `rail` of its host, to GPU `other` of the same host.
    #[inline]
    pub fn host_port(&self, router: u32, rail: u32, other: u32) -> u32 {
        let first = self.topology.first_port(router) + 1;
        match self.shape.links {
            HostLinks::Switch => first,
            HostLinks::AllToAll => first + other - u32::from(other > rail),
        }
    }

    /// The port of a host's switch to GPU `rail` of the host.
    #[inline]
    pub fn switch_port(&self, router: u32, rail: u32) -> u32 {
        self.topology.first_port(router) + rail
    }

    /// The port of the GPU at `router` to its leaf.
    #[inline]
    pub fn nic_port(&self, router: u32) -> u32 {
        self.topology.first_port(router) + 1 + self.shape.inside()
    }

    /// The port of a leaf to the GPU of the host at `place` of its pod.
    #[inline]
    pub fn down_port(&self, leaf: u32, place: u32) -> u32 {
        self.topology.first_port(leaf) + place
    }

    /// The ports of a leaf to `spine`: parallel cables.
    #[inline]
    pub fn up_ports(&self, leaf: u32, spine: u32) -> Range<u32> {
        let first = self.topology.first_port(leaf) + self.shape.hosts + spine * self.shape.cables;
        first..first + self.shape.cables
    }

    /// The ports of a spine to the leaf of `rail` in `pod`.
    #[inline]
    pub fn leaf_ports(&self, spine: u32, pod: u32, rail: u32) -> Range<u32> {
        let leaf = pod * self.shape.gpus + rail;
        let first = self.topology.first_port(spine) + leaf * self.shape.cables;
        first..first + self.shape.cables
    }

    /// The first spine, after all other routers.
    #[inline]
    pub fn first_spine(&self) -> u32 {
        self.first_of_storage - self.shape.spines
    }

    /// The port of the GPU at `router` to the adapter of its host.
    #[inline]
    pub fn adapter_port(&self, router: u32) -> u32 {
        self.nic_port(router) + 1
    }

    /// The port of a host's adapter to GPU `rail`.
    #[inline]
    pub fn adapter_down(&self, router: u32, rail: u32) -> u32 {
        self.topology.first_port(router) + rail
    }

    /// Storage port `port` of a host's adapter.
    #[inline]
    pub fn storage_port(&self, router: u32, port: u32) -> u32 {
        self.topology.first_port(router) + self.shape.gpus + port
    }

    /// The port of the storage node at `router` to its leaf.
    #[inline]
    pub fn storage_nic(&self, router: u32) -> u32 {
        self.topology.first_port(router) + 1
    }

    /// The port of the storage leaf at `router` to the host at `place` of its pod.
    #[inline]
    pub fn storage_host_port(&self, router: u32, place: u32) -> u32 {
        self.topology.first_port(router) + place
    }

    /// The port of the storage leaf at `router` to the storage node at `place`.
    #[inline]
    pub fn storage_node_port(&self, router: u32, place: u32) -> u32 {
        let hosts = self.shape.hosts * u32::from(self.shape.has_adapters());
        self.topology.first_port(router) + hosts + place
    }

    /// The ports of storage leaf `leaf`, at `router`, to spine `spine`.
    #[inline]
    pub fn storage_up_ports(&self, router: u32, leaf: u32, spine: u32) -> Range<u32> {
        let cables = if self.shape.storage.converged {
            self.shape.cables
        } else {
            1
        };
        let first = self.topology.first_port(router) + self.shape.storage_ports_down(leaf) + spine * cables;
        first..first + cables
    }

    /// Spines above storage leaves.
    #[inline]
    pub fn storage_spines(&self) -> u32 {
        match self.shape.storage.converged {
            true => self.shape.spines,
            false => self.shape.storage.spines,
        }
    }

    /// The ports of the spine at `router`, of GPUs or of storage, to storage leaf `leaf`.
    #[inline]
    pub fn storage_leaf_ports(&self, router: u32, leaf: u32) -> Range<u32> {
        let first = self.topology.first_port(router);
        match self.shape.storage.converged {
            true => {
                let first = first + (self.shape.pods * self.shape.gpus + leaf) * self.shape.cables;
                first..first + self.shape.cables
            }
            false => first + leaf..first + leaf + 1,
        }
    }

    /// The leaf of `rail` in `pod`.
    #[inline]
    pub fn leaf(&self, pod: u32, rail: u32) -> u32 {
        let per_pod = self.shape.hosts * self.shape.host_routers() + self.shape.gpus;
        (pod + 1) * per_pod - self.shape.gpus + rail
    }

    /// Whether `spine`, counted from 0, still has a cable to the leaf `from` and one to the leaf of `rail` in `pod`.
    pub fn is_way(&self, from: u32, spine: u32, pod: u32, rail: u32) -> bool {
        let down = self.leaf_ports(self.first_spine() + spine, pod, rail);
        self.topology.live(self.up_ports(from, spine)) > 0 && self.topology.live(down) > 0
    }

    /// Checks that every GPU still has its links into the host and to its leaf, and that each pair of leaves has a
    /// common spine.
    ///
    /// # Errors
    /// The missing link.
    pub fn check_ways(&self) -> Result<(), String> {
        let t = &self.topology;
        for &(port, far) in t.failed() {
            let (a, b) = (t.router_of_port(port), t.router_of_port(far));
            let of_storage = a.max(b) >= self.first_of_storage;
            if t.class(port) != LinkClass::Global || of_storage {
                return Err(format!(
                    "the only cable between routers {a} and {b} failed: rail-optimized routing has no path around it; \
                     up*/down* does"
                ));
            }
        }
        if t.failed().is_empty() {
            return Ok(());
        }
        let RailOptimizedShape { pods, gpus, spines, .. } = self.shape;
        let leaves = || (0..pods).flat_map(|pod| (0..gpus).map(move |rail| (pod, rail)));
        for (pod, rail) in leaves() {
            let from = self.leaf(pod, rail);
            let cut = leaves()
                .filter(|&other| other != (pod, rail))
                .find(|&(pod, rail)| !(0..spines).any(|spine| self.is_way(from, spine, pod, rail)));
            if let Some((pod, rail)) = cut {
                let to = self.leaf(pod, rail);
                return Err(format!("no spine is left between leaves {from} and {to}"));
            }
        }
        Ok(())
    }
}

impl RailOptimizedShape {
    /// Adds the network of the storage nodes to routers, nodes and cables.
    fn add_storage(
        &self,
        ports: &mut Vec<u32>,
        nodes: &mut Vec<(u32, u32)>,
        list: &mut Vec<Cable>,
        devices: &mut Vec<Device>,
    ) {
        let StorageShape {
            nodes: count,
            converged,
            ports: of_host,
            leaves,
            spines,
        } = self.storage;
        if count == 0 {
            return;
        }
        let hosts = self.pods * self.hosts;
        let per_pod = self.hosts * self.host_routers() + self.gpus;
        let first_adapter = ports.len() as u32;
        let first_leaf = first_adapter + if self.has_adapters() { hosts } else { 0 };
        let (first_spine, first_gpu_spine) = (first_leaf + leaves, self.pods * per_pod);
        if self.has_adapters() {
            for host in 0..hosts {
                let (pod, place, adapter) = (host / self.hosts, host % self.hosts, first_adapter + host);
                ports.push(self.gpus + of_host);
                devices.push(Device::Adapter { host });
                let first_gpu = pod * per_pod + place * self.host_routers();
                list.extend((0..self.gpus).map(|rail| {
                    let gpu = (first_gpu + rail, self.inside() + 2);
                    cable((adapter, rail), gpu, LinkClass::Local)
                }));
                list.extend((0..of_host).map(|port| {
                    let leaf = first_leaf + pod * of_host + port;
                    cable((adapter, self.gpus + port), (leaf, place), LinkClass::Column)
                }));
            }
        }
        for leaf in 0..leaves {
            let down = self.storage_ports_down(leaf);
            ports.push(down + self.storage_ports_up());
            devices.push(Device::StorageLeaf { leaf });
            let up = (0..self.storage_ports_up()).map(|n| {
                let far = match converged {
                    true => {
                        let (spine, n) = (n / self.cables, n % self.cables);
                        let port = (self.pods * self.gpus + leaf) * self.cables + n;
                        (first_gpu_spine + spine, port)
                    }
                    false => (first_spine + n, leaf),
                };
                cable((first_leaf + leaf, down + n), far, LinkClass::Global)
            });
            list.extend(up);
        }
        ports.extend((0..spines).map(|_| leaves));
        devices.extend((0..spines).map(|_| Device::StorageSpine));
        for node in 0..count {
            let (router, (leaf, place)) = (ports.len() as u32, self.storage.place_of(node));
            nodes.push((router, 0));
            ports.push(2);
            devices.push(Device::Storage { leaf, place });
            let port = self.hosts * u32::from(self.has_adapters()) + place;
            list.push(cable((router, 1), (first_leaf + leaf, port), LinkClass::Column));
        }
    }
}

impl FamilyGraph for RailOptimized {
    fn topology(&self) -> &Topology {
        &self.topology
    }

    fn topology_mut(&mut self) -> &mut Topology {
        &mut self.topology
    }

    fn storage_nodes(&self) -> u32 {
        self.shape.storage.nodes
    }

    /// Between two halves of the pods, for an even number of pods: half of all uplinks, since spines can be divided
    /// evenly.
    fn bisection(&self) -> Option<u64> {
        let RailOptimizedShape {
            pods,
            gpus,
            spines,
            cables,
            ..
        } = self.shape;
        let up = sizes::product([pods, gpus, spines, cables]);
        (pods % 2 == 0).then_some(up / 2)
    }
}

#[cfg(test)]
mod tests;

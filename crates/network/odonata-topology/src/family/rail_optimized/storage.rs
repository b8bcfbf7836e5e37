//! Storage nodes of a rail-optimized cluster.
//!
//! A storage node is a router with its node and a NIC on a storage leaf; nodes are spread evenly over these leaves. With a
//! fabric of their own, storage leaf j of a pod has port j of every host of the pod, which all GPUs of the host share, and a
//! cable to each storage spine (NVIDIA, "DGX SuperPOD: reference architecture featuring DGX H100", RA-11333-001, 2023: a
//! storage fabric beside the compute fabric, and two storage ports per system). Converged, a storage leaf is linked with the
//! spines of the GPUs as every leaf is.
//!
//! | with N storage nodes | how many | ports |
//! |---|---|---|
//! | adapter of a host (separate) | P H | its GPUs, then its storage ports |
//! | storage leaf (separate) | P times the storage ports | the hosts of its pod, its storage nodes, the storage spines |
//! | storage leaf (converged) | N / H, rounded up | its storage nodes, then c to each spine |
//! | storage spine (separate) | one per cable up | the storage leaves |
//! | storage node | N | its node, its NIC |
//!
//! They are numbered in this order after all other routers. Links between GPU and adapter are local, those of adapters and
//! storage nodes column, those of spines global.

use odonata_units::{Filled, Problem};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::settings;

/// The network of the storage nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum StorageFabric {
    /// Switches of their own, which each host reaches by its storage ports.
    #[default]
    Separate,
    /// Leaves of their own below the spines of the GPUs.
    Converged,
}

/// Storage nodes and their network.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "RailStorage")]
pub struct Storage {
    /// Storage nodes, which come after the GPUs. They run no jobs; storage servers are there unless `storage.nodes` says
    /// otherwise. Required.
    #[schemars(range(min = 1))]
    pub nodes: Filled<u32>,
    /// Their network.
    pub fabric: StorageFabric,
    /// Storage ports of a host, with a network of their own. Default: 2, as of a DGX H100.
    #[schemars(range(min = 1))]
    pub ports: Filled<u32>,
    /// Storage spines, with a network of their own; 0 is possible in one pod with one port. Default: one per host of a pod,
    /// so that no leaf is oversubscribed.
    pub spines: Filled<u32>,
}

/// The sizes of the network of storage nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StorageShape {
    /// Storage nodes; 0: no such network.
    pub nodes: u32,
    /// Whether it is below the spines of the GPUs.
    pub converged: bool,
    /// Storage ports of a host; 0 if converged.
    pub ports: u32,
    /// Storage leaves.
    pub leaves: u32,
    /// Storage spines; 0 if converged.
    pub spines: u32,
}

impl StorageShape {
    /// Storage nodes of `leaf`.
    pub fn nodes_of(&self, leaf: u32) -> u32 {
        self.nodes / self.leaves + u32::from(leaf < self.nodes % self.leaves)
    }

    /// Leaf of storage node `node`, and its place there.
    pub fn place_of(&self, node: u32) -> (u32, u32) {
        let (each, more) = (self.nodes / self.leaves, self.nodes % self.leaves);
        let of_larger = more * (each + 1);
        match node.checked_sub(of_larger) {
            None => (node / (each + 1), node % (each + 1)),
            Some(node) => (more + node / each, node % each),
        }
    }
}

impl Storage {
    /// Fills in the defaults, for `pods` pods of `hosts` hosts and `spines` spines.
    pub(super) fn resolve(&mut self, (pods, hosts, spines): (u32, u32, u32)) -> Result<(), Problem> {
        settings::required("storage.nodes", &self.nodes, 1)?;
        if self.fabric == StorageFabric::Converged {
            if spines == 0 {
                let problem = "storage leaves below spines, and there are none";
                return Err(Problem::new("storage.fabric", problem, "\"separate\", or spines"));
            }
            for (key, value) in [("storage.ports", &self.ports), ("storage.spines", &self.spines)] {
                if !value.is_empty() {
                    let problem = "a converged network has no storage ports and spines of its own";
                    return Err(Problem::new(key, problem, "none, or storage.fabric = \"separate\""));
                }
            }
            return Ok(());
        }
        let ports = settings::size("storage.ports", *self.ports.fill(2), 1)?;
        let several = pods > 1 || ports > 1;
        let spines = settings::size("storage.spines", *self.spines.fill(if several { hosts } else { 0 }), 0)?;
        if several && spines == 0 {
            let problem = "several storage leaves without spines";
            return Err(Problem::new(
                "storage.spines",
                problem,
                "1 at least, or one pod and ports = 1",
            ));
        }
        Ok(())
    }

    /// Its sizes, resolved.
    pub(super) fn shape(&self, pods: u32, hosts: u32) -> StorageShape {
        let nodes = *self.nodes;
        match self.fabric {
            StorageFabric::Converged => StorageShape {
                nodes,
                converged: true,
                ports: 0,
                leaves: nodes.div_ceil(hosts.max(1)),
                spines: 0,
            },
            StorageFabric::Separate => StorageShape {
                nodes,
                converged: false,
                ports: *self.ports,
                leaves: pods.saturating_mul(*self.ports),
                spines: *self.spines,
            },
        }
    }
}

//! The dragonfly+ as it is written.

use schemars::JsonSchema;
use serde::Deserialize;

use super::Cables;
use crate::scenario::choices::Arrangement;

/// A dragonfly+ (A. Shpiner et al., HiPINEB 2017), or megafly (M. Flajslik et al., ISC 2018): leaf routers have the
/// nodes, spine routers the global cables, and every leaf of a group is linked with every spine. The sizes without a
/// default are required, here or in the preset.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DragonflyPlus {
    /// Number of groups; at most spines_per_group x global_ports_per_spine + 1. Required.
    #[schemars(range(min = 1))]
    pub groups: Option<u32>,
    /// Leaf routers of a group. Required.
    #[schemars(range(min = 1))]
    pub leaves_per_group: Option<u32>,
    /// Spine routers of a group. Required.
    #[schemars(range(min = 1))]
    pub spines_per_group: Option<u32>,
    /// Nodes per leaf router: compute nodes and storage servers together. Required.
    #[schemars(range(min = 1))]
    pub nodes_per_leaf: Option<u32>,
    /// Parallel cables between a leaf and a spine.
    #[schemars(range(min = 1))]
    pub local_cables: u32,
    /// Global ports per spine router. Required.
    pub global_ports_per_spine: Option<u32>,
    /// How the global ports of a group are assigned to the other groups.
    pub arrangement: Arrangement,
    /// Cables between any two groups: a number, or "all" for as many as the ports allow (the same for all pairs).
    pub cables: Cables,
}

impl Default for DragonflyPlus {
    fn default() -> Self {
        DragonflyPlus {
            groups: None,
            leaves_per_group: None,
            spines_per_group: None,
            nodes_per_leaf: None,
            local_cables: 1,
            global_ports_per_spine: None,
            arrangement: Arrangement::default(),
            cables: Cables::default(),
        }
    }
}

//! The dragonfly with one-dimensional groups as it is written.

use schemars::JsonSchema;
use serde::Deserialize;

use super::Cables;
use crate::scenario::choices::Arrangement;

/// A dragonfly with one-dimensional groups (J. Kim, W. Dally, S. Scott, D. Abts, ISCA 2008). Balanced: routers_per_group = 2 nodes_per_router = 2
/// global_ports_per_router. The four sizes are required, here or in the preset.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Dragonfly {
    /// Number of groups, g; at most routers_per_group x global_ports_per_router + 1. Required.
    #[schemars(range(min = 1))]
    pub groups: Option<u32>,
    /// Routers per group, a. Required.
    #[schemars(range(min = 1))]
    pub routers_per_group: Option<u32>,
    /// Nodes per router, p: compute nodes and storage servers together. Required.
    #[schemars(range(min = 1))]
    pub nodes_per_router: Option<u32>,
    /// Global ports per router, h. Required.
    pub global_ports_per_router: Option<u32>,
    /// How the global ports of a group are assigned to the other groups.
    pub arrangement: Arrangement,
    /// Cables between any two groups: a number, or "all" for as many as the ports allow (the same for all pairs).
    pub cables: Cables,
}

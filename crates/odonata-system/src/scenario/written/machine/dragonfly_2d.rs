//! The dragonfly with two-dimensional groups as it is written.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Cables;
use crate::scenario::choices::Arrangement;

/// A dragonfly with two-dimensional groups: Cray XC (G. Faanes et al., "Cray Cascade", SC 2012). A row is a chassis, its
/// cables are of class local; those of a column are of class column. A group of a Cray XC has 6 rows of 16 routers and 3
/// cables between any two routers of a column. Router i of a group is at row i / columns, column i mod columns. The three
/// sizes without a default are required, here or in the preset.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Dragonfly2d {
    /// Number of groups. Required.
    #[schemars(range(min = 1))]
    pub groups: Option<u32>,
    /// Rows of a group.
    #[schemars(range(min = 1))]
    pub rows: u32,
    /// Routers of a row.
    #[schemars(range(min = 1))]
    pub columns: u32,
    /// Parallel cables between two routers of a column.
    #[schemars(range(min = 1))]
    pub column_cables: u32,
    /// Nodes per router: compute nodes and storage servers together. Required.
    pub nodes_per_router: Option<u32>,
    /// Routers of every group that have another number of nodes. Default: none.
    pub exceptions: Vec<Exception>,
    /// Global ports per router. Required.
    pub global_ports_per_router: Option<u32>,
    /// How the global ports of a group are assigned to the other groups.
    pub arrangement: Arrangement,
    /// Cables between any two groups: a number, or "all" for as many whole bundles as the ports allow.
    pub cables: Cables,
    /// Cables of a bundle, which lie side by side at both ends; divides `cables`.
    #[schemars(range(min = 1))]
    pub bundle: u32,
}

impl Default for Dragonfly2d {
    fn default() -> Self {
        Dragonfly2d {
            groups: None,
            rows: 6,
            columns: 16,
            column_cables: 3,
            nodes_per_router: None,
            exceptions: Vec::new(),
            global_ports_per_router: None,
            arrangement: Arrangement::default(),
            cables: Cables::default(),
            bundle: 1,
        }
    }
}

/// A router of every group that has another number of nodes than most.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Exception {
    /// Its number in the group, from 0.
    pub router: u32,
    /// Its nodes; 0 is possible.
    pub nodes: u32,
}

//! The machine's graph as it is written: exactly one kind, and what is wrong with its cables.

mod cables;
mod dragonfly;
mod dragonfly_2d;
mod dragonfly_plus;
mod fat_tree;
mod graph;
mod hyperx;
mod slim_fly;
mod torus;

use schemars::JsonSchema;
use serde::Deserialize;

pub use cables::{Cables, DegradedLink, FailedLink};
pub use dragonfly::Dragonfly;
pub use dragonfly_2d::{Dragonfly2d, Exception};
pub use dragonfly_plus::DragonflyPlus;
pub use fat_tree::FatTree;
pub use graph::Graph;
pub use hyperx::{HyperX, Parallel};
pub use slim_fly::SlimFly;
pub use torus::Torus;

/// The machine's graph: exactly one kind, and which of its cables are broken.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Machine {
    /// A dragonfly with one-dimensional groups: all routers of a group are linked with each other, and any two groups
    /// by at least one cable.
    pub dragonfly: Option<Dragonfly>,
    /// A dragonfly with two-dimensional groups: the routers of a group form a grid, and those of a row and those of a
    /// column are all linked with each other. Cray XC.
    #[serde(rename = "dragonfly-2d")]
    pub dragonfly_2d: Option<Dragonfly2d>,
    /// A dragonfly+, or megafly: leaf and spine routers in every group.
    pub dragonfly_plus: Option<DragonflyPlus>,
    /// A grid of routers whose lines are closed.
    pub torus: Option<Torus>,
    /// A grid of routers whose lines are open.
    pub mesh: Option<Torus>,
    /// A fat tree: an extended generalised fat tree, or a k-ary n-tree.
    pub fat_tree: Option<FatTree>,
    /// A Slim Fly: a graph of diameter two.
    pub slim_fly: Option<SlimFly>,
    /// A HyperX: a grid of routers whose lines are all linked with each other. The flattened butterfly is one.
    pub hyperx: Option<HyperX>,
    /// Any graph, from a file.
    pub graph: Option<Graph>,
    /// Routers of every group, numbered from 0 in the group, whose nodes are service nodes, such as those that forward I/O
    /// to a file system outside: neither jobs nor storage servers get them. Default: none.
    #[serde(rename = "service_routers")]
    pub service_routers: Vec<u32>,
    /// Cables between routers that carry nothing. Default: none.
    #[serde(rename = "failed_links")]
    pub failed_links: Vec<FailedLink>,
    /// Cables between routers that carry less than others of their class. Default: none.
    #[serde(rename = "degraded_links")]
    pub degraded_links: Vec<DegradedLink>,
}

impl Machine {
    /// The keys of all kinds.
    pub const KINDS: [&str; 9] = [
        "dragonfly",
        "dragonfly-2d",
        "dragonfly-plus",
        "torus",
        "mesh",
        "fat-tree",
        "slim-fly",
        "hyperx",
        "graph",
    ];

    /// The keys of the kinds that are there.
    pub fn kinds(&self) -> Vec<&'static str> {
        let there = [
            self.dragonfly.is_some(),
            self.dragonfly_2d.is_some(),
            self.dragonfly_plus.is_some(),
            self.torus.is_some(),
            self.mesh.is_some(),
            self.fat_tree.is_some(),
            self.slim_fly.is_some(),
            self.hyperx.is_some(),
            self.graph.is_some(),
        ];
        let kinds = Machine::KINDS.into_iter().zip(there);
        kinds.filter(|&(_, there)| there).map(|(kind, _)| kind).collect()
    }
}

//! The machine's graph, every size given.

use odonata_topology::{Effect, Fault, LinkClass};
use serde::Serialize;

use crate::scenario::choices::Arrangement;
use crate::scenario::choices::algorithm::{self, Algorithm};
pub use crate::scenario::written::Exception;

/// The machine's graph, and which of its cables are broken.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Machine {
    /// Its kind and sizes.
    #[serde(flatten)]
    pub kind: Kind,
    /// Routers of every group whose nodes neither jobs nor storage servers get.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub service_routers: Vec<u32>,
    /// Cables that carry nothing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub failed_links: Vec<FailedLink>,
    /// Cables that carry less than others of their class.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub degraded_links: Vec<DegradedLink>,
}

/// The kind of a machine's graph.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A dragonfly with one-dimensional groups.
    Dragonfly(Dragonfly),
    /// A dragonfly with two-dimensional groups.
    #[serde(rename = "dragonfly-2d")]
    Dragonfly2d(Dragonfly2d),
    /// A dragonfly+.
    DragonflyPlus(DragonflyPlus),
    /// A grid with closed lines.
    Torus(Torus),
    /// A grid with open lines.
    Mesh(Torus),
    /// A fat tree.
    FatTree(FatTree),
    /// A Slim Fly.
    SlimFly(SlimFly),
    /// A HyperX.
    #[serde(rename = "hyperx")]
    HyperX(HyperX),
    /// A graph from a file.
    Graph(Graph),
}

impl Kind {
    /// Its key in a scenario.
    pub fn name(&self) -> &'static str {
        match self {
            Kind::Dragonfly(_) => "dragonfly",
            Kind::Dragonfly2d(_) => "dragonfly-2d",
            Kind::DragonflyPlus(_) => "dragonfly-plus",
            Kind::Torus(_) => "torus",
            Kind::Mesh(_) => "mesh",
            Kind::FatTree(_) => "fat-tree",
            Kind::SlimFly(_) => "slim-fly",
            Kind::HyperX(_) => "hyperx",
            Kind::Graph(_) => "graph",
        }
    }

    /// The classes of links that machines of this kind can have; all where a file says which.
    pub(crate) fn link_classes(&self) -> &'static [LinkClass] {
        match self {
            Kind::Torus(_) | Kind::Mesh(_) => &LinkClass::ALL[..2],
            Kind::Dragonfly2d(_) | Kind::Graph(_) => &LinkClass::ALL,
            Kind::Dragonfly(_) | Kind::DragonflyPlus(_) | Kind::FatTree(_) | Kind::SlimFly(_) | Kind::HyperX(_) => {
                &LinkClass::ALL[..3]
            }
        }
    }

    /// Its routing algorithms, the default first.
    pub(crate) fn algorithms(&self) -> Vec<Algorithm> {
        match self {
            Kind::Dragonfly(_) | Kind::Dragonfly2d(_) => Algorithm::all(algorithm::DRAGONFLY),
            Kind::DragonflyPlus(_) => Algorithm::all(algorithm::DRAGONFLY_PLUS),
            Kind::Torus(_) => Algorithm::all(algorithm::TORUS),
            Kind::Mesh(_) => Algorithm::all(algorithm::MESH),
            Kind::FatTree(_) => Algorithm::all(algorithm::FAT_TREE),
            Kind::SlimFly(_) => Algorithm::all(algorithm::SLIM_FLY),
            Kind::HyperX(_) => Algorithm::all(algorithm::HYPERX),
            Kind::Graph(_) => vec![Algorithm::UpDown],
        }
    }
}

impl Machine {
    /// What is wrong with its cables.
    pub fn faults(&self) -> Vec<Fault> {
        let failed = self.failed_links.iter().map(|link| Fault {
            routers: link.routers.into(),
            index: link.index,
            effect: Effect::Failed,
        });
        let degraded = self.degraded_links.iter().map(|link| Fault {
            routers: link.routers.into(),
            index: link.index,
            effect: Effect::Degraded(link.factor),
        });
        failed.chain(degraded).collect()
    }
}

/// A dragonfly with one-dimensional groups.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Dragonfly {
    /// Number of groups, g.
    pub groups: u32,
    /// Routers per group, a.
    pub routers_per_group: u32,
    /// Nodes per router, p.
    pub nodes_per_router: u32,
    /// Global ports per router, h.
    pub global_ports_per_router: u32,
    /// How global ports are assigned to groups.
    pub arrangement: Arrangement,
    /// Cables per pair of groups; `None`: as many as the ports allow.
    pub cables: Option<u32>,
}

/// A dragonfly with two-dimensional groups.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Dragonfly2d {
    /// Number of groups.
    pub groups: u32,
    /// Rows of a group.
    pub rows: u32,
    /// Routers of a row.
    pub columns: u32,
    /// Parallel cables between two routers of a column.
    pub column_cables: u32,
    /// Nodes per router.
    pub nodes_per_router: u32,
    /// Routers of every group with another number of nodes.
    pub exceptions: Vec<Exception>,
    /// Global ports per router.
    pub global_ports_per_router: u32,
    /// How global ports are assigned to groups.
    pub arrangement: Arrangement,
    /// Cables per pair of groups; `None`: as many whole bundles as the ports allow.
    pub cables: Option<u32>,
    /// Cables of a bundle.
    pub bundle: u32,
}

/// A dragonfly+.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DragonflyPlus {
    /// Number of groups.
    pub groups: u32,
    /// Leaf routers of a group.
    pub leaves_per_group: u32,
    /// Spine routers of a group.
    pub spines_per_group: u32,
    /// Nodes per leaf router.
    pub nodes_per_leaf: u32,
    /// Parallel cables between a leaf and a spine.
    pub local_cables: u32,
    /// Global ports per spine router.
    pub global_ports_per_spine: u32,
    /// How global ports are assigned to groups.
    pub arrangement: Arrangement,
    /// Cables per pair of groups; `None`: as many as the ports allow.
    pub cables: Option<u32>,
}

/// A torus or mesh.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Torus {
    /// Routers along each dimension, the first fastest.
    pub dims: Vec<u32>,
    /// Nodes per router.
    pub nodes_per_router: u32,
}

/// A fat tree XGFT(h; m_1, ..., m_h; w_1, ..., w_h); nodes are level 0.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FatTree {
    /// Children of a router of each level, from the lowest.
    pub down: Vec<u32>,
    /// Parents of a member of each level below, from the nodes up.
    pub up: Vec<u32>,
    /// Parallel cables between a member of each level below and a parent.
    pub parallel: Vec<u32>,
}

/// A Slim Fly.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SlimFly {
    /// A prime power; there are 2 q^2 routers.
    pub q: u32,
    /// Nodes per router.
    pub nodes_per_router: u32,
}

/// A HyperX.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HyperX {
    /// Routers along each dimension, the first fastest.
    pub dims: Vec<u32>,
    /// Parallel cables between two routers of a line, for each dimension.
    pub cables: Vec<u32>,
    /// Nodes per router.
    pub nodes_per_router: u32,
}

/// A graph from a file.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Graph {
    /// Path of the file, as found from the scenario's folder.
    pub file: String,
    /// Nodes of each router that the file gives none.
    pub nodes_per_router: u32,
    /// Its text; with the path alone nobody could say later which graph it was.
    #[serde(skip)]
    pub text: std::sync::Arc<str>,
    /// A hash of the text (FNV-1a, 64 bits), which tells graphs apart.
    pub hash: String,
}

/// A cable between two routers that carries nothing.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct FailedLink {
    /// The two routers.
    pub routers: [u32; 2],
    /// Which cable between them; `None`: all of them.
    pub index: Option<u32>,
}

/// A cable between two routers that carries less than others of its class.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct DegradedLink {
    /// The two routers.
    pub routers: [u32; 2],
    /// Which cable between them; `None`: all of them.
    pub index: Option<u32>,
    /// Its bandwidth, as a multiple of that of its class.
    pub factor: f64,
}

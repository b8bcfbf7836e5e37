//! Routing algorithms by name, and which families of machines have which.
//!
//! One table per family, its default first. A name may stand in several; what it means on a family is said with the type
//! of that family.

use odonata_network::routing::{
    self, DragonflyPlusAlgorithm as Plus, HyperXAlgorithm as HyperX, SlimFlyAlgorithm as SlimFly,
    TorusAlgorithm as Torus,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The routing algorithm. Each family of machines has some of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Algorithm {
    /// Always a shortest path.
    Minimal,
    /// Always over a random intermediate group or router (L. Valiant, "A scheme for fast parallel
    /// communication", 1982).
    Valiant,
    /// Minimal until a router of the source group finds the way over a random intermediate group or router
    /// less loaded (PAR: N. Jiang, J. Kim, W. Dally, "Indirect adaptive routing on large scale
    /// interconnection networks", ISCA 2009).
    ProgressiveAdaptive,
    /// The source router compares the minimal path with random non-minimal ones (UGAL: A. Singh, "Load-balanced routing in
    /// interconnection networks", 2005); `knowledge` says by which loads.
    Ugal,
    /// Over a random router on the shortest paths, to it and from it by dimension order (two-phase ROMM: T. Nesson, S. L.
    /// Johnsson, SPAA 1995).
    Romm,
    /// One dimension after the other, the first one first.
    DimensionOrder,
    /// One dimension after the other, with bubble flow control on the rings of a torus (V. Puente et al., ICPP 1999): no
    /// second virtual channel, but room for two packets where a ring is entered.
    Bubble,
    /// Any dimension that brings the packet nearer, the least loaded first; dimension order is the escape (J. Duato,
    /// 1993).
    MinimalAdaptive,
    /// Up to the nearest common ancestor, then down; `up` says how the way up is chosen.
    NearestCommonAncestor,
    /// Dimensionally adaptive: in every dimension at most one detour over another router of the line (DAL: J. Ahn et al.,
    /// "HyperX", SC 2009).
    Dal,
    /// Over a spanning tree: first towards its root, then away from it (up*/down*: M. Schroeder et al., "Autonet", 1991).
    UpDown,
}

impl Algorithm {
    /// Its name in a scenario.
    pub fn name(self) -> &'static str {
        match self {
            Algorithm::Minimal => "minimal",
            Algorithm::Valiant => "valiant",
            Algorithm::Ugal => "ugal",
            Algorithm::ProgressiveAdaptive => "progressive-adaptive",
            Algorithm::Romm => "romm",
            Algorithm::DimensionOrder => "dimension-order",
            Algorithm::Bubble => "bubble",
            Algorithm::MinimalAdaptive => "minimal-adaptive",
            Algorithm::NearestCommonAncestor => "nearest-common-ancestor",
            Algorithm::Dal => "dal",
            Algorithm::UpDown => "up-down",
        }
    }
}

/// What a name stands for on the machines of a family.
pub(crate) type Table<T> = &'static [(Algorithm, T)];

/// On dragonflies with one- or two-dimensional groups.
pub(crate) const DRAGONFLY: Table<routing::Algorithm> = &[
    (Algorithm::Minimal, routing::Algorithm::Minimal),
    (Algorithm::Valiant, routing::Algorithm::Valiant),
    (Algorithm::Ugal, routing::Algorithm::Ugal),
    (Algorithm::ProgressiveAdaptive, routing::Algorithm::ProgressiveAdaptive),
];

/// On a dragonfly+.
pub(crate) const DRAGONFLY_PLUS: Table<Plus> = &[
    (Algorithm::Minimal, Plus::Minimal),
    (Algorithm::Valiant, Plus::Valiant),
    (Algorithm::Ugal, Plus::Ugal),
    (Algorithm::ProgressiveAdaptive, Plus::ProgressiveAdaptive),
];

/// On a torus.
pub(crate) const TORUS: Table<Torus> = &[
    (Algorithm::DimensionOrder, Torus::DimensionOrder),
    (Algorithm::Bubble, Torus::Bubble),
    (Algorithm::MinimalAdaptive, Torus::MinimalAdaptive),
    (Algorithm::Valiant, Torus::Valiant),
    (Algorithm::Romm, Torus::Romm),
];

/// On a mesh.
pub(crate) const MESH: Table<Torus> = &[
    (Algorithm::DimensionOrder, Torus::DimensionOrder),
    (Algorithm::MinimalAdaptive, Torus::MinimalAdaptive),
    (Algorithm::Valiant, Torus::Valiant),
    (Algorithm::Romm, Torus::Romm),
];

/// On a fat tree; how the way up is chosen is another key.
pub(crate) const FAT_TREE: Table<()> = &[(Algorithm::NearestCommonAncestor, ())];

/// On a Slim Fly.
pub(crate) const SLIM_FLY: Table<SlimFly> = &[
    (Algorithm::Minimal, SlimFly::Minimal),
    (Algorithm::Valiant, SlimFly::Valiant),
    (Algorithm::Ugal, SlimFly::Ugal),
];

/// On a HyperX.
pub(crate) const HYPERX: Table<HyperX> = &[
    (Algorithm::Minimal, HyperX::Minimal),
    (Algorithm::Valiant, HyperX::Valiant),
    (Algorithm::Ugal, HyperX::Ugal),
    (Algorithm::Dal, HyperX::Dal),
];

impl Algorithm {
    /// What it stands for in `table`; `None`: the family does not have it.
    pub(crate) fn among<T: Copy>(self, table: Table<T>) -> Option<T> {
        table
            .iter()
            .find(|(name, _)| *name == self)
            .map(|&(_, algorithm)| algorithm)
    }

    /// The algorithms of a table, in its order, and up*/down*, which every family has.
    pub(crate) fn all<T>(table: Table<T>) -> Vec<Algorithm> {
        let own = table.iter().map(|(name, _)| *name);
        own.chain([Algorithm::UpDown]).collect()
    }
}

//! Routing algorithms by name. The [routing](crate::routing) of a machine family defines which algorithms the family
//! has and what they do.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The routing algorithm. Each machine family supports some of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Algorithm {
    /// Always a shortest path.
    Minimal,
    /// Always through a random intermediate group or router (L. Valiant, "A scheme for fast parallel communication",
    /// 1982).
    Valiant,
    /// Minimal, until a router of the source group finds the path through a random intermediate group or router less
    /// loaded (PAR: N. Jiang, J. Kim, W. Dally, "Indirect adaptive routing on large scale interconnection networks",
    /// ISCA 2009).
    ProgressiveAdaptive,
    /// The source router compares the minimal path with random non-minimal paths (UGAL: A. Singh, "Load-balanced
    /// routing in interconnection networks", 2005). `knowledge` selects the loads that it compares.
    Ugal,
    /// Through a random router on the shortest paths, with dimension order to and from that router (two-phase ROMM: T.
    /// Nesson, S. L. Johnsson, SPAA 1995).
    Romm,
    /// Dimension by dimension, starting with the first.
    DimensionOrder,
    /// Dimension by dimension, with bubble flow control on the rings of a torus (V. Puente et al., ICPP 1999). It needs
    /// no second virtual channel, but room for two packets at the entry to a ring.
    Bubble,
    /// Any dimension that brings the packet nearer, the least loaded first, with dimension order as the escape path (J.
    /// Duato, 1993).
    MinimalAdaptive,
    /// Up to the nearest common ancestor, then down. `up` selects the path up.
    NearestCommonAncestor,
    /// Dimensionally adaptive: at most one detour per dimension, through another router of the line (DAL: J. Ahn et
    /// al., "HyperX", SC 2009).
    Dal,
    /// To a GPU on another rail of another host: first over the links of the source host to its GPU on that rail (PXN
    /// of NCCL 2.12, 2022).
    Pxn,
    /// Over a spanning tree: first toward its root, then away from it (up*/down*: M. Schroeder et al., "Autonet",
    /// 1991).
    UpDown,
    /// All shortest paths in cables, on any graph. `spread` selects one.
    ShortestPaths,
    /// The `paths` shortest paths without a loop of each pair of routers, on any graph (J. Yen, "Finding the k shortest
    /// loopless paths in a network", 1971). `spread` selects one.
    KShortestPaths,
    /// The paths of the file `routes`.
    Table,
}

impl Algorithm {
    /// The name in a scenario.
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
            Algorithm::Pxn => "pxn",
            Algorithm::UpDown => "up-down",
            Algorithm::ShortestPaths => "shortest-paths",
            Algorithm::KShortestPaths => "k-shortest-paths",
            Algorithm::Table => "table",
        }
    }
}

//! Routing algorithms by name. Which of them a family of machines has, and what a name means there, stands with the
//! [routing](crate::routing) of that family.

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
    /// To a GPU on another rail of another host: through the links of the own host to its GPU on that rail first (PXN of NCCL
    /// 2.12, 2022).
    Pxn,
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
            Algorithm::Pxn => "pxn",
            Algorithm::UpDown => "up-down",
        }
    }
}

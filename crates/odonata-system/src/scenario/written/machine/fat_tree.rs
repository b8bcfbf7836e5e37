//! The fat tree as it is written.

use schemars::JsonSchema;
use serde::Deserialize;

/// A fat tree: a k-ary n-tree (`k` and `n`; F. Petrini, M. Vanneschi, IPPS 1997), or an extended generalised fat tree
/// XGFT(h; m_1, ..., m_h; w_1, ..., w_h) (`down` and `up`; S. Öhring et al., IPPS 1995), with
/// parallel cables where `parallel` says so (E. Zahavi, 2010). Nodes are level 0; the pods of
/// the top level are its groups.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct FatTree {
    /// Children of a router of a k-ary n-tree, and parents of one below the top: k^n nodes. Required, with `n`, or `down`
    /// and `up`.
    #[schemars(range(min = 1))]
    pub k: Option<u32>,
    /// Levels of routers of a k-ary n-tree. Required with `k`.
    #[schemars(range(min = 1))]
    pub n: Option<u32>,
    /// m: children of a router of each level, from the lowest: the first number is nodes per leaf router.
    /// Required without `k` and `n`.
    pub down: Option<Vec<u32>>,
    /// w: parents of a member of each level below, from the nodes up, e.g. [1, 4, 4]. Nodes have one parent. Required
    /// with `down`.
    pub up: Option<Vec<u32>>,
    /// Parallel cables between a member of each level below and a parent, from the nodes up; those of nodes are 1.
    /// Default: 1 everywhere.
    pub parallel: Option<Vec<u32>>,
}

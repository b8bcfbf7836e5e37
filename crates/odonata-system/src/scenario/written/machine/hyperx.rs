//! The HyperX as it is written.

use schemars::JsonSchema;
use serde::Deserialize;

/// A HyperX (J. Ahn et al., SC 2009) of 1 to 16 dimensions; with the same number of routers along each it is a flattened
/// butterfly (J. Kim et al., ISCA 2007). The cables of the first dimension are of class local, all others global.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct HyperX {
    /// Routers along each dimension, the first fastest, e.g. [8, 8]. Required, here or in the preset.
    pub dims: Option<Vec<u32>>,
    /// Parallel cables between two routers of a line: a number, or a list of one for each dimension. Default: 1.
    pub cables: Parallel,
    /// Nodes per router: compute nodes and storage servers together.
    #[schemars(range(min = 1))]
    pub nodes_per_router: u32,
}

impl Default for HyperX {
    fn default() -> Self {
        HyperX {
            dims: None,
            cables: Parallel::One(1),
            nodes_per_router: 1,
        }
    }
}

/// A number for all dimensions, or one for each.
pub type Parallel = crate::scenario::written::OneOrMany<u32>;

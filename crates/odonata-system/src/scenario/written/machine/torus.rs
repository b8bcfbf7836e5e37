//! The torus and the mesh as they are written.

use schemars::JsonSchema;
use serde::Deserialize;

/// A torus or mesh of 1 to 16 dimensions (k-ary n-cube). All cables between routers are of class local; the planes of the
/// slowest dimension are its groups.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Torus {
    /// Routers along each dimension, the first fastest, e.g. [8, 8, 8]. Required, here or in the preset.
    pub dims: Option<Vec<u32>>,
    /// Nodes per router: compute nodes and storage servers together.
    #[schemars(range(min = 1))]
    pub nodes_per_router: u32,
}

impl Default for Torus {
    fn default() -> Self {
        Torus {
            dims: None,
            nodes_per_router: 1,
        }
    }
}

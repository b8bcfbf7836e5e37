//! The Slim Fly as it is written.

use schemars::JsonSchema;
use serde::Deserialize;

/// A Slim Fly (M. Besta, T. Hoefler, SC 2014): the McKay-Miller-Širáň graph of 2 q^2 routers, any two of which are at most
/// two cables apart.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SlimFly {
    /// A prime power of the form 4 w + d, d = -1, 0 or 1. Required, here or in the preset.
    #[schemars(range(min = 3))]
    pub q: Option<u32>,
    /// Nodes per router: compute nodes and storage servers together. Default: half the ports between routers, rounded up,
    /// which is balanced.
    #[schemars(range(min = 1))]
    pub nodes_per_router: Option<u32>,
}

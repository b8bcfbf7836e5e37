//! Parameters of sums in routers.

use super::tree::ReductionTrees;
use crate::settings::Reduction as Settings;
use std::sync::Arc;

/// The trees of a machine, and the limits of its routers.
#[derive(Clone, Debug)]
pub struct ReductionParams {
    /// The trees.
    pub trees: Arc<ReductionTrees>,
    /// Operations of a tree, and their data and delay.
    pub settings: Settings,
}

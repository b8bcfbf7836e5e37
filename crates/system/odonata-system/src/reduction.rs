//! Trees of routers for the collectives of jobs.

use odonata_host::HostPlan;
use odonata_network::settings::Reduction;
use odonata_network::{ReductionParams, ReductionTrees};
use odonata_topology::Topology;
use std::sync::Arc;

/// The trees of a machine's jobs.
pub(crate) struct Planted {
    pub(crate) params: ReductionParams,
    /// The tree of each job that has one.
    pub(crate) trees: Vec<Option<u32>>,
    /// The jobs without a tree, each with the router that is in too many trees.
    pub(crate) refused: Vec<(u16, u32)>,
}

/// Plants a tree for each of the `jobs` jobs of `hosts` whose collectives may run in routers, in order.
pub(crate) fn plant(settings: Reduction, hosts: &HostPlan, jobs: usize, topology: &Topology) -> Planted {
    let (numbers, groups): (Vec<u16>, Vec<_>) = hosts.reduction_groups().into_iter().unzip();
    let (planted, results) = ReductionTrees::plant(topology, &groups, settings.trees);
    let (mut trees, mut refused) = (vec![None; jobs], Vec::new());
    for (job, result) in numbers.into_iter().zip(results) {
        match result {
            Ok(tree) => trees[usize::from(job)] = Some(tree),
            Err(router) => refused.push((job, router)),
        }
    }
    let params = ReductionParams {
        trees: Arc::new(planted),
        settings,
    };
    Planted { params, trees, refused }
}

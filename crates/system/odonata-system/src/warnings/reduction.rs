//! Jobs that find no tree of routers.

use super::Warning;
use crate::build::Plan;
use crate::scenario::Scenario;

/// Warnings about jobs whose collectives would run in routers, and a router on their way sums in too many trees.
pub(super) fn warnings(scenario: &Scenario) -> Vec<Warning> {
    let resolved = &scenario.resolved;
    let Some(reduction) = resolved.network.reduction else {
        return Vec::new();
    };
    let Ok(plan) = Plan::new(resolved, &scenario.placement) else {
        return Vec::new();
    };
    let warning = |&(job, router): &(u16, u32)| Warning {
        key: "network.reduction.trees".into(),
        message: format!(
            "job {}: router {router} sums in {} trees already; its collectives fall back to the library's choice",
            resolved.jobs[usize::from(job)].name,
            reduction.trees
        ),
        expected: "more trees, or fewer jobs with the algorithm \"switches\"".into(),
    };
    plan.without_trees().iter().map(warning).collect()
}

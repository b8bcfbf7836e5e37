//! A job of a scenario, alone on the machine.

use super::Scenario;
use super::resolved::PlacementRule;

impl Scenario {
    /// The same machine with job `name` only, on the nodes and with the servers that it has beside the others; `None`
    /// if no job has that name.
    ///
    /// The seed stays, and who draws random numbers is named by its node, so the job draws what it draws beside the
    /// others: all that differs is that they are not there. It starts when it starts beside them. What it starts from
    /// is kept resolved (a permutation that was drawn, say). What a job has from the others is settled here, and is its
    /// nodes only: a key that made a job start or stop by another one would have to be turned into a time. A placement that depends on the other jobs becomes
    /// the list of its nodes, so that the resolved scenario says by itself what is run.
    #[must_use]
    pub fn alone(&self, name: &str) -> Option<Scenario> {
        let index = self.resolved.jobs.iter().position(|job| job.name == name)?;
        let mut alone = self.clone();
        alone.resolved.run.baselines = false;
        alone.resolved.jobs = vec![self.resolved.jobs[index].clone()];
        alone.placement.jobs = vec![self.placement.jobs[index].clone()];
        let job = &mut alone.resolved.jobs[0];
        if matches!(job.placement, PlacementRule::Contiguous | PlacementRule::Random) {
            let ranks = alone.placement.jobs[0].nodes.iter();
            job.placement = PlacementRule::Nodes(ranks.step_by(job.ranks_per_node as usize).copied().collect());
        }
        Some(alone)
    }
}

//! A job of a scenario, alone on the machine.

use odonata_units::Time;

use super::resolved::{Job, PlacementRule, Workload};
use super::{InputError, Problem, Scenario};

impl Scenario {
    /// The same machine with job `name` only, on its nodes and with its servers of the full run; `None` if no job has
    /// that name.
    ///
    /// The seed stays, and random streams are named by nodes, so the job draws the same numbers: the only difference is
    /// the absence of the other jobs. Its start data are kept resolved (for example a drawn permutation). A placement
    /// that depends on other jobs becomes the list of its nodes, so the resolved scenario is self-contained.
    ///
    /// Its start time stays. A job that starts after others starts at time zero plus its delay. Traffic whose end
    /// depends on others ([`Job::ends_with_others`]) sends for `sends_for` from its start: as long as in the full run.
    ///
    /// # Errors
    /// The end of the job depends on others and there is no `sends_for`, or vice versa.
    pub fn alone(&self, name: &str, sends_for: Option<Time>) -> Result<Option<Scenario>, InputError> {
        let Some(index) = self.resolved.jobs.iter().position(|job| *job.name == name) else {
            return Ok(None);
        };
        let mut alone = self.clone();
        alone.resolved.run.baselines = false;
        // Its own ranks, if they are recorded.
        alone.resolved.run.timeline = alone
            .resolved
            .run
            .timeline
            .filter(|timeline| timeline.jobs.contains(&(index as u16)));
        if let Some(timeline) = &mut alone.resolved.run.timeline {
            timeline.jobs.set(vec![0]);
        }
        let mut job = self.resolved.jobs[index].clone();
        settle(&mut job, sends_for).map_err(|problem| self.document.locate(problem))?;
        alone.placement.jobs = vec![self.placement.jobs[index].clone()];
        if let PlacementRule::Free(_) = job.placement {
            let ranks = alone.placement.jobs[0].nodes.iter();
            job.placement = PlacementRule::nodes(ranks.step_by(job.ranks_per_node as usize).copied().collect());
        }
        alone.resolved.jobs = vec![job];
        Ok(Some(alone))
    }
}

/// Replaces the rules by which `job` starts and stops with others by times.
fn settle(job: &mut Job, sends_for: Option<Time>) -> Result<(), Problem> {
    let (name, entry) = (job.name.to_string(), job.entry);
    let (start, ends_with_others) = (job.start.at, job.ends_with_others());
    match (job.workload.value_mut(), sends_for) {
        (Workload::Synthetic(traffic), Some(time)) if ends_with_others => {
            // One picosecond more: a message created at the end of the time is included.
            let stop = start.0.saturating_add(time.0).saturating_add(1);
            traffic.stop = Some(Time(stop).min(Time::LONGEST));
        }
        (_, Some(_)) => {
            let problem = format!("job \"{name}\" ends by itself, with and without the other jobs");
            return Err(Problem::new(format!("jobs.{entry}"), problem, "no time to send for"));
        }
        (_, None) if ends_with_others => {
            let key = if job.until.is_empty() { "start_after" } else { "until" };
            let problem = format!(
                "the end of job \"{name}\" depends on other jobs, which a run of this job alone \
             lacks"
            );
            let expected = "the time for which it sent beside the other jobs";
            return Err(Problem::new(format!("jobs.{entry}.{key}"), problem, expected));
        }
        (_, None) => {}
    }
    job.start_after.set(Vec::new());
    job.until.set(Vec::new());
    Ok(())
}

//! How the run stands: a few numbers per job, of a part or of all.

use super::Hosts;
use super::jobs::{Awaited, WaitingJob};
use super::plan::{HostPlan, JobPlan};
use odonata_engine::Time;

/// A job as far as some parts know it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
struct JobStanding {
    ranks: u32,
    finished: u32,
    /// When the first of its ranks started.
    started: Option<Time>,
    /// What its rank 0 has yet to hear of; known where that is.
    awaited: Awaited,
}

/// How the jobs stand, as far as some parts know.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Standing {
    jobs: Vec<JobStanding>,
    /// When something last happened: sources that were told to stop leave events behind that do nothing, and may lie
    /// far ahead. `None`: at the last event.
    pub last_event: Option<Time>,
}

impl Hosts {
    /// How the run stands in this part.
    pub fn standing(&self) -> Standing {
        let mut jobs = vec![JobStanding::default(); self.jobs.len()];
        for (rank, metrics) in self.metrics.iter() {
            let job = &mut jobs[usize::from(self.places[rank as usize].job)];
            job.ranks += 1;
            job.finished += u32::from(metrics.finished);
            job.started = earlier(job.started, metrics.start);
        }
        for (number, job) in (0..).zip(&mut jobs) {
            if self.has(self.job(number).first_rank) {
                job.awaited = self.awaited(number);
            }
        }
        Standing {
            jobs,
            last_event: self.last_event(),
        }
    }

    /// When the first rank of `job` started, given how all parts stand; `None` if none has.
    pub fn started(&self, job: u16, standing: &Standing) -> Option<Time> {
        let plan = &self.jobs[usize::from(job)];
        if plan.start_after.is_empty() {
            return Some(plan.start);
        }
        standing.jobs[usize::from(job)].started
    }

    /// The jobs that wait for others, in their order, given how all parts stand.
    pub fn waiting_jobs(&self, standing: &Standing) -> Vec<WaitingJob> {
        standing.waiting_jobs(&self.jobs)
    }
}

impl HostPlan {
    /// The jobs that wait for others, in their order, given how all parts stand.
    pub(crate) fn waiting_jobs(&self, standing: &Standing) -> Vec<WaitingJob> {
        standing.waiting_jobs(self.jobs())
    }
}

fn earlier(a: Option<Time>, b: Option<Time>) -> Option<Time> {
    a.into_iter().chain(b).min()
}

impl Standing {
    fn waiting_jobs(&self, plans: &[JobPlan]) -> Vec<WaitingJob> {
        let unfinished = |job: u16| {
            let job = &self.jobs[usize::from(job)];
            job.ranks - job.finished
        };
        let wait = |job: u16| {
            let plan = &plans[usize::from(job)];
            let awaited = self.jobs[usize::from(job)].awaited;
            let unstarted = awaited.start > 0;
            let list = match (unstarted, awaited.stop > 0 && unfinished(job) > 0) {
                (true, _) => &plan.start_after,
                (false, true) => &plan.until,
                _ => return None,
            };
            let waits_for = list.iter().map(|&other| (other, unfinished(other)));
            Some(WaitingJob {
                job,
                unstarted,
                waits_for: waits_for.filter(|&(_, count)| count > 0).collect(),
            })
        };
        (0..plans.len() as u16).filter_map(wait).collect()
    }

    /// What two sets of parts know together.
    pub fn join(mut self, other: Standing) -> Standing {
        for (job, more) in self.jobs.iter_mut().zip(other.jobs) {
            job.ranks += more.ranks;
            job.finished += more.finished;
            job.started = earlier(job.started, more.started);
            // All but one know nothing, which is zero.
            job.awaited.start += more.awaited.start;
            job.awaited.stop += more.awaited.stop;
        }
        self.last_event = self.last_event.max(other.last_event);
        self
    }

    /// Ranks that have come to their end, and all ranks.
    pub fn finished(&self) -> (u64, u64) {
        let sum = |count: fn(&JobStanding) -> u32| self.jobs.iter().map(|job| u64::from(count(job))).sum();
        (sum(|job| job.finished), sum(|job| job.ranks))
    }

    /// Ranks that have not come to their end.
    pub fn unfinished(&self) -> u64 {
        let (finished, all) = self.finished();
        all - finished
    }

    /// The share of ranks that have come to their end.
    pub fn progress_fraction(&self) -> f64 {
        let (finished, all) = self.finished();
        finished as f64 / all.max(1) as f64
    }
}

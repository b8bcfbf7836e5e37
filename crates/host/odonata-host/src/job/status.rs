//! Job status: the progress of each job in a few numbers, of one part or of all.

use crate::job::control::{Awaited, WaitingJob};
use crate::metrics::RankMetrics;
use crate::plan::HostPlan;
use crate::view::JobPlans;
use odonata_engine::Time;

/// The status of a job as known to some parts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct JobStatus {
    pub(crate) ranks: u32,
    pub(crate) finished: u32,
    /// Start time of its first rank.
    pub(crate) started: Option<Time>,
    /// Messages sent by its ranks.
    pub(crate) sent: u64,
    /// Signals that its rank 0 still waits for; known only to the part of rank 0.
    pub(crate) awaited: Awaited,
}

/// The status of all jobs, as known to some parts.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct JobStatuses {
    jobs: Vec<JobStatus>,
    /// Time of the last effect: stopped sources leave events without effect, possibly far ahead. `None`: at the last
    /// event.
    pub last_event: Option<Time>,
}

impl JobStatus {
    /// Adds a rank with these metrics.
    pub(crate) fn add_rank(&mut self, metrics: &RankMetrics) {
        self.ranks += 1;
        self.finished += u32::from(metrics.finished);
        self.started = earlier(self.started, metrics.start);
        self.sent += metrics.sends;
    }
}

impl HostPlan {
    /// What was planned for the jobs.
    pub fn plans(&self) -> JobPlans<'_> {
        JobPlans(self.jobs())
    }
}

fn earlier(a: Option<Time>, b: Option<Time>) -> Option<Time> {
    a.into_iter().chain(b).min()
}

impl JobStatuses {
    pub(crate) fn new(jobs: Vec<JobStatus>, last_event: Option<Time>) -> Self {
        JobStatuses { jobs, last_event }
    }

    /// Start time of the first rank of `job`; `None` if no rank has started.
    pub fn started(&self, plans: JobPlans<'_>, job: u16) -> Option<Time> {
        let plan = &plans.0[usize::from(job)];
        if !plan.starts_later() {
            return Some(plan.start);
        }
        self.of(job).started
    }

    /// The jobs that wait for others, in order.
    pub fn waiting_jobs(&self, plans: JobPlans<'_>) -> Vec<WaitingJob> {
        let plans = plans.0;
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

    pub(crate) fn of(&self, job: u16) -> &JobStatus {
        &self.jobs[usize::from(job)]
    }

    /// Combines the knowledge of two sets of parts.
    pub fn join(mut self, other: JobStatuses) -> JobStatuses {
        for (job, more) in self.jobs.iter_mut().zip(other.jobs) {
            job.ranks += more.ranks;
            job.finished += more.finished;
            job.started = earlier(job.started, more.started);
            job.sent += more.sent;
            // All parts but one have zeros here.
            job.awaited.start += more.awaited.start;
            job.awaited.stop += more.awaited.stop;
        }
        self.last_event = self.last_event.max(other.last_event);
        self
    }

    /// Number of finished ranks, and of all ranks.
    pub fn finished(&self) -> (u64, u64) {
        let sum = |count: fn(&JobStatus) -> u32| self.jobs.iter().map(|job| u64::from(count(job))).sum();
        (sum(|job| job.finished), sum(|job| job.ranks))
    }

    /// Number of unfinished ranks.
    pub fn unfinished(&self) -> u64 {
        let (finished, all) = self.finished();
        all - finished
    }

    /// The fraction of ranks that have finished.
    pub fn progress_fraction(&self) -> f64 {
        let (finished, all) = self.finished();
        finished as f64 / all.max(1) as f64
    }
}

//! Reading the hosts: metrics, records, progress, the digest.

use super::Hosts;
use super::metrics::{IoRecord, IterationRecord, MessageRecord, RankMetrics};
use super::params::JobProgram;
use odonata_engine::Time;
use odonata_network::Histogram;
use odonata_storage::Servers;

/// What there is to know about a job.
#[derive(Clone, Copy, Debug)]
pub struct JobView<'a> {
    /// Its name.
    pub name: &'a str,
    /// Number of ranks.
    pub ranks: u32,
    /// The number of its rank 0 among the ranks of all jobs.
    pub first_rank: u32,
    /// When its ranks start; for a job that waits for others, how long after their end. See
    /// [`Hosts::started`].
    pub start: Time,
    /// Whether it is open-loop traffic, which waits for nothing.
    pub synthetic: bool,
}

impl Hosts {
    /// Number of jobs.
    pub fn jobs(&self) -> u16 {
        self.jobs.len() as u16
    }

    /// Job `job`.
    pub fn job(&self, job: u16) -> JobView<'_> {
        let plan = &self.jobs[usize::from(job)];
        JobView {
            name: &plan.name,
            ranks: plan.ranks,
            first_rank: plan.first_rank,
            start: plan.start,
            synthetic: matches!(plan.program, JobProgram::Synthetic { .. }),
        }
    }

    /// The job of a rank that is counted over all jobs, and its number there.
    pub fn job_of(&self, rank: u32) -> (u16, u32) {
        let job = self.places[rank as usize].job;
        (job, rank - self.jobs[usize::from(job)].first_rank)
    }

    /// What was measured at rank `rank` of `job`.
    pub fn metrics(&self, job: u16, rank: u32) -> &RankMetrics {
        self.metrics.get(self.jobs[usize::from(job)].first_rank + rank)
    }

    /// The node of rank `rank` of `job`.
    pub fn node(&self, job: u16, rank: u32) -> u32 {
        self.places[(self.jobs[usize::from(job)].first_rank + rank) as usize].node
    }

    /// Reads and writes, in the order in which they ended, up to the limit.
    pub fn io_records(&self) -> &[IoRecord] {
        self.io_rows.as_slice()
    }

    /// Messages, in the order of their arrival, up to the limit.
    pub fn message_records(&self) -> &[MessageRecord] {
        self.message_rows.as_slice()
    }

    /// Ends of iterations, in the order in which they happened.
    pub fn iteration_records(&self) -> &[IterationRecord] {
        self.iteration_rows.as_slice()
    }

    /// Message latency from call to arrival, per traffic: that of number `2 job` is the job's MPI, the
    /// next one its I/O.
    pub fn message_latency(&self) -> &Histogram {
        &self.message_latency
    }

    /// The storage servers.
    pub fn servers(&self) -> &Servers {
        &self.servers
    }

    /// Ends the storage servers' books at `now`, when a run ends in the middle of requests.
    pub fn close_books(&mut self, now: Time) {
        self.servers.close_books(now);
    }

    /// Whether rank `rank`, counted over all jobs, is of this part.
    pub(crate) fn has(&self, rank: u32) -> bool {
        self.processes.contains(&self.places[rank as usize].lp)
    }

    /// Bytes of memory held by the hosts' state, without records and storage servers.
    pub fn memory(&self) -> usize {
        self.ranks.memory()
            + self.activities.memory()
            + self.inboxes.memory()
            + self.requests.memory()
            + self.plans.memory()
            + self.outgoing.memory()
            + self.incoming.memory()
            + self.deferred.memory()
            + self.chores.memory()
            + self.posted.memory()
            + self.waiting.memory()
            + self.chains.memory()
            + self.peers.memory()
            + self.streams.memory()
            + self.sources.memory()
            + self.unreported.memory()
            + self.awaited.memory()
            + self.last.memory()
            + self.parcels.memory()
            + self.io_ops.memory()
            + self.metrics.memory()
            + self.places.len() * size_of::<super::rank::Place>()
    }
}

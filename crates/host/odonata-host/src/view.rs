//! Read access to the hosts: metrics, records, progress, the digest.

use crate::Hosts;
use crate::metrics::{IoRecord, IterationRecord, MessageRecord, RankMetrics};
use crate::observe::matches::MatchRecord;
use crate::params::JobProgram;
use odonata_engine::Time;
use odonata_network::Histogram;
use odonata_storage::MeasuredServers;

/// Properties of a job.
#[derive(Clone, Copy, Debug)]
pub struct JobView<'a> {
    /// Its name.
    pub name: &'a str,
    /// Number of ranks.
    pub ranks: u32,
    /// The number of its rank 0 among all ranks.
    pub first_rank: u32,
    /// Start time of its ranks; for a job that waits for others, the delay after their end. See [`Hosts::started`].
    pub start: Time,
    /// Whether it is open-loop traffic, which never waits.
    pub synthetic: bool,
}

impl Hosts {
    /// Number of jobs.
    pub fn jobs(&self) -> u16 {
        self.layout.jobs.len() as u16
    }

    /// Properties of job `job`.
    pub fn job(&self, job: u16) -> JobView<'_> {
        let plan = self.layout.job(job);
        JobView {
            name: &plan.name,
            ranks: plan.ranks,
            first_rank: plan.first_rank,
            start: plan.start,
            synthetic: matches!(plan.program, JobProgram::Synthetic { .. }),
        }
    }

    /// The job of a rank numbered over all jobs, and its number in the job.
    pub fn job_of(&self, rank: u32) -> (u16, u32) {
        (self.layout.place(rank).job, self.layout.local(rank))
    }

    /// The metrics of rank `rank` of `job`.
    pub fn metrics(&self, job: u16, rank: u32) -> &RankMetrics {
        self.records.metrics(self.layout.job(job).first_rank + rank)
    }

    /// The node of rank `rank` of `job`.
    pub fn node(&self, job: u16, rank: u32) -> u32 {
        self.layout.place(self.layout.job(job).first_rank + rank).node
    }

    /// Reads and writes in the order of their ends, up to the limit.
    pub fn io_records(&self) -> &[IoRecord] {
        self.records.io()
    }

    /// Messages in the order of arrival, up to the limit.
    pub fn message_records(&self) -> &[MessageRecord] {
        self.records.messages()
    }

    /// Ends of iterations, in order.
    pub fn iteration_records(&self) -> &[IterationRecord] {
        self.records.iterations()
    }

    /// The decisions of message matching in order, if recorded.
    pub fn match_records(&self) -> &[MatchRecord] {
        self.observers.matches.records()
    }

    /// Message latency from call to arrival, per traffic class: `2 job` is the job's MPI, `2 job + 1` its I/O.
    pub fn message_latency(&self) -> &Histogram {
        self.records.message_latency()
    }

    /// What the storage servers have and have measured.
    pub fn servers(&self) -> MeasuredServers<'_> {
        self.io.servers.servers().measured()
    }

    /// Number of reads and writes in progress from ranks of this part.
    pub fn file_transfers(&self) -> u64 {
        self.io.calls.live().into()
    }

    /// Applies the failures of storage servers up to `now`, the end of the run.
    pub fn fail_servers(&mut self, now: Time) {
        self.io.servers.fail_until(now);
        self.io.metadata.fail_until(now);
    }

    /// Charges the open waits at the servers at `now`, for a run that ends in the middle of requests.
    pub fn charge_open_waits(&mut self, now: Time) {
        self.io.servers.charge_open_waits(now);
        self.io.metadata.charge_open_waits(now);
    }
}

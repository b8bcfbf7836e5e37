//! Reading the hosts: metrics, records, progress, the digest.

use super::Hosts;
use super::metrics::{IoRecord, IterationRecord, MessageRecord, RankMetrics};
use super::params::JobProgram;
use odonata_engine::{Digest, Time};
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

    /// The node of storage server `server`.
    pub fn server_node(&self, server: u32) -> u32 {
        self.server_places[server as usize].0
    }

    /// Ranks that have come to their end, and all ranks.
    pub fn finished(&self) -> (u64, u64) {
        (
            self.metrics.iter().filter(|metrics| metrics.finished).count() as u64,
            self.metrics.len() as u64,
        )
    }

    /// From the first I/O request of `job` to its last acknowledgement, if it did any.
    pub fn io_span(&self, job: u16) -> Option<(Time, Time)> {
        let ranks = (0..self.job(job).ranks).map(|rank| self.metrics(job, rank));
        ranks
            .filter(|metrics| metrics.io_operations > 0)
            .map(|metrics| (metrics.io_first, metrics.io_last))
            .reduce(|(first, last), (f, l)| (first.min(f), last.max(l)))
    }

    /// The share of ranks that have come to their end.
    pub fn progress_fraction(&self) -> f64 {
        let (finished, all) = self.finished();
        finished as f64 / all.max(1) as f64
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
            + self.envelopes.memory()
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
            + self.io_headers.memory()
            + self.metrics.memory()
            + self.places.capacity() * size_of::<super::rank::Place>()
    }

    /// Adds every result to a digest. Records are sorted first, since those of an instant can come in
    /// any order; with a limit on records, those at the limit are part of the result only as far as
    /// the scheduler keeps the order of time.
    pub fn results(&self, digest: &mut Digest) {
        for metrics in self.metrics.iter() {
            metrics.results(digest);
        }
        for job in self.jobs.iter().filter(|job| !job.start_after.is_empty()) {
            for rank in job.first_rank..job.first_rank + job.ranks {
                digest.word(self.metrics.get(rank).start.map_or(u64::MAX, |start| start.0));
            }
        }
        self.message_latency.results(digest);
        let mut iterations = self.iteration_rows.as_slice().to_vec();
        iterations.sort_unstable();
        for IterationRecord {
            job,
            rank,
            iteration,
            time,
        } in iterations
        {
            for word in [u64::from(job), u64::from(rank), u64::from(iteration), time.0] {
                digest.word(word);
            }
        }
        let mut files = self.io_rows.as_slice().to_vec();
        files.sort_unstable();
        for IoRecord {
            job,
            rank,
            server,
            write,
            file,
            bytes,
            start,
            end,
        } in files
        {
            let head = [u64::from(job), u64::from(rank), u64::from(server), u64::from(write)];
            for word in head.into_iter().chain([file, bytes, start.0, end.0]) {
                digest.word(word);
            }
        }
        let mut messages = self.message_rows.as_slice().to_vec();
        messages.sort_unstable();
        for m in messages {
            let head = [
                u64::from(m.job),
                u64::from(m.io),
                u64::from(m.source),
                u64::from(m.destination),
            ];
            for word in head
                .into_iter()
                .chain([u64::from(m.from_server), m.bytes, m.created.0, m.latency.0])
            {
                digest.word(word);
            }
        }
        self.servers.results(digest);
    }
}

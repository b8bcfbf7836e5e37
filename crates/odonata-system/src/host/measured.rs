//! What the hosts have measured: counters and records without the state that made them, to be put together from
//! their parts.

use super::Hosts;
use super::metrics::{IoRecord, IterationRecord, MessageRecord, RankMetrics, ReportRecord};
use odonata_engine::{Digest, Mode, Time};
use odonata_network::Histogram;
use odonata_storage::{Metrics, RESOURCES, ServerCharge, ServerWaitSeries};
use std::collections::BTreeMap;

/// Everything that was measured in a part of the hosts, or in all of them.
#[derive(Debug, serde::Serialize, serde::Deserialize)]
pub struct HostMeasured {
    /// Ranks, counted over all jobs, in order.
    pub ranks: Vec<(u32, RankMetrics)>,
    /// Message latency from call to arrival, per traffic: that of number `2 job` is the job's MPI, the next one its I/O.
    pub message_latency: Histogram,
    /// Messages that have arrived, up to the limit; put together, in order of job, class, source and so on.
    pub messages: Vec<MessageRecord>,
    /// Reads and writes, up to the limit; put together, in order of job and rank.
    pub io: Vec<IoRecord>,
    /// Ends of iterations.
    pub iterations: Vec<IterationRecord>,
    /// Values that programs have reported, in order of job, rank and time.
    pub reports: Vec<ReportRecord>,
    /// Storage servers, in order.
    pub servers: Vec<(u32, Metrics)>,
    /// Who waited for whom at which server, in order of server, resource, victim, culprit.
    pub blame: Vec<ServerCharge>,
    /// The same over time: start of interval, resource, victim, culprit.
    waits: BTreeMap<(Time, u8, u16, u16), Time>,
    /// Time in which devices served requests, per job.
    pub device_time: Vec<Time>,
    /// For jobs that wait for others: when each rank started.
    first_rank: Vec<u32>,
    waiting: Vec<bool>,
    message_limit: u64,
    io_limit: u64,
}

impl Hosts {
    /// What this part has measured, if the run ends at `now`: with what unfinished operations have cost until then.
    pub fn measured(&self, now: Time) -> HostMeasured {
        let jobs = 0..self.jobs();
        let metrics = |(number, _): (u32, &RankMetrics)| {
            let (job, rank) = self.job_of(number);
            (number, self.metrics_until(job, rank, now))
        };
        let charge = |charge: ServerCharge| ServerCharge {
            server: self.server_numbers[charge.server as usize],
            ..charge
        };
        let name = |wait: &ServerWaitSeries| (wait.start, wait.resource, wait.victim, wait.culprit);
        HostMeasured {
            ranks: self.metrics.iter().map(metrics).collect(),
            message_latency: self.message_latency.copied(),
            messages: self.message_rows.as_slice().to_vec(),
            io: self.io_rows.as_slice().to_vec(),
            iterations: self.iteration_rows.as_slice().to_vec(),
            reports: self.report_rows.as_slice().to_vec(),
            servers: (0..)
                .zip(self.server_numbers.iter())
                .map(|(local, &server)| (server, self.servers.metrics(local)))
                .collect(),
            blame: self.servers.blame().map(charge).collect(),
            waits: self
                .servers
                .blame_series()
                .map(|wait| (name(&wait), wait.time))
                .collect(),
            device_time: jobs.clone().map(|job| self.servers.device_time(job)).collect(),
            first_rank: jobs.clone().map(|job| self.job(job).first_rank).collect(),
            waiting: self.jobs.iter().map(|job| !job.start_after.is_empty()).collect(),
            message_limit: self.params.records.messages,
            io_limit: self.params.records.io,
        }
    }
}

impl HostMeasured {
    /// Puts together what parts have measured, given in the order of their logical processes; `None` if there is no
    /// part.
    pub fn join(parts: impl IntoIterator<Item = HostMeasured>) -> Option<HostMeasured> {
        let mut all = parts.into_iter().reduce(|mut sum, part| {
            sum.absorb(part);
            sum
        })?;
        all.ranks.sort_unstable_by_key(|&(rank, _)| rank);
        all.servers.sort_unstable_by_key(|&(server, _)| server);
        all.blame
            .sort_unstable_by_key(|charge| (charge.server, charge.resource, charge.victim, charge.culprit));
        keep_first(&mut all.messages, all.message_limit, |record| {
            record.created + record.latency
        });
        keep_first(&mut all.io, all.io_limit, |record| record.end);
        all.iterations.sort_unstable();
        all.reports.sort_unstable();
        Some(all)
    }

    fn absorb(&mut self, next: HostMeasured) {
        self.ranks.extend(next.ranks);
        self.message_latency.absorb(&next.message_latency);
        self.messages.extend(next.messages);
        self.io.extend(next.io);
        self.iterations.extend(next.iterations);
        self.reports.extend(next.reports);
        self.servers.extend(next.servers);
        self.blame.extend(next.blame);
        for (name, time) in next.waits {
            let sum = self.waits.entry(name).or_insert(Time::ZERO);
            *sum = Time(sum.0.wrapping_add(time.0));
        }
        for (sum, time) in self.device_time.iter_mut().zip(next.device_time) {
            *sum += time;
        }
    }

    /// What was measured at rank `rank` of `job`; of all parts put together.
    pub fn metrics(&self, job: u16, rank: u32) -> &RankMetrics {
        &self.ranks[(self.first_rank[usize::from(job)] + rank) as usize].1
    }

    /// The same, of all ranks of `job`, of which there are `ranks`.
    pub fn of_job(&self, job: u16, ranks: u32) -> impl Iterator<Item = &RankMetrics> {
        (0..ranks).map(move |rank| self.metrics(job, rank))
    }

    /// From the first I/O request of `job` to its last acknowledgement, if it did any.
    pub fn io_span(&self, job: u16, ranks: u32) -> Option<(Time, Time)> {
        self.of_job(job, ranks)
            .filter(|metrics| metrics.io_operations > 0)
            .map(|metrics| (metrics.io_first, metrics.io_last))
            .reduce(|(first, last), (f, l)| (first.min(f), last.max(l)))
    }

    /// Who waited for whom at servers over time.
    pub fn blame_series(&self) -> impl Iterator<Item = ServerWaitSeries> + '_ {
        self.waits
            .iter()
            .map(|(&(start, resource, victim, culprit), &time)| ServerWaitSeries {
                start,
                resource,
                victim,
                culprit,
                time,
            })
    }

    /// Adds every result to a digest.
    pub fn results(&self, digest: &mut Digest) {
        for (_, metrics) in &self.ranks {
            metrics.results(digest);
        }
        let jobs = self.first_rank.len();
        for job in (0..jobs).filter(|&job| self.waiting[job]) {
            let end = self
                .first_rank
                .get(job + 1)
                .map_or(self.ranks.len(), |&next| next as usize);
            for (_, metrics) in &self.ranks[self.first_rank[job] as usize..end] {
                digest.word(metrics.start.map_or(u64::MAX, |start| start.0));
            }
        }
        self.message_latency.results(digest);
        for IterationRecord {
            job,
            rank,
            iteration,
            time,
        } in &self.iterations
        {
            for word in [u64::from(*job), u64::from(*rank), u64::from(*iteration), time.0] {
                digest.word(word);
            }
        }
        for r in &self.reports {
            let names = [
                u64::from(r.job),
                u64::from(r.rank),
                u64::from(r.report),
                u64::from(r.index),
            ];
            for word in names.into_iter().chain([r.value, r.time.0]) {
                digest.word(word);
            }
        }
        for r in &self.io {
            let head = [
                u64::from(r.job),
                u64::from(r.rank),
                u64::from(r.server),
                u64::from(r.write),
            ];
            for word in head.into_iter().chain([r.file, r.bytes, r.start.0, r.end.0]) {
                digest.word(word);
            }
        }
        for m in &self.messages {
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
        for (_, metrics) in &self.servers {
            digest.text(&format!("{metrics:?}"));
        }
        for charge in &self.blame {
            let culprit = charge.culprit.map_or(u64::MAX, u64::from);
            let names = u64::from(charge.victim) << 8 | u64::from(charge.resource);
            let line = u64::from(charge.server) * RESOURCES.len() as u64 + u64::from(charge.resource);
            for word in [line, names, culprit, charge.time.0] {
                digest.word(word);
            }
        }
        for wait in self.blame_series() {
            let names = u64::from(wait.victim) << 32 | u64::from(wait.culprit) << 8 | u64::from(wait.resource);
            for word in [wait.start.0, names, wait.time.0] {
                digest.word(word);
            }
        }
    }
}

/// Tables of which the first rows are kept.
#[derive(Clone, Copy)]
pub(super) enum Table {
    Messages,
    Io,
}

impl Hosts {
    /// Whether the next row of `table`, of something that has ended at `end`, may be one of the first `limit`, beside the
    /// `rows` that are there. Rows come nearly in the order of their ends: LPs may be at different times. What has ended
    /// with the last of so many is kept as well; which rows are the first is decided when all parts are put together.
    pub(super) fn keeps_row<M: Mode>(&mut self, table: Table, rows: usize, limit: u64, end: Time) -> bool {
        let last = *self.ends.get(table as u32);
        if rows as u64 >= limit {
            return limit > 0 && end <= last;
        }
        if end > last {
            *self.ends.edit::<M>(table as u32) = end;
        }
        true
    }
}

/// Cuts `records` down to the `limit` that have ended first, and sorts them. Each part has kept so many, and what ended with
/// the last of them: together they have the first of all.
fn keep_first<R: Ord + Copy>(records: &mut Vec<R>, limit: u64, end: impl Fn(&R) -> Time) {
    if records.len() as u64 > limit {
        records.sort_unstable_by_key(|record| (end(record), *record));
        records.truncate(limit as usize);
    }
    records.sort_unstable();
}

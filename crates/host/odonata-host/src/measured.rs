//! Measurements of the hosts: counters and records without the simulation state, to be merged from parts.

use crate::Hosts;
use crate::RetryCounts;
use crate::StageMeasured;
use crate::TimelineMeasured;
use crate::io::Io;
use crate::layout::Layout;
use crate::metrics::{IoRecord, IterationRecord, MessageRecord, RankMetrics, ReportRecord};
use crate::observe::exposed::ExposedTime;
use crate::observe::lost::path::PathRecord;
use crate::observe::lost::progress::{self, JobStamp, LostInterval};
use crate::observe::lost::{Dependent, LostTime};
use crate::observe::records::Records;
use odonata_blame::lost::Stamp;
use odonata_engine::{Digest, Time};
use odonata_network::Histogram;
use odonata_storage::{
    DeviceMetrics, FaultMetrics, LockMetrics, Losses, MetadataMetrics, Metrics, Occupancy, RESOURCES, ServerCharge,
    ServerWaitSeries, TierContents, TierMetrics,
};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

/// All measurements of one part of the hosts, or of all parts.
#[derive(Debug, serde::Serialize, serde::Deserialize)]
pub struct HostMeasured {
    /// Metrics per rank; ranks are numbered over all jobs, in order.
    pub ranks: Vec<(u32, RankMetrics)>,
    /// Message latency from call to arrival, per traffic class: `2 job` is the job's MPI, `2 job + 1` its I/O.
    pub message_latency: Histogram,
    /// Arrived messages, up to the limit; once merged, ordered by job, class, source and the remaining fields.
    pub messages: Vec<MessageRecord>,
    /// Reads and writes, up to the limit; once merged, ordered by job and rank.
    pub io: Vec<IoRecord>,
    /// Ends of iterations.
    pub iterations: Vec<IterationRecord>,
    /// Values reported by programs, ordered by job, rank and time.
    pub reports: Vec<ReportRecord>,
    /// Single actions of ranks and servers, if requested; not part of the digest.
    pub timeline: TimelineMeasured,
    /// Storage servers, in order.
    pub servers: Vec<(u32, Metrics)>,
    /// Locks of storage servers, in order; empty without locks.
    pub locks: Vec<(u32, LockMetrics)>,
    /// Metadata servers, in order; their numbers follow those of the storage servers.
    pub metadata: Vec<(u32, MetadataMetrics)>,
    /// Devices of storage servers: server, device number on the server.
    pub devices: Vec<(u32, u32, DeviceMetrics)>,
    /// Costs of faults: server, device number on the server; only devices that had a fault.
    pub faults: Vec<(u32, u32, FaultMetrics)>,
    /// Losses by failures of storage servers: server, job; only those with a loss.
    pub losses: Vec<(u32, u16, Losses)>,
    /// Bytes of removed files: storage server, job; only nonzero entries.
    pub removed: Vec<(u32, u16, u64)>,
    /// Retries of clients, by job and by storage server; empty if clients wait forever.
    pub retries: (Vec<RetryCounts>, Vec<RetryCounts>),
    /// Whether a server of a lower tier fails.
    pub below_fails: bool,
    /// Resource usage of servers: interval (counted from 0), server, sums over time; in order.
    pub occupancy: Vec<(u64, u32, Occupancy)>,
    /// Work of each tier of servers per job, and the location of its bytes, by tier and job; empty with a single tier.
    pub tiers: BTreeMap<(u8, u16), (TierMetrics, TierContents)>,
    /// Staging of each job, in and out; empty with a single tier.
    pub stages: BTreeMap<u16, StageMeasured>,
    /// Waiting time at servers, ordered by server, resource, victim, culprit.
    pub blame: Vec<ServerCharge>,
    /// Waiting time over time: start of interval, tier, resource, victim, culprit.
    waits: BTreeMap<(Time, u8, u8, u16, u16), Time>,
    /// Lost time of ranks up to their ends, or up to now, in order of ranks; empty unless requested, and not part of
    /// the digest.
    pub lost: Vec<(u32, Stamp)>,
    /// Lost time of ranks before their start, where nonzero, in order; empty unless requested.
    pub lost_before: Vec<(u32, Stamp)>,
    /// Waits for communication of ranks whose program states its parallelism, in order of ranks.
    pub exposed: Vec<(u32, ExposedTime)>,
    /// The last waits in which ranks lost time, ordered by rank and number; empty unless requested.
    pub lost_path: Vec<PathRecord>,
    /// Lost time of jobs by the end of each iteration, by job and iteration; empty unless lost time is recorded.
    pub lost_iterations: BTreeMap<(u16, u32), JobStamp>,
    /// Lost time of jobs per interval, in order; empty unless requested.
    pub lost_intervals: Vec<LostInterval>,
    /// Time during which devices served requests, per job, in ps.
    pub device_time_ps: Vec<u128>,
    /// Time at which the last written byte of each job reached a device; `None` without one.
    pub last_commit: Vec<Option<Time>>,
    /// For jobs that wait for others: start time of each rank.
    first_rank: Vec<u32>,
    waiting: Vec<bool>,
    message_limit: u64,
    io_limit: u64,
}

impl HostMeasured {
    /// The measurements of a part if the run ends at `now`.
    pub(crate) fn of(hosts: &Hosts, now: Time) -> HostMeasured {
        let jobs = 0..hosts.jobs();
        let metrics = |(number, _): (u32, &RankMetrics)| {
            let (job, rank) = hosts.job_of(number);
            (number, hosts.metrics_until(job, rank, now))
        };
        let (records, lost) = (&hosts.observers.records, &hosts.observers.lost);
        let (servers, metadata) = (&hosts.io.servers, &hosts.io.metadata);
        let name = |wait: &ServerWaitSeries| (wait.start, wait.tier, wait.resource, wait.victim, wait.culprit);
        let mut waits = BTreeMap::new();
        let faults = &hosts.observers.fault_waits;
        // Client and server may both report waits for the same fault.
        for wait in (servers.blame_series().chain(metadata.blame_series())).chain(faults.blame_series()) {
            let sum = waits.entry(name(&wait)).or_insert(Time::ZERO);
            *sum = Time(sum.0.wrapping_add(wait.time.0));
        }
        HostMeasured {
            ranks: records.all_metrics().map(metrics).collect(),
            message_latency: records.message_latency().copied(),
            messages: records.messages().to_vec(),
            io: records.io().to_vec(),
            iterations: records.iterations().to_vec(),
            reports: records.reports().to_vec(),
            timeline: hosts.timeline_measured(now),
            servers: servers.metrics().collect(),
            locks: servers.lock_metrics().collect(),
            metadata: metadata.metrics().collect(),
            devices: servers.devices().collect(),
            faults: servers.faults().collect(),
            losses: servers.losses().collect(),
            removed: servers.removed().collect(),
            retries: hosts.io.client.counts(),
            below_fails: hosts.io.client.watches_lower_tiers(),
            occupancy: servers.occupancy(now).collect(),
            tiers: servers.tiers(),
            stages: stages(&hosts.io),
            blame: servers.blame().chain(metadata.blame()).chain(faults.blame()).collect(),
            waits,
            lost_path: lost_path(lost, records, now),
            lost_iterations: lost.progress().iterations(),
            lost_intervals: lost.progress().intervals(),
            lost: lost_until(lost, records, now),
            lost_before: lost_before(lost, records),
            exposed: hosts.exposed_until(now),
            device_time_ps: jobs.clone().map(|job| servers.device_time_ps(job)).collect(),
            last_commit: jobs.clone().map(|job| servers.last_commit(job)).collect(),
            first_rank: jobs.clone().map(|job| hosts.job(job).first_rank).collect(),
            waiting: hosts.layout.jobs.iter().map(|job| job.starts_later()).collect(),
            message_limit: hosts.params.records.messages,
            io_limit: hosts.params.records.io,
        }
    }
}

/// Lost time of the ranks started in this part, up to their ends or to `now`.
fn lost_until(lost: &LostTime, records: &Records, now: Time) -> Vec<(u32, Stamp)> {
    if !lost.is_on() {
        return Vec::new();
    }
    let of_rank = |(rank, metrics): (u32, &RankMetrics)| {
        let stamp = lost.stamps.stamp(Dependent::Rank(rank))?;
        let end = if metrics.finished { metrics.end } else { now };
        Some((rank, stamp.later(end)))
    };
    records.all_metrics().filter_map(of_rank).collect()
}

/// Lost time before the start of the ranks started in this part.
fn lost_before(lost: &LostTime, records: &Records) -> Vec<(u32, Stamp)> {
    let of_rank = |(rank, _)| Some((rank, lost.stamps.stamp(Dependent::Start(rank))?));
    match lost.is_on() {
        true => records.all_metrics().filter_map(of_rank).collect(),
        false => Vec::new(),
    }
}

/// The last waits of the ranks started in this part.
fn lost_path(lost: &LostTime, records: &Records, now: Time) -> Vec<PathRecord> {
    let Some(path) = lost.path() else {
        return Vec::new();
    };
    let of_rank = |(rank, stamp): (u32, Stamp)| {
        let start = records.metrics(rank).start.unwrap_or(Time::ZERO);
        path.of_rank(rank, start, &stamp)
    };
    lost_until(lost, records, now).into_iter().flat_map(of_rank).collect()
}

/// Checks for each rank that its losses add up to its delay, and that the delay is no longer than its run.
///
/// # Errors
/// Names the rank whose sum is wrong.
pub(crate) fn audit_lost_time(lost: &LostTime, records: &Records, layout: &Layout) -> Result<(), String> {
    let audit =
        |(rank, stamp): &(u32, Stamp)| (stamp.audit()).map_err(|text| format!("{}: {text}", layout.name(*rank)));
    lost_before(lost, records).iter().try_for_each(audit)?;
    for (rank, stamp) in lost_until(lost, records, Time::ZERO) {
        audit(&(rank, stamp.clone()))?;
        let start = records.metrics(rank).start.unwrap_or(Time::ZERO);
        if stamp.undisturbed < start {
            let (early, name) = ((start - stamp.undisturbed).0, layout.name(rank));
            return Err(format!("{name}: lost time: {early} ps more than it ran"));
        }
    }
    Ok(())
}

/// What each job staged.
fn stages(io: &Io) -> BTreeMap<u16, StageMeasured> {
    let metrics = io.servers.servers().measured().stage_metrics();
    let of_job = |(job, metrics)| {
        let times = io.stages.times(job);
        (job, StageMeasured { times, metrics })
    };
    metrics.map(of_job).collect()
}

impl HostMeasured {
    /// Merges the measurements of parts, given in the order of their logical processes; `None` if there is no part.
    pub fn join(parts: impl IntoIterator<Item = HostMeasured>) -> Option<HostMeasured> {
        parts.into_iter().reduce(HostMeasured::with).map(HostMeasured::in_order)
    }

    fn with(mut self, next: HostMeasured) -> HostMeasured {
        self.absorb(next);
        self
    }

    /// Sorts all records and charges, and cuts them down to their limits.
    fn in_order(mut self) -> HostMeasured {
        self.ranks.sort_unstable_by_key(|&(rank, _)| rank);
        self.lost.sort_unstable_by_key(|&(rank, _)| rank);
        self.lost_before.sort_unstable_by_key(|&(rank, _)| rank);
        self.exposed.sort_unstable_by_key(|&(rank, _)| rank);
        self.lost_path.sort_unstable_by_key(|record| record.at);
        progress::merge(&mut self.lost_intervals);
        self.servers.sort_unstable_by_key(|&(server, _)| server);
        self.locks.sort_unstable_by_key(|&(server, _)| server);
        self.metadata.sort_unstable_by_key(|&(server, _)| server);
        self.devices
            .sort_unstable_by_key(|&(server, device, _)| (server, device));
        self.faults
            .sort_unstable_by_key(|&(server, device, _)| (server, device));
        self.losses.sort_unstable_by_key(|&(server, job, _)| (server, job));
        self.removed.sort_unstable();
        self.occupancy.sort_unstable_by_key(|&(bin, server, _)| (bin, server));
        self.blame
            .sort_unstable_by_key(|charge| (charge.server, charge.resource, charge.victim, charge.culprit));
        // Clients in several parts, and the server itself, have reported waits for the same fault.
        self.blame.dedup_by(|next, sum| {
            let name = |charge: &ServerCharge| (charge.server, charge.resource, charge.victim, charge.culprit);
            let same = name(next) == name(sum);
            if same {
                sum.time += next.time;
            }
            same
        });
        keep_first(&mut self.messages, self.message_limit, |record| {
            record.created + record.latency
        });
        keep_first(&mut self.io, self.io_limit, |record| record.end);
        self.iterations.sort_unstable();
        self.timeline.keep_first();
        self.reports.sort_unstable();
        self
    }

    fn absorb(&mut self, next: HostMeasured) {
        self.ranks.extend(next.ranks);
        self.message_latency.absorb(&next.message_latency);
        self.messages.extend(next.messages);
        self.io.extend(next.io);
        self.iterations.extend(next.iterations);
        self.reports.extend(next.reports);
        self.timeline.absorb(next.timeline);
        self.servers.extend(next.servers);
        self.locks.extend(next.locks);
        self.metadata.extend(next.metadata);
        self.devices.extend(next.devices);
        self.faults.extend(next.faults);
        self.losses.extend(next.losses);
        self.removed.extend(next.removed);
        let sums = self.retries.0.iter_mut().chain(&mut self.retries.1);
        for (sum, counts) in sums.zip(next.retries.0.iter().chain(&next.retries.1)) {
            sum.absorb(counts);
        }
        self.below_fails |= next.below_fails;
        self.occupancy.extend(next.occupancy);
        for (name, (metrics, contents)) in next.tiers {
            let sum = self.tiers.entry(name).or_default();
            sum.0.absorb(&metrics);
            sum.1.absorb(&contents);
        }
        for (job, stage) in next.stages {
            let sum = self.stages.entry(job).or_default();
            sum.times.absorb(&stage.times);
            sum.metrics.absorb(&stage.metrics);
        }
        self.blame.extend(next.blame);
        self.lost.extend(next.lost);
        self.lost_before.extend(next.lost_before);
        self.exposed.extend(next.exposed);
        self.lost_path.extend(next.lost_path);
        self.lost_intervals.extend(next.lost_intervals);
        for (name, stamp) in next.lost_iterations {
            match self.lost_iterations.entry(name) {
                Entry::Vacant(none) => {
                    none.insert(stamp);
                }
                Entry::Occupied(mut all) => all.get_mut().absorb(stamp),
            }
        }
        for (name, time) in next.waits {
            let sum = self.waits.entry(name).or_insert(Time::ZERO);
            *sum = Time(sum.0.wrapping_add(time.0));
        }
        for (sum, time) in self.device_time_ps.iter_mut().zip(next.device_time_ps) {
            *sum += time;
        }
        for (last, time) in self.last_commit.iter_mut().zip(next.last_commit) {
            *last = time.max(*last);
        }
    }

    /// The metrics of rank `rank` of `job`; valid once all parts are merged.
    pub fn metrics(&self, job: u16, rank: u32) -> &RankMetrics {
        &self.ranks[(self.first_rank[usize::from(job)] + rank) as usize].1
    }

    /// The job of a rank numbered over all jobs, and its number in the job.
    pub fn job_of(&self, rank: u32) -> (u16, u32) {
        let job = self
            .first_rank
            .partition_point(|&first| first <= rank)
            .saturating_sub(1);
        (job as u16, rank - self.first_rank[job])
    }

    /// Waits for communication of the ranks of `job`, in order; none if its program does not state its parallelism. Valid
    /// once all parts are merged.
    pub fn exposed_of_job(&self, job: u16) -> impl Iterator<Item = ExposedTime> {
        let first = self.first_rank[usize::from(job)];
        let next = self.first_rank.get(usize::from(job) + 1).copied().unwrap_or(u32::MAX);
        let place = |rank: u32| self.exposed.partition_point(|&(other, _)| other < rank);
        self.exposed[place(first)..place(next)].iter().map(|&(_, time)| time)
    }

    /// The metrics of the `ranks` ranks of `job`; valid once all parts are merged.
    pub fn of_job(&self, job: u16, ranks: u32) -> impl Iterator<Item = &RankMetrics> {
        (0..ranks).map(move |rank| self.metrics(job, rank))
    }

    /// Time of the first I/O request of `job` and of its last acknowledgment, if there are any.
    pub fn io_span(&self, job: u16, ranks: u32) -> Option<(Time, Time)> {
        self.of_job(job, ranks)
            .filter(|metrics| metrics.io_operations > 0)
            .map(|metrics| (metrics.io_first, metrics.io_last))
            .reduce(|(first, last), (f, l)| (first.min(f), last.max(l)))
    }

    /// Checks after a complete run that each tier has passed on to the next exactly what the next received. If servers
    /// of lower tiers fail, the next tier may receive more (written twice) or less (lost on the way to a device); their
    /// own audit covers those bytes.
    ///
    /// # Errors
    /// Names the first tier and job with a mismatch.
    pub fn audit_tiers(&self) -> Result<(), String> {
        if self.below_fails {
            return Ok(());
        }
        for (&(tier, job), (metrics, _)) in &self.tiers {
            let below = self.tiers.get(&(tier + 1, job)).map_or(0, |(below, _)| below.received);
            if metrics.sent != below {
                return Err(format!(
                    "storage: tier {tier} has passed on {} B of job {job}, but the next tier has received {below} B",
                    metrics.sent
                ));
            }
        }
        Ok(())
    }

    /// Waiting time at servers over time.
    pub fn blame_series(&self) -> impl Iterator<Item = ServerWaitSeries> + '_ {
        self.waits
            .iter()
            .map(|(&(start, tier, resource, victim, culprit), &time)| ServerWaitSeries {
                tier,
                start,
                resource,
                victim,
                culprit,
                time,
            })
    }

    /// Adds all results to a digest.
    pub fn results(&self, digest: &mut Digest) {
        for (_, metrics) in &self.ranks {
            metrics.results(digest);
        }
        for (_, exposed) in &self.exposed {
            exposed.results(digest);
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
                r.operation.number(),
            ];
            for word in head.into_iter().chain([r.file, r.bytes, r.start.0, r.end.0]) {
                digest.word(word);
            }
            // With one server, the remaining fields determine these.
            if r.servers > 1 {
                digest.word(r.servers.into());
                digest.word(r.first_byte.0);
            }
            if r.timeouts > 0 {
                digest.word(r.timeouts.into());
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
        for (_, LockMetrics { revocations, wait_ps }) in &self.locks {
            for word in [*revocations, *wait_ps as u64, (*wait_ps >> 64) as u64] {
                digest.word(word);
            }
        }
        for (_, metrics) in &self.metadata {
            digest.text(&format!("{metrics:?}"));
        }
        for fault in &self.faults {
            digest.text(&format!("{fault:?}"));
        }
        for loss in &self.losses {
            digest.text(&format!("{loss:?}"));
        }
        for removed in &self.removed {
            digest.text(&format!("removed {removed:?}"));
        }
        for counts in self.retries.0.iter().chain(&self.retries.1) {
            digest.text(&format!("{counts:?}"));
        }
        // The totals above cover the only device of a server.
        for (_, _, metrics) in self.devices.iter().filter(|&&(_, device, _)| device > 0) {
            digest.text(&format!("{metrics:?}"));
        }
        for (name, sums) in &self.tiers {
            digest.text(&format!("{name:?} {sums:?}"));
        }
        let none = StageMeasured::default();
        for (job, stage) in self.stages.iter().filter(|&(_, stage)| *stage != none) {
            digest.text(&format!("{job} {stage:?}"));
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
            let names = u64::from(wait.tier) << 48
                | u64::from(wait.victim) << 32
                | u64::from(wait.culprit) << 8
                | u64::from(wait.resource);
            for word in [wait.start.0, names, wait.time.0] {
                digest.word(word);
            }
        }
    }
}

/// Keeps the first `limit` of `records` by end time, and sorts them. Each part has kept this many, and those that ended
/// together with its last one, so the parts together have the first of all.
fn keep_first<R: Ord + Copy>(records: &mut Vec<R>, limit: u64, end: impl Fn(&R) -> Time) {
    if records.len() as u64 > limit {
        records.sort_unstable_by_key(|record| (end(record), *record));
        records.truncate(limit as usize);
    }
    records.sort_unstable();
}

//! The tables `lost_time_iterations` and `lost_time_series`: losses of jobs over iterations and over time.

use super::row::row;
use super::sources::{CLASSES, Sources};
use odonata_blame::lost::Kind;
use odonata_engine::Time;
use std::collections::BTreeMap;

row! {
    /// Delay of each marked iteration's end caused by waits, by culprit; empty unless run.lost_time.
    "lost_time_iterations" => pub struct LostTimeIterationRow {
        /// Delayed job.
        victim: String,
        /// Number of the iteration.
        iteration: u64,
        /// The rank that finished it last; the shares are those of this rank.
        last_rank: u64,
        /// Job that held the resource; may be the delayed job.
        culprit: String,
        /// mpi or io: the culprit's traffic.
        culprit_class: &'static str,
        /// As in the table lost_time.
        kind: &'static str,
        /// Delay of its end at the last rank, cumulative over iterations.
        #[unit = "s"]
        lost_s: f64,
        /// The part added by this iteration; negative if slack absorbed earlier delays, or if another rank is last.
        #[unit = "s"]
        added_s: f64,
    }
}

row! {
    /// Losses of each job's ranks per interval, by culprit, recorded at the ends of their calls; empty unless
    /// run.lost_time and run.series_interval. The intervals add up to the means of the table lost_time.
    "lost_time_series" => pub struct LostTimeSeriesRow {
        /// Start of the interval, simulated time.
        #[unit = "s"]
        start_s: f64,
        /// Delayed job.
        victim: String,
        /// Job that held the resource; may be the delayed job.
        culprit: String,
        /// mpi or io: the culprit's traffic.
        culprit_class: &'static str,
        /// As in the table lost_time.
        kind: &'static str,
        /// Loss, mean over its ranks; negative if slack absorbed earlier delays.
        #[unit = "s"]
        mean_lost_s: f64,
    }
}

pub(super) fn iteration_rows(from: &Sources<'_>) -> Vec<LostTimeIterationRow> {
    let mut rows = Vec::new();
    let mut before: (u16, BTreeMap<(u16, Kind), Time>) = (0, BTreeMap::new());
    for (&(job, iteration), stamp) in &from.hosts.lost_iterations {
        let (stamp, rank) = stamp.joined();
        let now: BTreeMap<(u16, Kind), Time> = (stamp.losses.iter())
            .map(|loss| ((loss.culprit, loss.kind), loss.time))
            .collect();
        if before.0 != job {
            before.1.clear();
        }
        let mut names: Vec<(u16, Kind)> = now.keys().chain(before.1.keys()).copied().collect();
        names.sort_unstable();
        names.dedup();
        for name in names {
            let of = |losses: &BTreeMap<(u16, Kind), Time>| losses.get(&name).map_or(0, |time| time.0 as i64);
            let (lost, earlier) = (of(&now), of(&before.1));
            let (culprit, kind) = name;
            rows.push(LostTimeIterationRow {
                victim: from.scenario.jobs[usize::from(job)].name.to_string(),
                iteration: u64::from(iteration),
                last_rank: u64::from(from.hosts.job_of(rank).1),
                culprit: from.scenario.jobs[usize::from(culprit / 2)].name.to_string(),
                culprit_class: CLASSES[usize::from(culprit % 2)],
                kind: kind.name(),
                lost_s: lost as f64 / 1e12,
                added_s: (lost - earlier) as f64 / 1e12,
            });
        }
        before = (job, now);
    }
    rows
}

pub(super) fn series_rows(from: &Sources<'_>) -> Vec<LostTimeSeriesRow> {
    let Some(interval) = from.scenario.run.series_interval else {
        return Vec::new();
    };
    let row = |of: &odonata_host::LostInterval| {
        let job = &from.scenario.jobs[usize::from(of.job)];
        LostTimeSeriesRow {
            start_s: Time(interval.0.saturating_mul(of.interval)).seconds(),
            victim: job.name.to_string(),
            culprit: from.scenario.jobs[usize::from(of.culprit / 2)].name.to_string(),
            culprit_class: CLASSES[usize::from(of.culprit % 2)],
            kind: of.kind.name(),
            mean_lost_s: of.time as f64 / 1e12 / f64::from(*job.ranks),
        }
    };
    from.hosts.lost_intervals.iter().map(row).collect()
}

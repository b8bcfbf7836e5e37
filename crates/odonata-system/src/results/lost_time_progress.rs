//! What jobs lose as they go on: the tables `lost_time_iterations` and `lost_time_series`.

use super::row::row;
use super::sources::{CLASSES, Sources};
use odonata_blame::lost::Kind;
use odonata_engine::Time;
use std::collections::BTreeMap;

row! {
    /// How much later each iteration that a job's program marks ended because something was waited for, by whose fault; empty unless
    /// run.lost_time.
    "lost_time_iterations" => pub struct LostTimeIterationRow {
        /// Job that lost it.
        victim: String,
        /// Number of the iteration.
        iteration: u64,
        /// The rank that finished it last, whose shares these are.
        last_rank: u64,
        /// Job that held what was waited for; may be the same.
        culprit: String,
        /// mpi or io: what of that job.
        culprit_class: &'static str,
        /// As in the table lost_time.
        kind: &'static str,
        /// How much later the last rank finished it, all iterations until then together.
        #[unit = "s"]
        lost_s: f64,
        /// Of that, what the iteration has added; less than nothing where slack has taken up what was lost before, or another
        /// rank is the last one.
        #[unit = "s"]
        added_s: f64,
    }
}

row! {
    /// What the ranks of each job have lost in each interval, by whose fault, booked at the ends of their calls; empty unless
    /// run.lost_time and run.series_interval. All intervals together are the means of the table lost_time.
    "lost_time_series" => pub struct LostTimeSeriesRow {
        /// Start of the interval, simulated time.
        #[unit = "s"]
        start_s: f64,
        /// Job that lost it.
        victim: String,
        /// Job that held what was waited for; may be the same.
        culprit: String,
        /// mpi or io: what of that job.
        culprit_class: &'static str,
        /// As in the table lost_time.
        kind: &'static str,
        /// How much, in the mean over its ranks; less than nothing where slack has taken up what was lost before.
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

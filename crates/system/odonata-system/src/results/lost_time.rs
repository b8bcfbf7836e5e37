//! The table `lost_time`: delays of jobs' ends, by culprit and kind of wait.

use super::row::row;
use super::sources::{CLASSES, Sources};
use odonata_blame::lost::{Kind, Loss, Stamp, without_places};
use odonata_engine::Time;
use std::collections::BTreeMap;

row! {
    /// Delay of each job's end caused by waits: one row per culprit and kind of wait; empty unless run.lost_time.
    /// Delays propagate along messages, waits and I/O of the job's program, and slack absorbs them. The rows of a job
    /// add up to the time it lost since its start; the time lost to others is about what it would save alone. Rows of
    /// kind start give the additional delay of its start: a job that it starts after ended later, or its stage-in did.
    "lost_time" => pub struct LostTimeRow {
        /// Delayed job.
        victim: String,
        /// Job that held the resource; may be the delayed job.
        culprit: String,
        /// mpi or io: the culprit's traffic.
        culprit_class: &'static str,
        /// The kind of wait. link: it was sending; this includes the link of an I/O node to an external file system.
        /// buffer: the downstream buffer was full, or a packet was ahead in the same FIFO. memory, space, device: a
        /// storage server served another request, or sought because of one. lock: on a range of a file. metadata: a
        /// thread of a metadata server, or a directory. start: the delay of the job's start, by the culprit of waits of
        /// any kind in a preceding job or the stage-in.
        kind: &'static str,
        /// Delay of the job's end: of its last rank, minus the slack of other ranks. For kind start: delay of its first
        /// rank's start.
        #[unit = "s"]
        lost_s: f64,
        /// Mean delay of the ends, or starts, of its ranks.
        #[unit = "s"]
        mean_lost_s: f64,
    }
}

/// The losses of a job's ranks: for the last rank, and in total.
pub(super) fn of_job(ends: impl IntoIterator<Item = Stamp>) -> (Stamp, BTreeMap<(u16, Kind), u128>) {
    let mut last = Stamp::default();
    let mut sums = BTreeMap::new();
    for end in ends {
        last.join(&end);
        add_up(&mut sums, &end.losses);
    }
    without_places(&mut last.losses);
    (last, sums)
}

/// The losses before the start of a job's ranks: for the first rank, and in total.
fn before_job<'a>(starts: impl IntoIterator<Item = &'a Stamp>) -> (Vec<Loss>, BTreeMap<(u16, Kind), u128>) {
    let mut sums = BTreeMap::new();
    let mut first: Option<&Stamp> = None;
    for start in starts {
        if first.is_none_or(|first| start.at < first.at) {
            first = Some(start);
        }
        add_up(&mut sums, &start.losses);
    }
    (first.map_or(Vec::new(), |first| first.losses.clone()), sums)
}

fn add_up(sums: &mut BTreeMap<(u16, Kind), u128>, losses: &[Loss]) {
    for loss in losses {
        *sums.entry((loss.culprit, loss.kind)).or_default() += u128::from(loss.time.0);
    }
}

pub(super) fn rows(from: &Sources<'_>) -> Vec<LostTimeRow> {
    let mut rows = Vec::new();
    for (number, job) in (0_u16..).zip(&from.scenario.jobs) {
        let of_this = |&&(rank, _): &&(u32, Stamp)| from.hosts.job_of(rank).0 == number;
        let ends = from.hosts.lost.iter().filter(of_this);
        let (last, mut sums) = of_job(ends.map(|(_, stamp)| stamp.clone()));
        let starts = from.hosts.lost_before.iter().filter(of_this);
        let (before, before_sums) = before_job(starts.map(|(_, stamp)| stamp));
        let losses: Vec<Loss> = last.losses.into_iter().chain(before).collect();
        for loss in &losses {
            sums.entry((loss.culprit, loss.kind)).or_default();
        }
        sums.extend(before_sums);
        for ((culprit, kind), sum) in sums {
            let by_him = |loss: &&Loss| (loss.culprit, loss.kind) == (culprit, kind);
            let lost = losses.iter().find(by_him).map_or(Time::ZERO, |loss| loss.time);
            rows.push(LostTimeRow {
                victim: job.name.to_string(),
                culprit: from.scenario.jobs[usize::from(culprit / 2)].name.to_string(),
                culprit_class: CLASSES[usize::from(culprit % 2)],
                kind: kind.name(),
                lost_s: lost.seconds(),
                mean_lost_s: sum as f64 / 1e12 / f64::from(*job.ranks),
            });
        }
    }
    rows
}

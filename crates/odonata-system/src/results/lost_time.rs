//! How much later jobs ended because something was waited for, by whose fault: the table `lost_time`.

use super::row::row;
use super::sources::{CLASSES, Sources};
use odonata_blame::lost::{Kind, Loss, Stamp, without_places};
use odonata_engine::Time;
use std::collections::BTreeMap;

row! {
    /// How much later each job ended because something was waited for: one row per culprit and kind of what was waited
    /// for; empty unless run.lost_time. Delays are carried along messages, waits and I/O of the job's program, and
    /// whatever slack there is takes them up. The rows of a job add up to what it lost from its start on; what it has lost to
    /// others is what it would, about, have saved alone. Rows of kind start say by how much it started later, beside that: because a
    /// job that it starts after ended later, or its stage-in did.
    "lost_time" => pub struct LostTimeRow {
        /// Job that ended later.
        victim: String,
        /// Job that held what was waited for; may be the same.
        culprit: String,
        /// mpi or io: what of that job.
        culprit_class: &'static str,
        /// What was waited for: link (it was sending), buffer (the one behind the link was full, or a packet in front in
        /// the same FIFO; the link of an I/O node to a file system outside counts as one), memory, space or device of a storage
        /// server (it served something else, or sought because of that), lock (on a range of a file), metadata (a thread of a metadata server, or a directory); or start: the job's own,
        /// of which the culprit held something, of whatever kind, that a job before it or the stage-in waited for.
        kind: &'static str,
        /// How much later the job ended: of its rank that ended last, less what slack of other ranks takes up. Of kind start: how
        /// much later its first rank started.
        #[unit = "s"]
        lost_s: f64,
        /// How much later its ranks ended, or started, in the mean.
        #[unit = "s"]
        mean_lost_s: f64,
    }
}

/// What the ranks of a job have lost: until the last of them ended, and in all.
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

/// What was lost before the ranks of a job started: until the first of them did, and in all.
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

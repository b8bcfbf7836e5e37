//! How much later jobs ended because something was waited for, by whose fault: the table `lost_time`.

use super::row::row;
use super::sources::{CLASSES, Sources};
use odonata_blame::lost::{Kind, Loss, Stamp, without_places};
use odonata_engine::Time;
use std::collections::BTreeMap;

row! {
    /// How much later each job ended because something was waited for: one row per culprit and kind of what was waited
    /// for; empty unless run.lost_time. Delays are carried along messages, waits and I/O of the job's program, and
    /// whatever slack there is takes them up. The rows of a job add up to what it lost; what it has lost to others is
    /// what it would, about, have saved alone.
    "lost_time" => pub struct LostTimeRow {
        /// Job that ended later.
        victim: String,
        /// Job that held what was waited for; may be the same.
        culprit: String,
        /// mpi or io: what of that job.
        culprit_class: &'static str,
        /// What was waited for: link (it was sending), buffer (the one behind the link was full, or a packet in front in
        /// the same FIFO; the link of an I/O node to a file system outside counts as one), memory, space or device of a storage
        /// server, lock (on a range of a file), metadata (a thread of a metadata server, or a directory).
        kind: &'static str,
        /// How much later the job ended: of its rank that ended last, less what slack of other ranks takes up.
        #[unit = "s"]
        lost_s: f64,
        /// How much later its ranks ended, in the mean.
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
        for Loss {
            culprit, kind, time, ..
        } in end.losses
        {
            *sums.entry((culprit, kind)).or_default() += u128::from(time.0);
        }
    }
    without_places(&mut last.losses);
    (last, sums)
}

pub(super) fn rows(from: &Sources<'_>) -> Vec<LostTimeRow> {
    let mut rows = Vec::new();
    for (number, job) in (0_u16..).zip(&from.scenario.jobs) {
        let of_this = |&&(rank, _): &&(u32, Stamp)| from.hosts.job_of(rank).0 == number;
        let ends = from.hosts.lost.iter().filter(of_this);
        let (last, mut sums) = of_job(ends.map(|(_, stamp)| stamp.clone()));
        for loss in &last.losses {
            sums.entry((loss.culprit, loss.kind)).or_default();
        }
        for ((culprit, kind), sum) in sums {
            let by_him = |loss: &&Loss| (loss.culprit, loss.kind) == (culprit, kind);
            let lost = last.losses.iter().find(by_him).map_or(Time::ZERO, |loss| loss.time);
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

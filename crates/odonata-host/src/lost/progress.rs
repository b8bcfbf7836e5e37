//! Lost time as a run goes on: what each job has lost by the end of each iteration, and how much of it in which interval.
//!
//! An iteration ends where the last of the job's ranks comes to its end, and would have ended, without waits, where the last one
//! would have: the same join as at the end of the job. Parts keep it before it is cut down to what slack leaves, so that
//! it does not depend on the order in which ranks come there ([`JobStamp::absorb`]).
//!
//! Over time, what a rank has lost by the end of a call is booked in the interval of that end, less what it had lost before: less
//! than nothing where slack has taken up a delay.

use super::{LostTime, Of};
use odonata_blame::lost::{Key, Kind, Loss, Origin, Stamp, Stamps};
use odonata_engine::{GrowableStore, Mode, Rows, Time};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// What a job has lost by the end of an iteration, of some of its ranks.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct JobStamp {
    /// The stamp of the rank that came last, whose number is that of its origin.
    last: Stamp,
    /// Of the one that would have been last had nobody else been there.
    last_alone: Stamp,
    /// When the last one would have come without waits.
    undisturbed: Time,
}

impl JobStamp {
    fn of(rank: u32, mut stamp: Stamp) -> JobStamp {
        stamp.rebase(Origin { rank, number: 0 });
        JobStamp {
            last_alone: stamp.clone(),
            undisturbed: stamp.undisturbed,
            last: stamp,
        }
    }

    /// With that of other ranks. Of two that come at the same instant the one counts that has lost less, then the first.
    pub fn absorb(&mut self, other: JobStamp) {
        let last = |of: &Stamp| (Reverse(of.at), of.to_others(), of.origin);
        if last(&other.last) < last(&self.last) {
            self.last = other.last;
        }
        let last_alone = |of: &Stamp| (Reverse(of.alone), of.to_itself(), of.origin);
        if last_alone(&other.last_alone) < last_alone(&self.last_alone) {
            self.last_alone = other.last_alone;
        }
        self.undisturbed = self.undisturbed.max(other.undisturbed);
    }

    /// What all of the job has lost then, and the rank that came last, counted over all jobs.
    pub fn joined(&self) -> (Stamp, u32) {
        let mut stamp = self.last.clone();
        stamp.join(&self.last_alone);
        stamp.would_have_been(self.undisturbed);
        (stamp, self.last.origin.rank)
    }
}

/// What ranks of a job have lost in an interval, summed over these; less than nothing where slack has taken up a delay.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
pub struct LostInterval {
    /// Number of the interval, from 0.
    pub interval: u64,
    /// Who has lost it: a job.
    pub job: u16,
    /// By whose fault: a traffic.
    pub culprit: u16,
    /// In which kind of wait.
    pub kind: Kind,
    /// How much, in ps.
    pub time: i64,
}

/// What jobs lose as they go on.
#[derive(Debug)]
pub(crate) struct ProgressLog {
    /// By job and iteration.
    iterations: Stamps,
    /// Those that there are.
    names: Rows<(u16, u32)>,
    /// By interval, job, culprit and kind, modulo 2^64.
    cells: GrowableStore<u64>,
    interval: Option<Time>,
    jobs: usize,
}
odonata_engine::journalled!(ProgressLog {
    iterations,
    names,
    cells
});

impl ProgressLog {
    /// Cells that are kept at most, 32 MB of them; what lies behind is not recorded.
    const MOST: usize = 1 << 22;

    pub(crate) fn new(kept: bool, jobs: usize, interval: Option<Time>) -> ProgressLog {
        ProgressLog {
            iterations: Stamps::new(if kept { 64 } else { 0 }),
            names: Rows::new(),
            cells: GrowableStore::new(),
            interval: interval.filter(|_| kept),
            jobs,
        }
    }

    fn end_iteration<M: Mode>(&mut self, (job, iteration): (u16, u32), rank: u32, stamp: Stamp) {
        let mut all = JobStamp::of(rank, stamp);
        match self.iteration((job, iteration)) {
            Some(others) => all.absorb(others),
            None => self.names.push::<M>((job, iteration)),
        }
        let [last, alone, undisturbed] = Self::keys((job, iteration));
        self.iterations.set::<M>(last, &all.last);
        self.iterations.set::<M>(alone, &all.last_alone);
        self.iterations.set::<M>(undisturbed, &Stamp::start(all.undisturbed));
    }

    /// What is kept of an iteration: the three parts of a [`JobStamp`].
    fn keys((job, iteration): (u16, u32)) -> [Key; 3] {
        [0, 1, 2].map(|part| (part << 32 | u64::from(job), u64::from(iteration)))
    }

    fn iteration(&self, name: (u16, u32)) -> Option<JobStamp> {
        let [last, last_alone, undisturbed] = Self::keys(name).map(|key| self.iterations.get(key));
        Some(JobStamp {
            last: last?,
            last_alone: last_alone?,
            undisturbed: undisturbed?.at,
        })
    }

    /// A cell for each kind by whose fault of which job.
    fn width(&self) -> usize {
        self.jobs * 2 * self.jobs * Kind::ALL.len()
    }

    fn book<M: Mode>(&mut self, job: u16, now: Time, loss: &Loss, less: bool) {
        let Some(interval) = self.interval else { return };
        let bin = now.0 / interval.0;
        if bin >= (Self::MOST / self.width().max(1)) as u64 {
            return;
        }
        let of_job = bin as usize * self.jobs + usize::from(job);
        let cell = (of_job * 2 * self.jobs + usize::from(loss.culprit)) * Kind::ALL.len() + loss.kind as usize;
        let time = if less { loss.time.0.wrapping_neg() } else { loss.time.0 };
        let cell = self.cells.edit::<M>(cell);
        *cell = cell.wrapping_add(time);
    }

    /// What each job has lost by the end of each iteration.
    pub(crate) fn iterations(&self) -> BTreeMap<(u16, u32), JobStamp> {
        let of = |&name: &(u16, u32)| Some((name, self.iteration(name)?));
        self.names.as_slice().iter().filter_map(of).collect()
    }

    /// What each has lost over time.
    pub(crate) fn intervals(&self) -> Vec<LostInterval> {
        let kinds = Kind::ALL.len();
        let of_cell = |(cell, &time): (usize, &u64)| {
            let (rest, kind) = (cell / kinds, Kind::ALL[cell % kinds]);
            let (rest, culprit) = (rest / (2 * self.jobs), rest % (2 * self.jobs));
            LostInterval {
                interval: (rest / self.jobs) as u64,
                job: (rest % self.jobs) as u16,
                culprit: culprit as u16,
                kind,
                time: time as i64,
            }
        };
        self.cells.iter().map(of_cell).collect()
    }

    pub(crate) fn memory(&self) -> usize {
        self.iterations.memory() + self.cells.memory()
    }
}

/// Adds up what parts have booked for the same interval, job, culprit and kind. Where that is nothing there is no row: it hangs on
/// the division which cells were touched.
pub(crate) fn merge(intervals: &mut Vec<LostInterval>) {
    let name = |of: &LostInterval| (of.interval, of.job, of.culprit, of.kind);
    intervals.sort_unstable_by_key(name);
    intervals.dedup_by(|next, sum| {
        let same = name(next) == name(sum);
        if same {
            sum.time = sum.time.wrapping_add(next.time);
        }
        same
    });
    intervals.retain(|of| of.time != 0);
}

impl LostTime {
    /// `rank` of `job` comes to the end of an iteration, in operation `slot`.
    pub(crate) fn end_iteration<M: Mode>(&mut self, slot: u32, rank: u32, (job, iteration): (u16, u32), now: Time) {
        if !self.is_on() {
            return;
        }
        let Some(stamp) = self.stamp(Of::Operation(slot)) else {
            return;
        };
        let mut stamp = stamp.later(now);
        self.progress.end_iteration::<M>((job, iteration), rank, stamp.clone());
        self.record_iteration::<M>(rank, iteration, now, &mut stamp);
        self.current = stamp;
        self.note::<M>(Of::Operation(slot));
        self.note::<M>(Of::Step(slot));
    }

    /// What is handled is the end of a call of a rank of `job`, which had `before` when it began.
    pub(super) fn book<M: Mode>(&mut self, job: u16, before: Option<Stamp>, now: Time) {
        for loss in before.iter().flat_map(|stamp| &stamp.losses) {
            self.progress.book::<M>(job, now, loss, true);
        }
        for loss in &self.current.losses {
            self.progress.book::<M>(job, now, loss, false);
        }
    }

    /// Whether it is asked for what is lost when.
    #[inline(always)]
    pub(super) fn has_series(&self) -> bool {
        self.progress.interval.is_some()
    }
}

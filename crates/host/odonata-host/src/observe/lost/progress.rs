//! Lost time in the course of a run: the loss of each job by the end of each iteration, and per interval.
//!
//! An iteration ends when the last rank of the job ends it. Its undisturbed end is the latest of the ranks' undisturbed
//! ends: the same join as at the end of the job. Parts keep the terms of the join before slack is subtracted, so that
//! the result does not depend on the order in which ranks arrive ([`JobStamp::absorb`]).
//!
//! In the time series, the loss of a rank during a call is charged to the interval of the call's end. It is negative
//! where slack has absorbed a delay.

use odonata_blame::lost::{Key, Kind, Loss, Origin, Stamp, Stamps};
use odonata_engine::{GrowableStore, Mode, Rows, Time};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// The loss of a job by the end of an iteration, over some of its ranks.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct JobStamp {
    /// The stamp of the last rank, whose number is in its origin.
    last: Stamp,
    /// The stamp of the rank that would have been last in a run without other jobs.
    last_alone: Stamp,
    /// The latest undisturbed time.
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

    /// Absorbs the ranks of `other`. Of two that arrive at the same time, the one with the smaller loss counts, then
    /// the lower number.
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

    /// The joined stamp of the job, and its last rank, numbered over all jobs.
    pub fn joined(&self) -> (Stamp, u32) {
        let mut stamp = self.last.clone();
        stamp.join(&self.last_alone);
        stamp.would_have_been(self.undisturbed);
        (stamp, self.last.origin.rank)
    }
}

/// The loss of a job in an interval, summed over its ranks; negative where slack has absorbed a delay.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
pub struct LostInterval {
    /// Number of the interval, from 0.
    pub interval: u64,
    /// The job that lost the time.
    pub job: u16,
    /// The traffic class that caused the loss.
    pub culprit: u16,
    /// The kind of wait.
    pub kind: Kind,
    /// Lost time in ps.
    pub time: i64,
}

/// The lost time of jobs per iteration and per interval.
#[derive(Debug)]
pub(crate) struct ProgressLog {
    /// By job and iteration.
    iterations: Stamps,
    /// The existing keys.
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
    /// Maximum number of cells, 32 MB in total; later intervals are not recorded.
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

    /// `rank` of a job ends an iteration with `stamp`.
    pub(super) fn end_iteration<M: Mode>(&mut self, (job, iteration): (u16, u32), rank: u32, stamp: Stamp) {
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

    /// The keys of the three parts of the [`JobStamp`] of an iteration.
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

    /// Cells per interval: one per job, culprit and kind.
    fn width(&self) -> usize {
        self.jobs * 2 * self.jobs * Kind::ALL.len()
    }

    fn charge<M: Mode>(&mut self, job: u16, now: Time, loss: &Loss, less: bool) {
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

    /// Charges the end of a call of a rank of `job`, whose stamp was `before` at its begin and is `after` now.
    pub(super) fn charge_call<M: Mode>(&mut self, job: u16, before: Option<&Stamp>, after: &Stamp, now: Time) {
        for loss in before.iter().flat_map(|stamp| &stamp.losses) {
            self.charge::<M>(job, now, loss, true);
        }
        for loss in &after.losses {
            self.charge::<M>(job, now, loss, false);
        }
    }

    /// Whether the time series is requested.
    #[inline(always)]
    pub(super) fn has_series(&self) -> bool {
        self.interval.is_some()
    }

    /// The lost time of each job by the end of each iteration.
    pub(crate) fn iterations(&self) -> BTreeMap<(u16, u32), JobStamp> {
        let of = |&name: &(u16, u32)| Some((name, self.iteration(name)?));
        self.names.as_slice().iter().filter_map(of).collect()
    }

    /// The lost time of each job per interval.
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
}

/// Sums the entries of parts for the same interval, job, culprit and kind. Zero sums are dropped, since the set of
/// touched cells depends on the partition.
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

//! The table `checkpoint_restart`: a job's time to solution by checkpoints and failures.

use std::collections::BTreeMap;

use super::row::row;
use super::sources::{Sources, mean};
use crate::scenario::resolved::{Job, Workload};
use odonata_engine::Time;
use odonata_workload::Phases;
use odonata_workload::skeletons::checkpoint_restart::{expected_time, first_order, higher_order, reports};
use odonata_workload::skeletons::{CheckpointRestartParams, Skeleton};

row! {
    /// One row per job that writes checkpoints, fails and restarts (workload checkpoint-restart). Its time to solution
    /// is the sum of work, checkpoints, lost work, lost checkpoints, restarts and lost restarts, except for the time in
    /// which ranks synchronize.
    "checkpoint_restart" => pub struct CheckpointRestartRow {
        /// Name of the job.
        job: String,
        /// Place in the job's list of workloads; 0 without a list.
        test: u64,
        /// Repetition of the job, from 0.
        repetition: u64,
        /// 1 if all work was done, otherwise 0; then all values are up to the end of the run.
        solved: u64,
        /// From its start to its solution.
        #[unit = "s"]
        time_to_solution_s: f64,
        /// Required computation.
        #[unit = "s"]
        work_s: f64,
        /// Requested mean time to interrupt.
        #[unit = "s"]
        mtti_s: f64,
        /// Failures.
        failures: u64,
        /// Computation between two checkpoints; 0: not known yet.
        #[unit = "s"]
        interval_s: f64,
        /// Complete checkpoints.
        checkpoints: u64,
        /// Mean duration of these.
        #[unit = "s"]
        checkpoint_mean_s: f64,
        /// Total duration of these.
        #[unit = "s"]
        checkpoints_s: f64,
        /// Computation since the last complete checkpoint, over all failures, and computation saved only in lost
        /// checkpoints: it was repeated.
        #[unit = "s"]
        lost_work_s: f64,
        /// Complete checkpoints that a restart found lost with failed storage servers.
        unreadable_checkpoints: u64,
        /// Checkpoints interrupted by a failure.
        lost_checkpoints: u64,
        /// Time spent on these.
        #[unit = "s"]
        lost_checkpoints_s: f64,
        /// Complete restarts, including the reading of a checkpoint.
        restarts: u64,
        /// Total duration of these.
        #[unit = "s"]
        restarts_s: f64,
        /// Time of restarts interrupted by a failure.
        #[unit = "s"]
        lost_restarts_s: f64,
        /// Daly's first-order optimal interval, sqrt(2 d M) - d, for the mean checkpoint time d; 0 without a
        /// checkpoint.
        #[unit = "s"]
        optimum_first_order_s: f64,
        /// Daly's higher-order optimal interval.
        #[unit = "s"]
        optimum_higher_order_s: f64,
        /// Daly's expected time to solution for the interval, the mean checkpoint and the mean restart (without one:
        /// the key restart); 0 without a checkpoint.
        #[unit = "s"]
        expected_s: f64,
    }
}

/// The reports of rank 0 of a job.
#[derive(Default)]
struct Found {
    start: Time,
    solved: Option<Time>,
    /// Count and sum, by report.
    sums: BTreeMap<u32, (u64, f64)>,
}

/// By job, place in its list, and repetition.
pub(super) fn rows(from: &Sources<'_>) -> Vec<CheckpointRestartRow> {
    let mut found: BTreeMap<(u16, u32), Vec<Found>> = BTreeMap::new();
    for record in &from.hosts.reports {
        let (phase, own) = Phases::split_report(record.report);
        let job = &from.scenario.jobs[usize::from(record.job)];
        if params_of(job, phase).is_none() {
            continue;
        }
        let repetitions = found.entry((record.job, phase)).or_default();
        if own == reports::BEGIN {
            repetitions.push(Found {
                start: record.time,
                ..Found::default()
            });
        }
        let Some(repetition) = repetitions.last_mut() else {
            continue;
        };
        if own == reports::SOLUTION {
            repetition.solved = Some(record.time);
        }
        let (count, sum) = repetition.sums.entry(own).or_default();
        *count += 1;
        *sum += f64::from_bits(record.value);
    }
    let mut rows = Vec::new();
    for ((job, phase), repetitions) in found {
        let job = &from.scenario.jobs[usize::from(job)];
        let Some(params) = params_of(job, phase) else { continue };
        for (number, repetition) in (0..).zip(repetitions) {
            rows.push(CheckpointRestartRow {
                job: job.name.to_string(),
                test: u64::from(phase),
                repetition: number,
                ..row_of(params, &repetition, from.now)
            });
        }
    }
    rows
}

fn row_of(params: &CheckpointRestartParams, found: &Found, now: Time) -> CheckpointRestartRow {
    let of = |report: u32| found.sums.get(&report).copied().unwrap_or_default();
    let (checkpoints, checkpoints_s) = of(reports::CHECKPOINT);
    let (restarts, restarts_s) = of(reports::RESTART);
    let (lost_checkpoints, lost_checkpoints_s) = of(reports::LOST_CHECKPOINT);
    let (failures, lost_work_s) = of(reports::FAILURE);
    let (unreadable_checkpoints, unreadable_s) = of(reports::UNREADABLE);
    let (work_s, mtti_s) = (params.work.seconds(), params.mtti.seconds());
    let (interval_s, delta) = (of(reports::INTERVAL).1, mean(checkpoints_s, checkpoints));
    let restart = match restarts {
        0 => params.restart.seconds(),
        _ => mean(restarts_s, restarts),
    };
    let with_checkpoint = |value: f64| if delta > 0.0 { value } else { 0.0 };
    let known = interval_s > 0.0 && delta > 0.0;
    let expected = expected_time(work_s, interval_s, delta, restart, mtti_s);
    CheckpointRestartRow {
        solved: u64::from(found.solved.is_some()),
        time_to_solution_s: found.solved.unwrap_or(now).saturating_sub(found.start).seconds(),
        work_s,
        mtti_s,
        failures,
        interval_s,
        checkpoints,
        checkpoint_mean_s: delta,
        checkpoints_s,
        lost_work_s: lost_work_s + unreadable_s,
        unreadable_checkpoints,
        lost_checkpoints,
        lost_checkpoints_s,
        restarts,
        restarts_s,
        lost_restarts_s: of(reports::LOST_RESTART).1,
        optimum_first_order_s: with_checkpoint(first_order(delta, mtti_s)),
        optimum_higher_order_s: with_checkpoint(higher_order(delta, mtti_s)),
        // If failures are more frequent than intervals, it is unbounded.
        expected_s: if known && expected.is_finite() { expected } else { 0.0 },
        ..CheckpointRestartRow::default()
    }
}

/// The parameters, if phase `phase` of `job` is this workload.
fn params_of(job: &Job, phase: u32) -> Option<&CheckpointRestartParams> {
    let workload = match &*job.workload {
        Workload::Phases(list) => list.get(phase as usize)?,
        single => single,
    };
    match workload {
        Workload::Skeleton(Skeleton::CheckpointRestart(params)) => Some(params),
        _ => None,
    }
}

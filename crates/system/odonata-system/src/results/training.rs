//! The table `training`: speed and efficiency of training jobs, and where the time of their GPUs goes.

use super::row::row;
use super::sources::{Sources, mean};
use crate::scenario::resolved::Workload;
use odonata_engine::Time;
use odonata_workload::Parallelism;
use odonata_workload::skeletons::{Skeleton, TrainingParams, training};
use std::collections::BTreeMap;

row! {
    /// One row per job whose workload is training. Times of a GPU from the start of its job to the end of the job's
    /// last rank are means over ranks; computation, exposed times, bubbles, I/O and other times add up to elapsed_s.
    "training" => pub struct TrainingRow {
        /// Name of the job.
        job: String,
        /// Number of ranks.
        gpus: u64,
        /// Iterations completed by all ranks, without those lost with a failure.
        iterations: u64,
        /// From the start of the job to the end of the last of these, over their number; 0 without any.
        #[unit = "s"]
        iteration_s: f64,
        /// Tokens of all data parallel ranks over that time.
        #[unit = "tokens/s"]
        tokens_per_s: f64,
        /// Model FLOPs utilization: floating-point operations of the model, forward and backward without repeated ones,
        /// over those possible at peak_flops in that time.
        mfu: f64,
        /// From the start of the job to the end of its last rank.
        #[unit = "s"]
        elapsed_s: f64,
        /// Computation time of the model.
        #[unit = "s"]
        compute_s: f64,
        /// Time in which a GPU waited for all-reduces of the tensor group.
        #[unit = "s"]
        exposed_tensor_s: f64,
        /// Time in which a GPU waited for messages between stages, from the call of the sender.
        #[unit = "s"]
        exposed_pipeline_s: f64,
        /// Time in which a GPU waited for the reduction of gradients or the gathering of parameters.
        #[unit = "s"]
        exposed_data_s: f64,
        /// Time in which a GPU waited for tokens on their way to experts or back.
        #[unit = "s"]
        exposed_expert_s: f64,
        /// Time in which a GPU waited for a neighbor in the pipeline that had not called its send, or for the end of the
        /// job.
        #[unit = "s"]
        bubble_s: f64,
        /// Time blocked in I/O.
        #[unit = "s"]
        io_s: f64,
        /// The rest.
        #[unit = "s"]
        other_s: f64,
        /// Share of bubbles in a pipeline of equal stages without communication: (P - 1) / (M + P - 1) for P stages and M
        /// micro-batches.
        bubble_ideal: f64,
        /// Failures from which the job has restarted.
        failures: u64,
        /// Iterations that all ranks have completed and lost with a failure.
        lost_iterations: u64,
        /// Time of these, without restarts.
        #[unit = "s"]
        lost_s: f64,
        /// Time of restarts, from the failure to the first iteration; part of other_s but for the reading of checkpoints.
        #[unit = "s"]
        restart_s: f64,
        /// Share of elapsed_s without lost iterations and restarts.
        goodput: f64,
    }
}

pub(super) fn rows(from: &Sources<'_>) -> Vec<TrainingRow> {
    let jobs = (0u16..).zip(&from.scenario.jobs);
    jobs.filter_map(|(number, job)| match &*job.workload {
        Workload::Skeleton(Skeleton::Training(params)) => Some(row_of(from, number, params)),
        _ => None,
    })
    .collect()
}

fn row_of(from: &Sources<'_>, number: u16, params: &TrainingParams) -> TrainingRow {
    let job = &from.scenario.jobs[usize::from(number)];
    let start = from.starts[usize::from(number)];
    let ranks = *job.ranks;
    // A rank that has not ended runs until now.
    let end_of = |rank| match from.hosts.metrics(number, rank) {
        metrics if metrics.finished => metrics.end,
        _ => from.now,
    };
    let end = (0..ranks).map(end_of).max().unwrap_or(from.now);
    let mut row = TrainingRow {
        job: job.name.to_string(),
        gpus: u64::from(ranks),
        elapsed_s: end.saturating_sub(start).seconds(),
        bubble_ideal: f64::from(params.pipeline - 1)
            / f64::from(params.micro_batches * params.interleave + params.pipeline - 1),
        ..TrainingRow::default()
    };
    let progress = Progress::of(from, number, params);
    let in_restarts = progress.in_restarts(params);
    let exposed = from.hosts.exposed_of_job(number);
    let of_rank = (0..ranks).zip(exposed);
    let calls = calls_of_nccl(from, number, params, &end_of);
    for (rank, exposed) in of_rank {
        let metrics = from.hosts.metrics(number, rank);
        let in_calls = |parallelism: Parallelism| calls.get(&(rank, parallelism as u32)).copied().unwrap_or(Time::ZERO);
        let wait = |parallelism| (exposed.wait(parallelism) + in_calls(parallelism)).seconds();
        let kinds = [
            Parallelism::Tensor,
            Parallelism::Pipeline,
            Parallelism::Data,
            Parallelism::Expert,
        ];
        row.compute_s += match params.nccl.is_some() {
            // The time of the steps of NCCL is computation of streams beside each other: what is left is the model's.
            true => {
                let known = kinds.map(wait).iter().sum::<f64>() + (metrics.io + exposed.bubble).seconds();
                let left = end_of(rank).saturating_sub(start).seconds() - known - in_restarts;
                left.clamp(0.0, metrics.compute.seconds())
            }
            false => (metrics.compute.seconds() - in_restarts).max(0.0),
        };
        row.io_s += metrics.io.seconds();
        row.exposed_tensor_s += wait(Parallelism::Tensor);
        row.exposed_pipeline_s += wait(Parallelism::Pipeline);
        row.exposed_data_s += wait(Parallelism::Data);
        row.exposed_expert_s += wait(Parallelism::Expert);
        row.bubble_s += (exposed.bubble + (end - end_of(rank))).seconds();
    }
    let mut known = 0.0;
    for sum in [
        &mut row.compute_s,
        &mut row.io_s,
        &mut row.exposed_tensor_s,
        &mut row.exposed_pipeline_s,
        &mut row.exposed_data_s,
        &mut row.exposed_expert_s,
        &mut row.bubble_s,
    ] {
        *sum = mean(*sum, u64::from(ranks));
        known += *sum;
    }
    row.other_s = (row.elapsed_s - known).max(0.0);
    row.failures = progress.restarts.len() as u64;
    row.lost_iterations = progress.lost;
    (row.lost_s, row.restart_s) = (progress.lost_time.seconds(), progress.restart_time().seconds());
    row.goodput = 1.0 - (row.lost_s + row.restart_s) / row.elapsed_s.max(1e-12);
    if progress.kept > 0 {
        row.iterations = progress.kept;
        row.iteration_s = progress.last.saturating_sub(start).seconds() / progress.kept as f64;
        let sizes = params.sizes();
        let sequences = params.sequences() as f64;
        row.tokens_per_s = sequences * f64::from(sizes.sequence) / row.iteration_s.max(1e-12);
        let possible = f64::from(ranks) * params.peak_flops * row.iteration_s.max(1e-12);
        // A backward pass has twice the operations of a forward pass.
        row.mfu = 3.0 * sizes.operations() * sequences / possible;
    }
    row
}

/// The time of each rank in calls of NCCL, by rank and parallelism; a call that has not ended ends with the rank.
fn calls_of_nccl(
    from: &Sources<'_>,
    job: u16,
    params: &TrainingParams,
    end_of: &dyn Fn(u32) -> Time,
) -> BTreeMap<(u32, u32), Time> {
    let mut calls = BTreeMap::new();
    if params.nccl.is_none() {
        return calls;
    }
    // Reports of a rank and number come in the order of index and time.
    let mut times: BTreeMap<(u32, u32), [Vec<Time>; 2]> = BTreeMap::new();
    for record in from.hosts.reports.iter().filter(|record| record.job == job) {
        let of_number = times.entry((record.rank, record.report)).or_default();
        of_number[usize::from(record.index == training::END)].push(record.time);
    }
    for (of_number, [mut begins, mut ends]) in times {
        begins.sort_unstable();
        ends.sort_unstable();
        let ends = ends.into_iter().chain(std::iter::repeat(end_of(of_number.0)));
        let waits = begins.iter().zip(ends).map(|(&begin, end)| end.saturating_sub(begin));
        calls.insert(of_number, waits.fold(Time::ZERO, |sum, wait| sum + wait));
    }
    calls
}

/// The executions of iterations that all ranks of a job have completed.
#[derive(Debug, Default)]
struct Progress {
    /// Those whose results are kept, and those lost with a failure.
    kept: u64,
    lost: u64,
    lost_time: Time,
    /// The end of the last one.
    last: Time,
    /// Durations of restarts.
    restarts: Vec<Time>,
}

impl Progress {
    fn of(from: &Sources<'_>, job: u16, params: &TrainingParams) -> Progress {
        let (Ok(history), ranks) = (params.history(), *from.scenario.jobs[usize::from(job)].ranks) else {
            return Progress::default();
        };
        let mut progress = Progress {
            restarts: restarts_of(from, job),
            ..Progress::default()
        };
        let mut ends: Vec<(u32, Time)> = (from.hosts.iterations.iter())
            .filter(|record| record.job == job)
            .map(|record| (record.iteration, record.time))
            .collect();
        ends.sort_unstable();
        let complete = ends
            .chunk_by(|a, b| a.0 == b.0)
            .filter(|ends| ends.len() == ranks as usize);
        let mut restarts = progress.restarts.iter();
        let mut before = from.starts[usize::from(job)];
        for &(number, end) in complete.filter_map(<[_]>::last) {
            let restart = match history.execution(number) {
                Some(execution) if execution.restarts => restarts.next().copied().unwrap_or(Time::ZERO),
                _ => Time::ZERO,
            };
            if history.is_lost(number) {
                progress.lost += 1;
                progress.lost_time += end.saturating_sub(before).saturating_sub(restart);
            } else {
                (progress.kept, progress.last) = (progress.kept + 1, end);
            }
            before = end;
        }
        progress
    }

    /// Time of all restarts.
    fn restart_time(&self) -> Time {
        self.restarts.iter().fold(Time::ZERO, |sum, &restart| sum + restart)
    }

    /// Seconds in which each rank has waited for a restart of the job.
    fn in_restarts(&self, params: &TrainingParams) -> f64 {
        let each = params.failures.as_ref().map_or(Time::ZERO, |failures| failures.restart);
        each.seconds() * self.restarts.len() as f64
    }
}

/// Durations of the complete restarts of a job, in order.
fn restarts_of(from: &Sources<'_>, job: u16) -> Vec<Time> {
    let times = |index: u32| {
        let reports = from.hosts.reports.iter();
        let of_index =
            reports.filter(move |record| (record.job, record.report, record.index) == (job, training::RESTART, index));
        let mut times: Vec<Time> = of_index.map(|record| record.time).collect();
        times.sort_unstable();
        times
    };
    let (begins, ends) = (times(training::BEGIN), times(training::END));
    ends.iter()
        .zip(begins)
        .map(|(end, begin)| end.saturating_sub(begin))
        .collect()
}

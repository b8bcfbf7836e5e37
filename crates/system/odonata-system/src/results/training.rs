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
        /// Iterations completed by all ranks.
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
                let left = end_of(rank).saturating_sub(start).seconds() - known;
                left.clamp(0.0, metrics.compute.seconds())
            }
            false => metrics.compute.seconds(),
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
    if let Some((iterations, last)) = completed(from, number, ranks) {
        row.iterations = iterations;
        row.iteration_s = last.saturating_sub(start).seconds() / iterations as f64;
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

/// Iterations that all `ranks` ranks of a job have completed, if there are any, and the end of the last one.
fn completed(from: &Sources<'_>, number: u16, ranks: u32) -> Option<(u64, Time)> {
    let mut ends: Vec<(u32, Time)> = (from.hosts.iterations.iter())
        .filter(|record| record.job == number)
        .map(|record| (record.iteration, record.time))
        .collect();
    ends.sort_unstable();
    let complete = ends
        .chunk_by(|a, b| a.0 == b.0)
        .filter(|ends| ends.len() == ranks as usize);
    let (count, last) = complete.fold((0, None), |(count, _), ends| (count + 1, ends.last()));
    last.map(|&(_, time)| (count, time))
}

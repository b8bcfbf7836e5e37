//! The table `data_loader`: durations of training steps, and their waits for samples.

use std::collections::BTreeMap;

use super::row::row;
use super::sources::{Sources, mean};
use crate::scenario::resolved::Workload;
use odonata_engine::Time;
use odonata_workload::Phases;
use odonata_workload::skeletons::Skeleton;
use odonata_workload::skeletons::data_loader::reports;

row! {
    /// One row per step of training with a data loader (workload data-loader) completed by all ranks.
    "data_loader" => pub struct DataLoaderRow {
        /// Name of the job.
        job: String,
        /// Place in the job's list of workloads; 0 without a list.
        test: u64,
        /// Step, from 0, over all epochs; numbers continue through the job's repetitions.
        step: u64,
        /// When the first rank began it, simulated time.
        #[unit = "s"]
        start_s: f64,
        /// From then to the end of the last rank.
        #[unit = "s"]
        step_s: f64,
        /// Time in which a rank waited for its batch, mean over ranks.
        #[unit = "s"]
        stall_mean_s: f64,
        /// The maximum over ranks.
        #[unit = "s"]
        stall_max_s: f64,
    }
}

/// The reports of ranks about a step.
struct Step {
    start: Time,
    end: Time,
    ended: u32,
    stall_s: f64,
    stall_max: Time,
}

/// By job, place in its list, and step.
pub(super) fn rows(from: &Sources<'_>) -> Vec<DataLoaderRow> {
    let mut steps: BTreeMap<(u16, u32, u64), Step> = BTreeMap::new();
    for of_rank in from.hosts.reports.chunk_by(|a, b| (a.job, a.rank) == (b.job, b.rank)) {
        let workload = &*from.scenario.jobs[usize::from(of_rank[0].job)].workload;
        // Reports of one kind come in step order.
        let mut times: BTreeMap<u32, Vec<Time>> = BTreeMap::new();
        for record in of_rank {
            times.entry(record.report).or_default().push(record.time);
        }
        times.values_mut().for_each(|times| times.sort_unstable());
        for (&report, begins) in &times {
            let (phase, own) = Phases::split_report(report);
            if own != reports::BEGIN || !trains(workload, phase) {
                continue;
            }
            let of = |own: u32| {
                times
                    .get(&(report - reports::BEGIN + own))
                    .map_or(&[][..], Vec::as_slice)
            };
            let ends = begins.iter().zip(of(reports::READY)).zip(of(reports::END));
            for (number, ((&begin, &ready), &end)) in (0..).zip(ends) {
                let step = steps.entry((of_rank[0].job, phase, number)).or_insert(Step {
                    start: begin,
                    end,
                    ended: 0,
                    stall_s: 0.0,
                    stall_max: Time::ZERO,
                });
                let stall = ready.saturating_sub(begin);
                step.start = step.start.min(begin);
                step.end = step.end.max(end);
                step.ended += 1;
                step.stall_s += stall.seconds();
                step.stall_max = step.stall_max.max(stall);
            }
        }
    }
    let row = |(&(job, test, number), step): (&(u16, u32, u64), &Step)| {
        let job = &from.scenario.jobs[usize::from(job)];
        // Incomplete steps are left out.
        (step.ended == *job.ranks).then(|| DataLoaderRow {
            job: job.name.to_string(),
            test: u64::from(test),
            step: number,
            start_s: step.start.seconds(),
            step_s: (step.end - step.start).seconds(),
            stall_mean_s: mean(step.stall_s, u64::from(step.ended)),
            stall_max_s: step.stall_max.seconds(),
        })
    };
    steps.iter().filter_map(row).collect()
}

/// Whether phase `phase` of `workload` is training with a data loader.
fn trains(workload: &Workload, phase: u32) -> bool {
    let workload = match workload {
        Workload::Phases(list) => list.get(phase as usize),
        single => Some(single),
    };
    matches!(workload, Some(Workload::Skeleton(Skeleton::DataLoader(_))))
}

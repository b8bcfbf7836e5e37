//! The table `mdtest`: mdtest's rates, from the clock readings of its tasks.

use std::collections::BTreeMap;

use super::row::row;
use super::sources::Sources;
use crate::scenario::resolved::Workload;
use odonata_engine::Time;
use odonata_workload::Phases;
use odonata_workload::skeletons::Skeleton;
use odonata_workload::skeletons::mdtest::PHASES;

row! {
    /// One row per phase and iteration of mdtest completed by all tasks.
    "mdtest" => pub struct MdtestRow {
        /// Name of the job.
        job: String,
        /// Place in the job's list of workloads; 0 without a list.
        test: u64,
        /// Iteration, from 0; numbers continue through the job's repetitions.
        iteration: u64,
        /// The phase: tree creation, directory creation, directory stat, directory removal, file creation, file stat,
        /// file read, file removal, tree removal.
        phase: &'static str,
        /// Tasks.
        tasks: u64,
        /// Files or directories, of all tasks.
        items: u64,
        /// From the first task's start to the last one's end.
        #[unit = "s"]
        time_s: f64,
        /// Items over that time.
        #[unit = "1/s"]
        rate_per_s: f64,
        /// When the first task began, simulated time.
        #[unit = "s"]
        start_s: f64,
    }
}

/// The reports of tasks about one phase.
#[derive(Default)]
struct Measured {
    /// When the first task began, and the last one ended.
    start: Option<Time>,
    end: Time,
    /// Number of tasks that ended it, and their items.
    tasks: u32,
    items: f64,
}

/// By job, place in its list, iteration, phase.
pub(super) fn rows(from: &Sources<'_>) -> Vec<MdtestRow> {
    let mut all: BTreeMap<(u16, u32, u64, u32), Measured> = BTreeMap::new();
    for of_rank in from.hosts.reports.chunk_by(|a, b| (a.job, a.rank) == (b.job, b.rank)) {
        let workload = &*from.scenario.jobs[usize::from(of_rank[0].job)].workload;
        let mut of_rank = of_rank.to_vec();
        of_rank.sort_by_key(|record| (record.time, record.order, record.report));
        // Number of reports of each kind.
        let mut counts: BTreeMap<u32, u64> = BTreeMap::new();
        for record in of_rank {
            let (test, own) = Phases::split_report(record.report);
            if !is_mdtest(workload, test) {
                continue;
            }
            let count = counts.entry(record.report).or_default();
            let measured = all.entry((record.job, test, *count, own / 2)).or_default();
            *count += 1;
            if own.is_multiple_of(2) {
                measured.start = Some(measured.start.map_or(record.time, |start| start.min(record.time)));
            } else {
                measured.end = measured.end.max(record.time);
                measured.tasks += 1;
                measured.items += f64::from_bits(record.value);
            }
        }
    }
    let row = |(&(job, test, iteration, phase), found): (&(u16, u32, u64, u32), &Measured)| {
        let job = &from.scenario.jobs[usize::from(job)];
        let start = found.start.filter(|_| found.tasks == *job.ranks)?;
        let time_s = found.end.saturating_sub(start).seconds();
        Some(MdtestRow {
            job: job.name.to_string(),
            test: u64::from(test),
            iteration,
            phase: PHASES.get(phase as usize)?,
            tasks: u64::from(found.tasks),
            items: found.items as u64,
            time_s,
            rate_per_s: if time_s > 0.0 { found.items / time_s } else { 0.0 },
            start_s: start.seconds(),
        })
    };
    all.iter().filter_map(row).collect()
}

/// Whether phase `phase` of `workload` is mdtest.
fn is_mdtest(workload: &Workload, phase: u32) -> bool {
    let one = match workload {
        Workload::Phases(list) => list.get(phase as usize),
        single => Some(single),
    };
    matches!(one, Some(Workload::Skeleton(Skeleton::Mdtest(_))))
}

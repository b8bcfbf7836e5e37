//! The table `ior`: IOR's report of each repetition, from the clock readings of its tasks.

use std::collections::BTreeMap;

use super::row::row;
use super::sources::{Sources, mean};
use crate::scenario::resolved::Workload;
use odonata_engine::Time;
use odonata_workload::Phases;
use odonata_workload::skeletons::ior::{TIMERS, TRANSFERRED};
use odonata_workload::skeletons::{IorParams, Skeleton};

row! {
    /// One row per repetition and access (write, read, remove) of IOR completed by all tasks, as reported by IOR: from
    /// the first task's start to the last one's end. A removal has only `total_s`.
    "ior" => pub struct IorRow {
        /// Name of the job.
        job: String,
        /// Place in the job's list of workloads; 0 without a list.
        test: u64,
        /// write, read or remove.
        access: &'static str,
        /// Repetition, from 0; numbers continue through the job's repetitions.
        repetition: u64,
        /// Tasks.
        tasks: u64,
        /// Total bytes moved.
        #[unit = "bytes"]
        bytes: u64,
        /// blockSize.
        #[unit = "bytes"]
        block_bytes: u64,
        /// transferSize.
        #[unit = "bytes"]
        transfer_bytes: u64,
        /// Bytes over the total time: IOR's bandwidth.
        #[unit = "bytes/s"]
        bandwidth_bytes_per_s: f64,
        /// Transfers over the time of access.
        #[unit = "1/s"]
        operations_per_s: f64,
        /// Mean time of a transfer, of the task with the smallest mean.
        #[unit = "s"]
        latency_s: f64,
        /// Opening the file.
        #[unit = "s"]
        open_s: f64,
        /// Writing or reading, including fsync.
        #[unit = "s"]
        access_s: f64,
        /// Closing the file.
        #[unit = "s"]
        close_s: f64,
        /// From the first open to the last close.
        #[unit = "s"]
        total_s: f64,
        /// When the first task opened the file, simulated time.
        #[unit = "s"]
        start_s: f64,
    }
}

/// The reports of tasks about one repetition of one access.
#[derive(Default)]
struct Repetition {
    /// Per timer: the first report of even ones, the last of odd ones, and the number of reports.
    timers: [Option<(Time, u32)>; TIMERS as usize],
    bytes: u64,
    latency_s: Option<f64>,
}

/// By job, place in its list, repetition; within a repetition writes before reads.
pub(super) fn rows(from: &Sources<'_>) -> Vec<IorRow> {
    let mut repetitions: BTreeMap<(u16, u32, u64, u32), Repetition> = BTreeMap::new();
    for of_rank in from.hosts.reports.chunk_by(|a, b| (a.job, a.rank) == (b.job, b.rank)) {
        let workload = &*from.scenario.jobs[usize::from(of_rank[0].job)].workload;
        let mut of_rank = of_rank.to_vec();
        of_rank.sort_by_key(|record| (record.time, record.order, record.report));
        // Number of reports per timer, and the start of the transfers of an access.
        let mut counts: BTreeMap<u32, u64> = BTreeMap::new();
        let mut began: BTreeMap<(u32, u32), Time> = BTreeMap::new();
        for record in of_rank {
            let (phase, own) = Phases::split_report(record.report);
            let Some(params) = ior_of(workload, phase) else {
                continue;
            };
            let (access, timer) = (own / TIMERS, own % TIMERS);
            let count = counts.entry(record.report).or_default();
            let repetition = repetitions.entry((record.job, phase, *count, access)).or_default();
            *count += 1;
            let slot = &mut repetition.timers[timer as usize];
            let (time, tasks) = slot.unwrap_or((record.time, 0));
            let time = if timer.is_multiple_of(2) {
                time.min(record.time)
            } else {
                time.max(record.time)
            };
            *slot = Some((time, tasks + 1));
            if timer + 1 == TRANSFERRED {
                began.insert((phase, access), record.time);
            }
            if timer == TRANSFERRED {
                let bytes = f64::from_bits(record.value) as u64;
                repetition.bytes += bytes;
                let transfers = bytes / params.transfer_size.0.max(1);
                let began = began.get(&(phase, access)).copied().unwrap_or(record.time);
                let latency = mean((record.time - began).seconds(), transfers);
                let least = repetition.latency_s.unwrap_or(latency).min(latency);
                repetition.latency_s = Some(least);
            }
        }
    }
    let row = |((job, test, number, access), found): (&(u16, u32, u64, u32), &Repetition)| {
        let job = &from.scenario.jobs[usize::from(*job)];
        let params = ior_of(&job.workload, *test)?;
        // Incomplete repetitions are left out.
        let mut times = [Time::ZERO; TIMERS as usize];
        let removal = *access == 2;
        let timers = (times.iter_mut().zip(found.timers).enumerate())
            // A removal has a beginning and an end.
            .filter(|(timer, _)| !removal || [0, TIMERS as usize - 1].contains(timer));
        for (_, (time, timer)) in timers {
            *time = timer.filter(|&(_, tasks)| tasks == *job.ranks)?.0;
        }
        let between = |from: usize, to: usize| times[to].saturating_sub(times[from]).seconds();
        let per_second = |amount: f64, seconds: f64| if seconds > 0.0 { amount / seconds } else { 0.0 };
        let transfers = found.bytes / params.transfer_size.0.max(1);
        Some(IorRow {
            job: job.name.to_string(),
            test: u64::from(*test),
            access: ["write", "read", "remove"].get(*access as usize).copied()?,
            repetition: *number,
            tasks: u64::from(*job.ranks),
            bytes: found.bytes,
            block_bytes: params.block_size.0,
            transfer_bytes: params.transfer_size.0,
            bandwidth_bytes_per_s: per_second(found.bytes as f64, between(0, 5)),
            operations_per_s: per_second(transfers as f64, between(2, 3)),
            latency_s: found.latency_s.unwrap_or(0.0),
            open_s: between(0, 1),
            access_s: between(2, 3),
            close_s: between(4, 5),
            total_s: between(0, 5),
            start_s: times[0].seconds(),
        })
    };
    repetitions.iter().filter_map(row).collect()
}

/// The parameters of IOR, if phase `phase` of `workload` is IOR.
fn ior_of(workload: &Workload, phase: u32) -> Option<&IorParams> {
    let workload = match workload {
        Workload::Phases(list) => list.get(phase as usize)?,
        single => single,
    };
    match workload {
        Workload::Skeleton(Skeleton::Ior(ior)) => Some(&ior.0),
        _ => None,
    }
}

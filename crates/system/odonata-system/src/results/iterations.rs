//! The table `iterations`: end times of a job's iterations.

use super::row::row;
use super::sources::{Sources, mean};
use odonata_engine::Time;

row! {
    /// One row per iteration marked by a job's program.
    "iterations" => pub struct IterationRow {
        /// Name of the job.
        job: String,
        /// Number of the iteration.
        iteration: u64,
        /// Ranks that have finished it.
        ranks: u64,
        /// When the first rank finished it, simulated time.
        #[unit = "s"]
        first_s: f64,
        /// Mean over ranks.
        #[unit = "s"]
        mean_s: f64,
        /// When the last rank finished it.
        #[unit = "s"]
        last_s: f64,
    }
}

pub(super) fn rows(from: &Sources<'_>) -> Vec<IterationRow> {
    let mut ends: Vec<(u16, u32, Time)> = (from.hosts.iterations.iter())
        .map(|r| (r.job, r.iteration, r.time))
        .collect();
    ends.sort_unstable();
    let row = |ends: &[(u16, u32, Time)]| {
        let (job, iteration, first) = ends[0];
        let sum: f64 = ends.iter().map(|&(.., time)| time.seconds()).sum();
        IterationRow {
            job: from.scenario.jobs[usize::from(job)].name.to_string(),
            iteration: u64::from(iteration),
            ranks: ends.len() as u64,
            first_s: first.seconds(),
            mean_s: mean(sum, ends.len() as u64),
            last_s: ends[ends.len() - 1].2.seconds(),
        }
    };
    ends.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)).map(row).collect()
}

//! The table `packets`: histograms of packet latency.

use super::row::row;
use super::sources::{CLASSES, Sources};
use odonata_engine::Time;
use odonata_network::Histogram;

row! {
    /// Histogram of packet latency: one row per job, class, measure and occupied bucket. Buckets are 1/32 wide.
    "packets" => pub struct LatencyBucket {
        /// Name of the job.
        job: String,
        /// mpi or io.
        class: &'static str,
        /// network: from its start on the terminal link; total: from the creation of the message.
        measure: &'static str,
        /// Lower end of the bucket.
        #[unit = "s"]
        latency_low_s: f64,
        /// Upper end of the bucket.
        #[unit = "s"]
        latency_high_s: f64,
        /// Packets in the bucket.
        count: u64,
    }
}

fn histogram_rows(
    job: &str,
    class: &'static str,
    measure: &'static str,
    histogram: &Histogram,
    which: usize,
) -> Vec<LatencyBucket> {
    let row = |(low, high, count): (Time, Time, u64)| LatencyBucket {
        job: job.into(),
        class,
        measure,
        latency_low_s: low.seconds(),
        latency_high_s: high.seconds(),
        count,
    };
    histogram.buckets(which).into_iter().map(row).collect()
}

pub(super) fn rows(from: &Sources<'_>) -> Vec<LatencyBucket> {
    let (network, total) = (&from.fabric.latency, &from.fabric.latency_created);
    let mut rows = Vec::new();
    for (j, job) in from.scenario.jobs.iter().enumerate() {
        for (c, class) in CLASSES.into_iter().enumerate() {
            rows.extend(histogram_rows(&job.name, class, "network", network, 2 * j + c));
            rows.extend(histogram_rows(&job.name, class, "total", total, 2 * j + c));
        }
    }
    rows
}

//! The table `messages`: individual messages, or histograms for many.

use super::row::row;
use super::sources::{CLASSES, Sources};

row! {
    /// One row per message; above run.message_rows messages, one row per bucket of a histogram (then source_rank and
    /// target_rank are -1).
    "messages" => pub struct MessageRow {
        /// Name of the job.
        job: String,
        /// mpi or io.
        class: &'static str,
        /// Sending rank; -1: a storage server.
        source_rank: i64,
        /// Receiving rank; -1: a storage server.
        target_rank: i64,
        /// Payload (histogram: 0).
        #[unit = "bytes"]
        bytes: u64,
        /// When it was sent, simulated time (histogram: 0).
        #[unit = "s"]
        created_s: f64,
        /// Latency, from the send call to the arrival of the last byte; histogram: lower end of the bucket.
        #[unit = "s"]
        latency_low_s: f64,
        /// Like latency_low_s; histogram: upper end.
        #[unit = "s"]
        latency_high_s: f64,
        /// Number of messages of the row.
        count: u64,
    }
}

/// Individual messages if all fit under the limit, otherwise histograms.
pub(super) fn rows(from: &Sources<'_>) -> Vec<MessageRow> {
    let histogram = &from.hosts.message_latency;
    let mut total = 0;
    let mut buckets = Vec::new();
    for (j, job) in from.scenario.jobs.iter().enumerate() {
        for (c, class) in CLASSES.into_iter().enumerate() {
            for (low, high, count) in histogram.buckets(2 * j + c) {
                total += count;
                buckets.push(MessageRow {
                    job: job.name.to_string(),
                    class,
                    source_rank: -1,
                    target_rank: -1,
                    bytes: 0,
                    created_s: 0.0,
                    latency_low_s: low.seconds(),
                    latency_high_s: high.seconds(),
                    count,
                });
            }
        }
    }
    let mut records = from.hosts.messages.clone();
    if total > records.len() as u64 {
        return buckets;
    }
    records.sort_unstable_by_key(|r| (r.created, r.job, r.io, r.source, r.destination, r.latency));
    let rank = |number: u32| {
        if number == odonata_engine::NIL {
            -1
        } else {
            i64::from(number)
        }
    };
    let row = |r: odonata_host::MessageRecord| MessageRow {
        job: from.scenario.jobs[usize::from(r.job)].name.to_string(),
        class: CLASSES[usize::from(r.io)],
        // The other end of I/O is a server, not a rank; between tiers, both are.
        source_rank: if r.from_server { -1 } else { rank(r.source) },
        target_rank: if r.io && !r.from_server {
            -1
        } else {
            rank(r.destination)
        },
        bytes: r.bytes,
        created_s: r.created.seconds(),
        latency_low_s: r.latency.seconds(),
        latency_high_s: r.latency.seconds(),
        count: 1,
    };
    records.into_iter().map(row).collect()
}

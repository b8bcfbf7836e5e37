//! The table `metadata`: the activity of each metadata server.

use super::row::row;
use super::sources::Sources;
use odonata_engine::Time;
use odonata_storage::{MetadataCall, MetadataMetrics};

row! {
    /// One row per metadata server (storage.metadata), numbered after the storage servers.
    "metadata" => pub struct MetadataRow {
        /// Number of the server.
        server: u64,
        /// Node that it is on.
        node: u64,
        /// Calls answered.
        calls: u64,
        /// Calls that opened a file.
        opens: u64,
        /// That created one.
        creates: u64,
        /// Calls that looked up attributes.
        stats: u64,
        /// Calls that closed a file.
        closes: u64,
        /// That removed one.
        unlinks: u64,
        /// Calls that made attributes durable.
        syncs: u64,
        /// Calls that made a directory.
        mkdirs: u64,
        /// That removed one.
        rmdirs: u64,
        /// Busy time, summed over threads.
        #[unit = "s"]
        busy_s: f64,
        /// busy_s over the run time and the number of threads.
        utilization: f64,
        /// Time that calls waited for a thread, summed.
        #[unit = "s"]
        wait_thread_s: f64,
        /// Time that calls waited for their directory (storage.metadata.serial_directories), summed.
        #[unit = "s"]
        wait_directory_s: f64,
        /// Longest time from a call's arrival to its answer.
        #[unit = "s"]
        longest_s: f64,
        /// Maximum number of waiting calls.
        peak_waiting: u64,
        /// Attempts of calls that timed out and were abandoned (storage.client); 0 if no metadata server fails.
        timeouts: u64,
    }
}

pub(super) fn rows(from: &Sources<'_>) -> Vec<MetadataRow> {
    let ps = |time: u128| time as f64 * 1e-12;
    let metadata = from
        .scenario
        .storage
        .as_ref()
        .and_then(|storage| storage.metadata.as_ref());
    let threads = metadata.map_or(1, |metadata| metadata.threads);
    let all = from.now.max(Time::from_ps(1)).seconds() * f64::from(threads);
    let row = |(&(server, m), &node): (&(u32, MetadataMetrics), &u32)| {
        let of = |call: MetadataCall| m.calls[call as usize];
        let retries = from.hosts.retries.1.get(server as usize);
        MetadataRow {
            server: u64::from(server),
            node: u64::from(node),
            calls: m.calls.iter().sum(),
            opens: of(MetadataCall::Open),
            creates: of(MetadataCall::Create),
            stats: of(MetadataCall::Stat),
            closes: of(MetadataCall::Close),
            unlinks: of(MetadataCall::Unlink),
            syncs: of(MetadataCall::Sync),
            mkdirs: of(MetadataCall::Mkdir),
            rmdirs: of(MetadataCall::Rmdir),
            busy_s: ps(m.busy_ps),
            utilization: ps(m.busy_ps) / all,
            wait_thread_s: ps(m.thread_wait_ps),
            wait_directory_s: ps(m.directory_wait_ps),
            longest_s: m.longest.seconds(),
            peak_waiting: u64::from(m.peak_waiting),
            timeouts: retries.map_or(0, |retries| retries.timeouts),
        }
    };
    from.hosts
        .metadata
        .iter()
        .zip(&from.placement.metadata)
        .map(row)
        .collect()
}

//! The tables `servers` and `server_series`: the activity of each storage server, and its resource use over time.

use super::row::row;
use super::sources::Sources;
use odonata_storage::{LockMetrics, Losses};

row! {
    /// One row per storage server.
    "servers" => pub struct ServerRow {
        /// Number of the server.
        server: u64,
        /// Its tier: "storage", the name of a lower tier, or "file-system" for an object server.
        tier: String,
        /// Its node; for an object server, the node that holds its queue.
        node: u64,
        /// Requests completed.
        requests: u64,
        /// From a request's arrival to its response, summed over requests.
        #[unit = "s"]
        request_time_s: f64,
        /// From a write's arrival to its commit, when all of it is on a device, summed over writes.
        #[unit = "s"]
        commit_time_s: f64,
        /// Bytes written to the device.
        #[unit = "bytes"]
        bytes_written: u64,
        /// Bytes read from the device for clients.
        #[unit = "bytes"]
        bytes_read: u64,
        /// Bytes drained to the external file system.
        #[unit = "bytes"]
        bytes_drained: u64,
        /// Write accesses of the device.
        device_writes: u64,
        /// Read accesses of the device.
        device_reads: u64,
        /// Accesses with a seek.
        seeks: u64,
        /// Busy time of the device; with several devices, summed.
        #[unit = "s"]
        device_busy_s: f64,
        /// Time that requests waited for space on the device, summed.
        #[unit = "s"]
        wait_space_s: f64,
        /// Time that pieces waited for memory, summed.
        #[unit = "s"]
        wait_memory_s: f64,
        /// Time that accesses waited for the device, summed.
        #[unit = "s"]
        wait_device_s: f64,
        /// Lock revocations (storage.locks).
        lock_revocations: u64,
        /// Time that requests waited for locks, summed.
        #[unit = "s"]
        wait_lock_s: f64,
        /// Bytes of acknowledged writes lost in a failure (storage.faults) before another copy existed.
        #[unit = "bytes"]
        lost_bytes: u64,
        /// Bytes of unacknowledged writes on its devices at a failure: their clients write them again.
        #[unit = "bytes"]
        dropped_bytes: u64,
        /// Bytes of files removed here, on its devices or below; 0 for a server without storage.manager.extents.
        #[unit = "bytes"]
        removed_bytes: u64,
        /// Bytes of reads, lost or on a server that did not answer, that were read here as if never written
        /// (storage.client.lost_reads = "below"), or reported as lost to a restarting job.
        #[unit = "bytes"]
        lost_reads_bytes: u64,
        /// Requests that arrived while it was down.
        requests_while_down: u64,
        /// Attempts of requests to it that timed out (storage.client).
        timeouts: u64,
        /// Requests resent to it.
        retries: u64,
        /// Bytes of requests that the layout places here, but that went to another server.
        #[unit = "bytes"]
        rerouted_bytes: u64,
        /// Maximum memory in use.
        #[unit = "bytes"]
        peak_memory_bytes: u64,
        /// Maximum space in use on the device.
        #[unit = "bytes"]
        peak_used_bytes: u64,
    }
}

pub(super) fn rows(from: &Sources<'_>) -> Vec<ServerRow> {
    let ps = |time: u128| time as f64 * 1e-12;
    let all = from.placement.all_servers();
    let mut commit_ps = vec![0; all.len()];
    for &(server, _, device) in &from.hosts.devices {
        commit_ps[server as usize] += device.commit_ps;
    }
    let mut losses = vec![Losses::default(); all.len()];
    for (server, _, some) in &from.hosts.losses {
        losses[*server as usize].absorb(some);
    }
    let mut removed = vec![0; all.len()];
    for &(server, _, bytes) in &from.hosts.removed {
        removed[server as usize] += bytes;
    }
    let row = |(server, &node): (usize, &u32)| {
        let (losses, retries) = (
            losses[server],
            from.hosts.retries.1.get(server).copied().unwrap_or_default(),
        );
        let (_, m) = from.hosts.servers[server];
        let locks = from
            .hosts
            .locks
            .get(server)
            .map_or(LockMetrics::default(), |&(_, locks)| locks);
        ServerRow {
            server: server as u64,
            tier: (from.scenario.storage.as_ref())
                .map_or("", |storage| storage.tier_name(from.placement.tier_of(server as u32)))
                .to_owned(),
            node: u64::from(node),
            requests: m.requests,
            request_time_s: ps(m.request_time_ps),
            commit_time_s: ps(commit_ps[server]),
            bytes_written: m.bytes_written,
            bytes_read: m.bytes_read,
            bytes_drained: m.bytes_drained,
            device_writes: m.device_writes,
            device_reads: m.device_reads,
            seeks: m.seeks,
            device_busy_s: m.device_busy.seconds(),
            wait_space_s: ps(m.space_wait_ps),
            wait_memory_s: ps(m.memory_wait_ps),
            wait_device_s: ps(m.device_wait_ps),
            lock_revocations: locks.revocations,
            wait_lock_s: ps(locks.wait_ps),
            lost_bytes: losses.lost(),
            dropped_bytes: losses.dropped,
            removed_bytes: removed[server],
            lost_reads_bytes: losses.reads,
            requests_while_down: losses.while_down,
            timeouts: retries.timeouts,
            retries: retries.retries,
            rerouted_bytes: retries.rerouted,
            peak_memory_bytes: m.peak_memory,
            peak_used_bytes: m.peak_used,
        }
    };
    all.iter().enumerate().map(row).collect()
}

row! {
    /// One row per interval and active storage server; empty unless run.series_interval is set.
    "server_series" => pub struct ServerSeriesRow {
        /// Start of the interval, simulated time.
        #[unit = "s"]
        start_s: f64,
        /// Number of the server.
        server: u64,
        /// Accesses at its devices, waiting and in service: mean over the interval, until the end of the run.
        accesses: f64,
        /// Memory in use, mean.
        #[unit = "bytes"]
        memory_bytes: f64,
        /// Space in use on its devices, mean.
        #[unit = "bytes"]
        used_bytes: f64,
    }
}

pub(super) fn series_rows(from: &Sources<'_>) -> Vec<ServerSeriesRow> {
    let Some(interval) = from.scenario.run.series_interval else {
        return Vec::new();
    };
    let row = |&(bin, server, sum): &(u64, u32, odonata_storage::Occupancy)| {
        let start = interval.times(bin);
        let length = interval.min(from.now.saturating_sub(start)).0.max(1) as f64;
        ServerSeriesRow {
            start_s: start.seconds(),
            server: u64::from(server),
            accesses: sum.accesses as f64 / length,
            memory_bytes: sum.memory as f64 / length,
            used_bytes: sum.used as f64 / length,
        }
    };
    from.hosts.occupancy.iter().map(row).collect()
}

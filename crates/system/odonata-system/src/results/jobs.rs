//! The table `jobs`: sums and means over the ranks of each job.

use super::row::row;
use super::sources::{Sources, mean, seconds};
use odonata_engine::Time;

row! {
    /// One row per job, in the order of the scenario.
    "jobs" => pub struct JobRow {
        /// Name of the job.
        job: String,
        /// What the job does.
        workload: String,
        /// Number of ranks.
        ranks: u64,
        /// Number of nodes that the ranks are on.
        nodes: u64,
        /// Ranks with a completed program.
        ranks_finished: u64,
        /// When the job's first rank started, simulated time; the end of the run if none did.
        #[unit = "s"]
        start_s: f64,
        /// From the job's start to the end of its last rank (or of the run).
        #[unit = "s"]
        elapsed_s: f64,
        /// Computation time on at least one stream, mean over ranks.
        #[unit = "s"]
        compute_s: f64,
        /// Time blocked in MPI calls, mean over ranks.
        #[unit = "s"]
        mpi_s: f64,
        /// Time blocked in MPI calls, largest of all ranks.
        #[unit = "s"]
        mpi_max_s: f64,
        /// Time blocked in I/O, mean over ranks.
        #[unit = "s"]
        io_s: f64,
        /// Time blocked in I/O, largest of all ranks.
        #[unit = "s"]
        io_max_s: f64,
        /// Elapsed time minus computation, mean over ranks (the communication time of the MFNetSim runs, including
        /// I/O).
        #[unit = "s"]
        non_compute_s: f64,
        /// Elapsed time minus computation, maximum over ranks.
        #[unit = "s"]
        non_compute_max_s: f64,
        /// MPI messages received.
        messages: u64,
        /// Payload of the MPI messages sent.
        #[unit = "bytes"]
        bytes_sent: u64,
        /// MPI message latency, from the send call to the arrival of the last byte: mean.
        #[unit = "s"]
        message_latency_mean_s: f64,
        /// The same: median.
        #[unit = "s"]
        message_latency_p50_s: f64,
        /// MPI message latency: 99th percentile.
        #[unit = "s"]
        message_latency_p99_s: f64,
        /// The same: largest.
        #[unit = "s"]
        message_latency_max_s: f64,
        /// Packets of MPI messages delivered.
        mpi_packets: u64,
        /// Packet latency of MPI messages, from its start on the terminal link to the last byte: mean.
        #[unit = "s"]
        mpi_packet_latency_mean_s: f64,
        /// The same: median.
        #[unit = "s"]
        mpi_packet_latency_p50_s: f64,
        /// Packet latency of MPI messages: 99th percentile.
        #[unit = "s"]
        mpi_packet_latency_p99_s: f64,
        /// The same: largest.
        #[unit = "s"]
        mpi_packet_latency_max_s: f64,
        /// Routers visited by a packet of an MPI message, mean.
        #[unit = "routers"]
        mpi_hops_mean: f64,
        /// Packets of MPI messages on nonminimal paths: over an intermediate group, or longer than a shortest path.
        mpi_packets_nonminimal: u64,
        /// Packets of I/O messages (requests, pulls, data, acknowledgments) delivered.
        io_packets: u64,
        /// Packet latency of I/O messages: mean.
        #[unit = "s"]
        io_packet_latency_mean_s: f64,
        /// The same: median.
        #[unit = "s"]
        io_packet_latency_p50_s: f64,
        /// Packet latency of I/O messages: 99th percentile.
        #[unit = "s"]
        io_packet_latency_p99_s: f64,
        /// The same: largest.
        #[unit = "s"]
        io_packet_latency_max_s: f64,
        /// Routers visited by a packet of an I/O message, mean.
        #[unit = "routers"]
        io_hops_mean: f64,
        /// Bytes written to storage servers.
        #[unit = "bytes"]
        bytes_written: u64,
        /// Bytes read from storage servers.
        #[unit = "bytes"]
        bytes_read: u64,
        /// Reads and writes completed.
        io_operations: u64,
        /// From the first I/O request to the last acknowledgment.
        #[unit = "s"]
        io_completion_s: f64,
        /// From the first I/O request to the last commit: when the last byte of a write was on a device. 0 without
        /// writes.
        #[unit = "s"]
        io_commit_s: f64,
        /// Bytes read and written over io_completion_s.
        #[unit = "bytes/s"]
        io_bandwidth_bytes_per_s: f64,
        /// Packet latency of MPI messages, summed over packets.
        #[unit = "s"]
        mpi_network_s: f64,
        /// Packet latency of I/O messages, summed over packets.
        #[unit = "s"]
        io_network_s: f64,
        /// From request to acknowledgment, summed over reads and writes.
        #[unit = "s"]
        io_calls_s: f64,
        /// Attempts of its requests that timed out at storage servers (storage.client).
        io_timeouts: u64,
        /// Requests resent to the same server.
        io_retries: u64,
        /// Bytes of requests sent to another server than the layout's.
        #[unit = "bytes"]
        io_rerouted_bytes: u64,
        /// Bytes of its acknowledged writes lost with failed servers (storage.faults).
        #[unit = "bytes"]
        io_lost_bytes: u64,
        /// Bytes of its files removed at storage servers of all tiers (storage.manager.extents).
        #[unit = "bytes"]
        io_removed_bytes: u64,
        /// Bytes on devices of servers that failed before they acknowledged the write; their clients wrote them again.
        #[unit = "bytes"]
        io_dropped_bytes: u64,
        /// Bytes read as if never written, because they were lost or on a server that did not answer; for a job that
        /// restarts from checkpoints, bytes reported to it as lost.
        #[unit = "bytes"]
        io_lost_reads_bytes: u64,
        /// Calls answered by metadata servers (storage.metadata).
        metadata_calls: u64,
        /// From call to answer, summed over these calls.
        #[unit = "s"]
        metadata_calls_s: f64,
        /// Service time of devices for its requests, summed over requests (0 unless run.blame).
        #[unit = "s"]
        io_device_s: f64,
    }
}

pub(super) fn rows(from: &Sources<'_>) -> Vec<JobRow> {
    (0..from.scenario.jobs.len()).map(|j| job_row(from, j)).collect()
}

/// The row of job `j`: sums over its ranks.
fn job_row(from: &Sources<'_>, j: usize) -> JobRow {
    let (job, place) = (&from.scenario.jobs[j], &from.placement.jobs[j]);
    let (start, now) = (from.starts[j], from.now);
    let mut nodes = place.nodes.clone();
    nodes.sort_unstable();
    nodes.dedup();
    let mut row = JobRow {
        job: job.name.to_string(),
        workload: crate::check::describe(job).unwrap_or_default(),
        ranks: u64::from(*job.ranks),
        nodes: nodes.len() as u64,
        start_s: start.seconds(),
        ..JobRow::default()
    };
    let (mut latency_ps, mut latency_max, mut received, mut io_calls_ps) = (0u128, Time::ZERO, 0, 0u128);
    for rank in 0..*job.ranks {
        let m = from.hosts.metrics(j as u16, rank);
        // A rank that has not ended runs until now.
        let end = if m.finished { m.end } else { now };
        let elapsed = end.saturating_sub(start).seconds();
        let compute = m.compute.seconds();
        let non_compute = elapsed - compute.min(elapsed);
        row.ranks_finished += u64::from(m.finished);
        row.elapsed_s = row.elapsed_s.max(elapsed);
        row.compute_s += compute;
        row.mpi_s += m.mpi.seconds();
        row.mpi_max_s = row.mpi_max_s.max(m.mpi.seconds());
        row.io_s += m.io.seconds();
        row.io_max_s = row.io_max_s.max(m.io.seconds());
        row.non_compute_s += non_compute;
        row.non_compute_max_s = row.non_compute_max_s.max(non_compute);
        row.bytes_sent += m.bytes_sent;
        row.bytes_written += m.bytes_written;
        row.bytes_read += m.bytes_read;
        row.io_operations += m.io_operations;
        io_calls_ps += m.io_duration_ps;
        row.metadata_calls += m.metadata_calls;
        row.metadata_calls_s += m.metadata_ps as f64 * 1e-12;
        latency_ps += m.latency_ps;
        latency_max = latency_max.max(m.latency_max);
        received += m.recvs;
    }
    let retries = from.hosts.retries.0.get(j).copied().unwrap_or_default();
    (row.io_timeouts, row.io_retries, row.io_rerouted_bytes) = (retries.timeouts, retries.retries, retries.rerouted);
    let removed = from.hosts.removed.iter().filter(|removed| usize::from(removed.1) == j);
    row.io_removed_bytes = removed.map(|&(.., bytes)| bytes).sum();
    for (_, _, losses) in from.hosts.losses.iter().filter(|loss| usize::from(loss.1) == j) {
        row.io_lost_bytes += losses.lost();
        row.io_dropped_bytes += losses.dropped;
        row.io_lost_reads_bytes += losses.reads;
    }
    let n = f64::from((*job.ranks).max(1));
    for sum in [
        &mut row.compute_s,
        &mut row.mpi_s,
        &mut row.io_s,
        &mut row.non_compute_s,
    ] {
        *sum /= n;
    }
    let quantile = |q| {
        let value = from.hosts.message_latency.quantile(2 * j, q);
        value.map_or(0.0, |value| value.min(latency_max).seconds())
    };
    row.messages = received;
    row.message_latency_mean_s = mean(latency_ps as f64 * 1e-12, received);
    row.message_latency_p50_s = quantile(0.5);
    row.message_latency_p99_s = quantile(0.99);
    row.message_latency_max_s = latency_max.seconds();
    let (mpi, io) = (&from.fabric.traffic[2 * j], &from.fabric.traffic[2 * j + 1]);
    row.mpi_packets = mpi.packets;
    [
        row.mpi_packet_latency_mean_s,
        row.mpi_packet_latency_p50_s,
        row.mpi_packet_latency_p99_s,
        row.mpi_packet_latency_max_s,
    ] = packet_latency(from, 2 * j);
    row.io_packets = io.packets;
    [
        row.io_packet_latency_mean_s,
        row.io_packet_latency_p50_s,
        row.io_packet_latency_p99_s,
        row.io_packet_latency_max_s,
    ] = packet_latency(from, 2 * j + 1);
    row.mpi_hops_mean = mean(mpi.hops as f64, mpi.packets);
    row.io_hops_mean = mean(io.hops as f64, io.packets);
    row.mpi_packets_nonminimal = mpi.nonminimal;
    (row.mpi_network_s, row.io_network_s) = (seconds(mpi.latency_ps), seconds(io.latency_ps));
    row.io_calls_s = io_calls_ps as f64 * 1e-12;
    row.io_device_s = seconds(from.hosts.device_time_ps[j]);
    let io = from.hosts.io_span(j as u16, *job.ranks);
    if let Some((first, last)) = io {
        row.io_completion_s = (last - first).seconds();
        row.io_commit_s = from.hosts.last_commit[j].map_or(0.0, |commit| commit.saturating_sub(first).seconds());
        row.io_bandwidth_bytes_per_s = (row.bytes_written + row.bytes_read) as f64 / row.io_completion_s.max(1e-12);
    }
    row
}

/// Mean, median, 99th percentile and maximum of the packet latency of traffic `which`, in seconds.
fn packet_latency(from: &Sources<'_>, which: usize) -> [f64; 4] {
    let stats = &from.fabric.traffic[which];
    let network = &from.fabric.latency;
    let quantile = |q| {
        network
            .quantile(which, q)
            .map_or(0.0, Time::seconds)
            .min(stats.latency_max.seconds())
    };
    [
        mean(seconds(stats.latency_ps), stats.packets),
        quantile(0.5),
        quantile(0.99),
        stats.latency_max.seconds(),
    ]
}

//! The table `ranks`: the activity of each rank, and the traffic of its node.

use super::row::row;
use super::sources::{Sources, mean};
use crate::scenario::resolved::FileLayout;

row! {
    /// One row per rank of every job.
    "ranks" => pub struct RankRow {
        /// Name of the job.
        job: String,
        /// Rank in the job.
        rank: u64,
        /// Node that the rank is on.
        node: u64,
        /// Router of that node.
        router: u64,
        /// Storage server of the rank; -1: none, or a layout of files that does not depend on the rank.
        server: i64,
        /// 1 if the rank's program has ended, else 0.
        finished: u64,
        /// When the rank started, simulated time; the start of its job if it did not.
        #[unit = "s"]
        start_s: f64,
        /// From the job's start to the rank's end.
        #[unit = "s"]
        elapsed_s: f64,
        /// Computation time on at least one stream.
        #[unit = "s"]
        compute_s: f64,
        /// Time blocked in MPI calls.
        #[unit = "s"]
        mpi_s: f64,
        /// Time blocked in I/O (request to acknowledgment; for non-blocking I/O, the waiting time).
        #[unit = "s"]
        io_s: f64,
        /// elapsed_s - compute_s.
        #[unit = "s"]
        non_compute_s: f64,
        /// MPI messages sent, including those of collectives.
        messages_sent: u64,
        /// MPI messages received.
        messages_received: u64,
        /// Payload of the messages sent.
        #[unit = "bytes"]
        bytes_sent: u64,
        /// Payload of the messages received.
        #[unit = "bytes"]
        bytes_received: u64,
        /// Latency of the messages received, from the send call: mean.
        #[unit = "s"]
        message_latency_mean_s: f64,
        /// The same: largest.
        #[unit = "s"]
        message_latency_max_s: f64,
        /// Bytes written to storage.
        #[unit = "bytes"]
        bytes_written: u64,
        /// Bytes read from storage.
        #[unit = "bytes"]
        bytes_read: u64,
        /// Packets received by the rank's node (all its ranks, MPI and I/O).
        packets_received: u64,
        /// Their latency, from the start on the sender's terminal link: mean.
        #[unit = "s"]
        packet_latency_mean_s: f64,
        /// The same: smallest.
        #[unit = "s"]
        packet_latency_min_s: f64,
        /// The same: largest.
        #[unit = "s"]
        packet_latency_max_s: f64,
        /// Routers visited by these packets, mean.
        #[unit = "routers"]
        hops_mean: f64,
    }
}

pub(super) fn rows(from: &Sources<'_>) -> Vec<RankRow> {
    let mut rows = Vec::new();
    for (j, (job, place)) in from.scenario.jobs.iter().zip(&from.placement.jobs).enumerate() {
        let (start, now) = (from.starts[j], from.now);
        let servers = from.placement.servers.len().max(1) as u32;
        let by_rank = from.scenario.layout_of_files(job, servers) == FileLayout::Assigned;
        for (rank, &node) in (0..*job.ranks).zip(&place.nodes) {
            let m = from.hosts.metrics(j as u16, rank);
            let packets = from.fabric.packets_of(from.topology.interfaces_of(node));
            let end = if m.finished { m.end } else { now };
            let elapsed = end.saturating_sub(start).seconds();
            let none = packets.packets == 0;
            rows.push(RankRow {
                job: job.name.to_string(),
                rank: u64::from(rank),
                node: u64::from(node),
                router: u64::from(from.topology.router_of_whole_node(node)),
                server: match by_rank {
                    true => place.servers.get(rank as usize).map_or(-1, |&server| i64::from(server)),
                    false => -1,
                },
                finished: u64::from(m.finished),
                start_s: m.start.unwrap_or(start).seconds(),
                elapsed_s: elapsed,
                compute_s: m.compute.seconds(),
                mpi_s: m.mpi.seconds(),
                io_s: m.io.seconds(),
                non_compute_s: elapsed - m.compute.seconds().min(elapsed),
                messages_sent: m.sends,
                messages_received: m.recvs,
                bytes_sent: m.bytes_sent,
                bytes_received: m.bytes_received,
                message_latency_mean_s: m.mean_latency_ps().unwrap_or(0.0) * 1e-12,
                message_latency_max_s: m.latency_max.seconds(),
                bytes_written: m.bytes_written,
                bytes_read: m.bytes_read,
                packets_received: packets.packets,
                packet_latency_mean_s: mean(packets.latency.seconds(), packets.packets),
                packet_latency_min_s: if none { 0.0 } else { packets.latency_min.seconds() },
                packet_latency_max_s: packets.latency_max.seconds(),
                hops_mean: mean(packets.hops as f64, packets.packets),
            });
        }
    }
    rows
}

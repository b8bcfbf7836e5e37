//! What was measured, row by row; times in seconds, sizes in bytes. Documented where the columns are
//! defined, in [`tables`](super::tables).
#![allow(missing_docs, reason = "each field is documented once, at its column in tables.rs")]

use super::blame::{BlameRow, BlameSeriesRow};

/// All rows of a run.
#[derive(Clone, Debug, Default)]
pub struct Rows {
    pub jobs: Vec<JobRow>,
    pub ranks: Vec<RankRow>,
    pub messages: Vec<MessageRow>,
    pub packets: Vec<LatencyBucket>,
    pub links: Vec<LinkRow>,
    pub routers: Vec<RouterRow>,
    pub io: Vec<IoRow>,
    pub servers: Vec<ServerRow>,
    pub series: Vec<SeriesRow>,
    pub iterations: Vec<IterationRow>,
    pub logs: Vec<LogRow>,
    pub blame: Vec<BlameRow>,
    pub blame_series: Vec<BlameSeriesRow>,
}

/// Mean, percentiles and maximum of a latency.
#[derive(Clone, Copy, Debug, Default)]
pub struct Latency {
    pub count: u64,
    pub mean_s: f64,
    pub p50_s: f64,
    pub p99_s: f64,
    pub max_s: f64,
}

#[derive(Clone, Debug, Default)]
pub struct JobRow {
    pub job: String,
    pub workload: String,
    pub ranks: u64,
    pub nodes: u64,
    pub finished: u64,
    pub start_s: f64,
    pub elapsed_s: f64,
    pub compute_mean_s: f64,
    pub mpi_mean_s: f64,
    pub mpi_max_s: f64,
    pub io_mean_s: f64,
    pub io_max_s: f64,
    pub non_compute_mean_s: f64,
    pub non_compute_max_s: f64,
    pub message: Latency,
    pub bytes_sent: u64,
    pub mpi_packet: Latency,
    pub mpi_hops_mean: f64,
    pub mpi_nonminimal: u64,
    pub io_packet: Latency,
    pub io_hops_mean: f64,
    pub bytes_written: u64,
    pub bytes_read: u64,
    pub io_operations: u64,
    pub io_completion_s: f64,
    pub io_bandwidth: f64,
    pub mpi_network_s: f64,
    pub io_network_s: f64,
    pub io_calls_s: f64,
    pub io_device_s: f64,
}

#[derive(Clone, Debug, Default)]
pub struct RankRow {
    pub job: String,
    pub rank: u64,
    pub node: u64,
    pub router: u64,
    pub server: i64,
    pub finished: u64,
    pub start_s: f64,
    pub elapsed_s: f64,
    pub compute_s: f64,
    pub mpi_s: f64,
    pub io_s: f64,
    pub non_compute_s: f64,
    pub messages_sent: u64,
    pub messages_received: u64,
    pub bytes_sent: u64,
    pub bytes_received: u64,
    pub message_latency_mean_s: f64,
    pub message_latency_max_s: f64,
    pub bytes_written: u64,
    pub bytes_read: u64,
    pub packets_received: u64,
    pub packet_latency_mean_s: f64,
    pub packet_latency_min_s: f64,
    pub packet_latency_max_s: f64,
    pub hops_mean: f64,
}

#[derive(Clone, Debug, Default)]
pub struct MessageRow {
    pub job: String,
    pub class: &'static str,
    pub source_rank: i64,
    pub target_rank: i64,
    pub bytes: u64,
    pub created_s: f64,
    pub latency_low_s: f64,
    pub latency_high_s: f64,
    pub count: u64,
}

#[derive(Clone, Debug, Default)]
pub struct LatencyBucket {
    pub job: String,
    pub class: &'static str,
    pub measure: &'static str,
    pub latency_low_s: f64,
    pub latency_high_s: f64,
    pub count: u64,
}

#[derive(Clone, Debug, Default)]
pub struct LinkRow {
    pub link: u64,
    pub name: String,
    pub class: &'static str,
    pub source_kind: &'static str,
    pub source: u64,
    pub target_kind: &'static str,
    pub target: u64,
    pub bytes: u64,
    pub packets: u64,
    pub busy_s: f64,
    pub saturation_s: f64,
    pub stalled: u64,
}

#[derive(Clone, Debug, Default)]
pub struct RouterRow {
    pub router: u64,
    pub group: u64,
    pub bytes: u64,
    pub packets: u64,
    pub busy_terminal_s: f64,
    pub busy_local_s: f64,
    pub busy_global_s: f64,
    pub saturation_terminal_s: f64,
    pub saturation_local_s: f64,
    pub saturation_global_s: f64,
}

#[derive(Clone, Debug, Default)]
pub struct IoRow {
    pub job: String,
    pub rank: u64,
    pub server: u64,
    pub operation: &'static str,
    pub file: u64,
    pub bytes: u64,
    pub start_s: f64,
    pub end_s: f64,
}

#[derive(Clone, Debug, Default)]
pub struct ServerRow {
    pub server: u64,
    pub node: u64,
    pub requests: u64,
    pub request_time_s: f64,
    pub bytes_written: u64,
    pub bytes_read: u64,
    pub bytes_drained: u64,
    pub device_writes: u64,
    pub device_reads: u64,
    pub seeks: u64,
    pub device_busy_s: f64,
    pub wait_space_s: f64,
    pub wait_memory_s: f64,
    pub wait_device_s: f64,
    pub peak_memory: u64,
    pub peak_used: u64,
}

#[derive(Clone, Debug, Default)]
pub struct SeriesRow {
    pub start_s: f64,
    pub kind: &'static str,
    pub job: String,
    pub class: &'static str,
    pub bytes: u64,
    pub packets: u64,
    pub latency_mean_s: f64,
    pub busy_s: f64,
}

#[derive(Clone, Debug, Default)]
pub struct IterationRow {
    pub job: String,
    pub iteration: u64,
    pub ranks: u64,
    pub first_s: f64,
    pub mean_s: f64,
    pub last_s: f64,
}

#[derive(Clone, Debug, Default)]
pub struct LogRow {
    pub job: String,
    pub rank: u64,
    pub time_s: f64,
    pub label: String,
    pub aggregate: &'static str,
    pub value: f64,
    pub count: u64,
    pub text: String,
}

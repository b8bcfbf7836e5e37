//! From the counters of a machine to the rows of the tables.

use super::blame;
use super::rows::{
    IoRow, IterationRow, JobRow, Latency, LatencyBucket, LinkRow, MessageRow, RankRow, RouterRow, Rows, SeriesRow,
    ServerRow,
};
use crate::host::HostMeasured;
use crate::machine::MachineMeasured;
use crate::placement::Placement;
use crate::scenario::resolved::Resolved;
use odonata_engine::Time;
use odonata_network::{Histogram, LinkStats, Measured};
use odonata_topology::{LinkClass, Peer, Topology};

/// Names of the two kinds of a job's traffic.
pub(super) const CLASSES: [&str; 2] = ["mpi", "io"];

/// What the tables are made from.
#[derive(Clone, Copy)]
pub(super) struct Sources<'a> {
    pub(super) scenario: &'a Resolved,
    placement: &'a Placement,
    pub(super) topology: &'a Topology,
    pub(super) fabric: &'a Measured,
    pub(super) hosts: &'a HostMeasured,
    /// Per job, when its first rank started; now if none has.
    starts: &'a [Time],
    now: Time,
}

/// Makes rows of everything that was `measured` until `now` on `topology`. `starts`: per job, when its first rank
/// started.
pub fn collect(
    scenario: &Resolved,
    placement: &Placement,
    topology: &Topology,
    measured: &MachineMeasured,
    starts: &[Option<Time>],
    now: Time,
) -> Rows {
    // A job that has not started has not run either.
    let starts: Vec<Time> = starts.iter().map(|start| start.unwrap_or(now)).collect();
    let sources = Sources {
        scenario,
        placement,
        topology,
        fabric: &measured.fabric,
        hosts: &measured.hosts,
        starts: &starts,
        now,
    };
    rows(&sources)
}

fn rows(from: &Sources<'_>) -> Rows {
    Rows {
        jobs: (0..from.scenario.jobs.len()).map(|j| job_row(from, j)).collect(),
        ranks: ranks(from),
        messages: messages(from),
        packets: packets(from),
        links: links(from),
        routers: routers(from),
        io: io(from),
        servers: servers(from),
        series: series(from),
        iterations: iterations(from),
        logs: super::logs::rows(from.scenario, &from.hosts.reports),
        blame: blame::rows(from),
        blame_series: blame::series_rows(from),
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

fn packets(from: &Sources<'_>) -> Vec<LatencyBucket> {
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

/// Mean, percentiles and maximum of the packet latency of traffic `which`.
fn packet_latency(from: &Sources<'_>, which: usize) -> Latency {
    let stats = &from.fabric.traffic[which];
    let network = &from.fabric.latency;
    let quantile = |q| {
        network
            .quantile(which, q)
            .map_or(0.0, Time::seconds)
            .min(stats.latency_max.seconds())
    };
    Latency {
        count: stats.packets,
        mean_s: mean(stats.latency.seconds(), stats.packets),
        p50_s: quantile(0.5),
        p99_s: quantile(0.99),
        max_s: stats.latency_max.seconds(),
    }
}

fn mean(sum: f64, count: u64) -> f64 {
    if count == 0 { 0.0 } else { sum / count as f64 }
}

fn links(from: &Sources<'_>) -> Vec<LinkRow> {
    let n = from.fabric.links();
    let mut rows = Vec::with_capacity(n as usize);
    for (link, ends) in (0..n).filter_map(|link| Some((link, ends(from.topology, link)?))) {
        let s: LinkStats = *from.fabric.link(link);
        rows.push(LinkRow {
            link: u64::from(link),
            name: ends.name(),
            class: ends.class.name(),
            source_kind: ends.source.0,
            source: u64::from(ends.source.1),
            target_kind: ends.target.0,
            target: u64::from(ends.target.1),
            bytes: s.bytes,
            packets: s.packets,
            busy_s: s.busy.seconds(),
            saturation_s: s.saturation.seconds(),
            stalled: s.stalled,
        });
    }
    rows
}

/// What a link connects: kind and number of both ends.
pub(super) struct LinkEnds {
    pub(super) class: LinkClass,
    pub(super) source: (&'static str, u32),
    target: (&'static str, u32),
}

impl LinkEnds {
    /// Such as `r3>n12`.
    pub(super) fn name(&self) -> String {
        let short = |(kind, number): (&str, u32)| format!("{}{number}", &kind[..1]);
        format!("{}>{}", short(self.source), short(self.target))
    }
}

/// The ends of link `link`; `None` for a port without cable.
pub(super) fn ends(topology: &Topology, link: u32) -> Option<LinkEnds> {
    let Some(node) = link.checked_sub(topology.ports()) else {
        let target = match topology.peer(link) {
            Peer::Router { router, .. } => ("router", router),
            Peer::Node(node) => ("node", node),
            Peer::Free => return None,
        };
        return Some(LinkEnds {
            class: topology.class(link),
            source: ("router", topology.router_of_port(link)),
            target,
        });
    };
    Some(LinkEnds {
        class: LinkClass::Terminal,
        source: ("node", node),
        target: ("router", topology.node_router(node)),
    })
}

fn routers(from: &Sources<'_>) -> Vec<RouterRow> {
    let topology = from.topology;
    let row = |router: u32| {
        let mut row = RouterRow {
            router: u64::from(router),
            group: u64::from(from.scenario.layout.group_of_router(router)),
            ..RouterRow::default()
        };
        for port in topology.ports_of(router) {
            let s = from.fabric.link(port);
            row.bytes += s.bytes;
            row.packets += s.packets;
            let (busy, saturation) = match topology.class(port) {
                LinkClass::Terminal => (&mut row.busy_terminal_s, &mut row.saturation_terminal_s),
                LinkClass::Local | LinkClass::Column => (&mut row.busy_local_s, &mut row.saturation_local_s),
                LinkClass::Global => (&mut row.busy_global_s, &mut row.saturation_global_s),
            };
            *busy += s.busy.seconds();
            *saturation += s.saturation.seconds();
        }
        row
    };
    (0..topology.routers()).map(row).collect()
}

fn servers(from: &Sources<'_>) -> Vec<ServerRow> {
    let ps = |time: u128| time as f64 * 1e-12;
    let row = |(server, &node): (usize, &u32)| {
        let (_, m) = from.hosts.servers[server];
        ServerRow {
            server: server as u64,
            node: u64::from(node),
            requests: m.requests,
            request_time_s: ps(m.request_time_ps),
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
            peak_memory: m.peak_memory,
            peak_used: m.peak_used,
        }
    };
    from.placement.servers.iter().enumerate().map(row).collect()
}

fn series(from: &Sources<'_>) -> Vec<SeriesRow> {
    let Some(interval) = from.scenario.run.series_interval else {
        return Vec::new();
    };
    let traffics = 2 * from.scenario.jobs.len();
    let width = traffics + LinkClass::ALL.len();
    let mut rows = Vec::new();
    for (&i, cell) in &from.fabric.series {
        let (bin, column) = (i / width, i % width);
        let mut row = SeriesRow {
            start_s: bin as f64 * interval.seconds(),
            bytes: cell.bytes,
            packets: cell.packets,
            ..SeriesRow::default()
        };
        if column < traffics {
            row.kind = "traffic";
            row.job.clone_from(&from.scenario.jobs[column / 2].name);
            row.class = CLASSES[column % 2];
            row.latency_mean_s = mean(cell.time.seconds(), cell.packets);
        } else {
            row.kind = "links";
            row.class = LinkClass::ALL[column - traffics].name();
            row.busy_s = cell.time.seconds();
        }
        rows.push(row);
    }
    rows
}

/// The row of job `j`: sums over its ranks.
fn job_row(from: &Sources<'_>, j: usize) -> JobRow {
    let (job, place) = (&from.scenario.jobs[j], &from.placement.jobs[j]);
    let (start, now) = (from.starts[j], from.now);
    let mut nodes = place.nodes.clone();
    nodes.sort_unstable();
    nodes.dedup();
    let mut row = JobRow {
        job: job.name.clone(),
        workload: crate::check::describe(job).unwrap_or_default(),
        ranks: u64::from(job.ranks),
        nodes: nodes.len() as u64,
        start_s: start.seconds(),
        ..JobRow::default()
    };
    let (mut latency_ps, mut latency_max, mut received, mut io_calls_ps) = (0u128, Time::ZERO, 0, 0u128);
    for rank in 0..job.ranks {
        let m = from.hosts.metrics(j as u16, rank);
        // A rank that has not ended has run until now.
        let end = if m.finished { m.end } else { now };
        let elapsed = end.saturating_sub(start).seconds();
        let compute = m.compute.seconds();
        let non_compute = elapsed - compute.min(elapsed);
        row.finished += u64::from(m.finished);
        row.elapsed_s = row.elapsed_s.max(elapsed);
        row.compute_mean_s += compute;
        row.mpi_mean_s += m.mpi.seconds();
        row.mpi_max_s = row.mpi_max_s.max(m.mpi.seconds());
        row.io_mean_s += m.io.seconds();
        row.io_max_s = row.io_max_s.max(m.io.seconds());
        row.non_compute_mean_s += non_compute;
        row.non_compute_max_s = row.non_compute_max_s.max(non_compute);
        row.bytes_sent += m.bytes_sent;
        row.bytes_written += m.bytes_written;
        row.bytes_read += m.bytes_read;
        row.io_operations += m.io_operations;
        io_calls_ps += m.io_duration_ps;
        latency_ps += m.latency_ps;
        latency_max = latency_max.max(m.latency_max);
        received += m.recvs;
    }
    let n = f64::from(job.ranks.max(1));
    for sum in [
        &mut row.compute_mean_s,
        &mut row.mpi_mean_s,
        &mut row.io_mean_s,
        &mut row.non_compute_mean_s,
    ] {
        *sum /= n;
    }
    let quantile = |q| {
        let value = from.hosts.message_latency.quantile(2 * j, q);
        value.map_or(0.0, |value| value.min(latency_max).seconds())
    };
    row.message = Latency {
        count: received,
        mean_s: mean(latency_ps as f64 * 1e-12, received),
        p50_s: quantile(0.5),
        p99_s: quantile(0.99),
        max_s: latency_max.seconds(),
    };
    let (mpi, io) = (&from.fabric.traffic[2 * j], &from.fabric.traffic[2 * j + 1]);
    row.mpi_packet = packet_latency(from, 2 * j);
    row.io_packet = packet_latency(from, 2 * j + 1);
    row.mpi_hops_mean = mean(mpi.hops as f64, mpi.packets);
    row.io_hops_mean = mean(io.hops as f64, io.packets);
    row.mpi_nonminimal = mpi.nonminimal;
    (row.mpi_network_s, row.io_network_s) = (mpi.latency.seconds(), io.latency.seconds());
    row.io_calls_s = io_calls_ps as f64 * 1e-12;
    row.io_device_s = from.hosts.device_time[j].seconds();
    let io = from.hosts.io_span(j as u16, job.ranks);
    if let Some((first, last)) = io {
        row.io_completion_s = (last - first).seconds();
        row.io_bandwidth = (row.bytes_written + row.bytes_read) as f64 / row.io_completion_s.max(1e-12);
    }
    row
}

fn ranks(from: &Sources<'_>) -> Vec<RankRow> {
    let mut rows = Vec::new();
    for (j, (job, place)) in from.scenario.jobs.iter().zip(&from.placement.jobs).enumerate() {
        let (start, now) = (from.starts[j], from.now);
        for (rank, &node) in (0..job.ranks).zip(&place.nodes) {
            let m = from.hosts.metrics(j as u16, rank);
            let packets = &from.fabric.nodes[node as usize];
            let end = if m.finished { m.end } else { now };
            let elapsed = end.saturating_sub(start).seconds();
            let none = packets.packets == 0;
            rows.push(RankRow {
                job: job.name.clone(),
                rank: u64::from(rank),
                node: u64::from(node),
                router: u64::from(from.topology.node_router(node)),
                server: place.servers.get(rank as usize).map_or(-1, |&server| i64::from(server)),
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

/// Message by message as long as all fit under the limit, else histograms.
fn messages(from: &Sources<'_>) -> Vec<MessageRow> {
    let histogram = &from.hosts.message_latency;
    let mut total = 0;
    let mut buckets = Vec::new();
    for (j, job) in from.scenario.jobs.iter().enumerate() {
        for (c, class) in CLASSES.into_iter().enumerate() {
            for (low, high, count) in histogram.buckets(2 * j + c) {
                total += count;
                buckets.push(MessageRow {
                    job: job.name.clone(),
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
    let row = |r: crate::host::MessageRecord| MessageRow {
        job: from.scenario.jobs[usize::from(r.job)].name.clone(),
        class: CLASSES[usize::from(r.io)],
        // The other end of I/O is a server, not a rank.
        source_rank: if r.from_server { -1 } else { i64::from(r.source) },
        target_rank: if r.io && !r.from_server {
            -1
        } else {
            i64::from(r.destination)
        },
        bytes: r.bytes,
        created_s: r.created.seconds(),
        latency_low_s: r.latency.seconds(),
        latency_high_s: r.latency.seconds(),
        count: 1,
    };
    records.into_iter().map(row).collect()
}

fn io(from: &Sources<'_>) -> Vec<IoRow> {
    let mut records = from.hosts.io.clone();
    records.sort_unstable_by_key(|r| (r.start, r.job, r.rank, r.file));
    let row = |r: crate::host::IoRecord| IoRow {
        job: from.scenario.jobs[usize::from(r.job)].name.clone(),
        rank: u64::from(r.rank),
        server: u64::from(r.server),
        operation: if r.write { "write" } else { "read" },
        file: r.file,
        bytes: r.bytes,
        start_s: r.start.seconds(),
        end_s: r.end.seconds(),
    };
    records.into_iter().map(row).collect()
}

fn iterations(from: &Sources<'_>) -> Vec<IterationRow> {
    let mut ends: Vec<(u16, u32, Time)> = (from.hosts.iterations.iter())
        .map(|r| (r.job, r.iteration, r.time))
        .collect();
    ends.sort_unstable();
    let row = |ends: &[(u16, u32, Time)]| {
        let (job, iteration, first) = ends[0];
        let sum: f64 = ends.iter().map(|&(.., time)| time.seconds()).sum();
        IterationRow {
            job: from.scenario.jobs[usize::from(job)].name.clone(),
            iteration: u64::from(iteration),
            ranks: ends.len() as u64,
            first_s: first.seconds(),
            mean_s: mean(sum, ends.len() as u64),
            last_s: ends[ends.len() - 1].2.seconds(),
        }
    };
    ends.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)).map(row).collect()
}

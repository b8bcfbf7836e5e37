//! From the counters of a machine to the rows of the tables.

use super::rows::{
    IoRow, IterationRow, JobRow, Latency, LatencyBucket, LinkRow, MessageRow, RankRow, RouterRow, Rows, SeriesRow, ServerRow,
};
use crate::machine::Machine;
use crate::placement::Placement;
use crate::scenario::resolved::Resolved;
use odonata_engine::Time;
use odonata_network::{Histogram, LinkStats};
use odonata_topology::{LinkClass, Peer};

/// Names of the two kinds of a job's traffic.
const CLASSES: [&str; 2] = ["mpi", "io"];

/// Collects everything that `machine` measured until `now`.
pub fn collect(scenario: &Resolved, placement: &Placement, machine: &Machine, now: Time) -> Rows {
    let iterations = iterations(scenario, machine);
    Rows {
        jobs: jobs(scenario, placement, machine, now),
        ranks: ranks(scenario, placement, machine, now),
        messages: messages(scenario, machine),
        packets: packets(scenario, machine),
        links: links(machine),
        routers: routers(scenario, machine),
        io: io(scenario, machine),
        servers: servers(placement, machine),
        series: series(scenario, machine),
        iterations,
    }
}

fn histogram_rows(job: &str, class: &'static str, measure: &'static str, histogram: &Histogram, which: usize) -> Vec<LatencyBucket> {
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

fn packets(scenario: &Resolved, machine: &Machine) -> Vec<LatencyBucket> {
    let (network, total) = machine.fabric.latencies();
    let mut rows = Vec::new();
    for (j, job) in scenario.jobs.iter().enumerate() {
        for (c, class) in CLASSES.into_iter().enumerate() {
            rows.extend(histogram_rows(&job.name, class, "network", network, 2 * j + c));
            rows.extend(histogram_rows(&job.name, class, "total", total, 2 * j + c));
        }
    }
    rows
}

/// Mean, percentiles and maximum of the packet latency of traffic `which`.
fn packet_latency(machine: &Machine, which: usize) -> Latency {
    let stats = machine.fabric.traffic_stats().get(which as u32);
    let (network, _) = machine.fabric.latencies();
    let quantile = |q| network.quantile(which, q).map_or(0.0, Time::seconds).min(stats.latency_max.seconds());
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

fn links(machine: &Machine) -> Vec<LinkRow> {
    let topology = machine.fabric.routing().topology();
    let stats = machine.fabric.link_stats();
    let mut rows = Vec::with_capacity(stats.len());
    let mut add = |link: u32, class: LinkClass, (source_kind, source), (target_kind, target): (&'static str, u32)| {
        let s: LinkStats = *stats.get(link);
        let short = |kind: &str, number: u32| format!("{}{number}", &kind[..1]);
        rows.push(LinkRow {
            link: u64::from(link),
            name: format!("{}>{}", short(source_kind, source), short(target_kind, target)),
            class: class.name(),
            source_kind,
            source: u64::from(source),
            target_kind,
            target: u64::from(target),
            bytes: s.bytes,
            packets: s.packets,
            busy_s: s.busy.seconds(),
            saturation_s: s.saturation.seconds(),
            stalled: s.stalled,
        });
    };
    for port in 0..topology.ports() {
        let target = match topology.peer(port) {
            Peer::Router { router, .. } => ("router", router),
            Peer::Node(node) => ("node", node),
            Peer::Free => continue,
        };
        add(port, topology.class(port), ("router", topology.router_of_port(port)), target);
    }
    for node in 0..topology.nodes() {
        add(topology.ports() + node, LinkClass::Terminal, ("node", node), ("router", topology.node_router(node)));
    }
    rows
}

fn routers(scenario: &Resolved, machine: &Machine) -> Vec<RouterRow> {
    let topology = machine.fabric.routing().topology();
    let stats = machine.fabric.link_stats();
    let per_group = topology.routers() / scenario.machine.groups().max(1);
    let row = |router: u32| {
        let mut row = RouterRow {
            router: u64::from(router),
            group: u64::from(router / per_group.max(1)),
            ..RouterRow::default()
        };
        for port in topology.ports_of(router) {
            let s = stats.get(port);
            row.bytes += s.bytes;
            row.packets += s.packets;
            let (busy, saturation) = match topology.class(port) {
                LinkClass::Terminal => (&mut row.busy_terminal_s, &mut row.saturation_terminal_s),
                LinkClass::Local => (&mut row.busy_local_s, &mut row.saturation_local_s),
                LinkClass::Global => (&mut row.busy_global_s, &mut row.saturation_global_s),
            };
            *busy += s.busy.seconds();
            *saturation += s.saturation.seconds();
        }
        row
    };
    (0..topology.routers()).map(row).collect()
}

fn servers(placement: &Placement, machine: &Machine) -> Vec<ServerRow> {
    let ps = |time: u128| time as f64 * 1e-12;
    let row = |(server, &node): (usize, &u32)| {
        let m = machine.hosts.servers().metrics(server as u32);
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
    placement.servers.iter().enumerate().map(row).collect()
}

fn series(scenario: &Resolved, machine: &Machine) -> Vec<SeriesRow> {
    let Some(interval) = scenario.run.series_interval else { return Vec::new() };
    let traffics = 2 * scenario.jobs.len();
    let width = traffics + LinkClass::ALL.len();
    let mut rows = Vec::new();
    for (i, cell) in machine.fabric.series().iter().enumerate() {
        if cell.packets == 0 {
            continue;
        }
        let (bin, column) = (i / width, i % width);
        let mut row = SeriesRow {
            start_s: bin as f64 * interval.seconds(),
            bytes: cell.bytes,
            packets: cell.packets,
            ..SeriesRow::default()
        };
        if column < traffics {
            row.kind = "traffic";
            row.job.clone_from(&scenario.jobs[column / 2].name);
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

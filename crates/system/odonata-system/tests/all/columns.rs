//! Relations between the columns of the tables: sums, bounds and identities that hold in every run.
//!
//! The machine has links of all four classes. Two jobs share it, one with messages and one with I/O that waits for
//! space, memory and devices.

use crate::common::run;

use odonata_system::Outcome;
use odonata_system::results::{JobRow, Rows};

/// 4 GB/s everywhere: the payload of a link divided by its rate is the time in which it transmits.
const RATE: f64 = 4e9;

const SCENARIO: &str = r#"
[run]
series_interval = "20 us"
[machine.dragonfly-2d]
groups = 3
rows = 2
columns = 3
column_cables = 1
nodes_per_router = 2
global_ports_per_router = 2
cables = 2
[network]
packet = "1 KiB"
flit = "16 B"
[network.links.terminal]
bandwidth = "4 GB/s"
[network.links.local]
bandwidth = "4 GB/s"
buffer = "2 KiB"
[network.links.column]
bandwidth = "4 GB/s"
buffer = "2 KiB"
[network.links.global]
bandwidth = "4 GB/s"
buffer = "2 KiB"
[network.routing]
algorithm = "minimal"
[storage]
nodes = { per_group = 1 }
[storage.manager]
block = "16 KiB"
memory = "32 KiB"
[storage.device]
capacity = "256 KiB"
rate = { write = "200 MB/s", read = "200 MB/s" }
[storage.drain]
bandwidth = "150 MB/s"
[[jobs]]
name = "shuffle"
ranks = 16
placement = "random"
workload = { all-to-all = { bytes = "16 KiB", mean_interval = "1 us", arrival = "fixed", messages = 20 } }
[[jobs]]
name = "checkpoint"
ranks = 8
placement = "random"
start = "2 us"
repeat = 2
workload = { checkpoint = { total = "800 KiB", interval = "10 us" } }
"#;

fn rows() -> Rows {
    let results = run(SCENARIO, &[]);
    assert_eq!(*results.outcome(), Outcome::Completed);
    results.rows().clone()
}

fn close(one: f64, other: f64) -> bool {
    (one - other).abs() <= 1e-9 * one.abs().max(other.abs()) + 1e-15
}

fn largest(values: impl Iterator<Item = f64>) -> f64 {
    values.fold(0.0, f64::max)
}

#[test]
fn a_job_is_the_mean_and_the_largest_of_its_ranks() {
    let rows = rows();
    for job in &rows.jobs {
        let ranks = || rows.ranks.iter().filter(|rank| rank.job == job.job);
        let mean = |of: fn(&odonata_system::results::RankRow) -> f64| ranks().map(of).sum::<f64>() / job.ranks as f64;
        assert!(close(job.compute_s, mean(|r| r.compute_s)));
        assert!(close(job.mpi_s, mean(|r| r.mpi_s)));
        assert!(close(job.io_s, mean(|r| r.io_s)));
        assert!(close(job.non_compute_s, mean(|r| r.non_compute_s)));
        assert!(close(job.mpi_max_s, largest(ranks().map(|r| r.mpi_s))));
        assert!(close(job.io_max_s, largest(ranks().map(|r| r.io_s))));
        assert!(close(job.non_compute_max_s, largest(ranks().map(|r| r.non_compute_s))));
        assert!(close(
            job.message_latency_max_s,
            largest(ranks().map(|r| r.message_latency_max_s))
        ));
        assert_eq!(job.messages, ranks().map(|r| r.messages_received).sum::<u64>());
        assert_eq!(job.bytes_written, ranks().map(|r| r.bytes_written).sum::<u64>());
    }
    assert!(rows.jobs[1].io_max_s > rows.jobs[1].io_s && rows.jobs[1].io_s > 0.0);
}

#[test]
fn the_latencies_of_a_job_are_those_of_its_messages() {
    let rows = rows();
    let job = &rows.jobs[0];
    let mut messages: Vec<_> = rows
        .messages
        .iter()
        .filter(|m| (m.job.as_str(), m.class) == ("shuffle", "mpi"))
        .collect();
    assert_eq!(messages.len() as u64, job.messages);
    assert_eq!(messages.len(), 16 * 20);
    for m in &messages {
        assert!(m.source_rank != m.target_rank && (0..16).contains(&m.source_rank) && (0..16).contains(&m.target_rank));
        // A source has ended when it has handed over its last message.
        assert!(m.created_s >= 0.0 && m.created_s <= job.start_s + job.elapsed_s + 1e-12 && m.latency_low_s > 0.0);
        assert_eq!((m.bytes, m.count, m.latency_low_s), (16 << 10, 1, m.latency_high_s));
    }
    for rank in 0..16 {
        let sent: Vec<f64> = messages
            .iter()
            .filter(|m| m.source_rank == rank)
            .map(|m| m.created_s)
            .collect();
        // One per microsecond and rank.
        assert_eq!(sent.len(), 20);
        assert!(sent.windows(2).all(|pair| close(pair[1] - pair[0], 1e-6)), "{sent:?}");
    }
    messages.sort_by(|a, b| a.latency_low_s.total_cmp(&b.latency_low_s));
    let exact = |share: f64| messages[((messages.len() as f64 * share).ceil() as usize).max(1) - 1].latency_low_s;
    // Quantiles are upper ends of buckets that are 1/32 wide.
    for (found, share) in [(job.message_latency_p50_s, 0.5), (job.message_latency_p99_s, 0.99)] {
        let exact = exact(share);
        assert!(
            (exact * 0.97..=exact * 1.04).contains(&found),
            "{share}: {found} and {exact}"
        );
    }
    let mean = messages.iter().map(|m| m.latency_low_s).sum::<f64>() / messages.len() as f64;
    assert!(close(job.message_latency_mean_s, mean));
}

#[test]
fn the_packets_of_a_job_are_those_of_its_histograms() {
    let rows = rows();
    let of = |job: &str, class: &'static str| {
        let job = job.to_owned();
        rows.packets
            .iter()
            .filter(move |p| (p.job.as_str(), p.class, p.measure) == (job.as_str(), class, "network"))
    };
    let check =
        |job: &JobRow, class: &'static str, packets: u64, [mean, p50, p99, max]: [f64; 4], sum: f64, hops: f64| {
            assert!(packets > 0);
            assert_eq!(of(&job.job, class).map(|p| p.count).sum::<u64>(), packets);
            let within = of(&job.job, class).fold((0.0, 0.0), |(low, high), p| {
                (
                    low + p.latency_low_s * p.count as f64,
                    high + p.latency_high_s * p.count as f64,
                )
            });
            assert!(within.0 <= sum * (1.0 + 1e-9) && sum <= within.1 * (1.0 + 1e-9));
            assert!(close(mean, sum / packets as f64));
            assert!(0.0 < p50 && p50 <= p99 && p99 <= max);
            // Half of the packets are in buckets up to that of the median.
            let below: u64 = of(&job.job, class)
                .filter(|p| p.latency_low_s < p50)
                .map(|p| p.count)
                .sum();
            assert!(2 * below >= packets);
            // A dragonfly of grids: at most four routers in the first group and the last, two between them.
            assert!((1.0..=6.0).contains(&hops), "{hops}");
        };
    let job = &rows.jobs[0];
    let latencies = [
        job.mpi_packet_latency_mean_s,
        job.mpi_packet_latency_p50_s,
        job.mpi_packet_latency_p99_s,
        job.mpi_packet_latency_max_s,
    ];
    check(
        job,
        "mpi",
        job.mpi_packets,
        latencies,
        job.mpi_network_s,
        job.mpi_hops_mean,
    );
    assert_eq!(job.mpi_packets, 16 * 20 * 16, "16 KiB in packets of 1 KiB");
    let job = &rows.jobs[1];
    let latencies = [
        job.io_packet_latency_mean_s,
        job.io_packet_latency_p50_s,
        job.io_packet_latency_p99_s,
        job.io_packet_latency_max_s,
    ];
    check(job, "io", job.io_packets, latencies, job.io_network_s, job.io_hops_mean);
}

#[test]
fn the_io_of_a_job_is_that_of_its_calls() {
    let rows = rows();
    let job = &rows.jobs[1];
    let calls = || rows.io.iter().filter(|call| call.job == job.job);
    assert_eq!(job.io_operations, calls().count() as u64);
    assert_eq!(
        job.bytes_written,
        calls()
            .filter(|call| call.operation == "write")
            .map(|call| call.bytes)
            .sum::<u64>()
    );
    let first = calls().map(|call| call.start_s).fold(f64::MAX, f64::min);
    let last = largest(calls().map(|call| call.end_s));
    assert!(close(job.io_completion_s, last - first));
    assert!(close(
        job.io_bandwidth_bytes_per_s,
        job.bytes_written as f64 / job.io_completion_s
    ));
    assert!(close(
        job.io_calls_s,
        calls().map(|call| call.end_s - call.start_s).sum()
    ));
}

/// The checkpoint is a file that all ranks write side by side; a repetition writes it again.
#[test]
fn a_file_is_the_sum_of_its_calls() {
    let rows = rows();
    assert_eq!((rows.files.len(), rows.io.len()), (1, 16));
    for (number, file) in (0..).zip(&rows.files) {
        let calls = || rows.io.iter().filter(|call| call.file == number);
        assert_eq!((file.directory.as_str(), file.file), ("checkpoint", number));
        assert_eq!(file.operations, calls().count() as u64);
        assert_eq!(
            (file.bytes_written, file.bytes_read),
            (calls().map(|call| call.bytes).sum(), 0)
        );
        assert_eq!((file.writers, file.readers, file.jobs), (8, 0, 1));
        assert_eq!(file.size_bytes, 800 << 10);
        let servers: std::collections::BTreeSet<u64> = calls().map(|call| call.server).collect();
        assert_eq!(file.servers, servers.len() as u64);
        assert!(close(
            file.first_s,
            calls().map(|call| call.start_s).fold(f64::MAX, f64::min)
        ));
        assert!(close(file.last_s, largest(calls().map(|call| call.end_s))));
    }
    for call in &rows.io {
        assert_eq!((call.servers, call.offset_bytes), (1, call.rank * (100 << 10)));
        assert!(call.start_s < call.first_byte_s && call.first_byte_s < call.end_s);
    }
}

#[test]
fn a_server_waits_no_longer_than_its_requests_and_holds_no_more_than_it_has() {
    let rows = rows();
    let busy: f64 = rows.servers.iter().map(|server| server.device_busy_s).sum();
    let written: u64 = rows.servers.iter().map(|server| server.bytes_written).sum();
    assert_eq!(written, rows.jobs[1].bytes_written);
    assert!(busy >= written as f64 / 200e6, "{busy}");
    for server in rows.servers.iter().filter(|server| server.requests > 0) {
        assert!(server.request_time_s > 0.0);
        assert!(server.wait_space_s <= server.request_time_s);
        assert!((16 << 10..=32 << 10).contains(&server.peak_memory_bytes));
        assert!(server.peak_used_bytes > 0 && server.peak_used_bytes <= 256 << 10);
        assert_eq!(server.bytes_drained, server.bytes_written);
        // Nothing is read, and a write is acknowledged when it is on the device.
        assert!(close(server.commit_time_s, server.request_time_s));
    }
    assert!(rows.jobs[1].io_commit_s > 0.0 && rows.jobs[1].io_commit_s <= rows.jobs[1].io_completion_s);
    assert_eq!(rows.jobs[0].io_commit_s, 0.0);
    // No interval exceeds the maximum in use at any time.
    assert!(!rows.server_series.is_empty());
    for interval in &rows.server_series {
        let server = &rows.servers[interval.server as usize];
        assert!(interval.used_bytes <= server.peak_used_bytes as f64 * (1.0 + 1e-9));
        assert!(interval.memory_bytes <= server.peak_memory_bytes as f64 * (1.0 + 1e-9));
    }
    // An access waits or is served: together these are accesses over time, here in intervals of 20 us, of which the
    // last is shorter.
    let accesses: f64 = rows
        .server_series
        .iter()
        .map(|interval| interval.accesses * 20e-6)
        .sum();
    let waits_and_service: f64 = rows.devices.iter().map(|device| device.wait_s + device.service_s).sum();
    assert!(
        (accesses - waits_and_service).abs() < 20e-6 * rows.servers.len() as f64 * 4.0,
        "{accesses} {waits_and_service}"
    );
    let most = |of: fn(&odonata_system::results::ServerRow) -> f64| largest(rows.servers.iter().map(of));
    assert!(most(|s| s.wait_space_s) > 0.0, "what is written is more than fits");
    assert!(most(|s| s.wait_memory_s) > 0.0 && most(|s| s.wait_device_s) > 0.0);
    // A call takes the time of its request at the server, and the way there and back.
    assert!(rows.jobs[1].io_calls_s > rows.servers.iter().map(|s| s.request_time_s).sum());
}

#[test]
fn links_transmit_their_bytes_and_routers_the_sum_of_their_links() {
    let rows = rows();
    for link in &rows.links {
        // Flits of 16 B: no packet of this run exceeds its payload by more than 15 B.
        let payload = link.bytes as f64 / RATE;
        let padding = 16.0 * link.packets as f64 / RATE;
        assert!(
            link.busy_s >= payload * (1.0 - 1e-9) && link.busy_s <= payload + padding + 1e-15,
            "{link:?}"
        );
    }
    for router in &rows.routers {
        let of = |class: &'static str| {
            let links = rows.links.iter();
            let own = move |l: &&odonata_system::results::LinkRow| {
                (l.source_kind, l.source, l.class) == ("router", router.router, class)
            };
            links.filter(own).fold((0.0, 0.0), |(busy, stalled), l| {
                (busy + l.busy_s, stalled + l.saturation_s)
            })
        };
        for (class, busy, saturation) in [
            ("terminal", router.busy_terminal_s, router.saturation_terminal_s),
            ("local", router.busy_local_s, router.saturation_local_s),
            ("column", router.busy_column_s, router.saturation_column_s),
            ("global", router.busy_global_s, router.saturation_global_s),
        ] {
            let sums = of(class);
            assert!(
                close(busy, sums.0) && close(saturation, sums.1),
                "router {} {class}",
                router.router
            );
        }
        assert_eq!(router.group, router.router / 6);
    }
    let most = |of: fn(&odonata_system::results::RouterRow) -> f64| largest(rows.routers.iter().map(of));
    assert!(most(|r| r.busy_column_s) > 0.0 && most(|r| r.busy_local_s) > 0.0 && most(|r| r.busy_global_s) > 0.0);
    assert!(most(|r| r.saturation_local_s + r.saturation_column_s + r.saturation_global_s) > 0.0);
}

#[test]
fn the_series_add_up_to_the_tables_without_time() {
    let rows = rows();
    for job in &rows.jobs {
        for (class, packets, sum) in [
            ("mpi", job.mpi_packets, job.mpi_network_s),
            ("io", job.io_packets, job.io_network_s),
        ] {
            let cells = || {
                rows.series
                    .iter()
                    .filter(|s| (s.kind, s.job.as_str(), s.class) == ("traffic", job.job.as_str(), class))
            };
            assert_eq!(cells().map(|s| s.packets).sum::<u64>(), packets);
            assert!(close(cells().map(|s| s.latency_mean_s * s.packets as f64).sum(), sum));
            assert!(cells().all(|s| (s.start_s / 20e-6).fract() < 1e-9 || (s.start_s / 20e-6).fract() > 1.0 - 1e-9));
        }
    }
    for class in ["terminal", "local", "column", "global"] {
        let series: f64 = rows
            .series
            .iter()
            .filter(|s| (s.kind, s.class) == ("links", class))
            .map(|s| s.busy_s)
            .sum();
        let links: f64 = rows
            .links
            .iter()
            .filter(|l| (l.source_kind, l.class) == ("router", class))
            .map(|l| l.busy_s)
            .sum();
        assert!(close(series, links), "{class}: {series} and {links}");
    }
}

#[test]
fn waits_by_interval_add_up_to_waits() {
    let rows = rows();
    let total: f64 = rows.blame.iter().map(|b| b.waited_s).sum();
    let series: f64 = rows.blame_series.iter().map(|b| b.waited_s).sum();
    assert!(total > 0.0 && close(total, series), "{total} and {series}");
    assert!(
        rows.blame
            .iter()
            .any(|b| b.place == "column" && b.victim == "shuffle" && b.waited_s > 0.0)
    );
}

/// Clients that inject at 2 GB/s write at that rate, and read at what the servers inject: 8 GB/s, of links of 16 GB/s.
#[test]
fn each_class_of_nodes_injects_at_its_own_rate() {
    let time = |io: &str, router: &str| {
        let text = format!(
            "[machine.mesh]\ndims = [3]\n[network]\npacket = \"4 KiB\"\nflit = \"64 B\"\n{router}\
             [nic]\nrate = \"1 GB/s\"\nrates = {{ compute = \"2 GB/s\", storage = \"8 GB/s\" }}\n\
             [network.links]\nterminal = {{ bandwidth = \"16 GB/s\", buffer = \"64 KiB\" }}\n\
             local = {{ bandwidth = \"16 GB/s\", buffer = \"64 KiB\" }}\n\
             [storage]\nnodes = {{ list = [2] }}\nmanager = {{ block = \"1 MB\", pieces_in_flight = 16 }}\n\
             device.rate = {{ write = \"900 GB/s\", read = \"900 GB/s\", overhead = \"0 s\" }}\n\
             [[jobs]]\nranks = 1\nworkload = {{ cosmoflow = {{ iterations = 1, sample = \"64 MB\", compute = \"0 s\", \
             io = \"{io}\", pipelined = false }} }}\n"
        );
        let results = run(&text, &[]);
        assert_eq!(*results.outcome(), Outcome::Completed);
        results.rows().io[0].end_s - results.rows().io[0].start_s
    };
    for router in ["", "router = \"pipelined\"\nclock = \"1 ns\"\n"] {
        let (write, read) = (64e6 / time("write", router), 64e6 / time("read", router));
        assert!((0.98 * 2e9..2e9).contains(&write), "{write}");
        assert!((0.95 * 8e9..8e9).contains(&read), "{read}");
    }
}

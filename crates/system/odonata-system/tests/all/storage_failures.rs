//! Storage servers that fail in scenarios: outcomes, tables, and that every byte is accounted for.

use crate::common::run;

use odonata_system::results::Rows;
use odonata_system::{Outcome, Results};

/// Four servers, one per group; a device takes 1 ms per MB. 8 ranks write 8 MB each, twice, and read them back.
const SCENARIO: &str = r#"
[machine.dragonfly]
groups = 4
routers_per_group = 3
nodes_per_router = 2
global_ports_per_router = 1
[storage]
nodes = { per_group = 1 }
device = { capacity = "10 GB", rate = { write = "1 GB/s", read = "1 GB/s", overhead = "0 s", seek = "0 s" } }
[[jobs]]
name = "ior"
ranks = 8
placement = "random"
workload = { ior = "-w -r -t 2m -b 8m -i 2" }
"#;

const FAILS: &str = "storage.faults=[{ server = 1, at = \"20 ms\", kind = \"fail\" }, \
                     { server = 2, at = \"30 ms\", duration = \"40 ms\", kind = \"fail\" }]";

fn finish(overrides: &[&str]) -> Results {
    run(SCENARIO, overrides)
}

/// Tables that report the same quantity have the same sum.
fn agree(rows: &Rows) {
    let job = &rows.jobs[0];
    let sum = |of: fn(&odonata_system::results::ServerRow) -> u64| rows.servers.iter().map(of).sum::<u64>();
    assert_eq!(sum(|row| row.lost_bytes), job.io_lost_bytes);
    assert_eq!(sum(|row| row.dropped_bytes), job.io_dropped_bytes);
    assert_eq!(sum(|row| row.lost_reads_bytes), job.io_lost_reads_bytes);
    assert_eq!(sum(|row| row.timeouts), job.io_timeouts);
    assert_eq!(sum(|row| row.retries), job.io_retries);
    assert_eq!(sum(|row| row.rerouted_bytes), job.io_rerouted_bytes);
    // Calls that have not ended have no row.
    let timeouts = rows.io.iter().map(|row| row.timeouts).sum::<u64>();
    assert!(timeouts <= job.io_timeouts);
    assert!(timeouts == job.io_timeouts || job.ranks_finished < job.ranks);
}

#[test]
fn a_job_uses_other_servers_and_reports_lost_data() {
    let client =
        "storage.client={ timeout = \"30 ms\", retries = 1, on_failure = \"re-route\", lost_reads = \"below\" }";
    let results = finish(&[FAILS, client]);
    assert_eq!(
        *results.outcome(),
        Outcome::Completed,
        "{}",
        results.run_json()["detail"]
    );
    let rows = results.rows();
    agree(rows);
    let job = &rows.jobs[0];
    assert!(
        job.io_lost_bytes > 0 && job.io_lost_reads_bytes > 0 && job.io_timeouts > job.io_retries,
        "{job:?}"
    );
    assert!(job.io_rerouted_bytes > 0);
    assert_eq!(job.bytes_written, 2 * 8 * (8 << 20));
    // Servers 0 and 3 keep running; data for the others were sent to them, or to server 2 when it was back.
    for server in [0, 3] {
        assert_eq!(
            (
                rows.servers[server].lost_bytes,
                rows.servers[server].requests_while_down
            ),
            (0, 0)
        );
    }
    assert!(rows.servers[1].requests_while_down > 0 && rows.servers[1].lost_bytes > 0);
}

#[test]
fn a_job_ends_in_a_named_failure_where_it_is_to() {
    let wait = "storage.client={ timeout = \"30 ms\", retries = 1 }";
    let results = finish(&[FAILS, wait]);
    assert_eq!(*results.outcome(), Outcome::StorageFailed);
    let detail = results.run_json()["detail"].to_string();
    assert!(detail.contains("has not answered any attempt at the "), "{detail}");
    agree(results.rows());
    let lost = "storage.client={ timeout = \"30 ms\", retries = 1, on_failure = \"re-route\" }";
    let results = finish(&[FAILS, lost]);
    assert_eq!(*results.outcome(), Outcome::StorageFailed);
    let detail = results.run_json()["detail"].to_string();
    assert!(
        detail.contains("some of the data were lost with a failed server"),
        "{detail}"
    );
}

/// Timers that expire after the answer are not part of the run.
#[test]
fn patience_that_is_not_needed_changes_nothing() {
    let plain = finish(&["storage.manager.extents=true"]);
    let patient = finish(&[
        "storage.manager.extents=true",
        "storage.client={ timeout = \"100 s\", retries = 9 }",
    ]);
    assert_eq!(*patient.outcome(), Outcome::Completed);
    assert_eq!(patient.run_json()["simulated_s"], plain.run_json()["simulated_s"]);
    let ends = |results: &Results| results.rows().io.iter().map(|row| row.end_s).collect::<Vec<_>>();
    assert_eq!(ends(&patient), ends(&plain));
}

/// A buffer that fails and has drained all along loses what had not left; the rest is where it was drained to.
#[test]
fn drained_data_are_safe() {
    let tiers = [
        "storage.file_system={ object_servers = 4, bandwidth = \"10 GB/s\", link = \"10 GB/s\" }",
        "storage.client={ timeout = \"30 ms\", retries = 1, on_failure = \"re-route\", lost_reads = \"below\" }",
        FAILS,
    ];
    let results = finish(&tiers);
    assert_eq!(
        *results.outcome(),
        Outcome::Completed,
        "{}",
        results.run_json()["detail"]
    );
    let rows = results.rows();
    agree(rows);
    let first = &rows.tiers[0];
    let places = first.overwritten_bytes
        + first.lost_bytes
        + first.removed_bytes
        + first.alone_bytes
        + first.leaving_bytes
        + first.clean_bytes
        + first.below_bytes;
    assert_eq!(first.received_bytes + first.input_bytes, places, "{first:?}");
    assert!(
        first.lost_bytes > 0 && first.below_bytes > first.lost_bytes,
        "{first:?}"
    );
    assert_eq!(first.sent_bytes, rows.tiers[1].received_bytes);
}

/// The time charged to faults at `server`, in seconds.
fn charged_to_faults(rows: &Rows, server: i64) -> f64 {
    let faults = rows.blame.iter().filter(|row| row.resource == "fault");
    let here = faults.filter(|row| row.server == server);
    here.inspect(|row| assert!(row.culprit.is_empty() && row.place == "server"))
        .map(|row| row.waited_s)
        .sum()
}

/// Each failed try costs 30 ms, except for the time before the server failed: of one try per rank.
#[test]
fn failed_tries_are_charged_to_the_fault_also_with_locks() {
    let client =
        "storage.client={ timeout = \"30 ms\", retries = 1, on_failure = \"re-route\", lost_reads = \"below\" }";
    let results = finish(&[FAILS, client, "run.blame=true", "storage.locks={}"]);
    assert_eq!(
        *results.outcome(),
        Outcome::Completed,
        "{}",
        results.run_json()["detail"]
    );
    let rows = results.rows();
    agree(rows);
    let (server, charged) = (&rows.servers[1], charged_to_faults(rows, 1));
    let tries = server.timeouts as f64;
    assert!(
        server.timeouts > 0 && charged <= tries * 0.03 + 1e-9,
        "{charged} of {tries}"
    );
    assert!(charged > (tries - 8.0) * 0.03, "{charged} of {tries}");
    assert_eq!(charged_to_faults(rows, 0) + charged_to_faults(rows, 3), 0.0);
}

/// One access after the other: the stall is in exactly one of them.
#[test]
fn a_stall_is_charged_to_the_job_being_served() {
    let stall = |server: u32| format!("{{ server = {server}, at = \"3 ms\", duration = \"50 ms\", kind = \"stall\" }}");
    let all: Vec<String> = (0..4).map(stall).collect();
    let faults = format!("storage.faults=[{}]", all.join(", "));
    let job = [
        "jobs.0.ranks=1",
        "jobs.0.workload={ ior = \"-w -t 8m -b 8m\" }",
        "run.blame=true",
    ];
    let end = |more: &[&str]| {
        let results = finish(&[&job, more].concat());
        let rows = results.rows();
        let charged: f64 = (0..4).map(|server| charged_to_faults(rows, server)).sum();
        (rows.jobs[0].elapsed_s, charged)
    };
    let (alone, none) = end(&[]);
    let (stalled, charged) = end(&[&faults]);
    assert_eq!(none, 0.0);
    assert!((stalled - alone - 0.05).abs() < 1e-12, "{stalled} {alone}");
    assert!((charged - 0.05).abs() < 1e-12, "{charged}");
}

/// A metadata server, one of several devices and a server of the lower tier fail, one after the other.
#[test]
fn every_kind_of_server_may_fail() {
    let text = SCENARIO.replace(
        "device = { capacity = \"10 GB\", rate = { write = \"1 GB/s\", read = \"1 GB/s\", overhead = \"0 s\", seek = \"0 s\" } }",
        "metadata = { nodes = { list = [1, 7] }, open = \"2 ms\", create = \"2 ms\", close = \"2 ms\" }\n\
         client = { timeout = \"60 ms\", retries = 1, on_failure = \"re-route\", lost_reads = \"below\" }\n\
         faults = [{ server = 0, device = \"b\", at = \"130 ms\", kind = \"fail\" }, { server = 4, at = \"15 ms\", kind = \"fail\" },\n\
         { server = 6, at = \"0 s\", kind = \"fail\" }]\n\
         [[storage.devices]]\nname = \"a\"\ncapacity = \"10 GB\"\nrate = { write = \"1 GB/s\", read = \"1 GB/s\" }\n\
         [[storage.devices]]\nname = \"b\"\ncapacity = \"10 GB\"\nrate = { write = \"1 GB/s\", read = \"1 GB/s\" }\n\
         [[storage.rules]]\ndevice = \"a\"\nbelow = \"1 MB\"\n[[storage.rules]]\ndevice = \"b\"\n\
         [[storage.tiers]]\nnodes = { list = [2, 8] }\ndevice = { capacity = \"100 GB\" }",
    );
    let text = text.replace("-i 2\"", "-i 2 -F\"");
    let results = run(&text, &["run.blame=true"]);
    assert_eq!(
        *results.outcome(),
        Outcome::Completed,
        "{}",
        results.run_json()["detail"]
    );
    let rows = results.rows();
    let job = &rows.jobs[0];
    assert_eq!(job.bytes_written, 2 * 8 * (8 << 20));
    let faults: Vec<i64> = (rows.blame.iter())
        .filter(|row| row.resource == "fault")
        .map(|row| row.server)
        .collect();
    // The metadata servers are numbered after the storage servers.
    assert!(faults.contains(&4) && faults.contains(&6), "{faults:?}");
    assert!(rows.servers[4].timeouts > 0, "{:?}", rows.servers[4]);
    // Data that it had received had already left to the tier below, or are lost or rewritten.
    let at_first = &rows.servers[0];
    assert!(at_first.dropped_bytes + at_first.lost_bytes > 0, "{at_first:?}");
}

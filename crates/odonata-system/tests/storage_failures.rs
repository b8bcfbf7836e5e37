//! Storage servers that fail in scenarios: outcomes, what tables say, and that every byte is accounted for.

use std::time::Duration;

use odonata_system::results::Rows;
use odonata_system::{Outcome, Results, Simulation, scenario};

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
    let overrides: Vec<String> = overrides.iter().map(|&one| one.into()).collect();
    let loaded = scenario::load(SCENARIO, "failures.toml", &overrides, None, ".");
    let mut simulation = Simulation::new(loaded.unwrap_or_else(|error| panic!("{error}"))).unwrap();
    while !simulation.advance(Duration::from_secs(60)).finished {}
    simulation.finish(false)
}

/// What the tables say of one thing is the same sum.
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
fn a_job_goes_to_other_servers_and_says_what_was_lost() {
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
    // Server 0 and 3 live on; what was to go to the others has gone to them, or to server 2 when it was back.
    for server in [0, 3] {
        assert_eq!(
            (rows.servers[server].lost_bytes, rows.servers[server].unheard_requests),
            (0, 0)
        );
    }
    assert!(rows.servers[1].unheard_requests > 0 && rows.servers[1].lost_bytes > 0);
}

#[test]
fn a_job_ends_in_a_named_failure_where_it_is_to() {
    let wait = "storage.client={ timeout = \"30 ms\", retries = 1 }";
    let results = finish(&[FAILS, wait]);
    assert_eq!(*results.outcome(), Outcome::StorageFailed);
    let detail = results.run_json()["detail"].to_string();
    assert!(detail.contains("has not answered any try of a "), "{detail}");
    agree(results.rows());
    let lost = "storage.client={ timeout = \"30 ms\", retries = 1, on_failure = \"re-route\" }";
    let results = finish(&[FAILS, lost]);
    assert_eq!(*results.outcome(), Outcome::StorageFailed);
    let detail = results.run_json()["detail"].to_string();
    assert!(
        detail.contains("some of which was on a server that has failed"),
        "{detail}"
    );
}

/// Timers that run out after the answer are no part of the run.
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
fn what_has_gone_down_is_safe() {
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

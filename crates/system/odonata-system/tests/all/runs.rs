//! Whole runs of small scenarios: outcomes, digests, and that every handler of the whole machine can be rolled back.

use crate::common::run;
use odonata_engine::Model;
use odonata_system::{Outcome, Simulation, build, scenario};
use std::time::Duration;

/// Three jobs on 72 nodes that share links and servers.
const MIX: &str = r#"
name = "mix"
[run]
series_interval = "50 us"
[machine.dragonfly]
groups = 9
routers_per_group = 4
nodes_per_router = 2
global_ports_per_router = 2
[network]
packet = "2 KiB"
[network.routing]
algorithm = "progressive-adaptive"
[storage]
nodes = { per_group = 1, position = "first" }
[storage.manager]
block = "16 KiB"
memory = "64 KiB"
[[jobs]]
name = "halo"
ranks = 12
placement = "random"
workload = { stencil = { dims = [3, 2, 2], message = "6 KiB", iterations = 2, compute = "2 us", allreduce = "64 B" } }
[[jobs]]
name = "training"
ranks = 7
placement = "random"
workload = { cosmoflow = { iterations = 2, elements = 3000, sample = "40 KiB", compute = "5 us" } }
[[jobs]]
name = "checkpoint"
ranks = 10
ranks_per_node = 2
placement = "random"
start = "3 us"
workload = { checkpoint = { total = "300 KiB", interval = "4 us" } }
"#;

#[test]
fn a_mix_completes_and_everything_is_home() {
    let results = run(MIX, &[]);
    assert_eq!(results.outcome(), &Outcome::Completed);
    let jobs = &results.rows().jobs;
    assert!(jobs.iter().all(|job| job.ranks_finished == job.ranks));
    assert_eq!(jobs[1].bytes_read, 7 * 2 * 40 * 1024);
    // total / ranks, integer division, times ranks
    assert_eq!(jobs[2].bytes_written, 300 * 1024 / 10 * 10);
    for rank in &results.rows().ranks {
        assert!((rank.non_compute_s - (rank.elapsed_s - rank.compute_s)).abs() < 1e-15);
        assert!(rank.mpi_s + rank.io_s <= rank.elapsed_s + 1e-12);
    }
}

#[test]
fn equal_seeds_give_equal_digests_and_other_seeds_others() {
    let digest = |overrides: &[&str]| run(MIX, overrides).digest().to_string();
    assert_eq!(digest(&[]), digest(&[]));
    assert_ne!(digest(&[]), digest(&["seed=2"]));
    assert_ne!(digest(&[]), digest(&["network.router=\"output-queued\""]));
}

#[test]
fn a_digest_does_not_depend_on_the_slices_that_a_run_is_advanced_in() {
    let scenario = scenario::load(MIX, "test.toml", &[], None, ".").unwrap();
    let mut simulation = Simulation::new(scenario).unwrap();
    while !simulation.advance(Duration::ZERO).finished {}
    assert_eq!(simulation.finish(false).digest(), run(MIX, &[]).digest());
}

#[test]
fn every_handler_of_the_machine_can_be_undone_and_redone() {
    for router in ["input-queued", "output-queued", "pipelined"] {
        let overrides = [
            format!("network.router={router:?}"),
            "network.clock=1 ns".into(),
            "jobs.0.workload.stencil.iterations=1".into(),
            "jobs.1.workload.cosmoflow.iterations=1".into(),
        ];
        let scenario = scenario::load(MIX, "test.toml", &overrides, None, ".").unwrap();
        let machine = build::whole(&scenario).unwrap();
        let (events, machine) = odonata_machine::undo_and_redo(machine, 500).unwrap();
        assert_eq!(events, 500, "{router}: the run is longer than what is rehearsed");
        let mut digest = odonata_engine::Digest::new();
        machine.results(&mut digest);
        assert_ne!(digest, odonata_engine::Digest::new());
    }
}

#[test]
fn a_time_limit_ends_the_run_where_it_says() {
    let results = run(MIX, &["run.time_limit=\"10 us\""]);
    assert_eq!(results.outcome(), &Outcome::TimeLimit);
    assert_eq!(results.progress().simulated_s, 10e-6);
    for rank in &results.rows().ranks {
        let booked = rank.compute_s + rank.mpi_s + rank.io_s;
        assert!(booked <= rank.elapsed_s + 1e-15, "{rank:?}");
    }
    // The ranks of a stencil only compute and communicate, and have not finished.
    for rank in results.rows().ranks.iter().filter(|rank| rank.job == "halo") {
        assert!((rank.compute_s + rank.mpi_s - rank.elapsed_s).abs() < 1e-15, "{rank:?}");
    }
    assert_eq!(results.rows().jobs[0].elapsed_s, 10e-6);
}

#[test]
fn a_series_interval_that_is_short_for_the_run_is_named_and_bounded() {
    let results = run(MIX, &["run.series_interval=\"10 ps\""]);
    assert_eq!(results.outcome(), &Outcome::Completed);
    let detail = results.run_json()["detail"].to_string();
    assert!(detail.contains("run.series_interval is too short"), "{detail}");
}

#[test]
fn the_deadlock_proof_of_a_large_machine_is_bounded_whatever_its_shape() {
    for (groups, routers, ports) in [(4, 100, 1), (1, 301, 0), (200, 40, 8)] {
        let text = format!(
            "[machine.dragonfly]\ngroups = {groups}\nrouters_per_group = {routers}\nnodes_per_router = 1\n\
             global_ports_per_router = {ports}\n[network.routing]\nalgorithm = \"progressive-adaptive\"\nvia = \"router\"\n\
             [[jobs]]\nname = \"j\"\nranks = 4\nworkload = {{ stencil = {{}} }}\n"
        );
        let scenario = scenario::load(&text, "test.toml", &[], None, ".").unwrap();
        let report = odonata_system::check(&scenario).unwrap();
        assert!(report.routing.deadlock_free, "{groups} groups");
        assert!(
            report
                .routing
                .proved_on
                .contains("a smaller machine of its kind, a dragonfly"),
            "{}",
            report.routing.proved_on
        );
    }
}

#[test]
fn storage_that_is_full_without_a_drain_is_named() {
    let results = run(
        MIX,
        &["storage.device.capacity=\"40 KiB\"", "storage.manager.block=\"1 KiB\""],
    );
    assert_eq!(results.outcome(), &Outcome::StorageFull);
    let detail = results.run_json()["detail"].to_string();
    assert!(detail.contains("checkpoint rank"), "{detail}");
}

#[test]
fn packets_of_jobs_add_up_to_those_of_links() {
    let results = run(MIX, &[]);
    let rows = results.rows();
    let delivered: u64 = rows.jobs.iter().map(|job| job.mpi_packets + job.io_packets).sum();
    let last_links: u64 = rows
        .links
        .iter()
        .filter(|link| link.target_kind == "node")
        .map(|link| link.packets)
        .sum();
    assert_eq!(delivered, last_links);
    assert_eq!(delivered, results.progress().packets);
    // every packet is sent once by each router that it visits
    let sent: u64 = rows
        .links
        .iter()
        .filter(|link| link.source_kind == "router")
        .map(|link| link.packets)
        .sum();
    assert_eq!(sent, results.progress().packet_hops);
}

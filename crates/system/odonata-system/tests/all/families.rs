//! Runs on machines of every family: everything arrives, and the digest depends neither on scheduler nor on parts.

use crate::common::finish;
use odonata_network::routing::algorithms;
use odonata_system::{Outcome, Results, check, prove, scenario};
use odonata_topology::FamilyName;
use std::time::Duration;

/// Small machines of every family, with the nodes that run jobs, all nodes and the algorithms; for graphs, five cables that make a ring.
fn machines() -> Vec<(String, u32, u32, Vec<&'static str>)> {
    let mut tables = vec![(FamilyName::Graph, "file = \"ring.txt\"\nnodes_per_router = 2")];
    for &family in FamilyName::ALL {
        tables.extend(family.examples().iter().map(|&example| (family, example)));
    }
    let described = |(family, table): (FamilyName, &str)| {
        let machine = format!("[machine.{}]\n{table}\n", family.key());
        let hardware =
            scenario::load_hardware(&machine, "m.toml", &[], FOLDER).unwrap_or_else(|error| panic!("{error}"));
        // A table of routes is a file of its machine: see `routes.rs`.
        let algorithms = algorithms(family).into_iter().map(|(name, _)| name.name());
        let algorithms = algorithms.filter(|&name| name != "table");
        let layout = hardware.layout;
        let nodes = layout.compute_nodes(None).len() as u32;
        (machine, nodes, layout.nodes(), algorithms.collect())
    };
    tables.into_iter().map(described).collect()
}

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/machines");

/// The tests of all families would silently skip one without examples.
#[test]
fn every_family_has_a_small_machine() {
    for &family in FamilyName::ALL {
        let drawn = family == FamilyName::Graph;
        assert_eq!(family.examples().is_empty(), drawn, "{}", family.key());
    }
    assert!(machines().len() > FamilyName::ALL.len());
}

/// Half of the nodes exchange halos and reduce, the others send at random.
fn text(machine: &str, nodes: u32, algorithm: &str, more: &str) -> String {
    let half = nodes / 2;
    format!(
        "[run]\n{more}\n[network]\npacket = \"1 KiB\"\nrouting.algorithm = \"{algorithm}\"\n[machine]\n{machine}\n\
         [[jobs]]\nname = \"halo\"\nranks = {half}\nplacement = \"random\"\n\
         workload.stencil = {{ dims = [{half}], message = \"3 KiB\", iterations = 2, compute = \"1 us\" }}\n\
         [[jobs]]\nname = \"noise\"\nranks = {}\nplacement = \"random-router\"\n\
         workload.uniform = {{ load = 0.3, messages = 30 }}\n",
        nodes - half
    )
}

fn run(text: &str) -> Results {
    let scenario = scenario::load(text, "test.toml", &[], None, FOLDER).unwrap_or_else(|error| panic!("{error}"));
    finish(scenario)
}

#[test]
fn everything_arrives_on_every_family_by_every_algorithm() {
    for (machine, nodes, _, algorithms) in machines() {
        for algorithm in algorithms {
            let results = run(&text(&machine, nodes, algorithm, "scheduler = \"sequential\""));
            assert_eq!(results.outcome(), &Outcome::Completed, "{machine} {algorithm}");
            // 30 messages of one packet per rank of the second job.
            let noise = results.rows().ranks.iter().filter(|rank| rank.job == "noise");
            let (sent, received, bytes) = noise.fold((0, 0, 0), |(sent, received, bytes), rank| {
                (
                    sent + rank.messages_sent,
                    received + rank.messages_received,
                    bytes + rank.bytes_received,
                )
            });
            let expected = u64::from(nodes - nodes / 2) * 30;
            assert_eq!((sent, received), (expected, expected), "{machine} {algorithm}");
            assert_eq!(bytes, expected * 1024, "{machine} {algorithm}");
        }
    }
}

#[test]
fn two_parts_give_the_digest_of_one() {
    for (machine, nodes, _, algorithms) in machines() {
        for algorithm in algorithms {
            let digest = |more: &str| run(&text(&machine, nodes, algorithm, more)).digest().to_string();
            assert_eq!(
                digest("scheduler = \"sequential\""),
                digest("scheduler = \"conservative\"\nthreads = 2\nparts = 2"),
                "{machine} {algorithm}"
            );
        }
    }
}

#[test]
fn every_routing_is_proved_free_of_deadlock_on_its_machine() {
    for (machine, nodes, all_nodes, algorithms) in machines() {
        for algorithm in algorithms {
            let text = text(&machine, nodes, algorithm, "");
            let loaded = scenario::load(&text, "test.toml", &[], None, FOLDER).unwrap();
            let report = check(&loaded).unwrap_or_else(|error| panic!("{error}"));
            let routing = report.routing;
            assert!(routing.deadlock_free, "{machine} {algorithm}: {:?}", routing.cycle);
            assert_eq!(routing.proved_on, "this machine");
            assert_eq!(report.machine.nodes, all_nodes);
        }
    }
}

/// The proof for a larger machine is made on a smaller one of the same shape, which the report names.
#[test]
fn large_machines_are_proved_on_smaller_ones() {
    let cases = [
        (
            "dragonfly-2d = { groups = 9, nodes_per_router = 1, global_ports_per_router = 4 }",
            "5 groups of 4 x 5",
        ),
        (
            "dragonfly-plus = { groups = 17, leaves_per_group = 16, spines_per_group = 16, nodes_per_leaf = 1, \
             global_ports_per_spine = 1 }",
            "5 groups of 8 leaves and 8 spines",
        ),
        ("torus = { dims = [8, 8, 8] }", "torus of 4 x 4 x 4 routers"),
        ("torus = { dims = [8, 4, 4, 4, 2] }", "torus of 4 x 4 x 4 routers"),
        ("mesh = { dims = [32, 32] }", "mesh of 6 x 6 routers"),
        ("fat-tree = { k = 16, n = 3 }", "fat tree with at most 4"),
        ("slim-fly = { q = 13 }", "Slim Fly with q = 5"),
        ("polarfly = { q = 19 }", "PolarFly with q = 7"),
        ("polarfly = { q = 32 }", "PolarFly with q = 4"),
        ("hyperx = { dims = [20, 20] }", "HyperX of 6 x 6 routers"),
        (
            "rail-optimized = { pods = 4, hosts_per_pod = 32, spines = 16 }",
            "3 pods of 4 hosts with 3 GPUs, 2 spines",
        ),
    ];
    for (machine, proved_on) in cases {
        let text = format!("[machine]\n{machine}\n[[jobs]]\nranks = 2\nworkload.milc = {{}}\n");
        let loaded = scenario::load(&text, "test.toml", &[], None, "").unwrap_or_else(|error| panic!("{error}"));
        let routing = check(&loaded).unwrap_or_else(|error| panic!("{error}")).routing;
        assert!(routing.deadlock_free, "{machine}");
        assert!(
            routing.proved_on.contains(proved_on),
            "{machine}: {}",
            routing.proved_on
        );
    }
}

#[test]
fn up_down_avoids_failed_cables_and_others_refuse_them() {
    let machine = "failed_links = [{ routers = [0, 1] }]\ntorus = { dims = [4, 3], nodes_per_router = 2 }";
    let results = run(&text(machine, 24, "up-down", ""));
    assert_eq!(results.outcome(), &Outcome::Completed);
    let refused = scenario::load(&text(machine, 24, "dimension-order", ""), "t.toml", &[], None, "").unwrap_err();
    assert_eq!(refused.key, "machine.failed_links");
    assert!(refused.message.contains("routers 0 and 1"), "{refused}");
}

/// Half the rate on the only path between two routers doubles the time of the stream of messages.
#[test]
fn degraded_cables_take_longer() {
    let time = |faults: &str| {
        let results = run(&format!(
            "[network.links]\nlocal.bandwidth = \"1 GB/s\"\n[machine]\n{faults}\nmesh = {{ dims = [2] }}\n\
             [[jobs]]\nranks = 2\nworkload.permutation = {{ targets = [1, 0], load = 1, messages = 100 }}\n"
        ));
        assert_eq!(results.outcome(), &Outcome::Completed);
        results.progress().simulated_s
    };
    let (whole, half) = (time(""), time("degraded_links = [{ routers = [0, 1], factor = 0.5 }]"));
    assert!((half / whole - 2.0).abs() < 0.05, "{whole} {half}");
}

#[test]
fn the_worst_case_runs_on_every_family() {
    for (machine, nodes, _, algorithms) in machines() {
        if machine.contains("exceptions") {
            continue;
        }
        let text = format!(
            "[run]\nscheduler = \"sequential\"\n[network]\npacket = \"1 KiB\"\nrouting.algorithm = \"{}\"\n[machine]\n\
             {machine}\n[[jobs]]\nranks = {nodes}\nworkload.worst-case = {{ load = 0.2, messages = 5 }}\n",
            algorithms[0]
        );
        assert_eq!(run(&text).outcome(), &Outcome::Completed, "{machine}");
    }
}

/// Virtual channels as CODES assigns them, on detours over routers: two local hops of the intermediate group share one.
#[test]
fn a_routing_that_can_deadlock_is_refused_or_reported() {
    let text = |check: &str| {
        format!(
            "[network.routing]\nalgorithm = \"valiant\"\nvia = \"router\"\nvc_rule = \"codes\"\n{check}\n\
             [machine.dragonfly]\ngroups = 5\nrouters_per_group = 4\nnodes_per_router = 1\n\
             global_ports_per_router = 1\n[[jobs]]\nranks = 20\n\
             workload.uniform = {{ load = 0.1, messages = 5 }}\n"
        )
    };
    let refused = scenario::load(&text(""), "t.toml", &[], None, "").unwrap_err();
    assert_eq!(refused.key, "network.routing.vc_rule");
    let warned = text("deadlock_check = \"warn\"");
    let loaded = scenario::load(&warned, "t.toml", &[], None, "").unwrap();
    let routing = check(&loaded).unwrap().routing;
    assert!(!routing.deadlock_free && routing.cycle.len() > 1, "{routing:?}");
    assert!(
        routing.cycle.iter().all(|hop| hop.contains("virtual channel 2")),
        "{routing:?}"
    );
    let json = run(&warned).run_json();
    assert_eq!(
        json["deadlock_cycle"].as_array().map(Vec::len),
        Some(routing.cycle.len())
    );
    // A proof was requested, and none exists.
    let sound = warned.replace("\"codes\"", "\"stage\"");
    assert_eq!(run(&sound).run_json()["deadlock_cycle"], serde_json::json!([]));
    let unasked = sound.replace("warn", "refuse");
    assert!(run(&unasked).run_json()["deadlock_cycle"].is_null());
}

/// Under DAL a packet has exponentially many outcomes in the dimensions: three dimensions stand for more.
#[test]
fn the_proof_on_many_dimensions_is_made_on_fewer() {
    for (dims, proved_on) in [
        ("[3, 3, 3]", "this machine"),
        (
            "[4, 4, 4, 4]",
            "a smaller machine of its kind, a HyperX of 4 x 4 x 4 routers",
        ),
        (
            "[3, 3, 3, 3, 3]",
            "a smaller machine of its kind, a HyperX of 3 x 3 x 3 routers",
        ),
    ] {
        let text = format!("[machine.hyperx]\ndims = {dims}\n[network.routing]\nalgorithm = \"dal\"\n");
        let hardware = scenario::load_hardware(&text, "t.toml", &[], "").unwrap();
        let report = prove(&hardware).unwrap();
        assert!(report.deadlock_free && report.channels > 300, "{report:?}");
        assert_eq!(report.proved_on, proved_on);
    }
}

/// A packet chooses a cable of each of several bundles, so that one decision has millions of outcomes: these, too, are
/// limited to what a second allows.
#[test]
fn the_proof_with_bundles_of_many_cables_is_made_with_fewer() {
    let text = "[machine.hyperx]\ndims = [3, 2]\ncables = 255\n[network.routing]\nalgorithm = \"dal\"\n";
    let hardware = scenario::load_hardware(text, "t.toml", &[], "").unwrap();
    let began = cpu_time::ThreadTime::now();
    let report = prove(&hardware).unwrap();
    assert!(report.deadlock_free, "{report:?}");
    assert!(
        report.proved_on.contains("a smaller machine of its kind"),
        "{}",
        report.proved_on
    );
    // Hours without a bound.
    assert!(began.elapsed() < Duration::from_secs(300), "{:?}", began.elapsed());
}

/// Flits of 1 ps, and packets that take no time at all.
#[test]
fn the_fastest_links_that_are_accepted_run() {
    for (router, bandwidth) in [
        ("router = \"pipelined\"\nclock = \"1 ns\"", "2 TB/s"),
        ("router = \"input-queued\"", "1000 TB/s"),
        ("router = \"output-queued\"", "1000 TB/s"),
        (
            "congestion_control = { kind = \"per-flow\", threshold = \"1 B\", interval = \"1 ps\" }",
            "1000 TB/s",
        ),
    ] {
        let link = format!("{{ bandwidth = \"{bandwidth}\", latency = \"5 ns\", buffer = \"16 B\" }}");
        let results = run(&format!(
            "[machine.torus]\ndims = [4, 4]\n[network]\nflit = \"1 B\"\npacket = \"4 B\"\n{router}\n\
             links = {{ local = {link}, terminal = {link} }}\n[[jobs]]\nranks = 16\n\
             workload.incast = {{ bytes = \"40 B\", mean_interval = \"50 ns\", messages = 20 }}\n"
        ));
        assert_eq!(results.outcome(), &Outcome::Completed, "{router}");
    }
}

/// A packet enters a ring where there is room for two: in buffers of one nothing would ever move.
#[test]
fn bubble_flow_control_is_refused_in_buffers_of_less_than_two_packets() {
    let text = |buffer: &str| {
        format!(
            "[network]\npacket = \"512 B\"\nflit = \"32 B\"\nrouting.algorithm = \"bubble\"\n\
             links.local.buffer = \"{buffer}\"\n[machine.torus]\ndims = [4, 4]\n[[jobs]]\nranks = 16\n\
             workload.uniform = {{ load = 0.3, messages = 20 }}\n"
        )
    };
    for small in ["512 B", "1023 B"] {
        let refused = scenario::load(&text(small), "t.toml", &[], None, "").unwrap_err();
        assert_eq!(refused.key, "network.links.local.buffer");
        assert!(refused.message.contains("does not hold two packets"), "{refused}");
    }
    assert_eq!(run(&text("1 KiB")).outcome(), &Outcome::Completed);
}

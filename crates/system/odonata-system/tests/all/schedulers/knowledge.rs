//! Publications of pipelined routers to their group, at coinciding instants: if the delay is a multiple of the
//! interval, every report arrives at the instant of another publication, and of a cycle that uses both.

use super::{ALL, ONE_QUEUE, results, tables};

/// One machine of each family whose routers publish, with about 40 nodes.
const FAMILIES: [&str; 3] = [
    "[machine.dragonfly]\ngroups = 5\nrouters_per_group = 4\nnodes_per_router = 2\nglobal_ports_per_router = 1\n",
    "[machine.dragonfly-2d]\ngroups = 5\nrows = 2\ncolumns = 2\nnodes_per_router = 2\nglobal_ports_per_router = 1\n",
    "[machine.dragonfly-plus]\ngroups = 5\nleaves_per_group = 4\nspines_per_group = 4\nnodes_per_leaf = 2\n\
     global_ports_per_spine = 1\n",
];

const UNIFORM: &str = "[network]\nrouter = \"pipelined\"\nclock = \"1 ns\"\n\
                       [network.routing]\nalgorithm = \"ugal\"\n\
                       [[jobs]]\nranks = 40\nworkload = { uniform = { bytes = \"1 KiB\", load = 0.9, messages = 20 } }\n";

/// Scheduler, threads, parts. The order of work on threads differs from run to run.
const SCHEDULES: [(&str, u32, u32); 6] = [
    (ALL[0], 1, 2),
    (ALL[0], 1, 8),
    (ALL[1], 1, 5),
    (ALL[1], 2, 8),
    (ALL[1], 2, 8),
    (ALL[2], 2, 4),
];

/// Compares every schedule with a single queue.
fn assert_equal_on_small_machines(more: &[&str]) {
    for machine in FAMILIES {
        let text = format!("{UNIFORM}{machine}");
        let run = |how: &[&str]| results(&text, &[more, how].concat());
        let reference = run(&ONE_QUEUE);
        assert_eq!(reference.outcome().name(), "completed");
        for (scheduler, threads, parts) in SCHEDULES {
            let how = [
                format!("run.scheduler={scheduler:?}"),
                format!("run.threads={threads}"),
                format!("run.parts={parts}"),
            ];
            let got = run(&how.each_ref().map(String::as_str));
            let context = format!("{machine}{more:?} {how:?}");
            assert_eq!(got.digest(), reference.digest(), "{context}");
            assert!(tables(&got) == tables(&reference), "{context}: other tables");
        }
    }
}

/// Published in time for every cycle that uses it: the delay is a multiple of the interval, and both of the clock.
#[test]
fn loads_published_at_a_divisor_of_their_delay() {
    let more = [
        "network.routing.knowledge=\"global\"",
        "network.routing.knowledge_interval=\"10 ns\"",
    ];
    assert_equal_on_small_machines(&more);
    assert_equal_on_small_machines(&[&more[..], &["network.pipeline.routing=1"]].concat());
}

/// The delay is that of a local link, the interval 100 ns.
#[test]
fn loads_published_by_default_over_links_of_100_ns() {
    let more = [
        "network.links.local.latency=\"100 ns\"",
        "network.routing.knowledge=\"global\"",
    ];
    assert_equal_on_small_machines(&more);
}

/// A port with half of its router's mean counts as congested, so that ports often change between both states.
#[test]
fn congestion_published_at_a_divisor_of_its_delay() {
    let more = [
        "network.routing.knowledge=\"piggyback\"",
        "network.routing.knowledge_interval=\"10 ns\"",
        "network.routing.congestion_factor=0.5",
        "network.routing.congestion_threshold=\"2 KiB\"",
        "network.links.local.latency=\"10 ns\"",
    ];
    assert_equal_on_small_machines(&more);
}

/// Every picosecond is an instant of publication: packets arrive and credits count at many of them.
#[test]
fn event_driven_routers_that_publish_all_the_time() {
    for router in ["input-queued", "output-queued"] {
        for interval in ["1 ps", "7 ps"] {
            let more = [
                format!("network.router={router:?}"),
                "network.routing.knowledge=\"global\"".into(),
                format!("network.routing.knowledge_interval={interval:?}"),
            ];
            assert_equal_on_small_machines(&more.each_ref().map(String::as_str));
        }
    }
}

/// On 1,088 nodes the sequential scheduler chooses clusters by itself.
#[test]
fn clusters_of_a_larger_machine_have_the_knowledge_of_one_queue() {
    let text = "[machine.dragonfly]\ngroups = 17\nrouters_per_group = 8\nnodes_per_router = 8\n\
                global_ports_per_router = 2\n\
                [network]\nrouter = \"pipelined\"\nclock = \"1 ns\"\n\
                [network.routing]\nalgorithm = \"ugal\"\nknowledge = \"global\"\nknowledge_interval = \"10 ns\"\n\
                [[jobs]]\nranks = 1088\nworkload = { uniform = { bytes = \"1 KiB\", load = 0.9, messages = 4 } }\n";
    let reference = results(text, &ONE_QUEUE);
    let plain = results(text, &["run.scheduler=\"sequential\""]);
    assert!(plain.run_json()["schedule"]["parts"].as_u64().unwrap() > 1);
    assert_eq!(plain.digest(), reference.digest());
    assert!(tables(&plain) == tables(&reference), "other tables");
}

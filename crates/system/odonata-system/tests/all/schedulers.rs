//! The central guarantee: results do not depend on the scheduler, the number of threads or the division into parts.

mod knowledge;
mod pipelined;
mod random;
mod shared;

use crate::common::run as results;
use odonata_system::{Outcome, Results};

/// The schedulers that divide the machine.
const PARALLEL: [&str; 2] = ["conservative", "optimistic"];

/// The schedulers that handle the events of the parts in turn or in parallel.
const ALL: [&str; 3] = ["sequential", PARALLEL[0], PARALLEL[1]];

/// One queue for all events: the reference.
const ONE_QUEUE: [&str; 2] = ["run.scheduler=\"sequential\"", "run.parts=1"];

const MACHINE: &str = "[machine.dragonfly]\ngroups = 9\nrouters_per_group = 4\nnodes_per_router = 2\n\
                       global_ports_per_router = 2\n";

/// Three jobs that share links and servers, with blame and series; PAR.
const MIX: &str = r#"
[run]
series_interval = "50 us"
[network]
packet = "2 KiB"
[network.routing]
algorithm = "progressive-adaptive"
[mpi]
eager_threshold = "4 KiB"
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

/// All to the next group, adaptively, with more records than are kept.
const WORST_CASE: &str = r#"
[run]
message_rows = 700
[network.routing]
algorithm = "progressive-adaptive"
[[jobs]]
ranks = 72
workload = { next-group = { bytes = "9 KiB", load = 0.3, messages = 20 } }
"#;

/// Everything is synchronous: messages of whole packets at the same instants, links of the same speed and latency, so
/// that many events tie.
const TIES: &str = r#"
[network]
packet = "1 KiB"
router_delay = "100 ns"
[network.routing]
algorithm = "valiant"
[network.links.terminal]
bandwidth = "10.24 GB/s"
latency = "100 ns"
credit_delay = "100 ns"
[network.links.local]
bandwidth = "10.24 GB/s"
latency = "100 ns"
credit_delay = "100 ns"
[network.links.global]
bandwidth = "10.24 GB/s"
latency = "100 ns"
credit_delay = "100 ns"
[[jobs]]
name = "all"
ranks = 40
workload = { stencil = { dims = [5, 4, 2], message = "8 KiB", iterations = 3, compute = "1 us", allreduce = "1 KiB" } }
[[jobs]]
name = "other"
ranks = 32
workload = { stencil = { dims = [4, 4, 2], message = "8 KiB", iterations = 3, compute = "1 us", allreduce = "1 KiB" } }
"#;

/// A job that sends until another has ended, and one that starts then.
const RULES: &str = r#"
[[jobs]]
name = "main"
ranks = 16
placement = "random"
workload = { stencil = { dims = [4, 2, 2], message = "20 KiB", iterations = 3, compute = "20 us" } }
[[jobs]]
name = "noise"
ranks = 24
placement = "random"
until = "main"
workload = { uniform = { bytes = "3 KiB", load = 0.2 } }
[[jobs]]
name = "then"
ranks = 8
placement = "random"
start_after = "main"
workload = { cosmoflow = { iterations = 1, elements = 3000, sample = "40 KiB", compute = "5 us" } }
[storage]
nodes = { per_group = 2 }
"#;

/// The tables as text, to include what a digest might leave out.
fn tables(results: &Results) -> String {
    format!("{:?}", results.rows())
}

/// Compares tables, outcome and digest with the reference; differences of tables are reported first.
fn assert_same(got: &Results, reference: &Results) {
    let (ours, theirs) = (tables(got), tables(reference));
    if let Some(at) = ours.bytes().zip(theirs.bytes()).position(|(one, other)| one != other) {
        let around = |text: &str| {
            String::from_utf8_lossy(&text.as_bytes()[at.saturating_sub(600)..text.len().min(at + 200)]).into_owned()
        };
        panic!("other tables:\n{}\nreference:\n{}", around(&ours), around(&theirs));
    }
    assert_eq!(ours.len(), theirs.len(), "one has more rows");
    assert_eq!(got.outcome(), reference.outcome());
    assert_eq!(got.digest(), reference.digest());
}

/// Runs `text` on the dragonfly under all schedulers, and compares every result with that of a single queue.
fn assert_equal_everywhere(text: &str, more: &[&str], outcome: &Outcome) {
    assert_equal_on(MACHINE, text, more, outcome);
}

/// Likewise on another machine.
fn assert_equal_on(machine: &str, text: &str, more: &[&str], outcome: &Outcome) {
    let text = format!("{text}\n{machine}");
    let run = |how: &[&str]| results(&text, &[more, how].concat());
    let reference = run(&ONE_QUEUE);
    assert_eq!(reference.outcome(), outcome, "{:?}", reference.run_json()["detail"]);
    let (digest, expected) = (reference.digest().to_owned(), tables(&reference));
    for scheduler in ALL {
        for (threads, parts) in [(1, "2"), (1, "36"), (2, "3"), (2, "9"), (4, "17")] {
            if scheduler == "sequential" && threads > 1 {
                continue;
            }
            let scheduler = format!("run.scheduler={scheduler:?}");
            let (threads, parts) = (format!("run.threads={threads}"), format!("run.parts={parts}"));
            let context = format!("{scheduler} {threads} {parts}");
            let got = run(&[&scheduler, &threads, &parts]);
            assert_eq!(got.outcome(), outcome, "{context}: {:?}", got.run_json()["detail"]);
            assert_eq!(got.run_json()["detail"], reference.run_json()["detail"], "{context}");
            let same = tables(&got) == expected;
            assert!(
                same && got.digest() == digest,
                "{context}: other tables ({same}), {} for {digest}",
                got.digest()
            );
        }
    }
}

/// The top level of a fat tree has no nodes: parts consisting of it alone have no NIC, and the series ends there at the
/// same time as elsewhere. It keeps 4,194,304 cells, 70,000 intervals of 5 places, 3 resources and 2 x 2 owners.
#[test]
fn series_end_at_the_same_time_in_parts_without_nodes() {
    let text = "[run]\nseries_interval = \"20 ps\"\nblame = true\n[machine.fat-tree]\nk = 4\nn = 2\n\
                [[jobs]]\nranks = 16\n\
                workload = { incast = { bytes = \"12 KiB\", mean_interval = \"1 us\", messages = 2 } }\n";
    let reference = results(text, &ONE_QUEUE);
    let detail = |results: &Results| results.run_json()["detail"].clone();
    assert!(
        detail(&reference)
            .as_str()
            .is_some_and(|text| text.contains("series_interval is too short"))
    );
    for scheduler in ALL {
        // One for each leaf router, and one for the top level.
        let got = results(
            text,
            &[&format!("run.scheduler={scheduler:?}"), "run.parts=5", "run.threads=1"],
        );
        assert_eq!(got.digest(), reference.digest(), "{scheduler}");
        assert_eq!(detail(&got), detail(&reference), "{scheduler}");
        assert!(tables(&got) == tables(&reference), "{scheduler}: the tables differ");
    }
}

#[test]
fn a_mix_with_storage_blame_and_series() {
    assert_equal_everywhere(MIX, &[], &Outcome::Completed);
}

/// Buffers that are too small, I/O nodes with devices of their own, and a file system behind them.
#[test]
fn a_mix_with_tiers_of_storage() {
    let chain = [
        "storage.device.capacity=\"100 kB\"",
        "storage.policy={ keep = true, read = \"cache\", blocks_in_flight = 3 }",
        "storage.tiers=[{ name = \"io\", nodes = { list = [5, 43] }, device = { capacity = \"1 MB\" }, policy = { drain = \"job-end\" } }]",
        "storage.file_system={ object_servers = 3, latency = \"2 us\", bandwidth = \"500 MB/s\" }",
    ];
    assert_equal_everywhere(MIX, &chain, &Outcome::Completed);
    let local = ["storage.nodes={ class = \"compute\" }", chain[0], chain[2], chain[3]];
    assert_equal_everywhere(
        &MIX.replace("nodes = { per_group = 1, position = \"first\" }", ""),
        &local,
        &Outcome::Completed,
    );
}

/// Calls, messages, accesses and links individually, up to the limit of rows: the same rows, and the same results
/// otherwise.
#[test]
fn recorded_timelines_are_the_same_everywhere() {
    let plain = results(&format!("{MIX}\n{MACHINE}"), &ONE_QUEUE);
    for settings in [
        &["run.timeline={}"][..],
        &["run.timeline.rows=60", "run.timeline.every=3", "mpi.progress=in-calls"],
    ] {
        assert_equal_everywhere(MIX, settings, &Outcome::Completed);
    }
    let recorded = results(
        &format!("{MIX}\n{MACHINE}"),
        &[&ONE_QUEUE[..], &["run.timeline={}"]].concat(),
    );
    assert_eq!(recorded.digest(), plain.digest());
    let rows = recorded.rows();
    assert!(rows.calls.len() > 300 && rows.flows.len() > 200 && rows.accesses.len() > 20);
    assert!(rows.requests.len() > 100 && rows.link_series.len() > 16);
    assert!(plain.rows().calls.is_empty() && plain.rows().link_series.is_empty());
}

#[test]
fn the_routers_of_codes_and_input_fifos() {
    assert_equal_everywhere(MIX, &["network.router=\"output-queued\""], &Outcome::Completed);
    assert_equal_everywhere(MIX, &["network.input_queues=\"fifo\""], &Outcome::Completed);
    assert_equal_everywhere(MIX, &["network.switching=\"store-and-forward\""], &Outcome::Completed);
}

/// The jobs of [`MIX`] in three classes: file access in one, one job before all others.
#[test]
fn a_mix_in_traffic_classes() {
    let classes = [
        "network.traffic_classes=[{ name = \"latency\", share = 0.5 }, { name = \"bulk\", share = 0.3 }, \
         { name = \"first\", share = 0.1, priority = 1 }]",
        "jobs.0.traffic_class={ mpi = \"first\" }",
        "jobs.1.traffic_class={ io = \"bulk\" }",
        "jobs.2.traffic_class={ mpi = \"latency\", io = \"bulk\" }",
    ];
    for queues in ["virtual-output", "fifo"] {
        let queues = format!("network.input_queues={queues:?}");
        assert_equal_everywhere(MIX, &[&classes[..], &[&queues]].concat(), &Outcome::Completed);
    }
}

/// Many to few, with control that acts at once.
#[test]
fn traffic_under_congestion_control() {
    let incast = "[[jobs]]\nranks = 72\nplacement = \"random\"\n\
                  workload = { incast = { targets = [3, 40], bytes = \"20 KiB\", load = 0.6, messages = 8 } }\n";
    for kind in ["ecn", "per-flow", "per-pair"] {
        let control = format!(
            "network.congestion_control={{ kind = {kind:?}, threshold = \"8 KiB\", interval = \"2 us\", recovery = \"60 us\" }}"
        );
        let free = results(&format!("{incast}{MACHINE}"), &[]);
        let held = results(&format!("{incast}{MACHINE}"), &[&control]);
        assert_ne!(free.digest(), held.digest(), "nobody was slowed down");
        assert_equal_everywhere(incast, &[&control], &Outcome::Completed);
        assert_equal_everywhere(
            MIX,
            &[&control, "network.router=\"output-queued\""],
            &Outcome::Completed,
        );
        let pipelined = [&[control.as_str()], &PIPELINED[..]].concat();
        let free = results(&format!("{incast}{MACHINE}"), &PIPELINED);
        let held = results(&format!("{incast}{MACHINE}"), &pipelined);
        assert_ne!(free.digest(), held.digest(), "nobody was slowed down");
        assert_equal_everywhere(incast, &pipelined, &Outcome::Completed);
    }
}

#[test]
fn worst_case_traffic_with_more_records_than_are_kept() {
    assert_equal_everywhere(WORST_CASE, &[], &Outcome::Completed);
}

/// Information that routers publish in their group, undivided and in parts, on all dragonflies.
#[test]
fn worst_case_traffic_with_remote_knowledge() {
    let known = |knowledge: &str| {
        [
            "network.routing.algorithm=\"ugal\"".into(),
            format!("network.routing.knowledge={knowledge:?}"),
            "network.routing.knowledge_interval=\"150 ns\"".into(),
        ]
    };
    for knowledge in ["global", "piggyback"] {
        let more = known(knowledge);
        let more = more.each_ref().map(String::as_str);
        assert_equal_everywhere(WORST_CASE, &more, &Outcome::Completed);
        // The information is available, and makes a difference.
        let text = format!("{WORST_CASE}\n{MACHINE}");
        let local = results(&text, &["network.routing.algorithm=\"ugal\""]);
        assert_ne!(results(&text, &more).digest(), local.digest(), "{knowledge}");
    }
}

#[test]
fn masses_of_simultaneous_events() {
    assert_equal_everywhere(TIES, &[], &Outcome::Completed);
    assert_equal_everywhere(
        TIES,
        &["network.routing.algorithm=\"progressive-adaptive\""],
        &Outcome::Completed,
    );
}

#[test]
fn jobs_that_wait_for_each_other() {
    assert_equal_everywhere(RULES, &[], &Outcome::Completed);
}

#[test]
fn runs_that_end_otherwise() {
    assert_equal_everywhere(WORST_CASE, &["run.time_limit=\"13.7 us\""], &Outcome::TimeLimit);
    assert_equal_everywhere(MIX, &["run.time_limit=\"41 us\""], &Outcome::TimeLimit);
    // The location and the number of waiting messages are reported equally.
    assert_equal_everywhere(WORST_CASE, &["nic.message_queue=4"], &Outcome::QueueOverflow);
    assert_equal_everywhere(MIX, &["nic.message_queue=1"], &Outcome::QueueOverflow);
}

/// Every router is a part of its own, credits have almost no delay, and all nodes send to the next group: most of what
/// a part does beyond its window is too early.
#[test]
fn thousands_of_rollbacks_make_no_difference() {
    let text = format!(
        "{WORST_CASE}\n[network.links.terminal]\ncredit_delay = \"1.419 ns\"\n[network.links.local]\n\
         credit_delay = \"1.419 ns\"\n[network.links.global]\ncredit_delay = \"1.419 ns\"\n{MACHINE}"
    );
    let expected = results(&text, &ONE_QUEUE);
    for threads in ["run.threads=1", "run.threads=3"] {
        let got = results(&text, &["run.scheduler=\"optimistic\"", "run.parts=36", threads]);
        assert_eq!((got.digest(), tables(&got)), (expected.digest(), tables(&expected)));
        let figures = &got.run_json()["schedule"]["optimistic"];
        let figure = |name: &str| figures[name].as_f64().unwrap();
        assert!(figure("rollbacks") > 2_000.0, "{figures}");
        assert!(figure("anti_messages") > 2_000.0, "{figures}");
        assert!(
            figure("rolled_back") > 2_000.0 && figure("efficiency") < 1.0,
            "{figures}"
        );
        assert!(figure("peak_journal_bytes") > 1_000.0, "{figures}");
    }
}

/// Routers that work flit by flit, with four flits to a packet of [`MIX`].
const PIPELINED: [&str; 3] = [
    "network.router=\"pipelined\"",
    "network.clock=\"25 ns\"",
    "network.flit=\"512 B\"",
];

/// Lost time is propagated along messages between parts, and rolled back with them; all other results are unchanged.
#[test]
fn lost_time_is_the_same_everywhere_and_changes_nothing_else() {
    let ways: [(&str, &[&str]); 4] = [
        (MIX, &[]),
        (MIX, &["network.router=\"output-queued\"", "mpi.progress=\"in-calls\""]),
        (RULES, &["network.input_queues=\"fifo\""]),
        (MIX, &PIPELINED),
    ];
    for (text, more) in ways {
        let more = [more, &["run.series_interval=\"20 us\""]].concat();
        let with = [&more[..], &["run.lost_time=true", "run.lost_time_path=20"]].concat();
        assert_equal_everywhere(text, &with, &Outcome::Completed);
        let text = format!("{text}\n{MACHINE}");
        let (kept, plain) = (
            results(&text, &[&with[..], &ONE_QUEUE].concat()),
            results(&text, &[&more[..], &ONE_QUEUE].concat()),
        );
        assert_eq!(kept.digest(), plain.digest());
        let mut rows = kept.rows().clone();
        let lost = std::mem::take(&mut rows.lost_time);
        assert!(!std::mem::take(&mut rows.lost_time_series).is_empty());
        assert!(!std::mem::take(&mut rows.lost_time_path).is_empty());
        rows.lost_time_iterations.clear();
        assert_eq!(format!("{rows:?}"), tables(&plain));
        let to_others: f64 = lost
            .iter()
            .filter(|row| row.victim != row.culprit)
            .map(|row| row.lost_s)
            .sum();
        assert!(to_others > 0.0, "{lost:?}");
    }
}

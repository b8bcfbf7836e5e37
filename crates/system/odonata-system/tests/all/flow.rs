//! The flow-level form of the network: closed forms, conservation, one digest on every scheduler, and what it refuses.

use crate::common::completed as run;
use crate::everywhere::{JOBS, assert_one_digest, slow_terminals as text};
use odonata_system::results::Rows;
use odonata_system::scenario;

const FLOW: &str = "fidelity = \"flow\"";

fn rows(text: &str) -> Rows {
    run(text, &[]).rows().clone()
}

fn elapsed_ns(rows: &Rows) -> f64 {
    rows.jobs[0].elapsed_s * 1e9
}

/// A message without competition takes s/b and the latency of its path, as in packets; with a nanosecond for rounding
/// (a packet's time to a picosecond, a fill 1 ps after a start).
#[test]
fn a_message_alone_takes_the_same_time_as_in_packets() {
    for bytes in [0, 8, 64, 1000, 4096, 5000, 1 << 20] {
        let job = format!(
            "[[jobs]]\nranks = 2\nplacement = \"random\"\nworkload.ping-pong = {{ bytes = \"{bytes} B\", iterations = 3 }}\n"
        );
        let packets = elapsed_ns(&rows(&text("", &job)));
        let flows = elapsed_ns(&rows(&text(FLOW, &job)));
        assert!(
            (packets - flows).abs() <= 1.0,
            "{bytes} bytes: {packets} and {flows} ns"
        );
    }
}

/// n ranks that send s bytes each to one: its terminal link is the bottleneck, n s / b, and MPI adds its costs.
#[test]
fn many_to_one_takes_the_time_of_the_last_link() {
    let (senders, bytes) = (7_u32, 1_u64 << 20);
    let job = format!(
        "[[jobs]]\nranks = {}\nworkload.gather = {{ bytes = \"{bytes} B\", algorithm = \"linear\", iterations = 1 }}\n",
        senders + 1
    );
    let results = run(&text(FLOW, &job), &[]);
    let time = elapsed_ns(results.rows());
    let least = f64::from(senders) * bytes as f64 / 10.0;
    assert!(
        time >= least && time < least * 1.05 + 10_000.0,
        "{time} ns; {least} ns at least"
    );
}

/// A run ends with its last message, and not at the time first predicted for it, before others left it their part of a
/// link: the answer of the long job begins beside the short one's message, and would end 1.5 ms later otherwise.
#[test]
fn a_run_ends_with_its_last_message() {
    let job = |name: &str, nodes: &str, bytes: &str, start: &str| {
        format!(
            "[[jobs]]\nname = {name:?}\nranks = 2\nplacement = {{ nodes = {nodes} }}\nstart = {start:?}\n\
             workload.ping-pong = {{ bytes = {bytes:?}, iterations = 1 }}\n"
        )
    };
    let jobs = job("long", "[0, 8]", "16 MiB", "0 s") + &job("short", "[9, 1]", "8 MiB", "1 ms");
    let results = run(&text(FLOW, &jobs), &["network.links.global.bandwidth=10 GB/s"]);
    let jobs = &results.rows().jobs;
    let last = jobs.iter().map(|job| job.start_s + job.elapsed_s).fold(0.0, f64::max);
    assert!(last > 3.4e-3 && last < 3.6e-3, "{last}");
    assert!((results.progress().simulated_s - last).abs() < 1e-9, "{last}");
}

#[test]
fn storage_and_messages_have_one_digest_on_every_scheduler() {
    for algorithm in ["minimal", "valiant", "ugal"] {
        let text = text(FLOW, JOBS).replace("\"minimal\"", &format!("{algorithm:?}"));
        assert_one_digest(algorithm, |overrides| run(&text, overrides).digest().to_owned());
    }
}

/// Every byte that leaves a NIC arrives at a node: the terminal links count the same bytes in both directions, equal to
/// what ranks and servers have sent.
#[test]
fn bytes_sent_by_nics_arrive_at_nodes() {
    let results = run(&text(FLOW, JOBS), &[]);
    let rows = results.rows();
    let nics = rows.links.iter().filter(|link| link.source_kind == "node");
    let last = rows.links.iter().filter(|link| link.target_kind == "node");
    let (from, to): (u64, u64) = (nics.map(|link| link.bytes).sum(), last.map(|link| link.bytes).sum());
    assert!(from > 36 << 20, "{from}");
    assert_eq!(from, to);
}

#[test]
fn features_of_packets_are_refused() {
    let job = "[[jobs]]\nranks = 2\nworkload.ping-pong = {}\n";
    // Pipelined routers have no delay.
    let refused = |network: &str, more: &str| match scenario::load(
        &text(&format!("{FLOW}\n{network}"), &format!("{job}{more}")).replace("router_delay = \"90 ns\"\n", ""),
        "s.toml",
        &[],
        None,
        "",
    ) {
        Ok(_) => panic!("this should have been refused: {network} {more}"),
        Err(error) => error.key,
    };
    assert_eq!(
        refused("congestion_control = { kind = \"ecn\", threshold = \"16 KiB\" }", ""),
        "network.congestion_control"
    );
    let classes = "traffic_classes = [{ name = \"a\", share = 0.5 }, { name = \"b\", share = 0.5 }]";
    assert_eq!(refused(classes, ""), "network.traffic_classes");
    assert_eq!(
        refused("router = \"pipelined\"\nclock = \"1 GHz\"", ""),
        "network.router"
    );
    assert_eq!(refused("analytic = { gap = \"1 ns\" }", ""), "network.analytic");
    assert_eq!(refused("", "[run]\nblame = true\nlost_time = true\n"), "run.lost_time");
}

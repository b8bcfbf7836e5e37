//! Compares the numbers of `check` with runs: messages, packet-hops, and heap memory before the first event.

use odonata_system::scenario::{self, Scenario};
use odonata_system::{Simulation, check};
use peak_alloc::PeakAlloc;
use std::sync::Mutex;
use std::time::Duration;

#[global_allocator]
static HEAP: PeakAlloc = PeakAlloc;

/// One run at a time: the heap is that of the process.
static ALONE: Mutex<()> = Mutex::new(());

const DRAGONFLY: &str = "[machine.dragonfly]\ngroups = 9\nrouters_per_group = 4\nnodes_per_router = 2\n\
                         global_ports_per_router = 2\n";

fn load(name: &str, text: &str) -> Scenario {
    scenario::load(text, "estimates.toml", &[], None, "").unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Asserts that two numbers agree within `factor`.
#[allow(clippy::print_stdout, reason = "shows the error of each estimate with --nocapture")]
fn assert_close(name: &str, what: &str, expected: f64, found: f64, factor: f64) {
    let ratio = expected / found;
    println!("{name:34} {what} {expected:10.3e} of {found:10.3e}: {ratio:.2}");
    assert!(
        ratio < factor && ratio > 1.0 / factor,
        "{name}: {expected:.3e} {what} expected, {found:.3e} found"
    );
}

/// The counts of `check` and those of the run, for messages, collectives and files.
#[test]
fn messages_and_packet_hops_are_those_of_the_run() {
    let storage = |more: &str| {
        format!(
            "{DRAGONFLY}[storage]\nnodes = {{ list = [0, 16, 32, 48] }}\nassignment = \"round-robin\"\n{more}\
             device = {{ capacity = \"100 GB\", rate = {{ write = \"2 GB/s\", read = \"2 GB/s\", overhead = \"20 us\" }} }}\n"
        )
    };
    let job = |machine: &str, ranks: u32, workload: &str| {
        format!("{machine}[[jobs]]\nranks = {ranks}\nplacement = \"random\"\nworkload.{workload}\n")
    };
    let cases = [
        (
            "stencil",
            job(
                DRAGONFLY,
                64,
                "stencil = { dims = [4, 4, 4], iterations = 5, message = \"16 KiB\" }",
            ),
        ),
        (
            "alltoall on a torus",
            job(
                "[machine.torus]\ndims = [4, 4, 4]\n",
                64,
                "alltoall = { bytes = \"16 KiB\", iterations = 1 }",
            ),
        ),
        (
            "uniform traffic on a fat tree",
            job(
                "[machine.fat-tree]\nk = 4\nn = 3\n",
                64,
                "uniform = { load = 0.3, messages = 100, bytes = \"4 KiB\" }",
            ),
        ),
        (
            "checkpoint",
            job(
                &storage(""),
                32,
                "checkpoint = { iterations = 2, total = \"32 MB\", interval = \"1 ms\" }",
            ),
        ),
        (
            "mdtest",
            job(
                &storage("metadata = { nodes = { list = [63] }, threads = 4 }\n"),
                24,
                "mdtest = \"-n 50 -F -C -T -r\"",
            ),
        ),
        ("ior", job(&storage(""), 16, "ior = \"-w -r -t 1m -b 4m -s 2 -F\"")),
    ];
    for (name, text) in cases {
        let _alone = ALONE.lock().unwrap_or_else(|broken| broken.into_inner());
        let expected = check(&load(name, &text)).unwrap().cost.unwrap();
        let mut run = Simulation::new(load(name, &text)).unwrap();
        while !run.advance(Duration::from_secs(60)).finished {}
        let counted = run.finish(false).progress().clone();
        assert_close(name, "messages", expected.messages, counted.messages as f64, 1.2);
        assert_close(
            name,
            "packet-hops",
            expected.packet_hops,
            counted.packet_hops as f64,
            1.3,
        );
    }
}

/// A single long phase, in which no rank reaches its end: the completed share is still estimated, also within half.
#[test]
fn progress_within_a_phase_is_within_half_of_the_share_of_events() {
    let text = format!(
        "{DRAGONFLY}[storage]\nnodes = {{ list = [0, 16, 32, 48] }}\nassignment = \"round-robin\"\n\
         device = {{ capacity = \"100 GB\", rate = {{ write = \"2 GB/s\", read = \"2 GB/s\", overhead = \"20 us\" }} }}\n\
         [run]\nthreads = 1\n\
         [[jobs]]\nranks = 32\nworkload.checkpoint = {{ iterations = 1, total = \"320 MB\", interval = \"1 ms\" }}\n"
    );
    let _alone = ALONE.lock().unwrap_or_else(|broken| broken.into_inner());
    let mut run = Simulation::new(load("checkpoint", &text)).unwrap();
    let mut shares = Vec::new();
    loop {
        let now = run.advance(Duration::ZERO);
        shares.push((now.events as f64, now.fraction.unwrap()));
        if now.finished {
            break;
        }
    }
    let (all, last) = *shares.last().unwrap();
    assert_eq!(last, 1.0);
    assert!(shares.is_sorted_by(|a, b| a.1 <= b.1), "{shares:?}");
    let within: Vec<_> = shares
        .iter()
        .filter(|(events, _)| (0.1..0.6).contains(&(events / all)))
        .collect();
    assert!(within.len() > 2, "{shares:?}");
    for (events, fraction) in within {
        assert_close("checkpoint", "share", *fraction, events / all, 1.5);
    }
}

#[test]
fn what_a_run_takes_before_its_first_event_follows_from_sizes() {
    let torus = "[machine.torus]\ndims = [16, 16, 16]\n";
    let uniform = |machine: &str, ranks: u32, rest: &str| {
        format!("{machine}{rest}[[jobs]]\nranks = {ranks}\nworkload.uniform = {{ load = 0.2, messages = 20 }}\n")
    };
    let many_jobs = "[[jobs]]\nranks = 2\ncount = 500\nworkload.stencil = { dims = [2], iterations = 1 }\n";
    let cases = [
        ("torus", uniform(torus, 4096, "")),
        (
            "output-queued",
            uniform(torus, 4096, "[network]\nrouter = \"output-queued\"\n"),
        ),
        (
            "fifos, ecn",
            uniform(
                torus,
                4096,
                "[network]\ninput_queues = \"fifo\"\n[network.congestion_control]\nkind = \"ecn\"\n",
            ),
        ),
        ("blame", uniform(torus, 4096, "[run]\nblame = true\n")),
        ("many channels", uniform(torus, 4096, "[network.routing]\nvcs = 16\n")),
        (
            "pipelined",
            uniform(torus, 4096, "[network]\nrouter = \"pipelined\"\nclock = \"1 ns\"\n"),
        ),
        (
            "parts",
            uniform(torus, 4096, "[run]\nscheduler = \"conservative\"\nthreads = 2\n"),
        ),
        ("fat tree", uniform("[machine.fat-tree]\nk = 8\nn = 4\n", 4096, "")),
        (
            "published loads",
            uniform(
                "[machine.dragonfly]\ngroups = 33\nrouters_per_group = 8\nnodes_per_router = 4\nglobal_ports_per_router = 4\n",
                1056,
                "[network.routing]\nalgorithm = \"ugal\"\nknowledge = \"global\"\n",
            ),
        ),
        (
            "distances",
            uniform(
                "[machine.torus]\ndims = [16, 16, 8]\n",
                2048,
                "[network.routing]\nalgorithm = \"up-down\"\n",
            ),
        ),
        // In parts, whichever scheduler the run would choose.
        (
            "ranks",
            format!(
                "{DRAGONFLY}[run]\nscheduler = \"conservative\"\nthreads = 2\nparts = 4\n[[jobs]]\nranks = 72000\nranks_per_node = 1000\n\
                 workload.stencil = {{ dims = [300, 240], iterations = 1 }}\n"
            ),
        ),
        ("jobs", format!("[machine.torus]\ndims = [16, 16, 4]\n{many_jobs}")),
    ];
    for (name, text) in cases {
        let _alone = ALONE.lock().unwrap_or_else(|broken| broken.into_inner());
        let expected = check(&load(name, &text)).unwrap().memory.unwrap().idle_bytes;
        let before = HEAP.current_usage();
        let run = Simulation::new(load(name, &text)).unwrap();
        let found = HEAP.current_usage() - before;
        drop(run);
        assert_close(name, "bytes", expected as f64, found as f64, 1.25);
    }
}

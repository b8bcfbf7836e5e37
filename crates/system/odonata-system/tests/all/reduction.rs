//! Collectives in routers: closed forms of their trees, their limits, and their share of links.

use crate::common::{completed as run, load};
use crate::everywhere::assert_one_digest;
use odonata_system::warnings;

/// In ns: overhead of the processor at each end, delay of a router and of its sum, latency of links to nodes and between
/// routers; bytes per ns of these links.
const O: f64 = 150.0;
const ROUTER: f64 = 90.0;
const SUM: f64 = 60.0;
const LATENCY: [f64; 2] = [20.0, 30.0];
const RATE: [f64; 2] = [10.0, 20.0];

/// Two levels of routers with 4 or 8 ports down; `jobs` follow.
fn text(k: u32, reduction: &str, jobs: &str) -> String {
    let [terminal, local] = [0, 1].map(|class| {
        format!(
            "{{ bandwidth = \"{} GB/s\", latency = \"{} ns\" }}",
            RATE[class], LATENCY[class]
        )
    });
    format!(
        "[machine.fat-tree]\nk = {k}\nn = 2\n[network]\nrouter_delay = \"{ROUTER} ns\"\n\
         links.terminal = {terminal}\nlinks.local = {local}\nlinks.global = {local}\n\
         [network.reduction]\ndelay = \"{SUM} ns\"\n{reduction}\n[nic]\nmessage_delay = \"0 ns\"\n\
         [mpi]\nsend_delay = \"{O} ns\"\nsend_overhead = \"{O} ns\"\nrecv_overhead = \"{O} ns\"\n{jobs}"
    )
}

fn job(ranks: u32, bytes: u64, keys: &str) -> String {
    format!(
        "[[jobs]]\nname = \"sum\"\nranks = {ranks}\n\
         workload.allreduce = {{ bytes = \"{bytes} B\", algorithm = \"switches\", {keys} }}\n"
    )
}

fn one(ranks: u32, bytes: u64, reduction: &str) -> String {
    text(4, reduction, &job(ranks, bytes, "iterations = 1"))
}

fn elapsed_ns(text: &str) -> f64 {
    run(text, &[]).rows().jobs[0].elapsed_s * 1e9
}

/// An operation of `bytes` from an interface to the root and back: over the links to nodes and, to a spine, those between
/// routers. `sums` routers on the way have several children.
fn round_trip(levels: usize, sums: f64, bytes: f64) -> f64 {
    let links: f64 = (0..levels).map(|class| LATENCY[class] + bytes / RATE[class]).sum();
    let routers = (2 * levels - 1) as f64 * ROUTER;
    2.0 * links + routers + sums * SUM
}

fn close(found: f64, expected: f64) {
    assert!((found - expected).abs() < 0.1, "{found} ns; expected {expected} ns");
}

/// 2 to 4 ranks meet at their leaf, more at a spine: 5 ranks have one leaf that only passes data on, but the way through
/// the other decides.
#[test]
fn an_operation_takes_the_latencies_of_its_tree() {
    for (ranks, levels, sums) in [(2, 1, 1.0), (4, 1, 1.0), (5, 2, 2.0), (8, 2, 2.0), (16, 2, 2.0)] {
        for bytes in [8, 256] {
            let found = elapsed_ns(&one(ranks, bytes, ""));
            close(found, 2.0 * O + round_trip(levels, sums, bytes as f64));
        }
        let barrier =
            format!("[[jobs]]\nranks = {ranks}\nworkload.barrier = {{ iterations = 1, algorithm = \"switches\" }}\n");
        close(
            elapsed_ns(&text(4, "", &barrier)),
            2.0 * O + round_trip(levels, sums, 0.0),
        );
    }
}

/// With W operations at a time of round trip R, and s for the data of one on the slowest link, chunk j leaves at
/// floor(j / W) R + (j mod W) s, or, if W s > R, at j s.
#[test]
fn longer_vectors_take_the_round_trips_that_their_operations_allow() {
    let (data, chunks) = (1024.0, 24);
    let (trip, slot) = (round_trip(2, 2.0, data), data / RATE[0]);
    for operations in [1, 2, 4, 64] {
        let keys = format!("operations = {operations}\ndata = \"1 KiB\"\nup_to = \"1 MiB\"");
        let last = chunks - 1;
        let leaves = match f64::from(operations) * slot > trip {
            true => f64::from(last) * slot,
            false => f64::from(last / operations) * trip + f64::from(last % operations) * slot,
        };
        close(
            elapsed_ns(&one(16, 1024 * u64::from(chunks as u32), &keys)),
            2.0 * O + leaves + trip,
        );
    }
}

/// Ranks of a node have one part; non-blocking operations need no processor.
#[test]
fn ranks_of_a_node_share_its_interface() {
    let alone = job(8, 256, "iterations = 3");
    let shared = alone.replace("ranks = 8", "ranks = 32\nranks_per_node = 4");
    close(elapsed_ns(&text(4, "", &shared)), elapsed_ns(&text(4, "", &alone)));
    let overlapped = job(16, 8, "iterations = 1, overlap = true, compute = \"50 us\"");
    let text = text(4, "", &overlapped).replace("[mpi]", "[mpi]\nprogress = \"in-calls\"");
    assert!(elapsed_ns(&text) < 50_000.0 + 2.0 * O + 0.1);
}

/// Vectors that are too long and jobs without a tree take the library's choice.
#[test]
fn what_routers_cannot_take_falls_back() {
    let auto = |text: &str| elapsed_ns(&text.replace("\"switches\"", "\"auto\""));
    let long = one(16, 4097, "");
    assert_eq!(elapsed_ns(&long), auto(&long));
    let without = one(16, 8, "trees = 0");
    assert_eq!(elapsed_ns(&without), auto(&without));
    let named = one(16, 8, "").replace("\"switches\"", "\"auto\"");
    let named = named.replace("[mpi]", "[mpi]\ncollectives.allreduce = \"switches\"");
    assert_eq!(elapsed_ns(&named), elapsed_ns(&one(16, 8, "")));
}

/// Each of 4 jobs has two nodes at each of two leaves, which therefore sum for all of them. Of n jobs the first k have a
/// tree where leaves sum in k; their trees have spines of their own, so none waits for another.
#[test]
fn the_first_jobs_take_the_trees() {
    let of_job = |n: u32| {
        let nodes = [2 * n, 2 * n + 1, 8 + 2 * n, 9 + 2 * n]
            .map(|node| node.to_string())
            .join(", ");
        let keys = format!("\"sum {n}\"\nplacement = {{ nodes = [{nodes}] }}");
        job(4, 256, "iterations = 1").replace("\"sum\"", &keys)
    };
    let jobs: String = (0..4).map(of_job).collect();
    let in_tree = 2.0 * O + round_trip(2, 2.0, 256.0);
    for units in 0..=4 {
        let text = text(8, &format!("trees = {units}"), &jobs);
        let results = run(&text, &[]);
        for (n, row) in results.rows().jobs.iter().enumerate() {
            let found = row.elapsed_s * 1e9;
            match n < units {
                true => close(found, in_tree),
                false => assert!(found > in_tree + O, "job {n} with {units} trees: {found} ns"),
            }
        }
        let scenario = load(&text, &[]).unwrap();
        let refused = warnings(&scenario)
            .into_iter()
            .filter(|warning| warning.key == "network.reduction.trees");
        assert_eq!(refused.count(), 4 - units);
    }
}

/// A message and a sum that stream over one link between routers share it: each takes twice its time alone, n / rate.
#[test]
fn chunks_and_packets_take_turns() {
    let bytes = 4 << 20;
    let jobs = format!(
        "{}placement = {{ nodes = [0, 4] }}\n[[jobs]]\nranks = 2\nworkload.ping-pong = {{ bytes = \"{} B\", iterations = 1 }}\n\
         placement = {{ nodes = [1, 5] }}\n",
        job(2, bytes, "iterations = 1"),
        bytes,
    );
    let reduction = "operations = 64\ndata = \"4 KiB\"\nup_to = \"1 GiB\"";
    let text = text(4, reduction, &jobs)
        .replace("k = 4\nn = 2", "down = [4, 2]\nup = [1, 1]")
        .replace("20 GB/s", "10 GB/s");
    let rows = run(&text, &["run.lost_time=true"]);
    let alone = bytes as f64 / RATE[0];
    let sum = rows.rows().jobs[0].elapsed_s * 1e9;
    assert!((sum / alone - 2.0).abs() < 0.02, "{sum} ns; alone {alone} ns");
    // The way back of the ping-pong is the other direction, which the sum uses until it ends.
    let message = rows.rows().jobs[1].elapsed_s * 1e9;
    assert!((message / alone - 3.0).abs() < 0.05, "{message} ns; alone {alone} ns");
}

#[test]
fn trees_have_one_digest_on_every_scheduler() {
    let jobs = [
        job(20, 2048, "iterations = 4, compute = \"1 us\"").replace("\"sum\"", "\"long\"\nplacement = \"random\""),
        "[[jobs]]\nranks = 20\nplacement = \"random\"\nworkload.uniform = { load = 0.4, messages = 40 }\n".to_owned(),
        job(24, 8, "iterations = 6, overlap = true, compute = \"2 us\"")
            .replace("\"sum\"", "\"short\"\nplacement = \"random\"\nrepeat = 2"),
    ];
    let text = text(8, "trees = 1", &jobs.concat()).replace("k = 8\nn = 2", "k = 4\nn = 3");
    for lost in ["run.lost_time=false", "run.lost_time=true"] {
        assert_one_digest("switches", |overrides| {
            run(&text, &[overrides, &[lost]].concat()).digest().to_owned()
        });
    }
}

#[test]
fn wrong_values_are_refused() {
    let refused = |text: &str, key: &str, part: &str| {
        let error = load(text, &[])
            .err()
            .unwrap_or_else(|| panic!("accepted: {text}"))
            .to_string();
        assert!(error.contains(key) && error.contains(part), "{error}");
    };
    refused(&one(4, 8, "data = \"0 B\""), "network.reduction.data", "1 B to");
    refused(&one(4, 8, "data = \"5 KiB\""), "network.reduction.data", "1 B to");
    refused(
        &one(4, 8, "operations = 0"),
        "network.reduction.operations",
        "1 to 4096",
    );
    let none = |text: &str| text.replace(&format!("[network.reduction]\ndelay = \"{SUM} ns\"\n"), "");
    refused(&none(&one(4, 8, "")), "jobs.0.workload", "[network.reduction]");
    let named = one(4, 8, "").replace("algorithm = \"switches\", ", "");
    let named = named.replace("[mpi]", "[mpi]\ncollectives.barrier = \"switches\"");
    refused(&none(&named), "mpi.collectives.barrier", "[network.reduction]");
    let flows = one(4, 8, "").replace("[network]", "[network]\nfidelity = \"flow\"");
    refused(&flows, "network.reduction", "fidelity");
    let pipelined = one(4, 8, "").replace("[network]", "[network]\nrouter = \"output-queued\"");
    refused(&pipelined, "network.reduction", "input-queued");
}

//! The analytic form of the network: closed forms of the LogGP model, GOAL schedules under LogGOPS, and what it
//! refuses.

use crate::common::{finish, load_in};
use crate::everywhere::{JOBS, assert_one_digest};
use odonata_system::results::Rows;
use odonata_system::{Outcome, Results, scenario};
use std::fs;
use std::path::{Path, PathBuf};

/// In ns: L, o of sends and of receives, g; G in ns per byte.
const L: f64 = 1000.0;
const OS: f64 = 100.0;
const OR: f64 = 150.0;
const GAP: f64 = 40.0;
const G: f64 = 0.25;

/// 32 nodes. Everything outside the model takes no time; o of a send passes before its message is at the interface.
fn text(jobs: &str) -> String {
    format!(
        "[machine.dragonfly]\ngroups = 4\nrouters_per_group = 4\nnodes_per_router = 2\nglobal_ports_per_router = 1\n\
         [network]\nfidelity = \"analytic\"\n\
         analytic = {{ latency = \"{L} ns\", gap = \"{GAP} ns\", gap_per_byte = \"{G} ns/B\" }}\n\
         [nic]\nmessage_delay = \"0 ns\"\n\
         [mpi]\nsend_delay = \"{OS} ns\"\nsend_overhead = \"{OS} ns\"\nrecv_overhead = \"{OR} ns\"\neager_threshold = \"none\"\n{jobs}"
    )
}

fn folder(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("odonata-analytic-{name}-{}", std::process::id()));
    let _ = fs::remove_dir_all(&path);
    fs::create_dir(&path).unwrap();
    path
}

fn run_in(folder: &Path, text: &str, overrides: &[&str]) -> Results {
    finish(load_in(folder, text, overrides).unwrap_or_else(|error| panic!("{error}")))
}

/// The rows of a run that completes.
fn rows(text: &str) -> Rows {
    let results = run_in(Path::new("."), text, &[]);
    assert_eq!(*results.outcome(), Outcome::Completed);
    results.rows().clone()
}

fn elapsed_ns(rows: &Rows) -> f64 {
    rows.jobs[0].elapsed_s * 1e9
}

fn close(ours: f64, expected: f64) {
    // Times are whole picoseconds.
    assert!((ours - expected).abs() < 0.002, "{ours} ns; expected {expected} ns");
}

fn allreduce(ranks: u32, algorithm: &str, bytes: u64) -> String {
    text(&format!(
        "[[jobs]]\nranks = {ranks}\nplacement = \"random\"\n\
         workload.allreduce = {{ bytes = \"{bytes} B\", algorithm = \"{algorithm}\", iterations = 1 }}\n"
    ))
}

/// Time of a message of this size: alpha + beta (s - 1).
fn message(bytes: f64) -> f64 {
    OS + L + OR + (bytes - 1.0) * G
}

#[test]
fn an_all_reduce_by_recursive_doubling_takes_log_p_messages() {
    for (ranks, steps) in [(2, 1.0), (8, 3.0), (32, 5.0)] {
        for bytes in [8, 4096, 1 << 20] {
            let rows = rows(&allreduce(ranks, "recursive-doubling", bytes));
            close(elapsed_ns(&rows), steps * message(bytes as f64));
        }
    }
}

#[test]
fn an_all_reduce_around_a_ring_takes_two_p_minus_two_messages_of_a_share() {
    for ranks in [4, 16, 32] {
        let bytes = 1 << 20;
        let rows = rows(&allreduce(ranks, "ring", bytes));
        let share = bytes as f64 / f64::from(ranks);
        close(elapsed_ns(&rows), 2.0 * (f64::from(ranks) - 1.0) * message(share));
    }
}

const SCHEDULE: &str = "num_ranks 4
rank 0 { a: calc 500 b: send 100b to 1 tag 1 b requires a c: recv 40000b from 3 tag 2 d: send 8b to 2 d irequires c }
rank 1 { a: recv 100b from 0 tag 1 b: send 40000b to 2 tag 9 b requires a c: calc 70 cpu 1 c requires b }
rank 2 { a: recv 40000b from -1 tag 9 b: recv 8b from 0 c: send 40000b to 3 tag 3 c requires a c requires b }
rank 3 { a: recv 40000b from 2 tag 3 b: send 40000b to 0 tag 2 b requires a c: calc 5 c irequires b }
";

fn goal_job(folder: &Path) -> String {
    fs::write(folder.join("s.goal"), SCHEDULE).unwrap();
    let job = "[[jobs]]\ntrace = \"s.goal\"\nplacement = \"random\"\n";
    text(job).replace("eager_threshold = \"none\"", "eager_threshold = \"1 KiB\"")
}

#[test]
fn ranks_of_a_schedule_end_when_the_loggops_model_says() {
    let folder = folder("ends");
    let scenario = goal_job(&folder);
    let results = run_in(&folder, &scenario, &[]);
    assert_eq!(*results.outcome(), Outcome::Completed);
    let schedule = odonata_goal::text::read(SCHEDULE.as_bytes(), &|| false).unwrap();
    let params = odonata_workload::LogGops {
        latency: odonata_units::Time::from_ns(1000),
        send_overhead: odonata_units::Time::from_ns(100),
        recv_overhead: odonata_units::Time::from_ns(150),
        gap: odonata_units::Time::from_ns(40),
        gap_per_byte: odonata_units::PerByte(250.0),
        overhead_per_byte: odonata_units::PerByte(0.0),
        eager_threshold: 1024,
    };
    let outcome = odonata_goal::loggops::simulate(&schedule, &params, 1.0, &|| false).unwrap();
    let rows = results.rows();
    for (row, expected) in rows.ranks.iter().zip(&outcome.ranks) {
        close(row.elapsed_s * 1e9, expected.end.seconds() * 1e9);
    }
    let (sent, received): (u64, u64) = (
        rows.ranks.iter().map(|row| row.bytes_sent).sum(),
        rows.ranks.iter().map(|row| row.bytes_received).sum(),
    );
    assert_eq!((sent, received), (120_108, 120_108));
    fs::remove_dir_all(&folder).unwrap();
}

/// A job in the analytic model, beside one in packets.
#[test]
fn a_schedule_follows_the_loggops_model_beside_packets_too() {
    let folder = folder("beside");
    let whole = goal_job(&folder);
    let other =
        "[[jobs]]\nname = \"other\"\nranks = 8\nplacement = \"random\"\nworkload.alltoall = { bytes = \"64 KiB\" }\n";
    let mixed = whole
        .replace("fidelity = \"analytic\"\n", "")
        .replace("trace = \"s.goal\"\n", "trace = \"s.goal\"\nfidelity = \"analytic\"\n")
        + other;
    let ends = |text: &str| -> Vec<f64> {
        let results = run_in(&folder, text, &[]);
        assert_eq!(*results.outcome(), Outcome::Completed);
        let ranks = results.rows().ranks.iter().filter(|row| row.job != "other");
        ranks.map(|row| row.elapsed_s).collect()
    };
    assert_eq!(ends(&mixed), ends(&whole));
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_schedule_runs_in_packets_too_and_no_rank_ends_sooner_than_its_calculations() {
    let folder = folder("packets");
    let scenario = goal_job(&folder);
    let packets = scenario
        .lines()
        .filter(|line| !line.starts_with("analytic") && !line.starts_with("fidelity"));
    let packets = packets.collect::<Vec<_>>().join("\n");
    let mut digests = Vec::new();
    for overrides in [
        &["run.scheduler=\"sequential\""][..],
        &["run.scheduler=\"conservative\"", "run.threads=2", "run.parts=4"][..],
        &["run.scheduler=\"optimistic\"", "run.threads=2", "run.parts=4"][..],
    ] {
        let results = run_in(&folder, &packets, overrides);
        assert_eq!(*results.outcome(), Outcome::Completed, "{overrides:?}");
        let rows = results.rows();
        assert!(rows.ranks[0].elapsed_s > 500e-9);
        assert_eq!(rows.ranks.iter().map(|row| row.bytes_received).sum::<u64>(), 120_108);
        digests.push(results.digest().to_owned());
    }
    assert!(digests.iter().all(|digest| *digest == digests[0]), "{digests:?}");
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_schedule_that_waits_for_a_missing_message_fails_by_name() {
    let folder = folder("stuck");
    fs::write(
        folder.join("s.goal"),
        "num_ranks 2 rank 0 { calc 5 } rank 1 { recv 1b from 0 }",
    )
    .unwrap();
    let results = run_in(&folder, &text("[[jobs]]\ntrace = \"s.goal\"\n"), &[]);
    assert_eq!(*results.outcome(), Outcome::ProgramError);
    let json = results.run_json().to_string();
    assert!(json.contains("task 0 of rank 1"), "{json}");
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn storage_and_messages_have_one_digest_on_every_scheduler() {
    assert_one_digest("analytic", |overrides| {
        let results = run_in(Path::new("."), &text(JOBS), overrides);
        assert_eq!(*results.outcome(), Outcome::Completed, "{overrides:?}");
        results.digest().to_owned()
    });
}

#[test]
fn features_of_packets_are_refused() {
    let with =
        |more: &str| text("[[jobs]]\nranks = 2\nworkload.ping-pong = {}\n").replace("[nic]", &format!("{more}\n[nic]"));
    let refused = |text: &str| match scenario::load(text, "s.toml", &[], None, "") {
        Ok(_) => panic!("this should have been refused:\n{text}"),
        Err(error) => error.key,
    };
    let control = "congestion_control = { kind = \"ecn\", threshold = \"16 KiB\" }";
    assert_eq!(refused(&with(control)), "network.congestion_control");
    assert_eq!(
        refused(&with(
            "traffic_classes = [{ name = \"a\", share = 0.5 }, { name = \"b\", share = 0.5 }]"
        )),
        "network.traffic_classes"
    );
    assert_eq!(
        refused(&with("").replace("fidelity = \"analytic\"", "")),
        "network.analytic"
    );
    assert_eq!(
        refused(&with("").replace("latency = \"1000 ns\"", "latency = \"0 ns\"")),
        "network.analytic.latency"
    );
}

/// A NCCL collective on one channel with one chunk, on hosts of four GPUs.
fn nccl(ranks: u32, keys: &str, bytes: u64) -> String {
    text(&format!(
        "[[jobs]]\nranks = {ranks}\n\
         workload.nccl = {{ bytes = \"{bytes} B\", channels = 1, chunk = \"1 TiB\", gpus_per_host = 4, launch = \"2 us\", \
         step_latency = \"300 ns\", reduction = \"0.5 ns/B\", {keys} }}\n"
    ))
}

/// 2 (p - 1) (alpha + beta n / p) for an all-reduce, half of it for its two halves; the time of a step in addition to
/// its transfer is added to alpha, and for reductions, to beta (Patarasuk, Yuan, JPDC 69(2), 2009).
#[test]
fn rings_of_nccl_take_their_closed_forms() {
    let (launch, latency, reduction) = (2000.0, 300.0, 0.5);
    for ranks in [4_u32, 8, 32] {
        for bytes in [4096_u64, 1 << 20] {
            let block = (bytes / u64::from(ranks)) as f64;
            let around = f64::from(ranks - 1);
            let step = message(block) + latency;
            for (collective, expected) in [
                ("all-reduce", around * (2.0 * step + reduction * block)),
                ("all-gather", around * step),
                ("reduce-scatter", around * (step + reduction * block)),
            ] {
                let rows = rows(&nccl(ranks, &format!("collective = \"{collective}\""), bytes));
                close(elapsed_ns(&rows), launch + expected);
            }
        }
    }
}

/// Few bytes go by parallel aggregated trees in log2 p steps of 1, 2, 4 .. p / 2 blocks; blocks of a chunk and more, on more
/// than 8 ranks, in three such steps of 1, 2, 4 blocks, as A = 8, and p / 8 - 1 of 8 blocks. A step takes alpha + beta times
/// its bytes and the time of a step; a reduce-scatter also sums them.
#[test]
fn aggregated_trees_of_nccl_take_their_closed_forms() {
    let (launch, latency, reduction) = (2000.0, 300.0, 0.5);
    for ranks in [2_u32, 4, 8, 32] {
        let bytes = u64::from(ranks) * 1024;
        let block = 1024.0;
        for (chunk, steps) in [
            (
                "1 TiB",
                (0..ranks.ilog2()).map(|step| 1_u32 << step).collect::<Vec<_>>(),
            ),
            (
                "1024 B",
                match ranks {
                    32 => vec![1, 2, 4, 8, 8, 8],
                    _ => (0..ranks.ilog2()).map(|step| 1 << step).collect(),
                },
            ),
        ] {
            let sent: f64 = steps
                .iter()
                .map(|&blocks| message(f64::from(blocks) * block) + latency)
                .sum();
            let summed = f64::from(ranks - 1) * block * reduction;
            for (collective, expected) in [("all-gather", sent), ("reduce-scatter", sent + summed)] {
                let text = nccl(
                    ranks,
                    &format!("collective = \"{collective}\", algorithm = \"pat\""),
                    bytes,
                );
                let text = text
                    .replace("gpus_per_host = 4", "gpus_per_host = 1")
                    .replace("1 TiB", chunk);
                close(elapsed_ns(&rows(&text)), launch + expected);
            }
        }
    }
}

/// LL sends twice the bytes, LL128 128 for 120.
#[test]
fn protocols_of_nccl_cost_their_sent_bytes() {
    let (ranks, bytes) = (8, 8 * 12_000);
    for (protocol, wire) in [("simple", 12_000.0), ("ll", 24_000.0), ("ll128", 12_800.0)] {
        let rows = rows(&nccl(
            ranks,
            &format!("collective = \"all-gather\", protocol = \"{protocol}\""),
            bytes,
        ));
        close(elapsed_ns(&rows), 2000.0 + 7.0 * (message(wire) + 300.0));
    }
}

/// A broadcast of k chunks around p ranks: the first chunk takes p - 1 messages, each after the time of a step, and the
/// others follow one by one: an intermediate GPU sends one while it receives the next, each after a step and o of the
/// send, without the latency of the network. It handles the received chunk while it waits for its send to leave, so
/// that o of the receive costs no further time. The last rank has two more steps: that of its last chunk, and one
/// without a chunk.
#[test]
fn a_broadcast_of_nccl_is_pipelined_by_its_chunks() {
    let (ranks, chunk, latency) = (8, 16_384_u64, 300.0);
    for chunks in [1_u64, 4, 16] {
        let text = nccl(ranks, "collective = \"broadcast\"", chunks * chunk);
        let rows = rows(&text.replace("1 TiB", &format!("{chunk} B")));
        let first = f64::from(ranks - 1) * (message(chunk as f64) + latency);
        let others = (chunks - 1) as f64 * (message(chunk as f64) - L - OR + latency);
        close(elapsed_ns(&rows), 2000.0 + first + others + 2.0 * latency);
    }
}

/// A NCCL all-reduce over trees on one channel, with one GPU per host or with `gpus`.
fn by_trees(ranks: u32, gpus: u32, algorithm: &str, bytes: u64) -> String {
    nccl(ranks, &format!("algorithm = \"{algorithm}\""), bytes)
        .replace("gpus_per_host = 4", &format!("gpus_per_host = {gpus}"))
}

/// Two ranks, each the root of one tree with half of the vector, m bytes: up and down, 2 (alpha + beta m), with the
/// time of a step after each and the time of the reduction after the first.
#[test]
fn two_trees_of_two_ranks_take_their_closed_form() {
    let (launch, latency, reduction) = (2000.0, 300.0, 0.5);
    for bytes in [4096_u64, 1 << 20] {
        let half = (bytes / 2) as f64;
        let rows = rows(&by_trees(2, 1, "tree", bytes));
        let expected = 2.0 * (message(half) + latency) + reduction * half;
        close(elapsed_ns(&rows), launch + expected);
    }
}

/// k chunks of c bytes follow each other: the root reduces and sends each, one after the other, without the latency of
/// the network. Host overheads are almost zero, as ranks do this for one tree while they are leaves of the other.
#[test]
fn chunks_follow_each_other_up_and_down_a_tree() {
    let (launch, latency, reduction) = (2000.0, 300.0, 0.5);
    let (chunks, chunk) = (4_u64, 512_u64);
    let text = by_trees(2, 1, "tree", 2 * chunks * chunk)
        .replace("1 TiB", &format!("{chunk} B"))
        .replace(&format!("\"{OS} ns\""), "\"1 ns\"")
        .replace(&format!("\"{OR} ns\""), "\"0 ns\"");
    let rows = rows(&text);
    let (sent, summed) = (1.0 + (chunk - 1) as f64 * G, reduction * chunk as f64);
    let expected = 2.0 * (L + sent + latency) + summed + (chunks - 1) as f64 * (latency + summed + sent);
    close(elapsed_ns(&rows), launch + expected);
}

/// p GPUs of a host form a chain, in which both trees have one half of the vector each, m bytes: up p - 1 messages,
/// each reduced, and down as many; the other tree's message follows directly at every interface: beta m and the gap
/// later in all.
#[test]
fn a_tree_in_a_host_is_a_chain() {
    let (launch, latency, reduction) = (2000.0, 300.0, 0.5);
    for (ranks, bytes) in [(4_u32, 1_u64 << 20), (8, 1 << 16)] {
        let half = (bytes / 2) as f64;
        let rows = rows(&by_trees(ranks, ranks, "tree", bytes));
        let step = message(half) + latency;
        let around = f64::from(ranks - 1);
        let expected = around * (2.0 * step + reduction * half) + (half - 1.0) * G + GAP;
        close(elapsed_ns(&rows), launch + expected);
    }
}

/// In a host of g GPUs, n bytes take two exchanges of n (1 + 1 / g) / 2 from each GPU, in g - 1 messages one after the
/// other, without reduction at the GPUs. Both trees, which have half of it each, share the interfaces: a message of one
/// is sent while the other's is under way.
#[test]
fn switches_reduce_in_two_exchanges() {
    let (gpus, bytes) = (4_u32, 1_u64 << 20);
    let rows = rows(&by_trees(gpus, gpus, "nvls", bytes));
    let each = (bytes / 2) as f64 * (1.0 + 1.0 / f64::from(gpus)) / 2.0 / f64::from(gpus - 1);
    let sent = rows.ranks.iter().map(|row| row.bytes_sent).max().unwrap();
    assert!(sent >= (bytes as f64 * 1.25) as u64 && sent <= (bytes as f64 * 1.25) as u64 + 12);
    // 2 trees x 2 exchanges x (g - 1) messages are all on one interface: their bytes are a lower bound, which latencies
    // exceed by a few steps.
    let least = 12.0 * (each - 1.0) * G;
    let most = 2000.0 + least + 12.0 * (GAP + OS + OR) + 8.0 * (L + 300.0);
    assert!(
        (least..most).contains(&elapsed_ns(&rows)),
        "{} {least} {most}",
        elapsed_ns(&rows)
    );
}

/// Each of h hosts of one GPU sends n bytes once, whatever h is: both halves one after the other on its interface, and the
/// messages that wait for all hosts.
#[test]
fn switches_between_hosts_take_the_bytes_once() {
    let bytes = 1_u64 << 20;
    for hosts in [2_u32, 8, 32] {
        let rows = rows(&by_trees(hosts, 1, "collnet", bytes));
        assert!(rows.ranks.iter().all(|row| row.bytes_sent == bytes));
        let half = (bytes / 2) as f64;
        let least = 2000.0 + OS + 2.0 * (half - 1.0) * G + GAP + L + OR + 300.0;
        // Those to and from the first host are one after the other at its interface and its processor.
        let most = least + 2.0 * (OS + L + OR) + f64::from(hosts) * (OS + OR + 2.0 * GAP);
        assert!(
            (least..most).contains(&elapsed_ns(&rows)),
            "{hosts} hosts: {} {least} {most}",
            elapsed_ns(&rows)
        );
    }
}

#[test]
fn trees_of_nccl_have_one_digest_on_every_scheduler() {
    for algorithm in ["tree", "nvls", "collnet"] {
        assert_one_digest("nccl-trees", |overrides| {
            let text = by_trees(24, 4, algorithm, 300_000).replace("1 TiB", "20 kB");
            let results = run_in(Path::new("."), &text, overrides);
            assert_eq!(*results.outcome(), Outcome::Completed, "{overrides:?}");
            results.digest().to_owned()
        });
    }
}

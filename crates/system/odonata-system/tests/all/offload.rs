//! Collectives in network interfaces: closed forms of their trees under the LogGP model, and when they fall back.

use crate::common::completed as run;
use crate::everywhere::assert_one_digest;

/// In ns: latency of a message, overhead of the processor at each end, delay of an interface; per byte: gap.
const L: f64 = 700.0;
const O: f64 = 150.0;
const DELAY: f64 = 60.0;
const G: f64 = 0.25;
const RADIX: u32 = 3;

/// A job of `ranks` ranks; everything outside the model takes no time.
fn text(ranks: u32, workload: &str, keys: &str) -> String {
    format!(
        "[machine.dragonfly]\ngroups = 4\nrouters_per_group = 4\nnodes_per_router = 4\nglobal_ports_per_router = 1\n\
         [network]\nfidelity = \"analytic\"\nanalytic = {{ latency = \"{L} ns\", gap = \"0 ns\", gap_per_byte = \"{G} ns/B\" }}\n\
         [nic]\nmessage_delay = \"0 ns\"\n\
         [mpi]\nsend_delay = \"{O} ns\"\nsend_overhead = \"{O} ns\"\nrecv_overhead = \"{O} ns\"\neager_threshold = \"none\"\n\
         offload.radix = {RADIX}\noffload.delay = \"{DELAY} ns\"\noffload.up_to = \"1 KiB\"\n{keys}\n\
         [[jobs]]\nranks = {ranks}\nworkload.{workload}\n"
    )
}

fn elapsed_ns(text: &str) -> f64 {
    run(text, &[]).rows().jobs[0].elapsed_s * 1e9
}

/// 1 + k + ... + k^depth ranks: a full tree.
fn full_tree(depth: u32) -> u32 {
    (0..=depth).map(|level| RADIX.pow(level)).sum()
}

/// The leaves hand over, and see the end; on the way, 2 depth levels of messages and 2 depth - 1 delays of interfaces. The
/// messages of all children are one after the other at their parent's interface.
fn tree(depth: u32, bytes: f64) -> f64 {
    let (depth, radix) = (f64::from(depth), f64::from(RADIX));
    2.0 * O + 2.0 * depth * (L + radix * (bytes - 1.0).max(0.0) * G) + (2.0 * depth - 1.0) * DELAY
}

fn close(found: f64, expected: f64) {
    assert!((found - expected).abs() < 0.01, "{found} ns; expected {expected} ns");
}

#[test]
fn barriers_take_the_latency_of_their_tree() {
    for depth in [1, 2, 3] {
        let text = text(
            full_tree(depth),
            "barrier = { iterations = 1, algorithm = \"offload\" }",
            "",
        );
        close(elapsed_ns(&text), tree(depth, 0.0));
    }
}

#[test]
fn all_reduces_take_the_latency_and_the_bytes_of_their_tree() {
    for depth in [1, 2, 3] {
        for bytes in [8, 1024] {
            let allreduce = format!("allreduce = {{ bytes = \"{bytes} B\", algorithm = \"offload\", iterations = 1 }}");
            close(
                elapsed_ns(&text(full_tree(depth), &allreduce, "")),
                tree(depth, f64::from(bytes)),
            );
        }
    }
}

/// Vectors that are too long, and communicators without a tree, take the library's choice.
#[test]
fn what_the_interfaces_cannot_take_falls_back() {
    let by = |algorithm: &str, bytes: u32, keys: &str| {
        let allreduce = format!("allreduce = {{ bytes = \"{bytes} B\", algorithm = \"{algorithm}\", iterations = 1 }}");
        elapsed_ns(&text(40, &allreduce, keys))
    };
    assert_eq!(by("offload", 1025, ""), by("auto", 1025, ""));
    assert_ne!(by("offload", 1024, ""), by("auto", 1024, ""));
    assert!(by("offload", 8, "") < by("auto", 8, ""));
    assert_eq!(by("offload", 8, "offload.trees = 0"), by("auto", 8, ""));
    // The table names the algorithm, too.
    assert_eq!(
        by("auto", 8, "collectives.allreduce = \"offload\""),
        by("offload", 8, "")
    );
}

/// A non-blocking all-reduce goes on without the library, whose progress needs calls.
#[test]
fn interfaces_go_on_while_the_processor_computes() {
    let by = |algorithm: &str| {
        let allreduce = format!(
            "allreduce = {{ bytes = \"8 B\", algorithm = \"{algorithm}\", iterations = 1, overlap = true, compute = \"50 us\" }}"
        );
        elapsed_ns(&text(40, &allreduce, "progress = \"in-calls\""))
    };
    // Only the call of the leaves is exposed.
    close(by("offload"), 50_000.0 + O);
    assert!(by("recursive-doubling") > 50_000.0 + 2.0 * (L + O));
}

#[test]
fn trees_have_one_digest_on_every_scheduler() {
    let packets = text(
        40,
        "allreduce = { bytes = \"64 B\", algorithm = \"offload\", iterations = 5 }",
        "",
    )
    .replace("fidelity = \"analytic\"\nanalytic", "fidelity = \"packet\"\n#");
    assert_one_digest("offload", |overrides| run(&packets, overrides).digest().to_owned());
}

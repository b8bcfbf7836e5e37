//! Removal of files in scenarios: their space is free, and every byte has one state, on all tiers and schedulers.

use crate::common;

use odonata_system::results::Rows;
use odonata_system::{Outcome, Results};

/// 24 nodes on 12 routers in three groups.
const MACHINE: &str = r#"
[machine.dragonfly]
groups = 3
routers_per_group = 4
nodes_per_router = 2
global_ports_per_router = 1
"#;

/// Two buffers of 8 MiB each, with an index of their data.
const BUFFERS: &str = r#"
[storage]
nodes = { list = [0, 8] }
manager = { extents = true }
device = { capacity = "8 MiB", rate = { write = "1 GB/s", read = "1 GB/s", overhead = "0 s", seek = "0 s" } }
"#;

/// The same above I/O nodes and an external file system.
const CHAIN: &str = r#"
[storage]
nodes = { list = [0, 8] }
device = { capacity = "8 MiB", rate = { write = "1 GB/s", read = "1 GB/s", overhead = "0 s", seek = "0 s" } }
[[storage.tiers]]
name = "io"
nodes = { list = [16, 20] }
[storage.file_system]
object_servers = 4
bandwidth = "10 GB/s"
link = "10 GB/s"
latency = "10 us"
"#;

fn job(ranks: u32, workload: &str) -> String {
    format!("[[jobs]]\nname = \"a\"\nranks = {ranks}\nplacement = \"random\"\nworkload = {workload}\n")
}

fn run(storage: &str, job: &str, overrides: &[&str]) -> Results {
    let text = format!("{MACHINE}{storage}{job}");
    common::run(&text, overrides)
}

fn completed(storage: &str, job: &str, overrides: &[&str]) -> (Rows, String) {
    let results = run(storage, job, overrides);
    assert_eq!(
        *results.outcome(),
        Outcome::Completed,
        "{}",
        results.run_json()["detail"]
    );
    (results.rows().clone(), results.digest().to_string())
}

const MIB: u64 = 1 << 20;

/// Each of four repetitions writes 8 MiB to files of its own, the capacity of a buffer: with removals each repetition
/// has the space and the rate of the first one; without, the second one waits forever.
#[test]
fn a_full_buffer_takes_the_next_file_at_full_rate_when_one_is_removed() {
    let line = |more: &str| job(1, &format!("{{ ior = \"-w -F -m -i 4 -t 1m -b 8m {more}\" }}"));
    let (rows, _) = completed(BUFFERS, &line(""), &[]);
    let server = rows.servers.iter().find(|server| server.bytes_written > 0).unwrap();
    assert_eq!((server.removed_bytes, server.peak_used_bytes), (32 * MIB, 8 * MIB));
    assert_eq!((rows.jobs[0].io_removed_bytes, server.wait_space_s), (32 * MIB, 0.0));
    let writes: Vec<_> = rows.ior.iter().filter(|row| row.access == "write").collect();
    for row in &writes {
        assert!((row.bandwidth_bytes_per_s / writes[0].bandwidth_bytes_per_s - 1.0).abs() < 1e-3);
        // 8 MiB at 1 GB/s, and the network time of each MiB, which waits for the one before: at 5.25 GB/s less than a
        // fifth more.
        let longer = row.access_s / 8.388_608e-3;
        assert!(longer > 1.0 && longer < 1.2, "{}", row.access_s);
    }
    let removals: Vec<_> = rows.ior.iter().filter(|row| row.access == "remove").collect();
    assert_eq!((writes.len(), removals.len()), (4, 4));
    for (removal, write) in removals.iter().zip(&writes) {
        assert!(removal.total_s > 0.0 && removal.start_s >= write.start_s + write.total_s - 1e-12);
    }
    assert_eq!(*run(BUFFERS, &line("-k"), &[]).outcome(), Outcome::StorageFull);
}

#[test]
fn kept_files_stay_and_have_no_row_in_the_report() {
    for line in ["-w -r -k -i 2 -E -t 256k -b 1m", "-w -r -k -i 2 -m -t 256k -b 1m"] {
        let (rows, _) = completed(BUFFERS, &job(4, &format!("{{ ior = \"{line}\" }}")), &[]);
        assert!(rows.ior.iter().all(|row| row.access != "remove"), "{line}");
        assert_eq!(rows.jobs[0].io_removed_bytes, 0, "{line}");
    }
    // Kept, and removed before they are rewritten: the files of all repetitions except the last.
    let line = "{ ior = \"-w -k -i 3 -t 256k -b 1m\" }";
    let (rows, _) = completed(BUFFERS, &job(4, line), &[]);
    assert_eq!(rows.jobs[0].io_removed_bytes, 2 * 4 * MIB);
}

/// A file that several nodes have written to servers of their own is removed from all of them by one task, and a
/// striped one from the servers that have some.
#[test]
fn one_task_removes_the_files_of_all() {
    for layout in ["assigned", "hash"] {
        let layout = format!("storage.layout={layout:?}");
        let line = job(8, "{ ior = \"-w -t 256k -b 1m\" }");
        let (rows, _) = completed(BUFFERS, &line, &[&layout, "storage.device.capacity=\"64 MiB\""]);
        assert_eq!(rows.jobs[0].io_removed_bytes, 8 * MIB, "{layout}");
        let written: Vec<_> = rows.servers.iter().map(|server| server.bytes_written).collect();
        let removed: Vec<_> = rows.servers.iter().map(|server| server.removed_bytes).collect();
        assert_eq!(written, removed, "{layout}");
    }
}

/// Without an index the owner of bytes is unknown: the removal costs the time of the metadata server, and frees
/// nothing.
#[test]
fn servers_without_an_index_are_not_asked() {
    let plain = BUFFERS.replace("extents = true", "extents = false");
    let (rows, _) = completed(&plain, &job(2, "{ ior = \"-w -t 256k -b 1m\" }"), &[]);
    assert_eq!((rows.jobs[0].io_removed_bytes, rows.servers[0].removed_bytes), (0, 0));
    let metadata = "storage.metadata.nodes.list=[23]";
    let (rows, _) = completed(&plain, &job(2, "{ ior = \"-w -t 256k -b 1m\" }"), &[metadata]);
    assert_eq!(rows.metadata[0].unlinks, 1);
}

/// mdtest writes 3 KiB to each of its files, and removes all: n per directory and task.
#[test]
fn mdtest_removes_its_files() {
    let line = job(4, "{ mdtest = \"-n 6 -F -w 3k -i 2\" }");
    let (rows, _) = completed(BUFFERS, &line, &["storage.metadata.nodes.list=[23]"]);
    let written: u64 = rows.servers.iter().map(|server| server.bytes_written).sum();
    assert_eq!(written, 4 * 6 * 2 * 3 * 1024);
    assert_eq!(rows.jobs[0].io_removed_bytes, written);
}

/// Buffers, I/O nodes and a file system: the job's data are removed in each tier, whatever its policies are, and the
/// digest is the same on every scheduler.
#[test]
fn every_byte_has_one_state_in_every_tier_on_every_scheduler() {
    let line = job(6, "{ ior = \"-w -r -F -C -i 2 -t 256k -b 2m\" }");
    let policies: [&[&str]; 4] = [
        &[],
        &["storage.policy.write=\"through\"", "storage.policy.read=\"cache\""],
        &["storage.policy.keep=true", "storage.tiers.0.policy.write=\"back\""],
        &[
            "storage.policy.drain=\"job-end\"",
            "storage.manager.acknowledge=\"memory\"",
        ],
    ];
    for policy in policies {
        let of = |more: &[&str]| completed(CHAIN, &line, &[policy, more].concat());
        let (rows, digest) = of(&[]);
        for row in &rows.tiers {
            let stored = row.alone_bytes + row.leaving_bytes + row.clean_bytes;
            let places = row.overwritten_bytes + row.lost_bytes + row.removed_bytes + stored + row.below_bytes;
            assert_eq!(row.received_bytes + row.input_bytes, places, "{policy:?}: {row:?}");
            assert_eq!(stored, 0, "{policy:?}: {row:?}");
        }
        let first = &rows.tiers[0];
        // Inputs are data of another task's file that a task has read through its own server.
        let got = first.received_bytes + first.input_bytes;
        assert_eq!(
            (first.received_bytes, first.removed_bytes),
            (24 * MIB, got),
            "{policy:?}"
        );
        for schedule in [
            &["run.scheduler=\"sequential\"", "run.parts=5"][..],
            &["run.scheduler=\"conservative\"", "run.parts=4", "run.threads=2"],
            &["run.scheduler=\"optimistic\"", "run.parts=4", "run.threads=2"],
        ] {
            assert_eq!(of(schedule).1, digest, "{policy:?} {schedule:?}");
        }
    }
}

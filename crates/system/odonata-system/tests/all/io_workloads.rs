//! IOR, checkpoint and restart, and training with a data loader: their tables against closed forms.

use crate::common::finish;

use odonata_system::results::{CheckpointRestartRow, DataLoaderRow, IorRow, Rows};
use odonata_system::{Outcome, scenario};

/// One group, 8 routers of 4 nodes; links are fast, so that the tested part is the slowest.
const MACHINE: &str = r#"
[machine.dragonfly]
groups = 1
routers_per_group = 8
nodes_per_router = 4
global_ports_per_router = 0
[network]
packet = "4 KiB"
"#;

/// This many servers with devices that write and read at `rate`, without overhead.
fn storage(servers: u32, rate: &str, more: &str) -> String {
    format!(
        "[storage]\nnodes = {{ per_group = {servers} }}\n{more}\ndevice = {{ capacity = \"1 TB\", \
         rate = {{ write = \"{rate}\", read = \"{rate}\", overhead = \"0 s\" }} }}\n"
    )
}

fn job(ranks: u32, workload: &str) -> String {
    format!("[[jobs]]\nname = \"a\"\nranks = {ranks}\nworkload = {workload}\n")
}

fn load(text: &str) -> Result<scenario::Scenario, scenario::InputError> {
    scenario::load(text, "io.toml", &[], None, ".")
}

fn finished(text: &str) -> (Rows, String) {
    let results = finish(load(text).unwrap_or_else(|error| panic!("{error}\n{text}")));
    assert_eq!(*results.outcome(), Outcome::Completed, "{text}");
    (results.rows().clone(), results.digest().to_string())
}

fn ior(storage: &str, ranks: u32, workload: &str) -> Vec<IorRow> {
    let rows = finished(&format!("{MACHINE}{storage}{}", job(ranks, workload))).0.ior;
    rows.into_iter().filter(|row| row.access != "remove").collect()
}

fn near(found: f64, expected: f64, share: f64) {
    assert!(
        (found / expected - 1.0).abs() < share,
        "{found}, expected {expected} within {share}"
    );
}

/// One task, one server: 16 transfers of 1 MB at 100 MB/s take 0.16 s, each of which waits for the one before.
#[test]
fn one_task_has_the_rate_of_its_device() {
    let line = r#"{ ior = "-w -r -t 1000000 -b 8000000 -s 2 -F -i 2" }"#;
    let rows = ior(&storage(1, "100 MB/s", ""), 1, line);
    let found: Vec<_> = rows.iter().map(|row| (row.access, row.repetition)).collect();
    assert_eq!(found, [("write", 0), ("read", 0), ("write", 1), ("read", 1)]);
    for row in &rows {
        assert_eq!((row.bytes, row.tasks, row.transfer_bytes), (16_000_000, 1, 1_000_000));
        near(row.bandwidth_bytes_per_s, 100e6, 0.01);
        near(row.total_s, 0.16, 0.01);
        near(row.operations_per_s, 100.0, 0.01);
        near(row.latency_s, 0.01, 0.01);
        assert!(row.open_s + row.access_s + row.close_s <= row.total_s * (1.0 + 1e-9));
    }
}

/// Four nodes with an injection rate of 2.0 GB/s write at 8.0 GB/s to faster devices, on four routers. If all servers
/// are on one router and all nodes on another, the local link between the two is the bottleneck: 5.25 GiB/s.
#[test]
fn nodes_are_bound_by_their_injection_and_then_by_local_links() {
    let nic = "[nic]\nrates = { compute = \"2 GB/s\" }\n";
    let on_one_router = storage(4, "50 GB/s", "assignment = \"round-robin\"");
    let apart = on_one_router.replace("per_group = 4", "list = [0, 4, 8, 12]");
    let line = r#"{ ior = "-w -t 16000000 -b 64000000 -F" }"#;
    let cases = [
        (&apart, 1, 2e9),
        (&apart, 4, 8e9),
        (&on_one_router, 1, 2e9),
        (&on_one_router, 4, 5.25 * 1.073_741_824e9),
    ];
    for (storage, ranks, expected) in cases {
        let text = format!("{MACHINE}{nic}{storage}{}", job(ranks, line));
        near(finished(&text).0.ior[0].bandwidth_bytes_per_s, expected, 0.03);
    }
}

/// Sixteen nodes on two servers of 1 GB/s have 2 GB/s, however many more nodes there are.
#[test]
fn many_nodes_are_capped_by_the_devices() {
    let storage = storage(2, "1 GB/s", "assignment = \"round-robin\"");
    for ranks in [4, 16] {
        let rows = ior(&storage, ranks, r#"{ ior = "-w -t 1m -b 4m -F" }"#);
        near(rows[0].bandwidth_bytes_per_s, 2e9, 0.02);
    }
}

/// In a shared file whose tasks take turns (N-1 strided), transfers shorter than the lock granularity wait for locks of
/// other nodes; blocks of that size, and separate files (N-N), do not wait.
#[test]
fn a_strided_file_waits_for_locks_and_files_of_their_own_do_not() {
    let storage = storage(
        2,
        "5 GB/s",
        "layout = { striped = { stripe = \"1 MiB\" } }\nlocks = { granularity = \"1 MiB\", revocation = \"200 us\" }",
    );
    let bandwidth = |line: &str| {
        let rows = ior(&storage, 8, &format!("{{ ior = \"{line}\" }}"));
        rows[0].bandwidth_bytes_per_s
    };
    let own_files = bandwidth("-w -F -t 64k -b 4m");
    let segmented = bandwidth("-w -t 64k -b 4m");
    let strided = bandwidth("-w -t 64k -b 64k -s 64");
    assert!(segmented > 0.8 * own_files, "{segmented} {own_files}");
    assert!(strided < own_files / 2.0, "{strided} {own_files}");
    // Without locks it is not slower: the locks are the reason.
    let unlocked = storage.replace("locks = { granularity = \"1 MiB\", revocation = \"200 us\" }", "");
    let rows = ior(&unlocked, 8, r#"{ ior = "-w -t 64k -b 64k -s 64" }"#);
    assert!(rows[0].bandwidth_bytes_per_s > 0.8 * own_files);
}

/// Each access of each test in a list has a row; with -D tasks stop at the deadline, and the data they moved count.
#[test]
fn tests_in_a_list_and_a_deadline_are_reported() {
    let list = r#"[{ ior = "-w -t 1m -b 4m" }, { compute = {} }, { ior = "-r -t 1m -b 1000m -D 1" }]"#;
    let rows = ior(&storage(1, "100 MB/s", ""), 2, list);
    let found: Vec<_> = rows.iter().map(|row| (row.test, row.access)).collect();
    assert_eq!(found, [(0, "write"), (2, "read")]);
    assert_eq!(rows[0].bytes, 8 << 20);
    // 1 s at 100 MB/s, and one more transfer of each of the two tasks.
    near(rows[1].bytes as f64, 1e8, 0.03);
    assert!(rows[1].total_s > 1.0 && rows[1].total_s < 1.04);
}

/// Servers that read twice as fast as they write.
fn fast_reads(servers: u32) -> String {
    storage(servers, "100 MB/s", "").replace("read = \"100 MB/s\"", "read = \"200 MB/s\"")
}

/// A read after a write with a deadline covers what was written, not what the deadline leaves time for: at twice the
/// rate the read takes half of the second.
#[test]
fn a_read_after_a_deadline_covers_the_written_data() {
    let rows = ior(&fast_reads(1), 2, r#"{ ior = "-w -r -t 1m -b 1g -F -D 1" }"#);
    near(rows[0].bytes as f64, 1e8, 0.03);
    assert_eq!(rows[1].bytes, rows[0].bytes);
    near(rows[1].total_s, rows[1].bytes as f64 / 200e6, 0.02);
}

/// Three tasks on two servers of 100 MB/s, two of them on one: with the deadline of 1 s they write 1, 1/2 and 1/2 of
/// 1e8 B. With wear-out, each has 1e8 B in the end, and the two on one server take 2 s for it.
#[test]
fn wearing_out_brings_all_tasks_to_the_transfers_of_the_first() {
    let servers = storage(2, "100 MB/s", "assignment = \"round-robin\"");
    let one = 1e8;
    let stopped = ior(&servers, 3, r#"{ ior = "-w -t 1m -b 1g -F -D 1" }"#);
    near(stopped[0].bytes as f64, 2.0 * one, 0.04);
    near(stopped[0].total_s, 1.0, 0.04);
    let line = r#"{ ior = "-w -t 1m -b 1g -F -D 1 -O stoneWallingWearOut=1" }"#;
    let worn_out = ior(&servers, 3, line);
    near(worn_out[0].bytes as f64, 3.0 * one, 0.04);
    assert_eq!(worn_out[0].bytes % (3 << 20), 0, "as many transfers of each");
    near(worn_out[0].total_s, 2.0, 0.04);
}

/// As in IO500: a later test reads as many transfers of each task as the status file contains, from the same files.
#[test]
fn a_status_file_tells_a_later_read_how_much_there_is() {
    let status = "-k -F -t 1m -b 1g -O stoneWallingStatusFile=easy";
    let list = format!(
        r#"[{{ ior = "-w -D 1 {status},stoneWallingWearOut=1" }}, {{ compute = {{}} }}, {{ ior = "-r {status}" }}]"#
    );
    let rows = ior(&fast_reads(2), 3, &list);
    let found: Vec<_> = rows.iter().map(|row| (row.test, row.access)).collect();
    assert_eq!(found, [(0, "write"), (2, "read")]);
    assert_eq!((rows[1].bytes, rows[0].bytes % (3 << 20)), (rows[0].bytes, 0));
    assert!(rows[0].bytes < 3 << 30);
    // Schedulers agree on results that depend on the clock and on messages.
    let text = format!("{MACHINE}{}{}", fast_reads(2), job(3, &list));
    let sequential = finished(&text).1;
    let parallel = finished(&format!(
        "{text}[run]\nscheduler = \"optimistic\"\nthreads = 2\nparts = 2\n"
    ))
    .1;
    assert_eq!(sequential, parallel);
}

/// Tests with the same -o have the same files; tests with different -o have different files.
#[test]
fn tests_of_a_list_share_the_files_of_one_name() {
    use odonata_workload::{OpKind, operations};
    let list = r#"[{ ior = "-w -k -t 1m -b 1m -F" }, { ior = "-w -k -o other -t 1m -b 1m -F" }, { ior = "-r -t 1m -b 1m -F" }]"#;
    let loaded = load(&format!("{MACHINE}{}{}", storage(1, "100 MB/s", ""), job(2, list))).unwrap();
    let program = loaded.resolved.jobs[0].program().unwrap().unwrap();
    let of_rank = |rank| -> Vec<u64> {
        let files = operations(&*program, rank).filter_map(|op| match op.kind {
            OpKind::Write { file, .. } | OpKind::Read { file, .. } => Some(file),
            _ => None,
        });
        files.collect()
    };
    for rank in 0..2 {
        let [first, other, read] = of_rank(rank)[..] else {
            panic!()
        };
        assert_eq!(read, first);
        assert_ne!(other, first);
    }
}

/// The collective write of a shared file moves every byte through one task per node and has the rate of the device.
#[test]
fn collective_transfers_reach_the_rate_of_the_device() {
    let text = format!(
        "{MACHINE}{}{}ranks_per_node = 4\n",
        storage(1, "200 MB/s", ""),
        job(8, r#"{ ior = "-w -r -a MPIIO -c -t 1m -b 4m" }"#)
    );
    for row in finished(&text).0.ior.iter().filter(|row| row.access != "remove") {
        assert_eq!(row.bytes, 32 << 20);
        near(row.bandwidth_bytes_per_s, 200e6, 0.05);
    }
}

/// time to solution = work + checkpoints + lost work + lost checkpoints + restarts + lost restarts.
fn is_the_sum_of_its_parts(row: &CheckpointRestartRow) {
    let parts = [
        row.work_s,
        row.checkpoints_s,
        row.lost_work_s,
        row.lost_checkpoints_s,
        row.restarts_s,
        row.lost_restarts_s,
    ];
    near(row.time_to_solution_s, parts.iter().sum(), 1e-3);
}

/// A job of 4 s of work with failures every second: the parts add up to the time to solution, and the mean is close to
/// Daly's formula.
#[test]
fn the_time_to_solution_is_the_sum_of_its_parts() {
    let workload = r#"{ checkpoint-restart = { work = "4 s", mtti = "1 s", total = "4 MB", record = "100 kB", restart = "20 ms" } }"#;
    let text = format!("{MACHINE}{}{}", storage(1, "200 MB/s", ""), job(4, workload));
    let (rows, digest) = finished(&text);
    let [row] = &rows.checkpoint_restart[..] else {
        panic!("{:?}", rows.checkpoint_restart)
    };
    assert_eq!((row.solved, row.restarts > 0), (1, true));
    // 4 MB at 200 MB/s.
    near(row.checkpoint_mean_s, 0.02, 0.05);
    near(row.interval_s, row.optimum_higher_order_s, 0.02);
    is_the_sum_of_its_parts(row);
    near(row.time_to_solution_s, row.expected_s, 0.3);
    assert_eq!(rows.jobs[0].bytes_read > 0, row.restarts > 0);
    // The seed decides.
    let other = finished(&format!("seed = 99\n{text}")).1;
    assert_ne!(digest, other);
    assert_eq!(digest, finished(&text).1);
}

/// A server that comes back empty every 300 ms loses checkpoints: restarts read what survived, and lost work is
/// repeated. If the buffers drain at once, everything survives, whether the server comes back or not.
#[test]
fn a_restart_uses_an_older_checkpoint_if_a_server_lost_the_last() {
    let of = |seed: u32, storage: &str| {
        let workload = r#"{ checkpoint-restart = { work = "2 s", mtti = "500 ms", total = "4 MB", record = "100 kB", restart = "20 ms", interval = "100 ms" } }"#;
        let text = format!("seed = {seed}\n{MACHINE}{storage}{}", job(4, workload));
        let (rows, _) = finished(&text);
        let row = &rows.checkpoint_restart[0];
        is_the_sum_of_its_parts(row);
        assert_eq!(row.solved, 1);
        (row.unreadable_checkpoints, rows.jobs[0].io_lost_reads_bytes)
    };
    let client = "client = { timeout = \"60 ms\", retries = 1, on_failure = \"re-route\" }\n";
    let away = |at: u32, more: &str| format!("{{ server = 0, at = \"{at} ms\", kind = \"fail\"{more} }}");
    let often: Vec<_> = (1..20).map(|n| away(300 * n, ", duration = \"1 ms\"")).collect();
    let often = format!("{client}faults = [{}]\n", often.join(", "));
    let for_good = format!("{client}faults = [{}]\n", away(700, ""));
    let below =
        "[storage.file_system]\nobject_servers = 2\nbandwidth = \"10 GB/s\"\nlink = \"10 GB/s\"\nlatency = \"10 us\"\n";
    let mut lost = (0, 0);
    for seed in 1..4 {
        let (unreadable, bytes) = of(seed, &storage(2, "200 MB/s", &often));
        lost = (lost.0 + unreadable, lost.1 + bytes);
        for faults in [&often, &for_good] {
            let drained = format!("{}{below}", storage(2, "200 MB/s", faults));
            assert_eq!(of(seed, &drained), (0, 0), "seed {seed}: {faults}");
        }
    }
    assert!(lost.0 > 0 && lost.1 > 0, "{lost:?}");
}

fn steps(keys: &str) -> Vec<DataLoaderRow> {
    let workload = format!(
        "{{ data-loader = {{ files = 4, samples_per_file = 16, sample = \"1 MB\", batch = 2, steps = 12, gradient = \"0 B\", {keys} }} }}"
    );
    finished(&format!("{MACHINE}{}{}", storage(1, "100 MB/s", ""), job(1, &workload)))
        .0
        .data_loader
}

/// A batch of 2 MB takes 20 ms at 100 MB/s. With prefetched batches a step takes the longer of that and its
/// computation; without, the sum of both.
#[test]
fn a_step_takes_the_longer_of_reading_and_computing() {
    let mean = |rows: &[DataLoaderRow], value: fn(&DataLoaderRow) -> f64| {
        // After the first steps, before which nothing was prefetched.
        let rows = &rows[4..];
        rows.iter().map(value).sum::<f64>() / rows.len() as f64
    };
    for (compute_s, expected, stall) in [(0.005, 0.020, 0.015), (0.050, 0.050, 0.0)] {
        let rows = steps(&format!("prefetch = 3, readers = 1, compute = \"{compute_s} s\""));
        assert_eq!(rows.len(), 12);
        near(mean(&rows, |row| row.step_s), expected, 0.03);
        assert!((mean(&rows, |row| row.stall_mean_s) - stall).abs() < 0.001);
    }
    let rows = steps("prefetch = 0, readers = 1, compute = \"50 ms\"");
    near(mean(&rows, |row| row.step_s), 0.070, 0.03);
    near(mean(&rows, |row| row.stall_mean_s), 0.020, 0.03);
    // The first batch always has to be waited for.
    near(
        steps("prefetch = 3, readers = 1, compute = \"50 ms\"")[0].stall_mean_s,
        0.020,
        0.05,
    );
}

/// One reader reads one sample at a time; where accesses have latency, several readers of several batches hide it.
#[test]
fn more_readers_hide_the_latency_of_a_read() {
    let time = |readers: u32| {
        let workload = format!(
            "{{ data-loader = {{ samples_per_file = 64, sample = \"10 kB\", batch = 4, steps = 20, gradient = \"8 B\", \
             prefetch = 8, readers = {readers}, compute = \"1 us\" }} }}"
        );
        let text = format!(
            "{MACHINE}[storage]\nnodes = {{ per_group = 1 }}\ndevice = {{ nvme = {{}} }}\n{}",
            job(4, &workload)
        );
        finished(&text).0.jobs[0].elapsed_s
    };
    let (one, four) = (time(1), time(4));
    assert!(one > 1.5 * four, "{one} {four}");
}

#[test]
fn every_scheduler_has_the_same_results() {
    let workloads = [
        r#"[{ ior = "-w -r -t 64k -b 128k -z -e -C -i 2 -F" }, { ior = "-w -a MPIIO -c -t 64k -b 64k -D 0" }]"#,
        r#"{ checkpoint-restart = { work = "20 ms", mtti = "10 ms", total = "1 MB", record = "50 kB", restart = "100 us" } }"#,
        r#"{ data-loader = { files = 4, samples_per_file = 32, sample = "20 kB", batch = 2, epochs = 2, reopen = true, compute = "50 us", gradient = "100 kB" } }"#,
    ];
    let machine = MACHINE
        .replace("groups = 1", "groups = 3")
        .replace("global_ports_per_router = 0", "global_ports_per_router = 1");
    for workload in workloads {
        let text = format!(
            "{machine}{}{}placement = \"random\"\n",
            storage(1, "1 GB/s", ""),
            job(8, workload)
        );
        let digest = finished(&text).1;
        for run in [
            "scheduler = \"conservative\"\nthreads = 2\nparts = 3",
            "scheduler = \"optimistic\"\nthreads = 2\nparts = 3",
        ] {
            assert_eq!(
                finished(&format!("{text}[run]\n{run}\n")).1,
                digest,
                "{workload}, {run}"
            );
        }
    }
}

/// Key and message.
fn refused(workload: &str) -> (String, String) {
    let text = format!("{MACHINE}{}{}", storage(1, "1 GB/s", ""), job(4, workload));
    let error = load(&text)
        .err()
        .unwrap_or_else(|| panic!("{workload} should have been refused"));
    (error.key.clone(), error.to_string())
}

#[test]
fn mistakes_name_their_key_and_the_likely_intention() {
    let (key, text) = refused(r#"{ ior = "-w -L" }"#);
    assert_eq!(key, "jobs.0.workload.ior");
    assert!(text.contains("did you mean -l (dataPacketType)?"), "{text}");
    let (key, text) = refused("{ ior = { transfersize = \"1 MiB\" } }");
    assert_eq!(key, "jobs.0.workload.ior.transfersize");
    assert!(text.contains("transferSize"), "{text}");
    assert_eq!(refused("{ ior = 3 }").0, "jobs.0.workload.ior");
    assert_eq!(refused(r#"{ ior = "-t 3k -b 4k" }"#).0, "jobs.0.workload.ior.blockSize");
    let (key, text) = refused("[{ data-loader = {} }, { checkpoint-restart = {} }]");
    assert_eq!(key, "jobs.0.workload");
    assert!(text.contains("reads ahead"), "{text}");
    let without = format!("{MACHINE}{}", job(4, r#"{ ior = "-w" }"#));
    assert!(load(&without).err().unwrap().to_string().contains("no servers"));
}

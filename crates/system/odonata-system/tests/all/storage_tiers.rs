//! Tiers of storage servers in scenarios: how fast a tier drains, the owners of its blocks, conservation of bytes, and
//! what is refused.

use crate::common;

use odonata_system::results::{Rows, TierRow};
use odonata_system::{Outcome, Results, scenario};

/// 24 nodes: buffers on nodes 0 and 8, I/O nodes on 16 and 20.
const MACHINE: &str = r#"
[machine.dragonfly]
groups = 3
routers_per_group = 4
nodes_per_router = 2
global_ports_per_router = 1
"#;

const CHAIN: &str = r#"
[storage]
nodes = { list = [0, 8] }
device = { capacity = "10 GB", rate = { write = "50 GB/s", read = "50 GB/s", overhead = "0 s", seek = "0 s" } }
[[storage.tiers]]
name = "io"
nodes = { list = [16, 20] }
[storage.file_system]
object_servers = 4
bandwidth = "10 GB/s"
link = "10 GB/s"
latency = "10 us"
"#;

const SAVER: &str = r#"
[[jobs]]
name = "saver"
ranks = 8
placement = "random"
workload = { checkpoint = { iterations = 1, total = "64 MB", interval = "1 ms" } }
"#;

fn load(text: &str, overrides: &[&str]) -> Result<scenario::Scenario, scenario::InputError> {
    common::load(&format!("{MACHINE}{text}"), overrides)
}

fn finish(text: &str, overrides: &[&str]) -> Results {
    common::finish(load(text, overrides).unwrap_or_else(|error| panic!("{error}\n{text}")))
}

fn run(text: &str, overrides: &[&str]) -> Rows {
    let results = finish(text, overrides);
    assert_eq!(
        *results.outcome(),
        Outcome::Completed,
        "{}",
        results.run_json()["detail"]
    );
    let rows = results.rows().clone();
    conserved(&rows);
    rows
}

/// Every byte that a tier has received is in one place, and the next one has received what it has sent.
fn conserved(rows: &Rows) {
    for row in &rows.tiers {
        let places = [
            row.overwritten_bytes,
            row.lost_bytes,
            row.removed_bytes,
            row.alone_bytes,
            row.leaving_bytes,
            row.clean_bytes,
            row.below_bytes,
        ];
        let got = row.received_bytes + row.input_bytes;
        assert_eq!(got, places.iter().sum::<u64>(), "{row:?}");
        let next = |other: &&TierRow| other.level == row.level + 1 && other.job == row.job;
        let below = rows.tiers.iter().find(next).map_or(0, |below| below.received_bytes);
        assert_eq!(row.sent_bytes, below, "{row:?}");
    }
}

fn tier<'a>(rows: &'a Rows, name: &str) -> &'a TierRow {
    rows.tiers
        .iter()
        .find(|row| row.tier == name)
        .unwrap_or_else(|| panic!("no tier {name}: {:?}", rows.tiers))
}

/// A buffer drains at the lowest of the rates of its device, its interface, the I/O node's link and the object servers,
/// whichever it is: B bytes in B / rate, and the network time of the first and the last blocks.
#[test]
fn a_tier_drains_at_the_least_rate_of_the_chain() {
    let one = [
        "storage.nodes.list=[0]",
        "storage.tiers.0.nodes.list=[16]",
        "storage.file_system.object_servers=2",
        "storage.policy.blocks_in_flight=16",
    ];
    let cases: [(&[&str], f64); 5] = [
        (&["storage.device.rate.read=\"500 MB/s\""], 0.5e9),
        (&["nic.rates.storage=\"400 MB/s\""], 0.4e9),
        (&["storage.file_system.link=\"300 MB/s\""], 0.3e9),
        // Two object servers.
        (&["storage.file_system.bandwidth=\"100 MB/s\""], 0.2e9),
        (
            &[
                "storage.file_system.bandwidth=\"100 MB/s\"",
                "storage.file_system.object_servers=1",
            ],
            0.1e9,
        ),
    ];
    for (case, rate) in cases {
        let rows = run(&format!("{CHAIN}{SAVER}"), &[&one[..], case].concat());
        let first = tier(&rows, "storage");
        let (bytes, time) = (first.sent_bytes as f64, first.last_safe_s - first.first_left_s);
        assert_eq!(first.sent_bytes, 64_000_000);
        let ratio = time * rate / bytes;
        assert!((0.99..1.06).contains(&ratio), "{case:?}: {ratio}");
    }
}

/// Blocks one by one through one I/O node, whose object servers take equally long. If one of two is down permanently,
/// the I/O node detects that once, in `(1 + retries) timeout + (2^retries - 1) backoff`, and uses only the other from
/// then on: the last byte is safe by that much later, however many blocks there are.
#[test]
fn failed_object_servers_cost_the_detection_time() {
    let chain = [
        "storage.nodes.list=[0]",
        "storage.tiers.0.nodes.list=[16]",
        "storage.file_system.object_servers=2",
        "storage.policy.blocks_in_flight=1",
        "storage.policy.drain=\"job-end\"",
        "storage.client={ timeout = \"200 ms\", retries = 2, backoff = \"3 ms\", on_failure = \"re-route\" }",
    ];
    let sound = run(&format!("{CHAIN}{SAVER}"), &chain);
    let stored = |rows: &Rows| -> Vec<u64> {
        let servers = rows.servers.iter().filter(|server| server.tier == "file-system");
        servers.map(|server| server.bytes_written).collect()
    };
    assert!(stored(&sound).iter().all(|&bytes| bytes > 0), "both are used");
    let fails = "storage.faults=[{ server = 2, at = \"0 s\", kind = \"fail\" }]";
    let rows = run(&format!("{CHAIN}{SAVER}"), &[&chain[..], &[fails]].concat());
    assert_eq!(stored(&rows), [0, 64_000_000]);
    let found_out = 3.0 * 0.2 + 3.0 * 0.003;
    let late = tier(&rows, "storage").last_safe_s - tier(&sound, "storage").last_safe_s;
    assert!((late - found_out).abs() < 1e-9, "{late}");
    let job = &rows.jobs[0];
    assert_eq!((job.io_timeouts, job.io_retries, job.io_lost_bytes), (3, 2, 0));
    assert_eq!(job.io_rerouted_bytes, stored(&sound)[0]);
    // No other component has a timeout: the buffer accounts for the longer time.
    assert!(rows.servers[..2].iter().all(|server| server.timeouts == 0));
}

/// Everything is safe in the file system; then an object server fails and comes back empty: its data are lost, and
/// everything written is either lost or on the others.
#[test]
fn data_of_a_failed_object_server_are_lost() {
    let sound = run(&format!("{CHAIN}{SAVER}"), &[]);
    let safe = tier(&sound, "storage").last_safe_s;
    let had = sound.servers[5].bytes_written;
    assert!(sound.servers[5].tier == "file-system" && had > 0);
    let at = format!(
        "storage.faults=[{{ server = 5, at = \"{} ns\", duration = \"1 ms\", kind = \"fail\" }}]",
        (safe * 1e9).ceil()
    );
    let client = "storage.client={ timeout = \"1 s\" }";
    let tail = "[[jobs]]\nname = \"tail\"\nranks = 1\nworkload = { checkpoint = { iterations = 1, total = \"8 B\", interval = \"1 s\" } }\n";
    let rows = run(&format!("{CHAIN}{SAVER}{tail}"), &[&at, client]);
    let system = tier(&rows, "file-system");
    assert_eq!((system.lost_bytes, system.alone_bytes), (had, 64_000_000 - had));
    assert_eq!(rows.servers[5].lost_bytes, had);
    assert_eq!(rows.jobs[0].io_lost_bytes, had);
}

/// The data cross the network once, up to the I/O node: the job's bytes go to the buffers and from there to the I/O
/// nodes.
#[test]
fn drained_data_cross_the_network_and_count_for_their_job() {
    let other = "[[jobs]]\nname = \"other\"\nranks = 4\nworkload = { halo = { dims = [2, 2], message = \"1 kB\" } }\n";
    let other = other.replace("halo =", "stencil =");
    let rows = run(&format!("{CHAIN}{SAVER}{other}"), &[]);
    assert!(rows.tiers.iter().all(|row| row.job == "saver"), "{:?}", rows.tiers);
    let names: Vec<&str> = rows.tiers.iter().map(|row| row.tier.as_str()).collect();
    assert_eq!(names, ["storage", "io", "file-system"]);
    for row in &rows.tiers {
        assert_eq!(row.received_bytes, 64_000_000, "{row:?}");
    }
    assert_eq!(tier(&rows, "storage").below_bytes, 64_000_000);
    assert_eq!(tier(&rows, "file-system").alone_bytes, 64_000_000);
    let servers = |name| -> Vec<_> { rows.servers.iter().filter(|server| server.tier == name).collect() };
    assert_eq!(
        ["storage", "io", "file-system"].map(|name| servers(name).len()),
        [2, 2, 4]
    );
    let stored: u64 = servers("file-system").iter().map(|server| server.bytes_written).sum();
    assert_eq!(stored, 64_000_000);
    // I/O nodes have no devices.
    assert!(rows.devices.iter().all(|device| device.name != "none"));
    let job = rows.jobs.iter().find(|job| job.job == "saver").unwrap();
    assert_eq!(job.bytes_written, 64_000_000);
}

/// With a buffer on every compute node, writes are over before a packet has left; then all data go to the I/O nodes.
#[test]
fn node_local_buffers_are_reached_without_the_network() {
    let whole = run(
        &format!("{CHAIN}{SAVER}"),
        &[
            "storage.architecture=\"node-local\"",
            "storage.policy.drain=\"job-end\"",
        ],
    );
    let saver = &whole.jobs[0];
    let first = tier(&whole, "storage");
    // The job has ended before the first block leaves.
    assert!(first.first_left_s >= saver.start_s + saver.elapsed_s, "{first:?}");
    assert_eq!(first.sent_bytes, 64_000_000);
    let used: Vec<_> = whole
        .servers
        .iter()
        .filter(|server| server.tier == "storage" && server.bytes_written > 0)
        .collect();
    assert_eq!(used.len(), 8);
    // The nodes of the shared buffers stay empty, so that jobs are placed alike.
    let shared = run(&format!("{CHAIN}{SAVER}"), &[]);
    let nodes = |rows: &Rows| rows.ranks.iter().map(|rank| rank.node).collect::<Vec<_>>();
    assert_eq!(nodes(&whole), nodes(&shared));
    // 8 MB at 50 GB/s on each of eight nodes, and their own memory: far sooner than two shared buffers over the
    // network.
    assert!(
        saver.io_s < 0.5 * shared.jobs[0].io_s,
        "{} {}",
        saver.io_s,
        shared.jobs[0].io_s
    );
}

#[test]
fn storage_side_buffers_are_those_of_the_io_nodes() {
    let devices = "storage.tiers.0.device={ capacity = \"1 GB\", rate = { write = \"1 GB/s\" } }";
    let rows = run(
        &format!("{CHAIN}{SAVER}"),
        &["storage.architecture=\"storage-side\"", devices],
    );
    let names: Vec<&str> = rows.tiers.iter().map(|row| row.tier.as_str()).collect();
    assert_eq!(names, ["storage", "file-system"]);
    let nodes: Vec<u64> = rows
        .servers
        .iter()
        .filter(|server| server.tier == "storage")
        .map(|server| server.node)
        .collect();
    assert_eq!(nodes, [16, 20]);
}

/// Data that were drained and not kept come back from the file system; kept data are read where they are.
#[test]
fn a_restart_reads_from_where_its_checkpoint_is() {
    let reader = r#"
[[jobs]]
name = "reader"
ranks = 8
start_after = "saver"
start = "1 s"
workload = { cosmoflow = { iterations = 1, elements = 1000, sample = "1 MB", compute = "1 ms" } }
"#;
    let shared = format!("{CHAIN}{SAVER}{reader}");
    let fetched = |keep: &str, read: &str| {
        let rows = run(&shared, &[keep, read]);
        let row = rows
            .tiers
            .iter()
            .find(|row| row.tier == "storage" && row.job == "reader");
        row.map_or((0, 0), |row| (row.fetched_bytes, row.kept_bytes))
    };
    let (all, kept) = fetched("storage.policy.keep=false", "storage.policy.read=\"pass\"");
    assert!(all > 0 && kept == 0);
    let (_, kept) = fetched("storage.policy.keep=true", "storage.policy.read=\"cache\"");
    assert!(kept > 0);
}

/// The I/O nodes have 1 MB each and nothing below.
#[test]
fn a_full_tier_without_a_way_down_is_named() {
    let chain = CHAIN.split("[storage.file_system]").next().unwrap();
    let device = "storage.tiers.0.device={ capacity = \"2 MB\" }";
    let results = finish(&format!("{chain}{SAVER}"), &[device]);
    assert_eq!(*results.outcome(), Outcome::StorageFull);
    let detail = results.run_json()["detail"].to_string();
    assert!(
        detail.contains("is full and has no drain: server 0 needs 1000000 bytes for saver"),
        "{detail}"
    );
}

/// The job starts when its 64 MB are in the buffers, at the rate of the slowest part of the chain; then it reads them
/// at the rate of the devices. At its end, its data are written to the file system although the policy keeps them.
#[test]
fn a_job_stages_in_before_it_starts_and_out_when_it_has_ended() {
    let reader = "[[jobs]]\nname = \"reader\"\nranks = 8\nplacement = \"random\"\nio = { stage_in = [{ bytes = \"64 MB\" }], stage_out = true }\n\
                  workload = [{ ior = \"-r -t 1000000 -b 8000000\" }, { checkpoint = { iterations = 1, total = \"16 MB\", interval = \"0 s\" } }]\n";
    let slow = "storage.file_system.bandwidth=\"50 MB/s\"";
    let keeps = [
        "run.blame=true",
        "storage.policy.drain=\"above-watermark\"",
        "storage.policy.watermark=\"10 GB\"",
        slow,
    ];
    let striped = "storage.layout={ striped = { stripe = \"1 MB\" } }";
    let rows = run(&format!("{CHAIN}{reader}"), &[&keeps[..], &[striped]].concat());
    let stage = &rows.stages[0];
    assert_eq!(
        (stage.asked_bytes, stage.brought_bytes, stage.left_bytes),
        (64_000_000, 64_000_000, 0)
    );
    // Four object servers of 50 MB/s.
    let took = stage.in_end_s - stage.in_begin_s;
    assert!((0.32..0.36).contains(&took), "{took}");
    let job = &rows.jobs[0];
    assert!(job.start_s >= stage.in_end_s, "{} < {}", job.start_s, stage.in_end_s);
    let first = tier(&rows, "storage");
    assert_eq!((first.fetched_bytes, first.hit_bytes), (64_000_000, 64_000_000));
    assert_eq!((stage.out_bytes, first.sent_bytes), (16_000_000, 16_000_000));
    let out = stage.out_end_s - stage.out_begin_s;
    assert!((0.08..0.1).contains(&out), "{out}");
    // Waits at the object servers have a resource of their own.
    assert!(
        rows.blame
            .iter()
            .any(|row| row.place == "file-system" && row.waited_s > 0.0)
    );
}

#[test]
fn impossible_values_are_refused_by_key() {
    let refused = |overrides: &[&str]| {
        let error = load(&format!("{CHAIN}{SAVER}"), overrides)
            .err()
            .unwrap_or_else(|| panic!("{overrides:?} was taken"));
        (error.key, error.expected)
    };
    let cases: [(&[&str], &str, &str); 16] = [
        (
            &["storage.policy.read_ahead=\"1 MB\""],
            "storage.policy.read_ahead",
            "read = \"cache\"",
        ),
        (
            &["jobs.0.io={ stage_wait = false }"],
            "jobs.0.io.stage_wait",
            "stage_in",
        ),
        (
            &["jobs.0.io={ stage_in = [{ bytes = \"0 B\" }] }"],
            "jobs.0.io.stage_in.0.bytes",
            "at least 1 B",
        ),
        (
            &[
                "jobs.0.io={ stage_in = [{ bytes = \"1 MB\" }] }",
                "storage.manager.extents=true",
                "storage.manager.unwritten=\"error\"",
            ],
            "jobs.0.io.stage_in",
            "storage.manager.unwritten = \"exists-below\"",
        ),
        (
            &["storage.drain.bandwidth=\"1 GB/s\""],
            "storage.drain",
            "policy says when servers drain to the tier below",
        ),
        (
            &["storage.policy.blocks_in_flight=0"],
            "storage.policy.blocks_in_flight",
            "1 to 4096",
        ),
        (
            &["storage.policy.watermark=\"1 GB\""],
            "storage.policy.watermark",
            "drain = \"above-watermark\"",
        ),
        (
            &[
                "storage.policy.drain=\"above-watermark\"",
                "storage.policy.watermark=\"11 GB\"",
            ],
            "storage.policy.watermark",
            "at most the capacity of a server, 10 GB",
        ),
        (
            &["storage.manager.object_per_file=false"],
            "storage.manager.object_per_file",
            "true",
        ),
        (
            &["storage.tiers.0.nodes.list=[8]"],
            "storage.tiers.0.nodes",
            "nodes of their own",
        ),
        (
            &["storage.tiers.0.nodes={ class = \"compute\" }"],
            "storage.tiers.0.nodes.class",
            "service",
        ),
        (
            &["storage.nodes={ class = \"service\" }"],
            "storage.nodes.class",
            "machine.service_routers",
        ),
        (
            &["storage.tiers.0.policy.keep=true"],
            "storage.tiers.0.policy",
            "a device",
        ),
        (
            &["storage.file_system.object_servers=0"],
            "storage.file_system.object_servers",
            "1 to 65536",
        ),
        (
            &["storage.file_system.layout=\"assigned\""],
            "storage.file_system.layout",
            "hash, random, round-robin or striped",
        ),
        (
            &["storage.tiers.0.assignment={ list = [0] }"],
            "storage.tiers.0.assignment",
            "by-group, nearest, random or round-robin",
        ),
    ];
    for (overrides, key, expected) in cases {
        assert_eq!(
            refused(overrides),
            (key.to_owned(), expected.to_owned()),
            "{overrides:?}"
        );
    }
    let alone = |text: &str| {
        let error = load(&format!("{text}{SAVER}"), &[])
            .err()
            .unwrap_or_else(|| panic!("{text} was taken"));
        (error.key, error.expected)
    };
    let storage = "[storage]\nnodes = { list = [0] }\n";
    let refuse = |rest: &str, key: &str, expected: &str| {
        assert_eq!(
            alone(&format!("{storage}{rest}")),
            (key.to_owned(), expected.to_owned()),
            "{rest}"
        );
    };
    refuse(
        "policy = { keep = true }\n",
        "storage.policy",
        "storage.tiers or storage.file_system",
    );
    refuse(
        "architecture = \"storage-side\"\n",
        "storage.architecture",
        "storage.tiers",
    );
    refuse(
        "[[storage.tiers]]\nnodes = { list = [5] }\n",
        "storage.tiers.0",
        "a device, a tier below, or storage.file_system",
    );
}

/// Two I/O nodes with links of 10 GB/s in front of one object server of 10 GB/s, which determines the rate of the
/// chain.
#[test]
fn a_check_reports_the_drain_rate_of_tiers_and_its_bottleneck() {
    let scenario = load(
        &format!("{CHAIN}{SAVER}"),
        &[
            "storage.file_system.object_servers=1",
            "storage.file_system.bandwidth=\"3 GB/s\"",
        ],
    );
    let report = odonata_system::check(&scenario.unwrap()).unwrap();
    let found: Vec<_> = (report.tiers.iter())
        .map(|tier| {
            (
                tier.name.as_str(),
                tier.servers,
                tier.nodes,
                tier.capacity,
                tier.drain_rate,
                tier.bound,
            )
        })
        .collect();
    let expected = [
        ("storage", 2, 2, Some(20_000_000_000), Some(3e9), Some("next-tier")),
        ("io", 2, 2, None, Some(3e9), Some("object-servers")),
        ("file-system", 1, 1, None, None, None),
    ];
    assert_eq!(found, expected);
    let drain = report.tiers[0].drain_s.unwrap();
    assert!((drain - 64e6 / 3e9).abs() < 0.02 * drain, "{drain}");
}

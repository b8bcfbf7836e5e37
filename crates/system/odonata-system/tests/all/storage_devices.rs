//! Devices of storage servers in scenarios: their keys, their activity, and what is refused.

use crate::common::{finish, run};

use odonata_system::results::Rows;
use odonata_system::scenario::resolved::DeviceModel;
use odonata_system::{Outcome, scenario};

const MACHINE: &str = r#"
[machine.dragonfly]
groups = 3
routers_per_group = 2
nodes_per_router = 2
global_ports_per_router = 1
[storage]
nodes = { per_group = 1 }
"#;

const JOBS: &str = r#"
[[jobs]]
name = "saver"
ranks = 4
workload = { checkpoint = { iterations = 1, total = "40 MB", interval = "1 ms" } }
[[jobs]]
name = "training"
ranks = 4
workload = { cosmoflow = { iterations = 3, elements = 1000, sample = "40 KiB", compute = "1 ms" } }
"#;

fn load(storage: &str) -> Result<scenario::Scenario, scenario::InputError> {
    scenario::load(&format!("{MACHINE}{storage}{JOBS}"), "devices.toml", &[], None, ".")
}

fn rows(storage: &str) -> Rows {
    let results = finish(load(storage).unwrap());
    assert_eq!(*results.outcome(), Outcome::Completed);
    results.rows().clone()
}

/// Key, expectation.
fn refused(storage: &str) -> (String, String) {
    let error = load(storage)
        .err()
        .unwrap_or_else(|| panic!("{storage} should have been refused"));
    (error.key, error.expected)
}

const BY_SIZE: &str = r#"
[[storage.devices]]
name = "flash"
preset = "intel-d3-s4510"
capacity = "1 GB"
[[storage.devices]]
name = "disk"
hdd = {}
[[storage.rules]]
device = "flash"
below = "64 kB"
[[storage.rules]]
device = "disk"
"#;

#[test]
fn small_requests_are_served_by_flash_and_large_ones_by_the_disk() {
    let rows = rows(BY_SIZE);
    assert_eq!(rows.devices.len(), 2 * rows.servers.len());
    for (device, flash) in rows.devices.iter().zip([true, false].into_iter().cycle()) {
        let name = if flash { ("flash", "ssd") } else { ("disk", "hdd") };
        assert_eq!((device.name.as_str(), device.model.as_str()), name);
        assert_eq!(
            device.capacity_bytes,
            if flash { 1_000_000_000 } else { 2_000_000_000_000 }
        );
        // The training reads 40 KiB at a time, the checkpoint writes 10 MB.
        let other = if flash { device.writes } else { device.reads };
        assert_eq!(other, 0, "{}", device.name);
    }
    for server in &rows.servers {
        let devices = || rows.devices.iter().filter(|device| device.server == server.server);
        assert_eq!(devices().map(|d| d.bytes_written).sum::<u64>(), server.bytes_written);
        assert_eq!(devices().map(|d| d.bytes_read).sum::<u64>(), server.bytes_read);
        assert_eq!(devices().map(|d| d.seeks).sum::<u64>(), server.seeks);
        assert!(devices().all(|d| d.busy_s <= d.service_s));
        let waits: f64 = devices().map(|d| d.wait_s).sum();
        assert!((waits - server.wait_device_s).abs() < 1e-9);
    }
    let written: u64 = rows.devices.iter().map(|device| device.bytes_written).sum();
    assert_eq!(written, 40_000_000);
}

#[test]
fn a_device_has_its_model_its_space_and_its_queue() {
    let device = |text: &str| {
        let storage = load(&format!("[storage.device]\n{text}\n"))
            .unwrap()
            .resolved
            .storage
            .unwrap();
        let server = storage.server(0, 0, 0);
        let device = &server.devices[0];
        (device.model.kind(), device.capacity.0, device.queue_depth)
    };
    assert_eq!(device(""), ("rate", 6_400_000_000_000, 1));
    assert_eq!(device("ssd = {}"), ("ssd", 6_400_000_000_000, 32));
    assert_eq!(device("nvme = { queue_depth = 7 }"), ("nvme", 6_400_000_000_000, 7));
    assert_eq!(device("hdd = { capacity = \"1 TB\" }"), ("hdd", 1_000_000_000_000, 32));
    assert_eq!(
        device("preset = \"cori-bb\"\ncapacity = \"1 MB\"\nqueue_depth = 3"),
        ("rate", 1_000_000, 3)
    );
}

#[test]
fn a_device_replaces_that_of_the_machine_s_preset() {
    for device in ["preset=\"intel-d3-s4510\"", "ssd={}"] {
        let overrides = [format!("storage.device.{device}")];
        let text = format!("preset = \"cori-like\"\n{JOBS}");
        let loaded = scenario::load(&text, "devices.toml", &overrides, None, ".").unwrap();
        let storage = loaded.resolved.storage.unwrap();
        assert!(matches!(storage.device.model(), DeviceModel::Ssd(_)));
        assert_eq!(
            storage.device.capacity.given().unwrap().0,
            6_400_000_000_000,
            "the preset's own"
        );
    }
}

/// Two jobs write to one server: when taking turns the small one does not wait for the large one; with weights it waits
/// less still.
#[test]
fn jobs_share_a_server_in_order_in_turn_or_by_weight() {
    let end = |sharing: &str, weight: &str| {
        let job = |name: &str, total: &str, weight: &str| {
            format!(
                "[[jobs]]\nname = \"{name}\"\nranks = 2\nio_weight = {weight}\n\
                 workload = {{ checkpoint = {{ iterations = 1, total = \"{total}\", interval = \"1 us\" }} }}\n"
            )
        };
        let text = format!(
            "{MACHINE}assignment = {{ list = [0, 0, 0, 0, 0, 0, 0, 0, 0] }}\n\
             [storage.device]\nrate = {{ write = \"100 MB/s\" }}\n\
             [storage.manager]\npieces_in_flight = 8\nsharing = \"{sharing}\"\n{}{}",
            job("large", "64 MB", "1"),
            job("small", "16 MB", weight)
        );
        let results = run(&text, &[]);
        assert_eq!(*results.outcome(), Outcome::Completed);
        let jobs = &results.rows().jobs;
        [jobs[0].io_completion_s, jobs[1].io_completion_s]
    };
    let turns = end("round-robin", "1");
    let weighted = end("weighted", "3");
    // All of both takes 0.8 s. When taking turns, the small one's 16 MB are served with 16 MB of the large one: 0.32 s;
    // with three times the weight with 5.3 MB: 0.213 s.
    assert!(
        (turns[1] - 0.32).abs() < 0.03 && (turns[0] - 0.8).abs() < 0.02,
        "{turns:?}"
    );
    assert!(
        (weighted[1] - 0.213).abs() < 0.03 && (weighted[0] - 0.8).abs() < 0.02,
        "{weighted:?}"
    );
}

#[test]
fn writes_are_acknowledged_in_memory_and_committed_later() {
    let write_back =
        rows("[storage.manager]\nacknowledge = \"memory\"\n[storage.device]\nrate = { write = \"100 MB/s\" }\n");
    let saver = &write_back.jobs[0];
    // 40 MB arrive over the network within milliseconds; the device of its server takes 0.1 s for each 10 MB.
    assert!(saver.io_completion_s < 0.05 && saver.io_commit_s > 0.1, "{saver:?}");
    let through = rows("[storage.device]\nrate = { write = \"100 MB/s\" }\n");
    let saver = &through.jobs[0];
    assert!(
        saver.io_commit_s <= saver.io_completion_s && saver.io_commit_s > 0.1,
        "{saver:?}"
    );
    let sum = |rows: &Rows| {
        rows.servers
            .iter()
            .map(|s| (s.request_time_s, s.commit_time_s))
            .unzip::<f64, f64, Vec<_>, Vec<_>>()
    };
    let (answers, commits) = sum(&through);
    // Reads are requests too, but are not committed.
    assert!(commits.iter().sum::<f64>() <= answers.iter().sum::<f64>());
    let (answers, commits) = sum(&write_back);
    assert!(commits.iter().sum::<f64>() > answers.iter().sum::<f64>());
}

/// A checkpoint that is written three times fits where servers have an index of their data; reading unwritten data may
/// be an error.
#[test]
fn servers_with_an_index_overwrite_in_place_and_refuse_reads_of_unwritten_data() {
    let outcome = |keys: &str| {
        let jobs = JOBS.replace("name = \"saver\"", "name = \"saver\"\nrepeat = 3");
        let text = format!("{MACHINE}[storage.device]\ncapacity = \"50 MB\"\n[storage.manager]\n{keys}{jobs}");
        let results = run(&text, &[]);
        let written: u64 = results.rows().servers.iter().map(|server| server.bytes_written).sum();
        (results.outcome().name().to_owned(), written)
    };
    assert_eq!(outcome("extents = true\n"), ("completed".into(), 120_000_000));
    assert_eq!(outcome("").0, "storage-full");
    // The training reads data that existed before.
    assert_eq!(outcome("extents = true\nunwritten = \"error\"\n").0, "program-error");
    let key = |keys: &str| refused(&format!("[storage.manager]\n{keys}")).0;
    assert_eq!(key("unwritten = \"error\"\n"), "storage.manager.unwritten");
    assert_eq!(
        key("extents = true\nobject_per_file = false\n"),
        "storage.manager.extents"
    );
}

#[test]
fn devices_that_cannot_be_are_refused_by_key() {
    let key = |storage: &str| refused(storage).0;
    assert_eq!(key("[storage.device]\nssd = {}\nhdd = {}\n"), "storage.device");
    let (at, expected) = refused("[storage.device]\npreset = \"tape\"\n");
    assert_eq!(at, "storage.device.preset");
    assert!(expected.contains("seagate-st2000nx0253"), "{expected}");
    assert_eq!(
        key("[storage.device]\nssd = { ways = 65 }\n"),
        "storage.device.ssd.ways"
    );
    assert_eq!(key("[storage.device]\nqueue_depth = 0\n"), "storage.device.queue_depth");
    assert_eq!(
        key("[storage.device]\nhdd = {}\ncapacity = \"3 TB\"\n"),
        "storage.device.capacity"
    );
    assert_eq!(key("[[storage.rules]]\ndevice = \"a\"\n"), "storage.rules");
    let one = "[[storage.devices]]\nname = \"a\"\n";
    assert_eq!(
        key(&format!("{one}{one}[[storage.rules]]\ndevice = \"a\"\n")),
        "storage.devices.1.name"
    );
    assert_eq!(key("[[storage.devices]]\nssd = {}\n"), "storage.devices.0");
    assert_eq!(key(&format!("{one}[storage.device]\nssd = {{}}\n")), "storage.device");
    let two = format!("{one}[[storage.devices]]\nname = \"b\"\n");
    assert_eq!(key(&two), "storage.rules");
    let (at, expected) = refused(&format!("{two}[[storage.rules]]\ndevice = \"c\"\n"));
    assert_eq!(
        (at.as_str(), expected.as_str()),
        ("storage.rules.0.device", "one of a, b")
    );
    assert_eq!(
        key(&format!("{two}[[storage.rules]]\ndevice = \"a\"\nbelow = \"1 kB\"\n")),
        "storage.rules.0"
    );
    let kinds = "[[storage.rules]]\ndevice = \"a\"\nfiles = [\"input\"]\n[[storage.rules]]\ndevice = \"b\"\n";
    assert_eq!(key(&format!("{two}{kinds}")), "storage.rules.0.files");
}

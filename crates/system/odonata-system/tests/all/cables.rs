//! Cables with a class, bandwidth, latency or buffer of their own, from a map of cables.

use crate::common::{finish, load_in};
use std::path::{Path, PathBuf};

use odonata_system::{Outcome, Results, scenario};

/// A ring of four routers with a node each. Ranks 0 and 1 are on neighbors, over the cable between routers 0 and 1.
const RING: &str = r#"
[machine]
cables = "map.csv"
[machine.torus]
dims = [4]
[network]
packet = "1 KiB"
[network.links.local]
latency = "100 ns"
credit_delay = "100 ns"
[[jobs]]
name = "pair"
ranks = 2
workload = { ping-pong = { bytes = "512 B", iterations = 10 } }
"#;

struct Folder(PathBuf);

impl Folder {
    fn with(name: &str, map: &str) -> Folder {
        let folder = std::env::temp_dir().join(format!("odonata-cables-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("map.csv"), map).unwrap();
        Folder(folder)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn run(text: &str, overrides: &[&str], folder: &Path) -> Results {
    let results = finish(load_in(folder, text, overrides).unwrap_or_else(|error| panic!("{error:?}")));
    assert_eq!(results.outcome(), &Outcome::Completed);
    results
}

fn elapsed_ns(results: &Results) -> f64 {
    results.rows().ranks[0].elapsed_s * 1e9
}

/// n round trips over a cable whose latency is longer by d take 2 n d longer, in packets and in flows.
#[test]
fn a_longer_cable_delays_each_message_by_the_difference() {
    for fidelity in ["packet", "flow"] {
        let time = |map: &str, name: &str| {
            let folder = Folder::with(&format!("{name}-{fidelity}"), map);
            elapsed_ns(&run(RING, &[&format!("network.fidelity=\"{fidelity}\"")], &folder.0))
        };
        let plain = time("a,b\n", "plain");
        let longer = time("a,b,latency\n1,0,350ns\n", "longer");
        let elsewhere = time("a,b,latency\n2,3,350ns\n", "elsewhere");
        assert!(
            (longer - plain - 20.0 * 250.0).abs() < 1e-6,
            "{fidelity}: {plain} {longer}"
        );
        assert_eq!(plain, elsewhere, "{fidelity}");
    }
}

/// A message of S bytes over a cable with 1/8 of its class's bandwidth b takes at least 8 S / b.
#[test]
fn a_slower_cable_carries_its_own_rate() {
    let folder = Folder::with("slower", "a,b,bandwidth\n0,1,0.125\n");
    let big = "jobs.0.workload={ ping-pong = { bytes = \"4 MiB\", iterations = 1 } }";
    let rate = "network.links.local.bandwidth=\"8 GB/s\"";
    let time = elapsed_ns(&run(RING, &[big, rate], &folder.0));
    let least = 2.0 * f64::from(4 << 20);
    assert!(time > least && time < 1.02 * least + 5000.0, "{time} {least}");
}

/// Three pairs that send 1 KiB packets through one cable of a ring of six routers, of one virtual channel.
const PIPE: &str = r#"
[machine]
cables = "map.csv"
[machine.torus]
dims = [6]
[network]
packet = "1 KiB"
[network.links.local]
bandwidth = "10 GB/s"
latency = "500 ns"
credit_delay = "500 ns"
buffer = "64 KiB"
[[jobs]]
name = "pair"
ranks = 2
workload = { ping-pong = { bytes = "4 MiB", iterations = 1 } }
"#;

/// A buffer of k packets passes at most k of them in the round trip of a credit: their transmission over the cable, its
/// latency, the transmission out of the buffer, and the credit's delay.
#[test]
fn a_small_buffer_limits_the_rate_by_its_round_trip() {
    for router in ["input-queued", "output-queued"] {
        let router = format!("network.router={router:?}");
        let time = |map: &str, more: &[&str]| {
            let folder = Folder::with(&format!("buffer-{}", map.len()), map);
            elapsed_ns(&run(PIPE, &[&[router.as_str()], more].concat(), &folder.0))
        };
        let plain = time("a,b\n", &[]);
        // The ranks are neighbors.
        let small = time("a,b,buffer\n1,0,4 KiB\n", &[]);
        let elsewhere = time("a,b,buffer\n3,4,4 KiB\n", &[]);
        assert_eq!(plain, elsewhere, "{router}");
        let packets = f64::from(4 << 10);
        let round_trip = 2.0 * 500.0 + 2.0 * 1024.0 / 10.0;
        let least = 2.0 * packets / 4.0 * (2.0 * 500.0);
        assert!(
            small > least && small > 1.5 * plain,
            "{router}: {small} {least} {plain}"
        );
        assert!(small < 2.0 * packets / 4.0 * (round_trip + 250.0), "{router}: {small}");
        // A map of all cables is the buffer of the class.
        let all: String = (0..6)
            .map(|router| format!("{router},{},4 KiB\n", (router + 1) % 6))
            .collect();
        let by_map = time(&format!("a,b,buffer\n{all}"), &[]);
        let by_class = time("a,b\n", &["network.links.local.buffer=\"4 KiB\""]);
        assert_eq!((by_map, by_map), (by_class, small), "{router}");
    }
}

/// A buffer must hold a packet, two with bubble flow control, a flit with wormhole switching.
#[test]
fn a_buffer_that_is_too_small_is_refused() {
    let load = |buffer: &str, overrides: &[&str]| {
        let folder = Folder::with("small", &format!("a,b,buffer\n0,1,{buffer}\n"));
        load_in(&folder.0, PIPE, overrides)
    };
    let bubble = ["network.routing.algorithm=\"bubble\""];
    for (buffer, overrides, least) in [("1000 B", &[][..], "1 KiB"), ("2000 B", &bubble, "2 KiB")] {
        let error = load(buffer, overrides).unwrap_err();
        assert_eq!(error.key, "machine.cables");
        let text = error.to_string();
        assert!(
            text.contains("between routers 0 and 1") && text.contains(&format!("at least {least}")),
            "{text}"
        );
    }
    assert!(load("1 KiB", &[]).is_ok() && load("2 KiB", &bubble).is_ok());
}

/// Maps whose latencies are shorter and longer than their class's, divided everywhere.
#[test]
fn results_do_not_depend_on_the_scheduler() {
    let rows: String = (0..12_u32)
        .map(|router| {
            let (next, kib) = ((router + 1) % 12, 4 + router % 3 * 6);
            format!("{router},{next},{}ns,{kib} KiB\n", 20 + 37 * router)
        })
        .collect();
    let folder = Folder::with("schedulers", &format!("a,b,latency,buffer\n{rows}"));
    let text = r#"
[machine]
cables = "map.csv"
[machine.torus]
dims = [12]
nodes_per_router = 2
[[jobs]]
ranks = 24
placement = "random"
workload = { stencil = { dims = [4, 3, 2], message = "6 KiB", iterations = 2, compute = "2 us", allreduce = "64 B" } }
"#;
    for router in ["input-queued", "output-queued", "pipelined"] {
        let clock = (router == "pipelined").then_some("network.clock=\"1 ns\"");
        let router = format!("network.router={router:?}");
        let digest = |how: &[&str]| {
            let network: Vec<&str> = [router.as_str()].into_iter().chain(clock).collect();
            run(text, &[how, &network].concat(), &folder.0).digest().to_string()
        };
        let reference = digest(&["run.scheduler=\"sequential\"", "run.parts=1"]);
        for scheduler in ["sequential", "conservative", "optimistic"] {
            for (threads, parts) in [(1, 12), (2, 5)] {
                if scheduler == "sequential" && threads > 1 {
                    continue;
                }
                let (threads, parts) = (format!("run.threads={threads}"), format!("run.parts={parts}"));
                let got = digest(&[&format!("run.scheduler={scheduler:?}"), &threads, &parts]);
                assert_eq!(got, reference, "{router} {scheduler} {threads} {parts}");
            }
        }
    }
}

#[test]
fn a_wrong_map_is_refused_with_its_line() {
    for (map, line, part) in [
        ("a,b,latency\n0,1,350\n", 2, "350"),
        ("a,b,latency\n0,1,1ns\n0,2,1ns\n", 3, "no cable between routers 0 and 2"),
        ("a,b,latency\n0,4,1ns\n", 2, "no router \"4\""),
        ("a,b,index,latency\n0,1,1,1ns\n", 2, "no cable 1"),
    ] {
        let folder = Folder::with("wrong", map);
        let error = scenario::load(RING, "test.toml", &[], None, &folder.0).unwrap_err();
        assert_eq!(error.key, "machine.cables", "{map}");
        assert!(error.to_string().contains(&format!("map.csv:{line}")), "{map}: {error}");
        assert!(error.to_string().contains(part), "{map}: {error}");
    }
}

/// A cable of another class is a cable with the bandwidth, latency and buffer of that class, by every carrier. Results count it
/// under the class of its place.
#[test]
fn a_cable_of_another_class_has_all_its_properties() {
    let text = RING.replace(
        "[[jobs]]",
        "[network.links.global]\nlatency = \"350 ns\"\ncredit_delay = \"350 ns\"\nbandwidth = \"2 GB/s\"\nbuffer = \"6 KiB\"\n[[jobs]]",
    );
    let big = "jobs.0.workload={ ping-pong = { bytes = \"1 MiB\", iterations = 3 } }";
    let rate = "network.links.local.bandwidth=\"8 GB/s\"";
    for fidelity in ["packet", "flow", "ethernet"] {
        let fidelity = format!("network.fidelity=\"{fidelity}\"");
        let time = |name: &str, map: &str, more: &[&str]| {
            let folder = Folder::with(name, map);
            run(&text, &[&[big, rate, &fidelity][..], more].concat(), &folder.0)
        };
        let of_class = time("class", "a,b,class\n0,1,global\n", &[]);
        let by_itself = time("itself", "a,b,bandwidth,latency,buffer\n0,1,0.25,350ns,6KiB\n", &[]);
        let plain = time("plainly", "a,b\n", &[]);
        assert_eq!(elapsed_ns(&of_class), elapsed_ns(&by_itself), "{fidelity}");
        assert!(elapsed_ns(&of_class) > 2.0 * elapsed_ns(&plain), "{fidelity}");
        // What the row sets beside the class counts.
        let faster = time(
            "faster",
            "a,b,class,bandwidth,latency\n0,1,global,4,100ns\n",
            &["network.links.global.buffer=\"64 KiB\""],
        );
        assert!(elapsed_ns(&faster) < 1.05 * elapsed_ns(&plain), "{fidelity}");
        let parts = time(
            "parts",
            "a,b,class\n0,1,global\n",
            &["run.scheduler=\"optimistic\"", "run.threads=2", "run.parts=2"],
        );
        assert_eq!(parts.digest(), of_class.digest(), "{fidelity}");
    }
}

//! Cables with a bandwidth or latency of their own, from a map of cables.

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

/// Maps whose latencies are shorter and longer than their class's, divided everywhere.
#[test]
fn results_do_not_depend_on_the_scheduler() {
    let rows: String = (0..12_u32)
        .map(|router| format!("{router},{},{}ns\n", (router + 1) % 12, 20 + 37 * router))
        .collect();
    let folder = Folder::with("schedulers", &format!("a,b,latency\n{rows}"));
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

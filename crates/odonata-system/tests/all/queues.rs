//! Queues of chosen links over time (`run.queue_links`): closed forms, conservation, one result on every scheduler.

use odonata_system::results::QueueSeriesRow;
use odonata_system::scenario::{self, InputError};
use odonata_system::{Results, Simulation};
use std::collections::BTreeMap;
use std::time::Duration;

/// Eight nodes behind two routers with one cable; all links carry 8 bytes per ns, a packet is 4 KiB in 64 flits of 8 ns.
const MACHINE: &str = r#"
[run]
series_interval = "300 ns"
[machine.dragonfly]
groups = 2
routers_per_group = 1
nodes_per_router = 4
global_ports_per_router = 1
[network]
packet = "4 KiB"
flit = "64 B"
router_delay = "90 ns"
routing = { algorithm = "minimal" }
links.terminal = { bandwidth = "8 GB/s", latency = "20 ns", buffer = "8 KiB", credit_delay = "20 ns" }
links.global = { bandwidth = "8 GB/s", latency = "300 ns", buffer = "8 KiB", credit_delay = "300 ns" }
[nic]
message_delay = "0 ns"
[mpi]
eager_threshold = "none"
"#;

/// Four nodes send to one behind the other router, another job to another.
const INCAST: &str = r#"
[[jobs]]
name = "incast"
ranks = 5
placement = { nodes = [4, 0, 1, 2, 5] }
workload.incast = { bytes = "40 KiB", messages = 3 }
[[jobs]]
name = "pair"
ranks = 2
placement = { nodes = [3, 6] }
workload.ping-pong = { bytes = "64 KiB", iterations = 6 }
"#;

fn load(jobs: &str, settings: &[&str]) -> Result<Results, InputError> {
    let settings: Vec<String> = settings.iter().map(|&setting| setting.into()).collect();
    let text = format!("{MACHINE}{jobs}");
    let scenario = scenario::load(&text, "queues.toml", &settings, None, ".")?;
    let mut simulation = Simulation::new(scenario)?;
    while !simulation.advance(Duration::from_secs(60)).finished {}
    Ok(simulation.finish(false))
}

fn results(jobs: &str, settings: &[&str]) -> Results {
    load(jobs, settings).unwrap_or_else(|error| panic!("{error}"))
}

/// The integral over the run of a column of the rows of `link`.
fn integral(results: &Results, link: &str, of: impl Fn(&QueueSeriesRow) -> f64) -> f64 {
    let end = results.progress().simulated_s;
    let rows = results.rows().queue_series.iter().filter(|row| row.name == link);
    rows.map(|row| of(row) * (end - row.start_s).min(300e-9)).sum()
}

/// A packet holds its credits from the start on the link until its credit is back:
/// flit + latency + router + packet + credit = 8 + 300 + 90 + 512 + 300 ns. Ten packets go to each side.
#[test]
fn a_packet_holds_its_credits_for_the_closed_form() {
    let jobs = "[[jobs]]\nname = \"a\"\nranks = 2\nplacement = { nodes = [0, 4] }\n\
                workload.ping-pong = { bytes = \"4 KiB\", iterations = 10 }\n";
    let results = results(jobs, &["run.queue_links=[\"r0>r1\", \"r1>*\"]"]);
    for link in ["r0>r1", "r1>r0"] {
        let expected = 10.0 * 4096.0 * 1210e-9;
        let found = integral(&results, link, |row| row.buffered_bytes);
        assert!((found / expected - 1.0).abs() < 1e-9, "{link}: {found} {expected}");
        assert!(integral(&results, link, |row| row.waiting_packets) == 0.0, "{link}");
    }
    let rows = &results.rows().queue_series;
    assert!(
        rows.iter()
            .all(|row| row.capacity_bytes == 8192 && row.buffered_bytes <= 8192.0)
    );
    assert!(rows.iter().any(|row| row.name == "r1>n4") && rows.iter().all(|row| row.name != "r0>n0"));
}

/// What waits for a link over time adds up to what packets have waited for it (table blame), stalls to `stalled_s` of the table links,
/// and no buffer holds more than it can, for every router and arbitration.
#[test]
fn queues_add_up_to_the_waits_and_stalls_of_the_run() {
    for (router, has_waits) in [
        ("[]", true),
        ("network.arbitration=\"age\"", true),
        ("network.arbitration=\"first-come\"", true),
        ("network.router=\"output-queued\"", true),
        ("network.router=\"pipelined\"", false),
    ] {
        let mut settings = vec!["run.queue_links=[\"r0>r1\", \"*>n4\", \"n1>r0\"]", "run.blame=true"];
        settings.extend((router != "[]").then_some(router));
        let results = results(INCAST, &settings);
        let rows = results.rows();
        let mut stalls: BTreeMap<&str, f64> = BTreeMap::new();
        for row in &rows.queue_series {
            *stalls.entry(&row.name).or_default() += row.stalled_s;
            assert!(
                row.buffered_bytes <= row.capacity_bytes as f64 * (1.0 + 1e-9),
                "{router}: {row:?}"
            );
        }
        let links = rows
            .links
            .iter()
            .filter(|row| ["r0>r1", "r1>n4", "n1>r0"].contains(&&*row.name));
        for link in links {
            let name = &*link.name;
            let found = stalls.get(name).copied().unwrap_or(0.0);
            assert!(
                (found - link.stalled_s).abs() < 1e-12,
                "{router} {name}: {found} {}",
                link.stalled_s
            );
            assert!(
                integral(&results, name, |row| row.buffered_bytes) > 0.0,
                "{router} {name}"
            );
            if has_waits && link.source_kind == "router" {
                let of_link = rows
                    .blame
                    .iter()
                    .filter(|row| row.name == name && row.resource != "input");
                let waited: f64 = of_link.map(|row| row.waited_s).sum();
                let found = integral(&results, name, |row| row.waiting_packets);
                assert!(
                    (found - waited).abs() < 1e-9 * waited.max(1e-6),
                    "{router} {name}: {found} {waited}"
                );
                assert!(name != "r0>r1" || waited > 0.0, "{router}");
            }
        }
        assert!(stalls["r0>r1"] > 0.0, "{router}");
    }
}

/// The same rows however the machine is divided and whoever runs ahead; the digest does not hang on what is recorded.
#[test]
fn queues_are_the_same_on_every_scheduler() {
    let of = |more: &[&str]| {
        let mut settings = vec!["run.queue_links=[\"*>*\"]"];
        settings.extend(more);
        results(INCAST, &settings)
    };
    let sequential = of(&["run.scheduler=\"sequential\""]);
    assert!(sequential.rows().queue_series.len() > 100);
    for router in ["", "network.router=\"pipelined\"", "network.router=\"output-queued\""] {
        let router: Vec<&str> = [router].into_iter().filter(|router| !router.is_empty()).collect();
        let with = |scheduler: &'static str| {
            let mut more = vec![scheduler, "run.threads=2", "run.parts=2"];
            more.extend(&router);
            of(&more)
        };
        let [a, b, c] = ["sequential", "conservative", "optimistic"].map(|name| match name {
            "sequential" => with("run.scheduler=\"sequential\""),
            "conservative" => with("run.scheduler=\"conservative\""),
            _ => with("run.scheduler=\"optimistic\""),
        });
        let lines = |results: &Results| -> Vec<String> {
            let rows = results.rows().queue_series.iter();
            rows.map(|row| format!("{row:?}")).collect()
        };
        assert_eq!(lines(&a), lines(&b), "{router:?}");
        assert_eq!(lines(&a), lines(&c), "{router:?}");
        let without = results(INCAST, &router);
        assert_eq!(a.digest(), without.digest(), "{router:?}");
    }
}

#[test]
fn mistakes_in_the_names_of_links_are_said() {
    for (settings, key, said) in [
        (
            vec!["run.queue_links=[\"r0>r1\", \"r0-r1\"]"],
            "run.queue_links.1",
            "\"r0-r1\" is no link",
        ),
        (
            vec!["run.queue_links=[\"r0>r2\"]"],
            "run.queue_links.0",
            "the machine has no link \"r0>r2\"",
        ),
        (
            vec!["run.queue_links=[\"*>n8\"]"],
            "run.queue_links.0",
            "no link \"*>n8\"",
        ),
        (
            vec![
                "run.queue_links=[\"*>*\"]",
                "machine.dragonfly={ groups = 9, routers_per_group = 4, nodes_per_router = 32 }",
            ],
            "run.queue_links",
            "links",
        ),
    ] {
        let error = load(INCAST, &settings).err().unwrap();
        assert_eq!(error.key, key, "{error}");
        assert!(error.to_string().contains(said), "{error}");
    }
    let text = MACHINE.replace("series_interval = \"300 ns\"", "queue_links = [\"r0>r1\"]") + INCAST;
    let error = scenario::load(&text, "queues.toml", &[], None, ".").err().unwrap();
    assert_eq!(error.key, "run.queue_links", "{error}");
    assert!(error.expected.contains("run.series_interval"), "{error}");
}

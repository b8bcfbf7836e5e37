//! Standard cases that measure the simulator itself.

mod families;
mod parallel;

use crate::scenario::{self, InputError};
use crate::simulation::Simulation;
use schemars::JsonSchema;
use serde::Serialize;
use std::time::{Duration, Instant};

/// A standard case: a name, and the scenario text for a length in messages per node.
struct Case {
    name: &'static str,
    routing: &'static str,
    load: f64,
    workload: &'static str,
}

/// 1,056 nodes (33 groups × 8 routers × 4 nodes), 4,096 B packets. Loads are fractions of the bound of uniform traffic:
/// one global link per node shared by 1024/1055 of its messages. Cases run sequentially: they measure the work per
/// packet-hop.
const CASES: [Case; 6] = [
    Case {
        name: "uniform-minimal-0.3",
        routing: "minimal",
        load: 0.3,
        workload: "uniform",
    },
    Case {
        name: "uniform-minimal-0.7",
        routing: "minimal",
        load: 0.7,
        workload: "uniform",
    },
    Case {
        name: "uniform-par-0.3",
        routing: "progressive-adaptive",
        load: 0.3,
        workload: "uniform",
    },
    Case {
        name: "uniform-par-0.7",
        routing: "progressive-adaptive",
        load: 0.7,
        workload: "uniform",
    },
    Case {
        name: "uniform-valiant-0.3",
        routing: "valiant",
        load: 0.3,
        workload: "uniform",
    },
    Case {
        name: "next-group-par-0.1",
        routing: "progressive-adaptive",
        load: 0.1,
        workload: "next-group",
    },
];

/// Bandwidth of a global link, bytes per second.
const GLOBAL: f64 = 4.7 * (1u64 << 30) as f64;
/// Packets and links of the dragonflies.
const NETWORK: &str = r#"[network]
packet = "4 KiB"
[network.links.terminal]
bandwidth = "16 GiB/s"
[network.links.local]
bandwidth = "5.25 GiB/s"
[network.links.global]
bandwidth = "4.7 GiB/s"
"#;
/// Share of uniform traffic between groups.
const LEAVING: f64 = 1024.0 / 1055.0;

/// The measurements of a case.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Figures {
    /// Name of the case.
    pub name: String,
    /// Nodes of the machine.
    pub nodes: u32,
    /// Packets delivered.
    pub packets: u64,
    /// Routers visited by them.
    pub packet_hops: u64,
    /// Events handled.
    pub events: u64,
    /// CPU seconds of all threads, including set-up.
    pub cpu_s: f64,
    /// Wall seconds, including set-up.
    pub wall_s: f64,
    /// The scheduler of the run.
    pub scheduler: String,
    /// The threads of the run.
    pub threads: u64,
    /// How the run ended.
    pub outcome: String,
    /// The figure of merit.
    pub packet_hops_per_cpu_s: f64,
    /// Events per packet-hop.
    pub events_per_hop: f64,
    /// Simulation state per node at the end, bytes.
    pub bytes_per_node: f64,
    /// Peak resident size of the process so far, bytes.
    pub peak_rss_bytes: u64,
    /// The run's digest.
    pub digest: String,
}

/// Names of the standard cases.
pub fn cases() -> Vec<&'static str> {
    let families = families::CASES.iter().map(|case| case.name);
    let standard = CASES.iter().map(|case| case.name);
    standard.chain(families).chain([families::PIPELINED]).collect()
}

/// Names of the cases for several threads.
pub fn parallel_cases() -> Vec<&'static str> {
    parallel::CASES.iter().map(|case| case.name).collect()
}

/// Runs a case of either list with `overrides` of its settings; `quick` runs at most a tenth of it.
///
/// # Errors
/// No case has this name, or the scenario does not resolve.
pub fn run(name: &str, quick: bool, overrides: &[String]) -> Result<Figures, InputError> {
    let standard = CASES.iter().find(|case| case.name == name);
    let standard = standard.map(|case| text(case, if quick { 400 } else { 4_000 }));
    let family = families::CASES.iter().find(|case| case.name == name);
    let family = family.map(|case| case.text(if quick { 100 } else { 1_000 }));
    let pipelined = (name == families::PIPELINED).then(|| families::pipelined(if quick { 100 } else { 2_000 }));
    let larger = parallel::CASES.iter().find(|case| case.name == name);
    let Some(text) = standard
        .or(family)
        .or(pipelined)
        .or_else(|| larger.map(|case| case.text(quick)))
    else {
        return Err(InputError {
            file: "benchmark".into(),
            line: None,
            column: None,
            key: String::new(),
            message: format!("unknown benchmark case {name:?}"),
            value: Some(name.into()),
            expected: format!("one of {}, {}", cases().join(", "), parallel_cases().join(", ")),
            hint: None,
        });
    };
    let started = Instant::now();
    let mut simulation = Simulation::new(scenario::load(&text, "bench.toml", overrides, None, ".")?)?;
    while !simulation.advance(Duration::from_secs(3600)).finished {}
    let results = simulation.finish(false);
    let wall_s = started.elapsed().as_secs_f64();
    let (progress, run) = (results.progress(), results.run_json());
    Ok(Figures {
        name: name.into(),
        nodes: run["nodes"].as_u64().unwrap_or(0) as u32,
        packets: progress.packets,
        packet_hops: progress.packet_hops,
        events: progress.events,
        cpu_s: results.cpu_s(),
        wall_s,
        scheduler: run["scheduler"].as_str().unwrap_or_default().into(),
        threads: run["threads"].as_u64().unwrap_or(0),
        outcome: results.outcome().name().into(),
        packet_hops_per_cpu_s: progress.packet_hops as f64 / results.cpu_s(),
        events_per_hop: progress.events as f64 / progress.packet_hops as f64,
        bytes_per_node: results.bytes_per_node(),
        peak_rss_bytes: crate::cost::peak_rss(),
        digest: results.digest().into(),
    })
}

fn text(case: &Case, messages: u32) -> String {
    let interval_ns = 4096.0 * LEAVING / (GLOBAL * case.load) * 1e9;
    let pattern = match case.workload {
        "next-group" => "next-group = { ranks_per_group = 32, ",
        _ => "uniform = { ",
    };
    format!(
        r#"
name = "{}"
[run]
scheduler = "sequential"
message_rows = 0
[machine.dragonfly]
groups = 33
routers_per_group = 8
nodes_per_router = 4
global_ports_per_router = 4
{NETWORK}[network.routing]
algorithm = "{}"
[[jobs]]
name = "traffic"
ranks = 1056
placement = "contiguous"
workload = {{ {pattern}bytes = "4 KiB", mean_interval = "{interval_ns:.3} ns", messages = {messages} }} }}
"#,
        case.name, case.routing
    )
}

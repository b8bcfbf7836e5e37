//! Scenarios in cycles and flits.

use crate::common;
use odonata_system::scenario::resolved::Workload;
use odonata_system::scenario::{InputError, Scenario};
use odonata_units::{Bandwidth, Bytes, Time};
use odonata_workload::skeletons::Skeleton;

const MACHINE: &str = "[machine.dragonfly]\ngroups = 3\nrouters_per_group = 2\nnodes_per_router = 1\n\
                       global_ports_per_router = 1\n";

fn try_load(text: &str, overrides: &[&str]) -> Result<Scenario, InputError> {
    common::load(&format!("{text}{MACHINE}"), overrides)
}

fn load(text: &str) -> Scenario {
    try_load(text, &[]).unwrap_or_else(|error| panic!("{error}"))
}

/// The units of BookSim: cycles of 1 ns, flits of 32 B.
const BOOKSIM: &str = r#"
[run]
time_limit = "30000 cycles"
[network]
clock = "1 ns"
flit = "32 B"
packet = "16 flits"
router_delay = "2 cycles"
[network.links]
terminal = { bandwidth = "1 flit/cycle", latency = "1 cycle", buffer = "256 flits" }
local = { bandwidth = "1 flit/cycle", latency = "10 cycles", buffer = "256 flits" }
global = { bandwidth = "0.5 flits/cycle", latency = "100 cycles", buffer = "256 flits" }
[[jobs]]
name = "3 cycles"
ranks = 5
workload.uniform = { load = 0.5, bytes = "1 flit" }
[[jobs]]
ranks = 6
ranks_per_node = 6
start = "30 cycles"
placement.nodes = [2]
workload.stencil = { iterations = 1, compute = "7 cycles", message = "3 flits" }
"#;

#[test]
fn times_sizes_and_rates_are_counted_in_cycles_and_flits() {
    let resolved = load(BOOKSIM).resolved;
    let network = &resolved.network;
    assert_eq!(resolved.run.time_limit, Some(Time::from_ns(30_000)));
    assert_eq!((network.packet, network.flit), (Bytes(512), Bytes(32)));
    assert_eq!(network.router_delay, Time::from_ns(2));
    assert_eq!(network.links.terminal.bandwidth, Bandwidth(32e9));
    assert_eq!(network.links.global.bandwidth, Bandwidth(16e9));
    assert_eq!(network.links.global.latency, Time::from_ns(100));
    assert_eq!(network.links.local.buffer, Bytes(8_192));
    // Names are not converted.
    assert_eq!(resolved.jobs[0].name.as_str(), "3 cycles");
    assert_eq!(resolved.jobs[1].start.at, Time::from_ns(30));
    let Workload::Synthetic(traffic) = &*resolved.jobs[0].workload else {
        panic!("traffic")
    };
    // Half a flit per node and cycle: one flit every two cycles.
    assert_eq!(traffic.mean_interval, Time::from_ns(2));
    let Workload::Skeleton(Skeleton::Stencil(stencil)) = &*resolved.jobs[1].workload else {
        panic!("a stencil")
    };
    assert_eq!((stencil.compute, stencil.message), (Time::from_ns(7), Bytes(96)));
    let json = serde_json::to_value(&resolved).unwrap();
    assert_eq!(json["network"]["clock"], "1 ns");
}

#[test]
fn a_clock_may_be_a_frequency_or_an_override() {
    let job = "[[jobs]]\nranks = 2\nworkload.uniform = { mean_interval = \"5 cycles\", messages = 1 }\n";
    let interval = |overrides: &[&str]| {
        let loaded = try_load(job, overrides).unwrap_or_else(|error| panic!("{error}"));
        match &*loaded.resolved.jobs[0].workload {
            Workload::Synthetic(traffic) => *traffic.mean_interval,
            _ => panic!("traffic"),
        }
    };
    assert_eq!(interval(&["network.clock=1.25 GHz"]), Time(4_000));
    assert_eq!(interval(&["network.clock=800 ps"]), Time(4_000));
    let json = serde_json::to_value(load("[[jobs]]\nranks = 2\nworkload.milc = {}\n").resolved).unwrap();
    assert_eq!(json["network"]["clock"], serde_json::Value::Null);
}

#[test]
fn mistakes_are_found_with_their_line_and_key() {
    let job = "[[jobs]]\nranks = 2\nworkload.milc = {}\n";
    let error = |network: &str| try_load(&format!("[network]\n{network}\n{job}"), &[]).unwrap_err();
    let found = error("router_delay = \"3 cycles\"");
    assert_eq!((found.line, found.key.as_str()), (Some(2), "network.router_delay"));
    assert!(found.message.contains("without network.clock"), "{found}");

    for clock in ["0 ns", "0 GHz", "-2 ns"] {
        let found = error(&format!("clock = \"{clock}\""));
        assert_eq!((found.line, found.key.as_str()), (Some(2), "network.clock"));
        assert!(found.to_string().contains("a frequency such as \"1 GHz\""), "{found}");
    }

    // Reported before everything that is written in cycles and flits, wherever it stands.
    let found = error("router_delay = \"2 cycles\"\nclock = \"0 GHz\"");
    assert_eq!((found.line, found.key.as_str()), (Some(3), "network.clock"));
    assert_eq!(
        (found.value.as_deref(), found.hint.as_deref()),
        (Some("\"0 GHz\""), Some("it must be positive"))
    );
    let found = error("packet = \"4 flits\"\nflit = \"16 Kb\"");
    assert_eq!((found.line, found.key.as_str()), (Some(3), "network.flit"));
    assert!(
        found
            .hint
            .as_deref()
            .is_some_and(|hint| hint.contains("\"b\" means bits")),
        "{found}"
    );
    let found = error("packet = \"4 flits\"\nflit = \"0 B\"");
    assert_eq!((found.line, found.key.as_str()), (Some(3), "network.flit"));
    assert!(found.expected.starts_with("1 B at least"), "{found}");

    let found = error("clock = \"1.5 GHz\"\nrouter_delay = \"1 cycle\"");
    assert_eq!((found.line, found.key.as_str()), (Some(3), "network.router_delay"));
    assert_eq!(found.expected, "a whole number of ps");

    let found = error("packet = \"0.01 flits\"");
    assert_eq!(found.expected, "a whole number of bytes");
    let found = error("flit = \"2 flits\"");
    assert_eq!(found.key, "network.flit");
    assert!(found.message.contains("without network.flit in bytes"), "{found}");

    // Time for a size: the written value is shown.
    let found = error("clock = \"1 ns\"\npacket = \"3 cycles\"");
    assert_eq!(found.value.as_deref(), Some("\"3 cycles\""));
    assert!(found.expected.starts_with("a size"), "{found}");
    let found = error("clock = \"1 ns\"\nrouter_delay = \"-3 cycles\"");
    assert_eq!(found.hint.as_deref(), Some("it must not be negative"));
    let found = error("clock = 1");
    assert_eq!(found.key, "network.clock");
}

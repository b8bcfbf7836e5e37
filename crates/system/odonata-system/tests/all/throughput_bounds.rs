//! The throughput of every family of networks under minimal routing reaches its bound, and never exceeds it.
//!
//! Where all links take one flit per cycle, the busiest one bounds the load: `bound = 1 / (flits that it has to carry
//! per flit that each node sends)` (W. Dally and B. Towles, "Principles and practices of interconnection networks",
//! 2004, equation 3.4).

use odonata_system::load_sweep::{LoadSweep, Method, PointResult, Steady};
use std::time::Duration;

/// Packets of one flit, a flit per nanosecond on every link, and buffers large enough for the delay of links and
/// credits.
const NETWORK: &str = r#"
seed = 5
[mpi]
send_delay = "0 s"
send_per_byte = "0 ps/B"
[nic]
message_delay = "0 s"
[network]
packet = "64 B"
flit = "64 B"
router_delay = "2 ns"
[network.links]
terminal = { bandwidth = "64 GB/s", latency = "2 ns", buffer = "4 KiB" }
local = { bandwidth = "64 GB/s", latency = "2 ns", buffer = "4 KiB" }
global = { bandwidth = "64 GB/s", latency = "2 ns", buffer = "4 KiB" }
column = { bandwidth = "64 GB/s", latency = "2 ns", buffer = "4 KiB" }
"#;

/// The results at `loads` of a traffic.
fn points<const N: usize>(
    machine: &str,
    nodes: u32,
    algorithm: &str,
    workload: &str,
    loads: [f64; N],
) -> [PointResult; N] {
    let text = format!(
        "{NETWORK}\n[network.routing]\nalgorithm = \"{algorithm}\"\n[machine]\n{machine}\n[[jobs]]\nname = \"traffic\"\n\
         ranks = {nodes}\nworkload.{workload}\n"
    );
    let method = Method::Steady(Steady {
        max_warmup: 5,
        max_periods: 10,
        ..Steady::default()
    });
    let sweep =
        LoadSweep::load(&text, "bound.toml", &[], None, "", None, method).unwrap_or_else(|error| panic!("{error}"));
    loads.map(|load| {
        let mut point = sweep.point(load).unwrap_or_else(|error| panic!("{error}"));
        while !point.advance(Duration::from_secs(60)).finished {}
        let result = point.result().expect("it has ended");
        assert!(!result.failed, "{machine}");
        result
    })
}

const UNIFORM: &str = "uniform = { load = 1.0, self = true }";

#[test]
fn every_family_reaches_the_bound_of_its_busiest_link_and_never_passes_it() {
    // Machine, nodes, algorithm, traffic, bound, and the minimum share of it that is reached.
    let cases = [
        // All nodes send 3 hops ahead: every link of that direction carries this much.
        (
            "torus = { dims = [8] }",
            8,
            "dimension-order",
            "tornado = { load = 1.0 }",
            1.0 / 3.0,
            0.95,
        ),
        // k / 8 of what each node sends, for even k.
        (
            "torus = { dims = [16] }",
            16,
            "dimension-order",
            UNIFORM,
            8.0 / 16.0,
            0.85,
        ),
        (
            "torus = { dims = [16, 4] }",
            64,
            "dimension-order",
            UNIFORM,
            8.0 / 16.0,
            0.85,
        ),
        // k / 4 in the middle.
        ("mesh = { dims = [8] }", 8, "dimension-order", UNIFORM, 4.0 / 8.0, 0.85),
        (
            "mesh = { dims = [8, 2] }",
            16,
            "dimension-order",
            UNIFORM,
            4.0 / 8.0,
            0.85,
        ),
        // All nodes send to the next router: one cable for all nodes of a router.
        (
            "hyperx = { dims = [4, 4], nodes_per_router = 5 }",
            80,
            "minimal",
            "worst-case = { load = 1.0 }",
            1.0 / 5.0,
            0.95,
        ),
        // 10 nodes, an eighth of whose flits go to each router.
        (
            "hyperx = { dims = [8], nodes_per_router = 10 }",
            80,
            "minimal",
            UNIFORM,
            8.0 / 10.0,
            0.85,
        ),
        // Four nodes below two cables up.
        (
            "fat-tree = { down = [4, 4], up = [1, 2] }",
            16,
            "nearest-common-ancestor",
            "worst-case = { load = 1.0 }",
            2.0 / 4.0,
            0.95,
        ),
        (
            "fat-tree = { k = 4, n = 3 }",
            64,
            "nearest-common-ancestor",
            "worst-case = { load = 1.0 }",
            1.0,
            0.8,
        ),
        // 50 routers of 7 cables: of 6 nodes each, 7 / 50 of the flits take one cable and 42 / 50 two.
        (
            "slim-fly = { q = 5, nodes_per_router = 6 }",
            300,
            "minimal",
            UNIFORM,
            7.0 / (6.0 * 1.82),
            0.8,
        ),
        // All nodes of a group to the next one.
        (
            "dragonfly = { groups = 5, routers_per_group = 4, nodes_per_router = 2, global_ports_per_router = 1 }",
            40,
            "minimal",
            "worst-case = { load = 1.0 }",
            1.0 / 8.0,
            0.95,
        ),
        (
            "dragonfly-2d = { groups = 4, rows = 2, columns = 3, nodes_per_router = 2, global_ports_per_router = 2, cables = 3 }",
            48,
            "minimal",
            "worst-case = { load = 1.0 }",
            3.0 / 12.0,
            0.9,
        ),
        (
            "dragonfly-plus = { groups = 4, leaves_per_group = 3, spines_per_group = 2, nodes_per_leaf = 3, \
             global_ports_per_spine = 3 }",
            36,
            "minimal",
            "worst-case = { load = 1.0 }",
            2.0 / 9.0,
            0.9,
        ),
    ];
    for (machine, nodes, algorithm, traffic, bound, reached) in cases {
        let context = format!("{machine} {algorithm} {traffic}, bound {bound:.4}");
        let loads = [reached * bound, 1.0f64.min(1.1 * bound), 1.0];
        let [below, above, all] = points(machine, nodes, algorithm, traffic, loads);
        assert!(
            !below.saturated && below.accepted >= 0.97 * loads[0],
            "{context}: {below:?}"
        );
        assert!(above.saturated || bound == 1.0, "{context}: {above:?}");
        // A count over a period can differ by the content of buffers. Uniform traffic that does not need the busiest
        // link continues beyond the bound.
        assert!(traffic == UNIFORM || all.accepted <= 1.01 * bound, "{context}: {all:?}");
    }
}

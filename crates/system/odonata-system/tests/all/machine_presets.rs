//! The presets of real machines: sizes as published.

use odonata_network::settings::CongestionKind;
use odonata_system::check;
use odonata_system::describe::{Description, describe};
use odonata_system::scenario::{self, Scenario, presets};
use odonata_units::{Bandwidth, Time};

fn machine(preset: &str) -> Description {
    let text = format!("preset = \"{preset}\"\n");
    let hardware = scenario::load_hardware(&text, preset, &[], "").unwrap_or_else(|error| panic!("{error}"));
    describe(&hardware).unwrap()
}

fn with_job(preset: &str, ranks: u32) -> Scenario {
    with_workload(preset, ranks, "checkpoint")
}

fn with_workload(preset: &str, ranks: u32, workload: &str) -> Scenario {
    let text = format!("preset = \"{preset}\"\n[[jobs]]\nranks = {ranks}\nworkload.{workload} = {{}}\n");
    scenario::load(&text, "s.toml", &[], None, "").unwrap_or_else(|error| panic!("{error}"))
}

/// Cables by class, for the classes that the machine has.
fn cables(description: &Description) -> Vec<(&str, u64)> {
    let links = description.links.iter();
    links.map(|links| (links.class, links.cables)).collect()
}

#[test]
fn every_preset_but_that_of_a_router_is_a_machine() {
    assert_eq!(presets::names().count(), 24);
    for preset in presets::names().filter(|&preset| preset != "booksim") {
        let found = machine(preset);
        assert!(found.nodes > 0 && found.diameter.nodes > 0, "{preset}");
    }
}

/// A Cray XC group: 6 x 16 x 15 / 2 green cables and 16 x 6 x 5 / 2 x 3 black ones.
#[test]
fn cray_xc_groups_have_their_green_and_black_cables() {
    for (preset, groups, blue) in [
        ("theta", 9, 12),
        ("edison", 15, 24),
        ("cori-like", 25, 12),
        ("cori-like-authors", 25, 12),
        ("trinity", 57, 4),
        ("cori", 34, 16),
        ("theta-full", 12, 48),
    ] {
        let found = machine(preset);
        assert_eq!((found.kind, u64::from(found.groups)), ("dragonfly-2d", groups));
        assert_eq!(found.routers_per_group, [96, 96]);
        let expected = [
            ("terminal", u64::from(found.nodes)),
            ("local", groups * 720),
            ("global", groups * (groups - 1) / 2 * blue),
            ("column", groups * 720),
        ];
        assert_eq!(cables(&found), expected, "{preset}");
    }
    assert_eq!(machine("theta").nodes, 3_456);
    assert_eq!(machine("edison").nodes, 5_760);
}

#[test]
fn cori_has_9000_compute_nodes_and_300_burst_buffers() {
    let found = machine("cori-like");
    // 96 global ports of each group stay free.
    assert_eq!((found.nodes, found.free_ports), (9_300, 25 * 96));
    let Scenario {
        resolved, placement, ..
    } = with_job("cori-like", 9_000);
    assert_eq!(placement.servers.len(), 300);
    // The two burst buffers of the first chassis are the nodes behind its 15 x 4; each serves 30 nodes.
    assert_eq!(placement.servers[..3], [60, 61, 122]);
    let served = placement.jobs[0].servers.iter().filter(|&&server| server == 7).count();
    assert_eq!(served, 30);
    let links = &resolved.network.links;
    assert_eq!(links.terminal.bandwidth, Bandwidth::gib_per_s(16.0));
    assert_eq!(links.local.bandwidth, Bandwidth::gib_per_s(5.25));
    assert_eq!(links.column.bandwidth, Bandwidth::gib_per_s(5.25));
    assert_eq!(links.global.bandwidth, Bandwidth::gib_per_s(4.69));
}

#[test]
fn trinity_has_20520_compute_nodes_and_570_burst_buffers() {
    assert_eq!(machine("trinity").nodes, 57 * (360 + 10 + 4));
    let Scenario {
        resolved, placement, ..
    } = with_job("trinity", 20_520);
    assert_eq!(placement.servers.len(), 570);
    assert_eq!(resolved.layout.service_nodes(), 57 * 4);
    // Between groups four links make 18.75 GB/s.
    assert_eq!(4.0 * resolved.network.links.global.bandwidth.0, 18.75e9);
    assert_eq!(3.0 * resolved.network.links.column.bandwidth.0, 15.75e9);
}

/// Σ floor(k / 2) hops to the farthest node, n k^n cables except in the dimension of two routers, which has double
/// ones.
#[test]
fn blue_genes_are_tori() {
    let p = machine("bluegene-p");
    assert_eq!((p.nodes, p.diameter.routers), (512, 12));
    assert_eq!(cables(&p), [("terminal", 512), ("local", 3 * 512)]);
    let q = machine("bluegene-q");
    assert_eq!((q.nodes, q.diameter.routers), (1_024, 11));
    assert_eq!(cables(&q), [("terminal", 1_024), ("local", 5 * 1_024)]);
    // One hop of a rack of Blue Gene/Q takes 40 ns.
    let text = "preset = \"bluegene-q\"\n";
    let network = scenario::load_hardware(text, "q", &[], "").unwrap().network;
    assert_eq!(network.router_delay + *network.links.local.latency, Time::from_ns(40));
}

#[test]
fn frontier_has_270_tb_per_s_between_its_groups() {
    let found = machine("frontier-like");
    // Four interfaces of 9,472 nodes.
    assert_eq!((found.groups, found.nodes), (74, 4 * 9_472));
    assert!(found.ports_per_router[1] <= 64);
    let global = found.links.iter().find(|links| links.class == "global").unwrap();
    let rate = global.cables as f64 * global.bandwidth_bytes_per_s;
    assert!((rate / 270e12 - 1.0).abs() < 0.01, "{rate}");
}

/// The same machine in whole nodes.
#[test]
fn frontier_has_nodes_with_four_interfaces() {
    let (whole, interfaces) = (machine("frontier"), machine("frontier-like"));
    assert_eq!((whole.groups, whole.nodes), (74, 9_472));
    assert_eq!(whole.routers, interfaces.routers);
    assert_eq!(cables(&whole), cables(&interfaces));
    assert_eq!(whole.nodes_per_router, [4, 4]);
}

#[test]
fn frontier_limits_the_pairs_that_congest_an_interface() {
    let network = scenario::load_hardware("preset = \"frontier-like\"\n", "frontier", &[], "")
        .unwrap()
        .network;
    assert_eq!(network.congestion_control.kind, CongestionKind::PerPair);
}

/// Eight racks of 72 GPUs, a leaf for each GPU of a rack, eight spines.
#[test]
fn a_unit_of_gb200_has_eight_racks_of_72() {
    let found = machine("dgx-gb200");
    assert_eq!((found.nodes, found.routers), (8 * 72, 8 * 72 + 8 + 72 + 8));
    let of = |class: &str| found.links.iter().find(|links| links.class == class).unwrap();
    assert_eq!([of("column").cables, of("global").cables], [576, 72 * 8]);
}

/// Four scalable units of 32 hosts of 8 GPUs; 8 leaves each, 16 spines, all of 64 ports; 50 GB/s of every GPU up to the spines.
#[test]
fn a_superpod_has_the_switches_of_its_reference_architecture() {
    let found = machine("dgx-h100-superpod-like");
    let other = machine("dgx-h100-superpod");
    assert_eq!((found.nodes, found.routers), (other.nodes, other.routers));
    assert_eq!(found.nodes, 1_024);
    let leaves_and_spines = 4 * 8 + 16;
    // GPUs, the switches in hosts, leaves and spines.
    assert_eq!(found.routers, 1_024 + 128 + leaves_and_spines);
    assert_eq!(found.ports_per_router[1], 64);
    assert_eq!(
        cables(&found),
        [
            ("terminal", 1_024),
            ("local", 1_024),
            ("global", 1_024),
            ("column", 1_024)
        ]
    );
    for links in found
        .links
        .iter()
        .filter(|links| ["global", "column"].contains(&links.class))
    {
        assert_eq!(links.bandwidth_bytes_per_s, 50e9);
    }
}

#[test]
fn every_preset_is_free_of_dependency_cycles() {
    prove_all(false);
}

#[test]
#[ignore = "takes long"]
fn every_preset_is_free_of_dependency_cycles_with_every_routing_of_its_family() {
    prove_all(true);
}

fn prove_all(every: bool) {
    std::thread::scope(|threads| {
        for preset in presets::names().filter(|&preset| preset != "booksim") {
            threads.spawn(move || prove(preset, every));
        }
    });
}

/// Under every algorithm, or only the last of those below. Detours over a group and over a router need different
/// channels; which loads are compared does not matter for the proof.
fn prove(preset: &str, every: bool) {
    let detours: &[&str] = &["via = \"group\"", "via = \"router\""];
    let kind = machine(preset).kind;
    // Presets that follow another tool have its rule, which lacks channels for some detours.
    let rule = if kind == "dragonfly" { "vc_rule = \"stage\"" } else { "" };
    let algorithms: &[(&str, &[&str])] = match kind {
        "torus" => &[
            ("dimension-order", &[""]),
            ("bubble", &[""]),
            ("minimal-adaptive", &[""]),
            ("valiant", &[""]),
            ("romm", &[""]),
            ("up-down", &[""]),
        ],
        "dragonfly" | "dragonfly-2d" => &[
            ("minimal", &[""]),
            ("valiant", detours),
            ("ugal", detours),
            ("progressive-adaptive", detours),
        ],
        "dragonfly-plus" => &[
            ("minimal", &[""]),
            ("valiant", &[""]),
            ("ugal", &[""]),
            ("progressive-adaptive", &[""]),
        ],
        "fat-tree" => &[("nearest-common-ancestor", &["up = \"random\""]), ("up-down", &[""])],
        "rail-optimized" => &[
            ("minimal", &["up = \"random\""]),
            ("pxn", &["up = \"random\""]),
            ("up-down", &[""]),
        ],
        kind => panic!("{preset} is a {kind}: name its algorithms here"),
    };
    let first = if every { 0 } else { algorithms.len() - 1 };
    for (algorithm, variants) in &algorithms[first..] {
        for variant in *variants {
            let text = format!(
                "preset = \"{preset}\"\n[network.routing]\nalgorithm = \"{algorithm}\"\n{variant}\n\
                 {rule}\n[[jobs]]\nranks = 4\nworkload.milc = {{}}\n"
            );
            let loaded = scenario::load(&text, "s.toml", &[], None, "")
                .unwrap_or_else(|error| panic!("{preset} {algorithm} {variant}: {error}"));
            let routing = check(&loaded).unwrap_or_else(|error| panic!("{error}")).routing;
            assert!(
                routing.deadlock_free,
                "{preset} {algorithm} {variant}: {:?}",
                routing.cycle
            );
        }
    }
}

/// 276 pairs of groups with 20 cables each, 62 links per switch at most.
#[test]
fn lumi_has_20_cables_between_groups_and_16_interfaces_per_switch() {
    let found = machine("lumi");
    assert_eq!((found.groups, found.nodes, found.routers), (24, 24 * 32 * 16, 24 * 32));
    assert!(found.ports_per_router[1] <= 64);
    let global = found.links.iter().find(|links| links.class == "global").unwrap();
    assert_eq!(global.cables, 276 * 20);
}

/// Leaf: 10, 18 or 35 nodes and 18 cables up; spine: 18 leaves and 18 cables to each of 21 cells over 18 spines.
#[test]
fn leonardo_has_18_cables_between_cells_of_three_sizes() {
    let found = machine("leonardo");
    let nodes = 18 * (19 * 10 + 18 + 2 * 35);
    assert_eq!((found.groups, found.nodes, found.routers), (22, nodes, 22 * 36));
    assert_eq!(found.ports_per_router, [40, 35 + 18]);
    let global = found.links.iter().find(|links| links.class == "global").unwrap();
    assert_eq!(global.cables, 22 * 21 / 2 * 18);
}

#[test]
fn marenostrum5_has_35_racks_of_32_nodes() {
    let found = machine("marenostrum5");
    assert_eq!((found.nodes, found.diameter.routers), (7 * 5 * 32, 4));
}

/// 166 x 165 / 2 pairs of compute groups and 166 x 8 to the servers with 2 cables, 28 pairs of server groups with 22.
#[test]
fn aurora_has_two_cables_between_groups_and_22_between_those_of_its_servers() {
    let found = machine("aurora");
    assert_eq!((found.groups, found.nodes), (174, 10_624 + 1_024 / 4));
    assert!(found.ports_per_router[1] <= 64);
    let global = found.links.iter().find(|links| links.class == "global").unwrap();
    assert_eq!(global.cables, 2 * (166 * 165 / 2 + 166 * 8) + 22 * 28);
    // 2.12 PB/s of injection, and 0.69 PB/s in both directions between two halves of the compute groups.
    let rate = global.bandwidth_bytes_per_s;
    assert!((10_624.0 * 8.0 * rate / 2.12e15 - 1.0).abs() < 0.01);
    assert!((83.0 * 83.0 * 2.0 * 2.0 * rate / 0.69e15 - 1.0).abs() < 0.01);
    let servers = with_job("aurora", 10_624).placement.servers.clone();
    assert_eq!((servers.len(), servers[0], servers[255]), (256, 10_624, 10_879));
}

#[test]
fn slingshot_machines_have_their_hosts_and_switches() {
    let perlmutter = machine("perlmutter");
    assert_eq!((perlmutter.nodes, perlmutter.routers), (1_792, 14 * 32));
    let alps = machine("alps");
    assert_eq!((alps.nodes, alps.routers), (4 * 2_688, 24 * 32));
    assert_eq!([&perlmutter, &alps].map(|found| found.ports_per_router[1]), [64, 62]);
}

#[test]
fn cori_and_theta_have_places_for_their_compute_nodes() {
    let cori = with_job("cori", 12_076);
    assert_eq!(
        (cori.placement.servers.len(), cori.resolved.layout.service_nodes()),
        (34 * 8, 34 * 12)
    );
    let theta = with_workload("theta-full", 4_392, "milc");
    assert_eq!(theta.resolved.layout.service_nodes(), 12 * 16);
    assert_eq!(machine("theta-full").nodes, 24 * 192);
}

#[test]
fn fugaku_is_a_torus_of_the_shape_of_a_job() {
    let found = machine("fugaku");
    assert_eq!((found.nodes, found.diameter.routers), (64, 6));
}

#[test]
fn hosts_of_a_preset_are_placed_by_their_names() {
    let load = |rule: &str| {
        let text = format!("preset = \"lumi\"\n[[jobs]]\nranks = 2\nplacement = {rule}\nworkload.milc = {{}}\n");
        scenario::load(&text, "s.toml", &[], None, "").map(|scenario| scenario.placement.jobs[0].nodes.clone())
    };
    let by_name = load("{ hosts = [\"x1302c0s3b0n0\", \"nid006743\"] }").unwrap();
    assert_eq!(by_name, load(&format!("{{ nodes = {by_name:?} }}")).unwrap());
    let error = load("{ hosts = [\"x1302c0s3b0n0\", \"lrdn0001\"] }").unwrap_err();
    assert_eq!(error.key, "jobs.0.placement.hosts.1", "{error}");
    assert!(error.expected.contains("x1302c0s3b0n0"), "{error}");
}

//! Nodes with several network interfaces: closed forms of striping and of affinity, every family, one digest on every
//! scheduler, and what is refused.

use crate::common::{finish, load};
use crate::everywhere::assert_one_digest;
use odonata_system::{Outcome, Results, scenario};
use odonata_topology::FamilyName;

/// A router with 8 links to nodes of 10 bytes per ns, and 3 more such routers. No cost depends on the bytes but the links'.
fn text(interfaces: u32, nic: &str, jobs: &str) -> String {
    format!(
        "[machine]\ninterfaces = {interfaces}\n\
         dragonfly = {{ groups = 4, routers_per_group = 1, nodes_per_router = 8, global_ports_per_router = 3 }}\n\
         [network]\npacket = \"4 KiB\"\nflit = \"64 B\"\nrouter_delay = \"90 ns\"\nrouting.algorithm = \"minimal\"\n\
         links.terminal = {{ bandwidth = \"10 GB/s\", latency = \"20 ns\" }}\n\
         links.global = {{ bandwidth = \"80 GB/s\", latency = \"300 ns\" }}\n\
         [nic]\n{nic}\n[mpi]\neager_threshold = \"none\"\n{jobs}"
    )
}

fn try_run(text: &str, overrides: &[&str]) -> Result<Results, scenario::InputError> {
    Ok(finish(load(text, overrides)?))
}

fn run(text: &str, overrides: &[&str]) -> Results {
    let results = try_run(text, overrides).unwrap_or_else(|error| panic!("{error}\n{text}"));
    assert_eq!(*results.outcome(), Outcome::Completed, "{overrides:?}");
    results
}

/// Round trips of `bytes` between rank r and rank r + `ranks` / 2, in picoseconds.
fn ping_pong(interfaces: u32, nic: &str, (ranks, per_node): (u32, u32), bytes: u64, overrides: &[&str]) -> u64 {
    let jobs = format!(
        "[[jobs]]\nranks = {ranks}\nranks_per_node = {per_node}\n\
         workload.ping-pong = {{ bytes = \"{bytes} B\", iterations = 3, pairs = \"halves\" }}\n"
    );
    let results = run(&text(interfaces, nic, &jobs), overrides);
    (results.rows().jobs[0].elapsed_s * 1e12).round() as u64
}

/// A message of S s bytes striped over S interfaces takes the time of one of s bytes on one interface, eager or by
/// rendezvous: parts leave at once, and each has links of its own.
#[test]
fn striping_multiplies_the_bandwidth_of_a_message() {
    const BYTES: u64 = 1 << 22;
    for rendezvous in [&[][..], &["mpi.eager_threshold=1 KiB"]] {
        let one = ping_pong(1, "", (2, 1), BYTES, rendezvous);
        for (interfaces, nic, stripes) in [
            (2, "stripe_above = \"64 KiB\"", 2),
            (4, "stripe_above = \"64 KiB\"", 4),
            (4, "stripe_above = \"64 KiB\"\nstripe_interfaces = 2", 2),
            (2, "", 1),
            (2, "stripe_above = \"4 MiB\"", 1),
        ] {
            let striped = ping_pong(interfaces, nic, (2, 1), stripes * BYTES, rendezvous);
            assert_eq!(striped, one, "{interfaces} {nic} {rendezvous:?}");
        }
        // 6 trips at 10 bytes per ns.
        let least = 6 * BYTES * 100;
        assert!((least..least + least / 50).contains(&one), "{one} ps");
    }
}

/// Two ranks of a node on two interfaces do not disturb each other: both pairs take the time of one. On one interface, a
/// message waits for the other one.
#[test]
fn ranks_on_different_interfaces_do_not_disturb_each_other() {
    const BYTES: u64 = 1 << 22;
    let alone = ping_pong(1, "", (2, 1), BYTES, &[]);
    for affinity in ["block", "round-robin"] {
        let nic = format!("affinity = \"{affinity}\"");
        assert_eq!(ping_pong(2, &nic, (4, 2), BYTES, &[]), alone, "{affinity}");
    }
    // The second message waits once for the first; then the pairs alternate: 7 in place of 6 messages one after the other.
    let shared = ping_pong(1, "", (4, 2), BYTES, &[]) as f64 / alone as f64;
    assert!((shared * 6.0 / 7.0 - 1.0).abs() < 0.01, "{shared}");
}

/// Two ranks on a node with 4 interfaces use 0 and 2 in blocks, 0 and 1 in turn; so do their partners.
#[test]
fn affinity_decides_which_interface_serves_a_rank() {
    let job = "[[jobs]]\nranks = 4\nranks_per_node = 2\nplacement = { nodes = [0, 1] }\n\
               workload.ping-pong = { bytes = \"1000 B\", iterations = 1, pairs = \"halves\" }\n";
    let bytes = |affinity: &str, names: [&str; 4]| {
        let results = run(&text(4, &format!("affinity = \"{affinity}\""), job), &[]);
        let links = results.rows().links.clone();
        names.map(|name| links.iter().find(|link| link.name == name).map(|link| link.bytes))
    };
    let sent = ["n0.0>r0", "n0.1>r0", "n0.2>r0", "n0.3>r0"];
    let received = ["r0>n1.0", "r0>n1.1", "r0>n1.2", "r0>n1.3"];
    for names in [sent, received] {
        assert_eq!(bytes("block", names), [Some(1000), Some(0), Some(1000), Some(0)]);
        assert_eq!(bytes("round-robin", names), [Some(1000), Some(1000), Some(0), Some(0)]);
    }
}

/// Servers use all their interfaces, by client; files are whole whatever is striped.
#[test]
fn files_use_the_interfaces_of_servers_by_client() {
    let jobs = "[storage]\nnodes = { per_group = 1 }\n[[jobs]]\nname = \"io\"\nranks = 8\nranks_per_node = 2\n\
                workload.checkpoint = { iterations = 1, total = \"32 MiB\", interval = \"20 us\" }\n";
    for nic in ["", "stripe_above = \"64 KiB\""] {
        let results = run(&text(2, nic, jobs), &[]);
        let rows = results.rows();
        assert_eq!(rows.jobs[0].bytes_written, 32 << 20);
        let into_servers = rows
            .links
            .iter()
            .filter(|link| link.target_kind == "node" && link.bytes > 1 << 20);
        let (links, bytes) = into_servers.fold((0, 0), |(links, bytes), link| (links + 1, bytes + link.bytes));
        assert!(
            links >= 2 && bytes >= 32 << 20,
            "{nic}: {bytes} bytes over {links} links"
        );
    }
}

#[test]
fn one_digest_on_every_scheduler() {
    let jobs = "[storage]\nnodes = { per_group = 1 }\n[[jobs]]\nname = \"io\"\nranks = 6\nranks_per_node = 2\nplacement = \"random\"\n\
                workload.checkpoint = { iterations = 2, total = \"12 MiB\", interval = \"20 us\" }\n\
                [[jobs]]\nname = \"halo\"\nranks = 12\nranks_per_node = 2\nplacement = \"random\"\n\
                workload.stencil = { dims = [4, 3], message = \"200 KiB\", iterations = 3, compute = \"1 us\" }\n";
    let text = text(2, "stripe_above = \"64 KiB\"", jobs);
    for fidelity in ["packet", "flow"] {
        assert_one_digest(fidelity, |overrides| {
            let fidelity = format!("network.fidelity={fidelity:?}");
            let overrides: Vec<&str> = overrides.iter().copied().chain([fidelity.as_str()]).collect();
            run(&text, &overrides).digest().to_owned()
        });
    }
}

/// A family's example with twice the links to nodes.
fn with_twice_the_links(example: &str) -> String {
    let doubled = example.lines().map(|line| match line.trim().split_once(" = ") {
        Some((key, number)) if key.starts_with("nodes_per_") => {
            format!("{key} = {}", 2 * number.parse::<u32>().unwrap())
        }
        // Routers of a two-dimensional dragonfly that are exceptions.
        _ => line.replace("nodes = 3 }", "nodes = 6 }"),
    });
    doubled.collect::<Vec<_>>().join("\n")
}

/// Every family with a number of nodes per router runs with two interfaces per node, by the routing it has by default; so
/// does a tree with an even number of links to nodes. Other machines are refused by the key.
#[test]
fn every_family_has_nodes_with_several_interfaces() {
    let mut ran = Vec::new();
    for &family in FamilyName::ALL {
        for example in family.examples() {
            let example = with_twice_the_links(example);
            let machine = |interfaces: u32| {
                format!(
                    "[machine]\ninterfaces = {interfaces}\n[machine.{}]\n{example}\n",
                    family.key()
                )
            };
            let whole = scenario::load_hardware(&machine(1), "m.toml", &[], "")
                .unwrap()
                .layout
                .nodes();
            let nodes = match scenario::load_hardware(&machine(2), "m.toml", &[], "") {
                Ok(hardware) => hardware.layout.nodes(),
                Err(error) => {
                    assert_eq!(error.key, "machine.interfaces", "{error}");
                    continue;
                }
            };
            assert_eq!(nodes, whole / 2, "{example}");
            let text = format!(
                "{}[nic]\nstripe_above = \"2 KiB\"\n[[jobs]]\nranks = {}\nranks_per_node = 2\nplacement = \"random\"\n\
                 workload.alltoall = {{ bytes = \"3 KiB\", iterations = 1 }}\n",
                machine(2),
                2 * nodes
            );
            let results = run(&text, &[]);
            let received = results.rows().ranks.iter().map(|rank| rank.bytes_received).sum::<u64>();
            let pairs = u64::from(2 * nodes) * u64::from(2 * nodes - 1);
            assert_eq!(received, pairs * 3072, "{example}");
            ran.push(family.key());
        }
    }
    ran.dedup();
    assert!(ran.len() >= 9, "{ran:?}");
}

#[test]
fn keys_without_effect_and_odd_numbers_are_refused() {
    let job = "[[jobs]]\nranks = 2\nworkload.ping-pong = {}\n";
    let refused = |interfaces: u32, nic: &str| match try_run(&text(interfaces, nic, job), &[]) {
        Ok(_) => panic!("this should have been refused: {interfaces} {nic}"),
        Err(error) => (error.key.clone(), error.to_string()),
    };
    let (key, text) = refused(3, "");
    assert_eq!(key, "machine.interfaces");
    assert!(
        text.contains("router 0 has 8 links to nodes, not a multiple of 3"),
        "{text}"
    );
    assert_eq!(refused(0, "").0, "machine.interfaces");
    assert_eq!(refused(65, "").0, "machine.interfaces");
    assert_eq!(refused(1, "stripe_above = \"1 KiB\"").0, "nic.stripe_above");
    assert_eq!(refused(2, "stripe_interfaces = 2").0, "nic.stripe_interfaces");
    assert_eq!(
        refused(2, "stripe_above = \"1 KiB\"\nstripe_interfaces = 3").0,
        "nic.stripe_interfaces"
    );
    assert!(refused(2, "strip_above = \"1 KiB\"").1.contains("stripe_above"));
}

//! Where ranks and servers go.

use std::collections::BTreeSet;
use std::path::PathBuf;

use odonata_system::placement::Placement;
use odonata_system::scenario::{self, InputError};

/// 8 groups of 4 x 2 nodes.
const MACHINE: &str =
    "[machine.dragonfly]\ngroups = 8\nrouters_per_group = 4\nnodes_per_router = 2\nglobal_ports_per_router = 2\n";

fn try_place(rest: &str, seed: u64, folder: &str) -> Result<Placement, InputError> {
    let text = format!("{MACHINE}{rest}");
    scenario::load(&text, "scenario.toml", &[], Some(seed), folder).map(|scenario| scenario.placement)
}

fn place(rest: &str) -> Placement {
    try_place(rest, 1, "").unwrap_or_else(|error| panic!("{error}"))
}

fn job(name: &str, ranks: u32, keys: &str) -> String {
    format!("[[jobs]]\nname = \"{name}\"\nranks = {ranks}\n{keys}\nworkload = {{ milc = {{}} }}\n")
}

#[test]
fn contiguous_jobs_take_the_lowest_free_nodes_around_servers_and_named_nodes() {
    let placement = place(&format!(
        "[storage]\nnodes = {{ per_group = 1, position = \"first\" }}\n{}{}{}",
        job("a", 3, ""),
        job("b", 7, ""),
        job("c", 1, "placement.nodes = [2]"),
    ));
    assert_eq!(placement.servers, [0, 8, 16, 24, 32, 40, 48, 56]);
    assert_eq!(placement.jobs[2].nodes, [2]);
    assert_eq!(placement.jobs[0].nodes, [1, 3, 4]);
    assert_eq!(placement.jobs[1].nodes, [5, 6, 7, 9, 10, 11, 12]);
    assert_eq!(placement.jobs[1].servers, [0, 0, 0, 1, 1, 1, 1]);
}

#[test]
fn random_jobs_share_no_node_and_follow_the_seed() {
    let jobs = format!(
        "[storage]\n{}{}",
        job("a", 30, "placement = \"random\""),
        job("b", 18, "placement = \"random\"")
    );
    let nodes = |seed| -> Vec<u32> {
        let placement = try_place(&jobs, seed, "").unwrap_or_else(|error| panic!("{error}"));
        let servers: BTreeSet<u32> = placement.servers.iter().copied().collect();
        let nodes: Vec<u32> = placement.jobs.into_iter().flat_map(|job| job.nodes).collect();
        assert!(nodes.iter().all(|node| !servers.contains(node)));
        nodes
    };
    // 30 + 18 ranks are all compute nodes of 64 nodes with 16 servers.
    assert_eq!(nodes(1).iter().collect::<BTreeSet<_>>().len(), 48);
    assert_eq!(nodes(1), nodes(1));
    assert_ne!(nodes(1), nodes(2));
    assert!(!nodes(1).is_sorted());
}

/// The units (routers of 2 nodes, groups of 8) of a list of nodes, one entry per run of nodes of the same unit.
fn units(nodes: &[u32], size: u32) -> Vec<u32> {
    let mut units: Vec<u32> = nodes.iter().map(|node| node / size).collect();
    units.dedup();
    units
}

#[test]
fn random_routers_and_groups_are_used_up_in_order_before_the_next() {
    for (rule, size, most) in [("random-router", 2, 32), ("random-group", 8, 8)] {
        let text = job("a", 27, &format!("placement = \"{rule}\""));
        let nodes = |seed| {
            let placement = try_place(&text, seed, "").unwrap_or_else(|error| panic!("{error}"));
            placement
                .jobs
                .into_iter()
                .next()
                .map(|job| job.nodes)
                .unwrap_or_default()
        };
        let mut orders = BTreeSet::new();
        for seed in 0..20 {
            let nodes = nodes(seed);
            let units = units(&nodes, size);
            // As few units as 27 nodes need, each used once and filled in order, the last one from its start.
            assert_eq!(units.len() as u32, 27u32.div_ceil(size), "{rule}: {nodes:?}");
            assert_eq!(
                units.iter().collect::<BTreeSet<_>>().len(),
                units.len(),
                "{rule}: {nodes:?}"
            );
            assert!(units.iter().all(|&unit| unit < most));
            for (at, node) in nodes.iter().enumerate() {
                assert_eq!(node % size, at as u32 % size, "{rule}: {nodes:?}");
            }
            orders.insert(units);
        }
        assert!(orders.len() > 10, "{rule}: seeds give different orders");
        assert_eq!(nodes(3), nodes(3));
    }
}

#[test]
fn every_router_is_as_likely_as_any_other() {
    let text = job("a", 2, "placement = \"random-router\"");
    let mut counts = [0u32; 32];
    for seed in 0..3_200 {
        let placement = try_place(&text, seed, "").unwrap_or_else(|error| panic!("{error}"));
        counts[placement.jobs[0].nodes[0] as usize / 2] += 1;
    }
    // 100 each, standard deviation 10.
    assert!(counts.iter().all(|count| count.abs_diff(100) < 50), "{counts:?}");
}

#[test]
fn random_routers_leave_out_servers_and_nodes_that_are_taken() {
    let placement = place(&format!(
        "[storage]\nnodes = {{ per_group = 1, position = \"first\" }}\n{}{}{}",
        job("a", 26, "placement = \"random-router\""),
        job("b", 24, "placement = \"random-group\""),
        job("c", 2, "placement.nodes = [3, 20]"),
    ));
    let mut all: Vec<u32> = placement
        .jobs
        .iter()
        .flat_map(|job| job.nodes.iter().copied())
        .collect();
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), 52);
    assert!(all.iter().all(|node| node % 8 != 0), "servers are not given away");
    // Each router and group is used once, with its free nodes in ascending order.
    for (job, size) in [(0, 2), (1, 8)] {
        let nodes = &placement.jobs[job].nodes;
        let met = units(nodes, size);
        assert_eq!(met.iter().collect::<BTreeSet<_>>().len(), met.len(), "{nodes:?}");
        assert!(
            nodes.chunk_by(|a, b| a / size == b / size).all(<[u32]>::is_sorted),
            "{nodes:?}"
        );
    }
}

#[test]
fn ranks_of_a_node_are_consecutive_and_the_last_node_may_be_short() {
    let placement = place(&job("a", 7, "ranks_per_node = 3"));
    assert_eq!(placement.jobs[0].nodes, [0, 0, 0, 1, 1, 1, 2]);
    let placement = place(&job("a", 4, "ranks_per_node = 2\nplacement.nodes = [9, 5]"));
    assert_eq!(placement.jobs[0].nodes, [9, 9, 5, 5]);
}

#[test]
fn clients_count_compute_nodes_only() {
    let servers = "[storage]\nnodes = { per_group = 2, position = \"last\" }\n";
    let placement = place(&format!(
        "{servers}{}",
        job("a", 3, "placement = { clients = [5, 6, 47] }")
    ));
    assert_eq!(placement.jobs[0].nodes, [5, 8, 61]);
    // Six compute nodes of a group on two servers; server 2g is the last node of the group.
    assert_eq!(placement.jobs[0].servers, [1, 2, 15]);
    assert_eq!(placement.servers[..4], [7, 6, 15, 14]);
}

#[test]
fn servers_are_assigned_as_asked() {
    let servers = |assignment: &str| {
        let storage = format!("[storage]\nnodes = {{ list = [20, 3] }}\nassignment = {assignment}\n");
        place(&format!("{storage}{}", job("a", 62, ""))).jobs.remove(0).servers
    };
    // Node 3 (server 1) is in group 0, node 20 (server 0) in group 2: group 1 turns to group 2, groups 3 to 7 to group 0.
    let even = servers("\"by-group\"");
    // The former name.
    assert_eq!(servers("\"even\""), even);
    assert_eq!(even[..7], [1; 7]);
    assert_eq!(even[7..15 + 7], [0; 15]);
    assert_eq!(even[22..], [1; 40]);
    assert_eq!(servers("\"round-robin\"")[..4], [0, 1, 0, 1]);
    let random = servers("\"random\"");
    assert!(random.contains(&0) && random.contains(&1));
    let list: Vec<u32> = (0..62).map(|client| u32::from(client > 50)).collect();
    assert_eq!(servers(&format!("{{ list = {list:?} }}")), list);
}

#[test]
fn default_servers_have_at_most_32_compute_nodes_on_every_machine() {
    let machines = [
        "[machine.torus]\ndims = [256]\n",
        "[machine.torus]\ndims = [16, 4, 4]\n",
        "[machine.dragonfly]\ngroups = 2\nrouters_per_group = 16\nnodes_per_router = 8\nglobal_ports_per_router = 1\n",
        "[machine.dragonfly]\ngroups = 16\nrouters_per_group = 4\nnodes_per_router = 4\nglobal_ports_per_router = 4\n",
    ];
    for machine in machines {
        let text = format!("{machine}[storage]\n{}", job("a", 248, ""));
        let loaded = scenario::load(&text, "s.toml", &[], None, "").unwrap_or_else(|error| panic!("{error}"));
        let placement = loaded.placement;
        // 256 nodes and 33 for each server: as far apart as they can be.
        assert_eq!(placement.servers, [0, 32, 64, 96, 128, 160, 192, 224], "{machine}");
        let mut clients = [0; 8];
        for &server in &placement.jobs[0].servers {
            clients[server as usize] += 1;
        }
        assert_eq!(clients, [31; 8], "{machine}");
    }
    // One at least.
    let small = place(&format!("[storage]\nnodes = {{}}\n{}", job("a", 62, "")));
    assert_eq!(small.servers, [0, 32]);
    let text = format!("[machine.torus]\ndims = [4]\n[storage]\n{}", job("a", 3, ""));
    let loaded = scenario::load(&text, "s.toml", &[], None, "").unwrap();
    assert_eq!(loaded.placement.servers, [0]);
}

#[test]
fn default_servers_are_on_otherwise_unused_nodes() {
    let storage = "[storage]\nmetadata = { nodes = { list = [0] } }\n[[storage.tiers]]\nname = \"io\"\nnodes = { list = [1, 33] }\n\
                   device = {}\n[[storage.tiers]]\nname = \"disk\"\ndevice = {}\n";
    let placement = place(&format!("{storage}{}", job("a", 57, "")));
    assert_eq!(placement.servers, [2, 32]);
    assert_eq!(placement.tiers[1].servers, [3, 34]);
    assert_eq!(
        (placement.tiers[0].servers.as_slice(), placement.metadata.as_slice()),
        (&[1, 33][..], &[0][..])
    );
    let job = &placement.jobs[0];
    assert_eq!(job.servers[..4], [0, 1, 0, 1]);
    // Rules about nodes still go by groups.
    let named = place(&format!(
        "[storage]\nnodes = {{ per_group = 1 }}\n{}",
        self::job("a", 56, "")
    ));
    assert_eq!(named.jobs[0].servers[..8], [0, 0, 0, 0, 0, 0, 0, 1]);
}

/// On a line of routers with a server at both ends: the halves use the server at their end, and the middle is divided
/// evenly.
#[test]
fn the_nearest_server_is_the_fewest_cables_away_and_ties_are_shared_evenly() {
    let text = "[machine.mesh]\ndims = [9]\nnodes_per_router = 3\n\
                [storage]\nnodes = { list = [26, 0] }\nassignment = \"nearest\"\n\
                [[jobs]]\nranks = 25\nworkload = { milc = {} }\n";
    let loaded = scenario::load(text, "s.toml", &[], None, "").unwrap_or_else(|error| panic!("{error}"));
    let servers = &loaded.placement.jobs[0].servers;
    // Server 1 is on node 0: 2 and 3 x 3 nodes before router 4, as many behind it, whose three nodes are equally far
    // from both.
    assert_eq!(servers[..11], [1; 11]);
    assert_eq!(servers[11..14], [0, 1, 0]);
    assert_eq!(servers[14..], [0; 11]);
}

/// The slow model: distances from every server.
#[test]
fn nearest_servers_are_those_of_a_search_from_each() {
    let storage = "[storage]\nnodes = { list = [5, 9, 33, 40, 62] }\nassignment = \"nearest\"\n";
    let text = format!("{MACHINE}{storage}{}", job("a", 59, ""));
    let loaded = scenario::load(&text, "s.toml", &[], None, "").unwrap();
    let family = loaded.resolved.machine.build().unwrap();
    let topology = family.topology();
    let distances: Vec<Vec<u32>> = (loaded.placement.servers.iter())
        .map(|&node| topology.distances(topology.node_router(node)))
        .collect();
    let place = &loaded.placement.jobs[0];
    let mut load = [0u32; 5];
    for ties in [false, true] {
        for (&node, &server) in place.nodes.iter().zip(&place.servers) {
            let far = |server: usize| distances[server][topology.node_router(node) as usize];
            let nearest = (0..5).map(far).min();
            let all: Vec<usize> = (0..5).filter(|&server| Some(far(server)) == nearest).collect();
            if (all.len() > 1) == ties {
                let expected = all.into_iter().min_by_key(|&server| (load[server], server)).unwrap();
                assert_eq!(server as usize, expected, "node {node}");
                load[expected] += 1;
            }
        }
    }
}

#[test]
fn a_job_may_have_an_assignment_of_its_own() {
    let storage = "[storage]\nnodes = { per_group = 1 }\n";
    let own = "io = { assignment = \"round-robin\" }";
    let placement = place(&format!("{storage}{}{}", job("a", 9, ""), job("b", 3, own)));
    assert_eq!(placement.jobs[0].servers, [0, 0, 0, 0, 0, 0, 0, 1, 1]);
    assert_eq!(placement.jobs[1].servers, [1, 2, 3]);
}

#[test]
fn a_server_list_of_the_wrong_length_or_number_is_refused() {
    let refused = |list: &str| {
        let text = format!(
            "[storage]\nnodes = {{ list = [0] }}\nassignment = {{ list = {list} }}\n{}",
            job("a", 1, "")
        );
        match try_place(&text, 1, "") {
            Ok(_) => panic!("{list} should have been refused"),
            Err(error) => error,
        }
    };
    let error = refused("[0, 0]");
    assert_eq!((error.line, error.key.as_str()), (Some(8), "storage.assignment.list"));
    assert_eq!(error.message, "2 entries for 63 compute nodes");
    let list: Vec<u32> = (0..63).map(|client| u32::from(client == 7)).collect();
    assert_eq!(refused(&format!("{list:?}")).key, "storage.assignment.list.7");
}

/// A folder of this test with a placement file.
fn folder(test: &str, csv: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("odonata-placement-{test}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder for temporary files");
    std::fs::write(folder.join("alloc.csv"), csv).expect("a file in it");
    folder
}

fn with_file(test: &str, csv: &str, slot: u32, ranks: u32) -> Result<Placement, InputError> {
    let folder = folder(test, csv);
    let keys = format!("placement = {{ file = \"alloc.csv\", slot = {slot} }}");
    let result = try_place(&job("a", ranks, &keys), 1, &folder.display().to_string());
    std::fs::remove_dir_all(folder).expect("the folder is this test's own");
    result
}

#[test]
fn a_placement_file_names_a_node_per_rank_in_any_order_of_rows_and_columns() {
    let csv = "rank,client,slot,terminal\n1,9,1,40\n0,9,0,3\n\n0,9,1,41\r\n2,9,1,7\n";
    let placement = with_file("order", csv, 1, 3).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(placement.jobs[0].nodes, [41, 40, 7]);
}

#[test]
fn mistakes_in_a_placement_file_are_reported_with_its_line() {
    let header = "slot,rank,terminal\n";
    for (test, csv, line, message) in [
        (
            "twice",
            "0,0,1\n0,1,2\n0,0,3\n",
            Some(4),
            "rank 0 is placed twice, first on line 2",
        ),
        ("gap", "0,0,1\n", None, "slot 0 has no row for rank 1"),
        ("many", "0,0,1\n0,2,2\n", Some(3), "rank 2 of a job with 2 ranks"),
        ("node", "0,0,1\n0,1,64\n", Some(3), "there is no node 64"),
        ("shared", "0,0,1\n0,1,1\n", Some(3), "node 1 gets 2 ranks"),
        ("number", "0,0,1\n0,x,1\n", Some(3), "rank is \"x\""),
        ("fields", "0,0,1\n0,1\n", Some(3), "2 fields"),
    ] {
        let error = with_file(test, &format!("{header}{csv}"), 0, 2).expect_err(test);
        assert!(error.file.ends_with("alloc.csv"), "{error}");
        assert_eq!((error.line, error.message.as_str()), (line, message), "{error}");
        assert_eq!(error.key, "jobs.0.placement.file");
    }
    let error = with_file("header", "slot,rank\n", 0, 2).expect_err("no column");
    assert_eq!(
        (error.line, error.message.as_str()),
        (Some(1), "the header has no column \"terminal\"")
    );
    let error = try_place(&job("a", 2, "placement = { file = \"/nowhere/a.csv\" }"), 1, "").expect_err("no file");
    assert_eq!((error.file.as_str(), error.line), ("/nowhere/a.csv", None));
    assert!(error.message.starts_with("the file cannot be read"), "{error}");
}

#[test]
fn a_placement_rule_is_exactly_one() {
    for keys in [
        "placement = { nodes = [1], clients = [1] }",
        "placement = {}",
        "placement = { slot = 1 }",
    ] {
        let error = try_place(&job("a", 1, keys), 1, "").expect_err(keys);
        assert_eq!(
            (error.line, error.key.as_str()),
            (Some(9), "jobs.0.placement"),
            "{error}"
        );
        assert!(
            error
                .expected
                .contains("exactly one of nodes, hosts, clients, dims (with block), file (with slot)"),
            "{error}"
        );
    }
    let error = try_place(&job("a", 1, "placement = \"contiguos\""), 1, "").expect_err("no such rule");
    assert_eq!(error.hint.as_deref(), Some("did you mean \"contiguous\"?"));
}

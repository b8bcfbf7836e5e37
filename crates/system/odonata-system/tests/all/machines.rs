//! Machines of every family: their keys, and the refused combinations.

use odonata_system::describe::describe;
use odonata_system::scenario::resolved::Kind;
use odonata_system::scenario::{self, Hardware, InputError};

fn try_load(machine: &str) -> Result<Hardware, InputError> {
    scenario::load_hardware(machine, "machine.toml", &[], "")
}

fn load(machine: &str) -> Hardware {
    try_load(machine).unwrap_or_else(|error| panic!("{error}"))
}

fn error(machine: &str) -> InputError {
    match try_load(machine) {
        Ok(found) => panic!("{machine}: {:?}", found.machine),
        Err(error) => error,
    }
}

/// Routers and nodes by the formulas of the families' papers.
#[test]
fn every_family_has_the_sizes_of_its_formula() {
    let cases = [
        // g a routers, g a p nodes
        (
            "dragonfly = { groups = 9, routers_per_group = 4, nodes_per_router = 2, global_ports_per_router = 2, \
             arrangement = \"circulant\" }",
            (36, 72, 9),
        ),
        // 3 groups of the first kind, 2 of another with 1 node per router
        (
            "dragonfly = { groups = 5, routers_per_group = 4, nodes_per_router = 2, global_ports_per_router = 3, \
             cables = 3, other_groups = [{ groups = 2, nodes = 1, cables = 1, cables_to = [2] }] }",
            (20, 3 * 4 * 2 + 2 * 4, 5),
        ),
        // g r c routers
        (
            "dragonfly-2d = { groups = 5, rows = 2, columns = 3, column_cables = 2, nodes_per_router = 2, \
             global_ports_per_router = 2, exceptions = [{ router = 2, nodes = 0 }, { router = 5, nodes = 3 }] }",
            (30, 5 * (4 * 2 + 3), 5),
        ),
        // g (leaves + spines) routers, g leaves p nodes
        (
            "dragonfly-plus = { groups = 5, leaves_per_group = 3, spines_per_group = 2, nodes_per_leaf = 4, \
             global_ports_per_spine = 2 }",
            (25, 60, 5),
        ),
        // a kind of one group with 5 nodes per leaf
        (
            "dragonfly-plus = { groups = 5, leaves_per_group = 3, spines_per_group = 2, nodes_per_leaf = 4, \
             global_ports_per_spine = 2, cables = 1, other_groups = [{ groups = 1, nodes = 5 }] }",
            (25, 4 * 12 + 15, 5),
        ),
        ("torus = { dims = [4, 3, 5], nodes_per_router = 2 }", (60, 120, 5)),
        ("torus = { dims = [4, 2, 5], open_dims = [1] }", (40, 40, 5)),
        ("mesh = { dims = [4, 4] }", (16, 16, 4)),
        // n k^(n-1) routers, k^n nodes; k pods and the top level
        ("fat-tree = { k = 4, n = 3 }", (48, 64, 5)),
        ("fat-tree = { radix = 4, levels = 3 }", (20, 16, 5)),
        // 8 leaves of 6 nodes and 2 cables up, 2 routers on top; every leaf is a pod
        (
            "fat-tree = { radix = 8, levels = 2, oversubscription = 3 }",
            (10, 48, 9),
        ),
        // XGFT(2; 4, 6; 1, 2): 6 leaves with 4 nodes, 2 tops
        (
            "fat-tree = { down = [4, 6], up = [1, 2], parallel = [1, 2] }",
            (8, 24, 7),
        ),
        // 2 q^2 routers of degree (3 q - 1) / 2 = 7, half of it nodes
        ("slim-fly = { q = 5 }", (50, 200, 10)),
        // q^2 + q + 1 routers of degree q + 1, half of it nodes; the quadrics and q racks
        ("polarfly = { q = 5 }", (31, 93, 6)),
        // the quadrics with the point that is linked to all of them, and q - 1 racks
        ("polarfly = { q = 8, nodes_per_router = 1 }", (73, 73, 8)),
        (
            "hyperx = { dims = [3, 4], cables = [1, 2], nodes_per_router = 3 }",
            (12, 36, 4),
        ),
        // P H G GPUs, P H switches of hosts, P G leaves, as many spines as hosts of a pod; the pods and the spines
        (
            "rail-optimized = { pods = 3, hosts_per_pod = 4, gpus_per_host = 2 }",
            (24 + 12 + 6 + 4, 24, 4),
        ),
        (
            "rail-optimized = { hosts_per_pod = 4, host_links = \"all-to-all\", spines = 0 }",
            (32 + 8, 32, 1),
        ),
    ];
    for (machine, (routers, nodes, groups)) in cases {
        let hardware = load(&format!("[machine]\n{machine}\n"));
        let found = describe(&hardware).unwrap();
        assert_eq!((found.routers, found.nodes), (routers, nodes), "{machine}");
        assert_eq!(found.groups, groups, "{machine}");
        assert!(machine.starts_with(found.kind), "{machine}");
        assert_eq!(hardware.layout.nodes(), nodes);
    }
}

#[test]
fn links_of_columns_are_as_local_ones_unless_they_are_set() {
    let text = "[network.links]\nlocal = { bandwidth = \"2 GB/s\", latency = \"7 ns\" }\ncolumn.bandwidth = \"6 GB/s\"\n\
                [machine.dragonfly-2d]\ngroups = 2\nnodes_per_router = 1\nglobal_ports_per_router = 1\n";
    let links = load(text).network.links;
    assert_eq!(
        (links.column.bandwidth.0, links.column.latency),
        (6e9, links.local.latency)
    );
}

#[test]
fn sizes_that_cannot_be_are_refused_with_key_and_bound() {
    // (machine, key, expected text in the error)
    let cases = [
        ("torus = {}", "machine.torus.dims", "such as [8, 8, 8]"),
        ("torus = { dims = [] }", "machine.torus.dims", "1 to 16 numbers"),
        ("torus = { dims = [4, 0] }", "machine.torus.dims.1", "1 to 1048576"),
        (
            "torus = { dims = [4, 3], open_dims = [2] }",
            "machine.torus.open_dims.0",
            "0 to 1",
        ),
        (
            "torus = { dims = [4, 3], open_dims = [1, 1] }",
            "machine.torus.open_dims.1",
            "every dimension once",
        ),
        (
            "torus = { dims = [4], open_dims = [0] }",
            "machine.torus.open_dims",
            "machine.mesh",
        ),
        (
            "mesh = { dims = [4, 3], open_dims = [0] }",
            "machine.mesh.open_dims",
            "machine.torus",
        ),
        (
            "dragonfly = { groups = 5, routers_per_group = 4, nodes_per_router = 2, global_ports_per_router = 2, \
             other_groups = [{ groups = 2 }] }",
            "machine.dragonfly.cables",
            "a number",
        ),
        (
            "dragonfly = { groups = 5, routers_per_group = 4, nodes_per_router = 2, global_ports_per_router = 2, \
             cables = 2, other_groups = [{ groups = 5 }] }",
            "machine.dragonfly.other_groups.0.groups",
            "fewer than groups, 5, in all",
        ),
        (
            "dragonfly-plus = { groups = 5, leaves_per_group = 3, spines_per_group = 2, nodes_per_leaf = 4, \
             global_ports_per_spine = 2, cables = 1, other_groups = [{ groups = 1, cables_to = [2] }] }",
            "machine.dragonfly-plus.other_groups",
            "fewer cables, or more global ports",
        ),
        (
            "mesh = { dims = [4096, 4096, 4096] }",
            "machine.mesh",
            "at most 2^28 ports",
        ),
        (
            "torus = { dims = [4], nodes_per_router = 5000 }",
            "machine.torus",
            "4096 ports per router",
        ),
        (
            "hyperx = { dims = [4, 4], cables = [1] }",
            "machine.hyperx.cables",
            "a number, or 2 numbers",
        ),
        (
            "hyperx = { dims = [4, 4], cables = [1, 0] }",
            "machine.hyperx.cables.1",
            "1 to",
        ),
        (
            "fat-tree = {}",
            "machine.fat-tree",
            "radix and levels, or k and n, or down and up",
        ),
        (
            "fat-tree = { k = 4 }",
            "machine.fat-tree",
            "radix and levels, or k and n, or down and up",
        ),
        ("fat-tree = { k = 4, n = 40 }", "machine.fat-tree.n", "1 to 16"),
        (
            "fat-tree = { radix = 8, levels = 2, oversubscription = 2 }",
            "machine.fat-tree.oversubscription",
            "one of 7, 3, 1",
        ),
        (
            "fat-tree = { k = 4, n = 2, oversubscription = 2 }",
            "machine.fat-tree",
            "radix and levels",
        ),
        (
            "fat-tree = { down = [4, 4], up = [1] }",
            "machine.fat-tree.up",
            "2 numbers",
        ),
        (
            "fat-tree = { down = [4, 4], up = [2, 4] }",
            "machine.fat-tree.up.0",
            "1: a node has one link",
        ),
        ("slim-fly = {}", "machine.slim-fly.q", "a prime power"),
        ("slim-fly = { q = 6 }", "machine.slim-fly.q", "4 w"),
        ("slim-fly = { q = 15 }", "machine.slim-fly", "power of a prime"),
        ("polarfly = {}", "machine.polarfly.q", "a prime power"),
        ("polarfly = { q = 6 }", "machine.polarfly.q", "not a power of a prime"),
        ("polarfly = { q = 521 }", "machine.polarfly.q", "2 to 512"),
        (
            "polarflies = { q = 5 }",
            "machine.polarflies",
            "did you mean \"polarfly\"?",
        ),
        (
            "dragonfly-2d = { groups = 2, nodes_per_router = 1 }",
            "machine.dragonfly-2d.global_ports_per_router",
            "a whole number",
        ),
        (
            "dragonfly-2d = { groups = 98, nodes_per_router = 1, global_ports_per_router = 1 }",
            "machine.dragonfly-2d.groups",
            "at most 97 groups",
        ),
        (
            "dragonfly-2d = { groups = 2, nodes_per_router = 1, global_ports_per_router = 1, \
             exceptions = [{ router = 96, nodes = 1 }] }",
            "machine.dragonfly-2d.exceptions.0.router",
            "0 to 95",
        ),
        (
            "dragonfly-2d = { groups = 2, nodes_per_router = 1, global_ports_per_router = 1, cables = 9, bundle = 2 }",
            "machine.dragonfly-2d.bundle",
            "a divisor of cables, 9",
        ),
        (
            "dragonfly-plus = { groups = 6, leaves_per_group = 2, spines_per_group = 2, nodes_per_leaf = 2, \
             global_ports_per_spine = 2 }",
            "machine.dragonfly-plus.groups",
            "at most 5 groups",
        ),
        (
            "rail-optimized = { pods = 2, hosts_per_pod = 4, spines = 0 }",
            "machine.rail-optimized.spines",
            "1 at least, or pods = 1",
        ),
        (
            "rail-optimized = { hosts_per_pod = 4, spines = 3 }",
            "machine.rail-optimized.spines",
            "a divisor of 4",
        ),
        (
            "rail-optimized = { hosts_per_pod = 4, oversubscription = 3 }",
            "machine.rail-optimized.oversubscription",
            "a divisor of hosts_per_pod",
        ),
        ("graph = {}", "machine.graph.file", "the path of a file"),
        (
            "graph = { file = \"no-such-file\" }",
            "machine.graph.file",
            "cannot be read",
        ),
        (
            "torus = { dims = [4] }\nmesh = { dims = [4] }",
            "machine",
            "exactly one of",
        ),
        ("tours = { dims = [4] }", "machine.tours", "did you mean \"torus\"?"),
        ("failed_links = []", "machine", "the scenario has no machine"),
    ];
    for (machine, key, says) in cases {
        let found = error(&format!("[machine]\n{machine}\n"));
        assert_eq!(found.key, key, "{machine}: {found}");
        assert!(found.to_string().contains(says), "{machine}: {found}");
    }
}

#[test]
fn broken_cables_have_to_exist_and_to_leave_a_way() {
    let cases = [
        (
            "failed_links = [{ routers = [0, 99] }]",
            "machine.failed_links.0.routers.1",
            "0 to 5",
        ),
        (
            "failed_links = [{ routers = [0, 3] }]",
            "machine.failed_links",
            "no cable between routers 0 and 3",
        ),
        (
            "failed_links = [{ routers = [0, 1], index = 1 }]",
            "machine.failed_links",
            "there are 1",
        ),
        (
            "degraded_links = [{ routers = [0, 1], factor = 0 }]",
            "machine.degraded_links.0.factor",
            "above 0",
        ),
        (
            "degraded_links = [{ routers = [0, 1], factor = 1.5 }]",
            "machine.degraded_links.0.factor",
            "at most 1",
        ),
        // A line of six routers without its third cable.
        (
            "failed_links = [{ routers = [2, 3] }]",
            "machine.failed_links",
            "9 pairs of routers with nodes are disconnected",
        ),
    ];
    for (faults, key, says) in cases {
        let found = error(&format!("[machine]\n{faults}\nmesh = {{ dims = [6] }}\n"));
        assert_eq!(found.key, key, "{found}");
        assert!(found.to_string().contains(says), "{found}");
    }
    let found = error("[machine]\nfailed_links = [{ routers = [2, 3] }]\nmesh = { dims = [6] }\n");
    assert!(found.message.contains("0 and 3"), "{found}");
}

#[test]
fn a_machine_of_the_file_replaces_that_of_the_preset_but_not_its_faults() {
    let text = "preset = \"mfnetsim\"\nnetwork.routing.algorithm = \"up-down\"\n[machine]\n\
                failed_links = [{ routers = [0, 1] }]\n[machine.torus]\ndims = [4]\n";
    let hardware = load(text);
    assert!(matches!(hardware.machine.kind, Kind::Torus(_)));
    let text = "preset = \"mfnetsim\"\n[machine]\nfailed_links = [{ routers = [0, 8] }]\n";
    assert!(error(text).message.contains("no cable"));
    let json = serde_json::to_value(&hardware.machine).unwrap();
    assert_eq!(json["torus"]["dims"], serde_json::json!([4]));
    assert_eq!(json["failed_links"][0]["routers"], serde_json::json!([0, 1]));
}

#[test]
fn service_routers_belong_to_no_job() {
    let machine = "[machine]\nservice_routers = [3]\n[machine.dragonfly]\ngroups = 3\nrouters_per_group = 4\n\
                   nodes_per_router = 2\nglobal_ports_per_router = 1\n";
    let job = |ranks: u32, rest: &str| format!("[[jobs]]\nranks = {ranks}\nworkload.milc = {{}}\n{rest}");
    let load = |text: &str| scenario::load(&format!("{machine}{text}"), "s.toml", &[], None, "");
    let storage = "[storage]\nnodes.routers = [0]\n";
    let loaded = load(&format!("{storage}{}", job(12, ""))).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(loaded.placement.servers, [0, 1, 8, 9, 16, 17]);
    assert_eq!(
        loaded.placement.jobs[0].nodes,
        [2, 3, 4, 5, 10, 11, 12, 13, 18, 19, 20, 21]
    );
    let says = |text: &str, key: &str, says: &str| {
        let found = load(text).unwrap_err();
        assert_eq!(found.key, key, "{found}");
        assert!(found.to_string().contains(says), "{found}");
    };
    says(&format!("{storage}{}", job(13, "")), "jobs.0.ranks", "at most 12");
    says(
        &job(1, "placement.nodes = [6]"),
        "jobs.0.placement.nodes.0",
        "node 6 is a service node",
    );
    says(
        &format!("[storage]\nnodes.routers = [3]\n{}", job(1, "")),
        "storage.nodes",
        "is a service node",
    );
    says(
        &format!("[storage]\nnodes.routers = [4]\n{}", job(1, "")),
        "storage.nodes.routers.0",
        "0 to 3",
    );
    says(
        &format!("[storage]\nnodes.routers = [0, 1, 2]\n{}", job(1, "")),
        "storage.nodes",
        "at least one compute",
    );
    let all = machine.replace("[3]", "[0, 1, 2, 3]");
    let found = scenario::load(&format!("{all}{}", job(1, "")), "s.toml", &[], None, "").unwrap_err();
    assert_eq!(found.key, "machine.service_routers");
}

#[test]
fn an_algorithm_of_another_family_is_refused_with_those_that_it_has() {
    let cases = [
        ("torus = { dims = [4] }", "progressive-adaptive", "dimension-order"),
        ("fat-tree = { k = 2, n = 2 }", "minimal", "nearest-common-ancestor"),
        ("slim-fly = { q = 5 }", "dal", "minimal"),
        ("polarfly = { q = 5 }", "dal", "minimal"),
        ("hyperx = { dims = [3, 3] }", "bubble", "dal"),
        (
            "dragonfly = { groups = 3, routers_per_group = 2, nodes_per_router = 1, global_ports_per_router = 1 }",
            "dal",
            "minimal, valiant",
        ),
    ];
    for (machine, algorithm, has) in cases {
        let text = format!("[network.routing]\nalgorithm = \"{algorithm}\"\n[machine]\n{machine}\n");
        let found = error(&text);
        assert_eq!((found.line, found.key.as_str()), (Some(2), "network.routing.algorithm"));
        assert!(
            found.message.contains(algorithm) && found.expected.contains(has),
            "{found}"
        );
    }
    let found = error("[network.routing]\nup = \"random\"\n[machine]\ntorus = { dims = [4] }\n");
    assert_eq!(found.key, "network.routing.up");
    let found = error("[network.routing]\nvcs = { local = 17 }\n[machine]\ntorus = { dims = [4] }\n");
    assert_eq!(found.key, "network.routing.vcs.local");
    let found = error("[network.routing]\nvcs = { locale = 1 }\n[machine]\ntorus = { dims = [4] }\n");
    assert_eq!(found.key, "network.routing.vcs.locale");
}

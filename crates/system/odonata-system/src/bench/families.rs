//! One case per family of networks, about a thousand nodes each, and one for pipelined routers.
//!
//! All links carry 12.5 GB/s; uniform traffic in packets of 4 KiB, at a load that fills no link of any family.

/// A family's case.
pub(super) struct Case {
    pub(super) name: &'static str,
    machine: &'static str,
    nodes: u32,
    algorithm: &'static str,
    load: f64,
}

const fn case(name: &'static str, machine: &'static str, nodes: u32, algorithm: &'static str, load: f64) -> Case {
    Case {
        name,
        machine,
        nodes,
        algorithm,
        load,
    }
}

pub(super) const CASES: [Case; 8] = [
    case(
        "torus-1024",
        "torus = { dims = [8, 8, 16] }",
        1_024,
        "dimension-order",
        0.3,
    ),
    case(
        "torus-adaptive-1024",
        "torus = { dims = [8, 8, 16] }",
        1_024,
        "minimal-adaptive",
        0.3,
    ),
    case(
        "mesh-1024",
        "mesh = { dims = [8, 8, 16] }",
        1_024,
        "dimension-order",
        0.15,
    ),
    case(
        "fat-tree-1024",
        "fat-tree = { k = 4, n = 5 }",
        1_024,
        "nearest-common-ancestor",
        0.5,
    ),
    case(
        "hyperx-1024",
        "hyperx = { dims = [8, 8], nodes_per_router = 16 }",
        1_024,
        "minimal",
        0.3,
    ),
    case(
        "slim-fly-968",
        "slim-fly = { q = 11, nodes_per_router = 4 }",
        968,
        "minimal",
        0.5,
    ),
    case(
        "dragonfly-plus-1040",
        "dragonfly-plus = { groups = 65, leaves_per_group = 4, spines_per_group = 4, nodes_per_leaf = 4, \
         global_ports_per_spine = 16 }",
        1_040,
        "minimal",
        0.3,
    ),
    case(
        "dragonfly-2d-1152",
        "dragonfly-2d = { groups = 9, rows = 4, columns = 8, column_cables = 2, nodes_per_router = 4, \
         global_ports_per_router = 4 }",
        1_152,
        "minimal",
        0.3,
    ),
];

impl Case {
    /// The scenario, with this number of messages per node.
    pub(super) fn text(&self, messages: u32) -> String {
        let Case {
            name,
            machine,
            nodes,
            algorithm,
            load,
        } = self;
        format!(
            "name = \"{name}\"\n[machine]\n{machine}\n\
             [run]\nscheduler = \"sequential\"\nmessage_rows = 0\n\
             [network.links]\nterminal.bandwidth = \"12.5 GB/s\"\nlocal.bandwidth = \"12.5 GB/s\"\n\
             global.bandwidth = \"12.5 GB/s\"\n\
             [network.routing]\nalgorithm = \"{algorithm}\"\n\
             [[jobs]]\nname = \"traffic\"\nranks = {nodes}\n\
             workload = {{ uniform = {{ load = {load}, messages = {messages} }} }}\n"
        )
    }
}

/// The pipelined dragonfly that is compared with BookSim, at load 0.3 in flits per node and cycle.
pub(super) fn pipelined(messages: u32) -> String {
    let link = |class: &str, latency: u32| {
        format!(
            "[network.links.{class}]\nlatency = \"{latency} cycles\"\ncredit_delay = \"{} cycles\"\n\
             buffer = \"256 flits\"\n",
            latency + 2
        )
    };
    format!(
        "preset = \"booksim\"\nname = \"pipelined-dragonfly-1056\"\n\
         [run]\nscheduler = \"sequential\"\nmessage_rows = 0\n\
         [machine.dragonfly]\ngroups = 33\nrouters_per_group = 8\nnodes_per_router = 4\nglobal_ports_per_router = 4\n\
         [network.pipeline]\ninternal_speedup = 2.0\n{}{}{}\
         [network.routing]\nalgorithm = \"minimal\"\nvcs = {{ terminal = 2, local = 2, global = 1 }}\n\
         [[jobs]]\nname = \"traffic\"\nranks = 1056\n\
         workload = {{ uniform = {{ load = 0.3, arrival = \"bernoulli\", self = true, messages = {messages} }} }}\n",
        link("terminal", 1),
        link("local", 10),
        link("global", 100)
    )
}

/// Name of the pipelined case.
pub(super) const PIPELINED: &str = "pipelined-dragonfly-1056";

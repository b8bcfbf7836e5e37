//! The report of `odonata describe`: properties of a machine, independent of workloads.

use crate::scenario::resolved::{Hardware, Links};
use odonata_topology::{LinkClass, Topology};
use schemars::JsonSchema;
use serde::Serialize;

/// Sizes of a machine.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Description {
    /// Name of the scenario.
    pub name: String,
    /// The key of the machine's kind.
    pub kind: &'static str,
    /// Routers.
    pub routers: u32,
    /// Nodes.
    pub nodes: u32,
    /// Fewest and most nodes of a router.
    pub nodes_per_router: [u32; 2],
    /// Fewest and most ports of a router.
    pub ports_per_router: [u32; 2],
    /// Groups.
    pub groups: u32,
    /// Fewest and most routers of a group.
    pub routers_per_group: [u32; 2],
    /// Fewest and most nodes of a group.
    pub nodes_per_group: [u32; 2],
    /// The classes of links that the machine has.
    pub links: Vec<LinksReport>,
    /// Unconnected ports.
    pub free_ports: u64,
    /// Cables that failed.
    pub failed_links: usize,
    /// Cables with less than the bandwidth of their class.
    pub degraded_links: u64,
    /// Cables with a latency of their own; `null` if there are none.
    pub own_latencies: Option<OwnLatencies>,
    /// Longest of the shortest paths.
    pub diameter: DiameterReport,
    /// Two halves of the machine.
    pub bisection: BisectionReport,
}

/// Cables whose latency differs from that of their class.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct OwnLatencies {
    /// How many.
    pub cables: u64,
    /// Shortest latency, seconds.
    pub shortest_s: f64,
    /// Longest latency, seconds.
    pub longest_s: f64,
}

/// A class of links.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct LinksReport {
    /// Its name.
    pub class: &'static str,
    /// Cables.
    pub cables: u64,
    /// Transfer rate of one direction, bytes per second.
    pub bandwidth_bytes_per_s: f64,
    /// Time of flight, seconds.
    pub latency_s: f64,
}

/// Longest of the shortest paths, in cables between routers.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct DiameterReport {
    /// Between any two routers.
    pub routers: u32,
    /// Between any two routers with nodes.
    pub nodes: u32,
    /// Whether all paths were measured; otherwise paths from 64 routers, a lower bound.
    pub exact: bool,
}

/// Cables between two halves of the machine.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct BisectionReport {
    /// Number of cables of the machine as built, including failed ones.
    pub cables: u64,
    /// Whether it is the cut defined by the machine's family; otherwise the cut between the first and the second half
    /// of the routers, an upper bound.
    pub defined: bool,
}

/// Describes a machine.
///
/// # Errors
/// The impossible size; already checked when the scenario was resolved.
pub fn describe(hardware: &Hardware) -> Result<Description, String> {
    let family = hardware.machine.build()?;
    let topology = family.topology();
    let layout = &hardware.layout;
    let mut nodes_of = vec![0; topology.routers() as usize];
    for node in 0..topology.whole_nodes() {
        nodes_of[topology.router_of_whole_node(node) as usize] += 1;
    }
    let ports = (0..topology.routers()).map(|router| topology.ports_of(router).len() as u32);
    let groups = topology.blocks().windows(2).map(|group| group[1] - group[0]);
    let nodes_of_groups = (0..layout.groups()).map(|group| layout.nodes_of_group(group).len() as u32);
    let diameter = topology.diameter();
    let bisection = family.bisection();
    Ok(Description {
        name: hardware.name.clone(),
        kind: hardware.machine.kind.name(),
        routers: topology.routers(),
        nodes: topology.whole_nodes(),
        nodes_per_router: range(nodes_of.into_iter()),
        ports_per_router: range(ports),
        groups: layout.groups(),
        routers_per_group: range(groups),
        nodes_per_group: range(nodes_of_groups),
        links: links(topology, &hardware.network.links),
        free_ports: topology.free_ports(),
        failed_links: topology.failed().len(),
        degraded_links: topology.degraded(),
        own_latencies: topology
            .own_latencies()
            .map(|(cables, shortest, longest)| OwnLatencies {
                cables,
                shortest_s: shortest.seconds(),
                longest_s: longest.seconds(),
            }),
        diameter: DiameterReport {
            routers: diameter.routers,
            nodes: diameter.nodes,
            exact: diameter.exact,
        },
        bisection: BisectionReport {
            cables: bisection.unwrap_or_else(|| topology.halving()),
            defined: bisection.is_some(),
        },
    })
}

/// The machine's graph as GraphML, for graph tools and machines of kind `graph`.
///
/// # Errors
/// Those of [`describe`].
pub fn graphml(hardware: &Hardware) -> Result<String, String> {
    let family = hardware.machine.build()?;
    odonata_topology::to_graphml(family.topology(), family.names())
}

fn range(values: impl Iterator<Item = u32>) -> [u32; 2] {
    let (least, most) = values.fold((u32::MAX, 0), |(least, most), value| {
        (value.min(least), value.max(most))
    });
    [least.min(most), most]
}

fn links(topology: &Topology, links: &Links) -> Vec<LinksReport> {
    let counts = topology.cables_by_class();
    let report = |class: LinkClass| LinksReport {
        class: class.name(),
        cables: counts[class as usize],
        bandwidth_bytes_per_s: links.of(class).bandwidth.0,
        latency_s: links.of(class).latency.seconds(),
    };
    let reports = LinkClass::ALL.into_iter().map(report);
    reports.filter(|report| report.cables > 0).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario;

    fn described(text: &str) -> Description {
        let hardware = scenario::load_hardware(text, "machine.toml", &[], "").unwrap_or_else(|error| panic!("{error}"));
        describe(&hardware).unwrap()
    }

    /// g a (a - 1) / 2 local and g (g - 1) / 2 global cables; the longest path is local, global, local.
    #[test]
    fn a_dragonfly_is_described_by_its_formulas() {
        let found = described(
            "[machine.dragonfly]\ngroups = 9\nrouters_per_group = 4\nnodes_per_router = 2\nglobal_ports_per_router = 3\n\
             cables = 1\n",
        );
        assert_eq!((found.routers, found.nodes, found.groups), (36, 72, 9));
        let cables: Vec<_> = found.links.iter().map(|links| (links.class, links.cables)).collect();
        assert_eq!(cables, [("terminal", 72), ("local", 54), ("global", 36)]);
        assert_eq!(found.free_ports, 36 * 3 - 72);
        assert_eq!((found.diameter.routers, found.diameter.exact), (3, true));
        assert_eq!((found.nodes_per_group, found.ports_per_router), ([8, 8], [8, 8]));
    }

    /// A torus of k^n routers has n k^n cables, diameter n k / 2 and a bisection of 2 k^(n-1) cables.
    #[test]
    fn a_torus_is_described_by_its_formulas() {
        let found = described("[machine.torus]\ndims = [4, 4, 4]\n");
        assert_eq!((found.routers, found.nodes, found.groups), (64, 64, 4));
        assert_eq!(found.links[1].cables, 192);
        assert_eq!((found.diameter.routers, found.bisection.cables), (6, 32));
        assert!(found.bisection.defined);
        assert_eq!(found.name, "machine");
    }

    /// An exported machine is read back as kind `graph`, equal except for its name.
    #[test]
    fn an_exported_machine_can_be_read_back() {
        let text = "[machine]\ndegraded_links = [{ routers = [0, 1], factor = 0.5 }]\n[machine.torus]\ndims = [3, 4]\n";
        let hardware = scenario::load_hardware(text, "m.toml", &[], "").unwrap_or_else(|error| panic!("{error}"));
        let folder = std::env::temp_dir().join(format!("odonata-describe-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("m.graphml"), graphml(&hardware).unwrap()).unwrap();
        let text = "[machine]\ngraph = { file = \"m.graphml\" }\n";
        let copy = scenario::load_hardware(text, "m.toml", &[], &folder).unwrap_or_else(|error| panic!("{error}"));
        std::fs::remove_dir_all(&folder).unwrap();
        assert_eq!(copy.layout, hardware.layout);
        let (found, expected) = (describe(&copy).unwrap(), describe(&hardware).unwrap());
        assert_eq!(found.kind, "graph");
        assert_eq!(
            (
                found.routers,
                found.nodes,
                found.groups,
                found.free_ports,
                found.links[1].cables
            ),
            (
                expected.routers,
                expected.nodes,
                expected.groups,
                expected.free_ports,
                expected.links[1].cables
            )
        );
        assert_eq!(graphml(&copy).unwrap().matches("0.5").count(), 1);
    }

    #[test]
    fn broken_cables_are_counted() {
        let found = described("[machine]\nfailed_links = [{ routers = [0, 1] }]\n[machine.torus]\ndims = [4, 4]\n");
        assert_eq!(
            (found.failed_links, found.links[1].cables, found.free_ports),
            (1, 31, 2)
        );
    }

    /// Of 4 x 4 cables of a torus, one has failed and one is slower.
    #[test]
    fn slower_cables_are_counted_and_two_parts_of_a_graph_are_refused() {
        let found = described(
            "[machine]\ndegraded_links = [{ routers = [0, 1], factor = 0.5 }]\nfailed_links = [{ routers = [4, 5] }]\n\
             [machine.torus]\ndims = [4, 4]\n",
        );
        assert_eq!((found.failed_links, found.degraded_links), (1, 1));
        let folder = std::env::temp_dir().join(format!("odonata-apart-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("two.txt"), "a b\nc d\n").unwrap();
        let text = "[machine]\ngraph = { file = \"two.txt\" }\n";
        let error = scenario::load_hardware(text, "m.toml", &[], &folder).unwrap_err();
        std::fs::remove_dir_all(&folder).unwrap();
        assert_eq!(error.key, "machine.graph.file");
        assert!(
            error.message.contains("4 pairs of routers with nodes are disconnected"),
            "{error}"
        );
    }
}

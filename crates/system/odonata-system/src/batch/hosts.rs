//! The hosts of a machine, which job lists call nodes.
//!
//! A node of a scenario is an end point of the network. On most machines that is a host; on these a host has several:
//!
//! | machine | end points of a host | source |
//! |---|---|---|
//! | preset `lumi` | four interfaces, two on each of two switches | `placement::hosts` |
//! | preset `frontier-like` | four interfaces, taken as neighbors on a switch as in preset `frontier` | the preset |
//! | `rail-optimized` | its GPUs, numbered host by host | `odonata_topology::family::rail_optimized` |

use crate::placement::hosts;
use crate::scenario::resolved::{Kind, Resolved};

/// Hosts and end points of LUMI-G; interfaces 2 and 3 of a host are 16 switches of 16 end points after 0 and 1.
const HOSTS_OF_LUMI: u32 = 24 * 124;
const END_POINTS_OF_LUMI: u32 = 24 * 32 * 16;
const OTHER_SWITCH_OF_LUMI: u32 = 16 * 16;
/// End points of the preset `frontier-like`, four of a host.
const END_POINTS_OF_FRONTIER: u32 = 74 * 32 * 16;

/// The end points of each host that jobs may have, its first interface first. All hosts have equally many.
pub(super) fn of(scenario: &Resolved) -> Vec<Vec<u32>> {
    let compute = scenario.layout.compute_nodes(scenario.storage.as_ref());
    let is_compute = |node: &u32| compute.binary_search(node).is_ok();
    let nodes = scenario.layout.nodes();
    let neighbors = |count: u32| (0..nodes / count).map(move |host| (host * count..(host + 1) * count).collect());
    let all: Vec<Vec<u32>> = match (&scenario.machine.kind, scenario.preset.as_deref()) {
        (Kind::RailOptimized(cluster), _) => neighbors(*cluster.gpus_per_host).collect(),
        (_, Some("lumi")) if nodes == END_POINTS_OF_LUMI => (0..HOSTS_OF_LUMI).filter_map(of_lumi).collect(),
        (_, Some("frontier-like")) if nodes == END_POINTS_OF_FRONTIER => neighbors(4).collect(),
        _ => return compute.iter().map(|&node| vec![node]).collect(),
    };
    all.into_iter().filter(|host| host.iter().all(is_compute)).collect()
}

fn of_lumi(host: u32) -> Option<Vec<u32>> {
    let first = hosts::node("lumi", &format!("nid{:06}", 5_000 + host)).ok()?;
    Some(
        [0, 1]
            .iter()
            .flat_map(|&at| [at, at + OTHER_SWITCH_OF_LUMI])
            .map(|at| first + at)
            .collect(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario;
    use std::collections::BTreeSet;

    fn hosts(text: &str) -> (Vec<Vec<u32>>, u32) {
        let loaded = scenario::load_to_check(text, "m.toml", &[], None, "").unwrap_or_else(|error| panic!("{error}"));
        (of(&loaded.resolved), loaded.resolved.layout.nodes())
    }

    /// Published: 2,978 hosts of LUMI-G, of which 124 in each of 24 groups are built; 9,472 of Frontier; 128 DGX H100; 8
    /// racks.
    #[test]
    fn job_lists_count_hosts() {
        for (preset, count, end_points) in [
            ("lumi", 2_976, 4),
            ("frontier-like", 9_472, 4),
            ("frontier", 9_472, 1),
            ("dgx-h100-superpod", 128, 8),
            ("dgx-gb200", 8, 72),
            ("theta", 3_456, 1),
        ] {
            let (found, nodes) = hosts(&format!("preset = \"{preset}\"\n"));
            assert_eq!(found.len(), count, "{preset}");
            assert!(found.iter().all(|host| host.len() == end_points), "{preset}");
            let all: BTreeSet<u32> = found.iter().flatten().copied().collect();
            assert_eq!(all.len(), count * end_points, "{preset}");
            assert!(all.iter().all(|&node| node < nodes), "{preset}");
        }
    }

    /// Two end points of a host on each of two switches of its group.
    #[test]
    fn a_host_of_lumi_is_on_two_switches_of_a_group() {
        for host in hosts("preset = \"lumi\"\n").0 {
            let switches: Vec<u32> = host.iter().map(|node| node / 16).collect();
            assert_eq!((switches[0], switches[1]), (switches[2], switches[3]));
            assert_eq!(switches[1] - switches[0], 16);
            assert_eq!(switches[0] / 32, switches[1] / 32);
        }
    }

    /// A changed machine has no hosts of the preset; a host with a storage server is not for jobs.
    #[test]
    fn other_machines_have_one_end_point_per_host() {
        let (found, nodes) = hosts("preset = \"lumi\"\n[machine.dragonfly]\ngroups = 10\n");
        assert_eq!((found.len() as u32, found[7].clone()), (nodes, vec![7]));
        let cluster = "[machine.rail-optimized]\nhosts_per_pod = 3\ngpus_per_host = 4\n[storage]\n\
                       nodes = { list = [5] }\n\
                       device = { rate = { write = \"1 GB/s\", read = \"2 GB/s\", overhead = \"0 s\" } }\n";
        let (found, _) = hosts(cluster);
        assert_eq!(found, [vec![0, 1, 2, 3], vec![8, 9, 10, 11]]);
    }
}

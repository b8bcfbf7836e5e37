//! The links of a machine, and the loads of a job's traffic on them.
//!
//! Links are the ports of routers, then the interfaces of nodes, then the storage servers. A flow takes the paths that
//! the routing gives on an idle network; ties and random choices are drawn. Messages between hosts with several end
//! points are shared equally by end points of one number, I/O by all. A host has one file, on the servers that the
//! layout of files gives it. Cables tell traffic classes apart, servers do not. The capacity of a server is the rate at which its devices read in large calls; bytes
//! of small calls and writes count more, by the ratio of the rates.

use super::hosts;
use super::traffic::{Pattern, flows};
use crate::build;
use crate::placement::{self, Placement};
use crate::results::ends;
use crate::scenario::resolved::{Device, Resolved};
use odonata_batch::{Demand, LinkLoads, TrafficClass};
use odonata_network::routing::{Choice, Header, Path, Routing};
use odonata_storage::{FileLayout, Layout};
use odonata_topology::{LinkClass, Peer};
use odonata_units::{Bandwidth, SplitMix64};

/// Names of the classes of links, by number.
pub(super) const CLASSES: [&str; 5] = ["terminal", "local", "global", "column", "server"];
const SERVER: u8 = 4;
/// Paths drawn for each flow.
const DRAWS: u64 = 4;
/// Most links of a path; no routing has longer ones.
const LONGEST: usize = 250;
/// Size of the accesses by which devices are rated.
const ACCESS: u64 = 4 << 20;

/// The links of a machine.
pub struct MachineLinks {
    routing: Routing,
    capacities: Vec<f64>,
    classes: Vec<u8>,
    traffic_classes: Vec<TrafficClass>,
    /// The end points of each host, and the node of each server.
    hosts: Vec<Vec<u32>>,
    servers: Vec<u32>,
    /// The server of each end point of the hosts, if files are on the servers of their nodes; and the layout of files.
    homes: Vec<Vec<u32>>,
    layout: Layout,
    /// The devices of a server, and the largest piece in which it uses them.
    devices: Vec<Device>,
    block: u64,
    seed: u64,
    /// Load of each link, zero between calls.
    sums: Vec<f64>,
}

impl MachineLinks {
    /// The links of the machine of `scenario`.
    ///
    /// # Errors
    /// The machine cannot be built.
    pub fn new(scenario: &Resolved, placement: &Placement) -> Result<MachineLinks, String> {
        let routing = build::routing(scenario)?;
        let params = build::network(scenario)?;
        let topology = routing.topology();
        let bandwidth = |port: u32, to_node| {
            params
                .bandwidth(topology.medium(port), topology.factor(port), to_node)
                .0
        };
        let capacity = |port: u32| bandwidth(port, matches!(topology.peer(port), Peer::Node(_)));
        let nic = |node: u32| {
            let link = bandwidth(topology.node_port(node), false);
            params.nic_rate(node).map_or(link, |Bandwidth(rate)| rate.min(link))
        };
        let mut capacities: Vec<f64> = (0..topology.ports()).map(capacity).collect();
        let mut classes: Vec<u8> = (0..topology.ports()).map(|port| topology.class(port) as u8).collect();
        capacities.extend((0..topology.nodes()).map(nic));
        classes.resize(capacities.len(), LinkClass::Terminal as u8);
        let storage = scenario.storage.as_ref();
        let devices = storage.map_or_else(Vec::new, |storage| storage.all_devices().to_vec());
        for _ in &placement.servers {
            // A server without devices only forwards.
            let reads = rate(&devices, false, ACCESS);
            capacities.push(if reads > 0.0 { reads } else { f64::MAX });
            classes.push(SERVER);
        }
        let hosts = hosts::of(scenario);
        let compute = scenario.layout.compute_nodes(scenario.storage.as_ref());
        let of_nodes = placement::server_of_clients(scenario, &placement.servers)?;
        let home = |end_point: &u32| {
            let at = compute.binary_search(end_point).ok();
            at.and_then(|at| of_nodes.get(at).copied()).unwrap_or(0)
        };
        Ok(MachineLinks {
            homes: hosts.iter().map(|host| host.iter().map(home).collect()).collect(),
            traffic_classes: traffic_classes(scenario),
            hosts,
            sums: vec![0.0; capacities.len()],
            capacities,
            classes,
            servers: placement.servers.clone(),
            layout: (scenario.storage.as_ref()).map_or_else(Layout::default, |storage| storage.layout),
            devices,
            block: storage.map_or(ACCESS, |storage| storage.manager.block.0),
            seed: scenario.seed,
            routing,
        })
    }

    /// The names of all links: `n12>r3` by their ends (n = node, r = router), servers as `server 0`.
    pub fn names(&self) -> Vec<String> {
        let cables = (self.capacities.len() - self.servers.len()) as u32;
        let name = |link| ends(self.routing.topology(), link).map_or_else(String::new, |ends| ends.name());
        let servers = (0..self.servers.len()).map(|server| format!("server {server}"));
        (0..cables).map(name).chain(servers).collect()
    }

    /// Bytes read in large calls in the time of one byte of a piece of `bytes`.
    fn weight(&self, write: bool, bytes: u64) -> f64 {
        let pieces = rate(&self.devices, write, bytes);
        if pieces > 0.0 {
            rate(&self.devices, false, ACCESS) / pieces
        } else {
            1.0
        }
    }

    /// Adds `part` to the links from node `source` to node `target`, shared equally by their interfaces.
    fn add_flow(&mut self, source: u32, target: u32, part: f64, touched: &mut Vec<u32>) {
        if source == target {
            return;
        }
        let topology = self.routing.topology();
        let part = part / f64::from(topology.interfaces());
        for (from, to) in topology.interfaces_of(source).zip(topology.interfaces_of(target)) {
            self.add_flow_of_interfaces(from, to, part, touched);
        }
    }

    /// Adds `part` to the links from one interface to another.
    fn add_flow_of_interfaces(&mut self, source: u32, target: u32, part: f64, touched: &mut Vec<u32>) {
        let topology = self.routing.topology();
        let draws = if self.routing.is_deterministic() { 1 } else { DRAWS };
        for draw in 0..draws {
            let names = [u64::from(source), u64::from(target), draw];
            let mut choice = Idle(SplitMix64::named(self.seed, names));
            let mut header = Header::new(target);
            let mut router = topology.node_router(source);
            let mut link = topology.ports() + source;
            for _ in 0..LONGEST {
                let sum = &mut self.sums[link as usize];
                if *sum == 0.0 {
                    touched.push(link);
                }
                *sum += part / draws as f64;
                if link < topology.ports() {
                    match topology.peer(link) {
                        Peer::Router { router: far, .. } => router = far,
                        Peer::Node(_) | Peer::Free => break,
                    }
                }
                link = self.routing.decide(router, &mut header, &mut choice).port;
            }
        }
    }
}

impl LinkLoads for MachineLinks {
    fn capacities(&self) -> Vec<f64> {
        self.capacities.clone()
    }

    fn classes(&self) -> Vec<u8> {
        self.classes.clone()
    }

    fn traffic_classes(&self) -> Vec<TrafficClass> {
        self.traffic_classes.clone()
    }

    fn tells_classes(&self) -> Vec<bool> {
        self.classes.iter().map(|&class| class != SERVER).collect()
    }

    fn loads(&mut self, job: u32, nodes: &[u32], demand: &Demand) -> Vec<(u32, f64)> {
        let Some(pattern) = Pattern::of(demand.pattern) else {
            return Vec::new();
        };
        let mut touched = Vec::new();
        let host = |at: u32| nodes[at as usize] as usize;
        for flow in flows(pattern, nodes.len() as u32, self.seed) {
            let end_points = self.hosts[host(flow.source)].len();
            for at in 0..end_points {
                let (source, target) = (self.hosts[host(flow.source)][at], self.hosts[host(flow.target)][at]);
                self.add_flow(source, target, flow.part / end_points as f64, &mut touched);
            }
        }
        let is_storage = matches!(pattern, Pattern::Read | Pattern::Write);
        if is_storage && !self.servers.is_empty() {
            let first_server = self.capacities.len() - self.servers.len();
            let layout = FileLayout::new(self.layout, self.servers.len() as u32, self.seed, &format!("job-{job}"));
            let call = if demand.access > 0 { demand.access } else { ACCESS };
            for at in 0..nodes.len() as u32 {
                for end_point in 0..self.hosts[host(at)].len() {
                    let (client, home) = (self.hosts[host(at)][end_point], self.homes[host(at)][end_point]);
                    let pieces = layout.parts(u64::from(at), (0, call), home).count() as u64;
                    let weight = self.weight(pattern == Pattern::Write, (call / pieces.max(1)).clamp(1, self.block));
                    let servers = layout.servers_of(u64::from(at), home);
                    let part = 1.0 / (servers.len() * self.hosts[host(at)].len()) as f64;
                    for server in servers {
                        let server = server as usize;
                        let node = self.servers[server];
                        let (source, target) = match pattern {
                            Pattern::Write => (client, node),
                            _ => (node, client),
                        };
                        self.add_flow(source, target, part, &mut touched);
                        let link = first_server + server;
                        if self.sums[link] == 0.0 {
                            touched.push(link as u32);
                        }
                        self.sums[link] += part * weight;
                    }
                }
            }
        }
        touched.sort_unstable();
        let take = |link: u32| (link, std::mem::take(&mut self.sums[link as usize]));
        touched.into_iter().map(take).collect()
    }
}

/// The traffic classes of the network.
pub(super) fn traffic_classes(scenario: &Resolved) -> Vec<TrafficClass> {
    let classes = scenario.network.traffic_classes.iter();
    let class = |class: &odonata_network::settings::TrafficClass| TrafficClass {
        name: class.name.clone(),
        share: class.share,
        priority: class.priority,
    };
    classes.map(class).collect()
}

/// The bytes per second of devices together, in accesses of `bytes`.
fn rate(devices: &[Device], write: bool, bytes: u64) -> f64 {
    let seconds = |device: &Device| device.model().about(write, bytes).seconds();
    devices.iter().map(|device| bytes as f64 / seconds(device)).sum()
}

/// The answers of an idle network: all ports are equal, so ties are drawn, and no packet leaves a minimal path.
struct Idle(SplitMix64);

impl Choice for Idle {
    fn pick(&mut self, n: u32) -> u32 {
        self.0.below(n)
    }

    fn lighter(&mut self, _: u32, _: u32) -> bool {
        self.0.below(2) == 0
    }

    fn lighter_path(&mut self, a: Path, b: Path) -> bool {
        a.hops < b.hops
    }

    fn divert(&mut self, _: Path, _: Path) -> bool {
        false
    }

    fn room(&mut self, _: u32, _: u8) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario;

    const TEXT: &str = "[machine.dragonfly]\ngroups = 3\nrouters_per_group = 2\nnodes_per_router = 2\n\
                        global_ports_per_router = 1\n[network.links.terminal]\nbandwidth = \"10 GB/s\"\n\
                        [network.links.local]\nbandwidth = \"5 GB/s\"\n";
    const STORAGE: &str = "[storage]\nnodes = { per_group = 1 }\n\
                           device = { rate = { write = \"1 GB/s\", read = \"2 GB/s\", overhead = \"0 s\" } }\n";

    fn of(pattern: u8, access: u64) -> Demand {
        Demand {
            pattern,
            rate: 1.0,
            share: 1.0,
            access,
            class: 0,
        }
    }

    fn links(text: &str) -> MachineLinks {
        let loaded = scenario::load_to_check(text, "m.toml", &[], None, "").unwrap_or_else(|error| panic!("{error}"));
        MachineLinks::new(&loaded.resolved, &loaded.placement).unwrap()
    }

    /// Two nodes of a router: their interfaces, and the ports of the router to them, all at 10 GB/s.
    #[test]
    fn a_ring_of_two_nodes_loads_their_terminal_links() {
        let mut links = links(TEXT);
        let found = links.loads(0, &[0, 1], &of(1, 0));
        assert_eq!(found.len(), 4);
        for (link, weight) in found {
            assert_eq!(
                (links.capacities()[link as usize], links.classes()[link as usize]),
                (10e9, 0)
            );
            assert!((weight - 1.0).abs() < 1e-12);
        }
    }

    /// Every byte leaves an interface and arrives over a terminal link; between the routers of a group it takes their
    /// only cable, at 5 GB/s.
    #[test]
    fn flows_take_the_cables_between_their_routers() {
        let mut links = links(TEXT);
        let found = links.loads(0, &[0, 2], &of(1, 0));
        let of_class = |class: u8| -> Vec<(u32, f64)> {
            let is_of = |used: &&(u32, f64)| links.classes()[used.0 as usize] == class;
            found.iter().filter(is_of).copied().collect()
        };
        assert_eq!((of_class(0).len(), of_class(1).len(), of_class(2).len()), (4, 2, 0));
        assert!(
            of_class(1)
                .iter()
                .all(|used| links.capacities()[used.0 as usize] == 5e9)
        );
    }

    /// Two hosts with two GPUs send to each other: half of the bytes on each rail, from the interface of a GPU to its
    /// leaf and to the interface of the other host.
    #[test]
    fn hosts_share_their_bytes_between_end_points() {
        let mut links = links("[machine.rail-optimized]\nhosts_per_pod = 2\ngpus_per_host = 2\nspines = 0\n");
        assert_eq!(links.hosts, [[0, 1], [2, 3]]);
        let found = links.loads(0, &[0, 1], &of(1, 0));
        assert!(found.iter().all(|used| (used.1 - 0.5).abs() < 1e-12), "{found:?}");
        let column = LinkClass::Column as u8;
        let rails = found.iter().filter(|used| links.classes()[used.0 as usize] == column);
        // To the leaf and from it, on two rails, for both directions.
        assert_eq!(rails.count(), 8);
        let interfaces = found.iter().filter(|used| used.0 >= links.routing.topology().ports());
        assert_eq!(interfaces.count(), 4);
    }

    /// Hosts of two GPUs write to the GPUs of the last host, which are servers: half of the bytes over each interface of a
    /// host, and all of them to servers. Cables tell traffic classes apart, servers do not.
    #[test]
    fn hosts_share_their_io_between_end_points() {
        let mut links = links(
            "[machine.rail-optimized]\nhosts_per_pod = 3\ngpus_per_host = 2\nspines = 0\n\
             [[network.traffic_classes]]\nname = \"a\"\nshare = 0.25\n\
             [[network.traffic_classes]]\nname = \"b\"\nshare = 0.5\npriority = 2\n\
             [storage]\nnodes = { list = [4, 5] }\nlayout = \"round-robin\"\n\
             device = { rate = { write = \"1 GB/s\", read = \"1 GB/s\", overhead = \"0 s\" } }\n",
        );
        assert_eq!(links.hosts, [[0, 1], [2, 3]]);
        let (ports, nodes) = (links.routing.topology().ports(), links.routing.topology().nodes());
        for pattern in [4, 5] {
            let found = links.loads(0, &[0, 1], &of(pattern, ACCESS));
            let weight = |link: u32| found.iter().find(|used| used.0 == link).map_or(0.0, |used| used.1);
            for node in 0..4 {
                // To the node, or from it; its own rail's leaf is a hop, the other rail is behind the host's links.
                let terminal = links.routing.topology().node_port(node);
                let link = if pattern == 4 { terminal } else { ports + node };
                assert!((weight(link) - 0.5).abs() < 1e-12, "{pattern} {node}: {found:?}");
            }
            let servers = weight(ports + nodes) + weight(ports + nodes + 1);
            assert!((servers - 2.0).abs() < 1e-12, "{pattern}: {servers}");
        }
        let known: Vec<(f64, i32)> = (links.traffic_classes().iter())
            .map(|class| (class.share, class.priority))
            .collect();
        assert_eq!(known, [(0.25, 0), (0.5, 2)]);
        let told = links.tells_classes();
        let blind: Vec<usize> = (0..told.len()).filter(|&link| !told[link]).collect();
        assert_eq!(blind, [(ports + nodes) as usize, (ports + nodes) as usize + 1]);
    }

    /// A node writes to the server of its group. Writes load it by the ratio of the rates, 2. Calls of 64 KiB take
    /// 65,536 B / rate + the overhead of 20 us: that much longer than 65,536 B / 2 GB/s.
    #[test]
    fn storage_loads_servers() {
        let slow = STORAGE.replace("0 s", "20 us");
        let time = |overhead: f64, rate: f64| (overhead + 65_536.0 / rate) / (65_536.0 / 2e9);
        let expected = [
            (STORAGE.to_string(), 4, 0, 1.0),
            (STORAGE.to_string(), 5, 0, 2.0),
            (slow.clone(), 4, 65_536, time(20e-6, 2e9)),
            (slow, 5, 65_536, time(20e-6, 1e9)),
        ];
        for (storage, pattern, access, expected) in expected {
            let mut links = links(&format!("{TEXT}{storage}"));
            let found = links.loads(0, &[0], &of(pattern, access));
            let servers: Vec<f64> = found
                .iter()
                .filter(|used| links.classes()[used.0 as usize] == SERVER)
                .map(|used| used.1)
                .collect();
            assert_eq!(servers.len(), 1);
            // Large calls have 1/64 of the overhead, which is 1% of their time.
            assert!((servers[0] / expected - 1.0).abs() < 0.01, "{servers:?} {expected}");
        }
        let capacities = links(&format!("{TEXT}{STORAGE}")).capacities();
        assert!((capacities.last().unwrap() / 2e9 - 1.0).abs() < 1e-3);
    }

    /// Ports of routers, interfaces of nodes, servers.
    #[test]
    fn links_have_names() {
        let links = links(&format!("{TEXT}{STORAGE}"));
        let names = links.names();
        assert_eq!(names.len(), links.capacities().len());
        let topology = links.routing.topology();
        assert_eq!(names[topology.node_port(5) as usize], "r2>n5");
        assert_eq!(names[topology.ports() as usize + 5], "n5>r2");
        assert_eq!(names.last().unwrap(), "server 2");
    }
}

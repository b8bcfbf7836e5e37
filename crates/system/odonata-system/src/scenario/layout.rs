//! The location of a machine's nodes: the router and the group of each.
//!
//! Routers may have different numbers of nodes, including none, and groups different numbers of routers. Groups are the
//! [blocks](odonata_topology::Topology::blocks) of the graph: the groups of a dragonfly, the planes of a torus, the
//! pods of a fat tree.

use std::ops::Range;
use std::sync::Arc;

use odonata_network::Extent;
use odonata_storage::settings::{NodeClass, Nodes, Position, Storage};
use odonata_topology::Topology;

/// Numbers of nodes, routers and groups, and their membership; cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// First node of each router, followed by the number of nodes.
    first_node: Arc<[u32]>,
    /// First router of each group, followed by the number of routers.
    first_router: Arc<[u32]>,
    /// Nodes reserved for neither jobs nor storage servers, ascending.
    service: Arc<[u32]>,
    /// Nodes at the end that run no jobs, for storage servers.
    storage: u32,
    /// Numbers of all parts before any cable failed; its nodes are interfaces.
    extent: Extent,
}

impl Layout {
    /// The layout of a graph.
    ///
    /// # Errors
    /// The nodes are not numbered in the order of their routers, or there are none.
    pub fn new(topology: &Topology) -> Result<Layout, String> {
        let (routers, nodes) = (topology.routers(), topology.whole_nodes());
        if nodes == 0 {
            return Err("a machine without nodes".into());
        }
        let mut first_node = vec![0; routers as usize + 1];
        let mut last = 0;
        for node in 0..nodes {
            let router = topology.router_of_whole_node(node);
            if router < last {
                return Err(format!(
                    "node {node} is on router {router}, the node before it on router {last}: nodes are numbered in \
                     the order of their routers"
                ));
            }
            last = router;
            first_node[router as usize + 1] += 1;
        }
        for router in 0..routers as usize {
            first_node[router + 1] += first_node[router];
        }
        let mut extent = Extent {
            routers: u64::from(routers),
            nodes: u64::from(topology.nodes()),
            outputs: odonata_network::outputs(topology),
            ..Extent::default()
        };
        for port in 0..topology.ports() {
            extent.ports[topology.class(port) as usize] += 1;
        }
        Ok(Layout {
            first_node: first_node.into(),
            first_router: topology.blocks().into(),
            service: Arc::new([]),
            storage: 0,
            extent,
        })
    }

    /// This layout with service nodes: the nodes of these routers of every group, numbered from 0 in the group.
    pub fn with_service_routers(self, routers: &[u32]) -> Layout {
        let service = self.nodes_of_routers_of_groups(routers);
        Layout {
            service: service.into(),
            ..self
        }
    }

    /// This layout with `storage` nodes at the end that run no jobs, for storage servers.
    pub fn with_storage_nodes(self, storage: u32) -> Layout {
        Layout { storage, ..self }
    }

    /// The nodes that are there for storage servers.
    pub fn storage_nodes(&self) -> Range<u32> {
        self.nodes() - self.storage..self.nodes()
    }

    /// The nodes of these routers in every group that has them, numbered from 0 in the group; ascending.
    pub fn nodes_of_routers_of_groups(&self, routers: &[u32]) -> Vec<u32> {
        let mut nodes = Vec::new();
        for group in self.first_router.windows(2) {
            for &router in routers {
                if router < group[1] - group[0] {
                    let at = (group[0] + router) as usize;
                    nodes.extend(self.first_node[at]..self.first_node[at + 1]);
                }
            }
        }
        nodes.sort_unstable();
        nodes
    }

    /// The nodes that the resolved `nodes` selects; no nodes for compute nodes.
    pub fn servers(&self, nodes: &Nodes) -> Vec<u32> {
        match nodes.class {
            Some(NodeClass::Compute) => return Vec::new(),
            Some(NodeClass::Service) => return self.service.to_vec(),
            None => {}
        }
        if let Some(list) = &nodes.list {
            return list.clone();
        }
        if let Some(routers) = &nodes.routers {
            return self.nodes_of_routers_of_groups(routers);
        }
        let (count, position) = (nodes.per_group.unwrap_or(0), nodes.position.unwrap_or_default());
        self.groups_with_nodes()
            .flat_map(|group| (0..count).map(move |server| (self.nodes_of_group(group), server)))
            .map(|(nodes, server)| match position {
                Position::First => nodes.start + server,
                Position::Last => nodes.end - 1 - server,
            })
            .collect()
    }

    /// The nodes that jobs may have, ascending, on a machine with `storage`.
    pub fn compute_nodes(&self, storage: Option<&Storage>) -> Vec<u32> {
        let mut compute = vec![true; self.nodes() as usize];
        let of_tiers = storage.into_iter().flat_map(|storage| {
            let below = storage.tiers.iter().map(|tier| &tier.nodes);
            let metadata = storage.metadata.iter().map(|metadata| &metadata.nodes);
            (std::iter::once(&storage.nodes).chain(&storage.spare).chain(below)).chain(metadata)
        });
        for node in of_tiers.flat_map(|nodes| self.servers(nodes)) {
            compute[node as usize] = false;
        }
        (0..self.nodes())
            .filter(|&node| compute[node as usize] && !self.is_service(node) && !self.storage_nodes().contains(&node))
            .collect()
    }

    /// The node of each server of each tier, starting with the tier that ranks use first. Object servers of a file
    /// system are placed where their queues are kept: at the I/O nodes, in turn.
    pub fn tiers(&self, storage: &Storage) -> Vec<Vec<u32>> {
        let first = match storage.nodes.class {
            Some(NodeClass::Compute) => self.compute_nodes(Some(storage)),
            _ => self.servers(&storage.nodes),
        };
        let mut tiers = vec![first];
        tiers.extend(storage.tiers.iter().map(|tier| self.servers(&tier.nodes)));
        if let Some(system) = storage.file_system {
            let hosts = tiers.last().map_or(&[][..], |tier| tier);
            let queues = hosts.iter().copied().cycle().take(system.object_servers as usize);
            tiers.push(queues.collect());
        }
        tiers
    }

    /// Whether `node` is available to neither jobs nor storage servers.
    pub fn is_service(&self, node: u32) -> bool {
        self.service.binary_search(&node).is_ok()
    }

    /// Number of nodes available to neither jobs nor storage servers.
    pub fn service_nodes(&self) -> u32 {
        self.service.len() as u32
    }

    /// Number of routers of the largest group.
    pub fn routers_of_a_group(&self) -> u32 {
        let sizes = self.first_router.windows(2).map(|group| group[1] - group[0]);
        sizes.max().unwrap_or(0)
    }

    /// Numbers of routers, interfaces of nodes, and ports before any cable failed.
    pub fn extent(&self) -> &Extent {
        &self.extent
    }

    /// Number of nodes, compute nodes and servers together.
    pub fn nodes(&self) -> u32 {
        self.first_node[self.routers() as usize]
    }

    /// Number of routers.
    pub fn routers(&self) -> u32 {
        self.first_node.len() as u32 - 1
    }

    /// Number of groups.
    pub fn groups(&self) -> u32 {
        self.first_router.len() as u32 - 1
    }

    /// The nodes of `group`; may be empty.
    pub fn nodes_of_group(&self, group: u32) -> Range<u32> {
        let group = group as usize;
        let node = |router: u32| self.first_node[router as usize];
        node(self.first_router[group])..node(self.first_router[group + 1])
    }

    /// The router of `node`.
    pub fn router_of(&self, node: u32) -> u32 {
        // Routers without nodes begin where the next router begins: the last router that begins there has the node.
        self.first_node.partition_point(|&first| first <= node) as u32 - 1
    }

    /// The group of `router`.
    pub fn group_of_router(&self, router: u32) -> u32 {
        self.first_router.partition_point(|&first| first <= router) as u32 - 1
    }

    /// The group of `node`.
    pub fn group_of(&self, node: u32) -> u32 {
        self.group_of_router(self.router_of(node))
    }

    /// Numbers of nodes of the smallest nonempty group and of the largest group.
    pub fn group_sizes(&self) -> (u32, u32) {
        let sizes = (0..self.groups()).map(|group| self.nodes_of_group(group).len() as u32);
        let sizes = sizes.filter(|&size| size > 0);
        sizes.fold((u32::MAX, 0), |(least, most), size| (least.min(size), most.max(size)))
    }

    /// Groups that have nodes.
    pub fn groups_with_nodes(&self) -> impl Iterator<Item = u32> + '_ {
        (0..self.groups()).filter(|&group| !self.nodes_of_group(group).is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Five routers with 0, 2, 0, 1, 0 nodes in groups of two, two and one.
    fn layout() -> Layout {
        let topology = Topology::new(&[2; 5], &[(1, 0), (1, 1), (3, 0)], &[]).unwrap();
        Layout::new(&topology.with_blocks(vec![0, 2, 4, 5]).unwrap()).unwrap()
    }

    #[test]
    fn routers_without_nodes_are_passed_over() {
        let layout = layout();
        assert_eq!((layout.nodes(), layout.routers(), layout.groups()), (3, 5, 3));
        assert_eq!([0, 1, 2].map(|node| layout.router_of(node)), [1, 1, 3]);
        assert_eq!([0, 1, 2].map(|node| layout.group_of(node)), [0, 0, 1]);
        assert_eq!([0, 1, 2].map(|group| layout.nodes_of_group(group)), [0..2, 2..3, 3..3]);
        assert_eq!(
            [0, 1, 2, 3, 4].map(|router| layout.group_of_router(router)),
            [0, 0, 1, 1, 2]
        );
        assert_eq!(layout.group_sizes(), (1, 2));
        assert_eq!(layout.groups_with_nodes().collect::<Vec<_>>(), [0, 1]);
    }

    #[test]
    fn routers_of_a_group_are_counted_from_its_first() {
        let layout = layout();
        assert_eq!(layout.nodes_of_routers_of_groups(&[1]), [0, 1, 2]);
        assert!(layout.nodes_of_routers_of_groups(&[0, 7]).is_empty());
        let layout = layout.with_service_routers(&[1]);
        assert_eq!(
            (layout.service_nodes(), layout.is_service(2), layout.is_service(3)),
            (3, true, false)
        );
        assert_eq!(layout.routers_of_a_group(), 2);
    }

    #[test]
    fn nodes_out_of_order_are_refused() {
        let topology = Topology::new(&[2; 2], &[(1, 0), (0, 0)], &[]).unwrap();
        assert!(Layout::new(&topology).unwrap_err().contains("node 1 is on router 0"));
        let topology = Topology::new(&[2; 2], &[], &[]).unwrap();
        assert!(Layout::new(&topology).unwrap_err().contains("without nodes"));
    }
}

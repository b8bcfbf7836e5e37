//! Trees of routers for sums of groups of interfaces.
//!
//! The root is a router in the middle of the group: of those with the least distance to the farthest router of the group,
//! the one in the fewest trees. The group's routers are linked to it by shortest paths, which meet as early as they can. A
//! router with at least two children in a tree sums; it can do so in a limited number of trees.

use odonata_engine::NIL;
use odonata_topology::{Peer, Topology};
use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

/// An interface of a group, with the number of ranks that it sums for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReductionMember {
    /// Its number in the machine.
    pub interface: u32,
    /// Ranks on it.
    pub ranks: u32,
}

/// A router or an interface of a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Vertex {
    /// The router; of an interface, its router.
    pub(crate) router: u32,
    /// The interface, or [`NIL`].
    pub(crate) interface: u32,
    /// Its parent, or [`NIL`] for the root.
    pub(crate) parent: u32,
    /// The router port toward the parent; [`NIL`] for the root and for interfaces, which send on their own link.
    pub(crate) up: u32,
    /// The port of the parent's router to this vertex; [`NIL`] for the root.
    pub(crate) down: u32,
    /// Ranks of an interface; children of a router.
    pub(crate) inputs: u32,
    /// Its children: a range in those of all trees.
    children: (u32, u32),
}

/// The trees of all groups.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReductionTrees {
    vertices: Vec<Vertex>,
    children: Vec<u32>,
    /// The vertices of each tree.
    of_trees: Vec<Range<u32>>,
    /// By tree and interface.
    members: BTreeMap<(u32, u32), u32>,
}

/// Roots that are tried for a group.
const CANDIDATES: usize = 16;

impl ReductionTrees {
    /// Plants a tree for each group on `topology`, in order; a router sums in at most `units` trees. Returns the trees,
    /// and for each group its tree or the router that is in too many of them.
    pub fn plant(
        topology: &Topology,
        groups: &[Vec<ReductionMember>],
        units: u32,
    ) -> (ReductionTrees, Vec<Result<u32, u32>>) {
        let mut ground = Ground {
            topology,
            units,
            sums: vec![0; topology.routers() as usize],
            cables: vec![0; topology.ports() as usize],
        };
        let mut trees = ReductionTrees::default();
        let planted = groups.iter().map(|group| {
            let parents = ground.grow(group)?;
            trees.add(topology, group, &parents);
            Ok(trees.of_trees.len() as u32 - 1)
        });
        let planted = planted.collect();
        (trees, planted)
    }

    /// Adds the tree with these links: router, parent and port to it, the root first.
    fn add(&mut self, topology: &Topology, group: &[ReductionMember], links: &[(u32, u32, u32)]) {
        let (first, tree) = (self.vertices.len() as u32, self.of_trees.len() as u32);
        let numbers: BTreeMap<u32, u32> = links.iter().map(|&(router, ..)| router).zip(first..).collect();
        let vertex = |router: u32| numbers.get(&router).copied().unwrap_or(NIL);
        for &(router, parent, up) in links {
            let far = (up != NIL).then(|| topology.peer(up));
            let down = match far {
                Some(Peer::Router { port, .. }) => port,
                _ => NIL,
            };
            self.vertices.push(Vertex {
                router,
                interface: NIL,
                parent: vertex(parent),
                up,
                down,
                inputs: 0,
                children: (0, 0),
            });
        }
        for member in group {
            let router = topology.node_router(member.interface);
            self.members
                .insert((tree, member.interface), self.vertices.len() as u32);
            self.vertices.push(Vertex {
                router,
                interface: member.interface,
                parent: vertex(router),
                up: NIL,
                down: topology.node_port(member.interface),
                inputs: member.ranks,
                children: (0, 0),
            });
        }
        let all = first..self.vertices.len() as u32;
        for parent in first..first + links.len() as u32 {
            let start = self.children.len() as u32;
            let of_parent = all
                .clone()
                .filter(|&child| self.vertices[child as usize].parent == parent);
            self.children.extend(of_parent);
            let end = self.children.len() as u32;
            let vertex = &mut self.vertices[parent as usize];
            (vertex.children, vertex.inputs) = ((start, end), end - start);
        }
        self.of_trees.push(all);
    }

    pub(crate) fn vertices(&self) -> &[Vertex] {
        &self.vertices
    }

    pub(crate) fn vertex(&self, vertex: u32) -> &Vertex {
        &self.vertices[vertex as usize]
    }

    /// The vertices below `vertex`.
    pub(crate) fn children(&self, vertex: u32) -> &[u32] {
        let (start, end) = self.vertex(vertex).children;
        &self.children[start as usize..end as usize]
    }

    /// The vertex of `interface` in `tree`.
    pub(crate) fn member(&self, tree: u32, interface: u32) -> Option<u32> {
        self.members.get(&(tree, interface)).copied()
    }

    /// Number of trees.
    pub fn len(&self) -> u32 {
        self.of_trees.len() as u32
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.of_trees.is_empty()
    }

    /// The router at the root of `tree`.
    pub fn root(&self, tree: u32) -> u32 {
        self.vertices[self.of_trees[tree as usize].start as usize].router
    }

    /// Links from the farthest interface of `tree` to its root.
    pub fn depth(&self, tree: u32) -> u32 {
        let depth = |vertex: u32| {
            std::iter::successors(Some(vertex), |&vertex| {
                Some(self.vertex(vertex).parent).filter(|&parent| parent != NIL)
            })
            .count() as u32
                - 1
        };
        self.of_trees[tree as usize].clone().map(depth).max().unwrap_or(0)
    }
}

/// The routers on which trees grow.
struct Ground<'a> {
    topology: &'a Topology,
    units: u32,
    /// Trees in which each router sums.
    sums: Vec<u32>,
    /// Trees with each port.
    cables: Vec<u32>,
}

impl Ground<'_> {
    /// The tree of `group`: router, parent and port to it, the root first.
    ///
    /// # Errors
    /// The router that sums in too many trees.
    fn grow(&mut self, group: &[ReductionMember]) -> Result<Vec<(u32, u32, u32)>, u32> {
        let mut members = BTreeMap::new();
        for member in group {
            *members.entry(self.topology.node_router(member.interface)).or_insert(0) += 1;
        }
        let routers: Vec<u32> = members.keys().copied().collect();
        let mut full = Err(routers.first().copied().unwrap_or(0));
        for root in self.roots(&routers) {
            match self.links(root, &members) {
                Ok(links) => {
                    self.take(&links, &members);
                    return Ok(links);
                }
                Err(router) => full = Err(router),
            }
        }
        full
    }

    /// The routers in the middle of `routers`, the best ones first.
    fn roots(&self, routers: &[u32]) -> Vec<u32> {
        let Some(&first) = routers.first() else {
            return Vec::new();
        };
        let farthest = |distances: &[u32]| {
            let key = |&&router: &&u32| (distances[router as usize], u32::MAX - router);
            routers.iter().max_by_key(key).copied().unwrap_or(first)
        };
        // The middle of a longest path, which lies between the router farthest from any one and the farthest from that.
        let one = farthest(&self.distances(first));
        let from_one = self.distances(one);
        let from_other = self.distances(farthest(&from_one));
        let reach = |router: u32| from_one[router as usize].max(from_other[router as usize]);
        let mut all: Vec<u32> = (0..self.topology.routers())
            .filter(|&router| reach(router) != NIL)
            .collect();
        all.sort_by_key(|&router| (reach(router), self.sums[router as usize], router));
        all.truncate(CANDIDATES);
        let exact = |&root: &u32| {
            let distances = self.distances(root);
            let reach = routers.iter().map(|&router| distances[router as usize]).max();
            (reach, self.sums[root as usize], root)
        };
        all.sort_by_cached_key(exact);
        all
    }

    /// Cables from `root` to every router; [`NIL`] if there is no path.
    fn distances(&self, root: u32) -> Vec<u32> {
        let mut distances = vec![NIL; self.topology.routers() as usize];
        distances[root as usize] = 0;
        let mut queue = VecDeque::from([root]);
        while let Some(router) = queue.pop_front() {
            for port in self.topology.ports_of(router) {
                if let Some(next) = self.topology.neighbour(port)
                    && distances[next as usize] == NIL
                {
                    distances[next as usize] = distances[router as usize] + 1;
                    queue.push_back(next);
                }
            }
        }
        distances
    }

    /// The links of a tree from `root` to `members`: routers, with the number of interfaces of each.
    ///
    /// # Errors
    /// The router that sums in too many trees.
    fn links(&self, root: u32, members: &BTreeMap<u32, u32>) -> Result<Vec<(u32, u32, u32)>, u32> {
        let distances = self.distances(root);
        let is_full = |router: u32| self.sums[router as usize] >= self.units;
        // By distance: routers, each with its inputs so far.
        let mut inputs = members.clone();
        let mut levels: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for &router in members.keys() {
            if distances[router as usize] == NIL {
                return Err(router);
            }
            levels.entry(distances[router as usize]).or_default().push(router);
        }
        let mut links = Vec::new();
        while let Some((level, mut routers)) = levels.pop_last() {
            routers.sort_unstable();
            routers.dedup();
            for router in routers {
                if inputs.get(&router).is_some_and(|&count| count > 1) && is_full(router) {
                    return Err(router);
                }
                if level == 0 {
                    links.push((router, NIL, NIL));
                    continue;
                }
                let closer = self.topology.ports_of(router).filter_map(|port| {
                    let next = self.topology.neighbour(port)?;
                    (distances[next as usize] + 1 == level).then_some((next, port))
                });
                let count = |next: u32| inputs.get(&next).copied().unwrap_or(0);
                let (open, closed): (Vec<_>, Vec<_>) =
                    closer.partition(|&(next, _)| count(next) == 0 || !is_full(next));
                let key = |&(next, port): &(u32, u32)| {
                    let sums = self.sums[next as usize];
                    (count(next) == 0, sums, self.cables[port as usize], port)
                };
                let Some((parent, port)) = open.into_iter().min_by_key(key) else {
                    return Err(closed.first().map_or(router, |&(next, _)| next));
                };
                if count(parent) == 0 {
                    levels.entry(level - 1).or_default().push(parent);
                }
                *inputs.entry(parent).or_insert(0) += 1;
                links.push((router, parent, port));
            }
        }
        links.reverse();
        Ok(links)
    }

    /// Counts the tree of these links.
    fn take(&mut self, links: &[(u32, u32, u32)], members: &BTreeMap<u32, u32>) {
        let mut inputs = members.clone();
        for &(_, parent, port) in links.iter().filter(|link| link.1 != NIL) {
            *inputs.entry(parent).or_insert(0) += 1;
            self.cables[port as usize] += 1;
        }
        for (router, count) in inputs {
            self.sums[router as usize] += u32::from(count > 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use odonata_topology::family::rail_optimized::{HostLinks, StorageShape};
    use odonata_topology::{RailOptimized, RailOptimizedShape};

    /// Two pods of two hosts with two GPUs, and `spines` spines.
    fn cluster(spines: u32) -> RailOptimized {
        RailOptimized::new(RailOptimizedShape {
            pods: 2,
            hosts: 2,
            gpus: 2,
            links: HostLinks::Switch,
            spines,
            cables: 1,
            storage: StorageShape::default(),
        })
        .unwrap()
    }

    fn group(interfaces: &[u32]) -> Vec<ReductionMember> {
        interfaces
            .iter()
            .map(|&interface| ReductionMember { interface, ranks: 1 })
            .collect()
    }

    /// The GPUs of a rail in one pod meet at their leaf, those of two pods at a spine; every vertex has one path up.
    #[test]
    fn trees_meet_in_the_middle_of_their_group() {
        let cluster = cluster(2);
        let topology = cluster.topology();
        let all: Vec<u32> = (0..8).collect();
        let groups = [group(&[0, 2]), group(&[0, 2, 4, 6]), group(&all), group(&[3])];
        let (trees, planted) = ReductionTrees::plant(topology, &groups, 64);
        assert_eq!(planted, [Ok(0), Ok(1), Ok(2), Ok(3)]);
        assert_eq!((trees.root(0), trees.depth(0)), (cluster.leaf(0, 0), 2));
        assert!(trees.root(1) >= cluster.first_spine());
        assert_eq!((trees.depth(1), trees.depth(2), trees.depth(3)), (3, 3, 1));
        for (tree, group) in (0..).zip(&groups) {
            let sum: u32 = group.iter().map(|member| member.ranks).sum();
            let vertices = trees.of_trees[tree as usize].clone();
            let interfaces = vertices.clone().filter(|&vertex| trees.vertex(vertex).interface != NIL);
            assert_eq!(interfaces.map(|vertex| trees.vertex(vertex).inputs).sum::<u32>(), sum);
            // As many links as vertices but the root.
            let children: u32 = vertices.clone().map(|vertex| trees.children(vertex).len() as u32).sum();
            assert_eq!(children, vertices.len() as u32 - 1);
            for vertex in vertices {
                let Vertex {
                    router,
                    up,
                    down,
                    parent,
                    ..
                } = *trees.vertex(vertex);
                if up != NIL {
                    assert_eq!(topology.router_of_port(up), router);
                    assert_eq!(topology.router_of_port(down), trees.vertex(parent).router);
                }
            }
        }
    }

    /// Groups over the same leaves take different spines while there are some; then no tree is left, as every leaf sums in
    /// as many trees as it can.
    #[test]
    fn routers_sum_in_a_limited_number_of_trees() {
        let cluster = cluster(2);
        let groups: Vec<_> = (0..4).map(|_| group(&[0, 2, 4, 6])).collect();
        let (trees, planted) = ReductionTrees::plant(cluster.topology(), &groups, 2);
        assert_eq!(planted[..2], [Ok(0), Ok(1)]);
        assert_ne!(trees.root(0), trees.root(1));
        assert!(planted[2..].iter().all(|result| result.is_err()));
        // One tree in each leaf, and none that a spine would have to sum twice.
        let (_, planted) = ReductionTrees::plant(cluster.topology(), &groups, 1);
        assert_eq!(planted.iter().filter(|result| result.is_ok()).count(), 1);
        // A router that passes data on needs no unit: each GPU's router has one child.
        let (_, planted) = ReductionTrees::plant(cluster.topology(), &[group(&[0]), group(&[0]), group(&[0])], 0);
        assert_eq!(planted, [Ok(0), Ok(1), Ok(2)]);
    }
}

//! The k shortest paths without a loop between two routers.
//!
//! Order: by length in cables, then by the numbers of the routers. Paths of one length are enumerated depth first, with
//! distances to the destination as bound. Where that finds too few within a bounded number of steps, the algorithm of
//! J. Yen ("Finding the k shortest loopless paths in a network", Management Science 17(11), 1971), whose time is
//! polynomial, finds the same paths.

use std::collections::BTreeSet;

use crate::Topology;

/// Steps of the enumeration before Yen's algorithm replaces it.
const MOST_STEPS: u32 = 20_000;

const FAR: u32 = u32::MAX;

/// A search for the shortest paths of a graph.
#[derive(Debug)]
pub struct KShortest {
    /// The neighbors of each router, ascending, each once.
    neighbours: Vec<Vec<u32>>,
}

impl KShortest {
    /// A search on `topology`, over the cables that have not failed.
    pub fn new(topology: &Topology) -> KShortest {
        let of_router = |router| {
            let mut far: Vec<u32> = topology
                .ports_of(router)
                .filter_map(|port| topology.neighbour(port))
                .collect();
            far.sort_unstable();
            far.dedup();
            far
        };
        KShortest {
            neighbours: (0..topology.routers()).map(of_router).collect(),
        }
    }

    /// The `k` first paths from `source` to `target`, fewer if there are fewer.
    pub fn between(&self, source: u32, target: u32, k: usize) -> Vec<Vec<u32>> {
        let distance = self.distances(target, &[]);
        if k == 0 || source == target || distance[source as usize] == FAR {
            return Vec::new();
        }
        let enumerated = self.enumerate(source, target, k, &distance);
        enumerated.unwrap_or_else(|| self.by_yen(source, target, k))
    }

    /// Distances to `target` without the routers in `removed`.
    fn distances(&self, target: u32, removed: &[u32]) -> Vec<u32> {
        let mut distance = vec![FAR; self.neighbours.len()];
        distance[target as usize] = 0;
        let mut open = vec![target];
        let mut next = 0;
        while let Some(&router) = open.get(next) {
            next += 1;
            for &far in &self.neighbours[router as usize] {
                if distance[far as usize] == FAR && !removed.contains(&far) {
                    distance[far as usize] = distance[router as usize] + 1;
                    open.push(far);
                }
            }
        }
        distance
    }

    /// The paths, length by length; `None` if that takes too many steps.
    fn enumerate(&self, source: u32, target: u32, k: usize, distance: &[u32]) -> Option<Vec<Vec<u32>>> {
        let mut found = Vec::new();
        let mut steps = 0;
        for length in distance[source as usize]..self.neighbours.len() as u32 {
            let mut path = vec![source];
            // The position among the neighbors of each router of `path`.
            let mut at = vec![0];
            while let (Some(&router), Some(position)) = (path.last(), at.last_mut()) {
                let next = self.neighbours[router as usize].get(*position).copied();
                *position += 1;
                let Some(next) = next else {
                    path.pop();
                    at.pop();
                    continue;
                };
                steps += 1;
                if steps > MOST_STEPS {
                    return None;
                }
                let left = length - (path.len() as u32 - 1);
                let rest = distance[next as usize];
                if rest == FAR || rest + 1 > left || (rest == 0 && left != 1) || path.contains(&next) {
                    continue;
                }
                if rest == 0 {
                    let mut whole = path.clone();
                    whole.push(next);
                    found.push(whole);
                    if found.len() == k {
                        return Some(found);
                    }
                    continue;
                }
                path.push(next);
                at.push(0);
            }
        }
        debug_assert!(found.iter().all(|path| path.last() == Some(&target)));
        Some(found)
    }

    /// The same by Yen's algorithm: the best path of each subset of the paths that are left.
    fn by_yen(&self, source: u32, target: u32, k: usize) -> Vec<Vec<u32>> {
        let mut found: Vec<Vec<u32>> = Vec::new();
        let mut candidates: BTreeSet<(usize, Vec<u32>)> = BTreeSet::new();
        candidates.extend(self.best_spur(&[source], target, &[]).map(|path| (path.len(), path)));
        while found.len() < k {
            let Some((_, path)) = candidates.pop_first() else { break };
            for end in 1..path.len() {
                let root = &path[..end];
                let continued = |other: &Vec<u32>| other.starts_with(root).then(|| other[end]);
                let mut taken: Vec<u32> = found.iter().filter_map(continued).collect();
                taken.push(path[end]);
                candidates.extend(self.best_spur(root, target, &taken).map(|path| (path.len(), path)));
            }
            found.push(path);
        }
        found
    }

    /// The first path that begins with `root` and does not go on to one of `taken`.
    fn best_spur(&self, root: &[u32], target: u32, taken: &[u32]) -> Option<Vec<u32>> {
        let distance = self.distances(target, root);
        let mut path = root.to_vec();
        let mut excluded = taken;
        loop {
            let last = *path.last()?;
            if last == target {
                return Some(path);
            }
            let open = |far: &&u32| distance[**far as usize] != FAR && !excluded.contains(far);
            let next = self.neighbours[last as usize].iter().filter(open);
            path.push(*next.min_by_key(|&&far| (distance[far as usize], far))?);
            excluded = &[];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::GraphFile;

    fn graph(text: &str) -> Topology {
        GraphFile::from_edge_list(text, 1).unwrap().topology().clone()
    }

    /// All paths without a loop, in order: an independent, slow reference.
    fn brute_force(topology: &Topology, source: u32, target: u32) -> Vec<Vec<u32>> {
        let mut found = Vec::new();
        let mut open = vec![vec![source]];
        while let Some(path) = open.pop() {
            let last = path[path.len() - 1];
            if last == target {
                found.push(path);
                continue;
            }
            for far in topology.ports_of(last).filter_map(|port| topology.neighbour(port)) {
                if !path.contains(&far) {
                    open.push([path.clone(), vec![far]].concat());
                }
            }
        }
        found.sort_by_key(|path| (path.len(), path.clone()));
        found.dedup();
        found
    }

    #[test]
    fn paths_equal_brute_force_by_both_searches() {
        for text in [
            "0 1\n1 2\n2 3\n3 0\n0 2 cables=2\n",
            "0 1\n1 2\n2 3\n3 4\n4 0\n0 5\n1 6\n2 7\n3 8\n4 9\n5 7\n7 9\n9 6\n6 8\n8 5\n",
            "0 1\n1 2\n2 0\n2 3\n3 4\n4 5\n5 3\n",
            "a b\nc d\n",
        ] {
            let topology = graph(text);
            let search = KShortest::new(&topology);
            for source in 0..topology.routers() {
                for target in (0..topology.routers()).filter(|&target| target != source) {
                    let all = brute_force(&topology, source, target);
                    for k in [1, 2, 3, 7, 1000] {
                        let expected: Vec<_> = all.iter().take(k).cloned().collect();
                        assert_eq!(search.between(source, target, k), expected);
                        assert_eq!(search.by_yen(source, target, k), expected);
                    }
                }
            }
        }
    }

    /// A complete graph behind a bridge: few paths, but exponentially many ways into a dead end.
    #[test]
    fn dead_ends_do_not_take_exponential_time() {
        let mut text = String::from("s t\ns c0\n");
        for a in 0..14 {
            (a + 1..14).for_each(|b| text += &format!("c{a} c{b}\n"));
        }
        let topology = graph(&text);
        assert_eq!(KShortest::new(&topology).between(0, 1, 2), [vec![0, 1]]);
    }
}

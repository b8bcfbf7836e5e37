//! Partitioning of a machine: consecutive routers, with all their nodes.
//!
//! A part is a range of router numbers, so nodes stay with their router and two numbers describe a part. Cuts are
//! between the [blocks](Topology::blocks) of the topology as long as there are enough of them: links between blocks are
//! long, and their latency is the lookahead between parts.
//!
//! The division minimizes the weight of the heaviest part, for which all others wait. In one dimension the optimum is
//! exact: for a bound on the weight, filling parts from the left tells whether they suffice; bisection finds the
//! smallest bound (A. Pinar, C. Aykanat, "Fast optimal load balancing algorithms for 1D partitioning", Journal of
//! Parallel and Distributed Computing 64(8), 2004). Of the many optimal divisions, the cuts nearest to equal shares are
//! taken.

use crate::Topology;

/// Divides the routers into `parts` ranges with the smallest maximum weight: returns the first router of each range,
/// and the number of routers at the end. `weights` has the weight of each router; if all are zero, all routers weigh
/// the same.
///
/// With at most as many parts as blocks, no block is cut. With more, cuts are anywhere, at block boundaries if that
/// costs nothing.
///
/// # Errors
/// There are fewer routers than parts, no part, not one weight per router, or a sum beyond 64 bits.
pub fn divide(topology: &Topology, weights: &[u64], parts: u32) -> Result<Vec<u32>, String> {
    let routers = topology.routers();
    if parts == 0 || parts > routers {
        return Err(format!("{routers} routers cannot be divided into {parts} parts"));
    }
    if weights.len() != routers as usize {
        return Err(format!("{routers} routers have {} weights", weights.len()));
    }
    let blocks = topology.blocks();
    let whole_blocks = (parts as usize) < blocks.len();
    let equal = weights.iter().all(|&weight| weight == 0);
    let mut prefix = Vec::with_capacity(if whole_blocks { blocks.len() } else { weights.len() + 1 });
    let mut sum = 0u64;
    prefix.push(0);
    for (router, &weight) in (1..).zip(weights) {
        sum = sum
            .checked_add(if equal { 1 } else { weight })
            .ok_or("the weights of all routers exceed 64 bits")?;
        if !whole_blocks || blocks[prefix.len()] == router {
            prefix.push(sum);
        }
    }
    let cuts = if whole_blocks {
        cut(&prefix, parts as usize, |_| true)
    } else {
        cut(&prefix, parts as usize, |router| {
            blocks.binary_search(&(router as u32)).is_ok()
        })
    };
    let router = |at: usize| if whole_blocks { blocks[at] } else { at as u32 };
    Ok(cuts.into_iter().map(router).collect())
}

/// Number of parts of about `nodes` nodes each, of whole blocks; at least one.
pub fn parts_of(topology: &Topology, nodes: u32) -> u32 {
    let parts = (topology.nodes() + nodes / 2) / nodes.max(1);
    parts.clamp(1, topology.blocks().len() as u32 - 1)
}

/// The largest weight of the parts that begin at `bounds` (from [`divide`]), and the total.
pub fn largest(weights: &[u64], bounds: &[u32]) -> (u64, u64) {
    let parts = bounds
        .windows(2)
        .map(|part| weights[part[0] as usize..part[1] as usize].iter().sum::<u64>());
    parts.fold((0, 0), |(most, sum), weight| (weight.max(most), sum + weight))
}

/// The last end of a part that begins at `start` and weighs at most `bound`.
fn reach(prefix: &[u64], start: usize, bound: u64) -> usize {
    let most = prefix[start].saturating_add(bound);
    prefix.partition_point(|&sum| sum <= most) - 1
}

/// The smallest bound that `parts` ranges can satisfy. `prefix[i]` is the sum of the first `i` weights.
fn bottleneck(prefix: &[u64], parts: usize) -> u64 {
    let items = prefix.len() - 1;
    let suffices = |bound: u64| {
        let mut at = 0;
        for _ in 0..parts {
            at = reach(prefix, at, bound);
            if at == items {
                return true;
            }
        }
        false
    };
    let heaviest = prefix.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or(0);
    let share = prefix[items].div_ceil(parts as u64);
    // Some part has at least the equal share; and a part that ends below the share lacks at most one item.
    let (mut low, mut high) = (share.max(heaviest), share.saturating_add(heaviest));
    while low < high {
        let middle = low + (high - low) / 2;
        if suffices(middle) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    low
}

/// Cuts `prefix.len() - 1` items into `parts` nonempty ranges with the smallest maximum weight. Each cut is as near to
/// an equal share of the rest as the bound allows, at a `preferred` position if possible.
fn cut(prefix: &[u64], parts: usize, preferred: impl Fn(usize) -> bool) -> Vec<usize> {
    let items = prefix.len() - 1;
    let bound = bottleneck(prefix, parts);
    // The first position of each cut from which the remaining parts suffice.
    let mut earliest = vec![0; parts + 1];
    earliest[parts] = items;
    for index in (1..parts).rev() {
        let least = prefix[earliest[index + 1]].saturating_sub(bound);
        earliest[index] = prefix.partition_point(|&sum| sum < least).max(index);
    }
    let mut cuts = Vec::with_capacity(parts + 1);
    cuts.push(0);
    for (index, &earliest) in earliest.iter().enumerate().take(parts).skip(1) {
        let before = cuts[index - 1];
        let first = earliest.max(before + 1);
        let last = reach(prefix, before, bound).min(items - (parts - index));
        let share = (prefix[items] - prefix[before]) / (parts - index + 1) as u64;
        let ideal = prefix[before] + share;
        let distance = |&at: &usize| prefix[at].abs_diff(ideal);
        let nearest = (first..=last).filter(|&at| preferred(at)).min_by_key(distance);
        cuts.push(nearest.or_else(|| (first..=last).min_by_key(distance)).unwrap_or(first));
    }
    cuts.push(items);
    cuts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Arrangement, Dragonfly, DragonflyShape};

    fn sums(weights: &[u64]) -> Vec<u64> {
        let mut prefix = vec![0];
        prefix.extend(weights.iter().scan(0, |sum, weight| {
            *sum += weight;
            Some(*sum)
        }));
        prefix
    }

    /// The smallest maximum weight, by trying all divisions.
    fn brute_force(weights: &[u64], parts: usize) -> u64 {
        if parts == 1 {
            return weights.iter().sum();
        }
        (1..=weights.len() - (parts - 1))
            .map(|first| {
                let head: u64 = weights[..first].iter().sum();
                head.max(brute_force(&weights[first..], parts - 1))
            })
            .min()
            .unwrap()
    }

    /// Knuth's MMIX generator, its upper bits.
    fn draws() -> impl FnMut(u64) -> u64 {
        let mut state = 1u64;
        move |below| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        }
    }

    #[test]
    fn the_heaviest_part_is_as_light_as_trying_every_cut_finds() {
        let mut draw = draws();
        for round in 0..600 {
            let items = 1 + draw(9) as usize;
            let most = [1, 2, 10, 1_000][round % 4];
            let weights: Vec<u64> = (0..items).map(|_| draw(most + 1)).collect();
            for parts in 1..=items {
                for every in [1, 2, 3] {
                    let cuts = cut(&sums(&weights), parts, |at| at % every == 0);
                    assert_eq!((cuts.len(), cuts[0], cuts[parts]), (parts + 1, 0, items));
                    assert!(cuts.is_sorted_by(|a, b| a < b), "{weights:?} {cuts:?}");
                    let bounds: Vec<u32> = cuts.iter().map(|&at| at as u32).collect();
                    let (heaviest, sum) = largest(&weights, &bounds);
                    assert_eq!(heaviest, brute_force(&weights, parts), "{weights:?} {cuts:?}");
                    assert_eq!(sum, weights.iter().sum::<u64>());
                }
            }
        }
    }

    /// One heavy item sets the bound; the others are still shared evenly.
    #[test]
    fn light_parts_are_equal_too() {
        let weights = [100, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1];
        assert_eq!(cut(&sums(&weights), 4, |_| true), [0, 1, 5, 9, 13]);
    }

    fn dragonfly(groups: u32) -> Topology {
        let shape = DragonflyShape {
            groups,
            routers: 4,
            nodes: 2,
            global_ports: 2,
            cables: None,
        };
        Dragonfly::new(shape, Arrangement::Relative).unwrap().topology().clone()
    }

    #[test]
    fn blocks_stay_whole_as_long_as_there_are_enough() {
        let machine = dragonfly(9);
        let equal = vec![1; 36];
        for parts in 1..=9 {
            let bounds = divide(&machine, &equal, parts).unwrap();
            assert_eq!(bounds.len() as u32, parts + 1);
            assert!(bounds.iter().all(|bound| bound % 4 == 0), "{bounds:?}");
            assert_eq!(largest(&equal, &bounds), (u64::from(9u32.div_ceil(parts)) * 4, 36));
        }
        // Three idle groups: the work of six is shared.
        let idle: Vec<u64> = (0..36).map(|router| u64::from(router >= 12)).collect();
        let bounds = divide(&machine, &idle, 3).unwrap();
        assert_eq!(largest(&idle, &bounds).0, 8);
        assert_eq!(bounds[2..], [28, 36]);
    }

    #[test]
    fn more_parts_than_blocks_cut_blocks_and_keep_edges_where_that_costs_nothing() {
        let machine = dragonfly(5);
        let equal = vec![1; 20];
        let bounds = divide(&machine, &equal, 10).unwrap();
        assert_eq!(bounds, (0..=10).map(|part| part * 2).collect::<Vec<_>>());
        let bounds = divide(&machine, &equal, 8).unwrap();
        assert_eq!(largest(&equal, &bounds), (3, 20));
        // A block needs two parts of at most 3 routers; that is possible for two of them.
        assert_eq!(bounds, [0, 2, 4, 6, 8, 11, 14, 17, 20]);
        assert_eq!(divide(&machine, &equal, 20).unwrap(), (0..=20).collect::<Vec<_>>());
    }

    #[test]
    fn nothing_to_weigh_means_equal_parts() {
        assert_eq!(divide(&dragonfly(8), &[0; 32], 4).unwrap(), [0, 8, 16, 24, 32]);
    }

    #[test]
    fn indivisible_machines_are_refused() {
        let machine = dragonfly(2);
        for parts in [0, 9, u32::MAX] {
            assert!(divide(&machine, &[1; 8], parts).unwrap_err().contains("8 routers"));
        }
        assert!(divide(&machine, &[1; 7], 2).unwrap_err().contains("7 weights"));
        assert!(divide(&machine, &[u64::MAX; 8], 2).unwrap_err().contains("64 bits"));
        assert!(divide(&machine, &[u64::MAX / 8; 8], 2).is_ok());
    }

    #[test]
    fn parts_of_a_wanted_size_are_whole_blocks() {
        // 9 groups of 8 nodes.
        let parts = |nodes| parts_of(&dragonfly(9), nodes);
        assert_eq!(
            [1, 8, 16, 24, 50, 72, 1_000, u32::MAX].map(parts),
            [9, 9, 5, 3, 1, 1, 1, 1]
        );
    }
}

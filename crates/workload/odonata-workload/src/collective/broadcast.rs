//! Broadcast: trees, pipelines, and scatter with all-gather.

use super::blocks::{Blocks, Segments};
use super::tree::{Shape, Tree, from_root, named};
use super::{Algorithm, Step, allgather, bine};

/// Step `index` of a broadcast; `rank < ranks`, `root < ranks`, `ranks >= 2`.
#[inline]
pub(super) fn step(algorithm: Algorithm, root: u32, bytes: u64, rank: u32, ranks: u32, index: u32) -> Option<Step> {
    // Ranks are renumbered from the root.
    let number = from_root(rank, root, ranks);
    let tree = Tree { number, ranks };
    let pipeline = |shape: Shape, segment| {
        let segments = Segments::new(bytes, 1, segment);
        shape.down(number, ranks, &segments, index).ok()
    };
    let step = match algorithm {
        Algorithm::Binomial => tree.down(index, |_, _| Some(bytes)).ok()?,
        Algorithm::Linear => linear(bytes, number, ranks, index)?,
        Algorithm::Chain { segment } => pipeline(Shape::Chain, segment)?,
        Algorithm::Binary { segment } => pipeline(Shape::Binary, segment)?,
        Algorithm::SegmentedBinomial { segment } => pipeline(Shape::Binomial, segment)?,
        Algorithm::BineLatency | Algorithm::BineBandwidth => {
            return bine::broadcast(algorithm, root, bytes, rank, ranks, index);
        }
        Algorithm::SplitBinary { segment } => split_binary(bytes, segment, number, ranks, index)?,
        _ => {
            let blocks = Blocks::Filled {
                bytes,
                each: bytes.div_ceil(u64::from(ranks)),
            };
            // Empty parts of the scatter are not sent; the all-gather sends them, like MPICH.
            let scattered = tree.down(index, |first, end| {
                Some(blocks.size(first, end)).filter(|&size| size > 0)
            });
            match (scattered, algorithm) {
                (Ok(step), _) => step,
                (Err(index), Algorithm::ScatterRing) => allgather::ring(&blocks, number, ranks, index)?,
                (Err(index), _) => allgather::doubling(&blocks, number, ranks, index)?,
            }
        }
    };
    Some(named(step, root, ranks))
}

/// The root sends to all ranks at once.
fn linear(bytes: u64, number: u32, ranks: u32, index: u32) -> Option<Step> {
    match number {
        0 => (index < ranks - 1).then(|| Step::send(index + 1, bytes).and_more(index + 2 < ranks)),
        _ => (index == 0).then(|| Step::recv(0, bytes)),
    }
}

/// One half of the data goes down each half of a binary tree, in segments; then every odd number swaps with the next
/// even one. An odd last number gets its other half from the root (`ompi_coll_base_bcast_intra_split_bintree`, which
/// cuts between elements, and sends to one child after the other; here cuts are between bytes, and both children are
/// sent to at once).
#[inline(never)]
fn split_binary(bytes: u64, segment: u32, number: u32, ranks: u32, index: u32) -> Option<Step> {
    let halves = [bytes.div_ceil(2), bytes / 2];
    let segments = halves.map(|half| Segments::new(half, 1, segment));
    let last_is_odd = ranks.is_multiple_of(2);
    if number == 0 {
        let at = u64::from(index);
        // As many segments on the right as on the left, or one less.
        let right = if ranks > 2 { segments[1].count() } else { 0 };
        let all = segments[0].count() + right;
        if at >= all {
            return (at == all && last_is_odd).then(|| Step::send(ranks - 1, halves[1]));
        }
        let (side, segment) = if at < 2 * right {
            ((at % 2) as u32, at / 2)
        } else {
            (0, at - right)
        };
        return Some(Step::send(1 + side, segments[side as usize].one(segment)));
    }
    let (own, other, pair) = match number % 2 {
        1 => (0, 1, number.wrapping_add(1)),
        _ => (1, 0, number - 1),
    };
    match Shape::Binary.down(number, ranks, &segments[own], index) {
        Ok(step) => Some(step),
        Err(0) if last_is_odd && number == ranks - 1 => Some(Step::recv(0, halves[other])),
        Err(0) => Some(Step::both((pair, halves[own]), (pair, halves[other]))),
        Err(_) => None,
    }
}

//! Reduce-scatter: every rank gets its block of the sum.

use super::blocks::Blocks;
use super::tree::Tree;
use super::{Algorithm, Step, Transfer, back, bine, forward, gather, power_of_two_within};

/// Step `index` of a reduce-scatter; `rank < ranks`, `ranks >= 2`.
pub(super) fn step(algorithm: Algorithm, blocks: &Blocks, rank: u32, ranks: u32, index: u32) -> Option<Step> {
    match algorithm {
        Algorithm::RecursiveHalving => halving(blocks, rank, ranks, index),
        Algorithm::RecursiveDoubling => doubling(blocks, rank, ranks, index),
        Algorithm::ReduceThenScatter => reduce_then_scatter(blocks, rank, ranks, index),
        Algorithm::BinePermute | Algorithm::BineSend => bine::reduce_scatter(algorithm, blocks, rank, ranks, index),
        Algorithm::Ring => {
            let left = back(rank, 1, ranks);
            (index < ranks - 1).then(|| {
                Step::both(
                    (forward(rank, 1, ranks), blocks.one(back(left, index, ranks))),
                    (left, blocks.one(back(back(left, 1, ranks), index, ranks))),
                )
            })
        }
        // Pairwise: every rank sends every other rank its block.
        _ => (index < ranks - 1).then(|| {
            let to = forward(rank, index + 1, ranks);
            Step::both((to, blocks.one(to)), (back(rank, index + 1, ranks), blocks.one(rank)))
        }),
    }
}

/// The remaining blocks are halved over distances p/2, p/4, ..., 1. Of the first `2 r = 2 (ranks - p)` ranks, each even
/// one sends its vector to the next odd one, which takes part as number `rank / 2`, works on both blocks and returns
/// one at the end; the others are number `rank - r`. Empty parts are not sent.
fn halving(blocks: &Blocks, rank: u32, ranks: u32, index: u32) -> Option<Step> {
    let p = power_of_two_within(ranks);
    let rest = ranks - p;
    let filled = |peer: u32, bytes: u64| (bytes > 0).then_some(Transfer { peer, bytes });
    let step = |send: Option<Transfer>, recv: Option<Transfer>| {
        Some(Step {
            send,
            recv,
            more: false,
        })
    };
    let folded = rank / 2 < rest;
    if folded && rank.is_multiple_of(2) {
        return match index {
            0 => Some(Step::send(rank + 1, blocks.size(0, ranks))),
            1 => step(None, filled(rank + 1, blocks.one(rank))),
            _ => None,
        };
    }
    let (number, index) = match (folded, index) {
        (true, 0) => return Some(Step::recv(rank - 1, blocks.size(0, ranks))),
        (true, _) => (rank / 2, index - 1),
        (false, _) => (rank - rest, index),
    };
    let Some(level) = p.ilog2().checked_sub(index.saturating_add(1)) else {
        return (folded && index == p.ilog2())
            .then(|| step(filled(rank - 1, blocks.one(rank - 1)), None))
            .flatten();
    };
    let distance = 1u32 << level;
    let rank_of = |number: u32| if number < rest { 2 * number + 1 } else { number + rest };
    let first_block = |number: u32| if number < rest { 2 * number } else { number + rest };
    let kept = |number: u32| {
        let first = number & !(distance - 1);
        blocks.size(first_block(first), first_block(first + distance))
    };
    let partner = number ^ distance;
    let peer = rank_of(partner);
    step(filled(peer, kept(partner)), filled(peer, kept(number)))
}

/// On a power of two: over distances 1, 2, 4, ... each rank sends all blocks except its own and those of its earlier
/// partners.
fn doubling(blocks: &Blocks, rank: u32, ranks: u32, index: u32) -> Option<Step> {
    if index >= ranks.ilog2() {
        return None;
    }
    let distance = 1 << index;
    let partner = rank ^ distance;
    let others = |rank: u32| {
        let first = rank & !(distance - 1);
        blocks
            .size(0, first)
            .saturating_add(blocks.size(first + distance, ranks))
    };
    Some(Step::both((partner, others(rank)), (partner, others(partner))))
}

/// The whole sum goes up a binomial tree to rank 0, which scatters it: equal blocks along the same tree, listed ones
/// directly.
fn reduce_then_scatter(blocks: &Blocks, rank: u32, ranks: u32, index: u32) -> Option<Step> {
    let tree = Tree { number: rank, ranks };
    // The vector size is computed only if the vector moves.
    match (tree.up(index, |_, _| blocks.size(0, ranks)), blocks) {
        (Ok(step), _) => Some(step),
        (Err(left), Blocks::Listed { .. }) => gather::scatterv(0, rank, ranks, left, |rank| blocks.one(rank)),
        (Err(left), _) => tree.down(left, |first, end| Some(blocks.size(first, end))).ok(),
    }
}

//! All-gather: every rank gets the blocks of all. Also the second half of a scattered broadcast.

use super::blocks::Blocks;
use super::{Algorithm, Step, back, bine, forward, rounds};

/// Step `index` of an all-gather; `rank < ranks`, `ranks >= 2`.
pub(super) fn step(algorithm: Algorithm, blocks: &Blocks, rank: u32, ranks: u32, index: u32) -> Option<Step> {
    match algorithm {
        Algorithm::RecursiveDoubling => doubling(blocks, rank, ranks, index),
        Algorithm::Bruck => bruck(blocks, rank, ranks, index),
        Algorithm::NeighborExchange => neighbors(blocks, rank, ranks, index),
        Algorithm::Linear => (index < ranks - 1).then(|| {
            let (to, from) = (back(rank, index + 1, ranks), forward(rank, index + 1, ranks));
            Step::both((to, blocks.one(rank)), (from, blocks.one(from))).and_more(index + 2 < ranks)
        }),
        Algorithm::Sparbit
        | Algorithm::BinePermute
        | Algorithm::BineSend
        | Algorithm::BineBlockByBlock
        | Algorithm::BineTwoBlocks => bine::allgather(algorithm, blocks, rank, ranks, index),
        _ => ring(blocks, rank, ranks, index),
    }
}

/// On a power of two: gathered blocks are swapped over distances 1, 2, 4, ...
#[inline]
pub(super) fn doubling(blocks: &Blocks, number: u32, ranks: u32, index: u32) -> Option<Step> {
    if index >= rounds(ranks) {
        return None;
    }
    let distance = 1 << index;
    let partner = number ^ distance;
    let gathered = |number: u32| {
        let first = number & !(distance - 1);
        blocks.size(first, first + distance)
    };
    Some(Step::both((partner, gathered(number)), (partner, gathered(partner))))
}

/// Ring: each rank passes to the right the block it received from the left, starting with its own.
#[inline]
pub(super) fn ring(blocks: &Blocks, number: u32, ranks: u32, index: u32) -> Option<Step> {
    if index >= ranks - 1 {
        return None;
    }
    let (left, right) = (back(number, 1, ranks), forward(number, 1, ranks));
    Some(Step::both(
        (right, blocks.one(back(number, index, ranks))),
        (left, blocks.one(back(left, index, ranks))),
    ))
}

/// Each rank holds consecutive blocks from its own on, and gets as many again, or the rest, from the rank whose blocks
/// follow.
fn bruck(blocks: &Blocks, rank: u32, ranks: u32, index: u32) -> Option<Step> {
    if index >= rounds(ranks) {
        return None;
    }
    let distance = 1 << index;
    let length = distance.min(ranks - distance);
    let (to, from) = (back(rank, distance, ranks), forward(rank, distance, ranks));
    Some(Step::both(
        (to, blocks.around(rank, length, ranks)),
        (from, blocks.around(from, length, ranks)),
    ))
}

/// On an even number of ranks: pairs swap their blocks, then each rank alternates between its neighbors, swapping the
/// last two received blocks (`ompi_coll_base_allgather_intra_neighborexchange`).
fn neighbors(blocks: &Blocks, rank: u32, ranks: u32, index: u32) -> Option<Step> {
    if index >= ranks / 2 {
        return None;
    }
    let even = rank.is_multiple_of(2);
    let neighbor = if even == index.is_multiple_of(2) {
        forward(rank, 1, ranks)
    } else {
        back(rank, 1, ranks)
    };
    if index == 0 {
        return Some(Step::both(
            (neighbor, blocks.one(rank)),
            (neighbor, blocks.one(neighbor)),
        ));
    }
    // The two blocks that a rank gets in a step; in step 0 those of its pair.
    let got = |step: u32| {
        let pair = rank & !1;
        // Each neighbor's turn comes every other step, and its blocks advance by two.
        let by = 2 * step.div_ceil(2);
        match (even, step.is_multiple_of(2)) {
            (true, true) | (false, false) => forward(pair, by, ranks),
            _ => back(pair, by, ranks),
        }
    };
    let (given, got) = (got(index - 1), got(index));
    Some(Step::both(
        (neighbor, blocks.size(given, given + 2)),
        (neighbor, blocks.size(got, got + 2)),
    ))
}

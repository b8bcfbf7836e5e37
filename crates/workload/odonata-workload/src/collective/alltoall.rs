//! All-to-all: every rank has a block for every rank.

use super::{Algorithm, Step, Transfer, back, bine, forward, rounds};

/// Step `index` of an all-to-all of equal blocks; `rank < ranks`, `ranks >= 2`.
pub(super) fn equal(algorithm: Algorithm, bytes: u64, rank: u32, ranks: u32, index: u32) -> Option<Step> {
    if algorithm == Algorithm::BinePermute {
        return bine::alltoall(bytes, rank, ranks, index);
    }
    if algorithm != Algorithm::Bruck {
        return step(algorithm, rank, ranks, index, |_, _| bytes);
    }
    // In step k all blocks whose remaining distance has bit k move by 2^k.
    if index >= rounds(ranks) {
        return None;
    }
    let distance = 1 << index;
    let n = u64::from(ranks);
    let moving = (n >> (index + 1) << index) + (n & (2 * u64::from(distance) - 1)).saturating_sub(u64::from(distance));
    let bytes = bytes.saturating_mul(moving);
    Some(Step::both(
        (forward(rank, distance, ranks), bytes),
        (back(rank, distance, ranks), bytes),
    ))
}

/// Step `index` of an all-to-all with `size(from, to)` bytes per pair.
pub(super) fn step(
    algorithm: Algorithm,
    rank: u32,
    ranks: u32,
    index: u32,
    size: impl Fn(u32, u32) -> u64,
) -> Option<Step> {
    if index >= ranks - 1 {
        return None;
    }
    let distance = index + 1;
    let (to, from) = match algorithm {
        Algorithm::Pairwise => (forward(rank, distance, ranks), back(rank, distance, ranks)),
        Algorithm::PairwiseExchange => (rank ^ distance, rank ^ distance),
        // Both libraries post receives from the right and sends to the left.
        _ => (back(rank, distance, ranks), forward(rank, distance, ranks)),
    };
    let more = match algorithm {
        Algorithm::Linear => distance < ranks - 1,
        // The own block takes a slot of the first window.
        Algorithm::Scattered { window } => {
            distance < ranks - 1 && !(u64::from(distance) + 1).is_multiple_of(u64::from(window.max(1)))
        }
        _ => return Some(Step::both((to, size(rank, to)), (from, size(from, rank)))),
    };
    // Empty blocks are not posted.
    let filled = |peer: u32, bytes: u64| (bytes > 0).then_some(Transfer { peer, bytes });
    Some(Step {
        send: filled(to, size(rank, to)),
        recv: filled(from, size(from, rank)),
        more,
    })
}

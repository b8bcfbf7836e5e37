//! Barriers: empty messages only.

use super::tree::{Tree, up_and_down};
use super::{Algorithm, Step, back, forward, power_of_two_within, rounds};

/// Step `index` of a barrier; `rank < ranks`, `ranks >= 2`.
#[inline]
pub(super) fn step(algorithm: Algorithm, rank: u32, ranks: u32, index: u32) -> Option<Step> {
    match algorithm {
        Algorithm::Dissemination => dissemination(rank, ranks, index),
        Algorithm::RecursiveDoubling => doubling(rank, ranks, index),
        Algorithm::DoubleRing => double_ring(rank, ranks, index),
        Algorithm::Switches => (index == 0).then(Step::nothing),
        Algorithm::Offload { radix } => up_and_down(rank, ranks, radix, 0, index),
        _ => Tree { number: rank, ranks }.up_and_down(0, index),
    }
}

#[inline]
fn dissemination(rank: u32, ranks: u32, index: u32) -> Option<Step> {
    if index >= rounds(ranks) {
        return None;
    }
    let distance = 1 << index;
    Some(Step::both(
        (forward(rank, distance, ranks), 0),
        (back(rank, distance, ranks), 0),
    ))
}

/// Ranks beyond the largest power of two report to the first ranks, which release them at the end
/// (`ompi_coll_base_barrier_intra_recursivedoubling`).
#[inline(never)]
fn doubling(rank: u32, ranks: u32, index: u32) -> Option<Step> {
    let p = power_of_two_within(ranks);
    if rank >= p {
        return (index == 0).then(|| Step::both((rank - p, 0), (rank - p, 0)));
    }
    let represents = rank < ranks - p;
    let index = match (represents, index) {
        (true, 0) => return Some(Step::recv(rank + p, 0)),
        (true, _) => index - 1,
        (false, _) => index,
    };
    if index < p.ilog2() {
        let partner = rank ^ (1 << index);
        return Some(Step::both((partner, 0), (partner, 0)));
    }
    (represents && index == p.ilog2()).then(|| Step::send(rank + p, 0))
}

/// A signal travels the ring twice (`ompi_coll_base_barrier_intra_doublering`).
#[inline(never)]
fn double_ring(rank: u32, ranks: u32, index: u32) -> Option<Step> {
    let sends = index.is_multiple_of(2) == (rank == 0);
    (index < 4).then(|| {
        if sends {
            Step::send(forward(rank, 1, ranks), 0)
        } else {
            Step::recv(back(rank, 1, ranks), 0)
        }
    })
}

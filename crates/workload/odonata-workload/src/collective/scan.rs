//! Scan and exclusive scan: the same messages, with different sums at the end.

use super::{Algorithm, Step, rounds};

/// Step `index` of a scan; `rank < ranks`, `ranks >= 2`.
pub(super) fn step(algorithm: Algorithm, bytes: u64, rank: u32, ranks: u32, index: u32) -> Option<Step> {
    if algorithm == Algorithm::RecursiveDoubling {
        // Whole vectors over distances 1, 2, 4, ..., as far as the ranks exist.
        let partner = (0..rounds(ranks))
            .map(|level| rank ^ (1 << level))
            .filter(|&partner| partner < ranks)
            .nth(index as usize)?;
        return Some(Step::both((partner, bytes), (partner, bytes)));
    }
    // From one rank to the next.
    let index = if rank == 0 { index.saturating_add(1) } else { index };
    match index {
        0 => Some(Step::recv(rank - 1, bytes)),
        1 if rank + 1 < ranks => Some(Step::send(rank + 1, bytes)),
        _ => None,
    }
}

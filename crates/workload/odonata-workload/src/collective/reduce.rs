//! Reduce: trees, pipelines, and reduce-scatter with gather.

use super::blocks::{Segments, Vector};
use super::gather::other;
use super::tree::{Shape, Tree, from_root, named};
use super::{Algorithm, Step, bine, power_of_two_within};

/// A vector that is reduced to `root`.
#[derive(Clone, Copy)]
pub(super) struct Reduce {
    pub(super) root: u32,
    pub(super) bytes: u64,
    pub(super) count: u64,
}

impl Reduce {
    /// Step `index`; `rank < ranks`, `root < ranks`, `ranks >= 2`.
    pub(super) fn step(&self, algorithm: Algorithm, rank: u32, ranks: u32, index: u32) -> Option<Step> {
        let Reduce { root, bytes, .. } = *self;
        let number = from_root(rank, root, ranks);
        let pipeline = |shape: Shape, segment| {
            let element = bytes.checked_div(self.count).unwrap_or(1);
            let segments = Segments::new(bytes, element, segment);
            shape.up(number, ranks, &segments, index)
        };
        let step = match algorithm {
            Algorithm::Binomial => Tree { number, ranks }.up(index, |_, _| bytes).ok()?,
            Algorithm::Chain { segment } => pipeline(Shape::Chain, segment)?,
            Algorithm::Binary { segment } => pipeline(Shape::Binary, segment)?,
            Algorithm::SegmentedBinomial { segment } => pipeline(Shape::Binomial, segment)?,
            Algorithm::BineLatency | Algorithm::BineBandwidth => {
                return bine::reduce(algorithm, root, bytes, rank, ranks, index);
            }
            Algorithm::ReduceScatterGather => return self.scattered(rank, ranks, index),
            // The root receives one rank after the other, the last rank first, like Open MPI.
            _ if rank == root => {
                return (index < ranks - 1).then(|| Step::recv(other(root, ranks - 2 - index), bytes));
            }
            _ => return (index == 0).then(|| Step::send(root, bytes)),
        };
        Some(named(step, root, ranks))
    }

    /// Halves, quarters, ... are exchanged and reduced over distances 1, 2, 4, ..., then gathered to the root over the
    /// same distances in reverse.
    ///
    /// It runs on a power of two `p` of ranks. Of the first `2 r = 2 (ranks - p)`, each odd rank sends its vector to
    /// the even one before it, which takes part as number `rank / 2`; the others are number `rank - r`. A root left out
    /// in this way takes the place of rank 0 between the two halves of the algorithm.
    fn scattered(&self, rank: u32, ranks: u32, index: u32) -> Option<Step> {
        let Reduce { root, bytes, count } = *self;
        let p = power_of_two_within(ranks);
        let (rest, halvings) = (ranks - p, p.ilog2());
        let vector = Vector {
            bytes,
            count,
            blocks: p,
        };
        let left_out = |rank: u32| rank / 2 < rest && !rank.is_multiple_of(2);
        let replaced = left_out(root);
        let number_of = |rank: u32| if rank / 2 < rest { rank / 2 } else { rank - rest };
        let rank_of = |number: u32| if number < rest { 2 * number } else { number + rest };

        if left_out(rank) {
            return match (index, rank == root) {
                (0, _) => Some(Step::send(rank - 1, bytes)),
                (1, true) => Some(Step::recv(0, vector.bytes_kept(0, halvings))),
                (_, true) => self.gathered(&vector, 0, 0, index - 2, |n| if n == 0 { root } else { rank_of(n) }),
                _ => None,
            };
        }
        let number = number_of(rank);
        let index = match (rank / 2 < rest, index) {
            (true, 0) => return Some(Step::recv(rank + 1, bytes)),
            (true, _) => index - 1,
            (false, _) => index,
        };
        if index < halvings {
            let partner = number ^ (1 << index);
            let peer = rank_of(partner);
            return Some(Step::both(
                (peer, vector.bytes_kept(partner, index + 1)),
                (peer, vector.bytes_kept(number, index + 1)),
            ));
        }
        let index = index - halvings;
        if replaced && number == 0 {
            return (index == 0).then(|| Step::send(root, vector.bytes_kept(0, halvings)));
        }
        let target = if replaced { 0 } else { number_of(root) };
        let rank_of = |n: u32| if replaced && n == 0 { root } else { rank_of(n) };
        self.gathered(&vector, number, target, index, rank_of)
    }

    /// Step `index` of the gather to number `target`: a rank that differs from it at the level sends and is done.
    fn gathered(
        &self,
        vector: &Vector,
        number: u32,
        target: u32,
        index: u32,
        rank_of: impl Fn(u32) -> u32,
    ) -> Option<Step> {
        let level = vector.blocks.ilog2().checked_sub(index.saturating_add(1))?;
        let differs = (number ^ target) >> level;
        let partner = number ^ (1 << level);
        match differs {
            0 => Some(Step::recv(rank_of(partner), vector.bytes_kept(partner, level + 1))),
            1 => Some(Step::send(rank_of(partner), vector.bytes_kept(number, level + 1))),
            _ => None,
        }
    }
}

//! Patterns: the destination of each rank.
//!
//! | pattern | destination of rank `s` of `n` | silent ranks |
//! |---|---|---|
//! | uniform | any other | none |
//! | hot spot | with a given probability one of the hot ranks, else any other | none |
//! | incast | one of the targets | the targets |
//! | all-to-all | `s + 1`, `s + 2`, ..., `s - 1`, repeatedly (modulo `n`) | none |
//! | neighbors | a neighbor on a grid, at random or in turn | none |
//! | tornado | `s + ceil(k / 2) - 1` (modulo `k`) in every dimension, of extent `k`, of a grid | none |
//! | badperm-yarc | column `i` of a square for rows `i`, any row with equal probability | none |
//! | matrix | by the weights of a [`TrafficMatrix`] | those without a weight |
//! | transpose | column and row of a square swapped | the diagonal, `sqrt(n)` ranks |
//! | bit complement | all bits inverted | none |
//! | bit reverse | bits in reverse order | palindromes, `2^ceil(b / 2)` of `2^b` ranks |
//! | shuffle | bits rotated left by one | `0` and `n - 1` |
//! | bit rotation | bits rotated right by one | `0` and `n - 1` |
//! | asymmetric | `s mod n/2`, or that plus `n/2`, with equal probability | none |
//! | shift | `s + by` (modulo `n`) | none |
//! | steps on a grid | see [`Step`](super::Step) | ranks that a step does not move |
//! | next group, permutation | see [`Pattern`] | none |
//!
//! Definitions: W. J. Dally, B. Towles, "Principles and Practices of Interconnection Networks" (2004), chapter 3, table
//! 3.1; hot spots and details as in BookSim 2 (`traffic.cpp`). There the patterns are between nodes; here between the
//! ranks of a job, wherever they are placed. Bits are the lowest `log2 n` of the rank. A rank whose destination would
//! be itself is silent, unless [`Synthetic::itself`](super::Synthetic::itself) lets it send to itself, as in BookSim.

use std::sync::Arc;

use odonata_units::Number;

use super::{GridShift, Neighbors, Tornado, TrafficMatrix, below};

/// Where messages go.
#[derive(Clone, Debug, PartialEq)]
pub enum Pattern {
    /// Uniformly to all other ranks.
    Uniform,
    /// Uniformly to all ranks of the next group; the last group sends to the first. With one group of ranks per group
    /// of a dragonfly, all traffic of a group shares one global link, the worst case for minimal routing (Kim, Dally,
    /// Scott, Abts, "Technology-Driven, Highly-Scalable Dragonfly Topology", ISCA 2008).
    NextGroup {
        /// Consecutive ranks of a group; the last group may be smaller.
        ranks_per_group: u32,
    },
    /// Each rank to one other, as drawn by [`Pattern::permutation`].
    Permutation {
        /// The destination of each rank.
        targets: Arc<[u32]>,
    },
    /// To the neighbors on a grid.
    Neighbors(Neighbors),
    /// With probability `share` uniformly to the hot ranks, otherwise uniformly to all other ranks, including hot ones.
    /// A hot rank chooses among the other hot ranks; if it is the only one, among all ranks.
    HotSpot {
        /// The hot ranks, all different.
        targets: Arc<[u32]>,
        /// Above 0, at most 1.
        share: f64,
    },
    /// All other ranks uniformly to the targets; the targets send nothing.
    Incast {
        /// The targets, all different.
        targets: Arc<[u32]>,
    },
    /// Each rank to all others in turn, from the next one on.
    AllToAll,
    /// Nearly half-way around every dimension of a grid.
    Tornado(Tornado),
    /// From row `i`, column `j` of a square to row `j`, column `i`; with `2^b` ranks, `b` even, the two halves of the
    /// bits swapped.
    Transpose,
    /// All bits inverted.
    BitComplement,
    /// The bits in reverse order.
    BitReverse,
    /// The bits rotated left by one place: a perfect shuffle.
    Shuffle,
    /// The bits rotated right by one place.
    BitRotation,
    /// To one of the two ranks with the same position in the halves, with equal probability; only to the other half if
    /// the rank may not send to itself.
    Asymmetric,
    /// To the rank at this distance, modulo the ranks.
    Shift {
        /// The distance; not a multiple of the ranks.
        by: u32,
    },
    /// To one other on a grid of routers.
    GridShift(GridShift),
    /// From row `i` of a square uniformly to all ranks of column `i`: on a flattened butterfly all traffic of a row of
    /// routers uses a few cables of one column (BookSim 2, `badperm_yarc`).
    BadpermYarc,
    /// By weights.
    Matrix(TrafficMatrix),
}

impl Pattern {
    /// A random permutation in which no rank sends to itself. `random(n)` returns a number below `n`.
    ///
    /// It is uniform over the permutations with a single cycle (S. Sattolo, "An algorithm to generate a random cyclic
    /// permutation", Information Processing Letters 22, 1986), which have no fixed points and need no retries.
    ///
    /// # Errors
    /// There are fewer than two ranks.
    pub fn permutation(ranks: u32, mut random: impl FnMut(u32) -> u32) -> Result<Pattern, String> {
        if ranks < 2 {
            return Err(format!(
                "a permutation without fixed points needs 2 ranks at least, not {ranks}"
            ));
        }
        let mut targets: Vec<u32> = (0..ranks).collect();
        for last in (1..ranks).rev() {
            // The remainder guards against an invalid result of `random`.
            let other = random(last) % last;
            targets.swap(last as usize, other as usize);
        }
        Ok(Pattern::Permutation {
            targets: targets.into(),
        })
    }

    /// A uniform random permutation: ranks may send to themselves (Fisher-Yates; BookSim 2, `randperm`). `random(n)`
    /// returns a number below `n`.
    pub fn any_permutation(ranks: u32, mut random: impl FnMut(u32) -> u32) -> Pattern {
        let mut targets: Vec<u32> = (0..ranks).collect();
        for last in (1..ranks).rev() {
            let other = random(last + 1) % (last + 1);
            targets.swap(last as usize, other as usize);
        }
        Pattern::Permutation {
            targets: targets.into(),
        }
    }

    /// Checks that it is defined on `ranks` ranks, and that every destination exists.
    ///
    /// # Errors
    /// The violated rule: too few ranks or groups, a number of ranks that is not a power of two or not a square, a grid
    /// of another size, or a bad entry of a list.
    pub fn check(&self, ranks: u32) -> Result<(), String> {
        match self {
            _ if ranks < 2 => Err(format!("synthetic traffic needs 2 ranks at least, not {ranks}")),
            Pattern::Uniform | Pattern::AllToAll => Ok(()),
            Pattern::NextGroup { ranks_per_group: 0 } => Err("ranks_per_group is 0: expected at least 1".into()),
            Pattern::NextGroup { ranks_per_group } if *ranks_per_group >= ranks => Err(format!(
                "{ranks} ranks in groups of {ranks_per_group} make one group: expected at least 2"
            )),
            Pattern::NextGroup { .. } => Ok(()),
            Pattern::Permutation { targets } => {
                permutes(targets, ranks)?;
                match (0..ranks).find(|&rank| targets[rank as usize] == rank) {
                    Some(rank) => Err(format!("rank {rank} sends to itself")),
                    None => Ok(()),
                }
            }
            Pattern::HotSpot { share, .. } if !(*share > 0.0 && *share <= 1.0) => {
                Err(format!("a share of {}: expected above 0, at most 1", Number(*share)))
            }
            Pattern::HotSpot { targets, .. } => distinct(targets, ranks),
            Pattern::Incast { targets } if targets.len() as u64 >= u64::from(ranks) => {
                Err(format!("{} targets leave no sender among {ranks} ranks", targets.len()))
            }
            Pattern::Incast { targets } => distinct(targets, ranks),
            Pattern::Neighbors(neighbors) => same_ranks(neighbors.ranks(), ranks),
            Pattern::Tornado(tornado) => same_ranks(tornado.ranks(), ranks),
            Pattern::Transpose | Pattern::BadpermYarc => match ranks.isqrt() {
                side if side * side == ranks => Ok(()),
                side => Err(format!(
                    "rows and columns need a square number of ranks, such as {} or {}, not {ranks}",
                    u64::from(side).pow(2),
                    u64::from(side + 1).pow(2)
                )),
            },
            Pattern::BitComplement | Pattern::BitReverse | Pattern::Shuffle | Pattern::BitRotation
                if !ranks.is_power_of_two() =>
            {
                Err(format!(
                    "a pattern of bits needs a power of two of ranks, such as {} or {}, not {ranks}",
                    1u64 << ranks.ilog2(),
                    2u64 << ranks.ilog2()
                ))
            }
            Pattern::BitComplement | Pattern::BitReverse | Pattern::Shuffle | Pattern::BitRotation => Ok(()),
            Pattern::Asymmetric if !ranks.is_multiple_of(2) => {
                Err(format!("two halves need an even number of ranks, not {ranks}"))
            }
            Pattern::Asymmetric => Ok(()),
            Pattern::Shift { by } if by.is_multiple_of(ranks) => Err(format!(
                "a shift by {by} maps {ranks} ranks to themselves: expected no multiple of {ranks}"
            )),
            Pattern::Shift { .. } => Ok(()),
            Pattern::GridShift(shift) => same_ranks(shift.ranks(), ranks),
            Pattern::Matrix(matrix) => match matrix.itself() {
                Some(rank) => Err(format!(
                    "rank {rank} sends to itself: expected no such pair, or self = true"
                )),
                None => same_ranks(matrix.ranks(), ranks),
            },
        }
    }

    /// Whether `rank` of `ranks` sends; see the table in the module documentation.
    pub fn sends(&self, rank: u32, ranks: u32) -> bool {
        match self {
            Pattern::Incast { targets } => !targets.contains(&rank),
            Pattern::Matrix(matrix) => matrix.sends(rank),
            Pattern::Transpose
            | Pattern::BitComplement
            | Pattern::BitReverse
            | Pattern::Shuffle
            | Pattern::BitRotation
            | Pattern::GridShift(_) => self.destination(rank, ranks, 0, 0) != rank,
            _ => true,
        }
    }

    /// Destination of message number `sequence`, from 0, of `rank` among `ranks`; `draw` is 64 fresh random bits.
    ///
    /// Never `rank` itself if the pattern passes [`Pattern::check`] and the rank [sends](Pattern::sends); otherwise
    /// possibly, but always a valid rank (0 if there are none).
    #[inline]
    pub fn destination(&self, rank: u32, ranks: u32, draw: u64, sequence: u64) -> u32 {
        let last = ranks.saturating_sub(1);
        match self {
            Pattern::Uniform => uniform(rank, ranks, draw),
            Pattern::NextGroup { ranks_per_group } => {
                let size = (*ranks_per_group).max(1);
                let next = (u64::from(rank / size) + 1) * u64::from(size);
                let first = if next < u64::from(ranks) { next as u32 } else { 0 };
                first + below(size.min(ranks.saturating_sub(first)), draw)
            }
            Pattern::Permutation { targets } => targets.get(rank as usize).map_or(0, |&t| t.min(last)),
            Pattern::HotSpot { targets, share } => hot_spot(targets, *share, rank, ranks, draw),
            Pattern::Incast { targets } => {
                let chosen = below(targets.len() as u32, draw) as usize;
                targets.get(chosen).map_or(0, |&target| target.min(last))
            }
            Pattern::AllToAll => {
                let step = 1 + sequence % u64::from(last.max(1));
                ((u64::from(rank) + step) % u64::from(ranks.max(1))) as u32
            }
            Pattern::Neighbors(neighbors) => neighbors.destination(rank, draw, sequence).min(last),
            Pattern::Tornado(tornado) => tornado.destination(rank).min(last),
            Pattern::Transpose => {
                let side = ranks.isqrt().max(1);
                (rank % side).saturating_mul(side).saturating_add(rank / side).min(last)
            }
            Pattern::BitComplement => (!rank & last).min(last),
            Pattern::BitReverse => match ranks {
                0 | 1 => 0,
                _ => ((rank & last).reverse_bits() >> (u32::BITS - bits(ranks))).min(last),
            },
            Pattern::Shuffle => match ranks {
                0 | 1 => 0,
                _ => (((rank << 1) | (rank >> (bits(ranks) - 1)) & 1) & last).min(last),
            },
            Pattern::BitRotation => match ranks {
                0 | 1 => 0,
                _ => (((rank & last) >> 1) | (rank & 1) << (bits(ranks) - 1)).min(last),
            },
            Pattern::Asymmetric => {
                let half = (ranks / 2).max(1);
                ((u64::from(rank) + u64::from(half)) % u64::from(ranks.max(1))) as u32
            }
            Pattern::Shift { by } => ((u64::from(rank) + u64::from(*by)) % u64::from(ranks.max(1))) as u32,
            Pattern::GridShift(shift) => shift.destination(rank).min(last),
            Pattern::BadpermYarc => {
                let side = ranks.isqrt().max(1);
                let (row, column) = (rank / side, rank % side);
                let chosen = match row == column {
                    true => uniform(row, side, draw),
                    false => below(side, draw),
                };
                chosen.saturating_mul(side).saturating_add(row).min(last)
            }
            Pattern::Matrix(matrix) => matrix.destination(rank, draw).min(last),
        }
    }

    /// Like [`destination`](Self::destination), but a rank may send to itself: among all ranks instead of all others.
    pub(super) fn destination_or_itself(&self, rank: u32, ranks: u32, draw: u64, sequence: u64) -> u32 {
        match self {
            Pattern::Uniform => below(ranks, draw),
            Pattern::HotSpot { targets, share } => {
                // Like `hot_spot`, including the rank itself.
                let whole = 1u128 << 64;
                let threshold = ((share * whole as f64) as u128).min(whole);
                let draw = u128::from(draw);
                if draw < threshold {
                    let chosen = (draw * targets.len() as u128 / threshold) as usize;
                    return targets
                        .get(chosen)
                        .map_or(0, |&target| target.min(ranks.saturating_sub(1)));
                }
                below(ranks, (((draw - threshold) << 64) / (whole - threshold)) as u64)
            }
            Pattern::AllToAll => {
                let step = 1 + sequence % u64::from(ranks.max(1));
                ((u64::from(rank) + step) % u64::from(ranks.max(1))) as u32
            }
            Pattern::Asymmetric => rank % (ranks / 2).max(1) + below(2, draw) * (ranks / 2),
            Pattern::BadpermYarc => {
                let side = ranks.isqrt().max(1);
                below(side, draw)
                    .saturating_mul(side)
                    .saturating_add(rank / side)
                    .min(ranks.saturating_sub(1))
            }
            _ => self.destination(rank, ranks, draw, sequence),
        }
    }
}

/// Checks that `targets` are a permutation of `ranks` ranks.
pub(super) fn permutes(targets: &[u32], ranks: u32) -> Result<(), String> {
    if targets.len() as u64 != u64::from(ranks) {
        return Err(format!(
            "the permutation has {} entries for {ranks} ranks",
            targets.len()
        ));
    }
    distinct(targets, ranks)
}

/// Number of bits of `ranks` ranks, at least 2.
fn bits(ranks: u32) -> u32 {
    ranks.ilog2().max(1)
}

/// One of the other ranks: numbers from `rank` on move up by one.
#[inline]
fn uniform(rank: u32, ranks: u32, draw: u64) -> u32 {
    let other = below(ranks.saturating_sub(1), draw);
    let other = if other >= rank { other.saturating_add(1) } else { other };
    other.min(ranks.saturating_sub(1))
}

/// Both choices, hot or not and the rank, from one draw: the remainder below (or above) the threshold is uniform again.
fn hot_spot(targets: &[u32], share: f64, rank: u32, ranks: u32, draw: u64) -> u32 {
    let whole = 1u128 << 64;
    let threshold = ((share * whole as f64) as u128).min(whole);
    let draw = u128::from(draw);
    let own = targets.iter().position(|&target| target == rank);
    let hot = (targets.len() - usize::from(own.is_some())) as u128;
    if hot == 0 {
        return uniform(rank, ranks, draw as u64);
    }
    if draw < threshold {
        // At most 2^24 ranks times 2^64 fit into 128 bits.
        let chosen = (draw * hot / threshold) as usize;
        let chosen = chosen + usize::from(own.is_some_and(|own| chosen >= own));
        targets
            .get(chosen)
            .map_or(0, |&target| target.min(ranks.saturating_sub(1)))
    } else {
        let cold = whole - threshold;
        let rest = ((draw - threshold) << 64) / cold;
        uniform(rank, ranks, rest as u64)
    }
}

pub(super) fn same_ranks(grid: u32, ranks: u32) -> Result<(), String> {
    if grid == ranks {
        return Ok(());
    }
    Err(format!("a grid of {grid} ranks for a job of {ranks}"))
}

/// Checks a list of targets: nonempty, valid and distinct.
fn distinct(targets: &[u32], ranks: u32) -> Result<(), String> {
    if targets.is_empty() {
        return Err("there are no targets: expected at least 1".into());
    }
    let mut taken = vec![false; ranks as usize];
    for &target in targets {
        match taken.get_mut(target as usize) {
            None => {
                return Err(format!(
                    "target {target} does not exist: the job has ranks 0 to {}",
                    ranks - 1
                ));
            }
            Some(true) => return Err(format!("rank {target} is a target twice")),
            Some(free) => *free = true,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;

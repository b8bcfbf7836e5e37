//! Collectives as point-to-point messages.
//!
//! A collective is a sequence of [`Step`]s per rank. A step is a send, a receive, or both at once; the next step starts
//! when both are complete, so the network decides how far ranks drift apart. If a library posts many messages before it
//! waits, as in a non-blocking all-to-all, the steps up to and including one without [`more`](Step::more) start
//! together. [`step`] computes any step from (rank, index): the index is the only state of a collective, and rolls back
//! like a [`Cursor`](crate::Cursor).
//!
//! The table gives the number of messages on `n` ranks, and their total bytes: `p` is the largest power of two <= `n`,
//! `r = n - p`, `l = ceil(log2 n)`, `m` the size of a vector or of broadcast data, `S` the number of its segments, `b`
//! the size of a block, `T` the sum of all listed blocks, `w` the number of ones in all numbers below `n` written in
//! binary.
//!
//! | collective | algorithm | messages | bytes |
//! |---|---|---|---|
//! | barrier | dissemination | `n l` | 0 |
//! | | recursive doubling | `2 r + p log2 p` | 0 |
//! | | double ring | `2 n` | 0 |
//! | | tree, offload | `2 (n - 1)` | 0 |
//! | broadcast | binomial, linear | `n - 1` | `(n - 1) m` |
//! | | scatter + recursive doubling, `n = p` | `n - 1 + p log2 p` | see the tests |
//! | | scatter + ring | `n - 1 + n (n - 1)` | see the tests |
//! | | chain, binary | `(n - 1) S` | `(n - 1) m` |
//! | | split binary (`S1`, `S2` segments per half) | `floor(n / 2) S1 + (ceil(n / 2) - 1) S2 + n - 1` | `(n - 1) m` |
//! | barrier, all-reduce | switches | none: see `network.reduction` | |
//! | all-reduce | recursive doubling | `2 r + p log2 p` | each `m` |
//! | | reduce-scatter + all-gather | `2 r + 2 p log2 p` | `(2 r + 2 (p - 1)) m` |
//! | | ring, segmented ring (`S` segments per block) | `n (n - 1) (S + 1)` | `2 (n - 1) m` |
//! | | reduce + broadcast, offload | `2 (n - 1)` | `2 (n - 1) m` |
//! | | bine latency, `n = p` | `n log2 n` | `n log2 n m` |
//! | | bine bandwidth, segmented (`S` messages at all levels), `n = p` | `n (S + log2 n)` | `2 (n - 1) m` |
//! | reduce | binomial, linear | `n - 1` | `(n - 1) m` |
//! | | chain, binary, segmented binomial | `(n - 1) S` | `(n - 1) m` |
//! | | reduce-scatter + gather (`s = 1` if the root is odd and below `2 r`, else 0) | `r + p log2 p + p - 1 + s` | `(r + p - 1 + log2 p / 2 + s / p) m` |
//! | gather, scatter | binomial | `n - 1` | `b` times the sizes of all subtrees |
//! | | linear | `n - 1` | `(n - 1) b` |
//! | gather | linear with synchronization | `3 (n - 1)`, `2 (n - 1)` if one segment | `(n - 1) b` |
//! | gatherv, scatterv | linear | one per block that is not empty | `T` less the root's |
//! | broadcast, reduce, gather, scatter | bine tree, `n = p` | `n - 1` | as the binomial tree |
//! | broadcast, reduce | bine bandwidth (`b` = `m / n`, rounded up), `n = p` | `n - 1 + n log2 n` | `(n log2 n / 2 + n (n - 1)) b` |
//! | all-gather(v) | recursive doubling, `n = p` | `n log2 n` | `(n - 1) T` |
//! | | Bruck | `n l` | `(n - 1) T` |
//! | | ring | `n (n - 1)` | `(n - 1) T` |
//! | | neighbor exchange, `n` even | `n^2 / 2` | `(n - 1) T` |
//! | | linear; sparbit, bine block by block, `n = p` | `n (n - 1)` | `(n - 1) T` |
//! | | bine permute; bine send (`f` bit-symmetric numbers stay), `n = p` | `n log2 n`; `n - f` more | `(n - 1) T`; moved blocks more |
//! | | bine two blocks, `n = p` | `n log2 n + n - 2 log2 n` | `(n - 1) T` |
//! | reduce-scatter(-block) | recursive halving (`T'`: even blocks below `2 r`) | `2 r + p log2 p` | `(r + p - 1) T + T'` |
//! | | pairwise, ring | `n (n - 1)` | `(n - 1) T` |
//! | | recursive doubling, `n = p` | `n log2 n` | `(n log2 n - n + 1) T` |
//! | | bine permute, bine send, `n = p` | as the all-gather | as the all-gather |
//! | | reduce, then scatter | `2 (n - 1)` | `(n - 1) T` and the scatter's |
//! | scan, exscan | recursive doubling | `2 w` | each `m` |
//! | | linear | `n - 1` | each `m` |
//! | all-to-all | Bruck | `n l` | `n w b` |
//! | | bine permute, `n = p` | `n log2 n` | `n^2 / 2 log2 n b` |
//! | all-to-all(v) | pairwise, exchange (`n = p`), linear, scattered | `n (n - 1)` | all but the own blocks |
//!
//! A [`Library`] decides which algorithm is used. All algorithms are flat: the node-aware algorithms of MPICH and Open
//! MPI are not implemented.
//!
//! Sources. Algorithms of MPICH, which CODES also uses (thresholds: `rules`): Thakur, Rabenseifner, Gropp,
//! "Optimization of Collective Communication Operations in MPICH", Int. J. High Performance Computing Applications
//! 19(1), 2005; reduce-scatter based reductions: Rabenseifner, "Optimization of Collective Reduction Operations", ICCS
//! 2004; dissemination barrier: Hensgen, Finkel, Manber, Int. J. Parallel Programming 17(1), 1988; Bruck: Bruck, Ho,
//! Kipnis, Upfal, Weathersby, "Efficient algorithms for all-to-all communications in multiport message-passing
//! systems", IEEE Trans. Parallel and Distributed Systems 8(11), 1997; ring all-reduce: Patarasuk, Yuan, "Bandwidth
//! optimal all-reduce algorithms for clusters of workstations", J. Parallel and Distributed Computing 69(2), 2009;
//! neighbor exchange: Chen, Zhang, Zhang, Yuan, "Performance evaluation of allgather algorithms on terascale Linux
//! cluster with Fast Ethernet", HPC Asia 2005; pipelines and decisions of Open MPI: Pjesivac-Grbovic, Angskun, Bosilca,
//! Fagg, Gabriel, Dongarra, "Performance analysis of MPI collective operations", Cluster Computing 10(2), 2007.

mod algorithm;
mod allgather;
mod allreduce;
mod alltoall;
mod barrier;
mod bine;
mod blocks;
mod broadcast;
mod call;
pub mod choice;
mod gather;
mod kind;
mod reduce;
mod reduce_scatter;
mod rules;
mod scan;
mod steps;
mod tree;
mod work;

pub use algorithm::Algorithm;
pub use call::{Arguments, Collective};
pub use kind::Kind;
pub use rules::{Library, OffloadLimits, Rules, choose, choose_in};
pub use steps::{Sizes, Step, Transfer};
pub use work::{LocalWork, local_work};

use blocks::Blocks;
use reduce::Reduce;
use steps::{back, forward, power_of_two_within, rounds};

/// Step `index` (from 0) of `rank` among `ranks`, both numbered in the communicator; `None` if the rank has finished.
/// Takes O(log ranks); for listed sizes, one query per moved block.
///
/// Also `None` for impossible calls: an algorithm that does not [support](Algorithm::supports) the collective, or a
/// rank or root outside the communicator ([`Collective::check`]). And for collectives without data, from which the
/// libraries return at once. (An empty broadcast or all-reduce costs its messages, as in CODES.)
#[inline]
pub fn step(
    collective: &Collective,
    algorithm: Algorithm,
    rank: u32,
    ranks: u32,
    index: u32,
    sizes: &dyn Sizes,
) -> Option<Step> {
    if rank >= ranks || ranks == 1 || !algorithm.supports(collective, ranks) {
        return None;
    }
    match *collective {
        Collective::Barrier { .. } => barrier::step(algorithm, rank, ranks, index),
        Collective::Allreduce { bytes, count, .. } => allreduce::step(algorithm, bytes, count, rank, ranks, index),
        Collective::Broadcast { root, bytes, .. } => {
            (root < ranks).then(|| broadcast::step(algorithm, root, bytes, rank, ranks, index))?
        }
        _ => others(collective, algorithm, rank, ranks, index, sizes),
    }
}

/// [`step`] of the rarer collectives; separate to keep the common ones short.
#[inline(never)]
fn others(
    collective: &Collective,
    algorithm: Algorithm,
    rank: u32,
    ranks: u32,
    index: u32,
    sizes: &dyn Sizes,
) -> Option<Step> {
    match *collective {
        Collective::Allgatherv { counts, .. } => {
            allgather::step(algorithm, &Blocks::Listed { counts, sizes }, rank, ranks, index)
        }
        Collective::ReduceScatter { counts, .. } => {
            reduce_scatter::step(algorithm, &Blocks::Listed { counts, sizes }, rank, ranks, index)
        }
        Collective::Gatherv { root, counts, .. } if root < ranks => {
            gather::gatherv(root, rank, ranks, index, |from| sizes.bytes(counts, from, root))
        }
        Collective::Scatterv { root, counts, .. } if root < ranks => {
            gather::scatterv(root, rank, ranks, index, |to| sizes.bytes(counts, root, to))
        }
        Collective::Alltoallv { counts, .. } => {
            alltoall::step(algorithm, rank, ranks, index, |from, to| sizes.bytes(counts, from, to))
        }
        Collective::Reduce { root, bytes, count, .. } if root < ranks && bytes > 0 => {
            Reduce { root, bytes, count }.step(algorithm, rank, ranks, index)
        }
        Collective::Gather { root, bytes, .. } if root < ranks && bytes > 0 => {
            gather::gather(algorithm, root, bytes, rank, ranks, index)
        }
        Collective::Scatter { root, bytes, .. } if root < ranks && bytes > 0 => {
            gather::scatter(algorithm, root, bytes, rank, ranks, index)
        }
        Collective::Allgather { bytes, .. } if bytes > 0 => {
            allgather::step(algorithm, &Blocks::Equal(bytes), rank, ranks, index)
        }
        Collective::ReduceScatterBlock { bytes, .. } if bytes > 0 => {
            reduce_scatter::step(algorithm, &Blocks::Equal(bytes), rank, ranks, index)
        }
        Collective::Scan { bytes, .. } | Collective::Exscan { bytes, .. } if bytes > 0 => {
            scan::step(algorithm, bytes, rank, ranks, index)
        }
        Collective::Alltoall { bytes, .. } if bytes > 0 => alltoall::equal(algorithm, bytes, rank, ranks, index),
        _ => None,
    }
}

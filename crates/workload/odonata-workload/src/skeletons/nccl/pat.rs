//! All-gathers and reduce-scatters of NCCL by parallel aggregated trees (S. Jeaugey, "PAT: a new algorithm for all-gather
//! and reduce-scatter operations at scale", 2025; `PatAGAlgorithm`, `PatRSAlgorithm` in `src/include/collectives.h` of NCCL
//! 2.27), for one GPU per host.
//!
//! In an all-gather on p ranks, a block travels along a binomial tree: the block of rank r + s reaches rank r over the
//! distance of the lowest bit of s, from rank r plus that distance, after the distances of its higher bits. Far distances
//! come first, so they carry few blocks. A blocks are *aggregated* in a step. With P the least power of two from p on, the
//! steps move the blocks of the offsets
//!
//! | steps | offsets s < p | distance |
//! |---|---|---|
//! | log2 A, for P/2, P/4, ..., P/A | odd multiples of the distance | P/2, P/4, ..., P/A |
//! | P/A - 1, one for each t in 1 .. P/A | t, t + P/A, t + 2 P/A, ... | the lowest bit of t |
//!
//! with every t after t without its lowest bit: depth first. A is the largest power of two whose blocks fit into a chunk
//! of a channel, times 8, the steps of NCCL's buffers; at most the least one from p / 2 on. So few bytes on 2^k ranks take k
//! steps, as Bruck's algorithm, and blocks of a chunk or more P/8 + 2 steps. A reduce-scatter sends sums the other way in the
//! opposite order, with t descending. A step takes α + step_latency + β times its bytes, and p - 1 blocks move in all.

use odonata_units::Bytes;

use super::{Nccl, NcclCollective, NcclParams};

/// Steps of NCCL's buffers.
const BUFFERED_STEPS: u32 = 8;

/// A chunk: a step of the buffer of 4 MiB, halved for few bytes.
pub(super) fn chunk(params: &NcclParams) -> Bytes {
    let share = match params.collective {
        NcclCollective::ReduceScatter => 16,
        _ => 32,
    };
    let mut chunk = 512 << 10;
    while chunk > 64 << 10 && chunk * u64::from(params.channels_in_use()) * share > params.bytes.0 {
        chunk /= 2;
    }
    Bytes(chunk)
}

/// The trees on some ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Trees {
    ranks: u32,
    /// log2 of P and of A.
    bits: u32,
    aggregated: u32,
}

impl Trees {
    /// Those of a call of `params`; resolved.
    pub(super) fn of(params: &NcclParams, ranks: u32) -> Trees {
        let block = params.bytes.0 / (u64::from(ranks) * u64::from(params.channels_in_use())).max(1);
        Trees::new(ranks, block, params.chunk.0)
    }

    /// For blocks of `block` bytes in a channel, and chunks of `chunk` bytes.
    fn new(ranks: u32, block: u64, chunk: u64) -> Trees {
        let bits = ranks.next_power_of_two().ilog2();
        let most = (0..bits).find(|&log| 1 << log >= ranks / 2).unwrap_or(0);
        let fits = (0..most).find(|&log| chunk < (block.max(1) << log).saturating_mul(2));
        let aggregated = (fits.unwrap_or(most) + BUFFERED_STEPS.ilog2()).min(most);
        Trees {
            ranks,
            bits,
            aggregated,
        }
    }

    /// Steps of a loop.
    pub(super) fn steps(&self) -> u32 {
        self.aggregated + self.near() - 1
    }

    /// P/A, or p if that is less.
    fn near(&self) -> u32 {
        self.ranks.min(1 << (self.bits - self.aggregated))
    }

    /// The distance of step `step` of an all-gather, or of a reduce-scatter backwards, and the offsets of its blocks: the
    /// first one and their distance.
    fn step(&self, step: u32, descends: bool) -> (u32, u32, u32) {
        if let Some(further) = step.checked_sub(self.aggregated) {
            let first = match descends {
                true => further + 1,
                false => depth_first(further + 1, self.near()),
            };
            return (1 << first.trailing_zeros(), first, 1 << (self.bits - self.aggregated));
        }
        let distance = 1 << (self.bits - 1 - step);
        (distance, distance, 2 * distance)
    }

    /// The offsets of the blocks of a step.
    fn offsets(&self, first: u32, by: u32) -> impl Iterator<Item = u32> {
        (first..self.ranks).step_by(by as usize)
    }
}

/// Number `index` in depth-first order of the binomial tree on the numbers below `count`: children add a lower bit, the
/// highest one first.
fn depth_first(mut index: u32, count: u32) -> u32 {
    let mut found = 0;
    for bit in (0..count.next_power_of_two().ilog2()).rev() {
        let child = found + (1 << bit);
        let below = count.saturating_sub(child).min(1 << bit);
        if index == 0 {
            break;
        }
        if index <= below {
            (found, index) = (child, index - 1);
        } else {
            index -= below;
        }
    }
    found
}

impl Nccl {
    /// Sends and receives of a rank in a step by parallel aggregated trees: (rank, bytes of data) each.
    pub(super) fn transfer_of_trees(&self, rank: u32, channel: u32, turn: u32, step: u32) -> [(u32, u64); 2] {
        let p = self.ranks;
        let trees = Trees::of(&self.params, p);
        let reduces = self.params.collective == NcclCollective::ReduceScatter;
        let (distance, first, by) = match reduces {
            true => trees.step(self.steps - 1 - step, true),
            false => trees.step(step, false),
        };
        // Of an all-gather, `low` receives from `high`; a reduce-scatter is its reverse.
        let bytes = |low: u32| {
            let blocks = trees.offsets(first, by).map(|offset| (low + offset) % p);
            let sizes = blocks.map(|block| self.block(channel, (turn, self.loops), (block, p)));
            sizes.sum::<u64>()
        };
        let (low, high) = ((rank + p - distance % p) % p, (rank + distance) % p);
        match reduces {
            true => [(high, bytes(rank)), (low, bytes(low))],
            false => [(low, bytes(low)), (high, bytes(rank))],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::skeletons::{NcclAlgorithm, Parameters};
    use std::collections::BTreeSet;

    /// The order of NCCL's `nextAs` for eight numbers, and each number after the one without its lowest bit.
    #[test]
    fn numbers_come_depth_first() {
        let order = |count: u32| (0..count).map(|index| depth_first(index, count)).collect::<Vec<_>>();
        assert_eq!(order(8), [0, 4, 6, 7, 5, 2, 3, 1]);
        for count in 1..70 {
            let order = order(count);
            for (place, &number) in order.iter().enumerate().skip(1) {
                assert!(order[..place].contains(&(number & (number - 1))), "{number} of {count}");
            }
            assert_eq!(order.iter().collect::<BTreeSet<_>>().len(), count as usize);
        }
    }

    /// log2 P steps where all fits, P / 8 + 2 for blocks of a chunk.
    #[test]
    fn aggregation_follows_the_chunk() {
        for ranks in [2, 4, 8, 16, 64, 1024] {
            let log: u32 = u32::ilog2(ranks);
            assert_eq!(Trees::new(ranks, 1, 1 << 30).steps(), log, "{ranks}");
            let large = if ranks > 8 { ranks / 8 + 2 } else { log };
            assert_eq!(Trees::new(ranks, 1000, 1000).steps(), large, "{ranks}");
        }
        // A = 16 of P = 64.
        assert_eq!(Trees::new(33, 1, 1 << 30).steps(), 4 + 64 / 16 - 1);
        assert_eq!(Trees::new(3, 1, 1 << 30).steps(), 2);
        // Four blocks of 100 B fit into 512 B: A = 32.
        assert_eq!(Trees::new(1024, 100, 512).steps(), 5 + 1024 / 32 - 1);
    }

    fn call(collective: NcclCollective, ranks: u32, bytes: u64, chunk: u64) -> Nccl {
        let mut params = NcclParams {
            collective,
            algorithm: NcclAlgorithm::Pat,
            bytes: Bytes(bytes).into(),
            chunk: Bytes(chunk).into(),
            channels: 1,
            gpus_per_host: 1,
            ..NcclParams::default()
        };
        params.resolve("nccl", ranks).unwrap();
        Nccl::new(ranks, &params).unwrap()
    }

    /// Executes the steps with sets of blocks: an all-gather sends blocks that a rank has, and gives each rank all blocks. A
    /// reduce-scatter sums each block of each rank once, and sends no partial sum twice.
    #[test]
    fn all_ranks_have_what_they_need() {
        for ranks in [1, 2, 3, 4, 5, 7, 8, 13, 16, 31, 32] {
            for chunk in [1, 100, 400, 1 << 30] {
                let nccl = call(NcclCollective::AllGather, ranks, 100 * u64::from(ranks), chunk);
                let trees = Trees::of(&nccl.params, ranks);
                let mut has: Vec<BTreeSet<u32>> = (0..ranks).map(|rank| BTreeSet::from([rank])).collect();
                for step in 0..nccl.steps {
                    let (distance, first, by) = trees.step(step, false);
                    let before = has.clone();
                    for rank in 0..ranks {
                        for offset in trees.offsets(first, by) {
                            let block = (rank + offset) % ranks;
                            assert!(before[((rank + distance) % ranks) as usize].contains(&block));
                            assert!(has[rank as usize].insert(block));
                        }
                    }
                }
                assert!(has.iter().all(|has| has.len() == ranks as usize), "{ranks} {chunk}");
                // What contributes to the sum of a block at a rank.
                let nccl = call(NcclCollective::ReduceScatter, ranks, 100 * u64::from(ranks), chunk);
                let own = |rank| (0..ranks).map(move |_| BTreeSet::from([rank])).collect::<Vec<_>>();
                let mut sums: Vec<Vec<BTreeSet<u32>>> = (0..ranks).map(own).collect();
                for step in 0..nccl.steps {
                    let (distance, first, by) = trees.step(nccl.steps - 1 - step, true);
                    let before = sums.clone();
                    for rank in 0..ranks {
                        for offset in trees.offsets(first, by) {
                            let (block, to) = ((rank + offset) % ranks, (rank + distance) % ranks);
                            for &part in &before[rank as usize][block as usize] {
                                assert!(sums[to as usize][block as usize].insert(part), "{ranks} {chunk}");
                            }
                        }
                    }
                }
                assert!((0..ranks as usize).all(|rank| sums[rank][rank].len() == ranks as usize));
            }
        }
    }

    /// p - 1 blocks leave and reach every rank, and what one sends the other receives.
    #[test]
    fn bytes_are_those_of_the_ring() {
        for collective in [NcclCollective::AllGather, NcclCollective::ReduceScatter] {
            for (ranks, bytes, chunk) in [(8, 80_000, 500), (13, 13_007, 100), (32, 3_200, 1 << 20)] {
                let nccl = call(collective, ranks, bytes, chunk);
                let (mut sent, mut received) = (0, 0);
                for turn in 0..nccl.loops {
                    for step in 0..nccl.steps {
                        for rank in 0..ranks {
                            let [(to, give), (_, get)] = nccl.transfer_of_trees(rank, 0, turn, step);
                            (sent, received) = (sent + give, received + get);
                            let [_, (from, got)] = nccl.transfer_of_trees(to, 0, turn, step);
                            assert_eq!((from, got), (rank, give));
                        }
                    }
                }
                let all = bytes * u64::from(ranks - 1);
                assert_eq!((sent, received), (all, all), "{ranks}");
            }
        }
    }

    #[test]
    fn chunks_are_nccls() {
        let chunk_of = |collective, bytes| {
            let params = NcclParams {
                collective,
                bytes: Bytes(bytes).into(),
                channels: 8,
                ..NcclParams::default()
            };
            chunk(&params).0 >> 10
        };
        let mib = 1 << 20;
        assert_eq!(chunk_of(NcclCollective::AllGather, 128 * mib), 512);
        assert_eq!(chunk_of(NcclCollective::AllGather, 64 * mib), 256);
        assert_eq!(chunk_of(NcclCollective::ReduceScatter, 64 * mib), 512);
        assert_eq!(chunk_of(NcclCollective::AllGather, mib), 64);
    }
}

//! Algorithms by name, and the collectives that each supports.

use super::choice::AlgorithmSizes;
use super::{Collective, Kind};

/// The algorithm of a collective. A `segment` is the maximum message size of a pipeline in bytes; 0 means unsegmented.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub enum Algorithm {
    /// Barrier: in round `k` each rank signals rank + 2^k and receives from rank - 2^k.
    Dissemination,
    /// Barrier: a signal goes around the ring twice.
    DoubleRing,
    /// Barrier: up a binomial tree to rank 0, and down again.
    Tree,
    /// All-reduce, scan: whole vectors are exchanged over distances 1, 2, 4, ...; barrier: signals; all-gather and
    /// reduce-scatter (powers of two only): gathered blocks, or blocks still to be summed.
    RecursiveDoubling,
    /// All-reduce (Rabenseifner): halves, quarters, ... are exchanged and reduced, then gathered back.
    ReduceScatterAllgather,
    /// All-reduce by binomial trees: reduce to rank 0, then broadcast.
    ReduceBroadcast,
    /// All-reduce: one block per rank travels a ring twice, first to be summed; needs at least as many elements as
    /// ranks. All-gather and reduce-scatter: one of the two rounds.
    Ring,
    /// All-reduce: a ring that sums blocks segment by segment; needs at least as many elements as ranks.
    SegmentedRing {
        /// Maximum message size of the first rounds, in bytes.
        segment: u32,
    },
    /// Broadcast, reduce, gather, scatter along a binomial tree.
    Binomial,
    /// Broadcast: binomial scatter, then all-gather by recursive doubling; powers of two only.
    ScatterRecursiveDoubling,
    /// Broadcast: binomial scatter, then all-gather around a ring.
    ScatterRing,
    /// Root to all or all to root directly; scan: from rank to rank; all-to-all and all-gather: all messages posted at once.
    Linear,
    /// Broadcast, reduce: segments along a chain of all ranks (Open MPI's "pipeline").
    Chain {
        /// Maximum message size, in bytes.
        segment: u32,
    },
    /// Broadcast, reduce: segments along a binary tree.
    Binary {
        /// Maximum message size, in bytes.
        segment: u32,
    },
    /// Broadcast: one half of the data down each half of a binary tree, then pairs swap halves.
    SplitBinary {
        /// Maximum message size on the tree, in bytes.
        segment: u32,
    },
    /// Broadcast, reduce: segments along a binomial tree; a broadcast sends to all children at once.
    SegmentedBinomial {
        /// Maximum message size, in bytes.
        segment: u32,
    },
    /// Reduce (Rabenseifner): halves, quarters, ... are exchanged and reduced, then gathered to the root.
    ReduceScatterGather,
    /// Gather: the root requests one rank after the other; each sends a first segment and then the rest.
    LinearSync {
        /// Size of the first segment in bytes.
        segment: u32,
    },
    /// All-gather: each round doubles the blocks, from the following ranks. All-to-all: blocks move by the powers of
    /// two in their distance.
    Bruck,
    /// All-gather on an even number of ranks: neighbors swap two blocks at a time.
    NeighborExchange,
    /// Reduce-scatter: halves, quarters, ... are exchanged over distances p/2, p/4, ..., 1.
    RecursiveHalving,
    /// Reduce-scatter by binomial reduce to rank 0, then scatter.
    ReduceThenScatter,
    /// Reduce-scatter, all-to-all: in step `i` each rank sends to rank + i and receives from rank - i.
    Pairwise,
    /// All-to-all on a power of two: in step `i` each rank swaps with rank xor i.
    PairwiseExchange,
    /// All-gather on a power of two: over distances p/2, ..., 2, 1, one message per block.
    Sparbit,
    /// All-gather, reduce-scatter, all-to-all on a power of two: a bine butterfly; blocks are reordered by copies.
    BinePermute,
    /// All-gather, reduce-scatter on a power of two: a bine butterfly; ranks are renumbered by one exchange.
    BineSend,
    /// All-gather on a power of two: a bine butterfly, one message per block.
    BineBlockByBlock,
    /// All-gather on a power of two: a bine butterfly over growing distances, in which blocks are at most two ranges.
    BineTwoBlocks,
    /// All-reduce on a power of two: whole vectors along a bine butterfly; broadcast, reduce, gather, scatter: a bine
    /// tree.
    BineLatency,
    /// All-reduce, broadcast, reduce on a power of two: two halves of reduce-scatter, scatter, gather and all-gather along
    /// bine butterflies and trees.
    BineBandwidth,
    /// All-reduce: `BineBandwidth` with segments in its reduce-scatter.
    BineSegmented {
        /// Maximum message size of the reduce-scatter, in bytes.
        segment: u32,
    },
    /// Barrier, all-reduce: up a tree of network interfaces to rank 0 and down again, without the processors.
    Offload {
        /// Maximum number of children in the tree, at least 1.
        radix: u32,
    },
    /// All-to-all: a window of sends and receives is posted at once and waited for (MPICH's throttle).
    Scattered {
        /// How many.
        window: u32,
    },
}

impl Algorithm {
    /// All algorithms; segments and windows are 0, trees are binary.
    pub const ALL: [Algorithm; 34] = [
        Algorithm::Dissemination,
        Algorithm::DoubleRing,
        Algorithm::Tree,
        Algorithm::RecursiveDoubling,
        Algorithm::ReduceScatterAllgather,
        Algorithm::ReduceBroadcast,
        Algorithm::Ring,
        Algorithm::SegmentedRing { segment: 0 },
        Algorithm::Binomial,
        Algorithm::ScatterRecursiveDoubling,
        Algorithm::ScatterRing,
        Algorithm::Linear,
        Algorithm::Chain { segment: 0 },
        Algorithm::Binary { segment: 0 },
        Algorithm::SplitBinary { segment: 0 },
        Algorithm::SegmentedBinomial { segment: 0 },
        Algorithm::ReduceScatterGather,
        Algorithm::LinearSync { segment: 0 },
        Algorithm::Bruck,
        Algorithm::NeighborExchange,
        Algorithm::RecursiveHalving,
        Algorithm::ReduceThenScatter,
        Algorithm::Pairwise,
        Algorithm::PairwiseExchange,
        Algorithm::Scattered { window: 0 },
        Algorithm::Sparbit,
        Algorithm::BinePermute,
        Algorithm::BineSend,
        Algorithm::BineBlockByBlock,
        Algorithm::BineTwoBlocks,
        Algorithm::BineLatency,
        Algorithm::BineBandwidth,
        Algorithm::BineSegmented { segment: 0 },
        Algorithm::Offload { radix: 2 },
    ];

    /// Its index in [`Algorithm::ALL`].
    const fn number(self) -> u32 {
        match self {
            Algorithm::Dissemination => 0,
            Algorithm::DoubleRing => 1,
            Algorithm::Tree => 2,
            Algorithm::RecursiveDoubling => 3,
            Algorithm::ReduceScatterAllgather => 4,
            Algorithm::ReduceBroadcast => 5,
            Algorithm::Ring => 6,
            Algorithm::SegmentedRing { .. } => 7,
            Algorithm::Binomial => 8,
            Algorithm::ScatterRecursiveDoubling => 9,
            Algorithm::ScatterRing => 10,
            Algorithm::Linear => 11,
            Algorithm::Chain { .. } => 12,
            Algorithm::Binary { .. } => 13,
            Algorithm::SplitBinary { .. } => 14,
            Algorithm::SegmentedBinomial { .. } => 15,
            Algorithm::ReduceScatterGather => 16,
            Algorithm::LinearSync { .. } => 17,
            Algorithm::Bruck => 18,
            Algorithm::NeighborExchange => 19,
            Algorithm::RecursiveHalving => 20,
            Algorithm::ReduceThenScatter => 21,
            Algorithm::Pairwise => 22,
            Algorithm::PairwiseExchange => 23,
            Algorithm::Scattered { .. } => 24,
            Algorithm::Sparbit => 25,
            Algorithm::BinePermute => 26,
            Algorithm::BineSend => 27,
            Algorithm::BineBlockByBlock => 28,
            Algorithm::BineTwoBlocks => 29,
            Algorithm::BineLatency => 30,
            Algorithm::BineBandwidth => 31,
            Algorithm::BineSegmented { .. } => 32,
            Algorithm::Offload { .. } => 33,
        }
    }

    /// Its name in scenarios.
    pub const fn name(self) -> &'static str {
        match self {
            Algorithm::Dissemination => "dissemination",
            Algorithm::DoubleRing => "double-ring",
            Algorithm::Tree => "tree",
            Algorithm::RecursiveDoubling => "recursive-doubling",
            Algorithm::ReduceScatterAllgather => "reduce-scatter-allgather",
            Algorithm::ReduceBroadcast => "reduce-broadcast",
            Algorithm::Ring => "ring",
            Algorithm::SegmentedRing { .. } => "segmented-ring",
            Algorithm::Binomial => "binomial",
            Algorithm::ScatterRecursiveDoubling => "scatter-recursive-doubling",
            Algorithm::ScatterRing => "scatter-ring",
            Algorithm::Linear => "linear",
            Algorithm::Chain { .. } => "chain",
            Algorithm::Binary { .. } => "binary",
            Algorithm::SplitBinary { .. } => "split-binary",
            Algorithm::SegmentedBinomial { .. } => "segmented-binomial",
            Algorithm::ReduceScatterGather => "reduce-scatter-gather",
            Algorithm::LinearSync { .. } => "linear-sync",
            Algorithm::Bruck => "bruck",
            Algorithm::NeighborExchange => "neighbor-exchange",
            Algorithm::RecursiveHalving => "recursive-halving",
            Algorithm::ReduceThenScatter => "reduce-then-scatter",
            Algorithm::Pairwise => "pairwise",
            Algorithm::PairwiseExchange => "pairwise-exchange",
            Algorithm::Scattered { .. } => "scattered",
            Algorithm::Sparbit => "sparbit",
            Algorithm::BinePermute => "bine-permute",
            Algorithm::BineSend => "bine-send",
            Algorithm::BineBlockByBlock => "bine-block-by-block",
            Algorithm::BineTwoBlocks => "bine-two-blocks",
            Algorithm::BineLatency => "bine-latency",
            Algorithm::BineBandwidth => "bine-bandwidth",
            Algorithm::BineSegmented { .. } => "bine-segmented",
            Algorithm::Offload { .. } => "offload",
        }
    }

    /// The same algorithm with these sizes, as far as it has them.
    #[must_use]
    pub const fn sized(self, AlgorithmSizes { segment, window, radix }: AlgorithmSizes) -> Algorithm {
        match self {
            Algorithm::SegmentedRing { .. } => Algorithm::SegmentedRing { segment },
            Algorithm::Chain { .. } => Algorithm::Chain { segment },
            Algorithm::Binary { .. } => Algorithm::Binary { segment },
            Algorithm::SplitBinary { .. } => Algorithm::SplitBinary { segment },
            Algorithm::SegmentedBinomial { .. } => Algorithm::SegmentedBinomial { segment },
            Algorithm::LinearSync { .. } => Algorithm::LinearSync { segment },
            Algorithm::Scattered { .. } => Algorithm::Scattered { window },
            Algorithm::BineSegmented { .. } => Algorithm::BineSegmented { segment },
            Algorithm::Offload { .. } => Algorithm::Offload { radix },
            other => other,
        }
    }

    /// Whether it implements collectives of this kind, at least for some sizes and numbers of ranks.
    pub const fn serves(self, kind: Kind) -> bool {
        use Algorithm as A;
        match kind {
            Kind::Barrier => matches!(
                self,
                A::Dissemination | A::RecursiveDoubling | A::DoubleRing | A::Tree | A::Offload { .. }
            ),
            Kind::Broadcast => matches!(
                self,
                A::Binomial
                    | A::ScatterRecursiveDoubling
                    | A::ScatterRing
                    | A::Linear
                    | A::Chain { .. }
                    | A::Binary { .. }
                    | A::SplitBinary { .. }
                    | A::SegmentedBinomial { .. }
                    | A::BineLatency
                    | A::BineBandwidth
            ),
            Kind::Allreduce => matches!(
                self,
                A::RecursiveDoubling
                    | A::ReduceScatterAllgather
                    | A::Ring
                    | A::SegmentedRing { .. }
                    | A::ReduceBroadcast
                    | A::BineLatency
                    | A::BineBandwidth
                    | A::BineSegmented { .. }
                    | A::Offload { .. }
            ),
            Kind::Reduce => matches!(
                self,
                A::Binomial
                    | A::ReduceScatterGather
                    | A::Linear
                    | A::Chain { .. }
                    | A::Binary { .. }
                    | A::SegmentedBinomial { .. }
                    | A::BineLatency
                    | A::BineBandwidth
            ),
            Kind::Gather => matches!(self, A::Binomial | A::Linear | A::LinearSync { .. } | A::BineLatency),
            Kind::Scatter => matches!(self, A::Binomial | A::Linear | A::BineLatency),
            Kind::Gatherv | Kind::Scatterv => matches!(self, A::Linear),
            Kind::Allgather | Kind::Allgatherv => {
                matches!(
                    self,
                    A::RecursiveDoubling
                        | A::Bruck
                        | A::Ring
                        | A::NeighborExchange
                        | A::Linear
                        | A::Sparbit
                        | A::BinePermute
                        | A::BineSend
                        | A::BineBlockByBlock
                        | A::BineTwoBlocks
                )
            }
            Kind::ReduceScatter | Kind::ReduceScatterBlock => matches!(
                self,
                A::RecursiveHalving
                    | A::Pairwise
                    | A::Ring
                    | A::RecursiveDoubling
                    | A::ReduceThenScatter
                    | A::BinePermute
                    | A::BineSend
            ),
            Kind::Scan | Kind::Exscan => matches!(self, A::RecursiveDoubling | A::Linear),
            Kind::Alltoall => matches!(
                self,
                A::Bruck | A::Pairwise | A::PairwiseExchange | A::Linear | A::Scattered { .. } | A::BinePermute
            ),
            Kind::Alltoallv => matches!(
                self,
                A::Pairwise | A::PairwiseExchange | A::Linear | A::Scattered { .. }
            ),
        }
    }

    /// Whether it implements `collective` on `ranks` ranks.
    #[inline]
    pub const fn supports(self, collective: &Collective, ranks: u32) -> bool {
        // Called at every step of a collective, so most answers come from a table.
        if SERVES[collective.kind() as usize] >> self.number() & 1 == 0 {
            return false;
        }
        match self {
            Algorithm::ScatterRecursiveDoubling
            | Algorithm::PairwiseExchange
            | Algorithm::Sparbit
            | Algorithm::BinePermute
            | Algorithm::BineSend
            | Algorithm::BineBlockByBlock
            | Algorithm::BineTwoBlocks
            | Algorithm::BineLatency
            | Algorithm::BineBandwidth
            | Algorithm::BineSegmented { .. } => ranks.is_power_of_two(),
            Algorithm::RecursiveDoubling => {
                let any = matches!(
                    collective.which(),
                    Kind::Allreduce | Kind::Barrier | Kind::Scan | Kind::Exscan
                );
                any || ranks.is_power_of_two()
            }
            Algorithm::NeighborExchange => ranks.is_multiple_of(2),
            Algorithm::Ring | Algorithm::SegmentedRing { .. } => match collective {
                Collective::Allreduce { count, .. } => *count >= ranks as u64,
                _ => true,
            },
            _ => true,
        }
    }
}

/// [`Algorithm::serves`] as a bit per algorithm, for every kind of collective.
const SERVES: [u64; Kind::ALL.len()] = {
    let mut serves = [0; Kind::ALL.len()];
    let mut kind = 0;
    while kind < Kind::ALL.len() {
        let mut number = 0;
        while number < Algorithm::ALL.len() {
            if Algorithm::ALL[number].serves(Kind::ALL[kind]) {
                serves[kind] |= 1 << Algorithm::ALL[number].number();
            }
            number += 1;
        }
        kind += 1;
    }
    serves
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_places_in_the_list() {
        for (place, algorithm) in Algorithm::ALL.into_iter().enumerate() {
            assert_eq!(algorithm.number() as usize, place, "{}", algorithm.name());
        }
    }
}

//! Algorithms by name, and the collectives that each supports.

use super::choice::AlgorithmSizes;
use super::{Collective, Kind};

/// Declares [`Algorithm`]: names, sizes with their values in [`Algorithm::ALL`], and the kinds of collectives served, at
/// least for some sizes and numbers of ranks.
macro_rules! algorithms {
    ($(
        $(#[$doc:meta])*
        $name:ident $({ $(#[$size_doc:meta])* $size:ident: $value:literal })? = $text:literal for $($kind:ident)+;
    )*) => {
        /// The algorithm of a collective. A `segment` is the maximum message size of a pipeline in bytes; 0 means
        /// unsegmented.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
        pub enum Algorithm {
            $($(#[$doc])* $name $({ $(#[$size_doc])* $size: u32 })?,)*
        }

        /// The places of [`Algorithm::ALL`].
        enum Number {
            $($name,)*
        }

        impl Algorithm {
            /// All algorithms; segments and windows are 0, trees are binary.
            pub const ALL: [Algorithm; [$(Number::$name),*].len()] = [$(Algorithm::$name $({ $size: $value })?),*];

            /// Its index in [`Algorithm::ALL`].
            const fn number(self) -> u32 {
                match self {
                    $(Algorithm::$name { .. } => Number::$name as u32,)*
                }
            }

            /// Its name in scenarios.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Algorithm::$name { .. } => $text,)*
                }
            }

            /// The same algorithm with these sizes, as far as it has them.
            #[must_use]
            pub const fn sized(self, sizes: AlgorithmSizes) -> Algorithm {
                match self {
                    $(Algorithm::$name { .. } => Algorithm::$name $({ $size: sizes.$size })?,)*
                }
            }

            /// Whether it implements collectives of this kind, at least for some sizes and numbers of ranks.
            pub const fn serves(self, kind: Kind) -> bool {
                match self {
                    $(Algorithm::$name { .. } => matches!(kind, $(Kind::$kind)|+),)*
                }
            }
        }
    };
}

algorithms! {
    /// Barrier: in round `k` each rank signals rank + 2^k and receives from rank - 2^k.
    Dissemination = "dissemination" for Barrier;
    /// Barrier: a signal goes around the ring twice.
    DoubleRing = "double-ring" for Barrier;
    /// Barrier: up a binomial tree to rank 0, and down again.
    Tree = "tree" for Barrier;
    /// All-reduce, scan: whole vectors are exchanged over distances 1, 2, 4, ...; barrier: signals; all-gather and
    /// reduce-scatter (powers of two only): gathered blocks, or blocks still to be summed.
    RecursiveDoubling = "recursive-doubling" for Barrier Allreduce Allgather Allgatherv ReduceScatter
        ReduceScatterBlock Scan Exscan;
    /// All-reduce (Rabenseifner): halves, quarters, ... are exchanged and reduced, then gathered back.
    ReduceScatterAllgather = "reduce-scatter-allgather" for Allreduce;
    /// All-reduce by binomial trees: reduce to rank 0, then broadcast.
    ReduceBroadcast = "reduce-broadcast" for Allreduce;
    /// All-reduce: one block per rank travels a ring twice, first to be summed; needs at least as many elements as
    /// ranks. All-gather and reduce-scatter: one of the two rounds.
    Ring = "ring" for Allreduce Allgather Allgatherv ReduceScatter ReduceScatterBlock;
    /// All-reduce: a ring that sums blocks segment by segment; needs at least as many elements as ranks.
    SegmentedRing {
        /// Maximum message size of the first rounds, in bytes.
        segment: 0
    } = "segmented-ring" for Allreduce;
    /// Broadcast, reduce, gather, scatter along a binomial tree.
    Binomial = "binomial" for Broadcast Reduce Gather Scatter;
    /// Broadcast: binomial scatter, then all-gather by recursive doubling; powers of two only.
    ScatterRecursiveDoubling = "scatter-recursive-doubling" for Broadcast;
    /// Broadcast: binomial scatter, then all-gather around a ring.
    ScatterRing = "scatter-ring" for Broadcast;
    /// Root to all or all to root directly; scan: from rank to rank; all-to-all and all-gather: all messages posted at
    /// once.
    Linear = "linear" for Broadcast Reduce Gather Scatter Gatherv Scatterv Allgather Allgatherv
        Scan Exscan Alltoall Alltoallv;
    /// Broadcast, reduce: segments along a chain of all ranks (Open MPI's "pipeline").
    Chain {
        /// Maximum message size, in bytes.
        segment: 0
    } = "chain" for Broadcast Reduce;
    /// Broadcast, reduce: segments along a binary tree.
    Binary {
        /// Maximum message size, in bytes.
        segment: 0
    } = "binary" for Broadcast Reduce;
    /// Broadcast: one half of the data down each half of a binary tree, then pairs swap halves.
    SplitBinary {
        /// Maximum message size on the tree, in bytes.
        segment: 0
    } = "split-binary" for Broadcast;
    /// Broadcast, reduce: segments along a binomial tree; a broadcast sends to all children at once.
    SegmentedBinomial {
        /// Maximum message size, in bytes.
        segment: 0
    } = "segmented-binomial" for Broadcast Reduce;
    /// Reduce (Rabenseifner): halves, quarters, ... are exchanged and reduced, then gathered to the root.
    ReduceScatterGather = "reduce-scatter-gather" for Reduce;
    /// Gather: the root requests one rank after the other; each sends a first segment and then the rest.
    LinearSync {
        /// Size of the first segment in bytes.
        segment: 0
    } = "linear-sync" for Gather;
    /// All-gather: each round doubles the blocks, from the following ranks. All-to-all: blocks move by the powers of
    /// two in their distance.
    Bruck = "bruck" for Allgather Allgatherv Alltoall;
    /// All-gather on an even number of ranks: neighbors swap two blocks at a time.
    NeighborExchange = "neighbor-exchange" for Allgather Allgatherv;
    /// Reduce-scatter: halves, quarters, ... are exchanged over distances p/2, p/4, ..., 1.
    RecursiveHalving = "recursive-halving" for ReduceScatter ReduceScatterBlock;
    /// Reduce-scatter by binomial reduce to rank 0, then scatter.
    ReduceThenScatter = "reduce-then-scatter" for ReduceScatter ReduceScatterBlock;
    /// Reduce-scatter, all-to-all: in step `i` each rank sends to rank + i and receives from rank - i.
    Pairwise = "pairwise" for ReduceScatter ReduceScatterBlock Alltoall Alltoallv;
    /// All-to-all on a power of two: in step `i` each rank swaps with rank xor i.
    PairwiseExchange = "pairwise-exchange" for Alltoall Alltoallv;
    /// All-to-all: a window of sends and receives is posted at once and waited for (MPICH's throttle).
    Scattered {
        /// How many.
        window: 0
    } = "scattered" for Alltoall Alltoallv;
    /// All-gather on a power of two: over distances p/2, ..., 2, 1, one message per block.
    Sparbit = "sparbit" for Allgather Allgatherv;
    /// All-gather, reduce-scatter, all-to-all on a power of two: a bine butterfly; blocks are reordered by copies.
    BinePermute = "bine-permute" for Allgather Allgatherv ReduceScatter ReduceScatterBlock Alltoall;
    /// All-gather, reduce-scatter on a power of two: a bine butterfly; ranks are renumbered by one exchange.
    BineSend = "bine-send" for Allgather Allgatherv ReduceScatter ReduceScatterBlock;
    /// All-gather on a power of two: a bine butterfly, one message per block.
    BineBlockByBlock = "bine-block-by-block" for Allgather Allgatherv;
    /// All-gather on a power of two: a bine butterfly over growing distances, in which blocks are at most two ranges.
    BineTwoBlocks = "bine-two-blocks" for Allgather Allgatherv;
    /// All-reduce on a power of two: whole vectors along a bine butterfly; broadcast, reduce, gather, scatter: a bine
    /// tree.
    BineLatency = "bine-latency" for Broadcast Allreduce Reduce Gather Scatter;
    /// All-reduce, broadcast, reduce on a power of two: two halves of reduce-scatter, scatter, gather and all-gather along
    /// bine butterflies and trees.
    BineBandwidth = "bine-bandwidth" for Broadcast Allreduce Reduce;
    /// All-reduce: `BineBandwidth` with segments in its reduce-scatter.
    BineSegmented {
        /// Maximum message size of the reduce-scatter, in bytes.
        segment: 0
    } = "bine-segmented" for Allreduce;
    /// Barrier, all-reduce: up a tree of network interfaces to rank 0 and down again, without the processors.
    Offload {
        /// Maximum number of children in the tree, at least 1.
        radix: 2
    } = "offload" for Barrier Allreduce;
    /// Barrier, all-reduce: each rank sends once, and the routers between the ranks sum.
    Switches = "switches" for Barrier Allreduce;
}

impl Algorithm {
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

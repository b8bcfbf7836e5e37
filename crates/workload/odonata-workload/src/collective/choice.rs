//! Algorithms of collectives, one choice per collective.

use super::Algorithm;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Sizes for explicitly chosen algorithms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, smart_default::SmartDefault)]
pub struct AlgorithmSizes {
    /// Segment size of a pipeline, in bytes.
    #[default(64 << 10)]
    pub segment: u32,
    /// Number of messages posted at once.
    #[default = 32]
    pub window: u32,
    /// Number of children in a tree of network interfaces.
    #[default = 32]
    pub radix: u32,
}

/// Declares the choices of a collective: the library's, and algorithms by their names with the sizes that they have.
macro_rules! choices {
    ($($(#[$doc:meta])* $name:ident {
        $($(#[$variant_doc:meta])* $variant:ident $({ $size:ident })?,)*
    })*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "kebab-case")]
        pub enum $name {
            /// The library's choice.
            #[default]
            Auto,
            $($(#[$variant_doc])* $variant,)*
        }

        impl $name {
            /// The algorithm, or `None` for the library's choice.
            pub fn algorithm(self, sizes: AlgorithmSizes) -> Option<Algorithm> {
                let algorithm = match self {
                    $name::Auto => return None,
                    $($name::$variant => Algorithm::$variant $({ $size: 0 })?,)*
                };
                Some(algorithm.sized(sizes))
            }
        }
    )*};
}

choices! {
    /// The algorithm of barriers.
    Barrier {
        /// In round k every rank signals rank + 2^k.
        Dissemination,
        /// Signals over distances 1, 2, 4, ...
        RecursiveDoubling,
        /// A signal travels a ring twice.
        DoubleRing,
        /// Up a binomial tree and down again.
        Tree,
        /// Up a tree of network interfaces and down again (`mpi.offload`).
        Offload { radix },
        /// In the routers between the ranks (`network.reduction`).
        Switches,
    }

    /// The algorithm of broadcasts.
    Broadcast {
        /// A binomial tree.
        Binomial,
        /// Binomial scatter, then all-gather by recursive doubling; like `auto` if the number of ranks is not a power
        /// of two.
        ScatterRecursiveDoubling,
        /// Binomial scatter, then all-gather around a ring.
        ScatterRing,
        /// From the root to all directly.
        Linear,
        /// In segments along a chain of all ranks.
        Chain { segment },
        /// In segments along a binary tree.
        Binary { segment },
        /// One half of the data in segments down each half of a binary tree, then pairs swap halves.
        SplitBinary { segment },
        /// In segments along a binomial tree, to all children at once.
        SegmentedBinomial { segment },
        /// Along a bine tree, to all children at once; like `auto` if the number of ranks is not a power of two.
        BineLatency,
        /// Scatter along a bine tree, then all-gather along a bine butterfly; like `auto` if the number of ranks is not
        /// a power of two.
        BineBandwidth,
    }

    /// The algorithm of reductions to one rank.
    Reduce {
        /// A binomial tree.
        Binomial,
        /// Halves, quarters, ... reduced, then gathered to the root (Rabenseifner).
        ReduceScatterGather,
        /// From all to the root directly.
        Linear,
        /// In segments along a chain of all ranks.
        Chain { segment },
        /// In segments along a binary tree.
        Binary { segment },
        /// In segments along a binomial tree.
        SegmentedBinomial { segment },
        /// Along a bine tree; like `auto` if the number of ranks is not a power of two.
        BineLatency,
        /// Reduce-scatter along a bine butterfly, then gather along a bine tree; like `auto` if the number of ranks is
        /// not a power of two.
        BineBandwidth,
    }

    /// The algorithm of all-reduces.
    Allreduce {
        /// Whole vectors over distances 1, 2, 4, ...
        RecursiveDoubling,
        /// Halves, quarters, ... reduced, then gathered back (Rabenseifner).
        ReduceScatterAllgather,
        /// One block per rank twice around a ring; like `auto` with fewer elements than ranks.
        Ring,
        /// Like `ring`, summed segment by segment.
        SegmentedRing { segment },
        /// Reduce to rank 0 and broadcast, along binomial trees.
        ReduceBroadcast,
        /// Whole vectors along a bine butterfly; like `auto` if the number of ranks is not a power of two.
        BineLatency,
        /// Reduce-scatter and all-gather along bine butterflies; like `auto` if the number of ranks is not a power of
        /// two.
        BineBandwidth,
        /// Like `bine-bandwidth`, with segments in the reduce-scatter.
        BineSegmented { segment },
        /// Up a tree of network interfaces and down again (`mpi.offload`).
        Offload { radix },
        /// In the routers between the ranks (`network.reduction`).
        Switches,
    }

    /// The algorithm of gathers.
    Gather {
        /// A binomial tree.
        Binomial,
        /// From all to the root directly, one after the other.
        Linear,
        /// The root requests a first segment and the rest from one rank after the other.
        LinearSync { segment },
        /// Along a bine tree; like `auto` if the number of ranks is not a power of two.
        BineLatency,
    }

    /// The algorithm of scatters.
    Scatter {
        /// A binomial tree.
        Binomial,
        /// From the root to all directly, one after the other.
        Linear,
        /// Along a bine tree; like `auto` if the number of ranks is not a power of two.
        BineLatency,
    }

    /// The algorithm of all-gathers.
    Allgather {
        /// Over distances 1, 2, 4, ...; like `auto` if the number of ranks is not a power of two.
        RecursiveDoubling,
        /// Each round doubles the blocks, from the following ranks.
        Bruck,
        /// Block by block around a ring.
        Ring,
        /// Neighbors swap two blocks at a time; like `auto` for an odd number of ranks.
        NeighborExchange,
        /// All messages posted at once.
        Linear,
        /// Over distances p/2, ..., 2, 1, one message per block; like `auto` if the number of ranks is not a power of
        /// two.
        Sparbit,
        /// A bine butterfly, blocks reordered by copies; like `auto` if the number of ranks is not a power of two.
        BinePermute,
        /// A bine butterfly, ranks renumbered by one exchange; like `auto` if the number of ranks is not a power of
        /// two.
        BineSend,
        /// A bine butterfly, one message per block; like `auto` if the number of ranks is not a power of two.
        BineBlockByBlock,
        /// A bine butterfly over growing distances, one or two messages per step; like `auto` if the number of ranks is
        /// not a power of two.
        BineTwoBlocks,
    }

    /// The algorithm of reduce-scatters.
    ReduceScatter {
        /// Halves, quarters, ... are exchanged and reduced.
        RecursiveHalving,
        /// Every rank sends each other rank its block, one after the other.
        Pairwise,
        /// Block by block around a ring.
        Ring,
        /// All blocks still needed over distances 1, 2, 4, ...; like `auto` if the number of ranks is not a power of
        /// two.
        RecursiveDoubling,
        /// Reduce to rank 0, then scatter.
        ReduceThenScatter,
        /// A bine butterfly, blocks reordered by copies; like `auto` if the number of ranks is not a power of two.
        BinePermute,
        /// A bine butterfly, then each block goes to its rank; like `auto` if the number of ranks is not a power of
        /// two.
        BineSend,
    }

    /// The algorithm of scans, inclusive and exclusive.
    Scan {
        /// Whole vectors over distances 1, 2, 4, ...
        RecursiveDoubling,
        /// From one rank to the next.
        Linear,
    }

    /// The algorithm of all-to-alls of equal blocks.
    Alltoall {
        /// Blocks move by the powers of two in their distance.
        Bruck,
        /// To rank + i and from rank - i, one i after the other.
        Pairwise,
        /// With rank xor i, one i after the other; like `auto` if the number of ranks is not a power of two.
        PairwiseExchange,
        /// All messages posted at once.
        Linear,
        /// `window` sends and receives posted at once and waited for.
        Scattered { window },
        /// A bine butterfly, half of the blocks per step, reordered by copies; like `auto` if the number of ranks is
        /// not a power of two.
        BinePermute,
    }

    /// The algorithm of all-to-alls of listed sizes.
    Alltoallv {
        /// To rank + i and from rank - i, one i after the other.
        Pairwise,
        /// With rank xor i, one i after the other; like `auto` if the number of ranks is not a power of two.
        PairwiseExchange,
        /// All messages posted at once.
        Linear,
        /// `window` sends and receives posted at once and waited for.
        Scattered { window },
    }
}

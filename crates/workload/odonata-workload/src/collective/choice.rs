//! Algorithms of collectives, one choice per collective.

use super::Algorithm;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Sizes for explicitly chosen algorithms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AlgorithmSizes {
    /// Segment size of a pipeline, in bytes.
    pub segment: u32,
    /// Number of messages posted at once.
    pub window: u32,
    /// Number of children in a tree of network interfaces.
    pub radix: u32,
}

impl Default for AlgorithmSizes {
    fn default() -> Self {
        AlgorithmSizes {
            segment: 64 << 10,
            window: 32,
            radix: 32,
        }
    }
}

/// The algorithm of barriers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Barrier {
    /// The library's choice.
    #[default]
    Auto,
    /// In round k every rank signals rank + 2^k.
    Dissemination,
    /// Signals over distances 1, 2, 4, ...
    RecursiveDoubling,
    /// A signal travels a ring twice.
    DoubleRing,
    /// Up a binomial tree and down again.
    Tree,
    /// Up a tree of network interfaces and down again (`mpi.offload`).
    Offload,
}

impl Barrier {
    /// The algorithm, or `None` for the library's choice.
    pub fn algorithm(self, AlgorithmSizes { radix, .. }: AlgorithmSizes) -> Option<Algorithm> {
        match self {
            Barrier::Auto => None,
            Barrier::Dissemination => Some(Algorithm::Dissemination),
            Barrier::RecursiveDoubling => Some(Algorithm::RecursiveDoubling),
            Barrier::DoubleRing => Some(Algorithm::DoubleRing),
            Barrier::Tree => Some(Algorithm::Tree),
            Barrier::Offload => Some(Algorithm::Offload { radix }),
        }
    }
}

/// The algorithm of broadcasts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Broadcast {
    /// The library's choice.
    #[default]
    Auto,
    /// A binomial tree.
    Binomial,
    /// Binomial scatter, then all-gather by recursive doubling; like `auto` if the number of ranks is not a power of
    /// two.
    ScatterRecursiveDoubling,
    /// Binomial scatter, then all-gather around a ring.
    ScatterRing,
    /// From the root to all directly.
    Linear,
    /// In segments along a chain of all ranks.
    Chain,
    /// In segments along a binary tree.
    Binary,
    /// One half of the data in segments down each half of a binary tree, then pairs swap halves.
    SplitBinary,
    /// In segments along a binomial tree, to all children at once.
    SegmentedBinomial,
    /// Along a bine tree, to all children at once; like `auto` if the number of ranks is not a power of two.
    BineLatency,
    /// Scatter along a bine tree, then all-gather along a bine butterfly; like `auto` if the number of ranks is not a
    /// power of two.
    BineBandwidth,
}

impl Broadcast {
    /// The algorithm, or `None` for the library's choice.
    pub fn algorithm(self, AlgorithmSizes { segment, .. }: AlgorithmSizes) -> Option<Algorithm> {
        match self {
            Broadcast::Auto => None,
            Broadcast::Binomial => Some(Algorithm::Binomial),
            Broadcast::ScatterRecursiveDoubling => Some(Algorithm::ScatterRecursiveDoubling),
            Broadcast::ScatterRing => Some(Algorithm::ScatterRing),
            Broadcast::Linear => Some(Algorithm::Linear),
            Broadcast::Chain => Some(Algorithm::Chain { segment }),
            Broadcast::Binary => Some(Algorithm::Binary { segment }),
            Broadcast::SplitBinary => Some(Algorithm::SplitBinary { segment }),
            Broadcast::SegmentedBinomial => Some(Algorithm::SegmentedBinomial { segment }),
            Broadcast::BineLatency => Some(Algorithm::BineLatency),
            Broadcast::BineBandwidth => Some(Algorithm::BineBandwidth),
        }
    }
}

/// The algorithm of reductions to one rank.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Reduce {
    /// The library's choice.
    #[default]
    Auto,
    /// A binomial tree.
    Binomial,
    /// Halves, quarters, ... reduced, then gathered to the root (Rabenseifner).
    ReduceScatterGather,
    /// From all to the root directly.
    Linear,
    /// In segments along a chain of all ranks.
    Chain,
    /// In segments along a binary tree.
    Binary,
    /// In segments along a binomial tree.
    SegmentedBinomial,
    /// Along a bine tree; like `auto` if the number of ranks is not a power of two.
    BineLatency,
    /// Reduce-scatter along a bine butterfly, then gather along a bine tree; like `auto` if the number of ranks is not a
    /// power of two.
    BineBandwidth,
}

impl Reduce {
    /// The algorithm, or `None` for the library's choice.
    pub fn algorithm(self, AlgorithmSizes { segment, .. }: AlgorithmSizes) -> Option<Algorithm> {
        match self {
            Reduce::Auto => None,
            Reduce::Binomial => Some(Algorithm::Binomial),
            Reduce::ReduceScatterGather => Some(Algorithm::ReduceScatterGather),
            Reduce::Linear => Some(Algorithm::Linear),
            Reduce::Chain => Some(Algorithm::Chain { segment }),
            Reduce::Binary => Some(Algorithm::Binary { segment }),
            Reduce::SegmentedBinomial => Some(Algorithm::SegmentedBinomial { segment }),
            Reduce::BineLatency => Some(Algorithm::BineLatency),
            Reduce::BineBandwidth => Some(Algorithm::BineBandwidth),
        }
    }
}

/// The algorithm of all-reduces.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Allreduce {
    /// The library's choice.
    #[default]
    Auto,
    /// Whole vectors over distances 1, 2, 4, ...
    RecursiveDoubling,
    /// Halves, quarters, ... reduced, then gathered back (Rabenseifner).
    ReduceScatterAllgather,
    /// One block per rank twice around a ring; like `auto` with fewer elements than ranks.
    Ring,
    /// Like `ring`, summed segment by segment.
    SegmentedRing,
    /// Reduce to rank 0 and broadcast, along binomial trees.
    ReduceBroadcast,
    /// Whole vectors along a bine butterfly; like `auto` if the number of ranks is not a power of two.
    BineLatency,
    /// Reduce-scatter and all-gather along bine butterflies; like `auto` if the number of ranks is not a power of two.
    BineBandwidth,
    /// Like `bine-bandwidth`, with segments in the reduce-scatter.
    BineSegmented,
    /// Up a tree of network interfaces and down again (`mpi.offload`).
    Offload,
}

impl Allreduce {
    /// The algorithm, or `None` for the library's choice.
    pub fn algorithm(self, AlgorithmSizes { segment, radix, .. }: AlgorithmSizes) -> Option<Algorithm> {
        match self {
            Allreduce::Auto => None,
            Allreduce::RecursiveDoubling => Some(Algorithm::RecursiveDoubling),
            Allreduce::ReduceScatterAllgather => Some(Algorithm::ReduceScatterAllgather),
            Allreduce::Ring => Some(Algorithm::Ring),
            Allreduce::SegmentedRing => Some(Algorithm::SegmentedRing { segment }),
            Allreduce::ReduceBroadcast => Some(Algorithm::ReduceBroadcast),
            Allreduce::BineLatency => Some(Algorithm::BineLatency),
            Allreduce::BineBandwidth => Some(Algorithm::BineBandwidth),
            Allreduce::BineSegmented => Some(Algorithm::BineSegmented { segment }),
            Allreduce::Offload => Some(Algorithm::Offload { radix }),
        }
    }
}

/// The algorithm of gathers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Gather {
    /// The library's choice.
    #[default]
    Auto,
    /// A binomial tree.
    Binomial,
    /// From all to the root directly, one after the other.
    Linear,
    /// The root requests a first segment and the rest from one rank after the other.
    LinearSync,
    /// Along a bine tree; like `auto` if the number of ranks is not a power of two.
    BineLatency,
}

impl Gather {
    /// The algorithm, or `None` for the library's choice.
    pub fn algorithm(self, AlgorithmSizes { segment, .. }: AlgorithmSizes) -> Option<Algorithm> {
        match self {
            Gather::Auto => None,
            Gather::Binomial => Some(Algorithm::Binomial),
            Gather::Linear => Some(Algorithm::Linear),
            Gather::LinearSync => Some(Algorithm::LinearSync { segment }),
            Gather::BineLatency => Some(Algorithm::BineLatency),
        }
    }
}

/// The algorithm of scatters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Scatter {
    /// The library's choice.
    #[default]
    Auto,
    /// A binomial tree.
    Binomial,
    /// From the root to all directly, one after the other.
    Linear,
    /// Along a bine tree; like `auto` if the number of ranks is not a power of two.
    BineLatency,
}

impl Scatter {
    /// The algorithm, or `None` for the library's choice.
    pub fn algorithm(self, _: AlgorithmSizes) -> Option<Algorithm> {
        match self {
            Scatter::Auto => None,
            Scatter::Binomial => Some(Algorithm::Binomial),
            Scatter::Linear => Some(Algorithm::Linear),
            Scatter::BineLatency => Some(Algorithm::BineLatency),
        }
    }
}

/// The algorithm of all-gathers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Allgather {
    /// The library's choice.
    #[default]
    Auto,
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
    /// Over distances p/2, ..., 2, 1, one message per block; like `auto` if the number of ranks is not a power of two.
    Sparbit,
    /// A bine butterfly, blocks reordered by copies; like `auto` if the number of ranks is not a power of two.
    BinePermute,
    /// A bine butterfly, ranks renumbered by one exchange; like `auto` if the number of ranks is not a power of two.
    BineSend,
    /// A bine butterfly, one message per block; like `auto` if the number of ranks is not a power of two.
    BineBlockByBlock,
    /// A bine butterfly over growing distances, one or two messages per step; like `auto` if the number of ranks is not a
    /// power of two.
    BineTwoBlocks,
}

impl Allgather {
    /// The algorithm, or `None` for the library's choice.
    pub fn algorithm(self, _: AlgorithmSizes) -> Option<Algorithm> {
        match self {
            Allgather::Auto => None,
            Allgather::RecursiveDoubling => Some(Algorithm::RecursiveDoubling),
            Allgather::Bruck => Some(Algorithm::Bruck),
            Allgather::Ring => Some(Algorithm::Ring),
            Allgather::NeighborExchange => Some(Algorithm::NeighborExchange),
            Allgather::Linear => Some(Algorithm::Linear),
            Allgather::Sparbit => Some(Algorithm::Sparbit),
            Allgather::BinePermute => Some(Algorithm::BinePermute),
            Allgather::BineSend => Some(Algorithm::BineSend),
            Allgather::BineBlockByBlock => Some(Algorithm::BineBlockByBlock),
            Allgather::BineTwoBlocks => Some(Algorithm::BineTwoBlocks),
        }
    }
}

/// The algorithm of reduce-scatters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ReduceScatter {
    /// The library's choice.
    #[default]
    Auto,
    /// Halves, quarters, ... are exchanged and reduced.
    RecursiveHalving,
    /// Every rank sends each other rank its block, one after the other.
    Pairwise,
    /// Block by block around a ring.
    Ring,
    /// All blocks still needed over distances 1, 2, 4, ...; like `auto` if the number of ranks is not a power of two.
    RecursiveDoubling,
    /// Reduce to rank 0, then scatter.
    ReduceThenScatter,
    /// A bine butterfly, blocks reordered by copies; like `auto` if the number of ranks is not a power of two.
    BinePermute,
    /// A bine butterfly, then each block goes to its rank; like `auto` if the number of ranks is not a power of two.
    BineSend,
}

impl ReduceScatter {
    /// The algorithm, or `None` for the library's choice.
    pub fn algorithm(self, _: AlgorithmSizes) -> Option<Algorithm> {
        match self {
            ReduceScatter::Auto => None,
            ReduceScatter::RecursiveHalving => Some(Algorithm::RecursiveHalving),
            ReduceScatter::Pairwise => Some(Algorithm::Pairwise),
            ReduceScatter::Ring => Some(Algorithm::Ring),
            ReduceScatter::RecursiveDoubling => Some(Algorithm::RecursiveDoubling),
            ReduceScatter::ReduceThenScatter => Some(Algorithm::ReduceThenScatter),
            ReduceScatter::BinePermute => Some(Algorithm::BinePermute),
            ReduceScatter::BineSend => Some(Algorithm::BineSend),
        }
    }
}

/// The algorithm of scans, inclusive and exclusive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Scan {
    /// The library's choice.
    #[default]
    Auto,
    /// Whole vectors over distances 1, 2, 4, ...
    RecursiveDoubling,
    /// From one rank to the next.
    Linear,
}

impl Scan {
    /// The algorithm, or `None` for the library's choice.
    pub fn algorithm(self, _: AlgorithmSizes) -> Option<Algorithm> {
        match self {
            Scan::Auto => None,
            Scan::RecursiveDoubling => Some(Algorithm::RecursiveDoubling),
            Scan::Linear => Some(Algorithm::Linear),
        }
    }
}

/// The algorithm of all-to-alls of equal blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Alltoall {
    /// The library's choice.
    #[default]
    Auto,
    /// Blocks move by the powers of two in their distance.
    Bruck,
    /// To rank + i and from rank - i, one i after the other.
    Pairwise,
    /// With rank xor i, one i after the other; like `auto` if the number of ranks is not a power of two.
    PairwiseExchange,
    /// All messages posted at once.
    Linear,
    /// `window` sends and receives posted at once and waited for.
    Scattered,
    /// A bine butterfly, half of the blocks per step, reordered by copies; like `auto` if the number of ranks is not a
    /// power of two.
    BinePermute,
}

impl Alltoall {
    /// The algorithm, or `None` for the library's choice.
    pub fn algorithm(self, AlgorithmSizes { window, .. }: AlgorithmSizes) -> Option<Algorithm> {
        match self {
            Alltoall::Auto => None,
            Alltoall::Bruck => Some(Algorithm::Bruck),
            Alltoall::Pairwise => Some(Algorithm::Pairwise),
            Alltoall::PairwiseExchange => Some(Algorithm::PairwiseExchange),
            Alltoall::Linear => Some(Algorithm::Linear),
            Alltoall::Scattered => Some(Algorithm::Scattered { window }),
            Alltoall::BinePermute => Some(Algorithm::BinePermute),
        }
    }
}

/// The algorithm of all-to-alls of listed sizes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Alltoallv {
    /// The library's choice.
    #[default]
    Auto,
    /// To rank + i and from rank - i, one i after the other.
    Pairwise,
    /// With rank xor i, one i after the other; like `auto` if the number of ranks is not a power of two.
    PairwiseExchange,
    /// All messages posted at once.
    Linear,
    /// `window` sends and receives posted at once and waited for.
    Scattered,
}

impl Alltoallv {
    /// The algorithm, or `None` for the library's choice.
    pub fn algorithm(self, AlgorithmSizes { window, .. }: AlgorithmSizes) -> Option<Algorithm> {
        match self {
            Alltoallv::Auto => None,
            Alltoallv::Pairwise => Some(Algorithm::Pairwise),
            Alltoallv::PairwiseExchange => Some(Algorithm::PairwiseExchange),
            Alltoallv::Linear => Some(Algorithm::Linear),
            Alltoallv::Scattered => Some(Algorithm::Scattered { window }),
        }
    }
}

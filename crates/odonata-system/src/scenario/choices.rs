//! The named choices of a scenario; the same in its written and its resolved form.

pub(crate) mod algorithm;
mod collectives;
mod routing;

pub use algorithm::Algorithm;
pub use collectives::{
    AlgorithmSizes, Allgather, Allreduce, Alltoall, Alltoallv, Barrier, Broadcast, Gather, Library, Reduce,
    ReduceScatter, Scan, Scatter,
};
pub use routing::{ClassVcs, DeadlockCheck, Divert, Knowledge, Up, VcRule, Vcs, Via};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How the global ports of a dragonfly's groups are assigned to the other groups.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Arrangement {
    /// By the other group's number (Hastings et al., CLUSTER 2015).
    Absolute,
    /// By the distance: global port `k = h i + p` of group `g` leads to group `(g + k + 1) mod G`. The rule of
    /// the MFNetSim runs.
    #[default]
    Relative,
    /// By the distance in turns: one group forward, one back, two forward, two back, and so on (Hastings et al.).
    Circulant,
}

/// How a packet crosses a router.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Switching {
    /// Virtual cut-through: the head moves on once a whole packet's credit is there.
    #[default]
    CutThrough,
    /// The packet moves on when all of it has come in.
    StoreAndForward,
    /// Every flit moves on when there is room for it; its packet keeps the virtual channel until its tail has gone.
    /// Pipelined routers only.
    Wormhole,
}

/// Which packets of an input buffer compete for outputs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum InputQueues {
    /// Virtual output queues: every packet waits for its own output only.
    #[default]
    VirtualOutput,
    /// First in, first out: only the head competes and blocks those behind it.
    Fifo,
}

/// Where packets wait inside a router.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RouterModel {
    /// In the buffer of their input port and virtual channel, see `input_queues`.
    #[default]
    InputQueued,
    /// In a queue per output port and virtual channel, routed on arrival: the router of CODES.
    OutputQueued,
    /// Flit by flit and cycle by cycle through virtual-channel and switch allocation, see `network.pipeline`: the router
    /// of cycle-accurate simulators. Needs `network.clock`; waits are not charged to jobs (`run.blame`).
    Pipelined,
}

impl RouterModel {
    /// Its name in a scenario.
    pub fn name(self) -> &'static str {
        match self {
            RouterModel::InputQueued => "input-queued",
            RouterModel::OutputQueued => "output-queued",
            RouterModel::Pipelined => "pipelined",
        }
    }
}

/// Which of several ports with room an adaptive packet takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Selection {
    /// The one with the least load.
    #[default]
    Lightest,
    /// A random one.
    Random,
}

/// Congestion control between the ends of the network.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CongestionKind {
    /// None: there are the credits between routers.
    #[default]
    None,
    /// Ports mark the packets behind which much waits. The source of a marked packet reduces its rate to that node, and recovers
    /// over time (as in InfiniBand and DCQCN).
    Ecn,
    /// The router in front of a node that is sent too much finds a rate for those who send to it, and only these are slowed down
    /// (after Slingshot).
    PerFlow,
}

/// How the loads of a minimal and of another path, m and o, are compared; b is `bias`, T `threshold`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Comparison {
    /// The packet leaves its minimal path if m > T and m > b o.
    #[default]
    Both,
    /// The packet leaves its minimal path if m > b o + T.
    Sum,
}

/// When the MPI library of a rank does what the protocol asks of it: answers a message that wants to be sent, sends
/// it when it is wanted, goes on with a non-blocking collective.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Progress {
    /// At once: a thread of its own, or the network interface, does it.
    #[default]
    Asynchronous,
    /// While the rank is inside an MPI call, or when it enters the next one.
    InCalls,
}

/// Which nodes of a group are storage servers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Position {
    /// The first ones; server `s` of the group is its node `s`.
    #[default]
    First,
    /// The last ones, counted from the end: server 0 of the group is its last node.
    Last,
}

/// Which server the ranks on a compute node use.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Assignment {
    /// One of the node's own group; the compute nodes of a group are shared evenly among its servers, in order.
    /// A group without servers uses those of the next group that has some.
    #[default]
    Nearest,
    /// A random one for every compute node, drawn from the seed.
    Random,
    /// Compute node `c` (counted over the machine, servers left out) uses server `c mod servers`.
    RoundRobin,
    /// A server number for every compute node of the machine (counted with servers left out), in order.
    List(Vec<u32>),
}

/// How the times between the messages of a rank are distributed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Arrival {
    /// All the same.
    Fixed,
    /// Exponential: messages arrive as a Poisson process.
    #[default]
    Exponential,
    /// In every cycle of length `period` with the same probability, at the cycle's start (a Bernoulli process, as in BookSim).
    Bernoulli,
    /// The same, but only while a Markov chain is on; see `alpha` (the on/off process of BookSim).
    OnOff,
}

/// Where the ranks write in a checkpoint file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CheckpointOffset {
    /// Rank `r` at `r` times the bytes of a rank: the parts lie side by side.
    #[default]
    ByRank,
    /// Everybody at offset 0, as the MFNetSim runs ask of their storage.
    Zero,
}

/// Which way the data of a CosmoFlow step go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CosmoflowIo {
    /// Samples are read, as the MFNetSim paper says.
    #[default]
    Read,
    /// They are written, as the MFNetSim runs do.
    Write,
}

/// Which ranks of a grid are neighbours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Reach {
    /// Those across a face: up to 2 per dimension.
    #[default]
    Faces,
    /// Those across a face, an edge or a corner: up to 26 in three dimensions.
    Box,
}

/// Where a rank at a router with coordinates c of a grid with extents k sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum GridStep {
    /// To c + 1 (modulo k) in every dimension.
    Neighbour,
    /// To c + k / 2, rounded down (modulo k), in every dimension: the far end of the diagonal, across the bisection.
    Diagonal,
    /// To c + k / 2, rounded up, - 1 (modulo k) in every dimension.
    Tornado,
    /// To c + 1 (modulo k) in the first dimension that is longer than 1, nowhere else.
    Next,
    /// Coordinates in reverse order, (x, y) to (y, x).
    Transpose,
    /// Coordinates complemented and in reverse order, (x, y) to (k - 1 - y, k - 1 - x): DCR of the HyperX.
    ComplementReverse,
}

/// Which neighbour gets the next message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Turn {
    /// Each with equal probability.
    #[default]
    Random,
    /// One after the other.
    InOrder,
}

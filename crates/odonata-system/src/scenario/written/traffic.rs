//! Synthetic traffic as it is written.

use odonata_units::{Bytes, Time};
use schemars::JsonSchema;

use crate::scenario::choices::{Arrival, GridStep, Reach, Turn};

/// The keys that all synthetic workloads share.
#[derive(Clone, Debug, Default)]
pub struct Traffic {
    /// What each rank offers, as a fraction of the terminal link's bandwidth.
    pub load: Option<f64>,
    /// Mean time between the messages of a rank.
    pub mean_interval: Option<Time>,
    /// Size of a message.
    pub bytes: Option<Bytes>,
    /// How the times between the messages of a rank are distributed.
    pub arrival: Arrival,
    /// Messages that each rank sends.
    pub messages: Option<u64>,
    /// When no message starts any more.
    pub stop: Option<Time>,
    /// Length of a burst.
    pub on: Option<Time>,
    /// Silence between bursts.
    pub off: Option<Time>,
    /// Length of a cycle.
    pub period: Option<Time>,
    /// On/off: from off to on.
    pub alpha: Option<f64>,
    /// On/off: from on to off.
    pub beta: Option<f64>,
    /// On/off: a message in a cycle that is on.
    pub r1: Option<f64>,
    /// Whether ranks send to themselves.
    pub itself: bool,
}

macro_rules! synthetic {
    ($(#[$doc:meta])* $name:ident { $($(#[$field_doc:meta])* $field:ident: $type:ty,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Debug, Default, serde::Deserialize, JsonSchema)]
        #[serde(default, deny_unknown_fields)]
        pub struct $name {
            $($(#[$field_doc])* pub $field: $type,)*
            /// What each rank offers, as a fraction of the terminal link's bandwidth: above 0, at most 1. With one rank
            /// per node and a terminal link of "1 flit/cycle" it is flits per node and cycle. This or `mean_interval`
            /// is required.
            #[schemars(range(min = 0, max = 1))]
            pub load: Option<f64>,
            /// Mean time between the messages of a rank, e.g. "500 us"; required instead of `load`.
            pub mean_interval: Option<Time>,
            /// Size of a message. Default: one packet.
            pub bytes: Option<Bytes>,
            /// How the times between the messages of a rank are distributed.
            pub arrival: Arrival,
            /// Messages that each rank sends. This, `stop`, the job's `until` or the run's `time_limit` is required.
            #[schemars(range(min = 1))]
            pub messages: Option<u64>,
            /// Simulated time at and after which no message starts. Default: the run's `time_limit`; none with `until`.
            pub stop: Option<Time>,
            /// Length of a burst, e.g. "50 us"; together with `off`. Bursts begin with the job, on all ranks at once;
            /// rates are those within a burst. Default: never silent.
            pub on: Option<Time>,
            /// Silence between bursts, e.g. "200 us"; together with `on`. Default: never silent.
            pub off: Option<Time>,
            /// Length of a cycle, e.g. "1 ns"; with `arrival` "bernoulli" or "on-off". Default: `network.clock`.
            pub period: Option<Time>,
            /// With `arrival` "on-off": the probability per cycle that the source goes from off to on; above 0, at most 1.
            /// Two of `alpha`, `beta` and `r1` are required; the third follows from the rate, which is
            /// r1 alpha / (alpha + beta) messages per cycle.
            #[schemars(range(min = 0, max = 1))]
            pub alpha: Option<f64>,
            /// With `arrival` "on-off": the probability per cycle that the source goes from on to off; 0 to 1.
            /// Required where one of the other two is missing.
            #[schemars(range(min = 0, max = 1))]
            pub beta: Option<f64>,
            /// With `arrival` "on-off": the probability of a message in a cycle that is on; above 0, at most 1.
            /// Required where one of the other two is missing.
            #[schemars(range(min = 0, max = 1))]
            pub r1: Option<f64>,
            /// Whether ranks send to themselves too where the pattern says so, and ranks of one node to each other, through
            /// their router: as in BookSim. Default: false (such messages go through the node's memory, if there are any).
            #[serde(rename = "self")]
            pub itself: Option<bool>,
        }

        impl $name {
            /// The keys that it shares with other patterns.
            pub fn traffic(&self) -> Traffic {
                let $name { load, mean_interval, bytes, arrival, messages, stop, on, off, period, alpha, beta, r1, .. } = *self;
                let itself = self.itself.unwrap_or(false);
                Traffic { load, mean_interval, bytes, arrival, messages, stop, on, off, period, alpha, beta, r1, itself }
            }
        }
    };
}

synthetic! {
    /// Synthetic traffic to all other ranks alike; sources do not wait for the network.
    Uniform {}
}

synthetic! {
    /// Synthetic traffic to all ranks of the next group of ranks; the last sends to the first. Sources do not wait for
    /// the network.
    NextGroup {
        /// Consecutive ranks that make a group. Default: as many as a group of the machine has room for (with the
        /// job's ranks_per_node, storage servers left out).
        ranks_per_group: Option<u32>,
    }
}

synthetic! {
    /// Synthetic traffic of each rank to one other, all different; sources do not wait for the network.
    Permutation {
        /// The target of each rank. Default: drawn from the seed, uniformly from the cyclic permutations, or from all
        /// where ranks may send to themselves.
        targets: Option<Vec<u32>>,
        /// The seed that they are drawn from, 0 to 2^63 - 1. Default: that of the scenario, different for every job.
        seed: Option<u64>,
    }
}

synthetic! {
    /// Synthetic traffic to the neighbours on a grid of ranks; sources do not wait for the network.
    Neighbours {
        /// Ranks along each dimension (1 to 4 of them), the first fastest; their product is `ranks`. Default: a balanced
        /// grid of `dimensions` dimensions.
        dims: Option<Vec<u32>>,
        /// Dimensions of the balanced grid, 1 to 4; without effect where `dims` is given. Default: 3.
        dimensions: Option<u32>,
        /// Whether the grid is a torus; if not, ranks at its border have fewer neighbours. Default: true.
        wrap: Option<bool>,
        /// Which ranks are neighbours.
        reach: Reach,
        /// Which of them gets the next message.
        turn: Turn,
    }
}

synthetic! {
    /// Synthetic traffic with hot spots: a share of it goes to the targets alike, the rest to all other ranks alike.
    /// Sources do not wait for the network.
    HotSpot {
        /// The hot ranks. Default: [0].
        targets: Option<Vec<u32>>,
        /// The probability with which a message goes to one of them: above 0, at most 1. Required.
        #[schemars(range(min = 0, max = 1))]
        share: Option<f64>,
    }
}

synthetic! {
    /// Synthetic traffic of all other ranks to the targets, which send nothing; sources do not wait for the network.
    Incast {
        /// The targets. Default: [0].
        targets: Option<Vec<u32>>,
    }
}

synthetic! {
    /// Synthetic traffic of each rank to all others in turn, from the next one on; sources do not wait for the network.
    AllToAll {}
}

synthetic! {
    /// Synthetic traffic from coordinate c to c + ceil(k / 2) - 1 modulo k in every dimension, of extent k, of a grid.
    /// Sources do not wait for the network.
    Tornado {
        /// Ranks along each dimension (1 to 4 of them), the first fastest; their product is `ranks`. Default: a ring.
        dims: Option<Vec<u32>>,
    }
}

synthetic! {
    /// Synthetic traffic from row i, column j of a square of ranks to row j, column i; the diagonal sends nothing. Needs a
    /// square number of ranks. Sources do not wait for the network.
    Transpose {}
}

synthetic! {
    /// Synthetic traffic to the rank with all bits inverted. Needs a power of two of ranks. Sources do not wait for the
    /// network.
    BitComplement {}
}

synthetic! {
    /// Synthetic traffic to the rank with the bits in reverse order; ranks that read the same both ways send nothing.
    /// Needs a power of two of ranks. Sources do not wait for the network.
    BitReverse {}
}

synthetic! {
    /// Synthetic traffic to the rank with the bits rotated left by one; the first and the last rank send nothing. Needs a
    /// power of two of ranks. Sources do not wait for the network.
    Shuffle {}
}

synthetic! {
    /// Synthetic traffic to the rank with the bits rotated right by one; the first and the last rank send nothing. Needs a
    /// power of two of ranks. Sources do not wait for the network.
    BitRotation {}
}

synthetic! {
    /// Synthetic traffic from rank s of n to rank s mod n/2 and to that plus n/2, alike; to the one of them that is not the
    /// rank itself unless `self` is set. Needs an even number of ranks. Sources do not wait for the network.
    Asymmetric {}
}

synthetic! {
    /// Synthetic traffic from rank s to rank s + by, around the end; sources do not wait for the network.
    Shift {
        /// How far; no multiple of the ranks. Required.
        by: Option<u32>,
    }
}

synthetic! {
    /// Synthetic traffic of each rank to the rank of the same place at another router of a grid; sources do not wait for
    /// the network.
    Grid {
        /// Where to. Required.
        step: Option<GridStep>,
        /// Routers along each dimension (1 to 4 of them), the first fastest; with `ranks_per_router`, their product is
        /// `ranks`. Default: a square.
        dims: Option<Vec<u32>>,
        /// Consecutive ranks of a router. Default: 1.
        ranks_per_router: Option<u32>,
    }
}

synthetic! {
    /// Synthetic traffic that is worst for minimal routing on this machine, on a job that fills it in order (`placement` is
    /// "contiguous"); of any other job `odonata check` warns. A dragonfly: to the next group. Sources do not wait for the
    /// network.
    WorstCase {}
}

//! Synthetic traffic.

use odonata_units::{Bytes, Time};
use serde::Serialize;

use crate::scenario::choices::{Arrival, GridStep, Reach, Turn};

/// Open-loop synthetic traffic: every rank sends whether or not the network keeps up.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Synthetic {
    /// Where messages go.
    pub pattern: Pattern,
    /// Whether the pattern was asked for as the worst case of the machine.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub worst_case: bool,
    /// Size of a message.
    pub bytes: Bytes,
    /// Mean time between the messages of a rank; positive.
    pub mean_interval: Time,
    /// How these times are distributed.
    pub arrival: Arrival,
    /// Length of a cycle, with arrivals at the starts of cycles.
    pub period: Option<Time>,
    /// What is set of a Markov chain, with arrivals while it is on.
    pub on_off: Option<OnOff>,
    /// Bursts; `None`: never silent.
    pub bursts: Option<Bursts>,
    /// Whether ranks send to themselves, and within their node, through the router.
    #[serde(rename = "self")]
    pub itself: bool,
    /// Messages per rank; `None`: until something else ends it.
    pub messages: Option<u64>,
    /// No message starts at or after this simulated time; `None`: until something else ends it.
    pub stop: Option<Time>,
}

/// Probabilities per cycle of a source that is modulated by a Markov chain, two of three.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct OnOff {
    /// From off to on.
    pub alpha: Option<f64>,
    /// From on to off.
    pub beta: Option<f64>,
    /// Of a message while it is on.
    pub r1: Option<f64>,
}

/// Bursts of synthetic traffic, from the start of the job on.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Bursts {
    /// Length of a burst; positive.
    pub on: Time,
    /// Silence between bursts; positive.
    pub off: Time,
}

/// Where synthetic messages go.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pattern {
    /// To all other ranks alike.
    Uniform,
    /// To all ranks of the next group alike.
    NextGroup {
        /// Consecutive ranks that make a group.
        ranks_per_group: u32,
    },
    /// Each rank to one other.
    Permutation {
        /// The target of each rank.
        targets: Vec<u32>,
    },
    /// To the neighbours on a grid.
    Neighbours {
        /// Ranks along each dimension; `None`: balanced.
        dims: Option<Vec<u32>>,
        /// Dimensions of the balanced grid.
        dimensions: u32,
        /// Whether the grid is a torus.
        wrap: bool,
        /// Which ranks are neighbours.
        reach: Reach,
        /// Which of them gets the next message.
        turn: Turn,
    },
    /// A share of the traffic to the hot ranks, the rest to all others alike.
    HotSpot {
        /// The hot ranks.
        targets: Vec<u32>,
        /// The share.
        share: f64,
    },
    /// All others to the targets.
    Incast {
        /// The targets.
        targets: Vec<u32>,
    },
    /// To all others in turn.
    AllToAll,
    /// Nearly half-way around every dimension of a grid.
    Tornado {
        /// Ranks along each dimension; `None`: a ring.
        dims: Option<Vec<u32>>,
    },
    /// Rows and columns of a square swapped.
    Transpose,
    /// All bits inverted.
    BitComplement,
    /// Bits in reverse order.
    BitReverse,
    /// Bits rotated left by one.
    Shuffle,
    /// Bits rotated right by one.
    BitRotation,
    /// To the same place in either half.
    Asymmetric,
    /// To the rank so many further on.
    Shift {
        /// How many.
        by: u32,
    },
    /// To the same place at another router of a grid.
    Grid {
        /// Which router.
        step: GridStep,
        /// Routers along each dimension; `None`: a square.
        dims: Option<Vec<u32>>,
        /// Consecutive ranks of a router.
        ranks_per_router: u32,
    },
}

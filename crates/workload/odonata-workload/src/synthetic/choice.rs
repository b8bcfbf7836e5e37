//! Names of arrival processes in a scenario.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Distribution of the times between the messages of a rank.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "Arrival")]
pub enum ArrivalKind {
    /// All the same.
    Fixed,
    /// Exponential: messages arrive as a Poisson process.
    #[default]
    Exponential,
    /// In every cycle of length `period` with the same probability, at the cycle's start (a Bernoulli process, as in
    /// BookSim).
    Bernoulli,
    /// Like "bernoulli", but only while a Markov chain is on; see `alpha` (the on/off process of BookSim).
    OnOff,
}

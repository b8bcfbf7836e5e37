//! The interface between a node and its router.

use odonata_units::{Bandwidth, Problem, Time, within};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The interface between a node and its router.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Nic {
    /// Time from the moment a message is handed to the interface until it joins the interface's queue.
    pub message_delay: Time,
    /// Packets that the interface prepares ahead of the terminal link, 1 to 16.
    #[schemars(range(min = 1, max = 16))]
    pub queue: u32,
    /// Most messages that may wait at an interface, at least 1. A run in which more do ends as `queue-overflow`: sources
    /// that offer more than the network takes would fill the memory.
    #[schemars(range(min = 1))]
    pub message_queue: u32,
    /// What the interface sends at most, e.g. "2 GB/s". Default: what its link can.
    pub rate: Option<Bandwidth>,
    /// The same for classes of nodes, where they differ, e.g. { compute = "2 GB/s", storage = "10 GB/s" }. A class that is left
    /// out has `rate`.
    pub rates: NicRates,
    /// Random delay, uniform in a range, of each hand-off between host software and interface. Default: none.
    pub handoff: Option<Jitter>,
}

impl Default for Nic {
    fn default() -> Self {
        Nic {
            message_delay: Time::from_ns(10),
            queue: 8,
            message_queue: 1 << 22,
            rate: None,
            rates: NicRates::default(),
            handoff: None,
        }
    }
}

/// What the interfaces of each class of nodes send at most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct NicRates {
    /// Those of compute nodes.
    pub compute: Option<Bandwidth>,
    /// Those of storage servers.
    pub storage: Option<Bandwidth>,
    /// Those of service nodes (`machine.service_routers`), such as I/O nodes.
    pub service: Option<Bandwidth>,
}

/// A random delay, uniform from `min` to `max`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Jitter {
    /// Least delay, e.g. "0.5 ns".
    pub min: Time,
    /// Greatest delay, not less than `min`, e.g. "1 ns".
    pub max: Time,
}

impl Nic {
    /// Checks the keys.
    ///
    /// # Errors
    /// One is out of its range.
    pub fn check(&self) -> Result<(), Problem> {
        within("nic.queue", self.queue, 1, 16)?;
        within("nic.message_queue", self.message_queue, 1, u32::MAX - 1)?;
        self.handoff.map_or(Ok(()), |jitter| jitter.check("nic.handoff"))
    }
}

impl Jitter {
    /// Checks the delay at `key`.
    ///
    /// # Errors
    /// The least is above the greatest.
    pub fn check(&self, key: &str) -> Result<(), Problem> {
        let Jitter { min, max } = self;
        if min <= max {
            return Ok(());
        }
        let problem = format!("min, {min}, is above max, {max}");
        Err(Problem::new(format!("{key}.max"), problem, format!("at least {min}")))
    }
}

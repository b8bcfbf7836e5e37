//! The interface between a node and its router.

use odonata_topology::LinkClass;
use odonata_units::{Bandwidth, Problem, Time, within};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{InputQueues, Network, RouterModel};
use crate::VirtualChannels;

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
    /// Which messages of a node wait for each other at its interface.
    pub send_queues: SendQueues,
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
            send_queues: SendQueues::One,
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

/// Which messages of a node wait for each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SendQueues {
    /// All of a traffic class, in the order in which they were sent.
    #[default]
    One,
    /// Those that leave the node's router over the same cable, and on the same level of virtual channels. Each has a queue, with a
    /// terminal buffer of its own; queues take turns packet by packet, as a GPU has engines for NVLink and for its interface. Messages whose way
    /// is drawn or chosen by load there, and those to nodes of the same router, have a queue more. There are 16 queues at most; more outputs
    /// share them.
    PerOutput,
}

impl SendQueues {
    /// Most queues of a node and traffic class.
    const MOST: u64 = 16;

    /// Whether a node may have more than one.
    pub fn are_several(self) -> bool {
        self != SendQueues::One
    }

    /// How many a node has for each traffic class, on a machine whose routers with nodes have up to so many cables of each class, with so
    /// many virtual channels.
    pub fn count(self, outputs: &[u64; LinkClass::COUNT], vcs: VirtualChannels) -> u8 {
        let channels = outputs.iter().zip(vcs).map(|(&cables, vcs)| cables * u64::from(vcs));
        match self {
            SendQueues::One => 1,
            SendQueues::PerOutput => (channels.sum::<u64>().max(1) + 1).min(SendQueues::MOST) as u8,
        }
    }
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

    /// Checks that routers of `network` let packets of each queue wait for their output alone.
    ///
    /// # Errors
    /// There is a queue for each output, and their packets would wait for each other.
    pub fn check_send_queues(&self, network: &Network) -> Result<(), Problem> {
        let problem = match (network.router, network.input_queues) {
            _ if !self.send_queues.are_several() => return Ok(()),
            (RouterModel::Pipelined, _) => "pipelined routers take the flits of a node on any channel of its link",
            (RouterModel::InputQueued, InputQueues::Fifo) => "packets of all queues would wait in one FIFO",
            _ => return Ok(()),
        };
        let expected = "\"one\", or network.router = \"input-queued\" with input_queues = \"virtual-output\", or \"output-queued\"";
        Err(Problem::new("nic.send_queues", problem, expected))
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

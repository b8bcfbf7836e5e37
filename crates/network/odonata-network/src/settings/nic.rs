//! The network interface (NIC) of a node.

use odonata_topology::LinkClass;
use odonata_units::{Bandwidth, Problem, Time, within};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{InputQueues, Network, RouterModel};
use crate::VirtualChannels;

/// The network interface of a node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Nic {
    /// Time from the submission of a message to the interface until the message joins the interface's queue.
    pub message_delay: Time,
    /// Number of packets that the interface prepares ahead of the terminal link, 1 to 16.
    #[schemars(range(min = 1, max = 16))]
    pub queue: u32,
    /// Largest number of messages that may wait at an interface, at least 1. A run that exceeds it ends as
    /// `queue-overflow`: sources that offer more load than the network accepts would fill the memory.
    #[schemars(range(min = 1))]
    pub message_queue: u32,
    /// Highest rate at which the interface sends, e.g. "2 GB/s". Default: the bandwidth of its link.
    pub rate: Option<Bandwidth>,
    /// The same for each class of nodes, e.g. { compute = "2 GB/s", storage = "10 GB/s" }. Classes that are left out
    /// use `rate`.
    pub rates: NicRates,
    /// Which messages of a node share a send queue at its interface.
    pub send_queues: SendQueues,
    /// Random delay, uniform in a range, of each handoff between host software and interface. Default: none.
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

/// Highest send rate of the interfaces, by class of nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct NicRates {
    /// Compute nodes.
    pub compute: Option<Bandwidth>,
    /// Storage servers.
    pub storage: Option<Bandwidth>,
    /// Service nodes (`machine.service_routers`), such as I/O nodes.
    pub service: Option<Bandwidth>,
}

/// Which messages of a node share a send queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SendQueues {
    /// All messages of a traffic class, in the order of submission.
    #[default]
    One,
    /// Messages that leave the node's router over the same cable and on the same level of virtual channels. Each queue
    /// has its own terminal buffer, and queues take turns packet by packet, as a GPU has separate engines for NVLink
    /// and for its NIC. Messages with a random or adaptive path, and messages to nodes of the same router, use an
    /// additional queue. There are at most 16 queues; further outputs share them.
    PerOutput,
}

impl SendQueues {
    /// Largest number of queues per node and traffic class.
    const MOST: u64 = 16;

    /// Whether a node can have more than one queue.
    pub fn are_several(self) -> bool {
        self != SendQueues::One
    }

    /// Number of queues of a node per traffic class. `outputs` is the largest number of cables of each class at a
    /// router with nodes, `vcs` the virtual channels of each class.
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
    /// Greatest delay, at least `min`, e.g. "1 ns".
    pub max: Time,
}

impl Nic {
    /// Checks the keys.
    ///
    /// # Errors
    /// A key is out of range.
    pub fn check(&self) -> Result<(), Problem> {
        within("nic.queue", self.queue, 1, 16)?;
        within("nic.message_queue", self.message_queue, 1, u32::MAX - 1)?;
        self.handoff.map_or(Ok(()), |jitter| jitter.check("nic.handoff"))
    }

    /// Checks that routers of `network` keep packets of different send queues apart.
    ///
    /// # Errors
    /// There is a queue per output, but packets of different queues would wait for each other.
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
    /// The least delay is greater than the greatest.
    pub fn check(&self, key: &str) -> Result<(), Problem> {
        let Jitter { min, max } = self;
        if min <= max {
            return Ok(());
        }
        let problem = format!("min, {min}, is above max, {max}");
        Err(Problem::new(format!("{key}.max"), problem, format!("at least {min}")))
    }
}

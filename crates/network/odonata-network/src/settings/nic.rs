//! The network interface (NIC) of a node.

use odonata_topology::LinkClass;
use odonata_units::{Bandwidth, Bytes, Problem, Time, within};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{InputQueues, Network, RouterModel};
use crate::VirtualChannels;

/// The network interface of a node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, smart_default::SmartDefault)]
#[serde(default, deny_unknown_fields)]
pub struct Nic {
    /// Time from the submission of a message to the interface until the message joins the interface's queue.
    #[default(Time::from_ns(10))]
    pub message_delay: Time,
    /// Number of packets that the interface prepares ahead of the terminal link, 1 to 16.
    #[schemars(range(min = 1, max = 16))]
    #[default = 8]
    pub queue: u32,
    /// Largest number of messages that may wait at an interface, at least 1. A run that exceeds it ends as
    /// `queue-overflow`: sources that offer more load than the network accepts would fill the memory.
    #[schemars(range(min = 1))]
    #[default(1 << 22)]
    pub message_queue: u32,
    /// Highest rate at which the interface sends, e.g. "2 GB/s". Default: the bandwidth of its link.
    pub rate: Option<Bandwidth>,
    /// The same for each class of nodes, e.g. { compute = "2 GB/s", storage = "10 GB/s" }. Classes that are left out
    /// use `rate`.
    pub rates: NicRates,
    /// Other rates for longer messages, by increasing size, in place of `rate` and `rates`, e.g. [{ above = "2 MiB", rate =
    /// "22 GB/s" }]: libraries move messages of different sizes in different ways. Not without packets. Default: none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub message_rates: Vec<RateAbove>,
    /// Highest rate at which the interface receives. Default: the bandwidth of its link. Not with pipelined routers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receive_rate: Option<Bandwidth>,
    /// Least time from the start of one message to that of the next: "5 ns" is a rate of 200 million messages per second.
    /// Default: none.
    #[serde(skip_serializing_if = "is_zero")]
    pub message_gap: Time,
    /// Which messages of a node share a send queue at its interface.
    #[default(SendQueues::One)]
    pub send_queues: SendQueues,
    /// The order of the messages in a send queue. Default: "fifo".
    #[serde(skip_serializing_if = "is_fifo")]
    #[default(Queues::Fifo)]
    pub queues: Queues,
    /// With `queues = "per-peer"`: two nodes carry messages above this size one way at a time, as MPI libraries over
    /// InfiniBand do, so that an exchange of two large messages has half the rate. Default: no such size.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub one_way_above: Option<Bytes>,
    /// Which interface of a node serves a rank, where `machine.interfaces` is above 1. A server answers each of its
    /// clients on one interface, by the client's number. Default: "block".
    #[serde(skip_serializing_if = "is_block")]
    #[default(Affinity::Block)]
    pub affinity: Affinity,
    /// With `machine.interfaces` above 1: messages with data above this size go in equal parts over several interfaces of both
    /// nodes, the interface of the rank and those after it, as MPI libraries do in the rendezvous protocol. Not for
    /// synthetic traffic. Default: each message uses one interface.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stripe_above: Option<Bytes>,
    /// Number of interfaces of such a message, at least 2. Default: all of the node.
    #[schemars(range(min = 2))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stripe_interfaces: Option<u32>,
    /// Random delay, uniform in a range, of each handoff between host software and interface. Default: none.
    pub handoff: Option<Jitter>,
}

// Keys with their default are left out of resolved scenarios that do not use them.
fn is_zero(time: &Time) -> bool {
    *time == Time::ZERO
}

fn is_block(affinity: &Affinity) -> bool {
    *affinity == Affinity::Block
}

fn is_fifo(queues: &Queues) -> bool {
    *queues == Queues::Fifo
}

/// A rate of work on more than so many bytes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RateAbove {
    /// The rate applies to work on more bytes than this.
    pub above: Bytes,
    /// Bytes per second.
    pub rate: Bandwidth,
}

impl RateAbove {
    /// The rate of `list` for work on `bytes`, if it has one; sizes increase.
    #[inline]
    pub fn of(list: &[RateAbove], bytes: u64) -> Option<Bandwidth> {
        let longer = list.iter().rev().find(|rate| bytes > rate.above.0);
        longer.map(|rate| rate.rate)
    }

    /// Checks that the sizes of the list at `key` increase.
    ///
    /// # Errors
    /// One does not.
    pub fn check(list: &[RateAbove], key: &str) -> Result<(), Problem> {
        let Some(place) = list.windows(2).position(|pair| pair[1].above <= pair[0].above) else {
            return Ok(());
        };
        let problem = format!("{} after a larger size", list[place + 1].above);
        Err(Problem::new(
            format!("{key}.{}.above", place + 1),
            problem,
            "increasing sizes",
        ))
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

/// Which interface of a node serves a rank.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Affinity {
    /// Rank `r` of `n` on a node uses interface `r * interfaces / n`, rounded down: consecutive ranks share one. Cray MPICH's
    /// default.
    #[default]
    Block,
    /// Rank `r` on a node uses interface `r` modulo their number.
    RoundRobin,
}

/// The order of the messages that share a send queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Queues {
    /// First come, first served.
    #[default]
    Fifo,
    /// Messages to the same node are first come, first served, as on a queue pair of InfiniBand; different nodes take
    /// turns packet by packet. Control messages, which announce, request or acknowledge, go before all others.
    PerPeer,
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
        if let Some(size) = self.one_way_above.filter(|_| self.queues == Queues::Fifo) {
            let problem = format!("{size}, and messages to all nodes share a queue");
            let expected = "no such key, or nic.queues = \"per-peer\"";
            return Err(Problem::new("nic.one_way_above", problem, expected));
        }
        RateAbove::check(&self.message_rates, "nic.message_rates")?;
        self.handoff.map_or(Ok(()), |jitter| jitter.check("nic.handoff"))
    }

    /// Checks the keys for nodes with `interfaces` interfaces.
    ///
    /// # Errors
    /// A key needs more interfaces.
    pub fn check_interfaces(&self, interfaces: u32) -> Result<(), Problem> {
        if let Some(size) = self.stripe_above.filter(|_| interfaces == 1) {
            let problem = format!("{size}, and a node has one interface");
            let expected = "no such key, or machine.interfaces above 1";
            return Err(Problem::new("nic.stripe_above", problem, expected));
        }
        let Some(count) = self.stripe_interfaces else {
            return Ok(());
        };
        if self.stripe_above.is_none() {
            let problem = format!("{count}, and no message goes over several interfaces");
            let expected = "no such key, or nic.stripe_above";
            return Err(Problem::new("nic.stripe_interfaces", problem, expected));
        }
        within("nic.stripe_interfaces", count, 2, interfaces).map(|_| ())
    }

    /// Number of messages into which a node with `interfaces` interfaces divides one of `bytes`.
    #[inline]
    pub fn stripes(&self, interfaces: u32, bytes: u64) -> u32 {
        match self.stripe_above {
            Some(most) if bytes > most.0 => {
                let count = self.stripe_interfaces.unwrap_or(interfaces).min(interfaces);
                count.min(bytes.min(64) as u32)
            }
            _ => 1,
        }
    }

    /// Checks the keys that exclude messages that are not divided into packets.
    ///
    /// # Errors
    /// A key applies only to packets.
    pub fn check_without_packets(&self) -> Result<(), Problem> {
        let refuse = |key: &str, problem: &str, expected: &str| {
            let expected = format!("{expected}, or fidelity = \"packet\"");
            Err(Problem::new(format!("nic.{key}"), problem, expected))
        };
        if self.queues == Queues::PerPeer {
            let problem = "peers take turns packet by packet, and some messages go without packets";
            return refuse("queues", problem, "\"fifo\"");
        }
        if self.message_gap > Time::ZERO {
            let problem = "the gap delays the first packet of a message, and some messages go without packets";
            return refuse("message_gap", problem, "\"0 s\"");
        }
        if !self.message_rates.is_empty() {
            let problem = "rates apply to packets of a message, and some messages go without packets";
            return refuse("message_rates", problem, "no such key");
        }
        Ok(())
    }

    /// Checks the keys that pipelined routers exclude.
    ///
    /// # Errors
    /// The interface would receive at another rate than its link sends flits.
    pub fn check_receive_rate(&self, network: &Network) -> Result<(), Problem> {
        match self.receive_rate {
            Some(rate) if network.router == RouterModel::Pipelined => {
                let problem = format!("{rate}, and pipelined routers send flits at the rate of the link");
                let expected = "no such key, or a smaller network.links.terminal.bandwidth";
                Err(Problem::new("nic.receive_rate", problem, expected))
            }
            _ => Ok(()),
        }
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

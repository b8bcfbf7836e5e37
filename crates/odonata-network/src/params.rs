//! What a fabric is built from.

use odonata_engine::Time;
use odonata_topology::LinkClass;
use odonata_units::Bandwidth;

/// How a packet crosses a router.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Switching {
    /// Virtual cut-through: the head moves on once a whole packet's credit is there.
    CutThrough,
    /// The packet moves on when all of it is in.
    StoreAndForward,
}

/// Where packets wait inside a router.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RouterModel {
    /// In the buffer of their input port and virtual channel, see [`InputQueues`]. A credit returns when
    /// the tail has left the buffer.
    InputQueued,
    /// As in CODES: a packet is routed on arrival and joins its output's queue if that queue has
    /// room; its credit returns then. The budget of a queue covers packets waiting here and packets
    /// sent and not yet credited. Every packet counts as a full one; the lowest virtual channel goes first.
    OutputQueued,
}

/// Which packets of an input buffer compete for outputs (input-queued routers).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InputQueues {
    /// Virtual output queues: every packet waits for its own output only, in order of arrival.
    VirtualOutput,
    /// First in, first out: only the head competes, and blocks those behind it (head-of-line
    /// blocking limits uniform traffic to some 59 %: Karol, Hluchyj, Morgan, IEEE Trans. Comm. 1987).
    Fifo,
}

/// One class of links.
#[derive(Clone, Copy, Debug)]
pub struct LinkParams {
    /// Transfer rate.
    pub bandwidth: Bandwidth,
    /// Time of flight, from the last bit's departure to its arrival.
    pub latency: Time,
    /// Buffer at the receiving end, bytes per virtual channel.
    pub buffer: u64,
    /// How long a credit takes back.
    pub credit_delay: Time,
}

/// The interface between a node and its router.
#[derive(Clone, Copy, Debug)]
pub struct NicParams {
    /// Packets that the NIC prepares ahead of the terminal link, 1 to 16. The queue's being full
    /// is what counts as the NIC's saturation.
    pub queue: u32,
}

/// Virtual channels of each link class, by [`LinkClass`] number.
pub type VirtualChannels = [u8; LinkClass::COUNT];

/// When a packet leaves its minimal path for another one. Loads are bytes waiting for a port or on their way through it,
/// m on the minimal and o on the other path; h are the hops of either, 1 unless [`hops`](Self::hops).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Detour {
    /// How the two are compared.
    pub rule: DetourRule,
    /// T, bytes.
    pub threshold: u64,
    /// b.
    pub bias: f64,
    /// Whether loads count times the hops of their path (UGAL: Singh, "Load-balanced routing in interconnection
    /// networks", 2005).
    pub hops: bool,
}

/// How the loads of two paths are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DetourRule {
    /// Detour if m > T and m h > b o h'.
    Both,
    /// Detour if m h > b o h' + T.
    Sum,
}

impl Default for Detour {
    /// To the path with less than half the load.
    fn default() -> Self {
        Detour {
            rule: DetourRule::Both,
            threshold: 0,
            bias: 2.0,
            hops: false,
        }
    }
}

impl Detour {
    /// Whether a packet takes the other path, given (load, hops) of the minimal and of the other.
    #[inline]
    pub fn decide(&self, minimal: (u64, u32), other: (u64, u32)) -> bool {
        let weight = |(load, hops): (u64, u32)| match self.hops {
            true => load as f64 * f64::from(hops),
            false => load as f64,
        };
        let (m, o) = (weight(minimal), weight(other));
        match self.rule {
            DetourRule::Both => minimal.0 > self.threshold && m > self.bias * o,
            DetourRule::Sum => m > self.bias * o + self.threshold as f64,
        }
    }
}

/// A fabric's parameters.
#[derive(Clone, Debug)]
pub struct NetworkParams {
    /// Largest packet, bytes.
    pub packet: u64,
    /// Unit of buffer space and of cut-through, bytes.
    pub flit: u64,
    /// How a packet crosses a router.
    pub switching: Switching,
    /// Where packets wait.
    pub router: RouterModel,
    /// Which of them compete, in an input-queued router.
    pub input_queues: InputQueues,
    /// Latency of a router's pipeline; it limits no rate.
    pub router_delay: Time,
    /// Links by [`LinkClass`] number.
    pub links: [LinkParams; LinkClass::COUNT],
    /// The NICs.
    pub nic: NicParams,
    /// When packets leave their minimal path, under adaptive routing.
    pub detour: Detour,
    /// Number of (job, MPI or I/O) kinds of traffic to keep statistics for.
    pub traffics: u16,
    /// Interval of the time series, if one is wanted.
    pub series: Option<Time>,
    /// Whether every wait of a packet is charged to whoever it waited for.
    pub blame: bool,
    /// Seed of the routing's random choices.
    pub seed: u64,
}

impl NetworkParams {
    /// The parameters of links of `class`.
    pub fn link(&self, class: LinkClass) -> &LinkParams {
        &self.links[class as usize]
    }

    /// Flits of a packet of `bytes` (at least one: the header).
    pub fn flits(&self, bytes: u64) -> u64 {
        bytes.div_ceil(self.flit).max(1)
    }
}

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
    /// Every flit moves on when there is room for it; its packet keeps the virtual channel until the tail has gone
    /// (W. Dally, C. Seitz, 1986). Pipelined routers only.
    Wormhole,
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
    /// Flit by flit and cycle by cycle through a [`Pipeline`]: routing, virtual-channel allocation, switch
    /// allocation, crossbar.
    Pipelined,
}

/// The pipeline of a [`Pipelined`](RouterModel::Pipelined) router (W. Dally, B. Towles, "Principles and practices of
/// interconnection networks", 2004, chapters 16 to 19). Stages take whole cycles; where a cycle has several steps, a stage
/// of one cycle takes a step, and a longer one ends with the first step of its last cycle, as in BookSim. A packet behind
/// another one comes to the front of its buffer when that one's tail has got its passage through the crossbar.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pipeline {
    /// Period of the clock.
    pub clock: Time,
    /// Cycles from a packet's coming to the front of its buffer to its asking for a virtual channel; 0: it has been
    /// routed on its way there (lookahead routing).
    pub routing: u32,
    /// Cycles of virtual-channel allocation, at least 1.
    pub vc_allocation: u32,
    /// Cycles of switch allocation, at least 1.
    pub switch_allocation: u32,
    /// Cycles of crossbar traversal, at least 1; the link follows.
    pub crossbar: u32,
    /// Flits that an input port can send in a step, from different virtual channels: channel `v` goes through switch
    /// input `v mod input_speedup`.
    pub input_speedup: u32,
    /// Steps of allocation and crossbar in a cycle of the links, 1 to 4; a fraction is spread over the cycles.
    pub internal_speedup: f64,
    /// Which side of an allocator chooses first.
    pub allocator: Allocator,
    /// Rounds in which an allocator tries to match who is left, at least 1.
    pub iterations: u32,
    /// Who is chosen.
    pub arbitration: Arbitration,
    /// Whether a virtual channel without a free flit cannot be allocated.
    pub busy_when_full: bool,
}

/// A separable allocator: each side chooses for itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Allocator {
    /// Inputs choose what to ask for, then outputs choose among those who ask.
    InputFirst,
    /// Outputs choose among all who might ask, then inputs choose among those who chose them (one round of iSLIP:
    /// N. McKeown, IEEE/ACM Trans. Networking 1999).
    OutputFirst,
}

/// Who is chosen of several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arbitration {
    /// The next one after who was served last.
    RoundRobin,
    /// The lowest number.
    LowestFirst,
    /// The packet that was created first; of several the next one after who was served last.
    Age,
}

impl Default for Pipeline {
    /// Three cycles of 1 ns: virtual-channel allocation, switch allocation, crossbar.
    fn default() -> Self {
        Pipeline {
            clock: Time::from_ns(1),
            routing: 0,
            vc_allocation: 1,
            switch_allocation: 1,
            crossbar: 1,
            input_speedup: 1,
            internal_speedup: 1.0,
            allocator: Allocator::InputFirst,
            iterations: 1,
            arbitration: Arbitration::RoundRobin,
            busy_when_full: false,
        }
    }
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
    /// What the NIC sends at most, if that is less than what its link can.
    pub rate: Option<Bandwidth>,
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

/// Which loads a router knows when it decides over its ports ([`routers_of_a_group`] says on which networks it can know
/// more than its own). Loads are bytes as in [`Detour`].
///
/// [`routers_of_a_group`]: crate::routing::Routing::routers_of_a_group
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Knowledge {
    /// Those of its own ports (UGAL-L).
    #[default]
    Local,
    /// Those of all global ports of its group as well: a path that goes over one of them has its load in addition to that
    /// of its first port (UGAL-G: J. Kim, W. Dally, S. Scott, D. Abts, "Technology-driven, highly-scalable dragonfly
    /// topology", ISCA 2008; there at once, here as published).
    Global {
        /// How they become known.
        broadcast: Broadcast,
    },
    /// Whether each global port of the group is congested, a bit: a packet whose minimal path goes over a congested one
    /// leaves it; for others the router's own ports decide (piggybacking: N. Jiang, J. Kim, W. Dally, "Indirect adaptive
    /// routing on large scale interconnection networks", ISCA 2009). A port with load q is congested if q > T and
    /// q > f m, with m the mean load of its router's global ports.
    Piggyback {
        /// How it becomes known.
        broadcast: Broadcast,
        /// f. With n ports the load of one is at most n times their mean: a factor of n or more lets none be congested.
        factor: f64,
        /// T, bytes. What a link has on its way at full rate counts as load, and is no congestion.
        threshold: u64,
    },
}

impl Knowledge {
    /// How more than a router's own loads becomes known, if it does.
    pub fn broadcast(&self) -> Option<Broadcast> {
        match *self {
            Knowledge::Local => None,
            Knowledge::Global { broadcast } | Knowledge::Piggyback { broadcast, .. } => Some(broadcast),
        }
    }
}

/// How routers tell the others of their group about their ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Broadcast {
    /// A router publishes at multiples of this time, if something has changed; positive.
    pub interval: Time,
    /// From then until the group knows it; positive.
    pub delay: Time,
}

/// Most traffic classes.
pub const MOST_CLASSES: u8 = 8;

/// A traffic class: packets with virtual channels and a share of every link of their own.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TrafficClass {
    /// Share of a link that it gets at least while it has something to send, against the others of its priority; only the
    /// proportions count. 0.001 to 1.
    pub share: f64,
    /// Classes of a higher priority always go first.
    pub priority: i32,
}

impl Default for TrafficClass {
    /// All of a link.
    fn default() -> Self {
        TrafficClass {
            share: 1.0,
            priority: 0,
        }
    }
}

/// The traffic classes of a network.
#[derive(Clone, Debug, PartialEq)]
pub struct TrafficClasses {
    list: Vec<TrafficClass>,
    /// The class of each traffic; those that are missing have the first.
    of: Vec<u8>,
}

impl Default for TrafficClasses {
    /// One for all.
    fn default() -> Self {
        TrafficClasses {
            list: vec![TrafficClass::default()],
            of: Vec::new(),
        }
    }
}

impl TrafficClasses {
    /// The classes of `list`, and that of each traffic, by its number; traffic that is not named has the first.
    ///
    /// # Errors
    /// There are not 1 to [`MOST_CLASSES`] classes, a share is not between 0.001 and 1, or a class does not exist.
    pub fn new(list: Vec<TrafficClass>, of: Vec<u8>) -> Result<Self, String> {
        if list.is_empty() || list.len() > usize::from(MOST_CLASSES) {
            return Err(format!("{} traffic classes, not 1 to {MOST_CLASSES}", list.len()));
        }
        if let Some(class) = list.iter().find(|class| !(0.001..=1.0).contains(&class.share)) {
            return Err(format!(
                "a traffic class with a share of {}, not 0.001 to 1",
                class.share
            ));
        }
        if let Some(&class) = of.iter().find(|&&class| usize::from(class) >= list.len()) {
            return Err(format!("traffic class {class} of {}", list.len()));
        }
        Ok(TrafficClasses { list, of })
    }

    /// How many there are.
    pub fn count(&self) -> u8 {
        self.list.len() as u8
    }

    /// All of them.
    pub fn list(&self) -> &[TrafficClass] {
        &self.list
    }

    /// The class of traffic `traffic`.
    #[inline]
    pub fn of(&self, traffic: crate::Traffic) -> u8 {
        self.of.get(usize::from(traffic)).copied().unwrap_or(0)
    }
}

/// Congestion control between the ends of the network; see the page of `congestion.rs` for what each does. Not with pipelined
/// routers.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum CongestionControl {
    /// Credits between routers are all there is.
    #[default]
    None,
    /// Ports mark packets, and their sources slow down.
    Ecn(Ecn),
    /// The router in front of a node slows down the flows that go there.
    PerFlow(PerFlow),
}

/// Parameters of [`CongestionControl::Ecn`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ecn {
    /// A packet is marked if more than this waits for the port behind it, bytes.
    pub threshold: u64,
    /// The part of its rate that a flow loses, more than 0 and less than 1.
    pub decrease: f64,
    /// Least time between two such losses; positive.
    pub interval: Time,
    /// Time in which a flow recovers from nothing to the rate of its link; positive.
    pub recovery: Time,
}

/// Parameters of [`CongestionControl::PerFlow`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PerFlow {
    /// What may wait for the link to a node without anybody being slowed down, bytes.
    pub threshold: u64,
    /// Least time between two changes of the rate to a node; positive. Not much less than the way there and back.
    pub interval: Time,
    /// Time in which a flow that hears nothing any more recovers from nothing to the rate of its link; positive.
    pub recovery: Time,
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
    /// Latency of a router's pipeline; it limits no rate. Pipelined routers have their own.
    pub router_delay: Time,
    /// The stages of pipelined routers.
    pub pipeline: Pipeline,
    /// Links by [`LinkClass`] number.
    pub links: [LinkParams; LinkClass::COUNT],
    /// The NICs.
    pub nic: NicParams,
    /// When packets leave their minimal path, under adaptive routing.
    pub detour: Detour,
    /// Which loads routers know then.
    pub knowledge: Knowledge,
    /// The traffic classes. More than one: input-queued routers only.
    pub classes: TrafficClasses,
    /// Congestion control between the ends of the network.
    pub congestion: CongestionControl,
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

    /// What the pipeline of a router adds to a link's latency before it is noticed that a packet has come: nothing where
    /// pipelines are worked off cycle by cycle.
    pub fn routing_delay(&self) -> Time {
        match self.router {
            RouterModel::Pipelined => Time::ZERO,
            RouterModel::InputQueued | RouterModel::OutputQueued => self.router_delay,
        }
    }

    /// Flits of a packet of `bytes` (at least one: the header).
    #[inline]
    pub fn flits(&self, bytes: u64) -> u64 {
        // Where packets are single flits nobody has to divide.
        if bytes <= self.flit {
            return 1;
        }
        bytes.div_ceil(self.flit)
    }
}

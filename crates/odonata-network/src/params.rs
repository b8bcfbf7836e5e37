//! What a fabric is built from.

use std::sync::Arc;

use odonata_engine::Time;
use odonata_topology::LinkClass;
use odonata_units::{Bandwidth, mix64};

use crate::LogGp;
use crate::flow::VcRanges;
use crate::settings::{
    Arbitration, Comparison, CongestionControl, Fidelity, InputQueues, Link, Network, Nic, Pipeline, RouterModel,
    Switching, TrafficClass,
};

/// Virtual channels of each link class, by [`LinkClass`] number.
pub type VirtualChannels = [u8; LinkClass::COUNT];

/// When a packet leaves its minimal path for another one. Loads are bytes waiting for a port or on their way through it,
/// m on the minimal and o on the other path; h are the hops of either, 1 unless [`hops`](Self::hops).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Detour {
    /// How the two are compared.
    pub rule: Comparison,
    /// T, bytes.
    pub threshold: u64,
    /// b.
    pub bias: f64,
    /// Whether loads count times the hops of their path (UGAL: Singh, "Load-balanced routing in interconnection
    /// networks", 2005).
    pub hops: bool,
}

impl Default for Detour {
    /// To the path with less than half the load.
    fn default() -> Self {
        Detour {
            rule: Comparison::Both,
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
            Comparison::Both => minimal.0 > self.threshold && m > self.bias * o,
            Comparison::Sum => m > self.bias * o + self.threshold as f64,
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

/// What a run adds to the settings of its network.
#[derive(Clone, Debug)]
pub struct RunParams {
    /// How messages go.
    pub fidelities: Fidelities,
    /// The traffic classes, and which traffic is of which.
    pub classes: TrafficClasses,
    /// Number of (job, MPI or I/O) kinds of traffic to keep statistics for.
    pub traffics: u16,
    /// Interval of the time series, if one is wanted.
    pub series: Option<Time>,
    /// Whether every wait of a packet is charged to whoever it waited for.
    pub blame: bool,
    /// Of how many packets one is drawn whose waits at routers are charged, that many times.
    pub blame_sampling: u32,
    /// Whether messages say what they have lost on their way ([`NetworkParams::lost_time`]).
    pub lost_time: bool,
    /// Whether they say where, too.
    pub lost_places: bool,
    /// Seed of the routing's random choices.
    pub seed: u64,
}

/// A fabric's parameters: derived from the resolved tables `network` and `nic`, and from the run.
///
/// Not these tables themselves, because routers ask for some of these values at every event: here they are plain numbers
/// side by side, where a table has texts, lists, keys without value, and keys that together say one thing
/// ([`Detour`], [`Knowledge`]).
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
    /// Which of several packets an output takes.
    pub arbitration: Arbitration,
    /// Latency of a router's pipeline; it limits no rate. Pipelined routers have their own.
    pub router_delay: Time,
    /// The stages of pipelined routers.
    pub pipeline: Pipeline,
    /// Their clock: the length of a cycle.
    pub clock: Time,
    /// Links by [`LinkClass`] number.
    pub links: [Link; LinkClass::COUNT],
    /// The NICs.
    pub nic: Nic,
    /// What the interface of each node of the machine sends at most, where classes of nodes differ; else it is `nic.rate`.
    pub nic_rates: Option<Arc<[Option<Bandwidth>]>>,
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
    /// Of how many packets one is drawn whose waits at routers are charged, that many times; 1: all. Not where routers are pipelined.
    pub blame_sampling: u32,
    /// Whether messages say what they have lost on their way; only where waits are charged.
    pub lost_time: bool,
    /// Whether they say where, too.
    pub lost_places: bool,
    /// Seed of the routing's random choices.
    pub seed: u64,
    /// How messages go.
    pub fidelities: Fidelities,
    /// The parameters of those that go by the LogGP model, if any do.
    pub analytic: Option<LogGp>,
    /// How often packets and flows hear of each other, where there are both; positive. Not with pipelined routers, traffic classes or congestion
    /// control.
    pub coupling_interval: Option<Time>,
}

/// How messages go: all alike, or by traffic.
#[derive(Clone, Debug, PartialEq)]
pub enum Fidelities {
    /// All alike.
    Same(Fidelity),
    /// By traffic.
    Of(Arc<[Fidelity]>),
}

impl Fidelities {
    /// How messages of `traffic` go.
    #[inline]
    pub fn of(&self, traffic: crate::Traffic) -> Fidelity {
        match self {
            Fidelities::Same(fidelity) => *fidelity,
            Fidelities::Of(each) => each[usize::from(traffic)],
        }
    }

    /// Whether some go like this.
    pub fn has(&self, fidelity: Fidelity) -> bool {
        match self {
            Fidelities::Same(same) => *same == fidelity,
            Fidelities::Of(each) => each.contains(&fidelity),
        }
    }
}

impl NetworkParams {
    /// What the interface of `node` sends at most, if less than its link can.
    #[inline(always)]
    pub(crate) fn nic_rate(&self, node: u32) -> Option<Bandwidth> {
        match &self.nic_rates {
            None => self.nic.rate,
            Some(rates) => rates[node as usize],
        }
    }

    /// Whether the waits of the packet that node `source` sends at `start` are recorded: no other starts there then.
    #[inline]
    pub(crate) fn samples(&self, source: u32, start: Time) -> bool {
        self.blame
            && (self.blame_sampling == 1 || {
                let random = mix64(mix64(u64::from(source)) ^ start.0) >> 32;
                (random * u64::from(self.blame_sampling)) >> 32 == 0
            })
    }

    /// Whether some interface may not send as fast as its link can.
    pub(crate) fn limits_nics(&self) -> bool {
        self.nic.rate.is_some() || self.nic_rates.is_some()
    }

    /// Of a network whose settings are resolved.
    pub fn new(network: &Network, nic: &Nic, run: RunParams) -> NetworkParams {
        let RunParams {
            fidelities,
            classes,
            traffics,
            series,
            blame,
            blame_sampling,
            lost_time,
            lost_places,
            seed,
        } = run;
        NetworkParams {
            packet: network.packet.0,
            flit: network.flit.0,
            switching: network.switching,
            router: network.router,
            input_queues: network.input_queues,
            arbitration: network.arbitration,
            router_delay: network.router_delay,
            pipeline: network.pipeline,
            // Where there is none nobody asks for it.
            clock: network.clock.map_or(Time::from_ns(1), |clock| Time(clock.ps() as u64)),
            links: LinkClass::ALL.map(|class| *network.links.of(class)),
            nic: nic.clone(),
            nic_rates: None,
            detour: network.routing.detour(),
            knowledge: network.routing.known(),
            congestion: network.congestion_control,
            classes,
            traffics,
            series,
            blame,
            blame_sampling,
            lost_time,
            lost_places,
            seed,
            analytic: fidelities.has(Fidelity::Analytic).then(|| LogGp {
                latency: *network.analytic.latency,
                gap: network.analytic.gap,
                gap_per_byte: *network.analytic.gap_per_byte,
            }),
            coupling_interval: (network.coupling_interval)
                .filter(|_| fidelities.has(Fidelity::Packet) && fidelities.has(Fidelity::Flow)),
            fidelities,
        }
    }

    /// The parameters of links of `class`.
    pub fn link(&self, class: LinkClass) -> &Link {
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

    /// What a router adds to the time of a packet that waits for nothing: its pipeline.
    pub(crate) fn router_latency(&self) -> Time {
        match self.router {
            RouterModel::Pipelined => Time(self.clock.0 * u64::from(self.pipeline.stages())),
            RouterModel::InputQueued | RouterModel::OutputQueued => self.router_delay,
        }
    }

    /// Whether a packet takes any channel of its level, of several the one with the most room.
    pub(crate) fn takes_any_channel(&self, vcs: &VcRanges) -> bool {
        vcs.are_several() && self.arbitration != Arbitration::FirstCome
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

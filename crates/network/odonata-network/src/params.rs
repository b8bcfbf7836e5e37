//! The parameters of a fabric.

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

/// The rule by which a packet leaves its minimal path. Loads are bytes that wait for a port or are in flight from it, m
/// on the minimal and o on the other path; h are the hops of each path, 1 unless [`hops`](Self::hops).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Detour {
    /// How the loads are compared.
    pub rule: Comparison,
    /// T, bytes.
    pub threshold: u64,
    /// b.
    pub bias: f64,
    /// Whether loads are multiplied by the hops of their path (UGAL: Singh, "Load-balanced routing in interconnection
    /// networks", 2005).
    pub hops: bool,
}

impl Default for Detour {
    /// The path with less than half the load.
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

/// Which loads a router knows when it chooses among its ports ([`routers_of_a_group`] gives the networks on which it
/// can know more than its own). Loads are bytes as in [`Detour`].
///
/// [`routers_of_a_group`]: crate::routing::Routing::routers_of_a_group
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Knowledge {
    /// The loads of its own ports (UGAL-L).
    #[default]
    Local,
    /// Also the loads of all global ports of its group: a path through one of them has its load in addition to that of
    /// its first port (UGAL-G: J. Kim, W. Dally, S. Scott, D. Abts, "Technology-driven, highly-scalable dragonfly
    /// topology", ISCA 2008; there without delay, here as published).
    Global {
        /// How loads are published.
        broadcast: Broadcast,
    },
    /// Also one bit for each global port of its group, whether it is congested: a packet whose minimal path uses a
    /// congested port leaves it; for others the router's own ports decide (piggybacking: N. Jiang, J. Kim, W. Dally,
    /// "Indirect adaptive routing on large scale interconnection networks", ISCA 2009). A port with load q is congested
    /// if q > T and q > f m, with m the mean load of its router's global ports.
    Piggyback {
        /// How it is published.
        broadcast: Broadcast,
        /// f. With n ports the load of one is at most n times their mean: a factor of n or more marks none as
        /// congested.
        factor: f64,
        /// T, bytes. The load in flight on a link at full rate is not congestion.
        threshold: u64,
    },
}

impl Knowledge {
    /// How loads of other routers are published, if they are.
    pub fn broadcast(&self) -> Option<Broadcast> {
        match *self {
            Knowledge::Local => None,
            Knowledge::Global { broadcast } | Knowledge::Piggyback { broadcast, .. } => Some(broadcast),
        }
    }
}

/// How routers publish the loads of their ports to their group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Broadcast {
    /// A router publishes changes at multiples of this time; positive.
    pub interval: Time,
    /// Delay until the group knows them; positive.
    pub delay: Time,
}

/// Most traffic classes.
pub const MOST_CLASSES: u8 = 8;

/// The traffic classes of a network.
#[derive(Clone, Debug, PartialEq)]
pub struct TrafficClasses {
    list: Vec<TrafficClass>,
    /// The class of each traffic; traffics without an entry have the first class.
    class_of: Vec<u8>,
}

impl Default for TrafficClasses {
    /// One class for all traffic.
    fn default() -> Self {
        TrafficClasses {
            list: vec![TrafficClass::default()],
            class_of: Vec::new(),
        }
    }
}

impl TrafficClasses {
    /// The classes of `list`, and the class of each traffic, by its number; traffics without an entry have the first.
    ///
    /// # Errors
    /// There are not 1 to [`MOST_CLASSES`] classes, a share is not between 0.001 and 1, or a class does not exist.
    pub fn new(list: Vec<TrafficClass>, class_of: Vec<u8>) -> Result<Self, String> {
        if list.is_empty() || list.len() > usize::from(MOST_CLASSES) {
            return Err(format!("{} traffic classes, not 1 to {MOST_CLASSES}", list.len()));
        }
        if let Some(class) = list.iter().find(|class| !(0.001..=1.0).contains(&class.share)) {
            return Err(format!(
                "a traffic class with a share of {}, not 0.001 to 1",
                class.share
            ));
        }
        if let Some(&class) = class_of.iter().find(|&&class| usize::from(class) >= list.len()) {
            return Err(format!("traffic class {class} of {}", list.len()));
        }
        Ok(TrafficClasses { list, class_of })
    }

    /// Number of classes.
    pub fn count(&self) -> u8 {
        self.list.len() as u8
    }

    /// All classes.
    pub fn list(&self) -> &[TrafficClass] {
        &self.list
    }

    /// The class of traffic `traffic`.
    #[inline]
    pub fn of(&self, traffic: crate::Traffic) -> u8 {
        self.class_of.get(usize::from(traffic)).copied().unwrap_or(0)
    }
}

/// Parameters of a run, in addition to the settings of its network.
#[derive(Clone, Debug)]
pub struct RunParams {
    /// The fidelity of messages.
    pub fidelities: Fidelities,
    /// The traffic classes, and the class of each traffic.
    pub classes: TrafficClasses,
    /// Number of traffics (a job's MPI or I/O) in the statistics.
    pub traffics: u16,
    /// Interval of the time series, if there is one.
    pub series: Option<Time>,
    /// Whether every wait of a packet is charged to its culprit.
    pub blame: bool,
    /// Sampling factor: the waits at routers of one in this many packets are charged, multiplied by it.
    pub blame_sampling: u32,
    /// Whether messages carry their losses ([`NetworkParams::lost_time`]).
    pub lost_time: bool,
    /// Whether losses include their place.
    pub lost_places: bool,
    /// Seed of the routing's random choices.
    pub seed: u64,
}

/// A fabric's parameters, derived from the resolved tables `network` and `nic`, and from the run.
///
/// The tables themselves are not used at runtime, because routers read some of these values at every event. Here they
/// are adjacent plain numbers; a table has texts, lists, unset keys, and groups of keys with one meaning ([`Detour`],
/// [`Knowledge`]).
#[derive(Clone, Debug)]
pub struct NetworkParams {
    /// Largest packet, bytes.
    pub packet: u64,
    /// Unit of buffer space and of cut-through, bytes.
    pub flit: u64,
    /// How a packet crosses a router.
    pub switching: Switching,
    /// Where packets wait in a router.
    pub router: RouterModel,
    /// Which packets compete for outputs in an input-queued router.
    pub input_queues: InputQueues,
    /// Which of several packets an output takes.
    pub arbitration: Arbitration,
    /// Latency of a router's pipeline; it does not limit throughput. Pipelined routers use `pipeline`.
    pub router_delay: Time,
    /// The stages of pipelined routers.
    pub pipeline: Pipeline,
    /// The cycle time of pipelined routers.
    pub clock: Time,
    /// Links by [`LinkClass`] number.
    pub links: [Link; LinkClass::COUNT],
    /// The NICs.
    pub nic: Nic,
    /// Highest send rate of each node's interface, if classes of nodes differ; otherwise `nic.rate` applies.
    pub nic_rates: Option<Arc<[Option<Bandwidth>]>>,
    /// The rule of adaptive routing by which packets leave their minimal path.
    pub detour: Detour,
    /// The loads that routers know for it.
    pub knowledge: Knowledge,
    /// The traffic classes. More than one: not with output-queued routers.
    pub classes: TrafficClasses,
    /// End-to-end congestion control.
    pub congestion: CongestionControl,
    /// Number of traffics (a job's MPI or I/O) in the statistics.
    pub traffics: u16,
    /// Interval of the time series, if there is one.
    pub series: Option<Time>,
    /// Whether every wait of a packet is charged to its culprit.
    pub blame: bool,
    /// Sampling factor: the waits at routers of one in this many packets are charged, multiplied by it; 1: all. Not
    /// with pipelined routers.
    pub blame_sampling: u32,
    /// Whether messages carry their losses; requires blame.
    pub lost_time: bool,
    /// Whether losses include their place.
    pub lost_places: bool,
    /// Seed of the routing's random choices.
    pub seed: u64,
    /// The fidelity of messages.
    pub fidelities: Fidelities,
    /// The parameters of the LogGP model, if messages use it.
    pub analytic: Option<LogGp>,
    /// Interval at which packets and flows exchange loads, if both exist; positive. Not with pipelined routers, traffic
    /// classes or congestion control.
    pub coupling_interval: Option<Time>,
}

/// The fidelity of messages: the same for all, or by traffic.
#[derive(Clone, Debug, PartialEq)]
pub enum Fidelities {
    /// The same for all.
    Same(Fidelity),
    /// By traffic.
    Of(Arc<[Fidelity]>),
}

impl Fidelities {
    /// The fidelity of messages of `traffic`.
    #[inline]
    pub fn of(&self, traffic: crate::Traffic) -> Fidelity {
        match self {
            Fidelities::Same(fidelity) => *fidelity,
            Fidelities::Of(each) => each[usize::from(traffic)],
        }
    }

    /// Whether some messages have this fidelity.
    pub fn has(&self, fidelity: Fidelity) -> bool {
        match self {
            Fidelities::Same(same) => *same == fidelity,
            Fidelities::Of(each) => each.contains(&fidelity),
        }
    }
}

impl NetworkParams {
    /// Highest send rate of `node`'s interface, if less than the bandwidth of its link.
    #[inline(always)]
    pub(crate) fn nic_rate(&self, node: u32) -> Option<Bandwidth> {
        match &self.nic_rates {
            None => self.nic.rate,
            Some(rates) => rates[node as usize],
        }
    }

    /// Whether the waits of the packet that node `source` sends at `start` are recorded; a node starts one packet at a
    /// time.
    #[inline]
    pub(crate) fn samples(&self, source: u32, start: Time) -> bool {
        self.blame
            && (self.blame_sampling == 1 || {
                let random = mix64(mix64(u64::from(source)) ^ start.0) >> 32;
                (random * u64::from(self.blame_sampling)) >> 32 == 0
            })
    }

    /// Whether some interface is slower than its link.
    pub(crate) fn limits_nics(&self) -> bool {
        self.nic.rate.is_some() || self.nic_rates.is_some()
    }

    /// The parameters of a network with resolved settings.
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
            // Without a clock the value is unused.
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

    /// The router pipeline's addition to a link's latency before the arrival of a packet is handled; zero for pipelined
    /// routers, which process their stages cycle by cycle.
    pub fn routing_delay(&self) -> Time {
        match self.router {
            RouterModel::Pipelined => Time::ZERO,
            RouterModel::InputQueued | RouterModel::OutputQueued => self.router_delay,
        }
    }

    /// Latency of a router at zero load.
    pub(crate) fn router_latency(&self) -> Time {
        match self.router {
            RouterModel::Pipelined => Time(self.clock.0 * u64::from(self.pipeline.stages())),
            RouterModel::InputQueued | RouterModel::OutputQueued => self.router_delay,
        }
    }

    /// Whether a packet takes any channel of its level, and among several the one with the most room.
    pub(crate) fn takes_any_channel(&self, vcs: &VcRanges) -> bool {
        vcs.are_several() && self.arbitration != Arbitration::FirstCome
    }

    /// Flits of a packet of `bytes` (at least one: the header).
    #[inline]
    pub fn flits(&self, bytes: u64) -> u64 {
        // Packets of one flit need no division.
        if bytes <= self.flit {
            return 1;
        }
        bytes.div_ceil(self.flit)
    }
}

//! The parameters of a fabric.

mod adaptive;

pub use adaptive::{Broadcast, Detour, Knowledge};

use std::sync::Arc;

use odonata_engine::Time;
use odonata_topology::{LinkClass, Topology};
use odonata_units::{Bandwidth, Bytes, PerByte};

use crate::flow::VcRanges;
pub use crate::flow::VirtualChannels;
use crate::reduction::params::ReductionParams;
pub use crate::settings::MOST_CLASSES;
use crate::settings::{
    Arbitration, CongestionControl, Fidelity, InputQueues, Link, Network, Nic, Pipeline, RateAbove, RouterModel,
    Switching, TrafficClass,
};

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
    /// Bytes that each packet takes on a link in addition, bytes.
    pub header: u64,
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
    /// The settings of Ethernet, if messages use it.
    pub ethernet: Option<odonata_ethernet::settings::Settings>,
    /// Interval at which packets and flows exchange loads, if both exist; positive. Not with pipelined routers, traffic
    /// classes or congestion control.
    pub coupling_interval: Option<Time>,
    /// The trees of sums in routers, if there are any. Input-queued routers, one traffic class, packets only.
    pub reduction: Option<ReductionParams>,
}

/// The fidelity of messages: the same for all, or by traffic.
#[derive(Clone, Debug, PartialEq)]
pub enum Fidelities {
    /// The same for all.
    Same(Fidelity),
    /// By traffic.
    PerTraffic(Arc<[Fidelity]>),
}

impl Fidelities {
    /// The fidelity of messages of `traffic`.
    #[inline]
    pub fn of(&self, traffic: crate::Traffic) -> Fidelity {
        match self {
            Fidelities::Same(fidelity) => *fidelity,
            Fidelities::PerTraffic(each) => each[usize::from(traffic)],
        }
    }

    /// Whether some messages go as packets from router to router, over the cables.
    pub(crate) fn use_cables(&self) -> bool {
        self.has(Fidelity::Packet) || self.has(Fidelity::Ethernet)
    }

    /// Whether some messages have this fidelity.
    pub fn has(&self, fidelity: Fidelity) -> bool {
        match self {
            Fidelities::Same(same) => *same == fidelity,
            Fidelities::PerTraffic(each) => each.contains(&fidelity),
        }
    }
}

impl NetworkParams {
    /// Highest send rate of `node`'s interface, if less than the bandwidth of its link.
    #[inline(always)]
    pub fn nic_rate(&self, node: u32) -> Option<Bandwidth> {
        match &self.nic_rates {
            None => self.nic.rate,
            Some(rates) => rates[node as usize],
        }
    }

    /// Highest send rate of `node`'s interface for a message of `bytes`, if less than the bandwidth of its link.
    #[inline(always)]
    pub(crate) fn nic_rate_of_message(&self, node: u32, bytes: u64) -> Option<Bandwidth> {
        RateAbove::of(&self.nic.message_rates, bytes).or_else(|| self.nic_rate(node))
    }

    /// The part of a link's bandwidth that carries payload in full packets.
    pub(crate) fn payload_share(&self) -> f64 {
        self.packet as f64 / (self.packet + self.header) as f64
    }

    /// The bandwidth of a link of `class` with the factor of its cable; `to_node`: it ends at an interface.
    pub fn bandwidth(&self, class: LinkClass, factor: f64, to_node: bool) -> Bandwidth {
        let link = Bandwidth(self.link(class).bandwidth.0 * factor);
        match self.nic.receive_rate {
            Some(rate) if to_node && rate.0 < link.0 => rate,
            _ => link,
        }
    }

    /// Whether some interface is slower than its link.
    pub(crate) fn limits_nics(&self) -> bool {
        self.nic.rate.is_some()
            || self.nic_rates.is_some()
            || !self.nic.message_rates.is_empty()
            || self.nic.message_gap > Time::ZERO
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
            header: network.header.0,
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
            ethernet: fidelities.has(Fidelity::Ethernet).then(|| network.ethernet.clone()),
            coupling_interval: (network.coupling_interval)
                .filter(|_| fidelities.has(Fidelity::Packet) && fidelities.has(Fidelity::Flow)),
            fidelities,
            reduction: None,
        }
    }

    /// The parameters of links of `class`.
    pub fn link(&self, class: LinkClass) -> &Link {
        &self.links[class as usize]
    }

    /// The buffer of a virtual channel of the cable at `port`: its own, or that of its class.
    pub fn buffer(&self, topology: &Topology, port: u32) -> Bytes {
        let own = topology.buffer(port);
        own.unwrap_or_else(|| *self.link(topology.medium(port)).buffer)
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

/// L, g and G of a network of the [`analytic`](crate::settings::Analytic) carrier.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LogGp {
    /// L; positive.
    pub latency: Time,
    /// g.
    pub gap: Time,
    /// G.
    pub gap_per_byte: PerByte,
}

impl LogGp {
    /// s' G.
    pub(crate) fn bytes(&self, bytes: u64) -> Time {
        self.gap_per_byte.time_for(Bytes(bytes.saturating_sub(1)))
    }
}

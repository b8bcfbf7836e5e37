//! Links, routers and routing: the keys of the table `network`.

use odonata_topology::{LinkClass, Topology};
use odonata_units::{Bytes, Number, Problem, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    Algorithm, Analytic, Clock, CongestionControl, Fidelity, Links, Pipeline, Reduction, Routing, TrafficClass,
};

/// Links, routers and routing. The defaults describe a virtual cut-through network of input-queued routers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, smart_default::SmartDefault)]
#[serde(default, deny_unknown_fields)]
pub struct Network {
    /// How messages are carried: "packet" (default) from router to router, "flow" as flows with max-min fair rates,
    /// "ethernet" as packets of an Ethernet with losses or pauses, or "analytic" by the LogGP model without contention.
    #[serde(skip_serializing_if = "Fidelity::is_packet")]
    #[default(Fidelity::Packet)]
    pub fidelity: Fidelity,
    /// The parameters of the analytic model.
    #[serde(skip_serializing_if = "Analytic::is_none")]
    pub analytic: Analytic,
    /// The switches and the transport of an Ethernet.
    #[serde(skip_serializing_if = "odonata_ethernet::settings::Settings::is_none")]
    #[default(odonata_ethernet::settings::Settings::default())]
    pub ethernet: odonata_ethernet::settings::Settings,
    /// Largest packet, 1 B to 1 MiB, at least one flit. Messages are divided into packets.
    #[default(Bytes::kib(4))]
    pub packet: Bytes,
    /// Bytes that each packet takes on a link in addition to its payload: headers, checksums, gaps; at most the size of
    /// a packet. Buffers hold payload. Not with pipelined routers, whose flits hold the headers. Default:
    /// none.
    #[serde(skip_serializing_if = "is_empty")]
    pub header: Bytes,
    /// Unit of buffer space and of cut-through. Every size of the scenario can be given in flits ("8 flits").
    #[default(Bytes(32))]
    pub flit: Bytes,
    /// How a packet crosses a router.
    #[default(Switching::CutThrough)]
    pub switching: Switching,
    /// Where packets wait inside a router.
    #[default(RouterModel::InputQueued)]
    pub router: RouterModel,
    /// Which packets of an input buffer compete for outputs; only for input-queued routers.
    #[default(InputQueues::VirtualOutput)]
    pub input_queues: InputQueues,
    /// Which of several packets an output takes. Arbitration decides which traffic slows down at a contended output.
    #[default(Arbitration::RoundRobin)]
    pub arbitration: Arbitration,
    /// Pipeline latency of a router; it does not limit throughput. Pipelined routers use `pipeline` instead.
    #[default(Time::from_ns(100))]
    pub router_delay: Time,
    /// The pipeline stages; only for pipelined routers.
    pub pipeline: Pipeline,
    /// The link classes.
    pub links: Links,
    /// How paths are chosen.
    pub routing: Routing,
    /// Traffic classes, `[[network.traffic_classes]]`, at most 8; a job selects one by `traffic_class`. Each class has
    /// its own virtual channels, as many as `routing.vcs` gives, and a share of every link. Not with output-queued
    /// routers. Default: none, so that all traffic is in one class.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("default" = []))]
    pub traffic_classes: Vec<TrafficClass>,
    /// End-to-end congestion control.
    #[serde(skip_serializing_if = "CongestionControl::is_none")]
    pub congestion_control: CongestionControl,
    /// Sums in routers, for collectives with the algorithm "switches". Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reduction: Option<Reduction>,
    /// Interval at which the packet and the flow model exchange loads, 100 ns to 1 s. It applies if jobs differ in
    /// `jobs.fidelity`. Default: "10 us" if jobs use both models, else none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub coupling_interval: Option<Time>,
    /// The clock, as its period ("1 ns") or its frequency ("1 GHz"). With a clock, every time of the scenario can be
    /// given in cycles ("3 cycles") and every rate in flits per cycle ("1 flit/cycle"). Default: none.
    pub clock: Option<Clock>,
}

fn is_empty(header: &Bytes) -> bool {
    *header == Bytes::ZERO
}

/// Limit of flits per packet: the model counts them in 16 bits.
const MOST_FLITS: u64 = u16::MAX as u64;

/// Largest packet, in bytes: a whole packet must fit into every buffer.
const LARGEST_PACKET: u64 = 1 << 20;

impl Network {
    /// Checks the sizes of packets and flits, and the keys that only pipelined routers have.
    ///
    /// # Errors
    /// No router can take the packet, or the router lacks a key that it needs.
    pub fn check_packets(&self) -> Result<(), Problem> {
        if self.packet == Bytes::ZERO || self.packet.0 > LARGEST_PACKET {
            let problem = format!("a packet of {} is not possible", self.packet);
            return Err(Problem::new("network.packet", problem, "1 B to 1 MiB"));
        }
        if self.header > self.packet {
            let problem = format!("a header of {} on packets of {}", self.header, self.packet);
            return Err(Problem::new(
                "network.header",
                problem,
                format!("up to network.packet, {}", self.packet),
            ));
        }
        if self.header > Bytes::ZERO && self.router == RouterModel::Pipelined {
            let problem = format!("{}, and the flits of a pipelined router hold the headers", self.header);
            return Err(Problem::new(
                "network.header",
                problem,
                "none, or another network.router",
            ));
        }
        if self.flit == Bytes::ZERO || self.flit > self.packet {
            let problem = format!("a flit of {} in a packet of {}", self.flit, self.packet);
            return Err(Problem::new(
                "network.flit",
                problem,
                format!("1 B to network.packet, {}", self.packet),
            ));
        }
        let flits = self.packet.0.div_ceil(self.flit.0);
        if flits > MOST_FLITS {
            let problem = format!("a packet of {} is {flits} flits of {}", self.packet, self.flit);
            let error = Problem::new(
                "network.flit",
                problem,
                format!("at most {MOST_FLITS} flits per packet"),
            );
            return Err(error.hint("make flits larger or packets smaller"));
        }
        self.pipeline.check()?;
        if self.router != RouterModel::Pipelined {
            if self.switching == Switching::Wormhole {
                let error = Problem::new(
                    "network.switching",
                    "only pipelined routers know of flits that are apart from their packet",
                    "\"cut-through\", \"store-and-forward\", or network.router = \"pipelined\"",
                );
                return Err(error);
            }
            return Ok(());
        }
        let expected = "the period of a cycle, a whole number of picoseconds, such as \"1 ns\"";
        match self.clock.map(|clock| clock.ps()) {
            None => Err(Problem::new(
                "network.clock",
                "a pipelined router without a clock",
                expected,
            )),
            Some(ps) if ps != ps.round() || !(10.0..=1e12).contains(&ps) => Err(Problem::new(
                "network.clock",
                format!("a cycle of {} ps", Number(ps)),
                expected,
            )),
            Some(_) => Ok(()),
        }
    }

    /// Fills in and checks the link classes.
    ///
    /// # Errors
    /// A value is out of range, or a buffer is too small.
    pub fn fill_links(&mut self) -> Result<(), Problem> {
        // With wormhole switching, several buffers hold a packet together.
        let least = match self.switching {
            Switching::Wormhole => self.flit,
            _ => self.packet,
        };
        self.links.fill(least)
    }

    /// Checks the keys that exclude `fidelity`, which is not "packet", for all jobs or for some.
    ///
    /// # Errors
    /// A key applies only to packets.
    pub fn check_without_packets(&self, fidelity: Fidelity) -> Result<(), Problem> {
        let only_packets = |key: &str, problem: &str| Err(Problem::new(key, problem, "none, or fidelity = \"packet\""));
        if fidelity == Fidelity::Flow && self.router == RouterModel::Pipelined {
            let expected = "\"input-queued\" or \"output-queued\", or fidelity = \"packet\"";
            return Err(Problem::new(
                "network.router",
                "flows do not go cycle by cycle",
                expected,
            ));
        }
        if fidelity == Fidelity::Ethernet && self.router == RouterModel::Pipelined {
            let expected = "\"input-queued\" or \"output-queued\", or fidelity = \"packet\"";
            return Err(Problem::new(
                "network.router",
                "switches of an Ethernet do not go cycle by cycle",
                expected,
            ));
        }
        if fidelity == Fidelity::Analytic && self.header > Bytes::ZERO {
            return only_packets(
                "network.header",
                "the LogGP model has no packets; analytic.gap_per_byte counts",
            );
        }
        if !self.congestion_control.is_none() {
            let problem = match fidelity {
                Fidelity::Ethernet => "network.ethernet.congestion_control applies",
                _ => "without packets there is no congestion",
            };
            return only_packets("network.congestion_control", problem);
        }
        if !self.traffic_classes.is_empty() {
            let problem = match fidelity {
                Fidelity::Ethernet => "an Ethernet has one class of data",
                _ => "without packets no class has a share of a link",
            };
            return only_packets("network.traffic_classes", problem);
        }
        Ok(())
    }

    /// Checks the requirements of bubble flow control, if the routing uses it. An output-queued router admits packets
    /// to an output queue without checking the ring downstream. A packet enters a ring only if a second packet still
    /// fits downstream, so smaller buffers admit none.
    ///
    /// # Errors
    /// The network would deadlock, or no packet could enter a ring.
    pub fn check_bubble(&self) -> Result<(), Problem> {
        if *self.routing.algorithm != Algorithm::Bubble {
            return Ok(());
        }
        if self.router == RouterModel::OutputQueued {
            let problem =
                "output-queued routers keep no room free in a ring that is entered: bubble flow control can deadlock";
            let expected = "network.router = \"input-queued\" or \"pipelined\", or algorithm = \"dimension-order\"";
            return Err(Problem::new("network.routing.algorithm", problem, expected));
        }
        let least = self.least_buffer();
        for class in [LinkClass::Local, LinkClass::Global, LinkClass::Column] {
            let buffer = *self.links.of(class).buffer;
            if Bytes(buffer.0 / self.flit.0 * self.flit.0) < least {
                let key = format!("network.links.{}.buffer", class.name());
                let problem = format!("a buffer of {buffer} does not hold two packets of {}", self.packet);
                let error = Problem::new(key, problem, format!("at least {least}"));
                return Err(error.hint("bubble flow control keeps room for one packet free in every ring"));
            }
        }
        Ok(())
    }

    /// What the buffer of a virtual channel must hold: a packet, a flit with wormhole switching, two packets with bubble flow
    /// control.
    fn least_buffer(&self) -> Bytes {
        match (*self.routing.algorithm, self.switching) {
            (Algorithm::Bubble, _) => Bytes(2 * self.packet.0.div_ceil(self.flit.0) * self.flit.0),
            (_, Switching::Wormhole) => self.flit,
            _ => self.packet,
        }
    }

    /// Checks that the cables of `topology` with buffers of their own have large enough ones; `key` gave these.
    ///
    /// # Errors
    /// A buffer is too small.
    pub fn check_buffers(&self, topology: &Topology, key: &str) -> Result<(), Problem> {
        let least = self.least_buffer();
        match topology.least_buffer() {
            Some((port, buffer)) if buffer < least => {
                let (a, b) = (topology.router_of_port(port), topology.neighbour(port).unwrap_or(0));
                let problem = format!("a buffer of {buffer} of the cable between routers {a} and {b}");
                let error = Problem::new(key, problem, format!("at least {least}"));
                Err(error.hint("the buffer is per virtual channel; make it larger or the packet smaller"))
            }
            _ => Ok(()),
        }
    }

    /// Fills in and checks the coupling interval. `mixed`: some jobs use packets and others flows.
    ///
    /// # Errors
    /// The coupling interval is out of range, or the jobs do not mix packets and flows.
    pub fn fill_coupling(&mut self, mixed: bool) -> Result<(), Problem> {
        const KEY: &str = "network.coupling_interval";
        let (least, most) = (Time::from_ns(100), Time(1_000_000_000_000));
        match (self.coupling_interval, mixed) {
            (None, false) => Ok(()),
            (Some(interval), false) => {
                let problem = format!("{interval}, and all messages go alike");
                let expected = "none, or jobs with fidelity = \"packet\" and others with \"flow\"";
                Err(Problem::new(KEY, problem, expected))
            }
            (Some(interval), true) if !(least..=most).contains(&interval) => {
                Err(Problem::new(KEY, interval.to_string(), format!("{least} to {most}")))
            }
            (interval, true) => {
                self.coupling_interval = Some(interval.unwrap_or(Time::from_ns(10_000)));
                Ok(())
            }
        }
    }

    /// Checks the traffic classes.
    ///
    /// # Errors
    /// There are too many classes, two have the same name, their shares exceed 1, or the routers do not support
    /// classes.
    pub fn check_classes(&self) -> Result<(), Problem> {
        super::traffic_class::check(&self.traffic_classes, self.router)
    }
}

/// How a packet crosses a router.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Switching {
    /// Virtual cut-through: the head moves on once credits for a whole packet are available.
    #[default]
    CutThrough,
    /// The packet moves on once all of it has arrived.
    StoreAndForward,
    /// Each flit moves on once there is room for it. The packet holds its virtual channel until its tail has left. Only
    /// with pipelined routers.
    Wormhole,
}

/// Where packets wait inside a router.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RouterModel {
    /// In the buffer of their input port and virtual channel; see `input_queues`.
    #[default]
    InputQueued,
    /// In a queue per output port and virtual channel, with routing on arrival: the router of CODES.
    OutputQueued,
    /// Flit by flit and cycle by cycle through virtual-channel and switch allocation, see `network.pipeline`: the
    /// router of cycle-accurate simulators. It needs `network.clock`.
    Pipelined,
}

impl RouterModel {
    /// The name in a scenario.
    pub fn name(self) -> &'static str {
        match self {
            RouterModel::InputQueued => "input-queued",
            RouterModel::OutputQueued => "output-queued",
            RouterModel::Pipelined => "pipelined",
        }
    }
}

/// Which packets of an input buffer compete for outputs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum InputQueues {
    /// Virtual output queues: every packet waits only for its own output.
    #[default]
    VirtualOutput,
    /// First in, first out: only the head of the buffer competes, which causes head-of-line blocking.
    Fifo,
}

/// Which of several packets an output takes, for every router model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Arbitration {
    /// The packet of the next input port after the one served last. Ports get equal shares: where sources join a path
    /// one after another, each gets half the share of the next.
    #[default]
    RoundRobin,
    /// The oldest packet of all inputs: sources get equal shares. Packets of a long message are created one after
    /// another, at the rate of the node's link (D. Abts, D. Weisser, SC 2007).
    Age,
    /// The packet that requested first. Shares follow the buffers: an input with more waiting packets gets more. CODES
    /// uses this rule.
    FirstCome,
    /// The packet of the lowest port and virtual channel: packets of other inputs can starve.
    LowestFirst,
}

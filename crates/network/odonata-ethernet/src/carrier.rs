//! Ethernet of a part of a machine: its state, its events, and the interface to the fabric.
//!
//! A frame takes two events per link: the end of its transmission and its arrival. Local ports are the router ports of
//! the part in order, then its NICs.

use crate::counters::{FlowRecord, PortCounters, RoceCounters, TransportCounters};
use crate::frame::{Frame, FrameKind, Route};
use crate::nic::Nic;
use crate::notification::Notifier;
use crate::pacing::Pace;
use crate::params::Params;
use crate::pfc::Ingress;
use crate::port::{Port, PortPlan};
use crate::receiver::Receiver;
use crate::sender::Sender;
use odonata_engine::random::Purpose;
use odonata_engine::{GrowableStore, Mode, Pool, Store, Stream, Time};
use odonata_topology::{Peer, Topology};
use odonata_units::{Bandwidth, mix64};
use std::ops::Range;

/// What an event is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[repr(u8)]
pub enum Kind {
    /// A frame is at its next switch.
    Arrived,
    /// A frame is at its node.
    Delivered,
    /// A port has sent a frame.
    Transmitted,
    /// The timer of a sender.
    Timer,
    /// A node grants credit.
    Pace,
    /// A port must pause.
    Pause,
    /// A port may go on.
    Resume,
    /// The description of a message is at its target; the fabric handles it.
    Open,
    /// A paced flow may send again.
    Paced,
    /// A receiver notifies the sender of a flow.
    Notify,
}

/// An event; 8 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Event {
    /// The slot or local port.
    pub index: u32,
    /// What it is about.
    pub kind: Kind,
}

impl Event {
    /// An event about `index`.
    pub fn new(kind: Kind, index: u32) -> Event {
        Event { index, kind }
    }
}

/// What parts send each other.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub enum Remote {
    /// A frame on a link.
    Frame(Frame),
    /// Port `port` of the machine must pause, or may go on.
    Pause {
        /// The port, numbered over the machine.
        port: u32,
        /// Whether it pauses.
        pause: bool,
    },
}

/// What has happened to a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The sender knows that all of it has arrived.
    Acknowledged(u32),
    /// All of it has arrived; the receiver's number of it.
    Arrived(u32),
}

/// A message to send.
#[derive(Clone, Copy, Debug)]
pub struct Submission {
    /// Returned when all is acknowledged.
    pub message: u32,
    /// Sending node.
    pub source: u32,
    /// Receiving node.
    pub target: u32,
    /// Bytes of payload.
    pub bytes: u64,
    /// The owner.
    pub traffic: u16,
    /// When the host created it.
    pub created: Time,
}

/// What handlers need besides their state.
pub trait Surroundings: Mode {
    /// The time.
    fn now(&self) -> Time;
    /// Schedules an event of this part.
    fn send(&mut self, process: u32, at: Time, event: Event);
    /// Sends to another part.
    fn export(&mut self, process: u32, at: Time, remote: Remote);
    /// The output, a port of the machine, of a frame for `target` at `router`, and the state of its routing behind it.
    /// Random choices come from `hash` alone; `load` gives the bytes that wait at a port.
    fn route(&mut self, router: u32, target: u32, state: Route, hash: u64, load: &dyn Fn(u32) -> u64) -> (u32, Route);
}

/// The links of the machine.
pub trait Links {
    /// Bandwidth and latency of a router port, switch delay at the far end included.
    fn port(&self, port: u32) -> (Bandwidth, Time);
    /// The same of a NIC.
    fn nic(&self, node: u32) -> (Bandwidth, Time);
}

/// Ethernet of a part of a machine.
#[derive(Debug)]
pub struct Ethernet {
    pub(crate) params: Params,
    pub(crate) routers: Range<u32>,
    pub(crate) nodes: Range<u32>,
    /// The first router port of the part, and how many there are.
    pub(crate) first_port: u32,
    pub(crate) switch_ports: u32,
    pub(crate) plans: Vec<PortPlan>,
    pub(crate) frames: Pool<Frame>,
    pub(crate) ports: Store<Port>,
    pub(crate) port_counters: Store<PortCounters>,
    pub(crate) ingresses: Store<Ingress>,
    pub(crate) nics: Store<Nic>,
    pub(crate) senders: Pool<Sender>,
    pub(crate) receivers: Pool<Receiver>,
    /// Words of 64 packets in the range of a flow; those of senders are twice as many.
    pub(crate) words: u32,
    pub(crate) sent_bits: GrowableStore<u64>,
    pub(crate) arrived_bits: GrowableStore<u64>,
    /// By slot of a sender, and of a receiver; only with DCQCN and Swift.
    pub(crate) paces: GrowableStore<Pace>,
    pub(crate) notifiers: GrowableStore<Notifier>,
    pub(crate) traffic: Store<TransportCounters>,
    pub(crate) roce: Store<RoceCounters>,
    pub(crate) recorded: Store<u32>,
    pub(crate) records: GrowableStore<FlowRecord>,
}
odonata_engine::journalled!(Ethernet {
    frames,
    ports,
    port_counters,
    ingresses,
    nics,
    senders,
    receivers,
    sent_bits,
    arrived_bits,
    paces,
    notifiers,
    traffic,
    roce,
    recorded,
    records,
});

impl Ethernet {
    /// Bytes per router port of an idle Ethernet.
    pub const BYTES_PER_PORT: usize = Self::PORT + size_of::<Ingress>();

    /// Bytes per node of an idle Ethernet.
    pub const BYTES_PER_NODE: usize = Self::PORT + size_of::<Nic>();

    const PORT: usize = size_of::<PortPlan>() + size_of::<Port>() + size_of::<PortCounters>();

    /// Bytes per flow in flight: both halves and the bits of its packets.
    pub fn bytes_per_flow(params: &Params) -> usize {
        let bits = 3 * params.range() as usize / 8;
        let pacing = if params.is_paced {
            size_of::<Pace>() + size_of::<Notifier>()
        } else {
            0
        };
        size_of::<Sender>() + size_of::<Receiver>() + bits + pacing
    }

    /// The idle Ethernet of `routers` and their `nodes`, with counters for `traffics` owners.
    pub fn new(
        params: Params,
        topology: &Topology,
        (routers, nodes): (Range<u32>, Range<u32>),
        links: &dyn Links,
        traffics: u16,
    ) -> Ethernet {
        let switch_ports = topology.ports_of_routers(routers.clone());
        let plan = |(bandwidth, latency): (Bandwidth, Time), peer, process| {
            // Queues of slower links are shorter in proportion.
            let scale = bandwidth.0 / 1e12 / params.rate;
            let scaled = |bytes: u64| (bytes as f64 * scale).round() as u64;
            let full = u64::from(params.payload + params.header);
            let is_paced = params.has_credit && matches!(peer, Peer::Node(_));
            PortPlan {
                ps_per_byte: bandwidth.ps_per_byte(),
                latency,
                peer,
                process,
                queue: scaled(params.queue).max(full),
                // Receivers that grant credit need no marks at their own link.
                low: if is_paced { u64::MAX } else { scaled(params.low) },
                high: if is_paced { u64::MAX } else { scaled(params.high) },
            }
        };
        let of_ports = switch_ports
            .clone()
            .map(|port| plan(links.port(port), topology.peer(port), topology.router_of_port(port)));
        let of_nics = nodes.clone().map(|node| {
            let (router, port) = (topology.node_router(node), topology.node_port(node));
            plan(links.nic(node), Peer::Router { router, port }, router)
        });
        let plans: Vec<PortPlan> = of_ports.chain(of_nics).collect();
        let stream = |port: u64| Stream::new(params.seed, 1 << 63 | port, Purpose::Ethernet);
        let nics = u64::from(topology.ports()) + u64::from(nodes.start)..;
        let numbers = switch_ports.clone().map(u64::from).chain(nics);
        let ports: Vec<Port> = numbers.take(plans.len()).map(|port| Port::new(stream(port))).collect();
        Ethernet {
            first_port: switch_ports.start,
            switch_ports: switch_ports.len() as u32,
            ports: Store::from_vec(ports),
            port_counters: Store::filled(plans.len(), PortCounters::default()),
            ingresses: Store::filled(switch_ports.len(), Ingress::default()),
            nics: Store::filled(nodes.len(), Nic::NEW),
            plans,
            frames: Pool::new(),
            senders: Pool::new(),
            receivers: Pool::new(),
            words: params.range() / 64,
            sent_bits: GrowableStore::new(),
            arrived_bits: GrowableStore::new(),
            paces: GrowableStore::new(),
            notifiers: GrowableStore::new(),
            traffic: Store::filled(usize::from(traffics), TransportCounters::default()),
            roce: Store::filled(usize::from(traffics), RoceCounters::default()),
            recorded: Store::filled(1, 0),
            records: GrowableStore::new(),
            routers,
            nodes,
            params,
        }
    }

    /// Handles an event of this part; returns what has happened to a message, if anything.
    pub fn handle<S: Surroundings>(&mut self, s: &mut S, process: u32, event: Event) -> Option<Outcome> {
        let Event { index, kind } = event;
        match kind {
            Kind::Arrived => self.arrived(s, process, index),
            Kind::Delivered => return self.delivered(s, index),
            Kind::Transmitted => self.transmitted(s, index),
            Kind::Timer => self.timer(s, index),
            Kind::Pace => self.pace(s, index),
            Kind::Pause | Kind::Resume => self.signalled(s, index, kind == Kind::Pause),
            Kind::Paced => self.paced(s, index),
            Kind::Notify => self.notify(s, index),
            Kind::Open => debug_assert!(false, "the fabric opens flows"),
        }
        None
    }

    /// Receives from another part; returns the event of its arrival.
    pub fn receive<M: Mode>(&mut self, remote: Remote) -> Event {
        match remote {
            Remote::Frame(frame) => Event::new(Kind::Arrived, self.frames.allocate::<M>(frame)),
            Remote::Pause { port, pause } => {
                let kind = if pause { Kind::Pause } else { Kind::Resume };
                Event::new(kind, port - self.first_port)
            }
        }
    }

    /// `frame` is at switch `router`.
    fn arrived<S: Surroundings>(&mut self, s: &mut S, router: u32, frame: u32) {
        self.enters_switch(s, frame);
        let it = self.frames.get(frame);
        let salt = mix64(self.params.seed ^ 0x7361_6c74 ^ u64::from(router) << 32);
        let hash = mix64(it.hash ^ mix64(u64::from(it.entropy)) ^ salt);
        let (ports, first) = (&self.ports, self.first_port);
        let load = |port: u32| {
            let port = ports.get(port - first);
            port.data_bytes + port.control_bytes
        };
        let (port, route) = s.route(router, it.target, it.route, hash, &load);
        if route != it.route {
            self.frames.edit::<S>(frame).route = route;
        }
        self.enqueue(s, port - self.first_port, frame);
    }

    /// `frame` is at its node.
    fn delivered<S: Surroundings>(&mut self, s: &mut S, frame: u32) -> Option<Outcome> {
        let copy = *self.frames.get(frame);
        self.frames.free::<S>(frame);
        match copy.kind {
            FrameKind::Data | FrameKind::Trimmed => self.received(s, &copy),
            FrameKind::Ack => self.acknowledged(s, &copy),
            FrameKind::Pull => {
                self.pulled(s, &copy);
                None
            }
            FrameKind::Nack => {
                self.rejected(s, &copy);
                None
            }
            FrameKind::Notification => {
                self.notified(s, &copy);
                None
            }
        }
    }

    /// Counters of router ports in order, then of NICs.
    pub fn port_counters(&self) -> impl Iterator<Item = &PortCounters> {
        self.port_counters.iter()
    }

    /// Counters by traffic.
    pub fn transport_counters(&self) -> impl Iterator<Item = &TransportCounters> {
        self.traffic.iter()
    }

    /// Counters of RoCE by traffic.
    pub fn roce_counters(&self) -> impl Iterator<Item = &RoceCounters> {
        self.roce.iter()
    }

    /// The complete flows, in the order in which they ended in this part.
    pub fn records(&self) -> Vec<FlowRecord> {
        (0..*self.recorded.get(0) as usize)
            .map(|i| self.records.get(i))
            .collect()
    }

    /// Checks that no frame and no flow is left.
    ///
    /// # Errors
    /// Says how many there are.
    pub fn audit(&self) -> Result<(), String> {
        let left = [
            (self.frames.live(), "frames are still in the network"),
            (self.senders.live(), "flows were not acknowledged"),
            (self.receivers.live(), "flows did not arrive"),
        ];
        match left.iter().find(|(count, _)| *count > 0) {
            Some((count, what)) => Err(format!("{count} {what}")),
            None => Ok(()),
        }
    }

    /// The logical process of local node `node`.
    pub(crate) fn process_of(&self, node: u32) -> u32 {
        self.plans[(self.switch_ports + node - self.nodes.start) as usize].process
    }

    /// The parameters.
    pub fn params(&self) -> &Params {
        &self.params
    }
}

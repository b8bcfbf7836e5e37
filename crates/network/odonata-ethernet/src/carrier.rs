//! Ethernet of a part of a machine: its state, its events, and the interface to the fabric.
//!
//! A frame takes two events per link: the end of its transmission and its arrival. Local ports are the router ports of
//! the part in order, then its NICs.

use crate::counters::{FlowRecord, PortCounters, RoceCounters, TransportCounters};
use crate::credit::Pacer;
use crate::frame::{Frame, FrameKind, Route};
use crate::nic::Turns;
use crate::notification::Notifiers;
use crate::pacing::Paces;
use crate::packet_sets::PacketSets;
use crate::params::Params;
use crate::port::Ports;
use crate::receiver::Receiver;
use crate::sender::Sender;
use crate::telemetry::Telemetry;
use odonata_engine::{GrowableStore, Mode, NIL, Pool, Store, Time};
use odonata_topology::Topology;
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

/// The flows of a node.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct NodeFlows {
    /// The number of the next flow from here.
    pub(crate) next_number: u32,
    /// The flows that arrive here, linked.
    pub(crate) receivers: u32,
    pub(crate) pacer: Pacer,
}

impl NodeFlows {
    const NEW: NodeFlows = NodeFlows {
        next_number: 0,
        receivers: NIL,
        pacer: Pacer::NEW,
    };
}

/// Ethernet of a part of a machine: its transport, and the ports that carry its frames.
#[derive(Debug)]
pub struct Ethernet {
    pub(crate) params: Params,
    pub(crate) first_node: u32,
    pub(crate) ports: Ports,
    pub(crate) turns: Turns,
    pub(crate) flows: Store<NodeFlows>,
    pub(crate) senders: Pool<Sender>,
    pub(crate) receivers: Pool<Receiver>,
    /// Two sets of packets per sender, and one per receiver.
    pub(crate) sent: PacketSets,
    pub(crate) arrived: PacketSets,
    pub(crate) paces: Paces,
    pub(crate) notifiers: Notifiers,
    pub(crate) traffic: Store<TransportCounters>,
    pub(crate) roce: Store<RoceCounters>,
    pub(crate) recorded: Store<u32>,
    pub(crate) records: GrowableStore<FlowRecord>,
}
odonata_engine::journalled!(Ethernet {
    ports,
    turns,
    flows,
    senders,
    receivers,
    sent,
    arrived,
    paces,
    notifiers,
    traffic,
    roce,
    recorded,
    records,
});

impl Ethernet {
    /// Bytes per router port of an idle Ethernet.
    pub fn bytes_per_port(params: &Params) -> usize {
        let measures = if params.is_hpcc() { Telemetry::BYTES_PER_PORT } else { 0 };
        Ports::BYTES_PER_PORT + Ports::BYTES_PER_INPUT + measures
    }

    /// Bytes per node of an idle Ethernet.
    pub const BYTES_PER_NODE: usize = Ports::BYTES_PER_PORT + Turns::BYTES_PER_NIC + size_of::<NodeFlows>();

    /// Bytes per flow in flight: both halves and the bits of its packets.
    pub fn bytes_per_flow(params: &Params) -> usize {
        let bits = 3 * params.range() as usize / 8;
        let pacing = if params.law.is_some() {
            Paces::BYTES_PER_FLOW + Notifiers::BYTES_PER_FLOW
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
        Ethernet {
            ports: Ports::new(&params, topology, (routers, nodes.clone()), links),
            turns: Turns::new(nodes.len()),
            flows: Store::filled(nodes.len(), NodeFlows::NEW),
            senders: Pool::new(),
            receivers: Pool::new(),
            sent: PacketSets::new(params.range()),
            arrived: PacketSets::new(params.range()),
            paces: Paces::new(&params),
            notifiers: Notifiers::new(&params),
            traffic: Store::filled(usize::from(traffics), TransportCounters::default()),
            roce: Store::filled(usize::from(traffics), RoceCounters::default()),
            recorded: Store::filled(1, 0),
            records: GrowableStore::new(),
            first_node: nodes.start,
            params,
        }
    }

    /// Handles an event of this part; returns what has happened to a message, if anything.
    pub fn handle<S: Surroundings>(&mut self, s: &mut S, process: u32, event: Event) -> Option<Outcome> {
        let Event { index, kind } = event;
        match kind {
            Kind::Arrived => self.arrived(s, process, index),
            Kind::Delivered => return self.delivered(s, index),
            Kind::Transmitted => {
                let nic = self.ports.transmitted(s, index);
                nic.into_iter().for_each(|nic| self.serve_nic(s, nic));
            }
            Kind::Timer => self.timer(s, index),
            Kind::Pace => self.pace(s, index),
            Kind::Pause | Kind::Resume => {
                let nic = self.ports.signalled(s, index, kind == Kind::Pause);
                nic.into_iter().for_each(|nic| self.serve_nic(s, nic));
            }
            Kind::Paced => self.paced(s, index),
            Kind::Notify => self.notify(s, index),
            Kind::Open => debug_assert!(false, "the fabric opens flows"),
        }
        None
    }

    /// Receives from another part; returns the event of its arrival.
    pub fn receive<M: Mode>(&mut self, remote: Remote) -> Event {
        self.ports.receive::<M>(remote)
    }

    /// Lets flow `sender` have its turns if it may send.
    pub(crate) fn offer<S: Surroundings>(&mut self, s: &mut S, sender: u32) {
        let flow = self.senders.get(sender);
        if flow.is_queued || !self.may_send(sender) {
            return;
        }
        let nic = flow.source - self.first_node;
        self.turns.join::<S>(nic, &mut self.senders, sender);
        self.serve_nic(s, nic);
    }

    /// Sends control frame `frame` of local node `nic`.
    pub(crate) fn send_control<S: Surroundings>(&mut self, s: &mut S, nic: u32, frame: Frame) {
        let frame = self.ports.frames.allocate::<S>(frame);
        self.turns.push_control::<S>(nic, &mut self.ports.frames, frame);
        self.serve_nic(s, nic);
    }

    /// Starts the next transmission of a NIC if it is idle.
    fn serve_nic<S: Surroundings>(&mut self, s: &mut S, nic: u32) {
        if !self.ports.is_nic_idle(nic) {
            return;
        }
        if self.ports.is_nic_paused(nic) {
            return self.serve_paused_nic(s, nic);
        }
        if self.turns.is_for_data::<S>(nic) {
            while let Some(sender) = self.turns.next_flow::<S>(nic, &mut self.senders) {
                if !self.may_send(sender) {
                    continue;
                }
                let packet = self.next_packet(s, sender);
                let frame = self.ports.frames.allocate::<S>(packet);
                if self.may_send(sender) {
                    self.turns.join::<S>(nic, &mut self.senders, sender);
                }
                return self.ports.send_from_nic(s, nic, frame);
            }
        }
        if let Some(frame) = self.turns.next_control::<S>(nic, &self.ports.frames) {
            self.ports.send_from_nic(s, nic, frame);
        }
    }

    /// Sends the first control frame that pauses do not stop; only DCQCN has them.
    fn serve_paused_nic<S: Surroundings>(&mut self, s: &mut S, nic: u32) {
        if self.params.dcqcn().is_none() {
            return;
        }
        if let Some(frame) = self.turns.next_unpaused::<S>(nic, &mut self.ports.frames) {
            self.ports.send_from_nic(s, nic, frame);
        }
    }

    /// `frame` is at switch `router`.
    fn arrived<S: Surroundings>(&mut self, s: &mut S, router: u32, frame: u32) {
        self.ports.enters_switch(s, frame);
        let it = self.ports.frames.get(frame);
        let salt = mix64(self.params.seed ^ 0x7361_6c74 ^ u64::from(router) << 32);
        let hash = mix64(it.hash ^ mix64(u64::from(it.entropy)) ^ salt);
        let (port, route) = s.route(router, it.target, it.route, hash, &|port| self.ports.load(port));
        if route != it.route {
            self.ports.frames.edit::<S>(frame).route = route;
        }
        self.ports.enqueue(s, &mut self.traffic, port, frame);
    }

    /// `frame` is at its node.
    fn delivered<S: Surroundings>(&mut self, s: &mut S, frame: u32) -> Option<Outcome> {
        let copy = *self.ports.frames.get(frame);
        self.ports.frames.free::<S>(frame);
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
        self.ports.counters.iter()
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
            (self.ports.frames.live(), "frames are still in the network"),
            (self.senders.live(), "flows were not acknowledged"),
            (self.receivers.live(), "flows did not arrive"),
        ];
        match left.iter().find(|(count, _)| *count > 0) {
            Some((count, what)) => Err(format!("{count} {what}")),
            None => Ok(()),
        }
    }

    /// The parameters.
    pub fn params(&self) -> &Params {
        &self.params
    }
}

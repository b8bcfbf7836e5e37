//! Output queues: store and forward, a queue of data and one of control frames.
//!
//! A frame leaves its queue when its transmission ends, so the frame in transmission counts. Control frames go first
//! but interrupt no transmission. A data frame that finds no room is trimmed, or the one that came before it is: the
//! same with probability 1/2 (the rule of NDP: M. Handley et al., "Re-architecting datacenter networks and stacks for
//! low latency and high performance", SIGCOMM 2017). ECN marks at departure by the bytes left behind, with a
//! probability that is linear between two thresholds. Room is a limit per queue, or that of a [shared
//! buffer](crate::shared_buffer).

use crate::carrier::{Event, Kind, Links, Remote, Surroundings};
use crate::counters::{PortCounters, TransportCounters};
use crate::frame::{Frame, FrameKind};
use crate::params::Params;
use crate::pfc::Ingress;
use crate::shared_buffer::SharedBuffers;
use crate::telemetry::Telemetry;
use odonata_engine::random::Purpose;
use odonata_engine::{List, Mode, NIL, Pool, Store, Stream, Time};
use odonata_topology::{Peer, Topology};
use odonata_units::Bandwidth;
use std::ops::Range;

/// What a port transmits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
enum Serving {
    Nothing,
    Data,
    Control,
}

/// The state of an output port or of a NIC, whose list of data holds only the frame in transmission.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct Port {
    data: List,
    control: List,
    data_bytes: u64,
    control_bytes: u64,
    serving: Serving,
    /// Since when it is paused; [`Time::NEVER`] if it is not.
    pub(crate) paused: Time,
    stream: Stream,
}

impl Port {
    fn new(stream: Stream) -> Port {
        Port {
            data: List::EMPTY,
            control: List::EMPTY,
            data_bytes: 0,
            control_bytes: 0,
            serving: Serving::Nothing,
            paused: Time::NEVER,
            stream,
        }
    }

    fn is_paused(&self) -> bool {
        self.paused != Time::NEVER
    }
}

/// The constants of a port.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PortPlan {
    ps_per_byte: f64,
    pub(crate) latency: Time,
    /// The other end; the logical process of this one.
    pub(crate) peer: Peer,
    pub(crate) process: u32,
    /// Most bytes of data; thresholds of ECN.
    queue: u64,
    low: u64,
    high: u64,
}

impl PortPlan {
    fn time_for(&self, bytes: u32) -> Time {
        Time::from_ps_f64(f64::from(bytes) * self.ps_per_byte)
    }
}

/// The ports of a part, those of its switches in order and then its NICs, and the frames in the network.
#[derive(Debug)]
pub(crate) struct Ports {
    /// Bytes of a frame without data.
    control: u32,
    trimming: bool,
    /// See [`Params::probability`].
    probability: f64,
    marks: bool,
    /// See [`Params::pause`].
    pub(crate) pause: Option<(u64, u64)>,
    pub(crate) routers: Range<u32>,
    pub(crate) first_node: u32,
    /// The first router port of the part, and how many there are.
    pub(crate) first_port: u32,
    pub(crate) switch_ports: u32,
    pub(crate) plans: Vec<PortPlan>,
    pub(crate) frames: Pool<Frame>,
    pub(crate) ports: Store<Port>,
    pub(crate) counters: Store<PortCounters>,
    pub(crate) ingresses: Store<Ingress>,
    pub(crate) buffers: SharedBuffers,
    telemetry: Telemetry,
}
odonata_engine::journalled!(Ports {
    frames,
    ports,
    counters,
    ingresses,
    buffers,
    telemetry
});

impl Ports {
    /// Bytes per port of a switch or NIC, and those per port of a switch for what comes in by it.
    pub(crate) const BYTES_PER_PORT: usize = size_of::<PortPlan>() + size_of::<Port>() + size_of::<PortCounters>();
    pub(crate) const BYTES_PER_INPUT: usize = size_of::<Ingress>();

    /// The idle ports of `routers` and their `nodes`.
    pub(crate) fn new(
        params: &Params,
        topology: &Topology,
        (routers, nodes): (Range<u32>, Range<u32>),
        links: &dyn Links,
    ) -> Ports {
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
        Ports {
            control: params.control,
            trimming: params.trimming,
            probability: params.probability,
            marks: params.marks,
            pause: params.pause,
            buffers: SharedBuffers::new(params.buffer, routers.len()),
            routers,
            first_node: nodes.start,
            first_port: switch_ports.start,
            switch_ports: switch_ports.len() as u32,
            frames: Pool::new(),
            ports: Store::from_vec(ports),
            counters: Store::filled(plans.len(), PortCounters::default()),
            ingresses: Store::filled(switch_ports.len(), Ingress::default()),
            telemetry: Telemetry::new(params.is_hpcc(), params.rtt, switch_ports.len()),
            plans,
        }
    }

    /// Receives from another part; returns the event of its arrival.
    pub(crate) fn receive<M: Mode>(&mut self, remote: Remote) -> Event {
        match remote {
            Remote::Frame(frame) => Event::new(Kind::Arrived, self.frames.allocate::<M>(frame)),
            Remote::Pause { port, pause } => {
                let kind = if pause { Kind::Pause } else { Kind::Resume };
                Event::new(kind, port - self.first_port)
            }
        }
    }

    /// The local switch of local port `port`.
    pub(crate) fn switch_of(&self, port: u32) -> u32 {
        self.plans[port as usize].process - self.routers.start
    }

    /// Bytes that wait at output `port` of the machine.
    pub(crate) fn load(&self, port: u32) -> u64 {
        let port = self.ports.get(port - self.first_port);
        port.data_bytes + port.control_bytes
    }

    /// The logical process of local node `nic`.
    pub(crate) fn process_of_nic(&self, nic: u32) -> u32 {
        self.plans[(self.switch_ports + nic) as usize].process
    }

    /// Whether local node `nic` transmits nothing.
    pub(crate) fn is_nic_idle(&self, nic: u32) -> bool {
        self.ports.get(self.switch_ports + nic).serving == Serving::Nothing
    }

    /// Whether its switch has paused local node `nic`.
    pub(crate) fn is_nic_paused(&self, nic: u32) -> bool {
        self.ports.get(self.switch_ports + nic).is_paused()
    }

    /// Begins to transmit `frame` from local node `nic`, which [is idle](Self::is_nic_idle).
    pub(crate) fn send_from_nic<S: Surroundings>(&mut self, s: &mut S, nic: u32, frame: u32) {
        let port = self.switch_ports + nic;
        let mut data = List::EMPTY;
        data.push::<S, _>(&mut self.frames, frame);
        let bytes = u64::from(self.frames.get(frame).bytes);
        let state = self.ports.edit::<S>(port);
        (state.data, state.data_bytes) = (data, bytes);
        self.transmit(s, port, Serving::Data, frame);
    }

    /// The node of local port `port` if it is a NIC, which may send now; a switch's port starts its next transmission.
    pub(crate) fn go_on<S: Surroundings>(&mut self, s: &mut S, port: u32) -> Option<u32> {
        let nic = port.checked_sub(self.switch_ports);
        if nic.is_none() {
            self.start(s, port);
        }
        nic
    }

    /// `frame` joins a queue of output `port` of the machine, or is lost, which `traffic` counts.
    pub(crate) fn enqueue<S: Surroundings>(
        &mut self,
        s: &mut S,
        traffic: &mut Store<TransportCounters>,
        port: u32,
        frame: u32,
    ) {
        let port = port - self.first_port;
        let queue = self.plans[port as usize].queue;
        let arriving = *self.frames.get(frame);
        let shares = self.pause.is_some();
        if !(arriving.is_data() || shares && arriving.is_lossless()) {
            return self.enqueue_control(s, traffic, port, frame);
        }
        let bytes = u64::from(arriving.bytes);
        let switch = self.switch_of(port);
        let state = self.ports.edit::<S>(port);
        let has_room = self.buffers.has_room(switch, state.data_bytes, bytes);
        let is_full = !shares && !has_room.unwrap_or(state.data_bytes + bytes <= queue);
        if !is_full {
            self.buffers.takes::<S>(switch, bytes);
            state.data_bytes += bytes;
            let mut list = state.data;
            list.push::<S, _>(&mut self.frames, frame);
            let state = self.ports.edit::<S>(port);
            state.data = list;
            let waiting = state.data_bytes;
            let counters = self.counters.edit::<S>(port);
            counters.most = counters.most.max(waiting);
            return self.start(s, port);
        }
        let newest = state.data.tail;
        let takes_newest = newest != NIL && state.stream.below(2) == 0;
        let mut loses = arriving;
        if takes_newest {
            // The slot of the newest becomes that of the arriving frame, at the end of the queue.
            loses = *self.frames.get(newest);
            state.data_bytes = state.data_bytes + bytes - u64::from(loses.bytes);
            self.buffers.takes::<S>(switch, bytes);
            self.buffers.frees::<S>(switch, u64::from(loses.bytes));
            *self.frames.edit::<S>(newest) = Frame { next: NIL, ..arriving };
            *self.frames.edit::<S>(frame) = loses;
        }
        let counters = self.counters.edit::<S>(port);
        if !self.trimming {
            counters.dropped += 1;
            traffic.edit::<S>(u32::from(loses.traffic)).dropped += 1;
            self.frames.free::<S>(frame);
            return;
        }
        counters.trimmed += 1;
        traffic.edit::<S>(u32::from(loses.traffic)).trimmed += 1;
        let lost = self.frames.edit::<S>(frame);
        (lost.kind, lost.bytes) = (FrameKind::Trimmed, self.control);
        self.enqueue_control(s, traffic, port, frame);
    }

    fn enqueue_control<S: Surroundings>(
        &mut self,
        s: &mut S,
        traffic: &mut Store<TransportCounters>,
        port: u32,
        frame: u32,
    ) {
        let (bytes, owner) = (u64::from(self.frames.get(frame).bytes), self.frames.get(frame).traffic);
        let state = self.ports.edit::<S>(port);
        if state.control_bytes + bytes > 2 * self.plans[port as usize].queue {
            self.counters.edit::<S>(port).dropped += 1;
            traffic.edit::<S>(u32::from(owner)).dropped += 1;
            self.frames.free::<S>(frame);
            return;
        }
        state.control_bytes += bytes;
        let mut list = state.control;
        list.push::<S, _>(&mut self.frames, frame);
        self.ports.edit::<S>(port).control = list;
        self.start(s, port);
    }

    /// Starts the next transmission of a switch's port if it is idle.
    fn start<S: Surroundings>(&mut self, s: &mut S, port: u32) {
        let state = self.ports.get(port);
        if state.serving != Serving::Nothing {
            return;
        }
        // In a lossless network, control frames are those of a class without pauses.
        let data = if state.is_paused() { NIL } else { state.data.head };
        let (serving, frame) = match (state.control.head, data) {
            (NIL, NIL) => return,
            (NIL, data) => (Serving::Data, data),
            (control, _) => (Serving::Control, control),
        };
        self.transmit(s, port, serving, frame);
    }

    /// Begins to transmit the first frame of a queue.
    fn transmit<S: Surroundings>(&mut self, s: &mut S, port: u32, serving: Serving, frame: u32) {
        let plan = &self.plans[port as usize];
        let takes = plan.time_for(self.frames.get(frame).bytes);
        self.ports.edit::<S>(port).serving = serving;
        let end = Time((s.now() + takes).0.max(s.now().0 + 1));
        s.send(plan.process, end, Event::new(Kind::Transmitted, port));
    }

    /// A transmission has ended: the frame is on its way, and the next one starts. Returns the local node that may send now,
    /// if it is the port of one.
    pub(crate) fn transmitted<S: Surroundings>(&mut self, s: &mut S, port: u32) -> Option<u32> {
        let plan = self.plans[port as usize];
        let is_switch = port < self.switch_ports;
        let switch = self.switch_of(port);
        let state = self.ports.edit::<S>(port);
        let is_data = state.serving == Serving::Data;
        state.serving = Serving::Nothing;
        let mut list = if is_data { state.data } else { state.control };
        let frame = list.pop(&self.frames)?;
        let bytes = self.frames.get(frame).bytes;
        let mut marks = false;
        if is_data {
            state.data = list;
            state.data_bytes = state.data_bytes.saturating_sub(u64::from(bytes));
            if is_switch {
                self.buffers.frees::<S>(switch, u64::from(bytes));
            }
            let behind = state.data_bytes;
            marks = behind > plan.high
                || (behind > plan.low
                    && state.stream.unit() * ((plan.high - plan.low) as f64)
                        < (behind - plan.low) as f64 * self.probability);
        } else {
            state.control = list;
            state.control_bytes = state.control_bytes.saturating_sub(u64::from(bytes));
        }
        let behind = state.data_bytes;
        let counters = self.counters.edit::<S>(port);
        counters.bytes += u64::from(bytes);
        counters.busy += plan.time_for(bytes);
        let is_packet = self.frames.get(frame).is_data();
        match is_packet {
            true => counters.data += 1,
            false => counters.control += 1,
        }
        if is_switch && marks && is_packet && self.marks {
            counters.marked += 1;
            self.frames.edit::<S>(frame).marked = true;
        }
        if is_switch {
            if self.telemetry.is_on() {
                let found = self
                    .telemetry
                    .depart::<S>(s.now(), port, (bytes, behind), plan.ps_per_byte);
                if is_packet {
                    let most = &mut self.frames.edit::<S>(frame).utilization;
                    *most = most.max(found);
                }
            }
            self.leaves_switch(s, frame);
        }
        self.propagate(s, &plan, frame);
        self.go_on(s, port)
    }

    /// `frame` reaches the other end of the link of `plan` after its latency.
    fn propagate<S: Surroundings>(&mut self, s: &mut S, plan: &PortPlan, frame: u32) {
        let at = s.now() + plan.latency;
        match plan.peer {
            Peer::Node(_) => s.send(plan.process, at, Event::new(Kind::Delivered, frame)),
            Peer::Router { router, port } => {
                self.frames.edit::<S>(frame).ingress = port;
                if self.routers.contains(&router) {
                    s.send(router, at, Event::new(Kind::Arrived, frame));
                } else {
                    let copy = *self.frames.get(frame);
                    self.frames.free::<S>(frame);
                    s.export(router, at, Remote::Frame(copy));
                }
            }
            Peer::Free => self.frames.free::<S>(frame),
        }
    }
}

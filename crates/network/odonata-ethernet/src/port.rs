//! Output queues: store and forward, a queue of data and one of control frames.
//!
//! A frame leaves its queue when its transmission ends, so the frame in transmission counts. Control frames go first
//! but interrupt no transmission. A data frame that finds no room is trimmed, or the one that came before it is: the
//! same with probability 1/2 (the rule of NDP: M. Handley et al., "Re-architecting datacenter networks and stacks for
//! low latency and high performance", SIGCOMM 2017). ECN marks at departure by the bytes left behind, with a
//! probability that is linear between two thresholds.

use crate::carrier::{Ethernet, Event, Kind, Remote, Surroundings};
use crate::frame::{Frame, FrameKind};
use odonata_engine::{List, NIL, Stream, Time};
use odonata_topology::Peer;

/// What a port transmits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) enum Serving {
    Nothing,
    Data,
    Control,
}

/// The state of an output port or of a NIC, whose list of data holds only the frame in transmission.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct Port {
    pub(crate) data: List,
    pub(crate) control: List,
    pub(crate) data_bytes: u64,
    pub(crate) control_bytes: u64,
    pub(crate) serving: Serving,
    /// Since when it is paused; [`Time::NEVER`] if it is not.
    pub(crate) paused: Time,
    pub(crate) stream: Stream,
}

impl Port {
    pub(crate) fn new(stream: Stream) -> Port {
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

    pub(crate) fn is_paused(&self) -> bool {
        self.paused != Time::NEVER
    }
}

/// The constants of a port.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PortPlan {
    pub(crate) ps_per_byte: f64,
    pub(crate) latency: Time,
    /// The other end; the logical process of this one.
    pub(crate) peer: Peer,
    pub(crate) process: u32,
    /// Most bytes of data; thresholds of ECN.
    pub(crate) queue: u64,
    pub(crate) low: u64,
    pub(crate) high: u64,
}

impl PortPlan {
    pub(crate) fn time_for(&self, bytes: u32) -> Time {
        Time::from_ps_f64(f64::from(bytes) * self.ps_per_byte)
    }
}

impl Ethernet {
    /// `frame` joins a queue of output `port` of a switch.
    pub(crate) fn enqueue<S: Surroundings>(&mut self, s: &mut S, port: u32, frame: u32) {
        let plan = self.plans[port as usize];
        let arriving = *self.frames.get(frame);
        let shares = self.params.pause.is_some();
        let state = self.ports.edit::<S>(port);
        if !(arriving.is_data() || shares && arriving.is_lossless()) {
            return self.enqueue_control(s, port, frame);
        }
        let is_full = !shares && state.data_bytes + u64::from(arriving.bytes) > plan.queue;
        if !is_full {
            state.data_bytes += u64::from(arriving.bytes);
            let mut list = state.data;
            list.push::<S, _>(&mut self.frames, frame);
            let state = self.ports.edit::<S>(port);
            state.data = list;
            let waiting = state.data_bytes;
            let counters = self.port_counters.edit::<S>(port);
            counters.most = counters.most.max(waiting);
            return self.start(s, port);
        }
        let newest = state.data.tail;
        let takes_newest = newest != NIL && state.stream.below(2) == 0;
        let mut loses = arriving;
        if takes_newest {
            // The slot of the newest becomes that of the arriving frame, at the end of the queue.
            loses = *self.frames.get(newest);
            state.data_bytes = state.data_bytes + u64::from(arriving.bytes) - u64::from(loses.bytes);
            *self.frames.edit::<S>(newest) = Frame { next: NIL, ..arriving };
            *self.frames.edit::<S>(frame) = loses;
        }
        let counters = self.port_counters.edit::<S>(port);
        if !self.params.trimming {
            counters.dropped += 1;
            self.traffic.edit::<S>(u32::from(loses.traffic)).dropped += 1;
            self.frames.free::<S>(frame);
            return;
        }
        counters.trimmed += 1;
        self.traffic.edit::<S>(u32::from(loses.traffic)).trimmed += 1;
        let lost = self.frames.edit::<S>(frame);
        (lost.kind, lost.bytes) = (FrameKind::Trimmed, self.params.control);
        self.enqueue_control(s, port, frame);
    }

    fn enqueue_control<S: Surroundings>(&mut self, s: &mut S, port: u32, frame: u32) {
        let (bytes, traffic) = (u64::from(self.frames.get(frame).bytes), self.frames.get(frame).traffic);
        let state = self.ports.edit::<S>(port);
        if state.control_bytes + bytes > 2 * self.plans[port as usize].queue {
            self.port_counters.edit::<S>(port).dropped += 1;
            self.traffic.edit::<S>(u32::from(traffic)).dropped += 1;
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
    pub(crate) fn start<S: Surroundings>(&mut self, s: &mut S, port: u32) {
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
    pub(crate) fn transmit<S: Surroundings>(&mut self, s: &mut S, port: u32, serving: Serving, frame: u32) {
        let plan = &self.plans[port as usize];
        let takes = plan.time_for(self.frames.get(frame).bytes);
        self.ports.edit::<S>(port).serving = serving;
        let end = Time((s.now() + takes).0.max(s.now().0 + 1));
        s.send(plan.process, end, Event::new(Kind::Transmitted, port));
    }

    /// A transmission has ended: the frame is on its way, and the next one starts.
    pub(crate) fn transmitted<S: Surroundings>(&mut self, s: &mut S, port: u32) {
        let plan = self.plans[port as usize];
        let state = self.ports.edit::<S>(port);
        let is_data = state.serving == Serving::Data;
        state.serving = Serving::Nothing;
        let mut list = if is_data { state.data } else { state.control };
        let Some(frame) = list.pop(&self.frames) else {
            return;
        };
        let bytes = self.frames.get(frame).bytes;
        let mut marks = false;
        if is_data {
            state.data = list;
            state.data_bytes = state.data_bytes.saturating_sub(u64::from(bytes));
            let behind = state.data_bytes;
            marks = behind > plan.high
                || (behind > plan.low
                    && state.stream.unit() * ((plan.high - plan.low) as f64)
                        < (behind - plan.low) as f64 * self.params.probability);
        } else {
            state.control = list;
            state.control_bytes = state.control_bytes.saturating_sub(u64::from(bytes));
        }
        let counters = self.port_counters.edit::<S>(port);
        counters.bytes += u64::from(bytes);
        counters.busy += plan.time_for(bytes);
        let is_packet = self.frames.get(frame).is_data();
        match is_packet {
            true => counters.data += 1,
            false => counters.control += 1,
        }
        let is_switch = port < self.switch_ports;
        if is_switch && marks && is_packet && self.params.marks {
            counters.marked += 1;
            self.frames.edit::<S>(frame).marked = true;
        }
        if is_switch {
            self.leaves_switch(s, frame);
        }
        self.propagate(s, &plan, frame);
        match is_switch {
            true => self.start(s, port),
            false => self.serve_nic(s, port - self.switch_ports),
        }
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

//! Priority flow control (IEEE 802.1Qbb): a switch counts the bytes that came in by each port and still wait. Above a
//! threshold it pauses the other end of that cable, below a second one it lets it go on. A pause takes the latency of
//! the cable and stops no transmission that has begun. The buffer beyond the threshold is unlimited, so nothing is
//! lost. With a [shared buffer](crate::shared_buffer) the first threshold is T, and the second four fifths of it.

use crate::carrier::{Event, Kind, Remote, Surroundings};
use crate::port::Ports;
use odonata_engine::Time;
use odonata_topology::Peer;

/// What came in by a port and waits.
#[derive(Clone, Copy, Debug, Default, serde::Serialize, serde::Deserialize)]
pub(crate) struct Ingress {
    bytes: u64,
    pauses: bool,
}

/// Where a frame entered its switch, and the bytes of that input above which and below which it is paused and resumed.
struct Input {
    port: u32,
    bytes: u64,
    above: u64,
    below: u64,
}

impl Ports {
    /// `frame` has entered the switch of its input.
    pub(crate) fn enters_switch<S: Surroundings>(&mut self, s: &mut S, frame: u32) {
        let Some(input) = self.input_of(frame) else {
            return;
        };
        let ingress = self.ingresses.edit::<S>(input.port);
        ingress.bytes += input.bytes;
        if ingress.bytes > input.above && !ingress.pauses {
            ingress.pauses = true;
            self.counters.edit::<S>(input.port).pauses += 1;
            self.signal(s, input.port, true);
        }
    }

    /// `frame` has left the switch of its input.
    pub(crate) fn leaves_switch<S: Surroundings>(&mut self, s: &mut S, frame: u32) {
        let Some(input) = self.input_of(frame) else {
            return;
        };
        let ingress = self.ingresses.edit::<S>(input.port);
        ingress.bytes -= input.bytes;
        if ingress.bytes < input.below && ingress.pauses {
            ingress.pauses = false;
            self.signal(s, input.port, false);
        }
    }

    /// The input of `frame`; `None` if pauses do not concern the frame.
    fn input_of(&self, frame: u32) -> Option<Input> {
        let (above, below) = self.pause?;
        let frame = self.frames.get(frame);
        if !frame.is_lossless() {
            return None;
        }
        let port = frame.ingress - self.first_port;
        // An input without waiting bytes goes on even if others have filled the buffer.
        let (above, below) = match self.buffers.threshold(self.switch_of(port)) {
            Some(threshold) => (threshold, (threshold / 5 * 4).max(1)),
            None => (above, below),
        };
        Some(Input {
            port,
            bytes: u64::from(frame.bytes),
            above,
            below,
        })
    }

    /// Tells the other end of the cable at local port `port`.
    fn signal<S: Surroundings>(&mut self, s: &mut S, port: u32, pause: bool) {
        let plan = self.plans[port as usize];
        let at = s.now() + plan.latency;
        let kind = if pause { Kind::Pause } else { Kind::Resume };
        match plan.peer {
            Peer::Node(node) => {
                let nic = self.switch_ports + node - self.first_node;
                s.send(plan.process, at, Event::new(kind, nic));
            }
            Peer::Router { router, port } if self.routers.contains(&router) => {
                s.send(router, at, Event::new(kind, port - self.first_port));
            }
            Peer::Router { router, port } => s.export(router, at, Remote::Pause { port, pause }),
            Peer::Free => {}
        }
    }

    /// Local port or NIC `port` must pause, or may go on. Returns the local node that may send now, if it is the port of one.
    pub(crate) fn signalled<S: Surroundings>(&mut self, s: &mut S, port: u32, pause: bool) -> Option<u32> {
        let now = s.now();
        let state = self.ports.edit::<S>(port);
        if pause {
            state.paused = now;
            return None;
        }
        let since = std::mem::replace(&mut state.paused, Time::NEVER);
        self.counters.edit::<S>(port).paused += Time(now.0.saturating_sub(since.0));
        self.go_on(s, port)
    }
}

//! Priority flow control (IEEE 802.1Qbb): a switch counts the bytes that came in by each port and still wait. Above a
//! threshold it pauses the other end of that cable, below a second one it lets it go on. A pause takes the latency of
//! the cable and stops no transmission that has begun. The buffer beyond the threshold is unlimited, so nothing is
//! lost.

use crate::carrier::{Ethernet, Event, Kind, Remote, Surroundings};
use odonata_engine::Time;
use odonata_topology::Peer;

/// What came in by a port and waits.
#[derive(Clone, Copy, Debug, Default, serde::Serialize, serde::Deserialize)]
pub(crate) struct Ingress {
    bytes: u64,
    pauses: bool,
}

impl Ethernet {
    /// `frame` has entered the switch of its input.
    pub(crate) fn enters_switch<S: Surroundings>(&mut self, s: &mut S, frame: u32) {
        let Some((above, _)) = self.params.pause else {
            return;
        };
        let frame = self.frames.get(frame);
        if !frame.is_lossless() {
            return;
        }
        let port = frame.ingress - self.first_port;
        let ingress = self.ingresses.edit::<S>(port);
        ingress.bytes += u64::from(frame.bytes);
        if ingress.bytes > above && !ingress.pauses {
            ingress.pauses = true;
            self.port_counters.edit::<S>(port).pauses += 1;
            self.signal(s, port, true);
        }
    }

    /// `frame` has left the switch of its input.
    pub(crate) fn leaves_switch<S: Surroundings>(&mut self, s: &mut S, frame: u32) {
        let Some((_, below)) = self.params.pause else {
            return;
        };
        let frame = self.frames.get(frame);
        if !frame.is_lossless() {
            return;
        }
        let port = frame.ingress - self.first_port;
        let ingress = self.ingresses.edit::<S>(port);
        ingress.bytes -= u64::from(frame.bytes);
        if ingress.bytes < below && ingress.pauses {
            ingress.pauses = false;
            self.signal(s, port, false);
        }
    }

    /// Tells the other end of the cable at local port `port`.
    fn signal<S: Surroundings>(&mut self, s: &mut S, port: u32, pause: bool) {
        let plan = self.plans[port as usize];
        let at = s.now() + plan.latency;
        let kind = if pause { Kind::Pause } else { Kind::Resume };
        match plan.peer {
            Peer::Node(node) => {
                let nic = self.switch_ports + node - self.nodes.start;
                s.send(plan.process, at, Event::new(kind, nic));
            }
            Peer::Router { router, port } if self.routers.contains(&router) => {
                s.send(router, at, Event::new(kind, port - self.first_port));
            }
            Peer::Router { router, port } => s.export(router, at, Remote::Pause { port, pause }),
            Peer::Free => {}
        }
    }

    /// Local port or NIC `port` must pause, or may go on.
    pub(crate) fn signalled<S: Surroundings>(&mut self, s: &mut S, port: u32, pause: bool) {
        let now = s.now();
        let state = self.ports.edit::<S>(port);
        if pause {
            state.paused = now;
            return;
        }
        let since = std::mem::replace(&mut state.paused, Time::NEVER);
        self.port_counters.edit::<S>(port).paused += Time(now.0.saturating_sub(since.0));
        match port < self.switch_ports {
            true => self.start(s, port),
            false => self.serve_nic(s, port - self.switch_ports),
        }
    }
}

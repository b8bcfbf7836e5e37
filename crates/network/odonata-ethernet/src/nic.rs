//! NICs: flows of a node take turns packet by packet; ten control frames go for one packet where both wait.

use crate::carrier::{Ethernet, Surroundings};
use crate::credit::Pacer;
use crate::port::Serving;
use odonata_engine::{List, NIL};

/// Turns of control frames and one of data.
const TURNS: u8 = 11;

/// The state of a NIC beside that of its port.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct Nic {
    /// Flows that could send when they joined.
    flows: List,
    control: List,
    turn: u8,
    /// The number of the next flow.
    pub(crate) next_number: u32,
    /// The flows that arrive here, linked.
    pub(crate) receivers: u32,
    pub(crate) pacer: Pacer,
    /// Flows in turn.
    pub(crate) active: u32,
}

impl Nic {
    pub(crate) const NEW: Nic = Nic {
        flows: List::EMPTY,
        control: List::EMPTY,
        turn: 0,
        next_number: 0,
        receivers: NIL,
        pacer: Pacer::NEW,
        active: 0,
    };
}

impl Ethernet {
    /// Lets flow `sender` have its turns if it may send.
    pub(crate) fn offer<S: Surroundings>(&mut self, s: &mut S, sender: u32) {
        let flow = self.senders.get(sender);
        if flow.is_queued || !self.may_send(sender) {
            return;
        }
        let nic = flow.source - self.nodes.start;
        self.join(s, nic, sender);
        self.serve_nic(s, nic);
    }

    fn join<S: Surroundings>(&mut self, _: &S, nic: u32, sender: u32) {
        self.senders.edit::<S>(sender).is_queued = true;
        let mut flows = self.nics.get(nic).flows;
        flows.push::<S, _>(&mut self.senders, sender);
        let state = self.nics.edit::<S>(nic);
        state.flows = flows;
        state.active += 1;
    }

    /// Takes a complete flow out of its turn.
    pub(crate) fn forget_turn<S: Surroundings>(&mut self, sender: u32) {
        let (source, number) = self.senders.get(sender).flow();
        let nic = source - self.nodes.start;
        let mut flows = self.nics.get(nic).flows;
        flows.remove_first::<S, _>(&mut self.senders, |other| other.flow() == (source, number));
        let state = self.nics.edit::<S>(nic);
        state.flows = flows;
        state.active -= 1;
    }

    /// Sends control frame `frame` of local node `nic`.
    pub(crate) fn send_control<S: Surroundings>(&mut self, s: &mut S, nic: u32, frame: u32) {
        let mut control = self.nics.get(nic).control;
        control.push::<S, _>(&mut self.frames, frame);
        self.nics.edit::<S>(nic).control = control;
        self.serve_nic(s, nic);
    }

    /// Starts the next transmission of a NIC if it is idle.
    pub(crate) fn serve_nic<S: Surroundings>(&mut self, s: &mut S, nic: u32) {
        let port = self.switch_ports + nic;
        if self.ports.get(port).serving != Serving::Nothing {
            return;
        }
        if self.ports.get(port).is_paused() {
            return self.serve_paused_nic(s, nic);
        }
        let state = self.nics.edit::<S>(nic);
        let mut takes_data = !state.flows.is_empty();
        if takes_data && !state.control.is_empty() {
            state.turn = (state.turn + 1) % TURNS;
            takes_data = state.turn == 0;
        }
        if takes_data {
            while let Some(sender) = self.nics.edit::<S>(nic).flows.pop(&self.senders) {
                self.nics.edit::<S>(nic).active -= 1;
                self.senders.edit::<S>(sender).is_queued = false;
                if !self.may_send(sender) {
                    continue;
                }
                let frame = self.next_packet(s, sender);
                if self.may_send(sender) {
                    self.join(s, nic, sender);
                }
                return self.transmit_from_nic(s, port, frame);
            }
        }
        let state = self.nics.edit::<S>(nic);
        if let Some(frame) = state.control.pop(&self.frames) {
            self.transmit_from_nic(s, port, frame);
        }
    }

    /// Sends the first control frame that pauses do not stop.
    fn serve_paused_nic<S: Surroundings>(&mut self, s: &mut S, nic: u32) {
        let mut control = self.nics.get(nic).control;
        if control.is_empty() || self.params.dcqcn.is_none() {
            return;
        }
        let first = control.remove_first::<S, _>(&mut self.frames, |frame| !frame.is_lossless());
        if let Some(frame) = first {
            self.nics.edit::<S>(nic).control = control;
            self.transmit_from_nic(s, self.switch_ports + nic, frame);
        }
    }

    fn transmit_from_nic<S: Surroundings>(&mut self, s: &mut S, port: u32, frame: u32) {
        let mut data = List::EMPTY;
        data.push::<S, _>(&mut self.frames, frame);
        let bytes = u64::from(self.frames.get(frame).bytes);
        let state = self.ports.edit::<S>(port);
        (state.data, state.data_bytes) = (data, bytes);
        self.transmit(s, port, Serving::Data, frame);
    }
}

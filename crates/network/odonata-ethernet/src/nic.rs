//! Turns of NICs: flows of a node take turns packet by packet; ten control frames go for one packet where both wait.

use crate::frame::Frame;
use crate::sender::Sender;
use odonata_engine::{List, Mode, Pool, Store};

/// Turns of control frames and one of data.
const TURNS: u8 = 11;

/// What waits at a NIC.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
struct Waiting {
    /// Flows that could send when they joined.
    flows: List,
    control: List,
    turn: u8,
    /// Flows in turn.
    active: u32,
}

/// The turns of the NICs of a part.
#[derive(Debug)]
pub(crate) struct Turns {
    nics: Store<Waiting>,
}
odonata_engine::journalled!(Turns { nics });

impl Turns {
    pub(crate) const BYTES_PER_NIC: usize = size_of::<Waiting>();

    /// Of `nics` idle NICs.
    pub(crate) fn new(nics: usize) -> Turns {
        let idle = Waiting {
            flows: List::EMPTY,
            control: List::EMPTY,
            turn: 0,
            active: 0,
        };
        Turns {
            nics: Store::filled(nics, idle),
        }
    }

    /// Flows of `nic` in turn.
    pub(crate) fn flows(&self, nic: u32) -> u32 {
        self.nics.get(nic).active
    }

    /// Flow `sender` takes turns at `nic`.
    pub(crate) fn join<M: Mode>(&mut self, nic: u32, senders: &mut Pool<Sender>, sender: u32) {
        senders.edit::<M>(sender).is_queued = true;
        let mut flows = self.nics.get(nic).flows;
        flows.push::<M, _>(senders, sender);
        let state = self.nics.edit::<M>(nic);
        state.flows = flows;
        state.active += 1;
    }

    /// Takes flow `flow`, by its source and number, out of its turn at `nic`.
    pub(crate) fn leave<M: Mode>(&mut self, nic: u32, senders: &mut Pool<Sender>, flow: (u32, u32)) {
        let mut flows = self.nics.get(nic).flows;
        flows.remove_first::<M, _>(senders, |other| other.flow() == flow);
        let state = self.nics.edit::<M>(nic);
        state.flows = flows;
        state.active -= 1;
    }

    /// Control frame `frame` waits at `nic`.
    pub(crate) fn push_control<M: Mode>(&mut self, nic: u32, frames: &mut Pool<Frame>, frame: u32) {
        let mut control = self.nics.get(nic).control;
        control.push::<M, _>(frames, frame);
        self.nics.edit::<M>(nic).control = control;
    }

    /// Whether the next turn at `nic` is one of data.
    pub(crate) fn is_for_data<M: Mode>(&mut self, nic: u32) -> bool {
        let state = self.nics.edit::<M>(nic);
        if state.flows.is_empty() || state.control.is_empty() {
            return !state.flows.is_empty();
        }
        state.turn = (state.turn + 1) % TURNS;
        state.turn == 0
    }

    /// Takes the flow whose turn it is at `nic` out of its turn.
    pub(crate) fn next_flow<M: Mode>(&mut self, nic: u32, senders: &mut Pool<Sender>) -> Option<u32> {
        let state = self.nics.edit::<M>(nic);
        let sender = state.flows.pop(senders)?;
        state.active -= 1;
        senders.edit::<M>(sender).is_queued = false;
        Some(sender)
    }

    /// Takes the first control frame of `nic`.
    pub(crate) fn next_control<M: Mode>(&mut self, nic: u32, frames: &Pool<Frame>) -> Option<u32> {
        self.nics.edit::<M>(nic).control.pop(frames)
    }

    /// Takes the first control frame of `nic` that pauses do not stop.
    pub(crate) fn next_unpaused<M: Mode>(&mut self, nic: u32, frames: &mut Pool<Frame>) -> Option<u32> {
        let mut control = self.nics.get(nic).control;
        if control.is_empty() {
            return None;
        }
        let frame = control.remove_first::<M, _>(frames, |frame| !frame.is_lossless())?;
        self.nics.edit::<M>(nic).control = control;
        Some(frame)
    }
}

//! RCCC of Ultra Ethernet: receivers grant credit, senders have no window (Ultra Ethernet Specification 1.0, 2025).
//!
//! A flow starts with a speculative credit of the largest window, which its first answer takes back. Each packet tells
//! the receiver up to which count of bytes the sender wants credit. A node grants its flows credit in turn, paced a
//! little below the rate of its link, by pulls of 64 B. Flows whose demand is met share the rest as *slow pulls*, up to
//! a largest window ahead of demand. Counts are bytes on the wire since the start of the flow.

use crate::carrier::{Ethernet, Event, Kind, Surroundings};
use crate::frame::{Frame, FrameKind};
use crate::params::Params;
use odonata_engine::{NIL, Time};

/// Bytes of a pull.
const PULL: u64 = 16_384;
/// Bytes for which a pull without credit takes time.
const EMPTY_PULL: u64 = 1024;
/// Part of the link's rate.
const SHARE: f64 = 0.99;

/// The credit of a sender.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Credit {
    /// Bytes that may be sent while it is positive.
    pub(crate) left: i64,
    /// The highest count granted.
    granted: u64,
    speculates: bool,
}

impl Credit {
    pub(crate) fn new(params: &Params) -> Credit {
        Credit {
            left: params.window as i64,
            granted: 0,
            speculates: true,
        }
    }

    /// An answer has arrived: speculation ends.
    pub(crate) fn answered(&mut self) {
        if self.speculates {
            self.speculates = false;
            self.left = self.left.min(0);
        }
    }

    /// Credit up to `count`.
    pub(crate) fn grant(&mut self, params: &Params, count: u64) {
        self.answered();
        if count > self.granted {
            let most = params.window as i64;
            self.left = (self.left + (count - self.granted) as i64).min(most);
            self.granted = count;
        }
    }

    /// Up to which count a sender with `backlog` bytes to send wants credit, one of `active` flows of its NIC.
    pub(crate) fn wanted(&self, params: &Params, backlog: u64, active: u64) -> u64 {
        let full = i64::from(params.payload + params.header);
        let mut wanted = (backlog as i64).min(params.window as i64) - self.left;
        if self.speculates && wanted < full && backlog > 0 {
            wanted = full;
        }
        let share = wanted / active.max(1) as i64;
        self.granted.saturating_add_signed(share)
    }
}

/// What a receiver has granted.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Grants {
    /// The highest count wanted, and the count granted.
    wanted: u64,
    granted: u64,
    /// Its place among flows with demand, and among those without; 0: none.
    turn: u64,
    idle_turn: u64,
}

/// The pacer of a node.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Pacer {
    is_running: bool,
    /// Places given so far.
    turns: u64,
}

impl Pacer {
    pub(crate) const NEW: Pacer = Pacer {
        is_running: false,
        turns: 0,
    };

    fn next_turn(&mut self) -> u64 {
        self.turns += 1;
        self.turns
    }
}

impl Ethernet {
    /// `frame` of the flow of `receiver` states demand; if it was trimmed, its credit is used up anyway.
    pub(crate) fn demand<S: Surroundings>(&mut self, s: &mut S, receiver: u32, frame: &Frame) {
        if !self.params.has_credit {
            return;
        }
        let nic = frame.target - self.first_node;
        let grants = self.receivers.get(receiver).grants;
        let is_new = frame.received > grants.wanted;
        if grants.turn == 0 && (is_new || frame.kind == FrameKind::Trimmed) {
            let turn = self.flows.edit::<S>(nic).pacer.next_turn();
            self.receivers.edit::<S>(receiver).grants.turn = turn;
        }
        if is_new {
            self.receivers.edit::<S>(receiver).grants.wanted = frame.received;
        }
        if self.receivers.get(receiver).grants.turn != 0 && !self.flows.get(nic).pacer.is_running {
            self.pace(s, nic);
        }
    }

    /// The flow of local node `nic` with the lowest place by `place`.
    fn first(&self, nic: u32, place: impl Fn(&Grants) -> u64) -> Option<u32> {
        let (mut slot, mut first) = (self.flows.get(nic).receivers, None);
        while slot != NIL {
            let receiver = self.receivers.get(slot);
            let turn = place(&receiver.grants);
            if turn != 0 && first.is_none_or(|(lowest, _)| turn < lowest) {
                first = Some((turn, slot));
            }
            slot = receiver.next;
        }
        first.map(|(_, slot)| slot)
    }

    /// Local node `nic` grants credit to its next flow.
    pub(crate) fn pace<S: Surroundings>(&mut self, s: &mut S, nic: u32) {
        let demanding = self.first(nic, |grants| grants.turn);
        let Some(slot) = demanding.or_else(|| self.first(nic, |grants| grants.idle_turn)) else {
            self.flows.edit::<S>(nic).pacer.is_running = false;
            return;
        };
        let pacer = &mut self.flows.edit::<S>(nic).pacer;
        pacer.is_running = true;
        let next = pacer.next_turn();
        let most = self.params.window as u64;
        let receiver = self.receivers.edit::<S>(slot);
        let grants = &mut receiver.grants;
        let granted = if demanding.is_some() {
            let granted = PULL.min(grants.wanted.saturating_sub(grants.granted));
            grants.granted += granted;
            if grants.granted < grants.wanted {
                grants.turn = next;
            } else {
                (grants.turn, grants.idle_turn) = (0, next);
            }
            granted
        } else {
            grants.granted += PULL;
            let goes_on = grants.granted >= grants.wanted && grants.granted - grants.wanted < most;
            grants.idle_turn = if goes_on { next } else { 0 };
            PULL
        };
        let (count, flow) = (grants.granted, receiver.flow());
        let sender = receiver.sender;
        let pull = Frame {
            received: count,
            bytes: self.params.control,
            ..Frame::control(FrameKind::Pull, flow, (sender, slot), next as u16)
        };
        self.send_control(s, nic, pull);
        let bytes = if granted == 0 { EMPTY_PULL } else { granted };
        let takes = Time::from_ps_f64(bytes as f64 / self.params.rate / SHARE);
        let process = self.ports.process_of_nic(nic);
        let at = s.now() + takes;
        s.send(process, at, Event::new(Kind::Pace, nic));
    }

    /// A pull has arrived.
    pub(crate) fn pulled<S: Surroundings>(&mut self, s: &mut S, frame: &Frame) {
        if !self.is_for(frame) {
            return;
        }
        let params = &self.params;
        let sender = self.senders.edit::<S>(frame.sender);
        sender.credit.grant(params, frame.received);
        self.offer(s, frame.sender);
    }
}

//! Receivers: the receiving half of a flow. Packets arrive in any order.
//!
//! A receiver sends an ACK after so many bytes on the wire, and at once for the first packet, a marked one, and one that
//! asks for it; if packets before one that asks are missing, again when they are complete. It sends a NACK at once for
//! each trimmed packet. An ACK reports all packets up to the first gap and 64 more by a bitmap.
//!
//! Without trimming, receivers of RoCE report a packet that another one overtakes, once. With go-back-N they discard
//! packets out of sequence and report the first missing one, again only after it has arrived (InfiniBand Architecture
//! Specification 1.4, section 9.7.5).

use crate::carrier::{Ethernet, Event, Kind, Outcome, Surroundings};
use crate::credit::Grants;
use crate::frame::{Frame, FrameKind, NEW_ROUTE};
use odonata_engine::NIL;
use odonata_units::mix64;

/// The receiving half of a flow.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct Receiver {
    pub(crate) next: u32,
    message: u32,
    source: u32,
    number: u32,
    is_live: bool,
    /// A packet that asked for an ACK arrived before earlier ones.
    owes: bool,
    /// Go-back-N: the first missing packet is reported.
    is_reported: bool,
    bytes: u64,
    packets: u32,
    /// The first packet that has not arrived, and how many behind it have.
    expected: u32,
    ahead: u32,
    /// The packet after the last one that arrived or is reported.
    end: u32,
    /// Bytes on the wire that arrived, and those since the last ACK.
    received: u64,
    unreported: u64,
    /// The slot of its sender, once a frame has arrived, and its credit.
    pub(crate) sender: u32,
    pub(crate) grants: Grants,
}
odonata_engine::slots!(Receiver);

impl Receiver {
    /// Source and number.
    pub(crate) fn flow(&self) -> (u32, u32) {
        (self.source, self.number)
    }
}

impl Ethernet {
    /// Flow `number` of node `source` will arrive at node `target`: `message`, of `bytes`.
    pub fn open<S: Surroundings>(
        &mut self,
        _: &S,
        message: u32,
        (source, number): (u32, u32),
        target: u32,
        bytes: u64,
    ) {
        let nic = target - self.first_node;
        let receiver = Receiver {
            next: self.flows.get(nic).receivers,
            message,
            source,
            number,
            is_live: true,
            owes: false,
            is_reported: false,
            bytes,
            packets: bytes.div_ceil(u64::from(self.params.payload)).max(1) as u32,
            expected: 0,
            ahead: 0,
            end: 0,
            received: 0,
            unreported: 0,
            sender: NIL,
            grants: Grants::default(),
        };
        let slot = self.receivers.allocate::<S>(receiver);
        self.notifiers.forget::<S>(slot);
        self.flows.edit::<S>(nic).receivers = slot;
        self.arrived.clear::<S>(slot);
    }

    /// The receiver of the flow of `frame`; `None` if it is complete.
    fn find(&self, frame: &Frame) -> Option<u32> {
        let is_it = |slot: u32| {
            let receiver = self.receivers.get(slot);
            receiver.is_live && receiver.flow() == (frame.owner, frame.number)
        };
        if frame.receiver < self.receivers.touched() && is_it(frame.receiver) {
            return Some(frame.receiver);
        }
        let mut slot = self.flows.get(frame.target - self.first_node).receivers;
        while slot != NIL && !is_it(slot) {
            slot = self.receivers.get(slot).next;
        }
        (slot != NIL).then_some(slot)
    }

    /// A frame with data, or its header, has arrived.
    pub(crate) fn received<S: Surroundings>(&mut self, s: &mut S, frame: &Frame) -> Option<Outcome> {
        let traffic = u32::from(frame.traffic);
        let is_whole = frame.kind == FrameKind::Data;
        self.traffic.edit::<S>(traffic).marked += u64::from(is_whole && frame.marked);
        let Some(slot) = self.find(frame) else {
            self.traffic.edit::<S>(traffic).duplicates += u64::from(is_whole);
            self.answer(s, frame, FrameKind::Ack, None);
            return None;
        };
        let receiver = *self.receivers.get(slot);
        let sequence = frame.sequence;
        if sequence < receiver.expected || self.arrived.has(slot, sequence) {
            self.traffic.edit::<S>(traffic).duplicates += u64::from(is_whole);
            self.answer(s, frame, FrameKind::Ack, Some(slot));
            return None;
        }
        if frame.marked && self.params.dcqcn().is_some() {
            self.note_mark(s, slot, frame);
        }
        if self.params.has_credit && receiver.sender == NIL {
            self.receivers.edit::<S>(slot).sender = frame.sender;
        }
        if !is_whole {
            self.answer(s, frame, FrameKind::Nack, Some(slot));
            self.demand(s, slot, frame);
            return None;
        }
        if self.params.goes_back && sequence > receiver.expected {
            self.discard(s, slot, frame);
            return None;
        }
        if self.params.reports_gaps {
            self.report_gap(s, slot, frame);
        }
        self.demand(s, slot, frame);
        let payload = self.payload_of(receiver.bytes, receiver.packets, sequence);
        let counters = self.traffic.edit::<S>(traffic);
        counters.delivered += 1;
        counters.delivered_bytes += u64::from(payload);
        let mut answers = receiver.received == 0 || frame.marked || frame.asks;
        let (mut expected, mut ahead) = (receiver.expected, receiver.ahead);
        if sequence == expected {
            expected += 1;
            while ahead > 0 && self.arrived.has(slot, expected) {
                self.arrived.put::<S>(slot, expected, false);
                (expected, ahead) = (expected + 1, ahead - 1);
            }
        } else {
            self.arrived.put::<S>(slot, sequence, true);
            ahead += 1;
        }
        let threshold = self.params.acknowledge_every;
        let state = self.receivers.edit::<S>(slot);
        (state.expected, state.ahead) = (expected, ahead);
        state.received += u64::from(frame.bytes);
        state.unreported += u64::from(frame.bytes);
        state.owes |= frame.asks;
        if sequence == receiver.expected && ahead == 0 && state.owes {
            (answers, state.owes) = (true, false);
        }
        if answers || state.unreported >= threshold {
            self.answer(s, frame, FrameKind::Ack, Some(slot));
        }
        if expected < receiver.packets {
            return None;
        }
        self.close::<S>(slot, frame.target);
        Some(Outcome::Arrived(receiver.message))
    }

    /// Go-back-N: the packet of `frame` is out of sequence.
    fn discard<S: Surroundings>(&mut self, s: &mut S, slot: u32, frame: &Frame) {
        self.roce.edit::<S>(u32::from(frame.traffic)).out_of_sequence += 1;
        let receiver = *self.receivers.get(slot);
        if !receiver.is_reported {
            self.receivers.edit::<S>(slot).is_reported = true;
            self.report_missing(s, slot, frame, receiver.expected);
        }
    }

    /// The packet of `frame` has arrived: reports those that it has overtaken. With go-back-N there are none, and the
    /// next gap may be reported.
    fn report_gap<S: Surroundings>(&mut self, s: &mut S, slot: u32, frame: &Frame) {
        let end = self.receivers.get(slot).end;
        if frame.sequence >= end {
            (end..frame.sequence).for_each(|missing| self.report_missing(s, slot, frame, missing));
        }
        let receiver = self.receivers.edit::<S>(slot);
        receiver.end = end.max(frame.sequence + 1);
        receiver.is_reported = false;
    }

    fn report_missing<S: Surroundings>(&mut self, s: &mut S, slot: u32, frame: &Frame, sequence: u32) {
        let missing = Frame { sequence, ..*frame };
        self.answer(s, &missing, FrameKind::Nack, Some(slot));
    }

    /// `frame` of the flow of `receiver` has arrived marked.
    fn note_mark<S: Surroundings>(&mut self, s: &mut S, receiver: u32, frame: &Frame) {
        let now = s.now();
        match self.notifiers.mark::<S>(now, receiver, frame) {
            Some(due) if due == now => self.notify(s, receiver),
            Some(due) => {
                let process = self.ports.process_of_nic(frame.target - self.first_node);
                s.send(process, due, Event::new(Kind::Notify, receiver));
            }
            None => {}
        }
    }

    /// The notification of the flow of `receiver` may be due; an event of an earlier flow does not count.
    pub(crate) fn notify<S: Surroundings>(&mut self, s: &mut S, receiver: u32) {
        let Some(due) = self.notifiers.take::<S>(s.now(), receiver) else {
            return;
        };
        self.roce.edit::<S>(u32::from(due.traffic)).notifications += 1;
        let flow = self.receivers.get(receiver).flow();
        let notification = Frame {
            bytes: self.params.control,
            traffic: due.traffic,
            ..Frame::control(FrameKind::Notification, flow, (due.sender, receiver), 0)
        };
        self.send_control(s, due.node - self.first_node, notification);
    }

    /// Frees a complete receiver.
    fn close<S: Surroundings>(&mut self, slot: u32, node: u32) {
        let nic = node - self.first_node;
        let next = self.receivers.get(slot).next;
        let mut at = self.flows.get(nic).receivers;
        if at == slot {
            self.flows.edit::<S>(nic).receivers = next;
        } else {
            while self.receivers.get(at).next != slot {
                at = self.receivers.get(at).next;
            }
            self.receivers.edit::<S>(at).next = next;
        }
        self.receivers.edit::<S>(slot).is_live = false;
        self.notifiers.forget::<S>(slot);
        self.receivers.free::<S>(slot);
    }

    /// Sends an answer to `frame`; from a complete flow it reports everything.
    fn answer<S: Surroundings>(&mut self, s: &mut S, frame: &Frame, kind: FrameKind, slot: Option<u32>) {
        let counters = self.traffic.edit::<S>(u32::from(frame.traffic));
        match kind {
            FrameKind::Nack => counters.nacks += 1,
            _ => counters.acks += 1,
        }
        let (mut cumulative, mut bitmap, mut received) = (u32::MAX, 0, 0);
        if let Some(slot) = slot {
            let receiver = *self.receivers.get(slot);
            (cumulative, received) = (receiver.expected, receiver.received);
            let first = Frame { cumulative, ..*frame }.first();
            if receiver.ahead > 0 {
                // Beyond the range, bits are those of earlier packets.
                let end = (cumulative + self.arrived.range()).saturating_sub(first).min(64);
                bitmap = (0..end).fold(0, |bits, i| bits | u64::from(self.arrived.has(slot, first + i)) << i);
            }
            if kind == FrameKind::Ack {
                self.receivers.edit::<S>(slot).unreported = 0;
            }
        }
        let answer = Frame {
            next: NIL,
            target: frame.owner,
            receiver: slot.unwrap_or(NIL),
            bytes: self.params.control,
            hash: mix64(frame.hash),
            route: NEW_ROUTE,
            kind,
            asks: false,
            cumulative,
            bitmap,
            received,
            ingress: NIL,
            ..*frame
        };
        self.send_control(s, frame.target - self.first_node, answer);
    }
}

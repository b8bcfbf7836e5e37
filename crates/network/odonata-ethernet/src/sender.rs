//! Senders: the sending half of a flow. It sends each packet once, again when it is reported trimmed or missing or when no
//! answer comes for the timeout, and packets to send again first. With go-back-N it sends all from the missing one on.
//!
//! Two bits per packet between the first unacknowledged one and the last sent one: acknowledged, and waiting to be sent
//! again. `in_flight` counts bytes on the wire of packets sent and neither reported as arrived nor as trimmed.

use crate::balancer::{Balancer, Feedback};
use crate::carrier::{Ethernet, Event, Kind, Outcome, Submission, Surroundings};
use crate::counters::FlowRecord;
use crate::credit::Credit;
use crate::frame::{Frame, FrameKind, NEW_ROUTE};
use crate::window::Window;
use odonata_engine::random::Purpose;
use odonata_engine::{NIL, Stream, Time};
use odonata_units::mix64;

/// The sending half of a flow.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct Sender {
    pub(crate) next: u32,
    /// The message, for the hosts; [`NIL`] if they request no notice.
    message: u32,
    pub(crate) source: u32,
    target: u32,
    number: u32,
    traffic: u16,
    is_live: bool,
    pub(crate) is_queued: bool,
    receiver: u32,
    bytes: u64,
    packets: u32,
    /// The next new packet, the first unacknowledged one, and how many wait to be sent again.
    next_new: u32,
    base: u32,
    waiting: u32,
    in_flight: i64,
    /// Bytes that the receiver has reported.
    received: u64,
    started: Time,
    /// The one event of the timer, if there is one, and when the timeout ends.
    timer: Time,
    deadline: Time,
    hash: u64,
    again: u32,
    nacks: u32,
    window: Window,
    pub(crate) credit: Credit,
    balancer: Balancer,
}
odonata_engine::slots!(Sender);

impl Sender {
    /// Source and number.
    pub(crate) fn flow(&self) -> (u32, u32) {
        (self.source, self.number)
    }
}

/// The set of packets of the sender in `slot` that are acknowledged.
fn acknowledged(slot: u32) -> u32 {
    2 * slot
}

/// The set of those that wait to be sent again.
fn waiting(slot: u32) -> u32 {
    2 * slot + 1
}

impl Ethernet {
    /// Starts a flow; returns its number at its source.
    pub fn submit<S: Surroundings>(&mut self, s: &mut S, submission: &Submission) -> u32 {
        let Submission {
            message,
            source,
            target,
            bytes,
            traffic,
            created,
        } = *submission;
        let flows = self.flows.edit::<S>(source - self.first_node);
        let number = flows.next_number;
        flows.next_number += 1;
        let payload = u64::from(self.params.payload);
        let flow = u64::from(source) << 32 | u64::from(number);
        let now = s.now();
        let sender = Sender {
            next: NIL,
            message,
            source,
            target,
            number,
            traffic,
            is_live: true,
            is_queued: false,
            receiver: NIL,
            bytes,
            packets: bytes.div_ceil(payload).max(1) as u32,
            next_new: 0,
            base: 0,
            waiting: 0,
            in_flight: 0,
            received: 0,
            started: created,
            timer: Time::NEVER,
            deadline: Time::NEVER,
            hash: mix64(mix64(self.params.seed ^ 0x666c_6f77) ^ mix64(flow)),
            again: 0,
            nacks: 0,
            window: Window::new(&self.params, now),
            credit: Credit::new(&self.params),
            balancer: Balancer::new(&self.params, Stream::new(self.params.seed, flow, Purpose::Ethernet)),
        };
        let slot = self.senders.allocate::<S>(sender);
        self.sent.clear::<S>(acknowledged(slot));
        self.sent.clear::<S>(waiting(slot));
        if let Some(size) = self.paces.start::<S>(slot) {
            self.senders.edit::<S>(slot).window.size = size;
        }
        self.offer(s, slot);
        number
    }

    /// Bytes on the wire of packet `sequence`.
    fn size_of(&self, sender: &Sender, sequence: u32) -> u32 {
        if self.params.pads {
            return self.params.header + self.params.payload;
        }
        self.params.header + self.payload_of(sender.bytes, sender.packets, sequence)
    }

    /// Bytes of payload of packet `sequence` of a message.
    pub(crate) fn payload_of(&self, bytes: u64, packets: u32, sequence: u32) -> u32 {
        match sequence + 1 == packets {
            true => (bytes - u64::from(sequence) * u64::from(self.params.payload)) as u32,
            false => self.params.payload,
        }
    }

    /// The next packet to send, if there is one.
    fn next_sequence(&self, slot: u32, sender: &Sender) -> Option<u32> {
        if sender.waiting > 0 {
            return Some(self.sent.first(waiting(slot), sender.base, sender.next_new));
        }
        let is_within = sender.next_new < sender.packets && sender.next_new - sender.base < self.sent.range();
        is_within.then_some(sender.next_new)
    }

    /// Whether a flow has a packet to send and its window allows it.
    pub(crate) fn may_send(&self, slot: u32) -> bool {
        let sender = self.senders.get(slot);
        if !sender.is_live || self.paces.is_waiting(slot) {
            return false;
        }
        let Some(sequence) = self.next_sequence(slot, sender) else {
            return false;
        };
        if self.params.has_credit {
            return sender.credit.left > 0;
        }
        !self.params.has_window
            || sender.window.size >= (sender.in_flight + i64::from(self.size_of(sender, sequence))) as f64
    }

    /// The next packet of a flow, which starts now; one that [may send](Self::may_send).
    pub(crate) fn next_packet<S: Surroundings>(&mut self, s: &mut S, slot: u32) -> Frame {
        let now = s.now();
        let copy = *self.senders.get(slot);
        let sequence = self.next_sequence(slot, &copy).unwrap_or(copy.base);
        let again = sequence < copy.next_new;
        let bytes = self.size_of(&copy, sequence);
        if again {
            self.sent.put::<S>(waiting(slot), sequence, false);
        }
        let payload = u64::from(self.payload_of(copy.bytes, copy.packets, sequence));
        let counters = self.traffic.edit::<S>(u32::from(copy.traffic));
        match again {
            true => (counters.again, counters.again_bytes) = (counters.again + 1, counters.again_bytes + payload),
            false => (counters.packets, counters.bytes) = (counters.packets + 1, counters.bytes + payload),
        }
        let sender = self.senders.edit::<S>(slot);
        sender.in_flight += i64::from(bytes);
        match again {
            true => (sender.waiting, sender.again) = (sender.waiting - 1, sender.again + 1),
            false => sender.next_new += 1,
        }
        let window = (sender.window.size / f64::from(self.params.payload)) as u32;
        let entropy = sender.balancer.next(&self.params, sender.next_new, window);
        let is_last = sender.next_new == sender.packets;
        sender.credit.left -= i64::from(bytes);
        let is_used_up = match self.params.has_credit {
            true => sender.credit.left <= 0,
            false => sender.in_flight + i64::from(bytes) >= sender.window.size as i64,
        };
        let starts_timer = sender.timer == Time::NEVER && self.params.has_timer;
        if starts_timer {
            sender.deadline = now + self.params.timeout;
            sender.timer = sender.deadline;
        }
        let (source, at) = (sender.source, sender.timer);
        let full = u64::from(self.params.payload + self.params.header);
        let unsent = sender
            .bytes
            .saturating_sub(u64::from(sender.next_new) * u64::from(self.params.payload));
        let unsent = unsent + u64::from(sender.packets - sender.next_new) * u64::from(self.params.header);
        let backlog = unsent + u64::from(sender.waiting) * full;
        // This flow is not in turn while it sends.
        let active = u64::from(self.turns.flows(source - self.first_node)) + 1;
        let wanted = match self.params.has_credit {
            true => sender.credit.wanted(&self.params, backlog, active),
            false => 0,
        };
        let frame = Frame {
            next: NIL,
            target: sender.target,
            owner: source,
            number: sender.number,
            sender: slot,
            receiver: sender.receiver,
            bytes,
            sequence,
            stamp: now,
            hash: sender.hash,
            route: NEW_ROUTE,
            entropy,
            kind: FrameKind::Data,
            marked: false,
            asks: again || is_last || is_used_up,
            again,
            utilization: 0.0,
            cumulative: 0,
            bitmap: 0,
            received: wanted,
            ingress: NIL,
            traffic: sender.traffic,
        };
        let process = self.ports.process_of_nic(source - self.first_node);
        if let Some(next) = self.paces.send::<S>(now, slot, bytes) {
            s.send(process, next, Event::new(Kind::Paced, slot));
        }
        if starts_timer {
            s.send(process, at, Event::new(Kind::Timer, slot));
        }
        frame
    }

    /// Whether `frame`, an answer, is for the flow in its slot.
    pub(crate) fn is_for(&self, frame: &Frame) -> bool {
        let sender = self.senders.get(frame.sender);
        sender.is_live && sender.flow() == (frame.owner, frame.number)
    }

    /// An ACK has arrived.
    pub(crate) fn acknowledged<S: Surroundings>(&mut self, s: &mut S, frame: &Frame) -> Option<Outcome> {
        if !self.is_for(frame) {
            return None;
        }
        let (slot, now) = (frame.sender, s.now());
        let sender = *self.senders.get(slot);
        let is_first = frame.sequence >= sender.base && !self.sent.has(acknowledged(slot), frame.sequence);
        // Acknowledgments overtake each other.
        let cumulative = frame.cumulative.clamp(sender.base, sender.packets);
        let mut regained = 0;
        for sequence in sender.base..cumulative {
            regained += self.note_arrived::<S>(slot, &sender, sequence);
        }
        let mut bitmap = frame.bitmap;
        while bitmap != 0 {
            let sequence = frame.first() + bitmap.trailing_zeros();
            bitmap &= bitmap - 1;
            if sequence >= cumulative && sequence < sender.next_new {
                regained += self.note_arrived::<S>(slot, &sender, sequence);
            }
        }
        // The bits of packets before the new base are those of packets to come.
        for sequence in sender.base..cumulative {
            self.sent.put::<S>(acknowledged(slot), sequence, false);
        }
        let params = &self.params;
        let sender = self.senders.edit::<S>(slot);
        sender.base = sender.base.max(cumulative);
        let bytes = frame.received.saturating_sub(sender.received);
        sender.received = sender.received.max(frame.received);
        sender.in_flight += regained - bytes as i64;
        sender.receiver = frame.receiver;
        sender.deadline = now + params.timeout;
        sender.credit.answered();
        let feedback = if frame.marked { Feedback::Marked } else { Feedback::Good };
        sender.balancer.learn(params, frame.entropy, feedback);
        let rtt = is_first.then(|| Time(now.0 - frame.stamp.0));
        let flight = (bytes as f64, sender.in_flight as f64);
        sender.window.acknowledge(params, now, flight, rtt, frame.marked);
        let packets = (frame.sequence, sender.next_new);
        let utilization = f64::from(frame.utilization);
        if let Some(size) = self
            .paces
            .acknowledge::<S>(now, slot, (bytes, rtt), (packets, utilization))
        {
            sender.window.size = size;
        }
        if sender.base < sender.packets {
            self.offer(s, slot);
            return None;
        }
        Some(self.complete(s, slot))
    }

    /// Packet `sequence` has arrived. Returns bytes that were taken off those in flight because it was presumed lost.
    fn note_arrived<S: Surroundings>(&mut self, slot: u32, sender: &Sender, sequence: u32) -> i64 {
        if self.sent.has(acknowledged(slot), sequence) {
            return 0;
        }
        self.sent.put::<S>(acknowledged(slot), sequence, true);
        if !self.sent.has(waiting(slot), sequence) {
            return 0;
        }
        self.sent.put::<S>(waiting(slot), sequence, false);
        self.senders.edit::<S>(slot).waiting -= 1;
        i64::from(self.size_of(sender, sequence))
    }

    fn complete<S: Surroundings>(&mut self, s: &mut S, slot: u32) -> Outcome {
        let sender = *self.senders.get(slot);
        self.traffic.edit::<S>(u32::from(sender.traffic)).flows += 1;
        if self.params.records {
            let count = self.recorded.edit::<S>(0);
            *count += 1;
            *self.records.edit::<S>(*count as usize - 1) = FlowRecord {
                start: sender.started,
                source: sender.source,
                number: sender.number,
                target: sender.target,
                traffic: sender.traffic,
                bytes: sender.bytes,
                end: s.now(),
                again: sender.again,
                nacks: sender.nacks,
            };
        }
        let kept = self.senders.edit::<S>(slot);
        kept.is_live = false;
        // A NIC that still has it in turn lets it go.
        if sender.is_queued {
            let nic = sender.source - self.first_node;
            self.turns.leave::<S>(nic, &mut self.senders, sender.flow());
        }
        self.senders.free::<S>(slot);
        Outcome::Acknowledged(sender.message)
    }

    /// A NACK has arrived: the packet waits to be sent again.
    pub(crate) fn rejected<S: Surroundings>(&mut self, s: &mut S, frame: &Frame) {
        if !self.is_for(frame) {
            return;
        }
        if self.params.goes_back {
            return self.go_back(s, frame);
        }
        let (slot, now, sequence) = (frame.sender, s.now(), frame.sequence);
        let sender = *self.senders.get(slot);
        let is_known = sequence < sender.base
            || self.sent.has(acknowledged(slot), sequence)
            || self.sent.has(waiting(slot), sequence);
        if is_known {
            return;
        }
        self.sent.put::<S>(waiting(slot), sequence, true);
        let bytes = self.size_of(&sender, sequence);
        let params = &self.params;
        let sender = self.senders.edit::<S>(slot);
        sender.receiver = frame.receiver;
        sender.waiting += 1;
        sender.nacks += 1;
        sender.deadline = now + params.timeout;
        let flight = (f64::from(bytes), sender.in_flight as f64);
        sender.window.lose(params, now, flight);
        sender.in_flight -= i64::from(bytes);
        sender.credit.answered();
        sender.balancer.learn(params, frame.entropy, Feedback::Trimmed);
        if let Some(size) = self.paces.lose::<S>(now, slot) {
            sender.window.size = size;
        }
        self.offer(s, slot);
    }

    /// Go-back-N: packets before that of `frame` have arrived, and all from it on are sent again.
    fn go_back<S: Surroundings>(&mut self, s: &mut S, frame: &Frame) {
        let slot = frame.sender;
        if frame.sequence >= self.senders.get(slot).base {
            self.senders.edit::<S>(slot).nacks += 1;
            self.presume_lost::<S>(slot, frame.sequence);
            self.acknowledged(s, frame);
        }
    }

    /// Packets in flight from `first` on wait to be sent again. Returns their bytes on the wire.
    fn presume_lost<S: Surroundings>(&mut self, slot: u32, first: u32) -> i64 {
        let sender = *self.senders.get(slot);
        let mut lost = 0;
        for sequence in first.max(sender.base)..sender.next_new {
            if !self.sent.has(acknowledged(slot), sequence) && !self.sent.has(waiting(slot), sequence) {
                self.sent.put::<S>(waiting(slot), sequence, true);
                self.senders.edit::<S>(slot).waiting += 1;
                lost += i64::from(self.size_of(&sender, sequence));
            }
        }
        self.senders.edit::<S>(slot).in_flight -= lost;
        lost
    }

    /// The wait of the flow in this slot ends; an event of an earlier flow does not count.
    pub(crate) fn paced<S: Surroundings>(&mut self, s: &mut S, slot: u32) {
        if self.paces.end_wait::<S>(s.now(), slot) {
            self.offer(s, slot);
        }
    }

    /// The receiver has notified the sender of `frame` of marks.
    pub(crate) fn notified<S: Surroundings>(&mut self, s: &mut S, frame: &Frame) {
        if self.is_for(frame) {
            self.paces.cut::<S>(s.now(), frame.sender);
        }
    }

    /// The timer of the flow in this slot; an old one does not count.
    pub(crate) fn timer<S: Surroundings>(&mut self, s: &mut S, slot: u32) {
        let now = s.now();
        let sender = *self.senders.get(slot);
        if !sender.is_live || sender.timer != now {
            return;
        }
        let process = self.ports.process_of_nic(sender.source - self.first_node);
        if now < sender.deadline {
            self.senders.edit::<S>(slot).timer = sender.deadline;
            return s.send(process, sender.deadline, Event::new(Kind::Timer, slot));
        }
        let lost = self.presume_lost::<S>(slot, 0);
        let params = &self.params;
        let state = self.senders.edit::<S>(slot);
        state.window.time_out(params, lost as f64);
        if params.has_credit && lost > 0 {
            // The receiver may not know of the demand: one packet tells it.
            state.credit.left = state.credit.left.max(1);
        }
        state.deadline = now + params.timeout;
        state.timer = state.deadline;
        s.send(process, state.deadline, Event::new(Kind::Timer, slot));
        if lost > 0 {
            if let Some(size) = self.paces.lose::<S>(now, slot) {
                state.window.size = size;
            }
            self.traffic.edit::<S>(u32::from(sender.traffic)).timeouts += 1;
        }
        self.offer(s, slot);
    }
}

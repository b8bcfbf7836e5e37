//! Packets and their flags.

use crate::control::{Probe, ROUNDS};
use crate::message::Message;
use crate::routing::{Decision, Header};
use odonata_engine::{NIL, Slot, Time};

/// A packet in flight; one cache line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[repr(align(64))]
pub(crate) struct Packet {
    /// Creation time: of its message by the host; further packets of a message follow at the rate of the terminal link.
    /// Age-based arbitration uses it.
    pub(crate) created: Time,
    /// When the packet started on the terminal link: the start of packet latency.
    pub(crate) injected: Time,
    /// When its tail is in its present or next buffer.
    pub(crate) tail_in: Time,
    pub(crate) header: Header,
    pub(crate) message: u32,
    pub(crate) bytes: u32,
    /// Its present or next input buffer (port and virtual channel).
    pub(crate) buffer: u32,
    /// Next packet of its FIFO or of the queue of its input port (or of the free list).
    pub(crate) next: u32,
    /// Next packet that waits for the same output and virtual channel. In flight to an input-queued router: the link
    /// that it arrives over, [`NIL`] if that belongs to another part. In pipelined routers: the local number of the
    /// port of its [`Route`].
    pub(crate) next_waiting: u32,
    pub(crate) traffic: u16,
    /// Virtual channel of that buffer, as numbered by its sender. In pipelined routers: the level of its [`Route`].
    pub(crate) vc: u8,
    /// Its traffic class.
    pub(crate) class: u8,
    pub(crate) flags: PacketFlags,
    /// Routers visited.
    pub(crate) hops: u16,
    /// The terms on which it waits for a virtual channel.
    pub(crate) terms: VcTerms,
}

const _: () = assert!(size_of::<Packet>() == 64);

/// The route of a packet in a pipelined router, stored while it waits behind others in its buffer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Route {
    /// Local number of the port.
    pub(crate) port: u32,
    pub(crate) level: u8,
    pub(crate) terms: VcTerms,
}

impl Packet {
    /// Represents, for delivery statistics, a message or `bytes` of it that travels without packets and passes no
    /// router.
    pub(crate) fn of_message<P>(message: &Message<P>, bytes: u32) -> Packet {
        Packet {
            created: message.created,
            injected: message.queued,
            tail_in: message.queued,
            header: Header::new(message.target),
            message: NIL,
            bytes,
            buffer: 0,
            next: NIL,
            next_waiting: NIL,
            traffic: message.traffic,
            vc: 0,
            class: 0,
            flags: PacketFlags::default(),
            hops: 0,
            terms: VcTerms::default(),
        }
    }

    /// Stores the route until the packet is at the front.
    #[inline]
    pub(crate) fn store_route(&mut self, route: Route) {
        (self.next_waiting, self.vc, self.terms) = (route.port, route.level, route.terms);
    }

    /// The stored route.
    #[inline]
    pub(crate) fn stored_route(&self) -> Route {
        Route {
            port: self.next_waiting,
            level: self.vc,
            terms: self.terms,
        }
    }
}

/// Flags of a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct PacketFlags(u8);

impl PacketFlags {
    const MARKED: u8 = 1;
    const SAMPLED: u8 = 2;
    const PROBE: u8 = 4;
    const FIRST: u8 = 8;
    /// The first of two bits.
    const ROUND: u32 = 4;

    /// The flags of a new packet; `is_sampled`: its waits are recorded.
    pub(crate) const fn new(is_sampled: bool) -> PacketFlags {
        PacketFlags(if is_sampled { Self::SAMPLED } else { 0 })
    }

    /// Whether a port has marked it because of congestion; or whether its pair of endpoints is limited.
    pub(crate) fn is_marked(self) -> bool {
        self.0 & Self::MARKED != 0
    }

    pub(crate) fn mark(&mut self) {
        self.0 |= Self::MARKED;
    }

    /// Whether its waits at routers are recorded.
    #[inline(always)]
    pub(crate) fn is_sampled(self) -> bool {
        self.0 & Self::SAMPLED != 0
    }

    /// Marks a packet of a limited pair of endpoints, as a probe or not.
    pub(crate) fn limit(&mut self, probe: Option<Probe>) {
        self.0 |= Self::MARKED;
        if let Some(Probe { round, is_first }) = probe {
            let first = if is_first { Self::FIRST } else { 0 };
            self.0 |= Self::PROBE | first | (round % ROUNDS) << Self::ROUND;
        }
    }

    /// The probe of a packet of a limited pair.
    pub(crate) fn probe(self) -> Option<Probe> {
        (self.0 & Self::PROBE != 0).then_some(Probe {
            round: self.0 >> Self::ROUND,
            is_first: self.0 & Self::FIRST != 0,
        })
    }

    /// The flags as a byte, for other parts.
    pub(crate) fn byte(self) -> u8 {
        self.0
    }

    /// The flags of a byte; `None` if it is invalid.
    pub(crate) fn of_byte(byte: u8) -> Option<PacketFlags> {
        (byte >> Self::ROUND < ROUNDS).then_some(PacketFlags(byte))
    }
}

/// The terms on which a packet waits for an output virtual channel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct VcTerms(u8);

impl VcTerms {
    pub(crate) const NONE: VcTerms = VcTerms(0);
    const REROUTE: u8 = 1;
    const BUBBLE: u8 = 2;

    pub(crate) fn of(decision: &Decision) -> VcTerms {
        VcTerms(Self::REROUTE * u8::from(decision.retry) + Self::BUBBLE * u8::from(decision.spare))
    }

    /// It does not wait for room but is routed again ([`Decision::retry`]).
    #[inline]
    pub(crate) fn reroutes(self) -> bool {
        self.0 & Self::REROUTE != 0
    }

    /// It needs a bubble behind it: room for one more full packet ([`Decision::spare`]; bubble flow control, V. Puente
    /// et al., ICPP 1999).
    #[inline]
    pub(crate) fn bubble(self) -> bool {
        self.0 & Self::BUBBLE != 0
    }
}

impl Slot for Packet {
    #[inline]
    fn next(&self) -> u32 {
        self.next
    }
    #[inline]
    fn set_next(&mut self, next: u32) {
        self.next = next;
    }
}

//! The facts that NICs, routers and links state, and the trait that instruments implement.

use super::statistics::Transmission;
use crate::features::Uses;
use crate::flow::OutPort;
use crate::message::{Message, Traffic};
use crate::packet::Packet;
use odonata_blame::lost::Vector;
use odonata_engine::Time;
use odonata_topology::LinkClass;

/// What a credit carries for the instrument that gave it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tag(pub(in crate::observe) Vector);

/// A [`Tag`] beside a credit, in three bytes.
pub(crate) type PackedTag = [u8; 3];

impl Tag {
    /// No tag.
    pub(crate) const NONE: Tag = Tag(Vector::EMPTY);

    /// In three bytes, if it fits.
    #[inline(always)]
    pub(crate) fn packed(self) -> Option<PackedTag> {
        self.0.packed()
    }

    /// The tag of these bytes.
    #[inline(always)]
    pub(crate) fn unpacked(bytes: PackedTag) -> Tag {
        Tag(Vector::unpacked(bytes))
    }
}

/// A packet, as instruments see it.
#[derive(Clone, Copy)]
pub(crate) struct Observed {
    /// Its slot.
    pub(crate) packet: u32,
    /// Whose traffic it is.
    pub(crate) owner: Traffic,
    /// Whether its waits at routers are among those that are sampled.
    pub(crate) is_sampled: bool,
}

impl Observed {
    /// The packet in slot `slot`.
    #[inline(always)]
    pub(crate) fn new(slot: u32, packet: &Packet) -> Observed {
        Observed {
            packet: slot,
            owner: packet.traffic,
            is_sampled: packet.flags.is_sampled(),
        }
    }
}

/// A packet that departs from a router on a link. Stated before the port changes.
pub(crate) struct LinkDeparture<'a> {
    /// The link, and the state of its port before.
    pub(crate) link: u32,
    pub(crate) port: &'a OutPort,
    pub(crate) class: LinkClass,
    pub(crate) packet: Observed,
    /// From when to when the packet occupies the link.
    pub(crate) now: Time,
    pub(crate) until: Time,
    /// The channel for which it has waited, counted over all links; `None` if it has not waited.
    pub(crate) waited: Option<u32>,
    pub(crate) sent: Transmission,
}

/// A packet of a message that departs from its NIC. Stated before the port changes.
pub(crate) struct MessageDeparture<'a> {
    /// The link, the state of its port before, and the channel, counted over all links.
    pub(crate) link: u32,
    pub(crate) port: &'a OutPort,
    pub(crate) channel: u32,
    pub(crate) message: u32,
    pub(crate) owner: Traffic,
    /// From when to when the packet occupies the link.
    pub(crate) now: Time,
    pub(crate) until: Time,
    /// Whether it is the last packet of the message.
    pub(crate) is_last: bool,
    /// Whether congestion control has held it back.
    pub(crate) is_limited: bool,
}

/// A flit that departs from its NIC, in front of a pipelined router. Stated before the port changes.
pub(crate) struct FlitDeparture<'a> {
    /// The packet that it belongs to, which is the last one of its message or not.
    pub(crate) of: MessageDeparture<'a>,
    /// Where flits of this NIC wait, among all [fronts](super::lost).
    pub(crate) front: u32,
    /// Whether it is the head of its packet, and the tail.
    pub(crate) is_head: bool,
    pub(crate) is_tail: bool,
}

/// A packet that is delivered to its node.
#[derive(Clone, Copy)]
pub(crate) struct PacketDelivery {
    /// When its message was created, and when its tail is at the node.
    pub(crate) created: Time,
    pub(crate) arrival: Time,
    /// Whether it has left its minimal path.
    pub(crate) is_detour: bool,
    /// Whether no packet of the message that was delivered before arrives later.
    pub(crate) is_latest: bool,
    /// Whether packets that start later may arrive earlier: it comes over a slower link.
    pub(crate) may_be_overtaken: bool,
    /// Whether it is the last packet of a message whose losses are asked for.
    pub(crate) completes: bool,
}

/// An instrument. Each method is a fact; an instrument implements those that it records.
#[allow(unused_variables)]
pub(crate) trait Observer {
    /// `message` has been handed to its NIC, which cuts it into packets of at most `packet` bytes.
    #[inline(always)]
    fn message_submitted<M: Uses, P>(&mut self, message: &Message<P>, packet: u64) {}

    /// The message in slot `slot`, of `owner`, begins to wait at its NIC for `link`, whose sending side is `port`.
    #[inline(always)]
    fn message_waits<M: Uses>(&mut self, link: u32, port: &OutPort, (slot, owner): (u32, Traffic), now: Time) {}

    /// A packet of a message departs from its NIC.
    #[inline(always)]
    fn message_departs<M: Uses>(&mut self, departure: &MessageDeparture<'_>) {}

    /// A flit of a message departs from its NIC.
    #[inline(always)]
    fn flit_departs<M: Uses>(&mut self, departure: &FlitDeparture<'_>) {}

    /// The packet in slot `packet` has been cut off the message in slot `message`.
    #[inline(always)]
    fn packet_starts<M: Uses>(&mut self, packet: u32, message: u32) {}

    /// A packet begins to wait for `channel` of `link`, whose sending side is `port`.
    #[inline(always)]
    fn packet_waits<M: Uses>(&mut self, (link, channel): (u32, u32), port: &OutPort, packet: Observed, now: Time) {}

    /// A packet that has waited for `channel` of `link`, which is idle, is routed again.
    #[inline(always)]
    fn packet_is_rerouted<M: Uses>(
        &mut self,
        (link, channel): (u32, u32),
        port: &OutPort,
        packet: Observed,
        now: Time,
    ) {
    }

    /// A packet departs from a router.
    #[inline(always)]
    fn packet_departs<M: Uses>(&mut self, departure: &LinkDeparture<'_>) {}

    /// A packet is delivered. Its slot is free, what is left of it is `packet`.
    #[inline(always)]
    fn packet_delivered<M: Uses>(&mut self, slot: u32, packet: &Packet, delivery: &PacketDelivery) {}

    /// A message of `owner` has been delivered in packets.
    #[inline(always)]
    fn message_delivered<M: Uses>(&mut self, owner: Traffic) {}

    /// A message that went without packets is delivered at `arrival`.
    #[inline(always)]
    fn message_delivered_whole<M: Uses, P>(&mut self, message: &Message<P>, arrival: Time) {}

    /// A packet comes to wait in input FIFO `buffer`.
    #[inline(always)]
    fn packet_joins_fifo<M: Uses>(&mut self, buffer: u32, packet: Observed, now: Time) {}

    /// A packet that has waited in input FIFO `buffer` has come to its head.
    #[inline(always)]
    fn packet_leads_fifo<M: Uses>(&mut self, buffer: u32, packet: Observed, now: Time) {}

    /// A packet of `owner` is at the head of input FIFO `buffer` from now on.
    #[inline(always)]
    fn fifo_is_held<M: Uses>(&mut self, buffer: u32, owner: Traffic) {}

    /// A sender takes credits for so many `flits` of virtual channel `channel`, counted over all links.
    #[inline(always)]
    fn credits_are_taken<M: Uses>(&mut self, channel: u32, flits: u32, now: Time) {}

    /// A credit of `owner` for so many `flits` of virtual channel `channel` counts since `due`; whether a packet waits for it.
    #[inline(always)]
    fn credit_arrives<M: Uses>(
        &mut self,
        (channel, owner): (u32, Traffic),
        flits: u32,
        due: Time,
        tag: Tag,
        is_awaited: bool,
    ) {
    }

    /// A packet finds no room in the buffers behind `link`.
    #[inline(always)]
    fn port_stalls<M: Uses>(&mut self, link: u32) {}

    /// A packet goes on `link` at `now`, which has been without room since `since`.
    #[inline(always)]
    fn port_resumes<M: Uses>(&mut self, link: u32, since: Time, now: Time) {}

    /// A router sends on `link`, which is of `class`, from `at` on.
    #[inline(always)]
    fn port_sends<M: Uses>(&mut self, (link, class): (u32, LinkClass), at: Time, sent: Transmission) {}

    /// A NIC sends on `link`.
    #[inline(always)]
    fn nic_sends<M: Uses>(&mut self, link: u32, sent: Transmission) {}
}

//! The facts that NICs, routers and links state, and the trait that instruments implement.

use super::statistics::Transmission;
use crate::features::Uses;
use crate::flow::{ChannelSet, OutPort};
use crate::message::{Message, Traffic};
use crate::packet::Packet;
use odonata_blame::lost::Vector;
use odonata_engine::Time;
use odonata_topology::LinkClass;

/// Data that a credit carries for the instrument that created it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tag(pub(in crate::observe) Vector);

/// A [`Tag`] stored beside a credit, in three bytes.
pub(crate) type PackedTag = [u8; 3];

impl Tag {
    /// No tag.
    pub(crate) const NONE: Tag = Tag(Vector::EMPTY);

    /// The tag in three bytes, if it fits.
    #[inline(always)]
    pub(crate) fn packed(self) -> Option<PackedTag> {
        self.0.packed()
    }

    /// The tag from its three bytes.
    #[inline(always)]
    pub(crate) fn unpacked(bytes: PackedTag) -> Tag {
        Tag(Vector::unpacked(bytes))
    }
}

/// A packet, as instruments see it.
#[derive(Clone, Copy)]
pub(crate) struct Observed {
    pub(crate) packet: u32,
    pub(crate) owner: Traffic,
    /// Whether the waits of this packet at routers are in the sample.
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
    /// The link, and the state of its port before the departure.
    pub(crate) link: u32,
    pub(crate) port: &'a OutPort,
    pub(crate) class: LinkClass,
    pub(crate) packet: Observed,
    /// Start and end of the transmission.
    pub(crate) now: Time,
    pub(crate) until: Time,
    /// The channel for which the packet has waited, numbered over all links; `None` without a wait.
    pub(crate) waited: Option<u32>,
    pub(crate) sent: Transmission,
}

/// A packet of a message that departs from its NIC. Stated before the port changes.
pub(crate) struct MessageDeparture<'a> {
    /// The link, the state of its port before the departure, and the channel, numbered over all links.
    pub(crate) link: u32,
    pub(crate) port: &'a OutPort,
    pub(crate) channel: u32,
    pub(crate) message: u32,
    pub(crate) owner: Traffic,
    /// Start and end of the transmission.
    pub(crate) now: Time,
    pub(crate) until: Time,
    pub(crate) is_last: bool,
    /// Whether congestion control has delayed it.
    pub(crate) is_limited: bool,
}

/// A chunk of a sum in routers that departs on a link. Stated before the port changes.
pub(crate) struct ChunkDeparture<'a> {
    /// The link, and the state of its port before the departure.
    pub(crate) link: u32,
    pub(crate) port: &'a OutPort,
    pub(crate) owner: Traffic,
    /// Start and end of the transmission.
    pub(crate) now: Time,
    pub(crate) until: Time,
}

/// A flit that departs from its NIC to a pipelined router. Stated before the port changes.
pub(crate) struct FlitDeparture<'a> {
    /// Its packet.
    pub(crate) packet_departure: MessageDeparture<'a>,
    /// The [front](super::lost) of this NIC.
    pub(crate) front: u32,
    /// Whether the flit is the head of its packet, and the tail.
    pub(crate) is_head: bool,
    pub(crate) is_tail: bool,
}

/// A packet that is delivered to its node.
#[derive(Clone, Copy)]
pub(crate) struct PacketDelivery {
    /// Creation time of the message, and arrival time of the packet's tail at the node.
    pub(crate) created: Time,
    pub(crate) arrival: Time,
    /// Whether the packet has left its minimal path.
    pub(crate) is_detour: bool,
    /// Whether no packet of the message delivered earlier arrives later.
    pub(crate) is_latest: bool,
    /// Whether packets that start later may arrive earlier, because this packet arrives over a slower link.
    pub(crate) may_be_overtaken: bool,
    /// Whether it is the last packet of a message whose losses are recorded.
    pub(crate) completes: bool,
}

/// An instrument. Each method is a fact; an instrument implements those that it records.
#[allow(unused_variables)]
pub(crate) trait Observer {
    /// `message` has been submitted to its NIC, which divides it into packets of at most `packet` bytes.
    #[inline(always)]
    fn message_submitted<M: Uses, P>(&mut self, message: &Message<P>, packet: u64) {}

    /// The message in slot `slot`, of `owner`, begins to wait at its NIC for `link` with sending port `port`.
    #[inline(always)]
    fn message_waits<M: Uses>(&mut self, link: u32, port: &OutPort, (slot, owner): (u32, Traffic), now: Time) {}

    /// A packet of a message departs from its NIC.
    #[inline(always)]
    fn message_departs<M: Uses>(&mut self, departure: &MessageDeparture<'_>) {}

    /// A chunk of a sum in routers departs.
    #[inline(always)]
    fn chunk_departs<M: Uses>(&mut self, departure: &ChunkDeparture<'_>) {}

    /// A flit of a message departs from its NIC.
    #[inline(always)]
    fn flit_departs<M: Uses>(&mut self, departure: &FlitDeparture<'_>) {}

    /// The packet in slot `packet` has been created from the message in slot `message`.
    #[inline(always)]
    fn packet_starts<M: Uses>(&mut self, packet: u32, message: u32) {}

    /// A packet begins to wait for `channel` of `link` with sending port `port`.
    #[inline(always)]
    fn packet_waits<M: Uses>(&mut self, (link, channel): (u32, u32), port: &OutPort, packet: Observed, now: Time) {}

    /// A packet that has waited for `channel` of the idle link `link` is routed again.
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

    /// A packet is delivered. Its slot is free; `packet` is a copy.
    #[inline(always)]
    fn packet_delivered<M: Uses>(&mut self, slot: u32, packet: &Packet, delivery: &PacketDelivery) {}

    /// All packets of a message of `owner` have been delivered.
    #[inline(always)]
    fn message_delivered<M: Uses>(&mut self, owner: Traffic) {}

    /// A message sent without packets is delivered at `arrival`.
    #[inline(always)]
    fn message_delivered_whole<M: Uses, P>(&mut self, message: &Message<P>, arrival: Time) {}

    /// A packet begins to wait in input FIFO `buffer`.
    #[inline(always)]
    fn packet_joins_fifo<M: Uses>(&mut self, buffer: u32, packet: Observed, now: Time) {}

    /// A packet that has waited in input FIFO `buffer` has reached its head.
    #[inline(always)]
    fn packet_leads_fifo<M: Uses>(&mut self, buffer: u32, packet: Observed, now: Time) {}

    /// A packet of `owner` becomes the head of input FIFO `buffer`.
    #[inline(always)]
    fn fifo_is_held<M: Uses>(&mut self, buffer: u32, owner: Traffic) {}

    /// A sender takes credits for `flits` flits of virtual channel `channel`, numbered over all links.
    #[inline(always)]
    fn credits_are_taken<M: Uses>(&mut self, channel: u32, flits: u32, now: Time) {}

    /// A credit of `owner` for `flits` flits of virtual channel `channel` counts since `due`; the flag is whether a
    /// packet waits for it.
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

    /// The buffers behind router port `link` become exhausted (`flow/exhaustion.rs`).
    #[inline(always)]
    fn link_is_exhausted<M: Uses>(&mut self, link: u32, now: Time) {}

    /// The buffers behind router port `link` are not exhausted since `since`; may be stated late.
    #[inline(always)]
    fn link_has_room<M: Uses>(&mut self, link: u32, since: Time) {}

    /// A pipelined router sends a flit on a link of this number, class and number of channels. One of them lacks room or
    /// has lacked it; `lacked` are those without room before.
    #[inline(always)]
    fn short_link_sends<M: Uses>(&mut self, link: (u32, LinkClass, u8), lacked: ChannelSet, now: Time) {}

    /// A channel of such a link has room since `since`; `lacking` are those without room before and after.
    #[inline(always)]
    fn channel_has_room<M: Uses>(
        &mut self,
        link: (u32, LinkClass, u8),
        lacking: (ChannelSet, ChannelSet),
        since: Time,
    ) {
    }

    /// A packet lacks credits for all buffers behind `link`.
    #[inline(always)]
    fn port_stalls<M: Uses>(&mut self, link: u32) {}

    /// A packet departs on `link` at `now`; the link has lacked credits since `since`.
    #[inline(always)]
    fn port_resumes<M: Uses>(&mut self, link: u32, since: Time, now: Time) {}

    /// A router starts to send on `link`, of class `class`, at `at`.
    #[inline(always)]
    fn port_sends<M: Uses>(&mut self, (link, class): (u32, LinkClass), at: Time, sent: Transmission) {}

    /// A NIC starts to send on `link`.
    #[inline(always)]
    fn nic_sends<M: Uses>(&mut self, link: u32, sent: Transmission) {}
}

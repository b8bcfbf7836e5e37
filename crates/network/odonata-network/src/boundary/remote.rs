//! Remote messages: values that routers of different parts exchange.
//!
//! Routers, ports, links and buffers have their numbers in the machine: local numbers are valid only in their part.

use crate::Traffic;
use crate::control::{Advice, Notification};
use crate::flow::{FlowWait, LinkPart};
use crate::message::Message;
use crate::packet::Packet;
use crate::reduction::chunk::Chunk;
use crate::routing::Header;
use odonata_engine::Time;

/// A message to a router of another part that causes an event there.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RemoteEvent<P> {
    /// A packet on a link; with pipelined routers, its head flit.
    Packet(RemotePacket<P>),
    /// A body flit.
    Flit(RemoteFlit),
    /// A notification of congestion control.
    Notification(RemoteNotification),
    /// A message without packets: its first byte.
    Message(Message<P>),
    /// A message that is a flow, for the part that computes the rates; its home is its slot at its source, if that
    /// requests a notice.
    Handover(Message<P>),
    /// The message in this slot, a flow, has been sent.
    Sent(u32),
    /// A message sent as a flow has reached its target.
    Delivered(Message<P>),
    /// The load of packets on a link, for the part that computes the rates.
    TakenByPackets(LinkPart),
    /// The owner of these packets, on this link of the machine.
    PacketsOf(u32, Traffic),
    /// The part of a link that flows leave to packets.
    LeftByFlows(LinkPart),
    /// The wait of packets behind flows.
    BehindFlows(FlowWait),
    /// A message that an Ethernet will carry to this part; its number is that of its flow.
    Announced(Message<P>),
    /// A frame or a pause of an Ethernet.
    Ethernet(odonata_ethernet::Remote),
    /// A chunk of a sum in routers.
    Chunk(Chunk),
}

impl<P> RemoteEvent<P> {
    /// The message that travels with a packet.
    pub fn message(&self) -> Option<&Message<P>> {
        match self {
            RemoteEvent::Packet(RemotePacket { message, .. })
            | RemoteEvent::Message(message)
            | RemoteEvent::Handover(message)
            | RemoteEvent::Announced(message)
            | RemoteEvent::Delivered(message) => Some(message),
            RemoteEvent::Flit(_)
            | RemoteEvent::Notification(_)
            | RemoteEvent::Sent(_)
            | RemoteEvent::TakenByPackets(_)
            | RemoteEvent::PacketsOf(..)
            | RemoteEvent::LeftByFlows(_)
            | RemoteEvent::BehindFlows(_)
            | RemoteEvent::Ethernet(_)
            | RemoteEvent::Chunk(_) => None,
        }
    }
}

/// A packet with its message.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RemotePacket<P> {
    pub(super) packet: Packet,
    pub(super) message: Message<P>,
}

/// A body flit; it belongs to the packet whose head arrived last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RemoteFlit {
    /// Its input buffer.
    pub(super) buffer: u32,
}

/// A notification of congestion control.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RemoteNotification {
    pub(super) header: Header,
    pub(super) about: u32,
    pub(super) class: u8,
    pub(super) advice: Advice,
}

impl RemoteNotification {
    pub(crate) fn of(notification: &Notification) -> RemoteNotification {
        let &Notification {
            header,
            about,
            class,
            advice,
            ..
        } = notification;
        RemoteNotification {
            header,
            about,
            class,
            advice,
        }
    }

    pub(super) fn notification(self) -> Notification {
        Notification::new(self.header, self.about, self.class, self.advice)
    }
}

/// A message to a router of another part that causes no event there, but counts from its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RemoteUpdate {
    /// A credit.
    Credit(RemoteCredit),
    /// The published load of a router port.
    Load(RemoteLoad),
    /// A loss of a packet that arrives at that time.
    Loss(RemoteLoss),
}

/// Buffer space for the sender of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RemoteCredit {
    /// The router port that the credit returns to.
    pub(crate) link: u32,
    pub(crate) flits: u16,
    /// The owner of the packet that held the space.
    pub(crate) owner: Traffic,
    pub(crate) vc: u8,
}

/// Lost time of a packet that crosses to another part, by one culprit in one kind of wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RemoteLoss {
    /// The source node of the packet's message.
    pub(crate) source: u32,
    /// The number of the message there.
    pub(crate) number: u32,
    /// The packet's creation time, which is unique in its message.
    pub(crate) created: Time,
    pub(crate) culprit: Traffic,
    pub(crate) kind: u8,
    pub(crate) place: u32,
    pub(crate) time: Time,
}

/// The published load of a global port, for the remote congestion table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RemoteLoad {
    pub(crate) port: u32,
    pub(crate) value: u32,
}

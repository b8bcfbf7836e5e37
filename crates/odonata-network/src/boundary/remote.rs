//! Remote messages: what routers of different parts send each other, by value.
//!
//! Routers, ports, links and buffers go by their numbers in the machine: those of a part mean nothing elsewhere.

use crate::Traffic;
use crate::control::Notification;
use crate::flow::{FlowWait, LinkPart};
use crate::message::Message;
use crate::packet::Packet;
use crate::routing::Header;
use odonata_engine::Time;

/// What goes to a router of another part and causes an event there.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RemoteEvent<P> {
    /// A packet on a link; in front of pipelined routers, its head flit.
    Packet(RemotePacket<P>),
    /// A body flit.
    Flit(RemoteFlit),
    /// A notification of congestion control.
    Notification(RemoteNotification),
    /// A message that does not go in packets: its first byte.
    Message(Message<P>),
    /// A message that goes as a flow, to where rates are kept; its home is its slot at its source, if that wants to be told.
    Handover(Message<P>),
    /// The message in this slot, a flow, is sent.
    Sent(u32),
    /// A message that has gone as a flow is at its target.
    Delivered(Message<P>),
    /// What packets have taken of a link, to where rates of flows are kept.
    TakenByPackets(LinkPart),
    /// Whose packets these are, of the machine's link of this number.
    PacketsOf(u32, Traffic),
    /// What flows leave of a link to packets.
    LeftByFlows(LinkPart),
    /// How long packets wait behind flows.
    BehindFlows(FlowWait),
}

impl<P> RemoteEvent<P> {
    /// The message that goes along with a packet.
    pub fn message(&self) -> Option<&Message<P>> {
        match self {
            RemoteEvent::Packet(RemotePacket { message, .. })
            | RemoteEvent::Message(message)
            | RemoteEvent::Handover(message)
            | RemoteEvent::Delivered(message) => Some(message),
            RemoteEvent::Flit(_)
            | RemoteEvent::Notification(_)
            | RemoteEvent::Sent(_)
            | RemoteEvent::TakenByPackets(_)
            | RemoteEvent::PacketsOf(..)
            | RemoteEvent::LeftByFlows(_)
            | RemoteEvent::BehindFlows(_) => None,
        }
    }
}

/// A packet with its message.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RemotePacket<P> {
    pub(super) packet: Packet,
    pub(super) message: Message<P>,
}

/// A body flit: the packet that it belongs to is the one whose head came last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RemoteFlit {
    /// The input buffer that it comes to.
    pub(super) buffer: u32,
}

/// A notification of congestion control.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RemoteNotification {
    pub(super) header: Header,
    pub(super) about: u32,
    pub(super) class: u8,
    pub(super) rate: f64,
}

impl RemoteNotification {
    pub(crate) fn of(notification: &Notification) -> RemoteNotification {
        let &Notification {
            header,
            about,
            class,
            rate,
            ..
        } = notification;
        RemoteNotification {
            header,
            about,
            class,
            rate,
        }
    }

    pub(super) fn notification(self) -> Notification {
        Notification::new(self.header, self.about, self.class, self.rate)
    }
}

/// What goes to a router of another part and causes no event there, but counts from its time on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RemoteUpdate {
    /// A credit.
    Credit(RemoteCredit),
    /// What a router publishes of one of its ports.
    Load(RemoteLoad),
    /// What a packet has lost that comes at that time.
    Loss(RemoteLoss),
}

/// Buffer space for the sender of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RemoteCredit {
    /// The router port that gets the space back.
    pub(crate) link: u32,
    pub(crate) flits: u16,
    /// Whose packet held the space.
    pub(crate) owner: Traffic,
    pub(crate) vc: u8,
}

/// Lost time of a packet that goes to another part, by one culprit in one kind of wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RemoteLoss {
    /// The node that sends the packet's message.
    pub(crate) source: u32,
    /// The number of the message there.
    pub(crate) number: u32,
    /// When the packet was created, which tells those of a message apart.
    pub(crate) created: Time,
    pub(crate) culprit: Traffic,
    pub(crate) kind: u8,
    pub(crate) place: u32,
    pub(crate) time: Time,
}

/// What is published of a global port, for the remote congestion table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RemoteLoad {
    pub(crate) port: u32,
    pub(crate) value: u32,
}

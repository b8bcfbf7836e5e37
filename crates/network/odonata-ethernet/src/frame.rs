//! Frames: what a link carries.

use odonata_engine::{NIL, Time};
use odonata_units::mix64;

/// State of the routing of a frame, opaque here.
pub type Route = [u32; 3];

/// The state of a frame that has met no switch.
pub const NEW_ROUTE: Route = [NIL; 3];

/// What a frame is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[repr(u8)]
pub(crate) enum FrameKind {
    /// A packet with its data.
    Data,
    /// The header of a packet whose data a switch has dropped.
    Trimmed,
    /// What a receiver has.
    Ack,
    /// A packet that arrived trimmed, or that others have overtaken.
    Nack,
    /// Credit of a receiver.
    Pull,
    /// A packet arrived marked: the flow reduces its rate.
    Notification,
}

/// A frame. In queues and on links it is a slot of a pool; between parts it is a value.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Frame {
    pub(crate) next: u32,
    /// The receiving node of this frame.
    pub(crate) target: u32,
    /// The flow: the node that sends its data, and the number of the flow there.
    pub(crate) owner: u32,
    pub(crate) number: u32,
    /// The slots of its sender and of its receiver; of the latter [`NIL`](odonata_engine::NIL) while unknown.
    pub(crate) sender: u32,
    pub(crate) receiver: u32,
    /// Bytes on the wire.
    pub(crate) bytes: u32,
    /// The packet: of data, or the one that caused the answer.
    pub(crate) sequence: u32,
    /// When this packet started at its source; an answer returns it.
    pub(crate) stamp: Time,
    /// Flow and direction, hashed.
    pub(crate) hash: u64,
    /// State of the routing.
    pub(crate) route: Route,
    pub(crate) entropy: u16,
    pub(crate) kind: FrameKind,
    /// Marked by a switch; an answer returns it.
    pub(crate) marked: bool,
    /// The receiver answers at once.
    pub(crate) asks: bool,
    /// Sent again.
    pub(crate) again: bool,
    /// The largest utilization of its path, which HPCC reads; an answer returns it.
    pub(crate) utilization: f32,
    /// Of an ACK: all packets before have arrived, bit i of `bitmap` is packet [`first + i`](Self::first), and these bytes
    /// on the wire. Of data and pulls, `received` is the count of bytes up to which credit is wanted, or granted.
    pub(crate) cumulative: u32,
    pub(crate) bitmap: u64,
    pub(crate) received: u64,
    /// The router port through which it entered the switch where it is, numbered over the part.
    pub(crate) ingress: u32,
    pub(crate) traffic: u16,
}
odonata_engine::slots!(Frame);

impl Frame {
    /// A frame of `kind` without data for the sender of a flow: its source and number, the slots of its sender and its
    /// receiver.
    pub(crate) fn control(
        kind: FrameKind,
        (owner, number): (u32, u32),
        (sender, receiver): (u32, u32),
        entropy: u16,
    ) -> Frame {
        let flow = u64::from(owner) << 32 | u64::from(number);
        Frame {
            next: NIL,
            target: owner,
            owner,
            number,
            sender,
            receiver,
            bytes: 0,
            sequence: 0,
            stamp: Time::ZERO,
            hash: mix64(mix64(flow) ^ kind as u64),
            route: NEW_ROUTE,
            entropy,
            kind,
            marked: false,
            asks: false,
            again: false,
            utilization: 0.0,
            cumulative: 0,
            bitmap: 0,
            received: 0,
            ingress: NIL,
            traffic: 0,
        }
    }

    /// Whether it has data.
    pub(crate) fn is_data(&self) -> bool {
        self.kind == FrameKind::Data
    }

    /// The first packet of the bitmap of an answer: its last one is that of the answer, unless all before have arrived.
    pub(crate) fn first(&self) -> u32 {
        self.cumulative.max(self.sequence.saturating_sub(63))
    }

    /// Whether pauses of the data's class stop it.
    pub(crate) fn is_lossless(&self) -> bool {
        self.kind != FrameKind::Notification
    }
}

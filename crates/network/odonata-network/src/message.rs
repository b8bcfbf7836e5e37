//! Messages: the interface of data transfer between hosts and fabric.

use odonata_engine::{Cell, NIL, Slot, Time, WireFormat};

/// The owner of a message: an index into the run's list of (job, MPI or I/O).
pub type Traffic = u16;

/// Data that a message carries for the hosts: small and plain, opaque to the fabric, and sent along to other parts. At
/// most 40 bytes, so that a message takes two cache lines.
pub trait Payload: Cell + WireFormat {}

impl<P: Cell + WireFormat> Payload for P {}

/// A message from node to node. The fabric divides it into packets and reports two events:
/// [`Notice::Sent`](crate::Notice::Sent) when the last packet starts on the terminal link, and
/// [`Notice::Arrived`](crate::Notice::Arrived) when the last byte is at the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[repr(C, align(64))]
pub struct Message<P> {
    // The fields needed when a packet arrives come first, in one cache line.
    /// Bytes of payload; an empty message is one header-only packet.
    pub bytes: u64,
    /// Bytes not yet delivered (updated by the receiving side).
    pub(crate) undelivered: u64,
    /// Receiving node; if it equals `source`, the message goes through the router and back.
    pub target: u32,
    /// For a copy in another part: its slot in the part of its target, if it has stayed there; otherwise [`NIL`]. For
    /// the message at its target: [`EXPECTED`] if its packets arrive from other parts.
    pub(crate) home: u32,
    pub(crate) next: u32,
    /// The owner.
    pub traffic: Traffic,
    /// Whether the host requests `Sent`.
    pub notify_sent: bool,
    /// Whether the host requests `Arrived`; if not, the fabric frees the message itself.
    pub notify_arrived: bool,
    /// When the host created it (for message latency).
    pub created: Time,
    /// When it joined the NIC's queue.
    pub(crate) queued: Time,
    /// When the last byte delivered so far is at the target (updated by the receiving side).
    pub(crate) arrival: Time,
    /// Sending node.
    pub source: u32,
    /// The number of the message at its source; only with several parts.
    pub(crate) number: u32,
    /// Whether it carries no data of a user: such a message goes first where its NIC has queues per peer.
    pub is_control: bool,
    /// Number of messages into which the host divided its message, over several interfaces of a node; 1 if it is whole.
    pub stripes: u8,
    /// Data for the hosts; opaque to the fabric.
    pub content: P,
}

/// A value of [`Message::home`]: packets of the message arrive from other parts.
pub(crate) const EXPECTED: u32 = u32::MAX - 1;

const _: () = assert!(size_of::<Message<[u32; 10]>>() == BYTES);

/// Most bytes of a message, for every payload.
pub(crate) const BYTES: usize = 128;

impl<P> Message<P> {
    /// A message of `bytes` from `source` to `target` that requests both notices.
    pub fn new(source: u32, target: u32, bytes: u64, traffic: Traffic, created: Time, content: P) -> Self {
        const { assert!(size_of::<Self>() <= BYTES, "a message carries at most 40 bytes") };
        Message {
            bytes,
            created,
            source,
            target,
            traffic,
            notify_sent: true,
            notify_arrived: true,
            content,
            queued: created,
            arrival: Time::ZERO,
            undelivered: bytes,
            number: 0,
            is_control: false,
            stripes: 1,
            home: NIL,
            next: NIL,
        }
    }
}

impl<P: Payload> Slot for Message<P> {
    fn next(&self) -> u32 {
        self.next
    }
    fn set_next(&mut self, next: u32) {
        self.next = next;
    }
}

//! Messages: what the hosts hand to the fabric and get back.

use odonata_engine::{Cell, NIL, Slot, Time, WireFormat};

/// Whose traffic it is: an index into the run's list of (job, MPI or I/O).
pub type Traffic = u16;

/// What a message carries for the hosts: small plain data at which the fabric does not look, and which goes along to other
/// parts. At most 40 bytes, so that a message is two cache lines.
pub trait Payload: Cell + WireFormat {}

impl<P: Cell + WireFormat> Payload for P {}

/// A message from node to node. The fabric cuts it into packets and reports two moments:
/// [`Notice::Sent`](crate::Notice::Sent) when the last packet starts on the terminal link,
/// and [`Notice::Arrived`](crate::Notice::Arrived) when the last byte is at the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[repr(C, align(64))]
pub struct Message<P> {
    // What is needed when a packet arrives stands first, in one cache line.
    /// Bytes of payload; 0 travels as one header-only packet.
    pub bytes: u64,
    /// Bytes not yet delivered (kept by the receiving side).
    pub(crate) undelivered: u64,
    /// Receiving node; if it is `source`, the message goes through the router and back.
    pub target: u32,
    /// For a copy in another part: its slot in the part of its target, if it has stayed there; else [`NIL`]. For the
    /// message at its target: [`EXPECTED`] if its packets come from other parts.
    pub(crate) home: u32,
    pub(crate) next: u32,
    /// Whose traffic it is.
    pub traffic: Traffic,
    /// Whether the host wants `Sent`.
    pub notify_sent: bool,
    /// Whether the host wants `Arrived`; if not, the fabric frees the message itself.
    pub notify_arrived: bool,
    /// When the host asked for it (for message latency).
    pub created: Time,
    /// When it reached the NIC's queue.
    pub(crate) queued: Time,
    /// When the last byte of those that have been delivered is at the target (kept by the receiving side).
    pub(crate) arrival: Time,
    /// Sending node.
    pub source: u32,
    /// Counts the messages of its source; only where there are several parts.
    pub(crate) number: u32,
    /// For the hosts; the fabric does not look at it.
    pub content: P,
}

/// In place of [`Message::home`]: packets of the message come from other parts.
pub(crate) const EXPECTED: u32 = u32::MAX - 1;

const _: () = assert!(size_of::<Message<[u32; 10]>>() == BYTES);

/// Most bytes of a message, whatever it carries.
pub(crate) const BYTES: usize = 128;

impl<P> Message<P> {
    /// A message of `bytes` from `source` to `target`, with both notices wanted.
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

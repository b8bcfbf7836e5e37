//! The boundary between two parts of the fabric: packets on links to other parts, and returning credits.
//!
//! A packet carries its message by value, because the slot of a message is local to a part:
//!
//! ```text
//!  part of the source             a part in between            part of the target
//!  [message] NIC ─ packets ──►  packet + copy of message ──►  packets ─► [message] ─► host
//!   freed with the last           freed when the packet         made by the first packet
//!   packet that leaves            leaves                        to arrive, see `reassembly`
//! ```
//!
//! A packet can return to the part of its source, if its target is there. Then the message has stayed, and the packet
//! knows its slot ([`Message::home`]).

mod reassembly;
mod remote;
mod transfer;
mod wire;

pub(crate) use reassembly::Reassembly;
pub use remote::{
    RemoteCredit, RemoteEvent, RemoteFlit, RemoteLoad, RemoteLoss, RemoteNotification, RemotePacket, RemoteUpdate,
};

use crate::control::Notification;
use crate::message::Payload;
use odonata_engine::{SendBuffer, Time};

/// Output to other parts, and incomplete messages from other parts.
#[derive(Debug)]
pub(crate) struct Boundary<P> {
    /// Whether there are other parts.
    pub(crate) divided: bool,
    pub(crate) reassembly: Reassembly,
    /// Output to other parts; empty between events.
    pub(crate) send_buffer: SendBuffer<RemoteEvent<P>, RemoteUpdate>,
}
odonata_engine::journalled!(Boundary<P: Payload> { reassembly });

impl<P> Boundary<P> {
    /// For a part with `nodes` nodes.
    pub(crate) fn new(nodes: u32, divided: bool) -> Boundary<P> {
        Boundary {
            divided,
            reassembly: Reassembly::new(nodes, divided),
            send_buffer: SendBuffer::new(),
        }
    }

    /// Sends a body flit for `buffer`, numbered over the machine, of router `to`; it arrives at `at`.
    #[cold]
    pub(crate) fn export_flit(&mut self, to: u32, at: Time, buffer: u32) {
        let flit = RemoteEvent::Flit(RemoteFlit { buffer });
        self.send_buffer.events.push((to, at, flit));
    }

    /// Sends a notification that reaches router `to` at `at`.
    pub(crate) fn export_notification(&mut self, to: u32, at: Time, notification: &Notification) {
        let remote = RemoteEvent::Notification(RemoteNotification::of(notification));
        self.send_buffer.events.push((to, at, remote));
    }

    /// Sends a loss of a packet, flit or credit that reaches router `to` at `at`.
    pub(crate) fn export_loss(&mut self, to: u32, at: Time, loss: RemoteLoss) {
        self.send_buffer.updates.push((to, at, RemoteUpdate::Loss(loss)));
    }

    /// Sends a credit for router `to` that counts from `due`.
    #[cold]
    pub(crate) fn export_credit(&mut self, to: u32, due: Time, credit: RemoteCredit) {
        self.send_buffer.updates.push((to, due, RemoteUpdate::Credit(credit)));
    }
}

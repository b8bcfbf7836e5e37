//! The rendezvous protocol: the sender sends the data when the receive is posted.
//!
//! ```text
//!  sender                                        receiver
//!    send ── RTS: tag, context, sequence, size ──> matching, like an eager message
//!                                                    │ matched
//!    <───────────────────────────────────── CTS ─────┘
//!    └──────       the data ──────────────────────> receive complete
//!    send complete when the data have left
//! ```
//!
//! RTS and CTS are control messages: packets of the job's MPI traffic, but not messages in the metrics of ranks. An RTS
//! that waits for its receive occupies no buffer. The latency of a message runs from the send call to the arrival of
//! the data.

use super::effect::{MpiEffect, OutgoingMessage};
use super::matching::Envelope;
use crate::context::Uses;
use crate::payload::Payload;
use crate::settings::{Mpi as Settings, RendezvousForm};
use crate::turn::Turn;
use odonata_engine::{Mode, NIL, Pool, Time};

/// A message at its sender, from the send call until the data leave.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct Outgoing {
    /// Sender, or [`NIL`] in a free slot.
    pub(crate) rank: u32,
    pub(crate) to: u32,
    pub(crate) bytes: u64,
    pub(crate) created: Time,
    /// The request that completes when the data have left, or [`NIL`].
    pub(crate) request: u32,
    /// The receiver's number of the message, once known.
    pub(super) incoming: u32,
    next: u32,
}

/// A message at its receiver, from the match until the data arrive.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct Incoming {
    /// Receiver, or [`NIL`] in a free slot.
    pub(crate) rank: u32,
    pub(crate) from: u32,
    /// The sender's number of the message.
    pub(super) outgoing: u32,
    /// The request that completes when the data arrive, or [`NIL`].
    pub(crate) request: u32,
    /// The context in its RTS.
    pub(super) context: u32,
    pub(super) sequence: u32,
    next: u32,
}

odonata_engine::slots!(Outgoing Incoming);

/// Rendezvous in progress, at the senders and receivers of a part.
#[derive(Debug)]
pub(crate) struct Rendezvous {
    outgoing: Pool<Outgoing>,
    incoming: Pool<Incoming>,
}
odonata_engine::journalled!(Rendezvous { outgoing, incoming });

impl Rendezvous {
    pub(crate) fn new() -> Self {
        Rendezvous {
            outgoing: Pool::new(),
            incoming: Pool::new(),
        }
    }

    /// Opens the message from `rank` to `to` at its sender.
    pub(super) fn open_outgoing<M: Mode>(
        &mut self,
        (rank, to): (u32, u32),
        bytes: u64,
        created: Time,
        request: u32,
    ) -> u32 {
        self.outgoing.allocate::<M>(Outgoing {
            rank,
            to,
            bytes,
            created,
            request,
            incoming: NIL,
            next: NIL,
        })
    }

    /// Opens the message of the RTS `message`, from rank `from`, at its receiver.
    pub(super) fn open_incoming<M: Mode>(&mut self, rank: u32, from: u32, request: u32, message: &Envelope) -> u32 {
        self.incoming.allocate::<M>(Incoming {
            rank,
            from,
            outgoing: message.rendezvous,
            request,
            context: message.context,
            sequence: message.sequence,
            next: NIL,
        })
    }

    /// The receiver of message `outgoing` calls it `incoming`.
    pub(super) fn answer<M: Mode>(&mut self, outgoing: u32, incoming: u32) {
        self.outgoing.edit::<M>(outgoing).incoming = incoming;
    }

    /// Sends the CTS to the sender of `incoming`.
    pub(super) fn send_cts<M: Uses>(&self, turn: &mut Turn<'_, MpiEffect>, settings: &Settings, incoming: u32) {
        let Incoming {
            rank, from, outgoing, ..
        } = *self.incoming.get(incoming);
        let cts = Payload::Cts {
            from: rank,
            to: from,
            outgoing,
            incoming,
        };
        turn.sends_control::<M>(settings, cts, settings.answer_delay());
    }

    /// Sends the data of message `outgoing`.
    pub(super) fn send_data<M: Uses>(&mut self, turn: &mut Turn<'_, MpiEffect>, settings: &Settings, outgoing: u32) {
        let Outgoing {
            rank,
            to,
            bytes,
            created,
            request,
            incoming,
            ..
        } = self.take_outgoing::<M>(outgoing);
        let software = match (settings.rendezvous, settings.rendezvous_zero_copy) {
            (RendezvousForm::Get, _) => Time::ZERO,
            (RendezvousForm::Put, true) => settings.send_delay,
            (RendezvousForm::Put, false) => settings.send_software(bytes),
        };
        turn.sends::<M>(OutgoingMessage {
            payload: Payload::RendezvousData {
                from: rank,
                to,
                incoming,
                request,
            },
            bytes,
            created,
            software,
            cause: NIL,
        });
    }

    fn take_outgoing<M: Mode>(&mut self, slot: u32) -> Outgoing {
        let outgoing = *self.outgoing.get(slot);
        self.outgoing.edit::<M>(slot).rank = NIL;
        self.outgoing.free::<M>(slot);
        outgoing
    }

    pub(super) fn take_incoming<M: Mode>(&mut self, slot: u32) -> Incoming {
        let incoming = *self.incoming.get(slot);
        self.incoming.edit::<M>(slot).rank = NIL;
        self.incoming.free::<M>(slot);
        incoming
    }

    /// Messages at their senders, in the order of their slots.
    pub(crate) fn outgoing(&self) -> impl Iterator<Item = &Outgoing> {
        let slots = (0..self.outgoing.touched()).map(|slot| self.outgoing.get(slot));
        slots.filter(|outgoing| outgoing.rank != NIL)
    }

    /// Matched messages at their receivers, in the order of their slots.
    pub(crate) fn incoming(&self) -> impl Iterator<Item = &Incoming> {
        let slots = (0..self.incoming.touched()).map(|slot| self.incoming.get(slot));
        slots.filter(|incoming| incoming.rank != NIL)
    }

    /// Numbers of messages at their senders, and of matched messages at their receivers.
    pub(crate) fn live(&self) -> [u32; 2] {
        [self.outgoing.live(), self.incoming.live()]
    }
}

//! The rendezvous protocol: data leave when their receive is there.
//!
//! ```text
//!  sender                                        receiver
//!    send ── RTS: tag, context, sequence, size ──> matching, like an eager message
//!                                                    │ matched
//!    <───────────────────────────────────── CTS ─────┘
//!    └────── Bulk: the data ──────────────────────> receive complete
//!    send complete when they have left
//! ```
//!
//! RTS and CTS are control messages: packets of the job's MPI traffic, and no messages in the metrics of
//! ranks. An RTS that waits for its receive holds no buffer. A message's latency is from the send call to
//! the arrival of its data.

use super::Hosts;
use super::event::Outside;
use super::letter::{Kind, Letter, Words, halves, whole, words};
use super::matching::Waiting;
use super::post::Shipment;
use super::progress::Chore;
use odonata_engine::{Mode, NIL, Slot, Time};

/// A message at its sender, from the send call until the data go.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct Outgoing {
    /// Sender, or [`NIL`] in a slot that is free.
    pub(crate) rank: u32,
    pub(crate) to: u32,
    pub(crate) bytes: u64,
    pub(crate) created: Time,
    /// What is complete when the data have left, or [`NIL`].
    pub(crate) request: u32,
    /// The receiver's name for it, once that is known.
    incoming: u32,
    next: u32,
}

/// A message at its receiver, from the match until the data are there.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct Incoming {
    /// Receiver, or [`NIL`] in a slot that is free.
    pub(crate) rank: u32,
    pub(crate) from: u32,
    /// The sender's name for it.
    outgoing: u32,
    /// What is complete when the data are there, or [`NIL`].
    pub(crate) request: u32,
    next: u32,
}

macro_rules! slots {
    ($($type:ident)*) => { $(
        impl Slot for $type {
            fn next(&self) -> u32 {
                self.next
            }
            fn set_next(&mut self, next: u32) {
                self.next = next;
            }
        }
    )* };
}
slots!(Outgoing Incoming);

/// A message that is asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outbound {
    /// Sender and receiver, counted over all jobs.
    pub(crate) rank: u32,
    pub(crate) target: u32,
    pub(crate) tag: u32,
    pub(crate) context: u32,
    pub(crate) sequence: u32,
    pub(crate) bytes: u64,
    /// What is complete when it has left, or [`NIL`].
    pub(crate) request: u32,
}

impl Hosts {
    /// Asks the receiver of a message to take it, `after` so much time.
    pub(crate) fn request_to_send<X: Outside>(&mut self, x: &mut X, message: Outbound, after: Time) {
        let Outbound {
            rank,
            target,
            tag,
            context,
            sequence,
            bytes,
            request,
        } = message;
        let outgoing = self.outgoing.take::<X>(Outgoing {
            rank,
            to: target,
            bytes,
            created: x.now() + after,
            request,
            incoming: NIL,
            next: NIL,
        });
        let [low, high] = halves(bytes);
        let words = words(&[tag, context, sequence, outgoing, low, high]);
        self.send_control(x, Kind::Rts, (rank, target), words, after);
    }

    fn send_control<X: Outside>(&mut self, x: &mut X, kind: Kind, (from, to): (u32, u32), words: Words, after: Time) {
        let shipment = Shipment {
            created: x.now(),
            source: self.end_of_rank(from),
            target: self.end_of_rank(to),
            bytes: self.params.mpi.rendezvous_control,
            traffic: Self::traffic(self.places[from as usize].job, false),
            letter: Letter { kind, to, from, words },
            software: after + self.params.mpi.send_delay,
            notify_sent: false,
            notify_arrived: true,
        };
        self.ship(x, shipment);
    }

    /// A rank is asked to take a message.
    pub(crate) fn rts_arrived<X: Outside>(&mut self, x: &mut X, letter: Letter) {
        let [tag, context, sequence, outgoing, low, high, _] = letter.words;
        let first = self.jobs[usize::from(self.places[letter.to as usize].job)].first_rank;
        let message = Waiting {
            source: letter.from - first,
            tag,
            context,
            sequence,
            bytes: whole(low, high),
            rendezvous: outgoing,
            next: NIL,
        };
        self.accept(x, letter.to, message);
        self.advance(x, letter.to);
    }

    /// A receive of `rank` and the RTS `message` have met; `request` completes with the data.
    pub(crate) fn meet<X: Outside>(&mut self, x: &mut X, rank: u32, request: u32, message: &Waiting) {
        let first = self.jobs[usize::from(self.places[rank as usize].job)].first_rank;
        let incoming = self.incoming.take::<X>(Incoming {
            rank,
            from: first + message.source,
            outgoing: message.rendezvous,
            request,
            next: NIL,
        });
        self.progress(x, rank, Chore::Answer { incoming });
    }

    /// Tells the sender of `incoming` to send.
    pub(crate) fn answer<X: Outside>(&mut self, x: &mut X, incoming: u32) {
        let Incoming {
            rank, from, outgoing, ..
        } = *self.incoming.get(incoming);
        self.send_control(x, Kind::Cts, (rank, from), words(&[outgoing, incoming]), Time::ZERO);
    }

    /// The receiver waits for the data.
    pub(crate) fn cts_arrived<X: Outside>(&mut self, x: &mut X, letter: Letter) {
        let [outgoing, incoming, ..] = letter.words;
        self.outgoing.edit::<X>(outgoing).incoming = incoming;
        self.progress(x, letter.to, Chore::Deliver { outgoing });
    }

    /// Sends the data of `outgoing`.
    pub(crate) fn deliver<X: Outside>(&mut self, x: &mut X, outgoing: u32) {
        let Outgoing {
            rank,
            to,
            bytes,
            created,
            request,
            incoming,
            ..
        } = *self.outgoing.get(outgoing);
        self.outgoing.edit::<X>(outgoing).rank = NIL;
        self.outgoing.give::<X>(outgoing);
        let software = if self.params.mpi.zero_copy {
            self.params.mpi.send_delay
        } else {
            self.send_software(bytes)
        };
        let shipment = Shipment {
            created,
            source: self.end_of_rank(rank),
            target: self.end_of_rank(to),
            bytes,
            traffic: Self::traffic(self.places[rank as usize].job, false),
            letter: Letter {
                kind: Kind::Bulk,
                to,
                from: rank,
                words: words(&[incoming, 0, 0, request]),
            },
            software,
            notify_sent: request != NIL,
            notify_arrived: true,
        };
        self.ship(x, shipment);
    }

    /// The data of a message are there.
    pub(crate) fn bulk_arrived<X: Outside>(&mut self, x: &mut X, letter: Letter) {
        let incoming = letter.words[0];
        let request = self.incoming.get(incoming).request;
        self.free_incoming::<X>(incoming);
        self.complete(x, request);
        self.advance(x, letter.to);
    }

    fn free_incoming<M: Mode>(&mut self, incoming: u32) {
        self.incoming.edit::<M>(incoming).rank = NIL;
        self.incoming.give::<M>(incoming);
    }

    /// Messages under way by rendezvous at their senders, in the order of their slots.
    pub(crate) fn all_outgoing(&self) -> impl Iterator<Item = &Outgoing> {
        let slots = (0..self.outgoing.touched()).map(|slot| self.outgoing.get(slot));
        slots.filter(|outgoing| outgoing.rank != NIL)
    }

    /// Messages under way by rendezvous that have met their receive, in the order of their slots.
    pub(crate) fn all_incoming(&self) -> impl Iterator<Item = &Incoming> {
        let slots = (0..self.incoming.touched()).map(|slot| self.incoming.get(slot));
        slots.filter(|incoming| incoming.rank != NIL)
    }
}

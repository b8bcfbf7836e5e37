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

use crate::Hosts;
use crate::context::HostContext;
use crate::mpi::matching::Envelope;
use crate::mpi::progress::ProtocolWork;
use crate::payload::Payload;
use crate::send::{SendRequest, traffic_of};
use crate::timeline::{Step, StepRecord};
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
    incoming: u32,
    next: u32,
}

/// A message at its receiver, from the match until the data arrive.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct Incoming {
    /// Receiver, or [`NIL`] in a free slot.
    pub(crate) rank: u32,
    pub(crate) from: u32,
    /// The sender's number of the message.
    outgoing: u32,
    /// The request that completes when the data arrive, or [`NIL`].
    pub(crate) request: u32,
    /// The context in its RTS.
    context: u32,
    sequence: u32,
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

    fn take_outgoing<M: Mode>(&mut self, slot: u32) -> Outgoing {
        let outgoing = *self.outgoing.get(slot);
        self.outgoing.edit::<M>(slot).rank = NIL;
        self.outgoing.free::<M>(slot);
        outgoing
    }

    fn take_incoming<M: Mode>(&mut self, slot: u32) -> Incoming {
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

/// A message to be sent by rendezvous.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outbound {
    /// Sender and receiver, numbered over all jobs.
    pub(crate) rank: u32,
    pub(crate) target: u32,
    pub(crate) tag: u32,
    pub(crate) context: u32,
    pub(crate) sequence: u32,
    pub(crate) bytes: u64,
    /// The request that completes when the message has left, or [`NIL`].
    pub(crate) request: u32,
}

impl Hosts {
    /// Sends the RTS of a message after a delay of `after`.
    pub(crate) fn request_to_send<C: HostContext>(&mut self, ctx: &mut C, message: Outbound, after: Time) {
        let Outbound {
            rank,
            target,
            tag,
            context,
            sequence,
            bytes,
            request,
        } = message;
        let outgoing = self.mpi.rendezvous.outgoing.allocate::<C>(Outgoing {
            rank,
            to: target,
            bytes,
            created: ctx.now() + after,
            request,
            incoming: NIL,
            next: NIL,
        });
        let rts = Payload::Rts {
            from: rank,
            to: target,
            tag,
            context,
            sequence,
            outgoing,
            bytes,
        };
        self.send_control(ctx, (rank, target), rts, after);
    }

    fn send_control<C: HostContext>(&mut self, ctx: &mut C, (from, to): (u32, u32), payload: Payload, after: Time) {
        let mpi = &self.params.mpi;
        let request = SendRequest {
            created: ctx.now(),
            source: self.layout.endpoint_of_rank(from),
            target: self.layout.endpoint_of_rank(to),
            bytes: mpi.rendezvous_control.0,
            traffic: traffic_of(self.layout.place(from).job, false),
            payload,
            software: after + mpi.send_delay,
            notify_sent: false,
            notify_arrived: true,
        };
        self.send(ctx, request);
    }

    /// Handles the match of a receive of `rank` and the RTS `message`; `request` completes when the data arrive.
    pub(crate) fn rendezvous_matched<C: HostContext>(
        &mut self,
        ctx: &mut C,
        rank: u32,
        request: u32,
        message: &Envelope,
    ) {
        let incoming = self.mpi.rendezvous.incoming.allocate::<C>(Incoming {
            rank,
            from: self.layout.job_of(rank).first_rank + message.source,
            outgoing: message.rendezvous,
            request,
            context: message.context,
            sequence: message.sequence,
            next: NIL,
        });
        self.progress(ctx, rank, ProtocolWork::SendCts { incoming });
    }

    /// Sends the CTS to the sender of `incoming`.
    pub(crate) fn send_cts<C: HostContext>(&mut self, ctx: &mut C, incoming: u32) {
        let Incoming {
            rank, from, outgoing, ..
        } = *self.mpi.rendezvous.incoming.get(incoming);
        let cts = Payload::Cts {
            from: rank,
            to: from,
            outgoing,
            incoming,
        };
        self.send_control(ctx, (rank, from), cts, Time::ZERO);
    }

    /// Handles a CTS: the receiver is ready for the data.
    pub(crate) fn cts_arrived<C: HostContext>(&mut self, ctx: &mut C, rank: u32, outgoing: u32, incoming: u32) {
        self.mpi.rendezvous.outgoing.edit::<C>(outgoing).incoming = incoming;
        self.progress(ctx, rank, ProtocolWork::SendData { outgoing });
    }

    pub(crate) fn send_data<C: HostContext>(&mut self, ctx: &mut C, outgoing: u32) {
        let Outgoing {
            rank,
            to,
            bytes,
            created,
            request,
            incoming,
            ..
        } = self.mpi.rendezvous.take_outgoing::<C>(outgoing);
        let software = match self.params.mpi.rendezvous_zero_copy {
            true => self.params.mpi.send_delay,
            false => self.send_software(bytes),
        };
        let data = SendRequest {
            created,
            source: self.layout.endpoint_of_rank(rank),
            target: self.layout.endpoint_of_rank(to),
            bytes,
            traffic: traffic_of(self.layout.place(rank).job, false),
            payload: Payload::RendezvousData {
                from: rank,
                to,
                incoming,
                request,
            },
            software,
            notify_sent: request != NIL,
            notify_arrived: true,
        };
        self.send(ctx, data);
    }

    /// Handles the arrival of the data of a message.
    pub(crate) fn rendezvous_data_arrived<C: HostContext>(&mut self, ctx: &mut C, rank: u32, incoming: u32) {
        let Incoming {
            from,
            request,
            context,
            sequence,
            ..
        } = self.mpi.rendezvous.take_incoming::<C>(incoming);
        if self.mpi.log.steps.wants(rank, from, ctx.now()) {
            let (call, number, by) = match request {
                NIL => (NIL, NIL, NIL),
                request => {
                    let cell = self.mpi.requests.get(request);
                    (cell.op, cell.number, self.mpi.requests.taker(&self.ranks, request))
                }
            };
            self.mpi.log.steps.add::<C>(StepRecord {
                peer: from,
                context,
                sequence,
                call,
                ..StepRecord::of(Step::Data, rank, ctx.now()).with_request(number, by)
            });
        }
        self.complete(ctx, request);
        self.advance(ctx, rank);
    }
}

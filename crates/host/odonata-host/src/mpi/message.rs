//! Messages between ranks: sends, receives, probes, their matching, and the rendezvous.
//!
//! A message up to the eager threshold leaves immediately with its data. Longer messages and synchronous sends use the
//! rendezvous protocol (`rendezvous`). `matching` and `sequence` hold the queues and the order.

use super::Mpi;
use super::collective::Sender;
use super::effect::{MpiEffect, OutgoingMessage};
use super::matching::{Envelope, PostedReceive, Poster};
use super::one_sided::ArrivedAccess;
use super::progress::ProtocolWork;
use super::rendezvous::Incoming;
use super::request::kind::RequestKind;
use super::sequence::context;
use crate::context::Uses;
use crate::failure::{Failure, InvalidOperation};
use crate::observe::{Arrival, Match, Observer, SentMessage};
use crate::payload::Payload;
use crate::settings::{Mpi as Settings, RendezvousForm};
use crate::turn::Turn;
use odonata_engine::{NIL, Time};
use odonata_units::PerByte;
use odonata_workload::{Comm, OpId, PROC_NULL, Source, Tag};

/// A send of a rank.
#[derive(Clone, Copy, Debug)]
pub(super) struct Transmission {
    pub(super) rank: u32,
    pub(super) op: OpId,
    pub(super) tag: u32,
    pub(super) bytes: u64,
    /// The request that completes when the message has left, or [`NIL`].
    pub(super) request: u32,
    /// Rendezvous, regardless of length; otherwise eager or rendezvous by length.
    pub(super) synchronous: bool,
    /// The overhead of earlier sends of the same collective step.
    pub(super) after: Time,
    pub(super) sender: Sender,
}

impl Transmission {
    /// A send without delay, eager or rendezvous by length.
    #[inline]
    pub(super) fn new(rank: u32, op: OpId, tag: u32, bytes: u64, request: u32) -> Transmission {
        Transmission {
            rank,
            op,
            tag,
            bytes,
            request,
            synchronous: false,
            after: Time::ZERO,
            sender: Sender::Library,
        }
    }
}

impl Mpi {
    /// Sends a message to member `to` of `comm`; returns the time that it occupies the rank.
    pub(super) fn send_to_member<M: Uses>(
        &mut self,
        turn: &mut Turn<'_, MpiEffect>,
        send: Transmission,
        to: u32,
        comm: Comm,
    ) -> Result<Time, InvalidOperation> {
        if to == PROC_NULL {
            self.complete::<M>(turn, send.request);
            return Ok(Time::ZERO);
        }
        let to = self.layout.rank_of(send.rank, comm, to)?;
        Ok(self.send::<M>(turn, send, to, context(comm, false)))
    }

    /// Posts a receive of operation `op` of `rank` from member `from` of `comm`.
    #[allow(clippy::too_many_arguments)]
    pub(super) fn receive_from_member<M: Uses>(
        &mut self,
        turn: &mut Turn<'_, MpiEffect>,
        (rank, op): (u32, OpId),
        from: Source,
        tag: Tag,
        bytes: u64,
        comm: Comm,
        request: u32,
    ) -> Result<(), InvalidOperation> {
        if from == Source::Rank(PROC_NULL) {
            self.complete::<M>(turn, request);
            return Ok(());
        }
        let receive = PostedReceive {
            source: self.layout.source_of(rank, comm, from)?,
            tag,
            context: context(comm, false),
            bytes,
            request,
            op,
            poster: Poster::Receive,
            next: NIL,
        };
        self.post_receive::<M>(turn, rank, receive);
        Ok(())
    }

    /// Makes call `slot` of `rank` wait for a message from member `from` of `comm`; the message stays for a receive.
    pub(super) fn probe<M: Uses>(
        &mut self,
        turn: &mut Turn<'_, MpiEffect>,
        (rank, op, slot): (u32, OpId, u32),
        from: Source,
        tag: Tag,
        comm: Comm,
    ) -> Result<(), InvalidOperation> {
        if from == Source::Rank(PROC_NULL) {
            return Ok(());
        }
        let probe = PostedReceive {
            source: self.layout.source_of(rank, comm, from)?,
            tag,
            context: context(comm, false),
            bytes: 0,
            request: self.open_request::<M>(slot, RequestKind::Nothing),
            op,
            poster: Poster::Probe,
            next: NIL,
        };
        self.post_receive::<M>(turn, rank, probe);
        Ok(())
    }

    /// Sends a message to rank `to` of the job; returns the time that it occupies the rank.
    pub(super) fn send<M: Uses>(
        &mut self,
        turn: &mut Turn<'_, MpiEffect>,
        send: Transmission,
        to: u32,
        context: u32,
    ) -> Time {
        let Transmission {
            rank,
            op,
            tag,
            bytes,
            request,
            synchronous,
            after,
            sender,
        } = send;
        let job = self.layout.job_of(rank);
        let target = job.first_rank + to;
        let sequence = self.sequences.next_to_send::<M>(&self.layout, rank, to, context);
        let sent = turn.now + after;
        turn.observers.message_is_sent::<M>(&SentMessage {
            rank,
            target,
            context,
            sequence,
            op,
            bytes,
            at: sent,
        });
        let threshold = match sender {
            Sender::Library => self.settings.eager_threshold,
            Sender::Processor | Sender::Interface(_) => None,
        };
        if synchronous || threshold.is_some_and(|threshold| bytes > threshold.0) {
            let rts = Payload::Rts {
                from: rank,
                to: target,
                tag,
                context,
                sequence,
                outgoing: (self.rendezvous).open_outgoing::<M>((rank, target), bytes, sent, request),
                bytes,
            };
            turn.sends_control::<M>(&self.settings, rts, after + self.settings.send_delay);
            return self.settings.send_overhead;
        }
        let (settings, ends) = (&self.settings, (rank, target));
        let copy = settings.eager_copy(&self.layout, ends, settings.send_overhead_per_byte, bytes);
        let software = match sender {
            Sender::Interface(delay) => delay,
            Sender::Library | Sender::Processor => {
                copy + settings.fetch(&self.layout, ends, bytes) + settings.send_software(bytes)
            }
        };
        turn.sends::<M>(OutgoingMessage {
            payload: Payload::Eager {
                from: rank,
                to: target,
                tag,
                context,
                sequence,
                request,
            },
            bytes,
            created: sent,
            software: after + software,
            cause: NIL,
        });
        match sender {
            Sender::Interface(_) => Time::ZERO,
            Sender::Library | Sender::Processor => self.settings.send_overhead + copy,
        }
    }

    /// Acknowledges the eager message of `bytes` that arrived at `rank` from rank `from`, if its `request` waits for that.
    pub(crate) fn acknowledge<M: Uses>(
        &self,
        turn: &mut Turn<'_, MpiEffect>,
        (rank, from): (u32, u32),
        bytes: u64,
        request: u32,
    ) {
        if request != NIL && self.settings.is_acknowledged(&self.layout, (from, rank), bytes) {
            let ack = Payload::Ack {
                from: rank,
                to: from,
                request,
            };
            turn.sends_control::<M>(&self.settings, ack, self.settings.answer_delay());
        }
    }

    /// Posts a receive or probe of `rank`, which completes immediately if a message matches.
    pub(crate) fn post_receive<M: Uses>(&mut self, turn: &mut Turn<'_, MpiEffect>, rank: u32, receive: PostedReceive) {
        if receive.request != NIL {
            turn.observers.receive_is_posted::<M>(receive.request);
        }
        let matching = &mut self.matching;
        if receive.poster == Poster::Probe && matching.unexpected(rank).any(|message| receive.takes(message)) {
            self.complete::<M>(turn, receive.request);
            return;
        }
        if let Some(message) = matching.post::<M>(rank, receive) {
            let before = turn.observers.receive_finds::<M>(rank, &message);
            self.matched::<M>(turn, rank, &receive, &message);
            turn.observers.act_again_for::<M>(before);
        }
    }

    /// Handles the arrival at `rank` of an eager message or of an RTS, in or out of order.
    pub(crate) fn message_arrives<M: Uses>(&mut self, turn: &mut Turn<'_, MpiEffect>, rank: u32, message: Envelope) {
        let Envelope { source, context, .. } = message;
        let pair = self.sequences.pair::<M>(&self.layout, rank, source, context);
        if message.sequence != self.sequences.get(pair).received {
            self.matching.hold::<M>(rank, message);
            turn.observers.message_waits_for_earlier::<M>(rank, &message);
            return;
        }
        self.offer::<M>(turn, rank, message);
        let mut sequence = message.sequence.wrapping_add(1);
        while let Some(next) = self.matching.release_held::<M>(rank, source, context, sequence) {
            let before = turn.observers.acts_for::<M>();
            turn.observers.message_follows_earlier::<M>(rank, &next);
            self.offer::<M>(turn, rank, next);
            turn.observers.act_again_for::<M>(before);
            sequence = sequence.wrapping_add(1);
        }
        self.sequences.edit::<M>(pair).received = sequence;
    }

    /// Passes a message to the first matching receive, or queues it.
    fn offer<M: Uses>(&mut self, turn: &mut Turn<'_, MpiEffect>, rank: u32, message: Envelope) {
        turn.observers.message_is_offered::<M>(rank, &message);
        while let Some(receive) = self.matching.offer::<M>(rank, message) {
            if receive.poster == Poster::Probe {
                self.complete::<M>(turn, receive.request);
                continue;
            }
            let before = turn.observers.message_finds::<M>(receive.request, &message);
            self.matched::<M>(turn, rank, &receive, &message);
            turn.observers.act_again_for::<M>(before);
            return;
        }
        turn.observers
            .message_waits_for_receive::<M>(&self.layout, rank, &message, turn.now);
    }

    /// The operation that began `request`, its number, and the call that takes it if it completes now.
    #[inline]
    fn describe_request(&self, request: u32) -> (u32, u32, u32) {
        match request {
            NIL => (NIL, NIL, NIL),
            request => {
                let cell = self.requests.get(request);
                (cell.op, cell.number, self.calls.taker(cell.waiter, cell.number))
            }
        }
    }

    /// Handles the match of a receive and a message.
    fn matched<M: Uses>(
        &mut self,
        turn: &mut Turn<'_, MpiEffect>,
        rank: u32,
        receive: &PostedReceive,
        message: &Envelope,
    ) {
        let Envelope { source, tag, bytes, .. } = *message;
        let (begun_by, number, taker) = self.describe_request(receive.request);
        turn.observers.message_is_matched::<M>(&Match {
            layout: &self.layout,
            rank,
            receive,
            message,
            begun_by,
            number,
            taker,
            now: turn.now,
        });
        match receive.poster {
            Poster::Collective { call, stamp } if tag != stamp || bytes != receive.bytes => {
                if let Some(schedule) = self.calls.schedule(call) {
                    turn.fails(Failure::Mismatch {
                        rank,
                        op: schedule.op,
                        source,
                        stamp: tag,
                    });
                }
            }
            Poster::Receive => {
                if receive.tag == Tag::Any {
                    turn.effects.push(MpiEffect::TakeTag { rank, tag });
                }
                if bytes > receive.bytes {
                    turn.fails(Failure::Truncation {
                        rank,
                        source,
                        tag,
                        bytes,
                        buffer: receive.bytes,
                    });
                }
            }
            _ => {}
        }
        match message.rendezvous {
            NIL => {
                let rate = self.settings.recv_overhead_per_byte;
                if rate != PerByte::ZERO && receive.request != NIL {
                    let from = self.layout.job_of(rank).first_rank + source;
                    let copy = (self.settings).eager_copy(&self.layout, (rank, from), rate, bytes);
                    if copy > Time::ZERO {
                        self.requests.add_copy::<M>(receive.request, copy);
                    }
                }
                self.complete::<M>(turn, receive.request);
            }
            _ => {
                let from = self.layout.job_of(rank).first_rank + source;
                let incoming = self.rendezvous.open_incoming::<M>(rank, from, receive.request, message);
                self.progress::<M>(turn, rank, ProtocolWork::SendCts { incoming });
            }
        }
    }

    /// Handles the arrival of a CTS at `rank`: the receiver is ready for the data.
    pub(crate) fn cts_arrives<M: Uses>(
        &mut self,
        turn: &mut Turn<'_, MpiEffect>,
        rank: u32,
        outgoing: u32,
        incoming: u32,
    ) {
        self.rendezvous.answer::<M>(outgoing, incoming);
        match self.settings.rendezvous {
            RendezvousForm::Put => self.progress::<M>(turn, rank, ProtocolWork::SendData { outgoing }),
            // The interface answers the read request.
            RendezvousForm::Get => self.rendezvous.send_data::<M>(turn, &self.settings, outgoing),
        }
    }

    /// Handles the arrival at `rank` of the data of message `incoming`, whose sender calls its request `sent`.
    pub(crate) fn data_arrives<M: Uses>(
        &mut self,
        turn: &mut Turn<'_, MpiEffect>,
        rank: u32,
        incoming: u32,
        sent: u32,
    ) {
        let Incoming {
            from,
            request,
            context,
            sequence,
            ..
        } = self.rendezvous.take_incoming::<M>(incoming);
        let (begun_by, number, taker) = self.describe_request(request);
        turn.observers.data_arrive::<M>(&Arrival {
            rank,
            from,
            context,
            sequence,
            begun_by,
            number,
            taker,
            now: turn.now,
        });
        if sent != NIL && self.settings.rendezvous == RendezvousForm::Get {
            let notice = Payload::Ack {
                from: rank,
                to: from,
                request: sent,
            };
            turn.sends_control::<M>(&self.settings, notice, self.settings.answer_delay());
        }
        self.complete::<M>(turn, request);
    }
    /// Handles the arrival of an access at its target.
    pub(crate) fn access_arrives<M: Uses>(&mut self, turn: &mut Turn<'_, MpiEffect>, arrived: ArrivedAccess) {
        if let Some(answer) = self.windows.access_arrives::<M>(turn, &self.settings, arrived) {
            self.progress::<M>(turn, arrived.to, ProtocolWork::Combine { answer });
        }
    }

    /// Handles the arrival at `rank` of a notice of an epoch from rank `from`.
    pub(crate) fn epoch_arrives<M: Uses>(
        &mut self,
        turn: &mut Turn<'_, MpiEffect>,
        (rank, from): (u32, u32),
        comm: u32,
        ends: bool,
    ) {
        if let Some(request) = self.windows.notice_arrives::<M>((rank, from), comm, ends) {
            self.complete::<M>(turn, request);
        }
    }
}

impl Turn<'_, MpiEffect> {
    /// Sends a message, whose cause is the current stamp.
    #[inline(always)]
    pub(super) fn sends<M: Uses>(&mut self, message: OutgoingMessage) {
        let cause = self.observers.tag_of_effect::<M>();
        self.effects.push(MpiEffect::Send(OutgoingMessage { cause, ..message }));
    }

    /// Sends a control message, after its software has taken `software`.
    pub(super) fn sends_control<M: Uses>(&mut self, settings: &Settings, payload: Payload, software: Time) {
        self.sends::<M>(OutgoingMessage {
            payload,
            bytes: settings.rendezvous_control.0,
            created: self.now,
            software,
            cause: NIL,
        });
    }
}

//! Point-to-point messages: sends, receives and probes of programs, and the eager protocol.
//!
//! A message up to the eager threshold leaves immediately with its data. Longer messages and synchronous sends use the
//! rendezvous protocol (`rendezvous`).

use crate::Hosts;
use crate::context::HostContext;
use crate::diagnosis::outcome::InvalidOperation;
use crate::mpi::matching::{Envelope, PostedReceive, Poster};
use crate::mpi::rendezvous::Outbound;
use crate::mpi::request::RequestKind;
use crate::mpi::sequence::context;
use crate::payload::Payload;
use crate::send::{SendRequest, traffic_of};
use crate::timeline::{Step, StepRecord};
use odonata_engine::{NIL, Time};
use odonata_units::Bytes;
use odonata_workload::{Comm, OpId, OpKind, PROC_NULL, Source, Tag};

/// The mode of a send.
#[derive(Clone, Copy, Debug)]
pub(crate) enum SendMode {
    /// Eager or rendezvous by length, after the earlier sends of the same collective step.
    Standard {
        /// The overhead of those sends.
        after: Time,
    },
    /// Rendezvous, regardless of length.
    Synchronous,
}

impl SendMode {
    /// Immediately, eager or rendezvous by length.
    pub(crate) const STANDARD: SendMode = SendMode::Standard { after: Time::ZERO };
}

/// The kind of request of point-to-point operation `kind`.
pub(crate) fn request_kind(kind: &OpKind) -> RequestKind {
    match *kind {
        OpKind::Send { to, .. }
        | OpKind::Ssend { to, .. }
        | OpKind::Isend { to, .. }
        | OpKind::Issend { to, .. }
        | OpKind::SendInit { to, .. }
            if to != PROC_NULL =>
        {
            RequestKind::Send
        }
        OpKind::Recv { from, .. } | OpKind::Irecv { from, .. } | OpKind::RecvInit { from, .. }
            if from != Source::Rank(PROC_NULL) =>
        {
            RequestKind::Receive
        }
        _ => RequestKind::Nothing,
    }
}

impl Hosts {
    /// Sends a message of operation `op` of `rank` to member `to` of `comm`; returns the time that it occupies the
    /// rank.
    #[allow(clippy::too_many_arguments)]
    pub(crate) fn send_to_member<C: HostContext>(
        &mut self,
        ctx: &mut C,
        (rank, op): (u32, OpId),
        to: u32,
        tag: u32,
        bytes: u64,
        comm: Comm,
        request: u32,
        mode: SendMode,
    ) -> Result<Time, InvalidOperation> {
        if to == PROC_NULL {
            self.complete(ctx, request);
            return Ok(Time::ZERO);
        }
        let to = self.layout.rank_of(rank, comm, to)?;
        self.send_to_rank(ctx, (rank, op), to, tag, context(comm, false), bytes, request, mode);
        Ok(self.params.mpi.send_overhead)
    }

    /// Posts a receive of operation `op` of `rank` from member `from` of `comm`.
    #[allow(clippy::too_many_arguments)]
    pub(crate) fn receive_from_member<C: HostContext>(
        &mut self,
        ctx: &mut C,
        (rank, op): (u32, OpId),
        from: Source,
        tag: Tag,
        bytes: u64,
        comm: Comm,
        request: u32,
    ) -> Result<(), InvalidOperation> {
        if from == Source::Rank(PROC_NULL) {
            self.complete(ctx, request);
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
        self.post_receive(ctx, rank, receive);
        Ok(())
    }

    /// Makes operation `slot` of `rank` wait for a message from member `from` of `comm`; the message stays for a
    /// receive.
    pub(crate) fn probe<C: HostContext>(
        &mut self,
        ctx: &mut C,
        (rank, op, slot): (u32, OpId, u32),
        from: Source,
        tag: Tag,
        comm: Comm,
    ) -> Result<(), InvalidOperation> {
        if from == Source::Rank(PROC_NULL) {
            return Ok(());
        }
        let source = self.layout.source_of(rank, comm, from)?;
        let requests = &mut self.mpi.requests;
        let probe = PostedReceive {
            source,
            tag,
            context: context(comm, false),
            bytes: 0,
            request: requests.open_blocking::<C>(&mut self.ranks, slot, RequestKind::Nothing),
            op,
            poster: Poster::Probe,
            next: NIL,
        };
        self.post_receive(ctx, rank, probe);
        Ok(())
    }

    /// Sends a message of operation `op` of `rank` to rank `to` of its job; `request` completes when the message has
    /// left.
    #[allow(clippy::too_many_arguments)]
    pub(crate) fn send_to_rank<C: HostContext>(
        &mut self,
        ctx: &mut C,
        (rank, op): (u32, OpId),
        to: u32,
        tag: u32,
        context: u32,
        bytes: u64,
        request: u32,
        mode: SendMode,
    ) {
        let job = self.layout.place(rank).job;
        let target = self.layout.job(job).first_rank + to;
        let sequence = self.mpi.sequences.next_to_send::<C>(&self.layout, rank, to, context);
        let metrics = self.records.edit_metrics::<C>(rank);
        metrics.sends += 1;
        metrics.bytes_sent += bytes;
        let (synchronous, after) = match mode {
            SendMode::Synchronous => (true, Time::ZERO),
            SendMode::Standard { after } => (false, after),
        };
        let sent = ctx.now() + after;
        if self.mpi.log.steps.wants(rank, target, sent) {
            self.mpi.log.steps.add::<C>(StepRecord {
                peer: target,
                context,
                sequence,
                call: op.0,
                ..StepRecord::of(Step::Sent, rank, sent).with_bytes(bytes)
            });
        }
        let threshold = self.params.mpi.eager_threshold;
        if synchronous || threshold.is_some_and(|threshold| bytes > threshold.0) {
            let message = Outbound {
                rank,
                target,
                tag,
                context,
                sequence,
                bytes,
                request,
            };
            self.request_to_send(ctx, message, after);
            return;
        }
        let message = SendRequest {
            created: sent,
            source: self.layout.endpoint_of_rank(rank),
            target: self.layout.endpoint_of_rank(target),
            bytes,
            traffic: traffic_of(job, false),
            payload: Payload::Eager {
                from: rank,
                to: target,
                tag,
                context,
                sequence,
                request,
            },
            software: after + self.send_software(bytes),
            notify_sent: request != NIL,
            notify_arrived: true,
        };
        self.send(ctx, message);
    }

    /// Software time for a message of `bytes` between ranks: call and copy.
    #[inline]
    pub(crate) fn send_software(&self, bytes: u64) -> Time {
        let mpi = &self.params.mpi;
        mpi.send_delay + mpi.send_per_byte.time_for(Bytes(bytes))
    }

    /// Handles the arrival at a rank of an eager message or of an RTS.
    pub(crate) fn message_arrived<C: HostContext>(&mut self, ctx: &mut C, to: u32, message: Envelope) {
        self.accept(ctx, to, message);
        self.advance(ctx, to);
    }
}

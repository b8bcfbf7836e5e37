//! Sending: the way of a message from the host's software to the fabric, or to another rank of its node.
//!
//! | | leaves the sender's software | arrives |
//! |---|---|---|
//! | other node | call + software + copy + NIC + (MPI) jitter of the hand-off: joins the NIC's queue | when the fabric says so |
//! | same node | call + software + copy | then + local latency + bytes / local bandwidth |
//!
//! Messages within a node share nothing: each has the whole local bandwidth, however many there are, as long
//! as the copies of a few ranks do not fill the node's memory bandwidth. They meet the packets of no other.

use crate::Hosts;
use crate::context::HostContext;
use crate::event::HostEvent;
use crate::metrics::MessageRecord;
use crate::mpi::matching::Envelope;
use crate::observe::Observer;
use crate::payload::Payload;
use odonata_engine::{Lp, Mode, NIL, Pool, SparseStore, Stream, Time};
use odonata_network::settings::Jitter;
use odonata_network::{Message, Traffic};
use odonata_storage::{RequestHeader, Requester, StorageRequest};
use odonata_units::Bytes;

/// A message that stays on its node.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct LocalMessage {
    pub(crate) bytes: u64,
    pub(crate) created: Time,
    pub(crate) payload: Payload,
    next: u32,
}

odonata_engine::slots!(LocalMessage);

/// An end of a message.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Endpoint {
    pub(crate) node: u32,
    /// The logical process of the node.
    pub(crate) lp: Lp,
    /// Its random stream.
    pub(crate) stream: u32,
}

/// A message to be sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SendRequest {
    pub(crate) source: Endpoint,
    pub(crate) target: Endpoint,
    pub(crate) bytes: u64,
    pub(crate) traffic: Traffic,
    pub(crate) payload: Payload,
    /// When it was asked for.
    pub(crate) created: Time,
    /// From now until the host's software has done its part.
    pub(crate) software: Time,
    pub(crate) notify_sent: bool,
    pub(crate) notify_arrived: bool,
}

/// The number of the traffic of `job`: its MPI, or its I/O.
#[inline]
pub(crate) fn traffic_of(job: u16, io: bool) -> Traffic {
    2 * job + u16::from(io)
}

/// Random delays of the software, and messages within nodes.
#[derive(Debug)]
pub(crate) struct Transport {
    /// One per rank, then one per server.
    streams: SparseStore<Stream>,
    local: Pool<LocalMessage>,
}
odonata_engine::journalled!(Transport { streams, local });

impl Transport {
    pub(crate) fn new(streams: SparseStore<Stream>) -> Self {
        Transport {
            streams,
            local: Pool::new(),
        }
    }

    /// Draws from `jitter` with random stream `stream`.
    #[inline]
    pub(crate) fn draw<M: Mode>(&mut self, stream: u32, jitter: Option<Jitter>) -> Time {
        let Some(Jitter { min, max }) = jitter else {
            return Time::ZERO;
        };
        let span = max.saturating_sub(min).0 + 1;
        let share = self.streams.edit::<M>(stream).unit();
        Time(min.0 + ((share * span as f64) as u64).min(span - 1))
    }

    /// Local message `slot`.
    #[inline]
    pub(crate) fn local(&self, slot: u32) -> &LocalMessage {
        self.local.get(slot)
    }

    /// Takes local message `slot`, which is at its receiver.
    pub(crate) fn take_local<M: Mode>(&mut self, slot: u32) -> LocalMessage {
        let message = *self.local.get(slot);
        self.local.free::<M>(slot);
        message
    }

    /// Messages within nodes under way.
    pub(crate) fn live(&self) -> u32 {
        self.local.live()
    }
}

impl Hosts {
    /// Sends a message.
    #[inline]
    pub(crate) fn send<C: HostContext>(&mut self, ctx: &mut C, request: SendRequest) {
        let SendRequest {
            source,
            target,
            bytes,
            traffic,
            payload,
            created,
            software,
            notify_sent,
            notify_arrived,
        } = request;
        let now = ctx.now();
        // An event comes strictly later than its cause, however fast the software.
        let soon = now + Time::from_ps(1);
        let ready = now + software;
        if source.node != target.node {
            let nic = &self.params.nic;
            // Messages that a server or client hands over together keep their order: pieces of a file
            // that overtook each other would cost the device seeks.
            let handoff = match payload.is_mpi() {
                true => self.transport.draw::<C>(source.stream, nic.handoff),
                false => Time::ZERO,
            };
            let at = ready + nic.message_delay + handoff;
            let mut message = Message::new(source.node, target.node, bytes, traffic, created, payload);
            (message.notify_sent, message.notify_arrived) = (notify_sent, notify_arrived);
            ctx.submit(at.max(soon), message, self.observers.tag_of_message());
            return;
        }
        let sent = ready.max(soon);
        let mpi = &self.params.mpi;
        let arrives = sent + mpi.local_latency + mpi.local_bandwidth.time_for(Bytes(bytes));
        if !notify_sent && !notify_arrived {
            // No rank receives it, and it contends with nothing.
            return;
        }
        let message = self.transport.local.allocate::<C>(LocalMessage {
            bytes,
            created,
            payload,
            next: NIL,
        });
        self.observers.local_message_departs::<C>(message);
        if notify_sent {
            ctx.schedule(source.lp, sent, HostEvent::LocalSent { message });
        }
        // After `LocalSent` even where both are due at once, and needed in any case: it frees the slot.
        ctx.schedule(source.lp, arrives, HostEvent::LocalArrived { message });
    }

    /// A message has left its sender, which asked for this notice.
    pub(crate) fn sent<C: HostContext>(&mut self, ctx: &mut C, payload: Payload) {
        match payload {
            Payload::Eager { from, request, .. } | Payload::RendezvousData { from, request, .. } => {
                self.complete(ctx, request);
                self.advance(ctx, from);
            }
            Payload::ReadData { piece, .. } => self.read_data_sent(ctx, piece),
            Payload::Rts { .. } | Payload::Cts { .. } | Payload::JobControl { .. } | Payload::Synthetic { .. } => {}
            Payload::Request { .. }
            | Payload::Pull { .. }
            | Payload::WriteData { .. }
            | Payload::Response { .. }
            | Payload::JobEnded { .. }
            | Payload::LockRevoke { .. }
            | Payload::LockReturn { .. } => {}
        }
    }

    /// A message has arrived.
    #[inline]
    pub(crate) fn arrived<C: HostContext>(&mut self, ctx: &mut C, payload: Payload, bytes: u64, created: Time) {
        self.count_message(ctx, &payload, bytes, created);
        match payload {
            Payload::Synthetic { .. } => {}
            Payload::JobControl { from, to, signal } => {
                self.ask_jobs(ctx, |jobs, turn| jobs.signal_arrives::<C>(turn, from, to, signal));
            }
            Payload::Eager {
                from,
                to,
                tag,
                context,
                sequence,
                ..
            } => {
                let source = from - self.layout.job_of(to).first_rank;
                let message = Envelope {
                    source,
                    tag,
                    context,
                    sequence,
                    bytes,
                    rendezvous: NIL,
                    next: NIL,
                };
                self.ask_mpi(ctx, |mpi, turn| mpi.message_arrives::<C>(turn, to, message));
                self.advance(ctx, to);
            }
            Payload::Rts {
                from,
                to,
                tag,
                context,
                sequence,
                outgoing,
                bytes,
            } => {
                let source = from - self.layout.job_of(to).first_rank;
                let message = Envelope {
                    source,
                    tag,
                    context,
                    sequence,
                    bytes,
                    rendezvous: outgoing,
                    next: NIL,
                };
                self.ask_mpi(ctx, |mpi, turn| mpi.message_arrives::<C>(turn, to, message));
                self.advance(ctx, to);
            }
            Payload::Cts {
                to, outgoing, incoming, ..
            } => self.ask_mpi(ctx, |mpi, turn| mpi.cts_arrives::<C>(turn, to, outgoing, incoming)),
            Payload::RendezvousData { to, incoming, .. } => {
                self.ask_mpi(ctx, |mpi, turn| mpi.data_arrives::<C>(turn, to, incoming));
                self.advance(ctx, to);
            }
            Payload::Request { server, request } => self.request_arrived(ctx, server, request),
            Payload::Pull {
                server,
                header,
                piece,
                bytes,
            } => self.pull_arrived(ctx, server, header, (piece, bytes)),
            Payload::WriteData { piece, .. } => self.write_data_arrived(ctx, piece),
            Payload::ReadData { server, header, .. } => self.read_data_arrived(ctx, server, header, bytes),
            Payload::Response { header, lost, .. } => self.response_arrived(ctx, header, lost),
            Payload::LockRevoke {
                server,
                client,
                owner,
                holder,
            } => self.lock_revoke_arrived(ctx, (client, server), (owner, holder)),
            Payload::LockReturn {
                client, owner, holder, ..
            } => self.lock_returned(ctx, holder, (client, owner)),
            Payload::JobEnded { server, owner, .. } => self.job_end_arrived(ctx, server, owner),
        }
    }

    /// Counts a message that has arrived, unless it carries no data of a program: the protocol of MPI, of jobs, of locks.
    #[inline]
    fn count_message<C: HostContext>(&mut self, ctx: &mut C, payload: &Payload, bytes: u64, created: Time) {
        // A rank of its job; none where a server asks the lower tier.
        let of_job = |header: RequestHeader| match header.client.requester() {
            Requester::Rank(rank) => rank - self.layout.job(header.owner).first_rank,
            Requester::Server(_) => NIL,
        };
        let latency = ctx.now() - created;
        let (job, io, from_server, source, destination) = match *payload {
            Payload::Rts { .. }
            | Payload::Cts { .. }
            | Payload::JobControl { .. }
            | Payload::JobEnded { .. }
            | Payload::LockRevoke { .. }
            | Payload::LockReturn { .. } => return,
            Payload::Eager { from, to, .. }
            | Payload::RendezvousData { from, to, .. }
            | Payload::Synthetic { from, to } => {
                let metrics = self.records.edit_metrics::<C>(to);
                metrics.recvs += 1;
                metrics.bytes_received += bytes;
                metrics.latency_ps += u128::from(latency.0);
                metrics.latency_max = metrics.latency_max.max(latency);
                let job = self.layout.place(to).job;
                let first = self.layout.job(job).first_rank;
                (job, false, false, from - first, to - first)
            }
            Payload::Request {
                server,
                request: StorageRequest { header, .. },
            }
            | Payload::WriteData { server, header, .. } => (header.owner, true, false, of_job(header), server),
            Payload::Pull { server, header, .. }
            | Payload::ReadData { server, header, .. }
            | Payload::Response { server, header, .. } => (header.owner, true, true, server, of_job(header)),
        };
        self.records
            .add_message::<C>(traffic_of(job, io), (created, latency), || MessageRecord {
                job,
                io,
                source,
                destination,
                from_server,
                bytes,
                created,
                latency,
            });
    }
}

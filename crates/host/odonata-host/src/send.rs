//! Sending: the way of a message from the host's software to the fabric, or to another rank of its node.
//!
//! | | leaves the sender's software | arrives |
//! |---|---|---|
//! | other node | call + software + copy + NIC + (MPI) jitter of the hand-off: joins the NIC's queue | when the fabric says so |
//! | other node, divided over interfaces | as above, each part | with its last part |
//! | same node | call + software + copy | then + local latency + bytes / local bandwidth |
//!
//! Messages within a node share nothing: each has the whole local bandwidth, however many there are, as long
//! as the copies of a few ranks do not fill the node's memory bandwidth. They meet the packets of no other.

use crate::context::HostContext;
use crate::event::HostEvent;
use crate::interfaces::{Interfaces, bytes_of_part};
use crate::layout::Endpoint;
use crate::mpi::contribution::RankContribution;
use crate::observe::{Observer, Observers};
use crate::params::HostParams;
use crate::payload::Payload;
use odonata_engine::{Mode, NIL, Pool, SparseStore, Stream, Time};
use odonata_network::settings::{Jitter, Nic};
use odonata_network::{Contribution, Message, Traffic};
use odonata_units::{Bandwidth, Bytes};

/// A message that stays on its node.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct LocalMessage {
    pub(crate) bytes: u64,
    pub(crate) created: Time,
    pub(crate) payload: Payload,
    next: u32,
}

odonata_engine::slots!(LocalMessage);

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
    nic: Nic,
    local_latency: Time,
    local_bandwidth: Bandwidth,
    /// One per rank, then one per server.
    streams: SparseStore<Stream>,
    local: Pool<LocalMessage>,
    pub(crate) interfaces: Interfaces,
}
odonata_engine::journalled!(Transport {
    streams,
    local,
    interfaces
});

impl Transport {
    pub(crate) fn new(params: &HostParams, interfaces: u32, streams: SparseStore<Stream>) -> Self {
        Transport {
            nic: params.nic.clone(),
            local_latency: params.mpi.local_latency,
            local_bandwidth: params.mpi.local_bandwidth,
            streams,
            local: Pool::new(),
            interfaces: Interfaces::new(&params.nic, interfaces),
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

    /// The random delay of a message of `rank` on its way to the network interface.
    #[inline]
    pub(crate) fn hand_off<M: Mode>(&mut self, rank: u32) -> Time {
        self.draw::<M>(rank, self.nic.handoff)
    }

    /// Hands over the part of a rank at `endpoint` in a sum of routers, for traffic `owner`.
    pub(crate) fn contribute<C: HostContext>(
        &mut self,
        ctx: &mut C,
        endpoint: Endpoint,
        software: Time,
        (of, owner): (&RankContribution, Traffic),
    ) {
        let now = ctx.now();
        let at = now + software + self.nic.message_delay + self.draw::<C>(endpoint.stream, self.nic.handoff);
        let interface = self.interfaces.number(endpoint.node, endpoint.interface);
        let contribution = Contribution::new((of.rank, interface), (of.tree, of.number), of.bytes, owner, of.request);
        ctx.reduce(at.max(now + Time::from_ps(1)), contribution);
    }

    /// Sends a message.
    #[inline]
    pub(crate) fn send<C: HostContext>(&mut self, ctx: &mut C, observers: &mut Observers, request: SendRequest) {
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
            // Messages that a server or client hands over together keep their order: pieces of a file
            // that overtook each other would cost the device seeks.
            let handoff = match payload.is_mpi() {
                true => self.draw::<C>(source.stream, self.nic.handoff),
                false => Time::ZERO,
            };
            let at = ready + self.nic.message_delay + handoff;
            let (from, to) = self.interfaces.between(source, target);
            let mut message = Message::new(from, to, bytes, traffic, created, payload);
            (message.notify_sent, message.notify_arrived) = (notify_sent, notify_arrived);
            message.is_control = payload.is_control();
            let parts = self.interfaces.parts(&payload, bytes);
            if parts == 1 {
                ctx.submit(at.max(soon), message, observers.tag_of_message::<C>());
                return;
            }
            for part in 0..parts {
                let (from, to) = self.interfaces.of_part(source, target, part);
                let mut message = Message::new(from, to, bytes_of_part(bytes, part, parts), traffic, created, payload);
                (message.notify_sent, message.notify_arrived) = (notify_sent, notify_arrived);
                message.stripes = parts as u8;
                ctx.submit(at.max(soon), message, observers.tag_of_message::<C>());
            }
            return;
        }
        let sent = ready.max(soon);
        let arrives = sent + self.local_latency + self.local_bandwidth.time_for(Bytes(bytes));
        if !notify_sent && !notify_arrived {
            // No rank receives it, and it contends with nothing.
            return;
        }
        let message = self.local.allocate::<C>(LocalMessage {
            bytes,
            created,
            payload,
            next: NIL,
        });
        observers.local_message_departs::<C>(message);
        if notify_sent {
            ctx.schedule(source.lp, sent, HostEvent::LocalSent { message });
        }
        // After `LocalSent` even where both are due at once, and needed in any case: it frees the slot.
        ctx.schedule(source.lp, arrives, HostEvent::LocalArrived { message });
    }
}

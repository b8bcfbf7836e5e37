//! The fabric as a whole: its state, its interface to the hosts, and what both router models share.

mod blueprint;
mod decide;

pub use blueprint::Blueprint;

use crate::border::{Arrivals, Parcel, Token};
use crate::clocked::Clocked;
use crate::congestion::Control;
use crate::credit::Flow;
use crate::knowledge::Board;
use crate::levels::Spans;
use crate::packet::{Packet, Wants};
use crate::params::{NetworkParams, RouterModel, Switching};
use crate::port::InBuffer;
use crate::routing::{Header, Routing};
use crate::sampling::{Delivery, Sampler, Sampling};
use crate::shares::Shares;
use crate::stats::{Histogram, LinkStats, MOST_SERIES_CELLS, NodeStats, SeriesCell, TrafficStats};
use crate::{FabricEvent, Message, Notice, nic::Nic};
use odonata_engine::{Context, Growing, Mode, NIL, Outbox, Pool, Store, Stream, Time, Windowed};
use odonata_topology::{LinkClass, Peer};
use std::ops::Range;
use std::sync::Arc;

/// When a packet leaves the NIC's message queue it belongs to the fabric until it is delivered.
#[derive(Debug)]
pub struct Fabric {
    pub(crate) params: NetworkParams,
    pub(crate) routing: Arc<Routing>,
    /// The routers whose part this is, and whether there are others.
    pub(crate) routers: Range<u32>,
    pub(crate) divided: bool,
    /// Flits of a packet of full size: what [`Wants::spare`](crate::packet::Wants::spare) is more.
    pub(crate) spare: u32,
    /// The virtual channels of each level of the routing.
    pub(crate) spans: Spans,
    /// Flits that every packet counts as, where the router model counts all as full ones.
    pub(crate) full_packet: Option<u32>,
    /// The pipeline's latency, before a packet is routed or after it has been sent: a virtual-channel
    /// router routes what has come through its pipeline, the router of CODES routes on arrival and
    /// adds the delay to the way out.
    pub(crate) ingress: Time,
    pub(crate) egress: Time,
    /// Whether only the heads of input buffers compete; else there are no input queues to keep.
    pub(crate) fifo: bool,
    pub(crate) flow: Flow,
    pub(crate) inputs: Store<InBuffer>,
    pub(crate) clocked: Clocked,
    /// What is known of other routers.
    pub(crate) board: Board,
    pub(crate) packets: Pool<Packet>,
    pub(crate) messages: Pool<Message>,
    pub(crate) arrivals: Arrivals,
    /// One per NIC and traffic class.
    pub(crate) nics: Store<Nic>,
    pub(crate) shares: Shares,
    pub(crate) control: Control,
    pub(crate) random: Windowed<Stream>,
    pub(crate) links: Store<LinkStats>,
    pub(crate) nodes: Windowed<NodeStats>,
    pub(crate) traffic: Store<TrafficStats>,
    /// Packet latency from its start on the terminal link, and from creation, per traffic.
    pub(crate) latency: Histogram,
    pub(crate) latency_created: Histogram,
    /// Per interval: one cell per traffic, then one per link class.
    pub(crate) series: Growing<SeriesCell>,
    pub(crate) sampler: Sampler,
    /// What goes to other parts; empty between events.
    pub(crate) outbox: Outbox<Parcel, Token>,
}
odonata_engine::journalled!(Fabric {
    flow,
    inputs,
    clocked,
    board,
    packets,
    messages,
    arrivals,
    nics,
    shares,
    control,
    random,
    links,
    nodes,
    traffic,
    latency,
    latency_created,
    series,
    sampler,
});

impl Fabric {
    /// The logical processes of this part: one per router.
    pub fn processes(&self) -> Range<u32> {
        self.routers.clone()
    }

    /// The logical process that node `node` belongs to.
    pub fn process_of(&self, node: u32) -> u32 {
        self.routing.topology().node_router(node)
    }

    /// The smallest delay between two routers: a head's or a credit's way over a cable between them, or what they publish
    /// for their group.
    pub fn lookahead(&self, from: u32, to: u32) -> Time {
        let topology = self.routing.topology();
        let delay = |port: u32| {
            let link = self.flow.links.get(self.flow.links.port(port));
            (link.latency + self.params.routing_delay()).min(link.credit_delay)
        };
        let told = (self.groups()).filter(|(size, _)| from / size == to / size);
        topology
            .ports_of(from)
            .filter(|&port| matches!(topology.peer(port), Peer::Router { router, .. } if router == to))
            .map(delay)
            .chain(told.map(|(_, delay)| delay))
            .min()
            .unwrap_or(Time::NEVER)
    }

    /// The name by which looks at the sending port of `link`, by its own number in the part, are asked for (see
    /// [`Context::look_again`]).
    pub fn name_of_look(&self, link: u32) -> u32 {
        self.flow.names | link
    }

    /// Counts packets in sampling periods from now on, which is before the first event.
    ///
    /// # Panics
    /// A period takes no time.
    pub fn sample(&mut self, sampling: Sampling) {
        assert!(sampling.period > Time::ZERO, "a sampling period takes no time");
        self.sampler.on = Some(sampling);
    }

    /// Hands a message to the NIC of its source, where it joins the queue at `at` (later than now).
    /// Returns its slot. A node's message to itself goes through its router and back.
    pub fn submit<E, C>(&mut self, ctx: &mut C, at: Time, message: Message) -> u32
    where
        E: Copy + From<FabricEvent>,
        C: Context<E>,
    {
        let lp = self.process_of(message.source);
        let slot = self.messages.take::<C>(Message { queued: at, ..message });
        ctx.send(lp, at, FabricEvent::Submit { message: slot }.into());
        slot
    }

    /// Hands a message to the NIC of its source now: for hosts that have let the software's time pass
    /// already. The message must not want `Sent`, because that may happen at once.
    pub fn submit_now<E, C>(&mut self, ctx: &mut C, message: Message)
    where
        E: Copy + From<FabricEvent>,
        C: Context<E>,
    {
        debug_assert!(!message.notify_sent, "nobody could be told");
        let slot = self.messages.take::<C>(Message {
            queued: ctx.now(),
            ..message
        });
        self.enqueue_message::<E, C>(ctx, slot);
    }

    /// The message in slot `slot`.
    pub fn message(&self, slot: u32) -> &Message {
        self.messages.get(slot)
    }

    /// Frees a message that has arrived.
    pub fn release<M: Mode>(&mut self, slot: u32) {
        self.messages.give::<M>(slot);
    }

    /// What the events handled since it was last emptied have for other parts.
    pub fn outbox(&mut self) -> &mut Outbox<Parcel, Token> {
        &mut self.outbox
    }

    /// Handles an event; returns what the hosts must be told.
    pub fn handle<E, C>(&mut self, ctx: &mut C, lp: u32, event: FabricEvent) -> Option<Notice>
    where
        E: Copy + From<FabricEvent>,
        C: Context<E>,
    {
        let input_queued = self.params.router == RouterModel::InputQueued;
        if self.params.router == RouterModel::Pipelined {
            return self.handle_clocked::<E, C>(ctx, lp, event);
        }
        match event {
            FabricEvent::Arrive { packet } if input_queued => self.arrive_input_queued::<E, C>(ctx, lp, packet),
            FabricEvent::Arrive { packet } => self.arrive_output_queued::<E, C>(ctx, lp, packet),
            FabricEvent::Port { port } if input_queued => self.serve_input_queued::<E, C>(ctx, port),
            FabricEvent::Port { port } => self.serve_output_queued::<E, C>(ctx, port),
            FabricEvent::Input { buffer } => self.next_head::<E, C>(ctx, lp, buffer),
            FabricEvent::Nic { nic } => return self.serve_nic::<E, C>(ctx, nic),
            FabricEvent::Publish => self.publish::<E, C>(ctx, lp),
            FabricEvent::Submit { message } => return self.enqueue_message::<E, C>(ctx, message),
            FabricEvent::Arrived { message } => return Some(Notice::Arrived { message }),
            FabricEvent::Notify { notification } => return self.pass_notification::<E, C>(ctx, lp, notification),
            FabricEvent::Head { .. } | FabricEvent::Flit { .. } | FabricEvent::Tick => {
                debug_assert!(false, "there is no pipeline")
            }
        }
        None
    }

    /// Fetches what `event` will need into the cache.
    #[inline(always)]
    pub fn foresee(&self, event: &FabricEvent) {
        if let FabricEvent::Arrive { packet } | FabricEvent::Head { packet, .. } = *event {
            self.packets.prefetch(packet);
        }
    }

    /// Flits of buffer space that a packet of `bytes` takes.
    #[inline]
    pub(crate) fn flits(&self, bytes: u32) -> u32 {
        match self.full_packet {
            Some(flits) => flits,
            None => self.params.flits(u64::from(bytes)) as u32,
        }
    }

    /// Starts sending `packet` on virtual channel `vc` of router port `port` now; buffer space has been
    /// claimed. Returns when the port is free again. `waited`: the virtual channel for which it has waited, if it
    /// has.
    ///
    /// The tail leaves at `max(now + L/b, tail_in + pipeline + flit/b)`: not before it has come in
    /// and gone through the pipeline. Head and tail suffice for exact flit timing, because a packet
    /// under cut-through never stalls between its flits.
    #[inline]
    pub(crate) fn transmit<E, C>(&mut self, ctx: &mut C, packet: u32, port: u32, vc: u8, waited: Option<u8>) -> Time
    where
        E: Copy + From<FabricEvent>,
        C: Context<E>,
    {
        let now = ctx.now();
        let link = *self.flow.links.get(port);
        let p = self.packets.get(packet);
        let (bytes, tail_in, owner) = (p.bytes, p.tail_in, p.traffic);
        let serialisation = link.serialisation(bytes);
        let mut tail_out = now + serialisation;
        let mut head_out = tail_out;
        if self.params.switching == Switching::CutThrough {
            let flit = link.flit_time(serialisation);
            head_out = now + flit;
            tail_out = tail_out.max(tail_in + self.ingress + flit);
        }
        // An empty packet takes no time on the wire, but no two leave in the same instant: else it would
        // matter how often a port is looked at.
        let free_at = tail_out.max(Time(now.0 + 1));
        if self.flow.books.is_on() {
            self.flow.hold_port::<C>(port, owner, (now, free_at), waited);
        }
        let out = self.flow.ports.edit::<C>(port);
        out.free_at = free_at;
        out.last_vc = vc;
        let since = std::mem::replace(&mut out.full_since, Time::NEVER);
        let stats = self.links.edit::<C>(port);
        stats.bytes += u64::from(bytes);
        stats.packets += 1;
        stats.busy += tail_out - now;
        if since != Time::NEVER {
            stats.saturation += now - since;
        }
        if self.params.series.is_some() {
            let class = self.params.traffics as usize + link.class as usize;
            self.count_series::<C>(now, class, (1, bytes), tail_out - now);
        }
        if self.control.is_on() {
            let arrival = link.to_node.then_some(tail_out + link.latency + self.egress);
            self.watch_congestion::<E, C>(ctx, packet, port, arrival);
        }
        if link.to_node {
            let arrival = tail_out + link.latency + self.egress;
            let flits = self.flits(bytes) as u16;
            self.flow
                .return_credit::<E, C>(ctx, port, vc, (flits, owner), arrival + link.credit_delay);
            self.deliver::<E, C>(ctx, packet, arrival);
        } else {
            let p = self.packets.edit::<C>(packet);
            p.tail_in = tail_out + link.latency + self.egress;
            p.buffer = link.far + u32::from(vc);
            p.vc = vc;
            let at = head_out + link.latency + self.egress + self.ingress;
            if link.leaves {
                self.export::<C>(packet, link.far_lp, at);
            } else {
                ctx.send(link.far_lp, at, FabricEvent::Arrive { packet }.into());
            }
        }
        free_at
    }

    /// Books the delivery of `packet`, whose tail will be at its node at `arrival`. Known when its
    /// last link starts to send, since nothing can delay it any more: no event is needed per packet.
    pub(crate) fn deliver<E, C>(&mut self, ctx: &mut C, packet: u32, arrival: Time)
    where
        E: Copy + From<FabricEvent>,
        C: Context<E>,
    {
        let p = *self.packets.get(packet);
        self.packets.give::<C>(packet);
        let latency = arrival - p.injected;
        let which = usize::from(p.traffic);
        self.latency.record::<C>(which, latency);
        self.latency_created.record::<C>(which, arrival - p.created);
        let traffic = self.traffic.edit::<C>(u32::from(p.traffic));
        traffic.packets += 1;
        traffic.bytes += u64::from(p.bytes);
        traffic.hops += u64::from(p.hops);
        traffic.latency += latency;
        traffic.latency_created += arrival - p.created;
        traffic.latency_max = traffic.latency_max.max(latency);
        traffic.nonminimal += u64::from(p.header.via != crate::routing::NOWHERE);
        let node = self.nodes.edit::<C>(p.header.target);
        node.packets += 1;
        node.hops += u64::from(p.hops);
        node.latency += latency;
        node.latency_max = node.latency_max.max(latency);
        node.latency_min = node.latency_min.min(latency);
        node.digest = (node.digest ^ arrival.0)
            .wrapping_mul(0xff51_afd7_ed55_8ccd)
            .rotate_left(29)
            ^ p.created.0;
        if self.params.series.is_some() {
            self.count_series::<C>(arrival, which, (1, p.bytes), latency);
        }
        if self.sampler.on.is_some() {
            self.sampler.delivered::<C>(&Delivery {
                traffic: p.traffic,
                created: p.created,
                injected: p.injected,
                arrival,
                bytes: p.bytes,
                hops: p.hops,
            });
        }
        let message = self.messages.edit::<C>(p.message);
        message.undelivered -= u64::from(p.bytes);
        if message.undelivered == 0 {
            if message.home == Message::EXPECTED {
                self.arrivals.remove::<C>(&mut self.messages, p.message);
            }
            let message = self.messages.get(p.message);
            self.traffic.edit::<C>(u32::from(p.traffic)).messages += 1;
            if message.notify_arrived {
                let target = message.target;
                let lp = self.process_of(target);
                ctx.send(lp, arrival, FabricEvent::Arrived { message: p.message }.into());
            } else {
                self.messages.give::<C>(p.message);
            }
        }
    }

    pub(crate) fn count_series<M: Mode>(&mut self, at: Time, column: usize, (packets, bytes): (u64, u32), time: Time) {
        let Some(interval) = self.params.series else { return };
        let width = usize::from(self.params.traffics) + LinkClass::ALL.len();
        let row = (at.0 / interval.0) as usize;
        if row >= MOST_SERIES_CELLS / width {
            return;
        }
        let cell = self.series.edit::<M>(row * width + column);
        cell.packets += packets;
        cell.bytes += u64::from(bytes);
        cell.time += time;
    }

    /// The header and the buffer of a new packet are the NIC's business; this counts a router visited.
    #[inline]
    pub(crate) fn visit<M: Mode>(&mut self, packet: u32) {
        let p = self.packets.edit::<M>(packet);
        p.hops = p.hops.saturating_add(1);
    }

    /// A packet of traffic class `class` at the head of its NIC.
    #[inline]
    pub(crate) fn new_packet<M: Mode>(
        &mut self,
        message: u32,
        bytes: u32,
        (injected, tail_in): (Time, Time),
        buffer: u32,
        class: u8,
    ) -> u32 {
        let m = self.messages.get(message);
        let packet = Packet {
            created: m.created,
            injected,
            tail_in,
            header: Header::new(m.target),
            message,
            bytes,
            buffer,
            next: NIL,
            next_waiting: NIL,
            traffic: m.traffic,
            // A NIC has one channel for each class, but in front of pipelined routers, which have no classes.
            vc: class,
            class,
            marked: false,
            hops: 0,
            wants: Wants::default(),
        };
        self.packets.take::<M>(packet)
    }
}

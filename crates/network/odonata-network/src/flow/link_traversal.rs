//! Link traversal: a packet with a granted output and downstream credits departs.

use super::Space;
use crate::control::Departure;
use crate::fabric::Shared;
use crate::features::HandlerContext;
use crate::message::EXPECTED;
use crate::observe::{LinkDeparture, Observed, Observer, PacketDelivery, Tag, Transmission};
use crate::packet::Packet;
use crate::router::input_port;
use crate::settings::Switching;
use crate::{FabricEvent, Payload};
use odonata_engine::Time;

/// When a packet that has started on a link releases its resources.
#[derive(Clone, Copy)]
pub(crate) struct Release {
    /// The port may start the next packet.
    pub(crate) port: Time,
    /// The tail has left, which frees the input buffer.
    pub(crate) buffer: Time,
}

impl<P: Payload> Shared<P> {
    /// Starts to send `packet` on virtual channel `vc` of router port `port` now, and takes credits for `flits` flits;
    /// none if it already has its place downstream. `waited`: the virtual channel for which it has waited, if any.
    /// `queued`: bytes that wait for the port, if congestion control needs them.
    ///
    /// The packet occupies the port for `L/b`. Its tail leaves at `max(now + L/b, tail_in + pipeline + flit/b)`: not
    /// before it has arrived and passed the pipeline. If it arrives over a slower link, its flits leave gaps, which
    /// flits of the next packets fill: virtual channels interleave them. The link never carries more than `b`, because
    /// occupied times do not overlap and no flit leaves before its part of them.
    #[inline(always)]
    pub(crate) fn transmit<C: HandlerContext>(
        &mut self,
        ctx: &mut C,
        (packet, flits): (u32, u32),
        (port, vc): (u32, u8),
        waited: Option<u8>,
        queued: u64,
    ) -> Release {
        let now = ctx.now();
        let mut link = self.flow.link::<C>(port);
        let p = self.packets.trusted::<C>(packet);
        let (bytes, tail_in, buffer) = (p.bytes, p.tail_in, p.buffer);
        let (observed, input) = (Observed::new(packet, p), input_port(p));
        let alone = link.serialization(bytes);
        let channel = link.first_vc + u32::from(vc);
        let (serialization, wait) = self.transmission_time(ctx, (port, channel), packet, alone);
        link.latency += wait;
        let setup = &self.setup;
        let mut tail_out = now.plus(serialization);
        let mut head_out = tail_out;
        if setup.params.switching == Switching::CutThrough {
            let flit = link.flit_time(alone);
            head_out = now.plus(flit);
            tail_out = tail_out.max(tail_in.plus(setup.delay_before_routing).plus(flit));
            if alone < link.flit {
                // The packet may have arrived while the last flit of the packet ahead was departing.
                tail_out = tail_out.max(self.flow.late_tails.before(buffer, port) + alone);
            }
        }
        // An empty packet takes no time on the wire, but no two packets leave at the same instant: otherwise results
        // would depend on how often a port is evaluated.
        let free_at = now.plus(serialization).max(Time(now.0 + 1));
        if tail_out > free_at {
            self.flow.late_tails.leaves::<C>(buffer, port, tail_out);
        }
        self.flow.observers.packet_departs::<C>(&LinkDeparture {
            link: port,
            port: self.flow.ports.trusted::<C>(port),
            class: link.class,
            packet: observed,
            now,
            until: free_at,
            waited: waited.map(|vc| link.first_vc + u32::from(vc)),
            sent: Transmission {
                packets: 1,
                bytes,
                busy: alone,
            },
        });
        if flits > 0 {
            let channel = link.first_vc + u32::from(vc);
            self.flow.observers.credits_are_taken::<C>(channel, flits, now);
        }
        let from = (observed.owner, input);
        (self.flow).occupy::<C>((port, link.first_vc), vc, flits, from, free_at);
        let arrival = tail_out.plus(link.latency).plus(setup.delay_after_routing);
        if self.congestion.is_on::<C>() {
            let departure = Departure {
                packet,
                port,
                queued,
                arrival: link.to_node.then_some(arrival),
            };
            let pools = (&mut self.packets, &self.messages);
            self.congestion
                .packet_leaves(ctx, &self.setup, &self.flow.links, pools, departure);
        }
        if link.to_node {
            let flits = self.setup.flits(bytes) as u16;
            // No packet waits for space that the node frees.
            let space = Space {
                flits,
                owner: observed.owner,
                tag: Tag::NONE,
            };
            self.flow
                .return_credit(ctx, port, vc, space, arrival + link.credit_delay);
            self.deliver(ctx, packet, (arrival, tail_out > free_at));
        } else {
            let p = self.packets.edit_trusted::<C>(packet);
            p.tail_in = arrival;
            p.buffer = link.far + u32::from(vc);
            p.vc = vc;
            p.next_waiting = port;
            let at = (head_out.plus(link.latency))
                .plus(setup.delay_after_routing)
                .plus(setup.delay_before_routing);
            if link.leaves {
                self.export::<C>(packet, link.far_lp, at);
            } else {
                ctx.send(link.far_lp, at, FabricEvent::Arrive { packet }.into());
            }
        }
        Release {
            port: free_at,
            buffer: free_at.max(tail_out),
        }
    }

    /// The transmission time of `packet`, which starts on a virtual channel of `link` now and would take `alone`
    /// without flows; and its wait behind the backlog of flows in the buffers.
    #[inline(always)]
    fn transmission_time<C: HandlerContext>(
        &mut self,
        ctx: &mut C,
        place: (u32, u32),
        packet: u32,
        alone: Time,
    ) -> (Time, Time) {
        match self.flow.coupling.is_on::<C>() {
            true => self.beside_flows(ctx, place, packet, alone),
            false => (alone, Time::ZERO),
        }
    }

    /// How much longer than `alone` a packet of `message` takes on the link `number` of a NIC, because of flows.
    #[inline(always)]
    pub(crate) fn injection_delay<C: HandlerContext>(
        &mut self,
        ctx: &mut C,
        number: u32,
        message: u32,
        alone: Time,
    ) -> Time {
        if !self.flow.coupling.is_on::<C>() {
            return Time::ZERO;
        }
        let source = self.messages.trusted::<C>(message).source;
        let ends = (number, self.routes.process_of(source));
        self.flow.coupling.packet(ctx, ends, source, alone) - alone
    }

    /// The same as [`transmission_time`](Self::transmission_time), beside flows.
    // Not compiled into senders without flows.
    #[inline(never)]
    fn beside_flows<C: HandlerContext>(
        &mut self,
        ctx: &mut C,
        (link, channel): (u32, u32),
        packet: u32,
        alone: Time,
    ) -> (Time, Time) {
        let &Packet { message, buffer, .. } = self.packets.trusted::<C>(packet);
        let source = self.messages.trusted::<C>(message).source;
        let router = self.flow.links.sender(link);
        let coupling = &mut self.flow.coupling;
        let time = coupling.packet(ctx, (link, router), source, alone);
        (time, coupling.waits.packet(ctx, buffer, (link, channel), time))
    }

    /// Records the delivery of `packet`, whose tail arrives at its node at `arrival`. The time is known when its last
    /// link starts to send, because nothing can delay it after that: delivery needs no event per packet. The packet
    /// that starts last may not arrive last: a packet from a slower link `may_be_overtaken`. A message is complete when
    /// all its packets have arrived.
    pub(crate) fn deliver<C: HandlerContext>(
        &mut self,
        ctx: &mut C,
        packet: u32,
        (arrival, may_be_overtaken): (Time, bool),
    ) {
        let p = *self.packets.trusted::<C>(packet);
        self.packets.free::<C>(packet);
        let message = self.messages.edit_trusted::<C>(p.message);
        let is_detour = (self.routes.routing).is_detour(message.source, u32::from(p.hops), &p.header);
        let created = message.created;
        let is_first = message.undelivered == message.bytes;
        message.undelivered -= u64::from(p.bytes);
        let is_latest = arrival >= message.arrival;
        message.arrival = message.arrival.max(arrival);
        let delivery = PacketDelivery {
            created,
            arrival,
            is_detour,
            is_latest,
            may_be_overtaken,
            completes: message.undelivered == 0 && message.notify_arrived,
        };
        (self.flow.observers).packet_delivered::<C>(packet, &p, &delivery);
        if C::CONTROL && self.exchanges.are_on() {
            let m = self.messages.trusted::<C>(p.message);
            let is_exchanged = self.exchanges.is_large(m.bytes) && m.source != m.target;
            let until = Some(m.arrival).filter(|_| m.undelivered == 0);
            if is_exchanged && (is_first || until.is_some()) {
                let ((source, target), now) = ((m.source, m.target), ctx.now());
                let nic = self.flow.links.nic(target);
                self.exchanges
                    .arrives::<C>((nic, source), (is_first, until), (now, arrival));
                let changes = until.unwrap_or(arrival).max(Time(now.0 + 1));
                self.flow.wake_up(ctx, self.flow.links.ports + nic, changes);
            }
        }
        let message = self.messages.trusted::<C>(p.message);
        if message.undelivered == 0 {
            if message.home == EXPECTED {
                self.boundary.reassembly.remove::<C>(&mut self.messages, p.message);
            }
            let message = self.messages.trusted::<C>(p.message);
            self.flow.observers.message_delivered::<C>(p.traffic);
            if message.notify_arrived {
                let lp = self.routes.process_of(message.target);
                ctx.send(lp, message.arrival, FabricEvent::Arrived { message: p.message }.into());
            } else {
                self.messages.free::<C>(p.message);
                self.flow.observers.message_is_freed::<C>(p.message);
            }
        }
    }
}

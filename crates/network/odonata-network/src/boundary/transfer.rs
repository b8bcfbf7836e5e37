//! What crosses the boundary of a part: packets on links, their credits, and events from other parts.

use super::{RemoteCredit, RemoteEvent, RemoteFlit, RemotePacket};
use crate::FabricEvent;
use crate::fabric::Shared;
use crate::features::{AnyUse, HandlerContext};
use crate::flow::{LinkPart, Space, Upstream};
use crate::message::{Message, Payload, Traffic};
use crate::observe::Tag;
use crate::packet::Packet;
use odonata_engine::{Mode, NIL, Time};

impl<P: Payload> Shared<P> {
    /// Sends `packet`, whose head will have passed the pipeline of router `to` at `at`.
    #[cold]
    pub(crate) fn export<M: Mode>(&mut self, packet: u32, to: u32, at: Time) {
        let copy = *self.packets.trusted::<M>(packet);
        self.packets.free::<M>(packet);
        let slot = copy.message;
        let mut message = *self.messages.trusted::<M>(slot);
        for loss in self.flow.observers.packet_leaves_part::<M, P>(packet, &copy, &message) {
            self.boundary.export_loss(to, at, loss);
        }
        if self.flow.links.holds(message.target) {
            message.home = slot;
        } else {
            let kept = self.messages.edit_trusted::<M>(slot);
            kept.undelivered -= u64::from(copy.bytes);
            if kept.undelivered == 0 {
                self.messages.free::<M>(slot);
                self.flow.observers.message_is_freed::<M>(slot);
            }
        }
        let remote = RemotePacket { packet: copy, message };
        self.boundary
            .send_buffer
            .events
            .push((to, at, RemoteEvent::Packet(remote)));
    }

    /// Receives an event from another part. Returns the event of its arrival.
    pub(crate) fn receive_event<M: Mode>(&mut self, event: RemoteEvent<P>) -> FabricEvent {
        match event {
            RemoteEvent::Packet(remote) => self.receive_packet::<M>(remote),
            RemoteEvent::Flit(RemoteFlit { buffer }) => FabricEvent::Flit {
                buffer: self.flow.links.buffer(buffer),
            },
            RemoteEvent::Notification(remote) => {
                let notification = self.congestion.take_in::<AnyUse<M>>(remote.notification());
                FabricEvent::Notify { notification }
            }
            RemoteEvent::Message(message) => {
                let message = self.messages.allocate::<M>(Message { next: NIL, ..message });
                FabricEvent::Incoming { message }
            }
            RemoteEvent::Handover(message) => FabricEvent::FlowStart {
                message: self.messages.allocate::<M>(message),
            },
            RemoteEvent::Sent(message) => FabricEvent::Sent { message },
            RemoteEvent::TakenByPackets(LinkPart { link, part, note }) => FabricEvent::LinkUse { link, part, note },
            RemoteEvent::PacketsOf(link, owner) => FabricEvent::LinkUser { link, owner },
            RemoteEvent::LeftByFlows(left) => FabricEvent::LinkShare {
                link: self.flow.links.own_number(left.link),
                part: left.part,
                load: left.note,
            },
            RemoteEvent::BehindFlows(of) => FabricEvent::FlowWait {
                port: self.flow.links.own_number(of.port),
                wait: of.wait,
                output: of.output,
                level: of.level,
            },
            RemoteEvent::Announced(message) => {
                let message = self.messages.allocate::<M>(Message { next: NIL, ..message });
                FabricEvent::Ethernet(odonata_ethernet::Event::new(odonata_ethernet::Kind::Open, message))
            }
            RemoteEvent::Ethernet(_) | RemoteEvent::Chunk(_) => unreachable!("the fabric gives it to its carrier"),
            RemoteEvent::Delivered(message) => FabricEvent::Delivered {
                message: self.messages.allocate::<M>(message),
            },
        }
    }

    fn receive_packet<M: Mode>(&mut self, remote: RemotePacket<P>) -> FabricEvent {
        let RemotePacket { packet, message: copy } = remote;
        let message = if !self.flow.links.holds(copy.target) {
            // In transit: a copy of the message for this packet alone.
            self.messages.allocate::<M>(Message {
                undelivered: u64::from(packet.bytes),
                next: NIL,
                ..copy
            })
        } else if copy.home != NIL {
            copy.home
        } else if copy.bytes <= self.setup.params.packet {
            self.messages.allocate::<M>(Message {
                undelivered: copy.bytes,
                next: NIL,
                ..copy
            })
        } else {
            self.boundary.reassembly.find::<M, _>(&mut self.messages, copy)
        };
        let packet = self.packets.allocate::<M>(Packet {
            message,
            buffer: self.flow.links.buffer(packet.buffer),
            next: NIL,
            next_waiting: NIL,
            ..packet
        });
        let (copy, message) = (self.packets.trusted::<M>(packet), self.messages.trusted::<M>(message));
        self.flow.observers.packet_enters_part::<M, P>(packet, copy, message);
        FabricEvent::Arrive { packet }
    }

    /// Returns `space` of a packet in input buffer `buffer`, of virtual channel `vc`, to the upstream sender; the
    /// credit leaves at `leaves`. Not with pipelined routers.
    #[inline(always)]
    pub(crate) fn free_buffer<C: HandlerContext>(
        &mut self,
        ctx: &mut C,
        buffer: u32,
        vc: u8,
        space: Space,
        leaves: Time,
    ) {
        // A NIC may have more channels than its port has buffers; all channels of a port have one sender.
        match self.flow.links.upstream::<C>(buffer - u32::from(vc)) {
            Upstream::Local(link, delay) => {
                self.return_credit(ctx, link, vc, space, leaves + delay);
            }
            Upstream::Remote(link, lp, delay) => self.free_remote(link, vc, space, (lp, leaves + delay)),
        }
    }

    /// The same if `feeder` is known to be the upstream link in this part; [`NIL`]: the link is not known.
    #[inline(always)]
    pub(crate) fn free_fed_buffer<C: HandlerContext>(
        &mut self,
        ctx: &mut C,
        (buffer, feeder): (u32, u32),
        vc: u8,
        space: Space,
        leaves: Time,
    ) {
        if feeder == NIL {
            return self.free_buffer(ctx, buffer, vc, space, leaves);
        }
        let due = leaves.plus(self.flow.credit_delay::<C>(feeder));
        self.return_credit(ctx, feeder, vc, space, due);
    }

    /// The same for an upstream port of router `to` in another part; the credit counts from `due`.
    #[cold]
    fn free_remote(&mut self, link: u32, vc: u8, space: Space, (to, due): (u32, Time)) {
        let Space { flits, owner, tag } = space;
        self.export_tag((link, vc, owner), tag, (to, due));
        let credit = RemoteCredit { link, flits, owner, vc };
        self.boundary.export_credit(to, due, credit);
    }

    /// Sends router `to` the tag of a credit of `owner` for virtual channel `vc` of `link` that counts from `due`.
    #[cold]
    pub(crate) fn export_tag(&mut self, of: (u32, u8, Traffic), tag: Tag, (to, due): (u32, Time)) {
        for loss in self.flow.observers.tag_leaves_part(of, due, tag) {
            self.boundary.export_loss(to, due, loss);
        }
    }
}

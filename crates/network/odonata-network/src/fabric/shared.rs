//! State shared by NICs and routers.

use crate::boundary::Boundary;
use crate::control::{ClassScheduler, Congestion};
use crate::fabric::Setup;
use crate::features::{HandlerContext, Uses};
use crate::flow::{Flow, Link, Space};
use crate::nic::exchanges::Exchanges;
use crate::observe::Observed;
use crate::packet::{Packet, PacketFlags, VcTerms};
use crate::remote_congestion::RemoteCongestion;
use crate::route_computation::RouteComputation;
use crate::routing::Header;
use crate::{Message, Payload};
use odonata_engine::{Mode, NIL, Pool, Time};

/// The components used by NICs and routers of every model. Each owns its state. Code that uses several of them is here,
/// in [`link_traversal`](crate::flow), in [`boundary`](crate::boundary) and in
/// [`route_computation`](crate::route_computation).
#[derive(Debug)]
pub(crate) struct Shared<P> {
    pub(crate) setup: Setup,
    /// Links and their credits.
    pub(crate) flow: Flow,
    pub(crate) packets: Pool<Packet>,
    pub(crate) messages: Pool<Message<P>>,
    pub(crate) routes: RouteComputation,
    /// The known loads of other routers' ports.
    pub(crate) remote: RemoteCongestion,
    /// The scheduler of traffic classes on links.
    pub(crate) classes: ClassScheduler,
    pub(crate) congestion: Congestion,
    pub(crate) exchanges: Exchanges,
    pub(crate) boundary: Boundary<P>,
}
odonata_engine::journalled!(Shared<P: Payload> {
    flow,
    packets,
    messages,
    routes,
    remote,
    classes,
    congestion,
    exchanges,
    boundary,
});

impl<P: Payload> Shared<P> {
    /// Returns `space` of a packet to the sender of `link` at `due`. Not with pipelined routers.
    #[inline(always)]
    pub(crate) fn return_credit<C: HandlerContext>(&mut self, ctx: &mut C, link: u32, vc: u8, space: Space, due: Time) {
        self.flow.return_credit(ctx, link, vc, space, due);
        self.remote.load_falls(ctx, &self.flow.links, link, due);
    }

    /// `router` publishes the changes since its last publication.
    pub(crate) fn publish<C: HandlerContext>(&mut self, ctx: &mut C, router: u32) {
        let flit = self.setup.params.flit;
        (self.remote).publish(
            ctx,
            &mut self.flow,
            flit,
            &mut self.boundary.send_buffer.updates,
            router,
        );
    }

    /// Whether packets wait for channel `asked` of router port `port`, or for its level, and counted credits leave no
    /// room for a full packet.
    #[inline(always)]
    pub(crate) fn lacks_room<M: Mode>(&self, port: u32, asked: u8) -> bool {
        let channel = self.flow.vc::<M>(self.flow.first_vc::<M>(port) + u32::from(asked));
        !channel.queue.is_empty() && channel.used + self.setup.bubble > self.flow.link::<M>(port).capacity
    }

    /// `packet` has reached one more router.
    #[inline]
    pub(crate) fn count_hop<M: Uses>(&mut self, packet: u32) {
        let p = self.packets.edit_trusted::<M>(packet);
        p.hops = p.hops.saturating_add(1);
    }

    /// `packet` begins to wait for a channel, numbered over all links, of a router port.
    #[inline]
    pub(crate) fn joins_output<M: Uses>(&mut self, channel: (u32, u32), packet: u32, now: Time) {
        let observed = Observed::new(packet, self.packets.trusted::<M>(packet));
        self.flow.packet_waits::<M>(channel, observed, now);
    }

    /// Creates a packet of traffic class `class` at its NIC, on this channel of its link, from the first of the
    /// `unsent` bytes of its message.
    #[inline(always)]
    pub(crate) fn new_packet<M: Uses>(
        &mut self,
        message: u32,
        (bytes, unsent): (u32, u64),
        (injected, tail_in): (Time, Time),
        (number, link, buffer): (u32, &Link, u32),
        (class, channel): (u8, u8),
    ) -> u32 {
        let m = self.messages.trusted::<M>(message);
        // Most messages have one packet, which needs no conversion of numbers.
        let behind = match m.bytes - unsent {
            0 => Time::ZERO,
            sent => link.time_for(sent),
        };
        let packet = Packet {
            created: m.created.plus(behind),
            injected,
            tail_in,
            header: Header::new(m.target),
            message,
            bytes,
            buffer,
            next: NIL,
            next_waiting: number,
            traffic: m.traffic,
            // Not used with pipelined routers.
            vc: channel,
            class,
            flags: PacketFlags::new(self.flow.observers.sample_waits::<M>(m.source, injected)),
            hops: 0,
            terms: VcTerms::default(),
        };
        self.packets.allocate::<M>(packet)
    }

    /// `packet` is of limited flow `limit`: with windows its last router must know.
    pub(crate) fn limit_packet<M: Uses>(&mut self, packet: u32, limit: u32) {
        let limits = &self.congestion.limits;
        if limits.has_windows() {
            self.packets.edit::<M>(packet).flags.limit(limits.probe(limit));
        }
    }

    /// Bytes of a channel's buffer downstream of `link`.
    #[inline]
    pub(crate) fn room_behind<M: Mode>(&self, link: u32) -> u64 {
        u64::from(self.flow.link::<M>(link).capacity) * self.setup.params.flit
    }
}

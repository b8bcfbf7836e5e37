//! Packets beside flows: their time on links that they share, and the exchange of loads.

use super::coupling::LinkPart;
use super::flow_waits::{FlowWait, OUTPUTS};
use crate::boundary::RemoteEvent;
use crate::event::KEEPER;
use crate::fabric::Shared;
use crate::features::{HandlerContext, Uses};
use crate::packet::Packet;
use crate::{FabricEvent, Payload};
use odonata_engine::Time;

impl<P: Payload> Shared<P> {
    /// Handles an event of the exchange of loads at `router`; flows hear of it after `delay`.
    pub(crate) fn exchange_loads<C: HandlerContext>(
        &mut self,
        ctx: &mut C,
        router: u32,
        event: FabricEvent,
        delay: Time,
    ) {
        match event {
            FabricEvent::LinkReport => self.report_links(ctx, router, delay),
            FabricEvent::LinkShare { link, part, load } => self.flow.coupling.flows::<C>(link, part, load),
            FabricEvent::FlowWait {
                port,
                wait,
                output,
                level,
            } => self.wait_behind_flows::<C>(FlowWait {
                port,
                wait,
                output,
                level,
            }),
            _ => debug_assert!(false, "{event:?} is no exchange of loads"),
        }
    }

    /// The transmission time of `packet`, which starts on a virtual channel of `link` now and would take `alone`
    /// without flows; and its wait behind the backlog of flows in the buffers.
    #[inline(always)]
    pub(super) fn transmission_time<C: HandlerContext>(
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

    /// Sets the wait of packets behind flows from now on; `port` is local.
    fn wait_behind_flows<M: Uses>(&mut self, of: FlowWait) {
        let (link, router) = (self.flow.link::<M>(of.port), self.flow.links.sender(of.port));
        let ports = self.routes.routing.topology().ports_of_routers(router..router + 1);
        let output = self.flow.links.own_number(ports.start) + u32::from(of.output) / OUTPUTS as u32;
        // A port's input buffers have the same numbers as its channels.
        for vc in self.setup.vcs.of(link.class, of.level, 0) {
            let (channel, waits) = (link.first_vc + u32::from(vc), &mut self.flow.coupling.waits);
            match of.output {
                FlowWait::TURN => waits.set_turn::<M>(channel, of.wait),
                which => waits.set_wait::<M>(channel, usize::from(which) % OUTPUTS, (output, of.wait)),
            }
        }
    }

    /// Sends the packet loads of the links of `router` in the last interval to the part that computes the rates of
    /// flows.
    fn report_links<C: HandlerContext>(&mut self, ctx: &mut C, router: u32, delay: Time) {
        let (flow, boundary) = (&mut self.flow, &mut self.boundary);
        let (here, at) = (self.setup.routers.contains(&KEEPER), ctx.now() + delay);
        let (ports, follows_owners) = (&flow.ports, flow.observers.follow_owners::<C>());
        (flow.coupling).report(ctx, &flow.links, router, |ctx, used, own| {
            let LinkPart { link, part, note } = used;
            // The last owner on the link stands for all.
            let owner = follows_owners.then(|| ports.get(own).holder);
            if here {
                ctx.send(KEEPER, at, FabricEvent::LinkUse { link, part, note }.into());
            } else {
                (boundary.send_buffer.events).push((KEEPER, at, RemoteEvent::TakenByPackets(used)));
            }
            match owner {
                None => {}
                Some(owner) if here => ctx.send(KEEPER, at, FabricEvent::LinkUser { link, owner }.into()),
                Some(owner) => (boundary.send_buffer.events).push((KEEPER, at, RemoteEvent::PacketsOf(link, owner))),
            }
        });
    }
}

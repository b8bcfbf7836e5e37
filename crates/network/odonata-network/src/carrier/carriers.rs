//! The carriers of a fabric, by the fidelity of the traffic.

use super::{Carrier, Packets};
use crate::analytic::Analytic;
use crate::ethernet::EthernetCarrier;
use crate::fabric::Shared;
use crate::features::{HandlerContext, Uses};
use crate::flow::exchange_loads;
use crate::fluid::Fluid;
use crate::reduction::Reduction;
use crate::router::{AnyRouter, Router};
use crate::settings::Fidelity;
use crate::{FabricEvent, Notice, Payload};
use odonata_engine::Time;

/// The carriers of a fabric.
#[derive(Debug)]
pub(crate) struct Carriers {
    pub(crate) packets: Packets,
    pub(crate) analytic: Analytic,
    pub(crate) fluid: Fluid,
    pub(crate) ethernet: EthernetCarrier,
    /// Sums in routers, beside the messages.
    pub(crate) reduction: Reduction,
}
odonata_engine::journalled!(Carriers {
    packets,
    analytic,
    fluid,
    ethernet,
    reduction
});

/// The carrier of the message in slot `slot`.
#[inline(always)]
fn fidelity_of(shared: &Shared<impl Payload>, slot: u32) -> Fidelity {
    let traffic = shared.messages.get(slot).traffic;
    shared.setup.params.fidelities.of(traffic)
}

impl<P: Payload> Carrier<P> for Carriers {
    #[inline]
    fn submit<C: HandlerContext>(&mut self, ctx: &mut C, shared: &mut Shared<P>, slot: u32) -> Option<Notice> {
        match fidelity_of(shared, slot) {
            Fidelity::Packet => self.packets.submit(ctx, shared, slot),
            Fidelity::Flow => self.fluid.submit(&mut ctx.with_everything(), shared, slot),
            Fidelity::Analytic => self.analytic.submit(&mut ctx.with_everything(), shared, slot),
            Fidelity::Ethernet => self.ethernet.submit(&mut ctx.with_everything(), shared, slot),
        }
    }

    #[inline(always)]
    fn handle<C: HandlerContext>(
        &mut self,
        ctx: &mut C,
        shared: &mut Shared<P>,
        lp: u32,
        event: FabricEvent,
    ) -> Option<Notice> {
        // Most events of most runs.
        if let (FabricEvent::Arrive { packet }, AnyRouter::InputQueued(router)) = (event, &mut self.packets.router) {
            router.arrive(ctx, shared, lp, packet);
            return None;
        }
        if event.is_of_packets() {
            return self.packets.handle(ctx, shared, lp, event);
        }
        match event {
            FabricEvent::Submit { message } => self.submit(ctx, shared, message),
            FabricEvent::Arrived { message } => Some(Notice::Arrived { message }),
            _ => self.without_packets(&mut ctx.with_everything(), shared, lp, event),
        }
    }

    #[inline]
    fn note_sent<M: Uses>(&mut self, shared: &mut Shared<P>, slot: u32) {
        match fidelity_of(shared, slot) {
            Fidelity::Packet => self.packets.note_sent::<M>(shared, slot),
            Fidelity::Flow => self.fluid.note_sent::<M>(shared, slot),
            Fidelity::Analytic => self.analytic.note_sent::<M>(shared, slot),
            Fidelity::Ethernet => self.ethernet.note_sent::<M>(shared, slot),
        }
    }

    fn least_delay(&self) -> Option<Time> {
        let delays = [
            Carrier::<P>::least_delay(&self.packets),
            Carrier::<P>::least_delay(&self.analytic),
            Carrier::<P>::least_delay(&self.fluid),
            Carrier::<P>::least_delay(&self.ethernet),
        ];
        delays.into_iter().flatten().min()
    }

    fn audit(&self) -> Result<(), String> {
        Carrier::<P>::audit(&self.packets)?;
        Carrier::<P>::audit(&self.analytic)?;
        Carrier::<P>::audit(&self.fluid)?;
        Carrier::<P>::audit(&self.ethernet)?;
        self.reduction.audit()
    }
}

impl Carriers {
    /// Handles an event of messages without packets, or of links that packets and flows share.
    #[inline(never)]
    fn without_packets<C: HandlerContext>(
        &mut self,
        ctx: &mut C,
        shared: &mut Shared<impl Payload>,
        lp: u32,
        event: FabricEvent,
    ) -> Option<Notice> {
        match event {
            FabricEvent::Sent { message } => Some(Notice::Sent { message }),
            FabricEvent::Incoming { .. } => self.analytic.handle(ctx, shared, lp, event),
            FabricEvent::Ethernet(_) => self.ethernet.handle(ctx, shared, lp, event),
            FabricEvent::Contribute { .. }
            | FabricEvent::ChunkArrives { .. }
            | FabricEvent::ChunkReady { .. }
            | FabricEvent::ChunkPort { .. } => self.reduction.handle(ctx, shared, &self.packets.nics, event),
            FabricEvent::LinkReport | FabricEvent::LinkShare { .. } | FabricEvent::FlowWait { .. } => {
                exchange_loads(shared, ctx, lp, event, self.fluid.hand_over()?);
                None
            }
            _ => self.fluid.handle(ctx, shared, lp, event),
        }
    }
}

//! The packet carrier: NICs divide messages into packets, and routers of one model pass them on.

use super::Carrier;
use crate::boundary::RemoteCredit;
use crate::control::forward_notification;
use crate::fabric::Shared;
use crate::features::{HandlerContext, Uses};
use crate::nic::Nics;
use crate::router::{AnyRouter, Router, with_router};
use crate::{FabricEvent, Notice, Payload};
use odonata_engine::Time;

/// The NICs and the routers of a part.
#[derive(Debug)]
pub(crate) struct Packets {
    pub(crate) nics: Nics,
    pub(crate) router: AnyRouter,
}
odonata_engine::journalled!(Packets { nics, router });

impl Packets {
    /// `credit` returns from another part at `due`.
    pub(crate) fn credit<C: HandlerContext>(
        &mut self,
        ctx: &mut C,
        shared: &mut Shared<impl Payload>,
        credit: RemoteCredit,
        due: Time,
    ) {
        with_router!(&mut self.router, |router| router.credit(ctx, shared, credit, due));
    }
}

/// Handles an event of `nics` or of `router`.
#[inline(always)]
fn handle<C: HandlerContext>(
    ctx: &mut C,
    (nics, router): (&mut Nics, &mut impl Router),
    shared: &mut Shared<impl Payload>,
    lp: u32,
    event: FabricEvent,
) -> Option<Notice> {
    match event {
        FabricEvent::Arrive { packet } => router.arrive(ctx, shared, lp, packet),
        FabricEvent::Port { port } => router.serve(ctx, shared, port),
        FabricEvent::Nic { nic } => return router.serve_nic(ctx, shared, nics, nic),
        FabricEvent::Publish => {
            router.is_about_to_publish(ctx, shared, lp);
            shared.publish(&mut ctx.with_everything(), lp);
        }
        FabricEvent::Notify { notification } => {
            let ctx = &mut ctx.with_everything();
            let arrived = forward_notification(shared, ctx, lp, notification)?;
            return nics.throttle(ctx, shared, router, &arrived);
        }
        _ => router.handle(ctx, shared, lp, event),
    }
    None
}

/// The same, compiled by itself: the handler of all events saves no registers for the router models that few runs use.
#[inline(never)]
fn handle_apart<C: HandlerContext>(
    ctx: &mut C,
    components: (&mut Nics, &mut impl Router),
    shared: &mut Shared<impl Payload>,
    lp: u32,
    event: FabricEvent,
) -> Option<Notice> {
    handle(ctx, components, shared, lp, event)
}

impl<P: Payload> Carrier<P> for Packets {
    #[inline]
    fn submit<C: HandlerContext>(&mut self, ctx: &mut C, shared: &mut Shared<P>, slot: u32) -> Option<Notice> {
        let nics = &mut self.nics;
        with_router!(&mut self.router, |router| nics.enqueue(ctx, shared, router, slot))
    }

    #[inline(always)]
    fn handle<C: HandlerContext>(
        &mut self,
        ctx: &mut C,
        shared: &mut Shared<P>,
        lp: u32,
        event: FabricEvent,
    ) -> Option<Notice> {
        let nics = &mut self.nics;
        match &mut self.router {
            AnyRouter::InputQueued(router) => handle(ctx, (nics, router), shared, lp, event),
            AnyRouter::OutputQueued(router) => handle_apart(ctx, (nics, router), shared, lp, event),
            AnyRouter::Pipelined(router) => handle_apart(ctx, (nics, &mut **router), shared, lp, event),
        }
    }

    /// A message of packets is freed when its last packet arrives.
    #[inline(always)]
    fn note_sent<M: Uses>(&mut self, _: &mut Shared<P>, _: u32) {}

    fn least_delay(&self) -> Option<Time> {
        None
    }

    fn audit(&self) -> Result<(), String> {
        Ok(())
    }
}

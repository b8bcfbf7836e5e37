//! The router models: where packets wait, and how outputs are arbitrated.
//!
//! | model | step | packets wait |
//! |---|---|---|
//! | [`input_queued`] | packet by packet | at their input port, in one FIFO or virtual output queues per virtual channel |
//! | [`output_queued`] | packet by packet | at their output port, as in the dragonfly models of CODES |
//! | [`pipelined`] | flit by flit, in cycles | at their input virtual channel, in front of separable allocators |
//!
//! A model is a [`Router`]. Handlers of packets and NICs are compiled for each model, and [`with_router`] enters those of
//! the fabric's model.

mod any;
mod arbiter;
pub(crate) mod input_queued;
pub(crate) mod output_queued;
pub(crate) mod pipelined;
mod turns;

pub(crate) use any::{AnyRouter, with_router};
pub(crate) use arbiter::{NO_INPUT, input_port};

use crate::boundary::RemoteCredit;
use crate::fabric::Shared;
use crate::features::{HandlerContext, Uses};
use crate::flow::{Flow, Space};
use crate::nic::Nics;
use crate::observe::Tag;
use crate::route_computation::VcAvailability;
use crate::{FabricEvent, Notice, Payload};
use odonata_engine::Time;
use std::ops::Range;

/// Routers that work packet by packet: a channel is free if no packet waits for it and the whole packet fits.
pub(crate) struct WholePackets;

impl VcAvailability for WholePackets {
    #[inline]
    fn has_free_vc<M: Uses>(&self, flow: &mut Flow, port: u32, mut vcs: Range<u8>, flits: u32, now: Time) -> bool {
        let link = flow.link::<M>(port);
        flow.count_credits::<M>(port, now);
        vcs.any(|vc| {
            let cell = flow.vc::<M>(link.first_vc + u32::from(vc));
            cell.queue.is_empty() && cell.overflow.is_empty() && cell.used + flits <= link.capacity
        })
    }

    #[inline(always)]
    fn decides_again(&self) -> bool {
        false
    }
}

/// A router model. Packets arrive at it, it serves its output ports, and credits come back to them.
pub(crate) trait Router {
    /// The head of `packet` is ready to be routed at `router`.
    fn arrive<C: HandlerContext>(&mut self, ctx: &mut C, shared: &mut Shared<impl Payload>, router: u32, packet: u32);

    /// Output port `port` has become free or has got a credit.
    fn serve<C: HandlerContext>(&mut self, ctx: &mut C, shared: &mut Shared<impl Payload>, port: u32);

    /// `credit` returns from another part to one of its links, and counts from `due`. Its tag arrives separately.
    fn credit<C: HandlerContext>(
        &mut self,
        ctx: &mut C,
        shared: &mut Shared<impl Payload>,
        credit: RemoteCredit,
        due: Time,
    ) {
        let link = shared.flow.links.port(credit.link);
        let space = Space {
            flits: credit.flits,
            owner: credit.owner,
            tag: Tag::NONE,
        };
        shared.return_credit(ctx, link, credit.vc, space, due);
    }

    /// Handles an event that only this model has.
    #[inline(always)]
    fn handle<C: HandlerContext>(&mut self, _: &mut C, _: &mut Shared<impl Payload>, _: u32, event: FabricEvent) {
        debug_assert!(false, "{event:?} belongs to another router model");
    }

    /// NIC `nic` sends what it can to its router.
    #[inline(always)]
    fn serve_nic<C: HandlerContext>(
        &mut self,
        ctx: &mut C,
        shared: &mut Shared<impl Payload>,
        nics: &mut Nics,
        nic: u32,
    ) -> Option<Notice> {
        nics.serve(ctx, shared, nic)
    }

    /// `router` will publish its loads: the model counts what it has put off.
    #[inline(always)]
    fn is_about_to_publish<C: HandlerContext>(&mut self, _: &mut C, _: &mut Shared<impl Payload>, _: u32) {}
}

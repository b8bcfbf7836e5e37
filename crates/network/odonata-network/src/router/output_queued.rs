//! The router of CODES' dragonflies, used for the stored MFNetSim runs.
//!
//! A packet is routed on arrival. If the queue of its output and virtual channel has room, it joins the queue and its
//! upstream credit returns at once. Otherwise it waits in an overflow list and holds the credit. Room is taken until
//! the credit of the next stage returns, so one budget covers "queued here" and "in flight or waiting downstream".
//!
//! Inputs compete for room in a queue: the [`Arbiter`] admits packets from the overflow list of a virtual channel. A
//! queue keeps its order. Among several queues, first-come arbitration takes the lowest virtual channel, as in CODES;
//! round robin takes turns; age takes the queue whose first packet is the oldest.

use super::arbiter::{Arbiter, age};
use super::{Router, WholePackets};
use crate::Payload;
use crate::fabric::Shared;
use crate::features::{HandlerContext, Uses};
use crate::flow::Space;
use crate::observe::Observer;
use crate::params::NetworkParams;
use crate::settings::Arbitration;
use odonata_engine::Time;

/// Output-queued routers. Their state is in the queues of their output virtual channels.
#[derive(Debug)]
pub(crate) struct OutputQueued {
    arbiter: Arbiter,
}

/// The arbiter of the overflow lists of output-queued routers.
pub(crate) fn arbiter(params: &NetworkParams) -> Arbiter {
    Arbiter::new(params.arbitration, true)
}

impl OutputQueued {
    pub(crate) fn new(params: &NetworkParams) -> OutputQueued {
        OutputQueued {
            arbiter: arbiter(params),
        }
    }
}

impl Router for OutputQueued {
    /// `packet` has arrived and passed the pipeline of `router`.
    #[inline]
    fn arrive<C: HandlerContext>(&mut self, ctx: &mut C, shared: &mut Shared<impl Payload>, router: u32, packet: u32) {
        let now = ctx.now();
        let flits = shared.setup.flits(shared.packets.get(packet).bytes);
        let (port, asked, _) = shared.route::<C>(&WholePackets, router, (packet, 1), flits, now);
        shared.remote.load_grows(ctx, &shared.flow.links, port, flits);
        let at = shared.flow.first_vc::<C>(port) + u32::from(asked);
        // Room that becomes free at this instant goes to the packets that have waited for it.
        let room = match shared.flow.vc::<C>(at).overflow.is_empty() {
            true => shared.room_for::<C>(port, asked, flits, now),
            false => None,
        };
        let Some(vc) = room else {
            shared.joins_output::<C>((port, at), packet, now);
            let overflow = &mut shared.flow.edit_vc::<C>(at).overflow;
            let served = self.arbiter.own_order(&shared.packets, *overflow);
            self.arbiter.join::<C>(&mut shared.packets, overflow, packet, served);
            shared.flow.begin_wait::<C>(port, asked, flits);
            shared.flow.set_exhausted::<C>(port, asked, true, now);
            shared.flow.observers.port_stalls::<C>(port);
            shared.flow.stall(ctx, port);
            return;
        };
        self.admit(ctx, shared, packet, port, vc, flits);
        let out = shared.flow.port::<C>(port);
        if out.free_at <= now && out.waiting == 0 {
            self.transmit(ctx, shared, packet, (port, vc), None);
        } else {
            let channel = shared.flow.first_vc::<C>(port) + u32::from(vc);
            shared.joins_output::<C>((port, channel), packet, now);
            self.enqueue::<C>(shared, packet, port, vc);
            let free_at = shared.flow.port::<C>(port).free_at;
            if free_at > now {
                shared.flow.wake_up(ctx, port, free_at);
            } else {
                self.serve(ctx, shared, port);
            }
        }
    }

    /// A port became free or got a credit: admits packets from the overflow lists, then sends.
    fn serve<C: HandlerContext>(&mut self, ctx: &mut C, shared: &mut Shared<impl Payload>, port: u32) {
        let now = ctx.now();
        if shared.flow.port::<C>(port).awaits_credit() {
            self.admit_overflow(ctx, shared, port);
        }
        let out = *shared.flow.port::<C>(port);
        if out.waiting == 0 {
            return;
        }
        if out.free_at > now {
            shared.flow.wake_up(ctx, port, out.free_at);
            return;
        }
        let link = shared.flow.link::<C>(port);
        let waits = |vc: &u8| !shared.flow.vc::<C>(link.first_vc + u32::from(*vc)).queue.is_empty();
        let head = |vc: u8| {
            shared
                .packets
                .get(shared.flow.vc::<C>(link.first_vc + u32::from(vc)).queue.head)
        };
        let next = match self.arbiter.arbitration() {
            Arbitration::FirstCome | Arbitration::LowestFirst => (0..link.vcs).find(waits),
            Arbitration::RoundRobin => (out.last_vc + 1..link.vcs).chain(0..=out.last_vc).find(waits),
            Arbitration::Age => (0..link.vcs).filter(waits).min_by_key(|&vc| age(head(vc))),
        };
        let Some(vc) = next else { return };
        let at = link.first_vc + u32::from(vc);
        let mut queue = shared.flow.vc::<C>(at).queue;
        let Some(packet) = queue.pop(&shared.packets) else {
            return;
        };
        shared.flow.edit_vc::<C>(at).queue = queue;
        shared.flow.edit_port::<C>(port).waiting -= 1;
        let free_at = self.transmit(ctx, shared, packet, (port, vc), Some(vc));
        if out.waiting > 1 {
            shared.flow.wake_up(ctx, port, free_at);
        }
    }
}

impl OutputQueued {
    /// `packet` joins the queue and returns its upstream credit.
    #[inline]
    fn admit<C: HandlerContext>(
        &mut self,
        ctx: &mut C,
        shared: &mut Shared<impl Payload>,
        packet: u32,
        port: u32,
        vc: u8,
        flits: u32,
    ) {
        let now = ctx.now();
        shared.flow.claim::<C>(port, vc, flits, now);
        let p = shared.packets.get(packet);
        let (buffer, from_vc, owner) = (p.buffer, p.vc, p.traffic);
        let space = Space {
            flits: flits as u16,
            owner,
            tag: shared.flow.observers.tag_of_packet::<C>(packet, owner),
        };
        shared.free_buffer(ctx, buffer, from_vc, space, now);
    }

    fn enqueue<M: Uses>(&mut self, shared: &mut Shared<impl Payload>, packet: u32, port: u32, vc: u8) {
        let at = shared.flow.first_vc::<M>(port) + u32::from(vc);
        let mut queue = shared.flow.vc::<M>(at).queue;
        queue.push::<M, _>(&mut shared.packets, packet);
        shared.flow.edit_vc::<M>(at).queue = queue;
        shared.flow.edit_port::<M>(port).waiting += 1;
    }

    /// Counts the due credits; each ends the port's saturation and admits waiting packets.
    fn admit_overflow<C: HandlerContext>(&mut self, ctx: &mut C, shared: &mut Shared<impl Payload>, port: u32) {
        let now = ctx.now();
        let before = shared.flow.port::<C>(port).used;
        shared.flow.count_credits::<C>(port, now);
        if shared.flow.port::<C>(port).used < before {
            let since = std::mem::replace(&mut shared.flow.edit_port::<C>(port).stalled_since, Time::NEVER);
            shared.flow.observers.port_resumes::<C>(port, since, now);
        }
        let link = shared.flow.link::<C>(port);
        let flits = shared.setup.full_packet();
        let mut starving = false;
        for asked in 0..link.vcs {
            let at = link.first_vc + u32::from(asked);
            loop {
                let cell = *shared.flow.vc::<C>(at);
                if cell.overflow.is_empty() {
                    shared.flow.set_exhausted::<C>(port, asked, false, now);
                    break;
                }
                // Checked before the packet is read: it has waited long and is not in the caches.
                let Some(vc) = shared.room_for::<C>(port, asked, flits, now) else {
                    shared.flow.set_exhausted::<C>(port, asked, true, now);
                    starving = true;
                    break;
                };
                let served = self.arbiter.own_order(&shared.packets, cell.overflow);
                let turn = self.arbiter.next::<C>(&shared.packets, cell.overflow, served);
                let packet = turn.packet;
                let overflow = &mut shared.flow.edit_vc::<C>(at).overflow;
                self.arbiter.leave::<C>(&mut shared.packets, overflow, turn);
                shared.flow.end_wait::<C>(port, (asked, false), flits);
                self.admit(ctx, shared, packet, port, vc, flits);
                self.enqueue::<C>(shared, packet, port, vc);
            }
        }
        if starving {
            shared.flow.await_credits(ctx, port);
        } else {
            shared.flow.set_awaits_credit::<C>(port, false);
        }
    }

    /// Sends `packet`, which has its place in the queue of `port`, see [`Shared::transmit`]. Returns when the port is
    /// free again.
    #[inline]
    fn transmit<C: HandlerContext>(
        &mut self,
        ctx: &mut C,
        shared: &mut Shared<impl Payload>,
        packet: u32,
        output: (u32, u8),
        waited: Option<u8>,
    ) -> Time {
        let flits = u64::from(shared.flow.port::<C>(output.0).waiting) * u64::from(shared.setup.full_packet());
        let queued = flits * shared.setup.params.flit;
        shared.transmit(ctx, (packet, 0), output, waited, queued).port
    }
}

//! A cycle of a router: its subcycles in order, with switch traversal, and whether it needs another cycle.
//!
//! ```text
//!  step 1: requests, grants, traversals    step 2: ...    next cycle, or sleep until a flit or a credit arrives
//! ```

use super::channels::RouterLayout;
use super::clock::{Subcycle, Traversal};
use super::congestion::Leaving;
use super::in_vc::Stage;
use super::requests::CycleOutcome;
use super::{Freed, Pipelined};
use crate::Payload;
use crate::event::LAG;
use crate::fabric::Shared;
use crate::features::{HandlerContext, Uses};
use crate::flow::Link;
use crate::observe::{Observer, PassedFlit, PipelineObserver, Transmission};
use crate::router::NO_INPUT;
use odonata_engine::state::cell;
use odonata_engine::{List, NIL, Time};

impl Pipelined {
    /// A cycle of `router`.
    // Not inlined into the handler of all events: it needs many registers, which every event would have to save.
    #[inline(never)]
    pub(super) fn cycle<C: HandlerContext>(&mut self, ctx: &mut C, shared: &mut Shared<impl Payload>, router: u32) {
        let cycle = ctx.now() - LAG;
        let clock = router - self.channels.first_router;
        if self.clocks.trusted::<C>(clock).done == ctx.now() {
            return;
        }
        let layout = self.channels.layout(router);
        self.prefetch_next::<C>(shared, router, cycle);
        let mut outcome = CycleOutcome::default();
        let steps = self.channels.timing.steps(cycle);
        self.take_in::<C>(shared, router, cycle);
        (self.observer).cycle_begins::<C>(&self.channels, shared, layout, cycle);
        for step in 1..=steps {
            let last = step == steps;
            let subcycle = Subcycle { cycle, step, last };
            self.step::<C>(shared, router, layout, subcycle, &mut outcome);
            self.traverse_all(ctx, shared, layout, subcycle);
        }
        (self.observer).cycle_ends::<C>(&self.channels, shared, layout, cycle);
        let cell = self.clocks.edit_trusted::<C>(clock);
        let awaits = outcome.waits && !outcome.granted_some && !outcome.soon;
        cell.done = ctx.now();
        if std::mem::replace(&mut cell.awaits_credit, awaits) != awaits {
            for port in layout.first_port..layout.first_port + u32::from(layout.ports) {
                shared.flow.set_awaits_credit::<C>(port, awaits);
            }
        }
        if outcome.granted_some || outcome.soon {
            // Without flits the router has nothing left to do.
            let mut words = layout.first_word..layout.first_word + layout.words();
            if words.any(|word| self.channels.sets.trusted::<C>(word).occupied != 0) {
                let next = cycle + self.channels.timing.period();
                self.wake_up(ctx, router, next);
            }
        } else if outcome.waits {
            self.await_credits(ctx, shared, router, layout, cycle);
        }
    }

    /// Prefetches the state of the router whose cycle probably is the next: cycles of an instant come in the order of
    /// their ids ([`TICK`](super::TICK)).
    #[inline(always)]
    fn prefetch_next<M: Uses>(&self, shared: &Shared<impl Payload>, router: u32, cycle: Time) {
        let number = self.channels.timing.number_at(cycle);
        let own = (router - self.channels.first_router).saturating_sub(1);
        self.inboxes.prefetch(own.saturating_sub(1), number);
        self.inboxes.prefetch_packets::<M>(&shared.packets, own, number);
        self.clocks.prefetch(own);
        let layout = self.channels.prefetch(own);
        shared.flow.prefetch_links(layout.first_port, u32::from(layout.ports));
    }

    /// The flits that were granted the crossbar in this subcycle traverse it.
    #[inline]
    fn traverse_all<C: HandlerContext>(
        &mut self,
        ctx: &mut C,
        shared: &mut Shared<impl Payload>,
        layout: RouterLayout,
        granted: Subcycle,
    ) {
        if self.allocators.crossing.is_empty() {
            return;
        }
        let traversal = Traversal::of(&self.channels.timing, granted);
        for &at in &self.allocators.crossing {
            let feeder = shared.flow.links.feeder::<C>(at);
            if feeder != NIL {
                shared.flow.flits.prefetch_last::<C>(feeder);
            }
            let port = self.channels.vcs.trusted::<C>(at).port;
            shared.flow.flits.prefetch_first::<C>(port, traversal.overdue);
        }
        let mut place = 0;
        while let Some(&at) = self.allocators.crossing.get(place) {
            self.traverse_switch(ctx, shared, layout, at, &traversal);
            place += 1;
        }
        self.allocators.crossing.clear();
    }

    /// No packet in the router can progress: requests the cycle of the next credit that a packet waits for.
    fn await_credits<C: HandlerContext>(
        &mut self,
        ctx: &mut C,
        shared: &mut Shared<impl Payload>,
        router: u32,
        layout: RouterLayout,
        cycle: Time,
    ) {
        let ports = layout.first_port..layout.first_port + u32::from(layout.ports);
        let due = ports
            .filter_map(|port| shared.flow.next_flit_credit::<C>(port, cycle))
            .min();
        if let Some(due) = due {
            let cycle = self.channels.timing.cycle_at(due);
            self.wake_up(ctx, router, cycle);
        }
    }

    /// A flit departs on `port`, on virtual channel `out`, numbered over all. Returns its arrival time at the other
    /// end.
    #[inline(always)]
    pub(super) fn depart<C: HandlerContext>(
        &mut self,
        ctx: &mut C,
        shared: &mut Shared<impl Payload>,
        (port, link): (u32, &Link),
        out: u32,
        traversal: &Traversal,
        sent: Transmission,
    ) -> Time {
        let cycle = traversal.granted.cycle;
        if self.counts_waiting {
            shared.flow.edit_port::<C>(port).waiting_flits -= 1;
        }
        shared.flow.count_overdue_flits::<C>(port, traversal.overdue, cycle);
        let (departure, since) = shared.flow.send_flit::<C>(port, out, traversal.crossed, link.flit);
        shared.flow.observers.credits_are_taken::<C>(out, 1, cycle);
        if shared.flow.leaves_no_room::<C>(port, out, link.capacity) {
            shared.flow.flit_leaves::<C>(port, out, cycle);
        }
        shared.remote.load_grows(ctx, &shared.flow.links, port, 1);
        shared.flow.observers.port_resumes::<C>(port, since, cycle);
        (shared.flow.observers).port_sends::<C>((port, link.class), departure, sent);
        departure + link.flit + link.latency
    }

    /// The next flit of `at` traverses the crossbar.
    #[inline]
    pub(super) fn traverse_switch<C: HandlerContext>(
        &mut self,
        ctx: &mut C,
        shared: &mut Shared<impl Payload>,
        layout: RouterLayout,
        at: u32,
        traversal: &Traversal,
    ) {
        let tag = (self.observer).flit_crosses::<C>(&self.channels, &mut shared.flow, (layout, at), traversal);
        let vc = self.channels.vcs.edit_trusted::<C>(at);
        let (port, out, out_vc) = (vc.port, vc.vc, vc.out);
        let (packet, owner) = (vc.heads.head, vc.traffic);
        let (head, tail) = (!vc.headless, vc.left == 1);
        let bytes = if tail {
            u64::from(vc.last)
        } else {
            shared.setup.params.flit
        } as u32;
        if head {
            // Avoids reading the packet if it is the only one.
            if packet == vc.heads.tail {
                vc.heads = List::EMPTY;
            } else {
                vc.heads.pop(&shared.packets);
            }
            vc.headless = true;
        }
        let following = vc.heads.head;
        vc.present -= 1;
        vc.left -= 1;
        if tail {
            vc.stage = Stage::Empty;
        }
        let link = shared.flow.link::<C>(port);
        let mut delivered = NIL;
        if link.to_node {
            delivered = if head { packet } else { vc.delivered };
            vc.delivered = if tail { NIL } else { delivered };
        }

        let sent = Transmission {
            packets: u64::from(tail),
            bytes,
            busy: link.flit,
        };
        let arrival = self.depart(ctx, shared, (port, &link), out_vc, traversal, sent);
        if shared.classes.is_on::<C>() {
            let input = self.channels.port_of(layout, at);
            let sender = (self.channels.vcs.get(at).class, 0, NO_INPUT);
            let lacking = |port: u32, side: usize| self.lacking[port as usize][side];
            let (out, of_input) = (lacking(port, 0), lacking(input, 1));
            let rooms = (shared.room_behind::<C>(port), shared.room_behind::<C>(input));
            shared.classes.sent::<C>(port, sender, bytes, out, rooms.0);
            self.input_classes.sent::<C>(input, sender, bytes, of_input, rooms.1);
        }
        if shared.congestion.is_on::<C>() && (if link.to_node { tail } else { head }) {
            let leaving = Leaving {
                packet: if link.to_node { delivered } else { packet },
                at,
                following,
                port,
                arrival,
            };
            self.channels
                .packet_leaves(ctx, shared, layout, &link, traversal, leaving);
        }
        let buffer = link.far + u32::from(out);
        let space = Freed { owner, tag };
        let flit = PassedFlit {
            at,
            owner,
            packet: match link.to_node {
                true => tail.then_some(delivered),
                false => head.then_some(packet),
            },
            is_tail: tail,
            port,
            buffer,
            arrival,
        };
        (self.observer).flit_departs::<C>(&self.channels, shared, (layout, &link), traversal, &flit);
        if link.to_node {
            let due = arrival + self.channels.timing.period() + link.credit_delay;
            self.return_flit(ctx, shared, (port, out), space, due);
            if tail {
                shared.deliver(ctx, delivered, (arrival, false));
            }
        } else if head {
            if link.leaves {
                shared.packets.edit_trusted::<C>(packet).buffer = buffer;
                shared.export::<C>(packet, link.far_lp, arrival);
            } else {
                self.send_head(ctx, shared, (link.far_lp, buffer), packet, arrival);
            }
        } else if link.leaves {
            shared.boundary.export_flit(link.far_lp, arrival, buffer);
        } else {
            self.send_body(ctx, (link.far_lp, buffer), arrival);
        }
        let of_input = cell::<C, _>(&self.channels.places, at).1;
        self.free_flit(ctx, shared, (at, of_input), space, traversal.left);
        if tail && following != NIL {
            (self.observer).packet_leaves::<C>(&self.channels, &mut shared.flow, (at, owner), tag, traversal);
        }
        shared.flow.observers.release_tag::<C>(tag);

        if !tail {
            return;
        }
        *self.channels.owners.edit_trusted::<C>(out_vc) = NIL;
        let (sets, bit) = self.channels.edit_sets::<C>(layout, at);
        sets.active &= !bit;
        if following == NIL {
            sets.occupied &= !bit;
        } else {
            let begin = self.channels.timing.following(traversal.granted);
            self.move_up::<C>(shared, at, following, begin);
        }
    }
}

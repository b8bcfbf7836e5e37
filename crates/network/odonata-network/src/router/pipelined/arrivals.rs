//! Arrivals: heads and flits are sent to inboxes, taken in by the cycle of their arrival, and come to the front of their
//! input virtual channel.

use super::Pipelined;
use super::channels::RouterLayout;
use super::clock::Subcycle;
use super::in_vc::Stage;
use super::inbox::{Arrivals, BodyFlit, sort};
use crate::Payload;
use crate::fabric::Shared;
use crate::features::{HandlerContext, Uses};
use crate::flow::Flow;
use crate::observe::{Observed, Observer, PipelineObserver};
use crate::packet::{Packet, Route, VcTerms};
use crate::routing::Unloaded;
use odonata_engine::{NIL, Pool, Time};

impl Pipelined {
    /// The head of `packet` will arrive in buffer `buffer` of `router` at `arrival`.
    #[inline(always)]
    pub(crate) fn send_head<C: HandlerContext>(
        &mut self,
        ctx: &mut C,
        shared: &mut Shared<impl Payload>,
        (router, buffer): (u32, u32),
        packet: u32,
        arrival: Time,
    ) {
        let slot = self.slot_of(ctx, router, arrival);
        let arrivals = self.inboxes.slots.edit_trusted::<C>(slot);
        let p = shared.packets.edit_trusted::<C>(packet);
        (p.buffer, p.tail_in) = (buffer, arrival);
        arrivals.add(p, packet);
    }

    /// A body flit will arrive in buffer `buffer` of `router` at `arrival`.
    #[inline(always)]
    pub(crate) fn send_body<C: HandlerContext>(&mut self, ctx: &mut C, (router, buffer): (u32, u32), arrival: Time) {
        let slot = self.slot_of(ctx, router, arrival);
        let next = self.inboxes.slots.trusted::<C>(slot).flits;
        let flit = BodyFlit { arrival, buffer, next };
        self.inboxes.slots.edit_trusted::<C>(slot).flits = self.inboxes.flits.allocate::<C>(flit);
    }

    /// The slot for an arrival at `router` at `arrival`; requests its cycle.
    #[inline(always)]
    fn slot_of<C: HandlerContext>(&mut self, ctx: &mut C, router: u32, arrival: Time) -> u32 {
        let number = self.channels.timing.number_at(arrival);
        let own = router - self.channels.first_router;
        let cycle = self.channels.timing.beginning(number);
        self.inboxes.ask(ctx, (router, own), (number, cycle));
        self.inboxes.slot(own, number)
    }

    /// Takes in all arrivals at `router` up to `now` whose cycle has not been processed.
    #[inline]
    pub(crate) fn take_in<M: Uses>(&mut self, shared: &mut Shared<impl Payload>, router: u32, now: Time) {
        let own = router - self.channels.first_router;
        let number = self.channels.timing.number_at(now);
        let slot = self.inboxes.slot(own, number);
        let &Arrivals { first, flits, .. } = self.inboxes.slots.trusted::<M>(slot);
        if first[0] != NIL {
            let cycle = self.channels.timing.beginning(number);
            let last = match self.ordered || self.overtaking || self.observer.follows_heads::<M>() {
                true => self.take_heads_in_order::<M>(shared, router, slot, (now, cycle)),
                false => self.take_heads::<M>(shared, router, slot, (now, cycle)),
            };
            self.note_arrival::<M>(router, last);
        }
        if flits != NIL {
            self.take_flits::<M>(&mut shared.flow, router, (slot, flits), now);
        }
    }

    /// Takes in the heads of a slot, whose order does not matter. Returns the time of the last.
    fn take_heads<M: Uses>(
        &mut self,
        shared: &mut Shared<impl Payload>,
        router: u32,
        slot: u32,
        (now, cycle): (Time, Time),
    ) -> Time {
        let layout = self.channels.layout(router);
        let mut last = Time::ZERO;
        self.empty::<M, _>(shared, slot, now, |c, shared, (packet, _), arrival| {
            last = last.max(arrival);
            c.arrive::<M>(shared, (router, layout), packet, (arrival, cycle));
        });
        last
    }

    /// The same, by time, then by sender, then in the order of sending.
    fn take_heads_in_order<M: Uses>(
        &mut self,
        shared: &mut Shared<impl Payload>,
        router: u32,
        slot: u32,
        (now, cycle): (Time, Time),
    ) -> Time {
        let mut came = std::mem::take(&mut self.inboxes.heads);
        came.clear();
        let before = cycle.saturating_sub(self.channels.timing.period());
        // Linked heads come with the last first.
        let mut others = 0;
        self.empty::<M, _>(shared, slot, now, |c, shared, (packet, is_linked), arrival| {
            others += usize::from(!is_linked);
            let sender = match c.ordered {
                true => u64::from(shared.flow.links.feeding_lp(shared.packets.trusted::<M>(packet).buffer)),
                false => 0,
            };
            came.push(((arrival - before).0 << 32 | sender, packet));
        });
        came[others..].reverse();
        if self.ordered || self.overtaking {
            sort(&mut came);
        }
        let layout = self.channels.layout(router);
        let mut last = Time::ZERO;
        for &(order, packet) in &came {
            let arrival = before + Time(order >> 32);
            self.observer.head_arrives::<M>(&self.channels, shared, packet);
            self.arrive::<M>(shared, (router, layout), packet, (arrival, cycle));
            last = last.max(arrival);
        }
        self.inboxes.heads = came;
        last
    }

    /// Removes the heads of a slot that have arrived by `now`: calls `take` with each packet, whether it was linked, and
    /// its arrival time.
    #[inline(always)]
    fn empty<M: Uses, P: Payload>(
        &mut self,
        shared: &mut Shared<P>,
        slot: u32,
        now: Time,
        mut take: impl FnMut(&mut Self, &mut Shared<P>, (u32, bool), Time),
    ) {
        let arrivals = self.inboxes.slots.edit_trusted::<M>(slot);
        let (first, mut linked) = (arrivals.first, std::mem::replace(&mut arrivals.heads, NIL));
        arrivals.first = [NIL; Arrivals::FIRST];
        shared.packets.prefetch(linked);
        let (mut kept, mut place) = (Vec::new(), 0);
        loop {
            let packet = match first.get(place) {
                Some(&packet) => packet,
                None => linked,
            };
            if packet == NIL {
                break;
            }
            let p = shared.packets.trusted::<M>(packet);
            let arrival = p.tail_in;
            let is_linked = place >= Arrivals::FIRST;
            if is_linked {
                linked = p.next;
                shared.packets.prefetch(linked);
            }
            place += 1;
            if arrival <= now {
                take(self, shared, (packet, is_linked), arrival);
            } else {
                kept.push((is_linked, packet));
            }
        }
        if !kept.is_empty() {
            self.keep_heads::<M>(shared, slot, &mut kept);
        }
    }

    /// Keeps heads, each with the information whether it was linked, in a slot: linked ones came with the last first.
    #[cold]
    fn keep_heads<M: Uses>(&mut self, shared: &mut Shared<impl Payload>, slot: u32, kept: &mut [(bool, u32)]) {
        let linked = kept.iter().filter(|&&(is_linked, _)| is_linked).count();
        let others = kept.len() - linked;
        kept[others..].reverse();
        for &(_, packet) in &*kept {
            let p = shared.packets.edit_trusted::<M>(packet);
            self.inboxes.slots.edit_trusted::<M>(slot).add(p, packet);
        }
    }

    /// Takes in the body flits of a slot.
    fn take_flits<M: Uses>(&mut self, flow: &mut Flow, router: u32, (slot, first): (u32, u32), now: Time) {
        let (mut at, mut left) = (first, NIL);
        let mut last = Time::ZERO;
        while at != NIL {
            let BodyFlit { arrival, buffer, next } = *self.inboxes.flits.trusted::<M>(at);
            if arrival <= now {
                self.channels.vcs.edit_trusted::<M>(buffer).present += 1;
                let cycle = || self.channels.timing.cycle_at(now);
                (self.observer).body_flit_arrives::<M>(&self.channels, flow, buffer, cycle);
                last = last.max(arrival);
                self.inboxes.flits.free::<M>(at);
            } else {
                self.inboxes.flits.edit_trusted::<M>(at).next = left;
                left = at;
            }
            at = next;
        }
        self.inboxes.slots.edit_trusted::<M>(slot).flits = left;
        if last > Time::ZERO {
            self.note_arrival::<M>(router, last);
        }
    }

    /// The last flit so far has arrived at `router` at `arrival`.
    #[inline]
    fn note_arrival<M: Uses>(&mut self, router: u32, arrival: Time) {
        let clock = self.clocks.edit_trusted::<M>(router - self.channels.first_router);
        clock.arrival = clock.arrival.max(arrival);
    }

    /// Time of the last arrival at a router of this part up to `until`, even if no cycle has taken it in yet.
    pub(crate) fn last_arrival_until(&self, packets: &Pool<Packet>, until: Time) -> Option<Time> {
        let mut last = self.last_arrival();
        for slot in self.inboxes.slots.iter() {
            let (mut head, mut flit) = (slot.heads, slot.flits);
            let mut see = |head: u32| {
                let p = packets.get(head);
                last = last.max(Some(p.tail_in).filter(|&arrival| arrival <= until));
                p.next
            };
            for &head in slot.first.iter().filter(|&&head| head != NIL) {
                see(head);
            }
            while head != NIL {
                head = see(head);
            }
            while flit != NIL {
                let BodyFlit { arrival, next, .. } = *self.inboxes.flits.get(flit);
                last = last.max(Some(arrival).filter(|&arrival| arrival <= until));
                flit = next;
            }
        }
        last
    }

    /// Time of the last arrival at a router of this part.
    pub(crate) fn last_arrival(&self) -> Option<Time> {
        self.clocks.iter().map(|clock| clock.arrival).max()
    }

    /// The head of `packet` has arrived in its buffer at `arrival`, in time for `cycle`.
    #[inline(always)]
    pub(super) fn arrive<M: Uses>(
        &mut self,
        shared: &mut Shared<impl Payload>,
        (router, layout): (u32, RouterLayout),
        packet: u32,
        (arrival, cycle): (Time, Time),
    ) {
        if self.channels.routes_on_arrival() {
            let (at, route) = self.route_arrival::<M>(shared, router, packet, arrival);
            self.queue_head::<M>(shared, layout, (packet, at), Some(route), cycle);
        } else {
            shared.count_hop::<M>(packet);
            let at = shared.packets.trusted::<M>(packet).buffer;
            self.queue_head::<M>(shared, layout, (packet, at), None, cycle);
        }
    }

    /// The head of `packet` joins input virtual channel `at`, in time for `cycle`. `route`: its route, if it has been
    /// routed.
    #[inline(always)]
    fn queue_head<M: Uses>(
        &mut self,
        shared: &mut Shared<impl Payload>,
        layout: RouterLayout,
        (packet, at): (u32, u32),
        route: Option<Route>,
        cycle: Time,
    ) {
        let vc = self.channels.vcs.edit_trusted::<M>(at);
        vc.heads.push::<M, _>(&mut shared.packets, packet);
        vc.present += 1;
        if vc.stage == Stage::Empty {
            let (sets, bit) = self.channels.edit_sets::<M>(layout, at);
            sets.occupied |= bit;
            let first = Subcycle {
                cycle,
                step: 1,
                last: false,
            };
            self.come_to_front::<M>(shared, at, packet, first, route);
            return;
        }
        if let Some(route) = route {
            shared.packets.edit_trusted::<M>(packet).store_route(route);
        }
        let observed = Observed::new(packet, shared.packets.trusted::<M>(packet));
        (shared.flow.observers).packet_joins_fifo::<M>(at, observed, cycle);
    }

    /// `packet`, which arrived behind another, becomes the next of buffer `at`, see
    /// [`come_to_front`](Self::come_to_front).
    #[inline(never)]
    pub(super) fn move_up<M: Uses>(
        &mut self,
        shared: &mut Shared<impl Payload>,
        at: u32,
        packet: u32,
        begin: Subcycle,
    ) {
        let route = (self.channels.routes_on_arrival()).then(|| shared.packets.trusted::<M>(packet).stored_route());
        let observed = Observed::new(packet, shared.packets.trusted::<M>(packet));
        (self.observer).packet_moves_up::<M>(&self.channels, &mut shared.flow, (at, observed), begin);
        self.come_to_front::<M>(shared, at, packet, begin, route);
    }

    /// Routes `packet`, which arrived at `router` at `arrival`, once and for all. Returns its buffer and its
    /// route.
    #[inline(always)]
    pub(super) fn route_arrival<M: Uses>(
        &self,
        shared: &mut Shared<impl Payload>,
        router: u32,
        packet: u32,
        arrival: Time,
    ) -> (u32, Route) {
        let (at, bytes, decision) = match self.ordered {
            true => {
                let p = shared.packets.trusted::<M>(packet);
                let (at, bytes) = (p.buffer, p.bytes);
                let flits = shared.setup.flits(bytes);
                (
                    at,
                    bytes,
                    shared.decide_once::<M>(self, router, (packet, 1), flits, arrival),
                )
            }
            false => {
                let (p, routing) = (shared.packets.edit_trusted::<M>(packet), &shared.routes.routing);
                p.hops = p.hops.saturating_add(1);
                (
                    p.buffer,
                    p.bytes,
                    routing.decide(router, &mut p.header, &mut Unloaded::<false>),
                )
            }
        };
        let port = shared.flow.links.port(decision.port);
        if self.counts_waiting {
            shared.flow.edit_port::<M>(port).waiting_flits += shared.setup.flits(bytes);
        }
        let route = Route {
            port,
            level: decision.level,
            terms: VcTerms::of(&decision),
        };
        (at, route)
    }

    /// `packet` becomes the next of buffer `at`. It can be routed in step `begin`, unless `route` gives its route.
    #[inline(always)]
    fn come_to_front<M: Uses>(
        &mut self,
        shared: &mut Shared<impl Payload>,
        at: u32,
        packet: u32,
        begin: Subcycle,
        route: Option<Route>,
    ) {
        let p = shared.packets.trusted::<M>(packet);
        let (created, bytes, message, class, owner) = (p.created, p.bytes, p.message, p.class, p.traffic);
        let flits = shared.setup.flits(bytes);
        let ready = self.channels.timing.routed(begin);
        let vc = self.channels.vcs.edit_trusted::<M>(at);
        vc.stage = Stage::New;
        if M::CONTROL {
            vc.class = class;
        }
        if let Some(route) = route {
            let link = shared.flow.link::<M>(route.port);
            vc.take(route, &link, &shared.setup.vcs);
            if link.to_node {
                shared.messages.prefetch(message);
            }
        }
        (vc.created, vc.traffic) = (created, owner);
        vc.ready = ready;
        vc.left = flits as u16;
        vc.last = (u64::from(bytes) - u64::from(flits - 1) * shared.setup.params.flit) as u16;
        vc.delivered = NIL;
        vc.headless = false;
        shared.flow.observers.fifo_is_held::<M>(at, owner);
        self.observer.packet_leads::<M>(&self.channels, &mut shared.flow, at);
    }
}

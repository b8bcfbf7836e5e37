//! Input virtual channels: arrivals, and packets that reach the front.

use super::clock::Subcycle;
use super::{Pipelined, RouterLayout};
use crate::fabric::Shared;
use crate::features::Uses;
use crate::observe::{Observed, Observer};
use crate::packet::{Route, VcTerms};
use crate::routing::{Header, NoRoom};
use crate::{Payload, Traffic};
use odonata_engine::{List, NIL, Time};

/// The stage of the front packet of an input virtual channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(super) enum Stage {
    /// There is no packet.
    Empty,
    /// It has not been routed.
    New,
    /// It requests a virtual channel of its output.
    Routed,
    /// It has a virtual channel; its flits request the crossbar.
    Active,
}

/// An input virtual channel; one cache line.
#[repr(align(64))]
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct InVc {
    /// Packets whose head has arrived.
    pub(super) heads: List,
    /// When its front packet may make its next request, see [`Subcycle`].
    pub(super) ready: Time,
    pub(super) created: Time,
    pub(super) port: u32,
    /// The front packet while it is delivered to a node.
    pub(super) delivered: u32,
    /// The front packet's header behind its output.
    pub(super) header: Header,
    /// Number of flits in the buffer.
    pub(super) present: u16,
    /// Flits of the front packet that have not left.
    pub(super) left: u16,
    /// Bytes of the last flit of the front packet.
    pub(super) last: u16,
    pub(super) stage: Stage,
    pub(super) level: u8,
    pub(super) vc: u8,
    pub(super) terms: VcTerms,
    /// Whether the head of the front packet has left.
    pub(super) headless: bool,
    pub(super) class: u8,
    /// The owner of the front packet; known if waits are charged.
    pub(super) traffic: Traffic,
}

const _: () = assert!(size_of::<InVc>() == 64);

impl InVc {
    pub(super) const EMPTY: InVc = InVc {
        heads: List::EMPTY,
        ready: Time::ZERO,
        created: Time::ZERO,
        port: NIL,
        delivered: NIL,
        header: Header::NONE,
        present: 0,
        left: 0,
        last: 0,
        stage: Stage::Empty,
        level: 0,
        vc: 0,
        terms: VcTerms::NONE,
        headless: false,
        class: 0,
        traffic: 0,
    };
}

impl Pipelined {
    /// The head of `packet` has arrived in its buffer at `arrival`, in time for `cycle`.
    pub(super) fn arrive<M: Uses>(
        &mut self,
        shared: &mut Shared<impl Payload>,
        (router, layout): (u32, RouterLayout),
        packet: u32,
        (arrival, cycle): (Time, Time),
    ) {
        let (at, route) = if self.routes_on_arrival() {
            let (at, _, route) = self.route_arrival::<M>(shared, router, packet, arrival);
            (at, Some(route))
        } else {
            shared.count_hop::<M>(packet);
            (shared.packets.get(packet).buffer, None)
        };
        self.queue_head::<M>(shared, layout, (packet, at), route, cycle);
    }

    /// The head of `packet` joins input virtual channel `at`, in time for `cycle`. `route`: its route, if it has been
    /// routed.
    #[inline]
    pub(super) fn queue_head<M: Uses>(
        &mut self,
        shared: &mut Shared<impl Payload>,
        layout: RouterLayout,
        (packet, at): (u32, u32),
        route: Option<Route>,
        cycle: Time,
    ) {
        let vc = self.vcs.edit::<M>(at);
        vc.heads.push::<M, _>(&mut shared.packets, packet);
        vc.present += 1;
        if vc.stage == Stage::Empty {
            self.edit_occupied::<M>(layout, at, true);
            let first = Subcycle {
                cycle,
                step: 1,
                last: false,
            };
            self.come_to_front::<M>(shared, at, packet, first, route);
            return;
        }
        if let Some(route) = route {
            shared.packets.edit::<M>(packet).store_route(route);
        }
        if M::BLAME {
            let observed = Observed::new(packet, shared.packets.get(packet));
            (shared.flow.observers).packet_joins_fifo::<M>(at, observed, cycle);
        }
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
        let route = self
            .routes_on_arrival()
            .then(|| shared.packets.get(packet).stored_route());
        if M::BLAME {
            let observed = Observed::new(packet, shared.packets.get(packet));
            let until = self.timing.in_front_since(begin);
            (shared.flow.observers).packet_leads_fifo::<M>(at, observed, until);
        }
        self.come_to_front::<M>(shared, at, packet, begin, route);
    }

    /// Whether packets are routed on arrival in their buffer instead of at its front: with lookahead routing, which
    /// takes no time. Adaptive decisions use the loads of that moment, however long the packet then waits.
    #[inline(always)]
    pub(super) fn routes_on_arrival(&self) -> bool {
        !self.settings.late && !self.settings.reroutes
    }

    /// Routes `packet`, which arrived at `router` at `arrival`, once and for all. Returns its buffer, whether it has
    /// only one flit, and its route.
    #[inline(always)]
    pub(super) fn route_arrival<M: Uses>(
        &self,
        shared: &mut Shared<impl Payload>,
        router: u32,
        packet: u32,
        arrival: Time,
    ) -> (u32, bool, Route) {
        let (at, bytes, decision) = match self.ordered {
            true => {
                let p = shared.packets.get(packet);
                let (at, bytes) = (p.buffer, p.bytes);
                let flits = shared.setup.flits(bytes);
                (
                    at,
                    bytes,
                    shared.decide_once::<M>(self, router, (packet, 1), flits, arrival),
                )
            }
            false => {
                let (p, routing) = (shared.packets.edit::<M>(packet), &shared.routes.routing);
                p.hops = p.hops.saturating_add(1);
                (p.buffer, p.bytes, routing.decide(router, &mut p.header, &mut NoRoom))
            }
        };
        let flits = shared.setup.flits(bytes);
        let port = shared.flow.links.port(decision.port);
        if self.counts_waiting {
            shared.flow.edit_port::<M>(port).waiting_flits += flits;
        }
        let route = Route {
            port,
            level: decision.level,
            terms: VcTerms::of(&decision),
        };
        (at, flits == 1, route)
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
        let p = shared.packets.get(packet);
        let (created, bytes, message, class) = (p.created, p.bytes, p.message, p.class);
        let flits = shared.setup.flits(bytes);
        let ready = self.timing.routed(begin);
        let vc = self.vcs.edit::<M>(at);
        vc.stage = Stage::New;
        if let Some(route) = route {
            vc.stage = Stage::Routed;
            (vc.port, vc.level, vc.terms) = (route.port, route.level, route.terms);
            if shared.flow.link::<M>(vc.port).to_node {
                shared.messages.prefetch(message);
            }
        }
        vc.created = created;
        vc.ready = ready;
        vc.left = flits as u16;
        vc.last = (u64::from(bytes) - u64::from(flits - 1) * shared.setup.params.flit) as u16;
        vc.delivered = NIL;
        vc.headless = false;
        if M::CONTROL {
            vc.class = class;
        }
        if self.waits.are_charged::<M>() {
            let owner = shared.packets.get(packet).traffic;
            self.wait_of_front::<M>(&mut shared.flow, at, owner, ready);
        }
    }
}

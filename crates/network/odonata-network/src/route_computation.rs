//! Route computation: the view that a routing has of a router, and its decision for a packet.

use crate::Payload;
use crate::fabric::{Setup, Shared};
use crate::features::Uses;
use crate::flow::{CountCredits, Flow, Link};
use crate::packet::{Packet, VcTerms};
use crate::remote_congestion::RemoteCongestion;
use crate::router::VcAvailability;
use crate::routing::{Choice, Decision, Header, NOWHERE, Path, Routing};
use crate::settings::Arbitration;
use odonata_engine::random::Purpose;
use odonata_engine::{Mode, Plain, RangeStore, Speculative, Stream, Time};
use odonata_topology::LinkClass;
use odonata_units::SplitMix64;
use std::ops::Range;
use std::sync::Arc;

/// The routing, and one random stream per router for its choices.
#[derive(Debug)]
pub(crate) struct RouteComputation {
    pub(crate) routing: Arc<Routing>,
    random: RangeStore<Stream>,
}
odonata_engine::journalled!(RouteComputation { random });

impl RouteComputation {
    pub(crate) fn new(routing: Arc<Routing>, routers: Range<u32>, seed: u64) -> RouteComputation {
        let stream = |router| Stream::new(seed, u64::from(router), Purpose::Routing);
        RouteComputation {
            routing,
            random: RangeStore::with(routers, stream),
        }
    }

    /// The logical process of node `node`.
    #[inline]
    pub(crate) fn process_of(&self, node: u32) -> u32 {
        self.routing.topology().node_router(node)
    }
}

/// Answers a routing's questions from the state of the router's ports.
struct View<'a, M, A> {
    setup: &'a Setup,
    flow: &'a mut Flow,
    random: &'a mut RangeStore<Stream>,
    remote: &'a RemoteCongestion,
    available: &'a A,
    router: u32,
    now: Time,
    /// Flits of the packet to route.
    flits: u32,
    /// Its traffic class.
    class: u8,
    repeatable: Option<RepeatableDraws>,
    count: CountCredits,
    mode: std::marker::PhantomData<M>,
}

/// Random draws that repeat whenever a packet is routed again at the same router: an idle wake-up must not change the
/// result.
#[derive(Clone, Copy)]
pub(crate) struct RepeatableDraws(SplitMix64);

impl RepeatableDraws {
    pub(crate) fn new(seed: u64, router: u32, packet: &Packet) -> RepeatableDraws {
        let mut lot = SplitMix64(seed ^ packet.injected.0.rotate_left(17) ^ u64::from(packet.header.target) << 32);
        lot.next_u64();
        lot.0 ^= u64::from(router);
        RepeatableDraws(lot)
    }
}

/// The answers for a packet that finds no room at any port: the result is where it waits.
impl Choice for RepeatableDraws {
    fn pick(&mut self, n: u32) -> u32 {
        self.0.below(n)
    }
    fn lighter(&mut self, _: u32, _: u32) -> bool {
        false
    }
    fn divert(&mut self, _: Path, _: Path) -> bool {
        false
    }
    fn room(&mut self, _: u32, _: u8) -> bool {
        false
    }
}

impl<M: Uses, A> View<'_, M, A> {
    /// The load of the machine's router port `port`.
    fn load(&mut self, port: u32) -> u64 {
        let port = self.flow.links.port(port);
        u64::from(self.flow.load_counted_by::<M>(self.count, port, self.now)) * self.setup.params.flit
    }

    /// The known load of `path`.
    fn path_load(&mut self, path: Path) -> u64 {
        let beyond = match path.remote {
            NOWHERE => 0,
            remote => u64::from(self.remote.load(remote, self.now)) * self.setup.params.flit,
        };
        self.load(path.port) + beyond
    }

    /// Whether the global port of `path` in this group is known to be congested.
    fn is_congested(&mut self, path: Path) -> bool {
        match path.remote {
            NOWHERE => {
                let port = self.flow.links.port(path.port);
                (self.remote).is_own_congested::<M>(self.flow, port, self.setup.params.flit, self.now)
            }
            remote => self.remote.is_congested(remote, self.now),
        }
    }
}

impl<M: Uses, A: VcAvailability> Choice for View<'_, M, A> {
    fn pick(&mut self, n: u32) -> u32 {
        if let Some(state) = &mut self.repeatable {
            return state.pick(n);
        }
        self.random.edit_trusted::<M>(self.router).below(n)
    }

    fn lighter(&mut self, a: u32, b: u32) -> bool {
        self.load(a) < self.load(b)
    }

    #[inline(always)]
    fn prepare(&self, port: u32) {
        self.flow.prefetch_load(self.flow.links.port(port));
    }

    fn lighter_path(&mut self, a: Path, b: Path) -> bool {
        if !self.remote.is_on::<M>() {
            return self.lighter(a.port, b.port);
        }
        let mut weight = |path| (self.is_congested(path), self.path_load(path));
        weight(a) < weight(b)
    }

    fn knows_beyond(&self) -> bool {
        self.remote.is_on::<M>()
    }

    fn divert(&mut self, minimal: Path, other: Path) -> bool {
        if self.remote.is_on::<M>() && self.is_congested(minimal) {
            return true;
        }
        let (m, o) = (self.path_load(minimal), self.path_load(other));
        self.setup.params.detour.decide((m, minimal.hops), (o, other.hops))
    }

    fn room(&mut self, port: u32, level: u8) -> bool {
        let port = self.flow.links.port(port);
        let class = self.flow.link::<M>(port).class;
        let vcs = self.setup.vcs.of(class, level, self.class);
        (self.available).has_free_vc::<M>(self.flow, port, vcs, self.flits, self.now)
    }
}

impl<P: Payload> Shared<P> {
    /// Routes `packet`, of the given flits, at `router`, and adds the given number of visited routers. Returns the
    /// local number of its output port, the virtual channel that it requests (see [`channel`](Self::channel)), and the
    /// terms on which it waits if necessary.
    #[inline(always)]
    pub(crate) fn route<M: Uses>(
        &mut self,
        available: &impl VcAvailability,
        router: u32,
        packet: (u32, u16),
        flits: u32,
        now: Time,
    ) -> (u32, u8, VcTerms) {
        let decision = self.decide_once::<M>(available, router, packet, flits, now);
        let port = self.flow.links.port(decision.port);
        let class = match M::CONTROL {
            true => self.packets.trusted::<M>(packet.0).class,
            false => 0,
        };
        // The class comes from the topology, which the decision has just used, so that the prefetch does not wait for
        // the port.
        let kind = self.routes.routing.topology().class(decision.port);
        if kind == LinkClass::Terminal {
            self.messages.prefetch(self.packets.trusted::<M>(packet.0).message);
        }
        (
            port,
            self.channel::<M>((port, kind), decision.level, class),
            VcTerms::of(&decision),
        )
    }

    /// Decides for `packet` at `router` once and for all: sets its header behind the port and adds `hops` visited
    /// routers.
    #[inline(always)]
    pub(crate) fn decide_once<M: Uses>(
        &mut self,
        available: &impl VcAvailability,
        router: u32,
        (packet, hops): (u32, u16),
        flits: u32,
        now: Time,
    ) -> Decision {
        let count = Flow::count_credits::<M>;
        match M::JOURNAL {
            true => self.decide_for_good::<Speculative>(available, router, (packet, hops), (flits, count), now),
            false => self.decide_for_good::<Plain>(available, router, (packet, hops), (flits, count), now),
        }
    }

    // Not compiled into its callers, as many as there are, and what it returns fits into a register.
    #[inline(never)]
    fn decide_for_good<M: Uses>(
        &mut self,
        available: &impl VcAvailability,
        router: u32,
        (packet, hops): (u32, u16),
        (flits, count): (u32, CountCredits),
        now: Time,
    ) -> Decision {
        let (decision, header) = self.decide_with::<M>(available, router, packet, (flits, count), now);
        let p = self.packets.edit_trusted::<M>(packet);
        p.header = header;
        p.hops = p.hops.saturating_add(hops);
        decision
    }

    /// The decision of the routing for `packet` at `router`, and the header behind the port.
    #[inline(always)]
    pub(crate) fn decide<M: Uses>(
        &mut self,
        available: &impl VcAvailability,
        router: u32,
        packet: u32,
        flits: u32,
        now: Time,
    ) -> (Decision, Header) {
        let count = Flow::count_credits::<M>;
        match M::JOURNAL {
            true => self.decide_for_now::<Speculative>(available, router, packet, (flits, count), now),
            false => self.decide_for_now::<Plain>(available, router, packet, (flits, count), now),
        }
    }

    #[inline(never)]
    fn decide_for_now<M: Uses>(
        &mut self,
        available: &impl VcAvailability,
        router: u32,
        packet: u32,
        (flits, count): (u32, CountCredits),
        now: Time,
    ) -> (Decision, Header) {
        self.decide_with::<M>(available, router, packet, (flits, count), now)
    }

    /// The same. `M` is a mode, not a set of features, so that all routings are compiled once and not once per set: `count` is
    /// for those of the handler. Speculation shares the copy of all callers that are not hot.
    #[inline(always)]
    fn decide_with<M: Uses>(
        &mut self,
        available: &impl VcAvailability,
        router: u32,
        packet: u32,
        (flits, count): (u32, CountCredits),
        now: Time,
    ) -> (Decision, Header) {
        let p = self.packets.trusted::<M>(packet);
        let mut header = p.header;
        let seed = self.setup.params.seed;
        let mut view = View::<M, _> {
            setup: &self.setup,
            flow: &mut self.flow,
            random: &mut self.routes.random,
            remote: &self.remote,
            available,
            router,
            now,
            flits,
            class: p.class,
            repeatable: (available.decides_again()).then(|| RepeatableDraws::new(seed, router, p)),
            count,
            mode: std::marker::PhantomData,
        };
        let routing = &self.routes.routing;
        let decision = match M::JOURNAL {
            true => routing.decide(router, &mut header, &mut view),
            false => routing.decide_inline(router, &mut header, &mut view),
        };
        (decision, header)
    }

    /// The virtual channel of `level` on router port `port` that a packet of traffic class `class` requests. With
    /// first-come arbitration the choice is final: a channel without waiting packets if possible, then the one with the
    /// most room. Otherwise it is the first, which stands for all of them.
    #[inline(always)]
    fn channel<M: Mode>(&self, (port, kind): (u32, LinkClass), level: u8, class: u8) -> u8 {
        let first = self.setup.vcs.first(kind, level, class);
        if !self.setup.vcs.are_several() || self.setup.params.arbitration != Arbitration::FirstCome {
            return first;
        }
        self.emptiest::<M>(port, level, class)
    }

    /// The virtual channel of `level` without waiting packets and with the most room.
    #[inline(never)]
    fn emptiest<M: Mode>(&self, port: u32, level: u8, class: u8) -> u8 {
        let link = self.flow.link::<M>(port);
        let span = self.setup.vcs.of(link.class, level, class);
        let state = |vc: &u8| {
            let cell = self.flow.vc::<M>(link.first_vc + u32::from(*vc));
            (!cell.queue.is_empty(), !cell.overflow.is_empty(), cell.used)
        };
        span.clone().min_by_key(state).unwrap_or(span.start)
    }

    /// The channel with the most room among those of router port `port` for which `asked` stands, if `flits` fit into
    /// it.
    #[inline(always)]
    pub(crate) fn room_for<M: Uses>(&mut self, port: u32, asked: u8, flits: u32, now: Time) -> Option<u8> {
        let link = self.flow.link::<M>(port);
        self.room_at::<M>((port, &link), asked, flits, now)
    }

    /// The same for the port of `link`.
    #[inline(always)]
    pub(crate) fn room_at<M: Uses>(
        &mut self,
        (port, link): (u32, &Link),
        asked: u8,
        flits: u32,
        now: Time,
    ) -> Option<u8> {
        if self.setup.takes_any_channel && self.setup.vcs.end(link.class, asked) != asked + 1 {
            return self.roomiest::<M>(port, asked, flits, now);
        }
        let at = link.first_vc + u32::from(asked);
        (self.flow.has_room_at::<M>((port, link), at, flits, now)).then_some(asked)
    }

    #[inline(never)]
    fn roomiest<M: Uses>(&mut self, port: u32, asked: u8, flits: u32, now: Time) -> Option<u8> {
        self.flow.count_credits::<M>(port, now);
        let link = self.flow.link::<M>(port);
        let used = |vc: u8| self.flow.vc::<M>(link.first_vc + u32::from(vc)).used;
        let span = asked..self.setup.vcs.end(link.class, asked);
        span.min_by_key(|&vc| used(vc))
            .filter(|&vc| used(vc) + flits <= link.capacity)
    }
}

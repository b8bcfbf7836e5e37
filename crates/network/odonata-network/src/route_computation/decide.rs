//! The decision for a packet: the output port and the virtual channel that it requests.

use super::{RepeatableDraws, VcAvailability};
use crate::Payload;
use crate::fabric::{Setup, Shared};
use crate::features::Uses;
use crate::flow::{CountCredits, Flow, Link};
use crate::message::Message;
use crate::packet::VcTerms;
use crate::remote_congestion::RemoteCongestion;
use crate::routing::{Choice, Decision, Header, NOWHERE, Path, spread};
use crate::settings::Arbitration;
use odonata_engine::{Mode, Plain, Pool, RangeStore, Speculative, Stream, Time};
use odonata_topology::LinkClass;

/// Answers a routing's questions from the state of the router's ports.
struct View<'a, M, A, P> {
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
    messages: &'a Pool<Message<P>>,
    /// Its message.
    message: u32,
    count: CountCredits,
    mode: std::marker::PhantomData<M>,
}

impl<M: Uses, A, P> View<'_, M, A, P> {
    /// The load of the machine's router port `port`, in flits.
    #[inline(always)]
    fn load(&mut self, port: u32) -> u32 {
        let port = self.flow.links.port(port);
        self.flow.load_counted_by::<M>(self.count, port, self.now)
    }

    /// The known load of `path`, in bytes.
    #[inline(always)]
    fn path_load(&mut self, path: Path) -> u64 {
        let beyond = match path.remote {
            remote if remote != NOWHERE && self.remote.is_on::<M>() => self.remote.load(remote, self.now),
            _ => 0,
        };
        (u64::from(self.load(path.port)) + u64::from(beyond)) * self.setup.params.flit
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

impl<M: Uses, A: VcAvailability, P: Payload> Choice for View<'_, M, A, P> {
    fn pick(&mut self, n: u32) -> u32 {
        if let Some(state) = &mut self.repeatable {
            return state.pick(n);
        }
        self.random.edit_trusted::<M>(self.router).below(n)
    }

    fn flow(&mut self, target: u32) -> u32 {
        let source = self.messages.trusted::<M>(self.message).source;
        spread::flow(self.setup.params.seed, source, target)
    }

    fn pick_of_flow(&mut self, flow: u32, router: u32, n: u32) -> u32 {
        spread::path_of_flow(flow, router, n)
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
        let detour = &self.setup.params.detour;
        let m = self.path_load(minimal);
        // Looking at the other load counts its credits, which may matter to other packets and ends exhaustion.
        let is_exhausted = |port: u32| self.flow.port::<M>(self.flow.links.port(port)).is_exhausted();
        if self.flow.counts_early && detour.stays(m) && !is_exhausted(other.port) {
            return false;
        }
        let o = self.path_load(other);
        detour.decide((m, minimal.hops), (o, other.hops))
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
        let kind = self.flow.links.class_of_port::<M>(decision.port);
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
        let p = self.packets.edit_trusted::<M>(packet);
        p.hops = p.hops.saturating_add(hops);
        if let Some(decision) = self.routes.routing.fixed_step_inline(router, &mut p.header) {
            return decision;
        }
        let count = Flow::count_credits::<M>;
        match M::JOURNAL {
            true => self.decide_for_good::<Speculative>(available, router, packet, (flits, count), now),
            false => self.decide_for_good::<Plain>(available, router, packet, (flits, count), now),
        }
    }

    // Not compiled into its callers, as many as there are, and what it returns fits into a register. Only the last
    // argument goes over the stack: two of them, stored one by one and read as one, would stall the processor.
    #[inline(never)]
    fn decide_for_good<M: Uses>(
        &mut self,
        available: &impl VcAvailability,
        router: u32,
        packet: u32,
        (flits, count): (u32, CountCredits),
        now: Time,
    ) -> Decision {
        let mut header = self.packets.trusted::<M>(packet).header;
        let decision = self.decide_with::<M>(available, router, (packet, &mut header), (flits, count), now);
        self.packets.edit_trusted::<M>(packet).header = header;
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
        let mut header = self.packets.trusted::<M>(packet).header;
        if let Some(decision) = self.routes.routing.fixed_step(router, &mut header) {
            return (decision, header);
        }
        let count = Flow::count_credits::<M>;
        let packet = (packet, header);
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
        (packet, mut header): (u32, Header),
        (flits, count): (u32, CountCredits),
        now: Time,
    ) -> (Decision, Header) {
        let decision = self.decide_with::<M>(available, router, (packet, &mut header), (flits, count), now);
        (decision, header)
    }

    /// The decision for a packet with this header, which has no [fixed step](crate::routing::Routing::fixed_step). `M` is a
    /// mode, not a set of features, so that all routings are compiled once and not once per set: `count` is for those of the
    /// handler. Speculation shares the copy of all callers that are not hot.
    #[inline(always)]
    fn decide_with<M: Uses>(
        &mut self,
        available: &impl VcAvailability,
        router: u32,
        (packet, header): (u32, &mut Header),
        (flits, count): (u32, CountCredits),
        now: Time,
    ) -> Decision {
        let p = self.packets.trusted::<M>(packet);
        let seed = self.setup.params.seed;
        let mut view = View::<M, _, P> {
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
            messages: &self.messages,
            message: p.message,
            count,
            mode: std::marker::PhantomData,
        };
        let routing = &self.routes.routing;
        match M::JOURNAL {
            true => routing.decide(router, header, &mut view),
            false => routing.decide_open(router, header, &mut view),
        }
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

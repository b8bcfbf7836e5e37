//! What the routing sees of a router, and what it decides upon a packet.

use super::Fabric;
use crate::clocked::Clocked;
use crate::credit::Flow;
use crate::knowledge::Board;
use crate::levels::Spans;
use crate::packet::{Packet, Wants};
use crate::params::{NetworkParams, RouterModel};
use crate::routing::{Choice, Decision, Header, NOWHERE, Path};
use odonata_engine::{Mode, Stream, Time, Windowed};

/// Answers a routing's questions from the state of the router's ports.
struct View<'a, M: Mode> {
    flow: &'a mut Flow,
    random: &'a mut Windowed<Stream>,
    router: u32,
    now: Time,
    params: &'a NetworkParams,
    /// Flits of the packet that is decided upon.
    flits: u32,
    spans: &'a Spans,
    /// Its traffic class.
    class: u8,
    clocked: &'a Clocked,
    board: &'a Board,
    lot: Option<Lot>,
    mode: std::marker::PhantomData<M>,
}

/// Draws that are the same whenever a packet is decided upon again at the same router: a look that was not needed must
/// change nothing.
#[derive(Clone, Copy)]
struct Lot(u64);

impl Lot {
    fn new(seed: u64, router: u32, packet: &Packet) -> Lot {
        let mut lot = Lot(seed ^ packet.injected.0.rotate_left(17) ^ u64::from(packet.header.target) << 32);
        lot.next();
        lot.0 ^= u64::from(router);
        lot
    }

    /// SplitMix64 (G. Steele, D. Lea, C. Flood, OOPSLA 2014).
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    fn below(&mut self, n: u32) -> u32 {
        (((self.next() >> 32) * u64::from(n)) >> 32) as u32
    }
}

impl<M: Mode> View<'_, M> {
    /// The load of router port `port` of the machine.
    fn load(&mut self, port: u32) -> u64 {
        let port = self.flow.links.port(port);
        u64::from(self.flow.load::<M>(port, self.now)) * self.params.flit
    }

    /// What is known of the load of `path`.
    fn path_load(&mut self, path: Path) -> u64 {
        let beyond = match path.remote {
            NOWHERE => 0,
            remote => u64::from(self.board.load(remote, self.now)) * self.params.flit,
        };
        self.load(path.port) + beyond
    }

    /// Whether the global port that `path` goes over in this group is known to be congested.
    fn is_congested(&mut self, path: Path) -> bool {
        match path.remote {
            NOWHERE => {
                let port = self.flow.links.port(path.port);
                (self.board).is_own_congested::<M>(self.flow, port, self.params.flit, self.now)
            }
            remote => self.board.is_congested(remote, self.now),
        }
    }
}

impl<M: Mode> Choice for View<'_, M> {
    fn pick(&mut self, n: u32) -> u32 {
        if let Some(state) = &mut self.lot {
            return state.below(n);
        }
        self.random.edit::<M>(self.router).below(n)
    }

    fn lighter(&mut self, a: u32, b: u32) -> bool {
        self.load(a) < self.load(b)
    }

    fn lighter_path(&mut self, a: Path, b: Path) -> bool {
        if !self.board.is_on() {
            return self.lighter(a.port, b.port);
        }
        let mut weight = |path| (self.is_congested(path), self.path_load(path));
        weight(a) < weight(b)
    }

    fn knows_beyond(&self) -> bool {
        self.board.is_on()
    }

    fn divert(&mut self, minimal: Path, other: Path) -> bool {
        if self.board.is_on() && self.is_congested(minimal) {
            return true;
        }
        let (m, o) = (self.path_load(minimal), self.path_load(other));
        self.params.detour.decide((m, minimal.hops), (o, other.hops))
    }

    fn room(&mut self, port: u32, level: u8) -> bool {
        let port = self.flow.links.port(port);
        let link = *self.flow.links.get(port);
        if self.params.router == RouterModel::Pipelined {
            let clocked = self.clocked;
            let wanted = clocked.room(self.flits);
            return self.spans.of(link.class, level, self.class).any(|vc| {
                clocked.is_free(link.first_vc + u32::from(vc))
                    && (wanted == 0 || self.flow.has_room::<M>(port, vc, wanted, self.now))
            });
        }
        self.flow.harvest::<M>(port, self.now);
        self.spans.of(link.class, level, self.class).any(|vc| {
            let cell = self.flow.vcs.get(link.first_vc + u32::from(vc));
            cell.queue.is_empty() && cell.overflow.is_empty() && cell.used + self.flits <= link.capacity
        })
    }
}

impl Fabric {
    /// Routes `packet`, of so many `flits`, at `router`: the own number of its output port, the virtual channel, and on
    /// what terms it waits if it has to.
    #[inline]
    pub(crate) fn route<M: Mode>(&mut self, router: u32, packet: u32, flits: u32, now: Time) -> (u32, u8, Wants) {
        let decision = self.decide_once::<M>(router, packet, flits, now);
        let port = self.flow.links.port(decision.port);
        let class = self.packets.get(packet).class;
        (port, self.channel(port, decision.level, class), Wants::of(&decision))
    }

    /// Decides for `packet` at `router` for good: it has the header behind the port from now on.
    // Not compiled into its callers, as many as there are, and what it returns fits into a register.
    #[inline(never)]
    pub(crate) fn decide_once<M: Mode>(&mut self, router: u32, packet: u32, flits: u32, now: Time) -> Decision {
        let (decision, header) = self.decide::<M>(router, packet, flits, now);
        self.packets.edit::<M>(packet).header = header;
        decision
    }

    /// The decision of the routing for `packet` at `router`, and the header behind the port.
    #[inline(always)]
    pub(crate) fn decide<M: Mode>(&mut self, router: u32, packet: u32, flits: u32, now: Time) -> (Decision, Header) {
        let mut header = self.packets.get(packet).header;
        let mut view = View::<M> {
            flow: &mut self.flow,
            random: &mut self.random,
            router,
            now,
            params: &self.params,
            flits,
            spans: &self.spans,
            class: self.packets.get(packet).class,
            clocked: &self.clocked,
            board: &self.board,
            lot: (self.clocked.decides_again()).then(|| Lot::new(self.params.seed, router, self.packets.get(packet))),
            mode: std::marker::PhantomData,
        };
        let decision = self.routing.decide(router, &mut header, &mut view);
        (decision, header)
    }

    /// The virtual channel of `level` on router port `port` that a packet of traffic class `class` takes or waits for: of
    /// several the one for which nobody waits, then the one with the most room.
    #[inline]
    fn channel(&self, port: u32, level: u8, class: u8) -> u8 {
        let link = self.flow.links.get(port);
        let span = self.spans.of(link.class, level, class);
        if span.len() == 1 {
            return span.start;
        }
        let state = |vc: &u8| {
            let cell = self.flow.vcs.get(link.first_vc + u32::from(*vc));
            (!cell.queue.is_empty(), !cell.overflow.is_empty(), cell.used)
        };
        span.clone().min_by_key(state).unwrap_or(span.start)
    }
}

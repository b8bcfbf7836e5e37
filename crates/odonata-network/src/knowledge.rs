//! What routers know of the global ports of the other routers of their group.
//!
//! Every router publishes what there is to say of each of its global ports: its load ([`Knowledge::Global`]), or whether
//! it is congested ([`Knowledge::Piggyback`]). Nothing of it is known for free:
//!
//! ```text
//!   (k-1) I                  k I          k I + 1 ps + delay
//! ────┼───────────────────────┼───────────────┼──────►
//!      loads change ...        ^ published     ^ known to the group
//! ```
//!
//! - A router publishes a picosecond after each multiple of the interval up to which one of its loads has changed, and says
//!   only what is not as it was last published. Loads change when a packet comes and when a credit counts; where neither
//!   happens there is no event, so that an idle network comes to its end, and so does one that stands still.
//! - What is published counts from its time on, for every event of that instant, as credits do. It costs its readers no
//!   event: they look at what is known by now. All routers of a group get to know the same at the same time, so that a part
//!   keeps it once for all of its own.
//! - Routers of other parts are told by value ([`Token`](crate::border::Token)): one token per router that has nodes, as
//!   nobody here knows where the other parts begin. A part takes the first and ignores the rest.

use crate::FabricEvent;
use crate::border::Token;
use crate::credit::Flow;
use crate::fabric::Fabric;
use crate::link::Links;
use crate::params::{Knowledge, NetworkParams};
use crate::routing::Routing;
use odonata_engine::{Context, Mode, NIL, Pool, Slot, Store, Time};
use odonata_topology::{LinkClass, Peer};
use std::ops::Range;

/// The name of a router's publications among its canonical events: before the cycles of pipelined routers.
const PUBLISH: u32 = 0xefff_ffff;

/// What is known of a port from `due` on.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
struct Report {
    due: Time,
    /// Flits; or 1 for a congested port, else 0.
    value: u32,
    /// The one before.
    older: u32,
}

impl Slot for Report {
    #[inline]
    fn next(&self) -> u32 {
        self.older
    }
    #[inline]
    fn set_next(&mut self, next: u32) {
        self.older = next;
    }
}

/// What the routers of a part have published, and those of other parts in the groups that the part has routers of.
/// Empty where nobody has a use for it.
#[derive(Debug)]
pub(crate) struct Board {
    knowledge: Knowledge,
    interval: Time,
    delay: Time,
    routers_of_a_group: u32,
    /// The routers of the part, and the machine's number of the first port of the first group.
    routers: Range<u32>,
    first_port: u32,
    /// Per port of the groups its newest report.
    newest: Store<u32>,
    reports: Pool<Report>,
    /// Per router of the part when it publishes next, if that lies in the future.
    next: Store<Time>,
    /// The global ports that lead somewhere, by own number, router by router, and where those of each router begin.
    ports: Vec<u32>,
    begins: Vec<u32>,
    /// Routers with nodes in other parts: of the first group of this part, and of its last one.
    before: Vec<u32>,
    after: Vec<u32>,
}
odonata_engine::journalled!(Board { newest, reports, next });

impl Board {
    pub(crate) fn new(links: &Links, params: &NetworkParams, routing: &Routing, routers: Range<u32>) -> Board {
        let topology = routing.topology();
        let mut board = Board {
            knowledge: Knowledge::Local,
            interval: Time::NEVER,
            delay: Time::NEVER,
            routers_of_a_group: u32::MAX,
            routers: routers.clone(),
            first_port: 0,
            newest: Store::new(),
            reports: Pool::new(),
            next: Store::new(),
            ports: Vec::new(),
            begins: Vec::new(),
            before: Vec::new(),
            after: Vec::new(),
        };
        let (Some(broadcast), Some(size)) = (params.knowledge.broadcast(), routing.routers_of_a_group()) else {
            return board;
        };
        if routers.is_empty() {
            return board;
        }
        let first = routers.start / size * size;
        let end = ((routers.end - 1) / size + 1) * size;
        let ports = topology.ports_of_routers(first..end);
        board.knowledge = params.knowledge;
        (board.interval, board.delay) = (broadcast.interval, broadcast.delay);
        board.routers_of_a_group = size;
        board.first_port = ports.start;
        board.newest = Store::filled(ports.len(), NIL);
        board.next = Store::filled(routers.len(), Time::ZERO);
        for router in routers.clone() {
            board.begins.push(board.ports.len() as u32);
            let leads = |&port: &u32| {
                topology.class(port) == LinkClass::Global && matches!(topology.peer(port), Peer::Router { .. })
            };
            let global = topology.ports_of(router).filter(leads);
            board.ports.extend(global.map(|port| links.port(port)));
        }
        board.begins.push(board.ports.len() as u32);
        let has_nodes = |&router: &u32| {
            let mut ports = topology.ports_of(router);
            ports.any(|port| matches!(topology.peer(port), Peer::Node(_)))
        };
        board.before = (first..routers.start).filter(has_nodes).collect();
        board.after = (routers.end..end).filter(has_nodes).collect();
        board
    }

    pub(crate) fn memory(&self) -> usize {
        self.newest.memory() + self.reports.memory() + self.next.memory()
    }

    /// Whether anything is known of ports of other routers.
    #[inline(always)]
    pub(crate) fn is_on(&self) -> bool {
        !self.next.is_empty()
    }

    /// The group size and the delay with which routers of a group tell each other something, if they do.
    pub(crate) fn groups(&self) -> Option<(u32, Time)> {
        self.is_on().then_some((self.routers_of_a_group, self.delay))
    }

    /// How congestion is told from load, if it is congestion that is known.
    #[inline]
    fn congestion(&self) -> Option<(f64, u64)> {
        match self.knowledge {
            Knowledge::Piggyback { factor, threshold, .. } => Some((factor, threshold)),
            Knowledge::Local | Knowledge::Global { .. } => None,
        }
    }

    /// Flits of load that are known of router port `port` of the machine at `now`; 0 unless loads are published.
    #[inline]
    pub(crate) fn load(&self, port: u32, now: Time) -> u32 {
        match self.knowledge {
            Knowledge::Global { .. } => self.known(port, now),
            Knowledge::Local | Knowledge::Piggyback { .. } => 0,
        }
    }

    /// Whether router port `port` of the machine is known to be congested at `now`.
    #[inline]
    pub(crate) fn is_congested(&self, port: u32, now: Time) -> bool {
        matches!(self.knowledge, Knowledge::Piggyback { .. }) && self.known(port, now) != 0
    }

    /// Whether the own router port `port` is congested at `now`.
    pub(crate) fn is_own_congested<M: Mode>(&self, flow: &mut Flow, port: u32, flit: u64, now: Time) -> bool {
        let link = flow.links.get(port);
        if link.class != LinkClass::Global || self.congestion().is_none() {
            return false;
        }
        let router = link.lp;
        let mean = self.mean_load::<M>(flow, router, now);
        let load = flow.load::<M>(port, now);
        self.exceeds(load, mean, flit)
    }

    /// Whether a load of so many flits is more than the mean allows.
    #[inline]
    fn exceeds(&self, load: u32, mean: f64, flit: u64) -> bool {
        (self.congestion())
            .is_some_and(|(factor, threshold)| u64::from(load) * flit > threshold && f64::from(load) > factor * mean)
    }

    /// The mean load of the global ports of `router`, in flits.
    fn mean_load<M: Mode>(&self, flow: &mut Flow, router: u32, now: Time) -> f64 {
        let places = self.places(router);
        let count = places.len().max(1) as f64;
        let sum: u64 = places
            .map(|place| u64::from(flow.load::<M>(self.ports[place], now)))
            .sum();
        sum as f64 / count
    }

    /// Where the global ports of `router` are.
    #[inline]
    fn places(&self, router: u32) -> Range<usize> {
        let own = (router - self.routers.start) as usize;
        self.begins[own] as usize..self.begins[own + 1] as usize
    }

    /// The latest report of `port` that counts at `now`. Changes nothing: how often somebody looks is of no account.
    #[inline]
    fn known(&self, port: u32, now: Time) -> u32 {
        let mut at = *self.newest.get(port - self.first_port);
        while at != NIL {
            let report = self.reports.get(at);
            if report.due <= now {
                return report.value;
            }
            at = report.older;
        }
        0
    }

    /// What was published last of `port`.
    #[inline]
    fn published(&self, port: u32) -> u32 {
        match *self.newest.get(port - self.first_port) {
            NIL => 0,
            newest => self.reports.get(newest).value,
        }
    }

    /// `value` is known of `port` from `due` on. Forgets what nobody can ask for any more after `now`.
    pub(crate) fn post<M: Mode>(&mut self, port: u32, due: Time, value: u32, now: Time) {
        let place = port - self.first_port;
        // Tokens may come in any order: those that count later stand before it.
        let mut later = NIL;
        let mut at = *self.newest.get(place);
        while at != NIL && self.reports.get(at).due > due {
            (later, at) = (at, self.reports.get(at).older);
        }
        if at != NIL && self.reports.get(at).due == due {
            return;
        }
        let slot = self.reports.take::<M>(Report { due, value, older: at });
        match later {
            NIL => *self.newest.edit::<M>(place) = slot,
            later => self.reports.edit::<M>(later).older = slot,
        }
        let mut last = *self.newest.get(place);
        while last != NIL && self.reports.get(last).due > now {
            last = self.reports.get(last).older;
        }
        if last == NIL {
            return;
        }
        let mut old = self.reports.get(last).older;
        if old != NIL {
            self.reports.edit::<M>(last).older = NIL;
        }
        while old != NIL {
            let older = self.reports.get(old).older;
            self.reports.give::<M>(old);
            old = older;
        }
    }

    /// A load of `router` changes at `at`, now or later: asks for the publication that says so.
    #[inline]
    fn wake<E, C>(&mut self, ctx: &mut C, router: u32, at: Time)
    where
        E: Copy + From<FabricEvent>,
        C: Context<E>,
    {
        let own = router - self.routers.start;
        let pending = *self.next.get(own);
        if pending > at && pending.0 - at.0 <= self.interval.0 {
            return;
        }
        let multiple = at.0.div_ceil(self.interval.0).saturating_mul(self.interval.0);
        let due = Time(multiple.saturating_add(1));
        if pending > ctx.now_of(router) && pending <= due {
            return;
        }
        *self.next.edit::<C>(own) = due;
        ctx.look_again(router, due, PUBLISH - router, FabricEvent::Publish.into());
    }
}

impl Fabric {
    /// The load of the own router port `port` changes at `at`, now or later.
    #[inline(always)]
    pub(crate) fn load_changes<E, C>(&mut self, ctx: &mut C, port: u32, at: Time)
    where
        E: Copy + From<FabricEvent>,
        C: Context<E>,
    {
        if self.board.is_on() {
            let link = self.flow.links.get(port);
            if link.class == LinkClass::Global {
                self.board.wake::<E, C>(ctx, link.lp, at);
            }
        }
    }

    /// `router` publishes what has changed up to the last multiple of the interval.
    pub(crate) fn publish<E, C>(&mut self, ctx: &mut C, router: u32)
    where
        E: Copy + From<FabricEvent>,
        C: Context<E>,
    {
        let now = ctx.now();
        let multiple = Time(now.0 - 1);
        let due = Time(now.0.saturating_add(self.board.delay.0));
        let mean = match self.board.congestion() {
            Some(_) => self.board.mean_load::<C>(&mut self.flow, router, multiple),
            None => 0.0,
        };
        let mut next = Time::NEVER;
        for place in self.board.places(router) {
            let port = self.board.ports[place];
            let load = self.flow.load::<C>(port, multiple);
            let value = match self.board.congestion() {
                Some(_) => u32::from(self.board.exceeds(load, mean, self.params.flit)),
                None => load,
            };
            let number = self.flow.links.number(port);
            if value != self.board.published(number) {
                self.board.post::<C>(number, due, value, ctx.settled());
                self.tell_others(router, due, Token::report(number, value));
            }
            if let Some(credit) = self.flow.earliest_credit(port, multiple) {
                next = next.min(credit);
            }
        }
        if next != Time::NEVER {
            self.board.wake::<E, C>(ctx, router, next);
        }
    }

    /// Tells the routers of the group of `router` that are in other parts.
    fn tell_others(&mut self, router: u32, due: Time, token: Token) {
        let (size, routers) = (self.board.routers_of_a_group, &self.board.routers);
        let group = router / size;
        if group == routers.start / size {
            let tokens = self.board.before.iter().map(|&to| (to, due, token));
            self.outbox.tokens.extend(tokens);
        }
        if group == (routers.end - 1) / size {
            let tokens = self.board.after.iter().map(|&to| (to, due, token));
            self.outbox.tokens.extend(tokens);
        }
    }

    /// The number of routers of a group and the delay with which they tell each other something, if they do: see
    /// [`LinkDelays::with_groups`](crate::lookahead::LinkDelays::with_groups).
    pub fn groups(&self) -> Option<(u32, Time)> {
        self.board.groups()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use odonata_engine::Plain;

    /// A board of one port.
    fn board() -> Board {
        Board {
            knowledge: Knowledge::Local,
            interval: Time(10),
            delay: Time(25),
            routers_of_a_group: 1,
            routers: 0..1,
            first_port: 7,
            newest: Store::filled(1, NIL),
            reports: Pool::new(),
            next: Store::filled(1, Time::ZERO),
            ports: vec![0],
            begins: vec![0, 1],
            before: Vec::new(),
            after: Vec::new(),
        }
    }

    #[test]
    fn a_report_counts_from_its_time_on_and_until_the_next_one() {
        let mut board = board();
        for (due, value) in [(100, 5), (110, 6), (130, 0)] {
            board.post::<Plain>(7, Time(due), value, Time(80));
        }
        for (now, value) in [(99, 0), (100, 5), (109, 5), (110, 6), (129, 6), (130, 0), (1_000, 0)] {
            assert_eq!(board.known(7, Time(now)), value, "at {now}");
        }
        assert_eq!(board.published(7), 0);
    }

    #[test]
    fn reports_may_come_in_any_order_and_more_than_once() {
        let mut board = board();
        for (due, value) in [(110, 6), (100, 5), (130, 9), (100, 5), (120, 7), (130, 9), (110, 6)] {
            board.post::<Plain>(7, Time(due), value, Time(80));
        }
        assert_eq!(board.reports.live(), 4);
        for (now, value) in [(99, 0), (100, 5), (110, 6), (120, 7), (130, 9)] {
            assert_eq!(board.known(7, Time(now)), value, "at {now}");
        }
    }

    /// Between a publication and its time lie delay / interval others.
    #[test]
    fn what_nobody_can_ask_for_is_forgotten() {
        let mut board = board();
        for k in 0..1_000_u32 {
            let now = Time(10 * u64::from(k) + 1);
            board.post::<Plain>(7, now + board.delay, k, now);
            assert!(board.reports.live() <= 4, "{} after {k}", board.reports.live());
            if k > 3 {
                assert_eq!(board.known(7, now), k - 3);
            }
        }
    }
}

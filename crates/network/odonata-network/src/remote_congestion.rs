//! The remote congestion table: the loads of other routers' global ports in a group.
//!
//! Every router publishes for each of its global ports the load ([`Knowledge::Global`]), or whether it is congested
//! ([`Knowledge::Piggyback`]). Publication takes time:
//!
//! ```text
//!   (k-1) I                  k I          k I + 1 ps + delay
//! ────┼───────────────────────┼───────────────┼──────►
//!      loads change ...        ^ published     ^ known to the group
//! ```
//!
//! - A router publishes a picosecond after each multiple of the interval up to which one of its loads has changed, and
//!   only changes. Loads change when a packet arrives and when a credit counts; without these there is no event, so
//!   events end in an idle or halted network.
//! - A publication counts the packets that arrived before its instant, and the credits that count by then. It does not
//!   depend on the order of events at one instant. So a superfluous publication is empty.
//! - A published value counts from its time on, for every event of that instant, as credits do. It costs its readers no
//!   event: they read the value known now, or, in a cycle of a pipelined router, at the beginning of the cycle. Only
//!   older values are removed. All routers of a group know a value at the same time, so a part stores it once.
//! - Routers of other parts receive values ([`RemoteLoad`]): one update per router that has nodes, because the bounds
//!   of other parts are unknown here. A part takes the first update and ignores the rest.

use crate::FabricEvent;
use crate::boundary::{RemoteLoad, RemoteUpdate};
use crate::event::LAG;
use crate::features::{HandlerContext, Uses};
use crate::flow::{Flow, Links};
use crate::params::{Knowledge, NetworkParams};
use crate::routing::Routing;
use crate::settings::RouterModel;
use odonata_engine::{NIL, Plain, Pool, Slot, Store, Time};
use odonata_topology::{LinkClass, Peer};
use std::ops::Range;

/// The id of a router's publications among its wake-ups: before the cycles of pipelined routers.
const PUBLISH: u32 = 0xefff_ffff;

/// Link of the oldest stored report of a port, if earlier ones were removed.
const FORGOTTEN: u32 = NIL - 1;

/// Whether this link of a list leads to a report.
#[inline]
fn is_kept(at: u32) -> bool {
    at < FORGOTTEN
}

/// The value of a port from `due` on.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
struct Report {
    due: Time,
    /// Flits of load; or 1 for a congested port, otherwise 0.
    value: u32,
    /// The previous report, [`FORGOTTEN`], or [`NIL`] if this is the first of all.
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

/// The flits that have arrived for a port at an instant; publications of that instant exclude them.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
struct Fresh {
    at: Time,
    flits: u32,
}

/// The published loads of the routers of a part, and of those of other parts in the same groups. Empty if the loads are
/// not used.
#[derive(Debug)]
pub(crate) struct RemoteCongestion {
    knowledge: Knowledge,
    interval: Time,
    delay: Time,
    /// How far back from its event a router may read.
    reach: Time,
    routers_of_a_group: u32,
    /// The routers of the part, and the number in the machine of the first port of the first group.
    routers: Range<u32>,
    first_port: u32,
    /// Per port of the groups its newest report.
    newest: Store<u32>,
    reports: Pool<Report>,
    /// Per router of the part its next publication, if that lies in the future.
    next: Store<Time>,
    /// Per local router port the last arrival; empty with pipelined routers, whose flits leave in cycles, after the
    /// publications of their instant.
    fresh: Store<Fresh>,
    /// The global ports with a cable, by local number, router by router, and the start of each router's ports.
    ports: Vec<u32>,
    begins: Vec<u32>,
    /// Routers with nodes in other parts: of the first group of this part, and of its last one.
    before: Vec<u32>,
    after: Vec<u32>,
}
odonata_engine::journalled!(RemoteCongestion {
    newest,
    reports,
    next,
    fresh
});

impl RemoteCongestion {
    pub(crate) fn new(
        links: &Links,
        params: &NetworkParams,
        routing: &Routing,
        routers: Range<u32>,
    ) -> RemoteCongestion {
        let topology = routing.topology();
        let mut table = RemoteCongestion {
            knowledge: Knowledge::Local,
            interval: Time::NEVER,
            delay: Time::NEVER,
            reach: LAG,
            routers_of_a_group: u32::MAX,
            routers: routers.clone(),
            first_port: 0,
            newest: Store::new(),
            reports: Pool::new(),
            next: Store::new(),
            fresh: Store::new(),
            ports: Vec::new(),
            begins: Vec::new(),
            before: Vec::new(),
            after: Vec::new(),
        };
        let (Some(broadcast), Some(size)) = (params.knowledge.broadcast(), routing.routers_of_a_group()) else {
            return table;
        };
        if routers.is_empty() {
            return table;
        }
        let first = routers.start / size * size;
        let end = ((routers.end - 1) / size + 1) * size;
        let ports = topology.ports_of_routers(first..end);
        table.knowledge = params.knowledge;
        (table.interval, table.delay) = (broadcast.interval, broadcast.delay);
        if params.router == RouterModel::Pipelined {
            // A packet that arrives during a cycle is routed when the next cycle is processed.
            table.reach = params.clock + LAG;
        }
        table.routers_of_a_group = size;
        table.first_port = ports.start;
        table.newest = Store::filled(ports.len(), NIL);
        table.next = Store::filled(routers.len(), Time::ZERO);
        if params.router != RouterModel::Pipelined {
            let nothing = Fresh {
                at: Time::ZERO,
                flits: 0,
            };
            table.fresh = Store::filled(links.ports as usize, nothing);
        }
        for router in routers.clone() {
            table.begins.push(table.ports.len() as u32);
            let leads = |&port: &u32| {
                topology.class(port) == LinkClass::Global && matches!(topology.peer(port), Peer::Router { .. })
            };
            let global = topology.ports_of(router).filter(leads);
            table.ports.extend(global.map(|port| links.port(port)));
        }
        table.begins.push(table.ports.len() as u32);
        let has_nodes = |&router: &u32| {
            let mut ports = topology.ports_of(router);
            ports.any(|port| matches!(topology.peer(port), Peer::Node(_)))
        };
        table.before = (first..routers.start).filter(has_nodes).collect();
        table.after = (routers.end..end).filter(has_nodes).collect();
        table
    }

    /// Whether loads of other routers' ports are known.
    #[inline(always)]
    pub(crate) fn is_on<U: Uses>(&self) -> bool {
        U::EXTRAS && !self.next.is_empty()
    }

    /// The group size and the delay of published loads, if there are any.
    pub(crate) fn groups(&self) -> Option<(u32, Time)> {
        self.is_on::<Plain>().then_some((self.routers_of_a_group, self.delay))
    }

    /// The criterion of congestion, if congestion is published.
    #[inline]
    fn congestion(&self) -> Option<(f64, u64)> {
        match self.knowledge {
            Knowledge::Piggyback { factor, threshold, .. } => Some((factor, threshold)),
            Knowledge::Local | Knowledge::Global { .. } => None,
        }
    }

    /// Known load in flits of router port `port` of the machine at `now`; 0 unless loads are published.
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

    /// Whether the local router port `port` is congested at `now`.
    pub(crate) fn is_own_congested<M: Uses>(&self, flow: &mut Flow, port: u32, flit: u64, now: Time) -> bool {
        let link = flow.link::<M>(port);
        if link.class != LinkClass::Global || self.congestion().is_none() {
            return false;
        }
        let router = flow.links.sender(port);
        let mean = self.mean_load(router, |port| flow.load::<M>(port, now));
        let load = flow.load::<M>(port, now);
        self.exceeds(load, mean, flit)
    }

    /// Whether a load of `load` flits exceeds the mean by the factor.
    #[inline]
    fn exceeds(&self, load: u32, mean: f64, flit: u64) -> bool {
        (self.congestion())
            .is_some_and(|(factor, threshold)| u64::from(load) * flit > threshold && f64::from(load) > factor * mean)
    }

    /// The mean load of the global ports of `router` in flits; `load` gives that of each port.
    fn mean_load(&self, router: u32, mut load: impl FnMut(u32) -> u32) -> f64 {
        let places = self.places(router);
        let count = places.len().max(1) as f64;
        let sum: u64 = places.map(|place| u64::from(load(self.ports[place]))).sum();
        sum as f64 / count
    }

    /// The load of the local port `port` for a publication at `now`. Credits of this instant are included without
    /// counting them: a cycle of the same instant must not find them counted.
    fn load_to_publish<M: Uses>(&self, flow: &mut Flow, port: u32, now: Time) -> u32 {
        let load = flow.load::<M>(port, now - Time(1)) - flow.due_flits(port, now);
        match self.fresh.is_empty() {
            true => load,
            false => {
                load - Some(*self.fresh.get(port))
                    .filter(|f| f.at == now)
                    .map_or(0, |f| f.flits)
            }
        }
    }

    /// `flits` flits arrive for the local port `port` now.
    #[inline]
    fn note_fresh<M: Uses>(&mut self, port: u32, flits: u32, now: Time) {
        if self.fresh.is_empty() {
            return;
        }
        let fresh = self.fresh.edit::<M>(port);
        if fresh.at != now {
            *fresh = Fresh { at: now, flits: 0 };
        }
        fresh.flits += flits;
    }

    /// The range of the global ports of `router` in `ports`.
    #[inline]
    fn places(&self, router: u32) -> Range<usize> {
        let own = (router - self.routers.start) as usize;
        self.begins[own] as usize..self.begins[own + 1] as usize
    }

    /// The latest report of `port` that counts at `now`. Changes no state, so the number of reads does not matter.
    #[inline]
    fn known(&self, port: u32, now: Time) -> u32 {
        let mut at = *self.newest.get(port - self.first_port);
        while is_kept(at) {
            let report = self.reports.get(at);
            if report.due <= now {
                return report.value;
            }
            at = report.older;
        }
        assert!(at == NIL, "what was known of port {port} at {now:?} has been forgotten");
        0
    }

    /// The last published value of `port`.
    #[inline]
    fn published(&self, port: u32) -> u32 {
        match *self.newest.get(port - self.first_port) {
            NIL => 0,
            newest => self.reports.get(newest).value,
        }
    }

    /// Sets the value of `port` from `due` on. Removes reports that no reader needs once all events before
    /// `handled_before` are handled: the next event may be a cycle, which reads the values at its beginning.
    pub(crate) fn record<M: Uses>(&mut self, port: u32, due: Time, value: u32, handled_before: Time) {
        let asked = handled_before.saturating_sub(self.reach);
        let place = port - self.first_port;
        // Updates may arrive in any order: later ones precede it in the list.
        let mut later = NIL;
        let mut at = *self.newest.get(place);
        while is_kept(at) && self.reports.get(at).due > due {
            (later, at) = (at, self.reports.get(at).older);
        }
        if is_kept(at) && self.reports.get(at).due == due {
            return;
        }
        let slot = self.reports.allocate::<M>(Report { due, value, older: at });
        match later {
            NIL => *self.newest.edit::<M>(place) = slot,
            later => self.reports.edit::<M>(later).older = slot,
        }
        let mut last = *self.newest.get(place);
        while is_kept(last) && self.reports.get(last).due > asked {
            last = self.reports.get(last).older;
        }
        if !is_kept(last) {
            return;
        }
        let mut old = self.reports.get(last).older;
        if is_kept(old) {
            self.reports.edit::<M>(last).older = FORGOTTEN;
        }
        while is_kept(old) {
            let older = self.reports.get(old).older;
            self.reports.free::<M>(old);
            old = older;
        }
    }

    /// A load of `router` changes after `at`, now or later: schedules the first publication after it.
    #[inline]
    fn wake_up<C: HandlerContext>(&mut self, ctx: &mut C, router: u32, at: Time) {
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
        ctx.wake_up(router, due, PUBLISH - router, FabricEvent::Publish.into());
    }
}

impl RemoteCongestion {
    /// `flits` flits join the load of the local router port `port` now: they count in later publications.
    #[inline(always)]
    pub(crate) fn load_grows<C: HandlerContext>(&mut self, ctx: &mut C, links: &Links, port: u32, flits: u32) {
        if self.is_on::<C>() {
            let link = links.get(port);
            if link.class == LinkClass::Global {
                self.note_fresh::<C>(port, flits, ctx.now());
                self.wake_up(ctx, links.sender(port), ctx.now());
            }
        }
    }

    /// A credit of the local router port `port` will count from `due`: in publications at that time or later.
    #[inline(always)]
    pub(crate) fn load_falls<C: HandlerContext>(&mut self, ctx: &mut C, links: &Links, port: u32, due: Time) {
        if self.is_on::<C>() {
            let link = links.get(port);
            if link.class == LinkClass::Global {
                self.wake_up(ctx, links.sender(port), due - Time(1));
            }
        }
    }

    /// `router` publishes its changes since the last publication; `updates` receives those for other parts. `flit` is
    /// the bytes per flit.
    pub(crate) fn publish<C: HandlerContext>(
        &mut self,
        ctx: &mut C,
        flow: &mut Flow,
        flit: u64,
        updates: &mut Vec<(u32, Time, RemoteUpdate)>,
        router: u32,
    ) {
        let now = ctx.now();
        let due = Time(now.0.saturating_add(self.delay.0));
        let mean = match self.congestion() {
            Some(_) => self.mean_load(router, |port| self.load_to_publish::<C>(flow, port, now)),
            None => 0.0,
        };
        let mut next = Time::NEVER;
        for place in self.places(router) {
            let port = self.ports[place];
            let load = self.load_to_publish::<C>(flow, port, now);
            let value = match self.congestion() {
                Some(_) => u32::from(self.exceeds(load, mean, flit)),
                None => load,
            };
            let number = flow.links.number(port);
            if value != self.published(number) {
                self.record::<C>(number, due, value, ctx.handled_before());
                self.send_to_other_parts(updates, router, due, RemoteLoad { port: number, value });
            }
            if let Some(credit) = flow.earliest_credit::<C>(port, now) {
                next = next.min(credit);
            }
        }
        if next != Time::NEVER {
            self.wake_up(ctx, router, next - Time(1));
        }
    }

    /// Sends a load to the routers of the group of `router` that are in other parts.
    fn send_to_other_parts(
        &self,
        updates: &mut Vec<(u32, Time, RemoteUpdate)>,
        router: u32,
        due: Time,
        load: RemoteLoad,
    ) {
        let (size, routers) = (self.routers_of_a_group, &self.routers);
        let group = router / size;
        let update = |&to: &u32| (to, due, RemoteUpdate::Load(load));
        if group == routers.start / size {
            updates.extend(self.before.iter().map(update));
        }
        if group == (routers.end - 1) / size {
            updates.extend(self.after.iter().map(update));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use odonata_engine::Plain;

    /// A table of one port.
    fn table() -> RemoteCongestion {
        RemoteCongestion {
            knowledge: Knowledge::Local,
            interval: Time(10),
            delay: Time(25),
            reach: LAG,
            routers_of_a_group: 1,
            routers: 0..1,
            first_port: 7,
            newest: Store::filled(1, NIL),
            reports: Pool::new(),
            next: Store::filled(1, Time::ZERO),
            fresh: Store::new(),
            ports: vec![0],
            begins: vec![0, 1],
            before: Vec::new(),
            after: Vec::new(),
        }
    }

    #[test]
    fn a_report_counts_from_its_time_on_and_until_the_next_one() {
        let mut table = table();
        for (due, value) in [(100, 5), (110, 6), (130, 0)] {
            table.record::<Plain>(7, Time(due), value, Time(80));
        }
        for (now, value) in [(99, 0), (100, 5), (109, 5), (110, 6), (129, 6), (130, 0), (1_000, 0)] {
            assert_eq!(table.known(7, Time(now)), value, "at {now}");
        }
        assert_eq!(table.published(7), 0);
    }

    #[test]
    fn reports_may_come_in_any_order_and_more_than_once() {
        let mut table = table();
        for (due, value) in [(110, 6), (100, 5), (130, 9), (100, 5), (120, 7), (130, 9), (110, 6)] {
            table.record::<Plain>(7, Time(due), value, Time(80));
        }
        assert_eq!(table.reports.live(), 4);
        for (now, value) in [(99, 0), (100, 5), (110, 6), (120, 7), (130, 9)] {
            assert_eq!(table.known(7, Time(now)), value, "at {now}");
        }
    }

    /// A cycle reads the values at its beginning, [`LAG`] before its event, whatever is published in between.
    #[test]
    fn reports_that_a_cycle_of_the_same_instant_reads_are_kept() {
        let mut table = table();
        for (due, value, now) in [(100, 5, 80), (110, 6, 90), (120, 7, 100), (130, 8, 110), (140, 9, 120)] {
            table.record::<Plain>(7, Time(due), value, Time(now));
            let before = if now < 101 { 0 } else { value - 3 };
            assert_eq!(table.known(7, Time(now) - LAG), before, "a cycle at {now}");
        }
    }

    #[test]
    #[should_panic(expected = "has been forgotten")]
    fn no_read_reaches_a_removed_report() {
        let mut table = table();
        for (due, now) in [(100, 80), (110, 90), (120, 111)] {
            table.record::<Plain>(7, Time(due), 1, Time(now));
        }
        table.known(7, Time(109));
    }

    /// Between a publication and its time lie delay / interval others.
    #[test]
    fn reports_that_no_reader_needs_are_removed() {
        let mut table = table();
        for k in 0..1_000_u32 {
            let now = Time(10 * u64::from(k) + 1);
            table.record::<Plain>(7, now + table.delay, k, now);
            assert!(table.reports.live() <= 4, "{} after {k}", table.reports.live());
            if k > 3 {
                assert_eq!(table.known(7, now), k - 3);
            }
        }
    }
}

//! Links that packets and flows share: the exchange of loads between the packet model and the flow model.
//!
//! ```text
//!  router       load, sources, whether the link was busy   router 0
//!  of a link  ──────────────────────────────────────────►  max-min fair rates of flows beside packets
//!             ◄──────────────────────────────────────────  (`fluid/coupled.rs`)
//!               part of the link that flows leave
//! ```
//!
//! At multiples of the coupling interval a router reports the links on which it has sent packets, and only changes. It
//! reports once when a link becomes idle, then stops, so that events end in an idle network. A packet that starts is
//! slowed down by the last received load of the flows.

use super::flow_waits::FlowWaits;
use super::link::Links;
use crate::FabricEvent;
use crate::features::{HandlerContext, Uses};
use crate::params::NetworkParams;
use odonata_engine::{Store, Time};
use odonata_units::SplitMix64;

/// All bandwidth of a link.
pub(crate) const WHOLE: u32 = 1 << 31;

/// Changes below this part of a link are not reported.
const LEAST_CHANGE: u32 = WHOLE >> 8;

/// In [`LinkPart::note`] of packets: the packets kept the link busy and might take more of it.
const BUSY: u16 = 1 << 15;

/// The part of a link that packets use, or that flows leave to packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkPart {
    /// The machine's number of the link: router ports first, then NICs.
    pub(crate) link: u32,
    /// The part of its bandwidth, in units of 1/[`WHOLE`].
    pub(crate) part: u32,
    /// For packets: number of sources, and whether the link was [`BUSY`]. For flows: the flits that they would have
    /// waiting for the link.
    pub(crate) note: u16,
}

impl LinkPart {
    /// The approximate number of nodes that packets come from, and whether they might take more.
    pub(crate) fn packets(self) -> (u16, bool) {
        (self.note & !BUSY, self.note & BUSY != 0)
    }

    /// Whether the change from `old` is large enough to report.
    pub(crate) fn differs(self, old: LinkPart, notes: u16) -> bool {
        let ends = [0, WHOLE];
        self.part.abs_diff(old.part) > LEAST_CHANGE
            || (self.part != old.part && (ends.contains(&self.part) || ends.contains(&old.part)))
            || self.note.abs_diff(old.note) > notes
    }
}

/// The sender's state of a link.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
struct Side {
    /// Factor on the time of a packet on the link.
    stretch: f64,
    /// Transmission time of the packets since the last report: alone, and beside flows.
    alone: Time,
    busy: Time,
    /// A bit for the hash of each source node.
    sources: u64,
    /// The last report.
    part: u32,
    note: u16,
    /// Flits that flows would have waiting.
    load: u16,
}

impl Side {
    const IDLE: Side = Side {
        stretch: 1.0,
        alone: Time::ZERO,
        busy: Time::ZERO,
        sources: 0,
        part: 0,
        note: 0,
        load: 0,
    };
}

/// The links of a part; empty unless packets and flows are coupled.
#[derive(Debug)]
pub(crate) struct Coupling {
    interval: Time,
    links: Store<Side>,
    /// Waits of packets behind the queues of flows.
    pub(super) waits: FlowWaits,
    /// The next report of each router, if it lies in the future.
    next: Store<Time>,
    first_router: u32,
    /// The links of all routers, router by router, and the start of each router's links.
    of_routers: Vec<u32>,
    begins: Vec<u32>,
}
odonata_engine::journalled!(Coupling { links, waits, next });

impl Coupling {
    pub(crate) fn new(params: &NetworkParams, links: &Links, routers: std::ops::Range<u32>) -> Coupling {
        let mut coupling = Coupling {
            interval: Time::NEVER,
            links: Store::new(),
            waits: FlowWaits::new(links, params.coupling_interval.is_some()),
            next: Store::new(),
            first_router: routers.start,
            of_routers: Vec::new(),
            begins: Vec::new(),
        };
        let Some(interval) = params.coupling_interval else {
            return coupling;
        };
        coupling.interval = interval;
        coupling.links = Store::filled(links.len() as usize, Side::IDLE);
        coupling.next = Store::filled(routers.len(), Time::ZERO);
        coupling.of_routers = (0..links.len()).collect();
        coupling.of_routers.sort_by_key(|&link| links.sender(link));
        let sorted = &coupling.of_routers;
        let begin = |router| sorted.partition_point(|&link| links.sender(link) < router) as u32;
        coupling.begins = (routers.start..=routers.end).map(begin).collect();
        coupling
    }

    /// Whether packets and flows are coupled.
    #[inline(always)]
    pub(crate) fn is_on<U: Uses>(&self) -> bool {
        U::EXTRAS && !self.links.is_empty()
    }

    /// Flits that flows would have waiting for `link`.
    #[inline(always)]
    pub(crate) fn load<U: Uses>(&self, link: u32) -> u32 {
        match self.is_on::<U>() {
            true => u32::from(self.links.get(link).load),
            false => 0,
        }
    }

    /// A packet from node `source`, with transmission time `alone`, starts on `link` of `router` now. Returns its time
    /// beside the flows.
    pub(crate) fn packet<C: HandlerContext>(
        &mut self,
        ctx: &mut C,
        (link, router): (u32, u32),
        source: u32,
        alone: Time,
    ) -> Time {
        let cell = self.links.edit::<C>(link);
        let time = match cell.stretch {
            1.0 => alone,
            stretch => Time((alone.0 as f64 * stretch + 0.5) as u64),
        };
        cell.alone += alone;
        cell.busy += time;
        cell.sources |= 1 << (SplitMix64::named(0, [u64::from(source)]).next_u64() >> 58);
        self.report_later(ctx, router);
        time
    }

    /// Schedules the report of `router` at the next multiple of the interval.
    fn report_later<C: HandlerContext>(&mut self, ctx: &mut C, router: u32) {
        let now = ctx.now();
        let own = router - self.first_router;
        if *self.next.get(own) > now {
            return;
        }
        let at = Time((now.0 / self.interval.0 + 1) * self.interval.0);
        *self.next.edit::<C>(own) = at;
        ctx.send(router, at, FabricEvent::LinkReport.into());
    }

    /// Ends an interval of `router`: calls `send_report` with the changes on its links and their local numbers.
    pub(crate) fn report<C: HandlerContext>(
        &mut self,
        ctx: &mut C,
        links: &Links,
        router: u32,
        mut send_report: impl FnMut(&mut C, LinkPart, u32),
    ) {
        let (own, interval) = ((router - self.first_router) as usize, self.interval);
        let mut again = false;
        for at in self.begins[own]..self.begins[own + 1] {
            let link = self.of_routers[at as usize];
            let old = *self.links.get(link);
            if old.busy == Time::ZERO && old.part == 0 {
                continue;
            }
            // The part of a transmission beyond the interval counts in the next one.
            let busy = old.busy.min(interval);
            let of_it = busy.0 as f64 / old.busy.0.max(1) as f64;
            let alone = Time((old.alone.0 as f64 * of_it) as u64).min(interval);
            let part = (alone.0 as f64 / interval.0 as f64 * f64::from(WHOLE)) as u32;
            let is_busy = busy.0 / 15 >= interval.0 / 16;
            let new = LinkPart {
                link: links.number(link),
                part,
                note: sources(old.sources) | if is_busy { BUSY } else { 0 },
            };
            let known = LinkPart {
                part: old.part,
                note: old.note,
                ..new
            };
            let differs = new.differs(known, sources(old.sources) / 8);
            let cell = self.links.edit::<C>(link);
            cell.busy -= busy;
            cell.alone -= alone;
            if cell.busy == Time::ZERO {
                (cell.alone, cell.sources) = (Time::ZERO, 0);
            }
            if differs {
                (cell.part, cell.note) = (new.part, new.note);
            }
            again |= cell.part != 0 || cell.busy != Time::ZERO;
            if differs {
                send_report(ctx, new, link);
            }
        }
        if again {
            self.report_later(ctx, router);
        }
    }

    /// Sets the part of the local link `link` that flows leave from now on.
    pub(crate) fn flows<U: Uses>(&mut self, link: u32, part: u32, load: u16) {
        let cell = self.links.edit::<U>(link);
        cell.stretch = f64::from(WHOLE) / f64::from(part.clamp(1, WHOLE));
        cell.load = load;
    }
}

/// Estimates the number of nodes from the bits of their hashes: the expected number of draws until this many of 64 bits
/// are set.
fn sources(bits: u64) -> u16 {
    let drawn = |set: u32| 64.0 / f64::from(64 - set);
    ((0..bits.count_ones()).map(drawn).sum::<f64>() + 0.5) as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The coupon collector's expectation, 64 (H(64) - H(free)) with `free` bits left; H(n) = ln n + 0.5772 + 1 / (2 n)
    /// with an error of at most 1 / (12 n^2). Without the fractions it is linear counting (K. Whang et al., ACM TODS 15
    /// (2), 1990).
    #[test]
    fn sources_are_estimated_from_free_bits() {
        for set in [0_u32, 1, 2, 8, 31, 48, 63] {
            let bits = (0..set).fold(0, |bits, bit| bits | 1_u64 << bit);
            let free = f64::from(64 - set);
            let expected = 64.0 * ((64.0 / free).ln() + 1.0 / 128.0 - 0.5 / free);
            let found = f64::from(sources(bits));
            assert!(
                (found - expected).abs() <= 0.5 + 64.0 / (12.0 * free * free),
                "{set} bits: {found}, {expected}"
            );
        }
        assert!(sources(u64::MAX) < BUSY);
    }

    #[test]
    fn changes_to_the_ends_of_the_scale_are_always_reported() {
        let part = |part, note| LinkPart { link: 0, part, note };
        assert!(!part(WHOLE / 2, 4).differs(part(WHOLE / 2 + LEAST_CHANGE, 4), 0));
        assert!(part(WHOLE / 2, 4).differs(part(WHOLE / 2 + LEAST_CHANGE + 1, 4), 0));
        assert!(part(1, 4).differs(part(0, 4), 0));
        assert!(part(WHOLE - 1, 4).differs(part(WHOLE, 4), 0));
        assert!(part(9, 4).differs(part(9, 6), 1));
        assert!(part(9, 4 | BUSY).differs(part(9, 4), 1));
    }
}

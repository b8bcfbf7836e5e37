//! Flows beside packets: in the flow model, the packets of a link are one more flow on it.
//!
//! That flow has the weight of the n sources that the router has counted: it takes n times its rate. A link of its own
//! limits it to the measured load of the packets plus a margin; it has no limit if the packets kept the link busy. So
//! rates are max-min fair over flows and packet sources alike, and packets get the rest: on a link of capacity C with
//! flows of weight W and load f, max(C - f, C n / (n + W)). The second is their least fair share: they have it at once,
//! before their demand has been measured.

use super::Fluid;
use super::max_min::{MaxMin, Step};
use super::paths::Network;
use crate::boundary::RemoteEvent;
use crate::event::KEEPER;
use crate::fabric::Shared;
use crate::features::{HandlerContext, Uses};
use crate::flow::{CableDelays, LinkPart, WHOLE};
use crate::params::NetworkParams;
use crate::{FabricEvent, Payload, Traffic};
use odonata_engine::{NIL, Store, Time};
use odonata_topology::Topology;

/// Margin over the measured load of packets that did not keep their link busy.
const ROOM: f64 = 1.125;

/// A link that packets and flows share.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
struct Coupled {
    /// The flow of its packets; NIL without packets.
    flow: u32,
    /// Their sources, as last counted.
    sources: u16,
    /// Whether it has ever had packets: otherwise no sender needs the load of its flows.
    known: bool,
    /// The owner of most of these packets, if waits are charged.
    owner: Traffic,
    /// The part last reported to its sender.
    part: u32,
    load: u16,
    /// The next link with changed rates; itself if last; NIL if not in the list.
    next_changed: u32,
}

impl Coupled {
    const FREE: Coupled = Coupled {
        flow: NIL,
        sources: 0,
        known: false,
        owner: 0,
        part: WHOLE,
        load: 0,
        next_changed: NIL,
    };
}

/// The links of a machine if packets and flows are coupled; otherwise empty.
#[derive(Debug)]
pub(super) struct CoupledLinks {
    interval: Time,
    links: Store<Coupled>,
    /// The first link with changed rates.
    changed: Store<u32>,
    /// Whether a report to senders is scheduled.
    is_report_scheduled: Store<bool>,
}
odonata_engine::journalled!(CoupledLinks {
    links,
    changed,
    is_report_scheduled
});

impl CoupledLinks {
    pub(super) fn new(params: &NetworkParams, links: usize) -> CoupledLinks {
        CoupledLinks {
            interval: params.coupling_interval.unwrap_or(Time::NEVER),
            links: match params.coupling_interval {
                Some(_) => Store::filled(links, Coupled::FREE),
                None => Store::new(),
            },
            changed: Store::filled(1, NIL),
            is_report_scheduled: Store::filled(1, false),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.links.is_empty()
    }

    /// The flows that wait for `link` or behind it have changed.
    pub(super) fn queue_has_changed<M: Uses>(&mut self, link: u32) {
        if self.links.get(link).known {
            self.has_changed::<M>(link);
        }
    }

    /// The load of packets on `link`, bytes per picosecond, and their sources.
    pub(super) fn packets_on(&self, rates: &MaxMin, link: u32) -> (f64, u32) {
        let cell = self.links.get(link);
        match cell.flow {
            NIL => (0.0, 0),
            flow => (rates.rate(flow).0 * f64::from(cell.sources), u32::from(cell.sources)),
        }
    }

    fn has_changed<M: Uses>(&mut self, link: u32) {
        if self.links.get(link).next_changed != NIL {
            return;
        }
        let first = *self.changed.get(0);
        self.links.edit::<M>(link).next_changed = if first == NIL { link } else { first };
        *self.changed.edit::<M>(0) = link;
    }
}

impl Fluid {
    /// Receives a report on the packets of a link.
    pub(super) fn receive_report<C: HandlerContext>(&mut self, ctx: &mut C, delay: Time, of: LinkPart) {
        let (link, own) = (of.link, self.links.len() as u32 + of.link);
        let (capacity, (sources, busy)) = (self.rates.capacity(link), of.packets());
        self.flow_queues.note_packets::<C>();
        let old = *self.coupled.links.get(link);
        let cell = self.coupled.links.edit::<C>(link);
        (cell.sources, cell.known) = (sources.max(1), true);
        if of.part == 0 {
            if old.flow != NIL {
                cell.flow = NIL;
                self.blame.leave::<C>(&self.rates, old.flow, ctx.now());
                self.rates.end::<C>(old.flow);
            }
        } else {
            let weight = f64::from(cell.sources);
            let taken = capacity * f64::from(of.part) / f64::from(WHOLE);
            let least = capacity * weight / (weight + self.rates.without(link, old.flow).1);
            let most = match busy {
                true => capacity,
                false if taken * ROOM <= least => taken,
                false => taken * ROOM,
            };
            self.rates.set_capacity::<C>(own, most);
            let (demand, path) = (most / weight, [(own, weight), (link, weight)].into_iter());
            match old.flow {
                NIL => {
                    let flow = self.rates.start::<C>(demand, path);
                    // Not a part of a message: packets do not wait here.
                    self.blame.enter::<C>(&self.rates, flow, (old.owner, 0.0), &[]);
                    self.coupled.links.edit::<C>(link).flow = flow;
                }
                flow => {
                    self.blame.lift::<C>(&self.rates, flow, ctx.now());
                    self.rates.move_to::<C>(flow, demand, path);
                    self.blame.book::<C>(&self.rates, flow, ctx.now());
                }
            }
        }
        self.ask_to_fill(ctx);
        self.coupled.has_changed::<C>(link);
        self.schedule_report(ctx, delay);
    }

    /// Most packets of `link` belong to `owner`.
    pub(super) fn receive_owner<C: HandlerContext, P>(
        &mut self,
        ctx: &C,
        shared: &Shared<P>,
        link: u32,
        owner: Traffic,
    ) {
        if owner >= shared.setup.params.traffics {
            debug_assert!(false, "there is no traffic {owner}");
            return;
        }
        self.coupled.links.edit::<C>(link).owner = owner;
        let flow = self.coupled.links.get(link).flow;
        if flow != NIL {
            self.blame.belongs_to::<C>(&self.rates, flow, ctx.now(), owner);
        }
    }

    /// Rates on the links of `flow` have changed, or will change.
    pub(super) fn note<C: HandlerContext>(&mut self, ctx: &mut C, delay: Time, flow: u32) {
        if self.coupled.is_empty() {
            return;
        }
        let mut any = false;
        for Step { link, .. } in self.rates.path(flow) {
            if self.coupled.links.get(link).known {
                self.coupled.has_changed::<C>(link);
                any = true;
            }
        }
        if any {
            self.schedule_report(ctx, delay);
        }
    }

    /// Senders get a report once per interval: after their own reports, when rates have been recomputed.
    fn schedule_report<C: HandlerContext>(&mut self, ctx: &mut C, delay: Time) {
        if *self.coupled.is_report_scheduled.get(0) {
            return;
        }
        *self.coupled.is_report_scheduled.edit::<C>(0) = true;
        let (interval, after) = (self.coupled.interval.0, delay.0 + 2);
        let number = (ctx.now().0 + interval).saturating_sub(after) / interval;
        let at = Time(number * interval + after);
        ctx.send(KEEPER, at.max(Time(ctx.now().0 + 1)), FabricEvent::FlowTell.into());
    }

    /// Reports to the senders of links what flows leave them, where that has changed.
    pub(super) fn report_to_senders<C: HandlerContext, P: Payload>(
        &mut self,
        ctx: &mut C,
        shared: &mut Shared<P>,
        delay: Time,
    ) {
        *self.coupled.is_report_scheduled.edit::<C>(0) = false;
        let (rates, flights, coupled) = (&self.rates, &mut self.flights, &mut self.coupled);
        if self.flow_queues.report(ctx, shared, delay, rates, flights, coupled) {
            self.schedule_report(ctx, delay);
        }
        let at = ctx.now() + delay;
        let mut link = std::mem::replace(self.coupled.changed.edit::<C>(0), NIL);
        while link != NIL {
            let cell = *self.coupled.links.get(link);
            let (new, step) = self.left(shared, link);
            let old = LinkPart {
                part: cell.part,
                note: cell.load,
                ..new
            };
            let cell = self.coupled.links.edit::<C>(link);
            let next = std::mem::replace(&mut cell.next_changed, NIL);
            if new.differs(old, step) {
                (cell.part, cell.load) = (new.part, new.note);
                let lp = sender(shared.routes.routing.topology(), link);
                if shared.setup.routers.contains(&lp) {
                    let own = shared.flow.links.own_number(link);
                    let event = FabricEvent::LinkShare {
                        link: own,
                        part: new.part,
                        load: new.note,
                    };
                    ctx.send(lp, at, event.into());
                } else {
                    let events = &mut shared.boundary.send_buffer.events;
                    events.push((lp, at, RemoteEvent::LeftByFlows(new)));
                }
            }
            link = if next == link { NIL } else { next };
        }
    }

    /// The part of `link` that flows leave, with the flits that they would have waiting for it; and the number of these
    /// flits below which a change does not matter.
    ///
    /// A packet holds its credits for a round trip, the delay of a router, and its time on the link. Waiting packets are
    /// those in the queues of flows.
    fn left<P: Payload>(&self, shared: &Shared<P>, link: u32) -> (LinkPart, u16) {
        let cell = self.coupled.links.get(link);
        let (capacity, sources) = (self.rates.capacity(link), f64::from(cell.sources.max(1)));
        let (taken, weights, _) = self.rates.without(link, cell.flow);
        let least = capacity * sources / (sources + weights);
        let part = (capacity - taken).max(least) / capacity;
        let (topology, params) = (shared.routes.routing.topology(), &shared.setup.params);
        let port = Network::port(topology, link);
        let (buffer, flit) = (params.buffer(topology, port).0 as f64, params.flit as f64);
        let delays = CableDelays::of(params, topology, port);
        let on_link = params.packet as f64 / capacity;
        let held = (delays.latency.0 + delays.credit.0 + params.router_delay.0) as f64 + on_link;
        let waiting = self.flow_queues.load(link);
        let load = ((taken * held).min(buffer) + waiting) / flit;
        let left = LinkPart {
            link,
            part: ((part * f64::from(WHOLE)) as u32).clamp(1, WHOLE),
            note: load.min(f64::from(u16::MAX)) as u16,
        };
        (left, (buffer / flit / 16.0).min(f64::from(u16::MAX)) as u16)
    }
}

/// The router that sends on `link`, or the router of the sending node.
fn sender(topology: &Topology, link: u32) -> u32 {
    match link.checked_sub(topology.ports()) {
        None => topology.router_of_port(link),
        Some(node) => topology.node_router(node),
    }
}

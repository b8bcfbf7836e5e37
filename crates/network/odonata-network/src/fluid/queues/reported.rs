//! Waits behind flows as reported to the routers of packets: once per coupling interval, and only changes.

use super::FlowQueues;
use crate::boundary::RemoteEvent;
use crate::fabric::Shared;
use crate::features::{HandlerContext, Uses};
use crate::flow::{FlowWait, OUTPUTS};
use crate::fluid::coupled::CoupledLinks;
use crate::fluid::flight::Flight;
use crate::fluid::max_min::MaxMin;
use crate::{FabricEvent, Payload};
use odonata_engine::{GrowableStore, NIL, Time};
use odonata_topology::{LinkClass, Peer, Topology};

/// Longest reported wait: the largest value of its type.
const LONGEST: f64 = u32::MAX as f64;

/// A change below this fraction of a wait is not reported, ..
const CHANGE_DIVISOR: u32 = 16;

/// .. nor below this fraction of a packet's time on the link.
const PACKET_CHANGE_DIVISOR: f64 = 4.0;

/// The report for the buffer behind a link on a level, and for the queue for room there.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub(super) struct ReportedWaits {
    /// The outputs, and the wait for each in picoseconds.
    outputs: [(u32, u32); OUTPUTS],
    /// A turn of the queue for the link.
    turn: u32,
    /// The next place with a report; itself if last; NIL if not in the list.
    next: u32,
}

impl ReportedWaits {
    pub(super) const NOTHING: ReportedWaits = ReportedWaits {
        outputs: [(NIL, 0); OUTPUTS],
        turn: 0,
        next: NIL,
    };

    fn is_nothing(&self) -> bool {
        self.turn == 0 && self.outputs.iter().all(|&(_, wait)| wait == 0)
    }
}

/// Whether the change of a wait from `old` to `new` is large enough to report.
fn differs(new: u32, old: u32, least: u32) -> bool {
    new.abs_diff(old) > (old / CHANGE_DIVISOR).max(least) || (new == 0 && old > 0)
}

impl FlowQueues {
    /// Packets use links of flows from now on.
    pub(in crate::fluid) fn note_packets<M: Uses>(&mut self) {
        if !*self.has_packets.get(0) {
            *self.has_packets.edit::<M>(0) = true;
        }
    }

    /// Computes the queues of flows, and reports changed waits of packets to routers. Returns whether there are or were
    /// any.
    pub(in crate::fluid) fn report<C: HandlerContext, P: Payload>(
        &mut self,
        ctx: &mut C,
        shared: &mut Shared<P>,
        delay: Time,
        rates: &MaxMin,
        flights: &mut GrowableStore<Flight>,
        coupled: &mut CoupledLinks,
    ) -> bool {
        if !*self.has_packets.get(0) {
            return false;
        }
        self.find::<C, P>(shared, ctx.now(), rates, flights, coupled);
        // Places with an earlier report first; then others with a backlog.
        let mut places = Vec::new();
        let mut place = std::mem::replace(self.first_reported.edit::<C>(0), NIL);
        while place != NIL {
            places.push(place);
            let next = std::mem::replace(&mut self.reported.edit::<C>(place).next, place);
            place = if next == place { NIL } else { next };
        }
        let reported = &self.reported;
        places.extend(self.listed.iter().filter(|&&place| reported.get(place).next == NIL));
        for &place in &places {
            self.report_place(ctx, shared, ctx.now() + delay, place, rates, coupled);
        }
        !places.is_empty()
    }

    /// Reports the waits of `place`, if they have changed.
    fn report_place<C: HandlerContext, P: Payload>(
        &mut self,
        ctx: &mut C,
        shared: &mut Shared<P>,
        at: Time,
        place: u32,
        rates: &MaxMin,
        coupled: &mut CoupledLinks,
    ) {
        let (link, level) = (place / self.levels as u32, (place % self.levels as u32) as u8);
        let packet = shared.setup.params.packet as f64;
        let least = (packet / rates.capacity(link) / PACKET_CHANGE_DIVISOR) as u32;
        let old = *self.reported.get(place);
        let mut new = self.waits(place, packet, |link| coupled.packets_on(rates, link).0);
        let topology = shared.routes.routing.topology();
        let (router, port) = far_port(topology, link);
        let first = topology.ports_of_routers(router..router + 1).start;
        let own = (link < topology.ports()).then(|| topology.router_of_port(link));
        let mut changed = false;
        for (number, (output, known)) in new.outputs.iter_mut().zip(old.outputs).enumerate() {
            if !differs(output.1, known.1, least) && (output.0 == known.0 || output.1 == 0) {
                *output = known;
                continue;
            }
            changed = true;
            let next = if output.1 == 0 { 0 } else { output.0 - first };
            let report = FlowWait {
                port,
                level,
                output: next as u16 * OUTPUTS as u16 + number as u16,
                wait: output.1,
            };
            send_report(ctx, shared, (router, at), report);
        }
        match own {
            Some(own) if differs(new.turn, old.turn, least) => {
                changed = true;
                let report = FlowWait {
                    port: link,
                    level,
                    output: FlowWait::TURN,
                    wait: new.turn,
                };
                send_report(ctx, shared, (own, at), report);
            }
            _ => new.turn = old.turn,
        }
        new.next = NIL;
        if !new.is_nothing() {
            let head = self.first_reported.edit::<C>(0);
            new.next = if *head == NIL { place } else { *head };
            *head = place;
        }
        if new != old {
            *self.reported.edit::<C>(place) = new;
        }
        if changed {
            coupled.queue_has_changed::<C>(link);
        }
    }

    /// The waits of packets at `place`. `of_packets`: the load of packets on a link.
    fn waits(&self, place: u32, packet: f64, of_packets: impl Fn(u32) -> f64) -> ReportedWaits {
        let (link, buffer) = (place / self.levels as u32, &self.buffers[place as usize]);
        let mut report = ReportedWaits::NOTHING;
        for (report, of) in report.outputs.iter_mut().zip(&buffer.outputs) {
            if of.queue.bytes > 0.0 {
                let packets = of_packets(link).min(of_packets(of.next));
                *report = (
                    of.next,
                    (of.queue.bytes / (of.queue.rate + packets)).min(LONGEST) as u32,
                );
            }
        }
        if buffer.inputs > 0 {
            report.turn = (f64::from(buffer.inputs) * packet / buffer.entering).min(LONGEST) as u32;
        }
        report
    }

    /// Computes the queues of flows at `now`.
    fn find<C: HandlerContext, P: Payload>(
        &mut self,
        shared: &Shared<P>,
        now: Time,
        rates: &MaxMin,
        flights: &mut GrowableStore<Flight>,
        coupled: &CoupledLinks,
    ) {
        let (topology, setup) = (shared.routes.routing.topology(), &shared.setup);
        let mut queues = std::mem::take(&mut self.flows);
        self.clear();
        queues.clear();
        let ports = topology.ports();
        let backlogged = flights.iter().filter_map(|(flow, flight)| {
            let bottleneck = rates.rate(flow as u32).1;
            (flight.is_backlogged() && bottleneck < ports).then_some((flow, flight, bottleneck))
        });
        let backlogged: Vec<_> = backlogged.collect();
        for &(_, flight, bottleneck) in &backlogged {
            self.holds[bottleneck as usize].add(flight.rate);
        }
        let mut path = Vec::new();
        for (flow, flight, bottleneck) in backlogged {
            path.clear();
            path.extend(rates.path(flow as u32));
            if path[0].link < ports {
                path.reverse();
            }
            let upstream = path.iter().take_while(|step| step.link != bottleneck).count();
            let path = path.iter().copied().take(upstream + 1);
            // Beside packets, whose sources count as much as whole messages: a router gives every flow a turn, however
            // small its fraction.
            let (taken, sources) = coupled.packets_on(rates, bottleneck);
            let held = self.holds[bottleneck as usize];
            let turn = match sources {
                0 => 0.0,
                _ => (held.rate + taken) / f64::from(held.flows + sources),
            };
            self.add(flow as u32, flight.rate.max(turn), path);
        }
        let capacity = |link: u32, level: u8| {
            let (class, channels) = match link < ports {
                true => (topology.class(link), setup.vcs.of(topology.class(link), level, 0).len()),
                false => (LinkClass::Terminal, 1),
            };
            setup.params.link(class).buffer.0 as f64 * channels as f64
        };
        std::mem::swap(&mut queues, &mut self.flows);
        let mut start = 0;
        for &(flow, rate, end) in &queues {
            let mut flight = flights.get(flow as usize);
            flight.fill_buffers(now);
            let packets = |link| coupled.packets_on(rates, link).0;
            let rest = self.lay(flight.backlog, rate, (start, end), packets, capacity);
            flight.backlog -= rest;
            *flights.edit::<C>(flow as usize) = flight;
            start = end;
        }
        self.flows = queues;
        self.count_inputs();
    }
}

/// The router at the end of `link`, and its port there. For a link to a node: its own router and port.
fn far_port(topology: &Topology, link: u32) -> (u32, u32) {
    match link.checked_sub(topology.ports()) {
        Some(node) => (topology.node_router(node), topology.node_port(node)),
        None => match topology.peer(link) {
            Peer::Router { router, port } => (router, port),
            Peer::Node(_) | Peer::Free => (topology.router_of_port(link), link),
        },
    }
}

/// Sends the report to router `lp`.
fn send_report<C: HandlerContext, P: Payload>(
    ctx: &mut C,
    shared: &mut Shared<P>,
    (lp, at): (u32, Time),
    of: FlowWait,
) {
    if shared.setup.routers.contains(&lp) {
        let event = FabricEvent::FlowWait {
            port: shared.flow.links.own_number(of.port),
            wait: of.wait,
            output: of.output,
            level: of.level,
        };
        ctx.send(lp, at, event.into());
    } else {
        let events = &mut shared.boundary.send_buffer.events;
        events.push((lp, at, RemoteEvent::BehindFlows(of)));
    }
}

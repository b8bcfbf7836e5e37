//! The flow model of a fabric: messages as flows with max-min fair rates over the links of their paths.
//!
//! A NIC sends the messages of a node (of each of its queues) in order of submission; bytes sent beyond the
//! bottleneck's rate fill buffers ([`sending`]). A message is one flow with its fraction on each link of the paths that
//! its packets would take ([`paths`]), where equal links are one pipe ([`pipes`]); [`flight`] holds its progress. All
//! flows of the machine share links max-min fairly, weighted by these fractions ([`max_min`]), once the backlog ahead of
//! them has drained ([`ahead`]); [`blame`] charges the delays. A message is delivered when its last byte has left the
//! source, plus the latency of the path and the wait of its last packet in pipes ([`spreading`]).
//!
//! Rates concern the whole machine, so one logical process computes them: router 0. Others submit messages to it and
//! receive notices:
//!
//! ```text
//!  source    submitted at t                    Sent                       target     delivered
//!               \  D                           /  D                                 /
//!  router 0      start at t + D, flow, .. all but a packet gone ...... end at e    /
//!                                                                           \  L - D
//! ```
//!
//! D is a quarter of the smallest path latency L, so that the detour through router 0 takes no longer than the path: a
//! message alone is delivered s/b + L after its submission. D is also the lookahead of parallel runs.
//!
//! Rates are recomputed 1 ps after flows start or end, once for all at that instant. If a recomputation reaches
//! hundreds of flows, the next is delayed, by far less than these flows take. Otherwise, on a large machine with full
//! links, every end of a flow would change all rates slightly, and the cost would be quadratic in the flows.

mod ahead;
mod blame;
mod blocking;
mod coupled;
mod flight;
mod max_min;
mod paths;
mod pipes;
mod queues;
mod sending;
mod spreading;
mod traffic;

use crate::boundary::RemoteEvent;
use crate::carrier::Carrier;
use crate::event::KEEPER;
use crate::fabric::Shared;
use crate::features::{HandlerContext, Uses};
use crate::flow::LinkPart;
use crate::observe::Observer;
use crate::observe::blame::{LinkCharge, WaitSeries};
use crate::observe::statistics::LinkStats;
use crate::params::NetworkParams;
use crate::routing::Routing;
use crate::settings::Fidelity;
use crate::{FabricEvent, Message, Notice, Payload};
use blame::FlowBlame;
use coupled::CoupledLinks;
use flight::{Flight, schedule};
use max_min::{MaxMin, Step};
use odonata_engine::{GrowableStore, NIL, Pool, Store, Time};
use odonata_topology::{LinkClass, Peer, Topology};
use odonata_units::Bandwidth;
use paths::{Network, Paths};
use pipes::Pipes;
use queues::FlowQueues;
use sending::{SendQueue, Sending};
use traffic::LinkTraffic;

/// With adaptive routing, a flow may move to another path after this time, about that of a few packets, which each
/// choose anew; then after twice, four times, .. this time; a flow of one path starts again after a move.
const KEPT: Time = Time(1_000_000);

/// A flow moves if the highest demand on the other path is below this fraction of that on its present path.
const WORTH: f64 = 0.9;

/// Up to this number of flows, a recomputation does not delay the next one, and every flow asks for one.
const FEW: usize = 32;

/// Delay per flow beyond that, in picoseconds, ..
const PUT_OFF: u64 = 20_000;

/// .. up to this fraction of the mean remaining time of the flows whose rate has changed.
const PUT_OFF_AT_MOST: u64 = 16;

/// Bound on a flow's remaining time in that mean, so that the sum does not overflow: a second.
const LONGEST: u64 = 1_000_000_000_000;

/// The handover delay D of a network with flows.
pub(crate) fn hand_over(params: &NetworkParams) -> Time {
    hand_over_of(*params.link(LinkClass::Terminal).latency, params.router_delay)
}

/// The handover delay from the latency of terminal links and of routers.
pub fn hand_over_of(terminal: Time, router: Time) -> Time {
    Time(((2 * terminal.0 + router.0) / 4).max(1))
}

/// The flows of a machine: all in the part of the first router, none in others.
#[derive(Debug)]
pub(crate) struct Fluid {
    /// D, if some messages are flows.
    hand_over: Option<Time>,
    rates: MaxMin,
    pipes: Pipes,
    /// By number of flow.
    flights: GrowableStore<Flight>,
    send_queues: u8,
    /// The messages of each queue of each node; those that are being sent, by slot.
    queues: Store<SendQueue>,
    sendings: GrowableStore<Sending>,
    /// Per link of the machine, and per set of links.
    links: Store<LinkTraffic>,
    /// Whether a recomputation of rates is scheduled; and the earliest time of the next.
    to_fill: Store<bool>,
    not_before: Store<Time>,
    /// Links shared with packets.
    coupled: CoupledLinks,
    flow_queues: FlowQueues,
    blame: FlowBlame,
    /// Temporary lists of flows to examine, of flows with new charges, and of queues; empty between events.
    looked_at: [Vec<u32>; 3],
}
odonata_engine::journalled!(Fluid {
    rates,
    flights,
    queues,
    sendings,
    links,
    to_fill,
    not_before,
    coupled,
    flow_queues,
    blame
});

impl Fluid {
    /// The flows of a part whose nodes have `send_queues` queues each; `keeps`: it has the first router and computes
    /// the rates.
    pub(crate) fn new(params: &NetworkParams, routing: &Routing, send_queues: u8, keeps: bool) -> Fluid {
        let hand_over = params.fidelities.has(Fidelity::Flow).then(|| hand_over(params));
        let topology = routing.topology();
        let (ports, nodes) = match keeps && hand_over.is_some() {
            true => (topology.ports(), topology.nodes()),
            false => (0, 0),
        };
        let bandwidth = |port: u32, to_node| {
            let link = params.bandwidth(topology.medium(port), topology.factor(port), to_node);
            link.0 * params.payload_share()
        };
        let capacity = |port: u32| bandwidth(port, matches!(topology.peer(port), Peer::Node(_)));
        let nic = |node: u32| {
            let link = bandwidth(topology.node_port(node), false);
            params.nic_rate(node).map_or(link, |Bandwidth(rate)| rate.min(link))
        };
        let pipes = Pipes::new(params, routing, keeps && hand_over.is_some());
        let queues = nodes as usize * usize::from(send_queues);
        let mut capacities: Vec<f64> = (0..ports).map(capacity).chain((0..nodes).map(nic)).collect();
        pipes.add_capacities(topology, &mut capacities);
        let links = capacities.len();
        // After the links, one more per link that limits its packets to their load.
        let of_packets = std::iter::repeat_n(0.0, params.coupling_interval.map_or(0, |_| links));
        capacities.extend(of_packets);
        Fluid {
            hand_over,
            rates: MaxMin::new(capacities.into_iter().map(|rate| rate * 1e-12)),
            flights: GrowableStore::new(),
            send_queues,
            queues: Store::filled(queues, SendQueue::EMPTY),
            sendings: GrowableStore::new(),
            links: Store::filled(links, LinkTraffic::default()),
            to_fill: Store::filled(1, false),
            not_before: Store::filled(1, Time::ZERO),
            coupled: CoupledLinks::new(params, links),
            flow_queues: FlowQueues::new(params, routing, links),
            blame: FlowBlame::new(params, topology, &pipes, send_queues, params.blame && nodes > 0),
            pipes,
            looked_at: Default::default(),
        }
    }

    /// D, if some messages are flows.
    #[inline]
    pub(crate) fn hand_over(&self) -> Option<Time> {
        self.hand_over
    }

    /// Flow traffic on links, router ports first, then NICs; empty unless this part computes the rates.
    pub(crate) fn link_stats(&self, topology: &Topology) -> Vec<LinkStats> {
        match self.links.is_empty() {
            true => Vec::new(),
            false => traffic::of_links(&self.links, &self.pipes, topology),
        }
    }

    /// Waits between traffics, unsorted.
    pub(crate) fn charges(&self) -> impl Iterator<Item = LinkCharge> + '_ {
        self.blame.charges(&self.pipes)
    }

    /// The same over time.
    pub(crate) fn blame_series(&self) -> impl Iterator<Item = WaitSeries> + '_ {
        self.blame.series()
    }

    /// The end of that series, if there is one.
    pub(crate) fn series_end(&self) -> Option<Time> {
        self.blame.series_end()
    }

    /// Closes the waits that last at `now`.
    pub(crate) fn close_waits<P: Payload>(&mut self, messages: &Pool<Message<P>>, now: Time) {
        let queues = &self.queues;
        self.blame.close(now, |queue| match queues.get(queue).sending {
            NIL => None,
            slot => Some(messages.get(slot).traffic),
        });
    }

    fn network<'a, P: Payload>(&'a self, shared: &'a Shared<P>) -> Network<'a> {
        Network {
            routing: &shared.routes.routing,
            params: &shared.setup.params,
            rates: &self.rates,
            pipes: &self.pipes,
        }
    }

    /// The paths of `flow` again, by the loads of now and the random choices of `name`; of a flow of one path, that of
    /// the packet `number` alone.
    fn paths_again<P: Payload>(&self, shared: &Shared<P>, flow: u32, name: u64, number: u32) -> Paths {
        let flight = self.flights.get(flow as usize);
        let message = shared.messages.get(flight.message);
        let ends = (message.source, message.target);
        let bytes = self.bytes_of_flow(message.bytes);
        self.network(shared)
            .paths(ends, bytes, flight.demand, name, (number, None))
    }

    /// Bytes whose paths a flow of a message of `bytes` takes: all, or those of one packet.
    fn bytes_of_flow(&self, bytes: u64) -> u64 {
        if self.pipes.divide_messages() { 1 } else { bytes }
    }

    /// The first port between routers on the way of `flow` to a bottleneck that is a single link, with its demand: the
    /// flow's backlog has reached the source.
    fn full_port(&self, topology: &Topology, flow: u32) -> Option<(u32, f64)> {
        let ((rate, bottleneck), flight) = (self.rates.rate(flow), self.flights.get(flow as usize));
        if bottleneck >= topology.ports() {
            return None;
        }
        // The path in reverse order.
        let upstream = self.rates.path(flow).skip_while(|step| step.link != bottleneck);
        let ports = upstream.filter(|step| step.link < topology.ports());
        let first = ports.last()?;
        Some((first.link, 2.0 - rate * flight.part / flight.demand))
    }

    fn ask_to_fill<C: HandlerContext>(&mut self, ctx: &mut C) {
        if !*self.to_fill.get(0) {
            *self.to_fill.edit::<C>(0) = true;
            let at = Time(ctx.now().0 + 1).max(*self.not_before.get(0));
            ctx.send(KEEPER, at, FabricEvent::FlowFill.into());
        }
    }

    /// `flow` starts now; until rates are recomputed it takes its share of links, or the capacity that others leave.
    ///
    /// Among many flows, one of at most a packet that was held asks for no recomputation, unless such flows overload a
    /// link. A message that starts at once asks in any case.
    fn starts<C: HandlerContext>(&mut self, ctx: &mut C, packet: u64, flow: u32) {
        let now = ctx.now();
        let is_short = self.flights.get(flow as usize).bytes <= packet && self.rates.count() > FEW;
        if is_short || self.not_before.get(0).0 > now.0 + 1 {
            let rate = self.rates.take_share::<C>(flow);
            self.blame.book::<C>(&self.rates, flow, now);
            let flight = self.flights.edit::<C>(flow as usize);
            flight.rate = rate * flight.part;
            if is_short && rate > 0.0 && !self.rates.overloads(flow) {
                return schedule(ctx, flight, flow);
            }
            // Its later rate is computed then.
            if flight.end() < *self.not_before.get(0) {
                schedule(ctx, flight, flow);
            }
        }
        self.ask_to_fill(ctx);
    }

    /// Recomputes the rates, and continues flows whose rate has changed with the new rate.
    fn fill<C: HandlerContext, P: Payload>(&mut self, ctx: &mut C, shared: &Shared<P>, delay: Time) {
        *self.to_fill.edit::<C>(0) = false;
        let now = ctx.now();
        let [mut changed, mut to_book, mut queues] = std::mem::take(&mut self.looked_at);
        let (flights, is_blamed) = (&mut self.flights, self.blame.is_on());
        let mut left = 0;
        let filled = self.rates.fill::<C>(|flow, rate| {
            if is_blamed {
                to_book.push(flow);
            }
            let flight = flights.get(flow as usize);
            // The flow of packets has no message. An unchanged flow keeps its event, unless it has just started.
            if flight.message == NIL || (rate.is_none() && flight.scheduled < Time::NEVER) {
                return;
            }
            let flight = flights.edit::<C>(flow as usize);
            flight.advance(now);
            flight.rate = rate.map_or(flight.rate, |rate| rate * flight.part);
            changed.push(flow);
            schedule(ctx, flight, flow);
            left += flight.due.saturating_sub(now).0.min(LONGEST);
        });
        if filled > FEW {
            let mean = left / changed.len().max(1) as u64;
            let put_off = (filled as u64 * PUT_OFF).min(mean / PUT_OFF_AT_MOST);
            *self.not_before.edit::<C>(0) = Time(now.0 + put_off);
        }
        for flow in to_book.drain(..) {
            self.blame.book::<C>(&self.rates, flow, now);
        }
        for &flow in &changed {
            self.note(ctx, delay, flow);
            self.lay_again(ctx, shared, delay, flow);
        }
        queues.extend(changed.drain(..).map(|flow| self.queue_of_flow(flow)));
        queues.sort_unstable();
        queues.dedup();
        for queue in queues.drain(..) {
            self.time_sent(ctx, shared, delay, queue);
        }
        self.looked_at = [changed, to_book, queues];
    }

    /// Whether the routing compares the load of `link` on the path of `flow`. Beside packets a flow does not avoid other
    /// links: packets do not know their loads either, and wait in the queues there.
    fn is_compared(&self, flow: u32, link: u32) -> bool {
        let flight = self.flights.get(flow as usize);
        let compared = usize::from(flight.compared);
        let links = self.rates.path(flow).count();
        // The path in reverse order.
        (self.rates.path(flow).skip(links.saturating_sub(compared))).any(|step| step.link == link)
    }

    /// Moves an adaptive flow whose bottleneck is a link between routers to another path, if that is worthwhile.
    fn lay_again<C: HandlerContext, P: Payload>(&mut self, ctx: &mut C, shared: &Shared<P>, delay: Time, flow: u32) {
        let (now, flight) = (ctx.now(), self.flights.get(flow as usize));
        let topology = shared.routes.routing.topology();
        let bottleneck = self.rates.rate(flow).1;
        let pipes = &self.pipes;
        let inside = |link: u32| link != NIL && pipes.class_between(topology, link).is_some();
        if !flight.adaptive || flight.held || !inside(bottleneck) {
            return;
        }
        if !self.coupled.is_empty() && !self.is_compared(flow, bottleneck) {
            return;
        }
        let is_whole = !self.pipes.divide_messages();
        let edited = self.flights.edit::<C>(flow as usize);
        if now.0 < edited.laid.0 + edited.kept.0 {
            if is_whole {
                edited.look = Time(edited.laid.0 + edited.kept.0);
                schedule(ctx, edited, flow);
            }
            return;
        }
        edited.laid = now;
        edited.kept = Time(2 * edited.kept.0);
        if is_whole {
            edited.look = Time(now.0 + edited.kept.0);
        }
        let full = self.full_port(topology, flow);
        let mut old: Vec<Step> = self.rates.path(flow).collect();
        old.reverse();
        let highest = |rates: &MaxMin| {
            let demands = rates.path(flow).filter(|step| inside(step.link));
            demands.map(|step| rates.demand(step.link, 0.0)).fold(0.0, f64::max)
        };
        let before = highest(&self.rates);
        let (part, demand) = (flight.part, flight.demand / flight.part);
        self.blame.lift::<C>(&self.rates, flow, now);
        self.rates.move_to::<C>(flow, demand, std::iter::empty::<Step>());
        let message = shared.messages.get(flight.message);
        let bytes = self.bytes_of_flow(message.bytes);
        let (ends, name) = ((message.source, message.target), now.0 ^ flight.from.rotate_left(40));
        let paths = self.network(shared).paths(ends, bytes, flight.demand, name, (0, full));
        let route = &paths.routes[0];
        self.rates.move_to::<C>(flow, demand, route.steps(part));
        if highest(&self.rates) < WORTH * before {
            let moved = self.flights.edit::<C>(flow as usize);
            let gone = moved.bytes.saturating_sub(moved.left as u64 + moved.counted);
            (moved.latency, moved.counted) = (Time(route.latency as u64), moved.counted + gone);
            if !is_whole {
                moved.kept = KEPT;
            }
            let packets = gone.div_ceil(shared.setup.params.packet);
            self.count::<C>(gone, packets, &old);
            self.blame.has_moved::<C>(&self.rates, flow, &route.steps);
        } else {
            self.rates.move_to::<C>(flow, demand, old.into_iter());
        }
        self.blame.book::<C>(&self.rates, flow, now);
        self.note(ctx, delay, flow);
        self.ask_to_fill(ctx);
    }

    /// An event of `flow`: it may start, or end.
    fn advance<C: HandlerContext, P: Payload>(&mut self, ctx: &mut C, shared: &mut Shared<P>, delay: Time, flow: u32) {
        let (now, flight) = (ctx.now(), self.flights.get(flow as usize));
        if flight.message == NIL || flight.scheduled != now {
            return;
        }
        let flight = self.flights.edit::<C>(flow as usize);
        flight.scheduled = Time::NEVER;
        if flight.held {
            let queue = self.queue_of_flow(flow);
            return self.release(ctx, shared, queue);
        }
        let flight = self.flights.edit::<C>(flow as usize);
        if flight.due > now {
            if flight.look <= now {
                flight.look = Time::NEVER;
                self.lay_again(ctx, shared, delay, flow);
            }
            return schedule(ctx, self.flights.edit::<C>(flow as usize), flow);
        }
        flight.advance(now);
        let ended = *flight;
        let path: Vec<Step> = self.rates.path(flow).collect();
        let rest = ended.bytes - ended.counted;
        let packets = rest.div_ceil(shared.setup.params.packet).max(1);
        self.count::<C>(rest, packets, &path);
        self.note(ctx, delay, flow);
        let mut waits = 0.0;
        for (link, wait) in self.network(shared).waits_in_pipes(flow, ended.bytes) {
            waits += wait;
            self.blame.waits_at::<C>(flow, now, link, wait);
        }
        self.flights.edit::<C>(flow as usize).latency += Time(waits as u64);
        self.blame.leave::<C>(&self.rates, flow, now);
        // No rate depends on a flow without a bottleneck.
        let is_filled = self.rates.rate(flow).1 != NIL;
        self.rates.end::<C>(flow);
        if is_filled {
            self.ask_to_fill(ctx);
        }
        self.end_part(ctx, shared, delay, flow);
    }

    /// Counts bytes and packets on a path.
    fn count<C: HandlerContext>(&mut self, bytes: u64, packets: u64, path: &[Step]) {
        for step in path.iter().filter(|step| step.counted > 0.0) {
            let capacity = self.rates.capacity(step.link);
            (self.links.edit::<C>(step.link)).add(bytes, packets, f64::from(step.counted), capacity);
        }
    }
}

impl<P: Payload> Carrier<P> for Fluid {
    /// Hands the message over to the part that computes the rates.
    fn submit<C: HandlerContext>(&mut self, ctx: &mut C, shared: &mut Shared<P>, slot: u32) -> Option<Notice> {
        let delay = self.hand_over?;
        let mut copy = *shared.messages.get(slot);
        let packet = shared.setup.params.packet;
        shared.flow.observers.message_submitted::<C, _>(&copy, packet);
        (copy.home, copy.next) = (if copy.notify_sent { slot } else { NIL }, NIL);
        if !copy.notify_sent {
            shared.messages.free::<C>(slot);
        }
        let at = ctx.now() + delay;
        if shared.setup.routers.contains(&KEEPER) {
            let message = shared.messages.allocate::<C>(copy);
            ctx.send(KEEPER, at, FabricEvent::FlowStart { message }.into());
        } else {
            let events = &mut shared.boundary.send_buffer.events;
            events.push((KEEPER, at, RemoteEvent::Handover(copy)));
        }
        None
    }

    fn handle<C: HandlerContext>(
        &mut self,
        ctx: &mut C,
        shared: &mut Shared<P>,
        _: u32,
        event: FabricEvent,
    ) -> Option<Notice> {
        let delay = self.hand_over?;
        match event {
            FabricEvent::FlowStart { message } => self.join(ctx, shared, delay, message),
            FabricEvent::FlowFill => self.fill(ctx, shared, delay),
            FabricEvent::FlowSent { message } => self.check_sent(ctx, shared, delay, message),
            FabricEvent::FlowEnd { flow } => self.advance(ctx, shared, delay, flow),
            FabricEvent::FlowTell => self.report_to_senders(ctx, shared, delay),
            FabricEvent::LinkUse { link, part, note } => self.receive_report(ctx, delay, LinkPart { link, part, note }),
            FabricEvent::LinkUser { link, owner } => self.receive_owner(ctx, shared, link, owner),
            FabricEvent::Delivered { message } => return deliver(ctx, shared, message),
            _ => debug_assert!(false, "{event:?} belongs to another carrier"),
        }
        None
    }

    fn note_sent<M: Uses>(&mut self, shared: &mut Shared<P>, slot: u32) {
        shared.messages.free::<M>(slot);
    }

    fn least_delay(&self) -> Option<Time> {
        self.hand_over
    }

    fn audit(&self) -> Result<(), String> {
        self.blame.audit()
    }
}

/// Notifies the source of message `slot` that it is sent, if requested.
fn notify_sent<C: HandlerContext, P: Payload>(ctx: &mut C, shared: &mut Shared<P>, delay: Time, slot: u32) {
    let message = shared.messages.get(slot);
    let (source, home) = (message.source, message.home);
    if home == NIL {
        return;
    }
    let (lp, at) = (shared.routes.process_of(source), ctx.now() + delay);
    if shared.flow.links.holds(source) {
        ctx.send(lp, at, FabricEvent::Sent { message: home }.into());
    } else {
        let events = &mut shared.boundary.send_buffer.events;
        events.push((lp, at, RemoteEvent::Sent(home)));
    }
}

/// The last byte of message `slot` has left its source; schedules its delivery after the rest of `latency`.
fn send_on<C: HandlerContext, P: Payload>(ctx: &mut C, shared: &mut Shared<P>, delay: Time, slot: u32, latency: Time) {
    let message = *shared.messages.get(slot);
    // The delays so far: the handover, and 1 ps until rates were recomputed.
    let added = delay.0 + u64::from(message.bytes > 0);
    let at = ctx.now() + Time(latency.0.saturating_sub(added)).max(delay);
    let lp = shared.routes.process_of(message.target);
    if shared.flow.links.holds(message.target) {
        ctx.send(lp, at, FabricEvent::Delivered { message: slot }.into());
    } else {
        shared.messages.free::<C>(slot);
        let events = &mut shared.boundary.send_buffer.events;
        events.push((lp, at, RemoteEvent::Delivered(message)));
    }
}

/// Message `slot` has reached its target.
fn deliver<C: HandlerContext, P: Payload>(ctx: &mut C, shared: &mut Shared<P>, slot: u32) -> Option<Notice> {
    let message = *shared.messages.get(slot);
    (shared.flow.observers).message_delivered_whole::<C, P>(&message, ctx.now());
    if message.notify_arrived {
        return Some(Notice::Arrived { message: slot });
    }
    shared.messages.free::<C>(slot);
    None
}

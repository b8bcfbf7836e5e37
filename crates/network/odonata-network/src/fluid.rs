//! The flow model of a fabric: messages as flows with max-min fair rates over the links of their paths.
//!
//! A NIC sends the messages of a node (of each of its queues) in order of submission; bytes sent beyond the
//! bottleneck's rate fill buffers ([`sending`]). A message takes the paths that its packets would take ([`paths`]);
//! each path is a flow with the bytes of its packets ([`flight`]). All flows of the machine share links max-min fairly,
//! weighted by their part of the message ([`max_min`]), once the backlog ahead of them has drained ([`ahead`]);
//! [`blame`] charges the delays. A message is delivered when its last byte has left the source, plus the latency of the
//! path.
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
mod coupled;
mod flight;
mod max_min;
mod paths;
mod queues;
mod sending;

use crate::boundary::RemoteEvent;
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
use odonata_topology::{LinkClass, Peer};
use odonata_units::Bandwidth;
use paths::Network;
use queues::FlowQueues;
pub(crate) use queues::OUTPUTS;
use sending::{SendQueue, Sending};

/// The logical process that computes the rates.
pub(crate) const KEEPER: u32 = 0;

/// With adaptive routing, a flow may move to another path after this time, about that of a few packets, which each
/// choose anew.
const KEPT: Time = Time(1_000_000);

/// A flow moves if the highest demand on the other path is below this fraction of that on its present path.
const WORTH: f64 = 0.9;

/// Up to this number of flows, a recomputation does not delay the next one.
const FEW: usize = 64;

/// Delay per flow beyond that, in picoseconds, ..
const PUT_OFF: u64 = 240;

/// .. up to this fraction of the mean remaining time of the flows whose rate has changed.
const PUT_OFF_AT_MOST: u64 = 32;

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
    /// By number of flow.
    flights: GrowableStore<Flight>,
    send_queues: u8,
    /// The messages of each queue of each node; those that are being sent, by slot.
    queues: Store<SendQueue>,
    sendings: GrowableStore<Sending>,
    /// Per link of the machine.
    links: Store<LinkStats>,
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
        let capacity = |port: u32| params.link(topology.class(port)).bandwidth.0 * topology.factor(port);
        let nic = |node: u32| {
            let link = capacity(topology.node_port(node));
            params.nic_rate(node).map_or(link, |Bandwidth(rate)| rate.min(link))
        };
        let links = (ports + nodes) as usize;
        let queues = nodes as usize * usize::from(send_queues);
        // After the links, one more per link that limits its packets to their load.
        let of_packets = std::iter::repeat_n(0.0, params.coupling_interval.map_or(0, |_| links));
        let capacities = (0..ports).map(capacity).chain((0..nodes).map(nic)).chain(of_packets);
        Fluid {
            hand_over,
            rates: MaxMin::new(capacities.map(|rate| rate * 1e-12)),
            flights: GrowableStore::new(),
            send_queues,
            queues: Store::filled(queues, SendQueue::EMPTY),
            sendings: GrowableStore::new(),
            links: Store::filled(links, LinkStats::default()),
            to_fill: Store::filled(1, false),
            not_before: Store::filled(1, Time::ZERO),
            coupled: CoupledLinks::new(params, links),
            flow_queues: FlowQueues::new(params, routing, links),
            blame: FlowBlame::new(params, topology, send_queues, params.blame && nodes > 0),
            looked_at: Default::default(),
        }
    }

    /// D, if some messages are flows.
    #[inline]
    pub(crate) fn hand_over(&self) -> Option<Time> {
        self.hand_over
    }

    /// Flow traffic on links, router ports first, then NICs; empty unless this part computes the rates.
    pub(crate) fn links(&self) -> &Store<LinkStats> {
        &self.links
    }

    /// Waits between traffics, unsorted.
    pub(crate) fn charges(&self) -> impl Iterator<Item = LinkCharge> + '_ {
        self.blame.charges()
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

    /// Checks that no message waits any more.
    ///
    /// # Errors
    /// Names a message that waits.
    pub(crate) fn audit(&self) -> Result<(), String> {
        self.blame.audit()
    }

    /// A message is submitted at its source: hands it over to the part that computes the rates.
    pub(crate) fn enqueue<C: HandlerContext, P: Payload>(
        &self,
        ctx: &mut C,
        shared: &mut Shared<P>,
        delay: Time,
        slot: u32,
    ) -> Option<Notice> {
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

    /// Handles an event of flows; returns a notice for the hosts, if any.
    pub(crate) fn handle<C: HandlerContext, P: Payload>(
        &mut self,
        ctx: &mut C,
        shared: &mut Shared<P>,
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
            _ => debug_assert!(false, "{event:?} is none of flows"),
        }
        None
    }

    fn network<'a, P: Payload>(&'a self, shared: &'a Shared<P>) -> Network<'a> {
        Network {
            routing: &shared.routes.routing,
            params: &shared.setup.params,
            rates: &self.rates,
        }
    }

    fn ask_to_fill<C: HandlerContext>(&mut self, ctx: &mut C) {
        if !*self.to_fill.get(0) {
            *self.to_fill.edit::<C>(0) = true;
            let at = Time(ctx.now().0 + 1).max(*self.not_before.get(0));
            ctx.send(KEEPER, at, FabricEvent::FlowFill.into());
        }
    }

    /// `flow` starts now; until rates are recomputed it takes the capacity that others leave.
    fn starts<C: HandlerContext>(&mut self, ctx: &mut C, flow: u32) {
        let now = ctx.now();
        if self.not_before.get(0).0 > now.0 + 1 {
            let rate = self.rates.take_rest::<C>(flow);
            self.blame.book::<C>(&self.rates, flow, now);
            let flight = self.flights.edit::<C>(flow as usize);
            flight.rate = rate * flight.part;
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

    /// Moves an adaptive flow whose bottleneck is a link between routers to another path, if that is worthwhile.
    fn lay_again<C: HandlerContext, P: Payload>(&mut self, ctx: &mut C, shared: &Shared<P>, delay: Time, flow: u32) {
        let (now, flight) = (ctx.now(), self.flights.get(flow as usize));
        let topology = shared.routes.routing.topology();
        let bottleneck = self.rates.rate(flow).1;
        let inside = |link: u32| link < topology.ports() && matches!(topology.peer(link), Peer::Router { .. });
        if !flight.adaptive || flight.held || now.0 < flight.laid.0 + KEPT.0 || !inside(bottleneck) {
            return;
        }
        self.flights.edit::<C>(flow as usize).laid = now;
        let message = shared.messages.get(flight.message);
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
        let ends = (message.source, message.target);
        // Asks for the path of one of its packets.
        let paths = self
            .network(shared)
            .paths(ends, 1, flight.demand, now.0 ^ flight.from.rotate_left(40), 0);
        let route = &paths.routes[0];
        self.rates.move_to::<C>(flow, demand, route.steps(part));
        if highest(&self.rates) < WORTH * before {
            let moved = self.flights.edit::<C>(flow as usize);
            let gone = moved.bytes.saturating_sub(moved.left as u64 + moved.counted);
            (moved.latency, moved.counted) = (Time(route.latency), moved.counted + gone);
            let packets = gone.div_ceil(shared.setup.params.packet);
            self.count::<C>(gone, old.into_iter().map(|step| step.link), packets);
            self.blame.has_moved::<C>(&self.rates, flow, &route.links);
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
            return schedule(ctx, flight, flow);
        }
        flight.advance(now);
        let ended = *flight;
        let path: Vec<u32> = self.rates.path(flow).map(|step| step.link).collect();
        let rest = ended.bytes - ended.counted;
        let packets = rest.div_ceil(shared.setup.params.packet).max(1);
        self.count::<C>(rest, path.into_iter(), packets);
        self.note(ctx, delay, flow);
        self.blame.leave::<C>(&self.rates, flow, now);
        self.rates.end::<C>(flow);
        self.ask_to_fill(ctx);
        self.end_part(ctx, shared, delay, flow);
    }

    /// Counts bytes and packets on these links.
    fn count<C: HandlerContext>(&mut self, bytes: u64, links: impl Iterator<Item = u32>, packets: u64) {
        for link in links {
            let busy = (bytes as f64 / self.rates.capacity(link)).round() as u64;
            let stats = self.links.edit::<C>(link);
            stats.bytes += bytes;
            stats.packets += packets;
            stats.busy += Time(busy);
        }
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

/// The host at the source has processed the notice that message `slot` is sent.
pub(crate) fn note_sent<M: Uses, P: Payload>(shared: &mut Shared<P>, slot: u32) {
    shared.messages.free::<M>(slot);
}

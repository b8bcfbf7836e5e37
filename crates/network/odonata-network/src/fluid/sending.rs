//! The queues of NICs: the message being sent, and earlier ones with bytes still in buffers.
//!
//! A NIC sends messages one after another, and has finished one when its last packet has left. Bytes that have not
//! passed the bottleneck by then are in the buffer behind the NIC, of B bytes. So the next message starts once at most
//! B bytes of all earlier ones are left, and not before the NIC has had time to send it. Bytes that only the NIC delays
//! are in no buffer.
//!
//! If packets of two messages use the same bottleneck, those of the second queue behind those of the first. Its flow
//! there starts when that of the first has ended: a node has one share of a link, however many messages it sends.

use super::blame::Behind;
use super::flight::{Flight, after};
use super::max_min::Step;
use super::paths::{Network, Route};
use super::{Fluid, notify_sent, send_on};
use crate::event::KEEPER;
use crate::fabric::Shared;
use crate::features::HandlerContext;
use crate::nic::send_queues;
use crate::{FabricEvent, Message, Payload, Traffic};
use odonata_engine::{List, NIL, Time};
use odonata_topology::LinkClass;

/// The messages of a queue.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub(super) struct SendQueue {
    /// Messages that have not started.
    waiting: List,
    /// The message being sent, or NIL.
    pub(super) sending: u32,
    /// The last started message that is still in the network.
    last: u32,
}

impl SendQueue {
    pub(super) const EMPTY: SendQueue = SendQueue {
        waiting: List::EMPTY,
        sending: NIL,
        last: NIL,
    };
}

/// A message in the network.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize, smart_default::SmartDefault)]
pub(super) struct Sending {
    #[default(NIL)]
    queue: u32,
    /// The first of its flows that have not ended.
    #[default(NIL)]
    first: u32,
    /// The message of its queue in the network that started before it.
    #[default(NIL)]
    before: u32,
    /// Whether its source has been notified that it is sent, or does not request that.
    #[default = true]
    notified: bool,
    /// The earliest time at which the NIC can have started, or sent, its last packet.
    last_packet: Time,
    all: Time,
    /// Its next event.
    #[default(Time::NEVER)]
    scheduled: Time,
}

/// Bytes left of messages, and their rate.
#[derive(Clone, Copy, Default)]
struct Left {
    bytes: f64,
    rate: f64,
}

impl Left {
    fn add(&mut self, flight: &Flight, now: Time) {
        self.bytes += flight.left_at(now);
        self.rate += flight.rate;
    }

    /// When at most `goal` bytes are left.
    fn until(&self, now: Time, goal: f64) -> Time {
        after(now, self.bytes - goal, self.rate)
    }
}

impl Fluid {
    /// A message joins its queue.
    pub(super) fn join<C: HandlerContext, P: Payload>(
        &mut self,
        ctx: &mut C,
        shared: &mut Shared<P>,
        delay: Time,
        slot: u32,
    ) {
        let number = self.queue_of(shared, slot);
        let owner = shared.messages.get(slot).traffic;
        let queue = self.queues.edit::<C>(number);
        queue.waiting.push::<C, _>(&mut shared.messages, slot);
        match queue.sending {
            NIL => self.begin(ctx, shared, delay, number, false),
            sending => {
                let holder = shared.messages.get(sending).traffic;
                self.blame.joins_queue::<C>(number, ctx.now(), owner, holder);
            }
        }
    }

    /// The queue of message `slot`.
    fn queue_of<P: Payload>(&self, shared: &Shared<P>, slot: u32) -> u32 {
        let message = shared.messages.get(slot);
        let queues = self.send_queues;
        let queue = send_queues::of(queues, &shared.routes.routing, message.source, message.target);
        message.source * u32::from(queues) + u32::from(queue)
    }

    /// The queue of the message of `flow`.
    pub(super) fn queue_of_flow(&self, flow: u32) -> u32 {
        let message = self.flights.get(flow as usize).message;
        self.sendings.get(message as usize).queue
    }

    /// The next message of `queue` starts. `waited`: it has waited there; otherwise it has just arrived. Messages
    /// without bytes are sent at once.
    fn begin<C: HandlerContext, P: Payload>(
        &mut self,
        ctx: &mut C,
        shared: &mut Shared<P>,
        delay: Time,
        queue: u32,
        waited: bool,
    ) {
        let now = ctx.now();
        loop {
            let slot = self.queues.get(queue).waiting.head;
            if slot == NIL {
                return;
            }
            self.queues.edit::<C>(queue).waiting.pop(&shared.messages);
            shared.messages.edit::<C>(slot).queued = Time(now.0 - delay.0);
            let message = *shared.messages.get(slot);
            if waited {
                self.blame.leaves_queue::<C>(queue, now, message.traffic);
            }
            let nic = Network::nic(shared.routes.routing.topology(), message.source);
            let demand = self.rates.capacity(nic);
            let name = name_of(&message);
            let ends = (message.source, message.target);
            let paths = self.network(shared).paths(ends, message.bytes, demand, name, (0, None));
            if message.bytes == 0 {
                notify_sent(ctx, shared, delay, slot);
                self.count::<C>(0, 1, &paths.routes[0].steps);
                send_on(ctx, shared, delay, slot, paths.latency);
                continue;
            }
            let (packet, time) = (shared.setup.params.packet, |bytes: u64| {
                (bytes as f64 / demand).ceil() as u64
            });
            let before = self.queues.get(queue).last;
            *self.sendings.edit::<C>(slot as usize) = Sending {
                queue,
                before,
                notified: message.home == NIL,
                last_packet: Time((now.0 + time(message.bytes.saturating_sub(packet))).saturating_sub(2 * delay.0)),
                all: Time(now.0 + time(message.bytes)),
                ..Sending::default()
            };
            let of_queue = self.queues.edit::<C>(queue);
            (of_queue.sending, of_queue.last) = (slot, slot);
            let (mut from, mut until) = (0, 0.0);
            for route in &paths.routes {
                until += route.part;
                let end = (until * message.bytes as f64).round() as u64;
                let sendings = &self.sendings;
                let is_other =
                    |ahead: &Flight| ahead.message != NIL && sendings.get(ahead.message as usize).queue != queue;
                let is_blamed = self.blame.is_on();
                let owner_of = |ahead: &Flight| is_blamed.then(|| shared.messages.get(ahead.message).traffic);
                let network = self.network(shared);
                let (wait, waits_for) = network.wait_ahead(&self.flights, now, route, is_other, owner_of);
                let starts = Time(now.0 + wait.0);
                let found = self.behind(shared, before, route, nic);
                let behind = found.map_or(NIL, |found| found.link);
                let held = behind != NIL || starts > now;
                let path: Vec<Step> = match held {
                    true => Vec::new(),
                    false => route.steps(route.part).collect(),
                };
                let flow = self.rates.start::<C>(demand, path.into_iter());
                let next = std::mem::replace(&mut self.sendings.edit::<C>(slot as usize).first, flow);
                let scheduled = match starts > now {
                    true => starts,
                    false => Time::NEVER,
                };
                *self.flights.edit::<C>(flow as usize) = Flight {
                    message: slot,
                    next,
                    behind,
                    held,
                    starts,
                    scheduled,
                    number: route.number,
                    adaptive: paths.adaptive,
                    compared: paths.compared,
                    demand: demand * route.part,
                    part: route.part,
                    from,
                    bytes: end - from,
                    left: (end - from) as f64,
                    since: now,
                    filled: now,
                    latency: paths.latency,
                    laid: now,
                    ..Flight::default()
                };
                let whose = (message.traffic, route.part);
                self.blame.enter::<C>(&self.rates, flow, whose, &route.steps);
                for (of, time) in waits_for {
                    self.blame.waits_for::<C>(flow, now, of, time);
                }
                self.blame.waits_behind::<C>(flow, starts, found);
                if starts > now {
                    ctx.send(KEEPER, starts, FabricEvent::FlowEnd { flow }.into());
                } else if !held {
                    self.starts(ctx, packet, flow);
                }
                from = end;
            }
            self.ask_to_fill(ctx);
            self.time_sent(ctx, shared, delay, queue);
            return;
        }
    }

    /// The link for which a flow over `route` waits behind flows of `message` or of an earlier one.
    fn behind<P: Payload>(&self, shared: &Shared<P>, mut message: u32, route: &Route, nic: u32) -> Option<Behind> {
        while message != NIL {
            let sending = self.sendings.get(message as usize);
            let mut flow = sending.first;
            while flow != NIL {
                let flight = self.flights.get(flow as usize);
                let link = match flight.behind {
                    NIL => self.rates.rate(flow).1,
                    link => link,
                };
                if link != nic && route.uses(link) {
                    let owner = shared.messages.get(message).traffic;
                    return Some(Behind { link, owner });
                }
                flow = flight.next;
            }
            message = sending.before;
        }
        None
    }

    /// Adds the bytes left of message `slot`: those limited by its NIC, and by other links.
    fn left_of(&self, slot: u32, now: Time, nic: u32, left: &mut [Left; 2]) {
        let mut flow = self.sendings.get(slot as usize).first;
        while flow != NIL {
            let flight = self.flights.get(flow as usize);
            let in_buffers = flight.held || (flight.is_backlogged() && self.rates.rate(flow).1 != nic);
            left[usize::from(in_buffers)].add(&flight, now);
            flow = flight.next;
        }
    }

    /// Schedules when the message that `queue` sends will have been sent, and when to notify its source.
    pub(super) fn time_sent<C: HandlerContext, P: Payload>(
        &mut self,
        ctx: &mut C,
        shared: &Shared<P>,
        delay: Time,
        queue: u32,
    ) -> (Time, Time) {
        let (now, slot) = (ctx.now(), self.queues.get(queue).sending);
        if slot == NIL {
            return (Time::NEVER, Time::NEVER);
        }
        let nic = Network::nic(shared.routes.routing.topology(), shared.messages.get(slot).source);
        let mut left = [Left::default(); 2];
        let mut at = slot;
        while at != NIL {
            self.left_of(at, now, nic, &mut left);
            at = self.sendings.get(at as usize).before;
        }
        let room = shared.setup.params.link(LinkClass::Terminal).buffer.0 as f64;
        let sending = self.sendings.get(slot as usize);
        let sent = (left[0].until(now, 0.0)).max(left[1].until(now, room)).max(sending.all);
        let notified = match sending.notified {
            true => Time::NEVER,
            // A packet is left, and the bytes that leave before the notice arrives.
            false => {
                let packet = shared.setup.params.packet as f64;
                let early = |of: Left, room: f64| of.until(now, room + packet + of.rate * (2 * delay.0) as f64);
                early(left[0], 0.0)
                    .max(early(left[1], room))
                    .max(sending.last_packet)
                    .max(now)
            }
        };
        let next = sent.min(notified);
        if next < sending.scheduled && next < Time::NEVER {
            let at = next.max(Time(now.0 + 1));
            self.sendings.edit::<C>(slot as usize).scheduled = at;
            ctx.send(KEEPER, at, FabricEvent::FlowSent { message: slot }.into());
        }
        (sent, notified)
    }

    /// Message `slot` may have been sent.
    pub(super) fn check_sent<C: HandlerContext, P: Payload>(
        &mut self,
        ctx: &mut C,
        shared: &mut Shared<P>,
        delay: Time,
        slot: u32,
    ) {
        let (now, sending) = (ctx.now(), self.sendings.get(slot as usize));
        if sending.queue == NIL || sending.scheduled != now || self.queues.get(sending.queue).sending != slot {
            return;
        }
        self.sendings.edit::<C>(slot as usize).scheduled = Time::NEVER;
        let (sent, notified) = self.time_sent(ctx, shared, delay, sending.queue);
        if notified <= now {
            self.sendings.edit::<C>(slot as usize).notified = true;
            notify_sent(ctx, shared, delay, slot);
        }
        if sent <= now {
            let owner = shared.messages.get(slot).traffic;
            self.send_next(ctx, shared, delay, sending.queue, owner);
        }
    }

    /// `flow`, a part of a message, has ended; the message may have.
    pub(super) fn end_part<C: HandlerContext, P: Payload>(
        &mut self,
        ctx: &mut C,
        shared: &mut Shared<P>,
        delay: Time,
        flow: u32,
    ) {
        let ended = std::mem::take(self.flights.edit::<C>(flow as usize));
        let slot = ended.message;
        let sending = self.sendings.get(slot as usize);
        let queue = sending.queue;
        if sending.first == flow {
            self.sendings.edit::<C>(slot as usize).first = ended.next;
        } else {
            let mut at = sending.first;
            while self.flights.get(at as usize).next != flow {
                at = self.flights.get(at as usize).next;
            }
            self.flights.edit::<C>(at as usize).next = ended.next;
        }
        let whole = self.sendings.get(slot as usize).first == NIL;
        if whole {
            let last = self.queues.get(queue).last;
            if last == slot {
                self.queues.edit::<C>(queue).last = sending.before;
            } else {
                let mut at = last;
                while self.sendings.get(at as usize).before != slot {
                    at = self.sendings.get(at as usize).before;
                }
                self.sendings.edit::<C>(at as usize).before = sending.before;
            }
            *self.sendings.edit::<C>(slot as usize) = Sending::default();
        }
        self.release(ctx, shared, queue);
        if !whole {
            self.time_sent(ctx, shared, delay, queue);
            return;
        }
        if !sending.notified {
            notify_sent(ctx, shared, delay, slot);
        }
        let owner = shared.messages.get(slot).traffic;
        send_on(ctx, shared, delay, slot, ended.latency);
        if self.queues.get(queue).sending == slot {
            self.send_next(ctx, shared, delay, queue, owner);
        } else {
            self.time_sent(ctx, shared, delay, queue);
        }
    }

    /// `queue` has sent a message of `owner`; starts the next one.
    fn send_next<C: HandlerContext, P: Payload>(
        &mut self,
        ctx: &mut C,
        shared: &mut Shared<P>,
        delay: Time,
        queue: u32,
        owner: Traffic,
    ) {
        self.queues.edit::<C>(queue).sending = NIL;
        self.blame.has_sent::<C>(queue, ctx.now(), owner);
        self.begin(ctx, shared, delay, queue, true);
    }

    /// Starts flows of `queue` that no longer wait for others.
    pub(super) fn release<C: HandlerContext, P: Payload>(&mut self, ctx: &mut C, shared: &Shared<P>, queue: u32) {
        let mut messages = Vec::new();
        let mut at = self.queues.get(queue).last;
        while at != NIL {
            messages.push(at);
            at = self.sendings.get(at as usize).before;
        }
        for &message in messages.iter().rev() {
            let mut flow = self.sendings.get(message as usize).first;
            while flow != NIL {
                let flight = self.flights.get(flow as usize);
                if flight.held && flight.starts <= ctx.now() {
                    self.start_held(ctx, shared, flow);
                }
                flow = flight.next;
            }
        }
    }

    /// Starts `flow`, unless it still waits behind others of its queue.
    fn start_held<C: HandlerContext, P: Payload>(&mut self, ctx: &mut C, shared: &Shared<P>, flow: u32) {
        let now = ctx.now();
        let flight = self.flights.get(flow as usize);
        let (message, before) = (
            shared.messages.get(flight.message),
            self.sendings.get(flight.message as usize).before,
        );
        // With the same random draws as before; loads are compared as of now.
        let paths = self.paths_again(shared, flow, name_of(message), flight.number);
        let route = &paths.routes[0];
        let nic = Network::nic(shared.routes.routing.topology(), message.source);
        let found = self.behind(shared, before, route, nic);
        self.flights.edit::<C>(flow as usize).behind = found.map_or(NIL, |found| found.link);
        self.blame.waits_behind::<C>(flow, now, found);
        if found.is_some() {
            return;
        }
        self.blame.has_moved::<C>(&self.rates, flow, &route.steps);
        let steps = route.steps(flight.part);
        self.rates.move_to::<C>(flow, flight.demand / flight.part, steps);
        let started = self.flights.edit::<C>(flow as usize);
        started.advance(now);
        (started.held, started.laid) = (false, now);
        self.starts(ctx, shared.setup.params.packet, flow);
    }
}

/// The name of the random stream of `message`.
fn name_of<P>(message: &Message<P>) -> u64 {
    message.created.0 ^ message.bytes.rotate_left(32)
}

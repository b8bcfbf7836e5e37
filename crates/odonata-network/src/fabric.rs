//! The fabric as a whole: its components, which of them handles an event, and its interface to the hosts.
//!
//! | component | owns |
//! |---|---|
//! | [`Nics`] | messages that wait to be cut into packets, and what is known of the packet queue |
//! | [`InputQueued`], [`OutputQueued`], [`Pipelined`] | what only one router model has: input buffers, allocators, clocks |
//! | [`Analytic`] | when interfaces are free, where messages do not go in packets |
//! | [`Fluid`] | the rates of messages that go as flows |
//! | [`Shared`] | what they all work with: links and credits, packets and messages in flight, route computation, control, statistics |
//!
//! A handler of a NIC or of a router gets its own component and [`Shared`].

mod blueprint;
mod footprint;
mod report;
mod setup;
mod shared;

pub use blueprint::Blueprint;
pub use footprint::{Extent, FLIT_CREDIT_BYTES, Footprint, MESSAGE_BYTES, PACKET_BYTES};
pub(crate) use setup::{Setup, has_fifos};
pub(crate) use shared::Shared;

use crate::analytic::Analytic;
use crate::boundary::{RemoteEvent, RemoteUpdate};
use crate::features::{AnyUse, Blamed, Everything, Handler, HandlerContext, Lean, Traced, Variant};
use crate::flow::{FlowWait, Space};
use crate::fluid::{self, Fluid};
use crate::nic::Nics;
use crate::observe::Tag;
use crate::observe::queues::QueueRecording;
use crate::observe::statistics::{LinkPeriod, Sampling};
use crate::router::input_queued::InputQueued;
use crate::router::output_queued::OutputQueued;
use crate::router::pipelined::{Freed, LAG, Pipelined};
use crate::settings::{Fidelity, RouterModel};
use crate::{FabricContext, FabricEvent, Message, Notice, Payload};
use odonata_blame::lost::Carried;
use odonata_engine::{Context, Mode, SendBuffer, Time};
use odonata_topology::{LinkClass, Peer};
use std::ops::Range;

/// `handle` with a context for handlers that are compiled for the features of `variant`; speculating ones for all.
macro_rules! with_features {
    ($variant:expr, $context:expr, |$ctx:ident| $handle:expr) => {
        match $variant {
            Variant::Lean if !C::JOURNAL => {
                let mut $ctx = Handler::<C, Lean>::new($context);
                $handle
            }
            Variant::Blamed if !C::JOURNAL => {
                let mut $ctx = Handler::<C, Blamed>::new($context);
                $handle
            }
            Variant::Traced if !C::JOURNAL => {
                let mut $ctx = Handler::<C, Traced>::new($context);
                $handle
            }
            _ => {
                let mut $ctx = Handler::<C, Everything>::new($context);
                $handle
            }
        }
    };
}

/// The network of a machine, or of a part of it. A message belongs to it from when it joins the queue of its NIC until it has
/// arrived.
#[derive(Debug)]
pub struct Fabric<P> {
    pub(crate) shared: Shared<P>,
    pub(crate) nics: Nics,
    pub(crate) input_queued: InputQueued,
    pub(crate) output_queued: OutputQueued,
    pub(crate) pipelined: Pipelined,
    pub(crate) analytic: Analytic,
    pub(crate) fluid: Fluid,
    /// What its handlers are compiled for.
    pub(crate) variant: Variant,
}
odonata_engine::journalled!(Fabric<P: Payload> {
    shared,
    nics,
    input_queued,
    pipelined,
    analytic,
    fluid,
});

impl<P: Payload> Fabric<P> {
    /// The logical processes of this part: one per router.
    pub fn processes(&self) -> Range<u32> {
        self.shared.setup.routers.clone()
    }

    /// The logical process that node `node` belongs to.
    pub fn process_of(&self, node: u32) -> u32 {
        self.shared.routes.process_of(node)
    }

    /// The smallest delay between two routers: a head's or a credit's way over a cable between them, or what they publish
    /// for their group; where messages go without packets, theirs.
    pub fn lookahead(&self, from: u32, to: u32) -> Time {
        let messages = [
            self.analytic.params().map(|model| model.latency),
            self.fluid.hand_over(),
        ];
        let messages = messages.into_iter().flatten().min();
        if let Some(delay) = messages.filter(|_| !self.params().fidelities.has(Fidelity::Packet)) {
            return delay;
        }
        let topology = self.routing().topology();
        let links = &self.shared.flow.links;
        let delay = |port: u32| {
            let link = links.get(links.port(port));
            (link.latency + self.params().routing_delay()).min(link.credit_delay)
        };
        let told = (self.groups()).filter(|(size, _)| from / size == to / size);
        topology
            .ports_of(from)
            .filter(|&port| matches!(topology.peer(port), Peer::Router { router, .. } if router == to))
            .map(delay)
            .chain(told.map(|(_, delay)| delay))
            .chain(messages)
            .min()
            .unwrap_or(Time::NEVER)
    }

    /// The number of routers of a group and the delay with which they tell each other something, if they do: see
    /// [`LinkDelays::with_groups`](crate::lookahead::LinkDelays::with_groups).
    pub fn groups(&self) -> Option<(u32, Time)> {
        self.shared.remote.groups()
    }

    /// The id of wake-ups of the sending port of `link`, by its own number in the part (see
    /// [`Context::wake_up`](odonata_engine::Context::wake_up)).
    pub fn wake_up_id(&self, link: u32) -> u32 {
        self.shared.flow.wake_up_id(link)
    }

    /// Counts packets in sampling periods from now on, which is before the first event.
    ///
    /// # Panics
    /// A period takes no time.
    pub fn sample(&mut self, sampling: Sampling) {
        assert!(sampling.period > Time::ZERO, "a sampling period takes no time");
        self.shared.flow.observers.statistics.sample(sampling);
        self.variant = self.smallest_variant();
    }

    /// From now on the handlers that are compiled for everything a scenario may use, whatever this one does: what the others are
    /// held against.
    pub fn use_all_features(&mut self) {
        self.variant = Variant::Everything;
    }

    /// Whether it is those that handle its events.
    pub fn uses_all_features(&self) -> bool {
        self.variant == Variant::Everything
    }

    /// Counts router ports one by one in the intervals of `period`, if there is a time series; from now on, which is before
    /// the first event.
    pub fn record_links(&mut self, period: LinkPeriod) {
        self.shared.flow.observers.statistics.record_links(period);
    }

    /// Records the queues of links over time from now on, which is before the first event.
    ///
    /// # Panics
    /// An interval takes no time.
    pub fn record_queues(&mut self, recording: &QueueRecording) {
        let links = &self.shared.flow.links;
        let own = (0..links.len()).map(|link| (links.number(link), links.first_vc(link), links.channels(link)));
        let setup = &self.shared.setup;
        let widest = LinkClass::ALL.map(|class| setup.vcs.width(class)).into_iter().max();
        let channels = usize::from(widest.unwrap_or(1)) * usize::from(setup.params.classes.count());
        self.shared
            .flow
            .observers
            .queues
            .record(recording, channels.max(1), own);
        self.variant = self.smallest_variant();
    }

    /// The run ends at `now`: instruments record nothing that comes later, such as credits that the audit brings home.
    pub fn end_recording(&mut self, now: Time) {
        self.shared.flow.observers.queues.end_at(now);
    }

    /// Hands a message to the NIC of its source, where it joins the queue at `at` (later than now).
    /// Returns its slot. A node's message to itself goes through its router and back.
    pub fn submit<C: FabricContext>(&mut self, ctx: &mut C, at: Time, message: Message<P>) -> u32 {
        let lp = self.process_of(message.source);
        let slot = self.shared.messages.allocate::<C>(Message { queued: at, ..message });
        self.shared.flow.observers.message_is_freed::<C>(slot);
        ctx.send(lp, at, FabricEvent::Submit { message: slot }.into());
        slot
    }

    /// Hands a message to the NIC of its source now: for hosts that have let the software's time pass
    /// already. The message must not want `Sent`, because that may happen at once.
    pub fn submit_now<C: FabricContext>(&mut self, ctx: &mut C, message: Message<P>) {
        debug_assert!(!message.notify_sent, "nobody could be told");
        let slot = self.shared.messages.allocate::<C>(Message {
            queued: ctx.now(),
            ..message
        });
        self.shared.flow.observers.message_is_freed::<C>(slot);
        with_features!(self.variant, ctx, |ctx| self.enqueue(&mut ctx, slot));
    }

    /// A message reaches the interface of its source.
    #[inline]
    fn enqueue<C: HandlerContext>(&mut self, ctx: &mut C, message: u32) -> Option<Notice> {
        let ways = (self.fluid.hand_over(), self.analytic.params());
        match (self.fidelity(message), ways) {
            (Fidelity::Flow, (Some(delay), _)) => {
                let ctx = &mut ctx.with_everything();
                self.fluid.enqueue(ctx, &mut self.shared, delay, message)
            }
            (Fidelity::Analytic, (_, Some(model))) => {
                let ctx = &mut ctx.with_everything();
                self.analytic.enqueue(ctx, &mut self.shared, model, message)
            }
            _ => (self.nics).enqueue(ctx, &mut self.shared, &mut self.pipelined, message),
        }
    }

    /// The host has taken note of [`Notice::Sent`] of message `slot`, and does not look at it again.
    #[inline]
    pub fn told_sent<M: Mode>(&mut self, slot: u32) {
        match self.fidelity(slot) {
            Fidelity::Packet => {}
            Fidelity::Flow => fluid::told::<AnyUse<M>, P>(&mut self.shared, slot),
            Fidelity::Analytic => self.analytic.told::<AnyUse<M>, P>(&mut self.shared, slot),
        }
    }

    /// How message `slot` goes.
    #[inline]
    fn fidelity(&self, slot: u32) -> Fidelity {
        (self.params().fidelities).of(self.shared.messages.get(slot).traffic)
    }

    /// The message in slot `slot`.
    pub fn message(&self, slot: u32) -> &Message<P> {
        self.shared.messages.get(slot)
    }

    /// Frees a message that has arrived.
    pub fn release<M: Mode>(&mut self, slot: u32) {
        self.shared.messages.free::<M>(slot);
        self.shared.flow.observers.message_is_freed::<M>(slot);
    }

    /// Message `slot`, which was submitted now, has lost this before it was sent.
    pub fn set_losses<M: Mode>(&mut self, slot: u32, losses: Carried) {
        let owner = self.shared.messages.get(slot).traffic;
        self.shared.flow.observers.set_losses::<M>(slot, owner, &losses);
    }

    /// What message `slot` has lost until it was sent, or until it arrived: culprits are traffics. Nothing unless
    /// [`NetworkParams::lost_time`](crate::NetworkParams::lost_time) is set.
    pub fn losses(&self, slot: u32) -> Carried {
        let owner = self.shared.messages.get(slot).traffic;
        self.shared.flow.observers.losses(slot, owner)
    }

    /// When a flit has last come to a router whose cycles are events; flits have none of their own.
    pub fn last_arrival(&self) -> Option<Time> {
        self.pipelined.last_arrival()
    }

    /// The same until `until`, up to which all events are handled: those too which a cycle is still to take in.
    pub fn last_arrival_until(&self, until: Time) -> Option<Time> {
        self.pipelined.last_arrival_until(&self.shared.packets, until)
    }

    /// What the events handled since it was last emptied have for other parts.
    pub fn send_buffer(&mut self) -> &mut SendBuffer<RemoteEvent<P>, RemoteUpdate> {
        &mut self.shared.boundary.send_buffer
    }

    /// Takes in what comes from another part; the event that lets it arrive.
    pub fn receive_event<M: Mode>(&mut self, event: RemoteEvent<P>) -> FabricEvent {
        self.shared.receive_event::<AnyUse<M>>(event)
    }

    /// Takes in from another part what causes no event, but counts from `due` on.
    pub fn apply_update<C: FabricContext>(&mut self, ctx: &mut C, due: Time, update: RemoteUpdate) {
        let ctx = &mut Handler::<C, Everything>::new(ctx);
        let shared = &mut self.shared;
        match update {
            RemoteUpdate::Credit(credit) => {
                let link = shared.flow.links.port(credit.link);
                match shared.setup.params.router {
                    RouterModel::Pipelined => {
                        // Its tag comes beside it.
                        let space = Freed {
                            owner: credit.owner,
                            tag: Tag::NONE,
                        };
                        (self.pipelined).return_flit(ctx, shared, (link, credit.vc), space, due);
                    }
                    RouterModel::InputQueued | RouterModel::OutputQueued => {
                        // Its tag comes beside it.
                        let space = Space {
                            flits: credit.flits,
                            owner: credit.owner,
                            tag: Tag::NONE,
                        };
                        shared.return_credit(ctx, link, credit.vc, space, due);
                    }
                }
            }
            RemoteUpdate::Loss(loss) => shared.flow.import_loss::<C>(loss),
            RemoteUpdate::Load(load) => {
                (shared.remote).record::<AnyUse<C>>(load.port, due, load.value, ctx.handled_before())
            }
        }
    }

    /// Handles an event; returns what the hosts must be told.
    #[inline]
    pub fn handle<C: FabricContext>(&mut self, ctx: &mut C, lp: u32, event: FabricEvent) -> Option<Notice> {
        with_features!(self.variant, ctx, |ctx| self.handle_with(&mut ctx, lp, event))
    }

    /// The same, of the features that `C` says.
    #[inline(always)]
    fn handle_with<C: HandlerContext>(&mut self, ctx: &mut C, lp: u32, event: FabricEvent) -> Option<Notice> {
        let shared = &mut self.shared;
        let input_queued = shared.setup.params.router == RouterModel::InputQueued;
        if shared.setup.params.router == RouterModel::Pipelined {
            return self.handle_pipelined(ctx, lp, event);
        }
        match event {
            FabricEvent::Arrive { packet } if input_queued => self.input_queued.arrive(ctx, shared, lp, packet),
            FabricEvent::Arrive { packet } => self.output_queued.arrive(ctx, shared, lp, packet),
            FabricEvent::Port { port } if input_queued => self.input_queued.serve(ctx, shared, port),
            FabricEvent::Port { port } => self.output_queued.serve(ctx, shared, port),
            FabricEvent::Input { buffer } => self.input_queued.next_head(ctx, shared, lp, buffer),
            FabricEvent::Nic { nic } => return self.nics.serve(ctx, shared, nic),
            FabricEvent::Publish => shared.publish(&mut ctx.with_everything(), lp),
            FabricEvent::Submit { message } => return self.enqueue(ctx, message),
            _ if event.is_without_packets() => {
                return self.handle_message(&mut ctx.with_everything(), lp, event);
            }
            FabricEvent::Arrived { message } => return Some(Notice::Arrived { message }),
            FabricEvent::Notify { notification } => {
                let ctx = &mut ctx.with_everything();
                let arrived = shared.forward_notification(ctx, lp, notification)?;
                return self.nics.throttle(ctx, shared, &mut self.pipelined, &arrived);
            }
            _ => debug_assert!(false, "there is no pipeline"),
        }
        None
    }

    /// The same where routers are pipelined.
    #[inline]
    fn handle_pipelined<C: HandlerContext>(&mut self, ctx: &mut C, lp: u32, event: FabricEvent) -> Option<Notice> {
        let shared = &mut self.shared;
        match event {
            // From another part, as all that has an event.
            FabricEvent::Arrive { packet } => {
                let buffer = shared.packets.get(packet).buffer;
                self.pipelined.send_head(ctx, shared, (lp, buffer), packet, ctx.now());
            }
            FabricEvent::Flit { buffer } => {
                shared.flow.observers.body_flit_enters_part::<C>(buffer, ctx.now());
                self.pipelined.send_body(ctx, (lp, buffer), ctx.now());
            }
            FabricEvent::Tick => self.cycle(ctx, lp),
            FabricEvent::Nic { nic } => return self.nics.serve_flits(ctx, shared, &mut self.pipelined, nic),
            FabricEvent::Publish => {
                // What has come before is part of what is published.
                self.pipelined.take_in::<C>(shared, lp, ctx.now() - LAG, false);
                shared.publish(&mut ctx.with_everything(), lp);
            }
            FabricEvent::Submit { message } => return self.enqueue(ctx, message),
            _ if event.is_without_packets() => {
                return self.handle_message(&mut ctx.with_everything(), lp, event);
            }
            FabricEvent::Arrived { message } => return Some(Notice::Arrived { message }),
            FabricEvent::Notify { notification } => {
                let ctx = &mut ctx.with_everything();
                let arrived = shared.forward_notification(ctx, lp, notification)?;
                return self.nics.throttle(ctx, shared, &mut self.pipelined, &arrived);
            }
            _ => debug_assert!(false, "there is nothing to look at"),
        }
        None
    }

    /// The same of messages that do not go in packets, and of what packets know of them.
    #[inline(never)]
    fn handle_message<C: HandlerContext>(&mut self, ctx: &mut C, lp: u32, event: FabricEvent) -> Option<Notice> {
        let shared = &mut self.shared;
        match event {
            FabricEvent::Sent { message } => return Some(Notice::Sent { message }),
            FabricEvent::Incoming { message } => {
                let model = self.analytic.params()?;
                return self.analytic.receive(ctx, shared, model, message);
            }
            FabricEvent::LinkReport => shared.report_links(ctx, lp, self.fluid.hand_over()?),
            FabricEvent::LinkShare { link, part, load } => shared.flow.coupling.flows::<C>(link, part, load),
            FabricEvent::FlowWait {
                port,
                wait,
                output,
                level,
            } => shared.wait_behind_flows::<C>(FlowWait {
                port,
                wait,
                output,
                level,
            }),
            _ => return self.fluid.handle(ctx, shared, event),
        }
        None
    }

    /// A cycle of pipelined router `lp`.
    // Not compiled into the handler of all events: it needs many registers, which all events would have to save. Here, and not at
    // the router, so that one pointer leads to both components.
    #[inline(never)]
    fn cycle<C: HandlerContext>(&mut self, ctx: &mut C, lp: u32) {
        self.pipelined.cycle(ctx, &mut self.shared, lp);
    }

    /// Fetches what `event` will need into the cache.
    #[inline(always)]
    pub fn prefetch(&self, event: &FabricEvent) {
        match *event {
            FabricEvent::Arrive { packet } => self.shared.packets.prefetch(packet),
            FabricEvent::Port { port } => {
                self.shared.flow.prefetch_port(port);
                self.shared.flow.prefetch_channels(port);
                self.shared.flow.observers.statistics.prefetch(port);
            }
            FabricEvent::Nic { nic } => {
                let link = self.shared.flow.links.ports + nic;
                self.shared.flow.prefetch_port(link);
                self.shared.flow.observers.statistics.prefetch(link);
                self.nics.prefetch(nic);
            }
            _ => {}
        }
    }
}

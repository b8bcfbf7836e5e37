//! The fabric: its components, the dispatch of events to them, and the interface to the hosts.
//!
//! | component | owns |
//! |---|---|
//! | [`Nics`] | messages that wait to be divided into packets, and the state of the packet queues |
//! | [`InputQueued`], [`OutputQueued`], [`Pipelined`] | state of one router model: input buffers, allocators, clocks |
//! | [`Analytic`] | when interfaces are free, for messages without packets |
//! | [`Fluid`] | the rates of messages that are flows |
//! | [`Shared`] | common state: links and credits, packets and messages in flight, route computation, control, statistics |
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
use odonata_engine::{Context, Mode, Plain, SendBuffer, Time};
use odonata_topology::{LinkClass, Peer};
use std::ops::Range;

/// Calls `handle` with a context for handlers compiled for the features of `variant`; for all features while
/// speculating.
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

/// The network of a machine, or of a part of it. It owns a message from when the message joins the queue of its NIC
/// until delivery.
#[derive(Debug)]
pub struct Fabric<P> {
    pub(crate) shared: Shared<P>,
    pub(crate) nics: Nics,
    pub(crate) input_queued: InputQueued,
    pub(crate) output_queued: OutputQueued,
    pub(crate) pipelined: Pipelined,
    pub(crate) analytic: Analytic,
    pub(crate) fluid: Fluid,
    /// The features for which its handlers are compiled.
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

    /// The logical process of node `node`.
    pub fn process_of(&self, node: u32) -> u32 {
        self.shared.routes.process_of(node)
    }

    /// The smallest delay between two routers: of a head or a credit over a cable between them, of loads published to
    /// their group, or of messages without packets.
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
        let published = (self.groups()).filter(|(size, _)| from / size == to / size);
        topology
            .ports_of(from)
            .filter(|&port| matches!(topology.peer(port), Peer::Router { router, .. } if router == to))
            .map(delay)
            .chain(published.map(|(_, delay)| delay))
            .chain(messages)
            .min()
            .unwrap_or(Time::NEVER)
    }

    /// The number of routers per group and the delay of published loads, if groups publish any: see
    /// [`LinkDelays::with_groups`](crate::lookahead::LinkDelays::with_groups).
    pub fn groups(&self) -> Option<(u32, Time)> {
        self.shared.remote.groups()
    }

    /// The id of wake-ups of the sending port of `link`, a local number (see
    /// [`Context::wake_up`](odonata_engine::Context::wake_up)).
    pub fn wake_up_id(&self, link: u32) -> u32 {
        self.shared.flow.wake_up_id(link)
    }

    /// Starts to count packets in sampling periods; call before the first event.
    ///
    /// # Panics
    /// A period is zero.
    pub fn sample(&mut self, sampling: Sampling) {
        assert!(sampling.period > Time::ZERO, "a sampling period takes no time");
        self.shared.flow.observers.statistics.sample(sampling);
        self.variant = self.smallest_variant();
    }

    /// Switches to the handlers compiled for all features, whatever the scenario uses: the reference for the others.
    pub fn use_all_features(&mut self) {
        self.variant = Variant::Everything;
    }

    /// Whether it uses these handlers.
    pub fn uses_all_features(&self) -> bool {
        self.variant == Variant::Everything
    }

    /// Starts to count router ports separately in the intervals of `period`, if there is a time series; call before the
    /// first event.
    pub fn record_links(&mut self, period: LinkPeriod) {
        self.shared.flow.observers.statistics.record_links(period);
    }

    /// Starts to record the queues of links over time; call before the first event.
    ///
    /// # Panics
    /// An interval is zero.
    pub fn record_queues(&mut self, recording: &QueueRecording) {
        let links = &self.shared.flow.links;
        let own =
            (0..links.len()).map(|link| (links.number(link), links.first_vc::<Plain>(link), links.channels(link)));
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

    /// The run ends at `now`: instruments ignore later facts, such as credits that return during the audit.
    pub fn end_recording(&mut self, now: Time) {
        self.shared.flow.observers.queues.end_at(now);
    }

    /// Submits a message to the NIC of its source, where it joins the queue at `at` (later than now). Returns its slot.
    /// A message from a node to itself goes through its router and back.
    pub fn submit<C: FabricContext>(&mut self, ctx: &mut C, at: Time, message: Message<P>) -> u32 {
        let lp = self.process_of(message.source);
        let slot = self.shared.messages.allocate::<C>(Message { queued: at, ..message });
        self.shared.flow.observers.message_is_freed::<C>(slot);
        ctx.send(lp, at, FabricEvent::Submit { message: slot }.into());
        slot
    }

    /// Submits a message to the NIC of its source now, for hosts that have already accounted for software time. The
    /// message must not request `Sent`, because that may happen at once.
    pub fn submit_now<C: FabricContext>(&mut self, ctx: &mut C, message: Message<P>) {
        debug_assert!(
            !message.notify_sent,
            "a message that is submitted now cannot request `Sent`"
        );
        let slot = self.shared.messages.allocate::<C>(Message {
            queued: ctx.now(),
            ..message
        });
        self.shared.flow.observers.message_is_freed::<C>(slot);
        with_features!(self.variant, ctx, |ctx| self.enqueue(&mut ctx, slot));
    }

    /// A message reaches the NIC of its source.
    #[inline]
    fn enqueue<C: HandlerContext>(&mut self, ctx: &mut C, message: u32) -> Option<Notice> {
        let models = (self.fluid.hand_over(), self.analytic.params());
        match (self.fidelity(message), models) {
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

    /// The host has processed [`Notice::Sent`] of message `slot`, and does not use it again.
    #[inline]
    pub fn note_sent<M: Mode>(&mut self, slot: u32) {
        match self.fidelity(slot) {
            Fidelity::Packet => {}
            Fidelity::Flow => fluid::note_sent::<AnyUse<M>, P>(&mut self.shared, slot),
            Fidelity::Analytic => self.analytic.note_sent::<AnyUse<M>, P>(&mut self.shared, slot),
        }
    }

    #[inline]
    fn fidelity(&self, slot: u32) -> Fidelity {
        (self.params().fidelities).of(self.shared.messages.get(slot).traffic)
    }

    /// The message in slot `slot`.
    pub fn message(&self, slot: u32) -> &Message<P> {
        self.shared.messages.get(slot)
    }

    /// Frees a delivered message.
    pub fn release<M: Mode>(&mut self, slot: u32) {
        self.shared.messages.free::<M>(slot);
        self.shared.flow.observers.message_is_freed::<M>(slot);
    }

    /// Sets the losses of message `slot`, submitted now, from before its submission.
    pub fn set_losses<M: Mode>(&mut self, slot: u32, losses: Carried) {
        let owner = self.shared.messages.trusted::<M>(slot).traffic;
        self.shared.flow.observers.set_losses::<M>(slot, owner, &losses);
    }

    /// The losses of message `slot` until it was sent, or until it arrived; culprits are traffics. Empty unless
    /// [`NetworkParams::lost_time`](crate::NetworkParams::lost_time) is set.
    pub fn losses(&self, slot: u32) -> Carried {
        let owner = self.shared.messages.get(slot).traffic;
        self.shared.flow.observers.losses(slot, owner)
    }

    /// Time of the last arrival of a flit at a pipelined router; flits have no events.
    pub fn last_arrival(&self) -> Option<Time> {
        self.pipelined.last_arrival()
    }

    /// The same up to `until`, up to which all events are handled; includes flits that a later cycle will take in.
    pub fn last_arrival_until(&self, until: Time) -> Option<Time> {
        self.pipelined.last_arrival_until(&self.shared.packets, until)
    }

    /// Events and updates for other parts, from the events handled since it was last emptied.
    pub fn send_buffer(&mut self) -> &mut SendBuffer<RemoteEvent<P>, RemoteUpdate> {
        &mut self.shared.boundary.send_buffer
    }

    /// Receives an event from another part. Returns the event of its arrival.
    pub fn receive_event<M: Mode>(&mut self, event: RemoteEvent<P>) -> FabricEvent {
        self.shared.receive_event::<AnyUse<M>>(event)
    }

    /// Receives from another part an update without an event, which counts from `due`.
    pub fn apply_update<C: FabricContext>(&mut self, ctx: &mut C, due: Time, update: RemoteUpdate) {
        let ctx = &mut Handler::<C, Everything>::new(ctx);
        let shared = &mut self.shared;
        match update {
            RemoteUpdate::Credit(credit) => {
                let link = shared.flow.links.port(credit.link);
                match shared.setup.params.router {
                    RouterModel::Pipelined => {
                        // Its tag arrives separately.
                        let space = Freed {
                            owner: credit.owner,
                            tag: Tag::NONE,
                        };
                        (self.pipelined).return_flit(ctx, shared, (link, credit.vc), space, due);
                    }
                    RouterModel::InputQueued | RouterModel::OutputQueued => {
                        // Its tag arrives separately.
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

    /// Handles an event; returns a notice for the hosts, if any.
    #[inline]
    pub fn handle<C: FabricContext>(&mut self, ctx: &mut C, lp: u32, event: FabricEvent) -> Option<Notice> {
        with_features!(self.variant, ctx, |ctx| self.handle_with(&mut ctx, lp, event))
    }

    /// The same with the features of `C`.
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

    /// The same with pipelined routers.
    #[inline]
    fn handle_pipelined<C: HandlerContext>(&mut self, ctx: &mut C, lp: u32, event: FabricEvent) -> Option<Notice> {
        let shared = &mut self.shared;
        match event {
            // From another part: only those packets arrive by an event.
            FabricEvent::Arrive { packet } => {
                let buffer = shared.packets.trusted::<C>(packet).buffer;
                self.pipelined.send_head(ctx, shared, (lp, buffer), packet, ctx.now());
            }
            FabricEvent::Flit { buffer } => {
                shared.flow.observers.body_flit_enters_part::<C>(buffer, ctx.now());
                self.pipelined.send_body(ctx, (lp, buffer), ctx.now());
            }
            FabricEvent::Tick => self.cycle(ctx, lp),
            FabricEvent::Nic { nic } => return self.nics.serve_flits(ctx, shared, &mut self.pipelined, nic),
            FabricEvent::Publish => {
                // The published loads include earlier arrivals.
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

    /// The same for messages without packets, and for the exchange between packets and flows.
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
    // Not inlined into the handler of all events: it needs many registers, which every event would have to save.
    // Defined here rather than at the router, so that one pointer leads to both components.
    #[inline(never)]
    fn cycle<C: HandlerContext>(&mut self, ctx: &mut C, lp: u32) {
        self.pipelined.cycle(ctx, &mut self.shared, lp);
    }

    /// Prefetches the data that `event` will need.
    #[inline(always)]
    pub fn prefetch(&self, event: &FabricEvent) {
        match *event {
            FabricEvent::Arrive { packet } => self.shared.packets.prefetch(packet),
            FabricEvent::Port { port } => {
                self.shared.flow.prefetch_port(port);
                self.shared.flow.prefetch_channels::<Plain>(port);
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

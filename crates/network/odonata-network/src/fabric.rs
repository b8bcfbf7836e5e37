//! The fabric: its components, the dispatch of events to them, and the interface to the hosts.
//!
//! | component | owns |
//! |---|---|
//! | [`Carriers`] | what carries messages: NICs and routers, rates of flows, interfaces of the analytic model |
//! | [`Shared`] | common state: links and credits, packets and messages in flight, route computation, control, statistics |
//!
//! A handler gets its own component and [`Shared`].

mod blueprint;
mod footprint;
mod measure;
mod report;
mod setup;
mod shared;
mod variant;

pub use blueprint::Blueprint;
pub use footprint::{Extent, FLIT_CREDIT_BYTES, Footprint, MESSAGE_BYTES, PACKET_BYTES};
pub(crate) use setup::{Setup, has_fifos};
pub(crate) use shared::Shared;

use crate::boundary::{RemoteEvent, RemoteUpdate};
use crate::carrier::{Carrier, Carriers};
use crate::features::{AnyUse, Blamed, Everything, Handler, Lean, Traced, Variant};
use crate::observe::queues::QueueRecording;
use crate::observe::statistics::{LinkPeriod, Sampling};
use crate::{Contribution, FabricContext, FabricEvent, Message, Notice, Payload};
use odonata_blame::lost::Carried;
use odonata_engine::{CacheLine, Context, Mode, Plain, SendBuffer, Time};
use odonata_topology::{LinkClass, Peer};
use std::ops::Range;
use variant::smallest_variant;

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
    pub(crate) carriers: Carriers,
    /// The features for which its handlers are compiled.
    pub(crate) variant: Variant,
}
odonata_engine::journalled!(Fabric<P: Payload> { shared, carriers });

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
        let messages = Carrier::<P>::least_delay(&self.carriers);
        if let Some(delay) = messages.filter(|_| !self.params().fidelities.use_cables()) {
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
        self.shared.flow.observers.sample(sampling);
        self.variant = smallest_variant(&self.carriers, &self.shared);
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
        self.shared.flow.observers.record_links(period);
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
        (self.shared.flow.observers).record_queues(recording, channels.max(1), own);
        self.variant = smallest_variant(&self.carriers, &self.shared);
    }

    /// The run ends at `now`: instruments ignore later facts, such as credits that return during the audit.
    pub fn end_recording(&mut self, now: Time) {
        self.shared.flow.observers.end_recording(now);
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
        let (carriers, shared) = (&mut self.carriers, &mut self.shared);
        with_features!(self.variant, ctx, |ctx| carriers.submit(&mut ctx, shared, slot));
    }

    /// Hands a rank's contribution to a sum in routers to its interface at `at`, which lies in the future.
    pub fn reduce<C: FabricContext>(&mut self, ctx: &mut C, at: Time, contribution: Contribution) {
        let lp = self.process_of(contribution.interface);
        let contribution = self.carriers.reduction.hold::<C>(contribution);
        ctx.send(lp, at, FabricEvent::Contribute { contribution }.into());
    }

    /// Takes one of the contributions to the ended operation of [`Notice::Reduced`]; `None` after the last one.
    pub fn take_reduced<M: Mode>(&mut self, operation: u32) -> Option<Contribution> {
        self.carriers.reduction.take_ended::<M>(operation)
    }

    /// The host has processed [`Notice::Sent`] of message `slot`, and does not use it again.
    #[inline]
    pub fn note_sent<M: Mode>(&mut self, slot: u32) {
        self.carriers.note_sent::<AnyUse<M>>(&mut self.shared, slot);
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
        let pipelined = self.carriers.packets.router.pipelined();
        pipelined.and_then(|router| router.last_arrival())
    }

    /// The same up to `until`, up to which all events are handled; includes flits that a later cycle will take in.
    pub fn last_arrival_until(&self, until: Time) -> Option<Time> {
        let pipelined = self.carriers.packets.router.pipelined();
        pipelined.and_then(|router| router.last_arrival_until(&self.shared.packets, until))
    }

    /// Events and updates for other parts, from the events handled since it was last emptied.
    pub fn send_buffer(&mut self) -> &mut SendBuffer<RemoteEvent<P>, RemoteUpdate> {
        &mut self.shared.boundary.send_buffer
    }

    /// Receives an event from another part. Returns the event of its arrival.
    pub fn receive_event<M: Mode>(&mut self, event: RemoteEvent<P>) -> FabricEvent {
        match event {
            RemoteEvent::Ethernet(remote) => self.carriers.ethernet.receive::<M>(remote),
            RemoteEvent::Chunk(chunk) => self.carriers.reduction.receive::<M>(chunk),
            event => self.shared.receive_event::<AnyUse<M>>(event),
        }
    }

    /// Receives from another part an update without an event, which counts from `due`.
    pub fn apply_update<C: FabricContext>(&mut self, ctx: &mut C, due: Time, update: RemoteUpdate) {
        let ctx = &mut Handler::<C, Everything>::new(ctx);
        let shared = &mut self.shared;
        match update {
            RemoteUpdate::Credit(credit) => self.carriers.packets.credit(ctx, shared, credit, due),
            RemoteUpdate::Loss(loss) => shared.flow.import_loss::<C>(loss),
            RemoteUpdate::Load(load) => {
                (shared.remote).record::<AnyUse<C>>(load.port, due, load.value, ctx.handled_before())
            }
        }
    }

    /// Handles an event; returns a notice for the hosts, if any.
    #[inline(always)]
    pub fn handle<C: FabricContext>(&mut self, ctx: &mut C, lp: u32, event: FabricEvent) -> Option<Notice> {
        let (carriers, shared) = (&mut self.carriers, &mut self.shared);
        with_features!(self.variant, ctx, |ctx| carriers.handle(&mut ctx, shared, lp, event))
    }

    /// Prefetches the data that `event` will need.
    #[inline(always)]
    pub fn prefetch(&self, event: &FabricEvent) {
        let flow = &self.shared.flow;
        let link = match *event {
            FabricEvent::Arrive { packet } => return self.shared.packets.prefetch(packet),
            FabricEvent::Port { port } => port,
            FabricEvent::Nic { nic } => {
                self.carriers.packets.nics.prefetch(nic);
                flow.links.ports + nic
            }
            _ => return,
        };
        flow.lines::<Plain>(link).into_iter().for_each(CacheLine::prefetch);
        flow.observers.prefetch(link);
    }
}

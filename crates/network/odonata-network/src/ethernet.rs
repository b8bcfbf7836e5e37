//! Messages over an Ethernet: between the fabric's messages and the frames of [`odonata_ethernet`].
//!
//! The routing gives the paths. Its random choices are hashes of flow, entropy and switch (ECMP), and its comparisons of
//! load look at the output queues of the switch. Virtual channels do not exist.
//!
//! ```text
//!  source:  submitted ─► frames .................. ─► last ACK: Sent
//!               \ announced after a terminal link's latency
//!  target:       copy of the message ─► .. all arrived: Arrived
//! ```
//!
//! The announcement takes no bandwidth; it precedes every frame of the message. `Sent` is the arrival of the last
//! acknowledgment: until then the sender needs its buffer.

use crate::boundary::RemoteEvent;
use crate::carrier::Carrier;
use crate::fabric::Shared;
use crate::features::{HandlerContext, Uses};
use crate::observe::Observer;
use crate::observe::statistics::{LinkStats, Measured};
use crate::params::{Detour, NetworkParams};
use crate::routing::{Choice, Header, Path, Routing};
use crate::{FabricEvent, Message, Notice, Payload};
use odonata_engine::{Mode, NIL, SendBuffer, Time};
use odonata_ethernet::{
    Ethernet, Event, Kind, Links, NEW_ROUTE, Outcome, Params, PortCounters, Remote, Route, Submission, Surroundings,
};
use odonata_topology::{LinkClass, Peer, Topology};
use odonata_units::{Bandwidth, SplitMix64};
use std::ops::Range;

/// Ethernet of a part, if messages use it.
#[derive(Debug)]
pub(crate) struct EthernetCarrier {
    ethernet: Option<Box<Ethernet>>,
    /// Delay of announcements.
    announcement: Time,
    /// Bytes of a header and of a control frame.
    header: u64,
    control: u64,
}
odonata_engine::journalled!(EthernetCarrier { ethernet });

/// The links of a machine.
struct Cables<'a> {
    params: &'a NetworkParams,
    topology: &'a Topology,
}

impl Cables<'_> {
    fn latency(&self, port: u32) -> Time {
        let class = self.params.link(self.topology.medium(port));
        self.topology.latency(port).unwrap_or(*class.latency)
    }
}

impl Links for Cables<'_> {
    fn port(&self, port: u32) -> (Bandwidth, Time) {
        let to_node = matches!(self.topology.peer(port), Peer::Node(_));
        let (class, factor) = (self.topology.medium(port), self.topology.factor(port));
        let delay = if to_node { Time::ZERO } else { self.params.router_delay };
        (
            self.params.bandwidth(class, factor, to_node),
            self.latency(port) + delay,
        )
    }

    fn nic(&self, node: u32) -> (Bandwidth, Time) {
        let link = self.params.bandwidth(LinkClass::Terminal, 1.0, false);
        let rate = self.params.nic_rate(node).map_or(link.0, |rate| rate.0.min(link.0));
        let latency = self.latency(self.topology.node_port(node)) + self.params.router_delay;
        (Bandwidth(rate), latency)
    }
}

impl EthernetCarrier {
    /// That of `routers` and their `nodes`.
    pub(crate) fn new(
        params: &NetworkParams,
        topology: &Topology,
        routers: Range<u32>,
        nodes: Range<u32>,
    ) -> EthernetCarrier {
        let terminal = params.link(LinkClass::Terminal);
        let ethernet = EthernetCarrier::resolved(params).map(|resolved| {
            let links = Cables { params, topology };
            Box::new(Ethernet::new(
                resolved,
                topology,
                (routers, nodes),
                &links,
                params.traffics,
            ))
        });
        let control = (params.ethernet.as_ref()).map_or(0, |settings| settings.control_packet.0);
        EthernetCarrier {
            ethernet,
            announcement: *terminal.latency,
            header: params.header,
            control,
        }
    }

    /// The parameters of the Ethernet of a machine, if messages use it.
    pub(crate) fn resolved(params: &NetworkParams) -> Option<Params> {
        let bandwidth = *params.link(LinkClass::Terminal).bandwidth;
        let sizes = (params.packet, params.header);
        (params.ethernet.as_ref()).map(|settings| Params::new(settings, bandwidth, sizes, params.seed))
    }

    /// Receives from another part. Returns the event of its arrival.
    pub(crate) fn receive<M: Mode>(&mut self, remote: Remote) -> FabricEvent {
        let ethernet = self.ethernet.as_mut().expect("parts agree on their carriers");
        FabricEvent::Ethernet(ethernet.receive::<M>(remote))
    }

    /// Adds counters of links and flows.
    pub(crate) fn measure(&self, measured: &mut Measured) {
        let Some(ethernet) = &self.ethernet else {
            return;
        };
        let counters: Vec<PortCounters> = ethernet.port_counters().copied().collect();
        let (ports, nics) = counters.split_at(measured.ports.len());
        let links = measured.ports.iter_mut().chain(&mut measured.nics);
        for (link, counted) in links.zip(&counters) {
            self.count(link, counted);
        }
        (measured.ethernet_ports, measured.ethernet_nics) = (ports.to_vec(), nics.to_vec());
        measured.ethernet = ethernet.transport_counters().copied().collect();
        measured.roce = ethernet.roce_counters().copied().collect();
        measured.ethernet_flows = ethernet.records();
    }

    fn count(&self, link: &mut LinkStats, counted: &PortCounters) {
        let overhead = counted.data * self.header + counted.control * self.control;
        link.bytes += counted.bytes.saturating_sub(overhead);
        link.packets += counted.data + counted.control;
        link.busy += counted.busy;
        link.stall += counted.paused;
        link.stalled += counted.pauses;
    }
}

impl<P: Payload> Carrier<P> for EthernetCarrier {
    fn submit<C: HandlerContext>(&mut self, ctx: &mut C, shared: &mut Shared<P>, slot: u32) -> Option<Notice> {
        let ethernet = self.ethernet.as_mut()?;
        let message = *shared.messages.get(slot);
        let packet = shared.setup.params.packet;
        shared.flow.observers.message_submitted::<C, _>(&message, packet);
        let now = ctx.now();
        let submission = Submission {
            message: if message.notify_sent { slot } else { NIL },
            source: message.source,
            target: message.target,
            bytes: message.bytes,
            traffic: message.traffic,
            created: message.queued,
        };
        let number = ethernet.submit(&mut Around::new(ctx, shared), &submission);
        let copy = Message {
            number,
            queued: now,
            next: NIL,
            ..message
        };
        if !message.notify_sent {
            shared.messages.free::<C>(slot);
        }
        let to = shared.routes.process_of(message.target);
        let at = now + self.announcement;
        if shared.setup.routers.contains(&to) {
            let slot = shared.messages.allocate::<C>(copy);
            ctx.send(to, at, FabricEvent::Ethernet(Event::new(Kind::Open, slot)).into());
        } else {
            let events = &mut shared.boundary.send_buffer.events;
            events.push((to, at, RemoteEvent::Announced(copy)));
        }
        None
    }

    fn handle<C: HandlerContext>(
        &mut self,
        ctx: &mut C,
        shared: &mut Shared<P>,
        lp: u32,
        event: FabricEvent,
    ) -> Option<Notice> {
        let FabricEvent::Ethernet(event) = event else {
            return None;
        };
        let ethernet = self.ethernet.as_mut()?;
        if event.kind == Kind::Open {
            let slot = event.index;
            let Message {
                source,
                number,
                target,
                bytes,
                ..
            } = *shared.messages.get(slot);
            ethernet.open(&Around::new(ctx, shared), slot, (source, number), target, bytes);
            return None;
        }
        match ethernet.handle(&mut Around::new(ctx, shared), lp, event)? {
            Outcome::Acknowledged(NIL) => None,
            Outcome::Acknowledged(message) => Some(Notice::Sent { message }),
            Outcome::Arrived(slot) => {
                let message = *shared.messages.get(slot);
                (shared.flow.observers).message_delivered_whole::<C, P>(&message, ctx.now());
                if message.notify_arrived {
                    return Some(Notice::Arrived { message: slot });
                }
                shared.messages.free::<C>(slot);
                None
            }
        }
    }

    fn note_sent<M: Uses>(&mut self, shared: &mut Shared<P>, slot: u32) {
        shared.messages.free::<M>(slot);
    }

    fn least_delay(&self) -> Option<Time> {
        self.ethernet.as_ref().map(|_| self.announcement)
    }

    fn audit(&self) -> Result<(), String> {
        self.ethernet.as_ref().map_or(Ok(()), |ethernet| ethernet.audit())
    }
}

/// What handlers of Ethernet use of the fabric.
struct Around<'a, C, P> {
    ctx: &'a mut C,
    detour: &'a Detour,
    routing: &'a Routing,
    routers: &'a Range<u32>,
    out: &'a mut SendBuffer<RemoteEvent<P>, crate::RemoteUpdate>,
}

impl<'a, C, P: Payload> Around<'a, C, P> {
    fn new(ctx: &'a mut C, shared: &'a mut Shared<P>) -> Self {
        Around {
            ctx,
            detour: &shared.setup.params.detour,
            routing: &shared.routes.routing,
            routers: &shared.setup.routers,
            out: &mut shared.boundary.send_buffer,
        }
    }
}

impl<C: Mode, P> Mode for Around<'_, C, P> {
    const JOURNAL: bool = C::JOURNAL;
}

impl<C: HandlerContext, P: Payload> Surroundings for Around<'_, C, P> {
    fn now(&self) -> Time {
        self.ctx.now()
    }

    fn send(&mut self, process: u32, at: Time, event: Event) {
        debug_assert!(self.routers.contains(&process), "an event of this part");
        self.ctx.send(process, at, FabricEvent::Ethernet(event).into());
    }

    fn export(&mut self, process: u32, at: Time, remote: Remote) {
        self.out.events.push((process, at, RemoteEvent::Ethernet(remote)));
    }

    fn route(&mut self, router: u32, target: u32, state: Route, hash: u64, load: &dyn Fn(u32) -> u64) -> (u32, Route) {
        let mut choice = Hashed {
            draws: SplitMix64(hash),
            detour: self.detour,
            load,
        };
        let mut header = match state {
            NEW_ROUTE => Header::new(target),
            [via, position, notes] => Header {
                target,
                via,
                via_reached: position >> 8 != 0,
                level: position as u8,
                notes: notes as u16,
            },
        };
        let port = self.routing.decide(router, &mut header, &mut choice).port;
        let position = u32::from(header.via_reached) << 8 | u32::from(header.level);
        (port, [header.via, position, u32::from(header.notes)])
    }
}

/// Answers a routing from the hash of a frame, and from the queues of its switch.
struct Hashed<'a> {
    draws: SplitMix64,
    detour: &'a Detour,
    load: &'a dyn Fn(u32) -> u64,
}

impl Choice for Hashed<'_> {
    fn pick(&mut self, n: u32) -> u32 {
        self.draws.below(n)
    }
    fn lighter(&mut self, a: u32, b: u32) -> bool {
        (self.load)(a) < (self.load)(b)
    }
    fn divert(&mut self, minimal: Path, other: Path) -> bool {
        let load = |path: Path| ((self.load)(path.port), path.hops);
        self.detour.decide(load(minimal), load(other))
    }
    fn room(&mut self, _: u32, _: u8) -> bool {
        true
    }
}

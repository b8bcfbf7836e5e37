//! The analytic model of a fabric: messages by the LogGP model (A. Alexandrov, M. Ionescu, K. Schauser, C. Scheiman,
//! SPAA 1995).
//!
//! For a message of s bytes, with s' = max(s - 1, 0):
//!
//! ```text
//! sender's interface    |<- s' G ->|<- g ->| next message      begun in the order of submission
//!                       |--- L --->|
//! receiver's interface             |<- s' G ->|<- g ->|        begun in the order of arrival of first bytes
//!                                             delivered
//! ```
//!
//! A message between idle interfaces is delivered L + s' G after submission. Messages share only interfaces: there are
//! no routers, links or credits, and no contention between jobs in the network. The overheads of hosts, o, are modeled
//! by the hosts.
//!
//! A message has up to four events: submission; sent, if requested; the first byte at the receiver's interface, L after
//! it has left, which is the lookahead of parallel runs; delivery.

use crate::boundary::RemoteEvent;
use crate::carrier::Carrier;
use crate::fabric::Shared;
use crate::features::{HandlerContext, Uses};
use crate::message::EXPECTED;
use crate::observe::Observer;
use crate::params::LogGp;
use crate::{FabricEvent, Notice, Payload};
use odonata_engine::{Store, Time};

/// When the interface of a node is free for the next message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Interface {
    send: Time,
    receive: Time,
}

/// The interfaces of the nodes of a part.
#[derive(Debug)]
pub(crate) struct Analytic {
    params: Option<LogGp>,
    interfaces: Store<Interface>,
}
odonata_engine::journalled!(Analytic { interfaces });

impl Analytic {
    /// The interfaces of `nodes` nodes; `None`: no message uses this model.
    pub(crate) fn new(params: Option<LogGp>, nodes: usize) -> Analytic {
        let interfaces = if params.is_some() { nodes } else { 0 };
        Analytic {
            params,
            interfaces: Store::filled(interfaces, Interface::default()),
        }
    }

    /// The first byte of a message has reached the interface of its target.
    fn receive<C: HandlerContext, P: Payload>(
        &mut self,
        ctx: &mut C,
        shared: &mut Shared<P>,
        model: LogGp,
        slot: u32,
    ) -> Option<Notice> {
        let message = *shared.messages.get(slot);
        let now = ctx.now();
        let bytes = model.bytes(message.bytes);
        let interface = self.interfaces.edit::<C>(shared.flow.links.nic(message.target));
        let start = now.max(interface.receive);
        interface.receive = start + model.gap + bytes;
        let delivered = start + bytes;
        (shared.flow.observers).message_delivered_whole::<C, P>(&message, delivered);
        if message.notify_arrived {
            if delivered == now {
                return Some(Notice::Arrived { message: slot });
            }
            let lp = shared.routes.process_of(message.target);
            ctx.send(lp, delivered, FabricEvent::Arrived { message: slot }.into());
        } else if message.notify_sent && shared.flow.links.holds(message.source) {
            // Its sender has not processed the notice yet.
            shared.messages.edit::<C>(slot).home = EXPECTED;
        } else {
            shared.messages.free::<C>(slot);
        }
        None
    }
}

impl<P: Payload> Carrier<P> for Analytic {
    /// The message goes to the interface of its source.
    fn submit<C: HandlerContext>(&mut self, ctx: &mut C, shared: &mut Shared<P>, slot: u32) -> Option<Notice> {
        let model = self.params?;
        let message = *shared.messages.get(slot);
        let packet = shared.setup.params.packet;
        shared.flow.observers.message_submitted::<C, _>(&message, packet);
        let now = ctx.now();
        let bytes = model.bytes(message.bytes);
        let interface = self.interfaces.edit::<C>(shared.flow.links.nic(message.source));
        let start = now.max(interface.send);
        interface.send = start + model.gap + bytes;
        shared.messages.edit::<C>(slot).queued = start;
        let to = shared.routes.process_of(message.target);
        let arrives = start + model.latency;
        let stays = shared.flow.links.holds(message.target);
        if stays {
            ctx.send(to, arrives, FabricEvent::Incoming { message: slot }.into());
        } else {
            let copy = *shared.messages.get(slot);
            let events = &mut shared.boundary.send_buffer.events;
            events.push((to, arrives, RemoteEvent::Message(copy)));
        }
        if message.notify_sent {
            if start + bytes == now {
                return Some(Notice::Sent { message: slot });
            }
            let lp = shared.routes.process_of(message.source);
            ctx.send(lp, start + bytes, FabricEvent::Sent { message: slot }.into());
        } else if !stays {
            shared.messages.free::<C>(slot);
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
        match event {
            FabricEvent::Incoming { message } => self.receive(ctx, shared, self.params?, message),
            _ => {
                debug_assert!(false, "{event:?} belongs to another carrier");
                None
            }
        }
    }

    fn note_sent<M: Uses>(&mut self, shared: &mut Shared<P>, slot: u32) {
        let message = *shared.messages.get(slot);
        let stays = shared.flow.links.holds(message.target);
        if !stays || message.home == EXPECTED {
            shared.messages.free::<M>(slot);
        } else {
            shared.messages.edit::<M>(slot).notify_sent = false;
        }
    }

    fn least_delay(&self) -> Option<Time> {
        self.params.map(|model| model.latency)
    }

    fn audit(&self) -> Result<(), String> {
        Ok(())
    }
}

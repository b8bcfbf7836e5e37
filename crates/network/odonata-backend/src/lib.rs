//! The network as a backend: another program sends the messages and advances the time.
//!
//! A crate of its own, because it compiles all handlers of the fabric once more: in `odonata-machine`, a second caller would
//! change what is inlined into the first.
//!
//! The caller is outside the order rule, so it acts between events: a message is sent a picosecond after the time that the
//! network has reached. The same calls give the same results.

use odonata_engine::{Context, Digest, Injection, Lp, Model, Pause, SendBuffer, Sequential, Time};
use odonata_network::routing::Routing;
use odonata_network::{FabricEvent, LinkStats, Message, Notice, RemoteEvent, RemoteUpdate, TrafficStats};
use std::ops::Range;

/// The content of a message: its number.
type Number = [u32; 1];
/// The fabric of a backend.
pub type Fabric = odonata_network::Fabric<Number>;

/// What has happened to a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageEvent {
    /// Its number, from 0 in the order of sends.
    pub message: u32,
    /// Whether its last byte has arrived; otherwise its last packet starts to leave its node.
    pub is_delivered: bool,
    /// When.
    pub at: Time,
}

/// The fabric as a model of its own.
#[derive(Debug)]
struct Bare {
    fabric: Fabric,
    /// Events that the caller has not taken.
    events: Vec<MessageEvent>,
}
odonata_engine::journalled!(Bare { fabric });

impl Bare {
    fn note(&mut self, slot: u32, is_delivered: bool, at: Time) {
        let [message] = self.fabric.message(slot).content;
        self.events.push(MessageEvent {
            message,
            is_delivered,
            at,
        });
    }
}

impl Model for Bare {
    type Event = FabricEvent;
    type RemoteEvent = RemoteEvent<Number>;
    type RemoteUpdate = RemoteUpdate;

    fn processes(&self) -> Range<Lp> {
        self.fabric.processes()
    }

    fn start<C: Context<Event = FabricEvent>>(&mut self, _: &mut C, _: Lp) {}

    #[inline]
    fn handle<C: Context<Event = FabricEvent>>(&mut self, ctx: &mut C, lp: Lp, event: FabricEvent) {
        match self.fabric.handle(ctx, lp, event) {
            Some(Notice::Sent { message }) => {
                self.note(message, false, ctx.now());
                self.fabric.note_sent::<C>(message);
            }
            Some(Notice::Arrived { message }) => {
                self.note(message, true, ctx.now());
                self.fabric.release::<C>(message);
            }
            // No rank contributes to a sum in routers.
            Some(Notice::Reduced { .. }) | None => {}
        }
    }

    fn send_buffer(&mut self) -> &mut SendBuffer<RemoteEvent<Number>, RemoteUpdate> {
        self.fabric.send_buffer()
    }

    fn receive_event<C: Context<Event = FabricEvent>>(
        &mut self,
        _: &mut C,
        _: Lp,
        event: RemoteEvent<Number>,
    ) -> FabricEvent {
        self.fabric.receive_event::<C>(event)
    }

    fn apply_update<C: Context<Event = FabricEvent>>(&mut self, ctx: &mut C, _: Lp, at: Time, update: RemoteUpdate) {
        self.fabric.apply_update(ctx, at, update);
    }

    fn lookahead(&self, from: Lp, to: Lp) -> Time {
        self.fabric.lookahead(from, to)
    }

    fn results(&self, digest: &mut Digest) {
        self.fabric.results(digest);
    }
}

/// A message to submit.
struct Submission {
    at: Time,
    message: Message<Number>,
}

impl Injection<Bare> for Submission {
    fn apply<C: Context<Event = FabricEvent>>(self, model: &mut Bare, ctx: &mut C) {
        model.fabric.submit(ctx, self.at, self.message);
    }
}

/// A network that another program drives.
pub struct Network {
    run: Sequential<Bare>,
    now: Time,
    sent: u32,
}

impl Network {
    /// The idle network of `fabric`, which is whole, at time 0.
    pub fn new(fabric: Fabric) -> Network {
        let events = Vec::new();
        Network {
            run: Sequential::new(Bare { fabric, events }),
            now: Time::ZERO,
            sent: 0,
        }
    }

    /// The time that the network has reached.
    pub fn now(&self) -> Time {
        self.now
    }

    /// Messages sent so far.
    pub fn sent(&self) -> u32 {
        self.sent
    }

    /// Sends `bytes` from node `source` to node `target`, a picosecond after now or at `at`, if that is later. Its arrival is
    /// an event, and if `notify_sent` also the start of its last packet. Returns the number of the message.
    ///
    /// # Errors
    /// There is no such node, or the message is too large or too late.
    pub fn send(
        &mut self,
        (source, target): (u32, u32),
        bytes: u64,
        at: Option<Time>,
        notify_sent: bool,
    ) -> Result<u32, String> {
        const MOST_BYTES: u64 = 1 << 50;
        const LATEST: Time = Time(1 << 62);
        let nodes = self.fabric().routing().topology().nodes();
        if let Some(node) = [source, target].into_iter().find(|&node| node >= nodes) {
            return Err(format!(
                "there is no node {node}: they are numbered from 0 to {}",
                nodes - 1
            ));
        }
        if bytes > MOST_BYTES {
            return Err(format!("a message of {bytes} bytes: at most 2^50 are possible"));
        }
        let at = Time(self.now.0.saturating_add(1)).max(at.unwrap_or(Time::ZERO));
        if at > LATEST || self.sent == u32::MAX {
            return Err("a message after 2^62 ps, or the 2^32th message".into());
        }
        let mut message = Message::new(source, target, bytes, 0, at, [self.sent]);
        message.notify_sent = notify_sent;
        let lp = self.fabric().process_of(source);
        self.run.inject(lp, Submission { at, message });
        self.sent += 1;
        Ok(self.sent - 1)
    }

    /// Advances to the next event of a message, and then not beyond it, but to `until` at most. Returns all events of
    /// messages at the time reached; none if `until` is reached, or if nothing is left to do.
    pub fn advance(&mut self, until: Time) -> Vec<MessageEvent> {
        while self.run.model().events.is_empty() && self.now < until {
            match self.run.run(until, 1) {
                Pause::Budget => self.now = self.now.max(self.run.now()),
                _ => {
                    self.now = match until {
                        Time::NEVER => self.now.max(self.run.now()),
                        _ => until,
                    };
                    break;
                }
            }
        }
        // What else happens at this time: a message that is sent now comes after it.
        self.run.run(self.now, u64::MAX);
        std::mem::take(&mut self.run.model_mut().events)
    }

    /// Whether nothing is in flight.
    pub fn is_idle(&self) -> bool {
        self.run.queued() == 0
    }

    /// When something happens next within the network: no event of a message comes earlier. None if nothing is in flight.
    pub fn next_time(&self) -> Option<Time> {
        self.run.next_time()
    }

    fn fabric(&self) -> &Fabric {
        &self.run.model().fabric
    }

    /// The counters of all messages together.
    pub fn totals(&self) -> TrafficStats {
        self.fabric().traffic_stats().iter().copied().next().unwrap_or_default()
    }

    /// The counters of each link: first those of the routers' ports in order, then those of the nodes.
    pub fn links(&self) -> Vec<LinkStats> {
        let measured = self.fabric().measured();
        let mut links = measured.ports;
        links.extend(measured.nics);
        links
    }

    /// The routing, which has the graph.
    pub fn routing(&self) -> &Routing {
        self.fabric().routing()
    }
}

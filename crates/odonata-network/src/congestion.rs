//! Congestion control between the ends of the network, besides the credits between its routers.
//!
//! Credits stop a packet that has nowhere to go, and with it those behind it: a node that is sent more than its link can take
//! fills the buffers of one router after the other, and everybody who crosses these suffers. Congestion control slows down the
//! flows that cause it, at their source ([`limits`](crate::limits)). Somebody notices, the source is notified, the source acts:
//!
//! | | `Ecn` | `PerFlow` |
//! |---|---|---|
//! | notices | any router port, when a packet leaves and more than `threshold` bytes wait behind it: the packet is marked | the router in front of a node that is sent too much |
//! | notified | the source of a marked packet, when it has arrived | the source of every packet that arrives at that node, with the rate that each may have |
//! | acts | its rate to that node is multiplied by `1 - decrease`, at most once in `interval` | takes that rate for that node |
//! | recovers | at once | when it has heard nothing for the time of [`HOLD`] packets |
//! | after | InfiniBand's congestion control (E. Gran et al., IPDPS 2010), DCQCN (Y. Zhu et al., SIGCOMM 2015) | what is known of Slingshot (D. De Sensi et al., SC 2020) |
//!
//! Recovery is additive in both: from nothing to the rate of the link in `recovery`.
//!
//! **The rate in front of a node.** Slingshot's law is not published. Here it is RCP's (N. Dukkipati, N. McKeown, CCR 2006): all flows
//! to a node get the same rate `R`, a part of the link's, and once in a period of `T`, in which the link could have sent `C` bytes,
//! `A` have come for it, and `q` bytes wait in the end,
//!
//! ```text
//! R <- R (1 + (C - A) / 2C - max(q - threshold, 0) / 2C),  by no more than a half up or down
//! T  = max(interval, 2 packets at rate R)
//! ```
//!
//! so that a flow has heard of one rate before the next is found. Control begins when more than `threshold` bytes wait, and ends when
//! `R` is back at 1. A flow that sends less than `R` is not delayed.
//!
//! **What waits for a port** is counted over all traffic classes: the packets that are routed to it, and with input FIFOs, whose
//! heads alone are routed, all of the FIFOs whose heads are. What waits farther back, behind a full buffer, is not seen.
//!
//! **Simplification.** A notification goes back router by router on the path that the routing has for it without any load, and takes the
//! time of an idle network: latencies and pipelines. It occupies no link and waits for nothing, and it is no packet in any count.

use crate::FabricEvent;
use crate::Notice;
use crate::border::Parcel;
use crate::fabric::Fabric;
use crate::limits::Limits;
use crate::params::{CongestionControl, NetworkParams};
use crate::routing::{Choice, Header, Path};
use odonata_engine::{Context, Mode, NIL, Pool, Slot, Store, Time};

/// For how many packets at its rate a flow waits for the next notification of [`CongestionControl::PerFlow`].
const HOLD: f64 = 8.0;

/// A notification on its way.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct Notification {
    /// On its way to the source of the flow.
    pub(crate) header: Header,
    /// Where the flow goes.
    pub(crate) about: u32,
    pub(crate) class: u8,
    /// It is on the last link.
    arriving: bool,
    /// The rate of the flow, as a part of the link's; 0: it is told to slow down.
    pub(crate) rate: f64,
    next: u32,
}

impl Notification {
    pub(crate) fn new(header: Header, about: u32, class: u8, rate: f64) -> Notification {
        Notification {
            header,
            about,
            class,
            arriving: false,
            rate,
            next: NIL,
        }
    }
}

impl Slot for Notification {
    fn next(&self) -> u32 {
        self.next
    }
    fn set_next(&mut self, next: u32) {
        self.next = next;
    }
}

/// What is known in front of a node.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
struct Edge {
    /// R.
    rate: f64,
    /// Since when the period lasts; [`Time::NEVER`]: nobody is limited.
    since: Time,
    /// Bytes sent since then, and bytes that waited then.
    sent: u64,
    waiting: u64,
}

impl Edge {
    const IDLE: Edge = Edge {
        rate: 1.0,
        since: Time::NEVER,
        sent: 0,
        waiting: 0,
    };
}

/// The state of congestion control in a part.
#[derive(Debug)]
pub(crate) struct Control {
    kind: CongestionControl,
    pub(crate) limits: Limits,
    pub(crate) notifications: Pool<Notification>,
    /// By node of the part, if rates are found there.
    edges: Store<Edge>,
}
odonata_engine::journalled!(Control {
    limits,
    notifications,
    edges
});

/// The path of a notification: no load anywhere, the first of what is alike.
struct Unloaded;

impl Choice for Unloaded {
    fn pick(&mut self, _: u32) -> u32 {
        0
    }
    fn lighter(&mut self, _: u32, _: u32) -> bool {
        false
    }
    fn divert(&mut self, _: Path, _: Path) -> bool {
        false
    }
    fn room(&mut self, _: u32, _: u8) -> bool {
        true
    }
}

impl Control {
    pub(crate) fn new(params: &NetworkParams, nodes: usize) -> Control {
        let kind = params.congestion;
        let (lanes, recovery) = match kind {
            CongestionControl::None => (0, Time(1)),
            CongestionControl::Ecn(ecn) => (nodes * usize::from(params.classes.count()), ecn.recovery),
            CongestionControl::PerFlow(flow) => (nodes * usize::from(params.classes.count()), flow.recovery),
        };
        let edges = match kind {
            CongestionControl::PerFlow(_) => nodes,
            CongestionControl::None | CongestionControl::Ecn(_) => 0,
        };
        Control {
            kind,
            limits: Limits::new(lanes, recovery),
            notifications: Pool::new(),
            edges: Store::filled(edges, Edge::IDLE),
        }
    }

    #[inline(always)]
    pub(crate) fn is_on(&self) -> bool {
        !matches!(self.kind, CongestionControl::None)
    }

    pub(crate) fn memory(&self) -> usize {
        self.limits.memory() + self.notifications.memory() + self.edges.memory()
    }
}

impl Fabric {
    /// Bytes that wait for router port `port`, of all classes. Of an input FIFO whose head does, all of it.
    fn queued_bytes(&self, port: u32) -> u64 {
        let out = self.flow.ports.get(port);
        let flits = match self.full_packet {
            Some(flits) => u64::from(out.waiting) * u64::from(flits),
            None if self.fifo => self.flits_in_fifos(port),
            None => u64::from(out.waiting_flits),
        };
        flits * self.params.flit
    }

    /// Flits in the FIFOs whose heads wait for `port`.
    fn flits_in_fifos(&self, port: u32) -> u64 {
        if self.flow.ports.get(port).waiting == 0 {
            return 0;
        }
        let link = self.flow.links.get(port);
        let mut flits = 0;
        for vc in 0..u32::from(link.vcs) {
            let mut at = self.flow.vcs.get(link.first_vc + vc).queue.head;
            while at != NIL {
                let head = self.packets.get(at);
                flits += u64::from(self.inputs.get(head.buffer).flits);
                at = head.next_waiting;
            }
        }
        flits
    }

    /// `packet`, of `bytes`, leaves router port `port` now, and waits for nothing any more; it will be at its node at `arrival`,
    /// if it goes to one.
    pub(crate) fn watch_congestion<E, C>(&mut self, ctx: &mut C, packet: u32, port: u32, arrival: Option<Time>)
    where
        E: Copy + From<FabricEvent>,
        C: Context<E>,
    {
        let waiting = self.queued_bytes(port);
        match (self.control.kind, arrival) {
            (CongestionControl::None, _) => {}
            (CongestionControl::Ecn(ecn), arrival) => {
                if waiting > ecn.threshold && !self.packets.get(packet).marked {
                    self.packets.edit::<C>(packet).marked = true;
                }
                if let Some(arrival) = arrival
                    && self.packets.get(packet).marked
                {
                    self.notify::<E, C>(ctx, packet, port, arrival, 0.0);
                }
            }
            (CongestionControl::PerFlow(_), None) => {}
            (CongestionControl::PerFlow(_), Some(arrival)) => {
                let bytes = self.packets.get(packet).bytes;
                let rate = self.pass_edge::<C>(port, bytes, waiting, ctx.now());
                if rate < 1.0 {
                    self.notify::<E, C>(ctx, packet, port, arrival, rate);
                }
            }
        }
    }

    /// A packet of `bytes` leaves terminal port `port`, `waiting` bytes stay behind; the rate of flows to its node.
    fn pass_edge<M: Mode>(&mut self, port: u32, bytes: u32, waiting: u64, now: Time) -> f64 {
        let CongestionControl::PerFlow(control) = self.control.kind else {
            return 1.0;
        };
        let link = *self.flow.links.get(port);
        let node = self.flow.links.nic(link.far);
        let edge = *self.control.edges.get(node);
        if edge.since == Time::NEVER {
            if waiting > control.threshold {
                *self.control.edges.edit::<M>(node) = Edge {
                    rate: 1.0,
                    since: now,
                    sent: 0,
                    waiting,
                };
            }
            return 1.0;
        }
        let edge = self.control.edges.edit::<M>(node);
        let packet = link.serialisation(self.params.packet as u32).0 as f64;
        let period = (2.0 * packet / edge.rate).max(control.interval.0 as f64);
        let elapsed = (now - edge.since).0 as f64;
        if elapsed >= period {
            // 1,000,000 bytes are long enough for the division: on the fastest links they take some time, where a packet
            // may take none.
            let per_byte = link.serialisation(1_000_000).0 as f64 / 1e6;
            let could = (elapsed / per_byte).max(1.0);
            let came = edge.sent as f64 + waiting as f64 - edge.waiting as f64;
            let excess = waiting.saturating_sub(control.threshold) as f64;
            let change = (0.5 * (could - came) - 0.5 * excess) / could;
            edge.rate *= 1.0 + change.clamp(-0.5, 0.5);
            // Flows that have paused have recovered meanwhile.
            let paused = (elapsed - HOLD * period).max(0.0);
            edge.rate = (edge.rate + paused / control.recovery.0 as f64).max(crate::limits::LEAST_RATE);
            (edge.since, edge.sent, edge.waiting) = (now, 0, waiting);
            if edge.rate >= 1.0 {
                edge.rate = 1.0;
                if waiting <= control.threshold {
                    edge.since = Time::NEVER;
                }
            }
        }
        edge.sent += u64::from(bytes);
        edge.rate
    }

    /// Sends a notification to the source of `packet`, which leaves `port` for its node and is there at `arrival`.
    #[cold]
    fn notify<E, C>(&mut self, ctx: &mut C, packet: u32, port: u32, arrival: Time, rate: f64)
    where
        E: Copy + From<FabricEvent>,
        C: Context<E>,
    {
        let p = *self.packets.get(packet);
        let source = self.messages.get(p.message).source;
        let link = *self.flow.links.get(port);
        let notification = Notification::new(Header::new(source), p.header.target, p.class, rate);
        let slot = self.control.notifications.take::<C>(notification);
        let at = arrival + link.latency + self.params.routing_delay();
        ctx.send(
            link.lp,
            at.max(Time(ctx.now().0 + 1)),
            FabricEvent::Notify { notification: slot }.into(),
        );
    }

    /// A notification is at `router`: it goes on, or is taken in by the NIC of the source.
    #[cold]
    pub(crate) fn pass_notification<E, C>(&mut self, ctx: &mut C, router: u32, slot: u32) -> Option<Notice>
    where
        E: Copy + From<FabricEvent>,
        C: Context<E>,
    {
        let mut notification = *self.control.notifications.get(slot);
        if notification.arriving {
            self.control.notifications.give::<C>(slot);
            return self.heed::<E, C>(ctx, &notification);
        }
        let decision = self.routing.decide(router, &mut notification.header, &mut Unloaded);
        let link = *self.flow.links.get(self.flow.links.port(decision.port));
        notification.arriving = link.to_node;
        let at = ctx.now() + (link.latency + self.params.routing_delay()).max(Time(1));
        if link.leaves {
            self.control.notifications.give::<C>(slot);
            self.outbox
                .parcels
                .push((link.far_lp, at, Parcel::notification(&notification)));
            return None;
        }
        *self.control.notifications.edit::<C>(slot) = notification;
        ctx.send(link.far_lp, at, FabricEvent::Notify { notification: slot }.into());
        None
    }

    /// The NIC of its source slows a flow down.
    fn heed<E, C>(&mut self, ctx: &mut C, notification: &Notification) -> Option<Notice>
    where
        E: Copy + From<FabricEvent>,
        C: Context<E>,
    {
        let now = ctx.now();
        let nic = self.flow.links.nic(notification.header.target);
        let lane = self.lane(nic, notification.class);
        let (target, limits) = (notification.about, &mut self.control.limits);
        limits.prune::<C>(lane, now);
        let mut limit = limits.find(lane, target);
        let known = limit != NIL;
        if !known {
            let link = self.flow.links.get(self.flow.links.ports + nic);
            let packet = link.serialisation(self.params.packet as u32);
            limit = limits.create::<C>(lane, target, now, packet)?;
        }
        match self.control.kind {
            CongestionControl::None => {}
            CongestionControl::PerFlow(_) => limits.set_rate::<C>(limit, notification.rate, now, HOLD),
            CongestionControl::Ecn(ecn) => {
                if !known || now >= limits.get(limit).updated() + ecn.interval {
                    let rate = limits.rate(limit, now) * (1.0 - ecn.decrease);
                    limits.set_rate::<C>(limit, rate, now, 0.0);
                }
            }
        }
        if !known {
            self.move_messages::<C>(lane, limit);
        }
        self.serve_nic::<E, C>(ctx, nic)
    }

    /// Moves the messages of a flow that is limited from now on into its queue.
    fn move_messages<M: Mode>(&mut self, lane: u32, limit: u32) {
        let target = self.control.limits.get(limit).target;
        let cell = *self.nics.get(lane);
        let (mut at, mut kept) = (cell.queue.head, odonata_engine::List::EMPTY);
        let mut moved = false;
        while at != NIL {
            let message = *self.messages.get(at);
            if message.target == target {
                moved = true;
                self.control.limits.push::<M>(&mut self.messages, limit, at);
                if at == cell.queue.head {
                    self.control.limits.resume::<M>(limit, cell.unsent);
                }
            } else if moved {
                kept.push::<M, _>(&mut self.messages, at);
            } else {
                // Nothing before it is taken out: it keeps its place.
                kept = odonata_engine::List {
                    head: if kept.is_empty() { at } else { kept.head },
                    tail: at,
                };
            }
            at = message.next;
        }
        if !moved {
            return;
        }
        if kept.tail != NIL && self.messages.get(kept.tail).next != NIL {
            self.messages.edit::<M>(kept.tail).next = NIL;
        }
        let unsent = match kept.head {
            NIL => 0,
            head if head == cell.queue.head => cell.unsent,
            head => self.messages.get(head).bytes,
        };
        let cell = self.nics.edit::<M>(lane);
        (cell.queue, cell.unsent) = (kept, unsent);
    }
}

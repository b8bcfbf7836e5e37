//! End-to-end congestion control, in addition to the credits between routers.
//!
//! Credits stop a packet without room, and head-of-line blocking stops the packets behind it. A node that is sent more
//! than its link carries fills the buffers of one router after another, which delays all traffic through them.
//! Congestion control slows down the flows that cause it, at their source ([`limits`](super::rate_limits)):
//!
//! | | `Ecn` | `PerFlow` |
//! |---|---|---|
//! | detection | any router port, when a packet departs with more than `threshold` bytes waiting behind it: the packet is marked | the last router before an overloaded node |
//! | notified | the source of a marked packet, on delivery | the source of every packet that arrives at that node, with the rate for each flow |
//! | action | its rate to that node is multiplied by `1 - decrease`, at most once per `interval` | it adopts that rate for that node |
//! | recovery | starts at once | starts after the time of [`HOLD`] packets without a notification |
//! | model | InfiniBand's congestion control (E. Gran et al., IPDPS 2010), DCQCN (Y. Zhu et al., SIGCOMM 2015) | published facts on Slingshot (D. De Sensi et al., SC 2020) |
//!
//! Recovery is additive in both: from zero to the rate of the link in `recovery`.
//!
//! `PerPair` limits the packets in flight instead of rates: [`windows`](super::pair_windows).
//!
//! **Rate control at the last router.** Slingshot's law is not published. The model uses RCP's (N. Dukkipati, N.
//! McKeown, CCR 2006): all flows to a node get the same rate `R`, as a fraction of the link's. In a period `T` the link
//! could have sent `C` bytes, `A` bytes have arrived for it, and `q` bytes wait at the end:
//!
//! ```text
//! R <- R (1 + (C - A) / 2C - max(q - threshold, 0) / 2C),  by no more than a half up or down
//! T  = max(interval, 2 packets at rate R)
//! ```
//!
//! `C` excludes the time in which a pipelined router's link idled although packets waited: a virtual channel needs some
//! cycles between packets. `T` is long enough for a flow to learn one rate before the next is computed. Control begins
//! when more than `threshold` bytes wait, and ends when `R` is back at 1. A flow that sends less than `R` is not
//! delayed.
//!
//! **The backlog of a port** covers all traffic classes: the packets routed to it, and all of an input FIFO whose head
//! is routed to it. Packets behind a full buffer upstream are not included. The buffers of pipelined routers are such
//! FIFOs; their arrived flits count, and those that have crossed but not completed their transmission. A packet departs
//! there with its head, at the last router with its tail.
//!
//! **Simplification.** A notification returns router by router on the routing's path at zero load, with the latency of
//! an idle network: links and pipelines. It occupies no link, waits for nothing, and counts as no packet.

use super::notification::{Advice, Notification};
use super::pair_windows::{LastHop, PairWindows};
use super::rate_limits::RateLimits;
use crate::FabricEvent;
use crate::Message;
use crate::Payload;
use crate::fabric::Setup;
use crate::features::{HandlerContext, Uses};
use crate::flow::Links;
use crate::packet::Packet;
use crate::params::NetworkParams;
use crate::routing::Header;
use crate::settings::{CongestionControl, CongestionKind};
use odonata_engine::{Pool, Store, Time};

/// Number of packets at its rate after which a flow without notification recovers, with [`CongestionKind::PerFlow`].
pub(crate) const HOLD: f64 = 8.0;

/// The state of the last link before a node.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
struct Edge {
    /// R.
    rate: f64,
    /// Start of the period; [`Time::NEVER`]: no flow is limited.
    since: Time,
    /// Bytes sent since then, and bytes that waited then.
    sent: u64,
    waiting: u64,
    /// Time since then for which the link idled although packets waited; and when it last became free with packets
    /// waiting.
    idled: Time,
    free_at: Time,
}

impl Edge {
    const IDLE: Edge = Edge {
        rate: 1.0,
        since: Time::NEVER,
        sent: 0,
        waiting: 0,
        idled: Time::ZERO,
        free_at: Time::NEVER,
    };
}

/// The state of congestion control in a part.
#[derive(Debug)]
pub(crate) struct Congestion {
    settings: CongestionControl,
    pub(crate) limits: RateLimits,
    pub(super) notifications: Pool<Notification>,
    /// By node of the part, if rates are computed there.
    edges: Store<Edge>,
    /// By node of the part, if there are windows.
    windows: PairWindows,
}
odonata_engine::journalled!(Congestion {
    limits,
    notifications,
    edges,
    windows
});

/// A packet that leaves a router port.
#[derive(Clone, Copy)]
pub(crate) struct Departure {
    pub(crate) packet: u32,
    pub(crate) port: u32,
    /// Bytes that wait for the port.
    pub(crate) queued: u64,
    /// When it arrives at its node, if it goes to one.
    pub(crate) arrival: Option<Time>,
}

impl Congestion {
    /// Bytes of this number of NICs, with this number of queues per class, while no flow is limited.
    pub(crate) fn bytes(params: &NetworkParams, nodes: u64, queues: u64) -> u64 {
        let bytes_per_nic = u64::from(params.classes.count()) * queues * RateLimits::BYTES_PER_QUEUE as u64;
        let lanes = nodes.saturating_mul(bytes_per_nic);
        match params.congestion.kind {
            CongestionKind::None => 0,
            CongestionKind::Ecn => lanes,
            CongestionKind::PerFlow => lanes.saturating_add(nodes.saturating_mul(size_of::<Edge>() as u64)),
            CongestionKind::PerPair => lanes.saturating_add(nodes.saturating_mul(PairWindows::BYTES_PER_NODE as u64)),
        }
    }

    /// The state of `nodes` nodes with `queues` queues per traffic class.
    pub(crate) fn new(params: &NetworkParams, nodes: usize, queues: u8) -> Congestion {
        let settings = params.congestion;
        let (lanes, recovery) = match settings.kind {
            CongestionKind::None => (0, Time(1)),
            CongestionKind::Ecn | CongestionKind::PerFlow | CongestionKind::PerPair => {
                let lanes = usize::from(params.classes.count()) * usize::from(queues);
                (nodes * lanes, *settings.recovery)
            }
        };
        let nodes_with = |kind| if settings.kind == kind { nodes } else { 0 };
        Congestion {
            settings,
            limits: RateLimits::new(lanes, recovery, settings.kind == CongestionKind::PerPair),
            notifications: Pool::new(),
            edges: Store::filled(nodes_with(CongestionKind::PerFlow), Edge::IDLE),
            windows: PairWindows::new(nodes_with(CongestionKind::PerPair)),
        }
    }

    #[inline(always)]
    pub(crate) fn is_on<U: Uses>(&self) -> bool {
        U::CONTROL && !self.settings.is_none()
    }
}

impl Congestion {
    /// Receives a notification from another part; returns its slot.
    pub(crate) fn take_in<M: Uses>(&mut self, notification: Notification) -> u32 {
        self.notifications.allocate::<M>(notification)
    }

    /// The settings by which a source's NIC limits a flow.
    pub(crate) fn settings(&self) -> CongestionControl {
        self.settings
    }

    /// A packet departs from a router port now.
    pub(crate) fn packet_leaves<C: HandlerContext, P: Payload>(
        &mut self,
        ctx: &mut C,
        setup: &Setup,
        links: &Links,
        (packets, messages): (&mut Pool<Packet>, &Pool<Message<P>>),
        departure: Departure,
    ) {
        let Departure {
            packet,
            port,
            queued: waiting,
            arrival,
        } = departure;
        let advice = match (self.settings.kind, arrival) {
            (CongestionKind::None, _) | (CongestionKind::PerFlow | CongestionKind::PerPair, None) => return,
            (CongestionKind::PerPair, Some(arrival)) => {
                let p = *packets.get(packet);
                let flow = (messages.get(p.message).source, &p);
                return self.pair_leaves(ctx, setup, links, flow, (port, waiting), arrival);
            }
            (CongestionKind::Ecn, _) => {
                if waiting > self.settings.threshold.0 && !packets.get(packet).flags.is_marked() {
                    packets.edit::<C>(packet).flags.mark();
                }
                match packets.get(packet).flags.is_marked() {
                    true => Advice::SlowDown,
                    false => return,
                }
            }
            (CongestionKind::PerFlow, Some(_)) => {
                let bytes = packets.get(packet).bytes;
                let rate = self.rate_at_last_hop::<C>(setup, links, port, (bytes, waiting), ctx.now());
                match rate < 1.0 {
                    true => Advice::Rate(rate),
                    false => return,
                }
            }
        };
        if let Some(arrival) = arrival {
            let p = *packets.get(packet);
            let source = messages.get(p.message).source;
            let notification = Notification::new(Header::new(source), p.header.target, p.class, advice);
            self.notify(ctx, setup, links, port, arrival, notification);
        }
    }

    /// A packet with transmission time `occupied` leaves terminal port `port` free at `free_at`; `waits`: other packets
    /// still wait for it. Call before [`packet_leaves`](Self::packet_leaves) if a port may idle although packets wait
    /// for it.
    pub(crate) fn link_is_free<M: Uses>(
        &mut self,
        links: &Links,
        port: u32,
        occupied: Time,
        (free_at, waits): (Time, bool),
    ) {
        if self.settings.kind != CongestionKind::PerFlow {
            return;
        }
        let node = links.nic(links.get(port).far);
        let edge = self.edges.get(node);
        if edge.since == Time::NEVER {
            return;
        }
        let idled = match edge.free_at {
            Time::NEVER => Time::ZERO,
            before => (free_at.saturating_sub(occupied)).saturating_sub(before),
        };
        let edge = self.edges.edit::<M>(node);
        edge.idled += idled;
        edge.free_at = if waits { free_at } else { Time::NEVER };
    }

    /// A packet of `bytes` departs from terminal port `port`, `waiting` bytes stay behind. Returns the rate of flows to
    /// its node.
    fn rate_at_last_hop<M: Uses>(
        &mut self,
        setup: &Setup,
        links: &Links,
        port: u32,
        (bytes, waiting): (u32, u64),
        now: Time,
    ) -> f64 {
        let control = self.settings;
        if control.kind != CongestionKind::PerFlow {
            return 1.0;
        }
        let threshold = control.threshold.0;
        let link = links.get(port);
        let node = links.nic(link.far);
        let edge = *self.edges.get(node);
        if edge.since == Time::NEVER {
            if waiting > threshold {
                *self.edges.edit::<M>(node) = Edge {
                    since: now,
                    waiting,
                    ..Edge::IDLE
                };
            }
            return 1.0;
        }
        let edge = self.edges.edit::<M>(node);
        let packet = link.serialization(setup.params.packet as u32).0 as f64;
        let period = (2.0 * packet / edge.rate).max(control.interval.0 as f64);
        let elapsed = (now - edge.since).0 as f64;
        if elapsed >= period {
            // The time of 1,000,000 bytes is accurate enough: on the fastest links a packet may take no time.
            let per_byte = link.serialization(1_000_000).0 as f64 / 1e6;
            let could = ((elapsed - edge.idled.0 as f64) / per_byte).max(1.0);
            let came = edge.sent as f64 + waiting as f64 - edge.waiting as f64;
            let excess = waiting.saturating_sub(threshold) as f64;
            let change = (0.5 * (could - came) - 0.5 * excess) / could;
            edge.rate *= 1.0 + change.clamp(-0.5, 0.5);
            // Flows that have paused have recovered meanwhile.
            let paused = (elapsed - HOLD * period).max(0.0);
            edge.rate = (edge.rate + paused / control.recovery.0 as f64).max(super::rate_limits::LEAST_RATE);
            (edge.since, edge.sent, edge.waiting, edge.idled) = (now, 0, waiting, Time::ZERO);
            if edge.rate >= 1.0 {
                edge.rate = 1.0;
                if waiting <= threshold {
                    edge.since = Time::NEVER;
                }
            }
        }
        edge.sent += u64::from(bytes);
        edge.rate
    }

    /// `packet` from `source` departs from terminal port `port` and leaves `waiting` bytes there.
    fn pair_leaves<C: HandlerContext>(
        &mut self,
        ctx: &mut C,
        setup: &Setup,
        links: &Links,
        (source, packet): (u32, &Packet),
        (port, waiting): (u32, u64),
        arrival: Time,
    ) {
        let link = links.get(port);
        let node = links.nic(link.far);
        let packets = |bytes: u64| bytes as f64 / setup.params.packet as f64;
        let hop = LastHop {
            is_limited: packet.flags.is_marked(),
            probe: packet.flags.probe(),
            waiting: packets(waiting),
            threshold: packets(self.settings.threshold.0),
            interval: *self.settings.interval,
            packet: link.serialization(setup.params.packet as u32),
        };
        if let Some(window) = self.windows.packet_leaves::<C>(node, hop, ctx.now()) {
            let (target, class) = (packet.header.target, packet.class);
            let told = Notification::new(Header::new(source), target, class, Advice::Window(window));
            self.notify(ctx, setup, links, port, arrival, told);
        }
    }

    /// Sends a notification about a packet that departs from `port` for its node and arrives at `arrival`.
    #[cold]
    fn notify<C: HandlerContext>(
        &mut self,
        ctx: &mut C,
        setup: &Setup,
        links: &Links,
        port: u32,
        arrival: Time,
        notification: Notification,
    ) {
        let link = links.get(port);
        let slot = self.notifications.allocate::<C>(notification);
        let at = arrival + link.latency + setup.params.router_latency();
        ctx.send(
            links.sender(port),
            at.max(Time(ctx.now().0 + 1)),
            FabricEvent::Notify { notification: slot }.into(),
        );
    }
}

//! End-to-end congestion control, in addition to the credits between routers.
//!
//! Credits stop a packet without room, and head-of-line blocking stops the packets behind it. A node that is sent more
//! than its link carries fills the buffers of one router after another, which delays all traffic through them.
//! Congestion control slows down the flows that cause it, at their source ([`limits`](super::rate_limits)):
//!
//! | | `Ecn` | `PerFlow` |
//! |---|---|---|
//! | detection | any router port, when a packet departs with more than `threshold` bytes waiting behind it: the packet is marked | the last router before a node, when a packet for it arrives and more than `threshold` bytes wait |
//! | notified | the source of a marked packet, on delivery | the source of every packet that arrives, with the rate for its flow; all sources at once if that has doubled |
//! | action | its rate to that node is multiplied by `1 - decrease`, at most once per `interval` | it adopts that rate for that node |
//! | recovery | starts at once | starts after the time of [`HOLD`](super::HOLD) packets without a notification |
//! | model | InfiniBand's congestion control (E. Gran et al., IPDPS 2010), DCQCN (Y. Zhu et al., SIGCOMM 2015) | published facts on Slingshot (D. De Sensi et al., SC 2020; patents US 11,863,431, US 12,040,969 and US 12,267,229) |
//!
//! Recovery is additive in both: from zero to the rate of the link in `recovery`.
//!
//! **Rate control at the last router.** Slingshot tracks the flow of every pair of end points. Its edge switches find
//! congestion at an end point, and give the interfaces of the sources a credit per time for each flow. The law behind
//! the credit is not published. The model ([`last_hop`](super::last_hop)) gives all flows to a node the same rate, as a
//! fraction of the link's. It tracks `n` flows since control began, each until no packet of it has come for the time of
//! four packets at its rate:
//!
//! ```text
//! rate = R max(1 - max(q - threshold, 0) / 2 n L, 1/8)    q bytes wait, a packet has L
//! R <- R (n - 1) / n, at least 1/n                        the n-th flow appears
//! R <- R n / m                                            only m flows are left
//! R <- R (1 + (C - A) / 2C), from 1/n to 1                at the end of a period T, in which C bytes could have been
//!                                                         sent and A have come; no rise while q > threshold
//! T  = max(interval, 2 packets at rate R)
//! ```
//!
//! So `k` sources that begin at once have their share after one round trip, and no source waits for a law to converge.
//! The third rule finds the share of flows that want more than `1/n` where others want less (RCP: N. Dukkipati, N.
//! McKeown, CCR 2006). `C` excludes the time in which a pipelined router's link idled although packets waited: a virtual
//! channel needs some cycles between packets. Control ends when `R` is back at 1, or without flows. A flow that sends
//! less than its rate is not delayed. Pipelined routers look at departing packets, not at arriving ones.
//!
//! **The backlog of a port** covers all traffic classes: the packets routed to it, and all of an input FIFO whose head
//! is routed to it. Packets behind a full buffer upstream are not included. The buffers of pipelined routers are such
//! FIFOs; their arrived flits count, and those that have crossed but not completed their transmission. A packet departs
//! there with its head, at the last router with its tail.
//!
//! **Simplification.** A notification returns router by router on the routing's path at zero load, with the latency of
//! an idle network: links and pipelines. It occupies no link, waits for nothing, and counts as no packet.

use super::last_hop::{LastHops, Passage};
use super::notification::Notification;
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
use odonata_engine::{Pool, Time};

/// The state of congestion control in a part.
#[derive(Debug)]
pub(crate) struct Congestion {
    settings: CongestionControl,
    pub(crate) limits: RateLimits,
    pub(super) notifications: Pool<Notification>,
    last_hops: LastHops,
}
odonata_engine::journalled!(Congestion {
    limits,
    notifications,
    last_hops
});

/// A packet that leaves a router port.
#[derive(Clone, Copy)]
pub(crate) struct Departure {
    pub(crate) packet: u32,
    pub(crate) port: u32,
    /// Bytes that wait for the port.
    pub(crate) queued: u64,
    /// Whether it has not been reported as waiting.
    pub(crate) came: bool,
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
            CongestionKind::PerFlow => lanes.saturating_add(nodes.saturating_mul(LastHops::BYTES_PER_NODE as u64)),
        }
    }

    /// The state of `nodes` nodes with `queues` queues per traffic class.
    pub(crate) fn new(params: &NetworkParams, nodes: usize, queues: u8) -> Congestion {
        let settings = params.congestion;
        let (lanes, recovery) = match settings.kind {
            CongestionKind::None => (0, Time(1)),
            CongestionKind::Ecn | CongestionKind::PerFlow => {
                let lanes = usize::from(params.classes.count()) * usize::from(queues);
                (nodes * lanes, *settings.recovery)
            }
        };
        let edges = match settings.kind {
            CongestionKind::PerFlow => nodes,
            CongestionKind::None | CongestionKind::Ecn => 0,
        };
        Congestion {
            settings,
            limits: RateLimits::new(lanes, recovery),
            notifications: Pool::new(),
            last_hops: LastHops::new(params, edges),
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

    /// A packet begins to wait for router port `port`, with `waiting` bytes, its own included.
    pub(crate) fn packet_waits<C: HandlerContext, P: Payload>(
        &mut self,
        ctx: &mut C,
        links: &Links,
        (packets, messages): (&Pool<Packet>, &Pool<Message<P>>),
        (packet, port, waiting): (u32, u32, u64),
    ) {
        if self.settings.kind != CongestionKind::PerFlow || !links.get(port).to_node {
            return;
        }
        let p = packets.get(packet);
        let (source, class) = (messages.get(p.message).source, p.class);
        let passage = Passage {
            port,
            source,
            class,
            waiting,
        };
        if let Some(rate) = self.last_hops.packet_waits::<C>(links, passage, ctx.now()) {
            let notification = Notification::new(Header::new(source), p.header.target, class, rate);
            self.notify(ctx, links.sender(port), ctx.now(), notification);
        }
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
            came,
            arrival,
        } = departure;
        if self.settings.kind == CongestionKind::Ecn
            && waiting > self.settings.threshold.0
            && !packets.get(packet).flags.is_marked()
        {
            packets.edit::<C>(packet).flags.mark();
        }
        let Some(arrival) = arrival else { return };
        let p = *packets.get(packet);
        let (source, target) = (messages.get(p.message).source, p.header.target);
        let rate = match self.settings.kind {
            CongestionKind::None => None,
            CongestionKind::Ecn => p.flags.is_marked().then_some(0.0),
            CongestionKind::PerFlow => {
                let passage = Passage {
                    port,
                    source,
                    class: p.class,
                    waiting,
                };
                (self.last_hops).packet_leaves::<C>(links, passage, (p.bytes, came), ctx.now())
            }
        };
        if let Some(rate) = rate {
            let at = arrival + links.get(port).latency + setup.params.router_latency();
            let notification = Notification::new(Header::new(source), target, p.class, rate);
            self.notify(ctx, links.sender(port), at, notification);
        }
        if self.settings.kind == CongestionKind::PerFlow {
            for (source, class, rate) in self.last_hops.laggards::<C>(links, port, waiting) {
                let notification = Notification::new(Header::new(source), target, class, rate);
                self.notify(ctx, links.sender(port), ctx.now(), notification);
            }
        }
    }

    /// A packet with transmission time `occupied` leaves terminal port `port` free at `free_at`; `waits`: other packets
    /// still wait for it. Call before [`packet_leaves`](Self::packet_leaves) if a port may idle although packets wait
    /// for it.
    pub(crate) fn link_is_free<M: Uses>(&mut self, links: &Links, port: u32, occupied: Time, next: (Time, bool)) {
        if self.settings.kind == CongestionKind::PerFlow {
            self.last_hops.link_is_free::<M>(links, port, occupied, next);
        }
    }

    /// Sends a notification from `router` at `at`, or right after this instant.
    #[cold]
    fn notify<C: HandlerContext>(&mut self, ctx: &mut C, router: u32, at: Time, notification: Notification) {
        let slot = self.notifications.allocate::<C>(notification);
        let at = at.max(Time(ctx.now().0 + 1));
        ctx.send(router, at, FabricEvent::Notify { notification: slot }.into());
    }
}

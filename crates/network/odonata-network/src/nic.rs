//! The NIC: divides messages into packets and injects them.
//!
//! Messages are served first come, first served. Packets enter a short queue in front of the terminal link, at most one
//! per packet time and only while it has room. Packet latency counts from the start on the link. The queue needs no
//! events: when packet `k` starts, its entry time is known,
//!
//! ```text
//! entered[k] = max(message queued, entered[k-1] + serialization[k-1], sent[k - queue])
//! ```
//!
//! Each traffic class has its own queues, optionally one per output of the node ([`send_queues`]); [`choice`] selects
//! the queue that sends. In a queue, the messages to each node may have a queue of their own ([`peer_queues`]). With q queues per class, class c has channels c q up to (c + 1) q of the terminal link, one
//! per queue.

mod choice;
pub(crate) mod exchanges;
mod flits;
mod overflow;
mod peer_queues;
pub(crate) mod send_queues;
mod throttle;

use overflow::Overflows;
pub use overflow::{HALT_QUEUE, Overflow};
use peer_queues::PeerQueues;
pub use send_queues::outputs;

use crate::fabric::Shared;
use crate::features::{HandlerContext, Uses};
use crate::observe::{MessageDeparture, Observer, Transmission};
use crate::router::Router;
use crate::settings::Switching;
use crate::{FabricEvent, Notice, Payload};
use odonata_engine::{List, NIL, Store, Time};
use odonata_topology::LinkClass;

/// Longest packet queue.
pub(crate) const MOST_QUEUED: usize = 16;

/// State of a NIC's sending side for one queue of one traffic class. The state of its link is an
/// [`OutPort`](crate::flow::OutPort).
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct SourceQueue {
    /// Messages in order of arrival.
    pub(crate) queue: List,
    /// Bytes of the first message that are not yet in packets.
    pub(crate) unsent: u64,
    /// Earliest time at which the next packet can enter the packet queue.
    pub(crate) next_entry: Time,
    /// Start times of the last packets on the link, a ring by packet number.
    started: [Time; MOST_QUEUED],
    /// The position of the next packet in the ring.
    place: u8,
    /// With a pipelined router: unsent flits of the packet on the link, and the virtual channel of the last one.
    pub(crate) flits: u16,
    pub(crate) vc: u8,
    /// The message of that packet, if it has more packets; otherwise [`NIL`].
    pub(crate) goes_on: u32,
    /// The queue of its class that sent last; stored in the first queue of the class.
    turn: u8,
    /// Number of messages so far, over all classes; stored in the first queue.
    count: u32,
    /// Number of messages that wait here, wholly or in part, over all classes; stored in the first queue.
    pub(crate) waiting: u32,
}

impl SourceQueue {
    pub(crate) const IDLE: SourceQueue = SourceQueue {
        queue: List::EMPTY,
        unsent: 0,
        next_entry: Time::ZERO,
        started: [Time::ZERO; MOST_QUEUED],
        place: 0,
        flits: 0,
        vc: 0,
        goes_on: NIL,
        turn: 0,
        count: 0,
        waiting: 0,
    };
}

/// The NICs of a part.
#[derive(Debug)]
pub(crate) struct Nics {
    /// One per NIC, traffic class and queue of the class.
    lanes: Store<SourceQueue>,
    peers: PeerQueues,
    classes: u8,
    /// Queues per class.
    queues: u8,
    /// Times and nodes at which the bound on waiting messages was exceeded.
    overflows: Overflows,
}
odonata_engine::journalled!(Nics {
    lanes,
    peers,
    overflows
});

impl Nics {
    /// `per_peer`: the messages of a queue to each node have a queue of their own.
    pub(crate) fn new(nics: usize, (classes, queues): (u8, u8), per_peer: bool) -> Nics {
        let lanes = nics * usize::from(classes) * usize::from(queues);
        Nics {
            lanes: Store::filled(lanes, SourceQueue::IDLE),
            peers: PeerQueues::new(if per_peer { lanes } else { 0 }),
            classes,
            queues,
            overflows: Overflows::new(),
        }
    }

    /// Bytes per idle queue, with or without queues per peer.
    pub(crate) const fn bytes_per_queue(per_peer: bool) -> usize {
        size_of::<SourceQueue>() + if per_peer { PeerQueues::BYTES_PER_LANE } else { 0 }
    }

    /// Queues per NIC, over all classes: equal to the channels of its link unless routers are pipelined.
    #[inline(always)]
    fn queues_per_nic(&self) -> u8 {
        self.classes * self.queues
    }

    /// The number of the queue for `channel` at `nic`.
    #[inline(always)]
    pub(crate) fn lane(&self, nic: u32, channel: u8) -> u32 {
        nic * u32::from(self.queues_per_nic()) + u32::from(channel)
    }

    /// One message too many has joined the queue of `node`'s NIC.
    #[cold]
    fn overflow<C: HandlerContext>(&mut self, ctx: &mut C, node: u32) {
        self.overflows.halt(ctx, node);
    }

    /// The first overflow, if any; among several at one time that of the lowest node.
    pub(crate) fn overflow_first(&self) -> Option<Overflow> {
        self.overflows.first()
    }

    /// Number of waiting messages, partly sent ones included; and the largest number at one NIC, with that NIC.
    pub(crate) fn waiting_messages(&self) -> (u64, Option<(u32, u32)>) {
        let first_lanes = self.lanes.iter().step_by(usize::from(self.queues_per_nic()));
        let (mut all, mut most) = (0, None);
        for (number, nic) in (0..).zip(first_lanes) {
            all += u64::from(nic.waiting);
            if nic.waiting > most.map_or(0, |(count, _)| count) {
                most = Some((nic.waiting, number));
            }
        }
        (all, most)
    }

    /// Whether messages wait at `nic`, wholly or in part.
    pub(crate) fn messages_wait(&self, nic: u32) -> bool {
        self.lanes.get(self.lane(nic, 0)).waiting > 0
    }

    /// Prefetches the first queue of `nic`.
    #[inline(always)]
    pub(crate) fn prefetch(&self, nic: u32) {
        self.lanes.prefetch(self.lane(nic, 0));
    }

    /// The channel of messages of traffic class `class` from the node of `nic` to `target`.
    #[inline(always)]
    fn channel<U: Uses>(&self, shared: &Shared<impl Payload>, (nic, target): (u32, u32), class: u8) -> u8 {
        if !self.has_choice::<U>() {
            return class;
        }
        let source = shared.flow.links.node(nic);
        class * self.queues + send_queues::of(self.queues, &shared.routes.routing, source, target)
    }

    /// Whether a class has more than one queue.
    #[inline(always)]
    pub(crate) fn has_choice<U: Uses>(&self) -> bool {
        U::CONTROL && self.queues > 1
    }

    /// Whether the messages to each node have a queue of their own.
    #[inline(always)]
    pub(crate) fn has_peer_queues<U: Uses>(&self) -> bool {
        U::CONTROL && self.peers.are_on()
    }

    /// Lets the queues of `nic` wait that must not send to their peer now, if queue pairs carry large messages one way at
    /// a time, and schedules the next look at them.
    #[inline(always)]
    fn observe_exchanges<C: HandlerContext>(&mut self, ctx: &mut C, shared: &mut Shared<impl Payload>, nic: u32) {
        if !(C::CONTROL && shared.exchanges.are_on()) {
            return;
        }
        let now = ctx.now();
        let own = shared.flow.links.node(nic);
        for channel in 0..self.queues_per_nic() {
            let lane = self.lane(nic, channel);
            let cell = self.lanes.get(lane);
            let sending = (cell.queue, cell.unsent);
            let must_wait = |peer: u32, message: u32, unsent: u64| {
                let bytes = shared.messages.get(message).bytes;
                let goes_on = unsent < bytes && own < peer;
                let is_exchanged = shared.exchanges.is_large(bytes) && peer != own && !goes_on;
                is_exchanged && shared.exchanges.receives(nic, peer, now)
            };
            let content = self.peers.hold::<C>(lane, sending, must_wait);
            if content != sending {
                let cell = self.lanes.edit::<C>(lane);
                (cell.queue, cell.unsent) = content;
            }
        }
        if let Some(at) = shared.exchanges.next_change(nic, now) {
            shared.flow.wake_up(ctx, shared.flow.links.ports + nic, at);
        }
    }

    /// A message joins the queue of its source's NIC.
    pub(crate) fn enqueue<C: HandlerContext>(
        &mut self,
        ctx: &mut C,
        shared: &mut Shared<impl Payload>,
        router: &mut impl Router,
        message: u32,
    ) -> Option<Notice> {
        let m = *shared.messages.trusted::<C>(message);
        let nic = shared.flow.links.nic(m.source);
        if C::CONTROL && shared.exchanges.are_on() {
            shared.exchanges.prune::<C>(nic, ctx.now());
        }
        let packet = shared.setup.params.packet;
        shared.flow.observers.message_submitted::<C, _>(&m, packet);
        let link = shared.flow.links.ports + nic;
        shared.flow.message_waits::<C>(link, (message, m.traffic), ctx.now());
        let channel = self.channel::<C>(shared, (nic, m.target), shared.setup.params.classes.of(m.traffic));
        let lane = self.lane(nic, channel);
        let may_be_limited = shared.congestion.is_on::<C>() && !(m.is_control && self.has_peer_queues::<C>());
        let limit = match may_be_limited && !shared.congestion.limits.is_empty(lane) {
            true => {
                shared.congestion.limits.prune::<C>(lane, ctx.now());
                shared.congestion.limits.find(lane, m.target)
            }
            false => NIL,
        };
        let first = if limit != NIL {
            shared.congestion.limits.push::<C>(&mut shared.messages, limit, message)
        } else if self.has_peer_queues::<C>() {
            let cell = self.lanes.get(lane);
            let sending = (cell.queue, cell.unsent);
            let (sending, first) = self.peers.push::<C>(&mut shared.messages, lane, message, sending);
            let cell = self.lanes.edit::<C>(lane);
            (cell.queue, cell.unsent) = sending;
            first
        } else {
            let mut queue = self.lanes.trusted::<C>(lane).queue;
            let first = queue.is_empty();
            queue.push::<C, _>(&mut shared.messages, message);
            let cell = self.lanes.edit_trusted::<C>(lane);
            cell.queue = queue;
            if first {
                cell.unsent = m.bytes;
            }
            first
        };
        let counter = self.lanes.edit_trusted::<C>(self.lane(nic, 0));
        counter.count = counter.count.wrapping_add(1);
        counter.waiting += 1;
        let overflows = counter.waiting > shared.setup.params.nic.message_queue;
        if shared.boundary.divided {
            shared.messages.edit_trusted::<C>(message).number = counter.count;
        }
        if overflows {
            self.overflow(ctx, m.source);
        }
        if !first {
            return None;
        }
        router.serve_nic(ctx, shared, self, nic)
    }

    /// Sends the next packet, if there is one, the link is free and the router has room.
    pub(crate) fn serve<C: HandlerContext>(
        &mut self,
        ctx: &mut C,
        shared: &mut Shared<impl Payload>,
        nic: u32,
    ) -> Option<Notice> {
        if shared.classes.is_on::<C>() || shared.congestion.is_on::<C>() || self.has_choice::<C>() {
            return self.serve_choosing(&mut ctx.with_everything(), shared, nic);
        }
        self.observe_exchanges(ctx, shared, nic);
        let now = ctx.now();
        let number = shared.flow.links.ports + nic;
        let message = self.lanes.trusted::<C>(nic).queue.head;
        if message == NIL {
            return None;
        }
        shared.flow.prefetch_waits::<C>(number);
        let free_at = shared.flow.port::<C>(number).free_at;
        if free_at > now {
            shared.flow.wake_up(ctx, number, free_at);
            return None;
        }
        let unsent = self.lanes.trusted::<C>(nic).unsent;
        let bytes = unsent.min(shared.setup.params.packet) as u32;
        let flits = shared.setup.flits(bytes);
        if !shared.flow.has_room::<C>(number, 0, flits, now) {
            shared.flow.await_credits(ctx, number);
            return None;
        }
        shared.flow.prefetch_waiters::<C>(number);
        let last = unsent == u64::from(bytes);
        let free_at = self.send(ctx, shared, nic, (0, 0, NIL), message, (bytes, flits, unsent));
        self.advance_lane::<C>(shared, nic, bytes);
        if !self.lanes.trusted::<C>(nic).queue.is_empty() {
            self.wake_up_ahead(ctx, shared, nic, number, free_at);
        }
        (last && shared.messages.trusted::<C>(message).notify_sent).then_some(Notice::Sent { message })
    }

    /// A packet of `bytes` of the first message of `lane` has been sent.
    #[inline]
    pub(crate) fn advance_lane<M: Uses>(&mut self, shared: &Shared<impl Payload>, lane: u32, bytes: u32) {
        let cell = self.lanes.edit_trusted::<M>(lane);
        cell.unsent -= u64::from(bytes);
        if cell.unsent > 0 {
            self.pass_on::<M>(lane);
            return;
        }
        let mut queue = cell.queue;
        queue.pop(&shared.messages);
        let unsent = if queue.is_empty() {
            0
        } else {
            shared.messages.trusted::<M>(queue.head).bytes
        };
        let cell = self.lanes.edit_trusted::<M>(lane);
        (cell.queue, cell.unsent) = (queue, unsent);
        self.pass_on::<M>(lane);
    }

    /// The queue of another peer has its turn in `lane`, if there are queues per peer.
    #[inline(always)]
    fn pass_on<M: Uses>(&mut self, lane: u32) {
        if self.has_peer_queues::<M>() {
            let cell = self.lanes.edit::<M>(lane);
            (cell.queue, cell.unsent) = self.peers.pass_on::<M>(lane, (cell.queue, cell.unsent));
        }
    }

    /// Sends a packet of `message`, of traffic class `class`, on `channel` now. The arguments give the limit of its flow by congestion
    /// control or [`NIL`], the packet's bytes and flits, and the unsent bytes of the message before it. Returns
    /// when the link is free again.
    #[inline]
    pub(crate) fn send<C: HandlerContext>(
        &mut self,
        ctx: &mut C,
        shared: &mut Shared<impl Payload>,
        nic: u32,
        (class, channel, limit): (u8, u8, u32),
        message: u32,
        (bytes, flits, unsent): (u32, u32, u64),
    ) -> Time {
        let now = ctx.now();
        let number = shared.flow.links.ports + nic;
        let link = shared.flow.link::<C>(number);
        let last = unsent == u64::from(bytes);
        // A NIC that is slower than its link spaces whole packets.
        let rate = C::EXTRAS.then(|| {
            let all = shared.messages.trusted::<C>(message).bytes;
            shared
                .setup
                .params
                .nic_rate_of_message(shared.flow.links.node(nic), all)
        });
        let slowed = rate
            .flatten()
            .map_or(Time::ZERO, |rate| rate.time_for(odonata_units::Bytes(u64::from(bytes))));
        // The first packet of a message keeps the next message away.
        let is_first = C::EXTRAS && unsent == shared.messages.trusted::<C>(message).bytes;
        let slowed = slowed.max(if is_first {
            shared.setup.params.nic.message_gap
        } else {
            Time::ZERO
        });
        let alone = link.serialization(bytes);
        let longer = shared.injection_delay(ctx, number, message, alone.max(slowed));
        let (serialization, slowed) = (alone + longer, slowed + longer);
        let tail_out = now.plus(serialization);
        let head_out = match shared.setup.params.switching {
            Switching::CutThrough | Switching::Wormhole => now.plus(link.flit_time(alone)),
            Switching::StoreAndForward => tail_out,
        };
        let free_at = tail_out.max(Time(now.0 + 1)).max(now + slowed);
        let owner = shared.messages.trusted::<C>(message).traffic;
        let port = *shared.flow.port::<C>(number);
        shared.flow.observers.message_departs::<C>(&MessageDeparture {
            link: number,
            port: &port,
            channel: link.first_vc + u32::from(channel),
            message,
            owner,
            now,
            until: free_at,
            is_last: last,
            is_limited: C::CONTROL && limit != NIL,
        });
        shared.flow.set_awaits_credit::<C>(number, false);
        let port = shared.flow.edit_port::<C>(number);
        (port.free_at, port.holder) = (free_at, owner);
        shared.flow.claim::<C>(number, channel, flits, now);

        let length = shared.setup.params.nic.queue as u8;
        let queued = shared.messages.trusted::<C>(message).queued;
        let lane = self.lane(nic, channel);
        let cell = self.lanes.edit_trusted::<C>(lane);
        let place = usize::from(cell.place);
        let following = if cell.place + 1 == length { 0 } else { cell.place + 1 };
        let room_since = cell.started[place].plus(serialization);
        let entered = queued.max(cell.next_entry).max(room_since);
        cell.next_entry = entered.plus(serialization);
        cell.started[place] = now;
        // The packet queue was full from this packet's entry until the next start: that of the packet `length - 1`
        // before it.
        let full_until = cell.started[usize::from(following)];
        cell.place = following;
        if last {
            let first = self.lane(nic, 0);
            self.lanes.edit_trusted::<C>(first).waiting -= 1;
        }

        let sent = Transmission {
            packets: 1,
            bytes,
            busy: alone,
        };
        shared.flow.observers.nic_sends::<C>(number, sent);
        if full_until > entered {
            shared.flow.observers.port_resumes::<C>(number, entered, full_until);
            shared.flow.observers.port_stalls::<C>(number);
        }
        let buffer = link.far
            + match self.has_choice::<C>() {
                // All channels of the node's port: there may be more channels than the port has buffers, and only the
                // port identifies it.
                true => u32::from(channel),
                false => u32::from(class) * u32::from(shared.setup.vcs.width(LinkClass::Terminal)),
            };
        let packet = shared.new_packet::<C>(
            message,
            (bytes, unsent),
            (now, tail_out.plus(link.latency)),
            (number, &link, buffer),
            (class, channel),
        );
        if C::CONTROL && limit != NIL {
            shared.limit_packet::<C>(packet, limit);
        }
        shared.flow.observers.packet_starts::<C>(packet, message);
        ctx.send(
            link.far_lp,
            head_out.plus(link.latency).plus(shared.setup.delay_before_routing),
            FabricEvent::Arrive { packet }.into(),
        );
        free_at
    }

    /// Schedules the wake-up at which the next packet of `nic` can start: when the link is free, or when later credits
    /// arrive. This saves an idle wake-up per packet of a NIC that waits for its router.
    fn wake_up_ahead<C: HandlerContext>(
        &mut self,
        ctx: &mut C,
        shared: &mut Shared<impl Payload>,
        nic: u32,
        number: u32,
        free_at: Time,
    ) {
        let bytes = self.lanes.trusted::<C>(nic).unsent.min(shared.setup.params.packet) as u32;
        let flits = shared.setup.flits(bytes);
        // Another message may be the next if large messages go one way at a time.
        let is_open = C::CONTROL && shared.exchanges.are_on();
        if is_open || shared.flow.has_room::<C>(number, 0, flits, ctx.now()) {
            shared.flow.wake_up(ctx, number, free_at);
            return;
        }
        shared.flow.set_awaits_credit::<C>(number, true);
        if let Some(due) = shared.flow.earliest_credit::<C>(number, ctx.now()) {
            shared.flow.wake_up(ctx, number, due.max(free_at));
        }
    }
}

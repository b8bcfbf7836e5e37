//! The NIC: messages in, packets out.
//!
//! Messages are served first come, first served. Packets enter a short queue in front of the terminal
//! link, at most one per packet time and only while it has room; packet latency counts from the start
//! on the link. The queue needs no events of its own: when a packet starts it is known when it had
//! entered, at
//!
//! ```text
//! entered[k] = max(message queued, entered[k-1] + serialisation[k-1], sent[k - queue])
//! ```
//!
//! Each traffic class has these queues for itself; which of them sends is in [`nic_choice`](crate::nic_choice).

use crate::fabric::Fabric;
use crate::params::{RouterModel, Switching};
use crate::{FabricEvent, Notice};
use odonata_engine::{Context, List, Mode, NIL, Time};
use odonata_topology::LinkClass;

/// Longest packet queue.
pub(crate) const MOST_QUEUED: usize = 16;

/// State of a NIC's sending side for one traffic class; its link's state is an [`OutPort`](crate::port::OutPort).
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct Nic {
    /// Messages in order of arrival.
    pub(crate) queue: List,
    /// Bytes of the first message that are not yet in packets.
    pub(crate) unsent: u64,
    /// Earliest time at which the next packet can enter the packet queue.
    pub(crate) next_entry: Time,
    /// When the last packets started on the link, a ring by packet number.
    started: [Time; MOST_QUEUED],
    /// The place of the next packet in the ring.
    place: u8,
    /// In front of a pipelined router: flits of the packet on the link that have not been sent, and the virtual channel
    /// of the last one.
    pub(crate) flits: u16,
    pub(crate) vc: u8,
    /// Messages so far, of all classes; kept with the first.
    count: u32,
}

impl Nic {
    pub(crate) const IDLE: Nic = Nic {
        queue: List::EMPTY,
        unsent: 0,
        next_entry: Time::ZERO,
        started: [Time::ZERO; MOST_QUEUED],
        place: 0,
        flits: 0,
        vc: 0,
        count: 0,
    };
}

impl Fabric {
    /// The number of the queues of `class` at `nic`.
    #[inline(always)]
    pub(crate) fn lane(&self, nic: u32, class: u8) -> u32 {
        nic * u32::from(self.shares.classes) + u32::from(class)
    }

    /// A message joins the queue of its source's NIC.
    pub(crate) fn enqueue_message<E, C>(&mut self, ctx: &mut C, message: u32) -> Option<Notice>
    where
        E: Copy + From<FabricEvent>,
        C: Context<E>,
    {
        let m = *self.messages.get(message);
        let nic = self.flow.links.nic(m.source);
        self.traffic.edit::<C>(u32::from(m.traffic)).bytes_sent += m.bytes;
        if self.sampler.on.is_some() {
            let packets = m.bytes.div_ceil(self.params.packet).max(1);
            self.sampler.created::<C>(m.traffic, m.created, packets, m.bytes);
        }
        if self.flow.books.is_on() {
            let link = self.flow.links.ports + nic;
            self.flow.join_output::<C>(link, m.traffic, ctx.now());
        }
        let lane = self.lane(nic, self.params.classes.of(m.traffic));
        let limit = match self.control.is_on() && !self.control.limits.is_empty(lane) {
            true => {
                self.control.limits.prune::<C>(lane, ctx.now());
                self.control.limits.find(lane, m.target)
            }
            false => NIL,
        };
        let first = if limit != NIL {
            self.control.limits.push::<C>(&mut self.messages, limit, message)
        } else {
            let mut queue = self.nics.get(lane).queue;
            let first = queue.is_empty();
            queue.push::<C, _>(&mut self.messages, message);
            let cell = self.nics.edit::<C>(lane);
            cell.queue = queue;
            if first {
                cell.unsent = m.bytes;
            }
            first
        };
        let counter = self.nics.edit::<C>(self.lane(nic, 0));
        counter.count = counter.count.wrapping_add(1);
        if self.divided {
            self.messages.edit::<C>(message).number = counter.count;
        }
        if !first {
            return None;
        }
        match self.params.router {
            RouterModel::Pipelined => self.serve_nic_clocked::<E, C>(ctx, nic),
            _ => self.serve_nic::<E, C>(ctx, nic),
        }
    }

    /// Sends the next packet, if there is one, the link is free and the router has room.
    pub(crate) fn serve_nic<E, C>(&mut self, ctx: &mut C, nic: u32) -> Option<Notice>
    where
        E: Copy + From<FabricEvent>,
        C: Context<E>,
    {
        if self.shares.is_on() || self.control.is_on() {
            return self.serve_nic_choosing::<E, C>(ctx, nic);
        }
        let now = ctx.now();
        let number = self.flow.links.ports + nic;
        let message = self.nics.get(nic).queue.head;
        if message == NIL {
            return None;
        }
        let free_at = self.flow.ports.get(number).free_at;
        if free_at > now {
            self.flow.wake::<E, C>(ctx, number, free_at);
            return None;
        }
        let bytes = self.nics.get(nic).unsent.min(self.params.packet) as u32;
        let flits = self.flits(bytes);
        if !self.flow.has_room::<C>(number, 0, flits, now) {
            self.flow.await_credits::<E, C>(ctx, number);
            return None;
        }
        let last = self.nics.get(nic).unsent == u64::from(bytes);
        let free_at = self.send_from_nic::<E, C>(ctx, nic, (0, false), message, (bytes, flits, last));
        self.advance_lane::<C>(nic, bytes);
        if !self.nics.get(nic).queue.is_empty() {
            self.look_ahead::<E, C>(ctx, nic, number, free_at);
        }
        (last && self.messages.get(message).notify_sent).then_some(Notice::Sent { message })
    }

    /// A packet of `bytes` of the first message of `lane` has been sent.
    #[inline]
    pub(crate) fn advance_lane<M: Mode>(&mut self, lane: u32, bytes: u32) {
        let cell = self.nics.edit::<M>(lane);
        cell.unsent -= u64::from(bytes);
        if cell.unsent > 0 {
            return;
        }
        let mut queue = cell.queue;
        queue.pop(&self.messages);
        let unsent = if queue.is_empty() {
            0
        } else {
            self.messages.get(queue.head).bytes
        };
        let cell = self.nics.edit::<M>(lane);
        (cell.queue, cell.unsent) = (queue, unsent);
    }

    /// Sends a packet of `message`, which is of traffic class `class`, and whether its flow is limited, now: of so many bytes, in
    /// so many flits, and whether it is the last one. Returns when the link is free again.
    #[inline]
    pub(crate) fn send_from_nic<E, C>(
        &mut self,
        ctx: &mut C,
        nic: u32,
        (class, limited): (u8, bool),
        message: u32,
        (bytes, flits, last): (u32, u32, bool),
    ) -> Time
    where
        E: Copy + From<FabricEvent>,
        C: Context<E>,
    {
        let now = ctx.now();
        let number = self.flow.links.ports + nic;
        let link = *self.flow.links.get(number);
        let serialisation = link.serialisation(bytes);
        let tail_out = now + serialisation;
        let head_out = match self.params.switching {
            Switching::CutThrough | Switching::Wormhole => now + link.flit_time(serialisation),
            Switching::StoreAndForward => tail_out,
        };
        // A NIC that may not send as fast as its link can does so in whole packets.
        let slowed = match self.params.nic.rate {
            Some(rate) => now + rate.time_for(odonata_units::Bytes(u64::from(bytes))),
            None => Time::ZERO,
        };
        let free_at = tail_out.max(Time(now.0 + 1)).max(slowed);
        if self.flow.books.is_on() {
            let owner = self.messages.get(message).traffic;
            self.flow
                .hold_nic::<C>((number, class), owner, (now, free_at), (last, limited));
        }
        let port = self.flow.ports.edit::<C>(number);
        port.hungry = false;
        port.free_at = free_at;
        self.flow.claim::<C>(number, class, flits);

        let length = self.params.nic.queue as u8;
        let queued = self.messages.get(message).queued;
        let lane = self.lane(nic, class);
        let cell = self.nics.edit::<C>(lane);
        let place = usize::from(cell.place);
        let following = if cell.place + 1 == length { 0 } else { cell.place + 1 };
        let room_since = cell.started[place] + serialisation;
        let entered = queued.max(cell.next_entry).max(room_since);
        cell.next_entry = entered + serialisation;
        cell.started[place] = now;
        // The packet queue was full from this packet's entry until the next start: that of the
        // packet `length - 1` before it.
        let full_until = cell.started[usize::from(following)];
        cell.place = following;

        let stats = self.links.edit::<C>(number);
        stats.bytes += u64::from(bytes);
        stats.packets += 1;
        stats.busy += serialisation;
        if full_until > entered {
            stats.saturation += full_until - entered;
            stats.stalled += 1;
        }
        let buffer = link.far + u32::from(class) * u32::from(self.spans.width(LinkClass::Terminal));
        let packet = self.new_packet::<C>(message, bytes, (now, tail_out + link.latency), buffer, class);
        ctx.send(
            link.far_lp,
            head_out + link.latency + self.ingress,
            FabricEvent::Arrive { packet }.into(),
        );
        free_at
    }

    /// Asks for the look at which the next packet of `nic` can go: when the link is free, or later if
    /// the credits on the way come later. Spares a look in vain per packet of a NIC that waits for
    /// its router.
    fn look_ahead<E, C>(&mut self, ctx: &mut C, nic: u32, number: u32, free_at: Time)
    where
        E: Copy + From<FabricEvent>,
        C: Context<E>,
    {
        let bytes = self.nics.get(nic).unsent.min(self.params.packet) as u32;
        let flits = self.flits(bytes);
        if self.flow.has_room::<C>(number, 0, flits, ctx.now()) {
            self.flow.wake::<E, C>(ctx, number, free_at);
            return;
        }
        self.flow.ports.edit::<C>(number).hungry = true;
        if let Some(due) = self.flow.earliest_credit(number, ctx.now()) {
            self.flow.wake::<E, C>(ctx, number, due.max(free_at));
        }
    }
}

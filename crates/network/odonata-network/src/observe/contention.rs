//! Contention: which traffic delays which, as a ledger of all waits ([`blame`]) and as losses that each message carries
//! ([`lost`]).
//!
//! [`blame`]: super::blame
//! [`lost`]: super::lost

use super::blame::{BlameLedger, CREDIT, INPUT, LINK, held_until};
use super::facts::{
    ChunkDeparture, FlitDeparture, LinkDeparture, MessageDeparture, Observed, Observer, PackedTag, PacketDelivery, Tag,
};
use super::lost::{LostTime, Waiter};
use crate::features::Uses;
use crate::flow::OutPort;
use crate::message::Traffic;
use crate::packet::Packet;
use odonata_blame::lost::Vector;
use odonata_blame::{Cause, Hold};
use odonata_engine::{Plain, Time};

/// The blame ledger, and the lost time of messages if it is on.
#[derive(Debug)]
pub(super) struct Contention {
    pub(super) blame: BlameLedger,
    pub(super) lost: LostTime,
}
odonata_engine::journalled!(Contention { blame, lost });

impl OutPort {
    /// The owner of the packet on the link, or of the last one, and the end of its transmission.
    fn hold(&self) -> Hold {
        Hold {
            free_at: self.free_at,
            holder: self.holder,
            cause: LINK,
        }
    }
}

impl Observer for Contention {
    #[inline]
    fn message_waits<M: Uses>(&mut self, link: u32, port: &OutPort, (slot, owner): (u32, Traffic), now: Time) {
        if self.blame.is_on::<M>() {
            self.waits::<M>(link, port, (Waiter::Message(slot), owner), now);
        }
    }

    #[inline(always)]
    fn message_departs<M: Uses>(&mut self, departure: &MessageDeparture<'_>) {
        if !self.blame.is_on::<M>() {
            return;
        }
        if self.lost.is_on::<M>() {
            self.nic_is_taken::<M>(departure);
        } else {
            self.pass_nic::<M>(departure, !departure.is_last);
        }
    }

    fn chunk_departs<M: Uses>(&mut self, departure: &ChunkDeparture<'_>) {
        if !self.blame.is_on::<M>() {
            return;
        }
        let &ChunkDeparture {
            link,
            port,
            owner,
            now,
            until,
        } = departure;
        let free_at = port.free_at;
        self.blame
            .link_passes::<M>(link, (free_at, now), until, (owner, false), None);
        if self.lost.is_on::<M>() {
            self.lost.idles::<M>(link, (free_at, now), None);
            self.lost.is_held::<M>(link, now, held_until(until, owner));
        }
    }

    #[inline]
    fn flit_departs<M: Uses>(&mut self, departure: &FlitDeparture<'_>) {
        if self.blame.is_on::<M>() {
            self.nic_is_taken_by_flit::<M>(departure);
        }
    }

    #[inline]
    fn packet_starts<M: Uses>(&mut self, packet: u32, message: u32) {
        if self.lost.is_on::<M>() {
            self.lost.start::<M>(packet, message);
        }
    }

    #[inline]
    fn packet_waits<M: Uses>(&mut self, (link, _): (u32, u32), port: &OutPort, packet: Observed, now: Time) {
        if self.blame.is_on::<M>() && packet.is_sampled {
            self.waits::<M>(link, port, (Waiter::Packet(packet.packet), packet.owner), now);
        }
    }

    fn packet_is_rerouted<M: Uses>(
        &mut self,
        (link, channel): (u32, u32),
        port: &OutPort,
        packet: Observed,
        now: Time,
    ) {
        if !self.blame.is_on::<M>() || !packet.is_sampled {
            return;
        }
        let Observed { packet, owner, .. } = packet;
        let (free_at, lacked) = (port.free_at, self.blame.lacked(channel));
        self.blame.ledger.leave_held::<M>(link, (free_at, now), owner, lacked);
        if self.lost.is_on::<M>() {
            let room = self.blame.room(channel, owner, free_at);
            let waiter = (Waiter::Packet(packet), owner);
            self.lost.leave::<M>(link, waiter, (now, free_at), lacked, room);
        }
    }

    #[inline(always)]
    fn packet_departs<M: Uses>(&mut self, departure: &LinkDeparture<'_>) {
        if !self.blame.is_on::<M>() {
            return;
        }
        if self.lost.is_on::<M>() {
            self.link_is_taken::<M>(departure);
        } else if departure.port.waiting > 0 || departure.waited.is_some() {
            self.pass_link::<M>(departure);
        }
    }

    #[inline]
    fn packet_delivered<M: Uses>(&mut self, slot: u32, packet: &Packet, delivery: &PacketDelivery) {
        if self.lost.is_on::<M>() {
            self.lost.deliver::<M>((slot, packet.traffic), packet.message, delivery);
        }
    }

    fn packet_joins_fifo<M: Uses>(&mut self, buffer: u32, packet: Observed, now: Time) {
        if !self.blame.is_on::<M>() || !packet.is_sampled {
            return;
        }
        let Observed { packet, owner, .. } = packet;
        let line = self.blame.line_of_buffer(buffer);
        let head = *self.blame.heads.get(buffer);
        self.blame.ledger.charge::<M>(line, now, head, INPUT);
        self.blame.ledger.join::<M>(line, now, owner);
        if self.lost.is_on::<M>() {
            self.lost.held_until::<M>(line, now, (head, INPUT));
            self.lost.join::<M>(line, Waiter::Packet(packet), (now, now), None);
        }
    }

    fn packet_leads_fifo<M: Uses>(&mut self, buffer: u32, packet: Observed, now: Time) {
        if !self.blame.is_on::<M>() {
            return;
        }
        let line = self.blame.line_of_buffer(buffer);
        let head = *self.blame.heads.get(buffer);
        self.blame.ledger.charge::<M>(line, now, head, INPUT);
        let Observed {
            packet,
            owner,
            is_sampled,
        } = packet;
        if !is_sampled {
            return;
        }
        self.blame.ledger.leave::<M>(line, now, owner);
        if self.lost.is_on::<M>() {
            let by = (head, INPUT);
            self.lost.held_until::<M>(line, now, by);
            let waiter = (Waiter::Packet(packet), owner);
            self.lost.leave::<M>(line, waiter, (now, now), by, None);
        }
    }

    #[inline]
    fn fifo_is_held<M: Uses>(&mut self, buffer: u32, owner: Traffic) {
        if self.blame.is_on::<M>() {
            *self.blame.heads.edit::<M>(buffer) = owner;
        }
    }

    #[inline(always)]
    fn credit_arrives<M: Uses>(
        &mut self,
        (channel, owner): (u32, Traffic),
        _: u32,
        due: Time,
        tag: Tag,
        is_awaited: bool,
    ) {
        let is_last = self.blame.is_asked::<M>(is_awaited) && self.blame.freed::<M>(channel, owner, due);
        if self.lost.is_on::<M>() {
            self.lost
                .rooms
                .counts::<M>(&mut self.lost.losses.vectors, (channel, owner), (due, is_last), tag.0);
        }
    }
}

impl Contention {
    /// The tag for a credit of `owner` for `channel` that counts from `due`, if it fits beside the credit.
    #[inline(always)]
    pub(super) fn credit_departs<M: Uses>(
        &mut self,
        channel: impl FnOnce() -> u32,
        owner: Traffic,
        due: Time,
        tag: Tag,
    ) -> PackedTag {
        if !self.lost.is_on::<M>() {
            return PackedTag::default();
        }
        match tag.packed() {
            Some(packed) => {
                self.lost.losses.vectors.share::<M>(tag.0);
                packed
            }
            None => {
                self.lost
                    .rooms
                    .frees::<M>(&mut self.lost.losses.vectors, (channel(), owner), due, tag.0);
                PackedTag::default()
            }
        }
    }

    fn waits<M: Uses>(&mut self, link: u32, port: &OutPort, (waiter, owner): (Waiter, Traffic), now: Time) {
        let hold = port.hold();
        self.blame.ledger.join_held::<M>(link, now, owner, hold);
        if self.lost.is_on::<M>() {
            self.lost.join::<M>(link, waiter, (now, now), Some(hold));
        }
    }

    #[inline(never)]
    fn link_is_taken<M: Uses>(&mut self, departure: &LinkDeparture<'_>) {
        let &LinkDeparture {
            link,
            port,
            packet,
            now,
            until,
            waited,
            ..
        } = departure;
        let Observed { packet, owner, .. } = packet;
        let waiter = (Waiter::Packet(packet), owner);
        // Usually no packet waits or has waited.
        if port.waiting > 0 || waited.is_some() {
            self.pass_link::<M>(departure);
            let (free_at, next) = (port.free_at, held_until(until, owner));
            let lacked = waited.map(|channel| self.blame.lacked(channel));
            self.lost.idles::<M>(link, (free_at, now), lacked);
            if let Some(lacked) = lacked {
                let room = waited.and_then(|channel| self.blame.room(channel, owner, free_at));
                self.lost.leave::<M>(link, waiter, (now, now), lacked, room);
            }
            self.lost.is_held::<M>(link, now, next);
        }
        self.lost.take_link::<M>(link, waiter, (now, until));
    }

    /// Charges the waits for the link of `departure`.
    // Inlined, so that the departure of a packet needs no memory.
    #[inline(always)]
    fn pass_link<M: Uses>(&mut self, departure: &LinkDeparture<'_>) {
        let (free_at, packet) = (departure.port.free_at, departure.packet);
        self.blame.link_passes::<M>(
            departure.link,
            (free_at, departure.now),
            departure.until,
            (packet.owner, packet.is_sampled),
            departure.waited,
        );
    }

    fn nic_is_taken<M: Uses>(&mut self, departure: &MessageDeparture<'_>) {
        let &MessageDeparture {
            link,
            port,
            channel,
            message,
            owner,
            now,
            until,
            is_last,
            is_limited,
        } = departure;
        let free_at = port.free_at;
        let (next, lacked) = self.pass_nic::<M>(departure, !is_last);
        let waiter = Waiter::Message(message);
        self.lost.idles::<M>(link, (free_at, now), Some(lacked));
        let room = self.blame.room(channel, owner, free_at).filter(|_| !is_limited);
        self.lost.leave::<M>(link, (waiter, owner), (now, now), lacked, room);
        self.lost.is_held::<M>(link, now, next);
        self.lost.take_link::<M>(link, (waiter, owner), (now, until));
        if !is_last {
            self.lost.join::<M>(link, waiter, (now, until), Some(next));
        }
    }

    fn nic_is_taken_by_flit<M: Uses>(&mut self, departure: &FlitDeparture<'_>) {
        let &FlitDeparture {
            ref packet_departure,
            front,
            is_head,
            is_tail,
        } = departure;
        let &MessageDeparture {
            link,
            port,
            channel,
            message,
            owner,
            now,
            until,
            is_last,
            is_limited,
        } = packet_departure;
        let free_at = port.free_at;
        let (next, lacked) = self.pass_nic::<M>(packet_departure, !(is_tail && is_last));
        if self.lost.is_on::<M>() {
            let waiter = Waiter::Message(message);
            self.lost.idles::<M>(link, (free_at, now), Some(lacked));
            if is_head {
                let room = self.blame.room(channel, owner, free_at).filter(|_| !is_limited);
                self.lost.leave::<M>(link, (waiter, owner), (now, now), lacked, room);
                self.lost.message_to_front::<M>(front, message);
            } else {
                // Its packet holds the link, so the flit can have waited only for a credit.
                let own = (lacked.0 == owner).then(|| self.room_vector(channel, owner));
                (self.lost).flit_waits::<M>((front, link), owner, (free_at, now), lacked, own);
            }
            self.lost.is_held::<M>(link, now, next);
            self.lost.front_takes_link::<M>(link, front, owner, until);
            if is_tail && !is_last {
                self.lost.front_to_message::<M>(front, message);
                self.lost.join::<M>(link, waiter, (now, until), Some(next));
            }
        }
    }

    /// Records the departure from a NIC of a message that has waited; with `returns` it waits again. Returns the hold,
    /// and the owner and cause to charge: the message itself, if congestion control throttles it.
    #[inline(always)]
    fn pass_nic<M: Uses>(&mut self, departure: &MessageDeparture<'_>, returns: bool) -> (Hold, (Traffic, Cause)) {
        let &MessageDeparture {
            link,
            port,
            channel,
            owner,
            now,
            until,
            is_limited,
            ..
        } = departure;
        let lacked = match is_limited {
            true => (owner, CREDIT),
            false => self.blame.lacked(channel),
        };
        let times = (port.free_at, now);
        self.blame.nic_passes::<M>(link, times, until, (owner, returns), lacked);
        (held_until(until, owner), lacked)
    }

    /// The losses to others of the flit of `owner` that last freed space behind `channel`.
    pub(super) fn room_vector(&self, channel: u32, owner: Traffic) -> Vector {
        let made = self.blame.freed.get(channel).at;
        self.lost.rooms.made(channel, owner, made).unwrap_or(Vector::EMPTY)
    }

    /// See [`Observers::run_ends`](super::Observers::run_ends).
    pub(super) fn close<'a>(&mut self, ports: impl Iterator<Item = &'a OutPort>, now: Time) {
        if !self.blame.is_on::<Plain>() {
            return;
        }
        for (link, port) in (0..).zip(ports) {
            self.blame.ledger.close_held(link, now, port.hold());
        }
        for buffer in 0..self.blame.heads.len() as u32 {
            let (head, line) = (*self.blame.heads.get(buffer), self.blame.line_of_buffer(buffer));
            self.blame.ledger.charge::<Plain>(line, now, head, INPUT);
        }
    }
}

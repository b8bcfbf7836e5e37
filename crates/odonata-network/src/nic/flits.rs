//! The NIC in front of a pipelined router: a flit per flit time, as long as there is a credit.
//!
//! A packet takes the next virtual channel of the terminal link, in turn, that has room for a flit, or one that is drawn
//! (`injection_vc`); with several traffic classes, of those of its class. Among classes whose packets find one the [`ClassScheduler`](crate::control::ClassScheduler) of the link decides, packet by packet.

use super::Nics;
use crate::fabric::Shared;
use crate::features::{HandlerContext, Uses};
use crate::router::NOBODY;
use crate::router::pipelined::Pipelined;
use crate::statistics::Transmission;
use crate::{Notice, Payload};
use odonata_engine::{NIL, Time};
use odonata_topology::LinkClass;
use odonata_units::SplitMix64;
use std::ops::Range;

impl Nics {
    /// Sends the next flit, if there is one, the link is free and the router has room.
    pub(crate) fn serve_flits<C: HandlerContext>(
        &mut self,
        ctx: &mut C,
        shared: &mut Shared<impl Payload>,
        pipelined: &mut Pipelined,
        nic: u32,
    ) -> Option<Notice> {
        let now = ctx.now();
        let number = shared.flow.links.ports + nic;
        let (class, blocked) = match shared.classes.is_on::<C>() {
            true => self.class_of_flit::<C>(shared, pipelined, nic, now),
            false => (0, 0),
        };
        let lane = self.lane(nic, class);
        let cell = self.lanes.get(lane);
        let (message, unsent, taken) = (cell.queue.head, cell.unsent, (cell.flits, cell.vc));
        let mut queue = cell.queue;
        if message == NIL && taken.0 == 0 {
            return None;
        }
        let out = shared.flow.port(number);
        let (free_at, stalled_since) = (out.free_at, out.stalled_since);
        if free_at > now {
            shared.flow.wake_up(ctx, number, free_at);
            return None;
        }
        let link = shared.flow.link(number);
        let head = taken.0 == 0;
        let bytes = if head {
            unsent.min(shared.setup.params.packet) as u32
        } else {
            0
        };
        let flits = if head {
            shared.setup.flits(bytes)
        } else {
            u32::from(taken.0)
        };
        let vc = if head {
            Self::free_channel::<C>(shared, pipelined, number, (class, taken.1, flits), now)
        } else {
            Some(taken.1).filter(|&vc| shared.flow.has_room::<C>(number, vc, 1, now))
        };
        let Some(vc) = vc else {
            if stalled_since == Time::NEVER {
                shared.flow.edit_port::<C>(number).stalled_since = now;
                shared.stats.stalled::<C>(number);
            }
            shared.flow.await_credits(ctx, number);
            if head && pipelined.draws_injection_vc {
                // Another one is drawn with the next cycle, and may have room now.
                let room = pipelined.room(flits).max(1);
                let mut vcs = Self::channels(shared, class);
                let has_room = |vc| shared.flow.has_room::<C>(number, vc, room, now);
                if vcs.any(has_room) {
                    shared.flow.wake_up(ctx, number, now + shared.setup.params.clock);
                }
            }
            return None;
        };
        let free_at = now + link.flit;
        if shared.flow.is_blamed::<C>() {
            // The packet on the link is of whoever holds it.
            let owner = match head {
                true => shared.messages.get(message).traffic,
                false => shared.flow.port(number).holder,
            };
            let ends = if head {
                unsent == u64::from(bytes)
            } else {
                self.lanes.get(lane).ends
            };
            shared.flow.count_flit_credits::<C>(number, now);
            let whole = ends && flits == 1;
            (shared.flow).hold_nic::<C>((number, vc), (message, owner), (now, free_at), (whole, false));
        }
        shared.flow.claim::<C>(number, vc, 1);
        let arrival = free_at + link.latency;
        let last = flits == 1;
        shared.flow.set_awaits_credit::<C>(number, false);
        let port = shared.flow.edit_port::<C>(number);
        port.free_at = free_at;
        let since = std::mem::replace(&mut port.stalled_since, Time::NEVER);
        let rate = C::EXTRAS.then(|| shared.setup.params.nic_rate(shared.flow.links.node(nic)));
        let rate = rate.flatten();
        if let (true, Some(rate)) = (head, rate) {
            let earliest = now + rate.time_for(odonata_units::Bytes(u64::from(bytes)));
            self.lanes.edit::<C>(lane).next_entry = earliest;
        }
        if last && rate.is_some() {
            let earliest = self.lanes.get(lane).next_entry;
            let port = shared.flow.edit_port::<C>(number);
            port.free_at = port.free_at.max(earliest);
        }
        let sent = Transmission {
            // All bytes of a packet are counted with its head.
            packets: u64::from(head),
            bytes,
            busy: link.flit,
        };
        shared.stats.stall_ended::<C>(number, since, now);
        shared.stats.transmitted::<C>(number, sent);
        let mut notice = None;
        if head {
            let buffer = link.far + u32::from(vc);
            let packet = shared.new_packet::<C>(
                message,
                (bytes, unsent),
                (now, arrival),
                (&link, buffer),
                (class, class),
            );
            pipelined.send_head(ctx, shared, (link.far_lp, buffer), packet, arrival);
            let done = unsent == u64::from(bytes);
            let mut unsent = unsent - u64::from(bytes);
            if done {
                queue.pop(&shared.messages);
                unsent = if queue.is_empty() {
                    0
                } else {
                    shared.messages.get(queue.head).bytes
                };
                notice = shared
                    .messages
                    .get(message)
                    .notify_sent
                    .then_some(Notice::Sent { message });
            }
            if shared.classes.is_on::<C>() {
                let room = shared.room_behind(number);
                (shared.classes).sent::<C>(number, (class, 0, NOBODY), bytes, blocked, room);
            }
            let cell = self.lanes.edit::<C>(lane);
            (cell.queue, cell.unsent, cell.vc, cell.ends) = (queue, unsent, vc, done);
            let first = self.lane(nic, 0);
            self.lanes.edit::<C>(first).waiting -= u32::from(done);
        } else {
            let buffer = link.far + u32::from(vc);
            pipelined.send_body(ctx, (link.far_lp, buffer), arrival);
        }
        self.lanes.edit::<C>(lane).flits = (flits - 1) as u16;
        let first = self.lane(nic, 0);
        let mut lanes = first..first + u32::from(self.classes);
        if !last || lanes.any(|lane| !self.lanes.get(lane).queue.is_empty()) {
            let free_at = shared.flow.port(number).free_at;
            shared.flow.wake_up(ctx, number, free_at);
        }
        notice
    }

    /// The class of the packet that is being sent. If there is none, that of the next packet: the first in turn of those that have one which
    /// finds room, or that has one at all; and those that have found none, bits.
    fn class_of_flit<M: Uses>(
        &self,
        shared: &mut Shared<impl Payload>,
        pipelined: &Pipelined,
        nic: u32,
        now: Time,
    ) -> (u8, u8) {
        if let Some(class) = (0..self.classes).find(|&class| self.lanes.get(self.lane(nic, class)).flits > 0) {
            return (class, 0);
        }
        let number = shared.flow.links.ports + nic;
        let order = shared.classes.order(number);
        let (mut chosen, mut waits, mut blocked) = (None, None, 0);
        for &class in &order[..usize::from(self.classes)] {
            let cell = self.lanes.get(self.lane(nic, class));
            if cell.queue.head == NIL {
                continue;
            }
            let flits = shared.setup.flits(cell.unsent.min(shared.setup.params.packet) as u32);
            let last = cell.vc;
            if Self::free_channel::<M>(shared, pipelined, number, (class, last, flits), now).is_some() {
                chosen = chosen.or(Some(class));
            } else {
                (waits, blocked) = (waits.or(Some(class)), blocked | 1 << class);
            }
        }
        (chosen.or(waits).unwrap_or(0), blocked)
    }

    /// The virtual channels of terminal links for traffic class `class`.
    fn channels(shared: &Shared<impl Payload>, class: u8) -> Range<u8> {
        let width = shared.setup.vcs.width(LinkClass::Terminal);
        class * width..(class + 1) * width
    }

    /// The virtual channel of link `number` for a packet of traffic class `class` of so many flits, if it has room: from the one after the `last`
    /// on, around, the first that has, or one that is drawn.
    fn free_channel<M: Uses>(
        shared: &mut Shared<impl Payload>,
        pipelined: &Pipelined,
        number: u32,
        (class, last, flits): (u8, u8, u32),
        now: Time,
    ) -> Option<u8> {
        let room = pipelined.room(flits).max(1);
        let Range { start: first, end } = Self::channels(shared, class);
        if pipelined.draws_injection_vc {
            let node = shared.flow.links.node(number - shared.flow.links.ports);
            // Once in a cycle, however often it is asked.
            let cycle = now.0 / shared.setup.params.clock.0.max(1);
            let drawn =
                SplitMix64::named(shared.setup.params.seed, [u64::from(node), cycle]).below(u32::from(end - first));
            return Some(first + drawn as u8).filter(|&vc| shared.flow.has_room::<M>(number, vc, room, now));
        }
        let last = last.max(first);
        (last + 1..end)
            .chain(first..(last + 1).min(end))
            .find(|&vc| shared.flow.has_room::<M>(number, vc, room, now))
    }
}

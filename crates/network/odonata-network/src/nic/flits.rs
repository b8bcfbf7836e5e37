//! The NIC of a pipelined router: it sends a flit per flit time, as long as it has credits.
//!
//! A packet takes a virtual channel of its class on the terminal link: round-robin the next with room for a flit, or a
//! random one (`injection_vc`). The [`ClassScheduler`](crate::control::ClassScheduler) of the link decides packet by
//! packet among classes whose packets find a channel. In a class, flows with and without a rate limit take turns
//! ([`choice`](super::choice)).

use super::Nics;
use crate::fabric::Shared;
use crate::features::{HandlerContext, Uses};
use crate::observe::{FlitDeparture, MessageDeparture, Observer, Transmission};
use crate::router::NO_INPUT;
use crate::router::pipelined::Pipelined;
use crate::{Notice, Payload};
use odonata_engine::{NIL, Time};
use odonata_topology::LinkClass;
use odonata_units::SplitMix64;
use std::ops::Range;

/// The next flit that a NIC may send: of the packet that is being sent, or the head of the next packet.
struct NextFlit {
    class: u8,
    /// Its message. Of a body flit: [`NIL`] if its packet is the last of the message.
    message: u32,
    /// For a head: bytes of the message that are not yet in packets.
    unsent: u64,
    /// The rate limit of its flow, or [`NIL`].
    limit: u32,
    /// The classes whose packets lack room, as bits.
    blocked: u8,
}

impl Nics {
    /// Sends the next flit, if there is one, the link is free and the router has room.
    pub(crate) fn serve_flits<C: HandlerContext>(
        &mut self,
        ctx: &mut C,
        shared: &mut Shared<impl Payload>,
        pipelined: &mut Pipelined,
        nic: u32,
    ) -> Option<Notice> {
        self.observe_exchanges(ctx, shared, nic);
        let now = ctx.now();
        let number = shared.flow.links.ports + nic;
        let out = shared.flow.port::<C>(number);
        let (free_at, stalled_since) = (out.free_at, out.stalled_since);
        if free_at > now {
            if self.has_flits::<C>(shared, nic) {
                shared.flow.wake_up(ctx, number, free_at);
            }
            return None;
        }
        let next = match shared.classes.is_on::<C>() || shared.congestion.is_on::<C>() {
            true => self.choose_flit(ctx, shared, pipelined, nic)?,
            false => self.next_of_lane(nic)?,
        };
        let NextFlit {
            class,
            message,
            unsent,
            limit,
            blocked,
        } = next;
        let lane = self.lane(nic, class);
        let cell = self.lanes.get(lane);
        let taken = (cell.flits, cell.vc);
        let link = shared.flow.link::<C>(number);
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
                shared.flow.observers.port_stalls::<C>(number);
            }
            shared.flow.await_credits(ctx, number);
            if head && pipelined.draws_injection_vc {
                // The next cycle draws another channel, which may have room now.
                let room = pipelined.channels.room(flits).max(1);
                let mut vcs = Self::channels(shared, class);
                let has_room = |vc| shared.flow.has_room::<C>(number, vc, room, now);
                if vcs.any(has_room) {
                    shared.flow.wake_up(ctx, number, now + shared.setup.params.clock);
                }
            }
            return None;
        };
        let last = flits == 1;
        // A NIC that is slower than its link pauses after each packet.
        let pauses = C::EXTRAS && shared.setup.params.limits_nics();
        if head && pauses {
            let all = shared.messages.get(message).bytes;
            let rate = (shared.setup.params).nic_rate_of_message(shared.flow.links.node(nic), all);
            let takes = rate.map_or(Time::ZERO, |rate| rate.time_for(odonata_units::Bytes(u64::from(bytes))));
            let gap = shared.setup.params.nic.message_gap;
            let takes = takes.max(if unsent == all { gap } else { Time::ZERO });
            self.lanes.edit::<C>(lane).next_entry = now + takes;
        }
        let sent_at = now + link.flit;
        let free_at = match last && pauses {
            true => sent_at.max(self.lanes.get(lane).next_entry),
            false => sent_at,
        };
        let front = shared.flow.links.front_of_nic(number);
        // The packet on the link is of the link's current holder.
        let owner = match head {
            true => shared.messages.get(message).traffic,
            false => shared.flow.port::<C>(number).holder,
        };
        if shared.flow.observers.follow_owners::<C>() {
            // Otherwise credits are counted when they are needed.
            shared.flow.count_flit_credits::<C>(number, now);
        }
        let port = *shared.flow.port::<C>(number);
        shared.flow.observers.flit_departs::<C>(&FlitDeparture {
            packet_departure: MessageDeparture {
                link: number,
                port: &port,
                channel: link.first_vc + u32::from(vc),
                message,
                owner,
                now,
                until: free_at,
                is_last: if head {
                    unsent == u64::from(bytes)
                } else {
                    message == NIL
                },
                is_limited: limit != NIL,
            },
            front,
            is_head: head,
            is_tail: last,
        });
        shared.flow.claim::<C>(number, vc, 1, now);
        let arrival = sent_at + link.latency;
        shared.flow.set_awaits_credit::<C>(number, false);
        let port = shared.flow.edit_port::<C>(number);
        (port.free_at, port.holder) = (free_at, owner);
        let since = std::mem::replace(&mut port.stalled_since, Time::NEVER);
        let sent = Transmission {
            // All bytes of a packet count with its head.
            packets: u64::from(head),
            bytes,
            busy: link.flit,
        };
        shared.flow.observers.port_resumes::<C>(number, since, now);
        shared.flow.observers.nic_sends::<C>(number, sent);
        let mut notice = None;
        if head {
            let buffer = link.far + u32::from(vc);
            let packet = shared.new_packet::<C>(
                message,
                (bytes, unsent),
                (now, arrival),
                (number, &link, buffer),
                (class, class),
            );
            if limit != NIL {
                shared.limit_packet::<C>(packet, limit);
            }
            shared.flow.observers.head_starts::<C>(front, packet, last);
            pipelined.send_head(ctx, shared, (link.far_lp, buffer), packet, arrival);
            let done = unsent == u64::from(bytes);
            if done {
                let wants = shared.messages.get(message).notify_sent;
                notice = wants.then_some(Notice::Sent { message });
            }
            if shared.congestion.is_on::<C>() {
                let limits = &mut shared.congestion.limits;
                limits.note_turn::<C>(lane, limit != NIL);
                if limit != NIL {
                    // The packet's time on the link if it lacks no credit.
                    let occupied = Time(u64::from(flits) * link.flit.0);
                    limits.sent::<C>(&shared.messages, limit, bytes, now, occupied);
                    limits.prune::<C>(lane, now);
                }
            }
            if limit == NIL {
                self.advance_lane::<C>(shared, lane, bytes);
            }
            if shared.classes.is_on::<C>() {
                let room = shared.room_behind::<C>(number);
                (shared.classes).sent::<C>(number, (class, 0, NO_INPUT), bytes, blocked, room);
            }
            let cell = self.lanes.edit::<C>(lane);
            (cell.vc, cell.goes_on) = (vc, if done { NIL } else { message });
            let first = self.lane(nic, 0);
            self.lanes.edit::<C>(first).waiting -= u32::from(done);
        } else {
            let buffer = link.far + u32::from(vc);
            (shared.flow.observers).body_flit_starts::<C>((front, last), buffer, arrival);
            pipelined.send_body(ctx, (link.far_lp, buffer), arrival);
        }
        self.lanes.edit::<C>(lane).flits = (flits - 1) as u16;
        if !last || self.has_flits::<C>(shared, nic) {
            shared.flow.wake_up(ctx, number, free_at);
        }
        notice
    }

    /// Whether `nic` has unsent flits.
    #[inline]
    fn has_flits<U: Uses>(&self, shared: &Shared<impl Payload>, nic: u32) -> bool {
        let first = self.lane(nic, 0);
        (first..first + u32::from(self.classes)).any(|lane| {
            let cell = self.lanes.get(lane);
            let limits = &shared.congestion.limits;
            let limited = shared.congestion.is_on::<U>() && limits.first_due(lane).is_some();
            cell.flits > 0 || !cell.queue.is_empty() || limited
        })
    }

    /// The next flit of a NIC whose messages are all in one queue.
    #[inline]
    fn next_of_lane(&self, nic: u32) -> Option<NextFlit> {
        let cell = self.lanes.get(nic);
        let message = if cell.flits > 0 { cell.goes_on } else { cell.queue.head };
        (cell.flits > 0 || message != NIL).then_some(NextFlit {
            class: 0,
            message,
            unsent: cell.unsent,
            limit: NIL,
            blocked: 0,
        })
    }

    /// The next flit: of the packet that is being sent. Otherwise the head for the class whose turn it is among those
    /// whose packet finds room, or, if none does, among those with an eligible packet.
    fn choose_flit<C: HandlerContext>(
        &mut self,
        ctx: &mut C,
        shared: &mut Shared<impl Payload>,
        pipelined: &Pipelined,
        nic: u32,
    ) -> Option<NextFlit> {
        for class in 0..self.classes {
            let cell = self.lanes.get(self.lane(nic, class));
            if cell.flits > 0 {
                return Some(NextFlit {
                    class,
                    message: cell.goes_on,
                    unsent: 0,
                    limit: NIL,
                    blocked: 0,
                });
            }
        }
        let now = ctx.now();
        let number = shared.flow.links.ports + nic;
        let order = shared.classes.order(number);
        let (mut chosen, mut waits, mut blocked, mut next_due) = (None, None, 0, Time::NEVER);
        for &class in &order[..usize::from(self.classes)] {
            let one = match self.candidate(shared, nic, (class, class), now) {
                Ok(one) => one,
                Err(due) => {
                    next_due = next_due.min(due);
                    continue;
                }
            };
            let last = self.lanes.get(self.lane(nic, class)).vc;
            if Self::free_channel::<C>(shared, pipelined, number, (class, last, one.flits), now).is_some() {
                chosen = chosen.or(Some(one));
            } else {
                (waits, blocked) = (waits.or(Some(one)), blocked | 1 << class);
                next_due = next_due.min(self.limited_later(shared, nic, class, now));
            }
        }
        if chosen.is_none() && next_due != Time::NEVER {
            shared.flow.wake_up(ctx, number, next_due);
        }
        let one = chosen.or(waits)?;
        Some(NextFlit {
            class: one.class,
            message: one.message,
            unsent: one.unsent,
            limit: one.limit,
            blocked,
        })
    }

    /// The virtual channels of terminal links for traffic class `class`.
    fn channels(shared: &Shared<impl Payload>, class: u8) -> Range<u8> {
        let width = shared.setup.vcs.width(LinkClass::Terminal);
        class * width..(class + 1) * width
    }

    /// The virtual channel of link `number` for a packet of traffic class `class` with this many flits, if it has room:
    /// the first with room after `last`, or a random one.
    fn free_channel<M: Uses>(
        shared: &mut Shared<impl Payload>,
        pipelined: &Pipelined,
        number: u32,
        (class, last, flits): (u8, u8, u32),
        now: Time,
    ) -> Option<u8> {
        let room = pipelined.channels.room(flits).max(1);
        let Range { start: first, end } = Self::channels(shared, class);
        if pipelined.draws_injection_vc {
            let node = shared.flow.links.node(number - shared.flow.links.ports);
            // One draw per cycle, however often it is evaluated.
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

//! The choice of a NIC's next packet: among traffic classes, among the queues of a class, and between flows with and
//! without a rate limit.
//!
//! A queue takes part if it has an eligible packet and its channel of the terminal link has room. The
//! [`ClassScheduler`](crate::control::ClassScheduler) of the link decides among classes with such a queue; the queues
//! of a class take turns. In a queue, rate-limited flows that are due and all other messages take turns; the limited
//! flow that was due first goes first.

use super::Nics;
use crate::fabric::Shared;
use crate::features::HandlerContext;
use crate::router::NO_INPUT;
use crate::{Notice, Payload};
use odonata_engine::{NIL, Plain, Time};

/// A packet that may be sent.
#[derive(Clone, Copy)]
pub(super) struct Candidate {
    pub(super) class: u8,
    channel: u8,
    pub(super) message: u32,
    bytes: u32,
    pub(super) flits: u32,
    /// Bytes of the message that are not yet in packets.
    pub(super) unsent: u64,
    /// The rate limit of its flow, or [`NIL`].
    pub(super) limit: u32,
}

impl Nics {
    /// Sends the next packet of a class that has one and room for it, if the link is free.
    pub(super) fn serve_choosing<C: HandlerContext>(
        &mut self,
        ctx: &mut C,
        shared: &mut Shared<impl Payload>,
        nic: u32,
    ) -> Option<Notice> {
        self.observe_exchanges(ctx, shared, nic);
        let now = ctx.now();
        let number = shared.flow.links.ports + nic;
        let order = shared.classes.order(number);
        let order = &order[..usize::from(self.classes)];
        let free_at = shared.flow.port::<C>(number).free_at;
        if free_at > now {
            if self.has_messages(shared, nic) {
                shared.flow.wake_up(ctx, number, free_at);
            }
            return None;
        }
        let (mut chosen, mut blocked, mut next_due) = (None, 0, Time::NEVER);
        for &class in order {
            let (mut of_class, mut lacks_room) = (None, false);
            for channel in self.turns(nic, class) {
                match self.candidate(shared, nic, (class, channel), now) {
                    Err(due) => next_due = next_due.min(due),
                    Ok(one) if !shared.flow.has_room::<C>(number, channel, one.flits, now) => {
                        lacks_room = true;
                        next_due = next_due.min(self.limited_later(shared, nic, channel, now));
                    }
                    Ok(one) => of_class = of_class.or(Some(one)),
                }
            }
            blocked |= u8::from(lacks_room && of_class.is_none()) << class;
            chosen = chosen.or(of_class);
        }
        let Some(Candidate {
            class,
            channel,
            message,
            bytes,
            flits,
            unsent,
            limit,
        }) = chosen
        else {
            if blocked != 0 {
                shared.flow.await_credits(ctx, number);
            }
            if next_due != Time::NEVER {
                shared.flow.wake_up(ctx, number, next_due);
            }
            return None;
        };
        if shared.classes.is_on::<C>() {
            let room = shared.room_behind::<C>(number);
            shared
                .classes
                .sent::<C>(number, (class, 0, NO_INPUT), bytes, blocked, room);
        }
        let free_at = self.send(
            ctx,
            shared,
            nic,
            (class, channel, limit),
            message,
            (bytes, flits, unsent),
        );
        let last = unsent == u64::from(bytes);
        let lane = self.lane(nic, channel);
        if self.has_choice::<C>() {
            let first = self.lane(nic, class * self.queues);
            self.lanes.edit::<C>(first).turn = channel - class * self.queues;
        }
        if shared.congestion.is_on::<C>() {
            shared.congestion.limits.note_turn::<C>(lane, limit != NIL);
        }
        if limit == NIL {
            self.advance_lane::<C>(shared, lane, bytes);
        } else {
            let occupied = free_at - now;
            shared
                .congestion
                .limits
                .sent::<C>(&shared.messages, limit, bytes, now, occupied);
            shared.congestion.limits.prune::<C>(lane, now);
        }
        if self.has_messages(shared, nic) {
            shared.flow.wake_up(ctx, number, free_at);
        }
        (last && shared.messages.get(message).notify_sent).then_some(Notice::Sent { message })
    }

    /// When a limited flow of `channel` may send that may not yet, or [`Time::NEVER`]: its packet may be smaller than
    /// one that lacks room.
    pub(super) fn limited_later(&self, shared: &Shared<impl Payload>, nic: u32, channel: u8, now: Time) -> Time {
        if !shared.congestion.is_on::<Plain>() {
            return Time::NEVER;
        }
        let first = shared.congestion.limits.first_due(self.lane(nic, channel));
        first.map_or(Time::NEVER, |(due, _)| if due > now { due } else { Time::NEVER })
    }

    /// Whether `nic` has unsent messages.
    fn has_messages(&self, shared: &Shared<impl Payload>, nic: u32) -> bool {
        let limited = shared.congestion.is_on::<Plain>();
        (0..self.queues_per_nic())
            .map(|channel| self.lane(nic, channel))
            .any(|lane| {
                self.lanes.get(lane).queue.head != NIL
                    || (limited && shared.congestion.limits.first_due(lane).is_some())
            })
    }

    /// The channels of `class` at `nic`, starting after the one that sent last.
    fn turns(&self, nic: u32, class: u8) -> impl Iterator<Item = u8> + use<> {
        let (first, queues) = (class * self.queues, self.queues);
        let last = self.lanes.get(self.lane(nic, first)).turn;
        (1..=queues).map(move |after| first + (last + after) % queues)
    }

    /// The next packet of `class` on `channel`, whether or not there is room for it.
    ///
    /// # Errors
    /// No packet may be sent yet: the time when one may, or [`Time::NEVER`].
    pub(super) fn candidate(
        &self,
        shared: &Shared<impl Payload>,
        nic: u32,
        (class, channel): (u8, u8),
        now: Time,
    ) -> Result<Candidate, Time> {
        let lane = self.lane(nic, channel);
        let cell = self.lanes.get(lane);
        let limited = match shared.congestion.is_on::<Plain>() {
            true => shared.congestion.limits.first_due(lane),
            false => None,
        };
        let due = limited.filter(|&(due, _)| due <= now);
        let others = cell.queue.head != NIL;
        let (message, unsent, limit) = match due {
            Some((_, limit)) if !others || !shared.congestion.limits.had_turn(lane) => {
                let flow = shared.congestion.limits.get(limit);
                (flow.queue.head, flow.unsent, limit)
            }
            _ if others => (cell.queue.head, cell.unsent, NIL),
            _ => return Err(limited.map_or(Time::NEVER, |(due, _)| due)),
        };
        let bytes = unsent.min(shared.setup.params.packet) as u32;
        Ok(Candidate {
            class,
            channel,
            message,
            bytes,
            flits: shared.setup.flits(bytes),
            unsent,
            limit,
        })
    }
}

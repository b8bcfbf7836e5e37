//! Which packet a NIC sends next, where there is a choice: among traffic classes, and among flows that congestion control has
//! limited and those that it has not.
//!
//! A class takes part if it has a packet that may go and its channel of the terminal link has room for it. Among those that do,
//! the [`Shares`](crate::shares::Shares) of the link decide. Inside a class, limited flows that are due and all other messages take
//! turns, and of the limited ones that which was due first goes first.

use crate::fabric::Fabric;
use crate::{FabricEvent, Notice};
use odonata_engine::{Context, NIL, Time};

/// A packet that may go.
#[derive(Clone, Copy)]
struct Candidate {
    class: u8,
    message: u32,
    bytes: u32,
    flits: u32,
    last: bool,
    /// The limit of its flow, or [`NIL`].
    limit: u32,
}

impl Fabric {
    /// Sends the next packet of a class that has one and room for it, if the link is free.
    pub(crate) fn serve_nic_choosing<E, C>(&mut self, ctx: &mut C, nic: u32) -> Option<Notice>
    where
        E: Copy + From<FabricEvent>,
        C: Context<E>,
    {
        let now = ctx.now();
        let number = self.flow.links.ports + nic;
        let order = self.shares.order(number);
        let order = &order[..usize::from(self.shares.classes)];
        let free_at = self.flow.ports.get(number).free_at;
        if free_at > now {
            if order.iter().any(|&class| self.has_messages(nic, class)) {
                self.flow.wake::<E, C>(ctx, number, free_at);
            }
            return None;
        }
        let (mut chosen, mut blocked, mut next_due) = (None, 0, Time::NEVER);
        for &class in order {
            match self.candidate(nic, class, now) {
                Err(due) => next_due = next_due.min(due),
                Ok(one) if !self.flow.has_room::<C>(number, class, one.flits, now) => blocked |= 1 << class,
                Ok(one) => chosen = chosen.or(Some(one)),
            }
        }
        let Some(Candidate {
            class,
            message,
            bytes,
            flits,
            last,
            limit,
        }) = chosen
        else {
            if blocked != 0 {
                self.flow.await_credits::<E, C>(ctx, number);
            }
            if next_due != Time::NEVER {
                self.flow.wake::<E, C>(ctx, number, next_due);
            }
            return None;
        };
        if self.shares.is_on() {
            let room = self.room_behind(number);
            self.shares.sent::<C>(number, (class, 0), bytes, blocked, room);
        }
        let free_at = self.send_from_nic::<E, C>(ctx, nic, (class, limit != NIL), message, (bytes, flits, last));
        let lane = self.lane(nic, class);
        if self.control.is_on() {
            self.control.limits.note_turn::<C>(lane, limit != NIL);
        }
        if limit == NIL {
            self.advance_lane::<C>(lane, bytes);
        } else {
            let occupied = free_at - now;
            self.control
                .limits
                .sent::<C>(&self.messages, limit, bytes, now, occupied);
            self.control.limits.prune::<C>(lane, now);
        }
        if order.iter().any(|&class| self.has_messages(nic, class)) {
            self.flow.wake::<E, C>(ctx, number, free_at);
        }
        (last && self.messages.get(message).notify_sent).then_some(Notice::Sent { message })
    }

    /// Whether `class` has a message at `nic` that has not been sent.
    fn has_messages(&self, nic: u32, class: u8) -> bool {
        let lane = self.lane(nic, class);
        self.nics.get(lane).queue.head != NIL || (self.control.is_on() && self.control.limits.first_due(lane).is_some())
    }

    /// The next packet of `class`, whether or not there is room for it.
    ///
    /// # Errors
    /// No packet may go yet: when one may, or [`Time::NEVER`].
    fn candidate(&self, nic: u32, class: u8, now: Time) -> Result<Candidate, Time> {
        let lane = self.lane(nic, class);
        let cell = self.nics.get(lane);
        let limited = match self.control.is_on() {
            true => self.control.limits.first_due(lane),
            false => None,
        };
        let due = limited.filter(|&(due, _)| due <= now);
        let others = cell.queue.head != NIL;
        let (message, unsent, limit) = match due {
            Some((_, limit)) if !others || !self.control.limits.had_turn(lane) => {
                let flow = self.control.limits.get(limit);
                (flow.queue.head, flow.unsent, limit)
            }
            _ if others => (cell.queue.head, cell.unsent, NIL),
            _ => return Err(limited.map_or(Time::NEVER, |(due, _)| due)),
        };
        let bytes = unsent.min(self.params.packet) as u32;
        Ok(Candidate {
            class,
            message,
            bytes,
            flits: self.flits(bytes),
            last: unsent == u64::from(bytes),
            limit,
        })
    }

    /// Bytes of a channel's buffer behind `link`.
    #[inline]
    pub(crate) fn room_behind(&self, link: u32) -> u64 {
        u64::from(self.flow.links.get(link).capacity) * self.params.flit
    }
}

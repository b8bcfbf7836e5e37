//! Which packet a NIC sends next, where there is a choice: among traffic classes.
//!
//! A class takes part if it has a packet and its channel of the terminal link has room for it. Among those that do, the
//! [`Shares`](crate::shares::Shares) of the link decide.

use crate::fabric::Fabric;
use crate::{FabricEvent, Notice};
use odonata_engine::{Context, NIL};

impl Fabric {
    /// Sends the next packet of a class that has one and room for it, if the link is free.
    pub(crate) fn serve_nic_classes<E, C>(&mut self, ctx: &mut C, nic: u32) -> Option<Notice>
    where
        E: Copy + From<FabricEvent>,
        C: Context<E>,
    {
        let now = ctx.now();
        let number = self.flow.links.ports + nic;
        let classes = self.shares.classes;
        let (mut chosen, mut blocked, mut waiting) = (None, 0, 0);
        let order = self.shares.order(number);
        let free_at = self.flow.ports.get(number).free_at;
        for &class in &order[..usize::from(classes)] {
            let lane = *self.nics.get(self.lane(nic, class));
            if lane.queue.head == NIL {
                continue;
            }
            waiting += 1;
            if free_at > now {
                break;
            }
            let bytes = lane.unsent.min(self.params.packet) as u32;
            let flits = self.flits(bytes);
            if !self.flow.has_room::<C>(number, class, flits, now) {
                blocked |= 1 << class;
            } else if chosen.is_none() {
                let last = lane.unsent == u64::from(bytes);
                chosen = Some((class, lane.queue.head, (bytes, flits, last)));
            }
        }
        if waiting == 0 {
            return None;
        }
        if free_at > now {
            self.flow.wake::<E, C>(ctx, number, free_at);
            return None;
        }
        let Some((class, message, packet)) = chosen else {
            self.flow.await_credits::<E, C>(ctx, number);
            return None;
        };
        let (bytes, _, last) = packet;
        let room = self.room_behind(number);
        self.shares.sent::<C>(number, (class, 0), bytes, blocked, room);
        let free_at = self.send_from_nic::<E, C>(ctx, nic, class, message, packet);
        let lane = self.lane(nic, class);
        self.advance_lane::<C>(lane, bytes);
        if waiting > 1 || !self.nics.get(lane).queue.is_empty() {
            self.flow.wake::<E, C>(ctx, number, free_at);
        }
        (last && self.messages.get(message).notify_sent).then_some(Notice::Sent { message })
    }

    /// Bytes of a channel's buffer behind `link`.
    #[inline]
    pub(crate) fn room_behind(&self, link: u32) -> u64 {
        u64::from(self.flow.links.get(link).capacity) * self.params.flit
    }
}

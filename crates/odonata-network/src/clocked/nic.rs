//! The NIC in front of a pipelined router: a flit per flit time, as long as there is a credit.
//!
//! A packet takes the next virtual channel of the terminal link, in turn, that has room for a flit.

use crate::fabric::Fabric;
use crate::{FabricEvent, Notice};
use odonata_engine::{Context, NIL, Time};

impl Fabric {
    /// Handles an event of a fabric with pipelined routers.
    #[inline]
    pub(crate) fn handle_clocked<E, C>(&mut self, ctx: &mut C, lp: u32, event: FabricEvent) -> Option<Notice>
    where
        E: Copy + From<FabricEvent>,
        C: Context<E>,
    {
        match event {
            FabricEvent::Head { packet, .. } | FabricEvent::Arrive { packet } => {
                let buffer = match event {
                    FabricEvent::Head { buffer, .. } => buffer,
                    _ => self.packets.get(packet).buffer,
                };
                self.arrive_clocked::<E, C>(ctx, lp, packet, buffer);
            }
            FabricEvent::Flit { buffer } => self.arrive_flit::<E, C>(ctx, lp, buffer),
            FabricEvent::Tick => self.tick::<E, C>(ctx, lp),
            FabricEvent::Nic { nic } => return self.serve_nic_clocked::<E, C>(ctx, nic),
            FabricEvent::Publish => self.publish::<E, C>(ctx, lp),
            FabricEvent::Submit { message } => return self.enqueue_message::<E, C>(ctx, message),
            FabricEvent::Arrived { message } => return Some(Notice::Arrived { message }),
            FabricEvent::Port { .. } | FabricEvent::Input { .. } | FabricEvent::Notify { .. } => {
                debug_assert!(false, "there is nothing to look at")
            }
        }
        None
    }

    /// Sends the next flit, if there is one, the link is free and the router has room.
    pub(crate) fn serve_nic_clocked<E, C>(&mut self, ctx: &mut C, nic: u32) -> Option<Notice>
    where
        E: Copy + From<FabricEvent>,
        C: Context<E>,
    {
        let now = ctx.now();
        let number = self.flow.links.ports + nic;
        let cell = *self.nics.get(nic);
        let message = cell.queue.head;
        if message == NIL && cell.flits == 0 {
            return None;
        }
        let out = *self.flow.ports.get(number);
        if out.free_at > now {
            self.flow.wake::<E, C>(ctx, number, out.free_at);
            return None;
        }
        let link = *self.flow.links.get(number);
        let head = cell.flits == 0;
        let bytes = if head {
            cell.unsent.min(self.params.packet) as u32
        } else {
            0
        };
        let flits = if head { self.flits(bytes) } else { u32::from(cell.flits) };
        let vc = if head {
            let room = self.clocked.room(flits).max(1);
            // From the one after the last on, around.
            (cell.vc + 1..link.vcs)
                .chain(0..(cell.vc + 1).min(link.vcs))
                .find(|&vc| self.flow.has_room::<C>(number, vc, room, now))
        } else {
            Some(cell.vc).filter(|&vc| self.flow.has_room::<C>(number, vc, 1, now))
        };
        let Some(vc) = vc else {
            if out.full_since == Time::NEVER {
                self.flow.ports.edit::<C>(number).full_since = now;
                self.links.edit::<C>(number).stalled += 1;
            }
            self.flow.await_credits::<E, C>(ctx, number);
            return None;
        };
        self.flow.claim::<C>(number, vc, 1);
        let free_at = now + link.flit;
        let arrival = free_at + link.latency;
        let last = flits == 1;
        let port = self.flow.ports.edit::<C>(number);
        port.hungry = false;
        port.free_at = free_at;
        let since = std::mem::replace(&mut port.full_since, Time::NEVER);
        if let (true, Some(rate)) = (head, self.params.nic.rate) {
            let earliest = now + rate.time_for(odonata_units::Bytes(u64::from(bytes)));
            self.nics.edit::<C>(nic).next_entry = earliest;
        }
        if last && self.params.nic.rate.is_some() {
            let earliest = self.nics.get(nic).next_entry;
            let port = self.flow.ports.edit::<C>(number);
            port.free_at = port.free_at.max(earliest);
        }
        let stats = self.links.edit::<C>(number);
        // All bytes of a packet are counted with its head.
        stats.bytes += u64::from(bytes);
        stats.packets += u64::from(head);
        stats.busy += link.flit;
        if since != Time::NEVER {
            stats.saturation += now - since;
        }
        let mut notice = None;
        if head {
            let buffer = link.far + u32::from(vc);
            let packet = self.new_packet::<C>(message, bytes, (now, arrival), buffer, 0);
            ctx.send(link.far_lp, arrival, FabricEvent::Head { packet, buffer }.into());
            let mut queue = cell.queue;
            let done = cell.unsent == u64::from(bytes);
            let mut unsent = cell.unsent - u64::from(bytes);
            if done {
                queue.pop(&self.messages);
                unsent = if queue.is_empty() {
                    0
                } else {
                    self.messages.get(queue.head).bytes
                };
                notice = self
                    .messages
                    .get(message)
                    .notify_sent
                    .then_some(Notice::Sent { message });
            }
            let nic = self.nics.edit::<C>(nic);
            (nic.queue, nic.unsent, nic.vc) = (queue, unsent, vc);
        } else {
            let buffer = link.far + u32::from(vc);
            ctx.send(link.far_lp, arrival, FabricEvent::Flit { buffer }.into());
        }
        self.nics.edit::<C>(nic).flits = (flits - 1) as u16;
        if !last || !self.nics.get(nic).queue.is_empty() {
            let free_at = self.flow.ports.get(number).free_at;
            self.flow.wake::<E, C>(ctx, number, free_at);
        }
        notice
    }
}

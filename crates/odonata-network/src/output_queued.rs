//! The router of CODES' dragonflies, with which the stored MFNetSim runs were made.
//!
//! A packet is routed on arrival. If the queue of its output and virtual channel has room, it joins the
//! queue and its upstream credit returns at once; else it waits in an overflow list and holds the
//! credit. Room is counted until the credit of the next stage comes back, so one budget covers
//! "queued here" and "in flight or waiting there". The lowest virtual channel with a packet goes first.

use crate::FabricEvent;
use crate::fabric::Fabric;
use odonata_engine::{Context, Mode, Time};

impl Fabric {
    /// `packet` is in and has been through the pipeline of `router`.
    #[inline]
    pub(crate) fn arrive_output_queued<E, C>(&mut self, ctx: &mut C, router: u32, packet: u32)
    where
        E: Copy + From<FabricEvent>,
        C: Context<E>,
    {
        self.visit::<C>(packet);
        let now = ctx.now();
        let flits = self.flits(self.packets.get(packet).bytes);
        let (port, vc, _) = self.route::<C>(router, packet, flits, now);
        self.load_changes::<E, C>(ctx, port, now);
        let at = self.flow.links.get(port).first_vc + u32::from(vc);
        let mut overflow = self.flow.vcs.get(at).overflow;
        // Room that comes at this very instant belongs to those who have waited for it.
        if !overflow.is_empty() || !self.flow.has_room::<C>(port, vc, flits, now) {
            if self.flow.books.is_on() {
                let owner = self.packets.get(packet).traffic;
                self.flow.join_output::<C>(port, owner, now);
            }
            overflow.push::<C, _>(&mut self.packets, packet);
            self.flow.vcs.edit::<C>(at).overflow = overflow;
            let out = self.flow.ports.edit::<C>(port);
            out.waiting += 1;
            out.waiting_flits += flits;
            self.links.edit::<C>(port).stalled += 1;
            self.flow.starve::<E, C>(ctx, port);
            return;
        }
        self.admit::<E, C>(ctx, packet, port, vc, flits);
        let out = self.flow.ports.get(port);
        if out.free_at <= now && out.waiting == 0 {
            self.transmit::<E, C>(ctx, packet, port, vc, None);
        } else {
            if self.flow.books.is_on() {
                let owner = self.packets.get(packet).traffic;
                self.flow.join_output::<C>(port, owner, now);
            }
            self.enqueue::<C>(packet, port, vc);
            let free_at = self.flow.ports.get(port).free_at;
            if free_at > now {
                self.flow.wake::<E, C>(ctx, port, free_at);
            } else {
                self.serve_output_queued::<E, C>(ctx, port);
            }
        }
    }

    /// `packet` gets its place in the queue and gives its upstream credit back.
    #[inline]
    fn admit<E, C>(&mut self, ctx: &mut C, packet: u32, port: u32, vc: u8, flits: u32)
    where
        E: Copy + From<FabricEvent>,
        C: Context<E>,
    {
        self.flow.claim::<C>(port, vc, flits);
        let p = self.packets.get(packet);
        let (buffer, from_vc, owner) = (p.buffer, p.vc, p.traffic);
        let now = ctx.now();
        self.give_back::<E, C>(ctx, buffer, from_vc, (flits as u16, owner), now);
    }

    fn enqueue<M: Mode>(&mut self, packet: u32, port: u32, vc: u8) {
        let at = self.flow.links.get(port).first_vc + u32::from(vc);
        let mut queue = self.flow.vcs.get(at).queue;
        queue.push::<M, _>(&mut self.packets, packet);
        self.flow.vcs.edit::<M>(at).queue = queue;
        self.flow.ports.edit::<M>(port).waiting += 1;
    }

    /// A port became free or got a credit: lets overflow in, then sends.
    pub(crate) fn serve_output_queued<E, C>(&mut self, ctx: &mut C, port: u32)
    where
        E: Copy + From<FabricEvent>,
        C: Context<E>,
    {
        let now = ctx.now();
        if self.flow.ports.get(port).hungry {
            self.admit_overflow::<E, C>(ctx, port);
        }
        let out = *self.flow.ports.get(port);
        if out.waiting == 0 {
            return;
        }
        if out.free_at > now {
            self.flow.wake::<E, C>(ctx, port, out.free_at);
            return;
        }
        let link = *self.flow.links.get(port);
        for vc in 0..link.vcs {
            let at = link.first_vc + u32::from(vc);
            let mut queue = self.flow.vcs.get(at).queue;
            let Some(packet) = queue.pop(&self.packets) else {
                continue;
            };
            self.flow.vcs.edit::<C>(at).queue = queue;
            self.flow.ports.edit::<C>(port).waiting -= 1;
            let free_at = self.transmit::<E, C>(ctx, packet, port, vc, Some(vc));
            if out.waiting > 1 {
                self.flow.wake::<E, C>(ctx, port, free_at);
            }
            return;
        }
    }

    /// Counts the credits that are due; each ends the port's saturation and lets waiting packets in.
    fn admit_overflow<E, C>(&mut self, ctx: &mut C, port: u32)
    where
        E: Copy + From<FabricEvent>,
        C: Context<E>,
    {
        let now = ctx.now();
        let before = self.flow.ports.get(port).used;
        self.flow.harvest::<C>(port, now);
        if self.flow.ports.get(port).used < before {
            let since = std::mem::replace(&mut self.flow.ports.edit::<C>(port).full_since, Time::NEVER);
            if since != Time::NEVER {
                self.links.edit::<C>(port).saturation += now - since;
            }
        }
        let link = *self.flow.links.get(port);
        let flits = self.full_packet.unwrap_or(1);
        let mut starving = false;
        for vc in 0..link.vcs {
            let at = link.first_vc + u32::from(vc);
            loop {
                let cell = *self.flow.vcs.get(at);
                if cell.overflow.is_empty() {
                    break;
                }
                // Asked before the packet is looked at: it has waited long and is far from the caches.
                if cell.used + flits > link.capacity {
                    starving = true;
                    break;
                }
                let mut overflow = cell.overflow;
                let Some(packet) = overflow.pop(&self.packets) else {
                    break;
                };
                self.flow.vcs.edit::<C>(at).overflow = overflow;
                let out = self.flow.ports.edit::<C>(port);
                out.waiting -= 1;
                out.waiting_flits -= flits;
                self.admit::<E, C>(ctx, packet, port, vc, flits);
                self.enqueue::<C>(packet, port, vc);
            }
        }
        if starving {
            self.flow.await_credits::<E, C>(ctx, port);
        } else {
            self.flow.ports.edit::<C>(port).hungry = false;
        }
    }
}

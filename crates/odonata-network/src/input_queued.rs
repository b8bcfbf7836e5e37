//! The input-queued virtual-channel router.
//!
//! Packets wait in the buffer of their input port and virtual channel, and hold its space until their
//! tail has left. With virtual output queues every packet competes for its output; with FIFOs the head
//! alone is routed and competes, and its successor when its tail has left. Every buffer has read ports
//! enough (full input speed-up), so a packet waits for nothing inside the router but the output and a
//! credit for all of it. An output takes virtual channels in turn (round robin), and inside one the
//! request that came first. Where there are several traffic classes, an output first takes the class whose turn it is
//! ([`Shares`](crate::shares::Shares)), then the virtual channels of that class in turn.

use crate::FabricEvent;
use crate::fabric::Fabric;
use crate::packet::Wants;
use odonata_engine::{Context, NIL, Time};

/// Distinguishes canonical events of input buffers from those of ports.
const INPUT: u32 = 1 << 31;

/// Where FIFOs hold packets of several classes, looks at ports have names behind those of looks at input buffers: the next
/// packet of the FIFO that was served last competes with the others. It could not if the port chose before the FIFO had moved
/// up, and two classes with one FIFO each would take turns, whatever their shares.
pub(crate) const PORTS_LAST: u32 = 3 << 30;

impl Fabric {
    /// The head of `packet` has come through the pipeline of `router`.
    #[inline]
    pub(crate) fn arrive_input_queued<E, C>(&mut self, ctx: &mut C, router: u32, packet: u32)
    where
        E: Copy + From<FabricEvent>,
        C: Context<E>,
    {
        self.visit::<C>(packet);
        if !self.fifo {
            self.request::<E, C>(ctx, router, packet, false);
            return;
        }
        let buffer = self.packets.get(packet).buffer;
        let input = *self.inputs.get(buffer);
        if input.fifo.is_empty() && input.read_until <= ctx.now() {
            self.request::<E, C>(ctx, router, packet, false);
            return;
        }
        if self.flow.books.is_on() {
            let owner = self.packets.get(packet).traffic;
            self.flow.join_input::<C>(buffer, owner, ctx.now());
        }
        self.push_input::<C>(packet, buffer);
        if input.fifo.is_empty() {
            ctx.look_again(
                router,
                input.read_until,
                INPUT | buffer,
                FabricEvent::Input { buffer }.into(),
            );
        }
    }

    fn push_input<M: odonata_engine::Mode>(&mut self, packet: u32, buffer: u32) {
        let mut fifo = self.inputs.get(buffer).fifo;
        fifo.push::<M, _>(&mut self.packets, packet);
        let flits = self.flits(self.packets.get(packet).bytes);
        let input = self.inputs.edit::<M>(buffer);
        input.fifo = fifo;
        input.flits += flits;
    }

    /// The tail of the last packet read from `buffer` has left: its next head may compete.
    pub(crate) fn next_head<E, C>(&mut self, ctx: &mut C, router: u32, buffer: u32)
    where
        E: Copy + From<FabricEvent>,
        C: Context<E>,
    {
        let input = *self.inputs.get(buffer);
        if input.fifo.is_empty() || input.requested || input.read_until > ctx.now() {
            return;
        }
        if self.flow.books.is_on() {
            let owner = self.packets.get(input.fifo.head).traffic;
            self.flow.leave_input::<C>(buffer, owner, ctx.now());
        }
        self.request::<E, C>(ctx, router, input.fifo.head, true);
    }

    /// Routes the head of a buffer; sends it at once if nothing is in the way, else it waits for its
    /// output.
    fn request<E, C>(&mut self, ctx: &mut C, router: u32, packet: u32, in_fifo: bool)
    where
        E: Copy + From<FabricEvent>,
        C: Context<E>,
    {
        let now = ctx.now();
        let flits = self.flits(self.packets.get(packet).bytes);
        let (port, vc, wants) = self.route::<C>(router, packet, flits, now);
        self.load_changes::<E, C>(ctx, port, now);
        let p = *self.packets.get(packet);
        let out = *self.flow.ports.get(port);
        let at = self.flow.links.get(port).first_vc + u32::from(vc);
        if self.fifo && self.flow.books.is_on() {
            self.flow.hold_input::<C>(p.buffer, p.traffic);
        }
        // A port that others wait for is passed by only if it has looked at them and can serve none.
        let idle = out.free_at <= now && (out.waiting == 0 || out.hungry);
        let wanted = self.wanted(flits, wants);
        if idle && self.flow.vcs.get(at).queue.is_empty() && self.flow.has_room::<C>(port, vc, wanted, now) {
            if in_fifo {
                self.pop_input::<C>(p.buffer);
            }
            let free_at = self.send_from_input::<E, C>(ctx, router, packet, (port, vc), flits, None);
            if out.waiting > 0 {
                // Those passed by are looked at again before anybody else passes.
                self.flow.ports.edit::<C>(port).hungry = false;
                self.flow.wake::<E, C>(ctx, port, free_at);
            }
            return;
        }
        if self.fifo {
            if !in_fifo {
                self.push_input::<C>(packet, p.buffer);
            }
            self.inputs.edit::<C>(p.buffer).requested = true;
        }
        if self.flow.books.is_on() {
            self.flow.join_output::<C>(port, p.traffic, now);
        }
        let waiting = self.packets.edit::<C>(packet);
        (waiting.next_waiting, waiting.wants) = (NIL, wants);
        let tail = self.flow.vcs.get(at).queue.tail;
        if tail != NIL {
            self.packets.edit::<C>(tail).next_waiting = packet;
        }
        let queue = &mut self.flow.vcs.edit::<C>(at).queue;
        queue.tail = packet;
        if queue.head == NIL {
            queue.head = packet;
        }
        let out_port = self.flow.ports.edit::<C>(port);
        out_port.waiting += 1;
        out_port.waiting_flits += flits;
        if out.free_at > now {
            self.flow.wake::<E, C>(ctx, port, out.free_at);
        } else if idle {
            self.links.edit::<C>(port).stalled += 1;
            self.flow.starve::<E, C>(ctx, port);
        }
        // Otherwise the port became free at this very instant and its look is still to come.
    }

    fn pop_input<M: odonata_engine::Mode>(&mut self, buffer: u32) {
        let mut fifo = self.inputs.get(buffer).fifo;
        let flits = self.flits(self.packets.get(fifo.head).bytes);
        fifo.pop(&self.packets);
        let input = self.inputs.edit::<M>(buffer);
        input.fifo = fifo;
        input.flits -= flits;
        input.requested = false;
    }

    /// An output port became free or got a credit: sends the next packet that can go.
    pub(crate) fn serve_input_queued<E, C>(&mut self, ctx: &mut C, port: u32)
    where
        E: Copy + From<FabricEvent>,
        C: Context<E>,
    {
        let now = ctx.now();
        let out = *self.flow.ports.get(port);
        if out.waiting == 0 {
            return;
        }
        if out.free_at > now {
            self.flow.wake::<E, C>(ctx, port, out.free_at);
            return;
        }
        let link = *self.flow.links.get(port);
        let mut again = false;
        let sent = if self.shares.is_on() {
            self.serve_classes::<E, C>(ctx, port, &mut again)
        } else {
            self.serve_channels::<E, C>(ctx, port, (0, link.vcs), out.last_vc, &mut again)
        };
        if let Some(free_at) = sent {
            if out.waiting > 1 {
                self.flow.wake::<E, C>(ctx, port, free_at);
            }
            return;
        }
        if out.full_since == Time::NEVER {
            self.links.edit::<C>(port).stalled += 1;
        }
        self.flow.starve::<E, C>(ctx, port);
        if again {
            self.decide_again::<E, C>(ctx, port);
        }
    }

    /// Sends the next packet that can go of the traffic class whose turn it is at `port`; returns when the port is free
    /// again, if one goes.
    fn serve_classes<E, C>(&mut self, ctx: &mut C, port: u32, again: &mut bool) -> Option<Time>
    where
        E: Copy + From<FabricEvent>,
        C: Context<E>,
    {
        let width = self.spans.width(self.flow.links.get(port).class);
        let order = self.shares.order(port);
        order[..usize::from(self.shares.classes)].iter().find_map(|&class| {
            let last = self.shares.last_vc(port, class);
            self.serve_channels::<E, C>(ctx, port, (class * width, width), last, again)
        })
    }

    /// Sends the next packet that can go on `port`, by the channels from `first` on, of which `last` was served last; returns
    /// when the port is free again, if one goes. `again`: one that could not go wants to be decided upon again.
    #[inline]
    fn serve_channels<E, C>(
        &mut self,
        ctx: &mut C,
        port: u32,
        (first, channels): (u8, u8),
        last: u8,
        again: &mut bool,
    ) -> Option<Time>
    where
        E: Copy + From<FabricEvent>,
        C: Context<E>,
    {
        let now = ctx.now();
        let link = *self.flow.links.get(port);
        for turn in 1..=channels {
            let vc = last + turn;
            let vc = first + if vc < channels { vc } else { vc - channels };
            let at = link.first_vc + u32::from(vc);
            let mut packet = self.flow.vcs.get(at).queue.head;
            if packet == NIL {
                continue;
            }
            let mut previous = NIL;
            let mut p = *self.packets.get(packet);
            let mut flits = self.flits(p.bytes);
            if !self.flow.has_room::<C>(port, vc, self.wanted(flits, p.wants), now) {
                if p.wants.retry() {
                    *again = true;
                }
                if !p.wants.spare() {
                    continue;
                }
                // Packets that go on in a ring do not wait behind those that want to enter it.
                while packet != NIL && p.wants.spare() {
                    (previous, packet) = (packet, p.next_waiting);
                    if packet != NIL {
                        p = *self.packets.get(packet);
                    }
                }
                flits = self.flits(p.bytes);
                if packet == NIL || !self.flow.has_room::<C>(port, vc, flits, now) {
                    continue;
                }
            }
            self.unlink_waiting::<C>(at, previous, packet, p.next_waiting);
            let out_port = self.flow.ports.edit::<C>(port);
            out_port.waiting -= 1;
            out_port.waiting_flits -= flits;
            out_port.hungry = false;
            if self.fifo {
                self.pop_input::<C>(p.buffer);
            }
            return Some(self.send_from_input::<E, C>(ctx, link.lp, packet, (port, vc), flits, Some(vc)));
        }
        None
    }

    /// Notes that `packet` takes its class's turn at `port` on virtual channel `vc`.
    fn charge_share<M: odonata_engine::Mode>(&mut self, port: u32, vc: u8, packet: u32, now: Time) {
        let p = *self.packets.get(packet);
        let link = *self.flow.links.get(port);
        let width = self.spans.width(link.class);
        // Other classes that wait, but not for the link.
        let mut blocked = 0;
        if self.flow.ports.get(port).waiting > 0 {
            for class in (0..self.shares.classes).filter(|&class| class != p.class) {
                let mut fits = false;
                let mut waits = false;
                for vc in class * width..(class + 1) * width {
                    let head = self.flow.vcs.get(link.first_vc + u32::from(vc)).queue.head;
                    if head != NIL {
                        let head = *self.packets.get(head);
                        let wanted = self.wanted(self.flits(head.bytes), head.wants);
                        (waits, fits) = (true, fits || self.flow.has_room::<M>(port, vc, wanted, now));
                    }
                }
                blocked |= u8::from(waits && !fits) << class;
            }
        }
        let room = self.room_behind(port);
        self.shares
            .sent::<M>(port, (p.class, vc - p.class * width), p.bytes, blocked, room);
    }

    /// Flits of room without which a packet of `flits` does not go.
    #[inline]
    fn wanted(&self, flits: u32, wants: Wants) -> u32 {
        match wants.spare() {
            true => flits + self.spare,
            false => flits,
        }
    }

    /// Takes `packet`, which stands behind `previous` and before `next`, out of the queue of virtual channel `at`.
    #[inline]
    fn unlink_waiting<M: odonata_engine::Mode>(&mut self, at: u32, previous: u32, packet: u32, next: u32) {
        if previous != NIL {
            self.packets.edit::<M>(previous).next_waiting = next;
        }
        let queue = &mut self.flow.vcs.edit::<M>(at).queue;
        if previous == NIL {
            queue.head = next;
        }
        if queue.tail == packet {
            queue.tail = previous;
        }
    }

    /// Sends those elsewhere who wait at `port` for room that they do not insist on.
    #[cold]
    fn decide_again<E, C>(&mut self, ctx: &mut C, port: u32)
    where
        E: Copy + From<FabricEvent>,
        C: Context<E>,
    {
        let now = ctx.now();
        let link = *self.flow.links.get(port);
        for at in link.first_vc..link.first_vc + u32::from(link.vcs) {
            loop {
                let packet = self.flow.vcs.get(at).queue.head;
                if packet == NIL {
                    break;
                }
                let p = *self.packets.get(packet);
                if !p.wants.retry() {
                    break;
                }
                self.unlink_waiting::<C>(at, NIL, packet, p.next_waiting);
                let flits = self.flits(p.bytes);
                let out = self.flow.ports.edit::<C>(port);
                out.waiting -= 1;
                out.waiting_flits -= flits;
                if self.flow.books.is_on() {
                    let vc = (at - link.first_vc) as u8;
                    self.flow.leave_output::<C>(port, vc, p.traffic, now);
                }
                self.request::<E, C>(ctx, link.lp, packet, self.fifo);
            }
        }
    }

    /// Sends a head that has its output: its buffer's credit returns when the tail has left.
    fn send_from_input<E, C>(
        &mut self,
        ctx: &mut C,
        router: u32,
        packet: u32,
        (port, vc): (u32, u8),
        flits: u32,
        waited: Option<u8>,
    ) -> Time
    where
        E: Copy + From<FabricEvent>,
        C: Context<E>,
    {
        let p = *self.packets.get(packet);
        if self.shares.is_on() {
            self.charge_share::<C>(port, vc, packet, ctx.now());
        }
        self.flow.claim::<C>(port, vc, flits);
        let done = self.transmit::<E, C>(ctx, packet, port, vc, waited);
        self.give_back::<E, C>(ctx, p.buffer, p.vc, (flits as u16, p.traffic), done);
        if !self.fifo {
            return done;
        }
        let input = self.inputs.edit::<C>(p.buffer);
        input.read_until = done;
        if !input.fifo.is_empty() {
            ctx.look_again(
                router,
                done,
                INPUT | p.buffer,
                FabricEvent::Input { buffer: p.buffer }.into(),
            );
        }
        done
    }
}

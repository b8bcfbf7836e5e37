//! The input-queued virtual-channel router.
//!
//! Packets wait in the buffer of their input port and virtual channel, and hold its space until their tail has left.
//! With virtual output queues every packet competes for its output. With FIFOs only the head is routed and competes,
//! and its successor once its tail has left. Buffers have full input speedup, so a packet waits in the router only for
//! its output and for credits for all its flits.
//!
//! The [`Arbiter`] selects by input port or age. With first-come arbitration, an output takes virtual channels in turn
//! and in each the request that came first. With several traffic classes, the
//! [`ClassScheduler`](crate::control::ClassScheduler) first selects the class, then the arbiter a packet of it.
//!
//! Only the next packet of a list requests its virtual channel: while it lacks room, smaller packets do not overtake
//! it.

use super::WholePackets;
use super::arbiter::{Arbiter, Turn, input_port};
use crate::fabric::{Setup, Shared, has_fifos};
use crate::features::{HandlerContext, Uses};
use crate::flow::{Links, OutPort, Space};
use crate::observe::{Observed, Observer};
use crate::packet::{Packet, VcTerms};
use crate::params::NetworkParams;
use crate::routing::Routing;
use crate::settings::Arbitration;
use crate::{FabricEvent, Payload};
use odonata_engine::{List, NIL, Store, Time};

/// Marks the wake-ups of input buffers.
const INPUT: u32 = 1 << 31;

/// If ports wait for FIFOs ([`heads_first`]), their wake-ups have ids after those of input buffers: the next packet of
/// the FIFO served last must compete with the others.
pub(crate) const PORTS_LAST: u32 = 3 << 30;

/// Whether a FIFO advances before ports choose, at the same instant. Otherwise two competing FIFOs would alternate
/// whatever their class shares or packet ages. With first-come arbitration the next head comes last anyway.
pub(crate) fn heads_first(params: &NetworkParams) -> bool {
    params.classes.count() > 1 || params.arbitration != Arbitration::FirstCome
}

/// One virtual channel of an input port, with FIFO input queues.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct InBuffer {
    /// When the tail of the packet read last has left.
    read_until: Time,
    /// Packets whose head has arrived and that are not being read yet.
    pub(crate) fifo: List,
    /// Flits of these packets.
    flits: u32,
    /// Whether the first of them has been routed and waits for its output.
    requested: bool,
}

impl InBuffer {
    const EMPTY: InBuffer = InBuffer {
        read_until: Time::ZERO,
        fifo: List::EMPTY,
        flits: 0,
        requested: false,
    };
}

/// The input buffers of input-queued routers; no state with virtual output queues.
#[derive(Debug)]
pub(crate) struct InputQueued {
    /// Whether only the heads of input buffers compete.
    fifo: bool,
    arbiter: Arbiter,
    /// Whether to skip a list whose channel has no room at all; requires that every packet waits for room.
    looks_for_room: bool,
    buffers: Store<InBuffer>,
}
odonata_engine::journalled!(InputQueued { buffers });

impl InputQueued {
    pub(crate) fn new(params: &NetworkParams, links: &Links, routing: &Routing) -> InputQueued {
        let fifo = has_fifos(params);
        let buffers = if fifo { links.buffers as usize } else { 0 };
        InputQueued {
            fifo,
            arbiter: arbiter(params),
            looks_for_room: routing.waits_for_room(),
            buffers: Store::filled(buffers, InBuffer::EMPTY),
        }
    }

    /// Whether only the heads of input buffers compete.
    #[inline(always)]
    pub(crate) fn has_fifos<U: Uses>(&self) -> bool {
        U::EXTRAS && self.fifo
    }

    pub(crate) const BYTES_PER_FIFO: usize = size_of::<InBuffer>();

    /// The FIFOs, by input buffer; none with virtual output queues.
    pub(crate) fn fifos(&self) -> impl Iterator<Item = List> + '_ {
        self.buffers.iter().map(|buffer| buffer.fifo)
    }

    /// The head of `packet` has passed the pipeline of `router`.
    #[inline(always)]
    pub(crate) fn arrive<C: HandlerContext>(
        &mut self,
        ctx: &mut C,
        shared: &mut Shared<impl Payload>,
        router: u32,
        packet: u32,
    ) {
        if !self.has_fifos::<C>() {
            self.request(ctx, shared, router, (packet, 1), false);
            return;
        }
        let buffer = shared.packets.get(packet).buffer;
        let input = *self.buffers.get(buffer);
        if input.fifo.is_empty() && input.read_until <= ctx.now() {
            self.request(ctx, shared, router, (packet, 1), false);
            return;
        }
        shared.count_hop::<C>(packet);
        let observed = Observed::new(packet, shared.packets.get(packet));
        (shared.flow.observers).packet_joins_fifo::<C>(buffer, observed, ctx.now());
        self.push_input::<C>(shared, packet, buffer);
        if input.fifo.is_empty() {
            ctx.wake_up(
                router,
                input.read_until,
                INPUT | buffer,
                FabricEvent::Input { buffer }.into(),
            );
        }
    }

    fn push_input<M: Uses>(&mut self, shared: &mut Shared<impl Payload>, packet: u32, buffer: u32) {
        let mut fifo = self.buffers.get(buffer).fifo;
        fifo.push::<M, _>(&mut shared.packets, packet);
        let flits = shared.setup.flits(shared.packets.get(packet).bytes);
        let input = self.buffers.edit::<M>(buffer);
        input.fifo = fifo;
        input.flits += flits;
    }

    /// The tail of the packet read last from `buffer` has left: the next head may compete.
    pub(crate) fn next_head<C: HandlerContext>(
        &mut self,
        ctx: &mut C,
        shared: &mut Shared<impl Payload>,
        router: u32,
        buffer: u32,
    ) {
        let input = *self.buffers.get(buffer);
        if input.fifo.is_empty() || input.requested || input.read_until > ctx.now() {
            return;
        }
        let observed = Observed::new(input.fifo.head, shared.packets.get(input.fifo.head));
        (shared.flow.observers).packet_leads_fifo::<C>(buffer, observed, ctx.now());
        self.request(ctx, shared, router, (input.fifo.head, 0), true);
    }

    /// Routes the head of a buffer and adds `hops` visited routers: one if it has just arrived. Sends it at once if
    /// nothing blocks it; otherwise it waits for its output.
    fn request<C: HandlerContext>(
        &mut self,
        ctx: &mut C,
        shared: &mut Shared<impl Payload>,
        router: u32,
        (packet, hops): (u32, u16),
        in_fifo: bool,
    ) {
        let now = ctx.now();
        let p = *shared.packets.get(packet);
        let feeder = if hops > 0 { p.next_waiting } else { NIL };
        shared.flow.prefetch_credits(feeder);
        let flits = shared.setup.flits(p.bytes);
        let (port, asked, terms) = shared.route::<C>(&WholePackets, router, (packet, hops), flits, now);
        shared.flow.observers.statistics.prefetch(port);
        shared.remote.load_grows(ctx, &shared.flow.links, port, flits);
        let out = *shared.flow.port(port);
        let at = shared.flow.first_vc(port) + u32::from(asked);
        if self.has_fifos::<C>() {
            shared.flow.observers.fifo_is_held::<C>(p.buffer, p.traffic);
        }
        // A packet may overtake those that wait for a port only if the port has tried them and none can go.
        let idle = out.free_at <= now && (out.waiting == 0 || out.awaits_credit());
        let wanted = wanted(&shared.setup, flits, terms);
        let (line, served) = shared.flow.vc(at).requests();
        if idle
            && (line.is_empty() || self.arbiter.is_first(&shared.packets, line, (packet, terms), served))
            && let Some(vc) = shared.room_for::<C>(port, asked, wanted, now)
        {
            if in_fifo {
                self.pop_input::<C>(shared, p.buffer);
            }
            shared.flow.edit_vc::<C>(at).last_input = input_port(&p);
            let free_at = self.send_from_input(ctx, shared, router, (packet, feeder, flits), (port, vc), None);
            if out.waiting > 0 {
                Self::look_for_room::<C>(shared, port, asked, now);
                // The overtaken packets are tried again before another packet overtakes.
                shared.flow.set_awaits_credit::<C>(port, false);
                shared.flow.wake_up(ctx, port, free_at);
            }
            return;
        }
        if self.has_fifos::<C>() {
            if !in_fifo {
                self.push_input::<C>(shared, packet, p.buffer);
            }
            self.buffers.edit::<C>(p.buffer).requested = true;
        }
        shared.joins_output::<C>((port, at), packet, now);
        shared.packets.edit::<C>(packet).terms = terms;
        let line = &mut shared.flow.edit_vc::<C>(at).queue;
        self.arbiter.join::<C>(&mut shared.packets, line, packet, served);
        shared.flow.begin_wait::<C>(port, asked, flits);
        Self::look_for_room::<C>(shared, port, asked, now);
        if out.free_at > now {
            shared.flow.wake_up(ctx, port, out.free_at);
        } else if idle {
            shared.flow.observers.port_stalls::<C>(port);
            shared.flow.stall(ctx, port);
        }
        // Otherwise the port became free at this instant and its wake-up is still to come.
    }

    fn pop_input<M: Uses>(&mut self, shared: &mut Shared<impl Payload>, buffer: u32) {
        let mut fifo = self.buffers.get(buffer).fifo;
        let flits = shared.setup.flits(shared.packets.get(fifo.head).bytes);
        fifo.pop(&shared.packets);
        let input = self.buffers.edit::<M>(buffer);
        input.fifo = fifo;
        input.flits -= flits;
        input.requested = false;
    }

    /// An output port became free or got a credit: sends the next packet that can go.
    // Not inlined into the handler of all events: it needs many registers, which every event would have to save.
    #[inline(never)]
    pub(crate) fn serve<C: HandlerContext>(&mut self, ctx: &mut C, shared: &mut Shared<impl Payload>, port: u32) {
        let now = ctx.now();
        let out = *shared.flow.port(port);
        if out.waiting == 0 {
            return;
        }
        if out.free_at > now {
            shared.flow.wake_up(ctx, port, out.free_at);
            return;
        }
        let link = shared.flow.link(port);
        let mut reroute = false;
        let sent = if shared.classes.is_on::<C>() {
            self.serve_classes(ctx, shared, port, &mut reroute)
        } else {
            self.serve_channels(
                ctx,
                shared,
                port,
                (0, link.vcs),
                (out.last_vc, out.last_input),
                &mut reroute,
            )
        };
        if let Some(free_at) = sent {
            if out.waiting > 1 {
                shared.flow.wake_up(ctx, port, free_at);
            }
            return;
        }
        if out.stalled_since == Time::NEVER {
            shared.flow.observers.port_stalls::<C>(port);
        }
        shared.flow.stall(ctx, port);
        if reroute {
            self.reroute_waiting(ctx, shared, port);
        }
    }

    /// Sends the next packet that can go of the next traffic class at `port`. Returns when the port is free again, if a
    /// packet goes.
    fn serve_classes<C: HandlerContext>(
        &mut self,
        ctx: &mut C,
        shared: &mut Shared<impl Payload>,
        port: u32,
        reroute: &mut bool,
    ) -> Option<Time> {
        let width = shared.setup.vcs.width(shared.flow.link(port).class);
        let order = shared.classes.order(port);
        order[..usize::from(shared.classes.count())].iter().find_map(|&class| {
            let last = (
                shared.classes.last_vc(port, class),
                shared.classes.last_input(port, class),
            );
            self.serve_channels(ctx, shared, port, (class * width, width), last, reroute)
        })
    }

    /// Sends the next packet that can go on `port`, among `channels` from `first` on; `last_vc` and input port `served`
    /// were served last. Returns when the port is free again, if a packet goes. `reroute`: a packet that lacks room
    /// asks to be routed again.
    ///
    /// Each channel has its own round over inputs, and the turns of the channels are compared in the round of the
    /// output. Otherwise the next input of a channel that rarely has room would depend on the inputs that other
    /// channels have served meanwhile.
    #[inline]
    fn serve_channels<C: HandlerContext>(
        &mut self,
        ctx: &mut C,
        shared: &mut Shared<impl Payload>,
        port: u32,
        (first, channels): (u8, u8),
        (last_vc, served): (u8, u32),
        reroute: &mut bool,
    ) -> Option<Time> {
        let now = ctx.now();
        let link = shared.flow.link(port);
        let arbiter = self.arbiter;
        let last_vc = match arbiter.arbitration() {
            Arbitration::LowestFirst => channels - 1,
            _ => last_vc,
        };
        let mut best: Option<(u8, u8, Turn)> = None;
        let mut least = (u64::MAX, u64::MAX);
        // The channels with waiting packets, starting after the last one served.
        let all = shared.flow.port(port).waiting_vcs;
        let mut turns = Turns::new(all, (first, channels), last_vc, link.vcs);
        while let Some(asked) = turns.next() {
            let (line, last) = shared.flow.vc(link.first_vc + u32::from(asked)).requests();
            if line.is_empty() {
                continue;
            }
            if self.looks_for_room && shared.room_for::<C>(port, asked, 1, now).is_none() {
                continue;
            }
            let mut turn = arbiter.next(&shared.packets, line, last);
            let p = shared.packets.get(turn.packet);
            let (terms, flits) = (p.terms, shared.setup.flits(p.bytes));
            let needed = wanted(&shared.setup, flits, terms);
            let mut room = shared.room_for::<C>(port, asked, needed, now);
            if room.is_none() {
                if terms.reroutes() {
                    *reroute = true;
                }
                if !terms.bubble() {
                    continue;
                }
                // Packets that continue in a ring do not wait behind packets that want to enter it.
                let goes_on = |p: &Packet| !p.terms.bubble();
                let Some(other) = arbiter.next_of(&shared.packets, line, last, goes_on) else {
                    continue;
                };
                turn = other;
                let flits = shared.setup.flits(shared.packets.get(turn.packet).bytes);
                room = shared.room_for::<C>(port, asked, flits, now);
            }
            let Some(vc) = room else { continue };
            let rank = arbiter.among_channels(&shared.packets, turn.packet, served);
            if best.is_none() || rank < least {
                (best, least) = (Some((asked, vc, turn)), rank);
            }
            if arbiter.is_first_come() {
                break;
            }
        }
        let (asked, vc, turn) = best?;
        let packet = turn.packet;
        let p = *shared.packets.get(packet);
        let feeder = shared.flow.links.feeder(p.buffer - u32::from(p.vc));
        shared.flow.prefetch_credits(feeder);
        if link.to_node {
            shared.messages.prefetch(p.message);
        }
        let flits = shared.setup.flits(p.bytes);
        let mut line = shared.flow.vc(link.first_vc + u32::from(asked)).queue;
        arbiter.leave::<C>(&mut shared.packets, &mut line, turn);
        let cell = shared.flow.edit_vc::<C>(link.first_vc + u32::from(asked));
        (cell.queue, cell.last_input) = (line, input_port(&p));
        shared.flow.end_wait::<C>(port, (asked, line.is_empty()), flits);
        shared.flow.set_awaits_credit::<C>(port, false);
        if self.has_fifos::<C>() {
            self.pop_input::<C>(shared, p.buffer);
        }
        let router = shared.flow.links.sender(port);
        let free_at = self.send_from_input(ctx, shared, router, (packet, feeder, flits), (port, vc), Some(vc));
        Self::look_for_room::<C>(shared, port, asked, now);
        Some(free_at)
    }

    /// Updates whether channel `asked` of `port`, or its level, has waiting packets and no room for a full packet.
    #[inline(always)]
    fn look_for_room<M: Uses>(shared: &mut Shared<impl Payload>, port: u32, asked: u8, now: Time) {
        let out = shared.flow.port(port);
        if out.is_exhausted() || out.waiting > 0 && shared.lacks_room(port, asked) {
            Self::look_again_for_room::<M>(shared, port, asked, now);
        }
    }

    #[inline(never)]
    fn look_again_for_room<M: Uses>(shared: &mut Shared<impl Payload>, port: u32, asked: u8, now: Time) {
        let full = shared.setup.bubble;
        let at = shared.flow.first_vc(port) + u32::from(asked);
        let lacks = !shared.flow.vc(at).queue.is_empty() && shared.room_for::<M>(port, asked, full, now).is_none();
        shared.flow.set_exhausted::<M>(port, asked, lacks, now);
    }

    /// Charges the turn of its class at `port` to `packet`, on virtual channel `vc`.
    fn charge_class<M: Uses>(&mut self, shared: &mut Shared<impl Payload>, port: u32, vc: u8, packet: u32, now: Time) {
        let p = *shared.packets.get(packet);
        let link = shared.flow.link(port);
        let width = shared.setup.vcs.width(link.class);
        // Other classes with waiting packets that lack something other than the link.
        let mut blocked = 0;
        if shared.flow.port(port).waiting > 0 {
            for class in (0..shared.classes.count()).filter(|&class| class != p.class) {
                let mut fits = false;
                let mut waits = false;
                for vc in class * width..(class + 1) * width {
                    let (line, last) = shared.flow.vc(link.first_vc + u32::from(vc)).requests();
                    if !line.is_empty() {
                        let turn = self.arbiter.next(&shared.packets, line, last);
                        let head = *shared.packets.get(turn.packet);
                        let wanted = wanted(&shared.setup, shared.setup.flits(head.bytes), head.terms);
                        let room = shared.room_for::<M>(port, vc, wanted, now);
                        (waits, fits) = (true, fits || room.is_some());
                    }
                }
                blocked |= u8::from(waits && !fits) << class;
            }
        }
        let room = shared.room_behind(port);
        shared.classes.sent::<M>(
            port,
            (p.class, vc - p.class * width, input_port(&p)),
            p.bytes,
            blocked,
            room,
        );
    }

    /// Routes again the packets at `port` that wait for room and may take another output.
    #[cold]
    fn reroute_waiting<C: HandlerContext>(&mut self, ctx: &mut C, shared: &mut Shared<impl Payload>, port: u32) {
        let now = ctx.now();
        let link = shared.flow.link(port);
        for at in link.first_vc..link.first_vc + u32::from(link.vcs) {
            loop {
                let (line, last) = shared.flow.vc(at).requests();
                if line.is_empty() {
                    break;
                }
                let turn = self.arbiter.next(&shared.packets, line, last);
                let packet = turn.packet;
                let p = *shared.packets.get(packet);
                if !p.terms.reroutes() {
                    break;
                }
                let mut line = line;
                self.arbiter.leave::<C>(&mut shared.packets, &mut line, turn);
                shared.flow.edit_vc::<C>(at).queue = line;
                let flits = shared.setup.flits(p.bytes);
                let vc = (at - link.first_vc) as u8;
                shared.flow.end_wait::<C>(port, (vc, line.is_empty()), flits);
                Self::look_for_room::<C>(shared, port, vc, now);
                let observed = Observed::new(packet, &p);
                shared.flow.packet_is_rerouted::<C>((port, at), observed, now);
                let router = shared.flow.links.sender(port);
                self.request(ctx, shared, router, (packet, 0), self.has_fifos::<C>());
            }
        }
    }

    /// Sends a head with a granted output. The credit of its buffer returns when the tail has left. Returns when the
    /// port is free again.
    fn send_from_input<C: HandlerContext>(
        &mut self,
        ctx: &mut C,
        shared: &mut Shared<impl Payload>,
        router: u32,
        (packet, feeder, flits): (u32, u32, u32),
        (port, vc): (u32, u8),
        waited: Option<u8>,
    ) -> Time {
        let p = shared.packets.get(packet);
        let (buffer, from_vc, owner) = (p.buffer, p.vc, p.traffic);
        if shared.classes.is_on::<C>() {
            self.charge_class::<C>(shared, port, vc, packet, ctx.now());
        }
        let queued = match shared.congestion.is_on::<C>() {
            true => self.queued_bytes(shared, port),
            false => 0,
        };
        let release = shared.transmit(ctx, (packet, flits), (port, vc), waited, queued);
        let space = Space {
            flits: flits as u16,
            owner,
            tag: shared.flow.observers.tag_of_last::<C>(port),
        };
        shared.free_fed_buffer(ctx, (buffer, feeder), from_vc, space, release.buffer);
        if !self.has_fifos::<C>() {
            return release.port;
        }
        let input = self.buffers.edit::<C>(buffer);
        input.read_until = release.buffer;
        if !input.fifo.is_empty() {
            ctx.wake_up(
                router,
                release.buffer,
                INPUT | buffer,
                FabricEvent::Input { buffer }.into(),
            );
        }
        release.port
    }

    /// Bytes that wait for router port `port`, of all classes. An input FIFO whose head waits for it counts in full.
    fn queued_bytes(&self, shared: &Shared<impl Payload>, port: u32) -> u64 {
        let flits = match self.fifo {
            true => self.flits_in_fifos(shared, port),
            false => u64::from(shared.flow.port(port).waiting_flits),
        };
        flits * shared.setup.params.flit
    }

    /// Flits in the FIFOs whose heads wait for `port`.
    fn flits_in_fifos(&self, shared: &Shared<impl Payload>, port: u32) -> u64 {
        if shared.flow.port(port).waiting == 0 {
            return 0;
        }
        let link = shared.flow.link(port);
        let mut flits = 0;
        for vc in 0..u32::from(link.vcs) {
            let line = shared.flow.vc(link.first_vc + vc).queue;
            self.arbiter.each(&shared.packets, line, |head| {
                flits += u64::from(self.buffers.get(shared.packets.get(head).buffer).flits);
            });
        }
        flits
    }
}

/// Round-robin over virtual channels: those of a class with waiting packets, or all if the port has too many for bits.
struct Turns {
    first: u8,
    /// Channels after the last one, then the others: bits, counted from the first.
    after: u64,
    others: u64,
    /// For channels without bits: the number left, and the next one.
    left: u8,
    next: u8,
    channels: u8,
}

impl Turns {
    /// Over `channels` from `first` on, starting after `last`; `waiting`: the channels that have bits and waiting
    /// packets.
    #[inline(always)]
    fn new(waiting: u32, (first, channels): (u8, u8), last: u8, of_port: u8) -> Turns {
        if of_port > OutPort::MASKED {
            let next = if last + 1 < channels { last + 1 } else { 0 };
            return Turns {
                first,
                after: 0,
                others: 0,
                left: channels,
                next,
                channels,
            };
        }
        let own = (u64::from(waiting) >> first) & ((1 << channels) - 1);
        let behind = !0 << (last + 1);
        Turns {
            first,
            after: own & behind,
            others: own & !behind,
            left: 0,
            next: 0,
            channels,
        }
    }

    #[inline(always)]
    fn next(&mut self) -> Option<u8> {
        let bits = match self.after {
            0 => &mut self.others,
            _ => &mut self.after,
        };
        if *bits != 0 {
            let vc = bits.trailing_zeros() as u8;
            *bits &= *bits - 1;
            return Some(self.first + vc);
        }
        if self.left == 0 {
            return None;
        }
        let vc = self.next;
        self.left -= 1;
        self.next = if vc + 1 < self.channels { vc + 1 } else { 0 };
        Some(self.first + vc)
    }
}

/// The arbiter of the outputs of input-queued routers. With FIFOs, the link between queued packets is not available for
/// input queues.
pub(crate) fn arbiter(params: &NetworkParams) -> Arbiter {
    Arbiter::new(params.arbitration, !has_fifos(params))
}

/// Flits of room that a packet of `flits` needs to go.
#[inline]
fn wanted(setup: &Setup, flits: u32, terms: VcTerms) -> u32 {
    match terms.bubble() {
        true => flits + setup.bubble,
        false => flits,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares with a loop over all channels.
    #[test]
    fn channels_with_waiting_packets_take_turns() {
        for (first, channels, of_port) in [(0, 1, 1), (0, 5, 5), (4, 4, 12), (0, 32, 32), (24, 8, 32), (20, 20, 40)] {
            for last in 0..channels {
                for waiting in [0, 1, 0b1011_0110, 0xdead_beef, u32::MAX] {
                    let around = (1..=channels).map(|turn| first + (last + turn) % channels);
                    let expected: Vec<u8> = around
                        .filter(|&vc| of_port > OutPort::MASKED || waiting >> vc & 1 != 0)
                        .collect();
                    let mut turns = Turns::new(waiting, (first, channels), last, of_port);
                    let found: Vec<u8> = std::iter::from_fn(|| turns.next()).collect();
                    assert_eq!(found, expected, "{first} {channels} {of_port} {last} {waiting:b}");
                }
            }
        }
    }
}

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

mod in_buffer;

use super::arbiter::{Arbiter, Turn, input_port};
use super::turns::Turns;
use super::{Router, WholePackets};
use crate::fabric::{Setup, Shared, has_fifos};
use crate::features::{HandlerContext, Uses};
use crate::flow::{Link, Links, OutPort, Space};
use crate::observe::{Observed, Observer};
use crate::packet::{Packet, VcTerms};
use crate::params::NetworkParams;
use crate::routing::Routing;
use crate::settings::Arbitration;
use crate::{FabricEvent, Payload};
use in_buffer::InBuffer;
use odonata_engine::{List, Mode, NIL, Store, Time};

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
}

impl Router for InputQueued {
    /// The head of `packet` has passed the pipeline of `router`.
    #[inline(always)]
    fn arrive<C: HandlerContext>(&mut self, ctx: &mut C, shared: &mut Shared<impl Payload>, router: u32, packet: u32) {
        if !self.has_fifos::<C>() {
            self.request(ctx, shared, router, (packet, 1), false);
            return;
        }
        let buffer = shared.packets.trusted::<C>(packet).buffer;
        let input = *self.buffers.get(buffer);
        if input.fifo.is_empty() && input.read_until <= ctx.now() {
            self.request(ctx, shared, router, (packet, 1), false);
            return;
        }
        shared.count_hop::<C>(packet);
        let observed = Observed::new(packet, shared.packets.trusted::<C>(packet));
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

    // Not inlined into the handler of all events: it needs many registers, which every event would have to save.
    #[inline(never)]
    fn serve<C: HandlerContext>(&mut self, ctx: &mut C, shared: &mut Shared<impl Payload>, port: u32) {
        self.serve_port(ctx, shared, port);
    }

    #[inline(always)]
    fn handle<C: HandlerContext>(
        &mut self,
        ctx: &mut C,
        shared: &mut Shared<impl Payload>,
        router: u32,
        event: FabricEvent,
    ) {
        match event {
            FabricEvent::Input { buffer } => self.next_head(ctx, shared, router, buffer),
            _ => debug_assert!(false, "{event:?} belongs to another router model"),
        }
    }
}

impl InputQueued {
    fn push_input<M: Uses>(&mut self, shared: &mut Shared<impl Payload>, packet: u32, buffer: u32) {
        let mut fifo = self.buffers.get(buffer).fifo;
        fifo.push::<M, _>(&mut shared.packets, packet);
        let flits = shared.setup.flits(shared.packets.trusted::<M>(packet).bytes);
        let input = self.buffers.edit::<M>(buffer);
        input.fifo = fifo;
        input.flits += flits;
    }

    /// The tail of the packet read last from `buffer` has left: the next head may compete.
    fn next_head<C: HandlerContext>(
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
        let observed = Observed::new(input.fifo.head, shared.packets.trusted::<C>(input.fifo.head));
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
        let in_fifo = C::EXTRAS && in_fifo;
        let p = *shared.packets.trusted::<C>(packet);
        let feeder = if hops > 0 { p.next_waiting } else { NIL };
        shared.flow.prefetch_credits(feeder);
        let flits = shared.setup.flits(p.bytes);
        let (port, asked, terms) = shared.route::<C>(&WholePackets, router, (packet, hops), flits, now);
        shared.flow.observers.prefetch(port);
        shared.flow.prefetch_waits::<C>(port);
        shared.remote.load_grows(ctx, &shared.flow.links, port, flits);
        let out = *shared.flow.port::<C>(port);
        let link = shared.flow.link::<C>(port);
        let at = link.first_vc + u32::from(asked);
        if self.has_fifos::<C>() {
            shared.flow.observers.fifo_is_held::<C>(p.buffer, p.traffic);
        }
        // A packet may overtake those that wait for a port only if the port has tried them and none can go.
        let idle = out.free_at <= now && (out.waiting == 0 || out.awaits_credit());
        let wanted = wanted(&shared.setup, flits, terms);
        let (line, served) = shared.flow.vc::<C>(at).requests();
        if idle
            && (line.is_empty()
                || self
                    .arbiter
                    .is_first::<C>(&shared.packets, line, (packet, terms), served))
            && let Some(vc) = shared.room_at::<C>((port, &link), asked, wanted, now)
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
        shared.packets.edit_trusted::<C>(packet).terms = terms;
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
        let flits = shared.setup.flits(shared.packets.trusted::<M>(fifo.head).bytes);
        fifo.pop(&shared.packets);
        let input = self.buffers.edit::<M>(buffer);
        input.fifo = fifo;
        input.flits -= flits;
        input.requested = false;
    }

    /// An output port became free or got a credit: sends the next packet that can go.
    #[inline(always)]
    fn serve_port<C: HandlerContext>(&mut self, ctx: &mut C, shared: &mut Shared<impl Payload>, port: u32) {
        let now = ctx.now();
        let out = *shared.flow.port::<C>(port);
        if out.waiting == 0 {
            return;
        }
        if out.free_at > now {
            shared.flow.wake_up(ctx, port, out.free_at);
            return;
        }
        shared.flow.prefetch_waits::<C>(port);
        let link = shared.flow.link::<C>(port);
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
        let width = shared.setup.vcs.width(shared.flow.link::<C>(port).class);
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
        let link = shared.flow.link::<C>(port);
        let arbiter = self.arbiter;
        let last_vc = match arbiter.arbitration() {
            Arbitration::LowestFirst => channels - 1,
            _ => last_vc,
        };
        let all = shared.flow.port::<C>(port).waiting_vcs;
        // Usually packets wait for one channel only, and there is nothing to compare.
        let (asked, vc, turn) = if all.is_power_of_two() && link.vcs <= OutPort::MASKED {
            let asked = all.trailing_zeros() as u8;
            if asked < first || asked >= first + channels {
                return None;
            }
            let (vc, turn) = self.next_of_channel::<C>(shared, (port, &link), asked, now, reroute)?;
            (asked, vc, turn)
        } else {
            let channels = Turns::new(all, (first, channels), last_vc, link.vcs);
            self.next_among_channels::<C>(shared, port, channels, (served, now), reroute)?
        };
        let packet = turn.packet;
        let p = *shared.packets.trusted::<C>(packet);
        let feeder = shared.flow.links.feeder::<C>(p.buffer - u32::from(p.vc));
        shared.flow.prefetch_credits(feeder);
        shared.flow.prefetch_waiters::<C>(port);
        if link.to_node {
            shared.messages.prefetch(p.message);
        }
        let flits = shared.setup.flits(p.bytes);
        let mut line = shared.flow.vc::<C>(link.first_vc + u32::from(asked)).queue;
        arbiter.leave::<C>(&mut shared.packets, &mut line, turn);
        let cell = shared.flow.edit_vc::<C>(link.first_vc + u32::from(asked));
        (cell.queue, cell.last_input) = (line, input_port(&p));
        shared.flow.end_wait::<C>(port, (asked, line.is_empty()), flits);
        shared.flow.set_awaits_credit::<C>(port, false);
        if self.has_fifos::<C>() {
            self.pop_input::<C>(shared, p.buffer);
        }
        let router = shared.flow.sender::<C>(port);
        let free_at = self.send_from_input(ctx, shared, router, (packet, feeder, flits), (port, vc), Some(vc));
        Self::look_for_room::<C>(shared, port, asked, now);
        Some(free_at)
    }

    /// Of the `channels` of `port` with waiting packets: the one that is next, the channel that its packet gets, and the
    /// request that goes.
    // Reads the link again: a reference to it would keep the caller's in memory.
    #[inline(never)]
    fn next_among_channels<C: HandlerContext>(
        &self,
        shared: &mut Shared<impl Payload>,
        port: u32,
        mut channels: Turns,
        (served, now): (u32, Time),
        reroute: &mut bool,
    ) -> Option<(u8, u8, Turn)> {
        let (arbiter, link) = (self.arbiter, &shared.flow.link::<C>(port));
        let mut best: Option<(u8, u8, Turn)> = None;
        let mut least = (u64::MAX, u64::MAX);
        while let Some(asked) = channels.next() {
            let found = self.next_of_channel::<C>(shared, (port, link), asked, now, reroute);
            let Some((vc, turn)) = found else { continue };
            if arbiter.is_first_come() {
                return Some((asked, vc, turn));
            }
            let rank = arbiter.among_channels::<C>(&shared.packets, turn.packet, served);
            if best.is_none() || rank < least {
                (best, least) = (Some((asked, vc, turn)), rank);
            }
        }
        best
    }

    /// The next request for channel `asked` of `port` and the channel that its packet gets, if it has room.
    #[inline(always)]
    fn next_of_channel<C: HandlerContext>(
        &self,
        shared: &mut Shared<impl Payload>,
        (port, link): (u32, &Link),
        asked: u8,
        now: Time,
        reroute: &mut bool,
    ) -> Option<(u8, Turn)> {
        let arbiter = self.arbiter;
        let (line, last) = shared.flow.vc::<C>(link.first_vc + u32::from(asked)).requests();
        if line.is_empty() {
            return None;
        }
        if self.looks_for_room && shared.room_at::<C>((port, link), asked, 1, now).is_none() {
            return None;
        }
        let turn = arbiter.next::<C>(&shared.packets, line, last);
        let p = shared.packets.trusted::<C>(turn.packet);
        let (terms, flits) = (p.terms, shared.setup.flits(p.bytes));
        let needed = wanted(&shared.setup, flits, terms);
        if let Some(vc) = shared.room_at::<C>((port, link), asked, needed, now) {
            return Some((vc, turn));
        }
        if terms.reroutes() {
            *reroute = true;
        }
        if !terms.bubble() {
            return None;
        }
        // Packets that continue in a ring do not wait behind packets that want to enter it.
        let goes_on = |p: &Packet| !p.terms.bubble();
        let turn = arbiter.next_of::<C>(&shared.packets, line, last, goes_on)?;
        let flits = shared.setup.flits(shared.packets.trusted::<C>(turn.packet).bytes);
        let vc = shared.room_at::<C>((port, link), asked, flits, now)?;
        Some((vc, turn))
    }

    /// Updates whether channel `asked` of `port`, or its level, has waiting packets and no room for a full packet.
    #[inline(always)]
    fn look_for_room<M: Uses>(shared: &mut Shared<impl Payload>, port: u32, asked: u8, now: Time) {
        let out = shared.flow.port::<M>(port);
        if out.is_exhausted() || out.waiting > 0 && shared.lacks_room::<M>(port, asked) {
            Self::look_again_for_room::<M>(shared, port, asked, now);
        }
    }

    #[inline(never)]
    fn look_again_for_room<M: Uses>(shared: &mut Shared<impl Payload>, port: u32, asked: u8, now: Time) {
        let full = shared.setup.bubble;
        let at = shared.flow.first_vc::<M>(port) + u32::from(asked);
        let lacks = !shared.flow.vc::<M>(at).queue.is_empty() && shared.room_for::<M>(port, asked, full, now).is_none();
        shared.flow.set_exhausted::<M>(port, asked, lacks, now);
    }

    /// Charges the turn of its class at `port` to `packet`, on virtual channel `vc`.
    fn charge_class<M: Uses>(&mut self, shared: &mut Shared<impl Payload>, port: u32, vc: u8, packet: u32, now: Time) {
        let p = *shared.packets.trusted::<M>(packet);
        let link = shared.flow.link::<M>(port);
        let width = shared.setup.vcs.width(link.class);
        // Other classes with waiting packets that lack something other than the link.
        let mut blocked = 0;
        if shared.flow.port::<M>(port).waiting > 0 {
            for class in (0..shared.classes.count()).filter(|&class| class != p.class) {
                let mut fits = false;
                let mut waits = false;
                for vc in class * width..(class + 1) * width {
                    let (line, last) = shared.flow.vc::<M>(link.first_vc + u32::from(vc)).requests();
                    if !line.is_empty() {
                        let turn = self.arbiter.next::<M>(&shared.packets, line, last);
                        let head = *shared.packets.trusted::<M>(turn.packet);
                        let wanted = wanted(&shared.setup, shared.setup.flits(head.bytes), head.terms);
                        let room = shared.room_for::<M>(port, vc, wanted, now);
                        (waits, fits) = (true, fits || room.is_some());
                    }
                }
                blocked |= u8::from(waits && !fits) << class;
            }
        }
        let room = shared.room_behind::<M>(port);
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
        let link = shared.flow.link::<C>(port);
        for at in link.first_vc..link.first_vc + u32::from(link.vcs) {
            loop {
                let (line, last) = shared.flow.vc::<C>(at).requests();
                if line.is_empty() {
                    break;
                }
                let turn = self.arbiter.next::<C>(&shared.packets, line, last);
                let packet = turn.packet;
                let p = *shared.packets.trusted::<C>(packet);
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
    #[inline(always)]
    fn send_from_input<C: HandlerContext>(
        &mut self,
        ctx: &mut C,
        shared: &mut Shared<impl Payload>,
        router: u32,
        (packet, feeder, flits): (u32, u32, u32),
        (port, vc): (u32, u8),
        waited: Option<u8>,
    ) -> Time {
        let p = shared.packets.trusted::<C>(packet);
        let (buffer, from_vc, owner) = (p.buffer, p.vc, p.traffic);
        if shared.classes.is_on::<C>() {
            self.charge_class::<C>(shared, port, vc, packet, ctx.now());
        }
        let queued = match shared.congestion.is_on::<C>() {
            true => self.queued_bytes::<C>(shared, port),
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
    fn queued_bytes<M: Mode>(&self, shared: &Shared<impl Payload>, port: u32) -> u64 {
        let flits = match self.fifo {
            true => self.flits_in_fifos::<M>(shared, port),
            false => u64::from(shared.flow.port::<M>(port).waiting_flits),
        };
        flits * shared.setup.params.flit
    }

    /// Flits in the FIFOs whose heads wait for `port`.
    fn flits_in_fifos<M: Mode>(&self, shared: &Shared<impl Payload>, port: u32) -> u64 {
        if shared.flow.port::<M>(port).waiting == 0 {
            return 0;
        }
        let link = shared.flow.link::<M>(port);
        let mut flits = 0;
        for vc in 0..u32::from(link.vcs) {
            let line = shared.flow.vc::<M>(link.first_vc + vc).queue;
            self.arbiter.each::<M>(&shared.packets, line, |head| {
                flits += u64::from(self.buffers.get(shared.packets.trusted::<M>(head).buffer).flits);
            });
        }
        flits
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

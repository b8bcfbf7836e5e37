//! The pipelined router: flit by flit, cycle by cycle.
//!
//! This is the input-queued virtual-channel router of W. Dally and B. Towles ("Principles and practices of
//! interconnection networks", 2004, chapter 16), as in cycle-accurate simulators (N. Jiang et al., "A detailed and
//! flexible cycle-accurate network-on-chip simulator", ISPASS 2013). A packet at the front of an input virtual channel
//! is routed and gets a virtual channel of its output from one separable allocator; each of its flits gets a crossbar
//! traversal from another.
//!
//! ```text
//!  head comes in   routing   VC allocation   switch allocation   crossbar   link
//!  ────────────►  r cycles ►  v cycles     ►  s cycles         ► x cycles ► 1 flit ► latency ►
//!                                             a flit leaves its buffer here; its credit starts back
//! ```
//!
//! **Cycles are events of routers with work.** Cycle `k` begins at `k T` with everything that arrives at that instant,
//! and is processed a picosecond ([`LAG`]) later (`FabricEvent::Tick`). A router in which nothing can progress sleeps
//! until a flit or a credit arrives. A tick without progress changes no state, so superfluous ticks do not matter.
//!
//! **A flit with a granted crossbar traversal is in flight**: output queues are unbounded, so its departure and arrival
//! are known. It needs no event: it lies in the inbox of the next router ([`inbox`]) until that router's cycle.
//!
//! The slot of a packet travels with its head. Body flits are only counted: a virtual channel carries one packet at a
//! time, in order.

mod allocator;
mod arrivals;
mod channels;
mod clock;
mod congestion;
mod cycle;
mod in_vc;
mod inbox;
mod priority;
mod requests;
mod round_robin;
mod settings;
pub(crate) mod stall;

use super::{Router, VcAvailability};
use crate::boundary::RemoteCredit;
use crate::control::ClassScheduler;
use crate::event::LAG;
use crate::fabric::Shared;
use crate::features::{HandlerContext, Uses};
use crate::flow::{Flow, Links, Upstream};
use crate::nic::Nics;
use crate::observe::{FlitWaits, Tag};
use crate::params::NetworkParams;
use crate::routing::Routing;
use crate::settings::{InjectionVc, Switching};
use crate::{FabricEvent, Notice, Payload, Traffic};
use allocator::{Allocators, Pointers};
pub(crate) use channels::{Channels, RouterLayout};
pub(crate) use clock::{Subcycle, Traversal};
pub(crate) use in_vc::{InVc, Stage};
use inbox::Inboxes;
use odonata_engine::{Store, Time};
use std::ops::Range;

/// The id of router 0's cycles among wake-ups; that of router `r` is `r` less. Ids are far above those of links and
/// unique per router: the order of cycles at one instant does not depend on which component requested them.
const TICK: u32 = u32::MAX;

#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
struct Clock {
    /// The next requested cycle, if it lies in the future.
    next: Time,
    /// When the last cycle was processed.
    done: Time,
    /// When the last flit arrived.
    arrival: Time,
    /// Whether a packet waits for a credit, so that each credit gets a cycle.
    awaits_credit: bool,
}

/// The space of a flit that has left a buffer.
#[derive(Clone, Copy)]
pub(crate) struct Freed {
    pub(crate) owner: Traffic,
    pub(crate) tag: Tag,
}

/// The state of pipelined routers.
#[derive(Debug)]
pub(crate) struct Pipelined {
    pub(crate) channels: Channels,
    /// Whether the settings are the common ones.
    common: bool,
    /// Whether virtual-channel allocation may require room.
    needs_room: bool,
    /// Whether nodes choose the virtual channel of a packet at random.
    pub(crate) draws_injection_vc: bool,
    /// Whether the order in which arriving packets are routed matters, and whether several may arrive at one buffer in
    /// a cycle.
    ordered: bool,
    overtaking: bool,
    /// Whether packets that are routed to a port and wait count as its load, see [`Routing::counts_waiting`].
    counts_waiting: bool,
    clocks: Store<Clock>,
    inboxes: Inboxes,
    /// Pointers of virtual-channel allocators, by input and by output virtual channel.
    vc_inputs: Pointers,
    vc_outputs: Pointers,
    /// Pointers of switch allocators, by switch input and by output port.
    switch_inputs: Pointers,
    switch_outputs: Pointers,
    /// Per switch input, which of its virtual channels goes first among those for the same output.
    turns: Store<u8>,
    allocators: Allocators,
    /// Gets the facts of [`PipelineObserver`](crate::observe::PipelineObserver); the router does not read it.
    observer: FlitWaits,
    /// The next traffic class of each input port.
    input_classes: ClassScheduler,
    /// Temporary: the traffic classes that had flits for a port in a step, but lacked a virtual channel or a credit, as
    /// bits: for the port as output, and of it as input. Empty with one class.
    lacking: Vec<[u8; 2]>,
}
odonata_engine::journalled!(Pipelined {
    channels,
    clocks,
    inboxes,
    vc_inputs,
    vc_outputs,
    switch_inputs,
    switch_outputs,
    turns,
    allocators,
    observer,
    input_classes
});

impl Pipelined {
    pub(crate) fn new(links: &Links, params: &NetworkParams, routing: &Routing, routers: Range<u32>) -> Pipelined {
        let channels = Channels::new(links, params, routing, routers);
        let (settings, layouts, count) = (channels.settings, &channels.layouts, channels.places.len());
        let ports = links.ports as usize;
        let speedup = params.pipeline.input_speedup as usize;
        let inputs = ports * speedup;
        let most = |count: fn(&RouterLayout) -> u16| {
            layouts
                .iter()
                .map(|layout| usize::from(count(layout)))
                .max()
                .unwrap_or(0)
        };
        Pipelined {
            common: settings.are_common(),
            needs_room: params.switching != Switching::Wormhole
                || params.pipeline.busy_when_full
                || !routing.waits_for_room(),
            draws_injection_vc: match params.pipeline.injection_vc {
                InjectionVc::InTurn => false,
                InjectionVc::Random => true,
                InjectionVc::Booksim => matches!(routing, Routing::Dragonfly(_)),
            },
            ordered: !routing.is_deterministic(),
            overtaking: (0..links.len()).any(|link| links.get(link).flit < params.clock),
            counts_waiting: routing.counts_waiting() && !settings.reroutes,
            clocks: Store::filled(
                layouts.len(),
                Clock {
                    next: Time::ZERO,
                    done: Time::ZERO,
                    arrival: Time::ZERO,
                    awaits_credit: false,
                },
            ),
            inboxes: Inboxes::new(params, layouts.len()),
            vc_inputs: Store::filled(count, 0),
            vc_outputs: Store::filled(count, 0),
            switch_inputs: Store::filled(inputs, 0),
            switch_outputs: Store::filled(ports, 0),
            turns: Store::filled(inputs, 0),
            observer: FlitWaits::new(params, count, ports),
            allocators: Allocators::new(most(|layout| layout.vcs), most(|layout| layout.ports), speedup),
            channels,
            input_classes: ClassScheduler::new(&params.classes, ports as u32),
            lacking: vec![[0; 2]; if settings.classes { ports } else { 0 }],
        }
    }

    /// Bytes of this number of idle routers, ports and virtual channels.
    pub(crate) fn bytes(params: &NetworkParams, routers: u64, ports: u64, channels: u64) -> u64 {
        let of = |count: u64, size: usize| count.saturating_mul(size as u64);
        let inputs = ports.saturating_mul(u64::from(params.pipeline.input_speedup));
        let of_a_router = Channels::BYTES_PER_ROUTER + size_of::<Clock>() + Inboxes::bytes(params);
        let of_waits = FlitWaits::bytes(params, ports, channels);
        let of_classes = if params.classes.count() > 1 {
            ClassScheduler::BYTES_PER_LINK
        } else {
            0
        };
        of(routers, of_a_router)
            .saturating_add(of(channels, Channels::BYTES_PER_CHANNEL + 2 * allocator::POINTER))
            .saturating_add(of(ports, allocator::POINTER + of_classes))
            .saturating_add(of_waits)
            .saturating_add(of(inputs, allocator::POINTER + size_of::<u8>()))
    }

    /// Returns `space` of a flit in virtual channel `vc` to the sender of `link` at `due`.
    #[inline(always)]
    pub(crate) fn return_flit<C: HandlerContext>(
        &mut self,
        ctx: &mut C,
        shared: &mut Shared<impl Payload>,
        (link, vc): (u32, u8),
        space: Freed,
        due: Time,
    ) {
        let Freed { owner, tag } = space;
        let is_awaited = shared.flow.return_flit_credit::<C>(link, (vc, owner), tag, due);
        if link < shared.flow.links.ports {
            shared.remote.load_falls(ctx, &shared.flow.links, link, due);
        }
        if is_awaited {
            self.credited(ctx, shared, link, due);
        }
    }

    /// Returns `space` of a flit in input virtual channel `at`, number `vc` of its port, to the upstream sender; the
    /// credit leaves at `leaves`.
    #[inline(always)]
    fn free_flit<C: HandlerContext>(
        &mut self,
        ctx: &mut C,
        shared: &mut Shared<impl Payload>,
        (at, vc): (u32, u8),
        space: Freed,
        leaves: Time,
    ) {
        match shared.flow.links.upstream::<C>(at) {
            Upstream::Local(link, delay) => self.return_flit(ctx, shared, (link, vc), space, leaves + delay),
            Upstream::Remote(link, lp, delay) => {
                let Freed { owner, tag } = space;
                if tag != Tag::NONE {
                    shared.export_tag((link, vc, owner), tag, (lp, leaves + delay));
                }
                let credit = RemoteCredit {
                    link,
                    flits: 1,
                    owner,
                    vc,
                };
                shared.boundary.export_credit(lp, leaves + delay, credit);
            }
        }
    }

    /// Requests the cycle of `router` that begins at `cycle`.
    #[inline]
    fn wake_up<C: HandlerContext>(&mut self, ctx: &mut C, router: u32, cycle: Time) {
        let tick = cycle + LAG;
        let clock = router - self.channels.first_router;
        let pending = self.clocks.trusted::<C>(clock).next;
        if pending > ctx.now_of(router) && pending <= tick {
            return;
        }
        self.clocks.edit_trusted::<C>(clock).next = tick;
        let number = self.channels.timing.number_at(cycle);
        self.inboxes.ask(ctx, (router, clock), (number, cycle));
    }

    /// An awaited credit of `link` will count from `due`.
    #[inline(never)]
    fn credited<C: HandlerContext>(&mut self, ctx: &mut C, shared: &mut Shared<impl Payload>, link: u32, due: Time) {
        if link < shared.flow.links.ports {
            let cycle = self.channels.timing.cycle_at(due);
            self.wake_up(ctx, shared.flow.links.sender(link), cycle);
        } else {
            shared.flow.wake_up(ctx, link, due);
        }
    }

    /// States the end of the run at `now`.
    pub(crate) fn run_ends(&mut self, flow: &mut Flow, now: Time) {
        self.observer.run_ends(&self.channels, flow, now);
    }
}

impl Router for Pipelined {
    /// From another part: only those packets arrive by an event.
    fn arrive<C: HandlerContext>(&mut self, ctx: &mut C, shared: &mut Shared<impl Payload>, router: u32, packet: u32) {
        let buffer = shared.packets.trusted::<C>(packet).buffer;
        self.send_head(ctx, shared, (router, buffer), packet, ctx.now());
    }

    /// Outputs are served by cycles.
    #[inline(always)]
    fn serve<C: HandlerContext>(&mut self, _: &mut C, _: &mut Shared<impl Payload>, _: u32) {
        debug_assert!(false, "a pipelined router has no wake-ups of ports");
    }

    fn credit<C: HandlerContext>(
        &mut self,
        ctx: &mut C,
        shared: &mut Shared<impl Payload>,
        credit: RemoteCredit,
        due: Time,
    ) {
        let link = shared.flow.links.port(credit.link);
        let space = Freed {
            owner: credit.owner,
            tag: Tag::NONE,
        };
        self.return_flit(ctx, shared, (link, credit.vc), space, due);
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
            FabricEvent::Tick => self.cycle(ctx, shared, router),
            FabricEvent::Flit { buffer } => {
                shared.flow.observers.body_flit_enters_part::<C>(buffer, ctx.now());
                self.send_body(ctx, (router, buffer), ctx.now());
            }
            _ => debug_assert!(false, "{event:?} belongs to another router model"),
        }
    }

    fn serve_nic<C: HandlerContext>(
        &mut self,
        ctx: &mut C,
        shared: &mut Shared<impl Payload>,
        nics: &mut Nics,
        nic: u32,
    ) -> Option<Notice> {
        nics.serve_flits(ctx, shared, self, nic)
    }

    /// The published loads include earlier arrivals.
    fn is_about_to_publish<C: HandlerContext>(&mut self, ctx: &mut C, shared: &mut Shared<impl Payload>, router: u32) {
        self.take_in::<C>(shared, router, ctx.now() - LAG);
    }
}

impl VcAvailability for Pipelined {
    #[inline]
    fn has_free_vc<M: Uses>(&self, flow: &mut Flow, port: u32, mut vcs: Range<u8>, flits: u32, now: Time) -> bool {
        let first_vc = flow.first_vc::<M>(port);
        let wanted = self.channels.room(flits);
        vcs.any(|vc| {
            self.channels.is_free::<M>(first_vc + u32::from(vc))
                && (wanted == 0 || flow.has_room::<M>(port, vc, wanted, now))
        })
    }

    #[inline]
    fn decides_again(&self) -> bool {
        self.channels.settings.reroutes && !self.channels.layouts.is_empty()
    }
}

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
mod clock;
mod congestion;
mod cycle;
mod express;
mod in_vc;
mod inbox;
mod losses;
mod requests;
mod settings;
mod small;
pub(crate) mod stall;
mod switch_traversal;
mod waits;

use super::VcAvailability;
use crate::boundary::RemoteCredit;
use crate::control::ClassScheduler;
use crate::fabric::{Setup, Shared};
use crate::features::{HandlerContext, Uses};
use crate::flow::{Flow, Links, Upstream};
use crate::observe::Tag;
use crate::params::NetworkParams;
use crate::routing::Routing;
use crate::settings::{InjectionVc, RouterModel, Switching};
use crate::{Payload, Traffic};
use allocator::{Allocation, Pointers};
use clock::PipelineTiming;
use express::Newcomer;
use in_vc::InVc;
use inbox::Inboxes;
use odonata_engine::{NIL, Store, Time};
use settings::Settings;
use small::Candidates;
use std::ops::Range;
use waits::Waits;

/// The id of router 0's cycles among wake-ups; that of router `r` is `r` less. Ids are far above those of links and
/// unique per router: the order of cycles at one instant does not depend on which component requested them.
const TICK: u32 = u32::MAX;

/// Delay from the beginning of a cycle to its processing. A cycle sees credits and published loads as of its beginning,
/// which lies before its event: other components must keep their history that far back.
pub(crate) const LAG: Time = Time(1);

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

/// The constant part: where a router's state begins.
#[derive(Clone, Copy, Debug)]
struct RouterLayout {
    first_port: u32,
    ports: u16,
    /// First input (and output) virtual channel, and the number of channels.
    first_vc: u32,
    vcs: u16,
    /// First word of the set of occupied virtual channels.
    first_word: u32,
}

impl RouterLayout {
    /// Number of words of the set of occupied virtual channels.
    #[inline]
    fn words(self) -> u32 {
        u32::from(self.vcs).div_ceil(64)
    }
}

/// The state of pipelined routers; empty for other models.
#[derive(Debug)]
pub(crate) struct Pipelined {
    settings: Settings,
    /// Whether the settings are the common ones, and whether all routers are small as well.
    common: bool,
    small: bool,
    timing: PipelineTiming,
    /// Whether virtual-channel allocation requires room for the whole packet, instead of one flit.
    whole: bool,
    busy_when_full: bool,
    /// Whether nodes choose the virtual channel of a packet at random.
    pub(crate) draws_injection_vc: bool,
    /// Whether the order in which arriving packets are routed matters, and whether several may arrive at one buffer in
    /// a cycle.
    ordered: bool,
    overtaking: bool,
    /// Whether packets that are routed to a port and wait count as its load, see [`Routing::counts_waiting`].
    counts_waiting: bool,
    first_router: u32,
    layouts: Vec<RouterLayout>,
    /// Port and virtual channel of each input virtual channel, numbered in the router and in the port.
    places: Vec<(u16, u8)>,
    vcs: Store<InVc>,
    /// The holder of each output virtual channel: an input virtual channel, or [`NIL`].
    owners: Store<u32>,
    /// The non-empty input virtual channels of each router, as bits.
    occupied: Store<u64>,
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
    vc_allocator: Allocation,
    switch_allocator: Allocation,
    candidates: Candidates,
    waits: Waits,
    /// The next traffic class of each input port.
    input_classes: ClassScheduler,
    /// Temporary: the traffic classes that had flits for a port in a step, but lacked a virtual channel or a credit, as
    /// bits: for the port as output, and of it as input. Empty with one class.
    lacking: Vec<[u8; 2]>,
    /// Temporary: the packets that have arrived in a cycle.
    newcomers: Vec<Newcomer>,
}
odonata_engine::journalled!(Pipelined {
    vcs,
    owners,
    occupied,
    clocks,
    inboxes,
    vc_inputs,
    vc_outputs,
    switch_inputs,
    switch_outputs,
    turns,
    vc_allocator,
    switch_allocator,
    candidates,
    waits,
    input_classes
});

impl Pipelined {
    pub(crate) fn new(links: &Links, params: &NetworkParams, routing: &Routing, routers: Range<u32>) -> Pipelined {
        let on = params.router == RouterModel::Pipelined;
        let topology = routing.topology();
        let settings = Settings::new(params, routing);
        let mut layouts = Vec::new();
        let mut places = Vec::new();
        let mut words = 0;
        for router in if on { routers.clone() } else { 0..0 } {
            let ports = topology.ports_of(router);
            let (first_port, first_vc) = (links.port(ports.start), places.len() as u32);
            for (number, port) in (0..).zip(ports.clone()) {
                places.extend((0..links.channels(links.port(port))).map(|vc| (number, vc)));
            }
            let vcs = (places.len() as u32 - first_vc) as u16;
            layouts.push(RouterLayout {
                first_port,
                ports: ports.len() as u16,
                first_vc,
                vcs,
                first_word: words,
            });
            words += u32::from(vcs).div_ceil(64);
        }
        let ports = if on { links.ports as usize } else { 0 };
        let inputs = ports * params.pipeline.input_speedup as usize;
        Pipelined {
            settings,
            common: settings.are_common(),
            small: settings.are_common() && layouts.iter().all(|layout| layout.is_small()),
            timing: PipelineTiming::new(params.clock, params.pipeline),
            whole: params.switching != Switching::Wormhole,
            busy_when_full: params.pipeline.busy_when_full,
            draws_injection_vc: match params.pipeline.injection_vc {
                InjectionVc::InTurn => false,
                InjectionVc::Random => true,
                InjectionVc::Booksim => matches!(routing, Routing::Dragonfly(_)),
            },
            ordered: !routing.is_deterministic(),
            overtaking: (0..links.len()).any(|link| links.get(link).flit < params.clock),
            counts_waiting: routing.counts_waiting() && !settings.reroutes,
            first_router: routers.start,
            vcs: Store::filled(places.len(), InVc::EMPTY),
            owners: Store::filled(places.len(), NIL),
            occupied: Store::filled(words as usize, 0),
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
            vc_inputs: Store::filled(places.len(), 0),
            vc_outputs: Store::filled(places.len(), 0),
            switch_inputs: Store::filled(inputs, 0),
            switch_outputs: Store::filled(ports, 0),
            turns: Store::filled(inputs, 0),
            waits: match on && params.blame {
                true => Waits::new(places.len(), ports),
                false => Waits::new(0, 0),
            },
            layouts,
            places,
            vc_allocator: Allocation::default(),
            switch_allocator: Allocation::default(),
            candidates: Candidates::NONE,
            input_classes: ClassScheduler::new(&params.classes, ports as u32),
            lacking: vec![[0; 2]; if settings.classes { ports } else { 0 }],
            newcomers: Vec::new(),
        }
    }

    /// Bytes of this number of idle routers, ports and virtual channels.
    pub(crate) fn bytes(params: &NetworkParams, routers: u64, ports: u64, channels: u64) -> u64 {
        let of = |count: u64, size: usize| count.saturating_mul(size as u64);
        let inputs = ports.saturating_mul(u64::from(params.pipeline.input_speedup));
        let of_a_router = size_of::<RouterLayout>() + size_of::<Clock>() + size_of::<u64>() + Inboxes::bytes(params);
        let of_a_channel = size_of::<InVc>() + size_of::<(u16, u8)>() + size_of::<u32>();
        let of_waits = if params.blame {
            (Waits::BYTES_PER_CHANNEL, Waits::BYTES_PER_PORT)
        } else {
            (0, 0)
        };
        let of_classes = if params.classes.count() > 1 {
            ClassScheduler::BYTES_PER_LINK
        } else {
            0
        };
        of(routers, of_a_router)
            .saturating_add(of(channels, of_a_channel + 2 * allocator::POINTER + of_waits.0))
            .saturating_add(of(ports, allocator::POINTER + of_waits.1 + of_classes))
            .saturating_add(of(inputs, allocator::POINTER + size_of::<u8>()))
    }

    /// Flits of room that a packet of `flits` needs to get a virtual channel.
    #[inline]
    pub(crate) fn room(&self, flits: u32) -> u32 {
        match (self.whole, self.busy_when_full) {
            (true, _) => flits,
            (false, full) => u32::from(full),
        }
    }

    /// The same, plus a bubble behind it if `bubble`.
    #[inline(always)]
    fn room_wanted(&self, setup: &Setup, flits: u32, bubble: bool) -> u32 {
        let with_bubble = if bubble { setup.bubble + flits } else { 0 };
        self.room(flits).max(with_bubble)
    }

    /// The local number of the port of virtual channel `vc`, as an input or an output.
    #[inline(always)]
    fn port_of(&self, layout: RouterLayout, vc: u32) -> u32 {
        layout.first_port + u32::from(self.places[vc as usize].0)
    }

    /// Whether output virtual channel `vc` is free; its downstream buffer may still be full.
    #[inline]
    pub(crate) fn is_free(&self, vc: u32) -> bool {
        *self.owners.get(vc) == NIL
    }

    #[inline]
    fn layout(&self, router: u32) -> RouterLayout {
        self.layouts[(router - self.first_router) as usize]
    }

    #[inline]
    fn edit_occupied<M: Uses>(&mut self, layout: RouterLayout, vc: u32, full: bool) {
        let local = vc - layout.first_vc;
        let word = self.occupied.edit::<M>(layout.first_word + local / 64);
        let bit = 1 << (local % 64);
        if full {
            *word |= bit;
        } else {
            *word &= !bit;
        }
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
        shared.flow.return_flit_credit::<C>(link, (vc, owner), tag, due);
        if link < shared.flow.links.ports {
            shared.remote.load_falls(ctx, &shared.flow.links, link, due);
            let lp = shared.flow.links.sender(link);
            self.credited(ctx, lp, due);
        } else if shared.flow.port::<C>(link).awaits_credit() {
            // Only NICs wait for the credits of one link.
            shared.flow.wake_up(ctx, link, due);
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
        match shared.flow.links.upstream(at) {
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
        let clock = router - self.first_router;
        let pending = self.clocks.get(clock).next;
        if pending > ctx.now_of(router) && pending <= tick {
            return;
        }
        self.clocks.edit::<C>(clock).next = tick;
        let number = self.timing.number_at(cycle);
        self.inboxes.ask(ctx, (router, clock), (number, cycle));
    }

    /// A credit for a port of `router` will count from `due`.
    #[inline]
    pub(crate) fn credited<C: HandlerContext>(&mut self, ctx: &mut C, router: u32, due: Time) {
        if self.clocks.get(router - self.first_router).awaits_credit {
            let cycle = self.timing.cycle_at(due);
            self.wake_up(ctx, router, cycle);
        }
    }
}

impl VcAvailability for Pipelined {
    #[inline]
    fn has_free_vc<M: Uses>(&self, flow: &mut Flow, port: u32, mut vcs: Range<u8>, flits: u32, now: Time) -> bool {
        let first_vc = flow.first_vc::<M>(port);
        let wanted = self.room(flits);
        vcs.any(|vc| {
            self.is_free(first_vc + u32::from(vc)) && (wanted == 0 || flow.has_room::<M>(port, vc, wanted, now))
        })
    }

    #[inline]
    fn decides_again(&self) -> bool {
        self.settings.reroutes && !self.layouts.is_empty()
    }
}

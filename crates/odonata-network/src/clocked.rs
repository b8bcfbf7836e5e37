//! The pipelined router: flit by flit, cycle by cycle.
//!
//! The input-queued virtual-channel router of W. Dally and B. Towles ("Principles and practices of interconnection
//! networks", 2004, chapter 16) as cycle-accurate simulators have it (N. Jiang et al., "A detailed and flexible
//! cycle-accurate network-on-chip simulator", ISPASS 2013): a packet at the front of an input virtual channel
//! is routed, gets a virtual channel of its output from one separable allocator, and each of its flits a
//! passage through the crossbar from another.
//!
//! ```text
//!  head comes in   routing   VC allocation   switch allocation   crossbar   link
//!  ────────────►  r cycles ►  v cycles     ►  s cycles         ► x cycles ► 1 flit ► latency ►
//!                                             a flit leaves its buffer here; its credit starts back
//! ```
//!
//! **Cycles are events of a router that has something to do.** Cycle `k` begins at `k T`, when what comes in at that
//! moment is there, and is worked off a picosecond later ([`FabricEvent::Tick`]). A router in which nothing
//! can go on sleeps until a flit or a credit comes. A tick in which nothing can go on changes nothing, so that
//! it does not matter whether there are more of them than needed.
//!
//! **A flit that has won the crossbar is on its way**: output queues are unbounded, so that its departure
//! and arrival are known, and it needs no event but that of its arrival.
//!
//! A packet's slot travels with its head. Body flits are counted only: a virtual channel carries one packet at a
//! time, in order.

mod allocator;
mod gather;
mod in_vc;
mod moment;
mod nic;
mod pass;
mod settings;
mod tick;
pub(crate) mod watch;

use crate::FabricEvent;
use crate::link::Links;
use crate::params::{NetworkParams, RouterModel, Switching};
use crate::routing::Routing;
use allocator::{Allocation, Pointers};
use in_vc::InVc;
use moment::Beat;
use odonata_engine::{Context, Mode, NIL, Store, Time};
use settings::Settings;
use std::ops::Range;

/// The name of router 0's cycles among canonical events; that of router `r` is `r` less. Names are far above those of
/// links, and no two routers share one: their cycles of an instant come in an order that does not depend on who asked.
const TICK: u32 = u32::MAX;

/// A router's clock.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
struct Clock {
    /// The next cycle that has been asked for, if it lies in the future.
    next: Time,
    /// When the last one was worked off.
    done: Time,
    /// Whether somebody waits for a credit: then each credit gets a cycle.
    hungry: bool,
}

/// What never changes: where a router's state begins.
#[derive(Clone, Copy, Debug)]
struct Plan {
    first_port: u32,
    ports: u16,
    /// First input (and output) virtual channel, and their number.
    first_vc: u32,
    vcs: u16,
    /// First word of the set of occupied virtual channels.
    first_word: u32,
}

impl Plan {
    /// Words of the set of occupied virtual channels.
    #[inline]
    fn words(self) -> u32 {
        u32::from(self.vcs).div_ceil(64)
    }
}

/// The state of pipelined routers; empty where there are none.
#[derive(Debug)]
pub(crate) struct Clocked {
    settings: Settings,
    /// Whether those are the common ones.
    common: bool,
    beat: Beat,
    /// Room that virtual-channel allocation asks for is that of the whole packet, or, if not, a flit of it.
    whole: bool,
    busy_when_full: bool,
    first_router: u32,
    plans: Vec<Plan>,
    /// Port and virtual channel of each input virtual channel, counted over the router and the port.
    places: Vec<(u16, u8)>,
    vcs: Store<InVc>,
    /// Who has each output virtual channel: an input virtual channel, or [`NIL`].
    owners: Store<u32>,
    /// Which input virtual channels of a router are not empty; bits.
    occupied: Store<u64>,
    clocks: Store<Clock>,
    /// Of virtual-channel allocators: by input and by output virtual channel.
    vc_inputs: Pointers,
    vc_outputs: Pointers,
    /// Of switch allocators: by switch input and by output port.
    switch_inputs: Pointers,
    switch_outputs: Pointers,
    /// Per switch input, which of its virtual channels goes first among those for the same output.
    turns: Store<u8>,
    channels: Allocation,
    switch: Allocation,
}
odonata_engine::journalled!(Clocked {
    vcs,
    owners,
    occupied,
    clocks,
    vc_inputs,
    vc_outputs,
    switch_inputs,
    switch_outputs,
    turns
});

impl Clocked {
    pub(crate) fn new(links: &Links, params: &NetworkParams, routing: &Routing, routers: Range<u32>) -> Clocked {
        let on = params.router == RouterModel::Pipelined;
        let topology = routing.topology();
        let settings = Settings::new(params, routing);
        let mut plans = Vec::new();
        let mut places = Vec::new();
        let mut words = 0;
        for router in if on { routers.clone() } else { 0..0 } {
            let ports = topology.ports_of(router);
            let (first_port, first_vc) = (links.port(ports.start), places.len() as u32);
            for (number, port) in (0..).zip(ports.clone()) {
                places.extend((0..links.channels(links.port(port))).map(|vc| (number, vc)));
            }
            let vcs = (places.len() as u32 - first_vc) as u16;
            plans.push(Plan {
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
        Clocked {
            settings,
            common: settings.are_common(),
            beat: Beat::new(params.pipeline),
            whole: params.switching != Switching::Wormhole,
            busy_when_full: params.pipeline.busy_when_full,
            first_router: routers.start,
            vcs: Store::filled(places.len(), InVc::EMPTY),
            owners: Store::filled(places.len(), NIL),
            occupied: Store::filled(words as usize, 0),
            clocks: Store::filled(
                plans.len(),
                Clock {
                    next: Time::ZERO,
                    done: Time::ZERO,
                    hungry: false,
                },
            ),
            vc_inputs: Store::filled(places.len(), 0),
            vc_outputs: Store::filled(places.len(), 0),
            switch_inputs: Store::filled(inputs, 0),
            switch_outputs: Store::filled(ports, 0),
            turns: Store::filled(inputs, 0),
            plans,
            places,
            channels: Allocation::default(),
            switch: Allocation::default(),
        }
    }

    pub(crate) fn memory(&self) -> usize {
        self.vcs.memory()
            + self.owners.memory()
            + self.occupied.memory()
            + self.clocks.memory()
            + self.vc_inputs.memory()
            + self.vc_outputs.memory()
            + self.switch_inputs.memory()
            + self.switch_outputs.memory()
            + self.turns.memory()
    }

    /// Whether packets are routed anew in every cycle until they get a virtual channel.
    #[inline]
    pub(crate) fn decides_again(&self) -> bool {
        self.settings.again && !self.plans.is_empty()
    }

    /// Flits of room that a packet of `flits` must find to get a virtual channel.
    #[inline]
    pub(crate) fn room(&self, flits: u32) -> u32 {
        match (self.whole, self.busy_when_full) {
            (true, _) => flits,
            (false, full) => u32::from(full),
        }
    }

    /// Whether output virtual channel `vc` can be had; its far buffer is another question.
    #[inline]
    pub(crate) fn is_free(&self, vc: u32) -> bool {
        *self.owners.get(vc) == NIL
    }

    #[inline]
    fn plan(&self, router: u32) -> Plan {
        self.plans[(router - self.first_router) as usize]
    }

    #[inline]
    fn edit_occupied<M: Mode>(&mut self, plan: Plan, vc: u32, full: bool) {
        let local = vc - plan.first_vc;
        let word = self.occupied.edit::<M>(plan.first_word + local / 64);
        let bit = 1 << (local % 64);
        if full {
            *word |= bit;
        } else {
            *word &= !bit;
        }
    }

    /// Asks for the cycle of `router` that begins at `cycle`.
    #[inline]
    fn wake_for<E, C>(&mut self, ctx: &mut C, router: u32, cycle: Time)
    where
        E: Copy + From<FabricEvent>,
        C: Context<E>,
    {
        let tick = Time(cycle.0 + 1);
        let clock = router - self.first_router;
        let pending = self.clocks.get(clock).next;
        if pending > ctx.now_of(router) && pending <= tick {
            return;
        }
        self.clocks.edit::<C>(clock).next = tick;
        ctx.look_again(router, tick, TICK - router, FabricEvent::Tick.into());
    }

    /// A credit for a port of `router` will count from `due` on.
    #[inline]
    pub(crate) fn credited<E, C>(&mut self, ctx: &mut C, router: u32, due: Time)
    where
        E: Copy + From<FabricEvent>,
        C: Context<E>,
    {
        if self.clocks.get(router - self.first_router).hungry {
            let cycle = self.beat.cycle_at(due);
            self.wake_for::<E, C>(ctx, router, cycle);
        }
    }
}

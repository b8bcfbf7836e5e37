//! The virtual channels of routers: as inputs with their packets, and as outputs with their holders.

use super::clock::PipelineTiming;
use super::in_vc::InVc;
use super::settings::Settings;
use crate::fabric::Setup;
use crate::flow::Links;
use crate::params::NetworkParams;
use crate::routing::Routing;
use crate::settings::Switching;
use odonata_engine::{Mode, NIL, Store};
use std::ops::Range;

/// Sets of 64 input virtual channels, as bits.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
pub(super) struct VcSets {
    /// They hold a packet.
    pub(super) occupied: u64,
    /// Their front packet has a virtual channel of its output.
    pub(super) active: u64,
}

impl VcSets {
    pub(super) const EMPTY: VcSets = VcSets { occupied: 0, active: 0 };
}

/// The numbers of the bits in a word, in ascending order.
pub(super) fn bits(word: u64) -> impl Iterator<Item = u32> {
    let mut left = word;
    std::iter::from_fn(move || {
        let bit = left.trailing_zeros();
        left &= left.wrapping_sub(1);
        (bit < u64::BITS).then_some(bit)
    })
}

/// The constant part: where a router's state begins.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RouterLayout {
    pub(super) first_port: u32,
    pub(super) ports: u16,
    /// First input (and output) virtual channel, and the number of channels.
    pub(super) first_vc: u32,
    pub(super) vcs: u16,
    /// First word of the sets of virtual channels.
    pub(super) first_word: u32,
}

impl RouterLayout {
    /// Number of words of the sets of virtual channels.
    #[inline]
    pub(super) fn words(self) -> u32 {
        u32::from(self.vcs).div_ceil(64)
    }
}

/// The virtual channels of all routers of a part.
#[derive(Debug)]
pub(crate) struct Channels {
    pub(crate) settings: Settings,
    pub(crate) timing: PipelineTiming,
    /// Whether virtual-channel allocation requires room for the whole packet, instead of one flit.
    whole: bool,
    busy_when_full: bool,
    pub(super) first_router: u32,
    pub(crate) layouts: Vec<RouterLayout>,
    /// Port and virtual channel of each input virtual channel, numbered in the router and in the port.
    pub(crate) places: Vec<(u16, u8)>,
    pub(crate) vcs: Store<InVc>,
    /// The holder of each output virtual channel: an input virtual channel, or [`NIL`].
    pub(crate) owners: Store<u32>,
    /// The sets of input virtual channels of each router.
    pub(super) sets: Store<VcSets>,
}
odonata_engine::journalled!(Channels { vcs, owners, sets });

impl Channels {
    pub(super) fn new(links: &Links, params: &NetworkParams, routing: &Routing, routers: Range<u32>) -> Channels {
        let topology = routing.topology();
        let mut layouts = Vec::new();
        let mut places = Vec::new();
        let mut words = 0;
        for router in routers.clone() {
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
        Channels {
            settings: Settings::new(params, routing),
            timing: PipelineTiming::new(params.clock, params.pipeline),
            whole: params.switching != Switching::Wormhole,
            busy_when_full: params.pipeline.busy_when_full,
            first_router: routers.start,
            vcs: Store::filled(places.len(), InVc::EMPTY),
            owners: Store::filled(places.len(), NIL),
            sets: Store::filled(words as usize, VcSets::EMPTY),
            layouts,
            places,
        }
    }

    /// Bytes per router, and per virtual channel.
    pub(super) const BYTES_PER_ROUTER: usize = size_of::<RouterLayout>() + size_of::<VcSets>();
    pub(super) const BYTES_PER_CHANNEL: usize = size_of::<InVc>() + size_of::<(u16, u8)>() + size_of::<u32>();

    /// Flits of room that a packet of `flits` needs to get a virtual channel.
    #[inline(always)]
    pub(crate) fn room(&self, flits: u32) -> u32 {
        match (self.whole, self.busy_when_full) {
            (true, _) => flits,
            (false, full) => u32::from(full),
        }
    }

    /// The same, plus a bubble behind it if `bubble`.
    #[inline(always)]
    pub(crate) fn room_wanted(&self, setup: &Setup, flits: u32, bubble: bool) -> u32 {
        match bubble {
            false => self.room(flits),
            true => self.room(flits).max(setup.bubble + flits),
        }
    }

    /// The local number of the port of virtual channel `vc`, as an input or an output.
    #[inline(always)]
    pub(crate) fn port_of(&self, layout: RouterLayout, vc: u32) -> u32 {
        layout.first_port + u32::from(self.places[vc as usize].0)
    }

    /// Whether output virtual channel `vc` is free; its downstream buffer may still be full.
    #[inline(always)]
    pub(crate) fn is_free<M: Mode>(&self, vc: u32) -> bool {
        *self.owners.trusted::<M>(vc) == NIL
    }

    #[inline]
    pub(crate) fn layout(&self, router: u32) -> RouterLayout {
        self.layouts[(router - self.first_router) as usize]
    }

    /// Whether a front packet of a router waits for a virtual channel of its output, and whether one has it.
    #[inline(always)]
    pub(super) fn stages<M: Mode>(&self, layout: RouterLayout) -> (bool, bool) {
        let (mut waiting, mut active) = (0, 0);
        for word in layout.first_word..layout.first_word + layout.words() {
            let sets = self.sets.trusted::<M>(word);
            waiting |= sets.occupied & !sets.active;
            active |= sets.active;
        }
        (waiting != 0, active != 0)
    }

    /// The sets that `vc` belongs to, and its bit there.
    #[inline(always)]
    pub(super) fn edit_sets<M: Mode>(&mut self, layout: RouterLayout, vc: u32) -> (&mut VcSets, u64) {
        let local = vc - layout.first_vc;
        let sets = self.sets.edit_trusted::<M>(layout.first_word + local / 64);
        (sets, 1 << (local % 64))
    }

    /// Whether packets are routed on arrival in their buffer instead of at its front: with lookahead routing, which
    /// takes no time. Adaptive decisions use the loads of that moment, however long the packet then waits.
    #[inline(always)]
    pub(super) fn routes_on_arrival(&self) -> bool {
        !self.settings.late && !self.settings.reroutes
    }

    /// Calls `see` with every non-empty input virtual channel of a router.
    #[inline(always)]
    pub(crate) fn for_each_occupied(&self, layout: RouterLayout, mut see: impl FnMut(u32)) {
        for word in 0..layout.words() {
            for bit in bits(self.sets.get(layout.first_word + word).occupied) {
                see(layout.first_vc + word * 64 + bit);
            }
        }
    }

    /// Fetches the channels of local router `own` into the cache. Returns its layout.
    #[inline(always)]
    pub(super) fn prefetch(&self, own: u32) -> RouterLayout {
        let layout = self.layouts[own as usize];
        self.sets.prefetch(layout.first_word);
        self.vcs.prefetch_span(layout.first_vc, u32::from(layout.vcs));
        layout
    }
}

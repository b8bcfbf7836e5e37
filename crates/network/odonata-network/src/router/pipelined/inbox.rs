//! Inboxes: heads and flits in flight to the routers of this part, by cycle of arrival.
//!
//! Every router has a ring of slots, one per cycle, covering at least the longest link. The sender of a flit puts it
//! into the slot of its arrival cycle; that cycle first takes in the content of its slot. So a flit needs no event: all
//! arrivals at a router in a cycle share the cycle's event.
//!
//! ```text
//!  slot      k        k + 1      k + 2      ...       of a router in cycle k
//!  heads     a, b                c                    the first of them in the slot, all others linked
//!  flits                e        f                    body flits
//! ```
//!
//! A slot may also hold arrivals of a later turn of the ring: they stay. Arrivals of a cycle are taken in as their
//! events would have been: by time, then by sender, then in the order of sending. A flit that arrives after the
//! beginning of a cycle belongs to the next one.

use super::TICK;
use crate::FabricEvent;
use crate::event::LAG;
use crate::features::HandlerContext;
use crate::packet::Packet;
use crate::params::NetworkParams;
use odonata_engine::{Mode, NIL, Pool, Store, Time};

/// Most and fewest slots of a router.
const MOST: u64 = 1024;
const FEWEST: u64 = 8;

/// Arrivals at a router in one cycle.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
pub(super) struct Arrivals {
    /// The event of the cycle requested last.
    asked: Time,
    /// The first heads. They are in the slot so that their packets can be prefetched together.
    pub(super) first: [u32; Arrivals::FIRST],
    /// The head put here last of all others; each is linked with the one before.
    pub(super) heads: u32,
    /// The body flits, likewise.
    pub(super) flits: u32,
}

impl Arrivals {
    pub(super) const FIRST: usize = 4;

    pub(super) const NONE: Arrivals = Arrivals {
        asked: Time::ZERO,
        first: [NIL; Arrivals::FIRST],
        heads: NIL,
        flits: NIL,
    };
}

impl Arrivals {
    /// Adds the head of packet `slot`.
    #[inline(always)]
    pub(super) fn add(&mut self, p: &mut Packet, slot: u32) {
        let place = self.first.iter().filter(|&&head| head != NIL).count();
        match self.first.get_mut(place) {
            Some(first) => *first = slot,
            None => p.next = std::mem::replace(&mut self.heads, slot),
        }
    }
}

/// A body flit in flight.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
pub(super) struct BodyFlit {
    pub(super) arrival: Time,
    pub(super) buffer: u32,
    pub(super) next: u32,
}
odonata_engine::slots!(BodyFlit);

/// A head that arrives in this cycle: its time in the cycle and its sender, and its packet.
pub(super) type Head = (u64, u32);

/// Stable insertion sort for few elements.
#[inline(always)]
pub(super) fn sort(heads: &mut [Head]) {
    for end in 1..heads.len() {
        let head = heads[end];
        let mut at = end;
        while at > 0 && heads[at - 1].0 > head.0 {
            heads[at] = heads[at - 1];
            at -= 1;
        }
        heads[at] = head;
    }
}

/// The inboxes of all routers of a part.
#[derive(Debug)]
pub(super) struct Inboxes {
    pub(super) slots: Store<Arrivals>,
    pub(super) flits: Pool<BodyFlit>,
    /// Number of slots of a router, a power of two, minus one.
    mask: u64,
    /// Temporary: the heads of a cycle.
    pub(super) heads: Vec<Head>,
}
odonata_engine::journalled!(Inboxes { slots, flits });

impl Inboxes {
    /// The inboxes of `routers` routers.
    pub(super) fn new(params: &NetworkParams, routers: usize) -> Inboxes {
        let slots = Self::slots(params);
        Inboxes {
            slots: Store::filled(routers * slots as usize, Arrivals::NONE),
            flits: Pool::new(),
            mask: slots - 1,
            heads: Vec::new(),
        }
    }

    /// Slots of a router: at least the cycles of its longest link and the crossbar before it, within the bounds.
    fn slots(params: &NetworkParams) -> u64 {
        let latencies = params
            .links
            .iter()
            .map(|link| link.latency.0.div_ceil(params.clock.0.max(1)));
        let stages = u64::from(params.pipeline.switch_allocation) + u64::from(params.pipeline.crossbar);
        let cycles = latencies.max().unwrap_or(0).saturating_add(stages + 2);
        cycles.clamp(FEWEST, MOST).next_power_of_two()
    }

    /// Bytes per router.
    pub(super) fn bytes(params: &NetworkParams) -> usize {
        Self::slots(params) as usize * size_of::<Arrivals>()
    }

    /// The slot of cycle number `cycle` at local router `own`.
    #[inline(always)]
    pub(super) fn slot(&self, own: u32, cycle: u64) -> u32 {
        own * (self.mask as u32 + 1) + (cycle & self.mask) as u32
    }

    /// Fetches the slot of cycle number `cycle` at local router `own` into the cache.
    #[inline(always)]
    pub(super) fn prefetch(&self, own: u32, cycle: u64) {
        self.slots.prefetch(self.slot(own, cycle));
    }

    /// Fetches the first packets in that slot into the cache.
    #[inline(always)]
    pub(super) fn prefetch_packets<M: Mode>(&self, packets: &Pool<Packet>, own: u32, cycle: u64) {
        let slot = self.slots.trusted::<M>(self.slot(own, cycle));
        for head in slot.first {
            packets.prefetch(head);
        }
        packets.prefetch(slot.heads);
    }

    /// Requests the cycle that begins at `cycle` and has this number, unless it is requested already.
    #[inline(always)]
    pub(super) fn ask<C: HandlerContext>(
        &mut self,
        ctx: &mut C,
        (router, own): (u32, u32),
        (number, cycle): (u64, Time),
    ) {
        let slot = self.slot(own, number);
        let tick = cycle + LAG;
        if self.slots.trusted::<C>(slot).asked != tick {
            self.slots.edit_trusted::<C>(slot).asked = tick;
            ctx.wake_up(router, tick, TICK - router, FabricEvent::Tick.into());
        }
    }
}

//! Inboxes: heads and flits in flight to the routers of this part, by cycle of arrival.
//!
//! Every router has a ring of slots, one per cycle, covering at least the longest link. The sender of a flit puts it
//! into the slot of its arrival cycle; that cycle first takes in the content of its slot. So a flit needs no event: all
//! arrivals at a router in a cycle share the cycle's event.
//!
//! ```text
//!  slot      k        k + 1      k + 2      ...       of a router in cycle k
//!  heads     a, b                c                    linked packets, the last added first
//!  flits                e        f                    body flits
//! ```
//!
//! A slot may also hold arrivals of a later turn of the ring: they stay. Arrivals of a cycle are taken in as their
//! events would have been: by time, then by sender, then in the order of sending. A flit that arrives after the
//! beginning of a cycle belongs to the next one.

use super::{LAG, Pipelined, TICK};
use crate::fabric::Shared;
use crate::features::{HandlerContext, Uses};
use crate::flow::Flow;
use crate::packet::Packet;
use crate::params::NetworkParams;
use crate::{FabricEvent, Payload};
use odonata_engine::{NIL, Pool, Store, Time};

/// Most and fewest slots of a router.
const MOST: u64 = 1024;
const FEWEST: u64 = 8;

/// Arrivals at a router in one cycle.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
struct Arrivals {
    /// The event of the cycle requested last.
    asked: Time,
    /// The head put here last; each is linked with the one before.
    heads: u32,
    /// The body flits, likewise.
    flits: u32,
}

impl Arrivals {
    const NONE: Arrivals = Arrivals {
        asked: Time::ZERO,
        heads: NIL,
        flits: NIL,
    };
}

/// A body flit in flight.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
struct BodyFlit {
    arrival: Time,
    buffer: u32,
    next: u32,
}
odonata_engine::slots!(BodyFlit);

/// A head that arrives in this cycle: its time in the cycle and its sender, and its packet.
type Head = (u64, u32);

/// Stable insertion sort for few elements.
#[inline(always)]
fn sort(heads: &mut [Head]) {
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
    slots: Store<Arrivals>,
    flits: Pool<BodyFlit>,
    /// Number of slots of a router, a power of two, minus one.
    mask: u64,
    /// Temporary: the heads of a cycle.
    heads: Vec<Head>,
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
    fn slot(&self, own: u32, cycle: u64) -> u32 {
        own * (self.mask as u32 + 1) + (cycle & self.mask) as u32
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
        if self.slots.get(slot).asked != tick {
            self.slots.edit::<C>(slot).asked = tick;
            ctx.wake_up(router, tick, TICK - router, FabricEvent::Tick.into());
        }
    }
}

impl Pipelined {
    /// The head of `packet` will arrive in buffer `buffer` of `router` at `arrival`.
    #[inline(always)]
    pub(crate) fn send_head<C: HandlerContext>(
        &mut self,
        ctx: &mut C,
        shared: &mut Shared<impl Payload>,
        (router, buffer): (u32, u32),
        packet: u32,
        arrival: Time,
    ) {
        let slot = self.slot_of(ctx, router, arrival);
        let arrivals = self.inboxes.slots.edit::<C>(slot);
        let p = shared.packets.edit::<C>(packet);
        (p.buffer, p.tail_in, p.next) = (buffer, arrival, arrivals.heads);
        arrivals.heads = packet;
    }

    /// A body flit will arrive in buffer `buffer` of `router` at `arrival`.
    #[inline(always)]
    pub(crate) fn send_body<C: HandlerContext>(&mut self, ctx: &mut C, (router, buffer): (u32, u32), arrival: Time) {
        let slot = self.slot_of(ctx, router, arrival);
        let next = self.inboxes.slots.get(slot).flits;
        let flit = BodyFlit { arrival, buffer, next };
        self.inboxes.slots.edit::<C>(slot).flits = self.inboxes.flits.allocate::<C>(flit);
    }

    /// The slot for an arrival at `router` at `arrival`; requests its cycle.
    #[inline(always)]
    fn slot_of<C: HandlerContext>(&mut self, ctx: &mut C, router: u32, arrival: Time) -> u32 {
        let number = self.timing.number_at(arrival);
        let own = router - self.first_router;
        let cycle = self.timing.beginning(number);
        self.inboxes.ask(ctx, (router, own), (number, cycle));
        self.inboxes.slot(own, number)
    }

    /// Takes in all arrivals at `router` up to `now` whose cycle has not been processed. `pass`: the cycle is being
    /// processed, and flits may [pass](super::express).
    #[inline]
    pub(crate) fn take_in<M: Uses>(&mut self, shared: &mut Shared<impl Payload>, router: u32, now: Time, pass: bool) {
        self.candidates.passing = Default::default();
        let slot = self
            .inboxes
            .slot(router - self.first_router, self.timing.number_at(now));
        let Arrivals { heads, flits, .. } = *self.inboxes.slots.get(slot);
        if heads != NIL {
            if pass && !self.ordered && !self.overtaking {
                self.take_heads_at_once::<M>(shared, router, (slot, heads), now);
            } else {
                self.take_heads::<M>(shared, router, (slot, heads), (now, pass));
            }
        }
        if flits != NIL {
            self.take_flits::<M>(&mut shared.flow, router, (slot, flits), now);
        }
    }

    /// Takes in the heads of a slot.
    fn take_heads<M: Uses>(
        &mut self,
        shared: &mut Shared<impl Payload>,
        router: u32,
        (slot, first): (u32, u32),
        (now, pass): (Time, bool),
    ) {
        let mut came = std::mem::take(&mut self.inboxes.heads);
        came.clear();
        let cycle = self.timing.cycle_at(now);
        let before = cycle.saturating_sub(self.timing.period());
        let (mut at, mut kept) = (first, NIL);
        while at != NIL {
            let p = shared.packets.get(at);
            let (next, arrival) = (p.next, p.tail_in);
            if arrival <= now {
                let sender = match self.ordered {
                    true => u64::from(shared.flow.links.feeding_lp(p.buffer)),
                    false => 0,
                };
                came.push(((arrival - before).0 << 32 | sender, at));
            } else {
                // Linked in reverse for now.
                shared.packets.edit::<M>(at).next = kept;
                kept = at;
            }
            at = next;
        }
        self.keep_heads::<M>(shared, slot, kept);
        came.reverse();
        sort(&mut came);
        let layout = self.layout(router);
        let when = |order: u64| before + Time(order >> 32);
        came.iter()
            .for_each(|&(_, packet)| self.head_comes::<M>(shared, packet));
        if pass {
            let mut all = self.begin_newcomers(layout);
            for &(order, packet) in &came {
                self.newcomer::<M>(shared, (router, layout), (packet, when(order)), &mut all);
            }
            self.settle_newcomers::<M>(shared, layout, &all, cycle);
        } else {
            for &(order, packet) in &came {
                self.arrive::<M>(shared, (router, layout), packet, (when(order), cycle));
            }
        }
        if let Some(&(order, _)) = came.last() {
            self.note_arrival::<M>(router, when(order));
        }
        self.inboxes.heads = came;
    }

    /// The same if the order does not matter and no buffer gets two heads: no temporary list.
    fn take_heads_at_once<M: Uses>(
        &mut self,
        shared: &mut Shared<impl Payload>,
        router: u32,
        (slot, first): (u32, u32),
        now: Time,
    ) {
        let layout = self.layout(router);
        let mut all = self.begin_newcomers(layout);
        let (mut at, mut kept, mut last) = (first, NIL, Time::ZERO);
        while at != NIL {
            let p = shared.packets.get(at);
            let (next, arrival) = (p.next, p.tail_in);
            if arrival <= now {
                last = last.max(arrival);
                self.head_comes::<M>(shared, at);
                self.newcomer::<M>(shared, (router, layout), (at, arrival), &mut all);
            } else {
                shared.packets.edit::<M>(at).next = kept;
                kept = at;
            }
            at = next;
        }
        self.keep_heads::<M>(shared, slot, kept);
        self.settle_newcomers::<M>(shared, layout, &all, self.timing.cycle_at(now));
        if last > Time::ZERO {
            self.note_arrival::<M>(router, last);
        }
    }

    /// Keeps the heads from `kept` on, which are linked in reverse, in a slot.
    #[inline]
    fn keep_heads<M: Uses>(&mut self, shared: &mut Shared<impl Payload>, slot: u32, mut kept: u32) {
        let mut left = NIL;
        while kept != NIL {
            let next = std::mem::replace(&mut shared.packets.edit::<M>(kept).next, left);
            (left, kept) = (kept, next);
        }
        self.inboxes.slots.edit::<M>(slot).heads = left;
    }

    /// Takes in the body flits of a slot.
    fn take_flits<M: Uses>(&mut self, flow: &mut Flow, router: u32, (slot, first): (u32, u32), now: Time) {
        let (mut at, mut left) = (first, NIL);
        let mut last = Time::ZERO;
        while at != NIL {
            let BodyFlit { arrival, buffer, next } = *self.inboxes.flits.get(at);
            if arrival <= now {
                self.vcs.edit::<M>(buffer).present += 1;
                if self.waits.are_charged::<M>() {
                    self.flit_may_wait::<M>(flow, buffer, self.timing.cycle_at(now));
                }
                last = last.max(arrival);
                self.inboxes.flits.free::<M>(at);
            } else {
                self.inboxes.flits.edit::<M>(at).next = left;
                left = at;
            }
            at = next;
        }
        self.inboxes.slots.edit::<M>(slot).flits = left;
        if last > Time::ZERO {
            self.note_arrival::<M>(router, last);
        }
    }

    /// A flit has arrived at `router` at `arrival`.
    #[inline]
    fn note_arrival<M: Uses>(&mut self, router: u32, arrival: Time) {
        let clock = self.clocks.edit::<M>(router - self.first_router);
        clock.arrival = clock.arrival.max(arrival);
    }

    /// Time of the last arrival at a router of this part up to `until`, even if no cycle has taken it in yet.
    pub(crate) fn last_arrival_until(&self, packets: &Pool<Packet>, until: Time) -> Option<Time> {
        let mut last = self.last_arrival();
        for slot in self.inboxes.slots.iter() {
            let (mut head, mut flit) = (slot.heads, slot.flits);
            while head != NIL {
                let p = packets.get(head);
                last = last.max(Some(p.tail_in).filter(|&arrival| arrival <= until));
                head = p.next;
            }
            while flit != NIL {
                let BodyFlit { arrival, next, .. } = *self.inboxes.flits.get(flit);
                last = last.max(Some(arrival).filter(|&arrival| arrival <= until));
                flit = next;
            }
        }
        last
    }

    /// Time of the last arrival at a router of this part.
    pub(crate) fn last_arrival(&self) -> Option<Time> {
        self.clocks.iter().map(|clock| clock.arrival).max()
    }
}

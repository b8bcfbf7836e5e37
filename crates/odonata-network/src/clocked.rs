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
mod nic;
pub(crate) mod watch;

use crate::fabric::Fabric;
use crate::packet::Wants;
use crate::params::{Arbitration, NetworkParams, Pipeline, RouterModel, Switching};
use crate::routing::{Decision, Header, Routing};
use crate::{FabricEvent, link::Links};
use allocator::{Allocation, Pointers, Request, Sides, behind};
use odonata_engine::{Context, List, Mode, NIL, Store, Time};
use std::ops::Range;

/// Whose credits: waits are not booked here.
const NOBODY: crate::Traffic = 0;

/// The name of router 0's cycles among canonical events; that of router `r` is `r` less. Names are far above those of
/// links, and no two routers share one: their cycles of an instant come in an order that does not depend on who asked.
const TICK: u32 = u32::MAX;

/// Where the front packet of an input virtual channel stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
enum Stage {
    /// There is none.
    Empty,
    /// It has not been routed.
    New,
    /// It asks for a virtual channel of its output.
    Routed,
    /// It has one; its flits ask for the crossbar.
    Active,
}

/// An input virtual channel.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct InVc {
    /// Packets whose head is here.
    heads: List,
    /// When its front packet may ask for what comes next, see [`Moment`].
    ready: Time,
    /// When the front packet was created.
    created: Time,
    /// Output of the front packet.
    port: u32,
    /// The front packet while it is delivered to a node.
    delivered: u32,
    /// The front packet's header behind its output.
    header: Header,
    /// Flits here.
    present: u16,
    /// Flits of the front packet that have not gone.
    left: u16,
    /// Bytes of its last flit.
    last: u16,
    stage: Stage,
    level: u8,
    /// Virtual channel of the output.
    vc: u8,
    wants: Wants,
    /// Whether the head of the front packet has gone.
    headless: bool,
}

impl InVc {
    const EMPTY: InVc = InVc {
        heads: List::EMPTY,
        ready: Time::ZERO,
        created: Time::ZERO,
        port: NIL,
        delivered: NIL,
        header: Header::NONE,
        present: 0,
        left: 0,
        last: 0,
        stage: Stage::Empty,
        level: 0,
        vc: 0,
        wants: Wants::NONE,
        headless: false,
    };
}

/// A step of a cycle.
///
/// Steps are told apart by picoseconds, of which a period has more: step `s` of cycle `k` is taken at `k T + s - 1`, and
/// what ends with it is over at `k T + s`.
#[derive(Clone, Copy)]
struct Moment {
    /// When the cycle begins.
    cycle: Time,
    /// From 1 on.
    step: u32,
    /// Whether the cycle has no other after it.
    last: bool,
}

impl Moment {
    #[inline]
    fn taken(self) -> Time {
        Time(self.cycle.0 + u64::from(self.step - 1))
    }

    #[inline]
    fn over(self) -> Time {
        Time(self.cycle.0 + u64::from(self.step))
    }
}

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

/// The state of pipelined routers; empty where there are none.
#[derive(Debug)]
pub(crate) struct Clocked {
    pipeline: Pipeline,
    /// Room that virtual-channel allocation asks for is that of the whole packet, and all of it must have come.
    whole: bool,
    all_in: bool,
    /// Whether a packet is routed anew in every cycle until it gets a virtual channel.
    again: bool,
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
            pipeline: params.pipeline,
            whole: params.switching != Switching::Wormhole,
            all_in: params.switching == Switching::StoreAndForward,
            again: routing.decides_again(),
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
        self.again && !self.plans.is_empty()
    }

    /// Flits of room that a packet of `flits` must find to get a virtual channel.
    #[inline]
    pub(crate) fn room(&self, flits: u32) -> u32 {
        match (self.whole, self.pipeline.busy_when_full) {
            (true, _) => flits,
            (false, full) => u32::from(full),
        }
    }

    /// Whether output virtual channel `vc` can be had; its far buffer is another question.
    #[inline]
    pub(crate) fn is_free(&self, vc: u32) -> bool {
        *self.owners.get(vc) == NIL
    }

    /// The steps of allocation in the cycle that begins at `cycle`.
    #[inline]
    fn steps(&self, cycle: Time) -> u32 {
        let speedup = self.pipeline.internal_speedup;
        if speedup == 1.0 {
            return 1;
        }
        let number = (cycle.0 / self.pipeline.clock.0) as f64;
        ((number + 1.0) * speedup) as u32 - (number * speedup) as u32
    }

    /// When a stage of so many cycles, at least one, that begins in a step lets the next one begin, see [`Moment`]: a stage
    /// of one cycle takes that step, a longer one ends with the first step of its last cycle, as in BookSim.
    #[inline]
    fn after(&self, begin: Moment, stages: u32) -> Time {
        match stages {
            1 => begin.over(),
            _ => Time(begin.cycle.0 + u64::from(stages - 1) * self.pipeline.clock.0 + 1),
        }
    }

    /// The step after this one.
    #[inline]
    fn following(&self, Moment { cycle, step, last }: Moment) -> Moment {
        if !last {
            // Whether that one is the last of its cycle matters to crossbars only.
            return Moment {
                cycle,
                step: step + 1,
                last,
            };
        }
        Moment {
            cycle: Time(cycle.0 + self.pipeline.clock.0),
            step: 1,
            last,
        }
    }

    /// When a flit that has asked for the switch in this step and got it can start on its link: in the last cycle of the
    /// crossbar, which begins in the step after switch allocation.
    #[inline]
    fn crossed(&self, granted: Moment) -> Time {
        let Pipeline {
            clock,
            switch_allocation,
            crossbar,
            ..
        } = self.pipeline;
        let ends = Time(granted.cycle.0 + u64::from(switch_allocation - 1) * clock.0);
        let last = match switch_allocation {
            1 => granted.last,
            _ => self.steps(ends) == 1,
        };
        Time(ends.0 + u64::from(crossbar - 1 + u32::from(last)) * clock.0)
    }

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

    /// The beginning of the first cycle at or after `at`.
    #[inline]
    fn cycle_at(&self, at: Time) -> Time {
        let period = self.pipeline.clock.0;
        Time(at.0.div_ceil(period) * period)
    }

    /// Asks for the cycle of `router` that begins at or after `at`.
    #[inline]
    pub(crate) fn wake<E, C>(&mut self, ctx: &mut C, router: u32, at: Time)
    where
        E: Copy + From<FabricEvent>,
        C: Context<E>,
    {
        let tick = Time(self.cycle_at(at).0 + 1);
        let clock = router - self.first_router;
        let pending = self.clocks.get(clock).next;
        if pending > ctx.now() && pending <= tick {
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
            self.wake::<E, C>(ctx, router, due);
        }
    }
}

impl Fabric {
    /// The head of `packet` is in buffer `at`.
    #[inline]
    pub(crate) fn arrive_clocked<E, C>(&mut self, ctx: &mut C, router: u32, packet: u32, at: u32)
    where
        E: Copy + From<FabricEvent>,
        C: Context<E>,
    {
        self.visit::<C>(packet);
        let mut heads = self.clocked.vcs.get(at).heads;
        heads.push::<C, _>(&mut self.packets, packet);
        let vc = self.clocked.vcs.edit::<C>(at);
        vc.heads = heads;
        vc.present += 1;
        if vc.stage == Stage::Empty {
            let plan = self.clocked.plans[(router - self.clocked.first_router) as usize];
            self.clocked.edit_occupied::<C>(plan, at, true);
            let first = Moment {
                cycle: self.clocked.cycle_at(ctx.now()),
                step: 1,
                last: false,
            };
            self.come_to_front::<C>(router, at, packet, first, ctx.now());
        }
        self.clocked.wake::<E, C>(ctx, router, ctx.now());
    }

    /// A body flit is in buffer `at`.
    #[inline]
    pub(crate) fn arrive_flit<E, C>(&mut self, ctx: &mut C, router: u32, at: u32)
    where
        E: Copy + From<FabricEvent>,
        C: Context<E>,
    {
        self.clocked.vcs.edit::<C>(at).present += 1;
        self.clocked.wake::<E, C>(ctx, router, ctx.now());
    }

    /// `packet` is the next one of buffer `at` to go, and can be routed in the step `begin`. Where it is routed at once,
    /// that is with the loads of `now`: of credits that come later not all may be known yet.
    fn come_to_front<M: Mode>(&mut self, router: u32, at: u32, packet: u32, begin: Moment, now: Time) {
        let p = self.packets.get(packet);
        let (created, bytes) = (p.created, p.bytes);
        let flits = self.flits(bytes);
        let routing = self.clocked.pipeline.routing;
        let ready = match routing {
            0 => begin.taken(),
            stages => self.clocked.after(begin, stages),
        };
        // Where routing takes no time it is done while the packet is at hand.
        let early = routing == 0 && !self.clocked.again;
        let decision = early.then(|| self.decide_once::<M>(router, packet, flits, now));
        let vc = self.clocked.vcs.edit::<M>(at);
        vc.stage = Stage::New;
        if let Some(decision) = decision {
            vc.stage = Stage::Routed;
            (vc.port, vc.level) = (self.flow.links.port(decision.port), decision.level);
            vc.wants = Wants::of(&decision);
        }
        vc.created = created;
        vc.ready = ready;
        vc.left = flits as u16;
        vc.last = (u64::from(bytes) - u64::from(flits - 1) * self.params.flit) as u16;
        vc.delivered = NIL;
        vc.headless = false;
    }

    /// Routes `packet`, once and for all, at `router`.
    #[inline]
    fn decide_once<M: Mode>(&mut self, router: u32, packet: u32, flits: u32, now: Time) -> Decision {
        let (decision, header) = self.decide::<M>(router, packet, flits, now);
        self.packets.edit::<M>(packet).header = header;
        decision
    }

    /// A cycle of `router`.
    pub(crate) fn tick<E, C>(&mut self, ctx: &mut C, router: u32)
    where
        E: Copy + From<FabricEvent>,
        C: Context<E>,
    {
        let cycle = Time(ctx.now().0 - 1);
        let clock = router - self.clocked.first_router;
        if self.clocked.clocks.get(clock).done == ctx.now() {
            return;
        }
        let plan = self.clocked.plans[(router - self.clocked.first_router) as usize];
        let mut look = Look::default();
        let steps = self.clocked.steps(cycle);
        for step in 1..=steps {
            let last = step == steps;
            let moment = Moment { cycle, step, last };
            self.gather::<C>(router, plan, moment, &mut look);
            self.allocate::<E, C>(ctx, plan, moment, &mut look);
        }
        let cell = self.clocked.clocks.edit::<C>(clock);
        cell.done = ctx.now();
        cell.hungry = look.waits && !look.moved && !look.soon;
        if look.moved || look.soon {
            // Nothing is left to do where the last flit has gone.
            let words = plan.first_word..plan.first_word + u32::from(plan.vcs).div_ceil(64);
            if words.clone().any(|word| *self.clocked.occupied.get(word) != 0) {
                let next = Time(cycle.0 + self.clocked.pipeline.clock.0);
                self.clocked.wake::<E, C>(ctx, router, next);
            }
        } else if look.waits {
            self.await_credits_clocked::<E, C>(ctx, router, plan, cycle);
        }
    }

    /// Goes through what is in the router, and gathers who asks for what.
    fn gather<M: Mode>(&mut self, router: u32, plan: Plan, moment: Moment, look: &mut Look) {
        let (cycle, now) = (moment.cycle, moment.taken());
        let words = u32::from(plan.vcs).div_ceil(64);
        for word in 0..words {
            let mut bits = *self.clocked.occupied.get(plan.first_word + word);
            while bits != 0 {
                let local = word * 64 + bits.trailing_zeros();
                bits &= bits - 1;
                let at = plan.first_vc + local;
                let vc = *self.clocked.vcs.get(at);
                if vc.ready > now {
                    look.soon = true;
                } else if vc.stage == Stage::Active {
                    self.ask_for_switch::<M>(plan, at, &vc, cycle, look);
                } else {
                    self.ask_for_channel::<M>(router, plan, at, vc, cycle, look);
                }
            }
        }
    }

    fn rank(&self, vc: &InVc) -> u64 {
        match self.clocked.pipeline.arbitration {
            Arbitration::Age => vc.created.0,
            Arbitration::RoundRobin | Arbitration::LowestFirst => 0,
        }
    }

    /// The front packet of `at` asks for a virtual channel of its output, after it has been routed.
    fn ask_for_channel<M: Mode>(
        &mut self,
        router: u32,
        plan: Plan,
        at: u32,
        mut vc: InVc,
        cycle: Time,
        look: &mut Look,
    ) {
        if self.clocked.all_in && vc.present < vc.left {
            return;
        }
        if vc.stage == Stage::New || self.clocked.again {
            let packet = vc.heads.head;
            let (decision, header) = self.decide::<M>(router, packet, u32::from(vc.left), cycle);
            vc.stage = Stage::Routed;
            (vc.port, vc.level) = (self.flow.links.port(decision.port), decision.level);
            (vc.wants, vc.header) = (Wants::of(&decision), header);
            *self.clocked.vcs.edit::<M>(at) = vc;
        }
        let link = *self.flow.links.get(vc.port);
        let spare = if vc.wants.spare() {
            self.spare + u32::from(vc.left)
        } else {
            0
        };
        let room = self.clocked.room(u32::from(vc.left)).max(spare);
        let pointer = *self.clocked.vc_inputs.get(at);
        let first = (link.first_vc - plan.first_vc) as u16;
        let mut best: Option<(u16, u8)> = None;
        for channel in self.spans.of(link.class, vc.level, 0) {
            if !self.clocked.is_free(link.first_vc + u32::from(channel)) {
                continue;
            }
            if room > 0 && !self.flow.has_room::<M>(vc.port, channel, room, cycle) {
                continue;
            }
            if !self.clocked.chooses_alone() {
                self.clocked.channels.requests.push(Request {
                    input: (at - plan.first_vc) as u16,
                    output: first + u16::from(channel),
                    channel: u32::from(channel),
                    rank: self.rank(&vc),
                });
                best = Some((0, channel));
                continue;
            }
            let distance = behind(first + u16::from(channel), pointer, plan.vcs);
            if best.is_none_or(|(least, _)| distance < least) {
                best = Some((distance, channel));
            }
        }
        let Some((_, channel)) = best else {
            look.waits = true;
            return;
        };
        if self.clocked.chooses_alone() {
            self.clocked.channels.requests.push(Request {
                input: (at - plan.first_vc) as u16,
                output: first + u16::from(channel),
                channel: u32::from(channel),
                rank: self.rank(&vc),
            });
        }
    }

    /// The next flit of `at` asks for the crossbar.
    #[inline]
    fn ask_for_switch<M: Mode>(&mut self, plan: Plan, at: u32, vc: &InVc, cycle: Time, look: &mut Look) {
        if vc.present == 0 {
            return;
        }
        if !self.flow.has_room::<M>(vc.port, vc.vc, 1, cycle) {
            look.waits = true;
            let out = self.flow.ports.get(vc.port);
            if out.full_since == Time::NEVER {
                self.flow.ports.edit::<M>(vc.port).full_since = cycle.max(out.free_at);
                self.links.edit::<M>(vc.port).stalled += 1;
            }
            return;
        }
        let (port, channel) = self.clocked.places[at as usize];
        let speedup = self.clocked.pipeline.input_speedup as u16;
        let input = port * speedup + if speedup > 1 { u16::from(channel) % speedup } else { 0 };
        let request = Request {
            input,
            output: (vc.port - plan.first_port) as u16,
            channel: at,
            rank: self.rank(vc),
        };
        // One request per switch input and output: of several virtual channels the one whose turn it is.
        let first = plan.first_port * u32::from(speedup);
        let turn = u16::from(*self.clocked.turns.get(first + u32::from(input)));
        let places = &self.clocked.places;
        let distance = |r: &Request| behind(u16::from(places[r.channel as usize].1), turn, u16::from(u8::MAX) + 1);
        let mut others = self.clocked.switch.requests.iter_mut().rev();
        // Requests come in the order of their input virtual channels, so that those of a port are side by side.
        let same_port = |r: &Request| places[r.channel as usize].0 == port;
        match others
            .by_ref()
            .take_while(|r| same_port(r))
            .find(|r| (r.input, r.output) == (input, request.output))
        {
            Some(other) => {
                if (request.rank, distance(&request)) < (other.rank, distance(other)) {
                    *other = request;
                }
            }
            None => self.clocked.switch.requests.push(request),
        }
    }

    /// Grants virtual channels and passages to those who have asked.
    fn allocate<E, C>(&mut self, ctx: &mut C, plan: Plan, moment: Moment, look: &mut Look)
    where
        E: Copy + From<FabricEvent>,
        C: Context<E>,
    {
        let c = &mut self.clocked;
        let Pipeline {
            allocator,
            iterations,
            arbitration,
            vc_allocation,
            input_speedup,
            ..
        } = c.pipeline;
        let how = (allocator, iterations, arbitration);
        if !c.channels.requests.is_empty() {
            let mut sides = Sides {
                inputs: (&mut c.vc_inputs, plan.first_vc, plan.vcs),
                outputs: (&mut c.vc_outputs, plan.first_vc, plan.vcs),
            };
            c.channels.run::<C>(how, &mut sides);
            look.moved = true;
            for place in 0..c.channels.matches.len() {
                let granted = c.channels.matches[place];
                let at = plan.first_vc + u32::from(granted.input);
                *c.owners.edit::<C>(plan.first_vc + u32::from(granted.output)) = at;
                let ready = c.after(moment, vc_allocation);
                let vc = c.vcs.edit::<C>(at);
                vc.stage = Stage::Active;
                vc.vc = granted.channel as u8;
                vc.ready = ready;
                if c.again || c.pipeline.routing > 0 {
                    self.packets.edit::<C>(vc.heads.head).header = vc.header;
                }
            }
        }
        if !c.switch.requests.is_empty() {
            let mut sides = Sides {
                inputs: (
                    &mut c.switch_inputs,
                    plan.first_port * input_speedup,
                    plan.ports * input_speedup as u16,
                ),
                outputs: (&mut c.switch_outputs, plan.first_port, plan.ports),
            };
            c.switch.run::<C>(how, &mut sides);
            look.moved = true;
            let mut granted = std::mem::take(&mut c.switch.matches);
            for request in granted.drain(..) {
                let channel = self.clocked.places[request.channel as usize].1;
                let turn = plan.first_port * input_speedup + u32::from(request.input);
                if arbitration != Arbitration::LowestFirst {
                    *self.clocked.turns.edit::<C>(turn) = channel.saturating_add(input_speedup as u8);
                }
                self.pass::<E, C>(ctx, plan, request.channel, moment);
            }
            self.clocked.switch.matches = granted;
        }
    }

    /// The next flit of `at` passes the crossbar.
    fn pass<E, C>(&mut self, ctx: &mut C, plan: Plan, at: u32, moment: Moment)
    where
        E: Copy + From<FabricEvent>,
        C: Context<E>,
    {
        let vc = *self.clocked.vcs.get(at);
        let link = *self.flow.links.get(vc.port);
        let Pipeline {
            clock,
            switch_allocation,
            ..
        } = self.clocked.pipeline;
        let cycle = moment.cycle;
        let (head, tail) = (!vc.headless, vc.left == 1);
        let bytes = if tail { u64::from(vc.last) } else { self.params.flit } as u32;
        let left_at = Time(cycle.0 + u64::from(switch_allocation) * clock.0);
        let ready = self.clocked.crossed(moment);

        // Counted while they are few: they would fill the caches.
        self.flow.harvest_flits::<C>(vc.port, cycle);
        self.flow.claim::<C>(vc.port, vc.vc, 1);
        self.load_changes::<E, C>(ctx, vc.port, ctx.now());
        let out = self.flow.ports.edit::<C>(vc.port);
        let departure = ready.max(out.free_at);
        out.free_at = departure + link.flit;
        let since = std::mem::replace(&mut out.full_since, Time::NEVER);
        let stats = self.links.edit::<C>(vc.port);
        stats.bytes += u64::from(bytes);
        stats.packets += u64::from(tail);
        stats.busy += link.flit;
        if since != Time::NEVER {
            stats.saturation += cycle.saturating_sub(since);
        }
        if self.params.series.is_some() {
            let class = self.params.traffics as usize + link.class as usize;
            self.count_series::<C>(departure, class, (u64::from(tail), bytes), link.flit);
        }
        let arrival = departure + link.flit + link.latency;

        let packet = vc.heads.head;
        let mut next = vc;
        if head {
            // Not worth a look at the packet where it is the only one.
            if next.heads.head == next.heads.tail {
                next.heads = List::EMPTY;
            } else {
                next.heads.pop(&self.packets);
            }
            next.headless = true;
        }
        if link.to_node {
            if head {
                next.delivered = packet;
            }
            let due = arrival + clock + link.credit_delay;
            self.return_credit::<E, C>(ctx, vc.port, vc.vc, (1, NOBODY), due);
            if tail {
                self.deliver::<E, C>(ctx, next.delivered, arrival);
                next.delivered = NIL;
            }
        } else if head {
            let buffer = link.far + u32::from(vc.vc);
            if link.leaves {
                self.packets.edit::<C>(packet).buffer = buffer;
                self.export::<C>(packet, link.far_lp, arrival);
            } else {
                ctx.send(link.far_lp, arrival, FabricEvent::Head { packet, buffer }.into());
            }
        } else {
            let buffer = link.far + u32::from(vc.vc);
            if link.leaves {
                self.export_flit(link.far_lp, arrival, buffer);
            } else {
                ctx.send(link.far_lp, arrival, FabricEvent::Flit { buffer }.into());
            }
        }
        let channel = self.clocked.places[at as usize].1;
        self.give_back::<E, C>(ctx, at, channel, (1, NOBODY), left_at);

        next.present -= 1;
        next.left -= 1;
        if tail {
            *self.clocked.owners.edit::<C>(link.first_vc + u32::from(vc.vc)) = NIL;
            next.stage = Stage::Empty;
        }
        let following = next.heads.head;
        *self.clocked.vcs.edit::<C>(at) = next;
        if !tail {
            return;
        }
        if following == NIL {
            self.clocked.edit_occupied::<C>(plan, at, false);
        } else {
            let begin = self.clocked.following(moment);
            self.come_to_front::<C>(link.lp, at, following, begin, moment.cycle);
        }
    }

    /// Nobody in the router can go on: asks for the cycle at which the next credit comes that somebody waits for.
    fn await_credits_clocked<E, C>(&mut self, ctx: &mut C, router: u32, plan: Plan, cycle: Time)
    where
        E: Copy + From<FabricEvent>,
        C: Context<E>,
    {
        let ports = plan.first_port..plan.first_port + u32::from(plan.ports);
        let due = ports
            .filter_map(|port| self.flow.next_flit_credit::<C>(port, cycle))
            .min();
        if let Some(due) = due {
            self.clocked.wake::<E, C>(ctx, router, due);
        }
    }
}

impl Clocked {
    /// Whether an input's choice among virtual channels can be made before the others are known.
    #[inline]
    fn chooses_alone(&self) -> bool {
        self.pipeline.iterations == 1 && self.pipeline.allocator == crate::params::Allocator::InputFirst
    }
}

/// What a cycle has found.
#[derive(Default)]
struct Look {
    /// Somebody was granted something.
    moved: bool,
    /// Somebody can go on after a fixed time.
    soon: bool,
    /// Somebody waits for a credit or for a virtual channel.
    waits: bool,
}

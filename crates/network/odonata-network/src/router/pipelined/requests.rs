//! VC allocation and switch allocation: requests and grants of a subcycle.
//!
//! Front packets are visited in the ascending order of their input virtual channels. Routed packets request a
//! virtual channel of their output, packets with a virtual channel request the crossbar. One allocator grants each
//! kind. With the [common settings](super::settings::Settings::COMMON) requests are words of bits.

use super::Pipelined;
use super::allocator::{Request, Sides, behind};
use super::channels::{RouterLayout, VcSets, bits};
use super::clock::Subcycle;
use super::in_vc::Stage;
use super::priority::{rank, turn, urgency};
use crate::Payload;
use crate::control::ClassScheduler;
use crate::fabric::Shared;
use crate::features::Uses;
use crate::observe::Observer;
use crate::packet::{Route, VcTerms};
use crate::route_computation::RepeatableDraws;
use odonata_engine::state::{cell, cell_mut};
use odonata_engine::{NIL, Time};

/// Bit position of the preference in the channel of a request for a virtual channel.
const PREFERENCE: u32 = 8;

/// Most outputs that a packet may request at once: one per dimension.
const MOST_OUTPUTS: usize = 16;

/// More than the virtual channels of a port.
const CHANNELS: u16 = u8::MAX as u16 + 1;

/// No choice of an input port.
const NO_CHOICE: Request = Request {
    input: u16::MAX,
    output: 0,
    channel: NIL,
};

/// Findings of a cycle, over its subcycles.
#[derive(Clone, Copy, Default)]
pub(super) struct CycleOutcome {
    /// A request was granted.
    pub(super) granted_some: bool,
    /// A packet can progress after a fixed time.
    pub(super) soon: bool,
    /// A packet waits for a credit or a virtual channel.
    pub(super) waits: bool,
}

impl Pipelined {
    /// Processes a step of `router`, except for the crossbar traversals: those of
    /// [`Allocators::crossing`](super::allocator::Allocators::crossing).
    #[inline(always)]
    pub(super) fn step<M: Uses>(
        &mut self,
        shared: &mut Shared<impl Payload>,
        router: u32,
        layout: RouterLayout,
        subcycle: Subcycle,
        outcome: &mut CycleOutcome,
    ) {
        if self.common {
            // Most steps have work for one of the two allocators only.
            let (waiting, active) = self.channels.stages::<M>(layout);
            if active {
                self.allocate_switch::<M>(shared, layout, subcycle, outcome);
            }
            if waiting {
                self.allocate_vcs::<M>(shared, layout, subcycle, outcome);
            }
        } else {
            self.step_of_any_settings::<M>(shared, router, layout, subcycle, outcome);
        }
    }

    /// Switch allocation with the common settings.
    #[inline(never)]
    fn allocate_switch<M: Uses>(
        &mut self,
        shared: &mut Shared<impl Payload>,
        layout: RouterLayout,
        Subcycle { cycle, step, .. }: Subcycle,
        outcome: &mut CycleOutcome,
    ) {
        let now = Time(cycle.0 + u64::from(step - 1));
        // The choice of an input port so far: its virtual channels are adjacent.
        let mut choice = NO_CHOICE;
        for word in 0..layout.words() {
            let mut active = self.channels.sets.trusted::<M>(layout.first_word + word).active;
            while active != 0 {
                let at = layout.first_vc + word * 64 + active.trailing_zeros();
                active &= active - 1;
                let vc = self.channels.vcs.trusted::<M>(at);
                if vc.ready > now {
                    outcome.soon = true;
                    continue;
                }
                if vc.present == 0 {
                    continue;
                }
                let (port, out_vc) = (vc.port, vc.vc);
                // A port of which no channel is exhausted has a credit for each.
                if shared.flow.port::<M>(port).is_exhausted() && !has_credit::<M>(shared, (port, out_vc), cycle) {
                    outcome.waits = true;
                    continue;
                }
                let request = Request {
                    input: cell::<M, _>(&self.channels.places, at).0,
                    output: (port - layout.first_port) as u16,
                    channel: at,
                };
                if choice.input != request.input {
                    self.propose::<M>(choice);
                } else if !self.goes_first(layout, request, choice) {
                    continue;
                }
                choice = request;
            }
        }
        self.propose::<M>(choice);
        let requests = &mut self.allocators.switch_requests;
        let mut count = 0;
        while let Some(output) = requests.output(count) {
            let pointer = self.switch_outputs.edit_trusted::<M>(layout.first_port + output);
            let input = requests.grant::<M>(output, u32::from(*pointer));
            *pointer = input as u16 + 1;
            let port = layout.first_port + input;
            *self.switch_inputs.edit_trusted::<M>(port) = output as u16 + 1;
            let at = *cell::<M, _>(&self.allocators.choices, input);
            *self.turns.edit_trusted::<M>(port) = cell::<M, _>(&self.channels.places, at).1.saturating_add(1);
            self.allocators.crossing.push(at);
            count += 1;
        }
        outcome.granted_some |= count > 0;
        requests.end();
    }

    /// An input port requests the crossbar with its choice, if it has one.
    #[inline(always)]
    fn propose<M: Uses>(&mut self, choice: Request) {
        if choice.input != NO_CHOICE.input {
            let input = u32::from(choice.input);
            *cell_mut::<M, _>(&mut self.allocators.choices, input) = choice.channel;
            (self.allocators.switch_requests).add::<M>(input, u32::from(choice.output));
        }
    }

    /// Whether an input port, which has chosen `held`, prefers `request`.
    #[inline(never)]
    fn goes_first(&self, layout: RouterLayout, request: Request, held: Request) -> bool {
        let input = layout.first_port + u32::from(request.input);
        if request.output == held.output {
            let turn = u16::from(*self.turns.get(input));
            let distance = |at: u32| behind(u16::from(self.channels.places[at as usize].1), turn, CHANNELS);
            return distance(request.channel) < distance(held.channel);
        }
        let pointer = *self.switch_inputs.get(input);
        let distance = |output: u16| behind(output, pointer, layout.ports);
        distance(request.output) < distance(held.output)
    }

    /// Virtual-channel allocation with the common settings.
    #[inline(never)]
    fn allocate_vcs<M: Uses>(
        &mut self,
        shared: &mut Shared<impl Payload>,
        layout: RouterLayout,
        subcycle: Subcycle,
        outcome: &mut CycleOutcome,
    ) {
        let now = subcycle.taken();
        for word in 0..layout.words() {
            let VcSets { occupied, active } = *self.channels.sets.trusted::<M>(layout.first_word + word);
            let mut waiting = occupied & !active;
            while waiting != 0 {
                let input = word * 64 + waiting.trailing_zeros();
                waiting &= waiting - 1;
                let vc = self.channels.vcs.trusted::<M>(layout.first_vc + input);
                if vc.ready > now {
                    outcome.soon = true;
                    continue;
                }
                let out = match vc.channels == 1 && !self.needs_room {
                    true if self.channels.is_free::<M>(vc.out) => vc.out,
                    true => NIL,
                    false => self.choose_channel::<M>(shared, layout, layout.first_vc + input, subcycle.cycle),
                };
                if out == NIL {
                    outcome.waits = true;
                    continue;
                }
                (self.allocators.vc_requests).add::<M>(input, out - layout.first_vc);
            }
        }
        let requests = &mut self.allocators.vc_requests;
        let ready = self.channels.timing.allocated(subcycle);
        let mut count = 0;
        while let Some(output) = requests.output(count) {
            let out = layout.first_vc + output;
            let pointer = self.vc_outputs.edit_trusted::<M>(out);
            let input = requests.grant::<M>(output, u32::from(*pointer));
            *pointer = input as u16 + 1;
            let at = layout.first_vc + input;
            *self.vc_inputs.edit_trusted::<M>(at) = output as u16 + 1;
            *self.channels.owners.edit_trusted::<M>(out) = at;
            let vc = self.channels.vcs.edit_trusted::<M>(at);
            vc.vc += (out - vc.out) as u8;
            (vc.out, vc.stage, vc.ready) = (out, Stage::Active, ready);
            self.channels
                .sets
                .edit_trusted::<M>(layout.first_word + input / 64)
                .active |= 1 << (input % 64);
            count += 1;
        }
        outcome.granted_some |= count > 0;
        requests.end();
    }

    /// The free output virtual channel that the front packet of `at` prefers, numbered over all, or [`NIL`].
    #[inline(never)]
    fn choose_channel<M: Uses>(
        &self,
        shared: &mut Shared<impl Payload>,
        layout: RouterLayout,
        at: u32,
        cycle: Time,
    ) -> u32 {
        let pointer = *self.vc_inputs.trusted::<M>(at);
        let mut best = (u16::MAX, NIL);
        self.for_each_free::<M>(shared, at, cycle, |out| {
            let distance = behind((out - layout.first_vc) as u16, pointer, layout.vcs);
            if distance < best.0 {
                best = (distance, out);
            }
        });
        best.1
    }

    /// Calls `see` with each output virtual channel, numbered over all, that is free and has room for the routed front
    /// packet of `at`.
    #[inline(always)]
    fn for_each_free<M: Uses>(
        &self,
        shared: &mut Shared<impl Payload>,
        at: u32,
        cycle: Time,
        mut see: impl FnMut(u32),
    ) {
        let vc = self.channels.vcs.trusted::<M>(at);
        let room = self
            .channels
            .room_wanted(&shared.setup, u32::from(vc.left), vc.terms.bubble());
        for channel in 0..vc.channels {
            let out = vc.out + u32::from(channel);
            let is_free = self.channels.is_free::<M>(out);
            if is_free && (room == 0 || shared.flow.has_room::<M>(vc.port, vc.vc + channel, room, cycle)) {
                see(out);
            }
        }
    }

    /// [`step`](Self::step) with any settings.
    #[inline(never)]
    fn step_of_any_settings<M: Uses>(
        &mut self,
        shared: &mut Shared<impl Payload>,
        router: u32,
        layout: RouterLayout,
        subcycle: Subcycle,
        outcome: &mut CycleOutcome,
    ) {
        let (cycle, now) = (subcycle.cycle, subcycle.taken());
        if self.channels.settings.classes {
            let ports = layout.first_port as usize..layout.first_port as usize + usize::from(layout.ports);
            self.lacking[ports].fill([0; 2]);
        }
        for word in 0..layout.words() {
            let VcSets { occupied, active } = *self.channels.sets.trusted::<M>(layout.first_word + word);
            let first = layout.first_vc + word * 64;
            for bit in bits(occupied & !active) {
                let at = first + bit;
                if self.channels.settings.classes && self.channels.vcs.get(at).stage == Stage::Routed {
                    self.lacks(layout, at);
                }
                match self.channels.vcs.trusted::<M>(at).ready > now {
                    true => outcome.soon = true,
                    false => self.request_vc::<M>(shared, router, layout, at, cycle, outcome),
                }
            }
            for bit in bits(active) {
                let at = first + bit;
                let is_late = self.channels.vcs.trusted::<M>(at).ready > now;
                if is_late {
                    outcome.soon = true;
                } else if self.can_cross::<M>(shared, at, cycle, outcome) {
                    self.request_output::<M>(&shared.classes, layout, at);
                    continue;
                }
                if self.channels.settings.classes && (is_late || self.channels.vcs.get(at).present > 0) {
                    self.lacks(layout, at);
                }
            }
        }
        self.grant_vcs::<M>(shared, layout, subcycle, outcome);
        self.grant_switch::<M>(&shared.classes, layout, outcome);
    }

    /// The front packet of `at` is routed and requests a virtual channel of its output.
    fn request_vc<M: Uses>(
        &mut self,
        shared: &mut Shared<impl Payload>,
        router: u32,
        layout: RouterLayout,
        at: u32,
        cycle: Time,
        outcome: &mut CycleOutcome,
    ) {
        let settings = self.channels.settings;
        let vc = self.channels.vcs.trusted::<M>(at);
        if settings.store_and_forward && vc.present < vc.left {
            return;
        }
        if settings.takes_any {
            self.request_any::<M>(shared, router, layout, at, cycle, outcome);
            return;
        }
        // A packet that reached the front of its buffer is new only if routing takes time.
        if (settings.late && vc.stage == Stage::New) || settings.reroutes {
            self.route_front::<M>(shared, router, at, cycle);
        }
        let vc = *self.channels.vcs.trusted::<M>(at);
        let request = |out: u32| Request {
            input: (at - layout.first_vc) as u16,
            output: (out - layout.first_vc) as u16,
            channel: u32::from(vc.vc) + (out - vc.out),
        };
        let mut requested = false;
        if settings.chooses_alone() {
            let out = self.choose_channel::<M>(shared, layout, at, cycle);
            if out != NIL {
                self.allocators.vcs.request(request(out));
                requested = true;
            }
        } else {
            let mut allocation = std::mem::take(&mut self.allocators.vcs);
            self.for_each_free::<M>(shared, at, cycle, |out| {
                allocation.request(request(out));
                requested = true;
            });
            self.allocators.vcs = allocation;
        }
        outcome.waits |= !requested;
    }

    /// The front packet of `at` requests a virtual channel of every output that it may take; the output where it would
    /// wait has the lowest preference.
    #[inline(never)]
    fn request_any<M: Uses>(
        &mut self,
        shared: &mut Shared<impl Payload>,
        router: u32,
        layout: RouterLayout,
        at: u32,
        cycle: Time,
        outcome: &mut CycleOutcome,
    ) {
        let vc = self.channels.vcs.get(at);
        let (packet, flits, own_class) = (vc.heads.head, u32::from(vc.left), vc.class);
        let waiting = shared.packets.get(packet);
        let header = waiting.header;
        let mut behind_port = header;
        let routing = &shared.routes.routing;
        let mut draws = RepeatableDraws::new(shared.setup.params.seed, router, waiting);
        let waits_for = routing.decide(router, &mut behind_port, &mut draws);
        let first_only = self.channels.settings.first_only;
        let mut outputs = [(0, 0); MOST_OUTPUTS];
        let mut count = 0;
        routing.free_outputs(router, &header, |port, level| {
            if first_only && count > 0 {
                return;
            }
            outputs[count] = (shared.flow.links.port(port), level);
            count += 1;
        });
        let vc = self.channels.vcs.edit::<M>(at);
        vc.stage = Stage::Routed;
        (vc.port, vc.level) = (shared.flow.links.port(waits_for.port), waits_for.level);
        (vc.terms, vc.header) = (VcTerms::of(&waits_for), behind_port);
        let (port, level) = (vc.port, vc.level);
        let room = self.channels.room(flits);
        let pointer = *self.vc_inputs.get(at);
        let alone = self.channels.settings.chooses_alone();
        let mut best: Option<((u64, u16), Request)> = None;
        let mut ask = |c: &mut Self, port: u32, level: u8, preference: u64| {
            let link = shared.flow.link::<M>(port);
            let (class, first_vc) = (link.class, link.first_vc);
            for channel in shared.setup.vcs.of(class, level, own_class) {
                let output = first_vc + u32::from(channel);
                if !c.channels.is_free::<M>(output)
                    || (room > 0 && !shared.flow.has_room::<M>(port, channel, room, cycle))
                {
                    continue;
                }
                let request = Request {
                    input: (at - layout.first_vc) as u16,
                    output: (output - layout.first_vc) as u16,
                    channel: u32::from(channel) | (preference as u32) << PREFERENCE,
                };
                let place = (preference, behind(request.output, pointer, layout.vcs));
                if !alone {
                    c.allocators.vcs.request(request);
                }
                if best.is_none_or(|(other, _)| place < other) {
                    best = Some((place, request));
                }
            }
        };
        for &(port, level) in &outputs[..count] {
            ask(self, port, level, 0);
        }
        ask(self, port, level, 1);
        match best {
            None => outcome.waits = true,
            Some((_, request)) if alone => self.allocators.vcs.request(request),
            Some(_) => {}
        }
    }

    /// Routes the front packet of `at`; it keeps its header until it gets a virtual channel.
    fn route_front<M: Uses>(&mut self, shared: &mut Shared<impl Payload>, router: u32, at: u32, cycle: Time) {
        let vc = self.channels.vcs.get(at);
        let (packet, flits) = (vc.heads.head, u32::from(vc.left));
        let (decision, header) = shared.decide::<M>(&*self, router, packet, flits, cycle);
        if self.counts_waiting {
            let port = shared.flow.links.port(decision.port);
            shared.flow.edit_port::<M>(port).waiting_flits += flits;
        }
        let vc = self.channels.vcs.edit::<M>(at);
        let route = Route {
            port: shared.flow.links.port(decision.port),
            level: decision.level,
            terms: VcTerms::of(&decision),
        };
        vc.take(route, &shared.flow.link::<M>(route.port), &shared.setup.vcs);
        vc.header = header;
    }

    /// The front packet of `at` has flits, but cannot request the crossbar yet or lacks a credit: its class keeps its
    /// share.
    fn lacks(&mut self, layout: RouterLayout, at: u32) {
        let vc = self.channels.vcs.get(at);
        let (input, bit) = (self.channels.port_of(layout, at), 1 << vc.class);
        self.lacking[vc.port as usize][0] |= bit;
        self.lacking[input as usize][1] |= bit;
    }

    /// Whether the next flit of `at` has arrived and has a credit.
    fn can_cross<M: Uses>(
        &self,
        shared: &mut Shared<impl Payload>,
        at: u32,
        cycle: Time,
        outcome: &mut CycleOutcome,
    ) -> bool {
        let vc = self.channels.vcs.trusted::<M>(at);
        let can = vc.present > 0 && has_credit::<M>(shared, (vc.port, vc.vc), cycle);
        outcome.waits |= vc.present > 0 && !can;
        can
    }

    fn grant_vcs<M: Uses>(
        &mut self,
        shared: &mut Shared<impl Payload>,
        layout: RouterLayout,
        subcycle: Subcycle,
        outcome: &mut CycleOutcome,
    ) {
        let c = &mut *self;
        let settings = c.channels.settings;
        if !c.allocators.vcs.has_requests() {
            return;
        }
        let mut sides = Sides {
            inputs: (&mut c.vc_inputs, layout.first_vc, layout.vcs),
            outputs: (&mut c.vc_outputs, layout.first_vc, layout.vcs),
        };
        let vcs = &c.channels.vcs;
        (c.allocators.vcs).run::<M>(
            settings,
            &mut sides,
            |r| rank(settings, vcs, layout.first_vc + u32::from(r.input)),
            |r| u64::from(r.channel >> PREFERENCE),
        );
        outcome.granted_some = true;
        let ready = c.channels.timing.allocated(subcycle);
        for granted in c.allocators.vcs.matches.choices() {
            let at = layout.first_vc + u32::from(granted.input);
            let out = layout.first_vc + u32::from(granted.output);
            *c.channels.owners.edit_trusted::<M>(out) = at;
            let vc = c.channels.vcs.edit_trusted::<M>(at);
            (vc.stage, vc.vc, vc.out, vc.ready) = (Stage::Active, granted.channel as u8, out, ready);
            let word = layout.first_word + u32::from(granted.input) / 64;
            c.channels.sets.edit_trusted::<M>(word).active |= 1 << (granted.input % 64);
            if settings.takes_any && granted.channel >> PREFERENCE == 0 {
                vc.port = layout.first_port + u32::from(c.channels.places[out as usize].0);
            } else if settings.reroutes || settings.late {
                shared.packets.edit_trusted::<M>(vc.heads.head).header = vc.header;
            }
        }
        c.allocators.vcs.matches.clear();
    }

    /// The next flit of `at` requests the crossbar.
    fn request_output<M: Uses>(&mut self, classes: &ClassScheduler, layout: RouterLayout, at: u32) {
        let speedup = self.channels.settings.input_speedup;
        let (port, channel) = *cell::<M, _>(&self.channels.places, at);
        let first_input = port * speedup;
        let request = Request {
            input: first_input + u16::from(channel) % speedup,
            output: (self.channels.vcs.trusted::<M>(at).port - layout.first_port) as u16,
            channel: at,
        };
        if !self.yields(classes, layout, first_input, request) {
            self.allocators.switch.request(request);
        }
    }

    /// Whether another virtual channel of the same switch input requests the same output. If so, one request stands for
    /// both: that of the channel whose turn it is.
    fn yields(&mut self, classes: &ClassScheduler, layout: RouterLayout, first_input: u16, request: Request) -> bool {
        let settings = self.channels.settings;
        let first = layout.first_port * u32::from(settings.input_speedup);
        let turn = u16::from(*self.turns.get(first + u32::from(request.input)));
        let (places, vcs) = (&self.channels.places, &self.channels.vcs);
        let distance = |r: &Request| {
            let channel = u16::from(places[r.channel as usize].1);
            let turns = behind(channel, turn, CHANNELS);
            (urgency(settings, (vcs, classes), r.channel), turns)
        };
        let mut others = (self.allocators.switch.requests().iter_mut().rev()).take_while(|r| r.input >= first_input);
        let Some(other) = others.find(|r| (r.input, r.output) == (request.input, request.output)) else {
            return false;
        };
        if distance(&request) < distance(other) {
            *other = request;
        }
        true
    }

    fn grant_switch<M: Uses>(&mut self, classes: &ClassScheduler, layout: RouterLayout, outcome: &mut CycleOutcome) {
        if !self.allocators.switch.has_requests() {
            return;
        }
        let settings = self.channels.settings;
        let speedup = settings.input_speedup;
        let first_input = layout.first_port * u32::from(speedup);
        let mut sides = Sides {
            inputs: (&mut self.switch_inputs, first_input, layout.ports * speedup),
            outputs: (&mut self.switch_outputs, layout.first_port, layout.ports),
        };
        let vcs = &self.channels.vcs;
        let rank = |r: &Request| urgency(settings, (vcs, classes), r.channel);
        // An input port is a link into the crossbar, which classes share like the links behind it.
        let of_inputs = &self.input_classes;
        let preference = |r: &Request| match settings.classes {
            true => turn(
                of_inputs,
                layout.first_port + u32::from(r.input / speedup),
                vcs.get(r.channel).class,
            ),
            false => 0,
        };
        (self.allocators.switch).run::<M>(settings, &mut sides, rank, preference);
        outcome.granted_some = true;
        for granted in self.allocators.switch.matches.choices() {
            self.allocators.crossing.push(granted.channel);
            if settings.takes_turns() {
                let channel = cell::<M, _>(&self.channels.places, granted.channel).1;
                let turn = self.turns.edit_trusted::<M>(first_input + u32::from(granted.input));
                *turn = channel.saturating_add(speedup as u8);
            }
        }
        self.allocators.switch.matches.clear();
    }
}

/// Whether there is a credit for channel `vc` of `port`; if not, the port stalls.
#[inline(never)]
fn has_credit<M: Uses>(shared: &mut Shared<impl Payload>, (port, vc): (u32, u8), cycle: Time) -> bool {
    // A port of which no channel is exhausted has a credit for each.
    if !shared.flow.port::<M>(port).is_exhausted() || shared.flow.has_room::<M>(port, vc, 1, cycle) {
        return true;
    }
    let sender = shared.flow.port::<M>(port);
    if sender.stalled_since == Time::NEVER {
        shared.flow.edit_port::<M>(port).stalled_since = cycle.max(sender.free_at);
        shared.flow.observers.port_stalls::<M>(port);
    }
    false
}

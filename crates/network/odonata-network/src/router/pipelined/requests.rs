//! VC allocation and switch allocation: requests and grants of a subcycle.
//!
//! The front packets of all occupied input virtual channels are visited in ascending order. Routed packets request a
//! virtual channel of their output, packets with a virtual channel request the crossbar. One allocator grants each
//! kind.

use super::allocator::{Request, Sides, behind};
use super::clock::Subcycle;
use super::in_vc::{InVc, Stage};
use super::settings::{Kind, Settings};
use super::small::stalled;
use super::{Pipelined, RouterLayout};
use crate::Payload;
use crate::control::ClassScheduler;
use crate::fabric::Shared;
use crate::features::Uses;
use crate::packet::VcTerms;
use crate::route_computation::RepeatableDraws;
use crate::settings::Arbitration;
use odonata_engine::{Store, Time};

/// Bit position of the preference in the channel of a request for a virtual channel.
const PREFERENCE: u32 = 8;

/// Bit position of the class's turn in an urgency; times are shorter than that.
const CLASS: u32 = 60;

/// Most outputs that a packet may request at once: one per dimension.
const MOST_OUTPUTS: usize = 16;

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

/// The rank of input virtual channel `at`, which precedes turns.
#[inline(always)]
fn rank(settings: Settings, vcs: &Store<InVc>, at: u32) -> u64 {
    match settings.arbitration {
        Arbitration::Age => vcs.get(at).created.0,
        // Since when it has been able to make this request.
        Arbitration::FirstCome => vcs.get(at).ready.0,
        Arbitration::RoundRobin | Arbitration::LowestFirst => 0,
    }
}

/// The same for the crossbar, where the class whose turn it is at the output goes first.
#[inline(always)]
fn urgency(settings: Settings, (vcs, classes): (&Store<InVc>, &ClassScheduler), at: u32) -> u64 {
    let rank = rank(settings, vcs, at);
    if !settings.classes {
        return rank;
    }
    let vc = vcs.get(at);
    turn(classes, vc.port, vc.class) << CLASS | (rank & ((1 << CLASS) - 1))
}

/// The position of traffic class `class` in the order of turns at `port`, from 0.
fn turn(classes: &ClassScheduler, port: u32, class: u8) -> u64 {
    classes
        .order(port)
        .iter()
        .position(|&other| other == class)
        .unwrap_or(0) as u64
}

impl Pipelined {
    /// Processes a step of `router`, except for the crossbar traversals: those are the matches of the switch allocator.
    // A separate function for each kind, so that neither holds the other's values in registers.
    #[inline(never)]
    pub(super) fn step<K: Kind, M: Uses>(
        &mut self,
        shared: &mut Shared<impl Payload>,
        router: u32,
        layout: RouterLayout,
        subcycle: Subcycle,
        outcome: &mut CycleOutcome,
    ) {
        let (cycle, now) = (subcycle.cycle, subcycle.taken());
        if K::of(self.settings).classes {
            let ports = layout.first_port as usize..layout.first_port as usize + usize::from(layout.ports);
            self.lacking[ports].fill([0; 2]);
        }
        for word in 0..layout.words() {
            let mut bits = *self.occupied.get(layout.first_word + word);
            while bits != 0 {
                let at = layout.first_vc + word * 64 + bits.trailing_zeros();
                bits &= bits - 1;
                let InVc { ready, stage, .. } = *self.vcs.get(at);
                if K::of(self.settings).classes && stage != Stage::New && (ready > now || stage == Stage::Routed) {
                    self.lacks(layout, at);
                }
                if ready > now {
                    outcome.soon = true;
                } else if stage == Stage::Active {
                    self.request_switch::<K, M>(shared, layout, at, cycle, outcome);
                } else {
                    self.request_vc::<K, M>(shared, router, layout, at, cycle, outcome);
                }
            }
        }
        if self.vc_allocator.has_requests() {
            outcome.granted_some = true;
            self.grant_vcs::<K, M>(shared, layout, subcycle);
        }
        if self.switch_allocator.has_requests() {
            outcome.granted_some = true;
            self.grant_switch::<K, M>(&shared.classes, layout);
        }
    }

    /// The front packet of `at` is routed and requests a virtual channel of its output.
    #[inline]
    fn request_vc<K: Kind, M: Uses>(
        &mut self,
        shared: &mut Shared<impl Payload>,
        router: u32,
        layout: RouterLayout,
        at: u32,
        cycle: Time,
        outcome: &mut CycleOutcome,
    ) {
        let settings = K::of(self.settings);
        let vc = self.vcs.get(at);
        if settings.store_and_forward && vc.present < vc.left {
            return;
        }
        // A packet that reached the front of its buffer is new only if routing takes time.
        if settings.takes_any {
            self.request_any::<M>(shared, router, layout, at, cycle, outcome);
            return;
        }
        if (settings.late && vc.stage == Stage::New) || settings.reroutes {
            self.route_front::<M>(shared, router, at, cycle);
        }
        let vc = self.vcs.get(at);
        let (port, level, class) = (vc.port, vc.level, vc.class);
        let room = self.room_wanted(&shared.setup, u32::from(vc.left), vc.terms.bubble());
        let link = shared.flow.link::<M>(port);
        let first_vc = link.first_vc;
        let first = (first_vc - layout.first_vc) as u16;
        let request = |channel: u8| Request {
            input: (at - layout.first_vc) as u16,
            output: first + u16::from(channel),
            channel: u32::from(channel),
        };
        let mut best: Option<u8> = None;
        for channel in shared.setup.vcs.of(link.class, level, class) {
            if !self.is_free(first_vc + u32::from(channel)) {
                continue;
            }
            if room > 0 && !shared.flow.has_room::<M>(port, channel, room, cycle) {
                continue;
            }
            best = match best {
                _ if !settings.chooses_alone() => {
                    self.vc_allocator.request(request(channel));
                    Some(channel)
                }
                Some(other) => {
                    let pointer = *self.vc_inputs.get(at);
                    let distance = |channel: u8| behind(first + u16::from(channel), pointer, layout.vcs);
                    let closer = distance(channel) < distance(other);
                    Some(if closer { channel } else { other })
                }
                None => Some(channel),
            };
        }
        match best {
            None => outcome.waits = true,
            Some(channel) if settings.chooses_alone() => self.vc_allocator.request(request(channel)),
            Some(_) => {}
        }
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
        let vc = self.vcs.get(at);
        let (packet, flits, own_class) = (vc.heads.head, u32::from(vc.left), vc.class);
        let waiting = shared.packets.get(packet);
        let header = waiting.header;
        let mut behind_port = header;
        let routing = &shared.routes.routing;
        let mut draws = RepeatableDraws::new(shared.setup.params.seed, router, waiting);
        let waits_for = routing.decide(router, &mut behind_port, &mut draws);
        let first_only = self.settings.first_only;
        let mut outputs = [(0, 0); MOST_OUTPUTS];
        let mut count = 0;
        routing.free_outputs(router, &header, |port, level| {
            if first_only && count > 0 {
                return;
            }
            outputs[count] = (shared.flow.links.port(port), level);
            count += 1;
        });
        let vc = self.vcs.edit::<M>(at);
        vc.stage = Stage::Routed;
        (vc.port, vc.level) = (shared.flow.links.port(waits_for.port), waits_for.level);
        (vc.terms, vc.header) = (VcTerms::of(&waits_for), behind_port);
        let (port, level) = (vc.port, vc.level);
        let room = self.room(flits);
        let pointer = *self.vc_inputs.get(at);
        let alone = self.settings.chooses_alone();
        let mut best: Option<((u64, u16), Request)> = None;
        let mut ask = |c: &mut Self, port: u32, level: u8, preference: u64| {
            let link = shared.flow.link::<M>(port);
            let (class, first_vc) = (link.class, link.first_vc);
            for channel in shared.setup.vcs.of(class, level, own_class) {
                let output = first_vc + u32::from(channel);
                if !c.is_free(output) || (room > 0 && !shared.flow.has_room::<M>(port, channel, room, cycle)) {
                    continue;
                }
                let request = Request {
                    input: (at - layout.first_vc) as u16,
                    output: (output - layout.first_vc) as u16,
                    channel: u32::from(channel) | (preference as u32) << PREFERENCE,
                };
                let place = (preference, behind(request.output, pointer, layout.vcs));
                if !alone {
                    c.vc_allocator.request(request);
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
            Some((_, request)) if alone => self.vc_allocator.request(request),
            Some(_) => {}
        }
    }

    /// Routes the front packet of `at`; it keeps its header until it gets a virtual channel.
    fn route_front<M: Uses>(&mut self, shared: &mut Shared<impl Payload>, router: u32, at: u32, cycle: Time) {
        let vc = self.vcs.get(at);
        let (packet, flits) = (vc.heads.head, u32::from(vc.left));
        let (decision, header) = shared.decide::<M>(&*self, router, packet, flits, cycle);
        if self.counts_waiting {
            let port = shared.flow.links.port(decision.port);
            shared.flow.edit_port::<M>(port).waiting_flits += flits;
        }
        let vc = self.vcs.edit::<M>(at);
        vc.stage = Stage::Routed;
        (vc.port, vc.level) = (shared.flow.links.port(decision.port), decision.level);
        (vc.terms, vc.header) = (VcTerms::of(&decision), header);
    }

    /// The front packet of `at` has flits, but cannot request the crossbar yet or lacks a credit: its class keeps its
    /// share.
    fn lacks(&mut self, layout: RouterLayout, at: u32) {
        let vc = self.vcs.get(at);
        let (input, bit) = (self.port_of(layout, at), 1 << vc.class);
        self.lacking[vc.port as usize][0] |= bit;
        self.lacking[input as usize][1] |= bit;
    }

    /// The next flit of `at` requests the crossbar.
    #[inline]
    fn request_switch<K: Kind, M: Uses>(
        &mut self,
        shared: &mut Shared<impl Payload>,
        layout: RouterLayout,
        at: u32,
        cycle: Time,
        outcome: &mut CycleOutcome,
    ) {
        let vc = self.vcs.get(at);
        if vc.present == 0 {
            return;
        }
        let out = vc.port;
        if !shared.flow.has_room::<M>(out, vc.vc, 1, cycle) {
            outcome.waits = true;
            if K::of(self.settings).classes {
                self.lacks(layout, at);
            }
            stalled::<M>(shared, out, cycle);
            return;
        }
        self.request_output::<K>(&shared.classes, layout, at, out);
    }

    #[inline]
    fn grant_vcs<K: Kind, M: Uses>(
        &mut self,
        shared: &mut Shared<impl Payload>,
        layout: RouterLayout,
        subcycle: Subcycle,
    ) {
        let c = &mut *self;
        let settings = K::of(c.settings);
        let mut sides = Sides {
            inputs: (&mut c.vc_inputs, layout.first_vc, layout.vcs),
            outputs: (&mut c.vc_outputs, layout.first_vc, layout.vcs),
        };
        let vcs = &c.vcs;
        (c.vc_allocator).run::<M>(
            settings,
            &mut sides,
            |r| rank(settings, vcs, layout.first_vc + u32::from(r.input)),
            |r| u64::from(r.channel >> PREFERENCE),
        );
        let ready = c.timing.allocated(subcycle);
        for granted in &c.vc_allocator.matches {
            let at = layout.first_vc + u32::from(granted.input);
            *c.owners.edit::<M>(layout.first_vc + u32::from(granted.output)) = at;
            let vc = c.vcs.edit::<M>(at);
            vc.stage = Stage::Active;
            vc.vc = granted.channel as u8;
            vc.ready = ready;
            if settings.takes_any && granted.channel >> PREFERENCE == 0 {
                let (port, _) = c.places[(layout.first_vc + u32::from(granted.output)) as usize];
                vc.port = layout.first_port + u32::from(port);
            } else if settings.reroutes || settings.late {
                shared.packets.edit::<M>(vc.heads.head).header = vc.header;
            }
        }
    }
}

impl Pipelined {
    #[inline(always)]
    fn request_output<K: Kind>(&mut self, classes: &ClassScheduler, layout: RouterLayout, at: u32, out: u32) {
        let speedup = K::of(self.settings).input_speedup;
        let (port, channel) = self.places[at as usize];
        let first_input = port * speedup;
        let input = match speedup {
            1 => first_input,
            _ => first_input + u16::from(channel) % speedup,
        };
        let request = Request {
            input,
            output: (out - layout.first_port) as u16,
            channel: at,
        };
        let is_new = !self.switch_allocator.may_have_requested(input, request.output);
        if is_new || !self.yields::<K>(classes, layout, first_input, request) {
            self.switch_allocator.request(request);
        }
    }

    /// Whether another virtual channel of the same switch input requests the same output. If so, one request stands for
    /// both: that of the channel whose turn it is.
    #[inline(never)]
    fn yields<K: Kind>(
        &mut self,
        classes: &ClassScheduler,
        layout: RouterLayout,
        first_input: u16,
        request: Request,
    ) -> bool {
        let settings = K::of(self.settings);
        let first = layout.first_port * u32::from(settings.input_speedup);
        let turn = u16::from(*self.turns.get(first + u32::from(request.input)));
        let (places, vcs) = (&self.places, &self.vcs);
        let distance = |r: &Request| {
            let channel = u16::from(places[r.channel as usize].1);
            let turns = behind(channel, turn, u16::from(u8::MAX) + 1);
            (urgency(settings, (vcs, classes), r.channel), turns)
        };
        // Requests are in the order of input virtual channels, so those of a port are adjacent.
        let mut others = (self.switch_allocator.requests().iter_mut().rev()).take_while(|r| r.input >= first_input);
        let Some(other) = others.find(|r| (r.input, r.output) == (request.input, request.output)) else {
            return false;
        };
        if distance(&request) < distance(other) {
            *other = request;
        }
        true
    }

    #[inline]
    fn grant_switch<K: Kind, M: Uses>(&mut self, classes: &ClassScheduler, layout: RouterLayout) {
        let settings = K::of(self.settings);
        let speedup = settings.input_speedup;
        let first_input = layout.first_port * u32::from(speedup);
        let mut sides = Sides {
            inputs: (&mut self.switch_inputs, first_input, layout.ports * speedup),
            outputs: (&mut self.switch_outputs, layout.first_port, layout.ports),
        };
        let vcs = &self.vcs;
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
        (self.switch_allocator).run::<M>(settings, &mut sides, rank, preference);
        if settings.takes_turns() {
            for granted in &self.switch_allocator.matches {
                let channel = self.places[granted.channel as usize].1;
                let turn = self.turns.edit::<M>(first_input + u32::from(granted.input));
                *turn = channel.saturating_add(speedup as u8);
            }
        }
    }
}

//! A step of a router: who asks for what, and who gets it.
//!
//! The front packets of all occupied input virtual channels are gone through in the order of their numbers. Those that
//! have been routed ask for a virtual channel of their output, those that have one for the crossbar; both get what they get
//! from one allocator each.

use super::allocator::{Request, Sides, behind};
use super::in_vc::{InVc, Stage};
use super::moment::Moment;
use super::settings::{Kind, Settings};
use super::{Clocked, Plan};
use crate::fabric::Fabric;
use crate::packet::Wants;
use crate::params::Arbitration;
use odonata_engine::{Mode, Store, Time};

/// What a cycle has found.
#[derive(Clone, Copy, Default)]
pub(super) struct Look {
    /// Somebody was granted something.
    pub(super) moved: bool,
    /// Somebody can go on after a fixed time.
    pub(super) soon: bool,
    /// Somebody waits for a credit or for a virtual channel.
    pub(super) waits: bool,
}

/// What goes before the turns of input virtual channel `at`.
#[inline(always)]
fn rank(settings: Settings, vcs: &Store<InVc>, at: u32) -> u64 {
    match settings.arbitration {
        Arbitration::Age => vcs.get(at).created.0,
        Arbitration::RoundRobin | Arbitration::LowestFirst => 0,
    }
}

impl Fabric {
    /// Works a step of `router` off, but for the flits that pass the crossbar: those are the matches of its allocator.
    // A function of its own for each kind, so that neither has the other's values in its registers.
    #[inline(never)]
    pub(super) fn step<K: Kind, M: Mode>(&mut self, router: u32, plan: Plan, moment: Moment, look: &mut Look) {
        let (cycle, now) = (moment.cycle, moment.taken());
        for word in 0..plan.words() {
            let mut bits = *self.clocked.occupied.get(plan.first_word + word);
            while bits != 0 {
                let at = plan.first_vc + word * 64 + bits.trailing_zeros();
                bits &= bits - 1;
                let vc = self.clocked.vcs.get(at);
                if vc.ready > now {
                    look.soon = true;
                } else if vc.stage == Stage::Active {
                    self.ask_for_switch::<K, M>(plan, at, cycle, look);
                } else {
                    self.ask_for_channel::<K, M>(router, plan, at, cycle, look);
                }
            }
        }
        if self.clocked.channels.is_asked() {
            look.moved = true;
            self.grant_channels::<K, M>(plan, moment);
        }
        if self.clocked.switch.is_asked() {
            look.moved = true;
            self.clocked.grant_switch::<K, M>(plan);
        }
    }

    /// The front packet of `at` asks for a virtual channel of its output, after it has been routed.
    #[inline]
    fn ask_for_channel<K: Kind, M: Mode>(&mut self, router: u32, plan: Plan, at: u32, cycle: Time, look: &mut Look) {
        let settings = K::of(self.clocked.settings);
        let vc = self.clocked.vcs.get(at);
        if settings.all_in && vc.present < vc.left {
            return;
        }
        // A packet that came to the front of its buffer when routing took time is new; where it takes none, it never is.
        if (settings.late && vc.stage == Stage::New) || settings.again {
            self.decide_at_front::<M>(router, at, cycle);
        }
        let vc = self.clocked.vcs.get(at);
        let (port, level, flits) = (vc.port, vc.level, u32::from(vc.left));
        let spare = if vc.wants.spare() { self.spare + flits } else { 0 };
        let room = self.clocked.room(flits).max(spare);
        let link = self.flow.links.get(port);
        let first_vc = link.first_vc;
        let first = (first_vc - plan.first_vc) as u16;
        let request = |channel: u8| Request {
            input: (at - plan.first_vc) as u16,
            output: first + u16::from(channel),
            channel: u32::from(channel),
        };
        let mut best: Option<u8> = None;
        for channel in self.spans.of(link.class, level, 0) {
            if !self.clocked.is_free(first_vc + u32::from(channel)) {
                continue;
            }
            if room > 0 && !self.flow.has_room::<M>(port, channel, room, cycle) {
                continue;
            }
            best = match best {
                _ if !settings.chooses_alone() => {
                    self.clocked.channels.ask(request(channel));
                    Some(channel)
                }
                Some(other) => {
                    let pointer = *self.clocked.vc_inputs.get(at);
                    let distance = |channel: u8| behind(first + u16::from(channel), pointer, plan.vcs);
                    let closer = distance(channel) < distance(other);
                    Some(if closer { channel } else { other })
                }
                None => Some(channel),
            };
        }
        match best {
            None => look.waits = true,
            Some(channel) if settings.chooses_alone() => self.clocked.channels.ask(request(channel)),
            Some(_) => {}
        }
    }

    /// Routes the front packet of `at`; it keeps its header until it gets a virtual channel.
    fn decide_at_front<M: Mode>(&mut self, router: u32, at: u32, cycle: Time) {
        let vc = self.clocked.vcs.get(at);
        let (packet, flits) = (vc.heads.head, u32::from(vc.left));
        let (decision, header) = self.decide::<M>(router, packet, flits, cycle);
        let vc = self.clocked.vcs.edit::<M>(at);
        vc.stage = Stage::Routed;
        (vc.port, vc.level) = (self.flow.links.port(decision.port), decision.level);
        (vc.wants, vc.header) = (Wants::of(&decision), header);
    }

    /// The next flit of `at` asks for the crossbar.
    #[inline]
    fn ask_for_switch<K: Kind, M: Mode>(&mut self, plan: Plan, at: u32, cycle: Time, look: &mut Look) {
        let vc = self.clocked.vcs.get(at);
        if vc.present == 0 {
            return;
        }
        let out = vc.port;
        if !self.flow.has_room::<M>(out, vc.vc, 1, cycle) {
            look.waits = true;
            let port = self.flow.ports.get(out);
            if port.full_since == Time::NEVER {
                self.flow.ports.edit::<M>(out).full_since = cycle.max(port.free_at);
                self.links.edit::<M>(out).stalled += 1;
            }
            return;
        }
        self.clocked.ask_for_output::<K>(plan, at, out);
    }

    /// Gives virtual channels to those who have asked.
    #[inline]
    fn grant_channels<K: Kind, M: Mode>(&mut self, plan: Plan, moment: Moment) {
        let c = &mut self.clocked;
        let settings = K::of(c.settings);
        let mut sides = Sides {
            inputs: (&mut c.vc_inputs, plan.first_vc, plan.vcs),
            outputs: (&mut c.vc_outputs, plan.first_vc, plan.vcs),
        };
        let vcs = &c.vcs;
        (c.channels).run::<M>(settings, &mut sides, |r| {
            rank(settings, vcs, plan.first_vc + u32::from(r.input))
        });
        let ready = c.beat.allocated(moment);
        for granted in &c.channels.matches {
            let at = plan.first_vc + u32::from(granted.input);
            *c.owners.edit::<M>(plan.first_vc + u32::from(granted.output)) = at;
            let vc = c.vcs.edit::<M>(at);
            vc.stage = Stage::Active;
            vc.vc = granted.channel as u8;
            vc.ready = ready;
            if settings.again || settings.late {
                self.packets.edit::<M>(vc.heads.head).header = vc.header;
            }
        }
    }
}

impl Clocked {
    /// A flit of `at` asks for output `out`.
    #[inline(always)]
    fn ask_for_output<K: Kind>(&mut self, plan: Plan, at: u32, out: u32) {
        let speedup = K::of(self.settings).input_speedup;
        let (port, channel) = self.places[at as usize];
        let first_input = port * speedup;
        let input = match speedup {
            1 => first_input,
            _ => first_input + u16::from(channel) % speedup,
        };
        let request = Request {
            input,
            output: (out - plan.first_port) as u16,
            channel: at,
        };
        let is_new = !self.switch.may_have_asked(input, request.output);
        if is_new || !self.yields::<K>(plan, first_input, request) {
            self.switch.ask(request);
        }
    }

    /// Whether another virtual channel of the same switch input asks for the same output as well. Then the one whose turn it
    /// is stands for both.
    #[inline(never)]
    fn yields<K: Kind>(&mut self, plan: Plan, first_input: u16, request: Request) -> bool {
        let settings = K::of(self.settings);
        let first = plan.first_port * u32::from(settings.input_speedup);
        let turn = u16::from(*self.turns.get(first + u32::from(request.input)));
        let (places, vcs) = (&self.places, &self.vcs);
        let distance = |r: &Request| {
            let channel = u16::from(places[r.channel as usize].1);
            let turns = behind(channel, turn, u16::from(u8::MAX) + 1);
            (rank(settings, vcs, r.channel), turns)
        };
        // Requests come in the order of their input virtual channels, so that those of a port are side by side.
        let mut others = (self.switch.asked().iter_mut().rev()).take_while(|r| r.input >= first_input);
        let Some(other) = others.find(|r| (r.input, r.output) == (request.input, request.output)) else {
            return false;
        };
        if distance(&request) < distance(other) {
            *other = request;
        }
        true
    }

    /// Gives passages through the crossbar to those who have asked.
    #[inline]
    fn grant_switch<K: Kind, M: Mode>(&mut self, plan: Plan) {
        let settings = K::of(self.settings);
        let speedup = settings.input_speedup;
        let first_input = plan.first_port * u32::from(speedup);
        let mut sides = Sides {
            inputs: (&mut self.switch_inputs, first_input, plan.ports * speedup),
            outputs: (&mut self.switch_outputs, plan.first_port, plan.ports),
        };
        let vcs = &self.vcs;
        (self.switch).run::<M>(settings, &mut sides, |r| rank(settings, vcs, r.channel));
        if settings.takes_turns() {
            for granted in &self.switch.matches {
                let channel = self.places[granted.channel as usize].1;
                let turn = self.turns.edit::<M>(first_input + u32::from(granted.input));
                *turn = channel.saturating_add(speedup as u8);
            }
        }
    }
}

//! A step of both allocations in the common case: the common settings, in routers whose ports and virtual channels fit
//! a few words of bits.
//!
//! It grants the same as the [`allocator`](super::allocator): one round with inputs first needs no list of requests.
//! Input virtual channels are visited in ascending order, so those of an input port are adjacent, and the port's choice
//! is known when the next port begins. The first request for an output holds it tentatively; the output's pointer
//! decides conflicts at once. The remaining ones are the matches, in the order in which outputs were first requested.

use super::allocator::{Request, behind};
use super::clock::Subcycle;
use super::express::Passing;
use super::in_vc::Stage;
use super::requests::CycleOutcome;
use super::{Pipelined, RouterLayout};
use crate::Payload;
use crate::fabric::Shared;
use crate::features::Uses;
use crate::flow::Link;
use crate::observe::Observer;
use crate::packet::Route;
use odonata_engine::saved::{Damaged, Loader, Saver};
use odonata_engine::{Digest, Journalled, NIL, Saved, Savepoint, Time};

/// Most virtual channels and ports of a small router.
const CHANNELS: usize = 256;
pub(super) const PORTS: usize = 64;

/// The tentative holders during a step. Temporary: entries not requested in this step are invalid.
#[derive(Debug)]
pub(super) struct Candidates {
    /// By output virtual channel, an input virtual channel; both numbered in the router.
    channels: [u8; CHANNELS],
    /// By output port, an input port and its virtual channel.
    switch: [(u8, u32); PORTS],
    /// The output ports in the order of their first request.
    order: [u8; PORTS],
    /// The input virtual channels whose flits pass in this cycle without being queued, as bits; see
    /// [`express`](super::express).
    pub(super) passing: [u64; CHANNELS / 64],
    /// By input port, the flit.
    pub(super) flits: [Passing; PORTS],
}

impl Candidates {
    pub(super) const NONE: Candidates = Candidates {
        channels: [0; CHANNELS],
        switch: [(0, 0); PORTS],
        order: [0; PORTS],
        passing: [0; CHANNELS / 64],
        flits: [Passing::NONE; PORTS],
    };
}

/// No state.
impl Journalled for Candidates {
    fn undo(&mut self, _: Savepoint) {}
    fn fossil_collect(&mut self, _: Savepoint) {}
    fn commit(&mut self) {}
    fn logged(&self) -> usize {
        0
    }
    fn memory(&self) -> usize {
        0
    }
    fn fingerprint(&self, _: &mut Digest) {}
}

impl Saved for Candidates {
    fn save(&self, _: &mut Saver<'_>) {}
    fn load(&mut self, _: &mut Loader<'_>) -> Result<(), Damaged> {
        Ok(())
    }
}

/// The requested outputs of a step, as bits.
struct Asked {
    channels: [u64; CHANNELS / 64],
    ports: u64,
    /// Number of requested ports.
    count: usize,
}

/// The choice of an input port: virtual channel and output.
#[derive(Clone, Copy)]
struct Choice {
    port: u16,
    output: u16,
    at: u32,
}

impl Choice {
    const NONE: Choice = Choice {
        port: u16::MAX,
        output: 0,
        at: NIL,
    };
}

impl RouterLayout {
    pub(super) fn is_small(self) -> bool {
        usize::from(self.vcs) <= CHANNELS && usize::from(self.ports) <= PORTS
    }
}

/// The successor of `number`, modulo `size`.
#[inline(always)]
pub(super) fn next(number: u16, size: u16) -> u16 {
    if number + 1 == size { 0 } else { number + 1 }
}

impl Pipelined {
    /// Processes a step of `router` like [`step`](Self::step) with the common settings.
    #[inline(never)]
    pub(super) fn step_small<M: Uses>(
        &mut self,
        shared: &mut Shared<impl Payload>,
        layout: RouterLayout,
        subcycle: Subcycle,
        outcome: &mut CycleOutcome,
    ) {
        let (cycle, now) = (subcycle.cycle, subcycle.taken());
        let mut asked = Asked {
            channels: [0; CHANNELS / 64],
            ports: 0,
            count: 0,
        };
        let mut choice = Choice::NONE;
        for word in 0..layout.words() {
            let passing = match subcycle.step {
                2 => self.candidates.passing[word as usize % (CHANNELS / 64)],
                _ => 0,
            };
            let mut bits = *self.occupied.get(layout.first_word + word) | passing;
            while bits != 0 {
                let local = word * 64 + bits.trailing_zeros();
                let bit = bits & bits.wrapping_neg();
                bits &= bits - 1;
                let at = layout.first_vc + local;
                if passing & bit != 0 {
                    let (port, _) = self.places[at as usize];
                    let output = self.candidates.flits[usize::from(port) % PORTS].output;
                    self.propose(layout, choice, &mut asked);
                    choice = Choice { port, output, at };
                    continue;
                }
                let vc = self.vcs.get(at);
                if vc.ready > now {
                    outcome.soon = true;
                } else if vc.stage != Stage::Active {
                    self.ask_for_vc::<M>(shared, layout, local, cycle, &mut asked, outcome);
                } else if vc.present > 0 {
                    let (out, channel) = (vc.port, vc.vc);
                    if shared.flow.has_room::<M>(out, channel, 1, cycle) {
                        let output = (out - layout.first_port) as u16;
                        self.choose::<M>(layout, &mut choice, (at, output), &mut asked);
                    } else {
                        outcome.waits = true;
                        stalled::<M>(shared, out, cycle);
                    }
                }
            }
        }
        self.propose(layout, choice, &mut asked);
        outcome.granted_some |= asked.count > 0;
        for word in 0..layout.words() {
            let granted = asked.channels[word as usize % (CHANNELS / 64)];
            if granted != 0 {
                outcome.granted_some = true;
                self.grant_channels::<M>(shared, layout, (word, granted), subcycle);
            }
        }
        self.grant_passages::<M>(layout, asked.count);
    }

    /// The front packet of input virtual channel `local` requests a virtual channel of its output.
    #[inline(always)]
    fn ask_for_vc<M: Uses>(
        &mut self,
        shared: &mut Shared<impl Payload>,
        layout: RouterLayout,
        local: u32,
        cycle: Time,
        asked: &mut Asked,
        outcome: &mut CycleOutcome,
    ) {
        let at = layout.first_vc + local;
        let vc = self.vcs.get(at);
        let route = Route {
            port: vc.port,
            level: vc.level,
            terms: vc.terms,
        };
        let flits = u32::from(vc.left);
        let link = shared.flow.link::<M>(route.port);
        let best = self.best_channel::<M>(shared, layout, (at, flits), (route, &link), cycle);
        if best == NIL {
            outcome.waits = true;
            return;
        }
        let (word, bit) = (best as usize / 64 % (CHANNELS / 64), 1 << (best % 64));
        let candidate = &mut self.candidates.channels[best as usize % CHANNELS];
        if asked.channels[word] & bit != 0 {
            let pointer = *self.vc_outputs.get(layout.first_vc + best);
            let distance = |input: u8| behind(u16::from(input), pointer, layout.vcs);
            if distance(local as u8) > distance(*candidate) {
                return;
            }
        }
        asked.channels[word] |= bit;
        *candidate = local as u8;
    }

    /// The virtual channel, numbered over the outputs of the router, that a packet of `flits` in input virtual channel
    /// `at` requests on route `route` over `link`; [`NIL`] if there is none.
    #[inline(always)]
    pub(super) fn best_channel<M: Uses>(
        &self,
        shared: &mut Shared<impl Payload>,
        layout: RouterLayout,
        (at, flits): (u32, u32),
        (route, link): (Route, &Link),
        cycle: Time,
    ) -> u32 {
        let port = route.port;
        let room = self.room_wanted(&shared.setup, flits, route.terms.bubble());
        let channels = shared.setup.vcs.of(link.class, route.level, 0);
        let mut best = NIL;
        let (mut out, end) = (
            link.first_vc + u32::from(channels.start),
            link.first_vc + u32::from(channels.end),
        );
        while out < end {
            if self.is_free(out) && (room == 0 || shared.flow.has_room_at::<M>((port, link), out, room, cycle)) {
                let output = out - layout.first_vc;
                best = match best {
                    NIL => output,
                    other => {
                        let pointer = *self.vc_inputs.get(at);
                        let distance = |output: u32| behind(output as u16, pointer, layout.vcs);
                        if distance(output) < distance(other) {
                            output
                        } else {
                            other
                        }
                    }
                };
            }
            out += 1;
        }
        best
    }

    /// A flit of input virtual channel `at` requests the crossbar to `output`.
    #[inline(always)]
    fn choose<M: Uses>(
        &mut self,
        layout: RouterLayout,
        choice: &mut Choice,
        (at, output): (u32, u16),
        asked: &mut Asked,
    ) {
        let (port, channel) = self.places[at as usize];
        if choice.port != port {
            self.propose(layout, *choice, asked);
            *choice = Choice { port, output, at };
        } else if self.goes_first(layout, (at, output, channel), *choice) {
            (choice.output, choice.at) = (output, at);
        }
    }

    /// Whether virtual channel `at`, number `channel` of its port, takes precedence over `other`.
    #[inline(never)]
    fn goes_first(&self, layout: RouterLayout, (at, output, channel): (u32, u16, u8), other: Choice) -> bool {
        let input = layout.first_port + u32::from(other.port);
        debug_assert!(at > other.at, "virtual channels come in order");
        if output == other.output {
            let turn = u16::from(*self.turns.get(input));
            let distance = |channel: u8| behind(u16::from(channel), turn, u16::from(u8::MAX) + 1);
            return distance(channel) < distance(self.places[other.at as usize].1);
        }
        let pointer = *self.switch_inputs.get(input);
        behind(output, pointer, layout.ports) < behind(other.output, pointer, layout.ports)
    }

    /// Records the choice of an input port.
    #[inline(always)]
    fn propose(&mut self, layout: RouterLayout, choice: Choice, asked: &mut Asked) {
        if choice.at == NIL {
            return;
        }
        let (bit, place) = (1 << (choice.output % 64), usize::from(choice.output) % PORTS);
        let candidate = &mut self.candidates.switch[place];
        if asked.ports & bit == 0 {
            asked.ports |= bit;
            self.candidates.order[asked.count % PORTS] = choice.output as u8;
            asked.count += 1;
        } else {
            let pointer = *self.switch_outputs.get(layout.first_port + u32::from(choice.output));
            let distance = |input: u16| behind(input, pointer, layout.ports);
            if distance(choice.port) > distance(u16::from(candidate.0)) {
                return;
            }
        }
        *candidate = (choice.port as u8, choice.at);
    }

    /// Grants the output virtual channels in a word of bits to their candidates.
    #[inline(always)]
    fn grant_channels<M: Uses>(
        &mut self,
        shared: &Shared<impl Payload>,
        layout: RouterLayout,
        (word, mut bits): (u32, u64),
        subcycle: Subcycle,
    ) {
        let ready = self.timing.allocated(subcycle);
        let several = shared.setup.vcs.are_several();
        while bits != 0 {
            let output = word * 64 + bits.trailing_zeros();
            bits &= bits - 1;
            let input = self.candidates.channels[output as usize % CHANNELS];
            let (at, out) = (layout.first_vc + u32::from(input), layout.first_vc + output);
            let channel = self.places[out as usize].1;
            *self.owners.edit::<M>(out) = at;
            let vc = self.vcs.edit::<M>(at);
            (vc.stage, vc.vc, vc.ready) = (Stage::Active, channel, ready);
            // With one channel per level an input has no choice.
            if several {
                *self.vc_inputs.edit::<M>(at) = next(output as u16, layout.vcs);
            }
            *self.vc_outputs.edit::<M>(out) = next(u16::from(input), layout.vcs);
        }
    }

    /// Grants crossbar traversals to the candidates of the first `count` outputs in order.
    #[inline(always)]
    fn grant_passages<M: Uses>(&mut self, layout: RouterLayout, count: usize) {
        let matches = &mut self.switch_allocator.matches;
        matches.clear();
        for &output in self.candidates.order.iter().take(count) {
            let (input, channel) = self.candidates.switch[usize::from(output) % PORTS];
            let (input, output) = (u16::from(input), u16::from(output));
            matches.push(Request { input, output, channel });
        }
        for at in 0..count {
            let Request { input, output, channel } = self.switch_allocator.matches[at];
            let channel = self.places[channel as usize].1;
            self.grant_passage::<M>(layout, (input, channel), output);
        }
    }

    /// Virtual channel `channel` of port `input` has been granted a traversal to port `output`: the arbiters advance.
    #[inline(always)]
    pub(super) fn grant_passage<M: Uses>(&mut self, layout: RouterLayout, (input, channel): (u16, u8), output: u16) {
        let (at_input, at_output) = (
            layout.first_port + u32::from(input),
            layout.first_port + u32::from(output),
        );
        *self.switch_inputs.edit::<M>(at_input) = next(output, layout.ports);
        *self.switch_outputs.edit::<M>(at_output) = next(input, layout.ports);
        *self.turns.edit::<M>(at_input) = channel.saturating_add(1);
    }
}

/// A flit lacks room behind `out`.
#[inline(never)]
pub(super) fn stalled<M: Uses>(shared: &mut Shared<impl Payload>, out: u32, cycle: Time) {
    let port = shared.flow.port::<M>(out);
    if port.stalled_since == Time::NEVER {
        shared.flow.edit_port::<M>(out).stalled_since = cycle.max(port.free_at);
        shared.flow.observers.port_stalls::<M>(out);
    }
}

//! Separable allocators: who of several inputs gets which of several outputs.
//!
//! W. Dally, B. Towles, "Principles and practices of interconnection networks", 2004, section 19.3. Both sides have one
//! arbiter each, and a side chooses without knowing what the others of its side do, so that a match may be missed.
//! An arbiter's pointer moves only when its choice has become a match.

use super::settings::Settings;
use crate::params::Allocator;
use odonata_engine::{Mode, Store};

/// Somebody who asks for an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Request {
    /// Input and output, numbered over the router.
    pub(super) input: u16,
    pub(super) output: u16,
    /// The virtual channel for which it asks or that is asked for: comes back with the match.
    pub(super) channel: u32,
    /// The lower goes first, whatever the pointers say.
    pub(super) rank: u64,
}

/// Pointers of one side of the allocators of all routers.
pub(super) type Pointers = Store<u16>;

/// The scratch of an allocation; without requests between two.
#[derive(Debug, Default)]
pub(super) struct Allocation {
    requests: Vec<Request>,
    /// The result of the last one.
    pub(super) matches: Vec<Request>,
    /// Bit `i mod 64` for each input, and for each output, that takes part.
    inputs: u64,
    outputs: u64,
    /// Not 0 if two requests may have an input or an output in common.
    shared: u64,
    chosen: Vec<u32>,
    by_input: Vec<u32>,
    by_output: Vec<u32>,
}

/// No request.
const NONE: u32 = u32::MAX;
/// Has been matched.
const TAKEN: u32 = u32::MAX - 1;

/// The pointers of one allocator's two sides, and the numbers of its first input and output in them.
pub(super) struct Sides<'a> {
    pub(super) inputs: (&'a mut Pointers, u32, u16),
    pub(super) outputs: (&'a mut Pointers, u32, u16),
}

impl Sides<'_> {
    /// How far behind the output's pointer an input stands, and the other way around.
    #[inline]
    fn of_input(&self, request: &Request) -> u16 {
        let (pointers, first, _) = &self.outputs;
        behind(
            request.input,
            *pointers.get(first + u32::from(request.output)),
            self.inputs.2,
        )
    }

    #[inline]
    fn of_output(&self, request: &Request) -> u16 {
        let (pointers, first, _) = &self.inputs;
        behind(
            request.output,
            *pointers.get(first + u32::from(request.input)),
            self.outputs.2,
        )
    }

    /// A match: both arbiters go on behind it.
    #[inline]
    fn go_on<M: Mode>(&mut self, request: &Request) {
        let next = |number: u16, size: u16| if number + 1 == size { 0 } else { number + 1 };
        let (inputs, outputs) = (self.inputs.2, self.outputs.2);
        let (pointers, first, _) = &mut self.inputs;
        *pointers.edit::<M>(*first + u32::from(request.input)) = next(request.output, outputs);
        let (pointers, first, _) = &mut self.outputs;
        *pointers.edit::<M>(*first + u32::from(request.output)) = next(request.input, inputs);
    }
}

/// Steps from `pointer` up to `number`, of `size`, around.
#[inline]
pub(super) fn behind(number: u16, pointer: u16, size: u16) -> u16 {
    if number >= pointer {
        number - pointer
    } else {
        number + size - pointer
    }
}

impl Allocation {
    /// Adds a request.
    #[inline]
    pub(super) fn ask(&mut self, request: Request) {
        let (input, output) = (1 << (request.input % 64), 1 << (request.output % 64));
        self.shared |= self.inputs & input | self.outputs & output;
        self.inputs |= input;
        self.outputs |= output;
        self.requests.push(request);
    }

    /// Whether there are requests.
    #[inline]
    pub(super) fn is_asked(&self) -> bool {
        !self.requests.is_empty()
    }

    /// The requests. What is changed may not be their inputs and outputs.
    #[inline]
    pub(super) fn asked(&mut self) -> &mut [Request] {
        &mut self.requests
    }

    /// Whether there may be a request of this input for this output; if not, there is none.
    #[inline]
    pub(super) fn may_have_asked(&self, input: u16, output: u16) -> bool {
        (self.inputs >> (input % 64)) & (self.outputs >> (output % 64)) & 1 != 0
    }

    /// Matches the requests, each input and each output at most once; the result is in `matches`.
    #[inline(always)]
    pub(super) fn run<M: Mode>(&mut self, settings: Settings, sides: &mut Sides<'_>) {
        self.matches.clear();
        if self.shared == 0 {
            // Everybody gets what it asks for, in whatever order sides choose.
            std::mem::swap(&mut self.requests, &mut self.matches);
            if settings.takes_turns() {
                for request in &self.matches {
                    sides.go_on::<M>(request);
                }
            }
        } else {
            self.compete::<M>(settings, sides);
        }
        (self.inputs, self.outputs, self.shared) = (0, 0, 0);
    }

    /// Matches requests of which some have an input or an output in common.
    fn compete<M: Mode>(&mut self, settings: Settings, sides: &mut Sides<'_>) {
        let (inputs, outputs) = (usize::from(sides.inputs.2), usize::from(sides.outputs.2));
        if self.by_input.len() < inputs {
            self.by_input.resize(inputs, NONE);
        }
        if self.by_output.len() < outputs {
            self.by_output.resize(outputs, NONE);
        }
        for _ in 0..settings.iterations {
            let before = self.matches.len();
            match settings.allocator {
                Allocator::InputFirst => self.input_first::<M>(settings, sides),
                Allocator::OutputFirst => self.output_first::<M>(settings, sides),
            }
            if self.matches.len() == before {
                break;
            }
        }
        for request in self.requests.drain(..) {
            self.by_input[usize::from(request.input)] = NONE;
            self.by_output[usize::from(request.output)] = NONE;
        }
    }

    fn input_first<M: Mode>(&mut self, settings: Settings, sides: &mut Sides<'_>) {
        self.choose(|r| (r.input, r.output), true, |r| sides.of_output(r));
        self.agree(|r| (r.output, r.input), false, |r| sides.of_input(r));
        self.take::<M>(settings, sides);
    }

    fn output_first<M: Mode>(&mut self, settings: Settings, sides: &mut Sides<'_>) {
        self.choose(|r| (r.output, r.input), false, |r| sides.of_input(r));
        self.agree(|r| (r.input, r.output), true, |r| sides.of_output(r));
        self.take::<M>(settings, sides);
    }

    fn table(&mut self, inputs: bool) -> &mut Vec<u32> {
        match inputs {
            true => &mut self.by_input,
            false => &mut self.by_output,
        }
    }

    /// Every one of a side that is not matched yet chooses among the requests whose other side is not.
    fn choose(&mut self, ends: impl Fn(&Request) -> (u16, u16), inputs: bool, distance: impl Fn(&Request) -> u16) {
        self.chosen.clear();
        for at in 0..self.requests.len() {
            let request = self.requests[at];
            let (own, other) = ends(&request);
            if self.table(!inputs)[usize::from(other)] == TAKEN {
                continue;
            }
            let best = self.table(inputs)[usize::from(own)];
            if best == TAKEN {
                continue;
            }
            if best == NONE {
                self.chosen.push(u32::from(own));
            } else {
                let held = &self.requests[best as usize];
                if (held.rank, distance(held)) <= (request.rank, distance(&request)) {
                    continue;
                }
            }
            self.table(inputs)[usize::from(own)] = at as u32;
        }
        for place in &mut self.chosen {
            let table = match inputs {
                true => &mut self.by_input,
                false => &mut self.by_output,
            };
            *place = std::mem::replace(&mut table[*place as usize], NONE);
        }
    }

    /// The other side chooses among those who chose it; its table holds the result.
    fn agree(&mut self, ends: impl Fn(&Request) -> (u16, u16), inputs: bool, distance: impl Fn(&Request) -> u16) {
        let mut list = std::mem::take(&mut self.chosen);
        list.retain(|&at| {
            let request = self.requests[at as usize];
            let own = usize::from(ends(&request).0);
            let best = self.table(inputs)[own];
            if best != NONE {
                let held = &self.requests[best as usize];
                if (held.rank, distance(held)) <= (request.rank, distance(&request)) {
                    return false;
                }
            }
            self.table(inputs)[own] = at;
            best == NONE
        });
        // Each place once: the winner may have come later than the place's first.
        for at in &mut list {
            let own = usize::from(ends(&self.requests[*at as usize]).0);
            *at = std::mem::replace(&mut self.table(inputs)[own], NONE);
        }
        self.chosen = list;
    }

    fn take<M: Mode>(&mut self, settings: Settings, sides: &mut Sides<'_>) {
        for place in 0..self.chosen.len() {
            let request = self.requests[self.chosen[place] as usize];
            self.by_input[usize::from(request.input)] = TAKEN;
            self.by_output[usize::from(request.output)] = TAKEN;
            if settings.takes_turns() {
                sides.go_on::<M>(&request);
            }
            self.matches.push(request);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::Arbitration;
    use odonata_engine::Plain;

    /// Matches of two rounds of requests (input, output) on an allocator with these sizes.
    fn rounds(how: (Allocator, u32, Arbitration), n: u16, rounds: &[&[(u16, u16)]]) -> Vec<Vec<(u16, u16)>> {
        let (mut a, mut b) = (Store::filled(usize::from(n), 0), Store::filled(usize::from(n), 0));
        let mut allocation = Allocation::default();
        let settings = Settings {
            allocator: how.0,
            iterations: how.1,
            arbitration: how.2,
            ..Settings::COMMON
        };
        let one = |requests: &&[(u16, u16)]| {
            for &(input, output) in *requests {
                allocation.ask(Request {
                    input,
                    output,
                    channel: 0,
                    rank: 0,
                });
            }
            let mut sides = Sides {
                inputs: (&mut a, 0, n),
                outputs: (&mut b, 0, n),
            };
            allocation.run::<Plain>(settings, &mut sides);
            let mut found: Vec<_> = allocation.matches.iter().map(|m| (m.input, m.output)).collect();
            found.sort_unstable();
            found
        };
        rounds.iter().map(one).collect()
    }

    const BOTH: [Allocator; 2] = [Allocator::InputFirst, Allocator::OutputFirst];

    #[test]
    fn requests_that_do_not_compete_are_all_granted() {
        for allocator in BOTH {
            let how = (allocator, 1, Arbitration::RoundRobin);
            let requests: &[(u16, u16)] = &[(0, 3), (1, 2), (2, 1), (3, 0)];
            assert_eq!(rounds(how, 4, &[requests]), [requests.to_vec()]);
        }
    }

    #[test]
    fn those_who_compete_take_turns() {
        for allocator in BOTH {
            let how = (allocator, 1, Arbitration::RoundRobin);
            let all: &[(u16, u16)] = &[(0, 1), (1, 1), (2, 1)];
            let found = rounds(how, 3, &[all, all, all, all]);
            assert_eq!(found, [[(0, 1)], [(1, 1)], [(2, 1)], [(0, 1)]].map(Vec::from));
            let how = (allocator, 1, Arbitration::LowestFirst);
            assert_eq!(rounds(how, 3, &[all, all]), [[(0, 1)], [(0, 1)]].map(Vec::from));
        }
    }

    /// Inputs 0 and 1 both choose output 0 first; a second round finds output 1 for the loser.
    #[test]
    fn a_further_round_matches_who_lost_and_has_an_alternative() {
        let all: &[(u16, u16)] = &[(0, 0), (0, 1), (1, 0), (1, 1)];
        for allocator in BOTH {
            let one = rounds((allocator, 1, Arbitration::RoundRobin), 2, &[all]);
            assert_eq!(one, [[(0, 0)].to_vec()]);
            let two = rounds((allocator, 2, Arbitration::RoundRobin), 2, &[all]);
            assert_eq!(two, [[(0, 0), (1, 1)].to_vec()]);
        }
    }

    /// After the first conflict the pointers are apart, and every cycle is a full match (desynchronisation, McKeown 1999).
    #[test]
    fn round_robin_pointers_come_apart_under_full_load() {
        let all: &[(u16, u16)] = &[(0, 0), (0, 1), (1, 0), (1, 1)];
        for allocator in BOTH {
            let found = rounds((allocator, 1, Arbitration::RoundRobin), 2, &[all; 6]);
            assert!(found[1..].iter().all(|matches| matches.len() == 2), "{found:?}");
        }
    }

    #[test]
    fn no_input_and_no_output_is_matched_twice() {
        let mut state = 7u64;
        for allocator in BOTH {
            for iterations in 1..=3 {
                let mut draw = |n: u64| {
                    state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    ((state >> 33) % n) as u16
                };
                for _ in 0..200 {
                    let requests: Vec<_> = (0..draw(12)).map(|_| (draw(6), draw(6))).collect();
                    let found = rounds((allocator, iterations, Arbitration::RoundRobin), 6, &[&requests]).remove(0);
                    assert!(found.iter().all(|m| requests.contains(m)));
                    assert!(found.windows(2).all(|pair| pair[0].0 < pair[1].0));
                    let mut outputs: Vec<_> = found.iter().map(|m| m.1).collect();
                    outputs.sort_unstable();
                    assert!(outputs.windows(2).all(|pair| pair[0] < pair[1]));
                    assert!(requests.is_empty() || !found.is_empty());
                }
            }
        }
    }
}

//! Separable allocators: match several inputs with several outputs.
//!
//! W. Dally, B. Towles, "Principles and practices of interconnection networks", 2004, section 19.3. Each input and each
//! output has an arbiter. The arbiters of a side choose independently, so an allocation may miss matches. An arbiter's
//! pointer moves only if its choice becomes a match.
//!
//! Usually no two requests conflict. Two words of bits detect that, and then all requests are granted.

use super::settings::Settings;
use crate::settings::Allocator;
use odonata_engine::saved::{Damaged, Loader, Saver};
use odonata_engine::{Digest, Journalled, Mode, Plain, Saved, Savepoint, Speculative, Store};

/// A request for an output. The rank overrides the pointers among several inputs, the lowest first; the preference does
/// so among the outputs of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Request {
    /// Input and output, numbered in the router.
    pub(super) input: u16,
    pub(super) output: u16,
    /// The requesting or requested virtual channel; returned with the match.
    pub(super) channel: u32,
}

/// Pointers of one side of the allocators of all routers.
pub(super) type Pointers = Store<u16>;
/// Bytes per pointer.
pub(super) const POINTER: usize = size_of::<u16>();

/// The temporary state of an allocation; no requests between two cycles.
#[derive(Debug, Default)]
pub(super) struct Allocation {
    requests: Vec<Request>,
    /// The result of the last allocation.
    pub(super) matches: Vec<Request>,
    /// Bit `i mod 64` for each participating input, and for each output.
    inputs: u64,
    outputs: u64,
    /// Not 0 if two requests may share an input, or an output.
    shared_inputs: u64,
    shared_outputs: u64,
    chosen: Vec<Request>,
    /// The position of each input or output in a list; [`NONE`] between two uses.
    places: Vec<u32>,
    /// The inputs and outputs matched in earlier rounds.
    taken_inputs: Vec<bool>,
    taken_outputs: Vec<bool>,
}

/// No state between cycles. But a cycle that panics under the optimistic scheduler leaves its requests: undo must
/// remove them, or the next cycle, of any router, would grant them.
impl Journalled for Allocation {
    fn undo(&mut self, _: Savepoint) {
        self.matches.clear();
        if self.inputs != 0 {
            *self = Allocation::default();
        }
    }
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

impl Saved for Allocation {
    fn save(&self, _: &mut Saver<'_>) {}
    fn load(&mut self, _: &mut Loader<'_>) -> Result<(), Damaged> {
        Ok(())
    }
}

/// Not in the list.
const NONE: u32 = u32::MAX;

/// The pointers of one allocator's two sides, and the numbers of its first input and output in them.
pub(super) struct Sides<'a> {
    pub(super) inputs: (&'a mut Pointers, u32, u16),
    pub(super) outputs: (&'a mut Pointers, u32, u16),
}

impl Sides<'_> {
    /// The distance of an input behind the output's pointer, and vice versa.
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

    /// A match: both arbiters advance past it.
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

/// Steps from `pointer` up to `number`, modulo `size`.
#[inline]
pub(super) fn behind(number: u16, pointer: u16, size: u16) -> u16 {
    if number >= pointer {
        number - pointer
    } else {
        number + size - pointer
    }
}

impl Allocation {
    #[inline(always)]
    pub(super) fn request(&mut self, request: Request) {
        let (input, output) = (1 << (request.input % 64), 1 << (request.output % 64));
        self.shared_inputs |= self.inputs & input;
        self.shared_outputs |= self.outputs & output;
        self.inputs |= input;
        self.outputs |= output;
        self.requests.push(request);
    }

    #[inline]
    pub(super) fn has_requests(&self) -> bool {
        !self.requests.is_empty()
    }

    /// The requests. Callers must not change their inputs and outputs.
    #[inline]
    pub(super) fn requests(&mut self) -> &mut [Request] {
        &mut self.requests
    }

    /// Whether there may be a request of this input for this output; if false, there is none.
    #[inline]
    pub(super) fn may_have_requested(&self, input: u16, output: u16) -> bool {
        (self.inputs >> (input % 64)) & (self.outputs >> (output % 64)) & 1 != 0
    }

    /// Matches the requests, each input and each output at most once; the result is in `matches`. All requests of an
    /// input have the same rank.
    #[inline(always)]
    pub(super) fn run<M: Mode>(
        &mut self,
        settings: Settings,
        sides: &mut Sides<'_>,
        rank: impl Fn(&Request) -> u64,
        preference: impl Fn(&Request) -> u64,
    ) {
        self.matches.clear();
        if self.shared_inputs | self.shared_outputs == 0 {
            // All requests are granted, whichever side chooses first.
            std::mem::swap(&mut self.requests, &mut self.matches);
            if settings.takes_turns() {
                for request in &self.matches {
                    sides.go_on::<M>(request);
                }
            }
        } else if M::JOURNAL {
            self.compete::<Speculative>(settings, sides, &rank, &preference);
        } else {
            self.compete::<Plain>(settings, sides, &rank, &preference);
        }
        (self.inputs, self.outputs) = (0, 0);
        (self.shared_inputs, self.shared_outputs) = (0, 0);
    }

    /// Matches requests of which some share an input or an output.
    // Compiled once per mode: every context of a handler has a rank and a preference of its own.
    #[inline(never)]
    fn compete<M: Mode>(
        &mut self,
        settings: Settings,
        sides: &mut Sides<'_>,
        rank: &dyn Fn(&Request) -> u64,
        preference: &dyn Fn(&Request) -> u64,
    ) {
        let most = usize::from(sides.inputs.2.max(sides.outputs.2));
        if self.places.len() < most {
            self.places.resize(most, NONE);
            self.taken_inputs.resize(most, false);
            self.taken_outputs.resize(most, false);
        }
        for round in 1..=settings.iterations {
            let before = self.matches.len();
            let (chosen, matches, places) = (&mut self.chosen, &mut self.matches, &mut self.places);
            let by_input = |r: &Request| ((0, rank(r)), sides.of_input(r));
            let by_output = |r: &Request| ((preference(r), rank(r)), sides.of_output(r));
            chosen.clear();
            match settings.allocator {
                // Inputs with one request each have no choice, like those of virtual channels.
                Allocator::InputFirst if self.shared_inputs == 0 => {
                    elect(&self.requests, matches, places, |r| r.output, by_input);
                }
                Allocator::InputFirst => {
                    elect(&self.requests, chosen, places, |r| r.input, by_output);
                    elect(chosen, matches, places, |r| r.output, by_input);
                }
                Allocator::OutputFirst => {
                    elect(&self.requests, chosen, places, |r| r.output, by_input);
                    elect(chosen, matches, places, |r| r.input, by_output);
                }
            }
            let agreed = &self.matches[before..];
            if settings.takes_turns() {
                agreed.iter().for_each(|request| sides.go_on::<M>(request));
            }
            if round == settings.iterations {
                break;
            }
            // Matched inputs and outputs no longer take part.
            for request in agreed {
                self.taken_inputs[usize::from(request.input)] = true;
                self.taken_outputs[usize::from(request.output)] = true;
            }
            let (inputs, outputs) = (&self.taken_inputs, &self.taken_outputs);
            let is_left = |r: &Request| !inputs[usize::from(r.input)] && !outputs[usize::from(r.output)];
            self.requests.retain(is_left);
            if self.requests.is_empty() {
                break;
            }
        }
        self.requests.clear();
        if settings.iterations > 1 {
            for request in &self.matches {
                self.taken_inputs[usize::from(request.input)] = false;
                self.taken_outputs[usize::from(request.output)] = false;
            }
        }
    }
}

/// Each input or output of a side chooses the least of its requests, by rank and by distance `behind` the pointer. The
/// choices are appended in the order in which the inputs or outputs first occur.
#[inline]
fn elect(
    requests: &[Request],
    chosen: &mut Vec<Request>,
    places: &mut [u32],
    end: impl Fn(&Request) -> u16,
    behind: impl Fn(&Request) -> ((u64, u64), u16),
) {
    let before = chosen.len();
    for request in requests {
        let place = &mut places[usize::from(end(request))];
        if *place == NONE {
            *place = chosen.len() as u32;
            chosen.push(*request);
            continue;
        }
        let held = &mut chosen[*place as usize];
        if behind(held) > behind(request) {
            *held = *request;
        }
    }
    for request in &chosen[before..] {
        places[usize::from(end(request))] = NONE;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Arbitration;

    /// Matches of several rounds of requests (input, output) on an allocator with these sizes.
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
                allocation.request(Request {
                    input,
                    output,
                    channel: 0,
                });
            }
            let mut sides = Sides {
                inputs: (&mut a, 0, n),
                outputs: (&mut b, 0, n),
            };
            allocation.run::<Plain>(settings, &mut sides, |_| 0, |_| 0);
            let mut found: Vec<_> = allocation.matches.iter().map(|m| (m.input, m.output)).collect();
            found.sort_unstable();
            found
        };
        rounds.iter().map(one).collect()
    }

    #[test]
    fn requests_of_an_undone_cycle_are_not_granted() {
        let mut allocation = Allocation::default();
        let ask = |allocation: &mut Allocation, input: u16, output: u16| {
            allocation.request(Request {
                input,
                output,
                channel: 9,
            });
        };
        // Two requests conflict, and the cycle does not complete.
        ask(&mut allocation, 0, 1);
        ask(&mut allocation, 1, 1);
        allocation.undo(Savepoint(1));
        assert!(!allocation.has_requests() && !allocation.may_have_requested(0, 1));
        ask(&mut allocation, 1, 2);
        let (mut a, mut b) = (Store::filled(3, 0), Store::filled(3, 0));
        let mut sides = Sides {
            inputs: (&mut a, 0, 3),
            outputs: (&mut b, 0, 3),
        };
        allocation.run::<Plain>(Settings::COMMON, &mut sides, |_| 0, |_| 0);
        let found: Vec<_> = allocation.matches.iter().map(|m| (m.input, m.output)).collect();
        assert_eq!(found, [(1, 2)]);
        // A granted request that was not used is not granted again.
        allocation.undo(Savepoint(1));
        assert!(allocation.matches.is_empty());
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
    fn competing_requests_take_turns() {
        for allocator in BOTH {
            let how = (allocator, 1, Arbitration::RoundRobin);
            let all: &[(u16, u16)] = &[(0, 1), (1, 1), (2, 1)];
            let found = rounds(how, 3, &[all, all, all, all]);
            assert_eq!(found, [[(0, 1)], [(1, 1)], [(2, 1)], [(0, 1)]].map(Vec::from));
            let how = (allocator, 1, Arbitration::LowestFirst);
            assert_eq!(rounds(how, 3, &[all, all]), [[(0, 1)], [(0, 1)]].map(Vec::from));
        }
    }

    /// Requests without a shared input or output: the same matches in the same order and the same pointers on the fast
    /// path and on the general path. Inputs that are 64 apart share a bit.
    #[test]
    fn the_fast_path_grants_the_same_as_the_general_path() {
        const N: u16 = 130;
        for allocator in BOTH {
            for (iterations, arbitration) in [(1, Arbitration::RoundRobin), (3, Arbitration::LowestFirst)] {
                let settings = Settings {
                    allocator,
                    iterations,
                    arbitration,
                    ..Settings::COMMON
                };
                let outcome = |offset: u16, stride: u16, compete: bool| {
                    let (mut a, mut b) = (Store::filled(N.into(), 5), Store::filled(N.into(), 7));
                    let mut allocation = Allocation::default();
                    for i in 0..4 {
                        allocation.request(Request {
                            input: (offset + i * stride) % N,
                            output: (3 * offset + 11 * i) % N,
                            channel: u32::from(i),
                        });
                    }
                    allocation.shared_inputs |= u64::from(compete);
                    let mut sides = Sides {
                        inputs: (&mut a, 0, N),
                        outputs: (&mut b, 0, N),
                    };
                    allocation.run::<Plain>(settings, &mut sides, |_| 0, |_| 0);
                    let pointers: Vec<u16> = a.iter().chain(b.iter()).copied().collect();
                    (allocation.matches, pointers)
                };
                for (offset, stride) in (0..N).flat_map(|offset| [1, 7, 64].map(|stride| (offset, stride))) {
                    let at_once = outcome(offset, stride, false);
                    assert_eq!(at_once.0.len(), 4);
                    assert_eq!(at_once, outcome(offset, stride, true), "{offset}, {stride}");
                }
            }
        }
    }

    /// Inputs 0 and 1 both choose output 0 first; a second round finds output 1 for the loser.
    #[test]
    fn a_second_round_matches_losers_with_an_alternative() {
        let all: &[(u16, u16)] = &[(0, 0), (0, 1), (1, 0), (1, 1)];
        for allocator in BOTH {
            let one = rounds((allocator, 1, Arbitration::RoundRobin), 2, &[all]);
            assert_eq!(one, [[(0, 0)].to_vec()]);
            let two = rounds((allocator, 2, Arbitration::RoundRobin), 2, &[all]);
            assert_eq!(two, [[(0, 0), (1, 1)].to_vec()]);
        }
    }

    /// After the first conflict the pointers differ, and every cycle is a full match (desynchronization, McKeown 1999).
    #[test]
    fn round_robin_pointers_desynchronize_at_full_load() {
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

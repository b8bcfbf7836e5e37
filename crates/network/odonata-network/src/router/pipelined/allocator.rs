//! Separable allocators: match several inputs with several outputs.
//!
//! W. Dally, B. Towles, "Principles and practices of interconnection networks", 2004, section 19.3. Each input and each
//! output has an arbiter. The arbiters of a side choose independently, so an allocation may miss matches. An arbiter's
//! pointer moves only if its choice becomes a match.
//!
//! An election finds the choices of one side. Those of the other side choose among the choices. With the common settings,
//! where an input has one request and nothing but the pointers counts, [`Requests`] do the same on words of bits.

use super::round_robin::Requests;
use super::settings::Settings;
use crate::settings::Allocator;
use odonata_engine::saved::{Damaged, Loader, Saver};
use odonata_engine::state::cell_mut;
use odonata_engine::{Digest, Journalled, Mode, NIL, Plain, Saved, Savepoint, Speculative, Store};

/// A request for an output.
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

/// The best request for each chooser, an input or an output, among those offered.
#[derive(Debug, Default)]
pub(super) struct Election {
    /// In the order in which choosers first had a request.
    choices: Vec<Request>,
    /// The place of a chooser's choice in that list; valid where its bit is set.
    places: Vec<u16>,
    /// The choosers with a request, as bits.
    choosers: Vec<u64>,
}

impl Election {
    /// An election by at most this number of choosers.
    fn of(choosers: usize) -> Election {
        Election {
            choices: Vec::with_capacity(choosers),
            places: vec![0; choosers],
            choosers: vec![0; choosers.div_ceil(64)],
        }
    }

    /// `chooser` takes `request` if it has no other, or if this one `precedes` the other.
    fn offer<M: Mode>(&mut self, chooser: u16, request: Request, precedes: impl FnOnce(&Request) -> bool) {
        let (number, bit) = (u32::from(chooser), 1 << (chooser % 64));
        let choosers = cell_mut::<M, _>(&mut self.choosers, number / 64);
        let place = cell_mut::<M, _>(&mut self.places, number);
        if *choosers & bit == 0 {
            *choosers |= bit;
            *place = self.choices.len() as u16;
            self.choices.push(request);
            return;
        }
        let held = cell_mut::<M, _>(&mut self.choices, u32::from(*place));
        if precedes(held) {
            *held = request;
        }
    }

    #[inline(always)]
    pub(super) fn choices(&self) -> &[Request] {
        &self.choices
    }

    #[inline(always)]
    pub(super) fn clear(&mut self) {
        self.choices.clear();
        self.choosers.fill(0);
    }
}

/// The temporary state of an allocation; no requests between two cycles.
#[derive(Debug, Default)]
pub(super) struct Allocation {
    requests: Vec<Request>,
    /// The choices of that side.
    chosen: Election,
    /// Those of the other side: the result.
    pub(super) matches: Election,
    /// The inputs and outputs matched in earlier rounds.
    taken_inputs: Vec<bool>,
    taken_outputs: Vec<bool>,
}

/// The allocators of routers, and the grants of a step; no state between two steps.
#[derive(Debug)]
pub(super) struct Allocators {
    /// Of virtual channels and of the crossbar, for all settings.
    pub(super) vcs: Allocation,
    pub(super) switch: Allocation,
    /// The same for the common settings.
    pub(super) vc_requests: Requests,
    pub(super) switch_requests: Requests,
    /// By input port: its virtual channel that requests the crossbar.
    pub(super) choices: Vec<u32>,
    /// The input virtual channels that are granted the crossbar.
    pub(super) crossing: Vec<u32>,
}

impl Allocators {
    /// The allocators of routers with at most this number of virtual channels and ports.
    pub(super) fn new(vcs: usize, ports: usize, input_speedup: usize) -> Allocators {
        let inputs = ports * input_speedup;
        Allocators {
            vcs: Allocation::of(vcs),
            switch: Allocation::of(inputs),
            vc_requests: Requests::of(vcs, vcs),
            switch_requests: Requests::of(ports, ports),
            choices: vec![NIL; ports],
            crossing: Vec::with_capacity(inputs),
        }
    }
}

/// No state between cycles. But a cycle that panics under the optimistic scheduler leaves its requests: undo must
/// remove them, or the next cycle, of any router, would grant them.
impl Journalled for Allocators {
    fn undo(&mut self, _: Savepoint) {
        self.vcs.clear();
        self.switch.clear();
        self.vc_requests.clear();
        self.switch_requests.clear();
        self.crossing.clear();
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

impl Saved for Allocators {
    fn save(&self, _: &mut Saver<'_>) {}
    fn load(&mut self, _: &mut Loader<'_>) -> Result<(), Damaged> {
        Ok(())
    }
}

/// The pointers of one allocator's two sides, and the numbers of its first input and output in them.
pub(super) struct Sides<'a> {
    pub(super) inputs: (&'a mut Pointers, u32, u16),
    pub(super) outputs: (&'a mut Pointers, u32, u16),
}

impl Sides<'_> {
    /// The distance of an input behind the output's pointer, and vice versa.
    #[inline(always)]
    fn of_input<M: Mode>(&self, request: &Request) -> u16 {
        let (pointers, first, _) = &self.outputs;
        behind(
            request.input,
            *pointers.trusted::<M>(first + u32::from(request.output)),
            self.inputs.2,
        )
    }

    #[inline(always)]
    fn of_output<M: Mode>(&self, request: &Request) -> u16 {
        let (pointers, first, _) = &self.inputs;
        behind(
            request.output,
            *pointers.trusted::<M>(first + u32::from(request.input)),
            self.outputs.2,
        )
    }

    /// A match: both arbiters advance past it.
    #[inline(always)]
    pub(super) fn go_on<M: Mode>(&mut self, request: &Request) {
        let (pointers, first, _) = &mut self.inputs;
        *pointers.edit_trusted::<M>(*first + u32::from(request.input)) = request.output + 1;
        let (pointers, first, _) = &mut self.outputs;
        *pointers.edit_trusted::<M>(*first + u32::from(request.output)) = request.input + 1;
    }
}

/// Steps from `pointer`, at most `size`, up to `number`, modulo `size`.
#[inline(always)]
pub(super) fn behind(number: u16, pointer: u16, size: u16) -> u16 {
    if number >= pointer {
        number - pointer
    } else {
        number + size - pointer
    }
}

impl Allocation {
    /// The allocation of routers with at most this number of inputs, and of outputs.
    pub(super) fn of(choosers: usize) -> Allocation {
        Allocation {
            requests: Vec::new(),
            chosen: Election::of(choosers),
            matches: Election::of(choosers),
            taken_inputs: vec![false; choosers],
            taken_outputs: vec![false; choosers],
        }
    }

    /// Removes all requests and grants.
    fn clear(&mut self) {
        self.requests.clear();
        self.chosen.clear();
        self.matches.clear();
        self.taken_inputs.fill(false);
        self.taken_outputs.fill(false);
    }

    pub(super) fn request(&mut self, request: Request) {
        self.requests.push(request);
    }

    pub(super) fn has_requests(&self) -> bool {
        !self.requests.is_empty()
    }

    /// The requests. Callers must not change their inputs and outputs.
    pub(super) fn requests(&mut self) -> &mut [Request] {
        &mut self.requests
    }

    /// Matches the requests, each input and each output at most once, and advances the pointers. All requests of an input
    /// have the same rank.
    pub(super) fn run<M: Mode>(
        &mut self,
        settings: Settings,
        sides: &mut Sides<'_>,
        rank: impl Fn(&Request) -> u64,
        preference: impl Fn(&Request) -> u64,
    ) {
        match M::JOURNAL {
            true => self.match_all::<Speculative>(settings, sides, &rank, &preference),
            false => self.match_all::<Plain>(settings, sides, &rank, &preference),
        }
    }

    // Compiled once per mode: every context of a handler has a rank and a preference of its own.
    #[inline(never)]
    fn match_all<M: Mode>(
        &mut self,
        settings: Settings,
        sides: &mut Sides<'_>,
        rank: &dyn Fn(&Request) -> u64,
        preference: &dyn Fn(&Request) -> u64,
    ) {
        let mut before = 0;
        for round in 1..=settings.iterations {
            let (chosen, matches) = (&mut self.chosen, &mut self.matches);
            let by_input = |r: &Request| (rank(r), sides.of_input::<M>(r));
            let by_output = |r: &Request| ((preference(r), rank(r)), sides.of_output::<M>(r));
            match settings.allocator {
                Allocator::InputFirst => {
                    for r in &self.requests {
                        chosen.offer::<M>(r.input, *r, |held| by_output(r) < by_output(held));
                    }
                    for r in chosen.choices() {
                        matches.offer::<M>(r.output, *r, |held| by_input(r) < by_input(held));
                    }
                }
                Allocator::OutputFirst => {
                    for r in &self.requests {
                        chosen.offer::<M>(r.output, *r, |held| by_input(r) < by_input(held));
                    }
                    for r in chosen.choices() {
                        matches.offer::<M>(r.input, *r, |held| by_output(r) < by_output(held));
                    }
                }
            }
            chosen.clear();
            let agreed = &self.matches.choices()[before..];
            before += agreed.len();
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
            for request in self.matches.choices() {
                self.taken_inputs[usize::from(request.input)] = false;
                self.taken_outputs[usize::from(request.output)] = false;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Arbitration;

    /// Matches of several rounds of requests (input, output) on an allocator with these sizes.
    fn rounds(how: (Allocator, u32, Arbitration), n: u16, rounds: &[&[(u16, u16)]]) -> Vec<Vec<(u16, u16)>> {
        let (mut a, mut b) = (Store::filled(usize::from(n), 0), Store::filled(usize::from(n), 0));
        let mut allocation = Allocation::of(usize::from(n));
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
            let mut found: Vec<_> = (allocation.matches.choices().iter())
                .map(|m| (m.input, m.output))
                .collect();
            allocation.matches.clear();
            found.sort_unstable();
            found
        };
        rounds.iter().map(one).collect()
    }

    #[test]
    fn requests_of_an_undone_cycle_are_not_granted() {
        let mut allocation = Allocation::of(3);
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
        allocation.clear();
        assert!(!allocation.has_requests());
        ask(&mut allocation, 1, 2);
        let (mut a, mut b) = (Store::filled(3, 0), Store::filled(3, 0));
        let mut sides = Sides {
            inputs: (&mut a, 0, 3),
            outputs: (&mut b, 0, 3),
        };
        allocation.run::<Plain>(Settings::COMMON, &mut sides, |_| 0, |_| 0);
        let found: Vec<_> = (allocation.matches.choices().iter())
            .map(|m| (m.input, m.output))
            .collect();
        assert_eq!(found, [(1, 2)]);
        // A granted request that was not used is not granted again.
        allocation.clear();
        assert!(allocation.matches.choices().is_empty());
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

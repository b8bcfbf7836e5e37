//! Requests as words of bits, for separable allocation by round robin with one request per input.
//!
//! An output has a word per 64 inputs, with a bit for each input that requests it. Its arbiter grants the first bit from
//! its pointer on, or else the first of all. The pointer then is behind the granted input.

use odonata_engine::Mode;
use odonata_engine::state::{cell, cell_mut};

/// The requests of a step; none between two steps.
#[derive(Debug)]
pub(super) struct Requests {
    /// Words per output.
    words: u32,
    /// By output: the inputs that request it.
    inputs: Vec<u64>,
    /// The requested outputs, in the order of their first requests.
    outputs: Vec<u16>,
}

/// The first bit of `word` from `pointer` on, or else the first of all; `word` has a bit, and `pointer` is 64 at most.
#[inline(always)]
fn first_from(word: u64, pointer: u32) -> u32 {
    let behind = word & u64::MAX.checked_shl(pointer).unwrap_or(0);
    let chosen = if behind == 0 { word } else { behind };
    chosen.trailing_zeros()
}

impl Requests {
    /// Requests of at most this number of inputs for at most this number of outputs.
    pub(super) fn of(inputs: usize, outputs: usize) -> Requests {
        let words = inputs.div_ceil(64).max(1);
        Requests {
            words: words as u32,
            inputs: vec![0; words * outputs],
            outputs: Vec::with_capacity(outputs),
        }
    }

    /// `input` requests `output`.
    #[inline(always)]
    pub(super) fn add<M: Mode>(&mut self, input: u32, output: u32) {
        let is_first = match self.words {
            1 => *cell::<M, _>(&self.inputs, output) == 0,
            _ => self.words_of(output).iter().all(|&word| word == 0),
        };
        if is_first {
            self.outputs.push(output as u16);
        }
        *cell_mut::<M, _>(&mut self.inputs, output * self.words + input / 64) |= 1 << (input % 64);
    }

    #[inline(never)]
    fn words_of(&self, output: u32) -> &[u64] {
        let words = self.words as usize;
        &self.inputs[output as usize * words..][..words]
    }

    /// Requested output number `place`.
    #[inline(always)]
    pub(super) fn output(&self, place: usize) -> Option<u32> {
        self.outputs.get(place).map(|&output| u32::from(output))
    }

    /// The input that `output` grants, whose arbiter has this pointer; removes the requests for `output`.
    #[inline(always)]
    pub(super) fn grant<M: Mode>(&mut self, output: u32, pointer: u32) -> u32 {
        match self.words {
            1 => first_from(std::mem::take(cell_mut::<M, _>(&mut self.inputs, output)), pointer),
            _ => self.grant_of_several(output, pointer),
        }
    }

    #[inline(never)]
    fn grant_of_several(&mut self, output: u32, pointer: u32) -> u32 {
        let words = self.words_of(output);
        let start = pointer / 64;
        // The word of the pointer is read twice: its upper part first, its lower part last.
        let granted = (start..self.words)
            .chain(0..self.words)
            .zip(0..)
            .find_map(|(word, turn)| {
                let from = if turn == 0 {
                    u64::MAX << (pointer % 64)
                } else {
                    u64::MAX
                };
                let left = words[word as usize] & from;
                (left != 0).then(|| word * 64 + left.trailing_zeros())
            })
            .expect("the output is requested");
        let words = self.words as usize;
        self.inputs[output as usize * words..][..words].fill(0);
        granted
    }

    /// The step is over: all requested outputs have granted.
    #[inline(always)]
    pub(super) fn end(&mut self) {
        self.outputs.clear();
    }

    /// Removes all requests.
    pub(super) fn clear(&mut self) {
        self.inputs.fill(0);
        self.outputs.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::super::allocator::behind;
    use super::*;
    use odonata_engine::Plain;

    /// Each output grants the requesting input with the least `(input - pointer) mod inputs`.
    #[test]
    fn an_output_grants_the_first_input_from_its_pointer_on() {
        let mut state = 11_u64;
        let mut draw = |n: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            ((state >> 33) % n) as u16
        };
        for inputs in [1, 5, 63, 64, 65, 128, 150] {
            let mut requests = Requests::of(usize::from(inputs), 3);
            for _ in 0..300 {
                let mut all: Vec<(u16, u16)> = (0..=draw(6)).map(|_| (draw(u64::from(inputs)), draw(3))).collect();
                all.dedup();
                for &(input, output) in &all {
                    requests.add::<Plain>(u32::from(input), u32::from(output));
                }
                let mut granted = Vec::new();
                while let Some(output) = requests.output(granted.len()) {
                    // A pointer behind the last input is one at the first.
                    let pointer = draw(u64::from(inputs) + 1);
                    let least = (all.iter().filter(|request| u32::from(request.1) == output))
                        .min_by_key(|request| behind(request.0, pointer, inputs))
                        .expect("it is requested");
                    assert_eq!(requests.grant::<Plain>(output, u32::from(pointer)), u32::from(least.0));
                    granted.push(output as u16);
                }
                let mut first: Vec<u16> = Vec::new();
                for &(_, output) in &all {
                    if !first.contains(&output) {
                        first.push(output);
                    }
                }
                assert_eq!(granted, first);
                requests.end();
                assert!((0..3).all(|output| requests.words_of(output).iter().all(|&word| word == 0)));
            }
        }
    }
}

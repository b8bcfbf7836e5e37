//! Sets of packets of flows: a bit per packet, by its sequence number modulo the range of a flow.

use odonata_engine::{GrowableStore, Mode};

/// The sets of a part, by number.
#[derive(Debug)]
pub(crate) struct PacketSets {
    /// Words of 64 packets in a set.
    words: u32,
    bits: GrowableStore<u64>,
}
odonata_engine::journalled!(PacketSets { bits });

impl PacketSets {
    /// Empty sets of at most `range` packets, a multiple of 64.
    pub(crate) fn new(range: u32) -> PacketSets {
        PacketSets {
            words: range / 64,
            bits: GrowableStore::new(),
        }
    }

    /// Most packets from the first to the last one in a set.
    pub(crate) fn range(&self) -> u32 {
        64 * self.words
    }

    /// The word of packet `sequence`, and the place of its bit.
    fn place(&self, set: u32, sequence: u32) -> (usize, u32) {
        let at = sequence % self.range();
        ((set * self.words + at / 64) as usize, at % 64)
    }

    fn put_word<M: Mode>(&mut self, at: usize, value: u64) {
        if self.bits.get(at) != value {
            *self.bits.edit::<M>(at) = value;
        }
    }

    /// Whether `set` has packet `sequence`.
    pub(crate) fn has(&self, set: u32, sequence: u32) -> bool {
        let (word, bit) = self.place(set, sequence);
        self.bits.get(word) >> bit & 1 == 1
    }

    /// Adds packet `sequence` to `set`, or removes it.
    pub(crate) fn put<M: Mode>(&mut self, set: u32, sequence: u32, is_in: bool) {
        let (word, bit) = self.place(set, sequence);
        let (before, mask) = (self.bits.get(word), 1 << bit);
        self.put_word::<M>(word, if is_in { before | mask } else { before & !mask });
    }

    /// Removes all packets from `set`.
    pub(crate) fn clear<M: Mode>(&mut self, set: u32) {
        for word in set * self.words..(set + 1) * self.words {
            self.put_word::<M>(word as usize, 0);
        }
    }

    /// The first packet of `set` from `from` on, `end` if there is none before.
    pub(crate) fn first(&self, set: u32, from: u32, end: u32) -> u32 {
        let mut sequence = from;
        while sequence < end {
            let (word, bit) = self.place(set, sequence);
            let rest = self.bits.get(word) >> bit;
            if rest != 0 {
                return sequence + rest.trailing_zeros();
            }
            sequence += 64 - bit;
        }
        end
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use odonata_engine::Plain;
    use std::collections::BTreeSet;

    /// Compares with sets of numbers, over a window that moves beyond the range.
    #[test]
    fn sets_hold_the_packets_of_a_moving_window() {
        let mut state = 7_u64;
        let mut draw = |below: u32| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) as u32 % below
        };
        let (mut sets, mut known) = (PacketSets::new(128), [const { BTreeSet::new() }; 3]);
        let range = sets.range();
        for base in 0..2_000 {
            let (set, sequence) = (draw(3), base + draw(range));
            let is_in = draw(2) == 0;
            sets.put::<Plain>(set, sequence, is_in);
            match is_in {
                true => known[set as usize].insert(sequence),
                false => known[set as usize].remove(&sequence),
            };
            for (set, known) in (0..).zip(&mut known) {
                let first = known.range(base..).next().copied().unwrap_or(base + range);
                assert_eq!(sets.first(set, base, base + range), first);
                assert!((base..base + range).all(|sequence| sets.has(set, sequence) == known.contains(&sequence)));
                // The window moves on.
                sets.put::<Plain>(set, base, false);
                known.remove(&base);
            }
        }
        sets.clear::<Plain>(1);
        assert_eq!(sets.first(1, 2_000, 2_000 + range), 2_000 + range);
    }
}

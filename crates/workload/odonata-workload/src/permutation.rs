//! A random permutation of `0 .. count`, computed element by element without storage.
//!
//! A Feistel network of four rounds over the smallest even number of bits that holds `count` is a bijection (Luby and
//! Rackoff, SIAM J. Computing 17(2), 1988). A value of `count` or more is mapped again until it is smaller, which keeps
//! the bijection (*cycle walking*: Black and Rogaway, "Ciphers with arbitrary finite domains", CT-RSA 2002). At most 3
//! of 4 values are too large, so four passes suffice on average.

use odonata_units::SplitMix64;

const ROUNDS: usize = 4;

/// A permutation of `0 .. count`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Permutation {
    count: u64,
    half_bits: u32,
    keys: [u64; ROUNDS],
}

impl Permutation {
    /// The permutation of `0 .. count` for `seed` and `names`.
    pub(crate) fn new(count: u64, seed: u64, names: impl IntoIterator<Item = u64>) -> Self {
        let mut draws = SplitMix64::named(seed, names);
        let bits = u64::BITS - count.saturating_sub(1).leading_zeros();
        Permutation {
            count,
            half_bits: bits.div_ceil(2).max(1),
            keys: [(); ROUNDS].map(|()| draws.next_u64()),
        }
    }

    /// The value at `place`; a place outside the range maps to itself.
    pub(crate) fn at(&self, place: u64) -> u64 {
        if place >= self.count {
            return place;
        }
        let mut value = self.network(place);
        while value >= self.count {
            value = self.network(value);
        }
        value
    }

    fn network(&self, value: u64) -> u64 {
        let mask = (1u64 << self.half_bits) - 1;
        let (mut left, mut right) = (value >> self.half_bits, value & mask);
        for key in self.keys {
            let mixed = odonata_units::mix64(right ^ key) & mask;
            (left, right) = (right, left ^ mixed);
        }
        left << self.half_bits | right
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_stands_at_one_place() {
        for count in [1, 2, 3, 4, 5, 17, 64, 65, 1_000, 4_096, 4_097] {
            let permutation = Permutation::new(count, 7, [count]);
            let mut values: Vec<u64> = (0..count).map(|place| permutation.at(place)).collect();
            values.sort_unstable();
            assert!(values.iter().copied().eq(0..count), "{count}");
        }
    }

    /// The largest count works without wrap-around or endless walks.
    #[test]
    fn counts_up_to_all_of_64_bits_work() {
        for count in [u64::MAX, 1 << 63, (1 << 62) + 1] {
            let permutation = Permutation::new(count, 1, []);
            for place in [0, 1, count / 2, count - 1] {
                assert!(permutation.at(place) < count);
            }
        }
        assert_eq!(Permutation::new(0, 1, []).at(5), 5);
    }

    /// Random permutations of n have one fixed point on average (with variance 1), and seeds differ.
    #[test]
    fn places_are_random() {
        let fixed: u64 = (0..400)
            .map(|seed| {
                let permutation = Permutation::new(100, seed, [1]);
                (0..100).filter(|&place| permutation.at(place) == place).count() as u64
            })
            .sum();
        // 400 permutations: mean 400, deviation 20.
        assert!((320..480).contains(&fixed), "{fixed}");
    }
}

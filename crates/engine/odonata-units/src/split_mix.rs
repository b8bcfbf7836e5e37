//! SplitMix64, the random number generator of all crates (Steele, Lea, Flood, "Fast splittable pseudorandom number
//! generators", OOPSLA 2014).
//!
//! It is not taken from a library because the simulator needs the mixing function itself: a random number is a function
//! of a name and a counter, independent of the order of draws.

/// Increment of the state: 2^64 over the golden ratio, odd.
pub const GOLDEN_GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;

/// The mixing function, a bijection of 64 bits: every input bit affects every output bit.
#[inline]
pub const fn mix64(z: u64) -> u64 {
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// A random number generator. Its state is public: names are mixed into it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SplitMix64(pub u64);

impl SplitMix64 {
    /// The next 64 random bits.
    #[inline]
    pub const fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(GOLDEN_GAMMA);
        mix64(self.0)
    }

    /// Uniform in [0, 1).
    #[inline]
    pub const fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Uniform among the numbers below `n`, with a bias below `n` / 2^32; 0 if `n` is 0.
    #[inline]
    pub const fn below(&mut self, n: u32) -> u32 {
        (((self.next_u64() >> 32) * n as u64) >> 32) as u32
    }

    /// A generator whose numbers depend on `seed` and on `names` in order.
    pub fn named(seed: u64, names: impl IntoIterator<Item = u64>) -> Self {
        let absorb = |state: u64, name: u64| mix64(state.wrapping_add(GOLDEN_GAMMA) ^ mix64(name.wrapping_add(1)));
        SplitMix64(names.into_iter().fold(mix64(seed), absorb))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first outputs for seed 1234567, as published with the reference implementation in C.
    #[test]
    fn numbers_are_those_of_the_reference_implementation() {
        let mut generator = SplitMix64(1_234_567);
        let numbers = [(); 5].map(|()| generator.next_u64());
        let expected = [
            6_457_827_717_110_365_317,
            3_203_168_211_198_807_973,
            9_817_491_932_198_370_423,
            4_593_380_528_125_082_431,
            16_408_922_859_458_223_821,
        ];
        assert_eq!(numbers, expected);
    }
}

//! Named, counter-based random streams.
//!
//! A stream is named by (seed, owner, purpose). Its only state is a counter, part of the owner's journaled state:
//! rolling back an event rolls back its draws. Number `n` of a stream is a fixed function of the name and `n`
//! ([`SplitMix64`](odonata_units::SplitMix64)), independent of the order of draws.

use odonata_units::{GOLDEN_GAMMA, mix64};

/// The purpose of a stream. Streams of different purposes are independent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum Purpose {
    /// Choices of a routing algorithm.
    Routing = 1,
    /// Destinations of synthetic traffic.
    Destination = 2,
    /// Gaps between synthetic messages.
    Arrival = 3,
    /// Jitter of host software.
    Host = 4,
    /// Placement of ranks on nodes.
    Placement = 5,
    /// Assignment of servers to nodes.
    Storage = 6,
    /// Behavior of a storage device.
    Device = 7,
    /// Entropy, trims and marks of Ethernet.
    Ethernet = 8,
    /// Noise of the operating system.
    Noise = 9,
}

/// A stream of random numbers; `Copy`, so it can live in a journaled cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Stream {
    key: u64,
    counter: u64,
}

impl Stream {
    /// The stream of `owner` for `purpose` in a run with `seed`.
    pub fn new(seed: u64, owner: u64, purpose: Purpose) -> Self {
        let key = mix64(mix64(seed ^ 0x6f64_6f6e_6174_6121).wrapping_add(mix64(owner.wrapping_add(GOLDEN_GAMMA))))
            ^ mix64((purpose as u64).wrapping_mul(0xd1b5_4a32_d192_ed03));
        Stream { key, counter: 0 }
    }

    /// 64 random bits, number `number` of the stream from 1 on, whatever has been drawn.
    #[inline]
    pub fn number(&self, number: u64) -> u64 {
        mix64(self.key.wrapping_add(number.wrapping_mul(GOLDEN_GAMMA)))
    }

    /// The next 64 random bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.counter += 1;
        self.number(self.counter)
    }

    /// Uniform in `0..n`; `n` must be positive. Lemire's multiply-shift without rejection: the
    /// bias is below `n / 2^64`.
    #[inline]
    pub fn below(&mut self, n: u32) -> u32 {
        ((u128::from(self.bits()) * u128::from(n)) >> 64) as u32
    }

    /// Uniform in [0, 1).
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Exponentially distributed with the given mean.
    #[inline]
    pub fn exponential(&mut self, mean: f64) -> f64 {
        -mean * (1.0 - self.unit()).ln()
    }

    /// Shuffles in place (Fisher-Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.below(i as u32 + 1) as usize);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_are_reproducible_and_distinct() {
        let draw = |seed, owner, purpose| {
            let mut s = Stream::new(seed, owner, purpose);
            [s.bits(), s.bits(), s.bits()]
        };
        assert_eq!(draw(1, 2, Purpose::Routing), draw(1, 2, Purpose::Routing));
        assert_ne!(draw(1, 2, Purpose::Routing), draw(1, 2, Purpose::Arrival));
        assert_ne!(draw(1, 2, Purpose::Routing), draw(1, 3, Purpose::Routing));
        assert_ne!(draw(1, 2, Purpose::Routing), draw(2, 2, Purpose::Routing));
    }

    #[test]
    fn below_is_uniform_within_five_standard_deviations() {
        let mut s = Stream::new(7, 0, Purpose::Destination);
        let mut counts = [0u32; 10];
        for _ in 0..100_000 {
            counts[s.below(10) as usize] += 1;
        }
        // sd = sqrt(n p (1-p)) = 95
        assert!(counts.iter().all(|&c| (9_525..=10_475).contains(&c)), "{counts:?}");
    }

    #[test]
    fn exponential_has_its_mean() {
        let mut s = Stream::new(7, 0, Purpose::Arrival);
        let n = 100_000;
        let mean: f64 = (0..n).map(|_| s.exponential(3.0)).sum::<f64>() / f64::from(n);
        assert!((mean - 3.0).abs() < 0.05, "{mean}");
    }
}

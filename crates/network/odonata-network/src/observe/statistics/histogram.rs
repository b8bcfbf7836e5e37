//! Histograms of times with logarithmic buckets.

use odonata_engine::{Digest, Mode, Plain, Store, Time};

/// Sub-buckets per power of two: a relative resolution of 1/32.
const SUB: u32 = 32;
/// Buckets of a [`Histogram`].
const BUCKETS: u32 = (64 - 4) * SUB;

/// A histogram of times with buckets that grow with the value.
#[derive(Debug)]
pub struct Histogram {
    counts: Store<u64>,
}
odonata_engine::journalled!(Histogram { counts });

/// Serializes only the occupied buckets.
impl serde::Serialize for Histogram {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let occupied = (0u32..).zip(self.counts.iter()).filter(|&(_, &count)| count > 0);
        let occupied: Vec<(u32, u64)> = occupied.map(|(i, &count)| (i, count)).collect();
        (self.counts.len() as u32 / BUCKETS, occupied).serialize(serializer)
    }
}

impl<'de> serde::Deserialize<'de> for Histogram {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (n, occupied): (u32, Vec<(u32, u64)>) = serde::Deserialize::deserialize(deserializer)?;
        if n > u32::from(u16::MAX) || occupied.iter().any(|&(i, _)| i >= n * BUCKETS) {
            return Err(serde::de::Error::custom("a histogram has no such bucket"));
        }
        let mut histogram = Histogram::new(n as usize);
        for (i, count) in occupied {
            *histogram.counts.edit::<Plain>(i) = count;
        }
        Ok(histogram)
    }
}

impl Histogram {
    /// Bytes per histogram.
    pub const BYTES: usize = BUCKETS as usize * size_of::<u64>();

    /// `n` empty histograms side by side.
    pub fn new(n: usize) -> Self {
        Histogram {
            counts: Store::filled(n * BUCKETS as usize, 0),
        }
    }

    #[inline]
    fn bucket(value: Time) -> u32 {
        let v = value.0;
        if v < u64::from(SUB) {
            return v as u32;
        }
        let exponent = 63 - v.leading_zeros();
        let sub = (v >> (exponent - SUB.trailing_zeros())) as u32 & (SUB - 1);
        (exponent - SUB.trailing_zeros() + 1) * SUB + sub
    }

    /// The smallest value of bucket `i`.
    fn lower(i: u32) -> u64 {
        if i < SUB {
            return u64::from(i);
        }
        let exponent = i / SUB - 1;
        u64::from(SUB + i % SUB) << exponent
    }

    /// Counts `value` in histogram `which`.
    #[inline]
    pub fn record<M: Mode>(&mut self, which: usize, value: Time) {
        *self
            .counts
            .edit_trusted::<M>(which as u32 * BUCKETS + Self::bucket(value)) += 1;
    }

    /// A copy of the counts, without undo journal.
    pub fn copied(&self) -> Histogram {
        Histogram {
            counts: Store::from_vec(self.counts.iter().copied().collect()),
        }
    }

    /// Adds the counts of another part.
    pub fn absorb(&mut self, part: &Histogram) {
        for (i, &count) in (0..).zip(part.counts.iter()) {
            if count > 0 {
                *self.counts.edit::<Plain>(i) += count;
            }
        }
    }

    /// The occupied buckets of histogram `which`: (lower bound, upper bound, count).
    pub fn buckets(&self, which: usize) -> Vec<(Time, Time, u64)> {
        let base = which as u32 * BUCKETS;
        (0..BUCKETS)
            .map(|i| {
                (
                    Time(Self::lower(i)),
                    Time(Self::lower(i + 1)),
                    *self.counts.get(base + i),
                )
            })
            .filter(|&(_, _, count)| count > 0)
            .collect()
    }

    /// The value below which a share `q` of histogram `which` lies, interpolated inside its bucket;
    /// `None` if the histogram is empty.
    pub fn quantile(&self, which: usize, q: f64) -> Option<Time> {
        let buckets = self.buckets(which);
        let total: u64 = buckets.iter().map(|&(_, _, count)| count).sum();
        let mut left = q * total as f64;
        for &(low, high, count) in &buckets {
            if left <= count as f64 {
                let share = left / count as f64;
                return Some(Time(low.0 + ((high.0 - low.0) as f64 * share) as u64));
            }
            left -= count as f64;
        }
        buckets.last().map(|&(_, high, _)| high)
    }

    /// Adds all counts to a digest.
    pub fn results(&self, digest: &mut Digest) {
        for (i, &count) in self.counts.iter().enumerate() {
            if count > 0 {
                digest.word(i as u64);
                digest.word(count);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_lies_in_its_bucket_and_buckets_are_within_a_thirty_second() {
        for v in (0..2_000u64).chain([1 << 20, (1 << 40) + 12_345, u64::MAX >> 1, u64::MAX]) {
            let i = Histogram::bucket(Time(v));
            assert!(i < BUCKETS);
            assert!(Histogram::lower(i) <= v);
            if i + 1 < BUCKETS {
                assert!(v < Histogram::lower(i + 1), "{v}");
                assert!(Histogram::lower(i + 1) - Histogram::lower(i) <= 1 + v / 32);
            }
        }
    }

    #[test]
    fn quantiles_of_a_uniform_sample() {
        let mut h = Histogram::new(2);
        for v in 1..=10_000u64 {
            h.record::<Plain>(1, Time(v * 1_000));
        }
        for q in [0.5, 0.9, 0.99] {
            let got = h.quantile(1, q).unwrap().0 as f64;
            let exact = q * 1e7;
            assert!((got - exact).abs() < 0.01 * exact, "{q}: {got}");
        }
        assert_eq!(h.quantile(0, 0.5), None);
    }
}

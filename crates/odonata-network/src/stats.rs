//! What the fabric counts.

use odonata_engine::{Digest, Mode, Plain, Store, Time};

/// Sub-buckets per power of two: a histogram's values are exact to 1/32.
const SUB: u32 = 32;
/// Buckets of a [`Histogram`].
const BUCKETS: u32 = (64 - 4) * SUB;

/// Counters of one direction of a link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct LinkStats {
    /// Payload bytes sent.
    pub bytes: u64,
    /// Packets sent.
    pub packets: u64,
    /// Time in which the link transmitted.
    pub busy: Time,
    /// Time in which a packet found the buffers it needed exhausted: output-queued, from the first
    /// packet that finds its queue full until the port next sends or gets a credit; input-queued,
    /// while the link is idle, a packet wants it and no buffer is free; NIC, while its packet queue
    /// is full.
    pub saturation: Time,
    /// Packets that met exhausted buffers.
    pub stalled: u64,
}

/// Counters of the packets received by one node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct NodeStats {
    /// Packets.
    pub packets: u64,
    /// Routers visited by them, summed.
    pub hops: u64,
    /// Their latency from its start on the terminal link, summed.
    pub latency: Time,
    /// The largest latency.
    pub latency_max: Time,
    /// The smallest latency ([`Time::NEVER`] if there was no packet).
    pub latency_min: Time,
    /// Digest over (arrival, source's packet) in order of arrival.
    pub digest: u64,
}

impl NodeStats {
    pub(crate) const NONE: NodeStats = NodeStats {
        packets: 0,
        hops: 0,
        latency: Time::ZERO,
        latency_max: Time::ZERO,
        latency_min: Time::NEVER,
        digest: 0,
    };
}

/// Counters of one kind of traffic (a job's MPI or I/O).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct TrafficStats {
    /// Messages delivered.
    pub messages: u64,
    /// Packets delivered.
    pub packets: u64,
    /// Bytes delivered.
    pub bytes: u64,
    /// Routers visited, summed.
    pub hops: u64,
    /// Latency from its start on the terminal link, summed.
    pub latency: Time,
    /// The same from the creation of the message, summed.
    pub latency_created: Time,
    /// The largest latency.
    pub latency_max: Time,
    /// Packets that took a non-minimal path.
    pub nonminimal: u64,
    /// Bytes handed to NICs.
    pub bytes_sent: u64,
}

impl TrafficStats {
    /// Adds the counters of another part.
    pub(crate) fn absorb(&mut self, part: TrafficStats) {
        self.messages += part.messages;
        self.packets += part.packets;
        self.bytes += part.bytes;
        self.hops += part.hops;
        self.latency += part.latency;
        self.latency_created += part.latency_created;
        self.latency_max = self.latency_max.max(part.latency_max);
        self.nonminimal += part.nonminimal;
        self.bytes_sent += part.bytes_sent;
    }
}

/// One cell of the time series.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct SeriesCell {
    /// Packets delivered (traffic) or sent (links).
    pub packets: u64,
    /// Bytes delivered or sent.
    pub bytes: u64,
    /// Latency of the packets, summed (traffic) or time transmitting (links).
    pub time: Time,
}

impl SeriesCell {
    /// Adds the counts of another part.
    pub(crate) fn absorb(&mut self, part: SeriesCell) {
        self.packets += part.packets;
        self.bytes += part.bytes;
        self.time += part.time;
    }
}

/// Cells of the time series that are kept at most, 100 MB of them; what lies behind is not recorded.
pub(crate) const MOST_SERIES_CELLS: usize = 1 << 22;

/// A histogram of times with buckets that grow with the value.
#[derive(Debug)]
pub struct Histogram {
    counts: Store<u64>,
}
odonata_engine::journalled!(Histogram { counts });

/// As what its buckets hold, without the many that are empty.
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
        *self.counts.edit::<M>(which as u32 * BUCKETS + Self::bucket(value)) += 1;
    }

    /// The counts, with nothing to take back.
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

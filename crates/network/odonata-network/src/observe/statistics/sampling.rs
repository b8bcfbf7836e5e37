//! Sampling periods: statistics of packets by creation time, for latency-load curves.
//!
//! A run is divided into periods of equal length. A packet counts in the period in which its message was *created*,
//! whenever it arrives. So once all packets have arrived, a sum over periods covers all packets of a window, slow ones
//! included. The packet also counts, as *ejected*, in the period in which it arrives. The periods of the window can be
//! chosen after the run.

use crate::message::Traffic;
use odonata_engine::{Digest, GrowableStore, Mode, Time};
use std::collections::BTreeMap;
use std::ops::Range;

/// Bins of one cycle each; longer latencies share one more bin.
pub const CYCLE_BINS: u32 = 1_000;
/// Bins per power of two without a clock: their width is below 0.8% of the value.
const SUB: u32 = 128;
/// Number of bins for all times.
const TIME_BINS: u32 = (64 - SUB.trailing_zeros() + 1) * SUB;

/// The packets to sample, and the periods.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Sampling {
    /// The traffic whose packets are sampled.
    pub traffic: Traffic,
    /// Length of a period, counted from time zero; positive.
    pub period: Time,
    /// Number of recorded periods; packets created or arriving later are not counted.
    pub periods: u32,
    /// Number of periods, from the first, with a histogram of latencies.
    pub histograms: u32,
    /// Length of a clock cycle. With it, latency bins are one cycle wide, exact up to [`CYCLE_BINS`] cycles; without
    /// it, they are 0.8% wide.
    pub cycle: Option<Time>,
}

impl Sampling {
    /// The period of time `at`, if it is recorded.
    #[inline]
    fn period_of(&self, at: Time) -> Option<usize> {
        let period = at.0 / self.period.0;
        (period < u64::from(self.periods)).then_some(period as usize)
    }

    /// Number of bins per period.
    fn bins(&self) -> u32 {
        match self.cycle {
            Some(_) => CYCLE_BINS + 1,
            None => TIME_BINS,
        }
    }

    fn bin(&self, latency: Time) -> u32 {
        let v = latency.0;
        match self.cycle {
            Some(cycle) => v
                .saturating_add(cycle.0 / 2)
                .checked_div(cycle.0)
                .unwrap_or(0)
                .min(u64::from(CYCLE_BINS)) as u32,
            None if v < u64::from(SUB) => v as u32,
            None => {
                let shift = 63 - v.leading_zeros() - SUB.trailing_zeros();
                (shift + 1) * SUB + ((v >> shift) as u32 & (SUB - 1))
            }
        }
    }

    /// The latencies of a bin: first, and end (exclusive).
    fn edges(&self, bin: u32) -> (Time, Time) {
        if let Some(cycle) = self.cycle {
            // A bin is one value; the last bin has no end.
            let value = Time(cycle.0.saturating_mul(u64::from(bin)));
            return (value, if bin < CYCLE_BINS { value } else { Time::NEVER });
        }
        let lower = |bin: u32| match bin / SUB {
            0 => u64::from(bin),
            octave => u64::from(SUB + bin % SUB).saturating_mul(1 << (octave - 1)),
        };
        (Time(lower(bin)), Time(lower(bin + 1)))
    }
}

/// The counts of one or more periods.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Sample {
    /// Packets whose messages were created in the period.
    pub created: u64,
    /// Their payload bytes.
    pub created_bytes: u64,
    /// Their creation times, summed (modulo 2^64).
    pub created_at: u64,
    /// Those of them that have been delivered; the following fields refer to these.
    pub delivered: u64,
    /// Latency from creation, summed.
    pub latency: Time,
    /// The smallest latency (zero if none was delivered).
    pub latency_min: Time,
    /// The largest latency.
    pub latency_max: Time,
    /// Latency from the start on the terminal link, summed.
    pub network: Time,
    /// Routers visited, summed.
    pub hops: u64,
    /// Packets that arrived in the period, whenever they were created.
    pub ejected: u64,
    /// Their payload bytes.
    pub ejected_bytes: u64,
    /// Their creation times, summed (modulo 2^64).
    pub ejected_created_at: u64,
    /// Their latency from creation, summed.
    pub ejected_latency: Time,
}

impl Sample {
    /// The sum of both.
    #[must_use]
    pub fn plus(self, other: Sample) -> Sample {
        let least = match (self.delivered, other.delivered) {
            (0, _) => other.latency_min,
            (_, 0) => self.latency_min,
            _ => self.latency_min.min(other.latency_min),
        };
        Sample {
            created: self.created + other.created,
            created_bytes: self.created_bytes + other.created_bytes,
            created_at: self.created_at.wrapping_add(other.created_at),
            delivered: self.delivered + other.delivered,
            latency: self.latency + other.latency,
            latency_min: least,
            latency_max: self.latency_max.max(other.latency_max),
            network: self.network + other.network,
            hops: self.hops + other.hops,
            ejected: self.ejected + other.ejected,
            ejected_bytes: self.ejected_bytes + other.ejected_bytes,
            ejected_created_at: self.ejected_created_at.wrapping_add(other.ejected_created_at),
            ejected_latency: self.ejected_latency + other.ejected_latency,
        }
    }
}

/// The sampling of a fabric, or of its part.
#[derive(Debug, Default)]
pub(crate) struct Sampler {
    pub(crate) on: Option<Sampling>,
    samples: GrowableStore<Sample>,
    /// Per period, its bins.
    counts: GrowableStore<u64>,
}
odonata_engine::journalled!(Sampler { samples, counts });

impl Sampler {
    /// A message of `packets` packets has been submitted.
    #[inline]
    pub(crate) fn created<M: Mode>(&mut self, traffic: Traffic, at: Time, packets: u64, bytes: u64) {
        let Some(sampling) = self.on.filter(|on| on.traffic == traffic) else {
            return;
        };
        let Some(period) = sampling.period_of(at) else { return };
        let sample = self.samples.edit::<M>(period);
        sample.created += packets;
        sample.created_bytes += bytes;
        sample.created_at = sample.created_at.wrapping_add(at.0.wrapping_mul(packets));
    }

    /// A packet arrives.
    pub(crate) fn delivered<M: Mode>(&mut self, packet: &Delivery) {
        let Some(sampling) = self.on.filter(|on| on.traffic == packet.traffic) else {
            return;
        };
        let created = packet.created;
        if let Some(period) = sampling.period_of(packet.arrival) {
            let sample = self.samples.edit::<M>(period);
            sample.ejected += 1;
            sample.ejected_bytes += u64::from(packet.bytes);
            sample.ejected_created_at = sample.ejected_created_at.wrapping_add(created.0);
            sample.ejected_latency += packet.arrival - created;
        }
        let Some(period) = sampling.period_of(created) else {
            return;
        };
        let latency = packet.arrival - created;
        let one = Sample {
            delivered: 1,
            latency,
            latency_min: latency,
            latency_max: latency,
            network: packet.arrival - packet.injected,
            hops: u64::from(packet.hops),
            ..Sample::default()
        };
        let sample = self.samples.edit::<M>(period);
        *sample = sample.plus(one);
        if period >= sampling.histograms as usize {
            return;
        }
        *self
            .counts
            .edit::<M>(period * sampling.bins() as usize + sampling.bin(latency) as usize) += 1;
    }

    /// The counts of `period`.
    pub(crate) fn sample(&self, period: u32) -> Sample {
        self.samples.get(period as usize)
    }

    pub(crate) fn sampled(&self) -> Option<Sampled> {
        let cell = |(at, &value): (usize, &Sample)| (at as u32, value);
        Some(Sampled {
            sampling: self.on?,
            samples: self.samples.iter().map(cell).collect(),
            counts: self.counts.iter().map(|(at, &count)| (at as u64, count)).collect(),
        })
    }
}

/// The sampled properties of an arriving packet.
pub(crate) struct Delivery {
    pub(crate) traffic: Traffic,
    pub(crate) created: Time,
    pub(crate) injected: Time,
    pub(crate) arrival: Time,
    pub(crate) bytes: u32,
    pub(crate) hops: u16,
}

/// The samples of all periods.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Sampled {
    /// The sampling settings.
    pub sampling: Sampling,
    /// The periods with counts.
    samples: BTreeMap<u32, Sample>,
    /// The bins, period by period.
    counts: BTreeMap<u64, u64>,
}

impl Sampled {
    /// Adds the counts of another part.
    pub(crate) fn absorb(&mut self, part: Sampled) {
        for (period, sample) in part.samples {
            let sum = self.samples.entry(period).or_default();
            *sum = sum.plus(sample);
        }
        for (at, count) in part.counts {
            *self.counts.entry(at).or_default() += count;
        }
    }

    /// The counts of `periods`, summed.
    pub fn sum(&self, periods: Range<u32>) -> Sample {
        self.samples
            .range(periods)
            .fold(Sample::default(), |sum, (_, &sample)| sum.plus(sample))
    }

    /// The quantile `q` of the latency from creation, over packets created in `periods`; `None` if none was delivered.
    /// With cycles it is exact, or [`Time::NEVER`] beyond the last bin; without, it is interpolated in a bin of 0.8%.
    pub fn quantile(&self, periods: Range<u32>, q: f64) -> Option<Time> {
        let bins = u64::from(self.sampling.bins());
        let mut together = BTreeMap::<u32, u64>::new();
        for (&at, &count) in self
            .counts
            .range(bins * u64::from(periods.start)..bins * u64::from(periods.end.max(periods.start)))
        {
            *together.entry((at % bins) as u32).or_default() += count;
        }
        let total: u64 = together.values().sum();
        let mut left = q * total as f64;
        for (&bin, &count) in &together {
            if left <= count as f64 {
                let (low, high) = self.sampling.edges(bin);
                return Some(match high {
                    Time::NEVER => Time::NEVER,
                    _ => Time(low.0 + ((high.0 - low.0) as f64 * left / count as f64) as u64),
                });
            }
            left -= count as f64;
        }
        together.last_key_value().map(|(&bin, _)| self.sampling.edges(bin).1)
    }

    /// Adds all counts to a digest.
    pub(crate) fn results(&self, digest: &mut Digest) {
        for (&period, s) in &self.samples {
            for word in [
                u64::from(period),
                s.created,
                s.created_bytes,
                s.created_at,
                s.delivered,
                s.latency.0,
                s.latency_min.0,
                s.latency_max.0,
                s.network.0,
                s.hops,
                s.ejected,
                s.ejected_bytes,
                s.ejected_created_at,
                s.ejected_latency.0,
            ] {
                digest.word(word);
            }
        }
        for (&at, &count) in &self.counts {
            digest.word(at);
            digest.word(count);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use odonata_engine::Plain;

    fn sampler(cycle: Option<Time>) -> Sampler {
        Sampler {
            on: Some(Sampling {
                traffic: 2,
                period: Time(1_000_000),
                periods: 3,
                histograms: 3,
                cycle,
            }),
            ..Sampler::default()
        }
    }

    fn packet(created: u64, injected: u64, arrival: u64) -> Delivery {
        Delivery {
            traffic: 2,
            created: Time(created),
            injected: Time(injected),
            arrival: Time(arrival),
            bytes: 10,
            hops: 3,
        }
    }

    #[test]
    fn a_packet_counts_in_the_period_of_its_creation_and_is_ejected_in_that_of_its_arrival() {
        let mut sampler = sampler(None);
        sampler.created::<Plain>(2, Time(900_000), 2, 20);
        sampler.created::<Plain>(1, Time(900_000), 2, 20);
        sampler.delivered::<Plain>(&packet(900_000, 950_000, 1_200_000));
        sampler.delivered::<Plain>(&packet(900_000, 1_100_000, 1_500_000));
        // After the last period, and of another traffic.
        sampler.created::<Plain>(2, Time(3_000_000), 1, 10);
        sampler.delivered::<Plain>(&packet(2_999_999, 2_999_999, 3_000_001));
        sampler.delivered::<Plain>(&Delivery {
            traffic: 0,
            ..packet(0, 0, 5)
        });
        let (first, second, third) = (sampler.sample(0), sampler.sample(1), sampler.sample(2));
        assert_eq!(
            (first.created, first.created_bytes, first.created_at),
            (2, 20, 1_800_000)
        );
        assert_eq!(
            (first.delivered, first.latency, first.network),
            (2, Time(900_000), Time(650_000))
        );
        assert_eq!(
            (first.latency_min, first.latency_max, first.hops),
            (Time(300_000), Time(600_000), 6)
        );
        assert_eq!((first.ejected, second.ejected, second.ejected_bytes), (0, 2, 20));
        assert_eq!((second.created, second.ejected_created_at), (0, 1_800_000));
        assert_eq!(second.ejected_latency, Time(900_000));
        assert_eq!((third.delivered, third.ejected, third.latency), (1, 0, Time(2)));
        let sampled = sampler.sampled().unwrap();
        assert_eq!(sampled.sum(0..3), first.plus(second).plus(third));
        assert_eq!(sampled.sum(1..2), second);
    }

    #[test]
    fn quantiles_are_exact_in_cycles_and_within_a_hundredth_without() {
        // Latencies 1 .. 900 ns, one packet each.
        for (cycle, error) in [(Some(Time::from_ns(1)), 0.0), (None, 0.008)] {
            let mut sampler = sampler(cycle);
            for latency in 1..=900u64 {
                sampler.delivered::<Plain>(&packet(5, 5, 5 + latency * 1_000));
            }
            let sampled = sampler.sampled().unwrap();
            for (q, exact) in [(0.5, 450_000.0), (0.99, 891_000.0), (1.0, 900_000.0)] {
                let got = sampled.quantile(0..1, q).unwrap().0 as f64;
                assert!((got - exact).abs() <= error * exact, "{cycle:?} {q}: {got}");
            }
            assert_eq!(sampled.quantile(1..3, 0.5), None);
        }
        let mut overflow = sampler(Some(Time(1)));
        overflow.delivered::<Plain>(&packet(0, 0, 1_000));
        assert_eq!(overflow.sampled().unwrap().quantile(0..1, 0.5), Some(Time::NEVER));
    }

    #[test]
    fn bins_hold_their_values_and_are_narrow() {
        let sampling = sampler(None).on.unwrap();
        for v in (0..5_000u64).chain([1 << 20, (1 << 40) + 12_345, u64::MAX >> 1, u64::MAX - 1]) {
            let bin = sampling.bin(Time(v));
            let (low, high) = sampling.edges(bin);
            assert!(
                bin < sampling.bins() && low.0 <= v && v < high.0,
                "{v}: {low:?} {high:?}"
            );
            assert!((high.0 - low.0) as f64 <= 1.0f64.max(v as f64 / 127.0), "{v}");
        }
    }

    #[test]
    fn parts_add_up() {
        let (mut a, mut b, mut both) = (sampler(None), sampler(None), sampler(None));
        for (i, sampler) in [(1, &mut a), (2, &mut b)] {
            for to in [sampler, &mut both] {
                to.created::<Plain>(2, Time(7 * i), 1, 10);
                to.delivered::<Plain>(&packet(7 * i, 9 * i, 1_000_000 * i));
            }
        }
        let mut sum = a.sampled().unwrap();
        sum.absorb(b.sampled().unwrap());
        assert_eq!(Some(sum), both.sampled());
    }
}

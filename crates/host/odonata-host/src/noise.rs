//! Noise of the operating system: detours that take the processor from a rank.
//!
//! A source of noise begins one detour in each of its periods. Work that begins at time t and needs the processor for w ends
//! when the rank has had it for w outside of detours. A detour while a rank waits costs nothing, unless it outlasts the wait
//! (T. Hoefler, T. Schneider, A. Lumsdaine, "Characterizing the influence of system noise on large-scale applications by
//! simulation", SC 2010). With a fixed duration d in each period P, work much longer than P takes P / (P - d) times as long,
//! which the benchmark FTQ measures (M. Sottile, R. Minnich, "Analysis of microbenchmarks for performance tuning of clusters",
//! Cluster 2004).
//!
//! Detour k of a rank is a function of (seed, rank, source, k) alone: there is no state to journal.

use crate::layout::{PartRanks, cells};
use crate::settings::{Noise, NoiseDurations, NoiseTiming};
use odonata_engine::random::Purpose;
use odonata_engine::{SparseStore, Stream, Time};

/// Longest work, in periods of the fastest source, whose detours are drawn one by one; the part before has the mean.
const MOST_PERIODS: u64 = 1 << 16;

/// The noise of the ranks of a part.
#[derive(Debug)]
pub(crate) struct OsNoise {
    sources: Vec<Noise>,
    /// The random numbers of each rank; empty without sources.
    streams: SparseStore<Stream>,
}

impl OsNoise {
    /// The noise of `sources` at `ranks`, whose owners name their streams in a run with `seed`.
    pub(crate) fn new(sources: &[Noise], ranks: &PartRanks, seed: u64, owners: &[u64]) -> OsNoise {
        let stream = |rank: u32| Stream::new(seed, owners[rank as usize], Purpose::Noise);
        OsNoise {
            sources: sources.to_vec(),
            streams: match sources {
                [] => SparseStore::default(),
                _ => cells(ranks, stream),
            },
        }
    }

    /// Whether there is any.
    #[inline]
    pub(crate) fn is_on(&self) -> bool {
        !self.sources.is_empty()
    }

    /// The rest of the detour in which `rank` is at `now`.
    #[inline]
    pub(crate) fn rest(&self, rank: u32, now: Time) -> Time {
        const LEAST: Time = Time(1);
        match self.is_on() {
            true => self.end_of_work(rank, now, LEAST) - now - LEAST,
            false => Time::ZERO,
        }
    }

    /// When work of `rank` ends that begins at `start` and needs the processor for `work`.
    #[inline]
    pub(crate) fn end_of_work(&self, rank: u32, start: Time, work: Time) -> Time {
        match self.is_on() && work > Time::ZERO {
            true => end_among(&self.sources, self.streams.get(rank), start, work),
            false => start + work,
        }
    }
}

/// Work that begins at `start` and needs the processor for `work` ends then, among the detours of `sources`.
fn end_among(sources: &[Noise], stream: &Stream, start: Time, work: Time) -> Time {
    let shortest = sources.iter().map(|source| source.period.0).min().unwrap_or(1);
    let drawn = work.0.min(shortest.saturating_mul(MOST_PERIODS));
    let share: f64 = sources.iter().map(Noise::share).sum();
    let mut now = start + Time(((work.0 - drawn) as f64 / (1.0 - share)).round() as u64);
    let mut left = Time(drawn);
    // A detour of the period before may not be over.
    let mut coming = [0; Noise::MOST];
    for (next, source) in coming.iter_mut().zip(sources) {
        *next = (now.0 / source.period.0).saturating_sub(1);
    }
    let begin = now;
    loop {
        let heads = coming.iter().zip(sources).zip(0..);
        let heads = heads.map(|((&number, source), index)| (source.begin(stream, index, number), index));
        let Some((at, index)) = heads.min().filter(|&(at, _)| at < now + left) else {
            return now + left;
        };
        let source = &sources[index as usize];
        let length = source.length(stream, index, coming[index as usize]);
        coming[index as usize] += 1;
        if at < begin {
            now = now.max(at + length);
        } else {
            // A detour that comes during another one follows it.
            left = left.saturating_sub(at.saturating_sub(now));
            now = now.max(at) + length;
        }
    }
}

impl Noise {
    /// Share of the processor that it takes.
    fn share(&self) -> f64 {
        self.duration.0 as f64 / self.period.0 as f64
    }

    /// When detour `number` of source `index` begins.
    fn begin(&self, stream: &Stream, index: u64, number: u64) -> Time {
        let within = match self.timing {
            NoiseTiming::Random => below(stream.number((index << 56) | (2 * number)), self.period),
            NoiseTiming::Periodic => below(stream.number(index << 56 | 1 << 55), self.period),
            NoiseTiming::Synchronized => Time::ZERO,
        };
        Time(number.saturating_mul(self.period.0)) + within
    }

    /// The duration of detour `number` of source `index`, at most a period.
    fn length(&self, stream: &Stream, index: u64, number: u64) -> Time {
        match self.durations {
            NoiseDurations::Fixed => self.duration,
            NoiseDurations::Exponential => {
                let unit = (stream.number((index << 56) | (2 * number + 1)) >> 11) as f64 / (1u64 << 53) as f64;
                Time((-(1.0 - unit).ln() * self.duration.0 as f64).round() as u64).min(self.period)
            }
        }
    }
}

/// A time below `period` from 64 random bits.
fn below(bits: u64, period: Time) -> Time {
    Time(((u128::from(bits) * u128::from(period.0)) >> 64) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PERIOD: Time = Time::from_ns(1_000_000);
    const DETOUR: Time = Time::from_ns(50_000);

    fn source(timing: NoiseTiming, durations: NoiseDurations) -> Noise {
        Noise {
            period: PERIOD,
            duration: DETOUR,
            durations,
            timing,
        }
    }

    fn stream(rank: u64) -> Stream {
        Stream::new(1, rank, Purpose::Noise)
    }

    /// FTQ: n (P - d) of work take n P.
    #[test]
    fn work_takes_the_time_of_the_periods_that_hold_it() {
        let synchronized = [source(NoiseTiming::Synchronized, NoiseDurations::Fixed)];
        let periodic = [source(NoiseTiming::Periodic, NoiseDurations::Fixed)];
        for periods in [1, 7, 1_000] {
            let work = (PERIOD - DETOUR).times(periods);
            let all = PERIOD.times(periods);
            assert_eq!(end_among(&synchronized, &stream(3), Time::ZERO, work), all);
            // From the beginning of any detour on, it takes the same; from its end on, the detour less.
            for rank in 0..5 {
                let begin = periodic[0].begin(&stream(rank), 0, 4);
                assert_eq!(end_among(&periodic, &stream(rank), begin, work), begin + all);
                assert_eq!(end_among(&periodic, &stream(rank), begin + DETOUR, work), begin + all);
            }
        }
        // Work between two detours is not delayed, and work that begins in one waits for the rest of it.
        let between = end_among(&synchronized, &stream(3), DETOUR, PERIOD - DETOUR);
        assert_eq!(between, PERIOD);
        let inside = end_among(&synchronized, &stream(3), Time::from_ns(20_000), Time::from_ns(1));
        assert_eq!(inside, DETOUR + Time::from_ns(1));
    }

    #[test]
    fn very_long_work_takes_its_mean() {
        let sources = [source(NoiseTiming::Random, NoiseDurations::Fixed)];
        let work = Time(PERIOD.0 * 10_000_000);
        let took = end_among(&sources, &stream(0), Time::ZERO, work).0 as f64;
        let expected = work.0 as f64 / (1.0 - 0.05);
        assert!((took / expected - 1.0).abs() < 1e-6, "{took} {expected}");
    }

    /// In the first period nothing runs before: a rank is hit during w with probability w / P, and the latest of n is delayed by
    /// d (1 - (1 - w / P)^n) in the mean.
    #[test]
    fn the_latest_of_many_ranks_is_delayed_by_any_detour() {
        let sources = [source(NoiseTiming::Random, NoiseDurations::Fixed)];
        let work = Time(PERIOD.0 / 20);
        for ranks in [1u64, 8, 64] {
            let trials = 4_000;
            let latest: f64 = (0..trials)
                .map(|trial| {
                    let end = |rank| end_among(&sources, &stream(trial * ranks + rank), Time::ZERO, work);
                    ((0..ranks).map(end).max().unwrap() - work).0 as f64
                })
                .sum::<f64>()
                / trials as f64;
            let expected = DETOUR.0 as f64 * (1.0 - 0.95f64.powi(ranks as i32));
            // Four standard deviations of the mean of d times a Bernoulli number.
            let tolerance = 4.0 * 0.5 * DETOUR.0 as f64 / f64::from(trials as u32).sqrt();
            assert!((latest - expected).abs() < tolerance, "{ranks}: {latest} {expected}");
        }
    }

    /// The longest of n exponential detours has n-th harmonic number times their mean.
    #[test]
    fn the_longest_of_exponential_detours_has_their_harmonic_mean() {
        let one = source(NoiseTiming::Random, NoiseDurations::Exponential);
        for ranks in [1u64, 4, 64] {
            let trials = 4_000;
            let longest: f64 = (0..trials)
                .map(|k| (0..ranks).map(|rank| one.length(&stream(rank), 0, k).0).max().unwrap() as f64)
                .sum::<f64>()
                / trials as f64;
            let harmonic: f64 = (1..=ranks).map(|k| 1.0 / k as f64).sum();
            // The variance of the longest is below pi^2 / 6 of the squared mean.
            let tolerance = 4.0 * 1.29 * DETOUR.0 as f64 / f64::from(trials as u32).sqrt();
            let expected = harmonic * DETOUR.0 as f64;
            assert!((longest - expected).abs() < tolerance, "{ranks}: {longest} {expected}");
        }
    }

    #[test]
    fn sources_take_turns() {
        let mut other = source(NoiseTiming::Synchronized, NoiseDurations::Fixed);
        other.duration = Time::from_ns(30_000);
        let sources = [source(NoiseTiming::Synchronized, NoiseDurations::Fixed), other];
        let end = end_among(&sources, &stream(0), Time::ZERO, Time::from_ns(10));
        assert_eq!(end, Time::from_ns(80_010));
    }
}

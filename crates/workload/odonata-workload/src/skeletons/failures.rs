//! Failures: a Poisson process over simulated time, determined by the seed.
//!
//! Time is divided into spans of the mean gap M; in each span the process restarts, with exponential gaps from a
//! separate stream, up to the end of the span. The exponential distribution is memoryless, so this is one Poisson
//! process, and a few draws give the first failure after any time.

use odonata_units::{SplitMix64, Time};

use crate::Arrival;

#[derive(Clone, Copy, Debug)]
pub(in crate::skeletons) struct Failures {
    mean: Time,
    seed: u64,
}

impl Failures {
    /// Failures with a mean gap of `mean`, at least 1 us.
    pub(in crate::skeletons) fn new(mean: Time, seed: u64) -> Self {
        Failures { mean, seed }
    }

    /// The first failure after `time`; [`Time::BEYOND`] stands for never.
    pub(in crate::skeletons) fn after(&self, time: Time) -> Time {
        let mut span = time.0 / self.mean.0;
        loop {
            let Some(start) = span.checked_mul(self.mean.0).filter(|&start| start < Time::BEYOND.0) else {
                return Time::BEYOND;
            };
            let end = start.saturating_add(self.mean.0);
            let mut draws = SplitMix64::named(self.seed, [span]);
            let mut at = start;
            loop {
                at = at.saturating_add(Arrival::Exponential.gap(self.mean, draws.next_u64()).0);
                if at >= end {
                    break;
                }
                if at > time.0 {
                    return Time(at.min(Time::BEYOND.0));
                }
            }
            span += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 20,000 gaps: the mean of an exponential distribution is M with deviation M / sqrt(20,000), its variance M^2, and
    /// exp(-2) of the gaps are longer than 2 M.
    #[test]
    fn gaps_are_exponential() {
        let failures = Failures::new(Time::from_seconds(1.0), 11);
        let mut at = Time::ZERO;
        let gaps: Vec<f64> = (0..20_000)
            .map(|_| {
                let next = failures.after(at);
                let gap = (next - at).seconds();
                at = next;
                gap
            })
            .collect();
        let count = gaps.len() as f64;
        let mean = gaps.iter().sum::<f64>() / count;
        let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / count;
        let long = gaps.iter().filter(|&&gap| gap > 2.0).count() as f64 / count;
        assert!((mean - 1.0).abs() < 0.03, "{mean}");
        assert!((variance - 1.0).abs() < 0.1, "{variance}");
        assert!((long - (-2f64).exp()).abs() < 0.01, "{long}");
    }

    #[test]
    fn a_failure_is_the_same_for_all_ranks_and_depends_on_the_seed() {
        let failures = Failures::new(Time::from_seconds(10.0), 3);
        let first = failures.after(Time::ZERO);
        assert_eq!(failures.after(Time(first.0 / 2)), first);
        assert_eq!(failures.after(Time(first.0 - 1)), first);
        assert!(failures.after(first) > first);
        assert_ne!(Failures::new(Time::from_seconds(10.0), 4).after(Time::ZERO), first);
        // Rare failures come after the end of every run, and the shortest mean has failures.
        assert!(Failures::new(Time(1 << 62), 3).after(Time(1 << 61)) <= Time::BEYOND);
        assert!(failures.after(Time::BEYOND) <= Time::BEYOND);
        assert!(Failures::new(Time(1_000_000), 3).after(Time::ZERO) < Time(100_000_000));
    }
}

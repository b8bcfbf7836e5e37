//! Arrival processes: gaps between messages, and bursts.

use odonata_units::SplitMix64;
use odonata_units::{Number, Time};

/// Distribution of the times between the messages of a rank.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Arrival {
    /// All the same.
    Fixed,
    /// Exponential: messages arrive as a Poisson process.
    #[default]
    Exponential,
    /// In every cycle a message is created with probability `period / mean`, independently (a Bernoulli process;
    /// BookSim 2, `injection.cpp`). Messages are created at multiples of the period.
    Bernoulli {
        /// Length of a cycle; positive.
        period: Time,
    },
    /// A two-state Markov chain with a transition in every cycle: messages are created while it is on.
    OnOff(OnOff),
}

/// A source modulated by a Markov chain (the on/off process of BookSim 2, `injection.cpp`).
///
/// At the start of every cycle the chain goes from off to on with probability `alpha`, or from on to off with
/// probability `beta`; if it is then on, a message is created with probability `r1`. Messages per cycle: `r1 alpha /
/// (alpha + beta)`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OnOff {
    /// Length of a cycle; positive.
    pub period: Time,
    /// Probability per cycle from off to on: above 0, at most 1.
    pub alpha: f64,
    /// Probability per cycle from on to off: 0 to 1.
    pub beta: f64,
    /// Probability of a message per cycle that is on: above 0, at most 1.
    pub r1: f64,
}

impl OnOff {
    /// Maximum mean number of off periods between two messages: each is drawn.
    const MOST_SILENCES: f64 = 1_000.0;

    /// The process with `rate` messages per cycle, given two of its three parameters.
    ///
    /// # Errors
    /// The number of given parameters is not two, one is not a probability, or no third parameter gives the rate.
    pub fn with_rate(
        period: Time,
        rate: f64,
        alpha: Option<f64>,
        beta: Option<f64>,
        r1: Option<f64>,
    ) -> Result<OnOff, String> {
        let (alpha, beta, r1) = match (alpha, beta, r1) {
            (Some(alpha), Some(beta), None) => (alpha, beta, rate * (alpha + beta) / alpha),
            (Some(alpha), None, Some(r1)) => (alpha, alpha * (r1 - rate) / rate, r1),
            (None, Some(beta), Some(r1)) => (beta * rate / (r1 - rate), beta, r1),
            _ => {
                return Err(
                    "on-off arrivals: expected two of alpha, beta and r1; the third follows from the rate".into(),
                );
            }
        };
        let process = OnOff {
            period,
            alpha,
            beta,
            r1,
        };
        process
            .check()
            .map_err(|problem| format!("{problem} at {rate:.6} messages per cycle"))?;
        Ok(process)
    }

    fn check(&self) -> Result<(), String> {
        let OnOff { alpha, beta, r1, .. } = *self;
        if !(alpha > 0.0 && alpha <= 1.0 && (0.0..=1.0).contains(&beta) && r1 > 0.0 && r1 <= 1.0) {
            return Err(format!(
                "alpha = {}, beta = {}, r1 = {}: expected alpha and r1 above 0, at most 1, and beta from 0 to 1",
                Number(alpha),
                Number(beta),
                Number(r1)
            ));
        }
        // Off with probability o = beta / (beta + (1 - beta) r1), then a message with r1: o / (1 - o (1 - r1)) times
        // off.
        let silences = beta / r1;
        if silences > Self::MOST_SILENCES {
            return Err(format!(
                "beta = {}, r1 = {}: about {} bursts without a message for each with one, expected at most {}",
                Number(beta),
                Number(r1),
                Number(silences.round()),
                Self::MOST_SILENCES
            ));
        }
        Ok(())
    }

    /// Cycles from a cycle that is on to the next message.
    fn cycles(&self, draws: &mut SplitMix64) -> u64 {
        let OnOff { alpha, beta, r1, .. } = *self;
        // Outcomes of a cycle after one that was on: off, a message, or nothing; the last one repeats.
        let something = beta + (1.0 - beta) * r1;
        let mut cycles = 0u64;
        loop {
            cycles = cycles.saturating_add(geometric(something, draws.next_u64()));
            if draws.unit() * something >= beta {
                return cycles;
            }
            // The chain is off; the cycle in which it turns on again may have a message.
            cycles = cycles.saturating_add(geometric(alpha, draws.next_u64()));
            if draws.unit() < r1 {
                return cycles;
            }
        }
    }
}

/// Number of trials up to the first success with probability `p`: at least 1. `draw` is 64 fresh random bits.
fn geometric(p: f64, draw: u64) -> u64 {
    if p >= 1.0 {
        return 1;
    }
    // P(more than k trials) = (1 - p)^k, inverted. For a small p, computing 1 - p loses its digits.
    let none = if p < 1e-4 {
        -p - p * p / 2.0 - p * p * p / 3.0
    } else {
        ln(1.0 - p)
    };
    let trials = ln(positive_unit(draw)) / none;
    // The quotient is 0 for a draw of 1, and may exceed all integers for a tiny `p`.
    1u64.saturating_add(trials as u64)
}

/// Uniform in (0, 1].
fn positive_unit(draw: u64) -> f64 {
    ((draw >> 11) + 1) as f64 * (1.0 / (1u64 << 53) as f64)
}

impl Arrival {
    /// The time to the next message, at least 1 ps, with a mean gap of `mean`; `draw` is 64 fresh random bits. At most
    /// [`Time::BEYOND`].
    #[inline]
    pub fn gap(self, mean: Time, draw: u64) -> Time {
        let gap = match self {
            Arrival::Fixed => mean.0,
            Arrival::Exponential => {
                // In (0, 1], so the logarithm is finite: a gap is at most 36.7 means.
                (-ln(positive_unit(draw)) * mean.0 as f64 + 0.5) as u64
            }
            Arrival::Bernoulli { period } => {
                let p = period.0 as f64 / mean.0.max(1) as f64;
                period.0.saturating_mul(geometric(p, draw))
            }
            Arrival::OnOff(process) => process.period.0.saturating_mul(process.cycles(&mut SplitMix64(draw))),
        };
        Time(gap.clamp(1, Time::BEYOND.0))
    }

    /// The time from the start of a source at `start` to its first message. Fixed gaps begin with a random fraction, so
    /// sources are out of phase; the other processes are memoryless, and cycles are those of the whole run.
    pub fn first(self, start: Time, mean: Time, draw: u64) -> Time {
        let edge = |period: Time| Time(start.0.next_multiple_of(period.0.max(1)) - start.0);
        let first = match self {
            Arrival::Fixed => {
                let before = ((draw >> 11) as f64 * (1.0 / (1u64 << 53) as f64) * mean.0 as f64) as u64;
                mean.0.saturating_sub(before).max(1)
            }
            Arrival::Exponential => self.gap(mean, draw).0,
            Arrival::Bernoulli { period } => edge(period).0.saturating_add(self.gap(mean, draw).0),
            Arrival::OnOff(process) => {
                // On or off with the stationary probability.
                let mut draws = SplitMix64(draw);
                let (alpha, beta) = (process.alpha, process.beta);
                let mut cycles = 0u64;
                if draws.unit() * (alpha + beta) >= alpha {
                    cycles = geometric(alpha, draws.next_u64());
                }
                let cycles = cycles.saturating_add(process.cycles(&mut draws));
                edge(process.period)
                    .0
                    .saturating_add(process.period.0.saturating_mul(cycles))
            }
        };
        Time(first.min(Time::BEYOND.0))
    }
}

/// The natural logarithm of a positive, normal number, to a relative error of about 1e-15.
///
/// `f64::ln` may round differently in each C library, and a gap that differs by 1 ps changes the run; sums and products
/// are portable.
fn ln(x: f64) -> f64 {
    let bits = x.to_bits();
    let exponent = (bits >> 52) as i64 - 1023;
    let mantissa = f64::from_bits(bits & ((1 << 52) - 1) | 1023 << 52);
    // The mantissa is scaled to [sqrt(1/2), sqrt(2)), so s^2 < 0.0295 below.
    let high = mantissa >= std::f64::consts::SQRT_2;
    let (m, e) = if high {
        (mantissa / 2.0, exponent + 1)
    } else {
        (mantissa, exponent)
    };
    // ln m = 2 artanh s = 2 (s + s^3 / 3 + s^5 / 5 + ...); the omitted terms are below 1e-17 s.
    let s = (m - 1.0) / (m + 1.0);
    let mut series = 0.0;
    for k in (0..=10).rev() {
        series = series * (s * s) + 1.0 / f64::from(2 * k + 1);
    }
    e as f64 * std::f64::consts::LN_2 + 2.0 * s * series
}

/// Bursts: a source sends for `on` as without bursts, then is silent for `off`, repeatedly from the start of its job,
/// with all ranks in phase.
///
/// Gaps count burst time: a gap that does not end in one burst continues in the next. So the mean rate is `on / (on +
/// off)` of the rate without bursts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bursts {
    /// How long a burst lasts; positive.
    pub on: Time,
    /// From the end of a burst to the start of the next; positive.
    pub off: Time,
}

impl Bursts {
    /// Creation time of the message after the one at `at`, `gap` of burst time later, for a source that started at
    /// `start`. At most [`Time::BEYOND`].
    #[inline]
    pub fn after(&self, start: Time, at: Time, gap: Time) -> Time {
        let on = u128::from(self.on.0.max(1));
        let period = on + u128::from(self.off.0);
        let elapsed = u128::from(at.saturating_sub(start).0);
        let active = elapsed / period * on + (elapsed % period).min(on) + u128::from(gap.0);
        let next = u128::from(start.0) + active / on * period + active % on;
        Time(next.min(u128::from(Time::BEYOND.0)) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::draws;
    use super::*;

    #[test]
    fn exponential_gaps_have_the_mean_and_the_deviation_that_was_asked_for() {
        let mean = Time::from_ns(1_000);
        let gaps: Vec<f64> = draws()
            .take(100_000)
            .map(|d| Arrival::Exponential.gap(mean, d).nanoseconds())
            .collect();
        let average = gaps.iter().sum::<f64>() / 1e5;
        let deviation = (gaps.iter().map(|g| (g - average).powi(2)).sum::<f64>() / 1e5).sqrt();
        // Both equal the mean itself; the standard errors are 3 and 4.5 ns.
        assert!(
            (average - 1_000.0).abs() < 20.0 && (deviation - 1_000.0).abs() < 30.0,
            "{average} {deviation}"
        );
        assert_eq!(Arrival::Fixed.gap(mean, 77), mean);
        assert_eq!(Arrival::Fixed.gap(Time::ZERO, 77), Time::from_ps(1));
        assert_eq!(Arrival::Exponential.gap(mean, u64::MAX), Time::from_ps(1));
        // -ln(2^-53) = 36.7368 means.
        assert_eq!(Arrival::Exponential.gap(mean, 0).0, 36_736_801);
    }

    #[test]
    fn the_logarithm_is_that_of_the_library_to_a_few_ulp() {
        for draw in draws().take(10_000) {
            let x = ((draw >> 11) + 1) as f64 / (1u64 << 53) as f64;
            assert!((ln(x) - x.ln()).abs() <= 1e-15 * x.ln().abs().max(1.0), "{x}");
        }
    }

    #[test]
    fn messages_fall_into_bursts_and_gaps_go_on_in_the_next() {
        let ns = Time::from_ns;
        let (bursts, start) = (
            Bursts {
                on: ns(10),
                off: ns(30),
            },
            ns(1_000),
        );
        // Gaps of 4 ns: 4, 8, then 2 left of the burst and 2 in the next, which starts at 40.
        let mut at = start;
        let times: Vec<u64> = std::iter::from_fn(|| {
            at = bursts.after(start, at, ns(4));
            Some((at - start).0 / 1_000)
        })
        .take(6)
        .collect();
        assert_eq!(times, [4, 8, 42, 46, 80, 84]);
        // 1,000 gaps of 1 ns are 100 bursts of 10 ns; the last message is the first of burst number 100.
        let mut at = start;
        for _ in 0..1_000 {
            at = bursts.after(start, at, ns(1));
            assert!((at - start).0 % 40_000 < 10_000);
        }
        assert_eq!(at - start, ns(4_000));
        // A gap can span many bursts.
        assert_eq!(bursts.after(start, start, ns(25)), start + ns(85));
        // A time that overflows is after the end of every run, never at it.
        assert_eq!(bursts.after(start, start, Time::LONGEST), Time::BEYOND);
        assert_eq!(Arrival::Exponential.gap(Time::LONGEST, 0), Time::BEYOND);
    }

    /// Gaps in cycles, of 1 ns each.
    fn cycles(arrival: Arrival, mean: Time, count: usize) -> Vec<f64> {
        let gap = |draw| arrival.gap(mean, draw).0;
        let gaps: Vec<u64> = draws().take(count).map(gap).collect();
        assert!(gaps.iter().all(|gap| gap % 1_000 == 0), "gaps are whole cycles");
        gaps.into_iter().map(|gap| gap as f64 / 1e3).collect()
    }

    fn mean_and_variance(values: &[f64]) -> (f64, f64) {
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        (mean, values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / n)
    }

    #[test]
    fn bernoulli_gaps_are_geometric() {
        for p in [0.02, 0.3, 0.9] {
            let period = Time::from_ns(1);
            let mean = Time((1_000.0 / p) as u64);
            let gaps = cycles(Arrival::Bernoulli { period }, mean, 100_000);
            // Mean 1/p, variance (1 - p)/p^2, and P(gap = 1) = p.
            let (average, variance) = mean_and_variance(&gaps);
            let expected = (1.0 - p) / (p * p);
            assert!((average * p - 1.0).abs() < 0.02, "{p}: mean {average}");
            assert!(
                (variance / expected - 1.0).abs() < 0.06,
                "{p}: variance {variance}, not {expected}"
            );
            let ones = gaps.iter().filter(|&&gap| gap == 1.0).count() as f64 / 1e5;
            assert!((ones - p).abs() < 5.0 * (p * (1.0 - p) / 1e5).sqrt(), "{p}: {ones}");
        }
        // As many messages as cycles: one per cycle.
        let always = Arrival::Bernoulli {
            period: Time::from_ns(2),
        };
        assert!(
            draws()
                .take(1_000)
                .all(|draw| always.gap(Time::from_ns(2), draw) == Time::from_ns(2))
        );
        // The first message is on a clock edge, too.
        let start = Time::from_ps(12_345);
        for draw in draws().take(1_000) {
            assert_eq!((start + always.first(start, Time::from_ns(9), draw)).0 % 2_000, 0);
        }
    }

    #[test]
    fn geometric_draws_keep_their_mean_where_the_probability_is_tiny() {
        for p in [1e-3f64, 9.9e-5, 1e-7, 1e-12] {
            let sum: f64 = draws().take(40_000).map(|draw| geometric(p, draw) as f64).sum();
            assert!((sum / 4e4 * p - 1.0).abs() < 0.025, "{p}: {}", sum / 4e4);
        }
        assert_eq!(geometric(1.0, 0), 1);
        assert_eq!(geometric(0.5, u64::MAX), 1);
    }

    #[test]
    fn on_off_sources_have_the_rate_and_the_burstiness_of_their_chain() {
        let period = Time::from_ns(1);
        let rate = 0.05;
        let process = OnOff::with_rate(period, rate, Some(0.01), Some(0.04), None).unwrap();
        // r1 = rate (alpha + beta) / alpha
        assert!((process.r1 - 0.25).abs() < 1e-12);
        let gaps = cycles(Arrival::OnOff(process), Time::from_ns(20), 200_000);
        let (average, variance) = mean_and_variance(&gaps);
        assert!((average * rate - 1.0).abs() < 0.03, "{average}");
        // The same chain, cycle by cycle, as in BookSim.
        let mut random = draws().map(|draw| (draw >> 11) as f64 / (1u64 << 53) as f64);
        let mut unit = || random.next().unwrap();
        let (mut on, mut since) = (true, 0.0);
        let mut reference = Vec::new();
        while reference.len() < 50_000 {
            on = if on {
                unit() >= process.beta
            } else {
                unit() < process.alpha
            };
            since += 1.0;
            if on && unit() < process.r1 {
                reference.push(since);
                since = 0.0;
            }
        }
        let (expected_mean, expected_variance) = mean_and_variance(&reference);
        assert!(
            (average / expected_mean - 1.0).abs() < 0.04,
            "{average} {expected_mean}"
        );
        assert!(
            (variance / expected_variance - 1.0).abs() < 0.1,
            "{variance} {expected_variance}"
        );
        assert!(
            variance > 3.0 * (1.0 - rate) / (rate * rate),
            "burstier than a Bernoulli process"
        );
    }

    #[test]
    fn two_parameters_of_an_on_off_source_give_the_third() {
        let of = |alpha, beta, r1| OnOff::with_rate(Time::from_ns(1), 0.2, alpha, beta, r1);
        for process in [
            of(Some(0.1), Some(0.1), None),
            of(Some(0.1), None, Some(0.4)),
            of(None, Some(0.1), Some(0.4)),
        ] {
            let OnOff { alpha, beta, r1, .. } = process.unwrap();
            assert!((alpha - 0.1).abs() + (beta - 0.1).abs() + (r1 - 0.4).abs() < 1e-9);
        }
        assert!(of(Some(0.1), None, None).is_err() && of(Some(0.1), Some(0.1), Some(0.4)).is_err());
        let error = of(Some(0.1), Some(0.9), None).unwrap_err();
        assert!(error.contains("r1 = 2") && error.contains("at most 1"), "{error}");
        assert!(of(None, Some(0.1), Some(0.1)).is_err(), "less than the rate");
        assert!(of(Some(f64::NAN), Some(0.1), None).is_err() && of(Some(0.0), Some(0.1), None).is_err());
        let process = OnOff::with_rate(Time::from_ns(1), 1e-6, Some(0.5), Some(0.5), None);
        assert!(process.unwrap_err().contains("bursts without a message"));
    }
}

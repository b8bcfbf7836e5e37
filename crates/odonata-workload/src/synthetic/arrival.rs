//! When a source sends: gaps between messages, and bursts of them.

use odonata_units::Time;

/// How the times between the messages of a rank are distributed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Arrival {
    /// All the same.
    Fixed,
    /// Exponential: messages arrive as a Poisson process.
    #[default]
    Exponential,
}

impl Arrival {
    /// The time to the next message, 1 ps at least, for gaps of `mean` on average; `draw` is 64
    /// random bits, used up.
    #[inline]
    pub fn gap(self, mean: Time, draw: u64) -> Time {
        let gap = match self {
            Arrival::Fixed => mean.0,
            Arrival::Exponential => {
                // In (0, 1], so that the logarithm is finite: a gap is 36.7 means at most.
                let uniform = ((draw >> 11) + 1) as f64 * (1.0 / (1u64 << 53) as f64);
                (-ln(uniform) * mean.0 as f64 + 0.5) as u64
            }
        };
        Time(gap.max(1))
    }
}

/// The natural logarithm of a positive, normal number, to about 1e-15 of its value.
///
/// `f64::ln` may round differently with every C library, and a gap that differs by 1 ps makes a
/// different run; sums and products do not.
fn ln(x: f64) -> f64 {
    let bits = x.to_bits();
    let exponent = (bits >> 52) as i64 - 1023;
    let mantissa = f64::from_bits(bits & ((1 << 52) - 1) | 1023 << 52);
    // The mantissa is brought to [sqrt(1/2), sqrt(2)), so that s^2 < 0.0295 below.
    let high = mantissa >= std::f64::consts::SQRT_2;
    let (m, e) = if high {
        (mantissa / 2.0, exponent + 1)
    } else {
        (mantissa, exponent)
    };
    // ln m = 2 artanh s = 2 (s + s^3 / 3 + s^5 / 5 + ...); the terms left out are below 1e-17 s.
    let s = (m - 1.0) / (m + 1.0);
    let mut series = 0.0;
    for k in (0..=10).rev() {
        series = series * (s * s) + 1.0 / f64::from(2 * k + 1);
    }
    e as f64 * std::f64::consts::LN_2 + 2.0 * s * series
}

/// Sending in bursts: for `on` a source sends as it would without them, for `off` not at all, again and
/// again from the start of its job, all ranks in step.
///
/// Gaps are time spent in bursts: a gap that does not end in one goes on in the next. The mean rate is
/// therefore `on / (on + off)` of that without bursts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bursts {
    /// How long a burst lasts; positive.
    pub on: Time,
    /// From the end of a burst to the start of the next; positive.
    pub off: Time,
}

impl Bursts {
    /// When the message after the one at `at` is created, `gap` of burst time later, for a source that
    /// started at `start`. At most [`Time::LONGEST`].
    #[inline]
    pub fn after(&self, start: Time, at: Time, gap: Time) -> Time {
        let on = u128::from(self.on.0.max(1));
        let period = on + u128::from(self.off.0);
        let elapsed = u128::from(at.saturating_sub(start).0);
        let active = elapsed / period * on + (elapsed % period).min(on) + u128::from(gap.0);
        let next = u128::from(start.0) + active / on * period + active % on;
        Time(next.min(u128::from(Time::LONGEST.0)) as u64)
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
        // Both are the mean itself; their standard errors are 3 and 4.5 ns.
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
        // Gaps of 4 ns: 4, 8, then 2 left of the burst and 2 into the next, which starts at 40.
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
        // A gap of many bursts is one of them.
        assert_eq!(bursts.after(start, start, ns(25)), start + ns(85));
        assert_eq!(bursts.after(start, start, Time::LONGEST), Time::LONGEST);
    }
}

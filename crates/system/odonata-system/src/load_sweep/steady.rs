//! The default method: batch means until the confidence interval is small enough.

use super::method::{Judge, Refusal, Span, Verdict, Window};
use super::periods::{Periods, in_flight, mean, sum, too_long};
use odonata_units::Time;
use serde::{Deserialize, Serialize};

/// Steady state by batch means.
///
/// A period has `packets_per_period` packets on average, and lasts at least three times the latency of the idle
/// network. *Warm*: the mean latency of arriving packets and the accepted rate have changed by less than `change` from
/// period to period, `steady_periods` times in a row; or `max_warmup` periods are over. *Measured*: periods whose
/// packets have all arrived, each a batch, until the half-width of the 95% confidence interval of the mean latency
/// (Student's t over batch means: A. Law, "Simulation Modeling and Analysis", 2015, section 9.5.3) is at most
/// `precision` times the mean, with 5 to `max_periods` of them. *Saturated*: less than 93%
/// of the created traffic arrived in each of three periods in a row. Or the mean latency, including packets in flight,
/// exceeds `latency_threshold` times that of the idle network. Or less than 95% of the traffic created in the measured
/// periods was accepted in an equal time.
///
/// Batches are contiguous, so close to saturation they are correlated, and the interval is somewhat too narrow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, smart_default::SmartDefault)]
#[serde(default, deny_unknown_fields)]
pub struct Steady {
    /// Length of a period; `None` derives it from the number of packets.
    pub sample_period: Option<Span>,
    /// Packets of a period, on average.
    #[default = 4_000]
    pub packets_per_period: u32,
    /// Largest relative change of a steady mean.
    #[default = 0.05]
    pub change: f64,
    /// Number of steady periods in a row.
    #[default = 3]
    pub steady_periods: u32,
    /// Maximum number of periods before the measured ones.
    #[default = 30]
    pub max_warmup: u32,
    /// Half-width of the confidence interval, relative to the mean.
    #[default = 0.02]
    pub precision: f64,
    /// Most measured periods.
    #[default = 200]
    pub max_periods: u32,
    /// Threshold of the mean latency, in multiples of that of the idle network.
    #[default = 50.0]
    pub latency_threshold: f64,
}

/// The 97.5% quantile of Student's t distribution with `freedom` degrees of freedom, within 0.2%.
fn student(freedom: usize) -> f64 {
    const TABLE: [f64; 10] = [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228];
    match freedom.checked_sub(1) {
        None => f64::INFINITY,
        Some(i) if i < TABLE.len() => TABLE[i],
        // The first terms of its expansion around the normal quantile z: z + (z^3 + z) / 4 n + ...
        Some(_) => 1.95996 + 2.37228 / freedom as f64 + 2.8225 / (freedom * freedom) as f64,
    }
}

impl Steady {
    /// Minimum length of a period, in latencies of the idle network.
    const LATENCIES: u64 = 3;
    /// Minimum number of batches for an interval.
    const FEWEST: u32 = 5;
    /// The smallest accepted share of the created traffic, over three periods and in the measured ones.
    const KEEPS_UP: f64 = 0.93;
    const ACCEPTED: f64 = 0.95;

    pub(super) fn check(&self, cycle: Option<Time>) -> Result<(), Refusal> {
        if let Some(period) = self.sample_period {
            period.check("sample-period", cycle)?;
        }
        let fraction = |value: f64| value > 0.0 && value < 1.0;
        if !fraction(self.change) {
            return Err(("change", format!("a change of {}", self.change), "above 0, below 1"));
        }
        if !fraction(self.precision) {
            return Err((
                "precision",
                format!("a precision of {}", self.precision),
                "above 0, below 1",
            ));
        }
        if !(self.latency_threshold > 1.0 && self.latency_threshold <= 1e6) {
            let problem = format!("a latency threshold of {}", self.latency_threshold);
            return Err((
                "latency-threshold",
                problem,
                "above 1, at most 1e6 (times the latency of the idle network)",
            ));
        }
        if !(10..=10_000_000).contains(&self.packets_per_period) {
            let problem = format!("{} packets in a period", self.packets_per_period);
            return Err(("packets-per-period", problem, "10 to 10,000,000"));
        }
        let periods = 1..=1_000;
        let enough = (Self::FEWEST..=1_000).contains(&self.max_periods);
        if !periods.contains(&self.max_warmup) || !periods.contains(&self.steady_periods) || !enough {
            let problem = format!(
                "{} steady periods, at most {} before and {} measured",
                self.steady_periods, self.max_warmup, self.max_periods
            );
            return Err(("max-samples", problem, "1 to 1,000 each, and at least 5 measured"));
        }
        Ok(())
    }

    /// Checks that an explicit period is long enough for an idle latency of `idle`: traffic created in a shorter one
    /// has not arrived at its end, which would look like saturation.
    pub(super) fn check_period(&self, idle: Time, cycle: Option<Time>) -> Result<(), Refusal> {
        let least = Time(idle.0.saturating_mul(Self::LATENCIES));
        match self.sample_period.and_then(|period| period.time(cycle)) {
            Some(period) if period < least => Err((
                "sample-period",
                format!("a period of {period}, while a packet of the idle network takes {idle}"),
                "at least three times that latency",
            )),
            _ => Ok(()),
        }
    }

    /// Default length of a period, for this rate of created packets and an idle latency of `zero_load`.
    pub(super) fn period(&self, zero_load: Time, packets_per_s: f64) -> Time {
        let packets = Time::from_seconds(f64::from(self.packets_per_period) / packets_per_s.max(1e-3));
        packets
            .max(Time(zero_load.0.saturating_mul(Self::LATENCIES)))
            .max(Time(1))
    }

    pub(super) fn judge(&self, zero_load: Time) -> SteadyJudge {
        SteadyJudge {
            rule: self.clone(),
            threshold: self.latency_threshold * zero_load.0 as f64,
            steady: 0,
        }
    }
}

pub(super) struct SteadyJudge {
    rule: Steady,
    /// Picoseconds.
    threshold: f64,
    /// Number of steady periods in a row.
    steady: u32,
}

impl SteadyJudge {
    /// The reason why the load is too high, if it is.
    fn saturated(&self, periods: &dyn Periods) -> Option<String> {
        let ended = periods.ended();
        let last = periods.sample(ended - 1);
        let (waiting, age) = in_flight(periods);
        let all = (last.ejected_latency.0 as f64 + age) / (last.ejected as f64 + waiting).max(1.0);
        if all > self.threshold {
            return Some(too_long(periods, all, self.threshold));
        }
        // The first period fills the network.
        let late = |k: u32| {
            let one = periods.sample(k);
            (one.ejected_bytes as f64) < Steady::KEEPS_UP * one.created_bytes as f64
        };
        (ended > 4 && (ended - 3..ended).all(late)).then(|| {
            format!(
                "less than {}% of the created traffic arrived in three periods",
                Steady::KEEPS_UP * 100.0
            )
        })
    }

    /// Adds the measured periods whose packets have all arrived, and decides whether they suffice.
    fn measure(&self, periods: &dyn Periods, first: u32, window: &mut Window) -> Verdict {
        let most = first + self.rule.max_periods;
        let arrived = |&k: &u32| {
            let one = periods.sample(k);
            one.delivered >= one.created
        };
        let end = first + (first..periods.ended().min(most)).take_while(arrived).count() as u32;
        let batches: Vec<f64> = (first..end)
            .map(|k| periods.sample(k))
            .filter(|one| one.delivered > 0)
            .map(|one| mean(one.latency, one.delivered))
            .collect();
        if end - first < Steady::FEWEST || batches.len() < 2 {
            return Verdict::GoOn;
        }
        let n = batches.len() as f64;
        let average = batches.iter().sum::<f64>() / n;
        let variance = batches.iter().map(|batch| (batch - average).powi(2)).sum::<f64>() / (n - 1.0);
        let half_width = student(batches.len() - 1) * (variance / n).sqrt();
        window.half_width = Some(half_width);
        window.converged = half_width <= self.rule.precision * average;
        if !window.converged && end < most {
            return Verdict::GoOn;
        }
        window.end = Some(end);
        let measured = sum(periods, first, end);
        if (measured.ejected_bytes as f64) < Steady::ACCEPTED * measured.created_bytes as f64 {
            let share = 100.0 * measured.ejected_bytes as f64 / measured.created_bytes as f64;
            return Verdict::Saturated(format!("{share:.1}% of the created traffic was accepted"));
        }
        Verdict::Measured
    }
}

impl Judge for SteadyJudge {
    fn judge(&mut self, periods: &dyn Periods, window: &mut Window) -> Verdict {
        if let Some(why) = self.saturated(periods) {
            return Verdict::Saturated(why);
        }
        if let Some(first) = window.first {
            return self.measure(periods, first, window);
        }
        let ended = periods.ended();
        if ended >= 2 {
            let (before, now) = (periods.sample(ended - 2), periods.sample(ended - 1));
            let same = |now: f64, before: f64| (now - before).abs() <= self.rule.change * now.abs();
            let latency = same(
                mean(now.ejected_latency, now.ejected),
                mean(before.ejected_latency, before.ejected),
            );
            let accepted = same(now.ejected_bytes as f64, before.ejected_bytes as f64);
            self.steady = if latency && accepted && now.ejected > 0 {
                self.steady + 1
            } else {
                0
            };
        }
        if self.steady >= self.rule.steady_periods || ended >= self.rule.max_warmup {
            window.first = Some(ended);
        }
        Verdict::GoOn
    }
}

#[cfg(test)]
mod tests {
    use super::super::periods::tests::verdicts;
    use super::*;

    fn play(rule: Steady, latencies: impl IntoIterator<Item = (u64, u64)>) -> (Vec<Verdict>, Window) {
        verdicts(rule.judge(Time(20)), latencies)
    }

    #[test]
    fn a_constant_latency_needs_three_steady_and_five_measured_periods() {
        let (verdicts, window) = play(Steady::default(), [(100, 25); 99]);
        assert_eq!(verdicts.last(), Some(&Verdict::Measured));
        // Periods 1, 2, 3 are steady; 4 to 8 are measured.
        assert_eq!((window.first, window.end, window.converged), (Some(4), Some(9), true));
        assert_eq!(window.half_width, Some(0.0));
    }

    #[test]
    fn periods_are_added_until_the_confidence_interval_is_as_narrow_as_asked_for() {
        // Alternating means 24 and 26: standard deviation s = sqrt(n / (n - 1)) for even n, half-width t s / sqrt(n).
        let latencies = || (0..99).map(|k| (100, 24 + 2 * (k % 2)));
        let rule = |precision| Steady {
            precision,
            change: 0.1,
            max_periods: 40,
            ..Steady::default()
        };
        let (_, window) = play(rule(0.02), latencies());
        let measured = window.end.unwrap() - window.first.unwrap();
        // 0.02 x 25 = 0.5: t(18) sqrt(1 / 18) = 0.495 is the first below it.
        assert!((17..=20).contains(&measured), "{measured}");
        assert!(window.converged && window.half_width.unwrap() <= 0.5);
        let (verdicts, window) = play(rule(1e-3), latencies());
        assert_eq!(verdicts.last(), Some(&Verdict::Measured));
        assert_eq!(
            (window.end.unwrap() - window.first.unwrap(), window.converged),
            (40, false)
        );
    }

    #[test]
    fn a_growing_backlog_is_saturation() {
        let (verdicts, _) = play(
            Steady {
                latency_threshold: 1e6,
                ..Steady::default()
            },
            [(90, 25); 99],
        );
        assert_eq!(verdicts.len(), 5);
        assert!(matches!(verdicts.last(), Some(Verdict::Saturated(why)) if why.contains("three periods")));
        // Packets that wait 500 and more exceed 20 x 20 = 400.
        let low = Steady {
            latency_threshold: 20.0,
            ..Steady::default()
        };
        let (verdicts, _) = play(low, [(10, 25); 99]);
        assert!(matches!(verdicts.last(), Some(Verdict::Saturated(why)) if why.contains("threshold")));
        assert_eq!(verdicts.len(), 1);
    }

    #[test]
    fn quantiles_of_student() {
        for (freedom, exact) in [
            (1, 12.706),
            (10, 2.228),
            (11, 2.201),
            (20, 2.086),
            (39, 2.0227),
            (1_000, 1.9623),
        ] {
            assert!(
                (student(freedom) - exact).abs() < 0.002 * exact,
                "{freedom}: {}",
                student(freedom)
            );
        }
    }

    #[test]
    fn a_period_has_packets_enough_and_is_longer_than_a_packet_takes() {
        let rule = Steady::default();
        // 4,000 packets at 1e9 per second: 4 us.
        assert_eq!(rule.period(Time::from_ns(100), 1e9), Time::from_ns(4_000));
        assert_eq!(rule.period(Time::from_ns(2_000), 1e9), Time::from_ns(6_000));
        for bad in [
            Steady {
                change: 0.0,
                ..rule.clone()
            },
            Steady {
                precision: f64::NAN,
                ..rule.clone()
            },
            Steady {
                max_periods: 4,
                ..rule.clone()
            },
            Steady {
                latency_threshold: 1.0,
                ..rule.clone()
            },
            Steady {
                packets_per_period: 0,
                ..rule
            },
        ] {
            assert!(bad.check(None).is_err(), "{bad:?}");
        }
    }
}

//! The method of BookSim 2 (`trafficmanager.cpp`, `sim_type = latency`).

use super::method::{Judge, Refusal, Span, Verdict, Window};
use super::periods::{Periods, in_flight, mean, sum, too_long};
use odonata_units::Time;
use serde::{Deserialize, Serialize};

/// The windows and the stopping rule of BookSim 2.
///
/// The first `warmup_periods` are not measured. Then periods are added up until three in a row have changed the mean
/// latency and the accepted rate by at most 5% each, or until there are `max_samples` periods in total. The run waits
/// for every packet created in the measured periods, while further ones are created. The load is too high if, at the
/// end of a period, the mean latency over arrived packets and packets in flight exceeds `latency_threshold`, or if less
/// than 93% of the offered load was accepted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BookSim {
    /// Length of a period.
    pub sample_period: Span,
    /// Periods before the measured ones.
    pub warmup_periods: u32,
    /// Maximum number of periods.
    pub max_samples: u32,
    /// Latency threshold, including packets in flight.
    pub latency_threshold: Span,
}

impl BookSim {
    /// The largest relative change of a mean that counts as steady (`stopping_thres`, `acc_stopping_thres`).
    const CHANGE: f64 = 0.05;
    /// Steady periods in a row.
    const CONVERGED: u32 = 3;
    /// The smallest accepted share of the offered load without saturation.
    pub(super) const ACCEPTED: f64 = 0.93;

    pub(super) fn check(&self, cycle: Option<Time>) -> Result<(), Refusal> {
        self.sample_period.check("sample-period", cycle)?;
        self.latency_threshold.check("latency-threshold", cycle)?;
        if self.warmup_periods == 0 || self.warmup_periods >= self.max_samples || self.max_samples > 1_000 {
            let problem = format!("{} warm-up periods of {} in all", self.warmup_periods, self.max_samples);
            return Err((
                "warmup-periods",
                problem,
                "at least 1 and fewer than max-samples, which are 1,000 at most",
            ));
        }
        Ok(())
    }

    /// The judge for a latency threshold.
    pub(super) fn judge(&self, threshold: Time) -> BookSimJudge {
        BookSimJudge {
            rule: self.clone(),
            threshold,
            before: None,
            converged: 0,
        }
    }
}

pub(super) struct BookSimJudge {
    rule: BookSim,
    threshold: Time,
    /// Mean latency and accepted rate at the end of the last period.
    before: Option<(f64, f64)>,
    converged: u32,
}

impl Judge for BookSimJudge {
    fn judge(&mut self, periods: &dyn Periods, window: &mut Window) -> Verdict {
        let ended = periods.ended();
        // During warm-up, the sums are reset before every second period.
        let first = window.first.unwrap_or((ended - 1) / 2 * 2);
        let until = window.end.unwrap_or(ended);
        let counted = sum(periods, first, until);
        let (latency, arrived) = match window.first {
            None => (counted.ejected_latency, counted.ejected),
            Some(_) => (counted.latency, counted.delivered),
        };
        let (waiting, age) = in_flight(periods);
        let all = (latency.0 as f64 + age) / (arrived as f64 + waiting).max(1.0);
        if all > self.threshold.0 as f64 {
            return Verdict::Saturated(too_long(periods, all, self.threshold.0 as f64));
        }
        if let Some(end) = window.end {
            let measured = sum(periods, window.first.unwrap_or(end), end);
            return if measured.delivered < measured.created {
                Verdict::GoOn
            } else {
                Verdict::Measured
            };
        }
        let now = (
            mean(latency, arrived),
            counted.ejected_bytes as f64 / f64::from(until - first),
        );
        // A change from zero counts as steady in BookSim: the quotient is NaN.
        let steady = |now: f64, before: f64| {
            let change = ((now - before) / now).abs();
            change <= BookSim::CHANGE || change.is_nan()
        };
        let same = self
            .before
            .is_some_and(|(latency, accepted)| steady(now.0, latency) && steady(now.1, accepted));
        self.before = Some(now);
        if window.first.is_none() {
            if ended >= self.rule.warmup_periods {
                window.first = Some(ended);
            }
            return Verdict::GoOn;
        }
        self.converged = if same { self.converged + 1 } else { 0 };
        window.converged = self.converged >= BookSim::CONVERGED;
        if window.converged || ended >= self.rule.max_samples {
            window.end = Some(ended);
            let measured = sum(periods, first, ended);
            if measured.delivered >= measured.created {
                return Verdict::Measured;
            }
        }
        Verdict::GoOn
    }
}

#[cfg(test)]
mod tests {
    use super::super::periods::tests::verdicts;
    use super::*;

    fn rule() -> BookSim {
        BookSim {
            sample_period: Span::Time(Time(1_000)),
            warmup_periods: 3,
            max_samples: 12,
            latency_threshold: Span::Cycles(500),
        }
    }

    /// The verdict after each period, with this number of packets ejected at that latency.
    fn play(latencies: impl IntoIterator<Item = (u64, u64)>) -> (Vec<Verdict>, Window) {
        verdicts(rule().judge(Time(500)), latencies)
    }

    #[test]
    fn a_steady_run_has_three_warm_up_and_three_measured_periods() {
        let (verdicts, window) = play([(100, 20); 20]);
        assert_eq!((verdicts.len(), verdicts.last()), (6, Some(&Verdict::Measured)));
        assert_eq!((window.first, window.end, window.converged), (Some(3), Some(6), true));
    }

    #[test]
    fn a_run_that_keeps_changing_ends_after_twelve_periods() {
        // With doubling latencies, the mean over k measured periods never changes by less than 5%.
        let (verdicts, window) = play((0..20).map(|k| (100, 1 << (k / 2))));
        assert_eq!((verdicts.len(), verdicts.last()), (12, Some(&Verdict::Measured)));
        assert_eq!((window.first, window.end, window.converged), (Some(3), Some(12), false));
    }

    #[test]
    fn packets_that_wait_count_towards_the_threshold() {
        // Half of the packets never arrive: 50 (k + 1) wait for (k + 1) / 2 periods on average when period k ends.
        let (verdicts, window) = play([(50, 20); 20]);
        assert!(matches!(verdicts.last(), Some(Verdict::Saturated(_))), "{verdicts:?}");
        // k = 0: (50 x 20 + 50 x 500) / 100 = 260. k = 1: (100 x 20 + 50 x 1,500 + 50 x 500) / 200 = 510.
        assert_eq!((verdicts.len(), window.first), (2, None));
    }

    #[test]
    fn parameters_out_of_range_are_refused() {
        let cycle = Some(Time(1));
        assert!(rule().check(cycle).is_ok());
        assert!(rule().check(None).unwrap_err().1.contains("no clock"));
        for (warmup_periods, max_samples) in [(0, 12), (12, 12), (3, 1_001)] {
            let bad = BookSim {
                warmup_periods,
                max_samples,
                ..rule()
            };
            assert!(bad.check(cycle).is_err());
        }
        let bad = BookSim {
            sample_period: Span::Time(Time::ZERO),
            ..rule()
        };
        assert!(bad.check(cycle).is_err());
    }
}

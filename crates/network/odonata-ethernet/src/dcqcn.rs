//! The reaction point of DCQCN: the rate of a flow (Y. Zhu et al., "Congestion control for large-scale RDMA
//! deployments", SIGCOMM 2015, section 3).
//!
//! | event | target rate R_T, rate R_C, estimate alpha of congestion |
//! |---|---|
//! | notification | R_T = R_C, R_C = R_C (1 - alpha / 2), alpha = (1 - g) alpha + g; all counts begin anew |
//! | no notification for the alpha timer | alpha = (1 - g) alpha |
//! | rate timer or byte counter, the first F times | fast recovery: R_C = (R_T + R_C) / 2 |
//! | one of them more than F times | additive increase: R_T = R_T + R_AI, then the same |
//! | both more than F times | hyper increase: R_T = R_T + R_HAI, then the same |
//!
//! A flow starts at the rate of its link without a limiter. Timers need no events: they are caught up with when a packet
//! starts and when a notification arrives. A packet starts its bytes / R_C after the one before it, so a rate counts
//! from the next packet on. Rates are bytes on the wire per picosecond.

use crate::settings;
use odonata_engine::Time;

/// Links for which the authors chose parameters: 40 Gb/s in bytes per picosecond.
pub(crate) const REFERENCE_RATE: f64 = 5e-3;

/// The constants of DCQCN.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Dcqcn {
    /// Time in which a receiver sends one notification per flow at most.
    pub(crate) interval: Time,
    /// g, of which every period of the alpha timer without a notification takes a part off alpha.
    gain: f64,
    alpha_timer: Time,
    rate_timer: Time,
    byte_counter: u64,
    fast_recovery: u32,
    additive: f64,
    hyper: f64,
    least: f64,
    /// The rate of NICs.
    line: f64,
}

impl Dcqcn {
    /// The values of resolved settings for NICs of `line`, bytes per picosecond.
    pub(crate) fn new(settings: &settings::Dcqcn, line: f64) -> Dcqcn {
        let scale = line / REFERENCE_RATE;
        let rate = |given: Option<&odonata_units::Bandwidth>, default| given.map_or(default, |rate| rate.0 / 1e12);
        let additive = rate(settings.additive_increase.given(), 5e-6 * scale);
        let bytes = settings.byte_counter.given();
        Dcqcn {
            interval: *settings.notification_interval,
            gain: *settings.gain,
            alpha_timer: *settings.alpha_timer,
            rate_timer: *settings.rate_timer,
            byte_counter: bytes.map_or((10e6 * scale) as u64, |bytes| bytes.0).max(1),
            fast_recovery: *settings.fast_recovery,
            additive,
            hyper: rate(settings.hyper_increase.given(), 10.0 * additive),
            least: rate(settings.least_rate.given(), 12.5e-6 * scale).min(line),
            line,
        }
    }
}

/// The rate of a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Rate {
    /// Whether it is below that of the link; the other fields but `alpha` count only then.
    is_limited: bool,
    current: f64,
    target: f64,
    alpha: f64,
    /// The last change of alpha, and the last end of the rate timer.
    alpha_since: Time,
    timer_since: Time,
    /// Bytes since the last end of the byte counter, and how often timer and counter have ended.
    sent: u64,
    timers: u32,
    counts: u32,
}

impl Rate {
    /// That of a new flow.
    pub(crate) const NEW: Rate = Rate {
        is_limited: false,
        current: 0.0,
        target: 0.0,
        alpha: 1.0,
        alpha_since: Time::ZERO,
        timer_since: Time::ZERO,
        sent: 0,
        timers: 0,
        counts: 0,
    };

    /// Bytes per picosecond, if they are limited.
    pub(crate) fn limit(&self) -> Option<f64> {
        self.is_limited.then_some(self.current)
    }

    /// A packet of `bytes` starts.
    pub(crate) fn send(&mut self, law: &Dcqcn, now: Time, bytes: u64) {
        if !self.is_limited {
            return;
        }
        self.catch_up(law, now);
        self.sent += bytes;
        while self.sent >= law.byte_counter {
            self.sent -= law.byte_counter;
            self.counts += 1;
            self.increase(law);
        }
    }

    /// A notification has arrived.
    pub(crate) fn cut(&mut self, law: &Dcqcn, now: Time) {
        if self.is_limited {
            self.catch_up(law, now);
            let periods = (now.0 - self.alpha_since.0) / law.alpha_timer.0;
            self.alpha *= power(1.0 - law.gain, periods);
        }
        let current = if self.is_limited { self.current } else { law.line };
        *self = Rate {
            is_limited: true,
            current: (current * (1.0 - self.alpha / 2.0)).max(law.least),
            target: current,
            alpha: (1.0 - law.gain) * self.alpha + law.gain,
            alpha_since: now,
            timer_since: now,
            ..Rate::NEW
        };
    }

    /// The ends of the rate timer until `now`.
    fn catch_up(&mut self, law: &Dcqcn, now: Time) {
        // At the rate of the link, further increases change nothing.
        while now.0 - self.timer_since.0 >= law.rate_timer.0 && self.current < law.line {
            self.timer_since.0 += law.rate_timer.0;
            self.timers += 1;
            self.increase(law);
        }
    }

    fn increase(&mut self, law: &Dcqcn) {
        let (fewer, more) = (self.timers.min(self.counts), self.timers.max(self.counts));
        if fewer > law.fast_recovery {
            self.target += law.hyper;
        } else if more > law.fast_recovery {
            self.target += law.additive;
        }
        self.target = self.target.min(law.line);
        self.current = ((self.target + self.current) / 2.0).min(law.line);
    }
}

/// `base` to the power of `exponent`, by multiplications in a fixed order.
fn power(mut base: f64, mut exponent: u64) -> f64 {
    let mut result = 1.0;
    while exponent > 0 {
        if exponent & 1 == 1 {
            result *= base;
        }
        base *= base;
        exponent >>= 1;
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    const US: u64 = 1_000_000;

    fn law() -> Dcqcn {
        let mut settings = crate::settings::Dcqcn::default();
        settings.resolve("dcqcn").unwrap();
        Dcqcn::new(&settings, REFERENCE_RATE)
    }

    fn gbps(rate: &Rate) -> f64 {
        rate.limit().map_or(40.0, |rate| rate * 8e3)
    }

    #[test]
    fn defaults_are_those_of_the_paper_at_40_gbps() {
        let law = law();
        let rates = [law.additive, law.hyper, law.least].map(|rate| (rate * 8e6).round());
        assert_eq!(rates, [40.0, 400.0, 100.0]);
        let timers = [law.interval, law.alpha_timer, law.rate_timer].map(|time| time.0 / US);
        assert_eq!((timers, law.byte_counter), ([50, 55, 55], 10_000_000));
        assert_eq!((law.gain, law.fast_recovery), (1.0 / 256.0, 5));
    }

    /// The first notification halves the rate; five timers recover 31/32 of the cut; then the target grows.
    #[test]
    fn a_cut_is_recovered_by_halves_and_then_additively() {
        let law = law();
        let mut rate = Rate::NEW;
        rate.cut(&law, Time(0));
        assert_eq!(gbps(&rate), 20.0);
        rate.cut(&law, Time(50 * US));
        // alpha stays 1: (1 - g) 1 + g.
        assert_eq!(gbps(&rate), 10.0);
        for (timers, expected) in [(1, 15.0), (2, 17.5), (5, 20.0 - 10.0 / 32.0)] {
            rate.send(&law, Time((50 + 55 * timers) * US), 0);
            assert!((gbps(&rate) - expected).abs() < 1e-9, "{} and {expected}", gbps(&rate));
        }
        rate.send(&law, Time((50 + 55 * 6) * US), 0);
        let expected = (20.04 + 20.0 - 10.0 / 32.0) / 2.0;
        assert!((gbps(&rate) - expected).abs() < 1e-9, "{} and {expected}", gbps(&rate));
    }

    #[test]
    fn alpha_decays_without_notifications_and_a_cut_follows_it() {
        let law = law();
        let mut rate = Rate::NEW;
        rate.cut(&law, Time(0));
        rate.cut(&law, Time(55 * 100 * US));
        let before = rate.target;
        let alpha = (1.0 - law.gain).powi(100);
        assert!((rate.current / before - (1.0 - alpha / 2.0)).abs() < 1e-12);
        assert!((rate.alpha - ((1.0 - law.gain) * alpha + law.gain)).abs() < 1e-12);
    }

    #[test]
    fn both_beyond_fast_recovery_increase_hyperactively() {
        let law = law();
        let mut rate = Rate::NEW;
        rate.cut(&law, Time(0));
        rate.cut(&law, Time(1));
        for _ in 0..6 {
            rate.send(&law, Time(2), law.byte_counter);
        }
        assert!((rate.target * 8e3 - 20.04).abs() < 1e-9);
        // Five timers end while the byte counter is beyond fast recovery, and a sixth with both beyond it.
        rate.send(&law, Time(1 + 55 * 6 * US), 0);
        assert!((rate.target * 8e3 - (20.04 + 5.0 * 0.04 + 0.4)).abs() < 1e-9);
    }
}

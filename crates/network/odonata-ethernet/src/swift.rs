//! Swift: a window that keeps the delay of a flow at a target (G. Kumar et al., "Swift: delay is simple and effective for
//! congestion control in the datacenter", SIGCOMM 2020, algorithm 1 and section 3.5).
//!
//! | acknowledgment with | window, in packets |
//! |---|---|
//! | delay below target | grows by ai / window per packet acknowledged; by ai below one packet |
//! | delay at target or above | times 1 - min(beta (delay - target) / delay, max_mdf), once per round-trip time |
//! | loss | times 1 - max_mdf, once per round-trip time |
//!
//! Flows with small windows have a higher target, which grows with 1 / sqrt(window) over a range (flow scaling), so that
//! many flows need not have less than a packet in flight. A window below one packet is a packet per round-trip time /
//! window. The target is that of the longest path for all flows: hops are not counted.

use crate::settings;
use odonata_engine::Time;

/// The constants of Swift. Times are picoseconds, windows packets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Swift {
    base: f64,
    range: f64,
    increase: f64,
    beta: f64,
    most_decrease: f64,
    least: f64,
    /// Coefficients of flow scaling.
    slope: f64,
    offset: f64,
}

impl Swift {
    /// The values of resolved settings for a base round-trip time of `rtt`, ps.
    pub(crate) fn new(settings: &settings::Swift, rtt: f64) -> Swift {
        let time = |given: Option<&Time>, default: f64| given.map_or(default, |time| time.0 as f64);
        let range = time(settings.scaling_range.given(), 0.5 * rtt);
        let (few, many) = (*settings.scaling_least, *settings.scaling_most);
        let slope = range / (1.0 / few.sqrt() - 1.0 / many.sqrt());
        Swift {
            base: time(settings.target.given(), 1.25 * rtt),
            range,
            increase: *settings.additive_increase,
            beta: *settings.beta,
            most_decrease: *settings.largest_decrease,
            least: *settings.least_window,
            slope,
            offset: -slope / many.sqrt(),
        }
    }

    /// The target delay of a window, ps.
    fn target(&self, window: f64) -> f64 {
        self.base + (self.slope / window.sqrt() + self.offset).clamp(0.0, self.range)
    }
}

/// The window of a flow, in packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub(crate) struct DelayWindow {
    window: f64,
    /// The last delay, and when the window last decreased.
    delay: f64,
    decreased: Time,
}

impl DelayWindow {
    /// A new flow with a window of `window` packets on a network with a round-trip time of `rtt`.
    pub(crate) fn new(window: f64, rtt: Time) -> DelayWindow {
        DelayWindow {
            window,
            delay: rtt.0 as f64,
            decreased: Time::ZERO,
        }
    }

    /// `packets` more are acknowledged, after `rtt` if it is known; `most` limits the window. Returns the window.
    pub(crate) fn acknowledge(&mut self, law: &Swift, now: Time, packets: f64, rtt: Option<Time>, most: f64) -> f64 {
        if let Some(rtt) = rtt {
            self.delay = rtt.0 as f64;
        }
        let target = law.target(self.window);
        if self.delay < target {
            let share = if self.window >= 1.0 { 1.0 / self.window } else { 1.0 };
            self.window += law.increase * share * packets;
        } else {
            let excess = law.beta * (self.delay - target) / self.delay;
            self.decrease(now, excess.min(law.most_decrease));
        }
        self.window = self.window.clamp(law.least, most.max(1.0));
        self.window
    }

    /// A packet was lost. Returns the window.
    pub(crate) fn lose(&mut self, law: &Swift, now: Time) -> f64 {
        self.decrease(now, law.most_decrease);
        self.window = self.window.max(law.least);
        self.window
    }

    /// Takes `part` off the window, at most once per round-trip time.
    fn decrease(&mut self, now: Time, part: f64) {
        if (now.0 - self.decreased.0) as f64 >= self.delay {
            self.window *= 1.0 - part;
            self.decreased = now;
        }
    }

    /// Time between two packets, if the window is less than one.
    pub(crate) fn pacing(&self) -> Option<Time> {
        (self.window < 1.0).then(|| Time::from_ps_f64(self.delay / self.window))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: f64 = 20e6;

    fn law() -> Swift {
        let mut settings = settings::Swift::default();
        settings.resolve("swift").unwrap();
        Swift::new(&settings, RTT)
    }

    #[test]
    fn the_target_scales_between_the_ends_of_its_range() {
        let law = law();
        assert_eq!((law.target(100.0), law.target(1e4)), (25e6, 25e6));
        assert!((law.target(0.1) - 35e6).abs() < 1.0 && (law.target(0.01) - 35e6).abs() < 1.0);
        // alpha / sqrt(1) + beta with alpha = range / (1 / sqrt(0.1) - 1 / sqrt(100)).
        let alpha = 10e6 / (10f64.sqrt() - 0.1);
        assert!((law.target(1.0) - (25e6 + alpha * 0.9)).abs() < 1.0);
    }

    #[test]
    fn a_window_below_the_target_gains_a_packet_per_round_trip() {
        let law = law();
        let mut window = DelayWindow::new(20.0, Time(20_000_000));
        for _ in 0..20 {
            window.acknowledge(&law, Time(1), 1.0, Some(Time(20_000_000)), 100.0);
        }
        assert!((window.window - 21.0).abs() < 0.03, "{}", window.window);
    }

    #[test]
    fn a_window_above_the_target_shrinks_once_per_round_trip() {
        let law = law();
        let mut window = DelayWindow::new(100.0, Time(20_000_000));
        let delay = Time(50_000_000);
        window.acknowledge(&law, Time(100_000_000), 1.0, Some(delay), 100.0);
        // beta (delay - target) / delay = 0.8 x 0.5.
        assert!((window.window - 60.0).abs() < 1e-9, "{}", window.window);
        window.acknowledge(&law, Time(149_999_999), 1.0, Some(delay), 100.0);
        assert!((window.window - 60.0).abs() < 1e-9);
        window.lose(&law, Time(150_000_000));
        assert!((window.window - 30.0).abs() < 1e-9);
        assert_eq!(window.pacing(), None);
        window.window = 0.5;
        assert_eq!(window.pacing(), Some(Time(100_000_000)));
    }
}

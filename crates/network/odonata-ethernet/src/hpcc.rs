//! HPCC: a window by the utilization of links that switches report (Y. Li et al., "HPCC: high precision congestion
//! control", SIGCOMM 2019, algorithm 1). With the largest utilization U on the path of an acknowledged packet, its
//! target η, the reference window W_c and the increase W_AI,
//!
//! | acknowledgment | window W |
//! |---|---|
//! | U < η, fewer than `increase_stages` increases in a row | W_c + W_AI |
//! | else | W_c η / U + W_AI |
//! | of the first packet sent after W_c changed, so once per round-trip time | the same, and W_c = W |
//!
//! A flow sends W / T, with T the base round-trip time of the longest path, and has at most W in flight. N flows of a link
//! of rate r rest at U = η + N W_AI / (r T), below 1 without a queue. [Switches](crate::telemetry) compute U. Windows are
//! bytes on the wire, times picoseconds.

use crate::settings;
use odonata_engine::Time;

/// Flows of a link that the default increase lets share its rate without a queue.
const FLOWS: f64 = 100.0;

/// The constants of HPCC.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Hpcc {
    target: f64,
    increase: f64,
    stages: u32,
    /// The first window and the largest one.
    most: f64,
    rtt: f64,
}

impl Hpcc {
    /// The values of resolved settings for windows up to `most` and a base round-trip time of `rtt`, ps.
    pub(crate) fn new(settings: &settings::Hpcc, most: f64, rtt: f64) -> Hpcc {
        let target = *settings.target_utilization;
        let increase = settings.additive_increase.given();
        Hpcc {
            target,
            increase: increase.map_or(most * (1.0 - target) / FLOWS, |bytes| bytes.0 as f64),
            stages: *settings.increase_stages,
            most,
            rtt,
        }
    }
}

/// The window of a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub(crate) struct UtilizationWindow {
    window: f64,
    /// W_c, the increases in a row that made it, and the packet from which on an acknowledgment changes it.
    reference: f64,
    stage: u32,
    next: u32,
}

impl UtilizationWindow {
    /// That of a new flow.
    pub(crate) fn new(law: &Hpcc) -> UtilizationWindow {
        UtilizationWindow {
            window: law.most,
            reference: law.most,
            stage: 0,
            next: 0,
        }
    }

    /// The window.
    pub(crate) fn bytes(&self) -> f64 {
        self.window
    }

    /// Packet `sequence` is acknowledged with `utilization`; `next` is the next packet to be sent for the first time.
    pub(crate) fn acknowledge(&mut self, law: &Hpcc, (sequence, next): (u32, u32), utilization: f64) {
        let is_above = utilization >= law.target || self.stage >= law.stages;
        let (kept, stage) = match is_above {
            true => (self.reference * (law.target / utilization), 0),
            false => (self.reference, self.stage + 1),
        };
        self.window = (kept + law.increase).min(law.most);
        if sequence >= self.next {
            (self.reference, self.stage, self.next) = (self.window, stage, next);
        }
    }

    /// Time from the start of a packet of `bytes` to the next one; `None` at the largest window.
    pub(crate) fn pacing(&self, law: &Hpcc, bytes: u32) -> Option<Time> {
        (self.window < law.most).then(|| Time::from_ps_f64(f64::from(bytes) * law.rtt / self.window))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Windows of 160 kB, 13 us: the authors' 80 B of increase.
    fn law(set: impl FnOnce(&mut settings::Hpcc)) -> Hpcc {
        let mut settings = settings::Hpcc::default();
        set(&mut settings);
        settings.resolve("hpcc").unwrap();
        Hpcc::new(&settings, 160_000.0, 13e6)
    }

    #[test]
    fn the_default_increase_is_that_of_a_hundred_flows() {
        assert!((law(|_| {}).increase - 80.0).abs() < 1e-9);
    }

    #[test]
    fn a_window_above_the_target_is_scaled_once_per_round_trip() {
        let law = law(|_| {});
        let mut window = UtilizationWindow::new(&law);
        assert_eq!(window.pacing(&law, 1000), None);
        window.acknowledge(&law, (0, 40), 1.9);
        assert_eq!(window.window, 80_080.0);
        // Acknowledgments of the same round trip start from the same reference.
        window.acknowledge(&law, (39, 45), 3.8);
        assert_eq!((window.window, window.reference), (80_080.0 / 4.0 + 80.0, 80_080.0));
        window.acknowledge(&law, (40, 50), 3.8);
        assert_eq!((window.reference, window.next), (20_100.0, 50));
        // W / T.
        let gap = window.pacing(&law, 1000).unwrap().0 as f64;
        assert!((gap - 1000.0 * 13e6 / 20_100.0).abs() < 1.0);
    }

    #[test]
    fn a_window_below_the_target_grows_by_steps_and_then_to_it() {
        let law = law(|settings| settings.increase_stages = 3.into());
        let mut window = UtilizationWindow {
            window: 10_000.0,
            reference: 10_000.0,
            ..UtilizationWindow::default()
        };
        for step in 0..3 {
            window.acknowledge(&law, (step, step + 1), 0.19);
            assert_eq!(window.window, 10_080.0 + 80.0 * f64::from(step));
        }
        window.acknowledge(&law, (3, 4), 0.19);
        assert_eq!((window.window, window.stage), (5.0 * 10_240.0 + 80.0, 0));
    }

    /// Windows W_i that share a link have U = sum W_i / (r T). At its fixed point U = η + N W_AI / (r T) their differences
    /// shrink by η / U per round trip.
    #[test]
    fn windows_become_equal_by_the_increase() {
        let law = law(|settings| settings.additive_increase = odonata_units::Bytes(2_000).into());
        let at_rest = 0.95 + 2.0 * 2_000.0 / 160_000.0;
        let shares = [0.75, 0.25].map(|share| share * at_rest * 160_000.0);
        let mut windows = shares.map(|window| UtilizationWindow {
            window,
            reference: window,
            ..UtilizationWindow::default()
        });
        let difference = |windows: &[UtilizationWindow; 2]| windows[0].window - windows[1].window;
        let first = difference(&windows);
        for round in 0..40 {
            let utilization = (windows[0].window + windows[1].window) / 160_000.0;
            assert!((utilization - at_rest).abs() < 1e-9, "{utilization}");
            for window in &mut windows {
                window.acknowledge(&law, (round, round + 1), utilization);
            }
            let expected = first * (0.95 / at_rest).powi(round as i32 + 1);
            assert!((difference(&windows) / expected - 1.0).abs() < 1e-9);
        }
    }
}

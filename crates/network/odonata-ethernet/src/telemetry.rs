//! Utilization of the outputs of switches, which HPCC's senders read from acknowledgments.
//!
//! A record per hop, as in HPCC, needs some hundred bytes in each packet of a long path, and one path per flow. Switches
//! here do what HPCC on PINT lets them do (R. Ben Basat et al., "PINT: probabilistic in-band network telemetry", SIGCOMM
//! 2020): each output keeps a moving average of its utilization, and a packet takes the largest one of its
//! path along. PINT rounds this number to 8 bits; it is exact here. When a frame of b bytes leaves an output of rate r
//! with q bytes of data behind it, the time τ <= T after the previous one,
//!
//! ```text
//! U = (1 - τ / T) U + (τ / T) q / (r T) + b / (r T)
//! ```

use odonata_engine::{Mode, Store, Time};

/// The utilization of an output.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
struct Output {
    utilization: f64,
    /// When its last frame left.
    since: Time,
}

/// The utilizations of the outputs of a part; none without HPCC.
#[derive(Debug)]
pub(crate) struct Telemetry {
    /// T, ps.
    rtt: f64,
    outputs: Store<Output>,
}
odonata_engine::journalled!(Telemetry { outputs });

impl Telemetry {
    pub(crate) const BYTES_PER_PORT: usize = size_of::<Output>();

    /// Of `ports` idle outputs, if switches measure.
    pub(crate) fn new(measures: bool, rtt: Time, ports: usize) -> Telemetry {
        Telemetry {
            rtt: rtt.0 as f64,
            outputs: Store::filled(if measures { ports } else { 0 }, Output::default()),
        }
    }

    /// Whether switches measure.
    pub(crate) fn is_on(&self) -> bool {
        !self.outputs.is_empty()
    }

    /// A frame of `bytes` leaves output `port` with `behind` bytes waiting. Returns the utilization.
    pub(crate) fn depart<M: Mode>(
        &mut self,
        now: Time,
        port: u32,
        (bytes, behind): (u32, u64),
        ps_per_byte: f64,
    ) -> f32 {
        let output = self.outputs.edit::<M>(port);
        let part = ((now.0 - output.since.0) as f64 / self.rtt).min(1.0);
        let products = |bytes: f64| bytes * ps_per_byte / self.rtt;
        output.utilization =
            (1.0 - part) * output.utilization + part * products(behind as f64) + products(bytes.into());
        output.since = now;
        output.utilization as f32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use odonata_engine::Plain;

    /// Frames back to back fill the link; q waiting bytes add q / (r T); a pause of T clears the average.
    #[test]
    fn utilization_is_the_rate_and_the_queue() {
        // 1000 B take 80 ns; T = 8 us.
        let mut telemetry = Telemetry::new(true, Time(8_000_000), 2);
        let mut now = 0;
        for (gap, behind, expected) in [(80_000, 0, 1.0), (80_000, 50_000, 1.5), (160_000, 0, 0.5)] {
            let mut found = 0.0;
            for _ in 0..2_000 {
                now += gap;
                found = telemetry.depart::<Plain>(Time(now), 1, (1_000, behind), 80.0);
            }
            assert!((found - expected).abs() < 1e-3, "{found} and {expected}");
        }
        now += 9_000_000;
        assert_eq!(telemetry.depart::<Plain>(Time(now), 1, (1_000, 0), 80.0), 0.01);
        assert_eq!(telemetry.outputs.get(0).utilization, 0.0);
        assert!(telemetry.is_on() && !Telemetry::new(false, Time(1), 9).is_on());
    }
}

//! The sampling periods of a run, as seen by a method.

use odonata_network::Sample;
use odonata_units::Time;

/// Counts at the end of each sampling period.
pub(super) trait Periods {
    /// Periods that have ended.
    fn ended(&self) -> u32;
    /// Length of a period.
    fn period(&self) -> Time;
    /// The counts of period `k`.
    fn sample(&self, k: u32) -> Sample;
    /// Length of a clock cycle, if the traffic has one.
    fn cycle(&self) -> Option<Time> {
        None
    }
}

/// The sum of the counts of periods `from` to `until`, exclusive.
pub(super) fn sum(periods: &dyn Periods, from: u32, until: u32) -> Sample {
    (from..until).fold(Sample::default(), |sum, k| sum.plus(periods.sample(k)))
}

/// Packets in flight or at their source at the end of the last period, and their total age, picoseconds.
pub(super) fn in_flight(periods: &dyn Periods) -> (f64, f64) {
    let all = sum(periods, 0, periods.ended());
    let now = Time(periods.period().0.saturating_mul(u64::from(periods.ended())));
    let packets = all.created.saturating_sub(all.ejected);
    // Sums of times are modulo 2^64, and so is their small difference.
    let created_at = all.created_at.wrapping_sub(all.ejected_created_at);
    let age = now.0.wrapping_mul(packets).wrapping_sub(created_at);
    // Packets are counted early, when they start on their last link, so the age can be slightly negative.
    (packets as f64, (age as i64).max(0) as f64)
}

/// Why a mean latency of `all` is too long, both in picoseconds: in cycles if there is a clock.
pub(super) fn too_long(periods: &dyn Periods, all: f64, threshold: f64) -> String {
    let (length, unit) = match periods.cycle() {
        Some(cycle) => (cycle.0 as f64, "cycles"),
        None => (1e3, "ns"),
    };
    format!(
        "mean latency {:.1} {unit} including packets in flight, threshold {:.1} {unit}",
        all / length,
        threshold / length
    )
}

/// `sum / count`, or 0 for a count of 0.
pub(super) fn mean(sum: Time, count: u64) -> f64 {
    if count == 0 { 0.0 } else { sum.0 as f64 / count as f64 }
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::method::{Judge, Verdict, Window};
    use super::*;

    /// Synthetic periods.
    pub(in super::super) struct Made(pub(in super::super) Vec<Sample>);

    impl Periods for Made {
        fn ended(&self) -> u32 {
            self.0.len() as u32
        }
        fn period(&self) -> Time {
            Time(1_000)
        }
        fn sample(&self, k: u32) -> Sample {
            self.0[k as usize]
        }
    }

    /// A period in which 100 packets of 1 B are created, and arriving packets took `latency`.
    pub(in super::super) fn made(start: u64, ejected: u64, latency: u64) -> Sample {
        Sample {
            created: 100,
            created_bytes: 100,
            created_at: 100 * (start + 500),
            delivered: 100,
            latency: Time(100 * latency),
            ejected,
            ejected_bytes: ejected,
            ejected_created_at: ejected * (start + 500),
            ejected_latency: Time(ejected * latency),
            ..Sample::default()
        }
    }

    /// The verdict after each period, with this number of packets ejected at that latency.
    pub(in super::super) fn verdicts(
        mut judge: impl Judge,
        latencies: impl IntoIterator<Item = (u64, u64)>,
    ) -> (Vec<Verdict>, Window) {
        let (mut window, mut periods, mut verdicts) = (Window::default(), Made(Vec::new()), Vec::new());
        for (k, (ejected, latency)) in (0..).zip(latencies) {
            periods.0.push(made(1_000 * k, ejected, latency));
            verdicts.push(judge.judge(&periods, &mut window));
            if verdicts.last() != Some(&Verdict::GoOn) {
                break;
            }
        }
        (verdicts, window)
    }

    #[test]
    fn a_latency_that_is_too_long_is_stated_in_cycles_if_there_is_a_clock() {
        struct Clocked;
        impl Periods for Clocked {
            fn ended(&self) -> u32 {
                0
            }
            fn period(&self) -> Time {
                Time(1)
            }
            fn sample(&self, _: u32) -> Sample {
                Sample::default()
            }
            fn cycle(&self) -> Option<Time> {
                Some(Time(2_000))
            }
        }
        assert_eq!(
            too_long(&Clocked, 5_000.0, 4_000.0),
            "mean latency 2.5 cycles including packets in flight, threshold 2.0 cycles"
        );
        assert_eq!(
            too_long(&Made(Vec::new()), 5_000.0, 4_000.0),
            "mean latency 5.0 ns including packets in flight, threshold 4.0 ns"
        );
    }

    #[test]
    fn packets_in_flight_are_those_created_and_not_ejected() {
        // 40 of 200 are left, created at 500 and 1,500 on average, 20 each; the time is 2,000.
        let periods = Made(vec![made(0, 80, 7), made(1_000, 80, 7)]);
        assert_eq!(in_flight(&periods), (40.0, 20.0 * 1_500.0 + 20.0 * 500.0));
    }
}

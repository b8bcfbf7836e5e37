//! Swift against the equilibrium of its equations.

mod rig;

use odonata_engine::Time;
use odonata_ethernet::settings::Control;
use odonata_units::Bytes;
use rig::Case;

/// The target of a window w: base + alpha / sqrt(w) + beta within its range. N equal flows with it fill the link and the
/// queue: N w P = r target(w). Returns the bytes that wait, r target(w) - r T.
fn queue(senders: f64, full: f64, bytes_per_us: f64, (base, range, round_trip): (f64, f64, f64)) -> f64 {
    let alpha = range / (1.0 / f64::sqrt(0.1) - 1.0 / f64::sqrt(100.0));
    let target = |w: f64| base + (alpha / w.sqrt() - alpha / 10.0).clamp(0.0, range);
    let (mut low, mut high) = (1e-3, 1e4);
    for _ in 0..80 {
        let middle = f64::sqrt(low * high);
        if senders * middle * full < bytes_per_us * target(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    bytes_per_us * (target(low) - round_trip)
}

/// The mean queue at the link to the target of an incast in bytes, its value by the equations, and the utilization. The
/// share of marked packets with a ramp from 0 to 1 MB is the mean queue in MB: senders look at delays alone.
fn incast(senders: u32, gbps: f64, increase: f64, (base, range): (f64, f64)) -> (f64, f64, f64) {
    let flows: Vec<_> = (0..senders).map(|i| (3 + i, 0, 4_000_000_000)).collect();
    let case = Case::new(18, 2, gbps, flows).with(|settings| {
        settings.congestion_control = Control::Swift.into();
        settings.swift.target = Time((base * 1e6) as u64).into();
        settings.swift.scaling_range = Time((range * 1e6) as u64).into();
        settings.swift.additive_increase = increase.into();
        settings.window = Bytes(1_000_000).into();
        settings.queue = Bytes(16_000_000).into();
        (settings.ecn_low, settings.ecn_high) = (Bytes(0).into(), Bytes(1_000_000).into());
    });
    let (utilization, found) = case.measured(0, 40..80);
    let ps_per_byte = 8e-3 / gbps;
    let round_trip = 8.0 + 4.0 * (4150.0 + 64.0) * ps_per_byte;
    let expected = queue(f64::from(senders), 4150.0, 1.0 / ps_per_byte, (base, range, round_trip));
    (found, expected, utilization)
}

#[test]
fn an_incast_keeps_the_delay_at_the_target_of_its_windows() {
    for senders in [2, 4, 8, 14] {
        let (found, expected, utilization) = incast(senders, 100.0, 1.0, (40.0, 20.0));
        assert!(
            (found / expected - 1.0).abs() < 0.05,
            "{senders}: {found} and {expected}"
        );
        assert!(utilization > 0.999, "{senders}: {utilization}");
    }
}

/// Windows of some 0.6 packets: each flow sends a packet per delay / window. A packet of each flow in flight would make a
/// queue of 35 kB.
#[test]
fn windows_below_a_packet_are_paced() {
    let (found, expected, utilization) = incast(15, 10.0, 0.05, (25.0, 15.0));
    assert!((found / expected - 1.0).abs() < 0.2, "{found} and {expected}");
    assert!(utilization > 0.85, "{utilization}");
}

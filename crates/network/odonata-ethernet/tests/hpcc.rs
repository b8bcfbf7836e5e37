//! HPCC against the equilibrium of its equations.

mod rig;

use odonata_ethernet::settings::{Control, Hpcc, Transport};
use odonata_units::Bytes;
use rig::Case;

/// Payload and header.
const PACKET: (u64, u64) = (1000, 64);

/// T of the two-level tree with links of 100 Gb/s and 1 us, and r T.
fn product() -> f64 {
    let round_trip = 8e6 + 4.0 * (1064.0 + 64.0) * 80.0;
    round_trip / 80.0
}

fn incast(senders: u32, bytes: u64, set: impl FnOnce(&mut Hpcc)) -> Case {
    let flows: Vec<_> = (0..senders).map(|i| (3 + i, 0, bytes)).collect();
    let mut case = Case::new(18, 2, 100.0, flows).with(|settings| {
        settings.transport = Transport::Roce;
        settings.congestion_control = Control::Hpcc.into();
        // Pauses begin far above the equilibrium.
        settings.pause_above = 2000.into();
        settings.resume_below = 1900.into();
        (settings.ecn_low, settings.ecn_high) = (Bytes(0).into(), Bytes(1_000_000).into());
        set(&mut settings.hpcc);
    });
    case.packet = PACKET;
    case
}

/// Utilization and mean queue in bytes at the link to the target, from 20 ms to 40 ms: senders do not look at marks.
fn at_rest(case: &Case) -> (f64, f64) {
    case.measured(0, 20..40)
}

/// N flows rest at U = eta + N W_AI / (r T), with W_AI = r T (1 - eta) / 100 by default. Below 1 there is hardly a queue:
/// U is the rate of the link and the few packets that arrive together.
#[test]
fn an_incast_leaves_the_rest_of_the_link_free_and_no_queue() {
    for eta in [0.95, 0.8] {
        for senders in [1, 2, 4, 8, 14] {
            let case = incast(senders, 4_000_000_000, |hpcc| hpcc.target_utilization = eta.into());
            let (utilization, queue) = at_rest(&case);
            let expected = eta + (1.0 - eta) * f64::from(senders) / 100.0;
            let found = utilization + queue / product();
            assert!((found - expected).abs() < 0.01, "{senders}: {found} and {expected}");
            assert!(queue < 0.1 * product(), "{senders}: {queue}");
        }
    }
}

/// Where U would exceed 1, the link is full and the queue is (U - 1) r T.
#[test]
fn more_increases_than_the_target_leaves_free_make_a_queue() {
    for (senders, increase) in [(4, 9_000), (8, 4_500), (14, 5_000)] {
        let case = incast(senders, 4_000_000_000, |hpcc| {
            hpcc.additive_increase = Bytes(increase).into();
        });
        let (utilization, queue) = at_rest(&case);
        let expected = (0.95 - 1.0) * product() + f64::from(senders) * increase as f64;
        assert!(utilization > 0.999, "{senders}: {utilization}");
        assert!(
            (queue / expected - 1.0).abs() < 0.15,
            "{senders}: {queue} and {expected}"
        );
    }
}

/// Equal flows end together, after their bytes at the utilization at rest: what the burst of all first windows made unequal,
/// the increase makes equal.
#[test]
fn flows_have_fair_shares() {
    for senders in [1, 3, 7, 14] {
        let bytes = 8_000_000;
        let increase = 400.0;
        let case = incast(senders, bytes, |hpcc| {
            hpcc.additive_increase = Bytes(increase as u64).into()
        });
        let results = case.run();
        let times = results.times();
        let packets = bytes.div_ceil(PACKET.0);
        let wire = (bytes + packets * PACKET.1) as f64 * f64::from(senders) * 80e-6;
        let expected = wire / (0.95 + f64::from(senders) * increase / product());
        let (first, last) = (times[0], times[times.len() - 1]);
        assert!((last / expected - 1.0).abs() < 0.05, "{senders}: {last} and {expected}");
        assert!(first > 0.9 * last, "{senders}: {first} and {last}");
    }
}

//! Flows on fat trees: closed forms, conservation, one result on every scheduler, undo and redo.

mod rig;

use odonata_engine::{Optimism, Options, Parallel, Pause, RollbackCheck, Scheduler, SingleProcess, Time};
use odonata_ethernet::settings::{Balancing, Control, Retransmission, Transport};
use rig::{Case, Results};
use std::sync::Arc;

/// A packet of Ultra Ethernet, a packet of RoCE.
const UEC: (u64, u64) = (4086, 64);
const ROCE: (u64, u64) = (4000, 64);

/// All flows of `count` nodes to node 0.
fn incast(count: u32, bytes: u64) -> Vec<(u32, u32, u64)> {
    (1..=count).map(|source| (source, 0, bytes)).collect()
}

fn roce(case: Case) -> Case {
    let mut case = case.with(|settings| settings.transport = Transport::Roce);
    case.packet = ROCE;
    case
}

/// [s + header N + (H - 1) P] 8 / r + 2 H L + H A 8 / r: N packets of P bytes at most follow each other over H links,
/// an acknowledgment of A bytes returns.
fn closed_form((bytes, gbps, links): (u64, f64, u64), (payload, header): (u64, u64), pads: bool) -> f64 {
    let packets = bytes.div_ceil(payload).max(1);
    let full = payload + header;
    let one = if packets == 1 && !pads { bytes + header } else { full };
    let all = if pads { packets * full } else { bytes + header * packets };
    let ps_per_byte = 8000.0 / gbps;
    let sent = (all + (links - 1) * one + links * 64) as f64 * ps_per_byte / 1e6;
    sent + 2.0 * links as f64
}

#[test]
fn a_flow_alone_takes_its_closed_form() {
    for (levels, nodes, target, links) in [(3, 16, 15, 6), (3, 16, 2, 4), (3, 16, 1, 2), (2, 128, 127, 4)] {
        for gbps in [100.0, 400.0] {
            for bytes in [0, 1, 4000, 4086, 4087, 64_000, 2_000_000] {
                // On one path: a short last packet does not overtake.
                let case = Case::new(nodes, levels, gbps, vec![(0, target, bytes)])
                    .with(|settings| settings.load_balancing = Balancing::Ecmp.into());
                for control in [Control::Nscc, Control::Swift, Control::Constant] {
                    let times = case
                        .clone()
                        .with(|settings| settings.congestion_control = control.into())
                        .run()
                        .times();
                    let expected = closed_form((bytes, gbps, links), UEC, false);
                    assert!(
                        (times[0] - expected).abs() < 0.001,
                        "{} and {expected}, {bytes} B",
                        times[0]
                    );
                }
                for (pads, control) in [(false, Control::None), (true, Control::None), (false, Control::Hpcc)] {
                    // The window of a longer flow follows the utilization.
                    if control == Control::Hpcc && bytes > 64_000 {
                        continue;
                    }
                    let times = roce(case.clone())
                        .with(|settings| {
                            settings.full_packets = pads;
                            settings.congestion_control = control.into();
                        })
                        .run()
                        .times();
                    let expected = closed_form((bytes, gbps, links), ROCE, pads);
                    assert!(
                        (times[0] - expected).abs() < 0.001,
                        "{} and {expected}, {bytes} B",
                        times[0]
                    );
                }
            }
        }
    }
}

/// A flow of RCCC sends its first window at line rate and the rest at 0.99 of it.
#[test]
fn a_flow_with_receiver_credit_is_paced() {
    for gbps in [100.0, 400.0] {
        let bytes = 16_000_000;
        let case = Case::new(16, 3, gbps, vec![(0, 15, bytes)]);
        let times = case
            .with(|settings| settings.congestion_control = Control::Rccc.into())
            .run()
            .times();
        let whole = closed_form((bytes, gbps, 6), UEC, false);
        let rtt = 12.0 + 6.0 * (4150.0 + 64.0) * 8e-3 / gbps;
        let paced = whole + (whole - 2.5 * rtt) * (1.0 / 0.99 - 1.0);
        assert!((times[0] / paced - 1.0).abs() < 0.005, "{} and {paced}", times[0]);
    }
}

#[test]
fn receivers_share_their_link_among_senders_without_loss_after_the_first_windows() {
    let case = Case::new(16, 3, 100.0, incast(8, 4_000_000));
    let case = case.with(|settings| settings.congestion_control = Control::Rccc.into());
    let results = case.run();
    assert_conserved(&case, &results);
    let wire = 8.0 * (4_000_000.0 + 979.0 * 64.0) * 0.08e-3;
    let last = results.times().pop().unwrap();
    assert!((wire..1.04 * wire + 20.0).contains(&last), "{last} and {wire}");
    // Eight first windows of 1.5 products meet a queue of one.
    assert!(results.transport.trimmed < 8 * 64, "{:?}", results.transport);
}

/// What is sent arrives once, and every trimmed packet is reported and sent again.
fn assert_conserved(case: &Case, results: &Results) {
    let sent: u64 = case.flows.iter().map(|&(.., bytes)| bytes).sum();
    let t = &results.transport;
    assert_eq!((t.bytes, t.delivered_bytes), (sent, sent));
    assert_eq!(t.packets, t.delivered);
    assert_eq!(t.flows as usize, case.flows.len());
    assert_eq!(results.arrived as usize, case.flows.len());
    let arrived = t.delivered + t.duplicates + results.roce.out_of_sequence;
    assert_eq!(t.packets + t.again, arrived + t.trimmed + t.dropped);
}

#[test]
fn trimmed_packets_are_reported_and_sent_again() {
    let case = Case::new(16, 3, 100.0, incast(8, 1_000_000));
    let results = case.run();
    assert_conserved(&case, &results);
    let t = &results.transport;
    assert!(t.trimmed > 100, "{t:?}");
    assert_eq!((t.nacks, t.again, t.dropped, t.timeouts), (t.trimmed, t.trimmed, 0, 0));
    // The last link is busy from the first packet to the last.
    let wire = 8.0 * (1_000_000.0 + 245.0 * 64.0) * 0.08e-3;
    let last = results.times().pop().unwrap();
    assert!((wire..1.08 * wire + 20.0).contains(&last), "{last} and {wire}");
}

#[test]
fn dropped_packets_are_sent_again_after_a_timeout() {
    let case = Case::new(16, 3, 100.0, incast(8, 1_000_000)).with(|settings| {
        settings.trimming = false.into();
        settings.queue = odonata_units::Bytes(40_000).into();
    });
    let results = case.run();
    assert_conserved(&case, &results);
    let t = &results.transport;
    assert!(t.dropped > 100 && t.timeouts > 0, "{t:?}");
    assert_eq!((t.trimmed, t.nacks), (0, 0));
}

#[test]
fn pauses_lose_nothing_and_bound_the_queue() {
    let case = roce(Case::new(16, 3, 100.0, incast(8, 1_000_000)));
    let results = case.run();
    assert_conserved(&case, &results);
    assert!(results.ports.pauses > 0 && results.ports.paused > Time::ZERO);
    assert_eq!(
        (results.ports.trimmed, results.ports.dropped, results.transport.again),
        (0, 0, 0)
    );
    // From each of three inputs 15 packets, the one that exceeds them, and what arrives in the round trip of a pause.
    let in_flight = 2_000_000.0 / 80.0 + 2.0 * 4064.0;
    let bound = 3.0 * (16.0 * 4064.0 + in_flight);
    assert!(
        (results.ports.most as f64) < bound,
        "{} and {bound}",
        results.ports.most
    );
}

/// Two nodes send to a third over the same link, each as much as the link carries: ECN keeps the queue near its
/// thresholds, so nothing is trimmed after the first windows.
#[test]
fn marks_keep_two_flows_below_the_queue() {
    let case = Case::new(16, 3, 100.0, incast(2, 16_000_000));
    let results = case.run();
    assert_conserved(&case, &results);
    assert!(results.ports.marked > 0);
    assert!(
        results.transport.again < results.transport.packets / 20,
        "{:?}",
        results.transport
    );
}

/// Every load balancing, with trims, pauses, drops.
fn cases() -> Vec<(String, Case)> {
    let flows: Vec<_> = (0..16).map(|node| (node, (node * 5 + 3) % 16, 300_000)).collect();
    let flows = [flows, incast(8, 200_000)].concat();
    let base = Case::new(16, 3, 100.0, flows);
    let mut cases = Vec::new();
    let all = [
        Balancing::Oblivious,
        Balancing::Ecmp,
        Balancing::Reps,
        Balancing::RepsLegacy,
        Balancing::Bitmap,
        Balancing::Mixed,
    ];
    for balancing in all {
        let case = base.clone().with(|settings| settings.load_balancing = balancing.into());
        cases.push((format!("{balancing:?}"), case));
    }
    let rccc = base
        .clone()
        .with(|settings| settings.congestion_control = Control::Rccc.into());
    cases.push(("rccc".into(), rccc));
    let swift = base.clone().with(|settings| {
        settings.congestion_control = Control::Swift.into();
        settings.swift.target = Time::from_ns(15_000).into();
        settings.swift.scaling_range = Time::from_ns(1_000).into();
    });
    cases.push(("swift".into(), swift));
    cases.push(("roce".into(), roce(base.clone())));
    for (name, retransmission) in [
        ("go-back-n", Retransmission::GoBackN),
        ("roce-drops", Retransmission::Selective),
    ] {
        let drops = roce(base.clone()).with(|settings| {
            settings.pauses = false.into();
            settings.queue = odonata_units::Bytes(30_000).into();
            settings.retransmission = retransmission.into();
        });
        cases.push((name.into(), drops));
    }
    for (name, pauses) in [("shared-buffer", true), ("shared-buffer-drops", false)] {
        let shared = roce(base.clone()).with(|settings| {
            settings.pauses = pauses.into();
            settings.buffer = Some(odonata_units::Bytes(60_000));
            settings.alpha = 0.5.into();
        });
        cases.push((name.into(), shared));
    }
    let trims = base
        .clone()
        .with(|settings| settings.buffer = Some(odonata_units::Bytes(100_000)));
    cases.push(("shared-buffer-trims".into(), trims));
    let dcqcn = roce(base.clone()).with(|settings| {
        settings.congestion_control = Control::Dcqcn.into();
        settings.ecn_probability = 1.0.into();
        settings.ecn_high = odonata_units::Bytes(40_000).into();
        settings.dcqcn.notification_interval = Time::from_ns(4_000).into();
        settings.dcqcn.rate_timer = Time::from_ns(3_000).into();
    });
    cases.push(("dcqcn".into(), dcqcn));
    let hpcc = roce(base.clone()).with(|settings| settings.congestion_control = Control::Hpcc.into());
    cases.push(("hpcc".into(), hpcc));
    let drops = base.with(|settings| {
        settings.trimming = false.into();
        settings.queue = odonata_units::Bytes(30_000).into();
    });
    cases.push(("drops".into(), drops));
    cases
}

#[test]
fn every_scheduler_gives_the_same_flows() {
    for (name, case) in cases() {
        let expected = case.run();
        assert_conserved(&case, &expected);
        for optimism in [
            None,
            Some(Optimism {
                events_per_round: 500,
                journal: 1 << 26,
            }),
        ] {
            let partition = Arc::new(case.partition(4));
            let parts = (0..4).map(|part| case.part(partition.range(part))).collect();
            let options = Options {
                optimism,
                ..Options::conservative(1)
            };
            let mut parallel = Parallel::new(parts, partition, 0, options, Box::new(SingleProcess)).unwrap();
            assert_eq!(parallel.run(Time::NEVER, u64::MAX), Pause::Idle);
            let found = Results::of(&Box::new(parallel).into_parts(), expected.events);
            assert_eq!(found, expected, "{name}, {optimism:?}");
        }
    }
}

#[test]
fn every_event_can_be_undone_and_redone() {
    for (name, mut case) in cases() {
        for flow in &mut case.flows {
            flow.2 /= 8;
        }
        let routers = case.tree.topology().routers();
        let mut check = RollbackCheck::new(case.part(0..routers));
        let events = check.run(u64::MAX).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(events > 2_000, "{name}: {events}");
        assert_eq!(Results::of(&[check.into_model()], 0).flows, case.run().flows, "{name}");
    }
}

#[test]
fn another_seed_takes_other_paths() {
    let flows: Vec<_> = (0..16).map(|node| (node, (node + 4) % 16, 1_000_000)).collect();
    let case = Case::new(16, 3, 100.0, flows).with(|settings| settings.load_balancing = Balancing::Ecmp.into());
    let other = Case {
        seed: 2,
        ..case.clone()
    };
    assert_ne!(case.run().times(), other.run().times());
    assert_eq!(case.run(), case.run());
}

//! DCQCN against the fixed point of its fluid model.

mod rig;

use odonata_engine::{Pause, Sequential, Time};
use odonata_ethernet::settings::{Control, Transport};
use odonata_units::{Bandwidth, Bytes};
use rig::{Case, Rig};

/// The fixed point of the fluid model of DCQCN for `flows` equal flows through a link of 40 Gb/s, packets of `wire`
/// bytes, additive increases of `mbps` and the other parameters of the paper (Y. Zhu et al., "ECN or delay: lessons learnt from analysis of DCQCN and
/// TIMELY", CoNEXT 2016, equations 9 to 12): the probability of a mark.
fn marking_probability(flows: f64, wire: f64, mbps: f64) -> f64 {
    let (interval, timer, stages) = (50e-6, 55e-6, 5.0);
    let counter = 10e6 / wire;
    let additive = mbps * 1e6 / 8.0 / wire;
    // Packets per second of a flow.
    let rate = 40e9 / 8.0 / wire / flows;
    let excess = |p: f64| {
        let unmarked = |packets: f64| (1.0 - p).powf(packets);
        let alpha = 1.0 - unmarked(timer * rate);
        let a = 1.0 - unmarked(interval * rate);
        let b = p / (1.0 / unmarked(counter) - 1.0);
        let c = unmarked(stages * counter) * b;
        let d = p / (1.0 / unmarked(timer * rate) - 1.0);
        let e = unmarked(stages * timer * rate) * d;
        alpha * a * a - interval * interval * additive * rate * (b + d) * (c + e)
    };
    let (mut low, mut high) = (1e-6, 0.5);
    for _ in 0..60 {
        let middle = f64::sqrt(low * high);
        if excess(middle) < 0.0 {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}

/// Packets and marks at the link to node 0.
fn counted(rig: &Rig, port: u32) -> (f64, f64) {
    let counters = rig.ethernet.port_counters().nth(port as usize).unwrap();
    (counters.data as f64, counters.marked as f64)
}

/// The share of marked packets, which is the queue in units of the marking ramp, and the utilization of the link.
#[test]
fn an_incast_reaches_the_ecn_equilibrium_of_the_fluid_model() {
    // With more senders and full increases the queue oscillates, as the analysis of the model finds.
    for (senders, mbps) in [(2, 40.0), (4, 40.0), (8, 10.0)] {
        let flows: Vec<_> = (0..senders).map(|i| (4 + i, 0, 4_000_000_000)).collect();
        let mut case = Case::new(18, 2, 40.0, flows).with(|settings| {
            settings.transport = Transport::Roce;
            settings.congestion_control = Control::Dcqcn.into();
            settings.dcqcn.additive_increase = Bandwidth(mbps * 1e6 / 8.0).into();
            // Pauses begin far above the equilibrium.
            settings.pause_above = 2000.into();
            settings.resume_below = 1900.into();
        });
        case.packet = (1000, 64);
        let port = case.tree.topology().node_port(0);
        let mut run = Sequential::new(case.part(0..case.tree.topology().routers()));
        assert_eq!(run.run(Time(40_000_000_000), u64::MAX), Pause::TimeLimit);
        let before = counted(run.model(), port);
        assert_eq!(run.run(Time(100_000_000_000), u64::MAX), Pause::TimeLimit);
        let after = counted(run.model(), port);
        let packets = after.0 - before.0;
        let (found, expected) = (
            (after.1 - before.1) / packets,
            marking_probability(f64::from(senders), 1064.0, mbps),
        );
        assert!(
            (found / expected - 1.0).abs() < 0.12,
            "{senders}: {found} and {expected}"
        );
        let utilization = packets * 1064.0 * 8.0 / 40e9 / 60e-3;
        assert!(utilization > 0.98, "{senders}: {utilization}");
    }
}

/// The queue of a port that marks holds the upper threshold of one input before a pause, at every rate: marks come first.
#[test]
fn an_input_pauses_beyond_the_marking_ramp() {
    for (gbps, high) in [(40.0, 200_000), (400.0, 2_000_000)] {
        let flows = vec![(4, 0, 20_000_000), (7, 0, 20_000_000)];
        let mut case = Case::new(18, 2, gbps, flows).with(|settings| {
            settings.transport = Transport::Roce;
            settings.congestion_control = Control::Dcqcn.into();
            settings.ecn_probability = 1.0.into();
        });
        case.packet = (1000, 64);
        let results = case.run();
        assert_eq!(results.ports.pauses, 0, "at {gbps} Gb/s");
        assert!(results.transport.marked > 0);
        let mut settings = case.settings.clone();
        settings.resolve().unwrap();
        settings.fill_base_rtt((4, Time(4_000_000)), Bandwidth(gbps * 1e9 / 8.0), 1064);
        settings.fill_sizes(Bandwidth(gbps * 1e9 / 8.0), (1000, 64)).unwrap();
        let above = u64::from(*settings.pause_above);
        assert!(((above - 1) * 1064..above * 1064).contains(&high), "{above}");
        assert_eq!(u64::from(*settings.resume_below), above * 4 / 5);
    }
}

/// Two senders that keep their rate although every packet arrives marked: a notification per flow and interval.
#[test]
fn a_receiver_notifies_a_flow_once_per_interval() {
    for interval in [10, 50, 200] {
        let case = Case::new(18, 2, 40.0, vec![(4, 0, 4_000_000), (7, 0, 4_000_000)]).with(|settings| {
            settings.transport = Transport::Roce;
            settings.congestion_control = Control::Dcqcn.into();
            settings.ecn_low = Bytes(2_000).into();
            settings.ecn_high = Bytes(4_000).into();
            settings.dcqcn.least_rate = Bandwidth(5e9).into();
            settings.dcqcn.notification_interval = Time(interval * 1_000_000).into();
        });
        let results = case.run();
        let sent = results.roce.notifications as f64;
        let intervals = results.times().pop().unwrap() / interval as f64;
        assert!(
            (2.0 * (intervals - 1.5)..2.0 * (intervals + 1.0)).contains(&sent),
            "{sent} in {intervals}"
        );
        assert!(results.transport.marked > results.transport.delivered * 9 / 10);
    }
}

/// The second of two flows ends early. The first was notified once, so it sends at half the rate from then on.
#[test]
fn a_notified_flow_sends_at_half_the_rate() {
    let time = |control: Control| {
        let case = Case::new(18, 2, 40.0, vec![(4, 0, 400_000), (7, 0, 4_000)]).with(|settings| {
            settings.transport = Transport::Roce;
            settings.congestion_control = control.into();
            settings.ecn_low = Bytes(1).into();
            settings.ecn_high = Bytes(2).into();
            if control == Control::Dcqcn {
                settings.dcqcn.notification_interval = Time::from_ns(1_000_000).into();
                settings.dcqcn.rate_timer = Time::from_ns(1_000_000).into();
            }
        });
        let results = case.run();
        (results.times().pop().unwrap(), results.roce.notifications)
    };
    let (free, none) = time(Control::None);
    let (cut, notified) = time(Control::Dcqcn);
    assert_eq!((none, notified >= 1), (0, true));
    // 98 packets of 4150 B take 81 us at 40 Gb/s. The notification comes after some 15 us.
    let rest = free - 15.0;
    assert!((0.75 * rest..1.02 * rest).contains(&(cut - free)), "{cut} and {free}");
}

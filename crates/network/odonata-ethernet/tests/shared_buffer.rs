//! Queues of a buffer that the outputs of a switch share: A. Choudhury, E. Hahne, IEEE/ACM Transactions on Networking 6(2),
//! 1998, equation of the steady state.

mod rig;

use odonata_engine::{Sequential, Time};
use odonata_ethernet::PortCounters;
use odonata_ethernet::settings::{Settings, Transport};
use odonata_units::Bytes;
use rig::Case;

const PACKET: f64 = 4064.0;
const BUFFER: f64 = 4_000_000.0;

/// On one switch: `senders` nodes send to each of `targets` others at 100 Gb/s, without windows.
fn case(targets: u32, senders: u32, set: impl FnOnce(&mut Settings)) -> Case {
    let pair = |n: u32| (targets + n, n % targets, 2_000_000);
    let flows = (0..targets * senders).map(pair).collect();
    let mut case = Case::new(32, 1, 100.0, flows).with(|settings| {
        settings.transport = Transport::Roce;
        settings.buffer = Some(Bytes(BUFFER as u64));
        set(settings);
    });
    case.packet = (4000, 64);
    case
}

/// The counters of the ports of the switch to the first `targets` nodes, and of all, after the first 150 us, in which all
/// outputs are busy.
fn counters(case: &Case, targets: u32) -> (Vec<PortCounters>, Vec<PortCounters>) {
    let mut scheduler = Sequential::new(case.part(0..1));
    scheduler.run(Time(150_000_000), u64::MAX);
    let rig = scheduler.into_model();
    let all: Vec<PortCounters> = rig.ethernet.port_counters().copied().collect();
    (all[..targets as usize].to_vec(), all)
}

/// n outputs with more traffic than they carry have alpha B / (1 + n alpha) each. What arrives from 4 inputs in a
/// packet time finds the outputs one after the other, so they differ by packets.
#[test]
fn busy_outputs_share_the_buffer_by_alpha() {
    for alpha in [0.25, 1.0, 4.0] {
        for targets in [1, 2, 4] {
            let case = case(targets, 4, |settings| {
                settings.pauses = false.into();
                settings.alpha = alpha.into();
            });
            let (outputs, all) = counters(&case, targets);
            let expected = alpha * BUFFER / (1.0 + f64::from(targets) * alpha);
            for port in &outputs {
                let off = port.most as f64 - expected;
                assert!(
                    off.abs() <= (4.0 * f64::from(targets) + alpha) * PACKET,
                    "{alpha}, {targets}: {} and {expected}",
                    port.most
                );
            }
            assert!(all.iter().map(|port| port.dropped).sum::<u64>() > 0);
        }
    }
}

/// With pauses: k inputs of one output are paused at alpha B / (1 + k alpha) each. Then arrives what is under way in the
/// round trip of a pause, and a packet that has begun; nothing is lost.
#[test]
fn inputs_are_paused_at_the_dynamic_threshold() {
    for alpha in [0.125, 0.5] {
        for inputs in [2, 4, 8] {
            let case = case(1, inputs, |settings| {
                settings.alpha = alpha.into();
                settings.buffer = Some(Bytes(BUFFER as u64 / 4));
            });
            let (outputs, all) = counters(&case, 1);
            let (inputs, most) = (f64::from(inputs), outputs[0].most as f64);
            let threshold = inputs * alpha * BUFFER / 4.0 / (1.0 + inputs * alpha);
            let headroom = inputs * (2.0e6 / 80.0 + 3.0 * PACKET);
            assert!(
                (threshold - inputs * PACKET..threshold + headroom).contains(&most),
                "{alpha}, {inputs}: {most}, from {threshold} on, {headroom} more"
            );
            assert_eq!(all.iter().map(|port| port.dropped).sum::<u64>(), 0);
            assert!(all.iter().map(|port| port.pauses).sum::<u64>() > 0);
        }
    }
}

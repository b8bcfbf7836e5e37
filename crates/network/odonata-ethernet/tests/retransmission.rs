//! What senders of RoCE send again in a network that drops.

mod rig;

use odonata_ethernet::settings::{Retransmission, Transport};
use odonata_units::Bytes;
use rig::{Case, Results};

const PACKETS: u64 = 400;

/// A flow of many packets, and one packet of another sender that meets it where their paths join; queues have room for
/// two packets.
fn single_loss(gbps: f64, levels: usize, retransmission: Retransmission, seed: u64) -> Results {
    let (nodes, other, payload) = (18, 14, 4000);
    let flows = vec![(nodes - 1, 0, PACKETS * payload), (other, 0, payload)];
    let mut case = Case::new(nodes, levels, gbps, flows).with(|settings| {
        settings.transport = Transport::Roce;
        settings.pauses = false.into();
        settings.queue = Bytes(2 * 4064).into();
        settings.retransmission = retransmission.into();
    });
    (case.packet, case.seed) = ((payload, 64), seed);
    case.run()
}

/// Runs in which the long flow loses one packet, which others follow, and the other flow none.
fn losses(gbps: f64, levels: usize, retransmission: Retransmission) -> Vec<Results> {
    let runs = (1..40).map(|seed| single_loss(gbps, levels, retransmission, seed));
    let found: Vec<_> = runs
        .filter(|results| results.transport.dropped == 1 && results.transport.timeouts == 0)
        .collect();
    assert!(!found.is_empty());
    found
}

/// A packet is lost, and the next one, a packet time later, causes the report. So the sender has sent that packet and
/// those of a round trip: 1 + ceil([H P + H A] 8 / r + 2 H L) r / (8 P)), with packets of P and reports of A bytes on
/// the wire over H links of latency L. All of them are sent again, and all but the lost one were discarded.
#[test]
fn go_back_n_sends_the_window_after_a_single_loss_again() {
    for (gbps, levels, links) in [(40.0_f64, 2, 4.0), (100.0, 2, 4.0), (100.0, 3, 6.0), (400.0, 3, 6.0)] {
        let packet = 4064.0 * 8e-3 / gbps;
        let round_trip = links * (packet + 64.0 * 8e-3 / gbps + 2.0);
        let expected = 1 + (round_trip / packet).ceil() as u64;
        for results in losses(gbps, levels, Retransmission::GoBackN) {
            let (sent, roce) = (&results.transport, &results.roce);
            assert_eq!(sent.again, expected, "{gbps} {levels}");
            assert_eq!(sent.again_bytes, expected * 4000);
            assert_eq!((sent.nacks, roce.out_of_sequence), (1, expected - 1));
            assert_conserved(&results);
        }
    }
}

#[test]
fn selective_retransmission_sends_the_lost_packet_alone() {
    for results in losses(100.0, 3, Retransmission::Selective) {
        let (sent, roce) = (&results.transport, &results.roce);
        assert_eq!((sent.again, sent.nacks, roce.out_of_sequence), (1, 1, 0));
        assert_conserved(&results);
    }
}

fn assert_conserved(results: &Results) {
    let t = &results.transport;
    assert_eq!(
        (t.packets, t.delivered, t.delivered_bytes),
        (PACKETS + 1, PACKETS + 1, t.bytes)
    );
    let arrived = t.delivered + t.duplicates + results.roce.out_of_sequence;
    assert_eq!(t.packets + t.again, arrived + t.trimmed + t.dropped);
}

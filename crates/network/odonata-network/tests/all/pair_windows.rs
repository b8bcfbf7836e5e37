//! Windows of endpoint pairs: packets in flight, throughput, shares and recovery of an incast, and bystanders.

use crate::common::{CYCLE, FLIT, INPUT_QUEUES, Net, Play, Scripted, message, named};
use crate::congestion::{HOT, PACKET, cycles, machine};
use odonata_engine::Sequential;
use odonata_network::CongestionControl;
use odonata_units::Bytes;

/// Cycles of an interval, of a packet on a link, and packets of an interval.
const INTERVAL: u64 = 200;
const PACKET_CYCLES: u64 = PACKET / FLIT;
const MOST: u64 = INTERVAL / PACKET_CYCLES;

fn control() -> CongestionControl {
    CongestionControl::per_pair(Bytes(4 * PACKET), cycles(INTERVAL), cycles(20_000))
}

fn controlled(traffics: u16) -> Net {
    let mut net = machine(control());
    net.params.traffics = traffics;
    net
}

/// `senders` nodes of other groups send `packets` packets each to the hot node, at full rate from the start on.
fn incast(senders: u32, packets: u32) -> Vec<Scripted> {
    let all = (0..senders).flat_map(|one| (0..packets).map(move |_| message(CYCLE, source(one), HOT, PACKET)));
    named(all.collect())
}

/// Node of a sender: the first ones of four groups and on routers of their own, so that they share no cable to the hot
/// router.
fn source(sender: u32) -> u32 {
    16 + 16 * (sender % 4) + 4 * (sender / 4 % 4) + sender / 16
}

/// Bytes of a traffic that have arrived.
fn arrived(run: &Sequential<Play>, traffic: u32) -> u64 {
    run.model().fabric.traffic_stats().get(traffic).bytes
}

/// Once the first burst has left, the packets of `n` senders in the network are at most those of an interval on the
/// link, `interval / t`, whatever `n` is; and one for each of few senders, whose windows are rounded up. That link is
/// always busy: it carries `(T - T0) / t` packets in `T - T0`.
#[test]
fn an_incast_has_the_packets_of_an_interval_in_flight_and_a_busy_link() {
    for queues in INPUT_QUEUES {
        for senders in [2, 8, 30, 64] {
            let most = MOST as u32 + if u64::from(senders) < MOST { senders } else { 0 };
            let mut net = controlled(1);
            net.params.input_queues = queues;
            let mut run = Sequential::new(Play::new(&net, incast(senders, 60_000 / 8 / senders + 200)));
            run.run(cycles(20_000), u64::MAX);
            let before = arrived(&run, 0);
            for time in (20_000..=40_000).step_by(50) {
                run.run(cycles(time), u64::MAX);
                let packets = run.model().fabric.in_flight().0;
                assert!(
                    packets <= most,
                    "{queues:?}, {senders} senders: {packets} packets at {time}"
                );
            }
            let busy = (arrived(&run, 0) - before) as f64 / (FLIT * 20_000) as f64;
            assert!(
                busy >= 0.99,
                "{queues:?}, {senders} senders: the link is {busy:.3} busy"
            );
        }
    }
}

/// `n` senders, more than the link has packets of an interval, get `1 / n` of it each. A
/// packet follows the last one after its round trip and a wait that is the same for all, `n t` together; round trips
/// differ by up to 60 cycles.
#[test]
fn senders_get_equal_shares() {
    for senders in [30u32, 64] {
        let mut script = incast(senders, 60_000 / 8 / senders + 200);
        let traffic = |node| (0..senders).position(|one| source(one) == node).unwrap() as u16;
        script.iter_mut().for_each(|m| m.traffic = traffic(m.source));
        let mut run = Sequential::new(Play::new(&controlled(senders as u16), script));
        run.run(cycles(10_000), u64::MAX);
        let before: Vec<u64> = (0..senders).map(|one| arrived(&run, one)).collect();
        run.run(cycles(50_000), u64::MAX);
        let share = (40_000 * FLIT) as f64 / f64::from(senders);
        for (one, before) in (0..).zip(before) {
            let ratio = (arrived(&run, one) - before) as f64 / share;
            assert!(
                (ratio - 1.0).abs() <= 60.0 / (f64::from(senders) * PACKET_CYCLES as f64),
                "sender {one} of {senders}: {ratio:.3} of its share"
            );
        }
    }
}

/// When all other senders have nothing left, the window of the last one grows to that of its link within a few rounds:
/// its `k` packets take `k t` and at most ten intervals.
#[test]
fn a_source_has_its_link_again_soon_after_an_incast() {
    let (senders, each, long) = (30, 40, 1_000);
    let mut script = incast(senders, each);
    script.extend((0..long).map(|_| message(CYCLE, 16, HOT, PACKET)));
    let script = named(script);
    let packets = u64::from(senders * each + long);
    let mut run = Sequential::new(Play::new(&controlled(1), script));
    run.run(cycles(packets * PACKET_CYCLES + 10 * INTERVAL), u64::MAX);
    assert_eq!(arrived(&run, 0), packets * PACKET);
}

/// Packets that pass the same routers as an incast of `n` senders take 10% longer at most.
#[test]
fn bystanders_are_not_delayed() {
    let latency = |hot: bool| {
        let victims = [31u32, 47].into_iter().flat_map(|source| {
            (0..250).map(move |i| {
                let mut m = message(cycles(20_000 + 150 * i + u64::from(source)), source, HOT + 1, PACKET);
                m.traffic = 1;
                m
            })
        });
        let flood = incast(30, 400).into_iter().filter(|m| hot && m.source != 31);
        let mut run = Sequential::new(Play::new(&controlled(2), named(flood.chain(victims).collect())));
        run.run(cycles(60_000), u64::MAX);
        let stats = *run.model().fabric.traffic_stats().get(1);
        stats.latency_ps as f64 / stats.packets as f64
    };
    let (alone, beside) = (latency(false), latency(true));
    assert!(beside <= 1.1 * alone, "{:.3} times as long", beside / alone);
}

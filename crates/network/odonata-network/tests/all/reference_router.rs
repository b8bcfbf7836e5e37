//! The event-driven fabric compared with a router network simulated cycle by cycle and flit by flit.

use crate::common::{
    ARBITRATIONS, CYCLE, FLIT, INPUT_QUEUES, Net, Scripted, cycle, link, links, message, named, play, random_messages,
    shape,
};
use odonata_engine::Time;
use odonata_topology::DragonflyShape;

const SIZES: [u64; 3] = [FLIT, 2 * FLIT, 8 * FLIT];

/// With both kinds of input queues, with round robin and another arbitration that the context selects, every message
/// arrives in the same cycle as in the reference. Returns the arrival cycles of round robin, virtual output queues
/// first.
fn assert_equal(net: &Net, script: Vec<Scripted>, context: &str) -> [Vec<u64>; 2] {
    let letters: usize = context.bytes().map(usize::from).sum();
    INPUT_QUEUES.map(|queues| {
        let [round_robin, _] = [ARBITRATIONS[0], ARBITRATIONS[1 + letters % 3]].map(|arbitration| {
            let mut net = net.clone();
            (net.params.input_queues, net.params.arbitration) = (queues, arbitration);
            assert_equal_arrivals(&net, &script, &format!("{queues:?}, {arbitration:?}, {context}"))
        });
        round_robin
    })
}

fn assert_equal_arrivals(net: &Net, script: &[Scripted], context: &str) -> Vec<u64> {
    let expected = cycle::arrivals(net, script);
    let mut model = play(net, script.to_vec());
    let wrong: Vec<_> = (0..script.len())
        .filter(|&i| model.arrival(i).0 != expected[i] * CYCLE.0)
        .map(|i| (script[i], model.arrival(i).0 as f64 / CYCLE.0 as f64, expected[i]))
        .collect();
    assert!(
        wrong.is_empty(),
        "{context}: {} of {} differ, first {:?}",
        wrong.len(),
        script.len(),
        wrong[0]
    );
    model.assert_complete(context);
    expected
}

fn shapes() -> [(&'static str, DragonflyShape); 4] {
    [
        ("one router", shape(1, 1, 8, 0)),
        ("one group", shape(1, 4, 2, 0)),
        ("3 groups", shape(3, 2, 2, 1)),
        ("9 groups", shape(9, 4, 2, 2)),
    ]
}

/// Cycles per flit of terminal, local and global links.
const RATES: [[u64; 3]; 6] = [[1, 1, 1], [1, 2, 3], [3, 2, 1], [2, 1, 3], [1, 3, 1], [3, 1, 2]];

fn rated(shape: DragonflyShape, [t, l, g]: [u64; 3], buffers: [u64; 3]) -> Net {
    let mut net = Net::round(shape);
    net.params.links = links([
        link(t, 2, buffers[0], 1),
        link(l, 5, buffers[1], 2),
        link(g, 20, buffers[2], 4),
    ]);
    net
}

#[test]
fn a_single_packet_takes_the_same_cycles_over_every_path() {
    compare_single_packets(&RATES[1..3]);
}

#[test]
#[ignore = "takes long"]
fn a_single_packet_takes_the_same_cycles_over_every_path_at_all_rates() {
    compare_single_packets(&RATES);
}

fn compare_single_packets(rates: &[[u64; 3]]) {
    for &rates in rates {
        let net = rated(shape(9, 4, 2, 2), rates, [32, 32, 64]);
        // Far enough apart in time never to meet: 46 cycles on the longest path, and 24 for 8 flits on each of 5 links.
        let pairs = (1..net.nodes()).flat_map(|target| SIZES.map(|bytes| (target, bytes)));
        let script = pairs
            .zip(1..)
            .map(|((target, bytes), i)| message(Time(i * 170 * CYCLE.0), 0, target, bytes));
        assert_equal(&net, named(script.collect()), &format!("{rates:?}"));
    }
}

#[test]
fn a_stream_of_long_messages_takes_the_same_cycles() {
    for rates in RATES {
        for buffers in [[8, 8, 8], [16, 9, 24], [64, 64, 256]] {
            let net = rated(shape(9, 4, 2, 2), rates, buffers);
            let script = (0..20).map(|i| message(Time((1 + 10 * i) * CYCLE.0), 0, 61, (1 + i) * 3 * FLIT));
            assert_equal(&net, named(script.collect()), &format!("{rates:?} {buffers:?}"));
        }
    }
}

fn compare_random_traffic(rates: &[[u64; 3]]) {
    for (name, shape) in shapes() {
        for &rates in rates {
            for buffers in [[8, 8, 8], [12, 20, 9], [32, 32, 64]] {
                let net = rated(shape, rates, buffers);
                // A node sends at most one flit in max(rates) cycles; 3.7 flits a message on average.
                let full = 4 * net.nodes() as u64 * rates[0];
                for (load, n, span) in [
                    ("low", 300, 300 * 40),
                    ("medium", 600, 600 * 4),
                    ("saturating", 1_000, full),
                ] {
                    let script = random_messages(&net, n, span, &SIZES, 7 + n as u64);
                    assert_equal(
                        &net,
                        script,
                        &format!("{name}, {load} load, rates {rates:?}, buffers {buffers:?}"),
                    );
                }
            }
        }
    }
}

#[test]
fn random_traffic_from_low_to_saturating_load_takes_the_same_cycles() {
    compare_random_traffic(&RATES[1..2]);
}

#[test]
#[ignore = "takes long"]
fn random_traffic_takes_the_same_cycles_at_all_rates() {
    compare_random_traffic(&RATES);
}

#[test]
fn hot_spot_and_neighbor_group_traffic_take_the_same_cycles() {
    let net = rated(shape(9, 4, 2, 2), [1, 1, 1], [8, 16, 24]);
    let nodes = net.nodes();
    let to_one = |i: u32| (i % nodes, 5u32);
    let next_group = |i: u32| (i % nodes, (i % nodes + 8 + i / nodes) % nodes);
    for (name, pair) in [
        ("hot spot", &to_one as &dyn Fn(u32) -> (u32, u32)),
        ("next group", &next_group),
    ] {
        let script = (0..1_500).filter(|&i| pair(i).0 != pair(i).1).map(|i| {
            let (source, target) = pair(i);
            message(
                Time(u64::from(1 + i / 8) * CYCLE.0),
                source,
                target,
                SIZES[i as usize % 3],
            )
        });
        assert_equal(&net, named(script.collect()), name);
    }
}

/// By hand: 1 cycle per flit, 2 of latency, 3 of pipeline, so a head is at its output 6 cycles after its start. The
/// output to node 2 sends from 7 to 15 for node 1 and from 15 to 23 for node 0, whose second packet requests an idle
/// output at 16. It leaves beside the first from 16 to 24, or behind it from 23 to 31 from a FIFO.
#[test]
fn a_packet_for_an_idle_output_waits_in_a_fifo_only() {
    let net = rated(shape(1, 1, 8, 0), [1, 1, 1], [64, 64, 64]);
    let packet = |cycle, source, target| message(Time(cycle * CYCLE.0), source, target, 8 * FLIT);
    let script = vec![packet(1, 1, 2), packet(2, 0, 2), packet(2, 0, 6)];
    let arrivals = assert_equal(&net, named(script), "one router");
    assert_eq!(arrivals, [[17, 25, 26], [17, 25, 33]]);
}

//! What a node sends and receives: headers, the rate of messages, and a receive rate below that of the link.

use crate::common::{
    CYCLE, FLIT, Net, ROUTERS, SIZES, Scripted, assert_can_be_undone, assert_equal_divided, message, named, play,
    random_messages, shape,
};
use crate::pipelined::pipelined;
use odonata_engine::Time;
use odonata_network::settings::{Fidelity, RateAbove};
use odonata_network::{Fidelities, InputQueues, Queues, RouterModel, Switching};
use odonata_units::{Bandwidth, Bytes};

/// Cycles of a packet of 8 flits.
const PACKET: u64 = 8;

fn star(nodes: u32) -> Net {
    Net::round(shape(1, 1, nodes, 0))
}

/// Arrival of each message in cycles.
fn arrivals(net: &Net, script: &[Scripted]) -> Vec<u64> {
    let ran = play(net, named(script.to_vec()));
    (0..script.len()).map(|name| ran.arrival(name).0 / CYCLE.0).collect()
}

/// A packet of L bytes with a header of H bytes takes (L + H) / b on each of its links: n packets arrive `(n - 1) (L +
/// H) / b` after the first, which with store and forward takes `2 H / b` longer than without header. An empty message
/// takes the time of its header. Flows have the rate of full packets.
#[test]
fn a_header_takes_its_time_on_every_link() {
    const HEADER: u64 = 2;
    for (router, queues) in ROUTERS {
        let of = |header: u64| {
            let mut net = star(3).with((router, queues));
            (net.params.header, net.params.switching) = (header * FLIT, Switching::StoreAndForward);
            net
        };
        for bytes in [0, 3 * FLIT, PACKET * FLIT] {
            let single = [message(CYCLE, 0, 1, bytes)];
            let (bare, framed) = (arrivals(&of(0), &single)[0], arrivals(&of(HEADER), &single)[0]);
            assert_eq!(framed, bare + 2 * HEADER, "{router:?}, {bytes} B");
        }
        for n in [2, 50] {
            let many = [message(CYCLE, 0, 1, n * PACKET * FLIT)];
            let first = arrivals(&of(HEADER), &[message(CYCLE, 0, 1, PACKET * FLIT)])[0];
            assert_eq!(
                arrivals(&of(HEADER), &many)[0],
                first + (n - 1) * (PACKET + HEADER),
                "{router:?}"
            );
        }
    }
    let mut flows = star(2);
    (flows.params.header, flows.params.blame) = (HEADER * FLIT, false);
    flows.params.fidelities = Fidelities::Same(Fidelity::Flow);
    let end = |n: u64| arrivals(&flows, &[message(CYCLE, 0, 1, n * PACKET * FLIT)])[0];
    let found = end(1000) - end(500);
    assert!(found.abs_diff(500 * (PACKET + HEADER)) <= 1, "{found}");
}

/// A node with a receive rate of a quarter of its link takes n packets in `4 n L / b`, from one source or several, and
/// sends at the rate of its link: so do flows.
#[test]
fn a_node_receives_at_its_own_rate_and_sends_at_that_of_the_link() {
    const N: u64 = 60;
    for (router, queues) in ROUTERS {
        for flows in [false, true] {
            let mut net = star(4).with((router, queues));
            net.params.nic.receive_rate = Some(Bandwidth(FLIT as f64 * 1e9 / 4.0));
            if flows {
                (net.params.blame, net.params.fidelities) = (false, Fidelities::Same(Fidelity::Flow));
            }
            let context = format!("{router:?}, flows {flows}");
            let latency = arrivals(&net, &[message(CYCLE, 0, 1, PACKET * FLIT)])[0];
            let one = arrivals(&net, &[message(CYCLE, 0, 1, N * PACKET * FLIT)])[0];
            assert!(one.abs_diff(latency + (N - 1) * 4 * PACKET) <= 1, "{context}: {one}");
            let two = [0, 2].map(|source| message(CYCLE, source, 1, N * PACKET * FLIT));
            let last = arrivals(&net, &two).into_iter().max().unwrap();
            assert!(
                last.abs_diff(latency + (2 * N - 1) * 4 * PACKET) <= 4 * PACKET,
                "{context}: {last}"
            );
            // Three receivers of a quarter each leave a quarter of the sender's link idle.
            net.params.nic.queues = if flows { Queues::Fifo } else { Queues::PerPeer };
            // A FIFO at the input passes one packet at a time.
            if !flows && queues == InputQueues::VirtualOutput {
                let three = [1, 2, 3].map(|target| message(CYCLE, 0, target, N * PACKET * FLIT));
                let last = arrivals(&net, &three).into_iter().max().unwrap();
                assert!(
                    last.abs_diff(latency + (N - 1) * 4 * PACKET) <= 8 * PACKET,
                    "{context}: {last}"
                );
            }
        }
    }
}

/// With a gap of g between messages, n messages of one flit start g apart, and the first packet of a longer message takes
/// `max(L / b, g)`.
#[test]
fn messages_start_at_least_the_gap_apart() {
    const GAP: u64 = 20;
    let mut nets: Vec<Net> = ROUTERS.map(|router| star(3).with(router)).to_vec();
    let mut flit_by_flit = pipelined(Switching::CutThrough);
    (flit_by_flit.shape, flit_by_flit.params.router) = (shape(1, 1, 3, 0), RouterModel::Pipelined);
    nets.push(flit_by_flit);
    for net in nets {
        let mut gapped = net.clone();
        gapped.params.nic.message_gap = Time(GAP * CYCLE.0);
        let context = format!("{:?}", net.params.router);
        let small: Vec<Scripted> = (0..10).map(|i| message(CYCLE, 0, 1 + i % 2, FLIT)).collect();
        let found = arrivals(&gapped, &small);
        let first = arrivals(&net, &small[..1])[0];
        assert_eq!(
            found,
            (0..10).map(|i| first + i * GAP).collect::<Vec<u64>>(),
            "{context}"
        );
        let two = [message(CYCLE, 0, 1, 3 * PACKET * FLIT), message(CYCLE, 0, 2, FLIT)];
        let bare = arrivals(&net, &two);
        let late = arrivals(&gapped, &two);
        // A pipelined router takes up to a cycle for the change of packets.
        let cycle = u64::from(net.params.router == RouterModel::Pipelined);
        assert!(
            late[1].abs_diff(bare[1] + GAP - PACKET) <= cycle,
            "{context}: {late:?} {bare:?}"
        );
    }
}

/// Messages of n packets have the rate of the last size that they exceed: n packets arrive in `(n - 1) k L / b` after the
/// first, with k the ratio of the link's rate to that of the message.
#[test]
fn a_message_has_the_rate_of_its_size() {
    let mut nets: Vec<Net> = ROUTERS.map(|router| star(3).with(router)).to_vec();
    let mut flit_by_flit = pipelined(Switching::CutThrough);
    (flit_by_flit.shape, flit_by_flit.params.router) = (shape(1, 1, 3, 0), RouterModel::Pipelined);
    nets.push(flit_by_flit);
    for mut net in nets {
        let context = format!("{:?}", net.params.router);
        let first = arrivals(&net, &[message(CYCLE, 0, 1, PACKET * FLIT)])[0];
        net.params.nic.message_rates = [(10, 4.0), (20, 2.0)]
            .map(|(packets, ratio)| RateAbove {
                above: Bytes(packets * PACKET * FLIT),
                rate: Bandwidth(FLIT as f64 * 1e9 / ratio),
            })
            .to_vec();
        for (n, ratio) in [(1, 1), (10, 1), (11, 4), (20, 4), (21, 2), (60, 2)] {
            let found = arrivals(&net, &[message(CYCLE, 0, 1, n * PACKET * FLIT)])[0];
            let expected = first + (n - 1) * ratio * PACKET;
            // A pipelined router takes up to a cycle for the change of packets.
            assert!(
                found.abs_diff(expected) <= n,
                "{context}, {n} packets: {found}, {expected}"
            );
        }
    }
}

#[test]
fn parts_schedulers_and_undoing_make_no_difference() {
    for router in ROUTERS {
        let mut net = Net::round(shape(5, 4, 2, 2)).with(router);
        (net.params.header, net.params.nic.message_gap) = (24, Time(7 * CYCLE.0));
        net.params.nic.receive_rate = Some(Bandwidth(FLIT as f64 * 1e9 / 2.0));
        net.params.nic.message_rates = vec![RateAbove {
            above: Bytes(PACKET * FLIT),
            rate: Bandwidth(FLIT as f64 * 1e9 / 3.0),
        }];
        let script = random_messages(&net, 150, 100, &SIZES, 3);
        let context = format!("{router:?}");
        play(&net, script.clone()).assert_complete(&context);
        assert_equal_divided(&net, &script, &context);
        assert_can_be_undone(&net, script, &context);
    }
}

//! Shares of contended links: the parking lot, in which all nodes of a line send to the last one.
//!
//! ```text
//!  node 0    node 1    node 2          node 6    node 7
//!    |         |         |               |         ^
//!  router -> router -> router -> ... -> router -> router
//! ```
//!
//! Every router merges the traffic along the line with that of its own node.

use crate::common;
use crate::common::{ARBITRATIONS, CYCLE, FLIT, Net, Play, ROUTERS, Scripted, link, links, message, named, shape};
use odonata_engine::{Sequential, Time};
use odonata_network::routing::{Routing, TorusAlgorithm, TorusRouting};
use odonata_network::{Arbitration, Blueprint, NetworkParams, RouterModel};
use odonata_topology::{Torus, TorusShape};

const NODES: u32 = 8;
const PACKET: u64 = 8 * FLIT;

/// Buffer sizes in packets at terminal and local links; all cover a round trip.
const BUFFERS: [(u64, u64); 4] = [(4, 4), (16, 4), (4, 16), (32, 16)];

fn line(router: common::Router, arbitration: Arbitration, (terminal, local): (u64, u64)) -> NetworkParams {
    let mut params = Net::round(shape(1, 1, 1, 0)).params;
    (params.router, params.input_queues) = router;
    params.arbitration = arbitration;
    params.blame &= router.0 != RouterModel::Pipelined;
    params.traffics = NODES as u16;
    params.links = links([link(1, 2, 8 * terminal, 1), link(1, 2, 8 * local, 1), link(1, 2, 8, 1)]);
    params
}

/// The shares of nodes 0 to 6 in the link to node 7, in the second half of a run; `vcs` channels per link.
fn shares(params: NetworkParams, vcs: u8, script: Vec<Scripted>, cycles: u64) -> Vec<f64> {
    let line = Torus::new(TorusShape {
        extents: vec![NODES],
        nodes: 1,
        wrap: false,
    });
    let routing = Routing::Torus(TorusRouting::new(line.unwrap(), TorusAlgorithm::DimensionOrder).unwrap());
    let play = Play::on(Blueprint::new(params, routing, [vcs, vcs, 0, 0]).whole(), script);
    let bytes = |play: &Play| -> Vec<u64> { play.fabric.traffic_stats().iter().map(|t| t.bytes).collect() };
    let mut run = Sequential::new(play);
    run.run(Time(cycles / 2 * CYCLE.0), u64::MAX);
    let before = bytes(run.model());
    run.run(Time(cycles * CYCLE.0), u64::MAX);
    let after = bytes(run.model());
    let gained: Vec<f64> = (0..7).map(|node| (after[node] - before[node]) as f64).collect();
    let all: f64 = gained.iter().sum();
    // A pipelined router with one channel misses a cycle between two packets of eight flits.
    let full = (cycles - cycles / 2) as f64 * FLIT as f64;
    assert!(all >= 0.88 * full, "the last link is idle: {all} of {full} bytes");
    gained.into_iter().map(|bytes| bytes / all).collect()
}

/// Nodes 0 to 6 each offer the full rate of a link for `cycles` cycles, in messages of one packet or in one long
/// message.
fn all_nodes_to_the_last(long: bool, cycles: u64) -> Vec<Scripted> {
    let slots = cycles / 8;
    let sources = 0..NODES - 1;
    let script = match long {
        true => (sources.map(|source| (source, 0, slots * PACKET))).collect::<Vec<_>>(),
        false => (0..slots)
            .flat_map(|slot| sources.clone().map(move |source| (source, slot, PACKET)))
            .collect(),
    };
    let script = script.into_iter().map(|(source, slot, bytes)| Scripted {
        traffic: source as u16,
        ..message(Time((1 + 8 * slot) * CYCLE.0), source, NODES - 1, bytes)
    });
    named(script.collect())
}

const CYCLES: u64 = 40_000;

fn assert_shares(expected: [f64; 7], got: &[f64], context: &str) {
    // Four packets of about 2,500.
    let near = expected
        .iter()
        .zip(got)
        .all(|(a, b)| (a - b).abs() <= 4.0 * 16.0 / CYCLES as f64);
    assert!(near, "{context}: {got:.4?}, not {expected:.4?}");
}

fn everywhere(arbitration: Arbitration, expected: [f64; 7]) {
    let pipelined = (RouterModel::Pipelined, ROUTERS[0].1);
    for router in ROUTERS.into_iter().chain([pipelined]) {
        for buffers in BUFFERS {
            for (long, vcs) in [(false, 1), (true, 1), (false, 3)] {
                let context = format!("{router:?}, {arbitration:?}, buffers {buffers:?}, {vcs} channels, long {long}");
                let script = all_nodes_to_the_last(long, CYCLES);
                let got = shares(line(router, arbitration, buffers), vcs, script, CYCLES);
                assert_shares(expected, &got, &context);
            }
        }
    }
}

/// Each merge halves the share: 2^-(7 - k) for node k, and the same for the two farthest; W. Dally, B. Towles 2004,
/// section 15.4.1.
#[test]
fn round_robin_halves_shares_at_every_merge_for_all_buffers() {
    everywhere(
        Arbitration::RoundRobin,
        std::array::from_fn(|k| 0.5_f64.powi(7 - k.max(1) as i32)),
    );
}

/// 1/7 each: the delivered packets are those created before some time, wherever they were.
#[test]
fn age_arbitration_gives_equal_shares_for_all_buffers() {
    everywhere(Arbitration::Age, [1.0 / 7.0; 7]);
}

/// Two groups send to a node of the first one through the same router R. R sends on to the node's router over a link
/// that four nodes of its own keep busy on another channel. The node accepts a quarter of what the link sends, so the
/// channel to it has room once in four packets. The inputs of that channel take turns, independent of packets sent on
/// the other channel meanwhile: both groups get half.
#[test]
fn each_channel_has_its_own_round_of_inputs() {
    const AT_R: u32 = 0;
    const BUSY: u32 = 4;
    let (group, slots) = (2 * BUSY, 2_000);
    let (target, sources) = (BUSY, [group, 2 * group]);
    let pairs: Vec<(u32, u32)> = (sources.map(|source| (source, target)).into_iter())
        .chain((AT_R..AT_R + BUSY).map(|node| (node, 3 * group + node)))
        .collect();
    let script: Vec<Scripted> = (0..slots)
        .flat_map(|slot| pairs.iter().map(move |&(from, to)| (32 * slot, from, to)))
        .map(|(cycle, from, to)| Scripted {
            traffic: (from / group) as u16,
            ..message(Time((1 + cycle) * CYCLE.0), from, to, PACKET)
        })
        .collect();
    let pipelined = (RouterModel::Pipelined, ROUTERS[0].1);
    for router in ROUTERS.into_iter().chain([pipelined]) {
        let mut net = Net::round(shape(5, 2, BUSY, 2)).with(router);
        net.params.links = links([link(4, 2, 64, 1), link(1, 5, 64, 2), link(1, 20, 128, 4)]);
        net.params.traffics = 5;
        let mut run = Sequential::new(Play::new(&net, named(script.clone())));
        run.run(Time(32 * slots * CYCLE.0), u64::MAX);
        let stats = run.model().fabric.traffic_stats();
        let delivered: Vec<u64> = stats.iter().map(|t| t.bytes / PACKET).collect();
        let [first, second] = [delivered[1], delivered[2]];
        assert!(first + second > slots * 9 / 10, "{router:?}: {delivered:?}");
        assert!(first.abs_diff(second) <= 8, "{router:?}: {delivered:?}");
    }
}

/// Requests queue per packet, so the share of a port is that of its packets in the buffers: with four times the buffer
/// for traffic along the line, the farthest node gets many times as much.
#[test]
fn first_come_arbitration_gives_shares_by_buffer_size() {
    let far = |buffers| {
        let script = all_nodes_to_the_last(false, CYCLES);
        shares(line(ROUTERS[0], Arbitration::FirstCome, buffers), 1, script, CYCLES)[0]
    };
    let (more_local, more_terminal) = (far((4, 16)), far((16, 4)));
    assert!(more_local > 20.0 * more_terminal, "{more_local} and {more_terminal}");
}

/// The lowest input port goes first. The node's port is the first of a router, so no other port passes the last merge.
#[test]
fn lowest_first_arbitration_gives_all_to_the_lowest_port() {
    let script = all_nodes_to_the_last(false, CYCLES);
    let got = shares(line(ROUTERS[0], Arbitration::LowestFirst, (16, 16)), 1, script, CYCLES);
    assert!(got[6] > 0.99, "{got:?}");
}

/// All traffic with each arbitration: every message arrives once, idle wake-ups of ports change nothing, and events
/// done, undone and redone leave the same state.
#[test]
fn idle_wake_ups_of_ports_change_nothing_with_any_arbitration() {
    for router in ROUTERS {
        for arbitration in ARBITRATIONS {
            let mut net = Net::round(shape(5, 4, 2, 2)).with(router);
            net.params.arbitration = arbitration;
            let script = common::random_messages(&net, 400, 600, &[FLIT, 3 * FLIT, 8 * FLIT, 20 * FLIT], 5);
            let context = format!("{router:?} {arbitration:?}");
            let mut lazy = common::play(&net, script.clone());
            lazy.assert_complete(&context);
            let eager = common::finish(Play::new(&net, script).eager(Time(2_000 * CYCLE.0)));
            assert_eq!(lazy.digest(), eager.digest(), "{context}");
        }
    }
}

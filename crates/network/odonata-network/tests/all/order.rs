//! Results depend only on the scenario and the seed.

use crate::common::{
    CYCLE, FLIT, Net, Play, ROUTERS, ROUTINGS, SWITCHINGS, Scripted, fingerprint, finish, message, named, play,
    random_messages, sample, shape,
};
use odonata_engine::random::Purpose;
use odonata_engine::{RollbackCheck, Stream, Time};
use odonata_network::routing::{Algorithm, Divert, Intermediate};

const SIZES: [u64; 5] = [0, FLIT, 3 * FLIT, 8 * FLIT, 50 * FLIT];

fn all_nets(shape: odonata_topology::DragonflyShape, test: impl FnMut(Net, &str)) {
    some_nets(1, shape, test);
}

/// Every `step`-th network.
fn some_nets(step: usize, shape: odonata_topology::DragonflyShape, mut test: impl FnMut(Net, &str)) {
    let mut in_sample = sample(step);
    for router in ROUTERS {
        for switching in SWITCHINGS {
            for (algorithm, intermediate, _) in ROUTINGS {
                if !in_sample() {
                    continue;
                }
                let mut net = Net::round(shape)
                    .routed(algorithm, intermediate)
                    .smallest_buffers()
                    .with(router);
                (net.params.switching, net.candidates) = (switching, 2);
                test(net, &format!("{router:?} {switching:?} {algorithm:?} {intermediate:?}"));
            }
        }
    }
}

/// Gives each message its own time, because messages of one process at one instant are ordered by insertion.
fn apart(net: &Net, mut script: Vec<Scripted>) -> Vec<Scripted> {
    let dragonfly = net.dragonfly();
    let mut taken = std::collections::HashSet::new();
    for m in &mut script {
        while !taken.insert((dragonfly.topology().node_router(m.source), m.at)) {
            m.at += CYCLE;
        }
    }
    script
}

#[test]
fn messages_may_be_inserted_in_any_order() {
    all_nets(shape(5, 4, 2, 2), |net, context| {
        let script = apart(&net, random_messages(&net, 400, 400, &SIZES, 3));
        let first = play(&net, script.clone()).digest();
        let mut random = Stream::new(4, 0, Purpose::Placement);
        for _ in 0..3 {
            let mut shuffled = script.clone();
            random.shuffle(&mut shuffled);
            assert_eq!(play(&net, shuffled).digest(), first, "{context}");
        }
    });
}

#[test]
fn the_same_seed_repeats_a_run_and_another_does_not() {
    all_nets(shape(5, 4, 2, 2), |net, context| {
        let script = random_messages(&net, 400, 400, &SIZES, 3);
        let run = |seed| {
            let mut net = net.clone();
            net.params.seed = seed;
            play(&net, script.clone()).digest()
        };
        assert_eq!(run(1), run(1), "{context}");
        // With one cable per pair of groups minimal routing draws nothing; with two it does.
        assert_ne!(run(1), run(2), "{context}");
        let other = random_messages(&net, 400, 400, &SIZES, 4);
        assert_ne!(play(&net, other).digest(), run(1), "{context}");
    });
}

#[test]
fn routing_without_a_choice_does_not_depend_on_the_seed() {
    let mut net = Net::round(shape(9, 4, 2, 2));
    let script = random_messages(&net, 400, 400, &SIZES, 3);
    let first = play(&net, script.clone()).digest();
    net.params.seed = 99;
    assert_eq!(play(&net, script).digest(), first);
}

/// Every event is done, undone and redone, at a load that fills minimal buffers.
#[test]
fn every_event_can_be_undone() {
    all_nets(shape(3, 2, 2, 1), |mut net, context| {
        net.params.series = Some(Time(50 * CYCLE.0));
        let script = random_messages(&net, 28, 14, &SIZES, 6);
        let plain = play(&net, script.clone());
        let mut harness = RollbackCheck::new(Play::new(&net, script.clone()));
        harness
            .run(u64::MAX)
            .unwrap_or_else(|error| panic!("{context}: {error}"));
        assert_eq!(
            harness.model().digest(),
            plain.digest(),
            "{context}: not the sequential results"
        );
        assert_eq!(harness.model().fabric.in_flight(), (0, 0), "{context}");
    });
}

#[test]
fn diverting_over_own_ports_can_be_undone() {
    let mut net = Net::round(shape(4, 2, 2, 3)).routed(Algorithm::ProgressiveAdaptive, Intermediate::Router);
    (net.divert, net.candidates) = (Divert::OwnGlobalPorts, 3);
    let script = random_messages(&net, 40, 20, &SIZES, 6);
    let mut harness = RollbackCheck::new(Play::new(&net, script.clone()));
    harness.run(u64::MAX).unwrap();
    assert_eq!(harness.model().digest(), play(&net, script).digest());
}

#[test]
fn needless_wake_ups_change_nothing_and_needed_ones_are_not_missing() {
    assert_needless_wake_ups_change_nothing(3);
}

#[test]
#[ignore = "takes long"]
fn needless_wake_ups_change_nothing_in_any_network() {
    assert_needless_wake_ups_change_nothing(1);
}

/// Wake-ups of ports and NICs are idempotent: an additional one for every port in every cycle changes no result. So
/// none is missing either: a port without a needed wake-up would be served earlier here.
fn assert_needless_wake_ups_change_nothing(step: usize) {
    some_nets(step, shape(5, 4, 2, 2), |net, context| {
        for (n, span) in [(150, 2_000), (300, 300), (300, 5)] {
            let script = random_messages(&net, n, span, &SIZES, 8);
            let lazy = play(&net, script.clone());
            let end = (0..n).map(|i| lazy.arrival(i)).max().unwrap();
            let mut eager = finish(Play::new(&net, script).eager(end));
            eager.assert_complete(context);
            assert_eq!(
                eager.digest(),
                lazy.digest(),
                "{context}, {n} messages in {span} cycles"
            );
        }
    });
}

#[test]
fn empty_messages_to_one_node_do_not_depend_on_wake_ups() {
    assert_empty_messages_leave_in_turn(3);
}

#[test]
#[ignore = "takes long"]
fn empty_messages_do_not_depend_on_wake_ups_in_any_network() {
    assert_empty_messages_leave_in_turn(1);
}

/// Empty messages take no time on a link, but two of them never leave on one link at one instant: they leave one after
/// another, independent of the number of wake-ups.
fn assert_empty_messages_leave_in_turn(step: usize) {
    some_nets(step, shape(3, 2, 2, 1), |net, context| {
        let nodes = net.nodes();
        let script = (0..3 * nodes)
            .filter(|i| i % nodes != 3)
            .map(|i| message(Time(CYCLE.0), i % nodes, 3, 0));
        let script = named(script.collect());
        let lazy = play(&net, script.clone());
        let eager = finish(Play::new(&net, script.clone()).eager(Time(500 * CYCLE.0)));
        assert_eq!(eager.digest(), lazy.digest(), "{context}");
        let mut harness = RollbackCheck::new(Play::new(&net, script));
        harness.run(u64::MAX).unwrap();
        assert_eq!(harness.model().digest(), lazy.digest(), "{context}");
    });
}

/// Messages stay in order on a minimal path with one cable, whatever waits beside them: in all routers packets for the
/// same virtual channel of the same output leave in order of arrival.
#[test]
fn messages_of_a_pair_of_nodes_arrive_in_the_order_sent() {
    for router in ROUTERS {
        for switching in SWITCHINGS {
            for small in [false, true] {
                let mut net = Net::round(shape(9, 4, 2, 2)).with(router);
                net.params.switching = switching;
                if small {
                    net = net.smallest_buffers();
                }
                let nodes = net.nodes();
                let script = (0..40 * nodes).map(|i| {
                    let (source, k) = (i % nodes, i / nodes);
                    // Two flows per node, both crossing busy cables.
                    let step = if k % 2 == 0 { 8 } else { 13 };
                    message(
                        Time((1 + u64::from(k)) * CYCLE.0),
                        source,
                        (source + step) % nodes,
                        (1 + u64::from(k % 8)) * FLIT,
                    )
                });
                let script = named(script.collect());
                let model = play(&net, script.clone());
                let mut last = std::collections::HashMap::new();
                for (i, m) in script.iter().enumerate() {
                    let before = last
                        .insert((m.source, m.target), model.arrival(i))
                        .unwrap_or(Time::ZERO);
                    assert!(
                        before < model.arrival(i),
                        "{router:?} {switching:?}, small buffers {small}: {m:?} overtook"
                    );
                }
            }
        }
    }
}

#[test]
fn a_state_that_differs_has_another_fingerprint() {
    let net = Net::round(shape(3, 2, 2, 1));
    let idle = fingerprint(&Play::new(&net, Vec::new()));
    assert_eq!(fingerprint(&Play::new(&net, Vec::new())), idle);
    assert_ne!(fingerprint(&play(&net, vec![message(Time(CYCLE.0), 0, 5, FLIT)])), idle);
}

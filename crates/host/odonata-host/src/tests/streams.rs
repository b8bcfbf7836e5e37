//! Several streams of one rank, dependencies, and the look-ahead of a rank.

use super::*;

/// Default look-ahead in operations.
const WINDOW: u32 = 256;

fn op(id: u32, stream: u16, after: &[u32], kind: OpKind) -> Op {
    let after: Vec<OpId> = after.iter().map(|&id| OpId(id)).collect();
    Op {
        id: OpId(id),
        stream,
        after: After::from_slice(&after).unwrap(),
        kind,
    }
}

fn end(ops: Vec<Op>) -> u64 {
    let machine = Setup::new().script(vec![ops], &[0]).complete();
    machine.hosts.metrics(0, 0).end.0 / NS
}

#[test]
fn streams_overlap_and_dependencies_join_them() {
    assert_eq!(end(vec![op(0, 0, &[], compute(300)), op(1, 1, &[], compute(500))]), 500);
    assert_eq!(
        end(vec![op(0, 0, &[], compute(300)), op(1, 1, &[0], compute(500))]),
        800
    );
    // A diamond: 100 + max(300, 500) + 50, with a third stream without dependents.
    let diamond = vec![
        op(0, 0, &[], compute(100)),
        op(1, 1, &[0], compute(300)),
        op(2, 2, &[0], compute(500)),
        op(3, 0, &[1, 2], compute(50)),
        op(4, 3, &[], compute(640)),
    ];
    assert_eq!(end(diamond), 650);
    // Order within a stream holds even if the second operation could begin.
    assert_eq!(
        end(vec![
            op(0, 0, &[], compute(300)),
            op(1, 1, &[0], compute(10)),
            op(2, 1, &[], compute(10))
        ]),
        320
    );
}

#[test]
fn compute_and_read_on_two_streams_take_the_longer_time() {
    let read = OpKind::Read {
        file: 1,
        offset: 0,
        bytes: 3_000,
    };
    let setup = || Setup::new().server(40, 1_000_000);
    let alone = setup().script(vec![sequence([read])], &[0]).complete();
    let time = alone.hosts.metrics(0, 0).end.0 / NS;
    for ns in [time / 2, 2 * time] {
        let ops = vec![op(0, 0, &[], compute(ns)), op(1, 1, &[], read)];
        let machine = setup().script(vec![ops], &[0]).complete();
        let metrics = machine.hosts.metrics(0, 0);
        assert_eq!(metrics.end.0, (ns * NS).max(alone.hosts.metrics(0, 0).end.0));
        assert_eq!((metrics.compute.0, metrics.io), (ns * NS, alone.hosts.metrics(0, 0).io));
    }
}

#[test]
fn a_second_stream_deep_in_the_program_is_found_in_time() {
    // `before` operations of stream 0, then one of stream 1 as long as all of them. It starts when it enters the
    // window, at the end of operation `before - WINDOW`.
    for before in [1, WINDOW - 1, WINDOW, WINDOW + 1, 2 * WINDOW + 7, 5 * WINDOW] {
        let mut ops: Vec<Op> = (0..before).map(|id| op(id, 0, &[], compute(10))).collect();
        ops.push(op(before, 1, &[], compute(10 * u64::from(before))));
        let entry = u64::from((before + 1).saturating_sub(WINDOW)) * 10;
        assert_eq!(end(ops), entry + 10 * u64::from(before), "{before}");
    }
}

/// A simple executor: each operation starts at the end of its predecessor in the stream and of its dependencies.
fn longest_path(ops: &[Op]) -> u64 {
    let mut ends: Vec<u64> = Vec::new();
    let mut streams = [0u64; 256];
    for op in ops {
        let OpKind::Compute { duration } = op.kind else {
            panic!()
        };
        let start = op
            .after
            .iter()
            .map(|id| ends[id.0 as usize])
            .max()
            .unwrap_or(0)
            .max(streams[usize::from(op.stream)]);
        ends.push(start + duration.0 / NS);
        streams[usize::from(op.stream)] = start + duration.0 / NS;
    }
    ends.into_iter().max().unwrap_or(0)
}

/// Time during which any stream computes: 0..300, 0..200 and 200..500 give 500; with 0..700 and 700..800, 800.
#[test]
fn concurrent_computation_on_several_streams_counts_once() {
    let ops = [
        op(0, 0, &[], compute(300)),
        op(1, 1, &[], compute(200)),
        op(2, 2, &[1], compute(300)),
        op(3, 3, &[], compute(700)),
        op(4, 3, &[], compute(100)),
    ];
    for (count, expected) in [(3, 500), (5, 800)] {
        let machine = Setup::new().script(vec![ops[..count].to_vec()], &[0]).complete();
        let metrics = machine.hosts.metrics(0, 0);
        assert_eq!(metrics.compute.0, expected * NS);
        assert_eq!(metrics.non_compute(Time::ZERO), Time::ZERO);
    }
}

#[test]
fn random_graphs_end_with_their_longest_path() {
    for seed in 0..100 {
        let mut random = Stream::new(seed, 1, Purpose::Host);
        let n = 1 + random.below(WINDOW);
        let ops: Vec<Op> = (0..n)
            .map(|id| {
                let most = random.below(5).min(id);
                let after: Vec<u32> = (0..most).map(|_| random.below(id)).collect();
                op(
                    id,
                    random.below(6) as u16,
                    &after,
                    compute(u64::from(random.below(4)) * 100),
                )
            })
            .collect();
        assert_eq!(end(ops.clone()), longest_path(&ops), "seed {seed}");
    }
}

#[test]
fn time_in_messages_of_other_streams_is_not_charged_to_the_rank() {
    let exchange = |peer: u32| {
        vec![
            op(0, 1, &[], irecv(peer, 0, 8, 0)),
            op(1, 1, &[], send(peer, 0, 8)),
            op(2, 1, &[], wait_all(1)),
            op(3, 0, &[], compute(50)),
        ]
    };
    let machine = Setup::new().script(vec![exchange(1), exchange(0)], &[0, 40]).complete();
    let metrics = machine.hosts.metrics(0, 0);
    assert!(metrics.end > metrics.compute && metrics.mpi == Time::ZERO);
}

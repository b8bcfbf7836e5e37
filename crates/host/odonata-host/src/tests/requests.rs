//! Waits and tests for requests, probes, and `PROC_NULL`.

use super::*;
use crate::MatchRecord;

/// The numbers of the requests that operation `op` of `rank` took, sorted.
fn taken(machine: &TestMachine, rank: u32, op: u32) -> Vec<u32> {
    let records = machine.hosts.observers.matches.records().iter();
    let taken = records.filter_map(|record| match *record {
        MatchRecord::Completed { rank: r, op: o, number } if (r, o.0) == (rank, op) => Some(number),
        _ => None,
    });
    let mut taken: Vec<u32> = taken.collect();
    taken.sort_unstable();
    taken
}

/// Rank 0 sends a large message and a small one, which arrives earlier and is held: both receives complete at the same
/// time, the higher number first.
fn both_at_once(mut wait: Vec<OpKind>) -> TestMachine {
    let sender = sequence([isend(1, 0, 100_000, 0), isend(1, 1, 8, 1), wait_all(2)]);
    let mut receiver = vec![irecv(0, 1, 8, 3), irecv(0, 0, 100_000, 7)];
    receiver.append(&mut wait);
    Setup::new()
        .script(vec![sender, sequence(receiver)], &[5, 5])
        .complete()
}

const FIRST: Request = Request(2);

#[test]
fn wait_any_takes_the_lowest_complete_number_and_wait_some_takes_all() {
    let any = OpKind::WaitAny { first: FIRST, count: 9 };
    let some = OpKind::WaitSome { first: FIRST, count: 9 };
    let machine = both_at_once(vec![any, any, any]);
    assert_eq!([2, 3, 4].map(|op| taken(&machine, 1, op)), [vec![3], vec![7], vec![]]);
    let machine = both_at_once(vec![some, some]);
    assert_eq!([2, 3].map(|op| taken(&machine, 1, op)), [vec![3, 7], vec![]]);
    // Both complete before the call.
    let machine = both_at_once(vec![compute(10_000_000), any, some]);
    assert_eq!([3, 4].map(|op| taken(&machine, 1, op)), [vec![3], vec![7]]);
    assert_eq!(machine.hosts.metrics(0, 1).mpi, Time::ZERO);
}

#[test]
fn wait_any_ends_with_the_first_and_leaves_the_others_open() {
    // Message 1 arrives immediately, message 0 after 1 ms.
    let sender = sequence([send(1, 1, 8), compute(1_000_000), send(1, 0, 8)]);
    let any = OpKind::WaitAny {
        first: Request(0),
        count: 2,
    };
    let receiver = sequence([
        irecv(0, 0, 8, 0),
        irecv(0, 1, 8, 1),
        any,
        OpKind::Mark { iteration: 0 },
        any,
        any,
    ]);
    let machine = Setup::new().script(vec![sender, receiver], &[0, 71]).complete();
    assert_eq!([2, 4, 5].map(|op| taken(&machine, 1, op)), [vec![1], vec![0], vec![]]);
    let marked = machine.hosts.observers.records.iterations()[0].time;
    assert!(marked < Time::from_ns(1_000_000) && machine.hosts.metrics(0, 1).end > Time::from_ns(1_000_000));
}

#[test]
fn tests_take_complete_requests_and_never_wait() {
    let late = compute(10_000_000);
    let (first, count) = (FIRST, 9);
    let all = OpKind::TestAll { first, count };
    let some = OpKind::TestSome { first, count };
    let any = OpKind::TestAny { first, count };
    let test = OpKind::Test { request: Request(7) };
    let wait = OpKind::WaitAll { first, count };
    // Too early: the calls take no request.
    let machine = both_at_once(vec![all, some, any, test, wait]);
    assert_eq!([2, 3, 4, 5].map(|op| taken(&machine, 1, op).len()), [0; 4]);
    assert_eq!(taken(&machine, 1, 6), [3, 7]);
    for (kind, takes) in [(all, vec![3, 7]), (some, vec![3, 7]), (any, vec![3]), (test, vec![7])] {
        let machine = both_at_once(vec![late, kind, wait]);
        assert_eq!(taken(&machine, 1, 3), takes, "{kind:?}");
        assert_eq!(taken(&machine, 1, 3).len() + taken(&machine, 1, 4).len(), 2);
        assert_eq!(machine.hosts.metrics(0, 1).mpi, Time::ZERO);
    }
    // Only one of the two requests is complete.
    let sender = sequence([send(1, 1, 8), compute(1_000_000), send(1, 0, 8)]);
    let (first, count) = (Request(0), 2);
    let receiver = sequence([
        irecv(0, 0, 8, 0),
        irecv(0, 1, 8, 1),
        compute(500_000),
        OpKind::TestAll { first, count },
        OpKind::TestSome { first, count },
        wait_all(2),
    ]);
    let machine = Setup::new().script(vec![sender, receiver], &[0, 71]).complete();
    assert_eq!([3, 4, 5].map(|op| taken(&machine, 1, op)), [vec![], vec![1], vec![0]]);
}

#[test]
fn waits_and_tests_on_closed_requests_return_immediately() {
    let (first, count) = (Request(0), 5);
    let kinds = [
        OpKind::WaitAny { first, count },
        OpKind::WaitSome { first, count },
        OpKind::TestAny { first, count },
        OpKind::TestAll { first, count },
        OpKind::TestSome { first, count },
        OpKind::Test { request: first },
        OpKind::RequestFree { request: first },
    ];
    let machine = Setup::new().script(vec![sequence(kinds)], &[0]).complete();
    assert_eq!(machine.hosts.metrics(0, 0).end, Time::ZERO);
}

#[test]
fn a_tested_receive_costs_its_overhead_when_it_is_taken() {
    let mut setup = Setup::new();
    setup.params.mpi.recv_overhead = Time::from_ns(30);
    let test = OpKind::Test { request: Request(0) };
    let receiver = sequence([test, irecv(0, 0, 8, 0), test, compute(1_000_000), test, test]);
    let machine = setup
        .script(vec![sequence([send(1, 0, 8)]), receiver], &[0, 71])
        .complete();
    assert_eq!(machine.hosts.metrics(0, 1).end, Time::from_ns(1_000_030));
    assert_eq!(machine.hosts.metrics(0, 1).mpi, Time::from_ns(30));
}

#[test]
fn a_freed_request_completes_its_message_and_needs_no_wait() {
    let free = |request| OpKind::RequestFree {
        request: Request(request),
    };
    for threshold in [u64::MAX, 100] {
        let mut setup = Setup::new();
        setup.params.mpi.eager_threshold = Some(Bytes(threshold));
        // The second request is complete when it is freed.
        let sender = sequence([
            isend(1, 0, 5_000, 4),
            free(4),
            isend(1, 1, 5_000, 4),
            compute(1_000_000),
            free(4),
        ]);
        let receiver = sequence([recv(0, 0, 5_000), irecv(0, 1, 5_000, 1), free(1)]);
        let machine = setup.script(vec![sender, receiver], &[0, 71]).complete();
        assert_eq!(machine.hosts.metrics(0, 1).recvs, 2);
    }
}

#[test]
fn a_sendrecv_completes_where_a_send_would_deadlock() {
    let mut setup = Setup::new();
    setup.params.mpi.eager_threshold = Some(Bytes(100));
    let n = 5u32;
    let shift = |r: u32| OpKind::Sendrecv {
        to: (r + 1) % n,
        send_tag: 3,
        send_bytes: 5_000,
        from: Source::Rank((r + n - 1) % n),
        recv_tag: Tag::Is(3),
        recv_bytes: 5_000,
        comm: Comm::WORLD,
    };
    let nodes: Vec<u32> = (0..n).map(|r| r * 9).collect();
    let ring = (0..n).map(|r| sequence([shift(r)])).collect();
    let machine = setup.clone().script(ring, &nodes).complete();
    assert!((0..n).all(|r| machine.hosts.metrics(0, r).recvs == 1));
    let blocking = (0..n).map(|r| sequence([send((r + 1) % n, 3, 5_000), recv((r + n - 1) % n, 3, 5_000)]));
    let machine = setup.script(blocking.collect(), &nodes).run();
    assert!(matches!(machine.outcome(), HostOutcome::Stalled { .. }));
}

#[test]
fn a_probe_waits_for_a_message_and_leaves_it_to_the_receive() {
    for threshold in [u64::MAX, 0] {
        let mut setup = Setup::new();
        setup.params.mpi.eager_threshold = Some(Bytes(threshold));
        let probe = |from, tag| OpKind::Probe {
            from,
            tag,
            comm: Comm::WORLD,
        };
        let sender = sequence([compute(1_000), send(1, 5, 8), compute(1_000_000), send(1, 6, 8)]);
        // The earlier receive takes the first message; the probe sees only the second.
        let receiver = sequence([
            irecv(0, 5, 8, 0),
            probe(Source::Any, Tag::Any),
            OpKind::Mark { iteration: 0 },
            probe(Source::Rank(0), Tag::Is(6)),
            recv(0, 6, 8),
            wait_all(1),
        ]);
        let machine = setup.script(vec![sender, receiver], &[0, 71]).complete();
        assert!(machine.hosts.observers.records.iterations()[0].time > Time::from_ns(1_000_000));
        assert_eq!(machine.hosts.metrics(0, 1).recvs, 2);
    }
}

#[test]
fn a_probe_on_one_stream_sees_the_message_that_a_receive_on_another_takes() {
    let any = |stream, id, kind| Op {
        id: OpId(id),
        stream,
        after: After::NONE,
        kind,
    };
    let probe = OpKind::Probe {
        from: Source::Any,
        tag: Tag::Any,
        comm: Comm::WORLD,
    };
    let receiver = vec![any(0, 0, probe), any(1, 1, recv(0, 0, 8))];
    Setup::new()
        .script(vec![sequence([send(1, 0, 8)]), receiver], &[0, 71])
        .complete();
}

#[test]
fn sends_to_and_receives_from_proc_null_complete_immediately() {
    let (comm, tag, request) = (Comm::WORLD, 1, Request(0));
    let nobody = Source::Rank(PROC_NULL);
    let mut setup = Setup::new();
    let mpi = &mut setup.params.mpi;
    (mpi.send_overhead, mpi.recv_overhead) = (Time::from_ns(70), Time::from_ns(30));
    let kinds = [
        send(PROC_NULL, 0, 1 << 40),
        recv(PROC_NULL, 0, 0),
        isend(PROC_NULL, 0, 8, 0),
        irecv(PROC_NULL, 0, 8, 1),
        wait_all(2),
        OpKind::Ssend {
            to: PROC_NULL,
            tag,
            bytes: 8,
            comm,
        },
        OpKind::Sendrecv {
            to: PROC_NULL,
            send_tag: 0,
            send_bytes: 8,
            from: nobody,
            recv_tag: Tag::Any,
            recv_bytes: 8,
            comm,
        },
        OpKind::Probe {
            from: nobody,
            tag: Tag::Any,
            comm,
        },
        OpKind::Iprobe {
            from: nobody,
            tag: Tag::Any,
            comm,
        },
        OpKind::SendInit {
            to: PROC_NULL,
            tag,
            bytes: 8,
            comm,
            request,
        },
        OpKind::Start { request },
        OpKind::Wait { request },
        OpKind::RequestFree { request },
        OpKind::RecvInit {
            from: nobody,
            tag: Tag::Any,
            bytes: 8,
            comm,
            request,
        },
        OpKind::Start { request },
        OpKind::Wait { request },
        OpKind::RequestFree { request },
    ];
    let machine = setup.script(vec![sequence(kinds)], &[0]).complete();
    let metrics = machine.hosts.metrics(0, 0);
    assert_eq!((metrics.end, metrics.sends, metrics.recvs), (Time::ZERO, 0, 0));
}

#[test]
fn matches_are_recorded_only_on_request_and_do_not_alter_results() {
    let run = |matches: bool| {
        let mut setup = Setup::new();
        setup.params.records.matches = matches;
        let first = [isend(1, 0, 100, 0), irecv(1, 1, 100, 1), wait_all(2)];
        let second = [irecv(0, 0, 100, 0), isend(0, 1, 100, 1), wait_all(2)];
        setup
            .script(vec![sequence(first), sequence(second)], &[0, 40])
            .complete()
    };
    let (with, without) = (run(true), run(false));
    let of = |kind: fn(&MatchRecord) -> bool| {
        with.hosts
            .observers
            .matches
            .records()
            .iter()
            .filter(|record| kind(record))
            .count()
    };
    assert_eq!(of(|record| matches!(record, MatchRecord::Offered { .. })), 2);
    assert_eq!(of(|record| matches!(record, MatchRecord::Matched { .. })), 2);
    assert_eq!(of(|record| matches!(record, MatchRecord::Completed { .. })), 4);
    assert!(without.hosts.observers.matches.records().is_empty());
    assert_eq!(digest(&with), digest(&without));
}

//! The rendezvous protocol and its progress, against closed forms.

use super::*;

const CONTROL: u64 = 64;

/// A setup in which messages above `threshold` bytes go by rendezvous.
fn setup(threshold: u64, progress: Progress) -> Setup {
    let mut setup = Setup::new();
    let mpi = &mut setup.params.mpi;
    (mpi.eager_threshold, mpi.rendezvous_control, mpi.progress) = (Some(Bytes(threshold)), Bytes(CONTROL), progress);
    setup
}

/// Time from a call to the arrival of a control message, and of the data, on an idle network.
fn ways(setup: &Setup, source: u32, target: u32, bytes: u64) -> (Time, Time) {
    let mpi = &setup.params.mpi;
    let nic = mpi.send_delay + setup.params.nic.message_delay;
    let copy = Time((bytes as f64 * mpi.send_per_byte.0) as u64);
    (
        nic + setup.zero_load(source, target, CONTROL),
        nic + copy + setup.zero_load(source, target, bytes),
    )
}

#[test]
fn a_long_message_adds_two_control_messages_to_the_latency_of_a_short_one() {
    let (target, threshold) = (71, 1_000);
    for bytes in [999, 1_000, 1_001, 8_000] {
        for zero_copy in [false, true] {
            let mut setup = setup(threshold, Progress::Asynchronous);
            setup.params.mpi.rendezvous_zero_copy = zero_copy;
            let setup = setup.script(
                vec![sequence([send(1, 0, bytes)]), sequence([recv(0, 0, bytes)])],
                &[0, target],
            );
            let machine = setup.complete();
            let (there, data) = ways(&setup, 0, target, bytes);
            let (back, _) = ways(&setup, target, 0, bytes);
            let copy = Time((bytes as f64 * setup.params.mpi.send_per_byte.0) as u64);
            let long = bytes > threshold;
            let expected = match (long, zero_copy) {
                (false, _) => data,
                (true, false) => there + back + data,
                (true, true) => there + back + data - copy,
            };
            let receiver = machine.hosts.metrics(0, 1);
            assert_eq!(receiver.end, expected, "{bytes} {zero_copy}");
            // The ranks count one message, with the latency from the call to the data; the fabric counts three.
            assert_eq!((receiver.recvs, receiver.bytes_received), (1, bytes));
            assert_eq!(receiver.latency_ps, u128::from(expected.0));
            assert_eq!(machine.hosts.observers.records.messages().len(), 1);
            assert_eq!(machine.fabric.traffic_stats().get(0).messages, if long { 3 } else { 1 });
            // The send ends when the only packet of data starts on the terminal link.
            let start = expected - setup.zero_load(0, target, bytes);
            let sender = machine.hosts.metrics(0, 0);
            assert_eq!((sender.sends, sender.bytes_sent, sender.end), (1, bytes, start));
        }
    }
}

#[test]
fn a_send_by_rendezvous_waits_for_its_receive_and_an_eager_one_does_not() {
    let late = Time::from_ns(1_000_000);
    for (threshold, waits) in [(u64::MAX, false), (100, true)] {
        let receiver = sequence([compute(1_000_000), recv(0, 0, 5_000)]);
        let machine = setup(threshold, Progress::Asynchronous)
            .script(vec![sequence([send(1, 0, 5_000)]), receiver], &[0, 71])
            .complete();
        assert_eq!(machine.hosts.metrics(0, 0).end > late, waits);
        // The data of an eager message have arrived before the receive is posted.
        assert_eq!(machine.hosts.metrics(0, 1).end > late, waits);
    }
}

#[test]
fn a_short_synchronous_send_is_a_rendezvous() {
    let ssend = OpKind::Ssend {
        to: 1,
        tag: 0,
        bytes: 0,
        comm: Comm::WORLD,
    };
    let machine = setup(u64::MAX, Progress::Asynchronous)
        .script(
            vec![sequence([ssend]), sequence([compute(50_000), recv(0, 0, 0)])],
            &[0, 71],
        )
        .complete();
    assert!(machine.hosts.metrics(0, 0).end > Time::from_ns(50_000));
    assert_eq!(machine.fabric.traffic_stats().get(0).messages, 3);
}

#[test]
fn a_non_blocking_synchronous_send_ends_with_its_receive() {
    let request = Request(5);
    let issend = OpKind::Issend {
        to: 1,
        tag: 0,
        bytes: 0,
        comm: Comm::WORLD,
        request,
    };
    let sender = sequence([issend, compute(20_000), OpKind::Wait { request }]);
    let machine = setup(u64::MAX, Progress::Asynchronous)
        .script(vec![sender, sequence([compute(50_000), recv(0, 0, 0)])], &[0, 71])
        .complete();
    let metrics = machine.hosts.metrics(0, 0);
    assert!(metrics.end > Time::from_ns(50_000));
    // The sender computes while the send waits for its receive.
    assert_eq!(metrics.mpi, metrics.end - Time::from_ns(20_000));
    assert_eq!(machine.fabric.traffic_stats().get(0).messages, 3);
}

#[test]
fn without_a_thread_a_matched_message_is_answered_in_the_next_call_of_its_receiver() {
    let bytes = 8_000;
    let late = Time::from_ns(1_000_000);
    let receiver = sequence([irecv(0, 0, bytes, 0), compute(1_000_000), wait_all(1)]);
    let build = |progress| setup(100, progress).script(vec![sequence([send(1, 0, bytes)]), receiver.clone()], &[0, 71]);
    assert_eq!(build(Progress::Asynchronous).complete().hosts.metrics(0, 1).end, late);
    let setup = build(Progress::InCalls);
    let (_, data) = ways(&setup, 0, 71, bytes);
    let (back, _) = ways(&setup, 71, 0, bytes);
    assert_eq!(setup.complete().hosts.metrics(0, 1).end, late + back + data);
}

#[test]
fn without_a_thread_data_leave_in_the_next_call_of_their_sender_which_may_be_a_test() {
    let bytes = 8_000;
    let run = |between: OpKind| {
        let sender = sequence([
            isend(1, 0, bytes, 0),
            compute(500_000),
            between,
            compute(500_000),
            wait_all(1),
        ]);
        let setup = setup(100, Progress::InCalls).script(vec![sender, sequence([recv(0, 0, bytes)])], &[0, 71]);
        let (_, data) = ways(&setup, 0, 71, bytes);
        (setup.complete().hosts.metrics(0, 1).end, data)
    };
    let test = OpKind::Test { request: Request(0) };
    let probe = OpKind::Iprobe {
        from: Source::Any,
        tag: Tag::Any,
        comm: Comm::WORLD,
    };
    for (between, leave) in [(compute(0), 1_000_000), (test, 500_000), (probe, 500_000)] {
        let (end, data) = run(between);
        assert_eq!(end, Time::from_ns(leave) + data, "{between:?}");
    }
    // File calls are not MPI calls.
    let (end, data) = run(OpKind::Open { file: 1 });
    assert_eq!(end, Time::from_ns(1_000_000) + data);
}

#[test]
fn a_rank_makes_progress_after_its_end() {
    // The sender does not wait, and has ended when the CTS arrives.
    let detached = OpKind::Isend {
        to: 1,
        tag: 0,
        bytes: 5_000,
        comm: Comm::WORLD,
        request: Request::DETACHED,
    };
    for progress in [Progress::Asynchronous, Progress::InCalls] {
        let machine = setup(100, progress)
            .script(
                vec![sequence([detached]), sequence([compute(10_000), recv(0, 0, 5_000)])],
                &[0, 71],
            )
            .complete();
        assert_eq!(machine.hosts.metrics(0, 0).end, Time::ZERO);
    }
}

#[test]
fn a_message_without_a_receive_stays_with_its_sender_and_is_reported() {
    let free = OpKind::RequestFree { request: Request(0) };
    let machine = setup(100, Progress::Asynchronous)
        .script(vec![sequence([isend(1, 0, 5_000, 0), free]), Vec::new()], &[0, 71])
        .run();
    let text = "job \"job 0\" rank 1: a message of 5000 B from rank 0 with tag 0 (world) was never received";
    assert_eq!(machine.outcome(), left_behind(text));
    assert_eq!(machine.fabric.traffic_stats().get(0).messages, 1);
}

#[test]
fn a_long_message_within_a_node_takes_the_local_path_three_times() {
    let bytes = 5_000;
    let setup = setup(100, Progress::Asynchronous).script(
        vec![sequence([send(1, 0, bytes)]), sequence([recv(0, 0, bytes)])],
        &[5, 5],
    );
    let machine = setup.complete();
    let mpi = &setup.params.mpi;
    // 10 GB/s: 6,400 ps for 64 B.
    let control = mpi.send_delay + mpi.local_latency + Time(6_400);
    let copy = Time((bytes as f64 * mpi.send_per_byte.0) as u64);
    let data = mpi.send_delay + copy + mpi.local_latency + Time::from_ns(bytes / 10);
    assert_eq!(machine.hosts.metrics(0, 1).end, control + control + data);
    assert_eq!(machine.fabric.delivered(), (0, 0));
}

#[test]
fn messages_within_a_node_do_not_contend() {
    let bytes = 50_000;
    let end = |pairs: u32| {
        let sends = (0..pairs)
            .map(|pair| isend(1, pair, bytes, pair))
            .chain([wait_all(pairs)]);
        let receives = (0..pairs)
            .map(|pair| irecv(0, pair, bytes, pair))
            .chain([wait_all(pairs)]);
        let setup = setup(u64::MAX, Progress::Asynchronous);
        let machine = setup
            .script(vec![sequence(sends), sequence(receives)], &[5, 5])
            .complete();
        machine.hosts.metrics(0, 1).end
    };
    assert_eq!(end(1), end(8));
}

#[test]
fn short_and_long_messages_of_one_sender_match_in_the_order_of_sending() {
    // The short messages are in flight while the long ones wait for a CTS.
    let order = [4_000, 8, 4_000, 8, 8, 4_000];
    let sends = (0..6).map(|i| isend(1, 0, order[i as usize], i)).chain([wait_all(6)]);
    let receives = order.map(|bytes| recv(0, 0, bytes));
    let mut setup = setup(100, Progress::Asynchronous);
    setup.algorithm = Algorithm::Valiant;
    setup
        .script(vec![sequence(sends), sequence(receives)], &[0, 71])
        .complete();
}

#[test]
fn a_truncated_rendezvous_is_reported() {
    let machine = setup(10, Progress::Asynchronous)
        .script(vec![sequence([send(1, 3, 100)]), sequence([recv(0, 3, 99)])], &[0, 40])
        .run();
    let HostOutcome::Failed { kind, text } = machine.outcome() else {
        panic!()
    };
    assert_eq!(kind, FailureKind::Truncation);
    assert!(text.contains("100 B") && text.contains("99 B"), "{text}");
}

#[test]
fn collectives_by_rendezvous_complete_on_any_number_of_ranks() {
    use odonata_workload::Collective;
    let comm = Comm::WORLD;
    for progress in [Progress::Asynchronous, Progress::InCalls] {
        for n in [2u32, 3, 7, 8, 13] {
            let calls = [
                Collective::Allreduce {
                    comm,
                    bytes: 100_000,
                    count: 12_500,
                },
                Collective::Broadcast {
                    comm,
                    root: 1,
                    bytes: 600_000,
                },
                Collective::Barrier { comm },
            ];
            let rank = |r: u32| {
                sequence(
                    [compute(u64::from(r * 37 % 11) * 5_000)]
                        .into_iter()
                        .chain(calls.map(OpKind::Collective)),
                )
            };
            let nodes: Vec<u32> = (0..n).map(|r| r * 4 % 71).collect();
            setup(0, progress).script((0..n).map(rank).collect(), &nodes).complete();
        }
    }
}

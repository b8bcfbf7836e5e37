//! Point-to-point messages against closed forms.

use super::*;

/// Time from call to NIC: software, copy, interface.
fn to_nic(setup: &Setup, bytes: u64) -> Time {
    let mpi = &setup.params.mpi;
    mpi.send_delay + Time((bytes as f64 * mpi.send_per_byte.0) as u64) + setup.params.nic.message_delay
}

#[test]
fn ping_pong_takes_twice_software_copy_interface_and_network() {
    for (target, bytes) in [(1, 8), (7, 4_096), (71, 8_192), (40, 1)] {
        let rounds = 3;
        let ping = (0..rounds).flat_map(|_| [send(1, 0, bytes), recv(1, 0, bytes)]);
        let pong = (0..rounds).flat_map(|_| [recv(0, 0, bytes), send(0, 0, bytes)]);
        let setup = Setup::new().script(vec![sequence(ping), sequence(pong)], &[0, target]);
        let machine = setup.complete();
        let there = to_nic(&setup, bytes) + setup.zero_load(0, target, bytes);
        let back = to_nic(&setup, bytes) + setup.zero_load(target, 0, bytes);
        assert_eq!(
            machine.hosts.metrics(0, 0).end.0,
            rounds * (there + back).0,
            "{target} {bytes}"
        );
        let metrics = machine.hosts.metrics(0, 1);
        assert_eq!((metrics.sends, metrics.recvs), (rounds, rounds));
        assert_eq!(
            (metrics.bytes_sent, metrics.bytes_received),
            (rounds * bytes, rounds * bytes)
        );
        assert_eq!(
            (metrics.latency_ps, metrics.latency_max),
            (u128::from(rounds * there.0), there)
        );
        assert_eq!(machine.hosts.metrics(0, 0).mpi, machine.hosts.metrics(0, 0).end);
        assert_eq!(machine.hosts.observers.records.messages().len() as u64, 2 * rounds);
    }
}

#[test]
fn overheads_occupy_the_rank_and_software_does_not() {
    for recv_overhead in [30, 100] {
        overheads_occupy_the_rank(Time::from_ns(recv_overhead));
    }
}

fn overheads_occupy_the_rank(recv_overhead: Time) {
    let mut setup = Setup::new();
    let mpi = &mut setup.params.mpi;
    (mpi.send_overhead, mpi.recv_overhead) = (Time::from_ns(70), recv_overhead);
    // Three sends without waiting take 3 * 70 ns. The processor handles each receive when its message has arrived and
    // the previous one is done: message i of 3 arrives at a_i = a_0 + 70 ns * i, and the end is the maximum of a_i + (3
    // - i) * o.
    let sends = (0..3).map(|i| OpKind::Isend {
        to: 1,
        tag: i,
        bytes: 8,
        comm: Comm::WORLD,
        request: Request::DETACHED,
    });
    let receives = (0..3).map(|i| irecv(0, i, 8, i)).chain([wait_all(3)]);
    let setup = setup.script(vec![sequence(sends), sequence(receives)], &[0, 71]);
    let machine = setup.complete();
    assert_eq!(machine.hosts.metrics(0, 0).end.0, 3 * 70 * NS);
    assert_eq!(machine.hosts.metrics(0, 0).mpi.0, 3 * 70 * NS);
    let first = to_nic(&setup, 8) + setup.zero_load(0, 71, 8);
    let handled = (0..3).map(|i| first.0 + i * 70 * NS + (3 - i) * recv_overhead.0);
    assert_eq!(machine.hosts.metrics(0, 1).end.0, handled.max().unwrap());
}

#[test]
fn handling_of_receives_overlaps_with_waiting_for_others() {
    // The second message arrives 1 ms after the first; handling one takes 100 us and overlaps with the wait.
    let waits = [
        vec![wait_all(2)],
        vec![wait(0), wait(1)],
        vec![wait_some(2), wait_some(2)],
    ];
    let overhead = Time::from_ns(100_000);
    for waits in waits {
        let mut setup = Setup::new();
        setup.params.mpi.recv_overhead = overhead;
        let receiver = [irecv(1, 0, 8, 0), irecv(2, 0, 8, 1)].into_iter().chain(waits);
        let late = sequence([compute(1_000_000), send(0, 0, 8)]);
        let setup = setup.script(vec![sequence(receiver), sequence([send(0, 0, 8)]), late], &[0, 40, 71]);
        let last = Time::from_ns(1_000_000) + to_nic(&setup, 8) + setup.zero_load(71, 0, 8);
        assert_eq!(setup.complete().hosts.metrics(0, 0).end, last + overhead);
    }
}

#[test]
fn receives_complete_at_the_begin_of_a_call_are_handled_in_sequence() {
    let mut setup = Setup::new();
    setup.params.mpi.recv_overhead = Time::from_ns(30);
    let receives = (0..3)
        .map(|i| irecv(0, i, 8, i))
        .chain([compute(1_000_000), wait_all(3)]);
    let sends = (0..3).map(|i| send(1, i, 8));
    let machine = setup
        .script(vec![sequence(sends), sequence(receives)], &[0, 71])
        .complete();
    assert_eq!(machine.hosts.metrics(0, 1).end, Time::from_ns(1_000_000 + 3 * 30));
}

fn wait(request: u32) -> OpKind {
    OpKind::Wait {
        request: Request(request),
    }
}

fn wait_some(count: u32) -> OpKind {
    OpKind::WaitSome {
        first: Request(0),
        count,
    }
}

#[test]
fn a_send_is_complete_when_its_last_packet_starts_on_the_terminal_link() {
    let bytes = 3 * PACKET;
    let setup = Setup::new().script(
        vec![sequence([send(1, 0, bytes)]), sequence([recv(0, 0, bytes)])],
        &[0, 71],
    );
    let machine = setup.complete();
    let packet = setup.network().links[0].bandwidth.time_for(Bytes(PACKET));
    assert_eq!(
        machine.hosts.metrics(0, 0).end.0,
        to_nic(&setup, bytes).0 + 2 * packet.0
    );
}

#[test]
fn copies_of_sends_overlap_and_an_unexpected_message_completes_its_late_receive_immediately() {
    let sends = sequence([isend(1, 0, 4_000, 0), isend(1, 1, 4_000, 1), wait_all(2)]);
    let late = sequence([compute(1_000_000), recv(0, 1, 4_000), recv(0, 0, 4_000)]);
    let setup = Setup::new().script(vec![sends, late], &[0, 71]);
    let machine = setup.complete();
    let packet = setup.network().links[0].bandwidth.time_for(Bytes(4_000));
    assert_eq!(machine.hosts.metrics(0, 0).end.0, to_nic(&setup, 4_000).0 + packet.0);
    let metrics = machine.hosts.metrics(0, 1);
    assert_eq!((metrics.end, metrics.mpi), (Time::from_ns(1_000_000), Time::ZERO));
    assert_eq!(
        (metrics.compute, metrics.non_compute(Time::ZERO)),
        (metrics.end, Time::ZERO)
    );
}

#[test]
fn ranks_of_one_node_and_a_rank_with_itself_use_the_local_path() {
    let bytes = 5_000;
    let own = [irecv(0, 9, bytes, 0), send(0, 9, bytes), wait_all(1), send(1, 0, bytes)];
    let setup = Setup::new().script(vec![sequence(own), sequence([recv(0, 0, bytes)])], &[5, 5]);
    let machine = setup.complete();
    let software = to_nic(&setup, bytes) - setup.params.nic.message_delay;
    let local = Time::from_ns(400) + Time::from_ns(bytes / 10);
    assert_eq!(machine.hosts.metrics(0, 1).end, software + local + software + local);
    assert_eq!(machine.fabric.delivered(), (0, 0));
}

#[test]
fn a_small_message_that_overtakes_a_large_one_is_matched_after_it() {
    // The small message arrives first; a receive that took it out of order would truncate the large one.
    let order = [1_000_000, 0, 500_000, 10];
    let sends = (0..4).map(|i| isend(1, 5, order[i as usize], i)).chain([wait_all(4)]);
    let receives = order.map(|bytes| recv(0, 5, bytes));
    let setup = Setup::new().script(vec![sequence(sends), sequence(receives)], &[5, 5]);
    let machine = setup.complete();
    let arrivals: Vec<u64> = machine
        .hosts
        .observers
        .records
        .messages()
        .iter()
        .map(|m| m.bytes)
        .collect();
    assert_eq!(arrivals, [0, 10, 500_000, 1_000_000]);
}

#[test]
fn messages_that_adaptive_routing_reorders_are_matched_in_the_order_of_sending() {
    let n = 400u32;
    // Sizes decrease, so a message taken too early would leave a buffer that is too small for its predecessor.
    let size = |i: u32| u64::from(6 * (n - i));
    let mut setup = Setup::new();
    setup.algorithm = Algorithm::Valiant;
    setup.params.mpi.send_per_byte = PerByte(0.0);
    let sends = (0..n).map(|i| isend(1, 0, size(i), i)).chain([wait_all(n)]);
    let receives = (0..n).map(|i| recv(0, 0, size(i)));
    let machine = setup
        .script(vec![sequence(sends), sequence(receives)], &[0, 71])
        .complete();
    let rows = machine.hosts.observers.records.messages();
    assert!(
        rows.windows(2).any(|pair| pair[0].bytes < pair[1].bytes),
        "nothing was reordered: the test shows nothing"
    );
}

#[test]
fn a_halo_exchange_completes_with_all_messages_and_marks() {
    let n = 16u32;
    let rank = |r: u32| {
        let (left, right) = ((r + n - 1) % n, (r + 1) % n);
        sequence((0..5).flat_map(move |iteration| {
            [
                irecv(left, 0, 20_000, 0),
                irecv(right, 1, 20_000, 1),
                isend(right, 0, 20_000, 2),
                isend(left, 1, 20_000, 3),
                compute(500),
                wait_all(4),
                OpKind::Mark { iteration },
            ]
        }))
    };
    let nodes: Vec<u32> = (0..n).map(|r| r * 4).collect();
    let machine = Setup::new().script((0..n).map(rank).collect(), &nodes).complete();
    for r in 0..n {
        let metrics = machine.hosts.metrics(0, r);
        assert_eq!(
            (metrics.sends, metrics.recvs, metrics.bytes_received),
            (10, 10, 200_000)
        );
        assert_eq!(metrics.compute, Time::from_ns(2_500));
        assert_eq!(metrics.non_compute(Time::ZERO), metrics.mpi);
    }
    assert_eq!(machine.hosts.observers.records.iterations().len(), 5 * n as usize);
    assert_eq!(machine.hosts.job_statuses().finished(), (u64::from(n), u64::from(n)));
}

#[test]
fn jitter_of_calls_lies_between_its_bounds_and_occupies_the_rank() {
    let mut setup = Setup::new();
    setup.params.mpi.call_jitter = Some(Jitter {
        min: Time::from_ns(10),
        max: Time::from_ns(20),
    });
    let calls = 200;
    let opens = sequence((0..calls).map(|file| OpKind::Open { file }));
    let machine = setup.script(vec![opens], &[0]).complete();
    let mean = machine.hosts.metrics(0, 0).end.0 / calls;
    // Standard error of the mean: 10 / sqrt(12 * 200) = 0.2 ns.
    assert!(mean.abs_diff(15 * NS) < NS, "{mean}");
    assert_eq!(machine.hosts.metrics(0, 0).io, machine.hosts.metrics(0, 0).end);
}

//! Collectives on the hosts.

use super::*;
use odonata_workload::Collective;
use odonata_workload::collective::{choose, step};

const COMM: Comm = Comm::WORLD;

fn all() -> [Collective; 6] {
    [
        Collective::Barrier { comm: COMM },
        broadcast(1, 100),
        broadcast(0, 100_000),
        broadcast(1, 600_000),
        allreduce(8, 1),
        allreduce(100_000, 12_500),
    ]
}

#[test]
fn collectives_of_2_to_17_ranks_complete_with_the_messages_of_their_algorithm() {
    for n in 2..=17u32 {
        // The calls follow each other, at different times on each rank.
        let rank = |r: u32| {
            let calls = all().map(OpKind::Collective);
            sequence([compute(u64::from(r * 37 % 11) * 5_000)].into_iter().chain(calls))
        };
        let nodes: Vec<u32> = (0..n).map(|r| r * 4 % 71).collect();
        let machine = Setup::new().script((0..n).map(rank).collect(), &nodes).complete();
        for r in 0..n {
            let steps = all().map(|collective| {
                let sizes = |_: odonata_workload::Counts, _: u32, _: u32| 0;
                let algorithm = choose(&collective, n, &Rules::default(), &sizes);
                let steps = (0..).map_while(|i| step(&collective, algorithm, r, n, i, &sizes));
                steps.fold([0; 4], |[s, sb, r, rb], step| {
                    let [send, recv] = [step.send, step.recv].map(|t| t.map_or((0, 0), |t| (1, t.bytes)));
                    [s + send.0, sb + send.1, r + recv.0, rb + recv.1]
                })
            });
            let sum = |i: usize| steps.iter().map(|step| step[i]).sum::<u64>();
            let m = machine.hosts.metrics(0, r);
            let got = [m.sends, m.bytes_sent, m.recvs, m.bytes_received];
            assert_eq!(got, [0, 1, 2, 3].map(sum), "{n} ranks, rank {r}");
        }
    }
}

#[test]
fn a_barrier_sends_n_ceil_log2_n_messages_and_ends_after_the_last_arrival() {
    for n in [2u32, 3, 8, 13] {
        let barrier = OpKind::Collective(Collective::Barrier { comm: COMM });
        let late = Time::from_ns(100_000);
        let rank = |r: u32| sequence([compute(if r == n - 1 { 100_000 } else { 0 }), barrier]);
        let nodes: Vec<u32> = (0..n).map(|r| r * 5).collect();
        let machine = Setup::new().script((0..n).map(rank).collect(), &nodes).complete();
        let sends: u64 = (0..n).map(|r| machine.hosts.metrics(0, r).sends).sum();
        assert_eq!(sends, u64::from(n * (n as f64).log2().ceil() as u32));
        assert!((0..n).all(|r| machine.hosts.metrics(0, r).end > late));
    }
}

#[test]
fn overheads_of_a_collective_are_paid_at_every_step() {
    // Two ranks of one node exchange once: max(send overhead, message latency) + receive overhead.
    let mut setup = Setup::new();
    let mpi = &mut setup.params.mpi;
    (mpi.send_overhead, mpi.recv_overhead) = (Time::from_ns(70), Time::from_ns(30));
    (mpi.send_delay, mpi.send_per_byte) = (Time::from_ns(100), PerByte(0.0));
    let sum = OpKind::Collective(allreduce(8, 1));
    let machine = setup.script(vec![sequence([sum]), sequence([sum])], &[3, 3]).complete();
    // 100 ns of software, 400 ns + 8 B / (10 GB/s).
    assert_eq!(machine.hosts.metrics(0, 0).end.0, 100 * NS + 400 * NS + 800 + 30 * NS);
}

#[test]
fn ranks_in_different_collectives_are_reported() {
    let calls = all().map(OpKind::Collective);
    for (a, b) in [(0, 1), (4, 0), (5, 4), (2, 3)] {
        let machine = Setup::new()
            .script(vec![sequence([calls[a]]), sequence([calls[b]])], &[0, 40])
            .run();
        let HostOutcome::Failed { kind, text } = machine.outcome() else {
            panic!("{a} {b}")
        };
        assert_eq!(kind, FailureKind::CollectiveMismatch);
        assert!(
            text.contains("job \"job 0\" rank") && text.contains(", but rank"),
            "{text}"
        );
    }
    let machine = Setup::new()
        .script(vec![sequence([calls[0]]), sequence([calls[4]])], &[0, 40])
        .run();
    let HostOutcome::Failed { text, .. } = machine.outcome() else {
        panic!()
    };
    assert!(
        text.contains("Barrier (world)") || text.contains("Allreduce of 8 B (world)"),
        "{text}"
    );
}

#[test]
fn a_rank_that_misses_a_collective_is_reported_if_it_has_ended_and_blocked_otherwise() {
    let barrier = OpKind::Collective(Collective::Barrier { comm: COMM });
    let machine = Setup::new()
        .script(vec![sequence([barrier, barrier]), sequence([barrier])], &[0, 40])
        .run();
    let HostOutcome::Failed { kind, text } = machine.outcome() else {
        panic!()
    };
    assert_eq!(kind, FailureKind::CollectiveMismatch);
    let expected = "job \"job 0\" rank 1 has ended, but rank 0 sent it a message in barrier number 1";
    assert!(text.starts_with(expected), "{text}");

    let second = sequence([barrier, recv(0, 0, 8)]);
    let machine = Setup::new()
        .script(vec![sequence([barrier, barrier]), second], &[0, 40])
        .run();
    let HostOutcome::Stalled {
        blocked, unfinished, ..
    } = machine.outcome()
    else {
        panic!()
    };
    let names: Vec<&str> = blocked.iter().map(|b| b.op.as_str()).collect();
    assert_eq!((unfinished, names.len()), (2, 2));
    assert!(names.contains(&"Barrier (world)") && names.contains(&"Recv from 0 tag 0 (world)"));
    assert!(blocked.iter().all(|b| b.id == OpId(1)));
}

//! Non-blocking collectives.

use super::*;
use odonata_workload::Collective;

fn sum(bytes: u64) -> Collective {
    Collective::Allreduce {
        comm: Comm::WORLD,
        bytes,
        count: bytes / 8,
    }
}
fn start(collective: Collective, request: u32) -> OpKind {
    OpKind::Icollective {
        collective,
        request: Request(request),
    }
}
const BARRIER: Collective = Collective::Barrier { comm: Comm::WORLD };

#[test]
fn a_background_collective_overlaps_computation_and_without_a_thread_waits_for_calls() {
    // Recursive doubling on 4 ranks takes two steps; without a progress thread the second one begins in the wait.
    let nodes = [0, 20, 40, 60];
    let late = Time::from_ns(1_000_000);
    let run = |progress, between: OpKind| {
        let mut setup = Setup::new();
        setup.params.mpi.progress = progress;
        let rank = |_| {
            sequence([
                start(sum(8), 0),
                compute(500_000),
                between,
                compute(500_000),
                wait_all(1),
            ])
        };
        let machine = setup.script((0..4).map(rank).collect(), &nodes).complete();
        assert!((0..4).all(|r| machine.hosts.metrics(0, r).sends == 2));
        (0..4).map(|r| machine.hosts.metrics(0, r).end).max().unwrap()
    };
    let test = OpKind::Test { request: Request(0) };
    assert_eq!(run(Progress::Asynchronous, compute(0)), late);
    assert!(run(Progress::InCalls, compute(0)) > late);
    assert_eq!(run(Progress::InCalls, test), late);
}

#[test]
fn several_collectives_run_concurrently_and_are_waited_for_in_any_order() {
    for threshold in [u64::MAX, 0] {
        for progress in [Progress::Asynchronous, Progress::InCalls] {
            let mut setup = Setup::new();
            (setup.params.mpi.eager_threshold, setup.params.mpi.progress) = (Some(Bytes(threshold)), progress);
            setup.algorithm = Algorithm::Valiant;
            let n = 6u32;
            let rank = |r: u32| {
                let broadcast = broadcast(3, 50_000);
                // A small collective after a large one overtakes it in the network.
                let calls = [
                    start(sum(200_000), 0),
                    start(sum(8), 1),
                    start(broadcast, 2),
                    OpKind::Collective(BARRIER),
                    start(BARRIER, 3),
                ];
                let order = if r.is_multiple_of(2) {
                    [3, 1, 0, 2]
                } else {
                    [0, 2, 3, 1]
                };
                let waits = order.map(|request| OpKind::Wait {
                    request: Request(request),
                });
                let first = compute(u64::from(r * 17 % 5) * 3_000);
                sequence([first].into_iter().chain(calls).chain(waits))
            };
            let nodes: Vec<u32> = (0..n).map(|r| r * 11).collect();
            setup.script((0..n).map(rank).collect(), &nodes).complete();
        }
    }
}

#[test]
fn blocking_and_non_blocking_calls_share_one_order_and_a_mismatch_is_reported() {
    let first = sequence([start(BARRIER, 0), OpKind::Collective(sum(8)), wait_all(1)]);
    let second = sequence([OpKind::Collective(sum(8)), start(BARRIER, 0), wait_all(1)]);
    let machine = Setup::new().script(vec![first, second], &[0, 40]).run();
    let HostOutcome::Failed { kind, text } = machine.outcome() else {
        panic!()
    };
    assert_eq!(kind, FailureKind::CollectiveMismatch);
    assert!(
        text.contains("non-blocking Barrier (world)") || text.contains("Allreduce"),
        "{text}"
    );
}

#[test]
fn overheads_of_the_first_step_only_occupy_the_rank() {
    let mut setup = Setup::new();
    let mpi = &mut setup.params.mpi;
    (mpi.send_overhead, mpi.recv_overhead) = (Time::from_ns(70), Time::from_ns(30));
    let rank = |_| sequence([start(sum(8), 0), compute(1_000_000), wait_all(1)]);
    let machine = setup.script((0..4).map(rank).collect(), &[0, 20, 40, 60]).complete();
    assert_eq!(machine.hosts.metrics(0, 0).end, Time::from_ns(1_000_070));
    assert_eq!(machine.hosts.metrics(0, 0).mpi, Time::from_ns(70));
}

#[test]
fn a_collective_that_is_never_waited_for_or_is_freed_is_reported() {
    let rank = sequence([start(BARRIER, 0), compute(1_000_000)]);
    let machine = Setup::new().script(vec![rank.clone(), rank], &[0, 40]).run();
    let each = |rank| {
        format!("job \"job 0\" rank {rank}: request 0, a non-blocking collective (operation 0), was never waited for")
    };
    assert_eq!(machine.outcome(), left_behind(&[each(0), each(1)].join("; ")));
    let free = OpKind::RequestFree { request: Request(0) };
    let machine = Setup::new()
        .script(vec![sequence([start(BARRIER, 0), free]), Vec::new()], &[0, 40])
        .run();
    let HostOutcome::Failed { kind, text } = machine.outcome() else {
        panic!()
    };
    assert_eq!(kind, FailureKind::InvalidOperation);
    assert!(
        text.ends_with("a non-blocking collective cannot be freed; wait for it"),
        "{text}"
    );
}

#[test]
fn on_a_communicator_of_one_rank_a_collective_completes_immediately() {
    let machine = Setup::new()
        .script(vec![sequence([start(sum(8), 0), wait_all(1)])], &[0])
        .complete();
    assert_eq!(
        (machine.hosts.metrics(0, 0).end, machine.hosts.metrics(0, 0).sends),
        (Time::ZERO, 0)
    );
}

#[test]
fn call_numbers_limit_the_active_collectives() {
    let run = |calls: u32| {
        let rank = |r: u32| {
            let first = compute(u64::from(r) * 1_000_000);
            sequence(
                [first]
                    .into_iter()
                    .chain((0..calls).map(|i| start(BARRIER, i)))
                    .chain([wait_all(calls)]),
            )
        };
        Setup::new().script((0..2).map(rank).collect(), &[0, 1]).run()
    };
    let most = crate::mpi::stamp::MOST_BACKGROUND;
    assert_eq!(run(most).outcome(), HostOutcome::Completed);
    let HostOutcome::Failed { kind, text } = run(most + 1).outcome() else {
        panic!()
    };
    assert_eq!(kind, FailureKind::InvalidOperation);
    assert!(
        text.ends_with("at most 4095 non-blocking collectives can be active on a communicator"),
        "{text}"
    );
}

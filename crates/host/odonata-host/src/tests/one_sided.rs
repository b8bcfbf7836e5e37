//! One-sided communication, against closed forms. The processor of a target has no part in puts and gets.

use super::*;
use odonata_workload::{Access, OneSided};

const CONTROL: u64 = 64;
const TARGET: u32 = 71;
const WORLD: Comm = Comm::WORLD;

fn access(access: Access, target: u32, bytes: u64) -> OpKind {
    OpKind::OneSided(OneSided::Access {
        access,
        target,
        bytes,
        comm: WORLD,
        request: Request::DETACHED,
    })
}

/// `access` with request 7.
fn with_request(kind: Access, target: u32, bytes: u64) -> OpKind {
    call(OneSided::Access {
        access: kind,
        target,
        bytes,
        comm: WORLD,
        request: Request(7),
    })
}

fn put(target: u32, bytes: u64) -> OpKind {
    access(Access::Put, target, bytes)
}

fn flush(target: Source) -> OpKind {
    OpKind::OneSided(OneSided::Flush { target, comm: WORLD })
}

fn call(call: OneSided) -> OpKind {
    OpKind::OneSided(call)
}

fn lock(target: u32, exclusive: bool) -> OpKind {
    call(OneSided::Lock {
        target,
        exclusive,
        comm: WORLD,
    })
}

fn unlock(target: u32) -> OpKind {
    call(OneSided::Unlock { target, comm: WORLD })
}

/// Time from a call of software until `bytes` are at the other node; an interface takes the time of its own messages only.
fn software(setup: &Setup, source: u32, target: u32, bytes: u64) -> Time {
    setup.params.mpi.send_delay + interface(setup, source, target, bytes)
}

fn interface(setup: &Setup, source: u32, target: u32, bytes: u64) -> Time {
    setup.params.nic.message_delay + setup.zero_load(source, target, bytes)
}

/// A put of `bytes` from node `source` and its acknowledgment.
fn put_time(setup: &Setup, source: u32, target: u32, bytes: u64) -> Time {
    software(setup, source, target, bytes) + interface(setup, target, source, CONTROL)
}

#[test]
fn the_interface_of_the_target_serves_accesses_while_its_processor_computes() {
    let busy = 1_000_000;
    for progress in [Progress::Asynchronous, Progress::InCalls] {
        for bytes in [0, 8, 8_000] {
            for kind in [Access::Put, Access::Get] {
                let mut setup = Setup::new();
                setup.params.mpi.progress = progress;
                let origin = sequence([access(kind, 1, bytes), flush(Source::Rank(1))]);
                let setup = setup.script(vec![origin, sequence([compute(busy)])], &[0, TARGET]);
                let machine = setup.complete();
                let expected = match kind {
                    Access::Put => put_time(&setup, 0, TARGET, bytes),
                    _ => software(&setup, 0, TARGET, CONTROL) + interface(&setup, TARGET, 0, bytes),
                };
                assert_eq!(machine.hosts.metrics(0, 0).end, expected, "{kind:?} {bytes}");
                assert_eq!(machine.hosts.metrics(0, 1).end, Time::from_ns(busy));
                // The data count once: sent by the side that has them, received by the other.
                let (from, to) = if kind == Access::Put { (0, 1) } else { (1, 0) };
                assert_eq!(machine.hosts.metrics(0, from).bytes_sent, bytes);
                assert_eq!(machine.hosts.metrics(0, to).bytes_received, bytes);
                assert_eq!(machine.fabric.traffic_stats().get(0).messages, 2);
            }
        }
    }
}

/// `MPI_Rput` and `MPI_Rget` are complete when a flush of the same access would be, and the wait leaves others alone.
#[test]
fn a_wait_takes_the_access_with_its_number() {
    let wait = OpKind::Wait { request: Request(7) };
    for (kind, bytes) in [(Access::Put, 8_000), (Access::Get, 8_000), (Access::Accumulate, 8)] {
        let setup = Setup::new();
        let end = |last: Vec<OpKind>| {
            let first = [with_request(kind, 1, bytes), compute(1)];
            let ops = sequence(first.into_iter().chain(last));
            let machine = setup.clone().script(vec![ops, Vec::new()], &[0, TARGET]).complete();
            machine.hosts.metrics(0, 0).end
        };
        let expected = match kind {
            Access::Get => software(&setup, 0, TARGET, CONTROL) + interface(&setup, TARGET, 0, bytes),
            _ => put_time(&setup, 0, TARGET, bytes),
        };
        assert_eq!(end(vec![wait]), expected, "{kind:?}");
        assert_eq!(end(vec![flush(Source::Any)]), expected, "{kind:?}");
        // After either of them the number is free: nothing is left to wait for.
        assert_eq!(end(vec![flush(Source::Rank(1)), wait]), expected);
        assert_eq!(end(vec![wait, flush(Source::Rank(1))]), expected);
    }
    let ops = sequence([with_request(Access::Put, 1, 8), put(1, 8_000), wait, flush(Source::Any)]);
    let setup = Setup::new().script(vec![ops, Vec::new()], &[0, TARGET]);
    let (first, link) = (put_time(&setup, 0, TARGET, 8), Bandwidth(8e9).time_for(Bytes(8)));
    let end = setup.complete().hosts.metrics(0, 0).end;
    assert_eq!(end, (link + put_time(&setup, 0, TARGET, 8_000)).max(first));
    let alone = Setup::new().script(
        vec![sequence([with_request(Access::Put, 1, 8)]), Vec::new()],
        &[0, TARGET],
    );
    let text = "job \"job 0\" rank 0: request 7, an access (operation 0), was never waited for";
    assert_eq!(alone.run().outcome(), left_behind(text));
}

#[test]
fn accesses_overlap_and_a_flush_waits_for_those_to_its_target() {
    let setup = Setup::new();
    let (near, far) = (1, TARGET);
    let ops = |last| sequence([put(1, 8_000), put(2, 100), flush(last)]);
    let end = |last| {
        let ranks = vec![ops(last), Vec::new(), Vec::new()];
        let setup = setup.clone().script(ranks, &[0, far, near]);
        setup.run().hosts.metrics(0, 0).end
    };
    // Two puts to the same router: the second leaves when the first is on the link.
    let on_link = Bandwidth(8e9).time_for(Bytes(8_000));
    assert_eq!(end(Source::Rank(2)), on_link + put_time(&setup, 0, near, 100));
    assert_eq!(end(Source::Any), put_time(&setup, 0, far, 8_000));
    // The first flush leaves an access open.
    let ranks = vec![ops(Source::Rank(2)), Vec::new(), Vec::new()];
    let machine = setup.script(ranks, &[0, far, near]).run();
    let text = "job \"job 0\" rank 0: an access (operation 0) was never flushed";
    assert_eq!(machine.outcome(), left_behind(text));
}

#[test]
fn no_rank_as_target_takes_no_time() {
    let ops = [
        put(PROC_NULL, 8_000),
        flush(Source::Any),
        lock(PROC_NULL, true),
        unlock(PROC_NULL),
    ];
    let machine = Setup::new().script(vec![sequence(ops)], &[0]).complete();
    assert_eq!(machine.hosts.metrics(0, 0).end, Time::ZERO);
}

#[test]
fn the_library_of_the_target_combines_what_exceeds_an_atomic_operation() {
    let busy = 1_000_000;
    for kind in [Access::Accumulate, Access::GetAccumulate] {
        for progress in [Progress::Asynchronous, Progress::InCalls] {
            for bytes in [8, 8_000] {
                let mut setup = Setup::new();
                (setup.params.mpi.progress, setup.params.mpi.reduce_rate) = (progress, Some(Bandwidth(1e9)));
                let origin = sequence([access(kind, 1, bytes), flush(Source::Any)]);
                let target = sequence([compute(busy), put(PROC_NULL, 0)]);
                let setup = setup.script(vec![origin, target], &[0, TARGET]);
                let machine = setup.complete();
                let there = software(&setup, 0, TARGET, bytes);
                let back = if kind == Access::Accumulate { CONTROL } else { bytes };
                let back = interface(&setup, TARGET, 0, back);
                // 1 ns per byte.
                let work = setup.params.mpi.send_delay + Time::from_ns(bytes);
                let expected = match (bytes, progress) {
                    (8, _) => there + back,
                    (_, Progress::Asynchronous) => there + work + back,
                    (_, Progress::InCalls) => Time::from_ns(busy) + work + back,
                };
                assert_eq!(
                    machine.hosts.metrics(0, 0).end,
                    expected,
                    "{kind:?} {progress:?} {bytes}"
                );
            }
        }
    }
}

/// Two ranks lock the window of a third, put, and unlock; the second asks a microsecond later. Exclusive locks follow each
/// other, shared ones overlap.
#[test]
fn an_exclusive_lock_waits_for_the_release_of_the_other() {
    const BYTES: u64 = 4_000;
    let (first, second, later) = (17, 40, 1_000);
    let delay = Time::from_ns(later);
    for exclusive in [true, false] {
        let epoch = [lock(0, exclusive), put(0, BYTES), unlock(0)];
        let ranks = vec![
            Vec::new(),
            sequence(epoch),
            sequence([compute(later)].into_iter().chain(epoch)),
        ];
        let setup = Setup::new().script(ranks, &[0, first, second]);
        let machine = setup.complete();
        let locked = |node| software(&setup, node, 0, CONTROL) + interface(&setup, 0, node, CONTROL);
        let end = |rank| machine.hosts.metrics(0, rank).end;
        let alone = |node| locked(node) + put_time(&setup, node, 0, BYTES);
        assert_eq!(end(1), alone(first));
        let released = end(1) + software(&setup, first, 0, CONTROL);
        let granted = interface(&setup, 0, second, CONTROL);
        match exclusive {
            true => assert_eq!(end(2), released + granted + put_time(&setup, second, 0, BYTES)),
            false => assert!(end(2) >= delay + alone(second) && end(2) < released, "{}", end(2)),
        }
    }
}

/// Three ranks wait for an exclusive lock: a reader and then another one get it together, a writer after them.
#[test]
fn readers_that_wait_get_the_lock_together() {
    let epoch = |at, exclusive| sequence([compute(at), lock(0, exclusive), compute(10_000), unlock(0)]);
    let ranks = vec![
        Vec::new(),
        epoch(0, true),
        epoch(500, false),
        epoch(1_000, false),
        epoch(1_500, true),
    ];
    let machine = Setup::new().script(ranks, &[0, 2, 3, 4, 5]).complete();
    let end = |rank| machine.hosts.metrics(0, rank).end;
    let apart = Time::from_ns(10_000);
    assert!(end(2) >= end(1) + apart && end(3) >= end(1) + apart);
    assert!(end(2).max(end(3)) < end(1) + apart + apart, "readers overlap");
    assert!(end(4) >= end(2).max(end(3)) + apart);
}

#[test]
fn a_fence_waits_for_the_accesses_of_all_ranks() {
    let fence = || call(OneSided::Fence { comm: WORLD });
    let setup = Setup::new().script(
        vec![sequence([put(1, 8_000), fence()]), sequence([fence()])],
        &[0, TARGET],
    );
    let machine = setup.complete();
    // The barrier of two ranks is an exchange of empty messages.
    let complete = put_time(&setup, 0, TARGET, 8_000);
    assert_eq!(
        machine.hosts.metrics(0, 1).end,
        complete + software(&setup, 0, TARGET, 0)
    );
    assert!(machine.hosts.metrics(0, 0).end >= complete);
}

/// Post, start, complete and wait: the origin waits for the post, the target for the complete.
#[test]
fn epochs_of_a_group_wait_for_each_other() {
    let (group, comm, bytes) = (WORLD, WORLD, 4_000);
    for (origin_at, target_at) in [(0, 5_000), (1_000_000, 0)] {
        let origin = [
            compute(origin_at),
            call(OneSided::Start { group, comm }),
            put(1, bytes),
            call(OneSided::Complete { group, comm }),
        ];
        let target = [
            compute(target_at),
            call(OneSided::Post { group, comm }),
            call(OneSided::Wait { group, comm }),
        ];
        let setup = Setup::new().script(vec![sequence(origin), sequence(target)], &[0, TARGET]);
        let machine = setup.complete();
        let posted = Time::from_ns(target_at) + software(&setup, TARGET, 0, CONTROL);
        let started = posted.max(Time::from_ns(origin_at));
        let completed = started + put_time(&setup, 0, TARGET, bytes);
        assert_eq!(machine.hosts.metrics(0, 0).end, completed);
        let waited = completed + software(&setup, 0, TARGET, CONTROL);
        assert_eq!(machine.hosts.metrics(0, 1).end, waited);
    }
}

/// A group is the other members of its communicator, whose numbers differ from the ranks of the window.
#[test]
fn a_group_is_a_communicator() {
    let pair = Comm(1);
    let (group, comm) = (pair, WORLD);
    let origin = sequence([
        call(OneSided::Start { group, comm }),
        put(2, 700),
        call(OneSided::Complete { group, comm }),
    ]);
    let target = sequence([
        call(OneSided::Post { group, comm }),
        call(OneSided::Wait { group, comm }),
    ]);
    let ranks = vec![origin, sequence([compute(1)]), target];
    let members = vec![(pair, vec![2, 0])];
    let machine = Setup::new().split(ranks, members.clone(), &[0, 30, TARGET]).complete();
    assert_eq!(machine.hosts.metrics(0, 2).bytes_received, 700);
    // Rank 1 is not a member.
    let stranger = sequence([call(OneSided::Post { group, comm })]);
    let ranks = vec![Vec::new(), stranger, Vec::new()];
    let outcome = Setup::new().split(ranks, members, &[0, 30, TARGET]).run().outcome();
    match outcome {
        HostOutcome::Failed { text, .. } => assert!(text.contains("communicator 1"), "{text}"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_start_without_a_post_is_reported() {
    let (group, comm) = (WORLD, WORLD);
    let ranks = vec![sequence([call(OneSided::Start { group, comm })]), Vec::new()];
    match Setup::new().script(ranks, &[0, TARGET]).run().outcome() {
        HostOutcome::Stalled { blocked, .. } => {
            assert!(format!("{blocked:?}").contains("MPI_Win_start"), "{blocked:?}")
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn ranks_of_a_node_access_each_other_without_the_network() {
    let setup = Setup::new().script(vec![sequence([put(1, 1_000), flush(Source::Any)]), Vec::new()], &[0, 0]);
    let machine = setup.complete();
    let mpi = &setup.params.mpi;
    let there = mpi.send_delay + mpi.local_latency + mpi.local_bandwidth.time_for(Bytes(1_000));
    // The acknowledgment leaves a picosecond after its cause.
    let back = Time::from_ps(1) + mpi.local_latency + mpi.local_bandwidth.time_for(Bytes(CONTROL));
    assert_eq!(machine.hosts.metrics(0, 0).end, there + back);
    assert_eq!(machine.fabric.traffic_stats().get(0).messages, 0);
}

/// Everything at once, with every event undone and repeated: the same digest as without.
#[test]
fn every_event_can_be_undone() {
    let (group, comm) = (WORLD, WORLD);
    let rank = |rank: u32| {
        let next = (rank + 1) % 4;
        sequence([
            put(next, 3_000),
            access(Access::Get, (rank + 2) % 4, 5_000),
            flush(Source::Rank(next)),
            flush(Source::Any),
            lock(0, rank.is_multiple_of(2)),
            access(Access::Accumulate, 0, 400),
            unlock(0),
            call(OneSided::Post { group, comm }),
            call(OneSided::Start { group, comm }),
            access(Access::GetAccumulate, next, 8),
            call(OneSided::Complete { group, comm }),
            call(OneSided::Wait { group, comm }),
            put(next, 64),
            call(OneSided::Fence { comm }),
        ])
    };
    for progress in [Progress::Asynchronous, Progress::InCalls] {
        let mut setup = Setup::new();
        setup.params.mpi.progress = progress;
        let setup = setup.script((0..4).map(rank).collect(), &[0, 20, 40, 60]);
        assert_eq!(redo_every_event(&setup, 0), digest(&setup.complete()));
    }
}

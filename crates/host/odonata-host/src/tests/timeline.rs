//! Timeline records add up to the metrics, are undone with their events, and alter nothing.

use super::rehearsal::{everything, rehearse};
use super::*;
use odonata_storage::AccessKind;

/// `setup` with the ranks that `chosen` selects, and at most `rows` rows per table.
fn recorded(mut setup: Setup, chosen: impl Fn(u32) -> bool, rows: u64) -> Setup {
    let ranks: usize = setup.jobs.iter().map(|job| job.nodes.len()).sum();
    let all = (0..ranks as u32).map(chosen);
    setup.params.timeline = Some(TimelineParams::new(all, (Time::ZERO, Time::NEVER), rows));
    setup
}

/// The measurements of `machine` if it ends at `now`.
fn measured(machine: &TestMachine, now: Time) -> HostMeasured {
    HostMeasured::join([machine.hosts.measured(now)]).unwrap()
}

/// End time of the last call or rank of `machine`.
fn end(machine: &TestMachine) -> Time {
    let ends = machine
        .hosts
        .observers
        .records
        .all_metrics()
        .map(|(_, metrics)| metrics.end);
    ends.max().unwrap()
}

/// The calls of a rank add up to its metrics by category, with overlapping computations counted once; its messages add
/// up to its sends and receives.
fn adds_up(measured: &HostMeasured, ranks: u32) {
    let flows = measured.timeline.flows();
    for &(rank, metrics) in measured.ranks.iter().filter(|&&(rank, _)| rank < ranks) {
        let calls_of = |charge: Charge| {
            let calls = measured.timeline.calls.iter();
            calls.filter(move |call| call.rank == rank && call.charge == charge)
        };
        let time = |charge: Charge| {
            let times = calls_of(charge).map(|call| call.end - call.begin);
            times.fold(Time::ZERO, |sum, time| sum + time)
        };
        let mut computations: Vec<_> = calls_of(Charge::Compute).map(|call| (call.begin, call.end)).collect();
        computations.sort_unstable();
        let (mut computed, mut until) = (Time::ZERO, Time::ZERO);
        for (begin, end) in computations {
            computed += end.saturating_sub(begin.max(until));
            until = until.max(end);
        }
        assert_eq!(computed, metrics.compute, "rank {rank}");
        assert_eq!(time(Charge::Mpi), metrics.mpi, "rank {rank}");
        assert_eq!(time(Charge::Io), metrics.io, "rank {rank}");
        let sent = flows.iter().filter(|flow| flow.source == rank);
        assert_eq!(sent.clone().count() as u64, metrics.sends);
        assert_eq!(sent.map(|flow| flow.bytes).sum::<u64>(), metrics.bytes_sent);
        let arrived = flows
            .iter()
            .filter(|flow| flow.target == rank && flow.arrived.is_some());
        assert_eq!(arrived.clone().count() as u64, metrics.recvs);
        assert_eq!(arrived.map(|flow| flow.bytes).sum::<u64>(), metrics.bytes_received);
    }
}

#[test]
fn calls_messages_and_accesses_add_up_to_the_metrics() {
    for (threshold, progress) in [(None, Progress::Asynchronous), (Some(Bytes(50)), Progress::InCalls)] {
        let mut setup = recorded(everything(), |_| true, u64::MAX);
        (setup.params.mpi.eager_threshold, setup.params.mpi.progress) = (threshold, progress);
        let machine = setup.complete();
        let measured = measured(&machine, end(&machine));
        adds_up(&measured, 4);
        let timeline = &measured.timeline;
        assert!(timeline.calls.iter().all(|call| !call.unfinished));
        for flow in timeline.flows() {
            // A send call is in progress when its message is sent; a call that takes a message begins before the
            // message's flow ends.
            let of = |rank: u32, call: u32| {
                let mut calls = timeline.calls.iter();
                *calls.find(|c| (c.rank, c.call) == (rank, call)).unwrap()
            };
            let (sender, receiver) = (
                of(flow.source, flow.sent_by),
                of(flow.target, flow.received_by.unwrap()),
            );
            let taker = of(flow.target, flow.taken_by.unwrap());
            let (arrived, matched) = (flow.arrived.unwrap(), flow.matched.unwrap());
            assert!(sender.begin <= flow.sent && flow.sent < arrived);
            assert!(
                receiver.begin <= matched && arrived.max(matched) <= taker.end,
                "{flow:?} {taker:?}"
            );
            if flow.collective {
                assert_eq!(receiver.call, taker.call);
            }
            let waits = matches!(taker.kind.name(), "MPI_Allreduce" | "MPI_Barrier" | "MPI_Waitall");
            assert!(waits, "{}", taker.kind.name());
        }
        // Three messages of each rank have a request at both ends, and so has its read.
        let requests = timeline.requests();
        assert_eq!(requests.len(), 4 * 5);
        assert!(
            requests
                .iter()
                .all(|span| span.call.begin <= span.end && span.request != NIL)
        );
        let (_, server) = measured.servers[0];
        let of = |kind: AccessKind| timeline.accesses.iter().filter(move |access| access.kind == kind);
        let bytes = |kind| of(kind).map(|access| access.bytes).sum::<u64>();
        assert_eq!(bytes(AccessKind::Write), server.bytes_written);
        assert_eq!(bytes(AccessKind::Read), server.bytes_read);
        assert_eq!(bytes(AccessKind::Drain), server.bytes_drained);
        assert_eq!(of(AccessKind::Write).count() as u64, server.device_writes);
        assert_eq!(of(AccessKind::Fetch).count() as u64, server.drain_reads);
        let at_device = || {
            timeline
                .accesses
                .iter()
                .filter(|access| access.kind != AccessKind::Drain)
        };
        let busy = at_device().fold(Time::ZERO, |sum, access| sum + (access.end - access.begin));
        assert_eq!(busy, server.device_busy);
        let waited: u128 = at_device()
            .map(|access| u128::from((access.begin - access.joined).0))
            .sum();
        assert_eq!(waited, server.device_wait_ps);
        // One access at a time.
        let mut ends = at_device().zip(at_device().skip(1));
        assert!(ends.all(|(one, next)| one.end <= next.begin));
        assert!(bytes(AccessKind::Drain) > 0 && timeline.accesses.iter().all(|access| access.used <= 5_000));
    }
}

#[test]
fn records_are_undone_with_their_events_and_do_not_alter_results() {
    let without = digest(&everything().complete());
    for rows in [u64::MAX, 7] {
        let setup = recorded(everything(), |_| true, rows);
        assert_eq!(digest(&rehearse(&setup, 500)), without);
    }
    let mut setup = recorded(everything(), |rank| rank < 2, 20);
    (setup.params.mpi.eager_threshold, setup.params.mpi.progress) = (Some(Bytes(50)), Progress::InCalls);
    rehearse(&setup, 500);
}

#[test]
fn the_rows_that_end_first_are_kept_and_the_others_counted() {
    let all = recorded(everything(), |_| true, u64::MAX).complete();
    let few = recorded(everything(), |_| true, 10).complete();
    let (all, few) = (measured(&all, end(&all)).timeline, measured(&few, end(&few)).timeline);
    assert_eq!(few.seen, all.seen);
    assert_eq!(all.seen[0], all.calls.len() as u64);
    assert_eq!([few.calls.len(), few.steps.len(), few.accesses.len()], [10; 3]);
    let last = few.calls.iter().map(|call| call.end).max().unwrap();
    let before = all.calls.iter().filter(|call| call.end < last);
    assert!(before.clone().count() < 10 && before.into_iter().all(|call| few.calls.contains(call)));
    assert_eq!(few.steps, all.steps[..10]);
}

#[test]
fn chosen_ranks_and_a_period_are_recorded() {
    let mut setup = recorded(everything(), |rank| rank == 2, u64::MAX);
    let machine = setup.complete();
    let whole = measured(&machine, end(&machine)).timeline;
    assert!(whole.calls.iter().all(|call| call.rank == 2));
    assert!(whole.flows().iter().all(|flow| flow.source == 2 || flow.target == 2));
    let (from, until) = (Time(end(&machine).0 / 4), Time(end(&machine).0 / 2));
    setup.params.timeline = Some(TimelineParams::new(
        (0..8).map(|rank| rank == 2),
        (from, until),
        u64::MAX,
    ));
    let machine = setup.complete();
    let part = measured(&machine, end(&machine)).timeline;
    let inside: Vec<CallRecord> = (whole.calls.iter().copied())
        .filter(|call| call.begin < until && (call.end > from || call.begin >= from))
        .collect();
    assert!(!inside.is_empty() && inside.len() < whole.calls.len());
    assert_eq!(part.calls, inside);
    let steps: Vec<StepRecord> = (whole.steps.iter().copied())
        .filter(|step| (from..until).contains(&step.time))
        .collect();
    assert!(!steps.is_empty() && steps.len() < whole.steps.len());
    assert_eq!(part.steps, steps);
}

/// Each rank waits for a message that the other sends later; one has computed before, also on another stream.
#[test]
fn calls_that_never_end_last_until_the_end_of_the_run() {
    let mut first = sequence([compute(300), recv(1, 0, 8)]);
    first.push(Op {
        id: OpId(2),
        stream: 1,
        after: After::NONE,
        kind: compute(9_000),
    });
    let setup = Setup::new().script(vec![first, sequence([recv(0, 0, 8)])], &[0, 1]);
    let machine = recorded(setup, |_| true, u64::MAX).run();
    let now = Time::from_ns(10_000);
    let measured = measured(&machine, now);
    adds_up(&measured, 2);
    let unfinished: Vec<_> = measured.timeline.calls.iter().filter(|call| call.unfinished).collect();
    assert_eq!(unfinished.len(), 2);
    assert!(
        unfinished
            .iter()
            .all(|call| call.end == now && call.kind.name() == "MPI_Recv")
    );
}

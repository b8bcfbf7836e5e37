//! Jobs that wait for other jobs, and sources that are stopped by the end of a job.

use super::rehearsal::rehearse;
use super::*;
use crate::job::effect::CONTROL_BYTES;
use odonata_workload::{Arrival, Bursts, Pattern, Synthetic};

fn traffic(pattern: Pattern, messages: Option<u64>, stopped_by_job: bool) -> Synthetic {
    Synthetic {
        pattern,
        bytes: 1_000,
        arrival: Arrival::Exponential,
        bursts: None,
        messages,
        stop: None,
        stopped_by_job,
        itself: false,
    }
}

fn source(source: Synthetic, mean_ns: u64) -> JobProgram {
    let mean_gap = Time::from_ns(mean_ns);
    JobProgram::Synthetic { source, mean_gap }
}

fn computes(ns: &[u64]) -> Vec<Vec<Op>> {
    ns.iter().map(|&ns| sequence([compute(ns)])).collect()
}

/// Time from the end of a rank to the arrival of its control message on another node.
fn signal(setup: &Setup, from: u32, to: u32) -> Time {
    let software = setup.params.mpi.send_delay + Time((64.0 * setup.params.mpi.send_per_byte.0) as u64);
    software + setup.params.nic.message_delay + setup.zero_load(from, to, CONTROL_BYTES)
}

#[test]
fn a_job_starts_after_the_end_signal_of_another_job_and_its_delay() {
    for delay in [0, 700] {
        let mut setup = Setup::new()
            .script(computes(&[300]), &[0])
            .script(computes(&[50]), &[40]);
        setup.jobs[1].start_after = vec![0];
        setup.jobs[1].start = Time::from_ns(delay);
        let machine = setup.complete();
        let start = Time::from_ns(300 + delay) + signal(&setup, 0, 40);
        assert_eq!(machine.started(1), Some(start));
        let metrics = machine.hosts.metrics(1, 0);
        assert_eq!((metrics.start, metrics.end), (Some(start), start + Time::from_ns(50)));
        assert_eq!(machine.started(0), Some(Time::ZERO));
        // The message counts as a packet of the job that has ended, but not as a message of its ranks.
        assert_eq!(machine.fabric.traffic_stats().get(0).messages, 1);
        assert_eq!((machine.hosts.metrics(0, 0).sends, metrics.recvs), (0, 0));
        assert!(machine.hosts.observers.records.messages().is_empty());
    }
}

#[test]
fn the_slowest_rank_ends_a_job_and_each_rank_gets_one_start_message() {
    // Rank 5 = 0b101 reports to rank 4, and rank 4 to rank 0, which also gets reports from 1 and 2.
    let (first, second) = ([0, 2, 4, 6, 8, 10], [40, 42, 44]);
    let mut setup = Setup::new()
        .script(computes(&[10, 10, 10, 10, 10, 90_000]), &first)
        .script(computes(&[1; 3]), &second);
    setup.jobs[1].start_after = vec![0];
    let machine = setup.complete();
    let hop = |from, to| signal(&setup, from, to);
    let start = Time::from_ns(90_000) + hop(10, 8) + hop(8, 0) + hop(0, 40);
    let starts: Vec<Option<Time>> = (0..3).map(|rank| machine.hosts.metrics(1, rank).start).collect();
    assert_eq!(starts[0], Some(start));
    // The larger subtree comes first: 2, then 1. The second of the two messages waits for the first at the interface.
    assert_eq!(starts[2], Some(start + hop(40, 44)));
    assert!(starts[1] >= Some(start + hop(40, 42)) && starts[1] < Some(start + hop(40, 42) + Time::from_ns(100)));
    // n - 1 messages up the tree and one across; n - 1 down.
    let messages = |traffic| machine.fabric.traffic_stats().get(traffic).messages;
    assert_eq!((messages(0), messages(2)), (5 + 1, 2));
}

#[test]
fn signals_between_ranks_of_one_node_take_the_local_path() {
    let mut setup = Setup::new()
        .script(computes(&[10; 4]), &[0; 4])
        .script(computes(&[1; 4]), &[40; 4]);
    setup.jobs[1].start_after = vec![0];
    let machine = setup.complete();
    let messages: u64 = machine
        .fabric
        .traffic_stats()
        .iter()
        .map(|traffic| traffic.messages)
        .sum();
    assert_eq!(messages, 1);
    let mpi = &setup.params.mpi;
    let local = mpi.send_delay
        + Time((64.0 * mpi.send_per_byte.0) as u64)
        + mpi.local_latency
        + mpi.local_bandwidth.time_for(Bytes(CONTROL_BYTES));
    // Up: rank 3 to 2 to 0. Down: 0 to 2 to 3.
    let root = Time::from_ns(10) + local + local + signal(&setup, 0, 40);
    assert_eq!(machine.hosts.metrics(1, 0).start, Some(root));
    assert_eq!(machine.hosts.metrics(1, 3).start, Some(root + local + local));
}

#[test]
fn a_job_that_waits_for_several_jobs_starts_after_the_last() {
    let mut setup = Setup::new()
        .script(computes(&[500]), &[0])
        .script(computes(&[70_000]), &[8])
        .script(computes(&[1]), &[40]);
    setup.jobs[2].start_after = vec![0, 1];
    let machine = setup.complete();
    assert_eq!(machine.started(2), Some(Time::from_ns(70_000) + signal(&setup, 8, 40)));
}

#[test]
fn sources_send_no_message_after_their_stop_signal() {
    let nodes = [40, 42, 44, 46];
    let mut setup = Setup::new()
        .script(computes(&[400_000]), &[0])
        .job(source(traffic(Pattern::Uniform, None, true), 1_000), &nodes);
    setup.jobs[1].until = vec![0];
    let machine = setup.complete();
    let stop = Time::from_ns(400_000) + signal(&setup, 0, 40);
    let metrics = |rank| machine.hosts.metrics(1, rank);
    // Rank 0 is stopped first, the others by its relayed messages, a few microseconds later each.
    assert!(metrics(0).end >= stop && metrics(0).end < stop + Time::from_ns(500));
    for rank in 1..4 {
        assert!(metrics(rank).end > stop && metrics(rank).end < stop + Time::from_ns(20_000));
    }
    let mut sent = 0;
    for message in machine.hosts.observers.records.messages() {
        assert!(message.created < metrics(message.source).end);
        sent += 1;
    }
    // 4 ranks, 400 messages each; standard deviation 40.
    assert!(u64::abs_diff(sent, 1_600) < 200, "{sent}");
    let sums = (0..4).map(|rank| (metrics(rank).sends, metrics(rank).recvs));
    assert_eq!(sums.fold((0, 0), |(s, r), (a, b)| (s + a, r + b)), (sent, sent));
}

#[test]
fn a_source_stopped_after_its_end_or_before_its_begin_ends_once() {
    let mut setup = Setup::new()
        .script(computes(&[100]), &[0])
        .job(source(traffic(Pattern::Uniform, Some(2), true), 100), &[40, 42])
        .job(source(traffic(Pattern::Uniform, None, true), 100), &[50, 52])
        .script(computes(&[200_000]), &[2]);
    setup.jobs[1].until = vec![3];
    setup.jobs[2].until = vec![0];
    setup.jobs[2].start = Time::from_ns(150_000);
    let machine = setup.complete();
    assert!(machine.hosts.metrics(1, 0).end < Time::from_ns(50_000));
    assert_eq!(machine.hosts.metrics(1, 0).sends, 2);
    let late = machine.hosts.metrics(2, 1);
    assert_eq!((late.sends, late.end), (0, Time::from_ns(150_000)));
}

#[test]
fn ranks_without_a_destination_send_nothing_and_end_immediately() {
    let setup = Setup::new().job(
        source(traffic(Pattern::Transpose, Some(7), false), 1_000),
        &[0, 2, 4, 6, 8, 10, 12, 14, 16],
    );
    let machine = setup.complete();
    for rank in 0..9 {
        let metrics = machine.hosts.metrics(0, rank);
        let silent = rank % 4 == 0;
        let count = if silent { 0 } else { 7 };
        assert_eq!((metrics.sends, metrics.recvs), (count, count), "rank {rank}");
        assert_eq!(metrics.end == Time::ZERO, silent);
    }
}

#[test]
fn messages_are_created_in_bursts_that_begin_with_the_job() {
    let mut synthetic = traffic(Pattern::AllToAll, Some(200), false);
    let (on, off, start) = (Time::from_ns(3_000), Time::from_ns(17_000), Time::from_ns(5_500));
    synthetic.bursts = Some(Bursts { on, off });
    let mut setup = Setup::new().job(source(synthetic, 500), &[0, 2, 4, 6, 8]);
    setup.jobs[0].start = start;
    let machine = setup.complete();
    let rows = machine.hosts.observers.records.messages();
    assert_eq!(rows.len(), 1_000);
    assert!(rows.iter().all(|m| (m.created - start).0 % (on + off).0 < on.0));
    // 200 gaps of 500 ns are 33.3 bursts of 3 us; standard deviation sqrt(200) x 500 ns = 2.4 bursts.
    for rank in 0..5 {
        let bursts = (machine.hosts.metrics(0, rank).end - start).0 / (on + off).0;
        assert!(bursts.abs_diff(33) < 12, "{bursts}");
    }
    // Destinations rotate: 50 messages from each rank to each other one.
    for (source, target) in [(0, 1), (3, 2), (4, 0)] {
        let count = rows
            .iter()
            .filter(|m| (m.source, m.destination) == (source, target))
            .count();
        assert_eq!(count, 50);
    }
}

#[test]
fn a_job_whose_predecessor_never_ends_is_reported_with_the_predecessor() {
    let stuck = sequence([recv(1, 0, 8)]);
    let mut setup = Setup::new()
        .script(vec![stuck, Vec::new(), Vec::new()], &[0, 2, 4])
        .script(computes(&[1]), &[40])
        .script(computes(&[1]), &[42]);
    setup.jobs[1].start_after = vec![0];
    setup.jobs[2].start_after = vec![1];
    let machine = setup.run();
    let HostOutcome::Stalled {
        blocked, unfinished, ..
    } = machine.outcome()
    else {
        panic!("{:?}", machine.outcome())
    };
    assert_eq!((blocked.len(), unfinished), (1, 3));
    let waiting = |job, other| WaitingJob {
        job,
        unstarted: true,
        waits_for: vec![(other, 1)],
    };
    assert_eq!(
        machine.hosts.job_statuses().waiting_jobs(machine.hosts.plans()),
        [waiting(1, 0), waiting(2, 1)]
    );
    assert_eq!((machine.started(1), machine.hosts.metrics(1, 0).start), (None, None));
    assert!(machine.hosts.audit().is_err());
}

/// A chain of jobs with ranks on shared and on own nodes, and bursty sources until the last job has ended.
fn chain() -> Setup {
    let exchange = |r: u32| sequence([isend(1 - r, 0, 9_000, 0), irecv(1 - r, 0, 9_000, 1), wait_all(2)]);
    let mut background = traffic(Pattern::Uniform, None, true);
    background.bursts = Some(Bursts {
        on: Time::from_ns(2_000),
        off: Time::from_ns(1_000),
    });
    let mut setup = Setup::new()
        .script((0..2).map(exchange).collect(), &[0, 4])
        .script(computes(&[100, 200, 300, 400, 500]), &[1, 1, 5, 8, 8])
        .job(source(traffic(Pattern::AllToAll, Some(3), false), 800), &[2, 6, 9])
        .job(source(background, 700), &[3, 3, 7, 10]);
    setup.shape = DragonflyShape {
        groups: 3,
        routers: 2,
        nodes: 2,
        global_ports: 1,
        cables: None,
    };
    setup.params.nic.handoff = Some(Jitter {
        min: Time::ZERO,
        max: Time::from_ns(9),
    });
    setup.jobs[1].start_after = vec![0];
    setup.jobs[2].start_after = vec![0, 1];
    setup.jobs[2].start = Time::from_ns(50);
    setup.jobs[3].until = vec![2];
    setup
}

#[test]
fn every_event_of_waiting_jobs_can_be_undone_and_redone() {
    let sequential = rehearse(&chain(), 300);
    let starts: Vec<Option<Time>> = (0..4).map(|job| sequential.started(job)).collect();
    assert!(starts[..3].is_sorted() && starts[0] == Some(Time::ZERO), "{starts:?}");
}

#[test]
fn the_metrics_of_a_job_do_not_depend_on_jobs_that_wait_for_its_end() {
    let exchange = |r: u32| sequence([isend(1 - r, 0, 9_000, 0), irecv(1 - r, 0, 9_000, 1), wait_all(2)]);
    let mut setup = Setup::new()
        .script((0..2).map(exchange).collect(), &[0, 8])
        .script(computes(&[1]), &[40]);
    let alone = setup.complete();
    setup.jobs[1].start_after = vec![0];
    let watched = setup.complete();
    for rank in 0..2 {
        assert_eq!(watched.hosts.metrics(0, rank), alone.hosts.metrics(0, rank));
    }
    assert_ne!(digest(&watched), digest(&alone));
}

//! Open-loop sources.

use super::*;
use odonata_workload::{Arrival, Pattern, Synthetic};

fn synthetic(messages: Option<u64>, stop: Option<u64>, arrival: Arrival, bytes: u64) -> JobProgram {
    let source = Synthetic {
        pattern: Pattern::Uniform,
        bursts: None,
        stopped_by_job: false,
        itself: false,
        bytes,
        arrival,
        messages,
        stop: stop.map(Time::from_ns),
    };
    JobProgram::Synthetic {
        source,
        mean_gap: Time::from_ns(1_000),
    }
}

/// Two ranks on each of `n` nodes, so that some messages stay on a node.
fn nodes(n: u32) -> Vec<u32> {
    (0..2 * n).map(|r| r / 2).collect()
}

#[test]
fn every_message_of_every_source_arrives_and_the_job_ends() {
    for arrival in [Arrival::Fixed, Arrival::Exponential] {
        let (n, each, bytes) = (72, 50, 3_000);
        let machine = Setup::new()
            .job(synthetic(Some(each), None, arrival, bytes), &nodes(n))
            .complete();
        let ranks = u64::from(2 * n);
        let sum = |f: fn(&RankMetrics) -> u64| (0..2 * n).map(|r| f(machine.hosts.metrics(0, r))).sum::<u64>();
        assert_eq!(sum(|m| m.sends), ranks * each);
        assert_eq!(sum(|m| m.recvs), ranks * each);
        assert_eq!(sum(|m| m.bytes_received), ranks * each * bytes);
        let rows = machine.hosts.observers.records.messages();
        assert_eq!(rows.len() as u64, ranks * each);
        let local = rows.iter().filter(|m| m.source / 2 == m.destination / 2).count() as u64;
        assert!(local > 0 && rows.iter().all(|m| m.source != m.destination));
        assert_eq!(
            machine.fabric.traffic_stats().get(0).bytes,
            (rows.len() as u64 - local) * bytes
        );
        assert_eq!(machine.hosts.job_statuses().progress_fraction(), 1.0);
    }
}

#[test]
fn fixed_gaps_are_constant_and_first_messages_are_spread_over_one_gap() {
    let machine = Setup::new()
        .job(synthetic(Some(20), None, Arrival::Fixed, 64), &nodes(72))
        .complete();
    let mut firsts = Vec::new();
    for r in 0..144 {
        let mut calls: Vec<u64> = machine
            .hosts
            .observers
            .records
            .messages()
            .iter()
            .filter(|m| m.source == r)
            .map(|m| m.created.0)
            .collect();
        calls.sort_unstable();
        assert!(calls.windows(2).all(|pair| pair[1] - pair[0] == 1_000 * NS));
        assert_eq!(machine.hosts.metrics(0, r).end.0, calls[19]);
        firsts.push(calls[0]);
    }
    assert!(firsts.iter().all(|&first| first > 0 && first <= 1_000 * NS));
    // Mean 500 ns, standard error 1,000 / sqrt(12 * 144) = 24 ns.
    let mean = firsts.iter().sum::<u64>() / 144;
    assert!(mean.abs_diff(500 * NS) < 120 * NS, "{mean}");
}

#[test]
fn no_message_starts_at_the_stop_or_later_and_the_number_matches_the_rate() {
    let machine = Setup::new()
        .job(synthetic(None, Some(100_000), Arrival::Exponential, 64), &nodes(36))
        .complete();
    let rows = machine.hosts.observers.records.messages();
    assert!(rows.iter().all(|m| m.created < Time::from_ns(100_000)));
    // 72 ranks, 100 messages each; standard deviation sqrt(7,200) = 85.
    assert!(rows.len().abs_diff(7_200) < 425, "{}", rows.len());
}

#[test]
fn a_run_without_message_statistics_moves_the_same_packets() {
    let job = || synthetic(Some(50), None, Arrival::Exponential, 9_000);
    let mut setup = Setup::new();
    let with = setup.clone().job(job(), &nodes(72)).complete();
    setup.params.records.source_arrivals = false;
    let without = setup.job(job(), &nodes(72)).complete();
    let digest = |machine: &TestMachine| {
        let mut digest = Digest::new();
        machine.fabric.results(&mut digest);
        digest.value()
    };
    assert_eq!(digest(&with), digest(&without));
    assert_eq!(
        (
            without.hosts.metrics(0, 0).recvs,
            without.hosts.observers.records.messages().len()
        ),
        (0, 0)
    );
}

#[test]
fn jobs_start_at_their_time_and_a_limit_on_rows_is_kept() {
    let mut setup = Setup::new().job(synthetic(Some(10), None, Arrival::Fixed, 64), &nodes(4));
    setup = setup.script(vec![sequence([compute(10)])], &[40]);
    setup.jobs[0].start = Time::from_ns(5_000);
    setup.jobs[1].start = Time::from_ns(70);
    setup.params.records.messages = 3;
    let machine = setup.complete();
    assert!(
        machine
            .hosts
            .observers
            .records
            .messages()
            .iter()
            .all(|m| m.created > Time::from_ns(5_000))
    );
    assert_eq!(machine.hosts.observers.records.messages().len(), 3);
    let latencies: u64 = machine
        .hosts
        .observers
        .records
        .message_latency()
        .buckets(0)
        .iter()
        .map(|b| b.2)
        .sum();
    assert_eq!(latencies, 80);
    let job = machine.hosts.job(1);
    assert_eq!(
        (job.name, job.ranks, job.first_rank, job.synthetic),
        ("job 1", 1, 8, false)
    );
    assert_eq!(machine.hosts.metrics(1, 0).elapsed(job.start), Time::from_ns(10));
}

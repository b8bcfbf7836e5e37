//! Schedules against closed forms, and against a slow model that knows seconds and numbers of nodes only.

use odonata_batch::*;
use odonata_units::SplitMix64;

/// A machine without links.
struct NoLinks;

impl LinkLoads for NoLinks {
    fn capacities(&self) -> Vec<f64> {
        Vec::new()
    }
    fn classes(&self) -> Vec<u8> {
        Vec::new()
    }
    fn loads(&mut self, _: u32, _: &[u32], _: &Demand) -> Vec<(u32, f64)> {
        Vec::new()
    }
}

const S: Micros = 1_000_000;

/// A job: submission, nodes, run time, limit, in seconds.
fn job(submit: u64, nodes: u32, run: u64, limit: u64) -> Job {
    Job {
        submit: submit * S,
        nodes,
        run: run * S,
        limit: Some(limit * S),
        ..Job::default()
    }
}

fn settings(policy: Policy, nodes: u32) -> Settings {
    Settings {
        policy,
        partitions: vec![(0..nodes).collect()],
        group_of: (0..nodes).map(|node| node / 4).collect(),
        ..Settings::default()
    }
}

fn run(settings: Settings, jobs: &[Job]) -> Vec<JobRecord> {
    let mut batch = Batch::new(settings, jobs.to_vec(), Box::new(NoLinks));
    while batch.step() {}
    batch.records()
}

fn starts(records: &[JobRecord]) -> Vec<u64> {
    records
        .iter()
        .map(|record| record.start.map_or(u64::MAX, |start| start / S))
        .collect()
}

/// 4 nodes. A (3 nodes, 10 s) runs, B needs 4, C (1 node, 10 s) and D (1 node, 20 s) come later. FCFS: C and D wait
/// behind B. Backfill: C ends with A and overtakes B, D would delay B.
#[test]
fn backfill_fills_the_gap_before_the_first_job() {
    let jobs = [job(0, 3, 10, 10), job(1, 4, 5, 5), job(2, 1, 8, 8), job(3, 1, 20, 20)];
    assert_eq!(starts(&run(settings(Policy::Fcfs, 4), &jobs)), [0, 10, 15, 15]);
    assert_eq!(starts(&run(settings(Policy::Easy, 4), &jobs)), [0, 10, 2, 15]);
    assert_eq!(starts(&run(settings(Policy::Conservative, 4), &jobs)), [0, 10, 2, 15]);
}

/// 4 nodes. A has 2 until 10, B waits for 3 until then. C (2 nodes, 12 s) would end after 10, and B leaves it one node;
/// D (1 node, 100 s) takes that one.
#[test]
fn easy_lets_long_jobs_use_what_the_first_job_leaves() {
    let jobs = [
        job(0, 2, 10, 10),
        job(1, 3, 5, 5),
        job(2, 2, 12, 12),
        job(3, 1, 100, 100),
    ];
    assert_eq!(starts(&run(settings(Policy::Easy, 4), &jobs)), [0, 10, 15, 3]);
}

/// 4 nodes, 3 of them busy until 10. B (2 nodes) waits until 10, C (2 nodes, 8 s) until then too; D (1 node, 15 s)
/// starts at once under EASY because it does not delay B, but would delay C, so conservative backfill refuses it.
#[test]
fn conservative_backfill_delays_no_job() {
    let jobs = [job(0, 3, 10, 10), job(1, 2, 9, 9), job(2, 2, 8, 8), job(3, 1, 15, 15)];
    assert_eq!(starts(&run(settings(Policy::Easy, 4), &jobs)), [0, 10, 18, 3]);
    assert_eq!(starts(&run(settings(Policy::Conservative, 4), &jobs)), [0, 10, 10, 18]);
}

/// Replay starts jobs when they started; one whose nodes are still busy waits for them.
#[test]
fn replay_keeps_recorded_starts_and_nodes() {
    let mut jobs = [job(0, 2, 10, 10), job(0, 2, 10, 10), job(0, 1, 5, 5)];
    for (job, (start, list)) in jobs.iter_mut().zip([(3, [0, 1]), (5, [1, 2])]) {
        (job.start, job.node_list) = (Some(start * S), list.to_vec());
    }
    jobs[2].start = Some(7 * S);
    let records = run(settings(Policy::Replay, 4), &jobs);
    assert_eq!(starts(&records), [3, 13, 7]);
    assert_eq!((&records[1].nodes[..], &records[2].nodes[..]), (&[1, 2][..], &[2][..]));
}

/// The user with less use goes first; with priorities the larger one.
#[test]
fn orders_decide_between_waiting_jobs() {
    let mut jobs = [job(0, 4, 10, 10), job(1, 4, 5, 5), job(2, 4, 4, 4), job(3, 4, 3, 3)];
    for (job, (user, priority)) in jobs.iter_mut().zip([(0, 0.0), (0, 1.0), (1, 3.0), (0, 2.0)]) {
        (job.user, job.priority) = (user, priority);
    }
    let starts_in = |order| {
        starts(&run(
            Settings {
                order,
                ..settings(Policy::Easy, 4)
            },
            &jobs,
        ))
    };
    assert_eq!(starts_in(Order::Fcfs), [0, 10, 15, 19]);
    assert_eq!(starts_in(Order::Priority), [0, 17, 10, 14]);
    assert_eq!(starts_in(Order::FairShare), [0, 14, 10, 19]);
    assert_eq!(starts_in(Order::Shortest), [0, 17, 13, 10]);
}

/// With a half-life of 10 s, use long ago hardly counts: user 0 used 4 nodes for 10 s a hundred half-lives ago, user 1
/// used 1 node for 5 s just now.
#[test]
fn past_use_decays() {
    let mut jobs = [
        job(0, 4, 10, 10),
        job(1000, 1, 5, 5),
        job(1000, 3, 9, 9),
        job(1001, 4, 2, 2),
        job(1002, 4, 3, 3),
    ];
    for (job, user) in jobs.iter_mut().zip([0, 1, 2, 1, 0]) {
        job.user = user;
    }
    let with = |half_life| {
        let settings = Settings {
            order: Order::FairShare,
            half_life,
            ..settings(Policy::Fcfs, 4)
        };
        starts(&run(settings, &jobs))
    };
    assert_eq!(with(10 * S)[3..], [1012, 1009]);
    assert_eq!(with(1_000_000 * S)[3..], [1009, 1011]);
}

/// Jobs wait for their dependencies, also for one that never fits.
#[test]
fn dependencies_are_awaited() {
    let mut jobs = [job(0, 1, 10, 10), job(0, 1, 5, 5), job(0, 9, 5, 5), job(0, 1, 5, 5)];
    (jobs[1].after, jobs[3].after) = (vec![0], vec![1, 2]);
    let records = run(settings(Policy::Easy, 4), &jobs);
    assert_eq!(starts(&records), [0, 10, u64::MAX, 15]);
    assert_eq!(records[2].outcome, Outcome::NeverFits);
}

/// Each of 200,000 jobs that never fit waits for the next one: none is left waiting, however long the chain.
#[test]
fn a_long_chain_of_dependencies_ends() {
    let mut jobs = vec![job(0, 9, 5, 5); 200_000];
    let last = jobs.len() as u32 - 1;
    for (number, job) in (0..last).zip(&mut jobs) {
        job.after = vec![number + 1];
    }
    let records = run(settings(Policy::Easy, 4), &jobs);
    assert!(records.iter().all(|record| record.outcome == Outcome::NeverFits));
}

/// A job of 10 s does not reach into a reservation at 8; one of 8 s does not.
#[test]
fn reservations_keep_their_nodes_free() {
    for policy in [Policy::Fcfs, Policy::Easy, Policy::Conservative] {
        let reservation = Reservation {
            nodes: vec![0, 1, 2, 3],
            from: 8 * S,
            to: 20 * S,
        };
        let settings = Settings {
            reservations: vec![reservation],
            ..settings(policy, 4)
        };
        assert_eq!(starts(&run(settings.clone(), &[job(0, 4, 8, 8)])), [0]);
        assert_eq!(starts(&run(settings, &[job(0, 4, 5, 10)])), [20], "{policy:?}");
    }
}

/// A node fails at 4 s until 6 s: its job ends, or starts again from the beginning on the other node; a job of two
/// nodes waits for the repair.
#[test]
fn failures_end_jobs() {
    let with = |requeue, jobs: &[Job]| {
        let failures = vec![Failure {
            node: 0,
            from: 4 * S,
            to: 6 * S,
        }];
        run(
            Settings {
                failures,
                requeue,
                ..settings(Policy::Easy, 2)
            },
            jobs,
        )
    };
    let records = with(false, &[job(0, 1, 10, 10)]);
    assert_eq!(
        (records[0].outcome, records[0].end),
        (Outcome::NodeFailure, Some(4 * S))
    );
    let records = with(true, &[job(0, 1, 10, 10)]);
    assert_eq!(
        (records[0].outcome, records[0].end, records[0].starts),
        (Outcome::Completed, Some(14 * S), 2)
    );
    let records = with(true, &[job(0, 2, 10, 10)]);
    assert_eq!((records[0].end, records[0].starts), (Some(16 * S), 2));
}

/// Partitions have queues of their own.
#[test]
fn partitions_do_not_share_nodes() {
    let mut jobs = [job(0, 2, 10, 10), job(0, 1, 10, 10), job(0, 2, 10, 10)];
    jobs[2].partition = 1;
    let settings = Settings {
        partitions: vec![vec![0, 1], vec![2, 3]],
        ..settings(Policy::Fcfs, 4)
    };
    let records = run(settings, &jobs);
    assert_eq!(starts(&records), [0, 10, 0]);
    assert_eq!(records[2].nodes, [2, 3]);
}

/// A job beyond its limit ends there, if limits are enforced.
#[test]
fn limits_are_enforced_on_request() {
    let with = |limits| {
        run(
            Settings {
                limits,
                ..settings(Policy::Fcfs, 4)
            },
            &[job(0, 1, 10, 6)],
        )[0]
        .clone()
    };
    assert_eq!(
        (with(Limits::Extend).end, with(Limits::Extend).outcome),
        (Some(10 * S), Outcome::Completed)
    );
    assert_eq!(
        (with(Limits::Enforce).end, with(Limits::Enforce).outcome),
        (Some(6 * S), Outcome::Timeout)
    );
}

/// Limits and repairs after the end of the last job do not lengthen the simulated time.
#[test]
fn the_simulated_time_ends_with_the_last_job() {
    let failures = vec![Failure {
        node: 3,
        from: 50 * S,
        to: 60 * S,
    }];
    let settings = Settings {
        limits: Limits::Enforce,
        failures,
        ..settings(Policy::Fcfs, 4)
    };
    let mut batch = Batch::new(settings, vec![job(0, 1, 10, 30)], Box::new(NoLinks));
    while batch.step() {}
    assert_eq!((batch.now(), batch.ended()), (10 * S, 1));
}

/// The slow model: every second, in order of submission.
fn slow(policy: Policy, nodes: i64, jobs: &[Job]) -> Vec<u64> {
    let seconds = |time: Micros| time / S;
    let mut start = vec![u64::MAX; jobs.len()];
    let mut plans: Vec<Option<u64>> = vec![None; jobs.len()];
    let horizon = 4_000;
    let run_of = |job: usize| seconds(jobs[job].run);
    let limit_of = |job: usize| seconds(jobs[job].planned());
    for now in 0..horizon {
        let running: Vec<usize> = (0..jobs.len())
            .filter(|&j| start[j] <= now && now < start[j] + run_of(j))
            .collect();
        let mut free = nodes - running.iter().map(|&j| i64::from(jobs[j].nodes)).sum::<i64>();
        let mut waiting: Vec<usize> = (0..jobs.len())
            .filter(|&j| start[j] == u64::MAX && seconds(jobs[j].submit) <= now)
            .collect();
        waiting.sort_by_key(|&j| (jobs[j].submit, j));
        if policy == Policy::Conservative {
            // Plans change when a job is submitted or ends.
            let is_event = |j: usize| seconds(jobs[j].submit) == now || (start[j] < now && start[j] + run_of(j) == now);
            if !(0..jobs.len()).any(is_event) {
                continue;
            }
            // Free nodes of every second, by limits.
            let mut table = vec![nodes; 2 * horizon as usize];
            let mut change = |from: u64, lasts: u64, count: i64| {
                (from..(from + lasts).min(2 * horizon)).for_each(|at| table[at as usize] += count);
                table.clone()
            };
            for &j in &running {
                change(
                    now,
                    (start[j] + limit_of(j)).saturating_sub(now).max(1),
                    -i64::from(jobs[j].nodes),
                );
            }
            for &j in &waiting {
                if let Some(plan) = plans[j] {
                    change(plan.max(now), limit_of(j), -i64::from(jobs[j].nodes));
                }
            }
            for &j in &waiting {
                let count = i64::from(jobs[j].nodes);
                let table = match plans[j] {
                    Some(plan) => change(plan.max(now), limit_of(j), count),
                    None => change(now, 0, 0),
                };
                let fits = |at: &u64| (*at..at + limit_of(j)).all(|second| table[second as usize] >= count);
                let plan = (now..horizon).find(fits).unwrap();
                plans[j] = Some(plan);
                change(plan, limit_of(j), -count);
                if plan == now {
                    start[j] = now;
                }
            }
            continue;
        }
        while let Some(&first) = waiting.first().filter(|&&j| i64::from(jobs[j].nodes) <= free) {
            start[first] = now;
            free -= i64::from(jobs[first].nodes);
            waiting.remove(0);
        }
        let Some(&first) = waiting.first().filter(|_| policy == Policy::Easy) else {
            continue;
        };
        let free_at = |at: u64, start: &[u64]| {
            let until = |j: usize| (start[j] + limit_of(j)).max(now + 1);
            let busy = (0..jobs.len()).filter(|&j| start[j] <= now && now < start[j] + run_of(j) && until(j) > at);
            nodes - busy.map(|j| i64::from(jobs[j].nodes)).sum::<i64>()
        };
        let shadow = (now + 1..)
            .find(|&at| free_at(at, &start) >= i64::from(jobs[first].nodes))
            .unwrap();
        let mut extra = free_at(shadow, &start) - i64::from(jobs[first].nodes);
        for &j in &waiting[1..] {
            let count = i64::from(jobs[j].nodes);
            let is_short = now + limit_of(j) <= shadow;
            if count <= free && (is_short || count <= extra) {
                start[j] = now;
                free -= count;
                extra -= if is_short { 0 } else { count };
            }
        }
    }
    start
}

/// Random lists of 40 jobs on 8 nodes, limits up to four times the run time: all starts equal those of the slow model.
#[test]
fn schedules_equal_the_slow_model() {
    for seed in 0..40 {
        let mut lot = SplitMix64(seed);
        let jobs: Vec<Job> = (0..40)
            .map(|_| {
                let run = 1 + u64::from(lot.below(40));
                let limit = run + u64::from(lot.below(3 * run as u32 + 1));
                job(u64::from(lot.below(200)), 1 + lot.below(8), run, limit)
            })
            .collect();
        for policy in [Policy::Fcfs, Policy::Easy, Policy::Conservative] {
            let found = starts(&run(settings(policy, 8), &jobs));
            assert_eq!(found, slow(policy, 8, &jobs), "seed {seed}, {policy:?}");
        }
    }
}

/// No node has two jobs at a time, under every placement.
#[test]
fn nodes_have_one_job_at_a_time() {
    let placements = [
        Placement::Contiguous,
        Placement::Random,
        Placement::LeastGroups,
        Placement::WholeGroups,
        Placement::List,
    ];
    for (seed, placement) in placements.into_iter().enumerate() {
        let mut lot = SplitMix64(seed as u64);
        let mut jobs: Vec<Job> = (0..60)
            .map(|_| {
                job(
                    u64::from(lot.below(100)),
                    1 + lot.below(16),
                    1 + u64::from(lot.below(30)),
                    40,
                )
            })
            .collect();
        for job in jobs.iter_mut().step_by(3) {
            job.node_list = (16 - job.nodes..16).collect();
        }
        let records = run(
            Settings {
                placement,
                ..settings(Policy::Easy, 16)
            },
            &jobs,
        );
        for (number, (one, job)) in records.iter().zip(&jobs).enumerate() {
            assert_eq!((one.outcome, one.nodes.len() as u32), (Outcome::Completed, job.nodes));
            if placement == Placement::List && number % 3 == 0 {
                assert_eq!(one.nodes, job.node_list);
            }
            for other in &records[..number] {
                let is_together = one.start < other.end && other.start < one.end;
                let groups = |record: &JobRecord| record.nodes.iter().map(|node| node / 4).collect::<Vec<u32>>();
                let shares = match placement {
                    Placement::WholeGroups => groups(one).iter().any(|group| groups(other).contains(group)),
                    _ => one.nodes.iter().any(|node| other.nodes.contains(node)),
                };
                assert!(!is_together || !shares, "{placement:?}");
            }
        }
    }
}

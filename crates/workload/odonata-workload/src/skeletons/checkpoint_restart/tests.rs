//! The program of one or several ranks, executed on a manual clock: one operation after the other, barriers and
//! messages at once.

use super::*;
use crate::program::Seen;
use crate::{Cursor, OpKind};
use std::collections::VecDeque;

const DELTA: f64 = 2.0;

fn params() -> CheckpointRestartParams {
    CheckpointRestartParams {
        work: Time::from_seconds(1_000.0),
        mtti: Time::from_seconds(100.0),
        total: Bytes(40),
        record: Bytes(10),
        interval: Some(Time::from_seconds(20.0)),
        restart: Time::from_seconds(5.0),
        seed: Filled::new(1),
        ..CheckpointRestartParams::default()
    }
}

/// The results of a run.
struct Run {
    /// Reports: number, value, time in seconds.
    reports: Vec<(u32, f64, f64)>,
    end_s: f64,
    failure: Option<String>,
    /// Files read.
    read: Vec<u64>,
}

/// Executes all ranks; a record takes `DELTA` over the number of records, in parallel on all ranks.
fn run(ranks: u32, params: &CheckpointRestartParams) -> Run {
    run_where(ranks, params, |_, _, _| false)
}

/// Like [`run`], but data read from a file is lost if `is_lost` returns true.
fn run_where(ranks: u32, params: &CheckpointRestartParams, is_lost: impl Fn(u32, u64, Time) -> bool) -> Run {
    let program = CheckpointRestart::new(ranks, params.clone()).unwrap();
    let records = (params.total.0 / u64::from(ranks)).div_ceil(params.record.0) as f64;
    let count = ranks as usize;
    let mut cursors = vec![Cursor::default(); count];
    let mut memory = vec![vec![0u64; program.memory()]; count];
    let mut clock = vec![Time::ZERO; count];
    let mut answer = vec![0u32; count];
    let mut lost = vec![false; count];
    let mut messages: Vec<VecDeque<(u32, Time)>> = vec![VecDeque::new(); count];
    let mut waiting: Vec<Option<OpKind>> = vec![None; count];
    let mut done = vec![false; count];
    let mut run = Run {
        reports: Vec::new(),
        end_s: 0.0,
        failure: None,
        read: Vec::new(),
    };
    while !done.iter().all(|&done| done) {
        let mut moved = false;
        for rank in 0..count {
            loop {
                let op = match waiting[rank].take() {
                    Some(op) => op,
                    None => {
                        let mut seen = Seen {
                            memory: &mut memory[rank],
                            now: Some(clock[rank]),
                            answer: answer[rank],
                            lost: std::mem::take(&mut lost[rank]),
                            failure: None,
                        };
                        let op = program.next_with(rank as u32, &mut cursors[rank], &mut seen);
                        if seen.failure.is_some() {
                            run.failure = seen.failure;
                            return run;
                        }
                        match op {
                            Some(op) => op.kind,
                            None => {
                                done[rank] = true;
                                break;
                            }
                        }
                    }
                };
                match op {
                    OpKind::Compute { duration } => clock[rank] += duration,
                    OpKind::Write { .. } | OpKind::Read { .. } => {
                        if let OpKind::Read { file, .. } = op {
                            run.read.push(file);
                            lost[rank] = is_lost(rank as u32, file, clock[rank]);
                        }
                        clock[rank] += Time::from_seconds(DELTA / records);
                    }
                    OpKind::Send { to, tag, .. } => messages[to as usize].push_back((tag, clock[rank])),
                    OpKind::Recv { .. } => match messages[rank].pop_front() {
                        Some((tag, at)) => {
                            answer[rank] = tag;
                            clock[rank] = clock[rank].max(at + Time(1_000));
                        }
                        None => {
                            waiting[rank] = Some(op);
                            break;
                        }
                    },
                    OpKind::Collective(_) => {
                        waiting[rank] = Some(op);
                        break;
                    }
                    OpKind::Report { report, value, .. } => {
                        run.reports.push((report, value, clock[rank].seconds()));
                    }
                    _ => {}
                }
                moved = true;
            }
        }
        // A barrier of all.
        if waiting.iter().all(|op| matches!(op, Some(OpKind::Collective(_)))) {
            let last = clock.iter().copied().max().unwrap_or(Time::ZERO);
            clock.fill(last);
            waiting.fill(None);
            moved = true;
        }
        assert!(moved, "the ranks wait for each other: {waiting:?}");
    }
    run.end_s = clock.iter().copied().max().unwrap_or(Time::ZERO).seconds();
    run
}

fn sum(run: &Run, report: u32) -> f64 {
    run.reports.iter().filter(|r| r.0 == report).map(|r| r.1).sum()
}

fn count(run: &Run, report: u32) -> usize {
    run.reports.iter().filter(|r| r.0 == report).count()
}

/// Without failures, the time is the work and a checkpoint after every interval except the last.
#[test]
fn without_failures_the_time_is_work_and_checkpoints() {
    let params = CheckpointRestartParams {
        mtti: Time(1 << 62),
        ..params()
    };
    for ranks in [1, 2, 5] {
        let run = run(ranks, &params);
        assert_eq!(
            (count(&run, reports::CHECKPOINT), count(&run, reports::FAILURE)),
            (49, 0)
        );
        assert!((run.end_s - (1_000.0 + 49.0 * DELTA)).abs() < 0.01, "{}", run.end_s);
        assert_eq!(count(&run, reports::SOLUTION), 1);
    }
}

/// time = work + checkpoints + lost work + lost checkpoints + restarts + lost restarts, for all failures.
#[test]
fn every_second_of_the_time_to_solution_is_accounted() {
    for seed in 0..40 {
        let params = CheckpointRestartParams {
            seed: Filled::new(seed),
            ..params()
        };
        let run = run(1 + seed as u32 % 7, &params);
        let parts = [
            reports::SOLUTION,
            reports::CHECKPOINT,
            reports::FAILURE,
            reports::LOST_CHECKPOINT,
            reports::RESTART,
            reports::LOST_RESTART,
        ];
        let total: f64 = parts.into_iter().map(|part| sum(&run, part)).sum();
        assert!((total - run.end_s).abs() < 1e-3, "seed {seed}: {total} {}", run.end_s);
        let (failures, restarts) = (count(&run, reports::FAILURE), count(&run, reports::RESTART));
        assert_eq!(failures, restarts + count(&run, reports::LOST_RESTART), "seed {seed}");
        // Lost work of one failure is less than an interval.
        let lost = |r: &&(u32, f64, f64)| r.0 == reports::FAILURE && r.1 > 20.0;
        assert_eq!(run.reports.iter().filter(lost).count(), 0);
    }
}

/// Means over seeds match Daly's expected time: within 3% for 200 runs with about 14 failures each.
#[test]
fn the_mean_time_to_solution_is_dalys() {
    let times: Vec<f64> = (0..200)
        .map(|seed| {
            let params = CheckpointRestartParams {
                seed: Filled::new(seed),
                ..params()
            };
            run(1, &params).end_s
        })
        .collect();
    let mean = times.iter().sum::<f64>() / times.len() as f64;
    // Reading a checkpoint takes as long as writing it.
    let expected = expected_time(1_000.0, 20.0, DELTA, 5.0 + DELTA, 100.0);
    assert!((mean / expected - 1.0).abs() < 0.03, "{mean} {expected}");
}

/// Over 60 seeds, the formula's interval has the smallest mean time among a quarter to four times of it, and each
/// interval matches Daly's expected time within 5%.
#[test]
fn no_interval_is_better_than_the_optimum() {
    let optimum = higher_order(DELTA, 100.0);
    let mean_of = |interval: f64| {
        let times = (0..60).map(|seed| {
            let params = CheckpointRestartParams {
                seed: Filled::new(seed),
                interval: Some(Time::from_seconds(interval)),
                ..params()
            };
            run(1, &params).end_s
        });
        times.sum::<f64>() / 60.0
    };
    let best = mean_of(optimum);
    for factor in [0.25, 0.5, 2.0, 4.0] {
        let interval = factor * optimum;
        let (mean, expected) = (
            mean_of(interval),
            expected_time(1_000.0, interval, DELTA, 5.0 + DELTA, 100.0),
        );
        assert!((mean / expected - 1.0).abs() < 0.05, "{factor}: {mean} {expected}");
        assert!(mean > best, "{factor}: {mean} {best}");
    }
}

#[test]
fn a_restart_reads_the_last_complete_checkpoint() {
    let run = run(2, &params());
    assert!(count(&run, reports::RESTART) > 3);
    // Checkpoint n is file n mod 2 of each rank: 2 (n mod 2) + rank.
    let mut complete = 0u64;
    let mut expected = Vec::new();
    for &(report, ..) in &run.reports {
        match report {
            reports::CHECKPOINT => complete += 1,
            reports::RESTART if complete > 0 => {
                expected.extend([[2 * (complete % 2); 2], [2 * (complete % 2) + 1; 2]].concat())
            }
            _ => {}
        }
    }
    let mut whole = run.read.clone();
    // Includes reads cut short by a failure.
    assert!(whole.len() >= expected.len());
    whole.dedup();
    assert!(count(&run, reports::LOST_RESTART) > 0 || run.read.len() == expected.len());
}

/// Lost work is repeated: time = work + checkpoints + lost work, of failures and of lost checkpoints, + lost
/// checkpoints + restarts + lost restarts.
#[test]
fn a_restart_uses_the_checkpoint_before_the_lost_one() {
    let mut went_back = [0; 2];
    for seed in 0..40 {
        let ranks = 1 + seed as u32 % 7;
        let params = CheckpointRestartParams {
            seed: Filled::new(seed),
            ..params()
        };
        // One of the last rank's two files is lost half of the time, or both are.
        let both = seed % 2 == 0;
        let file = |number: u64| number * u64::from(ranks) + u64::from(ranks) - 1;
        let run = run_where(ranks, &params, |_, read, at| {
            at.seconds() < 600.0 && (read == file(0) || (both && read == file(1)))
        });
        assert_eq!(run.failure, None, "seed {seed}");
        let parts = [
            reports::SOLUTION,
            reports::CHECKPOINT,
            reports::FAILURE,
            reports::UNREADABLE,
            reports::LOST_CHECKPOINT,
            reports::RESTART,
            reports::LOST_RESTART,
        ];
        let total: f64 = parts.into_iter().map(|part| sum(&run, part)).sum();
        assert!((total - run.end_s).abs() < 1e-3, "seed {seed}: {total} {}", run.end_s);
        went_back[usize::from(both)] += count(&run, reports::UNREADABLE);
        // The work in the previous checkpoint, with an interval of 20 s; or all completed work, if that checkpoint is
        // lost or overwritten as well.
        let one = run.reports.iter().filter(|r| r.0 == reports::UNREADABLE && r.1 == 20.0);
        assert!(
            both || one.count() > 0 || count(&run, reports::UNREADABLE) == 0,
            "seed {seed}"
        );
    }
    assert!(went_back.iter().all(|&times| times > 20), "{went_back:?}");
}

#[test]
fn a_job_whose_checkpoints_are_all_lost_begins_anew() {
    let mut unreadable = 0;
    for seed in 0..10 {
        let params = CheckpointRestartParams {
            work: Time::from_seconds(130.0),
            seed: Filled::new(seed),
            ..params()
        };
        let run = run_where(3, &params, |_, _, _| true);
        let mut safe = 0.0;
        for &(report, value, _) in &run.reports {
            match report {
                reports::CHECKPOINT => safe += 20.0,
                // Whether the previous checkpoint exists does not matter: it is lost, too.
                reports::UNREADABLE => safe -= value,
                reports::RESTART => assert_eq!(safe, 0.0, "seed {seed}"),
                _ => {}
            }
        }
        unreadable += count(&run, reports::UNREADABLE);
        assert_eq!(count(&run, reports::SOLUTION), 1);
    }
    assert!(unreadable > 5, "{unreadable}");
}

#[test]
fn the_interval_follows_from_the_first_checkpoint() {
    let measured = CheckpointRestartParams {
        interval: None,
        ..params()
    };
    let given = CheckpointRestartParams {
        checkpoint_time: Some(Time::from_seconds(DELTA)),
        ..measured.clone()
    };
    let of = |params: &CheckpointRestartParams| {
        let run = run(3, params);
        (sum(&run, reports::INTERVAL), count(&run, reports::INTERVAL))
    };
    let expected = higher_order(DELTA, 100.0);
    for params in [&measured, &given] {
        let (interval, times) = of(params);
        assert_eq!(times, 1);
        assert!((interval / expected - 1.0).abs() < 1e-3, "{interval} {expected}");
    }
    let first = CheckpointRestartParams {
        optimum: Optimum::FirstOrder,
        ..given
    };
    let (interval, _) = of(&first);
    assert!((interval / first_order(DELTA, 100.0) - 1.0).abs() < 1e-9);
}

#[test]
fn a_job_that_gets_nowhere_gives_up() {
    let params = CheckpointRestartParams {
        mtti: Time::from_seconds(1.0),
        most_failures: 50,
        ..params()
    };
    let run = run(2, &params);
    let why = run.failure.expect("it fails");
    assert!(why.starts_with("the job gives up after 51 failures, with 0 "), "{why}");
}

#[test]
fn parameters_out_of_range_are_named() {
    let refused = |change: &dyn Fn(&mut CheckpointRestartParams)| {
        let mut params = params();
        change(&mut params);
        params.resolve("c", 4).unwrap_err().key
    };
    assert_eq!(refused(&|p| p.work = Time::ZERO), "c.work");
    assert_eq!(refused(&|p| p.mtti = Time(5)), "c.mtti");
    assert_eq!(refused(&|p| p.record = Bytes(0)), "c.record");
    assert_eq!(refused(&|p| p.interval = Some(Time::ZERO)), "c.interval");
    assert_eq!(refused(&|p| p.checkpoint_time = Some(Time(3))), "c.checkpoint_time");
    assert!(CheckpointRestart::new(0, params()).is_err());
}

//! Operations per second of CPU time of GOAL schedules under the LogGOPS model.
//!
//! ```text
//! cargo run --release -p odonata-goal --example goal_speed
//! ```
//!
//! Each schedule is simulated three times; the fastest counts. Making the schedule is excluded.

#![allow(clippy::print_stdout)]

use odonata_goal::loggops::simulate;
use odonata_goal::schedule::{RankSchedule, Schedule, Task, TaskKind};
use odonata_units::{PerByte, Time};
use odonata_workload::LogGops;
use std::time::{Duration, Instant};

const ROUNDS: u32 = 3;

/// CPU time of this thread, if available (Linux); otherwise the wall time since `start`.
fn now(start: Instant) -> Duration {
    let statistics = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanoseconds = statistics.and_then(|text| text.split_whitespace().next()?.parse().ok());
    nanoseconds.map_or_else(|| start.elapsed(), Duration::from_nanos)
}

/// The parameters of LogGOPSim's README.
fn params() -> LogGops {
    LogGops {
        latency: Time::from_ns(2_500),
        send_overhead: Time::from_ns(1_500),
        recv_overhead: Time::from_ns(1_500),
        gap: Time::from_ns(1_000),
        gap_per_byte: PerByte(6_000.0),
        overhead_per_byte: PerByte(0.0),
        eager_threshold: 65_535,
    }
}

fn task(kind: TaskKind, peer: u32, tag: u32) -> Task {
    Task {
        kind,
        peer,
        tag,
        size: 8,
        cpu: 0,
        nic: 0,
    }
}

/// Round k: each rank sends to the rank 2^k above it and receives from the one 2^k below; the rounds follow each other.
fn dissemination(ranks: u32) -> Schedule {
    let rank = |rank: u32| {
        let rounds = ranks.ilog2();
        let tasks = (0..rounds).flat_map(|round| {
            let distance = 1 << round;
            let to = (rank + distance) % ranks;
            let from = (rank + ranks - distance) % ranks;
            [task(TaskKind::Send, to, round), task(TaskKind::Recv, from, round)]
        });
        let after = |round: u32| [0, 1].map(|one| [0, 1].map(|other| (2 * round + one, 2 * round + 2 + other)));
        let edges: Vec<_> = (0..rounds - 1).flat_map(|round| after(round).concat()).collect();
        RankSchedule::new(tasks.collect(), &edges, &[]).expect("rounds are acyclic")
    };
    Schedule::new((0..ranks).map(rank).collect())
}

/// Each rank sends to all others and receives from all others, all at once.
fn all_to_all(ranks: u32) -> Schedule {
    let rank = |rank: u32| {
        let others = (1..ranks).map(|distance| (rank + distance) % ranks);
        let tasks = others.flat_map(|other| [task(TaskKind::Send, other, 0), task(TaskKind::Recv, other, 0)]);
        RankSchedule::new(tasks.collect(), &[], &[]).expect("a schedule without edges is acyclic")
    };
    Schedule::new((0..ranks).map(rank).collect())
}

fn row(name: &str, schedule: &Schedule) {
    let start = Instant::now();
    let operations: usize = schedule.ranks().iter().map(|rank| rank.tasks().len()).sum();
    let mut best = f64::INFINITY;
    let mut end = Time::ZERO;
    for _ in 0..ROUNDS {
        let begin = now(start);
        let outcome = simulate(schedule, &params(), 1.0, &|| false).expect("nothing stops it");
        best = best.min((now(start) - begin).as_secs_f64());
        end = outcome.ranks.iter().map(|rank| rank.end).max().unwrap_or(Time::ZERO);
    }
    println!(
        "{name:16} {:7} {operations:10} {best:8.2} {:8.2}   ends at {} ns",
        schedule.ranks().len(),
        operations as f64 / best / 1e6,
        end.0 / 1000
    );
}

fn main() {
    println!(
        "{:16} {:>7} {:>10} {:>8} {:>8}",
        "schedule", "ranks", "operations", "CPU s", "M/s"
    );
    row("dissemination", &dissemination(4_096));
    row("dissemination", &dissemination(65_536));
    row("all-to-all", &all_to_all(128));
    row("all-to-all", &all_to_all(256));
    if std::env::args().any(|argument| argument == "--large") {
        row("all-to-all", &all_to_all(512));
        row("all-to-all", &all_to_all(2_240));
    }
}

//! Benchmark of the schedulers on the toy model of the tests.
//!
//! `cargo bench -p odonata-engine -- [--once|--best] [NAME]` runs the cases whose name contains NAME. Each line is the
//! median (by wall time) of five runs; `--once` runs each case once, for a profiler; `--best` reports the fastest of
//! many runs of a tenth of the length, for shared machines. Wall time and CPU time are both shown: waiting threads cost
//! only wall time.
//!
//! The toy does about 100 ns of work per event; its parts are stretches of a ring of districts. The lookahead sets the
//! window length. Nearly empty windows show the cost of an empty round.

#![allow(clippy::print_stdout)]

#[path = "../tests/toy/mod.rs"]
mod toy;

use cpu_time::ProcessTime;
use odonata_engine::{Figures, Optimism, Options, Parallel, Partition, Scheduler, Sequential, SingleProcess, Time};
use std::sync::Arc;
use std::time::Instant;
use toy::{Params, SMALLEST, Toy};

/// The toy, its division, and the number of threads (none: the sequential scheduler).
#[derive(Clone, Copy)]
struct Case {
    lps: u32,
    /// Jobs per LP.
    jobs: u32,
    lookahead_ns: u64,
    parts: u32,
    threads: usize,
    /// Events that a part may handle in a round beyond its window, if any.
    speculation: Option<u32>,
    /// Measured simulated time, after a tenth of it to warm up.
    simulated_us: u64,
}

/// The cost of a run.
struct Taken {
    wall_s: f64,
    cpu_s: f64,
    events: u64,
    rounds: u64,
    figures: Figures,
}

impl Case {
    fn name(&self) -> String {
        let Case {
            lps,
            jobs,
            lookahead_ns,
            parts,
            threads,
            speculation,
            ..
        } = self;
        let how = match (threads, speculation) {
            (0, _) => "sequential".into(),
            (_, None) => format!("{parts} parts, {threads} threads"),
            (_, Some(speculation)) => format!("{parts} parts, {threads} threads, optimistic {speculation}"),
        };
        format!("{lps} LPs, {jobs} jobs, {lookahead_ns} ns, {how}")
    }

    fn params(&self) -> Params {
        Params {
            lps: self.lps,
            district: (self.lps / 64).max(1),
            near: Time::from_ns(self.lookahead_ns),
            far: Time::ZERO,
            reach: 1,
            jobs: self.jobs,
            visits: u32::MAX,
            mean: Time::from_ns(600),
            grain: Time(1),
            remote: 0.3,
            paying: 0.5,
            purse: 8,
            service: Time::from_ns(20),
            work: 20,
            ..SMALLEST
        }
    }

    fn build(&self) -> Box<dyn Scheduler<Toy>> {
        let params = self.params();
        if self.threads == 0 {
            let whole = toy::divide(&params, &Partition::whole(self.lps)).remove(0);
            return Box::new(Sequential::new(whole));
        }
        let bound = |part: u32| (u64::from(self.lps) * u64::from(part) / u64::from(self.parts)) as u32;
        let partition = Arc::new(params.partition((0..=self.parts).map(bound).collect()));
        let parts = toy::divide(&params, &partition);
        let optimism = self.speculation.map(|events_per_round| Optimism {
            events_per_round,
            journal: 1 << 28,
        });
        let threads = self.threads;
        let run = Parallel::new(
            parts,
            partition,
            0,
            Options {
                optimism,
                ..Options::conservative(threads)
            },
            Box::new(SingleProcess),
        );
        Box::new(run.expect("parts made for the partition"))
    }

    fn run(&self) -> Taken {
        let mut run = self.build();
        let warm = self.simulated_us / 10;
        run.run(Time::from_ns(warm * 1_000), u64::MAX);
        let before = run.figures();
        let (wall, cpu) = (Instant::now(), ProcessTime::now());
        run.run(Time::from_ns((warm + self.simulated_us) * 1_000), u64::MAX);
        let figures = run.figures();
        Taken {
            wall_s: wall.elapsed().as_secs_f64(),
            cpu_s: cpu.elapsed().as_secs_f64(),
            events: figures.events - before.events,
            rounds: figures.rounds - before.rounds,
            figures,
        }
    }
}

fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    let mut add = |lps, jobs, lookahead_ns, simulated_us, divisions: &[(u32, usize)]| {
        for &(parts, threads) in divisions {
            let speculation: &[Option<u32>] = match (threads, parts) {
                (1.., 2..) => &[None, Some(64), Some(256), Some(1_024)],
                _ => &[None],
            };
            cases.extend(speculation.iter().map(|&speculation| Case {
                lps,
                jobs,
                lookahead_ns,
                parts,
                threads,
                speculation,
                simulated_us,
            }));
        }
    };
    for lookahead_ns in [30, 100, 300, 1_000] {
        let divisions = [(1, 0), (1, 1), (2, 1), (2, 2), (8, 1), (8, 2), (8, 4), (32, 1), (32, 2)];
        add(1_024, 4, lookahead_ns, 300, &divisions);
    }
    // Nearly empty windows.
    add(64, 1, 30, 5_000, &[(1, 0), (2, 1), (2, 2), (64, 1), (64, 2)]);
    // Larger than the caches.
    add(
        200_000,
        4,
        300,
        3,
        &[(1, 0), (1, 1), (16, 1), (64, 1), (500, 1), (64, 2), (500, 2)],
    );
    cases
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).filter(|arg| arg != "--bench").collect();
    let option = |name: &str| args.iter().any(|arg| arg == name);
    let (runs, shown, shorter) = match () {
        () if option("--once") => (1, 0, 1),
        () if option("--best") => (150, 0, 10),
        () => (5, 2, 1),
    };
    let wanted = args
        .iter()
        .find(|arg| !arg.starts_with("--"))
        .cloned()
        .unwrap_or_default();
    println!(
        "{:46} {:>7} {:>7} {:>8} {:>9} {:>8} {:>8} {:>7} {:>6}",
        "case", "wall s", "CPU s", "ns/event", "rounds/s", "us/round", "ev/win", "stolen", "waits"
    );
    for mut case in cases().into_iter().filter(|case| case.name().contains(&wanted)) {
        case.simulated_us /= shorter;
        let mut taken: Vec<Taken> = (0..runs).map(|_| case.run()).collect();
        taken.sort_by(|a, b| a.wall_s.total_cmp(&b.wall_s));
        let taken = taken.swap_remove(shown);
        let Taken {
            wall_s,
            cpu_s,
            rounds,
            figures,
            ..
        } = &taken;
        println!(
            "{:46} {wall_s:7.3} {cpu_s:7.3} {:8.1} {:9.0} {:8.2} {:8.1} {:6.1}% {:5.1}%",
            case.name(),
            cpu_s * 1e9 / taken.events as f64,
            *rounds as f64 / wall_s,
            if *rounds > 0 {
                wall_s * 1e6 / *rounds as f64
            } else {
                0.0
            },
            figures.events_per_window(),
            100.0 * figures.stolen as f64 / figures.windows.max(1) as f64,
            100.0 * figures.waiting,
        );
    }
}

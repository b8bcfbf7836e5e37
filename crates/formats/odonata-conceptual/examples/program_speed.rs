//! Operations per second of CPU time: coNCePTuaL programs, and the equivalent skeletons.
//!
//! ```text
//! cargo run --release -p odonata-conceptual --example program_speed
//! ```
//!
//! Every rank is walked from its first operation to its last, one rank after the other, five times in turn; the fastest
//! counts. Parsing is excluded; matching of tasks is included.

#![allow(clippy::print_stdout)]

use std::path::Path;
use std::time::{Duration, Instant};

use odonata_conceptual::Conceptual;
use odonata_workload::skeletons::*;
use odonata_workload::{Program, operations};

const ROUNDS: u32 = 5;

/// CPU time of this thread, if available (Linux); otherwise the wall time since `start`.
fn now(start: Instant) -> Duration {
    let statistics = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanoseconds = statistics.and_then(|text| text.split_whitespace().next()?.parse().ok());
    nanoseconds.map_or_else(|| start.elapsed(), Duration::from_nanos)
}

/// Operations of all ranks, and millions per second.
fn speed(make: &dyn Fn() -> Box<dyn Program>) -> (u64, f64) {
    let start = Instant::now();
    let mut best = f64::INFINITY;
    let mut count = 0;
    for _ in 0..ROUNDS {
        let program = make();
        let begin = now(start);
        count = 0;
        for rank in 0..program.ranks() {
            for op in operations(&*program, rank) {
                std::hint::black_box(op);
                count += 1;
            }
        }
        best = best.min((now(start) - begin).as_secs_f64());
    }
    (count, count as f64 / best / 1e6)
}

fn conceptual(name: &str, tasks: u32, args: &[&str]) -> Box<dyn Program> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../../programs")
        .join(name);
    let text = std::fs::read_to_string(&path).expect("a program of the library");
    let args: Vec<String> = args.iter().map(|&arg| arg.into()).collect();
    let program = Conceptual::parse(name, &text)
        .expect("a correct program")
        .program(tasks, &args, 1, &|_| Err("no files".into()));
    Box::new(program.expect("a program that can run"))
}

fn row(name: &str, tasks: u32, args: &[&str], native: Option<&dyn Fn() -> Box<dyn Program>>) {
    let (count, speed_of_program) = speed(&|| conceptual(name, tasks, args));
    match native.map(speed) {
        None => println!("{name:24} {tasks:7} {count:10} {speed_of_program:8.2}"),
        Some((same, speed_of_native)) => println!(
            "{name:24} {tasks:7} {count:10} {speed_of_program:8.2} {speed_of_native:8.2} {:6.2}   ({same} operations)",
            speed_of_program / speed_of_native
        ),
    }
}

fn main() {
    println!(
        "{:24} {:>7} {:>10} {:>8} {:>8} {:>6}",
        "program", "ranks", "operations", "M/s", "native", "ratio"
    );
    row(
        "milc.ncptl",
        300,
        &[],
        Some(&|| Box::new(Milc::new(300, MilcParams::default()).expect("the published case"))),
    );
    row(
        "nekbone.ncptl",
        300,
        &[],
        Some(&|| Box::new(Nekbone::new(300, NekboneParams::default()).expect("the published case"))),
    );
    row(
        "jacobi3d.ncptl",
        300,
        &[],
        Some(&|| Box::new(Stencil::new(300, StencilParams::default()).expect("the published case"))),
    );
    let checkpoints = || CheckpointParams {
        iterations: 300,
        ..CheckpointParams::default()
    };
    row(
        "checkpoint.ncptl",
        300,
        &["-i", "300"],
        Some(&|| Box::new(Checkpoint::new(300, checkpoints()).expect("many checkpoints"))),
    );
    let training = || CosmoFlowParams {
        iterations: 300,
        ..CosmoFlowParams::default()
    };
    row(
        "cosmoflow.ncptl",
        300,
        &["-i", "300"],
        Some(&|| Box::new(CosmoFlow::new(300, training()).expect("many steps"))),
    );
    row("nearest-neighbor.ncptl", 4_096, &[], None);
    row("halo2d.ncptl", 101_376, &[], None);
    row("lammps.ncptl", 2_048, &["-s", "2"], None);
    row("latency.ncptl", 2, &[], None);
    row("many-to-many.ncptl", 256, &["-i", "1000"], None);
    row("incast.ncptl", 100, &["-i", "1000"], None);
    row("spread.ncptl", 64, &["-i", "1000"], None);
    row("allreduce.ncptl", 256, &["-i", "1000"], None);
}

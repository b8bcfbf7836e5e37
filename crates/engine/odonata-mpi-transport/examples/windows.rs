//! What it costs processes to wait for each other after every window: the engine's toy under the conservative
//! scheduler, a part per process, with windows of several lengths.
//!
//! Usage: `mpirun -n 2 windows [REPETITIONS]`. Medians, as process 0 has them.

#![allow(clippy::print_stdout, reason = "a program for a terminal")]

#[path = "../../odonata-engine/tests/toy/mod.rs"]
#[allow(unused_imports, reason = "its tests use more of it")]
mod toy;

use odonata_engine::{Figures, Options, Parallel, Scheduler, Time, Transport};
use odonata_mpi_transport::Mpi;
use std::sync::Arc;
use std::time::Instant;
use toy::{Params, SMALLEST};

/// The toy with windows of `lookahead_ns`, in which all processes together have about `events`.
fn params(lookahead_ns: u64, events: u64) -> Params {
    let (lps, mean) = (256, 600);
    Params {
        lps,
        district: 4,
        near: Time::from_ns(lookahead_ns),
        far: Time::ZERO,
        reach: 32,
        jobs: (events * (mean + lookahead_ns / 6) / lookahead_ns / u64::from(lps)).max(1) as u32,
        visits: u32::MAX,
        mean: Time::from_ns(mean),
        remote: 0.15,
        paying: 0.5,
        purse: 8,
        service: Time::from_ns(20),
        work: 20,
        ..SMALLEST
    }
}

/// One run of some tenths of a second: its events and seconds after a tenth of it, and its figures.
fn run(params: &Params, simulated: Time) -> Result<(u64, f64, Figures), String> {
    let mpi = Mpi::connect()?;
    let (rank, size) = (mpi.rank(), mpi.size());
    let bounds = (0..=size).map(|process| params.lps * process as u32 / size as u32);
    let partition = Arc::new(params.partition(bounds.collect()));
    let own = toy::divide(params, &partition).remove(rank);
    let mut run = Parallel::new(vec![own], partition, rank, Options::conservative(1), Box::new(mpi))?;
    run.run(Time(simulated.0 / 10), u64::MAX);
    let (begin, events) = (Instant::now(), run.events());
    run.run(simulated, u64::MAX);
    Ok((run.events() - events, begin.elapsed().as_secs_f64(), run.figures()))
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn main() -> Result<(), String> {
    let repetitions = std::env::args().nth(1).map_or(Ok(5), |text| text.parse::<usize>());
    let repetitions = repetitions.map_err(|_| "how many repetitions?")?.max(1);
    let mpi = Mpi::connect()?;
    let (rank, size) = (mpi.rank(), mpi.size());
    if rank == 0 {
        println!("{}, {size} processes", odonata_mpi_transport::library());
        println!("window   its events    us per event here   share of it waiting");
    }
    for (lookahead_ns, events) in [
        (1, 3),
        (2, 6),
        (5, 12),
        (20, 24),
        (75, 80),
        (75, 320),
        (300, 320),
        (300, 7_800),
    ] {
        let params = params(lookahead_ns, events);
        let simulated = Time::from_ns(1_500_000 * lookahead_ns / events);
        let (mut times, mut waiting, mut count) = (Vec::new(), Vec::new(), 0);
        for _ in 0..repetitions {
            let (events, seconds, figures) = run(&params, simulated)?;
            times.push(seconds * 1e6 / events as f64);
            waiting.push(figures.waiting);
            count = events;
        }
        if rank == 0 {
            let in_window = (count * size as u64 * lookahead_ns) as f64 * 1e3 / (simulated.0 as f64 * 0.9);
            let (time, waiting) = (median(times), median(waiting));
            println!("{lookahead_ns:>3} ns {in_window:>12.1} {time:>20.3} {waiting:>21.2}");
        }
    }
    odonata_mpi_transport::finish();
    Ok(())
}

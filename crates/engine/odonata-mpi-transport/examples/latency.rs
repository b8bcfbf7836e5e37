//! How long a round takes: exchanges of several sizes and a minimum, between all processes; and how much of the
//! cores is lost to waiting if the processes have different amounts of work.
//!
//! Usage: `mpirun -n 2 latency`. Times are means per round, in microseconds, of process 0.

#![allow(clippy::print_stdout, reason = "a program for a terminal")]

use odonata_engine::Transport;
use odonata_mpi_transport::Mpi;
use std::time::{Duration, Instant};

/// A round with `bytes` from everyone to everyone.
fn exchange(mpi: &mut Mpi, outgoing: &mut [Vec<u8>], incoming: &mut [Vec<u8>], bytes: usize) -> Result<(), String> {
    let rank = mpi.rank();
    for (to, buffer) in outgoing.iter_mut().enumerate() {
        buffer.resize(if to == rank { 0 } else { bytes }, 7);
    }
    mpi.exchange(outgoing, incoming)
}

/// Mean time of `rounds` calls, after a tenth as many that do not count.
fn measure(rounds: u32, mut round: impl FnMut() -> Result<(), String>) -> Result<Duration, String> {
    for _ in 0..rounds.div_ceil(10) {
        round()?;
    }
    let start = Instant::now();
    for _ in 0..rounds {
        round()?;
    }
    Ok(start.elapsed() / rounds)
}

/// Keeps the core busy for `work` of its own time: what others take meanwhile does not count.
fn compute(work: Duration, speed: f64) {
    let turns = (work.as_secs_f64() * speed) as u64;
    let mut state = 1u64;
    for _ in 0..turns {
        state = std::hint::black_box(state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1));
    }
}

fn main() -> Result<(), String> {
    let mut mpi = Mpi::connect()?;
    let (rank, size) = (mpi.rank(), mpi.size());
    let say = |what: &str, time: Duration| {
        if rank == 0 {
            println!("{what:<44} {:>9.2} us", time.as_secs_f64() * 1e6);
        }
    };
    if rank == 0 {
        println!("{}, {size} processes", odonata_mpi_transport::library());
    }
    let (mut outgoing, mut incoming) = (vec![Vec::new(); size], vec![Vec::new(); size]);
    for (name, bytes, rounds) in [
        ("exchange, empty", 0, 20_000),
        ("exchange, 1 KiB", 1 << 10, 20_000),
        ("exchange, 64 KiB", 1 << 16, 4_000),
        ("exchange, 1 MiB", 1 << 20, 400),
    ] {
        let time = measure(rounds, || exchange(&mut mpi, &mut outgoing, &mut incoming, bytes))?;
        say(name, time);
    }
    say(
        "minimum of 4 values",
        measure(20_000, || mpi.all_min(&mut [1, 2, 3, 4]))?,
    );

    // One process measures how fast it is while the others wait, and all use its speed.
    let mut speed = [u64::MAX];
    if rank == 0 {
        let start = Instant::now();
        compute(Duration::from_secs(1), 5e7);
        speed[0] = (5e7 / start.elapsed().as_secs_f64()) as u64;
    }
    mpi.all_min(&mut speed)?;
    for work in [20, 200, 2_000, 20_000].map(Duration::from_micros) {
        // In turn one process has twice the work of the others, as windows of a simulation have.
        let mut turn = 0;
        let rounds = (1_000_000 / work.as_micros()).clamp(60, 5_000) as u32;
        let time = measure(rounds, || {
            turn = (turn + 1) % size;
            compute(if turn == rank { 2 * work } else { work }, speed[0] as f64);
            exchange(&mut mpi, &mut outgoing, &mut incoming, 1 << 10)
        })?;
        say(&format!("{} us of work, one has twice that", work.as_micros()), time);
    }
    odonata_mpi_transport::finish();
    Ok(())
}

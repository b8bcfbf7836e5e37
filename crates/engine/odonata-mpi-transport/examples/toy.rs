//! The engine's toy model, run by several processes, gives what it gives in one.
//!
//! Usage: `mpirun -n N toy`. Every process runs every toy three times: with the sequential scheduler, with a parallel one
//! alone, and with the same one together with the others; of the last it compares its own parts.

#![allow(clippy::print_stdout, reason = "a program for a terminal")]

#[path = "../../odonata-engine/tests/toy/mod.rs"]
#[allow(unused_imports, reason = "its tests use more of it")]
mod toy;

use odonata_engine::random::Purpose;
use odonata_engine::{
    Optimism, Options, Parallel, Partition, Pause, Scheduler, Sequential, SingleProcess, Stream, Time, Transport,
};
use odonata_mpi_transport::Mpi;
use std::sync::Arc;
use toy::{Params, Toy};

/// Runs to the end in slices of about `budget` events; how it ended, and the parts.
fn finish(mut run: Box<dyn Scheduler<Toy>>, budget: u64) -> (Pause, Vec<Toy>) {
    loop {
        match run.run(Time::NEVER, budget) {
            Pause::Budget => {}
            pause => return (pause, run.into_parts()),
        }
    }
}

fn check(seed: u64, rank: usize, size: usize) -> Result<(), String> {
    let params = Params::random(seed);
    let mut random = Stream::new(seed, 0, Purpose::Arrival);
    let budget = [1, 30, 1_000, u64::MAX][random.below(4) as usize];
    let optimism = (random.below(2) == 0).then(|| Optimism {
        events_per_round: 1 + random.below(500),
        journal: 1 << 20,
    });
    let threads = 1 + random.below(2) as usize;
    let options = Options {
        optimism,
        ..Options::conservative(threads)
    };
    let count = (size + random.below(6) as usize).min(params.lps as usize);
    let partition = Arc::new(params.random_partition(count, seed));

    let whole = toy::divide(&params, &Partition::whole(params.lps)).remove(0);
    let expected = finish(Box::new(Sequential::new(whole)), u64::MAX);
    let all = toy::divide(&params, &partition);
    let alone = Parallel::new(all, partition.clone(), 0, options, Box::new(SingleProcess))?;
    let alone = finish(Box::new(alone), budget);
    if (&alone.0, toy::results(&alone.1)) != (&expected.0, toy::results(&expected.1)) {
        return Err(format!("toy {seed}: one process differs from the sequential scheduler"));
    }

    let processes = size.min(count);
    if processes < size {
        // A process without parts takes no part in a run.
        return Ok(());
    }
    let [first, end] = [rank, rank + 1].map(|rank| count * rank / processes);
    let own = toy::divide(&params, &partition).drain(first..end).collect();
    let together = Parallel::new(own, partition, first, options, Box::new(Mpi::connect()?))?;
    let together = finish(Box::new(together), budget);
    if (&together.0, toy::results(&together.1)) != (&expected.0, toy::results(&alone.1[first..end])) {
        return Err(format!(
            "toy {seed}: parts {first} to {end} of {count} differ on process {rank} of {size}"
        ));
    }
    Ok(())
}

fn main() -> Result<(), String> {
    let toys = 30;
    let mpi = Mpi::connect()?;
    let (rank, size) = (mpi.rank(), mpi.size());
    for seed in 0..toys {
        check(seed, rank, size)?;
    }
    odonata_mpi_transport::finish();
    if rank == 0 {
        println!(
            "{toys} toys: passed, {size} processes, {}",
            odonata_mpi_transport::library()
        );
    }
    Ok(())
}

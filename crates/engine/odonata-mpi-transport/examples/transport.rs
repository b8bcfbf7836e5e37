//! The transport on trial: to be started by `mpirun`, alone or several at a time; `tests/mpi` does.
//!
//! Usage: `mpirun -n N transport TRIAL [PROCESS]`. Trials that pass end with 0 and one line of process 0; those of
//! PROCESS end it in some bad way while all others wait for it.

#![allow(clippy::print_stdout, reason = "a program for a terminal")]

use odonata_engine::random::Purpose;
use odonata_engine::{Stream, Transport};
use odonata_mpi_transport::Mpi;
use odonata_mpi_transport::transport::HEAD;
use std::process::Command;
use std::time::Duration;

/// Bytes from `from` to `to` in round `round`: any number up to 3 MiB, often next to the size of a head.
fn message(round: u64, from: usize, to: usize) -> Vec<u8> {
    let mut random = Stream::new(round, (from << 20 | to) as u64, Purpose::Destination);
    let length = match random.below(8) {
        0 | 1 => 0,
        2 => 1 + random.below(16),
        3 => HEAD as u32 - 1 + random.below(3),
        4 | 5 => random.below(8_000),
        6 => random.below(1 << 18),
        _ => random.below(3 << 20) >> random.below(6),
    };
    let mut bytes = vec![0; length as usize];
    for word in bytes.chunks_mut(8) {
        word.copy_from_slice(&random.bits().to_le_bytes()[..word.len()]);
    }
    bytes
}

/// Rounds of random messages, each compared byte by byte with what the sender has sent, with minima in between.
fn exchanges(mpi: &mut Mpi, rounds: u64) -> Result<(), String> {
    let (rank, size) = (mpi.rank(), mpi.size());
    let (mut outgoing, mut incoming) = (vec![Vec::new(); size], vec![b"old".to_vec(); size]);
    for round in 0..rounds {
        for to in (0..size).filter(|&to| to != rank) {
            outgoing[to].extend(message(round, rank, to));
        }
        mpi.exchange(&mut outgoing, &mut incoming)?;
        for (from, bytes) in incoming.iter().enumerate() {
            let sent = if from == rank {
                Vec::new()
            } else {
                message(round, from, rank)
            };
            if *bytes != sent {
                return Err(format!(
                    "round {round}: process {rank} has {} bytes that are not the {} of process {from}",
                    bytes.len(),
                    sent.len()
                ));
            }
        }
        if outgoing.iter().any(|bytes| !bytes.is_empty()) {
            return Err(format!("round {round}: something is left to send"));
        }
        if round % 3 == 0 {
            minimum(mpi, round)?;
        }
    }
    Ok(())
}

/// A minimum of none to four values, compared with the value that every process can compute.
fn minimum(mpi: &mut Mpi, round: u64) -> Result<(), String> {
    let value = |process: usize, place: u64| {
        let owner = (process as u64) << 8 | place;
        Stream::new(round, owner, Purpose::Arrival).bits() >> (8 * place)
    };
    let places = 0..round % 5;
    let mut values: Vec<u64> = places.clone().map(|place| value(mpi.rank(), place)).collect();
    mpi.all_min(&mut values)?;
    let least = |place| (0..mpi.size()).map(|process| value(process, place)).min();
    let expected: Option<Vec<u64>> = places.map(least).collect();
    if Some(&values) != expected.as_ref() {
        return Err(format!("round {round}: minima {values:?}, not {expected:?}"));
    }
    Ok(())
}

/// One message of more bytes than an `i32` counts, from process 0 to process 1. Takes 2 GiB of each.
fn huge(mpi: &mut Mpi) -> Result<(), String> {
    let (rank, size, length) = (mpi.rank(), mpi.size(), (1usize << 31) + 12_345);
    let byte = |i: usize| (i ^ (i >> 13)) as u8;
    let (mut outgoing, mut incoming) = (vec![Vec::new(); size], vec![Vec::new(); size]);
    if rank == 0 {
        outgoing[1].extend((0..length).map(byte));
    }
    mpi.exchange(&mut outgoing, &mut incoming)?;
    let expected = if rank == 1 { length } else { 0 };
    let whole = incoming[0].len() == expected && incoming[0].iter().enumerate().all(|(i, &b)| b == byte(i));
    if whole {
        Ok(())
    } else {
        Err(format!("process {rank} has {} bytes", incoming[0].len()))
    }
}

/// What [`Transport`] refuses, without a word to the others.
fn refusals(mpi: &mut Mpi) -> Result<(), String> {
    let (rank, size) = (mpi.rank(), mpi.size());
    let (mut short, mut right) = (vec![Vec::new(); size + 1], vec![Vec::new(); size]);
    mpi.exchange(&mut short, &mut right).expect_err("a buffer too many");
    let mut own = right.clone();
    own[rank].push(1);
    mpi.exchange(&mut own, &mut right).expect_err("bytes for oneself");
    std::thread::scope(|scope| {
        let elsewhere = scope.spawn(|| mpi.all_min(&mut []));
        elsewhere.join().map_err(|_| "panic")?.expect_err("another thread");
        Ok::<_, &str>(())
    })?;
    let second = Mpi::connect()?;
    if (second.rank(), second.size()) != (rank, size) {
        return Err("a second connection differs".into());
    }
    exchanges(mpi, 5)
}

/// Process `who` does `what` after some rounds, while the others wait for its next message.
fn accident(mpi: &mut Mpi, who: usize, what: impl FnOnce()) -> Result<(), String> {
    exchanges(mpi, 10)?;
    if mpi.rank() == who {
        // Long enough for the others to have gone to sleep.
        std::thread::sleep(Duration::from_millis(200));
        what();
    }
    mpi.all_min(&mut [1])
}

fn main() -> Result<(), String> {
    let arguments: Vec<String> = std::env::args().collect();
    let trial = arguments.get(1).map_or("exchange", String::as_str);
    let who: usize = arguments
        .get(2)
        .map_or(Ok(0), |text| text.parse())
        .map_err(|_| "which process?")?;
    let mut mpi = Mpi::connect()?;
    match trial {
        "exchange" => exchanges(&mut mpi, 300)?,
        "pieces" => exchanges(&mut Mpi::connect()?.in_pieces_of(1_001), 100)?,
        "refusals" => refusals(&mut mpi)?,
        "huge" => huge(&mut mpi)?,
        "killed" => accident(&mut mpi, who, || {
            let process = std::process::id().to_string();
            let _ = Command::new("kill").args(["-KILL", &process]).status();
        })?,
        "panic" => accident(&mut mpi, who, || panic!("of the thread that runs"))?,
        "panic-worker" => accident(&mut mpi, who, || {
            let worker = std::thread::spawn(|| panic!("of a worker"));
            while !worker.is_finished() {}
            // Without the hook the run would hang here: the panic stays with the worker, and this thread waits.
            std::thread::sleep(Duration::from_secs(3_600));
        })?,
        "abort" => accident(&mut mpi, who, || odonata_mpi_transport::abort(3))?,
        "exit" => accident(&mut mpi, who, || std::process::exit(4))?,
        "vanish" => accident(&mut mpi, who, || std::process::exit(0))?,
        "out-of-step" => accident(&mut mpi, who, || {
            let mut mpi = Mpi::connect().expect("connected");
            let (mut outgoing, mut incoming) = (vec![Vec::new(); mpi.size()], vec![Vec::new(); mpi.size()]);
            mpi.exchange(&mut outgoing, &mut incoming).expect("an exchange");
        })?,
        _ => return Err(format!("no trial is called {trial}")),
    }
    let (rank, size) = (mpi.rank(), mpi.size());
    odonata_mpi_transport::finish();
    let after = mpi.all_min(&mut []);
    if after != Err("MPI has been ended".into()) {
        return Err(format!("after the end: {after:?}"));
    }
    if rank == 0 {
        println!(
            "{trial}: passed, {size} processes, {}",
            odonata_mpi_transport::library()
        );
    }
    Ok(())
}

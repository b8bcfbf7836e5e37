//! Runs a scenario once and prints the packet-hops and events of its simulation, for profiling tools.
//!
//! ```text
//! cargo run --release -p odonata-system --example packet_hops -- SCENARIO.toml [KEY=VALUE ...]
//! ```
//!
//! It writes no files and starts no Python: a profiler sees only the simulator.

#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::process::ExitCode;

use odonata_system::{Simulation, scenario};

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let Some(file) = arguments.next() else {
        eprintln!("usage: packet_hops SCENARIO.toml [KEY=VALUE ...]");
        return ExitCode::from(2);
    };
    let overrides: Vec<String> = arguments.collect();
    let text = match std::fs::read_to_string(&file) {
        Ok(text) => text,
        Err(error) => {
            eprintln!("{file}: {error}");
            return ExitCode::from(2);
        }
    };
    let made = scenario::load(&text, &file, &overrides, None, ".").and_then(Simulation::new);
    let mut simulation = match made {
        Ok(simulation) => simulation,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::from(2);
        }
    };
    simulation.advance_blindly();
    let results = simulation.finish(false);
    let progress = results.progress();
    println!(
        "{{\"outcome\": \"{}\", \"packet_hops\": {}, \"events\": {}}}",
        results.outcome().name(),
        progress.packet_hops,
        progress.events
    );
    ExitCode::SUCCESS
}

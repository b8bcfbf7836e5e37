//! Recorded programs, replayed.
//!
//! The traces are not part of the project: see the reader's tests (`dumpi_truth.rs` of the workload crate).

use odonata_system::{Outcome, Results, Simulation, scenario};
use std::path::PathBuf;
use std::time::Duration;

const DRAGONFLY: &str = "[machine.dragonfly]\ngroups = 9\nrouters_per_group = 4\nnodes_per_router = 2\n\
                         global_ports_per_router = 2\n[storage]\nnodes = { per_group = 1 }\n";
const TORUS: &str = "[machine.torus]\ndims = [4, 4, 4]\n[storage]\nnodes = { per_group = 1 }\n";
const DEVICE: &str = "device = { capacity = \"1 TB\", rate = { write = \"5 GB/s\", read = \"5 GB/s\", overhead = \"20 us\" } }\n";
const CHECKPOINT: &str = "[[jobs]]\nname = \"checkpoint\"\nranks = 16\n\
                          workload = { checkpoint = { iterations = 3, total = \"16 MB\", interval = \"1 ms\" } }\n";

/// The folders of the traces; none where there are none.
fn sets() -> Vec<PathBuf> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    let places = [
        std::env::var_os("ODONATA_TRACES").map(PathBuf::from),
        Some(root.join("../shared/traces/dumpi")),
    ];
    let mut found: Vec<PathBuf> = (places.into_iter().flatten())
        .filter_map(|place| std::fs::read_dir(place).ok())
        .flat_map(|folder| folder.filter_map(|entry| entry.ok().map(|entry| entry.path())))
        .filter(|path| path.join("ground-truth.json").exists())
        .collect();
    found.sort();
    if found.is_empty() {
        eprintln!("no reference traces here: nothing is replayed");
    }
    found
}

fn run(text: &str, overrides: &[&str]) -> Results {
    let overrides: Vec<String> = overrides.iter().map(|&text| text.to_owned()).collect();
    let scenario = scenario::load(text, "test.toml", &overrides, None, ".").unwrap_or_else(|error| panic!("{error}"));
    let mut simulation = Simulation::new(scenario).unwrap_or_else(|error| panic!("{error}"));
    while !simulation.advance(Duration::from_secs(1)).finished {}
    simulation.finish(false)
}

fn scenario_of(set: &std::path::Path, machine: &str, others: &str) -> String {
    format!(
        "{machine}{DEVICE}[[jobs]]\nname = \"traced\"\ntrace = {:?}\ncompute_scale = 0.01\n{others}",
        set.display().to_string()
    )
}

#[test]
fn look() {
    for set in sets() {
        for machine in [DRAGONFLY, TORUS] {
            for others in ["", CHECKPOINT] {
                let start = std::time::Instant::now();
                let results = run(&scenario_of(&set, machine, others), &[]);
                println!("{} {:?} {:?} {}", set.display(), results.outcome(), start.elapsed(), results.run_json()["detail"]);
            }
        }
    }
}

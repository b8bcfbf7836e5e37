//! Recorded programs, replayed.

#[path = "../../../../formats/odonata-dumpi/tests/reference_traces/mod.rs"]
mod reference_traces;

use crate::common::run;
use odonata_system::{Outcome, Results, Simulation, scenario};
use reference_traces::{our_set, our_sets, sets};
use std::time::Duration;

const DRAGONFLY: &str = "[machine.dragonfly]\ngroups = 9\nrouters_per_group = 4\nnodes_per_router = 2\n\
                         global_ports_per_router = 2\n[storage]\nnodes = { per_group = 1 }\n";
const TORUS: &str = "[machine.torus]\ndims = [4, 4, 4]\n[storage]\nnodes = { per_group = 1 }\n";
const DEVICE: &str =
    "device = { capacity = \"1 TB\", rate = { write = \"5 GB/s\", read = \"5 GB/s\", overhead = \"20 us\" } }\n";
const CHECKPOINT: &str = "[[jobs]]\nname = \"checkpoint\"\nranks = 16\n\
                          workload = { checkpoint = { iterations = 3, total = \"16 MB\", interval = \"1 ms\" } }\n";

fn scenario_of(set: &std::path::Path, machine: &str, others: &str) -> String {
    format!(
        "{machine}{DEVICE}[[jobs]]\nname = \"traced\"\ntrace = {:?}\ncompute_scale = 0.01\n{others}",
        set.display().to_string()
    )
}

/// A run of `text` that completes.
fn complete(text: &str, overrides: &[&str]) -> Results {
    let results = run(text, overrides);
    assert_eq!(results.outcome(), &Outcome::Completed, "{text} {overrides:?}");
    results
}

#[test]
fn every_trace_is_replayed_to_its_end_alone_and_beside_others() {
    for set in sets() {
        let truth = std::fs::read_to_string(set.join("ground-truth.json")).unwrap();
        let truth: serde_json::Value = serde_json::from_str(&truth).unwrap();
        for machine in [DRAGONFLY, TORUS] {
            for others in ["", CHECKPOINT] {
                let results = complete(&scenario_of(&set, machine, others), &[]);
                let job = &results.rows().jobs[0];
                assert_eq!(job.ranks, truth["nranks"].as_u64().unwrap());
                let moved = |kind: &str| -> u64 {
                    let ranks = truth["ranks"].as_array().unwrap();
                    let calls = ranks.iter().flat_map(|rank| rank["mpiio"].as_object().unwrap());
                    let ours = calls.filter(|(name, _)| name.contains(kind));
                    ours.map(|(_, calls)| calls["bytes"].as_u64().unwrap()).sum()
                };
                assert_eq!(
                    (job.bytes_written, job.bytes_read),
                    (moved("write"), moved("read")),
                    "{}",
                    set.display()
                );
            }
        }
    }
}

#[test]
fn a_replay_does_not_depend_on_the_scheduler() {
    // Real traces: as many as take a few seconds.
    let real = [
        "lammps-melt-8",
        "petsc-amg-12",
        "mpiio-6",
        "scalapack-lu-8",
        "sst-testbgp-7",
    ];
    let ours = our_sets();
    let chosen = |set: &std::path::PathBuf| ours.contains(set) || real.iter().any(|name| set.ends_with(name));
    for set in sets().into_iter().filter(chosen) {
        let text = scenario_of(&set, DRAGONFLY, CHECKPOINT);
        let adaptive = "network.routing.algorithm=\"progressive-adaptive\"";
        let digest = |how: &[&str]| complete(&text, &[&[adaptive], how].concat()).digest().to_owned();
        let sequential = digest(&["run.scheduler=\"sequential\""]);
        for scheduler in ["conservative", "optimistic"] {
            let scheduler = format!("run.scheduler={scheduler:?}");
            for (threads, parts) in [("run.threads=1", "run.parts=5"), ("run.threads=2", "run.parts=9")] {
                assert_eq!(
                    digest(&[&scheduler, threads, parts]),
                    sequential,
                    "{}: {scheduler} {threads} {parts}",
                    set.display()
                );
            }
        }
    }
}

#[test]
fn a_saved_replay_resumes_at_its_position() {
    for name in ["halo-8", "solver-7", "files-6"] {
        let text =
            scenario_of(&our_set(name), DRAGONFLY, CHECKPOINT).replace("compute_scale", "repeat = 300\ncompute_scale");
        let load = || scenario::load(&text, "test.toml", &[], None, ".").unwrap();
        let whole = complete(&text, &[]).digest().to_owned();
        let file = std::env::temp_dir().join(format!("odonata-traces-{}.snapshot", std::process::id()));
        let mut simulation = Simulation::new(load()).unwrap();
        let mut slices = 0;
        // The shortest possible slices: some 65,000 events.
        while !simulation.advance(Duration::ZERO).finished {
            slices += 1;
            if slices == 3 {
                simulation.save_to(&file).unwrap();
            }
        }
        assert!(slices > 3, "{name}: the run is longer than what is saved");
        assert_eq!(simulation.finish(false).digest(), whole, "{name}");
        let mut resumed = Simulation::resume(load(), &file).unwrap_or_else(|error| panic!("{error}"));
        while !resumed.advance(Duration::from_secs(1)).finished {}
        assert_eq!(resumed.finish(false).digest(), whole, "{name}");
        std::fs::remove_file(&file).unwrap();
    }
}

#[test]
fn a_replay_completes_with_rendezvous_and_without_a_progress_thread() {
    for set in sets() {
        let text = scenario_of(&set, DRAGONFLY, "");
        complete(&text, &["mpi.eager_threshold=\"4 KiB\"", "mpi.progress=\"in-calls\""]);
    }
}

#[test]
fn a_trace_can_be_repeated_and_its_times_scaled() {
    for set in ["solver-7", "files-6"].map(our_set) {
        let text = scenario_of(&set, DRAGONFLY, "");
        let [once, thrice] = ["jobs.0.repeat=1", "jobs.0.repeat=3"].map(|repeat| complete(&text, &[repeat]));
        let sums = |results: &Results| {
            let job = &results.rows().jobs[0];
            (job.bytes_sent, job.bytes_written, job.bytes_read)
        };
        let (sent, written, read) = sums(&once);
        assert_eq!(sums(&thrice), (3 * sent, 3 * written, 3 * read));
        let compute = |results: &Results| results.rows().ranks.iter().map(|rank| rank.compute_s).sum::<f64>();
        let tenfold = complete(&text, &["jobs.0.compute_scale=0.1"]);
        // Every time is rounded to a picosecond.
        assert!((compute(&tenfold) / compute(&once) - 10.0).abs() < 1e-4);
        assert!((compute(&thrice) / compute(&once) - 3.0).abs() < 1e-9);
    }
}

#[test]
fn keys_that_do_not_fit_a_trace_are_errors() {
    let text = |job: &str| format!("{DRAGONFLY}{DEVICE}[[jobs]]\n{job}\n");
    let error = |job: &str| {
        let loaded = scenario::load(&text(job), "test.toml", &[], None, ".");
        loaded.map(|_| ()).unwrap_err().to_string()
    };
    assert!(error("trace = \"nowhere\"").contains("jobs.0.trace: ./nowhere: cannot be read"));
    assert!(error("ranks = 2\nworkload = { milc = {} }\ncompute_scale = 2.0").contains("jobs.0.compute_scale"));
    assert!(error("ranks = 2").contains("exactly one of the keys workload, program, python and trace"));
    assert!(error("workload = { milc = {} }").contains("\"ranks\" is missing"));
    let path = our_set("files-6").display().to_string();
    assert!(error(&format!("trace = {path:?}\nranks = 7")).contains("the trace has 6"));
    assert!(error(&format!("trace = {path:?}\ncompute_scale = -1.0")).contains("0 to 1000000"));
    assert!(error(&format!("trace = {path:?}\nworkload = {{ milc = {{}} }}")).contains("exactly one"));
    let bare = format!("[machine.torus]\ndims = [4, 4]\n[[jobs]]\ntrace = {path:?}\n");
    let refused = scenario::load(&bare, "test.toml", &[], None, ".")
        .map(|_| ())
        .unwrap_err();
    assert!(refused.to_string().contains("no servers"));
}

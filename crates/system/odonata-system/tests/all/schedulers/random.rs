//! Random small scenarios, each under schedulers, threads and parts drawn at random, and twice on the same threads.
//!
//! `ODONATA_RANDOM_SCENARIOS` sets how many, or which (`FROM..TO`), instead of the sample that every run of the tests
//! takes; for those about storage alone, `ODONATA_RANDOM_STORAGE`.

mod author;
mod jobs;
mod machines;
mod network;
mod storage;

use super::shared::shared;
use super::{ALL, ONE_QUEUE, assert_same, results};
use author::Author;
use std::ops::Range;

/// Takes ten seconds on one core.
const SAMPLE: Range<u64> = 0..100;

/// Takes another half a minute.
const MORE: Range<u64> = 100..400;

/// Sample of the scenarios about storage.
const STORAGE_SAMPLE: Range<u64> = 0..60;

fn chosen(variable: &str, sample: Range<u64>) -> Range<u64> {
    let Ok(text) = std::env::var(variable) else {
        return sample;
    };
    let (from, to) = text.split_once("..").unwrap_or(("0", &text));
    let number = |text: &str| text.parse().expect("a number, or FROM..TO");
    number(from)..number(to)
}

/// Prints the scenario that fails, in whatever way it fails.
struct OnPanic(String);

impl Drop for OnPanic {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("{}", self.0);
        }
    }
}

/// Compares the scenario of `seed` under drawn schedules with a single queue. Returns whether it ran to its end.
fn assert_equal_of(seed: u64) -> bool {
    let mut author = Author::new(seed);
    let text = author.scenario();
    let _context = OnPanic(format!("seed {seed}:\n{text}"));
    let reference = results(&text, &ONE_QUEUE);
    let threads = author.threads();
    // The order of work on threads differs from run to run.
    for how in [author.schedule(), threads.clone(), threads] {
        let _context = OnPanic(format!("{how:?}"));
        let overrides: Vec<&str> = how.iter().map(String::as_str).collect();
        let got = match author.chance(5) && !how[0].contains("sequential") {
            true => shared(&text, &how, 2),
            false => results(&text, &overrides),
        };
        assert_same(&got, &reference);
    }
    reference.outcome().name() == "completed"
}

#[test]
fn random_scenarios_have_the_same_results_everywhere() {
    assert_equal_of_all(chosen("ODONATA_RANDOM_SCENARIOS", SAMPLE));
}

#[test]
#[ignore = "takes long"]
fn more_random_scenarios_have_the_same_results_everywhere() {
    assert_equal_of_all(MORE);
}

fn assert_equal_of_all(seeds: Range<u64>) {
    let count = seeds.end - seeds.start;
    let completed = seeds.filter(|&seed| assert_equal_of(seed)).count() as u64;
    assert!(
        completed * 10 >= count * 7,
        "only {completed} of {count} scenarios ran to their end"
    );
}

/// Checks that every scheduler gives the same results for the scenario of `seed`, and returns how it ended. For a
/// completed run, it was checked that every committed byte is in exactly one place and that all waits are charged.
fn storage_outcome(seed: u64) -> String {
    let mut author = Author::new(seed);
    let text = author.storage_scenario();
    let _context = OnPanic(format!("storage seed {seed}:\n{text}"));
    let reference = results(&text, &ONE_QUEUE);
    for scheduler in ALL {
        let threads = if scheduler == "sequential" { 1 } else { 2 };
        let how = [
            format!("run.scheduler={scheduler:?}"),
            format!("run.threads={threads}"),
            format!("run.parts={}", 2 + author.below(5)),
        ];
        let _context = OnPanic(format!("{how:?}"));
        let overrides: Vec<&str> = how.iter().map(String::as_str).collect();
        let got = results(&text, &overrides);
        assert_same(&got, &reference);
    }
    reference.outcome().name().to_owned()
}

#[test]
fn random_storage_has_the_same_results_everywhere_and_adds_up() {
    let seeds = chosen("ODONATA_RANDOM_STORAGE", STORAGE_SAMPLE);
    let count = seeds.end - seeds.start;
    let mut completed = 0;
    for seed in seeds {
        match storage_outcome(seed).as_str() {
            "completed" => completed += 1,
            outcome => assert!(
                ["storage-failed", "storage-full"].contains(&outcome),
                "seed {seed} ended as {outcome}"
            ),
        }
    }
    assert!(completed * 2 >= count, "only {completed} of {count} ran to their end");
}

//! Runs that several processes share; in these tests they are threads, each of which has only its own parts.

use super::{MACHINE, MIX, PARALLEL, RULES, TIES, results, tables};
use crate::crowd::{of_first, together};
use odonata_system::{Outcome, Results, Simulation, scenario};
use std::time::Duration;

/// The results of the first of `processes` processes.
pub(super) fn shared(text: &str, overrides: &[String], processes: usize) -> Results {
    of_first(together(processes, |_, others| {
        let scenario = scenario::load(text, "test.toml", overrides, None, ".").unwrap();
        let mut simulation = Simulation::shared(scenario, others).unwrap();
        while !simulation.advance(Duration::from_millis(1)).finished {}
        simulation.finish_shared(false).unwrap()
    }))
}

fn assert_equal_when_shared(text: &str, more: &[&str], outcome: &Outcome) {
    let text = format!("{text}\n{MACHINE}");
    let reference = results(&text, &[more, &super::ONE_QUEUE].concat());
    assert_eq!(reference.outcome(), outcome);
    let divisions = [(2, 1, 2), (2, 2, 7), (3, 1, 9), (3, 2, 36)];
    for (scheduler, (processes, threads, parts)) in PARALLEL.into_iter().flat_map(|one| divisions.map(|how| (one, how)))
    {
        let how = [
            format!("run.scheduler={scheduler:?}"),
            format!("run.threads={threads}"),
            format!("run.parts={parts}"),
        ];
        let overrides: Vec<String> = more.iter().map(|&o| o.to_owned()).chain(how).collect();
        let got = shared(&text, &overrides, processes);
        let context = format!("{processes} processes, {overrides:?}");
        assert_eq!(got.outcome(), outcome, "{context}");
        assert_eq!(got.run_json()["detail"], reference.run_json()["detail"], "{context}");
        assert_eq!(got.digest(), reference.digest(), "{context}");
        assert!(tables(&got) == tables(&reference), "{context}: other tables");
        assert_eq!(got.run_json()["processes"], processes, "{context}");
    }
}

/// Rates are kept by the process that has the first router, which also reports the load of links of the others.
#[test]
fn flows_whose_rates_one_process_keeps() {
    assert_equal_when_shared(MIX, &["network.fidelity=\"flow\""], &Outcome::Completed);
}

#[test]
fn a_mix_masses_of_ties_and_jobs_that_wait() {
    assert_equal_when_shared(MIX, &[], &Outcome::Completed);
    assert_equal_when_shared(TIES, &[], &Outcome::Completed);
    assert_equal_when_shared(RULES, &[], &Outcome::Completed);
    assert_equal_when_shared(MIX, &["run.time_limit=\"41 us\""], &Outcome::TimeLimit);
    assert_equal_when_shared(MIX, &["nic.message_queue=1"], &Outcome::QueueOverflow);
}

/// The first process finds deadlocks, from the state of all.
#[test]
fn a_run_that_gets_stuck_is_explained() {
    let full = [
        "storage.device.capacity=\"90 kB\"",
        "jobs.2.workload.checkpoint.total=\"2 MB\"",
    ];
    assert_equal_when_shared(MIX, &full, &Outcome::StorageFull);
}

//! Runs of scenarios from their text.

use std::path::Path;
use std::time::Duration;

use odonata_system::scenario::{self, InputError, Scenario};
use odonata_system::{Outcome, Results, Simulation};

/// The scenario of `text` with these settings; its paths are relative to `folder`.
pub(crate) fn load_in(folder: &Path, text: &str, overrides: &[&str]) -> Result<Scenario, InputError> {
    let overrides: Vec<String> = overrides.iter().map(|&one| one.into()).collect();
    scenario::load(text, "test.toml", &overrides, None, folder)
}

/// The scenario of `text` with these settings.
pub(crate) fn load(text: &str, overrides: &[&str]) -> Result<Scenario, InputError> {
    load_in(Path::new("."), text, overrides)
}

/// The results of a whole run.
pub(crate) fn finish(scenario: Scenario) -> Results {
    let mut simulation = Simulation::new(scenario).unwrap_or_else(|error| panic!("{error}"));
    while !simulation.advance(Duration::from_secs(60)).finished {}
    simulation.finish(false)
}

/// The results of the scenario of `text` with these settings.
pub(crate) fn run(text: &str, overrides: &[&str]) -> Results {
    finish(load(text, overrides).unwrap_or_else(|error| panic!("{error}\n{text}")))
}

/// Like [`run`], of a run that completes.
pub(crate) fn completed(text: &str, overrides: &[&str]) -> Results {
    let results = run(text, overrides);
    let detail = &results.run_json()["detail"];
    assert_eq!(
        *results.outcome(),
        Outcome::Completed,
        "{detail}: {overrides:?}\n{text}"
    );
    results
}

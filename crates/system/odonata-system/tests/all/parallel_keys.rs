//! The keys of `[run]` that distribute a run over cores: valid values and the errors for others.

use odonata_system::scenario::run::{Optimism, Parts, Scheduler, Threads};
use odonata_system::scenario::{self, InputError, Scenario};

/// 8 groups of 4 routers; line 6 is `[run]`, line 7 the first of `run`.
fn load(run: &str) -> Result<Scenario, InputError> {
    let text = format!(
        "[machine.dragonfly]\ngroups = 8\nrouters_per_group = 4\nnodes_per_router = 2\nglobal_ports_per_router = 2\n\
         [run]\n{run}\n[[jobs]]\nranks = 4\nworkload = {{ milc = {{}} }}\n"
    );
    scenario::load(&text, "scenario.toml", &[], None, "")
}

fn mistake(run: &str) -> InputError {
    match load(run) {
        Ok(_) => panic!("this should have been refused: {run}"),
        Err(error) => error,
    }
}

#[test]
fn everything_is_automatic_by_default() {
    let run = load("").unwrap().resolved.run;
    assert_eq!((run.scheduler, run.threads), (Scheduler::Auto, Threads::Auto));
    assert_eq!((run.parts, run.optimism), (Parts::Auto, Optimism::default()));
    let auto = "scheduler = \"auto\"\nthreads = \"auto\"\nparts = \"auto\"";
    assert_eq!(load(auto).unwrap().resolved, load("").unwrap().resolved);
}

#[test]
fn keys_are_read_and_shown_in_the_resolved_scenario_as_they_are_written() {
    let run = "scheduler = \"optimistic\"\nthreads = 3\nparts = { first_routers = [0, 9] }\n\
               optimism = { events_per_round = 7, journal = \"2 MiB\" }";
    let resolved = load(run).unwrap().resolved;
    let shown = serde_json::to_value(&resolved).unwrap();
    assert_eq!(shown["run"]["scheduler"], "optimistic");
    assert_eq!(shown["run"]["threads"], 3);
    assert_eq!(shown["run"]["parts"], serde_json::json!({ "first_routers": [0, 9] }));
    assert_eq!(shown["run"]["optimism"]["events_per_round"], 7);
    assert_eq!(shown["run"]["optimism"]["journal"], "2 MiB");
    assert_eq!(
        resolved.run.parts,
        load("parts.first_routers = [0, 9]").unwrap().resolved.run.parts
    );
    assert_eq!(load("parts = 32").unwrap().resolved.run.parts, Parts::Count(32));
}

#[test]
fn a_mistake_is_reported_with_key_expectation_and_the_nearest_name() {
    for (run, key, expected, hint) in [
        (
            "scheduler = \"sequental\"",
            "run.scheduler",
            "one of auto, sequential, conservative, optimistic",
            "did you mean \"sequential\"?",
        ),
        (
            "sheduler = \"auto\"",
            "run.sheduler",
            "scheduler, threads, parts, optimism",
            "did you mean \"scheduler\"?",
        ),
        (
            "threads = \"atuo\"",
            "run.threads",
            "a positive whole number or \"auto\"",
            "did you mean \"auto\"?",
        ),
        ("threads = 0", "run.threads", "a positive whole number or \"auto\"", ""),
        ("threads = 5000", "run.threads", "1 to 4096", ""),
        (
            "threads = 1.5",
            "run.threads",
            "a positive whole number or \"auto\"",
            "",
        ),
        ("parts = 33", "run.parts", "1 to 32", "at least one router"),
        (
            "parts = -1",
            "run.parts",
            "a positive whole number, \"auto\" or { first_routers = [...] }",
            "",
        ),
        ("parts = [0, 4]", "run.parts", "{ first_routers = [...] }", ""),
        (
            "parts = { first_router = [0] }",
            "run.parts.first_router",
            "first_routers",
            "did you mean \"first_routers\"?",
        ),
        (
            "parts = { first_routers = [] }",
            "run.parts.first_routers",
            "from 0",
            "",
        ),
        (
            "parts = { first_routers = [1, 4] }",
            "run.parts.first_routers.0",
            "0 as the first router",
            "",
        ),
        (
            "parts = { first_routers = [0, 4, 4] }",
            "run.parts.first_routers.2",
            "5 to 31",
            "",
        ),
        (
            "parts = { first_routers = [0, 32] }",
            "run.parts.first_routers.1",
            "1 to 31",
            "",
        ),
        (
            "optimism = { events = 3 }",
            "run.optimism.events",
            "one of events_per_round, journal",
            "",
        ),
        (
            "optimism = { events_per_round = 0 }",
            "run.optimism.events_per_round",
            "at least 1",
            "",
        ),
        (
            "optimism = { journal = \"1 kB\" }",
            "run.optimism.journal",
            "at least 1 MiB",
            "",
        ),
        (
            "optimism = { journal = 1 }",
            "run.optimism.journal",
            "a size such as",
            "the unit is missing",
        ),
    ] {
        let error = mistake(run);
        assert_eq!(
            (error.file.as_str(), error.line, error.key.as_str()),
            ("scenario.toml", Some(7), key),
            "{error}"
        );
        assert!(error.expected.contains(expected), "{error}");
        assert!(error.hint.as_deref().unwrap_or("").contains(hint), "{error}");
        assert!(error.value.is_some(), "{error}");
    }
}

/// A part ends where the next one begins, the last one with the machine.
#[test]
fn one_part_may_be_listed() {
    let listed = load("parts = { first_routers = [0] }").unwrap();
    let Parts::Listed(parts) = listed.resolved.run.parts else {
        panic!()
    };
    assert_eq!(parts.first_routers, [0]);
}

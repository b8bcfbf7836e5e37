//! Programs in coNCePTuaL inside a machine: their times, their logs, their errors, and their independence of the
//! scheduler.

mod library;

use crate::common::finish;
use std::path::PathBuf;
use std::time::Duration;

use odonata_system::{Outcome, Results, Simulation, scenario};

const MACHINE: &str = "[machine.dragonfly]\ngroups = 5\nrouters_per_group = 2\nnodes_per_router = 2\n\
                       global_ports_per_router = 2\n";

/// A folder with a program, removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str, program: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("odonata-programs-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        std::fs::write(path.join("job.ncptl"), program).unwrap();
        Folder(path)
    }

    fn load(&self, ranks: u32, job: &str, overrides: &[&str]) -> Result<scenario::Scenario, String> {
        let text = format!("{MACHINE}[[jobs]]\nranks = {ranks}\nprogram = \"job.ncptl\"\n{job}\n");
        let overrides: Vec<String> = overrides.iter().map(|&o| o.into()).collect();
        scenario::load(&text, "test.toml", &overrides, None, &self.0).map_err(|error| format!("{error:?}"))
    }

    fn run(&self, ranks: u32, job: &str, overrides: &[&str]) -> Results {
        finish(self.load(ranks, job, overrides).unwrap())
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Everything at once: timed loop, random tasks, counters, subsets, reports, the processor map.
const MIX: &str = r#"
reps is "Repetitions" and comes from "--reps" or "-r" with default 3.
Tasks n such that n < num_tasks/2 are assigned to processor num_tasks-1-n.
For 30 microseconds plus 10 warmup microseconds and a synchronization {
  all tasks t asynchronously send a 3K byte message to task (t+1) mod num_tasks then
  all tasks t asynchronously send a 12K byte message to tasks u such that u = t xor 1 /\ u <> t then
  all tasks await completion then
  all tasks t compute for 1+random_uniform(0, 3) microseconds
} then
all tasks log msgs_sent as "sent" and the mean of elapsed_usecs as "time".
For reps repetitions {
  let r be a random task and s be a random task other than r while {
    task r sends a 20K byte message to task s then
    task s outputs "from " and r and " at " and elapsed_usecs
  } then
  tasks t such that 2 divides t synchronize then
  tasks t such that 3 divides t reduce 5 doublewords to tasks {1, 2} then
  task 1 multicasts a 9K byte message to tasks {0, 2, 5} then
  if my task is odd then all tasks compute for 2 microseconds
  otherwise all tasks backend execute "UNION_Mark_Iteration(1); UNION_Compute(500);"
}.
"#;

#[test]
fn a_program_gives_the_same_results_under_every_scheduler() {
    let folder = Folder::new("schedulers", MIX);
    let run = |how: &[&str]| folder.run(20, "args = [\"-r\", \"4\"]", how);
    let reference = run(&["run.scheduler=\"sequential\""]);
    assert_eq!(
        *reference.outcome(),
        Outcome::Completed,
        "{:?}",
        reference.run_json()["detail"]
    );
    let tables = format!("{:?}", reference.rows());
    for scheduler in ["conservative", "optimistic"] {
        let scheduler = format!("run.scheduler=\"{scheduler}\"");
        for threads in ["run.threads=1", "run.threads=2"] {
            let other = run(&[&scheduler, threads, "run.parts=3"]);
            assert_eq!(other.digest(), reference.digest(), "{scheduler} {threads}");
            assert_eq!(format!("{:?}", other.rows()), tables, "{scheduler} {threads}");
        }
    }
}

#[test]
fn a_program_resumes_from_a_snapshot_without_a_difference() {
    let folder = Folder::new("snapshot", &MIX.replace("For 30 micro", "For 6000 micro"));
    let whole = folder.run(20, "", &[]);
    assert_eq!(*whole.outcome(), Outcome::Completed);
    for scheduler in ["sequential", "conservative", "optimistic"] {
        let how = format!("run.scheduler=\"{scheduler}\"");
        let load = || folder.load(20, "", &[&how]).unwrap();
        let path = folder.0.join("run.snapshot");
        let mut simulation = Simulation::new(load()).unwrap();
        let mut legs = 0;
        while !simulation.advance(Duration::ZERO).finished {
            simulation.save_to(&path).unwrap();
            simulation = Simulation::resume(load(), &path).unwrap();
            legs += 1;
        }
        assert!(legs > 1, "{scheduler}: {legs} legs");
        let resumed = simulation.finish(false);
        assert_eq!(resumed.digest(), whole.digest(), "{scheduler}");
        assert_eq!(
            format!("{:?}", resumed.rows()),
            format!("{:?}", whole.rows()),
            "{scheduler}"
        );
    }
}

#[test]
fn a_timed_loop_ends_by_the_clock_of_task_0() {
    // Passes of 10 us each begin before 95 us and for as long as the decision is under way, which takes less than 15 us
    // in all: 8 to 10.
    let folder = Folder::new(
        "timed",
        "For 95 microseconds { all tasks compute for 10 microseconds } then all tasks log elapsed_usecs as \"end\".",
    );
    let results = folder.run(20, "", &[]);
    assert_eq!(*results.outcome(), Outcome::Completed);
    let passes = results.rows().jobs[0].compute_s / 10e-6;
    assert!(
        (passes - passes.round()).abs() < 1e-9,
        "all tasks agree on {passes} passes"
    );
    assert!((8.0..=10.0).contains(&passes.round()), "{passes} passes");
    let logs = &results.rows().logs;
    assert_eq!(logs.len(), 20);
    for row in logs {
        assert_eq!((row.label.as_str(), row.aggregate, row.count), ("end", "each", 1));
        assert!(
            row.value >= 95.0 && row.value < 130.0,
            "task {} at {} us",
            row.rank,
            row.value
        );
        assert!((row.time_s * 1e6 - row.value).abs() < 1.0);
    }
}

/// `elapsed_usecs` is (now - reset) / 1e6 in LOGS, OUTPUTS and REAL, and the integer part of that elsewhere.
#[test]
fn elapsed_microseconds_have_a_fraction_where_values_are_real() {
    let folder = Folder::new(
        "fraction",
        "All tasks backend execute \"UNION_Compute(1500);\" then
         all tasks reset their counters then
         all tasks backend execute \"UNION_Compute(12345);\" then
         task 0 outputs elapsed_usecs and \" of \" and real(elapsed_usecs) then
         all tasks log elapsed_usecs as \"time\" and elapsed_usecs*2 as \"twice\" and elapsed_usecs/10 as \"tenth\" then
         for each n in {elapsed_usecs} { all tasks log n as \"whole\" }.",
    );
    let results = folder.run(20, "", &[]);
    assert_eq!(
        *results.outcome(),
        Outcome::Completed,
        "{:?}",
        results.run_json()["detail"]
    );
    let logs = &results.rows().logs;
    let of = |label: &str| -> Vec<f64> {
        logs.iter()
            .filter(|row| row.label == label)
            .map(|row| row.value)
            .collect()
    };
    for (label, value) in [
        ("time", 12.345),
        ("twice", 24.69),
        ("tenth", 12.345 / 10.0),
        ("whole", 12.0),
    ] {
        assert_eq!(of(label), [value; 20], "{label}");
    }
    assert!(logs.iter().any(|row| row.text == "12.345 of 12.345"), "{logs:?}");
}

#[test]
fn aggregates_cover_the_values_logged_before() {
    let folder = Folder::new(
        "logs",
        "For each x in {1, ..., 3} {\n  for 4 repetitions plus 2 warmup repetitions {\n    task 1 sends a x byte message to task 0 \
         then\n    task 0 logs x as \"x\" and the sum of x*x as \"squares\" and a histogram of x as \"h\"\n  } then\n  \
         task 0 computes aggregates } then task 0 outputs \"got \" and msgs_received and \" of \" and 1/4.\n",
    );
    let results = folder.run(2, "", &[]);
    assert_eq!(
        *results.outcome(),
        Outcome::Completed,
        "{:?}",
        results.run_json()["detail"]
    );
    let rows = &results.rows().logs;
    let of = |label: &str| {
        rows.iter()
            .filter(|row| row.label == label)
            .map(|row| (row.value, row.count))
            .collect::<Vec<_>>()
    };
    assert_eq!(of("x").len(), 12);
    // The sum of four squares.
    assert_eq!(of("squares"), [(4.0, 1), (16.0, 1), (36.0, 1)]);
    assert_eq!(of("h"), [(1.0, 4), (2.0, 4), (3.0, 4)]);
    assert_eq!(rows.last().map(|row| row.text.as_str()), Some("got 12 of 0.25"));
}

#[test]
fn an_assertion_that_does_not_hold_ends_the_run_with_its_place() {
    let folder = Folder::new(
        "assert",
        "All tasks synchronize.\nAssert that \"time has passed\" with elapsed_usecs > 1000000.\n",
    );
    let results = folder.run(4, "", &[]);
    assert_eq!(results.outcome().name(), "program-error");
    let detail = results.run_json()["detail"].to_string();
    assert!(
        detail.contains("job.ncptl:2:1") && detail.contains("time has passed"),
        "{detail}"
    );
}

#[test]
fn mistakes_in_a_program_are_mistakes_in_the_scenario() {
    let folder = Folder::new("errors", "Task 0 sends a nosuch byte message to task 1.\n");
    let error = folder.load(4, "", &[]).unwrap_err();
    assert!(
        error.contains("job.ncptl:1:16") && error.contains("jobs.0.program"),
        "{error}"
    );
    let folder = Folder::new("args", "Task 0 sends a 5 byte message to task 1.\n");
    let error = folder.load(4, "args = [\"--size=3\"]", &[]).unwrap_err();
    assert!(error.contains("unknown option"), "{error}");
    let error = folder.load(4, "workload.milc = {}", &[]).unwrap_err();
    assert!(error.contains("the job has the keys workload and program"), "{error}");
}

/// words = ranks * (words of the program + 2): 131,072 * 40,000 are more than 2^32.
#[test]
fn text_for_another_back_end_is_refused_unless_the_job_skips_it() {
    let text = "All tasks compute for 3 microseconds then\nall tasks backend execute \"other_library(1);\".";
    let folder = Folder::new("backend", text);
    let refused = folder.load(2, "", &[]).unwrap_err();
    assert!(
        refused.contains("job.ncptl:2:") && refused.contains("ignore_unknown_backend = true"),
        "{refused}"
    );
    let job = "ignore_unknown_backend = true";
    let warnings = odonata_system::warnings(&folder.load(2, job, &[]).unwrap());
    assert_eq!(warnings.len(), 1);
    assert_eq!(warnings[0].key, "jobs.0.program");
    assert!(warnings[0].message.contains("job.ncptl:2:"), "{warnings:?}");
    let results = folder.run(2, job, &[]);
    assert_eq!(*results.outcome(), Outcome::Completed);
    assert_eq!(results.rows().jobs[0].elapsed_s, 3e-6);
    // Other jobs are not affected.
    let text = format!("{MACHINE}[[jobs]]\nranks = 2\n{job}\nworkload = {{ stencil = {{}} }}\n");
    let error = scenario::load(&text, "test.toml", &[], None, &folder.0).unwrap_err();
    assert!(
        format!("{error:?}").contains("jobs.0.ignore_unknown_backend"),
        "{error:?}"
    );
}

#[test]
fn more_words_of_memory_than_can_be_counted_are_an_error_of_the_scenario() {
    let bound: Vec<String> = (0..40_000).map(|v| format!("w{v} be {v}")).collect();
    let folder = Folder::new(
        "words",
        &format!("Let {} while task 0 outputs w1.", bound.join(" and ")),
    );
    let error = folder.load(131_072, "", &[]).unwrap_err();
    assert!(error.contains("jobs.0.ranks"), "{error}");
    assert!(error.contains("131072 ranks with 400"), "{error}");
    assert!(error.contains("at most 4294967295 words in all"), "{error}");
}

/// Every message is sent, and the run cannot continue without the barrier.
#[test]
fn a_collective_that_was_not_foreseen_ends_the_run_with_its_line() {
    let folder = Folder::new(
        "unforeseen",
        "All tasks t asynchronously send an 8 byte message to task (t+1) mod num_tasks then\n\
         all tasks await completion then\n\
         tasks t such that t <= msgs_sent synchronize then\n\
         all tasks compute for 1 microsecond.",
    );
    let results = folder.run(4, "", &[]);
    assert_eq!(*results.outcome(), Outcome::ProgramError);
    let detail = results.run_json()["detail"].to_string();
    assert!(
        detail.contains("job.ncptl:3:") && detail.contains("unknown before the run"),
        "{detail}"
    );
}

/// The message contains the failure and its line, although the instruction would not fail if executed again.
#[test]
fn an_assertion_on_a_random_value_names_its_line() {
    let folder = Folder::new(
        "luck",
        "For 500 repetitions {\n all tasks compute for 1 microsecond then\n \
         assert that \"luck\" with random_uniform(0, 10) < 8\n}",
    );
    let results = folder.run(2, "", &[]);
    let detail = results.run_json()["detail"].to_string();
    assert!(
        detail.contains("job.ncptl:3:") && detail.contains("assertion fails: luck"),
        "{detail}"
    );
}

/// The state of a program is known only to the part that has the rank.
#[test]
fn a_failure_of_a_program_is_reported_from_any_part() {
    let folder = Folder::new(
        "parts",
        "All tasks synchronize.\nTask num_tasks-1 computes for msgs_sent-1 microseconds.\n",
    );
    let detail = |how: &[&str]| {
        let results = folder.run(20, "", how);
        assert_eq!(*results.outcome(), Outcome::ProgramError, "{how:?}");
        results.run_json()["detail"].as_str().unwrap().to_owned()
    };
    let reference = detail(&["run.scheduler=\"sequential\"", "run.parts=1"]);
    assert!(
        reference.contains("rank 19") && reference.contains("job.ncptl:2:"),
        "{reference}"
    );
    for scheduler in ["sequential", "conservative", "optimistic"] {
        let scheduler = format!("run.scheduler=\"{scheduler}\"");
        assert_eq!(detail(&[&scheduler, "run.parts=5"]), reference, "{scheduler}");
    }
}

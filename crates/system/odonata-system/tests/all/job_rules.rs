//! Rules between jobs, arrays, phases and bursts, from the text of a scenario to its results.

use crate::common::finish;
use odonata_engine::{Digest, Model};
use odonata_system::scenario::{self, InputError};
use odonata_system::{Outcome, Results, Simulation, build, check};
use std::time::Duration;

/// 32 nodes; line 7 is the first of `jobs`.
fn with(jobs: &str) -> String {
    format!(
        "[machine]\ndragonfly = {{ groups = 4, routers_per_group = 4, nodes_per_router = 2, global_ports_per_router = 1 }}\n\n\n\
         [storage]\nnodes = {{ per_group = 2 }}\n{jobs}"
    )
}

fn load(jobs: &str) -> Result<scenario::Scenario, InputError> {
    scenario::load(&with(jobs), "scenario.toml", &[], None, "")
}

fn run(jobs: &str) -> Results {
    finish(load(jobs).unwrap_or_else(|error| panic!("{error}")))
}

/// A job of two ranks that computes for `us` microseconds and exchanges messages.
fn stencil(name: &str, us: u32, keys: &str) -> String {
    format!(
        "[[jobs]]\nname = \"{name}\"\nranks = 2\n{keys}\n\
         workload = {{ stencil = {{ dimensions = 1, iterations = 1, compute = \"{us} us\", message = \"1 KiB\" }} }}\n"
    )
}

fn background(keys: &str, traffic: &str) -> String {
    format!(
        "[[jobs]]\nname = \"background\"\nranks = 8\n{keys}\n\
         workload = {{ uniform = {{ bytes = \"1 KiB\", mean_interval = \"5 us\"{traffic} }} }}\n"
    )
}

fn error(jobs: &str) -> InputError {
    match load(jobs) {
        Ok(_) => panic!("this should have been refused:\n{jobs}"),
        Err(error) => error,
    }
}

/// Line, key; the expectation and the hint must contain these texts.
fn says(error: &InputError, line: u32, key: &str, expected: &str, hint: &str) {
    assert_eq!((error.line, error.key.as_str()), (Some(line), key), "{error}");
    assert!(error.expected.contains(expected), "{error}");
    assert!(error.hint.as_deref().unwrap_or("").contains(hint), "{error}");
    assert_eq!(error.hint.is_none(), hint.is_empty(), "{error}");
}

#[test]
fn a_chain_of_jobs_counts_each_from_its_own_start() {
    let chain = stencil("c", 300, "start_after = \"b\"\nstart = \"1 ms\"")
        + &stencil("a", 100, "")
        + &stencil("b", 200, "start_after = [\"a\"]");
    let results = run(&chain);
    assert_eq!(results.outcome(), &Outcome::Completed);
    let [c, a, b] = &results.rows().jobs[..] else { panic!() };
    let end = |job: &odonata_system::results::JobRow| job.start_s + job.elapsed_s;
    assert_eq!(a.start_s, 0.0);
    // The messages about the end take a few microseconds, and c another millisecond.
    assert!(b.start_s > end(a) && b.start_s < end(a) + 20e-6);
    assert!(c.start_s > end(b) + 1e-3 && c.start_s < end(b) + 1e-3 + 20e-6);
    for (job, compute) in [(a, 100e-6), (b, 200e-6), (c, 300e-6)] {
        assert!(
            job.elapsed_s > compute && job.elapsed_s < compute + 100e-6,
            "{}",
            job.job
        );
        assert_eq!(job.ranks_finished, 2);
    }
    let starts: Vec<f64> = results.rows().ranks[..2].iter().map(|rank| rank.start_s).collect();
    assert!(starts[0] == c.start_s && starts[1] > starts[0], "{starts:?}");
    // The last event is the end of the last job in the chain.
    assert!((results.progress().simulated_s - end(c)).abs() < 1e-12);
}

#[test]
fn background_traffic_lasts_as_long_as_the_job_and_ends_with_it() {
    let results = run(&(stencil("solver", 2_000, "") + &background("until = \"solver\"", "")));
    assert_eq!(results.outcome(), &Outcome::Completed);
    let [solver, traffic] = &results.rows().jobs[..] else {
        panic!()
    };
    assert_eq!(traffic.ranks_finished, 8);
    assert!(traffic.elapsed_s > solver.elapsed_s && traffic.elapsed_s < solver.elapsed_s + 50e-6);
    // 8 ranks, one message per 5 us for 2 ms.
    let expected = (8.0 * traffic.elapsed_s / 5e-6) as u64;
    let messages = traffic.bytes_sent / 1_024;
    // Standard deviation sqrt(3,200) = 57.
    assert!(messages.abs_diff(expected) < 300, "{messages} {expected}");
    // Events of sources that have been stopped do not count as part of the run, however far ahead they are.
    let rare = background("until = \"solver\"", "").replace("5 us", "900 s");
    let results = run(&(stencil("solver", 2_000, "") + &rare));
    let last = results
        .rows()
        .ranks
        .iter()
        .map(|rank| rank.start_s + rank.elapsed_s)
        .fold(0.0, f64::max);
    assert!((results.progress().simulated_s - last).abs() < 1e-12);
    let limited = run(&(String::from("[run]\ntime_limit = \"10 s\"\n") + &stencil("solver", 2_000, "") + &rare));
    assert_eq!(limited.outcome(), &Outcome::Completed);
    assert_eq!(limited.digest(), results.digest());
    // Before the job and until its end, through a chain.
    let chain = background("until = \"late\"", "")
        + &stencil("early", 50, "")
        + &stencil("late", 70, "start_after = \"early\"");
    let results = run(&chain);
    assert_eq!(results.outcome(), &Outcome::Completed);
    assert!(results.rows().jobs[0].elapsed_s > results.rows().jobs[2].start_s + 70e-6);
}

/// Only sources are left, for far more events than pass between two checks for a stall; one of them ends.
#[test]
fn traffic_may_wait_for_the_end_of_traffic_that_ends_by_itself() {
    for end in ["messages = 20_000", "stop = \"100 ms\""] {
        let text = background("", &format!(", {end}")) + &background("until = \"background\"", "");
        let text = text.replacen("\"background\"\nranks = 8\nuntil", "\"second\"\nranks = 8\nuntil", 1);
        let results = run(&text);
        assert_eq!(results.outcome(), &Outcome::Completed, "{end}");
        assert!(results.progress().events > 4 << 16);
        let [first, second] = &results.rows().jobs[..] else {
            panic!()
        };
        assert!(first.elapsed_s > 90e-3 && second.elapsed_s > first.elapsed_s);
        assert!(second.elapsed_s < first.elapsed_s + 50e-6);
    }
}

#[test]
fn a_job_that_waits_forever_is_a_named_stall_even_under_endless_traffic() {
    // The last job waits for traffic that waits for a job that cannot write: a server has room for only one of the 2
    // KiB of each of two ranks.
    let full = "[storage.device]\ncapacity = \"3 KiB\"\n[storage.manager]\nblock = \"1 KiB\"\nmemory = \"8 KiB\"\n";
    let text = format!(
        "{full}[[jobs]]\nname = \"writer\"\nranks = 4\nworkload = {{ checkpoint = {{ total = \"8 KiB\", interval = \"1 us\" }} }}\n"
    ) + &background("until = \"writer\"", "")
        + &stencil("after", 1, "start_after = \"background\"");
    let results = run(&text);
    assert_eq!(results.outcome(), &Outcome::StorageFull);
    let detail = results.run_json()["detail"].to_string();
    for part in [
        "job \\\"background\\\" still sends: it waits for the end of \\\"writer\\\" (",
        "job \\\"after\\\" has not started: it waits for the end of \\\"background\\\" (8 of 8 ranks have not)",
    ] {
        assert!(detail.contains(part), "{detail}");
    }
    let rows = &results.rows().jobs;
    assert_eq!(
        (rows[2].start_s, rows[2].elapsed_s),
        (results.progress().simulated_s, 0.0)
    );
    let limited = run(&format!("{text}[run]\ntime_limit = \"90 us\"\n"));
    assert_eq!(
        limited.outcome(),
        &Outcome::StorageFull,
        "the limit comes after the stall"
    );
    // However the run is advanced, it ends at the same event.
    let mut simulation = Simulation::new(load(&text).unwrap()).unwrap();
    while !simulation.advance(Duration::ZERO).finished {}
    assert_eq!(simulation.finish(false).digest(), results.digest());
}

#[test]
fn a_time_limit_ends_endless_traffic_and_jobs_that_have_not_started() {
    let limit = "[run]\ntime_limit = \"100 us\"\n";
    let text = background("until = \"solver\"", "")
        + &stencil("solver", 1_000, "")
        + &stencil("after", 1, "start_after = \"solver\"");
    let results = run(&format!("{limit}{text}"));
    assert_eq!(results.outcome(), &Outcome::TimeLimit);
    let rows = &results.rows().jobs;
    assert_eq!(
        (rows[2].start_s, rows[2].elapsed_s, rows[2].ranks_finished),
        (100e-6, 0.0, 0)
    );
    assert_eq!((rows[1].elapsed_s, rows[1].ranks_finished), (100e-6, 0));
}

#[test]
fn an_array_is_placed_and_started_job_by_job_and_awaited_as_a_whole() {
    let text = stencil("last", 1, "start_after = \"work\"")
        + &stencil("work", 100, "count = 3\nstagger = \"40 us\"\nplacement = \"random\"")
        + &stencil("second", 1, "start_after = \"work-1\"");
    let results = run(&text);
    assert_eq!(results.outcome(), &Outcome::Completed);
    let names: Vec<&str> = results.rows().jobs.iter().map(|job| job.job.as_str()).collect();
    assert_eq!(names, ["last", "work-0", "work-1", "work-2", "second"]);
    let jobs = &results.rows().jobs;
    for (member, job) in jobs[1..4].iter().enumerate() {
        assert!((job.start_s - 40e-6 * member as f64).abs() < 1e-15);
    }
    let end = |at: usize| jobs[at].start_s + jobs[at].elapsed_s;
    assert!(jobs[0].start_s > end(3) && jobs[0].start_s < end(3) + 20e-6);
    assert!(jobs[4].start_s > end(2) && jobs[4].start_s < end(2) + 20e-6);
    let mut nodes: Vec<u64> = results.rows().ranks.iter().map(|rank| rank.node).collect();
    nodes.sort_unstable();
    nodes.dedup();
    assert_eq!(nodes.len(), 10, "no two jobs share a node");
    // Members draw their own permutations.
    let text = "[[jobs]]\ncount = 2\nranks = 12\nworkload = { permutation = { load = 0.1, messages = 1 } }\n";
    let resolved = load(text).unwrap().resolved;
    assert_eq!(resolved.jobs[1].name.as_str(), "permutation-1");
    assert_ne!(resolved.jobs[0].workload, resolved.jobs[1].workload);
}

#[test]
fn phases_run_one_after_the_other_and_again() {
    let text = "[[jobs]]\nname = \"app\"\nranks = 4\nrepeat = 3\nworkload = [\n\
         { stencil = { iterations = 2, compute = \"10 us\", message = \"2 KiB\", allreduce = \"0 B\" } },\n\
         { checkpoint = { total = \"64 KiB\", interval = \"5 us\" } },\n]\n";
    let results = run(text);
    assert_eq!(results.outcome(), &Outcome::Completed);
    let job = &results.rows().jobs[0];
    assert_eq!(job.bytes_written, 3 * 64 * 1_024);
    assert!((job.compute_s - 3.0 * 25e-6).abs() < 1e-12, "{}", job.compute_s);
    assert!(job.workload.starts_with("3 times (stencil"), "{}", job.workload);
    let iterations: Vec<(u64, u64)> = results
        .rows()
        .iterations
        .iter()
        .map(|row| (row.iteration, row.ranks))
        .collect();
    assert_eq!(iterations, (0..6).map(|iteration| (iteration, 4)).collect::<Vec<_>>());
    let mut files: Vec<u64> = results.rows().io.iter().map(|row| row.file).collect();
    files.dedup();
    assert_eq!(files, [1 << 56], "a repetition writes the same file again");
    // The checkpoint of a repetition is over before its rank computes again.
    assert!(
        results
            .rows()
            .ranks
            .iter()
            .all(|rank| rank.elapsed_s >= rank.compute_s + rank.io_s)
    );
}

#[test]
fn a_job_without_new_keys_is_the_same_with_them_at_their_defaults() {
    let plain = run(&(stencil("a", 20, "") + &background("", ", messages = 20")));
    let spelled = run(&(stencil("a", 20, "repeat = 1\nstart = \"0 s\"") + &background("", ", messages = 20")));
    assert_eq!(plain.digest(), spelled.digest());
}

#[test]
fn every_pattern_runs_from_its_key() {
    for (key, ranks) in [
        ("neighbors = { dims = [3, 4], wrap = false", 12),
        ("neighbors = { reach = \"box\", turn = \"in-order\"", 12),
        ("hot-spot = { share = 0.3, targets = [1, 5]", 12),
        ("incast = { targets = [3]", 12),
        ("all-to-all = { on = \"20 us\", off = \"100 us\"", 12),
        ("tornado = { dims = [4, 3]", 12),
        ("transpose = { ", 9),
        ("bit-complement = { ", 16),
        ("bit-reverse = { ", 16),
        ("shuffle = { ", 16),
        ("badperm-yarc = { ", 9),
    ] {
        let comma = if key.ends_with("{ ") { "" } else { ", " };
        let traffic = format!("{key}{comma}bytes = \"1 KiB\", mean_interval = \"5 us\", messages = 30 }}");
        let results = run(&format!(
            "[[jobs]]\nname = \"t\"\nranks = {ranks}\nworkload = {{ {traffic} }}\n"
        ));
        assert_eq!(results.outcome(), &Outcome::Completed, "{key}");
        let job = &results.rows().jobs[0];
        assert_eq!(job.ranks_finished, ranks);
        let silent = match key.split(' ').next() {
            Some("incast") => 1,
            Some("transpose") => 3,
            Some("bit-reverse") => 4,
            Some("shuffle") => 2,
            _ => 0,
        };
        assert_eq!(job.bytes_sent, (ranks - silent) * 30 * 1_024, "{key}");
        let name = key.split(' ').next().unwrap_or_default();
        assert!(job.workload.starts_with(&format!("{name} traffic")), "{}", job.workload);
    }
}

#[test]
fn every_handler_of_a_machine_with_rules_can_be_undone_and_redone() {
    let text = stencil("a", 10, "") + &stencil("b", 1, "start_after = \"a\"") + &background("until = \"b\"", "");
    let scenario = load(&text).unwrap();
    let (events, machine) = odonata_machine::undo_and_redo(build::whole(&scenario).unwrap(), u64::MAX).unwrap();
    assert!(events > 200, "{events}");
    let mut digest = Digest::new();
    machine.results(&mut digest);
    assert_eq!(digest.hex(), run(&text).digest());
}

#[test]
fn the_check_tells_the_rules() {
    let text = stencil("work", 100, "count = 2\nstagger = \"40 us\"")
        + &stencil("after", 1, "start_after = \"work\"\nstart = \"5 us\"")
        + &background("until = [\"work-0\", \"after\"]", "");
    let report = check(&load(&text).unwrap()).unwrap();
    let rules: Vec<&str> = report.jobs.iter().map(|job| job.rules.as_str()).collect();
    assert_eq!(
        rules,
        [
            "",
            "from 40 us",
            "5 us after work-0, work-1",
            "until work-0, after has ended"
        ]
    );
}

#[test]
fn a_rule_that_names_no_job_is_refused_with_the_nearest() {
    let error = error(&(stencil("checkpoint", 1, "") + &background("until = \"chekpoint\"", "")));
    says(
        &error,
        15,
        "jobs.1.until",
        "one of background, checkpoint",
        "did you mean \"checkpoint\"?",
    );
    assert_eq!(error.message, "there is no job \"chekpoint\"");
    let second = |rule: &str| self::error(&(stencil("first", 1, "") + &stencil("second", 1, rule)));
    let error = second("start_after = [\"first\", \"somebody\"]");
    says(&error, 15, "jobs.1.start_after.1", "one of first, second", "");
    let error = second("start_after = []");
    says(&error, 15, "jobs.1.start_after", "a name", "");
    let error = self::error(&stencil("a", 1, "start_after = 3"));
    assert_eq!(
        (error.line, error.key.as_str()),
        (Some(10), "jobs.0.start_after"),
        "{error}"
    );
}

#[test]
fn jobs_that_wait_for_each_other_are_refused() {
    let error = error(&stencil("a", 1, "start_after = \"a\""));
    says(&error, 10, "jobs.0.start_after", "do not depend", "");
    assert_eq!(error.message, "job \"a\" waits for itself");
    let text = stencil("x", 1, "start_after = \"a\"")
        + &stencil("a", 1, "start_after = \"b\"")
        + &stencil("b", 1, "start_after = \"background\"")
        + &background("until = \"a\"", "");
    let error = self::error(&text);
    assert_eq!(error.message, "jobs wait for each other: a for b for background for a");
    assert_eq!((error.line, error.key.as_str()), (Some(15), "jobs.1.start_after"));
    // A diamond is not a cycle.
    let text = stencil("a", 1, "")
        + &stencil("b", 1, "start_after = \"a\"")
        + &stencil("c", 1, "start_after = \"a\"")
        + &stencil("d", 1, "start_after = [\"b\", \"c\", \"b\"]");
    assert_eq!(load(&text).unwrap().resolved.jobs[3].start_after.as_slice(), [1, 2]);
}

#[test]
fn rules_that_do_not_fit_the_workload_are_refused() {
    let error = error(&(stencil("a", 1, "") + &stencil("b", 1, "until = \"a\"")));
    says(&error, 15, "jobs.1.until", "synthetic traffic", "");
    let error = self::error(&background("repeat = 2", ", messages = 1"));
    says(&error, 10, "jobs.0.repeat", "ends by itself", "bursts");
    let error = self::error(&stencil("a", 1, "repeat = 0"));
    says(&error, 10, "jobs.0.repeat", "at least 1", "");
    let error = self::error(&background("", ""));
    says(&error, 11, "jobs.0.workload.uniform", "", "until");
    let error = self::error(&background("", ", messages = 1, on = \"1 us\""));
    says(&error, 11, "jobs.0.workload.uniform.on", "on and off", "");
    let error = self::error(&background("", ", messages = 1, on = \"1 us\", off = \"0 s\""));
    says(&error, 11, "jobs.0.workload.uniform.off", "1 ps", "");
    let phases = "[[jobs]]\nranks = 4\nworkload = [{ stencil = {} }, { uniform = { load = 0.1, messages = 1 } }]\n";
    says(
        &self::error(phases),
        9,
        "jobs.0.workload.1",
        "end by themselves",
        "a separate job",
    );
    says(
        &self::error("[[jobs]]\nranks = 4\nworkload = []\n"),
        9,
        "jobs.0.workload",
        "1 to 128",
        "",
    );
    let phases = "[[jobs]]\nranks = 4\nworkload = [{ stencil = {} }, { mlic = {} }]\n";
    says(
        &self::error(phases),
        9,
        "jobs.0.workload.1.mlic",
        "one of milc",
        "did you mean \"milc\"?",
    );
    let phases = "[[jobs]]\nranks = 4\nworkload = [{ stencil = {} }, { stencil = { dims = [3] } }]\n";
    says(
        &self::error(phases),
        9,
        "jobs.0.workload.1.stencil.dims",
        "extents that make 4 ranks",
        "balanced",
    );
    let many = "[[jobs]]\nranks = 4\nrepeat = 4_000_000_000\nworkload = { stencil = {} }\n";
    says(&self::error(many), 9, "jobs.0.repeat", "fewer repetitions", "");
}

#[test]
fn arrays_that_clash_or_cannot_be_are_refused() {
    let error = error(&(stencil("a", 1, "count = 2") + &stencil("a-1", 1, "")));
    says(&error, 13, "jobs.1.name", "a name for every job", "NAME-0");
    let error = self::error(&(stencil("a-1", 1, "") + &stencil("a", 1, "count = 2")));
    says(&error, 13, "jobs.1.name", "a name for every job", "NAME-0");
    let error = self::error(&(stencil("a", 1, "") + &stencil("a", 1, "")));
    says(&error, 13, "jobs.1.name", "a name for every job", "");
    says(
        &self::error(&stencil("a", 1, "count = 0")),
        10,
        "jobs.0.count",
        "1 to 30000",
        "",
    );
    let error = self::error(&stencil("a", 1, "stagger = \"1 ms\""));
    says(&error, 10, "jobs.0.stagger", "count", "");
    let error = self::error(&stencil("a", 1, "count = 2\nplacement = { nodes = [5, 6] }"));
    says(&error, 11, "jobs.0.placement", "random-router", "");
    let error = self::error(&stencil("a", 1, "count = 9\nstagger = \"4000000 s\""));
    says(&error, 11, "jobs.0.stagger", "starts up to", "");
    // 16 nodes are left: 32 less 4 servers per group; the ninth pair does not fit.
    let crowded = with(&stencil("a", 1, "count = 9")).replace("per_group = 2", "per_group = 4");
    let Err(error) = scenario::load(&crowded, "scenario.toml", &[], None, "") else {
        panic!("nine pairs were placed on 16 nodes");
    };
    says(&error, 9, "jobs.0.ranks", "at most 0", "job \"a-8\"");
}

#[test]
fn patterns_that_do_not_fit_the_job_are_refused_at_the_key_to_blame() {
    let job = |ranks: u32, traffic: &str| {
        format!("[[jobs]]\nranks = {ranks}\nworkload = {{ {traffic}load = 0.1, messages = 1 }} }}\n")
    };
    for (ranks, traffic, key, message) in [
        (8, "transpose = { ", "transpose", "such as 4 or 9, not 8"),
        (12, "bit-reverse = { ", "bit-reverse", "such as 8 or 16, not 12"),
        (12, "bit-complement = { ", "bit-complement", "a power of two"),
        (12, "shuffle = { ", "shuffle", "a power of two"),
        (4, "tornado = { dims = [2, 2], ", "tornado.dims", "sends nothing"),
        (2, "tornado = { ", "tornado", "sends nothing"),
        (12, "neighbors = { dims = [5, 2], ", "neighbors.dims", "make 10 ranks"),
        (12, "neighbors = { dimensions = 7, ", "neighbors", "7 dimensions"),
        (12, "hot-spot = { share = 0.0, ", "hot-spot.share", "a share of 0"),
        (12, "hot-spot = { ", "hot-spot", "\"share\" is missing"),
        (
            12,
            "hot-spot = { share = 0.5, targets = [12], ",
            "hot-spot.targets.0",
            "no rank 12",
        ),
        (12, "incast = { targets = [3, 3], ", "incast.targets.1", "listed twice"),
        (
            2,
            "incast = { targets = [0, 1], ",
            "incast",
            "leave no sender among 2 ranks",
        ),
        (12, "incast = { targets = [], ", "incast", "no targets"),
    ] {
        let error = error(&job(ranks, traffic));
        assert_eq!(error.key, format!("jobs.0.workload.{key}"), "{error}");
        assert_eq!(error.line, Some(9), "{error}");
        assert!(error.message.contains(message), "{error}");
    }
}

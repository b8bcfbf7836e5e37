//! Runs that end before everything requested is done: the outcome reports it, with the progress.

use crate::common::run;
use odonata_engine::Time;
use odonata_system::{Outcome, Results};

const RING: &str = "[machine.torus]\ndims = [4]\n";

fn ring(rest: &str) -> Results {
    run(&format!("{RING}{rest}"), &[])
}

fn detail(results: &Results) -> String {
    results.run_json()["detail"].as_str().unwrap_or_default().to_string()
}

/// A scenario with `keys` of `run`, and a job of 4 ranks with synthetic traffic.
fn traffic(keys: &str, traffic: &str) -> Results {
    ring(&format!(
        "[run]\n{keys}\n[[jobs]]\nranks = 4\nworkload = {{ uniform = {{ {traffic} }} }}\n"
    ))
}

#[test]
fn unsent_requested_messages_make_a_run_incomplete() {
    let results = traffic("time_limit = \"5 us\"", "load = 0.01, messages = 1000");
    assert_eq!(results.outcome(), &Outcome::TimeLimit);
    assert_eq!(results.progress().simulated_s, 5e-6);
    assert_eq!(results.progress().messages, 1);
    assert_eq!(detail(&results), "job \"uniform\" has sent 1 of 4000 messages");
    assert_eq!(results.rows().jobs[0].ranks_finished, 0);
    // The limit does not affect runs that end before it.
    let within = traffic("time_limit = \"5 s\"", "load = 0.01, messages = 10");
    let without = traffic("", "load = 0.01, messages = 10");
    assert_eq!(
        (within.outcome(), detail(&within)),
        (&Outcome::Completed, String::new())
    );
    assert_eq!(within.digest(), without.digest());
}

#[test]
fn traffic_that_is_to_go_on_until_the_limit_completes_there_unless_messages_are_under_way() {
    let results = traffic("time_limit = \"5 us\"", "load = 0.01");
    assert_eq!(
        (results.outcome(), detail(&results)),
        (&Outcome::Completed, String::new())
    );
    let results = traffic("time_limit = \"5 us\"", "load = 0.9");
    assert_eq!(results.outcome(), &Outcome::TimeLimit);
    let detail = detail(&results);
    assert!(detail.ends_with(" B are in flight"), "{detail}");
    assert!(!detail.contains("job"), "{detail}");
}

/// A stop is part of what was requested; that it came first is reported nevertheless.
#[test]
fn a_stop_before_the_last_message_is_reported() {
    let results = traffic("", "load = 0.01, messages = 1000, stop = \"5 us\"");
    assert_eq!(results.outcome(), &Outcome::Completed);
    let text = "job \"uniform\" sent 1 of 4000 messages by its stop at 5 us";
    assert_eq!(detail(&results), text);
    let others = ring(
        "[[jobs]]\nname = \"noise\"\nranks = 2\nuntil = \"work\"\n\
         workload = { uniform = { load = 0.01, messages = 1000 } }\n\
         [[jobs]]\nname = \"work\"\nranks = 2\nworkload = { stencil = { iterations = 1, compute = \"5 us\" } }\n",
    );
    assert_eq!(others.outcome(), &Outcome::Completed);
    let text = detail(&others);
    assert!(
        text.starts_with("job \"noise\" sent ")
            && text.ends_with(" of 2000 messages by the end of the jobs that it waits for"),
        "{text}"
    );
}

#[test]
fn messages_cut_off_by_a_limit_are_counted_by_job() {
    let results = run(
        "[machine.torus]\ndims = [6]\n[run]\ntime_limit = \"50 us\"\n\
         [[jobs]]\nname = \"halo\"\nranks = 2\nworkload = { stencil = { iterations = 100, compute = \"1 ms\" } }\n\
         [[jobs]]\nname = \"quick\"\nranks = 2\nworkload = { uniform = { load = 0.5, stop = \"1 us\" } }\n\
         [[jobs]]\nname = \"late\"\nranks = 2\nstart = \"1 ms\"\n\
         workload = { uniform = { load = 0.5, stop = \"2 ms\" } }\n",
        &[],
    );
    assert_eq!(results.outcome(), &Outcome::TimeLimit);
    let text = "job \"halo\": 0 of 2 ranks have ended; job \"late\" has not started";
    assert_eq!(detail(&results), text);
}

/// A rank that has ended, and data that are still on their way out of the burst buffer.
#[test]
fn a_drain_cut_off_by_a_limit_is_reported() {
    let text = "[machine.torus]\ndims = [4]\n\
         [storage]\nnodes = { list = [0] }\n\
         [storage.drain]\nbandwidth = \"1 MB/s\"\nthreshold = \"0 B\"\n\
         [[jobs]]\nranks = 1\nworkload = { checkpoint = { total = \"1 MB\", iterations = 1, interval = \"1 us\" } }\n";
    let results = run(text, &["run.time_limit=\"100 ms\""]);
    assert_eq!(results.outcome(), &Outcome::TimeLimit);
    assert_eq!(results.rows().jobs[0].ranks_finished, 1);
    assert_eq!(detail(&results), "1 storage servers are draining");
    assert_eq!(run(text, &[]).outcome(), &Outcome::Completed);
}

/// Every way to reach a time beyond all runs, under every scheduler.
#[test]
fn a_run_beyond_the_end_of_simulated_time_names_what_waits() {
    let stencil = |keys: &str| format!("[[jobs]]\nname = \"a\"\nranks = 4\nworkload = {{ stencil = {{ {keys} }} }}\n");
    let cases = [
        // Sums of times that can be written.
        (stencil("iterations = 3, compute = \"4600000 s\""), "a rank 0: "),
        // Products with sizes, of the software, the node, and the device.
        (
            format!(
                "[mpi]\neager_threshold = \"none\"\nsend_per_byte = \"1000 us/B\"\n{}",
                stencil("iterations = 1, compute = \"0 s\", message = \"1 PB\"")
            ),
            "a rank 0: ",
        ),
        (
            format!(
                "[mpi]\neager_threshold = \"none\"\nlocal_bandwidth = \"1 B/s\"\n{}ranks_per_node = 4\n",
                stencil("iterations = 1, compute = \"0 s\", message = \"1 PB\"")
            ),
            "a rank 0: ",
        ),
        (
            format!(
                "[mpi]\nrecv_overhead = \"4600000 s\"\n{}",
                stencil("iterations = 1, compute = \"0 s\", message = \"1 kB\"")
            ),
            "a rank 0: ",
        ),
        (
            "[storage]\nnodes = { list = [0] }\n[storage.device.rate]\nwrite = \"1 B/s\"\n\
             [[jobs]]\nname = \"a\"\nranks = 1\n\
             workload = { checkpoint = { total = \"1 GB\", iterations = 1, interval = \"1 us\" } }\n"
                .into(),
            "a rank 0: Write",
        ),
        // Gaps of sources.
        (
            "[[jobs]]\nname = \"a\"\nranks = 4\n\
             workload = { uniform = { mean_interval = \"4600000 s\", arrival = \"fixed\", messages = 3 } }\n"
                .into(),
            "job \"a\" has sent ",
        ),
    ];
    for (text, names) in cases {
        let text = format!("{RING}{text}");
        let mut endings = Vec::new();
        for scheduler in ["sequential", "conservative", "optimistic"] {
            let scheduler = format!("run.scheduler={scheduler:?}");
            for parts in ["run.parts=1", "run.parts=2"] {
                let results = run(&text, &[&scheduler, parts]);
                assert_eq!(results.outcome(), &Outcome::TimeOverflow, "{text}");
                assert_eq!(results.progress().simulated_s, Time::LONGEST.seconds(), "{text}");
                endings.push((detail(&results), results.digest().to_string()));
            }
        }
        let (detail, _) = &endings[0];
        let head = "an event is due after the end of simulated time, 4611686.018427388 s (2^62 ps, 53 days); ";
        assert!(detail.starts_with(head) && detail.contains(names), "{text}: {detail}");
        assert!(!detail.contains("cycle"), "{text}: {detail}");
        assert!(
            endings.iter().all(|ending| *ending == endings[0]),
            "{text}: {endings:?}"
        );
    }
}

#[test]
fn a_limit_of_the_scenario_comes_before_the_end_of_time() {
    let job = "[[jobs]]\nranks = 2\nworkload = { stencil = { iterations = 3, compute = \"4600000 s\" } }\n";
    let results = ring(&format!("[run]\ntime_limit = \"4600001 s\"\n{job}"));
    assert_eq!(results.outcome(), &Outcome::TimeLimit);
    let text = "job \"stencil\": 0 of 2 ranks have ended";
    assert_eq!(detail(&results), text);
}

//! Tests that a job alone behaves as beside other jobs that do not disturb it, on the same nodes.

use crate::common;
use crate::common::finish as run;
use odonata_system::scenario::resolved::Workload;
use odonata_system::{Outcome, Time, scenario};

/// Three jobs on 72 nodes that share links and servers; the last one is open-loop.
const MIX: &str = r#"
name = "mix"
seed = 5
[run]
baselines = true
[machine.dragonfly]
groups = 9
routers_per_group = 4
nodes_per_router = 2
global_ports_per_router = 2
[network.routing]
algorithm = "minimal"
[storage]
nodes = { per_group = 1, position = "first" }
assignment = "random"
[[jobs]]
name = "halo"
ranks = 12
placement = "random"
workload = { stencil = { dims = [3, 2, 2], message = "6 KiB", iterations = 2, compute = "2 us", allreduce = "64 B" } }
[[jobs]]
name = "training"
ranks = 10
ranks_per_node = 2
workload = { cosmoflow = { iterations = 2, elements = 3000, sample = "40 KiB", compute = "5 us" } }
[[jobs]]
name = "noise"
ranks = 9
placement = "random"
workload = { uniform = { bytes = "3 KiB", mean_interval = "2 us", messages = 40 } }
"#;

fn load(text: &str, overrides: &[&str]) -> scenario::Scenario {
    common::load(text, overrides).unwrap()
}

#[test]
fn alone_a_job_keeps_its_nodes_its_servers_and_its_start() {
    let mix = load(MIX, &["jobs.1.start=\"7 us\""]);
    for (index, job) in mix.resolved.jobs.iter().enumerate() {
        let alone = mix.alone(&job.name, None).unwrap().unwrap();
        assert_eq!(alone.resolved.jobs.len(), 1);
        assert_eq!(alone.resolved.jobs[0].start, job.start);
        assert_eq!(alone.placement.jobs, [mix.placement.jobs[index].clone()]);
        assert_eq!(alone.placement.servers, mix.placement.servers);
        assert!(!alone.resolved.run.baselines);
    }
    assert!(mix.alone("nobody", None).unwrap().is_none());
}

/// A job alone, placed from its own resolved form, gets the same nodes: the resolved scenario is complete.
#[test]
fn the_resolved_scenario_of_a_job_alone_contains_its_placement() {
    for rule in ["contiguous", "random", "random-router", "random-group"] {
        let rules: Vec<String> = (0..3).map(|job| format!("jobs.{job}.placement=\"{rule}\"")).collect();
        let mix = load(MIX, &rules.iter().map(String::as_str).collect::<Vec<_>>());
        for job in ["halo", "training", "noise"] {
            let alone = mix.alone(job, None).unwrap().unwrap();
            let placed = odonata_system::placement::place(&alone.resolved).unwrap();
            assert_eq!(placed, alone.placement, "{job}, {rule}");
        }
    }
}

/// Minimal routing draws no random numbers, so jobs that never overlap in time have only the seed in common: the
/// results of a job alone and long after the others have ended are equal to the last picosecond.
#[test]
fn alone_and_long_after_the_others_are_the_same() {
    let mix = load(MIX, &["jobs.1.start=\"10 ms\"", "jobs.2.start=\"20 ms\""]);
    let together = run(mix.clone());
    for (index, job) in mix.resolved.jobs.iter().enumerate() {
        let alone = run(mix.alone(&job.name, None).unwrap().unwrap());
        let (one, other) = (&alone.rows().jobs[0], &together.rows().jobs[index]);
        assert_eq!(format!("{one:?}"), format!("{other:?}"));
        assert!(
            other.ranks_finished == other.ranks && other.elapsed_s < 10e-3,
            "the jobs never meet"
        );
        let ranks = together.rows().ranks.iter().filter(|rank| rank.job == *job.name);
        assert!(
            alone
                .rows()
                .ranks
                .iter()
                .map(|rank| format!("{rank:?}"))
                .eq(ranks.map(|rank| format!("{rank:?}")))
        );
    }
}

#[test]
fn a_single_job_alone_is_the_scenario_itself() {
    let scenario = load(MIX, &["network.routing.algorithm=\"progressive-adaptive\""])
        .alone("halo", None)
        .unwrap()
        .unwrap();
    let again = scenario.alone("halo", None).unwrap().unwrap();
    assert_eq!(again.resolved, scenario.resolved);
    assert_eq!(run(again).digest(), run(scenario).digest());
}

/// The mix, but the training starts 3 us after the end of the halo exchange, and the noise continues until the training
/// has ended.
const RULES: [&str; 4] = [
    "jobs.1.start_after=\"halo\"",
    "jobs.1.start=\"3 us\"",
    "jobs.2.until=\"training\"",
    "jobs.2.workload.uniform.messages=1000000",
];

#[test]
fn a_job_that_starts_after_others_starts_alone_at_its_delay_and_counts_from_there() {
    // Too few packets of other jobs to disturb it, so that it takes as long as alone.
    let mix = load(MIX, &[&RULES[..2], &["jobs.2.start=\"1 s\""]].concat());
    let together = run(mix.clone());
    let (halo, training) = (&together.rows().jobs[0], &together.rows().jobs[1]);
    assert!(training.start_s > halo.elapsed_s + 3e-6);
    let alone = mix.alone("training", None).unwrap().unwrap();
    assert!(alone.resolved.jobs[0].start_after.is_empty());
    let alone = run(alone);
    let row = &alone.rows().jobs[0];
    assert_eq!((alone.outcome(), row.start_s), (&Outcome::Completed, 3e-6));
    assert_eq!((row.ranks_finished, row.bytes_read), (10, training.bytes_read));
    // Beside the others its ranks learn of the end one after another, which takes some microseconds.
    assert!(
        (training.elapsed_s - row.elapsed_s).abs() < 15e-6,
        "{training:?} {row:?}"
    );
    assert!(alone.rows().ranks.iter().all(|rank| rank.start_s == 3e-6));
}

#[test]
fn stopped_traffic_sends_alone_for_as_long_as_it_did_beside_the_others() {
    let mix = load(MIX, &[&RULES[..], &["jobs.2.start=\"20 us\""]].concat());
    let together = run(mix.clone());
    assert_eq!(together.outcome(), &Outcome::Completed);
    let beside = &together.rows().jobs[2];
    let alone = mix
        .alone("noise", Some(Time::from_seconds(beside.elapsed_s)))
        .unwrap()
        .unwrap();
    assert!(alone.resolved.jobs[0].until.is_empty());
    let alone = run(alone);
    assert_eq!(alone.outcome(), &Outcome::Completed);
    let row = &alone.rows().jobs[0];
    assert_eq!((row.start_s, row.ranks_finished), (20e-6, 9));
    // It ends with its last message, and beside the others when it was stopped; 9 ranks send every 2 us each.
    assert!(row.elapsed_s <= beside.elapsed_s && row.elapsed_s > beside.elapsed_s - 5e-6);
    let ranks = together.rows().ranks.iter().filter(|rank| rank.job == "noise");
    for (one, other) in alone.rows().ranks.iter().zip(ranks) {
        // A rank that was stopped before the last one has sent less accordingly, at most 10 us of it.
        assert!(other.messages_sent > 50 && one.messages_sent >= other.messages_sent);
        assert!(one.messages_sent <= other.messages_sent + 20, "{one:?} {other:?}");
    }
}

/// Traffic with an end of its own also sends all messages that it sent beside the others, including the last.
#[test]
fn traffic_that_ends_before_its_stop_sends_the_same_messages_alone() {
    let own_end = [
        "jobs.2.workload.uniform.messages=20",
        "jobs.2.workload.uniform.arrival=\"fixed\"",
    ];
    let mix = load(MIX, &[&RULES[..3], &own_end].concat());
    let together = run(mix.clone());
    let last = Time::from_seconds(together.rows().jobs[2].elapsed_s);
    assert!(
        together.rows().jobs[1].elapsed_s > last.seconds(),
        "it is stopped later"
    );
    let alone = run(mix.alone("noise", Some(last)).unwrap().unwrap());
    assert_eq!(alone.rows().jobs[0].bytes_sent, 9 * 20 * 3 * 1024);
    assert_eq!(alone.rows().jobs[0].elapsed_s, together.rows().jobs[2].elapsed_s);
}

#[test]
fn a_stop_counts_from_the_start_that_a_job_has_alone() {
    let rules = [
        "jobs.2.start_after=\"halo\"",
        "jobs.2.start=\"300 us\"",
        "jobs.2.workload.uniform.stop=\"2 ms\"",
        RULES[3],
    ];
    let mix = load(MIX, &rules);
    assert_eq!(mix.alone("noise", None).unwrap_err().key, "jobs.2.start_after");
    let together = run(mix.clone());
    let (halo, beside) = (&together.rows().jobs[0], &together.rows().jobs[2]);
    assert!(beside.start_s > halo.elapsed_s + 300e-6 && beside.elapsed_s > 1e-3);
    let time = Time::from_seconds(beside.elapsed_s);
    let alone = mix.alone("noise", Some(time)).unwrap().unwrap();
    let Workload::Synthetic(traffic) = &*alone.resolved.jobs[0].workload else {
        panic!()
    };
    assert_eq!(traffic.stop, Some(Time(Time::from_seconds(300e-6).0 + time.0 + 1)));
    let alone = run(alone);
    let row = &alone.rows().jobs[0];
    assert_eq!(row.start_s, 300e-6);
    assert!((row.elapsed_s - beside.elapsed_s).abs() < 15e-6, "{beside:?} {row:?}");
}

#[test]
fn a_job_whose_end_depends_on_others_is_not_alone_without_a_time_and_no_other_with_one() {
    let mix = load(MIX, &RULES);
    let error = mix.alone("noise", None).unwrap_err();
    assert_eq!(error.key, "jobs.2.until");
    assert_eq!(error.value.as_deref(), Some("\"training\""));
    assert!(
        error.message.contains("\"noise\"") && error.expected.contains("the time for which it sent"),
        "{error}"
    );
    let time = Some(Time::from_seconds(1e-3));
    for job in ["halo", "training"] {
        let error = mix.alone(job, time).unwrap_err();
        assert!(error.message.contains("ends by itself"), "{error}");
        assert!(mix.alone(job, None).unwrap().is_some());
    }
    // A source that starts after others and ends with its own number of messages needs no time either.
    let mix = load(MIX, &["jobs.2.start_after=\"halo\""]);
    let alone = run(mix.alone("noise", None).unwrap().unwrap());
    assert_eq!(
        (alone.rows().jobs[0].start_s, alone.rows().jobs[0].bytes_sent),
        (0.0, 9 * 40 * 3 * 1024)
    );
    assert!(mix.alone("noise", time).is_err());
}

#[test]
fn every_job_of_an_array_is_alone_under_its_own_name() {
    let array = [
        "jobs.0.count=2",
        "jobs.0.stagger=\"30 us\"",
        "jobs.1.start_after=\"halo\"",
    ];
    let mix = load(MIX, &array);
    let together = run(mix.clone());
    for (index, job) in ["halo-0", "halo-1", "training"].into_iter().enumerate() {
        let alone = mix.alone(job, None).unwrap().unwrap();
        assert_eq!(alone.placement.jobs, [mix.placement.jobs[index].clone()]);
        let results = run(alone);
        let (row, beside) = (&results.rows().jobs[0], &together.rows().jobs[index]);
        assert_eq!((row.job.as_str(), row.ranks), (job, beside.ranks));
        assert_eq!(
            (results.outcome(), row.ranks_finished),
            (&Outcome::Completed, row.ranks)
        );
        assert_eq!(row.start_s, [0.0, 30e-6, 0.0][index]);
    }
    assert!(mix.alone("halo", None).unwrap().is_none());
}

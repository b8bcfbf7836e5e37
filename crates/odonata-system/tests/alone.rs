//! A job alone does what it does beside the others, on the same nodes, undisturbed.

use odonata_system::{Results, Simulation, scenario};
use std::time::Duration;

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
    let overrides: Vec<String> = overrides.iter().map(|&o| o.into()).collect();
    scenario::load(text, "test.toml", &overrides, None, ".").unwrap()
}

fn run(scenario: scenario::Scenario) -> Results {
    let mut simulation = Simulation::new(scenario).unwrap();
    while !simulation.advance(Duration::from_secs(60)).finished {}
    simulation.finish(false)
}

#[test]
fn alone_a_job_keeps_its_nodes_its_servers_and_its_start() {
    let mix = load(MIX, &["jobs.1.start=\"7 us\""]);
    for (index, job) in mix.resolved.jobs.iter().enumerate() {
        let alone = mix.alone(&job.name).unwrap();
        assert_eq!(alone.resolved.jobs.len(), 1);
        assert_eq!(alone.resolved.jobs[0].start, job.start);
        assert_eq!(alone.placement.jobs, [mix.placement.jobs[index].clone()]);
        assert_eq!(alone.placement.servers, mix.placement.servers);
        assert!(!alone.resolved.run.baselines);
    }
    assert!(mix.alone("nobody").is_none());
}

/// Placed from its own resolved form, a job alone comes to the same nodes: the resolved scenario says it all.
#[test]
fn the_resolved_scenario_of_a_job_alone_says_where_it_runs() {
    let mix = load(MIX, &[]);
    for job in ["halo", "training", "noise"] {
        let alone = mix.alone(job).unwrap();
        let placed = odonata_system::placement::place(&alone.resolved).unwrap();
        assert_eq!(placed, alone.placement, "{job}");
    }
}

/// Minimal routing draws nothing, so jobs that never meet in time have nothing in common but the seed: what a job
/// does alone and what it does long after the others have ended are equal to the last picosecond.
#[test]
fn alone_and_long_after_the_others_are_the_same() {
    let mix = load(MIX, &["jobs.1.start=\"10 ms\"", "jobs.2.start=\"20 ms\""]);
    let together = run(mix.clone());
    for (index, job) in mix.resolved.jobs.iter().enumerate() {
        let alone = run(mix.alone(&job.name).unwrap());
        let (one, other) = (&alone.rows().jobs[0], &together.rows().jobs[index]);
        assert_eq!(format!("{one:?}"), format!("{other:?}"));
        assert!(
            other.finished == other.ranks && other.elapsed_s < 10e-3,
            "the jobs never meet"
        );
        let ranks = together.rows().ranks.iter().filter(|rank| rank.job == job.name);
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
        .alone("halo")
        .unwrap();
    let again = scenario.alone("halo").unwrap();
    assert_eq!(again.resolved, scenario.resolved);
    assert_eq!(run(again).digest(), run(scenario).digest());
}

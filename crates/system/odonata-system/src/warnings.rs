//! Parts of a scenario that are valid and yet probably unintended.
//!
//! Mistakes are refused when the scenario is read; warnings are only reported, by `odonata check` and before a run.

mod failures;
mod ior;
pub(crate) mod links;
mod nccl;
mod reduction;
mod storage;

use odonata_topology::family;
use schemars::JsonSchema;
use serde::Serialize;

use crate::placement::JobPlacement;
use crate::scenario::Scenario;
use crate::scenario::resolved::{Job, PatternParams, Resolved, Workload};

/// Something that is probably unintended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Warning {
    /// Path of the key, joined with dots.
    pub key: String,
    /// What it is.
    pub message: String,
    /// What would not cause a warning; empty: there is no remedy.
    pub expected: String,
}

/// All warnings about `scenario`, in the order of its jobs.
pub fn warnings(scenario: &Scenario) -> Vec<Warning> {
    let resolved = &scenario.resolved;
    let mut warnings = of_jobs(scenario);
    warnings.extend(resolved.jobs.iter().flat_map(of_program));
    warnings.extend(ior::warnings(scenario));
    warnings.extend(nccl::warnings(resolved));
    warnings.extend(reduction::warnings(scenario));
    warnings.extend(links::absent(scenario));
    warnings.extend(storage::warnings(scenario));
    warnings.extend(failures::warnings(scenario));
    warnings
}

/// Warnings of the front end about the text of a job's program.
fn of_program(job: &Job) -> Vec<Warning> {
    let Workload::Program(file) = &*job.workload else {
        return Vec::new();
    };
    // Errors in it were found when the scenario was read.
    let texts = file
        .parsed()
        .map_or_else(|_| Vec::new(), |program| program.rendered_warnings());
    let warning = |message| Warning {
        key: format!("jobs.{}.program", job.entry),
        message,
        expected: "a program without warnings: odonata workload check".into(),
    };
    texts.into_iter().map(warning).collect()
}

/// Warnings about its jobs.
pub(crate) fn of_jobs(scenario: &Scenario) -> Vec<Warning> {
    let resolved = &scenario.resolved;
    let placed = resolved.jobs.iter().zip(&scenario.placement.jobs);
    placed
        .flat_map(|(job, place)| {
            let mut warnings = worst_case(job, place, resolved);
            warnings.extend(of_trace(job));
            warnings
        })
        .collect()
}

/// A trace that is replayed although it is incomplete, or not replayed in all parts.
fn of_trace(job: &Job) -> Vec<Warning> {
    let Workload::Trace(trace) = &*job.workload else {
        return Vec::new();
    };
    let warning = |message: &str, expected: &str| Warning {
        key: format!("jobs.{}.trace", job.entry),
        message: message.to_owned(),
        expected: expected.to_owned(),
    };
    let damage = trace.damage().map(|damage| warning(damage, "a complete trace"));
    let notes = trace.notes().iter().map(|note| warning(note, ""));
    damage.into_iter().chain(notes).collect()
}

/// Traffic that was requested as the machine's worst case, but whose ranks are not where the pattern assumes them.
fn worst_case(job: &Job, place: &JobPlacement, scenario: &Resolved) -> Vec<Warning> {
    let Workload::Synthetic(traffic) = &*job.workload else {
        return Vec::new();
    };
    if !traffic.worst_case {
        return Vec::new();
    }
    let warning = |message: String, expected: String| Warning {
        key: format!("jobs.{}.workload.worst-case", job.entry),
        message: format!("job {}: {message}", job.name),
        expected,
    };
    let layout = &scenario.layout;
    let compute = layout.compute_nodes(scenario.storage.as_ref()).len() as u64;
    let room = compute * u64::from(job.ranks_per_node);
    let mut warnings = Vec::new();
    if u64::from(*job.ranks) < room {
        let message = format!(
            "{} ranks do not fill the machine, which has room for {room}: links of the other nodes stay idle",
            *job.ranks
        );
        warnings.push(warning(message, format!("ranks = {room}")));
    }
    if let Some(message) = misplaced(job, place, &traffic.pattern, scenario) {
        warnings.push(warning(message, "placement = \"contiguous\"".into()));
    }
    warnings
}

/// Which ranks are not where the pattern assumes them; `None` if all are.
///
/// Consecutive ranks send to consecutive ranks, over the links of one group, router or pod: in a dragonfly this works
/// in any group that has no other ranks; otherwise only in the one with their own number.
fn misplaced(job: &Job, place: &JobPlacement, pattern: &PatternParams, scenario: &Resolved) -> Option<String> {
    let layout = &scenario.layout;
    let by_router = |node: u32| layout.router_of(node);
    let (what, unit, any): (&str, u32, bool) = match pattern {
        PatternParams::NextGroup { ranks_per_group } => ("group", **ranks_per_group, true),
        PatternParams::Shift { by } => ("pod", **by, false),
        PatternParams::Grid { ranks_per_router, .. } => ("router", **ranks_per_router, false),
        _ => ("router", *job.ranks / layout.routers(), false),
    };
    let nodes_of_a_pod = match scenario.machine.kind.worst_case() {
        family::WorstCase::NextSubtree { nodes } => nodes,
        _ => 1,
    };
    let place_of = |node: u32| match what {
        "group" => layout.group_of(node),
        "pod" => node / nodes_of_a_pod,
        _ => by_router(node),
    };
    let mut owner = std::collections::BTreeMap::new();
    for (rank, &node) in (0..).zip(&place.nodes) {
        let (block, found) = (rank / unit.max(1), place_of(node));
        // The location of the first rank of a block stands for the block.
        let first = rank - rank % unit.max(1);
        let expected = if any {
            place_of(place.nodes[first as usize])
        } else {
            block
        };
        if found != expected {
            return Some(match any {
                true => format!(
                    "not the worst case: rank {rank} is in group {found}, and rank {first}, which sends to the same \
                     group, in group {expected}"
                ),
                false => format!("not the worst case: rank {rank} is at {what} {found}, not at {what} {expected}"),
            });
        }
        let other = *owner.entry(found).or_insert(block);
        if other != block {
            let before = other * unit.max(1);
            return Some(format!(
                "not the worst case: ranks {before} and {rank}, which send to different groups, are both in group {found}"
            ));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario;

    const DRAGONFLY: &str =
        "[machine.dragonfly]\ngroups = 9\nrouters_per_group = 4\nnodes_per_router = 2\nglobal_ports_per_router = 2\n";

    fn warnings_of(machine: &str, job: &str) -> Vec<Warning> {
        let text = format!("{machine}[[jobs]]\nname = \"worst\"\n{job}");
        let loaded = scenario::load(&text, "s.toml", &[], None, "").unwrap_or_else(|error| panic!("{error}\n{text}"));
        warnings(&loaded)
    }

    const TRAFFIC: &str = "workload = { worst-case = { load = 0.5, messages = 3 } }\n";

    /// On every family a job that fills the machine in order is its worst case, and a randomly placed one is not.
    #[test]
    fn only_a_job_that_fills_the_machine_in_order_is_its_worst_case() {
        let machines = [
            (DRAGONFLY, 72),
            ("[machine.torus]\ndims = [5, 4]\nnodes_per_router = 2\n", 40),
            ("[machine.hyperx]\ndims = [4, 4]\nnodes_per_router = 2\n", 32),
            ("[machine.fat-tree]\nk = 3\nn = 3\n", 27),
            ("[machine.slim-fly]\nq = 5\nnodes_per_router = 2\n", 100),
        ];
        for (machine, ranks) in machines {
            let job = format!("ranks = {ranks}\n{TRAFFIC}");
            assert_eq!(warnings_of(machine, &job), [], "{machine}");
            let two = format!("ranks = {}\nranks_per_node = 2\n{TRAFFIC}", 2 * ranks);
            assert_eq!(warnings_of(machine, &two), [], "{machine}");
            let found = warnings_of(machine, &format!("placement = \"random\"\n{job}"));
            assert_eq!(found.len(), 1, "{machine} {found:?}");
            assert_eq!(found[0].key, "jobs.0.workload.worst-case");
            assert!(
                found[0].message.contains("job worst: not the worst case: rank"),
                "{found:?}"
            );
            assert_eq!(found[0].expected, "placement = \"contiguous\"");
        }
    }

    /// Whole groups may be anywhere: all pairs of groups have the same cables.
    #[test]
    fn the_groups_of_a_dragonfly_may_be_in_any_order() {
        let job = |first: u32, second: u32| {
            let nodes: Vec<String> = [first, second]
                .iter()
                .flat_map(|group| (8 * group..8 * group + 8).map(|node| node.to_string()))
                .collect();
            let placement = format!("placement = {{ nodes = [{}] }}\n", nodes.join(", "));
            warnings_of(DRAGONFLY, &format!("ranks = 16\n{placement}{TRAFFIC}"))
        };
        let found = job(7, 2);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(
            found[0].message,
            "job worst: 16 ranks do not fill the machine, which has room for 72: links of the other nodes stay idle"
        );
        assert_eq!(found[0].expected, "ranks = 72");
    }

    #[test]
    fn other_traffic_has_no_worst_case() {
        let uniform = "ranks = 24\nplacement = \"random\"\nworkload = { uniform = { load = 0.5, messages = 3 } }\n";
        assert_eq!(warnings_of(DRAGONFLY, uniform), []);
    }

    #[test]
    fn links_that_the_machine_does_not_have_are_reported() {
        let uniform = "ranks = 4\nworkload = { uniform = { load = 0.5, messages = 3 } }\n";
        let links = "[network.links]\nlocal = { latency = \"60 ns\" }\nglobal = { latency = \"70 ns\" }\n";
        let torus = "[machine.torus]\ndims = [4, 4]\n";
        let found = warnings_of(&format!("{torus}{links}"), uniform);
        assert_eq!((found.len(), found[0].key.as_str()), (1, "network.links.global"));
        assert_eq!(
            found[0].message,
            "machines of kind torus have no global links: the table has no effect"
        );
        assert_eq!(warnings_of(&format!("{DRAGONFLY}{links}"), uniform), []);
        // The preset is for all kinds of machines.
        assert_eq!(warnings_of(&format!("preset = \"booksim\"\n{torus}"), uniform), []);
    }
}

//! IOR and mdtest that measure something else than was asked for: flags on their command lines that mean nothing to a simulation,
//! tasks that read where nobody wrote.

use std::collections::BTreeSet;

use odonata_workload::skeletons::{Ior, Mdtest, Skeleton};

use super::Warning;
use crate::scenario::Scenario;
use crate::scenario::resolved::{FileLayout, Job, Workload};

/// What there is to say of the command lines of IOR and mdtest in `scenario`.
pub(super) fn warnings(scenario: &Scenario) -> Vec<Warning> {
    // The jobs of an array have one entry.
    let entries: BTreeSet<u32> = scenario.resolved.jobs.iter().map(|job| job.entry).collect();
    let keys = entries.into_iter().flat_map(|entry| {
        let at = format!("jobs.{entry}.workload");
        let phases = scenario.resolved.jobs.iter().find(|job| job.entry == entry);
        let phases = match phases.map(|job| &*job.workload) {
            Some(Workload::Phases(list)) => list.len(),
            _ => 0,
        };
        let of_phase = (0..phases).map(|phase| format!("{at}.{phase}"));
        of_phase.chain([at.clone()]).collect::<Vec<_>>()
    });
    let lines = keys.flat_map(|at| [(format!("{at}.ior"), true), (format!("{at}.mdtest"), false)]);
    let flags = lines.filter_map(|(key, is_ior)| {
        let line = scenario.document.text_at(&key)?;
        let flags = match is_ior {
            true => Ior::flags_without_effect(line),
            false => Mdtest::flags_without_effect(line),
        };
        (!flags.is_empty()).then(|| Warning {
            key,
            message: format!("changes nothing in a simulation: {}", flags.join(", ")),
            expected: "the command line without".into(),
        })
    });
    flags
        .chain(scenario.resolved.jobs.iter().flat_map(|job| of_job(scenario, job)))
        .collect()
}

/// What there is to say of what IOR does in `job`.
fn of_job(scenario: &Scenario, job: &Job) -> Vec<Warning> {
    let phases = match &*job.workload {
        Workload::Phases(list) => list.as_slice(),
        single => std::slice::from_ref(single),
    };
    let params = phases.iter().filter_map(|phase| match phase {
        Workload::Skeleton(Skeleton::Ior(ior)) => Some(&ior.0),
        _ => None,
    });
    let servers = scenario.placement.servers.len() as u32;
    let assigned = servers > 1 && scenario.resolved.layout_of_files(job, servers) == FileLayout::Assigned;
    let key = format!("jobs.{}.workload", job.entry);
    let mut warnings = Vec::new();
    for params in params {
        if assigned && (params.reorder_tasks || params.reorder_tasks_random) {
            warnings.push(Warning {
                key: key.clone(),
                message: format!(
                    "job {}: tasks read what others wrote (-C, -Z), but each task's part of a file is on its own server: what one \
                     writes is not where the other reads",
                    job.name
                ),
                expected: "a layout that goes by the file: hash, random, round-robin or striped".into(),
            });
        }
    }
    warnings
}

#[cfg(test)]
mod tests {
    use crate::scenario;

    fn said(workload: &str) -> Vec<(String, String)> {
        let text = format!(
            "[machine.torus]\ndims = [4, 4]\n[storage]\nnodes = {{ list = [0, 1] }}\n[[jobs]]\nname = \"a\"\nranks = 4\n{workload}\n"
        );
        let loaded = scenario::load(&text, "s.toml", &[], None, "").unwrap_or_else(|error| panic!("{error}\n{text}"));
        (super::warnings(&loaded).into_iter())
            .map(|warning| (warning.key, warning.message))
            .collect()
    }

    #[test]
    fn flags_without_effect_are_told_with_the_reason() {
        let found = said("workload = { ior = \"-w -v -o /scratch/f\" }");
        let told = "changes nothing in a simulation: -v (verbose: it is about IOR's output), -o (testFile: files have \
                    numbers here)";
        assert_eq!(found, [("jobs.0.workload.ior".to_string(), told.to_string())]);
        let found = said("workload = [{ ior = \"-w\" }, { ior = \"-r -B\" }]");
        assert_eq!((found.len(), found[0].0.as_str()), (1, "jobs.0.workload.1.ior"));
        let found = said("workload = { mdtest = \"-n 3 -d /scratch/m\" }");
        let told = "changes nothing in a simulation: -d (directory: files have numbers here)";
        assert_eq!(found, [("jobs.0.workload.mdtest".to_string(), told.to_string())]);
        assert_eq!(said("workload = { ior = \"-w -t 1m -b 4m\" }"), []);
        assert_eq!(said("workload = { ior = { writeFile = true } }"), []);
        let found = said("workload = { ior = \"-w -r -C\" }");
        assert!(
            found[0].1.contains("what one writes is not where the other reads"),
            "{found:?}"
        );
    }
}

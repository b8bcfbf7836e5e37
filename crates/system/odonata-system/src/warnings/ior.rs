//! IOR and mdtest runs that measure something other than requested: options that have no effect in a simulation, tasks
//! that read data that were never written.

use std::collections::BTreeSet;

use odonata_units::Time;
use odonata_workload::skeletons::{Ior, IorParams, Mdtest, Skeleton};

use super::Warning;
use crate::scenario::Scenario;
use crate::scenario::resolved::{FileLayout, Job, Workload};
use crate::scenario::workload::IorTests;

/// Warnings about the command lines of IOR and mdtest in `scenario`.
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
            expected: "a command line without".into(),
        })
    });
    flags
        .chain(scenario.resolved.jobs.iter().flat_map(|job| of_job(scenario, job)))
        .collect()
}

/// Warnings about the IOR tests in `job`.
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
                    "job {}: tasks read data that other tasks wrote (-C, -Z), but each task reads and writes at its \
                     own server",
                    job.name
                ),
                expected: "a layout that depends on the file: hash, random, round-robin or striped".into(),
            });
        }
    }
    let tests = IorTests::of(phases);
    let sharing = scenario
        .resolved
        .jobs
        .iter()
        .filter(|other| other.directory() == job.directory())
        .count()
        > 1;
    for (number, phase) in phases.iter().enumerate() {
        let Workload::Skeleton(Skeleton::Ior(Ior(test))) = phase else {
            continue;
        };
        if let Some((what, expected)) = never_written(test, tests.writer_before(number)).filter(|_| !sharing) {
            let key = match &*job.workload {
                Workload::Phases(_) => format!("{key}.{number}.ior"),
                _ => format!("{key}.ior"),
            };
            warnings.push(Warning {
                key,
                message: format!("job {}: {what}", job.name),
                expected: expected.into(),
            });
        }
    }
    warnings
}

/// Which data that `test` reads were never written, and what should be; `before` is the test that last wrote its files
/// before it begins.
fn never_written(test: &IorParams, before: Option<&IorParams>) -> Option<(String, &'static str)> {
    let reads = *test.read_file || test.check_read || test.check_write;
    let file = &test.test_file;
    if !reads {
        return None;
    }
    let writer = if *test.write_file { Some(test) } else { before };
    let Some(writer) = writer else {
        let what = format!("it reads {file:?}, which no earlier test of the job wrote and kept");
        return Some((what, "a test with -w -k before it, and the same -o"));
    };
    if writer.file_per_proc != test.file_per_proc {
        let what = format!("it reads {file:?} with filePerProc (-F) unlike the write");
        return Some((what, "the same -F"));
    }
    let size = |test: &IorParams| test.block_size.0.saturating_mul(test.segment_count.into());
    if size(test) > size(writer) {
        let what = format!(
            "each task reads {} of {file:?}, of which it has written {}",
            odonata_units::Bytes(size(test)),
            odonata_units::Bytes(size(writer))
        );
        return Some((what, "blocks and segments (-b, -s) no larger than in the write"));
    }
    if writer.deadline_for_stonewalling == Time::ZERO {
        return None;
    }
    // The writers stopped early; readers stop at the same point within one test, or according to the status file.
    let status = !test.stone_walling_status_file.is_empty()
        && test.stone_walling_status_file == writer.stone_walling_status_file;
    if !std::ptr::eq(writer, test) && !status {
        let what = format!("it reads all of {file:?}, whose write stopped at its deadline (-D)");
        return Some((
            what,
            "the same -O stoneWallingStatusFile=NAME in both, and stoneWallingWearOut=1 in the write",
        ));
    }
    let elsewhere = test.reorder_tasks || test.reorder_tasks_random;
    if test.random_offset || (elsewhere && !writer.stone_walling_wear_out) {
        let what = "tasks stop at their deadline (-D), and read other offsets than they wrote (-C, -Z, -z)".to_owned();
        return Some((what, "-O stoneWallingWearOut=1, without -z"));
    }
    None
}

#[cfg(test)]
mod tests {
    use crate::scenario;

    fn warnings_of(workload: &str) -> Vec<(String, String)> {
        let text = format!(
            "[machine.torus]\ndims = [4, 4]\n[storage]\nnodes = {{ list = [0, 1] }}\n[[jobs]]\nname = \"a\"\nranks = 4\n{workload}\n"
        );
        let loaded = scenario::load(&text, "s.toml", &[], None, "").unwrap_or_else(|error| panic!("{error}\n{text}"));
        (super::warnings(&loaded).into_iter())
            .map(|warning| (warning.key, warning.message))
            .collect()
    }

    #[test]
    fn flags_without_effect_are_reported_with_the_reason() {
        let found = warnings_of("workload = { ior = \"-w -v -B -o /scratch/f\" }");
        let expected = "changes nothing in a simulation: -v (verbose: it concerns IOR's output only), -B (useO_DIRECT: nodes have no page cache)";
        assert_eq!(found, [("jobs.0.workload.ior".to_string(), expected.to_string())]);
        let found = warnings_of("workload = [{ ior = \"-w -k\" }, { ior = \"-r -B\" }]");
        assert_eq!((found.len(), found[0].0.as_str()), (1, "jobs.0.workload.1.ior"));
        let found = warnings_of("workload = { mdtest = \"-n 3 -d /scratch/m\" }");
        let expected = "changes nothing in a simulation: -d (directory: simulated files have numbers, not names)";
        assert_eq!(found, [("jobs.0.workload.mdtest".to_string(), expected.to_string())]);
        assert_eq!(warnings_of("workload = { ior = \"-w -t 1m -b 4m\" }"), []);
        assert_eq!(warnings_of("workload = { ior = { writeFile = true } }"), []);
        let found = warnings_of("workload = { ior = \"-w -r -C\" }");
        assert!(
            found[0].1.contains("each task reads and writes at its own server"),
            "{found:?}"
        );
    }

    #[test]
    fn reads_of_unwritten_data_are_reported() {
        let wear_out = "-O stoneWallingWearOut=1,stoneWallingStatusFile=s";
        for (tests, expected) in [
            (vec!["-w -r"], None),
            (vec!["-w -r -D 1"], None),
            (vec!["-r"], Some((0, "no earlier test of the job wrote"))),
            (vec!["-w", "-r"], Some((1, "no earlier test of the job wrote"))),
            (vec!["-w -k", "-r"], None),
            (
                vec!["-w -k -o a", "-r -o b"],
                Some((1, "it reads \"b\", which no earlier test")),
            ),
            (vec!["-w -k -o a", "-w -k -o b", "-r -o a"], None),
            (
                vec!["-w -k", "-w -F", "-r"],
                Some((2, "no earlier test of the job wrote")),
            ),
            (vec!["-w -k", "-r -F"], Some((1, "filePerProc (-F) unlike the write"))),
            (
                vec!["-w -k -b 2m", "-r -b 4m"],
                Some((
                    1,
                    "each task reads 4 MiB of \"testFile\", of which it has written 2 MiB",
                )),
            ),
            (vec!["-w -k -D 1", "-r"], Some((1, "stopped at its deadline (-D)"))),
            (
                vec![&format!("-w -k -D 1 {wear_out}"), "-r -k -O stoneWallingStatusFile=s"],
                None,
            ),
            (
                vec!["-w -r -D 1 -z -F"],
                Some((0, "read other offsets than they wrote")),
            ),
        ] {
            let list: Vec<String> = tests.iter().map(|line| format!("{{ ior = \"{line}\" }}")).collect();
            let found = warnings_of(&format!("workload = [{}]", list.join(", ")));
            match expected {
                None => assert_eq!(found, [], "{tests:?}"),
                Some((number, what)) => {
                    let [(key, message)] = &found[..] else {
                        panic!("{tests:?}: {found:?}")
                    };
                    assert_eq!(*key, format!("jobs.0.workload.{number}.ior"), "{tests:?}");
                    assert!(message.contains(what), "{message}");
                }
            }
        }
    }
}

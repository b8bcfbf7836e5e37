//! Requirements that all registered trace formats are tested for.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use odonata_program_file::{Options, write};
use odonata_system::FORMATS;
use odonata_trace_format::{CANCELLED, ReadOptions, Severity};
use odonata_workload::skeletons::{Stencil, StencilParams};
use serde::Deserialize;

/// Information that every format has about a trace.
#[derive(Debug, Deserialize, PartialEq)]
struct Common {
    name: String,
    nranks: u32,
    total_records: u64,
    total_op_counts: BTreeMap<String, u64>,
    total_sends: u64,
    total_send_bytes: u64,
    total_recvs_posted: u64,
    total_persistent_starts: u64,
    total_collective_calls: BTreeMap<String, u64>,
}

fn folder(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("odonata-formats-{name}-{}", std::process::id()));
    let _ = fs::remove_dir_all(&path);
    fs::create_dir(&path).unwrap();
    path
}

fn dumpi() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../tests/traces/dumpi/halo-8")
}

/// A trace of each format, and the name of the format.
fn traces(folder: &Path) -> Vec<(PathBuf, &'static str)> {
    let params = StencilParams {
        iterations: 2,
        ..StencilParams::default()
    };
    let program = folder.join("stencil.program");
    write(
        &Stencil::new(8, params).unwrap(),
        &program,
        &Options::default(),
        &mut |_, _| true,
    )
    .unwrap();
    let goal = folder.join("ring.goal");
    let ring = (0..8).map(|rank| {
        let (next, last) = ((rank + 1) % 8, (rank + 7) % 8);
        format!("rank {rank} {{ a: calc 50 b: send 64b to {next} b requires a recv 64b from {last} }}\n")
    });
    fs::write(&goal, format!("num_ranks 8\n{}", ring.collect::<String>())).unwrap();
    vec![(dumpi(), "DUMPI"), (program, "program folder"), (goal, "GOAL")]
}

#[test]
fn every_format_recognizes_its_traces_and_gives_the_common_facts() {
    let folder = folder("common");
    let traces = traces(&folder);
    assert_eq!(traces.len(), FORMATS.0.len(), "one of each");
    let options = ReadOptions::default();
    for (path, name) in traces {
        let of_format: Vec<&str> = FORMATS.0.iter().filter(|f| f.detect(&path)).map(|f| f.name()).collect();
        assert_eq!(of_format, [name]);
        let format = FORMATS.at(&path).ok().unwrap();
        let common: Common = serde_json::from_str(&format.inspect(&path, &options).unwrap()).unwrap();
        let opened = format.open(&path, &options).unwrap();
        assert_eq!((common.nranks, opened.program.ranks()), (8, 8), "{name}");
        assert_eq!(path.file_name().unwrap().to_str(), Some(common.name.as_str()));
        assert_eq!(
            common.total_op_counts.values().sum::<u64>(),
            common.total_records,
            "{name}"
        );
        assert!(common.total_sends > 0 && common.total_send_bytes > 0 && common.total_recvs_posted > 0);
        let findings = format.lint(&path, &options).unwrap();
        assert!(
            findings.iter().all(|finding| finding.severity == Severity::Note),
            "{findings:?}"
        );
    }
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn every_format_ends_its_work_when_it_is_cancelled() {
    let folder = folder("cancelled");
    let options = ReadOptions::default();
    options.cancellation.request();
    for (path, name) in traces(&folder) {
        let format = FORMATS.at(&path).ok().unwrap();
        let problems = [
            format.open(&path, &options).err(),
            format.inspect(&path, &options).err(),
            format.lint(&path, &options).err(),
        ];
        for error in problems {
            let problem = error.map_or("none".into(), |error| error.problem);
            assert!(problem.ends_with(CANCELLED), "{name}: {problem}");
        }
        let target = folder.join("again");
        format.repeat(&path, &target, 2, &options).unwrap_err();
        assert!(!target.exists(), "{name}");
    }
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn an_unknown_format_is_refused_with_the_known_ones() {
    let folder = folder("unknown");
    fs::write(folder.join("app.otf2"), "").unwrap();
    let expected = "a program folder, or a GOAL schedule (.goal, LogGOPSim's binary form, or the folder of one), or the folder of a DUMPI trace, or its \
                    .meta file";
    for path in [&folder, &folder.join("app.otf2"), &folder.join("none")] {
        let error = FORMATS.at(path).err().unwrap();
        assert_eq!(error.expected, expected);
    }
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn the_memory_of_opening_follows_from_the_sizes_of_the_tables() {
    let folder = folder("memory");
    let options = ReadOptions::default();
    let (mut all_lists, mut all_communicators) = (0, 0);
    for name in ["collectives-5", "grids-6"] {
        let trace = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../../../tests/traces/dumpi")
            .join(name);
        let format = FORMATS.at(&trace).ok().unwrap();
        // A DUMPI file states none of it.
        assert_eq!(format.least_memory(&trace), 0);
        let opened = format.open(&trace, &options).unwrap();
        let target = folder.join(name);
        write(&opened.program, &target, &Options::default(), &mut |_, _| true).unwrap();
        let format = FORMATS.at(&target).ok().unwrap();
        let found: serde_json::Value = serde_json::from_str(&format.inspect(&target, &options).unwrap()).unwrap();
        let number = |key: &str| found["contents"][key].as_u64().unwrap();
        let (lists, communicators) = (number("lists"), number("communicators"));
        // 12 bytes for each list, and for each member: 1 to 6 in a communicator.
        let least = format.least_memory(&target);
        let of_lists = 12 * lists;
        assert!(
            (of_lists + 12 * communicators..=of_lists + 72 * communicators).contains(&least),
            "{name}: {least} bytes for {lists} lists and {communicators} communicators"
        );
        fs::write(target.join("counts.parquet"), "damaged").unwrap();
        assert_eq!(format.least_memory(&target), least - of_lists);
        all_lists += lists;
        all_communicators += communicators;
    }
    assert!(
        all_lists > 0 && all_communicators > 0,
        "{all_lists} lists, {all_communicators} communicators"
    );
    fs::remove_dir_all(&folder).unwrap();
}

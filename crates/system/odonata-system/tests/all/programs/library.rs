//! Programs of the library (`programs/`) in a machine, compared with the equivalent skeletons.

use crate::common::finish;
use std::path::{Path, PathBuf};

use odonata_program_file::{Options, write};
use odonata_system::{Outcome, Results, scenario};

const MACHINE: &str = "[machine.dragonfly]\ngroups = 5\nrouters_per_group = 2\nnodes_per_router = 4\n\
                       global_ports_per_router = 2\n";
const STORAGE: &str = "[storage]\nnodes = { per_group = 1 }\n\
                       device = { capacity = \"100 GB\", rate = { write = \"5 GB/s\", read = \"5 GB/s\" } }\n";

fn load(scenario: &str) -> scenario::Scenario {
    let folder: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../programs");
    scenario::load(scenario, "test.toml", &[], None, &folder).unwrap_or_else(|e| panic!("{e:?}"))
}

fn run(scenario: &str) -> Results {
    let results = finish(load(scenario));
    assert_eq!(*results.outcome(), Outcome::Completed, "{}", results.run_json());
    results
}

/// Runs both, and compares every column of every table except the one that describes the workload.
fn assert_same(extra: &str, ranks: u32, native: &str, program: &str) {
    let job = |what: &str| {
        format!("{MACHINE}{extra}[[jobs]]\nname = \"job\"\nranks = {ranks}\nplacement = \"random\"\n{what}\n")
    };
    let (native, program) = (run(&job(native)), run(&job(program)));
    assert!(native.rows().messages.len() > 100);
    let mut compared = 0;
    for (native, program) in native.tables().unwrap().iter().zip(program.tables().unwrap()) {
        assert_eq!(
            (native.name, native.batch.schema()),
            (program.name, program.batch.schema())
        );
        let schema = native.batch.schema();
        for (field, (one, other)) in schema
            .fields()
            .iter()
            .zip(native.batch.columns().iter().zip(program.batch.columns()))
        {
            if (native.name, field.name().as_str()) != ("jobs", "workload") {
                assert_eq!(one, other, "{}.{}", native.name, field.name());
                compared += 1;
            }
        }
    }
    assert!(compared > 50, "{compared} columns");
    assert_eq!(native.digest(), program.digest());
}

/// The skeleton waits for its sends, then for its receives, and handles what arrives only in the second wait; AWAITS
/// COMPLETION also handles receives while it waits for sends. If handling takes no time, both are the same.
#[test]
fn milc_gives_the_tables_of_the_skeleton() {
    assert_same(
        "[mpi]\nrecv_overhead = \"0 s\"\n",
        36,
        "workload = { milc = { iterations = 2, message = \"20000 B\", compute = \"3 us\" } }",
        "program = \"milc.ncptl\"\nargs = [\"-i\", \"2\", \"-b\", \"20000\", \"-c\", \"3000\"]",
    );
}

#[test]
fn nekbone_gives_the_tables_of_the_skeleton() {
    assert_same(
        "",
        30,
        "workload = { nekbone = { orders = [3], cg_iterations = 2, elements_per_edge = 4 } }",
        "program = \"nekbone.ncptl\"\nargs = [\"-f\", \"3\", \"-l\", \"3\", \"-i\", \"2\", \"-e\", \"4\"]",
    );
}

fn jacobi(message: u32) -> (String, String) {
    (
        format!("workload = {{ stencil = {{ iterations = 3, message = \"{message} B\", compute = \"10 us\" }} }}"),
        format!("program = \"jacobi3d.ncptl\"\nargs = [\"-i\", \"3\", \"-b\", \"{message}\", \"-c\", \"10000\"]"),
    )
}

/// Eager and by rendezvous. The stencil waits for its receives, then for its sends; AWAITS COMPLETION waits for all.
/// Both handle receives as they arrive.
#[test]
fn jacobi_gives_the_tables_of_the_stencil() {
    for message in [10_000, 100_000] {
        let (native, program) = jacobi(message);
        assert_same("", 24, &native, &program);
    }
}

#[test]
fn checkpoint_gives_the_tables_of_the_skeleton() {
    assert_same(
        STORAGE,
        32,
        "workload = { checkpoint = { iterations = 2, total = \"64 MB\", interval = \"1 ms\" } }",
        "program = \"checkpoint.ncptl\"\nargs = [\"-i\", \"2\", \"-t\", \"64000000\", \"-n\", \"1000000\"]",
    );
}

#[test]
fn cosmoflow_gives_the_tables_of_the_skeleton() {
    for (pipelined, ahead) in [(true, 1), (false, 0)] {
        assert_same(
            STORAGE,
            20,
            &format!(
                "workload = {{ cosmoflow = {{ iterations = 3, elements = 10000, sample = \"1 MB\", compute = \"1 ms\", \
                 pipelined = {pipelined} }} }}"
            ),
            &format!(
                "program = \"cosmoflow.ncptl\"\n\
                 args = [\"-i\", \"3\", \"-e\", \"10000\", \"-s\", \"1000000\", \"-c\", \"1000000\", \"-a\", \"{ahead}\"]"
            ),
        );
    }
}

/// The same training three times: native, in coNCePTuaL, and the coNCePTuaL program in files. A digest covers times,
/// bytes, messages and packets.
#[test]
fn cosmoflow_has_one_digest_as_a_skeleton_in_conceptual_and_in_files() {
    let job = |what: &str| {
        format!("{MACHINE}{STORAGE}[[jobs]]\nname = \"job\"\nranks = 20\nplacement = \"random\"\n{what}\n")
    };
    let native =
        job("workload = { cosmoflow = { iterations = 3, elements = 10000, sample = \"1 MB\", compute = \"1 ms\" } }");
    let program = job("program = \"cosmoflow.ncptl\"\n\
         args = [\"-i\", \"3\", \"-e\", \"10000\", \"-s\", \"1000000\", \"-c\", \"1000000\"]");
    let files = std::env::temp_dir().join(format!("odonata-cosmoflow-{}.program", std::process::id()));
    let loaded = load(&program).resolved.jobs[0].program().unwrap().unwrap();
    let operations = write(&*loaded, &files, &Options::default(), &mut |_, _| true).unwrap();
    // Each step awaits, closes, computes, reduces, marks, and once opens and begins to read.
    assert_eq!(operations, 20 * 3 * 7);
    let in_files = job(&format!("trace = {files:?}")).replace("ranks = 20\n", "");
    let results = [run(&native), run(&program), run(&in_files)];
    std::fs::remove_dir_all(&files).unwrap();
    let digests = results.each_ref().map(|results| results.digest());
    assert_eq!(digests, [digests[0]; 3]);
    // The run is not empty: the gradients of three steps are sent, and 60 samples are read.
    for results in &results {
        let ranks = &results.rows().ranks;
        assert_eq!(ranks.iter().map(|rank| rank.bytes_read).sum::<u64>(), 60_000_000);
        assert!(results.rows().messages.len() > 100);
    }
}

//! A run resumed from its snapshot gives the same results as without interruption; nothing else can be resumed.

mod shared;

use crate::common;
use odonata_engine::random::Purpose;
use odonata_engine::{Digest, Model, Stream};
use odonata_machine::run_with_restarts;
use odonata_system::scenario::Scenario;
use odonata_system::{InputError, Results, Simulation, build};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// 40 nodes, 5 of them storage servers.
const MACHINE: &str = "\
[machine.dragonfly]
groups = 5
routers_per_group = 4
nodes_per_router = 2
global_ports_per_router = 2
[network.links.global]
buffer = \"16 KiB\"
[storage]
nodes = { per_group = 1 }
device = { capacity = \"1 GB\" }
";

/// Uniform traffic of about a million events, and a job that writes.
const LONG: &str = "
[run]
series_interval = \"100 us\"
[[jobs]]
name = \"traffic\"
ranks = 24
workload = { uniform = { bytes = \"6 KiB\", mean_interval = \"2 us\", messages = 2500 } }
[[jobs]]
name = \"saver\"
ranks = 8
workload = { checkpoint = { iterations = 20, total = \"8 MB\", interval = \"100 us\" } }
";

fn load(text: &str, overrides: &[&str]) -> Scenario {
    common::load(&format!("{MACHINE}{text}"), overrides).unwrap_or_else(|error| panic!("{error}:\n{text}"))
}

fn finish(mut simulation: Simulation) -> Results {
    while !simulation.advance(Duration::from_secs(60)).finished {}
    simulation.finish(false)
}

/// A run that is saved to `path` and resumed after every slice of events, in its final state, and how often it was
/// resumed.
fn leg_by_leg(scenario: &Scenario, path: &Path) -> (Simulation, u32) {
    let mut simulation = Simulation::new(scenario.clone()).unwrap();
    let mut legs = 0;
    while !simulation.advance(Duration::ZERO).finished {
        simulation.save_to(path).unwrap();
        simulation = Simulation::resume(scenario.clone(), path).unwrap();
        legs += 1;
    }
    (simulation, legs)
}

fn refusal(scenario: Scenario, path: &Path) -> InputError {
    match Simulation::resume(scenario, path) {
        Ok(_) => panic!("this should have been refused"),
        Err(error) => error,
    }
}

/// A separate folder for a test, which removes it at its end.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Scratch {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        Scratch(folder)
    }

    fn files(&self) -> Vec<String> {
        let name = |entry: std::io::Result<std::fs::DirEntry>| entry.unwrap().file_name().into_string().unwrap();
        let mut names: Vec<String> = std::fs::read_dir(&self.0).unwrap().map(name).collect();
        names.sort();
        names
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).ok();
    }
}

/// All results of a run, except its cost and how it was executed.
fn content(results: &Results) -> String {
    let mut run = results.run_json();
    // Schedulers on several threads differ in the number of idle wake-ups that they handle.
    if run["scheduler"] != "sequential" {
        run.as_object_mut().unwrap().remove("events").unwrap();
    }
    for cost in [
        "wall_s",
        "cpu_s",
        "packet_hops_per_cpu_s",
        "peak_rss_bytes",
        "state_bytes_per_node",
        "schedule",
    ] {
        run.as_object_mut().unwrap().remove(cost).unwrap();
    }
    format!("{run} {:?}", results.rows())
}

/// A small scenario with a random choice of all features.
fn random_scenario(seed: u64) -> Scenario {
    let mut random = Stream::new(seed, 0, Purpose::Host);
    let mut one_of = |choices: &[&'static str]| choices[random.below(choices.len() as u32) as usize];
    let mut text = String::new();
    for _ in 0..1 + seed % 3 {
        let name = format!("job-{}", text.len());
        let workload = one_of(&[
            "stencil = { dims = [2, 2], message = \"20 KiB\", iterations = 3, compute = \"2 us\", allreduce = \"64 B\" }",
            "cosmoflow = { iterations = 2, elements = 3000, sample = \"40 KiB\", compute = \"5 us\" }",
            "checkpoint = { total = \"300 KiB\", interval = \"4 us\" }",
            "milc = { dims = [2, 2, 1, 1], iterations = 2 }",
            "permutation = { bytes = \"3 KiB\", mean_interval = \"1 us\", messages = 40 }",
            "hot-spot = { share = 0.3, bytes = \"1 KiB\", mean_interval = \"2 us\", messages = 30, on = \"9 us\", off = \"5 us\" }",
        ]);
        let placement = one_of(&["random", "contiguous", "random-router"]);
        text += &format!(
            "[[jobs]]\nname = \"{name}\"\nranks = 4\nplacement = \"{placement}\"\nworkload = {{ {workload} }}\n"
        );
    }
    if seed.is_multiple_of(2) {
        text += "[[jobs]]\nname = \"last\"\nranks = 4\nstart_after = \"job-0\"\nstart = \"1 us\"\n\
                 workload = [{ stencil = { iterations = 1, compute = \"9 us\" } }, { checkpoint = { total = \"64 KiB\", interval = \"3 us\" } }]\n\
                 [[jobs]]\nname = \"noise\"\nranks = 6\nuntil = \"last\"\n\
                 workload = { uniform = { bytes = \"2 KiB\", mean_interval = \"3 us\" } }\n";
    }
    // In the file, because not every router and routing uses them: settings of the command line may replace those.
    let (queues, via) = (one_of(&["fifo", "virtual-output"]), one_of(&["group", "router"]));
    text += &format!("[network]\ninput_queues = {queues:?}\n[network.routing]\nvia = {via:?}\n");
    let settings = [
        one_of(&["network.router=input-queued", "network.router=output-queued"]),
        one_of(&["network.switching=cut-through", "network.switching=store-and-forward"]),
        one_of(&[
            "network.routing.algorithm=minimal",
            "network.routing.algorithm=valiant",
            "network.routing.algorithm=progressive-adaptive",
            "network.routing.algorithm=progressive-adaptive",
        ]),
        one_of(&["run.blame=true", "run.blame=true", "run.blame=false"]),
        one_of(&[
            "run.series_interval=\"7 us\"",
            "run.message_rows=25",
            "run.message_rows=0",
        ]),
        one_of(&["mpi.eager_threshold=none", "mpi.eager_threshold=\"1 KiB\""]),
        one_of(&["mpi.progress=in-calls", "mpi.progress=asynchronous"]),
        one_of(&["mpi.collectives.library=mpich", "mpi.collectives.library=open-mpi"]),
        one_of(&["storage.manager.memory=\"64 KiB\"", "storage.manager.memory=\"1 GB\""]),
        one_of(&["run.timeline.rows=30", "run.timeline={}", "run.timeline.every=2"]),
    ];
    let block = "storage.manager.block=\"16 KiB\"";
    load(&text, &[&settings[..], &[block]].concat())
}

#[test]
fn random_scenarios_resume_from_snapshots_after_any_event() {
    save_and_go_on(0..14);
}

#[test]
#[ignore = "takes long"]
fn more_random_scenarios_resume_from_snapshots_after_any_event() {
    save_and_go_on(14..40);
}

/// Every leg on a fresh machine; the whole state is compared each time.
fn save_and_go_on(seeds: std::ops::Range<u64>) {
    for seed in seeds {
        let scenario = random_scenario(seed);
        let mut machine = || build::whole(&scenario).unwrap();
        let mut random = Stream::new(seed, 1, Purpose::Host);
        let run = run_with_restarts(&mut machine, &mut || 1 + u64::from(random.below(3_000)))
            .unwrap_or_else(|error| panic!("{seed}: {error}"));
        let mut digest = Digest::new();
        run.into_parts()[0].results(&mut digest);
        let whole = finish(Simulation::new(scenario.clone()).unwrap());
        assert_eq!(digest.hex(), whole.digest(), "{seed}");
    }
}

#[test]
fn a_run_that_is_saved_and_resumed_again_and_again_has_the_same_results() {
    let scratch = Scratch::new("resumed");
    let path = scratch.0.join("run.snapshot");
    let scenario = load(LONG, &[]);
    let whole = finish(Simulation::new(scenario.clone()).unwrap());
    let (mut simulation, legs) = leg_by_leg(&scenario, &path);
    let bytes = simulation.save_to(&path).unwrap();
    assert_eq!(bytes, path.metadata().unwrap().len());
    assert_eq!(scratch.files(), ["run.snapshot"]);
    // The last snapshot is that of a completed run.
    let mut last = Simulation::resume(scenario, &path).unwrap();
    assert!(last.advance(Duration::ZERO).finished);
    assert!(legs > 5, "{legs}");
    assert_eq!(content(&last.finish(false)), content(&whole));
    assert_eq!(content(&simulation.finish(false)), content(&whole));
}

/// Pipelined routers: at every moment some packets are in several buffers, on wires, and on both sides of a border.
#[test]
fn worms_are_saved_and_resumed_in_one_part_and_in_several() {
    let scratch = Scratch::new("worms");
    let path = scratch.0.join("run.snapshot");
    let settings = [
        "network.router=pipelined",
        "network.clock=1 ns",
        "network.switching=wormhole",
        "network.flit=\"128 B\"",
        "jobs.0.workload.uniform.messages=100",
        "jobs.1.workload.checkpoint.iterations=1",
    ];
    let divided = |more: &[&str]| load(LONG, &[&settings[..], more].concat());
    let whole = finish(Simulation::new(divided(&["run.scheduler=sequential"])).unwrap());
    assert_eq!(whole.run_json()["outcome"], "completed");
    for how in [
        &["run.scheduler=sequential"][..],
        &["run.scheduler=sequential", "run.parts=4"],
        &["run.scheduler=conservative", "run.parts=4"],
        &["run.scheduler=optimistic", "run.parts=5"],
    ] {
        let scenario = divided(how);
        let (simulation, legs) = leg_by_leg(&scenario, &path);
        assert!(legs > 2, "{how:?}: {legs}");
        let resumed = simulation.finish(false);
        assert_eq!(resumed.digest(), whole.digest(), "{how:?}");
        assert_eq!(
            format!("{:?}", resumed.rows()),
            format!("{:?}", whole.rows()),
            "{how:?}"
        );
    }
}

/// In the middle of drains through two tiers into a file system.
#[test]
fn a_run_with_draining_buffers_resumes_from_any_moment() {
    let scratch = Scratch::new("tiers");
    let path = scratch.0.join("run.snapshot");
    let jobs = "
[[jobs]]
name = \"traffic\"
ranks = 16
workload = { uniform = { bytes = \"6 KiB\", mean_interval = \"2 us\", messages = 1200 } }
[[jobs]]
name = \"saver\"
ranks = 16
workload = { checkpoint = { iterations = 2, total = \"1 MB\", interval = \"100 us\" } }
";
    let chain = [
        "storage.device.capacity=\"200 kB\"",
        "storage.manager.block=\"16 kB\"",
        "storage.policy.keep=true",
        "storage.tiers=[{ name = \"io\", nodes = { list = [5, 20] } }]",
        "storage.file_system={ object_servers = 3, bandwidth = \"300 MB/s\" }",
    ];
    for how in [
        "run.scheduler=sequential",
        "run.scheduler=conservative",
        "run.scheduler=optimistic",
    ] {
        let scenario = load(jobs, &[&chain[..], &[how]].concat());
        let whole = finish(Simulation::new(scenario.clone()).unwrap());
        assert_eq!(whole.run_json()["outcome"], "completed");
        assert!(whole.rows().tiers.iter().all(|row| row.received_bytes == 2_000_000));
        let (simulation, legs) = leg_by_leg(&scenario, &path);
        assert!(legs > 2, "{how}: {legs}");
        assert_eq!(content(&simulation.finish(false)), content(&whole), "{how}");
    }
}

/// A run that ends because only endless traffic is left checks for that at fixed times, and a resumed run checks at the
/// same times.
#[test]
fn a_run_that_is_stuck_ends_at_the_same_moment_when_it_was_resumed() {
    let scratch = Scratch::new("stuck");
    let path = scratch.0.join("run.snapshot");
    let jobs = "
[[jobs]]
name = \"full\"
ranks = 4
workload = { checkpoint = { total = \"4 MB\", interval = \"1 us\" } }
[[jobs]]
name = \"noise\"
ranks = 20
until = \"full\"
workload = { uniform = { bytes = \"4 KiB\", mean_interval = \"2 us\" } }
";
    let scenario = load(
        jobs,
        &["storage.device.capacity=\"100 kB\"", "storage.manager.block=\"10 kB\""],
    );
    let whole = finish(Simulation::new(scenario.clone()).unwrap());
    assert_eq!(whole.run_json()["outcome"], "storage-full");
    let (simulation, _) = leg_by_leg(&scenario, &path);
    assert_eq!(content(&simulation.finish(false)), content(&whole));
}

/// Parts and scheduler are those of the snapshot, on as many threads as there are now; the results are the same anyway.
#[test]
fn a_divided_run_resumes_in_its_parts_on_other_threads() {
    divided_run("conservative");
    let ahead = divided_run("optimistic").run_json()["schedule"]["optimistic"].clone();
    assert!(ahead["speculated"].as_u64() > Some(0), "{ahead}");
}

fn load_whole() -> Simulation {
    Simulation::new(load(LONG, &["run.scheduler=sequential"])).unwrap()
}

fn divided_run(scheduler: &str) -> Results {
    let scratch = Scratch::new(scheduler);
    let path = scratch.0.join("run.snapshot");
    let on = |scheduler: &str, threads: u32, parts: u32| {
        let settings = [
            format!("run.scheduler={scheduler}"),
            format!("run.threads={threads}"),
            format!("run.parts={parts}"),
        ];
        load(LONG, &settings.each_ref().map(String::as_str))
    };
    let whole = finish(load_whole());
    let mut simulation = Simulation::new(on(scheduler, 2, 4)).unwrap();
    let mut legs = 0;
    while !simulation.advance(Duration::ZERO).finished {
        simulation.save_to(&path).unwrap();
        simulation = Simulation::resume(on(scheduler, 1 + legs % 3, 4), &path).unwrap();
        legs += 1;
        if legs == 5 {
            // Whatever is requested now.
            for other in [on("sequential", 1, 1), on("auto", 1, 3)] {
                let run = Simulation::resume(other.clone(), &path)
                    .unwrap()
                    .finish(true)
                    .run_json();
                assert_eq!(run["scheduler"], scheduler);
                assert_eq!(run["schedule"]["parts"], 4);
            }
        }
    }
    assert!(legs > 5, "{legs}");
    let divided = simulation.finish(false);
    assert_eq!(divided.digest(), whole.digest());
    divided
}

#[test]
fn the_cost_of_a_run_is_carried_on() {
    let scratch = Scratch::new("cost");
    let path = scratch.0.join("run.snapshot");
    let scenario = load(LONG, &[]);
    let mut simulation = Simulation::new(scenario.clone()).unwrap();
    std::thread::sleep(Duration::from_millis(300));
    simulation.advance(Duration::ZERO);
    simulation.save_to(&path).unwrap();
    drop(simulation);
    let resumed = Simulation::resume(scenario, &path).unwrap().finish(true);
    let wall_s = resumed.run_json()["wall_s"].as_f64().unwrap();
    assert!(wall_s >= 0.3, "{wall_s}");
    assert!(resumed.cpu_s() > 0.0);
}

#[test]
fn a_snapshot_of_another_scenario_is_refused() {
    let scratch = Scratch::new("other");
    let path = scratch.0.join("run.snapshot");
    let mut simulation = Simulation::new(load(LONG, &[])).unwrap();
    simulation.advance(Duration::ZERO);
    simulation.save_to(&path).unwrap();
    for other in [
        "seed=2",
        "jobs.1.ranks=4",
        "network.packet=\"2 KiB\"",
        "run.time_limit=\"1 s\"",
    ] {
        let error = refusal(load(LONG, &[other]), &path);
        assert_eq!(error.message, "the scenario differs from the saved one", "{other}");
        assert_eq!(error.file, path.display().to_string());
    }
    // How often a run is saved does not affect it.
    Simulation::resume(load(LONG, &["run.checkpoint_interval=\"2 h\""]), &path).unwrap();
}

#[test]
fn damage_is_named_wherever_it_is() {
    let scratch = Scratch::new("damage");
    let path = scratch.0.join("run.snapshot");
    let scenario = load(
        "[[jobs]]\nname = \"j\"\nranks = 4\nworkload = { stencil = { dims = [2, 2], iterations = 1 } }\n",
        &[],
    );
    Simulation::new(scenario.clone()).unwrap().save_to(&path).unwrap();
    let whole = std::fs::read(&path).unwrap();
    let mut random = Stream::new(1, 0, Purpose::Host);
    let message = |bytes: &[u8]| {
        std::fs::write(&path, bytes).unwrap();
        refusal(scenario.clone(), &path).message
    };
    for i in 0..400 {
        // The first and last bytes, and some of those between.
        let at = match i {
            0..100 => i,
            100..200 => whole.len() - 1 - (i - 100),
            _ => random.below(whole.len() as u32) as usize,
        };
        let mut wrong = whole.clone();
        wrong[at] ^= 1 << random.below(8);
        let expected = match at {
            0..16 => "this is not a snapshot",
            _ if at >= whole.len() - 24 && at < whole.len() - 16 => {
                "the snapshot is damaged: its length differs from its header"
            }
            _ => "the snapshot is damaged: its checksum is wrong",
        };
        assert_eq!(message(&wrong), expected, "byte {at}");
        let text = message(&whole[..at]);
        assert!(
            text.starts_with(if at < 16 {
                "this is not a snapshot"
            } else {
                "the snapshot is damaged"
            }),
            "{text}"
        );
    }
    let longer = [&whole[..], &[0; 40]].concat();
    assert!(message(&longer).starts_with("the snapshot is damaged"));
}

#[test]
fn a_place_that_holds_no_file_is_named() {
    let scratch = Scratch::new("place");
    let scenario = load(LONG, &[]);
    let missing = scratch.0.join("missing");
    let error = refusal(scenario.clone(), &missing);
    assert!(
        error.message.starts_with("the snapshot cannot be read: No such file"),
        "{error}"
    );
    // A snapshot that cannot be moved into place leaves nothing behind.
    let mut simulation = Simulation::new(scenario).unwrap();
    let taken = scratch.0.join("taken");
    std::fs::create_dir_all(taken.join("inside")).unwrap();
    simulation.save_to(&taken).unwrap_err();
    simulation.save_to(&missing.join("run.snapshot")).unwrap_err();
    assert_eq!(scratch.files(), ["taken"]);
}

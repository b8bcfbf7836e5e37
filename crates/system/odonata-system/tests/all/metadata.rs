//! Metadata servers and faults in scenarios: mdtest against closed forms, the cost of a storm to other jobs, and the
//! tables about both.

use crate::common::finish;

use odonata_system::results::Rows;
use odonata_system::{Outcome, scenario};

const MACHINE: &str = r#"
[machine.dragonfly]
groups = 3
routers_per_group = 2
nodes_per_router = 4
global_ports_per_router = 1
[storage]
nodes = { list = [0] }
device = { capacity = "1 GB", rate = { write = "1 GB/s", read = "1 GB/s", overhead = "10 us" } }
"#;

fn load(text: &str) -> Result<scenario::Scenario, scenario::InputError> {
    scenario::load(&format!("{MACHINE}{text}"), "metadata.toml", &[], None, ".")
}

fn rows(text: &str) -> Rows {
    let results = finish(load(text).unwrap_or_else(|error| panic!("{error:?}")));
    assert_eq!(*results.outcome(), Outcome::Completed, "{text}");
    results.rows().clone()
}

fn mdtest(ranks: u32, line: &str) -> String {
    format!("[[jobs]]\nname = \"mdtest\"\nranks = {ranks}\nworkload = {{ mdtest = {line:?} }}\n")
}

/// A server of k threads and calls of c each: r tasks with n items each take r n c / k, as long as that exceeds the
/// network time of a task's calls, each of which waits for the one before. The rates of mdtest are those of the server.
#[test]
fn rates_of_mdtest_are_those_of_the_server() {
    for (threads, tasks) in [(1, 8), (4, 16)] {
        let metadata = format!(
            "metadata = {{ nodes = {{ list = [23] }}, threads = {threads}, create = \"100 us\", stat = \"50 us\", \
             close = \"20 us\", unlink = \"100 us\" }}\n"
        );
        let rows = rows(&format!("{metadata}{}", mdtest(tasks, "-n 40 -F -u -C -T -r")));
        let phase = |name: &str| rows.mdtest.iter().find(|row| row.phase == name).unwrap();
        assert_eq!(rows.mdtest.len(), 5, "tree, files three times, tree");
        // Creating a file is a create and a close.
        for (name, each_us) in [("file creation", 120.0), ("file stat", 50.0), ("file removal", 100.0)] {
            let row = phase(name);
            assert_eq!((row.items, row.tasks), (40 * u64::from(tasks), u64::from(tasks)));
            let expected = f64::from(threads) / (each_us * 1e-6);
            let ratio = row.rate_per_s / expected;
            // The last calls of a phase leave threads idle, and the barriers take time.
            assert!(
                (0.93..=1.0).contains(&ratio),
                "{name}, {threads} threads: {} of {expected}",
                row.rate_per_s
            );
        }
        let server = &rows.metadata[0];
        let items = 40 * u64::from(tasks);
        assert_eq!((server.server, server.node), (1, 23));
        assert_eq!(
            (server.creates, server.closes, server.stats, server.unlinks),
            (items, items, items, items)
        );
        assert_eq!(
            (server.mkdirs, server.rmdirs, server.opens),
            (tasks.into(), tasks.into(), 0)
        );
        assert_eq!(server.calls, 4 * items + 2 * u64::from(tasks));
        assert_eq!(rows.jobs[0].metadata_calls, server.calls);
        assert_eq!(rows.io.len() as u64, server.calls);
        let summed: f64 = rows.io.iter().map(|call| call.end_s - call.start_s).sum();
        assert!((summed / rows.jobs[0].metadata_calls_s - 1.0).abs() < 1e-9);
        assert!(rows.files.is_empty() && rows.jobs[0].io_operations == 0);
        assert!(server.peak_waiting > 0 && server.peak_waiting <= u64::from(tasks));
    }
}

/// The server of a file follows from the names of directory and file: a job alone uses the same servers as beside
/// others.
#[test]
fn a_job_has_its_files_on_the_same_servers_whatever_is_beside_it() {
    let metadata = "metadata = { nodes = { list = [22, 23] } }\n";
    let other = "[[jobs]]\nname = \"first\"\nranks = 2\nworkload = { compute = {} }\n";
    let job = mdtest(4, "-n 25 -F");
    let calls = |text: &str| -> Vec<u64> { rows(text).metadata.iter().map(|server| server.calls).collect() };
    let alone = calls(&format!("{metadata}{job}"));
    assert_eq!(alone, calls(&format!("{metadata}{other}{job}")));
    assert!(alone.iter().all(|calls| *calls > 150), "{alone:?}");
}

/// All creates in one shared directory come one after the other; in separate directories of the tasks they do not, nor
/// with two servers by file, each of which has half of the directory.
#[test]
fn creates_in_a_shared_directory_are_as_fast_as_one_of_them() {
    let run = |nodes: &str, line: &str| {
        let metadata = format!(
            "metadata = {{ nodes = {{ list = [{nodes}] }}, threads = 8, serial_directories = true, create = \"100 us\", \
             close = \"0 ns\" }}\n"
        );
        let rows = rows(&format!("{metadata}{}", mdtest(16, line)));
        let row = rows.mdtest.iter().find(|row| row.phase == "file creation").unwrap();
        let waits: f64 = rows.metadata.iter().map(|server| server.wait_directory_s).sum();
        (row.rate_per_s * 100e-6, waits)
    };
    let (shared, waits) = run("23", "-n 20 -F -C");
    assert!((0.95..=1.0).contains(&shared) && waits > 0.0, "{shared}");
    let (own, trees) = run("23", "-n 20 -F -C -u");
    assert!((7.0..=8.0).contains(&own), "{own}");
    // Except for the trees, whose roots are made in one directory: the i-th of 16 waits i times 220 us.
    assert!((trees - 120.0 * 220e-6).abs() < 1e-3, "{trees}");
    let (two, _) = run("22, 23", "-n 20 -F -C");
    assert!((1.5..=2.0).contains(&two), "{two}");
}

/// A storm of opens slows down a neighbor that opens one file; blame names the cause, and its rows add up to the wait.
#[test]
fn a_storm_slows_down_others_and_blame_names_it() {
    const METADATA: &str = "metadata = { nodes = { list = [23] }, threads = 2, create = \"100 us\" }\n";
    const SOLVER: &str = "[[jobs]]\nname = \"solver\"\nranks = 1\nplacement = { nodes = [5] }\n\
                          workload = { checkpoint = { iterations = 4, total = \"1 kB\", interval = \"500 us\" } }\n";
    let alone = rows(&format!("{METADATA}{SOLVER}"));
    let beside = rows(&format!("{METADATA}{SOLVER}{}", mdtest(12, "-n 60 -F -C")));
    let io = |rows: &Rows| rows.jobs[0].metadata_calls_s;
    assert_eq!(alone.jobs[0].metadata_calls, 8);
    assert!(io(&beside) > 2.0 * io(&alone), "{} {}", io(&beside), io(&alone));
    let charged = |culprit: &str| -> f64 {
        let of = |row: &&odonata_system::results::BlameRow| {
            (row.victim.as_str(), row.culprit.as_str(), row.place, row.resource)
                == ("solver", culprit, "metadata", "thread")
        };
        beside.blame.iter().filter(of).map(|row| row.waited_s).sum()
    };
    assert!(
        charged("mdtest") > 0.9 * (io(&beside) - io(&alone)),
        "{}",
        charged("mdtest")
    );
    assert!(charged("solver") == 0.0 && charged("mdtest") <= io(&beside) - io(&alone) + 1e-6);
    let all: f64 = beside
        .blame
        .iter()
        .filter(|row| row.place == "metadata")
        .map(|row| row.waited_s)
        .sum();
    assert!((all - beside.metadata[0].wait_thread_s).abs() < 1e-9);
}

/// Waits for locks are charged: the amount in the table `servers` is in `blame`.
#[test]
fn waits_for_locks_are_in_blame() {
    let text = "locks = { granularity = \"1 MB\", revocation = \"50 us\" }\nlayout = \"hash\"\n\
                [run]\nblame = true\n[[jobs]]\nname = \"saver\"\nranks = 8\nworkload = { checkpoint = { total = \"800 kB\", record = \"10 kB\", \
                offset = \"strided\" } }\n";
    let rows = rows(text);
    let charged: f64 = rows
        .blame
        .iter()
        .filter(|row| row.resource == "lock")
        .map(|row| row.waited_s)
        .sum();
    let waited: f64 = rows.servers.iter().map(|server| server.wait_lock_s).sum();
    assert!(waited > 0.0 && (charged - waited).abs() < 1e-9, "{charged} {waited}");
}

/// One writer, whose device is continuously busy: a stall of 3 ms in the middle costs 3 ms, and 4 ms at a quarter of
/// the rate cost 3 ms too.
#[test]
fn a_fault_costs_the_work_it_delays() {
    let run = |faults: &str| {
        let text = "[[jobs]]\nname = \"saver\"\nranks = 1\nworkload = { checkpoint = { total = \"20 MB\", interval = \"1 ms\" } }\n";
        let rows = rows(&format!("{faults}{text}"));
        let device = &rows.devices[0];
        (rows.jobs[0].elapsed_s, device.fault_accesses, device.fault_delay_s)
    };
    let (sound, none, _) = run("");
    assert_eq!(none, 0);
    for (fault, costs) in [
        ("duration = \"3 ms\", kind = \"stall\"", 3e-3),
        ("duration = \"4 ms\", kind = { slow = 4.0 }", 3e-3),
    ] {
        let (slow, accesses, delay) = run(&format!("faults = [{{ server = 0, at = \"10 ms\", {fault} }}]\n"));
        assert!(
            (slow - sound - costs).abs() < 1e-9,
            "{fault}: {slow} instead of {sound}"
        );
        assert!(
            accesses > 0 && (delay - costs).abs() < 1e-9,
            "{fault}: {accesses} {delay}"
        );
    }
    // To the end: everything that is left takes twice as long.
    let (slow, _, delay) = run("faults = [{ server = 0, at = \"10 ms\", kind = { slow = 2.0 } }]\n");
    assert!((slow - sound - delay).abs() < 1e-9 && delay > 10e-3, "{slow} {delay}");
}

/// A metadata server is numbered after the storage servers, and may stall too.
#[test]
fn opens_wait_for_a_stalled_metadata_server() {
    let run = |faults: &str| {
        let text = "[[jobs]]\nname = \"saver\"\nranks = 1\nworkload = { checkpoint = { total = \"1 kB\", interval = \"1 ms\" } }\n";
        let metadata = "metadata = { nodes = { list = [0] }, open = \"100 us\" }\n";
        rows(&format!("{metadata}{faults}{text}")).jobs[0].elapsed_s
    };
    let stall = "faults = [{ server = 1, at = \"900 us\", duration = \"5 ms\", kind = \"stall\" }]\n";
    let (sound, slow) = (run(""), run(stall));
    // The request arrives a little after 1 ms, and is begun at 5.9 ms.
    assert!((4.85e-3..4.9e-3).contains(&(slow - sound)), "{}", slow - sound);
}

/// A metadata server that is down from the start is tried `1 + retries` times by each rank, which then uses the other:
/// every failed try is counted once for the job and once for the server. Without failures, no try has a timeout.
#[test]
fn failed_tries_are_counted_at_the_server_that_is_down() {
    let job = mdtest(4, "-n 20 -F -C");
    let metadata = "metadata = { nodes = { list = [22, 23] } }\nclient = { timeout = \"1 ms\", retries = 2, on_failure = \"re-route\" }\n";
    let timeouts = |faults: &str| {
        let rows = rows(&format!("{metadata}{faults}{job}"));
        let timeouts: Vec<u64> = rows.metadata.iter().map(|server| server.timeouts).collect();
        assert_eq!(timeouts.iter().sum::<u64>(), rows.jobs[0].io_timeouts);
        let calls: Vec<u64> = rows.metadata.iter().map(|server| server.calls).collect();
        (timeouts, calls, rows.metadata[0].server)
    };
    let (sound, calls, first) = timeouts("");
    assert_eq!(sound, [0, 0]);
    assert!(calls.iter().all(|&calls| calls > 0), "{calls:?}");
    for away in [0, 1] {
        let fault = format!(
            "faults = [{{ server = {}, at = \"0 s\", kind = \"fail\" }}]\n",
            first + away
        );
        let (found, answered, _) = timeouts(&fault);
        let mut expected = [0, 0];
        expected[away as usize] = 4 * 3;
        assert_eq!(found, expected);
        assert_eq!(
            (answered[away as usize], answered.iter().sum::<u64>()),
            (0, calls.iter().sum())
        );
    }
}

#[test]
fn errors_in_a_command_line_name_its_key() {
    let error = load(&mdtest(4, "-n 10 -Q")).err().unwrap();
    assert_eq!(error.key, "jobs.0.workload.mdtest");
    assert!(
        error.message.contains("\"-Q\" is not a flag of mdtest"),
        "{}",
        error.message
    );
    let error = load(&mdtest(4, "-F")).err().unwrap();
    assert_eq!(error.key, "jobs.0.workload.mdtest.items");
    let error = load("metadata = {}\nfaults = [{ server = 2, at = \"1 s\", kind = { slow = 2.0 } }]\n")
        .err()
        .unwrap();
    assert_eq!(
        (error.key.as_str(), error.expected.as_str()),
        ("storage.faults.0.server", "0 to 0, or 1 to 1 of metadata")
    );
}

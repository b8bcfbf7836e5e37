//! Recorded timelines: their tables add up to those of the run, and the keys select what is recorded.

use crate::common::{finish, run};

use odonata_system::results::{CallRow, Rows};
use odonata_system::scenario::{self, InputError};
use odonata_system::{Outcome, Results};

const SCENARIO: &str = r#"
[run]
series_interval = "20 us"
[machine.dragonfly]
groups = 3
routers_per_group = 3
nodes_per_router = 3
global_ports_per_router = 2
[network.routing]
algorithm = "progressive-adaptive"
[mpi]
eager_threshold = "4 KiB"
[storage]
nodes = { per_group = 1 }
[storage.manager]
block = "16 KiB"
memory = "64 KiB"
[storage.drain]
bandwidth = "1 GB/s"
[[jobs]]
name = "halo"
ranks = 8
workload = { stencil = { dims = [2, 2, 2], message = "6 KiB", iterations = 3, compute = "2 us", allreduce = "64 B" } }
[[jobs]]
name = "saver"
count = 2
ranks = 3
start = "3 us"
workload = { checkpoint = { iterations = 2, total = "150 KiB", interval = "4 us" } }
"#;

fn results(settings: &[&str]) -> Results {
    run(SCENARIO, settings)
}

fn refused(settings: &[&str]) -> InputError {
    let settings: Vec<String> = settings.iter().map(|&setting| setting.into()).collect();
    scenario::load(SCENARIO, "timeline.toml", &settings, None, ".")
        .err()
        .unwrap()
}

/// Picoseconds of a time in a table.
fn ps(seconds: f64) -> i64 {
    (seconds * 1e12).round() as i64
}

fn sum<'a>(calls: impl Iterator<Item = &'a CallRow>) -> i64 {
    calls.map(|call| ps(call.end_s) - ps(call.begin_s)).sum()
}

/// Times of calls equal those of ranks, by class; messages those that ranks have sent and received; accesses those of
/// servers; busy times of links theirs. All to the picosecond and the byte.
fn adds_up(rows: &Rows) {
    for rank in &rows.ranks {
        let own = |class: &'static str| {
            let of = move |call: &&CallRow| (call.job.as_str(), call.rank, call.class) == (&rank.job, rank.rank, class);
            rows.calls.iter().filter(of)
        };
        assert_eq!(sum(own("compute")), ps(rank.compute_s));
        assert_eq!(sum(own("mpi")), ps(rank.mpi_s));
        assert_eq!(sum(own("io")), ps(rank.io_s));
        let sent = rows
            .flows
            .iter()
            .filter(|flow| (&flow.job, flow.source_rank) == (&rank.job, rank.rank));
        assert_eq!(sent.clone().count() as u64, rank.messages_sent);
        assert_eq!(sent.map(|flow| flow.bytes).sum::<u64>(), rank.bytes_sent);
        let taken = |flow: &&odonata_system::results::FlowRow| {
            (&flow.job, flow.target_rank) == (&rank.job, rank.rank) && flow.arrived_s >= 0.0
        };
        let taken = rows.flows.iter().filter(taken);
        assert_eq!(taken.clone().count() as u64, rank.messages_received);
        assert_eq!(taken.map(|flow| flow.bytes).sum::<u64>(), rank.bytes_received);
    }
    for server in &rows.servers {
        let own = || rows.accesses.iter().filter(|access| access.server == server.server);
        let device = || own().filter(|access| access.kind != "drain");
        let busy: i64 = device().map(|access| ps(access.end_s) - ps(access.begin_s)).sum();
        let waited: i64 = device().map(|access| ps(access.begin_s) - ps(access.joined_s)).sum();
        assert_eq!((busy, waited), (ps(server.device_busy_s), ps(server.wait_device_s)));
        let bytes = |kind: &str| own().filter(|a| a.kind == kind).map(|a| a.bytes).sum::<u64>();
        assert_eq!(
            [bytes("write"), bytes("read"), bytes("drain")],
            [server.bytes_written, server.bytes_read, server.bytes_drained]
        );
        assert!(own().all(|access| access.used_bytes <= server.peak_used_bytes));
    }
    for link in &rows.links {
        let own = || rows.link_series.iter().filter(|row| row.link == link.link);
        if own().count() > 0 {
            assert_eq!(own().map(|row| ps(row.busy_s)).sum::<i64>(), ps(link.busy_s));
            assert_eq!(own().map(|row| row.bytes).sum::<u64>(), link.bytes);
        }
    }
}

#[test]
fn the_tables_of_a_timeline_add_up_to_those_of_the_run() {
    let results = results(&["run.timeline={ links = 5 }"]);
    assert_eq!(*results.outcome(), Outcome::Completed);
    assert_eq!(results.run_json()["detail"], serde_json::Value::Null);
    let rows = results.rows();
    adds_up(rows);
    // An iteration ends with its own mark; the links are the busiest ones.
    let marks = rows.calls.iter().filter(|call| call.name == "iteration");
    assert_eq!(marks.filter(|call| call.job == "halo").count(), 8 * 3);
    assert!(
        rows.calls
            .iter()
            .all(|call| call.finished == 1 && call.begin_s <= call.end_s)
    );
    let halo = || rows.calls.iter().filter(|call| call.job == "halo" && call.rank == 0);
    for iteration in 0..3 {
        let own = halo().filter(|call| call.iteration == iteration);
        assert!(own.clone().any(|call| call.name == "MPI_Allreduce") && own.clone().any(|call| call.name == "compute"));
        let end = halo()
            .find(|call| call.name == "iteration" && call.iteration == iteration)
            .unwrap();
        assert!(own.into_iter().all(|call| call.end_s <= end.end_s));
    }
    let mut busy: Vec<_> = rows.links.iter().filter(|link| link.source_kind == "router").collect();
    busy.sort_by(|a, b| b.busy_s.total_cmp(&a.busy_s).then(a.link.cmp(&b.link)));
    let mut hottest: Vec<u64> = busy[..5].iter().map(|link| link.link).collect();
    hottest.sort_unstable();
    let mut shown: Vec<u64> = rows.link_series.iter().map(|row| row.link).collect();
    shown.dedup();
    assert_eq!(shown, hottest);
}

#[test]
fn a_run_that_is_cut_short_has_its_calls_until_then() {
    let results = results(&["run.timeline={ links = 0 }", "run.time_limit=\"31 us\""]);
    assert_eq!(*results.outcome(), Outcome::TimeLimit);
    let rows = results.rows();
    for rank in &rows.ranks {
        let own = |class: &'static str| {
            let of = move |call: &&CallRow| (call.job.as_str(), call.rank, call.class) == (&rank.job, rank.rank, class);
            rows.calls.iter().filter(of)
        };
        assert_eq!(sum(own("compute")), ps(rank.compute_s));
        assert_eq!(sum(own("mpi")), ps(rank.mpi_s));
        assert_eq!(sum(own("io")), ps(rank.io_s));
    }
    let unfinished: Vec<_> = rows.calls.iter().filter(|call| call.finished == 0).collect();
    assert!(!unfinished.is_empty() && unfinished.iter().all(|call| ps(call.end_s) == 31_000_000));
    assert!(rows.link_series.is_empty());
}

#[test]
fn jobs_ranks_and_a_period_are_selected_and_cut_rows_are_reported() {
    let everything = results(&["run.timeline={}"]);
    let (all, digest) = (everything.rows(), everything.digest());
    // The name of an array means its jobs.
    let saver = results(&["run.timeline={ jobs = \"saver\", ranks = [0, 2] }"]);
    assert_eq!(saver.digest(), digest);
    let expected = all
        .calls
        .iter()
        .filter(|call| call.job.starts_with("saver-") && call.rank != 1);
    assert_eq!(
        format!("{:?}", saver.rows().calls),
        format!("{:?}", expected.collect::<Vec<_>>())
    );
    let every = results(&["run.timeline={ jobs = [\"halo\", \"saver-1\"], every = 2 }"]);
    let of = |name: &str| {
        every
            .rows()
            .calls
            .iter()
            .filter(|call| call.job == name)
            .map(|call| call.rank)
            .max()
    };
    assert_eq!((of("halo"), of("saver-0"), of("saver-1")), (Some(6), None, Some(2)));
    let period = results(&["run.timeline={ from = \"20 us\", until = \"40 us\" }"]);
    assert_eq!(period.digest(), digest);
    let inside = |call: &&CallRow| {
        let (begin, end) = (ps(call.begin_s), ps(call.end_s));
        begin < 40_000_000 && (end > 20_000_000 || begin >= 20_000_000)
    };
    let expected: Vec<_> = all.calls.iter().filter(inside).collect();
    assert!(!expected.is_empty());
    assert_eq!(format!("{:?}", period.rows().calls), format!("{expected:?}"));
    assert!(
        period
            .rows()
            .flows
            .iter()
            .all(|flow| (20e-6..40e-6).contains(&flow.sent_s))
    );
    let starts = period.rows().link_series.iter().map(|row| ps(row.start_s));
    assert!(starts.clone().count() > 0 && starts.into_iter().all(|start| start == 20_000_000));

    let few = results(&["run.timeline.rows=10"]);
    assert_eq!(few.digest(), digest);
    assert_eq!((few.rows().calls.len(), few.rows().accesses.len()), (10, 10));
    let detail = few.run_json()["detail"].as_str().unwrap().to_owned();
    let sentence = format!(
        "run.timeline.rows is too small: the timeline has 10 of {} calls, 10 of ",
        all.calls.len()
    );
    assert!(
        detail.contains(&sentence) && detail.contains(" accesses of servers"),
        "{detail}"
    );
}

#[test]
fn tables_of_a_timeline_are_there_if_it_was_asked_for() {
    let names =
        |results: &Results| -> Vec<&'static str> { results.tables().unwrap().iter().map(|table| table.name).collect() };
    let (with, without) = (results(&["run.timeline.ranks=[0]"]), results(&[]));
    let more: Vec<_> = names(&with)
        .into_iter()
        .filter(|name| !names(&without).contains(name))
        .collect();
    assert_eq!(more, ["calls", "requests", "flows", "accesses", "link_series"]);
    assert!(without.rows().calls.is_empty() && without.rows().accesses.is_empty());
}

#[test]
fn a_job_alone_has_the_timeline_of_its_own_ranks() {
    let scenario = scenario::load(
        SCENARIO,
        "timeline.toml",
        &["run.timeline={ jobs = \"saver\" }".into()],
        None,
        ".",
    )
    .unwrap();
    let alone = |name: &str| finish(scenario.alone(name, None).unwrap().unwrap());
    let saver = alone("saver-1");
    assert!(!saver.rows().calls.is_empty() && saver.rows().calls.iter().all(|call| call.job == "saver-1"));
    adds_up(saver.rows());
    assert!(alone("halo").rows().calls.is_empty());
}

#[test]
fn mistakes_in_its_keys_are_named() {
    for (setting, key, expected, hint) in [
        (
            "run.timeline.jobs=\"sevar\"",
            "run.timeline.jobs",
            "one of halo, saver, saver-0, saver-1",
            "saver",
        ),
        (
            "run.timeline={ jobs = [\"halo\", \"x\"] }",
            "run.timeline.jobs.1",
            "one of halo",
            "",
        ),
        ("run.timeline.ranks=[1, 8]", "run.timeline.ranks.1", "0 to 7", ""),
        (
            "run.timeline={ jobs = \"saver\", ranks = [3] }",
            "run.timeline.ranks.0",
            "0 to 2",
            "",
        ),
        ("run.timeline.ranks=[]", "run.timeline.ranks", "numbers of ranks", ""),
        ("run.timeline.every=0", "run.timeline.every", "1 to", ""),
        ("run.timeline.rows=0", "run.timeline.rows", "1 to", ""),
        (
            "run.timeline={ from = \"2 us\", until = \"2 us\" }",
            "run.timeline.until",
            "after run.timeline.from",
            "",
        ),
        (
            "run.timeline.rank=3",
            "run.timeline.rank",
            "one of jobs, ranks, every",
            "ranks",
        ),
        ("run.timeline=true", "run.timeline", "", ""),
    ] {
        let error = refused(&[setting]);
        assert_eq!(error.key, key, "{error}");
        assert!(error.expected.contains(expected), "{error}");
        assert!(error.hint.as_deref().unwrap_or("").contains(hint), "{error}");
    }
}

//! Some jobs in packets, others as flows or in the analytic model: how they share links, one digest on every scheduler,
//! and what is refused.

use crate::common::{completed as run, finish};
use crate::everywhere::{JOBS, assert_one_digest, slow_terminals as text};
use odonata_system::scenario;

/// The job `flows` is simulated as flows, `packets` in packets; each sends 8 MiB from one node of the first router to
/// the other group.
fn two_pairs(of_flows: &str, of_packets: &str) -> String {
    let job = |name: &str, nodes: &str, more: &str| {
        format!(
            "[[jobs]]\nname = {name:?}\nranks = 2\nplacement = {{ nodes = {nodes} }}\n{more}\
             workload.ping-pong = {{ bytes = \"16 MiB\", iterations = 2 }}\n"
        )
    };
    job("flows", "[0, 8]", of_flows) + &job("packets", "[1, 9]", of_packets)
}

/// Two pairs of nodes whose messages share a global cable with half of the bandwidth that they need take the same time,
/// whichever of them is simulated as flows: packets and flows get equal shares. The time is that of both in packets,
/// and of both as flows, within 3%.
#[test]
fn flows_and_packets_get_equal_shares_of_a_cable() {
    let network = "links.global = { bandwidth = \"10 GB/s\", latency = \"300 ns\" }";
    let network = text("", "").replace(
        "links.global = { bandwidth = \"20 GB/s\", latency = \"300 ns\" }",
        network,
    );
    let with = |flows: &str, packets: &str| {
        let results = run(&(network.clone() + &two_pairs(flows, packets)), &[]);
        let jobs = &results.rows().jobs;
        (jobs[0].elapsed_s, jobs[1].elapsed_s)
    };
    let flow = "fidelity = \"flow\"\n";
    let packets = with("", "");
    for (first, second) in [(flow, ""), ("", flow), (flow, flow)] {
        let found = with(first, second);
        for (time, expected) in [(found.0, packets.0), (found.1, packets.1)] {
            assert!(
                (time / expected - 1.0).abs() < 0.03,
                "{found:?}, in packets {packets:?}"
            );
        }
    }
}

#[test]
fn storage_and_messages_have_one_digest_on_every_scheduler() {
    for algorithm in ["minimal", "valiant", "ugal"] {
        for job in [0, 1] {
            let mut place = 0;
            let jobs = JOBS.split_inclusive("[[jobs]]\n").fold(String::new(), |sum, part| {
                place += 1;
                let flow = if place == job + 1 { "fidelity = \"flow\"\n" } else { "" };
                sum + part + flow
            });
            let text = text("coupling_interval = \"1 us\"", &jobs).replace("\"minimal\"", &format!("{algorithm:?}"));
            assert_one_digest(&format!("{algorithm}, job {job} as flows"), |overrides| {
                run(&text, overrides).digest().to_owned()
            });
        }
    }
}

/// A job in the analytic model takes the same time as if all jobs used the model, and does not affect packets or flows
/// of another, on any router and with features that only packets have.
#[test]
fn a_job_in_the_analytic_model_does_not_affect_others() {
    let analytic = "fidelity = \"analytic\"\n";
    let parameters = "analytic = { latency = \"700 ns\", gap = \"10 ns\" }";
    let written = |network: &str, first: &str, second: &str| {
        let by_model = first.contains("analytic");
        let network = format!("{network}\n{}", if by_model { parameters } else { "" });
        // Pipelined routers have no delay.
        let delay = if network.contains("pipelined") {
            "router_delay = \"90 ns\"\n"
        } else {
            ""
        };
        text(&network, &two_pairs(first, second)).replacen(delay, "", 1)
    };
    let times = |network: &str, first: &str, second: &str| {
        let results = run(&written(network, first, second), &[]);
        let jobs = &results.rows().jobs;
        (jobs[0].elapsed_s, jobs[1].elapsed_s)
    };
    let (expected, _) = times("", analytic, analytic);
    for network in [
        "",
        "router = \"output-queued\"",
        "router = \"pipelined\"\nclock = \"1 GHz\"",
        "traffic_classes = [{ name = \"a\", share = 0.5 }, { name = \"b\", share = 0.5 }]",
        "congestion_control = { kind = \"ecn\", threshold = \"64 KiB\" }",
    ] {
        let (model, packets) = times(network, analytic, "");
        assert_eq!(model, expected, "{network}");
        // The opposite setting: the model for all jobs except this one.
        let by_the_network = format!("fidelity = \"analytic\"\n{network}");
        let others = times(&by_the_network, analytic, "fidelity = \"packet\"\n");
        assert_eq!(others, (model, packets), "{network}");
        let scenario = scenario::load(&written(network, analytic, ""), "s.toml", &[], None, "").unwrap();
        assert_eq!(
            finish(scenario.alone("packets", None).unwrap().unwrap()).rows().jobs[0].elapsed_s,
            packets,
            "{network}"
        );
    }
    let (model, flows) = times("", analytic, "fidelity = \"flow\"\n");
    assert_eq!(model, expected);
    // Two of them share a cable that has room for both.
    let (_, both) = times("", "fidelity = \"flow\"\n", "fidelity = \"flow\"\n");
    assert_eq!(flows, both);
}

/// Jobs in packets, as flows and in the analytic model, MPI and I/O.
#[test]
fn three_ways_have_one_digest_on_every_scheduler() {
    let ways = ["", "fidelity = \"flow\"\n", "fidelity = \"analytic\"\n"];
    let pairs = "[[jobs]]\nname = \"pairs\"\nranks = 4\nplacement = \"random\"\n\
                 workload.ping-pong = { bytes = \"100 KiB\", iterations = 3 }\n";
    let three = JOBS.replace("name = \"io\"\nranks = 12", "name = \"io\"\nranks = 8") + pairs;
    for turn in 0..3 {
        let mut place = turn;
        let jobs = three.split_inclusive("[[jobs]]\n").fold(String::new(), |sum, part| {
            place += 1;
            sum + part
                + if part.ends_with("[[jobs]]\n") {
                    ways[place % 3]
                } else {
                    ""
                }
        });
        let text = text("", &jobs);
        assert_one_digest(&format!("turn {turn}"), |overrides| {
            run(&text, overrides).digest().to_owned()
        });
    }
}

/// Every byte that leaves a NIC arrives at a node, and is counted on the links between, in every fidelity.
#[test]
fn bytes_sent_by_nics_arrive_at_nodes() {
    let jobs = JOBS.replace("name = \"io\"", "name = \"io\"\nfidelity = \"flow\"");
    let results = run(&text("", &jobs), &[]);
    let rows = results.rows();
    let nics = rows.links.iter().filter(|link| link.source_kind == "node");
    let last = rows.links.iter().filter(|link| link.target_kind == "node");
    let (from, to): (u64, u64) = (nics.map(|link| link.bytes).sum(), last.map(|link| link.bytes).sum());
    let packets = run(&text("", JOBS), &[]);
    let nics = packets.rows().links.iter().filter(|link| link.source_kind == "node");
    assert_eq!(from, to);
    assert_eq!(from, nics.map(|link| link.bytes).sum::<u64>());
}

/// A baseline is a job alone: nothing is coupled in it.
#[test]
fn a_job_alone_has_the_same_fidelity_as_beside_others() {
    let jobs = JOBS.replace("name = \"io\"", "name = \"io\"\nfidelity = \"flow\"");
    let mixed = text("", &jobs);
    let alone = |name: &str| {
        let scenario = scenario::load(&mixed, "s.toml", &[], None, "").unwrap();
        finish(scenario.alone(name, None).unwrap().unwrap()).rows().jobs[0].elapsed_s
    };
    for (name, fidelity) in [("io", "flow"), ("halo", "packet")] {
        let scenario = scenario::load(
            &text(&format!("fidelity = {fidelity:?}"), JOBS),
            "s.toml",
            &[],
            None,
            "",
        )
        .unwrap();
        assert_eq!(
            finish(scenario.alone(name, None).unwrap().unwrap()).rows().jobs[0].elapsed_s,
            alone(name),
            "{name}"
        );
    }
}

#[test]
fn incompatible_settings_are_refused() {
    let refused = |network: &str, first: &str, second: &str, more: &str| {
        let jobs = two_pairs(first, second) + more;
        // Pipelined routers have no delay.
        let text = text(network, &jobs).replace("router_delay = \"90 ns\"\n", "");
        match scenario::load(&text, "s.toml", &[], None, "") {
            Ok(_) => panic!("this should have been refused: {network} {first} {second} {more}"),
            Err(error) => error.key,
        }
    };
    let flow = "fidelity = \"flow\"\n";
    let analytic = "fidelity = \"analytic\"\n";
    assert_eq!(refused("analytic.gap = \"1 ns\"", flow, "", ""), "network.analytic");
    let classes = "traffic_classes = [{ name = \"a\", share = 0.5 }, { name = \"b\", share = 0.5 }]";
    let class = format!("{analytic}traffic_class = {{ mpi = \"b\" }}\n");
    assert_eq!(refused(classes, &class, "", ""), "jobs.0.traffic_class");
    assert_eq!(refused(classes, analytic, analytic, ""), "network.traffic_classes");
    assert_eq!(
        refused("", analytic, "", "[run]\nblame = true\nlost_time = true\n"),
        "run.lost_time"
    );
    for interval in ["99 ns", "2 s"] {
        let interval = format!("coupling_interval = {interval:?}");
        assert_eq!(refused(&interval, flow, "", ""), "network.coupling_interval");
    }
    let interval = "coupling_interval = \"1 us\"";
    assert_eq!(refused(interval, "", "", ""), "network.coupling_interval");
    assert_eq!(refused(interval, flow, flow, ""), "network.coupling_interval");
    assert_eq!(refused(classes, flow, "", ""), "network.traffic_classes");
    assert_eq!(
        refused("router = \"pipelined\"\nclock = \"1 GHz\"", flow, "", ""),
        "network.router"
    );
    assert_eq!(
        refused("", flow, "", "[run]\nblame = true\nlost_time = true\n"),
        "run.lost_time"
    );
}

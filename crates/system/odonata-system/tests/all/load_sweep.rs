//! Latency-load curves against closed forms, and sampling periods against the tables of the same run.

use odonata_engine::{Digest, Optimism, Options, Pause, SingleProcess};
use odonata_machine::MachineMeasured;
use odonata_network::{Sampled, Sampling};
use odonata_system::build::Plan;
use odonata_system::load_sweep::{BookSim, LoadSweep, Method, PointResult, Span, Steady};
use odonata_system::schedule::{self, Resources};
use odonata_system::{InputError, Time, scenario};
use std::time::Duration;

/// One flit per packet and nanosecond on every link, 5 ns of cable, 3 ns of router.
const NETWORK: &str = r#"
seed = 3
[run]
scheduler = "sequential"
[mpi]
send_delay = "0 s"
send_per_byte = "0 ps/B"
[nic]
message_delay = "0 s"
[network]
INPUT_QUEUES
packet = "64 B"
flit = "64 B"
router_delay = "3 ns"
[network.links]
terminal = { bandwidth = "64 GB/s", latency = "5 ns", buffer = "1 KiB" }
local = { bandwidth = "64 GB/s", latency = "5 ns", buffer = "1 KiB" }
global = { bandwidth = "64 GB/s", latency = "5 ns", buffer = "4 KiB" }
"#;

const DRAGONFLY: &str = r#"
[machine.dragonfly]
groups = 9
routers_per_group = 4
nodes_per_router = 2
global_ports_per_router = 2
"#;

/// One router with 32 nodes.
const SWITCH: &str = r#"
[machine.dragonfly]
groups = 1
routers_per_group = 1
nodes_per_router = 32
global_ports_per_router = 1
"#;

fn load(text: &str, job: Option<&str>, method: Method) -> Result<LoadSweep, InputError> {
    LoadSweep::load(text, "sweep.toml", &[], None, "", job, method)
}

fn text(machine: &str, network: &str, ranks: u32, workload: &str) -> String {
    let network = NETWORK.replace("INPUT_QUEUES", network);
    format!("{network}{machine}[[jobs]]\nname = \"traffic\"\nranks = {ranks}\nworkload.{workload}\n")
}

fn sweep(text: &str, method: Method) -> LoadSweep {
    load(text, None, method).unwrap_or_else(|error| panic!("{error}"))
}

fn measure(sweep: &LoadSweep, load: f64) -> PointResult {
    let mut point = sweep.point(load).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(point.result(), None, "nothing before the end");
    while !point.advance(Duration::from_secs(60)).finished {}
    point.result().expect("it has ended")
}

fn steady() -> Method {
    Method::Steady(Steady::default())
}

const BERNOULLI: &str = "arrival = \"bernoulli\", period = \"1 ns\"";

fn booksim(sample_period: u64, latency_threshold: u64) -> Method {
    Method::BookSim(BookSim {
        sample_period: Span::Cycles(sample_period),
        warmup_periods: 3,
        max_samples: 12,
        latency_threshold: Span::Time(Time::from_ns(latency_threshold)),
    })
}

#[test]
fn zero_load_latency_is_the_sum_over_links_and_routers() {
    let sweep = sweep(&text(DRAGONFLY, "", 72, "uniform = { load = 0.5 }"), steady());
    let point = measure(&sweep, 0.005);
    // H routers, H + 1 links of 1 ns for the flit and 5 ns of flight each, 3 ns per router.
    let (hops, latency) = (point.hops.unwrap(), point.latency_ns.unwrap());
    let closed_form = (hops + 1.0) * 6.0 + hops * 3.0;
    assert!(
        latency.mean >= closed_form && latency.mean < 1.005 * closed_form,
        "{latency:?} {closed_form}"
    );
    assert!(latency.min >= 15.0 && latency.network_mean <= latency.mean);
    // Uniform to 71 others: 1 at the own router, 6 in the group; 64 elsewhere, over 2, 3 or 4 routers.
    assert!((3.2..3.5).contains(&hops), "{hops}");
    assert!(
        !point.saturated && point.packets >= 20_000 && point.converged,
        "{point:?}"
    );
    let pilot = sweep.zero_load().unwrap().nanoseconds();
    assert!((pilot / closed_form - 1.0).abs() < 0.1, "{pilot}");
}

#[test]
fn a_saturated_point_does_not_depend_on_the_scheduler() {
    compare_schedulers(0.95, &["\"optimistic\"\nparts = 9"]);
}

#[test]
#[ignore = "takes long"]
fn no_point_depends_on_the_scheduler() {
    for load in [0.3, 0.95] {
        compare_schedulers(load, &["\"conservative\"\nparts = 5", "\"optimistic\"\nparts = 9"]);
    }
}

/// Compares the point of each of `schedulers` with that of a single queue.
fn compare_schedulers(load: f64, schedulers: &[&str]) {
    let uniform = format!("uniform = {{ load = 0.5, {BERNOULLI} }}");
    let whole = text(DRAGONFLY, "", 72, &uniform);
    let point = |text: &str| PointResult {
        // Unneeded checks are events too.
        events: 0,
        cpu_s: 0.0,
        wall_s: 0.0,
        ..measure(&sweep(text, steady()), load)
    };
    let expected = point(&whole);
    for scheduler in schedulers {
        assert_eq!(
            point(&whole.replace("\"sequential\"", scheduler)),
            expected,
            "{scheduler}"
        );
    }
}

#[test]
fn below_saturation_all_that_is_offered_is_accepted_and_latency_rises() {
    let uniform = format!("uniform = {{ load = 0.5, {BERNOULLI} }}");
    let text = text(DRAGONFLY, "", 72, &uniform);
    for method in [steady(), booksim(500, 500)] {
        let sweep = sweep(&text, method);
        let mut before = 0.0;
        for load in [0.1, 0.4, 0.7] {
            let point = measure(&sweep, load);
            assert!(!point.saturated, "{point:?}");
            assert!((point.accepted / load - 1.0).abs() < 0.03, "{point:?}");
            assert!((point.created / load - 1.0).abs() < 0.03, "{point:?}");
            let (ns, cycles) = (point.latency_ns.unwrap(), point.latency_cycles.unwrap());
            assert!(ns.mean > before && (ns.mean - cycles.mean).abs() < 1e-9);
            assert!(ns.min <= ns.p50.unwrap() && ns.p50 <= ns.p99 && ns.p99.unwrap() <= ns.max);
            before = ns.mean;
        }
    }
}

#[test]
fn all_nodes_of_a_group_sharing_one_cable_saturate_it() {
    // 8 nodes per group to the next one over one of its 8 cables: 1 / 8.
    let worst = format!("worst-case = {{ load = 0.5, {BERNOULLI} }}");
    let sweep = sweep(&text(DRAGONFLY, "", 72, &worst), booksim(1_000, 500));
    let below = measure(&sweep, 0.11);
    assert!(
        !below.saturated && (below.accepted / 0.11 - 1.0).abs() < 0.04,
        "{below:?}"
    );
    let above = measure(&sweep, 0.2);
    assert!(above.saturated && (above.accepted - 0.125).abs() < 0.006, "{above:?}");
    assert!(above.reason.unwrap().contains("threshold"));
}

#[test]
fn fifo_input_queues_saturate_near_0_586_and_virtual_output_queues_do_not() {
    // Karol, Hluchyj, Morgan (1987): 2 - sqrt(2) = 0.586 for many ports, 0.593 or so for 32.
    let uniform = format!("uniform = {{ load = 0.5, self = true, {BERNOULLI} }}");
    let fifo = sweep(
        &text(SWITCH, "input_queues = \"fifo\"\n", 32, &uniform),
        booksim(2_000, 2_000),
    );
    let below = measure(&fifo, 0.55);
    assert!(!below.saturated, "{below:?}");
    let above = measure(&fifo, 0.8);
    assert!(above.saturated && (above.accepted - 0.59).abs() < 0.012, "{above:?}");
    let voq = sweep(&text(SWITCH, "", 32, &uniform), steady());
    let point = measure(&voq, 0.8);
    assert!(
        !point.saturated && (point.accepted / 0.8 - 1.0).abs() < 0.02,
        "{point:?}"
    );
    assert_eq!(point.hops, Some(1.0), "messages to oneself pass the router too");
}

#[test]
fn an_output_queue_of_a_switch_waits_as_long_as_theory_says() {
    // Output queueing with Bernoulli arrivals, N ports, load p (Karol et al., eq. 4): mean wait (N - 1) / N * p / (2 (1 - p)) slots.
    let uniform = format!("uniform = {{ load = 0.5, self = true, {BERNOULLI} }}");
    let sweep = sweep(&text(SWITCH, "", 32, &uniform), steady());
    for p in [0.3, 0.6, 0.8] {
        let point = measure(&sweep, p);
        // Two links of 6 ns and a router of 3 ns, then the wait.
        let expected = 15.0 + 31.0 / 32.0 * p / (2.0 * (1.0 - p));
        let mean = point.latency_ns.unwrap().mean;
        assert!((mean / expected - 1.0).abs() < 0.015, "{p}: {mean}, not {expected}");
    }
}

/// Runs `text` to its end under a scheduler, sampled in periods of 1 us or not at all.
fn run(text: &str, scheduler: &str, sampled: bool) -> MachineMeasured {
    let mut overrides = vec![format!("run.scheduler={scheduler}")];
    if scheduler != "sequential" {
        overrides.extend(["run.parts=3".to_string(), "run.threads=2".to_string()]);
    }
    let scenario = scenario::load(text, "sweep.toml", &overrides, None, "").unwrap_or_else(|error| panic!("{error}"));
    let plan = Plan::new(&scenario.resolved, &scenario.placement).unwrap();
    let resources = Resources { cores: 2, processes: 1 };
    let schedule = schedule::plan(&scenario.resolved, &scenario.placement, plan.topology(), resources).unwrap();
    let partition = schedule.partition;
    let ranges: Vec<_> = (0..partition.len()).map(|part| partition.range(part)).collect();
    let mut machines = plan.parts(&ranges);
    for machine in machines.iter_mut().filter(|_| sampled) {
        machine.fabric.sample(Sampling {
            traffic: 0,
            period: Time::from_ns(1_000),
            periods: 50,
            histograms: 50,
            cycle: Some(Time::from_ns(1)),
        });
    }
    let options = (scheduler != "sequential").then(|| {
        assert_eq!(machines.len(), 3);
        let optimism = (scheduler == "optimistic").then_some(Optimism {
            events_per_round: 300,
            journal: 1 << 24,
        });
        Options {
            optimism,
            ..Options::conservative(2)
        }
    });
    let mut run = odonata_machine::schedule(machines, partition, 0, options, Box::new(SingleProcess)).unwrap();
    let pause = run.run(Time::LONGEST, u64::MAX);
    assert_eq!(pause, Pause::Idle);
    let end = run.now();
    MachineMeasured::join(run.into_parts().into_iter().map(|part| part.measured(end))).unwrap()
}

fn digest(measured: &MachineMeasured) -> String {
    let mut digest = Digest::new();
    measured.results(&mut digest);
    digest.hex()
}

#[test]
fn sampling_periods_add_up_to_the_tables_and_disturb_nothing() {
    let traffic = "uniform = { load = 0.6, messages = 300, bytes = \"160 B\" }";
    let text = text(DRAGONFLY, "", 72, traffic);
    let plain = run(&text, "sequential", false);
    let mut whole = run(&text, "sequential", true);
    let mut divided = run(&text, "conservative", true);
    assert_eq!(digest(&whole), digest(&divided));
    assert_eq!(digest(&whole), digest(&run(&text, "optimistic", true)));
    assert_ne!(digest(&plain), digest(&whole), "what is sampled is a result");
    let sampled: Sampled = whole.fabric.sampled.take().expect("it was sampled");
    assert_eq!(Some(&sampled), divided.fabric.sampled.take().as_ref());
    assert_eq!(digest(&plain), digest(&whole), "the rest does not change");
    let (sum, table) = (sampled.sum(0..50), whole.fabric.traffic[0]);
    assert_eq!(
        (sum.delivered, sum.created, sum.ejected),
        (table.packets, 72 * 300 * 3, table.packets)
    );
    let sums = [sum.latency, sum.network].map(|time| u128::from(time.0));
    assert_eq!(sums, [table.latency_created_ps, table.latency_ps]);
    assert_eq!(sum.ejected_latency, sum.latency);
    assert_eq!((sum.created_bytes, sum.ejected_bytes), (table.bytes_sent, table.bytes));
    assert_eq!((sum.hops, sum.created_at), (table.hops, sum.ejected_created_at));
    // A separate window: the sources send for 300 x 160 B / (0.6 x 64 B/ns) = 1.25 us.
    let (first, rest) = (sampled.sum(0..1), sampled.sum(1..50));
    assert!(first.created > rest.created && rest.created > 0);
    assert_eq!(first.delivered, first.created);
    assert_eq!(first.plus(rest), sum);
    // Medians: of the histogram in cycles, and of the network's own, which is exact to 1/32.
    let median = sampled.quantile(0..50, 0.5).unwrap().nanoseconds();
    let other = whole.fabric.latency_created.quantile(0, 0.5).unwrap().nanoseconds();
    assert!((median / other - 1.0).abs() < 0.04, "{median} {other}");
}

#[test]
fn scenarios_that_cannot_be_swept_are_refused() {
    let refused = |text: &str, job: Option<&str>, method: Method| match load(text, job, method) {
        Ok(_) => panic!("it was taken"),
        Err(error) => error.to_string(),
    };
    let uniform = text(DRAGONFLY, "", 72, "uniform = { load = 0.5 }");
    assert!(refused(&uniform, Some("other"), steady()).contains("one of traffic"));
    let bad = Steady {
        precision: 2.0,
        ..Steady::default()
    };
    assert!(refused(&uniform, None, Method::Steady(bad)).contains("precision"));
    let late = text(DRAGONFLY, "", 72, "uniform = { load = 0.5 }\nstart = \"1 us\"");
    assert!(refused(&late, None, steady()).contains("start"));
    let bursts = text(
        DRAGONFLY,
        "",
        72,
        "uniform = { load = 0.5, on = \"1 us\", off = \"1 us\" }",
    );
    assert!(refused(&bursts, None, steady()).contains("on-off"));
    let program = text(DRAGONFLY, "", 72, "stencil = {}");
    assert!(refused(&program, None, steady()).contains("no synthetic traffic"));
    let sweep = sweep(&uniform, steady());
    for bad in [0.0, -1.0, 1.5, f64::NAN] {
        assert!(
            sweep
                .point(bad)
                .err()
                .unwrap()
                .to_string()
                .contains("above 0, at most 1")
        );
    }
}

/// A message created in a period has not arrived when a shorter one ends, which would look like saturation.
#[test]
fn a_sampling_period_of_less_than_three_latencies_is_refused() {
    let method = |ns: u64| {
        Method::Steady(Steady {
            sample_period: Some(Span::Time(Time::from_ns(ns))),
            ..Steady::default()
        })
    };
    let uniform = text(DRAGONFLY, "", 72, "uniform = { load = 0.1 }");
    let refused = load(&uniform, None, method(20)).unwrap_err();
    assert_eq!((refused.file.as_str(), refused.line), ("--sample-period", None));
    assert!(refused.message.contains("20 ns"), "{refused}");
    assert!(load(&uniform, None, method(2_000)).is_ok());
}

use super::*;
use crate::scenario;

const MACHINE: &str = "[machine.dragonfly]\ngroups = 5\nrouters_per_group = 4\nnodes_per_router = 2\n\
                       global_ports_per_router = 2\n";

fn estimate(rest: &str) -> (Estimate, scenario::Scenario) {
    let text = format!("{MACHINE}{rest}");
    let loaded = scenario::load(&text, "scenario.toml", &[], None, "").expect("it is a scenario");
    let graph = topology(&loaded);
    let estimate =
        Estimate::new(&loaded.resolved, &loaded.placement, &graph, OPERATIONS_FOR_A_REPORT).expect("it was checked");
    (estimate, loaded)
}

fn topology(loaded: &scenario::Scenario) -> Topology {
    crate::build::routing(&loaded.resolved).unwrap().topology().clone()
}

#[test]
fn packets_of_synthetic_traffic_are_counted_by_messages_and_by_time() {
    let job = "[[jobs]]\nranks = 40\nworkload.uniform = { bytes = \"6 KiB\", mean_interval = \"2 us\", ";
    // 100 messages of two packets from each of 40 ranks, in 200 us.
    let (by_count, _) = estimate(&format!("{job} messages = 100 }}\n"));
    let (by_time, _) = estimate(&format!("{job} stop = \"200 us\" }}\n"));
    for found in [&by_count, &by_time] {
        assert!((found.packets() - 8_000.0).abs() < 1e-6, "{found:?}");
        assert!((found.jobs[0].lasts_s - 200e-6).abs() < 1e-12, "{found:?}");
        // Four of five go to another group.
        assert!((2.5..3.5).contains(&(found.hops().0 / 8_000.0)), "{found:?}");
    }
    let (limited, _) = estimate(&format!("{job} messages = 100 }}\n[run]\ntime_limit = \"50 us\"\n"));
    assert!((limited.packets() - 2_000.0).abs() < 1e-6, "{limited:?}");
}

#[test]
fn traffic_that_others_end_lasts_as_long_as_they_do() {
    let (found, _) = estimate(
        "[[jobs]]\nname = \"solver\"\nranks = 8\nstart = \"1 ms\"\n\
         workload.stencil = { dims = [8], iterations = 10, message = \"4 KiB\", compute = \"100 us\" }\n\
         [[jobs]]\nname = \"noise\"\nranks = 8\nuntil = \"solver\"\n\
         workload.uniform = { bytes = \"4 KiB\", mean_interval = \"10 us\" }\n",
    );
    let [solver, noise] = found.jobs[..] else { panic!() };
    assert_eq!((solver.start_s, noise.start_s), (1e-3, 0.0));
    assert!(solver.lasts_s > 1e-3 && solver.lasts_s < 1.2e-3, "{solver:?}");
    assert!((noise.lasts_s - (1e-3 + solver.lasts_s)).abs() < 1e-9, "{noise:?}");
    assert!((noise.message_packets - 8.0 * noise.lasts_s / 10e-6).abs() < 1e-6);
}

/// Eight ranks have seven messages each, to and from all others: matched one by one as long as a rank waits for each, at once in an
/// all-to-all whose messages are all posted before the first wait, where half of the six others are looked through for each.
#[test]
fn messages_that_are_open_at_once_are_looked_through() {
    let searches = |algorithm: &str| {
        let (found, _) = estimate(&format!(
            "[mpi.collectives]\nalltoall = {algorithm:?}\n[[jobs]]\nranks = 8\n\
             workload.alltoall = {{ bytes = \"4 KiB\", iterations = 3 }}\n"
        ));
        assert!((found.jobs[0].messages - 3.0 * 8.0 * 7.0).abs() < 1e-9, "{found:?}");
        found.searches()
    };
    assert_eq!(searches("pairwise"), 0.0);
    assert!((searches("linear") - 3.0 * 8.0 * 7.0 * 6.0 / 2.0).abs() < 1e-9);
}

#[test]
fn links_between_groups_set_the_pace_where_they_are_full() {
    let (found, _) = estimate(
        "[network.links.global]\nbandwidth = \"1 GB/s\"\n[[jobs]]\nranks = 40\n\
         workload.uniform = { bytes = \"4 KiB\", mean_interval = \"1 us\", messages = 1000 }\n",
    );
    // 40 x 4 MB, of which 4/5 leave their group, over 40 directions of cables: 3.3 ms instead of 1 ms.
    let seconds = 40.0 * 4_096_000.0 * 0.8 / (40.0 * 1e9);
    assert!((found.busy_s / seconds - 1.0).abs() < 1e-9, "{found:?}");
}

/// 4 KiB every 100 ns, where a link of 16 GiB/s takes 238 ns for them.
#[test]
fn sources_that_offer_too_much_leave_messages_waiting() {
    let text = |run: &str| {
        format!(
            "[network.links.global]\nbandwidth = \"200 GB/s\"\n[[jobs]]\nranks = 40\n\
             workload.uniform = {{ bytes = \"4 KiB\", mean_interval = \"100 ns\", stop = \"100 us\" }}\n{run}"
        )
    };
    let (found, _) = estimate(&text(""));
    let needs_s = 1_000.0 * 4_096.0 / (16.0 * f64::from(1 << 30));
    let waiting = 40_000.0 * (1.0 - 100e-6 / needs_s);
    assert!((found.jobs[0].waiting - waiting).abs() < 1.0, "{found:?}");
    // All of it is carried in the end, unless the run ends before.
    assert!((2.5..3.5).contains(&(found.hops().0 / 40_000.0)), "{found:?}");
    let (cut, _) = estimate(&text("[run]\ntime_limit = \"100 us\"\n"));
    assert!(
        (cut.hops().0 / found.hops().0 - 100e-6 / needs_s).abs() < 1e-9,
        "{cut:?}"
    );
    let calm = text("").replace("100 ns", "500 ns");
    assert_eq!(estimate(&calm).0.jobs[0].waiting, 0.0);
}

#[test]
fn routers_with_ranks_and_servers_weigh_more() {
    let (found, loaded) = estimate(
        "[storage]\nnodes = { list = [38] }\n[[jobs]]\nranks = 4\n\
         workload.checkpoint = { iterations = 1, total = \"100 MB\" }\n",
    );
    let weights = found.weights(&loaded.placement, &topology(&loaded));
    assert_eq!(weights.len(), 20);
    // Two routers with two ranks each; the server of all four on router 19.
    assert_eq!(weights[0], weights[1]);
    assert!(weights[2..19].iter().all(|&weight| weight == weights[2]));
    assert!(weights[0] > 2 * weights[2] && weights[19] > weights[0], "{weights:?}");
    let mean = weights.iter().sum::<u64>() as f64 / 20.0;
    assert!((mean - 1_001.0).abs() < 1.0, "{mean}");
}

#[test]
fn idle_machines_weigh_the_same_everywhere() {
    let (found, loaded) = estimate("[[jobs]]\nranks = 1\nworkload.stencil = { dims = [1], iterations = 1 }\n");
    let weights = Estimate::default().weights(&loaded.placement, &topology(&loaded));
    assert_eq!(weights, [1; 20]);
    assert!(found.hops().0.is_finite() && found.longest().is_finite());
}

/// In an open grid of 24 x 24 x 24 most ranks have all neighbors, but every 864th lies on one of two opposite edges. The
/// sample agrees with the sum over all ranks.
#[test]
fn a_grid_is_reckoned_by_ranks_of_all_its_places() {
    let text = "[machine.dragonfly]\ngroups = 65\nrouters_per_group = 16\nnodes_per_router = 16\nglobal_ports_per_router = 4\n\
                [[jobs]]\nranks = 13824\nworkload.amg = { levels = 2, cycles = 1 }\n";
    let loaded = scenario::load(text, "scenario.toml", &[], None, "").expect("it is a scenario");
    let (resolved, placement) = (&loaded.resolved, &loaded.placement);
    let found =
        Estimate::new(resolved, placement, &topology(&loaded), OPERATIONS_FOR_A_REPORT).expect("it was checked");
    let (job, rules) = (&resolved.jobs[0], resolved.mpi.rules());
    let program = job.program().unwrap().unwrap();
    let mut all = walk::Walk::new(resolved, job);
    assert!((0..13_824).all(|rank| all.rank(program.as_ref(), rank, &rules)));
    for (expected, found) in [
        (all.sums.messages, found.jobs[0].messages),
        (all.sums.bytes, found.jobs[0].bytes),
        (all.sums.packets, found.jobs[0].message_packets),
    ] {
        assert!((0.85..1.15).contains(&(found / expected)), "{found} of {expected}");
    }
}

/// The first rank sends to all others, which send nothing: of a job of `n` ranks `n - 1` messages, not as many times `n / 16`.
#[test]
fn the_first_rank_stands_for_itself() {
    let (found, _) = estimate(
        "[[jobs]]\nranks = 40\n\
         workload.broadcast = { bytes = \"4 KiB\", iterations = 3, algorithm = \"linear\" }\n",
    );
    assert!((found.jobs[0].messages - 3.0 * 39.0).abs() < 1e-9, "{found:?}");
}

#[test]
fn samples_are_scattered_and_all_different() {
    for (count, most) in [(1, 16), (16, 16), (17, 16), (1_000, 16), (13_824, 15), (u32::MAX, 16)] {
        let found = scattered(count, most);
        assert!(found.is_sorted_by(|one, next| one < next) && found.iter().all(|&one| one < count));
        assert!(found.len() as u32 >= count.min(most) * 2 / 3, "{count}: {found:?}");
        // Gaps are shorter than three times the mean, at the ends too.
        let ends = [0]
            .into_iter()
            .chain(found.iter().copied())
            .zip(found.iter().copied().chain([count]));
        let widest = ends.map(|(one, next)| next - one).max().unwrap_or(0);
        assert!(
            u64::from(widest) * u64::from(most.min(count)) <= 3 * u64::from(count),
            "{count}: {found:?}"
        );
    }
    // Places modulo 24: equal steps of 864 or 1,728 have one of them.
    let rows: std::collections::BTreeSet<u32> = scattered(13_824, 16).iter().map(|at| at % 24).collect();
    assert!(rows.len() > 8, "{rows:?}");
}

/// The messages of a stencil are proportional to its iterations: 8 ranks of a ring send 4 KiB to each of two neighbors.
#[test]
fn long_programs_are_extrapolated_by_their_iterations() {
    for iterations in [100, 900, 1_000_000] {
        let (found, _) = estimate(&format!(
            "[[jobs]]\nranks = 8\nworkload.stencil = {{ dims = [8], iterations = {iterations}, message = \"4 KiB\", \
             allreduce = \"0 B\" }}\n"
        ));
        let job = &found.jobs[0];
        let bytes = 8.0 * 2.0 * 4_096.0 * f64::from(iterations);
        assert!((job.bytes / bytes - 1.0).abs() < 1e-9, "{iterations}: {job:?}");
        assert!(
            (job.lasts_s / f64::from(iterations) / 2e-3 - 1.0).abs() < 0.02,
            "{job:?}"
        );
        assert!(!job.sample.at_least);
        // 2 x 2 exchanges, 2 waits, computation and mark: 8 operations.
        let share = (20_000.0 / (8.0 * f64::from(iterations))).min(1.0);
        assert!((job.sample.share / share - 1.0).abs() < 1e-3, "{:?}", job.sample);
    }
}

/// Repeated phases are walked once, and extrapolated by their iterations.
#[test]
fn phases_and_repetitions_are_extrapolated_one_by_one() {
    let (found, _) = estimate(
        "[[jobs]]\nranks = 8\nrepeat = 1000\nworkload = [\n\
         { stencil = { dims = [8], iterations = 100, message = \"4 KiB\", allreduce = \"0 B\" } },\n\
         { alltoall = { bytes = \"1 KiB\", iterations = 10 } },\n]\n",
    );
    let bytes = 1_000.0 * 8.0 * (100.0 * 2.0 * 4_096.0 + 10.0 * 7.0 * 1_024.0);
    assert!((found.jobs[0].bytes / bytes - 1.0).abs() < 1e-9, "{:?}", found.jobs[0]);
    assert!(
        (found.jobs[0].sample.share / 1e-3 - 1.0).abs() < 1e-9,
        "{:?}",
        found.jobs[0].sample
    );
}

/// IOR has no iterations: its operations are counted. 16 ranks write and read 300,000 x 4 KiB each.
#[test]
fn programs_without_iterations_are_extrapolated_by_their_operations() {
    let (found, _) = estimate(
        "[storage]\nnodes = { per_group = 1 }\n\
         device = { capacity = \"1 TB\", rate = { write = \"1 GB/s\", read = \"1 GB/s\", overhead = \"0 us\" } }\n\
         [[jobs]]\nranks = 16\nworkload.ior = \"-w -r -t 4k -b 1200000k -F\"\n",
    );
    let job = &found.jobs[0];
    let bytes = 16.0 * 2.0 * 300_000.0 * 4_096.0;
    assert!((job.io_bytes / bytes - 1.0).abs() < 1e-3, "{job:?}");
    assert!((job.sample.share - 1.0 / 30.0).abs() < 0.01, "{:?}", job.sample);
    assert!(!job.sample.at_least);
}

/// Ranks 0 and 1 alone send, 8 B each in each round trip: all ranks are walked where programs are short.
#[test]
fn short_programs_are_walked_for_all_ranks() {
    let (found, _) = estimate("[[jobs]]\nranks = 40\nworkload.ping-pong = { iterations = 2 }\n");
    assert_eq!(found.jobs[0].sample.ranks, 40, "{:?}", found.jobs[0].sample);
    assert_eq!(found.jobs[0].bytes, 2.0 * 2.0 * 8.0, "{:?}", found.jobs[0]);
}

/// Flows and messages of the analytic model visit no routers.
#[test]
fn work_is_counted_by_fidelity() {
    let text = |fidelity: &str| {
        format!(
            "[network]\nfidelity = {fidelity:?}\n[[jobs]]\nranks = 8\n\
             workload.stencil = {{ dims = [8], iterations = 10, message = \"4 KiB\", allreduce = \"0 B\" }}\n"
        )
    };
    // 8 ranks with 2 messages in each of 10 iterations.
    for (name, fidelity) in [
        ("packet", Fidelity::Packet),
        ("flow", Fidelity::Flow),
        ("analytic", Fidelity::Analytic),
    ] {
        let (found, _) = estimate(&text(name));
        let counted = [Fidelity::Packet, Fidelity::Flow, Fidelity::Analytic].map(|one| found.messages_of(one));
        let expected =
            [Fidelity::Packet, Fidelity::Flow, Fidelity::Analytic].map(|one| f64::from(one == fidelity) * 160.0);
        assert_eq!(counted, expected, "{name}");
        assert_eq!(found.hops().0 > 0.0, fidelity == Fidelity::Packet, "{name}: {found:?}");
    }
}

/// 128 flits of 32 B in each packet of 4 KiB.
#[test]
fn flits_visit_the_routers_of_their_packets() {
    let (found, _) = estimate(
        "[network]\nrouter = \"pipelined\"\nclock = \"10 ns\"\n[[jobs]]\nranks = 40\n\
         workload.uniform = { bytes = \"4 KiB\", mean_interval = \"1 ms\", messages = 10 }\n",
    );
    let (packets, flits) = found.hops();
    assert!((flits / packets - 128.0).abs() < 1e-9, "{found:?}");
}

/// A detour leads over a second shortest path: Valiant's routing always takes one, adaptive routing may.
#[test]
fn detours_double_the_cables_of_a_path() {
    let of = |algorithm: &str| {
        let (found, _) = estimate(&format!(
            "[network.routing]\nalgorithm = {algorithm:?}\n[[jobs]]\nranks = 40\n\
             workload.uniform = {{ bytes = \"4 KiB\", mean_interval = \"1 ms\", messages = 10 }}\n"
        ));
        (found.hops().0 / found.packets(), found.longest())
    };
    let (shortest, none) = of("minimal");
    assert!(
        (2.0..4.0).contains(&shortest) && (none - 1.0).abs() < 1e-12,
        "{shortest} {none}"
    );
    let detour = 2.0 * (shortest - 1.0) + 1.0;
    let (valiant, longest) = of("valiant");
    assert!(
        (valiant - detour).abs() < 1e-9 && (longest - 1.0).abs() < 1e-12,
        "{valiant} {longest}"
    );
    let (adaptive, longest) = of("ugal");
    assert!(
        (adaptive - shortest).abs() < 1e-9 && (longest * adaptive - detour).abs() < 1e-9,
        "{longest}"
    );
}

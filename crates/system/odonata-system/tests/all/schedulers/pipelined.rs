//! Pipelined routers: worms of several flits across the borders of parts.

use super::{ALL, ONE_QUEUE, assert_equal_on, results, tables};
use odonata_engine::Stream;
use odonata_engine::random::Purpose;
use odonata_system::Outcome;
use std::ops::Range;

const TORUS: &str = "[machine.torus]\ndims = [6, 6]\nnodes_per_router = 1\n";

const DRAGONFLY: &str = "[machine.dragonfly]\ngroups = 9\nrouters_per_group = 4\nnodes_per_router = 1\n\
                         global_ports_per_router = 2\n";

/// Worms of up to 16 flits in buffers of 16, several virtual channels per level, short credits.
const WORMS: &str = r#"
[run]
series_interval = "3 us"
[network]
packet = "512 B"
flit = "32 B"
clock = "1 ns"
router = "pipelined"
switching = "wormhole"
[network.links.terminal]
bandwidth = "1 flit/cycle"
latency = "2 cycles"
credit_delay = "1 cycles"
buffer = "16 flits"
[network.links.local]
bandwidth = "1 flit/cycle"
latency = "5 cycles"
credit_delay = "2 cycles"
buffer = "16 flits"
[network.links.global]
bandwidth = "0.5 flits/cycle"
latency = "9 cycles"
credit_delay = "4 cycles"
buffer = "20 flits"
[network.pipeline]
internal_speedup = 1.5
input_speedup = 2
[[jobs]]
name = "uniform"
ranks = 12
placement = "random"
workload = { uniform = { bytes = "1300 B", load = 0.6, messages = 12 } }
[[jobs]]
name = "halo"
ranks = 8
placement = "random"
workload = { stencil = { dims = [4, 2], message = "3 KiB", iterations = 2, compute = "300 ns", allreduce = "64 B" } }
"#;

#[test]
fn worms_on_a_torus_with_random_selection_of_adaptive_ports() {
    let routing = "[network.routing]\nalgorithm = \"minimal-adaptive\"\nselection = \"random\"\nvcs = 4\n";
    assert_equal_on(TORUS, &format!("{WORMS}{routing}"), &[], &Outcome::Completed);
}

#[test]
fn worms_on_a_dragonfly_under_ugal() {
    let routing = "[network.routing]\nalgorithm = \"ugal\"\n";
    assert_equal_on(DRAGONFLY, &format!("{WORMS}{routing}"), &[], &Outcome::Completed);
}

/// Drawn at random: machine, algorithm, switching, stages, and how the machine is divided.
#[test]
fn random_pipelines_have_the_same_results_everywhere() {
    compare_random_pipelines(0..14);
}

#[test]
#[ignore = "takes long"]
fn more_random_pipelines_have_the_same_results_everywhere() {
    compare_random_pipelines(14..40);
}

fn compare_random_pipelines(seeds: Range<u64>) {
    let machines: [(&str, &[&str]); 3] = [
        (TORUS, &["dimension-order", "minimal-adaptive", "valiant"]),
        (DRAGONFLY, &["minimal", "ugal", "progressive-adaptive"]),
        (
            "[machine.mesh]\ndims = [3, 3]\nnodes_per_router = 3\n",
            &["dimension-order", "minimal-adaptive"],
        ),
    ];
    for seed in seeds {
        let mut random = Stream::new(seed, 2, Purpose::Host);
        let mut below = |n: usize| random.below(n as u32) as usize;
        let (machine, algorithms) = machines[below(3)];
        let mut settings = vec![
            format!("seed={seed}"),
            format!("network.routing.algorithm={:?}", algorithms[below(algorithms.len())]),
            format!(
                "network.switching={:?}",
                ["wormhole", "cut-through", "store-and-forward"][below(3)]
            ),
            format!("network.pipeline.routing={}", below(3)),
            format!("network.pipeline.vc_allocation={}", 1 + below(2)),
            format!("network.pipeline.switch_allocation={}", 1 + below(2)),
            format!("network.pipeline.iterations={}", 1 + below(2)),
            format!("network.pipeline.internal_speedup={:?}", [1.0, 1.5, 2.0][below(3)]),
            format!("network.pipeline.input_speedup={}", 1 + below(2)),
            format!(
                "network.pipeline.allocator={:?}",
                ["input-first", "output-first"][below(2)]
            ),
            format!("network.arbitration={:?}", ["round-robin", "age"][below(2)]),
        ];
        let text = format!("{WORMS}{machine}");
        let run = |settings: &[String]| {
            let settings: Vec<&str> = settings.iter().map(String::as_str).collect();
            results(&text, &settings)
        };
        settings.push(String::new());
        let reference = run(&[&settings[..settings.len() - 1], &ONE_QUEUE.map(String::from)].concat());
        assert_eq!(reference.outcome(), &Outcome::Completed, "{settings:?}");
        for scheduler in ALL {
            settings.pop();
            settings.push(format!("run.scheduler={scheduler}"));
            let how = [
                format!("run.parts={}", 2 + below(8)),
                format!("run.threads={}", 1 + below(2)),
            ];
            let got = run(&[&settings[..], &how].concat());
            assert_eq!(got.digest(), reference.digest(), "{settings:?} {how:?}");
            assert_eq!(tables(&got), tables(&reference), "{settings:?} {how:?}");
        }
    }
}

//! Training jobs: closed forms of the exposed time by parallelism, of bubbles, of MFU and of stragglers.

use crate::common::run;
use crate::everywhere::assert_one_digest;
use odonata_system::Outcome;
use odonata_system::results::{InferenceRow, TrainingRow};

/// In ns: latency and overhead of a message; in ns per byte: gap.
const LATENCY: f64 = 700.0;
const OVERHEAD: f64 = 100.0;
const GAP: f64 = 0.25;

/// Hidden size, layers, sequence, vocabulary; sequences of a micro-batch, micro-batches.
const H: f64 = 256.0;
const LAYERS: f64 = 8.0;
const S: f64 = 128.0;
const V: f64 = 1_000.0;
const B: f64 = 3.0;
const M: f64 = 4.0;
/// Floating-point operations of a GPU per nanosecond.
const RATE: f64 = 1e3;

/// A job of `ranks` GPUs with `keys` beside the sizes above.
fn text(network: &str, ranks: u32, keys: &str) -> String {
    format!(
        "[machine.dragonfly]\ngroups = 4\nrouters_per_group = 4\nnodes_per_router = 2\nglobal_ports_per_router = 1\n\
         {network}[[jobs]]\nname = \"train\"\nranks = {ranks}\n[jobs.workload.training]\nlayers = 8\nhidden = 256\nheads = 2\n\
         sequence = 128\nvocabulary = 1000\nmicro_batches = 4\nmicro_batch = 3\nflops = 1e12\npeak_flops = 2e12\n{keys}\n"
    )
}

/// The LogGP model, with messages that all go eagerly.
fn analytic(latency: f64, overhead: f64, gap: f64) -> String {
    format!(
        "[network]\nfidelity = \"analytic\"\n\
         analytic = {{ latency = \"{latency} ns\", gap = \"0 ns\", gap_per_byte = \"{gap} ns/B\" }}\n\
         [nic]\nmessage_delay = \"0 ns\"\n\
         [mpi]\nsend_delay = \"{overhead} ns\"\nsend_overhead = \"{overhead} ns\"\nrecv_overhead = \"{overhead} ns\"\n\
         eager_threshold = \"none\"\n"
    )
}

/// The row of the only job, and the digest.
fn train_with(text: &str, overrides: &[&str]) -> (TrainingRow, String) {
    let results = run(text, overrides);
    assert_eq!(*results.outcome(), Outcome::Completed);
    let [row] = &results.rows().training[..] else {
        panic!("a row for the only job");
    };
    (row.clone(), format!("{:?} {}", row, results.digest()))
}

fn train(text: &str) -> TrainingRow {
    train_with(text, &[]).0
}

fn on_loggp(ranks: u32, keys: &str) -> TrainingRow {
    train(&text(&analytic(LATENCY, OVERHEAD, GAP), ranks, keys))
}

/// A message of `bytes`, in ns.
fn message(bytes: f64) -> f64 {
    2.0 * OVERHEAD + LATENCY + (bytes - 1.0) * GAP
}

/// A ring all-reduce of `bytes` on `ranks` ranks that call it together.
fn ring(ranks: f64, bytes: f64) -> f64 {
    2.0 * (ranks - 1.0) * message(bytes / ranks)
}

/// Forward operations of a micro-batch in a layer: 24 b s h² + 4 b s² h; in the output: 2 b s h V.
fn layer_operations() -> f64 {
    24.0 * B * S * H * H + 4.0 * B * S * S * H
}

fn output_operations() -> f64 {
    2.0 * B * S * H * V
}

/// Computation of an iteration of all micro-batches, in ns: a backward pass has twice the operations of a forward pass.
fn computation() -> f64 {
    3.0 * M * (LAYERS * layer_operations() + output_operations()) / RATE
}

/// Picoseconds of rounding over the operations of an iteration.
fn close(seconds: f64, expected_ns: f64) {
    assert!(
        (seconds * 1e9 - expected_ns).abs() < 0.5 + 1e-9 * expected_ns,
        "{} ns; expected {expected_ns} ns",
        seconds * 1e9
    );
}

fn sum(row: &TrainingRow) -> f64 {
    row.compute_s
        + row.exposed_tensor_s
        + row.exposed_pipeline_s
        + row.exposed_data_s
        + row.exposed_expert_s
        + row.bubble_s
        + row.io_s
        + row.other_s
}

/// Nothing overlaps: the exposed time is the iteration without its computation, and that is the all-reduce.
#[test]
fn gradients_are_exposed_for_the_time_of_their_all_reduce() {
    let row = on_loggp(8, "");
    // 12 h² parameters of a layer, V h of embedding and output each, of 2 B.
    let bytes = 2.0 * (LAYERS * 12.0 * H * H + 2.0 * V * H);
    close(row.compute_s, computation());
    close(row.exposed_data_s, ring(8.0, bytes));
    close(row.exposed_data_s, (row.iteration_s - row.compute_s) * 1e9);
    assert_eq!((row.exposed_tensor_s, row.bubble_s, row.bubble_ideal), (0.0, 0.0, 0.0));
}

/// 4 M L all-reduces of b s h elements of 2 B.
#[test]
fn tensor_parallelism_is_exposed_for_the_time_of_its_all_reduces() {
    let row = on_loggp(4, "tensor = 4");
    close(row.compute_s, computation() / 4.0);
    close(row.exposed_tensor_s, 4.0 * M * LAYERS * ring(4.0, 2.0 * B * S * H));
    close(row.elapsed_s, (row.compute_s + row.exposed_tensor_s) * 1e9);
    assert_eq!((row.exposed_data_s, row.exposed_pipeline_s), (0.0, 0.0));
}

/// Settings of NCCL whose times are round: one channel, one chunk, 2 us of a call, 300 ns of a step, 0.5 ns/B of a sum.
const NCCL: &str =
    "channels = 1, chunk = \"1 TiB\", launch = \"2 us\", step_latency = \"300 ns\", reduction = \"0.5 ns/B\"";

/// An all-reduce of `bytes` by NCCL: launch + 2 (p - 1) (message + step_latency) + (p - 1) reduction n / p by a ring;
/// launch + 2 (message + step_latency) + reduction n / 2 by two trees of two ranks, each with half of the vector.
fn by_nccl(algorithm: &str, ranks: f64, bytes: f64) -> f64 {
    let (launch, latency, reduction) = (2000.0, 300.0, 0.5);
    let (steps, part) = match algorithm {
        "tree" => (1.0, bytes / 2.0),
        _ => (ranks - 1.0, bytes / ranks),
    };
    launch + steps * (2.0 * (message(part) + latency) + reduction * part)
}

/// Tensor groups of four GPUs are on one host of four; data groups have a GPU on each of two hosts. What the columns do not
/// name is computation.
#[test]
fn rings_of_nccl_are_exposed_for_their_closed_form() {
    let keys = format!("tensor = 4\nnccl = {{ gpus_per_host = 4, {NCCL} }}");
    let row = on_loggp(8, &keys);
    let gradients = 2.0 * (LAYERS * 12.0 * H * H + 2.0 * V * H) / 4.0;
    let activations = by_nccl("ring", 4.0, 2.0 * B * S * H);
    close(row.exposed_tensor_s, 4.0 * M * LAYERS * activations);
    close(row.exposed_data_s, by_nccl("ring", 2.0, gradients));
    close(row.compute_s, computation() / 4.0);
    close(sum(&row), row.elapsed_s * 1e9);
    close(row.bubble_s + row.other_s, 0.0);
}

/// Two hosts of one GPU, in two trees.
#[test]
fn trees_of_nccl_are_exposed_for_their_closed_form() {
    let keys = format!("nccl = {{ algorithm = \"tree\", gpus_per_host = 1, {NCCL} }}");
    let row = on_loggp(2, &keys);
    let gradients = 2.0 * (LAYERS * 12.0 * H * H + 2.0 * V * H);
    close(row.exposed_data_s, by_nccl("tree", 2.0, gradients));
    close(row.compute_s, computation());
}

/// A reduce-scatter and an all-gather take the time of an all-reduce and a call more: no step of the second sums.
#[test]
fn sharded_gradients_by_nccl_are_two_calls() {
    let keys = format!("gradients = \"sharded\"\nnccl = {{ {NCCL} }}");
    let row = on_loggp(8, &keys);
    let bytes = 2.0 * (LAYERS * 12.0 * H * H + 2.0 * V * H);
    close(row.exposed_data_s, 2000.0 + by_nccl("ring", 8.0, bytes));
    close(row.compute_s, computation());
}

#[test]
fn trainings_by_nccl_give_the_same_results_everywhere() {
    let keys = "tensor = 2\npipeline = 2\nmicro_batches = 2\niterations = 2\n\
                nccl = { algorithm = \"auto\", protocol = \"auto\", gpus_per_host = 4 }";
    for keys in [
        keys.to_owned(),
        format!("{keys}\noverlap_gradients = true\ngradients = \"sharded\""),
    ] {
        let packets = text("", 16, &keys).replace("micro_batches = 4\n", "");
        assert_one_digest("training by NCCL", |overrides| train_with(&packets, overrides).1);
    }
}

/// Hosts that collectives assume and those of the machine differ: a warning, unless all ranks are on one host by both.
#[test]
fn hosts_of_nccl_that_the_machine_does_not_have_are_a_warning() {
    let warnings = |ranks: u32, workload: &str| {
        let text = format!(
            "[machine.rail-optimized]\nhosts_per_pod = 4\ngpus_per_host = 4\n[[jobs]]\nname = \"j\"\nranks = {ranks}\n\
             workload.{workload}\n"
        );
        let scenario = odonata_system::scenario::load(&text, "s.toml", &[], None, "").unwrap();
        let found = odonata_system::warnings(&scenario);
        let texts = found.into_iter().map(|one| (one.key, one.expected));
        texts
            .filter(|(key, _)| key.ends_with("gpus_per_host"))
            .collect::<Vec<_>>()
    };
    let training = "training = { layers = 2, hidden = 64, tensor = 2, nccl = {} }";
    for (ranks, workload, key) in [
        (
            16,
            "nccl = { bytes = \"1 MiB\" }",
            Some("jobs.0.workload.nccl.gpus_per_host"),
        ),
        (16, "nccl = { bytes = \"1 MiB\", gpus_per_host = 4 }", None),
        (4, "nccl = { bytes = \"1 MiB\" }", None),
        (16, training, Some("jobs.0.workload.training.nccl.gpus_per_host")),
        (16, &training.replace("nccl = {}", "iterations = 2"), None),
    ] {
        let expected = key.map(|key| (key.to_owned(), "gpus_per_host = 4".to_owned()));
        assert_eq!(warnings(ranks, workload), Vec::from_iter(expected), "{workload}");
    }
}

/// A layer's gradients are reduced while the layers before it are computed, which takes longer than the reduction. Only
/// those of the first layer, which ends last, and of embedding and output are exposed; and the calls of the others.
#[test]
fn overlapped_gradients_are_exposed_for_the_first_layer() {
    let row = on_loggp(8, "overlap_gradients = true");
    let of_layer = ring(8.0, 2.0 * 12.0 * H * H);
    assert!(
        of_layer < 2.0 * layer_operations() / RATE,
        "a reduction fits into the pass of a layer"
    );
    let exposed = of_layer + ring(8.0, 2.0 * 2.0 * V * H);
    // The call of each of the other layers sends its first message.
    close(row.exposed_data_s, exposed + (LAYERS - 1.0) * OVERHEAD);
    close(row.compute_s, computation());
}

/// The same with calls of NCCL, which take less time than the backward pass of a layer: only that of the first layer is
/// exposed, and the call for embedding and output.
#[test]
fn overlapped_gradients_by_nccl_are_exposed_for_the_first_layer() {
    let nccl = format!("nccl = {{ {NCCL}, gpus_per_host = 8 }}").replace("0.5 ns/B", "0.1 ns/B");
    let row = on_loggp(8, &format!("overlap_gradients = true\n{nccl}"));
    let call = |bytes: f64| {
        let block = bytes / 8.0;
        2_000.0 + 7.0 * (2.0 * (message(block) + 300.0) + 0.1 * block)
    };
    let of_layer = call(2.0 * 12.0 * H * H);
    assert!(
        of_layer < 2.0 * layer_operations() / RATE,
        "a reduction fits into the pass of a layer"
    );
    close(row.exposed_data_s, of_layer + call(2.0 * 2.0 * V * H));
    close(row.elapsed_s - row.exposed_data_s, computation());
    let plain = on_loggp(8, &nccl);
    assert!(plain.elapsed_s > row.elapsed_s && plain.exposed_data_s > row.exposed_data_s);
}

/// Without communication time, each of P equal stages is idle for (P - 1) / (v M + P - 1) of an iteration, with v groups of
/// layers in a stage.
#[test]
fn bubbles_are_their_closed_form() {
    for (schedule, interleave) in [("1f1b", 1.0), ("gpipe", 1.0), ("1f1b", 2.0)] {
        for stages in [2.0, 4.0, 8.0] {
            if stages * interleave > LAYERS {
                continue;
            }
            let keys = format!("pipeline = {stages}\nschedule = \"{schedule}\"\ninterleave = {interleave}");
            let network = analytic(0.001, 0.0, 0.0);
            // One word: the output of the last stage takes next to no time.
            let row = train(&text(&network, stages as u32, &keys).replace("vocabulary = 1000", "vocabulary = 1"));
            let ideal = (stages - 1.0) / (interleave * M + stages - 1.0);
            assert_eq!(row.bubble_ideal, ideal);
            let found = row.bubble_s / row.elapsed_s;
            assert!(
                (found / ideal - 1.0).abs() < 1e-3,
                "{schedule}, {stages} stages: {found}, not {ideal}"
            );
            assert!(
                row.exposed_pipeline_s < 1e-6 * row.elapsed_s,
                "{schedule}, {stages} stages"
            );
        }
    }
}

/// MFU = tokens/s (6 N + 12 L h s) / (GPUs x peak) (A. Chowdhery et al., "PaLM", 2022, appendix B), where the embedding,
/// which takes no operations, is not in N.
#[test]
fn mfu_and_tokens_follow_from_the_iteration() {
    let row = on_loggp(8, "tensor = 2\npipeline = 2\niterations = 3");
    assert_eq!((row.iterations, row.gpus), (3, 8));
    close(row.iteration_s * 3.0, row.elapsed_s * 1e9);
    let tokens = 2.0 * M * B * S / row.iteration_s;
    assert!((row.tokens_per_s / tokens - 1.0).abs() < 1e-9);
    let parameters = LAYERS * 12.0 * H * H + V * H;
    let mfu = tokens * (6.0 * parameters + 12.0 * LAYERS * H * S) / (8.0 * 2e12);
    assert!((row.mfu / mfu - 1.0).abs() < 1e-9, "{} {mfu}", row.mfu);
}

/// All ranks wait for a straggler, which waits only for the all-reduce. Meanwhile others go on with the ring as far as they
/// can without it.
#[test]
fn a_straggler_delays_all_ranks_by_its_slowdown() {
    let (even, slow) = (on_loggp(8, ""), on_loggp(8, "straggler = { rank = 3, slowdown = 1.5 }"));
    let around = ring(8.0, 2.0 * (LAYERS * 12.0 * H * H + 2.0 * V * H));
    let delay = 0.5 * computation();
    assert!(around < 0.2 * delay, "{around} {delay}");
    let later = (slow.elapsed_s - even.elapsed_s) * 1e9;
    assert!((delay - around..=delay + 1.0).contains(&later), "{later} {delay}");
    // Seven of eight ranks wait.
    let longer = (slow.exposed_data_s - even.exposed_data_s) * 1e9;
    let expected = delay * 7.0 / 8.0;
    assert!(
        (expected - around..=expected + 1.0).contains(&longer),
        "{longer} {expected}"
    );
}

/// Stretches of iterations and restarts follow each other: a stretch is as long as a run of as many iterations, a restart is
/// its delay and two barriers. The goodput is the share of the kept iterations.
#[test]
fn failures_cost_lost_iterations_and_restarts() {
    for extra in ["", "pipeline = 2", WITHOUT_STEP_TIMES] {
        let keys = |iterations: u32| format!("iterations = {iterations}\n{extra}\n");
        let [four, five, clean] = [4, 5, 7].map(|iterations| on_loggp(8, &keys(iterations)));
        assert_eq!((clean.failures, clean.lost_iterations, clean.goodput), (0, 0, 1.0));
        // Without checkpoints.
        let failing = format!("{}failures = {{ after = [4, 9], restart = \"3 ms\" }}", keys(7));
        let found = on_loggp(8, &failing);
        assert_eq!((found.iterations, found.failures, found.lost_iterations), (7, 2, 9));
        // Ranks leave a barrier within its messages.
        let barrier = 3.0 * (message(1.0) + OVERHEAD);
        let about = |seconds: f64, expected: f64, barriers: f64| {
            let excess = (seconds - expected) * 1e9;
            assert!(
                (-barriers * barrier..=barriers * barrier).contains(&excess),
                "{excess} ns over {expected} s"
            );
        };
        about(found.lost_s, four.elapsed_s + five.elapsed_s, 2.0);
        about(found.restart_s, 2.0 * 3e-3, 4.0);
        about(found.elapsed_s, clean.elapsed_s + found.lost_s + found.restart_s, 2.0);
        assert!((found.goodput - clean.elapsed_s / found.elapsed_s).abs() < 1e-4);
        assert!((found.iteration_s * 7.0 - found.elapsed_s).abs() < 1e-12);
        assert!((sum(&found) / found.elapsed_s - 1.0).abs() < 1e-9);
        let compute = 16.0 / 7.0 * clean.compute_s;
        assert!(
            (found.compute_s / compute - 1.0).abs() < 1e-4,
            "{} {compute}",
            found.compute_s
        );
    }
}

/// Collectives by NCCL, whose steps are not computation of the model.
const WITHOUT_STEP_TIMES: &str =
    "nccl = { channels = 1, gpus_per_host = 8, step_latency = \"0 s\", reduction = \"0 ns/B\" }";

/// A restart reads what the ranks hold: its checkpoint, once for each data-parallel rank.
#[test]
fn a_restart_reads_the_checkpoint_on_every_rank() {
    let keys = "tensor = 2\npipeline = 2\niterations = 5\ncheckpoint_interval = 2\nfailures = { after = [5], restart = \"1 ms\" }";
    let text = text(PACKETS, 16, keys).replace("[[jobs]]", "[storage]\nnodes.per_group = 1\n[[jobs]]");
    let results = run(&text, &[]);
    let job = &results.rows().jobs[0];
    // The whole model, with a checkpoint after 2 and 4 iterations; the fifth is repeated.
    let parameters = (LAYERS * 12.0 * H * H + 2.0 * V * H) as u64;
    assert_eq!(
        (job.bytes_written, job.bytes_read),
        (2 * 14 * parameters, 4 * 14 * parameters)
    );
    let [row] = &results.rows().training[..] else {
        panic!("a row for the only job");
    };
    assert_eq!((row.iterations, row.lost_iterations, row.failures), (5, 1, 1));
    assert!(row.restart_s > 1e-3);
    assert_one_digest("training that fails", |overrides| train_with(&text, overrides).1);
}

const PACKETS: &str = "[mpi]\neager_threshold = \"8 KiB\"\n";
const ALL: &str = "tensor = 2\npipeline = 2\nexpert = 2\nexperts = 4\nactive = 2\ndense_layers = 1\niterations = 2\n\
                   gradients = \"sharded\"\noverlap_gradients = true";

/// Computation, exposed times and bubbles are all of the time of a GPU.
#[test]
fn the_time_of_a_gpu_is_accounted_for() {
    for keys in [ALL, "pipeline = 4\nstraggler = { rank = 1, slowdown = 1.2 }"] {
        let row = train(&text(PACKETS, 16, keys));
        assert!((sum(&row) / row.elapsed_s - 1.0).abs() < 1e-9);
        assert!(row.other_s < 1e-9 * row.elapsed_s, "{}", row.other_s);
        assert!(row.bubble_s > 0.0 && row.exposed_data_s > 0.0 && row.exposed_pipeline_s > 0.0);
    }
}

#[test]
fn exposed_times_are_the_same_on_every_scheduler() {
    assert_one_digest("training", |overrides| train_with(&text(PACKETS, 16, ALL), overrides).1);
}

/// Rows of an inference job on the LogGP model.
fn infer(ranks: u32, keys: &str) -> Vec<InferenceRow> {
    let text = text(&analytic(LATENCY, OVERHEAD, GAP), ranks, "");
    let machine = &text[..text.find("[jobs.workload").expect("it has a workload")];
    let text = format!(
        "{machine}[jobs.workload.inference]\nmodel = \"llama-3-8b\"\nlayers = 2\nprompt = 100\noutput = 4\n{keys}\n"
    );
    let results = run(&text, &[]);
    assert_eq!(*results.outcome(), Outcome::Completed);
    results.rows().inference.clone()
}

/// Parameters of Llama 3 8B in attention and MLP of a layer, and in the output; elements of keys and values of a token.
const ATTENTION: f64 = 4_096.0 * 4_096.0 * 2.5;
const MLP: f64 = 3.0 * 4_096.0 * 14_336.0;
const OUTPUT: f64 = 4_096.0 * 128_256.0;
const CACHED: f64 = 2.0 * 8.0 * 128.0;

/// In ns: the prompt at 400 TFLOP/s, 2 operations per parameter and token and 4 h per pair of tokens.
fn prefill() -> f64 {
    let layer = 2.0 * 100.0 * (ATTENTION + MLP) + 4.0 * 100.0 * 100.0 * 4_096.0;
    (2.0 * layer + 2.0 * OUTPUT) / 400e12 * 1e9
}

/// In ns: tokens 1 to 3 of `batch` requests at 3.35 TB/s, 2 B per element.
fn decode(batch: f64) -> f64 {
    let token = |token: f64| 2.0 * (ATTENTION + batch * (100.0 + token) * CACHED + MLP) + OUTPUT;
    [1.0, 2.0, 3.0].map(token).iter().sum::<f64>() * 2.0 / 3.35e12 * 1e9
}

/// The keys and values go as one message after the prompt, and the batch begins when its last ones have arrived.
#[test]
fn requests_take_prefill_transfer_and_decode() {
    let rows = infer(2, "requests = 2\nbatch = 2\ninterval = \"1 ms\"");
    let [first, second] = &rows[..] else {
        panic!("two requests");
    };
    assert!(
        prefill() < 1e6,
        "the first prompt ends before the second request arrives"
    );
    close(first.time_to_first_token_s, prefill());
    close(second.arrival_s, 1e6);
    close(second.time_to_first_token_s, prefill());
    let transfer = message(2.0 * CACHED * 100.0 * 2.0);
    for row in &rows {
        close(row.decode_s, 1e6 + prefill() + transfer);
        close(row.end_s - row.decode_s, decode(2.0));
        close(row.time_per_token_s, (row.end_s - row.first_token_s) * 1e9 / 3.0);
    }
}

/// Prompts that arrive together wait for their instance; with two instances, only the third one does.
#[test]
fn prompts_wait_for_their_prefill_instance() {
    let rows = infer(3, "requests = 3\nbatch = 1\nprefill = 2");
    let times: Vec<f64> = rows.iter().map(|row| row.time_to_first_token_s).collect();
    close(times[0], prefill());
    close(times[1], prefill());
    // The send of keys and values occupies the instance.
    close(times[2], 2.0 * prefill() + OVERHEAD);
}

/// Keys and values that leave layer by layer arrive earlier: only those of the last layer follow the prompt.
#[test]
fn layerwise_transfers_overlap_with_the_prompt() {
    let [whole, layerwise] = ["whole", "layerwise"].map(|transfer| {
        let rows = infer(2, &format!("requests = 1\nbatch = 1\nkv_transfer = \"{transfer}\""));
        rows[0].clone()
    });
    let of_layers = |layers: f64| message(layers * CACHED * 100.0 * 2.0);
    close(whole.decode_s - whole.first_token_s, of_layers(2.0));
    // The output of the first token hides a part of it, or all.
    let output = 2.0 * OUTPUT / 400e12 * 1e9;
    let left = of_layers(1.0) - OVERHEAD - output;
    close(layerwise.decode_s - layerwise.first_token_s, left.max(0.0));
}

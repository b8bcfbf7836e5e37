//! Training jobs on pipelines of stages: they end whatever the size of their messages, in the time of the closed form.

use odonata_system::{Outcome, Simulation, scenario};
use std::time::Duration;

/// Layers, sequences of a micro-batch, tokens, hidden size; operations per second, so few that computation is all that counts.
const LAYERS: u32 = 8;
const B: f64 = 3.0;
const S: f64 = 128.0;
const H: f64 = 256.0;
const FLOPS: f64 = 1e9;

/// Messages of 2 b s h = 192 KiB over a network of hardly any latency.
fn elapsed_s(stages: u32, micro_batches: u32, schedule: &str, eager: &str, fidelity: &str) -> f64 {
    let text = format!(
        "[machine.dragonfly]\ngroups = 4\nrouters_per_group = 2\nnodes_per_router = 2\nglobal_ports_per_router = 2\n\
         [network]\nfidelity = \"{fidelity}\"\n[mpi]\neager_threshold = \"{eager}\"\n\
         [[jobs]]\nranks = {stages}\n[jobs.workload.training]\n\
         layers = {LAYERS}\nhidden = {H}\nsequence = {S}\nvocabulary = 1\npipeline = {stages}\nmicro_batches = {micro_batches}\n\
         micro_batch = {B}\nschedule = \"{schedule}\"\nflops = {FLOPS}\n"
    );
    let scenario = scenario::load(&text, "s.toml", &[], None, ".").unwrap_or_else(|error| panic!("{error}"));
    let mut simulation = Simulation::new(scenario).unwrap();
    while !simulation.advance(Duration::from_secs(60)).finished {}
    let results = simulation.finish(false);
    let what = format!("{stages} stages, {micro_batches} micro-batches, {schedule}, eager up to {eager}, {fidelity}");
    assert_eq!(*results.outcome(), Outcome::Completed, "{what}");
    results.rows().jobs[0].elapsed_s
}

/// p stages idle for p - 1 passes each way: (m + p - 1) (t_f + t_b), where t_b = 2 t_f and t_f is that of L / p layers of 2 b s 12 h² + 4 b s² h
/// operations. Sends above the eager threshold wait for their receives; stages must not wait for each other's.
#[test]
fn a_pipeline_takes_the_closed_form_below_and_above_the_eager_threshold() {
    let layer = (2.0 * B * S * 12.0 * H * H + 4.0 * B * S * S * H) / FLOPS;
    for stages in [1, 2, 4, 8] {
        for micro_batches in [1, 2, 4, 7] {
            for schedule in ["1f1b", "gpipe"] {
                for eager in ["16 KiB", "1 MiB"] {
                    let found = elapsed_s(stages, micro_batches, schedule, eager, "analytic");
                    let pass = layer * f64::from(LAYERS / stages);
                    let expected = f64::from(micro_batches + stages - 1) * 3.0 * pass;
                    assert!(
                        (found / expected - 1.0).abs() < 2e-3,
                        "{stages} stages, {micro_batches} micro-batches, {schedule}, eager up to {eager}: {found} s, not {expected} s"
                    );
                }
            }
        }
    }
}

/// The same as packets, whose time is not the network's either.
#[test]
fn a_pipeline_of_packets_ends_above_the_eager_threshold() {
    for (stages, micro_batches) in [(2, 4), (4, 3), (4, 8)] {
        let (below, above) = (
            elapsed_s(stages, micro_batches, "1f1b", "1 MiB", "packet"),
            elapsed_s(stages, micro_batches, "1f1b", "16 KiB", "packet"),
        );
        assert!((above / below - 1.0).abs() < 1e-3, "{above} s, not {below} s");
    }
}

//! The tests of whole simulations, in one binary, because each separate one would link all crates again. Tests that
//! measure the memory of their process are separate.

mod alone;
mod analytic;
mod columns;
mod crowd;
mod cycles;
mod endings;
mod everywhere;
mod families;
mod file_removal;
mod flow;
mod formats;
mod io_workloads;
mod job_rules;
mod load_sweep;
mod machine_presets;
mod machines;
mod metadata;
mod mixed;
mod parallel_keys;
mod placement;
mod programs;
mod runs;
mod scenario_errors;
mod scenario_presets;
mod schedulers;
mod snapshot;
mod storage_devices;
mod storage_failures;
mod storage_tiers;
mod throughput_bounds;
mod timeline;
mod traces;

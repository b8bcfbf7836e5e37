//! The bridge between the Rust core and Python; it makes no decisions.
//!
//! Python sees the module `odonata._core`: functions that take and return text (TOML in, JSON out); the class
//! [`Simulation`](simulation::PySimulation), which runs a scenario in slices of wall time with the interpreter
//! released; [`LoadSweep`](load_sweep::PyLoadSweep) for latency-load curves; [`Network`](network::PyNetwork), which a program
//! drives; and the exception `InputError`. Tables
//! cross by Arrow's C data interface, without copies.

mod batch;
mod converter;
mod device;
mod errors;
mod generator;
mod interrupt;
mod load_sweep;
mod nccl;
mod network;
mod processes;
mod program;
mod simulation;
mod trace;
mod workload;

use odonata_system::describe as machine;
use odonata_system::{bench, results, scenario};
use pyo3::prelude::*;

use crate::errors::{InputError, input_error, json_text};
use crate::interrupt::detached;

/// All properties of a scenario that are known before it runs, as JSON. It may have no jobs.
#[pyfunction]
#[pyo3(signature = (text, path, overrides=Vec::new(), seed=None))]
fn check(py: Python<'_>, text: &str, path: &str, overrides: Vec<String>, seed: Option<u64>) -> PyResult<String> {
    let report = detached(py, || {
        let loaded = scenario::load_to_check(text, path, &overrides, seed, simulation::folder_of(path))?;
        odonata_system::check(&loaded)
    })?;
    json_text(&report.map_err(input_error)?)
}

/// A scenario with all its settings, as JSON.
#[pyfunction]
#[pyo3(signature = (text, path, overrides=Vec::new(), seed=None))]
fn resolve(py: Python<'_>, text: &str, path: &str, overrides: Vec<String>, seed: Option<u64>) -> PyResult<String> {
    let loaded = detached(py, || {
        scenario::load(text, path, &overrides, seed, simulation::folder_of(path))
    })?;
    json_text(&loaded.map_err(input_error)?.resolved)
}

/// The machine of a scenario, as JSON. The scenario may have no jobs.
#[pyfunction]
#[pyo3(signature = (text, path, overrides=Vec::new()))]
fn describe(py: Python<'_>, text: &str, path: &str, overrides: Vec<String>) -> PyResult<String> {
    let description = py.detach(|| {
        let hardware = scenario::load_hardware(text, path, &overrides, simulation::folder_of(path))?;
        machine::describe(&hardware).map_err(|problem| whole(path, problem))
    });
    json_text(&description.map_err(input_error)?)
}

/// Whether the routing of a scenario's machine can deadlock, as JSON.
#[pyfunction]
#[pyo3(signature = (text, path, overrides=Vec::new()))]
fn prove(py: Python<'_>, text: &str, path: &str, overrides: Vec<String>) -> PyResult<String> {
    let proof = py.detach(|| {
        let hardware = scenario::load_hardware(text, path, &overrides, simulation::folder_of(path))?;
        odonata_system::prove(&hardware).map_err(|problem| whole(path, problem))
    });
    json_text(&proof.map_err(input_error)?)
}

/// The graph of a scenario's machine as GraphML.
#[pyfunction]
#[pyo3(signature = (text, path, overrides=Vec::new()))]
fn graphml(py: Python<'_>, text: &str, path: &str, overrides: Vec<String>) -> PyResult<String> {
    let graph = py.detach(|| {
        let hardware = scenario::load_hardware(text, path, &overrides, simulation::folder_of(path))?;
        machine::graphml(&hardware).map_err(|problem| whole(path, problem))
    });
    graph.map_err(input_error)
}

/// An error about the scenario at `path` as a whole.
fn whole(path: &str, message: String) -> scenario::InputError {
    scenario::InputError {
        file: path.into(),
        line: None,
        column: None,
        key: String::new(),
        message,
        value: None,
        expected: String::new(),
        hint: None,
    }
}

/// Names of the presets.
#[pyfunction]
fn preset_names() -> Vec<String> {
    scenario::presets::names().map(String::from).collect()
}

/// The preset `name` as a file (TOML) with the source of each number as comments; `None` if there is none.
#[pyfunction]
fn preset_text(name: &str) -> Option<&'static str> {
    scenario::presets::text(name)
}

/// The node of a host, by its name on the machine of a preset; the expected form where there is none.
#[pyfunction]
fn host_node(preset: &str, host: &str) -> (Option<u32>, String) {
    match odonata_system::placement::hosts::node(preset, host) {
        Ok(node) => (Some(node), String::new()),
        Err(expected) => (None, expected),
    }
}

/// The JSON Schema of a scenario, as text.
#[pyfunction]
fn schema() -> String {
    scenario::schema()
}

/// JSON Schemas of the answers of the core, by command, as JSON.
#[pyfunction]
fn answer_schemas() -> PyResult<String> {
    json_text(&std::collections::BTreeMap::from(odonata_system::answer_schemas()))
}

/// Every table that a run writes: name, documentation and columns (name, type, unit, documentation), as JSON.
#[pyfunction]
fn table_docs() -> PyResult<String> {
    json_text(&results::table_docs())
}

/// Names of the standard benchmark cases.
#[pyfunction]
fn bench_names() -> Vec<String> {
    bench::cases().into_iter().map(String::from).collect()
}

/// Names of the benchmark cases for several threads.
#[pyfunction]
fn bench_parallel_names() -> Vec<String> {
    bench::parallel_cases().into_iter().map(String::from).collect()
}

/// Runs one benchmark case with `overrides` of its settings; its figures as JSON. `quick` shortens the measured time.
#[pyfunction]
#[pyo3(signature = (name, quick=false, overrides=Vec::new()))]
fn bench_case(py: Python<'_>, name: &str, quick: bool, overrides: Vec<String>) -> PyResult<String> {
    let figures = py.detach(|| bench::run(name, quick, &overrides));
    json_text(&figures.map_err(input_error)?)
}

/// The core of Odonata; use the package `odonata`.
#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("SOURCES", odonata_system::SOURCES)?;
    module.add("InputError", module.py().get_type::<InputError>())?;
    module.add_class::<interrupt::PyInterrupt>()?;
    module.add_class::<simulation::PySimulation>()?;
    module.add_class::<load_sweep::PyLoadSweep>()?;
    module.add_class::<network::PyNetwork>()?;
    module.add_class::<load_sweep::PyLoadPoint>()?;
    module.add_class::<nccl::PyNcclCall>()?;
    module.add_function(wrap_pyfunction!(check, module)?)?;
    module.add_function(wrap_pyfunction!(resolve, module)?)?;
    module.add_function(wrap_pyfunction!(describe, module)?)?;
    module.add_function(wrap_pyfunction!(graphml, module)?)?;
    module.add_function(wrap_pyfunction!(prove, module)?)?;
    module.add_function(wrap_pyfunction!(preset_names, module)?)?;
    module.add_function(wrap_pyfunction!(preset_text, module)?)?;
    module.add_function(wrap_pyfunction!(host_node, module)?)?;
    module.add_function(wrap_pyfunction!(schema, module)?)?;
    module.add_function(wrap_pyfunction!(answer_schemas, module)?)?;
    module.add_function(wrap_pyfunction!(table_docs, module)?)?;
    module.add_function(wrap_pyfunction!(bench_names, module)?)?;
    module.add_function(wrap_pyfunction!(bench_parallel_names, module)?)?;
    module.add_function(wrap_pyfunction!(bench_case, module)?)?;
    batch::register(module)?;
    device::register(module)?;
    trace::register(module)?;
    program::register(module)?;
    odonata_system::provide_python(generator::make);
    odonata_system::provide_converter(converter::CONVERTER);
    workload::register(module)?;
    processes::register(module)
}

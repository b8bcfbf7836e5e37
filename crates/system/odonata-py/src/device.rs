//! Storage devices alone: measured, and fitted to measurements. JSON in, JSON out.

use odonata_device::{Problem, bench, fit, from_json, presets, read};
use odonata_system::InputError;
use pyo3::prelude::*;
use serde_json::json;

use crate::errors::{input_error, json_text};
use crate::interrupt::detached;

/// Names of the device presets.
#[pyfunction]
fn device_presets() -> Vec<&'static str> {
    presets::names().collect()
}

/// The file (TOML) of a device preset; `None` if there is none of this name.
#[pyfunction]
fn device_preset(name: &str) -> Option<&'static str> {
    presets::text(name)
}

/// Measures the device `text` (TOML) of file `path` under `workload` (JSON); figures as JSON. Raises `InputError`;
/// errors in the workload name no file.
#[pyfunction]
fn device_bench(py: Python<'_>, text: &str, path: &str, workload: &str) -> PyResult<String> {
    let device = read(text).map_err(|problem| refused(path, problem))?;
    let workload = from_json(workload).map_err(|problem| refused("", problem))?;
    let figures = detached(py, || bench::run(&device, workload))?.map_err(|problem| refused("", problem))?;
    json_text(&json!({ "device": device, "figures": figures }))
}

/// Fits a device to `request` (JSON: model, measurements); the result with residuals, as JSON. Raises `InputError`
/// without a file.
#[pyfunction]
fn device_fit(request: &str) -> PyResult<String> {
    let fitted = from_json(request).and_then(|request| fit::fit(&request));
    json_text(&fitted.map_err(|problem| refused("", problem))?)
}

/// The Python exception for a problem in `file`.
fn refused(file: &str, problem: Problem) -> PyErr {
    input_error(InputError {
        file: file.into(),
        line: problem.line,
        column: None,
        key: problem.key,
        message: problem.message,
        value: problem.value,
        expected: problem.expected,
        hint: problem.hint,
    })
}

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(device_presets, module)?)?;
    module.add_function(wrap_pyfunction!(device_preset, module)?)?;
    module.add_function(wrap_pyfunction!(device_bench, module)?)?;
    module.add_function(wrap_pyfunction!(device_fit, module)?)
}

//! Recorded programs of any trace format, for Python.

use std::path::{Path, PathBuf};

use odonata_system::{FORMATS, InputError};
use odonata_trace_format::{Cancellation, FormatError, ReadOptions, TraceFormat, traffic_matrix};
use pyo3::prelude::*;

use crate::errors::{input_error, json_text, unwritable};
use crate::interrupt::cancellable;

/// The exception for a trace that cannot be read or written.
pub(crate) fn wrong(error: FormatError) -> PyErr {
    if let Some(number) = error.os {
        return unwritable(number, &error.file);
    }
    let message = match error.place.as_str() {
        "" => error.problem,
        place => format!("{place}: {}", error.problem),
    };
    input_error(InputError {
        file: error.file.display().to_string(),
        line: None,
        column: None,
        key: String::new(),
        message,
        value: None,
        expected: error.expected,
        hint: error
            .incomplete
            .then(|| "--incomplete reads the recorded part; odonata trace lint lists the damage".into()),
    })
}

/// Does `work` with the trace at `path`, of any format.
pub(crate) fn with_trace<T: Send>(
    py: Python<'_>,
    path: &Path,
    incomplete: bool,
    work: impl Send + FnOnce(&dyn TraceFormat, &ReadOptions) -> Result<T, FormatError>,
) -> PyResult<T> {
    let done = cancellable(py, |cancellation: &Cancellation| {
        let options = ReadOptions {
            incomplete,
            cancellation: cancellation.clone(),
            ..ReadOptions::default()
        };
        work(FORMATS.at(path)?, &options)
    });
    done?.map_err(wrong)
}

/// The name of the trace format at `path`; `None` if no known format matches.
#[pyfunction]
fn trace_format(path: PathBuf) -> Option<&'static str> {
    FORMATS.at(&path).ok().map(|format| format.name())
}

/// The contents of the trace at `path`, as JSON; a truncated trace needs `incomplete`. Raises `InputError`.
#[pyfunction]
#[pyo3(signature = (path, incomplete=false))]
fn trace_info(py: Python<'_>, path: PathBuf, incomplete: bool) -> PyResult<String> {
    with_trace(py, &path, incomplete, |format, options| format.inspect(&path, options))
}

/// The traffic matrix of the trace at `path`, without collectives, as JSON; a truncated trace needs `incomplete`.
/// Raises `InputError`.
#[pyfunction]
#[pyo3(signature = (path, incomplete=false))]
fn trace_matrix(py: Python<'_>, path: PathBuf, incomplete: bool) -> PyResult<String> {
    let flows = with_trace(py, &path, incomplete, |format, options| {
        let opened = format.open(&path, options)?;
        Ok(traffic_matrix(&opened.program, &options.cancellation))
    });
    json_text(&flows?)
}

/// The problems of the trace at `path`, as JSON. Raises `InputError`.
#[pyfunction]
fn trace_lint(py: Python<'_>, path: PathBuf) -> PyResult<String> {
    json_text(&with_trace(py, &path, false, |format, options| {
        format.lint(&path, options)
    })?)
}

/// Writes the trace at `path` to `folder`, which has no such files, in its own format, repeated `times` times. Raises
/// `InputError`, or `OSError` if it cannot be written.
#[pyfunction]
fn trace_repeat(py: Python<'_>, path: PathBuf, folder: PathBuf, times: u32) -> PyResult<()> {
    with_trace(py, &path, false, |format, options| {
        format.repeat(&path, &folder, times, options)
    })
}

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(trace_format, module)?)?;
    module.add_function(wrap_pyfunction!(trace_info, module)?)?;
    module.add_function(wrap_pyfunction!(trace_matrix, module)?)?;
    module.add_function(wrap_pyfunction!(trace_lint, module)?)?;
    module.add_function(wrap_pyfunction!(trace_repeat, module)?)
}

//! Recorded programs of any trace format, as Python sees them.

use std::path::{Path, PathBuf};

use odonata_system::{FORMATS, InputError};
use odonata_trace_format::{Cancellation, FormatError, ReadOptions, TraceFormat, traffic_matrix};
use pyo3::prelude::*;

use crate::errors::{input_error, json_text, unwritable};
use crate::interrupt::cancellable;

/// Why a trace cannot be read, as for every input, or written.
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
            .then(|| "--incomplete reads what there is of it; odonata trace lint says what is wrong".into()),
    })
}

/// Does `work` with the trace at `path`, of whatever format it is.
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

/// The name of the format of what is at `path`; `None` if it is no trace of a known format.
#[pyfunction]
fn trace_format(path: PathBuf) -> Option<&'static str> {
    FORMATS.at(&path).ok().map(|format| format.name())
}

/// What is in the trace at `path`, as JSON; of a trace that is not whole only with `incomplete`. Raises `InputError`.
#[pyfunction]
#[pyo3(signature = (path, incomplete=false))]
fn trace_info(py: Python<'_>, path: PathBuf, incomplete: bool) -> PyResult<String> {
    with_trace(py, &path, incomplete, |format, options| format.inspect(&path, options))
}

/// Who sends how much to whom in the trace at `path`, collectives apart, as JSON; of a trace that is not whole only with
/// `incomplete`. Raises `InputError`.
#[pyfunction]
#[pyo3(signature = (path, incomplete=false))]
fn trace_matrix(py: Python<'_>, path: PathBuf, incomplete: bool) -> PyResult<String> {
    let flows = with_trace(py, &path, incomplete, |format, options| {
        let opened = format.open(&path, options)?;
        Ok(traffic_matrix(&opened.program, &options.cancellation))
    });
    json_text(&flows?)
}

/// What is wrong with the trace at `path`, as JSON. Raises `InputError`.
#[pyfunction]
fn trace_lint(py: Python<'_>, path: PathBuf) -> PyResult<String> {
    json_text(&with_trace(py, &path, false, |format, options| {
        format.lint(&path, options)
    })?)
}

/// Writes the trace at `path` to `folder`, which has no such files, in its own format, with everything that it does `times`
/// times. Raises `InputError`, or `OSError` where it cannot be written.
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

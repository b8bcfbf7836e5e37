//! Recorded programs, as Python sees them.

use std::path::{Path, PathBuf};

use odonata_system::InputError;
use odonata_workload::dumpi::{self, Statistics, Trace, TraceError, TraceFiles};
use pyo3::prelude::*;

use crate::errors::{input_error, json_text};
use crate::program;

/// Why a trace cannot be read, as for every input.
pub(crate) fn unreadable(error: TraceError) -> PyErr {
    let place = error.offset.map(|offset| format!("byte {offset}"));
    input_error(InputError {
        file: error.file.display().to_string(),
        line: None,
        column: None,
        key: String::new(),
        message: match place {
            Some(place) => format!("{place}: {}", error.problem),
            None => error.problem,
        },
        value: None,
        expected: error.expected,
        hint: None,
    })
}

fn in_background<T: Send>(
    py: Python<'_>,
    path: &Path,
    what: impl Send + FnOnce(TraceFiles) -> Result<T, TraceError>,
) -> PyResult<T> {
    py.detach(|| TraceFiles::find(path).and_then(what)).map_err(unreadable)
}

/// What is in the trace at `path`, a folder or a .meta file, or in the program folder there, as JSON. Raises `InputError`.
#[pyfunction]
fn trace_info(py: Python<'_>, path: PathBuf) -> PyResult<String> {
    if let Some(file) = program::open(py, &path)? {
        return program::info(&file);
    }
    json_text(&in_background(py, &path, |files| Statistics::of(&files))?)
}

/// Who sends how much to whom in the trace or program at `path`, collectives apart, as JSON. Raises `InputError`.
#[pyfunction]
fn trace_matrix(py: Python<'_>, path: PathBuf) -> PyResult<String> {
    if let Some(program) = program::open(py, &path)? {
        return json_text(&py.detach(|| dumpi::traffic_matrix(&program)));
    }
    let flows = in_background(py, &path, |files| Ok(dumpi::traffic_matrix(&Trace::of(files, 1.0)?)))?;
    json_text(&flows)
}

/// What is wrong with the trace or program at `path`, as JSON. Raises `InputError`.
#[pyfunction]
fn trace_lint(py: Python<'_>, path: PathBuf) -> PyResult<String> {
    if let Some(program) = program::open(py, &path)? {
        return json_text(&py.detach(|| dumpi::lint_program(&program)));
    }
    json_text(&in_background(py, &path, |files| dumpi::lint(&files))?)
}

/// Writes the trace at `path` to the new folder `target` with everything between `MPI_Init` and `MPI_Finalize` `times`
/// times. Raises `InputError`.
#[pyfunction]
fn trace_repeat(py: Python<'_>, path: PathBuf, target: PathBuf, times: u32) -> PyResult<()> {
    in_background(py, &path, |files| dumpi::repeat(&files, &target, times))
}

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(trace_info, module)?)?;
    module.add_function(wrap_pyfunction!(trace_matrix, module)?)?;
    module.add_function(wrap_pyfunction!(trace_lint, module)?)?;
    module.add_function(wrap_pyfunction!(trace_repeat, module)?)
}

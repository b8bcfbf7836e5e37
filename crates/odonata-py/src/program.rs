//! Programs in files, as Python sees them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use odonata_system::{InputError, PythonSource, scenario};
use odonata_trace::{FileError, Options, ProgramFile, is_collective};
use odonata_workload::{Phases, Program, dumpi};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde_json::json;

use crate::errors::{input_error, json_text};
use crate::{generator, simulation, trace};

/// What cannot be read, or written, as for every input.
fn wrong(error: FileError) -> PyErr {
    let place = error.place();
    let message = match place.as_str() {
        "" => error.problem,
        place => format!("{place}: {}", error.problem),
    };
    refused(&error.file, message, &error.expected)
}

fn refused(file: &Path, message: String, expected: &str) -> PyErr {
    input_error(InputError {
        file: file.display().to_string(),
        line: None,
        column: None,
        key: String::new(),
        message,
        value: None,
        expected: expected.into(),
        hint: None,
    })
}

/// The program folder at `path`; `None` if it is none.
pub(crate) fn open(py: Python<'_>, path: &Path) -> PyResult<Option<ProgramFile>> {
    let open = || {
        ProgramFile::is_at(path)
            .then(|| ProgramFile::open(path, 1.0))
            .transpose()
    };
    py.detach(open).map_err(wrong)
}

/// What is in a program folder, as JSON: what a trace has too under the same names, and `contents`.
pub(crate) fn info(file: &ProgramFile) -> PyResult<String> {
    let name = file
        .folder()
        .file_name()
        .map(|name| name.to_string_lossy().into_owned());
    let (description, contents) = (file.description(), file.contents());
    let collectives = contents.kinds.iter().filter(|(kind, _)| is_collective(kind));
    let collectives: BTreeMap<_, _> = collectives.collect();
    json_text(&json!({
        "format": description.format, "version": description.version, "name": name, "nranks": description.ranks,
        "description": description.description, "made_by": description.made_by,
        "total_records": contents.operations, "total_op_counts": contents.kinds,
        "total_sends": contents.messages, "total_send_bytes": contents.message_bytes,
        "total_recvs_posted": contents.receives, "total_persistent_starts": contents.starts,
        "total_collective_calls": collectives, "contents": contents,
    }))
}

/// Writes `program` to the folder `target`; (ranks, operations). `progress` is called with complete ranks, all ranks
/// and operations.
fn write(
    py: Python<'_>,
    program: &dyn Program,
    target: &Path,
    options: &Options,
    progress: Option<&Py<PyAny>>,
) -> PyResult<(u32, u64)> {
    let ranks = program.ranks();
    let mut interrupt = None;
    let written = py.detach(|| {
        let mut reported = std::time::Instant::now();
        odonata_trace::write(program, target, options, &mut |done, operations| {
            if reported.elapsed().as_millis() < 100 && done < ranks {
                return true;
            }
            reported = std::time::Instant::now();
            Python::attach(|py| {
                let told = progress.map_or(Ok(()), |progress| {
                    progress.call1(py, (done, ranks, operations)).map(|_| ())
                });
                match told.and_then(|()| py.check_signals()) {
                    Ok(()) => true,
                    Err(error) => {
                        interrupt = Some(error);
                        false
                    }
                }
            })
        })
    });
    match (interrupt, written) {
        (Some(error), _) => Err(error),
        (None, written) => Ok((ranks, written.map_err(wrong)?)),
    }
}

fn made_by() -> String {
    concat!("odonata ", env!("CARGO_PKG_VERSION")).into()
}

/// Writes the trace or program at `path` to the program folder `target`, `repeat` times one after the other, its
/// computation times `compute_scale`. Raises `InputError`.
#[pyfunction]
#[pyo3(signature = (path, target, repeat=1, compute_scale=1.0, force=false, progress=None))]
fn trace_convert(
    py: Python<'_>,
    path: PathBuf,
    target: PathBuf,
    repeat: u32,
    compute_scale: f64,
    force: bool,
    progress: Option<Py<PyAny>>,
) -> PyResult<(u32, u64)> {
    if !(0.0..=1e6).contains(&compute_scale) {
        return Err(PyValueError::new_err(format!(
            "compute_scale is {compute_scale}: 0 to 1000000 are possible"
        )));
    }
    let opened = py.detach(|| -> PyResult<Arc<dyn Program>> {
        if ProgramFile::is_at(&path) {
            return Ok(Arc::new(ProgramFile::open(&path, compute_scale).map_err(wrong)?));
        }
        Ok(Arc::new(
            dumpi::Trace::open(&path, compute_scale).map_err(trace::unreadable)?,
        ))
    });
    let mut program = opened?;
    if repeat != 1 {
        let repeated = py.detach(|| Phases::new(vec![program], repeat));
        program =
            Arc::new(repeated.map_err(|problem| refused(&path, problem, "a number of times that it can be repeated"))?);
    }
    let options = Options {
        description: String::new(),
        made_by: made_by(),
        force,
        check: false,
    };
    write(py, &program, &target, &options, progress.as_ref())
}

/// Writes the program of a job of a scenario to the program folder `target`. Raises `InputError`, or `KeyError` if no
/// job is called so.
#[pyfunction]
#[pyo3(signature = (text, path, job, target, overrides=Vec::new(), seed=None, force=false, progress=None))]
#[allow(clippy::too_many_arguments, reason = "they are named in Python")]
fn job_convert(
    py: Python<'_>,
    text: &str,
    path: &str,
    job: Option<&str>,
    target: PathBuf,
    overrides: Vec<String>,
    seed: Option<u64>,
    force: bool,
    progress: Option<Py<PyAny>>,
) -> PyResult<(u32, u64)> {
    let loaded = py.detach(|| scenario::load(text, path, &overrides, seed, simulation::folder_of(path)));
    let jobs = loaded.map_err(input_error)?.resolved.jobs;
    let names = || jobs.iter().map(|job| job.name.as_str()).collect::<Vec<_>>().join(", ");
    let found = match job {
        Some(name) => jobs.iter().find(|job| job.name == name),
        None if jobs.len() == 1 => jobs.first(),
        None => None,
    };
    let Some(job) = found else {
        let problem = job.map_or("which job is not said".into(), |name| format!("no job is named {name}"));
        return Err(refused(
            Path::new(path),
            problem,
            &format!("--job NAME, one of {}", names()),
        ));
    };
    let program = py.detach(|| job.program());
    let Some(program) = program.map_err(PyValueError::new_err)? else {
        let problem = format!("{} is synthetic traffic, which is no program", job.name);
        return Err(refused(Path::new(path), problem, "a job with a program"));
    };
    let options = Options {
        description: program.describe(),
        made_by: made_by(),
        force,
        check: false,
    };
    write(py, &program, &target, &options, progress.as_ref())
}

/// Writes a program of Python generators to the program folder `target`, and reads it back. Raises `InputError`.
#[pyfunction]
#[pyo3(signature = (path, function, args, ranks, target, description="", force=false, progress=None))]
#[allow(clippy::too_many_arguments, reason = "they are named in Python")]
fn python_convert(
    py: Python<'_>,
    path: String,
    function: String,
    args: &str,
    ranks: u32,
    target: PathBuf,
    description: &str,
    force: bool,
    progress: Option<Py<PyAny>>,
) -> PyResult<(u32, u64)> {
    let args = serde_json::from_str(args).map_err(|cause| PyValueError::new_err(cause.to_string()))?;
    let source = PythonSource {
        path,
        function,
        args,
        source: String::new(),
    };
    let program = py.detach(|| generator::make(&source, ranks));
    let program = program.map_err(|problem| refused(Path::new(&source.path), problem, "a generator function"))?;
    let options = Options {
        description: description.into(),
        made_by: made_by(),
        force,
        // It may name ranks and communicators that there are not.
        check: true,
    };
    write(py, &program, &target, &options, progress.as_ref())
}

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(trace_convert, module)?)?;
    module.add_function(wrap_pyfunction!(job_convert, module)?)?;
    module.add_function(wrap_pyfunction!(python_convert, module)?)
}

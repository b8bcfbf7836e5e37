//! Programs in files, for Python.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use odonata_program_file::Options;
use odonata_system::{PythonSource, scenario};
use odonata_trace_format::ReadOptions;
use odonata_workload::{Phases, Program};
use pyo3::prelude::*;

use crate::errors::{input_error, refused};
use crate::interrupt::detached;
use crate::{generator, simulation, trace};

/// Writes `program` to `folder`, which has no such files; returns (ranks, operations). `progress` is called with
/// complete ranks, all ranks and operations.
fn write(
    py: Python<'_>,
    program: &dyn Program,
    folder: &Path,
    options: &Options,
    progress: Option<&Py<PyAny>>,
) -> PyResult<(u32, u64)> {
    let ranks = program.ranks();
    let mut interrupt = None;
    let written = detached(py, || {
        let mut reported = std::time::Instant::now();
        odonata_program_file::write(program, folder, options, &mut |done, operations| {
            if reported.elapsed().as_millis() < 100 && done < ranks {
                return true;
            }
            reported = std::time::Instant::now();
            Python::attach(|py| {
                let result = progress.map_or(Ok(()), |progress| {
                    progress.call1(py, (done, ranks, operations)).map(|_| ())
                });
                match result.and_then(|()| py.check_signals()) {
                    Ok(()) => true,
                    Err(error) => {
                        interrupt = Some(error);
                        false
                    }
                }
            })
        })
    });
    // Exceptions of user code come first: they ended the program early.
    let written = written?;
    match (interrupt, written) {
        (Some(error), _) => Err(error),
        (None, written) => Ok((ranks, written.map_err(|error| trace::wrong(error.into()))?)),
    }
}

fn made_by() -> String {
    concat!("odonata ", env!("CARGO_PKG_VERSION")).into()
}

/// Writes the trace or program at `path` as a program to `folder`, which has no such files: repeated `repeat` times,
/// with computation times multiplied by `compute_scale`. A truncated trace needs `incomplete`. With `call_time`, time
/// in calls counts as computation, too. Raises `InputError`, or `OSError` if it cannot be written.
#[pyfunction]
#[pyo3(signature = (path, folder, repeat=1, compute_scale=1.0, progress=None, incomplete=false, call_time=false))]
#[allow(clippy::too_many_arguments, reason = "they are named in Python")]
fn trace_convert(
    py: Python<'_>,
    path: PathBuf,
    folder: PathBuf,
    repeat: u32,
    compute_scale: f64,
    progress: Option<Py<PyAny>>,
    incomplete: bool,
    call_time: bool,
) -> PyResult<(u32, u64)> {
    if !(0.0..=1e6).contains(&compute_scale) {
        let problem = format!("the compute scale is {compute_scale}");
        return Err(refused(&path, problem, "a number from 0 to 1000000"));
    }
    let opened = trace::with_trace(py, &path, incomplete, |format, options| {
        let options = ReadOptions {
            compute_scale,
            call_time,
            ..options.clone()
        };
        format.open(&path, &options)
    });
    let mut program = opened?.program;
    if repeat != 1 {
        let repeated = py.detach(|| Phases::new(vec![program], repeat));
        program = Arc::new(repeated.map_err(|problem| refused(&path, problem, "a possible number of repetitions"))?);
    }
    let options = Options {
        description: String::new(),
        made_by: made_by(),
        check: false,
    };
    write(py, &program, &folder, &options, progress.as_ref())
}

/// Writes the program of a job of a scenario to `folder`, which has no such files. Raises `InputError`, or `OSError` if
/// it cannot be written.
#[pyfunction]
#[pyo3(signature = (text, path, job, folder, overrides=Vec::new(), seed=None, progress=None))]
#[allow(clippy::too_many_arguments, reason = "they are named in Python")]
fn job_convert(
    py: Python<'_>,
    text: &str,
    path: &str,
    job: Option<&str>,
    folder: PathBuf,
    overrides: Vec<String>,
    seed: Option<u64>,
    progress: Option<Py<PyAny>>,
) -> PyResult<(u32, u64)> {
    let loaded = detached(py, || {
        scenario::load(text, path, &overrides, seed, simulation::folder_of(path))
    })?;
    let jobs = loaded.map_err(input_error)?.resolved.jobs;
    let names = || jobs.iter().map(|job| job.name.as_str()).collect::<Vec<_>>().join(", ");
    let found = match job {
        Some(name) => jobs.iter().find(|job| *job.name == name),
        None if jobs.len() == 1 => jobs.first(),
        None => None,
    };
    let Some(job) = found else {
        let problem = job.map_or("no job is selected".into(), |name| format!("no job is named {name}"));
        return Err(refused(
            Path::new(path),
            problem,
            &format!("--job NAME, one of {}", names()),
        ));
    };
    let program = detached(py, || job.program())?;
    let cannot = |problem| {
        refused(
            Path::new(path),
            format!("{}: {problem}", job.name),
            "a job with a program",
        )
    };
    let Some(program) = program.map_err(cannot)? else {
        let problem = format!("{} is synthetic traffic, not a program", job.name);
        return Err(refused(Path::new(path), problem, "a job with a program"));
    };
    let options = Options {
        description: program.describe(),
        made_by: made_by(),
        check: false,
    };
    write(py, &program, &folder, &options, progress.as_ref())
}

/// Writes a program of Python generators to `folder`, which has no such files, and reads it back. Raises `InputError`,
/// or `OSError` if it cannot be written.
#[pyfunction]
#[pyo3(signature = (path, function, args, ranks, folder, description="", progress=None))]
#[allow(clippy::too_many_arguments, reason = "they are named in Python")]
fn python_convert(
    py: Python<'_>,
    path: String,
    function: String,
    args: &str,
    ranks: u32,
    folder: PathBuf,
    description: &str,
    progress: Option<Py<PyAny>>,
) -> PyResult<(u32, u64)> {
    let args = serde_json::from_str(args).map_err(|cause| {
        refused(
            Path::new(&path),
            format!("its arguments: {cause}"),
            "a table of arguments",
        )
    })?;
    let source = PythonSource {
        path,
        function,
        args,
        source: String::new(),
    };
    let program = detached(py, || generator::make(&source, ranks))?;
    let program = program.map_err(|problem| refused(Path::new(&source.path), problem, "a generator function"))?;
    let options = Options {
        description: description.into(),
        made_by: made_by(),
        // The program may name invalid ranks and communicators.
        check: true,
    };
    write(py, &program, &folder, &options, progress.as_ref())
}

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(trace_convert, module)?)?;
    module.add_function(wrap_pyfunction!(job_convert, module)?)?;
    module.add_function(wrap_pyfunction!(python_convert, module)?)
}

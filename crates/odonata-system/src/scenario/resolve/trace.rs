//! Jobs that replay a trace.

use std::path::Path;

use crate::scenario::error::Problem;
use crate::scenario::resolved as r;
use crate::scenario::written as w;

/// What a recorded time can be multiplied by.
const LARGEST_SCALE: f64 = 1e6;

/// The trace of the job at key `at`, opened; `None` if it replays none.
pub(super) fn open(at: &str, job: &w::Job, folder: &Path) -> Result<Option<r::Trace>, Problem> {
    let Some(path) = &job.trace else {
        if job.compute_scale.is_some() {
            let key = format!("{at}.compute_scale");
            return Err(Problem::new(
                key,
                "only a trace has recorded times",
                "the key trace beside it",
            ));
        }
        return Ok(None);
    };
    let scale = job.compute_scale.unwrap_or(1.0);
    if !(0.0..=LARGEST_SCALE).contains(&scale) {
        let problem = format!("{scale} is out of range");
        return Err(Problem::new(
            format!("{at}.compute_scale"),
            problem,
            format!("0 to {LARGEST_SCALE}"),
        ));
    }
    match r::Trace::open(&folder.join(path), scale) {
        Ok(trace) => Ok(Some(trace)),
        Err(error) => Err(Problem::new(
            format!("{at}.trace"),
            error,
            "the folder of a DUMPI trace, or its .meta file, or a program folder",
        )),
    }
}

/// `trace` as the workload of the job at key `at`, which has `ranks` ranks.
pub(super) fn workload(
    at: &str,
    ranks: u32,
    trace: &r::Trace,
    machine: &r::Resolved,
) -> Result<(&'static str, r::Workload), Problem> {
    if ranks != trace.ranks() {
        let problem = format!("{ranks} ranks, but the trace has {}", trace.ranks());
        return Err(Problem::new(
            format!("{at}.ranks"),
            problem,
            "the ranks of the trace, or no such key",
        ));
    }
    if trace.does_io() && machine.storage.is_none() {
        let problem = Problem::new(
            format!("{at}.trace"),
            "the trace does I/O, but the machine has no servers",
            "",
        );
        return Err(problem.hint("add a table [storage]"));
    }
    Ok(("trace", r::Workload::Trace(trace.clone())))
}

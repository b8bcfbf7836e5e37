//! Workloads: what a job does.

use std::cell::RefCell;
use std::collections::BTreeMap;

use odonata_workload::{Phases, conceptual};

use super::traffic;
use crate::scenario::error::Problem;
use crate::scenario::resolved as r;
use crate::scenario::written as w;

/// Longest file that a program reads, in bytes.
const LONGEST_DATA: usize = 16 << 20;

/// Most polynomial orders of a Nekbone job.
const MOST_ORDERS: usize = 1_000;

/// The size of a job, and what else its workload depends on.
#[derive(Clone, Copy)]
pub(super) struct Size {
    pub(super) ranks: u32,
    pub(super) ranks_per_node: u32,
    /// Position among all jobs.
    pub(super) number: usize,
    /// Whether somebody will tell its sources to stop.
    pub(super) told: bool,
}

/// The workload at key `at`, which is one or a list of phases, with its name.
pub(super) fn workload(
    at: &str,
    size: Size,
    workload: w::OneOrMany<w::Workload>,
    machine: &r::Resolved,
) -> Result<(&'static str, r::Workload), Problem> {
    let list = match workload {
        w::OneOrMany::One(single) => return one(at, size, single, machine),
        w::OneOrMany::Many(list) => list,
    };
    if list.is_empty() || list.len() > Phases::MOST {
        let problem = format!("{} phases", list.len());
        return Err(Problem::new(at, problem, format!("1 to {}", Phases::MOST)));
    }
    let mut phases = Vec::with_capacity(list.len());
    for (at, phase) in w::OneOrMany::Many(list).keyed(at) {
        let (kind, phase) = one(&at, size, phase, machine)?;
        if matches!(phase, r::Workload::Synthetic(_)) {
            let problem = Problem::new(
                at,
                format!("{kind} traffic cannot be a phase"),
                "workloads that end by themselves",
            );
            return Err(problem.hint("give the traffic a job of its own"));
        }
        phases.push(phase);
    }
    Ok(("phases", r::Workload::Phases(phases)))
}

/// The coNCePTuaL program in `file` of `folder`.
pub(super) fn program(
    at: &str,
    ranks: u32,
    (file, args): (String, Vec<String>),
    folder: &std::path::Path,
    machine: &r::Resolved,
) -> Result<(&'static str, r::Workload), Problem> {
    let path = folder.join(&file);
    let shown = path.display().to_string();
    let read = |path: &std::path::Path, most: usize| crate::placement::read_text(path, most as u64);
    let expected = "a program in coNCePTuaL, at most 4 MiB";
    let source = read(&path, conceptual::MOST_TEXT)
        .map_err(|problem| Problem::new(at, problem, expected).within(&shown, None))?;
    let mut program = r::ProgramFile {
        path: shown,
        args,
        seed: machine.seed,
        source,
        files: BTreeMap::new(),
    };
    let files = RefCell::new(BTreeMap::new());
    let beside = |name: &str| {
        let text = read(&path.with_file_name(name), LONGEST_DATA)?;
        files.borrow_mut().insert(name.to_owned(), text.clone());
        Ok(text)
    };
    let result = program.program_with(ranks, &beside).map(|_| ());
    program.files = files.into_inner();
    result.map_err(|problem| Problem::new(at, problem, ""))?;
    Ok(("program", r::Workload::Program(program)))
}

/// The Python function `name`, as "file:function", of `folder`.
pub(super) fn python(
    at: &str,
    ranks: u32,
    (name, args): (&str, serde_json::Map<String, serde_json::Value>),
    folder: &std::path::Path,
) -> Result<(&'static str, r::Workload), Problem> {
    let expected = "\"FILE.py:FUNCTION\", a generator function of rank and ranks";
    let Some((file, function)) = name
        .rsplit_once(':')
        .filter(|(file, function)| !file.is_empty() && !function.is_empty())
    else {
        return Err(Problem::new(at, format!("{name:?} names no function"), expected));
    };
    // In angle brackets: a function of this process, which is in no file.
    let (path, source) = if file.starts_with('<') {
        (file.to_owned(), String::new())
    } else {
        let path = folder.join(file);
        let source = crate::placement::read_text(&path, conceptual::MOST_TEXT as u64)
            .map_err(|problem| Problem::new(at, problem, expected).within(path.display().to_string(), None))?;
        (path.display().to_string(), source)
    };
    let source = r::PythonSource {
        path,
        function: function.to_owned(),
        args,
        source,
    };
    match r::Python::new(source, ranks) {
        Ok(python) => Ok(("python", r::Workload::Python(python))),
        Err(problem) => Err(Problem::new(at, problem, expected)),
    }
}

/// Whether a workload needs storage servers.
fn does_io(workload: &r::Workload) -> bool {
    matches!(workload, r::Workload::Checkpoint(_) | r::Workload::Cosmoflow(_))
}

fn one(
    at: &str,
    size: Size,
    workload: w::Workload,
    machine: &r::Resolved,
) -> Result<(&'static str, r::Workload), Problem> {
    let ranks = size.ranks;
    let (kind, resolved) = match workload {
        w::Workload::Milc(milc) => ("milc", r::Workload::Milc(milc)),
        w::Workload::Nekbone(nekbone) => ("nekbone", r::Workload::Nekbone(nekbone)),
        w::Workload::Checkpoint(checkpoint) => ("checkpoint", r::Workload::Checkpoint(checkpoint)),
        w::Workload::Cosmoflow(cosmoflow) => ("cosmoflow", r::Workload::Cosmoflow(cosmoflow)),
        w::Workload::Stencil(stencil) => ("stencil", r::Workload::Stencil(stencil)),
        traffic => {
            let resolved = traffic::synthetic(at, size, traffic, machine)?;
            (resolved.pattern.name(), r::Workload::Synthetic(resolved))
        }
    };
    if does_io(&resolved) && machine.storage.is_none() {
        let problem = Problem::new(at, format!("{kind} does I/O, but the machine has no servers"), "");
        return Err(problem.hint("add a table [storage]"));
    }
    if let r::Workload::Nekbone(nekbone) = &resolved
        && nekbone.orders.len() > MOST_ORDERS
    {
        let problem = format!("{} polynomial orders", nekbone.orders.len());
        return Err(Problem::new(
            format!("{at}.nekbone.orders"),
            problem,
            format!("at most {MOST_ORDERS}"),
        ));
    }
    if let Err(problem) = resolved.program(ranks) {
        // The extents are to blame if the workload runs without them.
        let dims = without_dims(&resolved).is_some_and(|other| other.program(ranks).is_ok());
        return Err(misfit(&format!("{at}.{kind}"), problem, dims, ranks));
    }
    Ok((kind, resolved))
}

/// A workload at key `at` that does not fit `ranks` ranks, because of its extents or for another reason.
pub(super) fn misfit(at: &str, problem: String, dims: bool, ranks: u32) -> Problem {
    if !dims {
        return Problem::new(at, problem, "");
    }
    let error = Problem::new(
        format!("{at}.dims"),
        problem,
        format!("extents that make {ranks} ranks"),
    );
    error.hint("leave dims out for a balanced grid")
}

/// The same workload on a balanced grid, if it was given extents.
fn without_dims(workload: &r::Workload) -> Option<r::Workload> {
    let mut other = workload.clone();
    let given = match &mut other {
        r::Workload::Milc(w) => w.dims.take().is_some(),
        r::Workload::Nekbone(w) => w.dims.take().is_some(),
        r::Workload::Stencil(w) => w.dims.take().is_some(),
        _ => false,
    };
    given.then_some(other)
}

//! Workloads: what a job runs.

use std::collections::BTreeMap;
use std::path::Path;

use odonata_conceptual::MOST_TEXT;
use odonata_engine::Stream;
use odonata_engine::random::Purpose;
use odonata_trace_format::{FormatError, TraceFormat};
use odonata_units::{Bytes, Number, SplitMix64};
use odonata_workload::Phases;
use odonata_workload::skeletons::{OfJob, Skeleton};
use odonata_workload::synthetic::{self, PatternParams, Surroundings, SyntheticParams};
use serde_json::{Map, Value};

use super::worst_case;
use crate::formats::{self, FORMATS};
use crate::memory::{self, Need};
use crate::scenario::error::Problem;
use crate::scenario::job::{Arguments, Job};
use crate::scenario::resolved as r;
use crate::scenario::workload::{ProgramFile, Python, PythonSource, Trace, Workload};
use crate::text_file::read_text;

/// Maximum factor for recorded times.
const LARGEST_SCALE: f64 = 1e6;

/// The size of a job, and what else its workload depends on.
#[derive(Clone, Copy)]
pub(super) struct Size {
    pub(super) ranks: u32,
    pub(super) ranks_per_node: u32,
    /// Position among all jobs.
    pub(super) number: usize,
    /// Whether the end of other jobs stops its sources.
    pub(super) stopped_by_job: bool,
}

/// Opens the trace of the job at key `at`, unless that takes more memory than is available or than `limit`; `None` if
/// the job replays none.
pub(super) fn trace(at: &str, job: &Job, folder: &Path, limit: Option<Bytes>) -> Result<Option<Trace>, Problem> {
    let Some(path) = &job.trace else {
        let of_traces = [
            (
                "compute_scale",
                job.compute_scale.is_some(),
                "only a trace has recorded compute times",
            ),
            (
                "incomplete_trace",
                job.incomplete_trace,
                "only a trace can be incomplete",
            ),
        ];
        return match of_traces.into_iter().find(|&(_, there, _)| there) {
            Some((key, _, problem)) => Err(Problem::new(format!("{at}.{key}"), problem, "the key trace beside it")),
            None => Ok(None),
        };
    };
    let scale = job.compute_scale.unwrap_or(1.0);
    if !(0.0..=LARGEST_SCALE).contains(&scale) {
        let problem = format!("{} is out of range", Number(scale));
        return Err(Problem::new(
            format!("{at}.compute_scale"),
            problem,
            format!("0 to {LARGEST_SCALE}"),
        ));
    }
    let path = folder.join(path);
    let fits = |format: &dyn TraceFormat, path: &Path| match format.least_memory(path) {
        0 => Ok(()),
        least => Need::trace(format!("{at}.trace"), least).refuse(&memory::available(limit)),
    };
    Trace::open(&path, scale, job.incomplete_trace, fits, |error| unreadable(at, error)).map(Some)
}

/// The problem that the trace of the job at key `at` cannot be read.
fn unreadable(at: &str, mut error: FormatError) -> Problem {
    let (incomplete, hint) = (error.incomplete, error.hint.take());
    let expected = if error.expected == FORMATS.files() {
        // Said once.
        error.expected.clear();
        formats::files()
    } else if incomplete {
        "a complete trace".into()
    } else if hint.is_some() {
        std::mem::take(&mut error.expected)
    } else {
        "a trace without faults, which odonata trace lint names".into()
    };
    let problem = Problem::new(format!("{at}.trace"), error.to_string(), expected);
    match (incomplete, hint) {
        (true, _) => problem.hint("incomplete_trace = true replays the recorded part"),
        (false, Some(hint)) => problem.hint(hint),
        (false, None) => problem,
    }
}

/// Fills in and checks what the job at key `at` runs, whichever of its keys defines it.
pub(super) fn workload(
    at: &str,
    job: &mut Job,
    size: Size,
    trace: Option<&Trace>,
    machine: &r::Resolved,
    folder: &Path,
) -> Result<(), Problem> {
    let (list, table) = match (job.args.take(), &job.program, &job.python) {
        (None, _, _) => Default::default(),
        (Some(Arguments::List(list)), Some(_), _) => (list, Default::default()),
        (Some(Arguments::Table(table)), _, Some(_)) => (Vec::new(), table),
        (Some(args), _, _) => {
            let (problem, expected) = match args {
                Arguments::List(_) => ("a list of arguments without a program", "the key program beside it"),
                Arguments::Table(_) => (
                    "a table of arguments without a Python function",
                    "the key python beside it",
                ),
            };
            return Err(Problem::new(format!("{at}.args"), problem, expected));
        }
    };
    if job.ignore_unknown_backend.is_some() && job.program.is_none() {
        let key = format!("{at}.ignore_unknown_backend");
        return Err(Problem::new(key, "no program", "the key program beside it"));
    }
    let given = [
        ("workload", !job.workload.is_empty()),
        ("program", job.program.is_some()),
        ("python", job.python.is_some()),
        ("trace", trace.is_some()),
    ];
    let given: Vec<&str> = given.iter().filter(|key| key.1).map(|key| key.0).collect();
    if given.len() != 1 {
        let problem = if given.is_empty() {
            "the key \"workload\" is missing".into()
        } else {
            format!("the job has the keys {}", given.join(" and "))
        };
        let expected = "exactly one of the keys workload, program, python and trace";
        return Err(Problem::new(at, problem, expected));
    }
    if !job.workload.is_empty() {
        let at = format!("{at}.workload");
        if let Workload::Synthetic(traffic) = job.workload.value_mut()
            && let PatternParams::Matrix { file } = &mut traffic.pattern
            && let Some(path) = file.given().map(|file| folder.join(file))
        {
            *file = path.display().to_string().into();
        }
        return match job.workload.value_mut() {
            Workload::Phases(list) => phases(&at, size, list, machine),
            single => one(&at, size, single, machine),
        };
    }
    let ranks = size.ranks;
    let done_elsewhere = if let Some(file) = &job.program {
        let settings = ProgramFile {
            path: String::new(),
            args: list,
            ignore_unknown_backend: job.ignore_unknown_backend == Some(true),
            seed: machine.seed,
            source: String::new(),
            files: BTreeMap::new(),
        };
        Workload::Program(ProgramFile::read(
            &format!("{at}.program"),
            &folder.join(file),
            ranks,
            settings,
        )?)
    } else if let Some(name) = &job.python {
        python(&format!("{at}.python"), ranks, (name, table), folder)?
    } else if let Some(trace) = trace {
        Workload::Trace(replayed(at, ranks, trace, machine)?)
    } else {
        return Ok(());
    };
    job.workload.fill(done_elsewhere);
    Ok(())
}

/// `trace` as the workload of the job at key `at`, which has `ranks` ranks.
fn replayed(at: &str, ranks: u32, trace: &Trace, machine: &r::Resolved) -> Result<Trace, Problem> {
    if ranks != trace.ranks() {
        let problem = format!("{ranks} ranks, but the trace has {}", trace.ranks());
        let expected = "the number of ranks of the trace, or no such key";
        let problem = Problem::new(format!("{at}.ranks"), problem, expected);
        return Err(match trace.ranks() {
            1 => problem.hint("`odonata trace convert --ranks` gives a trace of one rank to each of several ranks"),
            _ => problem,
        });
    }
    if trace.does_io() && machine.storage.is_none() {
        let problem = Problem::new(
            format!("{at}.trace"),
            "the trace does I/O, but the machine has no servers",
            "",
        );
        return Err(problem.hint("add a table [storage]"));
    }
    Ok(trace.clone())
}

/// The Python function `name`, as "file:function", of `folder`.
fn python(at: &str, ranks: u32, (name, args): (&str, Map<String, Value>), folder: &Path) -> Result<Workload, Problem> {
    let expected = "\"FILE.py:FUNCTION\", a generator function of rank and ranks";
    let Some((file, function)) = name
        .rsplit_once(':')
        .filter(|(file, function)| !file.is_empty() && !function.is_empty())
    else {
        return Err(Problem::new(at, format!("{name:?} names no function"), expected));
    };
    // In angle brackets: a function of this process that is not in a file.
    let (path, source) = if file.starts_with('<') {
        (file.to_owned(), String::new())
    } else {
        let path = folder.join(file);
        let source = read_text(&path, MOST_TEXT as u64)
            .map_err(|problem| Problem::new(at, problem, expected).within(path.display().to_string(), None))?;
        (path.display().to_string(), source)
    };
    let source = PythonSource {
        path,
        function: function.to_owned(),
        args,
        source,
    };
    match Python::new(source, ranks) {
        Ok(python) => Ok(Workload::Python(python)),
        Err(problem) => Err(Problem::new(at, problem, expected)),
    }
}

/// Fills in and checks the phases at key `at`.
fn phases(at: &str, size: Size, list: &mut [Workload], machine: &r::Resolved) -> Result<(), Problem> {
    if list.is_empty() || list.len() > Phases::MOST {
        let problem = format!("{} phases", list.len());
        return Err(Problem::new(at, problem, format!("1 to {}", Phases::MOST)));
    }
    for (number, phase) in list.iter_mut().enumerate() {
        let at = format!("{at}.{number}");
        one(&at, size, phase, machine)?;
        if matches!(phase, Workload::Synthetic(_)) {
            let problem = format!("{} traffic cannot be a phase", phase.kind());
            let problem = Problem::new(at, problem, "workloads that end by themselves");
            return Err(problem.hint("run the traffic as a separate job"));
        }
    }
    readers_at_work(at, size, list)
}

/// Checks that no phase at key `at` has background readers beside a phase that asks for the time: ranks whose program
/// does have a single stream.
fn readers_at_work(at: &str, size: Size, list: &[Workload]) -> Result<(), Problem> {
    let reads_ahead = |phase: &&Workload| matches!(phase, Workload::Skeleton(Skeleton::DataLoader(_)));
    let asks = |phase: &&Workload| matches!(phase.program(size.ranks), Ok(Some(program)) if program.memory() > 0);
    match (list.iter().find(reads_ahead), list.iter().find(asks)) {
        (Some(loader), Some(other)) => Err(Problem::new(
            at,
            format!(
                "{} reads ahead and cannot share a list with {}",
                loader.kind(),
                other.kind()
            ),
            "separate jobs, one with start_after",
        )),
        _ => Ok(()),
    }
}

/// Fills in and checks a single workload, at key `at`.
fn one(at: &str, size: Size, workload: &mut Workload, machine: &r::Resolved) -> Result<(), Problem> {
    let ranks = size.ranks;
    if let Workload::Synthetic(traffic) = workload {
        return synthetic(at, size, traffic, machine);
    }
    let kind = workload.kind();
    if let Workload::Skeleton(skeleton) = workload {
        if skeleton.parameters().does_io() && machine.storage.is_none() {
            let problem = Problem::new(at, format!("{kind} does I/O, but the machine has no servers"), "");
            return Err(problem.hint("add a table [storage]"));
        }
        let of_job = OfJob {
            ranks_per_node: size.ranks_per_node,
            seed: SplitMix64::named(machine.seed, [size.number as u64]).0,
        };
        skeleton.parameters_mut().of_job(of_job);
        skeleton.parameters_mut().resolve(&format!("{at}.{kind}"), ranks)?;
    }
    let Err(problem) = workload.program(ranks) else {
        return Ok(());
    };
    // The extents are the cause if the workload runs without them.
    let at = format!("{at}.{kind}");
    Err(
        match without_dims(workload).is_some_and(|other| other.program(ranks).is_ok()) {
            true => synthetic::wrong_dims(&at, problem, ranks),
            false => of_program(at, &problem, workload),
        },
    )
}

/// The problem that a program found in its parameters, which are at key `at`: "KEY is VALUE: expected WHAT" refers to
/// that key.
fn of_program(at: String, problem: &str, workload: &Workload) -> Problem {
    let Some((found, expected)) = problem.split_once(": expected ") else {
        return Problem::new(at, problem, "");
    };
    let parameters = serde_json::to_value(workload).unwrap_or_default();
    let has = |word: &&str| parameters[workload.kind()].get(*word).is_some();
    let key = found.split_once(" is ").map(|(word, _)| word).filter(has);
    Problem::new(key.map_or(at.clone(), |key| format!("{at}.{key}")), found, expected)
}

/// The same workload on a balanced grid, if extents were given.
fn without_dims(workload: &Workload) -> Option<Workload> {
    let mut other = workload.clone();
    let given = match &mut other {
        Workload::Skeleton(skeleton) => skeleton.parameters_mut().take_dims(),
        _ => false,
    };
    given.then_some(other)
}

/// Fills in and checks the synthetic traffic at key `at`.
fn synthetic(at: &str, size: Size, traffic: &mut SyntheticParams, machine: &r::Resolved) -> Result<(), Problem> {
    let kind = format!("{at}.{}", traffic.pattern.name());
    let itself = traffic.itself.given() == Some(&true);
    traffic.pattern.resolve(&kind, size.ranks)?;
    match &mut traffic.pattern {
        PatternParams::NextGroup { ranks_per_group } => {
            ranks_per_group.fill(worst_case::ranks_per_group(size, machine));
        }
        PatternParams::Permutation { targets, seed } if targets.is_empty() => {
            targets.fill(permutation(at, size, seed.unwrap_or(machine.seed), itself)?);
        }
        PatternParams::WorstCase => {
            traffic.pattern = worst_case::shape(size, machine)
                .and_then(|shape| worst_case::pattern(&shape, size.ranks))
                .map_err(|problem| Problem::new(&kind, problem, "a job that fills the machine"))?;
            traffic.worst_case = true;
        }
        _ => {}
    }
    let around = Surroundings {
        ranks: size.ranks,
        stopped_by_job: size.stopped_by_job,
        packet: machine.network.packet,
        terminal: *machine.network.links.terminal.bandwidth,
        cycle_ps: machine.network.clock.map(|clock| clock.ps()),
        time_limit: machine.run.time_limit,
    };
    traffic.resolve(&kind, &around)
}

fn permutation(at: &str, size: Size, seed: u64, itself: bool) -> Result<Vec<u32>, Problem> {
    // Separate from the streams of nodes, whose numbers are below 2^32, and different for every job.
    let mut stream = Stream::new(seed, (1 << 32) + size.number as u64, Purpose::Destination);
    let drawn = match itself {
        true => Ok(synthetic::Pattern::any_permutation(size.ranks, |n| stream.below(n))),
        false => synthetic::Pattern::permutation(size.ranks, |n| stream.below(n)),
    };
    match drawn {
        Ok(synthetic::Pattern::Permutation { targets }) => Ok(targets.to_vec()),
        Ok(_) => Ok(Vec::new()),
        Err(problem) => Err(Problem::new(at, problem, "at least 2 ranks")),
    }
}

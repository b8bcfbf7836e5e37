//! Jobs, and arrays of jobs.

use std::path::Path;

use odonata_units::Time;

use super::rules::{self, Entry};
use super::trace;
use super::traffic_classes;
use super::workload::{Size, program, python, workload};
use crate::scenario::error::Problem;
use crate::scenario::resolved as r;
use crate::scenario::written as w;

/// Most ranks of all jobs together; each takes memory before the first event.
const MOST_RANKS: u64 = 1 << 24;

/// Most words of memory of the programs of all ranks together: they are counted in 32 bits.
const MOST_WORDS: u64 = u32::MAX as u64;

/// Most jobs; traffic is counted in 16 bits, two kinds per job.
pub(super) const MOST_JOBS: usize = 30_000;

/// Resolves the jobs, which may be none, of a scenario whose other parts are in `machine`.
pub(super) fn jobs(jobs: Vec<w::Job>, machine: &r::Resolved, folder: &Path) -> Result<Vec<r::Job>, Problem> {
    if jobs.len() > MOST_JOBS {
        let problem = format!("{} jobs", jobs.len());
        return Err(Problem::new(
            "jobs",
            problem,
            format!("1 to {MOST_JOBS} tables [[jobs]]"),
        ));
    }
    let (mut ranks, mut words) = (0, 0u64);
    let mut resolved: Vec<r::Job> = Vec::new();
    let mut entries = Vec::new();
    for (number, job) in jobs.into_iter().enumerate() {
        let at = format!("jobs.{number}");
        let first = resolved.len();
        let count = members(&at, &job, first)?;
        let trace = trace::open(&at, &job, folder)?;
        for member in 0..count {
            let (one, memory) = self::job(number, first + member, job.clone(), trace.as_ref(), machine, folder)?;
            ranks += u64::from(one.ranks);
            if ranks > MOST_RANKS {
                let problem = format!("{ranks} ranks in all");
                return Err(Problem::new(
                    format!("{at}.ranks"),
                    problem,
                    format!("at most {MOST_RANKS} in all"),
                ));
            }
            words += u64::from(one.ranks) * memory;
            if words > MOST_WORDS {
                let problem = format!(
                    "{} ranks with {memory} words of memory each, {words} words in all jobs so far",
                    one.ranks
                );
                return Err(Problem::new(
                    format!("{at}.ranks"),
                    problem,
                    format!("at most {MOST_WORDS} words in all"),
                ));
            }
            resolved.push(one);
        }
        let name = resolved[first].name.clone();
        if job.count.is_some() {
            for (member, one) in (0..).zip(&mut resolved[first..]) {
                one.name = super::name(&format!("{at}.name"), format!("{name}-{member}"))?;
                one.start = staggered(&at, &job, member)?;
            }
        }
        entries.push(Entry {
            at,
            name,
            jobs: first..first + count,
            start_after: job.start_after,
            until: job.until,
        });
    }
    rules::apply(entries, &mut resolved)?;
    Ok(resolved)
}

/// How many jobs the table at `at` makes, after `before` others.
fn members(at: &str, job: &w::Job, before: usize) -> Result<usize, Problem> {
    let Some(count) = job.count else {
        return match job.stagger {
            Some(_) => Err(Problem::new(
                format!("{at}.stagger"),
                "one job has nothing to be staggered",
                "count",
            )),
            None => Ok(1),
        };
    };
    let most = MOST_JOBS - before;
    if count == 0 || count as usize > most {
        let problem = format!("an array of {count} jobs");
        return Err(Problem::new(
            format!("{at}.count"),
            problem,
            format!("1 to {most}: {MOST_JOBS} jobs in all"),
        ));
    }
    if let w::Placement::Table(_) = job.placement {
        let problem = "the jobs of an array cannot all have the same nodes";
        return Err(Problem::new(
            format!("{at}.placement"),
            problem,
            "contiguous, random, random-router or random-group",
        ));
    }
    Ok(count as usize)
}

/// When job `member` of an array starts.
fn staggered(at: &str, job: &w::Job, member: u64) -> Result<Time, Problem> {
    let stagger = job.stagger.unwrap_or(Time::ZERO);
    let start = u128::from(job.start.0) + u128::from(stagger.0) * u128::from(member);
    match u64::try_from(start).map(Time) {
        Ok(start) if start <= Time::LONGEST => Ok(start),
        _ => Err(Problem::new(
            format!("{at}.stagger"),
            format!("job {member} of the array would start after the longest run"),
            format!("starts up to {}", Time::LONGEST),
        )),
    }
}

/// The job of table number `entry`, which is number `number` of all jobs, and how many words of memory each of its ranks
/// has; its name is that of its array.
fn job(
    entry: usize,
    number: usize,
    job: w::Job,
    trace: Option<&r::Trace>,
    machine: &r::Resolved,
    folder: &Path,
) -> Result<(r::Job, u64), Problem> {
    let at = format!("jobs.{entry}");
    let ranks = match (job.ranks, trace) {
        (Some(ranks), _) => ranks,
        (None, Some(trace)) => trace.ranks(),
        (None, None) => {
            let key = format!("{at}.ranks");
            return Err(Problem::new(
                at,
                "the key \"ranks\" is missing",
                format!("the number of ranks, as {key}"),
            ));
        }
    };
    if ranks == 0 || u64::from(ranks) > MOST_RANKS {
        let problem = format!("a job of {ranks} ranks");
        return Err(Problem::new(
            format!("{at}.ranks"),
            problem,
            format!("1 to {MOST_RANKS}"),
        ));
    }
    if job.ranks_per_node == 0 {
        return Err(Problem::new(
            format!("{at}.ranks_per_node"),
            "no ranks on a node",
            "at least 1",
        ));
    }
    let size = Size {
        ranks,
        ranks_per_node: job.ranks_per_node,
        number,
        told: job.until.is_some(),
    };
    let (list, table) = match (job.args, &job.program, &job.python) {
        (None, _, _) => Default::default(),
        (Some(w::Arguments::List(list)), Some(_), _) => (list, Default::default()),
        (Some(w::Arguments::Table(table)), _, Some(_)) => (Vec::new(), table),
        (Some(args), _, _) => {
            let (problem, expected) = match args {
                w::Arguments::List(_) => ("a list of arguments without a program", "the key program beside it"),
                w::Arguments::Table(_) => (
                    "a table of arguments without a Python function",
                    "the key python beside it",
                ),
            };
            return Err(Problem::new(format!("{at}.args"), problem, expected));
        }
    };
    let (kind, workload) = match (job.workload, job.program, job.python, trace) {
        (Some(written), None, None, None) => workload(&format!("{at}.workload"), size, written, machine)?,
        (None, Some(file), None, None) => program(&format!("{at}.program"), ranks, (file, list), folder, machine)?,
        (None, None, Some(name), None) => python(&format!("{at}.python"), ranks, (&name, table), folder)?,
        (None, None, None, Some(trace)) => trace::workload(&at, ranks, trace, machine)?,
        (written, program, python, trace) => {
            let given = [
                ("workload", written.is_some()),
                ("program", program.is_some()),
                ("python", python.is_some()),
                ("trace", trace.is_some()),
            ];
            let given: Vec<&str> = given.iter().filter(|key| key.1).map(|key| key.0).collect();
            let problem = if given.is_empty() {
                "the key \"workload\" is missing".into()
            } else {
                format!("the keys {} say what it does", given.join(" and "))
            };
            let expected = "exactly one of the keys workload, program, python and trace";
            return Err(Problem::new(at, problem, expected));
        }
    };
    let synthetic = matches!(workload, r::Workload::Synthetic(_));
    if job.until.is_some() && !synthetic {
        let key = format!("{at}.until");
        return Err(Problem::new(key, format!("{kind} ends by itself"), "synthetic traffic"));
    }
    if job.repeat == 0 || (job.repeat > 1 && synthetic) {
        let problem = format!("{kind}, {} times", job.repeat);
        let error = Problem::new(
            format!("{at}.repeat"),
            problem,
            "at least 1, and a workload that ends by itself",
        );
        return Err(if synthetic {
            error.hint("messages says how much synthetic traffic there is, on and off make bursts")
        } else {
            error
        });
    }
    let resolved = r::Job {
        name: super::name(&format!("{at}.name"), job.name.unwrap_or_else(|| kind.into()))?,
        entry: entry as u32,
        ranks,
        ranks_per_node: job.ranks_per_node,
        start: job.start,
        start_after: Vec::new(),
        until: Vec::new(),
        repeat: job.repeat,
        placement: placement(&format!("{at}.placement"), job.placement, folder)?,
        traffic_class: traffic_classes::of_job(&format!("{at}.traffic_class"), &job.traffic_class, &machine.network)?,
        workload,
    };
    match resolved.program() {
        Ok(program) => {
            let memory = program.map_or(0, |program| program.memory());
            Ok((resolved, u64::from(crate::host::words(memory))))
        }
        // What is wrong with a single workload was found with it.
        Err(problem) => Err(Problem::new(
            format!("{at}.repeat"),
            problem,
            "fewer repetitions or phases",
        )),
    }
}

fn placement(at: &str, placement: w::Placement, folder: &Path) -> Result<r::PlacementRule, Problem> {
    let table = match placement {
        w::Placement::Contiguous => return Ok(r::PlacementRule::Contiguous),
        w::Placement::Random => return Ok(r::PlacementRule::Random),
        w::Placement::RandomRouter => return Ok(r::PlacementRule::RandomRouter),
        w::Placement::RandomGroup => return Ok(r::PlacementRule::RandomGroup),
        w::Placement::Table(table) => table,
    };
    match (table.nodes, table.clients, table.file, table.slot) {
        (Some(nodes), None, None, None) => Ok(r::PlacementRule::Nodes(nodes)),
        (None, Some(clients), None, None) => Ok(r::PlacementRule::Clients(clients)),
        (None, None, Some(file), slot) => Ok(r::PlacementRule::File {
            path: folder.join(file).display().to_string(),
            slot: slot.unwrap_or(0),
        }),
        _ => Err(Problem::new(
            at,
            "no single rule",
            "exactly one of nodes, clients, file (with slot)",
        )),
    }
}

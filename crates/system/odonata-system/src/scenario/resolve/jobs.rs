//! Jobs, and arrays of jobs.

use std::path::Path;

use odonata_units::Time;
use odonata_workload::Algorithm;

use super::rules::{self, Entry};
use super::traffic_classes;
use super::workload::{self, Size};
use crate::placement::PlacementRule;
use crate::scenario::error::Problem;
use crate::scenario::job::{Job, MOST_RANKS};
use crate::scenario::resolved as r;
use crate::scenario::workload::{Trace, Workload};

/// Maximum total memory, in words, of the programs of all ranks: a 32-bit count.
const MOST_WORDS: u64 = u32::MAX as u64;

/// Maximum number of jobs; traffic is counted in 16 bits, with two kinds per job.
pub(super) const MOST_JOBS: usize = 30_000;

/// Resolves the jobs, which may be none, of a scenario whose other parts are in `machine`.
pub(super) fn jobs(jobs: Vec<Job>, machine: &r::Resolved, folder: &Path) -> Result<Vec<Job>, Problem> {
    if jobs.len() > MOST_JOBS {
        let problem = format!("{} jobs", jobs.len());
        return Err(Problem::new(
            "jobs",
            problem,
            format!("1 to {MOST_JOBS} tables [[jobs]]"),
        ));
    }
    let (mut ranks, mut words) = (0, 0u64);
    let mut resolved: Vec<Job> = Vec::new();
    let mut entries = Vec::new();
    for (number, job) in jobs.into_iter().enumerate() {
        let at = format!("jobs.{number}");
        let first = resolved.len();
        let count = members(&at, &job, first)?;
        let trace = workload::trace(&at, &job, folder, machine.run.memory_limit)?;
        for member in 0..count {
            let mut one = job.clone();
            one.entry = number as u32;
            let memory = self::job(&mut one, first + member, trace.as_ref(), machine, folder)?;
            ranks += u64::from(*one.ranks);
            if ranks > MOST_RANKS {
                let problem = format!("{ranks} ranks in all");
                return Err(Problem::new(
                    format!("{at}.ranks"),
                    problem,
                    format!("at most {MOST_RANKS} in all"),
                ));
            }
            words += u64::from(*one.ranks) * memory;
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
        let name = resolved[first].name.to_string();
        if job.count.is_some() {
            for (member, one) in (0..).zip(&mut resolved[first..]) {
                one.name = super::name(&format!("{at}.name"), format!("{name}-{member}"))?.into();
                one.start.at = staggered(&at, &job, member)?;
            }
        }
        for (number, one) in (first..).zip(&mut resolved[first..]) {
            one.start = one.start.drawn(machine.seed, number).ok_or_else(|| {
                let problem = "the job could start after the longest possible run";
                Problem::new(
                    format!("{at}.start"),
                    problem,
                    format!("starts up to {}", Time::LONGEST),
                )
            })?;
        }
        entries.push(Entry {
            at,
            name,
            jobs: first..first + count,
        });
    }
    rules::apply(entries, &mut resolved)?;
    Ok(resolved)
}

/// The number of jobs that the table at `at` makes, after `before` others.
fn members(at: &str, job: &Job, before: usize) -> Result<usize, Problem> {
    let Some(count) = job.count else {
        return match job.stagger {
            Some(_) => Err(Problem::new(
                format!("{at}.stagger"),
                "a single job cannot be staggered",
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
    if let PlacementRule::Table(_) = job.placement {
        let problem = "the jobs of an array cannot all have the same nodes";
        return Err(Problem::new(
            format!("{at}.placement"),
            problem,
            "contiguous, random, random-router or random-group",
        ));
    }
    Ok(count as usize)
}

/// The start of job `member` of an array.
fn staggered(at: &str, job: &Job, member: u64) -> Result<Time, Problem> {
    let stagger = job.stagger.unwrap_or(Time::ZERO);
    let start = u128::from(job.start.at.0) + u128::from(stagger.0) * u128::from(member);
    match u64::try_from(start).map(Time) {
        Ok(start) if start <= Time::LONGEST => Ok(start),
        _ => Err(Problem::new(
            format!("{at}.stagger"),
            format!("job {member} of the array would start after the longest run"),
            format!("starts up to {}", Time::LONGEST),
        )),
    }
}

/// Fills in and checks `job`, number `number` of all jobs, and returns the words of memory of each of its ranks. Its
/// name is the name of its array. `trace` is the trace that it replays.
fn job(
    job: &mut Job,
    number: usize,
    trace: Option<&Trace>,
    machine: &r::Resolved,
    folder: &Path,
) -> Result<u64, Problem> {
    let at = format!("jobs.{}", job.entry);
    if let Some(trace) = trace {
        job.ranks.fill(trace.ranks());
    }
    let Some(&ranks) = job.ranks.given() else {
        let key = format!("{at}.ranks");
        let expected = format!("the number of ranks, as {key}");
        return Err(Problem::new(at, "the key \"ranks\" is missing", expected));
    };
    if ranks == 0 || u64::from(ranks) > MOST_RANKS {
        let problem = format!("a job of {ranks} ranks");
        return Err(Problem::new(
            format!("{at}.ranks"),
            problem,
            format!("1 to {MOST_RANKS}"),
        ));
    }
    odonata_units::within(format!("{at}.io_weight"), job.io_weight, 0.001, 1_000.0)?;
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
        stopped_by_job: job.until.name().is_some(),
    };
    workload::workload(&at, job, size, trace, machine, folder)?;
    let kind = job.workload.kind();
    let synthetic = matches!(*job.workload, Workload::Synthetic(_));
    if size.stopped_by_job && !synthetic {
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
            error.hint("messages limits synthetic traffic; on and off make bursts")
        } else {
            error
        });
    }
    super::check_name(&format!("{at}.name"), job.name.fill(kind.into()))?;
    job.placement
        .resolve(&format!("{at}.placement"), machine.preset.as_deref(), folder)?;
    traffic_classes::of_job(&format!("{at}.traffic_class"), &mut job.traffic_class, &machine.network)?;
    match job.program() {
        Ok(program) => {
            let asks = program
                .as_deref()
                .is_some_and(|program| program.names(Algorithm::Switches));
            if asks && machine.network.reduction.is_none() {
                let problem = "the algorithm \"switches\", and routers do not sum";
                return Err(Problem::new(
                    format!("{at}.workload"),
                    problem,
                    "a table [network.reduction]",
                ));
            }
            let memory = program.map_or(0, |program| program.memory());
            Ok(u64::from(odonata_host::footprint::words(memory)))
        }
        // Problems of a single workload were found with the workload.
        Err(problem) => Err(Problem::new(
            format!("{at}.repeat"),
            problem,
            "fewer repetitions or phases",
        )),
    }
}

//! How a run ends, in a word and in words.

use crate::host::{Blocked, Census, FailureKind, HostOutcome, Hosts, WaitingJob, describe_cycle};
use crate::machine::Machine;
use serde::Serialize;

/// Ranks of a cycle of waits that are described.
const MOST_OF_CYCLE: usize = 10;

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// All programs ended and everything that was sent was delivered.
    Completed,
    /// The scenario's time limit came first; what was measured until then is kept.
    TimeLimit,
    /// The user stopped the run; what was measured until then is kept.
    Interrupted,
    /// Nothing can happen any more, yet ranks wait: for a message that is never sent, say, or for a job that
    /// does not end. Sources that would send until such a job has ended may be left.
    Stalled,
    /// A write waits for space that nothing will free.
    StorageFull,
    /// Ranks of a job called different collectives, a message was longer than its receive, or an
    /// operation asked for something that does not exist.
    ProgramError,
    /// Bytes, packets or credits are missing at the end: an error of the simulator.
    ConservationViolated,
}

impl Outcome {
    /// The name in `run.json`.
    pub fn name(&self) -> &'static str {
        match self {
            Outcome::Completed => "completed",
            Outcome::TimeLimit => "time-limit",
            Outcome::Interrupted => "interrupted",
            Outcome::Stalled => "stalled",
            Outcome::StorageFull => "storage-full",
            Outcome::ProgramError => "program-error",
            Outcome::ConservationViolated => "conservation-violated",
        }
    }
}

/// Whether these parts have come to a good end: no event is left, all ranks have ended and nothing went wrong.
pub(crate) fn is_complete(parts: &[Machine]) -> bool {
    parts.iter().all(|part| {
        let census = Census::new(vec![&part.hosts]);
        matches!(census.outcome(), HostOutcome::Completed { .. })
    })
}

/// What is left behind after a good end, in words; `None` where nothing is.
pub(crate) fn left_over(unmatched: u64) -> Option<String> {
    (unmatched > 0).then(|| format!("{unmatched} messages were never received"))
}

/// The outcome of a run that has not come to a good end, given all its parts.
pub(crate) fn explain_failure(parts: &[Machine]) -> (Outcome, Option<String>) {
    let census = Census::new(parts.iter().map(|part| &part.hosts).collect());
    let outcome = census.outcome();
    let detail = explain(&census, &outcome);
    let outcome = match outcome {
        HostOutcome::Completed { .. } => Outcome::Completed,
        HostOutcome::Stalled { .. } => Outcome::Stalled,
        HostOutcome::StorageFull { .. } => Outcome::StorageFull,
        HostOutcome::Failed {
            kind: FailureKind::WriteExceedsDevice,
            ..
        } => Outcome::StorageFull,
        HostOutcome::Failed { .. } => Outcome::ProgramError,
    };
    (outcome, detail)
}

/// Checks after a good end that nothing is left in these parts.
///
/// # Errors
/// Says what is left, and where.
pub(crate) fn audit(parts: &mut [Machine]) -> Result<(), String> {
    parts.iter_mut().try_for_each(|part| {
        part.hosts.audit()?;
        part.fabric.audit()
    })
}

/// A job that waits for others, in words.
fn waits(hosts: &Hosts, waiting: &WaitingJob) -> String {
    let others: Vec<String> = waiting
        .waits_for
        .iter()
        .map(|&(other, unfinished)| {
            let other = hosts.job(other);
            format!("\"{}\" ({unfinished} of {} ranks have not)", other.name, other.ranks)
        })
        .collect();
    let what = if waiting.unstarted {
        "has not started: it waits for the end of"
    } else {
        "sends on: it waits to be told of the end of"
    };
    format!("job \"{}\" {what} {}", hosts.job(waiting.job).name, others.join(", "))
}

/// An outcome in words; `None` where there is nothing to say.
fn explain(census: &Census<'_>, outcome: &HostOutcome) -> Option<String> {
    let hosts = census.any();
    let waiting = |blocked: &[Blocked], unfinished: u64| {
        let one = |b: &Blocked| {
            let job = hosts.job(b.job).name;
            format!(
                "{job} rank {}: {} (operation {}) since {:.9} s",
                b.rank,
                b.op,
                b.id.0,
                b.since.seconds()
            )
        };
        let list: Vec<String> = blocked.iter().map(one).collect();
        let mut text = format!("{unfinished} ranks have not ended");
        if !list.is_empty() {
            text += &format!("; waiting longest: {}", list.join("; "));
        }
        for waiting in hosts.waiting_jobs(&census.standing()) {
            text += &format!("; {}", waits(hosts, &waiting));
        }
        text
    };
    match outcome {
        HostOutcome::Completed { unmatched } => left_over(*unmatched),
        HostOutcome::Stalled {
            blocked,
            unfinished,
            unmatched,
            cycle,
        } => {
            let unreceived = match unmatched {
                0 => String::new(),
                n => format!("; {n} messages have arrived that no receive asked for"),
            };
            let cycle = match cycle.first() {
                Some(first) if hosts.jobs() > 1 => {
                    format!(
                        "; cycle in {}: {}",
                        hosts.job(first.job).name,
                        describe_cycle(cycle, MOST_OF_CYCLE)
                    )
                }
                Some(_) => format!("; cycle: {}", describe_cycle(cycle, MOST_OF_CYCLE)),
                None => String::new(),
            };
            Some(waiting(blocked, *unfinished) + &unreceived + &cycle)
        }
        HostOutcome::StorageFull {
            stuck,
            blocked,
            unfinished,
        } => {
            let first = stuck.first().map_or(String::new(), |s| {
                let job = hosts.job(s.job).name;
                format!(
                    "server {} is full and has no drain: {job} rank {} needs {} bytes, {} are free; ",
                    s.server, s.rank, s.needed, s.free
                )
            });
            Some(first + &waiting(blocked, *unfinished))
        }
        HostOutcome::Failed { text, .. } => Some(text.clone()),
    }
}

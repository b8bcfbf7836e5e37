//! The outcome of a run, and its explanation.

use odonata_engine::Time;
use odonata_host::{Blocked, BlockedClient, FailureKind, HostOutcome, Hosts, RunState, WaitingJob, describe_cycle};
use odonata_machine::Machine;
use serde::Serialize;

/// Maximum number of described ranks of a cycle of waits.
const MOST_OF_CYCLE: usize = 10;

/// The outcome of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// All programs ended, all messages were delivered, and nothing was left behind.
    Completed,
    /// The scenario's time limit came before all work was done; the results until then are kept.
    TimeLimit,
    /// Simulated time ended, at 2^62 ps, before all work was done; the results until then are kept.
    TimeOverflow,
    /// The user stopped the run; the results until then are kept.
    Interrupted,
    /// The run exceeds the memory of this computer, or its memory limit; the results until then are kept.
    OutOfMemory,
    /// More messages waited at a NIC than the scenario allows: a source offers more than the network accepts.
    QueueOverflow,
    /// No event is left, yet ranks wait: for example for a message that is never sent, or for a job that does not end.
    /// Sources that would send until the end of such a job may be left.
    Stalled,
    /// A write waits for space that will never be freed.
    StorageFull,
    /// A storage server failed: it did not answer a client, or lost data that is read.
    StorageFailed,
    /// Ranks of a job called different collectives, a message was longer than its receive, an operation used something
    /// that does not exist, or a program left receives, messages or requests behind at its end.
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
            Outcome::TimeOverflow => "time-overflow",
            Outcome::Interrupted => "interrupted",
            Outcome::OutOfMemory => "out-of-memory",
            Outcome::QueueOverflow => "queue-overflow",
            Outcome::Stalled => "stalled",
            Outcome::StorageFull => "storage-full",
            Outcome::StorageFailed => "storage-failed",
            Outcome::ProgramError => "program-error",
            Outcome::ConservationViolated => "conservation-violated",
        }
    }
}

/// Whether these parts ended well: no event is left, all ranks have ended, without errors or leftovers.
pub(crate) fn is_complete(parts: &[Machine]) -> bool {
    parts.iter().all(|part| {
        let state = RunState::new(vec![&part.hosts]);
        state.outcome() == HostOutcome::Completed
    })
}

/// The outcome of a run that did not end well, given all its parts.
pub(crate) fn explain_failure(parts: &[Machine]) -> (Outcome, Option<String>) {
    let state = RunState::new(parts.iter().map(|part| &part.hosts).collect());
    let outcome = state.outcome();
    let detail = explain(&state, &outcome);
    let outcome = match outcome {
        HostOutcome::Completed => Outcome::Completed,
        HostOutcome::Stalled { .. } => Outcome::Stalled,
        HostOutcome::StorageFull { .. } => Outcome::StorageFull,
        HostOutcome::Failed {
            kind: FailureKind::WriteExceedsDevice,
            ..
        } => Outcome::StorageFull,
        HostOutcome::Failed {
            kind: FailureKind::ServerFailed,
            ..
        } => Outcome::StorageFailed,
        HostOutcome::Failed { .. } => Outcome::ProgramError,
    };
    (outcome, detail)
}

/// Checks these parts for leftovers after a good end.
///
/// # Errors
/// The leftovers, and their place.
pub(crate) fn audit(parts: &mut [Machine]) -> Result<(), String> {
    parts.iter_mut().try_for_each(|part| {
        part.hosts.audit()?;
        part.fabric.audit()
    })
}

/// A job that waits for others, as text.
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
        "still sends: it waits for the end of"
    };
    format!("job \"{}\" {what} {}", hosts.job(waiting.job).name, others.join(", "))
}

/// The unfinished work of a run at its time limit, in list order; at least one text.
///
/// `in_network`: bytes sent and not arrived; `file_transfers` and `drains`: reads and writes in progress, and draining
/// storage servers.
pub(crate) fn cut_off(unfinished: Vec<String>, in_network: u64, file_transfers: u64, drains: u64) -> Vec<String> {
    let mut list = unfinished;
    let under_way = [
        (in_network, "B are in flight"),
        (file_transfers, "reads and writes are under way"),
        (drains, "storage servers are draining"),
    ];
    list.extend(
        under_way
            .iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, what)| format!("{count} {what}")),
    );
    if list.is_empty() {
        // Later events have no effect on results: a returning credit, a message whose sender still waits.
        list.push("all jobs are done, but the machine is still busy".into());
    }
    list
}

/// The unfinished work of a run with these parts at the end of simulated time.
pub(crate) fn explain_overflow(parts: &[Machine]) -> Vec<String> {
    let state = RunState::new(parts.iter().map(|part| &part.hosts).collect());
    let statuses = state.job_statuses();
    let mut list = vec![format!(
        "an event is due after the end of simulated time, {} s (2^62 ps, 53 days)",
        Time::LONGEST.seconds()
    )];
    list.extend(statuses.unfinished_work(state.any().plans()));
    let blocked = state.blocked();
    if !blocked.is_empty() {
        let each: Vec<String> = blocked.iter().map(|one| describe_blocked(state.any(), one)).collect();
        list.push(format!("waiting longest: {}", each.join("; ")));
    }
    list
}

/// A blocked rank and its operation, as text.
fn describe_blocked(hosts: &Hosts, b: &Blocked) -> String {
    let (job, since) = (hosts.job(b.job).name, b.since.seconds());
    format!(
        "{job} rank {}: {} (operation {}) since {since:.9} s",
        b.rank, b.op, b.id.0
    )
}

/// The explanation of an outcome; `None` for a good end.
fn explain(state: &RunState<'_>, outcome: &HostOutcome) -> Option<String> {
    let hosts = state.any();
    let waiting = |blocked: &[Blocked], unfinished: u64| {
        let list: Vec<String> = blocked.iter().map(|one| describe_blocked(hosts, one)).collect();
        let mut text = format!("{unfinished} ranks have not ended");
        if !list.is_empty() {
            text += &format!("; waiting longest: {}", list.join("; "));
        }
        for waiting in state.job_statuses().waiting_jobs(hosts.plans()) {
            text += &format!("; {}", waits(hosts, &waiting));
        }
        text
    };
    match outcome {
        HostOutcome::Completed => None,
        HostOutcome::Stalled {
            blocked,
            unfinished,
            unmatched,
            cycle,
        } => {
            let unreceived = match unmatched {
                0 => String::new(),
                n => format!("; {n} messages have arrived without a matching receive"),
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
            blocked_writes,
            blocked,
            unfinished,
        } => {
            let first = blocked_writes.first().map_or(String::new(), |s| {
                let job = hosts.job(s.job).name;
                let (needed, free) = (s.needed, s.free);
                let writer = match s.client {
                    BlockedClient::Rank(rank) => format!("{job} rank {rank} needs {needed} bytes"),
                    BlockedClient::Server(above) => format!("server {above} needs {needed} bytes for {job}"),
                };
                format!(
                    "server {} is full and has no drain: {writer}, {free} are free; ",
                    s.server
                )
            });
            Some(first + &waiting(blocked, *unfinished))
        }
        HostOutcome::Failed { text, .. } => Some(text.clone()),
    }
}

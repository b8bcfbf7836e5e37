//! A run: built from a scenario, advanced in slices of wall time, ended in exactly one outcome.

use crate::build;
use crate::host::{FailureKind, HostOutcome, Hosts, WaitingJob, describe_cycle};
use crate::machine::{Event, Machine};
use crate::placement::Placement;
use crate::results::{self, Rows, Table};
use crate::scenario::{InputError, Problem, Resolved, Scenario};
use odonata_engine::sequential::{Pause, Sequential};
use odonata_engine::{Digest, Model, Time};
use serde::Serialize;
use std::time::{Duration, Instant};

/// Events between two looks at the clock: a few milliseconds.
const SLICE: u64 = 1 << 16;

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

/// Where a run stands.
#[derive(Clone, Debug, Serialize)]
pub struct Progress {
    /// Whether there is nothing more to do.
    pub finished: bool,
    /// Simulated time, seconds.
    pub simulated_s: f64,
    /// Events handled.
    pub events: u64,
    /// Packets delivered.
    pub packets: u64,
    /// Routers visited by them.
    pub packet_hops: u64,
    /// Messages delivered by the fabric, MPI and I/O.
    pub messages: u64,
    /// Estimated share of the run that is done, if it can be told.
    pub fraction: Option<f64>,
}

/// A run under way.
pub struct Simulation {
    scenario: Resolved,
    placement: Placement,
    scheduler: Sequential<Machine>,
    pause: Option<Pause>,
    started: Instant,
    cpu_started: Option<Duration>,
}

/// CPU time of this process so far.
pub(crate) fn cpu_time() -> Option<Duration> {
    cpu_time::ProcessTime::try_now().ok().map(|time| time.as_duration())
}

/// The largest resident size of this process so far, bytes; 0 where the system does not tell.
pub(crate) fn peak_rss() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM:"));
    let kib = line
        .and_then(|line| line.split_whitespace().nth(1))
        .and_then(|n| n.parse::<u64>().ok());
    kib.unwrap_or(0) * 1024
}

impl Simulation {
    /// Builds the machine and starts its jobs.
    ///
    /// # Errors
    /// What does not fit together, as far as it could not be told from the scenario alone.
    pub fn new(scenario: Scenario) -> Result<Self, InputError> {
        let (started, cpu_started) = (Instant::now(), cpu_time());
        let Scenario {
            resolved,
            placement,
            document,
        } = scenario;
        let machine =
            build::machine(&resolved, &placement).map_err(|text| document.locate(Problem::new("", text, "")))?;
        let scheduler = Sequential::new(machine);
        Ok(Simulation {
            scenario: resolved,
            placement,
            scheduler,
            pause: None,
            started,
            cpu_started,
        })
    }

    /// The scenario that runs.
    pub fn scenario(&self) -> &Resolved {
        &self.scenario
    }

    /// Simulates for about `wall` of real time, or to the end.
    pub fn advance(&mut self, wall: Duration) -> Progress {
        let begin = Instant::now();
        let limit = self.limit();
        while self.pause.is_none() {
            match self.scheduler.run(limit, SLICE) {
                Pause::Budget => {
                    if self.hosts_are_stuck() {
                        // What is left is traffic without end. Looked at between slices of a fixed number of
                        // events, so that the run ends at the same one however it is advanced.
                        self.pause = Some(Pause::Idle);
                    }
                }
                // Before the limit nothing but events that do nothing, or that help nobody, is left.
                Pause::TimeLimit if self.nothing_is_left() || self.hosts_are_stuck() => self.pause = Some(Pause::Idle),
                pause => self.pause = Some(pause),
            }
            if begin.elapsed() >= wall {
                break;
            }
        }
        self.progress()
    }

    /// Whether all events that wait are those of sources that have been told to stop.
    fn nothing_is_left(&self) -> bool {
        let hosts = &self.scheduler.model().hosts;
        let counts = |event: &Event| !matches!(event, Event::Host(event) if hosts.is_void_event(event));
        hosts.may_be_endless() && !self.scheduler.pending().any(counts)
    }

    /// Whether nothing but sources that send until they are told can go on, so that nobody will tell them.
    fn hosts_are_stuck(&self) -> bool {
        let Machine { fabric, hosts } = self.scheduler.model();
        let goes_on = |event: &Event| matches!(event, Event::Host(event) if hosts.is_progress(event));
        hosts.may_be_endless()
            && !self.scheduler.pending().any(goes_on)
            && !fabric
                .messages()
                .any(|message| Hosts::is_progress_message(message.content))
            && !hosts.waiting_jobs().is_empty()
    }

    /// When the run ends even if its jobs have not.
    fn limit(&self) -> Time {
        self.scenario.run.time_limit.unwrap_or(Time::LONGEST).min(Time::LONGEST)
    }

    /// The simulated time: that of the last event that did something, or the limit if the run has come to it.
    fn now(&self) -> Time {
        match self.pause {
            Some(Pause::TimeLimit) => self.limit(),
            Some(Pause::Idle) => self
                .scheduler
                .model()
                .hosts
                .last_event()
                .unwrap_or(self.scheduler.now()),
            _ => self.scheduler.now(),
        }
    }

    /// Where the run stands.
    pub fn progress(&self) -> Progress {
        let machine = self.scheduler.model();
        let (packets, packet_hops) = machine.fabric.delivered();
        let now = self.now();
        let by_time = self
            .scenario
            .run
            .time_limit
            .map(|limit| now.0 as f64 / limit.0.max(1) as f64);
        Progress {
            finished: self.pause.is_some(),
            simulated_s: now.seconds(),
            events: self.scheduler.events(),
            packets,
            packet_hops,
            messages: machine.fabric.traffic_stats().iter().map(|t| t.messages).sum(),
            fraction: by_time.or(Some(machine.hosts.progress_fraction())),
        }
    }

    /// Ends the run and collects its results. `interrupted`: the user stopped it.
    pub fn finish(self, interrupted: bool) -> Results {
        let (progress, now) = (self.progress(), self.now());
        let wall_s = self.started.elapsed().as_secs_f64();
        let cpu = cpu_time()
            .zip(self.cpu_started)
            .map(|(now, then)| now.saturating_sub(then));
        let mut machine = self.scheduler.into_model();
        let (outcome, detail) = match self.pause {
            None => {
                debug_assert!(interrupted, "only an interruption ends a run that could go on");
                (Outcome::Interrupted, None)
            }
            Some(Pause::TimeLimit) => (Outcome::TimeLimit, None),
            Some(_) => ended(&mut machine),
        };
        if outcome != Outcome::Completed && self.scenario.run.blame {
            machine.fabric.close_books(now);
            machine.hosts.close_books(now);
        }
        let cut = machine.series_end().filter(|&end| end < now);
        let cut = cut.map(|end| {
            format!(
                "run.series_interval is short: a table of the time series ends at {} s",
                end.seconds()
            )
        });
        let detail = detail.or(cut);
        let mut digest = Digest::new();
        machine.results(&mut digest);
        let rows = results::collect(&self.scenario, &self.placement, &machine, now);
        let bytes_delivered = machine.fabric.traffic_stats().iter().map(|t| t.bytes).sum();
        Results {
            outcome,
            detail,
            digest: digest.hex(),
            progress,
            bytes_delivered,
            wall_s,
            cpu_s: cpu.map_or(wall_s, |cpu| cpu.as_secs_f64()),
            peak_rss_bytes: peak_rss(),
            state_bytes: machine.fabric.memory() as u64,
            nodes: self.scenario.machine.nodes(),
            scenario: self.scenario,
            rows,
        }
    }
}

/// The outcome of a run whose events have run out or which its model has stopped.
fn ended(machine: &mut Machine) -> (Outcome, Option<String>) {
    let outcome = machine.hosts.outcome();
    let detail = explain(machine, &outcome);
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
    if outcome == Outcome::Completed {
        let audit = machine.fabric.audit().and_then(|()| machine.hosts.audit());
        if let Err(text) = audit {
            return (Outcome::ConservationViolated, Some(text));
        }
    }
    (outcome, detail)
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
fn explain(machine: &Machine, outcome: &HostOutcome) -> Option<String> {
    let hosts = &machine.hosts;
    let waiting = |blocked: &[crate::host::Blocked], unfinished: u64| {
        let one = |b: &crate::host::Blocked| {
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
        for waiting in hosts.waiting_jobs() {
            text += &format!("; {}", waits(hosts, &waiting));
        }
        text
    };
    match outcome {
        HostOutcome::Completed { unmatched: 0 } => None,
        HostOutcome::Completed { unmatched } => Some(format!("{unmatched} messages were never received")),
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

/// What a run leaves behind.
pub struct Results {
    outcome: Outcome,
    detail: Option<String>,
    digest: String,
    progress: Progress,
    bytes_delivered: u64,
    wall_s: f64,
    cpu_s: f64,
    peak_rss_bytes: u64,
    state_bytes: u64,
    nodes: u32,
    scenario: Resolved,
    rows: Rows,
}

impl Results {
    /// How the run ended.
    pub fn outcome(&self) -> &Outcome {
        &self.outcome
    }

    /// The digest over all results: equal for equal scenario and seed, always.
    pub fn digest(&self) -> &str {
        &self.digest
    }

    /// What was measured, row by row.
    pub fn rows(&self) -> &Rows {
        &self.rows
    }

    /// Where the run stood at its end.
    pub fn progress(&self) -> &Progress {
        &self.progress
    }

    /// CPU seconds from the building of the machine to the end.
    pub fn cpu_s(&self) -> f64 {
        self.cpu_s
    }

    /// Bytes of simulation state per node of the machine.
    pub fn bytes_per_node(&self) -> f64 {
        self.state_bytes as f64 / f64::from(self.nodes)
    }

    /// The tables.
    pub fn tables(&self) -> Vec<Table> {
        results::tables(&self.rows)
    }

    /// The content of `run.json`.
    pub fn run_json(&self) -> serde_json::Value {
        serde_json::json!({
            "outcome": self.outcome.name(),
            "detail": self.detail,
            "digest": self.digest,
            "simulated_s": self.progress.simulated_s,
            "wall_s": self.wall_s,
            "cpu_s": self.cpu_s,
            "events": self.progress.events,
            "packets": self.progress.packets,
            "packet_hops": self.progress.packet_hops,
            "packet_hops_per_cpu_s": self.progress.packet_hops as f64 / self.cpu_s.max(1e-9),
            "messages": self.progress.messages,
            "bytes_delivered": self.bytes_delivered,
            "peak_rss_bytes": self.peak_rss_bytes,
            "state_bytes_per_node": self.bytes_per_node(),
            "nodes": self.nodes,
            "scheduler": "sequential",
            "threads": 1,
            "ranks": 1,
            "blame": self.scenario.run.blame,
            "version": env!("CARGO_PKG_VERSION"),
            "scenario": self.scenario,
        })
    }
}

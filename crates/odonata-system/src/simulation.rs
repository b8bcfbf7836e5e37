//! A run: built from a scenario, advanced in slices of wall time, ended in exactly one outcome.

use crate::build::Plan;
use crate::company::Company;
use crate::host::{Hosts, Standing};
use crate::machine::{Event, Machine, MachineMeasured};
use crate::outcome::{self, Outcome};
use crate::placement::Placement;
use crate::results::{self, Rows, Table};
use crate::scenario::resolved::Scheduler as SchedulerKind;
use crate::scenario::{InputError, Problem, Resolved, Scenario};
use crate::schedule::{self, Resources};
use crate::snapshot::{self, Header, Layout, Refused, Spent};
use odonata_engine::saved::{Damaged, Loader, Saver};
use odonata_engine::{
    Alone, Conservative, Digest, Figures, PartView, Pause, Saved, Scheduler, Sequential, Time, Transport,
};
use serde::{Deserialize, Serialize};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Events between two looks at the clock: a few milliseconds.
const SLICE: u64 = 1 << 16;

/// Simulated time between two looks at whether a run with endless traffic can end, 134 us; a multiple of the engine's
/// [`HALT_GRID`](odonata_engine::HALT_GRID).
const LOOK_EVERY: Time = Time(1 << 27);

/// Where a run stands.
#[derive(Clone, Debug, Default, Serialize)]
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
    plan: Plan,
    schedule: schedule::Plan,
    scheduler: Box<dyn Scheduler<Machine>>,
    company: Company,
    pause: Option<Pause>,
    /// Until when it has been looked at whether anything but traffic without end is left.
    checked: Time,
    progress: Progress,
    started: Instant,
    cpu_started: Option<Duration>,
    /// What the run had cost before this process went on with it.
    earlier: Spent,
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

/// The processes that share a run with this one: what its scheduler needs to reach them, and the run itself.
pub struct Others {
    /// For the scheduler.
    pub transport: Box<dyn Transport>,
    /// For the run.
    pub company: Company,
}

impl Default for Others {
    /// There are none.
    fn default() -> Self {
        Others {
            transport: Box::new(Alone),
            company: Company::default(),
        }
    }
}

/// The parts of process `process` of `processes`.
fn share_of(schedule: &schedule::Plan, process: usize, processes: usize) -> Result<Range<usize>, String> {
    let parts = schedule.partition.len();
    if parts < processes {
        return Err(format!(
            "the machine has {parts} parts, and {processes} processes share the run"
        ));
    }
    Ok(parts * process / processes..parts * (process + 1) / processes)
}

/// The routers of each of `parts`.
fn ranges(schedule: &schedule::Plan, parts: Range<usize>) -> Vec<Range<u32>> {
    parts.map(|part| schedule.partition.range(part)).collect()
}

/// Starts the parts of a machine from `first` on under the scheduler that was chosen.
fn start(
    schedule: &schedule::Plan,
    first: usize,
    mut parts: Vec<Machine>,
    transport: Box<dyn Transport>,
) -> Result<Box<dyn Scheduler<Machine>>, String> {
    let (partition, threads) = (Arc::new(schedule.partition.clone()), schedule.threads as usize);
    Ok(match schedule.scheduler {
        SchedulerKind::Conservative => Box::new(Conservative::new(parts, partition, first, threads, transport)?),
        SchedulerKind::Optimistic => return Err("this version has no optimistic scheduler yet".into()),
        SchedulerKind::Sequential | SchedulerKind::Auto => Box::new(Sequential::new(parts.remove(0))),
    })
}

impl Simulation {
    /// Builds the machine and starts its jobs.
    ///
    /// # Errors
    /// What does not fit together, as far as it could not be told from the scenario alone.
    pub fn new(scenario: Scenario) -> Result<Self, InputError> {
        Simulation::with(scenario, Others::default(), None)
    }

    /// The same in one of several processes that share the run. Collective, like all methods that change anything.
    ///
    /// # Errors
    /// Those of [`new`](Self::new), or that the others cannot be reached.
    pub fn shared(scenario: Scenario, others: Others) -> Result<Self, InputError> {
        Simulation::with(scenario, others, None)
    }

    /// The same, divided like a run that was saved.
    fn with(scenario: Scenario, others: Others, layout: Option<&Layout>) -> Result<Self, InputError> {
        let (started, cpu_started) = (Instant::now(), cpu_time());
        let Scenario {
            resolved,
            placement,
            document,
        } = scenario;
        let locate = |text: String| document.locate(Problem::new("", text, ""));
        let plan = Plan::new(&resolved, &placement).map_err(locate)?;
        let mut planned = resolved.clone();
        if let Some(layout) = layout {
            planned.run.parallel = layout.parallel(&resolved.run.parallel);
        }
        let Others { transport, mut company } = others;
        let (process, processes) = company.place();
        // All make the same plan.
        let cores = company.least(u64::from(Resources::here().cores)).map_err(locate)?;
        let resources = Resources {
            cores: cores as u32,
            processes: processes as u32,
        };
        let schedule = schedule::plan(&planned, &placement, plan.topology(), resources)
            .map_err(|problem| document.locate(problem))?;
        let here = share_of(&schedule, process, processes).map_err(locate)?;
        let parts = plan.parts(&ranges(&schedule, here.clone()));
        let scheduler = start(&schedule, here.start, parts, transport).map_err(locate)?;
        let mut this = Simulation {
            scenario: resolved,
            placement,
            scheduler,
            company,
            schedule,
            plan,
            pause: None,
            checked: Time::ZERO,
            progress: Progress::default(),
            started,
            cpu_started,
            earlier: Spent::default(),
        };
        this.progress = this.look().progress(&this);
        Ok(this)
    }

    /// Goes on with the run of `scenario` that was [saved](Self::save_to) to `path`.
    ///
    /// # Errors
    /// The file cannot be read or is damaged, or another scenario or program has saved it; and those of
    /// [`new`](Self::new).
    pub fn resume(scenario: Scenario, path: &Path) -> Result<Self, InputError> {
        let wanted = Header::new(
            &scenario.resolved,
            &scenario.placement,
            (0, 1),
            Layout::default(),
            Spent::default(),
        );
        let resumed = snapshot::read(path, &wanted, |header, from| {
            let run = Simulation::with(scenario, Others::default(), Some(&header.layout));
            let mut run = run.map_err(|error| Damaged(error.message))?;
            run.pause = from.value()?;
            run.checked = from.value()?;
            run.scheduler.load(from)?;
            run.earlier = header.spent;
            run.progress = run.look().progress(&run);
            Ok(run)
        });
        resumed.map_err(|refused: Refused| refused.error(path))
    }

    /// Saves the run, as it stands, to `path`; an older snapshot there stays until the new one is whole. Returns its
    /// size in bytes.
    ///
    /// # Errors
    /// It cannot be written, or a process of the run is lost, and its state with it; the older one is still there.
    pub fn save_to(&mut self, path: &Path) -> std::io::Result<u64> {
        if let Some(Pause::Lost(text)) = &self.pause {
            return Err(std::io::Error::other(text.clone()));
        }
        snapshot::write(path, &self.header(), |to| {
            to.value(&self.pause);
            to.value(&self.checked);
            self.scheduler.save(to);
        })
    }

    /// Wall time that the run had taken before this process went on with it.
    pub fn earlier_wall(&self) -> Duration {
        self.earlier.wall
    }

    fn header(&self) -> Header {
        let layout = Layout {
            scheduler: self.schedule.scheduler,
            bounds: self.schedule.partition.bounds().to_vec(),
        };
        Header::new(&self.scenario, &self.placement, (0, 1), layout, self.spent())
    }

    /// What the run has cost so far.
    fn spent(&self) -> Spent {
        let wall = self.started.elapsed();
        let cpu = cpu_time().zip(self.cpu_started);
        Spent {
            wall: self.earlier.wall + wall,
            cpu: self.earlier.cpu + cpu.map_or(wall, |(now, then)| now.saturating_sub(then)),
            peak_rss: self.earlier.peak_rss.max(peak_rss()),
        }
    }

    /// The scenario that runs.
    pub fn scenario(&self) -> &Resolved {
        &self.scenario
    }

    /// Simulates for about `wall` of real time, or to the end.
    pub fn advance(&mut self, wall: Duration) -> Progress {
        let begin = Instant::now();
        if let Err(text) = self.run_for(|| begin.elapsed() < wall) {
            self.pause = Some(Pause::Lost(text));
        }
        self.progress = self.look().progress(self);
        self.progress.clone()
    }

    /// Simulates until the end, or until `more` does not hold in all processes.
    fn run_for(&mut self, more: impl Fn() -> bool) -> Result<(), String> {
        while self.pause.is_none() {
            let until = self.until();
            self.pause = match self.scheduler.run(until, SLICE) {
                Pause::Budget => None,
                // Nothing but events that do nothing, or that help nobody, is left.
                Pause::TimeLimit if self.may_be_endless() && self.look_everywhere()?.is_over(&self.plan) => {
                    Some(Pause::Idle)
                }
                Pause::TimeLimit if until < self.limit() => {
                    self.checked = until;
                    None
                }
                pause => Some(pause),
            };
            if !self.company.all(more())? {
                break;
            }
        }
        Ok(())
    }

    /// Whether there are sources that send until they are told, so that a run may have events for ever.
    fn may_be_endless(&self) -> bool {
        self.scenario.jobs.iter().any(|job| !job.until.is_empty())
    }

    /// Until when to run before the next look at whether anything but traffic without end is left: a matter of
    /// simulated time, so that the run ends at the same event however it is advanced.
    fn until(&self) -> Time {
        match self.may_be_endless() {
            true => Time(((self.checked.0 + 1) / LOOK_EVERY.0 + 1).saturating_mul(LOOK_EVERY.0) - 1).min(self.limit()),
            false => self.limit(),
        }
    }

    /// When the run ends even if its jobs have not.
    fn limit(&self) -> Time {
        self.scenario.run.time_limit.unwrap_or(Time::LONGEST).min(Time::LONGEST)
    }

    /// Looks at the parts of this process.
    fn look(&mut self) -> Look {
        let mut look = Look::default();
        self.scheduler.view(&mut |part| look.at(part));
        look
    }

    /// Looks at all parts.
    fn look_everywhere(&mut self) -> Result<Look, String> {
        let look = self.look();
        let looks = self.company.share(look)?;
        Ok(looks.into_iter().reduce(Look::join).unwrap_or_default())
    }

    /// The simulated time: that of the last event that did something, or the limit if the run has come to it.
    fn now(&self, last_event: Option<Time>) -> Time {
        match self.pause {
            Some(Pause::TimeLimit) => self.limit(),
            Some(Pause::Idle) => last_event.unwrap_or(self.scheduler.now()),
            _ => self.scheduler.now(),
        }
    }

    /// Where the run stood when it was last advanced.
    pub fn progress(&self) -> Progress {
        self.progress.clone()
    }

    /// Ends a run of this process alone and collects its results. `interrupted`: the user stopped it.
    ///
    /// # Panics
    /// Other processes share the run.
    pub fn finish(self, interrupted: bool) -> Results {
        let results = self.finish_shared(interrupted);
        results
            .expect("nobody can be lost")
            .expect("this is the first of one process")
    }

    /// Ends the run and collects its results, which the first of several processes has; `interrupted`: the user
    /// stopped it.
    ///
    /// # Errors
    /// Another process is lost, and with it the run.
    pub fn finish_shared(mut self, interrupted: bool) -> Result<Option<Results>, String> {
        if let Some(Pause::Lost(text)) = self.pause {
            return Err(text);
        }
        let look = self.look_everywhere()?;
        let (progress, now) = (look.progress(&self), self.now(look.standing.last_event));
        let cost = self.company.share(Cost {
            spent: self.spent(),
            events: self.scheduler.events(),
        })?;
        let figures = self.scheduler.figures();
        let mut parts = self.scheduler.into_parts();
        let ending = match self.pause {
            None => {
                debug_assert!(interrupted, "only an interruption ends a run that could go on");
                Some((Outcome::Interrupted, None))
            }
            Some(Pause::TimeLimit) => Some((Outcome::TimeLimit, None)),
            Some(_) if self.company.all(outcome::is_complete(&parts))? => None,
            Some(_) => {
                // Who waits for whom can only be told from all parts together.
                let (_, processes) = self.company.place();
                parts = match gather_parts(&mut self.company, parts, |process| {
                    Ok(self
                        .plan
                        .parts(&ranges(&self.schedule, share_of(&self.schedule, process, processes)?)))
                })? {
                    Some(parts) => parts,
                    None => return Ok(None),
                };
                self.company = Company::default();
                Some(outcome::explain_failure(&parts))
            }
        };
        if ending.is_some() && self.scenario.run.blame {
            for part in &mut parts {
                part.fabric.close_books(now);
                part.hosts.close_books(now);
            }
        }
        let audit = match ending {
            None => outcome::audit(&mut parts).err(),
            Some(_) => None,
        };
        let cut = parts[0].series_end().filter(|&end| end < now);
        let cut = cut.map(|end| {
            format!(
                "run.series_interval is short: a table of the time series ends at {} s",
                end.seconds()
            )
        });
        let hosts = &parts[0].hosts;
        let starts: Vec<Option<Time>> = (0..hosts.jobs())
            .map(|job| hosts.started(job, &look.standing))
            .collect();
        let measured = parts.into_iter().map(|part| part.measured(now));
        let measured = MachineMeasured::join(measured).expect("a process has at least one part");
        let Some(gathered) = self.company.gather((audit, measured))? else {
            return Ok(None);
        };
        let (audits, measured): (Vec<_>, Vec<_>) = gathered.into_iter().unzip();
        let measured = MachineMeasured::join(measured).expect("there is at least one process");
        let (outcome, detail) = ending.unwrap_or_else(|| {
            let violated = audits.into_iter().flatten().next().or(measured.fabric.audit().err());
            match violated {
                Some(text) => (Outcome::ConservationViolated, Some(text)),
                None => (Outcome::Completed, outcome::left_over(look.unmatched)),
            }
        });
        let mut digest = Digest::new();
        measured.results(&mut digest);
        let rows = results::collect(
            &self.scenario,
            &self.placement,
            self.plan.topology(),
            &measured,
            &starts,
            now,
        );
        Ok(Some(Results {
            outcome,
            detail: detail.or(cut),
            digest: digest.hex(),
            progress,
            bytes_delivered: measured.fabric.traffic.iter().map(|t| t.bytes).sum(),
            state_bytes: measured.fabric.memory,
            nodes: self.scenario.machine.nodes(),
            cost,
            schedule: self.schedule,
            figures,
            scenario: self.scenario,
            rows,
        }))
    }
}

/// What a run has cost one process.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Cost {
    spent: Spent,
    events: u64,
}

/// In the first process, the parts of all, read into what `build` makes of the number of a process; in the others
/// nothing.
fn gather_parts(
    company: &mut Company,
    parts: Vec<Machine>,
    build: impl Fn(usize) -> Result<Vec<Machine>, String>,
) -> Result<Option<Vec<Machine>>, String> {
    let (_, processes) = company.place();
    if processes == 1 {
        return Ok(Some(parts));
    }
    let mut bytes = Vec::new();
    let mut saver = Saver::new(&mut bytes);
    parts.iter().for_each(|part| part.save(&mut saver));
    saver.finish().map_err(|error| error.to_string())?;
    drop(parts);
    let Some(all) = company.gather_bytes(bytes)? else {
        return Ok(None);
    };
    let mut gathered = Vec::new();
    for (process, bytes) in all.iter().enumerate() {
        let (mut bytes, mut parts) = (&bytes[..], build(process)?);
        let mut loader = Loader::new(&mut bytes);
        for part in &mut parts {
            part.load(&mut loader).map_err(|error| error.to_string())?;
        }
        gathered.extend(parts);
    }
    Ok(Some(gathered))
}

/// What a look at some parts tells of a run that stands still.
#[derive(Default, Serialize, Deserialize)]
struct Look {
    packets: u64,
    packet_hops: u64,
    messages: u64,
    standing: Standing,
    /// Whether an event waits that does anything.
    counts: bool,
    /// Whether anything waits or is under way but sources that send until they are told, and their messages.
    goes_on: bool,
    /// Messages that have arrived and that no receive has asked for.
    unmatched: u64,
}

impl Look {
    /// Takes in one part.
    fn at(&mut self, part: PartView<'_, Machine>) {
        let Machine { fabric, hosts } = part.model;
        let (packets, hops) = fabric.delivered();
        self.packets += packets;
        self.packet_hops += hops;
        self.messages += fabric.traffic_stats().iter().map(|t| t.messages).sum::<u64>();
        self.standing = match std::mem::take(&mut self.standing) {
            none if none == Standing::default() => hosts.standing(),
            known => known.join(hosts.standing()),
        };
        self.unmatched += hosts.unmatched();
        if !hosts.may_be_endless() {
            return;
        }
        let mut parcels = part.parcels.peekable();
        self.counts |= parcels.peek().is_some();
        let progress = |content| Hosts::is_progress_message(content);
        self.goes_on |= parcels.any(|parcel| progress(parcel.message().content))
            || fabric.messages().any(|message| progress(message.content));
        for event in part.events {
            match event {
                Event::Host(event) => {
                    self.counts |= !hosts.is_void_event(event);
                    self.goes_on |= hosts.is_progress(event);
                }
                Event::Fabric(_) => self.counts = true,
            }
            if self.counts && self.goes_on {
                break;
            }
        }
    }

    /// What two sets of parts tell together.
    fn join(self, other: Look) -> Look {
        Look {
            packets: self.packets + other.packets,
            packet_hops: self.packet_hops + other.packet_hops,
            messages: self.messages + other.messages,
            standing: self.standing.join(other.standing),
            counts: self.counts | other.counts,
            goes_on: self.goes_on | other.goes_on,
            unmatched: self.unmatched + other.unmatched,
        }
    }

    /// Whether nothing that is left can do anything, or help anybody.
    fn is_over(&self, plan: &Plan) -> bool {
        !self.counts || (!self.goes_on && !plan.waiting_jobs(&self.standing).is_empty())
    }

    /// Where `run` stands.
    fn progress(&self, run: &Simulation) -> Progress {
        let now = run.now(self.standing.last_event);
        let limit = run.scenario.run.time_limit;
        let by_time = limit.map(|limit| now.0 as f64 / limit.0.max(1) as f64);
        Progress {
            finished: run.pause.is_some(),
            simulated_s: now.seconds(),
            events: run.scheduler.events(),
            packets: self.packets,
            packet_hops: self.packet_hops,
            messages: self.messages,
            fraction: by_time.or(Some(self.standing.progress_fraction())),
        }
    }
}

/// What a run leaves behind.
pub struct Results {
    outcome: Outcome,
    detail: Option<String>,
    digest: String,
    progress: Progress,
    bytes_delivered: u64,
    state_bytes: u64,
    nodes: u32,
    /// Of every process.
    cost: Vec<Cost>,
    schedule: schedule::Plan,
    figures: Figures,
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
        self.cost.iter().map(|cost| cost.spent.cpu.as_secs_f64()).sum()
    }

    fn wall_s(&self) -> f64 {
        self.cost
            .iter()
            .map(|cost| cost.spent.wall.as_secs_f64())
            .fold(0.0, f64::max)
    }

    fn peak_rss_bytes(&self) -> u64 {
        self.cost.iter().map(|cost| cost.spent.peak_rss).max().unwrap_or(0)
    }

    /// Bytes of simulation state per node of the machine.
    pub fn bytes_per_node(&self) -> f64 {
        self.state_bytes as f64 / f64::from(self.nodes)
    }

    /// The tables.
    pub fn tables(&self) -> Vec<Table> {
        results::tables(&self.rows)
    }

    /// How the run was carried out, and how that went: nothing that its results depend on.
    fn schedule_json(&self) -> serde_json::Value {
        let (plan, figures) = (&self.schedule, &self.figures);
        let mut json = serde_json::json!({
            "reasons": plan.reasons,
            "parts": plan.partition.len(),
            "lookahead_s": Some(plan.partition.lookahead()).filter(|&t| t != Time::NEVER).map(Time::seconds),
            "rounds": figures.rounds,
            "events_per_window": figures.events_per_window(),
            "sent_between_parts": figures.sent,
            "waiting_share": figures.waiting,
            "processes": self.cost.iter().map(|cost| serde_json::json!({
                "events": cost.events,
                "cpu_s": cost.spent.cpu.as_secs_f64(),
                "peak_rss_bytes": cost.spent.peak_rss,
            })).collect::<Vec<_>>(),
        });
        if plan.scheduler == SchedulerKind::Optimistic {
            json["optimistic"] = serde_json::json!({
                "speculated": figures.speculated,
                "rolled_back": figures.rolled_back,
                "rollbacks": figures.rollbacks,
                "anti_messages": figures.anti_messages,
                "gvt_rounds": figures.gvt_rounds,
                "efficiency": figures.efficiency(),
                "peak_journal_bytes": figures.peak_journal_bytes,
            });
        }
        json
    }

    /// The content of `run.json`.
    pub fn run_json(&self) -> serde_json::Value {
        serde_json::json!({
            "outcome": self.outcome.name(),
            "detail": self.detail,
            "digest": self.digest,
            "simulated_s": self.progress.simulated_s,
            "wall_s": self.wall_s(),
            "cpu_s": self.cpu_s(),
            "events": self.cost.iter().map(|cost| cost.events).sum::<u64>(),
            "packets": self.progress.packets,
            "packet_hops": self.progress.packet_hops,
            "packet_hops_per_cpu_s": self.progress.packet_hops as f64 / self.cpu_s().max(1e-9),
            "messages": self.progress.messages,
            "bytes_delivered": self.bytes_delivered,
            "peak_rss_bytes": self.peak_rss_bytes(),
            "state_bytes_per_node": self.bytes_per_node(),
            "nodes": self.nodes,
            "scheduler": self.schedule.scheduler,
            "threads": self.figures.threads,
            "ranks": self.figures.processes,
            "schedule": self.schedule_json(),
            "blame": self.scenario.run.blame,
            "version": env!("CARGO_PKG_VERSION"),
            "scenario": self.scenario,
        })
    }
}

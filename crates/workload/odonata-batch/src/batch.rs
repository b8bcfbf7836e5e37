//! The batch system over time.
//!
//! At each instant ends, phases, limits, failures and submissions are handled first; then waiting jobs start; then the
//! speeds of running jobs are computed anew. A running job knows its work left at the time of its last change, its
//! speed since then, and the jobs to charge for the difference.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::contention::{Contention, LinkLoads};
use crate::dependencies::Dependencies;
use crate::job::{Demand, Job, Micros, Outcome, SECOND};
use crate::link_use::{LinkBytes, LinkLoadSeries, LinkUse};
use crate::lost::{Lost, LostTime};
use crate::pool::Pool;
use crate::record::{JobRecord, Moment, MomentJob, SeriesPoint};
use crate::settings::{Limits, Placement, Policy, Settings};
use crate::usage::Usage;
use odonata_units::SplitMix64;

/// Shortest duration of a phase, seconds.
const SHORTEST_PHASE: f64 = 1.0;
/// Work below this is rounding, seconds.
const ROUNDING: f64 = 1e-6;

/// An event; those of an instant are handled in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// The end of a job or of its phase, if nothing changed since this version.
    Step { job: u32, version: u32 },
    /// The limit of a job, in its present start.
    Limit { job: u32, starts: u32 },
    /// A failure of this number.
    Fails { number: u32 },
    /// The repair.
    Repaired { number: u32 },
    /// A submission.
    Submit { job: u32 },
    /// Waiting jobs may start: a reservation ends, or a recorded start has come.
    Wake,
    /// Running jobs are recorded.
    Moment,
}

/// The pattern of a demand, and the bytes of a call.
type LoadKey = (u8, u64);

/// A running job.
#[derive(Clone, Debug)]
struct Running {
    units: Vec<usize>,
    /// Seconds of work left, in all and in the phase.
    left: f64,
    phase_left: f64,
    phase: usize,
    speed: f64,
    since: Micros,
    /// The jobs to charge for lost time: culprit, class, share.
    culprits: Vec<(u32, u8, f64)>,
    /// Loads by pattern and bytes of a call.
    loads: Vec<(LoadKey, Vec<(u32, f64)>)>,
}

/// The latest time that is simulated, 292,000 years: later ones could overflow.
const LATEST: Micros = Micros::MAX / 2;

/// A batch system over time.
pub struct Batch {
    pub(crate) settings: Settings,
    pub(crate) jobs: Vec<Job>,
    pub(crate) now: Micros,
    pub(crate) pools: Vec<Pool>,
    /// The partition of each node, and its unit there.
    unit_of: Vec<Option<(usize, usize)>>,
    /// Waiting jobs of each partition.
    pub(crate) waiting: Vec<Vec<u32>>,
    /// Planned starts of waiting jobs.
    pub(crate) plans: Vec<Option<Micros>>,
    pub(crate) usage: Usage,
    machine: Box<dyn LinkLoads + Send>,
    contention: Contention,
    link_use: LinkUse,
    events: BinaryHeap<Reverse<(Micros, Event)>>,
    running: Vec<Option<Running>>,
    versions: Vec<u32>,
    dependencies: Dependencies,
    records: Vec<JobRecord>,
    lost: LostTime,
    series: Vec<SeriesPoint>,
    moments: Vec<Moment>,
    ended: u32,
    counts: (u32, u32, u32),
}

impl Batch {
    /// A batch system before its first event. Numbers of jobs, users and partitions must be in range.
    pub fn new(settings: Settings, jobs: Vec<Job>, machine: Box<dyn LinkLoads + Send>) -> Batch {
        let placement = settings.placement;
        let pool = |nodes: &Vec<u32>| Pool::new(nodes, placement, &settings.group_of, &settings.router_of);
        let mut pools: Vec<Pool> = settings.partitions.iter().map(pool).collect();
        let mut unit_of = vec![None; settings.group_of.len()];
        for (partition, pool) in pools.iter().enumerate() {
            for (at, unit) in pool.units.iter().enumerate() {
                for &node in &unit.nodes {
                    unit_of[node as usize] = Some((partition, at));
                }
            }
        }
        let mut events = BinaryHeap::new();
        for reservation in &settings.reservations {
            events.push(Reverse((reservation.to, Event::Wake)));
            for &(partition, at) in reservation
                .nodes
                .iter()
                .filter_map(|&node| unit_of[node as usize].as_ref())
            {
                pools[partition].units[at]
                    .reserved
                    .push((reservation.from, reservation.to));
            }
        }
        for unit in pools.iter_mut().flat_map(|pool| &mut pool.units) {
            unit.reserved.sort_unstable();
            // A unit of several nodes is reserved once.
            unit.reserved.dedup();
        }
        for (number, failure) in settings.failures.iter().enumerate() {
            let number = number as u32;
            events.push(Reverse((failure.from, Event::Fails { number })));
            events.push(Reverse((failure.to, Event::Repaired { number })));
        }
        for &moment in &settings.moments {
            events.push(Reverse((moment, Event::Moment)));
        }
        for (number, job) in jobs.iter().enumerate() {
            let number = number as u32;
            events.push(Reverse((job.submit, Event::Submit { job: number })));
            if let (Policy::Replay, Some(start)) = (settings.policy, job.start) {
                events.push(Reverse((start.max(job.submit), Event::Wake)));
            }
        }
        let users = jobs.iter().map(|job| job.user as usize + 1).max().unwrap_or(0);
        Batch {
            now: 0,
            waiting: vec![Vec::new(); pools.len()],
            pools,
            unit_of,
            plans: vec![None; jobs.len()],
            usage: Usage::new(users, settings.half_life),
            contention: Contention::new(&*machine, jobs.len()),
            link_use: LinkUse::new(machine.capacities(), machine.classes()),
            machine,
            events,
            running: vec![None; jobs.len()],
            versions: vec![0; jobs.len()],
            dependencies: Dependencies::new(&jobs),
            records: vec![JobRecord::default(); jobs.len()],
            lost: LostTime::new(jobs.len()),
            series: Vec::new(),
            moments: Vec::new(),
            ended: 0,
            counts: (0, 0, 0),
            settings,
            jobs,
        }
    }

    /// Handles the next instant; false if there is none, or if all jobs have ended.
    pub fn step(&mut self) -> bool {
        // What is still scheduled, such as the limit of a job that has ended, is not a part of the simulated time.
        if self.ended as usize == self.jobs.len() {
            return false;
        }
        let Some(&Reverse((now, _))) = self.events.peek() else {
            return false;
        };
        if now > LATEST {
            return false;
        }
        self.now = now;
        self.link_use.advance(now);
        let mut is_moment = false;
        while let Some(&Reverse((time, event))) = self.events.peek() {
            if time != now {
                break;
            }
            self.events.pop();
            match event {
                Event::Step { job, version } if self.versions[job as usize] == version => self.steps(job),
                Event::Limit { job, starts } => self.reaches_limit(job, starts),
                Event::Fails { number } => self.fails(number as usize),
                Event::Repaired { number } => self.is_repaired(number as usize),
                Event::Submit { job } => {
                    self.dependencies.submit(job);
                    if self.never_fits(job) {
                        self.has_ended(job);
                    }
                }
                Event::Step { .. } | Event::Wake => {}
                Event::Moment => is_moment = true,
            }
        }
        self.usage.count(self.now);
        for partition in 0..self.pools.len() {
            if !self.waiting[partition].is_empty() {
                self.start_jobs(partition);
            }
        }
        self.change_speeds();
        self.note();
        if is_moment {
            self.record_moment();
        }
        true
    }

    /// The present time.
    pub fn now(&self) -> Micros {
        self.now
    }

    /// Number of jobs that have ended.
    pub fn ended(&self) -> u32 {
        self.ended
    }

    /// The jobs so far; running jobs are those at the present time.
    pub fn records(&self) -> Vec<JobRecord> {
        let mut records = self.records.clone();
        for (record, (running, job)) in records.iter_mut().zip(self.running.iter().zip(&self.jobs)) {
            if let Some(running) = running {
                let done = (self.now - running.since) as f64 / SECOND * running.speed;
                record.work_s = job.run as f64 / SECOND - running.left + done;
            }
        }
        records
    }

    /// Lost time by victim, culprit and class of link, of completed intervals.
    pub fn lost(&self) -> impl Iterator<Item = Lost> + '_ {
        self.lost.all()
    }

    /// The state of the machine over time.
    pub fn series(&self) -> &[SeriesPoint] {
        &self.series
    }

    /// The links that carried bytes of jobs.
    pub fn links(&self) -> Vec<LinkBytes> {
        self.link_use.links()
    }

    /// The loads of the links of each class over time.
    pub fn loads(&self) -> LinkLoadSeries {
        self.link_use.series()
    }

    /// The recorded moments.
    pub fn moments(&self) -> &[Moment] {
        &self.moments
    }

    /// Free units of a partition.
    pub(crate) fn free_units(&self, partition: usize) -> usize {
        let units = &self.pools[partition].units;
        units.iter().filter(|unit| unit.free_from(self.now) == self.now).count()
    }

    /// The units of a job that starts on recorded nodes.
    pub(crate) fn listed(&self, partition: usize, job: u32) -> Option<Vec<usize>> {
        let nodes = &self.jobs[job as usize].node_list;
        let is_listed = self.settings.policy == Policy::Replay || self.settings.placement == Placement::List;
        (is_listed && !nodes.is_empty()).then(|| self.pools[partition].units_of(nodes))?
    }

    /// Starts a waiting job if its nodes are available.
    pub(crate) fn try_start(&mut self, partition: usize, job: u32) -> bool {
        let request = &self.jobs[job as usize];
        let lasts = request.planned();
        let pool = &self.pools[partition];
        let units = match self.listed(partition, job) {
            Some(units) => {
                let is_available = |&at: &usize| pool.units[at].earliest(self.now, lasts) == self.now;
                units.iter().all(is_available).then_some(units)
            }
            None => {
                let mut lot = SplitMix64::named(self.settings.seed, [u64::from(job)]);
                let needs = pool.needs(request.nodes);
                needs.and_then(|needs| pool.choose(needs, (self.now, lasts), self.settings.placement, &mut lot))
            }
        };
        let Some(units) = units else {
            return false;
        };
        self.start(partition, job, units);
        true
    }

    fn start(&mut self, partition: usize, job: u32, units: Vec<usize>) {
        let number = job as usize;
        let request = &self.jobs[number];
        let pool = &mut self.pools[partition];
        let mut nodes = Vec::with_capacity(request.nodes as usize);
        for &at in &units {
            let unit = &mut pool.units[at];
            (unit.job, unit.until) = (Some(job), self.now.saturating_add(request.planned()));
            nodes.extend_from_slice(&unit.nodes);
        }
        self.usage.take(request.user, nodes.len() as u32);
        self.counts.0 += nodes.len() as u32;
        self.counts.1 += 1;
        // A job in whole groups runs on as many nodes as it asked for.
        nodes.truncate(request.nodes as usize);
        self.waiting[partition].retain(|&other| other != job);
        self.plans[number] = None;
        let record = &mut self.records[number];
        record.starts += 1;
        (record.start, record.nodes, record.outcome) = (Some(self.now), nodes, Outcome::Running);
        if let (Limits::Enforce, Some(limit)) = (self.settings.limits, request.limit) {
            let starts = record.starts;
            self.events
                .push(Reverse((self.now + limit, Event::Limit { job, starts })));
        }
        let left = request.run as f64 / SECOND;
        self.running[number] = Some(Running {
            units,
            left,
            phase_left: f64::INFINITY,
            phase: 0,
            speed: 1.0,
            since: self.now,
            culprits: Vec::new(),
            loads: Vec::new(),
        });
        self.enter_phase(job, 0);
    }

    /// A running job begins a phase: it changes its demands.
    fn enter_phase(&mut self, job: u32, phase: usize) {
        let number = job as usize;
        let phases = &self.jobs[number].phases;
        if let (Some(running), Some(present)) = (&mut self.running[number], phases.get(phase)) {
            running.phase = phase;
            running.phase_left = match present.lasts_s {
                Some(lasts) if phases.len() > 1 => lasts.max(SHORTEST_PHASE),
                _ => f64::INFINITY,
            };
            if self.settings.contention {
                take_loads(&mut self.link_use, &self.contention, job, -running.speed);
                self.contention.remove(job);
                running.speed = 1.0;
                for demand in &present.demands {
                    let key = (demand.pattern, demand.access);
                    if running.loads.iter().all(|one| one.0 != key) {
                        let loads = self.machine.loads(job, &self.records[number].nodes, demand);
                        running.loads.push((key, loads));
                    }
                }
                let loads_of = |demand: &Demand| {
                    let key = (demand.pattern, demand.access);
                    let found = running.loads.iter().find(|one| one.0 == key);
                    found.map_or(&[][..], |one| &one.1)
                };
                let demands: Vec<_> = present.demands.iter().map(|one| (one, loads_of(one))).collect();
                self.contention.add(job, &demands);
                take_loads(&mut self.link_use, &self.contention, job, 1.0);
            }
        }
        self.schedule_step(job);
    }

    /// Counts the work of a running job up to now, and charges the time that it lost.
    fn settle(&mut self, job: u32) {
        if let Some(running) = &mut self.running[job as usize] {
            let time = (self.now - running.since) as f64 / SECOND;
            let done = time * running.speed;
            running.left -= done;
            running.phase_left -= done;
            running.since = self.now;
            if done < time {
                for &(culprit, class, share) in &running.culprits {
                    self.lost.add(job, culprit, class, (time - done) * share);
                }
            }
        }
    }

    /// Schedules the end of a running job's phase or work.
    fn schedule_step(&mut self, job: u32) {
        let number = job as usize;
        self.versions[number] += 1;
        if let Some(running) = &self.running[number] {
            let left = running.left.min(running.phase_left).max(0.0);
            let time = (left / running.speed * SECOND - 0.01).ceil().max(1.0);
            let version = self.versions[number];
            self.events.push(Reverse((
                self.now.saturating_add(time as Micros),
                Event::Step { job, version },
            )));
        }
    }

    fn steps(&mut self, job: u32) {
        self.settle(job);
        let Some(running) = &self.running[job as usize] else {
            return;
        };
        if running.left <= ROUNDING {
            self.end(job, Outcome::Completed);
        } else if running.phase_left <= ROUNDING {
            let next = (running.phase + 1) % self.jobs[job as usize].phases.len();
            self.enter_phase(job, next);
        } else {
            self.schedule_step(job);
        }
    }

    fn reaches_limit(&mut self, job: u32, starts: u32) {
        if self.running[job as usize].is_some() && self.records[job as usize].starts == starts {
            self.settle(job);
            self.end(job, Outcome::Timeout);
        }
    }

    /// A running job leaves its nodes.
    fn leave(&mut self, job: u32) -> Option<Running> {
        let running = self.running[job as usize].take()?;
        self.versions[job as usize] += 1;
        let request = &self.jobs[job as usize];
        let pool = &mut self.pools[request.partition as usize];
        let mut nodes = 0;
        for &at in &running.units {
            pool.units[at].job = None;
            nodes += pool.units[at].nodes.len() as u32;
        }
        self.usage.give_back(request.user, nodes);
        self.counts.0 -= nodes;
        self.counts.1 -= 1;
        take_loads(&mut self.link_use, &self.contention, job, -running.speed);
        self.contention.remove(job);
        let record = &mut self.records[job as usize];
        record.work_s = (request.run as f64 / SECOND - running.left.max(0.0)).max(0.0);
        record.clipped = self.contention.is_clipped(job);
        Some(running)
    }

    fn end(&mut self, job: u32, outcome: Outcome) {
        self.usage.count(self.now);
        if self.leave(job).is_some() {
            let record = &mut self.records[job as usize];
            (record.end, record.outcome) = (Some(self.now), outcome);
            self.has_ended(job);
        }
    }

    /// Counts a job as ended. Followers that wait for no other job join the queue, or end at once if they never fit.
    fn has_ended(&mut self, job: u32) {
        // A list, not a recursion: chains of dependencies may be as long as the job list.
        let mut ended = vec![job];
        while let Some(job) = ended.pop() {
            self.ended += 1;
            for follower in self.dependencies.end(job) {
                if self.never_fits(follower) {
                    ended.push(follower);
                }
            }
        }
    }

    /// A job joins the queue if it was submitted and waits for no other; returns whether it never fits instead.
    fn never_fits(&mut self, job: u32) -> bool {
        let number = job as usize;
        if !self.dependencies.is_due(job) {
            return false;
        }
        let partition = self.jobs[number].partition as usize;
        let pool = &self.pools[partition];
        let is_listed = self.settings.policy == Policy::Replay || self.settings.placement == Placement::List;
        let list = &self.jobs[number].node_list;
        let is_outside = is_listed && !list.is_empty() && pool.units_of(list).is_none();
        if pool.needs(self.jobs[number].nodes).is_none() || is_outside {
            self.records[number].outcome = Outcome::NeverFits;
            return true;
        }
        self.waiting[partition].push(job);
        false
    }

    fn fails(&mut self, number: usize) {
        let (node, to) = (self.settings.failures[number].node, self.settings.failures[number].to);
        let Some((partition, at)) = self.unit_of[node as usize] else {
            return;
        };
        self.counts.2 += 1;
        self.pools[partition].units[at].repairs.push(to);
        let Some(job) = self.pools[partition].units[at].job else {
            return;
        };
        self.settle(job);
        if self.settings.requeue {
            self.usage.count(self.now);
            if self.leave(job).is_some() {
                self.records[job as usize].outcome = Outcome::Waiting;
                self.waiting[partition].push(job);
            }
        } else {
            self.end(job, Outcome::NodeFailure);
        }
    }

    fn is_repaired(&mut self, number: usize) {
        let (node, to) = (self.settings.failures[number].node, self.settings.failures[number].to);
        if let Some((partition, at)) = self.unit_of[node as usize] {
            self.counts.2 -= 1;
            let repairs = &mut self.pools[partition].units[at].repairs;
            if let Some(place) = repairs.iter().position(|&repair| repair == to) {
                repairs.swap_remove(place);
            }
        }
    }

    /// Computes the speeds that have changed.
    fn change_speeds(&mut self) {
        if !self.settings.contention {
            return;
        }
        for job in self.contention.solve() {
            self.settle(job);
            let speed = self.contention.speed(job);
            let Some(running) = &mut self.running[job as usize] else {
                continue;
            };
            running.culprits.clear();
            if speed < 1.0 {
                let culprits = &mut running.culprits;
                self.contention
                    .culprits(job, |culprit, class, share| culprits.push((culprit, class, share)));
            }
            if speed != running.speed {
                take_loads(&mut self.link_use, &self.contention, job, speed - running.speed);
                running.speed = speed;
                self.schedule_step(job);
            }
        }
    }

    /// Adds a point to the series if something has changed.
    fn note(&mut self) {
        let (busy, running, down) = self.counts;
        let waiting = self.waiting.iter().map(|waiting| waiting.len() as u32).sum();
        let point = SeriesPoint {
            time: self.now,
            busy,
            down,
            running,
            waiting,
        };
        if self.series.last().is_none_or(|last| {
            SeriesPoint {
                time: self.now,
                ..*last
            } != point
        }) {
            self.series.push(point);
        }
    }

    fn record_moment(&mut self) {
        let mut jobs = Vec::new();
        for (number, running) in self.running.iter().enumerate() {
            if let Some(running) = running {
                jobs.push(MomentJob {
                    job: number as u32,
                    phase: running.phase as u32,
                    speed: running.speed,
                    overload: self.contention.overload(number as u32),
                    nodes: self.records[number].nodes.clone(),
                });
            }
        }
        self.moments.push(Moment { time: self.now, jobs });
    }
}

/// The loads of `job` on links change by `factor` times those at speed 1.
fn take_loads(link_use: &mut LinkUse, contention: &Contention, job: u32, factor: f64) {
    for (link, load) in contention.loads(job) {
        link_use.change(link, load * factor);
    }
}

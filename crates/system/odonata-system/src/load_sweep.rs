//! Latency-load curves: one simulation per offered load, each from an empty network, measured in its steady state.
//!
//! The scenario's traffic job is used unchanged except for its load and its end: its sources send until the measurement
//! is over. *Load* is the fraction of the terminal link's bandwidth that every sending rank offers in payload. With
//! packets of one flit on a link of one flit per cycle, it is BookSim's flits per node and cycle. Accepted is the
//! ejected load, in the same unit, over all sending ranks.
//!
//! A run is cut into sampling periods ([`odonata_network::Sampling`]). A [`Method`] examines each one at its end, and
//! decides about warm-up, end of measurement, and saturation. Latencies are those of all packets created in the
//! measured periods, each of which has arrived when the run ends; sources keep sending until then.

mod booksim;
mod method;
mod periods;
mod point;
mod steady;

pub use booksim::BookSim;
pub use method::{Method, Span};
pub use point::{Latency, Outcome, Point, PointProgress, PointResult};
pub use steady::Steady;

use crate::scenario::resolved::{Resolved, Workload};
use crate::scenario::{self, InputError, Problem, Scenario};
use crate::warnings::{self, Warning};
use odonata_units::Time;
use std::path::Path;

/// Maximum number of loads of a sweep.
pub const MOST_LOADS: usize = 1_000;

/// Longer than any point takes.
const FOR_EVER: Time = Time(Time::LONGEST.0 / 1_000_000_000_000 * 1_000_000_000_000);

/// A scenario whose traffic is measured at different loads.
#[derive(Clone, Debug)]
pub struct LoadSweep {
    scenario: Scenario,
    /// The job with the variable load.
    job: usize,
    /// Number of its sending ranks.
    senders: u32,
    method: Method,
    /// Mean latency at a load near zero, if the method needs it.
    zero_load: Option<Time>,
}

impl LoadSweep {
    /// A sweep over the load of a job of a scenario that is read like by [`scenario::load`], except that its traffic
    /// may be endless.
    ///
    /// # Errors
    /// Those of [`scenario::load`] and of [`new`](Self::new).
    pub fn load(
        text: &str,
        name: &str,
        overrides: &[String],
        seed: Option<u64>,
        folder: impl AsRef<Path>,
        job: Option<&str>,
        method: Method,
    ) -> Result<LoadSweep, InputError> {
        let mut overrides = overrides.to_vec();
        overrides.push(format!("run.time_limit={} s", FOR_EVER.seconds()));
        LoadSweep::new(scenario::load(text, name, &overrides, seed, folder)?, job, method)
    }

    /// A sweep over the load of job `job` of `scenario`, or of its only job. The sweep sets the load; the end of the
    /// job does not matter.
    ///
    /// # Errors
    /// There is no such job, it is not synthetic traffic or does not start at time zero, it has bursts, or a parameter
    /// of the method is out of range.
    pub fn new(mut scenario: Scenario, job: Option<&str>, method: Method) -> Result<LoadSweep, InputError> {
        let job = choose(&scenario.resolved, job).map_err(|problem| scenario.document.locate(problem))?;
        let senders = prepare(&mut scenario.resolved, job).map_err(|problem| scenario.document.locate(problem))?;
        let mut sweep = LoadSweep {
            scenario,
            job,
            senders,
            method,
            zero_load: None,
        };
        let refuse = |(key, problem, expected): (&str, String, &str)| {
            let problem = Problem::new("", problem, expected);
            InputError {
                file: format!("--{key}"),
                line: None,
                column: None,
                value: None,
                ..sweep.scenario.document.locate(problem)
            }
        };
        sweep.method.check(sweep.cycle()).map_err(refuse)?;
        if sweep.method.needs_zero_load() {
            let idle = point::zero_load(&sweep)?;
            sweep.method.check_period(idle, sweep.cycle()).map_err(refuse)?;
            sweep.zero_load = Some(idle);
        }
        Ok(sweep)
    }

    /// Name of the job with the variable load.
    pub fn job(&self) -> &str {
        &self.scenario.resolved.jobs[self.job].name
    }

    /// Warnings about the scenario.
    pub fn warnings(&self) -> Vec<Warning> {
        warnings::of_jobs(&self.scenario)
    }

    /// The simulated scenario, except for the load.
    pub fn scenario(&self) -> &Resolved {
        &self.scenario.resolved
    }

    /// The method.
    pub fn method(&self) -> &Method {
        &self.method
    }

    /// Ranks that send.
    pub fn senders(&self) -> u32 {
        self.senders
    }

    /// Mean latency at a load near zero, from creation to arrival, if the method needs it.
    pub fn zero_load(&self) -> Option<Time> {
        self.zero_load
    }

    /// Length of a clock cycle, if the traffic has one.
    pub fn cycle(&self) -> Option<Time> {
        match &*self.scenario.resolved.jobs[self.job].workload {
            Workload::Synthetic(traffic) => traffic.period,
            _ => None,
        }
    }

    /// The measurement at `load`, ready to begin.
    ///
    /// # Errors
    /// `load` is not above 0 and at most 1, or no message interval gives it.
    pub fn point(&self, load: f64) -> Result<Point, InputError> {
        Point::new(self, load)
    }

    fn error(&self, problem: String, expected: &str) -> InputError {
        let job = self.scenario.resolved.jobs[self.job].entry;
        self.scenario
            .document
            .locate(Problem::new(format!("jobs.{job}.workload"), problem, expected))
    }
}

/// The position of job `name`, or of the only job.
fn choose(resolved: &Resolved, name: Option<&str>) -> Result<usize, Problem> {
    let names = || {
        let shown: Vec<&str> = resolved.jobs.iter().take(10).map(|job| job.name.as_str()).collect();
        shown.join(", ")
    };
    match name {
        Some(name) => (resolved.jobs.iter().position(|job| *job.name == name)).ok_or_else(|| {
            Problem::new(
                "jobs",
                format!("no job is named {name:?}"),
                format!("one of {}", names()),
            )
        }),
        None if resolved.jobs.len() == 1 => Ok(0),
        None => Err(Problem::new(
            "jobs",
            format!("{} jobs, and none is selected", resolved.jobs.len()),
            format!("--job with one of {}", names()),
        )),
    }
}

/// Makes the traffic of job number `job` endless, and restricts records to the measured data; returns the number of
/// sending ranks.
fn prepare(resolved: &mut Resolved, job: usize) -> Result<u32, Problem> {
    let entry = &mut resolved.jobs[job];
    let at = format!("jobs.{}", entry.entry);
    if entry.start.at != Time::ZERO || !entry.start_after.is_empty() || !entry.until.is_empty() {
        let problem = format!("job \"{}\" does not run from start to end", entry.name);
        return Err(Problem::new(at, problem, "none of start, start_after and until"));
    }
    let (name, ranks) = (entry.name.to_string(), *entry.ranks);
    let Workload::Synthetic(traffic) = entry.workload.value_mut() else {
        let problem = format!("job \"{name}\" is no synthetic traffic: its load cannot be set");
        return Err(Problem::new(
            format!("{at}.workload"),
            problem,
            "a pattern, such as uniform",
        ));
    };
    let at = format!("{at}.workload.{}", traffic.pattern.name());
    if traffic.bursts().is_some() {
        let problem = "all ranks are silent at once between bursts: there is no steady state";
        return Err(Problem::new(at, problem, "arrival = \"on-off\" instead of on and off"));
    }
    traffic.messages = None;
    traffic.stop = Some(Time::LONGEST);
    let built = traffic
        .traffic(ranks, false)
        .map_err(|problem| Problem::new(&at, problem, ""))?;
    let senders = (0..ranks).filter(|&rank| built.sends(rank, ranks)).count() as u32;
    if senders == 0 {
        return Err(Problem::new(at, "no rank sends", "a pattern with messages"));
    }
    let run = &mut resolved.run;
    run.time_limit = None;
    run.series_interval = None;
    run.blame = false.into();
    run.message_rows = 0;
    run.io_rows = 0;
    Ok(senders)
}
